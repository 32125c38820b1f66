# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the operators on the rigs of a character."""

from __future__ import annotations

from ..live import jobs, target
from ..logic.errors import Refusal
from ..logic.sentences import plural
from ..rigs import rigging
from ..saved import rig_layouts
from ..scene import reading
from .shell import Job


class Edit(Job):
    """An operator on the rigs of the active object that runs at once. A subclass defines `edit(context, obj)`."""

    needs_flesh = False

    def invoke(self, context, _event):
        return self.execute(context)

    def execute(self, context):
        obj = target.of(context)
        try:
            if self.needs_flesh:
                jobs.check_flesh(obj)
            else:
                reading.check_editable(obj)
            rig_layouts.migrate(obj)
            result = self.edit(context, obj)
            rigging.shown(context, obj)
        except Exception as error:
            return self.refuse(obj, error)
        return self.done(obj, result)

    def edit(self, context, obj) -> str:
        """Does the edit and returns the message for the artist."""
        raise NotImplementedError

    def said(self, _obj, result):
        return result or ""

    def place(self, obj) -> int:
        """Returns the list index of the rig to work on: `index`, or the active one if that is negative."""
        index = obj.thew.active_rig if self.index < 0 else self.index
        if not len(obj.thew.rigs):
            raise Refusal(f"“{obj.name}” has no rigs: add one first")
        if not 0 <= index < len(obj.thew.rigs):
            count = plural(len(obj.thew.rigs), "rig")
            raise Refusal(f"“{obj.name}” has no rig {index}: it has {count}")
        return index
