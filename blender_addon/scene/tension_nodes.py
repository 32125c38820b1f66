# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that store the skin's tension, in the tree that adds the flesh.

The tension of a vertex is the mean length of its edges with the flesh, divided by that on the plain skin, less 1: the same as
`thew.tension`. It is computed where the flesh is added, so it belongs to every frame that is shown, rendered or exported.
"""

from __future__ import annotations

import bpy

#: Name of the attribute, a number at each point.
TENSION = "Tension"
#: Added to the layout of a tree with these nodes.
TENSION_LAYOUT = 1000


def store(group: bpy.types.NodeTree, geometry, value):
    """Stores a field as the attribute, and returns the geometry with it."""
    node = group.nodes.new("GeometryNodeStoreNamedAttribute")
    node.data_type, node.domain = "FLOAT", "POINT"
    node.inputs["Name"].default_value = TENSION
    group.links.new(geometry, node.inputs["Geometry"])
    group.links.new(value, node.inputs["Value"])
    return node.outputs["Geometry"]


def mean_length(group: bpy.types.NodeTree):
    """Returns the field of the mean length of a vertex's edges. An edge's length, evaluated at points, is the mean of their edges'."""
    edge = group.nodes.new("GeometryNodeInputMeshEdgeVertices")
    length = group.nodes.new("ShaderNodeVectorMath")
    length.operation = "DISTANCE"
    group.links.new(edge.outputs["Position 1"], length.inputs[0])
    group.links.new(edge.outputs["Position 2"], length.inputs[1])
    field = group.nodes.new("GeometryNodeFieldOnDomain")
    field.data_type, field.domain = "FLOAT", "EDGE"
    group.links.new(length.outputs["Value"], field.inputs[0])
    return field.outputs[0]


def store_plain(group: bpy.types.NodeTree, geometry):
    """Stores the mean lengths on the plain skin, for `store_tension`."""
    return store(group, geometry, mean_length(group))


def store_tension(group: bpy.types.NodeTree, geometry):
    """Replaces the mean lengths by the tension, 0 at vertices without edges."""
    plain = group.nodes.new("GeometryNodeInputNamedAttribute")
    plain.data_type = "FLOAT"
    plain.inputs["Name"].default_value = TENSION
    more, share = group.nodes.new("ShaderNodeMath"), group.nodes.new("ShaderNodeMath")
    more.operation, share.operation = "SUBTRACT", "DIVIDE"
    group.links.new(mean_length(group), more.inputs[0])
    group.links.new(plain.outputs["Attribute"], more.inputs[1])
    group.links.new(more.outputs[0], share.inputs[0])
    group.links.new(plain.outputs["Attribute"], share.inputs[1])
    return store(group, geometry, share.outputs[0])
