# SPDX-License-Identifier: GPL-3.0-or-later
"""Joint updates of objects whose flesh touches each other, each with a clip of its own.

Each object is built as it is alone (`building`), in metres about its own middle. The common steps are here: poses are read in one
pass, and the simulation is in metres about the place where the first of them stood. The key of a clip holds the keys of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import bpy

from ..logic import cycles
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.native import core
from ..logic.spaces import MetricSpace
from ..logic.states import Event
from ..logic.tasks import Progress, Task, Work, span
from ..rigs import read_controls, rigging
from ..scene import groups, poses, reading
from ..scene.bind_pose import BindPose
from ..scene.character import Character, world_matrix
from . import (
    building,
    contact,
    limits,
    noticed_cuts,
    partial_motion,
    pins,
    progress_words,
    simulating,
    simulation_plan,
    validity,
)
from .build_settings import BuildSettings, hash_of
from .flesh import BuildStages, Flesh
from .partial_motion import PartialMotion
from .session import register

#: Note for a motion that would be a loop without the others.
NO_LOOP_NOTE = "A loop is not closed where other flesh does not repeat with it."

#: Callback that takes the clips of all objects that are simulated together.
OfferCallback = Callable[[list[Any]], None]

#: Relative difference below which scales count as equal; a typed height has three or four digits.
SCALE_TOLERANCE = 2e-3


@dataclass(eq=False)
class Member:
    """One of the objects that are simulated together, on the way to its clip."""

    subject: reading.Subject
    flesh: Flesh
    bind_pose: BindPose
    build_settings: BuildSettings
    character: Character | None = None
    rigs: tuple[rigging.ResolvedRig, ...] = ()
    motion: poses.Motion | None = None  # None: to be read
    new: BuildStages | None = None

    @property
    def obj(self) -> bpy.types.Object:
        return self.subject.obj

    @property
    def name(self) -> str:
        """Returns the name for sentences."""
        return describe(self.obj)

    @property
    def place(self) -> MetricSpace:
        """Returns the place of its metres: its origin at rest, and the scale and mirror that it has in the motion, or now."""
        rest = self.bind_pose.mesh_matrix
        place = MetricSpace(rest[:3, 3], self.build_settings.height / self.bind_pose.longest_side)
        return place.carried(rest, world_matrix(self.obj) if self.motion is None else self.motion.matrices)


def build(
    flesh: Flesh,
    subject: reading.Subject,
    bind_pose: BindPose,
    build_settings: BuildSettings,
    scene: bpy.types.Scene,
    view_layer: bpy.types.ViewLayer,
    frames: tuple[int, int] | None,
    trust: bool = False,
    still: bool = False,
    believe: bool = False,
) -> Task:
    """Builds as `building.build`, together with all others in the simulation; returns those as (object, flesh).

    `trust`: meshes and poses are read again only where they are in doubt.
    """
    if frames is None or not build_settings.others:
        yield from building.build(
            flesh, subject, bind_pose, build_settings, scene, view_layer, frames, trust, still, believe
        )
        return []
    core()
    mine = Member(subject, flesh, bind_pose, build_settings)
    members = [mine, *(other_member(other, mine, scene, view_layer) for other in groups.others(subject.obj, scene))]
    members, counted = sorted_members(members), []
    for k, member in enumerate(members):
        read_mesh(member, scene, frames, trust)
        counted.append((member.flesh.touches, member.flesh.curve_edits))
        yield Progress(0.02 * k / len(members), "Reading the meshes")  # the window stays responsive between two of them
    anew = yield from span(read_poses(members, scene, view_layer, frames), 0.02, 0.15)
    check_scales(mine, members)
    for k, member in enumerate(members):
        parts = member.character, member.bind_pose, member.build_settings, member.motion, member.rigs
        share = [0.15 + 0.55 * (k + end) / len(members) for end in (0, 1)]
        member.new = yield from span(building.build_draft(member.flesh, *parts), *share)
    yield from span(simulate(members, mine, still), 0.7, 1.0)
    for member, (touches, curve_edits) in zip(members, counted, strict=True):
        building.report_read(member.obj, member.flesh, touches, curve_edits if member in anew else None)
    return [(member.obj, member.flesh) for member in members if member is not mine]


def other_member(other: bpy.types.Object, mine: Member, scene, view_layer) -> Member:
    """Builds the member for another object, simulated together with `mine`, whose settings are about to take effect."""
    names = {mine.obj.name, *mine.build_settings.others}
    build_settings = BuildSettings.from_object(other, scene)
    contact_settings = build_settings.contact
    things = tuple(each for each in contact_settings.colliders if each.key not in {(name, "") for name in names})
    contact_settings = replace(contact_settings, colliders=things, others=tuple(sorted(names - {other.name})))
    build_settings = replace(build_settings, live=mine.build_settings.live, contact=contact_settings)
    return Member(
        reading.subject(other, view_layer), register.state_of(other), BindPose.from_saved(other), build_settings
    )


def read_mesh(member: Member, scene, frames: tuple[int, int], trust: bool) -> None:
    """Reads the mesh, skeleton and rigs of one member, and takes its known motion if it covers the frames."""
    flesh, obj, build_settings = member.flesh, member.obj, member.build_settings
    if trust and validity.mesh_holds(obj, flesh):
        member.character, member.bind_pose = flesh.character, flesh.bind_pose
    else:
        member.character, member.bind_pose = building.read(flesh, member.subject, member.bind_pose, scene)
    place = building.body_place(member.character, member.bind_pose, build_settings)
    member.rigs = rigging.resolve_rigs(obj, member.character, member.bind_pose, place)
    if not trust or flesh.motion is None or flesh.character.bones != member.character.bones:
        return
    if validity.motion_holds(obj, flesh, build_settings, frames) and read_controls.controls_were_read(
        member.rigs, flesh.motion
    ):
        member.motion = flesh.motion


def check_scales(mine: Member, members: list[Member]) -> None:
    """Refuses objects whose metres per scene unit differ, and mirror images beside others."""
    place = mine.place
    own = place.metres_per_unit
    for other, there in ((member, member.place) for member in members):
        if there.mirrored != place.mirrored:
            mirrored, upright = (other, mine) if there.mirrored else (mine, other)
            raise Refusal(
                f"{mirrored.name} was mirrored after its flesh was added, and {upright.name} was not: remove the flesh of "
                f"{mirrored.name} and add it anew, or switch Other Flesh off"
            )
        if abs(there.metres_per_unit / own - 1.0) > SCALE_TOLERANCE:
            height = other.build_settings.height * own / there.metres_per_unit
            raise Refusal(
                f"{mine.name} and {other.name} stand for different sizes: {own:.3g} and {there.metres_per_unit:.3g} "
                f"metres per unit of the scene. Set Real Size of {other.name} to {height:.4g} metres, or switch "
                "Other Flesh off"
            )


def sorted_members(members: list[Member]) -> list[Member]:
    """Returns the members in the core's order: by name."""
    return sorted(members, key=lambda member: member.obj.name)


def common_place(members: list[Member]) -> MetricSpace:
    """Returns origin and scale of the metres of the common simulation."""
    return sorted_members(members)[0].place


def exported_place(subject: reading.Subject, flesh: Flesh, scene, view_layer) -> tuple[MetricSpace, float] | None:
    """Returns the common place and the steps a second for an exported object that may be simulated with others; None if it has
    none.
    """
    mine = Member(subject, flesh, BindPose.from_saved(subject.obj), BuildSettings.from_object(subject.obj, scene))
    if not mine.build_settings.others:
        return None
    members = [mine, *(other_member(other, mine, scene, view_layer) for other in groups.others(subject.obj, scene))]
    check_scales(mine, members)
    return common_place(members), max(member.build_settings.simulation.rate for member in members)


def read_poses(members: list[Member], scene, view_layer, frames: tuple[int, int]) -> Task:
    """Reads the poses of all members over the same frames, in one pass where they are unknown; returns the members that were read."""
    start, end = frames
    end = max([end, *(last_frame(member.motion) for member in members if member.motion is not None)])
    anew = [member for member in members if member.motion is None or last_frame(member.motion) != end]
    if anew:
        wanted = [
            poses.MotionRequest(
                each.subject, each.character.bones, each.bind_pose.mesh_matrix, each.build_settings.collides_with
            )
            for each in anew
        ]
        motions = yield from poses.read_motions(
            wanted, scene, view_layer, start, end, max(member.build_settings.lead for member in members)
        )
        for member, motion in zip(anew, motions, strict=True):
            member.motion = motion
    return anew


def last_frame(motion: poses.Motion) -> int:
    """Returns the last frame that a motion holds (one more pose was read, to look ahead)."""
    return motion.start + len(motion.maps) - 2


def simulate(members: list[Member], mine: Member, still: bool) -> Task:
    """Simulates a clip of each, unless the present clips have the same inputs.

    Clips may lag behind the rigs of flesh that is shown settled; `still`: that of `mine` is.
    """
    drafts = [member.new for member in members]
    noticed = noticed_cuts.common_restarts(drafts)
    plans = [simulation_plan.make_plan(new, noticed) for new in drafts]
    keys = [simulating.plan_key(new, plan) for new, plan in zip(drafts, plans, strict=True)]
    group_key, former = hash_of(*keys), hash_of(*(member.flesh.clip_key for member in members))
    made_of = {member.flesh.group_key if member.flesh.clip is not None else b"" for member in members}
    known = made_of == {group_key}
    lagging = [member for member, key in zip(members, keys, strict=True) if key != member.flesh.clip_key]
    may_lag = [
        (still if member is mine else member.obj.thew.settled)
        and plan.acting
        and simulating.can_stay(member.flesh, member.new)
        for member, plan in zip(members, plans, strict=True)
    ]
    if made_of == {former} and lagging and all(may_lag[members.index(each)] for each in lagging):
        for member in members:
            building.take(
                member.obj, member.flesh, member.new, Event.CLIP_KEPT if member in lagging else Event.CLIP_MADE
            )
        return
    names, place = [member.name for member in members], common_place(members)
    plans = beginning_together(drafts, plans, place)
    if not known:
        offer = offer_callback(members, plans, place)
        try:
            found = yield Work(
                progress_words.text(plans[0]),
                lambda progress: simulate_members(drafts, plans, names, place, progress, offer),
            )
        finally:
            for member in members:
                member.flesh.arriving = None
        for new, (clip, touching, lost, gaps) in zip(drafts, found, strict=True):
            new.clip, new.touching, new.inverted_count, new.clip_place = clip, touching, lost, place
            new.pin_gaps = gaps
    for k, (new, plan) in enumerate(zip(drafts, plans, strict=True)):
        # A key describes the beginning alone; the keys of all determine the common one.
        new.clip_key, new.group_key, new.beginning = keys[k], group_key, plan.beginning
        new.touching = replace(
            new.touching, things=tuple(contact.touchable_things_together(drafts, names, k))
        )  # after a rename
    for member in members:
        building.take(member.obj, member.flesh, member.new, Event.CLIP_MADE)


def beginning_together(
    drafts: list[BuildStages], plans: list[simulation_plan.SimulationPlan], place: MetricSpace
) -> list[simulation_plan.SimulationPlan]:
    """Returns the plans with a common beginning: a cycle if all repeat together, else run-ins in place of cycles."""
    maps = [place.maps(new.motion.maps, new.place) for new in drafts]
    sizes = [new.surface.size for new in drafts]
    heads = [new.skeleton.heads for new in drafts]
    paths = [cycles.trace(*each) for each in zip(maps, heads, sizes, strict=True)]
    still = [simulation_plan.stands_still(*each) for each in zip(drafts, plans, paths, strict=True)]
    wishes, played = [plan.beginning for plan in plans], plans[0].live + 1  # poses that the artist plays
    beginnings = cycles.common_cycle(wishes, [m[:played] for m in maps], [p[:played] for p in paths], sizes, still)
    if beginnings is None:
        plans = [simulation_plan.with_run_in(new, plan, NO_LOOP_NOTE) for new, plan in zip(drafts, plans, strict=True)]
        longest = max(plan.lead for plan in plans)  # all begin at one frame
        return [simulation_plan.with_lead(new, plan, longest) for new, plan in zip(drafts, plans, strict=True)]
    return [replace(plan, beginning=one) for plan, one in zip(plans, beginnings, strict=True)]


def offer_callback(
    members: list[Member], plans: list[simulation_plan.SimulationPlan], place: MetricSpace
) -> OfferCallback:
    """Builds the callback that takes the clips of all whenever more of their frames are ready."""
    spaces = [place.to_object(member.motion.matrices) for member in members]

    def offer(clips: list[Any]) -> None:
        for member, plan, clip, space in zip(members, plans, clips, spaces, strict=True):
            member.flesh.arriving = PartialMotion(member.new, clip, space, member.motion.start, plan.lead)

    return offer


def simulate_members(
    drafts: list[BuildStages],
    plans: list[simulation_plan.SimulationPlan],
    names: list[str],
    place: MetricSpace,
    progress,
    offer: OfferCallback,
) -> list[tuple]:
    """Simulates; returns for each its clip (metres at `place`), its contacts, the number of cells that its motion inverts, and the gaps of its pins."""
    thew, common = core(), contact.SharedData(place)
    rate = max(new.build_settings.simulation.rate for new in drafts)  # all take the shortest steps
    try:
        rounds, later = simulating.loop_rounds(drafts[0], plans[0]), [None] * len(drafts)
        report = progress_words.callback(progress, rounds)
        arguments = [shot_arguments(new, plan, common, rate=rate) for new, plan in zip(drafts, plans, strict=True)]
        if plans[0].beginning.period:
            clips = thew.simulate_shots([thew.Shot(**each) for each in arguments], report)
        else:
            clips = simulate_in_parts(arguments, plans[0].restarts, report, offer)
        if any(plan.continues for plan in plans):
            shots = [
                thew.Shot(**following_shot_arguments(new, plan, common, rate))
                for new, plan in zip(drafts, plans, strict=True)
            ]
            later = thew.simulate_shots(shots, report)
    except thew.ThewError as error:
        told = re.search(r"body (\d+) of the scene", str(error))
        error_text = str(error) if told is None else pins.with_names(drafts[int(told[1])], str(error))
        text = re.sub(r"body (\d+) of the scene", lambda match: names[int(match[1])], error_text)
        raise type(error)(text) from error
    progress(1.0, "")
    found = []
    for k, (new, plan, clip, after) in enumerate(zip(drafts, plans, clips, later, strict=True)):
        clip.positions(0)  # builds the display data here, not when somebody waits for the first frame
        clip = simulating.display_clip(clip, plan, after)
        touching = contact.clip_contacts(new, clip, contact.touchable_things_together(drafts, names, k), k)
        found.append((clip, touching, limits.motion_inversions(new, clip), pins.gaps(new, clip, place)))
    return found


def simulate_in_parts(
    arguments: list[dict[str, Any]], restarts: tuple[int, ...], report, offer: OfferCallback
) -> list[Any]:
    """Simulates shots that do not repeat in parts, each of which is offered when it is done; returns their clips.

    `arguments`: those of each shot; `restarts`: frames in which all begin anew.
    """
    thew, clips = core(), []
    poses = len(arguments[0]["poses"])
    for start, end in partial_motion.parts(poses, restarts):

        def part_progress(at, stage, start=start, end=end):
            return report((start + (end - start) * at) / poses if "frame" in stage else 0.0, stage)

        if clips:
            parts = [each["poses"][start:end] for each in arguments]
            controls = [each["controls"][start:end] if "controls" in each else None for each in arguments]
            held = [pins.part(each.get("pins", []), start, end) for each in arguments]
            pinned = {"pins": held} if any(held) else {}
            thew.extend_scene(clips, parts, controls, part_progress, start in restarts, **pinned)
        else:
            first = [
                {name: value[:end] if name in {"poses", "controls"} else value for name, value in each.items()}
                for each in arguments
            ]
            first = [{**each, "pins": pins.part(each["pins"], 0, end)} if "pins" in each else each for each in first]
            clips = thew.simulate_shots([thew.Shot(**each) for each in first], part_progress)
            for clip in clips:
                clip.positions(0)  # builds the display data here, not when somebody waits for the first frame
        offer(clips)
    return clips


def shot_arguments(
    new: BuildStages, plan: simulation_plan.SimulationPlan, common: contact.SharedData, **options
) -> dict[str, Any]:
    """Returns the arguments of the `thew.Shot` of one member."""
    held = {**pins.options(new, plan.pin_rows(new), common.place), **plan.drive_options(new, common.place)}
    arguments = simulating.arguments(
        new, plan, *plan.core_inputs(new, common.place), common, **plan.beginning.options(), **held
    )
    return {**arguments, **options}


def following_shot_arguments(
    new: BuildStages, plan: simulation_plan.SimulationPlan, common: contact.SharedData, rate: float
) -> dict[str, Any]:
    """Returns the arguments of the `thew.Shot` of the motion after a cycle."""
    maps = common.place.maps(new.motion.maps, new.place)
    held = pins.options(new, simulation_plan.pin_rows_after(new, plan), common.place)
    held |= simulation_plan.drive_options_after(new, plan, common.place)
    return {**simulating.arguments(new, plan, *simulation_plan.after(new, plan, maps), common, **held), "rate": rate}
