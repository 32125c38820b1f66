# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs are saved, copied, appended, kept or removed, undone, exported and imported."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import (
    activate,
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


# the life of the file -------------------------------------------------------------------------------------------------


def rig_states(obj) -> list:
    return [
        (rig.name, rig.bone, rig.guide, rig.template, round(rig.control, 6), rig.enabled, round(rig.strength, 2))
        + tuple((s.control, part("saved.slider_groups").values_of(s.sliders)) for s in rig.samples)
        for rig in obj.thew.rigs
    ]


def test_rigs_saved_and_loaded(fleshed_character, tmp_path):
    """Rigs survive saving and loading."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    add_rig(body, guide="SKIN", face=33, template="BUMP")
    curve_keys(rig, (1, 0.0), (12, 1.0))
    assert bpy.ops.thew.rig_driver(index=1, bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    shapes, states = play(body, FRAMES), rig_states(body)
    path = tmp_path / "rigs.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    body = bpy.data.objects["Body"]
    assert rig_states(body) == states
    np.testing.assert_array_equal(play(body, FRAMES), shapes)


@pytest.mark.parametrize("by", ["data", "operator"])
def test_rigs_copied_with_object(fleshed_character, by):
    """Rigs, keys and drivers are copied with the object."""
    body, armature = fleshed_character
    rig = add_rig(body, bone="Spine")
    add_rig(body, guide="SKIN", face=33, template="BUMP")
    curve_keys(rig, (1, 0.0), (12, 1.0))
    assert bpy.ops.thew.rig_driver(index=1, bone="Spine") == {"FINISHED"}
    shapes = play(body, FRAMES)
    activate(body)
    if by == "data":
        copy = body.copy()
        copy.data = body.data.copy()
        bpy.context.scene.collection.objects.link(copy)
    else:
        assert bpy.ops.object.duplicate(linked=False) == {"FINISHED"}
        copy = bpy.context.view_layer.objects.active
    assert copy != body and rig_states(copy) == rig_states(body)
    np.testing.assert_allclose(play(copy, FRAMES), shapes, atol=1e-6)
    activate(copy)
    assert bpy.ops.thew.rig_remove(index=0) == {"FINISHED"}
    assert [rig.name for rig in body.thew.rigs] == ["Bulge", "Bump"]
    assert [rig.name for rig in copy.thew.rigs] == ["Bump"]
    assert [curve.data_path for curve in copy.animation_data.drivers] == ["thew.rigs[0].control"]
    np.testing.assert_array_equal(play(body, FRAMES), shapes)
    assert [r.problem for r in body.thew.rigs] == ["", ""] and armature.data.bones["Spine"].get("thew_bone")


def test_rigs_appended_with_object(fleshed_character, tmp_path):
    """Rigs are appended with the object and play as before."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine")
    curve_keys(rig, (1, 0.0), (12, 1.0))
    shapes = play(body, FRAMES)
    path = tmp_path / "rigs.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False, load_ui=False)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base, scene.frame_start, scene.frame_end = 24, 1.0, 1, 20
    with bpy.data.libraries.load(str(path), link=False) as (_source, target):
        target.objects = ["Body"]
    body = bpy.data.objects["Body"]
    scene.collection.objects.link(body)
    scene.collection.objects.link(part("scene.reading").armature_modifier(body).object)
    assert len(body.thew.rigs) == 1
    np.testing.assert_allclose(play(body, FRAMES), shapes, atol=1e-5)
    assert body.thew.rigs[0].problem == ""


def test_remove_keeps_rigs(fleshed_character):
    """Remove keeps the rigs unless their removal is asked for."""
    body, armature = fleshed_character
    rig = add_rig(body, bone="Spine")
    add_rig(body, guide="SKIN", face=33, template="BUMP")
    curve_keys(rig, (1, 0.0), (12, 1.0))
    shapes, states = play(body, FRAMES), rig_states(body)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert not body.thew.made.flesh and rig_states(body) == states
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    np.testing.assert_allclose(play(body, FRAMES), shapes, atol=1e-6)
    assert bpy.ops.thew.remove(remove_rigs=True) == {"FINISHED"}
    assert len(body.thew.rigs) == 0 and "thew_face" not in body.data.attributes
    assert not any("thew_bone" in bone.keys() for bone in armature.data.bones)
    assert not list(part("scene.animation").curves_in(body.animation_data))


def test_rigs_removed_without_flesh(fleshed_character):
    """Rigs can be removed when the flesh is gone."""
    body, _ = fleshed_character
    add_rig(body, bone="Spine")
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert len(body.thew.rigs) == 1
    assert bpy.ops.thew.remove(remove_rigs=True) == {"FINISHED"}
    assert len(body.thew.rigs) == 0
    assert "nothing to remove" in refusal(bpy.ops.thew.remove, remove_rigs=True)


def test_revert_restores_rig(fleshed_character, tmp_path):
    """A return to the saved file brings a removed rig back, as undo does in a window."""
    body, _ = fleshed_character
    bpy.context.scene.frame_set(4)
    add_rig(body, bone="Spine")
    before = settle(body)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rigged.blend"))
    assert bpy.ops.thew.rig_remove() == {"FINISHED"}
    without = settle(bpy.data.objects["Body"])
    bpy.ops.wm.revert_mainfile()
    body = bpy.data.objects["Body"]
    bpy.context.scene.frame_set(4)
    assert [rig.name for rig in body.thew.rigs] == ["Bulge"]
    np.testing.assert_allclose(settle(body), before, atol=1e-6)
    assert largest_difference(before, without) > 1e-4


def test_no_rigs_no_work(fleshed_character, monkeypatch):
    """Playback of an object without rigs calls none of the functions for rigs."""
    body, _ = fleshed_character
    play(body, FRAMES)

    seen = []
    asked = {
        "scene.rig_controls": ("broken_drivers", "curve_print", "rig_of_path"),
        "rigs.fingerprints": ("are_animated", "broken_drivers", "find_bone"),
        "rigs.rigging": ("are_animated", "broken_drivers", "find_bone", "resolve_rig"),
    }
    for module, names in asked.items():
        for name in names:
            monkeypatch.setattr(part(module), name, lambda *_, name=name: seen.append(name))
    play(body, FRAMES)
    assert not seen


# files ----------------------------------------------------------------------------------------------------------------


def test_rig_export_round_trip(fleshed_character, tmp_path):
    """Exported rigs that are imported again act as before."""
    body, _ = fleshed_character
    rig = add_rig(body, bone="Spine", template="TORUS", name="Ring")
    rig.control = 0.4
    rig.angle, rig.distance = 0.3, 0.02
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    add_rig(body, guide="SKIN", face=33, template="BUMP", name="Skin")
    add_rig(body, guide="FREE", template="RADIAL", name="Free")
    before = settle(body)
    path = str(tmp_path / "rigs.toml")
    assert bpy.ops.thew.rig_export(filepath=path) == {"FINISHED"}
    text = (tmp_path / "rigs.toml").read_text()
    assert "Spine" in text and "Ring" in text
    states = [state[:4] for state in rig_states(body)]
    samples = [
        [(s.control, part("saved.slider_groups").values_of(s.sliders)) for s in rig.samples] for rig in body.thew.rigs
    ]
    for _ in range(3):
        bpy.ops.thew.rig_remove(index=0)
    assert bpy.ops.thew.rig_import(filepath=path) == {"FINISHED"}
    assert [state[:4] for state in rig_states(body)] == states
    for rig, then in zip(body.thew.rigs, samples, strict=True):
        names = part("logic.sliders").SLIDERS
        used = [names.index(name) for name in part("saved.samples").sliders_of(rig)]
        assert [s.control for s in rig.samples] == pytest.approx([control for control, _ in then])
        for sample, (_, values) in zip(rig.samples, then, strict=True):
            np.testing.assert_allclose(
                np.array(part("saved.slider_groups").values_of(sample.sliders))[used],
                np.array(values)[used],
                rtol=1e-5,
                atol=1e-6,
            )
    body.thew.rigs["Ring"].control = 0.4
    np.testing.assert_allclose(settle(body), before, atol=1e-5 * size_of(before))


def test_rig_import_keeps_unresolved(fleshed_character, scene, tmp_path):
    """An imported rig whose bone is missing is off but kept, until it gets another bone."""
    body, _armature = fleshed_character
    add_rig(body, bone="Head", name="Head rig")
    add_rig(body, bone="Spine", name="Spine rig")
    path = str(tmp_path / "rigs.toml")
    settle(body)
    assert bpy.ops.thew.rig_export(filepath=path) == {"FINISHED"}
    other, bones = make_character(name="Other", scale=2.0)
    bones.data.bones["Head"].name = "Kopf"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    plain = settle(other)
    activate(other)
    assert bpy.ops.thew.rig_import(filepath=path) == {"FINISHED"}
    assert [rig.name for rig in other.thew.rigs] == ["Head rig", "Spine rig"]
    lost, found = other.thew.rigs
    assert "“Head”" in lost.problem and lost.enabled and found.problem == ""
    shape = settle(other)
    assert "“Head”" in lost.problem and largest_difference(shape, plain) > 1e-3 * size_of(plain)
    # Twice as large in scene units, in metres the same.
    unit, unit_there = (flesh_of(obj).place.metres_per_unit for obj in (body, other))
    assert found.radius * unit_there == pytest.approx(body.thew.rigs["Spine rig"].radius * unit, rel=1e-4)
    part("rigs.anchors").anchor_bone(other, lost, "Kopf")
    settle(other)
    assert lost.problem == ""


def test_rig_import_refuses_bad_files(fleshed_character, tmp_path):
    """Bad files are refused, and nothing is left half made."""
    body, _ = fleshed_character
    assert "rigs to export" in refusal(bpy.ops.thew.rig_export, filepath=str(tmp_path / "none.toml"))
    add_rig(body, bone="Spine")
    path = tmp_path / "rigs.toml"
    settle(body)
    assert bpy.ops.thew.rig_export(filepath=str(path)) == {"FINISHED"}
    good = path.read_text()
    for bad in (good.replace("radius", "radios", 1), good.replace("strength = ", "strength = nan #", 1), "[[", "\x00"):
        path.write_text(bad)
        assert refusal(bpy.ops.thew.rig_import, filepath=str(path)).endswith((".", ")"))
        assert len(body.thew.rigs) == 1
    assert refusal(bpy.ops.thew.rig_import, filepath=str(tmp_path / "missing.toml"))
    assert "Which file" in refusal(bpy.ops.thew.rig_export, filepath="")
    assert "Which file" in refusal(bpy.ops.thew.rig_import, filepath="")
