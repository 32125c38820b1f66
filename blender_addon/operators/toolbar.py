# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools in the toolbar of the 3D view, shown only while they have something to work on.

Blender keeps its tools in lists, in which a function may stand for the tools that it returns for a context. Each of our
tools is put behind such a function. In a Blender version that keeps them otherwise, the tools are always shown.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy

#: Modes of the 3D view in which our tools stand, and what is added to their names there.
MODES = {"OBJECT": "", "POSE": "_pose"}

#: Tools behind a function, by class: (the list they are in, the function).
_gated_tools: dict[type, tuple[list, Callable]] = {}


def tools(name: str, label: str, operator: str, description: str) -> tuple[type, ...]:
    """Returns the classes of a tool, one a mode, that starts an operator by a press with and without Shift."""
    press = {"type": "LEFTMOUSE", "value": "PRESS"}
    members = {
        "bl_space_type": "VIEW_3D",
        "bl_label": label,
        "bl_description": description,
        "bl_icon": "ops.transform.push_pull",
        "bl_widget": None,
        "bl_keymap": ((operator, press, None), (operator, {**press, "shift": True}, None)),
    }
    return tuple(
        type(
            f"THEW_TOOL_{name}{added}",
            (bpy.types.WorkSpaceTool,),
            {**members, "bl_context_mode": mode, "bl_idname": f"thew.{name}_tool{added}"},
        )
        for mode, added in MODES.items()
    )


def add(tools: tuple, poll: Callable[[bpy.types.Context], bool]) -> None:
    """Adds a group of tools to the toolbar. `poll` decides whether they are shown."""
    if bpy.app.background:
        return
    for tool in tools:
        bpy.utils.register_tool(tool, after={"builtin.transform"})
        gate(tool, poll)


def remove(tools: tuple) -> None:
    """Removes a group of tools from the toolbar."""
    if bpy.app.background:
        return
    for tool in reversed(tools):
        ungate(tool)
        bpy.utils.unregister_tool(tool)


def gate(tool: type, poll: Callable[[bpy.types.Context], bool]) -> None:
    """Shows a registered tool only where `poll` returns true."""
    try:
        from bl_ui.space_toolsystem_common import ToolSelectPanelHelper

        bar = ToolSelectPanelHelper._tool_class_from_space_type(tool.bl_space_type)
        listed, own = bar._tools[tool.bl_context_mode], tool._bl_tool
        place = listed.index(own)
    except (ImportError, AttributeError, KeyError, ValueError):
        return

    def drawn_if_polled(context):
        return (None, own) if context is None or poll(context) else ()

    listed[place] = drawn_if_polled
    _gated_tools[tool] = listed, drawn_if_polled


def ungate(tool: type) -> None:
    """Puts a tool back into its list, from which Blender removes it."""
    listed, shown = _gated_tools.pop(tool, (None, None))
    if listed is not None and shown in listed:
        listed[listed.index(shown)] = tool._bl_tool
