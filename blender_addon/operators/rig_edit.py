# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the operators on the rigs of a character."""

from __future__ import annotations

from ..live import jobs
from ..rigs import rigging
from ..saved import rig_layouts
from ..scene import reading
from .operator_bases import QuickJob, chosen_index


class RigEdit(QuickJob):
    """An operator on the rigs of the active object. A subclass defines `change(context, obj)`."""

    needs_flesh = False

    def edit(self, context, obj):
        if self.needs_flesh:
            jobs.check_flesh(obj)
        else:
            reading.check_editable(obj)
        rig_layouts.migrate(obj)
        result = self.change(context, obj)
        rigging.show_edit(context, obj)
        return result

    def change(self, context, obj) -> str | None:
        """Changes the rigs and returns the message for the artist."""
        raise NotImplementedError

    def place(self, obj) -> int:
        """Returns the list index of the rig to work on: `index`, or the active one if that is negative."""
        return chosen_index(obj, obj.thew.rigs, self.index, obj.thew.active_rig, "rig")
