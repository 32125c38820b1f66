# SPDX-License-Identifier: GPL-3.0-or-later
"""Rest space: keys that act before the armature, which stays live.

The key of frame f holds the flesh's offset from the skin, carried back through Blender's own skinning of that frame
(`skinning`, `logic.unskin`). Every engine with skinning and shape keys can play it, and between frames it follows the bones.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np

from ..logic.tasks import Task
from ..logic.unskin import unskin
from ..scene import poses
from ..scene.reading import Subject
from .skinning import Probe
from .target import Miss

#: Maximum number of corrections of a key where the armature's map depends on the position. By then a step rejected each
#: time has shrunk to a millionth, by `STEP_REDUCTION`.
MAX_CORRECTIONS = 12
#: Residual at which a key is accepted, as a part of the size: Blender evaluates in single precision.
RESIDUAL_TOLERANCE = 2e-6
#: Residual from which other starting points are tried, as a part of the size. Baking reports it from there on.
RESTART_RESIDUAL = 1e-4
#: Distances of these starting points, as parts of the size: about one segment of a bendy bone, and a few.
RESTART_DISTANCES = (0.01, -0.01, 0.03, -0.03, 0.1, -0.1)
#: Factor by which a rejected step is shortened: the map has kinks between the segments of a bendy bone.
STEP_REDUCTION = 0.3


def keys(
    subject: Subject, rest: np.ndarray, scene, view_layer, frames: list[int], offset: Callable[[int], np.ndarray]
) -> Task:
    """Builds the task that plays `frames` and returns `(keys float32[f, n, 3], Miss)`. The scene's frame is restored.

    `rest` [n, 3]: the vertices before the armature acts. `offset(i)` [n, 3]: the offset wanted on the posed skin of the
    i-th frame. The miss is the largest distance of a key from it, where the armature flattens the skin. All are in object space.
    """
    with poses.silence_handlers(), Probe(subject, rest, scene) as probe:

        def solve_frame(i: int, frame: int) -> tuple[np.ndarray, Miss]:
            key, misses = _solve_key(probe, view_layer, np.asarray(offset(i), dtype=np.float64))
            worst = int(misses.argmax())
            return key.astype(np.float32), Miss(float(misses[worst]), frame, worst)

        made = yield from poses.play_frames(scene, frames, solve_frame, "Working out the keys of frame")
    return np.stack([key for key, _ in made]), max((miss for _, miss in made), key=lambda miss: miss.distance)


def _solve_key(probe: Probe, view_layer: bpy.types.ViewLayer, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the key of the scene's current frame, and the miss of each vertex [n]."""
    start, blended = probe.read(view_layer.depsgraph)
    key, misses = unskin(blended, wanted)
    if not probe.bent:
        return key, misses

    def residual_and_map(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns `(left [n, 3], B [n, 3, 3])`: the residual of a key, and the skin's linear map there."""
        probe.place(probe.rest + key)
        view_layer.update()
        there, blended = probe.read(view_layer.depsgraph)
        return start + wanted - there, blended

    try:
        best, far, blended = refine_keys(
            residual_and_map, key, np.zeros_like(key), np.linalg.norm(wanted, axis=1), RESIDUAL_TOLERANCE * probe.size
        )
        # Where segments bend sharply the map folds, and a solution is only reached from the far side of the fold.
        lost = far > RESTART_RESIDUAL * probe.size
        if lost.any():
            along = np.linalg.svd(blended)[2][:, 2]  # the direction in which the skin is squeezed most
            reach = np.where(lost, probe.size, 0.0)[:, None] * along
            for side in RESTART_DISTANCES:
                best, far, _ = refine_keys(
                    residual_and_map, best + side * reach, best, far, RESIDUAL_TOLERANCE * probe.size
                )
    finally:
        probe.place(probe.rest)
    return best, far


def refine_keys(
    moved: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], key: np.ndarray, best: np.ndarray, far: np.ndarray,
    near: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Runs Newton's method from `key` [n, 3] at every vertex, and keeps results nearer than `best`, at distance `far` [n].

    `moved(key)` returns the residual and the map B. A step that increases the residual is shortened by `STEP_REDUCTION`.
    Returns the updated `(best, far, B)`.
    """
    at, left_at = key, np.full(len(key), np.inf)
    trial, share, blended_at = key, np.ones((len(key), 1)), np.tile(np.eye(3), (len(key), 1, 1))
    step = np.zeros_like(key)
    for _ in range(MAX_CORRECTIONS):
        left, blended = moved(trial)
        away = np.linalg.norm(left, axis=1)
        taken = away < left_at
        at = np.where(taken[:, None], trial, at)
        left_at = np.where(taken, away, left_at)
        blended_at = np.where(taken[:, None, None], blended, blended_at)
        if left_at.max(initial=0.0) <= near:
            break
        step = np.where(taken[:, None], unskin(blended, left)[0], step)
        share = np.where(taken[:, None], 1.0, STEP_REDUCTION * share)
        trial = at + share * step
    nearer = left_at < far
    return np.where(nearer[:, None], at, best), np.where(nearer, left_at, far), blended_at
