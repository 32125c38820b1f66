# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pulling the skin: rigs fitted to where points of the surface are wanted, on an arm of flesh and on a character."""

import glb
import numpy as np
import pytest
import shapes
import thew

POSE = shapes.bend(0.8)
TEMPLATES = {
    "bump": {"radius": 0.09, "strength": 2e5},
    "radial": {"radius": 0.09, "strength": -3e5},
    "bulge": {"radius": 0.1, "strength": 3e5},
    "torus": {"ring_radius": 0.08, "tube_radius": 0.05, "strength": 3e5},
}
SIZES = {"strength": 2e4, "along": 0.2, "angle": 0.5, "tilt": 0.5, "roll": 0.5, "rx": 0.5, "ry": 0.5, "rz": 0.5}


def typical_size(name):
    """Returns the typical size of a parameter."""
    return SIZES.get(name, 0.05)


def rig(arm, kind, guide):
    """Builds a rig of a kind of template and guide on the arm."""
    face = int(np.argmin(np.linalg.norm(arm.vertices[arm.triangles].mean(axis=1) - [0.4, 0.0, 0.1], axis=1)))
    frame = np.eye(4)
    frame[:3, 3] = [0.4, 0.01, 0.06]
    made = {
        "bone": thew.BoneGuide("upper", along=0.8, angle=3.1, distance=0.06, tilt=0.1),
        "skin": thew.SkinGuide(face, depth=0.03, roll=0.3, tilt=0.2),
        "free": thew.FreeGuide(frame, ry=0.2),
    }
    return thew.Rig(thew.Template(kind, **TEMPLATES[kind]), made[guide])


@pytest.fixture(params=TEMPLATES)
def kind(request):
    """Returns a kind of template."""
    return request.param


@pytest.fixture(params=["bone", "skin", "free"])
def pulling_rig(arm, kind, request):
    """Builds a rig of each kind of template and guide."""
    return rig(arm, kind, request.param)


@pytest.fixture(scope="module")
def near_vertices(arm):
    """Returns vertices of the surface around the rigs."""
    away = np.linalg.norm(arm.vertices - [0.41, 0.02, 0.1], axis=1)
    return [int(v) for v in np.argsort(away)[:40:8]]


def places(arm, rig, parameters, vertices, method="warped"):
    """Returns positions of the skin by equilibrium and embedding alone."""
    forces = rig.forces(arm.body, parameters=parameters)
    p = arm.lattice.vertices + thew.equilibrium(arm.body, POSE, rest_forces=forces, method=method)
    indices, weights = arm.lattice.embed_surface(arm.surface)
    return np.einsum("nk,nkc->nc", weights[vertices], p[np.maximum(indices[vertices], 0)])


@pytest.mark.parametrize("method", ["warped", "warped_vertex", "linear"])
def test_fit_gradient(arm, pulling_rig, near_vertices, method):
    """The gradient agrees with central differences of a cost computed from `thew.equilibrium`."""
    at = pulling_rig.parameters()
    targets = places(arm, pulling_rig, at, near_vertices, method) + [0.01, -0.005, 0.02]
    preferred = {name: value + 0.2 * typical_size(name) for name, value in at.items()}
    weights = {name: 1e-4 / typical_size(name) ** 2 for name in at}

    def cost(parameters):
        miss = places(arm, pulling_rig, parameters, near_vertices, method) - targets
        off = [weights[name] * (parameters[name] - preferred[name]) ** 2 for name in at]
        return (miss**2).sum() + sum(off)

    points = list(zip(near_vertices, targets, strict=True))
    value, slopes = thew.fit_gradient(
        arm.body, pulling_rig, POSE, points, preferred=preferred, weights=weights, method=method
    )
    assert value == pytest.approx(cost(at), rel=1e-9)
    assert list(slopes) == list(at)
    largest = max(abs(slopes[name]) * typical_size(name) for name in at)
    for name in at:
        step = 2e-5 * typical_size(name)
        ahead, behind = ({**at, name: at[name] + sign * step} for sign in (1.0, -1.0))
        slope = (cost(ahead) - cost(behind)) / (2.0 * step)
        assert abs(slope - slopes[name]) * typical_size(name) < 1e-6 * largest


def test_fit_known_parameters(arm, pulling_rig, near_vertices):
    """A fit from a perturbed start meets the known positions."""
    at = pulling_rig.parameters()
    targets = places(arm, pulling_rig, at, near_vertices)
    shift = {"strength": 0.6 * at["strength"]}
    start = {name: shift.get(name, value + 0.15 * typical_size(name)) for name, value in at.items()}
    size = np.linalg.norm(np.ptp(arm.vertices, axis=0))
    fit = thew.RigFit(arm.body, pulling_rig, POSE)
    for count in (1, 3, 5):
        points = list(zip(near_vertices[:count], targets, strict=False))
        before = np.abs(places(arm, pulling_rig, start, near_vertices[:count]) - targets[:count]).max()
        found = fit.fit(points, start=start)
        after = np.abs(places(arm, pulling_rig, found, near_vertices[:count]) - targets[:count]).max()
        assert before > 2e-4 * size
        assert after < 1e-4 * size
        assert found == thew.fit_rig(arm.body, pulling_rig, POSE, points, start=start)


def test_fit_preferred_values(arm, pulling_rig, near_vertices):
    """Large weights hold parameters at their preferred values."""
    at = pulling_rig.parameters()
    targets = places(arm, pulling_rig, at, near_vertices) + [0.0, 0.0, 0.02]
    preferred = {name: value + 0.1 * typical_size(name) for name, value in at.items()}
    weights = {name: 1e4 / typical_size(name) ** 2 for name in at}
    points = list(zip(near_vertices, targets, strict=True))
    found = thew.fit_rig(arm.body, pulling_rig, POSE, points, preferred=preferred, weights=weights)
    for name, value in found.items():
        assert abs(value - preferred[name]) < 1e-3 * typical_size(name)


def test_fit_bounds(arm, near_vertices):
    """A fit keeps its bounds."""
    pulling = rig(arm, "bump", "skin")
    at = pulling.parameters()
    targets = places(arm, pulling, at, near_vertices) + [0.0, 0.0, 0.05]
    points = list(zip(near_vertices, targets, strict=True))
    bounds = {"strength": (None, 2.2e5), "radius": (at["radius"], at["radius"]), "depth": (0.0, 0.04)}
    found = thew.fit_rig(arm.body, pulling, POSE, points, bounds=bounds)
    assert found["strength"] <= 2.2e5
    assert found["radius"] == at["radius"]
    assert 0.0 <= found["depth"] <= 0.04


def test_fit_shown_positions(arm, near_vertices):
    """Shown positions follow one target anywhere near, and five where parameters can reach them all."""
    pulling = rig(arm, "bump", "skin")
    fit = thew.RigFit(arm.body, pulling, POSE)
    start = fit.positions()
    assert start.dtype == np.float32 and start.shape == arm.vertices.shape
    target = start[near_vertices[0]] + [0.0, 0.0, 0.01]
    shown = fit.positions(fit.fit([(near_vertices[0], target)]))
    assert np.linalg.norm(shown[near_vertices[0]] - target) < 0.1 * 0.01
    at = pulling.parameters()
    known = {name: value + 0.15 * typical_size(name) for name, value in at.items()} | {"strength": 3e5}
    targets = fit.positions(known)[near_vertices]
    assert np.linalg.norm(targets - start[near_vertices], axis=1).max() > 0.01
    shown = fit.positions(fit.fit(list(zip(near_vertices, targets, strict=True))))
    size = np.linalg.norm(np.ptp(arm.vertices, axis=0))
    assert np.linalg.norm(shown[near_vertices] - targets, axis=1).max() < 1e-4 * size


def test_fit_few_evaluations(arm, pulling_rig, near_vertices):
    """Each update of a drag lowers the cost within a few evaluations, and the points follow."""
    at = pulling_rig.parameters()
    near_vertices = near_vertices[:3]
    known = {name: value + 0.15 * typical_size(name) for name, value in at.items()}
    first, last = (places(arm, pulling_rig, parameters, near_vertices) for parameters in (at, known))
    fit = thew.RigFit(arm.body, pulling_rig, POSE)
    parameters = at
    for part in np.linspace(0.0, 1.0, 11)[1:]:
        points = list(zip(near_vertices, first + part * (last - first), strict=True))
        before, _ = fit.gradient(points, parameters)
        assert fit.fit(points, start=parameters, evaluations=1) == parameters
        found = fit.fit(points, start=parameters, evaluations=8)
        assert found == fit.fit(points, start=parameters, evaluations=8)
        after, _ = fit.gradient(points, found)
        assert after < before
        parameters = found
    moved = np.linalg.norm(last - first, axis=1).max()
    left = np.linalg.norm(places(arm, pulling_rig, parameters, near_vertices) - last, axis=1).max()
    assert left < 0.1 * moved


def test_fit_counts_other_rigs(arm, near_vertices):
    """The forces of other rigs count in a fit."""
    first, second = rig(arm, "bump", "skin"), rig(arm, "radial", "bone")
    others = second.forces(arm.body)
    forces = first.forces(arm.body) + others
    p = arm.lattice.vertices + thew.equilibrium(arm.body, POSE, rest_forces=forces)
    indices, weights = arm.lattice.embed_surface(arm.surface)
    targets = np.einsum("nk,nkc->nc", weights[near_vertices], p[np.maximum(indices[near_vertices], 0)])
    points = list(zip(near_vertices, targets, strict=True))
    assert thew.fit_gradient(arm.body, first, POSE, points, rest_forces=others)[0] < 1e-20
    assert thew.fit_gradient(arm.body, first, POSE, points)[0] > 1e-8


def test_fit_refuses_bad_input(arm, near_vertices):
    """Bad points, parameters, bounds and methods are refused with a sentence."""
    pulling = rig(arm, "bump", "bone")
    good = [(near_vertices[0], [0.4, 0.0, 0.15])]
    call = lambda points=good, **rest: thew.fit_rig(arm.body, pulling, POSE, points, **rest)  # noqa: E731
    for sentence, arguments in [
        ("no points", {"points": []}),
        ("vertex 999999", {"points": [(999999, [0.0, 0.0, 0.0])]}),
        ("not finite", {"points": [(near_vertices[0], [0.0, np.nan, 0.0])]}),
        ("list of", {"points": 5}),
        ("list of", {"points": [7]}),
        ("'colour'", {"start": {"colour": 1.0}}),
        ("'depth'", {"preferred": {"depth": 1.0}}),
        ("'colour'", {"weights": {"colour": 1.0}}),
        ("'colour'", {"bounds": {"colour": (0.0, 1.0)}}),
        ("finite", {"start": {"radius": np.inf}}),
        ("zero or positive", {"weights": {"radius": -1.0}}),
        ("leave it no value", {"bounds": {"radius": (2.0, 1.0)}}),
        ("dict", {"weights": 3}),
        ("dict", {"bounds": {"radius": 3}}),
        ("'warped_vertex'", {"method": "nonlinear"}),
        ("'warped_vertex'", {"method": "modal"}),
    ]:
        with pytest.raises(thew.ThewError, match=sentence) as caught:
            call(**arguments)
        assert isinstance(caught.value, ValueError)
    with pytest.raises(thew.InputError, match="whole number"):
        thew.RigFit(arm.body, pulling, POSE).fit(good, evaluations=-1)
    with pytest.raises(thew.OutsideError):
        call(start={"distance": 3.0})
    far = int(np.argmax(arm.vertices[:, 0]))
    assert all(np.isfinite(v) for v in call(points=[(far, [2.0, 0.0, 0.0])]).values())


def test_fit_character_drag():
    """A real character's skin is pulled to the dragged point."""
    c = glb.character("RiggedFigure")
    lattice = thew.Lattice.enclose(c.surface, c.skeleton, c.weights, cells_across=8)
    body = thew.Body(c.surface, c.skeleton, lattice, thew.Material(), region_weights=c.weights)
    pose = np.tile(np.eye(4), (len(c.names), 1, 1))
    pose[1:] = shapes.turn_about([0.1, 0.2, 0.3], c.vertices.mean(axis=0))
    size = np.linalg.norm(np.ptp(c.vertices, axis=0))
    centres = c.vertices[c.triangles].mean(axis=1)
    for spot in np.quantile(c.vertices, [0.45, 0.6], axis=0):
        face = int(np.argmin(np.linalg.norm(centres - spot, axis=1)))
        pulling = thew.Rig(
            thew.Template("bump", radius=0.06 * size, strength=2e4), thew.SkinGuide(face, depth=0.01 * size)
        )
        fit = thew.RigFit(body, pulling, pose)
        vertices = [int(c.triangles[face][0])]
        start = fit.positions()[vertices]
        parameters = None
        for part in (0.25, 0.5, 1.0):
            targets = start + part * 0.01 * size * np.array([0.6, 0.0, 0.8])
            points = list(zip(vertices, targets, strict=True))
            before, _ = fit.gradient(points, parameters)
            parameters = fit.fit(points, start=parameters)
            after, _ = fit.gradient(points, parameters)
            assert all(np.isfinite(v) for v in parameters.values())
            assert after <= before
        assert np.sqrt(after) < 0.1 * 0.01 * size
        assert np.isfinite(fit.positions(parameters)).all()
