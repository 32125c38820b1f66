# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of a scene in seconds, and in the times of its curves.

A scene plays frame after frame at its frame rate. Its curves are evaluated at other times where the artist stretches them (Output >
Time Stretching): `time = frame * old / new`. Keys are in times of curves; simulation and display are in frames.
"""

from __future__ import annotations

import bpy


def frames_per_second(scene: bpy.types.Scene) -> float:
    """Returns the frames of the scene per second."""
    return scene.render.fps / scene.render.fps_base


def stretch(scene: bpy.types.Scene) -> float:
    """Returns the step of curve time from a frame of the scene to the next: 1 without Time Stretching."""
    return scene.render.frame_map_old / scene.render.frame_map_new


def curve_time(scene: bpy.types.Scene, frame: float | None = None) -> float:
    """Returns the curve time at a frame of the scene (None: the present one)."""
    return (scene.frame_float if frame is None else frame) * stretch(scene)


def frame_at(scene: bpy.types.Scene, time: float) -> float:
    """Returns the frame of the scene for a curve time."""
    return time / stretch(scene)


def curve_rate(scene: bpy.types.Scene) -> float:
    """Returns the curve time per second."""
    return frames_per_second(scene) * stretch(scene)
