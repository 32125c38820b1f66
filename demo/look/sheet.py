# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contact sheets: every clip of a character, plain skin above flesh, and close views of hands, feet and head."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from demo.look import raster

FRONT = raster.View(turn=0.55, lift=0.2)
FRAMES = 7
"""Number of frames of a clip on a sheet, before the close views."""
GREY, FLESH, FAR = np.array([196.0, 200.0, 206.0]), np.array([232.0, 196.0, 172.0]), np.array([52.0, 96.0, 214.0])
BLUE_AT = 0.05
"""Distance of flesh from its skin that is drawn bluest, as a share of the size."""

CLOSE = {
    "hand": re.compile(r"hand|wrist|palm|finger|thumb|index|claw", re.IGNORECASE),
    "foot": re.compile(r"foot|feet|toe|ankle|paw|hoof|heel", re.IGNORECASE),
    "head": re.compile(r"head|skull|jaw", re.IGNORECASE),
}
"""Parts with close views: patterns of the names of their bones."""

Bones = tuple[list[str], np.ndarray]
"""(names, parents int32[b], -1 for roots)."""


@dataclass
class Strip:
    """One clip of one mesh."""

    title: str
    skin: np.ndarray  # [f, n, 3]
    shown: np.ndarray  # [f, n, 3]


def draw_sheet(
    strips: list[Strip], triangles: np.ndarray, bones: Bones, weights: np.ndarray, file: Path, side: int = 160
) -> None:
    """Writes the clips of one mesh into a PNG: two rows a clip, the plain skin above the flesh."""
    rows = []
    for strip in strips:
        frames = chosen_frames(strip.skin, strip.shown)
        plain = [_whole(strip, strip.skin, frame, triangles, side) for frame in frames]
        flesh = [_whole(strip, strip.shown, frame, triangles, side) for frame in frames]
        for frame, picture in zip(frames, plain, strict=True):
            raster.write(picture, str(frame), side - 14, 4)
        parts = close_parts(bones, weights)
        for part in CLOSE:
            near = max(parts.get(part, []), key=lambda vertices: _far(strip, vertices).max(), default=None)
            if near is None:
                blank = np.full_like(plain[0], raster.PAPER)
                plain.append(blank)
                flesh.append(blank)
                continue
            frame = int(_far(strip, near).argmax())
            for row, points in ((plain, strip.skin), (flesh, strip.shown)):
                row.append(_close(strip, points, frame, near, triangles, side))
            raster.write(plain[-1], f"{part} {frame}", side - 14, 4)
        raster.write(plain[0], strip.title, 4, 4, 1)
        rows += [np.concatenate(plain, axis=1), np.concatenate(flesh, axis=1)]
    raster.save(np.concatenate(rows, axis=0), file)


def draw_film(strip: Strip, triangles: np.ndarray, file: Path, fps: float, side: int = 240) -> None:
    """Writes the first second of one clip as an animated PNG: the plain skin on the left, the flesh on the right."""
    pictures = []
    for frame in range(min(len(strip.skin), round(fps))):
        both = [_whole(strip, points, frame, triangles, side) for points in (strip.skin, strip.shown)]
        pictures.append(np.concatenate(both, axis=1))
    raster.save_film(pictures, file, fps)


def chosen_frames(skin: np.ndarray, shown: np.ndarray, count: int = FRAMES) -> list[int]:
    """Returns evenly spaced frames, two of them replaced by those with the largest offset and the largest leap of the flesh."""
    offsets = np.nan_to_num(shown - skin)
    even = np.unique(np.linspace(0, len(skin) - 1, count).round().astype(int))
    leaps = np.linalg.norm(np.diff(offsets, axis=0), axis=2).max(axis=1)
    for frame in (int(np.linalg.norm(offsets, axis=2).max(axis=1).argmax()), int(leaps.argmax()) + 1):
        if frame not in even:
            even[np.abs(even - frame).argmin()] = frame
    return sorted({int(frame) for frame in even})


def close_parts(bones: Bones, weights: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Returns the vertices of every hand, foot and head, by the names of the bones that carry them, and their descendants."""
    names, parents = bones
    parts: dict[str, list[np.ndarray]] = {}
    for part, pattern in CLOSE.items():
        limb: dict[int, list[int]] = {}  # bones by their topmost ancestor with such a name
        for bone, name in enumerate(names):
            first, above = (bone, parents[bone]) if pattern.search(name) else (-1, -1)
            while above >= 0:
                first, above = (above if pattern.search(names[above]) else first), parents[above]
            if first >= 0:
                limb.setdefault(first, []).append(bone)
        for together in limb.values():
            vertices = np.flatnonzero(weights[:, together].sum(axis=1) > 0.5 * weights.sum(axis=1))
            if 8 <= len(vertices) < 0.6 * len(weights):
                parts.setdefault(part, []).append(vertices)
    return parts


def _far(strip: Strip, vertices: np.ndarray) -> np.ndarray:
    """Returns the largest distance of these vertices from their skin in every frame, [f]."""
    offsets = np.nan_to_num((strip.shown - strip.skin)[:, vertices])
    return np.linalg.norm(offsets, axis=2).max(axis=1)


def _whole(strip: Strip, points: np.ndarray, frame: int, triangles: np.ndarray, side: int) -> np.ndarray:
    """Draws one frame with the camera following the skin. All frames of a clip have one scale."""
    axes = FRONT.axes()
    seen = strip.skin @ axes.T
    low, high = seen.min(axis=1), seen.max(axis=1)
    half = 0.53 * float((high - low)[:, :2].max())
    return _drawn(strip, points, frame, triangles, (0.5 * (low + high)[frame]) @ axes, half, side)


def _close(strip: Strip, points, frame: int, vertices: np.ndarray, triangles: np.ndarray, side: int) -> np.ndarray:
    """Draws the surroundings of some vertices."""
    near = strip.skin[frame][vertices]
    low, high = near.min(axis=0), near.max(axis=0)
    middle, half = 0.5 * (low + high), 0.6 * float(np.linalg.norm(high - low))
    seen = np.zeros(points.shape[1], bool)
    seen[vertices] = True
    return _drawn(strip, points, frame, triangles[seen[triangles].any(axis=1)], middle, half, side)


def _drawn(strip: Strip, points, frame: int, triangles, middle, half: float, side: int) -> np.ndarray:
    size = float(np.linalg.norm(np.ptp(strip.skin[0], axis=0)))
    tints = np.broadcast_to(GREY, points[frame].shape)
    if points is strip.shown:
        far = np.linalg.norm(strip.shown[frame] - strip.skin[frame], axis=1) / size / BLUE_AT
        share = 0.8 * np.clip(np.nan_to_num(far, nan=1.0), 0.0, 1.0)[:, None]
        tints = FLESH + share * (FAR - FLESH)
    picture = raster.draw(points[frame], triangles, tints, FRONT, middle, half, side)
    picture[:, -1] = picture[-1, :] = (208, 212, 218)
    return picture
