# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the tools that click pairs of points on two meshes."""

from __future__ import annotations

from ..languages.translations import report, show_status
from ..logic.errors import sentence
from ..logic.native import EXPECTED_ERRORS
from ..logic.point_pairs import PointPairs
from ..logic.sentences import plural
from ..scene import windows
from ..ui import viewing
from .modal_tool import ModalTool


class PairTool(ModalTool):
    """Mix-in: a click takes a point on either mesh, and the next one its partner on the other. Enter hands the pairs to `keep`.

    A subclass defines `stand`, whose result has `obj` and `pairs`, a `PointPairs`, and `finish(context)`, which returns the message. What
    `finish` refuses is reported, and the pairs stay.
    """

    #: Sentence that tells what to click; `status` adds the keys.
    hint = ""
    #: Action of Enter, as the status bar tells it.
    result = ""

    @property
    def pairs(self) -> PointPairs:
        """The pairs so far."""
        return self._stand.pairs

    def take(self, context):
        self.held.callback(viewing.TemporaryDrawing(lambda: self.pairs.drawings()).end)
        self._workspace = context.workspace
        self.show_status()

    def show_status(self) -> None:
        """Shows in the status bar what to do next."""
        count = plural(len(self.pairs.pairs), "pair")
        waiting = " · now the same point on the other mesh" if self.pairs.waiting is not None else ""
        show_status(
            self._workspace, f"{self.hint} · {count}{waiting} · Ctrl+Z: take back · Enter: {self.result} · Esc: cancel"
        )
        windows.redraw()

    def handle(self, context, event):
        if event.type == "LEFTMOUSE" and event.value == "PRESS":
            return self.press(context, event)
        if event.type in {"RET", "NUMPAD_ENTER"} and event.value == "PRESS":
            return self.keep(context)
        return {"PASS_THROUGH"} if event.type != "LEFTMOUSE" else {"RUNNING_MODAL"}

    def press(self, context, event):
        """Takes a click; one beside both meshes is reported."""
        view = viewing.view_under_mouse(context, event)
        if view is None:
            return {"PASS_THROUGH"}
        if not self.pairs.click(*view.ray()):
            report(self, {"WARNING"}, "There is neither of the two meshes under the mouse: click on one of them.")
        self.show_status()
        return {"RUNNING_MODAL"}

    def take_back(self):
        self.pairs.take_back()
        self.show_status()

    def keep(self, context):
        """Ends the tool with its result."""
        try:
            text = self.finish(context)
        except EXPECTED_ERRORS as error:
            report(self, {"WARNING"}, sentence(str(error)))
            return {"RUNNING_MODAL"}
        self.end(context)
        return self.report_success(self._stand.obj, text)

    def finish(self, context) -> str:
        """Does what the pairs are for, and returns the message."""
        raise NotImplementedError
