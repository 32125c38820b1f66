# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape keys and deforming modifiers in front of the flesh: what they moved is turned along with the bones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import poses, reading
from .recipe import Stance


@dataclass
class Offsets:
    """What lets shape keys in front of the deformer show: which vertices they move and how bones turn them."""

    vertices: np.ndarray  # [s]
    weights: np.ndarray  # float32[s, b], rows that sum to one
    turns: np.ndarray  # float32[f, b, 9]: M^-1 T_b M0, linear parts, by rows
    rest: np.ndarray  # float32[3 n]
    full: np.ndarray  # float32[3, 3 n]: the columns of all vertices, rewritten in place
    written: bool = False  # the rest shape stands in the mesh's attribute

    def columns(self, index: int) -> np.ndarray:
        """The three columns of every vertex's blended matrix, float32[3, 3 n]."""
        blended = (self.weights @ self.turns[index]).reshape(-1, 3, 3)
        for column in range(3):
            self.full[column].reshape(-1, 3)[self.vertices] = blended[:, :, column]
        return self.full


def read_offsets(found: reading.Subject, character: reading.Character) -> Offsets | None:
    """What shape keys and deforming modifiers before the Armature modifier need; None when there are none of them."""
    from .writing import other_keys

    obj = found.obj
    keys = other_keys(obj)
    moved = np.zeros(len(character.rest), dtype=bool)
    if any(m.show_viewport for m in found.before()):
        moved[:] = True
    elif keys:
        for key in keys:
            relative = reading.key_positions(key.relative_key)
            difference = np.abs(reading.key_positions(key) - relative).max(axis=1)
            moved |= difference > 1e-7 * np.abs(relative).max(initial=0.0)
    else:
        return None
    vertices = np.flatnonzero(moved)
    weights = character.weights[vertices]
    total = weights.sum(axis=1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 1e-4)
    rest = np.ascontiguousarray(character.rest.astype(np.float32).ravel())
    full = np.zeros((3, len(rest)), dtype=np.float32)
    return Offsets(vertices, weights.astype(np.float32), np.empty(0, np.float32), rest, full)


def offset_turns(motion: poses.Motion, stance: Stance) -> np.ndarray:
    """M^-1 T_b M0 of every frame and bone, linear parts by rows, float32[f, b, 9]."""
    before = stance.mesh_matrix[:3, :3]
    after = np.linalg.inv(motion.matrices[:, :3, :3])
    turns = after[:, None] @ motion.maps[:, :, :3, :3] @ before
    return turns.reshape(*turns.shape[:2], 9).astype(np.float32)
