# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan of a simulation: the beginning of the motion, the poses before it, the frames in which the flesh begins anew, and its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..logic import cycles
from ..logic.colliders import Colliders
from ..logic.cycles import PREROLL, Beginning, beginning
from ..logic.driven import trace as trace_drive
from ..logic.pins import moved_rows, trace
from ..logic.sentences import frames_text, plural
from ..logic.spaces import MetricSpace
from ..rigs import read_controls
from . import driving, noticed_cuts, pins
from .flesh import BuildStages

#: Seconds after which a cycle counts as periodic. With usual damping swings fall to a twentieth in 1.1 seconds: a millionth is
#: left.
PERIODIC_AFTER = 5.0


@dataclass(frozen=True)
class SimulationPlan:
    """Inputs of a simulation: the rigs that push, the values of their controls, and the beginning of the motion."""

    acting: dict[int, Any]  # native rigs by index
    controls: np.ndarray  # [f + 1, r], of the acting rigs
    beginning: Beginning
    live: int  # number of frames that the artist plays
    frames: int  # number of all frames
    colliders: Colliders = field(default_factory=Colliders)
    lead: int = 0  # number of poses before the range that are simulated along
    cuts: tuple[int, ...] = ()  # frames of the range, from 0, in which the flesh begins anew

    @property
    def continues(self) -> bool:
        """Returns whether other motion follows a cycle."""
        return self.beginning.period > 0 and self.live < self.frames

    @property
    def restarts(self) -> tuple[int, ...]:
        """Returns the simulated frames, from 0, in which the flesh begins anew."""
        return tuple(self.lead + cut for cut in self.cuts)

    def core_inputs(
        self, new: BuildStages, place: MetricSpace | None = None
    ) -> tuple[np.ndarray, np.ndarray, Colliders]:
        """Returns poses in the metres of `place` (None: those of the motion), controls of the acting rigs, and colliders for the first
        simulation.

        It covers one turn of a cycle, or the range with its lead.
        """
        motion, begun, lead = new.motion, self.beginning, self.lead
        place = place or new.motion_place
        maps, controls = place.maps(motion.maps, new.place), self.controls
        if lead:
            before = motion.before
            rows = np.arange(len(before) - lead, len(before) + len(maps))
            acting = read_controls.controls_of(new.rigs, tuple(self.acting), before.controls[-lead:])
            return (
                np.concatenate([place.maps(before.maps[-lead:], new.place), maps]),
                np.concatenate([acting, controls]),
                before.colliders.at_poses(rows),
            )
        return begun.turn(maps), begun.turn(controls), self.colliders.at_poses(begun.turn(np.arange(len(maps))))

    def pin_rows(self, new: BuildStages) -> np.ndarray:
        """Returns the targets of the pins [f, p, 17] at the poses of `core_inputs`."""
        motion = new.motion
        if self.lead:
            return np.concatenate([motion.before.pins[-self.lead :], motion.pins])
        return self.beginning.turn(motion.pins)

    def drive_options(self, new: BuildStages, place: MetricSpace | None = None) -> dict[str, Any]:
        """Returns the arguments for force fields and keyed settings at the poses of `core_inputs`."""
        if not driving.acts(new):
            return {}
        rows = driving.rows_of(new, self.lead)
        return driving.options(new, rows if self.lead else self.beginning.turn(rows), place, lead=self.lead)


def drive_options_after(new: BuildStages, plan: SimulationPlan, place: MetricSpace | None = None) -> dict[str, Any]:
    """Returns the arguments for force fields and keyed settings at the poses of `after`."""
    rows, moves = rows_after(new, plan)
    return driving.options(new, new.motion.drive[rows], place, moves) if driving.acts(new) else {}


def pin_rows_after(new: BuildStages, plan: SimulationPlan) -> np.ndarray:
    """Returns the targets of the pins [f, p, 17] at the poses of `after`."""
    rows, moves = rows_after(new, plan)
    return moved_rows(new.motion.pins[rows], moves)


def make_plan(new: BuildStages, noticed: Sequence[int] = ()) -> SimulationPlan:
    """Builds the plan for the motion that was read; rigs whose controls are lost are reported.

    `noticed`: frames of cuts of objects that are simulated together with this one.
    """
    motion = new.motion
    new.noticed = noticed_cuts.find(new)
    lost = read_controls.lost_controls(new.rigs, motion)
    new.rig_problems.update(lost)
    acting = {index: native for index, native in new.pushing.natives.items() if index not in lost}
    controls = read_controls.controls_of(new.rigs, tuple(acting), motion.controls)
    found = cuts(new, noticed)
    begun, live = find_beginning(new, controls)
    opened = begun.period > 0 and (bool(found) or motion.start in new.build_settings.restarts)
    if opened:
        begun, live = find_beginning(new, controls, PREROLL)
    if found:
        begun = beginning_with_cuts(new, begun, found)
    plan = SimulationPlan(acting, controls, begun, live, len(motion.maps) - 1, motion.colliders, cuts=found)
    plan = plan if begun.period else with_lead(new, plan)
    if not opened:
        return plan
    why = "A loop is not closed where the flesh begins anew."
    return replace(plan, beginning=replace(plan.beginning, note=f"{why} {plan.beginning.note}".rstrip()))


def cuts(new: BuildStages, noticed: Sequence[int] = ()) -> tuple[int, ...]:
    """Returns the frames of the range, from 0, in which the flesh begins anew; its first frame is left out."""
    every = {*new.build_settings.restarts, *noticed_cuts.automatic_restarts(new), *noticed}
    found = (frame - new.motion.start for frame in sorted(every))
    return tuple(cut for cut in found if 0 < cut < len(new.motion.maps))


def range_frames_text(new: BuildStages, found: Sequence[int]) -> str:
    """Returns frames of the range, counted from 0, in words."""
    return frames_text([new.motion.start + cut for cut in found])


def beginning_with_cuts(new: BuildStages, begun: Beginning, found: Sequence[int]) -> Beginning:
    """Returns the beginning for a motion in parts: each part begins with a run-in, or settled."""
    choice = new.build_settings.motion_start
    run_in = 0 if choice == cycles.SETTLED else round(cycles.RUN_IN_TIME * new.build_settings.fps)
    notes = [begun.note, f"Begins anew in {range_frames_text(new, found)}."]
    return replace(begun, preroll=run_in, note=" ".join(each for each in notes if each))


def with_lead(new: BuildStages, plan: SimulationPlan, lead: int | None = None) -> SimulationPlan:
    """Returns the plan extended by the motion before the range; `lead`: number of its poses (None: all poses that lead into it)."""
    motion, build_settings = new.motion, new.build_settings
    if not build_settings.lead or not motion.lead_length:
        return plan
    place = new.motion_place
    before, maps = (place.maps(each, new.place) for each in (motion.before.maps, motion.maps))
    if lead is None:
        lead = cycles.lead_length(before[-build_settings.lead :], maps, new.skeleton.heads, new.surface.size)
    # no motion leads on across a cut
    begun_anew = [frame for frame in build_settings.restarts if frame <= motion.start]
    lead = min([lead, *(motion.start - frame for frame in begun_anew)])
    if not lead:
        return plan
    run_in = round(cycles.RUN_IN_TIME * build_settings.fps)
    note = f"The simulation begins {plural(lead, 'frame')} before frame {motion.start}, because the animation moves there too."
    begun = Beginning(run_in, note=note)
    return replace(plan, lead=lead, beginning=beginning_with_cuts(new, begun, plan.cuts) if plan.cuts else begun)


def after(new: BuildStages, plan: SimulationPlan, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray, Colliders]:
    """Returns poses, controls and colliders of the motion after a cycle of poses `maps` [f + 1, b, 4, 4], preceded by turns of it."""
    begun, motion, seconds = plan.beginning, new.motion, PERIODIC_AFTER * new.build_settings.fps
    lead = begun.turns_before(maps, seconds)
    rows, moves = rows_after(new, plan)
    return np.concatenate([lead, maps]), plan.controls[rows], motion.colliders.at_poses(rows).moved_by_maps(moves)


def rows_after(new: BuildStages, plan: SimulationPlan) -> tuple[np.ndarray, np.ndarray]:
    """Returns the poses of the motion that `after` simulates, and the moves of the world at each [f, 4, 4]."""
    begun, motion, seconds = plan.beginning, new.motion, PERIODIC_AFTER * new.build_settings.fps
    moves = np.repeat(begun.moves_before(motion.maps, seconds), begun.period, axis=0)
    count = len(motion.maps)
    rows = np.concatenate([np.resize(np.arange(begun.period), len(moves)), np.arange(count)])
    return rows, np.concatenate([moves, np.broadcast_to(np.eye(4), (count, 4, 4))])


def with_run_in(new: BuildStages, plan: SimulationPlan, why: str) -> SimulationPlan:
    """Returns the plan with a run-in in place of a cycle, and the reason `why` in its note."""
    if not plan.beginning.period:
        return plan
    begun, _ = find_beginning(new, plan.controls, PREROLL)
    plan = with_lead(new, replace(plan, beginning=begun))
    return replace(plan, beginning=replace(plan.beginning, note=f"{why} {plan.beginning.note}".rstrip()))


def find_beginning(new: BuildStages, controls: np.ndarray, choice: str = "") -> tuple[Beginning, int]:
    """Returns the beginning of the motion, found from the frames that the artist plays, and the number of those frames.

    A longer bake begins in the same way: it shows what was previewed, then goes on. `choice`: of the beginning ("": as set).
    """
    build_settings, motion = new.build_settings, new.motion
    first, last = build_settings.live
    frames = len(motion.maps) - 1
    live = min(last - first + 1, frames) if motion.start == first and last > first else frames
    place = new.motion_place
    maps, heads = place.maps(motion.maps[: live + 1], new.place), new.skeleton.heads
    # The last frame of a marked action is its first again: it may be played or not.
    here, marked = (motion.start, motion.start + live - 1), motion.marked
    marked = marked is not None and here in (marked, (marked[0], marked[1] - 1))
    others = motion.colliders.trace(place, new.surface.size)
    held = trace(motion.pins, place, new.surface.size) if pins.acts(new) else None
    driven = trace_drive(motion.driven, motion.drive, place, new.surface.size)
    traces = [each for each in (others, held, driven) if each is not None]
    others = np.concatenate(traces, axis=1) if traces else None
    others = None if others is None else others[: live + 1]
    options = build_settings.fps, motion.start, controls[: live + 1], marked, others, motion.keyed_to
    begun = beginning(choice or build_settings.motion_start, maps, heads, new.surface.size, *options)
    return begun, live


def stands_still(new: BuildStages, plan: SimulationPlan, path: np.ndarray) -> bool:
    """Returns whether a member stands still, with its controls, colliders, pins, force fields and keyed settings."""
    motion, size, place = new.motion, new.surface.size, new.motion_place
    held = trace(motion.pins, place, size) if pins.acts(new) else None
    drive = trace_drive(motion.driven, motion.drive, place, size)
    moving = [
        path,
        cycles.controls_as_points(plan.controls, size),
        motion.colliders.trace(place, size),
        held,
        drive,
    ]
    spans = [np.ptp(each, axis=0).max(initial=0.0) for each in moving if each is not None]
    return max(spans) <= cycles.STANDSTILL_TOLERANCE * size
