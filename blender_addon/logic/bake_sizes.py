# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes of bakes before they are made, and limits of engines, in words. Sources of the limits are in `docs/engines.md`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .sentences import plural, significant

#: Bytes of a vertex in a key: three numbers in single precision.
VERTEX_BYTES = 12

#: Bytes of a vertex's number in a sparse key.
INDEX_BYTES = 2

#: Numbers of keys that compressed bakes of whole characters need at two millimetres on a person: measured 8 to 48.
USUAL_KEYS = (8, 48)

#: Morph targets that engines take: with normals every glTF viewer takes 4. Filament takes 256, recent Bevy too (before 0.18: 64), and
#: three.js as many as WebGL 2 has layers, at least 256.
SURE_TARGETS, MOST_TARGETS = 4, 256
#: Engines of which no limit is known.
UNLIMITED = "Unity, Unreal and Godot"
#: Bytes of a vertex and frame in a point cache, in a texture before compression, and of its tension there.
POINT_BYTES, TEXEL_BYTES, TENSION_BYTES = 12, 6, 2
#: Largest number of columns and rows of a texture: what engines on all devices take.
MAX_TEXTURE_SIZE = 8192


def size_text(bytes_: float) -> str:
    """Returns a number of bytes in words."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if bytes_ >= size:
            return f"{significant(bytes_ / size, 3)} {unit}"
    return f"{significant(bytes_ / 1e3, 3)} kB"


#: Bytes of a helper bone in a frame: three numbers of its place and four of its rotation, in single precision.
BONE_BYTES = 28

#: Bytes of a bone of a vertex in files: its number, and its weight in single precision.
INFLUENCE_BYTES = 6

#: Bones of a vertex that exporters and engines take unless their limit is raised.
USUAL_INFLUENCES = 4


def usual_keys(frames: int, regions: int = 1) -> list[int]:
    """Returns the smallest and the largest number of compressed keys that are usual."""
    return [min(round(count * math.sqrt(regions)), regions * frames) for count in USUAL_KEYS]


def estimate(
    kind: str, frames: int, vertices: int, bones: int = 0, influences: int = 0, tension: bool = False, regions: int = 1
) -> str:
    """Returns the size of a bake of this kind in words, for all its frames together; "" for an unknown kind."""
    if kind == "HELPER_BONES":
        curves, weights = (
            size_text(size) for size in (frames * bones * BONE_BYTES, vertices * influences * INFLUENCE_BYTES)
        )
        return f"{plural(bones, 'bone')}, {curves} of curves and {weights} of weights"
    if kind == "SHAPE_KEYS":
        return f"{plural(frames, 'key')}, {size_text(frames * vertices * VERTEX_BYTES)}"
    if kind == "COMPRESSED":
        few, many = usual_keys(frames, regions)
        return key_sizes(few, many, vertices, regions)
    if kind in {"PC2", "MDD"}:
        return f"{size_text(frames * vertices * POINT_BYTES)} on the disk"
    if kind == "VERTEX_TEXTURE":
        rows = -(-vertices // MAX_TEXTURE_SIZE)
        size = size_text(frames * vertices * (TEXEL_BYTES + TENSION_BYTES * tension))
        return f"an image of {-(-vertices // max(rows, 1))} × {frames * rows} texels, {size} before compression"
    return ""


def keys_bytes(count: int, vertices: int, regions: int = 1) -> float:
    """Returns the bytes of so many keys; those of regions hold their vertices alone, but for one, which holds the smallest weights."""
    if regions < 2:
        return count * vertices * VERTEX_BYTES
    return vertices * (VERTEX_BYTES + (count - 1) * (VERTEX_BYTES + INDEX_BYTES) / regions)


def key_sizes(few: int, many: int, vertices: int, regions: int = 1, source: str = "") -> str:
    """Returns the size of `few` to `many` compressed keys in words; `source`: whose frames told the numbers, "" for what is usual."""
    sizes = [size_text(keys_bytes(count, vertices, regions)) for count in (few, many)]
    within = " in glTF without Shape Key Normals" if regions > 1 else ""
    if source:
        return f"about {few} to {many} keys by the frames of {source}, {sizes[0]} to {sizes[1]}{within}"
    if few == many:
        return f"at most {plural(few, 'key')}, {sizes[0]}{within}"
    return f"usually {few} to {many} keys, {sizes[0]} to {sizes[1]}{within}"


def estimate_lines(
    kind: str,
    clips: Sequence[int],
    vertices: int,
    bones: int = 0,
    influences: int = 0,
    tension: bool = False,
    regions: int = 1,
    found: tuple[int, int, str] | None = None,
) -> list[str]:
    """Returns the size of a bake in words, and what engines take of it; `clips`: number of frames of each.

    `found`: the smallest and the largest number of compressed keys that frames tell, and which frames; None: what is usual.
    """
    frames = sum(clips)
    few, many, source = found or (*usual_keys(frames, regions), "")
    if kind == "COMPRESSED":
        return [key_sizes(few, many, vertices, regions, source), *filter(None, [limit_text(many, FEWER_ADVICE)])]
    lines = [estimate(kind, frames, vertices, bones, influences, tension, regions)]
    if kind == "HELPER_BONES" and influences > USUAL_INFLUENCES:
        lines.append(f"exporters and engines take {USUAL_INFLUENCES} bones a vertex unless you raise their limits")
    if kind == "SHAPE_KEYS":
        lines.append(limit_text(frames))
    if kind in {"PC2", "MDD"} and len(clips) > 1:
        lines.append(f"a file for each of {plural(len(clips), 'clip')}")
    if kind == "VERTEX_TEXTURE":
        lines.append(texture_limit_text(frames, vertices))
    return [line for line in lines if line]


def texture_limit_text(frames: int, vertices: int) -> str:
    """Returns the sentence on a texture that has more rows than engines take; "" where all take it."""
    rows = frames * -(-vertices // MAX_TEXTURE_SIZE)
    if rows <= MAX_TEXTURE_SIZE:
        return ""
    return f"{rows} rows are more than engines on all devices take ({MAX_TEXTURE_SIZE}): bake fewer actions, or several bakes"


#: Ways to fewer compressed keys.
FEWER_ADVICE = "allow more error, choose fewer regions, or bake fewer clips together"


def limit_text(count: int, advice: str = "bake Compressed Keys") -> str:
    """Returns the sentence on engines that take fewer morph targets than this, with what to do; "" where all take them."""
    sure = f"every glTF viewer takes {SURE_TARGETS} keys with normals, or {2 * SURE_TARGETS} without"
    if count > MOST_TARGETS:
        return (
            f"{plural(count, 'key')} are more than Filament, Bevy and three.js take on every device ({MOST_TARGETS}); {UNLIMITED} state no "
            f"limit: {advice}"
        )
    if count > 2 * SURE_TARGETS:
        return f"{sure}; Filament, Bevy (before 0.18: 64) and three.js take {MOST_TARGETS}; {UNLIMITED} state no limit"
    return sure if count > SURE_TARGETS else ""


def limit_note(count: int) -> str:
    """Returns a few words on engines for the number of keys that a bake has; "" where all take them."""
    engines = "Filament, Bevy and three.js"
    if count > MOST_TARGETS:
        return f"more keys than {engines} take ({MOST_TARGETS})"
    if count > 2 * SURE_TARGETS:
        return f"within the {MOST_TARGETS} keys that {engines} take"
    return (
        f"any glTF viewer takes {SURE_TARGETS} keys with normals, {2 * SURE_TARGETS} without"
        if count > SURE_TARGETS
        else ""
    )
