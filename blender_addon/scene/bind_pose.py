# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a character stood when its flesh was added, and how long it is."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.spaces import guess_height
from ..saved.units import metres_per_unit
from . import reading
from .character import longest_side, world_matrix


@dataclass(frozen=True)
class BindPose:
    """Where the character stood when its flesh was added, and how long it is; saved with the object."""

    mesh: tuple[float, ...]  # world matrix by rows
    armature: tuple[float, ...]
    longest_side: float
    guessed_height: float

    @staticmethod
    def read(found: reading.Subject, scene: bpy.types.Scene) -> BindPose:
        """As the scene shows it now."""
        side = longest_side(found, scene)
        return BindPose(
            tuple(world_matrix(found.obj).ravel().tolist()),
            tuple(world_matrix(found.armature).ravel().tolist()),
            float(np.float32(side)),
            float(np.float32(guess_height(side, metres_per_unit(scene)))),
        )

    @staticmethod
    def saved(obj: bpy.types.Object) -> BindPose:
        """As it was saved when flesh was added."""
        made = obj.thew.made
        return BindPose(tuple(made.mesh_rest), tuple(made.armature_rest), made.longest_side, made.guessed_height)

    def save(self, obj: bpy.types.Object) -> None:
        """Note it at the object."""
        made = obj.thew.made
        made.mesh_rest, made.armature_rest = self.mesh, self.armature
        made.longest_side, made.guessed_height = self.longest_side, self.guessed_height

    @property
    def mesh_matrix(self) -> np.ndarray:
        return np.array(self.mesh).reshape(4, 4)

    @property
    def armature_matrix(self) -> np.ndarray:
        return np.array(self.armature).reshape(4, 4)
