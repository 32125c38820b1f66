# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rigs from sculpts of our people, on them and carried to others, and what is measured of them. Needs no Blender."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import thew

from assets.characters.choreography import Pose
from assets.characters.figure import Figure, Skin, skin
from examples import elastic, persons, rigged

YOUNG = 20e3
"""Young's modulus of all flesh here, Pa."""
ELBOW = 105.0
"""Degrees by which the sculpted arm is bent."""
FEATURES = 6
"""Feature points of a bone."""
STILL = (0.0, 0.0, 0.0)
TWIST = {
    bone: {"radius": radius, "strength": 20.0}
    for bone, radius in (("hips", 0.09), ("spine", 0.09), ("chest", 0.10), ("neck", 0.05), ("head", 0.07))
}
"""Settings with which the flesh of the trunk turns with its bones, which lie on one line."""


@dataclass
class Seconds:
    """Seconds of one core, by what they were spent on."""

    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        """Adds the time of a block."""
        begun = time.process_time()
        yield
        self.spent[what] = self.spent.get(what, 0.0) + time.process_time() - begun

    def print(self) -> None:
        """Prints a row for each."""
        print("| what | seconds of one core |\n| --- | --- |")
        for what, seconds in self.spent.items():
            print(f"| {what} | {seconds:.3f} |")


def arm(cell: float = 0.008, cells_across: float = 24.0, build: persons.Build = persons.ATHLETE) -> elastic.Fleshed:
    """Returns the left arm of someone."""
    figure, whole = persons.arm(build, cell), persons.figure(build, cell)
    made = skin(replace(whole, parts=figure.parts, eyes=[]))
    own = [whole.bones.index(whole.bone(bone.name)) for bone in figure.bones]
    return _fleshed(figure, replace(made, weights=made.weights[:, own]), cells_across)


def person(build: persons.Build, cells_across: float = 26.0, cell: float | None = None, **settings) -> elastic.Fleshed:
    """Returns a person of a build."""
    return _fleshed(persons.figure(build, cell), _skin(build, cell), cells_across, **settings)


@cache
def _skin(build: persons.Build, cell: float | None) -> Skin:
    """Returns the skin of a person, which takes seconds to make."""
    return skin(persons.figure(build, cell))


def _fleshed(figure: Figure, made: Skin, cells_across: float, **settings) -> elastic.Fleshed:
    """Returns a figure with flesh of one stiffness."""
    skeleton, triangles = elastic.skeleton_of(figure), made.triangles()
    surface = thew.Surface(made.vertices, triangles)
    lattice = thew.Lattice.enclose(surface, skeleton, made.weights, cells_across=cells_across)
    even, material = np.ones(len(made.vertices)), thew.Material(young=YOUNG)
    body = thew.Body(surface, skeleton, lattice, material, region_weights=made.weights, flesh=even, **settings)
    corners, shares = lattice.embed_surface(surface)
    shares, corners = np.where(corners < 0, 0.0, shares), np.maximum(corners, 0)
    skinned = (made.vertices, triangles, made.colours, made.weights)
    return elastic.Fleshed(figure, *skinned, skeleton, lattice, body, corners, shares)


def at_rest(who: elastic.Fleshed) -> np.ndarray:
    """Returns the rest pose of all bones."""
    return np.tile(np.eye(4), (len(who.figure.bones), 1, 1))


def balance(who: elastic.Fleshed, pose: np.ndarray, *pushes: np.ndarray) -> np.ndarray:
    """Returns the skin [n,3] in balance without gravity, with generalised forces of rigs."""
    forces = sum(pushes, np.zeros((who.body.node_count, 3)))
    return places(who, thew.equilibrium(who.body, pose, gravity=STILL, rest_forces=forces))


def places(who: elastic.Fleshed, q: np.ndarray) -> np.ndarray:
    """Returns the skin [n,3] at displacements of all functions."""
    return np.asarray(who.body.shown(q), float)


def feature_points(who: elastic.Fleshed, each: int = FEATURES) -> list[int]:
    """Returns vertices that tell where bones are: for each bone that has skin of its own, some that lie far apart."""
    found = []
    for column, bone in enumerate(who.figure.bones):
        own = np.flatnonzero(who.weights[:, column] > 0.8)
        if len(own) < each:
            continue
        chosen = [own[np.linalg.norm(who.vertices[own] - bone.head, axis=1).argmin()]]
        while len(chosen) < each:
            gaps = np.linalg.norm(who.vertices[own][:, None] - who.vertices[chosen], axis=2).min(axis=1)
            chosen.append(own[gaps.argmax()])
        found += [int(vertex) for vertex in chosen]
    return found


def clicked(who: elastic.Fleshed, features: list[int], pose: np.ndarray, scan: np.ndarray) -> np.ndarray:
    """Returns the vertices of a scan [p,3] that someone would click for features: those nearest to where the bones take them."""
    there = who.plain(pose)[features]
    return np.array([scan[np.linalg.norm(scan - point, axis=1).argmin()] for point in there])


def turns_off(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Returns by how many degrees each bone's turn differs from the true one."""
    trace = np.einsum("bij,bij->b", found[:, :3, :3], true[:, :3, :3])
    return np.degrees(np.arccos(np.clip((trace - 1.0) / 2.0, -1.0, 1.0)))


def apart(skin: np.ndarray, vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Returns distances [n] of a skin's vertices from a surface, m."""
    return np.abs(thew.Surface(vertices, triangles).closest_point(skin)[1])


def areas(who: elastic.Fleshed) -> np.ndarray:
    """Returns the share of each vertex in the area of the skin, [n]."""
    a, b, c = (who.vertices[who.triangles[:, k]] for k in range(3))
    thirds = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6.0
    whole = np.bincount(who.triangles.ravel(), np.repeat(thirds, 3), len(who.vertices))
    return whole / whole.sum()


def root_mean_square(who: elastic.Fleshed, distances: np.ndarray, chosen: np.ndarray | None = None) -> float:
    """Returns the root of the mean square of distances over the skin, or over a part of it."""
    share = areas(who) * (1.0 if chosen is None else chosen)
    return float(np.sqrt(share @ distances**2 / share.sum()))


@dataclass
class SculptedArm:
    """The arm, the sculpt that it is to match, and the rig that does."""

    arm: elastic.Fleshed
    scan: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Vertices, triangles and colours of the sculpt."""
    pose: np.ndarray
    """The pose that the features gave, [3,4,4]."""
    true: np.ndarray
    features: list[int]
    rig: thew.Rig
    seconds: Seconds

    def control(self, degrees: float) -> float:
        """Returns the rig's control at an angle of the elbow."""
        return float(np.clip(degrees / ELBOW, 0.0, 1.0))


WRIST = 25.0
"""Degrees by which the sculpted wrist is bent."""


def bent(figure: Figure, degrees: float) -> Pose:
    """Returns the pose with the elbow bent by degrees, and the wrist by its share."""
    return persons.pose(figure, degrees, wrist=WRIST * degrees / ELBOW)


def sculpted_arm(who: elastic.Fleshed | None = None, scan_cell: float = 0.006) -> SculptedArm:
    """Returns the arm with the rig that its sculpt at a bent elbow gives."""
    who, seconds = who or arm(), Seconds()
    true = persons.maps(who.figure, bent(who.figure, ELBOW))
    scan = arm_sculpt(who, ELBOW, scan_cell)
    features = feature_points(who)
    pairs = list(zip(features, clicked(who, features, true, scan[0]), strict=True))
    with seconds.of("pose of the arm from features"):
        pose = thew.fit_pose(who.body, pairs, gravity=STILL)
    with seconds.of("rig of the arm, three samples, to a surface"):
        rig = thew.fit_surface(who.body, pose, thew.Surface(*scan[:2]), gravity=STILL, steps=3, name="Bent arm")
    return SculptedArm(who, scan, pose, true, features, rig, seconds)


HALF_BENT = 60.0
"""Degrees of the elbow at the other sculpt of the arm."""
TENSIONS = {0.0: 0.0, HALF_BENT: 0.8, ELBOW: 1.0}
"""Tension of the biceps by degrees of the elbow: an arm that lifts a weight is tense before it is half bent."""


def arm_sculpt(who: elastic.Fleshed, degrees: float, cell: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns vertices, triangles and colours of a sculpt of the athlete's arm, with the elbow bent by degrees."""
    tension = float(np.interp(degrees, list(TENSIONS), list(TENSIONS.values())))
    tense = persons.arm(persons.ATHLETE, tension=persons.Tension(arm=tension))
    return persons.sculpt(tense, bent(who.figure, degrees), cell)


@dataclass
class TwiceSculptedArm:
    """The arm with rigs of two sculpts: that of the half bent elbow, and what is lacking at the bent one on top of it."""

    arm: elastic.Fleshed
    first: thew.Rig
    second: thew.Rig

    def controls(self, degrees: float) -> tuple[float, float]:
        """Returns the rigs' controls at an angle of the elbow: one follows the other."""
        share = lambda start, end: float(np.clip((degrees - start) / (end - start), 0.0, 1.0))  # noqa: E731
        return share(0.0, HALF_BENT), share(HALF_BENT, ELBOW)

    def push(self, degrees: float) -> np.ndarray:
        """Returns the forces of both rigs at an angle of the elbow, [nodes,3]."""
        pairs = zip((self.first, self.second), self.controls(degrees), strict=True)
        return sum(rig.forces(self.arm.body, control) for rig, control in pairs)


def twice_sculpted_arm(who: elastic.Fleshed, half: thew.Surface, whole: thew.Surface) -> TwiceSculptedArm:
    """Returns the arm with rigs of its sculpts at the half bent and at the bent elbow."""
    poses = [persons.maps(who.figure, bent(who.figure, degrees)) for degrees in (HALF_BENT, ELBOW)]
    first = thew.fit_surface(who.body, poses[0], half, gravity=STILL, steps=3, name="Half bent arm")
    # The other sculpt is compared with flesh on which the first rig acts.
    push = first.forces(who.body, 1.0)
    second = thew.fit_surface(who.body, poses[1], whole, gravity=STILL, rest_forces=push, name="Bent arm, on top")
    return TwiceSculptedArm(who, first, second)


def flexed_chest(who: elastic.Fleshed, build: persons.Build) -> np.ndarray:
    """Returns the skin [n,3] with a flexed chest, as a sculptor pulls it: each vertex onto the surface of tense muscles."""
    tense = persons.figure(build, tension=persons.Tension(chest=1.0))
    function = persons.field(tense, persons.pose(tense))
    still = persons.field(who.figure, persons.pose(who.figure))
    target, level = who.vertices.copy(), still(who.vertices)
    changed = np.abs(function(target) - level) > 1e-6
    for _ in range(5):
        value, slope = function(target[changed]) - level[changed], gradient(function, target[changed])
        target[changed] -= (value / (slope**2).sum(axis=1))[:, None] * slope
    return target


def gradient(function, points: np.ndarray, h: float = 5e-4) -> np.ndarray:
    """Returns the gradient [n,3] of a function of points."""
    return np.stack([(function(points + e) - function(points - e)) / (2 * h) for e in np.eye(3) * h], axis=1)


def chest_template(who: elastic.Fleshed, build: persons.Build, yields: float) -> list[thew.Rig]:
    """Returns the flex of a chest by templates: a bump behind each breast, out and up, that moves the skin by `yields` m."""
    rigs, scale = [], build.height / 1.75
    width, depth = build.chest
    for side, name in ((1.0, "left"), (-1.0, "right")):
        point = scale * np.array((side * 0.58 * width, 0.025 - depth - build.breast, 1.335))
        guide = rigged.guide_on_skin(who.body.surface, point, (0.15 * side, -1.0, 0.45), 0.02)
        template = thew.Template("bump", radius=0.085 * scale * width / 0.16, strength=1e5)
        rig = thew.Rig(template, guide, [(0.0, {"strength": 0.0}), (1.0, {})], name=f"Chest {name}")
        rigs.append(rig.with_peak_displacements(who.body, [0.0, yields]))
    return rigs


def share_of(who: elastic.Fleshed, bones: tuple[str, ...]) -> np.ndarray:
    """Returns the share of the skin's weights [n] that some bones have."""
    return who.weights[:, [i for i, bone in enumerate(who.figure.bones) if bone.name in bones]].sum(axis=1)


@dataclass(frozen=True)
class Cut:
    """Part of a skin, for a picture: cut off along a line, with vertices of its own on that."""

    triangles: np.ndarray
    pairs: np.ndarray
    """Vertices of the skin at the ends of the edges that are cut, [k,2]; the new vertices follow those of the skin."""
    shares: np.ndarray
    """Share of the second end in each new vertex, [k]."""

    def of(self, values: np.ndarray) -> np.ndarray:
        """Returns values at the skin's vertices [n,d] followed by those at the new ones."""
        one, other = (values[self.pairs[:, end]] for end in (0, 1))
        return np.concatenate([values, one + self.shares[:, None] * (other - one)])


def cut(triangles: np.ndarray, level: np.ndarray) -> Cut:
    """Returns the part of a skin on which a level of its vertices [n] is positive."""
    inside = level > 0.0
    mixed = inside[triangles].any(axis=1) & ~inside[triangles].all(axis=1)
    edges = np.sort(triangles[mixed][:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    pairs = np.unique(edges[inside[edges[:, 0]] != inside[edges[:, 1]]], axis=0)
    number = {(int(i), int(j)): len(level) + k for k, (i, j) in enumerate(pairs)}
    on = lambda i, j: number[min(i, j), max(i, j)]  # noqa: E731
    pieces = []
    for corners in triangles[mixed].tolist():
        odd = [bool(inside[v]) for v in corners].index(inside[corners].sum() == 1)
        a, b, c = corners[odd:] + corners[:odd]  # a lies on one side of the line, b and c on the other
        ab, ac = on(a, b), on(a, c)
        pieces += [(a, ab, ac)] if inside[a] else [(ab, b, c), (ab, c, ac)]
    whole = triangles[inside[triangles].all(axis=1)]
    ends = level[pairs]
    return Cut(
        np.concatenate([whole, np.array(pieces, int).reshape(-1, 3)]), pairs, ends[:, 0] / (ends[:, 0] - ends[:, 1])
    )


def cropped(who: elastic.Fleshed, hidden: tuple[str, ...], shown: tuple[str, ...], *cuts: tuple[int, float]) -> Cut:
    """Returns a part of a skin: that of hidden bones is left out, that of shown ones is in.

    Other skin is in where it lies above each cut, (axis, coordinate), at rest.
    """
    level = 0.5 - share_of(who, hidden)
    for axis, least in cuts:
        above = (who.vertices[:, axis] - least) / who.size
        level = np.minimum(level, np.maximum(above, share_of(who, shown) - 0.5))
    return cut(who.triangles, level)


def tinted(colours: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Returns colours [n,3] of a skin that turn to blue as shares [n] go from 0 to 1."""
    return colours + np.clip(shares, 0.0, 1.0)[:, None] * (TINT - colours)


TINT = np.array((0.02, 0.13, 0.42))
"""A blue, linear."""
