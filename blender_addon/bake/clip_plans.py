# SPDX-License-Identifier: GPL-3.0-or-later
"""The clips that a bake is to hold: the scene's range as it plays, chosen actions, or all of the armature's."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import Any

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import join_few, join_words
from ..saved import timing
from ..saved.bakes import ThewClip
from ..saved.choices import FRAME_RANGE
from ..scene import animation, armature_actions, own_skin
from ..scene.armature_actions import BoneAction, Soloist
from ..scene.key_playing import moving_armature

#: Which clips a bake takes, as items of Blender's enumeration.
CLIP_CHOICES = (
    ("SCENE", "Scene Range", "The frames of the scene as they play, with NLA, drivers and constraints"),
    ("CHOSEN", "Chosen Actions", "The actions that are named, each over its own frames, played alone"),
    (
        "ALL",
        "All Actions",
        "Every action of the armature, those of its NLA strips too, each over its own frames, played alone",
    ),
)


@dataclass(frozen=True)
class ClipPlan:
    """One clip that is to be baked."""

    start: int
    end: int
    fps: float
    action: bpy.types.Action | None = None  # None: the scene's range
    slot: Any = None  # for the armature; None before Blender 4.4
    played: bpy.types.Action | None = None  # the one action that the armature plays unchanged over the scene's range

    @property
    def name(self) -> str:
        """Returns the name of its action; "" for the scene's range."""
        return self.action.name if self.action is not None else ""

    @property
    def slot_identifier(self) -> str:
        """Returns the identifier of its slot; "" where it has none."""
        return animation.identifier_of(self.slot)

    @property
    def bones(self) -> BoneAction:
        """Returns the action for the armature."""
        return BoneAction(self.action, self.slot)

    @property
    def frames(self) -> list[int]:
        """Returns its frames."""
        return list(range(self.start, self.end + 1))


def scene_plan(obj: bpy.types.Object, scene: bpy.types.Scene, start: int, end: int) -> ClipPlan:
    """Returns the plan of the scene's range as it plays."""
    armature = moving_armature(obj)
    played = animation.played_action(armature) if armature is not None else None
    action = played.action if played is not None and played.plain else None
    return ClipPlan(start, end, timing.frames_per_second(scene), played=action)


def action_plans(obj: bpy.types.Object, scene, choice: str, names: list[str]) -> tuple[list[ClipPlan], list[str]]:
    """Returns the plans of actions, and remarks on those that are left out.

    `choice`: CHOSEN, those with these names, or ALL. Raises a `Refusal` where there is no action, or a chosen one cannot be baked.
    """
    armature = moving_armature(obj)
    if armature is None:
        raise Refusal(f"{describe(obj)} has no armature whose actions could be baked: bake the scene's range")
    if armature.library is not None:
        raise Refusal(
            f"{describe(armature)} is linked from another file, where it plays no other action: make it local, or bake the scene's range"
        )
    if choice == "CHOSEN" and not names:
        raise Refusal(f"No action of {describe(armature)} is chosen: name some, or bake all")
    if choice == "CHOSEN":
        return [plan_of(chosen_action(armature, name), scene) for name in dict.fromkeys(names)], []
    found, plans, left = armature_actions.all_actions(armature), [], []
    for each in found:
        if is_foreign(each.action):
            left.append(f"“{each.action.name}”")
        else:
            plans.append(plan_of(each, scene))
    plans = list({plan.action: plan for plan in reversed(plans)}.values())[::-1]
    if not plans:
        raise Refusal(f"{describe(armature)} has no action that could be baked: bake the scene's range, or give it one")
    was, they = ("was", "it comes") if len(left) == 1 else ("were", "they come")
    return plans, [
        f"{join_words(left)} {was} left out, because {they} from another file: make local what is to be baked"
    ] if left else []


def plan_again(obj: bpy.types.Object, scene, clip: ThewClip) -> ClipPlan:
    """Returns the plan of a clip that was baked before; raises a `Refusal` where its action is gone or cannot be baked."""
    if clip.is_scene:
        return scene_plan(obj, scene, clip.start, clip.end)
    if clip.action is None:
        raise Refusal(f"the action “{clip.name}” is deleted")
    return action_plans(obj, scene, "CHOSEN", [clip.action.name])[0][0]


def chosen_action(armature: bpy.types.Object, name: str) -> BoneAction:
    """Returns the action with a name that was chosen; raises a `Refusal` for one that the armature cannot play."""
    action, rig = bpy.data.actions.get(name), describe(armature)
    if action is None:
        known = [each.action.name for each in armature_actions.all_actions(armature)]
        near, words = nearest_name(name, known), join_words([f"“{each}”" for each in known]) or "none"
        hint = f"; is “{near}” meant? The" if near else "; the"
        raise Refusal(f"There is no action “{name}”{hint} actions of {rig} are: {words}")
    if is_foreign(action):
        raise Refusal(f"The action “{name}” comes from another file, where no curves can be added: make it local")
    if hasattr(action, "slots") and not animation.slots_of(action, "OBJECT"):
        raise Refusal(f"The action “{name}” has no slot for an object: assign it to {rig} and key a bone")
    found = armature_actions.suitable_action(armature, action)
    if found is None:
        raise Refusal(f"The action “{name}” moves none of the bones of {rig}: choose one of its own actions")
    return found


def nearest_name(wanted: str, names: list[str]) -> str:
    """Returns the name that holds `wanted` as a part, such as `Rig|Walk` for `walk`, or else is spelt most like it; "" without one."""
    plain = {name.casefold(): name for name in names}
    holding = [name for name in plain if wanted.casefold() in name]
    near = [min(holding, key=len)] if holding else difflib.get_close_matches(wanted.casefold(), plain, 1)
    return plain[near[0]] if near else ""


def is_foreign(action: bpy.types.Action) -> bool:
    """Returns whether an action belongs to another file."""
    return action.library is not None or action.override_library is not None


def plan_of(each: BoneAction, scene: bpy.types.Scene) -> ClipPlan:
    """Returns the plan of an action over its frames: whole ones, from the last before it begins to the first after it ends."""
    first, last = (timing.frame_at(scene, time) for time in each.action.frame_range)
    if not (math.isfinite(first) and math.isfinite(last)) or first < FRAME_RANGE[0] or last > FRAME_RANGE[1]:
        raise Refusal(f"The action “{each.action.name}” reaches beyond Blender's frames: move its keys")
    # Curves keep times in single precision: a key at 20.000002 is one at 20.
    start, end = math.floor(first + FRAME_ROUNDING), math.ceil(last - FRAME_ROUNDING)
    return ClipPlan(start, max(start, end), timing.frames_per_second(scene), each.action, each.slot)


#: Share of a frame by which rounding may move a key. Blender's times have 7 digits, so this holds up to frame 10,000.
FRAME_ROUNDING = 1e-3


def unkeyed_remark(soloist: Soloist, plans: list[ClipPlan]) -> str:
    """Returns the remark on bones that are posed now and have no key in an action that is baked, where they rest; "" without any.

    Importers leave bones in the pose of another action. The view shows them there while the action is active, and its clip does not.
    """
    armature = soloist.armature
    helpers = {bone.name for bone in armature.data.bones if own_skin.is_helper(bone)}
    posed = {plan.action.name: soloist.posed_without_keys(plan.bones) - helpers for plan in plans if plan.action}
    posed = {action: bones for action, bones in posed.items() if bones}
    if not posed:
        return ""
    names = [bone.name for bone in armature.pose.bones if any(bone.name in bones for bones in posed.values())]
    bones, actions = (join_few([f"“{name}”" for name in each], MAX_NAMES) for each in (names, list(posed)))
    one = len(names) == 1
    lack = "lack keys" if any(len(found) < len(names) for found in posed.values()) else "have no key"
    return (
        f"{bones} of {describe(armature)} {'is' if one else 'are'} posed and {'has no key' if one else lack} in {actions}: the bake has "
        f"{'it' if one else 'them'} at rest, as glTF writes {'it' if one else 'them'}; key {'it' if one else 'them'} there, or clear the pose"
    )


#: Maximum number of bones, and of actions, that a remark names.
MAX_NAMES = 3
