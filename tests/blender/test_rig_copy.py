# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs copied to another character by its bones: where they land, the pairs that are passed, and the dialog that shows them."""

from __future__ import annotations

from types import MethodType, SimpleNamespace

import bpy
import numpy as np
import pytest
from helpers import Layout, activate, add_rig, evaluated_positions, part, refusal, settle, size_of
from test_limb_rigs import every_kind, frame_of, kept_properties, numbers, placement_matrix, stand, thicken
from test_sculpted_rigs import add_key


def stand_without_limbs(name, **options):
    """Builds a small character with flesh and no limb."""
    body = stand(name, **options)
    body.thew.limbs.clear()
    return body


def copy(source, target, **options) -> list:
    """Copies the rigs and returns those that arrived."""
    before = len(target.thew.rigs)
    activate(target)
    assert bpy.ops.thew.rig_copy(source=source.name, **options) == {"FINISHED"}
    return list(target.thew.rigs)[before:]


def test_copy_to_same_character(scene):
    """Rigs copied to an equal character have the same numbers and places."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target")
    names = every_kind(source)
    came = copy(source, target)
    assert [rig.name for rig in came] == names
    for old, new in zip(source.thew.rigs, came, strict=True):
        assert not new.problem and kept_properties(new) == kept_properties(old)
        np.testing.assert_allclose(numbers(new), numbers(old), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(frame_of(target, new), frame_of(source, old), atol=1e-4)


def test_copy_to_larger_character(scene):
    """Rigs copied to a character twice as large that stands elsewhere are where and as large as they should be."""
    place = placement_matrix(2.0, (0.0, 0.0, 0.0), (3.0, 1.0, 0.0))
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target", place=place)
    every_kind(source)
    for old, new in zip(source.thew.rigs, copy(source, target), strict=True):
        here, there = frame_of(source, old), frame_of(target, new)
        np.testing.assert_allclose(there[:3, 3], (place @ here)[:3, 3], atol=0.02)
        assert new.radius == pytest.approx(2.0 * old.radius, rel=1e-2) and not new.problem


def test_copy_to_other_build(scene):
    """Rigs of every kind arrive in the flesh of another build, and the message tells how well the skins match."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target", shaped=thicken)
    every_kind(source)
    link = part("edit.retargeting").CharacterLink
    report = part("edit.limb_rigs").carry(bpy.context, source, target, link)
    assert len(report.names) == len(source.thew.rigs) and not report.warnings
    assert "the skins match to" in report.message(target) and "pairs of bones" in report.message(target)
    assert not any(rig.problem for rig in target.thew.rigs)


def test_passed_pairs_win(scene):
    """A rig goes to the bone of a pair that was passed; an unknown bone is refused, and nothing is copied."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target")
    add_rig(source, bone="Spine")
    came = copy(source, target, pairs=[{"name": "", "source": "Spine", "target": "Head"}])
    assert came[0].bone == "Head"
    activate(target)
    wrong = [{"name": "", "source": "Spine", "target": "Horn"}]
    assert "'Horn'" in refusal(bpy.ops.thew.rig_copy, source="Source", pairs=wrong)
    assert len(target.thew.rigs) == 1


def test_driver_follows_partner(scene):
    """The driver of a copied rig reads the partner of its bone."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target")
    activate(target)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    target.modifiers["Armature"].object.data.bones["Head"].name = "Skull"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    activate(source)
    add_rig(source, bone="Spine")
    assert bpy.ops.thew.rig_driver(bone="Head", axis="X", from_angle=0.1, to_angle=0.9) == {"FINISHED"}
    copy(source, target)
    reads = target.animation_data.drivers[-1].driver.variables[0].targets[0]
    assert (reads.id, reads.bone_target) == (target.modifiers["Armature"].object, "Skull")


def test_dialog_shows_pairs(scene):
    """The dialog shows the pairs that were found in fields to change."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target")
    operator = part("operators.rig_copy").THEW_OT_rig_copy
    activate(target)

    def kind(*names):
        return SimpleNamespace(properties=dict.fromkeys(names))

    class Rows(list):
        def add(self):
            self.append(SimpleNamespace(source="", target="", bl_rna=kind("source", "target")))
            return self[-1]

    choices = {"names": True, "swap": False, "bl_rna": kind("names", "swap")}
    shown = SimpleNamespace(source=source.name, pairs=Rows(), layout=Layout(), **choices)
    for name in ("link_of", "find_pairs", "show_ghost"):
        setattr(shown, name, MethodType(getattr(operator, name), shown))
    shown.find_pairs(bpy.context, target)
    pairs = [(pair.source, pair.target) for pair in shown.pairs]
    assert pairs == [("Hip", "Hip"), ("Spine", "Spine"), ("Head", "Head")]
    operator.draw(shown, bpy.context)
    assert any("source" in call for call in shown.layout.seen) and any("swap" in call for call in shown.layout.seen)
    overlay = part("ui.ghost_overlay")
    ((lines, _, _),) = overlay.drawings()
    skin = evaluated_positions(target)
    apart = np.linalg.norm(lines.reshape(-1, 1, 3) - skin, axis=2).min(axis=1)
    assert apart.max() < 0.05 * size_of(skin)  # the offsets of the flesh are less
    assert not operator.check(shown, bpy.context)
    shown.pairs[1].target, shown.pairs[2].target = "Head", ""
    assert operator.check(shown, bpy.context)
    ((moved, _, _),) = overlay.drawings()
    assert np.abs(moved - lines).max() > 0.05 * size_of(skin)
    operator.cancel(shown, bpy.context)
    assert not overlay.drawings()
    assert any("source" in call for call in shown.layout.seen) and any("swap" in call for call in shown.layout.seen)


def test_sculpted_rig_copied(scene):
    """A sculpted rig makes the other character swell at the corresponding place, in proportion, with its driver."""
    place = placement_matrix(2.0, (0.0, 0.0, 0.0), (3.0, 1.0, 0.0))
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target", place=place)
    bpy.context.scene.frame_set(5)
    add_key(source)
    activate(source)
    assert bpy.ops.thew.rig_from_shape() == {"FINISHED"}
    [came] = copy(source, target)
    assert (came.kind, came.name, came.problem) == ("SCULPTED", "Swell", "")
    assert [curve.data_path for curve in target.animation_data.drivers] == [came.path_from_id("control")]
    target.animation_data_clear()
    moved = []
    for body in (source, target):
        if body.animation_data:
            body.animation_data_clear()
        shapes = []
        for control in (0.0, 1.0):
            body.thew.rigs[-1].control = control
            shapes.append(settle(body).astype(np.float64))
        moved.append(np.linalg.norm(shapes[1] - shapes[0], axis=1))
    belly = moved[0] > 0.5 * moved[0].max()
    assert moved[0].max() > 0.02
    assert moved[1][belly].mean() == pytest.approx(moved[0][belly].mean(), rel=0.15)
