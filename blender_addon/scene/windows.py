# SPDX-License-Identifier: GPL-3.0-or-later
"""State of Blender's windows."""

from __future__ import annotations

import bpy


def is_headless() -> bool:
    """Returns whether Blender has no window, and so no timer that ticks."""
    return bpy.app.background


def is_playing() -> bool:
    """Returns whether a window plays the animation."""
    return any(window.screen.is_animation_playing for window in bpy.context.window_manager.windows)


def is_stroking() -> bool:
    """Returns whether a brush is on the mesh in some window: its paint is read when the stroke ends."""
    windows = bpy.context.window_manager.windows
    return any(running.bl_idname.startswith("PAINT_OT") for window in windows for running in window.modal_operators)


def redraw() -> None:
    """Marks panels and views for redraw, and file browsers, where the check before exports stands."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in {"VIEW_3D", "PROPERTIES", "FILE_BROWSER"}:
                area.tag_redraw()
