# SPDX-License-Identifier: MIT OR Apache-2.0
"""The creature of `hopper` with details in its flesh, and a point of its belly that is pulled by a pin. Needs no Blender."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import thew

from examples import elastic, hopper

LEVELS = (0, 1, 2)
PULLED = (0.055, -0.165, 0.31)
"""The pulled point of the belly, m."""
DISTANCE = 0.09
"""How far the point is pulled, m."""
GROWING, HELD, BACK = 12, 24, 36
"""Frames at which the pull is at its full distance, begins to go back, and is back."""


@dataclass
class Pull:
    """A pull by one method, frame by frame."""

    skins: np.ndarray
    """The skin, [frames,n,3]."""
    acting: list[np.ndarray]
    """The functions that act in each frame, level 0 included."""
    rate: float
    """Steps a second of one core's time, with all that belongs to them."""

    @property
    def functions(self) -> np.ndarray:
        """Numbers of functions, [frames]."""
        return np.array([len(acting) for acting in self.acting])


def creature(levels: int, cell: float = 0.0125, finest: int = LEVELS[-1]) -> elastic.Fleshed:
    """Returns the creature with this many levels of details, all with the same integrals."""
    figure = hopper.figure(cell)
    return elastic.flesh(figure, hopper.lattice, hopper.YOUNG, hopper.stiffness, basis_levels=levels, level=finest)


def pulled_vertex(pogo: elastic.Fleshed) -> int:
    """Returns the vertex of the skin that is pulled."""
    return int(np.linalg.norm(pogo.vertices - PULLED, axis=1).argmin())


def target(pogo: elastic.Fleshed, frame: float) -> np.ndarray:
    """Returns where the pulled vertex is held at a frame, [3]."""
    share = np.interp(frame, (0, GROWING, HELD, BACK), (0.0, 1.0, 1.0, 0.0))
    return pogo.vertices[pulled_vertex(pogo)] + [0.0, -DISTANCE * share, 0.0]


def settle(pogo: elastic.Fleshed, method: str = "blended", **settings) -> np.ndarray:
    """Returns the skin [n,3] at rest with the point held at its distance."""
    simulation = thew.Simulation(pogo.body, method=method, **settings)
    simulation.reset(rest_pose(pogo))
    simulation.pin(pulled_vertex(pogo), target(pogo, HELD))
    simulation.reset(rest_pose(pogo))
    return np.array(simulation.positions(), float)


def pull(pogo: elastic.Fleshed, method: str, frames: int = BACK, **settings) -> Pull:
    """Pulls the point, holds it and brings it back, while all bones stand still."""
    simulation, pose = thew.Simulation(pogo.body, method=method, **settings), rest_pose(pogo)
    simulation.reset(pose)
    pin = simulation.pin(pulled_vertex(pogo), target(pogo, 0))
    skins, acting, spent = [], [], 0.0
    for frame in range(1, frames + 1):
        simulation.move_pin(pin, target(pogo, frame))
        begun = time.process_time()
        simulation.advance(pose, 1.0 / hopper.FPS)
        spent += time.process_time() - begun
        skins.append(np.array(simulation.positions(), float))
        acting.append(np.flatnonzero(acts(pogo, np.asarray(simulation.lattice_positions()))))
    steps = frames * int(np.ceil(simulation.settings.rate / hopper.FPS))
    return Pull(np.array(skins), acting, steps / spent)


def acts(pogo: elastic.Fleshed, nodes: np.ndarray) -> np.ndarray:
    """Returns which functions move the flesh with these node values, bool [k]: all of level 0, and details that are not zero."""
    return (np.asarray(pogo.body.level_of_node) == 0) | (nodes != 0.0).any(axis=1)


def moved(pogo: elastic.Fleshed, skin: np.ndarray) -> float:
    """Returns how far the pulled point has moved, m."""
    point = pulled_vertex(pogo)
    return float(np.linalg.norm(skin[point] - pogo.vertices[point]))


def rest_pose(pogo: elastic.Fleshed) -> np.ndarray:
    """Returns the rest pose of all bones."""
    return np.tile(np.eye(4), (len(pogo.figure.bones), 1, 1))
