# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flesh that touches itself, measured on its posed surface by winding numbers alone."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shapes
import thew

FRAME = 1 / 24


def make_elbow(segments, rings, cells_across):
    """Builds an arm whose skin is fine enough to count what passes through it."""
    vertices, triangles = shapes.arm(segments=segments, rings=rings, radius=0.12)
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=cells_across)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


@pytest.fixture(scope="module")
def elbow():
    """Builds an arm that folds."""
    return make_elbow(26, 80, 12)


@pytest.fixture(scope="module")
def fine_elbow():
    """Builds the arm with a finer skin and lattice, for what is bent farthest."""
    return make_elbow(32, 100, 14)


def bent_simulation(body, degrees, contact=thew.Contact(), method="hyperelastic", joints=1.0, hold=8, **options):  # noqa: B008
    """Returns a simulation that was bent slowly and held."""
    simulation = thew.Simulation(body, method, gravity=(0, 0, 0), elastic_joints=joints, contact=contact, **options)
    simulation.reset(shapes.bend(0.0))
    for angle in [*np.arange(4.0, degrees, 4.0), *[degrees] * hold]:
        simulation.advance(shapes.bend(np.radians(angle)), FRAME)
    return simulation


def penetrating_vertices(vertices, triangles):
    """Returns the vertices that lie in other flesh: those that are inside even a little outside of themselves."""
    vertices = np.asarray(vertices, float)
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    normals = np.zeros_like(vertices)
    for i in range(3):
        np.add.at(normals, triangles[:, i], np.cross(b - a, c - a))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    step = 1e-4 * np.linalg.norm(np.ptp(vertices, axis=0))
    return np.flatnonzero(thew.Surface(vertices, triangles).winding_number(vertices + step * normals) > 0.5)


def test_elbow_folds_without_penetration(fine_elbow):
    """A folding elbow does not pass through itself, keeps its volume and only pushes."""
    # As the lattice has it; the default method shows its joints otherwise.
    triangles, whole = fine_elbow.surface.triangles, fine_elbow.surface.volume
    for degrees in (120, 148):
        free, touching = (bent_simulation(fine_elbow, degrees, contact, "warped") for contact in (None, thew.Contact()))
        through = [len(penetrating_vertices(s.positions(), triangles)) for s in (free, touching)]
        assert through[0] > 100 and through[1] <= 0.05 * through[0]
        assert free.inverted_cells() > 0 and touching.inverted_cells() == 0
        assert thew.Surface(touching.positions(), triangles).volume > 0.88 * whole
        contacts = touching.contacts()
        assert len(contacts) > 20 and contacts.gaps.min() > -2e-3 * fine_elbow.surface.size
        # Pushed, never pulled.
        assert (np.einsum("ij,ij->i", contacts.forces, contacts.normals) >= 0.0).all()
        assert len(free.contacts()) == 0


@pytest.mark.parametrize(("degrees", "joints"), [(120, 0.0), (148, 0.0), (148, 1.0)])
def test_contact_reduces_skinning_overlap(fine_elbow, degrees, joints):
    """Contact leaves little overlap where skinning alone passes through itself."""
    triangles, size = fine_elbow.surface.triangles, fine_elbow.surface.size
    free, touching = (
        bent_simulation(fine_elbow, degrees, contact, joints=joints) for contact in (None, thew.Contact())
    )
    through = [len(penetrating_vertices(s.positions(), triangles)) for s in (free, touching)]
    assert through[0] > 200 and through[1] < 0.2 * through[0]
    volumes = [thew.Surface(s.positions(), triangles).volume for s in (free, touching)]
    assert volumes[1] > volumes[0] and touching.inverted_cells() == 0
    # Far from the bend what is shown is as without.
    away = np.abs(fine_elbow.surface.vertices[:, 0] - 0.5) > 0.45
    assert np.abs((touching.offsets() - free.offsets())[away]).max() < 5e-3 * size


def test_contact_shown_smoothly(elbow):
    """Skin comes to lie against skin, and is parted from it, smoothly."""
    # Held at rest at each angle: what is shown depends on the pose alone, and as steadily as the skin itself.
    simulation = thew.Simulation(elbow, gravity=(0, 0, 0), elastic_joints=0.0, contact=thew.Contact())
    simulation.reset(shapes.bend(0.0))
    largest = []
    for angles in (np.radians(np.arange(60.0, 140.0, 4.0)), np.radians(np.arange(60.0, 140.0, 2.0))):
        shown = []
        simulation.reset(shapes.bend(angles[0]))
        for angle in angles:
            simulation.advance(shapes.bend(angle), FRAME)
            shown.append(simulation.offsets())
        largest.append(np.linalg.norm(np.diff(shown, axis=0), axis=2).max() / elbow.surface.size)
    assert largest[0] < 0.03 and largest[1] < 0.7 * largest[0]


def test_contact_free_motion_unchanged(arm):
    """A body that touches nothing moves by the same bits with contact and without."""
    free, touching = (thew.Simulation(arm.body, contact=contact) for contact in (None, thew.Contact()))
    for simulation in (free, touching):
        simulation.reset(shapes.bend(0.0))
    for i in range(12):
        for simulation in (free, touching):
            simulation.advance(shapes.bend(0.05 * i), FRAME)
        assert np.array_equal(free.lattice_positions(), touching.lattice_positions())
    assert len(touching.contacts()) == 0


def test_folding_without_contact_unchanged(elbow):
    """Flesh that folds where nothing can touch it moves by the same bits."""
    # Bent so far that cells come near inversion; it touches nothing that there is.
    floor = thew.Collider.plane((0, 0, -5), (0, 0, 1))
    sorts = (
        {},
        {"contact": thew.Contact(self_contact=False)},
        {"contact": thew.Contact(self_contact=False), "colliders": [floor]},
    )
    free, *others = (
        bent_simulation(elbow, 148, **{"contact": None, "hold": 0, "joints": 0.0, **sort}) for sort in sorts
    )
    assert free.inverted_cells() > 0
    for other in others:
        assert np.array_equal(free.lattice_positions(), other.lattice_positions())


def test_overlapping_sculpt_stays_still():
    """A sculpt that overlaps itself at rest stays still."""
    # A second skin inside the first, and a lip that is folded into the flesh beside it.
    outer, triangles = shapes.arm(segments=16, rings=40, radius=0.12)
    inner = 0.6 * (outer - [0.5, 0.0, 0.0]) + [0.5, 0.0, 0.0]
    lip = outer * [0.2, 0.5, 0.5] + [0.4, 0.0, 0.1]
    vertices = np.concatenate([outer, inner, lip])
    faces = np.concatenate([triangles + i * len(outer) for i in range(3)])
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, faces), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=12)
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)
    simulation = thew.Simulation(body, contact=thew.Contact())
    simulation.reset(shapes.bend(0.0))
    before = simulation.positions()
    for _ in range(12):
        simulation.advance(shapes.bend(0.0), FRAME)
    assert np.abs(simulation.positions() - before).max() < 1e-6 * surface.size
    assert len(simulation.contacts()) == 0


def test_state_during_contact(elbow):
    """A simulation restored during contact goes on with the same bits."""
    simulation = bent_simulation(elbow, 130)
    assert len(simulation.contacts()) > 0
    state = simulation.state()
    other = thew.Simulation(elbow, gravity=(0, 0, 0), contact=thew.Contact())
    other.restore(state)
    for degrees in (134, 138, 120, 100):
        for s in (simulation, other):
            s.advance(shapes.bend(np.radians(degrees)), FRAME)
        assert simulation.state() == other.state()
    with pytest.raises(thew.InputError, match="contacts"):
        thew.Simulation(elbow, gravity=(0, 0, 0)).restore(state)


def test_contact_thread_count():
    """The number of threads changes no bit of a contact."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import hashlib, numpy as np, shapes, thew\n"
        "v, t = shapes.arm(segments=16, rings=40, radius=0.12)\n"
        "w = shapes.arm_weights(v)\n"
        "s, k = thew.Surface(v, t), thew.Skeleton(*shapes.arm_bones())\n"
        "body = thew.Body(s, k, thew.Lattice.enclose(s, k, w, cells_across=12), thew.Material(), region_weights=w)\n"
        "sim = thew.Simulation(body, contact=thew.Contact())\n"
        "sim.reset(shapes.bend(0.0))\n"
        "for i in range(1, 16): sim.advance(shapes.bend(0.17 * i), 1 / 24)\n"
        "assert len(sim.contacts())\n"
        "print(hashlib.sha256(sim.state()).hexdigest())\n"
    )
    folder = Path(shapes.__file__).parent

    def digest(threads):
        env = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
        done = subprocess.run([sys.executable, "-c", code, folder], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    assert digest(1) == digest(3)


def test_parting_limbs_release(elbow):
    """Limbs that part are released and move as without contact."""
    touching, free = (bent_simulation(elbow, 136, contact) for contact in (thew.Contact(), None))
    assert len(touching.contacts()) > 0
    for simulation in (touching, free):
        for degrees in [*np.arange(132.0, 60.0, -4.0), *[60.0] * 24]:
            simulation.advance(shapes.bend(np.radians(degrees)), FRAME)
    assert len(touching.contacts()) == 0
    apart = np.linalg.norm(touching.positions() - free.positions(), axis=1).max()
    assert apart < 1e-3 * elbow.surface.size


def test_held_pose_quiet(elbow):
    """A pose that is held comes to rest."""
    simulation = bent_simulation(elbow, 140, hold=40)
    shown = []
    for _ in range(8):
        simulation.advance(shapes.bend(np.radians(140)), FRAME)
        shown.append(simulation.positions())
    assert np.abs(np.diff(shown, axis=0)).max() < 2e-4 * elbow.surface.size


def test_held_elbow_no_creep(elbow):
    """A held elbow does not creep: friction holds in every step."""
    # Friction takes hold where sweeps end: those that end early leave a slip in every step.
    simulation = bent_simulation(elbow, 135, hold=40)
    before = simulation.positions()
    for _ in range(12):
        simulation.advance(shapes.bend(np.radians(135)), FRAME)
    assert np.linalg.norm(simulation.positions() - before, axis=1).max() < 1e-5 * elbow.surface.size


def test_contact_rigid_invariant(elbow):
    """Contact is the same wherever the character stands and however it is turned."""
    straight = bent_simulation(elbow, 136).positions()
    place = shapes.turn_about([0.3, -0.5, 0.8], shift=(2.0, -1.0, 3.0))
    simulation = thew.Simulation(elbow, gravity=(0, 0, 0), contact=thew.Contact())
    simulation.reset(place @ shapes.bend(0.0))
    for angle in [*np.arange(4.0, 136.0, 4.0), *[136.0] * 8]:
        simulation.advance(place @ shapes.bend(np.radians(angle)), FRAME)
    expected = shapes.apply(place, np.asarray(straight, float))
    assert np.abs(simulation.positions() - expected).max() < 2e-3 * elbow.surface.size


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"friction": -0.1}, "friction must be zero or positive"),
        ({"friction": np.nan}, "friction"),
        ({"thickness": -1.0}, "thickness must be zero or positive"),
        ({"thickness": np.inf}, "thickness"),
        ({"compliance": 0.0}, "compliance must be between"),
        ({"regions": [-1, 0]}, "regions"),
        ({"regions": [0.5]}, "regions must be whole numbers, zero or positive, or a mask"),
        ({"regions": [np.nan]}, "regions must be"),
        ({"regions": [[1]]}, "regions"),
    ],
)
def test_contact_refuses_bad_options(options, sentence):
    """Bad options of a contact are refused with a sentence."""
    with pytest.raises(thew.InputError, match=sentence):
        thew.Contact(**options)


def test_simulation_refuses_unfit_contact(arm):
    """A contact that does not fit the body or the method is refused with a sentence."""
    with pytest.raises(thew.InputError, match="one number per vertex"):
        thew.Simulation(arm.body, contact=thew.Contact(regions=[1, 2, 3]))
    with pytest.raises(thew.InputError, match="more than half of the body's size"):
        thew.Simulation(arm.body, contact=thew.Contact(thickness=1.0))
    for method in ("nonlinear", "neohookean"):
        with pytest.raises(thew.InputError, match="does not support contact"):
            thew.Simulation(arm.body, method, contact=thew.Contact())


def test_contact_ignored_skin(elbow):
    """Skin in region 0 touches nothing."""
    nothing = thew.Contact(regions=np.zeros(len(elbow.surface.vertices), int))
    assert len(bent_simulation(elbow, 136, nothing, hold=1).contacts()) == 0
    assert repr(bent_simulation(elbow, 20, hold=1).contacts()) == "<thew.Contacts: 0 points, deepest 0.00 mm>"


def test_contact_regions_types(elbow):
    """Regions may be a mask, integers or whole floats."""
    rear = elbow.surface.vertices[:, 2] > 0.0
    given = [thew.Contact(regions=kind) for kind in (rear, rear.astype(int), rear.astype(np.float32), rear.tolist())]
    through = [bent_simulation(elbow, 120, contact, hold=1).positions() for contact in given]
    assert all(np.array_equal(through[0], other) for other in through[1:])
    assert not np.array_equal(through[0], bent_simulation(elbow, 120, hold=1).positions())


def fold(degrees, step=6.0, hold=2):
    """Returns poses that bend the elbow to an angle, hold it, and half straighten it."""
    angles = [*np.arange(0.0, degrees, step), *[degrees] * hold, *np.arange(degrees, degrees / 2, -step)]
    return np.stack([shapes.bend(np.radians(a)) for a in angles])


def test_clip_contact_matches_simulation(elbow):
    """A clip with contact folds as a simulation does, and its contact points lie on the shown skin."""
    poses = fold(132)
    clip = thew.simulate(elbow, poses, 24.0, gravity=(0, 0, 0), contact=thew.Contact())
    free = thew.simulate(elbow, poses, 24.0, gravity=(0, 0, 0))
    frame = int(np.argmax([len(clip.contacts(f)) for f in range(len(clip))]))
    contacts = clip.contacts(frame)
    assert len(contacts) > 20 and len(free.contacts(frame)) == 0 and len(clip.contacts(0)) == 0
    triangles = elbow.surface.triangles
    through = [len(penetrating_vertices(c.positions(frame), triangles)) for c in (free, clip)]
    assert through[0] > 100 and through[1] <= 0.1 * through[0]
    assert free.inverted_cells.max() > 0 == clip.inverted_cells.max()
    assert clip.held_cells.shape == (len(poses),) and clip.nbytes > free.nbytes
    # Points lie on the skin that is shown.
    shown = clip.positions(frame).astype(float)
    apart = np.linalg.norm(contacts.points - shown[contacts.vertices], axis=1)
    assert apart.max() < 0.2 * elbow.surface.size / 14


@pytest.mark.parametrize("cut", [3, 14, 22])
def test_clip_cut_during_contact(elbow, cut, tmp_path):
    """A clip cut during contact, saved and extended has the same bits."""
    poses = fold(126)
    settings = {"gravity": (0, 0, 0), "contact": thew.Contact(thickness=0.001, friction=0.5)}
    whole = thew.simulate(elbow, poses, 24.0, **settings)
    parts = thew.simulate(elbow, poses[:cut], 24.0, **settings)
    # Through a file as well.
    parts.save(tmp_path / "part")
    parts = thew.Clip.load(tmp_path / "part")
    parts.extend(poses[cut : cut + 2])
    parts.extend(poses[cut + 2 :])
    assert np.array_equal(np.asarray(whole), np.asarray(parts))
    assert sum(len(whole.contacts(f)) for f in range(len(whole))) > 20
    for f in range(len(whole)):
        a, b = whole.contacts(f), parts.contacts(f)
        assert np.array_equal(a.forces, b.forces) and np.array_equal(a.other_vertices, b.other_vertices)


def test_shot_file_keeps_contact(elbow, tmp_path):
    """A shot keeps its contact through a file."""
    regions = np.ones(len(elbow.surface.vertices), int)
    regions[0] = 0
    contact = thew.Contact(thickness=0.002, friction=0.1, regions=regions)
    shot = thew.Shot(elbow, fold(120), 24.0, gravity=(0, 0, 0), contact=contact)
    shot.save(tmp_path / "shot")
    made = thew.Shot.load(tmp_path / "shot").simulate()
    assert np.array_equal(np.asarray(made), np.asarray(shot.simulate()))
    assert sum(len(made.contacts(f)) for f in range(len(made))) > 0


def test_cycle_contact(elbow):
    """A cyclic clip with contact closes and touches in every round."""
    up = np.arange(60.0, 126.0, 8.0)
    poses = np.stack([shapes.bend(np.radians(a)) for a in [*up, *up[-2:0:-1]]])
    clip = thew.simulate(elbow, poses, 24.0, gravity=(0, 0, 0), cyclic=True, contact=thew.Contact())
    assert clip.loop_gap < 1e-2 * elbow.surface.size
    counts = [len(clip.contacts(f)) for f in range(len(clip))]
    assert max(counts) > 10 and min(counts) == 0
    f = int(np.argmax(counts))
    contacts, shown = clip.contacts(f), clip.positions(f).astype(float)
    assert np.linalg.norm(contacts.points - shown[contacts.vertices], axis=1).max() < 0.2 * elbow.surface.size / 14


@pytest.mark.parametrize("method", ["hyperelastic", "warped"])
def test_settle_without_overlap(elbow, method):
    """Flesh settles where it does not overlap, and stays there."""
    triangles, pose = elbow.surface.triangles, shapes.bend(np.radians(126.0))
    free, touching = (
        thew.Simulation(elbow, method, gravity=(0, 0, 0), contact=contact) for contact in (None, thew.Contact())
    )
    for simulation in (free, touching):
        simulation.reset(pose)
    through = [len(penetrating_vertices(s.positions(), triangles)) for s in (free, touching)]
    assert through[0] > 100 and through[1] <= 0.05 * through[0]
    assert free.inverted_cells() > 0 == touching.inverted_cells()
    # In balance: it stays there, whatever friction there is.
    settled = touching.positions()
    for _ in range(12):
        touching.advance(pose, FRAME)
    assert np.abs(touching.positions() - settled).max() < 1e-3 * elbow.surface.size
    # What does not touch settles by the same bits.
    for simulation in (free, touching):
        simulation.reset(shapes.bend(np.radians(60.0)))
    assert np.array_equal(free.lattice_positions(), touching.lattice_positions())
    # And whatever was before.
    touching.reset(pose)
    assert np.array_equal(touching.positions(), settled)


def test_equilibrium_contact_matches_settling(elbow):
    """A balance with contact is where a simulation settles, with frictionless forces."""
    pose = shapes.bend(np.radians(126.0))
    balance = thew.Equilibrium(elbow, "hyperelastic", contact=thew.Contact(friction=0.9))
    balance.set_pose(pose)
    q = balance.solve(gravity=(0, 0, 0))
    simulation = thew.Simulation(elbow, gravity=(0, 0, 0), contact=thew.Contact())
    simulation.reset(pose)
    places = elbow.lattice.vertices + q
    assert np.abs(places - simulation.lattice_positions()).max() < 1e-9
    assert len(balance.contacts()) == len(simulation.contacts()) > 10
    # Frictionless: along the normals.
    contacts = balance.contacts()
    across = np.cross(contacts.forces, contacts.normals)
    assert np.abs(across).max() <= 1e-9 * np.abs(contacts.forces).max()


def test_reset_failure_changes_nothing(elbow):
    """A reset that fails changes nothing."""
    simulation = thew.Simulation(elbow, gravity=(0, 0, 0), contact=thew.Contact())
    simulation.reset(shapes.bend(0.3))
    before = simulation.state()
    with pytest.raises(thew.InputError):
        simulation.reset(np.full((2, 4, 4), np.nan))
    assert simulation.state() == before


@pytest.mark.parametrize("method", ["neohookean", "nonlinear", "blended_printed"])
def test_methods_without_contact_refuse(elbow, method):
    """Methods without contact refuse it with a sentence."""
    with pytest.raises(thew.InputError, match="does not support contact"):
        thew.simulate(elbow, fold(30), 24.0, method=method, contact=thew.Contact())
    with pytest.raises(thew.InputError, match="one number per vertex"):
        thew.simulate(elbow, fold(30), 24.0, contact=thew.Contact(regions=[1, 2]))


def test_folds_cut_and_restored(elbow, tmp_path):
    """Folds have the same bits however a clip is cut and when a simulation is restored."""
    options = {"contact": thew.Contact(), "elastic_joints": 0.0}
    poses = np.array([shapes.bend(np.radians(a)) for a in [*range(96, 141, 9), 140, 120]])
    whole, part = (thew.simulate(elbow, some, 24, **options) for some in (poses, poses[:5]))
    part.save(tmp_path / "part.thew")
    part = thew.Clip.load(tmp_path / "part.thew")
    part.extend(poses[5:])
    assert np.array_equal(np.asarray(part), np.asarray(whole))
    first, second = (thew.Simulation(elbow, **options) for _ in range(2))
    first.reset(poses[0])
    for pose in poses[1:5]:
        first.advance(pose, FRAME)
    second.restore(first.state())
    for pose in poses[5:]:
        assert np.array_equal(first.positions(), second.positions())
        first.advance(pose, FRAME)
        second.advance(pose, FRAME)
    free = thew.simulate(elbow, poses, 24, elastic_joints=0.0)
    assert np.abs(np.asarray(free)[4] - np.asarray(whole)[4]).max() > 0.005 * elbow.surface.size
    shares = np.array([whole.folds(frame) for frame in range(len(whole))])
    assert shares.dtype == np.float32 and (shares >= 0.0).all() and (shares <= 1.0).all()
    assert shares[4].max() > 0.2 and not np.any([free.folds(frame) for frame in range(len(free))])


def thick_arm(material, **options):
    """Builds an arm of 0.12 m radius, and returns its body."""
    vertices, triangles = shapes.arm(segments=24, rings=60, radius=0.12)
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=12)
    return thew.Body(surface, skeleton, lattice, material, region_weights=weights, **options)


def pose_beside(y=0.0):
    """Returns the rest pose shifted along y."""
    pose = np.tile(np.eye(4), (2, 1, 1))
    pose[:, 1, 3] = y
    return pose


@pytest.mark.parametrize("depth", [0.01, 0.03])
def test_firm_flesh_contact_depth(depth):
    """Firm flesh is kept out of a floor as well as soft flesh, whether its map or its material is firm."""
    floor = thew.Collider.plane((0.0, 0.0, -0.12 + depth), (0.0, 0.0, 1.0))

    def overlap(flesh, young):
        body = thick_arm(thew.Material(young=young), flesh=np.full(2810, flesh))
        simulation = thew.Simulation(body, gravity=(0, 0, 0), colliders=[floor], elastic_joints=1.0)
        simulation.reset(pose_beside())
        for _ in range(24):
            simulation.advance(pose_beside(), FRAME)
        return max(0.0, -0.12 + depth - simulation.positions()[:, 2].min())

    # A floor leaves a twentieth of its depth, at each firmness: in cells it may bulge so far between its points.
    for flesh, young in ((1.0, 20e3), (0.3, 20e3), (0.1, 20e3), (1.0, 2e6)):
        assert overlap(flesh, young) < 0.06 * depth, (flesh, young)


def test_friction_no_creep():
    """An arm pressed onto a floor and led aside by less than it slides is held there, whatever the compliance of contacts."""
    floor, body = thew.Collider.plane((0, 0, -0.11), (0, 0, 1), friction=1.0), thick_arm(thew.Material())
    held = []
    for compliance in (0.03, 1e-3):
        contact = thew.Contact(self_contact=False, friction=1.0, compliance=compliance)
        simulation = thew.Simulation(body, gravity=(0, 0, 0), colliders=[floor], contact=contact)
        simulation.reset(pose_beside())

        def sideways_share(y, frames, simulation=simulation):
            for _ in range(frames):
                simulation.advance(pose_beside(y), FRAME)
            force = simulation.contacts().forces.sum(axis=0)
            return np.hypot(force[0], force[1]) / force[2]

        sideways_share(0.0, 6)
        for frame in range(1, 7):
            sideways_share(0.001 * frame, 1)
        first, last = sideways_share(0.006, 24), sideways_share(0.006, 72)
        assert 0.05 < first < 0.5
        assert abs(last / first - 1.0) < 0.01, compliance
        held.append(last)
    assert held[0] == pytest.approx(held[1], rel=0.02)
