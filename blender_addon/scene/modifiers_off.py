# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluation without the modifiers that poses do not depend on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy

#: Modifiers that keep state from frame to frame or act on other objects: switching them off would be noticed.
STATEFUL_MODIFIERS = {
    "CLOTH",
    "SOFT_BODY",
    "PARTICLE_SYSTEM",
    "DYNAMIC_PAINT",
    "FLUID",
    "COLLISION",
    "SURFACE",
    "EXPLODE",
}


@contextmanager
def without_modifiers(objects: list[bpy.types.Object]) -> Iterator[None]:
    """Switches off the meshes' modifiers within the context, as poses do not depend on them: a Subdivision Surface takes longer
    than all else.
    """
    off = [m for obj in objects for m in obj.modifiers if m.show_viewport and m.type not in STATEFUL_MODIFIERS]
    for modifier in off:
        modifier.show_viewport = False
    try:
        yield
    finally:
        for modifier in off:
            modifier.show_viewport = True
