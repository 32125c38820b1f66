# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens by itself: playback, updates after a changed setting, load, undo and render.

Playback looks the frame up before Blender evaluates it (`frame_change_pre`) and writes what flesh adds to the skin. Without
a window, and in renders, whatever is missing is built on the spot; with one, a timer does it a little at a time, so that the
window stays alive. Whatever cannot be shown shows the plain skin.
"""

from __future__ import annotations

import time
import traceback

import bpy
from bpy.app.handlers import persistent

from ..logic.errors import Refusal
from ..logic.native import EXPECTED
from ..logic.tasks import Stepper, finish
from ..rigs import anchors, rigging
from ..saved import properties
from ..saved import rigs as saved_rigs
from ..scene import poses, reading
from ..scene.windows import playing, redraw, stroking
from . import jobs, rendering, resting, riding, saving, session
from .session import register as fleshes

#: How long a setting must rest before the motion is computed again, seconds.
PATIENCE = 0.3

#: The same for the method Modal, which answers at once.
BRIEFLY = 0.05


class State:
    """What the handlers know between their calls."""

    rendering = False
    rendered_elsewhere = False  # by a thread of its own
    read_again: set[int] = set()  # the objects whose motion was read again in this render
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
    """Show every live object's flesh at the frame that Blender is about to evaluate."""
    if rendering.elsewhere():
        seen = any(session.is_shown(obj, state.rendering) for obj in fleshes.objects(scene))
        if seen and not rendering.on_main(lambda: look_up(scene)):
            rendering.missed(scene.frame_current)
    elif not poses.busy and not state.rendered_elsewhere:
        look_up(scene)


def look_up(scene) -> None:
    """Write what the flesh of the scene's objects adds to their skin at the scene's frame."""
    objects = fleshes.objects(scene)
    if not objects:
        return
    if headless() and not state.rendering:
        fleshes.notice(objects, bpy.context.view_layer.depsgraph)
    for obj in objects:
        if not session.is_shown(obj, state.rendering):
            continue
        flesh = fleshes.flesh(obj)
        if not ready(obj, scene, flesh):
            session.hide(obj, flesh)
            continue
        look = session.show if state.rendering else session.present  # a preview is for the eye, not for the film
        look(obj, flesh, scene)


@persistent
def after_frame(scene, depsgraph=None):
    """See to characters whose pose is not one that was simulated for this frame."""
    if rendering.elsewhere():
        if any(resting.unforeseen(obj, scene, depsgraph, state.rendering) for obj in fleshes.objects(scene)):
            rendering.on_main(lambda: compare(scene, depsgraph))
    elif not poses.busy and not state.rendered_elsewhere:
        compare(scene, depsgraph or bpy.context.view_layer.depsgraph)


def compare(scene, depsgraph) -> None:
    """Where the evaluated pose was not simulated, simulate it (without a window) or show flesh at rest in it."""
    again = []
    for obj in fleshes.objects(scene):
        flesh = fleshes.known(obj)
        if flesh is None or flesh.clip is None:
            continue
        if flesh.motion.moving and not state.rendering and not playing():
            rigging.follow_controls(obj)
        what = resting.unforeseen(obj, scene, depsgraph, state.rendering)
        if what == "changed" and may_read(obj, flesh):
            flesh.suspect_motion = True
            again.append(obj)
        elif what:
            found = reading.armature_modifier(obj)
            flesh.suspect_motion = flesh.suspect_motion or what == "changed"
            if resting.show_pose(obj, found, flesh, scene, depsgraph) and what == "changed":
                flesh.problem = resting.CHANGED
        flesh.wrote = False  # what was written for this frame is evaluated by now, or right after this
    if again:
        state.read_again.update(obj.session_uid for obj in again)
        look_up(scene)


def may_read(obj, flesh) -> bool:
    """Whether a changed motion is simulated at once: without a window always, once in a render, never under the hand."""
    if state.rendering:
        return obj.session_uid not in state.read_again
    return headless() and not flesh.suspect_motion


def ready(obj, scene, flesh) -> bool:
    """Whether the clip can be shown now; brings it up to date here (without a window, in a render) or later."""
    try:
        if not jobs.outdated(obj, scene, flesh, still(obj)):
            if flesh.refused:
                jobs.settle(obj, flesh, scene)
            return True
        jobs.check_flesh(obj)
        layer = reading.view_layer(scene)
        reading.subject(obj, layer)  # cheap, and what it refuses may be mended at any time
    except EXPECTED as error:
        jobs.refuse(obj, flesh, error)
        return False
    hopeless = flesh.failed == attempt(obj, scene) and not flesh.suspect_mesh and not flesh.suspect_motion
    if not headless() and not state.rendering:
        if not hopeless and not flesh.suspect_motion:
            wait(obj)
        return flesh.clip is not None and not hopeless
    if hopeless:
        return False
    try:
        with rendering.shown_progress() as progress:
            finish(jobs.update(obj, scene, layer, flesh, still(obj)), progress)
        return True
    except EXPECTED as error:
        give_up(obj, scene, flesh, error)
        return False


def still(obj) -> bool:
    """Whether only the flesh at rest is looked at: renders look at its motion."""
    return obj.thew.settled and not state.rendering


def attempt(obj, scene) -> tuple:
    """What an update starts from, as far as it can be told cheaply."""
    return session.Recipe.of(obj, scene), obj.thew.frames(scene)


def give_up(obj, scene, flesh, error: BaseException) -> None:
    """An update failed: do not try the same again before something changes."""
    flesh.failed = attempt(obj, scene)
    flesh.suspect_mesh = flesh.suspect_motion = False
    session.hide(obj, flesh)
    if isinstance(error, Refusal):
        jobs.refuse(obj, flesh, error)
    else:
        jobs.fail(obj, flesh, error)


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
        if state.rendering:  # which must not find meshes changing under it
            return PATIENCE
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
    if poses.busy or state.rendering or stroking():
        return False
    now = time.monotonic()
    due = [uid for uid, when in state.waiting.items() if when <= now]
    scene = bpy.context.scene
    for uid in due:
        del state.waiting[uid]
        obj = next((o for o in fleshes.objects(scene) if o.session_uid == uid), None)
        if obj is None or not session.is_shown(obj):
            continue
        flesh = fleshes.flesh(obj)
        try:
            if not jobs.outdated(obj, scene, flesh):
                continue
            state.stepper = Stepper(jobs.update(obj, scene, bpy.context.view_layer, flesh))
            state.worked = obj
            return True
        except EXPECTED as error:
            jobs.fail(obj, flesh, error)
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
    if obj.thew.made.rides and not poses.busy:
        riding.switch(obj)
        look_up(bpy.context.scene)
    elif obj.thew.made.flesh and not poses.busy:
        jobs.apply_state(obj)
        flesh, scene = fleshes.known(obj), bpy.context.scene
        if flesh is None:  # the file was just opened
            before_frame(scene)
        elif session.is_shown(obj):
            session.present(obj, flesh, scene)


def mounted(obj: bpy.types.Object) -> None:
    """Another body was chosen to ride on: show what the rider does there."""
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
    """Another mode is to be played, or none, or flesh at rest: show it at once; what is not built yet is built soon."""
    flesh = fleshes.known(obj)
    if flesh is None or flesh.clip is None:
        setting_changed(obj)
        return
    if not session.is_shown(obj) or poses.busy:
        return
    session.present(obj, flesh, bpy.context.scene)
    jobs.note(obj, flesh)
    if flesh.behind and not obj.thew.settled:
        setting_changed(obj)


# the rest of Blender's life -----------------------------------------------------------------------------------------


@persistent
def after_update(scene, depsgraph):
    """Somebody edited something: look whether it was a mesh of ours, or a pose."""
    if poses.busy or rendering.elsewhere() or state.rendered_elsewhere:
        return
    if depsgraph.id_type_updated("COLLECTION"):
        fleshes.look_again()
        riding.register.look_again()
    objects = fleshes.objects(scene)
    if not objects:
        return
    if depsgraph.id_type_updated("ACTION"):
        for flesh in filter(None, map(fleshes.known, objects)):
            flesh.suspect_keys = True
    updates = [update for update in depsgraph.updates if update.is_updated_geometry or update.is_updated_transform]
    touched = {update.id.original.session_uid for update in updates if update.is_updated_geometry}
    moved = {update.id.original.session_uid for update in updates}
    if not moved:
        return
    riding.register.touched(touched)
    for obj in objects:
        flesh = fleshes.known(obj)
        if flesh is None or flesh.character is None:
            continue
        if obj.data.session_uid in touched:
            if flesh.wrote:
                flesh.wrote = False
            else:
                flesh.suspect_mesh = True
                flesh.touches += 1
                if not headless():
                    wait(obj)  # each dab of a brush begins the wait anew
            if not flesh.stale and len(obj.data.vertices) != len(flesh.character.rest):
                flesh.stale = True
                session.hide(obj, flesh)
        if obj.mode == "SCULPT":
            session.hide(obj, flesh)
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
    riding.register.clear()


@persistent
def after_load(*_):
    """A file was loaded: its flesh is built at the first frame that is looked up."""
    fleshes.clear()
    riding.register.clear()
    state.rendering = state.rendered_elsewhere = False
    saving.opened()


@persistent
def before_undo(*_):
    """Undo replaces Blender's data: hold no reference to it."""
    stop_update()
    fleshes.look_again()
    riding.register.look_again()


@persistent
def after_undo(*_):
    """Undo may have brought back other settings, meshes and shapes."""
    fleshes.look_again()
    riding.register.look_again()
    scene = bpy.context.scene
    for obj in fleshes.objects(scene):
        flesh = fleshes.known(obj)
        if flesh is None:
            continue
        flesh.suspect_mesh = True
        flesh.failed = None
        if not headless():
            wait(obj)


# renders ------------------------------------------------------------------------------------------------------------


@persistent
def render_starts(scene, *_):
    """Have everything ready before the first frame; where that cannot be, say so in the window."""
    state.rendering, state.rendered_elsewhere = True, rendering.elsewhere()
    state.read_again.clear()
    rendering.begins()
    objects = fleshes.objects(scene)
    if headless():
        fleshes.notice(objects, bpy.context.view_layer.depsgraph)
    elif objects and not state.rendered_elsewhere:
        prepare(scene)
    elif objects and not rendering.on_main(lambda: prepare(scene)):
        rendering.missed(scene.frame_current)


def prepare(scene) -> None:
    """Bring the flesh of a scene up to date; a dialog tells of characters that will show their plain skin."""
    stop_update()
    plain = []
    for obj in fleshes.objects(scene):
        if not session.is_shown(obj, render=True):
            continue
        flesh = fleshes.flesh(obj)
        flesh.suspect_mesh = True  # worth a look: a render takes longer
        flesh.suspect_motion = flesh.suspect_motion or flesh.suspect_keys
        if not ready(obj, scene, flesh):
            session.hide(obj, flesh)
            plain.append(f"“{obj.name}” is rendered without its flesh. {flesh.problem}")
    if plain:
        rendering.tell("Thew", plain)


@persistent
def render_ends(*_):
    """The render is over: show the window's frame again."""
    state.rendering = state.rendered_elsewhere = False
    if not headless():
        rendering.later(lambda: look_up(bpy.context.scene))


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
    "save_pre": saving.before_save,
    "save_post": saving.after_save,
    "save_post_fail": saving.after_save,
}


def register() -> None:
    for name, call in HANDLERS.items():
        getattr(bpy.app.handlers, name).append(call)
    rendering.register()
    properties.on_change.append(setting_changed)
    properties.on_toggle.append(switched)
    properties.on_preview.append(preview_changed)
    properties.on_mount.append(mounted)
    saved_rigs.on_rig.append(rig_changed)
    saved_rigs.on_hung.append(anchors.remember)


def unregister() -> None:
    stop_update()
    rendering.unregister()
    if bpy.app.timers.is_registered(tick):
        bpy.app.timers.unregister(tick)
    for name, call in HANDLERS.items():
        calls = getattr(bpy.app.handlers, name)
        if call in calls:
            calls.remove(call)
    properties.on_change.clear()
    properties.on_toggle.clear()
    properties.on_preview.clear()
    properties.on_mount.clear()
    saved_rigs.on_rig.clear()
    saved_rigs.on_hung.clear()
    fleshes.clear()
