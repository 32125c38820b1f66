# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes that are made once more: the form in which a bake was written, and the one that the artist last chose."""

from __future__ import annotations

from typing import Any

import bpy

from ..logic.tasks import Task
from ..saved import bakes as saved_bakes
from ..saved.bakes import ThewBake
from ..scene import bake_files, bakes, libraries
from . import baking, targets
from .vertex_textures import image_of

#: Form of clips of actions where nothing was chosen yet: a key a frame of every action is more than engines take.
FIRST_CHOICE = "COMPRESSED"
#: The same for a mesh of a library, which takes no keys.
FIRST_CHOICE_OF_LIBRARY = "PC2"
#: Millimetres in a metre: the unit of the error in dialogs.
MILLIMETRES = 1e3
#: Choices in Bake As… beside the target and its errors, which have no first ones of their own.
FURTHER_CHOICES = ("name", "folder", "image", "bones", "influences", "regions")
#: All choices in Bake As… that are kept.
CHOICES = ("target", "tolerance", "rest_error", *FURTHER_CHOICES)


def values_of(bake: ThewBake) -> dict[str, Any]:
    """Returns the values of the operator `thew.bake` that write further clips into a bake, in its form."""
    values = {"target": bake.kind} | form_of(bake)
    if "tolerance" in values:
        values["tolerance"] *= MILLIMETRES
    if "rest_tolerance" in values:
        values["rest_error"] = values.pop("rest_tolerance") * MILLIMETRES
    if bakes.moves_bones(bake):  # bones are fitted to all clips at once
        values["anew"] = True
    return values


def form_of(bake: ThewBake) -> dict[str, Any]:
    """Returns the values of `baking.Wanted` that write further clips into a bake, in its form."""
    form = {"name": bake.name, "space": bake.space}
    if bake.tolerance > 0.0:
        form["tolerance"] = bake.tolerance
    if bake.regions > 1:
        form["regions"] = bake.regions
    if bake_files.files_of(bake.clips):
        form["image"] = image_of(bake)
    if bakes.moves_bones(bake):
        form |= {"bones": bake.bones, "influences": bake.influences, "rest_tolerance": bake.rest_tolerance}
    return form


def can_bake_again(obj: bpy.types.Object, bake: ThewBake) -> bool:
    """Returns whether the clips of a bake can be baked anew: its flesh is there, this version knows its form, and an action is left."""
    made = obj.thew.made
    if not (made.flesh or made.rides) or all(target.key != bake.kind for target in targets.TARGETS):
        return False
    return bake.scene_clip is not None or any(clip.action is not None for clip in bake.clips)


def bake_again(obj: bpy.types.Object, scene, view_layer, bake: ThewBake, kind: str = "", **changes) -> Task:
    """Builds the task that bakes all clips of a bake anew, and returns `BakeResult`.

    `kind`: key of another target; `changes`: other values of `baking.Wanted`.
    """
    clip, form, kind = bake.scene_clip, form_of(bake) | {"anew": True} | changes, kind or bake.kind
    names = tuple(clip.action.name for clip in bake.clips if clip.action is not None)
    if clip is not None:
        return baking.bake(obj, scene, view_layer, clip.start, clip.end, target_key=kind, **form)
    return baking.bake(obj, scene, view_layer, target_key=kind, clips="CHOSEN", actions=names, **form)


def action_values(obj: bpy.types.Object) -> dict[str, Any]:
    """Returns the values of the operator that bake actions of an object in one press.

    They join the bake that plays where it has clips of actions; else the form is that last chosen in Bake As….
    """
    bake, known = saved_bakes.playing(obj), {target.key for target in targets.TARGETS}
    if bake is not None and bake.kind in known and any(not clip.is_scene for clip in bake.clips):
        return values_of(bake)
    return chosen_values(obj)


def chosen_values(obj: bpy.types.Object) -> dict[str, Any]:
    """Returns the values of the operator that were last chosen in Bake As…, or its first ones."""
    choice, known = obj.thew.bake_choice, {target.key for target in targets.TARGETS}
    if choice.target not in known:
        return {"target": FIRST_CHOICE if libraries.owns_mesh(obj) else FIRST_CHOICE_OF_LIBRARY}
    values = {"target": choice.target, "rest_error": choice.rest_error}
    if choice.tolerance > 0.0:  # files of earlier versions keep errors that were refused
        values["tolerance"] = choice.tolerance
    return values | {name: getattr(choice, name) for name in FURTHER_CHOICES if getattr(choice, name)}


def choose(obj: bpy.types.Object, values: dict[str, Any]) -> None:
    """Keeps `CHOICES` of Bake As…."""
    for name, value in values.items():
        setattr(obj.thew.bake_choice, name, value)
