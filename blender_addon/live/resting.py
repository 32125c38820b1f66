# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh at rest in a pose or with rigs that were not simulated: while the artist poses, and beyond the clip's range."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.errors import sentence
from ..logic.health import OBJECT_MOVED_TEXT, POSE_CHANGED_TEXT
from ..logic.native import EXPECTED_ERRORS
from ..logic.states import Event, Pose
from ..scene import poses, reading
from . import session
from .events import report_event

#: Problem shown after a collider was moved.
DISPLACED_PROBLEM = "{} has moved or changed since the flesh was simulated: play, or press Simulate."


def mismatch_reason(obj, scene, depsgraph, render: bool) -> str:
    """Returns why the evaluated pose was not simulated: "changed" (animation), "beside" (the clip's range), "displaced" (a
    collider).

    Returns "" where it was simulated, or where no flesh is visible (`render`: in a render). Changes nothing.
    """
    flesh = session.register.known_state(obj)
    if flesh is None or not flesh.condition.is_showable or not session.is_shown(obj, render):
        return ""
    if not flesh.clip_start <= scene.frame_float <= flesh.clip_end:
        return "beside"
    if scene.frame_subframe:
        return ""
    if flesh.motion.differs(obj, scene.frame_current, depsgraph):
        return "changed"
    return "displaced" if flesh.motion.displaced_collider(scene.frame_current, depsgraph) else ""


def report_displaced(flesh, scene, depsgraph) -> None:
    """Reports the collider that has moved; the simulated motion stays in view."""
    flesh.problem = DISPLACED_PROBLEM.format(flesh.motion.displaced_collider(scene.frame_current, depsgraph))


def follow_colliders(obj, flesh, scene, depsgraph) -> None:
    """Reports a collider that was moved or edited, or withdraws the report."""
    what = mismatch_reason(obj, scene, depsgraph, False)
    if what == "displaced":
        report_event(obj, flesh, Event.POSE_DIFFERS)
        report_displaced(flesh, scene, depsgraph)
    elif not what and flesh.problem.endswith(DISPLACED_PROBLEM.format("")):
        flesh.problem = ""


def show_settled(obj: bpy.types.Object, flesh) -> None:
    """Shows settled flesh in the pose and with the controls of the last evaluation."""
    if flesh.body is None or not session.is_shown(obj) or poses.silence_depth:
        return
    scene, depsgraph = bpy.context.scene, bpy.context.view_layer.depsgraph
    if flesh.condition.pose is Pose.OTHER or flesh.clip is None:
        found = reading.armature_modifier(obj)
        if found is not None and found.object is not None:
            show_pose(obj, found, flesh, scene, depsgraph)
    else:
        session.present(obj, flesh, scene)


def follow_pose(obj, armature_modifier, flesh, scene, depsgraph) -> None:
    """Shows, between two simulations, the flesh at rest in the artist's new pose."""
    if not flesh.condition.is_showable or not session.is_shown(obj):
        return
    frame = scene.frame_current
    inside = flesh.clip_start <= frame <= flesh.clip_end
    if inside and not flesh.motion.differs(obj, frame, depsgraph):
        if flesh.condition.pose is Pose.OTHER:
            flesh.problem = ""
            session.present(obj, flesh, scene)
        return
    if show_pose(obj, armature_modifier, flesh, scene, depsgraph) and inside:
        flesh.problem = pose_problem(obj, armature_modifier, flesh, scene, depsgraph)


def pose_problem(obj, armature_modifier, flesh, scene, depsgraph) -> str:
    """Returns the sentence on a pose within the clip's range that was not simulated; it tells whether the whole character was moved."""
    then = flesh.motion.raw[scene.frame_current - flesh.motion.start]
    now = poses.read_raw(armature_modifier.object, obj, depsgraph)
    if now.shape != then.shape:
        return POSE_CHANGED_TEXT
    bones, objects = (
        np.allclose(now[part], then[part], rtol=1e-5, atol=1e-6) for part in (slice(-32), slice(-32, None))
    )
    return OBJECT_MOVED_TEXT if bones and not objects else POSE_CHANGED_TEXT


def show_pose(obj, armature_modifier, flesh, scene, depsgraph) -> bool:
    """Shows the flesh at rest in the pose that `depsgraph` has evaluated; returns whether that worked."""
    try:
        found = reading.Subject.of(obj, armature_modifier)
        pose = flesh.pose(found, depsgraph, scene.frame_current, with_contact=obj.thew.settled)
        session.present_pose(obj, flesh, scene, pose)
        report_event(obj, flesh, Event.POSE_SHOWN)
    except EXPECTED_ERRORS as error:
        session.hide(obj, flesh)
        flesh.problem = POSE_CHANGED_TEXT if isinstance(error, poses.LostBone) else sentence(str(error))
        if isinstance(error, poses.LostBone) and len(obj.thew.rigs):
            flesh.refresh_rigs(obj)  # rigs on that bone report it at once
        return False
    return True
