# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of the control lattice, deformed with the frame: thin lines, and the bones' edges in colour."""

from __future__ import annotations

import bpy
import numpy as np

from ..live.flesh import Flesh
from ..live.session import register as fleshes
from ..logic.wires import lattice_wires

CELL_COLOUR = (0.35, 0.75, 1.0, 0.35)
BONE_COLOUR = (1.0, 0.55, 0.1, 1.0)

_handle = None
#: Wires of the lattices drawn, by the lattice's identity: (lattice, cell edges, bone edges).
_wires: dict[int, tuple[object, np.ndarray, np.ndarray]] = {}


def draw() -> None:
    """Draws the lattices of the scene's objects whose overlay is on."""
    scene = bpy.context.scene
    space = bpy.context.space_data
    if space is not None and not space.overlay.show_overlays:
        return
    for obj in fleshes.objects(scene):
        if not obj.thew.show_lattice or not obj.visible_get():
            continue
        flesh = fleshes.known(obj)
        if flesh is not None and flesh.lattice is not None:
            draw_lattice(flesh, scene.frame_float if obj.thew.enabled else None)


def draw_lattice(flesh: Flesh, frame: float | None) -> None:
    """Draws one lattice as it is at `frame`, or at rest."""
    import gpu
    from gpu_extras.batch import batch_for_shader

    positions = lattice_shape(flesh, frame).astype(np.float32)
    cells, bones = wires_of(flesh.lattice)
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("LESS_EQUAL")
    shader.bind()
    for lines, colour, width in ((cells, CELL_COLOUR, 1.0), (bones, BONE_COLOUR, 3.0)):
        if not len(lines):
            continue
        if lines is bones:  # bones lie inside the body: show them through it
            gpu.state.depth_test_set("NONE")
        gpu.state.line_width_set(width)
        shader.uniform_float("color", colour)
        batch_for_shader(shader, "LINES", {"pos": positions}, indices=lines).draw(shader)
    gpu.state.line_width_set(1.0)
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("NONE")


def lattice_shape(flesh: Flesh, frame: float | None) -> np.ndarray:
    """Returns the lattice vertices in Blender's world, [k, 3]."""
    if frame is not None and flesh.clip is not None:
        return flesh.lattice_positions(frame)[: len(flesh.lattice.vertices)]
    return flesh.place.world(flesh.lattice.vertices)


def wires_of(lattice) -> tuple[np.ndarray, np.ndarray]:
    """Returns the lattice's (cell edges, bone edges), cached for the next drawing."""
    known = _wires.get(id(lattice))
    if known is None or known[0] is not lattice:
        _wires.clear() if len(_wires) > 32 else None
        known = (lattice, *lattice_wires(lattice.cells, lattice.bone_edges))
        _wires[id(lattice)] = known
    return known[1], known[2]


def register() -> None:
    global _handle
    if not bpy.app.background:  # there is nothing to draw on, and drawing modules may be missing
        _handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_VIEW")


def unregister() -> None:
    global _handle
    if _handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
        _handle = None
    _wires.clear()
