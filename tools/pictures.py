# SPDX-License-Identifier: MIT OR Apache-2.0
"""The pictures of the documentation: what makes each, and which are older than what makes them.

`docs/images/made.json` holds for each picture a digest of its sources at the time when it was made: its program, and the functions,
classes and constants of the project's modules that it reaches by name (`influences`). A picture is old if the digest differs now.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tools import products, shows
from tools.checks import install_wheel
from tools.environments import TOOLS, main_blender
from tools.influences import Influences, read_code
from tools.shell import ROOT, SCRATCH, run, say
from tools.shows import EXAMPLES

IMAGES = ROOT / "docs" / "images"
MADE = IMAGES / "made.json"

#: Packages whose modules count as sources.
OWN = ("assets", "benches", "demo", "examples")


@dataclass(frozen=True)
class Maker:
    """A program that makes pictures."""

    pictures: tuple[str, ...]  # file names in docs/images
    program: str  # its module
    where: str  # "example", "wheel", "blender", "film" or "window": where it runs, see `make`
    words: tuple[object, ...] = ()  # its arguments
    renamed: tuple[str, ...] = ()  # patterns of the names it writes, in the order of `pictures`; empty: their own names
    more: tuple[str, ...] = ()  # patterns of further sources

    def sources(self) -> list[Path]:
        """Returns the files of which a part makes the pictures, sorted."""
        return sorted(Influences(ROOT, OWN, self.program).files().union(self._others()))

    def digest(self) -> str:
        """Returns the digest of what makes the pictures."""
        total = hashlib.sha256(Influences(ROOT, OWN, self.program).digest().encode())
        for file in sorted(self._others()):
            total.update(file.relative_to(ROOT).as_posix().encode())
            total.update(read_code(file).encode())
        return total.hexdigest()[:16]

    def _others(self) -> set[Path]:
        return {file for pattern in self.more for file in ROOT.glob(pattern)}


#: Folder into which a program writes its pictures.
MAKING = SCRATCH / "pictures"

WINDOW = (
    *(
        f"panel-{name}.png"
        for name in ("advanced", "bake", "bakes", "contact", "details", "limbs", "look", "pin", "regions", "rigs")
    ),
    *(f"keyframed-{name}.png" for name in ("curves", "dopesheet", "model", "panel")),
    *("bake-dialog.png", "bake-helper-bones.png", "drag.png", "limb-handles.png", "panel.png"),
    *("modal-panel.jpg", "panel-contacts.jpg", "panel-map.jpg", "rigs-panel.jpg"),
    *("belt.jpg", "lattice-by-hand.jpg", "pin-short.jpg", "skeleton-by-clicking.jpg"),
    *("copy-rigs.jpg", "rig-from-mesh.jpg", "sculpted-rig.jpg"),
    *("compare.jpg", "timeline.png"),
)
CONTACT = tuple(f"contact-{name}.png" for name in ("balls", "bench", "elbow", "hug", "squat"))
WIND = ("fields.png",)
LOOK = ("look-biped.png", "look-quadruped.png", "look-jump.png", "look-trot.png")
LOOK_FILES = ("biped__*.png", "quadruped__*.png", "films/*__jump.png", "films/*__trot.png")
LOOK_WORDS = ("--only", "biped", "quadruped", "--sheets", MAKING, "--films", MAKING / "films")
COOKBOOK = tuple(
    f"cookbook-{name}.jpg"
    for name in ("back", "belly", "breasts", "cape", "clothes", "creature", "jowls", "tail", "wing")
)
COOKBOOK_WORDS = ("--output", MAKING, "--measured", ROOT / "docs" / "cookbook" / "measured.json")

MAKERS = (
    *(Maker((f"{name}.jpg",), f"examples.{module}", "example", (name,)) for name, module in EXAMPLES.items()),
    Maker(CONTACT, "demo.look.contact_pictures", "wheel", ("--output", MAKING)),
    Maker(WIND, "demo.look.wind_pictures", "wheel", ("--output", MAKING)),
    Maker(("creases.png",), "benches.python_creases", "wheel", ("--picture", MAKING / "creases.png")),
    Maker(("farm-sheet.png",), "benches.python_farm", "wheel", ("--picture", MAKING / "farm-sheet.png")),
    Maker(LOOK, "benches.blender_look", "blender", LOOK_WORDS, LOOK_FILES),
    Maker(("stiff.png",), "demo.look.stiff_pictures", "blender", ("--output", MAKING)),
    Maker(("bake-ways.png",), "benches.blender_bakes", "blender", ("--picture", MAKING / "bake-ways.png")),
    Maker(COOKBOOK, "demo.cookbook.__main__", "blender", COOKBOOK_WORDS),
    Maker(("thea.webp",), "demo.showpiece", "film", ("--output", MAKING), more=("demo/film.py",)),
    Maker(WINDOW, "demo.window.take", "window", more=("blender_addon/ui/*.py",)),
)


def old() -> list[str]:
    """Returns the pictures that are older than their sources."""
    made = _read_record()
    digests = {picture: digest for maker in MAKERS for digest in [maker.digest()] for picture in maker.pictures}
    return [picture for picture, digest in digests.items() if made.get(picture) != digest]


def show_old() -> None:
    """Prints the pictures that are older than their sources."""
    found = old()
    if found:
        say(f"older than what makes them (build.py pictures): {', '.join(found)}")


def make(names: list[str], window: Path | None) -> None:
    """Makes the pictures `names` anew, or all that are old; those of Blender's window only with `window`, a Blender on a display."""
    wanted = set(names or old())
    for maker in MAKERS:
        if wanted.isdisjoint(maker.pictures):
            continue
        if maker.where == "window" and window is None:
            say(f"left, for they need --window BLENDER and a display: {', '.join(wanted.intersection(maker.pictures))}")
            continue
        say(maker.program)
        shutil.rmtree(MAKING, ignore_errors=True)
        MAKING.mkdir(parents=True)
        _run(maker, window)
        for picture, pattern in zip(maker.pictures, maker.renamed or maker.pictures, strict=True):
            for file in () if maker.where == "example" else MAKING.glob(pattern):
                shutil.copy(file, IMAGES / picture)
        note(maker.pictures)


def note(names: Iterable[str]) -> None:
    """Notes that pictures were made from their sources as they are."""
    wanted = set(names)
    makers = [maker for maker in MAKERS if not wanted.isdisjoint(maker.pictures)]
    made = {
        name: digest for maker in makers for digest in [maker.digest()] for name in wanted.intersection(maker.pictures)
    }
    MADE.write_text(json.dumps(_read_record() | made, indent=1, sort_keys=True) + "\n")


def _run(maker: Maker, window: Path | None) -> None:
    """Runs a program where it belongs: the wheel in the tools' Python, the extension in bpy or in a window."""
    script = ROOT / f"{maker.program.replace('.', '/')}.py"
    profile = {"BLENDER_USER_RESOURCES": str(shows.clean_profile("pictures"))}
    match maker.where:
        case "example":
            shows.examples([str(word) for word in maker.words], None, False)
        case "wheel":
            install_wheel()
            run([TOOLS.python, script, *maker.words], env={"PYTHONPATH": str(ROOT)})
        case "blender":
            zipped = {"THEW_ZIP": str(products.package())}
            run(
                [main_blender().ensure().python, script, *maker.words],
                env={**profile, **zipped, "PYTHONPATH": str(ROOT)},
            )
        case "film":
            _run(replace(maker, where="blender"), window)
            run([TOOLS.ensure().python, ROOT / "demo" / "film.py", MAKING, MAKING / maker.pictures[0]])
        case "window":
            size = ["--window-geometry", 0, 0, 1600, 900, "--enable-event-simulate"]
            run([window, *size, "--python", script, "--", products.package(), MAKING], env=profile)


def _read_record() -> dict[str, str]:
    return json.loads(MADE.read_text()) if MADE.is_file() else {}
