# SPDX-License-Identifier: GPL-3.0-or-later
"""The flesh of one body at rest in poses, with a cache of the latest results.

A view is drawn far more often than a pose or a force changes, and a subframe lies between two poses. The flesh at rest depends on
the pose and the forces alone, so the cached results still hold.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from .native import core

#: Number of cached poses: a subframe lies between two.
CACHED_POSES = 2


class RestShape(NamedTuple):
    """Flesh at rest in a pose."""

    offsets: np.ndarray  # float32[n, 3] added to the skin, in the chosen space
    amplitudes: np.ndarray | None  # [m] of the modes; None with other methods
    contacts: Any  # thew.Contacts


class RigAction(NamedTuple):
    """Forces and stiffness of all rigs at their controls."""

    forces: np.ndarray | None = None  # [nodes, 3] generalised, N, rest axes
    stiffness: np.ndarray | None = None  # [c] factors on the elastic stiffness of cells


class FoldShape:
    """The part of the joints' elastic shape that parts folds of the skin: it depends on a pose alone, and is quick."""

    def __init__(self, touching: Any, free: Any):
        """Keeps two `thew.Simulation`s of a body, alike except for contact."""
        self._touching, self._free = touching, free

    def solve(self, pose: np.ndarray, to: np.ndarray | None = None) -> np.ndarray:
        """Returns the offsets in `pose` [b, 4, 4], metres; float32[n, 3], `to` as in `RestSolver.solve`."""
        shown = []
        for simulation in (self._touching, self._free):
            simulation.reset(pose, settled=False)
            shown.append(simulation.offsets(to=to))
        return shown[0] - shown[1]


class RestSolver:
    """The flesh at rest of a `thew.Simulation`, which defines the method."""

    def __init__(self, simulation: Any, folds: FoldShape | None = None):
        """Keeps both; `folds` is added where the simulation itself has no contact."""
        self._simulation, self._folds, self._is_tense = simulation, folds, False
        self._found: dict[tuple[bytes | None, ...], RestShape] = {}  # by pose, forces and space, the latest at the end

    def solve(self, pose: np.ndarray, rigs: RigAction | None = None, to: np.ndarray | None = None) -> RestShape:
        """Returns the flesh at rest in `pose` [b, 4, 4], metres, with rigs; read only.

        `to` [4, 4]: the space of its offsets, from metres; None: metres, world axes.
        """
        rigs = rigs or RigAction()
        key = tuple(None if each is None else each.tobytes() for each in (pose, *rigs, to))
        found = self._found.pop(key, None)
        if found is None:
            found = self._settle(pose, rigs, to)
        self._found[key] = found
        while len(self._found) > CACHED_POSES:
            del self._found[next(iter(self._found))]
        return found

    @property
    def latest(self) -> RestShape | None:
        """Returns the latest result."""
        return self._found[next(reversed(self._found))] if self._found else None

    def _settle(self, pose: np.ndarray, rigs: RigAction, to: np.ndarray | None) -> RestShape:
        if rigs.stiffness is not None or self._is_tense:
            # Flesh whose stiffness cannot change, which cannot be simulated with such rigs, is still seen at rest.
            with suppress(core().ThewError):
                self._simulation.set_stiffness(rigs.stiffness)
                self._is_tense = rigs.stiffness is not None
        self._simulation.reset(pose, settled=True, rest_forces=rigs.forces)
        offsets = self._simulation.offsets(to=to)
        if self._folds is not None:
            offsets += self._folds.solve(pose, to)
        return RestShape(offsets, self._simulation.amplitudes, self._simulation.contacts())
