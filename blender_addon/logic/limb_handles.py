# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles of a limb's medial model: its hubs and the tips of its spokes, and the model after a drag of one.

A drag stops before the boundary folds, at the last place where it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import limbs

#: Least and largest length of a spoke after one drag, over its length before.
MIN_STRETCH, MAX_STRETCH = 0.05, 20.0
#: Bisection steps along a drag that folds. They find a way across 4,096 pixels to one pixel.
BISECTION_STEPS = 12


@dataclass(frozen=True)
class Handle:
    """A hub (spoke -1) or the tip of a spoke of an atom."""

    atom: int
    spoke: int = -1


def handles(model) -> tuple[list[Handle], np.ndarray]:
    """Returns all handles of a tube, hubs first, and their positions, [h, 3]."""
    atoms, spokes = model.shape
    tips = limbs.spoke_lines(model)[1::2]
    listed = [Handle(atom) for atom in range(atoms)]
    listed += [Handle(atom, spoke) for atom in range(atoms) for spoke in range(spokes)]
    return listed, np.concatenate([model.hubs, tips])


def drag_handle(thew, model, handle: Handle, target: np.ndarray, whole: bool = False):
    """Returns (the tube with a handle at `target`, or on the way there; whether it stopped because it would fold).

    A hub moves freely, with its spokes; a tip moves along its spoke, `whole`: with all spokes of its atom.
    """
    hub = model.hubs[handle.atom]
    if handle.spoke < 0:
        return largest_change(model, lambda share: move_hub(thew, model, handle.atom, share * (target - hub)))
    tip = model.points([[model.knots[handle.atom], 0.0, 2.0 * np.pi * handle.spoke / model.shape[1], 1.0]])[0]
    spoke = tip - hub
    factor = float(np.clip((target - hub) @ spoke / (spoke @ spoke), MIN_STRETCH, MAX_STRETCH))
    which = -1 if whole else handle.spoke

    def stretch_by(share: float):
        return stretch_spoke(thew, model, handle.atom, which, 1.0 + share * (factor - 1.0))

    return largest_change(model, stretch_by)


def largest_change(model, change: Callable[[float], object]):
    """Returns (`change` of the largest share of a way that does not fold; whether that is less than all)."""
    least = min(0.0, model.legality())

    def legal_model(share: float):
        try:
            new = change(share)
        except ValueError:  # no valid figure
            return None
        return new if new.legality() > least else None

    whole = legal_model(1.0)
    if whole is not None:
        return whole, False
    best, low, high = model, 0.0, 1.0
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        new = legal_model(middle)
        if new is None:
            high = middle
        else:
            best, low = new, middle
    return best, True


def move_hub(thew, model, atom: int, offset: np.ndarray):
    """Returns the tube with a hub moved by `offset`."""
    hubs = model.hubs.copy()
    hubs[atom] += offset
    return limbs.replace_arrays(thew, model, hubs=hubs)


def stretch_spoke(thew, model, atom: int, spoke: int, factor: float):
    """Returns the tube with a spoke of an atom `factor` times as long; -1: all of them."""
    radii, lengths = model.radii.copy(), model.lengths.copy()
    if spoke < 0:
        radii[atom] *= factor
    else:
        lengths[atom, spoke] *= factor
    return limbs.replace_arrays(thew, model, radii=radii, lengths=lengths)
