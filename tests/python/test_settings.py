# SPDX-License-Identifier: MIT OR Apache-2.0
"""Settings of simulations: one object, whose every setting is taken, kept and returned everywhere."""

import copy
import pickle

import numpy as np
import pytest
import shapes
import thew

FPS = 24.0
#: A value of each setting, other than its default. A new setting needs a line here.
OTHERS = {
    "method": "modal",
    "rate": 480.0,
    "gravity": (0.0, 0.5, -3.0),
    "mass_damping": 2.5,
    "stiffness_damping": 0.0125,
    "max_offset": 0.25,
    "solver": "cg",
    "elastic_joints": 0.5,
    "form": "vertex",
    "precision": "f16",
    "engine": "cpu",
}
EVERY = pytest.mark.parametrize("name", OTHERS)


@pytest.fixture(scope="module")
def poses():
    """Returns two poses of the arm."""
    return np.stack([shapes.bend(0.1 * frame) for frame in range(2)])


def test_others_cover_every_setting():
    """The table of other values has one for every setting."""
    assert set(OTHERS) == set(thew.SimulationSettings().as_dict())


@EVERY
def test_setting_in_every_representation(name):
    """A setting is in every representation of the settings: dictionary, text, pickle, copy and digest."""
    usual, changed = thew.SimulationSettings(), thew.SimulationSettings(**{name: OTHERS[name]})
    assert getattr(changed, name) == OTHERS[name] != getattr(usual, name)
    assert changed.as_dict() == usual.as_dict() | {name: OTHERS[name]}
    assert repr(changed) == f"thew.SimulationSettings({name}={OTHERS[name]!r})"
    same = [
        eval(repr(changed)),
        usual.replace(**{name: OTHERS[name]}),
        thew.SimulationSettings(**changed.as_dict()),
        pickle.loads(pickle.dumps(changed)),
        copy.copy(changed),
        copy.deepcopy(changed),
    ]
    for one in same:
        assert (one, hash(one), one.digest()) == (changed, hash(changed), changed.digest())
    assert changed != usual and changed.digest() != usual.digest() and len(changed.digest()) == 16
    with pytest.raises(AttributeError):
        setattr(changed, name, getattr(usual, name))


@EVERY
def test_setting_kept_in_files(arm, poses, name, tmp_path):
    """A setting is kept in shots, clips and their files."""
    # The way of showing modes belongs to their method.
    settings = thew.SimulationSettings(method="modal", engine="cpu").replace(**{name: OTHERS[name]})
    shot = thew.Shot(arm.body, poses, FPS, modes=2, settings=settings)
    shot.save(tmp_path / "shot")
    again = thew.Shot.load(tmp_path / "shot")
    clip = again.simulate()
    clip.save(tmp_path / "clip")
    for one in (shot, again, clip, thew.Clip.load(tmp_path / "clip"), shot.replace(notes={"a": "b"})):
        assert getattr(one.settings, name) == OTHERS[name]
        assert one.settings == shot.settings
    assert getattr(again, name) == OTHERS[name] == getattr(shot.replace(**{name: OTHERS[name]}), name)


@EVERY
def test_setting_taken_everywhere(arm, poses, name):
    """A setting is taken by every function, as a keyword and in an object."""
    body, given = arm.body, {name: OTHERS[name]}
    takers = [
        lambda **settings: thew.Simulation(body, **settings).settings,
        lambda **settings: thew.simulate(body, poses, FPS, **settings).settings,
        lambda **settings: thew.Shot(body, poses, FPS, **settings).settings,
        lambda **settings: thew.simulate_scene([body], [poses], FPS, **settings)[0].settings,
        lambda **settings: thew.Scene([body], **settings) and thew.SimulationSettings(**given),
    ]
    for index, taker in enumerate(takers):
        if name == "method" and index > 2:
            with pytest.raises(thew.InputError, match="modal"):
                taker(**given)
            continue
        found = [taker(**given), taker(settings=thew.SimulationSettings(**given))]
        # A keyword replaces that setting.
        found.append(taker(settings=thew.SimulationSettings(), **given))
        assert [getattr(one, name) for one in found] == [OTHERS[name]] * 3


def test_damping_default_of_body(arm, poses):
    """Damping that is not given is the body's own."""
    usual = thew.default_damping(arm.body)
    for settings in (thew.Simulation(arm.body).settings, thew.simulate(arm.body, poses, FPS).settings):
        assert (settings.mass_damping, settings.stiffness_damping) == usual
    assert thew.SimulationSettings().mass_damping is None


def test_settings_object_equals_keywords(arm, poses):
    """Settings given as an object and as keywords give the same motion."""
    by_name = thew.simulate(arm.body, poses, FPS, rate=120.0, max_offset=0.2)
    by_object = thew.simulate(arm.body, poses, FPS, settings=thew.SimulationSettings(rate=120.0, max_offset=0.2))
    np.testing.assert_array_equal(np.asarray(by_name), np.asarray(by_object))


def test_device_joins_engine():
    """A device becomes part of the engine's name."""
    assert thew.SimulationSettings(engine="gpu", device="7").engine == "gpu:7"
    assert thew.SimulationSettings(engine="cpu", device="7").engine == "cpu"
    assert thew.SimulationSettings(engine="gpu").replace(device=" ").engine == "gpu"


def test_settings_digest_stable():
    """The digest of the default settings never changes: caches of users hold it."""
    # Written down once: caches of users hold them.
    assert thew.SimulationSettings().digest().hex() == "ac36a16423f823a02872b9a63932c5b9"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (
            {"colour": "red"},
            TypeError,
            "unexpected keyword argument 'colour'; the settings of a simulation are method, rate",
        ),
        ({"rate": "fast"}, TypeError, "argument 'rate'"),
        ({"rate": 0.0}, thew.InputError, "rate must be between 1 and 100000"),
        ({"gravity": (0.0, 1.0)}, thew.InputError, "gravity"),
        ({"method": "magic"}, thew.InputError, "'warped', 'linear'"),
        ({"engine": "tpu"}, thew.InputError, "'gpu:NAME'"),
        ({"settings": {"rate": 1.0}}, TypeError, "settings"),
    ],
)
def test_settings_refuse_bad_values(arm, poses, given, error, words):
    """Unknown and bad settings are refused by name."""
    with pytest.raises(error, match=words):
        thew.simulate(arm.body, poses, FPS, **given)
    if "settings" not in given:
        with pytest.raises(error, match=words):
            thew.SimulationSettings(**given)


def test_simulate_argument_errors(arm, poses):
    """Missing, doubled and surplus arguments are refused by name."""
    with pytest.raises(TypeError, match="required argument 'fps'"):
        thew.simulate(arm.body, poses)
    with pytest.raises(TypeError, match="multiple values for argument 'fps'"):
        thew.simulate(arm.body, poses, FPS, fps=FPS)
    with pytest.raises(TypeError, match="at most 8 positional"):
        thew.simulate(arm.body, poses, FPS, None, None, 0, False, None, "warped")
