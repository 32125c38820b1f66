# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures of the look: what is drawn, files, contact sheets and sections."""

import struct
import zlib

import numpy as np
import pytest
import shapes
from squares import flat_square, hopping_skin

from demo.look import contact_pictures, raster, sheet


@pytest.fixture(scope="module")
def grid():
    """Builds a flat square: points, edges, triangles."""
    return flat_square()


def test_draw_depth_and_backs():
    """The nearer triangle is drawn, and backs are red."""
    view = raster.View(0.0, 0.0)  # from the front: x to the right, z up
    square = np.array([[-1.0, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]])
    front = np.array([[0, 1, 2], [0, 2, 3]])
    near, far = square * 0.5 + [0, -1, 0], square + [0, 1, 0]
    points, triangles = np.concatenate([far, near]), np.concatenate([front, front + 4])
    tints = np.repeat([[0.0, 0, 200], [0, 200, 0]], 4, axis=0)
    picture = raster.draw(points, triangles, tints, view, np.zeros(3), 1.25, 50)
    assert picture[25, 25, 1] > picture[25, 25, 2]  # green stands before blue
    assert picture[25, 8, 2] > picture[25, 8, 1]
    assert tuple(picture[0, 0]) == raster.PAPER
    covered = (picture != raster.PAPER).any(axis=2).sum()
    assert covered == pytest.approx((50 / 1.25) ** 2, rel=0.03)
    behind = raster.draw(points, triangles[:, ::-1], tints, view, np.zeros(3), 1.25, 50)
    assert behind[25, 25, 0] > behind[25, 25, 1]  # a back is red


def test_view_axes():
    """The axes of a view are orthonormal and keep up upwards."""
    axes = raster.View(0.7, 0.3).axes()
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12) and np.linalg.det(axes) == pytest.approx(1.0)
    assert axes[1, 2] > 0.9 and axes[0, 2] == 0.0


def test_draw_skips_nan():
    """Triangles with points that are not numbers are left out."""
    points = np.array([[np.nan, 0, 0], [1, 0, 0], [0, 0, 1.0]])
    picture = raster.draw(points, np.array([[0, 1, 2]]), points * 0, raster.View(0, 0), np.zeros(3), 1.0, 8)
    assert (picture == raster.PAPER).all()


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Returns the chunks of a PNG file, (kind, contents), after checking their checksums."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    found, at = [], 8
    while at < len(data):
        length = struct.unpack(">I", data[at : at + 4])[0]
        kind, contents = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length :][:4])[0] == zlib.crc32(kind + contents)
        found.append((kind, contents))
        at += 12 + length
    return found


def pixels(packed: bytes, height: int, width: int) -> np.ndarray:
    """Returns a picture from PNG data, whose lines are differences from the lines above."""
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    assert (rows[:, 0] == 2).all()
    return np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, 3)


def test_save_png(tmp_path):
    """A saved picture is a PNG with its pixels."""
    picture = np.random.default_rng(0).integers(0, 255, (5, 7, 3), np.uint8)
    raster.save(picture, tmp_path / "a.png")
    found = dict(chunks((tmp_path / "a.png").read_bytes()))
    assert struct.unpack(">II", found[b"IHDR"][:8]) == (7, 5) and b"IEND" in found
    assert np.array_equal(pixels(found[b"IDAT"], 5, 7), picture)


def test_save_film_order(tmp_path):
    """A saved film has its pictures in order and at its rate."""
    pictures = list(np.random.default_rng(0).integers(0, 255, (3, 5, 7, 3), np.uint8))
    raster.save_film(pictures, tmp_path / "a.png", 24.0)
    found = chunks((tmp_path / "a.png").read_bytes())
    assert struct.unpack(">II", dict(found)[b"acTL"]) == (3, 0)
    numbered = [contents for kind, contents in found if kind in {b"fcTL", b"fdAT"}]
    assert [struct.unpack(">I", contents[:4])[0] for contents in numbered] == list(range(5))
    lasts, per_second = struct.unpack(">HH", dict(found)[b"fcTL"][20:24])
    assert abs(lasts / per_second - 1 / 24) < 1e-4
    packed = [contents if kind == b"IDAT" else contents[4:] for kind, contents in found if kind in {b"IDAT", b"fdAT"}]
    for data, picture in zip(packed, pictures, strict=True):
        assert np.abs(pixels(data, 5, 7).astype(int) - picture).max() < 8


def test_close_parts_separate_limbs():
    """Close views find one limb at a time."""
    names, parents = ["spine", "hand.L", "thumb.L", "hand.R", "Toe1"], np.array([-1, 0, 1, 0, 0])
    carriers = np.repeat(np.arange(5), [60, 10, 10, 12, 9])
    parts = sheet.close_parts((names, parents), np.eye(5)[carriers])
    assert [len(vertices) for vertices in parts["hand"]] == [20, 12]
    assert [list(np.unique(carriers[vertices])) for vertices in parts["hand"]] == [[1, 2], [3]]
    assert [len(vertices) for vertices in parts["foot"]] == [9] and "head" not in parts


def test_sheet_shows_worst_frame(grid, tmp_path):
    """A sheet shows the worst frame."""
    points, _, triangles = grid
    skin = hopping_skin(grid)
    shown = skin.copy()
    shown[11, 60, 2] += 0.5
    assert {11} <= set(sheet.chosen_frames(skin, shown)) and len(sheet.chosen_frames(skin, shown)) <= sheet.FRAMES
    strip = sheet.Strip("clip", skin, shown)
    weights = np.ones((len(points), 1))
    sheet.draw_sheet([strip, strip], triangles, (["root"], np.array([-1])), weights, tmp_path / "sheet.png", 32)
    header = (tmp_path / "sheet.png").read_bytes()[16:24]
    assert struct.unpack(">II", header) == (32 * (sheet.FRAMES + len(sheet.CLOSE)), 4 * 32)


def test_section_overlap_red():
    """A section is red where two bodies overlap."""
    ball, triangles = shapes.ball(radius=0.2)
    tints = [contact_pictures.FLESH, contact_pictures.SECOND]
    seen = contact_pictures.Bodies([(ball, triangles), (ball + [1.0, 0.0, 0.0], triangles)], tints)
    posed = [ball + [x, 0.0, 0.0] for x in (-0.1, 0.1)]
    picture = seen.section(posed, contact_pictures.ALONG_X, contact_pictures.ALONG_Z, np.zeros(3), 0.4, 200).astype(int)
    pixel = (0.8 / 200) ** 2
    lens = 2.0 * 0.2**2 * np.arccos(0.5) - 0.1 * np.sqrt(
        4.0 * 0.2**2 - 0.2**2
    )  # two circles, their middles one radius apart
    red = (picture[..., 0] > 2 * picture[..., 1]).sum() * pixel
    assert red == pytest.approx(lens, rel=0.08)  # its outline is a pixel wide
    covered = (picture != raster.PAPER).any(axis=2).sum() * pixel
    assert covered == pytest.approx(2.0 * np.pi * 0.2**2 - lens, rel=0.02)
    assert picture[100, 40, 0] > picture[100, 40, 2] and picture[100, 160, 2] > picture[100, 160, 0]
    inside = [np.flatnonzero(np.linalg.norm(posed[k] - [0.1 - 0.2 * k, 0, 0], axis=1) < 0.198) for k in (0, 1)]
    through = seen.overlapping_vertices(posed)
    assert np.isin(np.concatenate([inside[0], inside[1] + len(ball)]), through).all()
    assert len(seen.overlapping_vertices([ball, ball + [1.0, 0.0, 0.0]])) == 0
