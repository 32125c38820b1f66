# SPDX-License-Identifier: GPL-3.0-or-later
"""The diagnosis of an object: what a report of a fault needs, without the folders of anybody's disk."""

from __future__ import annotations

import platform

import bpy
import pytest
from helpers import activate, part, play, refusal, snapshot


@pytest.fixture(autouse=True)
def forgotten(addon):
    """Begins each test without refusals and times."""
    part("logic.session_log").refusals.clear()
    part("logic.session_log").seconds.clear()


def diagnosis(**options) -> str:
    """Returns the text that the operator makes."""
    assert bpy.ops.thew.diagnose(**options) == {"FINISHED"}
    return bpy.data.texts["Thew Diagnosis"].as_string()


def section(text: str, title: str) -> str:
    """Returns one section of a diagnosis."""
    (found,) = [each for each in text.split("## ") if each.startswith(title + "\n")]
    return found


def test_diagnosis_of_flesh(fleshed_character):
    """The text has versions, counts, stack, changed settings, states, motion and times; nothing else changes."""
    body, _ = fleshed_character
    body.thew.softness, body.thew.use_contact = 0.75, True
    play(body, range(1, 4))
    before = snapshot(body)
    text = diagnosis()
    after = snapshot(body)
    after["data"]["texts"].remove("Thew Diagnosis")
    assert before == after
    thew = part("logic.native").core()
    for word in (thew.__version__, bpy.app.version_string, platform.machine()):
        assert word in section(text, "Versions")
    found = section(text, "Object")
    assert (
        f"{len(body.data.vertices)}, {len(body.data.polygons)}" in found
        and "“Rig”" in found
        and "3, 3 of them" in found
    )
    stack = section(text, "Modifiers")
    assert "1 ARMATURE" in stack and "Thew's" in stack and "on in view and render" in stack
    settings = section(text, "Settings that differ from the defaults")
    assert "softness" in settings and "0.75" in settings and "use_contact" in settings and "poisson" not in settings
    flesh = section(text, "Flesh")
    assert "clip current" in flesh and "frames 1 to 20" in flesh and "cells" in flesh
    assert "Simulating" in section(text, "Latest times, of whichever object")
    assert "GOOD" in section(text, "Findings") or "WARNING" in section(text, "Findings")
    # A second one replaces the first.
    assert diagnosis().count("# Thew diagnosis") == 1 and "Thew Diagnosis.001" not in bpy.data.texts


def test_diagnosis_of_refusal(character):
    """A refusal is told with its remedy, also after it; an object that cannot have flesh is told why."""
    body, _ = character
    body.modifiers.clear()
    text = refusal(bpy.ops.thew.add)
    found = diagnosis()
    assert text in section(found, "Latest refusals of this session")
    assert "has no Armature modifier" in section(found, "Findings")


def test_diagnosis_of_fault(fleshed_character, monkeypatch):
    """An unforeseen fault leaves its place in the code, without folders."""
    body, _ = fleshed_character

    def fail(*_):
        raise KeyError("strange")

    monkeypatch.setattr(part("live.jobs"), "simulate", fail)
    activate(body)
    refusal(bpy.ops.thew.simulate)
    found = section(diagnosis(), "Latest refusals of this session")
    assert "KeyError" in found and "test_diagnosis.py:" in found and str(part("live.jobs").__file__) not in found


def test_diagnosis_warns_of_cuts(fleshed_character):
    """Warnings are told with their remedy."""
    body, rig = fleshed_character
    body.parent = rig
    for frame, x in ((10, 0.0), (11, 9.0)):
        rig.location.x = x
        rig.keyframe_insert("location", index=0, frame=frame)
    activate(body)
    bpy.ops.thew.simulate()
    text = diagnosis()
    assert "Everything jumps in frame 11: where that is a cut, press Restart Here." in section(text, "Findings")
    assert "11 (Everything jumps by" in section(text, "Flesh")


def test_diagnosis_leaves_folders_out(fleshed_character, tmp_path):
    """The name of the file is told, its folder with the switch alone."""
    folder = tmp_path / "my shots, 1"
    folder.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    activate(bpy.data.objects["Body"])
    plain, whole = diagnosis(), diagnosis(paths=True)
    assert "shot.blend" in plain and "my shots" not in plain and str(tmp_path) not in plain
    assert str(folder) in whole


def test_diagnosis_of_anything(scene):
    """Nothing active, a camera, an armature without meshes, and an empty mesh give a text, not a fault."""
    assert "## Versions" in diagnosis()
    things = [bpy.data.cameras.new("Camera"), bpy.data.armatures.new("Bones"), bpy.data.meshes.new("Void")]
    for data in things:
        obj = bpy.data.objects.new(data.name, data)
        scene.collection.objects.link(obj)
        activate(obj)
        assert f"diagnosis of “{obj.name}”" in diagnosis()
    assert "has no Armature modifier" in diagnosis()


@pytest.mark.usefixtures("fleshed_character")
def test_diagnosis_of_bake():
    """A baked character is told with its bake."""
    assert bpy.ops.thew.bake() == {"FINISHED"}
    text = diagnosis()
    assert "Bake plays, 1 to 20" in section(text, "Findings") and "Bakes" in section(text, "Flesh")


def test_diagnosis_of_every_setting(fleshed_character):
    """Every setting that is changed is told, whatever its type."""
    body, _ = fleshed_character
    changed = set()
    for prop in body.thew.bl_rna.properties:
        name = prop.identifier
        if name in {"rna_type", "made", "name", "height_shown", "enabled", "view"} or prop.is_readonly:
            continue
        if prop.type == "BOOLEAN" and not prop.is_array:
            value = not prop.default
        elif prop.type in {"INT", "FLOAT"} and not prop.is_array:
            value = prop.hard_max if prop.default != prop.hard_max else prop.hard_min
        elif prop.type == "ENUM" and not prop.is_enum_flag and len(prop.enum_items):
            value = next(item.identifier for item in prop.enum_items if item.identifier != prop.default)
        else:
            continue
        setattr(body.thew, name, value)
        changed.add(name)
    told = section(diagnosis(), "Settings that differ from the defaults")
    assert len(changed) > 30 and all(f"\n{name} " in told for name in changed), changed


def test_diagnosis_by_command(fleshed_character, tmp_path, capsys):
    """The command prints the text of each mesh of a file, simulated on demand, and leaves the file as it is."""
    path = tmp_path / "told.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    before, main = path.read_bytes(), part("cli").main
    capsys.readouterr()
    assert main(["diagnose", str(path), "--simulate"]) == 0
    out = capsys.readouterr().out
    assert "diagnosis of “Body”" in out and "frames 1 to 20" in out and str(tmp_path) not in out
    assert path.read_bytes() == before
    assert main(["diagnose", str(path), "--object", "Nobody"]) == 1
    assert "no object “Nobody”" in capsys.readouterr().err
    assert main(["diagnose", str(tmp_path / "none.blend")]) == 1
