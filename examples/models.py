# SPDX-License-Identifier: MIT OR Apache-2.0
"""The bodies of the figures, made from numbers: a bar, a jelly box, a potbelly, a blob with limbs, a dinosaur.

Bar and box are regular grids with the counts of the paper's Table 1, shown by rounded boxes; the
others are soft unions of balls and limbs, whose surfaces `thew.TetMesh.fill` fills.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import thew

from assets.characters import implicit
from assets.characters.figure import Figure, colours
from assets.characters.implicit import Part, both_sides


@dataclass
class Shape:
    """A closed surface: vertices [n,3] in metres, triangles [t,3], and linear colours [n,3]."""

    vertices: np.ndarray
    triangles: np.ndarray
    colours: np.ndarray | None = None


def _centred_grid(cells: tuple[int, int, int], size: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and tetrahedra of a grid that stands on x = 0, about y = z = 0."""
    mesh = thew.TetMesh.grid(cells, size)
    return np.asarray(mesh.vertices) - [0.0, size[1] / 2, size[2] / 2], np.asarray(mesh.tets)


def rounded_box(cells: tuple[int, int, int], size: tuple[float, float, float], radius: float) -> Shape:
    """The same box as a closed surface of 2(ab + bc + ca) + 2 vertices, its edges rounded."""
    a, b, c = cells
    number = -np.ones((a + 1, b + 1, c + 1), int)
    index = np.indices(number.shape)
    limit = np.array(cells).reshape(3, 1, 1, 1)
    outer = ((index == 0) | (index == limit)).any(axis=0)
    number[outer] = np.arange(outer.sum())
    points = index[:, outer].T / np.array(cells) * np.array(size) - np.array([0.0, size[1] / 2, size[2] / 2])
    quads = []
    for axis in range(3):
        n = np.moveaxis(number, axis, 0)
        for side, layer in ((0, n[0]), (1, n[-1])):
            ring = np.stack([layer[:-1, :-1], layer[1:, :-1], layer[1:, 1:], layer[:-1, 1:]], axis=-1).reshape(-1, 4)
            # The remaining axes keep their order, which is odd for the middle one.
            quads.append(ring if (side == 1) != (axis == 1) else ring[:, ::-1])
    middle = np.array([size[0] / 2, 0.0, 0.0])
    core = np.array(size) / 2 - radius
    inner = np.clip(points - middle, -core, core)
    outward = points - middle - inner
    length = np.linalg.norm(outward, axis=1, keepdims=True)
    reach = np.maximum(np.abs(outward).max(axis=1, keepdims=True), 1e-12)
    # Shells of the corner cube become shells of a ball.
    points = middle + inner + outward * np.minimum(1.0, reach / np.maximum(length, 1e-12))
    return Shape(points, triangulate(np.concatenate(quads)))


def bar(detail: int = 2) -> thew.TetMesh:
    """1 x 0.2 x 0.2 m along x; detail 2 has 99 nodes and 240 tetrahedra."""
    return thew.TetMesh(*_centred_grid((5 * detail, detail, detail), (1.0, 0.2, 0.2)))


def bar_surface(detail: int = 4) -> Shape:
    """The bar's skin; detail 4 has the 354 vertices of Table 1."""
    return rounded_box((5 * detail, detail, detail), (1.0, 0.2, 0.2), 0.02)


BOX = (1.56, 0.416, 0.416)
"""The jelly box's height, depth and width, metres."""


def jelly_box() -> thew.TetMesh:
    """A tall box on the ground, 400 nodes and 1440 tetrahedra, z up."""
    vertices, tets = _centred_grid((15, 4, 4), BOX)
    return thew.TetMesh(_upright(vertices), tets)


def jelly_box_surface(detail: int = 10) -> Shape:
    """Its skin; detail 10 has the 1642 vertices of Table 1."""
    shape = rounded_box((round(3.6 * detail), detail, detail), BOX, 0.07)
    return Shape(_upright(shape.vertices), shape.triangles)


def _upright(points: np.ndarray) -> np.ndarray:
    """x becomes z, z becomes x and y turns over: a rotation."""
    return np.ascontiguousarray(points[:, [2, 1, 0]] * [1.0, -1.0, 1.0])


def arm(vertices: int | None = None) -> Shape:
    """An arm along x, its elbow at 0.5, the biceps above and a fist at the end."""
    parts = [
        Part((0.05, 0.0, 0.0), (0.5, 0.0, 0.0), (0.074, 0.052), "body", "skin"),
        Part((0.27, 0.0, 0.024), None, (0.14, 0.056, 0.05), "body", "skin"),
        Part((0.26, 0.0, -0.022), None, (0.15, 0.05, 0.05), "body", "skin"),
        Part((0.5, 0.0, 0.0), (0.9, 0.0, 0.0), (0.054, 0.032), "body", "skin"),
        Part((0.6, 0.0, 0.006), None, (0.12, 0.054, 0.05), "body", "skin"),
        Part((0.97, 0.0, 0.0), None, (0.066, 0.05, 0.046), "body", "skin"),
        Part((0.945, -0.03, 0.03), (0.995, -0.02, 0.045), (0.017, 0.015), "body", "skin"),
    ]
    return _mesh_soft_union(parts, {"skin": (0.93, 0.69, 0.55)}, 0.0115, 0.012, vertices)


def ruled_limb(detail: int = 24) -> Shape:
    """An upright capsule, 0.8 m long and 0.3 m thick, ruled every five centimetres along and thirty degrees round;
    `detail` rows of vertices go to such a square."""
    radius, height = 0.15, 0.8
    fine = 4.0 * 12 / detail
    # Arc length from the lowest point along the outline, its corners on whole rows.
    cap = radius * np.pi / 2
    rows = round((2 * cap + height - 2 * radius) / 0.05 * 12 / fine)
    along = np.linspace(0.0, 2 * cap + height - 2 * radius, rows + 1)[1:-1]
    low = np.minimum(along, cap) / radius
    high = np.maximum(along - (along[-1] + along[0]) + cap, 0.0) / radius
    across = radius * np.where(high > 0.0, np.cos(high), np.sin(low))
    up = np.clip(along - cap, 0.0, height - 2 * radius) + radius * (1.0 - np.cos(low) + np.sin(high))
    around = 2 * np.pi * np.arange(12 * round(12 / fine * 1.5)) / (12 * round(12 / fine * 1.5))
    rings = np.stack(
        [np.outer(across, np.sin(around)), np.outer(across, -np.cos(around)), np.outer(up, np.ones_like(around))], -1
    )
    n, k = rings.shape[:2]
    points = np.concatenate([rings.reshape(-1, 3), [[0.0, 0.0, 0.0], [0.0, 0.0, height]]])
    i, j = (index.ravel() for index in np.indices((n - 1, k)))
    quads = np.stack([i * k + j, i * k + (j + 1) % k, (i + 1) * k + (j + 1) % k, (i + 1) * k + j], axis=1)
    j = np.arange(k)
    ends = [
        np.stack([0 * j + n * k, (j + 1) % k, j], 1),
        np.stack([0 * j + n * k + 1, (n - 1) * k + j, (n - 1) * k + (j + 1) % k], 1),
    ]
    i, j = (index.ravel() for index in np.indices((n, k)))
    line = np.append((i % round(12 / fine) == 0) | (j % round(12 / fine * 1.5) == 0), [True, True])
    tint = np.where(line[:, None], np.array([0.62, 0.33, 0.26]), np.array([0.93, 0.71, 0.58])) ** 2.2
    return Shape(points, np.concatenate([triangulate(quads), *ends]).astype(np.int32), tint)


def potbelly(vertices: int | None = None) -> Shape:
    """A torso with a belly, for the skeleton of our biped; facing -y."""
    parts = [
        Part((0.0, 0.05, 0.6), None, (0.2, 0.165, 0.14), "body", "cloth"),
        Part((0.0, -0.15, 0.775), None, (0.285, 0.3, 0.235), "body", "skin", 0.22),
        Part((0.0, -0.02, 0.9), None, (0.24, 0.2, 0.19), "body", "skin"),
        Part((0.0, 0.035, 1.05), None, (0.2, 0.15, 0.15), "body", "shirt"),
        Part((0.0, 0.04, 1.1), (0.0, 0.025, 1.2), (0.085, 0.07), "body", "skin"),
        *both_sides(Part((0.09, 0.03, 1.09), (0.17, 0.03, 1.09), (0.1, 0.085), "body", "shirt")),
        *both_sides(Part((0.085, -0.1, 1.05), None, (0.1, 0.07, 0.08), "body", "shirt")),
        *both_sides(Part((0.09, 0.15, 0.6), None, (0.125, 0.11, 0.12), "body", "cloth")),
    ]
    palette = {"skin": (0.93, 0.69, 0.55), "shirt": (0.95, 0.77, 0.30), "cloth": (0.22, 0.42, 0.58)}
    return _mesh_soft_union(parts, palette, 0.0185, 0.02, vertices)


def flubber(vertices: int | None = None) -> Shape:
    """A blob with head, arms and legs, 1.5 m tall; facing -y."""
    limbs = [
        Part((0.12, 0.0, 1.06), (0.36, 0.0, 1.0), (0.12, 0.085), "body", "green"),
        Part((0.36, 0.0, 1.0), (0.6, 0.0, 0.92), (0.085, 0.075), "body", "green"),
        Part((0.64, 0.0, 0.905), None, (0.1, 0.095, 0.095), "body", "green"),
        Part((0.1, 0.0, 0.62), (0.17, 0.0, 0.34), (0.15, 0.11), "body", "green"),
        Part((0.17, 0.0, 0.34), (0.21, 0.0, 0.1), (0.11, 0.09), "body", "green"),
        Part((0.215, -0.03, 0.085), None, (0.115, 0.15, 0.085), "body", "green"),
    ]
    trunk = [
        Part((0.0, 0.0, 0.72), None, (0.23, 0.19, 0.2), "body", "green"),
        Part((0.0, 0.0, 0.92), None, (0.2, 0.165, 0.2), "body", "green"),
        Part((0.0, 0.0, 1.08), None, (0.17, 0.14, 0.12), "body", "green"),
        Part((0.0, 0.0, 1.12), (0.0, 0.0, 1.24), (0.11, 0.1), "body", "green"),
        Part((0.0, -0.01, 1.36), None, (0.175, 0.17, 0.18), "body", "green"),
    ]
    parts = trunk + [side for part in limbs for side in both_sides(part)]
    return _mesh_soft_union(parts, {"green": (0.30, 0.78, 0.36)}, 0.02, 0.03, vertices)


def dinosaur(vertices: int | None = None) -> Shape:
    """A long-necked animal of rubber, 3.4 m from nose to tail; it faces -y and stands on z = 0."""
    legs = [
        Part((0.2, -0.34, 0.74), (0.24, -0.36, 0.45), (0.16, 0.12), "body", "hide"),
        Part((0.24, -0.36, 0.45), (0.25, -0.36, 0.1), (0.12, 0.1), "body", "hide"),
        Part((0.25, -0.375, 0.06), None, (0.12, 0.135, 0.07), "body", "toes"),
        Part((0.23, 0.4, 0.76), (0.26, 0.41, 0.45), (0.19, 0.135), "body", "hide"),
        Part((0.26, 0.41, 0.45), (0.27, 0.42, 0.1), (0.135, 0.11), "body", "hide"),
        Part((0.27, 0.4, 0.06), None, (0.13, 0.145, 0.07), "body", "toes"),
        Part((0.072, -1.49, 1.955), None, (0.034, 0.034, 0.036), "body", "eye"),
    ]
    spine = [
        Part((0.0, -0.28, 0.88), None, (0.32, 0.4, 0.33), "body", "hide"),
        Part((0.0, 0.12, 0.9), None, (0.36, 0.5, 0.37), "body", "hide"),
        Part((0.0, 0.06, 0.78), None, (0.3, 0.44, 0.31), "body", "belly"),
        Part((0.0, -0.56, 1.0), (0.0, -0.95, 1.4), (0.23, 0.15), "body", "hide"),
        Part((0.0, -0.95, 1.4), (0.0, -1.24, 1.78), (0.15, 0.115), "body", "hide"),
        Part((0.0, -1.24, 1.78), (0.0, -1.4, 1.9), (0.115, 0.115), "body", "hide"),
        Part((0.0, -1.45, 1.9), None, (0.115, 0.16, 0.11), "body", "hide", 0.0),
        Part((0.0, -1.53, 1.875), (0.0, -1.64, 1.85), (0.088, 0.072), "body", "belly"),
        Part((0.0, 0.5, 0.92), (0.0, 1.0, 0.92), (0.27, 0.17), "body", "hide"),
        Part((0.0, 1.0, 0.92), (0.0, 1.5, 0.99), (0.17, 0.115), "body", "hide"),
        Part((0.0, 1.5, 0.99), (0.0, 1.96, 1.13), (0.115, 0.075), "body", "tail"),
    ]
    # Plates along the back.
    along = np.linspace(0.0, 1.0, 9)
    ridge = [
        Part(
            (0.0, -0.5 + 1.5 * t, 1.17 + 0.1 * np.sin(np.pi * t) - 0.1 * t), None, (0.035, 0.06, 0.075), "body", "ridge"
        )
        for t in along
    ]
    parts = spine + ridge + [side for part in legs for side in both_sides(part)]
    palette = {
        "hide": (0.36, 0.62, 0.47),
        "belly": (0.83, 0.86, 0.62),
        "toes": (0.24, 0.42, 0.36),
        "tail": (0.92, 0.56, 0.25),
        "ridge": (0.92, 0.56, 0.25),
        "eye": (0.05, 0.05, 0.06),
    }
    return _mesh_soft_union(parts, palette, 0.0196, 0.02, vertices)


def _mesh_soft_union(
    parts: list[Part],
    palette: dict[str, tuple[float, float, float]],
    cell: float,
    softness: float,
    count: int | None,
) -> Shape:
    """Mesh a soft union with cells of a given size, or near it with a given number of vertices."""
    vertices, quads = _net(parts, cell, softness)
    for _ in range(20):
        if count is None or 0.95 * count <= len(vertices) <= count:
            break
        cell *= np.sqrt(len(vertices) / (0.98 * count))
        vertices, quads = _net(parts, cell, softness)
    triangles = triangulate(quads)
    if count is not None:
        vertices, triangles = _with_vertices(vertices, triangles, count)
    figure = Figure("", [], parts, palette, cell=cell, softness=softness)
    return Shape(vertices, triangles, colours(figure, vertices))


def _net(parts: list[Part], cell: float, softness: float) -> tuple[np.ndarray, np.ndarray]:
    """Surface nets with cells of this size, or a little smaller ones where a fold is just not resolved."""
    for shrink in 0.99 ** np.arange(8):
        try:
            return implicit.mesh(parts, shrink * cell, softness)
        except ValueError:
            continue
    return implicit.mesh(parts, cell, softness)


def _with_vertices(vertices: np.ndarray, triangles: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the longest edges, one vertex each, until there are `count`."""
    missing = count - len(vertices)
    while missing > 0:
        edges = np.sort(np.concatenate([triangles[:, [i, (i + 1) % 3]] for i in range(3)]), axis=1)
        owner = np.tile(np.arange(len(triangles)), 3)
        unique, where = np.unique(edges, axis=0, return_inverse=True)
        pair = owner[np.argsort(where.ravel(), kind="stable")].reshape(-1, 2)
        length = np.linalg.norm(vertices[unique[:, 0]] - vertices[unique[:, 1]], axis=1)
        used, made = np.zeros(len(triangles), bool), []
        for edge in np.argsort(-length, kind="stable"):
            if len(made) == missing or len(made) > len(unique) // 20:
                break
            if not used[pair[edge]].any():
                used[pair[edge]] = True
                made.append(edge)
        old, new = [], []
        for number, edge in enumerate(made):
            middle = len(vertices) + number
            a, b = unique[edge]
            for t in pair[edge]:
                old.append(t)
                for end in (a, b):
                    corners = triangles[t].copy()
                    corners[corners == end] = middle
                    new.append(corners)
        vertices = np.concatenate([vertices, vertices[unique[made]].mean(axis=1)])
        triangles = np.concatenate([np.delete(triangles, old, axis=0), np.array(new, dtype=np.int32)])
        missing = count - len(vertices)
    return vertices, triangles


def triangulate(quads: np.ndarray) -> np.ndarray:
    """Quads [q,4] cut into triangles [2q,3]."""
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32)
