# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes on in Blender's windows."""

from __future__ import annotations

import bpy


def headless() -> bool:
    """Whether there is no window, and so no timer that ticks."""
    return bpy.app.background


def playing() -> bool:
    """Whether a window plays the animation."""
    return any(window.screen.is_animation_playing for window in bpy.context.window_manager.windows)


def stroking() -> bool:
    """Whether a brush is on the mesh in some window: what it paints is read when the stroke ends."""
    windows = bpy.context.window_manager.windows
    return any(running.bl_idname.startswith("PAINT_OT") for window in windows for running in window.modal_operators)


def redraw() -> None:
    """Let panels and views show what is new."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in {"VIEW_3D", "PROPERTIES"}:
                area.tag_redraw()
