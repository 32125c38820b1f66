# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of edits after which a character moves otherwise: its keys, and what else moves its bones."""

from __future__ import annotations

import bpy

from ..logic.native import EXPECTED_ERRORS
from ..logic.states import Event
from ..scene import frame_dependence, groups, reading, windows
from . import session, turns, updates, validity, watched_edits
from .events import report_event
from .flesh import Flesh
from .session import register as fleshes


def report_edited_curves(objects: list[bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> None:
    """Reports edited curves: as a doubt before a render to all flesh, as edited keys to the characters that they move.

    These are simulated when they next play; during playback, once the keys rest.
    """
    edited = {each.id.original.session_uid for each in depsgraph.updates if isinstance(each.id, bpy.types.Action)}
    for obj in objects:
        flesh = fleshes.known_state(obj)
        if flesh is None:
            continue
        report_event(obj, flesh, Event.CURVES_EDITED)
        flesh.curve_edits += 1
        if (
            updates.state.undone
            or updates.state.writes_curves
            or flesh.motion is None
            or not edited & frame_dependence.affecting_actions(obj, reading.armature_of(obj))
        ):
            continue
        report_event(obj, flesh, Event.KEYS_EDITED)
        updates.state.read_in_playback.discard(obj.session_uid)
        if not windows.is_headless() and windows.is_playing():
            updates.wait(obj)


def report_edited_movers(objects: list[bpy.types.Object]) -> None:
    """Reports to characters that other things move them than when they were read, as after an edit of their keys."""
    for obj in objects:
        flesh = fleshes.known_state(obj)
        if flesh is None or flesh.condition.is_behind or not validity.movers_changed(obj, flesh):
            continue
        report_event(obj, flesh, Event.KEYS_EDITED)
        updates.state.read_in_playback.discard(obj.session_uid)
        if not windows.is_headless() and windows.is_playing():
            updates.wait(obj)


def is_stale(obj: bpy.types.Object, scene: bpy.types.Scene, flesh: Flesh | None) -> bool:
    """Returns whether the motion in view is of other settings, or of another mesh, than the present ones, and nothing brings it up to date
    by itself: its update was cancelled.
    """
    if flesh is None or flesh.clip is None or not session.is_live(obj) or turns.is_due(obj):
        return False
    if turns.was_checked(obj, flesh, scene):  # while it plays the timeline is drawn with every frame
        return False
    try:
        return validity.is_outdated_alone(obj, scene, flesh) and not validity.is_only_shortened(obj, scene, flesh)
    except EXPECTED_ERRORS:
        return False  # the next update reports it


def follow_scene(objects: list[bpy.types.Object], scene: bpy.types.Scene) -> None:
    """Simulates characters again after an edit that Blender reports as one of the scene alone: their frames are no longer those of the
    scene, or a force field was shown or hidden.
    """
    if windows.is_headless():
        return  # the next frame that is looked up does
    for obj in reversed(
        turns.in_order(objects)
    ):  # the one that waits last counts as edited last, and is simulated first
        flesh = fleshes.known_state(obj)
        if flesh is None or flesh.clip is None or not session.is_live(obj):
            continue
        if updates.has_failed(obj, scene, flesh):
            continue  # Blender reports a scene at each selection too: what failed is not tried at each
        frames, simulated = groups.frames(obj, scene), flesh.build_settings.live
        others = turns.state.is_news(obj.session_uid, "frames", frames, simulated)
        if watched_edits.controls_are_news(obj, flesh) or others:
            updates.wait(obj)
