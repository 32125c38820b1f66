# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate in a window: the panel stays at hand while it runs. There is no window: events and the timer are handed on by hand."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from helpers import animate, flesh_of, part, play
from test_rig_tool_events import event, tool
from ticking import FRAMES, tick


class Manager:
    """Counts the timers and handlers of an operator."""

    def __init__(self):
        self.timers, self.handlers = 0, 0

    def event_timer_add(self, *_, **__):
        self.timers += 1

    def event_timer_remove(self, _timer):
        self.timers -= 1

    def modal_handler_add(self, _operator):
        self.handlers += 1


class Hold:
    """Holds the next native simulation where it begins, until it is cancelled or `release` is called."""

    def __init__(self, monkeypatch):
        self.armed, self.released = False, threading.Event()
        words = part("live.progress_words")
        make = words.callback

        def callback(*given):
            report = make(*given)
            if not self.armed:
                return report
            self.armed = False

            def wait(at, stage):
                while goes_on := report(at, stage):
                    if self.released.wait(1e-3):
                        break
                return goes_on

            return wait

        monkeypatch.setattr(words, "callback", callback)

    def release(self):
        self.released.set()


@pytest.fixture
def hold(monkeypatch):
    """Returns what holds a simulation, so that it is under way for as long as a test needs."""
    made = Hold(monkeypatch)
    yield made
    made.release()


@pytest.fixture
def press(window, hold):
    """Returns a function that presses Simulate; it returns the operator, whose `hand` gives it an event."""
    body, rig, _ = window
    pressed = []

    def now(**frames):
        job, manager = tool("simulate", "THEW_OT_simulate", **frames), Manager()
        context = SimpleNamespace(
            scene=bpy.context.scene,
            view_layer=bpy.context.view_layer,
            window_manager=manager,
            window=object(),
            screen=SimpleNamespace(is_animation_playing=False),
            workspace=SimpleNamespace(status_text_set=lambda _text: None),
        )
        job.answer = job.invoke(context, event("RET"))
        job.hand = lambda kind="TIMER", value="NOTHING": job.modal(context, event(kind, value))
        job.manager = manager
        pressed.append(job)
        return job

    now.body, now.rig, now.hold = body, rig, hold
    body.thew.tremble = 0.5  # so that there is something to simulate
    updates().stop_update()
    yield now
    for job in pressed:
        assert job.manager.timers == 0, "a timer is left"
    assert not part("live.turns").state.requests and part("live.turns").state.request is None


def updates():
    return part("live.updates")


def run_until_simulating(press) -> None:
    """Ticks until the native simulation is under way, where it is held."""
    press.hold.armed = True
    for _ in range(10_000):
        updates().tick()
        stepper = updates().state.stepper
        if stepper is not None and stepper.waiting and not press.hold.armed:
            return
    raise AssertionError("nothing is simulated")


def test_simulate_passes_events(press):
    """While it runs every event but Esc is passed on, and the handlers of edits are awake; then it reports what moves."""
    job = press()
    assert job.answer == {"RUNNING_MODAL"} and job.manager.handlers == 1
    run_until_simulating(press)
    for kind in ("LEFTMOUSE", "Z", "TAB", "MOUSEMOVE", "G", "SPACE", "TIMER"):
        assert job.hand(kind, "PRESS") == {"PASS_THROUGH"}
    assert not part("scene.poses").silence_depth
    assert not bpy.ops.thew.simulate.poll() and bpy.ops.thew.bake.poll()
    press.hold.release()
    tick()
    assert job.hand() == {"FINISHED"}
    assert job.reported == [({"INFO"}, "“Body” moves from frame 1 to 20.")]
    assert bpy.ops.thew.simulate.poll()


def test_simulate_reads_anew(press):
    """The animation is read again, and the flesh is that of a script's Simulate."""
    animate(press.rig, bend=-0.3)
    job = press()
    tick()
    assert job.hand() == {"FINISHED"}
    shown = play(press.body, FRAMES)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(press.body, FRAMES), shown)


def test_simulate_takes_range(press):
    """Frames that are given become the object's own; without them those of the scene stay in force."""
    job = press(frame_start=3, frame_end=9)
    tick()
    assert job.hand() == {"FINISHED"} and press.body.thew.frames(bpy.context.scene) == (3, 9)
    assert not press.body.thew.use_scene_range
    press.body.thew.use_scene_range = True
    job = press()
    bpy.context.scene.frame_end = 15  # edited while it runs
    tick()
    assert job.hand() == {"FINISHED"} and press.body.thew.use_scene_range and flesh_of(press.body).clip_end == 15


@pytest.mark.parametrize(("name", "value"), [("softness", 0.2), ("cells_across", 7), ("motion_start", "CYCLE")])
def test_simulate_setting_restarts(press, name, value):
    """A setting that is edited while it runs starts it again: the flesh is that of the new setting."""
    job = press()
    run_until_simulating(press)
    first = updates().state.stepper
    setattr(press.body.thew, name, value)
    tick()
    assert first.done and first.result is None, "the former one went on to its end"
    assert job.hand() == {"FINISHED"} and not updates().state.waiting
    shown = play(press.body, FRAMES)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(press.body, FRAMES), shown)


def test_simulate_cancelled_unchanged(press):
    """The message says that nothing was changed where no setting was edited."""
    press.body.thew.tremble = flesh_of(press.body).build_settings.tremble
    job = press()
    assert job.hand("ESC", "PRESS") == {"RUNNING_MODAL"} and job.hand() == {"CANCELLED"}
    assert job.reported[-1][1] == "Cancelled: nothing was changed."


#: Sentence of a cancelled Simulate after an edit of settings.
FORMER = "Cancelled: the motion in view is of the former settings. Play, or press Simulate."


@pytest.mark.parametrize("how", ["esc", "button"])
@pytest.mark.parametrize("early", [True, False])
def test_simulate_cancelled(press, how, early):
    """Esc and the button beside the bar cancel it at any time: the former flesh stays in view."""
    before = play(press.body, FRAMES)
    job = press()
    if not early:
        run_until_simulating(press)
    if how == "esc":
        assert job.hand("ESC", "PRESS") == {"RUNNING_MODAL"}
    else:
        assert bpy.ops.thew.simulate_stop() == {"FINISHED"}
    tick()
    assert job.hand() == {"CANCELLED"} and job.reported[-1][1] == FORMER
    assert not updates().state.waiting and not updates().state.displayed_parts
    np.testing.assert_array_equal(play(press.body, FRAMES), before)


@pytest.mark.parametrize(("name", "value"), [("softness", 0.9), ("cells_across", 7)])
def test_simulate_cancelled_after_edit(press, name, value):
    """A setting that was edited while it ran stays, and nothing claims that the former motion is that of it, until it plays."""
    body, scene = press.body, bpy.context.scene
    marks, state = part("ui.ready_frames"), part("ui.health_rows")
    before = play(body, FRAMES)
    job = press()
    run_until_simulating(press)
    setattr(body.thew, name, value)
    assert bpy.ops.thew.simulate_stop() == {"FINISHED"}
    tick()
    assert job.hand() == {"CANCELLED"}
    assert job.reported[-1][1] == FORMER
    assert getattr(body.thew, name) == pytest.approx(value)
    assert state.health_of(body, scene.frame_current).text == part("logic.health").EDITED_TEXT
    assert [each.colour for each in marks.spans(body)] == [marks.FORMER_COLOUR]
    np.testing.assert_array_equal(play(body, FRAMES), before)  # a frame that is looked up begins the update
    tick()
    assert state.health_of(body, scene.frame_current).text.startswith("Moves")
    assert [each.colour for each in marks.spans(body)] == [marks.READY_COLOUR]


@pytest.mark.parametrize("how", ["edit", "play", "button"])
def test_update_after_an_edit_has_stop(press, how):
    """The bar of an update after an edit has the same button: the former motion stays in view until the next edit, or until it plays."""
    from helpers import Layout

    body, scene, rows = press.body, bpy.context.scene, part("ui.health_rows")
    before = play(body, FRAMES)
    updates().stop_update()
    body.thew.softness = 0.9
    run_until_simulating(press)
    layout = Layout()
    assert rows.draw_progress(layout) and ("operator", "thew.simulate_stop", "") in layout.seen
    assert bpy.ops.thew.simulate_stop() == {"FINISHED"}
    tick()
    assert updates().state.stepper is None and not updates().state.waiting and flesh_of(body).arriving is None
    assert rows.health_of(body, scene.frame_current).text == part("logic.health").EDITED_TEXT
    press.hold.release()
    if how == "play":
        np.testing.assert_array_equal(play(body, FRAMES), before)
    elif how == "edit":
        body.thew.settling = 1.5
    else:
        job = press()
    tick()
    assert how != "button" or job.hand() == {"FINISHED"}
    assert rows.health_of(body, scene.frame_current).text.startswith("Moves")
    assert flesh_of(body).build_settings.softness == pytest.approx(0.9)
    assert np.abs(play(body, FRAMES) - before).max() > 1e-3


def test_simulate_survives_undo(press):
    """Undo drops what is under way before Blender's data are replaced; the simulation then runs with what undo brought back."""
    bpy.ops.ed.undo_push(message="before")
    press.body.thew.softness = 0.2
    bpy.ops.ed.undo_push(message="softer")
    job = press()
    run_until_simulating(press)
    first = updates().state.stepper
    assert bpy.ops.ed.undo() == {"FINISHED"}
    assert first.done and updates().state.stepper is None
    assert job.hand() == {"PASS_THROUGH"}, "it waits for its next turn"
    tick()
    assert job.hand() == {"FINISHED"}
    body = bpy.data.objects["Body"]
    assert flesh_of(body).build_settings.softness == pytest.approx(body.thew.softness) != pytest.approx(0.2)
    assert np.isfinite(play(body, (3, 9))).all()


@pytest.mark.parametrize("gone", ["mesh", "armature", "undone"])
@pytest.mark.parametrize("early", [True, False])
def test_simulate_without_its_object(press, gone, early):
    """The mesh or its armature may be deleted while it runs, by hand or by undo."""
    job = press()
    if not early:
        run_until_simulating(press)
    if gone == "undone":
        updates().pause_updates()  # as before undo
        bpy.data.objects.remove(press.body)
        part("live.handlers").after_undo()
    else:
        running = updates().state.stepper
        bpy.data.objects.remove({"mesh": press.body, "armature": press.rig}[gone])
        updates().tick()
        assert early or gone != "mesh" or running._cancelled, "nobody waits for it"
    press.hold.release()
    tick()
    assert job.hand() == {"CANCELLED"}
    assert "unforeseen" not in str(job.reported)
    assert not part("live.turns").state.requests, "Simulate would stay grey"
    bpy.context.scene.frame_set(5)


def test_simulate_in_another_scene(press):
    """A press whose turn comes when the window shows another scene ends, says so, and leaves the button as it was."""
    window, here = bpy.context.window_manager.windows[0], bpy.context.scene
    job, other = press(), bpy.data.scenes.new("Other")
    window.scene = other
    try:
        tick()
        assert job.hand() == {"CANCELLED"} and "something else began" in job.reported[-1][1]
    finally:
        window.scene = here
        bpy.data.scenes.remove(other)
    assert bpy.ops.thew.simulate.poll()
    job = press()
    tick()
    assert job.hand() == {"FINISHED"}


@pytest.mark.parametrize("kind", ["refused", "unforeseen"])
@pytest.mark.parametrize("early", [True, False])
def test_simulate_reports_failed_turn(press, monkeypatch, kind, early):
    """The operator reports an error that keeps its turn from beginning or going on, and the button is free again."""
    error = part("logic.errors").Refusal("Mend the settings") if kind == "refused" else ZeroDivisionError("a bug")

    def fail(*_):
        raise error

    job = press()
    if early:
        monkeypatch.setattr(part("live.turns"), "update_inputs", fail)
    else:
        run_until_simulating(press)
        monkeypatch.setattr(part("live.turns"), "is_superseded", fail)
    tick()
    monkeypatch.undo()
    assert job.hand() == {"CANCELLED"} and str(error) in job.reported[-1][1]
    assert ("unforeseen" in job.reported[-1][1]) == (kind == "unforeseen")
    assert updates().state.stepper is None and bpy.ops.thew.simulate.poll()


def test_simulate_fills_redo_panel(press):
    """The properties of the press that were left alone are the frames that were simulated, as the redo panel shows them."""
    job = press(frame_start=4)
    tick()
    assert job.hand() == {"FINISHED"}
    assert (job.frame_start, job.frame_end) == (4, 20)


@pytest.mark.parametrize("early", [True, False])
def test_simulate_without_its_view_layer(press, monkeypatch, early):
    """The view layer that is read may be removed while it runs: the simulation begins again with the one that is left."""
    monkeypatch.setattr(part("scene.poses"), "SLICE_TIME", 0.0)  # one frame a slice
    monkeypatch.setattr(updates(), "YOUNG_TIME", 0.0)  # and one slice a tick
    scene, window = bpy.context.scene, bpy.context.window_manager.windows[0]
    first, other = window.view_layer, scene.view_layers.new("Other")
    window.view_layer = other
    assert bpy.context.view_layer == other
    bpy.context.view_layer.objects.active = press.body
    job = press()
    if early:
        updates().tick()
        while not updates().state.stepper.text.startswith("Reading frame"):
            updates().tick()
    else:
        run_until_simulating(press)
    window.view_layer = first
    scene.view_layers.remove(other)
    tick()
    assert job.hand() == {"FINISHED"} and bpy.context.view_layer == first
    assert np.isfinite(play(press.body, (3, 9))).all()


@pytest.mark.parametrize("gone", ["layer", "file"])
def test_queue_keeps_no_dangling_reference(press, gone):
    """The kept place of an update can be looked at, and printed, after Blender has freed it."""
    scene, window = bpy.context.scene, bpy.context.window_manager.windows[0]
    first, other = window.view_layer, scene.view_layers.new("Other")
    window.view_layer = other
    bpy.context.view_layer.objects.active = press.body
    job = press()
    run_until_simulating(press)
    turns = part("live.turns")
    assert not turns.place_is_gone()
    window.view_layer = first
    if gone == "layer":
        scene.view_layers.remove(other)
        assert turns.place_is_gone()
    else:
        job.cancel(None)
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False, load_ui=False)
    assert not any(isinstance(each, bpy.types.bpy_struct) for each in turns.state.place)
    assert "Other" not in repr(turns.state)
    tick()
    assert gone == "file" or job.hand() == {"FINISHED"}


def test_simulate_makes_room(press):
    """Another job, a render or a new file ends it, and it says so."""
    job = press()
    run_until_simulating(press)
    updates().stop_update()
    assert job.hand() == {"CANCELLED"} and "something else began" in job.reported[-1][1]
    job = press()
    run_until_simulating(press)
    job.cancel(None)  # Blender does so before it reads another file
    assert job.manager.timers == 0
    tick()


def test_simulate_outlasts_a_quick_edit(press):
    """A button that edits the character at once, a refused one too, begins it again with what is set then."""
    job = press()
    run_until_simulating(press)
    assert bpy.ops.thew.flesh_automatic() == {"FINISHED"}
    assert job.hand() == {"PASS_THROUGH"} and part("live.turns").state.stepper is None
    with pytest.raises(RuntimeError, match="no pin"):
        bpy.ops.thew.pin_remove()
    press.hold.release()
    tick()
    assert job.hand() == {"FINISHED"} and "moves from frame 1 to 20" in job.reported[-1][1]
    shown = play(press.body, FRAMES)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(press.body, FRAMES), shown)


def test_simulate_ends_with_the_flesh(press):
    """Flesh that is removed while it runs takes it along."""
    job = press()
    run_until_simulating(press)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert job.hand() == {"CANCELLED"} and "its object is gone" in job.reported[-1][1]


def test_simulate_ends_when_a_bake_plays(press):
    """A bake that the artist lets play while it runs goes on playing."""
    assert bpy.ops.thew.bake() == {"FINISHED"} and bpy.ops.thew.show_live() == {"FINISHED"}
    press.body.thew.tremble = 0.6
    job = press()
    run_until_simulating(press)
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    tick()
    assert job.hand() == {"CANCELLED"} and press.body.thew.made.shows_bake


def test_simulate_in_edit_mode(press):
    """Edit mode of the mesh, entered while it runs, is refused or waited for, and nothing is lost."""
    job = press()
    run_until_simulating(press)
    bpy.context.view_layer.objects.active = press.body
    bpy.ops.object.mode_set(mode="EDIT")
    press.hold.release()
    tick()
    assert job.hand() == {"CANCELLED"} and "is in edit mode" in job.reported[-1][1]
    bpy.ops.object.mode_set(mode="OBJECT")
    tick()
    assert np.isfinite(play(press.body, (3, 9))).all()


def test_simulate_refused(press):
    """A refusal is said and changes nothing: at once where it can be told, else at its turn."""
    before, notes = play(press.body, FRAMES), press.body.thew.made.notes
    job = press(frame_start=9, frame_end=3)
    assert job.answer == {"CANCELLED"} and "is empty" in job.reported[-1][1]
    press.body.thew.made.flesh = False
    job = press()
    assert job.answer == {"CANCELLED"} and "has no flesh" in job.reported[-1][1]
    press.body.thew.made.flesh = True
    job = press()
    press.rig.scale = (0.0, 0.0, 0.0)
    tick()
    assert job.hand() == {"CANCELLED"} and "is scaled to zero" in job.reported[-1][1]
    press.rig.scale = (1.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    tick()
    assert press.body.thew.made.notes == notes
    np.testing.assert_array_equal(play(press.body, FRAMES), before)


def test_simulate_bar_has_stop(press):
    """The panel's bar has a button that cancels, and settings are not greyed out. A job that takes every click greys them out, and
    the bar names Esc."""
    from helpers import Layout

    rows, job = part("ui.health_rows"), press()
    run_until_simulating(press)
    layout = Layout()
    rows.draw_progress(layout)
    assert not next(call for call in layout.seen if call[0] == "progress")[-1].endswith("(Esc cancels)")
    assert ("operator", "thew.simulate_stop", "") in layout.seen
    assert part("ui.panel_places").idle_part(Greyed()).enabled
    bpy.ops.thew.simulate_stop()
    tick()
    assert job.hand() == {"CANCELLED"}
    work, stepper = part("live.work"), part("logic.tasks").Stepper(iter(()))
    work.running_steppers.append(stepper)
    try:
        assert not part("ui.panel_places").idle_part(Greyed()).enabled
        layout = Layout()
        rows.draw_progress(layout)
    finally:
        work.running_steppers.remove(stepper)
    assert next(call for call in layout.seen if call[0] == "progress")[-1].endswith("(Esc cancels)")
    assert not any("simulate_stop" in call for call in layout.seen)


@pytest.mark.parametrize("broken", ["event_timer_add", "modal_handler_add"])
def test_simulate_failure_releases(press, monkeypatch, broken):
    """A failure while it begins leaves no timer, and nothing that waits."""

    def explode(*_args, **_options):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(Manager, broken, explode)
    job = press()
    assert job.answer == {"CANCELLED"} and "a bug" in job.reported[-1][1]
    assert not updates().state.requests and not updates().state.waiting


class Greyed:
    """Stands in for a layout, and remembers whether it is enabled."""

    enabled = True

    def column(self):
        return Greyed()
