# SPDX-License-Identifier: MIT OR Apache-2.0
"""Table 1 of [choi2003]: the paper's five bodies, Thew against plain numpy and scipy in the same run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import thew

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

import reference_modal as plain

from examples import bodies, models, motion

YOUNG, POISSON, DENSITY = 1e5, 0.4, 1000.0
STEP = 1.0 / 30.0
GRAVITY = (0.0, 0.0, -9.81)
LEAST_SECONDS = 0.3
"""Minimum duration of a timing, s. It is the median over at least five repetitions."""


@dataclass
class Case:
    """One row: a body, its modes, the numbers of constrained positions and orientations, and the paper's seconds."""

    name: str
    tets: thew.TetMesh
    surface: models.Shape
    held: np.ndarray
    modes: int
    positions: int
    orientations: int
    printed: tuple[float, float, float, float]


def cases() -> list[Case]:
    """Returns the paper's rows. Its numbers are FEM, modal analysis, ODE and constraints, on a Pentium 4 of 3.2 GHz."""
    return [
        grid_body("Bar", models.bar(), models.bar_surface(), 0, 8, 1, 1, (0.046, 0.063, 0.001, 0.001)),
        filled_body("Potbelly", models.potbelly(1026), 363, 16, 3, 1, (0.062, 0.484, 0.001, 0.001)),
        grid_body(
            "Jelly Box", models.jelly_box(), models.jelly_box_surface(), 2, 32, 2, 2, (0.062, 1.156, 0.001, 0.001)
        ),
        filled_body("Flubber", models.flubber(2802), 552, 64, 6, 1, (0.078, 2.062, 0.001, 0.001)),
        filled_body("Dinosaur", dinosaur(), 1883, 8, 1, 1, (0.312, 1.422, 0.002, 0.001)),
    ]


def grid_body(name, tets, surface, axis, *rest) -> Case:
    """Returns a body whose tetrahedra are a grid, held at the low end of an axis."""
    along = np.asarray(tets.vertices)[:, axis]
    return Case(name, tets, surface, along < along.min() + 1e-9, *rest)


def filled_body(name, surface, nodes, *rest) -> Case:
    """Returns a body filled under its surface, held by its lowest twelfth."""
    tets = thew.TetMesh.fill(thew.Surface(surface.vertices, surface.triangles), nodes=nodes)
    height = np.asarray(tets.vertices)[:, 2]
    return Case(name, tets, surface, height < height.min() + np.ptp(height) / 12.0, *rest)


def dinosaur() -> models.Shape:
    """Returns the shared model of 28,098 vertices if it is present, or else our own with the same number."""
    folder = os.environ.get("THEW_DATA")
    file = Path(folder) / "meshes" / "dinosaur_apatosaurus_28098.obj" if folder else None
    if file is None or not file.is_file():
        return models.dinosaur(28098)
    lines = [line.split() for line in file.read_text().splitlines()]
    vertices = np.array([line[1:4] for line in lines if line[:1] == ["v"]], float)
    # Y is up in such files. The result is 3.7 m from nose to tail.
    vertices = vertices[:, [0, 2, 1]] * [1.0, -1.0, 1.0]
    faces = [[int(corner.split("/")[0]) - 1 for corner in line[1:]] for line in lines if line[:1] == ["f"]]
    triangles = [(face[0], face[i], face[i + 1]) for face in faces for i in range(1, len(face) - 1)]
    return models.Shape(vertices * (3.7 / np.ptp(vertices, axis=0).max()), np.array(triangles, np.int32))


def median(call: Callable[[], object]) -> float:
    """Returns the median seconds of one call."""
    spent: list[float] = []
    while len(spent) < 5 or sum(spent) < LEAST_SECONDS:
        begun = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begun)
    return float(np.median(spent))


def constraints(case: Case, nodes: np.ndarray) -> dict:
    """Returns constraints at nodes far from one another and from the held ones: a shift of a twentieth of the size and a turn of 0.3."""
    size = float(np.linalg.norm(np.ptp(nodes, axis=0)))
    chosen: list[int] = []
    distance = np.linalg.norm(nodes[:, None] - nodes[case.held].mean(axis=0), axis=2).ravel()
    for _ in range(max(case.positions, case.orientations)):
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(nodes - nodes[chosen[-1]], axis=1))
    turned = chosen[: case.orientations]
    around = {n for node in turned for n in motion.neighbours(np.asarray(case.tets.tets), node)}
    return {
        "positions": {node: np.array([0.0, 0.05, 0.0]) * size for node in chosen[: case.positions]},
        "orientations": {node: np.array([0.3, 0.0, 0.0]) for node in turned},
        "exercised": sorted({*chosen, *around} - set(np.flatnonzero(case.held).tolist())),
    }


def time_thew(case: Case) -> tuple[list[float], thew.Modes]:
    """Returns seconds of Thew (matrices, matrices and modes, step, step with constraints, surface), and the modes."""
    material = thew.Material(YOUNG, POISSON, DENSITY)
    fem = median(lambda: (case.tets.stiffness(material), case.tets.mass(material)))
    analysis = median(lambda: thew.modes(case.tets, case.modes, material, fixed=case.held))
    modes = thew.modes(case.tets, case.modes, material, fixed=case.held)
    free, bound = (
        thew.ModalSimulation(modes, STEP, integrator="semi_implicit", gravity=GRAVITY, damping=(1.0, 0.002))
        for _ in range(2)
    )
    bound.constrain(**constraints(case, np.asarray(case.tets.vertices)))
    deformer = thew.Deformer(modes, thew.Surface(case.surface.vertices, case.surface.triangles), form="vertex")
    step, held = median(free.advance), median(bound.advance)
    surface = median(lambda: deformer.displacements(free.amplitudes))
    return [fem, analysis, step, held, surface], modes


def time_scipy(case: Case) -> list[float]:
    """Returns the same seconds for plain numpy and scipy."""
    nodes, tets = np.asarray(case.tets.vertices), np.asarray(case.tets.tets)

    def matrices():
        return plain.stiffness(nodes, tets, YOUNG, POISSON), plain.mass(nodes, tets, DENSITY)

    def analyse():
        return plain.modes(nodes, tets, case.modes, YOUNG, POISSON, DENSITY, np.flatnonzero(case.held))

    modes = analyse()
    free, bound = (plain.Simulation(modes, STEP, "semi_implicit", True, GRAVITY, (1.0, 0.002)) for _ in range(2))
    bound.constrain(**constraints(case, nodes))
    carrier = bodies.Carrier(nodes, tets, case.surface.vertices)
    # Displacements and rotations of all modes at all vertices, as one matrix each.
    phi = np.concatenate([carrier(shape)[None] for shape in modes.shapes]).reshape(case.modes, -1).T.astype(np.float32)
    psi = np.concatenate([carrier(turn)[None] for turn in modes.rotations]).reshape(case.modes, -1).T.astype(np.float32)

    def surface():
        q = free.amplitudes.astype(np.float32)
        return np.einsum("nij,nj->ni", plain.warp_rotation((psi @ q).reshape(-1, 3)), (phi @ q).reshape(-1, 3))

    return [median(matrices), median(analyse), median(free.advance), median(bound.advance), median(surface)]


def main() -> int:
    rows = []
    for case in cases():
        (mine, _), peer = time_thew(case), time_scipy(case)
        rows.append((case, mine, peer))
        print(f"{case.name} done", file=sys.stderr, flush=True)
    print("Pre-computation in seconds, Thew / numpy and scipy (ratio):\n")
    print("| body | nodes | elements | modes | matrices, s | matrices and modes, s | the paper: matrices, modes |")
    print("|---|---|---|---|---|---|---|")
    for case, mine, peer in rows:
        cells = [pair(a, b, 1.0, 4) for a, b in zip(mine[:2], peer[:2], strict=True)]
        print(f"| {case.name} | {len(case.tets.vertices)} | {len(case.tets.tets)} | {case.modes} | {' | '.join(cells)} "
              f"| {case.printed[0]}, {case.printed[1]} |")  # fmt: skip
    print("\nMilliseconds a frame, Thew / numpy and scipy (ratio):\n")
    print(
        "| body | vertices | λ, η | step (ODE), ms | step with constraints, ms | surface, ms | the paper: ODE, constraints |"
    )
    print("|---|---|---|---|---|---|---|")
    for case, mine, peer in rows:
        cells = [pair(a, b, 1e3, 3) for a, b in zip(mine[2:], peer[2:], strict=True)]
        print(f"| {case.name} | {len(case.surface.vertices)} | {case.positions}, {case.orientations} | {' | '.join(cells)} "
              f"| {1e3 * case.printed[2]:.0f}, {1e3 * case.printed[3]:.0f} |")  # fmt: skip
    print(
        "\nBoth by eq. 18 with 30 steps a second under gravity, in double precision; surfaces in single precision, every"
    )
    print(
        "vertex with its own modes. λ and η: positions and orientations that are held. The paper's machine: Pentium 4,"
    )
    print("3.2 GHz, 2003; its milliseconds are rounded to one.")
    return 0


def pair(mine: float, peer: float, unit: float, digits: int) -> str:
    return f"{unit * mine:.{digits}f} / {unit * peer:.{digits}f} ({peer / mine:.1f}x)"


if __name__ == "__main__":
    sys.exit(main())
