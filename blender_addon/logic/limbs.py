# SPDX-License-Identifier: GPL-3.0-or-later
"""Limbs in numbers: their medial models as text, masks along and around them, poses of their atoms."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from .errors import Refusal
from .json_text import parse_json

#: Arrays of a tube that are saved.
ARRAYS = ("hubs", "radii", "frames", "angles", "lengths", "ends", "knots", "joints")


def pack(model) -> str:
    """Returns a tube (`thew.MRep`) as text that restores the same one."""
    return json.dumps({name: np.asarray(getattr(model, name)).tolist() for name in ARRAYS})


def unpack(thew, text: str):
    """Returns the tube of a text; raises a `Refusal` where it holds none."""
    try:
        return tube(thew, parse_json(text))
    except (ValueError, KeyError, TypeError) as error:
        raise Refusal(f"This limb was saved damaged ({error}): remove it and make it again") from error


def tube(thew, arrays):
    """Builds the tube of arrays by the names of `ARRAYS`."""
    first = (arrays[name] for name in ("hubs", "radii", "frames", "angles", "lengths"))
    return thew.MRep.tube(*first, ends=tuple(arrays["ends"]), knots=arrays["knots"], joints=arrays["joints"])


def replace_arrays(thew, model, **changes):
    """Returns a tube with some arrays changed."""
    return tube(thew, {name: changes.get(name, getattr(model, name)) for name in ARRAYS})


@dataclass(frozen=True)
class Region:
    """A part of a limb: `start` to `end` along it, `width` (a share of the whole turn) around `side` (turns), edges `soft`."""

    start: float = 0.0
    end: float = 1.0
    side: float = 0.0
    width: float = 1.0
    soft: float = 0.1

    def share(self, coordinates: np.ndarray) -> np.ndarray:
        """Returns the share of points with figural coordinates [n, 4] in the region, [n] in 0..1; 0 for points without any."""
        u, around = coordinates[:, 0], coordinates[:, 2] / (2.0 * np.pi)
        soft = max(self.soft, 1e-6)
        along = smooth_step((u - self.start) / soft + 0.5) * smooth_step((self.end - u) / soft + 0.5)
        # A limb's own ends are no edges: caps belong to their neighbouring region.
        along = np.where((u < 0.0) & (self.start <= 0.0), 1.0, along)
        along = np.where((u > 1.0) & (self.end >= 1.0), 1.0, along)
        away = np.abs((around - self.side + 0.5) % 1.0 - 0.5)
        turned = 1.0 if self.width >= 1.0 else smooth_step((0.5 * self.width - away) / soft + 0.5)
        return np.nan_to_num(along * turned, nan=0.0)


def smooth_step(x: np.ndarray) -> np.ndarray:
    """Returns 0 below 0, 1 above 1, and a smooth step between."""
    x = np.clip(x, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


def display_coordinates(coordinates: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the attributes for materials and nodes of figural coordinates [n, 4]: Along and Around in 0..1, Depth; 0 without any."""
    clean = np.nan_to_num(coordinates, nan=0.0)
    return {
        "Along": np.clip(clean[:, 0], 0.0, 1.0),
        "Around": (clean[:, 2] / (2.0 * np.pi)) % 1.0,
        "Depth": clean[:, 3],
    }


def atom_bones(knots: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Returns the index in its chain of the bone for each atom, [n]: at a joint the one that begins there."""
    return np.clip(np.searchsorted(joints, knots + 1e-9, side="right") - 1, 0, len(joints) - 2)


def pose_tube(thew, model, maps: np.ndarray):
    """Returns the tube with each atom carried by the map [4, 4] of its bone.

    maps [bones of the chain, 4, 4], rigid except for a scale and, perhaps, a mirror.
    """
    which = atom_bones(model.knots, model.joints)
    linear, shift = maps[which][:, :3, :3], maps[which][:, :3, 3]
    scale = np.cbrt(np.abs(np.linalg.det(linear)))
    left, _, right = np.linalg.svd(linear / scale[:, None, None])
    turns = left @ right
    hubs = np.einsum("nij,nj->ni", linear, model.hubs) + shift
    frames, lengths = turns @ model.frames, model.lengths.copy()
    # In a mirror the second axis points the other way, and the order of the spokes reverses.
    mirrored = np.linalg.det(turns) < 0.0
    frames[mirrored, :, 1] *= -1.0
    lengths[mirrored] = np.roll(lengths[mirrored][:, ::-1], 1, axis=1)
    return replace_arrays(thew, model, hubs=hubs, radii=model.radii * scale, frames=frames, lengths=lengths)


def map_tube(thew, model, points):
    """Returns the tube in another space: `points` maps places [n, 3] there, by a similarity."""
    origin, *ends = points(np.concatenate([np.zeros((1, 3)), np.eye(3)]))
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = np.stack(ends, axis=1) - origin[:, None], origin
    return pose_tube(thew, model, np.tile(matrix, (len(model.joints) - 1, 1, 1)))


def join_tubes(thew, named, points):
    """Returns the tubes of `named` (names and texts) as one model in another space, see `map_tube`; None for an empty list."""
    if not named:
        return None
    models = [map_tube(thew, unpack(thew, text), points) for _, text in named]
    return thew.MRep.join(models, [name for name, _ in named])


def spoke_lines(model) -> np.ndarray:
    """Returns pairs of points, hub and tip, of every spoke, [2 k, 3]."""
    count = model.shape[1]
    places = [[u, 0.0, 2.0 * np.pi * q / count, tau] for u in model.knots for q in range(count) for tau in (0.0, 1.0)]
    return model.points(places)


def barycentric(corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Returns the barycentric coordinates of points [n, 3] in triangles [n, 3, 3], [n, 3], clipped; thirds for a triangle without
    area.
    """
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = points - corners[:, 0]
    aa, ab, bb = (a * a).sum(1), (a * b).sum(1), (b * b).sum(1)
    pa, pb = (p * a).sum(1), (p * b).sum(1)
    area = aa * bb - ab * ab
    sound = area > 1e-12 * aa * bb
    area = np.where(sound, area, 1.0)
    u, v = (bb * pa - ab * pb) / area, (aa * pb - ab * pa) / area
    shares = np.clip(np.stack([1.0 - u - v, u, v], axis=1), 0.0, 1.0)
    shares[~sound] = 1.0
    return shares / shares.sum(axis=1, keepdims=True)
