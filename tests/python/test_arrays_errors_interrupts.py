# SPDX-License-Identifier: MIT OR Apache-2.0
"""The border between Python and Rust: arrays of any layout, errors, progress, interrupts."""

import _thread
import signal
import threading

import numpy as np
import pytest
import shapes
import thew


def test_errors_two_bases():
    """Every error class derives from `ThewError` and from the builtin error of its kind."""
    pairs = {
        thew.InputError: ValueError,
        thew.StorageError: OSError,
        thew.MotionError: RuntimeError,
        thew.Cancelled: RuntimeError,
        thew.InternalError: RuntimeError,
    }
    for error, builtin in pairs.items():
        assert issubclass(error, thew.ThewError) and issubclass(error, builtin)
        assert error.__doc__


@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.tolist(),
        lambda a: a.astype(np.float32),
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: np.concatenate([a, a], axis=1)[:, :3],
        lambda a: a.astype(">f8"),
    ],
)
def test_arrays_any_layout(convert):
    """Arrays of any memory layout, type or byte order are read with the same values."""
    vertices, triangles = shapes.box((1.0, 2.0, 0.5))
    surface = thew.Surface(convert(vertices), triangles)
    assert np.array_equal(surface.vertices, vertices)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64])
def test_indices_any_integers(kind):
    """Indices may be integers of any width, signed or unsigned."""
    vertices, triangles = shapes.box()
    assert np.array_equal(thew.Surface(vertices, triangles.astype(kind)).triangles, triangles)


@pytest.mark.parametrize(
    "bad", ["text", None, [[1, 2, 3], [4, 5]], np.array([["1", "2", "3"]]), np.ones((1, 3)) * 1j, object(), 5.0]
)
def test_arrays_refuse_other_types(bad):
    """An argument that is not an array of numbers is refused by the name of the parameter."""
    with pytest.raises(thew.InputError, match=r"^vertices: "):
        thew.Surface(bad, [[0, 1, 2]])


def test_arguments_copied():
    """Arguments are neither changed nor kept: later writes do not reach the object."""
    vertices, triangles = shapes.box()
    surface = thew.Surface(vertices, triangles)
    vertices[:] = 7.0
    surface.vertices[:] = 8.0
    assert surface.vertices.max() == 1.0


def test_progress_returning_nothing_continues(arm):
    """A progress callable that returns nothing does not stop the work."""
    seen = []
    thew.simulate(arm.body, [shapes.bend(0.0)] * 3, 24, progress=lambda *said: seen.append(said))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert all(isinstance(stage, str) for _, stage in seen)


def test_progress_exception_unchanged(arm):
    """An exception raised in a progress callable reaches the caller unchanged."""

    class Mine(Exception):
        pass

    raised = Mine("stop here")

    def fail(fraction, stage):
        raise raised

    with pytest.raises(Mine) as caught:
        thew.Lattice.enclose(arm.surface, arm.skeleton, progress=fail)
    assert caught.value is raised
    with pytest.raises(Mine):
        thew.simulate(arm.body, [shapes.bend(0.0)] * 3, 24, progress=fail)
    with pytest.raises(Mine):
        thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(), progress=fail)


def test_ctrl_c_stops_work(arm):
    """Ctrl-C stops long work with `KeyboardInterrupt`."""
    # A shell that runs the tests in the background has the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(fraction, stage):
        _thread.interrupt_main()

    try:
        with pytest.raises(KeyboardInterrupt):
            thew.simulate(arm.body, [shapes.bend(0.0)] * 20, 24, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)


def test_threads_run_meanwhile(arm):
    """Other Python threads run during long work: the interpreter is free."""
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)

    other = threading.Thread(target=tick, daemon=True)
    other.start()
    thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights)
    stop.set()
    other.join(timeout=60)
    assert len(ticks) > 100


def test_thread_work_with_progress(arm):
    """Work with a progress callable may run in a thread other than the main one."""
    result = []

    def work():
        result.append(thew.simulate(arm.body, [shapes.bend(0.1)] * 4, 24, progress=lambda f, s: True))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert len(result[0]) == 4


def test_progress_monotonic(arm):
    """Progress begins at zero, never decreases and ends at one at most."""
    for work in (
        lambda p: thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights, progress=p),
        lambda p: thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(), progress=p),
        lambda p: thew.simulate(arm.body, [shapes.bend(0.0)] * 9, 24, progress=p),
        lambda p: thew.simulate(arm.body, [shapes.bend(0.0)] * 9, 24, progress=p, preroll=3),
        lambda p: thew.simulate(arm.body, [shapes.bend(0.0)] * 9, 24, progress=p, cyclic=True),
    ):
        seen = []
        work(lambda fraction, stage, seen=seen: seen.append(fraction))
        assert seen == sorted(seen)
        assert seen[0] == 0.0 and seen[-1] <= 1.0
