# SPDX-License-Identifier: GPL-3.0-or-later
"""A limb's shape under the hand: its handles where the character stands, dragged or by numbers, and fitted again."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic import limb_handles, limbs
from ..logic.errors import Refusal
from ..logic.limb_handles import Handle
from ..logic.native import core
from ..logic.spaces import inverse
from ..saved import edited
from ..saved.limbs import ThewLimb
from ..scene import limbs as scene_limbs
from .limbs import Met, met, model_of, subject


def keep(obj: bpy.types.Object, limb: ThewLimb, model) -> None:
    """The limb is this model from now on."""
    limb.model = limbs.packed(model)
    touched(obj)


def touched(obj: bpy.types.Object) -> None:
    """Limbs were edited: a lattice made of them is another."""
    if obj.thew.limb_lattice:
        edited.changed(obj.thew, None)


def atom_maps(obj: bpy.types.Object, limb: ThewLimb, model) -> np.ndarray:
    """How each atom's surroundings at rest go into the world as it is now, [atoms, 4, 4]."""
    maps = scene_limbs.pose_maps(obj, scene_limbs.chain(obj, limb))
    return maps[limbs.bones_of(model.knots, model.joints)]


def handles(obj: bpy.types.Object, limb: ThewLimb, model) -> tuple[list[Handle], np.ndarray]:
    """All handles and where they are in the world."""
    return limb_handles.handles(limbs.posed(core(), model, scene_limbs.pose_maps(obj, scene_limbs.chain(obj, limb))))


def drag(obj: bpy.types.Object, limb: ThewLimb, start, handle: Handle, world: np.ndarray, whole: bool) -> bool:
    """Drag a handle of `start`, the model as it was when it was taken hold of, to a place in the world; whether it stopped because the
    boundary would fold."""
    into = inverse(atom_maps(obj, limb, start)[handle.atom], f"A bone of the limb “{limb.name}”")
    target = into[:3, :3] @ world + into[:3, 3]
    model, stopped = limb_handles.dragged(core(), start, handle, target, whole)
    limb.model = limbs.packed(model)
    return stopped


def move(obj: bpy.types.Object, limb: ThewLimb, handle: Handle, offset: np.ndarray, factor: float) -> None:
    """Move an atom's hub by `offset` in the object's own space and make one spoke (-1: all) `factor` times as long; a `Refusal` where the
    boundary would fold."""
    thew, model = core(), model_of(limb)
    atoms, spokes = model.shape
    if not 0 <= handle.atom < atoms:
        raise Refusal(f"“{limb.name}” has no handle {handle.atom}: they are 0 to {atoms - 1}")
    if handle.spoke >= spokes:
        raise Refusal(f"“{limb.name}” has no spoke {handle.spoke}: they are 0 to {spokes - 1}, -1 for all")
    new = limb_handles.moved(thew, model, handle.atom, offset)
    new = limb_handles.stretched(thew, new, handle.atom, handle.spoke, factor)
    if new.legality() <= min(0.0, model.legality()):
        raise Refusal(
            f"The boundary of “{limb.name}” would fold there: move handle {handle.atom} less, or shorten its spokes"
        )
    keep(obj, limb, new)


def fit(context, obj: bpy.types.Object, limb: ThewLimb, hold: bool) -> Met:
    """Fit the limb to the skin that follows its bones, from where its atoms are, and tell how well it meets it. `hold`: hubs stay where
    they are."""
    thew, start = core(), model_of(limb)
    character, surface, skeleton = subject(context, obj)
    bones = scene_limbs.sound_chain(obj, character, limb)
    weights = thew.MRep.chain_weights(skeleton, character.weights, bones)
    held = np.arange(start.shape[0]) if hold else None
    found = start.fit(surface, held=held, weights=weights, stages=["atoms"])
    keep(obj, limb, found.mrep)
    return met(character, surface, bones, found)
