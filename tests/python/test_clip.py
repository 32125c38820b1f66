# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.simulate and thew.Clip."""

import threading

import numpy as np
import pytest
import shapes
import thew


def swings(count, period=12):
    """Returns poses of an elbow that swings to and fro."""
    return np.stack([shapes.bend(0.6 * np.sin(2 * np.pi * i / period)) for i in range(count)])


@pytest.fixture(scope="module")
def clip(arm):
    """Simulates a swinging arm for 16 frames."""
    return thew.simulate(arm.body, swings(16), 24)


def test_clip_array(arm, clip):
    """A clip converts to an array of its frames, and reports length, rate and memory."""
    frames = np.asarray(clip)
    assert frames.shape == (16, len(arm.vertices), 3) and frames.dtype == np.float32
    assert len(clip) == 16 and clip.fps == 24
    assert np.asarray(clip, dtype=np.float64).dtype == np.float64
    for f in (0, 7, 15):
        assert np.array_equal(clip.positions(f), frames[f])
    assert clip.nbytes < 16 * arm.body.node_count * 60
    assert len(clip.inverted_cells) == 16


def test_frames_any_order(clip):
    """Frames are the same in whatever order they are read."""
    forwards = [clip.positions(f) for f in range(16)]
    for f in np.random.default_rng(1).permutation(16):
        assert np.array_equal(clip.positions(int(f)), forwards[f])
    assert np.array_equal(clip.positions(-3), forwards[0])
    assert np.array_equal(clip.positions(99), forwards[15])


def test_simulate_deterministic(arm, clip):
    """Simulating twice gives the same bits."""
    assert np.array_equal(np.asarray(thew.simulate(arm.body, swings(16), 24)), np.asarray(clip))


def test_first_frame_equilibrium(arm, clip):
    """The first frame is the equilibrium of its pose, and the surface is the lattice's embedding."""
    q = thew.equilibrium(arm.body, swings(1)[0], method="hyperelastic")
    np.testing.assert_allclose(clip.lattice_positions(0), arm.lattice.vertices + q, atol=1e-6)
    # And of other methods the surface is the lattice's embedding, where its sway is not bounded: nearly everywhere if it moves slowly.
    indices, weights = arm.lattice.embed_surface(arm.surface)
    slow = [thew.simulate(arm.body, swings(10), fps=6, method="warped", elastic_joints=s) for s in (0.0, 1.0)]
    for f in (0, 9):
        places = np.einsum("nk,nkx->nx", weights, slow[1].lattice_positions(f)[indices])
        free = np.linalg.norm(slow[0].offsets(f), axis=1) < 0.3 * arm.body.thickness
        assert free.sum() > 0.9 * len(free)
        np.testing.assert_allclose(slow[1].positions(f)[free], places[free], atol=1e-6)


def test_bone_vertices_follow_poses(arm, clip):
    """The bone vertices of a clip follow the poses exactly."""
    for f, pose in enumerate(swings(16)):
        p = clip.lattice_positions(f)
        for v, bone in zip(arm.body.bone_vertices, arm.body.bone_of_vertex, strict=True):
            np.testing.assert_allclose(p[v], shapes.apply(pose[bone], arm.lattice.vertices[v]), atol=1e-6)


def test_clip_extend_in_parts(arm, clip):
    """A clip made in parts equals the clip made at once."""
    parts = thew.simulate(arm.body, swings(16)[:5], 24)
    parts.extend(swings(16)[5:6])
    parts.extend(swings(16)[6:])
    assert np.array_equal(np.asarray(parts), np.asarray(clip))


def test_flesh_moves_more_when_faster(arm):
    """Flesh moves beside its balance, and more when the same motion is faster."""

    def own_motion(fps):
        clip = thew.simulate(arm.body, swings(25), fps)
        still = [thew.equilibrium(arm.body, pose) + arm.lattice.vertices for pose in swings(25)]
        away = np.array([clip.lattice_positions(f) for f in range(25)]) - still
        return np.sqrt((away**2).sum(axis=2).mean())

    slow, fast = own_motion(12), own_motion(24)
    assert fast > 1.5 * slow > 1e-5


def test_frame_rate_independent(arm):
    """The same motion sampled at 24 and at 48 frames per second gives nearly the same clip."""
    fine = np.stack([shapes.bend(0.6 * np.sin(2 * np.pi * i / 48)) for i in range(97)])
    a = thew.simulate(arm.body, fine[::2], 24)
    b = thew.simulate(arm.body, fine, 48)
    moved = max(np.abs(b.positions(2 * f) - arm.vertices).max() for f in range(49))
    apart = max(np.abs(a.positions(f) - b.positions(2 * f)).max() for f in range(49))
    assert apart < 0.01 * moved


def test_sway_frame_rate_independent(arm):
    """The sway of the same motion at 24, 30 and 60 frames per second agrees every sixth of a second."""
    sways = []
    for fps in (24, 30, 60):
        poses = np.stack([shapes.bend(0.6 * np.sin(2 * np.pi * i / fps)) for i in range(2 * fps + 1)])
        clip = thew.simulate(arm.body, poses, fps, elastic_joints=0.0)
        sways.append(np.stack([clip.offsets(k * fps // 6) for k in range(13)]))
    largest = np.linalg.norm(sways[2], axis=2).max()
    assert largest > 1e-3
    for coarse in sways[:2]:
        assert np.linalg.norm(coarse - sways[2], axis=2).max() < 0.01 * largest


def test_folded_cells_match_rest(arm):
    """The folded cells of a frame are those that flesh at rest has in the same pose."""
    poses = [shapes.bend(0.25 * i) for i in range(12)]
    made = thew.simulate(arm.body, poses, 24.0)
    still = thew.Simulation(arm.body, gravity=(0, 0, 0))
    for i, pose in enumerate(poses):
        still.reset(pose)
        assert made.folded_cells[i] == still.inverted_cells()
    assert made.folded_cells.max() > 0
    assert thew.simulate(arm.body, poses, 24.0, method="neohookean").folded_cells is None


@pytest.mark.parametrize("rate", [24.0, 240.0])
def test_steps_converge_when_thrown(arm, rate):
    """Every step converges, however hard the flesh is thrown."""
    poses = np.array([shapes.bend(0.0)] * 6)
    poses[1::2, :, 0, 3] += 5.0  # its length five times, to and fro
    counts = thew.simulate(arm.body, poses, 24.0, rate=rate).unconverged_steps
    assert counts.shape == (6,) and not counts.any()


def test_cycle_closes(arm):
    """A cyclic clip ends as it begins, and cannot be extended."""
    poses = swings(13)
    cycle = thew.simulate(arm.body, poses, 24, cyclic=True)
    assert len(cycle) == 13
    assert cycle.loop_gap < 1e-4 * 2
    np.testing.assert_allclose(cycle.positions(0), cycle.positions(12), atol=1e-6)
    assert np.abs(cycle.positions(0) - thew.simulate(arm.body, poses, 24).positions(0)).max() > 1e-5
    with pytest.raises(thew.InputError, match="cyclic"):
        cycle.extend(poses)


def test_preroll_starts_in_motion(arm, clip):
    """A clip with a run-in begins in motion."""
    run = thew.simulate(arm.body, swings(16), 24, preroll=6)
    assert len(run) == 16 and clip.loop_gap is None
    assert np.abs(run.positions(0) - clip.positions(0)).max() > 1e-5


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"poses": np.zeros((0, 2, 4, 4))}, thew.InputError, "no poses"),
        ({"poses": np.tile(np.eye(4), (3, 5, 1, 1))}, thew.InputError, r"\(any, 2, 4, 4\)"),
        ({"poses": np.full((2, 2, 4, 4), np.nan)}, thew.InputError, r"poses\[0\]"),
        ({"fps": 0}, thew.InputError, "frames per second"),
        ({"rigs": [object()]}, thew.InputError, r"rigs\[0\] is not a thew.Rig"),
        ({"method": "magic"}, thew.InputError, "'warped', 'blended'"),
    ],
)
def test_simulate_refuses_bad_input(arm, arguments, error, word):
    """Bad arguments of `simulate` are refused with a sentence."""
    with pytest.raises(error, match=word):
        thew.simulate(**{"body": arm.body, "poses": swings(3), "fps": 24, **arguments})


def test_simulate_refuses_projections(arm):
    """A pose that is a projection is refused by frame and bone."""
    poses = swings(3)
    poses[2, 1, 3, 0] = 0.5
    with pytest.raises(thew.InputError, match=r"poses\[2\].*bone 1"):
        thew.simulate(arm.body, poses, 24)


def test_simulate_empty_rigs(arm, clip):
    """Empty rigs give the same clip as no rigs."""
    again = thew.simulate(arm.body, swings(16), fps=24, rigs=(), controls=None, preroll=0, cyclic=False)
    assert np.array_equal(np.asarray(again), np.asarray(clip))


def test_frames_read_while_extending(arm, clip):
    """Frames can be read in one thread while another extends the clip."""
    grown = thew.simulate(arm.body, swings(16)[:4], 24)
    wrong = []

    def read():
        while len(grown) < 16:
            f = len(grown) - 3
            if not np.array_equal(grown.positions(f), clip.positions(f)):
                wrong.append(f)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    for f in range(4, 16, 2):
        grown.extend(swings(16)[f : f + 2], progress=lambda fraction, stage: True)
    reader.join(timeout=60)
    assert not reader.is_alive() and not wrong


def test_clip_extend_cancelled(arm):
    """An extension that is cancelled leaves the clip as it was."""
    clip = thew.simulate(arm.body, swings(6), 24)
    before = np.asarray(clip)
    with pytest.raises(thew.Cancelled):
        clip.extend(swings(12)[6:], progress=lambda fraction, stage: fraction < 0.5)
    assert np.array_equal(np.asarray(clip), before)


def test_max_offset_limits_shown(arm):
    """The limit of the offset bounds what is shown and leaves the motion as it is."""
    jolt = swings(12)
    jolt[6:] = shapes.turn_about([0, 0, 0], shift=[0, 0, 0.6]) @ jolt[6:]
    soft = thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(young=4e3), region_weights=arm.weights)
    free = thew.simulate(soft, jolt, 24)
    held = thew.simulate(soft, jolt, 24, max_offset=0.02)
    # Linear blend skinning.
    whole = np.c_[arm.vertices, np.ones(len(arm.vertices))]
    skinned = [np.einsum("nb,bij,nj->ni", arm.weights, pose, whole)[:, :3] for pose in jolt]

    def largest_offsets(clip):
        return np.array([np.linalg.norm(clip.positions(f) - skinned[f], axis=1).max() for f in range(12)])

    # What was limited is still known, the motion is the same, and what is near the skin is shown as it is.
    size = np.linalg.norm(np.ptp(arm.vertices, axis=0))
    assert largest_offsets(free).max() > 0.03 * size
    assert largest_offsets(held).max() < 0.02 * size + 1e-6
    assert np.allclose(held.max_skin_deviations, largest_offsets(free) / size, atol=1e-5)
    assert np.array_equal(held.max_skin_deviations, free.max_skin_deviations)
    assert np.array_equal(held.lattice_positions(7), free.lattice_positions(7))
    near = largest_offsets(free) < 0.0133 * size
    assert near.any()
    assert all(np.array_equal(held.positions(f), free.positions(f)) for f in np.flatnonzero(near))
    # A simulation and a body show the same.
    simulation = thew.Simulation(soft, max_offset=0.02)
    simulation.reset(jolt[6])
    assert np.array_equal(
        simulation.positions(), soft.shown(simulation.lattice_positions() - arm.lattice.vertices, jolt[6], 0.02)
    )
    with pytest.raises(thew.InputError, match="max_offset"):
        thew.simulate(soft, jolt, 24, max_offset=0.0)
    with pytest.raises(thew.InputError, match="max_offset"):
        soft.shown(np.zeros((soft.node_count, 3)), jolt[0], -1.0)
    with pytest.raises(thew.InputError, match="surface"):
        soft.shown(np.zeros((soft.node_count, 3)), surface=3)
    with pytest.raises(thew.InputError, match="elastic_joints"):
        soft.shown(np.zeros((soft.node_count, 3)), jolt[0], elastic_joints=2.0)


@pytest.mark.parametrize("joints", [0.0, 0.4, 1.0])
def test_body_shown_matches_simulation(arm, joints):
    """A body shows displacements as a simulation does: by the amount of flesh, not as the bare lattice."""
    options = {"region_weights": arm.weights, "rest_includes_gravity": False}
    soft = thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(young=4e3), **options)
    size, pose = np.linalg.norm(np.ptp(arm.vertices, axis=0)), swings(4)[3]
    simulation = thew.Simulation(soft, elastic_joints=joints, gravity=(0.0, 0.0, -30.0))
    simulation.reset(pose, settled=True)
    q = simulation.lattice_positions() - arm.lattice.vertices
    shown = soft.shown(q, pose, elastic_joints=joints)
    np.testing.assert_allclose(simulation.positions(), shown, atol=2e-6 * size)
    assert np.abs(shown - soft.shown(q)).max() > 1e-2 * size
