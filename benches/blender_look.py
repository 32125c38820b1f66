# SPDX-License-Identifier: MIT OR Apache-2.0
"""The look of flesh on every character in THEW_DATA and our own, their three liveliest clips, at defaults: a table and sheets.

In Blender, through the extension's own buttons (the Python of a bpy environment; THEW_ZIP, BLENDER_USER_RESOURCES):

    python benches/blender_look.py [--sheets FOLDER] [--films FOLDER] [--record FOLDER] [--only NAME ...]

From recordings made with --record, by the Python package alone (any Python with numpy), much quicker:

    python benches/blender_look.py --from-npz FOLDER [--wheel-path WHEEL_OR_FOLDER] [--set NAME=VALUE ...]
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

MARK = "@row "
"""Prefix of a child's lines that are meant for its parent."""
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from demo.look import measures, sheet, table  # noqa: E402
from demo.look.recording import Clip, Recording  # noqa: E402

if TYPE_CHECKING:
    import numpy as np

    from demo.look.simulating import Character


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of characters or files")
    parser.add_argument("--clips", type=int, default=3, help="the liveliest ones of each character")
    parser.add_argument("--frames", type=int, default=60, help="the first ones of each clip")
    parser.add_argument("--sheets", type=Path, help="write contact sheets into this folder")
    parser.add_argument("--films", type=Path, help="write every clip as an animated picture into this folder")
    parser.add_argument("--side", type=int, default=160, help="pixels of one picture on a sheet")
    parser.add_argument("--record", type=Path, help="only write recordings into this folder")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--from-npz", type=Path, help="measure the recordings in this folder, without Blender")
    parser.add_argument("--wheel-path", type=Path, help="take the package thew from this wheel or folder")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings in place of the defaults")
    parser.add_argument(
        "--exact", action="store_true", help="the sway over that of neo-Hookean flesh too, which is slow"
    )
    parser.add_argument("--parts", action="store_true", help="a line for each hard and each soft part")
    options = parser.parse_args()
    for folder in (options.sheets, options.films, options.record):
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
    if options.from_npz:
        return measure_recordings(options)
    if not options.one:
        return measure_in_blender(options)
    measure_one(options.one, options)
    sys.stdout.flush()
    os._exit(0)  # Blender 4.2 crashes at exit once an extension was enabled


def is_chosen(name: str, options: argparse.Namespace) -> bool:
    """Returns whether a character or file is selected by `--only`."""
    return not options.only or any(part.lower() in name.lower() for part in options.only)


def measure_recordings(options: argparse.Namespace) -> int:
    """Measures recordings with the package alone."""
    if options.wheel_path:
        use_package(options.wheel_path)
    from demo.look.simulating import Character

    settings = dict(read_setting(text) for text in options.set)
    looks = []
    print(table.heading(), flush=True)
    for file in sorted(options.from_npz.glob("*.npz")):
        if not is_chosen(file.stem, options):
            continue
        recording = Recording.load(file)
        character = Character(recording, settings)
        strips = []
        for clip in recording.clips[: options.clips]:
            start = time.perf_counter()
            shown = character.shown(clip)
            seconds = time.perf_counter() - start
            look = further_measures(recording.look(clip, shown), character, clip, shown, options)
            looks.append((recording.character, recording.mesh, look))
            print(table.line(recording.character, recording.mesh, clip.name, look, seconds), flush=True)
            print("".join(table.part_lines(recording, clip, shown)) if options.parts else "", end="", flush=True)
            strips.append(sheet.Strip(clip.name, clip.shown, shown))
        draw(recording, strips, options)
    conclude(looks)
    return 0


def conclude(looks: list[tuple[str, str, measures.Look]]) -> None:
    """Prints the summary of each mesh's clips, and how many pass."""
    print(f"\n{table.summary(looks)}\n\n{table.totals((character, look) for character, _, look in looks)}")


def further_measures(
    look: measures.Look, character: Character, clip: Clip, shown: np.ndarray, options
) -> measures.Look:
    """Returns the look with measures from further simulations: the time until flesh is calm and, with `--exact`, exact flesh."""
    over_exact = character.over_exact(clip, shown) if options.exact else None
    return replace(look, calm=character.calm, over_exact=over_exact)


def draw(recording: Recording, strips: list[sheet.Strip], options: argparse.Namespace) -> None:
    """Writes the contact sheet and the films of one mesh, if they are requested."""
    name = f"{recording.character}__{recording.mesh}".replace(" ", "_")
    if options.sheets:
        bones, file = (recording.names, recording.parents), options.sheets / f"{name}.png"
        sheet.draw_sheet(strips, recording.triangles, bones, recording.weights, file, options.side)
    for strip in strips if options.films else ():
        clip = re.sub(r"\W+", "_", strip.title)
        sheet.draw_film(strip, recording.triangles, options.films / f"{name}__{clip}.png", recording.fps)


def use_package(path: Path) -> None:
    """Imports thew from a wheel (unpacked temporarily) or from a folder with an unpacked one."""
    if path.suffix == ".whl":
        folder = tempfile.mkdtemp(prefix="thew-look-")
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(folder)
        path = Path(folder)
    sys.path.insert(0, str(path))


def read_setting(text: str) -> tuple[str, object]:
    """Parses NAME=VALUE, the value as a Python literal, or else text."""
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


# in Blender ----------------------------------------------------------------------------------------------------------


def measure_in_blender(options: argparse.Namespace) -> int:
    """Runs every character in a Blender of its own, so that a failure costs its own lines only."""
    from demo.look.liveliest import sources, title

    data = os.environ.get("THEW_DATA")
    looks, broken = [], []
    if not options.record:
        print(table.heading(), flush=True)
    for source in sources(Path(data) / "characters" if data else None):
        if not is_chosen(title(source), options):
            continue
        command = [sys.executable, __file__, *sys.argv[1:], "--one", source]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        rows = [json.loads(line[len(MARK) :]) for line in done.stdout.splitlines() if line.startswith(MARK)]
        for row in rows:
            looks.append((row["character"], row["mesh"], measures.Look(**row.pop("look"))))
            print(table.line(look=looks[-1][2], **row), flush=True)
        if done.returncode:
            broken.append(title(source))
            print(f"{title(source)}, status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}", flush=True)
    if looks:
        conclude(looks)
    if broken:
        print(f"Without a result: {', '.join(broken)}.")
    return 1 if broken else 0


def measure_one(source: str, options: argparse.Namespace) -> None:
    """Measures one character in this process: recorded as it is, then given flesh by the buttons and played again."""
    from demo.extension import install
    from demo.look import liveliest, reading

    install(Path(os.environ["THEW_ZIP"]))
    meshes = liveliest.open_source(source)
    clips = liveliest.liveliest(meshes, options.clips, options.frames)
    recordings = reading.record(liveliest.title(source), meshes, clips, options.frames)
    if options.record:
        for recording in recordings:
            recording.save(options.record)
        return
    fleshed = reading.add_flesh(meshes, clips, recordings, options.frames)
    strips: dict[str, list[sheet.Strip]] = {}
    from demo.look.simulating import Character

    characters: dict[str, Character] = {}
    for recording, clip, shown, seconds in fleshed:
        look = recording.look(clip, shown)
        if recording.body is None:  # a rider has no flesh of its own
            if recording.mesh not in characters:
                characters[recording.mesh] = Character(recording)
            look = further_measures(look, characters[recording.mesh], clip, shown, options)
        row = {"character": recording.character, "mesh": recording.mesh, "clip": clip.name, "seconds": seconds}
        print(MARK + json.dumps({**row, "look": vars(look)}), flush=True)
        strips.setdefault(recording.mesh, []).append(sheet.Strip(clip.name, clip.shown, shown))
    for recording in recordings:
        draw(recording, strips[recording.mesh], options)


if __name__ == "__main__":
    sys.exit(main())
