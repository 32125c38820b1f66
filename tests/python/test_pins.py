# SPDX-License-Identifier: MIT OR Apache-2.0
"""Points of the flesh held at targets."""

import numpy as np
import pytest
import shapes
import thew

FRAME = 1 / 24
#: Every method whose points can be pinned.
METHODS = [
    "hyperelastic",
    "warped",
    "warped_vertex",
    "blended",
    "blended_printed",
    "linear",
    "linearised",
    "nonlinear",
    "neohookean",
]


@pytest.fixture(scope="module")
def body():
    """Builds a small arm."""
    vertices, triangles = shapes.arm(segments=10, rings=12)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    weights = shapes.arm_weights(vertices)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=4)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


@pytest.fixture(scope="module")
def vertex(body):
    """Returns a vertex of the skin under the elbow."""
    x = body.surface.vertices
    return int(np.argmin(np.linalg.norm(x - [0.55, 0.0, 0.1], axis=1)))


@pytest.mark.parametrize("method", METHODS)
def test_pin_holds_shown_vertex(body, vertex, method):
    """A pinned vertex is shown at its moving target while the elbow bends."""
    simulation = thew.Simulation(body, method)
    simulation.reset(shapes.bend(0.0))
    start = body.surface.vertices[vertex]
    pin = simulation.pin(vertex)
    np.testing.assert_allclose(simulation.pins()[0].target, start, atol=1e-5)
    for frame in range(1, 4):
        target = start + [0.0, 0.004 * frame, 0.002 * frame]
        simulation.move_pin(pin, target)
        simulation.advance(shapes.bend(0.05 * frame), FRAME)
        assert np.linalg.norm(simulation.positions()[vertex] - target) < 2e-6
        np.testing.assert_allclose(simulation.point_position(vertex), target, atol=1e-9)


def test_place_inside_is_held(body):
    """A place inside the flesh is held in the lattice's own positions."""
    place = np.array([0.3, 0.04, 0.03])
    simulation = thew.Simulation(body)
    simulation.reset(shapes.bend(0.0))
    simulation.pin(place, place + [0.0, 0.01, 0.0])
    simulation.advance(shapes.bend(0.4), FRAME)
    np.testing.assert_allclose(simulation.point_position(place), place + [0.0, 0.01, 0.0], atol=1e-9)
    (nodes,), (weights,) = body.lattice.embed(place[None])
    held = weights @ simulation.lattice_positions()[nodes]
    np.testing.assert_allclose(held, place + [0.0, 0.01, 0.0], atol=1e-9)


def test_removed_pin_leaves_no_trace(body, vertex):
    """From the same state, motion without the pin has the bits of a simulation that never had one."""
    pinned, plain = thew.Simulation(body), thew.Simulation(body)
    pinned.reset(shapes.bend(0.0))
    pin = pinned.pin(vertex, body.surface.vertices[vertex] + [0.0, 0.0, 0.02])
    pinned.advance(shapes.bend(0.0), FRAME)
    pinned.unpin(pin)
    plain.restore(pinned.state())
    for simulation in (pinned, plain):
        for frame in range(3):
            simulation.advance(shapes.bend(0.1 * frame), FRAME)
    assert pinned.state() == plain.state() and not plain.pins()


def test_strength_is_share_of_way(body, vertex):
    """At rest a soft pin takes its point a part of the way that grows with its strength, 0 none and 1 all of it."""
    start, moved = body.surface.vertices[vertex], []
    for strength in (0.0, 0.25, 0.5, 0.75, 1.0):
        simulation = thew.Simulation(body, "warped")
        simulation.reset(shapes.bend(0.0))
        simulation.pin(vertex, start + [0.0, 0.0, 0.005], strength)
        simulation.reset(shapes.bend(0.0))
        moved.append(float(simulation.point_position(vertex)[2] - start[2]) / 0.005)
    assert np.all(np.diff(moved) > 0)
    np.testing.assert_allclose(moved, [0.0, 0.25, 0.5, 0.75, 1.0], atol=1e-2)
    np.testing.assert_allclose([moved[0], moved[-1]], [0.0, 1.0], atol=1e-3)


def test_dependent_pins_are_named(body, vertex):
    """A second pin of a vertex is superfluous; with another target it is a conflict that names both."""
    simulation = thew.Simulation(body)
    simulation.reset(shapes.bend(0.0))
    first, second = simulation.pin(vertex), simulation.pin(vertex)
    assert [pin.superfluous for pin in simulation.pins()] == [None, [first]]
    simulation.move_pin(second, body.surface.vertices[vertex] + 0.01)
    state = simulation.state()
    with pytest.raises(thew.InputError, match=f"pin {second} conflicts with pin {first}"):
        simulation.advance(shapes.bend(0.0), FRAME)
    assert simulation.state() == state
    simulation.unpin(second)
    simulation.advance(shapes.bend(0.0), FRAME)


def test_bad_pins_are_refused(body):
    """Points outside, on bones or out of range, unsound targets and strengths, and the method modal raise InputError."""
    simulation = thew.Simulation(body)
    simulation.reset(shapes.bend(0.0))
    for point, target, strength, words in (
        ([9.0, 0.0, 0.0], None, 1.0, "outside the flesh"),
        ([0.25, 0.0, 0.0], None, 1.0, "bone holds it"),
        (10**6, None, 1.0, "the surface has"),
        (0, [np.nan, 0.0, 0.0], 1.0, "target"),
        (0, None, 1.5, "between 0"),
        ("text", None, 1.0, r"number of a vertex, or a place .* got 'text'"),
        (-1, None, 1.0, r"number of a vertex, or a place .* got -1"),
        (5.0, None, 1.0, r"number of a vertex, or a place .* got 5.0"),
    ):
        with pytest.raises(thew.InputError, match=words):
            simulation.pin(point, target, strength)
    with pytest.raises(thew.InputError, match="no pin 3"):
        simulation.unpin(3)
    with pytest.raises(thew.InputError, match="modal"):
        thew.Simulation(body, "modal", modes=4).pin(0, [0.0, 0.0, 0.0])
    with pytest.raises(thew.InputError, match="free lattice vertices"):
        for _ in range(len(body.lattice.vertices) + 1):
            simulation.pin(0)


def make_tracks(body, vertex, frames):
    """Builds a track that moves and lets go, and one of a place inside."""
    start = body.surface.vertices[vertex]
    t = np.arange(frames)[:, None]
    strengths = np.clip(2.0 - 0.25 * np.arange(frames), 0.0, 1.0)
    inside = np.array([0.2, 0.04, 0.03])
    return [
        thew.PinTrack(vertex, start + t * [0.0, 0.002, 0.001], strengths),
        thew.PinTrack(inside, np.tile(inside, (frames, 1))),
    ]


def part(tracks, start, stop):
    """Returns a part of tracks."""
    cut = [(t.point, t.targets[start:stop], t.strengths) for t in tracks]
    return [thew.PinTrack(p, x, None if s is None else s[start:stop]) for p, x, s in cut]


def test_clips_hold_pins(body, vertex, tmp_path):
    """Clips made at once, in parts, from a shot's file or continued from a file are the same; pinned frames are held."""
    poses = np.stack([shapes.bend(0.05 * i) for i in range(12)])
    tracks = make_tracks(body, vertex, 12)
    whole = thew.simulate(body, poses, 24.0, pins=tracks)
    for frame in range(5):
        assert np.linalg.norm(whole.positions(frame)[vertex] - tracks[0].targets[frame]) < 2e-6
    plain = thew.simulate(body, poses, 24.0)
    assert np.abs(np.asarray(whole) - np.asarray(plain)).max() > 1e-3
    shot = thew.Shot(body, poses, 24.0, pins=tracks)
    shot.save(tmp_path / "shot")
    again = thew.Shot.load(tmp_path / "shot")
    assert [p.point for p in again.pins] == [p.point for p in tracks]
    np.testing.assert_array_equal(np.asarray(again.simulate()), np.asarray(whole))
    parts = thew.simulate(body, poses[:8], 24.0, pins=part(tracks, 0, 8))
    parts.save(tmp_path / "clip")
    for clip in (parts, thew.Clip.load(tmp_path / "clip")):
        clip.extend(poses[8:], pins=part(tracks, 8, 12))
        np.testing.assert_array_equal(np.asarray(clip), np.asarray(whole))
    with pytest.raises(thew.InputError, match=r"has 5 targets and . strengths, but the clip has 12 frames"):
        thew.simulate(body, poses, 24.0, pins=part(tracks, 0, 5))
    with pytest.raises(thew.InputError, match=r"pins\[0\] is not"):
        thew.simulate(body, poses, 24.0, pins=[3])


def test_restarts_cycles_and_run_ins_hold_pins(body, vertex):
    """Pins hold after a cut, in the first frame after a run-in, and in a cycle."""
    poses = np.stack([shapes.bend(0.2 * np.sin(2 * np.pi * i / 8)) for i in range(9)])
    start = body.surface.vertices[vertex]
    targets = np.stack([start + [0.0, 0.003 * np.sin(2 * np.pi * i / 8), 0.0] for i in range(9)])
    track = thew.PinTrack(vertex, targets)
    for options in ({"restarts": [4]}, {"preroll": 4}, {"cyclic": True}):
        clip = thew.simulate(body, poses, 24.0, pins=[track], **options)
        for frame in range(8):
            assert np.linalg.norm(clip.positions(frame)[vertex] - targets[frame]) < 2e-6, (options, frame)


def test_scenes_hold_pins(body, vertex):
    """A pin of one of two bodies holds in a scene and in the clips of a scene."""
    target = body.surface.vertices[vertex] + [0.0, 0.005, 0.0]
    scene = thew.Scene([body, body])
    far = shapes.bend(0.0) + np.array([[0, 0, 0, 0], [0, 0, 0, 3.0], [0, 0, 0, 0], [0, 0, 0, 0]])
    scene.reset([shapes.bend(0.0), far])
    pin = scene.pin(0, vertex, target)
    scene.advance([shapes.bend(0.1), far], FRAME)
    assert np.linalg.norm(scene.positions(0)[vertex] - target) < 2e-6
    assert [p.id for p in scene.pins(0)] == [pin] and not scene.pins(1)
    with pytest.raises(thew.InputError):
        scene.pin(2, vertex)
    poses = np.stack([shapes.bend(0.0)] * 3)
    track = thew.PinTrack(vertex, np.tile(target, (3, 1)))
    clips = thew.simulate_scene([body, body], [poses, poses + (far - shapes.bend(0.0))], 24.0, pins=[[track], None])
    assert np.linalg.norm(clips[0].positions(2)[vertex] - target) < 2e-6


def test_belt_is_thinned_to_independent_points(body):
    """Many vertices of a belt become few points that hold the whole belt."""
    x = body.surface.vertices
    belt = np.flatnonzero(np.abs(x[:, 0] - 0.3) < 0.12)
    chosen = thew.independent_vertices(body, belt.tolist())
    assert 3 < len(chosen) < len(belt) and set(chosen) <= set(belt.tolist())
    assert len(thew.independent_vertices(body, belt.tolist(), most=2)) == 2
    simulation = thew.Simulation(body)
    simulation.reset(shapes.bend(0.0))
    for v in chosen:
        simulation.pin(v)
    assert all(pin.superfluous is None for pin in simulation.pins())
    simulation.advance(shapes.bend(0.0), FRAME, forces=np.full((body.node_count, 3), 0.5))
    np.testing.assert_allclose(simulation.positions()[chosen], x[chosen], atol=2e-6)
