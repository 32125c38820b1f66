# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers of playback.

A frame is looked up before Blender evaluates it (`frame_change_pre`), and the offsets that flesh adds to the skin are written.
Without a window, and in renders, missing stages are built on the spot. With a window a timer builds them step by step, so that the
window stays responsive. Objects that cannot show flesh show their plain skin.
"""

from __future__ import annotations

import bpy
from bpy.app.handlers import persistent

from ..logic.health import POSE_PROBLEMS
from ..logic.states import Event, Motion
from ..rigs import rigging
from ..scene import poses, reading, visibility, windows
from . import clip_following, keyframed, keyframed_events, rendering, resting, session, updates
from .events import report_event
from .session import register as fleshes


@persistent
def before_frame(scene, _depsgraph=None):
    """Shows every live object's flesh at the frame that Blender is about to evaluate."""
    if rendering.is_other_thread():
        seen = any(session.is_shown(obj, updates.state.rendering) for obj in fleshes.objects(scene))
        seen = seen or any(keyframed.is_shown(obj) for obj in keyframed.register.objects(scene))
        if seen and not rendering.run_on_main(lambda: show_frame(scene)):
            rendering.report_missed_frame(scene.frame_current)
    elif not updates.state.rendered_elsewhere:
        clip_following.look(scene)
        show_frame(scene)


def show_frame(scene) -> None:
    """Writes the offsets of all objects of the scene at its frame; while poses are read, those of keyframed flesh alone."""
    if not poses.silence_depth:
        look_up(scene)
    keyframed_events.look_up(scene)


def is_passed_over(obj: bpy.types.Object) -> bool:
    """Returns whether a frame that plays, or is scrubbed over, leaves an object alone because nobody looks at it."""
    if visibility.is_looked_at(obj):
        updates.state.passed_over.discard(obj.session_uid)
        return False
    updates.state.passed_over.add(obj.session_uid)
    return True


def look_where_shown(scene) -> None:
    """Looks up the present frame of objects that were passed over and are looked at again."""
    visibility.forget()
    if not updates.state.passed_over or windows.is_browsing():
        return
    if any(
        obj.session_uid in updates.state.passed_over and visibility.is_looked_at(obj) for obj in fleshes.objects(scene)
    ):
        updates.state.seen -= updates.state.passed_over  # an update under way makes room for them
        updates.state.passed_over.clear()
        look_up(scene)


def look_up(scene) -> None:
    """Writes the offsets of the scene's objects with flesh at the scene's frame."""
    objects = fleshes.objects(scene)
    if not objects:
        return
    if windows.is_headless() and not updates.state.rendering:
        session.notice_edits(objects, bpy.context.view_layer.depsgraph)
    browsing = not updates.state.rendering and windows.is_browsing()
    if not browsing:
        updates.state.passed_over.clear()
    for obj in objects:
        if (browsing and is_passed_over(obj)) or not session.is_shown(obj, updates.state.rendering):
            continue
        flesh = fleshes.state_of(obj)
        ready = updates.is_ready(obj, scene, flesh)
        if not updates.state.rendering and session.show_arriving(obj, flesh, scene):
            continue
        if not ready:
            session.hide(obj, flesh)
            continue
        look = (
            session.show if updates.state.rendering else session.present
        )  # renders show the motion itself, never a preview
        look(obj, flesh, scene)


@persistent
def after_frame(scene, depsgraph=None):
    """Handles characters whose evaluated pose was not simulated for this frame."""
    if rendering.is_other_thread():
        if any(
            resting.mismatch_reason(obj, scene, depsgraph, updates.state.rendering) for obj in fleshes.objects(scene)
        ):
            rendering.run_on_main(lambda: compare(scene, depsgraph))
    elif not poses.silence_depth and not updates.state.rendered_elsewhere:
        compare(scene, depsgraph or bpy.context.view_layer.depsgraph)
    keyframed_events.note_evaluation(scene)


def compare(scene, depsgraph) -> None:
    """Simulates evaluated poses that differ from the simulated ones (without a window), or shows flesh at rest in them."""
    again = []
    for obj in fleshes.objects(scene):
        if obj.session_uid in updates.state.passed_over:
            continue
        flesh = fleshes.known_state(obj)
        if (
            flesh is None
            or flesh.clip is None
            or (not updates.state.rendering and session.is_arriving(obj, flesh, scene))
        ):
            continue
        if flesh.motion.moving and not updates.state.rendering and not windows.is_playing():
            rigging.follow_controls(obj)
        what = resting.mismatch_reason(obj, scene, depsgraph, updates.state.rendering)
        differs = what in {"changed", "displaced"}
        read_now = differs and updates.may_read(obj, flesh)
        if differs:
            report_event(obj, flesh, Event.POSE_DIFFERS)
            if (
                flesh.poses_from_cache and not windows.is_headless()
            ):  # a pose from the disk cache, which nobody has changed by hand
                flesh.poses_from_cache = False
                updates.wait(obj)
        if read_now:
            again.append(obj)
        elif what == "displaced":
            resting.report_displaced(flesh, scene, depsgraph)
        elif what:
            found = reading.armature_modifier(obj)
            if resting.show_pose(obj, found, flesh, scene, depsgraph) and what == "changed":
                flesh.problem = resting.pose_problem(obj, found, flesh, scene, depsgraph)
        elif flesh.problem in POSE_PROBLEMS and flesh.condition.motion is Motion.READ:
            flesh.problem = ""  # the pose that was set by hand and not keyed is gone
        report_event(
            obj, flesh, Event.EVALUATED
        )  # Blender evaluates the writes for this frame by now, or right after this
    if again:
        updates.state.read_in_render.update(obj.session_uid for obj in again)
        look_up(scene)
