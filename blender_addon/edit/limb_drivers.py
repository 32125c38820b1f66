# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers of rigs copied to another character: driven by the corresponding bone, about the axis that has the same direction in the limb."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.limb_places import LimbMap, nearest_axis
from ..logic.names import describe
from ..rigs import drivers
from ..saved.rigs import ThewRig
from ..scene.reading import armature_of

#: Transform channels that read a turn about one axis of a bone, and the axis's column in the bone's matrix.
CHANNEL_AXES = {"ROT_X": 0, "ROT_Z": 2}


def carry(here, there, rig: ThewRig, new: ThewRig, bones: dict[str, tuple[str, LimbMap]]) -> str:
    """Copies the driver of a rig, if it has one, to its copy. Returns a sentence if that is impossible.

    `bones`: the corresponding bone of each bone, and the map between their limbs.
    """
    found = drivers.driver_of(rig)
    if found is None:
        return ""
    armatures, lost = (armature_of(here.obj), armature_of(there.obj)), ""
    for target in (target for variable in found.driver.variables for target in variable.targets):
        bone = target.bone_target
        if target.id == armatures[0] and bone and bone not in bones and bone not in armatures[1].pose.bones:
            lost = bone
    if lost:
        return f"“{new.name}” of {describe(there.obj)} is not driven: the bone “{lost}”, which drives “{rig.name}”, is in none of the limbs"
    curve = drivers.give_driver(new, found)
    single = len(curve.driver.variables) == 1 and curve.driver.type in {"SUM", "AVERAGE", "MIN", "MAX"}
    for variable in curve.driver.variables:
        for target in variable.targets:
            if target.id == armatures[0]:
                move(here, there, curve, variable, target, bones, single)
            elif target.id == here.obj:
                target.id = there.obj
    return ""


def move(here, there, curve, variable, target, bones: dict[str, tuple[str, LimbMap]], single: bool) -> None:
    """Retargets a driver to the other armature's bone, and a turn about one axis to the axis that lies alike."""
    bone, armature = target.bone_target, armature_of(there.obj)
    target.id = armature
    if bone not in bones:
        return
    other, limb_map = bones[bone]
    target.bone_target = other
    turns = target.rotation_mode.startswith("SWING_TWIST") and target.transform_space == "LOCAL_SPACE"
    if not (single and turns and variable.type == "TRANSFORMS" and target.transform_type in CHANNEL_AXES):
        return
    ours, theirs = axes(here, bone), axes(there, other)
    located = limb_map.one.locate(np.asarray(head(here, bone)))
    axis = CHANNEL_AXES[target.transform_type]
    wanted = limb_map.axis(located, ours[:, axis] / np.linalg.norm(ours[:, axis]))
    best, sign = nearest_axis(theirs, wanted)
    target.transform_type = "ROT_X" if best == 0 else "ROT_Z"
    target.rotation_mode = "SWING_TWIST_X" if best == 0 else "SWING_TWIST_Z"
    if sign < 0.0:
        mirror_curve(curve)


def axes(side, bone: str) -> np.ndarray:
    """Returns the axes of a bone at rest as columns [3, 3], in the directions of the body's metres."""
    matrix = np.array(armature_of(side.obj).data.bones[bone].matrix_local)
    return side.flesh.bind_pose.armature_matrix[:3, :3] @ matrix[:3, :3]


def head(side, bone: str) -> np.ndarray:
    """Returns the head of a bone at rest, metres."""
    matrix = np.array(armature_of(side.obj).data.bones[bone].matrix_local)
    return side.flesh.place.points((side.flesh.bind_pose.armature_matrix @ matrix)[:3, 3])


def mirror_curve(curve: bpy.types.FCurve) -> None:
    """Mirrors a driver's curve, so that it responds to the negated input."""
    points = [
        (
            tuple(p.co),
            tuple(p.handle_left),
            tuple(p.handle_right),
            p.interpolation,
            p.handle_left_type,
            p.handle_right_type,
        )
        for p in curve.keyframe_points
    ]
    curve.keyframe_points.clear()
    for i, (co, left, right, _, kind_left, kind_right) in enumerate(reversed(points)):
        point = curve.keyframe_points.insert(-co[0], co[1], options={"FAST"})
        # The first of two points holds the interpolation between them.
        point.interpolation = points[len(points) - 2 - i][3] if i < len(points) - 1 else points[0][3]
        point.handle_left_type, point.handle_right_type = kind_right, kind_left
        point.handle_left, point.handle_right = (-right[0], right[1]), (-left[0], left[1])
    curve.update()
