# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a limb in the hand: handles that are dragged, numbers, fits; undone, saved, and never folded."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, part, refusal
from test_limbs import cells, limb_add
from test_rig_tool_events import Hand, View, event, tool


class MetreView(View):
    """A view in which a metre is a hundred pixels."""

    @property
    def mouse(self):
        return tuple(100.0 * self.over[[0, 2]])

    def pixels(self, points):
        return 100.0 * points[:, [0, 2]]


@pytest.fixture
def hand(character, monkeypatch):
    """Builds a limb along a character that stands still, and a hand over it."""
    body, rig = character
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.matrix_basis.identity()
    bpy.context.view_layer.update()
    limb_add(body)
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    made = Hand(monkeypatch)
    made.body, made.rig, made.texts = body, rig, []
    yield made
    assert (made.timers, made.drawn) == (0, 0)  # nothing of the tool is left


class Drag:
    """The operator in the hand."""

    def __init__(self, hand):
        self.hand = hand
        self.tool, self.context = tool("limb_shape", "THEW_OT_limb_drag"), hand.context()
        self.context.workspace.status_text_set = hand.texts.append
        hand.view = MetreView((50.0, 0.0, 0.0))
        assert self.tool.invoke(self.context, event("MOUSEMOVE")) == {"RUNNING_MODAL"}

    def __call__(self, kind: str, value: str = "PRESS", at=None, **keys) -> set:
        if at is not None:
            self.hand.view = MetreView(at)
        return self.tool.modal(self.context, event(kind, value, **keys))

    def drag_and_release(self, start, to, **keys) -> None:
        """Presses, drags and releases."""
        assert self("LEFTMOUSE", at=start) == {"RUNNING_MODAL"}
        assert self("MOUSEMOVE", at=to, **keys) == {"RUNNING_MODAL"}
        assert self("LEFTMOUSE", "RELEASE") == {"RUNNING_MODAL"}


def model(body):
    return part("edit.limbs").model_of(body.thew.limbs[0])


def boundary(body) -> np.ndarray:
    return part("ui.limb_overlay").lines(body, body.thew.limbs[0])[0]


def test_limb_drag_moves_hub(hand):
    """A dragged hub follows the mouse, the boundary follows the hub, and the other hubs stay."""
    before, seen = model(hand.body), boundary(hand.body)
    atom = 4
    hub = before.hubs[atom]
    drag = Drag(hand)
    assert drag("LEFTMOUSE", at=hub) == {"RUNNING_MODAL"}
    to = hub + [0.05, 0.0, 0.03]
    assert drag("MOUSEMOVE", at=to) == {"RUNNING_MODAL"}
    live = boundary(hand.body)  # before the button is let go
    assert np.linalg.norm(live - seen, axis=1).max() > 0.03
    drag("LEFTMOUSE", "RELEASE")
    assert drag("RET") == {"FINISHED"}
    after = model(hand.body)
    np.testing.assert_allclose(after.hubs[atom], to, atol=1e-9)
    others = np.arange(len(after.hubs)) != atom
    np.testing.assert_array_equal(after.hubs[others], before.hubs[others])
    np.testing.assert_array_equal(after.lengths, before.lengths)


def test_limb_drag_lengthens_spokes(hand):
    """A dragged tip lengthens its spoke, and with Shift all spokes of its atom."""
    before = model(hand.body)
    handles, points = part("logic.limb_handles").handles(before)
    # A spoke that is seen from the side, of an atom in the middle.
    mine = [i for i, h in enumerate(handles) if h.atom == 4 and h.spoke >= 0]
    best = max(mine, key=lambda i: abs(points[i][0] - before.hubs[4][0]))
    spoke, tip, hub = handles[best].spoke, points[best], before.hubs[4]
    drag = Drag(hand)
    drag.drag_and_release(tip, hub + 1.25 * (tip - hub))
    after = model(hand.body)
    ratio = after.lengths * after.radii[:, None] / (before.lengths * before.radii[:, None])
    expected = np.ones_like(ratio)
    expected[4, spoke] = 1.25
    np.testing.assert_allclose(ratio, expected, rtol=0.03)
    drag.drag_and_release(hub + 1.25 * (tip - hub), hub + 1.5 * (tip - hub), shift=True)
    wide = model(hand.body)
    np.testing.assert_allclose(wide.radii[4] / before.radii[4], 1.2, rtol=0.03)
    # Back, a drag at a time, and out.
    drag("Z", ctrl=True)
    np.testing.assert_allclose(model(hand.body).radii, before.radii)
    drag("Z", ctrl=True)
    assert hand.body.thew.limbs[0].model == part("logic.limbs").pack(before)
    assert drag("RET") == {"CANCELLED"}


def test_limb_drag_stops_before_fold(hand):
    """A drag stops before the boundary folds and says so; Escape restores the limb."""
    before = model(hand.body)
    drag = Drag(hand)
    drag.drag_and_release(before.hubs[4], before.hubs[4] + [0.0, 0.0, 3.0])
    assert any("fold" in text for text in hand.texts if text)
    after = model(hand.body)
    assert after.legality() > 0.0 and after.hubs[4][2] > before.hubs[4][2]
    assert drag("ESC") == {"CANCELLED"}
    assert hand.body.thew.limbs[0].model == part("logic.limbs").pack(before)


def test_limb_drag_escape(hand):
    """The first Escape undoes only the drag in progress."""
    before = model(hand.body)
    drag = Drag(hand)
    drag.drag_and_release(before.hubs[2], before.hubs[2] + [0.03, 0.0, 0.0])
    first = hand.body.thew.limbs[0].model
    drag("LEFTMOUSE", at=before.hubs[5])
    drag("MOUSEMOVE", at=before.hubs[5] + [0.04, 0.0, 0.0])
    assert hand.body.thew.limbs[0].model != first
    assert drag("ESC") == {"RUNNING_MODAL"}
    assert hand.body.thew.limbs[0].model == first
    # Beside all handles the view has the mouse.
    assert drag("LEFTMOUSE", at=(9.0, 0.0, 9.0)) == {"PASS_THROUGH"}
    assert drag("MIDDLEMOUSE") == {"PASS_THROUGH"}
    assert drag("RET") == {"FINISHED"}


def test_limb_drag_in_pose(hand):
    """The handles of a posed character are dragged where the pose shows them."""
    bone = hand.rig.pose.bones["Spine"]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler = (0.0, 0.0, 0.5)
    bone.rotation_euler.x = 0.3
    hand.rig.location = (0.5, 0.0, 1.0)
    hand.body.location = (0.5, 0.0, 1.0)
    bpy.context.view_layer.update()
    limb, shape = hand.body.thew.limbs[0], part("edit.limb_shape")
    listed, points = shape.handles(hand.body, limb, model(hand.body))
    before = boundary(hand.body)
    to = points[4] + [0.04, 0.0, 0.02]
    shape.drag(hand.body, limb, model(hand.body), listed[4], to, False)
    _, now = shape.handles(hand.body, limb, model(hand.body))
    np.testing.assert_allclose(now[4], to, atol=1e-6)
    assert np.linalg.norm(boundary(hand.body) - before, axis=1).max() > 0.02


def test_limb_drag_lost_limb(hand):
    """A limb that is removed during the drag ends it with a clear message."""
    drag = Drag(hand)
    hand.body.thew.limbs.clear()
    assert drag("LEFTMOUSE", at=(0.0, 0.0, 0.6)) == {"CANCELLED"}
    assert "not there any more" in drag.tool.reported[-1][1]


def test_limb_move_by_numbers(character, tmp_path):
    """The operator with numbers moves the limb as a drag does, and refuses a move that folds it."""
    body, _ = character
    limb_add(body)
    before = model(body)
    assert bpy.ops.thew.limb_move(atom=4, offset=(0.02, 0.0, 0.01), spoke=3, factor=1.1) == {"FINISHED"}
    after = model(body)
    np.testing.assert_allclose(after.hubs[4] - before.hubs[4], [0.02, 0.0, 0.01], atol=1e-6)
    np.testing.assert_allclose(after.lengths[4, 3] / before.lengths[4, 3], 1.1, rtol=1e-6)
    kept = body.thew.limbs[0].model
    assert "would fold" in refusal(bpy.ops.thew.limb_move, atom=4, offset=(0.0, 0.0, 5.0))
    assert "no handle 99" in refusal(bpy.ops.thew.limb_move, atom=99)
    assert "no spoke 99" in refusal(bpy.ops.thew.limb_move, spoke=99)
    assert body.thew.limbs[0].model == kept
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shape.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shape.blend"))
    body = bpy.data.objects["Body"]
    assert body.thew.limbs[0].model == kept
    assert "with the mouse" in refusal(bpy.ops.thew.limb_drag)


def test_limb_fit_from_current_shape(character):
    """A changed limb is fitted again from its present hubs."""
    body, _ = character
    limb_add(body)
    fitted = model(body)
    bpy.ops.thew.limb_move(atom=4, factor=1.3)
    activate(body)
    assert bpy.ops.thew.limb_fit() == {"FINISHED"}
    lengths = [each.radii[:, None] * each.lengths for each in (model(body), fitted)]
    np.testing.assert_allclose(*lengths, rtol=0.08)
    np.testing.assert_allclose(model(body).hubs, fitted.hubs, atol=1e-9)


def test_limb_move_rebuilds_lattice(character):
    """A lattice built from limbs follows a change to a limb."""
    body, _ = character
    limb_add(body, "Spine\nHead")
    body.thew.limb_lattice = True
    assert bpy.ops.thew.add() == {"FINISHED"}
    vertices = part("live.session").register.state_of(body).lattice.vertices
    assert 6 in cells(body)
    assert bpy.ops.thew.limb_move(atom=3, factor=1.15) == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    now = part("live.session").register.state_of(body).lattice.vertices
    assert now.shape != vertices.shape or np.abs(now - vertices).max() > 1e-3
