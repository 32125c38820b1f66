# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake: writes the flesh of a range of frames, or of actions, into a target, which plays from then on.

A bake is additive: keys and modifiers of the artist stay, and so do other clips and other bakes. Nothing is changed before everything
that can fail or be cancelled is over (`target.bake_parts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import bpy

from ..live import jobs, keyframed, spot_checks, updates
from ..live.build_settings import BuildSettings
from ..live.flesh import Flesh
from ..live.session import register
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import join_words
from ..logic.tasks import Progress, Task, span, titled, within
from ..saved import bakes as saved_bakes
from ..scene import bake_files, baked_tension, bakes, groups, key_playing, poses, reading
from ..scene.armature_actions import Soloist
from ..scene.bind_pose import BindPose
from . import bake_records, clip_plans, export_check, keyframes, riders, targets
from .bake_result import BakeResult, unbaked_frames_remark
from .body_source import body_source, show_again
from .clip_flesh import ClipSimulator
from .clip_plans import ClipPlan
from .target import BakeRequest, ClipContent, PendingBake, Source, Target, bake_parts, pending

#: Builds the task that makes the flesh of a subject hold the clip of `start`..`end`: `(subject, scene, view layer, start, end)`.
ClipTask = Callable[[reading.Subject, object, object, int, int], Task]

#: Shares of a bake's progress: of the clips, of packing them, and of each clip its simulation.
CLIPS_SHARE, PACK_SHARE, SIMULATION_SHARE = 0.85, 0.1, 0.8


@dataclass(frozen=True)
class Wanted:
    """What a bake is asked for; the defaults are those of a press on Bake."""

    start: int | None = None  # frames of the scene's range; `None`: the range in force
    end: int | None = None
    space: str | None = None  # an item of `BAKE_SPACES`; `None`: as the object is set
    clips: str = "SCENE"  # an item of `CLIP_CHOICES`
    actions: tuple[str, ...] = ()  # names of the chosen actions
    name: str = ""  # of the bake; empty: the target's label
    tolerance: float | None = None  # metres of the character; `None`: that of the target
    replace: bool = False  # the bake's other clips go
    anew: bool = False  # the bake's other clips are baked again too
    folder: str = ""  # for files; empty: where those of the bake are, or beside the .blend
    image: str = "EXR"  # format of textures
    bones: int = 16  # most helper bones of each mesh
    influences: int = 4  # most bones of a vertex, helpers among them
    regions: int = 1  # most parts of the mesh with compressed keys of their own
    rest_tolerance: float = 3e-3  # metres by which resting helper bones may miss the plain skin


@dataclass(frozen=True)
class Cast:
    """The objects of a bake: a body with the riders to bake along, or a rider alone."""

    obj: bpy.types.Object
    body: bpy.types.Object
    worn: tuple[bpy.types.Object, ...]

    @property
    def alone(self) -> bool:
        """Returns whether a rider is baked without its body."""
        return self.obj != self.body

    @property
    def objects(self) -> list[bpy.types.Object]:
        """Returns the objects that get the bake."""
        return [self.obj, *self.worn]


def bake(
    obj, scene, view_layer, start: int | None = None, end: int | None = None, space: str | None = None,
    target_key: str = "SHAPE_KEYS", clip_task: ClipTask | None = None, **more,
) -> Task:  # fmt: skip
    """Builds the task that bakes an object into the target `target_key` and returns `BakeResult`.

    `more`: the other values of `Wanted`. Riders are baked along with their body; a rider is baked alone. `clip_task`: makes the flesh
    hold the clip of the scene's range (`None`: it is simulated).
    """
    target, wanted = targets.target_by_key(target_key), Wanted(start, end, space, **more)
    if obj is not None and obj.type == "MESH":
        saved_bakes.migrate(obj)
    if obj is not None and obj.type == "MESH" and obj.thew.made.keyframed:
        return (yield from bake_keyframed(obj, scene, view_layer, wanted, target))
    cast = cast_of(obj, target)
    subject = reading.subject(cast.body, view_layer)
    request = request_of(cast.obj, wanted, target)
    plans, remarks = plans_of(cast, scene, wanted, request)
    remarks += bake_records.replaced_remarks(cast.obj, request, plans)
    for each in cast.objects:
        bake_records.check(each, target, request, plans)
    clips: dict[bpy.types.Object, list[ClipContent]] = {each: [] for each in cast.objects}
    accepts = {}
    try:
        sizes = [len(plan.frames) for plan in plans]
        simulator = ClipSimulator(
            subject, scene, view_layer, Soloist(subject.armature, [p.bones for p in plans if p.action])
        )
        if any(plan.action is not None for plan in plans):
            remarks.append(clip_plans.unkeyed_remark(simulator.soloist, plans))
            yield from span(simulator.prepare(), 0.0, 0.05)
        for k, plan in enumerate(plans):
            share = [0.05 + (CLIPS_SHARE - 0.05) * sum(sizes[: k + e]) / sum(sizes) for e in (0, 1)]
            playing = nullcontext if plan.action is None else (lambda plan=plan: simulator.soloist.playing(plan.bones))
            task = bake_clip(cast, plan, simulator, target, request, playing, clip_task)
            task = titled(task, f"“{plan.name}”") if plan.action is not None else task
            for source, content in (yield from span(task, *share)):
                clips[source.obj].append(ClipContent(plan, content, source.metres))
                accepts[source.obj] = source.accept
        parts = [pending(each, settled(request, plans, cast, scene), scene, clips[each]) for each in cast.objects]
        names = yield from write_parts(target, parts, [accepts[each] for each in cast.objects])
    finally:
        if any(plan.action is not None for plan in plans):
            show_again(cast.body, scene)
        for each in cast.objects:
            key_playing.follow_shown(each)
    updates.evaluate_own_curves(view_layer)
    if cast.alone:
        jobs.settle(cast.body, register.state_of(cast.body), scene)
    return result_of(cast.objects, target, request, names[0], plans, [*remarks, *left_remarks(cast, target)], scene)


def cast_of(obj: bpy.types.Object, target: Target) -> Cast:
    """Returns the objects of a bake; refuses those that cannot be baked."""
    if obj is not None and obj.type == "MESH" and obj.thew.made.rides:
        riders.check(obj, target)
        return Cast(obj, riders.body_of(obj), ())
    jobs.check_flesh(obj)
    target.check(obj)
    worn = riders.riders_to_bake(obj, target)
    for each in worn:
        saved_bakes.migrate(each)
    return Cast(obj, obj, tuple(worn))


def left_remarks(cast: Cast, target: Target) -> list[str]:
    """Returns the remark on riders that stay as they are."""
    left = [] if cast.alone else [describe(obj) for obj in riders.left_out(cast.body, target)]
    if not left:
        return []
    one = len(left) == 1
    return [f"{join_words(left)} {'stays' if one else 'stay'} on {'its bone' if one else 'their bones'} without flesh"]


def plans_of(cast: Cast, scene, wanted: Wanted, request: BakeRequest) -> tuple[list[ClipPlan], list[str]]:
    """Returns the clips that are to be baked, and remarks on those that are left out."""
    if wanted.clips != "SCENE":
        plans, remarks = clip_plans.action_plans(cast.body, scene, wanted.clips, list(wanted.actions))
    else:
        start, end = jobs.live_range(cast.obj, cast.body.thew.frames(scene), wanted.start, wanted.end)
        plans, remarks = [clip_plans.scene_plan(cast.body, scene, start, end)], []
    bake = saved_bakes.named(cast.obj, request.name) if wanted.anew else None
    for clip in bake.clips if bake is not None else ():
        if not bake_records.is_replaced(clip, replace(request, replace=False), plans):
            try:
                plans.append(clip_plans.plan_again(cast.body, scene, clip))
            except Refusal as error:
                remarks.append(f"the clip “{clip.label}” was not baked anew: {error}")
    return plans, remarks


def request_of(obj: bpy.types.Object, wanted: Wanted, target: Target) -> BakeRequest:
    """Returns what was asked of a bake of `obj`, with its defaults filled in."""
    space, name = wanted.space or obj.thew.bake_space, wanted.name.strip() or target.label
    space = getattr(target, "space", "") or space
    tolerance = getattr(target, "default_tolerance", 0.0) if wanted.tolerance is None else wanted.tolerance
    bake = saved_bakes.named(obj, name)
    folder = wanted.folder.strip() or (bake_files.chosen_folder(bake.clips) if bake is not None else "")
    return BakeRequest(
        name, space, tolerance, wanted.replace, folder=folder, image=wanted.image,
        bones=wanted.bones, influences=wanted.influences, regions=wanted.regions, rest_tolerance=wanted.rest_tolerance,
    )  # fmt: skip


def settled(request: BakeRequest, plans: list[ClipPlan], cast: Cast, scene) -> BakeRequest:
    """Returns the request with the hash of the settings that were baked."""
    if any(plan.action is None for plan in plans):
        return replace(request, settings=register.state_of(cast.body).build_settings.baked_key())
    return replace(request, settings=BuildSettings.from_object(cast.body, scene).baked_key())


def bake_clip(
    cast: Cast, plan: ClipPlan, simulator: ClipSimulator, target: Target, request: BakeRequest,
    playing: Callable[[], AbstractContextManager], clip_task: ClipTask | None,
) -> Task:  # fmt: skip
    """Builds the task that simulates one clip, and returns each source with the content of the target for it."""
    subject, scene, view_layer = simulator.subject, simulator.scene, simulator.view_layer
    if plan.action is None:
        task = (clip_task or simulate_range)(subject, scene, view_layer, plan.start, plan.end)
        yield from span(task, 0.0, SIMULATION_SHARE)
        flesh = register.state_of(cast.body)
    else:
        flesh = yield from span(simulator.simulate(plan), 0.0, SIMULATION_SHARE)
    sources, found = list(sources_of(cast, flesh, simulator, plan)), []
    for i, source in enumerate(sources):
        share = [SIMULATION_SHARE + (1.0 - SIMULATION_SHARE) * (i + e) / len(sources) for e in (0, 1)]
        with poses.show_hidden([source.obj]) if source.obj != cast.body else nullcontext():
            content = yield from span(within(target.prepare(source, request.space), playing), *share)
        found.append((source, content))
    return found


def sources_of(cast: Cast, flesh: Flesh, simulator: ClipSimulator, plan: ClipPlan) -> Iterator[Source]:
    """Yields the objects of a bake as sources over one clip."""
    subject, scene, view_layer = simulator.subject, simulator.scene, simulator.view_layer
    on = cast.body, flesh, scene, view_layer, plan.frames
    if cast.alone:
        yield riders.source(cast.obj, *on)
        return
    yield body_source(subject, flesh, scene, view_layer, plan.frames)
    for rider in cast.worn:
        yield riders.source(rider, *on)


def write_parts(target: Target, parts: list[PendingBake], accepts: list[Callable[[], None]]) -> Task:
    """Builds the task that packs all parts and writes them; returns the names of what was made for each."""
    for i, part in enumerate(parts):
        share = [CLIPS_SHARE + PACK_SHARE * (i + e) / len(parts) for e in (0, 1)]
        yield from span(target.pack(part), *share)
    yield Progress(CLIPS_SHARE + PACK_SHARE, f"Writing {target.label}")
    return bake_parts(target, parts, accepts)


def result_of(
    objects: list[bpy.types.Object],
    target: Target,
    request: BakeRequest,
    names: list[str],
    plans: list[ClipPlan],
    remarks: list[str],
    scene,
) -> BakeResult:
    """Returns the result of a bake of these objects, the first of which was asked for."""
    made = bakes.find(objects[0], request.name)
    unbaked = unbaked_frames_remark(made, scene) if any(plan.action is None for plan in plans) else ""
    warnings, along = export_check.check_all(objects), [describe(each) for each in objects[1:]]
    clips = [plan.name for plan in plans if plan.action is not None]
    place = target.remark(request) if hasattr(target, "remark") else ""
    remarks = list(filter(None, [*remarks, place, *map(baked_tension.remark, objects)]))
    figures = targets.figures_of(target, request, objects)
    result = BakeResult(names, made.space, made.miss, unbaked, warnings, along, clips, remarks, request.name, figures)
    made.notes = "\n".join(result.notes)
    return result


def bake_keyframed(obj, scene, view_layer, wanted: Wanted, target: Target) -> Task:
    """Builds the task that bakes the keyframed motion of `obj`, in rest space like its sculpts. Returns `BakeResult`."""
    target.check(obj)
    keyframes.check_clips(obj, wanted.clips)
    start, end = jobs.live_range(obj, obj.thew.frames(scene), wanted.start, wanted.end)
    plan = clip_plans.scene_plan(obj, scene, start, end)
    request = replace(request_of(obj, wanted, target), space="REST")
    bake_records.check(obj, target, request, [plan])
    remarks = bake_records.replaced_remarks(obj, request, [plan])
    yield from span(keyframed.bring_up_to_date(obj, scene), 0.0, 0.6)
    source = keyframes.source(obj, scene, view_layer, plan.frames)
    content = yield from span(target.prepare(source, "REST"), 0.6, CLIPS_SHARE)
    part = pending(obj, request, scene, [ClipContent(plan, content, source.metres)])
    names = yield from write_parts(target, [part], [source.accept])
    key_playing.follow_shown(obj)
    return result_of([obj], target, request, names[0], [plan], remarks, scene)


def simulate_range(subject: reading.Subject, scene, view_layer, start: int, end: int) -> Task:
    """Builds the task that simulates `start`..`end`, beginning where the preview begins so that both show the same."""
    obj = subject.obj
    first, last = groups.simulated_range(obj, scene, start, end)
    flesh = register.state_of(obj)
    build_settings, bind_pose = BuildSettings.from_object(obj, scene).for_bake(), BindPose.from_saved(obj)
    # A longer clip is kept: its frames are the same, and nothing needs to be simulated again.
    last = max(last, flesh.clip_end) if flesh.covers(first, last) else last
    frames, current = (first, last), False
    if not build_settings.others:
        look = spot_checks.is_current(subject, flesh, build_settings, frames, scene, view_layer)
        current = yield from span(look, 0.0, 0.05)
    yield from jobs.build(flesh, subject, bind_pose, build_settings, scene, view_layer, frames, current)
