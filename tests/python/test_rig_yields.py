# SPDX-License-Identifier: MIT OR Apache-2.0
"""The yields of rigs: measured by balances, kept on other bodies and in files, never so large that flesh folds."""

import numpy as np
import pytest
import shapes
import thew

STILL = [0.0, 0.0, 0.0]


def push(kind="bump", strength=2e5, along=0.6, **lengths):
    """Builds a rig on the arm whose second sample does half as much as its last."""
    lengths = lengths or ({"ring_radius": 0.08, "tube_radius": 0.05} if kind == "torus" else {"radius": 0.1})
    template = thew.Template(kind, strength=strength, **lengths)
    guide = thew.BoneGuide("upper", along=along, angle=3.1, distance=0.05)
    return thew.Rig(template, guide, [(0.0, {"strength": 0.0}), (0.5, {"strength": 0.5 * strength}), (1.0, {})])


def skin_displacement(body, rig, gamma=None):
    """Returns the largest displacement of the skin in balance at rest."""
    balance = thew.Equilibrium(body)
    skins = []
    for forces in (None, rig.forces(body, gamma)):
        balance.solve(rest_forces=forces, gravity=STILL)
        skins.append(np.asarray(balance.positions(), float))
    return np.linalg.norm(skins[1] - skins[0], axis=1).max()


def least_volume_ratio(arm, body, forces, pose=None):
    """Returns the least volume of a cell with positive volume without forces, over that at rest."""
    balance = thew.Equilibrium(body)
    if pose is not None:
        balance.set_pose(pose)
    x, cells = np.asarray(arm.lattice.vertices), np.asarray(arm.lattice.cells)[:, :4]

    def volumes(q):
        p = x + q
        return np.linalg.det(p[cells[:, 1:]] - p[cells[:, :1]])

    rest = volumes(0.0)
    before = volumes(balance.solve()) / rest
    after = volumes(balance.solve(rest_forces=forces)) / rest
    return (after[before > 0.6]).min()


@pytest.mark.parametrize("kind", ["bump", "radial", "bulge", "torus"])
def test_yield_is_skin_displacement(arm, kind):
    """A rig's yield is the largest displacement of the skin."""
    rig = push(kind)
    yields = rig.peak_displacements(arm.body)
    assert yields.shape == (3,) and yields[0] == 0.0
    for gamma, wanted in zip((0.5, 1.0), yields[1:], strict=True):
        assert skin_displacement(arm.body, rig, gamma) == pytest.approx(wanted, rel=1e-4)  # shown in single precision
    assert rig.compliance(arm.body) * 2e5 == pytest.approx(yields[2], rel=1e-12)
    assert rig.compliance(arm.body, parameters={"radius" if kind != "torus" else "tube_radius": 0.06}) > 0.0
    backwards = push(kind, strength=-2e5).peak_displacements(arm.body)
    assert backwards == pytest.approx(-yields)


def test_yield_kept_on_other_flesh(arm):
    """A rig keeps its yields on softer and on painted flesh."""
    rig = push()
    wanted = rig.peak_displacements(arm.body)
    paint = 1.0 + 4.0 * (arm.vertices[:, 0] > 0.3)
    others = [
        thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(young=10e3)),
        thew.Body(arm.surface, arm.skeleton, arm.lattice, thew.Material(), stiffness=paint),
    ]
    for body in others:
        assert abs(skin_displacement(body, rig) / wanted[2] - 1.0) > 0.3
        kept = rig.with_peak_displacements(body, wanted)
        assert skin_displacement(body, kept) == pytest.approx(wanted[2], rel=1e-4)
        assert kept.peak_displacements(body) == pytest.approx(wanted)
        assert kept.parameters(1.0)["radius"] == rig.parameters(1.0)["radius"]
    half = rig.with_peak_displacements(arm.body, [None, None, 0.5 * wanted[2]])
    assert half.parameters(0.5) == rig.parameters(0.5)
    assert half.parameters(1.0)["strength"] == pytest.approx(1e5)


def test_strength_clamped_before_folding(arm):
    """A rig that would fold flesh pushes as hard as the flesh bears."""
    rig = push(strength=1e9)
    low, high = rig.strength_range(arm.body)
    assert low < 0.0 < high < 1e8
    kept = rig.clamped(arm.body)
    assert kept.parameters(1.0)["strength"] == pytest.approx(high)
    assert push().clamped(arm.body) == push()
    assert least_volume_ratio(arm, arm.body, kept.forces(arm.body)) == pytest.approx(0.3, abs=1e-6)
    poses = np.tile(np.eye(4), (3, 2, 1, 1))
    clip = thew.simulate(arm.body, poses, fps=24, rigs=[rig])
    same = thew.simulate(arm.body, poses, fps=24, rigs=[kept])
    assert np.array_equal(clip.positions(2), same.positions(2))
    assert not same.warnings
    assert any("'Rig' at control 1" in said and "fold" in said for said in clip.warnings)


def test_fit_stops_before_folding(arm):
    """A pull that goes too far folds nothing and reports the share that it reached."""
    rig = push("bump", strength=1e4, along=0.95, radius=0.08)
    vertex = int(np.linalg.norm(arm.vertices - [0.47, 0.0, 0.1], axis=1).argmin())
    pose = shapes.bend(0.8)
    fit = thew.RigFit(arm.body, rig, pose)
    assert fit.reached is None and fit.folding is None
    start = np.asarray(fit.positions(), float)[vertex]
    for way in ([0.0, 0.0, 0.5], [0.4, 0.0, 0.3]):
        found = fit.fit([(vertex, start + way)])
        reached = fit.reached
        there = np.asarray(fit.positions(found), float)[vertex]
        assert 0.0 < reached < 1.0
        assert 1.0 - reached == pytest.approx(np.linalg.norm(there - start - way) / np.linalg.norm(way), rel=1e-3)
        assert least_volume_ratio(arm, arm.body, rig.forces(arm.body, parameters=found), pose) > 0.299
        assert abs(found["strength"]) < 1e7
    near = fit.fit([(vertex, start + [0.0, 0.0, 1e-3])])
    assert fit.reached > 0.99 and not fit.folding
    assert abs(near["strength"]) < 1e6


def test_yields_file_other_body(arm, tmp_path):
    """A file carries yields to other bodies."""
    path = tmp_path / "rigs.toml"
    rigs = [push(), thew.Rig(thew.Template("bump", radius=0.1, strength=1e5), thew.BoneGuide("upper"))]
    thew.save_rigs(path, rigs, arm.body)
    text = path.read_text(encoding="utf-8")
    assert text.count("yields = ") == 2 + 3 and text.count("strength = ") == 2 + 3
    assert thew.load_rigs(path) == rigs == thew.load_rigs(path, arm.body)
    parts = arm.surface, arm.skeleton, arm.lattice, thew.Material(young=5e3)
    softer = thew.Body(*parts, region_weights=arm.weights, flesh=np.ones(len(arm.vertices)))
    for rig, made in zip(rigs, thew.load_rigs(path, softer), strict=True):
        assert made.peak_displacements(softer) == pytest.approx(rig.peak_displacements(arm.body))
        assert made.parameters()["strength"] == pytest.approx(0.25 * rig.parameters()["strength"])
        assert made.template.parameters["strength"] == pytest.approx(0.25 * rig.template.parameters["strength"])


RIG = """format = 1
[[rigs]]
name = "Pad"
[rigs.template]
kind = "bump"
radius = 0.1
{template}
[rigs.guide]
kind = "bone"
bone = "{bone}"
distance = 0.05
{samples}
"""


def write_rigs(tmp_path, template, samples="", bone="upper"):
    """Writes a file with one rig, and returns its path."""
    path = tmp_path / "rigs.toml"
    path.write_text(RIG.format(template=template, samples=samples, bone=bone), encoding="utf-8")
    return path


def test_yields_replace_strengths_in_file(arm, tmp_path):
    """A file may give yields in place of strengths."""
    samples = "[[rigs.samples]]\ncontrol = 1\n[[rigs.samples]]\ncontrol = 0\nyields = 0.0\n"
    path = write_rigs(tmp_path, "yields = 0.01", samples)
    [rig] = thew.load_rigs(path, arm.body)
    assert rig.peak_displacements(arm.body) == pytest.approx([0.0, 0.01])
    assert rig.template.parameters["strength"] == rig.parameters(1.0)["strength"]
    with pytest.raises(thew.RigFileError, match=r"'yields'.*'strength'"):
        thew.load_rigs(path)
    samples = "[[rigs.samples]]\ncontrol = 0\nstrength = 5.0\n[[rigs.samples]]\ncontrol = 1\nyields = -0.02\n"
    [rig] = thew.load_rigs(write_rigs(tmp_path, "strength = 3e5", samples), arm.body)
    assert rig.parameters(0.0)["strength"] == 5.0
    assert rig.peak_displacements(arm.body)[1] == pytest.approx(-0.02)
    for bad, said in (("yields = nan", "yields"), ("yields = '1'", "yields"), ("yield = 1.0", "'yield'")):
        with pytest.raises(thew.RigFileError, match=said):
            thew.load_rigs(write_rigs(tmp_path, bad), arm.body)


def test_unfit_rig_keeps_strength(arm, tmp_path):
    """A rig that does not fit the body keeps its strength."""
    path = write_rigs(tmp_path, "strength = 3e5\nyields = 0.01", bone="gone")
    [rig] = thew.load_rigs(path, arm.body)
    assert rig.parameters()["strength"] == 3e5
    with pytest.raises(thew.RigFileError, match="gone"):
        thew.load_rigs(write_rigs(tmp_path, "yields = 0.01", bone="gone"), arm.body)


def test_yields_refuse_bad_input(arm):
    """Bad displacements and a rig outside the flesh are refused."""
    rig = push()
    with pytest.raises(thew.RigError, match=r"3 samples but 1 displacement"):
        rig.with_peak_displacements(arm.body, [0.1])
    for bad in ([0.1, "x", 0.2], 3.0):
        with pytest.raises(thew.InputError, match="displacements"):
            rig.with_peak_displacements(arm.body, bad)
    with pytest.raises(thew.RigError, match="displacements"):
        rig.with_peak_displacements(arm.body, [0.0, 0.0, np.nan])
    lost = push(along=40.0)
    for ask in (lost.peak_displacements, lost.compliance, lost.strength_range):
        with pytest.raises(thew.OutsideError):
            ask(arm.body)
