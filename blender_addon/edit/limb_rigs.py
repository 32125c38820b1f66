# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs of one character's limbs on the corresponding limbs of another: copied with what they hang on, how large they are, how far flesh
yields to them, and the bone that drives them."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..live import jobs
from ..logic import limb_rigs, limbs
from ..logic.errors import Refusal, sentence
from ..logic.guides import bone_place
from ..logic.names import describe
from ..logic.native import core
from ..logic.sentences import plural
from ..logic.sliders import is_length
from ..logic.spaces import transform
from ..rigs import drivers, files, pushers, rigging
from ..rigs.rigging import Attachment
from ..saved import rigs as saved_rigs
from ..saved.limbs import ThewLimb
from ..saved.rigs import ThewRig
from ..saved.samples import quietly
from ..scene.reading import armature_of
from .limbs import matched, model_of

#: How a driver's target says which turn it reads.
AXES = {"SWING_TWIST_X": "X", "SWING_TWIST_Y": "Y", "SWING_TWIST_Z": "Z"}


@dataclass
class Side:
    """A character with its flesh."""

    obj: bpy.types.Object
    flesh: object

    def model(self, limb: ThewLimb):
        """A limb's model in the metres of the flesh."""
        place, matrix = self.flesh.place, self.flesh.bind_pose.mesh_matrix
        return limbs.placed(core(), model_of(limb), lambda points: place.points(transform(matrix, points)))


@dataclass
class Pair:
    """Two limbs that correspond, in metres."""

    ours: object
    theirs: object
    bones: list[str]
    their_bones: list[str]

    def bone(self, name: str) -> str:
        """The corresponding bone; "" where there is none."""
        if name not in self.bones or len(self.bones) != len(self.their_bones):
            return ""
        return self.their_bones[self.bones.index(name)]


def carry(context, source: bpy.types.Object, target: bpy.types.Object) -> tuple[list[str], list[str]]:
    """Copy the rigs on the limbs of one character to those of another; gives the new rigs' names and a sentence for each that stays."""
    if not len(source.thew.rigs):
        raise Refusal(f"{describe(source)} has no rigs: add one, or choose another mesh to carry from")
    found = matched(source, target)
    scene, layer = context.scene, context.view_layer
    one, other = (Side(obj, jobs.with_body(obj, scene, layer)) for obj in (source, target))
    pairs = [Pair(one.model(a), other.model(b), a.chain(), b.chain()) for a, b in found]
    made, left = [], []
    for rig in source.thew.rigs:
        try:
            made.append((rig.name, rig.control, moved(one, other, pairs, rig)))
        except (Refusal, core().ThewError, ValueError) as error:
            left.append(sentence(f"“{rig.name}” stays: {error}"))
    if not made:
        raise Refusal(f"No rig of {describe(source)} could be carried over. {' '.join(left[:3])}")
    names = [write(one, other, *each).name for each in made]
    target.thew.active_rig = len(target.thew.rigs) - 1
    flesh = other.flesh
    known = rigging.resolve(target, flesh.character, flesh.bind_pose, flesh.place)
    pushing = pushers.Pushers.of(known, flesh.body, flesh.place)
    rigging.tell_problems(target, {**pushing.faults, **rigging.problems(known)}, pushing.notes)
    return names, left


def moved(one: Side, other: Side, pairs: list[Pair], rig: ThewRig):
    """(the native rig on the other body, the limbs it went by)."""
    thew = core()
    resolved = rigging.portable(one.obj, one.flesh, rig)
    native = resolved.native(thew, one.flesh.place.metres_per_unit, one.flesh.body)
    pair = on_limb(pairs, rig, native.frame(one.flesh.body))
    rows = [(control, native.parameters(control)) for control, _ in native.samples]
    rows = rows or [(None, native.parameters())]
    attachment = hung(one, other, pair, resolved.attachment)
    placed, ratios = [], []
    for _, row in rows:
        new, ratio = numbers(one, other, pair, native, attachment, row)
        placed.append(new)
        ratios.append(ratio)
    samples = [(control, row) for (control, _), row in zip(rows, placed, strict=True) if control is not None]
    result = attachment.native(thew, placed[-1], samples, rig.name)
    yields = native.yields(one.flesh.body) * np.array(ratios)
    return result.with_yields(other.flesh.body, yields.tolist()), pair


def on_limb(pairs: list[Pair], rig: ThewRig, frame: np.ndarray) -> Pair:
    """The limb that a rig is on: that of its bone, else the one that it lies deepest in."""

    def far(pair: Pair) -> float:
        own = rig.guide == "BONE" and rig.bone in pair.bones
        return limb_rigs.depth(pair.ours, frame[:3, 3]) - (10.0 if own else 0.0)

    if rig.guide == "BONE" and not any(rig.bone in pair.bones for pair in pairs):
        raise Refusal(f"it hangs on the bone “{rig.bone}”, which is in none of the limbs that both have")
    best = min(pairs, key=far)
    if not np.isfinite(far(best)):
        raise Refusal("it is on none of the limbs that both have")
    return best


def hung(one: Side, other: Side, pair: Pair, attachment: Attachment) -> Attachment:
    """What it hangs on at the other body."""
    if attachment.guide == "BONE":
        bone = pair.bone(attachment.bone)
        if not bone:
            counts = [plural(len(bones), "bone") for bones in (pair.their_bones, pair.bones)]
            raise Refusal(f"the limb there has {counts[0]}, this one {counts[1]}: make both along as many")
        return Attachment(attachment.template, "BONE", bone=bone)
    if attachment.guide == "FREE":
        frame = there(pair, np.array(attachment.matrix).reshape(4, 4)).frame
        return Attachment(attachment.template, "FREE", matrix=tuple(frame.ravel().tolist()))
    # The point of the skin itself, however deep the field is.
    surface = one.flesh.surface
    corners = surface.vertices[surface.triangles[attachment.triangle]]
    place = np.eye(4)
    place[:3, 3] = np.array(attachment.barycentric) @ corners
    point = there(pair, place).frame[:3, 3]
    theirs = other.flesh.surface
    near, _, triangle = theirs.closest_point(point[None])
    shares = limbs.barycentric(theirs.vertices[theirs.triangles[triangle]], near)[0]
    shares = tuple(float(share) for share in shares)
    return Attachment(attachment.template, "SKIN", triangle=int(triangle[0]), barycentric=shares)


def there(pair: Pair, frame: np.ndarray) -> limb_rigs.Carried:
    """A frame on the other limb."""
    found = limb_rigs.carried(pair.ours, pair.theirs, frame)
    if found is None:
        raise Refusal("it lies beside its limb")
    return found


def numbers(one: Side, other: Side, pair: Pair, native, attachment: Attachment, row: dict[str, float]):
    """(the parameters of one sample at the other body, how much larger the limb is there)."""
    thew = core()
    frame = native.frame(one.flesh.body, parameters=row)
    found = there(pair, frame)
    new = {name: value * found.ratio if is_length(name) else value for name, value in row.items()}
    if attachment.guide == "BONE":
        skeleton = other.flesh.skeleton
        bone = list(skeleton.names).index(attachment.bone)
        place = bone_place(found.frame[:3, 3], skeleton.heads[bone], skeleton.tails[bone])
        along, angle, distance = place
        # On the bone itself no way leads out: the field keeps its turn about it.
        angle = row["angle"] if row["distance"] < 1e-6 * one.flesh.surface.size else angle
        new |= {"along": along, "angle": angle, "distance": distance if row["distance"] >= 0.0 else -distance}
    elif attachment.guide == "SKIN":
        flat = {**row, "tilt": 0.0}
        wanted = found.turn @ native.frame(one.flesh.body, parameters=flat)[:3, 0]
        trial = {**new, "tilt": 0.0, "roll": 0.0}
        level = attachment.native(thew, trial).frame(other.flesh.body)
        new["roll"] = float(np.arctan2(wanted @ level[:3, 1], wanted @ level[:3, 0]))
    return new, found.ratio


def write(one: Side, other: Side, name: str, control: float, made) -> ThewRig:
    """A rig of the other character, with the corresponding driver."""
    native, pair = made
    taken = {rig.name for rig in other.obj.thew.rigs}
    rig = saved_rigs.new_rig(other.obj)
    with quietly():
        files.fill(other.obj, other.flesh, rig, native, taken)
        original = one.obj.thew.rigs[name]
        rig.enabled = original.enabled
    driven = driver_of(one.obj, original)
    bone = pair.bone(driven[0]) if driven else ""
    armature = armature_of(other.obj)
    if bone and armature is not None and bone in armature.pose.bones:
        drivers.drive(rig, armature, bone, *driven[1:])
    else:
        rig.control = control
    return rig


def driver_of(obj: bpy.types.Object, rig: ThewRig) -> tuple[str, str, float, float] | None:
    """(bone, axis, from, to) of a driver that `drivers.drive` made for a rig; None of any other or none."""
    data = obj.animation_data
    path = rig.path_from_id("control")
    curve = next((c for c in data.drivers if c.data_path == path), None) if data is not None else None
    if curve is None or len(curve.driver.variables) != 1 or len(curve.keyframe_points) != 2:
        return None
    variable = curve.driver.variables[0]
    wanted = variable.targets[0]
    if variable.type != "TRANSFORMS" or wanted.id != armature_of(obj) or not wanted.bone_target:
        return None
    axis = "SWING" if wanted.transform_type == "ROT_W" else AXES.get(wanted.rotation_mode, "")
    if not axis:
        return None
    ends = sorted((point.co[1], point.co[0]) for point in curve.keyframe_points)
    return wanted.bone_target, axis, ends[0][1], ends[1][1]
