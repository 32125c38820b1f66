# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones with attachments, found again after they were renamed: by name, and by a token in a custom property."""

from __future__ import annotations

import uuid

import bpy

#: Custom property that marks a bone.
BONE_MARK = "thew_bone"


def mark_bone(armature: bpy.types.Object, bone: bpy.types.Bone) -> str:
    """Returns the token of a bone; one without a token, or with that of another bone, gets a new one. "" where it cannot be marked."""
    token = bone.get(BONE_MARK, "")
    copied = token and any(other.get(BONE_MARK) == token for other in armature.data.bones if other != bone)
    if not token or copied:
        token = uuid.uuid4().hex[:12]
        try:
            bone[BONE_MARK] = token
        except (RuntimeError, TypeError, AttributeError):  # linked from another file: its name has to do
            return ""
    return token


def find_marked_bone(armature: bpy.types.Object, name: str, token: str) -> str:
    """Returns the present name of the bone formerly called `name` with a token ("" for no token); "" when it is gone."""
    bones = armature.data.bones
    named = bones.get(name)
    if not token:
        return name if named is not None else ""
    if named is not None and named.get(BONE_MARK) == token:
        return name
    renamed = next((bone.name for bone in bones if bone.get(BONE_MARK) == token), "")
    if renamed:
        return renamed
    # A bone made anew under the old name is accepted; one that was renamed to it is not.
    return name if named is not None and not named.get(BONE_MARK) else ""


def unmark_bones(armature: bpy.types.Object, used: set[str]) -> None:
    """Removes the marks of tokens that are not `used` any more."""
    if armature.library is not None or armature.data.library is not None:
        return
    for bone in armature.data.bones:
        if bone.get(BONE_MARK) is not None and bone[BONE_MARK] not in used:
            del bone[BONE_MARK]
