# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes helper bones of a small character, and reads all that such a bake may change."""

from __future__ import annotations

import bpy
import numpy as np
from dancing import make_dancer
from helpers import activate, part, size_of, snapshot

NAME = "Helper Bones"
#: Rounding of Blender's pose and skin, as a part of the size.
ROUNDING = 1e-5


def make_carried_dancer() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Builds (mesh with flesh, armature above it) with the actions Run (active), Walk and Turn."""
    body, rig = make_dancer()
    body.parent = rig
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def bake(body, **options):
    """Bakes helper bones of all actions, unless told otherwise; returns the record."""
    activate(body)
    options = {"target": "HELPER_BONES", "clips": "ALL", "bones": 6, **options}
    assert bpy.ops.thew.bake(**options) == {"FINISHED"}
    return body.thew.bakes[options.get("name", NAME)]


def entries(obj) -> list:
    """Returns all weights of a mesh, in their order, but for those of the automatic map of flesh."""
    names = {group.index: group.name for group in obj.vertex_groups if group.name != "Flesh"}
    rows = ((entry for entry in vertex.groups if entry.group in names) for vertex in obj.data.vertices)
    return [[(names[entry.group], entry.weight) for entry in row] for row in rows]


def skeleton(rig) -> list:
    """Returns everything of an armature that a bake may change."""
    bones = [
        (bone.name, bone.parent and bone.parent.name, tuple(bone.head_local), tuple(bone.tail_local))
        for bone in rig.data.bones
    ]
    return [bones, [each.name for each in rig.data.collections], [bone.name for bone in rig.pose.bones]]


def curves() -> dict:
    """Returns all curves of all actions, with their groups and the actions' ranges."""
    every = part("scene.animation").every_curve
    return {
        action.name: (
            sorted(
                (
                    curve.data_path,
                    curve.array_index,
                    curve.group.name if curve.group else "",
                    [tuple(k.co) for k in curve.keyframe_points],
                )
                for curve in every(action)
            ),
            tuple(action.frame_range),
            action.use_frame_range,
        )
        for action in bpy.data.actions
    }


def everything(body, rig) -> tuple:
    """Returns all that a refused or removed bake must leave as it was."""
    state = snapshot(body)
    state["settings"] = {key: value for key, value in state["settings"].items() if key != "made.notes"}
    return state, entries(body), skeleton(rig), curves(), sorted(set(body.data.keys()))


def helpers_of(rig) -> list[str]:
    return [bone.name for bone in rig.data.bones if bone.get("thew_helper")]


def assert_within(shapes, live, clip) -> None:
    """Asserts that shapes miss the live ones by the error of a clip, and by no less than nearly that."""
    metres = part("bake.body_source").metres_per_unit(
        part("live.session").register.state_of(bpy.data.objects["Body"]),
        np.array(bpy.data.objects["Body"].matrix_world),
    )
    missed = metres * np.linalg.norm(shapes - live, axis=2)
    rounding = ROUNDING * metres * size_of(live[0])
    assert missed.max() <= clip.error + rounding
    assert missed.max() >= clip.error - rounding
    assert missed[clip.error_frame - clip.start, clip.error_vertex] >= missed.max() - rounding
