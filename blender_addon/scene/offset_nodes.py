# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that read a vertex's offset and the frame it belongs to: from attributes of the mesh, or from a holder.

A holder is an object in no scene with a point for each vertex, whose position is the offset. It serves meshes that belong to a library,
which hold no attributes of this file. Points are found by their index, so a mesh with another number of vertices shows its plain skin.
"""

from __future__ import annotations

import bpy

OFFSET = "thew_offset"
FRAME = "thew_frame"
#: Name of the tree's input for the holder, and custom property of the tree with the identifier of that.
HOLDER_INPUT, HOLDER_IDENTIFIER = "Offsets", "thew_holder_input"
#: Added to the layout of a tree that reads a holder.
HOLDER_LAYOUT = 10000
#: Frames nearer than this are one. Blender merges keyframes that are as near.
FRAME_TOLERANCE = 0.01


def holder_input(group: bpy.types.NodeTree | None) -> str:
    """Returns the identifier of a tree's input for the holder; "" where it has none."""
    return "" if group is None else str(group.get(HOLDER_IDENTIFIER, ""))


def input_object(modifier: bpy.types.Modifier, name: str) -> bpy.types.Object | None:
    """Returns the object in an input of a modifier of nodes."""
    socket = _input_socket(modifier, name)
    return modifier.get(name) if socket is None else socket.value


def set_input_object(modifier: bpy.types.Modifier, name: str, obj: bpy.types.Object | None) -> None:
    """Puts an object into an input of a modifier of nodes."""
    socket = _input_socket(modifier, name)
    if socket is None:
        modifier[name] = obj
    else:
        socket.value = obj


def _input_socket(modifier: bpy.types.Modifier, name: str):
    """Returns an input of a modifier as Blender has it from 5.2 on; None where inputs are custom properties."""
    return getattr(getattr(getattr(modifier, "properties", None), "inputs", None), name, None)


def add_holder_input(group: bpy.types.NodeTree) -> None:
    """Adds the input for the holder to a new tree."""
    socket = group.interface.new_socket(HOLDER_INPUT, in_out="INPUT", socket_type="NodeSocketObject")
    group[HOLDER_IDENTIFIER] = socket.identifier


def offset_sockets(group: bpy.types.NodeTree, source: bpy.types.Node, held: bool) -> tuple:
    """Builds the nodes that read the offsets; returns the sockets (offset, whether it belongs to the evaluated frame).

    `source`: the tree's input node; `held`: the offsets are in a holder.
    """
    now, same = _node(group, "GeometryNodeInputSceneTime", -400, 50), _node(group, "FunctionNodeCompare", -200, 0)
    same.data_type, same.operation = "FLOAT", "EQUAL"
    same.inputs["Epsilon"].default_value = FRAME_TOLERANCE
    both = _node(group, "FunctionNodeBooleanMath", 0, 0)
    both.operation = "AND"
    group.links.new(now.outputs["Frame"], same.inputs[0])
    group.links.new(same.outputs[0], both.inputs[0])
    frame = _attribute(group, FRAME, "FLOAT", -400, -100)
    if not held:
        offset = _attribute(group, OFFSET, "FLOAT_VECTOR", 0, -300)
        group.links.new(frame.outputs["Attribute"], same.inputs[1])
        group.links.new(frame.outputs["Exists"], both.inputs[1])
        return offset.outputs["Attribute"], both.outputs[0]
    holder = _node(group, "GeometryNodeObjectInfo", -600, -400)
    group.links.new(source.outputs[HOLDER_INPUT], holder.inputs["Object"])
    points = holder.outputs["Geometry"]
    position, index = (
        _node(group, "GeometryNodeInputPosition", -400, -300),
        _node(group, "GeometryNodeInputIndex", -400, -500),
    )
    offset = _sample(group, points, position.outputs[0], "FLOAT_VECTOR", 0, -300)
    group.links.new(index.outputs[0], offset.inputs["Index"])
    # All points have the same frame: the first one's will do.
    group.links.new(_sample(group, points, frame.outputs["Attribute"], "FLOAT", -200, -150).outputs[0], same.inputs[1])
    group.links.new(_same_count(group, source.outputs[0], points), both.inputs[1])
    return offset.outputs[0], both.outputs[0]


def _same_count(group: bpy.types.NodeTree, geometry, points):
    """Builds the test whether two geometries have equally many points; returns its socket."""
    equal = _node(group, "FunctionNodeCompare", -200, -650)
    equal.data_type, equal.operation = "INT", "EQUAL"
    inputs = [socket for socket in equal.inputs if socket.type == "INT"]
    for each, into in zip((geometry, points), inputs, strict=True):
        count = _node(group, "GeometryNodeAttributeDomainSize", -400, -650)
        group.links.new(each, count.inputs["Geometry"])
        group.links.new(count.outputs["Point Count"], into)
    return equal.outputs[0]


def _sample(group: bpy.types.NodeTree, geometry, value, kind: str, x: float, y: float) -> bpy.types.Node:
    node = _node(group, "GeometryNodeSampleIndex", x, y)
    node.data_type = kind
    group.links.new(geometry, node.inputs["Geometry"])
    group.links.new(value, node.inputs["Value"])
    return node


def _attribute(group: bpy.types.NodeTree, name: str, kind: str, x: float, y: float) -> bpy.types.Node:
    node = _node(group, "GeometryNodeInputNamedAttribute", x, y)
    node.data_type = kind
    node.inputs["Name"].default_value = name
    return node


def _node(group: bpy.types.NodeTree, kind: str, x: float, y: float) -> bpy.types.Node:
    node = group.nodes.new(kind)
    node.location = (x, y)
    return node
