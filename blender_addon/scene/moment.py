# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame at which a scene is read for all that must not depend on the frame that is shown: its first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy

from . import moving
from .poses import playing


@contextmanager
def own_frame(scene: bpy.types.Scene, needed: bool = True) -> Iterator[None]:
    """The scene stands at its first frame within, evaluated; where that is not `needed` it stays as it is."""
    here, part = scene.frame_current, scene.frame_subframe
    if not needed or (here, part) == (scene.frame_start, 0.0):
        yield
        return
    with playing():
        scene.frame_set(scene.frame_start)
        try:
            yield
        finally:
            scene.frame_set(here, subframe=part)


def as_it_stands(scene: bpy.types.Scene, *objects: bpy.types.Object):
    """The same where one of these objects is carried about by its animation."""
    return own_frame(scene, any(moving.is_carried(obj) for obj in objects))
