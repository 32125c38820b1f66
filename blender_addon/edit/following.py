# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones that follow their flesh: the core's poses as keys on an armature."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ..live import driving
from ..logic.errors import Refusal, sentence
from ..logic.names import describe
from ..logic.native import core
from ..scene.poses import silence_handlers

#: Methods with matrices that never change, so that bones cannot be freed within them.
FIXED_METHODS = {"modal", "blended", "blended_printed", "warped_vertex"}


def selected_bones(armature: bpy.types.Object) -> list[str]:
    """Returns the names of the selected bones."""
    posed = armature.pose.bones
    selected = [bone.select if hasattr(bone, "select") else bone.bone.select for bone in posed]  # moved in Blender 5.0
    return [bone.name for bone, chosen in zip(posed, selected, strict=True) if chosen]


def follow(
    scene: bpy.types.Scene, armature: bpy.types.Object, flesh: Any, names: list[str], firmness: float, limit: float
) -> tuple[list[str], int]:
    """Keys the rotations of bones, and of all below them, so that they follow the flesh over the simulated frames.

    Returns the names of the keyed bones, each after the one above, and the number of frames. Refuses bones that move no flesh, and bones
    that constraints or drivers turn.
    """
    check(armature, flesh, names)
    check_method(flesh)
    thew, motion = core(), flesh.motion
    maps = motion.maps[:-1] if len(motion.maps) > 1 else motion.maps
    place = flesh.motion_place
    poses = place.maps(maps, flesh.place)
    fps = scene.render.fps / scene.render.fps_base
    settings = flesh.build_settings.simulation.replace(gravity=driving.gravity_at(flesh, place))
    numbers = [flesh.character.bones.index(name) for name in names]
    try:
        followed = thew.follow_bones(flesh.body, poses, fps, numbers, firmness, limit, settings=settings)
    except thew.ThewError as error:
        raise Refusal(sentence(str(error))) from error
    changes = place.world_maps(followed @ np.linalg.inv(poses))
    # Bones that carry no flesh go with the one above by themselves.
    below, bones = _below(armature, names), flesh.character.bones
    moved = [name for name in _depth_first(armature) if name in below and name in bones]
    _key(scene, armature, motion.start, {name: changes[:, bones.index(name)] for name in moved})
    return moved, len(maps)


def check_method(flesh: Any) -> None:
    """Refuses flesh whose stiffness cannot change while it moves, in the words of the panel."""
    if flesh.build_settings.method in FIXED_METHODS:
        raise Refusal("Bones cannot follow flesh of this method: choose Hyperelastic under Method")
    if flesh.body.basis_levels:
        raise Refusal("Bones cannot follow flesh with Fine Detail: set Fine Detail to 0")


def check(armature: bpy.types.Object, flesh: Any, names: list[str]) -> None:
    """Refuses bones that cannot follow."""
    for name in names:
        if name not in armature.pose.bones:
            raise Refusal(f"{describe(armature)} has no bone “{name}”: choose others")
        if name not in flesh.character.bones:
            raise Refusal(f"The bone “{name}” moves no flesh, so it has none to follow: choose one that has weights")
    for name in sorted(_below(armature, names)):
        if len(armature.pose.bones[name].constraints):
            raise Refusal(
                f"The bone “{name}” of {describe(armature)} is moved by constraints, which would override the keys: mute or remove them"
            )


def _below(armature: bpy.types.Object, names: list[str]) -> set[str]:
    """Returns the bones with all below them."""
    chosen = [armature.data.bones[name] for name in names]
    return {bone.name for bone in chosen} | {bone.name for top in chosen for bone in top.children_recursive}


def _depth_first(armature: bpy.types.Object) -> list[str]:
    """Returns the names of all bones, each after the one above."""
    tops = [bone for bone in armature.data.bones if bone.parent is None]
    return [bone.name for top in tops for bone in (top, *top.children_recursive)]


def _key(scene: bpy.types.Scene, armature: bpy.types.Object, start: int, changes: dict[str, np.ndarray]) -> None:
    """Keys the rotations of bones that are moved by world maps [f, 4, 4] from where they are at each frame; `changes` has each bone after the
    one above."""
    frames = len(next(iter(changes.values())))
    former, rows = scene.frame_current_final, []
    with silence_handlers():
        try:
            for frame in range(frames):
                scene.frame_set(start + frame)
                rows.append(_basis_rotations(armature, {name: maps[frame] for name, maps in changes.items()}))
        finally:
            scene.frame_set(int(former), subframe=former - int(former))
    for frame, row in enumerate(rows):
        for name, (turn, former_euler) in row.items():
            bone = armature.pose.bones[name]
            path = _set_rotation(bone, turn, former_euler)
            bone.keyframe_insert(path, frame=start + frame)


def _basis_rotations(armature: bpy.types.Object, changes: dict[str, np.ndarray]) -> dict[str, tuple]:
    """Returns the own rotation of each bone at the present frame after world maps have moved it, and its present Euler angles."""
    world = np.array(armature.matrix_world, dtype=np.float64)
    back, moved, rows = np.linalg.inv(world), {}, {}
    for name, change in changes.items():
        bone = armature.pose.bones[name]
        moved[name] = Matrix((back @ change @ world @ np.array(bone.matrix, dtype=np.float64)).tolist())
        above = bone.parent
        options = {}
        if above is not None:
            options = {
                "parent_matrix": moved.get(above.name, above.matrix),
                "parent_matrix_local": above.bone.matrix_local,
            }
        own = bone.bone.convert_local_to_pose(moved[name], bone.bone.matrix_local, invert=True, **options)
        rows[name] = (own.to_quaternion(), bone.rotation_euler.copy())
    return rows


def _set_rotation(bone: bpy.types.PoseBone, turn, former) -> str:
    """Sets the rotation of a bone in its own mode, near the former Euler angles; returns the property."""
    if bone.rotation_mode == "QUATERNION":
        if turn.dot(bone.rotation_quaternion) < 0.0:
            turn.negate()
        bone.rotation_quaternion = turn
        return "rotation_quaternion"
    if bone.rotation_mode == "AXIS_ANGLE":
        axis, angle = turn.to_axis_angle()
        bone.rotation_axis_angle = (angle, *axis)
        return "rotation_axis_angle"
    bone.rotation_euler = turn.to_euler(bone.rotation_mode, former)
    return "rotation_euler"
