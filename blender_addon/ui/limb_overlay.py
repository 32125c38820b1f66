# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of limbs: hubs, spokes and the implied boundary, following the pose."""

from __future__ import annotations

import bpy
import numpy as np

from ..edit.limbs import model_of
from ..live import target
from ..logic import limbs
from ..logic.errors import Refusal
from ..logic.extents import triangle_edges
from ..logic.native import core
from ..scene.limbs import chain, pose_maps
from .viewing import Overlay, draw_all

BOUNDARY_COLOUR = (0.35, 0.75, 1.0, 0.35)
SPOKE_COLOUR = (0.95, 0.95, 0.95, 0.55)
AXIS_COLOUR = (1.0, 0.55, 0.1, 1.0)

#: Parsed models by their text, and lines by text and pose.
_models: dict[str, object] = {}
_lines: dict[tuple[str, bytes], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = {}


def draw(context: bpy.types.Context) -> None:
    """Draws the limbs of the target mesh."""
    obj = target.target_mesh(context)
    if obj is None or obj.type != "MESH" or not obj.visible_get():
        return
    for limb in obj.thew.limbs:
        found = lines(obj, limb) if limb.shown else None
        if found is not None:
            points, sides, spokes, hubs = found
            draw_all([(points[sides], BOUNDARY_COLOUR, 1.0)], hidden=True)
            # Lines inside the body are shown through it.
            draw_all(
                [
                    (spokes.reshape(-1, 2, 3), SPOKE_COLOUR, 1.0),
                    (np.stack([hubs[:-1], hubs[1:]], axis=1), AXIS_COLOUR, 3.0),
                ]
            )


def lines(obj: bpy.types.Object, limb) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Returns (boundary points, their edges, spokes as pairs of points, hubs) in the world at the present pose. `None`
    if the limb is damaged.
    """
    try:
        maps = pose_maps(obj, chain(obj, limb))
        key = (limb.model, maps.tobytes())
        if key not in _lines:
            if len(_lines) > 32:
                _lines.clear()
                _models.clear()
            if limb.model not in _models:
                _models[limb.model] = model_of(limb)
            model = limbs.pose_tube(core(), _models[limb.model], maps)
            boundary = model.boundary(1)
            _lines[key] = (
                boundary.vertices,
                np.unique(triangle_edges(boundary.triangles), axis=0),
                limbs.spoke_lines(model),
                model.hubs,
            )
    except (Refusal, ValueError):
        return None
    return _lines[key]


OVERLAYS = (Overlay(draw, _models, _lines),)
