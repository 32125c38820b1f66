# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh maps: painting them, patches by body part, the automatic map. Also the guess of the character's size."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty

from ..edit import explaining, rigid, softening
from ..languages.translations import translate
from ..live import jobs, target, updates
from ..logic.body_parts import PARTS
from ..logic.errors import Refusal
from ..logic.flesh_map import NEUTRAL_WEIGHT
from ..logic.names import describe
from ..scene import flesh_map, windows
from ..scene.reading import armature_of
from .operator_bases import QuickJob, factor, option


class THEW_OT_paint_flesh(QuickJob, bpy.types.Operator):
    bl_label = "Paint Flesh"
    bl_description = (
        "Paint where the character is soft, in Weight Paint mode: 0 is the skin as it is, 1 as soft as it gets. "
        "Press again to return to Object mode"
    )

    map: option(
        EnumProperty,
        "Map",
        "Map to paint",
        items=(
            ("FLESH", "Flesh", "Softness: 0 is the skin as it is, 1 as soft as it gets"),
            ("STIFFNESS", "Stiffness", "Factor on the stiffness: 0 is a quarter, 0.5 no change, 1 four times"),
            ("RIGID", "Rigid", "Skin that keeps to its bones: 0 is free, 1 never sways or bulges"),
        ),
        default="FLESH",
    )

    @classmethod
    def description(cls, _context, properties):
        if properties.map == "STIFFNESS":
            return translate(
                "Paint a factor on the stiffness, in Weight Paint mode: 0 is a quarter, 0.5 no change, 1 four times. "
                "Press again to return to Object mode"
            )
        if properties.map == "RIGID":
            return (
                "Paint where the skin keeps exactly to its bones, in Weight Paint mode: 0 is free, 1 never sways or bulges. Press again "
                "to return to Object mode"
            )
        return translate(cls.bl_description)

    def edit(self, context, obj):
        name = {"FLESH": flesh_map.FLESH, "STIFFNESS": flesh_map.STIFFNESS, "RIGID": flesh_map.RIGID}[self.map]
        if obj is not None and obj.mode == "WEIGHT_PAINT":
            active = obj.vertex_groups.active
            if active is not None and active.name == name:
                bpy.ops.object.mode_set(mode="OBJECT")
                return ""
        jobs.check_flesh(obj)
        if not obj.visible_get():
            raise Refusal(f"{describe(obj)} is hidden, and what is hidden cannot be painted: show it first")
        flesh_map.check_paintable(obj, armature_of(obj), name)
        if obj.vertex_groups.get(name) is None:
            updates.stop_update()
            if name == flesh_map.FLESH:
                softening.reset_to_automatic(context, obj)
            elif name == flesh_map.RIGID:
                rigid.begin(context, obj)
            else:
                flesh_map.write(obj, name, [NEUTRAL_WEIGHT] * len(obj.data.vertices))
        active = context.view_layer.objects.active
        if active is not None and active.mode != "OBJECT" and active != obj:
            bpy.ops.object.mode_set(mode="OBJECT")
        if active != obj:
            for other in context.view_layer.objects:
                other.select_set(other == obj)
            context.view_layer.objects.active = obj
        obj.select_set(True)
        obj.vertex_groups.active = obj.vertex_groups[name]
        if obj.mode != "WEIGHT_PAINT":
            bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
        return ""


class THEW_OT_flesh_preset(QuickJob, bpy.types.Operator):
    bl_label = "Soften a Body Part"
    bl_description = (
        "Write a part of the body into the map Flesh: found by the body's shape, else by bone names, at the active "
        "bone in Pose mode, or at the 3D cursor"
    )

    part: option(
        EnumProperty,
        "Part",
        "Part of the body to soften",
        items=[(key, part.label, part.description) for key, part in PARTS.items()],
        default="BELLY",
    )
    size: option(
        FloatProperty,
        "Size",
        "Reach, as a multiple of what suits the part",
        default=1.0,
        min=0.05,
        max=10.0,
        soft_min=0.25,
        soft_max=3.0,
    )
    amount: factor("Amount", "Softness: 0 is the skin as it is, 1 as soft as it gets", 1.0)

    def edit(self, context, obj):
        updates.stop_update()
        where = softening.soften(context, obj, self.part, self.size, self.amount)
        if self.part == "WHOLE":
            return f"The map Flesh is now the automatic one times {self.amount:.2g}, everywhere."
        return f"{PARTS[self.part].label} is now {self.amount:.2g} in the map Flesh, 1 being softest; found {where}."


class THEW_OT_make_rigid(QuickJob, bpy.types.Operator):
    bl_label = "Make Rigid"
    bl_description = "Let a part of the skin keep exactly to its bones: it never sways or bulges, whatever Softness and Elastic Joints are"

    part: option(EnumProperty, "Part", "Part of the skin to make rigid", items=rigid.PARTS, default="SELECTION")
    falloff: option(
        FloatProperty,
        "Falloff",
        "Way over which the skin around selected vertices becomes free, as a part of the character's size",
        default=0.02,
        min=0.0,
        max=1.0,
        soft_max=0.2,
    )
    amount: factor("Amount", "0 sets free, 1 is rigid", 1.0)

    def edit(self, context, obj):
        updates.stop_update()
        return rigid.make_rigid(context, obj, self.part, self.falloff, self.amount)


class THEW_OT_flesh_automatic(QuickJob, bpy.types.Operator):
    bl_label = "Automatic Map"
    bl_description = "Reset the map Flesh to the automatic one, which tells flesh from bone by the body's shape"

    def invoke(self, context, event):
        obj = target.target_mesh(context)
        if windows.is_headless() or obj is None or obj.type != "MESH" or flesh_map.is_automatic(obj):
            return self.execute(context)
        return context.window_manager.invoke_confirm(
            self,
            event,
            title="Automatic Map",
            message=f"What was painted in the map Flesh of “{obj.name}” is replaced.",
            confirm_text="Replace",
        )

    def edit(self, context, obj):
        updates.stop_update()
        softening.reset_to_automatic(context, obj)
        return f"“{obj.name}” is soft where its flesh is thick."


class THEW_OT_explain_stiffness(QuickJob, bpy.types.Operator):
    bl_label = "Why Stiff Here"
    bl_description = "Tell what takes the motion of the flesh at the selected vertex, or at the 3D cursor, and what to do. Copy Diagnosis has the numbers"
    bl_options = {"REGISTER"}

    vertex: option(
        IntProperty, "Vertex", "Vertex; -1 for the selected one, else the one at the 3D cursor", default=-1, min=-1
    )

    def edit(self, context, obj):
        return explaining.explain(context, obj, self.vertex)


class THEW_OT_guess_height(QuickJob, bpy.types.Operator):
    bl_label = "Guess the Size"
    bl_description = "Use the real size that Thew guesses from the file: its units, its proportions and its names"

    def edit(self, _context, obj):
        jobs.check_flesh(obj)
        obj.thew.real_height = 0.0
        return ""
