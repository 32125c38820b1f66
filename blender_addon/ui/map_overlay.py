# SPDX-License-Identifier: GPL-3.0-or-later
"""The flesh map as colours on the character in the 3D view, and the legend."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import target
from ..live.session import register as fleshes
from ..logic import flesh_map as maps
from ..logic.spaces import diagonal
from ..scene import flesh_map
from ..scene.mesh import mesh_positions, numbers, triangles_of
from .viewing import Overlay

#: Width and height of the legend's bar and its distance from the view's lower edge, pixels at a UI scale of 1.
LEGEND_WIDTH, LEGEND_HEIGHT, LEGEND_MARGIN = 180, 12, 42

#: Labels of the two ends of each map.
END_LABELS = {
    flesh_map.FLESH: ("skin as it is", "soft"),
    flesh_map.STIFFNESS: ("a quarter", "4 times as stiff"),
    flesh_map.RIGID: ("free", "moves with its bones alone"),
}

#: Map values of the meshes drawn last, by the object's session id: (cache key, values [n]).
_values: dict[int, tuple[tuple, np.ndarray]] = {}


def visible_map(obj: bpy.types.Object) -> str:
    """Returns the name of the map to explain: the painted one, or Flesh where the overlay is on; else ""."""
    if obj.mode == "WEIGHT_PAINT":
        active = obj.vertex_groups.active
        return active.name if active is not None and active.name in END_LABELS else ""
    return flesh_map.FLESH if obj.thew.show_map and obj.vertex_groups.get(flesh_map.FLESH) is not None else ""


def draw_surfaces(context: bpy.types.Context) -> None:
    """Colours the characters whose overlay is on. During weight painting Blender does it."""
    depsgraph = context.view_layer.depsgraph
    for obj in fleshes.objects(context.scene):
        if obj.thew.show_map and obj.visible_get() and obj.mode not in {"WEIGHT_PAINT", "EDIT", "SCULPT"}:
            draw_surface(obj, depsgraph, context.region_data)


def draw_surface(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, view) -> None:
    """Draws one evaluated character, coloured by its map and lit from the eye."""
    found = coloured_surface(obj, depsgraph, direction_to_eye(view))
    if found is not None:
        draw_triangles(*found)


def direction_to_eye(view) -> np.ndarray:
    """Returns the direction to the eye of a `RegionView3D`."""
    return np.array(view.view_matrix.inverted())[:3, 2]


def draw_triangles(points: np.ndarray, colours: np.ndarray, triangles: np.ndarray) -> None:
    """Draws a coloured surface, hidden by what lies before it."""
    import gpu
    from gpu_extras.batch import batch_for_shader

    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    gpu.state.depth_test_set("LESS_EQUAL")
    gpu.state.depth_mask_set(True)
    batch_for_shader(shader, "TRIS", {"pos": points, "color": colours}, indices=triangles).draw(shader)
    gpu.state.depth_mask_set(False)
    gpu.state.depth_test_set("NONE")


def coloured_surface(obj, depsgraph, towards_eye: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Returns the coloured surface of an evaluated character, see `lit_surface`, or `None` if it has no map."""
    evaluated = obj.evaluated_get(depsgraph)
    values = values_of(obj, evaluated.data)
    return None if values is None else lit_surface(evaluated, maps.colours(values), towards_eye)


def lit_surface(
    evaluated: bpy.types.Object, colours: np.ndarray, towards_eye: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Returns the surface of an evaluated mesh in colours [n, 3] of its vertices, lit from the eye; `None` where they are not its own.

    The surface is (world points float32[n, 3], colours float32[n, 4], triangles int32[t, 3]). The points are lifted off
    the skin a little, so that they hide it.
    """
    mesh = evaluated.data
    if not len(mesh.polygons) or len(colours) != len(mesh.vertices):
        return None
    matrix = np.array(evaluated.matrix_world)
    points = mesh_positions(mesh) @ matrix[:3, :3].T + matrix[:3, 3]
    normals = numbers(mesh.vertex_normals, "vector", 3) @ np.linalg.pinv(matrix[:3, :3])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    points = points + 1e-3 * diagonal(points) * normals
    light = 0.45 + 0.55 * np.abs(normals @ towards_eye)
    lit = np.ones((len(colours), 4), np.float32)
    lit[:, :3] = colours * light[:, None]
    return points.astype(np.float32), lit, triangles_of(mesh)


def values_of(obj: bpy.types.Object, mesh: bpy.types.Mesh) -> np.ndarray | None:
    """Returns the map Flesh of an evaluated mesh, [n]. It is read again when the group, the vertex count or the flesh has changed."""
    group = obj.vertex_groups.get(flesh_map.FLESH)
    if group is None:
        return None
    flesh = fleshes.known_state(obj)
    # Strokes are only noticed once flesh is built: until then the map is read each time.
    state = None if flesh is None or flesh.character is None else (flesh.touches, obj.thew.made.flesh_map)
    key = (state, flesh, group.index, len(mesh.vertices))
    known = _values.get(obj.session_uid)
    if known is None or state is None or known[0] != key:
        _values.clear() if len(_values) > 16 else None
        known = (key, flesh_map.mesh_weights(mesh, group.index, flesh_map.MISSING_VALUES[flesh_map.FLESH]))
        _values[obj.session_uid] = known
    return known[1]


def legend_bar(left: float, low: float, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the legend's bar: (points [2 m, 2], colours [2 m, 4], triangles [t, 3])."""
    parts = np.linspace(0.0, 1.0, 33)
    x, height = left + LEGEND_WIDTH * scale * parts, LEGEND_HEIGHT * scale
    points = np.concatenate([np.stack([x, np.full_like(x, y)], axis=1) for y in (low, low + height)])
    colours = np.ones((len(points), 4))
    colours[:, :3] = np.tile(maps.colours(parts), (2, 1))
    i = np.arange(len(parts) - 1)
    n = len(parts)
    triangles = np.concatenate([np.stack([i, i + 1, i + n], axis=1), np.stack([i + 1, i + n + 1, i + n], axis=1)])
    return points.astype(np.float32), colours.astype(np.float32), triangles.astype(np.int32)


def draw_legend(context: bpy.types.Context) -> None:
    """Draws the legend at the view's lower edge while a map is shown or painted: a bar with a word at each end."""
    import blf
    import gpu
    from gpu_extras.batch import batch_for_shader

    region = context.region
    if context.space_data is None or region is None:
        return
    name = next((name for obj in visible_characters(context) for name in [visible_map(obj)] if name), "")
    if not name:
        return
    scale = context.preferences.system.ui_scale
    left, low = 0.5 * (region.width - LEGEND_WIDTH * scale), LEGEND_MARGIN * scale
    points, colours, triangles = legend_bar(left, low, scale)
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    flat = np.concatenate([points, np.zeros((len(points), 1), np.float32)], axis=1)
    batch_for_shader(shader, "TRIS", {"pos": flat, "color": colours}, indices=triangles).draw(shader)
    font, gap = 0, 8 * scale
    blf.size(font, 12 * scale)
    blf.color(font, 1.0, 1.0, 1.0, 0.9)
    blf.enable(font, blf.SHADOW)
    blf.shadow(font, 3, 0.0, 0.0, 0.0, 0.8)
    start, end = END_LABELS[name]
    places = ((start, left - gap - blf.dimensions(font, start)[0]), (end, left + LEGEND_WIDTH * scale + gap))
    for text, x in places:
        blf.position(font, x, low + 1.5 * scale, 0.0)
        blf.draw(font, text)
    blf.disable(font, blf.SHADOW)


def visible_characters(context) -> list[bpy.types.Object]:
    """Returns the visible characters with flesh, the active one first."""
    meant = target.target_mesh(context)
    found = [obj for obj in fleshes.objects(context.scene) if obj.visible_get()]
    return sorted(found, key=lambda obj: obj != meant)


OVERLAYS = (Overlay(draw_surfaces, _values), Overlay(draw_legend, flat=True))
