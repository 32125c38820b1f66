# SPDX-License-Identifier: GPL-3.0-or-later
"""Rig files, written and read by the native core, in metres: bones by name, faces by index.

A file holds strengths and how far the flesh yielded to them. On another character the yields are used.
"""

from __future__ import annotations

import os

import bpy
import numpy as np

from ..logic import sculpted_rigs
from ..logic.errors import Refusal, sentence
from ..logic.names import free_name
from ..logic.native import core
from ..logic.sliders import SLIDERS, slider_parameters
from ..logic.spaces import mirrors
from ..saved import rigs as saved_rigs
from ..saved.rigs import ThewRig
from ..saved.samples import quiet_edits
from ..saved.slider_groups import set_values
from ..scene.reading import armature_of
from . import pushers, rigging
from .anchors import anchor_bone, anchor_ends, anchor_face, anchor_sculpt


def export(obj: bpy.types.Object, flesh, path: str) -> tuple[int, list[str]]:
    """Writes the rigs of `obj`. Returns their number, and a sentence for each rig that cannot be written."""
    thew = core()
    if not len(obj.thew.rigs):
        raise Refusal(f"“{obj.name}” has no rigs to export: add one first")
    natives, left = [], []
    for rig in obj.thew.rigs:
        try:
            found = rigging.portable_rig(obj, flesh, rig)
            natives.append(found.native(thew, flesh.place.metres_per_unit, flesh.body))
        except (Refusal, thew.ThewError) as error:
            left.append(sentence(str(error)))
    if not natives:
        raise Refusal(f"None of the rigs can be written. {left[0]}")
    thew.save_rigs(absolute_path(path), natives, flesh.body)
    return len(natives), left


def absolute_path(path: str) -> str:
    """Returns the absolute path of one that may be relative to the .blend."""
    if not path.strip():
        raise Refusal("Which file? Give a path that ends in .toml")
    return os.path.abspath(bpy.path.abspath(path))


def read(obj: bpy.types.Object, flesh, path: str) -> list[ThewRig]:
    """Adds the rigs of a file to `obj` and returns them. A rig that does not resolve here is kept and says so."""
    natives = core().load_rigs(absolute_path(path), flesh.body)
    first = len(obj.thew.rigs)
    taken = {rig.name for rig in obj.thew.rigs}
    for native in natives:
        rig = saved_rigs.new_rig(obj)
        with quiet_edits():
            fill(obj, flesh, rig, native, taken)
        taken.add(rig.name)
    obj.thew.active_rig = len(obj.thew.rigs) - 1
    pushers.store_problems(obj, flesh)
    return list(obj.thew.rigs)[first:]


def fill(obj, flesh, rig: ThewRig, native, taken: set[str]) -> None:
    """Copies a native rig into a rig of `obj`."""
    place, mirrored = flesh.place, mirrors(flesh.bind_pose.mesh_matrix)
    rig.name = free_name(native.name, taken)
    if native.kind == "sculpted":
        rig.kind, rig.strength_by = "SCULPTED", "FORCE"
        rig.sculpt = sculpted_rigs.saved_text(core(), native, place)
        anchor_sculpt(obj, rig)
        rig.control = rig.at = native.samples[-1][0] if native.samples else 1.0
        return
    rig.firmness = native.firmness
    if native.kind == "muscle":
        fill_muscle(obj, flesh, rig, native)
        return
    rig.template = native.template.kind.upper()
    guide = native.guide
    kind = {"BoneGuide": "BONE", "SkinGuide": "SKIN", "FreeGuide": "FREE"}[type(guide).__name__]
    rig.guide = kind
    if kind == "BONE":
        armature = armature_of(obj)
        rig.bone = bone_name(flesh, guide.bone)
        if armature is not None and rig.bone in armature.data.bones:
            anchor_bone(obj, rig, rig.bone)
    elif kind == "SKIN":
        shares = np.asarray(guide.barycentric, dtype=np.float64)
        shares = shares[::-1] if mirrored else shares
        rig.face, rig.barycentric = guide.face, shares
        obj.data.calc_loop_triangles()
        if guide.face < len(obj.data.loop_triangles):
            anchor_face(obj, rig, guide.face, shares, flesh.character.rest)
    else:
        matrix = np.array(guide.matrix, dtype=np.float64)
        matrix[:3, 3] = place.world(matrix[:3, 3])
        rig.matrix = matrix.ravel()
    rows = [native.parameters(control) for control, _given in native.samples] or [native.parameters()]
    try:
        yields = native.peak_displacements(flesh.body)
        rig.strength_by = "YIELD"
        rows = [{**row, "strength": float(much)} for row, much in zip(rows, yields, strict=True)]
    except core().ThewError:  # it does not fit this flesh: its forces stay as they were
        rig.strength_by = "FORCE"
    fill_samples(rig, native, rows, place)


def fill_muscle(obj, flesh, rig: ThewRig, native) -> None:
    """Copies a native muscle. A bone that the armature lacks is kept by name."""
    rig.kind, rig.strength_by, rig.guide = "MUSCLE", "FORCE", "BONE"
    rig.bone, rig.insertion = (bone_name(flesh, end.bone) for end in native.ends)
    armature = armature_of(obj)
    if armature is not None and all(bone in armature.data.bones for bone in (rig.bone, rig.insertion)):
        anchor_ends(obj, rig, rig.bone, rig.insertion)
    rows = [native.parameters(control) for control, _given in native.samples] or [native.parameters()]
    fill_samples(rig, native, rows, flesh.place)


def fill_samples(rig: ThewRig, native, rows: list[dict[str, float]], place) -> None:
    """Sets sliders, samples and control of a rig to the parameters of each sample of a native one."""
    rig.samples.clear()
    for (control, _given), row in zip(native.samples, rows, strict=False):
        sample = rig.samples.add()
        sample.control = control
        set_values(sample.sliders, values_of(rig, row, place))
    set_values(rig, values_of(rig, rows[-1], place))
    rig.control = rig.samples[-1].control if len(rig.samples) else 1.0
    rig.active_sample = max(0, len(rig.samples) - 1)
    rig.at, rig.draft = rig.control, False


def values_of(rig: ThewRig, parameters: dict[str, float], place) -> list[float]:
    """Returns all of `SLIDERS` for native parameters, the strength as the rig measures it. Unused sliders keep their values."""
    given = slider_parameters(parameters, place.metres_per_unit, rig.strength_by == "YIELD")
    return [given.get(name, getattr(rig, name)) for name in SLIDERS]


def bone_name(flesh, bone: str | int) -> str:
    """Returns the name of a bone that a file refers to by name or, if it was edited by hand, by its index in the skeleton."""
    if isinstance(bone, str):
        return bone
    bones = flesh.character.bones
    return bones[bone] if 0 <= bone < len(bones) else f"number {bone}"
