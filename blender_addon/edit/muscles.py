# SPDX-License-Identifier: GPL-3.0-or-later
"""Muscles of a character: the large ones, found by shape, or one between two bones; and their drivers by their own length.

A muscle led by its own length contracts as far as a bend of its joint brings its ends together. The driver reads the turn of one bone; its
curve maps the turn to the share of the muscle's contraction by which its ends are nearer than at rest. It is zero for turns the other way: the straight
line between the ends of a triceps passes through a strongly bent elbow and gets shorter, but the muscle, which lies around it, does not.
"""

from __future__ import annotations

import math
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.native import core
from ..logic.sliders import SLIDERS, slider_parameters
from ..rigs import drivers, files, pushers, rigging
from ..rigs.anchors import anchor_ends
from ..saved.rigs import ThewRig
from ..saved.samples import quiet_edits, start_samples
from ..scene.own_skin import is_helper
from ..scene.reading import armature_of
from . import rig_list
from .posed_character import PosedCharacter

#: Presets: the names by which the core calls a character's muscles.
PRESETS = (
    ("BICEPS", "Biceps", "In front of the upper arm, across the elbow; it bends the elbow"),
    ("TRICEPS", "Triceps", "Behind the upper arm, across the elbow; it stretches the elbow"),
    ("QUADRICEPS", "Quadriceps", "In front of the thigh, across the knee; it stretches the knee"),
    ("CALF", "Calf", "Behind the shin, from the knee down"),
    ("PECTORAL", "Pectoral", "From the middle of the chest to the upper arm, of upright characters"),
    ("TRAPEZIUS", "Trapezius", "From the neck to the shoulder, of upright characters"),
    (
        "BETWEEN",
        "Between Two Bones",
        "From one bone to another: those given, or the two that are selected in pose mode",
    ),
)
#: Sizes of a muscle between two bones, as parts of the girth of its ends: it fills half of the flesh on one side of them.
RADIUS, OUT = 0.45, 0.4
#: Turns of a joint at which a muscle's length is measured, radians: every 10° up to 150°, the range of elbows and knees.
TURNS = np.radians(np.arange(-150.0, 151.0, 10.0))
#: Turn by which joints are compared, radians.
USUAL_TURN = math.radians(60.0)
#: Smallest shortening at that turn, as a part of the length, by which a joint can lead a muscle. A biceps has 0.1 to 0.3.
MIN_SHORTENING = 0.005


def add_preset(stand: PosedCharacter, preset: str) -> list[ThewRig]:
    """Adds the muscles of a preset, one on each side that has it, left first. Raises a `Refusal` if the character has none."""
    label = next(label for key, label, _ in PRESETS if key == preset)
    every = core().muscles(stand.flesh.body)
    natives = sorted((native for native in every if native.name.split()[0] == label), key=lambda native: native.name)
    if not natives:
        whose = describe(stand.obj)
        known = sorted({native.name.split()[0] for native in every})
        why = f"it has {', '.join(known)}" if known else "its front, or its pairs of limbs, are not found"
        raise Refusal(f"No {label} is found on {whose}; {why}: choose Between Two Bones")
    return [add(stand, native) for native in natives]


def add_between(stand: PosedCharacter, origin: str, insertion: str) -> ThewRig:
    """Adds a muscle between two bones, along their fronts; on one bone, from one of its ends to the other."""
    thew, bones = core(), stand.flesh.character.bones
    for bone in (origin, insertion):
        if bone not in bones:
            raise Refusal(f"No bone “{bone}” moves flesh of {describe(stand.obj)}: choose two bones that have weights")
    shares = (0.2, 0.8) if origin == insertion else (0.5, 0.5)
    girths, ends = [], []
    for bone, along in zip((origin, insertion), shares, strict=True):
        head, tail = stand.bone_ends(bones.index(bone))
        girths.append(stand.rest.girth(head + along * (tail - head), tail - head, 0.25 * stand.size))
        ends.append(thew.BoneGuide(bone, along=along, distance=OUT * girths[-1]))
    radius = RADIUS * min(girths)
    return add(stand, thew.muscle(*ends, radius=radius, name="Muscle"))


def add(stand: PosedCharacter, native: Any) -> ThewRig:
    """Adds a native muscle to the list, without contraction at control 0 and with all of it at 1. Its control is 1."""
    rig = rig_list.new_rig(stand.obj, native.name)
    origin, insertion = native.ends
    with quiet_edits():
        rig.kind, rig.strength_by = "MUSCLE", "FORCE"
        parameters = slider_parameters(native.parameters(), stand.flesh.place.metres_per_unit)
        for name in (name for name in SLIDERS if name in parameters):
            setattr(rig, name, parameters[name])
    names = [files.bone_name(stand.flesh, end.bone) for end in (origin, insertion)]
    anchor_ends(stand.obj, rig, *names)
    start_samples(rig)
    pushers.store_problems(stand.obj, stand.flesh)
    return rig


def drive(obj: bpy.types.Object, flesh, rig: ThewRig, bone: str = "") -> str:
    """Drives a muscle by its own length, as the turn of a joint between its ends changes it. Returns the name of the bone that turns.

    `bone`: that bone; empty: the one whose turn shortens the muscle most. Raises a `Refusal` if none shortens it.
    """
    armature, native = armature_of(obj), rigging.native_rig(obj, flesh, rig)
    contraction = native.parameters()["contraction"]
    if not contraction > 0.0:
        raise Refusal(f"The muscle “{rig.name}” does not contract: give it a contraction above zero")
    joints = [bone] if bone else joints_between(armature, rig)
    found = [(shortening(native, flesh, armature, joint, hinge, [USUAL_TURN])[0], joint, hinge)
             for joint in joints for hinge in hinges(native, flesh, armature, joint)]  # fmt: skip
    best = max(found, key=lambda each: each[0], default=(0.0, "", None))
    if best[0] < MIN_SHORTENING:
        raise Refusal(
            f"No bend of a joint between its ends makes the muscle “{rig.name}” shorter: key its control, or drive it by an angle"
        )
    _, joint, hinge = best
    shorter = shortening(native, flesh, armature, joint, hinge, TURNS)
    # The hinge's positive turns shorten the muscle at first.
    values = np.where(TURNS > 0.0, np.clip(shorter / contraction, 0.0, 1.0), 0.0)
    axis = "X" if abs(hinge[0]) >= abs(hinge[2]) else "Z"
    angles = [drivers.angle_of(Quaternion(hinge, float(turn)), axis) for turn in TURNS]
    drivers.drive_along(rig, armature, joint, axis, list(zip(angles, values.tolist(), strict=True)))
    return joint


def joints_between(armature: bpy.types.Object, rig: ThewRig) -> list[str]:
    """Returns the bones whose turn moves one end of a muscle but not the other."""
    bones = armature.data.bones
    chains = [[bones[name], *bones[name].parent_recursive] for name in (rig.bone, rig.insertion)]
    both = {bone.name for bone in chains[0]} & {bone.name for bone in chains[1]}
    return [bone.name for chain in chains for bone in chain if bone.name not in both and not is_helper(bone)]


def hinges(native: Any, flesh, armature: bpy.types.Object, bone: str) -> list[tuple[float, float, float]]:
    """Returns the axis across a bone, in its own space, about which a small turn shortens a muscle most. None: no axis does."""
    small = 0.01
    slopes = [shortening(native, flesh, armature, bone, axis, [small])[0] for axis in ((1, 0, 0), (0, 0, 1))]
    length = math.hypot(*slopes)
    return [(slopes[0] / length, 0.0, slopes[1] / length)] if length > 1e-9 else []


def shortening(native: Any, flesh, armature: bpy.types.Object, bone: str, axis, turns) -> np.ndarray:
    """Returns the share of its length by which a muscle is shorter while a bone is turned about an axis of its own by angles, [f]."""
    names = list(flesh.skeleton.names)
    local = flesh.bind_pose.armature_matrix @ np.array(armature.data.bones[bone].matrix_local)
    below = {each.name for each in (armature.data.bones[bone], *armature.data.bones[bone].children_recursive)}
    moved = np.array([name in below for name in names])
    head = flesh.place.points(local[:3, 3])
    poses = np.tile(np.eye(4), (len(turns), len(names), 1, 1))
    for pose, turn in zip(poses, turns, strict=True):
        own = np.array(Matrix.Rotation(float(turn), 3, axis))
        linear = local[:3, :3] @ own @ np.linalg.inv(local[:3, :3])
        pose[moved, :3, :3], pose[moved, :3, 3] = linear, head - linear @ head
    return np.asarray(core().muscle_shortening(native, flesh.body, poses))
