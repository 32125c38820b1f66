# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.modes against analytic beams, and the method "modal" on a body with a skeleton."""

import contextlib
import os
import warnings

import numpy as np
import pytest
import shapes
import thew
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.spatial.transform import Rotation

BAR = thew.Material(young=1e5, poisson=0.0, density=1000.0)


def clamped_bar(counts, lengths=(1.0, 0.2, 0.2)):
    """Builds a bar of cubes, and returns it with its nodes at x = 0."""
    tets = thew.TetMesh.grid(counts, lengths)
    return tets, np.flatnonzero(tets.vertices[:, 0] < 1e-9)


def timoshenko(length, side, young, density, guess, width):
    """Returns the angular frequency of a clamped Timoshenko beam of square section, ν = 0, near a guess."""
    area, second, shear = side**2, side**4 / 12, young / 2 * 5 / 6

    def closing_determinant(omega):
        # d/dx of deflection, turn, moment and shear force.
        a = np.array(
            [
                [0, 1, 0, 1 / (shear * area)],
                [0, 0, 1 / (young * second), 0],
                [0, -density * second * omega**2, 0, -1],
                [-density * area * omega**2, 0, 0, 0],
            ]
        )
        end = expm(a * length)
        return np.linalg.det(end[2:, 2:])

    return brentq(closing_determinant, guess - width, guess + width, xtol=1e-12)


def test_modes_timoshenko_frequency():
    """The lowest frequency of a cantilever converges from above to that of Timoshenko's beam."""
    exact = timoshenko(1.0, 0.2, 1e5, 1000.0, 2.0, 0.3)
    found = []
    for n in (2, 3, 4, 6):
        tets, fixed = clamped_bar((5 * n, n, n))
        found.append(np.sqrt(thew.modes(tets, 2, BAR, fixed).eigenvalues).mean())
    found = np.array(found)
    assert (np.diff(found) < 0).all() and (found > exact).all()  # from above, as Rayleigh's quotient does
    # Linear elements: the error falls with h² and h³.
    h = 1 / np.array([2, 3, 4, 6])
    limit = np.linalg.lstsq(np.stack([h**0, h**2, h**3], axis=1), found, rcond=None)[0][0]
    assert abs(limit / exact - 1) < 0.005


def test_modes_stretching_frequencies():
    """Stretching modes of a bar with ν = 0 have the frequencies (2 i - 1) π/2 √(E/ρ)/L."""
    tets, fixed = clamped_bar((24, 2, 2))
    modes = thew.modes(tets, 40, BAR, fixed)
    along = np.abs(modes.shapes[:, :, 0]).sum(axis=1) / np.abs(modes.shapes).sum(axis=(1, 2))
    # The third meets a bending mode of nearly the same frequency, and the tetrahedra's diagonals mix the two.
    omega = np.sqrt(modes.eigenvalues[along > 0.9])[:2]
    exact = np.array([1, 3]) * np.pi / 2 * np.sqrt(1e5 / 1000)
    np.testing.assert_allclose(omega, exact, rtol=0.003)


def test_modes_orthonormal_eigenpairs():
    """Eigenpairs hold, are orthonormal under the mass matrix and are the same each time."""
    tets, fixed = clamped_bar((10, 2, 2))
    material = thew.Material(1e5, 0.4, 1000.0)
    n = 3 * len(tets.vertices)
    k, m = (csr_array(triple, shape=(n, n)) for triple in (tets.stiffness(material), tets.mass(material)))
    modes = thew.modes(tets, 16, material, fixed)
    free = np.setdiff1d(np.arange(n), (3 * fixed[:, None] + np.arange(3)).ravel())
    k, m = k[free][:, free], m[free][:, free]
    phi = modes.shapes.reshape(16, n)[:, free].T
    np.testing.assert_allclose(phi.T @ (m @ phi), np.eye(16), atol=1e-10)
    residual = np.linalg.norm(k @ phi - (m @ phi) * modes.eigenvalues, axis=0)
    assert (residual < 1e-9 * modes.eigenvalues * np.linalg.norm(m @ phi, axis=0)).all()
    again = thew.modes(tets, 16, material, fixed)
    assert np.array_equal(again.shapes, modes.shapes)
    mask = np.zeros(len(tets.vertices), dtype=bool)
    mask[fixed] = True
    assert np.array_equal(thew.modes(tets, 16, material, mask).eigenvalues, modes.eigenvalues)
    assert np.array_equal(modes.fixed, mask)


def test_modes_free_body():
    """A free body has six modes of zero frequency, and frequencies scale with size."""
    tets = thew.TetMesh.grid((3, 2, 2), (0.3, 0.2, 0.2))
    modes = thew.modes(tets, 9)
    assert (modes.eigenvalues[:6] < 1e-9 * modes.eigenvalues[6]).all()
    falling = thew.ModalSimulation(modes, 1 / 30, gravity=(0, 0, -9.81))
    with pytest.raises(thew.ModalError, match="nothing holds"):
        falling.settle()
    # Turned, moved and made twice as large: the same frequencies, or half.
    turn = Rotation.from_rotvec([0.3, -1.0, 0.7]).as_matrix()
    turned = thew.TetMesh(2.0 * tets.vertices @ turn.T + [3.0, 4.0, -5.0], tets.tets)
    np.testing.assert_allclose(4.0 * thew.modes(turned, 9).eigenvalues[6:], modes.eigenvalues[6:], rtol=1e-7)


def test_modes_refuse_bad_input(arm):
    """Bad input of modes and deformers is refused with a sentence."""
    tets, fixed = clamped_bar((2, 2, 2))
    for count, held, word in [
        (0, fixed, "at least one"),
        (9999, fixed, "fewer"),
        (4, np.arange(len(tets.vertices)), "nothing is left"),
        (4, [12345], "12345"),
    ]:
        with pytest.raises(thew.ModalError, match=word):
            thew.modes(tets, count, BAR, held)
    with pytest.raises(thew.InputError, match="one value per node"):
        thew.modes(tets, 4, BAR, np.zeros(3, dtype=bool))
    with pytest.raises(thew.ModalError, match="at least one"):
        thew.modes(tets, 4, BAR, fixed).first(0)
    with pytest.raises(thew.InputError, match="material"):
        thew.modes(arm.body, 4, material=BAR)
    with pytest.raises(thew.InputError, match="TetMesh"):
        thew.modes("bar", 4)
    with pytest.raises(thew.Cancelled):
        thew.modes(tets, 4, BAR, fixed, progress=lambda fraction, stage: False)
    modes = thew.modes(tets, 4, BAR, fixed)
    deformer = thew.Deformer(modes, tets.vertices)
    for q in ([np.nan] * 4, [np.inf, 0, 0, 0], [1.0] * 3):
        for refused in (lambda q=q: modes.displacements(q), lambda q=q: deformer.displacements(q)):
            with pytest.raises(thew.ModalError):
                refused()
    for bad in ({"form": "round"}, {"engine": "steam"}, {"precision": "f8"}):
        with pytest.raises(thew.ModalError, match="there are"):
            thew.Deformer(modes, tets.vertices, **bad)
    with pytest.raises(thew.ModalError, match="another place or unit"):
        thew.Deformer(modes, tets.vertices + [0.0, 30.0, 0.0])


@pytest.mark.parametrize("young", [1e-3, 1e5, 1e9, 1e12])
@pytest.mark.parametrize("size", [1e-2, 1.0, 1e2])
def test_modes_any_units(young, size):
    """Many modes are found, and verified, in any units."""
    tets, fixed = clamped_bar((6, 2, 2), (size, 0.2 * size, 0.2 * size))
    modes = thew.modes(tets, 64, thew.Material(young, 0.3, 1000.0), fixed)
    assert modes.verified
    unit = young / (1000.0 * size**2)
    tets, fixed = clamped_bar((6, 2, 2))
    plain = thew.modes(tets, 64, thew.Material(1000.0, 0.3, 1000.0), fixed)
    np.testing.assert_allclose(modes.eigenvalues / unit, plain.eigenvalues, rtol=1e-8)


def test_modal_refuses_absurd_numbers():
    """Absurd targets and amplitudes are refused or leave finite numbers."""
    tets, fixed = clamped_bar((6, 2, 2), (0.05, 0.01, 0.01))
    modes = thew.modes(tets, 8, BAR, fixed)
    simulation = thew.ModalSimulation(modes, 1 / 30)
    tip = int(np.argmax(tets.vertices[:, 0]))
    for far in (1e12, 1e150):
        with pytest.raises(thew.ModalError, match="target"):
            simulation.constrain(positions={tip: (0, 0, far)})
    simulation.constrain(positions={np.int64(tip): (0, 0, 0.01)})
    simulation.amplitudes = [1e50] * 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            with contextlib.suppress(thew.ThewError):
                simulation.advance()
            assert np.isfinite(simulation.amplitudes).all()
    for huge in (1e100, 1e154, 1e300):
        with pytest.raises(thew.ModalError, match="large"):
            modes.displacements([huge] * 8)
        with pytest.raises(thew.ModalError, match="large"):
            simulation.velocities = [huge] * 8
    deformer = thew.Deformer(modes, tets.vertices)
    for exponent in np.arange(0, 40, 0.25):
        try:
            assert np.isfinite(deformer.displacements([10**exponent] * 8)).all()
        except thew.ThewError:
            assert exponent > 4


def test_constraints_overdetermined_warn_once():
    """Constraints that cannot all hold give one warning."""
    tets, fixed = clamped_bar((10, 2, 2))
    simulation = thew.ModalSimulation(thew.modes(tets, 8, BAR, fixed), 1 / 30)
    tips = np.flatnonzero(tets.vertices[:, 0] > 0.99)
    torn = {int(node): (0.0, 0.0, 0.1 * (-1) ** i) for i, node in enumerate(tips)}
    simulation.constrain(positions=torn)
    with pytest.warns(RuntimeWarning, match="least squares"):
        simulation.advance()
    assert simulation.constraints_held["overdetermined"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.advance()
    assert np.isfinite(simulation.displacements()).all()


# on a skeleton ------------------------------------------------------------------------------------------------------


def swings(count):
    """Returns poses of a swinging elbow."""
    return np.stack([shapes.bend(0.6 * np.sin(0.5 * i)) for i in range(count)])


def test_modal_clip_engines_agree(arm):
    """A modal clip moves, and every engine shows it alike."""
    modes = thew.modes(arm.body, 16)
    poses = swings(20)
    clip = thew.simulate(arm.body, poses, 24, method="modal", modes=modes)
    frames = np.asarray(clip)
    size = np.linalg.norm(np.ptp(arm.vertices, axis=0))
    assert frames.shape == (20, len(arm.vertices), 3) and np.isfinite(frames).all()
    assert clip.amplitudes.shape == (20, 16) and np.abs(clip.amplitudes).max() > 0
    assert clip.engine and clip.engine_report
    still = thew.Simulation(arm.body, method="modal", modes=modes)
    for f in (0, 7, 19):
        still.reset(poses[f], settled=False)
        assert still.inverted_cells() == clip.folded_cells[f]
    for form in ("vertex", "embedded"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where there is no graphics device
            shown = [
                thew.Deformer(modes, arm.surface, form=form, engine=engine, precision=precision)
                for engine, precision in (("cpu", "f32"), ("gpu", "f32"), ("cpu", "f16"))
            ]
        if os.environ.get("THEW_REQUIRE_GPU"):
            assert shown[1].engine.startswith("GPU")
        for f in (0, 7, 19):
            places = [d.positions(clip.amplitudes[f], poses[f]) for d in shown]
            if form == "embedded":
                np.testing.assert_allclose(places[0], clip.positions(f), atol=1e-5 * size)
            np.testing.assert_allclose(places[1], places[0], atol=1e-5 * size)
            np.testing.assert_allclose(places[2], places[0], atol=1e-3 * size)
    # Without amplitudes it is the skin: linear blending by the artist's weights.
    skin = arm.skeleton.skin(arm.vertices, arm.weights, poses[5], blend="linear")
    np.testing.assert_allclose(shown[0].positions(np.zeros(16), poses[5]), skin, atol=1e-5 * size)


def test_modal_near_nonlinear(arm):
    """Small modal motion is near the nonlinear motion of the same flesh."""
    poses = np.stack([shapes.bend(0.05 * np.sin(0.8 * i)) for i in range(24)])
    size = np.linalg.norm(np.ptp(arm.vertices, axis=0))
    skin = np.stack([arm.skeleton.skin(arm.vertices, arm.weights, p, blend="linear") for p in poses])
    own = [
        np.asarray(thew.simulate(arm.body, poses, 24, method=method, gravity=(0, 0, 0), rate=480, **more)) - skin
        for method, more in (("nonlinear", {}), ("modal", {"modes": 64}))
    ]
    travel = np.abs(own[0]).max()
    assert travel > 1e-4 * size
    apart = np.sqrt(((own[1] - own[0]) ** 2).mean()) / np.sqrt((own[0] ** 2).mean())
    assert apart < 0.25


def test_modal_frame_rate_independent(arm):
    """A smooth motion at 24, 48 and 96 frames a second gives nearly the same amplitudes."""
    modes = thew.modes(arm.body, 16)
    shown = {}
    for fps in (24, 48, 96):
        poses = np.stack([shapes.bend(0.6 * np.sin(9 * i / fps)) for i in range(2 * fps)])
        clip = thew.simulate(arm.body, poses, fps, method="modal", modes=modes, rate=960)
        shown[fps] = clip.amplitudes[:: fps // 24]
    # The first frames stand still before they know that the bones move.
    size = np.abs(shown[96]).max()
    apart = {fps: np.abs(shown[fps] - shown[96])[4:].max() / size for fps in (24, 48)}
    assert apart[24] < 0.08 and apart[48] < 0.4 * apart[24]


def test_modal_refuses_foreign_modes(arm):
    """Modes of another body are refused."""
    tets, fixed = clamped_bar((2, 2, 2))
    modes = thew.modes(tets, 4, BAR, fixed)
    for call in (
        lambda: thew.Simulation(arm.body, method="modal", modes=modes),
        lambda: thew.simulate(arm.body, swings(3), 24, method="modal", modes=modes),
        lambda: thew.Simulation(arm.body, method="warped", modes=4),
        lambda: thew.simulate(arm.body, swings(3), 24, method="modal", modes=0),
        lambda: thew.Deformer(modes, tets.vertices, max_offset=0.1),
    ):
        with pytest.raises(thew.InputError):
            call()


def test_modal_simulation_matches_clip(arm):
    """A modal simulation starts as a clip does, and a restored state goes on with the same bits."""
    modes = thew.modes(arm.body, 8)
    poses = swings(4)
    simulation = thew.Simulation(arm.body, method="modal", modes=modes)
    simulation.reset(poses[0])
    clip = thew.simulate(arm.body, poses, 24, method="modal", modes=modes)
    assert simulation.amplitudes.shape == (8,)
    size = np.linalg.norm(np.ptp(arm.vertices, axis=0))
    assert np.abs(simulation.positions() - clip.positions(0)).max() < 1e-5 * size
    state = simulation.state()
    simulation.advance(poses[1], 1 / 24)
    there = simulation.positions()
    simulation.restore(state)
    simulation.advance(poses[1], 1 / 24)
    assert np.array_equal(simulation.positions(), there)


# the reference --------------------------------------------------------------------------------------------------------


def test_warping_keeps_length():
    """Warping keeps the length of a hanging bar, as the nonlinear balance does, where linear modes grow."""
    tets, fixed = clamped_bar((10, 2, 2))
    material = thew.Material(1e5, 0.4, 1000.0)
    modes = thew.modes(tets, 24, material, fixed)
    n = len(tets.vertices)
    weight = csr_array(tets.mass(material), shape=(3 * n, 3 * n)).sum(axis=1).reshape(n, 3) * [0.0, 0.0, -5.0]
    axis = np.flatnonzero(np.isclose(tets.vertices[:, 1:], 0.1).all(axis=1))
    axis = axis[np.argsort(tets.vertices[axis, 0])]

    def length(u):
        return np.linalg.norm(np.diff((tets.vertices + u)[axis], axis=0), axis=1).sum()

    lengths = {}
    for warp in (True, False):
        simulation = thew.ModalSimulation(modes, 1 / 30, warp=warp, gravity=(0, 0, -5))
        simulation.settle()
        lengths[warp] = length(simulation.displacements())
    exact = thew.nonlinear_equilibrium(tets, material, fixed, weight)
    assert abs(length(exact) - 1) < 0.01
    assert abs(lengths[True] - 1) < 0.02 and lengths[False] > 1.25
    # Balanced: the energy's gradient is the weight, but at the support.
    free = np.setdiff1d(np.arange(n), fixed)
    off = tets.gradient(exact, material) - weight
    assert np.abs(off[free]).max() < 1e-8 * np.abs(weight).max()


def test_nonlinear_bar_period():
    """A nonlinear bar with a small swing has the period of its first mode."""
    tets, fixed = clamped_bar((6, 2, 2), (0.6, 0.2, 0.2))
    material = thew.Material(1e5, 0.3, 1000.0)
    modes = thew.modes(tets, 1, material, fixed)
    period = 1 / modes.frequencies[0]
    steps = 60
    simulation = thew.NonlinearSimulation(tets, material, fixed, period / steps, integrator="midpoint")
    small = 1e-4 / np.abs(modes.shapes).max()
    start = modes.displacements([small])
    simulation.set_state(start, np.zeros_like(start))
    for _ in range(steps):
        simulation.advance()
    np.testing.assert_allclose(simulation.displacements(), start, atol=0.02 * np.abs(start).max())
