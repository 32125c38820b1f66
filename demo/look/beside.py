# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures of one pose of a mesh in three ways: plain skin, flesh without contact, flesh with contact."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from demo.look import overlap, raster
from demo.look.sheet import FLESH, GREY

THROUGH = np.array([214.0, 44.0, 40.0])
"""Colour of vertices in other flesh."""
TURNS, LIFTS = np.arange(12) * np.pi / 6.0, (-0.5, 0.2, 0.9)
"""Candidate view directions, radians."""
NAMES = ("skin", "free", "contact")


@dataclass
class Frame:
    """One frame of a clip in three ways."""

    title: str
    ways: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Plain skin, flesh without contact, flesh with contact, [n, 3] each."""
    at: np.ndarray
    """Indices of vertices for a close view; empty: the whole mesh."""


def draw(frames: list[Frame], triangles: np.ndarray, size: float, file: Path, side: int = 240) -> None:
    """Writes a PNG with a row for each frame. Close views are at least 0.14 of the size wide."""
    raster.save(np.concatenate([row(frame, triangles, size, side) for frame in frames], axis=0), file)


def row(frame: Frame, triangles: np.ndarray, size: float, side: int = 240) -> np.ndarray:
    """Returns the three ways of one frame from one view, with vertices in other flesh in red."""
    skin = frame.ways[0]
    if len(frame.at):
        near = frame.ways[2][frame.at]
        middle = 0.5 * (near.min(axis=0) + near.max(axis=0))
        half = max(0.6 * float(np.linalg.norm(np.ptp(near, axis=0))), 0.07 * size)
        view = _facing_view(frame, triangles)
    else:
        middle, view = 0.5 * (skin.min(axis=0) + skin.max(axis=0)), raster.View(0.55, 0.2)
        half = 0.53 * float(np.ptp(skin @ view.axes()[:2].T, axis=0).max())
    pictures = []
    for name, points, tint in zip(NAMES, frame.ways, (GREY, FLESH, FLESH), strict=True):
        tints = np.tile(tint, (len(points), 1))
        tints[overlap.vertices_inside(points, triangles)] = THROUGH
        picture = raster.draw(points, triangles, tints, view, middle, half, side)
        picture[:, -1] = picture[-1, :] = (208, 212, 218)
        raster.write(picture, name, side - 14, 4)
        pictures.append(picture)
    raster.write(pictures[0], frame.title, 4, 4)
    return np.concatenate(pictures, axis=1)


def _facing_view(frame: Frame, triangles: np.ndarray) -> raster.View:
    """Returns the view in which most of the chosen vertices face the viewer, on the skin and with contact."""
    out = np.concatenate([overlap.normals(points, triangles)[frame.at] for points in (frame.ways[0], frame.ways[2])])
    views = [raster.View(turn, lift) for lift in LIFTS for turn in TURNS]
    return max(views, key=lambda view: float(np.clip(out @ view.axes()[2], 0.0, None).sum()))
