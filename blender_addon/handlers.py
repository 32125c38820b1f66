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

from . import jobs, poses, properties, reading, resting, rig_properties, rigging, session
from .logic.errors import Cancelled, Refusal, sentence
from .logic.tasks import Stepper, finish
from .native import EXPECTED
from .session import register as fleshes

#: How long a setting must rest before the motion is computed again, seconds.
PATIENCE = 0.3

#: The same for the method Modal, which answers at once.
BRIEFLY = 0.05


class State:
    """What the handlers know between their calls."""

    rendering = False
    waiting: dict[int, float] = {}  # object session id -> when to look at it
    stepper: Stepper | None = None
    worked: bpy.types.Object | None = None


state = State()


def headless() -> bool:
    """Whether there is no window, and so no timer that ticks."""
    return bpy.app.background


# playback -----------------------------------------------------------------------------------------------------------


@persistent
def before_frame(scene, _depsgraph=None):
    """Show every live object's shape of the frame that Blender is about to evaluate."""
    if poses.busy:
        return
    objects = fleshes.objects(scene)
    if not objects:
        return
    if state.rendering and not headless() and not scene.render.use_lock_interface:
        return  # editing data under a running render can crash Blender: see `render_starts`
    if headless():
        pending = bpy.context.view_layer.depsgraph
        if pending is not None and pending.id_type_updated("MESH"):
            suspect(objects)
        if pending is not None and pending.id_type_updated("COLLECTION"):
            fleshes.look_again()
    frame = scene.frame_current_final
    for obj in objects:
        if not session.is_live(obj) or obj.mode in {"EDIT", "SCULPT"}:
            continue
        flesh = fleshes.flesh(obj)
        if not ready(obj, scene, flesh):
            continue
        look = session.show if state.rendering else session.present  # a preview is for the eye, not for the film
        look(obj, flesh, frame)


@persistent
def after_frame(scene, depsgraph=None):
    """Notice when a character's pose is not the one that was simulated for this frame."""
    if poses.busy or state.rendering:
        return
    again = False
    for obj in fleshes.objects(scene):
        flesh = fleshes.known(obj)
        if flesh is None or flesh.clip is None:
            continue
        flesh.wrote = False  # what was written for this frame is evaluated by now
        if flesh.motion.moving and not playing():
            rigging.follow_controls(obj)
        if flesh.suspect_motion or not session.is_live(obj):
            continue
        if moved_otherwise(obj, flesh, scene, depsgraph or bpy.context.view_layer.depsgraph):
            flesh.suspect_motion = True
            again = True
            if not headless():
                flesh.problem = resting.CHANGED
    if again and headless():
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
        if not jobs.outdated(obj, scene, flesh, still(obj)):
            if flesh.refused:
                jobs.settle(obj, flesh, scene)
            return True
        jobs.check_flesh(obj)
        reading.subject(obj, bpy.context.view_layer)  # cheap, and what it refuses may be mended at any time
    except EXPECTED as error:
        refuse(obj, flesh, error)
        return False
    hopeless = flesh.failed == attempt(obj, scene) and not flesh.suspect_mesh and not flesh.suspect_motion
    if not headless():
        if not hopeless and not flesh.suspect_motion:
            wait(obj)
        return flesh.clip is not None
    if hopeless:
        return False
    try:
        finish(jobs.update(obj, scene, bpy.context.view_layer, flesh, still(obj)))
        return True
    except EXPECTED as error:
        give_up(obj, scene, flesh, error)
        return False


def still(obj) -> bool:
    """Whether only the flesh at rest is looked at: renders look at its motion."""
    return obj.thew.settled and not state.rendering


def playing() -> bool:
    """Whether a window plays the animation."""
    return any(window.screen.is_animation_playing for window in bpy.context.window_manager.windows)


def attempt(obj, scene) -> tuple:
    """What an update starts from, as far as it can be told cheaply."""
    return session.Recipe.of(obj, scene), obj.thew.frames(scene)


def refuse(obj, flesh, error: BaseException) -> None:
    """What the object has become cannot be shown with flesh: show its plain armature, and tell why."""
    fail(obj, flesh, error)
    if not flesh.refused:
        flesh.refused = True
        jobs.apply_state(obj)


def give_up(obj, scene, flesh, error: BaseException) -> None:
    """An update failed: do not try the same again before something changes."""
    flesh.failed = attempt(obj, scene)
    flesh.suspect_mesh = flesh.suspect_motion = False
    if isinstance(error, Refusal):
        refuse(obj, flesh, error)
    else:
        fail(obj, flesh, error)


def fail(obj, flesh, error: BaseException) -> None:
    """Tell, once, why an object's flesh could not be brought up to date."""
    problem = "" if isinstance(error, Cancelled) else sentence(str(error))
    if problem and (problem != flesh.problem or problem != obj.thew.made.notes):
        flesh.problem = obj.thew.made.notes = problem
        print(f"Thew: {problem}")


def suspect(objects) -> None:
    """The meshes of `objects` may have changed."""
    for obj in objects:
        flesh = fleshes.known(obj)
        if flesh is not None:
            flesh.suspect_mesh = True


# updates in a window ------------------------------------------------------------------------------------------------


def wait(obj: bpy.types.Object) -> None:
    """Look at `obj` again once nothing has changed for a moment."""
    flesh = fleshes.known(obj)
    quick = flesh is not None and flesh.modal and obj.thew.method == flesh.recipe.method
    patience = BRIEFLY if quick else PATIENCE
    state.waiting[obj.session_uid] = time.monotonic() + patience
    if not headless() and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=patience)


def tick() -> float | None:
    """One step of whatever is under way; the timer ends when nothing is."""
    try:
        if state.stepper is None and not start_next():
            return BRIEFLY if state.waiting else None
        # Blender's data is read in one go, so that nobody changes it meanwhile; native work lets the window live.
        while state.stepper is not None:
            if state.stepper.advance():
                finish_update()
            elif state.stepper.waiting:
                break
        redraw()
        return 0.02
    except Exception:  # a timer that raises is dropped for good: say so and go on
        traceback.print_exc()
        state.stepper = None
        return None


def start_next() -> bool:
    """Begin the update that has waited long enough; False when there is none."""
    if poses.busy or state.rendering:
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
    """Say why an update made nothing, if so; what it made is shown by then."""
    stepper, obj = state.stepper, state.worked
    state.stepper = state.worked = None
    try:
        flesh = fleshes.flesh(obj)
    except ReferenceError:  # undone or deleted meanwhile
        return
    if stepper.error is not None:
        if not isinstance(stepper.error, EXPECTED):
            traceback.print_exception(stepper.error)
        give_up(obj, bpy.context.scene, flesh, stepper.error)


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


def rig_changed(obj: bpy.types.Object) -> None:
    """A rig was edited: settled flesh shows it at once, moving flesh soon."""
    setting_changed(obj)
    flesh = fleshes.known(obj)
    if obj.thew.settled and flesh is not None and not headless():
        resting.show_settled(obj, flesh)


def setting_changed(obj: bpy.types.Object) -> None:
    """A setting was edited: with a window, compute the motion again soon."""
    if not headless() and obj.thew.made.flesh:
        wait(obj)


def switched(obj: bpy.types.Object) -> None:
    """`enabled` was switched: show the flesh, or the plain armature."""
    if obj.thew.made.flesh and not poses.busy:
        jobs.apply_state(obj)
        flesh, scene = fleshes.known(obj), bpy.context.scene
        if flesh is None:  # the file was just opened
            before_frame(scene)
        elif session.is_live(obj):
            session.present(obj, flesh, scene.frame_current_final)


def preview_changed(obj: bpy.types.Object) -> None:
    """Another mode is to be played, or none: show it at once. What is not built yet is shown with the next frame."""
    flesh = fleshes.known(obj)
    if flesh is None or flesh.clip is None or not session.is_live(obj) or poses.busy or obj.mode in {"EDIT", "SCULPT"}:
        return
    session.present(obj, flesh, bpy.context.scene.frame_current_final)
    jobs.note(obj, flesh)
    if flesh.behind and not obj.thew.settled:
        setting_changed(obj)


# the rest of Blender's life -----------------------------------------------------------------------------------------


@persistent
def after_update(scene, depsgraph):
    """Somebody edited something: look whether it was a mesh of ours, or a pose."""
    if poses.busy:
        return
    if depsgraph.id_type_updated("COLLECTION"):
        fleshes.look_again()
    objects = fleshes.objects(scene)
    if not objects:
        return
    updates = [update for update in depsgraph.updates if update.is_updated_geometry or update.is_updated_transform]
    touched = {update.id.original.session_uid for update in updates if update.is_updated_geometry}
    moved = {update.id.original.session_uid for update in updates}
    if not moved:
        return
    for obj in objects:
        flesh = fleshes.known(obj)
        if flesh is None or flesh.character is None:
            continue
        if obj.data.session_uid in touched:
            if flesh.wrote:
                flesh.wrote = False
            elif not flesh.suspect_mesh:
                flesh.suspect_mesh = True
                if not headless():
                    wait(obj)
        if not headless() and session.is_live(obj):
            follow_rigs(obj, flesh)
            found = reading.armature_modifier(obj)
            if found is not None and found.object is not None and found.object.session_uid in moved:
                resting.follow_pose(obj, found, flesh, scene, depsgraph)


def follow_rigs(obj, flesh) -> None:
    """Curves or drivers of rigs may have been edited, or have moved their controls."""
    if not len(obj.thew.rigs) or flesh.motion is None:
        return
    if jobs.moved(obj, flesh):
        wait(obj)
    if not playing():
        rigging.follow_controls(obj)


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
        if not headless():
            wait(obj)


@persistent
def render_starts(scene, *_):
    """Hold the shapes still while a window renders, unless the interface is locked; say so."""
    state.rendering = True
    if headless() or scene.render.use_lock_interface:
        return
    for obj in fleshes.objects(scene):
        if not session.is_live(obj):
            continue
        flesh = fleshes.known(obj)
        previews = flesh is not None and flesh.previews(obj.thew.preview_mode)
        how = " at rest" if obj.thew.settled else ""
        how = f" in the preview of mode {obj.thew.preview_mode}" if previews else how
        said = (
            f"The flesh of “{obj.name}” stands still{how} in this render: bake it to shape keys, "
            "or switch on Render > Lock Interface."
        )
        print(f"Thew: {said}")
        if flesh is not None:
            flesh.problem = said


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
    properties.on_preview.append(preview_changed)
    rig_properties.on_rig.append(rig_changed)


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
    properties.on_preview.clear()
    rig_properties.on_rig.clear()
    fleshes.clear()
