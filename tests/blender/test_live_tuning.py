# SPDX-License-Identifier: GPL-3.0-or-later
"""Live tuning: an edit is simulated in the background, the frame in view first, and poses are read only when something else moves them.

There is no window here: the timer is ticked by hand.
"""

from __future__ import annotations

from itertools import pairwise

import bpy
import numpy as np
import pytest
from helpers import activate, evaluated_positions, flesh_of, make_body, part
from ticking import TUNED_FRAMES, shapes, tick, updated_names


@pytest.fixture
def readings(monkeypatch):
    """Returns a list that grows by the names of the characters whenever poses are read."""
    poses, found = part("scene.poses"), []
    read = poses.read_motions

    def counted(wanted, *arguments, **options):
        found.append([each.subject.obj.name for each in wanted])
        return read(wanted, *arguments, **options)

    monkeypatch.setattr(poses, "read_motions", counted)
    return found


EDITS = {
    "softness": 0.62,
    "settling": 1.7,
    "tremble": 0.5,
    "use_gravity": False,
    "reach": 0.05,
    "elastic_joints": 0.4,
    "density": 700.0,
    "poisson": 0.3,
}


def test_edits_read_no_poses(tuned, in_window, readings):
    """No edit of a setting reads poses again, and each ends with the bits of Simulate."""
    body, _ = tuned()
    in_window()
    readings.clear()
    for name, value in EDITS.items():
        setattr(body.thew, name, value)
        tick()
    live = shapes(body)
    assert not readings
    body.thew.softness += 0.1
    bpy.ops.thew.simulate()
    body.thew.softness -= 0.1
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(shapes(body), live)


def test_stroke_reads_no_poses(tuned, in_window, readings):
    """A stroke on the flesh map reads no poses, and ends with the bits of Simulate."""
    body, _ = tuned()
    in_window()
    before = shapes(body)
    bpy.context.view_layer.update()
    readings.clear()
    body.vertex_groups["Flesh"].add(range(50, 80), 0.1, "REPLACE")
    body.data.update_tag()
    bpy.context.view_layer.update()
    tick()
    live = shapes(body)
    assert not readings and np.abs(live - before).max() > 1e-4
    part("live.session").register.forget(body)
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(shapes(body), live)


def influence(body, rig) -> None:
    """Halves the influence of a constraint."""
    rig.pose.bones["Head"].constraints["Limit"].influence = 0.5


def driver(body, rig) -> None:
    """Changes the expression of a driver."""
    rig.animation_data.drivers[0].driver.expression = "0.3"


def action(body, rig) -> None:
    """Plays another action."""
    other = rig.animation_data.action.copy()
    other.name = "Other"
    rig.animation_data.action = other


def keys(body, rig) -> None:
    """Moves a key."""
    spine = rig.pose.bones["Spine"]
    spine.rotation_euler.x = 0.4
    spine.keyframe_insert("rotation_euler", frame=31)


def target(body, rig) -> None:
    """Moves the target of a constraint, which nothing animates."""
    bpy.data.objects["Target"].location.x = 0.5


def strip(body, rig) -> None:
    """Adds an NLA strip."""
    rig.animation_data.nla_tracks.new().strips.new("More", 10, rig.animation_data.action)


CHANGES = [influence, driver, action, keys, target, strip]


def prepare(rig) -> None:
    """Gives the armature constraints and a driver."""
    head = rig.pose.bones["Head"]
    limit = head.constraints.new("COPY_ROTATION")
    limit.name, limit.target, limit.subtarget = "Limit", rig, "Hip"
    empty = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(empty)
    aim = head.constraints.new("COPY_LOCATION")
    aim.target, aim.influence = empty, 0.1
    rig.pose.bones["Hip"].rotation_mode = "XYZ"
    rig.pose.bones["Hip"].driver_add("rotation_euler", 2).driver.expression = "0.1"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_poses_read_once_after_change(tuned, in_window, readings, change):
    """Poses are read again, once, after something else moves the bones; then edits read none."""
    body, rig = tuned()
    prepare(rig)
    bpy.ops.thew.simulate()
    in_window()
    readings.clear()
    body.thew.settling = 1.2
    tick()
    assert not readings
    change(body, rig)
    bpy.context.view_layer.update()
    body.thew.settling = 1.4
    tick()
    assert readings == [["Body"]]
    live = shapes(body)
    for value in (1.6, 1.4):
        body.thew.settling = value
        tick()
    assert len(readings) == 1
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(shapes(body), live)


def test_keyed_constraint_is_no_new_mover(tuned, scene):
    """Keys of a constraint change its influence from frame to frame, and not the fingerprint of what moves the character."""
    body, rig = tuned()
    constraint = rig.pose.bones[0].constraints.new("LIMIT_ROTATION")
    prints = part("scene.movers").fingerprint
    for frame, value in ((1, 0.0), (20, 1.0)):
        constraint.influence = value
        constraint.keyframe_insert("influence", frame=frame)
    found = set()
    for frame in (1, 10, 20):
        scene.frame_set(frame)
        found.add(prints(body, rig))
    assert len(found) == 1
    constraint.use_limit_x = True
    assert prints(body, rig) not in found


def test_changed_movers_read_on_playback(tuned, in_window, readings, monkeypatch):
    """A constraint's new influence is simulated when the animation plays, though no frame shows it before."""
    body, rig = tuned()
    prepare(rig)
    bpy.ops.thew.simulate()
    in_window()
    readings.clear()
    influence(body, rig)
    bpy.context.view_layer.update()
    tick()
    assert not readings, "nothing is read while it stands"
    monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: True)
    part("live.handlers").before_playing()
    bpy.context.scene.frame_set(3)
    tick()
    assert readings == [["Body"]] and flesh_of(body).condition.motion.name == "READ"


def test_turned_bone_reads_no_poses(tuned, in_window, readings):
    """A keyed bone turned by hand, which the next frame puts back, reads no poses."""
    body, rig = tuned()
    in_window()
    readings.clear()
    rig.pose.bones["Spine"].rotation_euler.x += 0.3
    bpy.context.view_layer.update()
    body.thew.settling = 1.3
    tick()
    assert not readings


# frames in their order ------------------------------------------------------------------------------------------------


def run_watching(body, watch) -> None:
    """Runs the update that waits, and calls `watch(flesh)` at each report of progress."""
    updates, tasks = part("live.updates"), part("logic.tasks")
    assert updates.start_next()
    stepper, answer, thrown = updates.state.stepper, None, None
    task, flesh = stepper.task, flesh_of(body)
    while True:
        try:
            step = task.send(answer) if thrown is None else task.throw(thrown)
        except StopIteration:
            break
        answer = thrown = None
        if isinstance(step, tasks.Work):
            try:
                answer = step.call(lambda _at, _stage: watch(flesh) is not False)
            except Exception as error:
                thrown = error
    stepper.done = True
    updates.finish_update()


@pytest.mark.parametrize("edited", ["softness", "field_weight"])
@pytest.mark.parametrize("start", ["SETTLED", "CYCLE"])
def test_glance_shown_first(tuned, in_window, scene, start, edited):
    """The frame in view shows a likeness of itself long before its turn; then frames come in order, with their final bits."""
    if edited == "field_weight":
        bpy.ops.object.effector_add(type="WIND", rotation=(0.0, 1.2, 0.0))
        bpy.context.object.field.strength, bpy.context.object.field.noise = 30.0, 2.0
    body, _ = tuned()
    body.thew.motion_start = start
    bpy.ops.thew.simulate()
    scene.frame_set(50)
    in_window()
    before, seen, ready = flesh_of(body).offsets(50), {}, []
    setattr(body.thew, edited, {"softness": 0.8, "field_weight": 0.2}[edited])

    def watch(flesh):
        part_ = flesh.arriving
        if part_ is None:
            return
        if "glance" not in seen:
            seen["glance"] = part_.offsets(50)
            assert part_.covers(50) and not part_.covers(49) and not part_.covers(51)
        elif part_.glance is not None:
            ready.append(part_.ready)
            for frame in (3, 30):
                if part_.is_ready(frame):
                    seen.setdefault(frame, part_.offsets(frame))

    run_watching(body, watch)
    flesh = flesh_of(body)
    final = flesh.offsets(50)
    off = [np.linalg.norm(each - final) for each in (seen.pop("glance"), before)]
    assert 0.0 < off[0] < 0.7 * off[1]
    assert ready == sorted(ready) and (start == "CYCLE" or len(set(ready)) > 2)
    assert start == "CYCLE" or set(seen) == {3, 30}
    for frame, offsets in seen.items():
        np.testing.assert_array_equal(offsets, flesh.offsets(frame))
    assert flesh.arriving is None


def test_glance_begins_after_cut(addon):
    """A glance never begins before a frame in which the flesh begins anew, and takes as much motion as fits."""
    rows = part("live.glance").simulated_rows
    assert rows(50, 24.0, 0.008, ())[0] == range(46, 53) and rows(50, 24.0, 0.008, ())[1] == 3
    slow, quick = rows(50, 24.0, 1.0, ())[0], rows(50, 24.0, 1e-4, ())[0]
    assert len(slow) >= 6 and len(quick) == 20 and slow.stop == quick.stop == 53
    assert rows(50, 24.0, 1e-4, (48, 60))[0] == range(48, 53)
    assert rows(1, 24.0, 1e-4, ())[0] == range(4)


def set_and_see(body, settling: float) -> None:
    """Changes a setting, and runs the timer until its update has shown the frame in view."""
    updates = part("live.updates")
    former = updates.state.begun
    body.thew.settling = settling
    while updates.state.begun == former or not updates.state.pictured:
        updates.tick()
    bpy.context.view_layer.update()


def test_last_edit_wins(tuned, in_window, scene):
    """Under a drag each value shows the frame in view, then makes room; the last one ends with the bits of Simulate."""
    body, _ = tuned()
    scene.frame_set(50)
    in_window()
    updates, pictures = part("live.updates"), []
    for value in np.linspace(0.55, 0.9, 8):
        set_and_see(body, float(value))
        pictures.append(evaluated_positions(body))
        assert updates.state.stepper is not None, "it was still under way"
    assert all(np.abs(a - b).max() > 0.0 for a, b in pairwise(pictures))
    tick()
    live = shapes(body)
    assert flesh_of(body).build_settings.settling == pytest.approx(0.9)
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(shapes(body), live)


def test_softness_edit_tells_its_work_alone(tuned, in_window, monkeypatch):
    """An edit of Softness tells no reading of a mesh that is as it was, and its bar begins at 0 and never goes back."""
    body, _ = tuned()
    in_window()
    updates, told, begun = part("live.updates"), [], []
    advance, begin = updates.advance, part("logic.tasks").Bar.begin

    def watch(stepper, young):
        ended = advance(stepper, young)
        told.append((stepper.bar.shown, stepper.text))
        return ended

    def note_beginning(bar, fraction):
        begin(bar, fraction)
        begun.append(bar.shown)

    monkeypatch.setattr(updates, "advance", watch)
    monkeypatch.setattr(part("logic.tasks").Bar, "begin", note_beginning)
    body.data.update_tag()  # as Blender tags it with the edit
    body.thew.softness = 0.7
    bpy.context.view_layer.update()
    tick()
    fractions = [fraction for fraction, _ in told]
    assert not any("mesh" in text or "frame" in text for _, text in told)
    assert begun[0] == 0.0 and fractions == sorted(fractions) and fractions[-1] > 0.9


def test_changed_range_is_taken_up(tuned, in_window, scene):
    """Start and End of the scene are taken up as any edit is, before any frame is played: the motion of the new range is simulated."""
    body, _ = tuned()
    scene.frame_set(20)
    in_window()
    for first, last in ((1, 40), (11, 40), (11, 70)):
        scene.frame_start, scene.frame_end = first, last
        bpy.context.view_layer.update()
        assert body.session_uid in part("live.updates").state.waiting
        tick()
        flesh = flesh_of(body)
        assert flesh.build_settings.live == (first, last) and flesh.covers(first, last)
        told = part("logic.health").health(body.thew, body.thew.made, flesh, 20)
        assert told.text == f"Moves, frames {first} to {last}"
        assert not part("live.updates").state.waiting


def test_refused_range_is_tried_once(tuned, in_window, scene, readings):
    """A range with a frame that is refused is read once, not at each report of the scene; another range is taken up."""
    body, rig = tuned()
    for frame, size in ((61, 1.0), (66, 0.0)):
        rig.scale = (size, size, size)
        rig.keyframe_insert("scale", frame=frame)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    in_window()
    scene.frame_end = 70
    bpy.context.view_layer.update()
    readings.clear()
    tick()
    assert readings == [["Body"]] and "scaled to zero at frame" in flesh_of(body).problem
    for _ in range(3):
        scene.update_tag()  # as a selection does
        bpy.context.view_layer.update()
        assert not part("live.updates").state.waiting
    scene.frame_end = 50
    bpy.context.view_layer.update()
    tick()
    assert flesh_of(body).build_settings.live == (1, 50) and not flesh_of(body).problem


def test_value_put_back_shows_former_flesh(tuned, in_window, scene):
    """A setting that is put back before its motion is done shows the former flesh again."""
    body, _ = tuned()
    scene.frame_set(50)
    in_window()
    before = evaluated_positions(body)
    set_and_see(body, 3.0)
    assert np.abs(evaluated_positions(body) - before).max() > 0.0
    body.thew.settling = 1.0
    tick()
    bpy.context.view_layer.update()
    np.testing.assert_array_equal(evaluated_positions(body), before)


# several characters ---------------------------------------------------------------------------------------------------


def test_three_characters_in_order(tuned, in_window, scene, monkeypatch):
    """The object under edit comes first, then the active one, then those in view; all end with the bits of Simulate."""
    bodies = [body for body, _ in tuned("A", "B", "C")]
    in_window()
    names = updated_names(monkeypatch)
    activate(bodies[1])
    for body in bodies:
        body.thew.settling = 1.5
    tick()
    assert list(dict.fromkeys(names)) == ["C", "B", "A"]
    live = [shapes(body) for body in bodies]
    for body, shape in zip(bodies, live, strict=True):
        activate(body)
        bpy.ops.thew.simulate()
        np.testing.assert_array_equal(shapes(body), shape)


def test_edited_character_interrupts(tuned, in_window, monkeypatch):
    """An edit of one character interrupts the update of another, which is done afterwards."""
    (a, _), (b, _) = tuned("A", "B")
    in_window()
    names, updates = updated_names(monkeypatch), part("live.updates")
    a.thew.settling = 1.5
    updates.tick()
    assert updates.state.updated_object == a
    b.thew.settling = 1.7
    tick()
    assert names[:3] == ["A", "B", "A"]
    assert [round(flesh_of(each).build_settings.settling, 3) for each in (a, b)] == [1.5, 1.7]


def test_each_character_shown_before_any_is_done(tuned, in_window, scene):
    """An update gives way, once its frame in view was shown, to objects that have shown none, and then to the one under edit."""
    bodies = [body for body, _ in tuned("A", "B", "C")]
    in_window()
    state, turns = part("live.updates").state, part("live.turns")
    a, b, c = (body.session_uid for body in bodies)
    state.updated_object, state.edited, state.pictured = bodies[0], b, False
    state.waiting, state.seen = {b: 0.0, c: 0.0}, set()
    assert turns.gives_way(a, 1.0), "for the object under edit"
    state.seen = {b}
    assert not turns.gives_way(a, 1.0), "it has shown nothing yet, and the one under edit has"
    state.pictured = True
    assert turns.gives_way(a, 1.0) and turns.in_order(bodies) == [bodies[2], bodies[0], bodies[1]]
    state.edited, state.waiting = a, {b: 0.0, c: 0.0}
    assert turns.gives_way(a, 1.0), "for the one that has shown nothing"
    state.seen = {b, c}
    assert not turns.gives_way(a, 1.0)
    assert not turns.gives_way(a, -1.0), "none is due"
    state.updated_object, state.waiting, state.seen = None, {}, set()


def test_hidden_character_left_alone(tuned, in_window, scene, monkeypatch):
    """Nothing is computed or written for a hidden character while the animation plays; shown again, it is up to date."""
    _, (b, _) = tuned("A", "B")
    in_window()
    names = updated_names(monkeypatch)
    monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: True)
    b.hide_set(True)
    bpy.context.view_layer.update()
    looked = []
    offsets = part("scene.offsets")
    write = offsets.write
    monkeypatch.setattr(offsets, "write", lambda obj, *rest: looked.append(obj.name) or write(obj, *rest))
    b.thew.settling = 1.5
    for frame in (3, 4, 5):
        scene.frame_set(frame)
        part("live.updates").tick()
    tick()
    assert set(looked) == {"A"} and names == []
    monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: False)
    b.hide_set(False)
    bpy.context.view_layer.update()
    tick()
    assert names == ["B"] and looked[-1] == "B"
    live = shapes(b)
    activate(b)
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(shapes(b), live)


def test_hidden_body_of_shown_rider_is_looked_at(tuned, in_window):
    """A hidden body is looked at while its rider, or an object that takes its shape, is visible."""
    body, rig = tuned()
    shirt = make_body(rig, name="Shirt", scale=1.05)
    activate(body)
    shirt.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    in_window()
    visibility, layer = part("scene.visibility"), bpy.context.view_layer

    def looked_at() -> bool:
        layer.update()
        visibility.forget()
        return visibility.is_looked_at(body)

    assert looked_at()
    body.hide_set(True)
    assert looked_at()
    shirt.hide_set(True)
    assert not looked_at()
    other = make_body(rig, name="Other")
    wrap = other.modifiers.new("Wrap", "SHRINKWRAP")
    wrap.target = body
    assert looked_at()
    wrap.target = None
    assert not looked_at()


# marks of ready frames ------------------------------------------------------------------------------------------------


def test_ready_frames_marked(tuned, in_window, scene, addon):
    """The line in the timeline covers the simulated frames: faint while they are former ones, bright as far as new ones are ready."""
    marks = part("ui.ready_frames")
    body, _ = tuned()
    scene.frame_set(50)
    in_window()
    assert marks.spans(body) == [marks.Span(1, TUNED_FRAMES, marks.READY_COLOUR)]
    lines = []
    body.thew.settling = 2.0
    assert marks.spans(body) == [marks.Span(1, TUNED_FRAMES, marks.FORMER_COLOUR)]
    run_watching(body, lambda _flesh: lines.append(marks.spans(body)))
    assert marks.spans(body) == [marks.Span(1, TUNED_FRAMES, marks.READY_COLOUR)]
    assert all(line[0] == marks.Span(1, TUNED_FRAMES, marks.FORMER_COLOUR) for line in lines)
    ends = [line[1].last for line in lines if len(line) == 2]
    assert ends == sorted(ends) and len(set(ends)) > 2 and ends[0] >= 1
    scene.frame_end = 40  # the clip holds more
    assert flesh_of(body).clip_end == TUNED_FRAMES and marks.spans(body) == [marks.Span(1, 40, marks.READY_COLOUR)]
    scene.frame_start = 10  # a motion that begins there is another one
    assert marks.spans(body) == [marks.Span(10, 40, marks.FORMER_COLOUR)]
    body.thew.use_scene_range, body.thew.frame_start, body.thew.frame_end = False, 5, 20
    assert [each[:2] for each in marks.spans(body)] == [(5, 20)]
    body.thew.frame_start, body.thew.frame_end = 200, 300
    assert not marks.spans(body)
    body.thew.use_scene_range, scene.frame_start, scene.frame_end = True, 1, TUNED_FRAMES
    body.thew.settled = True
    assert not marks.spans(body)
    body.thew.settled = False
    body.thew.enabled = False
    assert not marks.spans(body) and not marks.spans(None)
    (overlay,) = marks.OVERLAYS
    assert overlay.space is bpy.types.SpaceDopeSheetEditor and overlay.handle is None, "no window, no drawing"


@pytest.mark.parametrize("first", ["A", "B"])
def test_wind_with_a_hidden_character(tuned, in_window, scene, monkeypatch, first):
    """An edit that a hidden character feels too is simulated once for the one in view, however often Blender redraws."""
    characters = dict(zip("AB", tuned("A", "B"), strict=True))
    hidden, seen = characters[first][0], characters["B" if first == "A" else "A"][0]
    in_window()
    hidden.hide_set(True)
    characters[first][1].hide_set(True)
    activate(seen)
    bpy.ops.object.effector_add(type="WIND")
    wind = bpy.context.object
    tick()
    names = updated_names(monkeypatch)
    wind.field.strength = 60.0
    updates, playback = part("live.updates"), part("live.playback")
    for turn in range(600):
        bpy.context.view_layer.update()  # each shows the new strength again
        if turn % 7 == 0:
            playback.look_up(scene)
        if updates.tick() is None:
            break
        if updates.state.stepper is not None and updates.state.stepper.waiting:
            updates.state.stepper._thread.join(0.1)
    assert names == [seen.name] and updates.state.stepper is None
    live = shapes(seen)
    activate(seen)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(shapes(seen), live)
    hidden.hide_set(False)
    bpy.context.view_layer.update()
    tick()
    assert names == [seen.name, hidden.name]
