# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of rigs, their samples, drivers and files, and the look at flesh at rest."""

from __future__ import annotations

import math

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty, StringProperty

from ..edit import placing
from ..live import handlers, jobs, target
from ..live.recipe import Stance
from ..live.session import register as fleshes
from ..logic.errors import Refusal
from ..logic.names import free_name
from ..logic.sentences import plural
from ..rigs import drivers, files, measures, rigging
from ..rigs.anchors import anchor_bone, anchor_face, armature_of
from ..saved import rigs as saved_rigs
from ..saved.rigs import GUIDES, TEMPLATES
from ..scene import reading
from .shell import Job

#: The part of its reach by which a new rig moves the skin.
VISIBLE = 0.2

#: What an earlier call said is no word on the next one.
FRESH = {"SKIP_SAVE"}

INDEX = {"name": "Rig", "description": "Which rig of the list, from 0; -1 is the active one", "default": -1, "min": -1}


class Edit(Job):
    """An operator on the rigs of the active object that is done at once; a subclass gives `edit(context, obj)`."""

    needs_flesh = False

    def invoke(self, context, _event):
        return self.execute(context)

    def execute(self, context):
        obj = target.of(context)
        try:
            if self.needs_flesh:
                jobs.check_flesh(obj)
            else:
                reading.check_editable(obj)
            said = self.edit(context, obj)
            rigging.shown(context, obj)
        except Exception as error:
            return self.refuse(obj, error)
        return self.done(obj, said)

    def edit(self, context, obj) -> str:
        """Do it; gives what to tell."""
        raise NotImplementedError

    def said(self, _obj, result):
        return result or ""

    def place(self, obj) -> int:
        """The place in the list of the rig meant."""
        index = obj.thew.active_rig if self.index < 0 else self.index
        if not len(obj.thew.rigs):
            raise Refusal(f"“{obj.name}” has no rigs: add one first")
        if not 0 <= index < len(obj.thew.rigs):
            count = plural(len(obj.thew.rigs), "rig")
            raise Refusal(f"“{obj.name}” has no rig {index}: it has {count}")
        return index


class THEW_OT_rig_add(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_add"
    bl_label = "Add Rig"
    bl_description = (
        "Add a force field to the character, of a size that suits it. Its control does nothing at 0 and all of it at 1"
    )
    bl_options = {"REGISTER", "UNDO"}
    needs_flesh = True

    template: EnumProperty(name="Template", description="The shape of the field", items=TEMPLATES, default="BULGE")
    guide: EnumProperty(name="Guide", description="What the field hangs on", items=GUIDES, default="BONE")
    name: StringProperty(name="Name", description="What to call it; empty takes the template's name", options=FRESH)
    bone: StringProperty(
        name="Bone", description="The bone; empty takes the active one, or the one with most weight", options=FRESH
    )
    face: IntProperty(
        name="Triangle", description="With the guide Skin: the triangle of the mesh", default=-1, min=-1, options=FRESH
    )

    def edit(self, context, obj):
        armature = armature_of(obj)
        bone = self.bone or heaviest_bone(obj, armature)
        if self.guide == "BONE" and (armature is None or bone not in armature.data.bones):
            raise Refusal(f"There is no bone “{bone}” in the armature of “{obj.name}”: choose one of its bones")
        if self.guide == "SKIN" and self.face < 0:
            raise Refusal("Which face should the rig hang under? Give one, or place it with the mouse")
        rig = new_rig(obj, self.name or self.template.capitalize())
        try:
            with saved_rigs.quietly():
                rig.template, rig.guide = self.template, self.guide
                suit(obj, rig)
            if self.guide == "BONE":
                anchor_bone(obj, rig, bone)
            elif self.guide == "SKIN":
                anchor_face(obj, rig, self.face)
            else:
                stance = Stance.saved(obj)
                rest = stance.mesh_matrix
                middle = [sum(corner[axis] for corner in obj.bound_box) / 8.0 for axis in range(3)]
                rig.matrix = [
                    1.0 if row == column else (rest[row, :3] @ middle + rest[row, 3] if column == 3 else 0.0)
                    for row in range(4)
                    for column in range(4)
                ]
            flesh = jobs.with_body(obj, context.scene, context.view_layer)
            with saved_rigs.quietly():
                rig.strength_by, rig.strength = "FORCE", 1.0
                native = rigging.native_rig(obj, flesh, rig)
                reach = rig.tube_radius if rig.template == "TORUS" else rig.radius
                unit = flesh.place.metres_per_unit
                rig.strength_by, rig.strength = "YIELD", placing.bearable(flesh, native, VISIBLE * unit * reach) / unit
        except Exception:
            drop_rig(obj, len(obj.thew.rigs) - 1)
            raise
        saved_rigs.start_samples(rig)
        return f"“{rig.name}” hangs on “{rig.bone}”." if self.guide == "BONE" else f"“{rig.name}” was added."


class THEW_OT_rig_remove(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_remove"
    bl_label = "Remove Rig"
    bl_description = "Take the rig away, with its samples, keys and driver"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(**INDEX)

    def edit(self, _context, obj):
        index = self.place(obj)
        name = obj.thew.rigs[index].name
        drop_rig(obj, index)
        return f"“{name}” is gone."


class THEW_OT_rig_duplicate(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_duplicate"
    bl_label = "Duplicate Rig"
    bl_description = (
        "Add a copy of the rig below it, with its samples and its driver (keys of the control are not copied)"
    )
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(**INDEX)

    def edit(self, _context, obj):
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


class THEW_OT_rig_move(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_move"
    bl_label = "Move Rig"
    bl_description = "Move the rig in the list; what it does stays the same"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(**INDEX)
    direction: EnumProperty(
        name="Direction",
        description="Which way",
        items=(("UP", "Up", "Towards the head of the list"), ("DOWN", "Down", "Towards its end")),
        default="UP",
    )

    def edit(self, _context, obj):
        index = self.place(obj)
        to = index + (-1 if self.direction == "UP" else 1)
        if 0 <= to < len(obj.thew.rigs):
            move_rig(obj, index, to)
            obj.thew.active_rig = to


class THEW_OT_rig_record(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_record"
    bl_label = "Record"
    bl_description = (
        "Keep the sliders as the rig's sample at the present value of its control, in the pose that you see; a sample "
        "that is there already is replaced"
    )
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(**INDEX)

    def edit(self, context, obj):
        index = self.place(obj)
        context.view_layer.update()  # a script may just have moved what drives the control
        rig = obj.thew.rigs[index]
        if not math.isfinite(rig.control):
            raise Refusal(f"The control of the rig “{rig.name}” is not a number: set it first")
        saved_rigs.record(rig)
        return f"“{rig.name}” has {plural(len(rig.samples), 'sample')}; this one is at {rig.control:.4g}."


class THEW_OT_rig_sample_remove(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_sample_remove"
    bl_label = "Remove Sample"
    bl_description = "Forget a sample of the rig; without any the rig is what its sliders show, whatever its control"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(**INDEX)
    sample: IntProperty(
        name="Sample", description="Which sample of the list, from 0; -1 is the active one", default=-1, min=-1
    )

    def edit(self, _context, obj):
        rig = obj.thew.rigs[self.place(obj)]
        sample = rig.active_sample if self.sample < 0 else self.sample
        if not 0 <= sample < len(rig.samples):
            raise Refusal(f"“{rig.name}” has no sample {sample}: it has {plural(len(rig.samples), 'sample')}")
        rig.samples.remove(sample)
        with saved_rigs.quietly():
            rig.active_sample = max(0, min(sample, len(rig.samples) - 1))
            rig.draft = False
        if len(rig.samples):
            saved_rigs.show_sliders(rig)


class THEW_OT_rig_measure(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_measure"
    bl_label = "Keep Strength By"
    bl_description = "Keep the rig's strength as a distance, which it moves flesh of any softness, or as a force; it does the same now"
    bl_options = {"REGISTER", "UNDO"}
    needs_flesh = True

    index: IntProperty(**INDEX)
    by: EnumProperty(name="By", description="What to keep", items=saved_rigs.MEASURES, default="YIELD")

    def edit(self, context, obj):
        rig = obj.thew.rigs[self.place(obj)]
        if rig.strength_by != self.by:
            measures.measure(obj, jobs.with_body(obj, context.scene, context.view_layer), rig, self.by)


class THEW_OT_rig_driver(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_driver"
    bl_label = "Drive by a Bone"
    bl_description = (
        "Let the turn of a bone drive the rig's control: 0 at one angle, 1 at another. With the axis Automatic, axis and "
        "angles are those of the animation"
    )
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(**INDEX)
    bone: StringProperty(
        name="Bone",
        description="The bone that drives; empty takes the one whose joint is nearest below the rig",
        options=FRESH,
    )
    axis: EnumProperty(
        name="Axis", description="Which turn of the bone", items=drivers.AXES, default="AUTO", options=FRESH
    )
    from_angle: FloatProperty(
        name="From", description="The angle at which the control is 0", default=0.0, unit="ROTATION", options=FRESH
    )
    to_angle: FloatProperty(
        name="To",
        description="The angle at which the control is 1",
        default=0.5 * math.pi,
        unit="ROTATION",
        options=FRESH,
    )

    def invoke(self, context, _event):
        if handlers.headless() or context.window is None:
            return self.execute(context)
        if not self.bone:
            obj = target.of(context)
            self.bone = drivers.joint_of(obj, obj.thew.rigs[self.place(obj)])
        return context.window_manager.invoke_props_dialog(self)

    def draw(self, context):
        layout, armature = self.layout, armature_of(target.of(context))
        layout.use_property_split = True
        if armature is not None:
            layout.prop_search(self, "bone", armature.data, "bones")
        layout.prop(self, "axis")
        if self.axis == "AUTO":
            layout.label(text="From the least to the most it turns in the clip", icon="INFO")
            return
        layout.prop(self, "from_angle")
        layout.prop(self, "to_angle")

    def edit(self, context, obj):
        rig = obj.thew.rigs[self.place(obj)]
        armature = armature_of(obj)
        if armature is None:
            raise Refusal(f"“{obj.name}” has no armature, so no bone can drive its rigs")
        bone = self.bone or drivers.joint_of(obj, rig)
        if bone not in armature.pose.bones:
            raise Refusal(f"There is no bone “{bone}” in “{armature.name}”: choose one of its bones")
        context.view_layer.update()
        flesh = fleshes.known(obj)
        turns = drivers.turns_of(armature, bone, flesh.motion.raw if flesh is not None and flesh.motion else None)
        axis, start, end = self.axis, self.from_angle, self.to_angle
        if axis == "AUTO":
            axis = drivers.chosen_axis(turns)
            start, end = drivers.usual_range(turns, axis)
        drivers.drive(rig, armature, bone, axis, start, end)
        context.view_layer.update()
        saved_rigs.show_sliders(rig)
        which = "swing" if axis == "SWING" else f"{axis} turn"
        return f"The {which} of “{bone}” drives “{rig.name}”: {math.degrees(start):.0f}° to {math.degrees(end):.0f}°."


class THEW_OT_rig_export(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_export"
    bl_label = "Export Rigs"
    bl_description = "Write the rigs into a small text file (TOML), to use on this or another character"
    bl_options = {"REGISTER"}
    needs_flesh = True

    filepath: StringProperty(name="File", description="Where to write", subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.toml", options={"HIDDEN"})

    def invoke(self, context, _event):
        if handlers.headless() or context.window is None:
            return self.execute(context)
        self.filepath = self.filepath or f"{target.of(context).name} rigs.toml"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def edit(self, context, obj):
        written, left = files.export(obj, jobs.with_body(obj, context.scene, context.view_layer), self.filepath)
        for text in left:
            self.report({"WARNING"}, text)
        return f"{plural(written, 'rig')} written to {self.filepath}."


class THEW_OT_rig_import(Edit, bpy.types.Operator):
    bl_idname = "thew.rig_import"
    bl_label = "Import Rigs"
    bl_description = "Add the rigs of a file to this character; bones are found by name, faces by index"
    bl_options = {"REGISTER", "UNDO"}
    needs_flesh = True

    filepath: StringProperty(name="File", description="What to read", subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.toml", options={"HIDDEN"})

    def invoke(self, context, _event):
        if handlers.headless() or context.window is None:
            return self.execute(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def edit(self, context, obj):
        added = files.read(obj, jobs.with_body(obj, context.scene, context.view_layer), self.filepath)
        lost = [rig for rig in added if rig.problem]
        for rig in lost:
            self.report({"WARNING"}, rig.problem)
        kept = f", {len(lost)} of them switched off" if lost else ""
        return f"{plural(len(added), 'rig')} added{kept}."


class THEW_OT_settle(Job, bpy.types.Operator):
    bl_idname = "thew.settle"
    bl_label = "Settle"
    bl_description = (
        "Show the flesh at rest in every pose, pushed by the rigs, to work on them; Simulate goes back to motion"
    )
    bl_options = {"REGISTER", "UNDO"}

    def job(self, context, obj):
        return jobs.rest(obj, context.scene, context.view_layer)

    def said(self, obj, _result):
        return f"“{obj.name}” is at rest."


CLASSES = (
    THEW_OT_rig_add,
    THEW_OT_rig_remove,
    THEW_OT_rig_duplicate,
    THEW_OT_rig_move,
    THEW_OT_rig_record,
    THEW_OT_rig_sample_remove,
    THEW_OT_rig_measure,
    THEW_OT_rig_driver,
    THEW_OT_rig_export,
    THEW_OT_rig_import,
    THEW_OT_settle,
)


# the list -------------------------------------------------------------------------------------------------------------


def new_rig(obj: bpy.types.Object, name: str) -> saved_rigs.ThewRig:
    """A rig at the end of the list, active, under a name that is free."""
    rigs = obj.thew.rigs
    taken = {rig.name for rig in rigs}
    rig = rigs.add()
    with saved_rigs.quietly():
        rig.name = free_name(name, taken)
    obj.thew.active_rig = len(rigs) - 1
    return rig


def drop_rig(obj: bpy.types.Object, index: int) -> None:
    """Remove a rig; keys and drivers of the others keep up."""
    drivers.repath(obj, lambda i: None if i == index else i - (i > index))
    obj.thew.rigs.remove(index)
    obj.thew.active_rig = max(0, min(obj.thew.active_rig, len(obj.thew.rigs) - 1))
    rigging.unmark(obj)


def move_rig(obj: bpy.types.Object, start: int, end: int) -> None:
    """Move a rig from one place of the list to another; keys and drivers keep up."""
    order = list(range(len(obj.thew.rigs)))
    order.insert(end, order.pop(start))
    drivers.repath(obj, lambda i: order.index(i) if i < len(order) else i)
    obj.thew.rigs.move(start, end)


# what suits a character -----------------------------------------------------------------------------------------------


def suit(obj: bpy.types.Object, rig: saved_rigs.ThewRig) -> None:
    """Sizes that suit the character, scene units."""
    side = Stance.saved(obj).longest_side
    rig.radius, rig.ring_radius, rig.tube_radius = 0.08 * side, 0.06 * side, 0.03 * side


def heaviest_bone(obj: bpy.types.Object, armature: bpy.types.Object | None) -> str:
    """The active bone of the armature where it has weight here, else the bone with most."""
    if armature is None:
        return ""
    names = {group.index: group.name for group in obj.vertex_groups if group.name in armature.data.bones}
    active = armature.data.bones.active
    if active is not None and active.name in names.values():
        return active.name
    total: dict[int, float] = {}
    for vertex in obj.data.vertices:
        for group in vertex.groups:
            if group.group in names:
                total[group.group] = total.get(group.group, 0.0) + group.weight
    return names[max(total, key=total.__getitem__)] if total else ""
