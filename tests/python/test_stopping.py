# SPDX-License-Identifier: MIT OR Apache-2.0
"""Long work on small input: it asks all along whether to go on, and stops when told to."""

import collections
import signal

import numpy as np
import pytest
import shapes
import thew


def stages(call):
    """Counts the reports of each stage of a call, and returns their fractions."""
    counts, fractions = collections.Counter(), []

    def progress(fraction, stage):
        counts[stage] += 1
        fractions.append(fraction)

    call(progress)
    return counts, fractions


def stops_at(call, stage, report):
    """Refuses to go on at a given report of a stage, and returns whether the call raised Cancelled at once."""
    seen = 0

    def progress(_fraction, now):
        nonlocal seen
        seen += now == stage
        return seen < report

    with pytest.raises(thew.Cancelled):
        call(progress)
    return seen == report


@pytest.mark.parametrize("half", [(1.0, 1.0, 1.0), (1.0, 1.0, 1e-4)])
def test_fill_progress_every_layer(half):
    """Filling asks in every layer of cells whether to go on, and stops."""
    box = thew.Surface(*shapes.box(half))

    def fill(progress):
        thew.TetMesh.fill(box, cells_across=40, progress=progress)

    counts, fractions = stages(fill)
    # 23 layers of cubes, two of points to each.
    assert counts["building cells"] > 20 and counts["looking for loose pieces"] > 2
    assert min(fractions) >= 0.0 and max(fractions) == 1.0
    for stage in counts:
        if stage != "done":
            assert stops_at(fill, stage, max(counts[stage] // 2, 1))


def test_boundary_stops():
    """The boundary of a model asks whether to go on, and stops."""
    limb = thew.MRep.template("limb")
    counts, _ = stages(lambda progress: limb.boundary(4, progress=progress))
    assert counts["boundary"] > 10
    assert stops_at(lambda progress: limb.boundary(4, progress=progress), "boundary", 5)


@pytest.fixture(scope="module")
def ring():
    """Builds a thin ring around a coarse arm, and points that it cannot bring to their targets."""
    vertices, triangles = shapes.arm(segments=4, rings=8)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, shapes.arm_weights(vertices), cells_across=8)
    body = thew.Body(surface, skeleton, lattice, thew.Material())
    template = thew.Template("torus", ring_radius=0.05, tube_radius=0.02, strength=1e4)
    place = shapes.turn_about([0.0, 1.0, 0.0], shift=[0.8, 0.0, 0.0])
    points = [(3, vertices[3] + [0.0, 0.0, 0.3]), (9, vertices[9] + [0.0, 0.2, 0.3])]
    return body, thew.Rig(template, thew.FreeGuide(place), [(1.0, {})]), shapes.bend(0.0), points


def test_fit_progress_and_stop(ring):
    """A fit reports its progress and stops, and a stopped one changes nothing."""
    body, rig, pose, points = ring
    fit = thew.RigFit(body, rig, pose)

    def fit_points(progress):
        return fit.fit(points, weights={"strength": 1e-9}, progress=progress)

    _, fractions = stages(fit_points)
    assert fractions == sorted(fractions) and all(0.0 <= f <= 1.0 for f in fractions)
    calls = [
        fit_points,
        lambda progress: thew.fit_rig(*ring, progress=progress),
    ]
    for call in calls:
        with pytest.raises(thew.Cancelled):
            call(lambda _fraction, _stage: False)
    # What was stopped changes nothing of what comes after.
    assert fit.fit(points, weights={"strength": 1e-9}) == thew.fit_rig(*ring, weights={"strength": 1e-9})


class Stop(Exception):
    """Is raised by a signal, as Ctrl-C does."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without alarms")
@pytest.mark.parametrize(
    "work",
    [
        lambda: thew.MRep.template("limb").tolerance(7),
        lambda: thew.MRep.template("limb").boundary(7),
        lambda: thew.TetMesh.fill(thew.Surface(*shapes.box()), cells_across=120),
    ],
    ids=["tolerance", "boundary", "fill"],
)
def test_signals_stop_work(work):
    """A signal stops long work."""

    def stop(_number, _frame):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(Stop):
            work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_boundary_memory_bounded():
    """A boundary takes little memory, and one that is too large is refused first."""
    resource = pytest.importorskip("resource")
    limb = thew.MRep.template("limb")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    vertices = len(limb.boundary(6).vertices)
    more = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most)
    # 4.9 kB where the maps that follow atoms were made.
    assert more < 900 * vertices
    for ask in (limb.boundary, limb.boundary_coordinates, limb.tolerance):
        with pytest.raises(thew.MRepError, match="use a lower level"):
            ask(12)
    assert np.isfinite(limb.boundary_coordinates(3)).all()
