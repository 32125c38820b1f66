# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits that Blender reports as any update of the scene: force fields, curves and drivers of rigs and settings, colliders, and pins."""

from __future__ import annotations

from ..logic.states import Event, Pose
from ..rigs import rigging
from ..scene import pins as scene_pins
from ..scene import rig_controls, windows
from . import resting, turns, updates
from .build_settings import ContactSettings
from .events import report_event


def follow_rigs(obj, flesh) -> None:
    """Follows force fields, and curves or drivers of rigs and settings, that may have been edited, or have moved controls."""
    if flesh.motion is None:
        return
    if controls_are_news(obj, flesh):
        updates.wait(obj)
    if len(obj.thew.rigs) and not windows.is_playing():
        rigging.follow_controls(obj)


def controls_are_news(obj, flesh) -> bool:
    """Returns whether force fields, curves or drivers are others than the motion was read with, for which no update was scheduled yet."""
    if flesh.motion is None:
        return False
    now = rig_controls.control_animation(obj)
    return turns.state.is_news(obj.session_uid, "controls", now, flesh.motion.moving)


def follow_things(obj, flesh, scene, depsgraph) -> None:
    """Reacts to objects that gained Collision physics, and to colliders that were moved."""
    if windows.is_playing() or not obj.thew.use_contact or flesh.motion is None:
        return  # playback checks each frame itself
    now = ContactSettings.from_object(obj, scene)
    if turns.state.is_news(obj.session_uid, "contact", now, flesh.build_settings.contact):
        updates.wait(obj)
    elif flesh.build_settings.contact == now and flesh.motion.colliders.each:
        resting.follow_colliders(obj, flesh, scene, depsgraph)


def follow_pins(obj, flesh, scene, depsgraph) -> None:
    """Simulates again when a pin that nothing animates was edited by hand: reading the motion puts all that is keyed back to its keys.

    While the artist poses the character this waits, or the pose would be lost.
    """
    if windows.is_playing() or flesh.motion is None or not flesh.motion.pinned or flesh.condition.pose is Pose.OTHER:
        return
    now = scene_pins.fingerprint(obj)
    if turns.state.is_news(obj.session_uid, "pins", now, flesh.motion.pinned):
        updates.wait(obj)  # a target that is carried by a bone was moved, say
    if flesh.motion.pinned != now:
        return
    frame = scene.frame_current
    if not flesh.clip_start <= frame <= flesh.clip_end:
        return
    if scene_pins.differ(obj, flesh.motion.pins[frame - flesh.motion.start], depsgraph, by_hand=True):
        report_event(obj, flesh, Event.POSE_DIFFERS)
        updates.wait(obj)
