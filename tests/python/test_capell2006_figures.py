# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of docs/rigging.md: a head of ours and its expressions, bent limbs, the guide's own code. No Blender."""

import re
from pathlib import Path

import numpy as np
import pytest
import shapes
import thew
from scipy.spatial import cKDTree

from assets.characters import head
from examples import bending, models, rigged

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "rigging.md"


@pytest.fixture(scope="module")
def hilda():
    """Builds the rigged head."""
    return rigged.hilda(cells_across=26.0)


def local_mean(face, point, reach=0.007):
    """Returns the mean position of the skin's points near a place at rest, and a function that takes it again."""
    chosen = np.linalg.norm(face.vertices - point, axis=1) < reach
    assert chosen.any()
    return lambda skin: skin[chosen].mean(axis=0)


def displacements(face, controls, *places):
    """Returns the displacement of the skin near each place, [places,3]."""
    skin = face.balanced_skin(controls)
    return [local_mean(face, place)(skin) - local_mean(face, place)(face.vertices) for place in places]


def test_head_closed_and_symmetric():
    """The head is closed, alike on both sides, properly weighted and built the same each time."""
    skin = head.skin()
    assert 5_000 < len(skin.vertices) < 12_500
    report = thew.Surface(skin.vertices, skin.triangles()).report()
    assert report.closed and report.manifold and report.oriented and report.components == 3
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1.0, atol=1e-12)
    assert skin.weights.min() >= 0.0
    distance, other = cKDTree(skin.vertices).query(skin.vertices * [-1.0, 1.0, 1.0])
    assert distance.max() < 1e-9
    np.testing.assert_allclose(skin.weights[other], skin.weights, atol=1e-9)
    assert np.array_equal(head.skin().vertices, skin.vertices)


def test_head_bones_avoid_face(hilda):
    """No bone lies within two centimetres of the skin of the face."""
    front = hilda.vertices[hilda.vertices[:, 1] < -0.075]
    for bone in head.figure().bones:
        ends = np.array([bone.head, bone.tail])
        along = ends[0] + np.linspace(0.0, 1.0, 40)[:, None] * (ends[1] - ends[0])
        assert np.linalg.norm(front[:, None] - along, axis=2).min() > 0.02, bone.name


def test_head_rest_without_controls(hilda):
    """The head rests without controls and with controls at zero or below."""
    np.testing.assert_allclose(hilda.balanced_skin({}), hilda.vertices, atol=1e-6)
    np.testing.assert_allclose(hilda.balanced_skin({"smile": 0.0, "frown": -1.0}), hilda.vertices, atol=1e-6)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_head_expressions(hilda, side):
    """Smile, frown and flared nostrils move mouth, brows and nose the right way on both sides."""
    corner, middle = np.array([side * 0.032, -0.084, -0.054]), np.array([0.0, -0.1, -0.056])
    brow, wing = np.array([side * 0.015, -0.082, 0.055]), np.array([side * 0.023, -0.0955, -0.0215])
    smile, lips = displacements(hilda, {"smile": 1.0}, corner, middle)
    assert smile[2] > lips[2] + 0.003 and side * smile[0] > 0.002
    frown, lips, knit = displacements(hilda, {"frown": 1.0}, corner, middle, brow)
    assert frown[2] < lips[2] - 0.002 and knit[2] < -0.002 and side * knit[0] < -0.001
    flare, lips = displacements(hilda, {"nostrils": 1.0}, wing, middle)
    # Lips share cells with the nose: from lattice to lattice they move by 0.26 to 0.62 mm.
    assert side * flare[0] > max(0.001, 3.0 * np.linalg.norm(lips))


def test_rigs_superpose(hilda):
    """Displacements of several rigs add up: at rest the balance is linear in the forces."""
    apart = sum(hilda.balanced_skin({name: 0.7}) - hilda.vertices for name in hilda.rigs)
    together = hilda.balanced_skin(dict.fromkeys(hilda.rigs, 0.7)) - hilda.vertices
    np.testing.assert_allclose(together, apart, atol=1e-6)


def test_guide_on_skin_direction(hilda):
    """A guide on the skin points in the given direction and lies at the given depth."""
    rng = np.random.default_rng(4)
    surface = hilda.body.surface
    for _ in range(20):
        point, towards = rng.choice(hilda.vertices), rng.normal(size=3)
        depth = rng.uniform(0.0, 0.01)
        rig = thew.Rig(
            thew.Template("bump", radius=0.02, strength=1.0), rigged.guide_on_skin(surface, point, towards, depth)
        )
        at = rig.frame(hilda.body)
        np.testing.assert_allclose(at[:3, 2], towards / np.linalg.norm(towards), atol=1e-9)
        assert np.linalg.norm(at[:3, 3] - point) == pytest.approx(depth, abs=1e-6)


def test_templates_shape_limb():
    """Each template changes a limb's shape as its name says."""
    limb = rigged.limb(detail=8, cells_across=14.0)
    middle = np.abs(limb.vertices[:, 2] - 0.4) < 0.03
    radius = lambda skin: np.linalg.norm(skin[middle, :2], axis=1)  # noqa: E731
    rest = radius(limb.vertices)
    # The torus' ring lies in the skin and laces the limb.
    for kind, sign in (("radial", 1.0), ("bulge", 1.0), ("torus", -1.0)):
        assert (sign * (radius(limb.balanced_skin({kind: 1.0})) - rest) > 0.005).all(), kind
    length = lambda skin: np.ptp(skin[:, 2])  # noqa: E731
    assert (
        length(limb.balanced_skin({"bulge": 1.0})) < length(limb.vertices) < length(limb.balanced_skin({"radial": 1.0}))
    )
    pushed = limb.balanced_skin({"bump": 1.0}) - limb.vertices
    assert limb.vertices[pushed[:, 1].argmin()] @ [0.0, -1.0, 0.0] > 0.14


@pytest.mark.parametrize("vertices", [None, 4000])
def test_arm_model_closed(vertices):
    """The arm's model is closed and has the number of vertices asked for."""
    made = models.arm(vertices)
    report = thew.Surface(made.vertices, made.triangles).report()
    assert report.closed and report.manifold and report.components == 1
    assert vertices is None or len(made.vertices) == vertices


def test_stretches_measure_volume():
    """The measured stretch of volume is the determinant of a uniform stretch."""
    bar = bending.bar(detail=4, cells_across=8.0)
    nodes = np.asarray(bar.lattice.vertices)
    stretch = np.array([[1.1, 0.2, 0.0], [0.0, 0.9, -0.1], [0.0, 0.0, 1.3]])
    q = np.zeros((bar.body.node_count, 3))
    q[: len(nodes)] = nodes @ stretch.T - nodes
    np.testing.assert_allclose(bending.stretches(bar.lattice, bar.near, q), 1.1 * 0.9 * 1.3, rtol=1e-6)


def test_warping_near_nonlinear():
    """Figure 2, small: the linear method swells, and both forms of warping stay near the nonlinear balance."""
    answers = bending.bend(bending.bar(detail=6, cells_across=10.0), 60.0)
    assert answers["linear"].volume > 1.08
    for method in ("warped", "warped_vertex"):
        assert abs(answers[method].volume - answers["neohookean"].volume) < 0.05
        assert answers[method].away["neohookean"][1] < 0.1 * answers["linear"].away["neohookean"][1]


def test_rigging_guide_code_runs(arm, tmp_path, monkeypatch):
    """Every block of Python in docs/rigging.md runs, in order, for an arm whose elbow bends."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    assert blocks
    elbow = np.linspace(0.0, 1.2, 6)
    names = {"body": arm.body, "poses": np.array([shapes.bend(angle) for angle in elbow]), "elbow": elbow}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    assert np.isfinite(names["skin"]).all()
    vertex = names["vertex"]
    assert names["pulled"][vertex, 2] == pytest.approx(names["skin"][vertex, 2] + 0.02, abs=0.005)
    assert names["rigs"] == thew.load_rigs("rigs.toml")
    text = re.search(r"```toml\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)[1]
    (tmp_path / "shown.toml").write_text(text)
    assert thew.load_rigs("shown.toml") == names["rigs"]
