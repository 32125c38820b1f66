# SPDX-License-Identifier: GPL-3.0-or-later
"""Number of compressed keys before a bake, from frames that are there: those of a bake of a key a frame, or of the live flesh.

Frames and vertices are a sample, and are read once for each opening of the dialog.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..live.flesh import Flesh
from ..live.session import register
from ..logic import key_counts
from ..logic.unskin import unskin
from ..scene import writing
from ..scene.mesh import basis_positions, key_positions
from .body_source import metres_per_unit


@dataclass(frozen=True)
class Sample:
    """Offsets of some frames and vertices before the armature acts."""

    rows: np.ndarray  # [f, n, 3] metres of the character
    source: str  # where they come from, in words


#: Samples by the object's name and the chosen clips; None where no frames are there.
_samples: dict[tuple, Sample | None] = {}
#: Numbers of keys by those and the error: a dialog is drawn at each move of the mouse.
_ranges: dict[tuple, tuple[int, int]] = {}


def forget() -> None:
    """Forgets all samples: the frames may be others now."""
    _samples.clear()
    _ranges.clear()


def key_range(
    obj: bpy.types.Object, scene: bpy.types.Scene, chosen: set[str] | None, tolerance: float
) -> tuple[int, int, str] | None:
    """Returns the smallest and the largest number of keys within `tolerance` metres, and whose frames tell; None without frames.

    `chosen`: names of actions; None: the scene's range.
    """
    name = obj.name_full, tuple(sorted(chosen)) if chosen is not None else None
    if name not in _samples:
        _samples[name] = bake_sample(obj, chosen) or (live_sample(obj, scene) if chosen is None else None)
    sample = _samples[name]
    if sample is None or not np.isfinite(tolerance) or tolerance <= 0.0:
        return None
    if (*name, tolerance) not in _ranges:
        _ranges[*name, tolerance] = key_counts.key_range(sample.rows, tolerance)
    return *_ranges[*name, tolerance], sample.source


def flesh_of(obj: bpy.types.Object) -> Flesh | None:
    """Returns the flesh of a body whose skeleton was read; None for others, such as riders."""
    flesh = register.known_state(obj)
    return flesh if isinstance(flesh, Flesh) and flesh.character is not None and flesh.place is not None else None


def bake_sample(obj: bpy.types.Object, chosen: set[str] | None) -> Sample | None:
    """Returns a sample of a bake in rest space that holds a key for each frame of all chosen clips; None without one."""
    flesh = flesh_of(obj)
    if flesh is None:
        return None
    for bake in obj.thew.bakes:
        clips = [
            clip
            for clip in bake.clips
            if (clip.is_scene if chosen is None else not clip.is_scene and clip.label in chosen)
        ]
        if bake.kind != "SHAPE_KEYS" or bake.space != "REST" or len(clips) != (1 if chosen is None else len(chosen)):
            continue
        keys = writing.keys_named(obj, (name for clip in clips for name in clip.keys.splitlines()))
        if not keys:
            continue
        picked, basis = (
            [keys[i] for i in key_counts.spread(len(keys), key_counts.MAX_FRAMES)],
            basis_positions(obj.data),
        )
        rows = np.stack([key_positions(key) - basis for key in picked])
        return Sample(thinned(rows) * metres_per_unit(flesh, flesh.bind_pose.mesh_matrix), f"the bake “{bake.name}”")
    return None


def live_sample(obj: bpy.types.Object, scene: bpy.types.Scene) -> Sample | None:
    """Returns a sample of the live flesh over the scene's range; None where it is not simulated there."""
    flesh, (first, last) = flesh_of(obj), obj.thew.frames(scene)
    if flesh is None or flesh.clip is None or not flesh.covers(first, last):
        return None
    frames = [first + int(i) for i in key_counts.spread(last - first + 1, key_counts.MAX_FRAMES)]
    posed = np.stack([flesh.offsets(frame) for frame in frames])
    picked = key_counts.moving_vertices(np.linalg.norm(posed, axis=2).max(axis=0))
    rows = np.stack(
        [rest_offsets(flesh, frame, picked, each[picked]) for frame, each in zip(frames, posed, strict=True)]
    )
    return Sample(rows * metres_per_unit(flesh, flesh.bind_pose.mesh_matrix), "the live flesh")


def rest_offsets(flesh: Flesh, frame: int, picked: np.ndarray, posed: np.ndarray) -> np.ndarray:
    """Returns offsets [k, 3] of some vertices before the armature acts, from those on the posed skin; object space."""
    at = frame - flesh.motion.start
    maps = np.tensordot(flesh.character.weights[picked], flesh.motion.maps[at][:, :3, :3], axes=1)
    world = posed @ flesh.motion.matrices[at][:3, :3].T
    return unskin(maps @ flesh.bind_pose.mesh_matrix[:3, :3], world)[0]


def thinned(rows: np.ndarray) -> np.ndarray:
    """Returns the offsets [f, n, 3] of some vertices alone."""
    return rows[:, key_counts.moving_vertices(np.linalg.norm(rows, axis=2).max(axis=0))]
