# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a dropped template goes, how large it is by default, and how strong, so that its effect is seen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..logic.errors import Refusal
from ..logic.guides import bone_place, facing, unposed
from ..logic.names import describe
from ..logic.native import core
from ..logic.picking import Hit
from ..logic.sliders import GUIDE_SLIDERS, slider_parameters
from ..logic.spaces import is_singular, mirrors
from ..rigs.anchors import anchor_bone, anchor_face
from ..rigs.rigging import Hook
from ..saved.rigs import ThewRig
from ..saved.samples import keep_sliders, quietly, start_samples
from .posed import Posed

#: The default radius as a part of the flesh's thickness, and its bounds as parts of the body's size.
THICKNESS, LEAST, MOST = 0.4, 0.03, 0.12
#: The displacement that a new template aims at, as a part of its radius.
VISIBLE = 1.0 / 3.0
#: A torus of the default radius: its ring and its tube.
RING, TUBE = 0.6, 0.4


@dataclass(frozen=True)
class Spot:
    """Where a template stands at the body at rest: what it hangs on, and the guide's own numbers (metres, radians)."""

    guide: str  # BONE, SKIN, FREE
    bone: int = -1  # in the skeleton
    face: int = -1  # in the surface
    barycentric: tuple[float, ...] = ()
    matrix: tuple[float, ...] = ()  # by rows, metres
    numbers: dict[str, float] = field(default_factory=dict)

    def hook(self, kind: str) -> Hook:
        """It with a template of some kind on it."""
        return Hook(kind, self.guide, self.bone, self.face, self.barycentric, self.matrix)

    def place(self) -> dict[str, float]:
        """A value for every slider of the guide."""
        return {name: self.numbers.get(name, 0.0) for name in GUIDE_SLIDERS[self.guide]}

    def turned(self, angle: float) -> Spot:
        """It turned further by the hand: tilted at a bone, rolled in the skin, turned about its own axis when free."""
        name = {"BONE": "tilt", "SKIN": "roll", "FREE": "rz"}[self.guide]
        return replace(self, numbers={**self.numbers, name: self.numbers.get(name, 0.0) + angle})


def native_rig(kind: str, sizes: dict[str, float], spot: Spot):
    """The native rig of a template of `sizes` (metres, strength in N/m3) at a spot."""
    return spot.hook(kind).native(core(), {**sizes, **spot.place()})


# spots --------------------------------------------------------------------------------------------------------------


def dropped(posed: Posed, guide: str, kind: str, hit: Hit, bone: str = "", view: np.ndarray | None = None) -> Spot:
    """Where a template is that was dropped on the shown skin.

    A bone guide takes `bone`, or the one that carries the point most; a free guide looks along the rows of `view` [2, 3]
    (towards the eye, to the right; Blender's world), or out of the skin.
    """
    point = posed.at_rest(hit)
    if guide == "SKIN":
        return Spot("SKIN", face=hit.face, barycentric=tuple(float(part) for part in hit.barycentric))
    if guide == "BONE":
        bone = bone or posed.carrier(hit)
        index = bone_index(posed, bone)
        return at_bone(posed, kind, bone, *bone_place(point, *posed.bone_ends(index)))
    if view is None:
        return free(facing(point, -inward(posed, hit)))
    corners = posed.shown.vertices[posed.shown.triangles[hit.face]]
    towards, right = unposed(view, corners, posed.rest.vertices[posed.rest.triangles[hit.face]])
    return free(facing(point, towards, right))


def free(frame: np.ndarray) -> Spot:
    """A spot at a rigid frame [4, 4] in metres."""
    return Spot("FREE", matrix=tuple(frame.ravel().tolist()))


def at_bone(posed: Posed, kind: str, bone: str, along: float, angle: float, distance: float, tilt=None) -> Spot:
    """A spot at a bone by numbers; `distance` in metres."""
    index = bone_index(posed, bone)
    numbers = {"along": along, "angle": angle, "distance": distance, "tilt": usual_tilt(kind) if tilt is None else tilt}
    return Spot("BONE", bone=index, numbers=numbers)


def on_face(posed: Posed, guide: str, kind: str, face: int, barycentric) -> Spot:
    """A spot on a triangle of the mesh."""
    count = len(posed.rest.triangles)
    if not 0 <= face < count:
        raise Refusal(f"{describe(posed.obj)} has no triangle {face}: its triangles are 0 to {count - 1}")
    shares = np.array(barycentric, dtype=np.float64)
    if not np.isfinite(shares).all() or shares.min() < 0.0 or abs(shares.sum() - 1.0) > 1e-4:
        raise Refusal(
            f"Barycentric coordinates of a point in a triangle are not negative and add up to 1, not {list(barycentric)}"
        )
    shares = shares / shares.sum()
    point = shares @ posed.shown.vertices[posed.shown.triangles[face]]
    return dropped(posed, guide, kind, Hit(face, shares, point, 0.0))


def at_matrix(posed: Posed, matrix: np.ndarray) -> Spot:
    """A spot of one's own: a frame [4, 4] in Blender's world, at rest. Its scale is left out."""
    if is_singular(matrix):
        raise Refusal("The matrix of a free guide is flat or not a number: give a rotation and a place")
    frame = facing(posed.flesh.place.points(matrix[:3, 3]), matrix[:3, 2], matrix[:3, 0])
    return free(frame)


def bone_index(posed: Posed, bone: str) -> int:
    """A bone's place in the skeleton; a bone that does not move this flesh is refused."""
    bones = posed.flesh.character.bones
    if bone not in bones:
        raise Refusal(
            f"The bone “{bone}” does not move {describe(posed.obj)}: choose one that has weight, such as “{bones[0]}”"
        )
    return bones.index(bone)


def usual_tilt(kind: str) -> float:
    """A bulge swells about its bone; the other templates point out of the skin."""
    return 0.5 * np.pi if kind == "BULGE" else 0.0


def inward(posed: Posed, hit: Hit) -> np.ndarray:
    """The direction into the flesh at a point of the skin at rest, whichever way the faces are turned."""
    normal = posed.rest.normal(hit.face)
    if not normal.any():
        return np.array([0.0, 0.0, -1.0])
    step = 1e-3 * posed.size * normal
    below, above = np.abs(posed.flesh.surface.winding_number(posed.at_rest(hit) + np.stack([-step, step])))
    return normal if above > below else -normal


# sizes --------------------------------------------------------------------------------------------------------------


def usual_radius(posed: Posed, hit: Hit) -> float:
    """A radius that suits the flesh below a point of the skin, metres."""
    deep = posed.rest.thickness(posed.at_rest(hit), inward(posed, hit), 2.0 * MOST / THICKNESS * posed.size)
    return float(np.clip(THICKNESS * deep, LEAST * posed.size, MOST * posed.size))


def radius_at(posed: Posed, kind: str, spot: Spot) -> float:
    """A radius that suits the flesh at a spot, metres."""
    trial = {**usual_sizes(kind, LEAST * posed.size), "strength": 1.0}
    middle = np.asarray(native_rig(kind, trial, spot).frame(posed.flesh.body))[:3, 3]
    return usual_radius(posed, posed.rest.nearest(middle))


def usual_sizes(kind: str, radius: float) -> dict[str, float]:
    """The sizes of a template as large as `radius`; without its strength."""
    if kind == "TORUS":
        return {"ring_radius": RING * radius, "tube_radius": TUBE * radius}
    return {"radius": radius}


def reach(sizes: dict[str, float]) -> float:
    """How far from its middle a template acts."""
    return sizes.get("radius", 0.0) or sizes["ring_radius"] + sizes["tube_radius"]


def visible_yield(flesh, kind: str, sizes: dict[str, float], spot: Spot, aim: float | None = None) -> float:
    """How far the skin should give way to a template, metres: `aim`, or what is well seen; no farther than flesh bears."""
    if aim is None:
        aim = VISIBLE * sizes.get("radius", 2.0 * sizes.get("tube_radius", 0.0))
    return bearable(flesh, native_rig(kind, {**sizes, "strength": 1.0}, spot), aim)


def bearable(flesh, native, aim: float) -> float:
    """`aim` metres, or how far flesh yields to a native rig before it folds; a `Refusal` where it does not yield at all."""
    per_strength = native.compliance(flesh.body)
    if per_strength <= 0.0:
        raise Refusal(
            f"A {native.template.kind} at this place does not move the skin: the flesh there is held by its bones; "
            "make it larger, or drop it elsewhere"
        )
    return float(f"{min(aim, native.strength_range(flesh.body)[1] * per_strength):.3g}")


# into the file ------------------------------------------------------------------------------------------------------


def put(
    posed: Posed, rig: ThewRig, new: bool, kind: str, sizes: dict[str, float], spot: Spot, by: str = "YIELD"
) -> None:
    """Write a template at a spot into a rig of the object; its strength is measured `by` YIELD (metres) or FORCE (N/m3).

    A new rig does nothing at the control 0 and is what was placed at 1, where it stands. An old one keeps its samples:
    all of them move to the new place.
    """
    anchor(posed, rig, spot)
    values = slider_parameters({**sizes, **spot.place()}, posed.flesh.place.metres_per_unit, by == "YIELD")
    moved = values if rig.template != kind else {name: values[name] for name in spot.place()}
    with quietly():
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


def anchor(posed: Posed, rig: ThewRig, spot: Spot) -> None:
    """Hang a saved rig where `spot` is."""
    obj, flesh = posed.obj, posed.flesh
    if spot.guide == "BONE":
        anchor_bone(obj, rig, flesh.character.bones[spot.bone])
    elif spot.guide == "SKIN":
        # The surface of a mirrored object has its triangles turned about: see `session.make`.
        mirrored = mirrors(flesh.stance.mesh_matrix)
        shares = spot.barycentric[::-1] if mirrored else spot.barycentric
        anchor_face(obj, rig, spot.face, shares, flesh.character.rest)
    else:
        with quietly():
            rig.guide, rig.matrix = "FREE", blender_matrix(posed, spot).ravel().tolist()


def blender_matrix(posed: Posed, spot: Spot) -> np.ndarray:
    """The frame of a free spot in Blender's world at rest, [4, 4]."""
    matrix = np.array(spot.matrix).reshape(4, 4)
    matrix[:3, 3] = posed.world(matrix[:3, 3])
    return matrix


def described(posed: Posed, spot: Spot) -> str:
    """Where a spot is, in words."""
    if spot.guide == "BONE":
        return f"on the bone “{posed.flesh.character.bones[spot.bone]}”"
    return "in the skin where it was dropped" if spot.guide == "SKIN" else "where it was dropped"
