# SPDX-License-Identifier: GPL-3.0-or-later
"""Twist of single bones: set for the selected bones, copied, mirrored, and cleared."""

from __future__ import annotations

import bpy
from bpy.props import FloatProperty, StringProperty

from ..edit import twist as edit
from ..live import jobs, updates
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import plural
from ..scene import twist
from .operator_bases import QuickJob, fresh_property

#: Property for the bones to work on.
BONES = {"name": "Bones", "description": "Names of the bones, one per line; empty: the selected ones"}


class BoneJob(QuickJob):
    """Base of the operators on bones of the armature: the named ones, or the selected ones."""

    bones: fresh_property(StringProperty, **BONES)

    def edit(self, context, obj):
        jobs.check_flesh(obj)
        return self.edit_bones(context, obj, twist.editable_armature(obj))

    def edit_bones(self, context: bpy.types.Context, obj: bpy.types.Object, armature: bpy.types.Object) -> str:
        """Does the edit on bones of the armature of `obj`; returns the message for the artist."""
        raise NotImplementedError


class THEW_OT_twist_set(BoneJob, bpy.types.Operator):
    bl_label = "Set Twist"
    bl_description = "Give the selected bones a twist of their own, at first with the automatic radius: flesh within it turns with its bone"

    radius: fresh_property(
        FloatProperty, "Radius", "Radius in scene units; 0: the automatic one", default=0.0, min=0.0, subtype="DISTANCE"
    )
    strength: fresh_property(
        FloatProperty, "Strength", "Strength; 0 is off, 1 the usual", default=1.0, min=0.0, max=1000.0, soft_max=20.0
    )

    def edit_bones(self, context, obj, armature):
        bones = twist.chosen_bones(armature, self.bones)
        updates.stop_update()
        flesh = jobs.with_body(obj, context.scene, context.view_layer)
        radii = edit.radii(obj, flesh, [bone.name for bone in bones], self.radius)
        for bone, radius in zip(bones, radii, strict=True):
            twist.write(bone, radius, self.strength)
        return f"{plural(len(bones), 'bone has', 'bones have')} a twist of {'its' if len(bones) == 1 else 'their'} own."


class THEW_OT_twist_clear(BoneJob, bpy.types.Operator):
    bl_label = "Clear Twist"
    bl_description = "Return the selected bones to the automatic twist"

    def edit_bones(self, _context, obj, armature):
        bones = twist.chosen_bones(armature, self.bones)
        count = sum(twist.clear(bone) for bone in bones)
        if not count:
            raise Refusal(f"No chosen bone has a twist of its own: {describe(obj)} keeps the automatic one there")
        return f"{plural(count, 'bone returns', 'bones return')} to the automatic twist."


class THEW_OT_twist_copy(BoneJob, bpy.types.Operator):
    bl_label = "Copy Twist to Selected"
    bl_description = "Copy the twist of the active bone to the other selected bones"

    def edit_bones(self, context, obj, armature):
        source = twist.active_bone(armature)
        if source is None or not source.thew.use_twist:
            raise Refusal(
                f"The active bone of {describe(armature)} has no twist of its own to copy: press Set Twist first"
            )
        others = [bone for bone in twist.chosen_bones(armature, self.bones) if bone != source]
        if not others:
            raise Refusal(f"Only “{source.name}” is selected: select the bones to copy its twist to as well")
        copy(context, obj, [(source, bone) for bone in others])
        return f"The twist of “{source.name}” is copied to {plural(len(others), 'bone')}."


class THEW_OT_twist_mirror(BoneJob, bpy.types.Operator):
    bl_label = "Mirror Twist"
    bl_description = "Copy the twists of the selected bones to the bones of the other side, by their names (.L and .R)"

    def edit_bones(self, context, obj, armature):
        sources = [bone for bone in twist.chosen_bones(armature, self.bones) if bone.thew.use_twist]
        if not sources:
            raise Refusal(
                f"No chosen bone of {describe(armature)} has a twist of its own to mirror: press Set Twist first"
            )
        pairs = edit.mirror_pairs(armature, sources)
        copy(context, obj, pairs)
        return f"{plural(len(pairs), 'twist is', 'twists are')} copied to the other side."


def copy(context, obj, pairs) -> None:
    """Copies the twist of the first bone of each pair to the second one; refuses bones that carry no flesh."""
    flesh = jobs.with_body(obj, context.scene, context.view_layer)
    edit.check_bones(obj, flesh, [other.name for _, other in pairs])
    for source, other in pairs:
        twist.write(other, source.thew.twist_radius, source.thew.twist_strength)
