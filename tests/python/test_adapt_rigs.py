# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rigs choose the finer functions that they need, and motion with `adapt="rigs"` has those of the rigs that act."""

import glb
import numpy as np
import pytest
import shapes
import thew

FPS = 24.0
OFF = (0.0, 0.0, 0.0)
REST = shapes.bend(0.0)
SETTINGS = {"rate": 48.0, "method": "warped", "gravity": OFF, "adapt": "rigs"}


@pytest.fixture(scope="module")
def body(arm):
    """Returns the arm with one level of finer functions."""
    parts = (arm.surface, arm.skeleton, arm.lattice, thew.Material(), arm.weights)
    return thew.Body(*parts, basis_levels=1)


def bump(arm, x):
    """Returns the wish of a bump on top of the arm at x, 1 cm high and narrower than a cell, [n,3]."""
    away = np.linalg.norm(arm.vertices - [x, 0.0, 0.1], axis=1)
    return 0.01 * np.exp(-((away / 0.05) ** 2))[:, None] * [0.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def rigs(arm, body):
    """Returns the rigs of two bumps, one on each bone."""
    places = (0.2, 0.8)
    return [thew.fit_surface(body, REST, arm.vertices + bump(arm, x), gravity=OFF, name=f"Bump {x}") for x in places]


@pytest.fixture(scope="module")
def controls():
    """Returns controls of 48 frames: one rig grows and goes, then the other; both act in some frames."""
    frames = np.arange(48)
    return np.stack([np.clip(1.0 - np.abs(frames - c) / 6.0, 0.0, 1.0) for c in (8, 16)], axis=1)


@pytest.fixture(scope="module")
def clip(body, rigs, controls):
    """Returns the adapted motion of an arm at rest."""
    return thew.simulate(body, [REST] * len(controls), FPS, rigs=rigs, controls=controls, **SETTINGS)


def held(body, forces, adapt):
    """Returns the skin at rest under forces."""
    motion = thew.Simulation(body, **{**SETTINGS, "adapt": adapt})
    motion.reset(np.tile(np.eye(4), (len(body.skeleton), 1, 1)), rest_forces=forces)
    return np.array(motion.positions(), dtype=float)


def distances(plain, body, rig, target):
    """Returns the distances from a target with level 0 alone, with the functions that a rig needs, and with all."""
    skins = (
        held(plain, rig.forces(plain, 1.0), "none"),
        held(body, rig.forces(body, 1.0, functions=rig.functions(body)), "rigs"),
        held(body, rig.forces(body, 1.0), "none"),
    )
    return [np.linalg.norm(skin - target) for skin in skins]


def test_few_functions_gain_most(arm, body, rigs):
    """A local shape needs few finer functions, near it, and with these alone the skin misses little of what all of them gain."""
    coarse = arm.body.node_count
    own = rigs[0].functions(body)
    assert own.dtype == bool and own.shape == (body.node_count,) and own[:coarse].all()
    assert 0 < own[coarse:].sum() < 0.2 * (body.node_count - coarse)
    centres = np.asarray(body.node_centres)[coarse:][own[coarse:]]
    assert np.abs(centres[:, 0] - 0.2).max() < 0.3

    forces = rigs[0].forces(body, 1.0, functions=own)
    assert not forces[~own].any() and forces[own].any()
    none, some, everything = distances(arm.body, body, rigs[0], arm.vertices + bump(arm, 0.2))
    assert everything < 0.8 * none
    assert some - everything < 0.2 * (none - everything)


def test_local_shape_of_a_character():
    """A bump on a real character takes less than a tenth of the finer functions, and misses less than a fifth of what all gain."""
    fox = glb.character("Fox")
    lattice = thew.Lattice.enclose(fox.surface, fox.skeleton, fox.weights, cells_across=12)
    parts = (fox.surface, fox.skeleton, lattice, thew.Material(), fox.weights)
    plain, body = (thew.Body(*parts, basis_levels=level) for level in (0, 1))
    size = np.linalg.norm(np.ptp(fox.vertices, axis=0))
    centre = fox.vertices[np.linalg.norm(fox.vertices - fox.vertices.mean(axis=0), axis=1).argmin()]
    away = np.linalg.norm(fox.vertices - centre, axis=1) / (0.04 * size)
    out = fox.vertices - fox.vertices.mean(axis=0)
    target = fox.vertices + 0.01 * size * np.exp(-(away**2))[:, None] * out / np.linalg.norm(out, axis=1, keepdims=True)
    rest = np.tile(np.eye(4), (len(fox.names), 1, 1))
    rig = thew.fit_surface(body, rest, target, gravity=OFF)
    assert 0.0 < rig.functions(body)[plain.node_count :].mean() < 0.1
    none, some, everything = distances(plain, body, rig, target)
    assert everything < 0.8 * none
    assert some - everything < 0.2 * (none - everything)


def test_functions_follow_points(arm, body, rigs, tmp_path):
    """A rig from a file needs the same functions; on a body without finer ones all are needed, and the forces are the usual ones."""
    thew.save_rigs(tmp_path / "rigs.toml", rigs)
    for rig, again in zip(rigs, thew.load_rigs(tmp_path / "rigs.toml"), strict=True):
        np.testing.assert_array_equal(again.functions(body), rig.functions(body))
        assert rig.functions(arm.body).all()
        everything = np.ones(arm.body.node_count, dtype=bool)
        np.testing.assert_array_equal(rig.forces(arm.body, 0.7, functions=everything), rig.forces(arm.body, 0.7))


def test_template_needs_its_field(arm, body):
    """A template needs the finer functions on which its forces act."""
    rig = thew.Rig(thew.Template("bump", radius=0.06, strength=2e4), thew.BoneGuide("upper", 0.5, 0.0, 0.03))
    coarse, forces = arm.body.node_count, rig.forces(body)
    np.testing.assert_array_equal(rig.functions(body)[coarse:], forces.any(axis=1)[coarse:])
    assert 0 < rig.functions(body)[coarse:].sum() < 0.5 * (body.node_count - coarse)
    np.testing.assert_array_equal(rig.forces(body, functions=rig.functions(body)), forces)


def test_motion_unites_functions(arm, body, rigs, controls, clip):
    """The functions of the rigs that act are active, those of both where both do, and they leave afterwards."""
    coarse = arm.body.node_count
    first, second = (rig.functions(body) for rig in rigs)
    active = np.asarray(clip.active_functions)
    assert active[0] == coarse == active[-1]
    acts = controls > 0.0
    both, one = acts.all(axis=1), acts[:, 0] & ~acts[:, 1]
    assert both.any() and one.any()
    assert (active[both] == (first | second).sum()).all()
    assert (active[one] == first.sum()).all()


def test_motion_is_near_all_functions(body, rigs, controls, clip):
    """The motion is nearly that of all functions with forces on all, and nearer than without finer ones."""
    poses = [REST] * len(controls)
    whole = thew.simulate(body, poses, FPS, rigs=rigs, controls=controls, **{**SETTINGS, "adapt": "none"})
    apart = np.abs(np.asarray(clip) - np.asarray(whole)).max()
    assert 0.0 < apart < 0.2 * 0.01


def test_clip_and_shot_keep_the_motion(body, rigs, controls, clip, tmp_path):
    """A clip made in two parts, through a file, and one of a stored shot are the same, bit for bit."""
    poses = [REST] * len(controls)
    half = thew.simulate(body, poses[:18], FPS, rigs=rigs, controls=controls[:18], **SETTINGS)
    half.save(tmp_path / "clip")
    again = thew.Clip.load(tmp_path / "clip")
    again.extend(poses[18:], controls=controls[18:])
    np.testing.assert_array_equal(again.active_functions, clip.active_functions)
    np.testing.assert_array_equal(np.asarray(again), np.asarray(clip))
    settings = thew.SimulationSettings(**SETTINGS)
    thew.Shot(body, poses, FPS, rigs=rigs, controls=controls, settings=settings).save(tmp_path / "shot")
    shot = thew.Shot.load(tmp_path / "shot")
    assert shot.settings.adapt == "rigs"
    np.testing.assert_array_equal(np.asarray(shot.simulate()), np.asarray(clip))


def test_simulation_follows_forces(body, rigs):
    """A simulation has the functions of the forces that it gets, whose shape grows without a jump."""
    motion = thew.Simulation(body, **SETTINGS)
    motion.reset(REST)
    before = np.array(motion.positions())
    own = rigs[0].functions(body)
    forces = rigs[0].forces(body, 1.0, functions=own)
    motion.advance(REST, 1e-4, rest_forces=1e-9 * forces)
    assert motion.active_functions == own.sum()
    np.testing.assert_allclose(motion.positions(), before, atol=1e-7)


def test_bodies_of_scenes_follow_their_rigs(arm, body, rigs, controls):
    """In a scene each body has the functions of its own rigs."""
    poses = np.stack([REST] * 12)
    far = poses.copy()
    far[:, :, 0, 3] += 5.0
    first, second = thew.simulate_scene(
        [body, body], [poses, far], FPS, rigs=[rigs, None], controls=[controls[:12], None], **SETTINGS
    )
    alone = thew.simulate(body, poses, FPS, rigs=rigs, controls=controls[:12], contact=thew.Contact(), **SETTINGS)
    np.testing.assert_array_equal(first.active_functions, alone.active_functions)
    assert max(first.active_functions) > arm.body.node_count
    assert (np.asarray(second.active_functions) == arm.body.node_count).all()


def test_foreign_rig_names_the_bone(arm, rigs):
    """A rig of another skeleton is refused with the name of the bone."""
    other = thew.Skeleton(["upper", "tail"], *shapes.arm_bones()[1:])
    lattice = thew.Lattice.enclose(arm.surface, other, arm.weights, cells_across=6)
    body = thew.Body(arm.surface, other, lattice, thew.Material(), region_weights=arm.weights, basis_levels=1)
    with pytest.raises(thew.RigError, match="'lower'"):
        rigs[1].functions(body)
    with pytest.raises(thew.RigError, match="'lower'"):
        rigs[1].forces(body, functions=np.ones(body.node_count))


def test_shapes_of_near_rigs_add_up(arm, body):
    """Two shapes a cell apart, each made in its own functions, come as near together as alone."""
    wishes = [bump(arm, x) for x in (0.2, 0.3)]
    near = [thew.fit_surface(body, REST, arm.vertices + wish, gravity=OFF) for wish in wishes]
    own = near[0].functions(body) | near[1].functions(body)
    assert (own != near[0].functions(body)).any() and (own != near[1].functions(body)).any()
    alone = [held(body, rig.forces(body, 1.0, functions=own), "rigs") - arm.vertices for rig in near]
    both = held(body, sum(rig.forces(body, 1.0, functions=own) for rig in near), "rigs") - arm.vertices
    np.testing.assert_allclose(both, alone[0] + alone[1], atol=1e-4)
    clip = thew.simulate(body, [REST] * 2, FPS, rigs=near, controls=np.ones((2, 2)), **SETTINGS)
    np.testing.assert_allclose(np.asarray(clip)[0], arm.vertices + both, atol=1e-6)
    assert clip.active_functions[0] == own.sum()


@pytest.mark.parametrize("functions", [[True], np.ones((2, 3)), "some", [np.nan] * 7])
def test_functions_of_another_body_are_refused(body, rigs, functions):
    """Functions that are not one flag for each node are refused by name."""
    with pytest.raises(thew.InputError, match="functions"):
        rigs[0].forces(body, 1.0, functions=functions)
