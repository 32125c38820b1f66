# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's events translated for keyframed flesh: frames, edits, undo, files, renders; and builds while the window lives.

An edit shows within one redraw where it is quick. What has to be built is built here and now without a window and in
renders, else a little at a time by a timer, while the last motion goes on being shown.
"""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field

import bpy
from bpy.app.handlers import persistent

from ..logic.errors import Cancelled
from ..logic.tasks import Stepper, finish
from ..saved import keyframed as saved
from ..scene import keyframe_shapes, modifier, poses, windows
from . import keyframed, rendering, updates
from .keyframed import register as moving

#: How long an edit that needs a build must rest, seconds. A value that is dragged changes with every redraw, 30 to 60 times a second; a
#: hand that rests for so long has let go.
PATIENCE = 0.2


@dataclass
class Builds:
    """What is built in the background, and what waits."""

    waiting: dict[int, float] = field(default_factory=dict)  # object session id -> when to look at it
    stepper: Stepper | None = None
    uid: int = 0  # of what it is for
    hushed: set[int] = field(default_factory=set)  # those whose build was cancelled, until they are edited again


builds = Builds()

# frames ---------------------------------------------------------------------------------------------------------------


@persistent
def before_frame(scene, _depsgraph=None):
    """Show every object's motion at the frame that Blender is about to evaluate."""
    if rendering.elsewhere():
        seen = any(keyframed.is_shown(obj) for obj in moving.objects(scene))
        if seen and not rendering.on_main(lambda: look_up(scene)):
            rendering.missed(scene.frame_current)
    elif not updates.state.rendered_elsewhere:
        look_up(scene)


@persistent
def after_frame(scene, _depsgraph=None):
    """What was written for this frame is evaluated by now: the next update of the mesh is somebody's edit."""
    for obj in moving.objects(scene):
        moving.known(obj).wrote = False


def look_up(scene) -> None:
    """Write the motion of the scene's objects at its frame."""
    objects = moving.objects(scene)
    if not objects:
        return
    if windows.headless() and not updates.state.rendering:
        notice()
    for obj in objects:
        present(obj, scene)


def notice() -> None:
    """Without a window, whose updates tell: a script may have edited meshes since Blender was last evaluated."""
    pending = bpy.context.view_layer.depsgraph
    if pending is not None and (pending.id_type_updated("MESH") or pending.id_type_updated("KEY")):
        moving.suspect()


def present(obj: bpy.types.Object, scene) -> None:
    """Show the motion of one object at the scene's frame, brought up to date; what has to be built is, or waits."""
    known = moving.known(obj)
    if not keyframed.is_shown(obj):
        if keyframed.is_live(obj):
            keyframed.hide(obj)
        if known.suspect and obj.mode == "OBJECT":
            keyframe_shapes.remember(obj)  # shape keys may be renamed and sculpted whatever is shown
        return
    if not keyframed.ready(obj, scene):
        if windows.headless() or updates.state.rendering:
            with rendering.shown_progress() as progress:
                finish(keyframed.update(obj, scene), progress)
        elif obj.session_uid not in builds.hushed:
            wait(obj)
    if keyframed.fits(obj, known):
        keyframed.write(obj, known, scene, False if updates.state.rendering else None)
    else:
        keyframed.hide(obj)


# edits ----------------------------------------------------------------------------------------------------------------


def edited(obj: bpy.types.Object) -> None:
    """A setting was edited by hand or a script: show what comes of it."""
    builds.hushed.discard(obj.session_uid)
    if not obj.thew.made.keyframed or poses.busy or rendering.elsewhere():
        return
    keyframe_shapes.mute(obj, obj.thew.enabled)
    if not keyframed.is_shown(obj):
        return
    known = moving.known(obj)
    if not keyframed.ready(obj, bpy.context.scene):
        if not windows.headless():
            wait(obj)  # without a window the next frame that is looked up builds it
        return
    if keyframed.fits(obj, known):
        keyframed.write(obj, known, bpy.context.scene)


@persistent
def after_update(scene, depsgraph):
    """Somebody edited something: look whether it was a sculpt or a time of ours."""
    if poses.busy or rendering.elsewhere() or updates.state.rendered_elsewhere:
        return
    objects = moving.objects(scene)
    if not objects:
        return
    touched = {update.id.original.session_uid for update in depsgraph.updates if is_geometry(update)}
    for obj in objects:
        known = moving.known(obj)
        ids = {obj.data.session_uid}
        if obj.data.shape_keys is not None:
            ids.add(obj.data.shape_keys.session_uid)
        if ids & touched:
            known.suspect, known.wrote = known.suspect or not known.wrote, False
        if windows.headless() or windows.playing():
            continue  # the next frame that is looked up sees to it
        if keyframed.is_live(obj) and not keyframed.is_shown(obj):
            keyframed.hide(obj)
            continue
        before = known.plan, known.suspect
        if not keyframed.is_shown(obj) or windows.stroking():
            continue
        if not keyframed.ready(obj, scene):
            if obj.session_uid not in builds.hushed:
                wait(obj)
        elif (before != (known.plan, False) or modifier.written(obj.data) is None) and keyframed.fits(obj, known):
            keyframed.write(obj, known, scene)


def is_geometry(update) -> bool:
    """Whether an update is of a mesh or of shape keys."""
    return isinstance(update.id, (bpy.types.Mesh, bpy.types.Key))


def switched(obj: bpy.types.Object) -> None:
    """The motion was switched on or off."""
    if obj.thew.made.keyframed and not poses.busy:
        keyframed.apply_state(obj)
        present(obj, bpy.context.scene)


# builds in a window ---------------------------------------------------------------------------------------------------


def wait(obj: bpy.types.Object) -> None:
    """Build `obj` anew once nothing has changed for a moment."""
    if builds.uid == obj.session_uid and builds.stepper is not None:
        builds.stepper.cancel()  # what it makes is out of date
    builds.waiting[obj.session_uid] = time.monotonic() + PATIENCE
    if not windows.headless() and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=PATIENCE)


def tick() -> float | None:
    """One step of what is under way; the timer ends when nothing is."""
    try:
        if updates.state.rendering or poses.busy:
            return PATIENCE
        if builds.stepper is None:
            start_next()
        stepper = builds.stepper
        if stepper is not None and stepper.advance():
            builds.stepper, builds.uid = None, 0
            if stepper.error is not None and not isinstance(stepper.error, Cancelled):
                traceback.print_exception(stepper.error)
        windows.redraw()
    except Exception:  # a timer that raises is dropped for good: say so and go on
        traceback.print_exc()
        builds.stepper = None
    return 0.02 if builds.stepper is not None or builds.waiting else None


def start_next() -> None:
    """Begin the build that has waited long enough."""
    now, scene = time.monotonic(), bpy.context.scene
    for uid in [uid for uid, when in builds.waiting.items() if when <= now]:
        del builds.waiting[uid]
        obj = next((o for o in moving.objects(scene) if o.session_uid == uid), None)
        if obj is not None and keyframed.is_shown(obj):
            builds.stepper, builds.uid = Stepper(keyframed.update(obj, scene)), uid
            return


def stop(hush: bool = False) -> None:
    """Drop what is under way and what waits; `hush`: it is not begun again before something is edited."""
    if hush:
        builds.hushed.update({builds.uid, *builds.waiting} - {0})
    if builds.stepper is not None:
        builds.stepper.close()
        builds.stepper, builds.uid = None, 0
    builds.waiting.clear()


# the rest of Blender's life -------------------------------------------------------------------------------------------


@persistent
def before_load(*_):
    """Another file is about to be loaded."""
    stop()
    moving.clear()


@persistent
def after_load(*_):
    """A file was loaded: its motions are built at the first frame that is looked up."""
    moving.clear()
    for obj in moving.everywhere():
        keyframed.hide(obj)


@persistent
def before_undo(*_):
    """Undo replaces Blender's data: hold no reference to it."""
    stop()
    moving.look_again()


@persistent
def after_undo(*_):
    """Undo may have brought back other settings, times and sculpts."""
    moving.look_again()
    if not windows.headless():
        look_up(bpy.context.scene)


#: What is shown while a file is saved, by the object's session id.
_kept: dict[int, tuple] = {}


@persistent
def before_save(*_):
    """Files hold no motion."""
    for obj in moving.everywhere():
        kept = None if obj.data.is_editmode else modifier.written(obj.data)
        if kept is not None:
            _kept[obj.session_uid] = kept
            keyframed.hide(obj)


@persistent
def after_save(*_):
    """Show again what was shown."""
    for obj in moving.everywhere():
        kept = _kept.pop(obj.session_uid, None)
        if kept is not None and len(kept[0]) == len(obj.data.vertices):
            modifier.write(obj.data, *kept)
            moving.known(obj).wrote = True
            obj.data.update_tag()
    _kept.clear()


HANDLERS = {
    "frame_change_pre": before_frame,
    "frame_change_post": after_frame,
    "depsgraph_update_post": after_update,
    "load_pre": before_load,
    "load_post": after_load,
    "undo_pre": before_undo,
    "redo_pre": before_undo,
    "undo_post": after_undo,
    "redo_post": after_undo,
    "save_pre": before_save,
    "save_post": after_save,
    "save_post_fail": after_save,
}


def register() -> None:
    for name, call in HANDLERS.items():
        getattr(bpy.app.handlers, name).append(call)
    saved.on_edit.append(edited)


def unregister() -> None:
    stop()
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)
    for name, call in HANDLERS.items():
        calls = getattr(bpy.app.handlers, name)
        if call in calls:
            calls.remove(call)
    saved.on_edit.clear()
    moving.clear()
