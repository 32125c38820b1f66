# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic updates of flesh: at once without a window and in renders, else step by step.

With a window a timer runs them, so that the window stays responsive. Objects that cannot show flesh show their plain skin.
"""

from __future__ import annotations

import time
import traceback
from time import perf_counter
from typing import Any

import bpy

from ..logic.errors import Cancelled, Refusal
from ..logic.native import EXPECTED_ERRORS, thew
from ..logic.states import Build, Effect, Event, Motion, Switch
from ..logic.tasks import Stepper, Task, finish
from ..scene import poses, reading, visibility, windows
from . import jobs, keyframed, rendering, session, turns, validity
from .events import EFFECT_HANDLERS, report_event
from .flesh import Flesh
from .registers import is_alive
from .session import register as fleshes
from .turns import state

#: Seconds without a change of settings before the motion is computed again. A dragged value changes with every redraw, 30 to 60
#: times a second; a hand that rests for so long has let go.
SETTING_DELAY = 0.3

#: The same for the method Modal, which answers at once, and for flesh not shown yet. Three redraws at 60 a second.
SHORT_DELAY = 0.05

#: Seconds without a step of a drag after which the hand has let go: what is under way for another value is dropped.
LET_GO_DELAY = 0.1

#: Seconds between two steps of work in a window. Fifty a second, about as often as windows are redrawn.
STEP_INTERVAL = 0.02

#: The same until the frame in view is shown, and the seconds that a step may take: one redraw at 60 a second.
QUICK_INTERVAL, STEP_TIME = 0.005, 0.012

#: Seconds after its start in which the window waits for short steps of an update, rather than to come back to each.
YOUNG_TIME = 0.15

#: Modes in which the mesh changes by strokes of a brush.
PAINT_MODES = {"WEIGHT_PAINT", "VERTEX_PAINT"}

#: Seconds between two redraws that show nothing but progress.
REDRAW_INTERVAL = 0.1


# here and now --------------------------------------------------------------------------------------------------------


def may_read(obj, flesh) -> bool:
    """Returns whether a changed motion is simulated at once: always without a window, once in a render, never while the artist poses."""
    if state.rendering:
        return obj.session_uid not in state.read_in_render
    return windows.is_headless() and flesh.condition.motion is not Motion.DIFFERS


def may_read_playing(obj) -> bool:
    """Returns whether playback simulates a changed motion: once, as some motions change each time."""
    return windows.is_playing() and obj.session_uid not in state.read_in_playback


def is_ready(obj, scene, flesh) -> bool:
    """Returns whether the clip can be shown now; updates it at once (without a window, in a render) or later."""
    if windows.is_browsing() and not state.rendering and turns.was_checked(obj, flesh, scene):
        return True
    try:
        if not validity.is_outdated(obj, scene, flesh, shows_rest_only(obj)):
            recover(obj, scene, flesh)
            if windows.is_browsing():
                turns.note_checked(obj, flesh, scene)
            return True
        jobs.check_flesh(obj)
        layer = reading.view_layer(scene)
        reading.subject(obj, layer)  # cheap; the artist may mend what it refuses at any time
    except EXPECTED_ERRORS as error:
        jobs.refuse(obj, flesh, error)
        return False
    hopeless = has_failed(obj, scene, flesh)
    if not windows.is_headless() and not state.rendering:
        if not hopeless and (may_read_playing(obj) or not validity.motion_differs(obj, scene, flesh)):
            expect(obj)
        return flesh.clip is not None and (not hopeless or keeps_last(flesh))
    if hopeless:
        return keeps_last(flesh)
    try:
        with rendering.show_progress() as progress:
            finish(jobs.update(obj, scene, layer, flesh, shows_rest_only(obj)), progress)
        return True
    except EXPECTED_ERRORS as error:
        give_up(obj, scene, flesh, error)
        return keeps_last(flesh)


def has_failed(obj, scene, flesh) -> bool:
    """Returns whether the last update failed, and another would have the same inputs."""
    failed = flesh.condition.build is not Build.OPEN and flesh.condition.is_trusted
    return failed and flesh.failed_inputs == validity.update_inputs(obj, scene)


def keeps_last(flesh) -> bool:
    """Returns whether the last good flesh is in view, because a setting was refused."""
    return flesh.condition.build is Build.DECLINED and flesh.condition.is_showable


def recover(obj, scene, flesh) -> None:
    """Ends the report on a failed update once settings and mesh are again those of the flesh."""
    changed_back = flesh.condition.build is not Build.OPEN and flesh.failed_inputs != validity.update_inputs(obj, scene)
    if changed_back:
        flesh.problem = ""
    if changed_back or flesh.condition.switch is Switch.OFF:
        jobs.settle(obj, flesh, scene)


def shows_rest_only(obj) -> bool:
    """Returns whether only flesh at rest is in view: renders show its motion."""
    return obj.thew.settled and not state.rendering


def give_up(obj, scene, flesh, error: BaseException) -> None:
    """Handles a failed update: the same is not tried again before something changes.

    Where a setting was refused and mesh and bones are those of the flesh in view, this stays.
    """
    flesh.failed_inputs = validity.update_inputs(obj, scene)
    if is_refused_setting(error) and validity.fits_mesh(obj, scene, flesh):
        report_event(obj, flesh, Event.DECLINED)
        jobs.fail(obj, flesh, error)
        return
    report_event(obj, flesh, Event.FAILED)
    if isinstance(error, Refusal):
        jobs.refuse(obj, flesh, error)
    else:
        jobs.fail(obj, flesh, error)


def is_refused_setting(error: BaseException) -> bool:
    """Returns whether an update failed for its inputs, not in its work."""
    return isinstance(error, Refusal) or (thew is not None and isinstance(error, thew.InputError))


# updates in a window ------------------------------------------------------------------------------------------------


def wait(obj: bpy.types.Object) -> None:
    """Schedules an update of `obj` for when nothing has changed for a moment."""
    flesh = fleshes.known_state(obj)
    quick = flesh is not None and flesh.modal and obj.thew.method == flesh.build_settings.method
    wait_for(obj, SHORT_DELAY if quick else SETTING_DELAY)
    state.overriding[obj.session_uid] = state.waiting[obj.session_uid]
    state.edited = obj.session_uid
    state.seen.discard(state.edited)


def expect(obj: bpy.types.Object) -> None:
    """Schedules an update of `obj` soon, after a frame that it cannot show; later frames do not postpone it."""
    if obj.session_uid not in state.waiting and (state.stepper is None or state.updated_object != obj):
        wait_for(obj, SHORT_DELAY)


def wait_for(obj: bpy.types.Object, patience: float) -> None:
    """Schedules an update of `obj` in `patience` seconds."""
    state.waiting[obj.session_uid] = time.monotonic() + patience
    if not windows.is_headless() and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=patience)


def evaluate_own_curves(view_layer: bpy.types.ViewLayer) -> None:
    """Lets Blender evaluate curves that a bake has just written, muted or removed: nobody has edited the motion that was read.

    Does nothing within a job in a window, which calls this when it is over.
    """
    if poses.silence_depth:
        return
    state.writes_curves = True
    try:
        view_layer.update()
    finally:
        state.writes_curves = False


def schedule_at_once(obj: bpy.types.Object) -> bool:
    """Schedules an update of `obj` at once, without waiting for rest: a drag is followed step by step, see `turns`.

    Returns whether such an update was due or under way already.
    """
    under_way = turns.is_due(obj)
    uid, now = obj.session_uid, time.monotonic()
    state.waiting[uid] = min(state.waiting.get(uid, now), now)
    state.overriding[uid] = now + LET_GO_DELAY
    state.edited = uid
    state.seen.discard(uid)
    if not windows.is_headless() and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=QUICK_INTERVAL)
    return under_way


def schedule_in_window(obj: bpy.types.Object, _flesh: Flesh) -> None:
    """Schedules an update where there is a window; elsewhere the next frame that is looked up updates the flesh."""
    if windows.is_headless():
        return
    if obj.mode in PAINT_MODES:  # its stroke is waited for
        schedule_at_once(obj)
    else:
        wait(obj)


def count_edit(_obj: bpy.types.Object, flesh: Flesh) -> None:
    """Counts another edit of the mesh."""
    flesh.touches += 1


EFFECT_HANDLERS[Flesh, Effect.COUNT], EFFECT_HANDLERS[Flesh, Effect.WAIT] = count_edit, schedule_in_window


def tick() -> float | None:
    """Runs one step of the update under way; returns the seconds to the next step, or None to end the timer."""
    try:
        if state.rendering:  # meshes must not change during a render
            return SETTING_DELAY
        if state.stepper is None and not start_next():
            redraw(not state.waiting)  # the last one that waited may have needed no update
            return SHORT_DELAY if state.waiting else None
        # The window stays responsive between two slices that read Blender's data, and during native work in its thread.
        if turns.is_superseded(time.monotonic()):
            state.stepper.cancel()  # the next one begins when this one has stopped
        ended = advance(state.stepper, perf_counter() - state.begun < YOUNG_TIME)
        if ended:
            finish_update()
        shown = not ended and show_arriving()
        if shown and state.updated_object is not None:
            state.pictured = True
            state.seen.add(state.updated_object.session_uid)
        redraw(ended or shown)
        return STEP_INTERVAL if state.pictured and not ended else QUICK_INTERVAL
    except Exception as error:  # a timer that raises is dropped for good: report it and go on
        traceback.print_exc()
        state.fail(error)
        return None


def advance(stepper: Stepper, young: bool) -> bool:
    """Runs a step of an update, or while it is `young` as many short ones as fit into `STEP_TIME`; returns whether it has ended."""
    until = perf_counter() + STEP_TIME
    while not stepper.advance(max(until - perf_counter(), 0.0) if young else 0.0):
        if not young or perf_counter() >= until:
            return False
    return True


_redrawn = 0.0  # time of the last redraw


def redraw(at_once: bool) -> None:
    """Redraws windows where something new is shown, else now and then for the progress."""
    global _redrawn
    now = perf_counter()
    if at_once or now - _redrawn >= REDRAW_INTERVAL:
        _redrawn = now
        windows.redraw()


def start_next() -> bool:
    """Starts the update that has waited long enough; returns False when none is due."""
    if poses.silence_depth or state.rendering or windows.is_stroking():
        return False
    now, scene = time.monotonic(), bpy.context.scene
    due, every = state.take_due(now), [*fleshes.objects(scene), *keyframed.register.objects(scene)]
    waiting = turns.in_order(obj for obj in every if obj.session_uid in due)
    for uid in due - {obj.session_uid for obj in waiting}:
        state.drop(uid)  # deleted meanwhile, or of another scene
    for obj in sorted(waiting, key=visibility.is_looked_at):  # the others have nothing to do, and leave the queue
        del state.waiting[obj.session_uid]
        if take_turn(obj, scene):
            return True
        state.pass_turn(obj.session_uid)
    return False


def take_turn(obj: bpy.types.Object, scene: bpy.types.Scene) -> bool:
    """Begins the update of an object whose turn it is; returns whether there was one to begin."""
    if (asked := state.requests.get(obj.session_uid)) is not None:
        return asked.take_turn(obj, scene, start)
    if not (keyframed.is_shown(obj) if obj.thew.made.keyframed else session.is_shown(obj)):
        return False
    if not visibility.is_looked_at(obj):
        state.passed_over.add(obj.session_uid)  # it is brought up to date once somebody looks
        return False
    if obj.thew.made.keyframed:
        state.stepper, state.updated_object = Stepper(keyframed.update(obj, scene)), obj
        state.pictured, state.begun, state.place = True, perf_counter(), turns.place_in_view(scene)
        return True
    flesh = fleshes.state_of(obj)
    try:
        if not validity.is_outdated(obj, scene, flesh):
            recover(obj, scene, flesh)
            show_finished(obj, scene)
            return False
        if windows.is_playing() and validity.is_behind(obj, scene, flesh):
            state.read_in_playback.add(obj.session_uid)
        start(obj, scene, jobs.update(obj, scene, bpy.context.view_layer, flesh, believe=True))
    except EXPECTED_ERRORS as error:
        jobs.fail(obj, flesh, error)
        return False
    return True


def start(obj: bpy.types.Object, scene: bpy.types.Scene, task: Task, request: Any = None) -> None:
    """Starts a task as the update under way of an object; `request`: see `requested`."""
    state.stepper, state.updated_object, state.started_from = Stepper(task), obj, turns.update_inputs(obj, scene)
    state.pictured, state.begun, state.request = False, perf_counter(), request
    state.place = turns.place_in_view(scene)
    fleshes.state_of(obj).viewed = turns.frame_in_view(obj, scene)


def show_arriving() -> bool:
    """Shows the window's frame as soon as it is ready; returns whether one was shown. During playback frames are looked up anyway."""
    if windows.is_playing():
        known = (fleshes.known_state(obj) for obj in fleshes.objects(bpy.context.scene))
        return any(flesh is not None and flesh.arriving is not None for flesh in known)
    scene, shown = bpy.context.scene, False
    for obj in fleshes.objects(scene):
        flesh = fleshes.known_state(obj)
        if flesh is None or flesh.arriving is None or not session.is_shown(obj):
            continue
        part = flesh.arriving  # the simulating thread may replace it
        if part is not state.displayed_parts.get(obj.session_uid) and session.show_arriving(obj, flesh, scene):
            state.displayed_parts[obj.session_uid] = part
            shown = True
    return shown


def show_finished(obj: bpy.types.Object, scene: bpy.types.Scene) -> None:
    """Shows the finished motion of an object again, after frames of an unfinished one were in view."""
    if state.displayed_parts.pop(obj.session_uid, None) is not None and session.is_shown(obj):
        session.present(obj, fleshes.state_of(obj), scene)


def show_last_finished() -> None:
    """Shows the last finished motion again, after frames of an unfinished one were in view."""
    scene = bpy.context.scene
    for obj in fleshes.objects(scene):
        show_finished(obj, scene)
    state.displayed_parts.clear()


def finish_update() -> None:
    """Ends an update, and reports its failure; its result is in view by now."""
    stepper, obj, request = state.stepper, state.updated_object, state.request
    state.stepper = state.updated_object = state.request = None
    if request is not None:
        request.note_end(stepper)
        if stepper.error is None:
            state.displayed_parts.clear()
        elif not request.is_pending and is_alive(obj):
            show_finished(obj, bpy.context.scene)
        return
    failed = stepper.error is not None and not isinstance(stepper.error, Cancelled)
    if stepper.error is None or failed:
        state.displayed_parts.clear()
    if not failed or isinstance(stepper.error, ReferenceError) or not is_alive(obj):  # undone or deleted meanwhile
        return
    if not isinstance(stepper.error, EXPECTED_ERRORS):
        traceback.print_exception(stepper.error)
    if not obj.thew.made.keyframed:
        flesh, scene = fleshes.state_of(obj), bpy.context.scene
        give_up(obj, scene, flesh, stepper.error)
        if keeps_last(flesh) and session.is_shown(obj):  # frames of the motion that failed may be in view
            session.present(obj, flesh, scene)


def drop_update(obj: bpy.types.Object) -> bool:
    """Drops the update of one object; returns whether it waited or was under way."""
    waited = obj.session_uid in state.waiting
    state.drop(obj.session_uid)
    if state.updated_object != obj:
        return waited
    state.close()
    return True


def pause_updates() -> None:
    """Drops the update under way and those that wait, but not what the artist asked for: `requested.resume` puts that back."""
    state.close()
    for each in (state.waiting, state.overriding, state.followed):
        each.clear()


def stop_update() -> None:
    """Drops the update under way and those that wait."""
    pause_updates()
    state.requests.clear()
