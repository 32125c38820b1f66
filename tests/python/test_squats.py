# SPDX-License-Identifier: MIT OR Apache-2.0
"""Deep squats of real characters at the extension's defaults: contact removes the overlap of the skin."""

import numpy as np
import pytest
import shapes
import thew
from glb import character

from demo.look.recording import Recording
from demo.look.simulating import Character

FPS, DOWN, HELD = 24.0, 30, 12
"""Frames in which hips and knees bend, and in which they are held."""
DEEPEST = np.radians(110.0)
LEGS = {
    "mh_male_heavy": (("LeftUpLeg", "LeftLeg", "LeftFoot"), ("RightUpLeg", "RightLeg", "RightFoot")),
    "sintel_m2m": (("thigh_l", "calf_l", "foot_l"), ("thigh_r", "calf_r", "foot_r")),
}
#: Cells of the grid that volumes are counted on, along the longest side.
GRID = 80


def squat_pose(found, legs, part):
    """Returns a pose with hips and knees bent by a part of the deepest angle, the left ankle at its height."""
    bones = found.skeleton
    maps = np.tile(np.eye(4), (len(found.names), 1, 1))
    for thigh, shin, foot in ([found.names.index(name) for name in leg] for leg in legs):
        ahead = np.sign(bones.tails[foot][1] - bones.heads[foot][1])
        forth = shapes.turn_about([ahead * DEEPEST * part, 0.0, 0.0], bones.heads[thigh])
        knee = shapes.apply(forth, bones.heads[shin])
        back = shapes.turn_about([-ahead * DEEPEST * part, 0.0, 0.0], knee) @ forth
        for bone in range(len(maps)):
            if is_on(bones.parents, bone, shin):
                maps[bone] = back
            elif is_on(bones.parents, bone, thigh):
                maps[bone] = forth
    ankle = bones.heads[foot]
    down = np.eye(4)
    down[1:3, 3] = (ankle - shapes.apply(maps[foot], ankle))[1:]
    return down @ maps


def is_on(parents, bone, above):
    """Returns whether a bone is another one or descends from it."""
    while bone not in (-1, above):
        bone = parents[bone]
    return bone == above


def doubled_volume(points, triangles):
    """Returns the volume that a surface covers twice or more, in its unit cubed."""
    low, high = points.min(axis=0), points.max(axis=0)
    step = (high - low).max() / GRID
    along = [np.arange(a + step / 2, b, step) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, 3)
    winding = thew.Surface(np.ascontiguousarray(points), triangles).winding_number(grid)
    return np.count_nonzero(winding > 1.5) * step**3


@pytest.mark.parametrize("name", sorted(LEGS))
def test_squat_overlap_removed(name):
    """Contact leaves almost none of the volume that the skin of a squat covers twice."""
    found = character(name)
    bones = found.skeleton
    made = Character(
        Recording(
            name, name, found.vertices, found.triangles, np.zeros((0, 2), np.int32), found.names, bones.parents, bones.heads,
            bones.tails, found.weights, FPS,
        )
    )  # fmt: skip
    part = np.minimum(np.arange(DOWN + HELD + 1) / DOWN, 1.0)
    poses = np.array([squat_pose(found, LEGS[name], p * p * (3.0 - 2.0 * p)) for p in part])
    clip = thew.simulate(made.body, poses, FPS, contact=thew.Contact(), **made.motion)
    rest = np.concatenate([found.vertices, np.ones((len(found.vertices), 1))], axis=1)
    plain = np.einsum("vb,bij,vj->vi", found.weights, poses[-2], rest)[:, :3]
    own, whole = doubled_volume(found.vertices, found.triangles), made.surface.volume
    of_skin, left = (
        (doubled_volume(p, found.triangles) - own) / whole for p in (plain, plain + clip.offsets(DOWN + HELD - 1))
    )
    assert of_skin > 0.01 and left < 0.002, (of_skin, left)
