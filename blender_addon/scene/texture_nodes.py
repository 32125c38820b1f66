# SPDX-License-Identifier: GPL-3.0-or-later
"""The node group that plays a vertex animation texture in Blender, before the armature acts.

It reads two texels a vertex, those of the frames before and after the scene's, and moves the vertex by their mix. Outside the clip
nothing moves. Of a texture with tension it stores the attribute too.
"""

from __future__ import annotations

import bpy

from . import tension_nodes
from .offset_nodes import FRAME_TOLERANCE

#: Custom property of the groups made here; its value is the version of their layout.
GROUP_MARK, GROUP_LAYOUT = "thew_texture", 1
#: Value nodes of a group: see `set_clip`.
VALUES = ("Step", "Start", "Last", "First Row", "Rows per Frame", "Row Step")
#: Names of the nodes that sample the texture.
SAMPLES = ("Here", "Next")
#: Names of the value nodes that decode the tension, in groups that store it: "Tension" is `LEAST + SPAN * alpha`.
SPAN, LEAST = "Tension Scale", "Tension Min"
#: Name of the node that reads the UV layer.
TEXEL = "Texel"


class Builder:
    """Places and links nodes of one group."""

    def __init__(self, group: bpy.types.NodeTree):
        self.group, self.count = group, 0

    def node(self, kind: str, **settings):
        """Returns a new node with these settings."""
        node = self.group.nodes.new(kind)
        node.location = (180 * (self.count % 12), -180 * (self.count // 12))
        self.count += 1
        for name, value in settings.items():
            setattr(node, name, value)
        return node

    def feed(self, node, inputs) -> None:
        """Links sockets to a node's inputs in order; numbers become their values."""
        for socket, each in zip(node.inputs, inputs, strict=False):
            if isinstance(each, bpy.types.NodeSocket):
                self.group.links.new(each, socket)
            else:
                socket.default_value = each

    def math(self, operation: str, *inputs):
        """Returns the result of a Math node."""
        node = self.node("ShaderNodeMath", operation=operation)
        self.feed(node, inputs)
        return node.outputs[0]

    def vector(self, operation: str, *inputs):
        """Returns the result of a Vector Math node."""
        node = self.node("ShaderNodeVectorMath", operation=operation)
        self.feed(node, inputs)
        return node.outputs[0]

    def value(self, name: str):
        """Returns the output of a named Value node."""
        return self.node("ShaderNodeValue", name=name, label=name).outputs[0]

    def scaled(self, vector, factor):
        """Returns a vector times a number."""
        node = self.node("ShaderNodeVectorMath", operation="SCALE")
        self.group.links.new(vector, node.inputs["Vector"])
        self.group.links.new(factor, node.inputs["Scale"])
        return node.outputs["Vector"]


def make_group(name: str, layer: str, tension: bool = False) -> bpy.types.NodeTree:
    """Builds the group; `layer`: name of the UV layer with the texel of each vertex; `tension`: it stores that of alpha."""
    group = bpy.data.node_groups.new(name, "GeometryNodeTree")
    group[GROUP_MARK] = GROUP_LAYOUT
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    make = Builder(group)
    source, sink = make.node("NodeGroupInput"), make.node("NodeGroupOutput")
    step, start, last, first, rows, row_step = (make.value(each) for each in VALUES)
    now = make.node("GeometryNodeInputSceneTime").outputs["Frame"]
    time = make.math("SUBTRACT", make.math("DIVIDE", now, step), start)
    after = make.math("GREATER_THAN", time, -FRAME_TOLERANCE)
    before = make.math("LESS_THAN", time, make.math("ADD", last, FRAME_TOLERANCE))
    inside = make.math("MULTIPLY", after, before)
    clamped = make.math("MAXIMUM", make.math("MINIMUM", time, last), 0.0)
    frame = make.math("FLOOR", clamped)
    later = make.math("MINIMUM", make.math("ADD", frame, 1.0), last)
    share = make.math("SUBTRACT", clamped, frame)
    texel = make.node("GeometryNodeInputNamedAttribute", data_type="FLOAT_VECTOR", name=TEXEL)
    texel.inputs["Name"].default_value = layer
    texel = texel.outputs["Attribute"]

    def sample(which: str, frame):
        row = make.math("ADD", first, make.math("MULTIPLY", frame, rows))
        shift = make.node("ShaderNodeCombineXYZ")
        group.links.new(make.math("MULTIPLY", row, row_step), shift.inputs["Y"])
        image = make.node("GeometryNodeImageTexture", name=which, interpolation="Closest", extension="EXTEND")
        group.links.new(make.vector("ADD", texel, shift.outputs[0]), image.inputs["Vector"])
        return image.outputs["Color"], image.outputs["Alpha"]

    (here, alpha), (there, next_alpha) = sample(SAMPLES[0], frame), sample(SAMPLES[1], later)
    mixed = make.vector("ADD", here, make.scaled(make.vector("SUBTRACT", there, here), share))
    scale, least = (make.node("FunctionNodeInputVector", name=each).outputs[0] for each in ("Scale", "Min"))
    offset = make.vector("ADD", least, make.vector("MULTIPLY", mixed, scale))
    move = make.node("GeometryNodeSetPosition")
    group.links.new(source.outputs[0], move.inputs["Geometry"])
    group.links.new(inside, move.inputs["Selection"])
    group.links.new(offset, move.inputs["Offset"])
    moved = move.outputs[0]
    if tension:
        value = make.math("ADD", alpha, make.math("MULTIPLY", make.math("SUBTRACT", next_alpha, alpha), share))
        value = make.math("ADD", make.value(LEAST), make.math("MULTIPLY", value, make.value(SPAN)))
        moved = tension_nodes.store(group, moved, make.math("MULTIPLY", value, inside))
    group.links.new(moved, sink.inputs[0])
    return group


def stores_tension(group: bpy.types.NodeTree) -> bool:
    """Returns whether a group stores the tension."""
    return LEAST in group.nodes


def layer_of(group: bpy.types.NodeTree) -> str:
    """Returns the name of the UV layer that a group reads."""
    node = next(node for node in group.nodes if node.type == "INPUT_ATTRIBUTE")
    return node.inputs["Name"].default_value


def image_of(group: bpy.types.NodeTree) -> bpy.types.Image | None:
    """Returns the texture of a group; None before it has one."""
    return group.nodes[SAMPLES[0]].inputs["Image"].default_value


def set_image(group: bpy.types.NodeTree, image: bpy.types.Image) -> None:
    """Gives a group its texture."""
    for name in SAMPLES:
        group.nodes[name].inputs["Image"].default_value = image


def set_texture(group: bpy.types.NodeTree, image: bpy.types.Image, told: dict) -> None:
    """Gives a group its image; `told`: the description beside it."""
    set_image(group, image)
    code = told.get("tension")
    if code is not None and stores_tension(group):
        group.nodes[SPAN].outputs[0].default_value, group.nodes[LEAST].outputs[0].default_value = (
            code["scale"],
            code["min"],
        )
    group.nodes["Scale"].vector, group.nodes["Min"].vector = told["offset_scale"], told["offset_min"]


def set_clip(group: bpy.types.NodeTree, told: dict, name: str, start: int, step: float) -> bool:
    """Lets a group play the clip with a name, or nothing; returns whether it is there. `step`: curve time of a frame."""
    clip = next((each for each in told.get("clips", ()) if each["name"] == name), None)
    values = (step, 0.0, -1.0, 0.0, 0.0, 0.0)
    if clip is not None:
        row_step = told["v_from_bottom"]["step"]
        values = (step, float(start), clip["frames"] - 1.0, clip["first_row"], told["rows_per_frame"], row_step)
    for node, value in zip(VALUES, values, strict=True):
        socket = group.nodes[node].outputs[0]
        if socket.default_value != value:
            socket.default_value = value
    return clip is not None
