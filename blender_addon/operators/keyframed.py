# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh: add, compute, bake, remove, relax a sculpt, and stop the computation in the background."""

import bpy
from bpy.props import BoolProperty, FloatProperty, IntProperty, StringProperty

from ..edit import keyframing
from ..live import jobs, keyframed, keyframed_events, updates
from ..logic.errors import Cancelled, Refusal
from ..logic.names import describe
from ..logic.sentences import plural
from .bake import Bake
from .operator_bases import Job, QuickJob, chosen_index, factor, option

#: Property of the operators that work on one key.
INDEX = {"name": "Key", "description": "Index in the list; -1 is the chosen key", "default": -1}


class KeyframedJob(Job):
    """Mix-in of jobs on keyframed flesh."""

    poll_message = "Select a mesh with shape keys"


class THEW_OT_keyframed_add(KeyframedJob, bpy.types.Operator):
    bl_label = "Add Keyframed Flesh"
    bl_description = (
        "Move the mesh through its shape keys as flesh does, at even times to begin with; muted ones are left out"
    )

    shapes: option(StringProperty, "Shape Keys", "Names of the shape keys, one per line; empty: all that are not muted")
    frame_start: option(FloatProperty, "Start", "Frame of the first key; if unset, the scene's start", default=1)
    frame_end: option(FloatProperty, "End", "Frame of the last key; if unset, the scene's end", default=250)
    cyclic: option(BoolProperty, "Cyclic", "Repeat for ever: the first key is reached again at the end", default=False)

    def job(self, context, obj):
        given, scene, frames = self.properties.is_property_set, context.scene, None
        if given("frame_start") or given("frame_end"):
            frames = (
                self.frame_start if given("frame_start") else scene.frame_start,
                self.frame_end if given("frame_end") else scene.frame_end,
            )
            if not frames[0] < frames[1]:
                raise Refusal(f"The keys of {describe(obj)} need time: set End after Start")
        names = self.shapes.splitlines() or None
        return keyframing.add(obj, scene, names, frames, self.cyclic)

    def message(self, obj, result):
        return f"“{obj.name}” moves through {plural(len(result.plan.keys), 'key')}: drag their times in the dope sheet."


class THEW_OT_keyframed_compute(KeyframedJob, bpy.types.Operator):
    bl_label = "Compute"
    bl_description = "Read shape keys, times and the direction of gravity again, and recompute the motion"

    def job(self, context, obj):
        keyframed.check_keyframed(obj)
        return self.whole(context, obj)

    def whole(self, context, obj):
        """Reads the keys and computes the motion. A missing curve of times is made again."""
        keyframing.restore(obj, context.scene)
        try:
            result = yield from keyframed.compute(obj, context.scene)
        except Cancelled:
            raise
        except keyframed.EXPECTED_ERRORS as error:
            # The panel shows the error, too, until it is resolved.
            keyframed.fail(obj, context.scene, keyframed.register.state_of(obj), error)
            raise
        obj.thew.made.shows_bake, obj.thew.enabled = False, True
        keyframed.apply_state(obj)
        keyframed_events.present(obj, context.scene)
        return result

    def message(self, obj, result):
        return f"“{obj.name}” moves from frame {result.start:g} to {result.end:g}."


class THEW_OT_keyframed_relax(KeyframedJob, bpy.types.Operator):
    bl_label = "Relax Sculpt"
    bl_description = (
        "Let the sculpt of this key spring back a little: wrinkles and pinches go first, and the motion needs "
        "less force"
    )

    index: IntProperty(**INDEX)
    amount: factor(
        "Amount",
        "Amount: 0 leaves the sculpt, 1 lets it spring back all the way; if unset, as in the panel",
        0.3,
    )

    def job(self, context, obj):
        if not self.properties.is_property_set("amount"):
            self.amount = obj.thew.keyframed.relax
        return self.whole(context, obj, list_index(obj, self.index))

    def whole(self, context, obj, index):
        """Relaxes the sculpt and shows the result."""
        result = yield from keyframing.relax(obj, index, self.amount)
        keyframed_events.present(obj, context.scene)
        return (*result, obj.thew.keyframed.keyframes[index].shape)

    def message(self, _obj, result):
        before, after, shape = result
        return f"The energy of “{shape}” went from {before:.3g} to {after:.3g}."


class THEW_OT_keyframed_bake(Bake, bpy.types.Operator):
    bl_label = "Bake"

    def job(self, context, obj):
        keyframed.check_keyframed(obj)
        return Bake.job(self, context, obj)


class THEW_OT_keyframed_remove(QuickJob, bpy.types.Operator):
    bl_label = "Remove Keyframed Flesh"
    bl_description = "Remove list, times and motion; the shape keys stay, as they were found"

    remove_baked_keys: option(
        BoolProperty, "Bakes Too", "Also delete the bakes: their shape keys, files and modifiers", default=False
    )

    def edit(self, _context, obj):
        updates.stop_update()
        keyframed.check_keyframed(obj)
        return jobs.remove(obj, self.remove_baked_keys)


class THEW_OT_keyframed_stop(bpy.types.Operator):
    bl_idname = "thew.keyframed_stop"
    bl_label = "Stop"
    bl_description = "Cancel what is being computed; the motion stays as it was until something is edited"
    bl_options = {"INTERNAL"}

    def execute(self, _context):
        keyframed_events.stop()
        return {"FINISHED"}


def list_index(obj, index: int) -> int:
    """Returns the list index to work on; -1 means the chosen key. Raises a `Refusal` if there is no such key."""
    keyframed.check_keyframed(obj)
    group = obj.thew.keyframed
    return chosen_index(obj, group.keyframes, index, group.active, "key")
