# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations that the artist asked for in a window.

They take their turn among the automatic updates (`updates`), so that settings, the view and undo stay at hand: an edit of a setting
starts a simulation again with what is set now, and undo drops it before Blender's data are replaced. The operator only watches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy

from ..logic.errors import Cancelled
from ..logic.tasks import Stepper
from ..scene import reading
from . import jobs, turns, updates
from .session import register as fleshes


@dataclass(eq=False)
class Request:
    """A press of Simulate."""

    uid: int  # session id of the object, which undo keeps
    start: int | None  # frames that become the object's own range; None: those of its present range
    end: int | None
    done: bool = False
    error: BaseException | None = None

    @property
    def is_pending(self) -> bool:
        """Returns whether it waits or is under way; it ends without a result when another job begins, or its object is gone."""
        state = turns.state
        known = state.requests.get(self.uid) is self
        return state.request is self or (known and self.uid in state.waiting)

    def take_turn(self, obj: bpy.types.Object, scene: bpy.types.Scene, begin: Callable[..., None]) -> bool:
        """Begins its task for the object as it is now, by `begin(object, scene, task, request)`; returns whether that could be done."""
        try:
            begin(obj, scene, jobs.simulate(obj, scene, bpy.context.view_layer, self.start, self.end), self)
        except Exception as error:  # the operator reports it
            self.finish(error)
        return self.error is None

    def note_end(self, stepper: Stepper) -> None:
        """Takes the outcome of its task; dropped for other settings, it goes on waiting for its next turn."""
        if isinstance(stepper.error, Cancelled) and self.is_pending:
            return
        self.finish(stepper.error)

    def finish(self, error: BaseException | None) -> None:
        """Ends it, with what ended it too early, or None."""
        self.done, self.error = error is None, error
        forget(self)


def find(obj: bpy.types.Object) -> Request | None:
    """Returns the request for an object; None without one."""
    return turns.state.requests.get(obj.session_uid)


def begin(obj: bpy.types.Object, scene: bpy.types.Scene, start: int | None = None, end: int | None = None) -> Request:
    """Puts the simulation of an object first in the queue; refuses at once what can be told at once."""
    jobs.check_flesh(obj)
    reading.subject(obj, bpy.context.view_layer)
    jobs.live_range(obj, obj.thew.frames(scene), start, end)
    updates.stop_update()
    state, uid = turns.state, obj.session_uid
    request = state.requests[uid] = Request(uid, start, end)
    state.edited = uid
    state.seen.discard(uid)
    updates.wait_for(obj, 0.0)
    return request


def resume() -> None:
    """Puts requests whose turn was dropped back into the queue, as after undo; those of objects that are gone end."""
    requests = turns.state.requests
    known = {obj.session_uid: obj for obj in fleshes.all_objects()} if requests else {}
    for uid in list(requests):
        if uid in known:
            updates.wait_for(known[uid], updates.SETTING_DELAY)
        else:
            turns.state.drop(uid)


@contextmanager
def kept() -> Iterator[None]:
    """Puts requests that an edit drops in here back into the queue, for what is set then; one whose object plays a bake by then ends."""
    state = turns.state
    before = dict(state.requests)
    try:
        yield
    finally:
        dropped = {uid: each for uid, each in before.items() if uid not in state.requests and each.error is None}
        for obj in fleshes.all_objects() if dropped else ():
            request = dropped.get(obj.session_uid)
            if request is not None and not obj.thew.made.shows_bake:
                state.requests[request.uid] = request
                updates.wait_for(obj, updates.SETTING_DELAY)


def cancel(request: Request) -> None:
    """Ends a request; the task under way stops at its next step. After its end, only forgets it."""
    state = turns.state
    if not request.is_pending:
        forget(request)
        return
    state.waiting.pop(request.uid, None)
    state.overriding.pop(request.uid, None)
    forget(request)
    if state.request is request and state.stepper is not None:
        state.stepper.cancel()
    else:
        request.error = Cancelled()


def stop() -> None:
    """Cancels what was asked for, else drops the updates under way and waiting: the former motion stays in view until something is
    edited, or plays.
    """
    requests = list(turns.state.requests.values())
    for request in requests:
        cancel(request)
    if not requests:
        followed = dict(turns.state.followed)
        updates.pause_updates()
        turns.state.followed.update(followed)  # Blender shows the same edit again with each selection
        updates.show_last_finished()


def forget(request: Request) -> None:
    """Drops a request from the queue."""
    if turns.state.requests.get(request.uid) is request:
        del turns.state.requests[request.uid]


def object_of(request: Request) -> bpy.types.Object | None:
    """Returns the object of a request; None once it is gone."""
    return next((obj for obj in fleshes.all_objects() if obj.session_uid == request.uid), None)
