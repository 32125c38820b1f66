# SPDX-License-Identifier: GPL-3.0-or-later
"""Events for keyframed flesh: frames, edits, and builds while the window stays responsive.

A quick edit shows within one redraw. Without a window and in renders, builds run at once. With a window the timer of `updates` runs
them step by step, and the last motion stays in view.
"""

from __future__ import annotations

import bpy

from ..logic.states import Event, Mesh
from ..logic.tasks import finish
from ..scene import keyframe_shapes, offsets, poses, windows
from . import keyframed, rendering, updates
from .events import report_event
from .keyframed import register as moving

#: Seconds without a change before a build starts. A dragged value changes with every redraw, 30 to 60 times a second; a hand that
#: rests for so long has let go.
EDIT_DELAY = 0.2

#: Session ids of the objects whose build was cancelled, until their next edit.
muted_objects: set[int] = set()

# frames ---------------------------------------------------------------------------------------------------------------


def look_up(scene) -> None:
    """Writes the motion of the scene's objects at its frame."""
    objects = moving.objects(scene)
    if not objects:
        return
    if windows.is_headless() and not updates.state.rendering:
        notice_edits()
    for obj in objects:
        present(obj, scene)


def note_evaluation(scene) -> None:
    """Notes that Blender has evaluated the writes for this frame: the next update of the mesh is somebody's edit."""
    for obj in moving.objects(scene):
        report_event(obj, moving.state_of(obj), Event.EVALUATED)


def notice_edits() -> None:
    """Marks meshes that a script may have edited since Blender's last evaluation; for use without a window, which gets no updates."""
    pending = bpy.context.view_layer.depsgraph
    if pending is not None and (pending.id_type_updated("MESH") or pending.id_type_updated("KEY")):
        for obj in moving.all_objects():
            report_event(obj, moving.state_of(obj), Event.MESH_TOUCHED)


def present(obj: bpy.types.Object, scene) -> None:
    """Shows the motion of one object at the scene's frame, brought up to date; a needed build runs at once or is scheduled."""
    known = moving.state_of(obj)
    if not keyframed.is_shown(obj):
        if keyframed.is_live(obj):
            keyframed.hide(obj)
        if known.condition.mesh is Mesh.TOUCHED and obj.mode == "OBJECT":
            keyframe_shapes.remember(obj)  # shape keys may be renamed and sculpted whatever the view shows
        return
    if not keyframed.is_ready(obj, scene):
        if windows.is_headless() or updates.state.rendering:
            with rendering.show_progress() as progress:
                finish(keyframed.update(obj, scene), progress)
        elif obj.session_uid not in muted_objects:
            wait(obj)
    if keyframed.can_show(obj, known):
        keyframed.write(obj, known, scene, False if updates.state.rendering else None)
    else:
        keyframed.hide(obj)


# edits ----------------------------------------------------------------------------------------------------------------


def setting_edited(obj: bpy.types.Object) -> None:
    """Shows the effect of a setting that was edited by hand or by a script."""
    muted_objects.discard(obj.session_uid)
    if not obj.thew.made.keyframed or poses.silence_depth or rendering.is_other_thread():
        return
    keyframe_shapes.mute(obj, obj.thew.enabled)
    if not keyframed.is_shown(obj):
        return
    known = moving.state_of(obj)
    if not keyframed.is_ready(obj, bpy.context.scene):
        if not windows.is_headless():
            wait(obj)  # without a window the next frame that is looked up builds it
        return
    if keyframed.can_show(obj, known):
        keyframed.write(obj, known, bpy.context.scene)


def after_update(scene, depsgraph) -> None:
    """Looks after an edit whether it touched a sculpt or a time of ours."""
    objects = moving.objects(scene)
    if not objects:
        return
    touched = {update.id.original.session_uid for update in depsgraph.updates if is_geometry(update)}
    for obj in objects:
        known = moving.state_of(obj)
        ids = {obj.data.session_uid}
        if obj.data.shape_keys is not None:
            ids.add(obj.data.shape_keys.session_uid)
        if ids & touched:
            report_event(obj, known, Event.MESH_UPDATED)
        if windows.is_headless() or windows.is_playing():
            continue  # the next frame that is looked up handles it
        if keyframed.is_live(obj) and not keyframed.is_shown(obj):
            keyframed.hide(obj)
            continue
        before = known.plan, known.condition.mesh
        if not keyframed.is_shown(obj) or windows.is_stroking():
            continue
        if not keyframed.is_ready(obj, scene):
            if obj.session_uid not in muted_objects:
                wait(obj)
        elif (before != (known.plan, Mesh.READ) or offsets.written(obj) is None) and keyframed.can_show(obj, known):
            keyframed.write(obj, known, scene)


def is_geometry(update) -> bool:
    """Returns whether an update concerns a mesh or shape keys."""
    return isinstance(update.id, (bpy.types.Mesh, bpy.types.Key))


def enabled_changed(obj: bpy.types.Object) -> None:
    """Reacts to the motion being switched on or off."""
    if obj.thew.made.keyframed and not poses.silence_depth:
        keyframed.apply_state(obj)
        present(obj, bpy.context.scene)


# builds in a window ---------------------------------------------------------------------------------------------------


def wait(obj: bpy.types.Object) -> None:
    """Schedules a build of `obj` for when nothing has changed for a moment; one under way would be out of date."""
    if updates.state.updated_object == obj:
        updates.state.stepper.cancel()
    updates.wait_for(obj, EDIT_DELAY)


def stop() -> None:
    """Drops the build under way and those that wait; they start again only after an edit."""
    for obj in moving.all_objects():
        if updates.drop_update(obj):
            muted_objects.add(obj.session_uid)
