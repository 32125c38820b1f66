# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and curves of baked shape keys, one key a frame."""

from __future__ import annotations

PREFIX = "Thew "


def key_name(frame: int) -> str:
    """Returns the name of the key of `frame`: `Thew 0001`, `Thew -0003`."""
    return f"{PREFIX}{'-' if frame < 0 else ''}{abs(frame):04d}"


def key_points(frame: int, first: int, last: int) -> list[tuple[float, float]]:
    """Returns the points (frame, value) of a key's curve, linear between them and constant outside.

    The key is wholly on at its frame and off at its neighbours; the first and the last key of the bake keep their value outside the
    range, so that the character stays in its first and last shape. Between two frames the two shapes are blended.
    """
    points = []
    if frame > first:
        points.append((frame - 1.0, 0.0))
    points.append((float(frame), 1.0))
    if frame < last:
        points.append((frame + 1.0, 0.0))
    return points


def frame_range(start: int, end: int) -> list[int]:
    """Returns the frames from `start` to `end`, both included; empty in the wrong order."""
    return list(range(int(start), int(end) + 1))
