# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh at rest: a kept answer is the one that would be found anew."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import part


class CountedSimulation:
    """A simulation that is counted on."""

    def __init__(self, simulation):
        self.simulation, self.solved = simulation, 0

    def reset(self, *args, **options):
        self.solved += 1
        self.simulation.reset(*args, **options)

    def __getattr__(self, name):
        return getattr(self.simulation, name)


@pytest.fixture(scope="module")
def thew(addon):
    return part("logic.native").thew


@pytest.fixture(scope="module")
def body(thew):
    """Builds a bar of flesh along x, 1 m long, with a bone in each half."""
    grid = thew.TetMesh.grid((8, 2, 2), (1.0, 0.2, 0.2))
    used, triangles = np.unique(grid.surface_triangles, return_inverse=True)
    surface = thew.Surface(grid.vertices[used], triangles.reshape(-1, 3))
    heads, tails = [[0.1, 0.1, 0.1], [0.5, 0.1, 0.1]], [[0.5, 0.1, 0.1], [0.9, 0.1, 0.1]]
    skeleton = thew.Skeleton(["root", "tip"], [-1, 0], heads, tails)
    share = np.clip(5.0 * surface.vertices[:, :1] - 2.0, 0.0, 1.0)
    weights = np.hstack([1.0 - share, share])
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=8)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


def bent_pose(angle):
    """Returns the pose [2, 4, 4] with the second bone turned upwards."""
    turn, head = np.eye(4), np.array([0.5, 0.1, 0.1])
    turn[0, 0] = turn[2, 2] = np.cos(angle)
    turn[2, 0], turn[0, 2] = np.sin(angle), -np.sin(angle)
    turn[:3, 3] = head - turn[:3, :3] @ head
    return np.stack([np.eye(4), turn])


@pytest.mark.parametrize("method", ["hyperelastic", "warped", "linear", "modal"])
def test_settled_matches_fresh_solve(thew, body, method):
    """A reused solver gives the bits of a fresh one, and forces and poses are not confused."""
    push = np.zeros((body.node_count, 3))
    push[:, 2] = 0.05
    asked = [
        (bent_pose(0.3), None),
        (bent_pose(0.3), push),
        (bent_pose(0.3), 2.0 * push),
        (bent_pose(0.5), push),
        (bent_pose(0.3), None),
    ]
    kept = part("logic.rest_solver").RestSolver(thew.Simulation(body, method=method, elastic_joints=0.5))
    found = []
    for pose, forces in asked * 2:
        rest = kept.solve(pose, None if forces is None else part("logic.rest_solver").RigAction(forces))
        fresh = thew.Simulation(body, method=method, elastic_joints=0.5)
        fresh.reset(pose, rest_forces=forces)
        assert np.array_equal(rest.offsets, fresh.offsets())
        assert np.array_equal(rest.amplitudes, fresh.amplitudes)
        found.append(rest.offsets)
    for one, other in ((0, 1), (1, 2), (1, 3)):
        assert np.abs(found[one] - found[other]).max() > 1e-5


def test_settled_heeds_stiffness(thew, body):
    """Firmer flesh gives way less, and slack flesh as before; a method whose stiffness cannot change gives way as it always does."""
    action, push = part("logic.rest_solver").RigAction, np.zeros((body.node_count, 3))
    push[:, 2] = 0.05
    factors, pose = np.full(len(body.lattice.cells), 4.0), bent_pose(0.3)
    kept = part("logic.rest_solver").RestSolver(thew.Simulation(body, elastic_joints=0.0))
    asked = (action(push), action(), action(push, factors), action(None, factors), action(push))
    slack, slack_still, tense, tense_still, again = (kept.solve(pose, each).offsets for each in asked)
    assert np.abs(tense - tense_still).max() < 0.5 * np.abs(slack - slack_still).max()
    assert np.array_equal(slack, again)
    blended = part("logic.rest_solver").RestSolver(thew.Simulation(body, method="blended"))
    assert np.array_equal(blended.solve(pose, action(push, factors)).offsets, blended.solve(pose, action(push)).offsets)


def test_settled_reuses_solution(thew, body):
    """A redraw and a subframe between known poses solve nothing."""
    counted = CountedSimulation(thew.Simulation(body))
    kept = part("logic.rest_solver").RestSolver(counted)
    for _ in range(3):
        kept.solve(bent_pose(0.2))
    assert counted.solved == 1
    for _ in range(4):  # part frames between two poses
        kept.solve(bent_pose(0.2))
        kept.solve(bent_pose(0.3))
    assert counted.solved == 2
    for angle in (0.3, 0.4, 0.4, 0.5):  # and on to the next
        kept.solve(bent_pose(angle))
    assert counted.solved == 4


def test_settled_drops_failed_solve(thew, body):
    """A failed solve is not kept."""
    kept = part("logic.rest_solver").RestSolver(thew.Simulation(body))
    for _ in range(2):
        with pytest.raises(thew.ThewError):
            kept.solve(bent_pose(0.2), part("logic.rest_solver").RigAction(np.full((body.node_count, 3), np.nan)))
    assert len(kept.solve(bent_pose(0.2)).offsets) == len(body.surface.vertices)
