# SPDX-License-Identifier: GPL-3.0-or-later
"""The tension of a clip as the live flesh has it, for targets that can store a number of each vertex and frame.

It is that of the posed skin with flesh against the posed skin without, as the attribute Tension of the live flesh is.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.native import core
from ..logic.tasks import Task, span
from ..scene.mesh import numbers
from . import measuring
from .point_caches import measure_still
from .target import Source


def measure_tension(source: Source) -> Task:
    """Builds the task that returns the tension of each vertex in each frame, float32[f, n]."""
    offsets = measuring.measure_offsets(source.scene, source.frames, source.offset)
    offsets = yield from span(offsets, 0.0, 0.3)
    shown = yield from span(measure_still(source), 0.3, 0.5)
    shown = shown + (offsets if source.subject is None else (yield from span(source.differences(set()), 0.5, 1.0)))
    edges = edges_of(source.obj.data)
    return np.stack([stretch(edges, there - offset, there) for there, offset in zip(shown, offsets, strict=True)])


def rest_tension(mesh: bpy.types.Mesh, rest: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Returns the tension of offsets [f, n, 3] before the armature acts, float32[f, n]."""
    edges = edges_of(mesh)
    return np.stack([stretch(edges, rest, rest + each) for each in offsets])


def edges_of(mesh: bpy.types.Mesh) -> np.ndarray:
    """Returns the edges of a mesh, int32[e, 2]."""
    return numbers(mesh.edges, "vertices", 2, np.int32)


def stretch(edges: np.ndarray, plain: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Returns the tension of one frame, float32[n]."""
    return np.asarray(core().tension(edges, plain, shown), dtype=np.float32)
