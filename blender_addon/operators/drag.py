# SPDX-License-Identifier: GPL-3.0-or-later
"""Drag Flesh: press on modal flesh, drag it about and let it ring. Shift and click holds further points first."""

from __future__ import annotations

import time

import bpy
import numpy as np

from ..edit import dragging
from ..languages.translations import report, show_status
from ..live import playback, target
from ..live.session import register as fleshes
from ..logic import modal
from ..logic.drag import KEYS_HELP
from ..logic.errors import Refusal
from ..scene import windows
from ..scene.reading import armature_of
from . import toolbar
from .modal_tool import ModalTool, SkinTool


class THEW_OT_modal_drag(SkinTool, bpy.types.Operator):
    bl_label = "Drag Flesh"
    bl_description = (
        "Drag the skin of modal flesh with the mouse to see how it moves; it rings when released. Shift-click first "
        "to hold further points. Nothing is kept"
    )
    bl_options = {"REGISTER"}

    by_hand = "Flesh is dragged with the mouse: press Drag, and then on the skin in a 3D view"
    rate = 60.0  # the refresh rate of most screens
    now = staticmethod(time.monotonic)

    def take(self, context) -> None:
        self._motion, self._said = None, ""
        self._name, self._why, self._count = self._stand.obj.name, "", len(self._stand.obj.data.vertices)
        self._motion = dragging.SkinDrag(self._stand, context.scene, context.view_layer)
        self.begin(context, f"Thew: {KEYS_HELP}")
        self.watch_changes(context)
        self._last = self.now()

    def watch_changes(self, context) -> None:
        """Watches for an undo, another file and another pose: each makes the drag invalid."""
        uid, self._frame = armature_of(self._stand.obj).session_uid, context.scene.frame_float

        def note_undo(*_):
            self._why = "something was undone"

        def note_motion(_scene, depsgraph):
            if any(update.id.original.session_uid == uid for update in depsgraph.updates):
                self._why = self._why or "the pose has changed"

        for name, call in (
            ("undo_pre", note_undo),
            ("redo_pre", note_undo),
            ("load_pre", note_undo),
            ("depsgraph_update_post", note_motion),
        ):
            calls = getattr(bpy.app.handlers, name)
            calls.append(call)
            self.held.callback(lambda calls=calls, call=call: calls.remove(call) if call in calls else None)

    def tell(self, context, text: str) -> None:
        if text != self._said:
            self._said = text
            show_status(context.workspace, text)

    # events -----------------------------------------------------------------------------------------------------------

    def modal(self, context, event):
        """Handles one event. A drag that has become impossible ends with a sentence."""
        lost = self.end_reason(context)
        if not lost:
            return ModalTool.modal(self, context, event)
        self.end(context)
        playback.look_up(bpy.context.scene)
        report(self, {"WARNING"}, f"The drag of “{self._name}” ended, because {lost}.")
        return {"CANCELLED"}

    def end_reason(self, context) -> str:
        """Returns why the drag cannot go on; "" while it can."""
        if self._why:
            return self._why
        try:
            obj = self._stand.obj
            if obj.name not in context.scene.objects:
                return "it is not in the scene any more"
            if obj.mode in {"EDIT", "SCULPT"}:
                return "its mesh is being edited"
            if fleshes.known_state(obj) is not self._stand.flesh or not obj.thew.made.flesh:
                return "its flesh was rebuilt"
            if len(obj.data.vertices) != self._count:
                return "its mesh has changed"
        except ReferenceError:
            return "it was deleted"
        return "" if context.scene.frame_float == self._frame else "another frame is shown"

    @property
    def dragging(self) -> bool:
        return self._motion.held >= 0

    def first_hit(self, origin, direction):
        return self._motion.first_hit(origin, direction), self._stand.rest.triangles

    def handle_miss(self, context):
        return {"RUNNING_MODAL"} if self._motion.pins or self._began else self.drop_it(context)

    def hold(self, vertex: int, dragged: bool) -> None:
        try:
            self._motion.take(vertex, dragged)
        except Refusal as error:
            report(self, {"WARNING"}, str(error))
            return
        if dragged:
            self._depth = self._motion.world(vertex)
        self._began = True

    def drag_to(self, point) -> None:
        self._motion.drag_to(point)

    def release(self, _context):
        self._motion.let_go()
        return {"RUNNING_MODAL"}

    #: True once a point was taken. Before that, time stands still and nothing is shown.
    _began = False

    def tick(self, context):
        """Shows the flesh at this moment. The drag ends once the flesh is at rest again."""
        now = self.now()
        elapsed, self._last = now - self._last, now
        if not self._began:
            return {"RUNNING_MODAL"}
        if self._motion.advance(elapsed):
            self._motion.show()
            self.tell(context, self._motion.status_line())
            windows.redraw()
        return self.keep(context) if self._motion.is_over else {"RUNNING_MODAL"}

    def keep(self, context):
        """Ends the drag and shows what was shown before."""
        self.restore()
        self.end(context)
        return {"FINISHED"}

    def restore(self) -> None:
        if self._motion is not None:
            self._motion.restore(bpy.context.scene)

    def pins(self):
        return [self._motion.world(vertex) for vertex in self._motion.pins]

    def line(self):
        return np.array([self._motion.world(self._motion.held), self._motion.target()])


TOOLS = toolbar.tools(
    "drag",
    "Drag Flesh",
    "thew.modal_drag",
    "Drag the skin of a character with modal flesh; the whole body follows, and rings when you let go",
)


def has_modal_flesh(context) -> bool:
    """Returns whether the target has modal flesh to drag: only then is the tool in the toolbar."""
    obj = target.target_mesh(context)
    return obj is not None and obj.type == "MESH" and obj.thew.made.flesh and obj.thew.method == modal.METHOD
