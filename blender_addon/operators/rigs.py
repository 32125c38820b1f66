# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators on rigs: the list, samples, strength, drivers, and the preview of flesh at rest."""

from __future__ import annotations

import math

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty, StringProperty

from ..edit import muscles, sizing
from ..edit.rig_list import drop_rig, heaviest_bone, move_rig, new_rig
from ..live import jobs, target
from ..live.session import register as fleshes
from ..logic.errors import Refusal
from ..logic.sentences import plural
from ..rigs import drivers, measures, rigging
from ..rigs.anchors import anchor_bone, anchor_face
from ..saved import rigs as saved_rigs
from ..saved.rigs import guide_property, template_property
from ..saved.samples import quiet_edits, record, show_sliders, start_samples
from ..scene import windows
from ..scene.bind_pose import BindPose
from ..scene.own_skin import is_helper
from ..scene.reading import armature_of
from .operator_bases import Job, chosen_index, fresh_property, option
from .rig_edit import RigEdit

INDEX = {"name": "Rig", "description": "Index of the rig, from 0; -1 is the active one", "default": -1, "min": -1}


class THEW_OT_rig_add(RigEdit, bpy.types.Operator):
    bl_label = "Add Rig"
    bl_description = (
        "Add a force field of a suitable size to the character. Its control has no effect at 0 and full effect at 1"
    )
    needs_flesh = True

    template: template_property("BULGE")
    guide: guide_property("BONE")
    name: fresh_property(StringProperty, "Name", "Name of the rig; empty: the template's name")
    bone: fresh_property(StringProperty, "Bone", "Bone to hang on; empty: the active one, or the one with most weight")
    face: fresh_property(IntProperty, "Triangle", "Triangle of the mesh, for the guide Skin", default=-1, min=-1)

    def change(self, context, obj):
        armature = armature_of(obj)
        bone = self.bone or heaviest_bone(obj, armature)
        if self.guide == "BONE" and (armature is None or bone not in armature.data.bones):
            raise Refusal(f"There is no bone “{bone}” in the armature of “{obj.name}”: choose one of its bones")
        if self.guide == "SKIN" and self.face < 0:
            raise Refusal("Which face should the rig hang under? Give one, or place it with the mouse")
        rig = new_rig(obj, self.name or self.template.capitalize())
        try:
            with quiet_edits():
                rig.template, rig.guide = self.template, self.guide
            if self.guide == "BONE":
                anchor_bone(obj, rig, bone)
            elif self.guide == "SKIN":
                anchor_face(obj, rig, self.face)
            else:
                bind_pose = BindPose.from_saved(obj)
                rest = bind_pose.mesh_matrix
                middle = [sum(corner[axis] for corner in obj.bound_box) / 8.0 for axis in range(3)]
                rig.matrix = [
                    1.0 if row == column else (rest[row, :3] @ middle + rest[row, 3] if column == 3 else 0.0)
                    for row in range(4)
                    for column in range(4)
                ]
            flesh = jobs.with_body(obj, context.scene, context.view_layer)
            sizing.fit_to_flesh(obj, flesh, rig)
        except Exception:
            drop_rig(obj, len(obj.thew.rigs) - 1)
            raise
        start_samples(rig)
        return f"“{rig.name}” hangs on “{rig.bone}”." if self.guide == "BONE" else f"“{rig.name}” was added."


class THEW_OT_rig_remove(RigEdit, bpy.types.Operator):
    bl_label = "Remove Rig"
    bl_description = "Remove the rig, with its samples, keys and driver"

    index: IntProperty(**INDEX)

    def change(self, _context, obj):
        index = self.place(obj)
        name = obj.thew.rigs[index].name
        drop_rig(obj, index)
        return f"“{name}” is gone."


class THEW_OT_rig_duplicate(RigEdit, bpy.types.Operator):
    bl_label = "Duplicate Rig"
    bl_description = (
        "Add a copy of the rig below it, with its samples and its driver (keys of the control are not copied)"
    )

    index: IntProperty(**INDEX)

    def change(self, _context, obj):
        index = self.place(obj)
        rigs = obj.thew.rigs
        name = rigs[index].name
        new_rig(obj, name)
        copy = rigs[len(rigs) - 1]
        saved_rigs.copy_rig(rigs[index], copy)
        drivers.copy_driver(copy, rigs[index])
        move_rig(obj, len(rigs) - 1, index + 1)
        obj.thew.active_rig = index + 1
        return f"“{rigs[index + 1].name}” is a copy of “{name}”."


class THEW_OT_rig_move(RigEdit, bpy.types.Operator):
    bl_label = "Move Rig"
    bl_description = "Move the rig in the list; what it does stays the same"

    index: IntProperty(**INDEX)
    direction: option(
        EnumProperty,
        "Direction",
        "Direction of the move",
        items=(("UP", "Up", "Towards the top of the list"), ("DOWN", "Down", "Towards the end of the list")),
        default="UP",
    )

    def change(self, _context, obj):
        index = self.place(obj)
        to = index + (-1 if self.direction == "UP" else 1)
        if 0 <= to < len(obj.thew.rigs):
            move_rig(obj, index, to)
            obj.thew.active_rig = to


class THEW_OT_rig_record(RigEdit, bpy.types.Operator):
    bl_label = "Record"
    bl_description = (
        "Record the sliders as the rig's sample at the current value of its control, in the current pose, replacing "
        "any sample there"
    )

    index: IntProperty(**INDEX)

    def change(self, context, obj):
        index = self.place(obj)
        context.view_layer.update()  # a script may just have moved the driver of the control
        rig = obj.thew.rigs[index]
        rigging.require_sliders(rig)
        if not math.isfinite(rig.control):
            raise Refusal(f"The control of the rig “{rig.name}” is not a number: set it first")
        record(rig)
        return f"“{rig.name}” has {plural(len(rig.samples), 'sample')}; this one is at {rig.control:.4g}."


class THEW_OT_rig_sample_remove(RigEdit, bpy.types.Operator):
    bl_label = "Remove Sample"
    bl_description = "Remove a sample of the rig; without any, the rig follows its sliders, whatever its control"

    index: IntProperty(**INDEX)
    sample: option(IntProperty, "Sample", "Index of the sample, from 0; -1 is the active one", default=-1, min=-1)

    def change(self, _context, obj):
        rig = obj.thew.rigs[self.place(obj)]
        sample = chosen_index(rig, rig.samples, self.sample, rig.active_sample, "sample")
        rig.samples.remove(sample)
        with quiet_edits():
            rig.active_sample = max(0, min(sample, len(rig.samples) - 1))
            rig.draft = False
        if len(rig.samples):
            show_sliders(rig)


class THEW_OT_rig_measure(RigEdit, bpy.types.Operator):
    bl_label = "Keep Strength By"
    bl_description = (
        "Keep the rig's strength as a distance, the same for flesh of any softness, or as a force; its present "
        "effect stays"
    )
    needs_flesh = True

    index: IntProperty(**INDEX)
    by: option(EnumProperty, "By", "Quantity to keep", items=saved_rigs.MEASURES, default="YIELD")

    def change(self, context, obj):
        rig = obj.thew.rigs[self.place(obj)]
        if rig.strength_by != self.by:
            measures.measure(obj, jobs.with_body(obj, context.scene, context.view_layer), rig, self.by)


class THEW_OT_rig_driver(RigEdit, bpy.types.Operator):
    bl_label = "Drive by a Bone"
    bl_description = (
        "Drive the rig's control by the turn of a bone: 0 at one angle, 1 at another. The axis Automatic takes axis "
        "and angles from the animation, and of a muscle from its own length"
    )

    index: IntProperty(**INDEX)
    bone: fresh_property(
        StringProperty, "Bone", "Bone that drives; empty: the one whose joint is nearest below the rig"
    )
    axis: fresh_property(EnumProperty, "Axis", "Turn of the bone to use", items=drivers.AXES, default="AUTO")
    from_angle: fresh_property(FloatProperty, "From", "Angle at which the control is 0", default=0.0, unit="ROTATION")
    to_angle: fresh_property(
        FloatProperty, "To", "Angle at which the control is 1", default=0.5 * math.pi, unit="ROTATION"
    )

    def invoke(self, context, _event):
        if windows.is_headless() or context.window is None:
            return self.execute(context)
        if not self.bone:
            obj = target.target_mesh(context)
            self.bone = drivers.joint_of(obj, obj.thew.rigs[self.place(obj)])
        return context.window_manager.invoke_props_dialog(self)

    def draw(self, context):
        layout, armature = self.layout, armature_of(target.target_mesh(context))
        layout.use_property_split = True
        if armature is not None:
            layout.prop_search(self, "bone", armature.data, "bones")
        layout.prop(self, "axis")
        if self.axis == "AUTO":
            rig = saved_rigs.active_rig(target.target_mesh(context))
            led = rig is not None and rig.kind == "MUSCLE"
            text = "By the muscle's own length" if led else "From the smallest to the largest turn in the clip"
            layout.label(text=text, icon="INFO")
            return
        layout.prop(self, "from_angle")
        layout.prop(self, "to_angle")

    def change(self, context, obj):
        rig = obj.thew.rigs[self.place(obj)]
        armature = armature_of(obj)
        if armature is None:
            raise Refusal(f"“{obj.name}” has no armature, so no bone can drive its rigs")
        bone = self.bone or drivers.joint_of(obj, rig)
        if bone not in armature.pose.bones or is_helper(armature.data.bones[bone]):
            raise Refusal(f"There is no bone “{bone}” in “{armature.name}”: choose one of its bones")
        context.view_layer.update()
        if rig.kind == "MUSCLE" and self.axis == "AUTO":
            flesh = jobs.with_body(obj, context.scene, context.view_layer)
            turning = muscles.drive(obj, flesh, rig, self.bone)
            context.view_layer.update()
            show_sliders(rig)
            return f"“{rig.name}” is led by its own length, as “{turning}” turns."
        flesh = fleshes.known_state(obj)
        turns = drivers.turns_of(armature, bone, flesh.motion.raw if flesh is not None and flesh.motion else None)
        axis, start, end = self.axis, self.from_angle, self.to_angle
        if axis == "AUTO":
            axis = drivers.dominant_axis(turns)
            start, end = drivers.usual_range(turns, axis)
        drivers.drive(rig, armature, bone, axis, start, end)
        context.view_layer.update()
        show_sliders(rig)
        which = "swing" if axis == "SWING" else f"{axis} turn"
        return f"The {which} of “{bone}” drives “{rig.name}”: {math.degrees(start):.0f}° to {math.degrees(end):.0f}°."


class THEW_OT_settle(Job, bpy.types.Operator):
    bl_label = "Rest Pose Preview"
    bl_description = (
        "Show the flesh at rest in every pose, pushed by the rigs, to work on them; Simulate returns to motion. "
        "Other Flesh is left out"
    )

    def job(self, context, obj):
        return jobs.rest(obj, context.scene, context.view_layer)

    def message(self, obj, _result):
        return f"“{obj.name}” is at rest."
