# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers of Blender's events: playback, changed settings, load, undo and render.

Playback looks the frame up before Blender evaluates it (`frame_change_pre`) and writes the offsets that flesh adds to the skin.
Without a window, and in renders, missing stages are built on the spot. With a window a timer builds them step by step, so that the
window stays responsive. Objects that cannot show flesh show their plain skin.
"""

from __future__ import annotations

import bpy
from bpy.app.handlers import persistent

from ..logic.errors import Refusal
from ..logic.states import Clip, Event, Motion
from ..rigs import anchors, rigging
from ..saved import edited, properties, rig_layouts
from ..saved import rigs as saved_rigs
from ..scene import poses, reading, windows
from . import dial, jobs, keyframed_events, rendering, resting, riding, saving, session, updates, validity
from .build_settings import ContactSettings
from .events import happened
from .session import register as fleshes

# playback -----------------------------------------------------------------------------------------------------------


@persistent
def before_frame(scene, _depsgraph=None):
    """Shows every live object's flesh at the frame that Blender is about to evaluate."""
    if rendering.elsewhere():
        seen = any(session.is_shown(obj, updates.state.rendering) for obj in fleshes.objects(scene))
        if seen and not rendering.on_main(lambda: look_up(scene)):
            rendering.missed(scene.frame_current)
    elif not poses.busy and not updates.state.rendered_elsewhere:
        look_up(scene)


def look_up(scene) -> None:
    """Writes the offsets of the scene's objects at the scene's frame."""
    objects = fleshes.objects(scene)
    if not objects:
        return
    if windows.headless() and not updates.state.rendering:
        fleshes.notice(objects, bpy.context.view_layer.depsgraph)
    for obj in objects:
        if not session.is_shown(obj, updates.state.rendering):
            continue
        flesh = fleshes.flesh(obj)
        ready = updates.ready(obj, scene, flesh)
        if not updates.state.rendering and session.show_arriving(obj, flesh, scene):
            continue
        if not ready:
            session.hide(obj, flesh)
            continue
        look = (
            session.show if updates.state.rendering else session.present
        )  # renders show the motion itself, never a preview
        look(obj, flesh, scene)


@persistent
def after_frame(scene, depsgraph=None):
    """Handles characters whose evaluated pose was not simulated for this frame."""
    if rendering.elsewhere():
        if any(resting.unforeseen(obj, scene, depsgraph, updates.state.rendering) for obj in fleshes.objects(scene)):
            rendering.on_main(lambda: compare(scene, depsgraph))
    elif not poses.busy and not updates.state.rendered_elsewhere:
        compare(scene, depsgraph or bpy.context.view_layer.depsgraph)


def compare(scene, depsgraph) -> None:
    """Simulates evaluated poses that differ from the simulated ones (without a window), or shows flesh at rest in them."""
    again = []
    for obj in fleshes.objects(scene):
        flesh = fleshes.known(obj)
        if flesh is None or flesh.clip is None or (not updates.state.rendering and session.arrives(obj, flesh, scene)):
            continue
        if flesh.motion.moving and not updates.state.rendering and not windows.playing():
            rigging.follow_controls(obj)
        what = resting.unforeseen(obj, scene, depsgraph, updates.state.rendering)
        differs = what in {"changed", "displaced"}
        read_now = differs and updates.may_read(obj, flesh)
        if differs:
            happened(obj, flesh, Event.POSE_DIFFERS)
            if (
                flesh.restored and not windows.headless()
            ):  # a pose from the disk cache, which nobody has changed under the hand
                flesh.restored = False
                updates.wait(obj)
        if read_now:
            again.append(obj)
        elif what == "displaced":
            resting.tell_displaced(flesh, scene, depsgraph)
        elif what:
            found = reading.armature_modifier(obj)
            if resting.show_pose(obj, found, flesh, scene, depsgraph) and what == "changed":
                flesh.problem = resting.CHANGED
        elif flesh.problem == resting.CHANGED and flesh.condition.motion is Motion.READ:
            flesh.problem = ""  # the pose under the hand, which was not keyed, is gone
        happened(obj, flesh, Event.EVALUATED)  # Blender evaluates the writes for this frame by now, or right after this
    if again:
        updates.state.read_again.update(obj.session_uid for obj in again)
        look_up(scene)


def rig_changed(obj: bpy.types.Object) -> None:
    """Reacts to an edited rig: settled flesh shows it at once, moving flesh soon."""
    setting_changed(obj)
    flesh = fleshes.known(obj)
    if obj.thew.settled and flesh is not None and not windows.headless():
        resting.show_settled(obj, flesh)


def setting_changed(obj: bpy.types.Object) -> None:
    """Schedules a new simulation after an edited setting, with a window."""
    if not windows.headless() and obj.thew.made.flesh:
        updates.wait(obj)


def switched(obj: bpy.types.Object) -> None:
    """Reacts to the `enabled` switch: shows the flesh, or the plain armature."""
    if obj.thew.made.rides and not poses.busy:
        riding.switch(obj)
        look_up(bpy.context.scene)
    elif obj.thew.made.keyframed:
        keyframed_events.switched(obj)
    elif obj.thew.made.flesh and not poses.busy:
        jobs.apply_state(obj)
        flesh, scene = fleshes.known(obj), bpy.context.scene
        if flesh is None:  # the file was just opened
            before_frame(scene)
        elif session.is_shown(obj):
            session.present(obj, flesh, scene)


def mounted(obj: bpy.types.Object) -> None:
    """Reacts to a new choice of the body to ride on: shows the rider there."""
    riding.register.look_again()
    if not obj.thew.made.rides or poses.busy:
        return
    riding.hide(obj)
    body = obj.thew.body
    if body is not None:
        try:
            riding.mount(obj, body, bpy.context.view_layer)
        except Refusal as error:
            obj.thew.body = None
            riding.tell(obj, str(error))
    look_up(bpy.context.scene)


def preview_changed(obj: bpy.types.Object) -> None:
    """Shows the chosen mode, the motion or the flesh at rest; stages that are missing are built soon."""
    flesh = fleshes.known(obj)
    if flesh is None or flesh.clip is None:
        setting_changed(obj)
        return
    if not session.is_shown(obj) or poses.busy:
        return
    session.present(obj, flesh, bpy.context.scene)
    jobs.note(obj, flesh)
    if flesh.condition.clip is Clip.BEHIND and not obj.thew.settled:
        setting_changed(obj)


# the rest of Blender's life -----------------------------------------------------------------------------------------


def tell(obj: bpy.types.Object, event: Event) -> None:
    """Reports an event to an object's flesh, if anything of it is built."""
    flesh = fleshes.known(obj)
    if flesh is not None:
        happened(obj, flesh, event)


@persistent
def after_update(scene, depsgraph):
    """Looks after an edit whether it touched a mesh of ours, or a pose."""
    if poses.busy or rendering.elsewhere() or updates.state.rendered_elsewhere:
        return
    if depsgraph.id_type_updated("COLLECTION"):
        fleshes.look_again()
        riding.register.look_again()
    objects = fleshes.objects(scene)
    if not objects:
        return
    if depsgraph.id_type_updated("ACTION"):
        updates.curves_edited(objects, depsgraph)
    updates.state.undone = False
    seen = [update for update in depsgraph.updates if update.is_updated_geometry or update.is_updated_transform]
    touched = {update.id.original.session_uid for update in seen if update.is_updated_geometry}
    moved = {update.id.original.session_uid for update in seen}
    if not moved:
        return
    riding.register.touched(touched)
    for obj in objects:
        flesh = fleshes.known(obj)
        if flesh is None or flesh.character is None:
            continue
        if obj.data.session_uid in touched:
            happened(obj, flesh, Event.MESH_UPDATED)  # each dab of a brush restarts the wait
            if len(obj.data.vertices) != len(flesh.character.rest):
                happened(obj, flesh, Event.MISFITS)
        if obj.mode == "SCULPT":
            session.hide(obj, flesh)
        if not windows.headless() and session.is_live(obj):
            follow_rigs(obj, flesh)
            follow_things(obj, flesh, scene, depsgraph)
            found = reading.armature_modifier(obj)
            if found is not None and found.object is not None and found.object.session_uid in moved:
                resting.follow_pose(obj, found, flesh, scene, depsgraph)


def follow_rigs(obj, flesh) -> None:
    """Follows curves or drivers of rigs that may have been edited, or have moved their controls."""
    if not len(obj.thew.rigs) or flesh.motion is None:
        return
    if validity.moved(obj, flesh):
        updates.wait(obj)
    if not windows.playing():
        rigging.follow_controls(obj)


def follow_things(obj, flesh, scene, depsgraph) -> None:
    """Reacts to objects that gained Collision physics, and to colliders that were moved."""
    if windows.playing() or not obj.thew.use_contact or flesh.motion is None:
        return  # playback checks each frame itself
    if flesh.build_settings.contact != ContactSettings.of(obj, scene):
        updates.wait(obj)
    elif flesh.motion.colliders.each:
        resting.follow_colliders(obj, flesh, scene, depsgraph)


@persistent
def before_playing(*_):
    """Allows changed motions to be read again as playback starts."""
    updates.state.reread.clear()


@persistent
def before_load(*_):
    """Drops everything before another file is loaded."""
    updates.stop_update()
    updates.state.seen.clear()
    fleshes.clear()
    riding.register.clear()


@persistent
def after_load(*_):
    """Prepares a file that was just loaded: its flesh is built at the first frame that is looked up."""
    fleshes.clear()
    riding.register.clear()
    updates.state.rendering = updates.state.rendered_elsewhere = False
    saving.opened()


@persistent
def after_import(*_):
    """Updates objects that were appended or linked."""
    saving.brought()


@persistent
def before_undo(*_):
    """Drops references to Blender's data, which undo replaces."""
    updates.stop_update()
    fleshes.look_again()
    riding.register.look_again()


@persistent
def after_undo(*_):
    """Reports to all flesh that undo may have brought back other settings, meshes and shapes."""
    fleshes.look_again()
    riding.register.look_again()
    rig_layouts.migrate_all()
    scene, updates.state.undone = bpy.context.scene, True
    for obj in fleshes.objects(scene):
        tell(obj, Event.UNDONE)


# renders ------------------------------------------------------------------------------------------------------------


@persistent
def render_starts(scene, *_):
    """Prepares all flesh before the first frame; reports in the window if that fails."""
    updates.state.rendering, updates.state.rendered_elsewhere = True, rendering.elsewhere()
    updates.state.read_again.clear()
    rendering.begins()
    objects = fleshes.objects(scene)
    if windows.headless():
        fleshes.notice(objects, bpy.context.view_layer.depsgraph)
    elif objects and not updates.state.rendered_elsewhere:
        prepare(scene)
    elif objects and not rendering.on_main(lambda: prepare(scene)):
        rendering.missed(scene.frame_current)


def prepare(scene) -> None:
    """Brings the flesh of a scene up to date; a dialog lists the characters that will show their plain skin."""
    updates.stop_update()
    plain = []
    for obj in fleshes.objects(scene):
        if not session.is_shown(obj, render=True):
            continue
        flesh = fleshes.flesh(obj)
        happened(obj, flesh, Event.MESH_TOUCHED)  # worth the check: a render takes longer
        happened(obj, flesh, Event.LOOKED_CLOSELY)
        if not updates.ready(obj, scene, flesh):
            session.hide(obj, flesh)
            plain.append(f"“{obj.name}” is rendered without its flesh. {flesh.problem}")
    if plain:
        rendering.tell("Thew", plain)


@persistent
def render_ends(*_):
    """Shows the window's frame again after a render."""
    updates.state.rendering = updates.state.rendered_elsewhere = False
    if not windows.headless():
        rendering.later(lambda: look_up(bpy.context.scene))


#: The function that each of Blender's handlers calls; Blender 4.2 reports no imports.
HANDLERS = {
    name: call
    for name, call in {
        "frame_change_pre": before_frame,
        "frame_change_post": after_frame,
        "depsgraph_update_post": after_update,
        "animation_playback_pre": before_playing,
        "load_pre": before_load,
        "load_post": after_load,
        "blend_import_post": after_import,
        "undo_pre": before_undo,
        "redo_pre": before_undo,
        "undo_post": after_undo,
        "redo_post": after_undo,
        "render_init": render_starts,
        "render_complete": render_ends,
        "render_cancel": render_ends,
        "save_pre": saving.before_save,
        "save_post": saving.after_save,
        "save_post_fail": saving.after_save,
    }.items()
    if hasattr(bpy.app.handlers, name)
}


def register() -> None:
    for name, call in HANDLERS.items():
        getattr(bpy.app.handlers, name).append(call)
    rendering.register()
    edited.on_change.append(setting_changed)
    edited.on_dial.append(dial.turned)
    properties.on_toggle.append(switched)
    properties.on_preview.append(preview_changed)
    properties.on_mount.append(mounted)
    saved_rigs.on_rig.append(rig_changed)
    saved_rigs.on_hung.append(anchors.remember)


def unregister() -> None:
    updates.stop_update()
    rendering.unregister()
    if bpy.app.timers.is_registered(updates.tick):
        bpy.app.timers.unregister(updates.tick)
    for name, call in HANDLERS.items():
        calls = getattr(bpy.app.handlers, name)
        if call in calls:
            calls.remove(call)
    edited.on_change.clear()
    edited.on_dial.clear()
    properties.on_toggle.clear()
    properties.on_preview.clear()
    properties.on_mount.clear()
    saved_rigs.on_rig.clear()
    saved_rigs.on_hung.clear()
    fleshes.clear()
