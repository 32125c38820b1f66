# SPDX-License-Identifier: MIT OR Apache-2.0
"""Installs the extension into a clean Blender, gives characters flesh, bakes, saves, and shows the difference.

Run by `build.py demo` with the Python of the bpy environment and BLENDER_USER_RESOURCES set to an empty folder.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import bpy
import numpy as np

from assets import characters as own
from demo import characters, measures, pictures, stage
from demo.extension import Clock, activate, install

WIDTH, HEIGHT = 640, 360
PER_CLIP = 4
"""Number of pictures of a clip on the contact sheet."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zip", type=Path, help="the extension")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--input", type=Path, help="a .glb, .gltf, .fbx or .blend; default: our own characters")
    parser.add_argument("--action", help="the clip of the input to show")
    parser.add_argument("--cells", type=int, default=12)
    parser.add_argument("--engine", choices=("WORKBENCH", "CYCLES"), default="WORKBENCH")
    parser.add_argument("--trial", action="store_true", help="only find out whether the engine can render")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    if options.trial:
        return 0 if pictures.works("BLENDER_WORKBENCH", options.output) else 1
    install(options.zip)
    try:
        rows = render_foreign(options) if options.input else render_ours(options)
    except characters.Unusable as error:
        print(error, file=sys.stderr)
        return 1
    sheet = options.output / "contact-sheet.png"
    pictures.contact_sheet(rows, sheet)
    print(f"Contact sheet, skinned only beside Thew: {sheet}")
    return 0


def render_ours(options: argparse.Namespace) -> list[list[Path]]:
    """Renders every clip of our own characters. Returns the pictures in rows."""
    rows = []
    for name, clips in own.CLIPS.items():
        for clip in clips:
            characters.empty_scene()
            armature, body = own.create(name)
            own.use_action(armature, clip)
            rows.append(take([body], f"{name}-{clip}", options))
    return rows


def render_foreign(options: argparse.Namespace) -> list[list[Path]]:
    """Renders one clip of a given file. Returns the pictures in rows."""
    characters.open_file(options.input)
    meshes = characters.skinned_meshes()
    if not meshes:
        raise characters.Unusable(f"{options.input.name} holds no mesh with an Armature modifier and vertex groups.")
    armatures = list({obj.name: obj for obj in map(characters.armature_of, meshes)}.values())
    clip = characters.choose_clip(armatures, options.action)
    title = f"{options.input.stem}-{clip}".replace("/", "_").replace("|", "_").replace(" ", "_")
    frames = take(meshes, title, options, pictures_per_row=8)
    return [frames[:PER_CLIP], frames[PER_CLIP:]] if len(frames) > PER_CLIP else [frames]


def take(
    meshes: list[bpy.types.Object], title: str, options: argparse.Namespace, pictures_per_row: int = PER_CLIP
) -> list[Path]:
    """Adds flesh, simulates, bakes, saves, measures and renders. Returns the pictures for the sheet."""
    scene = bpy.context.scene
    start, end = scene.frame_start, scene.frame_end
    print(f"{title}: frames {start} to {end}")
    plain = [skinned_copy(obj) for obj in meshes]
    motion = np.zeros(end - start + 1)
    fleshed = 0
    for obj in meshes:
        lively = give_flesh(obj, start, end, options.cells)
        if lively is not None:
            motion += lively**2
            fleshed += 1
    if not fleshed:
        raise characters.Unusable(f"{title}: none of its meshes could be given flesh.")
    blend = options.output / f"{title}.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend), compress=True, copy=True, check_existing=False)
    step = 2 if options.engine == "WORKBENCH" else 6
    frames = list(range(start, end + 1, step))
    set_stage(meshes, plain, start, end, options.engine)
    files = pictures.render(frames, options.output / title)
    print(f"  saved {blend.name} and {len(files)} pictures in {title}/", flush=True)
    return [files[frame] for frame in pictures.film_strip(motion, frames, start, pictures_per_row)]


def give_flesh(obj: bpy.types.Object, start: int, end: int, cells: int) -> np.ndarray | None:
    """Runs Thew's three operators on one mesh. Returns its own motion per frame in metres, `None` if it was refused."""
    activate(obj)
    seconds: dict[str, float] = {}
    try:
        with Clock(seconds, "add"):
            bpy.ops.thew.add(cells_across=cells)
        with Clock(seconds, "simulate"):
            bpy.ops.thew.simulate(frame_start=start, frame_end=end)
        measured = measures.measure(obj, seconds)
        with Clock(measured.seconds, "bake"):
            bpy.ops.thew.bake(target="SHAPE_KEYS", frame_start=start, frame_end=end)
    except RuntimeError as error:
        print(f"  {obj.name}: {str(error).strip()}")
        return None
    print(f"  {measured.line()}", flush=True)
    return measured.own * measured.size


def skinned_copy(obj: bpy.types.Object) -> bpy.types.Object:
    """Returns a copy of the mesh as it is, moved by the same armature, not linked to a scene."""
    copy = obj.copy()
    copy.data = obj.data.copy()
    copy.name = f"{obj.name} skinned only"
    return copy


def set_stage(meshes: list[bpy.types.Object], plain: list[bpy.types.Object], start: int, end: int, engine: str) -> None:
    """Puts the skinned copies beside the originals, and ground, lights and camera around both."""
    scene = bpy.context.scene
    shapes = {}
    for frame in range(start, end + 1):
        scene.frame_set(frame)
        shapes[frame] = np.concatenate([characters.evaluated_positions(obj) for obj in meshes])
    path = smooth({frame: shape.mean(axis=0) for frame, shape in shapes.items()})
    thin = max(1, len(shapes[start]) // 2000)
    points = np.concatenate([shape[::thin] - path[frame] for frame, shape in shapes.items()])
    # Both stand equally far from the camera; a little air between them.
    sideways = points @ stage.right_direction()
    aside = -1.06 * (sideways.max() - sideways.min()) * stage.right_direction()
    show_beside(plain, aside)
    floor, height = points[:, 2].min(), np.ptp(points[:, 2])
    lettering = 0.075 * height
    ahead = np.array([0.0, points[:, 1].min() - 0.08 * height, floor + 0.01 * height])
    captions = {"Thew": ahead, "skinned only": ahead + aside}
    room = [place + side * 3.0 * lettering * stage.right_direction() for place in captions.values() for side in (-1, 1)]
    stage.build(np.concatenate([points, points + aside, room]), path, WIDTH / HEIGHT)
    for text, place in captions.items():
        stage.caption(text, place, lettering)
    coloured = any(obj.data.color_attributes for obj in meshes)
    stage.use_engine(engine, WIDTH, HEIGHT, textured=not coloured)


def show_beside(plain: list[bpy.types.Object], aside: np.ndarray) -> None:
    """Shows objects that are not in a scene, moved by `aside`, through an instance of their collection."""
    collection = bpy.data.collections.new("Skinned only")
    for copy in plain:
        collection.objects.link(copy)
    instance = bpy.data.objects.new("Skinned only", None)
    instance.instance_type, instance.instance_collection = "COLLECTION", collection
    instance.location = aside.tolist()
    bpy.context.scene.collection.objects.link(instance)


def smooth(path: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Returns the path averaged over half a second each way at constant height, so that the camera does not bounce."""
    frames = sorted(path)
    points = np.array([path[frame] for frame in frames])
    reach = 12
    result = {}
    for index, frame in enumerate(frames):
        # The window shrinks alike on both sides, so that the ends stay where they are.
        half = min(reach, index, len(frames) - 1 - index)
        result[frame] = points[index - half : index + half + 1].mean(axis=0)
        result[frame][2] = points[0, 2]
    return result


sys.exit(main())
