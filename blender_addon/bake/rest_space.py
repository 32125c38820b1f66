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

#: How often a key is corrected where the armature's map depends on the place.
ROUNDS = 3


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
    for _ in range(ROUNDS):
        probe.place(probe.rest + key)
        view_layer.update()
        there, blended = probe.read(view_layer.depsgraph)
        left = start + wanted - there
        key = key + unskinned(blended, left)[0]
    probe.place(probe.rest + key)
    view_layer.update()
    there, _ = probe.read(view_layer.depsgraph)
    probe.place(probe.rest)
    return key, float(np.linalg.norm(start + wanted - there, axis=1).max(initial=0.0))
