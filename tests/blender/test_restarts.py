# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts: a character that is elsewhere from one frame to the next, and flesh that begins anew there."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, animate, flesh_of, make_body, make_character, part, play, size_of
from test_shots import keys_of

CUT, LAST = 11, 20


@pytest.fixture
def cut_character(scene):
    """Builds a character that moves, and is ten metres away from frame `CUT` on."""
    scene.frame_end = LAST
    body, rig = make_character()
    body.parent = rig
    for frame, x in ((1, 0.0), (CUT - 1, 0.0), (CUT, 10.0)):
        rig.location.x = x
        rig.keyframe_insert("location", index=0, frame=frame)
    curves = part("scene.animation").curves_in(rig.animation_data)
    for curve in curves:
        if curve.data_path == "location":
            for key in curve.keyframe_points:
                key.interpolation = "CONSTANT"
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def simulate(body, start=1, end=LAST):
    activate(body)
    assert bpy.ops.thew.simulate(frame_start=start, frame_end=end) == {"FINISHED"}
    return play(body, range(start, end + 1))


def test_restart_at_cut(cut_character):
    """Flesh begins anew at a restart, and its removal gives the former motion back."""
    body, _ = cut_character
    thrown = simulate(body)
    assert f"jumps in frame {CUT}" in body.thew.made.notes or [cut.frame for cut in flesh_of(body).open_cuts] == [CUT]
    bpy.context.scene.frame_set(CUT)
    assert bpy.ops.thew.restart_here() == {"FINISHED"}
    begun = simulate(body)
    assert flesh_of(body).open_cuts == () and f"Begins anew in frame {CUT}" in flesh_of(body).beginning.note
    size = size_of(begun[0])
    assert np.abs(thrown[CUT - 1 :] - begun[CUT - 1 :]).max() > 0.02 * size
    # Each part is what it is alone, with the same run-in.
    body.thew.motion_start = "PREROLL"
    alone = simulate(body, CUT, LAST)
    np.testing.assert_allclose(begun[CUT - 1 :], alone, atol=1e-6 * size)
    # And goes on again as it was.
    body.thew.motion_start = "AUTOMATIC"
    assert bpy.ops.thew.restart_remove(frame=CUT) == {"FINISHED"}
    np.testing.assert_allclose(simulate(body), thrown, atol=1e-6 * size)


def test_restart_limits_lead(cut_character):
    """A range that begins at or after a restart uses nothing before it."""
    body, _ = cut_character
    bpy.ops.thew.restart_here(frame=CUT)
    whole = simulate(body)
    np.testing.assert_allclose(simulate(body, CUT, LAST), whole[CUT - 1 :], atol=1e-6 * size_of(whole[0]))
    later = simulate(body, CUT + 3, LAST)
    np.testing.assert_allclose(later, whole[CUT + 2 :], atol=1e-6 * size_of(whole[0]))
    assert flesh_of(body).clip.lead == 3


def test_restart_in_bake_and_shot(cut_character):
    """Bakes and exported shots contain the restart."""
    body, _ = cut_character
    bpy.ops.thew.restart_here(frame=CUT)
    live = simulate(body)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(body, range(1, LAST + 1)) - live).max() < 1e-5 * size_of(live[0])
    bpy.ops.thew.remove()
    activate(body)
    bpy.ops.thew.add(cells_across=6)
    bpy.ops.thew.restart_here(frame=CUT)
    scene, layer = bpy.context.scene, bpy.context.view_layer
    shot, _ = part("logic.tasks").finish(part("live.shots").export(body, scene, layer, 1, LAST))
    assert shot.restarts == [CUT - 1]


def test_restart_of_clip_checked(cut_character, tmp_path, capsys):
    """A clip bakes as within Blender over its own frames, and is refused where the file has other restarts."""
    # Of a range with frames before it, of which a run-in is made; and to no other cuts.
    bpy.ops.thew.restart_here(frame=CUT)
    path, cli = tmp_path / "cut.blend", part("cli")
    for first, words in ((6, ()), (CUT + 3, ()), (6, ("--frames", "8", str(LAST)))):
        bpy.context.scene.frame_start = first
        bpy.ops.wm.save_as_mainfile(filepath=str(path))
        assert cli.main(["export", str(path), *words]) == 0
        core = part("logic.native").core()
        core.Shot.load(tmp_path / "cut.Body.shot.thew").simulate().save(tmp_path / "cut.clip.thew")
        within, back = (tmp_path / f"{name}.blend" for name in ("within", "back"))
        assert cli.main(["bake", str(path), *words, "--out", str(within)]) == 0
        direct = keys_of("Body")
        clip = ("--clip", str(tmp_path / "cut.clip.thew"))
        assert cli.main(["bake", str(path), *words, *clip, "--out", str(back)]) == 0
        assert np.abs(np.diff(direct, axis=0)).max() > 1e-4 and np.array_equal(keys_of("Body"), direct)
        bpy.ops.wm.open_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    bpy.data.objects["Body"].thew.restarts[0].frame = CUT + 5
    other = tmp_path / "other.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(other))
    capsys.readouterr()
    assert cli.main(["bake", str(other), *words, *clip]) == 1
    said = capsys.readouterr()
    assert f"begins anew in frame {CUT + 5}, that of “cut.clip.thew” in frame {CUT}" in said.out + said.err


def test_restart_suggested_by_command(cut_character, tmp_path, capsys):
    """The command line reports a jump and suggests a restart."""
    path = tmp_path / "cut.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert part("cli").main(["bake", str(path)]) == 0
    assert f"Everything jumps in frame {CUT}: where that is a cut, press Restart Here." in capsys.readouterr().out


@pytest.mark.parametrize("start", ["CYCLE", "AUTOMATIC"])
@pytest.mark.parametrize("frame", [1, 5])
def test_restart_opens_loop(scene, start, frame):
    """A loop with a restart in it is not closed, and the note says so."""
    # Nor at its first frame: it begins there as it would after a cut.
    scene.frame_end = LAST
    body, rig = make_character()
    animate(rig, 1, LAST + 1)
    for curve in part("scene.animation").curves_in(rig.animation_data):
        curve.modifiers.new("CYCLES")
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    body.thew.motion_start = start
    looped = simulate(body)
    assert flesh_of(body).beginning.period == LAST
    bpy.ops.thew.restart_here(frame=frame)
    opened, begun = simulate(body), flesh_of(body).beginning
    assert begun.period == 0 and "A loop is not closed where the flesh begins anew" in begun.note
    assert ("Begins anew in frame 5" in begun.note) == (frame == 5)
    assert np.abs(opened - looped).max() > 1e-3 * size_of(looped[0])


def test_restart_copied_to_later_flesh(cut_character):
    """Flesh that is added later takes over the restarts of its character."""
    _, rig = cut_character
    bpy.ops.thew.restart_here(frame=CUT)
    shirt = make_body(rig, name="Shirt", rings=9)
    activate(shirt)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert [restart.frame for restart in shirt.thew.restarts] == [CUT]
    simulate(shirt)
    assert flesh_of(shirt).open_cuts == () and f"Begins anew in frame {CUT}" in flesh_of(shirt).beginning.note


def test_restart_outside_range(cut_character):
    """A restart outside the range changes nothing, and a second one at its frame adds none."""
    body, _ = cut_character
    whole = simulate(body)
    bpy.ops.thew.restart_here(frame=LAST + 30)
    np.testing.assert_allclose(simulate(body), whole, atol=1e-7)
    assert [restart.frame for restart in body.thew.restarts] == [LAST + 30]
    bpy.ops.thew.restart_here(frame=LAST + 30)
    assert len(body.thew.restarts) == 1
