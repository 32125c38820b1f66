# SPDX-License-Identifier: GPL-3.0-or-later
"""State machine of an object's flesh between two events of Blender.

A condition is one state of each *region* below; regions are independent. An event takes every region to its next state and demands
*effects*, which the code that raised the event carries out. All transitions are in one table, `TRANSITION_TABLE`; impossible pairs
are in `IMPOSSIBLE`, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum, auto
from functools import cache


class IdentityEnum(Enum):
    """Base of states, events and effects: hashed by identity, which is quick to look up."""

    __hash__ = object.__hash__


class Clip(IdentityEnum):
    """Relation of the simulated motion to its inputs."""

    NONE = auto()  # not simulated yet, or dropped
    CURRENT = auto()
    BEHIND = auto()  # rigs have changed since, and the view is settled
    MISFIT = auto()  # of another mesh or skeleton: it cannot be shown


class Mesh(IdentityEnum):
    """Agreement of the mesh with the one that was read."""

    READ = auto()
    TOUCHED = auto()  # somebody may have edited it since


class Motion(IdentityEnum):
    """Agreement of the animation with the poses that were read."""

    READ = auto()
    EDITED = auto()  # some curves were edited: checked before a render
    KEYED = auto()  # the character's own curves were edited: read again when the animation plays
    DIFFERS = auto()  # the poses differ: they must be read again


class Build(IdentityEnum):
    """Result of the last update, which decides whether another attempt is worth it."""

    OPEN = auto()
    FAILED = auto()  # not with the same settings
    DECLINED = auto()  # the same, for a setting that was refused: the last good flesh stays in view


class Switch(IdentityEnum):
    """Ability of the object, as it is, to be shown with flesh."""

    ON = auto()
    OFF = auto()  # it cannot: Thew's modifier is hidden


class Pose(IdentityEnum):
    """The kind of pose for which the visible flesh was computed."""

    SIMULATED = auto()
    OTHER = auto()  # a pose that the clip does not hold: flesh at rest


class Echo(IdentityEnum):
    """Author of the next update of the mesh."""

    NONE = auto()  # somebody else
    OURS = auto()  # us: offsets were written since Blender's last evaluation


State = Clip | Mesh | Motion | Build | Switch | Pose | Echo


class Event(IdentityEnum):
    """Events in the life of flesh."""

    MESH_UPDATED = auto()  # Blender reports an update of the mesh, by anybody
    MESH_TOUCHED = auto()  # somebody may have edited the mesh
    MISFITS = auto()  # the mesh or skeleton differs from the clip's
    CURVES_EDITED = auto()
    KEYS_EDITED = auto()  # these curves move the character
    LOOKED_CLOSELY = auto()  # before a render, and without a window: doubts are worth the time
    POSE_DIFFERS = auto()  # the evaluated pose differs from the simulated one
    RIGS_CHANGED = auto()  # settled flesh was pushed by other rigs than the clip
    UNDONE = auto()  # earlier data has replaced Blender's
    MESH_READ = auto()
    MOTION_READ = auto()
    BODY_MADE = auto()  # up to date, without a simulation
    CLIP_MADE = auto()  # up to date, including the clip
    CLIP_KEPT = auto()  # up to date except the clip, which lags behind the rigs
    FAILED = auto()  # an update failed
    DECLINED = auto()  # an update failed for a setting that was refused, on the mesh of the flesh in view
    REFUSED = auto()  # the object, as it is, cannot be shown with flesh
    ACCEPTED = auto()  # it can be shown
    WROTE = auto()  # offsets were written to the mesh, or removed
    EVALUATED = auto()  # Blender has evaluated the last write
    CLIP_SHOWN = auto()
    POSE_SHOWN = auto()  # flesh at rest in a pose of its own is shown


class Effect(IdentityEnum):
    """Actions that an event demands."""

    HIDE = auto()  # show the plain skin
    SWITCH = auto()  # switch modifiers to match settings and states
    COUNT = auto()  # count another edit of the mesh
    WAIT = auto()  # update once nothing has changed for a moment, where there is a window


@dataclass(frozen=True)
class Transition:
    """The next state of a region, its effects, and a further event that follows."""

    to: State
    effects: tuple[Effect, ...] = ()
    then: Event | None = None


@dataclass(frozen=True)
class Condition:
    """One state of each region; the defaults are those of an object without flesh."""

    clip: Clip = Clip.NONE
    mesh: Mesh = Mesh.READ
    motion: Motion = Motion.READ
    build: Build = Build.OPEN
    switch: Switch = Switch.ON
    pose: Pose = Pose.SIMULATED
    echo: Echo = Echo.NONE

    @property
    def is_showable(self) -> bool:
        """Returns whether the clip can be shown."""
        return self.clip in {Clip.CURRENT, Clip.BEHIND}

    @property
    def is_trusted(self) -> bool:
        """Returns whether mesh and poses count as unchanged since they were read."""
        return self.mesh is Mesh.READ and self.motion is not Motion.DIFFERS

    @property
    def is_behind(self) -> bool:
        """Returns whether the animation is known, or reported, to differ from the one that was read."""
        return self.motion in {Motion.KEYED, Motion.DIFFERS}


#: The condition of an object whose mesh was not read yet.
UNREAD_CONDITION = Condition(mesh=Mesh.TOUCHED)


class ImpossibleError(RuntimeError):
    """An event in a state in which it cannot happen: a mistake in the extension."""


REGIONS = (Clip, Mesh, Motion, Build, Switch, Pose, Echo)

#: Moves of the last update's result once another attempt is worth it.
REOPENED = {state: Transition(Build.OPEN) for state in (Build.FAILED, Build.DECLINED)}

#: Transitions; in every other state an event leaves a region as it is.
TRANSITIONS: dict[Event, dict[State, Transition]] = {
    Event.MESH_UPDATED: {
        Echo.OURS: Transition(Echo.NONE),
        Echo.NONE: Transition(Echo.NONE, (Effect.COUNT, Effect.WAIT), then=Event.MESH_TOUCHED),
    },
    Event.MESH_TOUCHED: {Mesh.READ: Transition(Mesh.TOUCHED)},
    Event.MISFITS: {
        Clip.NONE: Transition(Clip.NONE, (Effect.HIDE,)),
        Clip.CURRENT: Transition(Clip.MISFIT, (Effect.HIDE,)),
        Clip.BEHIND: Transition(Clip.MISFIT, (Effect.HIDE,)),
    },
    Event.CURVES_EDITED: {Motion.READ: Transition(Motion.EDITED)},
    Event.KEYS_EDITED: {Motion.READ: Transition(Motion.KEYED), Motion.EDITED: Transition(Motion.KEYED)},
    Event.LOOKED_CLOSELY: {Motion.EDITED: Transition(Motion.DIFFERS), Motion.KEYED: Transition(Motion.DIFFERS)},
    Event.POSE_DIFFERS: {state: Transition(Motion.DIFFERS) for state in (Motion.READ, Motion.EDITED, Motion.KEYED)},
    Event.RIGS_CHANGED: {Clip.CURRENT: Transition(Clip.BEHIND)},
    Event.UNDONE: {
        Mesh.READ: Transition(Mesh.TOUCHED, (Effect.WAIT,)),
        Mesh.TOUCHED: Transition(Mesh.TOUCHED, (Effect.WAIT,)),
        **REOPENED,
    },
    Event.MESH_READ: {Mesh.TOUCHED: Transition(Mesh.READ)},
    Event.MOTION_READ: {state: Transition(Motion.READ) for state in (Motion.EDITED, Motion.KEYED, Motion.DIFFERS)},
    Event.BODY_MADE: {
        **{state: Transition(Clip.NONE) for state in Clip},
        **REOPENED,
    },
    Event.CLIP_MADE: {
        **{state: Transition(Clip.CURRENT) for state in Clip},
        **REOPENED,
    },
    Event.CLIP_KEPT: {
        **{state: Transition(Clip.BEHIND) for state in Clip if state is not Clip.NONE},
        **REOPENED,
    },
    # A failed update is not tried again before something changes; edited curves are checked before a render.
    Event.FAILED: {
        Mesh.TOUCHED: Transition(Mesh.READ),
        Motion.KEYED: Transition(Motion.EDITED),
        Motion.DIFFERS: Transition(Motion.EDITED),
        **{state: Transition(Build.FAILED, (Effect.HIDE,)) for state in Build},
    },
    Event.DECLINED: {
        Mesh.TOUCHED: Transition(Mesh.READ),
        Motion.KEYED: Transition(Motion.EDITED),
        Motion.DIFFERS: Transition(Motion.EDITED),
        **{state: Transition(Build.DECLINED) for state in Build},
    },
    Event.REFUSED: {Switch.ON: Transition(Switch.OFF, (Effect.SWITCH,))},
    Event.ACCEPTED: {
        Switch.OFF: Transition(Switch.ON, (Effect.SWITCH,)),
        **REOPENED,
    },
    Event.WROTE: {Echo.NONE: Transition(Echo.OURS)},
    Event.EVALUATED: {Echo.OURS: Transition(Echo.NONE)},
    Event.CLIP_SHOWN: {Pose.OTHER: Transition(Pose.SIMULATED)},
    Event.POSE_SHOWN: {Pose.SIMULATED: Transition(Pose.OTHER)},
}

#: Impossible pairs, and the reasons.
IMPOSSIBLE: dict[tuple[State, Event], str] = {
    (Clip.NONE, Event.POSE_DIFFERS): "There is no clip that a pose could differ from",
    (Clip.MISFIT, Event.POSE_DIFFERS): "A clip of another mesh or skeleton is compared with no pose",
    (Clip.NONE, Event.CLIP_KEPT): "There is no clip that could be kept",
    (Clip.NONE, Event.CLIP_SHOWN): "There is no clip to show",
    (Clip.NONE, Event.DECLINED): "There is no good flesh that could stay in view",
    (Clip.MISFIT, Event.DECLINED): "Flesh of another mesh or skeleton cannot stay in view",
    (Clip.MISFIT, Event.CLIP_SHOWN): "A clip of another mesh or skeleton cannot be shown",
}

#: (state, event) -> transition, for each possible pair.
TRANSITION_TABLE: dict[tuple[State, Event], Transition] = {
    (state, event): TRANSITIONS[event].get(state, Transition(state))
    for region in REGIONS
    for state in region
    for event in Event
    if (state, event) not in IMPOSSIBLE
}


@cache  # a playing frame asks several times, and there are few conditions
def apply_event(condition: Condition, event: Event) -> tuple[Condition, tuple[Effect, ...]]:
    """Returns the condition after an event, and the effects to carry out; raises an `ImpossibleError` where the event cannot
    happen.
    """
    states, effects, raised = {}, [], []
    for field in fields(condition):
        state = getattr(condition, field.name)
        step = TRANSITION_TABLE.get((state, event))
        if step is None:
            raise ImpossibleError(f"{IMPOSSIBLE[state, event]} ({state}, {event})")
        states[field.name] = step.to
        effects += step.effects
        if step.then is not None:
            raised.append(step.then)
    condition = Condition(**states)
    for each in raised:
        condition, more = apply_event(condition, each)
        effects += more
    return condition, tuple(effects)
