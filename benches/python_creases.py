# SPDX-License-Identifier: MIT OR Apache-2.0
"""The creases of [capell2006, §3.4] as printed and as released by the sign of their multipliers, and Thew's contact: an elbow.

A capsule of 6,306 vertices is bent by 2 degrees a frame to 120, 136 and 148 degrees, held, and straightened again to
100 degrees. Prints the tables of `docs/methods/creases.md`; with `--picture FILE` writes its cross-sections, too, as PNG.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import thew

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

import shapes

from demo.look import overlap, raster

FRAME, SPEED, HOLD, BACK = 1.0 / 24.0, 2.0, 12, 100.0
"""Seconds a frame, degrees a frame, frames held, and the angle after straightening, degrees."""
ANGLES = (120.0, 136.0, 148.0)
RESPONSES = {
    "free": None,
    "creases": "printed",
    "released_creases": "released by sign",
    "complementarity": "Thew's",
}
FINE = 0.006
"""Spacing of the grid on which volumes are measured, metres."""
COLOURS = {0: raster.PAPER, 1: (232, 196, 172), 2: (178, 58, 52)}
"""Colours by how often a point is covered."""


@dataclass
class Elbow:
    """The result of one contact response at one angle."""

    bent: np.ndarray | None
    """The bent skin, [n,3]; `None` if the motion was lost."""
    straightened: np.ndarray | None
    active: int
    pulling: int
    inverted: int
    left: float
    """Largest distance between the skin at 100 degrees before and after the bend, as a part of the size."""
    still: int
    """Number of contact pairs held at 100 degrees after the bend."""


def arm() -> thew.Body:
    """Returns the body of a capsule 1.24 m long and 0.24 m thick around two bones."""
    vertices, triangles = shapes.arm(segments=32, rings=100, radius=0.12)
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=14)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


def simulation(body: thew.Body, name: str, seeds: np.ndarray) -> thew.Simulation:
    contact = None if RESPONSES[name] is None else thew.Contact(response=name)
    made = thew.Simulation(body, gravity=(0, 0, 0), contact=contact)
    if "creases" in name:
        made.set_crease_seeds(seeds)
    return made


def advance(moving: thew.Simulation, angles) -> bool:
    """Advances through these angles, one a frame. Returns whether the motion succeeded."""
    try:
        for angle in angles:
            moving.advance(shapes.bend(np.radians(angle)), FRAME)
    except thew.MotionError:
        return False
    return bool(np.isfinite(moving.positions()).all())


def fold(body: thew.Body, name: str, seeds: np.ndarray, degrees: float) -> Elbow:
    """Bends, holds and straightens the elbow, and returns the result."""
    moving, before = (simulation(body, name, seeds) for _ in range(2))
    moving.reset(shapes.bend(0.0))
    advance(moving, np.arange(SPEED, BACK + 1.0, SPEED))
    before.restore(moving.state())
    advance(before, [BACK] * HOLD)
    lost = Elbow(None, None, 0, 0, 0, np.inf, 0)
    if not advance(moving, [*np.arange(BACK + SPEED, degrees, SPEED), *[degrees] * HOLD]):
        return lost
    contacts = moving.contacts()
    pushes = np.einsum("ij,ij->i", contacts.forces, contacts.normals)
    bent, inverted = np.asarray(moving.positions(), float), moving.inverted_cells()
    active = len(contacts) if "creases" in name else int((pushes > 0.0).sum())
    found = Elbow(bent, None, active, int((pushes < 0.0).sum()), inverted, np.inf, 0)
    if advance(moving, [*np.arange(degrees - SPEED, BACK, -SPEED), *[BACK] * HOLD]):
        found.straightened = np.asarray(moving.positions(), float)
        apart = np.linalg.norm(found.straightened - before.positions(), axis=1).max()
        contacts = moving.contacts()
        pushes = np.einsum("ij,ij->i", contacts.forces, contacts.normals)
        found.left = float(apart) / body.surface.size
        found.still = len(contacts) if "creases" in name else int((pushes > 0.0).sum())
    return found


def covered_volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """Returns the volume that is covered at least once, m³, measured on a grid."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    axes = [np.arange(a + 0.5 * FINE, b, FINE) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = thew.Surface(vertices, triangles).winding_number(points) > 0.5
    return float(inside.sum()) * FINE**3


def section(vertices: np.ndarray | None, triangles: np.ndarray, side: int = 220, half: float = 0.26) -> np.ndarray:
    """Draws the elbow cut through the middle, across the joint's axis: flesh, and in red what is covered twice."""
    fine = side * raster.FINER
    if vertices is None:
        return np.full((side, side, 3), raster.PAPER, np.uint8)
    place = (np.arange(fine) + 0.5) / fine * 2.0 - 1.0
    x, z = np.meshgrid(0.5 + half * (place - 0.42), half * (-place - 0.35), indexing="xy")
    points = np.stack([x.ravel(), np.full(x.size, 1e-4), z.ravel()], axis=1)
    times = np.clip(np.rint(thew.Surface(vertices, triangles).winding_number(points)), 0, 2).astype(int)
    colours = np.array([COLOURS[i] for i in range(3)], float)[times]
    picture = colours.reshape(side, raster.FINER, side, raster.FINER, 3).mean(axis=(1, 3)).astype(np.uint8)
    picture[:, -1] = picture[-1, :] = (208, 212, 218)
    return picture


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, help="where to write the cross-sections")
    picture = parser.parse_args().picture
    body = arm()
    triangles, whole = (
        np.asarray(body.surface.triangles),
        covered_volume(np.asarray(body.surface.vertices), body.surface.triangles),
    )
    finder = simulation(body, "creases", np.zeros((0, 2), int))
    seeds = finder.find_crease_seeds(shapes.bend(np.radians(max(ANGLES)))[None])
    print(
        f"{len(body.surface.vertices)} vertices, {len(seeds)} seeds, bent by {SPEED:.0f} degrees a frame, held {HOLD} frames\n"
    )
    print(
        "| elbow | contact | pairs held, of these pulling | vertices in other flesh | inverted cells | volume covered "
        "| straightened to 100°: pairs held | distance left, % of the size |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for degrees in ANGLES:
        bent, straightened = [], []
        for name, words in RESPONSES.items():
            elbow = fold(body, name, seeds, degrees)
            words = words or "none"
            after = "the motion is lost | –"
            if elbow.straightened is not None:
                after = f"{elbow.still} | {100.0 * elbow.left:.2f}"
            if elbow.bent is None:
                print(f"| {degrees:.0f}° | {words} | the motion is lost | – | – | – | – | – |", flush=True)
            else:
                through, volume = (
                    len(overlap.vertices_inside(elbow.bent, triangles)),
                    covered_volume(elbow.bent, triangles) / whole,
                )
                print(f"| {degrees:.0f}° | {words} | {elbow.active}, {elbow.pulling} | {through} | {elbow.inverted} "
                      f"| {volume:.3f} | {after} |", flush=True)  # fmt: skip
            if picture:
                for row, points, text in (
                    (bent, elbow.bent, f"{words.replace(chr(39), '')} {degrees:.0f}"),
                    (straightened, elbow.straightened, f"{degrees:.0f} to {BACK:.0f}"),
                ):
                    row.append(section(points, triangles))
                    raster.write(row[-1], text, 6, 6)
        rows += [bent, straightened] if degrees == max(ANGLES) else [bent]
    if picture:
        raster.save(np.concatenate([np.concatenate(row, axis=1) for row in rows]), picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
