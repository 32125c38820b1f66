# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of keyframed flesh: velocities at keys as arrows, and the motion as curves along the leading directions of the keys.

The curves stand in the lower left corner: the motion solid, plain splines through the same keys dashed, faint vertical
lines at the keys, and a bright one at the current frame.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..live import keyframed
from ..logic import graphs
from ..logic.native import EXPECTED_ERRORS
from ..saved import keyframed as saved
from ..scene import keyframe_shapes
from ..scene.mesh import key_positions
from .viewing import Drawing, Overlay, draw_all

ARRIVING_COLOUR, LEAVING_COLOUR = (0.3, 0.8, 1.0, 1.0), (1.0, 0.6, 0.2, 1.0)
#: Colours of the leading directions, in order.
DIRECTION_COLOURS = ((0.95, 0.35, 0.3, 1.0), (0.4, 0.85, 0.4, 1.0), (0.4, 0.6, 1.0, 1.0), (0.95, 0.8, 0.3, 1.0))
AXES_COLOUR, KEYS_COLOUR, FRAME_COLOUR = (1.0, 1.0, 1.0, 0.35), (1.0, 1.0, 1.0, 0.15), (1.0, 1.0, 1.0, 0.9)
#: Background of the curves, so that grid and mesh do not run through them.
BACKGROUND_COLOUR = (0.08, 0.08, 0.08, 0.7)
#: Seconds of motion that an arrow's length shows. At a walk of 1.4 m/s a quarter of a second is a third of a metre,
#: which fits beside the walker.
ARROW_TIME = 0.25
#: Box of the curves, pixels: left, bottom, width, height.
CURVE_BOX = (70.0, 40.0, 380.0, 150.0)

#: Curves drawn last, by the object's session id: (motion, plan, curves).
_curves: dict[int, tuple] = {}

# arrows ---------------------------------------------------------------------------------------------------------------


def arrows(obj: bpy.types.Object) -> list[Drawing]:
    """Returns the velocities of the chosen key as arrows."""
    key = saved.active_key(obj)
    block = keyframe_shapes.block_of(obj, key) if key is not None else None
    if block is None:
        return []
    found, middle = [], key_positions(block).mean(axis=0)
    world = np.array(obj.matrix_world, dtype=np.float64)
    kinds = [(key.velocity, key.arrow, ARRIVING_COLOUR)] + (
        [(key.leaving, key.leaving_arrow, LEAVING_COLOUR)] if key.cut else []
    )
    for kind, arrow, colour in kinds:
        vector = np.array(arrow)
        if kind == "ARROW" and vector.any():
            lines = graphs.arrow(middle, ARROW_TIME * vector) @ world[:3, :3].T + world[:3, 3]
            found.append((lines, colour, 3.0))
    return found


def draw_arrows(context: bpy.types.Context) -> None:
    """Draws the arrows of the active object."""
    obj = keyframed_object(context)
    if obj is not None and obj.visible_get() and obj.thew.keyframed.show_arrows:
        draw_all(arrows(obj))


def keyframed_object(context: bpy.types.Context) -> bpy.types.Object | None:
    """Returns the active object if it has keyframed flesh."""
    obj = context.view_layer.objects.active
    return obj if obj is not None and obj.type == "MESH" and obj.thew.made.keyframed else None


# curves ---------------------------------------------------------------------------------------------------------------


def curves(obj: bpy.types.Object, frame: float) -> list[tuple[np.ndarray, tuple, float]]:
    """Returns the curves as (lines [m, 2, 2] in pixels, colour, width). Empty where no motion is built."""
    known = keyframed.register.state_of(obj)
    if known.motion is None:
        return []
    kept = _curves.get(obj.session_uid)
    if kept is None or kept[0] is not known.motion or kept[1] is not known.plan:
        try:
            kept = (known.motion, known.plan, known.motion.curves(len(DIRECTION_COLOURS)))
        except EXPECTED_ERRORS:
            return []
        _curves.clear()
        _curves[obj.session_uid] = kept
    frames, ours, plain = kept[2]
    drawn = [(graphs.frame(CURVE_BOX), AXES_COLOUR, 1.0)]
    low, high = graphs.reach(ours, plain)

    def vertical_line(at: float) -> np.ndarray:
        ends = np.array([low, high])
        return graphs.strokes(
            graphs.curve_points(np.array([at, at]), ends, (frames[0], frames[-1]), (low, high), CURVE_BOX)
        )

    reached = [key.frame for segment in known.motion.segments for key in segment.keys]
    drawn.append((np.concatenate([vertical_line(at) for at in dict.fromkeys(reached)]), KEYS_COLOUR, 1.0))
    for k, colour in enumerate(DIRECTION_COLOURS):
        if not (np.ptp(ours[:, k]) + np.ptp(plain[:, k]) > 1e-6 * (high - low)):
            continue
        for rows, width, dashed in ((plain, 1.0, True), (ours, 2.0, False)):
            line = graphs.curve_points(frames, rows[:, k], (frames[0], frames[-1]), (low, high), CURVE_BOX)
            drawn.append((graphs.strokes(line, dashed), colour, width))
    if frames[0] <= frame <= frames[-1]:
        drawn.append((vertical_line(frame), FRAME_COLOUR, 1.0))
    return drawn


def draw_curves(context: bpy.types.Context) -> None:
    """Draws the curves of the active object."""
    obj = keyframed_object(context)
    lines = curves(obj, context.scene.frame_float) if obj is not None and obj.thew.keyframed.show_curves else []
    if not lines:
        return
    import gpu
    from gpu_extras.batch import batch_for_shader

    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    scale = context.preferences.system.ui_scale
    gpu.state.blend_set("ALPHA")
    shader.bind()
    left, bottom, width, height = (scale * each for each in CURVE_BOX)
    corners = [(left, bottom, 0.0), (left + width, bottom, 0.0), (left, bottom + height, 0.0)]
    corners.append((left + width, bottom + height, 0.0))
    shader.uniform_float("color", BACKGROUND_COLOUR)
    batch_for_shader(shader, "TRI_STRIP", {"pos": corners}).draw(shader)
    for strokes, colour, width in lines:
        gpu.state.line_width_set(width)
        shader.uniform_float("color", colour)
        flat = np.zeros((2 * len(strokes), 3), dtype=np.float32)
        flat[:, :2] = scale * strokes.reshape(-1, 2)
        batch_for_shader(shader, "LINES", {"pos": flat}).draw(shader)
    gpu.state.line_width_set(1.0)
    gpu.state.blend_set("NONE")


OVERLAYS = (Overlay(draw_arrows), Overlay(draw_curves, _curves, flat=True))
