# SPDX-License-Identifier: MIT OR Apache-2.0
"""Our own demo characters, made by scripts: nothing is downloaded, every build gives the same data.

    figure = FIGURES["biped"]()           # numbers: bones, skin(figure), figure.maps("walk"); needs numpy only
    armature, body = create("biped")      # Blender data in the current scene

`python -m assets.characters NAME OUTPUT.blend|.glb` makes a file, of a showpiece, too.
"""

from __future__ import annotations

from functools import cache

from . import biped, quadruped, theropod
from .choreography import FPS
from .figure import Bone, Clip, Eye, Figure, Skin, skin
from .implicit import Part

__all__ = [
    "CLIPS",
    "FIGURES",
    "FPS",
    "SHOWPIECES",
    "Bone",
    "Clip",
    "Eye",
    "Figure",
    "Part",
    "Skin",
    "create",
    "create_figure",
    "skin",
    "use_action",
]

FIGURES = {"biped": biped.figure, "quadruped": quadruped.figure}
"""Functions that build the figures, by name."""

SHOWPIECES = {"theropod": theropod.figure}
"""Figures for pictures, with more vertices than tests and the demo have time for."""

CLIPS = {name: list(figure().clips) for name, figure in FIGURES.items()}
"""Names of every character's clips."""


def create(name: str):
    """Adds a character of `FIGURES` to the current scene at 24 frames per second, with its actions. Returns its armature and skinned mesh."""
    return create_figure(FIGURES[name](), _skin(name))


def create_figure(figure: Figure, surface: Skin | None = None):
    """Adds a figure as `create` does. `surface`: its skin, if it was made before."""
    import bpy

    from .scene import build

    armature, body = build(figure, surface)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = FPS, 1.0
    use_action(armature, next(iter(figure.clips)))
    return armature, body


@cache
def _skin(name: str) -> Skin:
    """Returns the skin of a figure, which takes seconds to make."""
    return skin(FIGURES[name]())


def use_action(armature, name: str) -> None:
    """Assigns one of the character's actions, and sets the scene's range to it."""
    import bpy

    action = bpy.data.actions[name]
    data = armature.animation_data_create()
    data.action = action
    # From 4.4 on an action holds slots, one per animated object.
    if hasattr(data, "action_slot") and data.action_slot is None and action.slots:
        data.action_slot = action.slots[0]
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = (int(end) for end in action.frame_range)
    scene.frame_set(scene.frame_start)
