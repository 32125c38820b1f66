# SPDX-License-Identifier: GPL-3.0-or-later
"""numpy to Blender: a pose of an armature, set on its bones and taken back. Nothing but rotations and places of bones is written."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

#: Change of an entry of a bone's matrix below which the bone is left alone: single precision.
SAME = 1e-5


def bone_poses(
    maps: np.ndarray, armature: np.ndarray, mesh: np.ndarray, mesh_rest: np.ndarray, rests: np.ndarray
) -> np.ndarray:
    """Returns the pose matrices [b, 4, 4] in armature space at which bones move the skin by T_b: the inverse of `spaces.bone_maps`.

    maps: T_b [b, 4, 4]; armature, mesh, mesh_rest: world matrices [4, 4]; rests: rest matrices of the bones [b, 4, 4].
    """
    own = mesh @ np.linalg.inv(mesh_rest)
    return np.linalg.inv(armature) @ maps @ np.linalg.inv(own) @ armature @ rests


def set_pose(armature: bpy.types.Object, wanted: dict[str, np.ndarray]) -> dict[str, Matrix]:
    """Poses bones: `wanted` pose matrices in armature space by name; other bones keep their own turn.

    Returns the former local matrices of the bones that changed, for `restore`.
    """
    placed: dict[str, Matrix] = {}
    before: dict[str, Matrix] = {}
    for posed in armature.pose.bones:
        bone, parent, above = posed.bone, posed.parent, {}
        if parent is not None:
            above = {"parent_matrix": placed[parent.name], "parent_matrix_local": parent.bone.matrix_local}
        local = posed.matrix_basis.copy()
        if posed.name in wanted:
            matrix = Matrix(wanted[posed.name].tolist())
            local = bone.convert_local_to_pose(matrix, bone.matrix_local, invert=True, **above)
            if bone.use_connect:
                local.translation = posed.matrix_basis.translation
        if np.abs(np.array(local) - np.array(posed.matrix_basis)).max() > SAME:
            before[posed.name] = posed.matrix_basis.copy()
            posed.matrix_basis = local
        placed[posed.name] = bone.convert_local_to_pose(local, bone.matrix_local, **above)
    return before


def restore(armature: bpy.types.Object, before: dict[str, Matrix]) -> None:
    """Takes a pose back."""
    for name, local in before.items():
        armature.pose.bones[name].matrix_basis = local


def is_animated(armature: bpy.types.Object) -> bool:
    """Returns whether keys pose an armature, so that another frame loses a pose without keys."""
    data = armature.animation_data
    return data is not None and (data.action is not None or len(data.nla_tracks) > 0)


def key_pose(armature: bpy.types.Object, bones) -> None:
    """Inserts keys for the rotation and the place of bones at the present frame."""
    for name in bones:
        posed = armature.pose.bones[name]
        if not posed.bone.use_connect:
            posed.keyframe_insert("location", group=name)
        path = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
        posed.keyframe_insert(path.get(posed.rotation_mode, "rotation_euler"), group=name)
