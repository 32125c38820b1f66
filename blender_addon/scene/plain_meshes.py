# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes as their artist has them: without flesh, and without the bake that plays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import bpy

from ..saved import bakes as saved_bakes
from . import bakes, stack


@contextmanager
def without_thew(objects: Iterable[bpy.types.Object]) -> Iterator[None]:
    """Silences everything of ours on these meshes within the context; modifiers that a bake has switched off act again.

    The weights of helper bones stay: they move no bone, and changing them takes longer than reading a frame.
    """
    switched, silenced = [], []
    try:
        for obj in objects:
            made = obj.thew.made
            for modifier in obj.modifiers:
                mine = modifier.persistent_uid == made.modifier
                wanted = not mine and stack.artist_switches(obj, modifier)[0]
                if modifier.show_viewport != wanted:
                    switched.append((modifier, modifier.show_viewport))
                    modifier.show_viewport = wanted
            if made.shows_bake and obj.thew.enabled and not bakes.moves_bones(saved_bakes.playing(obj)):
                silenced.append(obj)
                bakes.show(obj, False)
        yield
    finally:
        for modifier, was in switched:
            modifier.show_viewport = was
        for obj in silenced:
            bakes.show(obj, True)
