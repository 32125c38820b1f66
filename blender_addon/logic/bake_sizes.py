# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes of bakes before they are made, and limits of engines, in words."""

from __future__ import annotations

from .sentences import plural

#: Bytes of a vertex in a key: three numbers in single precision.
VERTEX_BYTES = 12

#: Numbers of keys that compressed bakes of whole characters need at two millimetres on a person: measured 8 to 48.
USUAL_KEYS = (8, 48)

#: Morph targets that engines take: with normals every glTF viewer takes 4; Filament and recent Bevy take 256, Bevy before 0.18 takes 64.
SURE_TARGETS, MOST_TARGETS = 4, 256


def size_text(bytes_: float) -> str:
    """Returns a number of bytes in words."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if bytes_ >= size:
            return f"{bytes_ / size:.3g} {unit}"
    return f"{bytes_ / 1e3:.3g} kB"


def estimate(kind: str, frames: int, vertices: int) -> str:
    """Returns the size of a bake of this kind in words, for all its frames together; "" for a kind without keys."""
    if kind == "SHAPE_KEYS":
        return f"{plural(frames, 'key')}, {size_text(frames * vertices * VERTEX_BYTES)}"
    if kind == "COMPRESSED":
        few, many = (min(count, frames) for count in USUAL_KEYS)
        sizes = [size_text(count * vertices * VERTEX_BYTES) for count in (few, many)]
        return f"usually {few} to {many} keys, {sizes[0]} to {sizes[1]}"
    return ""


def limit_text(count: int) -> str:
    """Returns the sentence on engines that take fewer morph targets than this; "" where all take them."""
    if count > MOST_TARGETS:
        return f"{plural(count, 'key')} are more than engines take (Filament and Bevy {MOST_TARGETS}): bake Compressed Keys"
    if count > SURE_TARGETS:
        return f"every glTF viewer takes {SURE_TARGETS} keys with normals, most engines up to {MOST_TARGETS}"
    return ""
