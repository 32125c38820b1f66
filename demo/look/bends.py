# SPDX-License-Identifier: MIT OR Apache-2.0
"""Single joints of recorded characters, bent, and the skin around them measured: volume, cross-sections, sharpness, overlap."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from demo.look import measures, overlap
from demo.look.recording import Recording

KINDS = {
    "knee": (
        r"calf_l|LeftLeg$|shin\.L|lowerleg|Node_9$|back_leg_lower_l|LeftLeg02|BackLowerLeg\.L|BackLowLeg\.L|leg_b_3_l",
        1,
        110.0,
    ),
    "hip": (
        r"thigh_l$|LeftUpLeg$|thigh\.L|Node_8$|back_leg_upper_l|BackUpperLeg\.L|BackUpLeg\.L|LeftLeg01|leg_b_2_l",
        -1,
        105.0,
    ),
    "elbow": (
        r"lowerarm_l|LeftForeArm|forearm\.L|Node_17$|front_leg_lower_l|FrontLowerLeg\.L|FrontLowLeg\.L",
        -1,
        110.0,
    ),
    "shoulder": (
        r"upperarm_l|LeftArm$|upperarm\.L|Node_16$|front_humerus_l|FrontUpperLeg\.L|FrontUpLeg\.L|LeftUpperArm",
        -1,
        70.0,
    ),
    "wrist": (r"hand_l$|LeftHand$|hand\.L|Palm2\.L|LeftHand_", -1, 60.0),
    "finger": (r"(index|pinky)_0[23]_l|thumb_02_l|LeftHandFinger1|Index2?\.L|Middle[12]\.L|Ring[12]\.L", -1, 80.0),
    "neck": (r"^neck_01|^Neck1?$|^neck$|Neck_04|spine_5|Neck2", -1, 40.0),
    "tail": (r"tail_2|tail\.2|Tail3$|Tail02", -1, 50.0),
}
"""Kinds of joints: (pattern of the bent bones' names, side to which straight limbs bend (1: back), angle in degrees)."""
ANIMALS = {"knee": 70.0, "hip": 50.0, "elbow": 70.0, "shoulder": 45.0}
"""Angles for legs that are bent at rest, degrees."""
HUMAN = re.compile(r"human|male|sintel|biped|RiggedFigure|kaykit|robot")
STRAIGHT = np.cos(np.radians(6.0))
"""Cosine of the angle below which a limb at rest is too straight to show the direction of its bend."""
AROUND = 1.6
"""Radius of a joint about its head, in thicknesses of the limb."""
LEAST = 24
"""Minimum number of vertices of a joint."""
GRID = 40
"""Points along each side of the boxes in which volumes and sections are sampled."""
X, Y, Z = np.eye(3)
SECTIONS = np.linspace(-1.0, 1.0, 9)
"""Positions of sections along the joint, in thicknesses of the limb."""
LIMB = 0.3
"""Sections smaller than this part of the largest one at rest are beyond the limb's end."""
WIDE = 2.5
"""Radius about the head within which volumes are measured, in thicknesses of the limb."""


@dataclass
class Bend:
    """One joint of a character, bent."""

    kind: str
    bone: int
    angle: float
    """Angle of the bend, radians."""
    axis: np.ndarray
    along: tuple[np.ndarray, np.ndarray]
    """Unit directions at rest along the bone above and along the bent one."""
    head: np.ndarray
    thick: float
    """Distance of the skin from the bones at the joint, metres."""
    maps: np.ndarray
    """Poses of all bones, [b, 4, 4]."""


def rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    """Returns the rotation [3, 3] about a unit axis; `angle` in radians."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k


def bends(r: Recording) -> list[Bend]:
    """Returns the joints of a character found by the names of bones, each bent alone."""
    thickness = measures.thickness(r.rest, r.heads, r.tails, r.weights)
    found = []
    for kind, (pattern, side, degrees) in KINDS.items():
        for bone, name in enumerate(r.names):
            if not re.search(pattern, name):
                continue
            human = HUMAN.search(r.character) is not None
            found.append(_bend(r, thickness, kind, bone, side, degrees if human else ANIMALS.get(kind, degrees)))
    return [bend for bend in found if bend is not None]


def _bend(r: Recording, thickness, kind: str, bone: int, side: int, degrees: float) -> Bend | None:
    parents = np.asarray(r.parents)
    below = np.zeros(len(r.names), bool)
    below[bone] = True
    for b in range(len(parents)):
        below[b] |= parents[b] >= 0 and below[parents[b]]
    moved = r.weights[:, below].sum(axis=1) / np.maximum(r.weights.sum(axis=1), 1e-12)
    mixed = (moved > 0.05) & (moved < 0.95)
    head = r.heads[bone]
    if mixed.sum() < 6 or moved.max() < 0.9:
        return None
    near = mixed & np.isfinite(thickness)
    if not near.any():
        return None
    thick = float(np.median(thickness[near]))
    around = np.linalg.norm(r.rest - head, axis=1) < AROUND * thick
    if around.sum() < LEAST:
        return None
    lower = r.tails[bone] - head
    lower /= np.linalg.norm(lower) + 1e-12
    above = parents[bone]
    upper = head - r.heads[above] if above >= 0 and np.linalg.norm(head - r.heads[above]) > 1e-6 else lower
    upper = upper / np.linalg.norm(upper)
    axis = np.cross(upper, lower)
    if kind in ("hip", "shoulder", "neck", "tail", "wrist") or upper @ lower > STRAIGHT or np.linalg.norm(axis) < 1e-6:
        sideways = abs(lower[0]) > 0.7
        across, wanted = X, side * Y
        if kind == "finger":  # palms look down, or at the thighs
            across, wanted = Y, -Z if sideways else -np.sign(head[0]) * X
        elif sideways:  # an elbow bends forward, an arm or a hand is lowered
            across, wanted = (Z, side * Y) if kind == "elbow" else (Y, -Z)
        axis = across - (across @ lower) * lower
        axis /= np.linalg.norm(axis)
        axis = axis if np.cross(axis, lower) @ wanted >= 0.0 else -axis
    axis = axis / np.linalg.norm(axis)
    maps = np.tile(np.eye(4), (len(r.names), 1, 1))
    turn = rotation(axis, np.radians(degrees))
    maps[below, :3, :3] = turn
    maps[below, :3, 3] = head - turn @ head
    if kind in ("hip", "shoulder", "neck", "tail", "wrist"):
        upper = lower  # the limb is straight where it hangs on the trunk
    return Bend(kind, bone, np.radians(degrees), axis, (upper, lower), head, thick, maps)


def linear(maps: np.ndarray, rest: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the linear blend skinning of `rest`, [n, 3]."""
    total = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    blend = np.einsum("nb,bij->nij", total, maps)
    return np.einsum("nij,nj->ni", blend[:, :3, :3], rest) + blend[:, :3, 3]


def dual_quaternions(maps: np.ndarray, rest: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the dual quaternion skinning of `rest` by rigid maps, [n, 3]."""
    q = np.stack([_quaternion(m[:3, :3]) for m in maps])
    t = maps[:, :3, 3]
    dual = 0.5 * np.concatenate([-(t * q[:, 1:]).sum(axis=1)[:, None], t * q[:, :1] + np.cross(t, q[:, 1:])], axis=1)
    total = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    pivot = q[total.argmax(axis=1)]
    signs = np.where(pivot @ q.T < 0.0, -1.0, 1.0)
    real, other = (total * signs) @ q, (total * signs) @ dual
    length = np.linalg.norm(real, axis=1, keepdims=True)
    real, other = real / length, other / length
    w, v, dw, dv = real[:, :1], real[:, 1:], other[:, :1], other[:, 1:]
    place = rest + 2.0 * np.cross(v, np.cross(v, rest) + w * rest)
    return place + 2.0 * (w * dv - dw * v + np.cross(v, dv))


def _quaternion(m: np.ndarray) -> np.ndarray:
    """Returns the quaternion of a rotation, the scalar first."""
    k = np.array(
        [
            [m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [0, m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [0, 0, m[1, 1] - m[0, 0] - m[2, 2], m[1, 2] + m[2, 1]],
            [0, 0, 0, m[2, 2] - m[0, 0] - m[1, 1]],
        ]
    )
    return np.linalg.eigh(k + k.T - np.diag(np.diag(k)))[1][:, -1]


@dataclass
class Look:
    """Measures of one bent joint relative to rest."""

    cover: float
    """Volume over that at rest, overlaps counted once."""
    cut: float
    """The smallest cross-section over that at rest."""
    outer: float
    """Reach of the outer side over that at rest."""
    sharp: float
    """0.99 quantile of the change of the angle between faces outside of other flesh, degrees."""
    rough: float
    """RMS change of that angle, degrees."""
    over: float
    """Share of the joint's vertices in other flesh, per cent."""


class MeasuredCharacter:
    """A character whose bends are measured."""

    def __init__(self, r: Recording) -> None:
        self.r = r
        self.shape = overlap.Shape(r.rest, r.triangles)
        self.closed = _close_openings(self.shape.triangles, len(r.rest))
        edges: dict[tuple[int, int], list[int]] = {}
        for t, corners in enumerate(self.shape.triangles):
            for i in range(3):
                a, b = int(corners[i]), int(corners[(i + 1) % 3])
                edges.setdefault((min(a, b), max(a, b)), []).append(t)
        inner = [(e, t) for e, t in edges.items() if len(t) == 2]
        self.edges = np.array([e for e, _ in inner])
        self.faces = np.array([t for _, t in inner])
        self.angles = self._angles(r.rest)

    def _angles(self, places: np.ndarray) -> np.ndarray:
        """Returns the signed angles between the two faces at each edge, radians."""
        a, b, c = (places[self.shape.triangles[:, i]] for i in range(3))
        n = np.cross(b - a, c - a)
        n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
        one, other = n[self.faces[:, 0]], n[self.faces[:, 1]]
        along = places[self.edges[:, 1]] - places[self.edges[:, 0]]
        along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
        sine = (np.cross(one, other) * along).sum(axis=1)
        return np.arctan2(sine, (one * other).sum(axis=1))

    def look(self, bend: Bend, places: np.ndarray) -> Look:
        """Measures the vertices [n, 3] at a bend."""
        r, places = self.r, np.asarray(places, np.float64)
        used = np.zeros(len(r.rest), bool)
        used[np.unique(self.shape.triangles)] = True
        around = (np.linalg.norm(r.rest - bend.head, axis=1) < AROUND * bend.thick) & used
        within = np.setdiff1d(overlap.vertices_inside(places, self.shape.triangles), self.shape.own)
        inside = np.zeros(len(r.rest), bool)
        inside[within] = True
        chosen = around[self.edges].all(axis=1) & ~inside[self.edges].any(axis=1)
        change = self._angles(places)[chosen] - self.angles[chosen]
        change = np.abs((change + np.pi) % (2.0 * np.pi) - np.pi)
        sections = self._sections(bend, places)
        return Look(
            self._cover(bend, places),
            float(sections.min()),
            self._outer(bend, places),
            float(np.degrees(np.quantile(change, 0.99))) if len(change) else 0.0,
            float(np.degrees(np.sqrt(np.mean(change**2)))) if len(change) else 0.0,
            float(100.0 * (inside & around).sum() / around.sum()),
        )

    def _volume(self, places: np.ndarray, middle: np.ndarray) -> float:
        """Returns the signed volume, in which overlaps count twice."""
        closed, groups = self.closed
        all_places = np.concatenate([places, [places[g].mean(axis=0) for g in groups]]) if groups else places
        a, b, c = (all_places[closed[:, i]] - middle for i in range(3))
        return float((a * np.cross(b, c)).sum() / 6.0)

    def _cover(self, bend: Bend, places: np.ndarray) -> float:
        rest = self.r.rest
        cell, points = _grid(bend.head, 1.2 * WIDE * bend.thick)
        near = np.linalg.norm(points - bend.head, axis=1) < WIDE * bend.thick
        whole = float((self._winding(rest, points) > 0.5)[near].sum()) * cell
        twice = lambda p: float(np.maximum(np.rint(self._winding(p, points)) - 1.0, 0.0).sum()) * cell  # noqa: E731
        once = [self._volume(p, bend.head) - twice(p) for p in (places, rest)]
        return 1.0 + (once[0] - once[1]) / max(whole, 1e-12)

    def _winding(self, places: np.ndarray, points: np.ndarray) -> np.ndarray:
        import thew

        near = thew.Surface(np.ascontiguousarray(places), np.ascontiguousarray(self.shape.triangles))
        return near.winding_number(np.ascontiguousarray(points))

    def _sections(self, bend: Bend, places: np.ndarray) -> np.ndarray:
        """Returns the areas across the limb over those at rest, along the joint."""
        areas = []
        for p, angle in ((places, bend.angle), (self.r.rest, 0.0)):
            own = []
            for s in SECTIONS:
                along = bend.along[0] if s < 0.0 else rotation(bend.axis, angle) @ bend.along[1]
                normal = _direction_between(bend.along[0], rotation(bend.axis, angle) @ bend.along[1], 0.5 + 0.5 * s)
                own.append(self._area(p, bend.head + along * (s * bend.thick), normal, bend))
            areas.append(own)
        posed, rest = np.array(areas)
        limb = rest > LIMB * rest.max()
        return posed[limb] / rest[limb]

    def _area(self, places: np.ndarray, middle: np.ndarray, normal: np.ndarray, bend: Bend) -> float:
        right = bend.axis - (bend.axis @ normal) * normal
        right /= np.linalg.norm(right)
        up = np.cross(normal, right)
        steps = np.linspace(-1.0, 1.0, GRID) * 1.8 * bend.thick
        x, y = np.meshgrid(steps, steps)
        points = middle + x.reshape(-1, 1) * right + y.reshape(-1, 1) * up
        inside = (self._winding(places, points) > 0.5).reshape(GRID, GRID)
        return float(_piece(inside).sum()) + 1e-9

    def _outer(self, bend: Bend, places: np.ndarray) -> float:
        reach = []
        for p, angle in ((places, bend.angle), (self.r.rest, 0.0)):
            normal = _direction_between(bend.along[0], rotation(bend.axis, angle) @ bend.along[1], 0.5)
            out = -np.cross(bend.axis, normal)
            out /= np.linalg.norm(out)
            steps = np.linspace(0.0, 4.0 * bend.thick, 400)
            inside = self._winding(p, bend.head + steps[:, None] * out) > 0.5
            reach.append(steps[np.argmin(inside)] if not inside.all() else steps[-1])
        return float(reach[0] / max(reach[1], 1e-9))


def _direction_between(a: np.ndarray, b: np.ndarray, s: float) -> np.ndarray:
    """Returns the direction at the part `s` of the arc from `a` to `b`."""
    angle = np.arccos(np.clip(a @ b, -1.0, 1.0))
    if angle < 1e-6:
        return a
    mixed = np.sin((1.0 - s) * angle) * a + np.sin(s * angle) * b
    return mixed / np.linalg.norm(mixed)


def _piece(inside: np.ndarray) -> np.ndarray:
    """Returns the connected piece of a raster that contains its middle, or is nearest to it."""
    cells = np.argwhere(inside)
    if not len(cells):
        return inside
    start = cells[np.linalg.norm(cells - (GRID - 1) / 2.0, axis=1).argmin()]
    piece = np.zeros_like(inside)
    piece[tuple(start)] = True
    while True:
        grown = piece.copy()
        grown[1:] |= piece[:-1]
        grown[:-1] |= piece[1:]
        grown[:, 1:] |= piece[:, :-1]
        grown[:, :-1] |= piece[:, 1:]
        grown &= inside
        if (grown == piece).all():
            return piece
        piece = grown


def _grid(middle: np.ndarray, half: float) -> tuple[float, np.ndarray]:
    """Returns the volume of a cell, and the points [p, 3] of a cubic grid."""
    steps = (np.arange(GRID) + 0.5) / GRID * 2.0 * half - half
    points = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    return (2.0 * half / GRID) ** 3, points + middle


def _close_openings(triangles: np.ndarray, count: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns the triangles with fans over all openings, and the vertices of each opening.

    The middle of the k-th opening is vertex count + k.
    """
    directed = {(int(a), int(b)) for t in triangles for a, b in zip(t, np.roll(t, -1), strict=True)}
    open_edges = [(a, b) for a, b in directed if (b, a) not in directed]
    group = {v: v for e in open_edges for v in e}

    def find(v: int) -> int:
        while group[v] != v:
            v = group[v]
        return v

    for a, b in open_edges:
        group[find(a)] = find(b)
    roots = sorted({find(v) for v in group})
    number = {root: k for k, root in enumerate(roots)}
    fans = [(b, a, count + number[find(a)]) for a, b in open_edges]
    groups = [np.array([v for v in group if find(v) == root]) for root in roots]
    return np.concatenate([triangles, np.array(fans, int).reshape(-1, 3)]), groups
