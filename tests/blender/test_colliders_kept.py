# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh among objects with Collision physics: simulated anew after changes, at rest, in bakes, files, shots and renders."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from colliding import FRAMES, NEAR, add_box, clear_mesh, notes, reach_to_box, readings, record_calls, simulate
from helpers import activate, evaluated_positions, flesh_of, make_folding, part, play, size_of

# when it is made again -----------------------------------------------------------------------------------------------------


def test_collider_move_noticed(straight_character, monkeypatch):
    """A collider that is moved or edited is noticed by the next frame."""
    box = add_box(moves=False, face=NEAR)
    pressed = simulate(straight_character)
    calls = record_calls(monkeypatch)
    np.testing.assert_array_equal(play(straight_character, FRAMES), pressed)
    assert not calls
    box.location.x += 0.05
    moved = play(straight_character, [5, *FRAMES])[1:]
    assert len(calls) == 1 and reach_to_box(moved)[-1] > reach_to_box(pressed)[-1] + 0.03
    for vertex in box.data.vertices:
        vertex.co.x -= 0.05
    edited = play(straight_character, [5, *FRAMES])[1:]
    assert len(calls) == 2 and np.abs(edited - pressed).max() < 1e-3


def test_collider_keys_noticed(straight_character):
    """A changed key of a collider is noticed."""
    box = add_box()
    pressed = simulate(straight_character)
    box.location.x = NEAR + 0.4 + 0.1
    box.keyframe_insert("location", frame=8)
    assert reach_to_box(play(straight_character, FRAMES))[-1] > reach_to_box(pressed)[-1] + 0.05


@pytest.mark.parametrize(("name", "value"), [("thickness_outer", 0.04), ("cloth_friction", 1.0)])
def test_collider_settings_outdate_clip(straight_character, monkeypatch, name, value):
    """A changed collision setting makes the clip anew without playing frames."""
    box = add_box()
    before = simulate(straight_character)
    calls, read = record_calls(monkeypatch), readings(monkeypatch)
    setattr(box.collision, name, value)
    after = play(straight_character, FRAMES)
    assert len(calls) == 1 and not read and np.abs(after - before).max() > 0.0


def test_collider_renamed(straight_character):
    """The note follows a new name of a collider."""
    box = add_box()
    simulate(straight_character)
    box.name = "Sofa"
    play(straight_character, FRAMES)
    assert "“Sofa”" in notes(straight_character) and "Bench" not in notes(straight_character)


def test_collider_moved_in_window(straight_character, monkeypatch):
    """In a window a moved collider is named as a problem, and the clip stays until the next simulation."""
    box = add_box(moves=False)
    pressed = simulate(straight_character)
    flesh, windows, scene = flesh_of(straight_character), part("scene.windows"), bpy.context.scene
    calls = record_calls(monkeypatch)
    monkeypatch.setattr(windows, "is_headless", lambda: False)
    waits = []
    monkeypatch.setattr(part("live.updates"), "wait", waits.append)
    box.location.x += 0.1
    bpy.context.view_layer.update()
    assert flesh.problem == "“Bench” has moved or changed since the flesh was simulated: play, or press Simulate."
    health = part("logic.health").health(
        straight_character.thew, straight_character.thew.made, flesh, scene.frame_current
    )
    assert health.level == "ERROR" and "“Bench”" in health.text
    np.testing.assert_array_equal(play(straight_character, [4]), pressed[3:4])
    box.location.x -= 0.1
    bpy.context.view_layer.update()
    assert flesh.problem == "" and not waits
    box.collision.cloth_friction = 2.0
    bpy.context.view_layer.update()
    assert waits == [straight_character]
    waits.clear()
    add_box("Second", moves=False)
    assert straight_character in waits and not calls


def test_cycle_needs_cyclic_collider(scene, monkeypatch):
    """A character's loop repeats only if the ball that passes it comes back in the same time."""
    scene.frame_end = 20
    body, armature = make_folding(angle=0.0)
    bone = armature.pose.bones["Spine"]
    for frame in range(1, 42):
        bone.rotation_euler = (0.1 * np.sin(2.0 * np.pi * (frame - 1) / 10.0), 0.0, 0.0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    body.thew.use_contact = True
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    simulate(body)
    assert flesh_of(body).beginning.period == 10
    box = add_box(moves=False, face=2.0)
    simulate(body)
    assert flesh_of(body).beginning.period == 10
    box.animation_data_clear()
    for frame in range(1, 42):
        box.location.x = 2.0 + 0.05 * frame
        box.keyframe_insert("location", frame=frame)
    simulate(body)
    assert flesh_of(body).beginning.period == 0
    for frame in range(1, 42):
        box.location.x = 2.0 + 0.05 * np.cos(2.0 * np.pi * (frame - 1) / 10.0)
        box.keyframe_insert("location", frame=frame)
    calls = record_calls(monkeypatch)
    simulate(body)
    assert flesh_of(body).beginning.period == 10 and calls[-1]["colliders"][0].entries == 11
    # What follows the loop in a longer bake is simulated after some turns of it, in which the box goes its way too.
    part("logic.tasks").finish(part("bake.baking").bake(body, scene, bpy.context.view_layer, 1, 33))
    after = calls[-1]
    assert after["colliders"][0].entries == len(after["poses"]) > 34


# at rest, bakes, files -----------------------------------------------------------------------------------------------------


def test_settle_heeds_colliders(straight_character):
    """Flesh at rest heeds where the things are in the present frame."""
    add_box()
    simulate(straight_character)
    found = {}
    for frame in (1, 8, 6):
        bpy.context.scene.frame_set(frame)
        activate(straight_character)
        assert bpy.ops.thew.settle() == {"FINISHED"}
        found[frame] = float(evaluated_positions(straight_character)[:, 0].max())
    assert abs(found[8] - NEAR) < 0.01 and found[1] > 0.3 and found[8] + 0.01 < found[6] < found[1]
    assert part("ui.contact_overlay").drawings(straight_character, 6.0)
    shapes = play(straight_character, (1, 8))
    assert reach_to_box(shapes) == pytest.approx([found[1], found[8]], abs=1e-3)


def test_settle_before_reading(straight_character):
    """Settle heeds a new collider without playing the frames, and the motion is made again when it is looked at."""
    free = simulate(straight_character)
    box = add_box(moves=False)
    bpy.context.scene.frame_set(3)
    activate(straight_character)
    assert bpy.ops.thew.settle() == {"FINISHED"}
    assert abs(evaluated_positions(straight_character)[:, 0].max() - NEAR) < 0.01
    straight_character.thew.settled = False
    pressed = play(straight_character, FRAMES)
    assert abs(reach_to_box(pressed)[-1] - NEAR) < 0.01
    box.collision.use = False
    activate(straight_character)
    assert bpy.ops.thew.settle() == {"FINISHED"}
    play(straight_character, (2, 3))
    straight_character.thew.settled = False
    np.testing.assert_array_equal(play(straight_character, FRAMES), free)


def test_colliders_in_shots(straight_character, tmp_path, monkeypatch, capsys):
    """Bakes, shots and the command line hold the contact with colliders, and notice a collider that has moved."""
    add_box()
    clear_mesh(add_box("Ghost"))
    live = simulate(straight_character)
    expected = [flesh_of(straight_character).clip.offsets(index) for index in range(12)]
    told = [line for line in notes(straight_character).splitlines() if "“Bench”" in line or "“Ghost”" in line]
    file = tmp_path / "hero.blend"
    straight_character.thew.cache = "NONE"  # a bake would find its motion there
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    run, core = part("cli").main, part("logic.native").core()
    assert run(["export", str(file), "--object", "Body"]) == 0
    assert "Body: “Ghost” has no faces" in capsys.readouterr().out
    elsewhere = core.Shot.load(tmp_path / "hero.Body.shot.thew").simulate()
    for index in range(12):
        np.testing.assert_array_equal(elsewhere.offsets(index), expected[index])
    elsewhere.save(tmp_path / "hero.clip.thew")
    calls, baked = record_calls(monkeypatch), []
    for words in ((), ("--clip", str(tmp_path / "hero.clip.thew"))):
        out = str(tmp_path / f"out{len(words)}.blend")
        capsys.readouterr()
        assert run(["bake", str(file), "--object", "Body", "--out", out, *words]) == 0
        printed = capsys.readouterr().out
        assert len(told) == 2 and all(f"Body: {line}" in printed for line in told)
        bpy.ops.wm.open_mainfile(filepath=out)
        baked.append(play(bpy.data.objects["Body"], FRAMES))
    assert len(calls) == 1
    np.testing.assert_array_equal(baked[0], baked[1])
    assert np.abs(baked[0] - live).max() < 1e-4 * size_of(live[0])
    bpy.ops.wm.open_mainfile(filepath=str(file))
    bpy.data.objects["Bench"].animation_data_clear()
    bpy.ops.wm.save_mainfile()
    capsys.readouterr()
    assert run(["bake", str(file), "--object", "Body", "--clip", str(tmp_path / "hero.clip.thew")]) == 1
    assert "“Bench” is not where it was when “hero.clip.thew” was exported" in capsys.readouterr().out


def test_colliders_saved(straight_character, tmp_path):
    """The collection and the motion are the same after the file is opened again."""
    box = add_box()
    props = bpy.data.collections.new("Props")
    bpy.context.scene.collection.children.link(props)
    props.objects.link(box)
    straight_character.thew.collider_collection = props
    pressed = simulate(straight_character)
    file = str(tmp_path / "bench.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    body = bpy.data.objects["Body"]
    assert body.thew.collider_collection == bpy.data.collections["Props"]
    np.testing.assert_array_equal(play(body, FRAMES), pressed)


def test_render_with_colliders(straight_character, monkeypatch, tmp_path):
    """A render shows the motion that was played, even with colliders hidden or finer in it."""
    hidden, finer = add_box("Hidden"), add_box("Finer")
    hidden.hide_render = True
    more = finer.modifiers.new("Subdivision", "SUBSURF")
    more.subdivision_type, more.levels, more.render_levels = "SIMPLE", 0, 2
    pressed = simulate(straight_character)
    scene = bpy.context.scene
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    scene.camera, scene.render.engine = camera, "CYCLES"
    scene.cycles.samples = 1
    scene.render.resolution_x = scene.render.resolution_y = 8
    scene.render.filepath = str(tmp_path / "frame-")
    read = readings(monkeypatch)
    bpy.ops.render.render(animation=True)
    assert not read
    np.testing.assert_array_equal(play(straight_character, FRAMES), pressed)
