# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare: plain, settled and moving flesh, and two sets of settings whose motions both stay in memory."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import Layout, activate, evaluated_positions, flesh_of, part, play, refusal, size_of
from ticking import tick

FRAMES = range(1, 21)


@pytest.fixture
def counted(monkeypatch):
    """Counts the simulations."""
    thew, calls = part("logic.native").core(), []
    simulate = thew.simulate

    def count(*args, **options):
        calls.append(options)
        return simulate(*args, **options)

    monkeypatch.setattr(thew, "simulate", count)
    return calls


def words(body) -> list[str]:
    """Returns what the foldout says."""
    layout = Layout()
    part("ui.compare_panel").draw_compare(layout, bpy.context, body, 60)
    return [each for call in layout.seen for each in call[1:] if each]


def test_view_buttons(fleshed_character):
    """The three buttons show the plain skin, the flesh at rest and in motion, as the switches do."""
    body, _ = fleshed_character
    settings = body.thew
    moving = play(body, FRAMES)
    assert settings.view == "MOVING"
    settings.view = "PLAIN"
    plain = play(body, FRAMES)
    assert not settings.enabled and settings.view == "PLAIN"
    settings.view = "SETTLED"
    settled = play(body, FRAMES)
    assert settings.enabled and settings.settled and settings.view == "SETTLED"
    settings.view = "MOVING"
    np.testing.assert_array_equal(play(body, FRAMES), moving)
    for a, b in ((plain, moving), (plain, settled), (settled, moving)):
        assert np.abs(a - b).max() > 1e-4


def test_swap_is_instant(fleshed_character, counted):
    """A swap back and forth shows both motions to the last bit, and simulates each once."""
    body, _ = fleshed_character
    soft = play(body, FRAMES)
    assert bpy.ops.thew.compare_store() == {"FINISHED"}
    assert body.thew.compared_side == "A"
    body.thew.softness, body.thew.settling = 0.9, 2.0
    softer = play(body, FRAMES)
    assert np.abs(softer - soft).max() > 1e-4
    done = len(counted)
    assert bpy.ops.thew.compare_swap() == {"FINISHED"}
    assert body.thew.compared_side == "B" and body.thew.softness == 0.5
    np.testing.assert_array_equal(play(body, FRAMES), soft)
    assert len(counted) == done
    for k in range(4):
        bpy.ops.thew.compare_swap()
        bpy.context.scene.frame_set(5)
        np.testing.assert_array_equal(play(body, FRAMES), soft if k % 2 else softer)
    assert len(counted) == done and body.thew.compared_side == "B"


def test_swap_shows_at_once(window, counted):
    """In a window the other motion is in view as soon as the button returns."""
    body, _, _ = window
    tick()
    bpy.context.scene.frame_set(7)
    first = evaluated_positions(body)
    bpy.ops.thew.compare_store()
    body.thew.softness = 1.0
    tick()
    bpy.context.scene.frame_set(7)
    second = evaluated_positions(body)
    assert np.abs(first - second).max() > 1e-4
    bpy.ops.thew.compare_swap()
    tick()
    bpy.context.scene.frame_set(7)
    done = len(counted)
    for k in range(4):
        assert bpy.ops.thew.compare_swap() == {"FINISHED"}
        np.testing.assert_array_equal(evaluated_positions(body), first if k % 2 else second)
    tick()
    np.testing.assert_array_equal(evaluated_positions(body), first)
    assert len(counted) == done


@pytest.mark.parametrize(
    "name, value",
    [("cells_across", 8), ("method", "linear"), ("elastic_joints", 1.0), ("use_gravity", False), ("kind", "ROBOT")],
)
def test_swap_of_each_stage(fleshed_character, counted, name, value):
    """Settings of the lattice, the body and the motion are swapped alike."""
    body, _ = fleshed_character
    bpy.ops.thew.compare_store()
    setattr(body.thew, name, value)
    other = play(body, FRAMES)
    bpy.ops.thew.compare_swap()
    first = play(body, FRAMES)
    done = len(counted)
    bpy.ops.thew.compare_swap()
    np.testing.assert_array_equal(play(body, FRAMES), other)
    bpy.ops.thew.compare_swap()
    np.testing.assert_array_equal(play(body, FRAMES), first)
    assert len(counted) == done and np.abs(first - other).max() > 1e-6


def test_swap_after_edits(fleshed_character):
    """After paint, keys or another mesh, what is parked is not believed: the swap shows what a new simulation would."""
    body, rig = fleshed_character
    bpy.ops.thew.compare_store()
    body.thew.softness = 0.9
    play(body, FRAMES)
    bpy.ops.thew.compare_swap()
    play(body, FRAMES)

    def check():
        bpy.ops.thew.compare_swap()
        shown = play(body, FRAMES)
        part("live.parked_stages").forget_all()
        activate(body)
        bpy.ops.thew.simulate()
        np.testing.assert_allclose(play(body, FRAMES), shown, atol=1e-7 * size_of(shown[0]))

    spine = rig.pose.bones["Spine"]
    spine.rotation_euler.x = 0.8
    spine.keyframe_insert("rotation_euler", frame=9)
    bpy.context.scene.frame_set(3)
    activate(body)
    bpy.ops.thew.simulate()
    check()
    play(body, FRAMES)
    part("scene.flesh_map").write(body, "Flesh", np.linspace(0.2, 1.0, len(body.data.vertices)))
    body.data.update_tag()
    bpy.context.view_layer.update()
    check()


def test_copy_and_end(fleshed_character):
    """Copies make both sides alike, in either direction; the end keeps what is in view."""
    body, _ = fleshed_character
    settings = body.thew
    bpy.ops.thew.compare_store()
    settings.softness = 0.9
    assert "Softness: A 0.90, B 0.50" in words(body)
    settings.method = "modal"
    assert "Method: A Modal, B Hyperelastic" in words(body)
    settings.method, settings.softness = "hyperelastic", 0.501
    assert "Softness: A 0.501, B 0.500" in words(body)
    settings.softness = 0.9
    assert bpy.ops.thew.compare_copy(source="A") == {"FINISHED"}
    assert any("alike" in each for each in words(body))
    settings.softness = 0.2
    bpy.ops.thew.compare_copy(source="B")
    assert settings.softness == pytest.approx(0.9) and settings.compared_side == "A"
    settings.softness = 0.1
    bpy.ops.thew.compare_swap()
    assert settings.softness == pytest.approx(0.9)
    assert bpy.ops.thew.compare_end() == {"FINISHED"}
    assert settings.softness == pytest.approx(0.9) and settings.compared_other == "" and settings.compared_side == "A"
    assert "Store as B" in words(body)


def test_swap_keeps_other_things(fleshed_character):
    """What is no setting stays: view, frames, maps, restarts and rigs; unset damping stays the body's own."""
    body, _ = fleshed_character
    settings = body.thew
    bpy.ops.thew.compare_store()
    settings.mass_damping = 3.0
    settings.view, settings.use_scene_range, settings.frame_end = "SETTLED", False, 12
    bpy.ops.thew.restart_here(frame=5)
    bpy.ops.thew.compare_swap()
    assert not settings.is_property_set("mass_damping")
    assert settings.view == "SETTLED" and settings.frame_end == 12 and not settings.use_scene_range
    assert [each.frame for each in settings.restarts] == [5]
    bpy.ops.thew.compare_swap()
    assert settings.mass_damping == 3.0


def test_compare_saved(fleshed_character, tmp_path):
    """Both sides are kept in the file."""
    body, _ = fleshed_character
    bpy.ops.thew.compare_store()
    body.thew.softness = 0.9
    path = tmp_path / "pair.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    body = bpy.data.objects["Body"]
    activate(body)
    play(body, (1, 2))
    bpy.ops.thew.compare_swap()
    assert body.thew.softness == 0.5 and body.thew.compared_side == "B"


def test_compare_leaves_out_what_is_shown(fleshed_character):
    """Switches that draw something are no part of A and B."""
    body, _ = fleshed_character
    compared = {prop.identifier for prop in part("saved.comparison").compared_properties(body.thew)}
    assert "softness" in compared and not {name for name in compared if name.startswith("show_")}


def test_compare_refusals(character):
    """Without flesh, without another side, and with damaged text, a sentence says what to do, and nothing changes."""
    body, _ = character
    assert "has no flesh" in refusal(bpy.ops.thew.compare_store)
    bpy.ops.thew.add(cells_across=6)
    assert "press Store as B first" in refusal(bpy.ops.thew.compare_swap)
    for text in ("{", "[1]", "3"):
        body.thew.compared_other = text
        assert "store them anew" in refusal(bpy.ops.thew.compare_swap)
        assert any("damaged" in each for each in words(body))
    # Names of other versions and values of other types are left out.
    body.thew.compared_other = '{"softness": 0.7, "no_such": 1, "method": "strange", "cells_across": "many"}'
    bpy.ops.thew.compare_swap()
    assert body.thew.softness == pytest.approx(0.7) and body.thew.method == "hyperelastic"
    bpy.ops.thew.remove()
    assert body.thew.compared_other == ""


def test_swap_undone(fleshed_character, counted):
    """An undo of a swap shows the former side again, without a simulation."""
    body, _ = fleshed_character
    first = play(body, FRAMES)
    bpy.ops.thew.compare_store()
    body.thew.softness = 0.9
    play(body, FRAMES)
    bpy.ops.thew.compare_swap()
    play(body, FRAMES)
    bpy.ops.ed.undo_push(message="Side B")
    bpy.ops.thew.compare_swap()
    bpy.ops.ed.undo_push(message="Side A")
    done = len(counted)
    bpy.ops.ed.undo()
    body = bpy.data.objects["Body"]
    assert body.thew.compared_side == "B" and body.thew.softness == 0.5
    np.testing.assert_array_equal(play(body, FRAMES), first)
    assert len(counted) == done and flesh_of(body).build_settings.softness == 0.5


@pytest.mark.parametrize(
    "wrong", [None, "soft", 3, 2.5, True, [1], {}, float("nan"), 1e39, 10**400], ids=lambda each: str(each)[:9]
)
def test_damaged_values_are_left_out(fleshed_character, wrong):
    """Values of a wrong type in the text of the other side break neither the panel nor a swap: they count as not set."""
    body, _ = fleshed_character
    comparison, pack = part("saved.comparison"), part("logic.comparison").pack
    body.thew.softness = 0.8
    kinds = {"BOOLEAN": (bool,), "INT": (int,), "FLOAT": (int, float), "STRING": (str,), "ENUM": (str,)}
    for prop in comparison.compared_properties(body.thew):
        body.thew.compared_other = pack({prop.identifier: wrong, "settling": 2.0})
        lines = words(body)
        assert any("Settling" in line for line in lines)
        if type(wrong) not in kinds[prop.type]:
            assert comparison.other_values(body.thew) == {"settling": 2.0}, prop.identifier
    body.thew.compared_other = pack({"softness": wrong, "method": wrong, "use_gravity": wrong, "cells_across": wrong})
    assert bpy.ops.thew.compare_swap() == {"FINISHED"}
    assert np.isfinite(body.thew.softness) and words(body)


@pytest.mark.parametrize(
    "system, scale, texts",
    [("METRIC", 1.0, ("2 mm", "5 mm")), ("METRIC", 0.01, ("20 µm", "50 µm")), ("NONE", 1.0, ("0.002", "0.005"))],
)
def test_lengths_in_units_of_scene(fleshed_character, scene, system, scale, texts):
    """A length is written as its field in the panel shows it, in the units of the scene."""
    body, _ = fleshed_character
    scene.unit_settings.system, scene.unit_settings.scale_length = system, scale
    body.thew.contact_thickness = 0.002
    bpy.ops.thew.compare_store()
    body.thew.contact_thickness = 0.005
    (line,) = [each for each in words(body) if "A " in each and ", B " in each]
    assert line.endswith(f"A {texts[1]}, B {texts[0]}"), line
