# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks of ready frames in the timeline and the other dope sheets, for the mesh that the panel shows.

A thin line under the frame numbers covers the simulated frames of the range that plays: bright where they are those of the present
settings, faint where they are of former ones.
"""

from __future__ import annotations

from typing import NamedTuple

import bpy

from ..live import motion_edits, session, target, turns
from .viewing import Overlay

READY_COLOUR, FORMER_COLOUR = (0.25, 0.85, 0.75, 0.9), (0.25, 0.85, 0.75, 0.3)
#: Height of the line, and of Blender's frame numbers above it, pixels at scale 1.
LINE_HEIGHT, NUMBERS_HEIGHT = 3.0, 23.0


class Span(NamedTuple):
    """Frames of one colour, both ends included."""

    first: float
    last: float
    colour: tuple[float, float, float, float]


def spans(obj: bpy.types.Object | None) -> list[Span]:
    """Returns the frames of an object's flesh that are ready, later ones drawn over earlier ones; reads no Blender data but settings.

    The clip of a range that was shortened since holds more frames than play.
    """
    if obj is None or obj.type != "MESH" or not session.is_live(obj) or obj.thew.settled:
        return []
    flesh = session.register.known_state(obj)
    if flesh is None:
        return []
    arriving, found = flesh.arriving, []  # the simulating thread may replace it
    if flesh.clip is not None and flesh.condition.is_showable:
        former = arriving is not None or flesh.condition.is_behind or turns.is_due(obj)
        former = former or motion_edits.is_stale(obj, bpy.context.scene, flesh)
        found.append(Span(flesh.clip_start, flesh.clip_end, FORMER_COLOUR if former else READY_COLOUR))
    if arriving is not None:
        first, last = arriving.ready_frames()
        if first <= last:
            found.append(Span(first, last, READY_COLOUR))
    begin, end = obj.thew.frames(bpy.context.scene)
    cut = [Span(max(each.first, begin), min(each.last, end), each.colour) for each in found]
    return [each for each in cut if each.first <= each.last]


def draw(context: bpy.types.Context) -> None:
    """Draws the line into a dope sheet that shows caches (View > Cache)."""
    region, space = context.region, context.space_data
    if region is None or not getattr(space, "show_cache", True):
        return
    found = spans(target.target_mesh(context))
    if not found:
        return
    import gpu
    from gpu_extras.batch import batch_for_shader

    scale = context.preferences.system.ui_scale
    top = region.height - NUMBERS_HEIGHT * scale
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    gpu.state.blend_set("ALPHA")
    shader.bind()
    for first, last, colour in found:
        left, right = (region.view2d.view_to_region(at, 0.0, clip=False)[0] for at in (first - 0.5, last + 0.5))
        left, right = max(left, 0), min(right, region.width)
        if left >= right:
            continue
        bottom = top - LINE_HEIGHT * scale
        corners = [(left, bottom, 0.0), (right, bottom, 0.0), (left, top, 0.0), (right, top, 0.0)]
        shader.uniform_float("color", colour)
        batch_for_shader(shader, "TRI_STRIP", {"pos": corners}).draw(shader)
    gpu.state.blend_set("NONE")


OVERLAYS = (Overlay(draw, flat=True, space="SpaceDopeSheetEditor"),)
