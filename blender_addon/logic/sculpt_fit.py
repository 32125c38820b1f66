# SPDX-License-Identifier: GPL-3.0-or-later
"""Difference of what a sculpted rig does to another character's flesh from what it does on its own one.

The skin's own way under the rig is what counts, and not the offsets that the rig keeps: these are stretched where flesh resists.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import sculpted_rigs
from .helper_motion import matrices, quaternions
from .limbs import barycentric


@dataclass(frozen=True)
class RestingSkin:
    """The skin of a body, and the balance in which it is shown."""

    body: Any
    weights: np.ndarray  # [n, b] on the bones of the body
    method: str
    gravity: Any

    def moves(self, thew: Any, native: Any, sample: dict[str, Any]) -> np.ndarray:
        """Returns how far a rig at its last sample moves the points of `sample` at that sample's pose, [m, 3], metres, rest axes."""
        points = np.array(sample["points"], dtype=np.float64).reshape(-1, 3)
        pose = turned_pose(self.body.skeleton, sample.get("turns", {}))
        _, _, faces = self.body.surface.closest_point(points)
        corners = np.asarray(self.body.surface.triangles)[faces]
        shares = barycentric(np.asarray(self.body.surface.vertices)[corners], points)
        turns = blended_turns(pose[:, :3, :3], np.einsum("mk,mkb->mb", shares, self.weights[corners]))
        balance = thew.Equilibrium(self.body, method=self.method)
        balance.set_pose(pose)
        shapes = []
        for pushed in (None, native.forces(self.body, gamma=sample["control"])):
            balance.solve(rest_forces=pushed, gravity=self.gravity)
            shapes.append(np.asarray(balance.positions(), dtype=np.float64))
        moved = np.einsum("mk,mkj->mj", shares, (shapes[1] - shapes[0])[corners])
        return np.einsum("mji,mj->mi", turns, moved)


def missing_share(thew: Any, here: tuple[Any, RestingSkin], there: tuple[Any, RestingSkin], link: Any) -> float | None:
    """Returns how far the skin of another character is from the way of the first one's, over that way; None for a rig that moves nothing.

    here, there: the rig and the skin of either character; `link`: the `thew.Correspondence` that carries the way over. Root mean squares over
    the points of the rig, by their areas.
    """
    (native, skin), (carried, other) = here, there
    samples = sculpt_samples(thew, native)
    if not samples[-1].get("points"):
        return None
    samples[-1]["offsets"] = skin.moves(thew, native, samples[-1]).tolist()
    wish = sculpt_samples(thew, sculpted_rigs.native_of_samples(thew, samples).retarget(link))[-1]
    wanted, areas = np.array(wish["offsets"], dtype=np.float64).reshape(-1, 3), np.array(wish["areas"])
    whole = areas @ (wanted**2).sum(axis=1)
    if not whole > 0.0:
        return None
    away = ((other.moves(thew, carried, wish) - wanted) ** 2).sum(axis=1)
    missed = float(np.sqrt(areas @ away / whole))
    return missed if np.isfinite(missed) else None


def sculpt_samples(thew: Any, native: Any) -> list[dict[str, Any]]:
    """Returns the samples of a native sculpted rig, in metres."""
    return tomllib.loads(thew.format_rigs([native]))["rigs"][0]["samples"]


def turned_pose(skeleton: Any, turns: dict[str, list[float]]) -> np.ndarray:
    """Returns the pose [b, 4, 4] in which bones are turned against their parents by rotation vectors, rad, in rest axes, about their heads."""
    names, parents = skeleton.names, np.asarray(skeleton.parents)
    heads, found = np.asarray(skeleton.heads), {-1: np.eye(4)}
    for last in range(len(names)):
        chain = [last]  # up to a bone whose place is known: parents may come after their children
        while chain[-1] not in found:
            chain.append(max(int(parents[chain[-1]]), -1))
        for bone, above in zip(chain[-2::-1], chain[:0:-1], strict=True):
            own = np.eye(4)
            own[:3, :3] = rotation(np.array(turns.get(names[bone], (0.0, 0.0, 0.0))))
            own[:3, 3] = heads[bone] - own[:3, :3] @ heads[bone]
            found[bone] = found[above] @ own
    return np.array([found[bone] for bone in range(len(names))])


def rotation(vector: np.ndarray) -> np.ndarray:
    """Returns the rotation matrix of a rotation vector, rad."""
    half = 0.5 * np.linalg.norm(vector)
    return matrices(np.array([np.cos(half), *(0.5 * np.sinc(half / np.pi) * vector)]))


def blended_turns(turns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns rotations [m, 3, 3] of bones [b, 3, 3] blended by weights [m, b], as a dual quaternion skin turns."""
    each = quaternions(turns)
    signs = np.where(each @ each.T < 0.0, -1.0, 1.0)[weights.argmax(axis=1)]
    blended = (weights * signs) @ each
    blended[~blended.any(axis=1)] = (1.0, 0.0, 0.0, 0.0)  # skin without a bone stays as it is
    return matrices(blended)
