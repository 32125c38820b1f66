# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rigid motion taken out of a spacetime motion: nothing jumps, its turning costs what Euler's law says, and about one axis it is a minimiser."""

import numpy as np
import pytest
import thew

U, V = np.meshgrid(np.linspace(-4, 4, 17), np.linspace(-1.5, 1.5, 7), indexing="ij")
FLAT = np.stack([U, V, 0 * U], -1).reshape(-1, 3)
AT = np.arange(17 * 7).reshape(17, 7)
A, B, C, D = (each.ravel() for each in (AT[:-1, :-1], AT[1:, :-1], AT[1:, 1:], AT[:-1, 1:]))
SHELL = thew.Shell(FLAT, np.concatenate([np.stack([A, B, C], 1), np.stack([A, C, D], 1)]), unit=1.0)
TIMES = [0.0, 1.0, 2.0]
T = np.linspace(0.0, 2.0, 41)


def rolled_strip(curvature):
    """Returns the sheet rolled up about its middle, which stays, so that nothing turns it."""
    t = curvature * FLAT[:, 0]
    return np.stack([np.sin(t) / curvature, FLAT[:, 1], (1 - np.cos(t)) / curvature], 1)


def turn_about_z(x, angle):
    """Turns positions about z around their mean."""
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
    return (x - x.mean(axis=0)) @ turn.T + x.mean(axis=0)


def motion(keys, **options):
    """Builds a motion through keyframes of the strip."""
    given = {"stiffness": 40.0, "damping": (0.5, 0.0), "start_velocity": 0.0, "end_velocity": 0.0}
    return thew.Spacetime(SHELL, np.stack(keys), TIMES, **(given | options))


@pytest.mark.parametrize("alpha", [0.0, 0.5, 4.0])
def test_motion_continuous_in_turn(alpha):
    """A motion changes steadily as a keyframe turns, with no angle at which it jumps."""

    def motion_at(angle):
        return motion([FLAT, turn_about_z(rolled_strip(0.04), angle), FLAT], damping=(alpha, 0.0))(T)

    angles = np.array([-0.002, 0.0, 0.002, 0.1, 0.102, 0.2, 0.202, 0.334, 0.336, 0.349, 0.351, 0.36, 0.4])
    frames = [motion_at(angle) for angle in angles]
    rates = [np.abs(b - a).max() / h for a, b, h in zip(frames, frames[1:], np.diff(angles), strict=False)]
    # The ends of the strip are four units out, so that a keyframe moves by about four units a radian.
    assert min(rates) > 3.5 and max(rates) < 6.0


def test_rigid_effect_vanishes_with_turn():
    """The effect of taking rigid motion out vanishes with the turn."""

    def rigid_effect(angle, shift=0.0):
        keys = [FLAT, turn_about_z(rolled_strip(0.04), angle) + [shift, 0.0, 0.5 * shift], FLAT]
        return np.abs(motion(keys)(T) - motion(keys, rigid=False)(T)).max()

    # Travelling alone changes nothing; a turn does in proportion to itself and to the strain, and to its square.
    assert rigid_effect(0.0) < 2e-5 and rigid_effect(0.0, 3.0) < 5e-5
    assert rigid_effect(0.05) < 0.55 * rigid_effect(0.1) < 0.55 * 0.55 * rigid_effect(0.2)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 4.0])
def test_one_axis_turn_is_minimiser(alpha):
    """A turn about one axis is the spline of its angle, at the cost of its inertia."""
    angles = np.array([0.0, 1.0, 1.7])
    found = motion([turn_about_z(FLAT, angle) for angle in angles], damping=(alpha, 0.0))
    spline = thew.WigglySpline(TIMES, angles, 0.0, 0.5 * alpha)
    x = found(T).astype(float)
    along = x[:, AT[16, 3]] - x[:, AT[0, 3]]
    np.testing.assert_allclose(np.unwrap(np.arctan2(along[:, 1], along[:, 0])), spline(T), atol=1e-6)
    inertia = np.sum(SHELL.mass * (FLAT[:, :2] ** 2).sum(axis=1))
    assert found.cost == pytest.approx(inertia * spline.cost, rel=1e-9)


def test_small_turn_cost():
    """Small turns cost the same as in the printed problem, in which a turn is a displacement."""
    for angle in (1e-3, 1e-2):
        keys = [FLAT, turn_about_z(FLAT, angle), turn_about_z(FLAT, -angle)]
        one, other = motion(keys), motion(keys, rigid=False)
        assert one.cost == pytest.approx(other.cost, rel=angle) and one.cost > 0.0
    shifted = [FLAT, FLAT + [1.0, 0, 0], FLAT + [3.0, 0, 0]]
    assert motion(shifted).cost == pytest.approx(motion(shifted, rigid=False).cost, rel=1e-9)


def test_turn_and_strain_costs_add():
    """The costs of turning and of a small strain add up."""
    alone = motion([FLAT, turn_about_z(FLAT, 1.0), FLAT]).cost
    strain = motion([FLAT, rolled_strip(0.001), FLAT]).cost
    both = motion([FLAT, turn_about_z(rolled_strip(0.001), 1.0), FLAT]).cost
    assert strain > 0.0 and both == pytest.approx(alone + strain, rel=1e-3)
