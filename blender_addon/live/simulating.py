# SPDX-License-Identifier: GPL-3.0-or-later
"""Last stage of building: the clip of a motion that was read, its beginning, and its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from ..logic import modal
from ..logic.colliders import Colliders
from ..logic.loop_rounds import USUAL_DECAY, LoopRounds
from ..logic.mapped_clips import CycleClip, LeadClip
from ..logic.native import core
from ..logic.states import Event
from ..logic.tasks import Task, Work
from ..rigs import read_controls
from . import contact, driving, glance, limits, partial_motion, pins, progress_words, simulation_plan
from .build_settings import hash_of
from .flesh import BuildStages, Flesh
from .partial_motion import PartialMotion
from .simulation_plan import SimulationPlan


def simulate(flesh: Flesh, new: BuildStages, still: bool, kept_clips: KeptClips | None = None) -> Task:
    """Simulates the clip, pushed by the rigs at their controls; returns the event. `kept_clips`: clips from the disk cache."""
    thew, build_settings, motion, place = core(), new.build_settings, new.motion, new.motion_place
    kept = Event.CLIP_KEPT if can_stay(flesh, new) else Event.BODY_MADE
    if not (
        read_controls.controls_were_read(new.rigs, motion) and contact.colliders_were_read(new) and pins.were_read(new)
    ):  # other rigs, colliders or pins since then
        return kept
    plan = simulation_plan.make_plan(new)
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
            return contact.clip_contacts(new, new.clip), pins.gaps(new, new.clip, place)

        new.touching, new.pin_gaps = yield Work("Opening the cache", examine_clip, 0.8, 1.0)
        new.clip_place, new.clip_key, new.group_key, new.beginning = place, clip_key, b"", plan.beginning
        return Event.CLIP_MADE
    if plan.acting and still and kept is Event.CLIP_KEPT:
        return kept

    def run(progress):
        with pins.named_conflicts(new):
            look_ahead(progress)
            begun = perf_counter()
            clip = simulate_clip(progress)
        progress(1.0, "")
        if not plan.beginning.period:
            flesh.pace = (perf_counter() - begun) / len(motion.maps)
        examined = (
            contact.clip_contacts(new, clip),
            limits.motion_inversions(new, clip),
            pins.gaps(new, clip, place),
        )
        return clip, *examined

    def simulate_clip(progress):
        maps, begun = place.maps(motion.maps, new.place), plan.beginning
        rounds = loop_rounds(new, plan, flesh.loop_decay)
        looped = rounds.expected * begun.period if rounds else 0
        share = looped / (looped + len(maps)) if plan.continues else 1.0  # of the loop, beside what follows it
        report = progress_words.callback(progress, rounds, 0.0, share)
        if not plan.beginning.period and build_settings.method != modal.METHOD:
            return display_clip(simulate_in_parts(new, plan, report, offer), plan)
        options = {**begun.options(), "restarts": plan.restarts}
        held = {**pins.options(new, plan.pin_rows(new)), **plan.drive_options(new)}
        clip = thew.simulate(**arguments(new, plan, *plan.core_inputs(new), **options, **held), progress=report)
        clip.positions(0)  # builds the display data here, not when somebody waits for the first frame
        flesh.loop_decay = rounds.observed_decay() if rounds else flesh.loop_decay
        later = None
        if plan.continues:
            held = {
                **pins.options(new, simulation_plan.pin_rows_after(new, plan)),
                **simulation_plan.drive_options_after(new, plan),
            }
            report = progress_words.callback(progress, None, share)
            later = thew.simulate(
                **arguments(new, plan, *simulation_plan.after(new, plan, maps), **held), progress=report
            )
        return display_clip(clip, plan, later)

    spaces, glimpse = place.to_object(motion.matrices), None
    viewed, flesh.viewed = flesh.viewed, None

    def look_ahead(progress):
        """Offers a likeness of the frame in view."""
        nonlocal glimpse

        def run_glance(rows, controls, preroll):
            def report(at, _stage):
                return progress(0.0, "")

            part = slice(rows.start, rows.stop)
            held = pins.options(new, motion.pins[part])
            held |= driving.options(new, motion.drive[part], lead=-rows.start)
            poses, collided = place.maps(motion.maps[part], new.place), motion.colliders.at_poses(np.array(rows))
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
    new.clip_place, new.clip_key, new.group_key, new.beginning = place, clip_key, b"", plan.beginning
    return Event.CLIP_MADE


def loop_rounds(new: BuildStages, plan: SimulationPlan, decay: float = USUAL_DECAY) -> LoopRounds | None:
    """Returns the expected rounds of a plan that is a loop, for its progress; None for other plans. `decay`: see `LoopRounds`."""
    period, settings = plan.beginning.period, new.build_settings
    return LoopRounds(period, settings.fps, settings.with_damping(new.body).mass_damping, decay) if period else None


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
        "settings": driving.settings_at(new, new.motion_place if common is None else common.place),
        **extra,
        **contact.contact_arguments(new, collided, common),
        **pushed,
        **options,
    }


def display_clip(clip: Any, plan: SimulationPlan, later: Any = None) -> Any:
    """Wraps a clip for display: a turn of a cycle repeats to fill the range; `later`: the clip of what follows it."""
    if plan.lead:
        return LeadClip(clip, plan.lead)
    if later is not None:
        return CycleClip(clip, plan.beginning, later, plan.live, len(later) - plan.frames - 1)
    repeats = plan.beginning.period and not plan.continues and plan.frames > plan.beginning.period + 1
    return CycleClip(clip, plan.beginning) if repeats else clip
