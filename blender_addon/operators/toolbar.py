# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools of the 3D view's toolbar, where there is a window."""

from __future__ import annotations

import bpy


def add(tools: tuple) -> None:
    """A group of tools, into the toolbar."""
    if not bpy.app.background:
        for tool in tools:
            bpy.utils.register_tool(tool, after={"builtin.transform"}, separator=tool is tools[0])


def remove(tools: tuple) -> None:
    """Out of the toolbar again."""
    if not bpy.app.background:
        for tool in reversed(tools):
            bpy.utils.unregister_tool(tool)
