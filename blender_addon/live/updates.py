# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh brought up to date by itself: here and now without a window and in renders, else a little at a time.

With a window a timer does it, so that the window stays alive. Whatever cannot be shown shows the plain skin.
"""

from __future__ import annotations

import math
import time
import traceback
from dataclasses import dataclass, field

import bpy

from ..logic.errors import Cancelled, Refusal
from ..logic.native import EXPECTED
from ..logic.states import Build, Effect, Event, Motion, Switch
from ..logic.tasks import Stepper, finish
from ..scene import moving, poses, reading, windows
from . import jobs, rendering, session, validity
from .events import DOES, happened
from .flesh import Flesh
from .session import register as fleshes

#: How long a setting must rest before the motion is computed again, seconds. A value that is dragged changes with every redraw, 30 to 60
#: times a second; a hand that rests for so long has let go.
PATIENCE = 0.3

#: The same for the method Modal, which answers at once, and for flesh of which nothing is shown yet. Three redraws at 60 a second.
BRIEFLY = 0.05

#: The part of an update after which its lattice is there. `building` makes it in the first half.
LATTICE_DONE = 0.6

#: Seconds between two turns of work in a window. Fifty a second, about as often as windows are redrawn.
TURN = 0.02


@dataclass
class Work:
    """What is under way, and what waits."""

    rendering: bool = False
    rendered_elsewhere: bool = False  # by a thread of its own
    undone: bool = False  # the next update of Blender's follows an undo, which may tell of every curve
    read_again: set[int] = field(default_factory=set)  # the objects whose motion was read again in this render
    reread: set[int] = field(default_factory=set)  # the same since it began to play, or their keys were edited last
    waiting: dict[int, float] = field(default_factory=dict)  # object session id -> when to look at it
    overriding: dict[int, float] = field(
        default_factory=dict
    )  # the same of those whose update under way is to be dropped then
    stepper: Stepper | None = None  # the update that is under way
    worked: bpy.types.Object | None = None  # what it is of
    started_from: tuple = ()  # the settings that it is made with
    seen: dict[int, object] = field(default_factory=dict)  # object session id -> what was ready when it was last shown


state = Work()


# here and now --------------------------------------------------------------------------------------------------------


def may_read(obj, flesh) -> bool:
    """Whether a changed motion is simulated at once: without a window always, once in a render, never under the hand."""
    if state.rendering:
        return obj.session_uid not in state.read_again
    return windows.headless() and flesh.condition.motion is not Motion.DIFFERS


def may_read_playing(obj) -> bool:
    """Tells whether a changed motion is simulated since it plays: once, for there are motions that are another one each time."""
    return windows.playing() and obj.session_uid not in state.reread


def ready(obj, scene, flesh) -> bool:
    """Whether the clip can be shown now; brings it up to date here (without a window, in a render) or later."""
    try:
        if not validity.outdated(obj, scene, flesh, still(obj)):
            if flesh.condition.switch is Switch.OFF:
                jobs.settle(obj, flesh, scene)
            return True
        jobs.check_flesh(obj)
        layer = reading.view_layer(scene)
        reading.subject(obj, layer)  # cheap, and what it refuses may be mended at any time
    except EXPECTED as error:
        jobs.refuse(obj, flesh, error)
        return False
    condition = flesh.condition
    hopeless = condition.build is Build.FAILED and condition.trusted and flesh.tried == validity.attempt(obj, scene)
    if not windows.headless() and not state.rendering:
        if not hopeless and (may_read_playing(obj) or not validity.differs(obj, scene, flesh)):
            expect(obj)
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


def give_up(obj, scene, flesh, error: BaseException) -> None:
    """An update failed: do not try the same again before something changes."""
    flesh.tried = validity.attempt(obj, scene)
    happened(obj, flesh, Event.FAILED)
    if isinstance(error, Refusal):
        jobs.refuse(obj, flesh, error)
    else:
        jobs.fail(obj, flesh, error)


# updates in a window ------------------------------------------------------------------------------------------------


def wait(obj: bpy.types.Object) -> None:
    """Look at `obj` again once nothing has changed for a moment."""
    flesh = fleshes.known(obj)
    quick = flesh is not None and flesh.modal and obj.thew.method == flesh.build_settings.method
    wait_for(obj, BRIEFLY if quick else PATIENCE)
    state.overriding[obj.session_uid] = state.waiting[obj.session_uid]


def expect(obj: bpy.types.Object) -> None:
    """Bring `obj` up to date soon, for a frame was looked up that it cannot show; frames that follow put nothing off."""
    if obj.session_uid not in state.waiting and (state.stepper is None or state.worked != obj):
        wait_for(obj, BRIEFLY)


def wait_for(obj: bpy.types.Object, patience: float) -> None:
    """Look at `obj` again after so many seconds."""
    state.waiting[obj.session_uid] = time.monotonic() + patience
    if not windows.headless() and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=patience)


def curves_edited(objects: list[bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> None:
    """Takes note of edited curves: all the same whose they are before a render, but it is told of the characters that they move.

    These are simulated when they play, now if they do, once the keys rest.
    """
    edited = {each.id.original.session_uid for each in depsgraph.updates if isinstance(each.id, bpy.types.Action)}
    for obj in objects:
        flesh = fleshes.known(obj)
        if flesh is None:
            continue
        happened(obj, flesh, Event.CURVES_EDITED)
        flesh.curve_edits += 1
        if state.undone or flesh.motion is None or not edited & moving.actions_behind(obj, reading.armature_of(obj)):
            continue
        happened(obj, flesh, Event.KEYS_EDITED)
        state.reread.discard(obj.session_uid)
        if not windows.headless() and windows.playing():
            wait(obj)


def soon(obj: bpy.types.Object) -> bool:
    """Look at `obj` again at once and not at rest: what is dragged is followed step by step, each as the last one is done.

    Gives whether such a look is due or under way already.
    """
    under_way = obj.session_uid in state.waiting or (state.worked is not None and state.worked == obj)
    state.waiting.setdefault(obj.session_uid, time.monotonic())
    if not windows.headless() and not bpy.app.timers.is_registered(tick):
        bpy.app.timers.register(tick, first_interval=BRIEFLY)
    return under_way


def wait_in_window(obj: bpy.types.Object, _flesh: Flesh) -> None:
    """The same where there is a window; elsewhere the next frame that is looked up brings it up to date."""
    if not windows.headless():
        wait(obj)


def touched(_obj: bpy.types.Object, flesh: Flesh) -> None:
    """Count another edit of the mesh."""
    flesh.touches += 1


DOES[Effect.COUNT], DOES[Effect.WAIT] = touched, wait_in_window


def tick() -> float | None:
    """One step of whatever is under way; the timer ends when nothing is."""
    try:
        if state.rendering:  # which must not find meshes changing under it
            return PATIENCE
        if state.stepper is None and not start_next():
            return BRIEFLY if state.waiting else None
        # The window lives between two slices in which Blender's data is read, and while native work goes on in its thread.
        if superseded():
            state.stepper.cancel()  # the next one begins when this one has noticed
        if state.stepper.advance():
            finish_update()
        else:
            show_arriving()
        windows.redraw()
        return TURN
    except Exception:  # a timer that raises is dropped for good: say so and go on
        traceback.print_exc()
        state.stepper = None
        return None


def start_next() -> bool:
    """Begin the update that has waited long enough; False when there is none."""
    if poses.busy or state.rendering or windows.stroking():
        return False
    now = time.monotonic()
    due = [uid for uid, when in state.waiting.items() if when <= now]
    scene = bpy.context.scene
    for uid in due:
        del state.waiting[uid]
        state.overriding.pop(uid, None)
        obj = next((o for o in fleshes.objects(scene) if o.session_uid == uid), None)
        if obj is None or not session.is_shown(obj):
            continue
        flesh = fleshes.flesh(obj)
        try:
            if not validity.outdated(obj, scene, flesh):
                continue
            if windows.playing() and validity.behind(obj, scene, flesh):
                state.reread.add(obj.session_uid)
            state.stepper = Stepper(jobs.update(obj, scene, bpy.context.view_layer, flesh, believe=True))
            state.worked, state.started_from = obj, started_from(obj, scene)
            return True
        except EXPECTED as error:
            jobs.fail(obj, flesh, error)
    return False


def show_arriving() -> None:
    """Show the frame that the window stands at as soon as it is ready; one that plays looks frames up by itself."""
    if windows.playing():
        return
    scene = bpy.context.scene
    for obj in fleshes.objects(scene):
        flesh = fleshes.known(obj)
        if flesh is None or flesh.arriving is None or not session.is_shown(obj):
            continue
        part = flesh.arriving  # the thread that simulates may put another one there
        if part is not state.seen.get(obj.session_uid) and session.show_arriving(obj, flesh, scene):
            state.seen[obj.session_uid] = part


def put_back() -> None:
    """Show what is known again where frames were seen of a motion that was not finished."""
    scene = bpy.context.scene
    for obj in fleshes.objects(scene):
        if state.seen.pop(obj.session_uid, None) is not None and session.is_shown(obj):
            session.present(obj, fleshes.flesh(obj), scene)
    state.seen.clear()


def superseded() -> bool:
    """Whether the object that is being worked on has waited long enough with other settings than those of the update."""
    obj = state.worked
    if (
        not session.alive(obj)
        or state.overriding.get(obj.session_uid, math.inf) > time.monotonic()
        or windows.stroking()
    ):
        return False
    flesh, now = fleshes.flesh(obj), started_from(obj, bpy.context.scene)
    if now == state.started_from:
        return False
    # The lattice that most settings have no part in is not begun again for their sake.
    (settings, *_), touches, _ = now
    (former, *_), before, _ = state.started_from
    kept = (settings.cells_across, settings.height, settings.limbs) == (
        former.cells_across,
        former.height,
        former.limbs,
    )
    return flesh.lattice_key != b"" or not kept or touches != before or state.stepper.fraction >= LATTICE_DONE


def started_from(obj: bpy.types.Object, scene: bpy.types.Scene) -> tuple:
    """Returns what an update starts from, and how often the mesh and curves were edited by then."""
    flesh = fleshes.flesh(obj)
    return validity.attempt(obj, scene), flesh.touches, flesh.curve_edits


def finish_update() -> None:
    """Say why an update made nothing, if so; what it made is shown by then."""
    stepper, obj = state.stepper, state.worked
    state.stepper = state.worked = None
    if not isinstance(stepper.error, Cancelled):
        state.seen.clear()
    try:
        flesh = fleshes.flesh(obj)
    except ReferenceError:  # undone or deleted meanwhile
        return
    if isinstance(stepper.error, ReferenceError):  # deleted while it was read
        return
    if stepper.error is not None and not isinstance(stepper.error, Cancelled):
        if not isinstance(stepper.error, EXPECTED):
            traceback.print_exception(stepper.error)
        give_up(obj, bpy.context.scene, flesh, stepper.error)


def stop_update() -> None:
    """Drop the update that is under way."""
    if state.stepper is not None:
        state.stepper.close()
        state.stepper = state.worked = None
    state.waiting.clear()
    state.overriding.clear()
