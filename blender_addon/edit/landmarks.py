# SPDX-License-Identifier: GPL-3.0-or-later
"""Landmarks of two characters: points clicked on both skins, kept at the one that gets rigs, and points of limbs that both have."""

from __future__ import annotations

import bpy
import numpy as np

from ..live.flesh import Flesh
from ..logic.limb_places import LimbMap
from ..logic.picking import Hit
from ..logic.point_pairs import PointPairs
from ..logic.spaces import MeshSpace
from .limb_guides import LimbOwner
from .posed_character import PosedCharacter

#: Places of the landmarks of a limb: shares of its length, away from its ends, whose caps fit skins badly, and turns around it. Half as many
#: along and around leave twice the distance from the limb's coordinates between them; twice as many change nothing.
ALONG, AROUND = (0.1, 0.26, 0.42, 0.58, 0.74, 0.9), tuple(k / 8.0 for k in range(8))
#: Distance of a limb's model from the skin, in sizes of the body, beyond which its point is no landmark: a finger's width of a person.
MAX_LIMB_MISS = 0.01


def space_of(flesh: Flesh) -> MeshSpace:
    """Returns the object space of a character's mesh at rest."""
    return MeshSpace(flesh.place, np.asarray(flesh.bind_pose.mesh_matrix))


def saved_landmarks(here: LimbOwner, there: LimbOwner) -> np.ndarray:
    """Returns the landmarks that were clicked on both characters, [k, 2, 3], metres at rest; none that are of another character.

    The first point of each is a vertex.
    """
    settings = there.obj.thew
    if settings.landmarks_from != here.obj:
        return np.empty((0, 2, 3))
    ends = [
        np.array([getattr(each, end) for each in settings.landmarks]).reshape(-1, 3) for end in ("source", "target")
    ]
    sides = zip((here, there), ends, strict=True)
    found = np.stack([space_of(side.flesh).metres(points) for side, points in sides], axis=1)
    skin = np.asarray(here.flesh.surface.vertices)
    found[:, 0] = skin[nearest_vertices(skin, found[:, 0])]  # single precision has moved it a little
    return found


def limb_landmarks(here: LimbOwner, there: LimbOwner, limb_map: LimbMap, places: np.ndarray) -> np.ndarray:
    """Returns vertices on one limb and the points of the same figural coordinates on the other, [k, 2, 3], metres at rest.

    places: where a map of the skins without them puts the vertices [n, 3]. Nothing is returned where coordinates run otherwise
    around the limb than that map, since the zero of *around* is not defined on a straight limb.
    """
    skin = np.asarray(here.flesh.surface.vertices)
    starts = np.unique(nearest_vertices(skin, limb_map.one.points_at(limb_grid())))
    placed = [limb_map.one.locate(point) for point in skin[starts]]
    inside = np.array([each.inside for each in placed], dtype=bool)
    goals = np.array([limb_map.other.place(limb_map.map_place(each)) for each in placed])
    surface = there.flesh.surface
    near = np.asarray(surface.closest_point(goals)[1]) <= MAX_LIMB_MISS * surface.size
    kept = inside & near
    away = np.linalg.norm(goals - places[starts], axis=1)[kept]
    if not kept.any() or np.median(away) > limb_map.other.radius(0.5):  # turned by more than 60°
        return np.empty((0, 2, 3))
    return np.stack([skin[starts], goals], axis=1)[kept]


def nearest_vertices(vertices: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Returns the indices of the vertices [n, 3] nearest to points [k, 3], [k]."""
    return np.array([np.linalg.norm(vertices - point, axis=1).argmin() for point in points], dtype=np.int64)


def limb_grid() -> np.ndarray:
    """Returns the figural coordinates of the landmarks of a limb, [k, 4]."""
    return np.array([[u, 0.0, 2.0 * np.pi * around, 1.0] for u in ALONG for around in AROUND])


# clicking -------------------------------------------------------------------------------------------------------------


def begin(source: PosedCharacter, target: PosedCharacter) -> PointPairs:
    """Returns the landmarks of two characters as pairs on their displayed skins, to go on from."""
    pairs = PointPairs((source.displayed, target.displayed), (True, False))
    here, there = (LimbOwner(stand.obj, stand.flesh) for stand in (source, target))
    for ends in saved_landmarks(here, there):
        pairs.pairs.append(tuple(shown_hit(stand, point) for stand, point in zip((source, target), ends, strict=True)))
    return pairs


def shown_hit(stand: PosedCharacter, point: np.ndarray) -> Hit:
    """Returns the displayed place of a point of the skin at rest, metres."""
    hit = stand.rest.nearest(point)
    shown = stand.displayed
    return Hit(hit.face, hit.barycentric, hit.point_on(shown.vertices, shown.triangles), 0.0)


def keep(source: PosedCharacter, target: PosedCharacter, pairs: PointPairs) -> int:
    """Saves pairs at the target, in place of earlier ones. Returns their number."""
    settings = target.obj.thew
    settings.landmarks.clear()
    settings.landmarks_from = source.obj
    for hits in pairs.pairs:
        added = settings.landmarks.add()
        for stand, hit, end in zip((source, target), hits, ("source", "target"), strict=True):
            point = space_of(stand.flesh).mesh(stand.rest_point(hit)[None])[0]
            setattr(added, end, point.tolist())
    return len(settings.landmarks)


def clear(obj: bpy.types.Object) -> int:
    """Removes the landmarks of a character; returns their former number."""
    count = len(obj.thew.landmarks)
    obj.thew.landmarks.clear()
    obj.thew.landmarks_from = None
    return count
