# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of the twist of bones: their first radius, and the bones of the other side."""

from __future__ import annotations

import bpy

from ..live.flesh import Flesh
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.twist import automatic_radius, bones_with_flesh


def check_bones(obj: bpy.types.Object, flesh: Flesh, bones: list[str]) -> None:
    """Refuses bones that carry no flesh of `obj`."""
    working = bones_with_flesh(flesh.body, flesh.character.bones)
    idle = next((bone for bone in bones if bone not in working), None)
    if idle is not None:
        raise Refusal(f"The bone “{idle}” carries no flesh of {describe(obj)}: choose a bone that its skin follows")


def radii(obj: bpy.types.Object, flesh: Flesh, bones: list[str], radius: float) -> list[float]:
    """Returns the radius for each bone, scene units: `radius`, or the automatic one where that is 0."""
    check_bones(obj, flesh, bones)
    if radius > 0.0:
        return [radius] * len(bones)
    # The automatic one of flesh whose bones may have a twist already.
    names = flesh.character.bones
    return [automatic_radius(flesh.automatic, names, bone) / flesh.place.metres_per_unit for bone in bones]


def mirror_pairs(
    armature: bpy.types.Object, sources: list[bpy.types.Bone]
) -> list[tuple[bpy.types.Bone, bpy.types.Bone]]:
    """Returns each bone with that of the other side; refuses bones without one."""
    pairs = []
    for source in sources:
        name = bpy.utils.flip_name(source.name)
        other = armature.data.bones.get(name)
        if name == source.name:
            raise Refusal(f"The name of the bone “{source.name}” has no side: names of pairs end in .L and .R")
        if other is None:
            raise Refusal(
                f"{describe(armature)} has no bone “{name}” on the other side of “{source.name}”: name or make it first"
            )
        pairs.append((source, other))
    return pairs
