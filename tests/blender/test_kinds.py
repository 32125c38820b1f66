# SPDX-License-Identifier: GPL-3.0-or-later
"""The kind of character: saved, and heeded by the automatic map; what does not belong to the body does not count for its size."""

from __future__ import annotations

import bpy
import numpy as np
from helpers import flesh_of, part, play

FRAMES = range(1, 13)


def test_kind_changes_motion(fleshed_character):
    """Another kind changes the flesh map and the motion, and the first kind gives the first motion back."""
    body, _ = fleshed_character
    assert body.thew.kind == "AUTOMATIC"
    live = play(body, FRAMES)
    body.thew.enabled = False
    skin = play(body, FRAMES)
    body.thew.enabled = True
    body.thew.kind = "ROBOT"
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert np.asarray(flesh_of(body).body.flesh).max() < 0.03
    assert part("scene.flesh_map").read(body, "Flesh").max() < 0.03, "the group is filled with the new map"
    hard = play(body, FRAMES)
    assert np.abs(hard - skin).max() < 0.1 * np.abs(live - skin).max()
    body.thew.kind = "AUTOMATIC"
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_kind_items_known_to_core(fleshed_character):
    """The core builds flesh for each kind of the menu; files store their identifiers, which never change."""
    body, _ = fleshed_character
    items = type(body.thew).bl_rna.properties["kind"].enum_items
    names = [item.identifier for item in items]
    assert names == ["AUTOMATIC", "HUMAN", "ANIMAL", "TOON", "INSECT", "ROBOT"], "saved in files: never another"
    for name in names:
        body.thew.kind = name
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        values = np.asarray(flesh_of(body).body.flesh)
        assert values.min() >= 0.0 and values.max() <= 1.0


def test_longest_side_ignores_props(character):
    """Distant props and sky domes do not change the height of the character, but a close part does."""
    body, armature = character
    found = part("scene.reading").subject(body, bpy.context.view_layer)
    longest_side = part("scene.character").longest_side
    alone = longest_side(found, bpy.context.scene)
    for place, scale in ((30.0, 1.0), (0.0, 100.0)):
        bpy.ops.mesh.primitive_cube_add(size=1.0, location=(place, 0.0, 0.0))
        prop = bpy.context.object
        prop.scale = (scale,) * 3
        prop.modifiers.new("Armature", "ARMATURE").object = armature
        bpy.context.view_layer.update()
        assert longest_side(found, bpy.context.scene) == alone
    hat = bpy.data.objects.new("Hat", body.data.copy())
    hat.location = (0.0, 0.0, 1.0)
    bpy.context.scene.collection.objects.link(hat)
    hat.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.update()
    assert longest_side(found, bpy.context.scene) > alone + 0.5
