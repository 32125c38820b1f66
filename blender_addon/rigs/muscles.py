# SPDX-License-Identifier: GPL-3.0-or-later
"""Muscles: rigs between two places on bones. Finds their bones, and the turn of a joint by which a muscle gets shorter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sliders import MUSCLE_SLIDERS
from ..saved.rigs import ThewRig
from ..saved.samples import quiet_edits
from ..scene.reading import armature_of
from .anchors import find_bone, find_insertion


@dataclass(frozen=True)
class MuscleAttachment:
    """The bones of a muscle's ends: their indices in the skeleton, or their names."""

    origin: int | str
    insertion: int | str
    guide: str = "MUSCLE"

    def bones(self, names: list[str]) -> tuple[str, ...]:
        """Returns the names of both bones, of a skeleton with bones of these `names`."""
        return tuple(bone if isinstance(bone, str) else names[bone] for bone in (self.origin, self.insertion))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the native parameters, in order."""
        return MUSCLE_SLIDERS

    def native(self, thew: Any, parameters: dict[str, float], samples=(), name: str = "Rig") -> Any:
        """Returns the `thew.Rig` with native parameters. `samples`: (control, parameters) each."""

        def end(bone: int | str, which: str) -> Any:
            return thew.BoneGuide(bone, **{key: parameters[f"{which}_{key}"] for key in ("along", "angle", "distance")})

        origin, insertion = end(self.origin, "origin"), end(self.insertion, "insertion")
        sizes = {key: parameters[key] for key in ("radius", "contraction", "bow")}
        return thew.muscle(origin, insertion, samples=samples, name=name, **sizes)


def find_ends(obj, character, _bind_pose, _place, rig: ThewRig, _faces) -> MuscleAttachment:
    """Returns the bones of a muscle. Stores their new names. Raises a `Refusal` if one is gone."""
    armature = armature_of(obj)
    if armature is None:
        raise Refusal(f"{describe(obj)} has lost its armature: give its Armature modifier one")
    found = {"origin": find_bone(armature, rig), "insertion": find_insertion(armature, rig)}
    for end, given, bone in zip(found, (rig.bone, rig.insertion), found.values(), strict=True):
        if not given:
            raise Refusal(f"The {end} of the muscle “{rig.name}” is on no bone: choose one")
        if not bone:
            raise Refusal(
                f"The bone “{given}” of the muscle “{rig.name}” is gone from {describe(armature)}: choose another one"
            )
        if bone not in character.bones:
            raise Refusal(
                f"The bone “{bone}” of the muscle “{rig.name}” moves no flesh of {describe(obj)}: choose one that has "
                "weights"
            )
    if (rig.bone, rig.insertion) != tuple(found.values()):
        with quiet_edits():
            rig.bone, rig.insertion = found.values()
    return MuscleAttachment(*(character.bones.index(bone) for bone in found.values()))


def named_ends(obj, rig: ThewRig) -> MuscleAttachment:
    """Returns the bones of a muscle by name, even if they are gone."""
    armature = armature_of(obj)
    found = ("", "") if armature is None else (find_bone(armature, rig), find_insertion(armature, rig))
    return MuscleAttachment(found[0] or rig.bone, found[1] or rig.insertion)
