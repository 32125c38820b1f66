# SPDX-License-Identifier: MIT OR Apache-2.0
"""The measures of the look on made-up motions whose answers are known by construction; recordings."""

from dataclasses import replace

import numpy as np
import pytest
from squares import FPS, FRAMES, SIDE, STEP, flat_square, hopping_skin

from demo.look import measures, pieces, recording, table


@pytest.fixture(scope="module")
def grid():
    """Builds a flat square: points, edges, triangles."""
    return flat_square()


SIZE = float(np.sqrt(2.0))


def measure(grid, move, skin=None, r=1.0, fps=FPS):
    """Returns the measures of a copy of the skin that `move` changes; the skin stands still unless given."""
    points, edges, triangles = grid
    skin = np.repeat(points[None], FRAMES, axis=0) if skin is None else skin
    shown = skin.copy()
    move(shown)
    return measures.look(skin, shown, np.broadcast_to(r, len(points)), edges, triangles, fps)


def test_look_skin_is_still(grid):
    """A surface shown as its skin has no fault but that it is still."""
    look = measure(grid, lambda shown: None)
    assert (look.jump, look.buried, look.torn, look.flipped, look.thick, look.thin) == (0, 0, 0, 0, 0, 0)
    assert look.acceleration == look.step == 0.0 and look.faults() == []
    assert measure(grid, lambda shown: None, hopping_skin(grid)).faults() == ["still"]


def test_jump_per_24th_second(grid):
    """The jump is the largest change of an offset per 24th of a second."""

    def leap(shown):
        shown[7:, 60, 2] += 0.05 * SIZE

    assert measure(grid, leap).jump == pytest.approx(0.05, rel=1e-12)
    assert measure(grid, leap, fps=48.0).jump == pytest.approx(0.1, rel=1e-12)
    assert "jump" in measure(grid, leap).faults()

    def shift_steadily(shown):
        shown[:, 60, 2] += 0.05 * SIZE

    assert measure(grid, shift_steadily).jump == 0.0


def test_jump_bound_follows_skin(grid):
    """A skin that leaps by itself raises the bound of the jump by as much."""
    skin = hopping_skin(grid, 2.0)
    look = measure(grid, lambda shown: np.add.at(shown[:, :, 2], (slice(7, None), 60), 0.05 * SIZE), skin)
    rise = 2.0 * np.abs(np.diff(np.sin(4.0 * np.pi * np.arange(FRAMES) / FPS))).max()
    assert look.step == pytest.approx(rise / SIZE, rel=1e-9)
    assert look.jump_bound == pytest.approx(1.6 * look.step, rel=1e-12) and look.jump_bound > 0.05
    assert "jump" not in look.faults()


# stops and pops ------------------------------------------------------------------------------------------------------

RATES = (24.0, 48.0, 60.0)


def stopping_skin(points, speed, fps, seconds=2.0, at=1.0):
    """Returns a skin that moves along x at `speed` sizes a second and stops dead, and the seconds since the stop of each frame."""
    since = np.arange(round(seconds * fps) + 1) / fps - at
    way = SIZE * speed * np.minimum(since, 0.0)
    return points + way[:, None, None] * np.array([1.0, 0.0, 0.0]), since


def ringing_flesh(skin, since, speed, hertz=2.5, ratio=0.15):
    """Returns flesh on that skin: from the stop on, a damped swing that begins at the speed of the bones (exact for one mode)."""
    omega = 2.0 * np.pi * hertz
    damped = omega * np.sqrt(1.0 - ratio**2)
    t = np.maximum(since, 0.0)
    offset = SIZE * speed / damped * np.exp(-ratio * omega * t) * np.sin(damped * t)
    return skin + offset[:, None, None] * np.array([1.0, 0.0, 0.0])


@pytest.mark.parametrize("fps", RATES)
@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0, 4.0])
def test_hard_stop_passes(grid, fps, speed):
    """Flesh that goes on at the speed of its bones is no fault, however hard the stop."""
    points, edges, triangles = grid
    skin, since = stopping_skin(points, speed, fps)
    shown = ringing_flesh(skin, since, speed)
    look = measures.look(skin, shown, np.full(len(points), 10.0), edges, triangles, fps)
    assert look.faults() == [] and look.snap < 1.0
    assert look.jump < 1.05 * look.step
    if speed > 1.0:  # what was asked before, no flesh could meet
        assert look.jump > max(0.04, 0.15 * look.step)


@pytest.mark.parametrize("fps", RATES)
def test_pop_is_snap(grid, fps):
    """One vertex, or all of them, popping away by three per cent of the size is a snap at any rate."""
    points, edges, triangles = grid
    seconds = np.arange(round(2.0 * fps) + 1) / fps
    skin = points + 0.1 * np.sin(2.0 * np.pi * seconds)[:, None, None] * np.array([0.0, 0.0, 1.0])
    r = np.full(len(points), 10.0)
    for vertices in ([60], slice(None)):
        shown = skin.copy()
        shown[len(seconds) // 2 :, vertices, 1] += 0.03 * SIZE
        look = measures.look(skin, shown, r, edges, triangles, fps)
        assert look.snap > measures.SNAP and "snap" in look.faults()
    spike = skin.copy()
    spike[len(seconds) // 2, 60, 1] += 0.03 * SIZE
    assert "snap" in measures.look(skin, spike, r, edges, triangles, fps).faults()


def test_snap_rate_and_size_independent(grid):
    """The snap of a motion is the same at any rate and size."""
    points = grid[0]

    def measure_snap(fps, scale=1.0):
        seconds = np.arange(round(2.0 * fps) + 1) / fps
        skin = points + 2.0 * np.sin(2.0 * np.pi * seconds)[:, None, None] * np.array([0.0, 0.0, 1.0])
        shown = skin + 1.2 * np.sin(2.0 * np.pi * seconds - 0.6)[:, None, None] * np.array([0.0, 0.0, 1.0])
        return measures.snap(scale * skin, scale * shown, scale * SIZE, fps)

    bend = (2.0 * np.pi / 24.0) ** 2 / SIZE  # a frame² at 24 a second, of a swing of one unit
    both = abs(2.0 + 1.2 * np.exp(-0.6j))
    expected = (both * bend - measures.SLACK) / (2.0 * bend)
    for fps in (24.0, 30.0, 48.0, 60.0):
        assert measure_snap(fps) == pytest.approx(expected, rel=0.02), fps
    for scale in (0.01, 300.0):
        assert measure_snap(24.0, scale) == pytest.approx(measure_snap(24.0), rel=1e-9)


def test_snap_window(grid):
    """A pop long after the bones moved is a snap, even in a clip with a hard stop."""
    points = grid[0]
    skin, since = stopping_skin(points, 4.0, FPS, seconds=4.0)
    for later, passes in ((0.5, True), (2.5, False)):
        shown = skin.copy()
        shown[since > later] += [0.0, 0.03 * SIZE, 0.0]
        assert (measures.snap(skin, shown, SIZE, FPS) <= measures.SNAP) == passes


def test_snap_ignores_trembling(grid):
    """Trembling by less than a per cent of the size is no snap."""
    skin = np.repeat(grid[0][None], FRAMES, axis=0)
    shown = skin.copy()
    shown[12, :, 2] += 0.0049 * SIZE  # a spike bends twice its height
    assert measures.snap(skin, shown, SIZE, FPS) == 0.0


# hard and soft parts -------------------------------------------------------------------------------------------------


def test_hard_and_soft_bounds(grid):
    """Hard and soft parts are each judged by their own bounds."""
    points, edges, triangles = grid
    skin = hopping_skin(grid)  # accelerates by more than 10 m/s², were it of two metres
    hard, soft = points[:, 0] < 0.15, points[:, 0] > 0.85
    rhythm = np.sin(6.0 * np.pi * np.arange(FRAMES) / FPS)[:, None]
    rhythm = (rhythm - rhythm.mean()) / rhythm.std()

    def look(of_hard, of_soft, **also):
        shown = skin.copy()
        shown[:, hard, 1] += SIZE * of_hard * rhythm
        shown[:, soft, 1] += SIZE * of_soft * rhythm
        r = np.full(len(points), 10.0)
        return measures.look(skin, shown, r, edges, triangles, FPS, hard=[hard], soft=[soft], **also)

    right = look(0.003, 0.007)
    assert right.hard == pytest.approx(0.003, rel=1e-9) and right.soft == pytest.approx(0.007, rel=1e-9)
    assert right.acceleration > measures.SWINGING and right.faults() == []
    assert right.soft_acceleration == pytest.approx(right.acceleration, rel=1e-9)
    assert look(0.0045, 0.02).faults() == ["hard parts sway"]
    assert look(0.0, 0.0045).faults() == ["soft parts still"]
    assert look(0.0035, 0.0065).faults() == ["soft as hard"]
    assert look(0.0045, 0.0, body=SIZE).faults() == ["hard parts sway"]  # what rides moves as its body does
    plain = measures.look(skin, skin, np.ones(len(points)), edges, triangles, FPS)
    assert plain.hard is None and plain.soft is None and plain.soft_acceleration is None


def test_small_part_counts(grid):
    """Many still vertices do not hide a small part that sways: hands must not outvote a skull."""
    points, edges, triangles = grid
    skin = hopping_skin(grid)
    hands, skull = points[:, 0] < 0.85, points[:, 0] > 0.95
    rhythm = np.sin(6.0 * np.pi * np.arange(FRAMES) / FPS)[:, None]
    shown = skin.copy()
    shown[:, skull, 1] += 0.01 * SIZE * rhythm
    look = measures.look(skin, shown, np.full(len(points), 10.0), edges, triangles, FPS, hard=[hands, skull])
    assert look.hard == pytest.approx(0.01 * rhythm.std(), rel=1e-9) and "hard parts sway" in look.faults()


def test_soft_parts_may_rest(grid):
    """Soft parts may rest where the skin hardly moves."""
    points, edges, triangles = grid
    skin = np.repeat(points[None], FRAMES, axis=0)
    half = points[:, 0] > 0.5
    look = measures.look(skin, skin, np.ones(len(points)), edges, triangles, FPS, hard=[~half], soft=[half])
    assert look.faults() == [] and look.soft == 0.0


def test_calm_time():
    """Flesh is calm when its swing stays below a twentieth."""
    fps, rate = 96.0, 4.0
    t = np.arange(300) / fps
    ring = np.exp(-rate * t) * np.abs(np.cos(2.0 * np.pi * 3.0 * t))
    assert measures.calm_time(np.exp(-rate * t), fps) == pytest.approx(np.log(20.0) / rate, abs=0.01)
    assert np.log(20.0) / rate - 1.0 / 6.0 < measures.calm_time(ring, fps) < np.log(20.0) / rate + 0.01
    assert measures.calm_time(0.0 * t, fps) == 0.0
    assert measures.calm_time(1.0 + 0.0 * t, fps) == pytest.approx(300 / fps)
    late = np.where(t < 2.0, 0.0, np.exp(-rate * np.maximum(t - 2.0, 0.0)))  # a second swing is not overlooked
    assert measures.calm_time(late, fps) == pytest.approx(2.0 + np.log(20.0) / rate, abs=0.02)
    assert measures.calm_time(np.append(ring, np.nan), fps) == np.inf


def test_ringing_is_fault(grid):
    """Flesh that rings too long is a fault."""
    points, edges, triangles = grid
    skin = np.repeat(points[None], FRAMES, axis=0)
    look = measures.look(skin, skin, np.ones(len(points)), edges, triangles, FPS)
    assert replace(look, calm=1.24).faults() == [] and replace(look, calm=1.26).faults() == ["rings"]


def test_buried_relative_to_flesh(grid):
    """The depth of buried skin is relative to the thickness of the flesh."""

    def sink(shown):
        shown[3, :, 2] -= 0.1

    look = measure(grid, sink, r=0.2)
    assert look.buried == pytest.approx(0.1 / (0.2 + 0.005 * SIZE), rel=1e-12) and "buried" not in look.faults()
    assert "buried" in measure(grid, sink, r=0.1).faults()


def test_buried_quantile(grid):
    """The depth of buried skin leaves out the farthest half per cent of vertices."""
    look = measure(grid, lambda shown: np.add.at(shown[:, :, 2], (slice(None), [60]), 5.0), r=0.2)
    rank = 0.995 * (len(grid[0]) - 1)  # among 121 vertices the quantile lies between the two farthest
    assert look.buried == pytest.approx((rank % 1.0) * 5.0 / (0.2 + 0.005 * SIZE), rel=1e-9)


def test_look_ignores_uncarried(grid):
    """Vertices that no bone carries do not count."""
    r = np.full(len(grid[0]), 0.2)
    r[60] = np.inf

    def leap(shown):
        shown[7:, 60] += 1.0

    look = measure(grid, leap, r=r)
    assert look.jump == look.buried == look.thick == 0.0


def test_torn_edges(grid):
    """Edges stretched to twice or shrunk to half their length are torn."""
    points, edges, _ = grid

    def pull(shown):  # the last column, away by more than an edge: the edges to it are torn
        shown[5, points[:, 0] > 0.95, 0] += 1.01 * STEP

    look = measure(grid, pull)
    assert look.torn == pytest.approx(SIDE / len(edges), rel=1e-12) and "torn" in look.faults()

    def push(shown):
        shown[5, points[:, 0] > 0.95, 0] -= 0.51 * STEP

    assert measure(grid, push).torn == pytest.approx(SIDE / len(edges), rel=1e-12)

    def stretch_within_bound(shown):
        shown[5, points[:, 0] > 0.95, 0] += 0.98 * STEP

    assert measure(grid, stretch_within_bound).torn == 0.0


def test_torn_ignores_collapsed_edges(grid):
    """An edge that the skin itself collapses is not torn."""
    points = grid[0]
    skin = np.repeat(points[None], FRAMES, axis=0)
    skin[5, points[:, 0] > 0.95, 0] -= 0.9 * STEP

    def unfold(shown):
        shown[5] = points

    assert measure(grid, unfold, skin).torn == 0.0


def test_flipped_triangles(grid):
    """Flipped triangles are those that face the other way from the skin."""
    points, _, triangles = grid

    def fold(
        shown,
    ):  # the last two columns change places: the triangles between them turn over, and those beside flatten
        shown[4, points[:, 0] > 0.95, 0] -= 1.5 * STEP

    look = measure(grid, fold)
    assert look.flipped == pytest.approx(2 * (SIDE - 1) / len(triangles), rel=1e-12)
    assert "flipped" in look.faults()

    def bend(shown):
        shown[4, :, 2] += 3.0 * points[:, 0]

    assert measure(grid, bend).flipped == 0.0


def test_thick_flesh_must_sway(grid):
    """Flesh must sway most where it is thick, and a lasting offset is no sway."""
    points = grid[0]
    r = 0.02 + 0.2 * points[:, 0]
    rhythm = np.sin(6.0 * np.pi * np.arange(FRAMES) / FPS)[:, None]
    skin = hopping_skin(grid)

    def look(share):
        def sway(shown):
            shown[:, :, 1] += 0.01 * SIZE * rhythm * share

        return measure(grid, sway, skin, r)

    swings = 0.01 * np.sqrt(np.mean((rhythm - rhythm.mean()) ** 2))
    right, wrong, even = look(points[:, 0]), look(1.0 - points[:, 0]), look(1.0 + 0.0 * points[:, 0])
    assert even.thick == pytest.approx(swings, rel=1e-9) and even.thin == pytest.approx(swings, rel=1e-9)
    assert right.varied == pytest.approx((0.02 + 0.2 * 0.9) / (0.02 + 0.2 * 0.1), rel=1e-9)
    assert right.thick > 4.0 * right.thin and right.faults() == []
    assert wrong.faults() == even.faults() == ["stiffest where thick"]

    def sag(shown):  # a lasting offset is no sway
        shown[:, :, 1] += 0.01 * SIZE * points[:, 0]

    assert measure(grid, sag, skin, r).thick == pytest.approx(0.0, abs=1e-15)
    assert "still" in measure(grid, sag, skin, r).faults()


def test_even_flesh_may_sway(grid):
    """Flesh of even thickness may sway alike everywhere."""
    rhythm = np.sin(6.0 * np.pi * np.arange(FRAMES) / FPS)[:, None]

    def sway(shown):
        shown[:, :, 1] += 0.01 * SIZE * rhythm

    assert measure(grid, sway, hopping_skin(grid), 0.2).faults() == []


def test_acceleration_at_two_metres(grid):
    """Acceleration is measured as of a character two metres tall."""
    seconds = np.arange(FRAMES) / FPS
    falling = grid[0] - 0.5 * 9.81 * seconds[:, None, None] ** 2 * np.array([0.0, 0.0, 1.0])
    assert measures.acceleration(falling, FPS) == pytest.approx(9.81, rel=1e-9)
    assert measure(grid, lambda shown: None, falling).acceleration == pytest.approx(9.81 * 2.0 / SIZE, rel=1e-9)


def test_look_scale_invariant(grid):
    """The measures do not depend on scale."""
    points, edges, triangles = grid
    skin, random = hopping_skin(grid), np.random.default_rng(1)
    shown = skin + 0.02 * random.standard_normal(skin.shape)
    r = 0.02 + 0.2 * points[:, 0]
    half = points[:, 0] > 0.5
    parts = {"hard": [~half], "soft": [half]}
    small, large = (measures.look(k * skin, k * shown, k * r, edges, triangles, FPS, **parts) for k in (1.0, 300.0))
    for name, value in vars(small).items():
        if value is not None:
            assert getattr(large, name) == pytest.approx(value, rel=1e-9), name


def test_look_nan_is_fault(grid):
    """Positions that are not numbers are faults."""

    def break_one(shown):
        shown[3, 60] = np.nan

    assert {"snap", "jump", "buried"} <= set(measure(grid, break_one).faults())


def test_look_refuses_bad_input(grid):
    """Bad input is refused with a sentence."""
    points, edges, triangles = grid
    skin = np.repeat(points[None], FRAMES, axis=0)
    r = np.ones(len(points))
    for wrong, said in (
        ((skin, skin[1:], r), "same frames"),
        ((skin[:2], skin[:2], r), "three or more"),
        ((skin, skin, np.inf * r), "carried by a bone"),
    ):
        with pytest.raises(ValueError, match=said):
            measures.look(*wrong, edges, triangles, FPS)


def test_thickness_to_nearest_bone():
    """Thickness is the distance to the nearest bone that carries the vertex."""
    heads, tails = np.array([[0.0, 0, 0], [2.0, 0, 0]]), np.array([[1.0, 0, 0], [3.0, 0, 0]])
    rest = np.array([[0.5, 0.3, 0.0], [1.4, 0.3, 0.0], [2.5, 0.0, 0.2], [0.5, 0.0, 0.0], [-3.0, 4.0, 0.0]])
    weights = np.array([[1.0, 0.0], [0.5, 0.5], [0.15, 0.85], [0.0, 0.0], [1.0, 0.0]])
    r = measures.thickness(rest, heads, tails, weights)
    assert r == pytest.approx([0.3, 0.5, 0.2, np.inf, 5.0], rel=1e-12)
    point = measures.thickness(rest[:1], heads[:1], heads[:1], weights[:1, :1])  # a bone without length
    assert point == pytest.approx([np.hypot(0.5, 0.3)])


def test_table_totals(grid):
    """The table counts the clips and the characters that pass."""
    good, bad = measure(grid, lambda shown: None), measure(grid, lambda shown: None, hopping_skin(grid))
    text = table.totals([("a", good), ("a", bad), ("b", good)])
    assert text == "2 of 3 clips pass, 1 of 2 characters in all their clips. What fails: still 1."
    row = table.line("a", "mesh", "Rig|run", bad, 0.5)
    assert row.count("|") == table.HEAD.count("|") and row.endswith("| still |")


def test_table_summary(grid):
    """The summary has a line for each mesh with its worst clips."""
    good, bad = measure(grid, lambda shown: None), measure(grid, lambda shown: None, hopping_skin(grid))
    named = replace(good, hard=0.001, soft=0.006, slip=0.002, calm=1.0)
    text = table.summary(
        [("a", "body", good), ("a", "body", bad), ("a", "hair", named), ("a", "hair", replace(named, soft=0.012))]
    )
    head, rule, body, hair = text.splitlines()
    assert head.count("|") == rule.count("|") == body.count("|") == hair.count("|")
    assert body.split(" | ")[:4] == ["| a", "body", "2", f"{bad.acceleration:.0f}"] and body.endswith("| still |")
    assert "| 0.10 | 0.60 to 1.20 | 0.20 | 1.00 |  | – |" in hair


def test_recording_round_trip(grid, tmp_path):
    """A recording read from its file equals the one saved."""
    points, edges, triangles = grid
    clip = recording.Clip("Rig|run", np.tile(np.eye(4), (3, 2, 1, 1)), np.float32(hopping_skin(grid)[:3]))
    weights, ends = np.ones((len(points), 2)), np.zeros((2, 3))
    made = recording.Recording(
        "fox",
        "Body.001",
        points,
        triangles,
        edges,
        ["a", "b"],
        np.array([-1, 0]),
        ends,
        ends + 1,
        weights,
        24.0,
        [clip],
    )
    file = made.save(tmp_path)
    again = recording.Recording.load(file)
    assert file.name == "fox__Body.001.npz"
    for name, value in vars(made).items():
        if name != "clips":
            assert np.array_equal(getattr(again, name), value), name
    assert again.clips[0].name == "Rig|run" and np.array_equal(again.clips[0].skin, clip.skin)
    assert again.clips[0].shown.shape == (2, len(points), 3) and np.array_equal(again.clips[0].maps, clip.maps)


# pieces --------------------------------------------------------------------------------------------------------------


def lay_patch(grid, height: float):
    """Builds the square and a small patch of its own above the middle of it: points, edges, mask of the patch."""
    points, edges, _ = grid
    kept = np.flatnonzero(np.abs(points - points.mean(axis=0)).max(axis=1) < 0.2)
    number = np.full(len(points), -1)
    number[kept] = len(points) + np.arange(len(kept))
    own = number[edges]
    both = np.concatenate([points, points[kept] + [0.0, 0.0, height]])
    return both, np.concatenate([edges, own[(own >= 0).all(axis=1)]]), np.arange(len(both)) >= len(points)


def test_pieces_joined_at_seams(grid):
    """Vertices in one place belong to one piece, though no edge joins them; a patch above is a piece of its own."""
    points, edges, _ = grid
    assert (pieces.pieces(points, edges) == 0).all()
    doubled = np.concatenate([points, points]), np.concatenate([edges, edges + len(points)])
    assert (pieces.pieces(*doubled) == 0).all() and len(pieces.touching_pairs(*doubled)) == 0
    both, joined, patch = lay_patch(grid, 0.01)
    assert len(np.unique(pieces.pieces(both, joined))) == 2
    pairs = pieces.touching_pairs(both, joined)
    assert sorted(pairs[:, 0]) == list(np.flatnonzero(patch))
    np.testing.assert_allclose(both[pairs[:, 0]] - both[pairs[:, 1]], [[0.0, 0.0, 0.01]] * len(pairs), atol=1e-12)
    assert len(pieces.touching_pairs(*lay_patch(grid, 0.1)[:2])) == 0


def test_slip_of_patch(grid):
    """A piece that moves with what it lies on does not slip; one that moves alone slips by as much, in shares of the size."""
    both, edges, patch = lay_patch(grid, 0.01)
    skin = np.repeat(both[None], FRAMES, axis=0)
    pairs, triangles = pieces.touching_pairs(both, edges), grid[2]
    size = float(np.linalg.norm(np.ptp(both, axis=0)))

    def slip(moved, far):
        shown = skin.copy()
        shown[7, moved, 2] += far * size
        return measures.look(skin, shown, np.ones(len(both)), edges, triangles, FPS, pairs=pairs)

    assert slip(np.ones(len(both), bool), 0.02).slip == pytest.approx(0.0, abs=1e-12)
    assert slip(patch, 0.02).slip == pytest.approx(0.02, rel=1e-9)
    assert "pieces slip" in slip(patch, 0.02).faults() and "pieces slip" not in slip(patch, 0.009).faults()
    assert measures.look(skin, skin, np.ones(len(both)), edges, triangles, FPS).slip is None
