# SPDX-License-Identifier: MIT OR Apache-2.0
"""The stage of the pictures: a ground, three lights and a camera that follows."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Vector

BACKDROP = (0.62, 0.70, 0.78)
GROUND_LIGHT, GROUND_DARK = (0.97, 0.97, 0.97), (0.84, 0.86, 0.88)
TRACK = "Camera track"
VIEW_TURN = -0.36
"""Azimuth of the camera from the front, radians; negative is to the character's right."""


def right_direction() -> np.ndarray:
    """Returns the level direction to the right in the picture."""
    return np.array([np.cos(VIEW_TURN), np.sin(VIEW_TURN), 0.0])


def build(points: np.ndarray, path: dict[int, np.ndarray], aspect: float) -> None:
    """Builds the stage for everything within `points` [p, 3], relative to the moving point of `path` (by frame)."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = float(np.linalg.norm(high - low))
    centre = Vector(((low + high) / 2).tolist())
    first = path[min(path)]
    _ground(first, float(first[2] + low[2]), size)
    track = bpy.data.objects.new(TRACK, None)
    bpy.context.scene.collection.objects.link(track)
    for frame, point in path.items():
        track.location = Vector(point.tolist())
        track.keyframe_insert("location", frame=frame)
    _camera(track, points, size, aspect)
    for name, direction, power, breadth, tint in (
        ("Key", (-0.9, -1.0, 1.3), 62.0, 0.7, (1.0, 0.95, 0.88)),
        ("Fill", (1.4, -0.9, 0.5), 20.0, 1.2, (0.82, 0.9, 1.0)),
        ("Rim", (0.5, 1.2, 1.2), 60.0, 0.6, (1.0, 1.0, 1.0)),
    ):
        lamp = bpy.data.lights.new(name, "AREA")
        lamp.energy, lamp.size, lamp.color = power * size**2, breadth * size, tint
        light = bpy.data.objects.new(name, lamp)
        bpy.context.scene.collection.objects.link(light)
        light.parent = track
        light.location = Vector(direction).normalized() * 1.6 * size + centre
        light.rotation_euler = (centre - light.location).to_track_quat("-Z", "Y").to_euler()
    set_surroundings(BACKDROP)


def use_engine(engine: str, width: int, height: int, textured: bool, samples: int = 24) -> None:
    """Sets the scene up for 'WORKBENCH' (fast, needs OpenGL) or 'CYCLES' (slow, needs nothing)."""
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.resolution_percentage = 100
    scene.render.image_settings.file_format = "PNG"
    scene.render.film_transparent = False
    scene.view_settings.view_transform = "Standard"
    scene.view_settings.exposure = -0.9 if engine == "CYCLES" else 1.0
    if engine == "CYCLES":
        scene.render.engine = "CYCLES"
        cycles = scene.cycles
        cycles.device, cycles.samples, cycles.use_denoising = "CPU", samples, True
        cycles.max_bounces, cycles.seed = 3, 0
        return
    scene.render.engine = "BLENDER_WORKBENCH"
    shading = scene.display.shading
    shading.light, shading.color_type = "STUDIO", "TEXTURE" if textured else "VERTEX"
    shading.show_shadows, shading.shadow_intensity = True, 0.35
    shading.show_cavity, shading.cavity_type = True, "WORLD"
    shading.background_type, shading.background_color = "VIEWPORT", BACKDROP
    scene.display.render_aa = "8"
    scene.display.light_direction = (-0.45, -0.5, 0.75)


def _ground(anchor: np.ndarray, floor: float, size: float) -> None:
    """Adds a round chequered floor, so that travel shows and the horizon is level."""
    tiles, side = 90, 0.3 * size
    index = np.stack(np.meshgrid(np.arange(tiles), np.arange(tiles), indexing="ij"), axis=-1).reshape(-1, 2)
    index = index[np.linalg.norm(index - (tiles - 1) / 2, axis=1) < tiles / 2]
    corners = index[:, None] + np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    points = np.full((len(index), 4, 3), floor)
    points[:, :, :2] = (corners - tiles / 2) * side + anchor[:2]
    mesh = bpy.data.meshes.new("Ground")
    mesh.from_pydata(points.reshape(-1, 3).tolist(), [], np.arange(4 * len(index)).reshape(-1, 4).tolist())
    mesh.materials.append(matt_material("Ground light", GROUND_LIGHT))
    mesh.materials.append(matt_material("Ground dark", GROUND_DARK))
    mesh.polygons.foreach_set("material_index", (index.sum(axis=1) % 2).astype(np.int32))
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Ground", mesh))


def caption(text: str, at: np.ndarray, height: float) -> None:
    """Writes text on the ground that moves with the camera."""
    curve = bpy.data.curves.new(text, "FONT")
    curve.body, curve.size, curve.align_x = text, height, "CENTER"
    lettering = bpy.data.objects.new(text, curve)
    mesh = bpy.data.meshes.new_from_object(lettering)
    mesh.materials.clear()
    mesh.materials.append(matt_material(text, (1.0, 1.0, 1.0)))
    label = bpy.data.objects.new(f"Caption {text}", mesh)
    bpy.context.scene.collection.objects.link(label)
    track = bpy.data.objects[TRACK]
    label.parent = track
    label.location = Vector(at.tolist())
    label.rotation_euler = (0.5, 0.0, VIEW_TURN)


def matt_material(name: str, colour: tuple[float, float, float]) -> bpy.types.Material:
    """Returns a matt material of one colour (sRGB) for either engine."""
    material = bpy.data.materials.new(name)
    linear = (*(c**2.2 for c in colour), 1.0)
    material.diffuse_color = linear
    if bpy.app.version < (5, 0):  # since 5.0 they always use nodes
        material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = linear
    shader.inputs["Roughness"].default_value = 0.7
    return material


def _camera(track: bpy.types.Object, points: np.ndarray, size: float, aspect: float) -> None:
    """Adds a camera in front, a little from the side and above, as near as it can be to see all points."""
    camera = bpy.data.cameras.new("Camera")
    camera.lens = 110.0
    camera.clip_start, camera.clip_end = 0.01 * size, 1000.0 * size
    holder = bpy.data.objects.new("Camera", camera)
    bpy.context.scene.collection.objects.link(holder)
    bpy.context.scene.camera = holder
    holder.parent = track
    direction = Vector((np.sin(VIEW_TURN), -np.cos(VIEW_TURN), 0.22)).normalized()
    rotation = (-direction).to_track_quat("-Z", "Y")
    axes = np.array(rotation.to_matrix())
    x, y, z = (points @ axes).T
    # A point is seen when |x - camera x| <= t (distance - z), and so for y: the nearest place that sees all.
    across = 0.97 * 0.5 * camera.sensor_width / camera.lens
    upright = across / aspect
    left, rightmost = (x - across * z).min(), (x + across * z).max()
    bottom, top = (y - upright * z).min(), (y + upright * z).max()
    distance = max((rightmost - left) / (2.0 * across), (top - bottom) / (2.0 * upright))
    place = axes @ np.array([(left + rightmost) / 2.0, (bottom + top) / 2.0, distance])
    holder.location = Vector(place.tolist())
    holder.rotation_euler = rotation.to_euler()


def set_surroundings(colour: tuple[float, float, float], strength: float = 1.0) -> None:
    """Sets light of one colour (sRGB) from all sides."""
    world = bpy.context.scene.world or bpy.data.worlds.new("World")
    bpy.context.scene.world = world
    world.color = tuple(c**2.2 for c in colour)
    if bpy.app.version < (5, 0):  # since 5.0 they always use nodes
        world.use_nodes = True
    background = next((node for node in world.node_tree.nodes if node.type == "BACKGROUND"), None)
    if background:
        background.inputs["Color"].default_value = (*(c**2.2 for c in colour), 1.0)
        background.inputs["Strength"].default_value = strength
