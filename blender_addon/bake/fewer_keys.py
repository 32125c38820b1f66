# SPDX-License-Identifier: GPL-3.0-or-later
"""Compressed Keys made of a bake that holds a key a frame. Its keys are the frames, so nothing is simulated, and a finished bake will do."""

from __future__ import annotations

import bpy
import numpy as np

from ..live.session import register
from ..logic.tasks import Task, span
from ..saved import bakes as saved_bakes
from ..saved import units
from ..saved.bakes import ThewBake, ThewClip
from ..scene import animation, bakes, key_playing, writing
from ..scene.mesh import key_positions
from . import bake_records, baking, joining, targets
from .bake_result import BakeResult
from .body_source import metres_per_unit
from .clip_plans import ClipPlan
from .key_traps import has_all_frames
from .target import BakeRequest, ClipContent, Content, PendingBake, bake_parts, pending


def is_whole(obj: bpy.types.Object, bake: ThewBake) -> bool:
    """Returns whether a bake holds a key for each frame of every clip, and the length of a unit is known."""
    flesh = register.known_state(obj)
    known = flesh is not None and getattr(flesh, "place", None) is not None
    return has_all_frames(obj, bake) and (known or not obj.thew.made.flesh)


def compress(obj: bpy.types.Object, scene: bpy.types.Scene, bake: ThewBake, name: str, tolerance: float) -> Task:
    """Builds the task that writes the clips of a bake, and of the same one of riders, as Compressed Keys called `name`.

    Returns `BakeResult`. `tolerance`: metres. The bake itself stays.
    """
    target, label = targets.target_by_key("COMPRESSED"), bake.name
    owners = [obj, *(each for each in joining.riders(obj) if has_frames(each, label))]
    request, parts = BakeRequest(name, bake.space, tolerance, settings=bake.settings), []
    for each in owners:
        target.check(each)
        parts.append(part_of(each, obj, scene, saved_bakes.named(each, label), request))
        bake_records.check(each, target, parts[-1].request, [clip.plan for clip in parts[-1].clips])
    for i, part in enumerate(parts):
        yield from span(target.pack(part), i / len(parts), (i + 1) / len(parts))
    names = bake_parts(target, parts, [lambda each=each: bakes.show(each, True) for each in owners])
    for each in owners:
        key_playing.follow_shown(each)
    return result(owners, target, parts[0], names[0], scene)


def result(owners: list[bpy.types.Object], target, part: PendingBake, names: list[str], scene) -> BakeResult:
    """Returns the result for the first of these objects."""
    return baking.result_of(owners, target, part.request, names, [clip.plan for clip in part.clips], [], scene)


def has_frames(obj: bpy.types.Object, name: str) -> bool:
    """Returns whether a rider has the whole bake of this name."""
    bake = saved_bakes.named(obj, name)
    return bake is not None and is_whole(obj, bake)


def part_of(
    obj: bpy.types.Object, body: bpy.types.Object, scene: bpy.types.Scene, bake: ThewBake, request: BakeRequest
) -> PendingBake:
    """Returns the bake of one object that is about to be packed, with the frames of its former one."""
    metres, basis = metres_of(obj, body, scene), key_positions(obj.data.shape_keys.reference_key)
    clips = []
    for clip in bake.clips:
        rows = np.stack([key_positions(key) - basis for key in writing.keys_named(obj, clip.keys.splitlines())])
        clips.append(ClipContent(plan_of(clip), Content(rows, bake.space), metres))
    return pending(obj, request, scene, clips)


def plan_of(clip: ThewClip) -> ClipPlan:
    """Returns the plan of a clip as it was baked."""
    slot = animation.slot_named(clip.action, clip.bones_slot) if hasattr(clip.action, "slots") else None
    return ClipPlan(clip.start, clip.end, clip.fps, clip.action, slot, clip.played)


def metres_of(obj: bpy.types.Object, body: bpy.types.Object, scene: bpy.types.Scene) -> float:
    """Returns the length in metres of the character of a unit of an object's space; without flesh, in those of the scene."""
    flesh, matrix = register.known_state(body), np.array(obj.matrix_world, dtype=np.float64)
    if flesh is not None and getattr(flesh, "place", None) is not None:
        return metres_per_unit(flesh, matrix, flesh.place_at(np.array(body.matrix_world, dtype=np.float64)))
    return units.metres_per_unit(scene) * float(np.linalg.norm(matrix[:3, :3], ord=2))
