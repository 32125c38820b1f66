# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters that are scaled as a whole after their flesh was added, and their shapes."""

from __future__ import annotations

import bpy
import numpy as np
from helpers import activate, make_character, play, world

FRAMES = range(1, 13)


def make_child() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Builds a character with soft flesh whose mesh is a child of its armature, as (mesh, armature)."""
    bpy.context.scene.frame_end = FRAMES[-1]
    body, rig = make_character()
    body.parent = rig
    body.thew.softness = 0.8
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def shapes(body) -> tuple[np.ndarray, np.ndarray]:
    """Returns the shapes with and without flesh, world space, [f, n, 3] both."""
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    live = play(body, FRAMES, world)
    body.thew.enabled = False
    plain = play(body, FRAMES, world)
    body.thew.enabled = True
    return live, plain


def under_empty(rig) -> bpy.types.Object:
    """Puts the armature under an Empty that stands aside."""
    empty = bpy.data.objects.new("Empty", None)
    bpy.context.scene.collection.objects.link(empty)
    empty.location = (0.3, 0.2, 0.0)
    bpy.context.view_layer.update()
    rig.parent = empty
    rig.matrix_parent_inverse = empty.matrix_world.inverted()
    return empty


def scaled(obj, points: np.ndarray, scale) -> np.ndarray:
    """Returns world points as scaling `obj` about its origin carries them."""
    origin = np.array(obj.matrix_world.translation)
    return (points - origin) * np.array(scale) + origin
