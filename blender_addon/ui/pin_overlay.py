# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlay of pins that stop short: a red line from where the flesh is shown to the target, and its length."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import session
from ..live.session import register as fleshes
from ..logic.pin_gaps import rounded
from ..logic.states import Pose
from ..saved.units import length
from .viewing import Overlay, View, draw_all

GAP_COLOUR = (1.0, 0.1, 0.1, 1.0)
LINE_WIDTH, POINT_SIZE = 2.0, 7.0
#: Size of the text and its distance below the flesh's end of the line, pixels at usual display scale.
TEXT_SIZE, TEXT_GAP = 12.0, 6.0


def gaps_shown(obj: bpy.types.Object, scene: bpy.types.Scene) -> tuple[np.ndarray, np.ndarray]:
    """Returns the gaps of the pins of a mesh at the scene's frame: their ends [m, 2, 3] in the world, and lengths [m].

    None are shown while the view shows something else than the simulated motion.
    """
    flesh, settings = fleshes.known_state(obj), obj.thew
    names = [pin.name for pin in settings.pins]
    live = flesh is not None and flesh.condition.is_showable and session.is_shown(obj) and obj.visible_get()
    if not names or not live or settings.settled or flesh.condition.pose is Pose.OTHER:
        return np.zeros((0, 2, 3)), np.zeros(0)
    return flesh.pin_gaps.drawn_at(scene.frame_current - flesh.clip_start, names)


def draw_lines(context: bpy.types.Context) -> None:
    """Draws the line of each gap, and a point where the flesh is shown."""
    for obj in fleshes.objects(context.scene):
        ends, _ = gaps_shown(obj, context.scene)
        if len(ends):
            draw_all([(ends, GAP_COLOUR, LINE_WIDTH), (ends[:, 0], GAP_COLOUR, POINT_SIZE)])


def draw_lengths(context: bpy.types.Context) -> None:
    """Writes the length of each gap under its line."""
    import blf

    if context.space_data is None or context.region is None:
        return
    view, scale = View(context.region, context.space_data, (0.0, 0.0)), context.preferences.system.ui_scale
    for obj in fleshes.objects(context.scene):
        ends, lengths = gaps_shown(obj, context.scene)
        if not len(ends):
            continue
        blf.size(0, TEXT_SIZE * scale)
        blf.color(0, 1.0, 0.6, 0.55, 1.0)
        blf.enable(0, blf.SHADOW)
        blf.shadow(0, 3, 0.0, 0.0, 0.0, 0.8)
        for (x, y), gap in zip(view.pixels(ends[:, 0]), lengths, strict=True):
            if np.isfinite(x):
                blf.position(0, x, y - (TEXT_SIZE + TEXT_GAP) * scale, 0.0)
                blf.draw(0, f"{rounded(length, gap)} short")
        blf.disable(0, blf.SHADOW)


OVERLAYS = (Overlay(draw_lines), Overlay(draw_lengths, flat=True))
