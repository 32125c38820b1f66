# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rendered sequences and contact sheets."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np

GAP = 6
"""Pixels between the pictures of a sheet."""


def works(engine: str, scratch: Path) -> bool:
    """Returns whether a tiny picture can be rendered. Called in its own process, because a broken OpenGL may end it."""
    bpy.ops.wm.read_factory_settings(use_empty=False)
    scene = bpy.context.scene
    scene.render.engine = engine
    scene.render.resolution_x = scene.render.resolution_y = 32
    scene.render.filepath = str(scratch / "trial.png")
    bpy.ops.render.render(write_still=True)
    return (scratch / "trial.png").is_file()


def render(frames: list[int], folder: Path) -> dict[int, Path]:
    """Renders the scene's camera at `frames`. Returns the files by frame."""
    folder.mkdir(parents=True, exist_ok=True)
    scene = bpy.context.scene
    files = {}
    for frame in frames:
        scene.frame_set(frame)
        files[frame] = folder / f"{frame:04d}.png"
        scene.render.filepath = str(files[frame])
        bpy.ops.render.render(write_still=True)
    return files


def film_strip(motion: np.ndarray, frames: list[int], start: int, count: int, apart: int = 5) -> list[int]:
    """Returns `count` of `frames`, about `apart` frames apart, in which the flesh moves most by itself.

    `motion` holds its motion for each frame from `start` on.
    """
    rhythm = frames[1] - frames[0] if len(frames) > 1 else 1
    stride = max(1, min(round(apart / rhythm), len(frames) // count))
    count = min(count, len(frames))
    strips = [frames[first::stride][:count] for first in range(len(frames) - stride * (count - 1))]
    return max(strips, key=lambda strip: sum(motion[frame - start] for frame in strip))


def contact_sheet(rows: list[list[Path]], output: Path) -> None:
    """Joins pictures of one size, row by row, into one PNG."""
    strips = []
    for row in rows:
        pictures = [_pixels(path) for path in row]
        blank = np.ones((pictures[0].shape[0], GAP, 4), np.float32)
        strip = [pictures[0]]
        for picture in pictures[1:]:
            strip += [blank, picture]
        strips.append(np.concatenate(strip, axis=1))
    width = max(strip.shape[1] for strip in strips)
    padded = [np.pad(s, ((0, GAP), (0, width - s.shape[1]), (0, 0)), constant_values=1.0) for s in strips]
    sheet = np.concatenate(padded, axis=0)[:-GAP]
    image = bpy.data.images.new("sheet", sheet.shape[1], sheet.shape[0])
    image.pixels.foreach_set(np.ascontiguousarray(sheet[::-1]).ravel())
    image.filepath_raw, image.file_format = str(output), "PNG"
    image.save()
    bpy.data.images.remove(image)


def _pixels(path: Path) -> np.ndarray:
    """Returns the picture [height, width, 4], top row first."""
    image = bpy.data.images.load(str(path))
    width, height = image.size
    pixels = np.empty(width * height * 4, np.float32)
    image.pixels.foreach_get(pixels)
    bpy.data.images.remove(image)
    return pixels.reshape(height, width, 4)[::-1]
