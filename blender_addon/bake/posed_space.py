# SPDX-License-Identifier: GPL-3.0-or-later
"""Posed space: keys that hold the whole motion of the character, with no armature left to act on it."""

from __future__ import annotations

from ..logic.tasks import Task
from ..scene.reading import Subject
from . import measuring


def keys(found: Subject, flesh, scene, frames: list[int]) -> Task:
    """A task that gives what each frame's key must hold, float32[f, n, 3]: the live shape less the mix of other keys."""
    return measuring.differences(found.obj, flesh, scene, frames, set())
