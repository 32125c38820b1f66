# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cuts: frames in which flesh begins anew, whatever was before."""

import numpy as np
import pytest
import shapes
import thew

FPS = 24.0
CUT = 9
SETTINGS = {"preroll": 2, "max_offset": None}


@pytest.fixture(scope="module")
def body():
    """Builds an arm, and returns its body."""
    vertices, triangles = shapes.arm()
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=8)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


def swing_poses(frames=20, cut=CUT, away=10.0):
    """Returns poses of a swing from side to side, whose second part is ten metres away and turned."""
    elbow = [shapes.turn_about((0.0, 0.0, 0.6 * np.sin(0.5 * frame)), (0.5, 0.0, 0.0)) for frame in range(frames)]
    maps = np.stack([np.tile(np.eye(4), (frames, 1, 1)), elbow], axis=1)
    there = shapes.turn_about((0.0, 0.0, 1.0), shift=(away, -away, 0.3))
    maps[cut:] = there @ maps[cut:]
    return maps


def offsets(clip):
    """Returns the offsets of all frames of a clip."""
    return np.stack([clip.offsets(frame) for frame in range(len(clip))])


def parts(poses, *cuts):
    """Splits poses at cuts."""
    return np.split(poses, cuts)


def test_cut_parts_are_clips(body):
    """A cut shows each part as a clip of its own."""
    poses = swing_poses()
    cut = offsets(thew.simulate(body, poses, FPS, restarts=[CUT], **SETTINGS))
    own = [offsets(thew.simulate(body, part, FPS, **SETTINGS)) for part in parts(poses, CUT)]
    np.testing.assert_array_equal(cut, np.concatenate(own))
    # Without it flesh is thrown by the way that nobody went.
    thrown = offsets(thew.simulate(body, poses, FPS, **SETTINGS))
    away = np.abs(thrown - cut).max(axis=(1, 2))
    assert away[CUT:].max() > 2 * np.abs(cut).max()
    assert not away[: CUT - 2].any()


def test_clip_extend_past_cut(body, tmp_path):
    """Clips are extended past cuts in parts and through files, with the same bits."""
    poses = swing_poses()
    whole = offsets(thew.simulate(body, poses, FPS, restarts=[CUT], **SETTINGS))
    for first, second in ((3, 11), (8, 10), (CUT, 17)):
        clip = thew.simulate(body, poses[:first], FPS, **SETTINGS)
        if first < CUT:
            clip.extend(poses[first:CUT])
        clip.extend(poses[CUT:second], restart=True)
        clip.save(tmp_path / "clip.thew")
        clip = thew.Clip.load(tmp_path / "clip.thew")
        clip.extend(poses[second:])
        np.testing.assert_array_equal(offsets(clip), whole, err_msg=f"{first} {second}")


def test_colliders_continue_past_cut(body):
    """The motion of colliders goes on past a cut."""
    poses = np.tile(np.eye(4), (12, 2, 1, 1))
    square, low = np.array([[-2, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]], float), -0.12
    moves = np.tile(np.eye(4), (12, 1, 1))
    moves[:, 2, 3] = low + 0.004 * np.arange(12)
    floor = thew.Surface(square, [[0, 1, 2], [0, 2, 3]])
    contact = thew.Contact(self_contact=False)

    def simulate_on_floor(poses, motion, **options):
        return thew.simulate(
            body, poses, FPS, contact=contact, colliders=[thew.Collider(floor, motion)], gravity=(0, 0, 0), **options
        )

    cut = simulate_on_floor(poses, moves, restarts=[7])
    own = [offsets(simulate_on_floor(*each)) for each in zip(parts(poses, 7), parts(moves, 7), strict=True)]
    assert len(cut.contacts(11)) > 0
    np.testing.assert_array_equal(offsets(cut), np.concatenate(own))


def test_scene_cut_restarts_all(body):
    """Bodies of a scene begin anew together at a cut."""
    poses = [swing_poses(14), swing_poses(14) + np.eye(4, k=3) * np.array([0, 0.5, 0, 0])[:, None]]
    clips = thew.simulate_scene([body, body], poses, FPS, restarts=[CUT])
    own = [
        thew.simulate_scene([body, body], list(each), FPS) for each in zip(*(parts(p, CUT) for p in poses), strict=True)
    ]
    for k, clip in enumerate(clips):
        np.testing.assert_array_equal(offsets(clip), np.concatenate([offsets(part[k]) for part in own]))
    begun = thew.simulate_scene([body, body], [p[:CUT] for p in poses], FPS)
    thew.extend_scene(begun, [p[CUT:] for p in poses], restart=True)
    for k, clip in enumerate(begun):
        np.testing.assert_array_equal(offsets(clip), offsets(clips[k]))


@pytest.mark.parametrize("restarts", [[0], [20], [5, 5], [7, 3], [-1], [1.5], "3", [None]])
def test_restarts_refuse_bad_cuts(body, restarts):
    """Cuts that part nothing are refused."""
    with pytest.raises((thew.InputError, TypeError), match=r"restarts|a whole number|integer|list"):
        thew.simulate(body, swing_poses(), FPS, restarts=restarts)


def test_cycle_refuses_cuts(body):
    """A cycle refuses cuts."""
    with pytest.raises(thew.InputError, match="cyclic"):
        thew.simulate(body, swing_poses(), FPS, restarts=[4], cyclic=True)


def test_shot_keeps_cuts(body, tmp_path):
    """A shot keeps its cuts through a file."""
    thew.Shot(body, swing_poses(), FPS, restarts=[4, CUT]).save(tmp_path / "shot.thew")
    assert thew.Shot.load(tmp_path / "shot.thew").restarts == [4, CUT]
