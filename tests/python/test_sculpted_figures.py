# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of docs/rigs-from-shapes.md: a pose from features, an arm and a chest from sculpts, rigs carried to other builds. No Blender."""

import numpy as np
import pytest
import thew

from examples import elastic, persons, sculpted


@pytest.fixture(scope="module")
def made():
    """Builds the rig of the bent arm on a coarse skin."""
    return sculpted.sculpted_arm(sculpted.arm(0.0125, 14.0), scan_cell=0.01)


@pytest.fixture(scope="module")
def gero():
    """Builds the stout person with a coarse skin."""
    return sculpted.person(persons.STOUT, 16.0, 0.02)


def test_sculpts_are_closed(made):
    """A sculpt is a closed surface of its own, and the tense arm is thicker than the relaxed one."""
    vertices, triangles, _ = made.scan
    report = thew.Surface(vertices, triangles).report()
    assert report.closed and report.manifold and report.components == 1
    assert elastic.volume(vertices, triangles) > 1.02 * elastic.volume(made.arm.vertices, made.arm.triangles)


def test_pose_of_sculpt_is_found(made):
    """Figure 5: the features give the pose of the sculpt within a few degrees."""
    assert sculpted.turns_off(made.pose, made.true).max() < 6.0


def test_rig_closes_the_gap(made):
    """Figure 6: the rig takes the skin to the sculpt, and what is left is near what the lattice can show."""
    push = made.rig.forces(made.arm.body, 1.0)
    gaps = []
    for pushes in ((), (push,)):
        far = sculpted.apart(sculpted.balance(made.arm, made.pose, *pushes), *made.scan[:2])
        gaps.append(sculpted.root_mean_square(made.arm, far))
    assert gaps[1] < 0.2 * gaps[0]
    report = made.rig.report
    assert report.left < report.bound + 0.02 * report.start


def test_rig_fades_with_the_elbow(made):
    """Figure 7: the rig moves nothing at rest, and the skin moves more the farther the elbow is bent."""
    moved = []
    for degrees in (0.0, 35.0, 70.0, 105.0):
        pose = persons.maps(made.arm.figure, sculpted.bent(made.arm.figure, degrees))
        push = made.rig.forces(made.arm.body, made.control(degrees))
        moved.append(
            np.linalg.norm(sculpted.balance(made.arm, pose, push) - sculpted.balance(made.arm, pose), axis=1).max()
        )
    assert moved[0] < 1e-9 and np.all(np.diff(moved) > 0.002)


def test_two_sculpts_lead_the_arm(made):
    """Two rigs that the elbow leads one after the other hold both sculpts, and come near to those in between that they never saw."""
    arm, angles = made.arm, (30.0, sculpted.HALF_BENT, 82.0, sculpted.ELBOW)
    scans = {degrees: sculpted.arm_sculpt(arm, degrees, 0.01)[:2] for degrees in angles}
    half, whole = (thew.Surface(*scans[degrees]) for degrees in (sculpted.HALF_BENT, sculpted.ELBOW))
    twice = sculpted.twice_sculpted_arm(arm, half, whole)
    assert twice.controls(0.0) == (0.0, 0.0) and twice.controls(sculpted.HALF_BENT) == (1.0, 0.0)
    left = {}
    for degrees in angles:
        pose = persons.maps(arm.figure, sculpted.bent(arm.figure, degrees))
        one = made.rig.forces(arm.body, made.control(degrees))
        skins = [sculpted.balance(arm, pose, *push) for push in ((), (one,), (twice.push(degrees),))]
        left[degrees] = [sculpted.root_mean_square(arm, sculpted.apart(skin, *scans[degrees])) for skin in skins]
    assert all(both < 0.3 * alone for alone, _, both in left.values())
    assert all(left[degrees][2] < 0.2 * left[degrees][0] for degrees in (sculpted.HALF_BENT, sculpted.ELBOW))
    assert all(left[degrees][2] < 0.5 * left[degrees][1] for degrees in angles[:3])


def test_arm_carried_to_stout_person(made, gero):
    """Figure 8: on another build the same side of the upper arm swells, and other parts stay."""
    link = thew.Correspondence(
        made.arm.body, gero.body, bones=[(bone.name, bone.name) for bone in made.arm.figure.bones]
    )
    rig = made.rig.retarget(link)
    pose = persons.maps(gero.figure, persons.pose(gero.figure, sculpted.ELBOW))
    move = sculpted.balance(gero, pose, rig.forces(gero.body, 1.0)) - sculpted.balance(gero, pose)
    upper = gero.figure.bone("upperarm.L")
    along = (gero.vertices - upper.head) @ persons.ALONG / np.linalg.norm(np.subtract(upper.tail, upper.head))
    biceps = (np.abs(along - 0.55) < 0.15) & (sculpted.share_of(gero, ("upperarm.L",)) > 0.9)
    biceps &= (gero.vertices - upper.head) @ persons.INSIDE > 0.03
    swelling = (move[biceps] @ persons.INSIDE).mean()
    away = sculpted.share_of(gero, ("shoulder.L", "upperarm.L", "forearm.L", "hand.L")) < 0.01
    assert swelling > 0.008 and np.linalg.norm(move[away], axis=1).mean() < 0.1 * swelling


def test_chest_flex_carried(gero):
    """Figure 9: a chest flex and its templates lift another chest at the same places, alike on both sides."""
    target = sculpted.flexed_chest(gero, persons.STOUT)
    wish = np.linalg.norm(target - gero.vertices, axis=1)
    assert 0.01 < wish.max() < 0.05
    assert not wish[sculpted.share_of(gero, ("spine", "hips", "head", "thigh.L", "thigh.R")) > 0.9].max() > 1e-4
    rig = thew.fit_surface(gero.body, sculpted.at_rest(gero), target, gravity=sculpted.STILL)
    arno = sculpted.person(persons.ATHLETE, 16.0, 0.02)
    link = thew.Correspondence(gero.body, arno.body)
    assert link.bones == [(bone.name, bone.name) for bone in gero.figure.bones]
    front = (
        (np.abs(arno.vertices[:, 0]) < 0.15)
        & (arno.vertices[:, 1] < -0.05)
        & (np.abs(arno.vertices[:, 2] - 1.34) < 0.06)
    )
    for rigs in ([rig], sculpted.chest_template(gero, persons.STOUT, 0.02)):
        push = sum(one.retarget(link).forces(arno.body, 1.0) for one in rigs)
        move = sculpted.balance(arno, sculpted.at_rest(arno), push) - arno.vertices
        assert move[front, 1].mean() < -0.002
        sides = [move[front & (side * arno.vertices[:, 0] > 0.0), 1].mean() for side in (1.0, -1.0)]
        assert sides[0] == pytest.approx(sides[1], rel=0.2)


@pytest.mark.parametrize("along, area", [((1.0, 0.0), 0.75), ((0.0, -1.0), 0.25), ((1.0, 1.0), 0.96875)])
def test_cut_skin_ends_at_the_line(along, area):
    """A cut keeps the skin on one side of a line, its new vertices lie on that, and no triangle is turned over."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    level = corners[:, :2] @ along + (0.25 if min(along) < 0.0 else -0.25)
    part = sculpted.cut(np.array([[0, 1, 2], [0, 2, 3]]), level)
    a, b, c = np.moveaxis(part.of(corners)[part.triangles], 1, 0)
    doubled = np.cross(b - a, c - a)[:, 2]
    assert doubled.min() > 0.0 and doubled.sum() / 2.0 == pytest.approx(area)
    assert np.abs(part.of(level[:, None])[len(corners) :]).max() < 1e-12
