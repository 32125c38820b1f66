# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel Keyframed Flesh: shape keys with times, the physics between them, and the notes."""

from __future__ import annotations

import bpy

from ..languages.translations import translate
from ..live import keyframed, keyframed_events, updates, work
from ..logic import keyframes
from ..logic.errors import sentence
from ..logic.sentences import plural
from ..saved import keyframed as saved
from ..scene import keyframe_times, writing
from .bake_panel import draw_bakes, draw_export_cache, draw_keys, draw_remarks, played_bake
from .layouts import HEALTH_ICONS, buttons, draw_text
from .panel_places import draw_notes, draw_range, foldout, panels

KIND_ICONS = {"EXACT": "KEYFRAME_HLT", "NEAR": "KEYFRAME", "GROUP": "GROUP_VERTEX"}


class THEW_UL_keyframes(bpy.types.UIList):
    """A row of the list of keys: shape key, frame, and whether the motion breaks there."""

    def draw_item(self, _context, layout, group, key, _icon, _active, _property, index=0, _filter=0):
        obj = group.id_data
        row = layout.row(align=True)
        row.label(text="", icon=KIND_ICONS[key.kind])
        row.label(text=key.shape or "No shape key")
        times = keyframe_times.frames_of(obj, index)
        part = row.row(align=True)
        part.alignment = "RIGHT"
        if times:
            part.prop(key, "frame", text="", emboss=False)
        else:
            part.operator("thew.keyframed_time_add", text="No time", icon="KEY_HLT", emboss=False).index = index
        if len(times) > 1:
            part.label(text=f"×{len(times)}")
        row.prop(key, "cut", text="", icon="UNLINKED" if key.cut else "LINKED", emboss=False)


def draw_start(layout, obj, width: int) -> None:
    """Draws the panel of a mesh that has no keyframed flesh yet."""
    layout.operator("thew.keyframed_add", icon="ADD")
    count = own_key_count(obj)
    text = (
        f"{plural(count, 'shape key')} to move through"
        if count > 0
        else "Needs shape keys: sculpt a few shapes as shape keys"
    )
    draw_text(layout.column(align=True), text, width, icon="INFO")


def draw_list(layout, obj) -> None:
    """Draws the list of keys and its buttons."""
    group = obj.thew.keyframed
    row = layout.row()
    row.template_list("THEW_UL_keyframes", "", group, "keyframes", group, "active", rows=4)
    column = row.column(align=True)
    column.operator("thew.keyframed_key_add", text="", icon="ADD")
    column.operator("thew.keyframed_key_remove", text="", icon="REMOVE")
    column.separator()
    column.operator("thew.keyframed_time_add", text="", icon="KEY_HLT")
    column.separator()
    column.operator("thew.keyframed_key_move", text="", icon="TRIA_UP").direction = "UP"
    column.operator("thew.keyframed_key_move", text="", icon="TRIA_DOWN").direction = "DOWN"


def draw_velocity(column, key, kind: str, arrow: str, leaving: bool, text: str) -> None:
    """Draws one velocity of a key."""
    row = column.row(align=True)
    row.prop(key, kind, text=text)
    row.operator("thew.keyframed_arrow", text="", icon="GREASEPENCIL").leaving = leaving
    row.operator("thew.keyframed_velocity", text="", icon="EMPTY_SINGLE_ARROW").leaving = leaving
    if getattr(key, kind) == "ARROW":
        column.prop(key, arrow, text="Arrow")


def draw_key(layout, obj, key) -> None:
    """Draws one key: its shape, its frame, how closely it is reached, its velocity, and the cut."""
    column = layout.column(align=True)
    if obj.data.shape_keys is not None:
        column.prop_search(key, "shape", obj.data.shape_keys, "key_blocks")
    column.prop(key, "frame")
    column = layout.column(align=True)
    column.prop(key, "kind")
    if key.kind == "NEAR":
        column.prop(key, "weight")
    if key.kind == "GROUP":
        column.prop_search(key, "group", obj, "vertex_groups")
    column = layout.column(align=True)
    column.prop(key, "cut")
    draw_velocity(column, key, "velocity", "arrow", False, "Arriving" if key.cut else "Velocity")
    if key.cut:
        draw_velocity(column, key, "leaving", "leaving_arrow", True, "Leaving")
        column.prop_search(key, "fixed", obj, "vertex_groups")
    column = layout.column(align=True)
    column.prop(obj.thew.keyframed, "relax", slider=True)
    column.operator("thew.keyframed_relax", icon="MOD_SMOOTH")
    if key.energy:
        layout.label(text=translate(f"Energy {key.energy}"), icon="BLANK1")


def draw_dials(layout, obj) -> None:
    """Draws the physics of the motion between the keys."""
    group = obj.thew.keyframed
    column = layout.column(align=True)
    for name in ("stiffness", "slow_damping", "fast_damping"):
        column.prop(group, name)
    column = layout.column(align=True)
    column.prop(group, "gravity", slider=True)
    column.prop(group, "speed")
    column = layout.column(align=True)
    column.prop(group, "cyclic")
    column.prop_search(group, "fixed", obj, "vertex_groups")


def is_closed(obj) -> bool:
    """Returns whether the motion ends with the shape key that it begins with."""
    found, keys = keyframe_times.points(obj), obj.thew.keyframed.keyframes
    return len(found) > 1 and keys[found[0][1]].shape == keys[found[-1][1]].shape


def draw_state(layout, obj, width: int) -> None:
    """Draws the state of the motion in one line, or the progress bar while it is computed."""
    known, column = keyframed.register.state_of(obj), layout.column(align=True)
    stepper = updates.state.stepper
    if work.running_steppers:
        column.progress(
            factor=work.running_steppers[-1].bar.shown, text=translate(work.running_steppers[-1].status_text)
        )
    elif stepper is not None:
        row = column.row(align=True)
        row.progress(factor=stepper.bar.shown, text=translate(stepper.status_text))
        row.operator("thew.keyframed_stop", text="", icon="X")
    else:
        level, text = health(obj, known)
        column.alert = level == "ERROR"
        draw_text(column, text, width, icon=HEALTH_ICONS[level])
        # Below the sentence that recommends it: the sentence pushes anything under the switch out of sight.
        if obj.thew.keyframed.cyclic and not is_closed(obj):
            layout.operator("thew.keyframed_close", icon="FILE_REFRESH")


def health(obj, known) -> tuple[str, str]:
    """Returns the state of the motion: a level and a sentence."""
    made = obj.thew.made
    if not obj.thew.enabled:
        return "OFF", "Off: the shape keys as they are"
    if made.shows_bake:
        played = played_bake(obj)
        return (
            "GOOD",
            f"Plays its bake, frames {played.start} to {played.end}" if played is not None else "Plays its bake",
        )
    if known.problem:
        return "ERROR", sentence(known.problem)
    if obj.show_only_shape_key:
        return "NOTICE", "A single shape key is pinned: unpin it to see the motion"
    if obj.session_uid in keyframed_events.muted_objects:
        return "WARNING", "Stopped: edit something, or press Compute"
    if known.motion is None:
        return "WAITING", "Not computed yet: go to another frame, or press Compute"
    timeless = [key.shape for i, key in enumerate(obj.thew.keyframed.keyframes) if not keyframe_times.frames_of(obj, i)]
    if timeless:
        return "NOTICE", f"“{timeless[0]}” has no time and is left out"
    if keyframe_times.is_curve_lost(obj):
        return "WARNING", "The action with the times is gone: press Compute to drag them again"
    motion = known.motion
    if obj.thew.keyframed.plain:
        return "NOTICE", "Shows plain curves, to compare"
    if far := keyframes.reach_remedy(motion.plan, motion.reach):
        return "WARNING", far
    return "GOOD", f"Frames {motion.start:g} to {motion.end:g}, {plural(len(motion.plan.keys), 'key')}"


def is_shown(obj) -> bool:
    """Returns whether a mesh has keyframed flesh, or could have it: by keys of the artist's, not by those that a bake left."""
    made = obj.thew.made
    if made.keyframed or obj.data.shape_keys is None or made.flesh or made.rides:
        return made.keyframed
    return not writing.baked_keys(obj) or own_key_count(obj) > 0


def own_key_count(obj) -> int:
    """Returns the number of shape keys of a mesh beside its basis and those of bakes."""
    keys = obj.data.shape_keys
    return len(keys.key_blocks) - 1 - len(writing.baked_keys(obj)) if keys is not None else 0


def draw_keyframed(layout, context, obj, width: int) -> None:
    """Draws the panel."""
    if not obj.thew.made.keyframed:
        draw_start(layout, obj, width)
        return
    row = buttons(layout)
    row.prop(obj.thew, "enabled", text="Motion", toggle=True, icon="SHAPEKEY_DATA")
    row.prop(obj.thew.keyframed, "plain", toggle=True, text="Plain")
    row.prop(obj.thew.keyframed, "show_curves", text="", icon="FCURVE")
    row.prop(obj.thew.keyframed, "show_arrows", text="", icon="EMPTY_SINGLE_ARROW")
    row = layout.row(align=True)
    row.operator("thew.keyframed_compute", icon="PLAY")
    row.operator("thew.keyframed_model", text="Model", icon="VIEW_PAN")
    row.operator("thew.keyframed_remove", text="", icon="TRASH")
    draw_state(layout, obj, width)
    draw_list(layout, obj)
    key = saved.active_key(obj)
    if key is not None:
        draw_key(layout.box(), obj, key)
    draw_dials(layout, obj)
    draw_foldouts(layout, context, obj, width)


def draw_foldouts(layout, context, obj, width: int) -> None:
    """Draws the foldouts Advanced, Bake and Details."""
    body = foldout(layout, "keyframed_advanced", "Advanced")
    if body is not None:
        column = body.column(align=True)
        for name in ("modes", "bending", "rest", "ghosts"):
            column.prop(obj.thew.keyframed, name)
    body = foldout(layout, "keyframed_bake", "Bake")
    if body is not None:
        draw_range(body, context, obj.thew)
        draw_keys(body, obj, "keyframed_", "Remove Motion and Bakes")
        draw_bakes(body, obj, width)
        draw_export_cache(body)
        draw_remarks(body, obj, context.scene, width)
    body = foldout(layout, "keyframed_details", "Details")
    if body is not None:
        draw_notes(body.column(align=True), obj.thew.made.notes.splitlines(), width)


CLASSES = (
    THEW_UL_keyframes,
    *panels("Keyframed Flesh", draw_keyframed, None, condition=is_shown, name="keyframed"),
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
