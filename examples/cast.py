# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures in the pictures: rigid pieces of our biped, and sticks for bones."""

from __future__ import annotations

import numpy as np

from assets.characters import implicit
from assets.characters.choreography import Pose
from assets.characters.figure import Figure, colours, eyeball
from examples.studio import Studio


class Pieces:
    """The limbs and the head of a figure, each a rigid mesh that goes with its bone."""

    def __init__(self, figure: Figure, bones: list[str], cell: float = 0.011) -> None:
        self.meshes = []
        for bone in bones:
            parts = [part for part in figure.parts if part.bone == bone]
            vertices, quads = implicit.mesh(parts, cell, figure.softness)
            tint = colours(Figure("", [], parts, figure.palette, cell=cell), vertices)
            self.meshes.append((bone, vertices, quads, tint))
        for eye in figure.eyes:
            vertices, faces, tint = eyeball(eye)
            triangles = [[f[0], f[i], f[i + 1]] for f in faces for i in range(1, len(f) - 1)]
            self.meshes.append((eye.bone, vertices, np.array(triangles), tint))

    def show(self, studio: Studio, pose: Pose, place, material) -> None:
        """All pieces in a pose."""
        for bone, vertices, faces, tint in self.meshes:
            there = pose.map(bone)
            studio.mesh(vertices @ there[:3, :3].T + there[:3, 3], faces, material, place, tint)


def sticks(studio: Studio, pose: Pose, place, radius: float, material) -> None:
    """Every bone of a pose as a rod between two balls, the pelvis' ends joined to the limbs."""
    figure = pose.figure
    for bone in figure.bones:
        there = pose.map(bone.name)
        head, tail = (there[:3, :3] @ np.array(end) + there[:3, 3] + place for end in (bone.head, bone.tail))
        studio.line([head, tail], radius, material)
        studio.ball(head, 1.5 * radius, material)
        studio.ball(tail, 1.5 * radius, material)
        if bone.parent:
            parent = pose.map(bone.parent)
            root = parent[:3, :3] @ np.array(figure.bone(bone.parent).tail) + parent[:3, 3] + place
            if np.linalg.norm(root - head) > 1e-6:
                near = parent[:3, :3] @ np.array(figure.bone(bone.parent).head) + parent[:3, 3] + place
                start = min((root, near), key=lambda end: float(np.linalg.norm(end - head)))
                studio.line([start, head], radius, material)
