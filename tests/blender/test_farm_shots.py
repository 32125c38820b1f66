# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots that a farm simulates: their caches play on the character, their frames are the scene's, and their softness can change."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from conftest import in_one_blender
from helpers import activate, animate, make_character, part, size_of
from test_farm import records, run, table_of
from test_shots import run as command

from assets import characters as own

#: The scene's range; the motion begins before it.
START, END = 9, 20


def save_and_export(folder: Path, *words) -> Path:
    """Saves the scene as hero.blend, exports its shots and returns the path of the first."""
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "hero.blend"))
    assert command("export", folder / "hero.blend", *words) == 0
    return folder / "hero.Body.shot.thew"


@pytest.fixture
def moving(scene):
    """Builds a character whose object is turned, scaled and animated."""
    body, armature = make_character()
    armature.scale, armature.rotation_euler = (0.3, 0.3, 0.3), (0.4, 0.2, -0.9)
    for frame, place in ((1, (0.0, 0.0, 0.0)), (30, (2.0, -1.0, 0.5))):
        armature.location = place
        armature.keyframe_insert("location", frame=frame)
    scene.frame_start, scene.frame_end = START, END
    return body


def test_shot_caches_play_on_character(moving, tmp_path, capsys):
    """PC2 and MDD of a shot are those of a bake in Blender: in the mesh's space, in the scene's frames, without those that lead in."""
    import thew

    save_and_export(tmp_path)
    table = table_of(
        tmp_path, "file,object,target,out", "hero.Body.shot.thew,,clip+pc2+mdd,shot", "hero.blend,Body,pc2,blend"
    )
    assert run(table, tmp_path / "out", "--json") == 0
    told = {record["name"]: record for record in records(capsys)}
    assert len(thew.Clip.load(tmp_path / "out" / "shot.clip.thew")) > END - START + 2, "frames lead in"
    (baked,) = (tmp_path / "out" / "blend").rglob("*.pc2")
    expected, start = thew.bakes.read_pc2(baked)[:2]
    assert len(expected) == END - START + 1 == told["shot"]["frames"] == told["blend"]["frames"]
    assert np.abs(np.diff(expected, axis=0)).max() > 1e-2 * size_of(expected[0])
    found, began = thew.bakes.read_pc2(tmp_path / "out" / "shot.pc2")[:2]
    assert began == start and len(found) == len(expected)
    assert np.abs(found - expected).max() < 1e-5 * size_of(expected[0])
    np.testing.assert_array_equal(thew.bakes.read_mdd(tmp_path / "out" / "shot.mdd")[0], found)
    worst = told["shot"]["worst_frame"]
    assert worst["frame"] == told["blend"]["worst_frame"]["frame"] and START <= worst["frame"] <= END
    assert worst["index"] > worst["frame"] - START


@in_one_blender
def test_shot_cache_of_loop(scene, tmp_path):
    """The cache of a loop, which is simulated for one turn, holds every frame of the range."""
    import thew

    _, armature = make_character()
    animate(armature, 1, 21)
    for curve in part("scene.animation").curves_in(armature.animation_data):
        curve.modifiers.new("CYCLES")
    scene.frame_start, scene.frame_end = 1, 50
    save_and_export(tmp_path)
    assert run(table_of(tmp_path, "file,target", "hero.Body.shot.thew,clip+pc2"), tmp_path / "out") == 0
    found, start = thew.bakes.read_pc2(tmp_path / "out" / "hero.Body.pc2")[:2]
    assert len(found) == 50 and start == 1.0
    assert np.abs(found[:30] - found[20:]).max() < 1e-5 * size_of(found[0]) < np.abs(found[:40] - found[10:]).max()


@in_one_blender
@pytest.mark.parametrize("settling", [1.0, 2.0])
def test_shot_softness_is_the_character_s(scene, tmp_path, settling):
    """A shot whose softness changes moves as one that is exported with it; damping by another factor than 1 stays in numbers."""
    import thew

    armature, body = own.create("biped")
    own.use_action(armature, "jump")
    body.name, scene.frame_end = "Body", 12
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    body.thew.settling = settling
    changed = thew.Shot.load(save_and_export(tmp_path)).replace(softness=0.8)
    wanted = thew.Shot.load(save_and_export(tmp_path, "--set", "softness=0.8"))
    assert (changed.mass_damping == pytest.approx(wanted.mass_damping, rel=1e-6)) == (settling == 1.0)
    away = np.abs(np.asarray(changed.simulate()) - np.asarray(wanted.simulate())).max()
    assert (away < 1e-5) == (settling == 1.0), away
