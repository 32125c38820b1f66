# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds meshes with shape keys for tests of keyframed flesh, and reads and edits their keys and times."""

from __future__ import annotations

import math

import bpy
import numpy as np
from helpers import activate, make_character, part

SHAPES = {
    "Lean": lambda v: v + np.c_[0.3 * v[:, 2] ** 2, 0.0 * v[:, 0], 0.0 * v[:, 0]],
    "Squash": lambda v: v * (1.2, 1.2, 0.7),
    "Twist": lambda v: np.c_[
        v[:, 0] * np.cos(0.5 * v[:, 2]) - v[:, 1] * np.sin(0.5 * v[:, 2]),
        v[:, 0] * np.sin(0.5 * v[:, 2]) + v[:, 1] * np.cos(0.5 * v[:, 2]),
        v[:, 2],
    ],
}


def make_sack(name: str = "Sack", sides: int = 10, rings: int = 9, scale: float = 1.0, shapes=SHAPES):
    """Builds a closed tube, two units high, with a shape key for each of `shapes`; it is active."""
    vertices, faces = [], []
    for i in range(rings):
        radius = 0.5 + 0.1 * math.sin(math.pi * i / (rings - 1))
        for j in range(sides):
            angle = 2.0 * math.pi * j / sides
            vertices.append((radius * math.cos(angle), radius * math.sin(angle), 2.0 * i / (rings - 1)))
    for i in range(rings - 1):
        for j in range(sides):
            k = (j + 1) % sides
            faces.append((i * sides + j, i * sides + k, (i + 1) * sides + k, (i + 1) * sides + j))
    faces.append(tuple(reversed(range(sides))))
    faces.append(tuple((rings - 1) * sides + j for j in range(sides)))
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata((np.array(vertices) * scale).tolist(), [], faces)
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.shape_key_add(name="Basis")
    add_shapes(obj, {key: lambda v, make=make: scale * make(v / scale) for key, make in shapes.items()})
    bpy.context.view_layer.update()
    activate(obj)
    return obj


def add_shapes(obj, shapes) -> None:
    """Adds a shape key for each of `shapes`, made from the basis."""
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis")
    basis = np.array([v.co for v in obj.data.vertices])
    for name, make in shapes.items():
        key = obj.shape_key_add(name=name, from_mix=False)
        key.data.foreach_set("co", make(basis).ravel())
        key.value = 0.0  # Blender 5.0 makes them 1
    obj.active_shape_key_index = 0


def make_nodder():
    """Builds (mesh, armature), animated over frames 1 to 20, with two shape keys that leave the head alone."""
    body, rig = make_character()

    def belly(size):
        def make(v):
            bulge = np.exp(-(((v[:, 2] - 0.7) / 0.25) ** 2)) * (v[:, 2] < 1.2)
            return v + size * bulge[:, None] * np.array([1.0, 0.0, 0.0])

        return make

    add_shapes(body, {"In": belly(-0.08), "Out": belly(0.15)})
    head = body.vertex_groups.new(name="Face")
    head.add([v.index for v in body.data.vertices if v.co.z > 1.3], 1.0, "REPLACE")
    activate(body)
    return body, rig


def sculpt(obj, name: str) -> np.ndarray:
    """Returns a shape key's vertices, float32[n, 3]."""
    return part("scene.mesh").key_positions(obj.data.shape_keys.key_blocks[name])


def curve(obj):
    """Returns the curve that holds the times."""
    return part("scene.keyframe_times").curve_of(obj)


def times(obj) -> list[tuple[float, int]]:
    """Returns each time, with the index of the keyframe that is reached then."""
    return part("scene.keyframe_times").points(obj)


def drag(obj, point: int, frame: float, held: bool = False) -> None:
    """Drags a point of the curve, as the dope sheet does; while `held` it is not sorted and merged yet."""
    curve(obj).keyframe_points[point].co.x = frame
    if not held:
        curve(obj).update()
    obj.animation_data.action.update_tag()


def motion_of(obj):
    """Returns the motion that was built for an object."""
    return part("live.keyframed").register.known_state(obj).motion
