# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns of the updates in a window: whose is next, and when the one under way is dropped.

The object that the artist edits comes first, then the active character, then those in view; each shows its frame in view before any is
simulated to the end. Under a drag an update runs until it has
shown the frame in view; then the next value has its turn. So the view follows the hand, and the last value is never kept waiting by
a whole motion.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import bpy

from ..logic.native import EXPECTED_ERRORS
from ..logic.tasks import Stepper
from ..scene import reading, visibility, windows
from . import session, validity
from .build_settings import BuildSettings
from .flesh import Flesh
from .registers import is_alive

#: Settings on which the lattice depends.
LATTICE_SETTINGS = ("cells_across", "height", "limbs", "hand_lattice", "symmetric")

#: Settings after which stages are built, or poses read, that take longer than a drag is followed.
SLOW_SETTINGS = (*LATTICE_SETTINGS, "levels", "kind", "modes", "pins", "collides_with", "live", "fps", "lead")

#: Seconds after which flesh is checked while it plays, though nothing was reported. A check takes half a millisecond.
CHECK_INTERVAL = 0.25

#: Fraction of an update after which the lattice is done. `building` makes it in the first half.
LATTICE_FRACTION = 0.6


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
    edited: int = 0  # session id of the object whose settings were edited last
    stepper: Stepper | None = None  # the update under way
    updated_object: bpy.types.Object | None = None  # its object
    started_from: tuple = ()  # its settings
    begun: float = 0.0  # time of its start
    place: tuple = ()  # the scene and the view layer that it reads, see `place_in_view`
    request: Any = None  # the press of Simulate that it carries out, see `requested`
    #: The same by the object's session id, of those that wait too.
    requests: dict[int, Any] = field(default_factory=dict)
    reports: int = 0  # number of edits and updates reported by Blender
    seen: set[int] = field(default_factory=set)  # objects whose frame in view was shown since their last edit
    passed_over: set[int] = field(
        default_factory=set
    )  # objects left alone while nobody looked, whose frame in view may be an old one
    #: Object session id -> stamp of the last check that found it up to date.
    checked: dict[int, tuple] = field(default_factory=dict)
    pictured: bool = False  # it has shown the frame in view
    #: Object session id -> the part of its motion that was displayed last.
    displayed_parts: dict[int, object] = field(default_factory=dict)

    #: Object session id -> what an update was scheduled for, of edits that Blender reports again and again.
    followed: dict[int, dict[str, Any]] = field(default_factory=dict)

    def is_news(self, uid: int, what: str, value: Any, simulated: Any) -> bool:
        """Returns whether `what` is not as the flesh was `simulated`, and no update was scheduled for its value yet: each of Blender's
        updates shows an edit again, until the flesh is simulated with it.
        """
        known = self.followed.setdefault(uid, {})
        if value == simulated:
            known.pop(what, None)  # edited back: the same edit is news again
            return False
        news = what not in known or known[what] != value
        known[what] = value
        return news

    def close(self) -> None:
        """Ends what is under way."""
        if self.stepper is not None:
            self.stepper.close()
        self.stepper = self.updated_object = self.request = None

    def take_due(self, now: float) -> set[int]:
        """Returns the session ids of the objects whose time has come, which override nothing any more."""
        due = {uid for uid, when in self.waiting.items() if when <= now}
        for uid in due:
            self.overriding.pop(uid, None)
        return due

    def drop(self, uid: int) -> None:
        """Takes an object from the queue, by its session id, with what the artist asked for."""
        for each in (self.waiting, self.overriding, self.requests):
            each.pop(uid, None)

    def pass_turn(self, uid: int) -> None:
        """Notes that an object had its turn and had nothing to do: until its next edit no update makes room for it."""
        self.seen.add(uid)
        if self.edited == uid:
            self.edited = 0

    def fail(self, error: BaseException) -> None:
        """Drops what is under way after an unforeseen error, which the operator of a request reports."""
        if self.request is not None:
            self.request.finish(error)
        if self.stepper is not None:
            self.stepper.cancel()
        self.stepper = self.updated_object = self.request = None


state = UpdateQueue()


def was_checked(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene) -> bool:
    """Returns whether an object was up to date a moment ago, and nothing was reported since.

    Edits are reported by callbacks and by Blender's updates; what neither reports is found after `CHECK_INTERVAL`.
    """
    known = state.checked.get(obj.session_uid)
    return known is not None and known == stamp(flesh, scene, known[0]) and perf_counter() - known[0] < CHECK_INTERVAL


def note_checked(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene) -> None:
    """Notes that an object is up to date at this moment."""
    state.checked[obj.session_uid] = stamp(flesh, scene, perf_counter())


def stamp(flesh: Flesh, scene: bpy.types.Scene, moment: float) -> tuple:
    """Returns what tells that nothing was reported, from a moment on."""
    played = windows.is_playing(), scene.frame_start, scene.frame_end
    return moment, state.reports, flesh.condition, flesh.clip_key, played


def note_report() -> None:
    """Notes that something may have changed, so that all flesh is checked at the next frame."""
    state.reports += 1


def is_due(obj: bpy.types.Object) -> bool:
    """Returns whether an update of an object waits or is under way."""
    return obj.session_uid in state.waiting or (state.updated_object is not None and state.updated_object == obj)


def in_order(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Returns objects in the order of their turns; those that nobody looks at come last."""
    active = bpy.context.view_layer.objects.active

    def rank(obj: bpy.types.Object) -> tuple[bool, int]:
        seen = obj.session_uid in state.seen
        if obj.session_uid == state.edited:
            return seen, 0
        if active is not None and active in (obj, reading.armature_of(obj)):
            return seen, 1
        return seen, 2 if visibility.is_looked_at(obj) else 3

    return sorted(objects, key=rank)


def is_quick(obj: bpy.types.Object, flesh: Flesh | None, scene: bpy.types.Scene) -> bool:
    """Returns whether the settings differ from those of the flesh in view in numbers alone that a motion shows soon."""
    if flesh is None or flesh.clip is None:
        return False
    try:
        now = BuildSettings.from_object(obj, scene)
    except EXPECTED_ERRORS:
        return False  # the update will report it
    return all(getattr(now, name) == getattr(flesh.build_settings, name) for name in SLOW_SETTINGS)


def is_superseded(now: float) -> bool:
    """Returns whether the update under way makes room: for other settings of its object, for the object being edited, or because its own
    is gone.
    """
    obj = state.updated_object
    if obj is not None and not is_alive(obj):
        return True  # deleted meanwhile
    if obj is not None and place_is_gone():
        state.waiting.setdefault(obj.session_uid, now)
        return True
    if obj is None or obj.thew.made.keyframed or windows.is_stroking():
        return False  # keyframed flesh cancels by itself
    uid = obj.session_uid
    if gives_way(uid, now):
        state.waiting.setdefault(uid, now)
        return True
    waited = state.overriding.get(uid, math.inf) <= now
    if not waited and not (state.pictured and state.waiting.get(uid, math.inf) <= now):
        return False
    inputs = update_inputs(obj, bpy.context.scene)
    if inputs == state.started_from:
        return False
    # A lattice under way is not started again for settings on which it does not depend.
    (settings, *_), touches, _ = inputs
    (former, *_), before, _ = state.started_from
    kept = all(getattr(settings, name) == getattr(former, name) for name in LATTICE_SETTINGS)
    flesh = session.register.state_of(obj)
    fraction = state.stepper.fraction if state.stepper is not None else 0.0
    return flesh.lattice_key != b"" or not kept or touches != before or fraction >= LATTICE_FRACTION


def place_in_view(scene: bpy.types.Scene) -> tuple[int, int]:
    """Returns numbers of a scene and of the view layer that the window shows.

    A reference to a view layer dangles once it is freed, and even printing it reads what is there then.
    """
    return scene.session_uid, bpy.context.view_layer.as_pointer()


def place_is_gone() -> bool:
    """Returns whether the scene or the view layer that the update under way reads was removed."""
    known = ((scene.session_uid, layer.as_pointer()) for scene in bpy.data.scenes for layer in scene.view_layers)
    return bool(state.place) and state.place not in known


def gives_way(uid: int, now: float) -> bool:
    """Returns whether the update of an object makes room for another: for the one under edit, and so that each shows its frame in view
    before any is simulated to the end.
    """
    due = {other for other, when in state.waiting.items() if when <= now and other != uid}
    if state.edited in due:
        return state.pictured or state.edited not in state.seen
    if not state.pictured or not due - state.seen:
        return False
    known = session.register.known_state(state.updated_object)
    # Objects that are simulated together show their frames together.
    return known is None or known.build_settings is None or not known.build_settings.others


def update_inputs(obj: bpy.types.Object, scene: bpy.types.Scene) -> tuple:
    """Returns the inputs of an update, and the counts of edits of the mesh and of curves."""
    flesh = session.register.state_of(obj)
    return validity.update_inputs(obj, scene), flesh.touches, flesh.curve_edits


def frame_in_view(obj: bpy.types.Object, scene: bpy.types.Scene) -> float | None:
    """Returns the frame at which the artist looks at the motion of an object; None while it plays, or shows something else."""
    settings = obj.thew
    if windows.is_playing() or settings.settled or settings.preview_mode or not visibility.is_looked_at(obj):
        return None
    return scene.frame_float
