# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures of a recipe: the sway of a place, and the shapes of one frame for its picture."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from demo.characters import evaluated_positions
from demo.extension import flesh_of


@dataclass
class Take:
    """One state of a character over its clip."""

    title: str
    offsets: np.ndarray
    """Displacement of the flesh from its skin, metres, [f, n, 3]."""
    shapes: dict[int, list[np.ndarray]]
    """World positions of every mesh, by frame."""
    faces: list[list[int]]
    """Faces of the mesh with flesh."""

    def sway(self, place: np.ndarray) -> float:
        """Returns how far a place of the skin moves about its mean place beside the plain skin, mm.

        Largest in the clip, for the vertex that nine tenths of the place do not exceed.
        """
        own = self.offsets[:, place]
        return 1000.0 * float(np.quantile(np.linalg.norm(own - own.mean(axis=0), axis=2).max(axis=0), 0.9))

    def liveliest(self, place: np.ndarray) -> int:
        """Returns the index of the frame in which the place is farthest from its skin."""
        return int(np.argmax((self.offsets[:, place] ** 2).sum(axis=2).mean(axis=1)))


def poke(take: Take, place: np.ndarray) -> float:
    """Returns how deep a place of the first mesh (clothes) lies inside the second (the body) at worst, mm."""
    worst = 0.0
    for clothes, skin in take.shapes.values():
        tree = BVHTree.FromPolygons(skin.tolist(), take.faces)
        for point in clothes[place]:
            hit, normal, _, _ = tree.find_nearest(Vector(point))
            worst = max(worst, (hit - Vector(point)).dot(normal))
    return 1000.0 * worst


def take(title: str, obj: bpy.types.Object, meshes: list[bpy.types.Object], frames: list[int]) -> Take:
    """Simulates the flesh of an object and records it. `meshes`: those whose shapes are kept, at `frames` (scene frames)."""
    scene = bpy.context.scene
    bpy.ops.thew.simulate()
    flesh = flesh_of(obj)
    # The flesh itself, whatever shows it: in the scene's metres, by which pictures and places are measured.
    offsets = []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        offsets.append(np.asarray(flesh.offsets(frame), float) @ np.array(obj.matrix_world)[:3, :3].T)
    faces = [list(polygon.vertices) for polygon in obj.data.polygons]
    return Take(title, np.array(offsets), shapes(meshes, frames), faces)


def shapes(meshes: list[bpy.types.Object], frames: list[int]) -> dict[int, list[np.ndarray]]:
    """Returns the world positions of meshes as shown, by frame."""
    found = {}
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        found[frame] = [evaluated_positions(mesh) for mesh in meshes]
    return found
