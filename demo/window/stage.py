# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage before the camera: our characters with flesh, and waits until Blender has made and drawn them."""

from __future__ import annotations

import time

import bpy
import numpy as np

from assets import characters as own
from demo.extension import activate, addon, flesh_of

from . import camera
from .camera import edit

#: Longest wait for a computation, s.
PATIENCE = 240.0


def wait_until_drawn():
    """Waits until the window has been drawn: events, then a redraw of every region."""
    yield 0.5
    camera.choose_tab()
    yield 0.7


def wait_until_ready(obj):
    """Waits until the flesh of an object has been built and its motion simulated."""
    until = time.monotonic() + PATIENCE
    while True:
        flesh = flesh_of(obj)
        if flesh is not None and flesh.condition.is_showable and not addon("scene.poses").silence_depth:
            return
        assert time.monotonic() < until, f"{obj.name} has no motion after {PATIENCE:g} s"
        yield 0.3


def wait_until_updated():
    """Waits until no live update waits or works."""
    until, queue = time.monotonic() + PATIENCE, addon("live.updates").state
    yield 1.0
    while queue.stepper is not None or queue.waiting:
        assert time.monotonic() < until, f"an update takes more than {PATIENCE:g} s"
        yield 0.3


def wait_until_still():
    """Waits until the 3D view looks the same twice: what has just been simulated is drawn late on a slow machine."""
    until, former = time.monotonic() + PATIENCE, None
    while True:
        pixels = camera.crop(camera.view3d()["region"])
        if former is not None and np.array_equal(former, pixels):
            return
        assert time.monotonic() < until, f"the view still changes after {PATIENCE:g} s"
        former = pixels
        yield 0.5


def clear_scene() -> None:
    """Removes all objects of the scene. Keeps the window's layout."""
    if bpy.context.object is not None and bpy.context.object.mode != "OBJECT":
        edit(bpy.ops.object.mode_set, mode="OBJECT")
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    for data in (bpy.data.meshes, bpy.data.armatures, bpy.data.actions):
        bpy.data.batch_remove(list(data))
    bpy.context.view_layer.update()


def bodo(clip: str, worn: bool = False):
    """Adds our biped in one of its clips, with larger eyes as meshes of their own if asked for."""
    clear_scene()
    armature, body = own.create("biped")
    own.use_action(armature, clip)
    if worn:
        for name, x in (("Eye L", 0.054), ("Eye R", -0.054)):
            bpy.ops.mesh.primitive_uv_sphere_add(segments=16, ring_count=10, radius=0.039, location=(x, -0.125, 1.385))
            _wear(bpy.context.object, name, armature, "head")
    activate(body)
    return armature, body


def _wear(obj, name: str, armature, bone: str) -> None:
    """Binds a mesh to one bone."""
    obj.name = name
    bpy.ops.object.transform_apply(location=True)
    obj.vertex_groups.new(name=bone).add(range(len(obj.data.vertices)), 1.0, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = armature


def add_biped(clip: str, cells: int = 12, worn: bool = False, **settings):
    """Adds our biped with flesh and its motion."""
    _, body = bodo(clip, worn)
    for name, value in settings.items():
        setattr(body.thew, name, value)
    edit(bpy.ops.thew.add, cells_across=cells)
    edit(bpy.ops.thew.simulate)
    yield from wait_until_ready(body)
    return body


def middle() -> np.ndarray:
    """Returns the middle of the 3D view, as wide as the character is."""
    pixels = camera.crop(camera.view3d()["region"])
    middle = pixels.shape[1] // 2
    return pixels[:, middle - 260 : middle + 260]


def sack():
    """Builds the flour sack of the examples with four sculpted poses."""
    from examples import spacetime_sack

    shape = spacetime_sack.sack()
    mesh = bpy.data.meshes.new("Sack")
    mesh.from_pydata(shape.vertices.tolist(), [], shape.triangles.tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), bool))
    made = bpy.data.objects.new("Sack", mesh)
    bpy.context.scene.collection.objects.link(made)
    made.shape_key_add(name="Basis")
    for name, points in spacetime_sack.poses(shape.vertices).items():
        key = made.shape_key_add(name=name.capitalize(), from_mix=False)
        key.data.foreach_set("co", points.ravel())
        key.value = 0.0
    activate(made)
    return made
