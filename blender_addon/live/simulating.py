# SPDX-License-Identifier: GPL-3.0-or-later
"""The last stage of building: the clip of a motion that was read, how it begins, and of what it is made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..logic import cycles, modal
from ..logic.colliders import Colliders
from ..logic.cycles import PREROLL, Beginning, beginning
from ..logic.native import core
from ..logic.played import Led, Played
from ..logic.sentences import listed, plural
from ..logic.spaces import Place
from ..logic.states import Event
from ..logic.tasks import Task, Work
from ..rigs import rigging
from . import arriving, contact, limits
from .arriving import Arriving
from .build_settings import hashed
from .flesh import Built, Flesh

#: A cycle has come to itself after so many seconds. Swings fall to a twentieth in 1.1 seconds, as flesh is usually damped: a millionth is
#: left.
SETTLING = 5.0

#: Words of the core for how often it has gone through a loop.
ROUND = re.compile(r"loop, round (\d+)")


def simulate(flesh: Flesh, new: Built, still: bool, kept_clips: KeptClips | None = None) -> Task:
    """The clip, pushed by the rigs at their controls; gives what came of it. `kept_clips`: those that were kept on disk."""
    thew, build_settings, motion = core(), new.build_settings, new.motion
    kept = Event.CLIP_KEPT if stays(flesh, new) else Event.BODY_MADE
    if not (rigging.were_read(new.rigs, motion) and contact.were_read(new)):  # other rigs were keyed or driven since
        return kept
    plan = planned(new)
    clip_key = key_of(new, plan)
    if build_settings.others:  # its clip is made with theirs: see `together`
        if clip_key == flesh.clip_key and flesh.group_key and flesh.build_settings.others == build_settings.others:
            return Event.CLIP_MADE
        return kept
    if clip_key == flesh.clip_key and not flesh.group_key:
        new.begun = plan.begun
        return Event.CLIP_MADE
    if kept_clips is not None and clip_key == kept_clips.key and fit(kept_clips.clips, plan):
        clips = kept_clips.clips
        new.clip = played(clips[0], plan, clips[1] if len(clips) == 2 else None)
        new.limited = kept_clips.limited

        def open_it(_progress):
            new.clip.positions(0)  # what shows it is made here, not when somebody waits for the first frame
            return contact.found(new, new.clip)

        new.touching = yield Work("Opening the cache", open_it, 0.8, 1.0)
        new.clip_place, new.clip_key, new.group_key, new.begun = new.place, clip_key, b"", plan.begun
        return Event.CLIP_MADE
    if plan.acting and still and kept is Event.CLIP_KEPT:
        return kept

    def run(progress):
        clip = simulated(progress)
        return clip, contact.found(new, clip), limits.limited(new, clip)

    def simulated(progress):
        told = heard(progress)
        maps, begun = new.place.maps(motion.maps), plan.begun
        if not plan.begun.period and build_settings.method != modal.METHOD:
            return played(grown(new, plan, told, offer), plan)
        options = {**begun.options(), "restarts": plan.restarts}
        clip = thew.simulate(**arguments(new, plan, *plan.posed(new), **options), progress=told)
        clip.positions(0)  # what shows it is made here, not when somebody waits for the first frame
        later = None
        if plan.goes_on:
            later = thew.simulate(**arguments(new, plan, *after(new, plan, maps)), progress=told)
        return played(clip, plan, later)

    spaces = new.place.to_object(motion.matrices)

    def offer(clip):
        flesh.arriving = Arriving(new, clip, spaces, motion.start, plan.lead)

    try:
        new.clip, new.touching, new.limited = yield Work(said_of(plan), run, 0.8, 1.0)
    finally:
        flesh.arriving = None
    new.clip_place, new.clip_key, new.group_key, new.begun = new.place, clip_key, b"", plan.begun
    return Event.CLIP_MADE


@dataclass(frozen=True)
class KeptClips:
    """Clips that were kept on disk, of which key, and how many cells their motion turns over."""

    clips: list
    key: bytes
    limited: int


def said_of(plan: Plan) -> str:
    """Says in words what is being done with a plan; frames of a loop are not final before it repeats, so none is shown until then."""
    return "Closing the loop" if plan.begun.period else "Simulating"


def heard(progress):
    """Makes what the core is given to tell how far it is: `progress` hears of frames, and in words of the rounds of a loop and of what comes
    before the first frame: what is made ready for contact counts from 0 to 1 by itself, and flesh that is deep in other flesh takes
    seconds to come to rest.
    """

    def told(at: float, stage: str) -> bool:
        turn = ROUND.search(stage)
        if "frame" in stage:
            return progress(at, f"Closing the loop (round {turn[1]})" if turn else "")
        return progress(0.0, stage if at < 1.0 else "")

    return told


def fit(clips: Sequence, plan: Plan) -> bool:
    """Whether clips are as long as a plan has them."""
    first = plan.lead + len(plan.begun.turn(np.arange(plan.frames + 1)))
    return len(clips[0]) == first and (len(clips) == 2) == plan.goes_on


def grown(new: Built, plan: Plan, told, offer) -> Any:
    """The clip of a motion that does not repeat, made in parts, each of which is offered when it is done."""
    maps, moved, collided = plan.posed(new)
    clip, poses = None, len(maps)
    for start, end in arriving.parts(poses, plan.restarts):

        def of_part(at, stage, start=start, end=end):
            return told((start + (end - start) * at) / poses if "frame" in stage else 0.0, stage)

        controls = moved[start:end]
        if clip is None:
            # What it collides with is given as far as it goes: the core looks it up by the frame.
            given = arguments(new, plan, maps[:end], controls, collided, **plan.begun.options())
            clip = core().simulate(**given, progress=of_part)
            clip.positions(0)  # what shows it is made here, not when somebody waits for the first frame
        else:
            restart = start in plan.restarts
            clip.extend(maps[start:end], controls if plan.acting else None, of_part, restart)
        offer(clip)
    return clip


def stays(flesh: Flesh, new: Built) -> bool:
    """Whether the clip that there is can go on to be seen: it is of the same range and lattice."""
    motion = new.motion
    ranged = flesh.clip is not None and (flesh.clip_start, len(flesh.spaces)) == (motion.start, len(motion.maps))
    return ranged and new.lattice_key == flesh.lattice_key


def key_of(new: Built, plan: Plan) -> bytes:
    """A hash of all that the clip of a plan depends on."""
    build_settings, motion = new.build_settings, new.motion
    own = (
        (build_settings.modes, build_settings.engine, build_settings.device)
        if build_settings.method == modal.METHOD
        else ()
    )
    forces = hashed(new.rigs_key, tuple(plan.acting), plan.controls.tobytes()) if plan.acting else b""
    began = plan.begun.key, plan.live if plan.begun.period else 0, plan.restarts
    if plan.lead:
        before = motion.before
        began = *began, plan.lead, before.maps[-plan.lead :].tobytes(), before.colliders.digest
        began = *began, rigging.controls_of(new.rigs, tuple(plan.acting), before.controls[-plan.lead :]).tobytes()
    dynamics, touching = build_settings.dynamics(), contact.key(new, motion.colliders)
    return hashed(new.body_key, motion.digest, dynamics, build_settings.fps, own, forces, began, touching)


@dataclass(frozen=True)
class Plan:
    """What is simulated of a motion: the rigs that push, where their controls stand, and how it begins."""

    acting: dict[int, Any]  # native rigs by index
    controls: np.ndarray  # [f + 1, r] of those
    begun: Beginning
    live: int  # frames that the artist plays
    frames: int  # all
    colliders: Colliders = field(default_factory=Colliders)
    lead: int = 0  # poses before the range that are simulated along
    cuts: tuple[int, ...] = ()  # frames of the range, from 0, in which the flesh begins anew

    @property
    def goes_on(self) -> bool:
        """Whether something else follows a cycle."""
        return self.begun.period > 0 and self.live < self.frames

    @property
    def restarts(self) -> tuple[int, ...]:
        """The frames, of all that are simulated, in which the flesh begins anew."""
        return tuple(self.lead + cut for cut in self.cuts)

    def posed(self, new: Built, place: Place | None = None) -> tuple[np.ndarray, np.ndarray, Colliders]:
        """Poses in the metres of `place` (None: the body's), controls of the rigs that push, and what is collided with, of all that is
        simulated first: a turn of a cycle, or the range with what leads to it."""
        motion, begun, lead = new.motion, self.begun, self.lead
        own = (motion.maps, new.place) if place is not None else (motion.maps,)
        maps, controls = (place or new.place).maps(*own), self.controls
        if lead:
            before = motion.before
            own = (before.maps[-lead:], *own[1:])
            rows = np.arange(len(before) - lead, len(before) + len(maps))
            acting = rigging.controls_of(new.rigs, tuple(self.acting), before.controls[-lead:])
            return (
                np.concatenate([(place or new.place).maps(*own), maps]),
                np.concatenate([acting, controls]),
                before.colliders.picked(rows),
            )
        return begun.turn(maps), begun.turn(controls), self.colliders.picked(begun.turn(np.arange(len(maps))))


def planned(new: Built) -> Plan:
    """The plan for the motion that was read; rigs whose controls are lost are told."""
    motion = new.motion
    lost = rigging.lost_controls(new.rigs, motion)
    new.rig_problems.update(lost)
    acting = {index: native for index, native in new.pushing.natives.items() if index not in lost}
    controls = rigging.controls_of(new.rigs, tuple(acting), motion.controls)
    found = cuts(new)
    begun, live = begins(new, controls)
    opened = begun.period > 0 and (bool(found) or motion.start in new.build_settings.restarts)
    if opened:
        begun, live = begins(new, controls, PREROLL)
    if found:
        begun = cut_apart(new, begun, found)
    new.jumps = jumps(new)
    plan = Plan(acting, controls, begun, live, len(motion.maps) - 1, motion.colliders, cuts=found)
    plan = plan if begun.period else led(new, plan)
    if not opened:
        return plan
    why = "A loop is not closed where the flesh begins anew."
    return replace(plan, begun=replace(plan.begun, note=f"{why} {plan.begun.note}".rstrip()))


def cuts(new: Built) -> tuple[int, ...]:
    """The frames of the range, from 0, in which the flesh begins anew; its first does so anyway."""
    found = (frame - new.motion.start for frame in new.build_settings.restarts)
    return tuple(cut for cut in found if 0 < cut < len(new.motion.maps))


def frames_of(new: Built, found: Sequence[int]) -> str:
    """Names frames of the range, in words."""
    named = [str(new.motion.start + cut) for cut in found]
    return f"{'frame' if len(named) == 1 else 'frames'} {listed(named)}" if named else "no frame"


def cut_apart(new: Built, begun: Beginning, found: Sequence[int]) -> Beginning:
    """The same of a motion in parts, of which each begins so."""
    choice = new.build_settings.motion_start
    run_in = 0 if choice == cycles.SETTLED else round(cycles.RUN_IN * new.build_settings.fps)
    said = [begun.note, f"Begins anew in {frames_of(new, found)}."]
    return replace(begun, preroll=run_in, note=" ".join(each for each in said if each))


def jumps(new: Built) -> tuple[int, ...]:
    """Frames in which everything is elsewhere than in the one before, but for those in which the flesh begins anew."""
    motion, settings = new.motion, new.build_settings
    found = cycles.jumps(new.place.maps(motion.maps), new.skeleton.heads, new.surface.size)
    return tuple(at for frame in found if (at := motion.start + int(frame)) not in settings.restarts)


def led(new: Built, plan: Plan, lead: int | None = None) -> Plan:
    """The same with the motion that leads to the range; `lead`: so many poses of it (None: as many as there are)."""
    motion, build_settings = new.motion, new.build_settings
    if not build_settings.lead or not motion.led:
        return plan
    before, maps = new.place.maps(motion.before.maps), new.place.maps(motion.maps)
    if lead is None:
        lead = cycles.lead(before[-build_settings.lead :], maps, new.skeleton.heads, new.surface.size)
    # Nothing leads on from before a cut.
    begun_anew = [frame for frame in build_settings.restarts if frame <= motion.start]
    lead = min([lead, *(motion.start - frame for frame in begun_anew)])
    if not lead:
        return plan
    run_in = round(cycles.RUN_IN * build_settings.fps)
    before = "frame" if lead == 1 else plural(lead, "frame")
    note = f"Moves on from the {before} before frame {motion.start}."
    begun = Beginning(run_in, note=note)
    return replace(plan, lead=lead, begun=cut_apart(new, begun, plan.cuts) if plan.cuts else begun)


def arguments(
    new: Built, plan: Plan, poses: np.ndarray, controls: np.ndarray, collided: Colliders,
    common: contact.Common | None = None, **options,
) -> dict[str, Any]:  # fmt: skip
    """What `thew.simulate` and `thew.Shot` are given for poses [f, b, 4, 4] in metres, controls [f, r] and what is collided with;
    `common`: with those that it is simulated together with."""
    build_settings = new.build_settings
    pushed = {"rigs": list(plan.acting.values()), "controls": controls} if plan.acting else {}
    extra = modal.options(build_settings, new.modes, new.stiffness)
    return {
        "body": new.body,
        "poses": poses,
        "fps": build_settings.fps,
        **build_settings.simulation(new.body),
        **extra,
        **contact.given(new, collided, common),
        **pushed,
        **options,
    }


def after(new: Built, plan: Plan, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray, Colliders]:
    """Poses, controls and what is collided with of all that follows a cycle of poses `maps` [f + 1, b, 4, 4], turns of it before them."""
    begun, motion, seconds = plan.begun, new.motion, SETTLING * new.build_settings.fps
    lead = begun.before(maps, seconds)
    rows = np.concatenate([np.resize(np.arange(begun.period), len(lead)), np.arange(len(maps))])
    moves = np.repeat(begun.moves_before(motion.maps, seconds), begun.period, axis=0)
    moves = np.concatenate([moves, np.broadcast_to(np.eye(4), (len(maps), 4, 4))])
    return np.concatenate([lead, maps]), plan.controls[rows], motion.colliders.picked(rows).led(moves)


def played(clip: Any, plan: Plan, later: Any = None) -> Any:
    """A clip as it is shown: one turn of a cycle comes as often as the range is long; `later`: the clip of what follows it."""
    if plan.lead:
        return Led(clip, plan.lead)
    if later is not None:
        return Played(clip, plan.begun, later, plan.live, len(later) - plan.frames - 1)
    repeats = plan.begun.period and not plan.goes_on and plan.frames > plan.begun.period + 1
    return Played(clip, plan.begun) if repeats else clip


def unlooped(new: Built, plan: Plan, why: str) -> Plan:
    """The same with a run-in in place of a cycle, and `why` that is."""
    if not plan.begun.period:
        return plan
    begun, _ = begins(new, plan.controls, PREROLL)
    plan = led(new, replace(plan, begun=begun))
    return replace(plan, begun=replace(plan.begun, note=f"{why} {plan.begun.note}".rstrip()))


def begins(new: Built, controls: np.ndarray, choice: str = "") -> tuple[Beginning, int]:
    """How the motion begins, told from the frames that the artist plays, and how many of its frames those are.

    A longer bake begins so too: it is what was previewed, as far as that goes. `choice`: of the beginning ("": as it is set).
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
    others = None if others is None else others[: live + 1]
    options = build_settings.fps, motion.start, controls[: live + 1], marked, others
    begun = beginning(choice or build_settings.motion_start, maps, heads, new.surface.size, *options)
    return begun, live
