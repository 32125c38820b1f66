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


def is_browsing() -> bool:
    """Returns whether a window plays the animation, or the mouse drags the current frame."""
    windows = bpy.context.window_manager.windows
    return is_playing() or any(
        each.bl_idname == "ANIM_OT_change_frame" for window in windows for each in window.modal_operators
    )


def is_stroking() -> bool:
    """Returns whether a brush is on the mesh in some window: its paint is read when the stroke ends."""
    windows = bpy.context.window_manager.windows
    return any(running.bl_idname.startswith("PAINT_OT") for window in windows for running in window.modal_operators)


def redraw() -> None:
    """Marks panels, views and timelines for redraw, and file browsers, where the check before exports stands."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in {"VIEW_3D", "PROPERTIES", "FILE_BROWSER", "DOPESHEET_EDITOR"}:
                area.tag_redraw()
