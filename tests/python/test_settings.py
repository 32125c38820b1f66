# SPDX-License-Identifier: MIT OR Apache-2.0
"""Settings of simulations, bodies and motions: one object each, whose every setting is taken, kept and returned everywhere."""

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
    "adapt": "strain",
    "adapt_strain": (0.01, 0.02, 0.5),
}
EVERY = pytest.mark.parametrize("name", OTHERS)


#: The same of bodies and motions through keyframes: class, name, value.
KEPT = [
    (thew.BodySettings, "region_weights", [[0.5, 0.5], [1.0, 0.0]]),
    *((thew.BodySettings, name, [1.0, 2.0]) for name in ("stiffness", "density", "poisson", "flesh", "hard")),
    (thew.BodySettings, "twist", {"upper": {"radius": 0.1, "strength": 2.0}}),
    (thew.BodySettings, "twist", [{"radius": None, "strength": 0.0}, None]),
    (thew.BodySettings, "rest_includes_gravity", False),
    (thew.BodySettings, "level", 2),
    (thew.BodySettings, "basis_levels", 2),
    (thew.BodySettings, "softness", 0.5),
    (thew.BodySettings, "kind", "toon"),
    (thew.SpacetimeSettings, "stiffness", 2.0),
    (thew.SpacetimeSettings, "damping", (0.5, 0.1)),
    (thew.SpacetimeSettings, "gravity", (0.0, 0.5, -3.0)),
    (thew.SpacetimeSettings, "modes", 3),
    (thew.SpacetimeSettings, "start_velocity", [0.0, 0.0, 1.0]),
    (thew.SpacetimeSettings, "end_velocity", [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    (thew.SpacetimeSettings, "velocities", {1: [0.0, 0.0, 1.0], 2: None, 3: (None, [1.0, 0.0, 0.0])}),
    (thew.SpacetimeSettings, "fixed", [True, False]),
    (thew.SpacetimeSettings, "fixed", [0, 3]),
    (thew.SpacetimeSettings, "cyclic", True),
    (thew.SpacetimeSettings, "ghosts", "auto"),
    (thew.SpacetimeSettings, "ghosts", [(0.5, [[0.0, 0.0, 1.0]])]),
    (thew.SpacetimeSettings, "rigid", False),
    (thew.SpacetimeSettings, "rigid", True),
    (thew.SpacetimeSettings, "rest", "keyframes"),
    (thew.SpacetimeSettings, "unit", 0.01),
]


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
        ({"method": "magic"}, thew.InputError, "'warped', 'blended'"),
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


def plain(value):
    """Returns a value with lists in place of arrays."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return type(value)(map(plain, value)) if isinstance(value, (list, tuple)) else value


def test_kept_cover_every_setting():
    """The table of kept values has each setting of bodies and motions."""
    for kind in (thew.BodySettings, thew.SpacetimeSettings):
        assert {name for owner, name, _ in KEPT if owner is kind} == set(kind().as_dict())


@pytest.mark.parametrize(("kind", "name", "value"), KEPT)
def test_kept_setting_in_every_representation(kind, name, value):
    """A setting of a body or a motion is in every representation of the settings and equal to itself alone."""
    usual, changed = kind(), kind(**{name: value})
    assert plain(getattr(changed, name)) == value != plain(getattr(usual, name))
    assert repr(usual) == f"thew.{kind.__name__}()" and repr(changed).startswith(f"thew.{kind.__name__}({name}=")
    same = [
        usual.replace(**{name: value}),
        kind(**changed.as_dict()),
        pickle.loads(pickle.dumps(changed)),
        copy.copy(changed),
        copy.deepcopy(changed),
    ]
    assert all(one == changed for one in same) and changed != usual
    with pytest.raises(AttributeError):
        setattr(changed, name, value)
    with pytest.raises(TypeError, match=f"'colour'; the settings of a .* are {next(iter(usual.as_dict()))}, "):
        kind(colour="red")


def test_body_settings_object_equals_keywords(arm):
    """A body takes its settings as an object and as keywords, which replace those of the object."""
    parts = (arm.surface, arm.skeleton, arm.lattice, thew.Material())
    flesh = np.linspace(0.0, 1.0, len(arm.vertices))
    settings = thew.BodySettings(region_weights=arm.weights, flesh=flesh, level=0)
    by_name = thew.Body(*parts, arm.weights, flesh=flesh, level=1)
    for by_object in (
        thew.Body(*parts, settings=settings, level=1),
        thew.Body(*parts, None, settings=settings.replace(level=1)),
    ):
        for one, other in zip(by_name.mass(), by_object.mass(), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(by_name.region_weights, by_object.region_weights)
    with pytest.raises(thew.InputError, match="region_weights: expected an array of shape"):
        thew.Body(*parts, settings=thew.BodySettings(region_weights=arm.weights[:, :1]))
    with pytest.raises(TypeError, match="required argument 'material'"):
        thew.Body(*parts[:3])
    with pytest.raises(TypeError, match="at most 5 positional"):
        thew.Body(*parts, None, None)


def test_spacetime_settings_object_equals_keywords():
    """A motion takes its settings as an object and as keywords, which replace those of the object."""
    shell = thew.Shell(*shapes.box())
    keys, times = np.stack([shell.vertices, shell.vertices * [1.0, 1.2, 0.9]]), [0.0, 1.0]
    settings = thew.SpacetimeSettings(stiffness=40.0, damping=(0.5, 0.0), start_velocity=[0.0, 0.0, 1.0], modes=2)
    by_name = thew.Spacetime(shell, keys, times, 40.0, (0.5, 0.0), start_velocity=[0.0, 0.0, 1.0], modes=2)(0.5)
    other = settings.replace(stiffness=3.0)
    for by_object in (
        thew.Spacetime(shell, keys, times, settings=settings),
        thew.Spacetime(shell, keys, times, None, None, settings=settings),
        thew.Spacetime(shell, keys, times, 40.0, settings=other),
        thew.Spacetime(shell, keys, times, settings=other, stiffness=40.0),
    ):
        np.testing.assert_array_equal(by_object(0.5), by_name)
    with pytest.raises(thew.InputError, match="fixed: there is no vertex 99"):
        thew.Spacetime(shell, keys, times, settings=thew.SpacetimeSettings(fixed=[99]))
