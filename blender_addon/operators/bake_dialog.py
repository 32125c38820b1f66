# SPDX-License-Identifier: GPL-3.0-or-later
"""The dialog of a bake: what is written, which clips, the error allowed, and the size to expect."""

import bpy
from bpy.props import CollectionProperty, EnumProperty, StringProperty

from ..bake import clip_plans, targets
from ..bake.clip_plans import CLIP_CHOICES
from ..live import target
from ..logic import bake_sizes
from ..logic.errors import Refusal, sentence
from ..logic.sentences import plural
from ..saved.bakes import ThewClipTick
from ..scene import armature_actions, key_playing
from .bake import tolerance_property
from .operator_bases import fresh_property


class THEW_OT_bake_as(bpy.types.Operator):
    bl_idname = "thew.bake_as"
    bl_label = "Bake As"
    bl_description = "Choose what is written, of which clips, and how exactly, with the size to expect"
    bl_options = {"REGISTER", "INTERNAL"}

    target: fresh_property(
        EnumProperty, "Target", "Form of the baked motion", items=targets.TARGET_ITEMS, default="COMPRESSED"
    )
    clips: fresh_property(EnumProperty, "Clips", "What is baked", items=CLIP_CHOICES, default="SCENE")
    tolerance: tolerance_property()
    name: fresh_property(
        StringProperty, "Name", "Name of the bake that the clips join or replace; empty: that of the target", default=""
    )
    ticks: CollectionProperty(type=ThewClipTick)

    @classmethod
    def poll(cls, context):
        return bpy.ops.thew.bake.poll()

    def invoke(self, context, _event):
        obj = target.target_mesh(context)
        armature = key_playing.moving_armature(obj) if obj is not None and obj.type == "MESH" else None
        self.ticks.clear()
        if armature is not None:
            for each in armature_actions.all_actions(armature):
                self.ticks.add().name = each.action.name
        if len(self.ticks) > 1:
            self.clips = "ALL"
        return context.window_manager.invoke_props_dialog(self, width=440)

    def draw(self, context):
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "target")
        layout.prop(self, "clips")
        if self.clips == "CHOSEN":
            column = layout.column(heading="Actions", align=True)
            for tick in self.ticks:
                column.prop(tick, "chosen", text=tick.name)
        if self.target == "COMPRESSED":
            layout.prop(self, "tolerance")
        layout.prop(self, "name")
        column = layout.column(align=True)
        for line in self.lines(context):
            column.label(text=line, icon="INFO")

    def lines(self, context) -> list[str]:
        """Returns the lines on the size of the bake and on engines."""
        obj = target.target_mesh(context)
        if obj is None or obj.type != "MESH":
            return []
        try:
            frames = self.frame_count(context, obj)
        except Refusal as error:
            return [sentence(str(error))]
        lines = [f"{plural(frames, 'frame')} of {plural(len(obj.data.vertices), 'vertex', 'vertices')}"]
        size = bake_sizes.estimate(self.target, frames, len(obj.data.vertices))
        limit = bake_sizes.limit_text(frames) if self.target == "SHAPE_KEYS" else ""
        return lines + [sentence(each[0].upper() + each[1:]) for each in (size, limit) if each]

    def frame_count(self, context, obj) -> int:
        """Returns the number of frames of all clips."""
        if self.clips == "SCENE":
            start, end = obj.thew.frames(context.scene)
            return max(end - start + 1, 0)
        plans, _ = clip_plans.action_plans(obj, context.scene, self.clips, self.chosen_names())
        return sum(len(plan.frames) for plan in plans)

    def chosen_names(self) -> list[str]:
        """Returns the names of the ticked actions."""
        return [tick.name for tick in self.ticks if tick.chosen]

    def execute(self, _context):
        """Starts the bake itself, with its progress and its message."""
        values = {"target": self.target, "clips": self.clips, "name": self.name}
        if self.target == "COMPRESSED":
            values["tolerance"] = self.tolerance
        if self.clips == "CHOSEN":
            values["actions"] = "\n".join(self.chosen_names())
        bpy.ops.thew.bake("INVOKE_DEFAULT", **values)
        return {"FINISHED"}
