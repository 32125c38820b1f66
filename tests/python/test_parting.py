# SPDX-License-Identifier: MIT OR Apache-2.0
"""Modal flesh whose surface is parted where it overlaps."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shapes
import thew
from test_contact import elbow, penetrating_vertices  # noqa: F401

MODAL = {"method": "modal", "gravity": (0, 0, 0), "modes": 8, "engine": "cpu"}


def fold(degrees, frames=6):
    """Returns poses that bend the elbow to an angle."""
    return np.stack([shapes.bend(np.radians(a)) for a in np.linspace(0.0, degrees, frames)])


def simulate_modal(body, poses, contact=thew.Contact(), **options):  # noqa: B008
    """Simulates modal flesh with contact."""
    return thew.simulate(body, poses, 24.0, contact=contact, **MODAL, **options)


def count_penetrating(body, clip, frame):
    """Counts the vertices that lie in other flesh."""
    return len(penetrating_vertices(clip.positions(frame), body.surface.triangles))


def test_parting_reduces_overlap(elbow):  # noqa: F811
    """Most of the overlap is parted, and nothing else is moved."""
    poses = fold(120)
    free, parted = (simulate_modal(elbow, poses, contact) for contact in (None, thew.Contact()))
    last = len(poses) - 1
    assert count_penetrating(elbow, free, last) > 100
    assert count_penetrating(elbow, parted, last) <= 0.2 * count_penetrating(elbow, free, last)
    # Straight it touches nothing: the same bits.
    np.testing.assert_array_equal(parted.positions(0), free.positions(0))
    assert len(parted.contacts(0)) == 0
    contacts = parted.contacts(last)
    assert len(contacts) > 50 and not contacts.forces.any()
    # Nothing of the motion itself changes, nor skin at the far ends of the arm.
    np.testing.assert_array_equal(parted.amplitudes, free.amplitudes)
    ends = np.abs(np.asarray(elbow.surface.vertices)[:, 0] - 0.5) > 0.55
    np.testing.assert_array_equal(parted.positions(last)[ends], free.positions(last)[ends])


def test_parting_offsets_agree(elbow):  # noqa: F811
    """Offsets, positions, velocities and other spaces agree about the parted surface."""
    clip, free = (simulate_modal(elbow, fold(100), contact) for contact in (thew.Contact(), None))
    moved = clip.positions(5) - free.positions(5)
    np.testing.assert_allclose(clip.offsets(5) - free.offsets(5), moved, atol=1e-6)
    to = np.diag([-2.0, 3.0, 0.5, 1.0])
    np.testing.assert_allclose(clip.positions(5, to=to), clip.positions(5) @ to[:3, :3].T, atol=1e-5)
    speeds = (clip.positions(5) - clip.positions(3)) * 24.0 / 2.0
    np.testing.assert_allclose(clip.velocities(4), speeds, atol=1e-3)
    np.testing.assert_array_equal(np.asarray(clip)[5], clip.positions(5))


def test_parting_same_bits(elbow, tmp_path):  # noqa: F811
    """Frames read in any order, from a file or after an extension have the same bits."""
    poses = fold(130, 10)
    clip = simulate_modal(elbow, poses)
    order = [7, 2, 9, 0, 8]
    asked = {frame: clip.positions(frame) for frame in order}
    again = simulate_modal(elbow, poses)
    for frame in sorted(order):
        np.testing.assert_array_equal(again.positions(frame), asked[frame])
    clip.save(tmp_path / "clip.thew")
    read = thew.Clip.load(tmp_path / "clip.thew")
    parts = simulate_modal(elbow, poses[:7])
    parts.positions(6)
    parts.extend(poses[7:])
    for frame in order:
        np.testing.assert_array_equal(read.positions(frame), asked[frame])
        np.testing.assert_array_equal(parts.positions(frame), asked[frame])
    np.testing.assert_array_equal(read.contacts(9).points, clip.contacts(9).points)
    thew.Shot(elbow, poses, 24.0, contact=thew.Contact(), **MODAL).save(tmp_path / "shot.thew")
    shot = thew.Shot.load(tmp_path / "shot.thew").simulate()
    np.testing.assert_array_equal(shot.positions(9), asked[9])


def test_parting_in_simulation(elbow):  # noqa: F811
    """A simulation parts its surface too, and a restored state shows the same."""
    floor = thew.Collider.plane((0.0, 0.0, -0.11), (0.0, 0.0, 1.0))
    make = lambda: thew.Simulation(elbow, contact=thew.Contact(), colliders=[floor], **MODAL)  # noqa: E731
    one, other = make(), make()
    one.reset(shapes.bend(0.0))
    assert one.positions()[:, 2].min() > -0.11 - 1e-5
    for pose in fold(110)[1:]:
        one.advance(pose, 1 / 24)
    other.restore(one.state())
    np.testing.assert_array_equal(other.positions(), one.positions())
    assert len(one.contacts()) > 0 and (one.contacts().other_bodies == 0).any()


def test_parting_moving_collider(elbow):  # noqa: F811
    """The surface is parted from a collider where its motion has brought it."""
    block = thew.Surface(*shapes.box((2.0, 2.0, 0.1)))
    lift = np.stack([np.eye(4)] * 4)
    lift[:, 2, 3] = np.linspace(-0.25, -0.18, 4)  # its top: 15 cm below the middle, then 8
    clip = simulate_modal(elbow, fold(0.0, 4), None, colliders=[thew.Collider(block, lift)])
    assert len(clip.contacts(0)) == 0 and len(clip.contacts(3)) > 0
    assert clip.positions(3)[:, 2].min() > -0.08 - 1e-4
    assert (clip.contacts(3).other_bodies == 1).all()


def test_parting_ignored_skin(elbow):  # noqa: F811
    """Ignored skin is not parted, and the crease methods are refused."""
    poses = fold(120)
    nothing = thew.Contact(regions=np.zeros(len(elbow.surface.vertices), int))
    free = simulate_modal(elbow, poses, None)
    np.testing.assert_array_equal(simulate_modal(elbow, poses, nothing).positions(5), free.positions(5))
    with pytest.raises(thew.InputError, match="without creases"):
        thew.Simulation(elbow, "modal", contact=thew.Contact(response="creases"))


def test_parting_thread_count():
    """The number of threads changes no bit of the parted surface."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import hashlib, numpy as np, shapes, thew\n"
        "v, t = shapes.arm(segments=16, rings=40, radius=0.12)\n"
        "w = shapes.arm_weights(v)\n"
        "s, k = thew.Surface(v, t), thew.Skeleton(*shapes.arm_bones())\n"
        "body = thew.Body(s, k, thew.Lattice.enclose(s, k, w, cells_across=12), thew.Material(), region_weights=w)\n"
        "sim = thew.Simulation(body, 'modal', modes=4, engine='cpu', contact=thew.Contact())\n"
        "sim.reset(shapes.bend(2.2))\n"
        "assert len(sim.contacts())\n"
        "print(hashlib.sha256(np.ascontiguousarray(sim.positions()).tobytes()).hexdigest())\n"
    )
    folder = Path(shapes.__file__).parent

    def digest(threads):
        env = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
        done = subprocess.run([sys.executable, "-c", code, folder], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    assert digest(1) == digest(3)
