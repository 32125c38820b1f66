# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of helper bones on an object: shown, hidden and removed; and the curves of the bones in the actions of their clips.

The curves lie in the armature's own slot, so that every exporter writes them with the other bones. An action without them leaves
helper bones where the one before had them: they are put to rest whenever the armature plays such an action.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import plural
from ..saved import bakes as saved_bakes
from ..saved.bakes import ThewBake, ThewClip
from . import animation, helper_bones, helper_weights, poses, writing
from .armature_actions import REST_VALUES
from .helper_bones import bone_path
from .key_curves import CurvePlace
from .key_playing import moving_armature
from .own_skin import helper_names

#: Key of this kind of bake.
KIND = "HELPER_BONES"
#: Channels of a helper bone, and the number of their curves.
CHANNELS = {"location": 3, "rotation_quaternion": 4, "scale": 3}


def describe_bake(obj: bpy.types.Object, bake: ThewBake) -> str:
    """Returns the number of helper bones in words; "" where none is left."""
    armature = moving_armature(obj)
    count = len(helper_names(armature, bake.token)) if armature is not None and bake.token else 0
    return plural(count, "helper bone") if count else ""


def show(obj: bpy.types.Object, bake: ThewBake, on: bool) -> None:
    """Gives the mesh the weights of a bake, or the artist's own. While poses are read, another action may play."""
    armature = moving_armature(obj)
    if on and armature is not None:
        helper_weights.show(obj, bake.token)
    elif helper_weights.shown_token(obj.data) == bake.token:
        helper_weights.hide(obj)
    if armature is None or not bake.token:
        return
    shown = on or any(helper_weights.shown_token(other.data) == bake.token for other in sharers(obj, bake.token))
    for name in helper_names(armature, bake.token).values():
        bone = armature.data.bones[name]
        if bone.use_deform != shown:  # exporters of deforming bones leave out those of a hidden bake
            bone.use_deform = shown
    if on and not poses.silence_depth:
        follow(obj)


def is_shown(obj: bpy.types.Object) -> bool:
    """Returns whether the bake that plays is one of helper bones, and the mesh has its weights."""
    bake = saved_bakes.playing(obj)
    return (
        bake is not None and bake.kind == KIND and bool(bake.token)
        and helper_weights.shown_token(obj.data) == bake.token
    )  # fmt: skip


def follow(obj: bpy.types.Object) -> None:
    """Puts the helper bones of the bake that plays to rest where nothing that the armature plays moves them."""
    bake, armature = saved_bakes.playing(obj), moving_armature(obj)
    if bake is None or bake.kind != KIND or armature is None:
        return
    names = list(helper_names(armature, bake.token).values())
    if names and not any(animation.animates(armature, bone_path(name)) for name in names):
        rest(armature, names)


def rest(armature: bpy.types.Object, names: list[str]) -> None:
    """Puts bones to rest relative to their parents."""
    for name in names:
        bone = armature.pose.bones.get(name)
        for channel in CHANNELS if bone is not None else ():
            if tuple(getattr(bone, channel)) != REST_VALUES[channel]:
                setattr(bone, channel, REST_VALUES[channel])


def sharers(obj: bpy.types.Object, token: str) -> list[bpy.types.Object]:
    """Returns the other meshes with the same bake on the same armature, as after the object was duplicated."""
    armature = moving_armature(obj)
    return [other for other in holders(token) if other != obj and moving_armature(other) == armature]


def holders(token: str) -> list[bpy.types.Object]:
    """Returns the meshes of the file with a bake of this token."""
    meshes = (obj for obj in bpy.data.objects if obj.type == "MESH")
    return [obj for obj in meshes if any(bake.token == token for bake in obj.thew.bakes)]


# curves ---------------------------------------------------------------------------------------------------------------


def place_of(clip: ThewClip) -> CurvePlace | None:
    """Returns the place of the curves of a clip's helper bones; None where it is gone."""
    action = clip.curves or clip.action
    if action is None or not clip.moves_bones:
        return None
    if not hasattr(action, "slots"):
        return CurvePlace(action)
    slot = animation.slot_named(action, clip.slot)
    return None if slot is None else CurvePlace(action, slot)


def write_curves(place: CurvePlace, bone: str, times: np.ndarray, channels: dict[str, np.ndarray]) -> None:
    """Animates a bone through values [f, 3 or 4] at `times` [f] of curves: linear between them and constant outside."""
    bag = animation.ensure_bag(place.action, place.slot)
    group = bag.groups.get(bone) or bag.groups.new(bone)
    for name, values in channels.items():
        for index, row in enumerate(values.T):
            try:
                curve = bag.fcurves.new(bone_path(bone) + name, index=index)
            except RuntimeError as error:
                raise Refusal(
                    f"Blender refused a curve in {describe(place.action)} ({error}): is it of another file?"
                ) from error
            curve.group = group
            curve.keyframe_points.add(len(times))
            points = np.stack([times, row], axis=1).astype(np.float32)
            curve.keyframe_points.foreach_set("co", points.ravel())
            curve.keyframe_points.foreach_set("interpolation", np.full(len(times), LINEAR, dtype=np.int32))
            curve.extrapolation = "CONSTANT"
            curve.update()


#: Number of linear interpolation in Blender's enumeration.
LINEAR = 1


def drop_curves(place: CurvePlace, names: list[str]) -> None:
    """Removes the curves of bones, and their groups."""
    starts = tuple(bone_path(name) for name in names)
    curves = place.curves()
    for curve in [each for each in curves if each.data_path.startswith(starts)]:
        curves.remove(curve)
    if not names or (hasattr(place.action, "slots") and not len(curves)):
        return
    groups = animation.ensure_bag(place.action, place.slot).groups
    for group in [each for each in groups if each.name in names and not len(each.channels)]:
        groups.remove(group)


# removing -------------------------------------------------------------------------------------------------------------


def check_removable(obj: bpy.types.Object, bake: ThewBake) -> None:
    """Refuses an object whose armature cannot be edited at present."""
    armature = moving_armature(obj)
    if armature is None or not helper_names(armature, bake.token) or sharers(obj, bake.token):
        return
    if bpy.context.view_layer.objects.get(armature.name) != armature:
        raise Refusal(
            f"{describe(armature)}, which has the helper bones of {describe(obj)}, is not in this view layer: show its collection"
        )
    if armature.mode == "EDIT":
        raise Refusal(f"{describe(armature)} is in edit mode: press Tab to leave it first")


def remove(obj: bpy.types.Object, bake: ThewBake) -> None:
    """Removes bones, curves and weights of a bake; a copy of the object that plays it keeps the bones and the curves."""
    check_removable(obj, bake)
    remove_parts(obj, bake.token, [place for clip in bake.clips if (place := place_of(clip)) is not None])
    made = [clip.curves for clip in bake.clips if clip.made_curves and clip.curves is not None]
    for clip in bake.clips:
        writing.release(obj, clip)
    for action in made:
        drop_made(action)
    bake.token = ""


def remove_parts(obj: bpy.types.Object, token: str, places: list[CurvePlace]) -> None:
    """Removes the weights of a bake from the mesh, and its bones and their curves in `places` where no copy has them."""
    if not token:
        return
    helper_weights.forget(obj, token)
    armature = moving_armature(obj)
    if armature is None:
        return
    names = list(helper_names(armature, token).values())
    others = [other for other in holders(token) if other != obj]
    taken = {
        place_of(clip) for other in others for bake in other.thew.bakes if bake.token == token for clip in bake.clips
    }
    for place in places:
        if place not in taken:
            drop_curves(place, names)
    if not sharers(obj, token):
        helper_bones.remove_bones(armature, token)


def drop_made(action: bpy.types.Action) -> None:
    """Removes an action that was made for a bake, once nothing is left in it."""
    if any(True for _ in animation.every_curve(action)):
        return
    for obj in bpy.data.objects:
        data = obj.animation_data
        if data is not None and data.action == action:
            data.action = None
            if not data.drivers and not data.nla_tracks:
                obj.animation_data_clear()
    if action.users == int(action.use_fake_user):
        bpy.data.actions.remove(action)
