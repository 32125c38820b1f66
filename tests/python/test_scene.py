# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bodies that touch each other, measured on their posed surfaces alone."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shapes
import thew
from thew.__main__ import main

FRAME = 1 / 24
STILL = (0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def ball():
    """Builds flesh around a short bone in the middle of a ball of 0.2 m."""
    surface = thew.Surface(*shapes.ball())
    skeleton = thew.Skeleton(["core"], [-1], [[0.0, -0.02, 0.0]], [[0.0, 0.02, 0.0]])
    weights = np.ones((len(surface.vertices), 1))
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=8)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


def held_ball():
    """Builds the ball with a lattice that its bone holds but for a cap on top."""
    surface = thew.Surface(*shapes.ball())
    skeleton = thew.Skeleton(["core"], [-1], [[0.0, -0.02, 0.0]], [[0.0, 0.02, 0.0]])
    weights = np.ones((len(surface.vertices), 1))
    made = thew.Lattice.enclose(surface, skeleton, weights, cells_across=6)
    bones = np.where(made.vertices[:, 2] > 0.15, -1, 0)
    lattice = thew.Lattice(
        made.vertices, made.cells, made.used_bones, made.bone_edges, made.tip_bones, bones, made.copies
    )
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


def pose_at(*place):
    """Returns the pose of a ball at a place."""
    return shapes.turn_about(np.zeros(3), shift=place)[None]


def second_ball_x(t):
    """Returns the x of the second ball, t from 0 to 1: it comes from 0.05 m away, is pressed 0.08 m in, and goes."""
    return 0.45 - 0.13 * np.sin(np.pi * t)


def posed_surface(scene, body, of):
    """Returns the posed surface of a body of the scene."""
    return thew.Surface(scene.positions(of).astype(float), body.surface.triangles)


def overlap_depth(scene, body):
    """Returns the largest depth of either of two bodies in the other, metres."""
    surfaces = [posed_surface(scene, body, of) for of in (0, 1)]
    deep = [0.0]
    for one, other in (surfaces, surfaces[::-1]):
        inside = one.vertices[other.winding_number(one.vertices) > 0.5]
        if len(inside):
            deep.append(np.linalg.norm(other.closest_point(inside)[0] - inside, axis=1).max())
    return max(deep)


@pytest.mark.parametrize("method", ["hyperelastic", "warped"])
def test_scene_pressed_balls_balance(ball, method):
    """Two pressed balls push each other with equal forces and lie on each other without overlap."""
    size = ball.surface.size
    for gap in (0.38, 0.34, 0.30):
        scene = thew.Scene([ball, ball], contact=thew.Contact(), gravity=STILL, method=method)
        scene.reset([pose_at(0, 0, 0), pose_at(gap, 0, 0)])
        contacts = scene.contacts()
        forces = [contacts.forces[contacts.bodies == of].sum(0) for of in (0, 1)]
        assert np.linalg.norm(forces[0] + forces[1]) <= 1e-9 * np.linalg.norm(forces[0])
        # Pressed apart along the line between their middles.
        assert forces[1][0] > 10.0 and np.linalg.norm(forces[1][1:]) < 0.05 * forces[1][0]
        assert overlap_depth(scene, ball) <= 1e-3 * size
        for of, place in enumerate((pose_at(0, 0, 0), pose_at(gap, 0, 0))):
            assert scene.inverted_cells(of) == 0
            # Of free lattice vertices contact carries what their shape needs to be held.
            q = scene.lattice_positions(of) - ball.lattice.vertices
            needed = thew.equilibrium_forces(ball, place, q, gravity=STILL, method=method)
            pushes = scene.contact_forces(of)
            free = np.linalg.norm(pushes, axis=1) > 0.0
            assert np.linalg.norm((needed - pushes)[free].sum(0)) < 0.005 * np.linalg.norm(pushes.sum(0))


def test_scene_contacts_symmetric(ball):
    """Every contact between two bodies is listed by both of them."""
    scene = thew.Scene([ball, ball], contact=thew.Contact(), gravity=STILL)
    scene.reset([pose_at(0, 0, 0), pose_at(0.36, 0, 0)])
    contacts = scene.contacts()
    told = {
        (b, v, o, p): f
        for b, v, o, p, f in zip(
            contacts.bodies,
            contacts.vertices,
            contacts.other_bodies,
            contacts.other_vertices,
            contacts.forces,
            strict=True,
        )
    }
    assert len(told) > 20 and {b for b, *_ in told} == {0, 1}
    for (b, v, o, p), force in told.items():
        # Some vertices of both meet as a contact of each: one tells of itself, the other of the first.
        assert (o, p, b, v) in told
        assert o != b and np.isfinite(force).all()
    for of in (0, 1):
        mine = contacts.bodies == of
        assert (np.einsum("ij,ij->i", contacts.forces, contacts.normals)[mine] >= 0.0).all()


def test_scene_meet_and_part(ball):
    """Balls that meet lie on each other, and let go once they part."""
    scene = thew.Scene([ball, ball], contact=thew.Contact(), gravity=STILL)
    scene.reset([pose_at(0, 0, 0), pose_at(second_ball_x(0.0), 0, 0)])
    touched = 0
    for t in np.linspace(0.0, 1.0, 24):
        scene.advance([pose_at(0, 0, 0), pose_at(second_ball_x(t), 0, 0)], FRAME)
        contacts = scene.contacts()
        touched += len(contacts) > 0
        forces = [contacts.forces[contacts.bodies == of].sum(0) for of in (0, 1)]
        assert np.linalg.norm(forces[0] + forces[1]) <= 1e-9 * max(np.linalg.norm(forces[0]), 1.0)
        assert overlap_depth(scene, ball) <= 1e-3 * ball.surface.size
    assert 8 < touched < 24 and len(scene.contacts()) == 0


def test_scene_friction_mean(ball):
    """Friction between bodies is the mean of both coefficients and bounds sliding forces."""

    def ratios(first, second):
        scene = thew.Scene([ball, ball], contact=[thew.Contact(friction=f) for f in (first, second)], gravity=STILL)
        scene.reset([pose_at(0, 0, 0), pose_at(0.34, 0, 0)])
        for i in range(1, 13):
            scene.advance([pose_at(0, 0, 0), pose_at(0.34, 0.006 * i, 0)], FRAME)
        contacts = scene.contacts()
        along = np.einsum("ij,ij->i", contacts.forces, contacts.normals)
        across = np.linalg.norm(contacts.forces - along[:, None] * contacts.normals, axis=1)
        return across[along > 1e-3 * along.max()] / along[along > 1e-3 * along.max()]

    for first, second in ((0.1, 0.4), (0.4, 0.1)):
        assert ratios(first, second).max() == pytest.approx(0.2, abs=1e-6)
    assert ratios(0.0, 0.5).max() < 1e-9


def test_scene_of_one_body(arm):
    """A scene of a single body moves by the same bits as its simulation."""
    scene = thew.Scene([arm.body], contact=thew.Contact(), elastic_joints=0.3)
    simulation = thew.Simulation(arm.body, contact=thew.Contact(), elastic_joints=0.3)
    for start in (0.0, 2.3):
        scene.reset([shapes.bend(start)])
        simulation.reset(shapes.bend(start))
        for i in range(8):
            pose = shapes.bend(2.2 + 0.04 * i)
            scene.advance([pose], FRAME)
            simulation.advance(pose, FRAME)
            assert np.array_equal(scene.lattice_positions(0), simulation.lattice_positions())
            assert np.array_equal(scene.contacts().forces, simulation.contacts().forces)
    assert len(simulation.contacts()) > 0


def test_scene_distant_bodies(arm, ball):
    """Bodies that never meet move as if alone."""
    scene = thew.Scene([arm.body, ball], contact=thew.Contact())
    alone = [thew.Simulation(body, contact=thew.Contact()) for body in (arm.body, ball)]
    starts = [shapes.bend(0.0), pose_at(0, 9, 0)]
    scene.reset(starts)
    for simulation, start in zip(alone, starts, strict=True):
        simulation.reset(start)
    for i in range(6):
        poses = [shapes.bend(0.1 * i), pose_at(0.02 * i, 9, 0)]
        scene.advance(poses, FRAME)
        for of, simulation in enumerate(alone):
            simulation.advance(poses[of], FRAME)
            assert np.array_equal(scene.positions(of), simulation.positions())
            assert np.array_equal(scene.lattice_velocities(of), simulation.lattice_velocities())
    assert len(scene.contacts()) == 0


def test_scene_order_of_bodies(ball):
    """The order of the bodies hardly matters."""
    places = []
    for order in ((0, 1), (1, 0)):
        scene = thew.Scene([ball, ball], contact=thew.Contact(), gravity=STILL)
        for t in [None, *np.linspace(0.0, 0.6, 14)]:
            poses = [pose_at(0, 0, 0), pose_at(second_ball_x(t or 0.0), 0, 0)]
            poses = [poses[of] for of in order]
            scene.reset(poses) if t is None else scene.advance(poses, FRAME)
        places.append([scene.positions(order.index(of)) for of in (0, 1)])
    assert np.abs(np.array(places[0]) - places[1]).max() < 1e-4 * ball.surface.size


def test_scene_rotation_invariant(ball):
    """When the whole scene is turned, its motion turns with it."""
    whole = shapes.turn_about([0.7, -1.1, 0.4], shift=(0.3, -2.0, 1.0))
    ends = []
    for frame in (np.eye(4), whole):
        scene = thew.Scene([ball, ball], contact=thew.Contact(), gravity=STILL)
        for t in [None, *np.linspace(0.0, 0.6, 10)]:
            poses = [frame @ pose_at(0, 0, 0), frame @ pose_at(second_ball_x(t or 0.0), 0, 0.01)]
            scene.reset(poses) if t is None else scene.advance(poses, FRAME)
        assert len(scene.contacts()) > 0
        ends.append([scene.positions(of).astype(float) for of in (0, 1)])
    turned = shapes.apply(whole, np.concatenate(ends[0]))
    assert np.abs(turned - np.concatenate(ends[1])).max() < 1e-4 * ball.surface.size


def test_scene_state_during_contact(ball):
    """A scene restored during contact goes on with the same bits, and refuses bad states."""
    first, second = (thew.Scene([ball, ball], contact=thew.Contact()) for _ in range(2))
    first.reset([pose_at(0, 0, 0), pose_at(second_ball_x(0.0), 0, 0)])
    for t in np.linspace(0.0, 0.5, 12):
        first.advance([pose_at(0, 0, 0), pose_at(second_ball_x(t), 0, 0)], FRAME)
    assert len(first.contacts()) > 0
    state = first.state()
    second.restore(state)
    assert second.state() == state
    for t in np.linspace(0.5, 0.9, 6):
        for scene in (first, second):
            scene.advance([pose_at(0, 0, 0), pose_at(second_ball_x(t), 0, 0)], FRAME)
    assert first.state() == second.state()
    kept = second.state()
    alone = thew.Scene([ball], contact=thew.Contact())
    for wrong in (b"", state[:-1], state[: len(state) // 2], b"x" + state[1:], alone.state(), state + b"\0"):
        with pytest.raises(thew.InputError, match="state"):
            second.restore(wrong)
        assert second.state() == kept


def test_scene_thread_count():
    """The number of threads changes no bit of a scene."""
    code = (
        "import hashlib, sys\n"
        "import numpy as np\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import shapes, test_scene, thew\n"
        "ball = test_scene.ball.__wrapped__()\n"
        "scene = thew.Scene([ball, ball], contact=thew.Contact())\n"
        "scene.reset([test_scene.pose_at(0, 0, 0), test_scene.pose_at(0.45, 0, 0)])\n"
        "for t in np.linspace(0.0, 0.6, 10): scene.advance([test_scene.pose_at(0, 0, 0), test_scene.pose_at(0.45 - 0.15 * t, 0, 0)], 1 / 24)\n"
        "assert len(scene.contacts())\n"
        "print(hashlib.sha256(scene.state()).hexdigest())\n"
    )
    folder = Path(shapes.__file__).parent

    def digest(threads):
        env = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
        done = subprocess.run([sys.executable, "-c", code, folder], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    assert digest(1) == digest(3)


def test_scene_with_collider(ball):
    """Bodies touch a collider and each other."""
    # Two balls lie side by side on a floor that carries both.
    floor = thew.Collider.plane((0, 0, -0.18), (0, 0, 1), friction=0.0)
    scene = thew.Scene([ball, ball], contact=thew.Contact(), colliders=[floor])
    scene.reset([pose_at(0, 0, 0), pose_at(0.36, 0, 0)])
    contacts = scene.contacts()
    assert {*contacts.other_bodies} == {0, 1, 2}
    for of in (0, 1):
        up = contacts.forces[(contacts.bodies == of) & (contacts.other_bodies == 2)].sum(0)
        assert up[2] > 1.0
        assert scene.positions(of)[:, 2].min() > -0.18 - 1e-3 * ball.surface.size


@pytest.fixture(scope="module")
def meeting_balls(ball):
    """Returns two balls and their poses, in which they meet."""
    poses = [
        np.array([pose_at(0, 0, 0)] * 16),
        np.array([pose_at(second_ball_x(t), 0, 0) for t in np.linspace(0.0, 1.0, 16)]),
    ]
    return [ball, ball], poses


def test_scene_clips_file_round_trip(meeting_balls, tmp_path):
    """The clips of a scene touch, survive files and are extended together only."""
    bodies, poses = meeting_balls
    clips = thew.simulate_scene(bodies, poses, 24, contact=thew.Contact())
    assert [len(clip) for clip in clips] == [16, 16]
    touching = [f for f in range(16) if len(clips[0].contacts(f))]
    assert 4 < len(touching) < 16
    for frame in touching:
        mine, other = (clip.contacts(frame) for clip in clips)
        assert {*mine.bodies} == {0} and {*other.bodies} == {1}
        forces = [c.forces.sum(0) for c in (mine, other)]
        assert np.linalg.norm(forces[0] + forces[1]) <= 1e-9 * np.linalg.norm(forces[0])
    free = thew.simulate(bodies[0], poses[0], 24)
    assert np.abs(np.asarray(free) - np.asarray(clips[0])).max() > 0.02
    clips[1].save(tmp_path / "second.thew")
    again = thew.Clip.load(tmp_path / "second.thew")
    assert np.array_equal(np.asarray(again), np.asarray(clips[1]))
    assert np.array_equal(again.contacts(touching[2]).forces, clips[1].contacts(touching[2]).forces)
    for clip in (clips[1], again):
        with pytest.raises(thew.InputError, match=r"together with others .*extend_scene"):
            clip.extend(poses[1])


def test_extend_scene_with_rigs(meeting_balls):
    """Clips of a scene with rigs go on together with the same bits."""
    bodies, poses = meeting_balls
    rig = thew.Rig(thew.Template("bump", radius=0.1, strength=500.0), thew.SkinGuide(3))
    controls = np.linspace(0.0, 1.0, 16)[:, None]
    given = {"contact": thew.Contact(), "rigs": [[rig], None], "names": ["left", "right"]}
    whole = thew.simulate_scene(bodies, poses, 24, controls=[controls, None], **given)
    cut = 9
    clips = thew.simulate_scene(bodies, [run[:cut] for run in poses], 24, controls=[controls[:cut], None], **given)
    thew.extend_scene(clips, [run[cut:] for run in poses], controls=[controls[cut:], None])
    for clip, other in zip(clips, whole, strict=True):
        assert np.array_equal(np.asarray(clip), np.asarray(other))
        assert clip.body_names == ["left", "right"]
    assert [clip.body_index for clip in clips] == [0, 1]
    with pytest.raises(thew.InputError, match="clip 0 is not that body's clip"):
        thew.extend_scene(clips[::-1], [run[:1] for run in poses])
    with pytest.raises(thew.InputError, match=r"body 1 of the scene: .*poses"):
        thew.extend_scene(clips, [poses[0][:1], [np.eye(4)]])
    assert [len(clip) for clip in clips] == [16, 16]


def test_scene_cycle(ball):
    """A cyclic scene closes to a loop, and cannot be extended."""
    turn = 2.0 * np.pi * np.arange(13) / 12
    poses = [np.array([pose_at(0, 0, 0)] * 13), np.array([pose_at(0.40 - 0.05 * np.cos(t), 0, 0) for t in turn])]
    clips = thew.simulate_scene([ball, ball], poses, 24, contact=thew.Contact(), cyclic=True)
    shots = [thew.Shot(ball, run, 24, contact=thew.Contact(), cyclic=True) for run in poses]
    for clip, other in zip(clips, thew.simulate_shots(shots), strict=True):
        assert clip.loop_gap < 2e-4 * ball.surface.size
        assert np.abs(np.asarray(clip)[12] - np.asarray(clip)[0]).max() < 1e-6
        assert np.array_equal(np.asarray(clip), np.asarray(other))
    touching = [f for f in range(12) if len(clips[0].contacts(f))]
    assert 0 < len(touching) < 12
    with pytest.raises(thew.InputError, match="cyclic clip"):
        thew.extend_scene(clips, poses)


def test_shots_share_equal_colliders(ball):
    """A collider that two shots have alike counts once: what lies on it is pushed once."""

    def floor():
        block = thew.Surface(*shapes.box((2.0, 2.0, 0.2)))
        return thew.Collider(block, motion=shapes.turn_about(np.zeros(3), shift=(0, 0, -0.28))[None].repeat(3, axis=0))

    poses = [[pose_at(0, 0, 0)] * 3, [pose_at(0.36, 0, 0)] * 3]
    shots = [thew.Shot(ball, run, 24, contact=thew.Contact(), colliders=[floor()]) for run in poses]
    once = thew.simulate_scene([ball, ball], poses, 24, contact=thew.Contact(), colliders=[floor()])
    for clip, other in zip(thew.simulate_shots(shots), once, strict=True):
        assert np.array_equal(np.asarray(clip), np.asarray(other))
        assert clip.contacts(2).other_bodies.max() == 2


def test_contact_notes_bones(tmp_path, capsys):
    """A clip and the command report bones of two balls that hold them inside each other."""
    body = held_ball()
    poses = [np.array([pose_at(0, 0, 0)] * 5), np.array([pose_at(x, 0, 0) for x in (0.5, 0.4, 0.28, 0.26, 0.5)])]
    clips = thew.simulate_scene([body, body], poses, 24, contact=thew.Contact(), names=["left", ""])
    held = [clip.contacts(3).kinematic for clip in clips]
    assert all(h.dtype == bool and h.any() for h in held) and not clips[0].contacts(0).kinematic.any()
    notes = [clip.contact_notes() for clip in clips]
    assert len(notes[0]) == len(notes[1]) == 1
    assert notes[0][0].startswith("frames 2 to 3: bone 'core' of 'left' lies up to ")
    assert "deep in body 1: contact moves flesh, not the bones that hold it" in notes[0][0]
    assert "bone 'core' lies up to" in notes[1][0] and "deep in 'left'" in notes[1][0]
    assert [clip.contact_notes() for clip in thew.simulate_scene([body] * 2, [p[:2] for p in poses], 24)] == [[], []]
    shots = [tmp_path / f"{name}.thew" for name in "ab"]
    for path, run in zip(shots, poses, strict=True):
        thew.Shot(body, run, 24, name=path.stem, contact=thew.Contact()).save(path)
        assert thew.Shot.load(path).name == path.stem
    assert main(["simulate", *map(str, shots), "--together", "-q", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""
    assert main(["simulate", *map(str, shots), "--together", "-o", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    assert "a.clip.thew, frames 2 to 3: bone 'core' of 'a' lies" in told and "deep in 'a': contact moves flesh" in told


def test_shots_simulated_as_scene(meeting_balls, tmp_path):
    """Shots simulated together equal their scene."""
    bodies, poses = meeting_balls
    shots = []
    for k, (body, run) in enumerate(zip(bodies, poses, strict=True)):
        shot = thew.Shot(body, run, 24, contact=thew.Contact(), notes={"name": str(k)})
        shot.save(tmp_path / f"{k}.thew")
        shots.append(thew.Shot.load(tmp_path / f"{k}.thew"))
    together = thew.simulate_shots(shots)
    scene = thew.simulate_scene(bodies, poses, 24, contact=thew.Contact())
    assert [clip.notes["name"] for clip in together] == ["0", "1"]
    for one, other in zip(together, scene, strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))


def test_scene_preroll(meeting_balls):
    """A scene with a run-in has the frames of its motion alone."""
    bodies, poses = meeting_balls
    clips = thew.simulate_scene(bodies, [run[4:] for run in poses], 24, contact=thew.Contact(), preroll=6)
    assert [len(clip) for clip in clips] == [12, 12]
    assert all(np.isfinite(np.asarray(clip)).all() for clip in clips)


def test_scene_failure_keeps_state(ball):
    """A scene whose step fails keeps its state, and one can be cancelled."""
    scene = thew.Scene([ball, ball], contact=thew.Contact(), method="linear")
    scene.reset([pose_at(0, 0, 0), pose_at(0.36, 0, 0)])
    state = scene.state()
    with pytest.raises(thew.MotionError, match="body 1 of the scene"):
        scene.advance(
            [pose_at(0.1, 0, 0), pose_at(0.3, 0, 0)], FRAME, forces=[None, np.full((ball.node_count, 3), 1e60)]
        )
    assert scene.state() == state
    asked = []
    with pytest.raises(thew.Cancelled):
        poses = [np.array([pose_at(0, 0, 0)] * 4), np.array([pose_at(0.4, 0, 0)] * 4)]
        thew.simulate_scene([ball, ball], poses, 24, progress=lambda *told: asked.append(told) or len(asked) < 3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda b: thew.Scene([]), "at least one body"),
        (lambda b: thew.Scene([b, 3]), r"bodies\[1\] is not a thew.Body"),
        (lambda b: thew.Scene([b, b], contact=[thew.Contact()]), "one for each body of the scene: 2, not 1"),
        (lambda b: thew.Scene([b], contact=[3]), r"contact\[0\] is not a thew.Contact"),
        (
            lambda b: thew.Scene([b, b], method="nonlinear"),
            "body 0 of the scene: the method 'nonlinear' does not support contact",
        ),
        (lambda b: thew.Scene([b], contact=thew.Contact(regions=[1, 2])), "body 0 of the scene"),
        (lambda b: thew.Scene([b], contact=thew.Contact(response="creases")), "body 0 of the scene"),
        (lambda b: thew.Scene([b, b]).reset([pose_at(0, 0, 0)]), "one for each body of the scene: 2, not 1"),
        (
            lambda b: thew.Scene([b]).advance([pose_at(0, 0, 0)], FRAME),
            "body 0 of the scene: the simulation has no pose yet",
        ),
        (lambda b: thew.Scene([b]).positions(1), "there is no body 1: the scene has 1"),
        (lambda b: thew.Scene([b], colliders=[b]), r"colliders\[0\] is not a thew.Collider"),
        (
            lambda b: thew.simulate_scene([b, b], [[pose_at(0, 0, 0)] * 3, [pose_at(1, 0, 0)] * 2], 24),
            "body 1 of the scene has 2 poses",
        ),
        (lambda b: thew.simulate_scene([b], [[np.eye(4)] * 2], 24), r"body 0 of the scene: .*poses"),
        (lambda b: thew.simulate_shots([3]), r"shots\[0\] is not a thew.Shot"),
        (
            lambda b: thew.simulate_shots([thew.Shot(b, [pose_at(0, 0, 0)] * 4, fps) for fps in (24, 30)]),
            "body 1 of the scene has 30 frames per second, but the first has 24",
        ),
        (
            lambda b: thew.simulate_shots([thew.Shot(b, [pose_at(0, 0, 0)] * 4, 24, cyclic=c) for c in (True, False)]),
            "body 1 of the scene is not a cycle, but the first is",
        ),
        (
            lambda b: thew.simulate_scene(
                [b, b], [[pose_at(0, 0, 0)] * 4, [pose_at(1, y, 0) for y in (0.0, 0.1, 0.2, 0.3)]], 24, cyclic=True
            ),
            "body 1 of the scene does not end as the others do",
        ),
        (
            lambda b: thew.simulate_scene([b], [[pose_at(0, 0, 0)]], 24, names=["a", "b"]),
            "names: .* of the scene: 1, not 2",
        ),
        (lambda b: thew.extend_scene([3], [[pose_at(0, 0, 0)]]), r"clips\[0\] is not a thew.Clip"),
        (lambda b: thew.extend_scene([], []), "at least one body"),
        (
            lambda b: thew.simulate_shots([thew.Shot(b, [pose_at(0, 0, 0)] * 4, 24, rate=r) for r in (240.0, 120.0)]),
            "its rate is 120, the first body's is 240",
        ),
    ],
)
def test_scene_refuses_bad_input(ball, make, sentence):
    """Bad bodies, contacts, poses, shots and clips are refused with a sentence."""
    with pytest.raises(thew.InputError, match=sentence):
        make(ball)


def test_scene_failed_reset_keeps_state(ball):
    """A reset that fails changes nothing, and the scene goes on."""
    scene = thew.Scene([ball, ball], contact=thew.Contact())
    scene.reset([pose_at(0, 0, 0), pose_at(0.36, 0, 0)])
    state = scene.state()
    too_many = np.zeros((ball.node_count + 1, 3))
    with pytest.raises(thew.InputError, match="body 1 of the scene"):
        scene.reset([pose_at(0, 0, 0), pose_at(0.3, 0, 0)], rest_forces=[None, too_many])
    assert scene.state() == state
    scene.advance([pose_at(0, 0, 0), pose_at(0.36, 0, 0)], FRAME)
    contacts = scene.contacts()
    assert {*contacts.other_bodies} == {0, 1}


def hall(half, motion=None, turned=False):
    """Builds a closed box about the origin."""
    vertices, triangles = shapes.box(half)
    return thew.Collider(thew.Surface(vertices, triangles[:, ::-1] if turned else triangles), motion)


@pytest.mark.parametrize("kind", ["as it is", "turned", "deforming"])
def test_collider_as_room(ball, kind, tmp_path):
    """A closed mesh around a body is its room: a ball pressed 5 cm into the wall stays inside."""
    half = (0.4, 0.6, 0.8)
    way = [*np.linspace(0.0, 0.25, 11), *[0.25] * 4, *np.linspace(0.25, 0.1, 6)]
    poses = np.array([pose_at(x, 0, 0) for x in way])
    motion = np.array([shapes.box(half)[0]] * len(way)) if kind == "deforming" else None
    given = {"gravity": (0, 0, 0), "contact": thew.Contact()}
    room = hall(half, motion, kind == "turned")
    free = thew.simulate(ball, poses, 24, **given)
    clip = thew.simulate(ball, poses, 24, colliders=[room], **given)
    shown = np.asarray(clip)
    # Nothing of it where it is far from the walls, and inside throughout.
    assert np.array_equal(shown[:6], np.asarray(free)[:6])
    assert np.asarray(free)[14, :, 0].max() > 0.44 and shown[14, :, 0].max() < 0.405
    contacts = clip.contacts(14)
    assert len(contacts) > 10 and (contacts.normals[:, 0] < -0.99).all()
    assert not len(clip.contacts(20)) and clip.contact_notes() == []
    # A clip that goes on from a file still knows what its room is.
    part = thew.simulate(ball, poses[:13], 24, colliders=[room], **given)
    part.save(tmp_path / "part.thew")
    part = thew.Clip.load(tmp_path / "part.thew")
    part.extend(poses[13:])
    assert np.array_equal(np.asarray(part), shown)


def test_room_only_for_bodies_inside(ball):
    """A closed box is a room for the ball inside it and an obstacle for the one beside it."""
    poses = [np.array([pose_at(0, 0, 0)] * 4), np.array([pose_at(x, 0, 0) for x in (0.65, 0.6, 0.57, 0.57)])]
    clips = thew.simulate_scene([ball] * 2, poses, 24, contact=thew.Contact(), colliders=[hall((0.4, 0.4, 0.4))])
    shown = [np.asarray(clip)[-1] for clip in clips]
    assert np.abs(shown[0]).max() < 0.25 and not len(clips[0].contacts(-1))
    assert shown[1][:, 0].min() > 0.395 and (clips[1].contacts(3).normals[:, 0] > 0.99).all()


def test_buried_bones(ball):
    """Bones that lie in other bodies or in colliders are reported."""
    poses = [np.array([pose_at(0, 0, 0)] * 3), np.array([pose_at(x, 0, 0) for x in (0.0, 0.0, 0.9)])]
    clips = thew.simulate_scene([ball] * 2, poses, 24, contact=thew.Contact(), names=["Anna", "Bert"])
    for clip, other, number in zip(clips, ("Bert", "Anna"), (1, 0), strict=True):
        bone, lies_in, partner, depth = clip.buried_bones(0)[0]
        assert (bone, lies_in, partner) == (0, number, 0) and 0.1 < depth < 0.2
        assert not clip.buried_bones(2)
        assert any(
            note.startswith("frames 0 to 1: bone 'core'") and f"deep in '{other}'" in note
            for note in clip.contact_notes()
        )
    floor = thew.Collider.plane((0, 0, 0.05), (0, 0, 1))
    clip = thew.simulate(
        ball, np.array([pose_at(0, 0, 0), pose_at(0, 0, 0.3)]), 24, contact=thew.Contact(), colliders=[floor]
    )
    (note,) = clip.contact_notes()
    assert note.startswith("frame 0: bone 'core' lies up to ") and "deep in collider 0: contact moves flesh" in note
