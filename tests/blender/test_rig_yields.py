# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs keep what they do: strengths as distances, kept by softer and by painted flesh, never so far that flesh folds."""

from __future__ import annotations

import json

import bpy
import numpy as np
import pytest
from helpers import (
    Layout,
    add_rig,
    evaluated_positions,
    flesh_of,
    largest_difference,
    make_armature,
    make_body,
    part,
    refusal,
    settle,
    size_of,
)


def native_rig(obj, rig):
    """Returns the native rig of a saved one, and the body."""
    flesh = flesh_of(obj)
    return part("rigs.rigging").native_rig(obj, flesh, rig), flesh.body


def skin_movement(obj, rig) -> float:
    """Returns how far a rig by itself moves the skin at rest, Blender units, measured by a balance."""
    own, body = native_rig(obj, rig)
    balance = part("logic.native").thew.Equilibrium(body)
    shapes = []
    for forces in (None, own.forces(body)):
        balance.solve(rest_forces=forces, gravity=(0.0, 0.0, 0.0))
        shapes.append(np.asarray(balance.positions(), dtype=np.float64))
    return float(np.linalg.norm(shapes[1] - shapes[0], axis=1).max()) / flesh_of(obj).place.metres_per_unit


def least_volume_ratio(obj, maps, forces) -> float:
    """Returns the least ratio of a cell's volume to that at rest, over cells that the pose alone leaves well shaped."""
    flesh = flesh_of(obj)
    x, cells = np.asarray(flesh.lattice.vertices), np.asarray(flesh.lattice.cells)[:, :4]
    balance = part("logic.native").thew.Equilibrium(flesh.body)
    balance.set_pose(flesh.place.maps(maps))

    def volumes(q):
        p = x + q
        return np.linalg.det(p[cells[:, 1:]] - p[cells[:, :1]])

    rest = volumes(0.0)
    before, after = (volumes(balance.solve(rest_forces=f)) / rest for f in (None, forces))
    return float(after[before > 0.6].min())


@pytest.mark.parametrize("template", ["BUMP", "RADIAL", "BULGE", "TORUS"])
def test_new_rig_yield_measured(fleshed_character, template):
    """A new rig moves the skin as far as its distance says."""
    body, _ = fleshed_character
    rig = add_rig(body, template=template, bone="Spine")
    assert rig.strength_by == "YIELD" and rig.yields == rig.strength > 0.0
    assert skin_movement(body, rig) == pytest.approx(rig.yields, rel=2e-3)
    assert rig.note == rig.problem == ""
    rig.yields *= 0.5
    assert rig.samples[1].sliders.strength == rig.strength
    assert skin_movement(body, rig) == pytest.approx(rig.yields, rel=2e-3)


def test_yield_kept_when_softness_changes(fleshed_character):
    """In softer or firmer flesh the skin goes as far, by other forces."""
    body, _ = fleshed_character
    plain = settle(body)
    rig = add_rig(body, bone="Spine")
    settle(body)
    pushed = settle(body) - plain
    strengths, shapes = [], []
    for softness in (0.3, 0.8):
        body.thew.softness = softness
        rig.enabled = False
        plain = settle(body)
        rig.enabled = True
        shapes.append(settle(body) - plain)
        strengths.append(native_rig(body, rig)[0].parameters()["strength"])
        assert skin_movement(body, rig) == pytest.approx(rig.yields, rel=2e-3)
    assert strengths[0] > 1.3 * strengths[1]
    for shape in shapes:
        assert np.abs(np.linalg.norm(shape, axis=1).max() / np.linalg.norm(pushed, axis=1).max() - 1.0) < 0.05
    body.thew.use_young, body.thew.young = True, 7e4
    settle(body)
    assert skin_movement(body, rig) == pytest.approx(rig.yields, rel=2e-3)


def test_yield_kept_by_paint_and_size(fleshed_character):
    """A rig's distance stays the same when the flesh map is painted and when the real height changes."""
    body, _ = fleshed_character
    body.thew.use_young, body.thew.young = True, 3e4
    rig = add_rig(body, bone="Spine")
    yields, strengths = rig.yields, []

    def record_strength():
        settle(body)
        assert rig.yields == yields and skin_movement(body, rig) == pytest.approx(yields, rel=2e-3)
        strengths.append(native_rig(body, rig)[0].parameters()["strength"])

    record_strength()
    body.thew.real_height = 4.0
    record_strength()
    belly = [v.index for v in body.data.vertices if v.co.z < 0.9]
    body.vertex_groups["Flesh"].add(belly, 0.6, "REPLACE")
    body.data.update_tag()
    bpy.context.view_layer.update()
    bpy.context.scene.frame_set(3)
    record_strength()
    assert strengths[1] < 0.8 * strengths[0] and abs(strengths[2] / strengths[1] - 1.0) > 0.1


def test_rig_measure_converts(fleshed_character):
    """A rig's strength converts between force and distance without a change of shape."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    yields, moved = rig.yields, skin_movement(body, rig)
    shape = settle(body)
    assert bpy.ops.thew.rig_measure(by="FORCE") == {"FINISHED"}
    assert rig.strength_by == "FORCE" and rig.strength > 1e3
    assert [s.sliders.strength for s in rig.samples] == [0.0, pytest.approx(rig.strength)]
    assert largest_difference(settle(body), shape) < 1e-5 * size_of(shape)
    force = rig.strength
    body.thew.softness = 0.8
    settle(body)
    assert rig.strength == force and skin_movement(body, rig) > 1.2 * moved
    body.thew.softness = 0.5
    settle(body)
    assert bpy.ops.thew.rig_measure(by="YIELD") == {"FINISHED"}
    assert rig.yields == pytest.approx(yields, rel=1e-4)
    assert largest_difference(settle(body), shape) < 1e-5 * size_of(shape)


def test_old_rig_keeps_force(fleshed_character):
    """Rigs of earlier files, which have no measure, keep their forces."""
    body, _ = fleshed_character
    rig = body.thew.rigs.add()
    assert rig.strength_by == "FORCE"
    with part("saved.samples").quiet_edits():
        rig.template, rig.guide, rig.strength, rig.radius = "BULGE", "BONE", 3e4, 0.3
    part("rigs.anchors").anchor_bone(body, rig, "Spine")
    part("saved.samples").start_samples(rig)
    settle(body)
    own, _ = native_rig(body, rig)
    assert own.parameters()["strength"] == pytest.approx(3e4)


def test_rig_strength_limited(fleshed_character):
    """A rig that is too strong is limited to what the flesh bears, and its note says so."""
    body, _ = fleshed_character
    rig = add_rig(body, template="BUMP", bone="Spine")
    plain = evaluated_positions(body)
    rig.yields *= 1e3
    shape = settle(body)
    assert np.isfinite(shape).all() and largest_difference(shape, plain) < size_of(plain)
    assert "of what it is set to: flesh would fold" in rig.note and rig.problem == ""
    flesh = flesh_of(body)
    own = flesh.pushing.natives[0]
    still = np.tile(np.eye(4), (3, 1, 1))
    assert least_volume_ratio(body, still, own.forces(flesh.body)) == pytest.approx(0.3, abs=1e-4)
    bpy.context.scene.frame_set(3)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert rig.note and np.isfinite(evaluated_positions(body)).all()
    layout = Layout()
    part("ui.rig_panel").draw_rig(layout, body, rig, 60)
    assert any("flesh would fold" in text for text in layout.read())
    rig.yields /= 1e3
    settle(body)
    assert rig.note == ""


def test_panel_shows_yield_and_force(fleshed_character):
    """The panel shows the distance of a rig and its force, or the force alone."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")

    def panel_words():
        layout = Layout()
        part("ui.rig_panel").draw_rig(layout, body, rig, 60)
        return layout.read()

    def sliders(said):
        return said[: said.index("[guide]")]

    settle(body)
    said = panel_words()
    assert "[yields]" in sliders(said) and "[strength]" not in sliders(said)
    force = native_rig(body, rig)[0].parameters()["strength"]
    assert f"Pushes with up to {force:.3g} N/m³" in said
    bpy.ops.thew.rig_measure(by="FORCE")
    assert "[strength]" in sliders(panel_words()) and "[yields]" not in panel_words()


def test_draft_yield_measured(fleshed_character):
    """A draft pushes as far as its distance says."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    full = settle(body)
    rig.control = 0.4
    with part("saved.samples").quiet_edits():
        values = {"strength": rig.samples[1].sliders.strength}
    part("saved.samples").set_sliders(rig, values)
    assert rig.draft
    assert largest_difference(settle(body), full) < 1e-5 * size_of(full)


def test_rig_file_keeps_yield(fleshed_character, tmp_path):
    """A rig that is imported into other flesh keeps its distance."""
    body, _ = fleshed_character
    add_rig(body, bone="Spine", name="Belly")
    path = str(tmp_path / "rigs.toml")
    assert bpy.ops.thew.rig_export(filepath=path) == {"FINISHED"}
    yields = body.thew.rigs[0].yields
    body.thew.softness = 0.9
    settle(body)
    assert bpy.ops.thew.rig_import(filepath=path) == {"FINISHED"}
    copy = body.thew.rigs[1]
    assert copy.strength_by == "YIELD" and copy.yields == pytest.approx(yields, rel=1e-5)
    assert skin_movement(body, copy) == pytest.approx(yields, rel=2e-3)


@pytest.fixture
def thin_arm(scene):
    """Builds a thin arm of three bones with flesh, bent."""
    armature = make_armature()
    body = make_body(armature)
    for vertex in body.data.vertices:
        vertex.co.x *= 0.25
        vertex.co.y *= 0.25
    armature.pose.bones["Spine"].rotation_mode = "XYZ"
    armature.pose.bones["Spine"].rotation_euler = (0.9, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert bpy.ops.thew.add(cells_across=24) == {"FINISHED"}
    return body


def test_pull_thin_arm_without_fold(thin_arm):
    """A thin arm that is pulled far does not fold at the elbow."""
    point = thin_arm.matrix_world @ thin_arm.data.vertices[61].co
    assert bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=point) == {"FINISHED"}
    stand = part("edit.posed_character").read(thin_arm, bpy.context.scene, bpy.context.view_layer)
    points = [[61, (stand.displayed.vertices[61] + np.array([0.1, -0.6, 0.3])).tolist()]]
    pull = part("edit.pulling").SkinPull(stand, bpy.context.view_layer)
    targets = part("edit.pulling").checked_points(stand, points)
    pull.pull(targets)
    said = pull.outcome_text(targets)
    assert "% of the way" in said and "flesh would fold beyond" in said, said
    assert bpy.ops.thew.rig_pull(points=json.dumps(points)) == {"FINISHED"}
    rig, flesh = thin_arm.thew.rigs[0], flesh_of(thin_arm)
    own, body = native_rig(thin_arm, rig)
    strength = own.parameters()["strength"]
    assert np.isfinite(strength) and abs(strength) < 1e3 * body.material.young / stand.size
    assert least_volume_ratio(thin_arm, stand.maps, own.forces(body)) > 0.29
    assert 0.0 < abs(rig.yields) < 0.5 and rig.strength_by == "YIELD"
    assert np.isfinite(part("live.rig_actions").forces(flesh, thin_arm, None)).all()
    shape = settle(thin_arm)
    assert np.isfinite(shape).all() and largest_difference(shape, thin_skin(thin_arm)) < 0.5


def thin_skin(obj) -> np.ndarray:
    """Returns the plain skin at rest in the pose, object space."""
    rigs = [rig.enabled for rig in obj.thew.rigs]
    for rig in obj.thew.rigs:
        rig.enabled = False
    shape = settle(obj)
    for rig, on in zip(obj.thew.rigs, rigs, strict=True):
        rig.enabled = on
    return shape


def test_bearable_refuses_held_flesh(fleshed_character):
    """A rig in flesh that its bones hold is refused."""
    body, _ = fleshed_character
    sizing = part("edit.sizing")

    class HeldBody:
        class template:
            kind = "bump"

        @staticmethod
        def compliance(_body):
            return 0.0

    with pytest.raises(part("logic.errors").Refusal, match="held by its bones"):
        sizing.bearable_yield(flesh_of(body), HeldBody, 0.1)
    add_rig(body, bone="Spine")
    assert "no rig 7" in refusal(bpy.ops.thew.rig_measure, index=7)
