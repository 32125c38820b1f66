# SPDX-License-Identifier: GPL-3.0-or-later
"""Default size and strength of a new rig: one policy, however it is made.

The radius is a part of the flesh's thickness below the nearest skin. The skin yields by a part of the radius, or as far
as a preset says, but no farther than flesh bears.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..live.flesh import Flesh
from ..logic.errors import Refusal
from ..logic.native import core
from ..logic.picking import Hit, Picker
from ..logic.sliders import TEMPLATES, size_names
from ..rigs import rigging
from ..saved.rigs import ThewRig
from ..saved.samples import quiet_edits

#: Default radius as a part of the flesh's thickness, and its bounds as parts of the body's size.
RADIUS_PER_THICKNESS, MIN_RADIUS, MAX_RADIUS = 0.4, 0.03, 0.12
#: Displacement at which a new rig aims, as a part of its radius.
YIELD_PER_RADIUS = 0.2


def inward_direction(flesh: Flesh, rest: Picker, hit: Hit) -> np.ndarray:
    """Returns the direction into the flesh at a point of the skin at rest (`rest`), whichever way the faces are oriented."""
    normal = rest.normal(hit.face)
    if not normal.any():
        return np.array([0.0, 0.0, -1.0])
    step = 1e-3 * flesh.surface.size * normal
    point = hit.point_on(rest.vertices, rest.triangles)
    below, above = np.abs(flesh.surface.winding_number(point + np.stack([-step, step])))
    return normal if above > below else -normal


def default_radius(flesh: Flesh, rest: Picker, hit: Hit) -> float:
    """Returns a radius that suits the flesh below a point of the skin, metres."""
    size, point = flesh.surface.size, hit.point_on(rest.vertices, rest.triangles)
    deep = rest.thickness(point, inward_direction(flesh, rest, hit), 2.0 * MAX_RADIUS / RADIUS_PER_THICKNESS * size)
    return float(np.clip(RADIUS_PER_THICKNESS * deep, MIN_RADIUS * size, MAX_RADIUS * size))


def rig_radius(flesh: Flesh, rest: Picker, native) -> float:
    """Returns a radius that suits the flesh at a native rig of any size, metres."""
    middle = np.asarray(native.frame(flesh.body))[:3, 3]
    return default_radius(flesh, rest, rest.nearest(middle))


def default_sizes(kind: str, radius: float) -> dict[str, float]:
    """Returns the sizes of a template as large as `radius`, without its strength."""
    parameters = core().Template.sized(kind.lower(), radius, 1.0).parameters
    return {name: parameters[name] for name in size_names(kind)}


def all_default_sizes(radius: float) -> dict[str, float]:
    """Returns the sizes of every template as large as `radius`."""
    return {name: value for kind in TEMPLATES for name, value in default_sizes(kind, radius).items()}


def native_template(kind: str, sizes: dict[str, float]):
    """Returns the native template of some sizes."""
    return core().Template(kind.lower(), **{name: sizes[name] for name in size_names(kind)}, strength=1.0)


def visible_yield(kind: str, sizes: dict[str, float]) -> float:
    """Returns a clearly visible yield of the skin to a template, in the unit of `sizes`."""
    return YIELD_PER_RADIUS * native_template(kind, sizes).depth


def bearable_yield(flesh: Flesh, native, aim: float) -> float:
    """Returns `aim`, or the yield at which flesh would fold if that is smaller, metres.

    Raises a `Refusal` if the flesh does not yield at all.
    """
    per_strength = native.compliance(flesh.body)
    if per_strength <= 0.0:
        raise Refusal(
            f"A {native.template.kind} at this place does not move the skin: the flesh there is held by its bones; "
            "make it larger, or drop it elsewhere"
        )
    return float(f"{min(aim, native.strength_range(flesh.body)[1] * per_strength):.3g}")


def fit_to_flesh(obj: bpy.types.Object, flesh: Flesh, rig: ThewRig) -> None:
    """Sets size and strength of an attached rig to values that suit the flesh there."""
    unit, size = flesh.place.metres_per_unit, flesh.surface.size
    rest = Picker(np.asarray(flesh.surface.vertices), np.asarray(flesh.surface.triangles))

    def sized_rig(radius: float):
        with quiet_edits():
            for name, value in all_default_sizes(radius / unit).items():
                setattr(rig, name, value)
            rig.strength_by, rig.strength = "FORCE", 1.0
        return rigging.native_rig(obj, flesh, rig)

    radius = rig_radius(flesh, rest, sized_rig(MIN_RADIUS * size))
    native = sized_rig(radius)
    aim = visible_yield(rig.template, default_sizes(rig.template, radius))
    with quiet_edits():
        rig.strength_by, rig.strength = "YIELD", bearable_yield(flesh, native, aim) / unit
