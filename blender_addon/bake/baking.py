# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake: the live flesh of a range of frames into one shape key a frame, which play from then on.

A bake is additive: keys and modifiers of the artist stay. Nothing is changed before all that can fail or be cancelled is
over.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..live import building, jobs
from ..live.flesh import Flesh
from ..live.recipe import Recipe
from ..live.session import register
from ..logic.errors import sentence
from ..logic.keys import frame_range
from ..logic.names import describe
from ..logic.sentences import listed, percent, plural
from ..logic.spaces import diagonal
from ..logic.tasks import Progress, Task, span
from ..scene import modifier, reading, writing
from ..scene.mesh import basis_positions
from ..scene.stance import Stance
from . import export_check, measuring, posed_space, rest_space, riders, skinning

#: Misses below this, of the size, are nobody's concern.
VISIBLE = 1e-4


@dataclass
class Baked:
    """What a bake made."""

    names: list[str]  # the keys
    space: str
    miss: float  # the farthest that a key stays from the flesh, of the size
    left: str  # what of the scene's frames it leaves out
    warnings: list[str]  # what an export would do wrong
    riders: list[str] = field(default_factory=list)  # what was baked along

    def said(self, obj) -> str:
        """One line for the artist."""
        space = "rest space" if self.space == "REST" else "posed space"
        text = f"{describe(obj)} plays {plural(len(self.names), 'baked shape key')} in {space}."
        for remark in (missed(self.miss), self.left):
            text += f" {sentence(remark)}" if remark else ""
        if self.riders:
            text += f" {listed(self.riders)} {'goes' if len(self.riders) == 1 else 'go'} along."
        return " ".join([text, *(sentence(warning) for warning in self.warnings)])


def missed(miss: float) -> str:
    """What is told of keys that stay away from the flesh by `miss` of the size; "" where nobody sees it."""
    if miss <= VISIBLE:
        return ""
    return f"where the armature flattens the skin, keys stay up to {percent(miss)} of the size from the flesh"


def unbaked(made, scene) -> str:
    """What is told of a bake that leaves out frames of the scene; "" where it holds them all."""
    preview = scene.use_preview_range
    first = scene.frame_preview_start if preview else scene.frame_start
    last = scene.frame_preview_end if preview else scene.frame_end
    if made.baked_start <= first and last <= made.baked_end:
        return ""
    return f"the scene plays {first} to {last}: beside the bake's frames its end keys stay on"


def bake(obj, scene, view_layer, start: int | None = None, end: int | None = None, space: str | None = None) -> Task:
    """A task that bakes `start`..`end` (None: the range in force) in `space` (None: as the object is set); gives `Baked`.

    What rides on it is baked along; a rider is baked alone.
    """
    if obj is not None and obj.type == "MESH" and obj.thew.made.rides:
        return (yield from bake_rider(obj, scene, view_layer, start, end, space))
    jobs.check_flesh(obj)
    found = reading.subject(obj, view_layer)
    writing.check_bakeable(obj)
    worn = riders.of(obj)
    space = space or obj.thew.bake_space
    live = obj.thew.frames(scene)
    start = live[0] if start is None else start
    end = live[1] if end is None else end
    jobs.check_range(obj, start, end)
    yield from span(_simulated(found, scene, view_layer, start, end), 0.0, 0.8)
    flesh, frames, miss = register.flesh(obj), frame_range(start, end), 0.0
    if space == "POSED":
        rows = yield from span(posed_space.keys(found, flesh, scene, frames), 0.8, 0.95)
    else:
        rows, miss = yield from span(_in_rest_space(found, flesh, scene, view_layer, frames), 0.8, 0.9)
    baked = []
    for i, rider in enumerate(worn):
        part = riders.keys(rider, obj, flesh, scene, view_layer, frames, space)
        baked.append((yield from span(part, 0.9 + 0.05 * i / len(worn), 0.9 + 0.05 * (i + 1) / len(worn))))
    yield Progress(0.95, "Writing shape keys")
    names = writing.write_bake(obj, start, rows)
    made = obj.thew.made
    made.baked_space, made.baked_miss = (
        space,
        miss / max(diagonal(flesh.character.rest), 1e-30),
    )
    made.shows_bake = obj.thew.enabled = True
    jobs.apply_state(obj)
    jobs.note(obj, flesh)
    for rider, part in zip(worn, baked, strict=True):
        riders.write(rider, start, *part)
    warnings = export_check.check_all([obj, *worn])
    return Baked(names, space, made.baked_miss, unbaked(made, scene), warnings, [describe(rider) for rider in worn])


def bake_rider(obj, scene, view_layer, start: int | None, end: int | None, space: str | None) -> Task:
    """A task that bakes what rides on a body, alone; gives `Baked`."""
    riders.check(obj)
    body = riders.body_of(obj)
    found, live = reading.subject(body, view_layer), body.thew.frames(scene)
    start, end = live[0] if start is None else start, live[1] if end is None else end
    jobs.check_range(obj, start, end)
    yield from span(_simulated(found, scene, view_layer, start, end), 0.0, 0.8)
    flesh, frames = register.flesh(body), frame_range(start, end)
    parts = riders.keys(obj, body, flesh, scene, view_layer, frames, space or obj.thew.bake_space)
    made = yield from span(parts, 0.8, 0.95)
    yield Progress(0.95, "Writing shape keys")
    names = riders.write(obj, start, *made)
    jobs.settle(body, flesh, scene)
    noted = obj.thew.made
    return Baked(names, made[2], noted.baked_miss, unbaked(noted, scene), export_check.check(obj))


def _simulated(found: reading.Subject, scene, view_layer, start: int, end: int) -> Task:
    """A clip that holds `start`..`end` and begins where the preview begins, so that they show the same."""
    obj = found.obj
    live = obj.thew.frames(scene)
    first = min(start, live[0]) if live[0] <= end else start
    flesh = register.flesh(obj)
    recipe, stance = Recipe.of(obj, scene).baked(), Stance.saved(obj)
    # How the motion begins is told from all frames that the artist plays. A clip that reaches further is kept: its frames
    # are the same, and nothing needs to be simulated again.
    last = max(end, live[1]) if first == live[0] else end
    last = max(last, flesh.clip_end) if flesh.covers(first, last) else last
    yield from building.build(flesh, found, stance, recipe, scene, view_layer, (first, last))


def _in_rest_space(found: reading.Subject, flesh: Flesh, scene, view_layer, frames: list[int]) -> Task:
    """`(keys, miss)` of the flesh's offsets, and of what modifiers before the armature do, which the keys hold too."""
    obj = found.obj
    basis = basis_positions(obj.data)
    if not modifier.held(obj, found.modifier, "REST"):
        return (yield from rest_space.keys(found, basis, scene, view_layer, frames, lambda i: flesh.offsets(frames[i])))
    left = {other.persistent_uid for other in skinning.armature_modifiers(found)}
    rows = yield from span(measuring.differences(obj, flesh, scene, frames, left), 0.0, 0.6)
    return (yield from span(rest_space.keys(found, basis, scene, view_layer, frames, rows.__getitem__), 0.6, 1.0))
