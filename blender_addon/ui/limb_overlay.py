# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of limbs: hubs, spokes and the implied boundary, following the pose."""

from __future__ import annotations

import bpy
import numpy as np

from ..edit.limbs import model_of
from ..live import target
from ..logic import limbs
from ..logic.errors import Refusal
from ..logic.native import core
from ..scene.limbs import chain, pose_maps

BOUNDARY = (0.35, 0.75, 1.0, 0.35)
SPOKES = (0.95, 0.95, 0.95, 0.55)
AXIS = (1.0, 0.55, 0.1, 1.0)

_handle = None
#: Parsed models by their text, and lines by text and pose.
_models: dict[str, object] = {}
_lines: dict[tuple[str, bytes], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = {}


def draw() -> None:
    """Draws the limbs of the target mesh."""
    space = bpy.context.space_data
    if space is not None and not space.overlay.show_overlays:
        return
    obj = target.of(bpy.context)
    if obj is None or obj.type != "MESH" or not obj.visible_get():
        return
    for limb in obj.thew.limbs:
        if limb.shown:
            found = lines(obj, limb)
            if found is not None:
                draw_lines(*found)


def lines(obj: bpy.types.Object, limb) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Returns (boundary points, their edges, spokes as pairs of points, hubs) in the world at the present pose. `None`
    if the limb is damaged."""
    try:
        maps = pose_maps(obj, chain(obj, limb))
        key = (limb.model, maps.tobytes())
        if key not in _lines:
            if len(_lines) > 32:
                _lines.clear()
                _models.clear()
            if limb.model not in _models:
                _models[limb.model] = model_of(limb)
            model = limbs.posed(core(), _models[limb.model], maps)
            boundary = model.boundary(1)
            _lines[key] = (boundary.vertices, edges(boundary.triangles), limbs.spoke_lines(model), model.hubs)
    except (Refusal, ValueError):
        return None
    return _lines[key]


def edges(triangles: np.ndarray) -> np.ndarray:
    """Returns the edges of a triangle mesh, each once, [e, 2]."""
    pairs = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    return np.unique(pairs, axis=0).astype(np.int32)


def draw_lines(points, sides, spokes, hubs) -> None:
    import gpu
    from gpu_extras.batch import batch_for_shader

    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    gpu.state.blend_set("ALPHA")
    shader.bind()
    gpu.state.depth_test_set("LESS_EQUAL")
    shader.uniform_float("color", BOUNDARY)
    batch_for_shader(shader, "LINES", {"pos": points.astype(np.float32)}, indices=sides).draw(shader)
    gpu.state.depth_test_set("NONE")  # lines inside the body are shown through it
    shader.uniform_float("color", SPOKES)
    batch_for_shader(shader, "LINES", {"pos": spokes.astype(np.float32)}).draw(shader)
    gpu.state.line_width_set(3.0)
    shader.uniform_float("color", AXIS)
    batch_for_shader(shader, "LINE_STRIP", {"pos": hubs.astype(np.float32)}).draw(shader)
    gpu.state.line_width_set(1.0)
    gpu.state.blend_set("NONE")


def register() -> None:
    global _handle
    if not bpy.app.background:  # there is nothing to draw on, and drawing modules may be missing
        _handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_VIEW")


def unregister() -> None:
    global _handle
    if _handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
        _handle = None
    _models.clear()
    _lines.clear()
