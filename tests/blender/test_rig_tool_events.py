# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools in the hand, without a window: their events are handed to them one by one."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from helpers import evaluated_positions, flesh_of, make_character, part, play, world
from keyframing import make_sack


class View:
    """A 3D view that looks along +Y, with the mouse over a point."""

    def __init__(self, over):
        self.over = np.array(over, dtype=np.float64)

    def ray(self):
        return self.over - (0.0, 10.0, 0.0), np.array([0.0, 1.0, 0.0])

    def point_at_depth(self, point):
        return np.array([self.over[0], point[1], self.over[2]])

    def axes(self):
        return np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])


class Hand:
    """What a window would be to a tool."""

    def __init__(self, monkeypatch):
        self.view, self.timers, self.drawn = None, 0, 0
        hand = self

        class Drawn:
            def __init__(self, lines):
                self.lines, self.there = lines, True
                hand.drawn += 1
                lines()

            def end(self):
                hand.drawn -= self.there
                self.there = False

        viewing = part("ui.viewing")
        monkeypatch.setattr(viewing, "TemporaryDrawing", Drawn)
        monkeypatch.setattr(viewing, "view_under_mouse", lambda _context, _event: hand.view)

    def context(self):
        manager = SimpleNamespace(
            event_timer_add=lambda *_, **__: self.count(1),
            event_timer_remove=lambda _: self.count(-1),
            modal_handler_add=lambda _: None,
        )
        return SimpleNamespace(
            scene=bpy.context.scene,
            view_layer=bpy.context.view_layer,
            window_manager=manager,
            window=object(),
            area=object(),
            screen=SimpleNamespace(is_animation_playing=False),
            workspace=SimpleNamespace(status_text_set=lambda _text: None),
        )

    def count(self, by: int) -> int:
        self.timers += by
        return self.timers


def tool(module: str, name: str, **properties):
    """Builds an operator as Blender would, but without Blender."""
    cls = getattr(part(f"operators.{module}"), name)
    ours = [base for base in reversed(cls.__mro__) if ".operators." in base.__module__]
    members = {key: value for base in ours for key, value in vars(base).items() if not key.startswith("__")}
    kind, short = cls.bl_idname.split(".")
    for prop in getattr(getattr(bpy.ops, kind), short).get_rna_type().properties:
        if prop.identifier != "rna_type":
            array = getattr(prop, "is_array", False)
            members[prop.identifier] = tuple(prop.default_array) if array else getattr(prop, "default", None)
    made = type(name, (), members)()
    made.properties = SimpleNamespace(is_property_set=lambda key: key in vars(made))
    made.reported = []
    made.report = lambda kind, text: made.reported.append((kind, text))
    for key, value in properties.items():
        setattr(made, key, value)
    return made


def event(kind: str, value: str = "PRESS", shift: bool = False, ctrl: bool = False):
    return SimpleNamespace(type=kind, value=value, shift=shift, ctrl=ctrl, mouse_x=0, mouse_y=0)


@pytest.fixture
def hand(scene, monkeypatch):
    """Builds a character with flesh, and a hand over it."""
    body, _ = make_character()
    bpy.ops.thew.add(cells_across=8)
    bpy.ops.thew.simulate()
    scene.frame_set(6)
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    made = Hand(monkeypatch)
    made.body = body
    yield made
    assert (made.timers, made.drawn, part("scene.poses").silence_depth) == (0, 0, 0)  # nothing of the tool is left
    part("live.updates").stop_update()
    if bpy.app.timers.is_registered(part("live.updates").tick):
        bpy.app.timers.unregister(part("live.updates").tick)


BELLY = (0.05, 0.0, 0.75)
BESIDE = (3.0, 0.0, 0.75)


def test_place_tool_click(hand):
    """A click places the rig at the mouse, with the roll and size that the mouse wheel gave it."""
    sizes = []
    for notches in (0, 3):
        place, context = tool("place", "THEW_OT_rig_place", template="BUMP", guide="SKIN"), hand.context()
        assert place.invoke(context, event("RET")) == {"RUNNING_MODAL"}
        hand.view = View(BELLY)
        assert place.modal(context, event("MOUSEMOVE")) == {"RUNNING_MODAL"}
        for _ in range(notches):
            assert place.modal(context, event("WHEELUPMOUSE")) == {"RUNNING_MODAL"}
        assert place.modal(context, event("WHEELUPMOUSE", ctrl=True)) == {"RUNNING_MODAL"}
        assert len(place.ghost()[0][0]) and np.isfinite(place.ghost()[0][0]).all()
        assert place.modal(context, event("LEFTMOUSE")) == {"FINISHED"}
        rig = hand.body.thew.rigs[-1]
        sizes.append(rig.radius)
        assert rig.guide == "SKIN" and rig.roll == pytest.approx(np.radians(15.0))
    assert sizes[1] == pytest.approx(1.1**3 * sizes[0], rel=1e-4)
    assert len(hand.body.thew.rigs) == 2


@pytest.mark.parametrize("guide", ["BONE", "SKIN", "FREE"])
def test_place_tool_redo(hand, guide):
    """The stored properties place the rig at the same place when Blender runs the operator again."""
    place, context = tool("place", "THEW_OT_rig_place", template="BULGE", guide=guide), hand.context()
    hand.view = View(BELLY)
    place.invoke(context, event("MOUSEMOVE"))
    place.modal(context, event("LEFTMOUSE"))
    assert place.execute(context) == {"FINISHED"}
    first, again = (part("saved.samples").slider_values(rig) for rig in hand.body.thew.rigs)
    np.testing.assert_allclose(first, again, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(*(rig.matrix for rig in hand.body.thew.rigs), atol=1e-5)


@pytest.mark.parametrize("how", ["ESC", "RIGHTMOUSE", "beside", "nowhere"])
def test_place_tool_cancel(hand, how):
    """A placement that is cancelled or misses the body leaves no trace."""
    place, context = tool("place", "THEW_OT_rig_place", template="TORUS", guide="BONE"), hand.context()
    hand.view = View(BELLY)
    place.invoke(context, event("MOUSEMOVE"))
    hand.view = {"beside": View(BESIDE), "nowhere": None}.get(how, hand.view)
    key = event("LEFTMOUSE" if how in {"beside", "nowhere"} else how)
    assert place.modal(context, key) == {"CANCELLED"}
    assert len(hand.body.thew.rigs) == 0
    assert not place.reported if how.isupper() else "no skin under the mouse" in place.reported[0][1]


@pytest.fixture
def bump(hand):
    """Builds a bump on the belly, and the hand that may pull it."""
    hand.view = View(BELLY)
    place, context = tool("place", "THEW_OT_rig_place", template="BUMP", guide="SKIN"), hand.context()
    place.invoke(context, event("MOUSEMOVE"))
    place.modal(context, event("LEFTMOUSE"))
    return hand


def drag(hand, pull, context, by, steps: int = 4):
    """Presses at the belly and moves the mouse."""
    hand.view = View(BELLY)
    assert pull.modal(context, event("LEFTMOUSE")) == {"RUNNING_MODAL"}
    for step in range(1, steps + 1):
        hand.view = View(np.array(BELLY) + np.array(by) * step / steps)
        assert pull.modal(context, event("MOUSEMOVE")) == {"RUNNING_MODAL"}
        assert pull.modal(context, event("TIMER", "NOTHING")) == {"RUNNING_MODAL"}


def test_pull_tool_drag(bump):
    """The skin follows the mouse, and stays there after Return."""
    pull, context, body = tool("pull", "THEW_OT_rig_pull"), bump.context(), bump.body
    before = part("operators.pull").rig_state(body.thew.rigs[0])
    assert pull.invoke(context, event("RET", "RELEASE")) == {"RUNNING_MODAL"}
    drag(bump, pull, context, (0.03, 0.0, 0.04))
    vertex, target = pull._drag, pull._target
    shown = world(body)[vertex]
    assert np.linalg.norm(shown - target) < 0.2 * 0.05
    assert pull.marks()[-1][0].shape == (1, 2, 3)
    assert pull.modal(context, event("LEFTMOUSE", "RELEASE")) == {"FINISHED"}
    assert part("operators.pull").rig_state(body.thew.rigs[0]) != before
    assert body.thew.settled
    np.testing.assert_allclose(world(body)[vertex], shown, atol=1e-4)
    assert f"[[{vertex}, " in pull.points


@pytest.mark.parametrize("key", ["ESC", "RIGHTMOUSE"])
def test_pull_tool_escape(bump, key):
    """Escape restores the rig and the shape."""
    pull, context, body = tool("pull", "THEW_OT_rig_pull"), bump.context(), bump.body
    before, shape = part("operators.pull").rig_state(body.thew.rigs[0]), evaluated_positions(body)
    pull.invoke(context, event("RET", "RELEASE"))
    drag(bump, pull, context, (0.05, 0.0, 0.05))
    assert part("operators.pull").rig_state(body.thew.rigs[0]) != before
    assert pull.modal(context, event(key)) == {"CANCELLED"}
    assert part("operators.pull").rig_state(body.thew.rigs[0]) == before
    np.testing.assert_array_equal(evaluated_positions(body), shape)
    assert not body.thew.settled


def test_pull_tool_click_only(bump):
    """A click without a drag changes nothing."""
    pull, context, body = tool("pull", "THEW_OT_rig_pull"), bump.context(), bump.body
    before, shape = part("operators.pull").rig_state(body.thew.rigs[0]), evaluated_positions(body)
    bump.view = View(BELLY)
    assert pull.invoke(context, event("LEFTMOUSE")) == {"RUNNING_MODAL"}  # as the toolbar calls it
    assert pull.modal(context, event("LEFTMOUSE", "RELEASE")) == {"CANCELLED"}
    assert part("operators.pull").rig_state(body.thew.rigs[0]) == before
    np.testing.assert_array_equal(evaluated_positions(body), shape)


def test_pull_tool_misses_body(bump):
    """A press beside the body is reported and ends the tool."""
    pull, context = tool("pull", "THEW_OT_rig_pull"), bump.context()
    bump.view = View(BESIDE)
    assert pull.invoke(context, event("LEFTMOUSE")) == {"CANCELLED"}
    assert "no skin" in pull.reported[0][1]


def test_pull_tool_held_point(bump):
    """A point that is held with Shift moves less than where it is free."""
    body, gone, held = bump.body, [], np.array(BELLY) + (-0.12, 0.0, 0.05)
    before = part("operators.pull").rig_state(body.thew.rigs[0])
    for hold in (False, True):
        pull, context = tool("pull", "THEW_OT_rig_pull"), bump.context()
        pull.invoke(context, event("RET", "RELEASE"))
        skin = part("logic.picking").Picker(world(body), pull._stand.rest.triangles)
        vertex = skin.ray(*View(held).ray()).vertex(pull._stand.rest.triangles)
        start = pull._pull.world(vertex)
        if hold:
            bump.view = View(held)
            assert pull.modal(context, event("LEFTMOUSE", shift=True)) == {"RUNNING_MODAL"}
        drag(bump, pull, context, (0.05, 0.0, 0.0))
        gone.append(np.linalg.norm(pull._pull.world(vertex) - start))
        assert pull.modal(context, event("ESC")) == {"CANCELLED"}
        assert part("operators.pull").rig_state(body.thew.rigs[0]) == before
    assert gone[1] < 0.7 * gone[0]


# when something fails -------------------------------------------------------------------------------------------------


def explode(*_args, **_options):
    raise ZeroDivisionError("a bug")


@pytest.mark.parametrize("where", ["drawing", "timer", "status", "pose"])
def test_pull_tool_failed_start(bump, monkeypatch, where):
    """A tool that fails at its start releases everything, and the flesh plays on."""
    pull, context, body = tool("pull", "THEW_OT_rig_pull"), bump.context(), bump.body
    before, shape = part("operators.pull").rig_state(body.thew.rigs[0]), evaluated_positions(body)
    if where == "drawing":
        monkeypatch.setattr(part("ui.viewing"), "TemporaryDrawing", explode)
    if where == "timer":
        context.window_manager.event_timer_add = explode
    if where == "status":
        context.workspace.status_text_set = lambda text: explode() if text else None
    if where == "pose":
        monkeypatch.setattr(part("edit.pulling"), "SkinPull", explode)
    assert pull.invoke(context, event("RET", "RELEASE")) == {"CANCELLED"}
    assert "a bug" in pull.reported[0][1] and part("scene.poses").silence_depth == 0
    assert part("operators.pull").rig_state(body.thew.rigs[0]) == before
    np.testing.assert_array_equal(evaluated_positions(body), shape)
    shapes = play(body, (4, 9))
    assert np.abs(shapes[0] - shapes[1]).max() > 1e-3 and flesh_of(body).condition.is_showable


@pytest.mark.parametrize("where", ["put back", "status", "timer"])
def test_pull_tool_failed_end(bump, monkeypatch, where):
    """A tool that fails at its end releases everything."""
    pull, context = tool("pull", "THEW_OT_rig_pull"), bump.context()
    if where == "timer":
        context.window_manager.event_timer_remove = lambda _timer: (bump.count(-1), explode())
    assert pull.invoke(context, event("RET", "RELEASE")) == {"RUNNING_MODAL"}
    drag(bump, pull, context, (0.03, 0.0, 0.0))
    if where == "put back":
        monkeypatch.setattr(part("operators.pull"), "restore_rig", explode)
    if where == "status":
        context.workspace.status_text_set = explode
    assert pull.modal(context, event("ESC")) == {"CANCELLED"}
    assert "a bug" in pull.reported[-1][1] and part("scene.poses").silence_depth == 0


def test_job_failure_releases(hand):
    """A job that fails at its start or on its way releases everything."""
    for broken in ("event_timer_add", "progress_begin", "modal_handler_add", "progress_update"):
        job, context = tool("rigs", "THEW_OT_settle"), hand.context()
        context.view_layer.objects.active = hand.body
        for name in ("progress_begin", "progress_end", "progress_update"):
            setattr(context.window_manager, name, lambda *_: None)
        setattr(context.window_manager, broken, explode)
        answer = job.invoke(context, event("RET"))
        if broken == "progress_update":
            assert answer == {"RUNNING_MODAL"}
            answer = job.modal(context, event("TIMER", "NOTHING"))
        assert answer == {"CANCELLED"} and "a bug" in job.reported[-1][1]
        assert (hand.timers, part("scene.poses").silence_depth) == (0, 0)
    assert part("live.updates").state.stepper is None


def test_keyframed_model_undo(scene, monkeypatch):
    """Undo within the tool takes back the last point of a modelled keyframe."""
    sack = make_sack()
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    scene.frame_set(14)
    before = evaluated_positions(sack)
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    hand = Hand(monkeypatch)
    model, context = tool("keyframed_model", "THEW_OT_keyframed_model"), hand.context()
    assert model.invoke(context, event("RET", "RELEASE")) == {"RUNNING_MODAL"}
    undo, shapes = event("Z", ctrl=True), []
    for at, to in (((0.1, 0.0, 0.4), (0.1, 0.0, 0.4)), ((0.1, 0.0, 1.2), (0.6, 0.0, 1.2))):
        hand.view = View(at)
        assert model.modal(context, event("LEFTMOUSE")) == {"RUNNING_MODAL"}
        hand.view = View(to)
        model.modal(context, event("MOUSEMOVE"))
        model.modal(context, event("LEFTMOUSE", "RELEASE"))
        shapes.append(evaluated_positions(sack))
    assert np.abs(shapes[1] - shapes[0]).max() > 0.1
    assert model.modal(context, undo) == {"RUNNING_MODAL"}
    np.testing.assert_allclose(evaluated_positions(sack), shapes[0], atol=1e-5)
    for _ in range(2):  # what is not there is not taken back
        assert model.modal(context, undo) == {"RUNNING_MODAL"}
    np.testing.assert_allclose(evaluated_positions(sack), before, atol=1e-5)
    keys = len(sack.data.shape_keys.key_blocks)
    assert model.modal(context, event("RET")) == {"CANCELLED"}
    assert len(sack.data.shape_keys.key_blocks) == keys
    assert (hand.timers, hand.drawn, part("scene.poses").silence_depth) == (0, 0, 0)
    part("live.updates").stop_update()
