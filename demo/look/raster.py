# SPDX-License-Identifier: MIT OR Apache-2.0
"""Quick small pictures of triangles without a graphics device: flat shading, a depth buffer, PNG files; numpy only.

A picture is an array uint8[height, width, 3], its top row first.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PAPER = (244, 246, 248)
INSIDE = np.array([178.0, 58.0, 52.0])
"""Colour of triangles seen from behind."""
LIGHT = np.array([-0.35, 0.55, 0.76])
"""Direction towards the light: right, up, and towards the viewer."""
FINER = 2
"""Oversampling in both directions; the samples are averaged."""


@dataclass(frozen=True)
class View:
    """A parallel view of a world whose third axis points up."""

    turn: float
    """Azimuth of the viewer from the front (against the second axis) towards the first axis, radians."""
    lift: float
    """Angle by which the viewer looks down, radians."""

    def axes(self) -> np.ndarray:
        """Returns the directions right, up and towards the viewer as rows."""
        back = np.array(
            [np.sin(self.turn) * np.cos(self.lift), -np.cos(self.turn) * np.cos(self.lift), np.sin(self.lift)]
        )
        right = np.array([np.cos(self.turn), np.sin(self.turn), 0.0])
        return np.stack([right, np.cross(back, right), back])


def draw(
    points: np.ndarray, triangles: np.ndarray, tints: np.ndarray, view: View, centre: np.ndarray, half: float, side: int
) -> np.ndarray:
    """Draws points [n, 3] in `tints` [n, 3] (0 to 255) as a picture [side, side, 3].

    `half`: half the visible width about `centre`.
    """
    fine = side * FINER
    axes = view.axes()
    seen = (points - centre) @ axes.T / half
    x, y, depth = (seen[:, 0] + 1.0) * fine / 2.0, (1.0 - seen[:, 1]) * fine / 2.0, seen[:, 2]
    corners = seen[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    normal = normal / np.maximum(length, 1e-30)[:, None]
    front = normal[:, 2] >= 0.0
    light = np.abs(normal @ (LIGHT / np.linalg.norm(LIGHT)))
    colours = np.where(front[:, None], tints[triangles].mean(axis=1), INSIDE) * (0.45 + 0.6 * light)[:, None]
    owner = _nearest_triangles(x, y, depth, triangles, fine)
    picture = np.empty((fine * fine, 3))
    picture[:] = PAPER
    picture[owner >= 0] = colours[owner[owner >= 0]]
    picture = picture.reshape(side, FINER, side, FINER, 3).mean(axis=(1, 3))
    return np.clip(picture, 0, 255).astype(np.uint8)


def _nearest_triangles(x: np.ndarray, y: np.ndarray, depth: np.ndarray, triangles: np.ndarray, fine: int) -> np.ndarray:
    """Returns the triangle visible at each pixel, int[fine * fine], -1 for the background."""
    owner = np.full(fine * fine, -1, np.int64)
    tx, ty, tz = x[triangles], y[triangles], depth[triangles]
    low_x, high_x, low_y, high_y = (
        np.clip(f(t), 0, fine - 1)
        for f, t in (
            (lambda t: np.ceil(t.min(axis=1) - 0.5), tx),
            (lambda t: np.floor(t.max(axis=1) - 0.5), tx),
            (lambda t: np.ceil(t.min(axis=1) - 0.5), ty),
            (lambda t: np.floor(t.max(axis=1) - 0.5), ty),
        )
    )
    double_area = (tx[:, 1] - tx[:, 0]) * (ty[:, 2] - ty[:, 0]) - (tx[:, 2] - tx[:, 0]) * (ty[:, 1] - ty[:, 0])
    finite = np.isfinite(tx + ty + tz).all(axis=1)
    drawn = np.flatnonzero(finite & (np.abs(double_area) > 1e-9) & (high_x >= low_x) & (high_y >= low_y))
    if not len(drawn):
        return owner
    low_x, low_y = low_x[drawn].astype(np.int64), low_y[drawn].astype(np.int64)
    wide, tall = high_x[drawn].astype(np.int64) - low_x + 1, high_y[drawn].astype(np.int64) - low_y + 1
    # Every pixel of every triangle's box, one after the other.
    count = wide * tall
    which = np.repeat(np.arange(len(drawn)), count)
    place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    column, row = low_x[which] + place % wide[which], low_y[which] + place // wide[which]
    px, py = column + 0.5, row + 0.5
    t = drawn[which]
    ax, ay = tx[t, 0], ty[t, 0]
    u = ((px - ax) * (ty[t, 2] - ay) - (tx[t, 2] - ax) * (py - ay)) / double_area[t]
    v = ((tx[t, 1] - ax) * (py - ay) - (px - ax) * (ty[t, 1] - ay)) / double_area[t]
    inside = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1.0 + 1e-9)
    t, u, v, pixel = t[inside], u[inside], v[inside], (row * fine + column)[inside]
    z = tz[t, 0] + u * (tz[t, 1] - tz[t, 0]) + v * (tz[t, 2] - tz[t, 0])
    order = np.argsort(z, kind="stable")  # the nearest is written last
    owner[pixel[order]] = t[order]
    return owner


def save(picture: np.ndarray, file: Path) -> None:
    """Writes a picture as PNG."""
    _write_chunks(file, [_header(picture), _chunk(b"IDAT", _compress(picture))])


def save_film(pictures: list[np.ndarray], file: Path, fps: float) -> None:
    """Writes pictures of one size as an animated PNG that repeats for ever."""
    height, width, _ = pictures[0].shape
    pictures = [picture & 0xF8 for picture in pictures]  # few colours pack well
    chunks, number = [_header(pictures[0]), _chunk(b"acTL", struct.pack(">II", len(pictures), 0))], 0
    for picture in pictures:
        lasts = round(1e4 / fps), 10_000
        chunks.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, 0, 0, *lasts, 0, 0)))
        number += 1
        if picture is pictures[0]:  # shown by programs without animated PNG
            chunks.append(_chunk(b"IDAT", _compress(picture)))
            continue
        chunks.append(_chunk(b"fdAT", struct.pack(">I", number) + _compress(picture)))
        number += 1
    _write_chunks(file, chunks)


def _header(picture: np.ndarray) -> bytes:
    height, width, _ = picture.shape
    return _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


def _compress(picture: np.ndarray) -> bytes:
    height, width, _ = picture.shape
    rows = picture.reshape(height, 3 * width)
    above = np.concatenate([np.zeros_like(rows[:1]), rows[:-1]])  # PNG's filter "Up"
    return zlib.compress(np.concatenate([np.full((height, 1), 2, np.uint8), rows - above], axis=1).tobytes(), 9)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _write_chunks(file: Path, chunks: list[bytes]) -> None:
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + _chunk(b"IEND", b""))


# letters -------------------------------------------------------------------------------------------------------------

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,-+%/|: "
SHAPES = """
    25755 65656 34443 65556 74647 74644 34553 55755 72227 11152 55655 44447 57755 65555 25552 65644 25563 65655 34216 72222
    55557 55552 55775 55255 55222 71247 75557 26227 71747 71717 55711 74717 74757 71244 75757 75717 00002 00024 00700 02720
    51245 11244 22222 02020 00000
"""
GLYPHS = dict(zip(LETTERS, SHAPES.split(), strict=True))
"""Five rows of three pixels each, a digit's bits from left to right."""


def lettering(text: str, size: int = 2) -> np.ndarray:
    """Returns the text as a mask bool[5 size, 4 size per letter]. Letters without a glyph are left blank."""
    columns = []
    for letter in text.upper():
        rows = GLYPHS.get(letter, "00000")
        bits = np.array([[int(row) >> place & 1 for place in (2, 1, 0)] + [0] for row in rows], bool)
        columns.append(bits)
    mask = np.concatenate(columns, axis=1) if columns else np.zeros((5, 1), bool)
    return np.kron(mask, np.ones((size, size), bool))


def write(picture: np.ndarray, text: str, row: int, column: int, size: int = 2) -> None:
    """Writes text into a picture, in place. Text beyond its edge is cut off."""
    mask = lettering(text, size)[: picture.shape[0] - row, : picture.shape[1] - column]
    picture[row : row + mask.shape[0], column : column + mask.shape[1]][mask] = (40, 44, 52)
