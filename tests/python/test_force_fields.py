# SPDX-License-Identifier: MIT OR Apache-2.0
"""Force fields, and gravity and softness that change from frame to frame."""

import numpy as np
import pytest
import shapes
import thew

FRAMES = 6
G = 9.81
#: A field's place whose z axis is the world's x axis.
TO_X = [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]]


@pytest.fixture(scope="module")
def body():
    """Builds a small arm whose rest shape does not sag."""
    vertices, triangles = shapes.arm(segments=10, rings=12)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    weights = shapes.arm_weights(vertices)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=4)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights, rest_includes_gravity=False)


@pytest.fixture(scope="module")
def poses():
    """Builds poses of an elbow that bends a little."""
    return np.stack([shapes.bend(0.03 * frame) for frame in range(FRAMES)])


def offsets(clip):
    """Returns the offsets of all frames."""
    return np.stack([clip.offsets(frame) for frame in range(len(clip))])


def test_wind_equals_gravity(body, poses):
    """Uniform wind of the strength of gravity moves flesh as gravity does: each node has the same acceleration, computed in double
    precision, so that offsets differ by one rounding to single precision at most.
    """
    heavy = offsets(thew.simulate(body, poses, 24.0, gravity=(G, 0.0, 0.0)))
    wind = thew.ForceField("wind", G, TO_X)
    blown = offsets(thew.simulate(body, poses, 24.0, gravity=(0.0, 0.0, 0.0), fields=[wind]))
    assert np.abs(heavy).max() > 1e-4
    np.testing.assert_allclose(blown, heavy, rtol=0.0, atol=np.spacing(np.float32(np.abs(heavy).max())))


def test_constant_arrays_keep_bits(body, poses):
    """Arrays with one value throughout give the bits of that value."""
    dial = body.with_softness(0.6)
    plain = offsets(thew.simulate(dial, poses, 24.0))
    same = thew.simulate(dial, poses, 24.0, gravity=np.tile([0.0, 0.0, -G], (FRAMES, 1)), softness=[0.6] * FRAMES)
    np.testing.assert_array_equal(offsets(same), plain)
    still = thew.simulate(dial, poses, 24.0, fields=[thew.ForceField("wind", np.zeros(FRAMES))])
    np.testing.assert_array_equal(offsets(still), plain)


def test_softness_follows_dial(body, poses):
    """Flesh whose dial goes to another value comes to rest as a body of that value, up to what still swings and single precision."""
    still = np.repeat(poses[:1], 60, axis=0)
    firm, soft = body.with_softness(0.4), body.with_softness(0.7)
    went = thew.simulate(firm, still, 24.0, softness=np.interp(np.arange(60), [5, 10], [0.4, 0.7]))
    want = thew.simulate(soft, still[:2], 24.0).offsets(1)
    started = thew.simulate(firm, still[:2], 24.0).offsets(1)
    assert np.abs(started).max() < 0.3 * np.abs(want).max()
    assert np.abs(went.offsets(59) - want).max() < 0.02 * np.abs(want).max()
    ratios = np.asarray(firm.softness_factors([0.4, 0.7]))
    assert ratios[0] == 1.0
    assert ratios[1] * firm.material.young == pytest.approx(firm.young_of_softness(0.7), rel=1e-9)


def test_scene_takes_tracks(body, poses):
    """Bodies of a scene that do not touch move as each alone, to the last bit, with common fields and gravity and softness of their own."""
    away = np.eye(4)
    away[:3, 3] = [50.0, 0.0, 0.0]
    dial = body.with_softness(0.5)
    wind = thew.ForceField("wind", np.linspace(0.0, G, FRAMES), TO_X)
    falling = np.linspace([0.0, 0.0, -G], [0.0, 0.0, 0.0], FRAMES)
    track = np.linspace(0.5, 0.7, FRAMES)
    common = {"fields": [wind], "gravity": falling}
    first, second = thew.simulate_scene([dial, body], [poses, away @ poses], 24.0, softness=[track, None], **common)
    alone = thew.simulate(dial, poses, 24.0, softness=track, **common)
    np.testing.assert_array_equal(offsets(first), offsets(alone))
    np.testing.assert_array_equal(offsets(second), offsets(thew.simulate(body, away @ poses, 24.0, **common)))
    assert np.abs(offsets(first) - offsets(second)).max() > 1e-2 * np.abs(offsets(alone)).max()
    with pytest.raises(thew.InputError, match=r"softness: .*one for each body"):
        thew.simulate_scene([dial, body], [poses, poses], 24.0, softness=[track])
    with pytest.raises(thew.InputError, match=r"body 1 of the scene: stiffness"):
        thew.simulate_scene([dial, body], [poses, poses], 24.0, stiffness=[None, [0.0]])
    with pytest.raises(thew.InputError, match=r"fields\[0\]"):
        thew.simulate_scene([dial], [poses], 24.0, fields=[body])


@pytest.mark.parametrize("kind", ["wind", "force", "vortex", "turbulence", "drag"])
def test_shot_keeps_fields(body, poses, kind, tmp_path):
    """A shot with a field of each kind comes back from its file with the same bits, also its copy."""
    numbers = {"linear_drag": 2.0} if kind == "drag" else {"flow": 0.5, "noise": np.linspace(0.0, 1.0, FRAMES)}
    matrices = np.tile(np.eye(4), (FRAMES, 1, 1))
    matrices[:, 0, 3] = np.linspace(-1.0, 1.0, FRAMES)
    field = thew.ForceField(
        kind, np.linspace(1.0, 9.0, FRAMES), matrices, seed=5, max_distance=3.0, power=1.0, **numbers
    )
    shot = thew.Shot(body, poses, 24.0, fields=[field], gravity=np.linspace([0, 0, -G], [0, 0, 0], FRAMES))
    shot.save(tmp_path / "shot")
    again = thew.Shot.load(tmp_path / "shot")
    wanted = offsets(shot.simulate())
    np.testing.assert_array_equal(offsets(again.simulate()), wanted)
    np.testing.assert_array_equal(offsets(again.replace(name="copy").simulate()), wanted)
    assert again.fields[0].kind == kind
    np.testing.assert_array_equal(again.fields[0].matrices, field.matrices)
    assert again.replace(gravity=(0.0, 0.0, 0.0)).gravities is None
    assert np.isfinite(wanted).all()


def test_bad_fields_are_named(body, poses):
    """Numbers that are out of range, tracks of another length and methods that cannot follow are refused by name."""
    for numbers in ({"strength": np.nan}, {"flow": -1.0}, {"size": 0.0}, {"max_distance": np.nan}, {"unit": 0.0}):
        with pytest.raises(thew.InputError, match="Gale"):
            thew.ForceField("wind", name="Gale", **numbers)
    with pytest.raises(thew.InputError, match="'wind', 'force'"):
        thew.ForceField("magnet")
    with pytest.raises(thew.InputError, match="z axis"):
        thew.ForceField("wind", 1.0, np.diag([1.0, 1.0, 0.0, 1.0]))
    with pytest.raises(thew.InputError, match=r"Gale.*3 entries"):
        thew.simulate(body, poses, 24.0, fields=[thew.ForceField("wind", [1.0, 2.0, 3.0], name="Gale")])
    with pytest.raises(thew.InputError, match="fields"):
        thew.simulate(body, poses, 24.0, fields=[body])
    with pytest.raises(thew.InputError, match="softness"):
        thew.simulate(body, poses, 24.0, softness=[0.5, 1.5, 0.5, 0.5, 0.5, 0.5])
    with pytest.raises(thew.InputError, match="stiffness"):
        thew.simulate(body, poses, 24.0, stiffness=[0.0] * FRAMES)
    with pytest.raises(thew.InputError, match="modal"):
        thew.simulate(body, poses, 24.0, method="modal", modes=4, stiffness=[0.5] * FRAMES)
    with pytest.raises(thew.InputError, match="gravity"):
        thew.simulate(body, poses, 24.0, gravity=np.full((FRAMES, 3), np.nan))


def test_accelerations_of_fields():
    """A vortex turns around its axis, a point pushes away, drag holds back."""
    x = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    np.testing.assert_allclose(thew.ForceField("vortex", 2.0).accelerations(x), [[0, 2, 0], [-4, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(thew.ForceField("force", 3.0).accelerations(x), [[3, 0, 0], [0, 3, 0]], atol=1e-12)
    drag = thew.ForceField("drag", linear_drag=0.5)
    np.testing.assert_allclose(drag.accelerations(x, velocities=x), -0.5 * x)
