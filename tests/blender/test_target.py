# SPDX-License-Identifier: GPL-3.0-or-later
"""Which mesh the buttons work on: the active one, or that of the active armature, or of the empty that it hangs on."""

from __future__ import annotations

import bpy
from helpers import Layout, activate, make_body, make_character, part, refusal


def test_operators_from_armature(character):
    """All operators work while the armature is active."""
    body, armature = character
    activate(armature)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert body.thew.made.flesh and not armature.thew.made.flesh
    assert bpy.context.view_layer.objects.active == armature
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert bpy.ops.thew.rig_add(bone="Spine") == {"FINISHED"} and len(body.thew.rigs) == 1
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert bpy.ops.thew.remove(remove_baked_keys=True, remove_rigs=True) == {"FINISHED"}
    assert not body.thew.made.flesh and armature.mode == "POSE"
    bpy.ops.object.mode_set(mode="OBJECT")


def test_operators_from_parent_empty(character):
    """An active empty that the armature hangs on, as glTF importers leave it, stands for the character."""
    (body, armature), target = character, part("live.target")
    empties = [bpy.data.objects.new(f"Empty {i}", None) for i in range(3)]
    for empty in empties:
        bpy.context.scene.collection.objects.link(empty)
    armature.parent, empties[0].parent = empties[0], empties[1]
    activate(empties[2])
    assert target.target_mesh(bpy.context) == empties[2] and not bpy.types.THEW_PT_physics.poll(bpy.context)
    activate(empties[1])
    assert target.target_mesh(bpy.context) == body and bpy.types.THEW_PT_physics.poll(bpy.context)
    assert bpy.ops.thew.add() == {"FINISHED"} and body.thew.made.flesh
    body.thew.softness = 0.4
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert bpy.ops.thew.paint_flesh(map="FLESH") == {"FINISHED"} and body.mode == "WEIGHT_PAINT"


def test_target_among_meshes(scene):
    """One of several meshes is chosen for the armature, the largest first."""
    body, armature = make_character()
    other = make_body(armature, name="Other", rings=19)
    target = part("live.target")
    activate(armature)
    assert target.target_mesh(bpy.context) == other  # the larger one, while none has flesh
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"} and other.thew.made.flesh
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    activate(armature)
    layout = Layout()
    part("ui.panels").draw_target(layout, bpy.context, other)
    assert ("prop", "chosen", "") in layout.seen
    assert target.target_mesh(bpy.context) == other
    armature.thew.chosen = body
    assert target.target_mesh(bpy.context) == body
    assert bpy.ops.thew.remove() == {"FINISHED"} and not body.thew.made.flesh and other.thew.made.flesh
    armature.thew.chosen = body
    body.modifiers.clear()
    assert target.target_mesh(bpy.context) == other
    bpy.data.objects.remove(body)
    assert target.target_mesh(bpy.context) == other and armature.thew.chosen is None
    bpy.data.objects.remove(other)
    assert target.target_mesh(bpy.context) == armature
    assert "moves no mesh" in refusal(bpy.ops.thew.add)
