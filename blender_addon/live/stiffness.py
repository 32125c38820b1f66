# SPDX-License-Identifier: GPL-3.0-or-later
"""Why flesh is stiff at each vertex: the facts from the core and the settings, and the map of causes, kept until they change."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.native import core
from ..logic.stiffness_causes import SkinFacts, StiffnessMap
from ..logic.wires import lattice_wires
from . import driving
from .build_settings import hash_of
from .flesh import Flesh

#: Maps found last, by the object's session id: (key, map).
_maps: dict[int, tuple[bytes, StiffnessMap]] = {}
#: Most objects whose maps are remembered.
MAX_MAPS = 8
#: Frames of the clip that are looked at, evenly spread: more find a few hundredths more motion.
MAX_FRAMES = 24
#: Difference from the automatic map that counts as painted: a step of the weights that Blender shows, 0.01.
PAINTED_DIFFERENCE = 0.01
#: One g, m/s², and the turns that lay a body on its side.
GRAVITY = 9.81
LYING = (
    np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
)


def stiffness_map(obj: bpy.types.Object, flesh: Flesh | None) -> StiffnessMap | None:
    """Returns the causes at the vertices of an object; None without a body. It is found anew where body, motion or settings changed."""
    if flesh is None or flesh.body is None or flesh.character is None:
        return None
    influence = float(getattr(obj.thew, "influence", 1.0))
    shares = () if flesh.clip is None else tuple(driving.influence(flesh, pose) for pose in poses_of(flesh))
    digest = flesh.build_settings.simulation.digest()
    key = hash_of(flesh.body_key, flesh.clip_key, flesh.group_key, digest, influence, shares)
    known = _maps.get(obj.session_uid)
    if known is None or known[0] != key:
        if len(_maps) >= MAX_MAPS:
            _maps.clear()
        known = (key, StiffnessMap.find(facts_of(flesh, influence)))
        _maps[obj.session_uid] = known
    return known[1]


def facts_of(flesh: Flesh, influence: float = 1.0) -> SkinFacts:
    """Returns the facts at each vertex of built flesh."""
    character, settings, painted = flesh.character, flesh.build_settings, flesh.character.painted
    # Where Rigid takes some of the flesh, the map before it is told, for Rigid is a cause of its own.
    flesh_map = np.asarray(flesh.automatic.flesh if painted.flesh is None else painted.flesh, dtype=np.float64)
    edges, corners = lattice_wires(flesh.lattice.cells, [])[0], np.asarray(flesh.lattice.vertices)
    moved, shown = motions_of(flesh)
    cell = float(np.median(np.linalg.norm(corners[edges[:, 0]] - corners[edges[:, 1]], axis=1)))
    return SkinFacts(
        flesh_map, np.asarray(flesh.body.thickness, dtype=np.float64), sag_of(flesh), float(flesh.surface.size),
        cell, tuple(character.bones), character.weights,
        rigid=painted.rigid, hard=character.hard.part, materials=character.hard.names,
        is_painted=is_painted(flesh), stiffness=painted.factors(), motion=moved, unlimited=unlimited_motion(flesh),
        swing=float(settings.simulation.max_offset or 0.0), softness=settings.softness, influence=influence, shown=shown,
    )  # fmt: skip


def is_painted(flesh: Flesh) -> bool | np.ndarray:
    """Returns where the map is another than the automatic one, [n]: a preset or a stroke writes all of it and changes a part."""
    own = flesh.character.painted.flesh
    if own is None or flesh.automatic is None:
        return own is not None
    return np.abs(own - np.asarray(flesh.automatic.flesh)) > PAINTED_DIFFERENCE


def sag_of(flesh: Flesh) -> np.ndarray:
    """Returns the displacement of each vertex at rest under its own weight sideways, the larger of two directions, [n] m.

    The body lies on its side: a sculpt that counts as sagging already does not show its weight while it stands.
    """
    balance, bones = core().Equilibrium(flesh.body, method="warped"), len(flesh.character.bones)
    far = np.zeros(len(flesh.character.rest))
    # Lying down takes away the weight of the sculpt too, at a right angle to the new one.
    loads = np.sqrt(2.0) if flesh.build_settings.rest_includes_gravity else 1.0
    for lying in LYING:
        pose = np.eye(4)
        pose[:3, :3] = lying
        balance.set_pose(np.broadcast_to(pose, (bones, 4, 4)))
        shapes = []
        for gravity in (0.0, -GRAVITY):
            balance.solve(gravity=(0.0, 0.0, gravity))
            shapes.append(np.asarray(balance.positions(), dtype=np.float64))
        far = np.maximum(far, np.linalg.norm(shapes[1] - shapes[0], axis=1) / loads)
    return far


def poses_of(flesh: Flesh) -> list[int]:
    """Returns the indices of the clip's poses that are looked at."""
    last = flesh.clip_end - flesh.clip_start
    return np.unique(np.linspace(0, last, min(last + 1, MAX_FRAMES)).round().astype(int)).tolist()


def motions_of(flesh: Flesh) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Returns the largest displacement of each vertex in the clip, [n] m, before Influence and as it is shown; None without a clip."""
    if flesh.clip is None:
        return None, None
    far = np.zeros((2, len(flesh.character.rest)))
    for pose in poses_of(flesh):
        moved = np.linalg.norm(flesh.held(np.asarray(flesh.clip.offsets(pose))), axis=1)
        far = np.maximum(far, [moved, driving.influence(flesh, pose) * moved])
    return far[0], far[1]


def unlimited_motion(flesh: Flesh) -> float:
    """Returns the largest displacement of any vertex in the clip before Swing Limit, m; 0 without a clip."""
    return (
        0.0
        if flesh.clip is None
        else float(np.max(flesh.clip.max_skin_deviations, initial=0.0)) * float(flesh.surface.size)
    )


def forget_all() -> None:
    """Drops all maps, as when another file is loaded."""
    _maps.clear()
