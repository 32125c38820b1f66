# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of baked shape keys, and the points of their curves.

In rest space every weight is 0 outside the frames of a clip, where the plain skin shows. Keys in posed space hold the armature's motion
too: there the end keys stay on, as the armature stays in its end poses.
"""

from __future__ import annotations

from collections.abc import Sequence

PREFIX = "Thew "

#: Bytes of a name that every supported version of Blender keeps.
MAX_NAME_BYTES = 63

#: Points of a curve: times and values, linear between them and constant outside.
CurvePoints = list[tuple[float, float]]


def key_name(frame: int, clip: str = "", bake: str = "") -> str:
    """Returns the name of the key of `frame`: `Thew 0001`, `Thew -0003`, of a clip `Thew Run 0001`.

    `bake`: the bake's name where it is not the default. Long names are cut before the number.
    """
    return numbered_name(f"{'-' if frame < 0 else ''}{abs(frame):04d}", clip, bake)


def numbered_name(number: str, *words: str) -> str:
    """Returns `Thew`, the words and a number as a name that Blender keeps whole."""
    middle = " ".join(word for word in words if word).encode()[: MAX_NAME_BYTES - len(PREFIX) - len(number) - 1]
    text = middle.decode(errors="ignore").strip()
    return f"{PREFIX}{text} {number}" if text else f"{PREFIX}{number}"


def key_points(frame: int, held: tuple[int, int] | None = None) -> CurvePoints:
    """Returns the points of the curve of the key of one frame: wholly on there, off at its neighbours.

    Between two frames the two shapes are blended. `held`: first and last frame of a clip whose end keys stay on.
    """
    first, last = held or (frame - 1, frame + 1)
    before = [(frame - 1.0, 0.0)] if frame > first else []
    after = [(frame + 1.0, 0.0)] if frame < last else []
    return [*before, (float(frame), 1.0), *after]


def weight_points(weights: Sequence[float], first: int, holds: bool = False) -> CurvePoints:
    """Returns the points of the curve of a key with these weights [f] from frame `first` on.

    A frame before and after them it is 0, unless it `holds` its end weights.
    """
    points = [(float(first + i), float(weight)) for i, weight in enumerate(weights)]
    return points if holds else [(first - 1.0, 0.0), *points, (float(first + len(points)), 0.0)]


def frame_range(start: int, end: int) -> list[int]:
    """Returns the frames from `start` to `end`, both included; empty in the wrong order."""
    return list(range(int(start), int(end) + 1))
