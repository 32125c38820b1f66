# SPDX-License-Identifier: GPL-3.0-or-later
"""The frames in which flesh begins anew, and the button that adds one."""

from __future__ import annotations

from ..languages.translations import translate
from ..saved.restarts import frames


def draw_restarts(layout, settings, scene) -> None:
    """Draws a button for the current frame, and below it a row for each restart frame."""
    first, last = settings.frames(scene)
    column = layout.column(align=True)
    column.operator("thew.restart_here", icon="PLAY")
    for frame in sorted(frames(settings)):
        row = column.row(align=True)
        where = "" if first <= frame <= last else f", outside frames {first} to {last}"
        row.label(text=translate(f"Begins anew in frame {frame}{where}"))
        row.operator("thew.restart_remove", text="", icon="X").frame = frame
