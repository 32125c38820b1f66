# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of bakes in the .blend: which clips a new bake joins or replaces, and what is kept of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import join_few
from ..saved import bakes as saved_bakes
from ..saved.bakes import ThewBake, ThewClip
from ..scene import bakes, libraries, writing
from .clip_plans import ClipPlan

if TYPE_CHECKING:
    from .target import BakeRequest, PendingBake, Target

#: Clips that a sentence names. More than a dialog's line holds are counted.
MAX_NAMED = 6


def check(obj: bpy.types.Object, target: Target, request: BakeRequest, plans: list[ClipPlan]) -> None:
    """Refuses a bake under a name that another kind of bake has, or beside clips of another space."""
    if hasattr(target, "check_request"):
        target.check_request(request)
    if hasattr(target, "check_plans"):
        target.check_plans(obj, request, plans)
    bake = saved_bakes.named(obj, request.name)
    if bake is None:
        return
    if bake.kind != target.key:
        raise Refusal(
            f"{describe(obj)} has another kind of bake called “{bake.name}”: choose another name, or remove that one"
        )
    kept = [clip for clip in bake.clips if not is_replaced(clip, request, plans)]
    if len(kept) < len(bake.clips) and libraries.is_library_entry(obj, "bakes", obj.thew.bakes.find(bake.name)):
        raise Refusal(
            f"The bake “{bake.name}” of {describe(obj)} belongs to {libraries.describe_library(obj)} and cannot be replaced here: give the "
            "new bake a name of its own in Bake As…"
        )
    if kept and bake.space != request.space and not hasattr(target, "space"):
        space = "Flesh Alone" if bake.space == "REST" else "Flesh and Bones"
        raise Refusal(
            f"The bake “{bake.name}” of {describe(obj)} has Keys Hold at {space} and keeps {clip_words(kept)}: set it to {space} too, bake all "
            "of its clips, or give the new bake a name of its own"
        )


def clip_words(clips: list[ThewClip]) -> str:
    """Returns the clips in words; of many the first ones and the number of the others."""
    return join_few(["its scene range" if clip.is_scene else f"“{clip.label}”" for clip in clips], MAX_NAMED)


def is_replaced(clip: ThewClip, request: BakeRequest, plans: list[ClipPlan]) -> bool:
    """Returns whether a clip of the bake goes when these plans are baked into it: they are baked anew, or all others go."""
    if request.replace:
        return True
    for plan in plans:
        if plan.action is None and clip.is_scene:
            return True
        if (
            plan.action is not None
            and plan.action in {clip.action, clip.curves}
            and clip.bones_slot in {"", plan.slot_identifier}
        ):
            return True
    return False


def replaced_remarks(obj: bpy.types.Object, request: BakeRequest, plans: list[ClipPlan]) -> list[str]:
    """Returns the remark on frames of the scene that a bake had and that the new one does not hold."""
    bake = saved_bakes.named(obj, request.name)
    clip, plan = bake.scene_clip if bake is not None else None, next((p for p in plans if p.action is None), None)
    if clip is None or plan is None or (plan.start <= clip.start and clip.end <= plan.end):
        return []
    had = f"frames {clip.start} to {clip.end}" if clip.start < clip.end else f"frame {clip.start}"
    return [f"It replaces {had} of the bake “{bake.name}”: Bake As… keeps both under two names"]


def former(pending: PendingBake) -> ThewBake | None:
    """Returns the bake that the new clips join or replace; None where there is none of that name."""
    return saved_bakes.named(pending.obj, pending.request.name)


def replaced(pending: PendingBake) -> list[ThewClip]:
    """Returns the clips of the bake that the new ones replace. (Blender moves them in memory when another one is added.)"""
    bake, plans = former(pending), [each.plan for each in pending.clips]
    return [] if bake is None else [clip for clip in bake.clips if is_replaced(clip, pending.request, plans)]


def kept(pending: PendingBake) -> list[ThewClip]:
    """Returns the clips of the bake that stay."""
    bake, plans = former(pending), [each.plan for each in pending.clips]
    return [] if bake is None else [clip for clip in bake.clips if not is_replaced(clip, pending.request, plans)]


def store(pending: PendingBake, target: Target, names: list[str]) -> None:
    """Records a bake that was swapped in beside the clips that it replaces, which `finish` takes away. `names`: of what was made."""
    obj, request, plans = pending.obj, pending.request, [each.plan for each in pending.clips]
    bake = former(pending)
    if bake is None:
        bake = obj.thew.bakes.add()
        bake.name, bake.kind = request.name, target.key
    goes_of = [is_replaced(clip, request, plans) for clip in bake.clips]
    left = {name for clip, goes in zip(bake.clips, goes_of, strict=True) if goes for name in clip.keys.splitlines()}
    stays = not all(goes_of)
    bake.keys = "\n".join([*(name for name in bake.key_names if stays and name not in left), *names])
    for name, value in pending.bake_notes.items():
        setattr(bake, name, value)
    bake.space, bake.tolerance, bake.settings = pending.clips[0].content.space, request.tolerance, request.settings
    bake.miss = (
        max(each.content.miss for each in pending.clips)
        if not stays
        else max(bake.miss, *(each.content.miss for each in pending.clips))
    )
    for at in range(len(pending.clips)):
        fill(bake.clips.add(), pending, at)
    pending.gone = [index for index, goes in enumerate(goes_of) if goes]


def finish(pending: PendingBake) -> None:
    """Takes away the records of clips that were replaced, and makes the bake the one that plays."""
    obj, bake = pending.obj, former(pending)
    # Only now, so that the new clips inherit what was made for the former ones.
    for index in reversed(pending.gone):
        writing.release(obj, bake.clips[index])
        bake.clips.remove(index)
    saved_bakes.choose(obj, bake)


def keep(pending: PendingBake) -> dict[str, Any] | None:
    """Returns what `restore` needs of the record that `store` changes; None where there is none yet."""
    bake = former(pending)
    if bake is None:
        return None
    values = {each.identifier: getattr(bake, each.identifier) for each in bake.bl_rna.properties if is_value(each)}
    return values | {"clips": len(bake.clips)}


def is_value(each: bpy.types.Property) -> bool:
    """Returns whether a property of a record holds one value that can be set."""
    return each.type not in {"COLLECTION", "POINTER"} and not each.is_readonly


def restore(pending: PendingBake, kept: dict[str, Any] | None) -> None:
    """Undoes `store`, also an unfinished one."""
    bake, bakes = former(pending), pending.obj.thew.bakes
    if kept is None:
        if bake is not None:
            bakes.remove(bakes.find(bake.name))
        return
    for name, value in kept.items():
        if name != "clips":
            setattr(bake, name, value)
    while len(bake.clips) > kept["clips"]:
        bake.clips.remove(len(bake.clips) - 1)


def fill(clip: ThewClip, pending: PendingBake, at: int) -> None:
    """Fills the record of a new clip."""
    each = pending.clips[at]
    plan, worst = each.plan, pending.worst[at] if pending.worst else each.content.worst
    if plan.action is not None:
        clip.name, clip.action, clip.bones_slot = plan.action.name, plan.action, plan.slot_identifier
    clip.start, clip.end, clip.fps, clip.played = plan.start, plan.end, plan.fps, plan.played
    clip.error, clip.error_frame, clip.error_vertex = each.metres * worst.distance, worst.frame, worst.vertex
    for name, value in (pending.notes[at] if pending.notes else {}).items():
        setattr(clip, name, value)


def describe_clips(bake: ThewBake) -> str:
    """Returns the clips of a bake in words, for a list."""
    return ", ".join(clip.label for clip in bake.clips)


def rename(obj: bpy.types.Object, others: list[bpy.types.Object], name: str, new: str) -> None:
    """Renames a bake of an object, and those of the same name of its riders; refused for all if it is for one."""
    having = [obj, *(other for other in others if saved_bakes.named(other, name) is not None)]
    for each in having[1:]:
        if new != name and saved_bakes.named(each, new) is not None:
            raise Refusal(f"{describe(each)} has a bake “{new}” already: choose another name")
    for each in having:
        bakes.rename(each, name, new)
