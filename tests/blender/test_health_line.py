# SPDX-License-Identifier: GPL-3.0-or-later
"""The line of health says "Moves" only where flesh is seen to move."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import (
    Layout,
    activate,
    add_rig,
    animate,
    evaluated_positions,
    flesh_of,
    make_armature,
    make_body,
    part,
    play,
)
from test_panel import draw, words


def line(body) -> str:
    """Returns the words that the panel shows."""
    layout = Layout()
    part("ui.panels").draw_health(layout, body, bpy.context.scene.frame_current, 400)
    return " ".join(layout.read()).strip()


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("Flesh limited in 5 places: lower Softness", "Flesh limited in 5 places:", "lower Softness"),
        (
            "The skin of “Bench” is flat to a line or a point: give it a size",
            "The skin of “Bench” is…",
            "Give it a size",
        ),
        (
            "Set Fine Detail to 2, or lower Detail: 3 would take about 32 GB of memory",
            "Set Fine Detail to 2, or",
            "lower Detail: 3 would…",
        ),
        (
            "A sentence of many words that holds no remedy at all, however long",
            "A sentence of many words",
            "that holds no remedy at…",
        ),
    ],
)
def test_health_line_keeps_remedy(addon, text, first, second):
    """The remedy of a sentence that is too long for its two rows is seen: the fault is cut in favour of it."""
    assert part("ui.health_rows").health_lines(text, 26) == [first, second]


@pytest.fixture
def moving_character(fleshed_character):
    body, rig = fleshed_character
    bpy.ops.thew.simulate()
    play(body, (1, 4))
    assert line(body).startswith("Moves")
    return body, rig


def remove_modifier(name):
    return lambda body, rig: body.modifiers.remove(body.modifiers[name])


def hide_modifier(name):
    return lambda body, rig: setattr(body.modifiers[name], "show_viewport", False)


def move_before_armature(body, _rig):
    body.modifiers.move(list(body.modifiers).index(body.modifiers["Thew"]), 0)


def remove_nodes(body, _rig):
    body.modifiers["Thew"].node_group = None


def clear_armature(body, _rig):
    body.modifiers["Armature"].object = None


def enter_edit_mode(body, _rig):
    activate(body)
    bpy.ops.object.mode_set(mode="EDIT")


def edit_armature(_body, rig):
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (remove_modifier("Thew"), "Thew's modifier is gone: press Add Flesh"),
        (hide_modifier("Thew"), "“Thew” is switched off in viewports"),
        (move_before_armature, "“Thew” stands before “Armature”"),
        (remove_nodes, "“Thew” has lost its nodes"),
        (remove_modifier("Armature"), "The Armature modifier that the flesh followed is gone"),
        (hide_modifier("Armature"), "“Armature” is switched off in viewports"),
        (clear_armature, "“Armature” has no armature"),
        (lambda body, rig: body.hide_set(True), "Hidden: show the object"),
        (lambda body, rig: setattr(body, "hide_viewport", True), "Hidden: show the object"),
        (enter_edit_mode, "Edit Mode shows the plain skin"),
        (edit_armature, "Edit Mode of the armature shows the plain skin"),
    ],
)
def test_health_missing_parts(moving_character, change, words):
    """The line names a modifier, an armature or a view that the flesh lost."""
    body, rig = moving_character
    change(body, rig)
    assert words in line(body)
    bpy.context.view_layer.update()
    assert words in line(body)


def test_health_deleted_keys(moving_character):
    """The line says that a bake is gone when its keys were deleted."""
    body, _ = moving_character
    bpy.ops.thew.bake()
    assert line(body).startswith("Bake plays")
    body.shape_key_clear()
    assert line(body) == "What was baked is gone: press Show Live, or Bake again"


@pytest.mark.parametrize("rings", [13, 17])
def test_health_other_mesh(moving_character, rings):
    """Another mesh on the same object has its flesh built from it, even with as many vertices."""
    body, rig = moving_character
    other = make_body(rig, name="Other", rings=rings, sides=10)
    mesh = other.data
    bpy.data.objects.remove(other)
    mesh.transform(((1.2, 0.0, 0.0, 0.0), (0.0, 1.2, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    former = flesh_of(body).lattice_key
    body.data = mesh
    shapes = play(body, (2, 7))
    assert flesh_of(body).lattice_key != former and len(flesh_of(body).character.rest) == len(mesh.vertices)
    assert line(body).startswith("Moves")
    activate(body)
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(play(body, (2, 7)), shapes)
    assert np.isfinite(evaluated_positions(body)).all()


def buttons(body) -> set[str]:
    """Returns which of the two buttons the first row offers."""
    layout = Layout()
    part("ui.panels").draw_flesh(layout, body, bpy.context.scene.frame_current, 400)
    return {call[1] for call in layout.seen if call[0] == "operator"} & {"thew.add", "thew.simulate"}


def test_health_former_settings(fleshed_character, tmp_path):
    """The line says that a bake is of former settings, also after the file is opened again."""
    body, _ = fleshed_character
    assert bpy.ops.thew.bake() == {"FINISHED"}
    was = body.thew.softness
    for change, back in (
        (lambda: setattr(body.thew, "softness", 0.2), lambda: setattr(body.thew, "softness", was)),
        (lambda: setattr(body.thew, "use_contact", True), lambda: setattr(body.thew, "use_contact", False)),
    ):
        change()
        assert "Bake of earlier settings: Show Live" in line(body)
        back()
        assert "Bake plays, 1 to 20" in line(body)
    bpy.context.scene.frame_end = 12
    assert "earlier" not in line(body), "what it holds besides is no other setting"
    body.thew.softness = 0.2
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "baked.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked.blend"))
    body = bpy.data.objects["Body"]
    assert "Bake of earlier settings" in line(body)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert "Bake plays, 1 to 12" in line(body)


@pytest.mark.parametrize("name", ["Thew", "Armature"])
def test_health_add_button(fleshed_character, name):
    """The panel offers Add Flesh where it repairs a missing modifier."""
    body, rig = fleshed_character
    play(body, (3,))

    assert buttons(body) == {"thew.simulate"}
    body.modifiers.remove(body.modifiers[name])
    assert buttons(body) == {"thew.add"}
    if name == "Armature":
        body.modifiers.new("Armature", "ARMATURE").object = rig
        body.modifiers.move(1, 0)
    assert bpy.ops.thew.add() == {"FINISHED"}
    assert buttons(body) == {"thew.simulate"}
    assert "Moves" in line(body)


def test_health_shorter_range(fleshed_character):
    """After the range is cut short, the next simulation is of the shorter range."""
    body, _ = fleshed_character
    play(body, (3,))
    bpy.context.scene.frame_end = 12
    play(body, (4,))
    flesh = flesh_of(body)
    assert flesh.clip_end == 20, "what is known stays as it is"
    body.thew.softness = 0.3
    play(body, (4,))
    assert flesh.clip_end == 12
    assert "Moves, frames 1 to 12" in line(body)


def test_health_rest_position(moving_character):
    """In Rest Position the line says so, and no word of simulating; back in Pose Position it moves again."""
    body, rig = moving_character
    flesh_of(body).problem = part("live.resting").POSE_CHANGED_TEXT
    assert "press Simulate" in line(body)
    rig.data.pose_position = "REST"
    assert "switch to Pose Position" in line(body) and "Simulate" not in line(body)
    rig.data.pose_position = "POSE"
    flesh_of(body).problem = ""
    assert line(body).startswith("Moves")


def test_details_of_a_bake(moving_character, tmp_path):
    """Details say nothing on frames while the bake plays in them, and repeat the line where its file does not play."""
    body, _ = moving_character
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
    assert line(body).startswith("Bake plays")
    assert "bake" not in words(draw()["details"]).lower()
    body.data.vertices.add(1)
    for state in (True, False):  # also where nothing of the flesh is known, as in a file just opened
        if not state:
            bpy.ops.wm.save_mainfile()
            bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
            body = bpy.data.objects["Body"]
        told = line(body)
        assert "in the bake: Bake again, or Show Live" in told and told in words(draw()["details"])


@pytest.fixture
def unmoved_character(fleshed_character):
    """Builds a character with flesh whose armature has no keys."""
    body, rig = fleshed_character
    rig.animation_data_clear()
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return body, rig


UNMOVED = "Nothing moves the bones in frames 1 to 20: key them, or give the armature an action"


def test_health_without_animation(unmoved_character):
    """The line, Details and the messages say that nothing moves the bones, and what to do; with keys they say that it moves."""
    body, rig = unmoved_character
    assert line(body) == UNMOVED
    details = words(draw(width=800)["details"])
    assert details.startswith(UNMOVED) and "Nothing is wrong" not in details
    simulate = part("operators.simulate").THEW_OT_simulate
    assert simulate.message(None, body, None) == ["“Body” was simulated, but nothing moves it.", UNMOVED]
    rig.data.pose_position = "REST"
    assert "switch to Pose Position" in line(body)
    rig.data.pose_position = "POSE"
    body.thew.motion_start = "SETTLED"  # reads no frames before the range
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert line(body) == UNMOVED
    animate(rig)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert line(body).startswith("Moves") and "moves from" in simulate.message(None, body, None)


def test_add_without_animation(scene):
    """Add Flesh that simulates too, as in a window, says that nothing moves the bones."""
    from types import SimpleNamespace

    rig = make_armature()
    body = make_body(rig)
    activate(body)
    context, whole = bpy.context, part("live.whole_character")
    job = whole.add(body, context.scene, context.view_layer, cells_across=6, method="hyperelastic", simulate=True)
    taken = part("logic.tasks").finish(job)
    told = part("operators.add").THEW_OT_add.message(SimpleNamespace(_first=True), body, taken)
    frames = f"frames {scene.frame_start} to {scene.frame_end}"
    assert told.startswith("“Body” has flesh, but nothing moves it yet. Nothing moves the bones in ")
    assert f"in {frames}: key them, or give the armature an action." in told


def add_bump(body, _rig):
    add_rig(body, bone="Spine").control = 1.0


def add_wind(body, _rig):
    bpy.ops.object.effector_add(type="WIND")
    activate(body)


def key_softness(body, _rig):
    for frame, value in ((1, 0.2), (20, 0.8)):
        body.thew.softness = value
        body.keyframe_insert("thew.softness", frame=frame)


def let_sag(body, _rig):
    body.thew.rest_includes_gravity = False


def carry(body, rig):
    body.parent = rig
    for frame, x in ((1, 0.0), (20, 0.2)):
        rig.location.x = x
        rig.keyframe_insert("location", frame=frame)


def key_before(_body, rig):
    """Moves a bone in the two seconds before the range, which are run in."""
    for frame, turned in ((-40, 0.5), (-2, 0.0)):
        rig.pose.bones["Spine"].rotation_euler.x = turned
        rig.pose.bones["Spine"].keyframe_insert("rotation_euler", frame=frame)


@pytest.mark.parametrize("change", [add_bump, add_wind, key_softness, let_sag, carry, key_before])
def test_health_moved_otherwise(unmoved_character, change):
    """Flesh that something else moves is not told to be without motion."""
    body, rig = unmoved_character
    change(body, rig)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert line(body).startswith("Moves")
