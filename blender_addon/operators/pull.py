# SPDX-License-Identifier: GPL-3.0-or-later
"""Pull Skin: press on a point and drag it, and the active rig's sliders follow. Shift and click holds further points."""

from __future__ import annotations

import json

import bpy
import numpy as np
from bpy.props import StringProperty

from ..edit import posed_character, pulling
from ..languages.translations import show_status
from ..live import session, target, updates
from ..live.events import report_event
from ..logic.errors import Refusal
from ..logic.json_text import parse_json
from ..logic.picking import Picker
from ..logic.states import Event
from ..rigs import rigging
from ..saved.samples import quiet_edits, slider_values
from ..saved.slider_groups import set_values, values_of
from ..scene import windows
from . import toolbar
from .modal_tool import SkinTool
from .operator_bases import fresh_property

#: Evaluations per update: few, so that an update does not take longer than the time between two.
UPDATE_EVALUATIONS = 8


class THEW_OT_rig_pull(SkinTool, bpy.types.Operator):
    bl_label = "Pull Skin"
    bl_description = (
        "Drag a point of the skin: the active rig's sliders are fitted to bring it there and recorded as a sample. "
        "Shift-click first to hold further points"
    )

    points: fresh_property(
        StringProperty, "Points", "Pulled points as JSON: [[vertex, [x, y, z]], …], targets in the world"
    )

    # calls by scripts, and redo-----------------------------------------------------------------------------------------

    def edit(self, context, obj):
        updates.stop_update()
        stand = posed_character.read(obj, context.scene, context.view_layer)
        points = pulling.checked_points(stand, parsed_points(self.points))
        pull = pulling.SkinPull(stand, context.view_layer)
        before = rig_state(pull.rig)
        try:
            pull.pull(points)
        except Exception:
            restore_rig(pull.rig, before)
            raise
        return self.keep_fit(context, pull, points)

    def keep_fit(self, context, pull: pulling.SkinPull, points) -> str:
        """Records the fitted sliders, switches to the flesh at rest, and returns how near the points came, in words."""
        stand = pull.stand
        pull.keep()
        stand.obj.thew.settled = True
        rigging.show_edit(context, stand.obj)
        stand.show(pull.offsets)
        report_event(stand.obj, stand.flesh, Event.POSE_SHOWN)
        return f"“{pull.rig.name}” was fitted; {pull.outcome_text(points)}."

    # use by mouse -----------------------------------------------------------------------------------------------------

    def take(self, context) -> None:
        stand, self._pull = self._stand, None
        pull = pulling.SkinPull(stand, context.view_layer)
        self._before, self._shown = rig_state(pull.rig), session.visible_offsets(stand.obj, context.scene)
        self._pins, self._drag, self._target, self._due, self._changed = [], -1, None, False, False
        self._pull = pull
        stand.show(pull.offsets)
        self.begin(
            context,
            "Thew: press on the skin and drag, Shift+click holds a point, release keeps, Esc puts everything back",
        )

    def first_hit(self, origin, direction):
        triangles = self._stand.rest.triangles
        return Picker(self._stand.world(self._pull.fitted_skin), triangles).ray(origin, direction), triangles

    def handle_miss(self, context):
        return {"RUNNING_MODAL"} if self._pins else self.drop_it(context)

    def hold(self, vertex: int, dragged: bool) -> None:
        self._pins = [pin for pin in self._pins if pin[0] != vertex]
        here = self._pull.world(vertex)
        if dragged:
            self._drag, self._depth, self._target = vertex, here, here
        else:
            self._pins.append((vertex, here))

    def drag_to(self, point) -> None:
        self._target, self._due = point, True

    def tick(self, context):
        if self._due:
            self.follow(context)
        return {"RUNNING_MODAL"}

    def follow(self, context) -> None:
        """Fits the rig to the position of the mouse."""
        self._due = False
        if self._target is None:
            return
        self._stand.show(self._pull.pull(self.all_points(), evaluations=UPDATE_EVALUATIONS))
        show_status(
            context.workspace,
            f"Thew: {self._pull.outcome_text(self.all_points())}; release keeps, Esc puts everything back",
        )
        self._due = not self._pull.arrived  # continues at the next tick, even if the mouse stands still
        self._changed = True
        windows.redraw()

    def all_points(self) -> list[pulling.PulledPoint]:
        """Returns all points and their targets."""
        return [*self._pins, (self._drag, self._target)]

    def release(self, context):
        if self._due:
            self.follow(context)
            self._pull.settle(self.all_points())
        return self.keep(context)

    def keep(self, context):
        """Keeps the result."""
        if not self._changed:
            return self.drop_it(context)
        self.end(context)
        points = self.all_points()
        self.points = json.dumps([[vertex, [float(x) for x in target]] for vertex, target in points])
        return self.report_success(self._stand.obj, self.keep_fit(context, self._pull, points))

    def restore(self) -> None:
        if self._pull is None:
            return
        restore_rig(self._pull.rig, self._before)
        session.show_again(self._stand.obj, self._stand.flesh, bpy.context.scene, self._shown)

    def pins(self):
        return [self._pull.world(vertex) for vertex, _ in self._pins]

    def line(self):
        return np.array([self._pull.world(self._drag), self._target])


def parsed_points(text: str):
    """Returns the points of a script from their JSON."""
    try:
        return parse_json(text or "[]")
    except ValueError as error:
        raise Refusal(f"The points are not JSON ({error}): give [[vertex, [x, y, z]], …]") from None


def rig_state(rig) -> tuple:
    """Returns the state of a rig that pulling changes."""
    samples = [(sample.control, values_of(sample.sliders)) for sample in rig.samples]
    return slider_values(rig), samples, rig.control, rig.at, rig.draft, rig.active_sample


def restore_rig(rig, before: tuple) -> None:
    """Restores the state of a rig returned by `rig_state`."""
    values, samples, control, at, draft, active = before
    with quiet_edits():
        set_values(rig, values)
        rig.samples.clear()
        for where, row in samples:
            sample = rig.samples.add()
            sample.control = where
            set_values(sample.sliders, row)
        rig.control, rig.at, rig.draft, rig.active_sample = control, at, draft, active


TOOLS = toolbar.tools(
    "pull", "Pull Skin", "thew.rig_pull", "Drag the skin of a character with flesh; the active rig follows"
)


def has_rig(context) -> bool:
    """Returns whether the target has a rig to pull with: only then is the tool in the toolbar."""
    obj = target.target_mesh(context)
    return obj is not None and obj.type == "MESH" and obj.thew.made.flesh and len(obj.thew.rigs) > 0
