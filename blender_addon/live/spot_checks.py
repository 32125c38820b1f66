# SPDX-License-Identifier: GPL-3.0-or-later
"""A quick test whether a motion that was read is current, on a few of its frames.

Blender reports edits of curves. Changes that it does not report (a constraint's influence set by a script, a driver, a moved
target) alter most frames of a motion: a few frames, ends included, reveal them.
"""

from __future__ import annotations

import numpy as np

from ..logic.health import POSE_PROBLEMS
from ..logic.states import Motion
from ..logic.tasks import Task
from ..scene import poses, windows
from ..scene.reading import Subject
from . import session, validity
from .build_settings import BuildSettings
from .flesh import Flesh

#: Number of frames that are checked. The ends and five between: a change of an action shows in most of its frames, and each check
#: takes one evaluation.
CHECKED_FRAMES = 7


def is_current(
    subject: Subject, flesh: Flesh, build_settings: BuildSettings, frames: tuple[int, int], scene, view_layer
) -> Task:
    """Builds a task that returns whether the poses of `frames` (first, last) are current and need not be read again."""
    obj = subject.obj
    if windows.is_headless():
        session.notice_edits([obj], view_layer.depsgraph)
    edited = flesh.condition.motion is not Motion.READ or flesh.problem in POSE_PROBLEMS
    # Poses from the disk cache were never read; nor were those before the range, where fewer were wanted then.
    unread = flesh.poses_from_cache or flesh.motion is None or flesh.motion.lead_length < build_settings.lead
    if edited or unread or not validity.motion_holds(obj, flesh, build_settings, frames):
        return False
    spots = sorted({round(each) for each in np.linspace(*frames, CHECKED_FRAMES)})

    def differs(_i: int, frame: int) -> bool:
        depsgraph = view_layer.depsgraph
        return flesh.motion.differs(obj, frame, depsgraph) or bool(flesh.motion.displaced_collider(frame, depsgraph))

    with poses.show_hidden([subject.armature, obj]):
        differing = yield from poses.play_frames(scene, spots, differs, "Looking at frame")
    return not any(differing)
