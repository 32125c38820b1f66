# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic updates of flesh: at once without a window and in renders, else step by step.

With a window a timer runs them, so that the window stays responsive. Objects that cannot show flesh show their plain skin.
"""

from __future__ import annotations

import math
import time
import traceback
from dataclasses import dataclass, field

import bpy

from ..logic.errors import Cancelled, Refusal
from ..logic.native import EXPECTED_ERRORS, thew
from ..logic.states import Build, Effect, Event, Motion, Switch
from ..logic.tasks import Stepper, finish
from ..scene import frame_dependence, poses, reading, windows
from . import jobs, keyframed, rendering, session, validity
from .events import EFFECT_HANDLERS, report_event
from .flesh import Flesh
from .registers import is_alive
from .session import register as fleshes

#: Seconds without a change of settings before the motion is computed again. A dragged value changes with every redraw, 30 to 60
#: times a second; a hand that rests for so long has let go.
SETTING_DELAY = 0.3

#: The same for the method Modal, which answers at once, and for flesh not shown yet. Three redraws at 60 a second.
SHORT_DELAY = 0.05

#: Fraction of an update after which the lattice is done. `building` makes it in the first half.
LATTICE_FRACTION = 0.6

#: Seconds between two steps of work in a window. Fifty a second, about as often as windows are redrawn.
STEP_INTERVAL = 0.02


@dataclass
class UpdateQueue:
    """The update under way, and the objects that wait."""

    rendering: bool = False
    rendered_elsewhere: bool = False  # by another thread
    undone: bool = False  # Blender's next update follows an undo, and may report every curve
    writes_curves: bool = False  # Blender's update reports curves that we have written
    read_in_render: set[int] = field(default_factory=set)  # objects whose motion was read again in this render
    read_in_playback: set[int] = field(
        default_factory=set
    )  # the same, since playback began or since their keys were edited
    waiting: dict[int, float] = field(default_factory=dict)  # object session id -> time of its update
    #: The same for objects whose update under way is dropped at that time.
    overriding: dict[int, float] = field(default_factory=dict)
    stepper: Stepper | None = None  # the update under way
    updated_object: bpy.types.Object | None = None  # its object
    started_from: tuple = ()  # its settings
    #: Object session id -> the part of its motion that was displayed last.
    displayed_parts: dict[int, object] = field(default_factory=dict)


state = UpdateQueue()


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
    try:
        if not validity.is_outdated(obj, scene, flesh, shows_rest_only(obj)):
            recover(obj, scene, flesh)
            return True
        jobs.check_flesh(obj)
        layer = reading.view_layer(scene)
        reading.subject(obj, layer)  # cheap; the artist may mend what it refuses at any time
    except EXPECTED_ERRORS as error:
        jobs.refuse(obj, flesh, error)
        return False
    condition = flesh.condition
    hopeless = (
        condition.build is not Build.OPEN
        and condition.is_trusted
        and flesh.failed_inputs == validity.update_inputs(obj, scene)
    )
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


def expect(obj: bpy.types.Object) -> None:
    """Schedules an update of `obj` soon, after a frame that it cannot show; later frames do not postpone it."""
    if obj.session_uid not in state.waiting and (state.stepper is None or state.updated_object != obj):
        wait_for(obj, SHORT_DELAY)


def wait_for(obj: bpy.types.Object, patience: float) -> None:
    """Schedules an update of `obj` in `patience` seconds."""
    state.waiting[obj.session_uid] = time.monotonic() + patience
    if not windows.is_headless() and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=patience)


def report_edited_curves(objects: list[bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> None:
    """Reports edited curves: as a doubt before a render to all flesh, as edited keys to the characters that they move.

    These are simulated when they next play; during playback, once the keys rest.
    """
    edited = {each.id.original.session_uid for each in depsgraph.updates if isinstance(each.id, bpy.types.Action)}
    for obj in objects:
        flesh = fleshes.known_state(obj)
        if flesh is None:
            continue
        report_event(obj, flesh, Event.CURVES_EDITED)
        flesh.curve_edits += 1
        if (
            state.undone
            or state.writes_curves
            or flesh.motion is None
            or not edited & frame_dependence.affecting_actions(obj, reading.armature_of(obj))
        ):
            continue
        report_event(obj, flesh, Event.KEYS_EDITED)
        state.read_in_playback.discard(obj.session_uid)
        if not windows.is_headless() and windows.is_playing():
            wait(obj)


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
    """Schedules an update of `obj` at once, without waiting for rest: a drag is followed step by step, one update after another.

    Returns whether such an update was due or under way already.
    """
    under_way = obj.session_uid in state.waiting or (state.updated_object is not None and state.updated_object == obj)
    state.waiting.setdefault(obj.session_uid, time.monotonic())
    if not windows.is_headless() and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=SHORT_DELAY)
    return under_way


def schedule_in_window(obj: bpy.types.Object, _flesh: Flesh) -> None:
    """Schedules an update where there is a window; elsewhere the next frame that is looked up updates the flesh."""
    if not windows.is_headless():
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
            return SHORT_DELAY if state.waiting else None
        # The window stays responsive between two slices that read Blender's data, and during native work in its thread.
        if is_superseded():
            state.stepper.cancel()  # the next one begins when this one has stopped
        if state.stepper.advance():
            finish_update()
        else:
            show_arriving()
        windows.redraw()
        return STEP_INTERVAL
    except Exception:  # a timer that raises is dropped for good: report it and go on
        traceback.print_exc()
        state.stepper = None
        return None


def start_next() -> bool:
    """Starts the update that has waited long enough; returns False when none is due."""
    if poses.silence_depth or state.rendering or windows.is_stroking():
        return False
    now = time.monotonic()
    due = [uid for uid, when in state.waiting.items() if when <= now]
    scene = bpy.context.scene
    for uid in due:
        del state.waiting[uid]
        state.overriding.pop(uid, None)
        obj = next(
            (o for o in [*fleshes.objects(scene), *keyframed.register.objects(scene)] if o.session_uid == uid), None
        )
        if obj is None or not (keyframed.is_shown(obj) if is_keyframed(obj) else session.is_shown(obj)):
            continue
        if is_keyframed(obj):
            state.stepper, state.updated_object = Stepper(keyframed.update(obj, scene)), obj
            return True
        flesh = fleshes.state_of(obj)
        try:
            if not validity.is_outdated(obj, scene, flesh):
                recover(obj, scene, flesh)
                continue
            if windows.is_playing() and validity.is_behind(obj, scene, flesh):
                state.read_in_playback.add(obj.session_uid)
            state.stepper = Stepper(jobs.update(obj, scene, bpy.context.view_layer, flesh, believe=True))
            state.updated_object, state.started_from = obj, update_inputs(obj, scene)
            return True
        except EXPECTED_ERRORS as error:
            jobs.fail(obj, flesh, error)
    return False


def is_keyframed(obj: bpy.types.Object) -> bool:
    """Returns whether the object waits for a build of keyframed flesh."""
    return obj.thew.made.keyframed


def show_arriving() -> None:
    """Shows the window's frame as soon as it is ready; during playback frames are looked up anyway."""
    if windows.is_playing():
        return
    scene = bpy.context.scene
    for obj in fleshes.objects(scene):
        flesh = fleshes.known_state(obj)
        if flesh is None or flesh.arriving is None or not session.is_shown(obj):
            continue
        part = flesh.arriving  # the simulating thread may replace it
        if part is not state.displayed_parts.get(obj.session_uid) and session.show_arriving(obj, flesh, scene):
            state.displayed_parts[obj.session_uid] = part


def show_last_finished() -> None:
    """Shows the last finished motion again, after frames of an unfinished one were in view."""
    scene = bpy.context.scene
    for obj in fleshes.objects(scene):
        if state.displayed_parts.pop(obj.session_uid, None) is not None and session.is_shown(obj):
            session.present(obj, fleshes.state_of(obj), scene)
    state.displayed_parts.clear()


#: Settings on which the lattice depends.
LATTICE_SETTINGS = ("cells_across", "height", "limbs", "hand_lattice", "symmetric")


def is_superseded() -> bool:
    """Returns whether the object under work has waited long enough with other settings than those of the update."""
    obj = state.updated_object
    if (
        not is_alive(obj)
        or is_keyframed(obj)  # it cancels by itself
        or state.overriding.get(obj.session_uid, math.inf) > time.monotonic()
        or windows.is_stroking()
    ):
        return False
    flesh, now = fleshes.state_of(obj), update_inputs(obj, bpy.context.scene)
    if now == state.started_from:
        return False
    # A lattice under way is not started again for settings on which it does not depend.
    (settings, *_), touches, _ = now
    (former, *_), before, _ = state.started_from
    kept = all(getattr(settings, name) == getattr(former, name) for name in LATTICE_SETTINGS)
    return flesh.lattice_key != b"" or not kept or touches != before or state.stepper.fraction >= LATTICE_FRACTION


def update_inputs(obj: bpy.types.Object, scene: bpy.types.Scene) -> tuple:
    """Returns the inputs of an update, and the counts of edits of the mesh and of curves."""
    flesh = fleshes.state_of(obj)
    return validity.update_inputs(obj, scene), flesh.touches, flesh.curve_edits


def finish_update() -> None:
    """Ends an update, and reports its failure; its result is in view by now."""
    stepper, obj = state.stepper, state.updated_object
    state.stepper = state.updated_object = None
    failed = stepper.error is not None and not isinstance(stepper.error, Cancelled)
    if stepper.error is None or failed:
        state.displayed_parts.clear()
    if not failed or isinstance(stepper.error, ReferenceError) or not is_alive(obj):  # undone or deleted meanwhile
        return
    if not isinstance(stepper.error, EXPECTED_ERRORS):
        traceback.print_exception(stepper.error)
    if not is_keyframed(obj):
        give_up(obj, bpy.context.scene, fleshes.state_of(obj), stepper.error)


def drop_update(obj: bpy.types.Object) -> bool:
    """Drops the update of one object; returns whether it waited or was under way."""
    waited = state.waiting.pop(obj.session_uid, None) is not None
    state.overriding.pop(obj.session_uid, None)
    if state.updated_object != obj:
        return waited
    state.stepper.close()
    state.stepper = state.updated_object = None
    return True


def stop_update() -> None:
    """Drops the update under way and those that wait."""
    if state.stepper is not None:
        state.stepper.close()
        state.stepper = state.updated_object = None
    state.waiting.clear()
    state.overriding.clear()
