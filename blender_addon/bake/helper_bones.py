# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake target Helper Bones: bones beside the artist's own that move the skin as the flesh does, for engines without morph targets.

The core fits bones and weights to all clips together (`thew.helper_bones`, by `helper_fit`). The bones are children of the artist's, in
the same armature; their curves lie with those of the other bones, so each exporter writes them with its defaults.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

import bpy
import numpy as np

from ..logic import helper_motion
from ..logic.errors import Refusal, sentence
from ..logic.names import describe
from ..logic.sentences import significant
from ..logic.tasks import Task
from ..saved.bakes import ThewBake
from ..scene import animation, bakes, helper_bones, helper_playing, helper_weights, writing
from ..scene.helper_bones import NewBone
from ..scene.key_curves import CurvePlace, NewPlace
from ..scene.writing import ClipCurves
from . import bake_records, helper_checks, helper_fit
from .clip_plans import ClipPlan
from .helper_fit import HelperMotion
from .target import BakeRequest, Miss, PendingBake, Source

#: Distance from the plain skin, in metres, from which a bake tells what its resting bones do.
MIN_RESTING_MISS = 1e-3


def resting_remark(bake: ThewBake) -> str:
    """Returns the remark on the skin where helper bones rest; "" if it is the plain skin."""
    if bake.resting_error <= MIN_RESTING_MISS:
        return ""
    return f"up to {significant(1e3 * bake.resting_error)} mm from the plain skin where helper bones rest in poses of its clips, more in others"


@dataclass
class NewHelpers:
    """Parts of a bake that were made until now."""

    armature: bpy.types.Object
    token: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    names: list[str] = field(default_factory=list)
    clips: list[ClipCurves] = field(default_factory=list)
    former: tuple[str, list[CurvePlace]] | None = None  # mark and places of the bones that are replaced

    @property
    def places(self) -> list[CurvePlace]:
        """Returns the places of curves."""
        return list(dict.fromkeys(clip.new.place for clip in self.clips if clip.new is not None))


class HelperBones:
    """A few bones for all clips of a bake."""

    key, label = helper_playing.KIND, "Helper Bones"
    description = (
        "Bones in the armature that move the skin as the flesh does in all clips, for engines without morph targets"
    )
    space = "REST"

    def __init__(self) -> None:
        self.kind = bakes.Kind(
            self.key, helper_playing.describe_bake, helper_playing.show, helper_playing.remove, moves_bones=True
        )

    def check(self, obj: bpy.types.Object) -> None:
        """Refuses a mesh that bones could not move as its flesh does."""
        helper_checks.check_object(obj)

    def check_plans(self, obj: bpy.types.Object, request: BakeRequest, plans: list[ClipPlan]) -> None:
        """Refuses impossible numbers of bones, clips whose curves have no place, and those that would leave others of their bake."""
        helper_checks.check_request(request)
        for plan in plans:
            helper_checks.place_of(helper_checks.own_modifier(obj).object, plan)
        bake = obj.thew.bakes.get(request.name)
        if bake is not None and bake.kind == self.key:
            kept = [clip for clip in bake.clips if not bake_records.is_replaced(clip, request, plans)]
            helper_checks.check_joins(obj, request.name, kept)

    def leaves(self, obj: bpy.types.Object) -> bool:
        """Returns whether a rider stays as it is: one on a bone has no skin."""
        return helper_checks.own_modifier(obj) is None

    def result_remark(self, obj: bpy.types.Object, bake: ThewBake) -> str:
        """Returns the error of a bake in words, and what its resting bones do."""
        worst = max(bake.clips, key=lambda clip: clip.error)
        where = "the scene's range" if worst.is_scene else f"“{worst.label}”"
        text = f"The skin is up to {significant(1e3 * worst.error)} mm off, at frame {worst.error_frame} of {where}"
        return " ".join(sentence(each) for each in (text, resting_remark(bake)) if each)

    def prepare(self, source: Source, space: str) -> Task:
        """Builds the task that reads the vertices of each frame, and the bones along."""
        return (yield from helper_fit.read_clip(source))

    def pack(self, pending: PendingBake) -> Task:
        """Builds the task that fits the bones to all clips, and measures what they miss as they are written."""
        request = pending.request
        packed = yield from helper_fit.fit(pending.clips, request.bones, request.influences, request.rest_tolerance)
        if not packed.bones:
            raise Refusal(
                f"The flesh of {describe(pending.obj)} moves nowhere in these frames, so it needs no helper bones"
            )
        if packed.uneven:
            raise Refusal(
                f"Bones of {describe(pending.obj)} are scaled unevenly, which bones below them cannot undo: bake Compressed Keys"
            )
        pending.packed = packed
        pending.worst = [
            worst_miss(errors, each.plan.start, each.metres)
            for each, errors in zip(pending.clips, packed.errors, strict=True)
        ]

    def write(self, pending: PendingBake) -> None:
        """Makes the bones, writes their curves, and keeps their weights in the mesh, which still shows its own."""
        obj, packed = pending.obj, pending.packed
        armature = helper_checks.own_modifier(obj).object
        pending.made = new = NewHelpers(armature)
        parents = [bone.parent for bone in packed.bones]
        new.names = helper_motion.helper_names(parents, helper_bones.taken_names(armature))
        helper_bones.add_bones(
            armature, new.token,
            [NewBone(name, b.parent, b.head, b.tail) for name, b in zip(new.names, packed.bones, strict=True)],
        )  # fmt: skip
        for each, channels in zip(pending.clips, packed.clips, strict=True):
            clip = ClipCurves(each.plan.action, each.plan.start, each.plan.end, {})
            new.clips.append(clip)
            clip.new = place_for(armature, each.plan)
            writing.keep_range(clip, pending.stretch)
            write_clip(clip, new.names, channels, packed, pending.stretch)
        helper_weights.keep(obj, new.token, packed.own, new.names, packed.weights)

    def discard(self, pending: PendingBake) -> None:
        """Removes what an unfinished `write` has made."""
        new = pending.made
        if new is None:
            return
        helper_playing.remove_parts(pending.obj, new.token, new.places)
        for clip in new.clips:
            if clip.new is not None:
                writing.restore_range(clip)
                if clip.new.made_curves:
                    helper_playing.drop_made(clip.new.place.action)

    def swap(self, pending: PendingBake) -> list[str]:
        """Notes the bones of the bake that is replaced."""
        new, bake, request = pending.made, bake_records.former(pending), pending.request
        if bake is not None and bake.token:
            places = [place for clip in bake.clips if (place := helper_playing.place_of(clip)) is not None]
            new.former = bake.token, places
        pending.bake_notes = {
            "token": new.token, "resting_error": pending.packed.resting, "holds": pending.packed.holds, "bones": request.bones,
            "influences": request.influences, "rest_tolerance": request.rest_tolerance,
        }  # fmt: skip
        pending.notes = [clip_notes(clip) for clip in new.clips]
        return []

    def finish(self, pending: PendingBake) -> None:
        """Removes the bones of the bake that is replaced, whose names the new ones take."""
        obj, new = pending.obj, pending.made
        if new.former is not None:
            helper_playing.remove_parts(obj, *new.former)
        wanted = [bone.parent for bone in pending.packed.bones]
        names = helper_motion.helper_names(wanted, helper_bones.taken_names(new.armature, without=new.token))
        helper_bones.rename_bones(new.armature, new.token, names, new.places)
        helper_weights.rename_helpers(obj, new.token, names)


def worst_miss(errors: tuple[np.ndarray, np.ndarray], start: int, metres: float) -> Miss:
    """Returns the largest of `HelperMotion.errors` of a clip, in units of `metres` of the object; `start`: the first frame."""
    frame = int(errors[0].argmax())
    return Miss(float(errors[0][frame]) / metres, start + frame, int(errors[1][frame]))


def place_for(armature: bpy.types.Object, plan: ClipPlan) -> NewPlace:
    """Returns the place of the curves of a clip; an armature without any action gets one."""
    place = helper_checks.place_of(armature, plan)
    if place is not None:
        return NewPlace(place)
    action, slot = bpy.data.actions.new(f"{armature.name}Action"), None
    if hasattr(action, "slots"):
        slot = action.slots.new(id_type="OBJECT", name=armature.name)
    else:
        action.id_root = "OBJECT"
    animation.assign(armature.animation_data or armature.animation_data_create(), action, slot)
    return NewPlace(CurvePlace(action, slot), made_curves=True)


def write_clip(
    clip: ClipCurves, names: list[str], channels: helper_motion.Channels, packed: HelperMotion, stretch: float
) -> None:
    """Writes the curves of helper bones over one clip: at rest a frame before and after it, unless they hold their end poses."""
    helper_playing.drop_curves(clip.new.place, names)
    beyond = 0 if packed.holds else 1
    times = stretch * np.arange(clip.start - beyond, clip.end + beyond + 1, dtype=np.float64)
    for n, name in enumerate(names):
        turned = channels.rotation[:, n]
        rows = {
            "location": padded(channels.location[:, n], np.zeros(3), np.zeros(3)),
            # Both signs stand for no rotation: the one that is nearer turns nowhere on its way.
            "rotation_quaternion": padded(turned, nearer_rest(turned[0]), nearer_rest(turned[-1])),
        }
        if packed.has_scale:
            rows["scale"] = padded(channels.scale[:, n], np.ones(3), np.ones(3))
        if packed.holds:
            rows = {channel: values[1:-1] for channel, values in rows.items()}
        helper_playing.write_curves(clip.new.place, name, times, rows)


def padded(values: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Returns values [f, k] between two others [k]."""
    return np.concatenate([before[None], values, after[None]])


def nearer_rest(rotation: np.ndarray) -> np.ndarray:
    """Returns the quaternion of no rotation that has the sign of another one."""
    return np.array([-1.0 if rotation[0] < 0.0 else 1.0, 0.0, 0.0, 0.0])


def clip_notes(clip: ClipCurves) -> dict:
    """Returns what the record of a clip keeps of its curves."""
    place = clip.new.place
    return {
        "curves": None if place.action == clip.action else place.action, "slot": animation.identifier_of(place.slot),
        "moves_bones": True, "made_curves": clip.new.made_curves, "made_range": clip.made_range,
    }  # fmt: skip
