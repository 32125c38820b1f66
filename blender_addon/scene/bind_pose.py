# SPDX-License-Identifier: GPL-3.0-or-later
"""Bind pose of a character: its transforms when flesh was added, its length, and the bones that carry its other meshes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

from ..logic import real_height
from ..logic.extents import MAX_COORDINATE
from ..logic.spaces import transform
from ..saved.units import metres_per_unit
from . import own_frame, reading
from .character import bones_elsewhere, longest_side, world_matrix
from .mesh import basis_positions


@dataclass(frozen=True)
class BindPose:
    """Transforms of the character when its flesh was added, its length, and the other bones it carries; saved with the object."""

    mesh: tuple[float, ...]  # world matrix by rows
    armature: tuple[float, ...]
    longest_side: float
    guessed_height: float
    elsewhere: tuple[str, ...]  # see `character.bones_elsewhere`

    @staticmethod
    def read(subject: reading.Subject, scene: bpy.types.Scene) -> BindPose:
        """Reads the bind pose from the scene at its own frame."""
        with own_frame.own_frame_if_animated(scene, subject.obj, subject.armature):
            side = longest_side(subject, scene)
            return BindPose(
                tuple(world_matrix(subject.obj).ravel().tolist()),
                tuple(world_matrix(subject.armature).ravel().tolist()),
                float(np.float32(side)),
                float(np.float32(guess_height(subject, side, scene))),
                bones_elsewhere(subject, scene),
            )

    @staticmethod
    def from_saved(obj: bpy.types.Object) -> BindPose:
        """Returns the bind pose that was saved when flesh was added."""
        made = obj.thew.made
        elsewhere = tuple(made.elsewhere.splitlines())
        return BindPose(
            tuple(made.mesh_rest), tuple(made.armature_rest), made.longest_side, made.guessed_height, elsewhere
        )

    def save(self, obj: bpy.types.Object) -> None:
        """Saves the bind pose with the object."""
        made = obj.thew.made
        made.mesh_rest, made.armature_rest = self.mesh, self.armature
        made.longest_side, made.guessed_height = self.longest_side, self.guessed_height
        made.elsewhere = "\n".join(self.elsewhere)

    @property
    def mesh_matrix(self) -> np.ndarray:
        return np.array(self.mesh).reshape(4, 4)

    @property
    def armature_matrix(self) -> np.ndarray:
        return np.array(self.armature).reshape(4, 4)


def guess_height(subject: reading.Subject, side: float, scene: bpy.types.Scene) -> float:
    """Returns the likely real height, metres: from units, scales, the stance of the skin, and names."""
    obj, armature = subject.obj, subject.armature
    rest = basis_positions(obj.data).astype(np.float64)
    rest = rest[(np.abs(rest) < MAX_COORDINATE).all(axis=1)]
    upright = len(rest) > 0 and real_height.stands_upright(transform(world_matrix(obj), rest))
    names = [obj.name, obj.data.name, armature.name, armature.data.name, Path(bpy.data.filepath).stem]
    names += [collection.name for collection in obj.users_collection]
    return real_height.guess(side, metres_per_unit(scene), upright, is_scaled(armature, scene), names)


def is_scaled(armature: bpy.types.Object, scene: bpy.types.Scene) -> bool:
    """Returns whether units were made metres on purpose.

    Either the scene has other units than metres, or the armature (or a parent of it) is scaled by a power of ten, as importers do.
    """
    if abs(metres_per_unit(scene) - 1.0) > 1e-6:
        return True
    scale = float(np.abs(np.linalg.det(np.array(armature.matrix_world)[:3, :3]))) ** (1.0 / 3.0)
    return any(abs(scale / power - 1.0) < 1e-3 for power in (0.001, 0.01, 0.1, 10.0, 100.0, 1000.0))
