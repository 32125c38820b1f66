# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rigs: templates, guides, samples, forces and files, on an arm of flesh."""

import re

import glb
import numpy as np
import pytest
import thew

from tools.shell import ROOT


def frame_at(*place):
    """Returns a frame at a place."""
    frame = np.eye(4)
    frame[:3, 3] = place
    return frame


TEMPLATES = [spec.name for spec in thew.templates()]


def template(kind):
    """Builds a template of a kind, sized for the arm."""
    return thew.Template.sized(kind, 0.06, 2e4)


def guides(arm):
    """Returns one guide of each kind, in the flesh of the arm."""
    face = int(np.argmin(np.linalg.norm(arm.vertices[arm.triangles].mean(axis=1) - [0.3, 0.0, 0.1], axis=1)))
    return {
        "bone": thew.BoneGuide("upper", along=0.4, angle=0.3, distance=0.03, tilt=0.2),
        "skin": thew.SkinGuide(face, (0.2, 0.3, 0.5), depth=0.02, roll=0.4, tilt=0.1),
        "free": thew.FreeGuide(frame_at(0.3, 0.0, 0.02), x=0.01, ry=0.3),
    }


def test_registry_describes_kinds(arm):
    """The tables of templates and guides have the names, units and defaults of the objects, and the stub lists the same kinds."""
    for spec in thew.templates():
        made = thew.Template(spec.name, **{p.name: p.default for p in spec.parameters})
        assert list(made.parameters) == [p.name for p in spec.parameters]
        assert list(made.units.values()) == [p.unit for p in spec.parameters]
        lines = made.outline()
        assert lines.shape[1:] == (2, 3)
        assert np.linalg.norm(lines, axis=2).max() == pytest.approx(made.support_radius, rel=1e-9)
        assert made.depth <= 2.0 * made.support_radius
    stub = (ROOT / "python" / "thew" / "__init__.pyi").read_text(encoding="utf-8")
    kinds = re.search(r"^_Template: TypeAlias = Literal\[(.*)\]", stub, re.MULTILINE)[1]
    assert [kind.strip('"') for kind in kinds.split(", ")] == TEMPLATES
    plain = {"bone": thew.BoneGuide("upper"), "skin": thew.SkinGuide(0), "free": thew.FreeGuide(np.eye(4))}
    for spec in thew.guides():
        assert plain[spec.name].parameters == {p.name: p.default for p in spec.parameters}
    ends = thew.BoneGuide("upper"), thew.BoneGuide("lower")
    muscle = thew.muscle(*ends, radius=0.1)
    assert [spec.name for spec in thew.rig_kinds()] == ["sculpted", muscle.kind]
    assert muscle.parameters() == {p.name: p.default for p in thew.rig_kinds()[1].parameters}
    for spec in (*thew.templates(), *thew.guides(), *thew.rig_kinds()):
        for text in (spec.label, spec.doc, spec.icon, *(t for p in spec.parameters for t in (p.label, p.doc))):
            assert text and not text.endswith(".")
        for p in spec.parameters:
            assert p.range[0] <= p.default <= p.range[1]


@pytest.mark.parametrize("guide", ["bone", "skin", "free"])
@pytest.mark.parametrize("kind", TEMPLATES)
def test_template_forces_by_every_guide(arm, kind, guide):
    """Every template gives finite forces with every guide."""
    rig = thew.Rig(template(kind), guides(arm)[guide])
    forces = rig.forces(arm.body)
    assert forces.shape == (arm.body.node_count, 3)
    assert np.isfinite(forces).all() and np.abs(forces).max() > 0.0
    assert rig.check(arm.body) == []
    turn = rig.frame(arm.body)[:3, :3]
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) > 0.0


@pytest.mark.parametrize("kind", TEMPLATES)
def test_forces_match_field(arm, kind):
    """Total force and first moment are those of the field, summed over a fine grid of the flesh."""
    rig = thew.Rig(template(kind), thew.FreeGuide(frame_at(0.31, 0.01, 0.06), ry=0.4))
    h = 0.0022
    steps = np.arange(-0.11, 0.11, h) + h / 2
    grid = np.stack(np.meshgrid(steps + 0.31, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = arm.surface.winding_number(grid) > 0.5
    grid = grid[inside]
    field = template(kind).force(grid, rig.frame(arm.body)) * h**3
    rest = arm.lattice.vertices
    forces = rig.forces(arm.body)
    strong = np.abs(field).sum()
    np.testing.assert_allclose(forces.sum(axis=0), field.sum(axis=0), atol=0.01 * strong)
    np.testing.assert_allclose(rest.T @ forces, grid.T @ field, atol=0.01 * 0.1 * strong + 0.01 * 0.31 * strong)


def test_forces_vjp(arm):
    """The pulled-back derivatives agree with differences of the forces."""
    rng = np.random.default_rng(3)
    field = rng.standard_normal((arm.body.node_count, 3))
    for kind in TEMPLATES:
        for guide in guides(arm).values():
            rig = thew.Rig(template(kind), guide)
            # Away from the radius where the quadrature changes its level.
            derivatives = rig.forces_vjp(arm.body, field)
            assert tuple(derivatives) == rig.parameter_names
            size = np.abs(field * rig.forces(arm.body)).sum()
            for name, value in rig.parameters().items():
                step = 1e-5 * (value if "radius" in name or name == "strength" else 0.1)
                moved = [(field * rig.forces(arm.body, parameters={name: value + s})).sum() for s in (step, -step)]
                slope = (moved[0] - moved[1]) / (2 * step)
                assert abs(slope - derivatives[name]) < 1e-6 * size / (step / 1e-5), (kind, guide, name)


def test_samples_interpolate(arm):
    """Samples are linear in between and constant outside."""
    rig = thew.Rig(
        template("bump"),
        thew.BoneGuide("upper", distance=0.05),
        samples=[(0.0, {"strength": 0.0}), (1.0, {"strength": 1e4, "along": 0.7}), (3.0, {"radius": 0.07})],
        name="Biceps",
    )
    assert rig.name == "Biceps"
    assert rig.parameters(0.5)["strength"] == 5e3
    assert rig.parameters(0.5)["along"] == pytest.approx(0.6)
    assert rig.parameters(-7.0) == rig.parameters(0.0)
    assert rig.parameters(9.0) == rig.parameters(3.0) == rig.parameters()
    assert rig.parameters(2.0)["radius"] == pytest.approx(0.065)
    assert not rig.forces(arm.body, 0.0).any()
    np.testing.assert_allclose(rig.forces(arm.body, 0.5, {"along": 0.7}), rig.forces(arm.body, 1.0) / 2, atol=1e-12)


def test_rig_refuses_bad_input(arm):
    """Bad templates, guides and samples are refused with a sentence."""
    bump = template("bump")
    free = thew.FreeGuide(np.eye(4))
    for make, words in [
        (lambda: thew.Template("blob", radius=1.0), "'torus'"),
        (lambda: thew.Template("bump", radius=1.0), "'strength' is missing"),
        (lambda: thew.Template("bump", radius=0.0, strength=1.0), "positive"),
        (lambda: thew.Template("bump", radius=float("nan"), strength=1.0), "finite"),
        (lambda: thew.Template("bump", radios=0.1, strength=1.0), "radius, strength"),
        (lambda: thew.Template("torus", ring_radius=1.0, tube_radius=1.0, strength=1.0), "smaller"),
        (lambda: thew.BoneGuide("upper", along=float("inf")), "along"),
        (lambda: thew.SkinGuide(0, (0.5, 0.5, 0.5)), "sum to one"),
        (lambda: thew.FreeGuide(np.diag([1.0, 2.0, 1.0, 1.0])), "scales"),
        (lambda: thew.FreeGuide(np.diag([-1.0, 1.0, 1.0, 1.0])), "mirrors"),
        (lambda: thew.FreeGuide(np.diag([1.0, 0.0, 1.0, 1.0])), "singular"),
        (lambda: thew.Rig(bump, free, samples=[(0.0, {}), (0.0, {})]), "no two may share a control"),
        (lambda: thew.Rig(bump, free, samples=[(float("nan"), {})]), "sample 0"),
        (lambda: thew.Rig(bump, free, samples=[(0.0, {"radios": 1.0})]), "radius, strength, x"),
        (lambda: thew.Rig(bump, free, samples=[(0.0, {"radius": -1.0})]), "sample 0"),
        (lambda: thew.Rig(bump, free).parameters(float("nan")), "control"),
        (lambda: thew.Rig(bump, thew.BoneGuide("wing")).forces(arm.body), "'wing'"),
        (lambda: thew.Rig(bump, thew.BoneGuide(7)).forces(arm.body), "2 bones"),
        (lambda: thew.Rig(bump, thew.SkinGuide(10**6)).forces(arm.body), "triangles"),
    ]:
        with pytest.raises(thew.RigError, match=words) as raised:
            make()
        assert isinstance(raised.value, ValueError)
    with pytest.raises(thew.InputError):
        thew.Rig(bump, "upper")


def test_template_outside_flesh(arm):
    """A template outside the flesh is refused, and `check` says so."""
    rig = thew.Rig(template("bump"), thew.FreeGuide(frame_at(0.0, 0.0, 5.0)), name="Lost")
    with pytest.raises(thew.OutsideError, match="outside the flesh"):
        rig.forces(arm.body)
    [sentence] = rig.check(arm.body)
    assert "'Lost'" in sentence and "outside" in sentence
    [sentence] = thew.Rig(template("bump"), thew.BoneGuide("wing")).check(arm.body)
    assert "'wing'" in sentence


def test_rigs_file_round_trip(arm, tmp_path):
    """Rigs read from a file equal those saved."""
    rigs = [
        thew.Rig(
            template(kind),
            guide,
            samples=[(-0.1, {"strength": 0.0}), (1 / 3, {})] if kind != "bump" else None,
            name=f"{kind} \"{name}\" é\n'x'",
        )
        for kind in TEMPLATES
        for name, guide in guides(arm).items()
    ]
    path = tmp_path / "face.toml"
    thew.save_rigs(path, rigs)
    assert thew.load_rigs(path) == rigs
    thew.save_rigs(path, [])
    assert thew.load_rigs(path) == []
    assert [p.name for p in tmp_path.iterdir()] == ["face.toml"]
    with pytest.raises(thew.StorageError):
        thew.load_rigs(tmp_path / "none.toml")
    with pytest.raises(thew.StorageError):
        thew.save_rigs(tmp_path / "no folder" / "a.toml", rigs)


def test_load_rigs_names_bad_key(tmp_path):
    """A file with an unknown key or bad value is refused by line and name."""
    path = tmp_path / "a.toml"
    good = (
        'format = 1\n[[rigs]]\nname = "A"\n[rigs.template]\nkind = "bump"\nradius = 0.1\nstrength = 1.0\n'
        '[rigs.guide]\nkind = "bone"\nbone = "arm"\n[[rigs.samples]]\ncontrol = 0\n'
    )
    path.write_text(good)
    [rig] = thew.load_rigs(path)
    assert rig.samples == [(0.0, rig.parameters())]
    for old, new, line, word in [
        ("radius", "radios", 6, "radios"),
        ("radius = 0.1", "radius = nan", 6, "radius"),
        ("radius = 0.1", "radius = -0.1", 6, "radius"),
        ("format = 1", "format = 2", 1, "format"),
        ("control = 0", "control = 0\nspeed = 1", 13, "speed"),
        ("control = 0", "control = 0\n[[rigs.samples]]\ncontrol = 0", 14, "no two may share a control"),
        ('kind = "bone"', 'kind = "bone"\nface = 3', 10, "face"),
        ('bone = "arm"', "", 8, "bone"),
        ("strength = 1.0\n", "", 4, "strength"),
        ('"bump"', '"bump', 5, ""),
    ]:
        path.write_text(good.replace(old, new, 1))
        with pytest.raises(thew.RigFileError, match=f"a.toml, line {line}: .*{word}"):
            thew.load_rigs(path)


def test_load_rigs_refuses_binary(tmp_path):
    """A file that is not text is refused."""
    path = tmp_path / "a.toml"
    path.write_bytes(b"format = 1\n# \xff\xfe\x00")
    with pytest.raises(thew.RigFileError, match=r"line 2: .*text"):
        thew.load_rigs(path)


def test_samples_order_irrelevant():
    """Samples given in any order make the same rig."""
    bump, guide = thew.Template("bump", radius=0.1, strength=2.0), thew.FreeGuide(np.eye(4))
    samples = [(1.0, {}), (-1.0, {"strength": 0.0}), (0.5, {"radius": 0.3})]
    assert thew.Rig(bump, guide, samples=samples) == thew.Rig(bump, guide, samples=sorted(samples, key=lambda s: s[0]))


def test_body_keeps_surface(arm, tmp_path):
    """A saved body keeps its surface, so that rigs push it alike."""
    path = tmp_path / "arm.thew"
    arm.body.save(path)
    again = thew.Body.load(path)
    for body in (arm.body, again, again.stiffened(2.0)):
        assert np.array_equal(body.surface.vertices, arm.vertices)
        assert np.array_equal(body.surface.triangles, arm.triangles)
    rig = thew.Rig(template("torus"), guides(arm)["skin"])
    assert np.array_equal(rig.forces(again), rig.forces(arm.body))


@pytest.fixture(scope="module", params=["Fox", "q_bull", "mh_male_heavy"])
def character(request):
    """Builds a real character with its lattice and body."""
    c = glb.character(request.param)
    c.lattice = thew.Lattice.enclose(c.surface, c.skeleton, c.weights, cells_across=8)
    c.body = thew.Body(c.surface, c.skeleton, c.lattice, thew.Material(), region_weights=c.weights)
    return c


def test_template_forces_on_characters(character):
    """Every template pushes real characters with every guide, with the right derivative by strength."""
    body, size = character.body, character.surface.size
    bone = int(np.argmax(character.weights.sum(axis=0)))
    corners = character.vertices[character.triangles]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    face = int(np.argmax(areas))
    middle = np.eye(4)
    middle[:3, 3] = corners[face].mean(axis=0)
    for kind, radii in [
        ("bump", {"radius": 0.05 * size}),
        ("radial", {"radius": 0.03 * size}),
        ("bulge", {"radius": 0.08 * size}),
        ("torus", {"ring_radius": 0.06 * size, "tube_radius": 0.02 * size}),
    ]:
        field = thew.Template(kind, strength=1e4, **radii)
        for guide in [
            thew.BoneGuide(character.skeleton.names[bone], along=0.4),
            thew.SkinGuide(face, depth=0.005 * size),
            thew.FreeGuide(middle),
        ]:
            rig = thew.Rig(field, guide)
            forces = rig.forces(body)
            assert np.isfinite(forces).all() and np.abs(forces).max() > 0.0, (kind, guide)
            pulled = rig.forces_vjp(body, forces)
            assert np.isfinite(list(pulled.values())).all()
            # Forces grow with the strength: the derivative of half their square is their square over it.
            assert pulled["strength"] == pytest.approx((forces**2).sum() / 1e4, rel=1e-9)
