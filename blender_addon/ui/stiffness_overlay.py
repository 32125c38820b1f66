# SPDX-License-Identifier: GPL-3.0-or-later
"""Why flesh is stiff, as colours on the character in the 3D view, with a legend."""

from __future__ import annotations

import bpy
import numpy as np

from ..languages.translations import translate
from ..live import stiffness
from ..live.session import register as fleshes
from ..logic.native import core
from ..logic.stiffness_causes import Cause
from .map_overlay import direction_to_eye, draw_triangles, lit_surface, visible_characters
from .viewing import Overlay

#: Side of a box of the legend, height of its rows and distance from the view's corner, pixels at a UI scale of 1.
BOX, ROW, MARGIN = 12.0, 18.0, 24.0


def is_visible(obj: bpy.types.Object) -> bool:
    """Returns whether the colours of an object are drawn; the flesh map goes first."""
    return obj.thew.show_limits and not obj.thew.show_map and obj.mode not in {"WEIGHT_PAINT", "EDIT", "SCULPT"}


def draw_surfaces(context: bpy.types.Context) -> None:
    """Colours the characters whose overlay is on."""
    depsgraph, eye = context.view_layer.depsgraph, direction_to_eye(context.region_data)
    for obj in fleshes.objects(context.scene):
        if is_visible(obj) and obj.visible_get():
            found = coloured_surface(obj, depsgraph, eye)
            if found is not None:
                draw_triangles(*found)


def coloured_surface(obj, depsgraph, towards_eye: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Returns the coloured surface of an evaluated character, see `map_overlay.lit_surface`; None without built flesh."""
    found = known_map(obj)
    return None if found is None else lit_surface(obj.evaluated_get(depsgraph), found.colours(), towards_eye)


def known_map(obj: bpy.types.Object):
    """Returns the map of causes of an object; None without built flesh, or where the core refuses it."""
    try:
        return stiffness.stiffness_map(obj, fleshes.known_state(obj))
    except core().ThewError:
        return None


def legend_boxes(
    causes: list[Cause], scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[str, float, float]]]:
    """Returns the legend: points [4 c, 3], colours [4 c, 4], triangles [2 c, 3], and each label with its place, pixels."""
    points, colours, triangles, labels = [], [], [], []
    for k, cause in enumerate(causes):
        x, y, side = MARGIN * scale, (MARGIN + ROW * (len(causes) - 1 - k)) * scale, BOX * scale
        points += [(x, y, 0.0), (x + side, y, 0.0), (x + side, y + side, 0.0), (x, y + side, 0.0)]
        colours += [(*cause.colour, 1.0)] * 4
        triangles += [(4 * k, 4 * k + 1, 4 * k + 2), (4 * k, 4 * k + 2, 4 * k + 3)]
        labels.append((cause.label, x + 1.6 * side, y + 0.15 * side))
    return np.array(points, np.float32), np.array(colours, np.float32), np.array(triangles, np.int32), labels


def draw_legend(context: bpy.types.Context) -> None:
    """Draws the causes that are seen, in the lower left corner of the view."""
    import blf
    import gpu
    from gpu_extras.batch import batch_for_shader

    shown = next((obj for obj in visible_characters(context) if is_visible(obj)), None)
    found = known_map(shown) if shown is not None else None
    if found is None:
        return
    points, colours, triangles, labels = legend_boxes(found.legend(), context.preferences.system.ui_scale)
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    batch_for_shader(shader, "TRIS", {"pos": points, "color": colours}, indices=triangles).draw(shader)
    font = 0
    blf.size(font, 12 * context.preferences.system.ui_scale)
    blf.color(font, 1.0, 1.0, 1.0, 0.9)
    blf.enable(font, blf.SHADOW)
    blf.shadow(font, 3, 0.0, 0.0, 0.0, 0.8)
    for text, x, y in labels:
        blf.position(font, x, y, 0.0)
        blf.draw(font, translate(text))
    blf.disable(font, blf.SHADOW)


OVERLAYS = (Overlay(draw_surfaces), Overlay(draw_legend, flat=True))
