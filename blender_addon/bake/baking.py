# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake: writes the live flesh of a range of frames into a target, which plays from then on.

A bake is additive: keys and modifiers of the artist stay. Nothing is changed before everything that can fail or be
cancelled is over (`target.bake_parts`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

from ..live import jobs, keyframed, spot_checks
from ..live.build_settings import BuildSettings
from ..live.flesh import Flesh
from ..live.session import register
from ..logic.errors import sentence
from ..logic.keys import frame_range
from ..logic.names import describe
from ..logic.sentences import join_words, percent, plural
from ..logic.spaces import diagonal
from ..logic.tasks import Progress, Task, span
from ..scene import groups, poses, reading
from ..scene.bind_pose import BindPose
from . import export_check, keyframes, measuring, riders, targets
from .target import Source, Target, bake_parts

#: Builds the task that makes the flesh of a subject hold the clip of `start`..`end`: `(subject, scene, view layer, start, end)`.
ClipTask = Callable[[reading.Subject, object, object, int, int], Task]

#: Largest miss that is not reported, as a part of the size. It is a fifth of a pixel of a body that fills 2,160 lines.
MIN_VISIBLE_MISS = 1e-4


@dataclass
class BakeResult:
    """The result of a bake."""

    names: list[str]  # the keys
    space: str
    miss: float  # largest distance of a key from the flesh, as a part of the size
    unbaked: str  # sentence about the frames that it leaves out
    warnings: list[str]  # sentences about what an export would do wrong
    riders: list[str] = field(default_factory=list)  # names of the riders that were baked along

    def message(self, obj) -> str:
        """Returns the message for the artist."""
        space = "rest space" if self.space == "REST" else "posed space"
        text = f"{describe(obj)} plays {plural(len(self.names), 'baked shape key')} in {space}."
        for remark in (miss_remark(self.miss), self.unbaked):
            text += f" {sentence(remark)}" if remark else ""
        if self.riders:
            text += f" {join_words(self.riders)} {'rides' if len(self.riders) == 1 else 'ride'} along."
        return " ".join([text, *(sentence(warning) for warning in self.warnings)])


def miss_remark(miss: float) -> str:
    """Returns the remark about keys that differ from the flesh by `miss` of the size; "" if that is invisible."""
    if miss <= MIN_VISIBLE_MISS:
        return ""
    return f"where the armature flattens the skin, or its bendy bones fold it, keys miss the flesh by up to {percent(miss)} of the size"


def unbaked_frames_remark(made, scene) -> str:
    """Returns the remark about frames of the scene that a bake leaves out; "" if it holds them all."""
    preview = scene.use_preview_range
    first = scene.frame_preview_start if preview else scene.frame_start
    last = scene.frame_preview_end if preview else scene.frame_end
    if made.baked_start <= first and last <= made.baked_end:
        return ""
    return f"the scene plays {first} to {last}: outside the bake's frames its end keys stay on"


def bake(
    obj, scene, view_layer, start: int | None = None, end: int | None = None, space: str | None = None,
    target_key: str = "SHAPE_KEYS", clip_task: ClipTask | None = None,
) -> Task:  # fmt: skip
    """Builds the task that bakes an object into the target `target_key` and returns `BakeResult`.

    `start`..`end`: frames (`None`: the range in force). `space`: an item of `BAKE_SPACES` (`None`: as the object is
    set). Riders are baked along with their body; a rider is baked alone. `clip_task`: makes the flesh hold the clip (`None`: it is simulated).
    """
    target = targets.target_by_key(target_key)
    if obj is not None and obj.type == "MESH" and obj.thew.made.keyframed:
        return (yield from bake_keyframed(obj, scene, view_layer, start, end, target))
    alone = obj is not None and obj.type == "MESH" and obj.thew.made.rides
    if alone:
        riders.check(obj, target)
        body, worn = riders.body_of(obj), []
    else:
        jobs.check_flesh(obj)
        body, worn = obj, None
    subject = reading.subject(body, view_layer)
    if worn is None:
        target.check(obj)
        worn = riders.riders_to_bake(obj, target)
    space = space or obj.thew.bake_space
    start, end = jobs.live_range(obj, body.thew.frames(scene), start, end)
    yield from span((clip_task or simulate_range)(subject, scene, view_layer, start, end), 0.0, 0.8)
    flesh, frames = register.state_of(body), frame_range(start, end)
    on = body, flesh, scene, view_layer, frames
    first = [riders.source(obj, *on)] if alone else [body_source(subject, *on[1:])]
    sources = first + [riders.source(rider, *on) for rider in worn]
    parts = []
    for i, source in enumerate(sources):
        share = [0.8 + 0.15 * (i + k) / len(sources) for k in (0, 1)]
        with poses.show_hidden([source.obj]) if source.obj is not body else nullcontext():
            parts.append((source, (yield from span(target.prepare(source, space), *share))))
    yield Progress(0.95, f"Writing {target.label.lower()}")
    names = bake_parts(target, parts)[0]
    if alone:
        jobs.settle(body, flesh, scene)
    noted = obj.thew.made
    warnings = export_check.check_all([obj, *worn])
    along = [describe(rider) for rider in worn]
    return BakeResult(names, noted.baked_space, noted.baked_miss, unbaked_frames_remark(noted, scene), warnings, along)


def bake_keyframed(obj, scene, view_layer, start: int | None, end: int | None, target: Target) -> Task:
    """Builds the task that bakes the keyframed motion of `obj`, in rest space like its sculpts. Returns `BakeResult`."""
    target.check(obj)
    start, end = jobs.live_range(obj, obj.thew.frames(scene), start, end)
    yield from span(keyframed.bring_up_to_date(obj, scene), 0.0, 0.6)
    source = keyframes.source(obj, scene, view_layer, frame_range(start, end))
    content = yield from span(target.prepare(source, "REST"), 0.6, 0.95)
    yield Progress(0.95, f"Writing {target.label.lower()}")
    names = bake_parts(target, [(source, content)])[0]
    made = obj.thew.made
    return BakeResult(
        names, made.baked_space, made.baked_miss, unbaked_frames_remark(made, scene), export_check.check(obj)
    )


def body_source(subject: reading.Subject, flesh: Flesh, scene, view_layer, frames: list[int]) -> Source:
    """Returns a body as a source of a bake."""
    obj = subject.obj

    def accept() -> None:
        made = obj.thew.made
        made.shows_bake = obj.thew.enabled = True
        made.baked_settings = flesh.build_settings.baked_key()
        jobs.apply_state(obj)
        jobs.note(obj, flesh)

    return Source(
        obj, subject, scene, view_layer, frames, diagonal(flesh.character.rest),
        lambda i: flesh.offsets(frames[i]),
        lambda active: measuring.differences(obj, flesh, scene, frames, active),
        accept,
    )  # fmt: skip


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
