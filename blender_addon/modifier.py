# SPDX-License-Identifier: GPL-3.0-or-later
"""The deformer: a Geometry Nodes modifier in the place of the Armature modifier.

The Armature modifier is kept, switched off, right behind it. Modifiers are told apart by their persistent ids, so that
renaming and moving them is harmless. Two node trees, made here, serve every object of a file:

- *Thew*: every vertex goes to the attribute `thew_position`;
- *Thew With Shape Keys*: the same, plus what shape keys and modifiers before it did to the vertex, turned by the
  vertex's blended skin matrix, whose columns are the attributes `thew_x`, `thew_y`, `thew_z`:
  `thew_position + [thew_x thew_y thew_z] (position - thew_rest)`.
"""

from __future__ import annotations

import bpy
import numpy as np

from .logic.errors import Refusal
from .reading import describe

POSITION = "thew_position"
REST = "thew_rest"
COLUMNS = ("thew_x", "thew_y", "thew_z")
ATTRIBUTES = (POSITION, REST, *COLUMNS)
NAME = "Thew"
#: Marks the node trees made here; its value is the version of their layout.
MARK = "thew_tree"
PLAIN, WITH_KEYS = 1, 2


# switching modifiers ------------------------------------------------------------------------------------------------


def by_id(obj: bpy.types.Object, uid: int) -> bpy.types.Modifier | None:
    """The modifier with that persistent id."""
    return next((m for m in obj.modifiers if uid and m.persistent_uid == uid), None)


def switch_off(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> None:
    """Switch `modifier` off and note how it was found, once."""
    made = obj.thew.made
    noted = {int(entry.split(":")[0]) for entry in made.found.split()}
    if modifier.persistent_uid not in noted:
        note = f"{modifier.persistent_uid}:{int(modifier.show_viewport)}:{int(modifier.show_render)}"
        made.found = f"{made.found} {note}".strip()
    set_shown(modifier, False, False)


def put_back(obj: bpy.types.Object, uid: int) -> None:
    """Switch a modifier back to how it was found and forget the note."""
    made = obj.thew.made
    kept = []
    for entry in made.found.split():
        noted, viewport, render = (int(part) for part in entry.split(":"))
        if noted != uid:
            kept.append(entry)
            continue
        modifier = by_id(obj, uid)
        if modifier is not None:
            set_shown(modifier, bool(viewport), bool(render))
    made.found = " ".join(kept)


def noted_ids(obj: bpy.types.Object) -> list[int]:
    """Persistent ids of the modifiers that Thew switched off."""
    return [int(entry.split(":")[0]) for entry in obj.thew.made.found.split()]


def set_shown(modifier: bpy.types.Modifier, viewport: bool, render: bool) -> None:
    """Set both switches, touching only what differs (each touch re-evaluates the object)."""
    if modifier.show_viewport != viewport:
        modifier.show_viewport = viewport
    if modifier.show_render != render:
        modifier.show_render = render


# Thew's own modifier ------------------------------------------------------------------------------------------------


def insert(obj: bpy.types.Object, armature_modifier: bpy.types.Modifier, kind: int) -> bpy.types.Modifier:
    """Put Thew's modifier where the Armature modifier is, and switch that one off."""
    made = obj.thew.made
    active = obj.modifiers.active
    made.found_active = active.persistent_uid if active else 0
    made.armature_modifier = armature_modifier.persistent_uid
    modifier = obj.modifiers.new(NAME, "NODES")
    made.modifier = modifier.persistent_uid
    modifier.node_group = tree(kind)
    modifier.show_expanded = False
    obj.modifiers.move(_index(obj, made.modifier), _index(obj, made.armature_modifier))
    switch_off(obj, by_id(obj, made.armature_modifier))
    return by_id(obj, made.modifier)


def check_place(obj: bpy.types.Object, armature_modifier: bpy.types.Modifier) -> None:
    """Refuse where Blender lets no deformer of ours stand at the Armature modifier's place; leaves no trace."""
    active, wanted = obj.modifiers.active, armature_modifier.persistent_uid
    active = active.persistent_uid if active else 0
    trial = obj.modifiers.new(NAME, "NODES").persistent_uid
    try:
        obj.modifiers.move(_index(obj, trial), _index(obj, wanted))
    except RuntimeError as error:
        after = [m for m in obj.modifiers if m.type in ORIGINAL_DATA]
        which = f"The modifier “{after[0].name}”" if after else "A modifier"
        raise Refusal(
            f"{which} of {describe(obj)} only works on the mesh itself, and Thew cannot stand before it: apply or remove it"
        ) from error
    finally:
        obj.modifiers.remove(by_id(obj, trial))
        if by_id(obj, active) is not None:
            obj.modifiers.active = by_id(obj, active)


#: Modifiers that no deforming one but the Armature modifier may stand before.
ORIGINAL_DATA = {"SOFT_BODY", "MULTIRES", "PARTICLE_SYSTEM", "COLLISION"}


def _index(obj: bpy.types.Object, uid: int) -> int:
    """Where the modifier with a persistent id stands: one that is pinned to the end lets none behind it."""
    return next(i for i, m in enumerate(obj.modifiers) if m.persistent_uid == uid)


def remove(obj: bpy.types.Object) -> None:
    """Take Thew's modifier and its attributes away and put every switched modifier back."""
    made = obj.thew.made
    modifier = by_id(obj, made.modifier)
    if modifier is not None:
        obj.modifiers.remove(modifier)
    for uid in noted_ids(obj):
        put_back(obj, uid)
    active = by_id(obj, made.found_active)
    if active is not None:
        obj.modifiers.active = active
    remove_attributes(obj)
    for group in [g for g in bpy.data.node_groups if g.get(MARK) and g.users == 0]:
        bpy.data.node_groups.remove(group)


def tree(kind: int) -> bpy.types.NodeTree:
    """The node tree of `kind`, made when the file has none yet."""
    for group in bpy.data.node_groups:
        if group.get(MARK) == kind and group.library is None:
            return group
    return make_tree(kind)


def make_tree(kind: int) -> bpy.types.NodeTree:
    """A new node tree of `kind`. Vertices stay where they are while the attribute is missing."""
    group = bpy.data.node_groups.new(NAME if kind == PLAIN else f"{NAME} With Shape Keys", "GeometryNodeTree")
    group[MARK] = kind
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    nodes, links = group.nodes, group.links

    def place(kind_: str, x: float, y: float):
        node = nodes.new(kind_)
        node.location = (x, y)
        return node

    def attribute(name: str, x: float, y: float):
        node = place("GeometryNodeInputNamedAttribute", x, y)
        node.data_type = "FLOAT_VECTOR"
        node.inputs["Name"].default_value = name
        return node

    def vector(operation: str, x: float, y: float, *inputs):
        node = place("ShaderNodeVectorMath", x, y)
        node.operation = operation
        slots = [s for s in node.inputs if s.enabled]
        for slot, source in zip(slots, inputs, strict=False):
            links.new(source, slot)
        return node.outputs["Vector"]

    source, sink = place("NodeGroupInput", -200, 200), place("NodeGroupOutput", 1000, 100)
    target = attribute(POSITION, -200, 0)
    move = place("GeometryNodeSetPosition", 800, 100)
    goal = target.outputs["Attribute"]
    if kind == WITH_KEYS:
        here = place("GeometryNodeInputPosition", -600, -200).outputs["Position"]
        rest = attribute(REST, -600, -300)
        offset = vector("SUBTRACT", -400, -200, here, rest.outputs["Attribute"])
        parts = place("ShaderNodeSeparateXYZ", -200, -200)
        links.new(offset, parts.inputs[0])
        for i, name in enumerate(COLUMNS):
            column = attribute(name, -200, -350 - 150 * i).outputs["Attribute"]
            turned = place("ShaderNodeVectorMath", 50, -200 - 150 * i)
            turned.operation = "SCALE"
            links.new(column, turned.inputs[0])
            links.new(parts.outputs[i], turned.inputs["Scale"])
            goal = vector("ADD", 250 + 150 * i, 0 - 50 * i, goal, turned.outputs["Vector"])
    links.new(source.outputs[0], move.inputs["Geometry"])
    links.new(target.outputs["Exists"], move.inputs["Selection"])
    links.new(goal, move.inputs["Position"])
    links.new(move.outputs[0], sink.inputs[0])
    return group


# its attributes -----------------------------------------------------------------------------------------------------


def write(mesh: bpy.types.Mesh, name: str, flat: np.ndarray) -> None:
    """Write a vector per vertex (float32[3 n], contiguous) into the attribute `name`, made when missing."""
    attribute = mesh.attributes.get(name)
    if attribute is None:
        active = mesh.attributes.active.name if mesh.attributes.active else ""
        mesh.attributes.new(name, "FLOAT_VECTOR", "POINT")
        if active and active in mesh.attributes:
            mesh.attributes.active = mesh.attributes[active]
        attribute = mesh.attributes[name]
    attribute.data.foreach_set("vector", flat)


def remove_attributes(obj: bpy.types.Object) -> None:
    """Take away every attribute that Thew made on the mesh."""
    attributes = obj.data.attributes
    active = obj.thew.made.found_attribute
    for name in ATTRIBUTES:
        attribute = attributes.get(name)
        if attribute is not None:
            attributes.remove(attribute)
    if active and active in attributes:
        attributes.active = attributes[active]
