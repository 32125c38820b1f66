# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a scene in seconds, and in the times of its curves.

A scene plays frame after frame at its frame rate. Its curves are asked at other times where the artist stretches them (Output >
Time Stretching): `time = frame * old / new`. All that is keyed is in times of curves; all that is simulated and shown in frames.
"""

from __future__ import annotations

import bpy


def frames_per_second(scene: bpy.types.Scene) -> float:
    """How many frames of the scene make a second."""
    return scene.render.fps / scene.render.fps_base


def stretch(scene: bpy.types.Scene) -> float:
    """The step of the times of curves from a frame of the scene to the next: 1 without Time Stretching."""
    return scene.render.frame_map_old / scene.render.frame_map_new


def curve_time(scene: bpy.types.Scene, frame: float | None = None) -> float:
    """The time at which curves are asked at a frame of the scene (None: at the one that it shows)."""
    return (scene.frame_float if frame is None else frame) * stretch(scene)


def frame_at(scene: bpy.types.Scene, time: float) -> float:
    """The frame of the scene at which curves are asked for a time."""
    return time / stretch(scene)


def curve_rate(scene: bpy.types.Scene) -> float:
    """The step of the times of curves in a second."""
    return frames_per_second(scene) * stretch(scene)
