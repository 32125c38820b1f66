# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hand's tools compute without Blender: frames, picking, guides, names of bones, keys of presets."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import part

ADDON = Path(__file__).resolve().parents[2] / "blender_addon"
sys.path.insert(0, str(ADDON))
bone_names, guides = (importlib.import_module(f"logic.{name}") for name in ("bone_names", "guides"))
RANDOM = np.random.default_rng(4)


@pytest.fixture(scope="module")
def picking_module(addon):
    """Returns the module, which asks the core that comes with the extension."""
    return part("logic.picking")


def rotation(axis, angle) -> np.ndarray:
    """Returns the rotation about a vector, [3, 3]."""
    x, y, z = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross


def ball(rings: int = 24, sides: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Builds a sphere of radius 1 whose faces look outward."""
    up = np.linspace(0.0, np.pi, rings + 1)[1:-1]
    around = 2.0 * np.pi * np.arange(sides) / sides
    grid = np.stack(
        [
            np.outer(np.sin(up), np.cos(around)),
            np.outer(np.sin(up), np.sin(around)),
            np.outer(np.cos(up), 1.0 + 0 * around),
        ]
    )
    vertices = [*grid.reshape(3, -1).T, (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)]
    top, bottom, triangles = len(vertices) - 2, len(vertices) - 1, []
    for j in range(sides):
        k = (j + 1) % sides
        triangles += [(top, j, k), (bottom, (rings - 2) * sides + k, (rings - 2) * sides + j)]
        for i in range(rings - 2):
            a, b, c, d = i * sides + j, i * sides + k, (i + 1) * sides + j, (i + 1) * sides + k
            triangles += [(a, c, d), (a, d, b)]
    return np.array(vertices), np.array(triangles)


# frames ---------------------------------------------------------------------------------------------------------------


def test_carried_by_agreeing_bones():
    """A frame is carried rigidly by bones that agree, and stays where no bone carries it."""
    turn = np.eye(4)
    turn[:3, :3], turn[:3, 3] = rotation((1.0, 2.0, 3.0), 1.2), (0.3, -0.2, 0.9)
    frame = np.eye(4)
    frame[:3, 3] = (0.1, 0.2, 0.3)
    maps = np.array([turn, turn, np.eye(4)])
    np.testing.assert_allclose(guides.carried_frame(frame, np.array([0.4, 0.6, 0.0]), maps), turn @ frame, atol=1e-12)
    np.testing.assert_allclose(guides.carried_frame(frame, np.zeros(3), maps), frame, atol=1e-12)


def test_carried_by_disagreeing_bones():
    """A carried frame stays rigid between bones that disagree."""
    maps = np.tile(np.eye(4), (2, 1, 1))
    maps[1, :3, :3] = rotation((0.0, 1.0, 0.2), 2.9)
    carried = guides.carried_frame(np.eye(4), np.array([0.45, 0.55]), maps)
    np.testing.assert_allclose(carried[:3, :3] @ carried[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(carried[:3, :3]) > 0.0


def test_ridden_follows_triangle():
    """A frame turns and moves with its triangle as if it were nailed to it."""
    rest, turn, frame = RANDOM.normal(size=(3, 3)), np.eye(4), np.eye(4)
    turn[:3, :3], turn[:3, 3] = rotation((1.0, -2.0, 0.3), 2.5), (4.0, 5.0, 6.0)
    frame[:3, :3], frame[:3, 3] = rotation((0.3, 0.2, 1.0), 0.7), RANDOM.normal(size=3)
    shares = np.array([0.2, 0.5, 0.3])
    ridden = guides.ridden_frame(frame, shares, rest, rest @ turn[:3, :3].T + turn[:3, 3])
    np.testing.assert_allclose(ridden, turn @ frame, atol=1e-12)


# picking --------------------------------------------------------------------------------------------------------------


def test_ray_hits_near_side(picking_module):
    """A ray hits the near side of a ball, and misses it when it points away."""
    vertices, triangles = ball()
    picker = picking_module.Picker(vertices, triangles)
    for direction in RANDOM.normal(size=(40, 3)):
        direction /= np.linalg.norm(direction)
        hit = picker.ray(-3.0 * direction, direction)
        assert hit.distance == pytest.approx(2.0, abs=0.02)
        np.testing.assert_allclose(hit.point_on(vertices, triangles), hit.point, atol=1e-12)
        np.testing.assert_allclose(np.cross(hit.point + 3.0 * direction, direction), 0.0, atol=1e-9)
        assert picker.ray(3.0 * direction, direction) is None
        assert picker.normal(hit.face) @ hit.point > 0.9


def test_ray_hits_small_triangles(picking_module):
    """A ray hits triangles whose squared size is below the rounding of its own."""
    vertices, triangles = ball(8, 10)
    picker = picking_module.Picker(1e-8 * vertices, triangles)
    for direction in RANDOM.normal(size=(40, 3)):
        direction /= np.linalg.norm(direction)
        assert picker.ray(-direction, direction).distance == pytest.approx(1.0, abs=1e-7)


def test_rays_match_single_rays(picking_module):
    """Rays from one point hit as the same rays one by one."""
    picker, origin = picking_module.Picker(*ball()), np.array([0.1, -0.2, 0.3])
    directions = RANDOM.normal(size=(20, 3))
    for hit, direction in zip(picker.rays(origin, directions, 0.9), directions, strict=True):
        single = picker.ray(origin, direction, 0.9)
        assert (hit is None) == (single is None)
        if hit is not None:
            assert (hit.face, hit.distance) == (single.face, single.distance) and hit.distance > 0.9


def test_nearest_is_closest(picking_module):
    """The nearest point is nearer than points sown over every triangle."""
    vertices, triangles = ball(8, 10)
    picker = picking_module.Picker(vertices, triangles)
    shares = RANDOM.dirichlet(np.ones(3), size=200)
    sown = np.einsum("si,tij->tsj", shares, vertices[triangles]).reshape(-1, 3)
    for point in RANDOM.normal(size=(40, 3)):
        hit = picker.nearest(point)
        assert np.isclose(hit.barycentric.sum(), 1.0) and hit.barycentric.min() >= 0.0
        assert hit.distance == pytest.approx(np.linalg.norm(hit.point - point), rel=1e-12)
        away = np.linalg.norm(sown - point, axis=1).min()
        assert away - 0.2 < hit.distance <= away + 1e-12


def test_nearest_on_degenerate_triangle(picking_module):
    """The nearest point is found on triangles without area, which are lines and points."""
    vertices = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [5.0, 5.0, 5.0]])
    hit = picking_module.Picker(vertices, np.array([[0, 1, 2], [3, 3, 3]])).nearest(np.array([1.25, 1.0, 0.0]))
    np.testing.assert_allclose(hit.point, [1.25, 0.0, 0.0], atol=1e-12)
    assert picking_module.Picker(vertices, np.array([[3, 3, 3]])).nearest(np.zeros(3)).distance == pytest.approx(
        75**0.5
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_thickness_and_girth_of_ball(picking_module, scale):
    """The thickness and girth of a ball are its diameter and radius, up to the given limit."""
    vertices, triangles = ball()
    picker = picking_module.Picker(scale * vertices, triangles)
    top = scale * np.array([0.0, 0.0, 1.0])
    assert picker.thickness(top, -top, 10.0 * scale) == pytest.approx(2.0 * scale, rel=0.15)
    assert picker.thickness(top, -top, 0.5 * scale) == pytest.approx(0.5 * scale)
    assert picker.girth(np.zeros(3), top, 10.0 * scale) == pytest.approx(scale, rel=0.02)
    assert picker.girth(9.0 * top, top, 3.0 * scale) == 3.0 * scale


# guides ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bone", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.1, 1.0, 0.1), (0.0, -1.0, 0.0), (1.0, 2.0, -3.0)]
)
def test_bone_place_round_trip(bone):
    """The coordinates of a point at a bone lead back to the point."""
    head, tail = np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]) + np.array(bone)
    axis = (tail - head) / np.linalg.norm(tail - head)
    for point in RANDOM.normal(size=(20, 3)):
        along, angle, distance = guides.bone_coordinates(point, head, tail)
        out = rotation(axis, angle) @ guides.zero_direction(axis)
        np.testing.assert_allclose(head + along * (tail - head) + distance * out, point, atol=1e-9)
        assert distance >= 0.0


def test_bone_place_zero_length():
    """A bone without length gives finite coordinates."""
    assert np.isfinite(guides.bone_coordinates(np.ones(3), np.zeros(3), np.zeros(3))).all()


def test_facing_frame_rigid():
    """A facing frame is rigid and looks the given way."""
    for towards, right in RANDOM.normal(size=(20, 2, 3)):
        frame = guides.facing_frame(np.ones(3), towards, right)
        np.testing.assert_allclose(frame[:3, :3] @ frame[:3, :3].T, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame[:3, :3]) > 0.0 and frame[:3, 2] @ towards > 0.0 and frame[:3, 0] @ right > 0.0
    np.testing.assert_allclose(guides.facing_frame(np.ones(3), right, right)[:3, 2] @ right, np.linalg.norm(right))


def test_unposed_directions():
    """Directions go back to rest with their triangle."""
    rest = RANDOM.normal(size=(3, 3))
    turn = rotation((3.0, -1.0, 0.5), 2.0)
    directions = RANDOM.normal(size=(2, 3))
    np.testing.assert_allclose(
        guides.unpose_directions(directions @ turn.T, rest @ turn.T + 7.0, rest), directions, atol=1e-12
    )


# names ----------------------------------------------------------------------------------------------------------------

RIGS = {
    "blender": ["spine", "chest", "neck", "head", "upper_arm.L", "forearm.L", "upper_arm.R", "forearm.R"],
    "mixamo": [
        "mixamorig:Hips", "mixamorig:Spine", "mixamorig:Spine1", "mixamorig:Spine2", "mixamorig:Neck",
        "mixamorig:LeftArm", "mixamorig:LeftForeArm", "mixamorig:RightArm", "mixamorig:RightForeArm",
    ],
    "rigify": [
        "DEF-spine", "DEF-spine.001", "DEF-spine.002", "DEF-spine.003", "DEF-spine.004", "DEF-spine.005", "DEF-spine.006",
        "DEF-upper_arm.L", "DEF-upper_arm.L.001", "DEF-forearm.L", "DEF-upper_arm.R", "DEF-upper_arm.R.001", "DEF-forearm.R",
    ],
    "unreal": [
        "pelvis", "spine_01", "spine_02", "spine_03", "neck_01", "clavicle_l", "upperarm_l", "lowerarm_l", "upperarm_r",
        "lowerarm_r",
    ],
    "makehuman": [
        "spine03", "spine02", "spine01", "neck01", "neck02", "upperarm01.L", "upperarm02.L", "lowerarm01.L",
        "upperarm01.R", "upperarm02.R", "lowerarm01.R",
    ],
    "max": ["Bip01 Spine", "Bip01 Spine1", "Bip01 Neck", "Bip01 L UpperArm", "Bip01 L Forearm", "Bip01 R UpperArm"],
    "vroid": ["J_Bip_C_Spine", "J_Bip_C_Chest", "J_Bip_C_UpperChest", "J_Bip_C_Neck", "J_Bip_L_UpperArm", "J_Bip_R_UpperArm"],
}  # fmt: skip
EXPECTED = {
    "blender": ("chest", "neck", "upper_arm.L", "upper_arm.R"),
    "mixamo": ("mixamorig:Spine2", "mixamorig:Neck", "mixamorig:LeftArm", "mixamorig:RightArm"),
    "rigify": ("DEF-spine.003", "DEF-spine.004", "DEF-upper_arm.L", "DEF-upper_arm.R"),
    "unreal": ("spine_03", "neck_01", "upperarm_l", "upperarm_r"),
    "makehuman": ("spine01", "neck01", "upperarm01.L", "upperarm01.R"),
    "max": ("Bip01 Spine1", "Bip01 Neck", "Bip01 L UpperArm", "Bip01 R UpperArm"),
    "vroid": ("J_Bip_C_UpperChest", "J_Bip_C_Neck", "J_Bip_L_UpperArm", "J_Bip_R_UpperArm"),
}


@pytest.mark.parametrize("rig", sorted(RIGS))
def test_bone_names_found(rig):
    """The chest, the neck and the upper arms are found by the names of their bones."""
    names = RIGS[rig]
    parents = [-1 if i == 0 else i - 1 for i in range(len(names))]
    chest, neck, left, right = EXPECTED[rig]
    assert bone_names.find(names, bone_names.CHEST, "", parents) == chest
    assert bone_names.find(names, bone_names.NECK, "", parents) == neck
    assert bone_names.find_pair(names, bone_names.UPPER_ARM, parents) == [("L", left), ("R", right)]


def test_bone_names_not_found():
    """Names that say nothing of these roles find no bone."""
    names = ["Bone", "Bone.001", "wing_1_l", "Tail5", ""]
    for role in (bone_names.CHEST, bone_names.NECK):
        assert bone_names.find(names, role) is None
    assert bone_names.find_pair(names, bone_names.UPPER_ARM) == []
