# SPDX-License-Identifier: GPL-3.0-or-later
"""The dial answers while it is dragged: what is seen at this frame grows or shrinks at once, and the motion follows.

Until the motion is simulated again, what flesh adds to the skin is taken times a power of how much softer it has become. That
is no simulation and no bake or render sees it: it is what the hand needs to know where it is on the dial.
"""

from __future__ import annotations

import bpy

from ..logic.native import core
from ..logic.states import Pose
from ..scene import poses, windows
from . import session, updates
from .build_settings import REFERENCE
from .flesh import Flesh

#: Sway goes with the root of the compliance: a mass on a spring that is struck swings as far as its period is long.
POWER = 0.5
#: More or less than so many times is not shown before it is simulated. That is what nine times the stiffness makes.
MOST = 3.0


def turned(obj: bpy.types.Object) -> None:
    """Softness, or the modulus in its place, was turned: simulate soon; while that goes on, show about what it does."""
    if windows.headless() or not obj.thew.made.flesh:
        return
    dragged, flesh = updates.soon(obj), session.register.known(obj)
    if dragged and flesh is not None and is_seen(obj, flesh):
        show(obj, flesh, bpy.context.scene)


def is_seen(obj: bpy.types.Object, flesh: Flesh) -> bool:
    """Whether the clip is what is seen of the flesh, at a frame that stands still."""
    if poses.busy or windows.playing() or updates.state.rendering or not session.is_shown(obj):
        return False
    settings = obj.thew
    if settings.settled or settings.preview_mode or flesh.condition.pose is Pose.OTHER:
        return False
    return flesh.condition.showable and flesh.clip is not None


def show(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene) -> None:
    """Show the flesh of the clip, as much more or less as the setting suggests."""
    try:
        share = growth(flesh.stiffness, stiffness(obj, flesh))
    except core().ThewError:
        return  # the update will say so
    session.write(obj, flesh, share * flesh.offsets(scene.frame_float), scene)


def stiffness(obj: bpy.types.Object, flesh: Flesh) -> float:
    """How stiff the flesh will be, as a multiple of the reference."""
    settings = obj.thew
    young = settings.young if settings.use_young else flesh.automatic.with_softness(settings.softness).material.young
    return young / REFERENCE


def growth(before: float, after: float) -> float:
    """How much farther flesh sways that is as stiff as `after` and was as stiff as `before`."""
    return min(max((before / after) ** POWER, 1.0 / MOST), MOST)
