# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh as numbers, without Blender: plans, segments, the core's options, doubled vertices, faults of sculpts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import part


@pytest.fixture
def keyframes(addon):
    return part("logic.keyframes")


@pytest.fixture
def sculpts(addon):
    return part("logic.sculpts")


def plan(keyframes, names="ABCD", **options):
    keys = tuple(keyframes.Key(i, name, 10.0 * i) for i, name in enumerate(names))
    return keyframes.KeyframePlan(keys, fps=10.0, **options)


def edit_key(keyframes, whole, i, **changes):
    keys = list(whole.keys)
    keys[i] = replace(keys[i], **changes)
    return replace(whole, keys=tuple(keys))


SHAPES = np.arange(4.0)[:, None, None] * np.ones((4, 5, 3))


# plans ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "change", "said"),
    [
        ("A", {}, "needs two"),
        ("ABC", {"frame": 20.0}, "“B” and “C” at frame 20"),
        ("ABC", {"kind": "GROUP"}, "names none"),
        ("ABC", {"kind": "NEAR", "cut": True}, "always exact"),
        ("AB", {"kind": "NEAR"}, ""),
    ],
)
def test_check_refuses(keyframes, names, change, said):
    """A plan that is not a motion is refused by a sentence that names the object."""
    whole = plan(keyframes, names)
    if change:
        whole = edit_key(keyframes, whole, 1, **change)
    if not said:
        keyframes.check(whole, "“X”")
        return
    with pytest.raises(part("logic.errors").Refusal, match="“X”") as refused:
        keyframes.check(whole, "“X”")
    assert said in str(refused.value)


def test_far_advice(keyframes):
    """A motion that goes too far has a sentence that says what helps."""
    bare = plan(keyframes, "ABC")
    still = edit_key(keyframes, bare, 0, arriving=keyframes.Velocity("ZERO"))
    assert keyframes.reach_remedy(still, 2.0) == ""
    assert "12 times" in keyframes.reach_remedy(still, 12.0) and "damp it more" in keyframes.reach_remedy(still, 12.0)
    assert "Each Key" in keyframes.reach_remedy(replace(still, rest="BASIS"), 12.0)
    assert "leaves “A”" in keyframes.reach_remedy(bare, 12.0)
    assert "leaves “B”" in keyframes.reach_remedy(edit_key(keyframes, still, 1, cut=True), 12.0)


def test_check_loop_ends(keyframes):
    """A loop must end with its first key."""
    keyframes.check(plan(keyframes, "ABA", cyclic=True), "“X”")
    with pytest.raises(part("logic.errors").Refusal, match="Close Loop"):
        keyframes.check(plan(keyframes, "ABC", cyclic=True), "“X”")


def test_segments_cut(keyframes):
    """A cut splits a motion into segments with their own fixed groups."""
    whole = edit_key(keyframes, plan(keyframes, fixed="all"), 2, cut=True, fixed="feet")
    first, second = keyframes.segments(whole)
    assert [key.name for key in first.keys] == ["A", "B", "C"] and [key.name for key in second.keys] == ["C", "D"]
    assert first.fixed == ("all",) and second.fixed == ("all", "feet") and not first.cyclic


def test_segments_loop_with_cut(keyframes):
    """A loop with a cut is one segment that begins at the cut."""
    whole = edit_key(keyframes, plan(keyframes, "ABCA", cyclic=True), 1, cut=True, fixed="feet")
    (only,) = keyframes.segments(whole)
    assert [(key.name, key.frame) for key in only.keys] == [("B", 10), ("C", 20), ("A", 30), ("B", 40)]
    assert only.fixed == ("feet",) and not only.cyclic
    assert keyframes.motion_frame(5.0, 10.0, 40.0, True) == 35.0


def test_segments_loop(keyframes):
    """A loop without cuts is one cyclic segment."""
    (only,) = keyframes.segments(plan(keyframes, "ABA", cyclic=True))
    assert only.cyclic and len(only.keys) == 3


def core_options(keyframes, whole, masks=None):
    (segment,) = keyframes.segments(whole)
    shapes = SHAPES[: len(segment.keys)].copy()
    if segment.cyclic:
        shapes[-1] = shapes[0]
    return keyframes.core_input(segment, whole, segment.keys[0].frame, shapes, masks or {})


def test_told_velocities(keyframes):
    """Velocities reach the core in its own time."""
    arrow = keyframes.Velocity("ARROW", (0.0, 0.0, 3.0))
    whole = edit_key(keyframes, plan(keyframes, speed=2.0), 1, arriving=arrow)
    whole = edit_key(keyframes, whole, 0, arriving=keyframes.Velocity("ZERO"))
    whole = edit_key(keyframes, whole, 3, arriving=keyframes.Velocity("NEIGHBOURS"))
    options, _, _ = core_options(keyframes, whole)
    np.testing.assert_allclose(options["times"], [0, 2, 4, 6])
    np.testing.assert_allclose(options["velocities"][1], np.broadcast_to((0, 0, 1.5), (5, 3)))  # slower by 2
    assert set(options["velocities"]) == {1} and not options["start_velocity"].any()
    np.testing.assert_allclose(options["end_velocity"], 0.5)


def test_told_loop_seam(keyframes):
    """At the seam of a loop the neighbours of a key are those around the seam."""
    whole = edit_key(keyframes, plan(keyframes, "ABCA", cyclic=True), 0, arriving=keyframes.Velocity("NEIGHBOURS"))
    options, _, _ = core_options(keyframes, whole)
    np.testing.assert_allclose(options["velocities"][0], -0.5)
    assert options["start_velocity"] is None


def test_told_gravity(keyframes):
    """Gravity is scaled with the speed."""
    options, _, _ = core_options(keyframes, plan(keyframes, gravity=(0.0, 0.0, -9.0), speed=3.0))
    np.testing.assert_allclose(options["gravity"], (0, 0, -1.0))


def test_told_soft_keys(keyframes):
    """Approximate keys reach the core with their weights, and keys of groups with their points."""
    masks = {"some": np.array([True, False, True, False, False]), "held": np.array([True, False, False, False, False])}
    whole = edit_key(keyframes, plan(keyframes, fixed="held"), 1, kind="NEAR", weight=4.0)
    whole = edit_key(keyframes, whole, 2, kind="GROUP", group="some")
    _, softened, spots = core_options(keyframes, whole, masks)
    assert softened[1] == pytest.approx(4.0 * (6.0 + (whole.stiffness / 3.0) ** 1.5)) and set(softened) == {1, 2}
    assert softened[2] < 1e-4 * softened[1]
    assert [(spot.time, list(spot.points)) for spot in spots] == [(2.0, [2])]
    np.testing.assert_allclose(spots[0].positions, 2.0)


def test_hold_refuses_moved(keyframes):
    """A key that moves a fixed group is refused, and a tiny difference is removed."""
    (segment,) = keyframes.segments(plan(keyframes, fixed="feet"))
    shapes = SHAPES.copy()
    mask = np.array([True, False, False, False, False])
    with pytest.raises(part("logic.errors").Refusal, match="“B” of “X” moves what “feet”"):
        keyframes.hold(segment, shapes, mask, "“X”", 10.0)
    shapes[:, 0] = 1e-7 * np.arange(4)[:, None]
    assert (keyframes.hold(segment, shapes, mask, "“X”", 10.0)[:, 0] == 0.0).all()


# sculpts --------------------------------------------------------------------------------------------------------------

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=np.float32)
TWO = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)


def test_weld_doubled_loose(sculpts):
    """Doubled vertices are welded to one point, and loose ones are left out."""
    shape = np.vstack([SQUARE, SQUARE[2:3], [[5, 5, 5]]])
    triangles = np.array([[0, 1, 2], [0, 4, 3], [1, 2, 4]])
    welded = sculpts.weld(np.stack([shape, 2.0 * shape]), triangles, 2.0)
    assert len(welded.first) == 4 and welded.doubled == 1 and list(welded.loose_vertices) == [5]
    assert len(welded.triangles) == 2  # the third has a corner twice
    np.testing.assert_array_equal(welded.vertex_values(shape[welded.first])[:5], shape[:5])
    assert welded.mask(np.arange(6) == 4).sum() == 1


def test_weld_parted(sculpts):
    """Vertices that some sculpt parts are not welded."""
    shape = np.vstack([SQUARE, SQUARE[2:3]])
    parted = shape.copy()
    parted[4] += 0.1
    welded = sculpts.weld(np.stack([shape, parted]), np.array([[0, 1, 2], [0, 4, 3]]), 2.0)
    assert len(welded.first) == 5 and welded.doubled == 0


def test_faults_flat_folded(sculpts):
    """Folded and flattened sculpts are named, and flat ones are refused."""
    assert sculpts.faults(SQUARE + 1.0, SQUARE, TWO, "“A”") == []
    folded = SQUARE.copy()
    folded[3] = folded[1] + (0.01, -0.01, 0.0)
    (said,) = sculpts.faults(folded, SQUARE, TWO, "“A”")
    assert said.startswith("“A” folds onto itself at 1 edge") and "vertex" in said
    grid, triangles = patch()
    pinched = grid.copy()
    pinched[0] = pinched[1]
    (said,) = sculpts.faults(pinched, grid, triangles, "“A”")
    assert "flattened to nothing" in said and "Relax Sculpt" in said
    for factor in ((0, 0, 0), (1, 0, 0)):
        with pytest.raises(part("logic.errors").Refusal, match="is flat"):
            sculpts.faults(SQUARE * np.float32(factor), SQUARE, TWO, "“A”")


def patch(count: int = 5):
    x, y = np.meshgrid(np.arange(count), np.arange(count))
    points = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1).astype(np.float32)
    corners = [(i + count * j) for j in range(count - 1) for i in range(count - 1)]
    faces = [t for a in corners for t in ((a, a + 1, a + count + 1), (a, a + count + 1, a + count))]
    return points, np.array(faces, dtype=np.int32)


def test_check_places_refuses(addon):
    """A place that is not a finite number is refused by its vertex."""
    for bad in (np.nan, np.inf, 1e20):
        shape = SQUARE.copy()
        shape[2, 1] = bad
        with pytest.raises(part("logic.errors").Refusal, match="Vertex 2 of “A”"):
            part("logic.extents").check_coordinates(shape, "“A”")


def test_cubic_interpolates(sculpts):
    """Plain curves go through their values, and close smoothly in a loop."""
    times, values = [0.0, 1.0, 3.0, 4.0], np.array([[0.0], [2.0], [1.0], [0.0]])
    np.testing.assert_allclose(sculpts.cubic(times, values, times, False), values, atol=1e-12)
    np.testing.assert_allclose(sculpts.cubic(times, values, times, True), values, atol=1e-12)
    step = 1e-5
    ends = sculpts.cubic(times, values, [0.0, step, 4.0 - step, 4.0], True)
    assert (ends[1] - ends[0]) / step == pytest.approx((ends[3] - ends[2]) / step, abs=1e-3)
    ends = sculpts.cubic(times, values, [0.0, step], False)
    assert abs(ends[1] - ends[0]) / step < 1e-3


def test_graph_lines(addon):
    """Arrows, curves and frames become finite lines in the box."""
    graphs = part("logic.graphs")
    lines = graphs.arrow(np.zeros(3), np.array([0.0, 0.0, 2.0]))
    assert lines.shape == (5, 2, 3) and np.allclose(lines[0], [[0, 0, 0], [0, 0, 2]]) and np.isfinite(lines).all()
    box = (10.0, 20.0, 100.0, 50.0)
    points = graphs.curve_points(np.array([1.0, 3.0]), np.array([0.0, 1.0]), (1.0, 3.0), (0.0, 1.0), box)
    np.testing.assert_allclose(points, [[10, 20], [110, 70]])
    assert len(graphs.strokes(np.zeros((41, 2)), True)) == 20 and len(graphs.frame(box)) == 4
