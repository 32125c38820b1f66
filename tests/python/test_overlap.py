# SPDX-License-Identifier: MIT OR Apache-2.0
"""The measure of skin in other flesh, on shapes whose overlap is known."""

import numpy as np
import pytest
import shapes

from demo.look import overlap

RADIUS, DEEP = 0.1, 0.03


@pytest.fixture(scope="module")
def pair():
    """Builds two capsules beside each other, and the second moved into the first."""
    one, triangles = shapes.arm(segments=32, rings=60, radius=RADIUS)
    rest = np.concatenate([one, one + [0.0, 0.0, 1.0]])
    posed = np.concatenate([one, one + [0.0, 0.0, 2.0 * RADIUS - DEEP]])
    return rest, posed, np.concatenate([triangles, triangles + len(one)])


def test_overlap_depths(pair):
    """The measured depths are those of the known overlap."""
    rest, posed, triangles = pair
    found = overlap.Shape(rest, triangles).overlap(posed)
    half = len(rest) // 2
    assert (found.vertices < half).any() and (found.vertices >= half).any()
    # The line where both are deepest; edges are a fifth of a radius long.
    assert found.depths.max() == pytest.approx(DEEP, rel=0.1)
    count, depth, vertex = found.deepest_vertex()
    assert count == len(found.vertices) and depth == found.depths.max() and vertex in found.vertices
    assert found.deepest_vertex(but=found.vertices) == (0, 0.0, -1)
    assert found.deepest_of(found.vertices) == found.deepest_vertex()


def test_overlap_none_at_rest(pair):
    """Nothing overlaps at rest."""
    rest, _, triangles = pair
    shape = overlap.Shape(rest, triangles)
    assert len(shape.own) == 0 and len(shape.overlap(rest).vertices) == 0


def test_overlap_ignores_modelled(pair):
    """An overlap that is modelled is left out."""
    _, posed, triangles = pair
    shape = overlap.Shape(posed, triangles)
    assert len(shape.own) > 0 and len(shape.overlap(posed).vertices) == 0


def test_overlap_thin_part_through(pair):
    """A thin part that went through is measured by its depth, not by its own thickness."""
    rest, _, triangles = pair
    thin = rest.copy()
    half = len(rest) // 2
    thin[half:, 1:] = (thin[half:, 1:] - [0.0, 1.0]) * 0.1 + [0.0, 1.0]
    posed = thin.copy()
    posed[half:] -= [0.0, 0.0, 1.0 - RADIUS + 0.4 * RADIUS]
    found = overlap.Shape(thin, triangles).overlap(posed)
    inner = found.depths[found.vertices >= half]
    assert inner.max() > 3.0 * 0.1 * RADIUS


@pytest.mark.parametrize("way", ["inside out", "unwelded"])
def test_overlap_any_mesh(pair, way):
    """Meshes that are inside out or unwelded are measured alike."""
    rest, posed, triangles = pair
    straight = overlap.Shape(rest, triangles).overlap(posed)
    if way == "inside out":
        found = overlap.Shape(rest, triangles[:, ::-1]).overlap(posed)
    else:
        corners = triangles.ravel()
        found = overlap.Shape(rest[corners], np.arange(len(corners)).reshape(-1, 3)).overlap(posed[corners])
    assert len(found.vertices) == len(straight.vertices)
    assert found.depths.max() == pytest.approx(straight.depths.max(), rel=1e-6)
