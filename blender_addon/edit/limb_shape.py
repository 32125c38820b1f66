# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of a limb's shape: its handles on the posed character, dragged or moved by numbers, and fitted again."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic import limb_handles, limbs
from ..logic.errors import Refusal
from ..logic.limb_handles import Handle
from ..logic.native import core
from ..logic.spaces import inverse
from ..saved import edit_callbacks
from ..saved.limbs import ThewLimb
from ..scene import limbs as scene_limbs
from .limbs import FitQuality, fit_quality, model_of, rest_character


def keep(obj: bpy.types.Object, limb: ThewLimb, model) -> None:
    """Stores the model in the limb."""
    limb.model = limbs.pack(model)
    note_edit(obj)


def note_edit(obj: bpy.types.Object) -> None:
    """Notes that limbs were edited: a lattice made of them must be built again."""
    if obj.thew.limb_lattice:
        edit_callbacks.call_on_change(obj.thew, None)


def atom_maps(obj: bpy.types.Object, limb: ThewLimb, model) -> np.ndarray:
    """Returns the maps from each atom's surroundings at rest to the world at the present pose, [atoms, 4, 4]."""
    maps = scene_limbs.pose_maps(obj, scene_limbs.chain(obj, limb))
    return maps[limbs.atom_bones(model.knots, model.joints)]


def handles(obj: bpy.types.Object, limb: ThewLimb, model) -> tuple[list[Handle], np.ndarray]:
    """Returns all handles and their positions in the world."""
    return limb_handles.handles(
        limbs.pose_tube(core(), model, scene_limbs.pose_maps(obj, scene_limbs.chain(obj, limb)))
    )


def drag(obj: bpy.types.Object, limb: ThewLimb, start, handle: Handle, world: np.ndarray, whole: bool) -> bool:
    """Drags a handle of `start`, the model at the beginning of the drag, to a point of the world.

    Returns whether it stopped because the boundary would fold.
    """
    into = inverse(atom_maps(obj, limb, start)[handle.atom], f"A bone of the limb “{limb.name}”")
    target = into[:3, :3] @ world + into[:3, 3]
    model, stopped = limb_handles.drag_handle(core(), start, handle, target, whole)
    limb.model = limbs.pack(model)
    return stopped


def move(obj: bpy.types.Object, limb: ThewLimb, handle: Handle, offset: np.ndarray, factor: float) -> None:
    """Moves an atom's hub by `offset` in object space, and scales one spoke (-1: all) by `factor`.

    Raises a `Refusal` if the boundary would fold.
    """
    thew, model = core(), model_of(limb)
    atoms, spokes = model.shape
    if not 0 <= handle.atom < atoms:
        raise Refusal(f"“{limb.name}” has no handle {handle.atom}: they are 0 to {atoms - 1}")
    if handle.spoke >= spokes:
        raise Refusal(f"“{limb.name}” has no spoke {handle.spoke}: they are 0 to {spokes - 1}, -1 for all")
    new = limb_handles.move_hub(thew, model, handle.atom, offset)
    new = limb_handles.stretch_spoke(thew, new, handle.atom, handle.spoke, factor)
    if new.legality() <= min(0.0, model.legality()):
        raise Refusal(
            f"The boundary of “{limb.name}” would fold there: move handle {handle.atom} less, or shorten its spokes"
        )
    keep(obj, limb, new)


def fit(context, obj: bpy.types.Object, limb: ThewLimb, hold: bool) -> FitQuality:
    """Fits the limb to the skin that follows its bones, from its present atoms, and returns how well it meets the skin.

    `hold`: hubs stay where they are.
    """
    thew, start = core(), model_of(limb)
    character, surface, skeleton = rest_character(context, obj)
    bones = scene_limbs.sound_chain(obj, character, limb)
    weights = thew.MRep.chain_weights(skeleton, character.weights, bones)
    held = np.arange(start.shape[0]) if hold else None
    found = start.fit(surface, held=held, weights=weights, stages=["atoms"])
    keep(obj, limb, found.mrep)
    return fit_quality(character, surface, bones, found)
