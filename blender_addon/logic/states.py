# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about the flesh of an object between two events of Blender, as states, and what each event changes.

A condition is one state of each *region* below; regions know nothing of each other. An event takes every region to its
next state and asks for *effects*, which whoever raised the event carries out. All of it is one table, `TABLE`; what cannot
happen is in `IMPOSSIBLE`, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum, auto
from functools import cache


class Named(Enum):
    """States, events and effects: each is itself alone, which is quick to look up."""

    __hash__ = object.__hash__


class Clip(Named):
    """How the simulated motion stands to what it was made from."""

    NONE = auto()  # nothing was simulated yet, or what was is gone
    CURRENT = auto()
    BEHIND = auto()  # rigs have changed since, and flesh is looked at settled
    MISFIT = auto()  # the mesh or skeleton is no longer the one that it moves: it cannot be shown


class Mesh(Named):
    """Whether the mesh is as it was read."""

    READ = auto()
    TOUCHED = auto()  # somebody may have edited it since


class Motion(Named):
    """Whether the poses are as they were read."""

    READ = auto()
    EDITED = auto()  # curves were, whosever they are: worth a look before a render
    KEYED = auto()  # curves of the character's own were: they are read again when the animation plays
    DIFFERS = auto()  # they are not: they must be read again


class Build(Named):
    """Whether another attempt to bring the flesh up to date is worth it."""

    OPEN = auto()
    FAILED = auto()  # not with the same settings


class Switch(Named):
    """Whether the object, as it is, can be shown with flesh."""

    ON = auto()
    OFF = auto()  # it cannot: Thew's modifier is hidden


class Pose(Named):
    """At what the flesh that is seen was computed."""

    SIMULATED = auto()
    OTHER = auto()  # a pose that the clip does not hold: at rest there


class Echo(Named):
    """Whose the next update of the mesh is."""

    NONE = auto()  # somebody else's
    OURS = auto()  # offsets were written since Blender was last evaluated


State = Clip | Mesh | Motion | Build | Switch | Pose | Echo


class Event(Named):
    """What happens to flesh."""

    MESH_UPDATED = auto()  # Blender says that the mesh was updated, by whomever
    MESH_TOUCHED = auto()  # somebody may have edited the mesh
    MISFITS = auto()  # the mesh or skeleton is another one than the clip's
    CURVES_EDITED = auto()
    KEYS_EDITED = auto()  # these curves move the character
    LOOKED_CLOSELY = auto()  # before a render, and without a window: what is in doubt is worth the time
    POSE_DIFFERS = auto()  # the evaluated pose is not the one that was simulated
    RIGS_CHANGED = auto()  # settled flesh was pushed by other rigs than the clip
    UNDONE = auto()  # Blender's data was replaced by earlier one
    MESH_READ = auto()
    MOTION_READ = auto()
    BODY_MADE = auto()  # up to date, but nothing is simulated
    CLIP_MADE = auto()  # up to date, the clip too
    CLIP_KEPT = auto()  # up to date but for the clip, which stays behind the rigs
    FAILED = auto()  # an update failed
    REFUSED = auto()  # the object, as it is, cannot be shown with flesh
    ACCEPTED = auto()  # it can
    WROTE = auto()  # offsets were written to the mesh, or taken away
    EVALUATED = auto()  # Blender has evaluated what was written
    CLIP_SHOWN = auto()
    POSE_SHOWN = auto()  # flesh at rest in a pose of its own is shown


class Effect(Named):
    """What an event asks for."""

    HIDE = auto()  # show the plain skin
    SWITCH = auto()  # switch modifiers to what settings and states say
    COUNT = auto()  # count another edit of the mesh
    WAIT = auto()  # look again once nothing has changed for a moment, where there is a window


@dataclass(frozen=True)
class Step:
    """The next state of a region, what is asked for, and what else has happened thereby."""

    to: State
    effects: tuple[Effect, ...] = ()
    then: Event | None = None


@dataclass(frozen=True)
class Condition:
    """One state of each region; as it is for an object of which nothing was built."""

    clip: Clip = Clip.NONE
    mesh: Mesh = Mesh.READ
    motion: Motion = Motion.READ
    build: Build = Build.OPEN
    switch: Switch = Switch.ON
    pose: Pose = Pose.SIMULATED
    echo: Echo = Echo.NONE

    @property
    def showable(self) -> bool:
        """Whether the clip can be shown."""
        return self.clip in {Clip.CURRENT, Clip.BEHIND}

    @property
    def trusted(self) -> bool:
        """Whether mesh and poses are taken for what was read."""
        return self.mesh is Mesh.READ and self.motion is not Motion.DIFFERS

    @property
    def behind(self) -> bool:
        """Tells whether the animation is known, or told, to be another one than was read."""
        return self.motion in {Motion.KEYED, Motion.DIFFERS}


class ImpossibleError(RuntimeError):
    """An event in a state in which it cannot happen: a mistake in the extension."""


REGIONS = (Clip, Mesh, Motion, Build, Switch, Pose, Echo)

#: What moves; in every other state an event leaves a region as it is.
MOVES: dict[Event, dict[State, Step]] = {
    Event.MESH_UPDATED: {
        Echo.OURS: Step(Echo.NONE),
        Echo.NONE: Step(Echo.NONE, (Effect.COUNT, Effect.WAIT), then=Event.MESH_TOUCHED),
    },
    Event.MESH_TOUCHED: {Mesh.READ: Step(Mesh.TOUCHED)},
    Event.MISFITS: {
        Clip.NONE: Step(Clip.NONE, (Effect.HIDE,)),
        Clip.CURRENT: Step(Clip.MISFIT, (Effect.HIDE,)),
        Clip.BEHIND: Step(Clip.MISFIT, (Effect.HIDE,)),
    },
    Event.CURVES_EDITED: {Motion.READ: Step(Motion.EDITED)},
    Event.KEYS_EDITED: {Motion.READ: Step(Motion.KEYED), Motion.EDITED: Step(Motion.KEYED)},
    Event.LOOKED_CLOSELY: {Motion.EDITED: Step(Motion.DIFFERS), Motion.KEYED: Step(Motion.DIFFERS)},
    Event.POSE_DIFFERS: {state: Step(Motion.DIFFERS) for state in (Motion.READ, Motion.EDITED, Motion.KEYED)},
    Event.RIGS_CHANGED: {Clip.CURRENT: Step(Clip.BEHIND)},
    Event.UNDONE: {
        Mesh.READ: Step(Mesh.TOUCHED, (Effect.WAIT,)),
        Mesh.TOUCHED: Step(Mesh.TOUCHED, (Effect.WAIT,)),
        Build.FAILED: Step(Build.OPEN),
    },
    Event.MESH_READ: {Mesh.TOUCHED: Step(Mesh.READ)},
    Event.MOTION_READ: {state: Step(Motion.READ) for state in (Motion.EDITED, Motion.KEYED, Motion.DIFFERS)},
    Event.BODY_MADE: {
        **{state: Step(Clip.NONE) for state in Clip},
        Build.FAILED: Step(Build.OPEN),
    },
    Event.CLIP_MADE: {
        **{state: Step(Clip.CURRENT) for state in Clip},
        Build.FAILED: Step(Build.OPEN),
    },
    Event.CLIP_KEPT: {
        **{state: Step(Clip.BEHIND) for state in Clip if state is not Clip.NONE},
        Build.FAILED: Step(Build.OPEN),
    },
    # What failed is not tried again before something changes; curves that were edited are looked at before a render.
    Event.FAILED: {
        Mesh.TOUCHED: Step(Mesh.READ),
        Motion.KEYED: Step(Motion.EDITED),
        Motion.DIFFERS: Step(Motion.EDITED),
        Build.OPEN: Step(Build.FAILED, (Effect.HIDE,)),
        Build.FAILED: Step(Build.FAILED, (Effect.HIDE,)),
    },
    Event.REFUSED: {Switch.ON: Step(Switch.OFF, (Effect.SWITCH,))},
    Event.ACCEPTED: {Switch.OFF: Step(Switch.ON, (Effect.SWITCH,))},
    Event.WROTE: {Echo.NONE: Step(Echo.OURS)},
    Event.EVALUATED: {Echo.OURS: Step(Echo.NONE)},
    Event.CLIP_SHOWN: {Pose.OTHER: Step(Pose.SIMULATED)},
    Event.POSE_SHOWN: {Pose.SIMULATED: Step(Pose.OTHER)},
}

#: What cannot happen, and why.
IMPOSSIBLE: dict[tuple[State, Event], str] = {
    (Clip.NONE, Event.POSE_DIFFERS): "There is no clip that a pose could differ from",
    (Clip.MISFIT, Event.POSE_DIFFERS): "A clip of another mesh or skeleton is compared with no pose",
    (Clip.NONE, Event.CLIP_KEPT): "There is no clip that could be kept",
    (Clip.NONE, Event.CLIP_SHOWN): "There is no clip to show",
    (Clip.MISFIT, Event.CLIP_SHOWN): "A clip of another mesh or skeleton cannot be shown",
}

#: (state, event) -> step, for each pair that can happen.
TABLE: dict[tuple[State, Event], Step] = {
    (state, event): MOVES[event].get(state, Step(state))
    for region in REGIONS
    for state in region
    for event in Event
    if (state, event) not in IMPOSSIBLE
}


@cache  # a playing frame asks several times, and there are few conditions
def after(condition: Condition, event: Event) -> tuple[Condition, tuple[Effect, ...]]:
    """The condition after an event, and what is to be done; an `ImpossibleError` where the event cannot happen."""
    states, effects, raised = {}, [], []
    for field in fields(condition):
        state = getattr(condition, field.name)
        step = TABLE.get((state, event))
        if step is None:
            raise ImpossibleError(f"{IMPOSSIBLE[state, event]} ({state}, {event})")
        states[field.name] = step.to
        effects += step.effects
        if step.then is not None:
            raised.append(step.then)
    condition = Condition(**states)
    for each in raised:
        condition, more = after(condition, each)
        effects += more
    return condition, tuple(effects)
