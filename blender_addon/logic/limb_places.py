# SPDX-License-Identifier: GPL-3.0-or-later
"""Corresponding places on two limbs: points, directions and sizes mapped by figural coordinates, and the parameters of guides
there.

A limb is in the space of its own body (metres at rest). Places without coordinates are kept in the frame of the nearest hub, in
radii.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .guides import bone_coordinates, zero_direction
from .spaces import mirrors, transform

#: Step along a limb for its direction, in u; and least depth for the frame of caps, whose hubs are one point.
DIFFERENCE_STEP, MIN_CAP_DEPTH = 1e-4, 0.5
#: Distance from its bone, as a part of the limb's radius, below which a guide keeps its direction and distance rather than its
#: bearing.
AXIS_DISTANCE = 0.1
#: Lean, radians, below which a field in the skin looks straight out. Half a degree, which nobody sees.
UPRIGHT_TOLERANCE = 0.01
#: Spokes that measure a limb's radius. Their mean is exact for outlines of up to 15 waves around.
RADIUS_SPOKES = 16


@dataclass(frozen=True)
class LimbPlace:
    """A place in a limb: figural coordinates [4], and its offset from there in the limb's frame, in radii, where it has none
    itself.
    """

    coordinates: np.ndarray
    offset: np.ndarray  # [3]

    @property
    def inside(self) -> bool:
        """Returns whether the place has coordinates itself."""
        return not self.offset.any()


class Limb:
    """A limb's model in the space of its body: `into` [4, 4] maps the model's space there."""

    def __init__(self, model, into: np.ndarray):
        self.model, self.into, self.back = model, np.asarray(into, dtype=np.float64), np.linalg.inv(into)
        self.hand = -1.0 if mirrors(self.into) else 1.0

    def points_at(self, coordinates) -> np.ndarray:
        """Returns the points of figural coordinates [n, 4], [n, 3]."""
        return transform(self.into, self.model.points(np.atleast_2d(np.asarray(coordinates, dtype=np.float64))))

    def coordinates(self, points) -> np.ndarray:
        """Returns figural coordinates of points [n, 3], [n, 4]; NaN for points without any."""
        points = np.atleast_2d(np.asarray(points, dtype=np.float64))
        return self.model.coordinates(np.ascontiguousarray(transform(self.back, points)))

    def locate(self, point: np.ndarray) -> LimbPlace:
        """Returns the place of a point, with or without coordinates of its own."""
        coordinates = self.coordinates(point)[0]
        if np.isfinite(coordinates).all():
            return LimbPlace(coordinates, np.zeros(3))
        u = self.nearest(point)
        coordinates = np.array([u, 0.0, 0.0, 0.0])
        away = self.frame(coordinates).T @ (point - self.points_at(coordinates)[0])
        return LimbPlace(coordinates, away / self.radius(u))

    def place(self, located: LimbPlace) -> np.ndarray:
        """Returns the point of a place, [3]."""
        at = self.points_at(located.coordinates)[0]
        if located.inside:
            return at
        return at + self.radius(located.coordinates[0]) * (self.frame(located.coordinates) @ located.offset)

    def nearest(self, point: np.ndarray) -> float:
        """Returns u of the hub nearest to a point."""
        low, high, best = 0.0, 1.0, 0.0
        for _ in range(6):
            tried = np.linspace(low, high, 65)
            hubs = self.points_at(np.stack([tried, 0.0 * tried, 0.0 * tried, 0.0 * tried], axis=1))
            best = float(tried[np.linalg.norm(hubs - point, axis=1).argmin()])
            span = (high - low) / 64.0
            low, high = max(best - span, 0.0), min(best + span, 1.0)
        return best

    def frame(self, coordinates: np.ndarray) -> np.ndarray:
        """Returns the directions at coordinates as columns: along, out, around; orthonormal, left-handed where the space mirrors."""
        u, v, around, depth = coordinates
        low, high = (-1.0, 0.0) if u < 0.0 else (1.0, 2.0) if u > 1.0 else (0.0, 1.0)
        seen = depth if low == 0.0 else max(depth, MIN_CAP_DEPTH)
        ends = (max(u - DIFFERENCE_STEP, low), min(u + DIFFERENCE_STEP, high))
        places = [[ends[0], v, around, seen], [ends[1], v, around, seen], [u, v, around, 0.0], [u, v, around, 1.0]]
        before, behind, hub, tip = self.points_at(places)
        along = _unit(behind - before)
        out = _unit((tip - hub) - ((tip - hub) @ along) * along)
        return np.stack([along, out, self.hand * np.cross(along, out)], axis=1)

    def radius(self, u: float) -> float:
        """Returns the limb's radius at u: the mean length of its spokes there."""
        u = min(max(float(u), 0.0), 1.0)
        turns = 2.0 * np.pi * np.arange(RADIUS_SPOKES) / RADIUS_SPOKES
        places = np.stack([np.full(RADIUS_SPOKES, u), np.zeros(RADIUS_SPOKES), turns, np.ones(RADIUS_SPOKES)], axis=1)
        hub = self.points_at([u, 0.0, 0.0, 0.0])[0]
        return float(np.linalg.norm(self.points_at(places) - hub, axis=1).mean())

    def spoke(self, coordinates: np.ndarray) -> np.ndarray:
        """Returns the spoke through coordinates, hub to boundary, [3]."""
        u, v, around, _ = coordinates
        hub, tip = self.points_at([[u, v, around, 0.0], [u, v, around, 1.0]])
        return tip - hub


@dataclass(frozen=True)
class LimbMap:
    """The map from one limb to another: joints go to joints, the zeros of *around* are aligned, and all else stays.

    `mirrored`: one is on the left and the other on the right, so that *around* runs the other way.
    """

    one: Limb
    other: Limb
    mirrored: bool = False

    @cached_property
    def roll(self) -> float:
        """Returns the amount by which *around* is larger on the other limb; for mirrored limbs the sum of both."""
        return float(self.one.model.roll_to(self.other.model, mirrored=self.mirrored))

    def map_place(self, located: LimbPlace) -> LimbPlace:
        """Returns the corresponding place on the other limb."""
        u, v, around, depth = located.coordinates
        u = map_knot(u, self.one.model.joints, self.other.model.joints)
        hand = -1.0 if self.mirrored else 1.0
        return LimbPlace(np.array([u, v, self.roll + hand * around, depth]), located.offset * [1.0, 1.0, hand])

    def turn(self, located: LimbPlace) -> np.ndarray:
        """Returns the rotation of directions at a place, [3, 3]; it mirrors if one of the spaces, or one of the limbs, does."""
        hand = [1.0, 1.0, -1.0 if self.mirrored else 1.0]
        return (self.other.frame(self.map_place(located).coordinates) * hand) @ self.one.frame(located.coordinates).T

    def axis(self, located: LimbPlace, axis: np.ndarray) -> np.ndarray:
        """Returns a rotation axis [3] at a place on the other limb: in a mirror rotations run the other way about the mirrored
        axis.
        """
        return (-1.0 if self.mirrored else 1.0) * (self.turn(located) @ axis)

    def growth(self, located: LimbPlace) -> float:
        """Returns the ratio of the other limb's radius to this one's at a place."""
        return self.other.radius(self.map_place(located).coordinates[0]) / self.one.radius(located.coordinates[0])

    def depth_ratio(self, located: LimbPlace) -> float:
        """Returns the ratio of the other limb's spoke length to this one's through a place."""
        if not located.inside:
            return self.growth(located)
        there = np.linalg.norm(self.other.spoke(self.map_place(located).coordinates))
        return float(there / np.linalg.norm(self.one.spoke(located.coordinates)))


def map_knot(u: float, here: np.ndarray, there: np.ndarray) -> float:
    """Maps u between the joints of another chain of as many bones; caps beyond both ends stay."""
    if not 0.0 < u < 1.0:
        return float(u)
    inner = [[joint for joint in joints if 1e-9 < joint < 1.0 - 1e-9] for joints in (here, there)]
    if len(inner[0]) != len(inner[1]):
        return float(u)
    return float(np.interp(u, *([0.0, *joints, 1.0] for joints in inner)))


# guides ---------------------------------------------------------------------------------------------------------------


def bone_numbers(
    point: np.ndarray, out: np.ndarray, head: np.ndarray, tail: np.ndarray, distance: float, share: float
) -> tuple[float, float, float]:
    """Returns (along, angle, distance) of a guide at a bone whose field is at `point` and looks along `out`.

    Close to the bone its bearing has no meaning, and its distance depends on the bone. So both are blended: `share` from the point,
    the rest from `out` and `distance`, whose sign is the guide's side.
    """
    part, bearing, away = bone_coordinates(point, head, tail)
    along = _unit(tail - head) if np.any(tail != head) else np.array([0.0, 0.0, 1.0])
    zero = zero_direction(along)
    across = np.cross(along, zero)
    there = np.cos(bearing) * zero + np.sin(bearing) * across
    side = -1.0 if distance < 0.0 else 1.0
    wanted = out - (out @ along) * along
    towards = side * share * there
    if np.linalg.norm(wanted) > 1e-9:
        towards = towards + (1.0 - share) * _unit(wanted)
    towards = _unit(towards) if np.linalg.norm(towards) > 1e-9 else side * there
    far = share * away * float(there @ towards) + (1.0 - share) * distance
    return part, float(np.arctan2(towards @ across, towards @ zero)), far


def skin_numbers(
    axis: np.ndarray, across: np.ndarray, basis: np.ndarray, roll: float, tilt: float
) -> tuple[float, float]:
    """Returns (roll, tilt) of a guide in the skin whose field looks along `axis`; where it looks straight out it is rolled to
    `across`.

    `basis` [3, 3]: its frame at roll and tilt 0, edge and normal in columns 0 and 2; `roll`, `tilt`: values to stay near to.
    """
    edge, normal = basis[:, 0], basis[:, 2]
    upright = float(axis @ normal)
    side = axis - upright * normal
    slant = float(np.arctan2(np.linalg.norm(side), upright))
    if np.linalg.norm(side) < UPRIGHT_TOLERANCE:
        side, slant = across, 0.0 if upright > 0.0 else np.pi
    elif side @ across < 0.0:  # rolled by half a turn and tilted the other way it is the same
        side, slant = -side, -slant
    return unwrapped_angle(float(np.arctan2(side @ np.cross(normal, edge), side @ edge)), roll), unwrapped_angle(
        slant, tilt
    )


def unwrapped_angle(angle: float, like: float) -> float:
    """Returns the angle plus the whole turns that bring it nearest to the angle `like`."""
    return angle + 2.0 * np.pi * round((like - angle) / (2.0 * np.pi))


def turned_frame(turn: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Returns a rotation whose columns Z and X are carried by `turn` [3, 3], which may mirror; templates are round about Z."""
    x, z = turn @ rotation[:, 0], turn @ rotation[:, 2]
    return np.stack([x, np.cross(z, x), z], axis=1)


def nearest_axis(axes: np.ndarray, wanted: np.ndarray) -> tuple[int, float]:
    """Returns which of a bone's axes x and z (columns 0 and 2 of `axes` [3, 3]) is nearest to a direction, and its sign: 1 or -1."""
    along = np.array([wanted @ _unit(axes[:, 0]), wanted @ _unit(axes[:, 2])])
    best = int(np.abs(along).argmax())
    return 2 * best, 1.0 if along[best] >= 0.0 else -1.0


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / max(float(np.linalg.norm(vector)), 1e-300)
