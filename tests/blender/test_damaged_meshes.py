# SPDX-License-Identifier: GPL-3.0-or-later
"""Nasty files (THEW_DATA/nasty; skipped without it): each gives a result or one clear sentence.

A mesh without a rig gets a plain one: three bones along its longest side, weights by the distance along it.
"""

from __future__ import annotations

import contextlib
import io

import bpy
import numpy as np
import pytest
from characters import load, meshes
from conftest import FAST, data_folder
from helpers import activate, animate, play, refusal

FOLDER = data_folder("nasty")
FILES = sorted(FOLDER.iterdir()) if FOLDER else []
#: Enough to be thrown: what is nasty shows at once.
FRAMES = 6
if FAST:
    FILES = FILES[::4]


@pytest.fixture(scope="module", autouse=True)
def outcomes():
    seen = []
    yield seen
    print(f"\n{len(seen)} nasty files")
    for line in seen:
        print(" ", line)


def import_plain(file) -> list[bpy.types.Object]:
    """Returns the meshes of an OBJ, PLY or STL, or an empty list when Blender itself refuses it."""
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    call = {".obj": bpy.ops.wm.obj_import, ".ply": bpy.ops.wm.ply_import, ".stl": bpy.ops.wm.stl_import}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(RuntimeError):
        call[file.suffix.lower()](filepath=str(file))
    return [obj for obj in bpy.context.scene.objects if obj.type == "MESH"]


def rig_up(obj) -> None:
    """Adds three bones along the object's longest side, and weights."""
    obj.matrix_world = np.eye(4).tolist()
    flat = np.zeros(3 * len(obj.data.vertices), dtype=np.float32)
    obj.data.vertices.foreach_get("co", flat)
    points = flat.reshape(-1, 3).astype(np.float64)
    good = points[np.isfinite(points).all(axis=1) & (np.abs(points) < 1e30).all(axis=1)]
    low, high = (good.min(axis=0), good.max(axis=0)) if len(good) else (np.zeros(3), np.ones(3))
    axis = int(np.argmax(high - low))
    middle, length = 0.5 * (low + high), max(high[axis] - low[axis], 1e-9)
    data = bpy.data.armatures.new("Rig")
    rig = bpy.data.objects.new("Rig", data)
    bpy.context.scene.collection.objects.link(rig)
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for i, name in enumerate(("Hip", "Spine", "Head")):
        bone = data.edit_bones.new(name)
        head, tail = middle.copy(), middle.copy()
        head[axis], tail[axis] = low[axis] + length * i / 3, low[axis] + length * (i + 1) / 3
        bone.head, bone.tail, bone.parent = head, tail, parent
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    for i, name in enumerate(("Hip", "Spine", "Head")):
        if name in data.bones:  # Blender drops bones of no length
            group = obj.vertex_groups.new(name=name)
            for v, point in enumerate(points):
                share = (point[axis] - low[axis]) / length * 3 - 0.5
                weight = max(0.0, 1.0 - abs(np.clip(share, 0, 2) - i)) if np.isfinite(share) else 1.0
                if weight > 0.0:
                    group.add([v], weight, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    if "Spine" in rig.pose.bones and "Hip" in rig.pose.bones:
        animate(rig, hop=0.05 * length)


@pytest.mark.skipif(not FILES, reason="no nasty files: set THEW_DATA")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nasty_file(addon, outcomes, file):
    """A nasty file gives a finite result or one clear sentence that names the object."""
    if file.suffix in {".glb", ".gltf"}:
        try:
            load(file)
        except RuntimeError as error:
            outcomes.append(f"{file.name}: Blender refuses it: {str(error).splitlines()[0][:80]}")
            return
        found = meshes() or [o for o in bpy.context.scene.objects if o.type == "MESH"]
    else:
        found = import_plain(file)
        for obj in found:
            rig_up(obj)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    if not found:
        outcomes.append(f"{file.name}: no mesh in it")
        if bpy.context.view_layer.objects.active is None:
            assert not bpy.ops.thew.add.poll()
        else:
            assert refusal(bpy.ops.thew.add).endswith(".")
        return
    for obj in found[:1]:
        activate(obj)
        try:
            bpy.ops.thew.add(cells_across=8)
            bpy.ops.thew.simulate()
        except RuntimeError as error:
            said = str(error).strip().removeprefix("Error: ")
            outcomes.append(f"{file.name}: {said}")
            assert obj.name in said and said.endswith(".") and "\n" not in said
            assert "unforeseen" not in said and "mistake in Thew" not in said
            continue
        shapes = play(obj, range(1, FRAMES + 1))
        assert np.isfinite(shapes).all()
        outcomes.append(f"{file.name}: {obj.thew.made.notes.splitlines()[0]}")
