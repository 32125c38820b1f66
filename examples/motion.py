# SPDX-License-Identifier: MIT OR Apache-2.0
"""A body carried by one bone of a moving figure: forces in the bone's frame, and positions for what is attached.

The body lives in the frame of its support, in which the supported nodes are at rest. Gravity is turned into that
frame, and what the frame's own motion does to a mass at rest in it is applied as a force: translational, Euler's
and centrifugal together are −m T̈ x. The rest shape is taken to be sculpted under gravity, so that only its change of
direction acts. What the frame does to the flesh's own displacement is neglected, as in the
paper. Needs numpy only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assets.characters.choreography import Pose
from assets.characters.figure import Bone, Figure
from examples.bodies import rotation_vector

GRAVITY = np.array([0.0, 0.0, -9.81])
DIFFERENCE = 1.0 / 120.0
"""Seconds either way for accelerations of the support."""


class CarriedNodes:
    """Nodes in the frame of the first bone of a figure that moves by `pose_at(figure, seconds)`."""

    def __init__(
        self, figure: Figure, pose_at: Callable[[Figure, float], Pose], nodes: np.ndarray, masses: np.ndarray
    ) -> None:
        self.figure, self.pose_at = figure, pose_at
        self.nodes, self.masses = nodes, masses
        self.support = figure.bones[0].name

    def map(self, bone: str, t: float) -> np.ndarray:
        """A bone's map from rest to posed, in the world."""
        return self.pose_at(self.figure, t).map(bone)

    def forces(self, t: float) -> np.ndarray:
        """What gravity and the support's acceleration change, as nodal forces [k,3] in the support's frame."""
        before, now, after = (self.map(self.support, t + s * DIFFERENCE) for s in (-1, 0, 1))
        second = (before + after - 2.0 * now) / DIFFERENCE**2
        felt = GRAVITY - (self.nodes @ second[:3, :3].T + second[:3, 3])
        return self.masses[:, None] * (felt @ now[:3, :3] - GRAVITY)

    def attached_motion(self, bone: str, node: int, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Displacement and rotation vector, in the support's frame, of a node that goes with a bone."""
        relative = np.linalg.inv(self.map(self.support, t)) @ self.map(bone, t)
        point = self.nodes[node]
        return relative[:3, :3] @ point + relative[:3, 3] - point, rotation_vector(relative[:3, :3])

    def world(self, points: np.ndarray, t: float) -> np.ndarray:
        """Points in the support's frame, brought into the world."""
        place = self.map(self.support, t)
        return points @ place[:3, :3].T + place[:3, 3]


class Puppet:
    """A body that follows a figure: nodes in its pelvis supported, some nodes tied to bones."""

    def __init__(self, simulation, carried: CarriedNodes, places: dict[int, str], orientations: dict[int, str]) -> None:
        """`places` and `orientations`: the bone that a node's position or orientation goes with."""
        self.simulation, self.carried = simulation, carried
        self.places, self.orientations = places, orientations
        self.time = 0.0

    def run(self, until: float, step: float) -> None:
        """Advance to a time."""
        while self.time < until - 0.5 * step:
            # Constraints hold at the end of a step, forces act over it.
            then, middle = self.time + step, self.time + 0.5 * step
            self.simulation.constrain(
                positions={n: self.carried.attached_motion(bone, n, then)[0] for n, bone in self.places.items()},
                orientations={
                    n: self.carried.attached_motion(bone, n, then)[1] for n, bone in self.orientations.items()
                },
            )
            self.simulation.advance(self.carried.forces(middle))
            self.time = then

    def misses(self) -> float:
        """How far tied nodes are from their targets, metres."""
        u = np.asarray(self.simulation.displacements())
        wanted = {n: self.carried.attached_motion(bone, n, self.time)[0] for n, bone in self.places.items()}
        return max(float(np.linalg.norm(u[n] - place)) for n, place in wanted.items())


def nearest_node(nodes: np.ndarray, point) -> int:
    """The node nearest to a point."""
    return int(np.linalg.norm(nodes - np.asarray(point), axis=1).argmin())


def neighbours(tets: np.ndarray, node: int) -> list[int]:
    """The nodes of all tetrahedra around a node, itself included."""
    return [int(n) for n in np.unique(tets[(tets == node).any(axis=1)])]


def nodes_in_ball(nodes: np.ndarray, centre, radii) -> np.ndarray:
    """Which nodes lie in an ellipsoid."""
    return (((nodes - np.asarray(centre)) / np.asarray(radii)) ** 2).sum(axis=1) < 1.0


def stick_figure(name: str, hip: float, neck: float, top: float, half: float, hand: tuple, foot: float) -> Figure:
    """Bones alone: pelvis first, a spine, a head, two arms and two legs; heights and half widths in metres."""
    knee = 0.5 * (hip + 0.08)
    elbow = tuple(0.5 * (a + b) for a, b in zip((half, 0.0, neck - 0.04), hand, strict=True))
    left = [
        Bone("upperarm.L", "chest", (half, 0.0, neck - 0.04), elbow),
        Bone("forearm.L", "upperarm.L", elbow, hand),
        Bone("thigh.L", "hips", (0.6 * half, 0.0, hip - 0.02), (0.5 * (half + foot), 0.0, knee)),
        Bone("shin.L", "thigh.L", (0.5 * (half + foot), 0.0, knee), (foot, 0.0, 0.08)),
        Bone("foot.L", "shin.L", (foot, 0.0, 0.08), (foot, -0.13, 0.03)),
    ]
    middle = [
        Bone("hips", None, (0.0, 0.0, hip), (0.0, 0.0, hip + 0.12)),
        Bone("spine", "hips", (0.0, 0.0, hip + 0.12), (0.0, 0.0, 0.5 * (hip + 0.12 + neck))),
        Bone("chest", "spine", (0.0, 0.0, 0.5 * (hip + 0.12 + neck)), (0.0, 0.0, neck)),
        Bone("head", "chest", (0.0, 0.0, neck), (0.0, 0.0, top)),
    ]
    return Figure(name, middle + left + [bone.mirrored() for bone in left], [], {})
