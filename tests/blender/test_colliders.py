# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects with Collision physics push the flesh: which do, how they are read, and when the motion is made again."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest
from helpers import activate, evaluated, flesh_of, make_body, make_folding, part, play, refused, size_of, world

FRAMES = range(1, 13)
#: The box's near face comes from beside the character into its belly, whose skin lies at x = 0.32.
FAR, NEAR = 0.5, 0.22


@pytest.fixture
def straight(scene):
    """A small character with flesh that stands still, and heeds contact."""
    scene.frame_end = 12
    body, _ = make_folding(angle=0.0)
    body.thew.use_contact = True
    body.thew.self_contact = False
    body.thew.elastic_joints = 1.0  # nothing bends: it only lets things press four times as hard
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    return body


def add_box(name="Bench", collide=True, moves=True, face=NEAR, half=0.4) -> bpy.types.Object:
    """A box beside the belly whose near face comes from FAR to `face` within frames 1 to 8, or stands there."""
    mesh = bpy.data.meshes.new(name)
    shape = bmesh.new()
    bmesh.ops.create_cube(shape, size=2.0 * half)
    shape.to_mesh(mesh)
    shape.free()
    box = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(box)
    box.location = (face + half, 0.0, 0.7)
    if moves:
        box.keyframe_insert("location", frame=8)
        box.location.x = FAR + half
        box.keyframe_insert("location", frame=1)
    if collide:
        add_collision(box)
    bpy.context.view_layer.update()
    return box


def add_collision(obj, thickness=0.001, friction=30.0) -> None:
    obj.modifiers.new("Collision", "COLLISION")
    obj.collision.thickness_outer, obj.collision.cloth_friction = thickness, friction


def simulated(body) -> np.ndarray:
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return play(body, FRAMES)


def counted(monkeypatch, name="simulate") -> list[dict]:
    """The calls of the core's function from now on, with what is given by name."""
    core, calls = part("logic.native").core(), []
    real = getattr(core, name)
    monkeypatch.setattr(core, name, lambda *given, **named: calls.append(named) or real(*given, **named))
    return calls


def readings(monkeypatch) -> list[tuple]:
    """How often frames are played to read them from now on."""
    poses, found = part("scene.poses"), []
    real = poses.read_motion
    monkeypatch.setattr(poses, "read_motion", lambda *given: found.append(given) or real(*given))
    return found


def farthest(shapes) -> np.ndarray:
    """How far the skin reaches towards the box in each frame."""
    return shapes[:, :, 0].max(axis=1)


def notes(body) -> str:
    return body.thew.made.notes


# pressed -----------------------------------------------------------------------------------------------------------------


def test_a_box_that_moves_presses_the_belly_in(straight, monkeypatch):
    free = simulated(straight)
    calls = counted(monkeypatch)
    add_box()
    pressed = simulated(straight)
    (collider,) = calls[-1]["colliders"]
    assert collider.entries == 13 and len(collider.surface.vertices) == 8
    assert farthest(free)[-1] > NEAR + 0.08
    assert abs(farthest(pressed)[-1] - NEAR) < 0.01
    np.testing.assert_array_equal(pressed[0], free[0])
    assert "“Spine” touches “Bench” in frames" in notes(straight)


def test_a_box_in_another_unit_of_another_shape_and_inside_out_is_the_same(straight):
    box = add_box()
    pressed = simulated(straight)
    box.data.flip_normals()
    for vertex in box.data.vertices:
        vertex.co = (-10.0 * vertex.co.x, 4.0 * vertex.co.y, vertex.co.z)
    box.scale = (0.1, 0.25, 1.0)
    again = simulated(straight)
    assert np.abs(again - pressed).max() < 1e-3 * size_of(pressed[0])


def test_a_mesh_that_deforms_is_read_in_each_frame(straight, monkeypatch):
    calls = counted(monkeypatch)
    box = add_box(moves=False, face=FAR)
    box.shape_key_add(name="Basis")
    key = box.shape_key_add(name="Out")
    for point in key.data:
        point.co.x += (NEAR - FAR) if point.co.x < 0.0 else 0.0
    for frame, value in ((1, 0.0), (8, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    pressed = simulated(straight)
    assert len(flesh_of(straight).motion.colliders.each) == 1 and not flesh_of(straight).motion.colliders.each[0].rigid
    assert calls[-1]["colliders"][0].entries == 13
    assert abs(farthest(pressed)[-1] - NEAR) < 0.01
    rigid = add_box("Other")
    box.collision.use = False
    assert np.abs(simulated(straight) - pressed)[-1].max() < 1e-2 * size_of(pressed[0]), rigid.name


def test_what_stands_still_is_told_without_motion(straight, monkeypatch):
    calls = counted(monkeypatch)
    add_box(moves=False)
    pressed = simulated(straight)
    assert calls[-1]["colliders"][0].entries is None
    assert abs(farthest(pressed)[0] - NEAR) < 0.01, "it is settled among things"


def test_a_sheet_that_an_object_is_scaled_flat_to(straight):
    box = add_box(moves=False)
    box.location.x = NEAR
    box.scale.x = 0.0
    pressed = simulated(straight)
    assert farthest(pressed)[-1] < NEAR + 0.01 and "so nothing collides" not in notes(straight)


def test_thickness_and_friction_are_blenders_own(straight, monkeypatch):
    made = counted(monkeypatch, "Collider")
    box = add_box()
    box.collision.thickness_outer, box.collision.cloth_friction = 0.05, 80.0
    pressed = simulated(straight)
    metres = flesh_of(straight).place.metres_per_unit
    assert made[-1] == pytest.approx({"friction": 0.8, "thickness": 0.05 * metres})
    assert farthest(pressed)[-1] < NEAR - 0.02
    straight.thew.real_height = 4.0 * straight.thew.height()
    simulated(straight)
    assert made[-1]["thickness"] == pytest.approx(4.0 * 0.05 * metres)


# which objects -----------------------------------------------------------------------------------------------------------


def switched_off(box, how) -> None:
    """Let `box` not be collided with."""
    layer = bpy.context.view_layer.layer_collection
    own = bpy.data.collections.new("Own")
    bpy.context.scene.collection.children.link(own)
    own.objects.link(box)
    bpy.context.scene.collection.objects.unlink(box)
    {
        "use": lambda: setattr(box.collision, "use", False),
        "modifier": lambda: setattr(box.modifiers["Collision"], "show_viewport", False),
        "removed": lambda: box.modifiers.remove(box.modifiers["Collision"]),
        "monitor": lambda: setattr(box, "hide_viewport", True),
        "collection's monitor": lambda: setattr(own, "hide_viewport", True),
        "excluded": lambda: setattr(layer.children["Own"], "exclude", True),
        "deleted": lambda: bpy.data.objects.remove(box),
    }[how]()


@pytest.mark.parametrize(
    "how", ["use", "modifier", "removed", "monitor", "collection's monitor", "excluded", "deleted"]
)
def test_what_is_switched_off_changes_no_bit_and_is_noticed(straight, how):
    free = simulated(straight)
    box = add_box()
    pressed = play(straight, FRAMES)
    assert np.abs(pressed - free).max() > 0.01
    switched_off(box, how)
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    assert "Bench" not in notes(straight)


def test_the_eye_hides_from_view_alone(straight, monkeypatch):
    box = add_box()
    pressed = simulated(straight)
    read = readings(monkeypatch)
    box.hide_set(True)
    box.hide_render = True
    np.testing.assert_array_equal(play(straight, FRAMES), pressed)
    assert not read
    np.testing.assert_array_equal(simulated(straight), pressed)


def test_the_switch_and_the_collection(straight):
    free = simulated(straight)
    box = add_box()
    pressed = simulated(straight)
    straight.thew.use_colliders = False
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    straight.thew.use_colliders = True
    props = bpy.data.collections.new("Props")
    straight.thew.collider_collection = props
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    inner = bpy.data.collections.new("Inner")
    props.children.link(inner)
    bpy.context.scene.collection.children.link(props)
    inner.objects.link(box)
    np.testing.assert_array_equal(play(straight, FRAMES), pressed)
    bpy.data.collections.remove(props)
    assert straight.thew.collider_collection is None
    np.testing.assert_array_equal(play(straight, FRAMES), pressed)


def test_without_contact_nothing_is_read(straight, monkeypatch):
    straight.thew.use_contact = False
    free = simulated(straight)
    calls = counted(monkeypatch)
    box = add_box()
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    box.location.z += 1.0
    play(straight, FRAMES)
    assert not calls and not flesh_of(straight).motion.colliders.each


def test_the_character_itself_is_left_out(straight, scene):
    free = simulated(straight)
    armature = straight.modifiers["Armature"].object
    add_collision(straight)
    shirt = make_body(armature, name="Shirt", rings=9)
    add_collision(shirt)
    eye = add_box("Eye", moves=False)
    eye.parent, eye.parent_type, eye.parent_bone = armature, "BONE", "Head"
    bpy.context.view_layer.update()
    part("live.riding").mount(eye, straight, bpy.context.view_layer)
    np.testing.assert_array_equal(simulated(straight), free)
    assert part("scene.colliders").asked(straight, scene) == ()


def test_other_live_flesh_is_named_and_its_bake_collides(straight, scene):
    other, armature = make_folding(angle=0.0)
    other.name, armature.location.x = "Neighbour", 0.5
    add_collision(other)
    bpy.context.view_layer.update()
    free = simulated(straight)[-1]
    activate(other)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    alone = simulated(straight)
    assert "“Neighbour” has live flesh" in notes(straight) and "bake it" in notes(straight)
    activate(other)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    baked = simulated(straight)
    assert "touch “Neighbour”" in notes(straight) and "live flesh" not in notes(straight)
    assert np.abs(baked - alone)[-1].max() > 1e-3 and np.abs(baked[-1] - free).max() < 1e-3


# when it is made again -----------------------------------------------------------------------------------------------------


def test_what_moves_is_noticed_by_the_next_frame(straight, monkeypatch):
    box = add_box(moves=False, face=NEAR)
    pressed = simulated(straight)
    calls = counted(monkeypatch)
    np.testing.assert_array_equal(play(straight, FRAMES), pressed)
    assert not calls
    box.location.x += 0.05
    moved = play(straight, [5, *FRAMES])[1:]
    assert len(calls) == 1 and farthest(moved)[-1] > farthest(pressed)[-1] + 0.03
    for vertex in box.data.vertices:
        vertex.co.x -= 0.05
    edited = play(straight, [5, *FRAMES])[1:]
    assert len(calls) == 2 and np.abs(edited - pressed).max() < 1e-3


def test_keys_of_what_moves_are_noticed(straight):
    box = add_box()
    pressed = simulated(straight)
    box.location.x = NEAR + 0.4 + 0.1
    box.keyframe_insert("location", frame=8)
    assert farthest(play(straight, FRAMES))[-1] > farthest(pressed)[-1] + 0.05


@pytest.mark.parametrize(("name", "value"), [("thickness_outer", 0.04), ("cloth_friction", 1.0)])
def test_collision_settings_put_the_clip_out_of_date_without_playing_frames(straight, monkeypatch, name, value):
    box = add_box()
    before = simulated(straight)
    calls, read = counted(monkeypatch), readings(monkeypatch)
    setattr(box.collision, name, value)
    after = play(straight, FRAMES)
    assert len(calls) == 1 and not read and np.abs(after - before).max() > 0.0


def test_a_new_name_is_told(straight):
    box = add_box()
    simulated(straight)
    box.name = "Sofa"
    play(straight, FRAMES)
    assert "“Sofa”" in notes(straight) and "Bench" not in notes(straight)


def test_in_a_window_what_was_moved_is_told_and_the_clip_stays(straight, monkeypatch):
    box = add_box(moves=False)
    pressed = simulated(straight)
    flesh, windows, scene = flesh_of(straight), part("scene.windows"), bpy.context.scene
    calls = counted(monkeypatch)
    monkeypatch.setattr(windows, "headless", lambda: False)
    waits = []
    monkeypatch.setattr(part("live.updates"), "wait", waits.append)
    box.location.x += 0.1
    bpy.context.view_layer.update()
    assert flesh.problem == "“Bench” has moved or changed since the flesh was simulated: press Simulate."
    health = part("logic.health").health(straight.thew, straight.thew.made, flesh, scene.frame_current)
    assert health.level == "ERROR" and "“Bench”" in health.text
    np.testing.assert_array_equal(play(straight, [4]), pressed[3:4])
    box.location.x -= 0.1
    bpy.context.view_layer.update()
    assert flesh.problem == "" and not waits
    box.collision.cloth_friction = 2.0
    bpy.context.view_layer.update()
    assert waits == [straight]
    waits.clear()
    add_box("Second", moves=False)
    assert straight in waits and not calls


def test_a_turn_repeats_only_where_what_moves_does(scene, monkeypatch):
    """A character that stands breathing in a loop, and a ball that passes once, or comes back in time."""
    scene.frame_end = 20
    body, armature = make_folding(angle=0.0)
    bone = armature.pose.bones["Spine"]
    for frame in range(1, 42):
        bone.rotation_euler = (0.1 * np.sin(2.0 * np.pi * (frame - 1) / 10.0), 0.0, 0.0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    body.thew.use_contact = True
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    simulated(body)
    assert flesh_of(body).begun.period == 10
    box = add_box(moves=False, face=2.0)
    simulated(body)
    assert flesh_of(body).begun.period == 10
    box.animation_data_clear()
    for frame in range(1, 42):
        box.location.x = 2.0 + 0.05 * frame
        box.keyframe_insert("location", frame=frame)
    simulated(body)
    assert flesh_of(body).begun.period == 0
    for frame in range(1, 42):
        box.location.x = 2.0 + 0.05 * np.cos(2.0 * np.pi * (frame - 1) / 10.0)
        box.keyframe_insert("location", frame=frame)
    calls = counted(monkeypatch)
    simulated(body)
    assert flesh_of(body).begun.period == 10 and calls[-1]["colliders"][0].entries == 11
    # What follows the loop in a longer bake is simulated after some turns of it, in which the box goes its way too.
    part("logic.tasks").finish(part("bake.baking").bake(body, scene, bpy.context.view_layer, 1, 33))
    after = calls[-1]
    assert after["colliders"][0].entries == len(after["poses"]) > 34


# at rest, bakes, files -----------------------------------------------------------------------------------------------------


def test_flesh_at_rest_heeds_where_things_are_now(straight):
    add_box()
    simulated(straight)
    found = {}
    for frame in (1, 8, 6):
        bpy.context.scene.frame_set(frame)
        activate(straight)
        assert bpy.ops.thew.settle() == {"FINISHED"}
        found[frame] = float(evaluated(straight)[:, 0].max())
    assert abs(found[8] - NEAR) < 0.01 and found[1] > 0.3 and found[8] + 0.01 < found[6] < found[1]
    assert part("ui.contact_overlay").drawings(straight, 6.0)
    shapes = play(straight, (1, 8))
    assert farthest(shapes) == pytest.approx([found[1], found[8]], abs=1e-3)


def test_settling_before_what_is_new_was_read(straight):
    """The frames are not played to settle; the motion is made again when it is looked at."""
    free = simulated(straight)
    box = add_box(moves=False)
    bpy.context.scene.frame_set(3)
    activate(straight)
    assert bpy.ops.thew.settle() == {"FINISHED"}
    assert abs(evaluated(straight)[:, 0].max() - NEAR) < 0.01
    straight.thew.settled = False
    pressed = play(straight, FRAMES)
    assert abs(farthest(pressed)[-1] - NEAR) < 0.01
    box.collision.use = False
    activate(straight)
    assert bpy.ops.thew.settle() == {"FINISHED"}
    play(straight, (2, 3))
    straight.thew.settled = False
    np.testing.assert_array_equal(play(straight, FRAMES), free)


def test_bakes_shots_and_the_command_line_hold_it(straight, tmp_path, monkeypatch, capsys):
    add_box()
    emptied(add_box("Ghost"))
    live = simulated(straight)
    expected = [flesh_of(straight).clip.offsets(index) for index in range(12)]
    told = [line for line in notes(straight).splitlines() if "“Bench”" in line or "“Ghost”" in line]
    file = tmp_path / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    run, core = part("cli").main, part("logic.native").core()
    assert run(["export", str(file), "--object", "Body"]) == 0
    assert "Body: “Ghost” has no faces" in capsys.readouterr().out
    elsewhere = core.Shot.load(tmp_path / "hero.Body.shot.thew").simulate()
    for index in range(12):
        np.testing.assert_array_equal(elsewhere.offsets(index), expected[index])
    elsewhere.save(tmp_path / "hero.clip.thew")
    calls, baked = counted(monkeypatch), []
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
    assert "“Bench” is elsewhere than when “hero.clip.thew” was exported" in capsys.readouterr().out


def test_it_is_saved_with_the_file(straight, tmp_path):
    box = add_box()
    props = bpy.data.collections.new("Props")
    bpy.context.scene.collection.children.link(props)
    props.objects.link(box)
    straight.thew.collider_collection = props
    pressed = simulated(straight)
    file = str(tmp_path / "bench.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    body = bpy.data.objects["Body"]
    assert body.thew.collider_collection == bpy.data.collections["Props"]
    np.testing.assert_array_equal(play(body, FRAMES), pressed)


# bad input -----------------------------------------------------------------------------------------------------------------


def emptied(box) -> None:
    box.data.clear_geometry()


def without_faces(box) -> None:
    mesh = bmesh.new()
    mesh.from_mesh(box.data)
    bmesh.ops.delete(mesh, geom=mesh.faces[:], context="FACES_ONLY")
    mesh.to_mesh(box.data)
    mesh.free()


def flat(box) -> None:
    for vertex in box.data.vertices:
        vertex.co.x = vertex.co.y = 0.0


def not_a_number(box) -> None:
    box.data.vertices[3].co.z = float("nan")


def endless(box) -> None:
    box.scale.y = float("inf")


def growing(box) -> None:
    more = box.modifiers.new("Array", "ARRAY")
    for frame, count in ((1, 1), (7, 3)):
        more.count = count
        more.keyframe_insert("count", frame=frame)


def edited(box) -> None:
    activate(box)
    bpy.ops.object.mode_set(mode="EDIT")


BAD = {
    emptied: "has no faces",
    without_faces: "has no faces",
    flat: "is flat to a line or a point",
    not_a_number: "not a number, or far too large, at frame 1",
    endless: "not a number, or far too large, at frame 1",
    growing: "changes its vertices at frame",
    edited: "is in edit mode",
}


@pytest.mark.parametrize("how", BAD, ids=lambda how: how.__name__)
def test_bad_things_are_left_out_with_a_sentence_that_names_them(straight, how):
    free = simulated(straight)
    bad = add_box("Bad")
    how(bad)
    finish, jobs = part("logic.tasks").finish, part("live.jobs")
    finish(jobs.simulate(straight, bpy.context.scene, bpy.context.view_layer))
    np.testing.assert_array_equal(play(straight, FRAMES), free)
    (line,) = [line for line in notes(straight).splitlines() if "“Bad”" in line]
    assert BAD[how] in line and "nothing collides with it" in line and line.endswith(".")
    health = part("logic.health").health(straight.thew, straight.thew.made, flesh_of(straight), 1)
    assert health.level == "WARNING" and "“Bad”" in health.text
    if bpy.context.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    add_box("Good")
    pressed = simulated(straight)
    assert abs(farthest(pressed)[-1] - NEAR) < 0.01 or how is edited


def test_what_the_core_refuses_names_the_object(straight):
    box = add_box(moves=False)
    box.location.x = 1e14
    activate(straight)
    text = refused(bpy.ops.thew.simulate)
    assert "“Bench”" in text and text.count(".") <= 2


def test_a_thing_that_grows_from_nothing_collides_once_it_is_there(straight):
    box = add_box(moves=False)
    for frame, scale in ((1, 0.0), (5, 0.0), (6, 1.0)):
        box.scale = (scale,) * 3
        box.keyframe_insert("scale", frame=frame)
    pressed = simulated(straight)
    assert np.isfinite(pressed).all() and "flat" not in notes(straight)
    assert farthest(pressed)[-1] < NEAR + 0.02


# the panel -----------------------------------------------------------------------------------------------------------------


def test_the_panel_names_what_is_collided_with(straight):
    from helpers import Layout

    def read() -> str:
        layout = Layout()
        part("ui.contact_panel").draw_contact(layout, bpy.context, straight, 200)
        return " ".join(layout.read())

    assert "Nothing in the scene has Collision physics" in read()
    add_box()
    assert "“Bench”" in read()
    for name in "ABCD":
        add_box(name)
    assert "“A”, “B”, “Bench” and 2 others" in read()
    straight.thew.collider_collection = bpy.data.collections.new("Props")
    assert "Nothing in this collection has Collision physics" in read()
    straight.thew.use_colliders = False
    assert "Collision physics" not in read()
    assert np.isfinite(world(straight)).all()


def test_a_render_shows_what_was_played_whatever_it_shows_of_things(straight, monkeypatch, tmp_path):
    """Hidden from renders, or finer in them, an object is what was collided with all the same."""
    hidden, finer = add_box("Hidden"), add_box("Finer")
    hidden.hide_render = True
    more = finer.modifiers.new("Subdivision", "SUBSURF")
    more.subdivision_type, more.levels, more.render_levels = "SIMPLE", 0, 2
    pressed = simulated(straight)
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
    np.testing.assert_array_equal(play(straight, FRAMES), pressed)
