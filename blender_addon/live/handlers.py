# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers of Blender's events: changed settings, load, undo and render; those of playback are in `playback`."""

from __future__ import annotations

import bpy
from bpy.app.handlers import persistent

from ..logic.errors import Refusal
from ..logic.states import Clip, Event, Pose
from ..rigs import anchors
from ..saved import edit_callbacks, overrides, properties, rig_layouts
from ..saved import keyframed as saved_keyframed
from ..saved import pins as saved_pins
from ..saved import rigs as saved_rigs
from ..saved import tension as saved_tension
from ..scene import baked_tension, modifier, poses, reading, windows
from ..scene import pins as scene_pins
from . import (
    clip_following,
    dial,
    jobs,
    keyframed_events,
    lattice_faults,
    motion_edits,
    parked_stages,
    playback,
    registers,
    rendering,
    requested,
    resting,
    riding,
    saving,
    session,
    stiffness,
    target,
    turns,
    updates,
    watched_edits,
)  # fmt: skip
from .events import report_event
from .session import register as fleshes

# settings -----------------------------------------------------------------------------------------------------------


def rig_changed(obj: bpy.types.Object) -> None:
    """Reacts to an edited rig: settled flesh shows it at once, moving flesh soon."""
    setting_changed(obj)
    flesh = fleshes.known_state(obj)
    if obj.thew.settled and flesh is not None and not windows.is_headless():
        resting.show_settled(obj, flesh)


def setting_changed(obj: bpy.types.Object) -> None:
    """Schedules a new simulation after an edited setting, with a window: at once where a motion shows it soon."""
    turns.note_report()
    if windows.is_headless() or not obj.thew.made.flesh:
        return
    if turns.is_quick(obj, fleshes.known_state(obj), bpy.context.scene):
        updates.schedule_at_once(obj)
    else:
        updates.wait(obj)


def pin_attached(obj: bpy.types.Object, pin) -> None:
    """Lets another target or bone of a pin hold the points as they lie. The panel goes on showing the character."""
    if not obj.thew.made.flesh or not len(pin.points) or obj.mode == "EDIT":
        return
    scene_pins.attach(obj, pin, bpy.context.evaluated_depsgraph_get())
    active = bpy.context.view_layer.objects.active
    if pin.made and active is not None and active.type == "EMPTY" and target.target_mesh(bpy.context) != obj:
        active.select_set(False)
        obj.select_set(True)
        bpy.context.view_layer.objects.active = obj


def enabled_changed(obj: bpy.types.Object) -> None:
    """Reacts to the `enabled` switch: shows the flesh, or the plain armature."""
    if obj.thew.made.rides and not poses.silence_depth:
        riding.switch(obj)
        playback.look_up(bpy.context.scene)
    elif obj.thew.made.keyframed:
        keyframed_events.enabled_changed(obj)
    elif obj.thew.made.flesh and not poses.silence_depth:
        jobs.apply_state(obj)
        flesh, scene = fleshes.known_state(obj), bpy.context.scene
        if flesh is None:  # the file was just opened
            playback.before_frame(scene)
        elif session.is_shown(obj):
            session.present(obj, flesh, scene)


def body_chosen(obj: bpy.types.Object) -> None:
    """Reacts to a new choice of the body to ride on: shows the rider there."""
    if not obj.thew.made.rides or poses.silence_depth:
        return
    riding.hide(obj)
    body = obj.thew.body
    if body is not None:
        try:
            riding.mount(obj, body, bpy.context.view_layer)
        except Refusal as error:
            obj.thew.body = None
            riding.report_problem(obj, str(error))
    playback.look_up(bpy.context.scene)


def preview_changed(obj: bpy.types.Object) -> None:
    """Shows the chosen mode, the motion or the flesh at rest; stages that are missing are built soon."""
    flesh = fleshes.known_state(obj)
    if flesh is None or flesh.clip is None:
        setting_changed(obj)
        return
    if not session.is_shown(obj) or poses.silence_depth:
        return
    if flesh.condition.pose is Pose.OTHER:  # one that was set by hand and not simulated stays in view
        resting.show_settled(obj, flesh)
    else:
        session.present(obj, flesh, bpy.context.scene)
    jobs.note(obj, flesh)
    if flesh.condition.clip is Clip.BEHIND and not obj.thew.settled:
        setting_changed(obj)


# the rest of Blender's life -----------------------------------------------------------------------------------------


@persistent
def after_update(scene, depsgraph):
    """Looks after an edit whether it touched a mesh of ours, or a pose."""
    if poses.silence_depth or rendering.is_other_thread() or updates.state.rendered_elsewhere:
        return
    turns.note_report()
    if depsgraph.id_type_updated("COLLECTION"):
        registers.look_again()
    playback.look_where_shown(scene)
    if depsgraph.id_type_updated("OBJECT"):
        clip_following.look(scene)
    keyframed_events.after_update(scene, depsgraph)
    objects = fleshes.objects(scene)
    if not objects:
        return
    for obj in objects:
        overrides.follow(obj)  # its library may have been loaded again
    if depsgraph.id_type_updated("ACTION"):
        motion_edits.report_edited_curves(objects, depsgraph)
    updates.state.undone = False
    if depsgraph.id_type_updated("SCENE"):
        motion_edits.follow_scene(objects, scene)
    if depsgraph.id_type_updated("OBJECT") or depsgraph.id_type_updated("ARMATURE"):
        note_movers(objects)
    seen = [update for update in depsgraph.updates if update.is_updated_geometry or update.is_updated_transform]
    touched = {update.id.original.session_uid for update in seen if update.is_updated_geometry}
    moved = {update.id.original.session_uid for update in seen}
    if not moved:
        return
    for rider in riding.register.all_objects():
        if rider.data.session_uid in touched:
            report_event(rider, riding.register.state_of(rider), Event.MESH_UPDATED)
    for obj in objects:
        flesh = fleshes.known_state(obj)
        if flesh is None or flesh.character is None:
            continue
        if obj.data.session_uid in touched:
            report_event(obj, flesh, Event.MESH_UPDATED)  # each dab of a brush restarts the wait
            if len(obj.data.vertices) != len(flesh.character.rest):
                report_event(obj, flesh, Event.MISFITS)
        if obj.mode == "SCULPT":
            session.hide(obj, flesh)
        if not windows.is_headless() and session.is_live(obj):
            watched_edits.follow_rigs(obj, flesh)
            watched_edits.follow_things(obj, flesh, scene, depsgraph)
            watched_edits.follow_pins(obj, flesh, scene, depsgraph)
            found = reading.armature_modifier(obj)
            if found is not None and found.object is not None and found.object.session_uid in moved:
                resting.follow_pose(obj, found, flesh, scene, depsgraph)


def note_movers(objects) -> None:
    """Notes that something that moves the characters may have changed: it is compared when they are simulated, or play."""
    for obj in objects:
        flesh = fleshes.known_state(obj)
        if flesh is not None:
            flesh.movers_touched = True
    if not windows.is_headless() and windows.is_playing():
        motion_edits.report_edited_movers(objects)


@persistent
def before_playing(*_):
    """Allows changed motions to be read again as playback starts."""
    updates.state.read_in_playback.clear()
    turns.note_report()
    motion_edits.report_edited_movers(fleshes.objects(bpy.context.scene))


@persistent
def before_load(*_):
    """Drops everything before another file is loaded."""
    updates.stop_update()
    updates.state.displayed_parts.clear()
    registers.clear()
    parked_stages.forget_all()
    stiffness.forget_all()
    lattice_faults.known.clear()


@persistent
def after_load(*_):
    """Prepares a file that was just loaded: its flesh is built at the first frame that is looked up."""
    registers.clear()
    turns.note_report()
    updates.state.rendering = updates.state.rendered_elsewhere = False
    saving.hide_opened()


@persistent
def after_import(*_):
    """Updates objects that were appended or linked."""
    saving.migrate_new_data()


@persistent
def before_undo(*_):
    """Drops references to Blender's data, which undo replaces."""
    updates.pause_updates()
    registers.look_again()


@persistent
def after_undo(*_):
    """Reports to all flesh that undo may have brought back other settings, meshes and shapes."""
    registers.look_again()
    turns.note_report()
    clip_following.forget()
    lattice_faults.known.clear()  # they were those of a lattice that is another now
    rig_layouts.migrate_all()
    scene, updates.state.undone = bpy.context.scene, True
    for kind in registers.REGISTERS:
        for obj in kind.all_objects():
            if (life := kind.known_state(obj)) is not None:
                report_event(obj, life, Event.UNDONE)
    if not windows.is_headless():
        keyframed_events.look_up(scene)
        requested.resume()


# renders ------------------------------------------------------------------------------------------------------------


@persistent
def before_render(scene, *_):
    """Prepares all flesh before the first frame; reports in the window if that fails."""
    updates.state.rendering, updates.state.rendered_elsewhere = True, rendering.is_other_thread()
    updates.state.read_in_render.clear()
    rendering.render_begins()
    objects = fleshes.objects(scene)
    if windows.is_headless():
        session.notice_edits(objects, bpy.context.view_layer.depsgraph)
    elif objects and not updates.state.rendered_elsewhere:
        prepare(scene)
    elif objects and not rendering.run_on_main(lambda: prepare(scene)):
        rendering.report_missed_frame(scene.frame_current)


def prepare(scene) -> None:
    """Brings the flesh of a scene up to date; a dialog lists the characters that will show their plain skin, or earlier flesh."""
    updates.stop_update()
    told = []
    for obj in fleshes.objects(scene):
        if not session.is_shown(obj, render=True):
            continue
        flesh = fleshes.state_of(obj)
        report_event(obj, flesh, Event.MESH_TOUCHED)  # worth the check: a render takes longer
        report_event(obj, flesh, Event.LOOKED_CLOSELY)
        if not updates.is_ready(obj, scene, flesh):
            session.hide(obj, flesh)
            told.append(f"“{obj.name}” is rendered without its flesh. {flesh.problem}")
        elif updates.keeps_last(flesh):
            told.append(f"“{obj.name}” is rendered with its flesh of earlier settings. {flesh.problem}")
    if told:
        rendering.show_dialog("Thew", told)


@persistent
def after_render(*_):
    """Shows the window's frame again after a render."""
    updates.state.rendering = updates.state.rendered_elsewhere = False
    if not windows.is_headless():
        rendering.schedule_on_main(lambda: playback.look_up(bpy.context.scene))


#: The function that each of Blender's handlers calls; Blender 4.2 reports no imports.
HANDLERS = {
    name: call
    for name, call in {
        "frame_change_pre": playback.before_frame,
        "frame_change_post": playback.after_frame,
        "depsgraph_update_post": after_update,
        "animation_playback_pre": before_playing,
        "load_pre": before_load,
        "load_post": after_load,
        "blend_import_post": after_import,
        "undo_pre": before_undo,
        "redo_pre": before_undo,
        "undo_post": after_undo,
        "redo_post": after_undo,
        "render_init": before_render,
        "render_complete": after_render,
        "render_cancel": after_render,
        "save_pre": saving.before_save,
        "save_post": saving.after_save,
        "save_post_fail": saving.after_failed_save,
    }.items()
    if hasattr(bpy.app.handlers, name)
}


#: The lists of callbacks of saved settings, and the function that each gets.
def tension_chosen(obj) -> None:
    """Lets the node tree of an object, and the keys of its bakes, store the tension, or not."""
    if obj.type == "MESH":
        modifier.renew_tree(obj, obj.thew.body if obj.thew.made.rides else None)
        baked_tension.settle(obj)


CALLBACKS = (
    (edit_callbacks.on_change, setting_changed),
    (saved_pins.on_attach, pin_attached),
    (edit_callbacks.on_dial, dial.softness_changed),
    (properties.on_toggle, enabled_changed),
    (properties.on_preview, preview_changed),
    (properties.on_mount, body_chosen),
    (saved_tension.on_tension, tension_chosen),
    (saved_rigs.on_rig, rig_changed),
    (saved_rigs.on_attachment, anchors.remember),
    (saved_keyframed.on_edit, keyframed_events.setting_edited),
)


def register() -> None:
    for name, call in HANDLERS.items():
        getattr(bpy.app.handlers, name).append(call)
    rendering.register()
    for calls, call in CALLBACKS:
        calls.append(call)


def unregister() -> None:
    updates.stop_update()
    rendering.unregister()
    if bpy.app.timers.is_registered(updates.tick):
        bpy.app.timers.unregister(updates.tick)
    for name, call in HANDLERS.items():
        calls = getattr(bpy.app.handlers, name)
        if call in calls:
            calls.remove(call)
    for calls, _call in CALLBACKS:
        calls.clear()
    registers.clear()
