# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs copied to another character along the correspondence of both: pairs of bones, and the map of one skin to the other."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..logic import sculpted_rigs
from ..logic.native import core
from ..logic.sliders import SLIDERS, TEMPLATE_SLIDERS, is_length, native_parameters, size_names, slider_parameters
from ..rigs.rigging import Attachment, SculptAttachment
from ..saved.rigs import ThewRig
from ..saved.slider_groups import values_of
from ..scene.reading import armature_of
from .limb_guides import LimbOwner
from .limb_rigs import RigCopy, SculptCopy
from .posed_character import current_pose


class CharacterLink:
    """The correspondence of two characters, found when a rig first needs it.

    `pairs`: names of bones, source and target, that are kept. `swapped`: left and right of the target are exchanged.
    """

    def __init__(self, here: LimbOwner, there: LimbOwner, pairs=(), names: bool = True, swapped: bool = False):
        self.here, self.there, self.pairs, self.names, self.swapped = here, there, list(pairs), names, swapped

    @cached_property
    def native(self) -> Any:
        """The `thew.Correspondence`."""
        thew, bodies = core(), (self.here.flesh.body, self.there.flesh.body)
        found = thew.Correspondence(*bodies, bones=self.pairs, names=self.names)
        if self.swapped:
            found = thew.Correspondence(*bodies, bones=found.swapped_sides(), names=False)
        return found

    def message(self) -> str:
        """Returns how well the skins match, as a clause."""
        share = 100.0 * self.native.report.mean_distance / self.there.flesh.surface.size
        return f"the skins match to {share:.2f} % of the size on average, by {len(self.native.bones)} pairs of bones"

    def ghost(self, depsgraph) -> np.ndarray:
        """Returns the edges of the source's skin where the map puts them on the target as it is posed, [e, 2, 3], Blender's world."""
        flesh, places = self.there.flesh, np.asarray(self.native.places)
        maps = np.asarray(flesh.place.maps(current_pose(self.there.obj, flesh, depsgraph).maps))
        _, _, nearest = flesh.surface.closest_point(places)
        weights = flesh.character.weights[flesh.character.triangles[nearest]].mean(axis=1)
        moved = np.einsum("vb,bij,vj->vi", weights, maps[:, :3, :3], places) + weights @ maps[:, :3, 3]
        triangles = np.asarray(self.here.flesh.surface.triangles)
        edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
        return np.asarray(flesh.place.world(moved))[np.unique(edges, axis=0)]

    def plan(self, rig: ThewRig, attachment: Attachment | SculptAttachment) -> RigCopy | SculptCopy:
        """Returns a rig as it is on the other character. Raises the native error if its bone has no partner."""
        same = [(other.name, other.kind, other.template, other.guide) for other in self.there.obj.thew.rigs]
        double = (rig.name, rig.kind, rig.template, rig.guide) in same
        if isinstance(attachment, SculptAttachment):
            carried = attachment.native(core(), name=rig.name).retarget(self.native)
            return SculptCopy(rig, sculpted_rigs.saved_text(core(), carried, self.there.flesh.place), double)
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

    def bones(self) -> dict[str, tuple[str, BoneTurn]]:
        """Returns the partner of each paired bone, and the turn between both. Bones renamed since flesh was added are left out."""
        pairs = zip(self.native.bones, self.native.pairs, strict=True)
        there = armature_of(self.there.obj).data.bones
        return {source: (partner, BoneTurn(self, *indices)) for (source, partner), indices in pairs if partner in there}


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
