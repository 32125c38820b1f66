# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens by itself: playback, updates after a changed setting, load, undo and render.

Playback looks the frame up before Blender evaluates it (`frame_change_pre`) and writes one attribute. Without a window
whatever is missing is built on the spot; with one, a timer does it a little at a time, so that the window stays alive.
"""

from __future__ import annotations

import time
import traceback

import bpy
from bpy.app.handlers import persistent

from . import jobs, properties, session
from .logic.errors import Cancelled, Refusal, sentence
from .logic.tasks import Stepper, finish
from .native import thew
from .session import register as fleshes

#: How long a setting must rest before the motion is computed again, seconds.
PATIENCE = 0.3

#: What the extension's own code may raise for the artist to read.
EXPECTED = (Refusal, Cancelled) + ((thew.ThewError,) if thew is not None else ())


class State:
    """What the handlers know between their calls."""

    rendering = False
    waiting: dict[int, float] = {}  # object session id -> when to look at it
    stepper: Stepper | None = None
    worked: bpy.types.Object | None = None


state = State()


# playback -----------------------------------------------------------------------------------------------------------


@persistent
def before_frame(scene, _depsgraph=None):
    """Show every live object's shape of the frame that Blender is about to evaluate."""
    if jobs.busy:
        return
    objects = fleshes.objects(scene)
    if not objects:
        return
    if state.rendering and not bpy.app.background and not scene.render.use_lock_interface:
        return  # editing data under a running render can crash Blender: see `render_starts`
    if bpy.app.background:
        pending = bpy.context.view_layer.depsgraph
        if pending is not None and pending.id_type_updated("MESH"):
            suspect(objects)
    frame = scene.frame_current_final
    for obj in objects:
        if not session.is_live(obj) or obj.mode in {"EDIT", "SCULPT"}:
            continue
        flesh = fleshes.flesh(obj)
        if not ready(obj, scene, flesh):
            continue
        session.show(obj, flesh, frame)


@persistent
def after_frame(scene, depsgraph=None):
    """Notice when a character's pose is not the one that was simulated for this frame."""
    if jobs.busy or state.rendering:
        return
    again = False
    for obj in fleshes.objects(scene):
        flesh = fleshes.known(obj)
        if flesh is None or flesh.clip is None or flesh.suspect_motion or not session.is_live(obj):
            continue
        if moved_otherwise(obj, flesh, scene, depsgraph or bpy.context.view_layer.depsgraph):
            flesh.suspect_motion = True
            again = True
            if not bpy.app.background:
                flesh.problem = "The animation has changed since it was simulated: press Simulate."
    if again and bpy.app.background:
        before_frame(scene)


def moved_otherwise(obj, flesh, scene, depsgraph) -> bool:
    """Whether the evaluated armature differs from what was simulated for the scene's frame."""
    frame = scene.frame_current
    if scene.frame_subframe or not flesh.clip_start <= frame <= flesh.clip_end:
        return False
    return flesh.motion.differs(obj, frame, depsgraph)


def ready(obj, scene, flesh) -> bool:
    """Whether the clip can be shown now; brings it up to date here (without a window) or later (with one)."""
    try:
        if not jobs.outdated(obj, scene, flesh):
            return True
        if not bpy.app.background:
            flesh.suspect_motion or wait(obj)
            return flesh.clip is not None
        attempt = (session.Recipe.of(obj, scene), obj.thew.frames(scene))
        if flesh.failed == attempt and not flesh.suspect_mesh and not flesh.suspect_motion:
            return False
        flesh.failed = attempt
        finish(jobs.update(obj, scene, bpy.context.view_layer, flesh))
        return True
    except EXPECTED as error:
        fail(obj, flesh, error)
        return False


def fail(obj, flesh, error: BaseException) -> None:
    """Tell why an object's flesh could not be brought up to date."""
    flesh.suspect_mesh = flesh.suspect_motion = False
    flesh.problem = sentence(str(error)) if not isinstance(error, Cancelled) else ""
    obj.thew.made.notes = flesh.problem
    if flesh.problem:
        print(f"Thew: {flesh.problem}")


def suspect(objects) -> None:
    """The meshes of `objects` may have changed."""
    for obj in objects:
        flesh = fleshes.known(obj)
        if flesh is not None:
            flesh.suspect_mesh = True


# updates in a window ------------------------------------------------------------------------------------------------


def wait(obj: bpy.types.Object) -> None:
    """Look at `obj` again once nothing has changed for a moment."""
    state.waiting[obj.session_uid] = time.monotonic() + PATIENCE
    if not bpy.app.background and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=PATIENCE)


def tick() -> float | None:
    """One step of whatever is under way; the timer ends when nothing is."""
    try:
        if state.stepper is None and not start_next():
            return PATIENCE / 3.0 if state.waiting else None
        if state.stepper is not None and state.stepper.advance():
            finish_update()
        redraw()
        return 0.02
    except Exception:  # a timer that raises is dropped for good: say so and go on
        traceback.print_exc()
        state.stepper = None
        return None


def start_next() -> bool:
    """Begin the update that has waited long enough; False when there is none."""
    if jobs.busy or state.rendering:
        return False
    now = time.monotonic()
    due = [uid for uid, when in state.waiting.items() if when <= now]
    scene = bpy.context.scene
    for uid in due:
        del state.waiting[uid]
        obj = next((o for o in fleshes.objects(scene) if o.session_uid == uid), None)
        if obj is None or not session.is_live(obj) or obj.mode in {"EDIT", "SCULPT"}:
            continue
        flesh = fleshes.flesh(obj)
        try:
            if not jobs.outdated(obj, scene, flesh):
                continue
            state.stepper = Stepper(jobs.update(obj, scene, bpy.context.view_layer, flesh))
            state.worked = obj
            return True
        except EXPECTED as error:
            fail(obj, flesh, error)
    return False


def finish_update() -> None:
    """Show what an update made, or say why it made nothing."""
    stepper, obj = state.stepper, state.worked
    state.stepper = state.worked = None
    try:
        flesh = fleshes.flesh(obj)
    except ReferenceError:  # undone or deleted meanwhile
        return
    if stepper.error is None:
        session.show(obj, flesh, bpy.context.scene.frame_current_final)
    elif isinstance(stepper.error, EXPECTED):
        fail(obj, flesh, stepper.error)
    else:
        traceback.print_exception(stepper.error)
        fail(obj, flesh, stepper.error)


def stop_update() -> None:
    """Drop the update that is under way."""
    if state.stepper is not None:
        state.stepper.close()
        state.stepper = state.worked = None
    state.waiting.clear()


def redraw() -> None:
    """Let panels and views show what is new."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in {"VIEW_3D", "PROPERTIES"}:
                area.tag_redraw()


def setting_changed(obj: bpy.types.Object) -> None:
    """A setting was edited: with a window, compute the motion again soon."""
    if not bpy.app.background and obj.thew.made.flesh:
        wait(obj)


def switched(obj: bpy.types.Object) -> None:
    """`enabled` was switched: show the flesh, or the plain armature."""
    if obj.thew.made.flesh and not jobs.busy:
        jobs.apply_state(obj)
        flesh = fleshes.known(obj)
        if flesh is not None and session.is_live(obj):
            session.show(obj, flesh, bpy.context.scene.frame_current_final)


# the rest of Blender's life -----------------------------------------------------------------------------------------


@persistent
def after_update(scene, depsgraph):
    """Somebody edited something: look whether it was a mesh of ours."""
    if jobs.busy or state.stepper is not None:
        return
    objects = fleshes.objects(scene)
    if not objects:
        return
    touched = {
        update.id.name
        for update in depsgraph.updates
        if update.is_updated_geometry and isinstance(update.id, bpy.types.Mesh)
    }
    if not touched:
        return
    for obj in objects:
        flesh = fleshes.known(obj)
        if flesh is not None and obj.data.name in touched and not flesh.suspect_mesh:
            flesh.suspect_mesh = True
            if not bpy.app.background:
                wait(obj)


@persistent
def before_load(*_):
    """Another file is about to be loaded."""
    stop_update()
    fleshes.clear()


@persistent
def after_load(*_):
    """A file was loaded: what it shows is rebuilt at the first frame that is looked up."""
    fleshes.clear()
    state.rendering = False


@persistent
def before_undo(*_):
    """Undo replaces Blender's data: hold no reference to it."""
    stop_update()
    fleshes.look_again()


@persistent
def after_undo(*_):
    """Undo may have brought back other settings, meshes and shapes."""
    fleshes.look_again()
    scene = bpy.context.scene
    for obj in fleshes.objects(scene):
        flesh = fleshes.known(obj)
        if flesh is None:
            continue
        flesh.suspect_mesh = True
        flesh.failed = None
        if flesh.offsets is not None:
            flesh.offsets.written = False
        if not bpy.app.background:
            wait(obj)


@persistent
def render_starts(scene, *_):
    """Hold the shapes still while a window renders, unless the interface is locked; say so."""
    state.rendering = True
    if bpy.app.background or scene.render.use_lock_interface:
        return
    names = [obj.name for obj in fleshes.objects(scene) if session.is_live(obj)]
    if names:
        said = (
            f"The flesh of “{names[0]}” stands still in this render: bake it to shape keys, "
            "or switch on Render > Lock Interface"
        )
        print(f"Thew: {said}.")
        for name in names:
            flesh = fleshes.known(scene.objects[name])
            if flesh is not None:
                flesh.problem = said + "."


@persistent
def render_ends(*_):
    """The render is over."""
    state.rendering = False


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
    "render_init": render_starts,
    "render_complete": render_ends,
    "render_cancel": render_ends,
}


def register() -> None:
    for name, call in HANDLERS.items():
        getattr(bpy.app.handlers, name).append(call)
    properties.on_change.append(setting_changed)
    properties.on_toggle.append(switched)


def unregister() -> None:
    stop_update()
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)
    for name, call in HANDLERS.items():
        calls = getattr(bpy.app.handlers, name)
        if call in calls:
            calls.remove(call)
    properties.on_change.clear()
    properties.on_toggle.clear()
    fleshes.clear()
