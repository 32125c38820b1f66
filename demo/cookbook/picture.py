# SPDX-License-Identifier: MIT OR Apache-2.0
"""The picture of a recipe: one frame as plain skin, as added, and as cooked, side by side, seen by the same camera."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np

from demo import pictures, stage
from demo.characters import empty_scene

SIDE = 420
"""Pixels of one of the three pictures."""
FAR = (0.10, 0.34, 0.85)
"""Colour (sRGB) of flesh that is farthest from its skin."""
INK = (0.13, 0.16, 0.20)


class Shape:
    """A mesh as it is shown in one frame."""

    def __init__(self, obj: bpy.types.Object) -> None:
        mesh = obj.data
        self.faces = [list(polygon.vertices) for polygon in mesh.polygons]
        rgba = np.empty(4 * len(mesh.vertices), np.float32)
        mesh.color_attributes["Colour"].data.foreach_get("color", rgba)
        self.colours = rgba.reshape(-1, 4)

    def show(self, points: np.ndarray, distance: np.ndarray, most: float) -> bpy.types.Object:
        """Adds the shape to the scene; bluer where it is farther from the plain skin, at most `most` metres."""
        data = bpy.data.meshes.new("Shape")
        data.from_pydata(points.tolist(), [], self.faces)
        data.polygons.foreach_set("use_smooth", np.ones(len(self.faces), bool))
        share = 0.85 * np.clip(distance / most, 0.0, 1.0)[:, None]
        far = np.array([*(c**2.2 for c in FAR), 1.0])
        attribute = data.color_attributes.new("Colour", "FLOAT_COLOR", "POINT")
        attribute.data.foreach_set("color", ((1.0 - share) * self.colours + share * far).astype(np.float32).ravel())
        data.color_attributes.active_color = attribute
        obj = bpy.data.objects.new("Shape", data)
        bpy.context.scene.collection.objects.link(obj)
        return obj


def draw(
    shapes: list[Shape], takes: list[tuple[str, list[np.ndarray]]], place: np.ndarray, angle: float, crop, file: Path
) -> None:
    """Renders `takes` (a caption, and the points of every shape) into one picture; the first is the plain skin.

    `place`: points that are looked at, [p, 3]; `crop`: size of the picture over that of the place, across and up.
    """
    empty_scene()
    turn = _turn(angle)
    low, high = (place @ turn.T).min(axis=0), (place @ turn.T).max(axis=0)
    centre, half = (low + high) / 2.0, (high - low) / 2.0
    half = np.array([crop[0] * half[0], half[1], crop[1] * half[2]])
    half[[0, 2]] = max(half[0], half[2])
    corners = centre + half * np.array([[x, 0.0, z] for x in (-1, 1) for z in (-1, 1)])
    floor = min(float((points @ turn.T)[:, 2].min()) for points in takes[0][1])
    stage.build(np.array([*(corners), *corners]), {1: np.zeros(3)}, 1.0)
    bpy.data.objects["Ground"].location.z = floor - float(corners[:, 2].min())
    stage.use_engine("WORKBENCH", SIDE, SIDE, textured=False)
    plain = takes[0][1]
    moved = [[np.linalg.norm(p - q, axis=1) for p, q in zip(points, plain, strict=True)] for _, points in takes]
    most = max(float(np.max(each)) for distances in moved for each in distances)
    files = []
    for number, ((caption, points), distances) in enumerate(zip(takes, moved, strict=True)):
        own = [shape.show(p @ turn.T, d, most) for shape, p, d in zip(shapes, points, distances, strict=True)]
        text = _caption(caption)
        files += pictures.render([1], file.parent / f"{file.stem}-{number}").values()
        for obj in [*own, text]:
            bpy.data.objects.remove(obj)
    sheet = file.with_suffix(".png")
    pictures.contact_sheet([files], sheet)
    image = bpy.data.images.load(str(sheet))
    assert len(image.pixels)  # this reads the file, which the next line forgets
    image.filepath_raw, image.file_format = str(file), "JPEG"
    image.save(quality=88)


def _turn(angle: float) -> np.ndarray:
    """Returns the rotation of the character that turns the camera around it by degrees, [3, 3]."""
    a = -np.radians(angle)
    return np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])


def _caption(text: str) -> bpy.types.Object:
    """Writes a line on a white strip at the lower edge of the picture, before the camera."""
    camera = bpy.context.scene.camera
    far = 4.0 * camera.data.clip_start
    width = far * camera.data.sensor_width / camera.data.lens
    curve = bpy.data.curves.new(text, "FONT")
    curve.body, curve.size, curve.align_x = text, 0.06 * width, "CENTER"
    letters = bpy.data.meshes.new_from_object(bpy.data.objects.new(text, curve))
    points = np.array([vertex.co for vertex in letters.vertices]) + [0.0, 0.0, 0.02 * far]
    faces = [[4 + corner for corner in polygon.vertices] for polygon in letters.polygons]
    x, low, high = 0.6 * width, -0.06 * width, 0.065 * width
    strip = [(-x, low, 0.0), (x, low, 0.0), (x, high, 0.0), (-x, high, 0.0)]
    mesh = bpy.data.meshes.new(text)
    mesh.from_pydata([*strip, *points.tolist()], [], [[0, 1, 2, 3], *faces])
    attribute = mesh.color_attributes.new("Colour", "FLOAT_COLOR", "POINT")
    ink = np.array([*(c**2.2 for c in INK), 1.0])
    attribute.data.foreach_set("color", np.array([[1.0] * 4] * 4 + [ink] * len(points), np.float32).ravel())
    label = bpy.data.objects.new("Caption", mesh)
    bpy.context.scene.collection.objects.link(label)
    label.parent = camera
    label.location = (0.0, -0.455 * width, -far)
    return label
