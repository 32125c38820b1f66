# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs from shapes in the window: what a sculpted rig holds, features clicked on a scan, and rigs copied to another character."""

from __future__ import annotations

import bpy
import numpy as np

from assets import characters as own
from demo.extension import activate, addon

from .. import camera, mouse, stage
from ..camera import edit

#: Frame at which the arms are bent, and the frame of the scan.
BENT, SCANNED = 14, 20
#: Place of the mouse as the dialog opens, which then stands over the empty left of the 3D view.
DIALOG_PLACE = (330, 270)
#: Distance between two characters that stand beside each other, m.
APART = 1.15
#: Places on the biped at rest that are clicked as features: forehead, chest, belly, shoulders, hands and knees.
FEATURES = (
    (0.0, -0.2, 1.35), (0.0, -0.2, 1.0), (0.0, -0.3, 0.75), (0.18, -0.05, 1.0), (-0.18, -0.05, 1.0), (0.14, -0.15, 0.45),
    (-0.14, -0.15, 0.45),
)  # fmt: skip


def swollen(body, size: float = 0.06) -> None:
    """Adds a shape key that swells the belly of a mesh by `size`, m."""
    if body.data.shape_keys is None:
        body.shape_key_add(name="Basis")
    key = body.shape_key_add(name="Big Belly")
    rest = np.array([vertex.co for vertex in body.data.vertices])
    belly = np.exp(-(((rest - [0.0, -0.25, 0.75]) / 0.16) ** 2).sum(axis=1))
    shaped = rest + size * belly[:, None] * np.array([0.0, -1.0, 0.0])
    key.points.foreach_set("co", shaped.astype(np.float32).ravel())
    body.active_shape_key_index = len(body.data.shape_keys.key_blocks) - 1


def sculpted(save):
    """Takes a rig from a shape key: the foldout, and its points on the belly."""
    body = yield from stage.add_biped("walk")
    bpy.context.scene.frame_set(BENT)
    swollen(body)
    edit(bpy.ops.thew.rig_from_shape, driven=False)
    body.thew.settled = True
    camera.look((0.0, 0.0, 0.74), 2.0, 50.0)
    camera.Foldouts.open("Rigs")
    yield from stage.wait_until_updated()
    yield from stage.wait_until_drawn()
    yield from stage.wait_until_still()
    save("sculpted-rig.jpg", camera.crop(camera.view3d()["area"])[80:, 260:])


def scan_of(body, frame: int) -> bpy.types.Object:
    """Builds a mesh with other vertices of what a body shows at a frame, beside it."""
    scene = bpy.context.scene
    before = scene.frame_current
    scene.frame_set(frame)
    shown = bpy.data.meshes.new_from_object(body.evaluated_get(bpy.context.evaluated_depsgraph_get()))
    scene.frame_set(before)
    scan = bpy.data.objects.new("Scan", shown)
    scene.collection.objects.link(scan)
    scan.matrix_world = body.matrix_world.copy()
    scan.location.x += APART
    modifier = scan.modifiers.new("Decimate", "DECIMATE")
    modifier.ratio = 0.7
    activate(scan)
    edit(bpy.ops.object.modifier_apply, modifier="Decimate")
    activate(body)
    scan.select_set(True)
    return scan


def scanned(save):
    """Takes features that are clicked on a scan and on the character, in pairs."""
    body = yield from stage.add_biped("walk")
    bpy.context.scene.frame_set(1)
    scan = scan_of(body, SCANNED)
    camera.look((0.5 * APART, 0.0, 0.74), 2.6, 0.0, height=0.0, ortho=True)
    camera.Foldouts.open("Rigs")
    yield from stage.wait_until_updated()
    yield from stage.wait_until_drawn()
    mouse.send("MOUSEMOVE", "NOTHING", mouse.at((0.5 * APART, 0.0, 1.7)))
    yield 0.3
    edit(bpy.ops.thew.rig_from_mesh, "INVOKE_DEFAULT")
    yield 0.8
    rest = np.array([vertex.co for vertex in body.data.vertices])
    depsgraph = bpy.context.evaluated_depsgraph_get()
    here, there = (_places(each, depsgraph) for each in (body, scan))
    bpy.context.scene.frame_set(SCANNED)
    posed = _places(body, bpy.context.evaluated_depsgraph_get())
    bpy.context.scene.frame_set(1)
    for feature in FEATURES:
        vertex = int(np.argmin(np.linalg.norm(rest - feature, axis=1)))
        wanted = posed[vertex] + [APART, 0.0, 0.0]
        yield from mouse.click(mouse.at(here[vertex]))
        yield from mouse.click(mouse.at(there[np.argmin(np.linalg.norm(there - wanted, axis=1))]))
    yield from stage.wait_until_still()
    clicked = _standing()
    yield from mouse.press("RET")
    scan.hide_set(True)
    body.thew.settled = True
    yield from stage.wait_until_updated()
    yield from stage.wait_until_drawn()
    yield from stage.wait_until_still()
    save("rig-from-mesh.jpg", np.concatenate([clicked[:, 80:700], _standing()[:, 330:]], axis=1))


def _standing() -> np.ndarray:
    """Returns the middle of the 3D view, in which two characters stand."""
    pixels = camera.crop(camera.view3d()["region"])
    return pixels[60:-40, 80:-80]


def _places(obj, depsgraph) -> np.ndarray:
    """Returns the displayed vertices of a mesh in the world, [n, 3]."""
    shown = obj.evaluated_get(depsgraph)
    return np.array([shown.matrix_world @ vertex.co for vertex in shown.data.vertices])


def copied(save):
    """Takes the dialog that copies a rig to a second character, with the mapped skin as a ghost."""
    body = yield from stage.add_biped("walk")
    bpy.context.scene.frame_set(BENT)
    swollen(body)
    edit(bpy.ops.thew.rig_from_shape, driven=False)
    armature, other = own.create("biped")
    armature.name, other.name = "Tall Bones", "Tall"
    armature.location.x, armature.scale = APART, (1.1, 1.1, 1.25)
    bpy.context.view_layer.update()
    activate(other)
    edit(bpy.ops.thew.add, cells_across=12)
    body.select_set(True)
    camera.look((-0.5 * APART, 0.0, 0.9), 3.4, 0.0, height=0.0, ortho=True)  # beside the dialog
    camera.Foldouts.open()
    yield from stage.wait_until_updated()
    yield from stage.wait_until_drawn()
    yield from stage.wait_until_still()
    mouse.send("MOUSEMOVE", "NOTHING", DIALOG_PLACE)
    yield 0.3
    edit(bpy.ops.thew.rig_copy, "INVOKE_DEFAULT")
    yield 2.0
    yield from stage.wait_until_still()
    save("copy-rigs.jpg", camera.screen()[130:890, :1020])  # the dialog reaches below the 3D view
    yield from mouse.press("ESC")
    addon("ui.ghost_overlay").hide()


STORIES = (sculpted, scanned, copied)
