# SPDX-License-Identifier: GPL-3.0-or-later
"""Drag Flesh: the operator is handed the events that a window would hand it, and real time by the test."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import (
    activate,
    add_modal,
    evaluated_positions,
    flesh_of,
    make_character,
    part,
    play,
    refusal,
    size_of,
    world,
)
from test_rig_tool_events import BELLY, BESIDE, Hand, View, event, tool

LOOK = 1.0 / 60.0


@pytest.fixture
def hand(scene, monkeypatch):
    """Builds a character with modal flesh at frame 6, and a hand over it."""
    body, rig = make_character()
    add_modal()
    play(body, (1, 6))
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    made = Hand(monkeypatch)
    made.body, made.rig, made.texts, made.handlers = body, rig, [], handler_counts()
    yield made
    assert (made.timers, made.drawn, part("scene.poses").silence_depth) == (0, 0, 0)  # nothing of the tool is left
    assert handler_counts() == made.handlers
    stop()


def stop() -> None:
    updates = part("live.updates")
    updates.stop_update()
    if bpy.app.timers.is_registered(updates.tick):
        bpy.app.timers.unregister(updates.tick)


def handler_counts() -> list[int]:
    return [
        len(getattr(bpy.app.handlers, name)) for name in ("undo_pre", "redo_pre", "load_pre", "depsgraph_update_post")
    ]


class Drag:
    """Holds the operator in the hand, and a clock of its own."""

    def __init__(self, hand, **held):
        self.hand, self.seconds = hand, 0.0
        self.tool, self.context = tool("drag", "THEW_OT_modal_drag"), hand.context()
        self.context.workspace.status_text_set = hand.texts.append
        self.tool.now = lambda: self.seconds

    def press(self, at, **keys) -> set:
        self.hand.view = View(at)
        if not hasattr(self.tool, "held"):
            return self.tool.invoke(self.context, event("LEFTMOUSE", **keys))
        return self.tool.modal(self.context, event("LEFTMOUSE", **keys))

    def move_to(self, at) -> set:
        self.hand.view = View(at)
        return self.tool.modal(self.context, event("MOUSEMOVE"))

    def pass_by(self, seconds: float) -> set:
        answer = {"RUNNING_MODAL"}
        for _ in range(round(seconds / LOOK)):
            self.seconds += LOOK
            answer = self.tool.modal(self.context, event("TIMER"))
            if answer != {"RUNNING_MODAL"}:
                break
        return answer

    def release(self) -> set:
        return self.tool.modal(self.context, event("LEFTMOUSE", "RELEASE"))

    @property
    def motion(self):
        return self.tool._motion

    @property
    def last_report(self) -> str:
        return self.tool.reported[-1][1] if self.tool.reported else ""


def offsets(body) -> np.ndarray:
    """Returns what the flesh adds to the skin, as the mesh holds it."""
    return np.array([each.vector[:] for each in body.data.attributes["thew_offset"].data])


def settled_offsets(body) -> np.ndarray:
    """Returns what flesh at rest adds to the skin in the present pose."""
    stand = part("edit.posed_character").read(body, bpy.context.scene, bpy.context.view_layer)
    return stand.flesh.settled_at(stand.maps, stand.mesh)


def test_drag_follows_mouse(hand):
    """The picked point follows the mouse, the body follows the point, and it rings when it is released."""
    body = hand.body
    before, start = offsets(body), world(body)
    size = size_of(start)
    drag = Drag(hand)
    assert drag.press(BELLY) == {"RUNNING_MODAL"}
    vertex = drag.motion.held
    np.testing.assert_allclose(drag.motion.world(vertex), start[vertex], atol=1e-4 * size)
    assert np.linalg.norm(start[vertex][[0, 2]] - np.array(BELLY)[[0, 2]]) < 0.1 * size
    grabbed = start[vertex].copy()
    for k in range(12):
        there = grabbed + (k + 1) / 12 * np.array([0.05, 0.0, 0.06]) * size
        assert drag.move_to(there) == {"RUNNING_MODAL"}
        assert drag.pass_by(2 * LOOK) == {"RUNNING_MODAL"}
    drag.pass_by(0.6)
    seen = world(body)
    dragged = there.copy()
    dragged[1] = seen[vertex][1]
    assert np.linalg.norm(seen[vertex][[0, 2]] - there[[0, 2]]) < 0.02 * size
    moved = np.linalg.norm(seen - start, axis=1)
    assert (moved > 0.01 * size).sum() > 20 and np.isfinite(seen).all()  # the body follows
    assert moved.max() < 0.6 * size
    assert "release lets go" in hand.texts[-1]
    drag.release()
    assert drag.motion.held == -1
    rest = settled_offsets(body)
    answer, ring = {"RUNNING_MODAL"}, []
    for _ in range(60 * 30):
        answer = drag.pass_by(LOOK)
        if answer != {"RUNNING_MODAL"}:
            break
        ring.append(offsets(body) - rest)
    assert answer == {"FINISHED"}
    assert np.abs(ring[0]).max() > 0.03 * size and np.abs(ring[-1]).max() < 2e-3 * size
    assert hand.texts[-1] is None
    np.testing.assert_array_equal(offsets(body), before)


@pytest.mark.parametrize("how", ["ESC", "RIGHTMOUSE"])
@pytest.mark.parametrize("what", ["clip", "settled", "plain"])
def test_drag_cancel(hand, how, what):
    """A drag that is cancelled restores the former shape exactly."""
    body = hand.body
    if what == "settled":
        assert bpy.ops.thew.settle() == {"FINISHED"}
    elif what == "plain":
        body.thew.enabled = False
        body.thew.enabled = True
        part("live.session").hide(body, flesh_of(body))
    attributes = {a.name for a in body.data.attributes}
    kept = offsets(body) if "thew_offset" in attributes else None
    start = evaluated_positions(body)
    drag = Drag(hand)
    drag.press(BELLY)
    drag.move_to(np.array(BELLY) + (0.2, 0.0, 0.1))
    drag.pass_by(0.3)
    assert not np.allclose(evaluated_positions(body), start, atol=1e-3)
    assert drag.tool.modal(drag.context, event(how)) == {"CANCELLED"}
    assert {a.name for a in body.data.attributes} == attributes
    if kept is not None:
        np.testing.assert_array_equal(offsets(body), kept)
    np.testing.assert_array_equal(evaluated_positions(body), start)
    assert hand.texts[-1] is None


def test_drag_begins_smoothly(hand):
    """At the start of a drag nothing jumps, whatever sway the frame has."""
    body = hand.body
    before = offsets(body)
    drag = Drag(hand)
    drag.press(BELLY)
    drag.pass_by(LOOK)
    assert np.abs(offsets(body) - before).max() < 0.2 * np.abs(before - settled_offsets(body)).max() + 1e-6
    drag.release()
    drag.tool.modal(drag.context, event("ESC"))


@pytest.mark.parametrize("turns", [2.0, 6.0])
def test_drag_fast_circles(hand, turns):
    """Flesh that is swung round fast does not fly off."""
    body = hand.body
    start = world(body)
    size = size_of(start)
    drag = Drag(hand)
    drag.press(BELLY)
    grabbed = start[drag.motion.held].copy()
    for k in range(120):
        angle = 2.0 * np.pi * turns * k / 60.0
        drag.move_to(grabbed + 0.12 * size * np.array([np.cos(angle) - 1.0, 0.0, np.sin(angle)]))
        drag.pass_by(LOOK)
        assert np.linalg.norm(world(body) - start, axis=1).max() < 1.2 * size
    drag.release()
    assert drag.pass_by(30.0) == {"FINISHED"}


def test_drag_slow_machine(hand):
    """A slow machine takes a bounded number of steps for each redraw."""
    drag = Drag(hand)
    drag.press(BELLY)
    taken = []
    advance = drag.motion.drag.advance
    drag.motion.drag.advance = lambda steps: (taken.append(steps), advance(steps))
    for pause in (0.016, 0.5, 30.0, 0.016):
        drag.seconds += pause
        drag.tool.modal(drag.context, event("TIMER"))
    assert max(taken) <= part("logic.drag").MAX_STEPS and len(taken) == 4
    drag.tool.modal(drag.context, event("ESC"))


def test_drag_shift_pins(hand):
    """Shift pins points, which stay while another is dragged, and a release lets all go."""
    body = hand.body
    size = size_of(world(body))
    drag = Drag(hand)
    assert drag.press((-0.05, 0.0, 1.0), shift=True) == {"RUNNING_MODAL"}
    (pin,) = drag.motion.pins
    assert drag.motion.held == -1 and len(drag.tool.marks()[0][0]) == 1
    drag.release()
    drag.pass_by(0.5)
    assert drag.motion.pins == [pin] and "1 point held" in hand.texts[-1]
    pinned = world(body)[pin].copy()
    drag.press(BELLY)
    grabbed = world(body)[drag.motion.held].copy()
    assert drag.motion.held != pin and len(drag.tool.marks()) == 3
    for k in range(20):
        drag.move_to(grabbed + (k + 1) / 20 * np.array([0.04, 0.0, 0.0]) * size)
        drag.pass_by(2 * LOOK)
    drag.pass_by(0.5)
    assert np.linalg.norm(world(body)[pin] - pinned) < 0.02 * size
    drag.release()
    assert not drag.motion.pins and not drag.motion.drag.grips
    assert drag.pass_by(30.0) == {"FINISHED"}


def test_drag_out_of_reach(hand):
    """The status line says in the scene's unit how far the point stays short of the mouse."""
    body = hand.body
    start = world(body)
    drag = Drag(hand)
    drag.press(BELLY)
    drag.move_to(start[drag.motion.held] + (5.0, 0.0, 0.0))
    drag.pass_by(0.5)
    said = hand.texts[-1]
    assert " m short of the mouse" in said
    assert np.linalg.norm(world(body) - start, axis=1).max() < 3.0 * size_of(start)
    drag.release()
    drag.pass_by(LOOK)
    assert "short of the mouse" not in hand.texts[-1]
    assert drag.tool.modal(drag.context, event("RET")) == {"FINISHED"}


def test_drag_beside_body(hand):
    """A press beside the body takes nothing."""
    before = offsets(hand.body)
    drag = Drag(hand)
    assert drag.press(BESIDE) == {"CANCELLED"}
    assert "no skin" in drag.last_report
    np.testing.assert_array_equal(offsets(hand.body), before)


def test_drag_waits_for_press(hand):
    """The operator that a button starts waits for a press, and lets other events pass."""
    drag = Drag(hand)
    hand.view = None
    assert drag.tool.invoke(drag.context, event("MOUSEMOVE")) == {"RUNNING_MODAL"}
    before = offsets(hand.body)
    drag.pass_by(0.3)
    np.testing.assert_array_equal(offsets(hand.body), before)
    assert drag.tool.modal(drag.context, event("MIDDLEMOUSE")) == {"PASS_THROUGH"}
    assert drag.press(BELLY) == {"RUNNING_MODAL"} and drag.motion.held >= 0
    assert drag.tool.modal(drag.context, event("ESC")) == {"CANCELLED"}


# what cannot be dragged, or not any more ------------------------------------------------------------------------------


def test_drag_refuses_method(hand):
    """Other methods and missing modes are refused."""
    body = hand.body
    body.thew.method = "hyperelastic"
    drag = Drag(hand)
    assert drag.press(BELLY) == {"CANCELLED"} and "method Modal" in drag.last_report and "“Body”" in drag.last_report
    body.thew.method = "modal"
    flesh_of(body).modes = None
    drag = Drag(hand)
    assert drag.press(BELLY) == {"CANCELLED"} and "press Simulate" in drag.last_report


def test_drag_refuses_no_flesh(hand):
    """A mesh without flesh is refused."""
    mesh = bpy.data.meshes.new("Stone")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    stone = bpy.data.objects.new("Stone", mesh)
    bpy.context.scene.collection.objects.link(stone)
    activate(stone)
    drag = Drag(hand)
    assert drag.press(BELLY) == {"CANCELLED"} and "no flesh" in drag.last_report


def test_drag_from_script(hand):
    """A call from a script is refused by a sentence that says what to do."""
    assert "with the mouse" in refusal(bpy.ops.thew.modal_drag)


def lose_target(hand, what) -> None:
    body = hand.body
    if what == "deleted":
        bpy.data.objects.remove(body)
    elif what == "unlinked":
        bpy.context.scene.collection.objects.unlink(body)
    elif what == "undone":
        for call in list(bpy.app.handlers.undo_pre):
            call(bpy.context.scene)
    elif what == "edited":
        activate(body)
        assert bpy.ops.object.mode_set(mode="EDIT") == {"FINISHED"}
    elif what == "posed":
        hand.rig.pose.bones["Spine"].rotation_mode = "XYZ"
        hand.rig.pose.bones["Spine"].rotation_euler.x += 0.3
        bpy.context.view_layer.update()
    elif what == "frame":
        bpy.context.scene.frame_set(9)
    elif what == "removed":
        assert part("live.jobs").remove(body) is not None
    elif what == "cut":
        mesh = bpy.data.meshes.new("Other")
        mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
        body.data = mesh


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("deleted", "deleted"),
        ("unlinked", "not in the scene"),
        ("undone", "undone"),
        ("edited", "being edited"),
        ("posed", "pose has changed"),
        ("frame", "another frame"),
        ("removed", "rebuilt"),
        ("cut", "mesh has changed"),
    ],
)
@pytest.mark.parametrize("kind", ["TIMER", "MOUSEMOVE", "ESC"])
def test_drag_target_gone(hand, what, said, kind):
    """A drag ends cleanly, with the reason, when its object or its pose is gone."""
    drag = Drag(hand)
    drag.press(BELLY)
    drag.move_to(np.array(BELLY) + (0.1, 0.0, 0.1))
    drag.pass_by(0.2)
    lose_target(hand, what)
    assert drag.tool.modal(drag.context, event(kind)) == {"CANCELLED"}
    assert (
        said in drag.last_report
        and "“Body”" in drag.last_report
        and drag.last_report.endswith(".")
        and hand.texts[-1] is None
    )
    if what == "edited":
        assert bpy.ops.object.mode_set(mode="OBJECT") == {"FINISHED"}
    if what in {"posed", "frame"}:
        assert np.isfinite(evaluated_positions(hand.body)).all()


def test_drag_transformed(scene, monkeypatch):
    """A scaled and turned character follows the mouse too."""
    body, rig = make_character(scale=3.0)
    for obj in (body, rig):
        obj.rotation_euler = (0.0, 0.0, 0.7)
        obj.location = (4.0, -2.0, 1.0)
    bpy.context.view_layer.update()
    add_modal()
    play(body, (1, 6))
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    hand = Hand(monkeypatch)
    hand.body, hand.texts = body, []
    start = world(body)
    size = size_of(start)
    middle = 0.5 * (start.min(axis=0) + start.max(axis=0))
    drag = Drag(hand)
    drag.press(middle)
    grabbed = start[drag.motion.held].copy()
    for k in range(20):
        drag.move_to(grabbed + (k + 1) / 20 * 0.06 * size * np.array([1.0, 0.0, 0.5]))
        drag.pass_by(2 * LOOK)
    drag.pass_by(0.5)
    there = world(body)[drag.motion.held]
    assert np.linalg.norm((there - grabbed)[[0, 2]] - 0.06 * size * np.array([1.0, 0.5])) < 0.02 * size
    drag.release()
    assert drag.tool.modal(drag.context, event("ESC")) == {"CANCELLED"}
    np.testing.assert_array_equal(world(body), start)
    stop()
