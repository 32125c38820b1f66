# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a limb: drags its hubs and spokes with the mouse, changes them by numbers, fits them again."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
from bpy.props import BoolProperty, FloatProperty, FloatVectorProperty, IntProperty

from ..edit import limb_shape
from ..edit.limbs import model_of
from ..languages.translations import show_status
from ..live import updates
from ..logic.errors import Refusal
from ..logic.limb_handles import Handle
from ..saved import limbs as saved
from ..scene import windows
from ..ui import viewing
from .limbs import chosen_limb
from .modal_tool import ModalTool
from .operator_bases import QuickJob, option

KEYS_HELP = "Drag a point: hubs move, tips lengthen spokes (Shift: all of its hub)   Ctrl+Z: back   Enter: done   Esc: as it was"
#: Distance from the mouse within which a handle is taken, pixels.
HANDLE_DISTANCE = 14.0
HUB_COLOUR, TIP_COLOUR, TAKEN_COLOUR = (1.0, 0.55, 0.1, 1.0), (0.95, 0.95, 0.95, 0.9), (0.3, 1.0, 0.5, 1.0)


class THEW_OT_limb_drag(ModalTool, bpy.types.Operator):
    bl_label = "Drag Handles"
    bl_description = (
        "Drag hubs and tips of spokes of the chosen limb; its boundary follows, and stops where it would fold. Enter "
        "keeps the result, Esc restores the limb"
    )

    by_hand = "Handles are dragged with the mouse: press Drag Handles, and then on a point in a 3D view"

    def stand(self, context, obj):
        limb = chosen_limb(obj)
        limb.shown = True
        return SimpleNamespace(obj=obj, index=obj.thew.active_limb, name=limb.name, first=limb.model)

    def limb(self) -> saved.ThewLimb:
        """Returns the limb being edited. Raises a `Refusal` if it is gone."""
        obj, index = self._stand.obj, self._stand.index
        if index >= len(obj.thew.limbs) or obj.thew.limbs[index].name != self._stand.name:
            raise Refusal(f"The limb “{self._stand.name}” is not there any more")
        return obj.thew.limbs[index]

    def take(self, context) -> None:
        model_of(self.limb())  # raises a `Refusal` for a damaged model
        self._handle, self._start, self._depth, self._over = None, None, None, -1
        self._before: list[str] = []
        self.held.callback(viewing.TemporaryDrawing(self.marks).end)
        show_status(context.workspace, f"Thew: {KEYS_HELP}")
        windows.redraw()

    def modal(self, context, event):
        """Handles one event. Esc undoes the drag in progress, otherwise all drags."""
        if self._handle is not None and event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
            try:
                self.limb().model = self._before.pop()
                self.let_go(context)
            except Exception as error:
                return self.drop_it(context, error)
            return {"RUNNING_MODAL"}
        return ModalTool.modal(self, context, event)

    def handle(self, context, event):
        if event.type in {"RET", "NUMPAD_ENTER"} and event.value == "PRESS":
            return self.finish(context)
        view = viewing.view_under_mouse(context, event)
        if event.type == "MOUSEMOVE":
            if self._handle is not None:
                if view is not None:
                    self.drag(context, view, event.shift)
                return {"RUNNING_MODAL"}
            over, _, _ = self.nearest(view)
            if over != self._over:
                self._over = over
                windows.redraw()
            return {"PASS_THROUGH"}
        if event.type == "LEFTMOUSE" and event.value == "PRESS" and view is not None:
            return self.press(view)
        if event.type == "LEFTMOUSE" and event.value == "RELEASE" and self._handle is not None:
            self.let_go(context)
            return {"RUNNING_MODAL"}
        return {"RUNNING_MODAL"} if self._handle is not None else {"PASS_THROUGH"}

    def nearest(self, view) -> tuple[int, Handle | None, np.ndarray]:
        """Returns (number, handle, position) of the handle under the mouse; -1 and `None` where no handle is near."""
        none = -1, None, np.zeros(3)
        if view is None:
            return none
        limb = self.limb()
        listed, points = limb_shape.handles(self._stand.obj, limb, model_of(limb))
        away = np.linalg.norm(view.pixels(points) - np.array(view.mouse), axis=1)
        away[np.isnan(away)] = np.inf
        best = int(away.argmin())
        return (best, listed[best], points[best]) if away[best] <= HANDLE_DISTANCE else none

    def press(self, view):
        """Takes hold of a handle."""
        over, handle, place = self.nearest(view)
        if handle is None:
            return {"PASS_THROUGH"}
        limb = self.limb()
        self._handle, self._start, self._depth, self._over = handle, model_of(limb), place, over
        self._before.append(limb.model)
        return {"RUNNING_MODAL"}

    def drag(self, context, view, whole: bool) -> None:
        stopped = limb_shape.drag(
            self._stand.obj, self.limb(), self._start, self._handle, view.point_at_depth(self._depth), whole
        )
        said = "Here the boundary would fold: it stays at the last place where it does not." if stopped else KEYS_HELP
        show_status(context.workspace, f"Thew: {said}")
        windows.redraw()

    def let_go(self, context) -> None:
        self._handle, self._start = None, None
        show_status(context.workspace, f"Thew: {KEYS_HELP}")
        windows.redraw()

    def take_back(self) -> None:
        if self._before:
            self.limb().model = self._before.pop()
            self._handle = None
            windows.redraw()

    def restore(self) -> None:
        self.limb().model = self._stand.first

    def finish(self, context):
        """Keeps the changes."""
        changed = self.limb().model != self._stand.first
        self.end(context)
        if not changed:
            return {"CANCELLED"}
        limb_shape.note_edit(self._stand.obj)
        return {"FINISHED"}

    def marks(self):
        """Returns the handles, the one under the mouse in green."""
        try:
            limb = self.limb()
            listed, points = limb_shape.handles(self._stand.obj, limb, model_of(limb))
        except (Refusal, ReferenceError, ValueError):
            return []
        hubs = np.array([handle.spoke < 0 for handle in listed])
        drawn = [(points[~hubs], TIP_COLOUR, 6.0), (points[hubs], HUB_COLOUR, 9.0)]
        if 0 <= self._over < len(points):
            drawn.append((points[self._over][None], TAKEN_COLOUR, 12.0))
        return drawn


class THEW_OT_limb_move(QuickJob, bpy.types.Operator):
    bl_label = "Move Handle"
    bl_description = "Move a handle of the chosen limb, and lengthen or shorten its spokes, by numbers"

    atom: option(IntProperty, "Handle", "Index of the handle, from the root of the limb", default=0, min=0)
    offset: option(
        FloatVectorProperty, "Offset", "Offset of its hub, in the mesh's own space", size=3, subtype="TRANSLATION"
    )
    spoke: option(IntProperty, "Spoke", "Index of the spoke, -1 for all", default=-1, min=-1)
    factor: option(FloatProperty, "Factor", "Factor on its length", default=1.0, min=0.01, max=100.0)

    def edit(self, context, obj):
        limb = chosen_limb(obj)
        updates.stop_update()
        limb_shape.move(obj, limb, Handle(self.atom, self.spoke), np.array(self.offset), self.factor)
        return f"“{limb.name}”: handle {self.atom} is moved."


class THEW_OT_limb_fit(QuickJob, bpy.types.Operator):
    bl_label = "Fit Again"
    bl_description = (
        "Fit the boundary of the chosen limb to the skin that follows its bones, from where its handles are now"
    )

    hold: option(BoolProperty, "Hold Hubs", "Leave hubs where they are: on the bones", default=True)

    def edit(self, context, obj):
        limb = chosen_limb(obj)
        updates.stop_update()
        return limb_shape.fit(context, obj, limb, self.hold).message(limb.name)
