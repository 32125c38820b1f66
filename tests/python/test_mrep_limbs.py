# SPDX-License-Identifier: MIT OR Apache-2.0
"""thew.MRep along bones, and the flesh made of it: tubes, slabs, lattices of a limb and of the whole character."""

import glb
import numpy as np
import pytest
import thew
from shapes import turned_branch
from test_mrep import rotation, straight_tube, template


def limb(turn=((1, 0, 0), (0, 1, 0), (0, 0, 1)), scale=1.0):
    """Builds a straight arm of two bones inside a longer tube whose first third follows a body."""
    tube = straight_tube(13, 16, radius=0.25, length=3.0).boundary(2)
    p = tube.vertices
    share = np.clip((p[:, :1] - 0.9) / 0.2, 0, 1)
    elbow = np.clip((p[:, :1] - 1.9) / 0.2, 0, 1)
    weights = np.concatenate([1 - share, share * (1 - elbow), share * elbow], axis=1)
    place = lambda x: scale * np.asarray(x, float) @ np.transpose(turn)  # noqa: E731
    heads, tails = [[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[1, 0, 0], [2, 0, 0], [3, 0, 0]]
    skeleton = thew.Skeleton(["body", "upper", "lower"], [-1, 0, 1], place(heads), place(tails))
    return thew.Surface(place(p), tube.triangles), skeleton, weights


def test_tube_along_bones():
    """A tube along bones has its hubs on them and fits their skin."""
    surface, skeleton, weights = limb()
    tube = thew.MRep.from_skeleton(surface, skeleton, weights, ["lower", "upper"], atoms_per_bone=3)
    assert tube.kind == "tube" and tube.shape == (7, 8)
    np.testing.assert_allclose(tube.hubs, np.stack([np.linspace(1, 3, 7), np.zeros(7), np.zeros(7)], -1), atol=1e-12)
    np.testing.assert_allclose(tube.joints, [0, 0.5, 1], atol=1e-12)
    np.testing.assert_allclose(tube.radii, 0.25, rtol=0.02)
    np.testing.assert_allclose(tube.frames[0, :, 2], [0, 0, 1], atol=1e-9)
    counts = thew.MRep.chain_weights(skeleton, weights, ["upper", "lower"])
    assert counts.min() == 0 and counts.max() == 1
    fit = tube.fit(surface, held=np.arange(7), weights=counts)
    assert (fit.mrep.hubs == tube.hubs).all() and fit.stages["atoms"].mean < 5e-3 * surface.size
    turn = rotation([0.0, 0.0, 1.0])  # a straight chain rolls by what is up
    moved = thew.MRep.from_skeleton(*limb(turn, 0.5), ["upper", "lower"])
    np.testing.assert_allclose(moved.radii, 0.5 * tube.radii, rtol=1e-9)
    with pytest.raises(thew.InputError, match="no bone 'hand'"):
        thew.MRep.from_skeleton(surface, skeleton, weights, ["hand"])
    with pytest.raises(thew.MRepError, match="not a chain"):
        thew.MRep.from_skeleton(surface, skeleton, weights, ["body", "lower"])


def test_phi_origin_when_bent():
    """Around a limb φ begins alike, whether the limb is straight or bent."""
    surface, skeleton, weights = limb()
    straight_one = thew.MRep.from_skeleton(surface, skeleton, weights, ["upper", "lower"])

    # Bent forward (-y) at the elbow by half a radian, and lowered.
    def curve(x):
        x, angle = np.array(x, float), 0.5 * np.clip((np.asarray(x)[:, 0] - 1.8) / 0.4, 0, 1)
        far = np.maximum(x[:, 0] - 2.0, 0.0)
        x[:, 0], x[:, 1] = (
            x[:, 0] - far * (1 - np.cos(angle)) + np.sin(angle) * x[:, 1],
            np.cos(angle) * x[:, 1] - far * np.sin(angle),
        )
        return x @ rotation([0.0, 0.6, 0.0]).T

    joints = curve([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    lowered = thew.Skeleton(["body", "upper", "lower"], [-1, 0, 1], joints[:3], joints[1:])
    other = thew.MRep.from_skeleton(
        thew.Surface(curve(surface.vertices), surface.triangles), lowered, weights, ["upper", "lower"]
    )
    assert abs(straight_one.roll_to(other)) == pytest.approx(np.pi / 2, abs=0.1)
    for side in ([0.0, 0.0, 0.15], [0.0, -0.15, 0.0]):
        point = np.array([[1.5, 0.0, 0.0]]) + side
        there = straight_one.correspond(other, point)
        np.testing.assert_allclose(there, curve(point), atol=0.03)
        np.testing.assert_allclose(other.correspond(straight_one, there), point, atol=1e-9)


def test_torso_follows_bones():
    """A torso lies in the skin that follows its bones."""
    surface, skeleton, weights = limb()
    torso = thew.MRep.from_skeleton(surface, skeleton, weights, ["upper"], template="torso")
    assert torso.shape == (5, 7) and torso.legality() > 0.03
    assert ((torso.hubs[..., 0] > 0.8) & (torso.hubs[..., 0] < 2.2)).all()


def fit_tube(surface, skeleton, weights, bones):
    """Returns the tube along bones, its hubs on them, fitted to their skin."""
    tube = thew.MRep.from_skeleton(surface, skeleton, weights, bones)
    counts = thew.MRep.chain_weights(skeleton, weights, bones)
    return tube.fit(surface, held=np.arange(tube.shape[0]), weights=counts, stages=["atoms"])


def arm():
    """Builds a straight arm of two bones by itself, and its lattice along them."""
    tube = straight_tube(9, 12, radius=0.12, length=0.8)
    surface = tube.boundary(2)
    x = surface.vertices[:, :1]
    bend = np.clip((x - 0.36) / 0.08, 0, 1)
    weights = np.concatenate([1 - bend, bend], axis=1)
    skeleton = thew.Skeleton(["upper", "lower"], [-1, 0], [[0, 0, 0], [0.4, 0, 0]], [[0.4, 0, 0], [0.8, 0, 0]])
    model = thew.MRep.from_skeleton(surface, skeleton, weights, ["upper", "lower"])
    fit = model.fit(surface, held=np.arange(model.shape[0]))
    return surface, skeleton, weights, fit.mrep.lattice(skeleton, layers=2, covers=surface)


def test_limb_lattice_valid():
    """A lattice along a limb passes its check, with the bones on its edges."""
    surface, skeleton, _, lattice = arm()
    assert lattice.check(surface, skeleton) == []
    assert list(lattice.used_bones) == [0, 1]
    assert {len(c) for c in lattice.cells} == {4, 6, 8}


THIGHS = {
    "mh_male_heavy": ["LeftUpLeg"],
    "m2m_human": ["thigh_l"],
    "sintel_m2m": ["thigh_l"],
    "Fox": ["b_RightLeg01_019", "b_RightLeg02_020"],
    "m2m_horse": ["back_leg_upper_l", "back_leg_lower_l"],
}


@pytest.mark.parametrize("name", sorted(THIGHS))
def test_thigh_lattice_covers_skin(name):
    """A lattice of a thigh alone covers its skin."""
    # The skin that mostly follows it ends in a rim that reaches into the trunk.
    c = glb.character(name)
    mine = c.weights[:, [c.names.index(bone) for bone in THIGHS[name]]].sum(axis=1) > 0.5
    triangles = c.triangles[mine[c.triangles].all(axis=1)]
    used, numbered = np.unique(triangles, return_inverse=True)
    patch = thew.Surface(c.vertices[used], numbered.reshape(-1, 3))
    for model in (
        thew.MRep.from_skeleton(c.surface, c.skeleton, c.weights, THIGHS[name]),
        fit_tube(c.surface, c.skeleton, c.weights, THIGHS[name]).mrep,
    ):
        lattice = model.lattice(c.skeleton, layers=2, covers=patch)
        assert lattice.check(patch, c.skeleton) == []


def whole_arm():
    """Builds the body with an arm of `limb`, and a lattice around all of it with prisms along the arm."""
    surface, skeleton, weights = limb()
    tube = fit_tube(surface, skeleton, weights, ["upper", "lower"]).mrep
    lattice = thew.MRep.join([tube], names=["arm"]).enclose(surface, skeleton, weights, cells_across=9)
    return surface, skeleton, weights, lattice


METHODS = [
    "hyperelastic",
    "blended",
    "linear",
    "linearised",
    "modal",
    "neohookean",
    "nonlinear",
    "warped",
    "warped_vertex",
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("made", [arm, whole_arm])
def test_limb_lattice_bends(made, method):
    """Flesh in such a lattice bends by every method without losing its volume."""
    surface, skeleton, weights, lattice = made()
    body = thew.Body(surface, skeleton, lattice, thew.Material(), weights)
    assert abs(body.volume / surface.volume - 1) < 0.03
    last = len(skeleton.names) - 1
    joint = skeleton.heads[last]
    pose = np.stack([np.eye(4)] * (last + 1))
    simulation = thew.Simulation(body, method)
    simulation.reset(pose)
    steps = 20
    for k in range(1, steps + 1):
        turn = rotation([0.0, np.radians(46) * k / steps, 0.0])
        now = pose.copy()
        now[last, :3, :3], now[last, :3, 3] = turn, joint - turn @ joint
        simulation.advance(now, 1 / 48)
    shape = simulation.positions()
    assert np.isfinite(shape).all()
    bent = thew.Surface(shape.astype(float), surface.triangles)
    if method != "linear":  # which swells where it turns
        assert 0.9 < bent.volume / surface.volume < 1.1
    if method in ("hyperelastic", "neohookean", "nonlinear"):
        assert simulation.inverted_cells() == 0
        x = simulation.lattice_positions()[: len(lattice.vertices)]
        for cell in lattice.cells:
            corners = x[np.asarray(cell)]
            sides = corners[[1, 2, 4 if len(cell) == 8 else 3]] - corners[0]
            assert np.linalg.det(sides) > 0


def test_enclose_pours_limb(tmp_path):
    """A limb is poured into the lattice of the whole, which survives arrays and files."""
    surface, skeleton, weights, lattice = whole_arm()
    assert {len(c) for c in lattice.cells} == {4, 6} and not any("left" in note for note in lattice.notes)
    assert lattice.check(surface, skeleton) == [] and list(lattice.used_bones) == [0, 1, 2]
    # Given back as arrays, or read from a file, it makes the same body.
    bones = lattice.bone_of_vertex
    given = thew.Lattice(
        lattice.vertices,
        lattice.cells,
        lattice.used_bones,
        lattice.bone_edges,
        lattice.tip_bones,
        bones,
        lattice.copies,
    )
    one, other = (thew.Body(surface, skeleton, each, thew.Material(), weights) for each in (lattice, given))
    one.save(tmp_path / "body.thew")
    q = np.random.default_rng(0).standard_normal((one.node_count, 3)) * 1e-3
    for again in (other, thew.Body.load(tmp_path / "body.thew")):
        assert again.volume == one.volume
        np.testing.assert_array_equal(again.shown(q), one.shown(q))
        points = surface.vertices[::7] * 0.9
        np.testing.assert_array_equal(again.lattice.embed(points)[0], lattice.embed(points)[0])
    with pytest.raises(thew.InputError, match=r"skin.weights"):
        thew.MRep.join([straight_tube()], names=["a"]).enclose(surface, skeleton, weights[:-1])
    plain = straight_tube().enclose(surface, skeleton, weights, cells_across=9)
    assert any("is left to tetrahedra" in note for note in plain.notes)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        template().enclose(surface, skeleton, weights, progress=stop)


@pytest.mark.parametrize(
    ("name", "chains", "poured"),
    [
        ("m2m_human", [["upperarm_l", "lowerarm_l"], ["upperarm_r", "lowerarm_r"], ["thigh_l", "calf_l"]], 3),
        (
            "Fox",
            [
                ["b_Tail01_012", "b_Tail02_013", "b_Tail03_014"],
                ["b_RightUpperArm_06", "b_RightForeArm_07", "b_RightHand_08"],
            ],
            2,
        ),
        ("m2m_spider", [["leg_b_1_l", "leg_b_2_l", "leg_b_3_l"], ["leg_c_1_l", "leg_c_2_l", "leg_c_3_l"]], 1),
    ],
)
def test_enclose_pours_real_limbs(name, chains, poured):
    """Limbs of real characters are poured into the lattices of the whole."""
    character = glb.character(name)
    skeleton = character.skeleton.refit_tails(character.surface, character.weights)
    tubes = [fit_tube(character.surface, skeleton, character.weights, bones).mrep for bones in chains]
    model = thew.MRep.join(tubes, names=[bones[0] for bones in chains])
    lattice = model.enclose(character.surface, skeleton, character.weights)
    left = [note for note in lattice.notes if "is left to tetrahedra" in note]
    assert len(chains) - len(left) >= poured, left
    assert lattice.check(character.surface, skeleton) == []
    assert sum(len(cell) == 6 for cell in lattice.cells) >= 8 * poured
    # The last bone of glTF files is a stub: the tube's end beyond it follows it as the lattice's virtual tip.
    names = [skeleton.names[b] for b in lattice.tip_bones]
    stubs = [bones[-1] for bones in chains if name == "Fox"]
    assert [names.count(bone) for bone in stubs] == [1] * len(stubs)
    body = thew.Body(character.surface, skeleton, lattice, thew.Material(), character.weights)
    assert abs(body.volume / character.surface.volume - 1) < 0.03


@pytest.mark.parametrize(
    ("name", "bones"),
    [
        (
            "m2m_horse",
            ["front_scapula_l", "front_humerus_l", "front_leg_upper_l", "front_leg_lower_l", "front_leg_ankle_l"],
        ),
        ("sintel_m2m", ["thigh_l", "calf_l", "foot_l", "ball_l"]),
        ("kaykit_manny", ["upperleg.l", "lowerleg.l", "foot.l", "toes.l"]),
        ("Fox", ["b_Tail01_012", "b_Tail02_013", "b_Tail03_014"]),
        ("q_bull", ["FrontShoulder.L", "FrontUpperLeg.L", "FrontLowerLeg.L"]),
    ],
)
def test_fit_limbs_with_stubs(name, bones):
    """Limbs with sharp corners and stubs at their ends fit their skin."""
    character = glb.character(name)
    skeleton = character.skeleton.refit_tails(character.surface, character.weights)
    tube = thew.MRep.from_skeleton(character.surface, skeleton, character.weights, bones)
    assert len(tube.joints) == len(bones) + 1 and tube.legality() > 0.03
    counts = thew.MRep.chain_weights(skeleton, character.weights, bones)
    fit = tube.fit(character.surface, held=np.arange(tube.shape[0]), weights=counts, stages=["atoms"])
    assert fit.report.mean < 5e-3 * character.surface.size
    # Beyond the stub, too, skin has coordinates.
    own = counts > 0.5
    found = fit.mrep.coordinates(character.surface.vertices[own])
    assert np.isfinite(found[:, 0]).mean() > 0.95


def test_fit_limb_without_dice():
    """A limb's fit has no Dice, and a flat sheet is refused as no model."""
    surface, skeleton, weights = limb()
    counts = thew.MRep.chain_weights(skeleton, weights, ["upper", "lower"])
    tube = thew.MRep.from_skeleton(surface, skeleton, weights, ["upper", "lower"])
    part = tube.fit(surface, weights=counts, stages=["atoms"]).report
    assert np.isnan(part.dice) and "Dice" not in str(part)
    whole = tube.fit(surface, weights=np.full(len(surface.vertices), 0.5), stages=["atoms"]).report
    assert whole.dice > 0.5 and "Dice" in str(whole)
    x, y = np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9), indexing="ij")
    at = np.arange(81).reshape(9, 9)
    quads = np.stack([at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]], axis=-1).reshape(-1, 4)
    for turn in (np.eye(3), rotation([0.4, -1.1, 2.0])):
        flat = np.stack([x, y, 0 * x], axis=-1).reshape(-1, 3) @ turn.T
        sheet = thew.Surface(flat, np.concatenate([quads[:, :3], quads[:, [0, 2, 3]]]))
        with pytest.raises(thew.MRepError, match="flat where it counts"):
            thew.MRep.template("torso").fit(sheet)


def test_correspond_mirrored():
    """Between left and right limbs, points above stay above."""
    character = glb.character("m2m_human")
    skeleton = character.skeleton.refit_tails(character.surface, character.weights)
    for pair in (("upperarm_", "lowerarm_"), ("thigh_", "calf_")):
        arms = []
        for side in "lr":
            bones = [name + side for name in pair]
            arms.append(fit_tube(character.surface, skeleton, character.weights, bones).mrep)
        left, right = arms
        places = [[0.3, 0.0, turn, tau] for turn in np.linspace(0, 2 * np.pi, 8, endpoint=False) for tau in (0.0, 1.0)]
        points = left.points(places)
        there = left.correspond(right, points, mirrored=True)
        mirror = points * [-1.0, 1.0, 1.0]
        ours, theirs = mirror[1::2] - mirror[::2], there[1::2] - there[::2]
        unit = lambda v: v / np.linalg.norm(v, axis=1, keepdims=True)  # noqa: E731
        assert ((unit(ours) * unit(theirs)).sum(axis=1) > 0.9).all(), pair
        plain = left.correspond(right, points)
        assert ((unit(ours) * unit(plain[1::2] - plain[::2])).sum(axis=1) < 0.0).any()
        np.testing.assert_allclose(right.correspond(left, there, mirrored=True), points, atol=1e-9)


@pytest.fixture(scope="module")
def hand():
    """Builds a person, bones in place, and a lattice with prisms along four fingers of the left hand."""
    c = glb.character("m2m_human")
    skeleton = c.skeleton.refit_tails(c.surface, c.weights)
    tubes = []
    fingers = ("thumb", "index", "middle", "ring")
    for finger in fingers:
        bones = [f"{finger}_0{i}_l" for i in (1, 2, 3)]
        tubes.append(fit_tube(c.surface, skeleton, c.weights, bones).mrep)
    lattice = thew.MRep.join(tubes, names=fingers).enclose(c.surface, skeleton, c.weights)
    assert lattice.check(c.surface, skeleton) == [] and {len(cell) for cell in lattice.cells} == {4, 6}
    return c, skeleton, lattice, thew.Body(c.surface, skeleton, lattice, thew.Material(), c.weights)


def bend_finger(hand, first, degrees):
    """Returns the simulation after a finger has been bent at one of its bones by the default method."""
    _, skeleton, _, body = hand
    simulation = thew.Simulation(body, gravity=[0, 0, 0])
    simulation.reset(np.stack([np.eye(4)] * len(skeleton.names)))
    for k in range(1, 25):
        turn = [0.0, -np.radians(degrees) * min(1, k / 20), 0.0]
        simulation.advance(turned_branch(skeleton, skeleton.names.index(first), turn), 1 / 24)
    return simulation


def test_bent_finger_leaves_thumb(hand):
    """A finger that bends leaves the thumb where it is."""
    c, skeleton, *_ = hand
    first = skeleton.names.index("index_01_l")
    moved = np.linalg.norm(bend_finger(hand, "index_01_l", 46).positions() - c.surface.vertices, axis=1)
    assert moved[c.weights[:, first] > 0.9].max() > 0.005
    tip = c.weights[:, skeleton.names.index("thumb_03_l")] > 0.9
    assert tip.any() and moved[tip].max() < 1e-3


def prism_corners(lattice, x):
    """Returns the volumes spanned by the edges at each corner of all prisms, [n, 6]."""
    prisms = x[np.array([cell for cell in lattice.cells if len(cell) == 6])]
    after, before, across = [1, 2, 0, 5, 3, 4], [2, 0, 1, 4, 5, 3], [3, 4, 5, 0, 1, 2]
    return np.linalg.det(np.stack([prisms[:, to] - prisms for to in (after, before, across)], axis=2))


@pytest.mark.parametrize("finger", ["index", "middle", "ring"])
def test_finger_prisms_not_inverted(hand, finger):
    """No prism is turned over where a finger bends back."""
    # The limb begins shortly before that joint; cells that were slices there turned over.
    lattice = hand[2]
    bent = bend_finger(hand, f"{finger}_02_l", -46).lattice_positions()[: len(lattice.vertices)]
    assert (prism_corners(lattice, lattice.vertices) > 0).all() and (prism_corners(lattice, bent) > 0).all()
