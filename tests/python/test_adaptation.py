# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bodies with levels of finer functions, and motion in which these come and go."""

import numpy as np
import pytest
import shapes
import thew

FPS = 24.0
#: Cheap steps, and strains that a quick bend passes.
SETTINGS = {"rate": 48.0, "method": "warped", "adapt": "strain", "adapt_strain": (0.02, 0.05, 0.1)}


@pytest.fixture(scope="module")
def body(arm):
    """Returns the arm with one level of finer functions."""
    parts, flesh = (arm.surface, arm.skeleton, arm.lattice, thew.Material(), arm.weights), np.ones(len(arm.vertices))
    return thew.Body(*parts, flesh=flesh, basis_levels=1)


@pytest.fixture(scope="module")
def poses():
    """Returns a bend that swings and then rests."""
    frames = np.arange(60)
    return np.stack([shapes.bend(0.5 * np.sin(0.7 * f) if f < 16 else 0.0) for f in frames])


@pytest.fixture(scope="module")
def clip(body, poses):
    """Returns the adapted motion."""
    return thew.simulate(body, poses, FPS, **SETTINGS)


def test_functions_come_and_go(arm, body, clip):
    """Finer functions act while the flesh is strained, and none at its rest."""
    active, coarse = clip.active_functions, arm.body.node_count
    assert active.dtype == np.int32 and active.shape == (len(clip),)
    assert coarse < active.max() <= body.node_count and active[-1] == coarse
    assert clip.lattice_positions(3).shape == (body.node_count, 3)
    everything = thew.simulate(body, [np.tile(np.eye(4), (2, 1, 1))] * 2, FPS, rate=48.0)
    assert (everything.active_functions == body.node_count).all()


def test_adapted_shape_near_uniform(arm, body, poses, clip):
    """Adapted flesh is nearer to flesh with all functions than flesh without finer ones."""
    uniform = thew.simulate(body, poses, FPS, **{**SETTINGS, "adapt": "none"})
    plain = thew.simulate(arm.body, poses, FPS, **SETTINGS)
    apart, coarse = (np.abs(np.asarray(one) - np.asarray(uniform)).max() for one in (clip, plain))
    assert 0.0 < apart < 0.7 * coarse


def test_states_in_any_order(body, poses):
    """A simulation continues from any of its states, whatever acted before."""
    motion = thew.Simulation(body, **SETTINGS)
    motion.reset(poses[0])
    states, counts, places = [], [], []
    for pose in poses:
        states.append(motion.state())
        counts.append(motion.active_functions)
        places.append(motion.positions())
        motion.advance(pose, 1.0 / FPS)
    assert len(set(counts)) > 1
    for frame in (40, 4, 17):
        motion.restore(states[frame])
        assert motion.active_functions == counts[frame]
        np.testing.assert_array_equal(motion.positions(), places[frame])
        motion.advance(poses[frame], 1.0 / FPS)
        assert motion.state() == states[frame + 1]
    with pytest.raises(thew.InputError, match="did not adapt"):
        motion.restore(run_uniform(body, poses))
    assert motion.state() == states[18]


def run_uniform(body, poses) -> bytes:
    """Returns a state of a motion that does not adapt."""
    motion = thew.Simulation(body, rate=48.0, method="warped")
    motion.reset(poses[0])
    return motion.state()


def test_clip_kept_and_extended(body, poses, clip, tmp_path):
    """A clip keeps its functions in its file, and goes on as if it had never been away."""
    half = thew.simulate(body, poses[:20], FPS, **SETTINGS)
    half.save(tmp_path / "clip")
    again = thew.Clip.load(tmp_path / "clip")
    np.testing.assert_array_equal(again.active_functions, half.active_functions)
    again.extend(poses[20:])
    np.testing.assert_array_equal(again.active_functions, clip.active_functions)
    np.testing.assert_array_equal(np.asarray(again), np.asarray(clip))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"adapt": "rigid"}, "'none', 'strain', 'rigs'"),
        ({"adapt_strain": (0.1, 0.0, 0.1)}, "adapt_strain"),
        ({"adapt_strain": (0.1, 0.1)}, "adapt_strain"),
        ({"adapt_strain": (0.1, float("nan"), 0.1)}, "adapt_strain"),
    ],
)
def test_adaptation_refuses_bad_values(body, given, words):
    """Unknown criteria and bad strains are refused by name."""
    with pytest.raises(thew.InputError, match=words):
        thew.Simulation(body, **{**SETTINGS, **given})


def test_nothing_to_adapt(arm):
    """Bodies without finer functions have all their functions."""
    assert thew.Simulation(arm.body, **SETTINGS).active_functions == arm.body.node_count


def test_bodies_of_scenes_adapt(arm, body, poses):
    """A body of a scene adapts by itself, as it does alone with contact, and one without finer functions beside it."""
    near = np.stack(list(poses[:8]))
    far = near.copy()
    far[:, :, 0, 3] += 5.0
    both = thew.simulate_scene([body, arm.body], [near, far], FPS, **SETTINGS)
    alone = thew.simulate(body, near, FPS, contact=thew.Contact(), **SETTINGS)
    active = both[0].active_functions
    assert arm.body.node_count < active.max() < body.node_count or len(set(active)) > 1
    np.testing.assert_array_equal(active, alone.active_functions)
    np.testing.assert_allclose(np.asarray(both[0]), np.asarray(alone), atol=1e-6)
    assert (both[1].active_functions == arm.body.node_count).all()


def test_pin_refines_within_frame(body, poses):
    """Functions act in the frame in which a pull begins, and the pinned point is where it is held."""
    moved = thew.Simulation(body, **{**SETTINGS, "rate": 240.0})
    moved.reset(poses[0])
    before, skin = moved.active_functions, np.array(moved.positions())
    vertex = int(skin[:, 2].argmax())
    held = skin[vertex] + [0.0, 0.0, 0.02]
    moved.pin(vertex, held)
    moved.advance(poses[0], 1.0 / FPS)
    assert moved.active_functions > before
    np.testing.assert_allclose(np.array(moved.positions())[vertex], held, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "share"), [("hyperelastic", 1.0), ("hyperelastic", 0.4), ("warped", 1.0), ("warped", 0.4)]
)
def test_pin_holds_while_functions_leave(body, poses, method, share):
    """A pinned vertex is shown at its target in every frame, also while what former functions displaced fades beside it."""
    moved = thew.Simulation(body, **{**SETTINGS, "method": method}, elastic_joints=share)
    moved.reset(poses[-1])
    skin = np.array(moved.positions())
    vertex = int(skin[:, 2].argmax())
    size = np.linalg.norm(np.ptp(skin, axis=0))
    pin, counts, gaps = moved.pin(vertex, skin[vertex]), [], []
    pull = np.concatenate([np.linspace(0.0, 0.03, 6), np.linspace(0.03, 0.0, 6), np.zeros(24)]) * size
    for out in pull:
        target = skin[vertex] + [0.0, 0.3 * out, out]
        moved.move_pin(pin, target)
        moved.advance(poses[-1], 1.0 / FPS)
        counts.append(moved.active_functions)
        gaps.append(np.linalg.norm(np.array(moved.positions())[vertex] - target) / size)
    assert min(np.diff(counts)) < 0 < max(np.diff(counts))
    assert max(gaps) < 1e-6
