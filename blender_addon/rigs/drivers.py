# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers of rig controls: made from a bone's turn, and kept valid when the list of rigs changes.

A driver here is one variable that reads a bone's turn in its own space, and a curve that maps it to 0..1, constant
outside. It has no expression, so that Blender runs it whatever its security settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sculpted_rigs import widest_turns
from ..saved.rigs import ThewRig
from ..scene import animation, rig_controls
from ..scene.bind_pose import BindPose
from ..scene.own_skin import is_helper, own_group_names, own_pose_bones, read_groups
from ..scene.poses import bone_matrices, bone_matrix
from ..scene.reading import armature_of
from .anchors import find_bone, find_insertion, triangles_and_faces

AXES = (
    ("AUTO", "Automatic", "Axis about which the bone turns most in the animation and the current pose"),
    ("X", "X", "Turn about the bone's own x axis: the usual bend of an elbow or a knee"),
    ("Y", "Y", "Twist about the bone itself"),
    ("Z", "Z", "Turn about the bone's own z axis"),
    ("SWING", "Swing", "Angle of the bone from its rest direction, whichever way"),
)

#: Turn below which a bone has no dominant axis, radians. It moves the end of a forearm of 30 cm by a centimetre.
MIN_TURN = math.radians(2.0)

# drivers --------------------------------------------------------------------------------------------------------------


def drive(rig: ThewRig, armature: bpy.types.Object, bone: str, axis: str, start: float, end: float) -> bpy.types.FCurve:
    """Drives the control by a bone's turn: 0 at `start`, 1 at `end` (radians), constant outside. Returns the driver's curve."""
    if not (math.isfinite(start) and math.isfinite(end)) or abs(end - start) < 1e-4:
        raise Refusal(f"The driver of the rig “{rig.name}” needs two different angles: give From and To")
    return drive_along(rig, armature, bone, axis, [(start, 0.0), (end, 1.0)])


def drive_along(
    rig: ThewRig, armature: bpy.types.Object, bone: str, axis: str, points: list[tuple[float, float]]
) -> bpy.types.FCurve:
    """Drives the control by a bone's turn, by (angle in radians, control) pairs: linear between them, constant outside."""
    if bone not in armature.pose.bones:
        raise Refusal(f"There is no bone “{bone}” in {describe(armature)}: choose one of its bones")
    rig.driver_remove("control")
    curve = rig.driver_add("control")
    for modifier in list(curve.modifiers):
        curve.modifiers.remove(modifier)
    curve.keyframe_points.clear()
    for angle, value in sorted(points):
        curve.keyframe_points.insert(angle, value).interpolation = "LINEAR"
    curve.extrapolation = "CONSTANT"
    driver = curve.driver
    driver.type = "SUM"
    for variable in list(driver.variables):
        driver.variables.remove(variable)
    variable = driver.variables.new()
    variable.name, variable.type = "turn", "TRANSFORMS"
    target = variable.targets[0]
    target.id, target.bone_target = armature, bone
    target.transform_space = "LOCAL_SPACE"
    # The swing is the rotation without the twist about the bone, its y axis.
    target.rotation_mode = "SWING_TWIST_Y" if axis == "SWING" else f"SWING_TWIST_{axis}"
    target.transform_type = "ROT_W" if axis == "SWING" else f"ROT_{axis}"
    return curve


def joint_of(obj: bpy.types.Object, rig: ThewRig) -> str:
    """Returns the bone whose turn most likely drives a rig: the one that bends at the rig's joint, or at the joint below. Of a muscle
    it is the bone of its insertion.

    A rig along its bone swells as the next joint bends, a biceps with the forearm. One near the bone's head sits at the
    joint where the bone itself turns. A sculpted rig takes the bone that turns most in its pose.
    """
    armature = armature_of(obj)
    if rig.kind == "SCULPTED":
        bones = () if armature is None else armature.data.bones
        return next((bone for bone in widest_turns(rig.sculpt) if bone in bones), "")
    if rig.kind == "MUSCLE":
        return "" if armature is None else find_insertion(armature, rig)
    bone = None if armature is None else armature.data.bones.get(carrying_bone(obj, rig))
    if bone is None:
        return ""
    if position_along(obj, rig, bone) < HEAD_SHARE:
        return bone.name
    below = [
        child
        for child in bone.children_recursive
        if child.use_deform and child.name in obj.vertex_groups and not is_helper(child)
    ]
    nearest = min(
        below,
        key=lambda child: (
            child.parent_recursive.index(bone),
            (child.head_local - bone.tail_local).length,
            -len(child.children_recursive),
        ),
        default=bone,
    )
    return nearest.name


#: Part of a bone, from its head, in which a rig belongs to the joint at the head. A third: biceps and calf, whose next
#: joint drives them, are thickest beyond it.
HEAD_SHARE = 1.0 / 3.0


def carrying_bone(obj: bpy.types.Object, rig: ThewRig) -> str:
    """Returns the bone of a rig: its own, the heaviest of its face, or the one nearest to a free rig."""
    armature = armature_of(obj)
    if rig.guide == "BONE":
        return find_bone(armature, rig)
    names = own_group_names(obj, armature)
    if rig.guide == "SKIN":
        corners, _ = triangles_and_faces(obj.data)
        if not 0 <= rig.face < len(corners):
            return ""
        total: dict[int, float] = {}
        groups, vertices, weights = read_groups(obj)
        for corner, share in zip(corners[rig.face].tolist(), rig.barycentric, strict=True):
            for group, weight in zip(
                groups[vertices == corner].tolist(), weights[vertices == corner].tolist(), strict=True
            ):
                if group in names:
                    total[group] = total.get(group, 0.0) + share * weight
        return names[max(total, key=total.__getitem__)] if total else ""
    there = rest_point(obj, rig)
    bones = [bone for bone in armature.data.bones if bone.name in names.values()]
    nearest = min(bones, key=lambda bone: (there - 0.5 * (bone.head_local + bone.tail_local)).length, default=None)
    return "" if nearest is None else nearest.name


def rest_point(obj: bpy.types.Object, rig: ThewRig) -> Vector:
    """Returns the position at rest of a rig in the skin or a free one, armature space."""
    bind_pose = BindPose.from_saved(obj)
    if rig.guide == "SKIN":
        point = bind_pose.mesh_matrix @ np.array([*rig.face_place, 1.0])
    else:
        point = np.array(rig.matrix).reshape(4, 4)[:, 3]
    return Vector((np.linalg.inv(bind_pose.armature_matrix) @ point)[:3])


def position_along(obj: bpy.types.Object, rig: ThewRig, bone: bpy.types.Bone) -> float:
    """Returns the position of a rig along a bone: 0 at its head, 1 at its tail."""
    if rig.guide == "BONE":
        return rig.along
    way = bone.tail_local - bone.head_local
    return (rest_point(obj, rig) - bone.head_local).dot(way) / max(way.length_squared, 1e-30)


def dominant_axis(turns: list[Quaternion]) -> str:
    """Returns the axis about which a bone's turn varies most: X if it hardly turns, SWING if no axis dominates.

    Turns are measured from their mean, so that a constant turn has no effect. Both orders are tried, because a twisted
    bone may bend in its own or in its parent's axes; the driver reads the same angle in both. A single pose is measured from rest.
    """
    mean = mean_turn(turns)
    ways = [[mean.inverted() @ turn for turn in turns], [turn @ mean.inverted() for turn in turns]]
    found = [np.array([turn.to_exponential_map() for turn in way]).reshape(-1, 3) for way in ways]
    if max(np.ptp(vectors, axis=0).max() for vectors in found) < MIN_TURN:
        found = [np.array([turn.to_exponential_map() for turn in turns]).reshape(-1, 3)]
        if np.abs(found[0]).max() < MIN_TURN:
            return "X"
        shares = [(found[0] ** 2).sum(axis=0)]
    else:
        shares = [vectors.var(axis=0) for vectors in found]
    shares = max((share / share.sum() for share in shares), key=lambda share: share.max())
    best = int(shares.argmax())
    if shares[best] >= 0.75 or best == 1:
        return "XYZ"[best]
    # Both swing axes vary: use their common angle, unless it is nearly constant, as for a bone that circles.
    spread = {axis: float(np.ptp([angle_of(turn, axis) for turn in turns])) for axis in ("SWING", "XYZ"[best])}
    return "SWING" if len(turns) == 1 or spread["SWING"] >= 0.5 * spread["XYZ"[best]] else "XYZ"[best]


def mean_turn(turns: list[Quaternion]) -> Quaternion:
    """Returns the mean of turns that are near each other."""
    total = np.zeros(4)
    for turn in turns:
        flat = np.array(turn)
        total += flat if flat @ np.array(turns[0]) >= 0.0 else -flat
    return Quaternion(total).normalized() if np.linalg.norm(total) > 1e-6 else turns[0].copy()


def usual_range(turns: list[Quaternion], axis: str) -> tuple[float, float]:
    """Returns the angles of a bone's smallest and largest turn about an axis, radians.

    A bone that does not move gets the range from rest to its turn; one at rest, a quarter turn.
    """
    angles = [angle_of(turn, axis) for turn in turns]
    low, high = min(angles), max(angles)
    start, end = (low, high) if abs(low) <= abs(high) else (high, low)
    if abs(end - start) < MIN_TURN:
        start, end = 0.0, end if abs(end) >= MIN_TURN else 0.5 * math.pi
    return start, end


def angle_of(turn: Quaternion, axis: str) -> float:
    """Returns the angle that the driver's variable reads from a turn, radians."""
    swing, twist = turn.to_swing_twist("Y" if axis == "SWING" else axis)
    angle = swing.angle if axis == "SWING" else twist
    return math.remainder(angle, 2.0 * math.pi)


def turns_of(armature: bpy.types.Object, bone: str, raw: np.ndarray | None) -> list[Quaternion]:
    """Returns the turns of a bone in its own space: now, and in all frames that were read (`Motion.raw`)."""
    posed, places = armature.pose.bones[bone], {each.name: i for i, each in enumerate(own_pose_bones(armature))}
    rest = posed.bone.matrix_local
    unparent = Matrix.Identity(4) if posed.parent is None else posed.parent.bone.matrix_local.inverted_safe()
    index, parent = places[bone], -1 if posed.parent is None else places[posed.parent.name]
    frames = [[bone_matrix(armature, p.name) for p in (posed, posed.parent) if p is not None]]
    if raw is not None and raw.shape[1] == 16 * len(places) + 32:
        frames += [[frame[i] for i in (index, parent) if i >= 0] for frame in bone_matrices(raw)]
    turns = []
    for matrices in frames:
        base = rest if parent < 0 else Matrix(matrices[1]) @ unparent @ rest
        turns.append((base.inverted_safe() @ Matrix(matrices[0])).to_quaternion())
    return turns


# paths ----------------------------------------------------------------------------------------------------------------


def update_paths(obj: bpy.types.Object, moved: Callable[[int], int | None]) -> None:
    """Updates keys and drivers of controls after rigs changed their list index. Removes those for which `moved` returns `None`."""
    data = obj.animation_data
    if data is None:
        return
    if data.action is not None and any(
        rig_controls.rig_of_path(obj, c.data_path) >= 0 for c in animation.curves_in(data)
    ):
        own_action(data)
    for curves in (data.drivers, animation.curves_in(data)):
        found = [(curve, rig_controls.path_index(curve.data_path)) for curve in curves]
        for curve, index in found:
            if index is None:
                continue
            new = moved(index)
            if new is None:
                curves.remove(curve)
            elif new != index:
                curve.data_path = f"thew.rigs[{new}].control"


def own_action(data: bpy.types.AnimData) -> None:
    """Makes an object's action its own, if it shares one."""
    action = data.action
    if action.users - action.use_fake_user <= 1 or action.library is not None:
        return
    slot = data.action_slot.identifier if hasattr(data, "action_slot") and data.action_slot is not None else ""
    data.action = action.copy()
    if slot:
        data.action_slot = next(each for each in data.action.slots if each.identifier == slot)


def copy_driver(rig: ThewRig, source: ThewRig) -> None:
    """Copies the driver of another rig, if it has one."""
    found = driver_of(source)
    if found is not None:
        give_driver(rig, found)


def give_driver(rig: ThewRig, driver: bpy.types.FCurve) -> bpy.types.FCurve:
    """Drives the control of a rig by a copy of a driver, and returns that."""
    curve = rig.id_data.animation_data_create().drivers.from_existing(src_driver=driver)
    curve.data_path = rig.path_from_id("control")
    return curve


def driver_of(rig: ThewRig) -> bpy.types.FCurve | None:
    """Returns the driver of a rig's control, whichever way its path names the rig."""
    obj = rig.id_data
    place = next(i for i, each in enumerate(obj.thew.rigs) if each == rig)
    curves = obj.animation_data.drivers if obj.animation_data is not None else ()
    return next((curve for curve in curves if rig_controls.rig_of_path(obj, curve.data_path) == place), None)
