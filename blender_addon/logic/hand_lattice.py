# SPDX-License-Identifier: GPL-3.0-or-later
"""A lattice made by hand, in numbers: as text, as a mesh of faces, with cells added and deleted, and its faults in words."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field

import numpy as np

from .errors import Refusal
from .json_text import parse_json
from .sentences import plural
from .spaces import MeshSpace, mirrors

#: Faces of a cell by its number of corners, seen from outside: tetrahedron, prism (bottom, then top), hexahedron (i + 2 j + 4 k).
CELL_FACES = {
    4: ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)),
    6: ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    8: ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)),
}
#: Orders of the corners that turn a cell inside out.
TURNED = {4: (1, 0, 2, 3), 6: (0, 2, 1, 3, 5, 4), 8: (1, 0, 3, 2, 5, 4, 7, 6)}

#: Distance from a bone, as a share of an edge's length, up to which the edge lies on it.
ON_BONE = 0.02
#: Distance from the mirror plane, as a share of the middle edge length, up to which a vertex lies on it: less than the hand can aim at.
ON_PLANE = 0.05

#: A face, whatever its start and sense.
Face = frozenset


@dataclass
class HandLattice:
    """Cells around a character at rest, in the space of its mesh: lists of 4, 6 or 8 vertex indices, positively oriented."""

    vertices: np.ndarray  # [k, 3]
    cells: list[list[int]]
    #: Virtual tips: name of the bone, head [3], tail [3].
    tips: list[tuple[str, list[float], list[float]]] = field(default_factory=list)

    def pack(self) -> str:
        """Returns the lattice as text that restores the same one."""
        return json.dumps({"vertices": self.vertices.tolist(), "cells": self.cells, "tips": self.tips})

    @staticmethod
    def unpack(text: str) -> HandLattice:
        """Returns the lattice of a text; raises a `Refusal` where it holds none."""
        try:
            saved = parse_json(text)
            vertices = np.array(saved["vertices"], dtype=np.float64).reshape(-1, 3)
            cells = [[int(v) for v in cell] for cell in saved["cells"]]
            tips = [(str(bone), [float(x) for x in a], [float(x) for x in b]) for bone, a, b in saved["tips"]]
            whole = all(len(cell) in CELL_FACES and all(0 <= v < len(vertices) for v in cell) for cell in cells)
            if not (cells and whole and np.isfinite(vertices).all() and all(len(a) == len(b) == 3 for _, a, b in tips)):
                raise ValueError("its numbers make no cells")
        except (ValueError, KeyError, TypeError) as error:
            raise Refusal(
                f"The lattice by hand was saved damaged ({error}): press Automatic Lattice, or make it again"
            ) from error
        return HandLattice(vertices, cells, tips)


@dataclass
class Faults:
    """Faults of a lattice by hand: a sentence, and red lines and points in the space of the character's mesh."""

    text: str
    lines: np.ndarray  # [m, 2, 3]
    points: np.ndarray  # [p, 3]


#: For each kind of violation: what is wrong with one, and what to do.
WORDS = {
    "face corners": ("a face has neither three nor four corners", "cut it into triangles and quads"),
    "loose face": (
        "a face closes no cell",
        "close a shell of 4 triangles, of 2 triangles and 3 quads, or of 6 quads with it, or delete it",
    ),
    "shared face": ("a face belongs to more than two cells", "delete one of them"),
    "duplicate": ("two cells have the same corners", "delete one of them"),
    "overlap": ("two cells overlap", "move their vertices apart"),
    "hanging vertex": (
        "a vertex lies on a cell without being one of its corners",
        "merge it with a corner, or move it away",
    ),
    "uncovered bone": ("a bone has no edge along it", "move vertices onto the bone and join them by edges of cells"),
    "missing edge": ("a bone has no edge along it", "move vertices onto the bone and join them by edges of cells"),
    "off bone": ("a vertex of a bone lies off it", "move it back onto the bone"),
    "chains": ("the edges along a bone are broken", "make the lattice again"),
    "uncontained": ("the skin leaves the lattice", "move vertices outward there, or add a cell"),
    "opening": ("the flesh goes on behind a free face", "add a cell there"),
    "repeated corner": ("a cell uses a vertex twice", "delete the cell and add it again"),
    "inverted": ("a cell is flat or turned over at a corner", "move the corner back out of the cell"),
    "folded": ("a cell is flat or turned over inside", "straighten its faces"),
}
#: Names of the conditions [capell2002, §3.1].
CONDITIONS = {
    0: "Every face bounds a cell",
    1: "Cells meet in whole faces",
    2: "Bones run along edges",
    3: "The body lies inside",
    4: "No cell is turned over",
}

#: The order in which broken conditions are named: a cell that is turned over often breaks the others too.
ORDER = (0, 4, 1, 2, 3)


class BrokenLattice(Refusal):
    """A lattice by hand that breaks a condition, with its `faults`."""

    def __init__(self, faults: Faults):
        super().__init__(faults.text)
        self.faults = faults


def recognise(thew, vertices: np.ndarray, faces, tips=()) -> HandLattice:
    """Returns the cells of a mesh of faces; raises `BrokenLattice` where faces bound no cell."""
    if not len(faces):
        raise Refusal("The lattice has no faces: add a cell, or make the lattice again")
    try:
        found = thew.Lattice.from_faces(vertices, faces)
    except thew.LatticeError as error:
        raise BrokenLattice(describe_faults(error.violations, lambda points: points)) from error
    return HandLattice(np.asarray(found.vertices), found.cells, list(tips))


def fit(thew, hand: HandLattice, surface, skeleton, weights: np.ndarray, space: MeshSpace, progress=None):
    """Returns the lattice by hand around a character, a thew.Lattice in metres; raises `BrokenLattice` where it does not fit."""
    bones = list(skeleton.names)
    tips = [(bones.index(bone), *space.metres([head, tail])) for bone, head, tail in hand.tips if bone in bones]
    cells = turned(hand.cells) if mirrors(space.matrix) else hand.cells
    try:
        given = thew.Lattice(space.metres(hand.vertices), cells)
        return given.for_character(surface, skeleton, weights, tips=tips, progress=progress)
    except thew.LatticeError as error:
        raise BrokenLattice(describe_faults(error.violations, space.mesh, hand)) from error


def describe_faults(violations, to_mesh, hand: HandLattice | None = None) -> Faults:
    """Returns what is wrong by the core's violations (`thew.Violation`); `to_mesh` maps their places into the mesh's space.

    The sentence names the first condition that is broken, with bone and place, and counts the rest.
    """
    first = min(violations, key=lambda violation: ORDER.index(violation.condition))
    same = sum(v.kind == first.kind for v in violations) - 1
    wrong, remedy = WORDS.get(first.kind, (first.sentence, "mend it"))
    bone = f" (“{first.bone}”)" if first.bone else ""
    where = "".join(
        " at ({:.3g}, {:.3g}, {:.3g})".format(*to_mesh(first.places).mean(axis=0)) for _ in first.places[:1]
    )
    more = f", and at {plural(same, 'other place')}" if same else ""
    others = sorted({v.condition for v in violations} - {first.condition}, key=ORDER.index)
    also = f". Broken too: {', '.join(f'“{CONDITIONS[c]}”' for c in others)}" if others else ""
    broken = f"“{CONDITIONS[first.condition]}” is broken"
    text = f"{broken}: {wrong}{bone}{where}{more}. {remedy[0].upper()}{remedy[1:]}{also}"
    lines, points = [np.zeros((0, 2, 3))], [np.zeros((0, 3))]
    for violation in violations:
        places = to_mesh(violation.places) if len(violation.places) else points[0]
        points.append(places)
        if violation.kind in {"uncovered bone", "missing edge"}:
            lines.append(places[None])
        elif violation.kind in {"loose face", "face corners", "shared face", "opening"}:
            lines.append(np.stack([places, np.roll(places, -1, axis=0)], axis=1))
        elif hand is not None:
            lines.append(hand.vertices[cell_wires(hand.cells, violation.cells)])
    return Faults(text, np.concatenate(lines), np.concatenate(points))


def turned(cells) -> list[list[int]]:
    """Returns the cells with the other orientation, as in a mirror."""
    return [[cell[i] for i in TURNED[len(cell)]] for cell in cells]


def faces_of(cell) -> list[list[int]]:
    """Returns the faces of a cell, seen from outside."""
    return [[cell[i] for i in face] for face in CELL_FACES[len(cell)]]


def cells_at_faces(cells) -> dict[Face, list[int]]:
    """Returns the indices of the cells at each face."""
    at: dict[Face, list[int]] = {}
    for i, cell in enumerate(cells):
        for face in faces_of(cell):
            at.setdefault(Face(face), []).append(i)
    return at


def cell_wires(cells, chosen) -> np.ndarray:
    """Returns the edges of the chosen cells, int[e, 2]."""
    edges = {
        tuple(sorted((face[i - 1], face[i]))) for c in chosen for face in faces_of(cells[c]) for i in range(len(face))
    }
    return np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)


def free_sides(cells, faces) -> list[list[int]]:
    """Returns the chosen `faces` that bound one cell each, seen from outside it; raises a `Refusal` where one bounds two or none."""
    at, found = cells_at_faces(cells), []
    for face in faces:
        owners = at.get(Face(face), [])
        if len(owners) > 1:
            raise Refusal("A chosen face has a cell on both sides already: choose faces on the outside of the lattice")
        if not owners:
            raise Refusal("A chosen face bounds no cell: choose faces on the outside of the lattice")
        found += [side for side in faces_of(cells[owners[0]]) if Face(side) == Face(face)]
    return found


def extrusion(vertices: np.ndarray, sides, height: float = 0.0) -> tuple[dict[int, np.ndarray], list[list[int]]]:
    """Returns how sides of cells are extruded: the place of the copy of each of their vertices, and all new faces.

    In the faces, the copy of vertex v is -1 - v. `height`: length of the new cells; 0: the mean length of the sides' edges.
    """
    normals: dict[int, np.ndarray] = {}
    lengths = []
    for side in sides:
        corners = vertices[side]
        one = corners[2] - corners[0] if len(side) == 4 else corners[1] - corners[0]
        across = np.cross(one, corners[-1] - corners[1] if len(side) == 4 else corners[2] - corners[0])
        size = np.linalg.norm(across)
        normal = across / size if size > 0.0 else across
        lengths += np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1).tolist()
        for v in side:
            normals[v] = normals.get(v, np.zeros(3)) + normal
    height = height or float(np.mean(lengths))
    places = {}
    for v, normal in normals.items():
        size = np.linalg.norm(normal)
        places[v] = vertices[v] + height * (normal / size if size > 0.0 else normal)
    made, seen = [], set()
    for side in sides:
        made.append([-1 - v for v in side])
        for a, b in zip(side, [*side[1:], side[0]], strict=True):
            if frozenset((a, b)) not in seen:
                seen.add(frozenset((a, b)))
                made.append([a, b, -1 - b, -1 - a])
    return places, made


def doomed_faces(cells, chosen: list[int]) -> set[Face]:
    """Returns the faces to delete so that the chosen cells vanish; raises a `Refusal` where the hole would read as a cell."""
    at, gone = cells_at_faces(cells), set(chosen)
    if len(gone) == len(cells):
        raise Refusal("These are all cells of the lattice: leave one, or press Automatic Lattice")
    for c in chosen:
        if all(set(at[Face(face)]) - gone for face in faces_of(cells[c])):
            raise Refusal(
                "A chosen cell has other cells all around: without it the hole would read as a cell again. Delete a "
                "neighbour at the outside with it"
            )
    return {face for face, owners in at.items() if set(owners) <= gone}


def chosen_cells(cells, faces) -> list[int]:
    """Returns the cells with all of their faces among `faces`, and those behind a chosen face on the outside."""
    wanted, at = {Face(face) for face in faces}, cells_at_faces(cells)
    whole = {i for i, cell in enumerate(cells) if wanted.issuperset(map(Face, faces_of(cell)))}
    if whole:
        return sorted(whole)
    return sorted({at[face][0] for face in wanted if len(at.get(face, ())) == 1})


def mirrored_lattice(
    vertices: np.ndarray, cells, tolerance: float, side: int = 1
) -> tuple[np.ndarray, list[list[int]]]:
    """Returns the cells on one side of the plane x = 0 (`side` 1: x > 0), those across it cut off there, and their mirror images.

    A vertex on the other side moves along its edges to where they meet the plane, as a mean. `tolerance`: distance from the plane
    within which a vertex is on it.
    """
    x = vertices * [side, 1.0, 1.0]
    beyond = x[:, 0] < -tolerance
    kept = [cell for cell in cells if any(x[v, 0] > tolerance for v in cell)]
    if not kept:
        raise Refusal("The lattice has no cell on the side to keep: choose the other direction")
    meets: dict[int, list[np.ndarray]] = {}
    for a, b in cell_wires(kept, range(len(kept))):
        for inner, outer in ((a, b), (b, a)):
            if beyond[outer] and x[inner, 0] > tolerance:
                share = x[inner, 0] / (x[inner, 0] - x[outer, 0])
                meets.setdefault(int(outer), []).append(x[inner] + share * (x[outer] - x[inner]))
    new = x.copy()
    new[np.abs(x[:, 0]) <= tolerance, 0] = 0.0
    new[beyond, 0] = 0.0
    for v, places in meets.items():
        new[v] = np.mean(places, axis=0)
        new[v, 0] = 0.0
    used = sorted({v for cell in kept for v in cell})
    number = {v: i for i, v in enumerate(used)}
    half = new[used]
    image = {i: i for i in range(len(used)) if half[i, 0] == 0.0}
    away = [i for i in range(len(used)) if i not in image]
    image.update({i: len(used) + k for k, i in enumerate(away)})
    both = np.concatenate([half, half[away] * [-1.0, 1.0, 1.0]]) * [side, 1.0, 1.0]
    first = [[number[v] for v in cell] for cell in kept]
    return both, first + turned([[image[v] for v in cell] for cell in first])


def mirrored_tips(tips, flip, tolerance: float, side: int = 1) -> list[tuple[str, list[float], list[float]]]:
    """Returns the tips on one side of the plane x = 0 with their mirror images; `flip` turns a bone's name into that of its image."""
    kept = [tip for tip in tips if side * tip[1][0] >= -tolerance and side * tip[2][0] >= -tolerance]
    images = [(flip(bone), *([-end[0], end[1], end[2]] for end in ends)) for bone, *ends in kept if flip(bone) != bone]
    return kept + images


def distance_to_segment(points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the distances of points [n, 3] from the segment from a to b, [n]."""
    axis = b - a
    along = np.clip((points - a) @ axis / max(float(axis @ axis), 1e-300), 0.0, 1.0)
    return np.linalg.norm(points - a - along[:, None] * axis, axis=1)


def straightest_chain(heads: np.ndarray, tails: np.ndarray, parents: np.ndarray, carried: np.ndarray) -> list[int]:
    """Returns the bones of a chain: from a root on through the child most in line with its parent, as a spine runs.

    Only bones that are `carried`, bool[b], count. Of the chains of several roots the longest is returned.
    """
    lengths = np.linalg.norm(tails - heads, axis=1)
    ways = (tails - heads) / np.maximum(lengths, 1e-12)[:, None]
    children: dict[int, list[int]] = {}
    for bone in np.flatnonzero(carried).tolist():
        above = int(parents[bone])
        while above >= 0 and not carried[above]:
            above = int(parents[above])
        children.setdefault(above, []).append(bone)
    best: list[int] = []
    for root in children.get(-1, []):
        chain = [root]
        while below := children.get(chain[-1]):
            chain.append(max(below, key=lambda bone: float(ways[bone] @ ways[chain[-1]])))
        best = max(best, chain, key=lambda bones: float(lengths[bones].sum()))
    return best


def boxes_along(joints: np.ndarray, skin: np.ndarray, margin: float = 0.15) -> HandLattice:
    """Returns hexahedra along the line through `joints` [j, 3] around a skin [n, 3].

    Sections of 3 x 3 vertices stand at the joints, in the middles between them and beyond both ends, the line along their middles.
    `margin`: room beyond the skin, as a share of its distance.
    """
    stations = [joints[0]]
    for a, b in itertools.pairwise(joints):
        stations += [0.5 * (a + b), b]
    directions = np.diff(joints, axis=0)
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    beyond = [
        (1.0 + margin) * max(float(((skin - joints[0]) @ -directions[0]).max()), 1e-3 * np.ptp(skin)),
        (1.0 + margin) * max(float(((skin - joints[-1]) @ directions[-1]).max()), 1e-3 * np.ptp(skin)),
    ]
    stations = np.array([joints[0] - beyond[0] * directions[0], *stations, joints[-1] + beyond[1] * directions[-1]])
    along = np.gradient(stations, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    frames = section_frames(along)
    reach = section_reach(stations, frames, skin) * (1.0 + margin)
    vertices = np.array(
        [
            stations[s] + (a * reach[s, int(a > 0)]) * frames[s, 0] + (b * reach[s, 2 + int(b > 0)]) * frames[s, 1]
            for s in range(len(stations))
            for b in (-1, 0, 1)
            for a in (-1, 0, 1)
        ]
    )
    cells = [
        [9 * (s + (c >> 2)) + i + (c & 1) + 3 * (j + (c >> 1 & 1)) for c in range(8)]
        for s in range(len(stations) - 1)
        for i in (0, 1)
        for j in (0, 1)
    ]
    return HandLattice(vertices, cells)


def section_frames(along: np.ndarray) -> np.ndarray:
    """Returns two directions across each unit direction [s, 3], carried along without twist, [s, 2, 3]."""
    first = np.eye(3)[np.argmin(np.abs(along[0]))]
    frames = []
    for direction in along:
        first = first - (first @ direction) * direction
        first = first / np.linalg.norm(first)
        frames.append((first, np.cross(direction, first)))
    return np.array(frames)


def section_reach(stations: np.ndarray, frames: np.ndarray, skin: np.ndarray) -> np.ndarray:
    """Returns the distances of the skin on the four sides of each section, over the cells on both sides of it, [s, 4]."""
    nearest = np.argmin(np.linalg.norm(skin[:, None] - stations[None], axis=2), axis=1)
    least = 1e-3 * max(float(np.ptp(skin)), 1e-12)
    reach = np.full((len(stations), 4), least)
    for s, (one, other) in enumerate(frames):
        near = skin[np.abs(nearest - s) <= 1] - stations[s]
        if len(near):
            a, b = near @ one, near @ other
            reach[s] = np.maximum([-a.min(), a.max(), -b.min(), b.max()], least)
    return reach
