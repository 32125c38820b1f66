# SPDX-License-Identifier: GPL-3.0-or-later
"""Modal flesh that is dragged by points of its skin, without a window: the numbers behind Drag Flesh."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import part

DAMPING = (2.0, 0.004)


@pytest.fixture(scope="module")
def bar(addon):
    """Builds (thew, surface, lattice nodes, modes, deformer) of a bar of flesh, 1 m along x, a bone through its first
    fifth."""
    thew = part("logic.native").thew
    n, m = 20, 4
    ends = np.array([(0.0, y, z) for y in np.linspace(-0.1, 0.1, m + 1) for z in np.linspace(-0.1, 0.1, m + 1)])
    points = np.concatenate([ends + (x, 0.0, 0.0) for x in np.linspace(0.0, 1.0, n + 1)])
    at = lambda i, j, k: (i * (m + 1) + j) * (m + 1) + k  # noqa: E731
    quads = []
    for i in range(n):
        for j in range(m):
            for k, flip in ((0, False), (m, True)):
                quad = [at(i, j, k), at(i + 1, j, k), at(i + 1, j + 1, k), at(i, j + 1, k)]
                quads.append(quad if flip else quad[::-1])
                quad = [at(i, k, j), at(i + 1, k, j), at(i + 1, k, j + 1), at(i, k, j + 1)]
                quads.append(quad[::-1] if flip else quad)
    for j in range(m):
        for k in range(m):
            for i, flip in ((0, True), (n, False)):
                quad = [at(i, j, k), at(i, j + 1, k), at(i, j + 1, k + 1), at(i, j, k + 1)]
                quads.append(quad[::-1] if flip else quad)
    used, index = np.unique(np.array(quads), return_inverse=True)
    quads = index.reshape(-1, 4)
    triangles = np.concatenate([quads[:, :3], quads[:, [0, 2, 3]]])
    surface = thew.Surface(points[used], triangles)
    skeleton = thew.Skeleton(["root"], [-1], [[0.02, 0.0, 0.0]], [[0.2, 0.0, 0.0]])
    weights = np.ones((len(used), 1))
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=16)
    flesh = np.ones(len(used))
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights, flesh=flesh)
    modes = thew.modes(body, 24)
    deformer = thew.Deformer(modes, surface, form="embedded", engine="cpu")
    return thew, surface, lattice.embed_surface(surface), modes, deformer


@pytest.fixture
def drag(bar):
    thew, surface, nodes, modes, deformer = bar
    return part("logic.drag").ModalDrag(thew, modes, deformer, nodes, np.zeros(len(modes)), surface.size, DAMPING)


def vertex_at(bar, point) -> int:
    return int(np.argmin(np.linalg.norm(np.asarray(bar[1].vertices) - point, axis=1)))


def drag_to(drag, grip, wanted, seconds: float) -> float:
    """Leads a point evenly there, redraw by redraw, and returns how far the farthest skin went meanwhile."""
    start, looks, farthest = grip.wanted, round(60 * seconds), 0.0
    for k in range(looks):
        grip.wanted = start + (k + 1) / looks * (np.asarray(wanted) - start)
        drag.advance(4)
        farthest = max(farthest, float(np.linalg.norm(drag.displacements, axis=1).max()))
    return farthest


# time -----------------------------------------------------------------------------------------------------------------


def test_clock_steps(addon):
    """The clock gives whole steps of real time, and a bounded number of them."""
    clock = part("logic.drag").StepClock(step=0.01, most=5)
    assert [clock.steps(s) for s in (0.004, 0.004, 0.004, 0.03, 0.0, 0.008)] == [0, 0, 1, 3, 0, 1]
    assert clock.steps(100.0) == 5  # a machine that slept does not catch up
    assert clock.steps(0.0) == 0 and clock.steps(0.01) == 1
    assert clock.steps(-3.0) == 0
    clock = part("logic.drag").StepClock()
    assert sum(clock.steps(1.0 / 60.0) for _ in range(600)) == pytest.approx(2400, abs=1)


def test_wanted_there(addon):
    """The way to the mouse is turned into the axes at rest, and is finite even in a flat pose."""
    wanted_there = part("logic.drag").wanted_displacement
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    rest, moved, move = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.0, -0.1]), np.array([5.0, 5.0, 5.0])
    seen, there = turn @ (rest + moved) + move, np.array([0.5, 7.0, 11.0])
    wanted = wanted_there(turn, moved, seen, there)
    np.testing.assert_allclose(turn @ (rest + wanted) + move, there, atol=1e-12)
    flat = np.diag([1.0, 1.0, 0.0])  # a pose that flattens
    assert np.isfinite(wanted_there(flat, moved, seen, there)).all()


# points that are dragged --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", [(1.0, 0.1, 0.1), (1.0, 0.0, 0.0), (0.7, 0.1, 0.0), (0.5, 0.0, -0.1)])
@pytest.mark.parametrize("way", [(0.0, 0.0, 0.12), (0.0, -0.12, 0.05), (-0.05, 0.05, 0.05)])
def test_drag_reaches(bar, drag, point, way):
    """A point ends where it is led, and reports the distance left."""
    grip = drag.grip(vertex_at(bar, point))
    farthest = drag_to(drag, grip, way, 0.5)
    drag_to(drag, grip, way, 0.5)
    there = drag.displacements[grip.vertex]
    assert np.linalg.norm(there - way) < 0.02 * drag.size
    assert drag.remaining_distance() == pytest.approx(np.linalg.norm(there - way), abs=1e-6)
    assert farthest < 0.6


def test_drag_rings_down(bar, drag):
    """Flesh that is let go swings through and comes to rest."""
    grip = drag.grip(vertex_at(bar, (1.0, 0.1, 0.1)))
    drag_to(drag, grip, (0.0, 0.0, 0.15), 0.5)
    assert not drag.is_at_rest
    drag.let_go()
    heights, looks = [], 0
    while not drag.is_at_rest:
        drag.advance(4)
        heights.append(float(drag.displacements[grip.vertex][2]))
        looks += 1
        assert looks < 60 * 30, "it never comes to rest"
    assert min(heights) < -0.01 and heights[0] > 0.1  # it swings through
    assert np.abs(drag.displacements).max() < 1e-3 * drag.size
    np.testing.assert_allclose(drag.amplitudes, drag.rest, atol=1e-2 * np.abs(drag.amplitudes).max() + 1e-2)


@pytest.mark.parametrize("turns", [1.0, 3.0, 8.0])
def test_drag_bounded(bar, drag, turns):
    """Flesh that is led fast round a circle stays bounded, and loses energy once it is let go."""
    grip, farthest = drag.grip(vertex_at(bar, (1.0, 0.1, 0.1))), 0.0
    modes = bar[3]
    reach = lambda q: float(np.linalg.norm(drag.deformer.displacements(q), axis=1).max())  # noqa: E731
    for k in range(180):
        angle = 2.0 * np.pi * turns * k / 60.0
        grip.wanted = 0.15 * np.array([0.0, np.cos(angle) - 1.0, np.sin(angle)])
        drag.advance(4)
        farthest = max(farthest, reach(drag.amplitudes))
    assert np.isfinite(farthest) and farthest < 1.5
    energy = lambda: (  # noqa: E731
        0.5 * float((np.asarray(modes.eigenvalues) * drag.simulation.amplitudes**2).sum())
        + 0.5 * float((drag.simulation.velocities**2).sum())
    )
    drag.let_go()
    before = energy()
    for _ in range(600):
        drag.advance(4)
        assert energy() <= before * (1.0 + 1e-9)
        before = energy()


def test_drag_leaping_mouse(bar, drag):
    """A mouse that leaps does not throw the flesh."""
    grip = drag.grip(vertex_at(bar, (1.0, 0.0, 0.1)))
    for there in ((0.0, 0.0, 0.4), (0.0, 0.0, -0.4), (0.0, 5.0, 0.0), (0.0, 0.0, 0.1)):
        grip.wanted = np.array(there)
        for _ in range(30):
            drag.advance(4)
            assert np.linalg.norm(drag.displacements, axis=1).max() < 3.0 * drag.size
    assert drag.remaining_distance() < 0.02 * drag.size


def test_drag_held_skin(bar, drag):
    """A drag of skin that bones hold does not move flesh elsewhere."""
    module = part("logic.drag")
    try:
        grip = drag.grip(vertex_at(bar, (0.2, 0.1, 0.0)))
    except part("logic.errors").Refusal as error:
        assert "Bones hold" in str(error)
        return
    way = np.array([0.1, 0.1, 0.0])
    farthest = drag_to(drag, grip, way, 1.0)
    drag_to(drag, grip, way, 1.0)
    assert farthest < 1.5 * module.MAX_LEVERAGE * np.linalg.norm(way)
    assert grip.part == 1.0 or drag.remaining_distance() > 0.0  # what it stays behind is told


def test_grip_refuses_fixed(bar, drag):
    """A grip on fixed nodes is refused."""
    indices, shares = bar[2]
    fixed = np.asarray(bar[3].fixed)
    drag._nodes = (
        np.where(np.arange(len(fixed))[fixed][0] >= 0, np.full_like(indices, np.flatnonzero(fixed)[0]), indices),
        shares,
    )
    with pytest.raises(part("logic.errors").Refusal, match="Bones hold"):
        drag.grip(0)


def test_drag_held_points(bar, drag):
    """Held points stay while another is led."""
    still = drag.grip(vertex_at(bar, (0.6, 0.0, 0.1)))
    led = drag.grip(vertex_at(bar, (1.0, 0.0, 0.1)))
    assert drag.grip(led.vertex) is led and len(drag.grips) == 2 and still.node != led.node
    drag_to(drag, led, (0.0, 0.06, 0.06), 0.5)
    drag_to(drag, led, (0.0, 0.06, 0.06), 0.7)
    assert np.linalg.norm(drag.displacements[led.vertex] - (0.0, 0.06, 0.06)) < 0.02 * drag.size
    assert np.linalg.norm(drag.displacements[still.vertex]) < 0.02 * drag.size


# sentences ------------------------------------------------------------------------------------------------------------


def test_status_line(bar, drag):
    """The status line names held points, slowing and stopping in an artist's words."""
    status_line = part("logic.drag").status_line
    assert status_line(drag, False, "").startswith("Thew: drag the skin") and "Esc" in status_line(drag, False, "")
    grip = drag.grip(vertex_at(bar, (1.0, 0.0, 0.1)))
    assert "1 point held" in status_line(drag, False, "") and "3 cm short of the mouse" in status_line(
        drag, True, "3 cm"
    )
    drag.slowed = 0.5
    assert "slowed" in status_line(drag, True, "") and "cannot follow so fast" in status_line(drag, True, "")
    drag.stopped = 0.5
    assert "stopped" in status_line(drag, True, "") and "slowed" not in status_line(drag, True, "")
    drag.let_go()
    grip.wanted = np.zeros(3)
    drag.advance(200)
    assert not drag.slowed and not drag.stopped and status_line(drag, False, "").startswith("Thew: drag the skin")
