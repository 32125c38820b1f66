# SPDX-License-Identifier: GPL-3.0-or-later
"""The 3D view under the mouse: rays into it, points that follow the mouse, and lines drawn into it."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

#: (lines [m, 2, 3] or points [m, 3] in Blender's world, colour, width in pixels).
Drawing = tuple[np.ndarray, tuple[float, float, float, float], float]


@dataclass
class View:
    """A 3D view and the mouse's position in it, pixels."""

    region: bpy.types.Region
    space: bpy.types.SpaceView3D
    mouse: tuple[float, float]

    def ray(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns (origin, direction) of the ray under the mouse, Blender's world."""
        from bpy_extras import view3d_utils

        data = self.space.region_3d
        direction = np.array(view3d_utils.region_2d_to_vector_3d(self.region, data, self.mouse))
        origin = np.array(view3d_utils.region_2d_to_origin_3d(self.region, data, self.mouse))
        if not data.is_perspective:  # its origin may lie inside the body
            origin = origin - direction * float(self.space.clip_end)
        return origin, direction

    def point_at_depth(self, point: np.ndarray) -> np.ndarray:
        """Returns the point under the mouse at the depth of `point`."""
        from bpy_extras import view3d_utils

        return np.array(
            view3d_utils.region_2d_to_location_3d(self.region, self.space.region_3d, self.mouse, point.tolist())
        )

    def pixels(self, points: np.ndarray) -> np.ndarray:
        """Projects points [n, 3] into the view: [n, 2] pixels from its corner, like the mouse; NaN behind the eye."""
        matrix = np.array(self.space.region_3d.perspective_matrix)
        seen = np.c_[points, np.ones(len(points))] @ matrix.T
        front = seen[:, 3] > 0.0
        depth = np.where(front, seen[:, 3], np.nan)[:, None]
        return (seen[:, :2] / depth + 1.0) * 0.5 * np.array([self.region.width, self.region.height])

    def axes(self) -> np.ndarray:
        """Returns the directions towards the eye and to the right, [2, 3]."""
        turn = np.array(self.space.region_3d.view_matrix.to_3x3())
        return np.stack([turn[2], turn[0]])


def view_under_mouse(context: bpy.types.Context, event: bpy.types.Event) -> View | None:
    """Returns the 3D view under the mouse. `None` over anything else, including its toolbars and sidebars."""
    x, y = event.mouse_x, event.mouse_y
    for area in context.window.screen.areas:
        if area.type != "VIEW_3D":
            continue
        inside = [r for r in area.regions if r.x <= x < r.x + r.width and r.y <= y < r.y + r.height]
        main = next((r for r in inside if r.type == "WINDOW"), None)
        if main is not None and all(r.type in {"WINDOW", "HEADER", "TOOL_HEADER"} or r.width <= 1 for r in inside):
            return View(main, area.spaces.active, (x - main.x, y - main.y))
    return None


class TemporaryDrawing:
    """Lines and points drawn into the 3D views while a tool is active. `lines()` is called at every redraw, see `draw_all`."""

    def __init__(self, lines):
        self._handle = bpy.types.SpaceView3D.draw_handler_add(lambda: draw_all(lines()), (), "WINDOW", "POST_VIEW")

    def end(self) -> None:
        """Stops drawing."""
        if self._handle is not None:
            bpy.types.SpaceView3D.draw_handler_remove(self._handle, "WINDOW")
            self._handle = None


class Overlay:
    """A drawing into the 3D views that show overlays, for as long as the extension is registered.

    `draw(context)` is called at every redraw, after the view's objects or, with `flat`, in pixels of the region. `caches` are emptied
    at the end. `space`: type of the editors, others than 3D views draw in pixels.
    """

    def __init__(self, draw, *caches: dict, flat: bool = False, space: str = "SpaceView3D"):
        self.draw, self.caches, self.kind = draw, caches, "POST_PIXEL" if flat else "POST_VIEW"
        self.space = getattr(bpy.types, space)
        self.handle = None

    def register(self) -> None:
        if not bpy.app.background:  # there is nothing to draw on, and drawing modules may be missing
            self.handle = self.space.draw_handler_add(self.draw_where_shown, (), "WINDOW", self.kind)

    def unregister(self) -> None:
        if self.handle is not None:
            self.space.draw_handler_remove(self.handle, "WINDOW")
            self.handle = None
        for cache in self.caches:
            cache.clear()

    def draw_where_shown(self) -> None:
        """Draws into an editor that shows overlays, or has no switch for them."""
        context = bpy.context
        space = context.space_data
        overlays = getattr(space, "overlay", None) or getattr(space, "overlays", None)
        if overlays is None or overlays.show_overlays:
            self.draw(context)


def draw_all(drawings: list[Drawing], hidden: bool = False) -> None:
    """Draws lines and points on top of everything, or `hidden` by what lies before them."""
    import gpu
    from gpu_extras.batch import batch_for_shader

    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("LESS_EQUAL" if hidden else "NONE")
    shader.bind()
    for points, colour, width in drawings:
        if not len(points):
            continue
        dots = points.ndim == 2
        (gpu.state.point_size_set if dots else gpu.state.line_width_set)(width)
        shader.uniform_float("color", colour)
        flat = np.ascontiguousarray(points.reshape(-1, 3), dtype=np.float32)
        batch_for_shader(shader, "POINTS" if dots else "LINES", {"pos": flat}).draw(shader)
    gpu.state.line_width_set(1.0)
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("NONE")
