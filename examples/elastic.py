# SPDX-License-Identifier: MIT OR Apache-2.0
"""Common parts of the figures of capell2002: a fleshed character, its motion by several methods, and what is measured of them. Needs no Blender.

All that is shown and measured is the flesh itself, the skin as a function on the lattice [capell2002, eq. 5]. Work is done on one thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

os.environ.setdefault("RAYON_NUM_THREADS", "1")  # before the first work: steps a second are those of one core

import numpy as np
import thew

from assets.characters.figure import Figure, skin

METHODS = {
    "nonlinear": "nonlinear",
    "linearised": "linearised once a step",
    "blended": "blended local linear",
    "blended_printed": "blended, as printed",
    "warped": "warped",
    "hyperelastic": "hyperelastic, the default",
    "linear": "global linear",
}
"""Titles by the library's names; the others are measured against the first."""


@dataclass
class Fleshed:
    """A character of flesh of one kind, with painted stiffness."""

    figure: Figure
    vertices: np.ndarray
    triangles: np.ndarray
    colours: np.ndarray
    weights: np.ndarray
    skeleton: thew.Skeleton
    lattice: thew.Lattice
    body: thew.Body
    corners: np.ndarray
    """Lattice vertices that carry each vertex of the skin, [n,8]; unused ones have no weight."""
    shares: np.ndarray
    """Their weights, [n,8]."""

    @property
    def size(self) -> float:
        """Diagonal of the box at rest, m."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    def skin(self, nodes: np.ndarray) -> np.ndarray:
        """Returns the skin [n,d] that values of lattice vertices [k,d] carry."""
        return np.einsum("na,nad->nd", self.shares, nodes[self.corners])

    def plain(self, pose: np.ndarray) -> np.ndarray:
        """Returns the skin [n,3] without flesh."""
        return np.asarray(self.skeleton.skin(self.vertices, self.weights, pose), float)


def skeleton_of(figure: Figure) -> thew.Skeleton:
    """Returns the bones of a figure."""
    names = [bone.name for bone in figure.bones]
    parents = [names.index(bone.parent) if bone.parent else -1 for bone in figure.bones]
    return thew.Skeleton(names, parents, [bone.head for bone in figure.bones], [bone.tail for bone in figure.bones])


def flesh(figure: Figure, lattice, young: float, stiffness=None, **settings) -> Fleshed:
    """Gives a figure flesh of `young` Pa: `lattice` is a function of the skeleton, or the cells across one that is built.

    `stiffness` is a function of points and colours' names that returns factors [n].
    """
    made, skeleton = skin(figure), skeleton_of(figure)
    surface = thew.Surface(made.vertices, made.triangles())
    if callable(lattice):
        cage = lattice(skeleton)
    else:
        cage = thew.Lattice.enclose(surface, skeleton, made.weights, cells_across=lattice)
    even = np.ones(len(made.vertices))
    body = thew.Body(
        surface,
        skeleton,
        cage,
        thew.Material(young=young),
        region_weights=made.weights,
        flesh=even,
        stiffness=None if stiffness is None else stiffness(made.vertices),
        **settings,
    )
    corners, shares = cage.embed_surface(surface)
    shares, corners = np.where(corners < 0, 0.0, shares), np.maximum(corners, 0)
    skinned = (made.vertices, made.triangles(), made.colours, made.weights)
    return Fleshed(figure, *skinned, skeleton, cage, body, corners, shares)


@dataclass
class Motion:
    """Motion by one method."""

    nodes: np.ndarray
    """Lattice vertices, [frames,k,3]."""
    inverted: np.ndarray
    """Cells that are inverted, [frames]."""
    rate: float
    """Steps a second of one core's time."""
    mean: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Mean distance of the skin from that of the reference, as parts of the size, [frames]."""
    most: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Its maximum, [frames]."""


def play(character: Fleshed, poses: np.ndarray, fps: float, method: str, **settings) -> Motion:
    """Plays poses [frames,b,4,4] by one method, from rest in the first."""
    simulation = thew.Simulation(character.body, method=method, **settings)
    simulation.reset(poses[0])
    nodes, inverted, spent = [np.array(simulation.lattice_positions())], [simulation.inverted_cells()], 0.0
    for pose in poses[1:]:
        begun = time.process_time()
        simulation.advance(pose, 1.0 / fps)
        spent += time.process_time() - begun
        nodes.append(np.array(simulation.lattice_positions()))
        inverted.append(simulation.inverted_cells())
    steps = (len(poses) - 1) * int(np.ceil(simulation.settings.rate / fps))
    return Motion(np.array(nodes)[:, : len(character.lattice.vertices)], np.array(inverted), steps / spent)


def compare(
    character: Fleshed, poses: np.ndarray, fps: float, methods: Sequence[str] = tuple(METHODS), **settings
) -> dict[str, Motion]:
    """Plays poses by several methods and measures each against the first."""
    motions = {method: play(character, poses, fps, method, **settings) for method in methods}
    reference = motions[methods[0]].nodes
    for motion in motions.values():
        far = [np.linalg.norm(character.skin(a - b), axis=1) for a, b in zip(motion.nodes, reference, strict=True)]
        motion.mean, motion.most = (
            np.array([measure(f) for f in far]) / character.size for measure in (np.mean, np.max)
        )
    return motions


def print_table(character: Fleshed, motions: dict[str, Motion]) -> None:
    """Prints a row for each method."""
    print(f"{len(character.lattice.vertices)} lattice vertices, {len(character.lattice.cells)} cells")
    print("| method | error of the worst frame: mean / largest | of all frames: mean | most inverted cells | steps/s |")
    print("| --- | --- | --- | --- | --- |")
    for method, motion in motions.items():
        worst = int(motion.mean.argmax())
        errors = f"{100 * motion.mean[worst]:.2f} / {100 * motion.most.max():.2f} % | {100 * motion.mean.mean():.3f} %"
        if not motion.mean.any():
            errors = "– | –"
        print(f"| {METHODS[method]} | {errors} | {motion.inverted.max()} | {motion.rate:.0f} |")


def print_frames(motions: dict[str, Motion], frames: Sequence[int]) -> None:
    """Prints the error of chosen frames, mean / largest in percent of the size."""
    shown = {method: motion for method, motion in motions.items() if motion.mean.any()}
    print("| frame | " + " | ".join(METHODS[method] for method in shown) + " |")
    print("| --- " * (len(shown) + 1) + "|")
    for frame in frames:
        cells = (f"{100 * m.mean[frame]:.2f} / {100 * m.most[frame]:.2f}" for m in shown.values())
        print(f"| {frame} | " + " | ".join(cells) + " |")


def swing(character: Fleshed, motion: Motion, poses: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Returns how far the mean of chosen points is from where the bones carry it, m, [frames]."""
    frames = zip(motion.nodes, poses, strict=True)
    return np.array([np.linalg.norm((character.skin(q) - character.plain(p))[chosen].mean(axis=0)) for q, p in frames])


def volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """Returns the volume that a closed surface encloses, m³."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)
