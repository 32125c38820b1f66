# SPDX-License-Identifier: GPL-3.0-or-later
"""Rest space: keys that act before the armature, which stays live.

What a key of frame f holds is the flesh's offset from the skin, carried back through Blender's own skinning of that frame
(`skinning`, `logic.unskin`). Every engine that knows skin and shape keys plays it, and it keeps to the bones when poses
between the frames are asked for.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np

from ..logic.tasks import Task
from ..logic.unskin import unskinned
from ..scene import poses
from ..scene.reading import Subject
from .skinning import Probe

#: How often a key is corrected where the armature's map depends on the place. A step that led away each time is a millionth of itself by
#: then, by `SHORTER`.
ROUNDS = 12
#: Below this, of the size, the rest of the way is nobody's concern: Blender evaluates in single precision.
NEAR = 2e-6
#: Vertices that are farther away, of the size, are looked for from elsewhere too. From there on baking tells of them.
LOST = 1e-4
#: Distances from which they are, of the size: about a segment of a bendy bone, and a few.
SIDES = (0.01, -0.01, 0.03, -0.03, 0.1, -0.1)
#: A step that led away is tried again at so much of its length: at the borders of a bendy bone's segments the map has kinks.
SHORTER = 0.3


def keys(
    found: Subject, rest: np.ndarray, scene, view_layer, frames: list[int], offset: Callable[[int], np.ndarray]
) -> Task:
    """A task that plays `frames` and gives `(keys float32[f, n, 3], miss)`; the scene's frame is put back.

    `rest` [n, 3]: the vertices before the armature acts. `offset(i)` [n, 3]: what is wanted on the posed skin of the i-th
    frame. `miss`: the farthest that a key stays from it, where the armature flattens the skin. Object space, all of them.
    """
    with poses.playing(), Probe(found, rest, scene) as probe:

        def look(i: int, _frame: int) -> tuple[np.ndarray, float]:
            key, miss = _key(probe, view_layer, np.asarray(offset(i), dtype=np.float64))
            return key.astype(np.float32), miss

        made = yield from poses.played(scene, frames, look, "Into rest space: frame")
    return np.stack([key for key, _ in made]), max(0.0, *(miss for _, miss in made))


def _key(probe: Probe, view_layer: bpy.types.ViewLayer, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """The key of the frame that the scene stands at, and its largest miss."""
    start, blended = probe.read(view_layer.depsgraph)
    key, miss = unskinned(blended, wanted)
    if not probe.bent:
        return key, float(miss.max(initial=0.0))

    def moved(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`(left [n, 3], B [n, 3, 3])`: what of the way a key leaves, and how a step from there would move the skin."""
        probe.place(probe.rest + key)
        view_layer.update()
        there, blended = probe.read(view_layer.depsgraph)
        return start + wanted - there, blended

    try:
        best, far, blended = nearest(moved, key, np.zeros_like(key), np.linalg.norm(wanted, axis=1), NEAR * probe.size)
        # Where segments bend sharply the map folds, and the way leads round: from the far side of the fold.
        lost = far > LOST * probe.size
        if lost.any():
            along = np.linalg.svd(blended)[2][:, 2]  # where the skin is squeezed most
            reach = np.where(lost, probe.size, 0.0)[:, None] * along
            for side in SIDES:
                best, far, _ = nearest(moved, best + side * reach, best, far, NEAR * probe.size)
    finally:
        probe.place(probe.rest)
    return best, float(far.max(initial=0.0))


def nearest(
    moved: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], key: np.ndarray, best: np.ndarray, far: np.ndarray,
    near: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Newton's method from `key` [n, 3] at every vertex by itself, as long as it comes nearer than `far` [n], where `best` is.

    `moved(key)`: what is left of the way, and the map B there. Gives `(best, far, B)` as they are then.
    """
    at, left_at = key, np.full(len(key), np.inf)
    trial, share, blended_at = key, np.ones((len(key), 1)), np.tile(np.eye(3), (len(key), 1, 1))
    step = np.zeros_like(key)
    for _ in range(ROUNDS):
        left, blended = moved(trial)
        away = np.linalg.norm(left, axis=1)
        taken = away < left_at
        at = np.where(taken[:, None], trial, at)
        left_at = np.where(taken, away, left_at)
        blended_at = np.where(taken[:, None, None], blended, blended_at)
        if left_at.max(initial=0.0) <= near:
            break
        step = np.where(taken[:, None], unskinned(blended, left)[0], step)
        share = np.where(taken[:, None], 1.0, SHORTER * share)
        trial = at + share * step
    nearer = left_at < far
    return np.where(nearer[:, None], at, best), np.where(nearer, left_at, far), blended_at
