# SPDX-License-Identifier: MIT OR Apache-2.0
"""Muscles of real characters: how far skin rises over their bellies, slides along them and moves elsewhere; what it costs.

In balance at rest, for the muscles of left limbs at their contraction of 0.3; then the bent arm of our athlete. Lengths are in radii of the muscle. Skin over the belly is that
in front of its middle two fifths, within 53° of the direction away from the bones and within three radii. THEW_DATA has the characters. One thread:
RAYON_NUM_THREADS=1.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import thew

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "tests" / "common"), str(ROOT / "tests" / "python")]

import glb  # noqa: E402
import test_muscles  # noqa: E402

from examples import persons, sculpted  # noqa: E402

CHARACTERS = ("mh_male_heavy", "m2m_human", "m2m_horse", "Fox", "q_frog")
STILL = [0.0, 0.0, 0.0]
BEND, BENT_CONTRACTION = 105.0, 0.45
CORNERS = ((1, 1, 10), (1, 10, 1), (10, 1, 1), (4, 4, 4))
SIDES = ((1, 5, 6), (5, 6, 1), (6, 1, 5), (6, 5, 1), (5, 1, 6), (1, 6, 5))
SPOTS = np.array(CORNERS + SIDES) / 12
"""Barycentric coordinates of points of a triangle: coarse skins have few vertices over a belly."""


def bodies():
    """Yields the name and body of each character, with 14 cells across."""
    yield "athlete", sculpted.person(persons.ATHLETE, 14.0).body
    for name in CHARACTERS:
        found = glb.character(name)
        lattice = thew.Lattice.enclose(found.surface, found.skeleton, found.weights, cells_across=14)
        yield (
            name,
            thew.Body(found.surface, found.skeleton, lattice, thew.Material(), region_weights=found.weights),
        )


class Belly:
    """The skin over the belly of a muscle, sampled over triangles, and its directions at rest."""

    def __init__(self, rig: thew.Rig, body: thew.Body) -> None:
        line = np.asarray(thew.muscle_line(rig, body, 65))
        self.radius, chord = line[32, 3], line[-1, :3] - line[0, :3]
        self.along = chord / np.linalg.norm(chord)
        bones = SimpleNamespace(names=list(body.skeleton.names), skeleton=body.skeleton)
        self.out = test_muscles.outward(bones, rig, line)
        self.corners = np.asarray(body.surface.triangles)
        triangles = np.asarray(body.surface.vertices)[self.corners]
        points = self.spread(triangles)
        s = np.clip((points - line[0, :3]) @ chord / (chord @ chord), 0.0, 1.0)
        away = points - line[np.round(64 * s).astype(int), :3]
        far = np.linalg.norm(away, axis=1)
        self.over = (np.abs(2 * s - 1) < 0.4) & (away @ self.out > 0.6 * far) & (far < 3 * self.radius)
        a, b, c = triangles.transpose(1, 0, 2)
        self.area = np.repeat(np.linalg.norm(np.cross(b - a, c - a), axis=1), len(SPOTS)) * self.over

    @staticmethod
    def spread(corners: np.ndarray) -> np.ndarray:
        """Returns values [t * spots,3] at spots of triangles, from those at their corners [t,3,3]."""
        return np.einsum("sk,tkj->tsj", SPOTS, corners).reshape(-1, 3)

    def measures(self, moved: np.ndarray) -> list[float]:
        """Returns mean rise, mean slide along and largest move elsewhere of skin that moves by [n,3] m, in radii; no rise without skin there."""
        moved = self.spread(moved[self.corners])
        mean = lambda values: float(self.area @ values / self.area.sum()) if self.over.any() else np.nan  # noqa: E731
        elsewhere = np.linalg.norm(moved[~self.over], axis=1).max()
        each = (mean(moved @ self.out), mean(np.abs(moved @ self.along)), elsewhere)
        return [value / self.radius for value in each]


def smallest_volume(body: thew.Body, q: np.ndarray) -> float:
    """Returns the smallest volume of a tetrahedron of the lattice, in that at rest."""
    x, cells = np.asarray(body.lattice.vertices), np.asarray(body.lattice.cells)
    volume = lambda p: np.linalg.det(p[cells[:, 1:]] - p[cells[:, :1]])  # noqa: E731
    return float((volume(x + q[: len(x)]) / volume(x)).min())


def at_rest() -> None:
    print("| character | muscle | rise | slide | elsewhere | smallest volume | growth | new shape, ms | control, ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, body in bodies():
        balance = thew.Equilibrium(body)
        for rig in thew.muscles(body):
            if not rig.name.endswith("left"):
                continue
            begin = time.perf_counter()
            force = rig.forces(body)
            new = time.perf_counter()
            rig.forces(body, 0.7)
            took = (new - begin, time.perf_counter() - new)
            q = np.asarray(balance.solve(rest_forces=force, gravity=STILL))
            moved = np.asarray(body.shown(q), float) - np.asarray(body.surface.vertices)
            rise, slide, elsewhere = Belly(rig, body).measures(moved)
            print(
                f"| {name} | {rig.name.split()[0]} | {rise:.2f} | {slide:.2f} | {elsewhere:.2f} "
                f"| {smallest_volume(body, q):.2f} | {thew.muscle_growth(rig, body, q):+.0e} "
                f"| {1e3 * took[0]:.0f} | {1e3 * took[1]:.1f} |",
                flush=True,
            )


def bent() -> None:
    print(f"\n| athlete, elbow bent by {BEND:.0f}°, c = {BENT_CONTRACTION} | cells across | rise | slide | elsewhere |")
    print("|---|---|---|---|---|")
    for cells in (14.0, 26.0, 40.0):
        who = sculpted.person(persons.ATHLETE, cells)
        pose = persons.maps(who.figure, persons.pose(who.figure, BEND, persons.raised()))
        turn = pose[[bone.name for bone in who.figure.bones].index("upperarm.L"), :3, :3]
        balance = thew.Equilibrium(who.body)
        balance.set_pose(pose)
        for rig in thew.muscles(who.body):
            if rig.name not in ("Biceps left", "Triceps left"):
                continue
            sizes = {name: value for name, value in rig.parameters().items() if name in ("radius", "bow")}
            rig = thew.muscle(*rig.ends, contraction=BENT_CONTRACTION, name=rig.name, **sizes)
            balance.solve(gravity=STILL)
            before = np.asarray(balance.positions(), float)
            balance.solve(rest_forces=rig.forces(who.body), gravity=STILL)
            moved = (np.asarray(balance.positions(), float) - before) @ turn
            rise, slide, elsewhere = Belly(rig, who.body).measures(moved)
            print(f"| {rig.name.split()[0]} | {cells:.0f} | {rise:.2f} | {slide:.2f} | {elsewhere:.2f} |", flush=True)


if __name__ == "__main__":
    at_rest()
    bent()
