# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of the twist in Pose mode: the tube around each selected bone within which flesh turns with it."""

from __future__ import annotations

from contextlib import suppress

import bpy
import numpy as np

from ..edit import posed_character
from ..live import target
from ..live.session import register as fleshes
from ..logic.errors import Refusal
from ..logic.spaces import transform
from ..logic.twist import tube_lines, tubes
from ..scene import twist
from ..scene.reading import armature_of
from .viewing import Drawing, Overlay, draw_all

OWN_COLOUR, AUTOMATIC_COLOUR, OFF_COLOUR = (0.35, 0.95, 0.75, 0.95), (0.7, 0.9, 0.85, 0.4), (0.6, 0.6, 0.6, 0.35)


def drawings(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[Drawing]:
    """Returns the tubes around the selected bones of the armature of `obj`, posed as it is."""
    flesh, armature = fleshes.known_state(obj), armature_of(obj)
    if flesh is None or flesh.body is None or armature is None:
        return []
    chosen = set(twist.selected_bones(armature))
    chosen_tubes = [tube for tube in tubes(flesh.body, flesh.character.bones) if tube[0] in chosen]
    if not chosen_tubes:
        return []
    pose = posed_character.current_pose(obj, flesh, depsgraph)
    place = flesh.place_at(pose.mesh)
    maps = place.maps(pose.maps, flesh.place)
    found = []
    for name, head, tail, radius in chosen_tubes:
        bone = armature.data.bones.get(name)
        if bone is None:
            continue
        colour = AUTOMATIC_COLOUR
        if bone.thew.use_twist:
            radius = bone.thew.twist_radius * flesh.place.metres_per_unit
            colour = OWN_COLOUR if bone.thew.twist_strength > 0.0 else OFF_COLOUR
        lines = transform(maps[flesh.character.bones.index(name)], tube_lines(head, tail, radius).reshape(-1, 3))
        found.append((np.asarray(place.world(lines)).reshape(-1, 2, 3), colour, 1.5))
    return found


def draw(context: bpy.types.Context) -> None:
    """Draws the tubes of the target object while its bones are posed."""
    obj = target.target_mesh(context)
    if obj is None or obj.type != "MESH" or not obj.thew.made.flesh or not obj.thew.show_twist or not obj.visible_get():
        return
    armature = armature_of(obj)
    if armature is None or armature.mode != "POSE":
        return
    with suppress(Refusal):  # the panel shows why
        draw_all(drawings(obj, context.view_layer.depsgraph))


OVERLAYS = (Overlay(draw),)
