# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene's own frame, its first: the frame at which data is read that must not depend on the frame in view."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy

from . import frame_dependence
from .poses import silence_handlers


@contextmanager
def own_frame(scene: bpy.types.Scene, needed: bool = True) -> Iterator[None]:
    """Holds the scene at its first frame, evaluated, within the context; unless `needed`, leaves it as it is."""
    here, part = scene.frame_current, scene.frame_subframe
    if not needed or (here, part) == (scene.frame_start, 0.0):
        yield
        return
    with silence_handlers():
        scene.frame_set(scene.frame_start)
        try:
            yield
        finally:
            scene.frame_set(here, subframe=part)


def own_frame_if_animated(scene: bpy.types.Scene, *objects: bpy.types.Object):
    """Returns the context `own_frame` if animation carries one of these objects about, else one that changes nothing."""
    return own_frame(scene, any(frame_dependence.is_carried(obj) for obj in objects))
