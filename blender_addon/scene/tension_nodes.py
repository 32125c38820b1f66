# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that store the skin's tension, in the tree that adds the flesh.

The tension of a vertex is the mean length of its edges with the flesh, divided by that on the plain skin, less 1: the same as
`thew.tension`. It is computed where the flesh is added, so it belongs to every frame that is shown, rendered or exported. Baked keys have
a tree of their own, which compares the mesh with its rest positions.
"""

from __future__ import annotations

import bpy

#: Name of the attribute, a number at each point.
TENSION = "Tension"
#: Added to the layout of a tree with these nodes.
TENSION_LAYOUT = 1000
#: Custom property of the trees for baked keys; its value is the version of their layout.
KEYED_MARK, KEYED_LAYOUT = "thew_keyed_tension", 1
#: Name of the modifier with such a tree, and of the tree.
KEYED_NAME = "Thew Tension"
#: Attribute with the vertices before shape keys, which Blender makes for objects with `add_rest_position_attribute`.
REST_POSITION = "rest_position"


def store(group: bpy.types.NodeTree, geometry, value):
    """Stores a field as the attribute, and returns the geometry with it."""
    node = group.nodes.new("GeometryNodeStoreNamedAttribute")
    node.data_type, node.domain = "FLOAT", "POINT"
    node.inputs["Name"].default_value = TENSION
    group.links.new(geometry, node.inputs["Geometry"])
    group.links.new(value, node.inputs["Value"])
    return node.outputs["Geometry"]


def mean_length(group: bpy.types.NodeTree, positions=None):
    """Returns the field of the mean length of a vertex's edges. An edge's length, evaluated at points, is the mean of their edges'.

    `positions`: field of points that are taken instead of the vertices.
    """
    edge = group.nodes.new("GeometryNodeInputMeshEdgeVertices")
    length = group.nodes.new("ShaderNodeVectorMath")
    length.operation = "DISTANCE"
    for end in (1, 2):
        point = edge.outputs[f"Position {end}"]
        if positions is not None:
            at = group.nodes.new("GeometryNodeFieldAtIndex")
            at.data_type, at.domain = "FLOAT_VECTOR", "POINT"
            group.links.new(edge.outputs[f"Vertex Index {end}"], at.inputs["Index"])
            group.links.new(positions, at.inputs["Value"])
            point = at.outputs[0]
        group.links.new(point, length.inputs[end - 1])
    field = group.nodes.new("GeometryNodeFieldOnDomain")
    field.data_type, field.domain = "FLOAT", "EDGE"
    group.links.new(length.outputs["Value"], field.inputs[0])
    return field.outputs[0]


def relative(group: bpy.types.NodeTree, shown, plain):
    """Returns the field `shown / plain - 1`, and 0 where `plain` is 0."""
    more, share = group.nodes.new("ShaderNodeMath"), group.nodes.new("ShaderNodeMath")
    more.operation, share.operation = "SUBTRACT", "DIVIDE"
    group.links.new(shown, more.inputs[0])
    group.links.new(plain, more.inputs[1])
    group.links.new(more.outputs[0], share.inputs[0])
    group.links.new(plain, share.inputs[1])
    return share.outputs[0]


def attribute(group: bpy.types.NodeTree, name: str, kind: str):
    """Returns the field of a named attribute."""
    node = group.nodes.new("GeometryNodeInputNamedAttribute")
    node.data_type = kind
    node.inputs["Name"].default_value = name
    return node.outputs["Attribute"]


def store_plain(group: bpy.types.NodeTree, geometry):
    """Stores the mean lengths on the plain skin, for `store_tension`."""
    return store(group, geometry, mean_length(group))


def store_tension(group: bpy.types.NodeTree, geometry):
    """Replaces the mean lengths by the tension, 0 at vertices without edges."""
    return store(group, geometry, relative(group, mean_length(group), attribute(group, TENSION, "FLOAT")))


# baked keys -----------------------------------------------------------------------------------------------------------


def stores_only(modifier: bpy.types.Modifier) -> bool:
    """Returns whether a modifier is the one that stores the tension of baked keys, and moves no vertex."""
    return modifier.type == "NODES" and modifier.node_group is not None and KEYED_MARK in modifier.node_group.keys()


def keyed_tree() -> bpy.types.NodeTree:
    """Returns the tree that compares the mesh with its rest positions, made if the file has none. It needs no extension."""
    for group in bpy.data.node_groups:
        if group.get(KEYED_MARK) == KEYED_LAYOUT and group.library is None:
            return group
    group = bpy.data.node_groups.new(KEYED_NAME, "GeometryNodeTree")
    group[KEYED_MARK] = KEYED_LAYOUT
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    source, sink = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    plain = mean_length(group, attribute(group, REST_POSITION, "FLOAT_VECTOR"))
    stored = store(group, source.outputs[0], relative(group, mean_length(group), plain))
    group.links.new(stored, sink.inputs[0])
    for index, node in enumerate(group.nodes):
        node.location = (180 * (index % 6), -220 * (index // 6))
    return group
