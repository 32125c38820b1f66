# SPDX-License-Identifier: MIT OR Apache-2.0
"""One arm of flesh, built once and shared by the tests of every module."""

from types import SimpleNamespace

import numpy as np
import pytest
import shapes
import thew


@pytest.fixture(scope="session")
def arm():
    """Builds a capsule with two bones: arrays, and the surface, skeleton, lattice and body made of them."""
    vertices, triangles = shapes.arm()
    weights = shapes.arm_weights(vertices)
    surface = thew.Surface(vertices, triangles)
    skeleton = thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=10)
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights, flesh=np.ones(len(vertices)))
    return SimpleNamespace(
        vertices=vertices,
        triangles=triangles,
        weights=weights,
        surface=surface,
        skeleton=skeleton,
        lattice=lattice,
        body=body,
    )
