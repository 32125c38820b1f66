# SPDX-License-Identifier: GPL-3.0-or-later
"""Other Flesh: objects whose flesh touches each other are simulated together, a clip each."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from colliding import FRAMES, add_box, add_collision, notes, record_calls, simulate
from helpers import Layout, activate, animate, evaluated_positions, flesh_of, part, play, refusal, size_of, world
from pairs import APART, make_neighbour, make_pair, move_in, overlap_count, push_force, room


@pytest.fixture
def pair(scene):
    """Builds two small characters side by side whose bellies press into each other, (left, right)."""
    return make_pair()


def passes(monkeypatch) -> list[int]:
    """Returns a list that records the number of characters in each later reading of frames."""
    poses, found = part("scene.poses"), []
    real = poses.read_motions
    monkeypatch.setattr(poses, "read_motions", lambda all, *given: found.append(len(all)) or real(all, *given))
    return found


def separate(bodies) -> None:
    for body in bodies:
        body.thew.use_other_flesh = False


# the simulation ----------------------------------------------------------------------------------------------------------


def test_contact_parts_pair(pair):
    """Two characters part when they are simulated together, and overlap when each is alone."""
    assert room(*pair) > -0.005
    separate(pair)
    assert room(*pair) < -0.06 and overlap_count(*pair)


def test_contact_forces_opposite(pair):
    """The forces on two touching characters are opposite, and each one's notes name the other."""
    play(pair[0], FRAMES)
    one, other = (push_force(body) for body in pair)
    assert one[0] < -1.0 and np.abs(one + other).max() < 1e-6 * np.abs(one).max()
    assert "“Spine” touches “Bert” in frames 1 to 12" in notes(pair[0])
    assert "“Spine” touches “Anna” in frames 1 to 12" in notes(pair[1])


def test_clips_placed_at_bodies(pair):
    """The clips lie where their bodies do, though both are simulated in the metres of one."""
    play(pair[0], FRAMES)
    for body in pair:
        flesh = flesh_of(body)
        bpy.context.scene.frame_set(12)
        skin, lattice = world(body), flesh.lattice_positions(12)
        assert np.abs(lattice.mean(axis=0) - skin.mean(axis=0)).max() < 0.1
        shown = flesh.clip_place.world(flesh.clip.positions(11))
        assert np.abs(shown - skin).max() < 1e-4


def test_contact_starts_on_approach(pair):
    """A character that comes near pushes from then on, and not before."""
    move_in(pair[1])
    together = simulate(pair[0])
    touched = [f for f in FRAMES if len(flesh_of(pair[0]).clip.contacts(f - 1))]
    assert 1 < touched[0] < 9 and touched[-1] == 12
    assert f"in frames {touched[0]} to 12" in notes(pair[0])
    separate(pair)
    alone = play(pair[0], FRAMES)
    assert np.abs(together - alone)[11].max() > 0.02
    assert np.abs(together - alone)[0].max() < 1e-5


def test_group_read_and_simulated_once(pair, monkeypatch):
    """All characters are read in one pass and simulated once."""
    read, calls = passes(monkeypatch), record_calls(monkeypatch, "simulate_shots")
    alone = record_calls(monkeypatch)
    first = simulate(pair[0])
    play(pair[1], FRAMES)
    assert read == [2] and len(calls) == 1 and not alone
    pair[0].thew.softness = 0.7
    changed = play(pair[0], FRAMES)
    other = play(pair[1], FRAMES)
    assert read == [2] and len(calls) == 2 and not alone
    assert np.abs(changed - first).max() > 0.0
    activate(pair[1])
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(pair[1], FRAMES), other)
    np.testing.assert_array_equal(play(pair[0], FRAMES), changed)
    assert read == [2, 2] and len(calls) == 2, "it was read again and nothing had changed"


@pytest.mark.parametrize("name", ["softness", "contact_friction", "rate", "settling"])
def test_setting_resimulates_group(pair, monkeypatch, name):
    """A changed setting of one character simulates both anew."""
    move_in(pair[1])
    before = play(pair[0], FRAMES)
    calls = record_calls(monkeypatch, "simulate_shots")
    value = {"softness": 0.8, "contact_friction": 0.9, "rate": 480.0, "settling": 4.0}[name]
    former = getattr(pair[1].thew, name)
    setattr(pair[1].thew, name, value)
    after = play(pair[0], FRAMES)
    assert len(calls) == 1 and np.abs(after - before).max() > 0.0
    setattr(pair[1].thew, name, former)
    np.testing.assert_array_equal(play(pair[0], FRAMES), before)


def test_pose_resimulates_group(pair, monkeypatch):
    """A changed animation of one character simulates both anew."""
    before = play(pair[0], FRAMES)
    calls = record_calls(monkeypatch, "simulate_shots")
    animate(pair[1].modifiers["Armature"].object, last=12)
    after = play(pair[0], FRAMES)
    assert len(calls) == 1 and np.abs(after - before).max() > 1e-3
    assert flesh_of(pair[1]).beginning.period == 11  # it ends as it begins


def test_mesh_resimulates_group(pair):
    """A changed mesh of one character simulates both anew."""
    before = play(pair[0], FRAMES)
    for vertex in pair[1].data.vertices:
        vertex.co.x -= 0.05 if vertex.co.x < -0.2 else 0.0
    pair[1].data.update()
    after = play(pair[0], FRAMES)
    assert np.abs(after - before).max() > 0.01


def test_other_flesh_switched_off(scene):
    """With the option off a character moves as if it were alone."""
    scene.frame_end = 12
    left = make_neighbour("Anna", 0.0, use_other_flesh=False)
    alone = play(left, FRAMES)
    right = make_neighbour("Bert", APART)
    np.testing.assert_array_equal(play(left, FRAMES), alone)
    left.thew.use_other_flesh = True
    together = play(left, FRAMES)
    assert np.abs(together - alone).max() > 0.02
    for body, name, value in (
        (right, "use_other_flesh", False),
        (right, "use_contact", False),
        (right, "enabled", False),
        (right, "method", "modal"),
        (left, "use_contact", False),
    ):
        former = getattr(body.thew, name)
        setattr(body.thew, name, value)
        found = play(left, FRAMES)
        assert np.abs(found - alone).max() < (1e-9 if body is right else 0.02), name
        assert "Bert" not in notes(left)
        setattr(body.thew, name, former)
        np.testing.assert_array_equal(play(left, FRAMES), together)


def test_three_characters_named(scene):
    """The notes name the right neighbours among three characters, and the forces add up to zero."""
    scene.frame_end = 12
    bodies = [make_neighbour(name, x) for name, x in (("Bert", 0.0), ("Anna", -APART), ("Cleo", APART))]
    play(bodies[0], FRAMES)
    assert "touches “Anna” and “Cleo”" in notes(bodies[0]) or (
        "touches “Anna”" in notes(bodies[0]) and "touches “Cleo”" in notes(bodies[0])
    )
    for body, other in ((bodies[1], "Cleo"), (bodies[2], "Anna")):
        assert "touches “Bert” in frames 1 to 12" in notes(body) and other not in notes(body)
    total = sum(push_force(body) for body in bodies)
    assert np.abs(total).max() < 1e-6 * np.abs(push_force(bodies[1])).max()


def test_group_independent_of_order(scene):
    """The order in which the characters get flesh changes nothing."""
    scene.frame_end = 12
    found = []
    for names in (("Anna", "Bert"), ("Bert", "Anna")):
        bodies = {name: make_neighbour(name, {"Anna": 0.0, "Bert": APART}[name]) for name in names}
        found.append([play(bodies[name], FRAMES) for name in ("Anna", "Bert")])
        for obj in list(bpy.data.objects):
            bpy.data.objects.remove(obj)
    np.testing.assert_array_equal(found[0], found[1])


# what comes and goes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["deleted", "removed", "hidden", "unlinked"])
def test_absent_neighbour_ignored(pair, how):
    """A neighbour that is deleted, removed, hidden or excluded no longer pushes."""
    left, right = pair
    play(left, FRAMES)
    if how == "deleted":
        bpy.data.objects.remove(right)
    elif how == "removed":
        activate(right)
        assert bpy.ops.thew.remove() == {"FINISHED"}
    elif how == "hidden":
        right.hide_viewport = True
    else:
        bpy.context.scene.collection.objects.unlink(right)
    gone = play(left, FRAMES)
    assert "Bert" not in notes(left)
    left.thew.use_other_flesh = False
    np.testing.assert_array_equal(play(left, FRAMES), gone)


def test_eye_hides_view_only(pair, monkeypatch):
    """The eye in the outliner hides a character from view, but it keeps pushing."""
    together = play(pair[0], FRAMES)
    calls = record_calls(monkeypatch, "simulate_shots")
    pair[1].hide_set(True)
    np.testing.assert_array_equal(simulate(pair[0]), together)
    assert not calls


def test_rename_without_simulation(pair, monkeypatch):
    """The notes show a new name, and nothing is simulated for it."""
    together = play(pair[0], FRAMES)
    calls = record_calls(monkeypatch, "simulate_shots")
    pair[1].name = "Carl"
    np.testing.assert_array_equal(play(pair[0], FRAMES), together)
    assert "touches “Carl”" in notes(pair[0]) and "Bert" not in notes(pair[0]) and not calls


def test_edit_mode_keeps_other_motion(pair, monkeypatch):
    """A character in edit mode leaves the other's motion as it is."""
    together = play(pair[0], FRAMES)
    calls = record_calls(monkeypatch, "simulate_shots")
    activate(pair[1])
    bpy.ops.object.mode_set(mode="EDIT")
    np.testing.assert_array_equal(play(pair[0], FRAMES), together)
    activate_text = refused_simulation(pair[0])
    assert "“Bert” is in edit mode" in activate_text
    bpy.context.view_layer.objects.active = pair[1]
    bpy.ops.object.mode_set(mode="OBJECT")
    np.testing.assert_array_equal(play(pair[0], FRAMES), together)
    assert not calls


def refused_simulation(body) -> str:
    """Returns the message of Simulate for a body while another one is being edited."""
    jobs, finish = part("live.jobs"), part("logic.tasks").finish
    with pytest.raises(part("logic.errors").Refusal) as told:
        finish(jobs.simulate(body, bpy.context.scene, bpy.context.view_layer))
    return str(told.value)


def test_undo_restores_group_clips(pair):
    """Undo and redo of the option give the former motions back."""
    bpy.context.preferences.edit.use_global_undo = True
    together = play(pair[0], FRAMES)
    bpy.ops.ed.undo_push(message="before")
    pair[1].thew.use_other_flesh = False
    alone = play(pair[0], FRAMES)
    bpy.ops.ed.undo_push(message="Other Flesh")
    assert np.abs(together - alone).max() > 0.01
    assert bpy.ops.ed.undo() == {"FINISHED"}
    np.testing.assert_array_equal(play(bpy.data.objects["Anna"], FRAMES), together)
    assert bpy.ops.ed.redo() == {"FINISHED"}
    np.testing.assert_array_equal(play(bpy.data.objects["Anna"], FRAMES), alone)


def test_group_saved_and_loaded(pair, tmp_path, monkeypatch):
    """Both motions come back from a saved file after one simulation."""
    together = [play(body, FRAMES) for body in pair]
    file = str(tmp_path / "pair.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    calls = record_calls(monkeypatch, "simulate_shots")
    for name, shapes in zip(("Anna", "Bert"), together, strict=True):
        np.testing.assert_array_equal(play(bpy.data.objects[name], FRAMES), shapes)
    assert len(calls) == 1


def test_group_cancel_changes_nothing(pair):
    """A cancelled simulation leaves all motions as they were."""
    jobs, tasks, errors = part("live.jobs"), part("logic.tasks"), part("logic.errors")
    together = [play(body, FRAMES) for body in pair]
    clips = [flesh_of(body).clip for body in pair]
    pair[1].thew.softness = 0.9
    with pytest.raises(errors.Cancelled):
        tasks.finish(
            jobs.simulate(pair[0], bpy.context.scene, bpy.context.view_layer), lambda fraction, _text: fraction < 0.9
        )
    assert [flesh_of(body).clip for body in pair] == clips
    pair[1].thew.softness = pair[1].thew.bl_rna.properties["softness"].default
    for body, shapes in zip(pair, together, strict=True):
        np.testing.assert_array_equal(play(body, FRAMES), shapes)


# frames, loops, sizes ------------------------------------------------------------------------------------------------------


def test_group_range_covers_all(pair, monkeypatch):
    """The simulated range covers the ranges of all characters, and an empty one is refused."""
    pair[1].thew.use_scene_range = False
    pair[1].thew.frame_start, pair[1].thew.frame_end = 5, 16
    calls = record_calls(monkeypatch, "simulate_shots")
    simulate(pair[1])
    play(pair[0], FRAMES)
    assert len(calls) == 1
    assert [(flesh_of(body).clip_start, flesh_of(body).clip_end) for body in pair] == [(1, 16)] * 2
    activate(pair[0])
    assert bpy.ops.thew.simulate(frame_start=3, frame_end=7) == {"FINISHED"}
    assert (pair[0].thew.frame_start, pair[0].thew.frame_end) == (3, 7)
    assert [(flesh_of(body).clip_start, flesh_of(body).clip_end) for body in pair] == [(3, 16)] * 2
    calls.clear()
    play(pair[0], range(3, 17))
    play(pair[1], range(3, 17))
    assert not calls
    text = refusal(bpy.ops.thew.simulate, frame_start=9, frame_end=4)
    assert "9 to 4" in text and "empty" in text


@pytest.mark.parametrize("thing", [False, True])
def test_group_frames_arrive_early(pair, monkeypatch, thing):
    """Finished frames of both characters show, with their final bits, while later ones are computed."""
    scene = bpy.context.scene
    if thing:
        add_box(face=0.7)
        activate(pair[0])
    scene.frame_end = 60
    for body in pair:
        body.thew.motion_start = "SETTLED"
    animate(pair[0].modifiers["Armature"].object, last=61)
    task, seen, answer = part("live.jobs").simulate(pair[0], scene, bpy.context.view_layer), {}, None
    said = set()

    def watch(_fraction, stage):
        said.add(stage)
        ready = [flesh_of(body).arriving for body in pair]
        if None not in ready and len(seen) < 9 and all(each.covers(1 + len(seen)) for each in ready):
            frame = 1 + len(seen)
            scene.frame_set(frame)
            seen[frame] = [evaluated_positions(body) for body in pair]
        return True

    try:
        while True:
            step = task.send(answer)
            answer = step.call(watch) if isinstance(step, part("logic.tasks").Work) else None
    except StopIteration:
        pass
    assert len(seen) == 9 and not any(flesh_of(body).arriving for body in pair)
    assert flesh_of(pair[0]).touching.others.frames, "they touch"
    assert "starting the motion" in said, "flesh deep in other flesh takes long to come to rest"
    for frame, shapes in seen.items():
        for body, shape in zip(pair, shapes, strict=True):
            np.testing.assert_array_equal(shape, play(body, (frame,))[0])
    # Made in parts it is the motion made at once.
    frames = range(1, 61)
    parts = [play(body, frames) for body in pair]
    monkeypatch.setattr(part("live.partial_motion"), "FIRST_PART_FRAMES", 1000)
    part("live.joint_simulation").register.clear()
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    for body, shapes in zip(pair, parts, strict=True):
        np.testing.assert_array_equal(play(body, frames), shapes)


def test_group_reading_yields_per_mesh(pair, monkeypatch):
    """The window gets its turn between the reading of two meshes."""
    read, reads = part("live.building").read, []
    monkeypatch.setattr(part("live.building"), "read", lambda *given: reads.append(given[1].obj.name) or read(*given))
    task = part("live.jobs").simulate(pair[0], bpy.context.scene, bpy.context.view_layer)
    said = [(next(task).text, list(reads)) for _ in range(2)]
    task.close()
    assert said == [("Reading the meshes", ["Anna"]), ("Reading the meshes", ["Anna", "Bert"])]


def test_loop_beside_still_neighbour(pair):
    """A loop beside a character that stands still is closed: its second turn repeats the first."""
    scene = bpy.context.scene
    scene.frame_end = 40
    armature = pair[0].modifiers["Armature"].object
    animate(armature, last=21)
    for curve in part("scene.animation").curves_in(armature.animation_data):
        curve.modifiers.new("CYCLES")
    separate(pair)
    simulate(pair[0])
    assert flesh_of(pair[0]).beginning.period == 20 and "Loops" in notes(pair[0])
    for body in pair:
        body.thew.use_other_flesh = True
    simulate(pair[0])
    for body in pair:
        flesh = flesh_of(body)
        assert flesh.beginning.period == 20 and flesh.clip.loop_gap < 1e-3
        assert np.abs(push_force(body, frame=4)).max() > 1.0
        turns = [play(body, range(first, first + 20)) for first in (1, 21)]
        np.testing.assert_allclose(turns[0], turns[1], atol=1e-5)
    assert "Loops" in notes(pair[0]) and "loop" not in notes(pair[1]).lower()
    # A bake that goes on beyond the preview is the preview as far as that goes.
    live = play(pair[0], range(1, 41))
    activate(pair[0])
    assert bpy.ops.thew.bake(frame_start=1, frame_end=46) == {"FINISHED"}
    np.testing.assert_allclose(play(pair[0], range(1, 41)), live, atol=1e-4)


def test_loop_beside_moving_neighbour(pair):
    """A loop beside a motion that does not repeat gets a run-in instead, and the notes say so."""
    scene = bpy.context.scene
    scene.frame_end = 20
    animate(pair[0].modifiers["Armature"].object, last=21)
    move_in(pair[1])
    simulate(pair[0])
    begun = flesh_of(pair[0]).beginning
    assert not begun.period and begun.preroll > 0
    assert "A loop is not closed where other flesh does not repeat with it." in notes(pair[0])
    assert "Loops" not in notes(pair[0]) and "loop" not in notes(pair[1])


def test_group_refuses_other_scales(pair):
    """Characters of different scales are refused with the height to set."""
    left, right = pair
    right.thew.real_height = 3.0 * right.thew.height()
    activate(left)
    text = refusal(bpy.ops.thew.simulate)
    assert "“Anna” and “Bert” stand for different sizes" in text and "Set Real Size" in text
    height = float(text.split("“Bert” to ")[1].split()[0])
    play(right, (3,))
    assert "different sizes" in notes(right)
    right.thew.real_height = height
    assert room(left, right) > -0.005


def test_group_accepts_rounded_height(pair):
    """Scales that differ by a rounded height count as the same."""
    together = play(pair[0], FRAMES)
    pair[1].thew.real_height = 1.001 * pair[1].thew.height()
    again = play(pair[0], FRAMES)
    assert 0.0 < np.abs(again - together).max() < 2e-3 and room(*pair) > -0.005
    assert (
        np.abs(flesh_of(pair[1]).clip_place.world(flesh_of(pair[1]).clip.positions(11)) - world(pair[1])).max() < 1e-3
    )


def test_group_within_scene(pair):
    """A character in another scene does not push."""
    play(pair[0], FRAMES)
    other = bpy.data.scenes.new("Elsewhere")
    scene = bpy.context.scene
    scene.collection.objects.unlink(pair[1])
    other.collection.objects.link(pair[1])
    other.collection.objects.link(pair[1].modifiers["Armature"].object)
    alone = simulate(pair[0])
    assert "Bert" not in notes(pair[0])
    pair[0].thew.use_other_flesh = False
    np.testing.assert_array_equal(play(pair[0], FRAMES), alone)


def test_group_error_names_body(pair, monkeypatch):
    """An error of the core names the character."""
    core = part("logic.native").core()

    def fail(*_):
        raise core.MotionError("frame 3: body 1 of the scene: the motion does not converge")

    monkeypatch.setattr(core, "simulate_shots", fail)
    pair[0].thew.softness = 0.9
    activate(pair[0])
    text = refusal(bpy.ops.thew.simulate)
    assert "“Bert”: the motion does not converge" in text and "body 1" not in text


# things ----------------------------------------------------------------------------------------------------------------------


def test_colliders_shared_by_group(pair, monkeypatch):
    """A collider is made once for all characters, and the notes tell it from their bodies."""
    calls, made = record_calls(monkeypatch, "Shot"), record_calls(monkeypatch, "Collider")
    add_box("Bench", moves=False, face=0.75)
    simulate(pair[1])
    assert len(made) == 1 and [len(call["colliders"]) for call in calls] == [1, 1]
    assert calls[0]["colliders"][0] is calls[1]["colliders"][0]
    assert "“Bench”" in notes(pair[1]) and "“Anna”" in notes(pair[1])
    assert "“Bench”" not in notes(pair[0]) and "“Bert”" in notes(pair[0])
    assert world(pair[1])[:, 0].max() < 0.77


def test_collider_flesh_not_counted_twice(pair):
    """Collision physics of a character changes nothing for Other Flesh, and is noted while that is off."""
    together = play(pair[0], FRAMES)
    add_collision(pair[1])
    np.testing.assert_array_equal(simulate(pair[0]), together)
    assert "live flesh" not in notes(pair[0])
    pair[0].thew.use_other_flesh = False
    simulate(pair[0])
    assert "“Bert” has live flesh" in notes(pair[0]) and "switch Other Flesh on" in notes(pair[0])
    pair[0].thew.use_other_flesh = True
    np.testing.assert_array_equal(play(pair[0], FRAMES), together)
    assert "live flesh" not in notes(pair[0])


# bakes and rest --------------------------------------------------------------------------------------------------------------


def test_group_bakes_match_live(pair, monkeypatch):
    """Bakes of both characters, one after the other, play as the live flesh."""
    move_in(pair[1])
    simulate(pair[0])
    live = [play(body, FRAMES) for body in pair]
    calls, alone = record_calls(monkeypatch, "simulate_shots"), record_calls(monkeypatch)
    for body in pair:
        activate(body)
        assert bpy.ops.thew.bake() == {"FINISHED"}
    for body, shapes in zip(pair, live, strict=True):
        assert np.abs(play(body, FRAMES) - shapes).max() < 1e-4 * size_of(shapes[0])
    assert not calls and not alone
    assert "touches “Bert”" in notes(pair[0]) and "touches “Anna”" in notes(pair[1])


def test_bake_updates_group(pair, monkeypatch):
    """A bake simulates all characters when one is out of date."""
    play(pair[0], FRAMES)
    calls = record_calls(monkeypatch, "simulate_shots")
    pair[1].thew.softness = 0.8
    activate(pair[0])
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert len(calls) == 1
    live = play(pair[1], FRAMES)
    # By how they lie along x, which `room` tells, skins may pass each other at different heights.
    assert len(calls) == 1 and not overlap_count(*pair) and np.isfinite(live).all()


def test_settled_ignores_other_flesh(pair, monkeypatch):
    """The rest pose preview ignores other flesh, and the motion is kept."""
    together = play(pair[0], FRAMES)
    calls = record_calls(monkeypatch, "simulate_shots")
    activate(pair[0])
    assert bpy.ops.thew.settle() == {"FINISHED"}
    assert room(*pair) < -0.02
    pair[0].thew.settled = False
    np.testing.assert_array_equal(play(pair[0], FRAMES), together)
    assert not calls


# the panel and the view ----------------------------------------------------------------------------------------------------------


def test_panel_names_group(pair):
    """The panel names the characters that are simulated together."""

    def read() -> str:
        layout = Layout()
        part("ui.contact_panel").draw_contact(layout, bpy.context, pair[0], 200)
        return " ".join(layout.read())

    assert "[use_other_flesh]" in read() and "With “Bert”" in read()
    pair[1].thew.use_other_flesh = False
    assert "Switch Contact and Other Flesh on in another character" in read()
    pair[0].thew.use_other_flesh = False
    assert "in another character" not in read()


def test_contact_overlay_between_bodies(pair):
    """The contacts of both characters are drawn where they touch."""
    overlay = part("ui.contact_overlay")
    bpy.context.scene.frame_set(12)
    for body in pair:
        body.thew.show_contacts = True
        points = np.concatenate([each[0] for each in overlay.drawings(body, 12.0) if each[0].ndim == 2])
        assert len(points) == len(flesh_of(body).clip.contacts(11)) > 0
        assert np.abs(points[:, 0] - 0.5 * APART).max() < 0.1
