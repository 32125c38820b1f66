# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools of ours stand in the toolbar where they have something to work on, and nowhere else."""

from __future__ import annotations

import bpy
import pytest
from bl_ui.space_toolsystem_common import ToolSelectPanelHelper
from helpers import activate, add_rig, part


def tools_in_mode(mode: str) -> list[str]:
    """Returns our tools that the toolbar shows in a mode."""
    bar = ToolSelectPanelHelper._tool_class_from_space_type("VIEW_3D")
    found = ToolSelectPanelHelper._tools_flatten(bar.tools_from_context(bpy.context, mode))
    return [tool.idname for tool in found if tool is not None and tool.idname.startswith("thew.")]


@pytest.fixture
def tools(addon, monkeypatch):
    """Builds the toolbar as in a window."""
    toolbar, operators = part("operators.toolbar"), part("operators")
    monkeypatch.setattr(toolbar, "bpy", WithWindow())
    for group, poll in operators.TOOLS:
        toolbar.add(group, poll)
    yield
    for group, _poll in reversed(operators.TOOLS):
        toolbar.remove(group)


class WithWindow:
    """bpy as it is with a window, as far as the toolbar asks."""

    app = type("app", (), {"background": False})
    utils = bpy.utils


def test_toolbar_shows_usable_tools(scene, tools, fleshed_character):
    """The toolbar shows our tools only where they have something to work on."""
    body, armature = fleshed_character
    assert tools_in_mode("OBJECT") == tools_in_mode("POSE") == []
    add_rig(body, bone="Spine")
    for active in (body, armature):
        activate(active)
        assert tools_in_mode("OBJECT") == ["thew.pull_tool"] and tools_in_mode("POSE") == ["thew.pull_tool_pose"]
    body.thew.method = "modal"
    assert set(tools_in_mode("OBJECT")) == {"thew.pull_tool", "thew.drag_tool"}
    empty = bpy.data.objects.new("Empty", None)
    scene.collection.objects.link(empty)
    activate(empty)
    assert tools_in_mode("OBJECT") == []
    bpy.context.view_layer.objects.active = None
    assert tools_in_mode("OBJECT") == []


def test_toolbar_remove_restores_lists(addon, monkeypatch):
    """Removing our tools restores Blender's lists."""
    bar = ToolSelectPanelHelper._tool_class_from_space_type("VIEW_3D")
    before = {mode: list(found) for mode, found in bar._tools.items()}
    toolbar, operators = part("operators.toolbar"), part("operators")
    monkeypatch.setattr(toolbar, "bpy", WithWindow())
    for group, poll in operators.TOOLS:
        toolbar.add(group, poll)
    assert {mode: list(found) for mode, found in bar._tools.items()} != before
    for group, _poll in reversed(operators.TOOLS):
        toolbar.remove(group)
    assert {mode: list(found) for mode, found in bar._tools.items()} == before
