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


@pytest.fixture(scope="session")
def shots(arm, tmp_path_factory):
    """Writes shots of four frames into a folder, one of them damaged."""
    folder = tmp_path_factory.mktemp("shots")
    poses = np.array([shapes.bend(0.6 * np.sin(0.5 * frame)) for frame in range(4)])
    for name in ("anna", "bert"):
        thew.Shot(arm.body, poses, 24, method="warped", name=name).save(folder / f"{name}.shot.thew")
    (folder / "bad.shot.thew").write_bytes((folder / "anna.shot.thew").read_bytes()[:-9])
    return folder
