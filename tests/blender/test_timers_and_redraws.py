# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens by itself in a window, without one: the timer is ticked by hand."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from helpers import (
    activate,
    animate,
    evaluated_positions,
    flesh_of,
    make_character,
    part,
    play,
    refusal,
    size_of,
    skinned_shape,
)

FRAMES = range(1, 21)


@pytest.fixture
def window(scene, monkeypatch):
    """Builds a character with flesh, in a Blender that believes it has a window."""
    body, rig = make_character()
    handlers = part("live.handlers")
    handlers.plain = play(body, FRAMES)
    bpy.ops.thew.add(cells_across=6)
    bpy.ops.thew.simulate()
    play(body, (1, 4))
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    for name in ("SETTING_DELAY", "SHORT_DELAY"):
        monkeypatch.setattr(part("live.updates"), name, 0.0)
    part("live.updates").state.waiting.clear()
    yield body, rig, handlers
    part("live.updates").stop_update()
    if bpy.app.timers.is_registered(part("live.updates").tick):
        bpy.app.timers.unregister(part("live.updates").tick)


def tick() -> None:
    """Runs the timer until it has nothing more to do."""
    updates = part("live.updates")
    for _ in range(10_000):
        if updates.tick() is None:
            return
        if updates.state.stepper is not None and updates.state.stepper.waiting:
            updates.state.stepper._thread.join(0.1)
    raise AssertionError("the timer never ends")


def test_slider_updates_by_timer(window):
    """A changed setting shows after one update by the timer, without a frame change."""
    body, _, _ = window
    before = evaluated_positions(body)
    body.thew.softness = 0.2
    np.testing.assert_array_equal(evaluated_positions(body), before)
    assert bpy.app.timers.is_registered(part("live.updates").tick)
    tick()
    after = evaluated_positions(body)
    assert np.abs(after - before).max() > 1e-4
    np.testing.assert_array_equal(play(body, (9, 4))[1], after)
    assert part("live.updates").state.stepper is None and not part("live.updates").state.waiting


def test_old_motion_plays_during_update(window):
    """The old motion plays until the new one is computed."""
    body, _, _ = window
    old = play(body, (2, 7, 12))
    body.thew.softness = 0.2
    np.testing.assert_array_equal(play(body, (2, 7, 12)), old)
    tick()
    assert np.abs(play(body, (2, 7, 12)) - old).max() > 1e-4


def test_painted_weights_update(window):
    """Painted weights show after one update."""
    body, _, _ = window
    before = evaluated_positions(body)
    body.vertex_groups["Head"].add(list(range(70, 100)), 1.0, "REPLACE")
    body.vertex_groups["Spine"].remove(list(range(70, 100)))
    bpy.context.view_layer.update()
    assert part("live.updates").state.waiting
    tick()
    assert np.abs(evaluated_positions(body) - before).max() > 1e-4


def test_invalid_edit_until_update(window):
    """An edit that invalidates the flesh shows the plain skin until the flesh is built anew."""
    body, _, _ = window
    activate(body)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide()
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    shown = [evaluated_positions(body), *play(body, (9, 4))]
    thew = body.modifiers["Thew"]
    thew.show_viewport = False
    plain = play(body, (4, 9, 4))
    thew.show_viewport = True
    np.testing.assert_array_equal(shown, plain)
    tick()
    assert len(flesh_of(body).character.rest) == len(body.data.vertices)
    assert np.abs(evaluated_positions(body) - plain[2]).max() > 1e-4


def test_failed_build_shows_plain_skin(window, monkeypatch):
    """A build that fails shows the plain skin until a setting changes."""
    body, _, handlers = window

    def fails(*_args, **_options):
        raise part("logic.native").thew.ThewError("there is no flesh to be had")

    with monkeypatch.context() as broken:
        broken.setattr(part("logic.native").thew, "simulate", fails)
        body.thew.softness = 0.3
        tick()
        assert "no flesh to be had" in body.thew.made.notes
        np.testing.assert_array_equal(evaluated_positions(body), handlers.plain[3])
        np.testing.assert_array_equal(play(body, FRAMES), handlers.plain)
    body.thew.softness = 0.4
    tick()
    assert np.abs(play(body, FRAMES) - handlers.plain).max() > 1e-3


def refuse_twist(body):
    """Gives a bone a twist with the radius 0; returns what the sentence says and how to take it back."""
    bone = part("scene.reading").armature_of(body).data.bones["Spine"].thew
    bone.use_twist, bone.twist_radius = True, 0.0
    return "has the radius 0", lambda: setattr(bone, "use_twist", False)


def refuse_levels(body):
    """Asks for more levels than memory holds."""
    fine_detail = part("logic.fine_detail")
    limit, fine_detail.MAX_BYTES = fine_detail.MAX_BYTES, 1e3

    def take_back():
        fine_detail.MAX_BYTES, body.thew.levels = limit, 0

    body.thew.levels = 3
    return "Fine Detail 3 would take", take_back


def refuse_pins(body):
    """Pins a ring and the whole skin to two objects, and moves one of them away."""
    targets = {}
    for name, vertices in (("Hand", range(40, 60)), ("Skin", range(len(body.data.vertices)))):
        body.vertex_groups.new(name=name).add(list(vertices), 1.0, "REPLACE")
        targets[name] = bpy.data.objects.new(name, None)
        bpy.context.scene.collection.objects.link(targets[name])
        activate(body)
        assert bpy.ops.thew.pin_group(group=name, target=name) == {"FINISHED"}
    targets["Skin"].location.x = 0.3
    bpy.context.view_layer.update()

    def take_back():
        for name in targets:
            body.thew.pins.remove(len(body.thew.pins) - 1)
            body.vertex_groups.remove(body.vertex_groups[name])
        part("live.updates").wait(body)

    return "conflict", take_back


@pytest.mark.parametrize("refuse", [refuse_twist, refuse_levels, refuse_pins])
def test_refused_setting_keeps_last_flesh(window, capsys, refuse):
    """A setting that is refused while the flesh is live leaves the last good flesh in view, and is told once; taken back, it is forgotten."""
    body, _, handlers = window
    tick()
    good = play(body, FRAMES)
    assert np.abs(good - handlers.plain).max() > 1e-3
    said, take_back = refuse(body)
    capsys.readouterr()
    for _ in range(3):
        tick()
        np.testing.assert_array_equal(play(body, FRAMES), good)
    assert said in body.thew.made.notes and said in flesh_of(body).problem
    assert capsys.readouterr().out.count(said) == 1
    take_back()
    tick()
    np.testing.assert_array_equal(play(body, FRAMES), good)
    assert said not in body.thew.made.notes and not flesh_of(body).problem


def test_render_tells_of_refused_setting(window, scene, monkeypatch):
    """A render with a refused setting shows the last good flesh, and a dialog says so."""
    body, _, handlers = window
    good, texts = play(body, FRAMES[2:3]), []
    monkeypatch.setattr(part("live.rendering"), "show_dialog", lambda _title, lines: texts.extend(lines))
    said, _ = refuse_twist(body)
    tick()
    handlers.before_render(scene)
    np.testing.assert_array_equal(play(body, FRAMES[2:3]), good)
    handlers.after_render(scene)
    assert len(texts) == 1 and "earlier settings" in texts[0] and said in texts[0]


def test_refused_setting_on_edited_mesh_shows_plain_skin(window):
    """Flesh of another mesh does not stay in view, whatever is refused."""
    body, _, _ = window
    refuse_twist(body)
    body.data.vertices[0].co.x += 0.01
    body.data.update_tag()
    bpy.context.view_layer.update()
    tick()
    thew = body.modifiers["Thew"]
    shown = evaluated_positions(body)
    thew.show_viewport = False
    np.testing.assert_array_equal(shown, evaluated_positions(body))


@pytest.mark.parametrize("mode", ["SCULPT", "EDIT"])
def test_edit_modes_show_plain_skin(scene, window, mode):
    """Sculpt and edit modes show the plain skin, and the flesh returns after them."""
    body, _, handlers = window
    live = play(body, FRAMES)
    scene.frame_set(4)
    activate(body)
    bpy.ops.object.mode_set(mode=mode)
    bpy.context.view_layer.update()
    if mode == "SCULPT":
        np.testing.assert_allclose(evaluated_positions(body), handlers.plain[3], atol=1e-6)
    scene.frame_set(9)
    if mode == "SCULPT":
        np.testing.assert_allclose(evaluated_positions(body), handlers.plain[8], atol=1e-6)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    tick()
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_playback_requests_no_update(window):
    """Playback requests no update."""
    body, _, _ = window
    play(body, FRAMES)
    bpy.context.view_layer.update()
    assert not part("live.updates").state.waiting


def test_unkeyed_pose_followed(scene, window):
    """A bone turned by hand carries the flesh along before it is simulated."""
    body, rig, _ = window
    flesh = flesh_of(body)
    before = evaluated_positions(body)
    rig.pose.bones["Spine"].rotation_euler.x += 0.6
    bpy.context.view_layer.update()
    posed = evaluated_positions(body)
    found = part("scene.reading").subject(body, bpy.context.view_layer)
    pose = flesh.pose(found, bpy.context.view_layer.depsgraph, 4)
    skinned = skinned_shape(flesh, pose.maps, pose.mesh)
    assert np.abs(posed - skinned).max() < 0.2 * size_of(skinned) < np.abs(posed - before).max() * 2
    assert flesh.condition.pose.name == "OTHER" and "press Simulate" in flesh.problem
    bpy.context.view_layer.update()
    assert not part("live.updates").state.waiting  # what we wrote ourselves is no edit
    scene.frame_set(4)  # the animation puts the bones back
    np.testing.assert_array_equal(evaluated_positions(body), before)
    assert flesh.condition.pose.name == "SIMULATED" and not flesh.problem


def test_changed_animation_shows_rest_flesh(scene, window):
    """A changed animation is reported, and its skin shows without the swing of the old one."""
    body, rig, handlers = window
    flesh = flesh_of(body)
    animate(rig, bend=-0.3)
    shapes = play(body, (2, 7))
    assert flesh.condition.motion.name == "DIFFERS" and "press Simulate" in flesh.problem
    found = part("scene.reading").subject(body, bpy.context.view_layer)
    body.thew.enabled = False
    for frame, shape in zip((2, 7), shapes, strict=True):
        skin = play(body, (frame,))[0]
        pose = flesh.pose(found, bpy.context.view_layer.depsgraph, frame)
        np.testing.assert_allclose(shape - skin, flesh.settled_at(pose.maps, pose.mesh), atol=1e-5)
        assert np.abs(skin - handlers.plain[frame - 1]).max() > 1e-2
    body.thew.enabled = True
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert flesh.condition.motion.name == "READ" and not flesh.problem


def test_loaded_file_rebuilt(window, tmp_path):
    """A loaded file is rebuilt by the timer and shows the plain skin until then."""
    body, _, handlers = window
    live = play(body, FRAMES)
    path = tmp_path / "live.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    body = bpy.data.objects["Body"]
    np.testing.assert_array_equal(
        evaluated_positions(body), handlers.plain[-1]
    )  # plain skin, wherever the file was saved
    np.testing.assert_array_equal(play(body, FRAMES), handlers.plain)
    tick()
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_settled_builds_missing_flesh(window):
    """The rest pose preview builds flesh where there is none yet."""
    body, _, _ = window
    part("live.session").register.forget(body)
    plain = evaluated_positions(body)
    part("live.updates").state.waiting.clear()
    body.thew.settled = True
    tick()
    assert flesh_of(body).clip is not None
    assert np.abs(evaluated_positions(body) - plain).max() > 1e-3


def test_undo_stops_update(window):
    """Undo stops the update under way."""
    body, _, _ = window
    bpy.ops.ed.undo_push(message="before")
    body.thew.cells_across = 8
    bpy.ops.ed.undo_push(message="finer")
    part("live.updates").tick()
    part("live.updates").tick()
    assert part("live.updates").state.stepper is not None
    bpy.ops.ed.undo()
    assert part("live.updates").state.stepper is None
    tick()
    assert bpy.data.objects["Body"].thew.cells_across == 6
    assert np.isfinite(play(bpy.data.objects["Body"], (3, 9))).all()


def test_remove_stops_update(window):
    """Remove stops the update under way."""
    body, _, _ = window
    body.thew.cells_across = 8
    part("live.updates").tick()
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert part("live.updates").state.stepper is None
    tick()
    assert [m.type for m in body.modifiers] == ["ARMATURE"]


def test_deleted_object_stops_update(window):
    """An object may be deleted during its update."""
    body, _, _ = window
    body.thew.cells_across = 8
    part("live.updates").tick()
    bpy.data.objects.remove(body)
    tick()
    bpy.context.scene.frame_set(5)


def test_deleted_object_of_job_reported(scene):
    """A job that fails because its object was deleted meanwhile reports that without the object."""
    gone, texts = bpy.data.objects.new("Gone", None), []
    bpy.data.objects.remove(gone)
    job = SimpleNamespace(report=lambda _kind, text: texts.append(text))
    error = part("logic.errors").Refusal("its object is gone")
    assert part("operators.operator_bases").Job.refuse(job, gone, error) == {"CANCELLED"}
    assert texts == ["Its object is gone."]


def test_failed_update_noted(window):
    """An update that fails says why in the notes and shows the plain skin."""
    body, _, _ = window
    body.vertex_groups.clear()
    body.data.update_tag()
    bpy.context.view_layer.update()
    tick()
    assert "no vertex groups" in body.thew.made.notes
    # What is refused shows the plain armature, which moves nothing now.
    np.testing.assert_array_equal(evaluated_positions(body), part("scene.mesh").basis_positions(body.data))
    assert "no vertex groups" in refusal(bpy.ops.thew.simulate)


def run_in_thread(call) -> None:
    """Runs `call` in another thread, as Blender renders in a window, while this one attends to it."""
    rendering = part("live.rendering")
    thread = threading.Thread(target=call)
    thread.start()
    while thread.is_alive():
        rendering.run_pending_calls()
        thread.join(1e-3)


def render_in_thread(handlers, scene, body, frames) -> np.ndarray:
    """Returns what a render's thread would see at `frames`, in the order given."""
    shapes = []
    run_in_thread(lambda: handlers.before_render(scene))
    with part("scene.poses").silence_handlers():  # no handlers of this thread
        for frame in frames:
            scene.frame_set(frame)
            with free_handlers(), guard_writes():
                run_in_thread(lambda: part("live.playback").before_frame(scene))
            bpy.context.view_layer.update()
            with free_handlers(), guard_writes():
                run_in_thread(lambda: part("live.playback").after_frame(scene, bpy.context.view_layer.depsgraph))
            shapes.append(evaluated_positions(body))
    run_in_thread(lambda: handlers.after_render(scene))
    part("live.rendering").run_pending_calls()
    return np.array(shapes)


@contextmanager
def free_handlers():
    """Lets the handlers answer within the block."""
    poses = part("scene.poses")
    before, poses.silence_depth = poses.silence_depth, 0
    try:
        yield
    finally:
        poses.silence_depth = before


@contextmanager
def guard_writes():
    """Checks that only the main thread writes within the block."""
    modifier, write = part("scene.modifier"), part("scene.modifier").write

    def guarded_write(*args):
        assert threading.current_thread() is threading.main_thread()
        write(*args)

    modifier.write = guarded_write
    try:
        yield
    finally:
        modifier.write = write


def test_render_thread_matches_playback(scene, window):
    """A render in a window shows what was played, in any order and with the interface unlocked."""
    body, _, handlers = window
    assert not scene.render.use_lock_interface
    order = [4, 17, 2, 9, 20, 1, 9]
    live = play(body, FRAMES)
    scene.frame_set(4)
    np.testing.assert_array_equal(render_in_thread(handlers, scene, body, order), live[np.array(order) - 1])
    assert not part("live.updates").state.rendering
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_window_writes_nothing_during_render(scene, window):
    """The window writes no offsets of its own during a render."""
    body, _, handlers = window
    live = play(body, FRAMES)
    run_in_thread(lambda: handlers.before_render(scene))
    seen = play(body, FRAMES)
    np.testing.assert_array_equal(seen[:-1], handlers.plain[:-1])
    np.testing.assert_array_equal(seen[-1], live[-1])  # written before, and right
    run_in_thread(lambda: handlers.after_render(scene))
    part("live.rendering").run_pending_calls()
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_render_thread_after_open(scene, window, tmp_path):
    """A file that was just opened is rendered with its flesh."""
    body, _, handlers = window
    live = play(body, FRAMES)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "live.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "live.blend"))
    scene, body = bpy.context.scene, bpy.data.objects["Body"]
    np.testing.assert_array_equal(render_in_thread(handlers, scene, body, (3, 9)), live[[2, 8]])


def test_render_thread_reads_changed_animation(scene, window):
    """A render reads an animation that was changed before it."""
    body, rig, handlers = window
    animate(rig, bend=-0.4)
    bpy.context.view_layer.update()
    seen = render_in_thread(handlers, scene, body, (1, 5, 14))
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(play(body, (1, 5, 14)), seen)


def test_render_reports_missing_flesh(scene, window, monkeypatch):
    """A character that renders without its flesh is reported before the first frame."""
    body, _, handlers = window
    texts = []
    monkeypatch.setattr(part("live.rendering"), "show_dialog", lambda title, lines: texts.extend(lines))
    body.vertex_groups.clear()
    body.data.update_tag()
    bpy.context.view_layer.update()
    run_in_thread(lambda: handlers.before_render(scene))
    assert len(texts) == 1 and "“Body” is rendered without its flesh" in texts[0] and "no vertex groups" in texts[0]
    run_in_thread(lambda: handlers.after_render(scene))


def test_render_wait_limited(scene, window, monkeypatch):
    """A render waits for a busy window only for a limited time, and reports it once."""
    body, _, handlers = window
    rendering, texts = part("live.rendering"), []
    monkeypatch.setattr(rendering, "WAIT_LIMIT", 0.0)
    monkeypatch.setattr(rendering, "SHORT_WAIT_LIMIT", 0.0)
    monkeypatch.setattr(rendering, "show_dialog", lambda title, lines: texts.extend(lines))
    for call in (
        handlers.before_render,
        part("live.playback").before_frame,
        part("live.playback").before_frame,
        handlers.after_render,
    ):
        thread = threading.Thread(target=call, args=(scene,))
        thread.start()
        thread.join()
    rendering.run_pending_calls()
    assert len(texts) == 1 and "window was busy" in texts[0]
    assert np.isfinite(play(body, FRAMES)).all()


# rigs -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def rigged_character(window):
    """Builds the same with a rig, settled down again."""
    body, armature, handlers = window
    assert bpy.ops.thew.rig_add(bone="Spine") == {"FINISHED"}
    tick()
    return body, armature, handlers, body.thew.rigs[0]


def test_rig_updates_by_timer(rigged_character):
    """A changed rig shows in motion after one update."""
    body, _, _, rig = rigged_character
    before = evaluated_positions(body)
    rig.control = 0.3
    np.testing.assert_array_equal(evaluated_positions(body), before)
    tick()
    after = evaluated_positions(body)
    assert np.abs(after - before).max() > 1e-3
    rig.enabled = False
    tick()
    assert np.abs(evaluated_positions(body) - after).max() > 1e-4
    assert not part("live.updates").state.waiting


def test_rig_sliders_immediate_in_preview(rigged_character):
    """The sliders of a rig show at once in the rest pose preview."""
    body, _, _, rig = rigged_character
    body.thew.settled = True
    tick()
    before = evaluated_positions(body)
    rig.strength *= 2.0
    at_once = evaluated_positions(body)
    assert np.abs(at_once - before).max() > 1e-3
    tick()
    np.testing.assert_array_equal(evaluated_positions(body), at_once)
    assert flesh_of(body).condition.clip.name == "BEHIND"
    body.thew.settled = False
    tick()
    assert flesh_of(body).condition.clip.name == "CURRENT"
    moving = evaluated_positions(body)
    play(body, (9, 4))
    np.testing.assert_array_equal(evaluated_positions(body), moving)


def test_control_curve_edit_updates(scene, rigged_character):
    """An edited curve of a control shows after one update."""
    body, _, _, rig = rigged_character
    for frame, control in ((1, 0.0), (4, 1.0)):
        rig.control = control
        rig.keyframe_insert("control", frame=frame)
    bpy.context.view_layer.update()
    tick()
    scene.frame_set(4)
    before = evaluated_positions(body)
    (curve,) = part("scene.animation").curves_in(body.animation_data)
    curve.keyframe_points[1].interpolation = "CONSTANT"
    curve.keyframe_points[1].co.y = 0.2
    body.update_tag()
    bpy.context.view_layer.update()
    assert part("live.updates").state.waiting
    tick()
    assert np.abs(evaluated_positions(body) - before).max() > 1e-3
    assert flesh_of(body).motion.controls[3, 0] == pytest.approx(0.2)


def test_driven_rig_follows_pose(rigged_character):
    """A driven rig and its sliders follow the pose."""
    body, armature, _, rig = rigged_character
    assert bpy.ops.thew.rig_driver(bone="Head", axis="X", from_angle=0.0, to_angle=1.0) == {"FINISHED"}
    tick()
    full = rig.samples[1].sliders.strength
    head = armature.pose.bones["Head"]
    head.rotation_mode = "XYZ"
    shapes = []
    for angle in (0.01, 0.5, 1.0):
        head.rotation_euler.x = angle
        bpy.context.view_layer.update()
        assert rig.control == pytest.approx(angle, abs=1e-4)
        assert rig.strength == pytest.approx(angle * full, rel=1e-3)
        shapes.append(evaluated_positions(body))
    assert not rig.draft and [s.control for s in rig.samples] == [0.0, 1.0]
    rig.strength = 0.5 * full  # at a sample: it follows
    assert rig.samples[1].sliders.strength == pytest.approx(0.5 * full)


def test_playback_with_rig_edits_nothing(rigged_character, monkeypatch):
    """Playback with a keyed rig edits nothing and requests no update."""
    body, _, _, rig = rigged_character
    for frame, control in ((1, 0.0), (18, 1.0)):
        rig.control = control
        rig.keyframe_insert("control", frame=frame)
    bpy.context.view_layer.update()
    tick()
    play(body, FRAMES)
    bpy.context.view_layer.update()
    tick()
    told = []
    part("saved.rigs").on_rig.append(told.append)
    try:
        for settled in (False, True):
            body.thew.settled = settled
            tick()
            play(body, FRAMES)
            bpy.context.view_layer.update()
            assert not part("live.updates").state.waiting and not told
        monkeypatch.setattr(part("scene.windows"), "is_playing", lambda: True)
        sliders = part("saved.samples").slider_values(rig)
        play(body, FRAMES)
        assert part("saved.samples").slider_values(rig) == sliders  # they stand still while it plays
    finally:
        part("saved.rigs").on_rig.remove(told.append)
    assert [s.control for s in rig.samples] == [0.0, 1.0] and not told


def test_render_shows_motion_in_preview(scene, rigged_character):
    """A render shows the motion while the view shows the rest pose preview."""
    body, _, handlers, _rig = rigged_character
    moving = play(body, (4, 9))
    body.thew.settled = True
    tick()
    still = play(body, (4, 9))
    assert np.abs(still - moving).max() > 1e-4
    scene.render.use_lock_interface = True
    handlers.before_render(scene)
    try:
        np.testing.assert_array_equal(play(body, (4, 9)), moving)
    finally:
        handlers.after_render(scene)
    np.testing.assert_array_equal(play(body, (4, 9)), still)


def test_unregister_leaves_nothing(window):
    """Switching the extension off leaves no handlers, timers or classes, and the flesh returns with it."""
    body, _, handlers = window
    body.thew.softness = 0.2
    package = part("cli").__package__
    import sys

    sys.modules[package].unregister()
    try:
        for name in handlers.HANDLERS:
            calls = getattr(bpy.app.handlers, name)
            assert not [call for call in calls if call.__module__.startswith(package)], name
        assert not bpy.app.timers.is_registered(part("live.updates").tick)
        assert not hasattr(bpy.types.Object, "thew")
        assert not hasattr(bpy.types, "THEW_OT_add") and not hasattr(bpy.types, "THEW_PT_sidebar")
        assert not hasattr(bpy.types, "THEW_PT_rigs_sidebar") and not part("saved.rigs").on_rig
        play(bpy.data.objects["Body"], (3, 9))
    finally:
        sys.modules[package].register()
    assert bpy.data.objects["Body"].thew.made.flesh
    assert np.isfinite(play(bpy.data.objects["Body"], (3, 9))).all()
