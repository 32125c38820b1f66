# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs in Blender: the list, samples, flesh at rest, bad numbers, every method, the panel."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from helpers import (
    Layout,
    add_rig,
    curve_keys,
    flesh_of,
    largest_difference,
    make_character,
    part,
    play,
    refusal,
    settle,
    size_of,
)

FRAMES = range(1, 21)


# the list -------------------------------------------------------------------------------------------------------------


def test_new_rig_acts(fleshed_character):
    """A new rig acts at once, in proportion to its control while the push is small."""
    body, _ = fleshed_character
    plain = settle(body)
    rig = add_rig(body, template="BULGE", bone="Spine")
    assert (rig.name, rig.bone, rig.guide, rig.problem) == ("Bulge", "Spine", "BONE", "")
    assert [(s.control, s.sliders.strength) for s in rig.samples] == [(0.0, 0.0), (1.0, pytest.approx(rig.strength))]
    assert rig.control == 1.0
    full = settle(body)
    rig.control = 0.5
    half = settle(body)
    rig.control = 0.0
    none = settle(body)
    rig.control = 0.25
    quarter = settle(body)
    size = size_of(plain)
    assert 0.003 * size < largest_difference(full, plain) < 0.1 * size
    assert largest_difference(none, plain) < 1e-6 * size
    # In proportion while it goes half as far; beyond, flesh stiffens as it is stretched.
    np.testing.assert_allclose(quarter - plain, 0.5 * (half - plain), atol=0.02 * largest_difference(half, plain))


def test_rigs_add_up(fleshed_character):
    """The pushes of rigs add up, and each can be switched off or soloed."""
    body, _ = fleshed_character
    plain = settle(body)
    one = add_rig(body, template="BULGE", bone="Spine", name="One")
    first = settle(body) - plain
    two = add_rig(body, template="RADIAL", bone="Head", name="Two")
    one = body.thew.rigs["One"]
    both = settle(body) - plain
    one.enabled = False
    second = settle(body) - plain
    one.enabled, two.solo = True, True
    soloed = settle(body) - plain
    two.solo = False
    size = size_of(plain)
    assert (
        min(largest_difference(first, 0), largest_difference(second, 0), largest_difference(first, second))
        > 1e-3 * size
    )
    assert largest_difference(both, first + second) < 0.02 * max(
        largest_difference(first, 0), largest_difference(second, 0)
    )
    np.testing.assert_array_equal(soloed, second)
    assert largest_difference(settle(body) - plain, both) < 1e-6 * size


def test_rig_list_edits_keep_animation(fleshed_character):
    """Keys and drivers stay with their rigs as the list is edited."""
    body, armature = fleshed_character
    for name in "ABC":
        add_rig(body, bone="Spine", name=name)
    rigs = body.thew.rigs
    curve_keys(rigs["A"], (1, 0.1), (20, 0.2))
    curve_keys(rigs["C"], (1, 0.7), (20, 0.9))
    body.thew.active_rig = 1
    assert bpy.ops.thew.rig_driver(bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}

    def controls():
        bpy.context.scene.frame_set(20)
        armature.pose.bones["Head"].rotation_mode = "XYZ"
        armature.pose.bones["Head"].rotation_euler.x = 0.5
        bpy.context.view_layer.update()
        return {rig.name: round(rig.control, 4) for rig in rigs}

    before = {"A": 0.2, "B": 0.5, "C": 0.9}
    assert controls() == before
    assert bpy.ops.thew.rig_move(index=2, direction="UP") == {"FINISHED"}
    assert [rig.name for rig in rigs] == ["A", "C", "B"] and body.thew.active_rig == 1
    assert controls() == before
    assert bpy.ops.thew.rig_move(index=0, direction="UP") == {"FINISHED"}  # already the first
    assert bpy.ops.thew.rig_move(index=0, direction="DOWN") == {"FINISHED"}
    assert [rig.name for rig in rigs] == ["C", "A", "B"]
    assert controls() == before
    assert bpy.ops.thew.rig_duplicate(index=2) == {"FINISHED"}
    assert [rig.name for rig in rigs] == ["C", "A", "B", "B.001"]
    assert controls() == before | {"B.001": 0.5}
    assert bpy.ops.thew.rig_remove(index=1) == {"FINISHED"}
    assert controls() == {"B": 0.5, "C": 0.9, "B.001": 0.5}
    curves = part("scene.animation").curves_in(body.animation_data)
    assert [curve.data_path for curve in curves] == ["thew.rigs[0].control"]
    assert sorted(curve.data_path for curve in body.animation_data.drivers) == [
        "thew.rigs[1].control",
        "thew.rigs[2].control",
    ]
    copy = rigs["B.001"]
    assert (copy.bone, copy.strength, len(copy.samples)) == ("Spine", rigs["B"].strength, 2)


def test_rig_names_unique(fleshed_character):
    """The names of rigs stay unique."""
    body, _ = fleshed_character
    add_rig(body, bone="Spine")
    rig = add_rig(body, bone="Spine")
    assert rig.name == "Bulge.001"
    rig.name = "Bulge"
    assert rig.name == "Bulge.001"
    rig.name = "Belly"
    assert [each.name for each in body.thew.rigs] == ["Bulge", "Belly"]


def test_rig_operators_refuse_bad_index(fleshed_character):
    """Operators refuse an index, bone or face that does not exist."""
    body, _ = fleshed_character
    assert "has no rigs" in refusal(bpy.ops.thew.rig_record)
    add_rig(body, bone="Spine")
    for operator in ("rig_remove", "rig_record", "rig_duplicate", "rig_move", "rig_driver", "rig_sample_remove"):
        assert "has no rig 5" in refusal(getattr(bpy.ops.thew, operator), index=5)
    assert "no bone “Tail”" in refusal(bpy.ops.thew.rig_add, bone="Tail")
    assert "no triangle 99999" in refusal(bpy.ops.thew.rig_add, guide="SKIN", face=99999)
    assert len(body.thew.rigs) == 1
    assert "thew_face" not in body.data.attributes


def test_rig_add_refuses_without_flesh(scene):
    """A rig cannot be added without flesh."""
    make_character()
    assert "has no flesh" in refusal(bpy.ops.thew.rig_add, bone="Spine")


# samples --------------------------------------------------------------------------------------------------------------


def test_samples_record_and_remove(fleshed_character):
    """Samples are recorded, replaced and removed."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    strength = rig.strength
    rig.control = 0.5
    assert (rig.strength, rig.draft) == (pytest.approx(0.5 * strength), False)
    rig.strength = 7e3
    assert rig.draft and len(rig.samples) == 2
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    assert not rig.draft
    assert [s.control for s in rig.samples] == [0.0, 0.5, 1.0] and rig.active_sample == 1
    assert [s.sliders.strength for s in rig.samples] == [0.0, 7e3, pytest.approx(strength)]
    rig.strength = 9e3  # at a recorded value the sample follows
    assert rig.samples[1].sliders.strength == 9e3 and not rig.draft
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    assert [s.sliders.strength for s in rig.samples] == [0.0, 9e3, pytest.approx(strength)]
    rig.control = 2.0
    assert rig.strength == pytest.approx(strength)
    rig.along = 0.8
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    assert [s.control for s in rig.samples] == [0.0, 0.5, 1.0, 2.0]
    rig.control = 1.5
    assert rig.along == pytest.approx(0.65)
    assert bpy.ops.thew.rig_sample_remove(sample=1) == {"FINISHED"}
    assert [s.control for s in rig.samples] == [0.0, 1.0, 2.0]
    rig.control = 0.5
    assert rig.strength == pytest.approx(0.5 * strength)
    for _ in range(3):
        assert bpy.ops.thew.rig_sample_remove() == {"FINISHED"}
    assert len(rig.samples) == 0
    assert "has no sample" in refusal(bpy.ops.thew.rig_sample_remove)
    assert np.isfinite(settle(body)).all()


def test_draft_in_preview_only(fleshed_character):
    """A draft shows in the rest pose preview, and in motion only once it is recorded."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    rig.control = 0.5
    recorded, moving = settle(body), None
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    moving = play(body, (4,))
    rig.strength = 3.0 * rig.strength
    np.testing.assert_array_equal(play(body, (4,)), moving)
    bpy.context.scene.frame_set(1)
    draft = settle(body)
    assert largest_difference(draft, recorded) > 1e-3 * size_of(recorded)
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    np.testing.assert_allclose(settle(body), draft, atol=1e-6 * size_of(draft))
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert largest_difference(play(body, (4,)), moving) > 1e-3 * size_of(recorded)


def test_draft_lost_when_control_moves(fleshed_character):
    """A draft is lost when the control moves."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    rig.control = 0.5
    half = rig.strength
    rig.strength = 7.0
    rig.control = 0.6
    rig.control = 0.5
    assert rig.strength == pytest.approx(half) and not rig.draft


def test_sliders_follow_keyed_control(fleshed_character):
    """The sliders follow a keyed control from frame to frame."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    curve_keys(rig, (1, 0.0), (11, 1.0))
    full = rig.samples[1].sliders.strength
    play(body, (1,))
    shown = []
    for frame in (1, 6, 11):
        bpy.context.scene.frame_set(frame)
        shown.append(rig.strength)
    np.testing.assert_allclose(shown, [0.0, 0.5 * full, full], rtol=1e-3, atol=1e-3)
    assert [s.sliders.strength for s in rig.samples] == [0.0, full]


# flesh at rest --------------------------------------------------------------------------------------------------------


def test_settle_and_simulate(fleshed_character):
    """The rest pose preview plays equilibria, and Simulate returns to the motion."""
    body, _ = fleshed_character
    body.thew.motion_start = "SETTLED"
    moving = play(body, FRAMES)
    assert bpy.ops.thew.settle() == {"FINISHED"}
    assert body.thew.settled
    still = play(body, FRAMES)
    np.testing.assert_allclose(still[0], moving[0], atol=1e-4 * size_of(moving[0]))  # a clip begins settled
    assert largest_difference(still, moving) > 1e-3 * size_of(moving[0])
    backwards = play(body, reversed(FRAMES))[::-1]
    np.testing.assert_array_equal(backwards, still)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert not body.thew.settled
    np.testing.assert_array_equal(play(body, FRAMES), moving)


def test_settle_uses_unkeyed_pose(fleshed_character):
    """The rest pose preview uses a pose without keys."""
    body, armature = fleshed_character
    play(body, (1,))
    before = settle(body)
    armature.animation_data_clear()
    spine = armature.pose.bones["Spine"]
    spine.rotation_mode = "XYZ"
    spine.rotation_euler.x = 1.2
    bent = settle(body)
    size = size_of(before)
    assert largest_difference(bent, before) > 0.2 * size
    add_rig(body, bone="Head")
    assert largest_difference(settle(body), bent) > 1e-3 * size


def test_bake_ignores_settled(fleshed_character):
    """A bake holds the motion although the rest pose preview is on."""
    body, _ = fleshed_character
    moving = play(body, FRAMES)
    settle(body)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert largest_difference(play(body, FRAMES), moving) < 1e-5 * size_of(moving[0])


def test_settled_edit_defers_simulation(fleshed_character):
    """A rig edited in the rest pose preview is simulated only when the motion is shown again."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    play(body, (1,))
    settle(body)
    play(body, (1,))
    clip = flesh_of(body).clip
    rig.strength *= 2.0
    play(body, (3, 4))
    flesh = flesh_of(body)
    assert flesh.clip is clip and flesh.condition.clip.name == "BEHIND"
    body.thew.settled = False
    play(body, (3, 4))
    assert flesh.clip is not clip and flesh.condition.clip.name == "CURRENT"


@pytest.mark.parametrize("angle", [170.0, -170.0])
def test_rigs_finite_in_extreme_pose(fleshed_character, angle):
    """Rigs of every template stay finite when bones are turned far."""
    body, armature = fleshed_character
    for template in part("logic.sliders").TEMPLATES:
        add_rig(body, template=template, bone="Spine")
    spine = armature.pose.bones["Spine"]
    for axis in range(3):
        spine.rotation_euler = (0.0, 0.0, 0.0)
        spine.keyframe_insert("rotation_euler", frame=1)
        spine.rotation_euler[axis] = math.radians(angle)
        spine.keyframe_insert("rotation_euler", frame=10)
        spine.keyframe_insert("rotation_euler", frame=19)
        bpy.context.scene.frame_set(10)
        shape = settle(body)
        assert np.isfinite(shape).all() and np.abs(shape).max() < 10.0
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        shapes = play(body, FRAMES)
        assert np.isfinite(shapes).all() and np.abs(shapes).max() < 10.0


# bad numbers ----------------------------------------------------------------------------------------------------------


def spoil(rig, name):
    row = rig.samples[1].sliders
    if name == "equal":
        rig.samples[0].control = 1.0
    elif name == "control":
        rig.control = math.nan
    elif name == "strong":
        rig.strength_by = "FORCE"
        row.strength = 1e20
    elif name == "tube":
        rig.template = "TORUS"
        row.tube_radius = 2.0 * row.ring_radius
    elif name == "zero":
        row.radius = 0.0
    else:
        setattr(row, name, math.inf if name == "along" else math.nan)


@pytest.mark.parametrize("what", ["radius", "strength", "along", "zero", "equal", "control", "strong", "tube"])
def test_bad_values_disable_rig(fleshed_character, what):
    """A rig with bad numbers is off but kept, and acts again when they are mended."""
    body, _ = fleshed_character
    plain = play(body, (1, 5))
    rig = add_rig(body, bone="Spine")
    other = body.thew.rigs
    spoil(rig, what)
    shapes = play(body, (1, 5))
    np.testing.assert_allclose(shapes, plain, atol=1e-6)
    assert rig.problem.endswith(".") and "Bulge" in rig.problem and rig.enabled and len(other) == 1
    still = settle(body)
    assert np.isfinite(still).all() and rig.problem
    if what == "equal":
        rig.samples[0].control = 0.0
    rig.control = 1.0
    for name, value in {"radius": 0.1, "ring_radius": 0.1, "tube_radius": 0.05, "strength": 2e4, "along": 0.5}.items():
        setattr(rig.samples[1].sliders, name, value)
    play(body, (1,))
    assert rig.problem == ""


# scale ----------------------------------------------------------------------------------------------------------------


def test_rig_push_independent_of_scale(scene):
    """A rig pushes the same character at another scale in proportion."""
    pushes = []
    for scale in (1.0, 100.0):
        body, armature = make_character(scale=scale)
        body.thew.real_height = 1.8
        assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
        plain = settle(body)
        add_rig(body, bone="Spine")
        pushes.append((settle(body) - plain) / scale)
        for obj in (body, armature):
            bpy.data.objects.remove(obj)
    assert largest_difference(pushes[0], 0.0) > 1e-3
    np.testing.assert_allclose(pushes[1], pushes[0], atol=2e-3 * largest_difference(pushes[0], 0.0))


# methods --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "modal"])
def test_rigs_push_with_every_method(scene, method):
    """Rigs push with every method of simulation."""
    body, _ = make_character()
    body.thew.modes = 12
    assert bpy.ops.thew.add(cells_across=6, method=method) == {"FINISHED"}
    plain = play(body, FRAMES)
    add_rig(body, bone="Spine")
    pushed = play(body, FRAMES)
    assert np.isfinite(pushed).all() and largest_difference(pushed, plain) > 1e-3 * size_of(plain[0])
    assert np.isfinite(settle(body)).all()


# panels ---------------------------------------------------------------------------------------------------------------


def test_panel_draws_rigs(fleshed_character):
    """The panel draws every kind of rig with its sliders and its problem."""
    body, _ = fleshed_character
    panel = part("ui.rig_panel")
    add_rig(body, bone="Spine")
    rig = body.thew.rigs[0]
    for template in part("logic.sliders").TEMPLATES:
        for guide in ("BONE", "SKIN", "FREE"):
            seen: list = []
            with part("saved.samples").quiet_edits():
                rig.template, rig.guide = template, guide
                rig.problem = "Something is wrong with it."
            panel.draw_list(Layout(seen), body)
            panel.draw_rig(Layout(seen), body, rig, 30)
            shown = {entry[1] for entry in seen if entry[0] == "prop"}
            sliders = {"yields" if name == "strength" else name for name in part("saved.samples").sliders_of(rig)}
            assert sliders <= shown
            assert any(entry[-1] == "Something is wrong with it." for entry in seen)


def test_rig_kinds_covered(addon):
    """Every module that depends on the kind of a rig covers all kinds."""
    kinds = {kind for kind, *_ in part("saved.rigs").KINDS}
    for table in (
        part("saved.samples").SLIDERS_BY_KIND,
        part("rigs.rigging").FINDERS_BY_KIND,
        part("ui.rig_panel").DRAWING_BY_KIND,
        part("ui.rig_overlay").LINES_BY_KIND,
    ):
        assert set(table) == kinds


def test_rig_enum_values_fixed(addon):
    """The numbers of templates and guides, which files keep, do not change."""
    for name, known in (("template", ["BUMP", "RADIAL", "BULGE", "TORUS"]), ("guide", ["BONE", "SKIN", "FREE"])):
        items = part("saved.rigs").ThewRig.bl_rna.properties[name].enum_items
        assert [(item.identifier, item.value) for item in items][: len(known)] == [(k, i) for i, k in enumerate(known)]
        assert all(item.description and item.icon != "NONE" for item in items)


def test_rig_settings_described(addon):
    """Every setting of a rig has a name, a range, a unit where it needs one, and a description."""
    properties = part("saved.rigs")
    for group in properties.CLASSES:
        for name, setting in group.bl_rna.properties.items():
            if name == "rna_type":
                continue
            assert setting.description, name
            if not setting.is_hidden:
                assert setting.name, name
    for name in (*filter(part("logic.sliders").is_length, part("logic.sliders").SLIDERS), "yields"):
        assert properties.ThewRig.bl_rna.properties[name].unit == "LENGTH", name
    for name in ("angle", "tilt", "roll", "rx", "ry", "rz"):
        assert properties.ThewRig.bl_rna.properties[name].unit == "ROTATION", name
