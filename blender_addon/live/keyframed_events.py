# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's events for keyframed flesh: frames, edits, undo, files and renders; and builds while the window stays responsive.

A quick edit shows within one redraw. Without a window and in renders, builds run at once. With a window a timer runs them step by
step, and the last motion stays in view.
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

#: Seconds without a change before a build starts. A dragged value changes with every redraw, 30 to 60 times a second; a hand that
#: rests for so long has let go.
PATIENCE = 0.2


@dataclass
class Builds:
    """The build under way in the background, and the objects that wait."""

    waiting: dict[int, float] = field(default_factory=dict)  # object session id -> when to look at it
    stepper: Stepper | None = None
    uid: int = 0  # session id of the object that is built
    hushed: set[int] = field(default_factory=set)  # objects whose build was cancelled, until their next edit


builds = Builds()

# frames ---------------------------------------------------------------------------------------------------------------


@persistent
def before_frame(scene, _depsgraph=None):
    """Shows every object's motion at the frame that Blender is about to evaluate."""
    if rendering.elsewhere():
        seen = any(keyframed.is_shown(obj) for obj in moving.objects(scene))
        if seen and not rendering.on_main(lambda: look_up(scene)):
            rendering.missed(scene.frame_current)
    elif not updates.state.rendered_elsewhere:
        look_up(scene)


@persistent
def after_frame(scene, _depsgraph=None):
    """Notes that Blender has evaluated the writes for this frame: the next update of the mesh is somebody's edit."""
    for obj in moving.objects(scene):
        moving.known(obj).wrote = False


def look_up(scene) -> None:
    """Writes the motion of the scene's objects at its frame."""
    objects = moving.objects(scene)
    if not objects:
        return
    if windows.headless() and not updates.state.rendering:
        notice()
    for obj in objects:
        present(obj, scene)


def notice() -> None:
    """Marks meshes that a script may have edited since Blender's last evaluation; for use without a window, which gets no updates."""
    pending = bpy.context.view_layer.depsgraph
    if pending is not None and (pending.id_type_updated("MESH") or pending.id_type_updated("KEY")):
        moving.suspect()


def present(obj: bpy.types.Object, scene) -> None:
    """Shows the motion of one object at the scene's frame, brought up to date; a needed build runs at once or is scheduled."""
    known = moving.known(obj)
    if not keyframed.is_shown(obj):
        if keyframed.is_live(obj):
            keyframed.hide(obj)
        if known.suspect and obj.mode == "OBJECT":
            keyframe_shapes.remember(obj)  # shape keys may be renamed and sculpted whatever the view shows
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
    """Shows the effect of a setting that was edited by hand or by a script."""
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
    """Looks after an edit whether it touched a sculpt or a time of ours."""
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
            continue  # the next frame that is looked up handles it
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
    """Returns whether an update concerns a mesh or shape keys."""
    return isinstance(update.id, (bpy.types.Mesh, bpy.types.Key))


def switched(obj: bpy.types.Object) -> None:
    """Reacts to the motion being switched on or off."""
    if obj.thew.made.keyframed and not poses.busy:
        keyframed.apply_state(obj)
        present(obj, bpy.context.scene)


# builds in a window ---------------------------------------------------------------------------------------------------


def wait(obj: bpy.types.Object) -> None:
    """Schedules a build of `obj` for when nothing has changed for a moment."""
    if builds.uid == obj.session_uid and builds.stepper is not None:
        builds.stepper.cancel()  # its result would be out of date
    builds.waiting[obj.session_uid] = time.monotonic() + PATIENCE
    if not windows.headless() and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=PATIENCE)


def tick() -> float | None:
    """Runs one step of the build under way; returns the seconds to the next step, or None to end the timer."""
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
    except Exception:  # a timer that raises is dropped for good: report it and go on
        traceback.print_exc()
        builds.stepper = None
    return 0.02 if builds.stepper is not None or builds.waiting else None


def start_next() -> None:
    """Starts the build that has waited long enough."""
    now, scene = time.monotonic(), bpy.context.scene
    for uid in [uid for uid, when in builds.waiting.items() if when <= now]:
        del builds.waiting[uid]
        obj = next((o for o in moving.objects(scene) if o.session_uid == uid), None)
        if obj is not None and keyframed.is_shown(obj):
            builds.stepper, builds.uid = Stepper(keyframed.update(obj, scene)), uid
            return


def stop(hush: bool = False) -> None:
    """Drops the build under way and those that wait; `hush`: they start again only after an edit."""
    if hush:
        builds.hushed.update({builds.uid, *builds.waiting} - {0})
    if builds.stepper is not None:
        builds.stepper.close()
        builds.stepper, builds.uid = None, 0
    builds.waiting.clear()


# the rest of Blender's life -------------------------------------------------------------------------------------------


@persistent
def before_load(*_):
    """Drops everything before another file is loaded."""
    stop()
    moving.clear()


@persistent
def after_load(*_):
    """Prepares a file that was just loaded: its motions are built at the first frame that is looked up."""
    moving.clear()
    for obj in moving.everywhere():
        keyframed.hide(obj)


@persistent
def before_undo(*_):
    """Drops references to Blender's data, which undo replaces."""
    stop()
    moving.look_again()


@persistent
def after_undo(*_):
    """Follows an undo, which may have brought back other settings, times and sculpts."""
    moving.look_again()
    if not windows.headless():
        look_up(bpy.context.scene)


#: Offsets in view while a file is saved, by the object's session id.
_kept: dict[int, tuple] = {}


@persistent
def before_save(*_):
    """Hides the motion before a save: files hold none."""
    for obj in moving.everywhere():
        kept = None if obj.data.is_editmode else modifier.written(obj.data)
        if kept is not None:
            _kept[obj.session_uid] = kept
            keyframed.hide(obj)


@persistent
def after_save(*_):
    """Shows again the motion that `before_save` has hidden."""
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
