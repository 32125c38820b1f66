# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bodies with details: against the body without, in files, and bad levels."""

from types import SimpleNamespace

import numpy as np
import pytest
import thew

ROTATED = (
    "hyperelastic",
    "warped",
    "warped_vertex",
    "blended",
    "blended_printed",
    "linearised",
    "nonlinear",
    "neohookean",
)


@pytest.fixture(scope="module")
def levels(arm):
    """Builds two bodies of the arm in a coarse lattice, without and with one level of details, which sag."""
    lattice = thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights, cells_across=5)
    settings = thew.BodySettings(
        region_weights=arm.weights, flesh=np.ones(len(arm.vertices)), rest_includes_gravity=False
    )
    coarse, fine = (
        thew.Body(arm.surface, arm.skeleton, lattice, thew.Material(), settings=settings, basis_levels=count)
        for count in (0, 1)
    )
    return SimpleNamespace(lattice=lattice, settings=settings, coarse=coarse, fine=fine)


def swing(frames):
    """Returns poses in which the second bone turns about its head."""
    poses = np.tile(np.eye(4), (frames, 2, 1, 1))
    angle = 0.3 * np.sin(np.arange(frames))
    poses[:, 1, 0, 0] = poses[:, 1, 2, 2] = np.cos(angle)
    poses[:, 1, 0, 2], poses[:, 1, 2, 0] = np.sin(angle), -np.sin(angle)
    return poses


def test_functions_of_levels(levels):
    """A body tells its functions: those of the lattice's vertices first and all, then the kept ones of each level."""
    coarse, fine = levels.coarse, levels.fine
    k = len(levels.lattice.vertices)
    assert (coarse.basis_levels, fine.basis_levels) == (0, 1)
    assert coarse.functions_of_levels.tolist() == [[k, k]]
    candidates, kept = fine.functions_of_levels.T
    assert candidates[0] == kept[0] == k and 0 < kept[1] < candidates[1]
    assert fine.node_count == kept.sum()
    assert fine.level_of_node.dtype == np.int32 and (fine.level_of_node == np.repeat([0, 1], kept)).all()
    assert (fine.node_centres[:k] == levels.lattice.vertices).all()
    low, high = levels.lattice.vertices.min(axis=0), levels.lattice.vertices.max(axis=0)
    assert ((fine.node_centres >= low) & (fine.node_centres <= high)).all()
    assert fine.region_weights.shape == (fine.node_count, 2)
    assert np.allclose(fine.region_weights.sum(axis=1), 1.0)
    # Bones hold functions of level 0 alone.
    assert (fine.held_vertices == coarse.held_vertices).all()


def test_details_lower_energy(levels):
    """Details leave volume and strain of coarse shapes as they are, and flesh with them comes to rest lower."""
    coarse, fine = levels.coarse, levels.fine
    assert fine.volume == pytest.approx(coarse.volume, rel=1e-9)
    down = np.array([0.0, 0.0, -9.8])
    rest = np.tile(np.eye(4), (2, 1, 1))
    q = [thew.equilibrium(body, rest, gravity=down, method="nonlinear") for body in (coarse, fine)]
    wide = np.zeros_like(q[1])
    wide[: coarse.node_count] = q[0]
    # Elements with little flesh count for more of it.
    assert fine.energy(wide) == pytest.approx(coarse.energy(q[0]), rel=0.05)
    shown = [coarse.shown(q[0]), fine.shown(wide), fine.shown(q[1])]
    assert np.abs(shown[0] - shown[1]).max() < 1e-6
    sag = [-(there - fine.shown(np.zeros_like(wide)))[:, 2].mean() for there in shown]
    assert 1.02 * sag[0] < sag[2] < 2.0 * sag[0]


@pytest.mark.parametrize("method", ROTATED)
def test_rigid_pose_is_exact(levels, method):
    """Under a rigid motion of all bones flesh with details follows exactly in every method whose frames turn."""
    turn = np.eye(4)
    turn[:3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    turn[:3, 3] = [3.0, -1.0, 2.0]
    q = thew.equilibrium(levels.fine, np.stack([turn, turn]), gravity=(0.0, 0.0, 0.0), method=method)
    k = levels.coarse.node_count
    x = levels.lattice.vertices
    assert np.abs(x + q[:k] - (x @ turn[:3, :3].T + turn[:3, 3])).max() < 1e-8
    assert np.abs(q[k:]).max() < 1e-8


def test_modes_have_details(levels):
    """Vibration modes are those of all functions: with details flesh is softer, and modal flesh sways by them, also from a file."""
    coarse, fine = (thew.modes(body, 6) for body in (levels.coarse, levels.fine))
    assert (np.asarray(fine.frequencies) < np.asarray(coarse.frequencies)).all()
    with pytest.raises(thew.ThewError, match="basis_levels=0"):
        thew.modes(levels.fine, 6, mass="lumped")
    rest, down = np.tile(np.eye(4), (6, 2, 1, 1)), {"gravity": (0.0, 0.0, -2.0), "method": "modal"}
    # Flesh that sags at rest sags more with details, and as far as by the nonlinear method.
    sag = []
    for body in (levels.coarse, levels.fine):
        clip = thew.simulate(body, rest, 24.0, **down)
        sag.append(np.abs(clip.offsets(5)).max())
    exact = thew.equilibrium(levels.fine, rest[0], gravity=down["gravity"], method="nonlinear")
    drop = levels.fine.shown(exact) - levels.fine.shown(np.zeros_like(exact))
    assert 1.02 * sag[0] < sag[1] < 2.0 * sag[0] and sag[1] == pytest.approx(np.abs(drop).max(), rel=0.1)


def test_file_round_trip(levels, tmp_path):
    """A saved body with details comes back whole, and moves by the same bits."""
    path = tmp_path / "fine.thew"
    levels.fine.save(path)
    loaded = thew.Body.load(path)
    assert (loaded.functions_of_levels == levels.fine.functions_of_levels).all()
    assert (loaded.node_centres == levels.fine.node_centres).all()
    clips = [thew.simulate(body, swing(4), 24.0, method="warped") for body in (levels.fine, loaded)]
    frames = [[clip.positions(frame) for frame in range(4)] for clip in clips]
    assert np.array_equal(*frames) and np.abs(frames[0][3] - frames[0][0]).max() > 1e-3
    spoilt = bytearray(path.read_bytes())
    spoilt[len(spoilt) // 2] ^= 1
    path.write_bytes(bytes(spoilt))
    with pytest.raises(thew.StorageError):
        thew.Body.load(path)


def test_bad_levels(arm, levels):
    """Levels out of range, too many for the memory and for what needs a body without are errors with a way out."""
    for wrong in (-1, 4, 10**30, 1.5, float("nan"), "1", None, [1]):
        with pytest.raises((thew.InputError, TypeError)):
            thew.Body(arm.surface, arm.skeleton, levels.lattice, thew.Material(), arm.weights, basis_levels=wrong)
    many = thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights, cells_across=24)
    with pytest.raises(thew.InputError, match=r"GB of memory: use at most [12]"):
        thew.Body(arm.surface, arm.skeleton, many, thew.Material(), arm.weights, basis_levels=3)
    rest = levels.fine.node_centres
    with pytest.raises(thew.ThewError, match=r"paths of positions.*basis_levels=0"):
        thew.Spacetime(levels.fine, [rest, rest], [0.0, 1.0])
