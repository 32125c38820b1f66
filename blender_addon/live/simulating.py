# SPDX-License-Identifier: GPL-3.0-or-later
"""Last stage of building: the clip of a motion that was read, its beginning, and its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from ..logic import cycles, modal
from ..logic.colliders import Colliders
from ..logic.cycles import PREROLL, Beginning, beginning
from ..logic.driven import trace as trace_drive
from ..logic.mapped_clips import CycleClip, LeadClip
from ..logic.native import core
from ..logic.pins import moved_rows, trace
from ..logic.sentences import frames_text, plural
from ..logic.spaces import MetricSpace
from ..logic.states import Event
from ..logic.tasks import Task, Work
from ..rigs import read_controls
from . import contact, driving, glance, limits, noticed_cuts, partial_motion, pins, progress_words
from .build_settings import hash_of
from .flesh import BuildStages, Flesh
from .partial_motion import PartialMotion

#: Seconds after which a cycle counts as periodic. With usual damping swings fall to a twentieth in 1.1 seconds: a millionth is
#: left.
PERIODIC_AFTER = 5.0


def simulate(flesh: Flesh, new: BuildStages, still: bool, kept_clips: KeptClips | None = None) -> Task:
    """Simulates the clip, pushed by the rigs at their controls; returns the event. `kept_clips`: clips from the disk cache."""
    thew, build_settings, motion = core(), new.build_settings, new.motion
    kept = Event.CLIP_KEPT if can_stay(flesh, new) else Event.BODY_MADE
    if not (
        read_controls.controls_were_read(new.rigs, motion) and contact.colliders_were_read(new) and pins.were_read(new)
    ):  # other rigs, colliders or pins since then
        return kept
    plan = make_plan(new)
    clip_key = plan_key(new, plan)
    if build_settings.others:  # its clip is made with theirs: see `joint_simulation`
        if clip_key == flesh.clip_key and flesh.group_key and flesh.build_settings.others == build_settings.others:
            return Event.CLIP_MADE
        return kept
    if clip_key == new.clip_key and not new.group_key:  # of the flesh in view, or of parked stages
        new.beginning = plan.beginning
        return Event.CLIP_MADE
    if kept_clips is not None and clip_key == kept_clips.key and clips_fit_plan(kept_clips.clips, plan):
        clips = kept_clips.clips
        new.clip = display_clip(clips[0], plan, clips[1] if len(clips) == 2 else None)
        new.inverted_count = kept_clips.inverted_count

        def examine_clip(_progress):
            new.clip.positions(0)  # builds the display data here, not when somebody waits for the first frame
            return contact.clip_contacts(new, new.clip), pins.gaps(new, new.clip, new.place)

        new.touching, new.pin_gaps = yield Work("Opening the cache", examine_clip, 0.8, 1.0)
        new.clip_place, new.clip_key, new.group_key, new.beginning = new.place, clip_key, b"", plan.beginning
        return Event.CLIP_MADE
    if plan.acting and still and kept is Event.CLIP_KEPT:
        return kept

    def run(progress):
        with pins.named_conflicts(new):
            look_ahead(progress)
            begun = perf_counter()
            clip = simulate_clip(progress)
        if not plan.beginning.period:
            flesh.pace = (perf_counter() - begun) / len(motion.maps)
        examined = (
            contact.clip_contacts(new, clip),
            limits.motion_inversions(new, clip),
            pins.gaps(new, clip, new.place),
        )
        return clip, *examined

    def simulate_clip(progress):
        report = progress_words.callback(progress)
        maps, begun = new.place.maps(motion.maps), plan.beginning
        if not plan.beginning.period and build_settings.method != modal.METHOD:
            return display_clip(simulate_in_parts(new, plan, report, offer), plan)
        options = {**begun.options(), "restarts": plan.restarts}
        held = {**pins.options(new, plan.pin_rows(new)), **plan.drive_options(new)}
        clip = thew.simulate(**arguments(new, plan, *plan.core_inputs(new), **options, **held), progress=report)
        clip.positions(0)  # builds the display data here, not when somebody waits for the first frame
        later = None
        if plan.continues:
            held = {**pins.options(new, pin_rows_after(new, plan)), **drive_options_after(new, plan)}
            later = thew.simulate(**arguments(new, plan, *after(new, plan, maps), **held), progress=report)
        return display_clip(clip, plan, later)

    spaces, glimpse = new.place.to_object(motion.matrices), None
    viewed, flesh.viewed = flesh.viewed, None

    def look_ahead(progress):
        """Offers a likeness of the frame in view, unless force fields or keyed settings act: it knows none."""
        nonlocal glimpse
        if driving.acts(new):
            return

        def run_glance(poses, controls, collided, rows, preroll):
            def report(at, _stage):
                return progress(0.0, "")

            held = pins.options(new, rows)
            return thew.simulate(
                **arguments(new, plan, poses, controls, collided, preroll=preroll, **held), progress=report
            )

        with suppress(thew.ThewError):  # the motion itself reports what is wrong
            glimpse = glance.take(new, plan, viewed, flesh.pace, run_glance)
        if glimpse is not None:
            flesh.arriving = glimpse

    def offer(clip):
        flesh.arriving = PartialMotion(new, clip, spaces, motion.start, plan.lead, glimpse)

    try:
        new.clip, new.touching, new.inverted_count, new.pin_gaps = yield Work(progress_words.text(plan), run, 0.8, 1.0)
    finally:
        flesh.arriving = None
    new.clip_place, new.clip_key, new.group_key, new.beginning = new.place, clip_key, b"", plan.beginning
    return Event.CLIP_MADE


@dataclass(frozen=True)
class KeptClips:
    """Clips from the disk cache, their key, and the number of cells that their motion inverts."""

    clips: list
    key: bytes
    inverted_count: int


def clips_fit_plan(clips: Sequence, plan: SimulationPlan) -> bool:
    """Returns whether clips have the lengths of a plan."""
    first = plan.lead + len(plan.beginning.turn(np.arange(plan.frames + 1)))
    return len(clips[0]) == first and (len(clips) == 2) == plan.continues


def simulate_in_parts(new: BuildStages, plan: SimulationPlan, report, offer) -> Any:
    """Simulates a motion that does not repeat in parts, each of which is offered when it is done; returns the clip."""
    maps, moved, collided = plan.core_inputs(new)
    held, _ = pins.tracks(new, plan.pin_rows(new))
    clip, poses = None, len(maps)
    for start, end in partial_motion.parts(poses, plan.restarts):

        def part_progress(at, stage, start=start, end=end):
            return report((start + (end - start) * at) / poses if "frame" in stage else 0.0, stage)

        controls = moved[start:end]
        if clip is None:
            # All colliders are passed, up to the end: the core looks them up by the frame.
            pinned = {"pins": pins.part(held, start, end)} if held else {}
            pinned |= plan.drive_options(new)
            given = arguments(new, plan, maps[:end], controls, collided, **plan.beginning.options(), **pinned)
            clip = core().simulate(**given, progress=part_progress)
            clip.positions(0)  # builds the display data here, not when somebody waits for the first frame
        else:
            restart = start in plan.restarts
            pinned = {"pins": pins.part(held, start, end)} if held else {}
            clip.extend(maps[start:end], controls if plan.acting else None, part_progress, restart, **pinned)
        offer(clip)
    return clip


def can_stay(flesh: Flesh, new: BuildStages) -> bool:
    """Returns whether the present clip can stay in view: it has the same range and lattice."""
    motion = new.motion
    ranged = flesh.clip is not None and (flesh.clip_start, len(flesh.spaces)) == (motion.start, len(motion.maps))
    return ranged and new.lattice_key == flesh.lattice_key


def plan_key(new: BuildStages, plan: SimulationPlan) -> bytes:
    """Returns a hash of all inputs of a plan's clip."""
    build_settings, motion = new.build_settings, new.motion
    own = build_settings.modes if build_settings.method == modal.METHOD else 0
    forces = hash_of(new.rigs_key, tuple(plan.acting), plan.controls.tobytes()) if plan.acting else b""
    began = plan.beginning.key, plan.live if plan.beginning.period else 0, plan.restarts
    if plan.lead:
        before = motion.before
        began = *began, plan.lead, before.maps[-plan.lead :].tobytes(), before.colliders.digest
        began = *began, read_controls.controls_of(new.rigs, tuple(plan.acting), before.controls[-plan.lead :]).tobytes()
        began = *began, before.pins[-plan.lead :].tobytes()
    dynamics, touching = build_settings.dynamics(), contact.key(new, motion.colliders)
    inputs = new.body_key, motion.digest, dynamics, build_settings.fps, own, forces, began, touching
    inputs = *inputs, *driving.key(new, driving.rows_of(new, plan.lead))
    return hash_of(*inputs, pins.key(new)) if pins.acts(new) else hash_of(*inputs)


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
        """Returns poses in the metres of `place` (None: the body's), controls of the acting rigs, and colliders for the first
        simulation.

        It covers one turn of a cycle, or the range with its lead.
        """
        motion, begun, lead = new.motion, self.beginning, self.lead
        own = (motion.maps, new.place) if place is not None else (motion.maps,)
        maps, controls = (place or new.place).maps(*own), self.controls
        if lead:
            before = motion.before
            own = (before.maps[-lead:], *own[1:])
            rows = np.arange(len(before) - lead, len(before) + len(maps))
            acting = read_controls.controls_of(new.rigs, tuple(self.acting), before.controls[-lead:])
            return (
                np.concatenate([(place or new.place).maps(*own), maps]),
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
    before, maps = new.place.maps(motion.before.maps), new.place.maps(motion.maps)
    if lead is None:
        lead = cycles.lead_length(before[-build_settings.lead :], maps, new.skeleton.heads, new.surface.size)
    # no motion leads on across a cut
    begun_anew = [frame for frame in build_settings.restarts if frame <= motion.start]
    lead = min([lead, *(motion.start - frame for frame in begun_anew)])
    if not lead:
        return plan
    run_in = round(cycles.RUN_IN_TIME * build_settings.fps)
    before = "frame" if lead == 1 else plural(lead, "frame")
    note = f"Moves on from the {before} before frame {motion.start}."
    begun = Beginning(run_in, note=note)
    return replace(plan, lead=lead, beginning=beginning_with_cuts(new, begun, plan.cuts) if plan.cuts else begun)


def arguments(
    new: BuildStages, plan: SimulationPlan, poses: np.ndarray, controls: np.ndarray, collided: Colliders,
    common: contact.SharedData | None = None, **options,
) -> dict[str, Any]:  # fmt: skip
    """Returns the arguments of `thew.simulate` and `thew.Shot` for poses [f, b, 4, 4] in metres, controls [f, r] and colliders.

    `common`: shared with the objects that are simulated together.
    """
    build_settings = new.build_settings
    pushed = {"rigs": list(plan.acting.values()), "controls": controls} if plan.acting else {}
    extra = modal.options(build_settings, new.modes, new.stiffness)
    return {
        "body": new.body,
        "poses": poses,
        "fps": build_settings.fps,
        "settings": build_settings.with_damping(new.body),
        **extra,
        **contact.contact_arguments(new, collided, common),
        **pushed,
        **options,
    }


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


def display_clip(clip: Any, plan: SimulationPlan, later: Any = None) -> Any:
    """Wraps a clip for display: a turn of a cycle repeats to fill the range; `later`: the clip of what follows it."""
    if plan.lead:
        return LeadClip(clip, plan.lead)
    if later is not None:
        return CycleClip(clip, plan.beginning, later, plan.live, len(later) - plan.frames - 1)
    repeats = plan.beginning.period and not plan.continues and plan.frames > plan.beginning.period + 1
    return CycleClip(clip, plan.beginning) if repeats else clip


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
    maps, heads = new.place.maps(motion.maps[: live + 1]), new.skeleton.heads
    # The last frame of a marked action is its first again: it may be played or not.
    here, marked = (motion.start, motion.start + live - 1), motion.marked
    marked = marked is not None and here in (marked, (marked[0], marked[1] - 1))
    others = motion.colliders.trace(new.place, new.surface.size)
    held = trace(motion.pins, new.place, new.surface.size) if pins.acts(new) else None
    driven = trace_drive(motion.driven, motion.drive, new.place, new.surface.size)
    traces = [each for each in (others, held, driven) if each is not None]
    others = np.concatenate(traces, axis=1) if traces else None
    others = None if others is None else others[: live + 1]
    options = build_settings.fps, motion.start, controls[: live + 1], marked, others
    begun = beginning(choice or build_settings.motion_start, maps, heads, new.surface.size, *options)
    return begun, live
