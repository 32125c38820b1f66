# SPDX-License-Identifier: MIT OR Apache-2.0
"""The sag of a bent joint, beside the balance of exact (neo-Hookean) flesh of the same body: `docs/methods/hyperelastic.md`, limits."""

import numpy as np
import pytest
import shapes
import thew

#: The angle of the elbow, and by how much of exact flesh's sag that of others may be off: a bent joint is taken to be as stiff as a straight one.
BENT = ((0.0, 0.01), (45.0, 0.05), (90.0, 0.12))


@pytest.fixture(scope="module")
def body():
    """Builds an arm of 0.12 m radius whose rest shape is without gravity, and returns its body."""
    vertices, triangles = shapes.arm(segments=20, rings=40, radius=0.12)
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=12)
    return thew.Body(
        surface,
        skeleton,
        lattice,
        thew.Material(young=20e3),
        region_weights=weights,
        flesh=np.ones(len(vertices)),
        rest_includes_gravity=False,
    )


def sag(body, degrees, method):
    """Returns the change of a balance by weight, [k, 3]."""
    free, loaded = (
        thew.equilibrium(body, shapes.bend(np.radians(degrees)), gravity=(0, 0, g), method=method) for g in (0.0, -9.81)
    )
    return loaded - free


@pytest.mark.parametrize(("degrees", "off"), BENT)
def test_sag_near_exact(body, degrees, off):
    """A bent joint sags under its weight nearly as exact (neo-Hookean) flesh does."""
    exact = sag(body, degrees, "neohookean")
    most = np.abs(exact).max()
    assert most > 0.01 * body.surface.size
    assert np.abs(sag(body, degrees, "hyperelastic") - exact).max() < off * most
