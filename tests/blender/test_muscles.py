# SPDX-License-Identifier: GPL-3.0-or-later
"""Muscles: presets on both sides of a character, one between two bones, their drivers, files, copies, and what is drawn and said."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from conftest import in_one_blender
from helpers import Layout, activate, flesh_of, make_character, part, play, refusal, settle, world


@pytest.fixture
def body(fleshed_character):
    """Returns the mesh of a small character with flesh, in the rest pose."""
    body, armature = fleshed_character
    armature.animation_data_clear()
    rest(armature)
    return body


def rest(armature) -> None:
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    armature.matrix_basis.identity()
    bpy.context.view_layer.update()


def add_muscle(body, **options):
    """Adds a muscle between two bones of the spine by the artist's operator, and returns its property group."""
    activate(body)
    options = {"muscle": "BETWEEN", "origin": "Spine", "insertion": "Head", **options}
    assert bpy.ops.thew.rig_muscle(**options) == {"FINISHED"}
    return body.thew.rigs[body.thew.active_rig]


def control_of(body, index=-1) -> float:
    """Returns the evaluated control of a rig."""
    bpy.context.view_layer.update()
    return part("scene.rig_controls").evaluated_controls(body, bpy.context.view_layer.depsgraph)[index]


def turn(armature, bone, axis, angle) -> None:
    posed = armature.pose.bones[bone]
    posed.rotation_mode = "XYZ"
    posed.rotation_euler = np.eye(3)[axis] * angle
    bpy.context.view_layer.update()


def forces_of(body, index, control=1.0) -> np.ndarray:
    flesh = flesh_of(body)
    return np.asarray(flesh.pushing.natives[index].forces(flesh.body, control))


def test_muscle_between_two_bones(body):
    """A muscle between two bones widens the flesh around its belly, and does nothing at control 0."""
    rig = add_muscle(body, driven=False)
    assert (rig.kind, rig.name, rig.bone, rig.insertion, rig.problem) == ("MUSCLE", "Muscle", "Spine", "Head", "")
    assert [sample.control for sample in rig.samples] == [0.0, 1.0]
    rig.control = 0.0
    plain = settle(body).astype(float)
    rig.control = 1.0
    moved = settle(body) - plain
    assert np.abs(moved).max() > 2e-3
    line = np.asarray(core().muscle_line(flesh_of(body).pushing.natives[0], flesh_of(body).body))
    belly, radius = flesh_of(body).place.world(line[8:9, :3])[0], line[8, 3]
    away = world(body) - belly
    near = np.linalg.norm(away, axis=1) < 2.0 * radius
    assert (moved[near] * away[near]).sum() > 0.0
    rig.contraction = 0.0
    np.testing.assert_allclose(settle(body), plain, atol=1e-6)


def core():
    return part("logic.native").core()


def test_muscle_is_led_by_its_length(body):
    """The driver contracts the muscle as the joint brings its ends together, as far as the ends do, and not the other way."""
    rig = add_muscle(body)
    armature = body.modifiers["Armature"].object
    driver = part("rigs.drivers").driver_of(rig).driver
    assert driver.variables[0].targets[0].bone_target == "Head" and control_of(body) == pytest.approx(0.0, abs=1e-4)
    settle(body)
    flesh, controls = flesh_of(body), []
    axis = "XYZ".index(driver.variables[0].targets[0].transform_type[-1])
    for angle in (-0.9, -0.5, 0.5, 0.9):
        turn(armature, "Head", axis, angle)
        pose = part("edit.posed_character").read(body, bpy.context.scene, bpy.context.view_layer).pose
        shorter = core().muscle_shortening(flesh.pushing.natives[0], flesh.body, pose[None])[0]
        # Linear between points of the curve 10° apart.
        wished = np.clip(shorter / rig.samples[1].sliders.contraction, 0.0, 1.0)
        assert control_of(body) == pytest.approx(wished, abs=0.02)
        controls.append(wished)
    assert min(controls) == 0.0 and max(controls) > 0.2


def test_drive_by_own_length_again(body):
    """Drive by a Bone leads a muscle by its own length, or by an angle, and says when no joint shortens it."""
    rig = add_muscle(body, driven=False)
    assert part("rigs.drivers").driver_of(rig) is None
    assert bpy.ops.thew.rig_driver() == {"FINISHED"}
    curve = part("rigs.drivers").driver_of(rig)
    assert len(curve.keyframe_points) > 10
    assert bpy.ops.thew.rig_driver(bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    assert len(part("rigs.drivers").driver_of(rig).keyframe_points) == 2
    one = add_muscle(body, origin="Spine", insertion="Spine")
    assert part("rigs.drivers").driver_of(one) is None
    assert "No bend of a joint" in refusal(bpy.ops.thew.rig_driver)
    rig.samples[1].sliders.contraction = -0.1
    body.thew.active_rig = 0
    assert "does not contract" in refusal(bpy.ops.thew.rig_driver)


def test_muscle_faults_are_told(body):
    """Ends that are one, bones that are gone or none, and contractions out of range are told; nothing is lost."""
    rig = add_muscle(body, origin="Spine", insertion="Spine")
    for sample in (*rig.samples, rig):
        group = getattr(sample, "sliders", sample)
        group.origin_along = group.insertion_along = 0.5
        group.origin_distance = group.insertion_distance = 0.05
    settle(body)
    assert "ends of the muscle are one place" in rig.problem and "Muscle" in rig.problem
    for sample in (*rig.samples, rig):
        getattr(sample, "sliders", sample).insertion_along = 0.9
    settle(body)
    assert rig.problem == ""
    rig.insertion = "Tail"
    settle(body)
    assert "“Tail”" in rig.problem and "is gone" in rig.problem
    rig.insertion = ""
    settle(body)
    assert "insertion of the muscle “Muscle” is on no bone" in rig.problem
    rig.insertion = "Head"
    rig.samples[1].sliders.contraction = 0.75
    settle(body)
    assert "contraction is 0.75" in rig.problem
    for options, words in (
        ({"muscle": "BICEPS"}, "No Biceps is found"),
        ({"muscle": "BETWEEN", "origin": "Tail", "insertion": "Head"}, "No bone “Tail” moves flesh"),
        ({"muscle": "BETWEEN"}, "Select two in pose mode"),
    ):
        assert words in refusal(bpy.ops.thew.rig_muscle, **options)
    assert len(body.thew.rigs) == 1
    assert "has no template" in refusal(bpy.ops.thew.rig_pull, points="[[0, [0, 0, 1]]]")


def test_lowered_contraction_is_noted(body):
    """A muscle that would press flesh flat says how much of its contraction it has; one that would not says nothing."""
    rig = add_muscle(body, driven=False)
    settle(body)
    assert rig.note == rig.problem == ""
    for sample in (*rig.samples, rig):
        group = getattr(sample, "sliders", sample)
        group.radius *= 4.0
    rig.samples[1].sliders.contraction = 0.7
    settle(body)
    assert "% of what it is set to: flesh would fold" in rig.note and rig.problem == ""


def test_selected_bones_become_ends(body):
    """Two bones that are selected in pose mode are the ends, the active one that of the insertion."""
    armature = body.modifiers["Armature"].object
    for bone in armature.pose.bones:
        (bone if hasattr(bone, "select") else bone.bone).select = bone.name in {"Hip", "Spine"}
    armature.data.bones.active = armature.data.bones["Spine"]
    rig = add_muscle(body, origin="", insertion="")
    assert (rig.bone, rig.insertion) == ("Hip", "Spine")


def test_renamed_bones_are_found(body):
    """A muscle follows bones that are renamed."""
    rig = add_muscle(body, driven=False)
    settle(body)
    before = forces_of(body, 0)
    armature = body.modifiers["Armature"].object
    armature.data.bones["Head"].name = "Kopf"
    settle(body)
    assert (rig.insertion, rig.problem) == ("Kopf", "")
    np.testing.assert_allclose(forces_of(body, 0), before, atol=1e-9 * np.abs(before).max())


def test_muscle_sample_is_recorded(body):
    """A muscle has samples as other rigs have: recorded at a control, between others."""
    rig = add_muscle(body, driven=False)
    rig.control = 0.5
    rig.radius = 1.2 * rig.radius
    assert rig.draft
    settle(body)
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    assert [sample.control for sample in rig.samples] == [0.0, 0.5, 1.0] and not rig.draft
    assert rig.samples[1].sliders.contraction == pytest.approx(0.5 * rig.samples[2].sliders.contraction)
    assert bpy.ops.thew.rig_duplicate() == {"FINISHED"}
    copy = body.thew.rigs[1]
    assert (copy.kind, copy.insertion, len(copy.samples)) == ("MUSCLE", "Head", 3)


def test_muscle_in_files(body, tmp_path):
    """A muscle is saved with the file and goes through a rig file with its bones, sizes and samples; bones that are missing are told."""
    add_muscle(body).firmness = 2.0
    settle(body)
    before, path = forces_of(body, 0), tmp_path / "rigs.toml"
    assert bpy.ops.thew.rig_export(filepath=str(path)) == {"FINISHED"}
    text = path.read_text()
    assert 'kind = "muscle"' in text and 'bone = "Head"' in text
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "muscle.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "muscle.blend"))
    body = bpy.data.objects["Body"]
    activate(body)
    path.write_text(text.replace('"Muscle"', '"Second"'))
    assert bpy.ops.thew.rig_import(filepath=str(path)) == {"FINISHED"}
    settle(body)
    other = body.thew.rigs[1]
    assert (other.kind, other.name, other.bone, other.insertion, other.problem) == (
        "MUSCLE", "Second", "Spine", "Head", ""
    )  # fmt: skip
    assert other.firmness == 2.0
    for index in (0, 1):
        np.testing.assert_allclose(forces_of(body, index), before, atol=1e-5 * np.abs(before).max())
    path.write_text(text.replace('bone = "Head"', 'bone = "Tail"'))
    assert bpy.ops.thew.rig_import(filepath=str(path)) == {"FINISHED"}
    assert body.thew.rigs[2].insertion == "Tail" and "is gone" in body.thew.rigs[2].problem


def test_muscle_is_copied_to_larger_character(body):
    """A muscle goes to another character with its size, its bones and its driver."""
    add_muscle(body)
    target, _ = make_character(name="Large", scale=2.0)
    activate(target)
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    assert bpy.ops.thew.rig_copy(source="Body") == {"FINISHED"}
    old, new = body.thew.rigs[0], target.thew.rigs[0]
    assert (new.kind, new.bone, new.insertion, new.problem) == ("MUSCLE", "Spine", "Head", "")
    assert new.radius == pytest.approx(2.0 * old.radius, rel=0.05)
    assert new.origin_distance == pytest.approx(2.0 * old.origin_distance, rel=0.05)
    assert new.samples[1].sliders.contraction == pytest.approx(old.samples[1].sliders.contraction)
    assert part("rigs.drivers").driver_of(new).driver.variables[0].targets[0].bone_target == "Head"


def test_muscle_is_drawn_as_a_spindle(body):
    """The overlay draws a spindle of the muscle's size between its ends, wider when it contracts, and lines to its bones."""
    rig = add_muscle(body, driven=False)
    settle(body)
    overlay, place = part("ui.rig_overlay"), flesh_of(body).place

    def spindle(control):
        rig.control = control
        settle(body)
        return overlay.drawings(body, bpy.context.view_layer.depsgraph)

    line = np.asarray(core().muscle_line(flesh_of(body).pushing.natives[0], flesh_of(body).body))
    middle = place.world(line[8:9, :3])[0]
    width = {}
    for control in (0.0, 1.0):
        (lines, colour, _), (guides, _, _) = spindle(control)
        assert lines.shape[1:] == (2, 3) and guides.shape == (2, 2, 3) and colour == overlay.ACTIVE_COLOUR
        points = lines.reshape(-1, 3)
        chord = line[-1, :3] - line[0, :3]
        across = np.linalg.norm(np.cross(points - middle, chord / np.linalg.norm(chord)), axis=1)
        width[control] = across.max() * place.metres_per_unit
        ends = place.world(line[[0, -1], :3])
        assert np.linalg.norm(guides[:, 0] - ends, axis=1).max() < 1e-3
    assert width[0.0] == pytest.approx(line[8, 3], rel=0.05)
    assert width[1.0] == pytest.approx(line[8, 3] / np.sqrt(1.0 - 0.3), rel=0.05)


def test_panel_draws_muscle(body):
    """The panel shows a muscle's sizes and its ends."""
    rig = add_muscle(body)
    seen: list = []
    part("ui.rig_panel").draw_rig(Layout(seen), body, rig, 30)
    shown = {entry[1] for entry in seen if entry[0] in {"prop", "prop_search"}}
    assert {*part("logic.sliders").MUSCLE_SLIDERS, "bone", "insertion", "control"} <= shown


@in_one_blender
def test_presets_on_biped(scene):
    """Every preset finds its muscle on both sides of our biped; a bent elbow contracts its biceps, which bulges, and not the triceps."""
    from assets import characters as own

    armature, body = own.create("biped")
    activate(body)
    armature.animation_data_clear()
    rest(armature)
    assert bpy.ops.thew.add(cells_across=12) == {"FINISHED"}
    presets = [key for key, *_ in part("edit.muscles").PRESETS if key != "BETWEEN"]
    for preset in presets:
        assert bpy.ops.thew.rig_muscle(muscle=preset) == {"FINISHED"}
    names = [rig.name for rig in body.thew.rigs]
    assert sorted(names) == sorted(f"{p.capitalize()} {side}" for p in presets for side in ("left", "right"))
    assert not any(rig.problem for rig in body.thew.rigs)
    settle(body)
    rigs = list(body.thew.rigs)
    for left, right in zip(rigs[::2], rigs[1::2], strict=True):
        assert left.radius == pytest.approx(right.radius, rel=0.02)
        assert (left.name, right.name) == tuple(f"{left.name.split()[0]} {side}" for side in ("left", "right"))
        ends = [(rig.bone, rig.insertion) for rig in (left, right)]
        assert ends[0] == tuple(bone.replace(".R", ".L") for bone in ends[1]) != ends[1]
    turn(armature, "forearm.L", 0, 1.5)
    controls = dict(zip(names, (control_of(body, i) for i in range(len(names))), strict=True))
    bent, straight = sorted((abs(controls["Biceps left"]), abs(controls["Triceps left"])), reverse=True)
    assert bent > 0.2 and straight == 0.0
    assert controls["Biceps right"] == pytest.approx(0.0, abs=1e-4)


@in_one_blender
def test_muscle_moves_and_is_baked(fleshed_character):
    """A muscle led by its length acts in the moving flesh and in its bake."""
    body, _ = fleshed_character
    plain = play(body, range(1, 11))
    rig = add_muscle(body, origin="Hip", insertion="Spine")
    led = play(body, range(1, 11))
    assert np.ptp(flesh_of(body).motion.controls[:, 0]) > 0.01 or control_of(body) == 0.0
    assert np.isfinite(led).all() and rig.problem == ""
    activate(body)
    rig.driver_remove("control")
    rig.control = 1.0
    full = play(body, range(1, 11))
    assert np.abs(full - plain).max() > 1e-3
    assert bpy.ops.thew.bake() == {"FINISHED"}
    np.testing.assert_allclose(play(body, range(1, 11)), full, atol=1e-5)
