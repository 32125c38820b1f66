# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins in Blender: a point on an Empty, a painted group on an object or a bone; live, baked, undone and removed."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import Layout, activate, evaluated_positions, part, play, refusal, size_of, world
from pairs import make_pair

FRAMES = range(1, 21)
#: A vertex of the belly of `make_body`, in front.
BELLY = 50


def simulate(body):
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return play(body, FRAMES, world)


def pin_point(body, vertex=BELLY):
    activate(body)
    assert bpy.ops.thew.pin_point(vertex=vertex) == {"FINISHED"}
    return body.thew.pins[-1]


def key_away(target, way=(0.0, -0.03, 0.02)):
    """Keys a target from where it is to a little aside at frame 10, and back."""
    start = np.array(target.location)
    for frame, share in ((1, 0.0), (10, 1.0), (20, 0.0)):
        target.location = start + share * np.array(way)
        target.keyframe_insert("location", frame=frame)


def places_of(target):
    return play(target, FRAMES, lambda obj: np.array(obj.matrix_world.translation))


def test_pinned_point_follows_empty(fleshed_character):
    """The pinned vertex is where the Empty is, in every frame; other flesh follows smoothly, and a bake shows the same."""
    body, _ = fleshed_character
    free = simulate(body)
    bpy.context.scene.frame_set(1)
    pin = pin_point(body)
    assert pin.made and pin.target.type == "EMPTY"
    np.testing.assert_allclose(np.array(pin.target.location), free[0, BELLY], atol=1e-6)
    key_away(pin.target)
    held = simulate(body)
    size = size_of(free[0])
    np.testing.assert_allclose(held[:, BELLY], places_of(pin.target), atol=3e-6 * size)
    assert np.linalg.norm(held - free, axis=-1).max() > 0.01 * size
    assert bpy.ops.thew.bake(frame_start=1, frame_end=20) == {"FINISHED"}
    baked = play(body, FRAMES, world)
    np.testing.assert_allclose(baked, held, atol=2e-4 * size)


def test_influence_is_keyed(fleshed_character):
    """Keys of Influence let the point go: held until there, free afterwards. Without influence the flesh moves as without pins."""
    body, _ = fleshed_character
    free = simulate(body)
    bpy.context.scene.frame_set(1)
    pin = pin_point(body)
    size = size_of(free[0])
    still = np.array(pin.target.location)
    for frame, influence in ((8, 1.0), (9, 0.0)):
        pin.influence = influence
        body.keyframe_insert("thew.pins[0].influence", frame=frame)
    keyed = simulate(body)
    np.testing.assert_allclose(keyed[:8, BELLY], np.tile(still, (8, 1)), atol=3e-6 * size)
    assert np.linalg.norm(keyed[8:, BELLY] - still, axis=-1).max() > 2e-3 * size
    part("scene.pins").drop_curves(body, 0)
    pin.influence = 0.0
    np.testing.assert_allclose(simulate(body), free, atol=1e-6 * size)


def paint_belt(body, name="Belt"):
    """Paints a ring around the belly."""
    group = body.vertex_groups.new(name=name)
    group.add(list(range(40, 60)), 1.0, "REPLACE")
    body.vertex_groups.active_index = group.index
    return group


def test_group_is_held_by_bone_or_object(fleshed_character):
    """A painted belt stays on its bone, held at independent points; on an object it goes with that object."""
    body, armature = fleshed_character
    size = size_of(evaluated_positions(body))
    paint_belt(body)
    activate(body)
    assert bpy.ops.thew.pin_group(target=armature.name, bone="Spine") == {"FINISHED"}
    assert body.thew.pins[0].name == "Belt" and body.thew.pins[0].bone == "Spine"
    simulate(body)
    made, names = part("live.pins").tracks(flesh(body), flesh(body).motion.pins)
    assert 3 < len(made) < 20 and set(names) == {"Belt"}
    chosen = [track.point for track in made]
    held = play(body, FRAMES, lambda obj: on_bone(obj, armature, "Spine")[chosen])
    np.testing.assert_allclose(held, np.tile(held[0], (20, 1, 1)), atol=1e-5 * size)
    # On an object.
    assert bpy.ops.thew.pin_remove() == {"FINISHED"} and not len(body.thew.pins)
    bpy.context.scene.frame_set(1)
    strap = bpy.data.objects.new("Strap", None)
    bpy.context.scene.collection.objects.link(strap)
    activate(body)
    strap.select_set(True)
    assert bpy.ops.thew.pin_group() == {"FINISHED"}
    key_away(strap)
    moved = simulate(body)
    way = places_of(strap) - places_of(strap)[0]
    chosen = [track.point for track in part("live.pins").tracks(flesh(body), flesh(body).motion.pins)[0]]
    np.testing.assert_allclose(moved[:, chosen] - way[:, None], np.tile(moved[0, chosen], (20, 1, 1)), atol=1e-5 * size)
    # The object stays when its pin goes.
    assert bpy.ops.thew.pin_remove() == {"FINISHED"} and "Strap" in bpy.data.objects


def flesh(body):
    return part("live.session").register.state_of(body)


def on_bone(body, armature, name):
    """Returns the shown vertices in the space of a bone."""
    matrix = np.array(armature.matrix_world @ armature.pose.bones[name].matrix)
    into = np.linalg.inv(matrix)
    return world(body) @ into[:3, :3].T + into[:3, 3]


def test_pin_removal_leaves_no_trace(fleshed_character):
    """After the pin is removed, the motion is that of before, and the Empty is gone; Remove of the flesh says nothing of it."""
    body, _ = fleshed_character
    free, objects = simulate(body), set(bpy.data.objects)
    bpy.context.scene.frame_set(1)
    pin_point(body)
    bpy.context.scene.frame_set(1)
    simulate(body)
    assert bpy.ops.thew.pin_remove() == {"FINISHED"}
    assert set(bpy.data.objects) == objects
    np.testing.assert_array_equal(simulate(body), free)


def test_pins_survive_undo_and_files(fleshed_character, tmp_path):
    """Undo takes a pin away and redo brings it back; a saved file moves as before."""
    body, _ = fleshed_character
    name = body.name
    bpy.ops.ed.undo_push(message="before")
    pin_point(body)
    bpy.ops.ed.undo_push(message="pinned")
    bpy.ops.ed.undo()
    assert not len(bpy.data.objects[name].thew.pins)
    bpy.ops.ed.redo()
    body = bpy.data.objects[name]
    assert len(body.thew.pins) == 1 and body.thew.pins[0].target is not None
    key_away(body.thew.pins[0].target)
    held = simulate(body)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "pinned.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "pinned.blend"), load_ui=False)
    np.testing.assert_allclose(simulate(bpy.data.objects[name]), held, atol=1e-6 * size_of(held[0]))


def test_mistakes_are_sentences(fleshed_character):
    """Each mistake is refused, or told in the panel, in a sentence that says what to do; the flesh moves on."""
    body, armature = fleshed_character
    group = body.vertex_groups.new(name="Empty")
    assert "is empty" in refusal(bpy.ops.thew.pin_group, group="Empty", target=armature.name, bone="Spine")
    assert "no vertex group “None”" in refusal(bpy.ops.thew.pin_group, group="None", target=armature.name)
    assert "no object “Nobody”" in refusal(bpy.ops.thew.pin_group, group="Empty", target="Nobody")
    body.vertex_groups.remove(group)
    paint_belt(body)
    assert "no bone “Tail”" in refusal(bpy.ops.thew.pin_group, target=armature.name, bone="Tail")
    activate(body)
    assert "two objects" in refusal(bpy.ops.thew.pin_group)
    assert "has no vertex 9999" in refusal(bpy.ops.thew.pin_point, vertex=9999)
    assert "no pin" in refusal(bpy.ops.thew.pin_remove)
    assert not len(body.thew.pins)
    free = simulate(body)
    bpy.context.scene.frame_set(1)
    pin = pin_point(body)
    bpy.data.objects.remove(pin.target)
    np.testing.assert_allclose(simulate(body), free, atol=1e-6 * size_of(free[0]))
    assert "lost its target" in part("scene.pins").problems(body)[0]
    # Two pins that hold the same flesh at different places are named.
    for name in ("One", "Two"):
        bpy.context.scene.frame_set(1)
        pin_point(body, BELLY).name = name
    words = read_panel(body)
    assert any("lost its target" in text for text in words)
    body.thew.pins[2].points = body.thew.pins[1].points.replace(f"[{BELLY}", f"[{BELLY + 1}", 1)
    simulate(body)


def test_cursor_away_from_skin_is_refused(fleshed_character):
    """The 3D cursor pins the vertex under it; away from the skin it is refused, and no Empty is left behind."""
    body, _ = fleshed_character
    bpy.context.scene.frame_set(1)
    activate(body)
    known = len(bpy.data.objects)
    bpy.context.scene.cursor.location = (5.0, 5.0, 5.0)
    assert "3D cursor is not on the skin" in refusal(bpy.ops.thew.pin_point)
    assert len(bpy.data.objects) == known and not len(body.thew.pins)
    bpy.context.scene.cursor.location = world(body)[BELLY]
    assert bpy.ops.thew.pin_point() == {"FINISHED"}
    np.testing.assert_allclose(np.array(body.thew.pins[0].target.location), world(body)[BELLY], atol=1e-6)


def test_pins_hold_beside_other_flesh(scene):
    """A pinned point holds while another character presses against the body, in their common simulation."""
    anna, bert = make_pair()
    scene.frame_set(1)
    pin = pin_point(anna, 200)
    start = np.array(pin.target.location)
    pin.target.location.z += 0.02
    activate(anna)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    held = play(anna, range(1, 13), lambda obj: world(obj)[200])
    wanted = start + [0.0, 0.0, 0.02]
    np.testing.assert_allclose(held, np.tile(wanted, (12, 1)), atol=1e-5)
    assert flesh(anna).group_key and flesh(anna).group_key == flesh(bert).group_key


def test_conflicts_are_named(fleshed_character):
    """Pins that hold the same flesh at different places are refused by their names, and the last motion stays."""
    body, _ = fleshed_character
    simulate(body)
    bpy.context.scene.frame_set(1)
    paint_belt(body, "Hand")
    everything = body.vertex_groups.new(name="Skin")
    everything.add(list(range(len(body.data.vertices))), 1.0, "REPLACE")
    mover = bpy.data.objects.new("Mover", None)
    bpy.context.scene.collection.objects.link(mover)
    activate(body)
    for name in ("Hand", "Skin"):
        assert bpy.ops.thew.pin_group(group=name, target="Mover") == {"FINISHED"}
    # The second pin stands on its own copy, which moves away.
    aside = bpy.data.objects.new("Aside", None)
    bpy.context.scene.collection.objects.link(aside)
    body.thew.pins["Skin"].target = aside
    aside.location.x = 0.3
    said = refusal(bpy.ops.thew.simulate)
    assert "“Hand”" in said and "“Skin”" in said and "conflict" in said, said


def test_conflicts_at_one_vertex_are_named(fleshed_character):
    """Two Empties at one vertex: at one place they agree; apart they are refused by their names."""
    body, _ = fleshed_character
    bpy.context.scene.frame_set(1)
    for name in ("One", "Two"):
        pin_point(body).name = name
    simulate(body)
    bpy.context.scene.frame_set(1)
    body.thew.pins["Two"].target.location.y -= 0.02
    activate(body)
    said = refusal(bpy.ops.thew.simulate)
    assert "“One”" in said and "“Two”" in said and "conflict" in said, said


def read_panel(body):
    layout = Layout()
    part("ui.pin_panel").draw_pins(layout, bpy.context, body, 60)
    return layout.read()


def test_new_empty_is_chosen_and_keeps_panel(fleshed_character):
    """The new Empty is active, to be moved at once; the panel goes on showing the character, as for any other pin's Empty."""
    body, _ = fleshed_character
    pin = pin_point(body)
    assert bpy.context.view_layer.objects.active == pin.target and pin.target.select_get()
    assert pin.target.name.startswith("Pin")
    target_mesh = part("live.target").target_mesh
    assert target_mesh(bpy.context) == body
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    bpy.context.view_layer.objects.active = other
    assert target_mesh(bpy.context) == other
    bpy.context.view_layer.objects.active = pin.target
    assert bpy.ops.thew.pin_remove() == {"FINISHED"} and not len(body.thew.pins)
    # The Empty goes with its pin, and the character is chosen: the panel does not vanish.
    assert bpy.context.view_layer.objects.active == body and body.select_get()


def test_panel_lists_pins(fleshed_character):
    """The panel says how to begin, then shows target, influence and the number of points."""
    body, _ = fleshed_character
    assert any("3D cursor" in text for text in read_panel(body))
    pin_point(body)
    words = read_panel(body)
    assert "[target]" in words and "[influence]" in words and any("1 point" in text for text in words)
    body.thew.method = "modal"
    assert any("Modal" in text for text in read_panel(body))


@pytest.mark.parametrize("text", ["", "[", "[[1, 2]]", '[["a"]]', "{}", "[[1, 0, 0, 0, 0, 0, NaN]]", "[" * 3000])
def test_damaged_points_are_no_points(scene, text):
    """Damaged texts of points give none."""
    assert not len(part("logic.pins").PinPoints.from_text(text))
