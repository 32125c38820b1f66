# SPDX-License-Identifier: GPL-3.0-or-later
"""Choice of the bodies among a character's meshes, as against worn or inserted ones: by the volumes that they enclose.

Each mesh is sampled on a grid over its own box. The winding number closes openings as a soap film would, so a shirt encloses the
chest below it and a visor half a head. Volumes count points that the mesh nearly surrounds (`MIN_FIRM_WINDING`), overlaps those that it
surrounds at least half. An open mesh around another one is worn, however large it is.

The largest mesh is a body. So is a mesh beside it with at least `MIN_BODY_VOLUME` of its volume: a rider and a horse. A smaller mesh with
bones of its own is a segment, such as the arms of a doll, and a body too. If its rim lies on that of a larger one it rides instead,
as it would part from it. A mesh named like a hard thing (a shield, a helmet) does not become a further body, nor does a prop. A prop
hangs on one bone, while other meshes bend with several: it shares its bone with them, stands far off all of them, or surrounds them.
All other meshes ride.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import extents

#: Samples in the box of a mesh. Volumes of compact meshes are accurate to about 3 %, shares of overlap to 0.02.
SAMPLES = 4096
#: Least winding numbers of points enclosed by the mesh itself, and of points inside its openings too.
MIN_FIRM_WINDING, MIN_INSIDE_WINDING = 0.9, 0.5
#: Least volumes, as parts of the largest one: of a body beside it, and of a segment (hands of a doll; a human head has 0.07).
MIN_BODY_VOLUME, MIN_SEGMENT_VOLUME = 0.35, 0.05
#: Share of weights on bones of larger bodies below which a mesh can be a segment.
MAX_SEGMENT_SHARE = 0.3
#: Least overlap with a body of a mesh that rides on it.
MIN_RIDER_OVERLAP = 0.3
#: An open mesh is worn around a mesh of which it holds `MIN_WRAPPED_SHARE`, if that has at least `MIN_WRAPPED_SIZE` of its inside.
MIN_WRAPPED_SHARE, MIN_WRAPPED_SIZE = 0.6, 0.2
#: Distance, as a part of the size, below which vertices of two meshes coincide, and the number of them that makes a seam.
SEAM_TOLERANCE, MIN_SEAM_VERTICES = 1e-4, 6
#: Mean distance from a body, as a part of its size, beyond which a mesh is not part of its skin.
MAX_SKIN_DISTANCE = 0.15


@dataclass(frozen=True)
class MeshPart:
    """One mesh of a character at rest."""

    surface: Any  # thew.Surface, Blender's world
    bones: dict[str, float] = field(default_factory=dict)  # share of its weights on each bone; empty: no bone bends it
    hard: bool = False  # by its name


@dataclass(frozen=True)
class MeshInterior:
    """The inside of a mesh."""

    points: np.ndarray  # [k, 3] samples inside, openings closed
    inside: float  # volume of these
    volume: float  # volume that the mesh itself encloses
    size: float
    is_open: bool

    @staticmethod
    def sample(surface: Any) -> MeshInterior:
        """Samples the inside of a surface."""
        vertices = np.asarray(surface.vertices)[np.unique(np.asarray(surface.triangles))]
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        box = np.maximum(high - low, 1e-9 * float(surface.size))
        cell = (box.prod() / SAMPLES) ** (1.0 / 3.0)
        counts = np.clip(np.round(box / cell), 1, 64).astype(int)
        steps = [low[k] + (np.arange(counts[k]) + 0.5) * (box[k] / counts[k]) for k in range(3)]
        grid = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 3)
        winding, each = np.abs(np.asarray(surface.winding_number(grid))), float(box.prod()) / len(grid)
        points = grid[winding > MIN_INSIDE_WINDING]
        volume = each * int((winding > MIN_FIRM_WINDING).sum())
        return MeshInterior(points, each * len(points), volume, float(surface.size), is_open(surface))

    def share_in(self, surface: Any) -> float:
        """Returns the share of this inside that lies in another mesh, whichever way its faces look."""
        if not len(self.points):
            return 0.0
        return float((np.abs(np.asarray(surface.winding_number(self.points))) > MIN_INSIDE_WINDING).mean())


def is_open(surface: Any) -> bool:
    """Returns whether an edge of the surface, coincident vertices merged, belongs to one triangle only; `Surface.report` takes seconds."""
    corners = np.unique(np.asarray(surface.vertices), axis=0, return_inverse=True)[1].reshape(-1)
    corners = corners[np.asarray(surface.triangles)].astype(np.int64)
    edges = extents.triangle_edges(corners)
    edges = edges[edges[:, 0] != edges[:, 1]]
    return bool((np.unique(edges[:, 0] * (corners.max() + 1) + edges[:, 1], return_counts=True)[1] == 1).any())


@dataclass(frozen=True)
class BodyCast:
    """Indices of the bodies, the largest first, and of bodies sewn to a larger one."""

    bodies: list[int]
    seams: list[tuple[int, int]]  # (body, the larger one)


def find_bodies(parts: list[MeshPart]) -> BodyCast:
    """Returns the bodies among the meshes of a character; an empty cast if no mesh has weights."""
    solids = [MeshInterior.sample(part.surface) for part in parts]
    able = [i for i, part in enumerate(parts) if part.bones]
    order = sorted(able, key=lambda i: (-solids[i].volume, -solids[i].inside, -solids[i].size, i))
    order = [i for i in order if not is_worn(i, able, parts, solids)] or order
    limber = [parts[i] for i in able if not is_rigid(parts[i])]
    order = [i for i in order if not is_prop(parts[i], limber)] or order
    found = BodyCast([], [])
    for i in order:
        if not found.bodies:
            found.bodies.append(i)
            continue
        share = solids[i].volume / max(solids[found.bodies[0]].volume, 1e-300)
        if share < MIN_SEGMENT_VOLUME:
            break
        if parts[i].hard:
            continue
        if any(overlap(parts[i], solids[i], parts[k], solids[k]) >= MIN_RIDER_OVERLAP for k in found.bodies):
            continue
        sewn = next((k for k in found.bodies if are_sewn(parts[i].surface, parts[k].surface)), -1)
        if share < MIN_BODY_VOLUME and (
            sewn >= 0 or shared_weight(parts[i], [parts[k] for k in found.bodies]) >= MAX_SEGMENT_SHARE
        ):
            continue
        if sewn >= 0:
            found.seams.append((i, sewn))
        found.bodies.append(i)
    return found


def is_rigid(part: MeshPart) -> bool:
    """Returns whether one bone carries all of a mesh."""
    return max(part.bones.values(), default=1.0) > 0.99


def is_prop(part: MeshPart, limber: list[MeshPart]) -> bool:
    """Returns whether a mesh on one bone is a prop: it shares its bone with flexible meshes, stands far off them, or surrounds them."""
    if not limber or not is_rigid(part):
        return False
    low, high = extents.box(np.asarray(part.surface.vertices))
    boxes = [extents.box(np.asarray(each.surface.vertices)) for each in limber]
    least, most = np.min([box[0] for box in boxes], axis=0), np.max([box[1] for box in boxes], axis=0)
    size = float(np.linalg.norm(most - least))
    gap = float(np.linalg.norm(np.maximum(np.maximum(low - most, least - high), 0.0)))
    around = float(np.linalg.norm(high - low)) > extents.MIN_SURROUNDING_SIZE * size
    return shared_weight(part, limber) > 0.99 or around or gap > extents.MAX_MESH_DISTANCE * size


def shared_weight(part: MeshPart, others: list[MeshPart]) -> float:
    """Returns the share of a mesh's weights on bones that carry others."""
    theirs = {bone for other in others for bone, share in other.bones.items() if share > 0.01}
    return sum(share for bone, share in part.bones.items() if bone in theirs)


def overlap(one: MeshPart, inside: MeshInterior, other: MeshPart, other_inside: MeshInterior) -> float:
    """Returns the larger of the shares that two meshes have in each other."""
    return max(inside.share_in(other.surface), other_inside.share_in(one.surface))


def is_worn(i: int, others: list[int], parts: list[MeshPart], solids: list[MeshInterior]) -> bool:
    """Returns whether a mesh is a garment around one of the others."""
    if not solids[i].is_open:
        return False
    return any(
        k != i
        and MIN_WRAPPED_SIZE * solids[i].inside <= solids[k].inside < solids[i].inside
        and solids[k].share_in(parts[i].surface) >= MIN_WRAPPED_SHARE
        for k in others
    )


def are_sewn(one: Any, other: Any) -> bool:
    """Returns whether two surfaces have vertices in the same places, as pieces of one skin do."""
    _, away, _ = one.closest_point(np.asarray(other.vertices))
    near = np.asarray(other.vertices)[np.asarray(away) <= SEAM_TOLERANCE * float(one.size)]
    if len(near) < MIN_SEAM_VERTICES:
        return False
    mine = np.asarray(one.vertices)
    gaps = [float(np.linalg.norm(mine - point, axis=1).min()) for point in near]
    return sum(gap <= SEAM_TOLERANCE * float(one.size) for gap in gaps) >= MIN_SEAM_VERTICES


def nearest_body(part: MeshPart, bodies: list[MeshPart], kin: list[int]) -> tuple[int, float, float]:
    """Returns the index of the body that a part rides on, and its mean and least distance from it.

    kin: for each body, the number of bones between those that carry the part and those that carry the body.
    """
    points = np.asarray(part.surface.vertices)
    away = [np.asarray(body.surface.closest_point(points)[1]) for body in bodies]
    best = min(range(len(bodies)), key=lambda k: (kin[k], float(away[k].mean()), k))
    return best, float(away[best].mean()), float(away[best].min())
