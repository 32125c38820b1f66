# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces and stiffness of all rigs of a character at their controls, as the artist sees them: drafts included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import bpy
import numpy as np

from ..logic.native import core
from ..logic.rest_solver import RigAction
from ..rigs import pushers, rigging

if TYPE_CHECKING:
    from .flesh import Flesh


class TenseCells(NamedTuple):
    """Factors of rigs on the stiffness of cells, and what they belong to."""

    body: Any = None  # thew.Body
    rigs: tuple = ()  # thew.Rig
    controls: tuple[float, ...] = ()
    factors: np.ndarray | None = None  # [c]


def at_rest(flesh: Flesh, obj: bpy.types.Object, controls: np.ndarray | None) -> RigAction:
    """Returns what all rigs do to flesh at rest: forces, by their functions where flesh adapts to rigs, and stiffness.

    `controls`: see `forces`.
    """
    pushed = forces(flesh, obj, controls, settled=True)
    acting = [(native, control) for _, native, control in _acting(flesh, obj, controls) if native.firmness * control]
    if not acting:
        return RigAction(pushed)
    rigs, values = zip(*acting, strict=True)
    known = flesh.tense
    alike = len(known.rigs) == len(rigs) and all(a is b for a, b in zip(known.rigs, rigs, strict=True))
    if known.body is not flesh.body or not alike or known.controls != values:
        flesh.tense = TenseCells(flesh.body, rigs, values, core().rig_stiffness(rigs, flesh.body, values))
    return RigAction(pushed, flesh.tense.factors)


def forces(
    flesh: Flesh, obj: bpy.types.Object, controls: np.ndarray | None, without: int = -1, settled: bool = False
) -> np.ndarray | None:
    """Returns the generalised forces [nodes, 3] of all rigs at their controls; None when none pushes.

    `controls` [r] holds the keyed or driven ones (None: there are none of these); the others keep the artist's values.
    `without`: the index of a rig to leave out. `settled`: those for flesh at rest, which may adapt to rigs.
    """
    if not len(rigs := obj.thew.rigs):
        return None
    flesh.refresh_rigs(obj)
    own = flesh.pushing.functions() if settled and flesh.build_settings.simulation.adapt == "rigs" else None
    total = None
    for resolved, native, control in _acting(flesh, obj, controls):
        if resolved.index == without:
            continue
        try:
            rig = rigs[resolved.index]
            push = pushers.forces(rig, native, control, flesh.body, flesh.place.metres_per_unit, own)
        except core().ThewError as error:
            rigging.store_problems(
                obj, {**flesh.rig_problems, resolved.index: rigging.blame_rig(resolved.name, str(error))}
            )
            continue
        total = push if total is None else total + push
    return total


def _acting(flesh: Flesh, obj: bpy.types.Object, controls: np.ndarray | None) -> Iterator[tuple[Any, Any, float]]:
    """Yields each placed rig: as resolved, as native one, and its control."""
    for resolved in flesh.rigs:
        native = flesh.pushing.natives.get(resolved.index)
        if native is not None:
            held = resolved.control is not None or controls is None
            control = obj.thew.rigs[resolved.index].control if held else controls[resolved.index]
            yield resolved, native, float(control)
