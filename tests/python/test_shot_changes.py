# SPDX-License-Identifier: MIT OR Apache-2.0
"""`Shot.replace` with another softness and with a part of the frames: the bits of a shot that was made so from the beginning."""

import copy

import numpy as np
import pytest
import shapes
import test_pickling
import thew


def body_of(arm, **settings):
    """Builds a body of the arm."""
    parts = (arm.surface, arm.skeleton, arm.lattice, thew.Material(4e4))
    return thew.Body(*parts, region_weights=arm.weights, **settings)


def assert_same(shot, other):
    """Asserts that two shots hold the same and move by the same bits."""
    assert shot.settings == other.settings
    np.testing.assert_array_equal(shot.poses, other.poses)
    np.testing.assert_array_equal(shot.body.stiffness(twist=True)[0], other.body.stiffness(twist=True)[0])
    np.testing.assert_array_equal(np.asarray(shot.simulate()), np.asarray(other.simulate()))


def paints(arm):
    """Returns settings of bodies that were painted and not."""
    n = len(arm.vertices)
    return {
        "plain": {},
        "flesh": {"flesh": np.linspace(0.0, 1.0, n)},
        "stiffness": {"stiffness": np.linspace(0.5, 2.0, n), "density": np.full(n, 1.1)},
        "twist": {"twist": {"upper": {"radius": 0.03, "strength": 2.0}}, "kind": "animal"},
    }


@pytest.mark.parametrize("paint", ["plain", "flesh", "stiffness", "twist"])
def test_softness_equals_body_made_so(arm, tmp_path, paint):
    """Another softness equals a body built with it, with damping left to the body, from a file too, and over other stiffnesses."""
    poses, settings = test_pickling.swings(4), paints(arm)[paint]
    wanted = thew.Shot(body_of(arm, softness=0.8, **settings), poses, 24.0)
    for body in (body_of(arm, softness=0.3, **settings), body_of(arm, **settings).with_young(1e5)):
        shot = thew.Shot(body, poses, 24.0)
        shot.save(tmp_path / "shot.thew")
        for each in (shot, thew.Shot.load(tmp_path / "shot.thew")):
            soft = each.replace(softness=0.8)
            assert soft.mass_damping != each.mass_damping
            assert_same(soft, wanted)
    assert_same(soft.replace(softness=0.3), thew.Shot(body_of(arm, softness=0.3, **settings), poses, 24.0))


def test_softness_keeps_rest(arm):
    """Tense cells, damping in numbers, carried surfaces and a body given beside it count; None changes nothing."""
    poses, factors = test_pickling.swings(3), np.linspace(1.0, 3.0, len(arm.lattice.cells))
    body = body_of(arm, softness=0.3).with_cell_stiffness(factors)
    number = body.embed_surface(arm.surface)
    shot = thew.Shot(body, poses, 24.0, mass_damping=2.0, stiffness_damping=0.003, name="Arm")
    soft = shot.replace(softness=0.7, name="Soft")
    tense = body_of(arm, softness=0.7).with_cell_stiffness(factors)
    assert_same(soft, thew.Shot(tense, poses, 24.0, mass_damping=2.0, stiffness_damping=0.003))
    assert (soft.name, soft.mass_damping, shot.replace(softness=None).body) == ("Soft", 2.0, body)
    clip = soft.simulate()
    assert clip.positions(1, surface=number).shape == arm.vertices.shape
    other = body_of(arm, stiffness=np.full(len(arm.vertices), 2.0))
    given = shot.replace(body=other, softness=0.6)
    settings = {"stiffness": np.full(len(arm.vertices), 2.0), "softness": 0.6}
    assert_same(given, thew.Shot(body_of(arm, **settings), poses, 24.0, mass_damping=2.0, stiffness_damping=0.003))


def test_softness_of_modal_shot(arm):
    """Given modes belong to one body: another softness takes as many of its own."""
    shot = thew.Shot(
        arm.body, test_pickling.swings(3), 24.0, method="modal", modes=thew.modes(arm.body, 3), engine="cpu"
    )
    soft = shot.replace(softness=0.7)
    assert soft.modes == 3 and soft.simulate().amplitudes.shape == (3, 3)


def test_body_changes_damping_left_to_it(arm):
    """Damping that was left to the body is that of another one; damping in numbers stays."""
    soft = arm.body.with_softness(0.9)
    shot = thew.Shot(arm.body, test_pickling.swings(2), 24.0, stiffness_damping=0.004)
    changed = shot.replace(body=soft)
    assert changed.mass_damping == thew.default_damping(soft)[0] != shot.mass_damping
    assert changed.stiffness_damping == 0.004
    assert shot.replace(mass_damping=1.5).replace(body=soft).mass_damping == 1.5


def test_frames_equal_shot_of_those(arm):
    """A range of frames equals a shot of these poses, with controls, pins, cuts, colliders and run-in."""
    whole = test_pickling.shot_of_all(arm)
    frames = range(1, 4)
    cut = whole.replace(frames=frames)
    collider = thew.Collider(thew.Surface(*shapes.box()), test_pickling.aside(5)[1:4], friction=0.3, thickness=0.01)
    pin = whole.pins[0]
    wanted = thew.Shot(
        arm.body,
        whole.poses[1:4],
        24.0,
        whole.rigs,
        whole.controls[1:4],
        preroll=3,
        contact=whole.contact,
        colliders=[collider],
        restarts=[2],
        pins=[thew.PinTrack(pin.point, pin.targets[1:4], pin.strengths[1:4])],
        max_offset=0.3,
    )
    assert_same(cut, wanted)
    assert (len(cut), cut.restarts, cut.preroll, cut.notes) == (3, [2], 3, {"shot": "010"})
    np.testing.assert_array_equal(cut.controls, wanted.controls)
    for same in (slice(1, 4), slice(-4, -1), slice(1, 4, 1)):
        np.testing.assert_array_equal(whole.replace(frames=same).poses, cut.poses)
    np.testing.assert_array_equal(whole.replace(frames=slice(2, None)).poses, whole.poses[2:])
    assert len(whole.replace(frames=None)) == 5
    # Other changes are made beside it.
    other = whole.replace(frames=frames, controls=np.ones((3, 1)), softness=0.6, rate=480.0)
    assert other.rate == 480.0 and np.all(other.controls == 1.0) and len(other) == 3


def test_frames_refuse_nonsense(arm):
    """Ranges that are none get a sentence, and the shot stays."""
    shot = thew.Shot(arm.body, test_pickling.swings(5), 24.0)
    for wrong in (3, (1, 3), "1:3", [1, 2], range(0, 4, 2), range(3, 0, -1), slice(4, 0, -1), range(-3, 2), 2.0):
        with pytest.raises(thew.InputError, match=r"frames: expected a range of the shot's 5 poses"):
            shot.replace(frames=wrong)
    for wrong in (range(2, 2), range(3, 9), range(7, 9), slice(3, 3), slice(9, None)):
        with pytest.raises(thew.InputError, match=r"shot of 5 poses"):
            shot.replace(frames=wrong)
    with pytest.raises(thew.InputError, match="other poses"):
        shot.replace(frames=range(2), poses=shot.poses)
    cycle = shot.replace(cyclic=True)
    with pytest.raises(thew.InputError, match="part of a cycle"):
        cycle.replace(frames=range(2))
    assert len(cycle.replace(frames=range(2), cyclic=False)) == 2 and len(cycle.replace(frames=range(5))) == 5
    assert len(shot) == 5


def test_softness_refuses_nonsense(arm):
    """A softness that is none gets a sentence."""
    shot = thew.Shot(arm.body, test_pickling.swings(2), 24.0)
    for wrong in (-0.1, 1.1, float("nan"), float("inf"), 10**400):
        with pytest.raises(thew.InputError, match=r"softness|number"):
            shot.replace(softness=wrong)
    for wrong in ("soft", [0.5], {}):
        with pytest.raises((TypeError, thew.InputError)):
            shot.replace(softness=wrong)


def test_replace_refuses_unknown_names(arm):
    """A name that is none is refused with all that there are, before any work, by `Shot` and `simulate` too."""
    poses = test_pickling.swings(2)
    shot = thew.Shot(arm.body, poses, 24.0)
    with pytest.raises(
        TypeError, match=r"Shot\.replace\(\) .* 'sofness'; .* method, rate.*body, poses.*softness, frames$"
    ):
        shot.replace(sofness=0.5, softness="unread")
    for call in (thew.Shot, thew.simulate):
        with pytest.raises(TypeError, match=r"'rgis'; .* method, rate.*; its other arguments are .*\brigs\b"):
            call(arm.body, poses, 24.0, rgis=[])
    with pytest.raises(TypeError, match=r"'colour'; its arguments are .*\bstrength\b"):
        thew.ForceField("wind", colour=1)


def test_replace_rigs_changes_controls(arm):
    """No rigs have no controls; another number of them needs other controls, and is refused by name."""
    shot = test_pickling.shot_of_all(arm)
    assert shot.controls is not None
    bare = shot.replace(rigs=[])
    assert (bare.rigs, bare.controls, len(shot.rigs)) == ([], None, shot.controls.shape[1])
    assert shot.replace(rigs=None).controls is None
    np.testing.assert_array_equal(shot.replace(rigs=iter(shot.rigs)).controls, shot.controls)
    twice = [
        *shot.rigs,
        thew.Rig(thew.Template("radial", radius=0.1, strength=3e4), thew.BoneGuide("upper"), name="Again"),
    ]
    with pytest.raises(thew.InputError, match=r"rigs: controls .* the shot 1, .* 2: give controls"):
        shot.replace(rigs=twice)
    assert len(shot.replace(rigs=twice, controls=np.zeros((5, 2))).rigs) == 2


def test_copy_replace(arm):
    """`copy.replace` takes the same changes."""
    shot = thew.Shot(arm.body, test_pickling.swings(4), 24.0)
    replace = getattr(copy, "replace", lambda thing, **changes: thing.__replace__(**changes))
    assert len(replace(shot, frames=range(1, 3))) == 2


def test_every_argument_is_a_property(arm):
    """Whatever a shot is made of is read back, and makes the same shot again."""
    import inspect

    shot = test_pickling.shot_of_all(arm)
    names = [
        name for name in inspect.signature(thew.Shot).parameters if name not in {"keywords", "softness"}
    ]  # read as stiffness
    again = thew.Shot(**{name: getattr(shot, name) for name in names})
    assert test_pickling.fingerprint(again) == test_pickling.fingerprint(shot)
    for name in thew.SimulationSettings().as_dict():
        assert getattr(shot, name) == shot.settings.as_dict()[name], name
