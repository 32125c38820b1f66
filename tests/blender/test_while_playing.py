# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens while an animation plays: it is read, built and simulated, and frames show as they are ready.

There is no window here: frames are set and the timer is ticked in turns, as Blender does it, by a clock of the test's own.
"""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from colliding import add_box
from helpers import activate, animate, evaluated_positions, flesh_of, make_body, make_character, part, play

FRAMES = range(1, 21)


class Clock:
    """Stands in for the module `time` where patience is measured."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(part("live.updates"), "time", clock)
    return clock


@pytest.fixture
def playing_character(scene, clock, monkeypatch):
    """Builds a character with flesh, in a Blender that believes that it has a window in which the animation plays."""
    body, rig = make_character()
    bpy.ops.thew.add(cells_across=6)
    bpy.ops.thew.simulate()
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: True)
    part("live.updates").state.waiting.clear()
    yield body, rig
    part("live.updates").stop_update()
    if bpy.app.timers.is_registered(part("live.updates").tick):
        bpy.app.timers.unregister(part("live.updates").tick)


def seconds_played(clock, seconds: float, first: int = 1, last: int = 20) -> list[tuple[int, np.ndarray]]:
    """Plays for a number of seconds, 24 frames a second in a loop, with a tick after each; returns each frame and its
    shape.
    """
    updates, scene, seen = part("live.updates"), bpy.context.scene, []
    for turn in range(round(24 * seconds)):
        clock.now += 1.0 / 24.0
        frame = first + turn % (last - first + 1)
        scene.frame_set(frame)
        seen.append((frame, evaluated_positions(bpy.data.objects["Body"])))
        if bpy.app.timers.is_registered(updates.tick):
            updates.tick()
            if updates.state.stepper is not None and updates.state.stepper.waiting:
                updates.state.stepper._thread.join()
        assert scene.frame_current == frame and not part("scene.poses").silence_depth
    return seen


def test_reopened_file_plays_flesh(playing_character, clock, tmp_path):
    """A reopened file shows its flesh while it plays."""
    body, _ = playing_character
    live = play(body, FRAMES)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "live.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "live.blend"))
    seen = seconds_played(clock, 2.0)
    for frame, shape in seen[-20:]:
        np.testing.assert_array_equal(shape, live[frame - 1])


def test_setting_acts_during_playback(playing_character, clock):
    """A setting that is changed during playback acts during playback."""
    body, _ = playing_character
    old = play(body, FRAMES)
    body.thew.softness = 0.15
    seen = seconds_played(clock, 2.0)[-20:]
    assert max(np.abs(shape - old[frame - 1]).max() for frame, shape in seen) > 1e-3
    assert not part("live.updates").state.waiting
    bpy.ops.thew.simulate()
    for frame, shape in seen:
        np.testing.assert_array_equal(shape, play(body, (frame,))[0])


def line(body) -> str:
    """Returns what the panel says of the flesh."""
    return part("logic.health").health(body.thew, body.thew.made, flesh_of(body), 1).text


def key_the_spine(rig, angle: float) -> None:
    """Keys another turn of a bone in the middle of the animation, as the artist does."""
    rig.pose.bones["Spine"].rotation_euler.x = angle
    rig.pose.bones["Spine"].keyframe_insert("rotation_euler", frame=10)


def test_edited_keys_simulated_on_playback(playing_character, clock, monkeypatch):
    """Edited keys are reported, and simulated when the animation plays."""
    body, rig = playing_character
    monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: False)
    updates, old = part("live.updates"), play(body, FRAMES)
    bpy.context.scene.frame_set(1)
    assert line(body) == "Moves, frames 1 to 20"
    key_the_spine(rig, 0.15)
    bpy.context.view_layer.update()
    assert line(body) == "Edited since it was simulated: play, or press Simulate."
    play(body, FRAMES)
    seconds_played(clock, 0.0)
    assert not updates.state.waiting and updates.state.stepper is None, "nothing is simulated while it stands"
    monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: True)
    part("live.handlers").before_playing()
    seen = seconds_played(clock, 2.0)[-20:]
    assert line(body) == "Moves, frames 1 to 20" and not updates.state.waiting
    bpy.ops.thew.simulate()
    for frame, shape in seen:
        np.testing.assert_array_equal(shape, play(body, (frame,))[0])
    assert max(np.abs(shape - old[frame - 1]).max() for frame, shape in seen) > 1e-2


def test_keys_edited_during_playback(playing_character, clock):
    """Keys that are edited during playback act once the edits stop."""
    body, rig = playing_character
    updates, begun = part("live.updates"), []
    for step in range(20):  # dragged for most of a second
        key_the_spine(rig, 0.02 * step)
        bpy.context.view_layer.update()
        seconds_played(clock, 1.0 / 24.0, first=1 + step)
        begun.append(updates.state.stepper is not None)
    assert not any(begun), "nothing is begun under the hand"
    seconds_played(clock, 2.0)
    assert flesh_of(body).condition.motion.name == "READ" and not updates.state.waiting
    seen = seconds_played(clock, 1.0)[-20:]
    bpy.ops.thew.simulate()
    for frame, shape in seen:
        np.testing.assert_array_equal(shape, play(body, (frame,))[0])


def test_unkeyed_bone_simulated_on_playback(playing_character, clock):
    """A bone that was turned without a key is simulated when the animation plays."""
    body, rig = playing_character
    arm = next(bone for bone in rig.pose.bones if bone.name not in {"Root", "Spine"})
    arm.rotation_mode = "XYZ"
    arm.rotation_euler.x += 0.4
    bpy.context.view_layer.update()
    seconds_played(clock, 2.0)
    assert flesh_of(body).condition.motion.name == "READ" and line(body) == "Moves, frames 1 to 20"


def test_changing_motion_read_once(playing_character, clock, monkeypatch):
    """A motion that differs each time it is read is simulated once per start of playback."""
    updates, jobs, begun = part("live.updates"), part("live.jobs"), []
    update = jobs.update
    monkeypatch.setattr(jobs, "update", lambda *given, **named: begun.append(given) or update(*given, **named))
    monkeypatch.setattr(part("scene.poses").Motion, "differs", lambda *_given: True)
    seconds_played(clock, 3.0)
    assert len(begun) == 1 and not updates.state.waiting
    part("live.handlers").before_playing()
    seconds_played(clock, 3.0)
    assert len(begun) == 2


def test_unrelated_curves_ignored(playing_character):
    """Edited curves of another object do not count as an edit of the motion."""
    body, _ = playing_character
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    for frame, x in ((1, 0.0), (9, 1.0)):
        other.location.x = x
        other.keyframe_insert("location", frame=frame)
    bpy.context.view_layer.update()
    assert flesh_of(body).condition.motion.name == "EDITED" and line(body) == "Moves, frames 1 to 20"


def test_unrelated_undo_ignored(playing_character):
    """Undo of a new object, after which Blender reports every action, does not count as an edit of the keys."""
    bpy.ops.ed.undo_push(message="before")
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Other", None))
    bpy.ops.ed.undo_push(message="another object")
    assert bpy.ops.ed.undo() == {"FINISHED"}
    bpy.context.view_layer.update()
    body = bpy.data.objects["Body"]
    assert flesh_of(body).condition.motion.name == "EDITED" and line(body) == "Moves, frames 1 to 20"


def test_constraint_target_keys_count(playing_character):
    """Keys of a constraint's target count as keys of the armature."""
    body, rig = playing_character
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    rig.constraints.new("COPY_LOCATION").target = other
    other.keyframe_insert("location", frame=1)
    bpy.context.view_layer.update()
    assert flesh_of(body).condition.motion.name == "KEYED"


def test_setting_restarts_update(playing_character, clock):
    """A setting that is changed during an update starts the update again."""
    body, _ = playing_character
    updates = part("live.updates")
    body.thew.cells_across = 8
    clock.now += 1.0
    updates.tick()
    first = updates.state.stepper
    assert first is not None
    body.thew.cells_across = 7
    clock.now += 1.0
    seconds_played(clock, 2.0)
    assert first.done and first.result is None
    assert updates.state.stepper is None and flesh_of(body).build_settings.cells_across == 7
    assert flesh_of(body).condition.build.name == "OPEN"


def test_read_motion_in_slices(playing_character, clock, monkeypatch):
    """A motion read in slices is the motion read at once."""
    body, _ = playing_character
    poses, reading = part("scene.poses"), part("scene.reading")
    scene, layer = bpy.context.scene, bpy.context.view_layer
    flesh = flesh_of(body)
    found = reading.subject(body, layer)

    def motion(said):
        task = poses.read_motion(found, flesh.character.bones, flesh.bind_pose.mesh_matrix, scene, layer, 1, 20)
        try:
            while True:
                next(task)
                said.append(scene.frame_current)
                scene.frame_set(7 + len(said))  # the animation plays on
        except StopIteration as stop:
            return stop.value

    with monkeypatch.context() as slow:
        slow.setattr(poses, "SLICE_TIME", 0.0)
        slices = []
        in_slices = motion(slices)
    assert len(slices) > 5
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: True)
    at_once = motion([])
    np.testing.assert_array_equal(in_slices.raw, at_once.raw)
    assert in_slices.digest == at_once.digest == flesh.motion.digest


def test_curves_edited_during_reading(playing_character, clock):
    """Curves that are edited while they are read stay in doubt."""
    body, rig = playing_character
    flesh, building = flesh_of(body), part("live.building")
    states = part("logic.states")
    part("live.events").report_event(body, flesh, states.Event.CURVES_EDITED)
    counted = flesh.touches, flesh.curve_edits
    animate(rig, bend=-0.2)
    bpy.context.view_layer.update()
    assert flesh.curve_edits > counted[1]
    building.report_read(body, flesh, *counted)
    assert flesh.condition.motion is states.Motion.KEYED
    building.report_read(body, flesh, flesh.touches, flesh.curve_edits)
    assert flesh.condition.motion is states.Motion.READ


@pytest.mark.parametrize("contact", ["", "itself", "a thing"])
def test_frames_arrive_early(playing_character, clock, contact):
    """Finished frames show, with their final bits, while later ones are computed."""
    body, rig = playing_character
    if contact == "a thing":
        add_box()
    scene = bpy.context.scene
    scene.frame_end = 60
    animate(rig, last=61)
    body.thew.motion_start = "SETTLED"  # no loop
    body.thew.use_contact = bool(contact)
    jobs, tasks = part("live.jobs"), part("logic.tasks")
    flesh = flesh_of(body)
    task, seen, answer = jobs.simulate(body, scene, bpy.context.view_layer), {}, None

    def watch(_fraction, _stage):
        if flesh.arriving is not None and len(seen) < 20:
            frame = 1 + len(seen)
            if flesh.arriving.covers(frame):
                scene.frame_set(frame)
                seen[frame] = evaluated_positions(body)
        return True

    try:
        while True:
            step = task.send(answer)
            answer = step.call(watch) if isinstance(step, tasks.Work) else None
    except StopIteration:
        pass
    assert flesh.arriving is None and len(seen) == 20
    assert contact != "a thing" or flesh.touching.others.frames
    for frame, shape in seen.items():
        np.testing.assert_array_equal(shape, play(body, (frame,))[0])


def test_riders_follow_arriving_frames(playing_character, clock):
    """Riders follow the finished frames of a body that is still being simulated in a newly opened file."""
    body, rig = playing_character
    scene = bpy.context.scene
    shirt = make_body(rig, name="Shirt", scale=1.05)
    activate(body)
    shirt.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    body.thew.motion_start = "SETTLED"
    scene.frame_end = 60
    animate(rig, last=61)
    part("live.session").register.forget(body)
    task, seen, answer = jobs_simulate(body), {}, None

    def watch(_fraction, _stage):
        flesh = flesh_of(body)
        if flesh.arriving is not None and not seen and flesh.arriving.covers(8):
            scene.frame_set(8)
            seen[8] = evaluated_positions(shirt)
        return True

    with contextlib.suppress(StopIteration):
        while True:
            step = task.send(answer)
            answer = step.call(watch) if isinstance(step, part("logic.tasks").Work) else None
    np.testing.assert_array_equal(seen[8], play(shirt, (8,))[0])


def jobs_simulate(body):
    """Returns the task of Simulate."""
    return part("live.jobs").simulate(body, bpy.context.scene, bpy.context.view_layer)


def test_loop_progress_tells_why_it_goes_on(playing_character):
    """The progress of a loop says its round, reaches its end and names no stage of the method; the next one knows its rounds."""
    body, rig = playing_character
    animate(rig, last=21)
    body.thew.motion_start = "CYCLE"
    tasks = part("logic.tasks")

    def loop() -> tuple[list[float], list[str]]:
        """Returns the bar and the text at each report of the simulation itself."""
        fractions, said = [], []
        step = None

        def native(fraction, text):
            fractions.append(fraction)
            said.append(text or step.text)
            return True

        task, answer = jobs_simulate(body), None
        while True:
            try:
                step = task.send(answer)
            except StopIteration:
                return fractions, said
            fractions, said = [], []
            answer = step.call(native) if isinstance(step, tasks.Work) else None

    fractions, said = loop()
    flesh = flesh_of(body)
    assert flesh.beginning.period and flesh.arriving is None
    assert {"Simulating the loop", "Simulating the loop, round 2"} < set(said)
    assert not any("closing" in text or "cells" in text or "-" in text or "−" in text for text in said)
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    body.thew.tremble = 0.9  # much the same motion
    fractions, said = loop()
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    loop_rounds = part("logic.loop_rounds")
    assert max(at for at in fractions if at < 1.0) > loop_rounds.EXPECTED_SHARE - 0.05, "it ends where the work is done"


def test_job_shows_arriving_frames(playing_character, monkeypatch):
    """Simulate shows the window's frame as soon as it is ready, and after Esc the former one."""
    body, rig = playing_character
    monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: False)
    updates, tasks = part("live.updates"), part("logic.tasks")
    body.thew.motion_start = "SETTLED"
    bpy.context.scene.frame_end = 60
    animate(rig, last=61)
    bpy.ops.thew.simulate()
    before = play(body, (5,))[0]
    body.thew.softness = 0.1
    updates.stop_update()
    task, answer, seen = jobs_simulate(body), None, []

    def watch(_fraction, _stage):
        updates.show_arriving()
        if updates.state.displayed_parts:
            bpy.context.view_layer.update()
            seen.append(evaluated_positions(body))
        return not seen

    with pytest.raises(part("logic.errors").Cancelled), part("scene.poses").silence_handlers():
        step = next(task)
        while True:
            if isinstance(step, tasks.Work):
                try:
                    answer = step.call(watch)
                except Exception:
                    step = task.throw(part("logic.errors").Cancelled())
                    continue
            step = task.send(answer if isinstance(step, tasks.Work) else None)
    assert np.abs(seen[0] - before).max() > 1e-4
    updates.show_last_finished()
    np.testing.assert_array_equal(evaluated_positions(body), before)
    assert not updates.state.displayed_parts


@pytest.mark.parametrize("thing", [False, True])
def test_motion_in_parts_same_bits(fleshed_character, monkeypatch, thing):
    """A motion made in parts has the bits of the motion made at once."""
    body, _ = fleshed_character
    body.thew.motion_start = "SETTLED"
    if thing:
        add_box()
        body.thew.use_contact = True
        activate(body)
    bpy.ops.thew.simulate()
    arriving, parts = part("live.partial_motion"), play(body, FRAMES)
    assert arriving.parts(21) == [(0, 6), (6, 21)] and arriving.parts(100) == [(0, 6), (6, 18), (18, 42), (42, 100)]
    monkeypatch.setattr(arriving, "FIRST_PART_FRAMES", 1000)
    assert arriving.parts(21) == [(0, 21)]
    body.thew.softness = 0.3
    bpy.ops.thew.simulate()
    body.thew.softness = 0.5
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(play(body, FRAMES), parts)
    assert not thing or flesh_of(body).touching.others.frames


def test_poses_read_with_needed_modifiers(fleshed_character):
    """Poses are read without modifiers, except on meshes whose shape a bone depends on."""
    body, rig = fleshed_character
    activate(body)
    body.modifiers.new("Wave", "CAST").factor = 0.5
    group = body.vertex_groups.new(name="Top")
    group.add([len(body.data.vertices) - 1], 1.0, "REPLACE")
    target = rig.pose.bones["Head"].constraints.new("COPY_ROTATION")
    target.target, target.subtarget = body, "Top"
    bpy.context.view_layer.update()
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    play(body, FRAMES)
    assert "changed" not in flesh_of(body).problem


def test_poses_read_without_subdivision(fleshed_character, monkeypatch):
    """A subdivision after Thew's modifier is not evaluated while poses are read."""
    body, _ = fleshed_character
    fine, seen = body.modifiers.new("Fine", "SUBSURF"), []
    read = part("scene.poses").PoseReader.read

    def note_reading(reader, depsgraph, frame):
        seen.append(fine.show_viewport)
        return read(reader, depsgraph, frame)

    monkeypatch.setattr(part("scene.poses").PoseReader, "read", note_reading)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert fine.show_viewport and seen.count(True) == 1 < seen.count(False)


def test_job_passes_view_events(addon):
    """The view can be turned while a job runs, and other keys are blocked."""
    job = SimpleNamespace(_stepper=SimpleNamespace(cancel=lambda: None))
    for kind, answer in (("MIDDLEMOUSE", "PASS_THROUGH"), ("WHEELUPMOUSE", "PASS_THROUGH"), ("G", "RUNNING_MODAL")):
        event = SimpleNamespace(type=kind, value="PRESS")
        assert part("operators.operator_bases").Job.modal(job, None, event) == {answer}
