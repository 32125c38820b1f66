# SPDX-License-Identifier: GPL-3.0-or-later
"""Attachments of rigs, and their numbers, transferred to the same limb of another character."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ..live.flesh import Flesh
from ..logic import limb_places
from ..logic.limb_places import Limb, LimbMap, LimbPlace
from ..logic.native import core
from ..logic.picking import Hit, Picker
from ..logic.sliders import GUIDE_SLIDERS, SLIDERS, is_length, native_parameters, slider_parameters
from ..logic.spaces import mirrors
from ..rigs.rigging import Attachment
from ..saved.limbs import ThewLimb
from ..saved.rigs import ThewRig
from ..saved.slider_groups import values_of
from ..scene import limbs as scene_limbs
from . import limbs

#: Share of the weight on a limb's bones from which skin belongs to it: more than all other bones together.
MIN_LIMB_SHARE = 0.5
#: Distance along a spoke within which skin on it is accepted although other skin is nearer, as a part of its length.
SPOKE_TOLERANCE = 0.2


@dataclass
class LimbOwner:
    """One of the two characters, with its flesh."""

    obj: bpy.types.Object
    flesh: Flesh

    @property
    def unit(self) -> float:
        return self.flesh.place.metres_per_unit

    def limb(self, limb: ThewLimb) -> Limb:
        """Returns a limb in metres."""
        return Limb(limbs.model_of(limb), np.linalg.inv(self.flesh.place.to_object(self.flesh.bind_pose.mesh_matrix)))

    def chain(self, limb: ThewLimb) -> list[str]:
        """Returns the names of a limb's bones. Raises a `Refusal` if one is gone."""
        return scene_limbs.sound_chain(self.obj, self.flesh.character, limb)

    def share(self, weights: np.ndarray, limb: ThewLimb) -> float:
        """Returns the share of weights [b] that falls on a limb's bones."""
        return float(limbs.bone_share(self.flesh.character, self.chain(limb), weights))

    def skin(self, limb: ThewLimb) -> np.ndarray:
        """Returns the indices of the triangles that follow a limb."""
        character = self.flesh.character
        share = limbs.bone_share(character, self.chain(limb), character.weights)
        return np.flatnonzero(share[character.triangles].mean(axis=1) >= MIN_LIMB_SHARE)

    def shares(self, shares) -> np.ndarray:
        """Converts barycentric coordinates from the mesh's order into the surface's or back: see `building.enclose`."""
        shares = np.asarray(shares, dtype=np.float64)
        return shares[::-1] if mirrors(self.flesh.bind_pose.mesh_matrix) else shares


@dataclass
class LimbPair:
    """Two limbs that correspond, in the metres of their bodies."""

    here: ThewLimb
    there: ThewLimb
    limb_map: LimbMap
    skin: tuple[np.ndarray, Picker]  # the other limb's triangles: their indices, and as a surface
    bones: dict[str, str]  # our bones -> corresponding bones of the other chain


class GuideTransfer:
    """Transfer of a rig's numbers, row by row."""

    attachment: Attachment

    def __init__(self, here: LimbOwner, there: LimbOwner, pair: LimbPair, rig: ThewRig, attachment: Attachment):
        self.here, self.there, self.pair, self.rig, self.old = here, there, pair, rig, attachment
        self.by_yield = rig.strength_by == "YIELD"
        self.start()

    def start(self) -> None:
        """Finds the new attachment and sets `attachment`."""
        raise NotImplementedError

    def numbers(self, row: dict[str, float]) -> tuple[LimbPlace, dict[str, float]]:
        """Returns (location of the rig with native parameters `row`, the guide's native parameters on the other side)."""
        raise NotImplementedError

    def frame(self, row: dict[str, float], **changed) -> np.ndarray:
        """Returns the field's frame on its own character, metres, [4, 4]."""
        native = self.old.native(core(), {**row, "strength": 1.0, **changed})
        return np.asarray(native.frame(self.here.flesh.body))

    def transferred_row(self, row: tuple[float, ...], sized: tuple[float, ...] | None = None) -> list[float]:
        """Returns all of `SLIDERS` on the other side. `sized`: a row with valid sizes, if those of `row` may be invalid."""
        names, here, there = self.old.names, self.here.unit, self.there.unit
        given = native_parameters(names, row, here, self.by_yield)
        fit = {
            **native_parameters(names, sized or row, here, self.by_yield),
            **{n: given[n] for n in GUIDE_SLIDERS[self.old.guide]},
        }
        located, guide = self.numbers(fit)
        growth = self.pair.limb_map.growth(located)
        larger = growth * here / there
        values = {n: v * (larger if is_length(n, self.by_yield) else 1.0) for n, v in zip(SLIDERS, row, strict=True)}
        values |= slider_parameters(guide, there)
        if not self.by_yield:
            values["strength"] *= self.strength_factor(fit, {**fit, **guide}, growth)
        return [values[name] for name in SLIDERS]

    def strength_factor(self, ours: dict[str, float], theirs: dict[str, float], growth: float) -> float:
        """Returns the factor of a force for which the other flesh yields in proportion."""
        theirs = {
            n: v * (growth if is_length(n) and n not in GUIDE_SLIDERS[self.old.guide] else 1.0)
            for n, v in theirs.items()
        }
        one, other = self.here.flesh.body, self.there.flesh.body
        try:
            give = self.old.native(core(), {**ours, "strength": 1.0}).compliance(one)
            gives = self.attachment.native(core(), {**theirs, "strength": 1.0}).compliance(other)
        except core().ThewError:  # it reaches no flesh: reported at the rig
            give = gives = 0.0
        if give > 0.0 and gives > 0.0:
            return growth * give / gives
        return other.material.young / one.material.young / growth


class BoneGuideTransfer(GuideTransfer):
    """A rig at a bone, transferred to the corresponding bone."""

    def start(self):
        self.name = self.pair.bones[self.here.flesh.character.bones[self.old.bone]]
        index = self.there.flesh.character.bones.index(self.name)
        self.attachment = Attachment(self.old.template, "BONE", bone=index)

    def numbers(self, row):
        limb_map, skeleton = self.pair.limb_map, self.there.flesh.skeleton
        frame = self.frame(row, tilt=0.0)
        located = limb_map.one.locate(frame[:3, 3])
        moved = limb_map.map_place(located)
        head, tail = (np.asarray(ends)[self.attachment.bone] for ends in (skeleton.heads, skeleton.tails))
        near = limb_places.AXIS_DISTANCE * limb_map.one.radius(located.coordinates[0])
        out, distance = limb_map.turn(located) @ frame[:3, 2], row["distance"] * limb_map.growth(located)
        along, angle, distance = limb_places.bone_numbers(
            limb_map.other.place(moved), out, head, tail, distance, min(abs(row["distance"]) / near, 1.0)
        )
        angle = limb_places.unwrapped_angle(angle, row["angle"])
        return located, {"along": along, "angle": angle, "distance": distance, "tilt": row["tilt"]}


class SkinGuideTransfer(GuideTransfer):
    """A rig in the skin, transferred to where the spoke through the same coordinates leaves the skin."""

    def start(self):
        limb_map, (triangles, picker) = self.pair.limb_map, self.pair.skin
        flat = dict.fromkeys(GUIDE_SLIDERS["SKIN"], 0.0)
        row = native_parameters(self.old.names, values_of(self.rig), self.here.unit)
        self.located = limb_map.one.locate(self.frame({**row, **flat})[:3, 3])
        moved = limb_map.map_place(self.located)
        point = limb_map.other.place(moved)
        hit = skin_along_spoke(picker, point, limb_map.other.spoke(moved.coordinates) if moved.inside else None)
        face, shares = int(triangles[hit.face]), np.clip(self.there.shares(hit.barycentric), 0.0, 1.0)
        self.attachment = Attachment(
            self.old.template, "SKIN", triangle=face, barycentric=tuple((shares / shares.sum()).tolist())
        )
        native = self.attachment.native(core(), {**row, **flat, "strength": 1.0})
        self.basis = np.asarray(native.frame(self.there.flesh.body))[:3, :3]

    def numbers(self, row):
        limb_map = self.pair.limb_map
        turn = limb_map.turn(self.located)
        axis, across = turn @ self.frame(row)[:3, 2], turn @ self.frame(row, tilt=0.0)[:3, 0]
        roll, tilt = limb_places.skin_numbers(axis, across, self.basis, row["roll"], row["tilt"])
        depth = row["depth"] * limb_map.depth_ratio(self.located)
        return self.located, {"depth": depth, "roll": roll, "tilt": tilt}


class FreeGuideTransfer(GuideTransfer):
    """A free rig, transferred to the same coordinates."""

    def start(self):
        self.base = np.array(self.old.matrix).reshape(4, 4)
        self.moved_base = self.transferred_frame(self.base)[1]
        self.attachment = Attachment(self.old.template, "FREE", matrix=tuple(self.moved_base.ravel().tolist()))

    def transferred_frame(self, frame: np.ndarray) -> tuple[LimbPlace, np.ndarray]:
        """Returns the location of a frame, and the frame transferred to the other side."""
        limb_map, moved = self.pair.limb_map, np.eye(4)
        located = limb_map.one.locate(frame[:3, 3])
        moved[:3, :3] = limb_places.turned_frame(limb_map.turn(located), frame[:3, :3])
        moved[:3, 3] = limb_map.other.place(limb_map.map_place(located))
        return located, moved

    def numbers(self, row):
        frame = self.frame(row)
        located, moved = self.transferred_frame(frame)
        turn = self.moved_base[:3, :3].T @ moved[:3, :3]
        places = self.moved_base[:3, :3].T @ (moved[:3, 3] - self.moved_base[:3, 3])
        turns = [row[name] for name in ("rx", "ry", "rz")]
        if np.abs(turn - self.base[:3, :3].T @ frame[:3, :3]).max() > 1e-9:
            turns = list(Matrix(turn.tolist()).to_quaternion().to_exponential_map())
        return located, dict(zip(GUIDE_SLIDERS["FREE"], [*places.tolist(), *turns], strict=True))


GUIDE_TRANSFERS = {"BONE": BoneGuideTransfer, "SKIN": SkinGuideTransfer, "FREE": FreeGuideTransfer}


def skin_along_spoke(picker: Picker, point: np.ndarray, spoke: np.ndarray | None) -> Hit:
    """Returns the skin along a spoke through `point`, or the nearest skin without a spoke or if that is much nearer."""
    nearest = picker.nearest(point)
    if spoke is None:
        return nearest
    length = float(np.linalg.norm(spoke))
    if nearest.distance <= 1e-7 * length:
        return nearest
    hits = [hit for hit in (picker.ray(point, way * spoke / length) for way in (1.0, -1.0)) if hit is not None]
    hit = min(hits, key=lambda hit: hit.distance, default=nearest)
    return hit if hit.distance <= max(4.0 * nearest.distance, SPOKE_TOLERANCE * length) else nearest
