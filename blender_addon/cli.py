# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake without a window:
`blender --command thew bake FILE [--object NAME] [--frames A B] [--method M] [--modes N]
[--space rest|posed] [--finish] [--scripts] [--out FILE]`.

Every mesh that can have flesh gets it, is simulated and baked; one line is printed for each, and the file is saved.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

from .bake import baking, finishing
from .live import jobs
from .live.session import register as fleshes
from .logic.errors import Refusal, sentence
from .logic.native import EXPECTED
from .logic.sentences import listed
from .logic.spaces import diagonal, transform
from .logic.tasks import finish
from .saved.choices import BAKE_SPACES, METHODS
from .saved.properties import ThewSettings


@dataclass
class Line:
    """What is said about one mesh."""

    name: str
    text: str
    done: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def bake_file(
    file: str | Path, name: str | None = None, frames: tuple[int, int] | None = None, out: str | Path | None = None,
    say=print, method: str | None = None, modes: int | None = None, space: str | None = None, finished: bool = False,
    scripts: bool = False,
) -> list[Line]:  # fmt: skip
    """Open `file`, bake every character mesh (or the one called `name`), save as `out` or over `file`.

    `method`, `modes` and `space` replace the settings that the file has; `finished`: only the keys are left of the flesh;
    `scripts`: the file's scripts and Python drivers run. A mesh that cannot be baked gets a line that says why, and the others
    go on. Raises `Refusal` when the file cannot be
    opened, nothing could be baked, or the result cannot be saved.
    """
    file = Path(file)
    if not file.is_file():
        raise Refusal(f"There is no file {file}: check its path")
    try:
        bpy.ops.wm.open_mainfile(filepath=str(file), load_ui=False, use_scripts=scripts)
    except RuntimeError as error:
        raise Refusal(f"Blender cannot open {file}: {error}") from error
    if bpy.app.autoexec_fail:
        say(f"{file.name}: its scripts and Python drivers did not run: give --scripts if you trust them")
    scene, view_layer = bpy.context.scene, bpy.context.view_layer
    lines = []
    for obj in chosen(scene, name):
        body = obj.thew.body if obj.thew.made.rides else None
        if name is None and body is not None and body.thew.made.flesh and body.name in scene.objects:
            continue  # baked along with its body
        if method is not None:
            obj.thew.method = method
        if modes is not None:
            obj.thew.modes = modes
        if space is not None:
            obj.thew.bake_space = space
        line = bake_one(obj, scene, view_layer, frames, finished)
        say(line)
        lines.append(line)
    if not any(line.done for line in lines):
        raise Refusal(f"Nothing in {file} could be baked, so nothing was saved")
    save(Path(out) if out else file)
    return lines


def chosen(scene, name: str | None) -> list[bpy.types.Object]:
    """The meshes to bake: the one called `name`, or all that an armature deforms."""
    if name is not None:
        obj = scene.objects.get(name)
        if obj is None:
            meshes = ", ".join(f"“{o.name}”" for o in scene.objects if o.type == "MESH") or "none"
            raise Refusal(f"There is no object “{name}” in the scene; its meshes are: {meshes}")
        return [obj]
    found = [o for o in scene.objects if o.type == "MESH" and any(m.type == "ARMATURE" for m in o.modifiers)]
    if not found:
        raise Refusal("No mesh of the scene has an Armature modifier: there is nothing to bake")
    return found


def bake_one(obj, scene, view_layer, frames: tuple[int, int] | None, finished: bool) -> Line:
    """Add flesh where there is none yet, bake, finish the bake if so wanted, and tell."""
    began = time.perf_counter()
    try:
        if not (obj.thew.made.flesh or obj.thew.made.rides):
            finish(jobs.add(obj, scene, view_layer, simulate=False))
        baked = finish(baking.bake(obj, scene, view_layer, *(frames or (None, None))))
        flesh = fleshes.flesh(obj.thew.body if obj.thew.made.rides else obj)
        if finished:
            finishing.finish_bake(obj)
    except EXPECTED as error:
        return Line(obj.name, sentence(str(error)), False)
    seconds = time.perf_counter() - began
    text = (
        f"{len(flesh.lattice.cells)} cells, {len(obj.data.vertices)} vertices, {len(baked.names)} keys in "
        f"{baked.space.lower()} space, {seconds:.1f} s, own motion {own_motion(flesh):.2%} of the size"
    )
    if baked.riders:
        text += f"; with {listed(baked.riders)}"
    if missed := baking.missed(baked.miss):
        text += f"; {missed}"
    return Line(obj.name, text, True)


def own_motion(flesh) -> float:
    """Root mean square over time of the distance to the skinned shape, as a share of the size."""
    rest = transform(flesh.stance.mesh_matrix, flesh.character.rest)
    size = diagonal(rest)
    squares = []
    for frame in range(flesh.clip_start, flesh.clip_end + 1):
        mesh = flesh.motion.matrices[frame - flesh.clip_start]
        squares.append(float(((flesh.offsets(frame) @ mesh[:3, :3].T) ** 2).sum(axis=1).mean()))
    return float(np.sqrt(np.mean(squares))) / size if size > 0.0 else 0.0


def save(path: Path) -> None:
    """Save the open file as `path`, whole or not at all; a `Refusal` when the disk does not take it.

    Blender 5.0 reports success when a full disk cut the file short. So it is written beside its place, read back, and
    only then put there.
    """
    path = path.resolve()
    part = path.with_name(f"{path.stem}.part.blend")
    try:
        bpy.ops.wm.save_as_mainfile(filepath=str(part), copy=True, check_existing=False)
        with bpy.data.libraries.load(str(part)) as (found, _):
            missing = {obj.name for obj in bpy.context.scene.objects} - set(found.objects)
        if missing:
            raise OSError("the file is not whole")
        put(part, path)
    except (RuntimeError, OSError) as error:
        part.unlink(missing_ok=True)
        reason = " ".join(str(error).split()).removeprefix("Error: ")
        raise Refusal(
            f"Blender cannot save {path} ({reason}): make room there, or choose another place with --out"
        ) from error


def put(part: Path, path: Path) -> None:
    """Put a whole file in the place of another, whose mode and other names it keeps."""
    if path.exists():
        shutil.copymode(path, part)
        if path.stat().st_nlink > 1:
            shutil.copyfile(part, path)
            part.unlink()
            return
    part.replace(path)


def count(word: str) -> int:
    """A number of modes, within the setting's range."""
    number, setting = int(word), ThewSettings.bl_rna.properties["modes"]
    if not setting.hard_min <= number <= setting.hard_max:
        raise argparse.ArgumentTypeError(f"{number} modes: let it be {setting.hard_min} to {setting.hard_max}")
    return number


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    top = argparse.ArgumentParser(prog="blender --command thew", description="Flesh for rigged characters.")
    commands = top.add_subparsers(dest="command", required=True)
    bake = commands.add_parser("bake", help="add flesh to the characters of a .blend and bake it to shape keys")
    bake.add_argument("file", metavar="FILE", help="the .blend file")
    bake.add_argument("--object", metavar="NAME", help="only this mesh")
    bake.add_argument(
        "--frames", metavar=("A", "B"), nargs=2, type=int, help="first and last frame (the scene's range)"
    )
    bake.add_argument(
        "--method", choices=[method[0] for method in METHODS], help="how the flesh is moved (as the file has it)"
    )
    bake.add_argument(
        "--modes", metavar="N", type=count, help="how many modes, for the method modal (as the file has it)"
    )
    bake.add_argument(
        "--space", choices=[space[0].lower() for space in BAKE_SPACES],
        help="keys that act before the live armature, or that hold its motion too (as the file has it)",
    )  # fmt: skip
    bake.add_argument(
        "--finish", action="store_true", help="leave nothing of the flesh but the keys, ready to be exported"
    )
    bake.add_argument(
        "--scripts", action="store_true", help="run the scripts and Python drivers in FILE, which may do anything"
    )
    bake.add_argument("--out", metavar="FILE", help="where to save (over FILE)")
    return top


def main(words: list[str]) -> int:
    """Run the command with its words; the exit status."""
    arguments = parser().parse_args(words)
    try:
        bake_file(
            arguments.file, arguments.object, tuple(arguments.frames) if arguments.frames else None, arguments.out,
            method=arguments.method, modes=arguments.modes,
            space=arguments.space and arguments.space.upper(), finished=arguments.finish,
            scripts=arguments.scripts,
        )  # fmt: skip
    except EXPECTED as error:
        print(sentence(str(error)), file=sys.stderr)
        return 1
    return 0


_command = None


def register() -> None:
    global _command
    _command = bpy.utils.register_cli_command("thew", main)


def unregister() -> None:
    global _command
    if _command is not None:
        bpy.utils.unregister_cli_command(_command)
        _command = None
