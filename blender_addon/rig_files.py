# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs in files: written and read by the native core, in metres; bones by name, faces by index."""

from __future__ import annotations

import os

import bpy
import numpy as np

from . import rig_properties, rigging, session
from .anchors import anchor_bone, anchor_face, armature_of
from .logic.errors import Refusal, sentence
from .logic.spaces import transform
from .native import core
from .rig_properties import SLIDERS, ThewRig


def export(obj: bpy.types.Object, scene: bpy.types.Scene, path: str) -> tuple[int, list[str]]:
    """Write the rigs of `obj`; gives how many, and a sentence for each that has numbers no file can hold."""
    thew, flesh = core(), session.register.known(obj)
    if not len(obj.thew.rigs):
        raise Refusal(f"“{obj.name}” has no rigs to export: add one first")
    if flesh is None or flesh.character is None:
        raise Refusal(f"The flesh of “{obj.name}” is not built yet: press Settle or Simulate first")
    natives, left = [], []
    for rig in obj.thew.rigs:
        try:
            natives.append(rigging.portable(obj, flesh, rig).native(thew, flesh.place.metres_per_unit))
        except (Refusal, thew.ThewError) as error:
            left.append(sentence(str(error)))
    if not natives:
        raise Refusal(f"None of the rigs can be written. {left[0]}")
    thew.save_rigs(absolute(path), natives)
    return len(natives), left


def absolute(path: str) -> str:
    """A path that may be relative to the .blend."""
    if not path.strip():
        raise Refusal("Which file? Give a path that ends in .toml")
    return os.path.abspath(bpy.path.abspath(path))


def read(obj: bpy.types.Object, scene: bpy.types.Scene, path: str) -> list[ThewRig]:
    """Add the rigs of a file to `obj`; what does not resolve here says so at its rig and is kept."""
    thew = core()
    natives = thew.load_rigs(absolute(path))
    stance, recipe = session.Stance.saved(obj), session.Recipe.of(obj, scene)
    flesh = session.register.known(obj)
    rest = session.reading.basis_positions(obj.data).astype(np.float64)
    rest = rest if flesh is None or flesh.character is None else flesh.character.rest
    world = transform(stance.mesh_matrix, rest)
    place = session.Place(0.5 * (world.min(axis=0) + world.max(axis=0)), recipe.height / stance.longest_side)
    mirrored = np.linalg.det(stance.mesh_matrix[:3, :3]) < 0.0
    first = len(obj.thew.rigs)
    taken = {rig.name for rig in obj.thew.rigs}
    for native in natives:
        rig = obj.thew.rigs.add()
        with rig_properties.quietly():
            fill(obj, rig, native, place, mirrored, rest, taken)
        taken.add(rig.name)
    obj.thew.active_rig = len(obj.thew.rigs) - 1
    added = list(obj.thew.rigs)[first:]
    if flesh is not None and flesh.character is not None:
        found = rigging.resolve(obj, flesh.character, stance, place)
        built = flesh.body is not None
        rigging.tell_problems(obj, rigging.pushers(found, flesh.body, place)[1] if built else rigging.problems(found))
    return added


def fill(obj, rig: ThewRig, native, place, mirrored: bool, rest: np.ndarray, taken: set[str]) -> None:
    """Make a rig of `obj` what a native one is."""
    rig.name = rig_properties.free_name(native.name, taken)
    rig.template = native.template.kind.upper()
    guide = native.guide
    kind = {"BoneGuide": "BONE", "SkinGuide": "SKIN", "FreeGuide": "FREE"}[type(guide).__name__]
    rig.guide = kind
    if kind == "BONE":
        armature = armature_of(obj)
        rig.bone = bone_name(obj, guide.bone)
        if armature is not None and rig.bone in armature.data.bones:
            anchor_bone(obj, rig, rig.bone)
    elif kind == "SKIN":
        shares = np.asarray(guide.barycentric, dtype=np.float64)
        shares = shares[::-1] if mirrored else shares
        rig.face, rig.barycentric = guide.face, shares
        obj.data.calc_loop_triangles()
        if guide.face < len(obj.data.loop_triangles):
            anchor_face(obj, rig, guide.face, shares, rest)
    else:
        matrix = np.array(guide.matrix, dtype=np.float64)
        matrix[:3, 3] = matrix[:3, 3] / place.metres_per_unit + place.origin
        rig.matrix = matrix.ravel()
    rig.samples.clear()
    for control, _given in native.samples:
        sample = rig.samples.add()
        sample.control = control
        sample.values = values_of(rig, native.parameters(control), place)
    for name, value in zip(SLIDERS, values_of(rig, native.parameters(), place), strict=True):
        setattr(rig, name, value)
    rig.control = rig.samples[-1].control if len(rig.samples) else 1.0
    rig.active_sample = max(0, len(rig.samples) - 1)
    rig.at, rig.draft = rig.control, False


def values_of(rig: ThewRig, parameters: dict[str, float], place) -> list[float]:
    """All of `SLIDERS` for native parameters; those that are not in use stay as the rig has them."""
    given = rigging.slider_parameters(parameters, place.metres_per_unit)
    return [given.get(name, getattr(rig, name)) for name in SLIDERS]


def bone_name(obj: bpy.types.Object, bone: str | int) -> str:
    """The name of a bone that a file gives by name or, written by other hands, by its number in the skeleton."""
    if isinstance(bone, str):
        return bone
    flesh = session.register.known(obj)
    bones = [] if flesh is None or flesh.character is None else flesh.character.bones
    return bones[bone] if 0 <= bone < len(bones) else f"number {bone}"
