# SPDX-License-Identifier: GPL-3.0-or-later
"""The response of the softness dial during a drag: the flesh in view swells or shrinks at once, the motion follows.

Until the motion is simulated again, the offsets of the flesh are scaled by a power of the change in softness. This is no
simulation, and bakes and renders never use it: it shows the hand its place on the dial.
"""

from __future__ import annotations

import bpy

from ..logic.native import core
from ..logic.states import Pose
from ..scene import poses, windows
from . import session, turns, updates
from .flesh import Flesh

#: Exponent of the compliance. Sway goes with its square root: a mass on a spring that is struck swings as far as its period is
#: long.
COMPLIANCE_EXPONENT = 0.5
#: Largest factor shown before the motion is simulated, up or down. Nine times the stiffness reaches it.
MAX_GROWTH = 3.0


def softness_changed(obj: bpy.types.Object) -> None:
    """Schedules a simulation after Softness or the modulus changed; meanwhile shows approximately its effect."""
    turns.note_report()
    if windows.is_headless() or not obj.thew.made.flesh:
        return
    dragged, flesh = updates.schedule_at_once(obj), session.register.known_state(obj)
    if dragged and flesh is not None and is_seen(obj, flesh):
        show(obj, flesh, bpy.context.scene)


def is_seen(obj: bpy.types.Object, flesh: Flesh) -> bool:
    """Returns whether the view shows the clip of the flesh, at a frame that stands still."""
    if poses.silence_depth or windows.is_playing() or updates.state.rendering or not session.is_shown(obj):
        return False
    settings = obj.thew
    if settings.settled or settings.preview_mode or flesh.condition.pose is Pose.OTHER:
        return False
    return flesh.condition.is_showable and flesh.clip is not None


def show(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene) -> None:
    """Shows the flesh that was simulated last, scaled as the setting suggests."""
    settings, latest, frame = obj.thew, updates.state.displayed_parts.get(obj.session_uid), scene.frame_float
    arrived = latest is not None and latest.covers(frame)  # of an earlier step of the drag
    try:
        young = flesh.young(None if settings.use_young else settings.softness, settings.young)
        share = growth((latest.built if arrived else flesh).body.material.young, young)
    except core().ThewError:
        return  # the update will report it
    session.write(obj, flesh, share * (latest if arrived else flesh).offsets(frame), scene)


def growth(before: float, after: float) -> float:
    """Returns the factor by which sway grows as stiffness goes from `before` to `after`, at most `MAX_GROWTH` and at least 1 / `MAX_GROWTH`."""
    return min(max((before / after) ** COMPLIANCE_EXPONENT, 1.0 / MAX_GROWTH), MAX_GROWTH)
