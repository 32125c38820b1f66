# SPDX-License-Identifier: GPL-3.0-or-later
"""The flesh of one body at rest in poses, and what was found last.

A view is drawn again far more often than a pose or a force changes, and part frames lie between two poses: where the flesh
rests depends on the pose and the forces alone, so that what was found for them still holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: The poses between which a part frame lies.
KEPT = 2


class Rest(NamedTuple):
    """Flesh at rest in a pose."""

    offsets: np.ndarray  # float32[n, 3] what it adds to the skin, in the space that was asked for
    amplitudes: np.ndarray | None  # [m] of the modes; None with other methods
    contacts: Any  # thew.Contacts


class Folds:
    """What is shown of the joints' elastic shape where the skin folds into itself: of a pose alone, at once, before anything rests."""

    def __init__(self, touching: Any, free: Any):
        """Two `thew.Simulation`s of a body, alike but for contact."""
        self._touching, self._free = touching, free

    def at(self, pose: np.ndarray, to: np.ndarray | None = None) -> np.ndarray:
        """What it adds to the skin in `pose` [b, 4, 4], metres; float32[n, 3], `to` as of `Settled.at`."""
        shown = []
        for simulation in (self._touching, self._free):
            simulation.reset(pose, settled=False)
            shown.append(simulation.offsets(to=to))
        return shown[0] - shown[1]


class Settled:
    """The flesh at rest of a `thew.Simulation`, which says by which method."""

    def __init__(self, simulation: Any, folds: Folds | None = None):
        """`folds` are added where the simulation itself knows no contact."""
        self._simulation, self._folds = simulation, folds
        self._found: dict[tuple[bytes | None, ...], Rest] = {}  # by pose, forces and space, the last one last

    def at(self, pose: np.ndarray, push: np.ndarray | None = None, to: np.ndarray | None = None) -> Rest:
        """At rest in `pose` [b, 4, 4], metres, with generalised forces `push` [dofs, 3], N, rest axes; not to be changed.

        `to` [4, 4]: the space of its offsets, from metres; None: metres, world axes.
        """
        key = tuple(None if each is None else each.tobytes() for each in (pose, push, to))
        found = self._found.pop(key, None)
        if found is None:
            found = self._settle(pose, push, to)
        self._found[key] = found
        while len(self._found) > KEPT:
            del self._found[next(iter(self._found))]
        return found

    @property
    def latest(self) -> Rest | None:
        """What was asked for last."""
        return self._found[next(reversed(self._found))] if self._found else None

    def _settle(self, pose: np.ndarray, push: np.ndarray | None, to: np.ndarray | None) -> Rest:
        self._simulation.reset(pose, settled=True, rest_forces=push)
        offsets = self._simulation.offsets(to=to)
        if self._folds is not None:
            offsets += self._folds.at(pose, to)
        return Rest(offsets, self._simulation.amplitudes, self._simulation.contacts())
