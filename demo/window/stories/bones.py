# SPDX-License-Identifier: GPL-3.0-or-later
"""A lattice by hand, pins, and a skeleton by clicking."""

from __future__ import annotations

from contextlib import suppress

import bpy
import numpy as np

from assets import characters as own
from demo.extension import activate

from .. import camera, mouse, stage
from ..camera import Foldouts, edit


def lattice(save):
    """Takes a lattice by hand in edit mode, a corner of it moved into the belly: the sentence, and the red places."""
    body = yield from stage.add_biped("walk", cells=8)
    body.find_armature().data.pose_position = "REST"
    camera.look((0.0, 0.0, 0.78), 2.1, 30.0)
    Foldouts.open("Lattice")
    yield from stage.wait_until_drawn()
    edit(bpy.ops.thew.lattice_edit)
    corners = body.thew.hand_mesh.data.vertices
    belly = np.array([0.0, -0.45, 0.7])
    corner = min(corners, key=lambda vertex: np.linalg.norm(np.array(vertex.co) - belly))
    corner.co = (*corner.co[:1], -0.12, corner.co[2])
    with suppress(RuntimeError):  # the refusal is what is shown
        edit(bpy.ops.thew.lattice_use)
    edit(bpy.ops.object.mode_set, mode="EDIT")
    yield from stage.wait_until_drawn()
    yield from stage.wait_until_still()
    camera.scroll_down()
    yield 0.7
    save("lattice-by-hand.jpg", camera.crop(camera.view3d()["area"])[80:, 260:])
    edit(bpy.ops.object.mode_set, mode="OBJECT")


def pins(save):
    """Takes the foldout Pin, and a pin whose target lies farther than the flesh is shown."""
    body = yield from stage.add_biped("walk")
    bpy.context.scene.frame_set(1)
    camera.look((0.0, 0.0, 0.74), 2.0, 50.0)
    Foldouts.open("Pin")
    yield from stage.wait_until_drawn()
    edit(bpy.ops.thew.pin_point, vertex=_vertex_near(body, (0.0, -0.35, 0.7)))
    target = body.thew.pins[0].target
    place = target.matrix_world.copy()
    target.parent, target.parent_type, target.parent_bone = body.find_armature(), "BONE", "hips"
    target.matrix_world = place
    yield from stage.wait_until_updated()
    yield from stage.wait_until_drawn()
    save("panel-pin.png", camera.sidebar())
    target.matrix_world.translation.y -= 0.4
    yield from stage.wait_until_updated()
    yield from stage.wait_until_drawn()
    save("pin-short.jpg", camera.crop(camera.view3d()["area"])[80:, 260:])


def belt(save):
    """Takes a belt around the belly in a walk: the ring of skin that a bone holds, and the foldout. The lattice is fine enough for its furrow."""
    body = yield from stage.add_biped("walk", cells=20)
    bpy.context.scene.frame_set(1)
    edit(bpy.ops.thew.pin_belt, bone="spine", girth=0.9)
    edit(bpy.ops.thew.simulate)
    yield from stage.wait_until_ready(body)
    bpy.context.scene.frame_set(BELTED)
    camera.look((0.0, 0.0, 0.74), 2.0, -25.0)
    Foldouts.open("Pin")
    yield from stage.wait_until_updated()
    yield from stage.wait_until_drawn()
    yield from stage.wait_until_still()
    save("belt.jpg", camera.crop(camera.view3d()["area"])[80:, 260:])


def _vertex_near(body, place) -> int:
    """Returns the vertex of a mesh nearest to a place at rest."""
    places = np.empty(3 * len(body.data.vertices), np.float32)
    body.data.vertices.foreach_get("co", places)
    return int(np.argmin(np.linalg.norm(places.reshape(-1, 3) - np.array(place), axis=1)))


#: Frame at which the belt is seen.
BELTED = 14
#: Joints of our biped that are clicked one after the other, as the bones whose heads or tails they are; a repeated one goes on from there.
CLICKED = (
    ("hips", "head"), ("chest", "head"), ("head", "head"), ("head", "tail"), ("chest", "head"), ("upperarm.L", "head"),
    ("forearm.L", "head"), ("hand.L", "tail"), ("hips", "head"), ("thigh.L", "head"), ("shin.L", "head"),
)  # fmt: skip


def clicking(save):
    """Takes a skeleton that is being clicked into our biped without its bones, with their images on the other side."""
    stage.clear_scene()
    armature, body = own.create("biped")
    bones = armature.data.bones
    places = [np.array(getattr(bones[name], f"{end}_local")) for name, end in CLICKED]
    body.parent = None
    body.modifiers.clear()
    body.vertex_groups.clear()
    bpy.data.objects.remove(armature)
    bpy.context.view_layer.update()
    activate(body)
    camera.look((0.0, 0.0, 0.78), 1.9, 0.0, height=0.0, ortho=True)
    Foldouts.open()
    yield from stage.wait_until_drawn()
    edit(bpy.ops.thew.skeleton_click, "INVOKE_DEFAULT")
    yield 0.8
    for place in places:
        at = mouse.at(place)
        for kind, value in (("MOUSEMOVE", "NOTHING"), ("LEFTMOUSE", "PRESS"), ("LEFTMOUSE", "RELEASE")):
            mouse.send(kind, value, at)
            yield 0.3
    yield from stage.wait_until_still()
    save("skeleton-by-clicking.jpg", camera.crop(camera.view3d()["area"])[80:, 260:])
    yield from mouse.press("ESC")


STORIES = (lattice, pins, belt, clicking)
