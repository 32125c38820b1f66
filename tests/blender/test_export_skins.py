# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of exports in skins and points: what poses or shapes a file otherwise is reported, and its button mends it."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
import roundtrips
from exporting import (
    ALEMBIC,
    FBX,
    FRAMES,
    GLTF,
    LAST,
    RIGHT,
    USD,
    WRONG,
    add,
    assert_trap_mends,
    bake,
    error,
    find,
    fresh_character,
    mend,
    run,
)
from helpers import activate, animate, size_of

# skins ----------------------------------------------------------------------------------------------------------------


def follow_many_bones(body, rig) -> None:
    """Lets vertices follow four more bones, which move."""
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    for i in range(4):
        bone = rig.data.edit_bones.new(f"Extra {i}")
        bone.head, bone.tail, bone.parent = (0.1 * i, 0.2, 0.7), (0.1 * i, 0.5, 0.7), rig.data.edit_bones["Spine"]
    bpy.ops.object.mode_set(mode="OBJECT")
    middle = [vertex.index for vertex in body.data.vertices if 0.4 < vertex.co.z < 1.2]
    for i in range(4):
        body.vertex_groups.new(name=f"Extra {i}").add(middle, 0.25, "REPLACE")
        turn(rig, f"Extra {i}", 0.5 * (i + 1))


def turn(rig, name: str, angle: float) -> None:
    bone = rig.pose.bones[name]
    bone.rotation_mode = "XYZ"
    for frame, turned in ((1, 0.0), (6, angle), (LAST, 0.0)):
        bone.rotation_euler = (turned, 0.0, 0.0)
        bone.keyframe_insert("rotation_euler", frame=frame)


def stop_deforming(_body, rig) -> None:
    rig.data.bones["Head"].use_deform = False
    turn(rig, "Head", 0.8)


def bend_within(_body, rig) -> None:
    rig.data.bones["Spine"].bbone_segments = 8
    # Little: keys in rest space reach every shape.
    for frame, bend in ((1, 0.0), (6, 0.1), (LAST, 0.0)):
        rig.pose.bones["Spine"].bbone_curveinz = bend
        rig.pose.bones["Spine"].keyframe_insert("bbone_curveinz", frame=frame)


def mask_skin(body, _rig) -> None:
    upper = [vertex.index for vertex in body.data.vertices if vertex.co.z > 0.6]
    body.vertex_groups.new(name="Mask").add(upper, 0.5, "REPLACE")
    body.modifiers["Armature"].vertex_group = "Mask"


def preserve_volume(body, rig) -> None:
    body.modifiers["Armature"].use_deform_preserve_volume = True
    bpy.data.actions.remove(rig.animation_data.action)
    animate(rig, bend=1.0).name = "Walk"


def pose_twice(body, rig) -> None:
    body.modifiers.new("Second", "ARMATURE").object = rig


SKINS = [
    (GLTF, "export_all_influences", follow_many_bones),
    (GLTF, "export_def_bones", stop_deforming),
    (FBX, "use_armature_deform_only", stop_deforming),
    (USD, "only_deform_bones", stop_deforming),
    (GLTF, "bendy_bones", bend_within),
    (USD, "bendy_bones", bend_within),
    (GLTF, "skin_mask", mask_skin),
    (FBX, "skin_mask", mask_skin),
    (FBX, "preserve_volume", preserve_volume),
    (USD, "preserve_volume", preserve_volume),
    (GLTF, "armatures", pose_twice),
]


@pytest.mark.parametrize(
    ("exporter", "key", "prepare"), SKINS, ids=[f"{case[0][-5:]}-{case[2].__name__}" for case in SKINS]
)
def test_trap_skin(addon, tmp_path, exporter, key, prepare):
    """Skinning that the file would hold otherwise is reported, and the button changes a setting or the form of the bake."""
    body, rig = fresh_character()
    prepare(body, rig)
    rig.animation_data.action.name = "Walk"
    add(body)
    shapes = roundtrips.shapes(body, FRAMES)
    bake(body)
    assert_trap_mends(exporter, tmp_path, shapes, {"export_animation": True} if exporter == USD else {}, key)


@pytest.mark.parametrize("exporter", [GLTF, FBX])
def test_trap_posed_skin(addon, tmp_path, exporter):
    """An unfinished bake in posed space is deformed twice; the button finishes it."""
    body, _ = fresh_character()
    shapes = bake(body, space="POSED")
    assert_trap_mends(exporter, tmp_path, shapes, {}, "posed_skin")


@pytest.mark.parametrize("kept", [False, True])
def test_trap_live(addon, tmp_path, kept):
    """Live flesh leaves glTF with its plain skin; the button bakes it, or shows the bake that there is."""
    body, _ = fresh_character()
    add(body)
    if kept:
        bake(body)
        assert bpy.ops.thew.show_live() == {"FINISHED"}
    shapes = roundtrips.shapes(body, FRAMES)
    trap = find(GLTF, {}, "live")
    assert trap.remedy == ("Show Bake" if kept else "Bake")
    mend(GLTF, {}, "live")
    assert find(GLTF, {}, "live") is None
    assert error(GLTF, tmp_path, shapes, {}) < RIGHT


def test_trap_live_usd(addon, tmp_path):
    """Live flesh leaves USD as it is seen once it writes points; the button sees to that."""
    body, _ = fresh_character()
    add(body)
    shapes = roundtrips.shapes(body, FRAMES)
    assert_trap_mends(USD, tmp_path, shapes, {"export_animation": True}, "live")


# points ---------------------------------------------------------------------------------------------------------------


def test_trap_render_switch(addon, tmp_path):
    """Alembic writes what renders show; the button lets it write what the view shows."""
    body, _ = fresh_character()
    add(body)
    body.modifiers["Armature"].show_render = False
    shapes = roundtrips.shapes(body, FRAMES)
    assert_trap_mends(ALEMBIC, tmp_path, shapes, {}, "evaluation_mode")


@pytest.mark.parametrize("kind", ["obj", "ply", "stl"])
def test_trap_without_modifiers(addon, tmp_path, kind):
    """Formats of one shape leave without pose and flesh where modifiers are switched off; the button switches them on."""
    body, _ = fresh_character()
    add(body)
    bpy.context.scene.frame_set(7)
    exporter, values, path = f"WM_OT_{kind}_export", {"apply_modifiers": False}, tmp_path / f"out.{kind}"
    (shape,) = roundtrips.shapes(body, [7])
    for wrong in (True, False):
        trap = find(exporter, values, "apply_modifiers")
        assert (trap is not None) == wrong
        run(getattr(bpy.ops.wm, f"{kind}_export"), filepath=str(path), **values)
        run(getattr(bpy.ops.wm, f"{kind}_import"), filepath=str(path))
        back = bpy.context.selected_objects[0]
        (points,) = roundtrips.shapes(back, [7])
        away = np.linalg.norm(points[:, None] - shape[None], axis=2).min(axis=1).max() / size_of(shape)
        assert (away > WRONG) if wrong else (away < RIGHT)
        bpy.data.objects.remove(back)
        if wrong:
            mend(exporter, values, "apply_modifiers")
