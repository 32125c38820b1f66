# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed motion as a source of a bake: offsets from the basis, before any armature acts."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import keyframed
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.spaces import diagonal
from ..logic.tasks import Task
from ..saved import units
from ..saved.timing import curve_time
from ..scene.mesh import basis_positions
from . import measuring
from .target import Source


def source(obj: bpy.types.Object, scene, view_layer, frames: list[int]) -> Source:
    """Returns an object with computed keyframed motion as a source of a bake."""
    motion = keyframed.register.state_of(obj).motion

    def offset(i: int) -> np.ndarray:
        return motion.offsets(curve_time(scene, frames[i]))

    def differences(_active: set[int]) -> Task:
        return measuring.measure_offsets(scene, frames, offset)

    def accept() -> None:
        obj.thew.made.shows_bake = obj.thew.enabled = True
        keyframed.apply_state(obj)

    return Source(
        obj, None, scene, view_layer, frames, diagonal(basis_positions(obj.data)), offset, differences, accept,
        units.metres_per_unit(scene),
    )  # fmt: skip


def check_clips(obj: bpy.types.Object, clips: str) -> None:
    """Refuses other clips of keyframed motion than the scene's range."""
    if clips != "SCENE":
        raise Refusal(f"{describe(obj)} moves through its shape keys, over the scene's frames: bake the scene's range")
