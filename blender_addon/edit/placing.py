# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the placements of dropped templates, and writes them into rigs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..logic.errors import Refusal
from ..logic.guides import bone_coordinates, facing_frame, unpose_directions
from ..logic.names import describe
from ..logic.native import core
from ..logic.picking import Hit
from ..logic.sliders import GUIDE_SLIDERS, TEMPLATES, slider_parameters
from ..logic.spaces import is_singular
from ..rigs import rigging
from ..rigs.rigging import Attachment
from ..saved.rigs import ThewRig
from ..saved.samples import keep_sliders, quiet_edits, start_samples
from . import sizing
from .posed_character import PosedCharacter


@dataclass(frozen=True)
class Placement:
    """A template's place on the body at rest: its attachment, and the guide's own numbers (metres, radians)."""

    guide: str  # BONE, SKIN, FREE
    bone: int = -1  # index in the skeleton
    face: int = -1  # triangle of the surface
    barycentric: tuple[float, ...] = ()
    matrix: tuple[float, ...] = ()  # by rows, metres
    numbers: dict[str, float] = field(default_factory=dict)

    def attachment(self, kind: str) -> Attachment:
        """Returns the attachment of a template of this kind."""
        return Attachment(kind, self.guide, self.bone, self.face, self.barycentric, self.matrix)

    def place(self) -> dict[str, float]:
        """Returns a value for every slider of the guide."""
        return {name: self.numbers.get(name, 0.0) for name in GUIDE_SLIDERS[self.guide]}

    def with_turn(self, angle: float) -> Placement:
        """Returns the placement turned by `angle`: tilted at a bone, rolled in the skin, about its own axis when free."""
        name = {"BONE": "tilt", "SKIN": "roll", "FREE": "rz"}[self.guide]
        return replace(self, numbers={**self.numbers, name: self.numbers.get(name, 0.0) + angle})


def native_rig(kind: str, sizes: dict[str, float], placement: Placement):
    """Returns the native rig of a template of `sizes` (metres, strength in N/m³) at a placement."""
    return placement.attachment(kind).native(core(), {**sizes, **placement.place()})


# placements --------------------------------------------------------------------------------------------------------------


def dropped_placement(
    posed: PosedCharacter, guide: str, kind: str, hit: Hit, bone: str = "", view: np.ndarray | None = None
) -> Placement:
    """Returns the placement of a template dropped on the posed skin.

    A bone guide takes `bone`, or the one that carries the point most. A free guide looks along the rows of `view` [2,
    3] (towards the eye, to the right; Blender's world), or out of the skin.
    """
    point = posed.rest_point(hit)
    if guide == "SKIN":
        return Placement("SKIN", face=hit.face, barycentric=tuple(float(part) for part in hit.barycentric))
    if guide == "BONE":
        bone = bone or posed.heaviest_bone(hit)
        index = bone_index(posed, bone)
        return bone_placement(posed, kind, bone, *bone_coordinates(point, *posed.bone_ends(index)))
    if view is None:
        return free_placement(facing_frame(point, -sizing.inward_direction(posed.flesh, posed.rest, hit)))
    corners = posed.displayed.vertices[posed.displayed.triangles[hit.face]]
    towards, right = unpose_directions(view, corners, posed.rest.vertices[posed.rest.triangles[hit.face]])
    return free_placement(facing_frame(point, towards, right))


def free_placement(frame: np.ndarray) -> Placement:
    """Returns a placement at a rigid frame [4, 4] in metres."""
    return Placement("FREE", matrix=tuple(frame.ravel().tolist()))


def bone_placement(
    posed: PosedCharacter, kind: str, bone: str, along: float, angle: float, distance: float, tilt=None
) -> Placement:
    """Returns a placement at a bone by numbers; `distance` in metres."""
    index = bone_index(posed, bone)
    numbers = {
        "along": along,
        "angle": angle,
        "distance": distance,
        "tilt": TEMPLATES[kind].tilt if tilt is None else tilt,
    }
    return Placement("BONE", bone=index, numbers=numbers)


def face_placement(posed: PosedCharacter, guide: str, kind: str, face: int, barycentric) -> Placement:
    """Returns a placement on a triangle of the mesh."""
    count = len(posed.rest.triangles)
    if not 0 <= face < count:
        raise Refusal(f"{describe(posed.obj)} has no triangle {face}: its triangles are 0 to {count - 1}")
    shares = np.array(barycentric, dtype=np.float64)
    if not np.isfinite(shares).all() or shares.min() < 0.0 or abs(shares.sum() - 1.0) > 1e-4:
        raise Refusal(
            "Barycentric coordinates of a point in a triangle must not be negative and must add up to 1, not "
            f"{list(barycentric)}"
        )
    shares = shares / shares.sum()
    point = shares @ posed.displayed.vertices[posed.displayed.triangles[face]]
    return dropped_placement(posed, guide, kind, Hit(face, shares, point, 0.0))


def frame_placement(posed: PosedCharacter, matrix: np.ndarray) -> Placement:
    """Returns a placement at a frame [4, 4] in Blender's world at rest. Its scale is ignored."""
    if is_singular(matrix):
        raise Refusal("The matrix of a free guide is flat or not a number: give a rotation and a place")
    frame = facing_frame(posed.flesh.place.points(matrix[:3, 3]), matrix[:3, 2], matrix[:3, 0])
    return free_placement(frame)


def bone_index(posed: PosedCharacter, bone: str) -> int:
    """Returns a bone's index in the skeleton. Raises a `Refusal` for a bone that does not move this flesh."""
    bones = posed.flesh.character.bones
    if bone not in bones:
        raise Refusal(
            f"The bone “{bone}” does not move {describe(posed.obj)}: choose one that has weight, such as “{bones[0]}”"
        )
    return bones.index(bone)


# sizes --------------------------------------------------------------------------------------------------------------


def radius_at(posed: PosedCharacter, kind: str, placement: Placement) -> float:
    """Returns a radius that suits the flesh at a placement, metres."""
    trial = {**sizing.default_sizes(kind, sizing.MIN_RADIUS * posed.size), "strength": 1.0}
    return sizing.rig_radius(posed.flesh, posed.rest, native_rig(kind, trial, placement))


def visible_yield(flesh, kind: str, sizes: dict[str, float], placement: Placement, aim: float | None = None) -> float:
    """Returns the yield that a template should cause, metres: `aim`, or a clearly visible one, limited to what flesh bears."""
    aim = sizing.visible_yield(kind, sizes) if aim is None else aim
    return sizing.bearable_yield(flesh, native_rig(kind, {**sizes, "strength": 1.0}, placement), aim)


# into the file ------------------------------------------------------------------------------------------------------


def write_template(
    posed: PosedCharacter,
    rig: ThewRig,
    new: bool,
    kind: str,
    sizes: dict[str, float],
    placement: Placement,
    by: str = "YIELD",
) -> None:
    """Writes a template at a placement into a rig, with its strength `by` YIELD (metres) or FORCE (N/m³).

    A new rig does nothing at control 0 and is as placed at control 1, where it stands. An old one keeps its samples:
    all of them move to the new place.
    """
    rigging.require_template(rig)
    rigging.attach(posed.obj, posed.flesh, rig, placement.attachment(kind))
    unit = posed.flesh.place.metres_per_unit
    values = slider_parameters({**sizes, **placement.place()}, unit, by == "YIELD")
    if new:  # also the sizes of other templates that it may become
        reach = sizing.native_template(kind, sizes).support_radius
        values = {**slider_parameters(sizing.all_default_sizes(reach), unit), **values}
    moved = values if rig.template != kind else {name: values[name] for name in placement.place()}
    with quiet_edits():
        rig.template, rig.strength_by = kind, by
        for name, value in values.items():
            setattr(rig, name, value)
        for sample in rig.samples:
            for name, value in moved.items():
                setattr(sample.sliders, name, value)
    if new:
        start_samples(rig)
    else:
        keep_sliders(rig)


def placement_text(posed: PosedCharacter, placement: Placement) -> str:
    """Returns the place of a placement in words."""
    if placement.guide == "BONE":
        return f"on the bone “{posed.flesh.character.bones[placement.bone]}”"
    return "in the skin where it was dropped" if placement.guide == "SKIN" else "where it was dropped"
