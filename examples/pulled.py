# SPDX-License-Identifier: MIT OR Apache-2.0
"""The creature of `hopper` with details in its flesh, and a pull at a point of its belly. Needs no Blender."""

from __future__ import annotations

import time

import numpy as np
import thew

from examples import elastic, hopper

LEVELS = (0, 1, 2)
PULLED = (0.055, -0.165, 0.31)
"""The pulled point of the belly, m."""
RADIUS = 0.04
"""Size of the place at which the pull acts, m."""
DISTANCE = 0.09
"""How far the point is pulled, m."""


def creature(levels: int, cell: float = 0.0125, finest: int = LEVELS[-1]) -> elastic.Fleshed:
    """Returns the creature with this many levels of details, all with the same integrals."""
    figure = hopper.figure(cell)
    return elastic.flesh(figure, hopper.lattice, hopper.YOUNG, hopper.stiffness, basis_levels=levels, level=finest)


def forces(body: thew.Body) -> np.ndarray:
    """Returns forces [nodes,3] that pull ahead at the point."""
    frame = np.eye(4)
    frame[:3] = np.column_stack([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], PULLED])
    template = thew.Template("bump", radius=RADIUS, strength=1e6)
    rig = thew.Rig(template, thew.FreeGuide(frame), [(0.0, {"strength": 0.0}), (1.0, {})], name="pull")
    return np.asarray(rig.forces(body, 1.0))


def settle(pogo: elastic.Fleshed) -> np.ndarray:
    """Returns the skin [n,3] at rest with the point pulled to its distance, by the blended method.

    That is linear in forces while no bone moves: one trial gives their strength.
    """
    balance, pull = thew.Equilibrium(pogo.body, "blended"), forces(pogo.body)
    balance.set_pose(_rest_pose(pogo))
    balance.solve(rest_forces=pull)
    balance.solve(rest_forces=pull * (DISTANCE / moved(pogo, np.array(balance.positions()))))
    return np.array(balance.positions(), float)


def moved(pogo: elastic.Fleshed, skin: np.ndarray) -> float:
    """Returns how far the pulled point has moved, m."""
    point = int(np.linalg.norm(pogo.vertices - PULLED, axis=1).argmin())
    return float(np.linalg.norm(skin[point] - pogo.vertices[point]))


def steps_a_second(pogo: elastic.Fleshed, method: str, frames: int = 3) -> float:
    """Returns steps a second of one core's time under the pull."""
    simulation, pull = thew.Simulation(pogo.body, method=method), forces(pogo.body)
    simulation.reset(_rest_pose(pogo))
    simulation.advance(_rest_pose(pogo), 1.0 / hopper.FPS, rest_forces=pull)  # prepares what all steps share
    begun = time.process_time()
    for _ in range(frames):
        simulation.advance(_rest_pose(pogo), 1.0 / hopper.FPS, rest_forces=pull)
    steps = frames * int(np.ceil(simulation.settings.rate / hopper.FPS))
    return steps / (time.process_time() - begun)


def _rest_pose(pogo: elastic.Fleshed) -> np.ndarray:
    return np.tile(np.eye(4), (len(pogo.figure.bones), 1, 1))
