# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts saved rigs to native ones: resolves their attachments, units and controls.

A rig that cannot be resolved gets a sentence that says why. It is switched off but kept, and works again when the cause is gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import bpy
import numpy as np

from ..logic import sculpted_rigs
from ..logic.errors import Refusal, sentence
from ..logic.names import describe
from ..logic.native import core
from ..logic.sliders import GUIDE_SLIDERS, SLIDERS, SLIDERS_BY_NAME, TEMPLATE_SLIDERS, native_parameters
from ..logic.spaces import MetricSpace, mirrors
from ..saved import rig_layouts
from ..saved.rigs import ThewRig, are_in_force, on_rig
from ..saved.samples import (
    CONTROL_TOLERANCE,
    current_values,
    quiet_edits,
    recorded_samples,
    show_sliders,
    slider_values,
    sliders_of,
)
from ..scene import animation
from ..scene.reading import armature_of
from ..scene.rig_controls import are_animated, broken_drivers, rig_of_path
from . import muscles
from .anchors import MeshFaces, anchor_bone, anchor_ends, anchor_face, find_bone, find_face, follow_renamed, unmark
from .muscles import MuscleAttachment

#: Largest strength of a field, N/m³. Stronger ones only tear the flesh apart: over a millimetre it presses with 10 MPa,
#: 500 times the stiffness of flesh of 20 kPa.
MAX_STRENGTH = 1e10

# resolved rigs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attachment:
    """A template and its attachment as numbers: everything of a rig but its parameters."""

    template: str
    guide: str
    bone: int | str = -1  # its index in the skeleton, or its name
    triangle: int = -1
    barycentric: tuple[float, ...] = ()
    matrix: tuple[float, ...] = ()  # by rows, in metres

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the native parameters, in order."""
        return TEMPLATE_SLIDERS[self.template] + GUIDE_SLIDERS[self.guide]

    def native(self, thew: Any, parameters: dict[str, float], samples=(), name: str = "Rig") -> Any:
        """Returns a `thew.Rig` at this attachment, with native parameters. `samples`: (control, parameters) each."""
        given = {key: parameters[key] for key in TEMPLATE_SLIDERS[self.template]}
        template = thew.Template(self.template.lower(), **given)
        place = {key: parameters[key] for key in GUIDE_SLIDERS[self.guide]}
        if self.guide == "BONE":
            guide = thew.BoneGuide(self.bone, **place)
        elif self.guide == "SKIN":
            guide = thew.SkinGuide(self.triangle, self.barycentric, **place)
        else:
            guide = thew.FreeGuide(np.array(self.matrix).reshape(4, 4), **place)
        return thew.Rig(template, guide=guide, samples=samples, name=name)


@dataclass(frozen=True)
class SculptAttachment:
    """A sculpted rig as the core's text, in metres. It hangs on nothing."""

    samples: str
    bones: tuple[str, ...] = ()  # the artist's names of the skeleton's bones
    guide: str = "SCULPT"

    def native(self, thew: Any, _parameters=None, _samples=(), name: str = "Rig", body: Any = None) -> Any:
        """Returns the `thew.Rig`, for a `body` with the names that its bones had when it was built."""
        names = {} if body is None else other_names(self.bones, body.skeleton.names)
        return sculpted_rigs.native_rig(thew, self.samples, name, names)


def other_names(bones, names) -> dict[str, str]:
    """Returns the names of the same bones in another list, where they differ."""
    return {bone: name for bone, name in zip(bones, names, strict=False) if bone != name}


@dataclass(frozen=True)
class ResolvedRig:
    """A rig with its attachment found, or with a sentence that says why it cannot push."""

    index: int  # in `Object.thew.rigs`
    name: str
    on: bool  # enabled, with regard to solo
    attachment: Attachment | SculptAttachment | MuscleAttachment | None
    samples: tuple[tuple[float, tuple[float, ...]], ...]  # control and all `SLIDERS`, Blender's units
    values: tuple[float, ...]  # all `SLIDERS` of a rig without samples
    control: float | None  # `None`: keyed or driven
    problem: str = ""
    by_yield: bool = False  # strengths are yields
    firmness: float = 0.0

    @property
    def essence(self) -> tuple:
        """All that the native rig depends on."""
        return (
            self.index,
            self.name,
            self.attachment,
            self.samples,
            self.values,
            self.problem,
            self.by_yield,
            self.firmness,
        )

    def native(self, thew: Any, metres_per_unit: float, body: Any) -> Any:
        """Returns the `thew.Rig`. If strengths are yields, they are converted to forces on the flesh of `body`.

        Raises the native error that says what is wrong with its numbers.
        """
        if isinstance(self.attachment, SculptAttachment):
            return self.attachment.native(thew, name=self.name, body=body)
        rows = [values for _, values in self.samples] or [self.values]
        given = [native_parameters(self.attachment.names, row, metres_per_unit, self.by_yield) for row in rows]
        if self.by_yield:
            yields = [parameters["strength"] for parameters in given]
            given = [{**parameters, "strength": 1.0} for parameters in given]

        def build_rig() -> Any:
            samples = [(control, row) for (control, _), row in zip(self.samples, given, strict=False)]
            return self.attachment.native(thew, given[-1], samples, self.name).with_firmness(self.firmness)

        if self.by_yield:
            native = build_rig().with_peak_displacements(body, yields)
            strengths = [native.parameters(control)["strength"] for control, _ in self.samples]
            strengths = strengths or [native.parameters()["strength"]]
            given = [{**row, "strength": strength} for row, strength in zip(given, strengths, strict=True)]
        return build_rig()


def resolve_rigs(obj: bpy.types.Object, character, bind_pose, place: MetricSpace) -> tuple[ResolvedRig, ...]:
    """Resolves every rig of `obj`. Stores new names of bones and new indices of faces in the rigs."""
    if not len(obj.thew.rigs):
        return ()
    broken, moved, faces = broken_drivers(obj), are_animated(obj), MeshFaces(obj.data)
    found = []
    for index, (rig, on) in enumerate(zip(obj.thew.rigs, are_in_force(obj), strict=True)):
        control = None if moved[index] else rig.control
        problem = broken.get(index, "")
        found.append(resolve_rig(obj, character, bind_pose, place, rig, index, on, control, problem, faces))
    return tuple(found)


def resolve_rig(
    obj, character, bind_pose, place, rig, index=0, on=True, control=None, problem="", faces: MeshFaces | None = None
) -> ResolvedRig:
    """Resolves one rig of `obj`."""
    samples, values, attachment = recorded_samples(rig), slider_values(rig), None
    try:
        rig_layouts.check(rig)
        attachment = find_attachment(obj, character, bind_pose, place, rig, faces)
        check_numbers(rig, samples, values)
        if not math.isfinite(rig.firmness):
            raise Refusal(f"Firmness of the rig “{rig.name}” is not a number: set it anew")
        if control is not None and not math.isfinite(control):
            raise Refusal(f"The control of the rig “{rig.name}” is not a number: set it anew")
        if problem:
            raise Refusal(problem)
    except Refusal as error:
        problem = sentence(str(error))
    by_yield, firmness = rig.strength_by == "YIELD", float(rig.firmness)
    return ResolvedRig(index, rig.name, on, attachment, samples, values, control, problem, by_yield, firmness)


def check_numbers(rig: ThewRig, samples, values) -> None:
    """Refuses numbers that do not make a field."""
    name = f"The rig “{rig.name}”"
    used = sliders_of(rig)
    for control, row in samples or ((rig.control, values),):
        where = f" in the sample at {control:.4g}" if samples else ""
        if not math.isfinite(control):
            raise Refusal(f"{name} has a control value that is not a number{where}: set it anew")
        for slider, value in zip(SLIDERS, row, strict=True):
            if slider not in used:
                continue
            if not math.isfinite(value):
                label = rig.bl_rna.properties[slider].name
                raise Refusal(f"{label} of the rig “{rig.name}”{where} is not a number: set it anew")
            if SLIDERS_BY_NAME[slider].size and value <= 0.0:
                label = rig.bl_rna.properties[slider].name
                raise Refusal(f"{label} of the rig “{rig.name}”{where} is zero: make it larger")
            if slider == "strength" and rig.strength_by == "FORCE" and abs(value) > MAX_STRENGTH:
                raise Refusal(
                    f"The strength of the rig “{rig.name}”{where} is {value:.3g} N/m3, more than {MAX_STRENGTH:.0e}, "
                    "which no flesh withstands: lower it"
                )
        sizes = {slider: value for slider, value in zip(SLIDERS, row, strict=True) if slider in used}
        if sizes.get("tube_radius", 0.0) >= sizes.get("ring_radius", math.inf):
            raise Refusal(f"Tube Radius of the rig “{rig.name}”{where} must be below Ring Radius: make it smaller")
    for (a, _), (b, _) in pairwise(samples):
        if not b - a > CONTROL_TOLERANCE:
            raise Refusal(f"{name} has two samples at the control value {a:.4g}: remove one, or move it")


def find_attachment(
    obj, character, bind_pose, place: MetricSpace, rig: ThewRig, faces: MeshFaces | None = None
) -> Attachment | SculptAttachment | MuscleAttachment:
    """Returns the attachment of `rig`. Raises a `Refusal` if that is gone."""
    return FINDERS_BY_KIND[rig.kind](obj, character, bind_pose, place, rig, faces)


def find_force_attachment(
    obj, character, bind_pose, place: MetricSpace, rig: ThewRig, faces: MeshFaces | None
) -> Attachment:
    """Returns the attachment of a force field."""
    armature = armature_of(obj)
    if armature is None:
        raise Refusal(f"{describe(obj)} has lost its armature: give its Armature modifier one")
    if rig.guide == "BONE":
        bone = find_bone(armature, rig)
        if not rig.bone:
            raise Refusal(f"The rig “{rig.name}” hangs on no bone: choose one")
        if not bone:
            raise Refusal(
                f"The bone “{rig.bone}” of the rig “{rig.name}” is gone from {describe(armature)}: choose another one"
            )
        if bone != rig.bone:
            with quiet_edits():
                rig.bone = bone
        if bone not in character.bones:
            raise Refusal(
                f"The bone “{bone}” of the rig “{rig.name}” moves no flesh of {describe(obj)}: choose one that has weights"
            )
        return Attachment(rig.template, "BONE", bone=character.bones.index(bone))
    if rig.guide == "SKIN":
        faces = faces or MeshFaces(obj.data)
        face = find_face(faces, rig, character.rest)
        if face is None:
            raise Refusal(f"The face of the rig “{rig.name}” is gone from {describe(obj)}: place the rig anew")
        triangle, shares = face
        if triangle != rig.face:
            of = faces.triangles[1]
            with quiet_edits():
                rig.face, rig.barycentric = triangle, shares
                rig.face_part = triangle - int(np.flatnonzero(of == of[triangle])[0])
        if not np.isfinite(shares).all() or abs(shares.sum() - 1.0) > 1e-3:
            raise Refusal(f"The place of the rig “{rig.name}” in its face is not a number: place the rig anew")
        if mirrors(bind_pose.mesh_matrix):
            shares = shares[::-1]  # reversed like the triangles themselves: see `building.enclose`
        return Attachment(rig.template, "SKIN", triangle=triangle, barycentric=tuple((shares / shares.sum()).tolist()))
    matrix = np.array(rig.matrix, dtype=np.float64).reshape(4, 4)
    turn = matrix[:3, :3]
    if not np.isfinite(matrix).all() or np.abs(turn @ turn.T - np.eye(3)).max() > 1e-3 or mirrors(turn):
        raise Refusal(f"The place of the rig “{rig.name}” is damaged: place the rig anew")
    u, _, v = np.linalg.svd(turn)
    matrix[:3, :3] = u @ v  # single precision is not quite rigid
    matrix[:3, 3] = place.points(matrix[:3, 3])
    matrix[3] = (0.0, 0.0, 0.0, 1.0)
    return Attachment(rig.template, "FREE", matrix=tuple(matrix.ravel().tolist()))


def find_sculpt(obj, character, _bind_pose, place: MetricSpace, rig: ThewRig, _faces) -> SculptAttachment:
    """Returns the shapes of a sculpted rig in metres."""
    armature = armature_of(obj)
    if armature is None:
        raise Refusal(f"{describe(obj)} has lost its armature: give its Armature modifier one")
    try:
        follow_renamed(armature, rig)
        origin = tuple(float(x) for x in place.origin)
        text = sculpted_rigs.core_text(rig.sculpt, origin, place.metres_per_unit)
        return SculptAttachment(text, tuple(character.bones))
    except Refusal as error:
        raise Refusal(f"The rig “{rig.name}” cannot push. {error}") from error


#: The attachment of a rig, by its kind.
FINDERS_BY_KIND = {"FORCE": find_force_attachment, "SCULPTED": find_sculpt, "MUSCLE": muscles.find_ends}


def require_template(rig: ThewRig) -> None:
    """Refuses a rig without a template."""
    require_sliders(rig)
    if rig.kind == "MUSCLE":
        raise Refusal(f"The rig “{rig.name}” is a muscle and has no template: change its sliders instead")


def require_sliders(rig: ThewRig) -> None:
    """Refuses a rig without sliders."""
    if rig.kind == "SCULPTED":
        raise Refusal(f"The rig “{rig.name}” is sculpted and has no template: sculpt another shape to change it")


def native_rig(obj: bpy.types.Object, flesh, rig: ThewRig) -> Any:
    """Returns the native rig of one of `obj`, on the flesh as it was built. Raises a `Refusal` or native error if that fails."""
    found = resolve_rig(obj, flesh.character, flesh.bind_pose, flesh.place, rig)
    if found.problem:
        raise Refusal(found.problem)
    return found.native(core(), flesh.place.metres_per_unit, flesh.body)


def problems(rigs: tuple[ResolvedRig, ...]) -> dict[int, str]:
    """Returns, by index, why rigs cannot push, as far as that is known without the flesh."""
    return {rig.index: rig.problem for rig in rigs if rig.problem}


def blame_rig(name: str, text: str) -> str:
    """Returns a native sentence about a rig, with its name."""
    return sentence(text if name in text else f"The rig “{name}” cannot push: {text}")


def portable_rig(obj: bpy.types.Object, flesh, rig: ThewRig) -> ResolvedRig:
    """Returns a rig for a file, with its bone by name even if that is gone. Raises a `Refusal` if its face is gone."""
    samples, values = recorded_samples(rig), slider_values(rig)
    check_numbers(rig, samples, values)
    if rig.kind == "FORCE" and rig.guide == "BONE":
        found = find_bone(armature_of(obj), rig) if armature_of(obj) is not None else ""
        attachment = Attachment(rig.template, "BONE", bone=found or rig.bone)
    elif rig.kind == "MUSCLE":
        attachment = muscles.named_ends(obj, rig)
    else:
        attachment = find_attachment(obj, flesh.character, flesh.bind_pose, flesh.place, rig)
        if rig.kind == "SCULPTED":
            attachment = replace(attachment, bones=())  # a file has the artist's names
    by_yield, firmness = rig.strength_by == "YIELD", float(rig.firmness)
    return ResolvedRig(0, rig.name, True, attachment, samples, values, rig.control, "", by_yield, firmness)


def attach(obj: bpy.types.Object, flesh, rig: ThewRig, attachment: Attachment | MuscleAttachment) -> None:
    """Attaches a saved rig to the bone, bones, face or frame of an attachment."""
    if attachment.guide == "MUSCLE":
        anchor_ends(obj, rig, *attachment.bones(flesh.character.bones))
    elif attachment.guide == "BONE":
        anchor_bone(obj, rig, flesh.character.bones[attachment.bone])
    elif attachment.guide == "SKIN":
        # The triangles of a mirrored object's surface are reversed: see `building.enclose`.
        shares = attachment.barycentric
        shares = shares[::-1] if mirrors(flesh.bind_pose.mesh_matrix) else shares
        anchor_face(obj, rig, attachment.triangle, shares, flesh.character.rest)
    else:
        with quiet_edits():
            rig.guide, rig.matrix = "FREE", world_matrix(flesh, attachment.matrix)


def world_matrix(flesh, matrix: tuple[float, ...]) -> list[float]:
    """Converts the frame of a free guide from metres to Blender's world at rest, by rows."""
    frame = np.array(matrix).reshape(4, 4)
    frame[:3, 3] = flesh.place.world(frame[:3, 3])
    return frame.ravel().tolist()


def clear(obj: bpy.types.Object) -> None:
    """Removes all rigs, with their keys, drivers and marks."""
    data = obj.animation_data
    if data is not None:
        for curves in (data.drivers, animation.curves_in(data)):
            for curve in [each for each in curves if rig_of_path(obj, each.data_path) >= 0]:
                curves.remove(curve)
    obj.thew.rigs.clear()
    obj.thew.active_rig = 0
    unmark(obj)


def store_problems(obj: bpy.types.Object, problems: dict[int, str], notes: dict[int, str] | None = None) -> None:
    """Sets at every rig why it does not push and, if `notes` is given, why it does less than it is set to."""
    for index, rig in enumerate(obj.thew.rigs):
        if rig.problem != problems.get(index, ""):
            rig.problem = problems.get(index, "")
        if notes is not None and rig.note != notes.get(index, ""):
            rig.note = notes.get(index, "")


def show_edit(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Displays the result of an operator's edit: at once where flesh is settled, soon where it moves."""
    for call in on_rig:
        call(obj)


# values in the settled view -------------------------------------------------------------------------------------------


def current_parameters(rig: ThewRig, control: float, metres_per_unit: float) -> dict[str, float]:
    """Returns the native parameters displayed at a control value, with a draft if it exists and the strength as it is set."""
    return native_parameters(sliders_of(rig), current_values(rig, control), metres_per_unit, rig.strength_by == "YIELD")


def follow_controls(obj: bpy.types.Object) -> None:
    """Updates sliders after keys or drivers moved their controls. Drafts at other control values are lost, as unkeyed poses are."""
    for rig, moved in zip(obj.thew.rigs, are_animated(obj), strict=True):
        if moved and abs(rig.control - rig.at) > CONTROL_TOLERANCE:
            show_sliders(rig)
