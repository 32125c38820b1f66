# SPDX-License-Identifier: MIT OR Apache-2.0
"""Things before a plain backdrop, seen by a parallel camera: all sizes in a picture are to one scale.

The picture has its own axes: X to the right and Z up, both square to the line of sight; `at(X, Z)` is the world
vector that moves a thing there. Whatever stands does so along the world's z, facing -y.
"""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix, Vector

from demo import stage

BACKDROP = (0.93, 0.945, 0.955)
INK = (0.13, 0.16, 0.20)
BLUE, GREEN, AMBER, RED = (0.20, 0.47, 0.70), (0.33, 0.68, 0.36), (0.97, 0.73, 0.15), (0.82, 0.22, 0.17)
GREY = (0.62, 0.65, 0.68)


class Studio:
    """An empty scene and what is put into it."""

    def __init__(self, turn: float = 0.0, tilt: float = 12.0) -> None:
        """`turn`: how far round to the left the camera stands, `tilt`: how far above, degrees."""
        bpy.ops.wm.read_factory_settings(use_empty=True)
        a, b = np.radians([turn, tilt])
        ahead = np.array([np.sin(a) * np.cos(b), np.cos(a) * np.cos(b), -np.sin(b)])
        self.right = np.array([np.cos(a), -np.sin(a), 0.0])
        self.up = np.cross(self.right, ahead)
        self.ahead = ahead
        self._materials: dict[tuple, bpy.types.Material] = {}

    def at(self, across: float, upright: float, near: float = 0.0) -> np.ndarray:
        """The world vector of a place in the picture, `near` metres before the plane through the origin."""
        return across * self.right + upright * self.up - near * self.ahead

    def material(
        self, colour: tuple[float, float, float], alpha: float = 1.0, gloss: float = 0.5
    ) -> bpy.types.Material:
        """One colour (sRGB), opaque or not."""
        key = (*colour, alpha, gloss)
        if key not in self._materials:
            made = self._materials[key] = stage.matt_material(f"Material {len(self._materials)}", colour)
            shader = _shader(made)
            shader.inputs["Roughness"].default_value = 1.0 - gloss
            shader.inputs["Alpha"].default_value = alpha
            made.diffuse_color = (*made.diffuse_color[:3], alpha)
        return self._materials[key]

    def vertex_material(self, alpha: float = 1.0, gloss: float = 0.5) -> bpy.types.Material:
        """A material that takes its colour from the vertices."""
        key = ("painted", alpha, gloss)
        if key not in self._materials:
            made = self._materials[key] = stage.matt_material("Painted", (1.0, 1.0, 1.0))
            shader = _shader(made)
            shader.inputs["Roughness"].default_value = 1.0 - gloss
            shader.inputs["Alpha"].default_value = alpha
            colour = made.node_tree.nodes.new("ShaderNodeVertexColor")
            colour.layer_name = "Colour"
            made.node_tree.links.new(colour.outputs["Color"], shader.inputs["Base Color"])
        return self._materials[key]

    def mesh(self, vertices, faces, material, place=(0.0, 0.0, 0.0), colours=None, smooth=True) -> bpy.types.Object:
        """A mesh at `place`; `colours` [n,3] are linear."""
        data = bpy.data.meshes.new("Mesh")
        faces = np.asarray(faces)
        data.from_pydata(np.asarray(vertices, float).tolist(), [], faces.tolist())
        data.polygons.foreach_set("use_smooth", np.full(len(faces), smooth))
        if colours is not None:
            attribute = data.color_attributes.new("Colour", "FLOAT_COLOR", "POINT")
            rgba = np.concatenate([colours, np.ones((len(colours), 1))], axis=1)
            attribute.data.foreach_set("color", rgba.astype(np.float32).ravel())
        data.materials.append(material)
        data.update()
        return self._add(bpy.data.objects.new("Mesh", data), place)

    def ball(self, centre, radius: float, material) -> None:
        """A small sphere."""
        bpy.ops.mesh.primitive_uv_sphere_add(segments=32, ring_count=16, radius=radius, location=Vector(list(centre)))
        ball = bpy.context.object
        ball.data.polygons.foreach_set("use_smooth", np.ones(len(ball.data.polygons), bool))
        ball.data.materials.append(material)

    def line(self, points, radius: float, material, place=(0.0, 0.0, 0.0)) -> None:
        """A round rod along points."""
        curve = bpy.data.curves.new("Line", "CURVE")
        curve.dimensions, curve.bevel_depth, curve.bevel_resolution, curve.use_fill_caps = "3D", radius, 4, True
        spline = curve.splines.new("POLY")
        points = np.asarray(points, float)
        spline.points.add(len(points) - 1)
        spline.points.foreach_set("co", np.concatenate([points, np.ones((len(points), 1))], axis=1).ravel())
        curve.materials.append(material)
        self._add(bpy.data.objects.new("Line", curve), place)

    def arrow(self, start, end, radius: float, material) -> None:
        """A rod with a cone for its last part."""
        start, end = np.asarray(start, float), np.asarray(end, float)
        along = (end - start) / np.linalg.norm(end - start)
        neck = end - 6.0 * radius * along
        self.line([start, neck], radius, material)
        bpy.ops.mesh.primitive_cone_add(
            vertices=24, radius1=2.6 * radius, depth=6.0 * radius, location=Vector(((neck + end) / 2).tolist())
        )
        cone = bpy.context.object
        cone.rotation_euler = Vector(along.tolist()).to_track_quat("Z", "Y").to_euler()
        cone.data.materials.append(material)

    def frame(self, origin, rotation, size: float) -> None:
        """Red, green and blue axes: an orientation."""
        for axis, colour in enumerate(((0.85, 0.15, 0.12), (0.20, 0.62, 0.20), (0.15, 0.35, 0.85))):
            self.arrow(
                origin, np.asarray(origin) + size * np.asarray(rotation)[:, axis], 0.06 * size, self.material(colour)
            )

    def slab(self, centre, size, material) -> None:
        """A box with bevelled edges, its faces along the world's axes."""
        bpy.ops.mesh.primitive_cube_add(size=1.0, location=Vector(list(centre)))
        slab = bpy.context.object
        slab.scale = size
        bpy.ops.object.transform_apply(scale=True, location=False, rotation=False)
        bevel = slab.modifiers.new("Bevel", "BEVEL")
        bevel.width, bevel.segments = 0.12 * min(size), 3
        slab.data.materials.append(material)

    def outline(self, size, centre, radius: float, material) -> None:
        """The twelve edges of a box along the world's axes."""
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        for i, a in enumerate(corners):
            for b in corners[i + 1 :]:
                if np.abs(a - b).sum() == 1.0:
                    self.line(np.array([a, b]) * size + centre, radius, material)

    def text(self, words: str, place, height: float, colour=INK, align: str = "CENTER") -> None:
        """Words that face the camera; `place` is a world vector, their baseline's middle, left or right end."""
        curve = bpy.data.curves.new(words, "FONT")
        curve.body, curve.size, curve.align_x = words, height, align
        curve.materials.append(self.material(colour, gloss=0.1))
        label = self._add(bpy.data.objects.new(words, curve), place)
        label.rotation_euler = self._rotation().to_euler()

    def scale(self, place, length: float, thick: float, ramp, words: tuple[str, str], height: float) -> None:
        """A legend: a strip coloured by `ramp` over 0 to 1, with words at its ends."""
        t = np.linspace(0.0, 1.0, 33)
        low = np.asarray(place) + t[:, None] * length * self.right
        strip = np.concatenate([low, low + thick * self.up])
        i = np.arange(32)
        self.mesh(
            strip,
            np.stack([i, i + 1, i + 34, i + 33], axis=1),
            self.vertex_material(gloss=0.1),
            colours=ramp(np.tile(t, 2)),
        )
        self.text(words[0], np.asarray(place) - 1.3 * height * self.up, height, align="LEFT")
        self.text(words[1], np.asarray(place) + length * self.right - 1.3 * height * self.up, height, align="RIGHT")

    def render(self, file: Path, low, high, width: int, engine: str, samples: int = 32) -> None:
        """Photograph the part of the picture between `low` and `high`."""
        low, high = np.array(low, float), np.array(high, float)
        middle, span = (low + high) / 2, high - low
        size = float(span.max())
        if engine == "CYCLES":
            self._backdrop(middle, size)
        self._light()
        camera = bpy.data.cameras.new("Camera")
        camera.type, camera.ortho_scale = "ORTHO", size
        camera.clip_end = 20.0 * size
        holder = self._add(bpy.data.objects.new("Camera", camera), self.at(*middle, 5.0 * size))
        holder.rotation_euler = self._rotation().to_euler()
        bpy.context.scene.camera = holder
        stage.use_engine(engine, width, round(width * span[1] / span[0] / 2) * 2, textured=False, samples=samples)
        scene = bpy.context.scene
        if engine == "CYCLES":
            scene.view_settings.exposure = 0.0
            scene.cycles.max_bounces, scene.cycles.transparent_max_bounces = 4, 16
        else:
            shading = scene.display.shading
            shading.background_color, shading.show_shadows = tuple(c**2.2 for c in BACKDROP), False
        settings = scene.render.image_settings
        settings.file_format, settings.quality = "JPEG", 90
        file.parent.mkdir(parents=True, exist_ok=True)
        scene.render.filepath = str(file)
        bpy.ops.render.render(write_still=True)

    def _add(self, obj: bpy.types.Object, place) -> bpy.types.Object:
        bpy.context.scene.collection.objects.link(obj)
        obj.location = Vector(list(place))
        return obj

    def _rotation(self) -> Matrix:
        return Matrix(np.stack([self.right, self.up, -self.ahead], axis=1).tolist())

    def _backdrop(self, middle: np.ndarray, size: float) -> None:
        """A plane far behind that shines evenly, so that no shadow falls on it."""
        made = self.material(BACKDROP, gloss=0.0)
        shader = _shader(made)
        shader.inputs["Base Color"].default_value = (0.0, 0.0, 0.0, 1.0)
        shader.inputs["Emission Color"].default_value = (*(c**2.2 for c in BACKDROP), 1.0)
        shader.inputs["Emission Strength"].default_value = 1.0
        ends = ((-1, -1), (1, -1), (1, 1), (-1, 1))
        corners = [self.at(middle[0] + size * i, middle[1] + size * j, -4.0 * size) for i, j in ends]
        plane = self.mesh(corners, [[0, 1, 2, 3]], made, smooth=False)
        plane.visible_diffuse = plane.visible_glossy = plane.visible_shadow = False

    def _light(self) -> None:
        """A soft sun from the upper left, and light from all sides."""
        lamp = bpy.data.lights.new("Key", "SUN")
        lamp.energy, lamp.angle, lamp.color = 2.3, np.radians(24.0), (1.0, 0.96, 0.9)
        light = self._add(bpy.data.objects.new("Key", lamp), (0.0, 0.0, 0.0))
        direction = 0.62 * self.right - 0.95 * self.up + 1.0 * self.ahead
        light.rotation_euler = Vector(direction.tolist()).to_track_quat("-Z", "Y").to_euler()
        stage.set_surroundings((0.86, 0.92, 1.0), 0.55)


def _shader(material: bpy.types.Material) -> bpy.types.Node:
    return next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
