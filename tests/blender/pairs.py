# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds small characters side by side whose flesh presses into each other, and measures where they meet."""

from __future__ import annotations

import bpy
import numpy as np
from helpers import activate, flesh_of, make_armature, make_body, part, world

#: How far apart the middles of the two stand: their skins overlap by 0.08 at the belly.
APART = 0.56


def make_neighbour(name, x, flesh=True, **settings) -> bpy.types.Object:
    """Builds a small character that stands still at `x` and touches other flesh; it is the active object."""
    armature = make_armature(f"{name}'s rig")
    body = make_body(armature, name=name, rings=25, sides=16)
    armature.location.x = body.location.x = x
    bpy.context.view_layer.update()
    chosen = {"use_contact": True, "self_contact": False, "use_other_flesh": True, "elastic_joints": 1.0, **settings}
    for key, value in chosen.items():
        setattr(body.thew, key, value)
    activate(body)
    if flesh:
        assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    return body


def make_pair() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Builds Anna, and Bert at her right, over frames 1 to 12."""
    bpy.context.scene.frame_end = 12
    return make_neighbour("Anna", 0.0), make_neighbour("Bert", APART)


def move_in(body) -> None:
    """Keys a neighbour to come from where it touches nothing to where it stands, within frames 1 to 8."""
    armature = body.modifiers["Armature"].object
    x = armature.location.x
    for obj in (armature, body):
        for frame, far in ((1, 0.2), (8, 0.0)):
            obj.location.x = x + far
            obj.keyframe_insert("location", frame=frame)


def room(left, right, frame=12) -> float:
    """Returns the room between two skins along x at a frame; negative: overlap."""
    bpy.context.scene.frame_set(frame)
    return float(world(right)[:, 0].min() - world(left)[:, 0].max())


def overlap_count(left, right, frame=12) -> int:
    """Counts the vertices of either skin that lie in the other at a frame."""
    thew = part("logic.native").core()
    bpy.context.scene.frame_set(frame)
    found = 0
    for one, other in ((left, right), (right, left)):
        other.data.calc_loop_triangles()
        triangles = np.array([triangle.vertices[:] for triangle in other.data.loop_triangles])
        surface = thew.Surface(np.ascontiguousarray(world(other), float), triangles)
        found += np.count_nonzero(surface.winding_number(np.ascontiguousarray(world(one), float)) > 0.5)
    return found


def push_force(body, frame=12) -> np.ndarray:
    """Returns the force of other flesh on a body in a frame of its clip, N."""
    flesh = flesh_of(body)
    contacts = flesh.clip.contacts(frame - flesh.clip_start)
    return contacts.forces[contacts.other_bodies != contacts.bodies].sum(axis=0)
