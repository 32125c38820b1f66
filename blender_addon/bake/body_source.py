# SPDX-License-Identifier: GPL-3.0-or-later
"""A body with flesh as a source of a bake."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import jobs, session
from ..live.flesh import Flesh
from ..live.session import register
from ..logic.spaces import MetricSpace, diagonal
from ..scene import reading
from . import measuring
from .target import SkinMotion, Source


def body_source(subject: reading.Subject, flesh: Flesh, scene, view_layer, frames: list[int]) -> Source:
    """Returns a body as a source of a bake; `flesh` holds a clip of the frames."""
    obj = subject.obj

    def accept() -> None:
        obj.thew.made.shows_bake = obj.thew.enabled = True
        jobs.apply_state(obj)
        known = register.known_state(obj)
        if known is not None and known.clip is not None:
            jobs.note(obj, known)

    matrix = flesh.bind_pose.mesh_matrix
    skin = SkinMotion(
        flesh.motion, flesh.character.bones, flesh.character.weights, flesh.motion_place.metres_per_unit, matrix
    )
    return Source(
        obj, subject, scene, view_layer, frames, diagonal(flesh.character.rest),
        lambda i: flesh.offsets(frames[i]),
        lambda active: measuring.differences(obj, flesh, scene, frames, active),
        accept,
        metres=metres_per_unit(flesh, flesh.bind_pose.mesh_matrix),
        skin=skin,
    )  # fmt: skip


def metres_per_unit(flesh: Flesh, matrix: np.ndarray, place: MetricSpace | None = None) -> float:
    """Returns the length in metres of the character of a unit of an object's space, along its longest axis.

    `matrix`: the object's in the world; `place`: that of the metres there (None: the body's at rest).
    """
    return float((place or flesh.place).metres_per_unit * np.linalg.norm(matrix[:3, :3], ord=2))


def show_again(obj: bpy.types.Object, scene: bpy.types.Scene) -> None:
    """Shows the live flesh of an object, after flesh of its actions was measured on its mesh."""
    flesh = register.known_state(obj)
    if flesh is None:
        return
    if session.is_shown(obj) and flesh.clip is not None:
        session.present(obj, flesh, scene)
    else:
        session.hide(obj, flesh)
