# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that are simulated together: on the command line, as shots, in a window, in renders."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest
from colliding import FRAMES, add_box, notes, record_calls, simulate
from helpers import activate, add_rig, animate, curve_keys, flesh_of, part, play, refusal, size_of, world
from pairs import APART, make_neighbour, make_pair, move_in, push_force, room


@pytest.fixture
def pair(scene):
    """Builds two small characters side by side whose bellies press into each other, (left, right)."""
    return make_pair()


def run(*words) -> int:
    return part("cli").main([str(word) for word in words])


def save_file(folder) -> str:
    path = str(folder / "pair.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    return path


def open_file(path) -> tuple[bpy.types.Object, bpy.types.Object]:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.data.objects["Anna"], bpy.data.objects["Bert"]


# the command line ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--finish",)])
def test_command_bakes_group(scene, tmp_path, monkeypatch, capsys, words):
    """The command line bakes characters together, with or without flesh in the file."""
    scene.frame_end = 12
    left, right = make_neighbour("Anna", 0.0), make_neighbour("Bert", APART, flesh=False)
    right.thew.cells_across = 8
    path = save_file(tmp_path)
    activate(right)
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    live = [play(body, FRAMES) for body in (left, right)]
    calls, alone = record_calls(monkeypatch, "simulate_shots"), record_calls(monkeypatch)
    assert run("bake", path, "--out", tmp_path / "out.blend", *words) == 0
    printed = capsys.readouterr().out
    assert len(calls) == 1 and not alone
    assert "Anna: “Spine” touches “Bert”" in printed and "Bert: “Spine” touches “Anna”" in printed
    bodies = open_file(tmp_path / "out.blend")
    for body, shapes in zip(bodies, live, strict=True):
        assert np.abs(play(body, FRAMES) - shapes).max() < 1e-4 * size_of(shapes[0])
        assert body.thew.made.flesh is not bool(words)


def test_command_bakes_one_with_group(pair, tmp_path, monkeypatch):
    """A character that is baked by name is simulated together with its neighbour."""
    live = simulate(pair[1])
    path = save_file(tmp_path)
    calls = record_calls(monkeypatch, "simulate_shots")
    assert run("bake", path, "--object", "Bert") == 0
    assert len(calls) == 1
    left, right = open_file(path)
    assert right.thew.made.shows_bake and not left.thew.made.shows_bake
    assert np.abs(play(right, FRAMES) - live).max() < 1e-4 * size_of(live[0])


def test_command_names_failed_member(scene, tmp_path, capsys):
    """The command line names a character that cannot have flesh and bakes the others."""
    scene.frame_end = 4
    for x, name in ((0.0, "Anna"), (APART, "Bert"), (2.0 * APART, "Cleo")):
        make_neighbour(name, x, flesh=False).thew.cells_across = 6
    bpy.data.objects["Cleo"].vertex_groups.clear()
    path = save_file(tmp_path)
    assert run("bake", path) == 2  # Cleo has none
    printed = capsys.readouterr().out
    assert re.search(r"Cleo: “Cleo” .*weights", printed) and "Anna: “Spine” touches “Bert”" in printed
    assert not re.search("“[A-Z][a-z]+”: ", printed)


# shots -----------------------------------------------------------------------------------------------------------------------


def test_group_shots_same_bits(pair, tmp_path, monkeypatch):
    """Exported shots that are simulated together elsewhere give the same bits."""
    move_in(pair[1])
    pair[1].thew.rate = 300.0
    simulate(pair[0])
    expected = [np.array([flesh_of(body).clip.offsets(i) for i in range(12)]) for body in pair]
    path = save_file(tmp_path)
    assert run("export", path) == 0
    core = part("logic.native").core()
    shots = [tmp_path / f"pair.{name}.shot.thew" for name in ("Anna", "Bert")]
    clips = core.simulate_shots([core.Shot.load(shot) for shot in shots])
    for clip, offsets in zip(clips, expected, strict=True):
        np.testing.assert_array_equal([clip.offsets(i) for i in range(12)], offsets)
    files = []
    for name, clip in zip(("Anna", "Bert"), clips, strict=True):
        files.append(tmp_path / f"{name}.clip.thew")
        clip.save(files[-1])
    calls, alone = record_calls(monkeypatch, "simulate_shots"), record_calls(monkeypatch)
    assert run("bake", path, "--clip", *files, "--out", tmp_path / "back.blend") == 0
    assert not calls and not alone
    for body, name in zip(open_file(tmp_path / "back.blend"), ("Anna", "Bert"), strict=True):
        assert f"touches “{'Bert' if name == 'Anna' else 'Anna'}” in frames" in notes(body)
        keys = part("scene.writing").baked_keys(body)
        assert len(keys) == 12 and body.thew.made.shows_bake and body.name == name
    assert run("bake", path, "--out", tmp_path / "within.blend") == 0
    within = [play(body, FRAMES) for body in open_file(tmp_path / "within.blend")]
    back = [play(body, FRAMES) for body in open_file(tmp_path / "back.blend")]
    np.testing.assert_array_equal(back, within)


def test_group_refuses_lone_clip(pair, tmp_path, capsys):
    """A clip that was simulated without its neighbours is refused with the way to do it."""
    simulate(pair[0])
    path = save_file(tmp_path)
    assert run("export", path) == 0
    core = part("logic.native").core()
    shot = core.Shot.load(tmp_path / "pair.Anna.shot.thew")
    shot.simulate().save(tmp_path / "alone.clip.thew")
    before = (tmp_path / "pair.blend").read_bytes()
    capsys.readouterr()
    assert run("bake", path, "--clip", tmp_path / "alone.clip.thew") == 1
    printed = capsys.readouterr().out
    assert "“alone.clip.thew” was simulated without “Bert”, whose flesh is to touch that of “Anna”" in printed
    assert "--together" in printed and (tmp_path / "pair.blend").read_bytes() == before
    other = core.simulate_shots([shot, core.Shot.load(tmp_path / "pair.Bert.shot.thew")])[0]
    other.save(tmp_path / "both.clip.thew")
    assert run("bake", path, "--clip", tmp_path / "both.clip.thew", "--out", tmp_path / "both.blend") == 0


def test_clip_of_other_object_refused(pair, tmp_path, capsys):
    """A clip of another object is refused by both names, unless no object of that name is in the file."""
    for body in pair:
        body.thew.use_other_flesh = False
    simulate(pair[0])
    pair[1].modifiers["Armature"].object.location.x = pair[1].location.x = 0.0  # nothing else tells them apart
    path = save_file(tmp_path)
    assert run("export", path, "--object", "Anna") == 0
    clip = tmp_path / "anna.clip.thew"
    part("logic.native").core().Shot.load(tmp_path / "pair.Anna.shot.thew").simulate().save(clip)
    capsys.readouterr()
    assert run("bake", path, "--object", "Bert", "--clip", clip) == 1
    assert "“anna.clip.thew” holds the clip of “Anna”, not of “Bert”" in capsys.readouterr().out
    bpy.ops.wm.open_mainfile(filepath=path)
    bpy.data.objects["Anna"].name = "Anna again"
    again = save_file(tmp_path)
    assert run("bake", again, "--object", "Anna again", "--clip", clip, "--out", tmp_path / "again.blend") == 0


def test_group_shots_without_flesh(scene, tmp_path):
    """Shots of characters without flesh in the file belong together too."""
    scene.frame_end = 4
    bodies = [make_neighbour(name, x, flesh=False) for name, x in (("Anna", 0.0), ("Bert", APART))]
    for body in bodies:
        body.thew.cells_across = 8
    assert run("export", save_file(tmp_path)) == 0
    core = part("logic.native").core()
    clips = core.simulate_shots([core.Shot.load(tmp_path / f"pair.{name}.shot.thew") for name in ("Anna", "Bert")])
    one, other = (clip.contacts(3).forces.sum(axis=0) for clip in clips)
    assert one[0] < -1.0 and np.abs(one + other).max() < 1e-6 * np.abs(one).max()


# rigs --------------------------------------------------------------------------------------------------------------


def test_rig_pushes_neighbour(pair, monkeypatch):
    """A rig of one character pushes the other."""
    before = simulate(pair[0])
    rig = add_rig(pair[1], bone="Spine")
    curve_keys(rig, (1, 0.0), (8, 1.0))
    calls = record_calls(monkeypatch, "simulate_shots")
    after = play(pair[0], FRAMES)
    assert len(calls) == 1 and np.abs(after - before).max() > 1e-4
    rig.enabled = False
    np.testing.assert_array_equal(play(pair[0], FRAMES), before)


def test_settled_rig_keeps_neighbour(pair, monkeypatch):
    """A rig that is edited in the rest pose preview leaves the neighbour's motion alone."""
    add_rig(pair[0], bone="Spine")
    together = simulate(pair[1])
    activate(pair[0])
    assert bpy.ops.thew.settle() == {"FINISHED"}
    calls = record_calls(monkeypatch, "simulate_shots")
    pair[0].thew.rigs[0].strength *= 0.5
    np.testing.assert_array_equal(play(pair[1], FRAMES), together)
    assert not calls
    pair[0].thew.settled = False
    assert np.abs(play(pair[1], FRAMES) - together).max() > 0.0 and len(calls) == 1


# in a window --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def window(monkeypatch):
    """Makes Blender believe in a window; returns the list of bodies that wait for an update."""
    waits = []
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    for name in ("wait", "expect", "schedule_at_once"):
        monkeypatch.setattr(part("live.updates"), name, waits.append)
    return waits


def health(body):
    """Returns the panel's first line."""
    said, panels = [], part("ui.health_rows")
    real = panels.shorten, panels.wrap
    panels.shorten = panels.wrap = lambda text, _width: said.append(text) or [text]
    try:
        panels.draw_health(PermissiveLayout(), body, 1, 400)
    finally:
        panels.shorten, panels.wrap = real
    return said[0]


class PermissiveLayout:
    """A layout that takes everything."""

    def __getattr__(self, _name):
        return lambda *_given, **_named: self


def test_setting_updates_group_in_window(pair, window):
    """In a window a changed setting of one character soon shows on both."""
    together = simulate(pair[0])
    updates = part("live.updates")
    pair[1].thew.softness = 0.8
    assert window == [pair[1]]
    play(pair[0], (3,))
    assert pair[0] in window, "what is seen of one is out of date, too"
    flesh, finish = flesh_of(pair[1]), part("logic.tasks").finish
    finish(part("live.jobs").update(pair[1], bpy.context.scene, bpy.context.view_layer, flesh))
    window.clear()
    assert np.abs(play(pair[0], FRAMES) - together).max() > 0.0 and not window
    assert updates.state.stepper is None


def test_posed_member_reported_on_both(pair, window):
    """The panels of both characters report that one was posed by hand."""
    together = simulate(pair[0])
    assert health(pair[0]).startswith("Moves")
    window.clear()
    pair[1].modifiers["Armature"].object.location.x += 0.1
    bpy.context.view_layer.update()
    play(pair[1], (3,))
    assert health(pair[0]) == "“Bert” has changed since both were simulated: play, or press Simulate"
    np.testing.assert_array_equal(play(pair[0], (4,)), together[3:4])
    assert not window, "nothing is read again under the hand"
    simulate(pair[0])
    assert health(pair[0]).startswith("Moves") and health(pair[1]).startswith("Moves")


def test_edited_keys_resimulate_group(pair, window, monkeypatch):
    """Edited keys of one character are simulated with both when the animation plays."""
    rig = pair[1].modifiers["Armature"].object
    animate(rig)
    together = simulate(pair[0])
    window.clear()
    spine = rig.pose.bones["Spine"]
    spine.rotation_euler.x = -0.2
    spine.keyframe_insert("rotation_euler", frame=8)
    bpy.context.view_layer.update()
    play(pair[0], (12,))
    assert health(pair[0]) == "“Bert” has changed since both were simulated: play, or press Simulate"
    assert health(pair[1]) == "This pose is not simulated: key it, or press Simulate."
    assert not window, "nothing is simulated while it stands"
    monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: True)
    play(pair[0], (3,))
    assert set(window) == set(pair)
    window.clear()
    flesh, finish = flesh_of(pair[0]), part("logic.tasks").finish
    finish(part("live.jobs").update(pair[0], bpy.context.scene, bpy.context.view_layer, flesh))
    assert np.abs(play(pair[0], FRAMES) - together).max() > 1e-3 and not window, "one update is enough for both"
    # The jerk may turn cells over that touch nothing, which the line then says.
    assert not any(flesh_of(each).condition.is_behind or "imulate" in health(each) for each in pair)


def test_moved_neighbour_noticed(pair, window):
    """A neighbour that is moved into the group is noticed."""
    pair[1].thew.use_other_flesh = False
    simulate(pair[0])
    window.clear()
    pair[1].thew.use_other_flesh = True
    pair[1].location.z += 1e-6
    bpy.context.view_layer.update()
    assert pair[0] in window


# renders ------------------------------------------------------------------------------------------------------------------------


def test_group_render_matches_playback(pair, tmp_path, monkeypatch):
    """A render shows what was played, without a simulation."""
    together = [simulate(body) for body in pair]
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    scene.camera, scene.render.engine, scene.cycles.samples = camera, "CYCLES", 1
    scene.render.resolution_x = scene.render.resolution_y = 8
    scene.render.filepath = str(tmp_path / "frame-")
    calls = record_calls(monkeypatch, "simulate_shots")
    bpy.ops.render.render(animation=True)
    assert not calls
    for body, shapes in zip(pair, together, strict=True):
        np.testing.assert_array_equal(play(body, FRAMES), shapes)


# odd lives ----------------------------------------------------------------------------------------------------------------------


def test_group_far_from_origin(scene):
    """A group far from the origin moves as it does there, but for rounding."""
    scene.frame_end = 12
    rooms = []
    for far in (0.0, 3000.0):
        left, right = make_neighbour("Anna", far), make_neighbour("Bert", far + APART)
        rooms.append((room(left, right), push_force(left)[0]))
        for obj in list(bpy.data.objects):
            bpy.data.objects.remove(obj)
    assert rooms[1] == pytest.approx(rooms[0], rel=1e-2, abs=2e-3)


def test_broken_member_noted_on_both(pair):
    """A character that cannot be simulated is named on the other, and both recover."""
    together = play(pair[0], FRAMES)
    group = pair[1].vertex_groups["Spine"]
    pair[1].modifiers["Armature"].use_vertex_groups = False
    pair[1].thew.softness += 0.1
    shown = play(pair[0], (3, 4))
    assert "“Bert”" in notes(pair[0]) and "vertex groups" in notes(pair[0]) and np.isfinite(shown).all()
    pair[1].modifiers["Armature"].use_vertex_groups = True
    pair[1].thew.softness -= 0.1
    assert group.name == "Spine"
    again = play(pair[0], FRAMES)
    assert "ignores vertex groups" not in notes(pair[0])
    assert np.abs(again - together).max() < 1e-4


def test_rider_collides_with_none(pair):
    """A shoe that rides on one character collides with neither; the flesh below it does."""
    together = simulate(pair[0])
    shoe = add_box("Shoe", moves=False, face=0.2, half=0.05)
    shoe.parent, shoe.parent_type, shoe.parent_bone = pair[1].modifiers["Armature"].object, "BONE", "Spine"
    bpy.context.view_layer.update()
    part("live.riding").mount(shoe, pair[1], bpy.context.view_layer)
    assert all(not part("scene.colliders").requested_colliders(body, bpy.context.scene) for body in pair)
    np.testing.assert_array_equal(simulate(pair[0]), together)
    assert np.isfinite(world(pair[1])).all()


def test_member_without_modifier_pushes(pair):
    """A character whose modifier was deleted shows no flesh but keeps pushing, and its panel says what to do."""
    together = simulate(pair[0])
    for modifier in list(pair[1].modifiers):
        if modifier.type == "NODES":
            pair[1].modifiers.remove(modifier)
    pair[1].thew.softness += 0.05
    again = simulate(pair[0])
    assert np.abs(again - together).max() > 0.0 and room(*pair) > -0.07
    assert "touches “Bert”" in notes(pair[0])
    activate(pair[1])
    assert "press Add Flesh again" in refusal(bpy.ops.thew.simulate)


def test_group_refuses_shared_mesh(pair):
    """A copy that shares its mesh is refused by name, and a single-user copy is accepted."""
    simulate(pair[0])
    copy = pair[1].copy()
    copy.name = "Copy"
    bpy.context.scene.collection.objects.link(copy)
    activate(pair[0])
    text = refusal(bpy.ops.thew.simulate)
    assert "shares its mesh" in text and "single user" in text
    copy.data = pair[1].data.copy()
    copy.location.x += 5.0
    simulate(pair[0])
    assert "“Bert”" in notes(pair[0]) and "Copy" not in notes(pair[0])
