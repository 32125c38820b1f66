# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators on the list of keyframed flesh: add, remove and move keys and times, close loops, set velocities."""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty, IntProperty, StringProperty

from ..edit import keyframing
from ..live import keyframed_events, target, updates
from ..logic.errors import Refusal
from ..scene import windows
from .keyframed import place
from .shell import Job


class Edit(Job):
    """An operator on the list that runs at once. A subclass defines `edit(context, obj)`."""

    wanted = "Select a mesh with keyframed flesh"

    def invoke(self, context, _event):
        return self.execute(context)

    def execute(self, context):
        obj = target.of(context)
        try:
            updates.stop_update()
            text = self.edit(context, obj)
            keyframed_events.builds.hushed.discard(obj.session_uid)
            keyframed_events.present(obj, context.scene)
        except Exception as error:
            return self.refuse(obj, error)
        windows.redraw()
        if text:
            self.report({"INFO"}, text)
        return {"FINISHED"}

    def edit(self, context, obj) -> str:
        """Does the edit and returns the message for the artist."""
        raise NotImplementedError

    def frame_given(self):
        """Returns the frame that the caller set, or `None`."""
        return self.frame if self.properties.is_property_set("frame") else None


class THEW_OT_keyframed_key_add(Edit, bpy.types.Operator):
    bl_idname = "thew.keyframed_key_add"
    bl_label = "Add Key"
    bl_description = (
        "Let the motion reach a shape key at the current frame: the one that is active among the mesh's shape keys"
    )
    bl_options = {"REGISTER", "UNDO"}

    shape: StringProperty(name="Shape Key", description="Which one; empty: the active one of the mesh")
    frame: FloatProperty(name="Frame", description="When; left alone, the current frame", options={"SKIP_SAVE"})

    def edit(self, context, obj):
        keyframing.key_add(obj, context.scene, self.shape, self.frame_given())


class THEW_OT_keyframed_time_add(Edit, bpy.types.Operator):
    bl_idname = "thew.keyframed_time_add"
    bl_label = "Add Time"
    bl_description = "Let the motion reach this key at the current frame too"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(name="Key", description="Its place in the list; -1 is the chosen one", default=-1)
    frame: FloatProperty(name="Frame", description="When; left alone, the current frame", options={"SKIP_SAVE"})

    def edit(self, context, obj):
        keyframing.time_add(obj, context.scene, place(obj, self.index), self.frame_given())


class THEW_OT_keyframed_key_remove(Edit, bpy.types.Operator):
    bl_idname = "thew.keyframed_key_remove"
    bl_label = "Remove Key"
    bl_description = "Take the key off the list, with its times; its shape key stays"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(name="Key", description="Its place in the list; -1 is the chosen one", default=-1)

    def edit(self, _context, obj):
        keyframing.key_remove(obj, place(obj, self.index))


class THEW_OT_keyframed_key_move(Edit, bpy.types.Operator):
    bl_idname = "thew.keyframed_key_move"
    bl_label = "Move Key"
    bl_description = "Move the key in the list; its time stays"
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(name="Key", description="Its place in the list; -1 is the chosen one", default=-1)
    direction: EnumProperty(
        name="Direction",
        description="Where to",
        items=(("UP", "Up", "Towards the top"), ("DOWN", "Down", "Towards the end")),
    )

    def edit(self, _context, obj):
        here = place(obj, self.index)
        keyframing.key_move(obj, here, here + (1 if self.direction == "DOWN" else -1))


class THEW_OT_keyframed_close(Edit, bpy.types.Operator):
    bl_idname = "thew.keyframed_close"
    bl_label = "Close Loop"
    bl_description = "Let the motion reach its first key again after the last one, and repeat from there"
    bl_options = {"REGISTER", "UNDO"}

    def edit(self, _context, obj):
        frame = keyframing.close_loop(obj)
        obj.thew.keyframed.cyclic = True
        return f"The loop of “{obj.name}” closes at frame {frame:g}."


class THEW_OT_keyframed_velocity(Edit, bpy.types.Operator):
    bl_idname = "thew.keyframed_velocity"
    bl_label = "Arrow"
    bl_description = (
        "Let the velocity at this key be an arrow: from the key before towards the one after, to be changed by hand"
    )
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(name="Key", description="Its place in the list; -1 is the chosen one", default=-1)
    leaving: BoolProperty(name="Leaving", description="The velocity after a cut", default=False)
    arrow: FloatVectorProperty(
        name="Arrow",
        description="Object space, a second; left alone, from the neighbours",
        size=3,
        subtype="VELOCITY",
        options={"SKIP_SAVE"},
    )

    def edit(self, context, obj):
        index = place(obj, self.index)
        key = obj.thew.keyframed.keyframes[index]
        if self.leaving and not key.cut:
            raise Refusal(f"“{key.shape}” of “{obj.name}” is no cut: switch Cut on first, or set its one velocity")
        if self.properties.is_property_set("arrow"):
            keyframing.set_arrow(key, self.arrow, self.leaving)
        else:
            keyframing.arrow_from_neighbours(obj, context.scene, index, self.leaving)


CLASSES = (
    THEW_OT_keyframed_key_add,
    THEW_OT_keyframed_time_add,
    THEW_OT_keyframed_key_remove,
    THEW_OT_keyframed_key_move,
    THEW_OT_keyframed_close,
    THEW_OT_keyframed_velocity,
)
