# SPDX-License-Identifier: MIT OR Apache-2.0
"""Our own demo characters, as numbers: closed skins, honest weights, rigid poses, feet that stand."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from assets import characters

EVERY = characters.FIGURES | characters.SHOWPIECES


@pytest.fixture(scope="module", params=sorted(EVERY))
def figure(request):
    """Returns one of the figures."""
    return EVERY[request.param]()


@pytest.fixture(scope="module")
def skin(figure):
    """Builds the figure's skin."""
    return characters.skin(figure)


def test_skin_edges_paired(skin):
    """Every edge of a skin has one face on each side."""
    triangles = skin.triangles()
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    there, count = np.unique(edges, axis=0, return_counts=True)
    assert count.max() == 1
    assert np.array_equal(there, np.unique(edges[:, ::-1], axis=0))


def test_skin_faces_outwards(skin):
    """The faces of a skin look outwards."""
    corners = skin.vertices[skin.triangles()]
    assert np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) > 0.0


def test_skin_weights_valid(figure, skin):
    """Skin weights are shares of four bones at most and sum to one."""
    assert skin.weights.shape == (len(skin.vertices), len(figure.bones))
    assert skin.weights.min() >= 0.0
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1.0, atol=1e-12)
    assert (skin.weights > 0.0).sum(axis=1).max() <= 4


def test_skin_weights_symmetric(figure, skin):
    """Both sides of a character have the same vertices, weights and colours, claws and teeth included."""
    mirror = {bone.name: bone.name.replace(".L", ".?").replace(".R", ".L").replace(".?", ".R") for bone in figure.bones}
    names = [bone.name for bone in figure.bones]
    columns = [names.index(mirror[name]) for name in names]
    distance, other = cKDTree(skin.vertices).query(skin.vertices * [-1.0, 1.0, 1.0])
    assert distance.max() < 1e-6
    assert np.array_equal(other[other], np.arange(len(other)))
    np.testing.assert_allclose(skin.weights, skin.weights[other][:, columns], atol=1e-9)
    np.testing.assert_allclose(skin.colours, skin.colours[other], atol=1e-9)


# Showpieces take several times as long and are made by the same functions.
@pytest.mark.parametrize("name", sorted(characters.FIGURES))
def test_skin_deterministic(name):
    """Building a skin twice gives the same bits."""
    skin, again = (characters.skin(characters.FIGURES[name]()) for _ in range(2))
    assert np.array_equal(again.vertices, skin.vertices)
    assert np.array_equal(again.weights, skin.weights)


def test_poses_rigid_and_connected(figure):
    """The poses of a clip are rigid, and bones stay joined to their parents."""
    names = [bone.name for bone in figure.bones]
    for clip in figure.clips:
        maps = figure.maps(clip)
        turns = maps[..., :3, :3]
        np.testing.assert_allclose(turns @ turns.swapaxes(-1, -2), np.broadcast_to(np.eye(3), turns.shape), atol=1e-12)
        for bone in figure.bones:
            if bone.parent:
                head = np.array([*bone.head, 1.0])
                own, parent = maps[:, names.index(bone.name)] @ head, maps[:, names.index(bone.parent)] @ head
                assert np.abs(own - parent).max() < 2e-3  # a leg at full stretch gives way by a hair


def test_feet_planted(figure):
    """At every moment of a gait one foot at least stands still, and no foot goes below the ground."""
    names = [bone.name for bone in figure.bones]
    feet = [name for name in names if name.startswith("toes")] or [
        name for name in names if name.startswith(("foot", "paw"))
    ]
    rest = np.array([figure.bone(name).head[2] for name in feet])
    for clip in set(figure.clips) - {"jump"}:
        motion = figure.clips[clip]
        times = np.arange(0.0, motion.frames / characters.FPS, 1.0 / 240.0)
        poses = [motion.pose_at(figure, time) for time in times]
        paths = np.array([[(pose.map(name) @ [*figure.bone(name).head, 1.0])[:3] for name in feet] for pose in poses])
        assert (paths[:, :, 2] - rest).min() > -5e-3
        steps = np.linalg.norm(np.diff(paths, axis=0), axis=2)
        assert steps.min(axis=1).max() < 5e-4


def test_clips_accelerate(figure):
    """Every clip accelerates enough to shake flesh."""
    for clip in figure.clips:
        root = figure.maps(clip)[:, 0] @ np.array([*figure.bones[0].head, 1.0])
        acceleration = np.diff(root[:, 2], n=2) * characters.FPS**2
        assert np.abs(acceleration).max() > 2.0


def test_soles_on_ground(figure, skin):
    """The soles of a character touch the ground at rest, and no pose that stands sinks into it."""
    # Soft unions of parts swell by up to `softness` times the logarithm of their number: Bodo's soles lie 7 mm too low.
    assert abs(skin.vertices[:, 2].min()) < 7e-3
    soles = skin.vertices[:, 2] < 0.2
    points, weights = np.c_[skin.vertices, np.ones(len(skin.vertices))][soles], skin.weights[soles]
    for clip in set(figure.clips) - {"jump"}:
        heights = np.einsum("nb,fbj,nj->fn", weights, figure.maps(clip)[:, :, 2], points, optimize=True)
        assert heights.min() > skin.vertices[:, 2].min() - 5e-3
