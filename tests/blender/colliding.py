# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts boxes with Collision physics beside a small character, and reads how they press its flesh."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
from helpers import activate, part, play

FRAMES = range(1, 13)
#: The box's near face comes from beside the character into its belly, whose skin lies at x = 0.32.
FAR, NEAR = 0.5, 0.22


def add_box(name="Bench", collide=True, moves=True, face=NEAR, half=0.4) -> bpy.types.Object:
    """Adds a box beside the belly whose near face comes from FAR to `face` within frames 1 to 8, or stands there."""
    mesh = bpy.data.meshes.new(name)
    shape = bmesh.new()
    bmesh.ops.create_cube(shape, size=2.0 * half)
    shape.to_mesh(mesh)
    shape.free()
    box = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(box)
    box.location = (face + half, 0.0, 0.7)
    if moves:
        box.keyframe_insert("location", frame=8)
        box.location.x = FAR + half
        box.keyframe_insert("location", frame=1)
    if collide:
        add_collision(box)
    bpy.context.view_layer.update()
    return box


def add_collision(obj, thickness=0.001, friction=30.0) -> None:
    obj.modifiers.new("Collision", "COLLISION")
    obj.collision.thickness_outer, obj.collision.cloth_friction = thickness, friction


def simulate(body) -> np.ndarray:
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return play(body, FRAMES)


def record_calls(monkeypatch, name="simulate") -> list[dict]:
    """Records the keyword arguments of each later call of the core's function."""
    core, calls = part("logic.native").core(), []
    real = getattr(core, name)
    monkeypatch.setattr(core, name, lambda *given, **named: calls.append(named) or real(*given, **named))
    return calls


def readings(monkeypatch) -> list[tuple]:
    """Records each later playing of frames that reads them."""
    poses, found = part("scene.poses"), []
    real = poses.read_motion
    monkeypatch.setattr(poses, "read_motion", lambda *given: found.append(given) or real(*given))
    return found


def reach_to_box(shapes) -> np.ndarray:
    """Returns how far the skin reaches towards the box in each frame."""
    return shapes[:, :, 0].max(axis=1)


def notes(body) -> str:
    return body.thew.made.notes


def clear_mesh(box) -> None:
    box.data.clear_geometry()
