# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators on the list of keyframed flesh: add, remove and move keys and times, close loops, set velocities."""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty, IntProperty, StringProperty

from ..edit import keyframing
from ..live import keyframed_events, updates
from ..logic.errors import Refusal
from .keyframed import INDEX, list_index
from .operator_bases import QuickJob, fresh_property, option


class KeyframedEdit(QuickJob):
    """An operator on the list. A subclass defines `change(context, obj)`."""

    poll_message = "Select a mesh with keyframed flesh"

    def edit(self, context, obj):
        updates.stop_update()
        text = self.change(context, obj)
        keyframed_events.muted_objects.discard(obj.session_uid)
        keyframed_events.present(obj, context.scene)
        return text

    def change(self, context, obj) -> str | None:
        """Changes the list and returns the message for the artist."""
        raise NotImplementedError

    def frame_given(self):
        """Returns the frame that the caller set, or `None`."""
        return self.frame if self.properties.is_property_set("frame") else None


class THEW_OT_keyframed_key_add(KeyframedEdit, bpy.types.Operator):
    bl_label = "Add Key"
    bl_description = "Let the motion reach the mesh's active shape key at the current frame"

    shape: option(StringProperty, "Shape Key", "Name of the shape key; empty: the mesh's active one")
    frame: fresh_property(FloatProperty, "Frame", "Frame of the key; if unset, the current frame")

    def change(self, context, obj):
        keyframing.key_add(obj, context.scene, self.shape, self.frame_given())


class THEW_OT_keyframed_time_add(KeyframedEdit, bpy.types.Operator):
    bl_label = "Add Time"
    bl_description = "Let the motion reach this key at the current frame too"

    index: IntProperty(**INDEX)
    frame: fresh_property(FloatProperty, "Frame", "Frame of the key; if unset, the current frame")

    def change(self, context, obj):
        keyframing.time_add(obj, context.scene, list_index(obj, self.index), self.frame_given())


class THEW_OT_keyframed_key_remove(KeyframedEdit, bpy.types.Operator):
    bl_label = "Remove Key"
    bl_description = "Remove the key from the list, with its times; its shape key stays"

    index: IntProperty(**INDEX)

    def change(self, _context, obj):
        keyframing.key_remove(obj, list_index(obj, self.index))


class THEW_OT_keyframed_key_move(KeyframedEdit, bpy.types.Operator):
    bl_label = "Move Key"
    bl_description = "Move the key in the list; its time stays"

    index: IntProperty(**INDEX)
    direction: option(
        EnumProperty,
        "Direction",
        "Direction of the move",
        items=(("UP", "Up", "Towards the top"), ("DOWN", "Down", "Towards the end")),
    )

    def change(self, _context, obj):
        here = list_index(obj, self.index)
        keyframing.key_move(obj, here, here + (1 if self.direction == "DOWN" else -1))


class THEW_OT_keyframed_close(KeyframedEdit, bpy.types.Operator):
    bl_label = "Close Loop"
    bl_description = "Let the motion reach its first key again after the last one, and repeat from there"

    def change(self, _context, obj):
        frame = keyframing.close_loop(obj)
        obj.thew.keyframed.cyclic = True
        return f"The loop of “{obj.name}” closes at frame {frame:g}."


class THEW_OT_keyframed_velocity(KeyframedEdit, bpy.types.Operator):
    bl_label = "Arrow"
    bl_description = (
        "Set the velocity at this key to an arrow, from the key before towards the one after, to be changed by hand"
    )

    index: IntProperty(**INDEX)
    leaving: option(BoolProperty, "Leaving", "The velocity after a cut", default=False)
    arrow: fresh_property(
        FloatVectorProperty,
        "Arrow",
        "Velocity per second in object space; if unset, from the neighbours",
        size=3,
        subtype="VELOCITY",
    )

    def change(self, context, obj):
        index = list_index(obj, self.index)
        key = obj.thew.keyframed.keyframes[index]
        if self.leaving and not key.cut:
            raise Refusal(f"“{key.shape}” of “{obj.name}” is not a cut: switch Cut on first, or set its one velocity")
        if self.properties.is_property_set("arrow"):
            keyframing.set_arrow(key, self.arrow, self.leaving)
        else:
            keyframing.arrow_from_neighbours(obj, context.scene, index, self.leaving)
