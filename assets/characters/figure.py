# SPDX-License-Identifier: MIT OR Apache-2.0
"""From a description (bones, parts, eyes) to Blender objects: armature, skinned mesh, colours."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy
import numpy as np

from . import implicit

COLOUR_ATTRIBUTE = "Colour"


@dataclass(frozen=True)
class Bone:
    """One bone of the armature, metres, in the armature's space (Z up, facing -Y)."""

    name: str
    parent: str | None
    head: tuple[float, float, float]
    tail: tuple[float, float, float]

    def mirrored(self) -> Bone:
        """The same bone on the right-hand side."""
        other = lambda name: name.replace(".L", ".R") if name else None  # noqa: E731
        flip = lambda p: (-p[0], p[1], p[2])  # noqa: E731
        return Bone(other(self.name), other(self.parent), flip(self.head), flip(self.tail))


@dataclass(frozen=True)
class Eye:
    """A ball with a pupil, loose in the body's mesh and held by one bone."""

    centre: tuple[float, float, float]
    radius: float
    look: tuple[float, float, float]
    bone: str


@dataclass
class Figure:
    """A character before it becomes Blender data."""

    name: str
    bones: list[Bone]
    parts: list[implicit.Part]
    palette: dict[str, tuple[float, float, float]]
    eyes: list[Eye] = field(default_factory=list)
    cell: float = 0.016
    softness: float = 0.02
    blend: float = 0.03
    """Over how many metres skin weights pass from one bone to the next."""

    def bone(self, name: str) -> Bone:
        return next(bone for bone in self.bones if bone.name == name)


def build(figure: Figure) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Armature and skinned mesh of a figure, linked into the scene."""
    armature = _armature(figure)
    vertices, quads = implicit.mesh(figure.parts, figure.cell, figure.softness)
    weights = _weights(figure, vertices, quads)
    colours = _colours(figure, vertices)
    faces = quads.tolist()
    names = [bone.name for bone in figure.bones]
    for eye in figure.eyes:
        ball, ball_faces, ball_colours = _eye(eye)
        faces += [[len(vertices) + i for i in face] for face in ball_faces]
        held = np.zeros((len(ball), len(names)))
        held[:, names.index(eye.bone)] = 1.0
        vertices, weights = np.concatenate([vertices, ball]), np.concatenate([weights, held])
        colours = np.concatenate([colours, ball_colours])
    body = _body(figure.name, vertices, faces, colours)
    for number, name in enumerate(names):
        group = body.vertex_groups.new(name=name)
        for vertex in np.flatnonzero(weights[:, number] > 0.0):
            group.add([int(vertex)], float(weights[vertex, number]), "REPLACE")
    body.parent = armature
    body.modifiers.new("Armature", "ARMATURE").object = armature
    return armature, body


def _armature(figure: Figure) -> bpy.types.Object:
    data = bpy.data.armatures.new(f"{figure.name} rig")
    armature = bpy.data.objects.new(f"{figure.name} rig", data)
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in figure.bones:
        edit = data.edit_bones.new(bone.name)
        edit.head, edit.tail = bone.head, bone.tail
        if bone.parent:
            edit.parent = data.edit_bones[bone.parent]
            edit.use_connect = (edit.head - edit.parent.tail).length < 1e-5
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return armature


def _body(name: str, vertices: np.ndarray, faces: list[list[int]], colours: np.ndarray) -> bpy.types.Object:
    data = bpy.data.meshes.new(name)
    data.from_pydata(vertices.tolist(), [], faces)
    data.polygons.foreach_set("use_smooth", np.ones(len(faces), bool))
    attribute = data.color_attributes.new(COLOUR_ATTRIBUTE, "FLOAT_COLOR", "POINT")
    rgba = np.concatenate([colours, np.ones((len(colours), 1))], axis=1)
    attribute.data.foreach_set("color", rgba.astype(np.float32).ravel())
    data.materials.append(_skin(name))
    data.update()
    body = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(body)
    return body


def _skin(name: str) -> bpy.types.Material:
    material = bpy.data.materials.new(f"{name} skin")
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    shader = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Roughness"].default_value = 0.45
    colour = nodes.new("ShaderNodeVertexColor")
    colour.layer_name = COLOUR_ATTRIBUTE
    links.new(colour.outputs["Color"], shader.inputs["Base Color"])
    return material


def _weights(figure: Figure, vertices: np.ndarray, quads: np.ndarray) -> np.ndarray:
    """Skin weights [n,b]: nearness to the parts of each bone, evened out over the surface."""
    names = [bone.name for bone in figure.bones]
    distance = np.full((len(vertices), len(names)), 1e3)
    for part in figure.parts:
        column = names.index(part.bone)
        distance[:, column] = np.minimum(distance[:, column], part.distance(vertices))
    weights = np.exp((distance.min(axis=1, keepdims=True) - distance) / figure.blend)
    weights /= weights.sum(axis=1, keepdims=True)
    pairs = np.concatenate([quads[:, [i, (i + 1) % 4]] for i in range(4)])  # each edge once per direction
    degree = np.bincount(pairs[:, 0], minlength=len(vertices))[:, None]
    for _ in range(12):
        total = np.zeros_like(weights)
        np.add.at(total, pairs[:, 0], weights[pairs[:, 1]])
        weights = 0.5 * weights + 0.5 * total / degree
    fourth = np.sort(weights, axis=1)[:, -4:-3]
    weights[(weights < fourth) | (weights < 0.01)] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)


def _colours(figure: Figure, vertices: np.ndarray) -> np.ndarray:
    """Linear colours [n,3], each from the nearest part."""
    distance = np.stack([part.distance(vertices) for part in figure.parts], axis=1)
    share = np.exp((distance.min(axis=1, keepdims=True) - distance) / (0.08 * figure.cell))
    share /= share.sum(axis=1, keepdims=True)
    srgb = np.array([figure.palette[part.colour] for part in figure.parts])
    return share @ srgb**2.2


def _eye(eye: Eye) -> tuple[np.ndarray, list[list[int]], np.ndarray]:
    """A ball of rings around the direction it looks in: vertices, faces, colours."""
    rings, around = 12, 20
    look = np.array(eye.look) / np.linalg.norm(eye.look)
    side = np.cross(look, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side)
    up = np.cross(side, look)
    points, dark = [look], [True]
    for ring in range(1, rings):
        angle = np.pi * ring / rings
        for turn in 2.0 * np.pi * np.arange(around) / around:
            points.append(np.cos(angle) * look + np.sin(angle) * (np.cos(turn) * side + np.sin(turn) * up))
            dark.append(ring <= 3)
    points.append(-look)
    dark.append(False)
    last = len(points) - 1
    faces = []
    for turn in range(around):
        after = (turn + 1) % around
        faces.append([0, 1 + turn, 1 + after])
        faces.append([last, last - around + after, last - around + turn])
        for ring in range(rings - 2):
            near, far = 1 + ring * around, 1 + (ring + 1) * around
            faces.append([near + turn, far + turn, far + after, near + after])
    colours = np.where(np.array(dark)[:, None], 0.01, 0.9) * np.ones((1, 3))
    return np.array(eye.centre) + eye.radius * np.array(points), faces, colours
