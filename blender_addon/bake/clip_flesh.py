# SPDX-License-Identifier: GPL-3.0-or-later
"""Flesh of single actions, simulated beside the live flesh, which keeps its own clip.

Each action plays alone, from its own beginning: a loop if it repeats, else a run-in. It shares surface, lattice and body with the
live flesh. Other characters take no part, since they do not play these actions.
"""

from __future__ import annotations

from dataclasses import replace

import bpy

from ..live import building
from ..live.build_settings import BuildSettings
from ..live.flesh import Flesh
from ..live.session import register
from ..logic import cycles
from ..logic.tasks import Task, span, within
from ..rigs import rigging
from ..scene import animation, poses, reading, restart_keys
from ..scene.armature_actions import Soloist
from ..scene.bind_pose import BindPose
from .clip_plans import ClipPlan


class ClipSimulator:
    """Simulates actions of one character, each alone."""

    def __init__(
        self, subject: reading.Subject, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer, soloist: Soloist
    ):
        self.subject, self.scene, self.view_layer, self.soloist = subject, scene, view_layer, soloist
        self.base: Flesh | None = None  # the body at the present settings, without a motion

    def prepare(self) -> Task:
        """Builds the task that brings the body up to date, in flesh of its own where the live one has a clip to keep."""
        obj, live = self.subject.obj, register.state_of(self.subject.obj)
        settings = self.settings()
        if live.body is None:
            yield from building.build(
                live, self.subject, BindPose.from_saved(obj), settings, self.scene, self.view_layer, None
            )
        base = without_motion(live)
        yield from building.build(
            base, self.subject, BindPose.from_saved(obj), settings, self.scene, self.view_layer, None
        )
        self.base = without_motion(base)

    def settings(self) -> BuildSettings:
        """Returns the settings of the object, for flesh that is simulated without others."""
        settings = BuildSettings.from_object(self.subject.obj, self.scene).for_bake()
        contact = settings.contact
        return settings if contact is None else replace(settings, contact=replace(contact, others=()))

    def simulate(self, plan: ClipPlan) -> Task:
        """Builds the task that simulates one action and returns its `Flesh`."""
        obj, base = self.subject.obj, self.base
        flesh, settings = without_motion(base), clip_settings(self.settings(), plan, self.subject.armature)
        character, bind_pose = base.character, base.bind_pose
        reader = poses.read_motion(
            self.subject, character.bones, bind_pose.mesh_matrix, self.scene, self.view_layer, plan.start, plan.end,
            settings.collides_with, settings.lead,
        )  # fmt: skip
        motion = yield from span(within(reader, lambda: self.soloist.playing(plan.bones)), 0.0, 0.3)
        rigs = rigging.resolve_rigs(obj, character, bind_pose, base.place)
        made = building.make(obj, flesh, character, bind_pose, settings, motion, rigs)
        yield from span(made, 0.3, 1.0)
        return flesh


def without_motion(flesh: Flesh) -> Flesh:
    """Returns flesh with the same body and no motion."""
    copy, stages = Flesh(), flesh.draft()
    stages.motion = stages.clip = stages.touching = stages.clip_place = stages.spaces = None
    stages.clip_key = stages.group_key = b""
    copy.take(stages)
    return copy


def clip_settings(settings: BuildSettings, plan: ClipPlan, armature: bpy.types.Object) -> BuildSettings:
    """Returns the settings for one action: its own frames, and a loop where it is marked as one.

    Frames in which the flesh begins anew, or goes on, are the scene's: they count for the action that it plays. Keys of
    Restart count for their own action.
    """
    marked, played = plan.action.use_frame_range and plan.action.use_cyclic, animation.played_action(armature)
    start = cycles.CYCLE if marked and settings.motion_start == cycles.AUTOMATIC else settings.motion_start
    cut = played is not None and played.plain and played.action == plan.action
    keyed = restart_keys.frames_in(plan.action, animation.slots_of(plan.action, "OBJECT"))
    restarts = settings.restarts if cut else tuple(sorted(keyed))
    passed = settings.passed if cut else ()
    return replace(settings, live=(plan.start, plan.end), restarts=restarts, passed=passed, motion_start=start)
