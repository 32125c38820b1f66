# SPDX-License-Identifier: MIT OR Apache-2.0
"""Wiggly splines against a boundary value problem in many digits, a direct minimisation, scipy's cubics, and symmetries."""

import numpy as np
import pytest
import scipy.interpolate
import thew
from reference_spline import spline as reference

TIMES, VALUES = [0.0, 0.4, 1.1, 1.5], [0.2, -1.0, 0.7, 0.1]


def random_cases():
    """Returns times, values and parameters of random splines and of the limits between regimes."""
    rng = np.random.default_rng(5)
    cases = []
    for _ in range(12):
        length = 10 ** rng.uniform(-1.5, 0.7)
        times = np.cumsum(length * rng.uniform(0.5, 1.5, 4)) - length
        stiffness = rng.choice([-1, 1, 1]) * 10 ** rng.uniform(-8, 3)
        # Growth of a negative stiffness over an interval is bounded, so that the reference needs no thousand digits.
        stiffness = max(stiffness, -((20 / length) ** 2))
        damping = rng.choice([0.0, 10 ** rng.uniform(-3, 1)])
        cases.append((times, rng.normal(size=4), stiffness, min(damping, 30 / length), rng.normal() * 3))
    for stiffness in (0.0, 1e-8, -1e-8, 4.0, 4.0 + 1e-9, 4.0 - 1e-9):
        cases += [(np.array(TIMES), np.array(VALUES), stiffness, d, 2.0) for d in (0.0, 2.0)]
    cases.append((np.array(TIMES), np.array(VALUES), 1e8, 0.0, 2.0))
    cases.append((np.array([0.0, 0.03, 0.06]), np.array([1.0, -1.0, 0.5]), 1e6, 1e3, 1.0))
    cases.append((np.array([0.0, 0.03, 0.06]), np.array([1.0, -1.0, 0.5]), -1e6, 0.0, 1.0))
    return cases


@pytest.mark.parametrize("case", random_cases())
@pytest.mark.parametrize("ends", [(0.0, 0.0), (1.5, -0.5)])
def test_spline_matches_reference(case, ends):
    """For all parameters the spline agrees with a solution in many digits."""
    times, values, stiffness, damping, gravity = case
    s = thew.WigglySpline(times, values, stiffness, damping, gravity, *ends)
    at = np.concatenate([times[:-1] + f * np.diff(times) for f in (0.1, 0.5, 0.83)])
    wanted = np.array(reference(times, values, stiffness, damping, gravity, *ends, at))
    assert np.abs(s(at) - wanted).max() < 1e-10 * max(1.0, np.abs(wanted).max())


def test_natural_ends():
    """Natural ends match the reference and are free of force."""
    for damping in (0.0, 0.7):
        s = thew.WigglySpline(TIMES, VALUES, 9.0, damping, 1.0, None, None)
        wanted = reference(TIMES, VALUES, 9.0, damping, 1.0, None, None, [0.2, 0.9, 1.3])
        assert np.allclose(s([0.2, 0.9, 1.3]), wanted, atol=1e-11)
        ends = np.array([0.0, 1.5])
        force = s(ends, 2) + 2 * damping * s(ends, 1) + 9.0 * s(ends) + 1.0
        assert np.abs(force).max() < 1e-9


def test_spline_without_stiffness_is_cubic():
    """Without stiffness and damping the splines are cubic."""
    t = np.linspace(0.0, 1.5, 40)
    clamped = scipy.interpolate.CubicSpline(TIMES, VALUES, bc_type=((1, 0.3), (1, -2.0)))
    ours = thew.WigglySpline(TIMES, VALUES, 0.0, 0.0, 0.0, 0.3, -2.0)
    for order in range(3):
        assert np.allclose(ours(t, order), clamped(t, order), atol=1e-11)
    cyclic = thew.WigglySpline(TIMES, [*VALUES[:-1], VALUES[0]], 0.0, 0.0, cyclic=True)
    periodic = scipy.interpolate.CubicSpline(TIMES, [*VALUES[:-1], VALUES[0]], bc_type="periodic")
    assert np.allclose(cyclic(t), periodic(t), atol=1e-11)
    assert np.allclose(cyclic(t + 1.5), cyclic(t), atol=1e-11)


def test_cost_is_minimal():
    """No motion on a fine grid is cheaper: its least squares come near the spline and its cost."""
    stiffness, damping, gravity, n = 30.0, 0.8, 2.0, 1500
    s = thew.WigglySpline(TIMES, VALUES, stiffness, damping, gravity, 0.0, 0.0)
    h = 1.5 / n
    index = np.round(np.array(TIMES) / h).astype(int)
    inner = np.arange(1, n)
    rows = np.zeros((n - 1, n + 1))
    rows[inner - 1, inner - 1] = 1 / h**2 - damping / h
    rows[inner - 1, inner] = -2 / h**2 + stiffness
    rows[inner - 1, inner + 1] = 1 / h**2 + damping / h
    fixed = {**dict(zip(index, VALUES, strict=True)), 1: VALUES[0], n - 1: VALUES[-1]}
    free = np.setdiff1d(np.arange(n + 1), list(fixed))
    known = np.zeros(n + 1)
    known[list(fixed)] = list(fixed.values())
    x = np.linalg.lstsq(rows[:, free], -(rows @ known) - gravity, rcond=None)[0]
    known[free] = x
    assert np.abs(known - s(np.linspace(0, 1.5, n + 1))).max() < 0.01
    assert abs(h * np.sum((rows @ known + gravity) ** 2) / s.cost - 1) < 0.02


def test_spline_symmetries():
    """The spline has its symmetries: reversed time, the sign of damping, scaled time and linearity."""
    t = np.linspace(0.0, 1.5, 31)
    s = thew.WigglySpline(TIMES, VALUES, 40.0, 0.0, 0.0, 1.0, 2.0)
    back = thew.WigglySpline([1.5 - x for x in TIMES[::-1]], VALUES[::-1], 40.0, 0.0, 0.0, -2.0, -1.0)
    assert np.allclose(back(t), s(1.5 - t), atol=1e-11)
    # Given slopes at both ends: the sign of the damping has no say.
    a, b = (thew.WigglySpline(TIMES, VALUES, 40.0, d, 0.0, 1.0, 2.0)(t) for d in (0.9, -0.9))
    assert np.allclose(a, b, atol=1e-11)
    slower = thew.WigglySpline([4 * x for x in TIMES], VALUES, 40.0 / 16, 0.0, 0.0, 0.25, 0.5)
    assert np.allclose(slower(4 * t), s(t), atol=1e-11)
    assert slower.cost * 64 == pytest.approx(s.cost, rel=1e-9)
    both = thew.WigglySpline(
        TIMES, np.stack([VALUES, np.cos(VALUES)], axis=1), [40.0, -3.0], 0.0, [0.0, 1.0], [1.0, 0.0], 2.0
    )
    assert both(t).shape == (31, 2) and np.allclose(both(t)[:, 0], s(t), atol=1e-13) and both.cost.shape == (2,)


def test_knot_velocities_and_cuts():
    """Prescribed slopes are met, and a free cut makes two splines."""
    s = thew.WigglySpline(TIMES, VALUES, 20.0, 0.3, 1.0, knot_velocities={1: 2.0, 2: (-1.0, 3.0)})
    near = 1e-9
    assert s(0.4, 1)[()] == pytest.approx(2.0) and s.slopes[1] == 2.0
    assert s(1.1 - near, 1)[()] == pytest.approx(-1.0, abs=1e-5) and s(1.1, 1)[()] == pytest.approx(3.0)
    # A cut whose both sides are free is two splines with natural ends.
    cut = thew.WigglySpline(TIMES, VALUES, 20.0, 0.3, 1.0, knot_velocities={1: (None, None)})
    first = thew.WigglySpline(TIMES[:2], VALUES[:2], 20.0, 0.3, 1.0, 0.0, None)
    second = thew.WigglySpline(TIMES[1:], VALUES[1:], 20.0, 0.3, 1.0, None, 0.0)
    smooth = thew.WigglySpline(TIMES, VALUES, 20.0, 0.3, 1.0)
    none_told = thew.WigglySpline(TIMES, VALUES, 20.0, 0.3, 1.0, knot_velocities={1: None})
    assert (none_told.slopes == smooth.slopes).all()
    assert np.allclose(cut([0.1, 0.3]), first([0.1, 0.3]), atol=1e-12)
    assert np.allclose(cut([0.5, 1.2]), second([0.5, 1.2]), atol=1e-12)
    assert cut.cost == pytest.approx(first.cost + second.cost)


@pytest.mark.parametrize("stiffness", [-1e8, -1e4, 0.0, 1e-8, 1e8])
@pytest.mark.parametrize("damping", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("length", [0.03, 1.0, 32.0])
@pytest.mark.parametrize("ends", [(0.0, 0.0), (None, None)])
def test_spline_does_not_overflow(stiffness, damping, length, ends):
    """Extreme parameters give finite values and costs."""
    times = np.array([0.0, 1.0, 2.5, 3.0]) * length
    s = thew.WigglySpline(times, VALUES, stiffness, damping, 3.0, *ends)
    t = np.linspace(0, times[-1], 101)
    assert all(np.isfinite(s(t, order)).all() for order in range(4))
    assert np.isfinite(s.cost) and np.abs(s(times) - VALUES).max() < 1e-9


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0], [1.0], 1.0, 0.0), "at least two"),
        (([0.0, 1.0, 1.0], [1.0, 2.0, 3.0], 1.0, 0.0), "keyframe 2"),
        (([0.0, 2.0, 1.0], [1.0, 2.0, 3.0], 1.0, 0.0), "not after keyframe 1"),
        (([0.0, np.nan], [1.0, 2.0], 1.0, 0.0), "finite"),
        (([0.0, 1.0], [1.0, np.nan], 1.0, 0.0), "values"),
        (([0.0, 1.0], [1.0, 2.0], 1e99, 0.0), "beyond the range"),
    ],
)
def test_spline_refuses_bad_input(arguments, words):
    """Bad keyframes and parameters are refused with a sentence."""
    with pytest.raises(thew.InputError, match=words):
        thew.WigglySpline(*arguments)
    with pytest.raises(thew.InputError, match="no knot 7"):
        thew.WigglySpline([0.0, 1.0], [0.0, 1.0], 1.0, 0.0, knot_velocities={7: 1.0})


#: The four panels of [hildebrandt2012, Figure 4]: λ, δ, and a constant force, of which the paper gives no number.
FIGURE_4 = {
    "top left": (0.0, 0.0, 0.0),
    "top right": (5.0, 0.0, 0.0),
    "bottom left": (5.0, 5.0, 0.0),
    "bottom right": (5.0, 0.0, 3.0),
}


@pytest.mark.parametrize("panel", FIGURE_4)
def test_figure_4(panel):
    """The panels of Figure 4, at their printed parameters, agree with a solution in many digits and look as printed."""
    times, values, ends = np.array([0.0, 1.0, 3.0, 4.5, 6.0]), np.array([0.0, 1.0, -0.5, 0.8, 0.2]), (1.0, -0.5)
    made = {name: thew.WigglySpline(times, values, *numbers, *ends) for name, numbers in FIGURE_4.items()}
    ours, (stiffness, damping, gravity) = made[panel], FIGURE_4[panel]
    at = np.linspace(0.0, 6.0, 37)
    wanted = np.array(reference(times, values, stiffness, damping, gravity, *ends, at))
    assert np.abs(ours(at) - wanted).max() < 1e-11
    assert np.abs(ours(times) - values).max() < 1e-13 and np.allclose(ours([0.0, 6.0], 1), ends)
    t = np.linspace(0.0, 6.0, 2001)
    # Twice continuously differentiable at the knots (eq. 14).
    for knot in times[1:-1]:
        assert np.allclose(ours([knot - 1e-9], 2), ours([knot + 1e-9], 2), atol=1e-5)
    if panel == "top left":
        clamped = scipy.interpolate.CubicSpline(times, values, bc_type=((1, ends[0]), (1, ends[1])))
        assert np.allclose(ours(t), clamped(t), atol=1e-12)
        return

    def turns(spline):
        return np.count_nonzero(np.diff(np.sign(np.diff(spline(t)))))

    if panel == "top right":
        # Stiffness swings.
        assert turns(ours) > turns(made["top left"]) and np.ptp(ours(t)) > np.ptp(made["top left"](t))
    if panel == "bottom left":
        # Damping takes the swings away again.
        assert turns(ours) < turns(made["top right"]) and np.ptp(ours(t)) < np.ptp(made["top right"](t))
    if panel == "bottom right":
        # Gravity pulls down, in proportion to itself.
        pulled = ours(t) - made["top right"](t)
        twice = thew.WigglySpline(times, values, stiffness, damping, 2.0 * gravity, *ends)
        assert np.allclose(twice(t) - made["top right"](t), 2.0 * pulled, atol=1e-12)
        assert pulled.mean() < -0.05 and abs(pulled).max() > 0.2


def test_complex_values():
    """A spline of complex values is two splines, of real and of imaginary parts (Remark 2)."""
    values = np.exp(1j * np.array([0.0, 2.0, 3.5, 7.0]))
    both = thew.WigglySpline(TIMES, np.stack([values.real, values.imag], axis=1), 25.0, 0.4)
    t = np.linspace(0.0, 1.5, 31)
    found = both(t) @ [1.0, 1.0j]
    # Times a phase, so is the spline: it knows no real axis.
    turned = values * np.exp(0.7j)
    other = thew.WigglySpline(TIMES, np.stack([turned.real, turned.imag], axis=1), 25.0, 0.4)
    assert np.allclose(other(t) @ [1.0, 1.0j], found * np.exp(0.7j), atol=1e-12)
    # The Euler-Lagrange equation (12) with complex values, by differences of the third derivative.
    delta, stiffness, h = 0.4, 25.0, 1e-5
    d = [both([0.6], k)[0] @ [1.0, 1.0j] for k in range(3)]
    fourth = (both([0.6 + h], 3)[0] - both([0.6 - h], 3)[0]) @ [1.0, 1.0j] / (2 * h)
    assert abs(fourth + 2 * (stiffness - 2 * delta**2) * d[2] + stiffness**2 * d[0]) < 1e-4 * abs(fourth)
