# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flesh against planes and meshes: forces against those that hold the same shape, friction, sides, motion, bad input."""

import numpy as np
import pytest
import shapes
import thew

FRAME = 1 / 24
FLOOR = -0.11
SQUARE = np.array([[-3, -3, FLOOR], [3, -3, FLOOR], [3, 3, FLOOR], [-3, 3, FLOOR]], float)
SPLIT = np.array([[0, 1, 2], [0, 2, 3]])
CUBE = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
FACES = np.array(
    [
        [0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4],
        [2, 6, 7], [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 7, 5],
    ]
)  # fmt: skip
#: A block whose top is the floor.
BLOCK = CUBE * [6, 6, 1] + [-3, -3, FLOOR - 1]


def mesh(vertices, triangles, **options):
    """Builds a collider of a mesh."""
    return thew.Collider(thew.Surface(vertices, triangles), **options)


FLOORS = {
    "plane": lambda: thew.Collider.plane((0, 0, FLOOR), (0, 0, 5)),
    "block": lambda: mesh(BLOCK, FACES),
    "block inside out": lambda: mesh(BLOCK, FACES[:, ::-1]),
    "block without its bottom": lambda: mesh(BLOCK, FACES[2:]),
    "block twice": lambda: mesh(np.concatenate([BLOCK, BLOCK]), np.concatenate([FACES, FACES + 8])),
    "sheet": lambda: mesh(SQUARE, SPLIT),
    "sheet turned over": lambda: mesh(SQUARE, SPLIT[:, ::-1]),
}


@pytest.fixture(scope="module")
def limb():
    """Builds an arm of 0.12 m radius, and returns its body."""
    vertices, triangles = shapes.arm(segments=24, rings=60, radius=0.12)
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=12)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


def pose_at(x=0.0, y=0.0, z=0.0):
    """Returns the rest pose shifted."""
    pose = shapes.bend(0.0)
    pose[:, :3, 3] += (x, y, z)
    return pose


def rigid_map(x=0.0, y=0.0, z=0.0, angle=0.0):
    """Returns a rigid map: a turn about z, then a shift."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, z], [0, 0, 0, 1.0]])


def simulation_with(body, collider, method="hyperelastic", **options):
    """Returns a simulation at rest with one collider."""
    simulation = thew.Simulation(body, method, gravity=(0, 0, 0), colliders=[collider], **options)
    simulation.reset(pose_at())
    return simulation


@pytest.mark.parametrize("kind", FLOORS)
@pytest.mark.parametrize("method", ["hyperelastic", "warped"])
def test_floor_carries_flesh(limb, kind, method):
    """A floor of any kind carries the flesh that rests on it: its forces are those that hold the same shape."""
    balance = thew.Equilibrium(limb, method, colliders=[FLOORS[kind]()])
    q = balance.solve(gravity=(0, 0, 0))
    contacts = balance.contacts()
    assert len(contacts) > 50 and contacts.gaps.min() > -1e-3 * limb.surface.size
    assert limb.surface.vertices[:, 2].min() < FLOOR - 0.005 < balance.positions()[:, 2].min()
    # What holds the flesh in that shape, found without any contact, is what contacts push the free nodes with.
    held = thew.equilibrium_forces(limb, pose_at(), q, gravity=(0, 0, 0), method=method)
    indices, shares = (of[contacts.vertices] for of in limb.lattice.embed_surface(limb.surface))
    pushed = np.zeros_like(held)
    np.add.at(pushed, np.maximum(indices, 0), shares[..., None] * contacts.forces[:, None])
    pushed[~held.any(axis=1)] = 0.0
    assert pushed[:, 2].sum() > 10.0
    assert np.abs(held - pushed).max() < 5e-3 * np.abs(pushed).max()
    assert abs((held - pushed).sum(axis=0)).max() < 5e-3 * pushed[:, 2].sum()
    assert (contacts.other_bodies == 1).all() and (contacts.bodies == 0).all()
    assert np.abs(contacts.normals - [0, 0, 1]).max() < 1e-9


@pytest.mark.parametrize("kind", ["plane", "block", "sheet"])
@pytest.mark.parametrize(("flesh", "floor", "ratio"), [(0.3, None, 0.3), (0.4, 0.1, 0.2), (0.5, 0.0, 0.0)])
def test_sliding_friction_coefficient(limb, kind, flesh, floor, ratio):
    """Sliding flesh is held back by the coefficient of friction times the normal force."""
    made = FLOORS[kind]()
    collider = (
        thew.Collider.plane((0, 0, FLOOR), (0, 0, 1), friction=floor)
        if made.surface is None
        else thew.Collider(made.surface, friction=floor)
    )
    simulation = simulation_with(limb, collider, contact=thew.Contact(friction=flesh))
    for i in range(1, 25):
        simulation.advance(pose_at(y=0.015 * i), FRAME)
    x, y, z = simulation.contacts().forces.sum(axis=0)
    assert z > 10.0 and abs(np.hypot(x, y) / z - ratio) < 0.005
    assert y <= 1e-9 * z


def test_moving_collider_drags_flesh(limb):
    """A moving collider drags flesh along by friction."""
    entries = 30
    runs = np.stack([rigid_map(y=0.02 * i) for i in range(entries)])
    still = simulation_with(limb, mesh(BLOCK, FACES))
    dragged = simulation_with(limb, mesh(BLOCK, FACES, motion=runs))
    for _ in range(20):
        for simulation in (still, dragged):
            simulation.advance(pose_at(), FRAME)
    force = dragged.contacts().forces.sum(axis=0)
    assert abs(np.hypot(*force[:2]) / force[2] - 0.3) < 0.005 and force[1] > 0.0
    low = limb.surface.vertices[:, 2] < -0.1
    ahead = dragged.positions()[low, 1].mean() - still.positions()[low, 1].mean()
    assert ahead > 1e-3 * limb.surface.size


def test_rigid_motion_maps_and_vertices(limb):
    """A rigid motion given as maps and as vertices gives the same result."""
    maps = np.stack([rigid_map(z=0.002 * i) for i in range(12)])
    places = np.einsum("fij,nj->fni", maps[:, :3, :3], BLOCK) + maps[:, None, :3, 3]
    carried, deforming = (simulation_with(limb, mesh(BLOCK, FACES, motion=motion)) for motion in (maps, places))
    for _ in range(10):
        for simulation in (carried, deforming):
            simulation.advance(pose_at(), FRAME)
    assert np.abs(carried.positions() - deforming.positions()).max() < 1e-6 * limb.surface.size
    # Pressed up by as much as the floor came up.
    soft = np.abs(limb.surface.vertices[:, 0] - 0.5) < 0.4
    assert abs(carried.positions()[soft, 2].min() - (FLOOR + 0.020)) < 1e-3 * limb.surface.size


def test_colliders_rotation_invariant(limb):
    """When character and colliders are turned, the motion turns with them."""
    turn = rigid_map(angle=0.7)
    turn[:3, :3] = turn[:3, :3] @ np.array([[1, 0, 0], [0, np.cos(0.4), -np.sin(0.4)], [0, np.sin(0.4), np.cos(0.4)]])
    turn[:3, 3] = 0.3, -0.2, 0.5
    plain = simulation_with(limb, mesh(BLOCK, FACES))
    turned = thew.Simulation(limb, gravity=(0, 0, 0), colliders=[mesh(BLOCK @ turn[:3, :3].T + turn[:3, 3], FACES)])
    turned.reset(turn @ pose_at())
    for i in range(1, 8):
        plain.advance(pose_at(y=0.01 * i), FRAME)
        turned.advance(turn @ pose_at(y=0.01 * i), FRAME)
    back = (turned.positions() - turn[:3, 3]) @ turn[:3, :3]
    assert np.abs(back - plain.positions()).max() < 1e-5 * limb.surface.size


def test_sheet_keeps_side(limb):
    """A sheet keeps flesh on its side, even flesh that comes quickly."""
    for side in (1.0, -1.0):
        simulation = thew.Simulation(limb, gravity=(0, 0, 0), colliders=[mesh(SQUARE - [0, 0, FLOOR], SPLIT)])
        simulation.reset(pose_at(z=0.3 * side))
        for i in range(1, 9):
            simulation.advance(pose_at(z=(0.3 - 0.025 * i) * side), FRAME)
        contacts = simulation.contacts()
        assert len(contacts) > 20
        assert (contacts.normals[:, 2] * side > 0.99).all()
        inner = np.abs(limb.surface.vertices[:, 0] - 0.5) < 0.5
        assert (simulation.positions()[inner, 2] * side).min() > -2e-3 * limb.surface.size


def test_deep_start_recovers_slowly(limb):
    """Flesh that starts deep inside a collider comes out slowly, without inverted cells."""
    deep = mesh(BLOCK + [0, 0, 0.06], FACES)
    simulation = thew.Simulation(limb, gravity=(0, 0, 0), colliders=[deep])
    simulation.reset(pose_at(), settled=False)
    before, size = simulation.positions().astype(float), limb.surface.size
    for _ in range(24):
        simulation.advance(pose_at(), FRAME)
        now = simulation.positions().astype(float)
        assert np.isfinite(now).all()
        # Half a size a second, and what swings on by itself.
        assert np.abs(now - before).max() < 1.5 * FRAME * size
        before = now
    assert simulation.inverted_cells() == 0


def test_clip_with_colliders_cut(limb, tmp_path):
    """A clip with colliders has the same bits however it is cut, saved and extended."""
    poses = np.stack([pose_at(y=0.01 * i) for i in range(13)])
    bumps = np.stack([BLOCK + [0, 0, 0.004 * np.sin(0.5 * i)] for i in range(13)])
    colliders = [mesh(BLOCK, FACES, motion=bumps, friction=0.6), mesh(SQUARE + [0, 0, 0.225], SPLIT)]
    settings = {"gravity": (0, 0, 0), "contact": thew.Contact(), "colliders": colliders}
    whole = thew.simulate(limb, poses, 24.0, **settings)
    parts = thew.simulate(limb, poses[:9], 24.0, **settings)
    parts.save(tmp_path / "part")
    parts = thew.Clip.load(tmp_path / "part")
    parts.extend(poses[9:])
    assert np.array_equal(np.asarray(whole), np.asarray(parts))
    assert {1, 2} <= set(whole.contacts(8).other_bodies)
    shot = thew.Shot(limb, poses, 24.0, **settings)
    shot.save(tmp_path / "shot")
    assert np.array_equal(np.asarray(thew.Shot.load(tmp_path / "shot").simulate()), np.asarray(whole))


def test_state_with_colliders(limb):
    """A simulation restored among colliders goes on with the same bits."""
    runs = np.stack([rigid_map(y=0.02 * i) for i in range(30)])
    one, other = (simulation_with(limb, mesh(BLOCK, FACES, motion=runs)) for _ in range(2))
    for _ in range(5):
        one.advance(pose_at(), FRAME)
    other.restore(one.state())
    for _ in range(5):
        for simulation in (one, other):
            simulation.advance(pose_at(), FRAME)
        assert one.state() == other.state()


def test_far_collider_changes_nothing(limb):
    """A collider that is far away changes no bit."""
    poses = np.stack([pose_at(y=0.02 * i) for i in range(8)])
    far = mesh(BLOCK - [0, 0, 2], FACES)
    free = thew.simulate(limb, poses, 24.0)
    assert np.array_equal(np.asarray(free), np.asarray(thew.simulate(limb, poses, 24.0, colliders=[far])))


def test_collider_refuses_bad_input(limb):
    """Bad colliders are refused with a sentence; meshes that cross themselves are survived."""
    with pytest.raises(thew.InputError, match="normal"):
        thew.Collider.plane((0, 0, 0), (0, 0, 0))
    with pytest.raises(thew.InputError, match="finite"):
        thew.Collider.plane((0, 0, np.nan), (0, 0, 1))
    for options in ({"friction": -1.0}, {"thickness": -0.1}, {"friction": np.inf}):
        with pytest.raises(thew.InputError, match="collider's"):
            mesh(SQUARE, SPLIT, **options)
    for motion, words in (
        (np.zeros((0, 4, 4)), "one entry per pose"),
        (np.full((1, 4, 4), np.nan), "finite"),
        (np.zeros((1, 4, 4)), "affine"),
        (np.zeros((2, 5, 3)), "needs a position for each vertex, 4, but has 5"),
        (np.zeros((2, 4, 5)), "expected an array of shape"),
    ):
        with pytest.raises(thew.InputError, match=words):
            mesh(SQUARE, SPLIT, motion=motion)
    short = mesh(SQUARE, SPLIT, motion=np.stack([np.eye(4)] * 3))
    with pytest.raises(thew.InputError, match=r"collider 1: .* 5, but has 3"):
        thew.simulate(limb, np.stack([pose_at()] * 5), 24.0, colliders=[FLOORS["plane"](), short])
    with pytest.raises(thew.InputError, match=r"colliders\[0\]"):
        thew.Simulation(limb, colliders=["floor"])
    # A mesh that crosses itself and one that is flat.
    crossing = np.concatenate([BLOCK, BLOCK + [0.5, 0.5, 0.5]])
    simulation = simulation_with(limb, mesh(crossing, np.concatenate([FACES, FACES + 8])))
    for _ in range(3):
        simulation.advance(pose_at(), FRAME)
    assert np.isfinite(simulation.positions()).all()
