# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens by itself in a window, without one: the timer is ticked by hand."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from helpers import activate, animate, evaluated_positions, flesh_of, part, play, size_of, skinned_shape
from ticking import FRAMES, tick


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


def test_edit_mode_of_armature_reads_nothing(scene, window):
    """No pose is read while the armature is edited, whatever is set; after it the flesh moves with what was set."""
    body, rig, _ = window
    scene.frame_set(4)
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    body.thew.softness = 0.7
    bpy.context.view_layer.update()
    scene.frame_set(5)
    tick()
    assert not flesh_of(body).problem or "is in edit mode" in flesh_of(body).problem
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    scene.frame_set(6)
    tick()
    assert not flesh_of(body).problem
    assert flesh_of(body).build_settings.softness == pytest.approx(0.7)
    motion = flesh_of(body).motion
    assert np.abs(np.diff(motion.raw, axis=0)).max() > 1e-3


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


def test_line_is_drawn_at_the_end(window, monkeypatch):
    """The timeline is drawn once more when nothing is under way: its line is not left faint."""
    body, _, _ = window
    drawn, marks, updates = [], part("ui.ready_frames"), part("live.updates")
    monkeypatch.setattr(part("scene.windows"), "redraw", lambda: drawn.append(marks.spans(body)))
    body.thew.softness = 0.2
    assert updates.tick() is not None
    body.thew.softness = 0.2  # as Blender sets it again when the mouse lets go
    while updates.tick() is not None:
        bpy.context.view_layer.update()  # as a window does between two steps
        if updates.state.stepper is not None and updates.state.stepper.waiting:
            updates.state.stepper._thread.join(0.1)
    assert drawn[-1] == marks.spans(body)
