# SPDX-License-Identifier: MIT OR Apache-2.0
"""Input that would end the process, take all memory or wait for ever, where it is believed."""

import os
import signal
import struct
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import shapes
import thew


class Endless:
    """Lies about its length, as a sequence."""

    def __init__(self, said=1 << 60):
        self.said = said

    def __len__(self):
        return self.said

    def __getitem__(self, index):
        return 0.0


def refusal(call, *arguments, **options):
    """Returns the sentence of an error that a caller of Thew expects; any other error comes through."""
    with pytest.raises((thew.InputError, thew.StorageError, TypeError, ValueError)) as error:
        call(*arguments, **options)
    assert str(error.value)
    return str(error.value)


def run_in_little_memory(code, *arguments):
    """Returns the output of a program that may have 3 GiB of addresses; one that dies fails the test."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n{code}"
    command = [sys.executable, "-c", limited, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "call",
    [
        "thew.Surface(Endless(), [[0, 1, 2]])",
        "thew.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], Endless())",
        "thew.Skeleton(Endless(), [-1], [[0, 0, 0]], [[1, 0, 0]])",
        "thew.save_rigs('rigs.toml', Endless())",
        "thew.TetMesh(Endless(), Endless())",
        "thew.TetMesh.grid((400, 400, 400), (1.0, 1.0, 1.0))",
        "thew.TetMesh.grid((1 << 40, 1, 1), (1.0, 1.0, 1.0))",
    ],
)
def test_huge_input_survived(call, tmp_path):
    """Input that claims to be huge gives an error and does not end the process."""
    pytest.importorskip("resource")
    code = f"""
import sys, thew
class Endless:
    def __len__(self): return 1 << 60
    def __getitem__(self, index): return 0.0
try:
    {call}
except (thew.ThewError, TypeError, ValueError, OverflowError) as error:
    print(error)
"""
    assert run_in_little_memory(f"import os; os.chdir({str(tmp_path)!r})\n{code}").strip()


@pytest.mark.parametrize("load", ["Body.load", "Clip.load", "Shot.load", "TetMesh.read", "load_rigs"])
def test_endless_files_refused(load, tmp_path):
    """Files without end are refused in little memory."""
    pytest.importorskip("resource")
    # 4 GiB that take no room on the disk, and a device that never ends.
    sparse, zero = tmp_path / "sparse.mesh", tmp_path / "zero.mesh"
    sparse.touch()
    os.truncate(sparse, 4 << 30)
    zero.symlink_to("/dev/zero")
    code = (
        "import sys, thew\n"
        "for path in sys.argv[1:]:\n"
        f"    try:\n        thew.{load}(path)\n"
        "    except thew.ThewError as error:\n        print(error)\n"
    )
    assert len(run_in_little_memory(code, sparse, zero).strip().splitlines()) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes in folders")
def test_readers_refuse_pipes(tmp_path):
    """No reader waits for a pipe."""
    os.mkfifo(tmp_path / "pipe.mesh")
    for load in (thew.Body.load, thew.load_rigs, thew.TetMesh.read):
        with pytest.raises(thew.ThewError, match="plain file"):
            load(tmp_path / "pipe.mesh")


def test_state_refuses_bad_numbers(arm):
    """A state with forged numbers is refused, or restores to finite positions."""
    simulation = thew.Simulation(arm.body)
    simulation.reset(shapes.bend(0.2))
    simulation.advance(shapes.bend(0.3), 1 / 24)
    state, before = simulation.state(), simulation.lattice_positions()
    places, refusals = range(0, len(state) - 8, 8), 0
    for at in np.random.default_rng(1).choice(places, 200):
        for wrong in (np.nan, np.inf, 1e308, -1e200):
            simulation.restore(state)
            forged = state[:at] + struct.pack("<d", wrong) + state[at + 8 :]
            try:
                simulation.restore(forged)
            except thew.InputError:
                assert np.array_equal(simulation.lattice_positions(), before)
                refusals += 1
                continue
            # No number was hit but a flag: a part that may be left out is.
            assert np.isfinite(simulation.lattice_positions()).all()
    assert refusals > 750


def test_integers_out_of_range(arm):
    """Integers out of range are refused with a sentence."""
    for number in (1 << 40, 1 << 70, -(1 << 70)):
        refusal(thew.Lattice.enclose, arm.surface, arm.skeleton, arm.weights, cells_across=number)
        refusal(thew.TetMesh.fill, arm.surface, nodes=number)
        refusal(thew.modes, arm.body, number)
        refusal(thew.simulate, arm.body, [shapes.bend(0.0)], 24, preroll=number)
        refusal(thew.Surface, arm.vertices, [[0, 1, number]])


@pytest.mark.parametrize("size", [1e200, 1e308, np.inf])
def test_huge_magnitudes_refused(arm, size):
    """Numbers whose squares overflow are refused before they change anything."""
    far = np.where(arm.vertices > 0.0, size, arm.vertices)
    refusal(thew.Surface, far, arm.triangles)
    refusal(thew.Skeleton, ["a"], [-1], [[0.0, 0.0, 0.0]], [[size, 0.0, 0.0]])
    refusal(thew.TetMesh, far[:4], [[0, 1, 2, 3]])
    simulation = thew.Simulation(arm.body)
    simulation.reset(shapes.bend(0.0))
    before = simulation.lattice_positions()
    pose = shapes.bend(0.0)
    pose[1, 0, 3] = size
    refusal(simulation.advance, pose, 1 / 24)
    refusal(simulation.advance, shapes.bend(0.0), 1 / 24, forces=np.full_like(before, size))
    assert np.array_equal(simulation.lattice_positions(), before)


@pytest.mark.parametrize("work", ["advance", "balance"])
def test_long_call_interrupted(arm, work):
    """A single long call stops on Ctrl-C and leaves finite positions."""
    simulation = thew.Simulation(arm.body, method="neohookean" if work == "balance" else "hyperelastic")
    simulation.reset(shapes.bend(0.0))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # The signal comes while the call is at work: a day of motion is not over before it does.
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            if work == "advance":
                simulation.advance(shapes.bend(0.5), 9_999.0)
            else:
                for _ in range(100_000):
                    simulation.reset(shapes.bend(1.0))
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert np.isfinite(simulation.lattice_positions()).all()


def test_skin_weights_normalised(arm):
    """Skin weights count by their shares: rows scaled by powers of two give the same bits."""
    double = arm.weights * 2.0 ** (np.arange(len(arm.weights)) % 5)[:, None]
    assert double.sum(axis=1).max() > 1.5
    pose = shapes.bend(0.4)

    def make_results(weights):
        lattice = thew.Lattice.enclose(arm.surface, arm.skeleton, weights, cells_across=6)
        body = thew.Body(arm.surface, arm.skeleton, lattice, thew.Material(), region_weights=weights)
        skinned = arm.skeleton.skin(arm.vertices, weights, pose)
        return lattice.vertices, body.region_weights, skinned, arm.skeleton.refit_tails(arm.surface, weights).tails

    for one, two in zip(make_results(arm.weights), make_results(double), strict=True):
        np.testing.assert_array_equal(one, two)


def test_scaled_refuses_overflow():
    """Scaling modes refuses factors whose result is out of range, and is exactly undone by the inverse."""
    bar = thew.TetMesh.grid((2, 1, 1), (1.0, 0.5, 0.5))
    modes = thew.modes(bar, 2, thew.Material(), fixed=[0, 1, 2, 3])
    for factor in (1.7e308, 1e99, np.inf, np.nan, 0.0, -1.0):
        assert "factor" in refusal(modes.scaled, factor)
    # Times its inverse it is as it was.
    there_and_back = modes.scaled(2.0**200).scaled(2.0**-200)
    np.testing.assert_array_equal(there_and_back.eigenvalues, modes.eigenvalues)


def test_equilibrium_warns_of_inversion():
    """A balance warns of inverted tetrahedra exactly when some are, under St. Venant-Kirchhoff flesh pressed too hard."""
    bar = thew.TetMesh.grid((4, 2, 2), (1.0, 0.5, 0.5))
    fixed = np.flatnonzero(bar.vertices[:, 0] == 0.0)
    pressed = bar.vertices[:, 0] == 1.0
    material, told = thew.Material(young=1e4, poisson=0.3), set()
    for model in ("stvk", "neohookean"):
        for strength in (1.0, 1e2, 3e2, 1e3, 3e3):
            forces = np.zeros_like(bar.vertices)
            forces[pressed, 0] = -strength / pressed.sum()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    moved = bar.vertices + thew.nonlinear_equilibrium(bar, material, fixed, forces, model)
                except thew.MotionError:
                    continue
            a, b, c, d = np.moveaxis(moved[bar.tets], 1, 0)
            inverted = int((np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) <= 0.0).sum())
            said = [str(w.message) for w in caught]
            assert len(said) == (inverted > 0)
            assert all(text.startswith(f"{inverted} tetrahedra are inverted") for text in said)
            told.add(inverted > 0)
    assert told == {False, True}


def test_clip_compares_as_array(arm):
    """A clip compares with arrays as an array does."""
    clip = thew.simulate(arm.body, np.stack([shapes.bend(0.0), shapes.bend(0.1)]), 24.0)
    assert (clip == np.asarray(clip)).all() and clip != "text"
    for other in (np.zeros((2, 2)), np.zeros(5)):
        assert "shapes" in refusal(lambda other=other: clip == other)
