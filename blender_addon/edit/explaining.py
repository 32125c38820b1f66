# SPDX-License-Identifier: GPL-3.0-or-later
"""The reason why flesh is stiff at one point of the skin, in a sentence; its numbers are kept for the diagnosis."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import jobs, session, stiffness
from ..live.flesh import Flesh
from ..logic.body_parts import PARTS
from ..logic.errors import Refusal
from ..logic.names import describe
from ..saved.units import length
from ..scene import mesh
from . import softening

#: The sentence told last, the same in numbers, and the flesh that it is about, by the object's session id.
_told: dict[int, tuple[str, str, tuple]] = {}


def explain(context: bpy.types.Context, obj: bpy.types.Object, vertex: int = -1) -> str:
    """Returns why the flesh is stiff at a vertex; -1: the stiffest of the selected ones, else the one at the 3D cursor."""
    jobs.check_flesh(obj)
    flesh = jobs.with_body(obj, context.scene, context.view_layer)
    found = stiffness.stiffness_map(obj, flesh)
    count = len(obj.data.vertices)
    if not -1 <= vertex < count:
        raise Refusal(f"{describe(obj)} has no vertex {vertex}: choose 0 to {count - 1}")
    if vertex < 0:
        vertex = chosen_vertex(context, obj, flesh, found)
    scale = flesh.place.metres_per_unit
    text, numbers = found.plain(vertex), found.sentence(vertex, lambda metres: length(metres / scale))
    _told[obj.session_uid] = text, numbers, stamp(flesh)
    return text


def chosen_vertex(context, obj: bpy.types.Object, flesh, found) -> int:
    """Returns the stiffest selected vertex, or the vertex of the skin at the 3D cursor."""
    if obj.mode == "EDIT":
        obj.update_from_editmode()
    chosen = np.flatnonzero(mesh.numbers(obj.data.vertices, "select", dtype=bool))
    if len(chosen) and len(chosen) < len(obj.data.vertices):
        return int(chosen[np.argmin(found.left[chosen])])
    skin = softening.RestSkin.from_flesh(flesh)
    try:
        hit = softening.skin_at_cursor(context, obj, skin, PARTS["BELLY"])
    except Refusal as error:
        raise Refusal(
            f"Nothing on {describe(obj)} is chosen: select a vertex in Edit mode, or put the 3D cursor on the skin (Shift and the right "
            "mouse button), and press again"
        ) from error
    return hit.vertex(skin.triangles)


def told(obj: bpy.types.Object) -> str:
    """Returns the sentence told last about an object in this session; "" without one, or where its flesh is another since."""
    return _last(obj)[0]


def numbers(obj: bpy.types.Object) -> str:
    """Returns the same in numbers, for the diagnosis."""
    return _last(obj)[1]


def _last(obj: bpy.types.Object) -> tuple[str, str]:
    text, numbers, about = _told.get(obj.session_uid, ("", "", ()))
    return (text, numbers) if text and stamp(session.register.known_state(obj)) == about else ("", "")


def stamp(flesh: Flesh | None) -> tuple:
    """Returns what tells whether flesh is the same."""
    return () if flesh is None else (flesh.body_key, flesh.clip_key, flesh.group_key)
