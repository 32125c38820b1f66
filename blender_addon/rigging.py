# SPDX-License-Identifier: GPL-3.0-or-later
"""From saved rigs to native ones: what they hang on, in which units, and where their controls stand.

What cannot be resolved leaves its rig with a sentence, switched off but kept; it comes back when the cause is gone.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import bpy
import numpy as np

from . import reading
from .anchors import armature_of, found_bone, found_face, triangles_and_faces
from .logic.errors import Refusal, sentence
from .logic.spaces import Place
from .reading import describe
from .rig_properties import (
    GUIDE_SLIDERS,
    LENGTHS,
    NEAR,
    SLIDERS,
    TEMPLATE_SLIDERS,
    ThewRig,
    in_force,
    quietly,
    sliders_of,
    values_at,
    values_now,
)

# units ----------------------------------------------------------------------------------------------------------------


def native_parameters(names: tuple[str, ...], values: tuple[float, ...], metres_per_unit: float) -> dict[str, float]:
    """The native parameters `names` of values for all of `SLIDERS`: lengths in metres."""
    given = dict(zip(SLIDERS, values, strict=True))
    return {name: given[name] * (metres_per_unit if name in LENGTHS else 1.0) for name in names}


def slider_parameters(parameters: dict[str, float], metres_per_unit: float) -> dict[str, float]:
    """Native parameters as slider values: lengths in Blender's units."""
    return {name: value / (metres_per_unit if name in LENGTHS else 1.0) for name, value in parameters.items()}


# resolved rigs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hook:
    """A template and what it hangs on, as numbers: everything of a rig but its parameters."""

    template: str
    guide: str
    bone: int = -1  # in the skeleton
    triangle: int = -1
    barycentric: tuple[float, ...] = ()
    matrix: tuple[float, ...] = ()  # by rows, in metres

    @property
    def names(self) -> tuple[str, ...]:
        """The native parameters, in order."""
        return TEMPLATE_SLIDERS[self.template] + GUIDE_SLIDERS[self.guide]

    def native(self, thew: Any, parameters: dict[str, float], samples=(), name: str = "Rig") -> Any:
        """A `thew.Rig` that hangs here, with native parameters; samples are (control, parameters)."""
        given = {key: parameters[key] for key in TEMPLATE_SLIDERS[self.template]}
        template = thew.Template(self.template.lower(), **given)
        place = {key: parameters[key] for key in GUIDE_SLIDERS[self.guide]}
        if self.guide == "BONE":
            guide = thew.BoneGuide(self.bone, **place)
        elif self.guide == "SKIN":
            guide = thew.SkinGuide(self.triangle, self.barycentric, **place)
        else:
            guide = thew.FreeGuide(np.array(self.matrix).reshape(4, 4))
            samples = samples or (((0.0, parameters),) if any(place.values()) else ())
        return thew.Rig(template, guide=guide, samples=samples, name=name)


@dataclass(frozen=True)
class Resolved:
    """A rig that is switched on, with what it hangs on found; or the sentence that says why it cannot push."""

    index: int  # in `Object.thew.rigs`
    name: str
    hook: Hook | None
    samples: tuple[tuple[float, tuple[float, ...]], ...]  # control and all `SLIDERS`, Blender's units
    values: tuple[float, ...]  # all `SLIDERS` of a rig without samples
    problem: str = ""

    def native(self, thew: Any, metres_per_unit: float) -> Any:
        """The `thew.Rig`; raises the native error that says what is wrong with its numbers."""
        names = self.hook.names
        samples = [(control, native_parameters(names, values, metres_per_unit)) for control, values in self.samples]
        last = samples[-1][1] if samples else native_parameters(names, self.values, metres_per_unit)
        return self.hook.native(thew, last, samples, self.name)


def resolve(obj: bpy.types.Object, armature: bpy.types.Object, character, stance, place: Place) -> tuple[Resolved, ...]:
    """Every rig of `obj` that is switched on; notes new names of bones and new indices of faces at the rigs."""
    broken = broken_drivers(obj)
    found = []
    for index, (rig, on) in enumerate(zip(obj.thew.rigs, in_force(obj), strict=True)):
        if on:
            found.append(resolved(obj, armature, character, stance, place, index, rig, broken.get(index, "")))
    return tuple(found)


def resolved(obj, armature, character, stance, place, index: int, rig: ThewRig, problem: str = "") -> Resolved:
    """One rig of `obj`."""
    samples = tuple(sorted(((s.control, tuple(s.values)) for s in rig.samples), key=lambda sample: sample[0]))
    values = tuple(getattr(rig, name) for name in SLIDERS)
    hook = None
    try:
        if problem:
            raise Refusal(problem)
        check_numbers(rig, samples, values)
        hook = hooked(obj, armature, character, stance, place, rig)
    except Refusal as error:
        problem = sentence(str(error))
    return Resolved(index, rig.name, hook, samples, values, problem)


def check_numbers(rig: ThewRig, samples, values) -> None:
    """Refuse numbers that make no field."""
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
            if slider in {"radius", "ring_radius", "tube_radius"} and value <= 0.0:
                label = rig.bl_rna.properties[slider].name
                raise Refusal(f"{label} of the rig “{rig.name}”{where} is zero: make it larger")
    for (a, _), (b, _) in pairwise(samples):
        if not b - a > NEAR:
            raise Refusal(f"{name} has two samples at the control value {a:.4g}: remove one, or move it")


def hooked(obj, armature, character, stance, place: Place, rig: ThewRig) -> Hook:
    """What `rig` hangs on; a `Refusal` when that is gone."""
    if rig.guide == "BONE":
        bone = found_bone(armature, rig)
        if not rig.bone:
            raise Refusal(f"The rig “{rig.name}” hangs on no bone: choose one")
        if not bone:
            raise Refusal(
                f"The bone “{rig.bone}” of the rig “{rig.name}” is gone from {describe(armature)}: choose another one"
            )
        if bone != rig.bone:
            with quietly():
                rig.bone = bone
        if bone not in character.bones:
            raise Refusal(
                f"The bone “{bone}” of the rig “{rig.name}” moves no flesh of {describe(obj)}: choose one that has weights"
            )
        return Hook(rig.template, "BONE", bone=character.bones.index(bone))
    if rig.guide == "SKIN":
        face = found_face(obj.data, rig, character.rest)
        if face is None:
            raise Refusal(f"The face of the rig “{rig.name}” is gone from {describe(obj)}: place the rig anew")
        triangle, shares = face
        with quietly():
            if triangle != rig.face:
                rig.face = triangle
                rig.barycentric = shares
                rig.face_part = int(triangle - np.flatnonzero(np.equal(*_same_face(obj.data, triangle)))[0])
        if not np.isfinite(shares).all() or abs(shares.sum() - 1.0) > 1e-3:
            raise Refusal(f"The place of the rig “{rig.name}” in its face is not a number: place the rig anew")
        if np.linalg.det(stance.mesh_matrix[:3, :3]) < 0.0:
            shares = shares[::-1]  # as the triangles themselves: see `session.make`
        return Hook(rig.template, "SKIN", triangle=triangle, barycentric=tuple((shares / shares.sum()).tolist()))
    matrix = np.array(rig.matrix, dtype=np.float64).reshape(4, 4)
    turn = matrix[:3, :3]
    if not np.isfinite(matrix).all() or np.abs(turn @ turn.T - np.eye(3)).max() > 1e-3 or np.linalg.det(turn) < 0.0:
        raise Refusal(f"The place of the rig “{rig.name}” is not a rigid matrix: place the rig anew")
    u, _, v = np.linalg.svd(turn)
    matrix[:3, :3] = u @ v  # single precision is not quite rigid
    matrix[:3, 3] = place.points(matrix[:3, 3])
    matrix[3] = (0.0, 0.0, 0.0, 1.0)
    return Hook(rig.template, "FREE", matrix=tuple(matrix.ravel().tolist()))


def _same_face(mesh, triangle: int) -> tuple[np.ndarray, np.int32]:
    faces = triangles_and_faces(mesh)[1]
    return faces, faces[triangle]


def native_rig(obj: bpy.types.Object, flesh, rig: ThewRig) -> Any:
    """The native rig of one of `obj`, on the flesh as it was built; a `Refusal` or native error says why there is none."""
    from .native import core

    armature = armature_of(obj)
    index = next(i for i, other in enumerate(obj.thew.rigs) if other == rig)
    found = resolved(obj, armature, flesh.character, flesh.stance, flesh.place, index, rig)
    if found.problem:
        raise Refusal(found.problem)
    return found.native(core(), flesh.place.metres_per_unit)


# controls -------------------------------------------------------------------------------------------------------------

_CONTROL = re.compile(r"^thew\.rigs\[(?:(\d+)|\"((?:[^\"\\]|\\.)*)\")\]\.control$")


def rig_of_path(obj: bpy.types.Object, path: str) -> int:
    """The index of the rig whose control a data path names, -1 for any other path."""
    match = _CONTROL.match(path)
    if match is None:
        return -1
    if match[1] is not None:
        return int(match[1])
    return obj.thew.rigs.find(bpy.utils.unescape_identifier(match[2]))


def animated(obj: bpy.types.Object) -> tuple[bool, ...]:
    """Which of the object's rigs have a control that is keyed or driven."""
    count, data = len(obj.thew.rigs), obj.animation_data
    if count == 0 or data is None:
        return (False,) * count
    if data.use_nla and len(data.nla_tracks):
        return (True,) * count
    moved = {rig_of_path(obj, curve.data_path) for curve in (*data.drivers, *reading.curves_in(data))}
    return tuple(i in moved for i in range(count))


def evaluated_controls(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """The control of every rig as animation and drivers have it now, float64[r]; by hand where nothing moves it."""
    rigs = obj.thew.rigs
    controls = np.array([rig.control for rig in rigs], dtype=np.float64)
    moved = animated(obj)
    if any(moved):
        evaluated = obj.evaluated_get(depsgraph).thew.rigs
        for i, is_moved in enumerate(moved):
            if is_moved and i < len(evaluated):
                controls[i] = evaluated[i].control
    return controls


def broken_drivers(obj: bpy.types.Object) -> dict[int, str]:
    """For rigs whose driver cannot work, by index, why."""
    data = obj.animation_data
    if data is None or not len(obj.thew.rigs):
        return {}
    found = {}
    for curve in data.drivers:
        index = rig_of_path(obj, curve.data_path)
        if not 0 <= index < len(obj.thew.rigs):
            continue
        name = obj.thew.rigs[index].name
        for variable in curve.driver.variables:
            if variable.type not in {"TRANSFORMS", "ROTATION_DIFF", "LOC_DIFF"}:
                continue
            for target in variable.targets:
                if target.id is None:
                    found[index] = f"The driver of the rig “{name}” has lost its object: make the driver again"
                elif lost_bone(target):
                    found[index] = (
                        f"The driver of the rig “{name}” looks for the bone “{target.bone_target}”, which is gone from "
                        f"{describe(target.id)}: make the driver again"
                    )
        if index not in found and not curve.driver.is_valid:
            found[index] = f"The driver of the rig “{name}” does not work: repair it, or make it again"
    return found


def lost_bone(target: bpy.types.DriverTarget) -> bool:
    """Whether a driver's target names a bone that its armature does not have."""
    return bool(target.bone_target) and target.id.type == "ARMATURE" and target.bone_target not in target.id.pose.bones


def fingerprint(obj: bpy.types.Object) -> tuple:
    """Everything that the rigs' pushes depend on, as far as it can be told cheaply; () for an object without rigs."""
    rigs = obj.thew.rigs
    if not len(rigs):
        return ()
    armature, moved, broken = armature_of(obj), animated(obj), broken_drivers(obj)
    prints: list[tuple | None] = []
    for i, (rig, on) in enumerate(zip(rigs, in_force(obj), strict=True)):
        if not on:
            prints.append(None)
            continue
        hangs: tuple = ()
        if rig.guide == "BONE":
            hangs = (found_bone(armature, rig) if armature is not None else "",)
        elif rig.guide == "SKIN":
            hangs = (rig.face, rig.face_token, tuple(rig.barycentric))
        else:
            hangs = tuple(rig.matrix)
        samples = tuple((s.control, tuple(s.values)) for s in rig.samples)
        values = () if samples else tuple(getattr(rig, name) for name in SLIDERS)
        control = None if moved[i] else rig.control
        prints.append((rig.template, rig.guide, hangs, samples, values, control, broken.get(i, "")))
    return tuple(prints)


# what the settled view shows ------------------------------------------------------------------------------------------


def parameters_now(rig: ThewRig, control: float, metres_per_unit: float) -> dict[str, float]:
    """The native parameters that the artist sees at a control value: a draft where there is one."""
    return native_parameters(sliders_of(rig), values_now(rig, control), metres_per_unit)


def recorded_parameters(rig: ThewRig, control: float, metres_per_unit: float) -> dict[str, float]:
    """The native parameters as recorded."""
    return native_parameters(sliders_of(rig), values_at(rig, control), metres_per_unit)
