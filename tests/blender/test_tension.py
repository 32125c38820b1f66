# SPDX-License-Identifier: GPL-3.0-or-later
"""The attribute Tension: what the skin that is shown has, live, and what a wrinkle material reads."""

from __future__ import annotations

import bpy
import numpy as np
from helpers import evaluated_positions, part, play, snapshot

FRAMES = range(1, 21)


def tension_of(obj) -> np.ndarray | None:
    """Returns the attribute of the evaluated mesh; None without it."""
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    if "Tension" not in mesh.attributes:
        return None
    values = np.empty(len(mesh.vertices), dtype=np.float32)
    mesh.attributes["Tension"].data.foreach_get("value", values)
    return values


def plain_shape(obj, frame: int) -> np.ndarray:
    """Returns the skin without flesh at a frame."""
    mine = next(each for each in obj.modifiers if each.type == "NODES")
    mine.show_viewport = False
    bpy.context.scene.frame_set(frame)
    shape = evaluated_positions(obj)
    mine.show_viewport = True
    return shape


def test_tension_live(fleshed_character):
    """The attribute is the native core's tension of what is shown, for each frame; the shape stays as it is."""
    body, _ = fleshed_character
    thew = part("logic.native").core()
    live = play(body, FRAMES)
    assert tension_of(body) is None
    body.thew.store_tension = True
    assert np.array_equal(play(body, FRAMES), live)
    edges = np.array([edge.vertices for edge in body.data.edges])
    largest = 0.0
    for frame in (4, 9, 15):
        bpy.context.scene.frame_set(frame)
        found = tension_of(body)
        wanted = thew.tension(edges, plain_shape(body, frame), live[frame - 1])
        assert np.abs(found - wanted).max() < 1e-5
        largest = max(largest, np.abs(wanted).max())
    assert largest > 0.01
    body.thew.store_tension = False
    bpy.context.scene.frame_set(9)
    assert tension_of(body) is None


def test_tension_material(fleshed_character):
    """The operator makes a material with bumps by the attribute, and Remove takes the attribute away."""
    body, _ = fleshed_character
    assert bpy.ops.thew.add_wrinkle_material() == {"FINISHED"}
    material = body.data.materials[0]
    kinds = {node.type for node in material.node_tree.nodes}
    assert {"BUMP", "ATTRIBUTE"} <= kinds and body.thew.store_tension
    bpy.context.scene.frame_set(9)
    assert tension_of(body) is not None
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert tension_of(body) is None and not len(bpy.data.node_groups)
    assert snapshot(body)["attributes"] == [each for each in snapshot(body)["attributes"] if each[0] != "Tension"]


def test_tension_in_usd(fleshed_character, tmp_path):
    """The attribute is baked along into USD."""
    body, _ = fleshed_character
    bpy.context.scene.frame_end = 10
    body.thew.store_tension = True
    bpy.context.scene.frame_set(9)
    wanted = tension_of(body)
    assert bpy.ops.thew.export_cache(format="USD", filepath=str(tmp_path / "a.usdc")) == {"FINISHED"}
    known = set(bpy.data.objects)
    bpy.ops.wm.usd_import(filepath=str(tmp_path / "a.usdc"))
    back = next(obj for obj in set(bpy.data.objects) - known if obj.type == "MESH")
    bpy.context.scene.frame_set(9)
    assert np.abs(tension_of(back) - wanted).max() < 1e-5
