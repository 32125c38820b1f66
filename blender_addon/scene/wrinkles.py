# SPDX-License-Identifier: GPL-3.0-or-later
"""A material with wrinkles where the skin is compressed: noise as bumps, as strong as the attribute Tension says."""

from __future__ import annotations

import bpy

from .tension_nodes import TENSION

NAME = "Thew Wrinkles"
#: Compression at which wrinkles are full: skin at 0.8 of its length folds visibly.
FULL_COMPRESSION = -0.2
#: Compression at which they begin, so that skin at rest stays smooth.
FIRST_COMPRESSION = -0.02
#: Wrinkles on a unit of the object's generated space, and their depth in units of the scene.
WRINKLES, DEPTH = 60.0, 0.02


def add_material(obj: bpy.types.Object) -> bpy.types.Material:
    """Makes the material and gives it to an object: to its active slot where that is empty, else to a new slot."""
    material = make_material()
    slot = obj.material_slots[obj.active_material_index] if len(obj.material_slots) else None
    if slot is not None and slot.material is None:
        slot.material = material
    else:
        obj.data.materials.append(material)
    return material


def make_material() -> bpy.types.Material:
    """Builds the material."""
    material = bpy.data.materials.new(NAME)
    material.use_nodes = True
    tree = material.node_tree
    nodes, links = tree.nodes, tree.links
    surface = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")

    def place(kind: str, x: float, y: float):
        node = nodes.new(kind)
        node.location = (surface.location.x + x, surface.location.y + y)
        return node

    tension, strength = place("ShaderNodeAttribute", -1000, 0), place("ShaderNodeMapRange", -800, 0)
    tension.attribute_name = TENSION
    for name, value in (
        ("From Min", FIRST_COMPRESSION),
        ("From Max", FULL_COMPRESSION),
        ("To Min", 0.0),
        ("To Max", 1.0),
    ):
        strength.inputs[name].default_value = value
    where, noise = place("ShaderNodeTexCoord", -1000, -300), place("ShaderNodeTexNoise", -800, -300)
    noise.inputs["Scale"].default_value = WRINKLES
    height, bump = place("ShaderNodeMath", -600, -100), place("ShaderNodeBump", -300, -200)
    height.operation = "MULTIPLY"
    bump.inputs["Distance"].default_value = DEPTH
    links.new(tension.outputs["Fac"], strength.inputs["Value"])
    links.new(where.outputs["Generated"], noise.inputs["Vector"])
    links.new(strength.outputs["Result"], height.inputs[0])
    links.new(noise.outputs[0], height.inputs[1])
    links.new(height.outputs[0], bump.inputs["Height"])
    links.new(bump.outputs["Normal"], surface.inputs["Normal"])
    return material
