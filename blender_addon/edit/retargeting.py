# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs copied to another character along the correspondence of both: pairs of bones, and the map of one skin to the other."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from ..logic import map_colours, pair_colours, sculpted_rigs
from ..logic.errors import Refusal
from ..logic.limbs import barycentric
from ..logic.native import core
from ..logic.sliders import SLIDERS, TEMPLATE_SLIDERS, is_length, native_parameters, size_names, slider_parameters
from ..rigs import rigging
from ..rigs.muscles import MuscleAttachment
from ..rigs.rigging import Attachment, SculptAttachment
from ..saved.rigs import ThewRig
from ..saved.slider_groups import values_of
from ..saved.units import length
from ..scene.reading import armature_of
from . import landmarks, limbs
from .limb_guides import LimbOwner
from .limb_rigs import checked_attachment, limb_map
from .posed_character import current_pose
from .rig_copies import RigCopy, SculptCopy

#: Share of the lattice at which limbs may turn the map inside out besides; where they do more, it goes without them.
MAX_INVERTED = 0.01


class CharacterLink:
    """The correspondence of two characters, found when a rig first needs it.

    `pairs`: names of bones, source and target, that are kept. `swapped`: left and right of the target are exchanged.
    `marked`: landmarks that were clicked count. Points of limbs that both have always do.
    """

    def __init__(
        self,
        here: LimbOwner,
        there: LimbOwner,
        pairs=(),
        names: bool = True,
        swapped: bool = False,
        marked: bool = True,
    ):
        self.here, self.there, self.pairs, self.names, self.swapped = here, there, list(pairs), names, swapped
        self.marked = marked

    def joins(self, here: LimbOwner, there: LimbOwner) -> bool:
        """Returns whether this is a link of the bodies of two characters as they are now."""
        now = zip((self.here, self.there), (here, there), strict=True)
        return all(mine.obj == other.obj and mine.flesh.body is other.flesh.body for mine, other in now)

    @cached_property
    def native(self) -> Any:
        """The `thew.Correspondence`."""
        thew, bodies, pairs = core(), (self.here.flesh.body, self.there.flesh.body), self.body_pairs()
        if self.swapped:
            pairs = thew.Correspondence(*bodies, bones=pairs, names=self.names).swapped_sides()
        names = self.names and not self.swapped

        def map_with(points: np.ndarray) -> Any:
            return thew.Correspondence(*bodies, bones=pairs, names=names, landmarks=points if len(points) else None)

        clicked = landmarks.saved_landmarks(self.here, self.there) if self.marked else np.empty((0, 2, 3))
        plain = map_with(clicked)
        along_limbs = self.limb_landmarks(np.asarray(plain.places))
        if not len(along_limbs):
            return plain
        found = map_with(np.concatenate([clicked, along_limbs]))
        return found if found.report.inverted <= plain.report.inverted + MAX_INVERTED else plain

    def body_pairs(self) -> list:
        """Returns the pairs of bones that are kept, those that were renamed by the names that their bodies know."""
        sides = [side.flesh for side in (self.here, self.there)]
        known = [rigging.other_names(each.character.bones, each.body.skeleton.names) for each in sides]
        return [(known[0].get(one, one), known[1].get(other, other)) for one, other in self.pairs]

    def limb_landmarks(self, places: np.ndarray) -> np.ndarray:
        """Returns points of limbs that both have, [k, 2, 3], metres; places: a map without them, see `landmarks.limb_landmarks`."""
        found = []
        for ours, theirs in limbs.common_limbs(self.here.obj, self.there.obj):
            with suppress(Refusal):  # a limb whose bones are gone marks nothing
                if len(self.here.chain(ours)) == len(self.there.chain(theirs)):
                    pair = limb_map(self.here, self.there, ours, theirs)
                    found.append(landmarks.limb_landmarks(self.here, self.there, pair, places))
        return np.concatenate([np.empty((0, 2, 3)), *found])

    def message(self) -> str:
        """Returns how well the skins match, as a clause."""
        share = 100.0 * self.native.report.mean_distance / self.there.flesh.surface.size
        return f"the skins match to {share:.2f} % of the size on average by {len(self.native.bones)} pairs of bones"

    def ghost(self, depsgraph) -> np.ndarray:
        """Returns the edges of the source's skin where the map puts them on the target as it is posed, [e, 2, 3], Blender's world."""
        flesh, places = self.there.flesh, np.asarray(self.native.places)
        pose = current_pose(self.there.obj, flesh, depsgraph)
        place = flesh.place_at(pose.mesh)
        maps = place.maps(pose.maps, flesh.place)
        _, _, nearest = flesh.surface.closest_point(places)
        weights = flesh.character.weights[flesh.character.triangles[nearest]].mean(axis=1)
        moved = np.einsum("vb,bij,vj->vi", weights, maps[:, :3, :3], places) + weights @ maps[:, :3, 3]
        triangles = np.asarray(self.here.flesh.surface.triangles)
        edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
        return place.world(moved)[np.unique(edges, axis=0)]

    @cached_property
    def distances(self) -> np.ndarray:
        """Distances of the source's vertices, where the map puts them, from the target's skin, [n], metres."""
        return np.asarray(self.there.flesh.surface.closest_point(np.asarray(self.native.places))[1])

    def error(self, rig: ThewRig) -> float:
        """Returns how far the skins are apart where a rig acts, metres on the target. Raises a `Refusal` for one that hangs on nothing."""
        return float(np.average(self.distances, weights=REACHES_BY_KIND[rig.kind](self.here, rig)))

    def error_text(self, rig: ThewRig) -> str:
        """Returns how far the skins are apart where a rig acts, as a length of the scene."""
        return length(self.error(rig) / self.there.unit)

    def bone_colours(self, chosen: dict[tuple[str, str], tuple[float, ...]]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the colours of both characters' bones, [b, 3] each: those `chosen` for pairs, others for pairs found anew."""
        pairs = self.bone_names()
        more = pair_colours.pair_colours(len(pairs), len(chosen))
        found = {pair: chosen.get(pair, other) for pair, other in zip(pairs, more, strict=True)}
        here, there = (side.flesh.character.bones for side in (self.here, self.there))
        return (
            pair_colours.bone_colours(here, {source: colour for (source, _), colour in found.items()}),
            pair_colours.bone_colours(there, {target: colour for (_, target), colour in found.items()}),
        )

    def posed_bones(self, depsgraph) -> tuple[np.ndarray, np.ndarray]:
        """Returns the bones of both characters as they are posed, [b, 2, 3] each, Blender's world."""
        return tuple(posed_bones(side, depsgraph) for side in (self.here, self.there))

    def paired_skin(self, chosen: dict[tuple[str, str], tuple[float, ...]]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the colours of both meshes' vertices, [n, 3] each: those of the bones, by weight."""
        sides = zip((self.here, self.there), self.bone_colours(chosen), strict=True)
        return tuple(map_colours.weighted_colours(side.flesh.character.weights, colours) for side, colours in sides)

    def colours(self, kind: str) -> tuple[np.ndarray | None, np.ndarray]:
        """Returns the colours of both meshes' vertices, [n, 3] each, of a kind of map; None for a mesh that gets none."""
        here, there = (side.flesh for side in (self.here, self.there))
        places, triangles = np.asarray(self.native.places), np.asarray(here.surface.triangles)
        wanted = np.asarray(there.surface.vertices)
        nearest, distances, faces = (
            np.asarray(each) for each in core().Surface(places, triangles).closest_point(wanted)
        )
        if kind == "DISTANCE":
            return None, map_colours.distance_colours(distances, there.surface.size)
        rest = np.asarray(here.surface.vertices)
        box = rest.min(axis=0), rest.max(axis=0)
        shares = barycentric(places[triangles[faces]], nearest)
        origins = np.einsum("nk,nkj->nj", shares, rest[triangles[faces]])
        return map_colours.origin_colours(rest, *box), map_colours.origin_colours(origins, *box)

    def plan(self, rig: ThewRig, attachment: Attachment | SculptAttachment | MuscleAttachment) -> RigCopy | SculptCopy:
        """Returns a rig as it is on the other character. Raises the native error if its bone has no partner."""
        same = [(other.name, other.kind, other.template, other.guide) for other in self.there.obj.thew.rigs]
        double = (rig.name, rig.kind, rig.template, rig.guide) in same
        if isinstance(attachment, SculptAttachment):
            carried = attachment.native(core(), name=rig.name, body=self.here.flesh.body).retarget(self.native)
            there = self.there.flesh
            names = rigging.other_names(there.body.skeleton.names, there.character.bones)
            return SculptCopy(rig, sculpted_rigs.saved_text(core(), carried, there.place, names), double)
        if isinstance(attachment, MuscleAttachment):
            return self._plan_muscle(rig, attachment, double)
        by_yield = rig.strength_by == "YIELD"
        rows = [values_of(rig), *(values_of(sample.sliders) for sample in rig.samples), values_of(rig.pull.preferred)]
        given = [native_parameters(attachment.names, row, self.here.unit, by_yield) for row in rows]
        for row in given[1:]:  # sizes that are preferred may be none
            row.update({name: given[0][name] for name in size_names(attachment.template) if row[name] <= 0.0})
        if by_yield:
            given = [{**row, "strength": 1.0} for row in given]
        native = attachment.native(core(), given[0], list(enumerate(given)))
        carried = native.retarget(self.native)
        growth = self._growth(attachment, native, carried)
        made = [self._row(row, carried.parameters(float(k)), growth, by_yield) for k, row in enumerate(rows)]
        return RigCopy(rig, attachment_of(attachment.template, carried.guide), made[0], made[1:-1], made[-1], double)

    def _plan_muscle(self, rig: ThewRig, attachment: MuscleAttachment, double: bool) -> RigCopy:
        rows = [values_of(rig), *(values_of(sample.sliders) for sample in rig.samples)]
        given = [native_parameters(attachment.names, row, self.here.unit) for row in rows]
        carried = attachment.native(core(), given[0], list(enumerate(given))).retarget(self.native)
        made = [
            [slider_parameters(carried.parameters(float(k)), self.there.unit).get(name, old)
             for name, old in zip(SLIDERS, row, strict=True)]
            for k, row in enumerate(rows)
        ]  # fmt: skip
        return RigCopy(rig, MuscleAttachment(*(end.bone for end in carried.ends)), made[0], made[1:], made[0], double)

    def _growth(self, attachment: Attachment, native, carried) -> float:
        size = TEMPLATE_SLIDERS[attachment.template][0]
        return carried.template.parameters[size] / native.template.parameters[size]

    def _row(self, row: tuple[float, ...], carried: dict[str, float], growth: float, by_yield: bool) -> list[float]:
        """Returns all of `SLIDERS` on the other side."""
        larger = growth * self.here.unit / self.there.unit
        values = {n: v * (larger if is_length(n, by_yield) else 1.0) for n, v in zip(SLIDERS, row, strict=True)}
        if by_yield:
            carried.pop("strength")
        values |= slider_parameters(carried, self.there.unit)
        return [values[name] for name in SLIDERS]

    def bone_names(self) -> list[tuple[str, str]]:
        """Returns the pairs of bones by their present names."""
        here, there = self.here.flesh.character.bones, self.there.flesh.character.bones
        return [(here[source], there[target]) for source, target in np.asarray(self.native.pairs).tolist()]

    def bones(self) -> dict[str, tuple[str, BoneTurn]]:
        """Returns the partner of each paired bone, and the turn between both."""
        pairs = zip(self.bone_names(), self.native.pairs, strict=True)
        there = armature_of(self.there.obj).data.bones
        return {source: (partner, BoneTurn(self, *indices)) for (source, partner), indices in pairs if partner in there}


def posed_bones(side: LimbOwner, depsgraph) -> np.ndarray:
    """Returns the bones of a character as they are posed, [b, 2, 3], Blender's world."""
    armature = armature_of(side.obj).evaluated_get(depsgraph)
    bones = [armature.pose.bones[name] for name in side.flesh.character.bones]
    ends = [(armature.matrix_world @ bone.head, armature.matrix_world @ bone.tail) for bone in bones]
    return np.array(ends, dtype=np.float64).reshape(-1, 2, 3)


def force_reach(side: LimbOwner, rig: ThewRig) -> np.ndarray:
    """Returns how much a force field or a muscle tells of each vertex of the skin, [n]: as it fades with the distance; at least the nearest one."""
    attachment, skin = checked_attachment(side, rig), np.asarray(side.flesh.surface.vertices)
    row = native_parameters(attachment.names, values_of(rig), side.unit, rig.strength_by == "YIELD")
    if isinstance(attachment, MuscleAttachment):
        line = np.asarray(core().muscle_line(attachment.native(core(), row), side.flesh.body))[:, :3]
        size = row["radius"]
    else:
        frame = np.asarray(attachment.native(core(), {**row, "strength": 1.0}).frame(side.flesh.body))
        line, size = frame[None, :3, 3], sum(row[name] for name in size_names(attachment.template))
    away = np.min([np.linalg.norm(skin - point, axis=1) for point in line], axis=0)
    return np.clip(1.0 - (away / max(size, 1.01 * away.min())) ** 2, 0.0, None) ** 2


def sculpt_reach(side: LimbOwner, rig: ThewRig) -> np.ndarray:
    """Returns how much a sculpted rig tells of each vertex of the skin, [n]: by the offsets of its points, each at the nearest skin."""
    surface = side.flesh.surface
    found, (points, offsets, _) = np.zeros(len(surface.vertices)), sculpted_rigs.whole_shape(rig.sculpt)
    if len(points):
        _, _, faces = surface.closest_point(side.flesh.place.points(points))
        for corner in np.asarray(surface.triangles)[faces].T:
            np.add.at(found, corner, np.linalg.norm(offsets, axis=1))
    return found if found.any() else np.ones(len(found))


#: Weights of the skin's vertices where a rig acts, by its kind.
REACHES_BY_KIND = {"FORCE": force_reach, "MUSCLE": force_reach, "SCULPTED": sculpt_reach}


class BoneTurn:
    """The rotation from a bone's rest axes to its partner's, in the place of a `LimbMap`."""

    def __init__(self, link: CharacterLink, source: int, target: int):
        self.link, self.source, self.target = link, int(source), int(target)

    @property
    def one(self) -> BoneTurn:
        return self

    def locate(self, _point: np.ndarray) -> None:
        """A bone turns alike everywhere."""

    def axis(self, _located: None, axis: np.ndarray) -> np.ndarray:
        """Returns an axis [3] on the other character: that of the partner's turn while the bone makes a quarter turn about it."""
        skeleton = self.link.here.flesh.skeleton
        unit = np.asarray(axis) / np.linalg.norm(axis)
        cross = np.cross(np.eye(3), unit)  # [unit]ₓ
        turn, head = np.eye(3) + cross + cross @ cross, np.asarray(skeleton.heads)[self.source]
        pose = np.tile(np.eye(4), (len(skeleton.names), 1, 1))
        pose[self.source, :3, :3], pose[self.source, :3, 3] = turn, head - turn @ head
        moved = self.link.native.pose(pose)[self.target, :3, :3]
        return 0.5 * np.array([moved[2, 1] - moved[1, 2], moved[0, 2] - moved[2, 0], moved[1, 0] - moved[0, 1]])


def attachment_of(template: str, guide: Any) -> Attachment:
    """Returns the attachment of a native guide."""
    thew = core()
    if isinstance(guide, thew.BoneGuide):
        return Attachment(template, "BONE", bone=guide.bone)
    if isinstance(guide, thew.SkinGuide):
        return Attachment(template, "SKIN", triangle=guide.face, barycentric=tuple(guide.barycentric))
    return Attachment(template, "FREE", matrix=tuple(np.asarray(guide.matrix).ravel().tolist()))
