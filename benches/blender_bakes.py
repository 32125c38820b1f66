# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends one character through every way out, and back: bytes, seconds and the distance from the live flesh, as a table.

In Blender, through the extension's own buttons and Blender's exporters with their defaults (the Python of a bpy environment;
THEW_ZIP, BLENDER_USER_RESOURCES):

    python benches/blender_bakes.py [--source NAME_OR_FILE] [--clips 2] [--picture FILE]

Distances are in millimetres of the scene. All clips are baked together, and each is read back by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "blender")]

import roundtrips  # noqa: E402

from demo.extension import activate, install  # noqa: E402
from demo.look import liveliest, raster, sheet  # noqa: E402

SIDE = 230
"""Width and height of one picture, pixels."""
COLUMNS = 7
"""Number of pictures in a row."""
BLUE_AT = 10.0
"""Distance from the live flesh that is drawn bluest, mm."""


@dataclass(frozen=True)
class Way:
    """One way out: a bake target with its settings, and the suffix of what is exported; empty: the bake's own files."""

    title: str
    target: str
    suffix: str
    settings: tuple[tuple[str, object], ...] = ()


WAYS = (
    Way("a key a frame, glTF", "SHAPE_KEYS", ".glb"),
    Way("compressed keys, glTF", "COMPRESSED", ".glb", (("tolerance", 2.0),)),
    Way("compressed keys, FBX", "COMPRESSED", ".fbx", (("tolerance", 2.0),)),
    Way("16 helper bones, glTF", "HELPER_BONES", ".glb", (("bones", 16),)),
    Way("16 helper bones, FBX", "HELPER_BONES", ".fbx", (("bones", 16),)),
    Way("vertex texture, EXR", "VERTEX_TEXTURE", ""),
    Way("vertex texture, PNG", "VERTEX_TEXTURE", "", (("image", "PNG"),)),
    Way("point cache, PC2", "PC2", ""),
    Way("point cache, MDD", "MDD", ""),
    Way("USD", "", ".usdc"),
    Way("Alembic", "", ".abc"),
)


@dataclass
class Character:
    """The saved scene with live flesh, and what it shows."""

    blend: Path
    mesh: str  # name of the mesh
    triangles: np.ndarray  # int32[t, 3]
    ranges: dict[str, range]  # frames of each clip
    live: dict[str, np.ndarray]  # [f, n, 3] world
    plain: dict[str, np.ndarray]  # [f, n, 3] world, the skin without flesh
    millimetres: float  # of a unit of Blender's world

    def error(self, clip: str, back: np.ndarray) -> np.ndarray:
        """Returns the largest distance in each frame, mm."""
        return self.millimetres * np.linalg.norm(back - self.live[clip], axis=2).max(axis=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="biped", help="one of our characters, or a glTF, FBX or .blend")
    parser.add_argument("--clips", type=int, default=2, help="the liveliest ones of the character")
    parser.add_argument("--picture", type=Path, help="write a picture of the liveliest frame after each way")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of ways")
    options = parser.parse_args()
    install(Path(os.environ["THEW_ZIP"]))
    with tempfile.TemporaryDirectory(prefix="thew-bakes-") as folder:
        character = prepare(options.source, options.clips, Path(folder))
        pictures = first_pictures(character)
        print(heading(character))
        for way in WAYS:
            if options.only and not any(part.lower() in way.title.lower() for part in options.only):
                continue
            size, seconds, back = send(character, way, Path(folder) / way.title.replace(" ", "_"))
            errors = [character.error(clip, back[clip]).max() for clip in back]
            cells = way.title, f"{size / 1e6:.2f}", f"{seconds:.1f}", *(f"{error:.3f}" for error in errors)
            print(f"| {' | '.join(cells)} |", flush=True)
            pictures.append(draw(character, way.title, next(iter(back.values()))))
    if options.picture:
        save(pictures, options.picture)
    sys.stdout.flush()
    os._exit(0)  # Blender 4.2 crashes at exit once an extension was enabled


def prepare(source: str, count: int, folder: Path) -> Character:
    """Opens a character, gives it flesh at the defaults, saves it, and records its liveliest clips."""
    meshes = liveliest.open_source(source)
    clips = liveliest.liveliest(meshes, count)
    body = meshes[0]
    for action in list(bpy.data.actions):
        if action.name not in clips:
            bpy.data.actions.remove(action)
    plain, live, ranges = {}, {}, {}
    for clip in clips:
        ranges[clip] = liveliest.play_clip(meshes, clip)
        plain[clip] = roundtrips.shapes(body, ranges[clip])
    activate(body)
    with quiet():
        assert bpy.ops.thew.add() == {"FINISHED"}
    for clip in clips:
        liveliest.play_clip(meshes, clip)
        live[clip] = roundtrips.shapes(body, ranges[clip])
    liveliest.play_clip(meshes, clips[0])
    blend = folder / "character.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    body.data.calc_loop_triangles()
    triangles = np.array([t.vertices for t in body.data.loop_triangles], dtype=np.int32)
    return Character(
        blend, body.name, triangles, ranges, live, plain, 1e3 * bpy.context.scene.unit_settings.scale_length
    )


def heading(character: Character) -> str:
    """Returns the head of the table, with what a key a frame would take."""
    frames = sum(map(len, character.ranges.values()))
    vertices = len(next(iter(character.live.values()))[0])
    flesh = max(character.error(clip, character.plain[clip]).max() for clip in character.live)
    columns = "way out", "MB", "s", *(f"error, mm: {clip}" for clip in character.ranges)
    told = f"{character.mesh}: {vertices} vertices, {frames} frames, flesh {flesh:.0f} mm, Blender {bpy.app.version_string}"
    return f"{told}\n\n| {' | '.join(columns)} |\n{'| --- ' * len(columns)}|"


def send(character: Character, way: Way, folder: Path) -> tuple[int, float, dict[str, np.ndarray]]:
    """Bakes and exports the character one way. Returns bytes, seconds, and positions [f, n, 3] of each clip that came back."""
    folder.mkdir()
    bpy.ops.wm.open_mainfile(filepath=str(character.blend))
    body = bpy.data.objects[character.mesh]
    activate(body)
    start = time.perf_counter()
    with quiet():
        if not way.target:
            return send_cache(character, way, folder, start)
        settings = {"folder": str(folder), **dict(way.settings)}
        assert bpy.ops.thew.bake(target=way.target, clips="ALL", **settings) == {"FINISHED"}
        if not way.suffix:
            return size_of(folder), time.perf_counter() - start, played(character, body)
        assert bpy.ops.thew.finish_bake() == {"FINISHED"}
        file = folder / f"character{way.suffix}"
        roundtrips.export(file)
        seconds = time.perf_counter() - start
        fps = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
        return size_of(folder), seconds, brought_back(character, file, fps)


def send_cache(character: Character, way: Way, folder: Path, start: float) -> tuple[int, float, dict[str, np.ndarray]]:
    """Exports a cache of the first clip, which plays, by Export Cache, and imports it."""
    clip, kind = next(iter(character.ranges)), {".usdc": "USD", ".abc": "ALEMBIC"}[way.suffix]
    file = folder / f"character{way.suffix}"
    assert bpy.ops.thew.export_cache(format=kind, filepath=str(file)) == {"FINISHED"}
    seconds, known = time.perf_counter() - start, set(bpy.data.objects)
    if kind == "USD":
        bpy.ops.wm.usd_import(filepath=str(file))
    else:
        bpy.ops.wm.alembic_import(filepath=str(file), as_background_job=False)
    back = next(obj for obj in set(bpy.data.objects) - known if obj.type == "MESH")
    return size_of(folder), seconds, {clip: roundtrips.shapes(back, character.ranges[clip])}


def played(character: Character, body: bpy.types.Object) -> dict[str, np.ndarray]:
    """Returns the positions [f, n, 3] that a bake shows in Blender, each clip played."""
    back = {}
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    for clip, frames in character.ranges.items():
        liveliest.play_clip([body], clip)
        back[clip] = roundtrips.shapes(body, frames)
    return back


def brought_back(character: Character, file: Path, fps: float) -> dict[str, np.ndarray]:
    """Imports a file into an empty scene, and returns each clip's positions by the vertices of the character."""
    roundtrips.bring_back(file)
    bpy.context.scene.render.fps = round(fps)
    obj = max((obj for obj in bpy.data.objects if obj.type == "MESH"), key=lambda obj: len(obj.data.vertices))
    back = {}
    for clip, frames in character.ranges.items():
        roundtrips.play_animation(obj, clip)
        came = roundtrips.shapes(obj, frames)
        owners = roundtrips.owners(character.live[clip], came)
        ordered = np.empty_like(character.live[clip])
        ordered[:, owners] = came
        back[clip] = ordered
    return back


def first_pictures(character: Character) -> list[np.ndarray]:
    """Draws the plain skin and the live flesh."""
    clip = next(iter(character.live))
    return [draw(character, "plain skin", character.plain[clip]), draw(character, "live", character.live[clip])]


def draw(character: Character, title: str, points: np.ndarray) -> np.ndarray:
    """Draws the frame of the first clip whose flesh is farthest from the skin."""
    clip = next(iter(character.live))
    frame = int(character.error(clip, character.plain[clip]).argmax())
    whole = character.live[clip][frame]
    middle, half = (whole.min(axis=0) + whole.max(axis=0)) / 2, 0.56 * float(np.ptp(whole, axis=0).max())
    off = np.linalg.norm(points[frame] - whole, axis=1) * character.millimetres / BLUE_AT
    tints = sheet.FLESH + np.minimum(off, 1.0)[:, None] * (sheet.FAR - sheet.FLESH)
    view = raster.View(turn=1.1, lift=0.15)
    picture = raster.draw(points[frame], character.triangles, tints, view, middle, half, SIDE)
    raster.write(picture, title, SIDE - 14, 4)
    return picture


def save(pictures: list[np.ndarray], file: Path) -> None:
    """Writes pictures in rows."""
    blank = np.full_like(pictures[0], raster.PAPER)
    pictures = [*pictures, *[blank] * (-len(pictures) % COLUMNS)]
    rows = [np.concatenate(pictures[at : at + COLUMNS], axis=1) for at in range(0, len(pictures), COLUMNS)]
    raster.save(np.concatenate(rows, axis=0), file)


def size_of(folder: Path) -> int:
    """Returns the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def quiet() -> contextlib.AbstractContextManager:
    """Returns a context without the printed lines of Blender's Python."""
    return contextlib.redirect_stdout(io.StringIO())


if __name__ == "__main__":
    sys.exit(main())
