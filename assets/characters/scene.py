# SPDX-License-Identifier: MIT OR Apache-2.0
"""A figure as Blender data: armature, skinned and coloured mesh, one action per clip."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from .figure import Figure, Skin, skin

COLOUR_ATTRIBUTE, REST_ATTRIBUTE = "Colour", "Rest position"


def build(figure: Figure, surface: Skin | None = None) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Adds armature and skinned mesh of a figure to the scene, with an action for each clip. Returns both.

    `surface`: the figure's skin, if it was made before.
    """
    armature = _armature(figure)
    surface = surface or skin(figure)
    body = _body(figure, surface)
    for number, bone in enumerate(figure.bones):
        group = body.vertex_groups.new(name=bone.name)
        for vertex in np.flatnonzero(surface.weights[:, number] > 0.0):
            group.add([int(vertex)], float(surface.weights[vertex, number]), "REPLACE")
    body.parent = armature
    body.modifiers.new("Armature", "ARMATURE").object = armature
    for clip in figure.clips:
        _write_action(armature, figure, clip)
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


def _body(figure: Figure, surface: Skin) -> bpy.types.Object:
    name = figure.name
    data = bpy.data.meshes.new(name)
    data.from_pydata(surface.vertices.tolist(), [], surface.faces)
    data.polygons.foreach_set("use_smooth", np.ones(len(surface.faces), bool))
    attribute = data.color_attributes.new(COLOUR_ATTRIBUTE, "FLOAT_COLOR", "POINT")
    rgba = np.concatenate([surface.colours, np.ones((len(surface.colours), 1))], axis=1)
    attribute.data.foreach_set("color", rgba.astype(np.float32).ravel())
    if figure.scales:
        rest = data.attributes.new(REST_ATTRIBUTE, "FLOAT_VECTOR", "POINT")
        rest.data.foreach_set("vector", surface.vertices.astype(np.float32).ravel())
    data.materials.append(_skin(name, figure.scales))
    data.update()
    body = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(body)
    return body


def _skin(name: str, scales: float) -> bpy.types.Material:
    material = bpy.data.materials.new(f"{name} skin")
    if bpy.app.version < (5, 0):  # since 5.0 they always use nodes
        material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    shader = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Roughness"].default_value = 0.45
    colour = nodes.new("ShaderNodeVertexColor")
    colour.layer_name = COLOUR_ATTRIBUTE
    links.new(colour.outputs["Color"], shader.inputs["Base Color"])
    if scales:
        # At rest, so that the scales stay on the skin while it moves.
        rest = nodes.new("ShaderNodeAttribute")
        rest.attribute_name = REST_ATTRIBUTE
        cells = nodes.new("ShaderNodeTexVoronoi")
        cells.feature = "DISTANCE_TO_EDGE"
        cells.inputs["Scale"].default_value = 1.0 / scales
        bump = nodes.new("ShaderNodeBump")
        bump.inputs["Strength"].default_value, bump.inputs["Distance"].default_value = 0.5, 0.15 * scales
        links.new(rest.outputs["Vector"], cells.inputs["Vector"])
        links.new(cells.outputs["Distance"], bump.inputs["Height"])
        links.new(bump.outputs["Normal"], shader.inputs["Normal"])
    return material


def _write_action(armature: bpy.types.Object, figure: Figure, clip: str) -> None:
    """Keys every bone on every frame, from frame 1 on."""
    action = bpy.data.actions.new(clip)
    action.use_fake_user = True
    armature.animation_data_create().action = action
    rest = {bone.name: np.array(armature.data.bones[bone.name].matrix_local.to_3x3()) for bone in figure.bones}
    last: dict[str, Quaternion] = {}
    poses = figure.poses(clip)
    for frame, pose in enumerate(poses, start=1):
        for bone in figure.bones:
            before = pose.rotation(bone.parent) if bone.parent else np.eye(3)
            local = rest[bone.name].T @ before.T @ pose.rotation(bone.name) @ rest[bone.name]
            quaternion = Matrix(local.tolist()).to_quaternion()
            if bone.name in last and quaternion.dot(last[bone.name]) < 0.0:
                quaternion.negate()
            last[bone.name] = quaternion
            posed = armature.pose.bones[bone.name]
            posed.rotation_quaternion = quaternion
            posed.keyframe_insert("rotation_quaternion", frame=frame)
            if not bone.parent:
                posed.location = rest[bone.name].T @ pose.offset
                posed.keyframe_insert("location", frame=frame)
    action.use_frame_range = True
    action.frame_start, action.frame_end = 1, len(poses)
