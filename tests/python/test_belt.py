# SPDX-License-Identifier: MIT OR Apache-2.0
"""Belts: rings of skin around a bone, and the pins that hold them."""

import numpy as np
import pytest
import thew

from examples.python import shapes


@pytest.fixture(scope="module")
def body():
    return shapes.body()


def test_ring_of_skin(body):
    """Around the upper arm the ring is a circle of 0.1 m or less across the bone."""
    vertices, girth, centre = body.surface.ring([0.25, 0.0, 0.02], [1.0, 0.0, 0.0])
    x = body.surface.vertices[vertices]
    assert np.ptp(x[:, 0]) < 0.05 and len(vertices) == 20
    np.testing.assert_allclose(centre, [0.25, 0.0, 0.0], atol=1e-6)
    radius = np.linalg.norm(x[:, 1:], axis=1).mean()
    assert 0.97 < girth / (2.0 * np.pi * radius) < 1.03
    wide, _, _ = body.surface.ring([0.25, 0.0, 0.0], [1.0, 0.0, 0.0], width=0.2)
    assert len(wide) > 40 and set(vertices) <= set(wide)
    assert body.surface.ring([0.25, 0.3, 0.0], [1.0, 0.0, 0.0]) is None


def test_belt_holds_and_follows(body):
    """The belt's vertices stay on the bone at the girth asked for, while the flesh beside them sways."""
    poses = shapes.bent_poses(0.8 * np.sin(np.linspace(0.0, 6.0, 12)))
    pins = thew.belt(body, "lower", poses, along=0.4, girth=0.95)
    assert 4 <= len(pins) <= 20
    clip = thew.simulate(body, poses, 24.0, pins=pins)
    shown = np.asarray(clip)
    size = body.surface.size
    for pin in pins:
        assert np.abs(shown[:, pin.point] - pin.targets).max() < 2e-3 * size
    vertices = [pin.point for pin in pins]
    rest = body.surface.vertices[vertices]
    back = np.einsum(
        "fij,fkj->fki", np.linalg.inv(poses[:, 1]), np.insert(np.stack([p.targets for p in pins], 1), 3, 1.0, 2)
    )
    np.testing.assert_allclose(back[..., :3], np.broadcast_to(back[0, :, :3], back[..., :3].shape), atol=1e-9)
    np.testing.assert_allclose(back[0, :, 1:3], 0.95 * rest[:, 1:], atol=1e-3)
    loose = thew.belt(body, 1, poses, strengths=np.linspace(0.0, 1.0, 12))
    np.testing.assert_array_equal(loose[0].strengths, np.linspace(0.0, 1.0, 12))


@pytest.mark.parametrize(
    ("bone", "keywords", "what"),
    [
        ("tail", {}, "no bone 'tail'"),
        (5, {}, "no bone 5"),
        ("upper", {"along": -1.5}, "no skin goes around the bone 'upper'"),
        ("upper", {"girth": 0.2}, "girth"),
        ("upper", {"along": float("nan")}, "along"),
        ("upper", {"width": -0.1}, "width"),
        ("upper", {"strengths": [2.0]}, "strengths"),
    ],
)
def test_bad_belts_are_refused(body, bone, keywords, what):
    with pytest.raises(thew.InputError, match=what):
        thew.belt(body, bone, shapes.bent_poses(np.zeros(1)), **keywords)
