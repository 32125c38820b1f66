# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh in the scene: the motion built for each object, kept outside Blender, and written at the scene's frame.

Its modifier stands first in the stack, where shape keys act: an Armature modifier behind it carries it along. Settings that need
another reduced space start a build task; dials, times and velocities apply at once. Nothing here is saved.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from ..logic.errors import Cancelled, Refusal, sentence
from ..logic.inbetween import Inbetween
from ..logic.keyframes import KeyframePlan
from ..logic.names import describe
from ..logic.native import EXPECTED_ERRORS, core
from ..logic.states import UNREAD_CONDITION, Build, Condition, Event, Mesh
from ..logic.tasks import Progress, Task, Work
from ..saved.timing import curve_time
from ..scene import keyframe_shapes, keyframe_times, modifier, reading
from ..scene.keyframe_shapes import MeshShapes
from ..scene.libraries import check_own_mesh, owns_mesh
from . import skin
from .events import report_event
from .registers import Register


@dataclass
class KeyframedState:
    """State of one object between two frames."""

    condition: Condition = UNREAD_CONDITION  # changed by `events.report_event` alone
    motion: Inbetween | None = None
    shapes: MeshShapes | None = None  # the shape keys that it was built from
    structure: tuple = ()  # the other inputs of the build
    plan: KeyframePlan | None = None  # present settings
    failed_inputs: tuple = ()  # inputs of the last failed build
    problem: str = ""  # why the view differs from the settings, a sentence

    @property
    def is_doubtful(self) -> bool:
        """Returns whether the motion may not be that of the mesh as it is."""
        return self.condition.mesh is Mesh.TOUCHED or self.condition.build is Build.FAILED


register = Register(KeyframedState, lambda obj: obj.thew.made.keyframed and owns_mesh(obj))


def is_live(obj: bpy.types.Object) -> bool:
    """Returns whether the motion is shown live: switched on, not showing its bake."""
    settings = obj.thew
    return settings.made.keyframed and settings.enabled and not settings.made.shows_bake


def is_shown(obj: bpy.types.Object) -> bool:
    """Returns whether the motion is visible: live, and no sculpt viewed alone or edited."""
    return is_live(obj) and obj.mode not in {"EDIT", "SCULPT"} and not obj.show_only_shape_key


# building -------------------------------------------------------------------------------------------------------------


def build_motion(obj: bpy.types.Object, plan: KeyframePlan, shapes: MeshShapes) -> Task:
    """Builds a task that returns the motion of a plan; changes nothing."""
    core_module, name = core(), describe(obj)
    return (
        yield Work(
            "Finding the motion",
            lambda progress: Inbetween(core_module, plan, shapes, name, lambda f, text="": progress(f, text)),
            0.05,
            0.95,
        )
    )


def compute(obj: bpy.types.Object, scene: bpy.types.Scene) -> Task:
    """Builds a task that computes the motion of an object's settings, keeps it, and shows it."""
    keyframe_shapes.check_mesh(obj)
    keyframe_shapes.follow_names(obj)
    plan = keyframe_shapes.plan_of(obj, scene)
    yield Progress(0.0, "Reading the shape keys")
    shapes = keyframe_shapes.shapes_of(obj, plan)
    motion = yield from build_motion(obj, plan, shapes)
    take(obj, scene, plan, shapes, motion)
    return motion


def take(obj, scene, plan: KeyframePlan, shapes: MeshShapes, motion: Inbetween) -> None:
    """Takes over a finished build, and shows it from now on."""
    known = register.state_of(obj)
    known.motion, known.shapes, known.structure, known.plan = motion, shapes, plan.structure(), plan
    report_event(obj, known, Event.MESH_READ)
    report_event(obj, known, Event.CLIP_MADE)
    keyframe_shapes.remember(obj)
    tell(obj, known, "")
    refresh(obj, scene, known)
    if is_shown(obj):
        write(obj, known, scene)


def tell(obj: bpy.types.Object, known: KeyframedState, problem: str) -> None:
    """Stores the notes of the motion with the object, and prints a new problem once."""
    problem = sentence(problem) if problem else ""
    notes = "\n".join([*(known.motion.notes if known.motion is not None else ()), *([problem] if problem else [])])
    if problem and problem != known.problem:
        print(f"Thew: {problem}")
    known.problem = problem
    if obj.thew.made.notes != notes:
        obj.thew.made.notes = notes


def refresh(obj: bpy.types.Object, scene: bpy.types.Scene, known: KeyframedState | None = None) -> str:
    """Applies the settings to the motion where that is quick: returns "" when done, "BUILD" where a build is needed.

    Raises a `Refusal` where the settings define no motion, and a native error where the core rejects them.
    """
    known = known or register.state_of(obj)
    if known.is_doubtful:
        keyframe_shapes.remember(obj)
    plan = keyframe_shapes.plan_of(obj, scene)
    if known.motion is None or plan.structure() != known.structure:
        return "BUILD"
    if known.is_doubtful or plan.groups() != known.plan.groups():
        shapes = keyframe_shapes.shapes_of(obj, plan)
        if shapes.digest != known.shapes.digest:
            if not changes_groups_only(known, shapes, plan):
                return "BUILD"
            known.motion.adjust(plan, shapes)
            known.shapes, known.plan = shapes, plan
        report_event(obj, known, Event.MESH_READ)
        report_event(obj, known, Event.CLIP_MADE)
    if plan != known.plan:
        known.motion.adjust(plan)
        known.plan = plan
        keyframe_times.keep(obj)
    return ""


def changes_groups_only(known: KeyframedState, shapes: MeshShapes, plan: KeyframePlan) -> bool:
    """Returns whether the new shapes differ from the built ones in vertex groups alone, and none of these fixes vertices."""
    old = known.shapes
    if old.basis.shape != shapes.basis.shape or old.triangles.shape != shapes.triangles.shape:
        return False
    if [*old.keys] != [*shapes.keys] or any((old.keys[each] != shapes.keys[each]).any() for each in shapes.keys):
        return False
    if (old.basis != shapes.basis).any():
        return False
    held = {plan.fixed, *(key.fixed for key in plan.keys if key.cut)} - {""}
    same = all(each in old.groups and (old.groups[each] == shapes.groups[each]).all() for each in held)
    return same and bool((old.triangles == shapes.triangles).all())


def build_inputs(obj: bpy.types.Object, scene: bpy.types.Scene) -> tuple:
    """Returns the inputs of a build."""
    plan = keyframe_shapes.plan_of(obj, scene)
    return plan, keyframe_shapes.shapes_of(obj, plan).digest


def update(obj: bpy.types.Object, scene: bpy.types.Scene) -> Task:
    """Builds a task that makes the needed build, once: a failure is reported, and not tried again before something changes."""
    known = register.state_of(obj)
    try:
        if refresh(obj, scene, known) == "BUILD":
            if known.condition.build is Build.FAILED and known.failed_inputs == build_inputs(obj, scene):
                return
            yield from compute(obj, scene)
        elif known.problem:
            tell(obj, known, "")
    except Cancelled:
        raise
    except EXPECTED_ERRORS as error:
        fail(obj, scene, known, error)


def fail(obj, scene, known: KeyframedState, error: BaseException) -> None:
    """Reports a failed build; the last motion stays in use where it still fits."""
    try:
        known.failed_inputs = build_inputs(obj, scene)
    except EXPECTED_ERRORS:
        known.failed_inputs = ()
    report_event(obj, known, Event.FAILED)
    tell(obj, known, str(error))


# display -------------------------------------------------------------------------------------------------------------


def write(obj: bpy.types.Object, known: KeyframedState, scene: bpy.types.Scene, plain: bool | None = None) -> None:
    """Shows the motion at the scene's frame; `plain`: the plain curves, for comparison (None: as the artist chose)."""
    motion, mesh = known.motion, obj.data
    if motion is None or len(motion.surface.basis) != len(mesh.vertices):
        hide(obj)
        return
    plain = obj.thew.keyframed.plain if plain is None else plain
    try:
        offsets = motion.offsets(curve_time(scene), plain)
    except EXPECTED_ERRORS as error:
        hide(obj)
        tell(obj, known, str(error))
        return
    show(obj, known, scene, offsets)


def show(obj: bpy.types.Object, known: KeyframedState, scene: bpy.types.Scene, offsets) -> None:
    """Shows `offsets` float32[n, 3], object space, at the scene's frame."""
    skin.show(obj, known, offsets, scene.frame_current_final)


def hide(obj: bpy.types.Object) -> None:
    """Shows the mesh without the motion."""
    if not reading.is_shared(obj.data):
        skin.clear(obj, register.state_of(obj))


def apply_state(obj: bpy.types.Object) -> None:
    """Switches modifier, shape keys and baked keys to match the settings: the motion, its bake, or neither."""
    keyframe_shapes.mute(obj, obj.thew.enabled)
    if not skin.switch(obj):
        hide(obj)


def is_ready(obj: bpy.types.Object, scene: bpy.types.Scene) -> bool:
    """Returns whether the motion matches the settings, after quick changes; reports why not. False: a build is needed."""
    known = register.state_of(obj)
    try:
        keyframe_shapes.check_mesh(obj)
        if modifier.modifier_by_id(obj, obj.thew.made.modifier) is None:
            raise Refusal(f"Thew's modifier is gone from {describe(obj)}: press Compute, which makes it again")
        if refresh(obj, scene, known) == "BUILD":
            return False
    except EXPECTED_ERRORS as error:
        tell(obj, known, str(error))
        return True  # a build would not help
    if known.problem:
        tell(obj, known, "")
    return True


def can_show(obj: bpy.types.Object, known: KeyframedState) -> bool:
    """Returns whether the built motion can be shown on the present mesh, if only as the last good one."""
    return known.motion is not None and len(known.motion.surface.basis) == len(obj.data.vertices)


def bring_up_to_date(obj: bpy.types.Object, scene: bpy.types.Scene) -> Task:
    """Builds a task that brings the motion up to date with the settings, or raises the reason why that fails."""
    check_keyframed(obj)
    keyframe_shapes.check_mesh(obj)
    known = register.state_of(obj)
    report_event(obj, known, Event.MESH_TOUCHED)
    if refresh(obj, scene, known) == "BUILD":
        yield from compute(obj, scene)


def check_keyframed(obj: bpy.types.Object | None) -> None:
    """Refuses an object without keyframed flesh."""
    reading.check_editable(obj)
    if not obj.thew.made.keyframed:
        raise Refusal(f"{describe(obj)} has no keyframed flesh: press Add Keyframed Flesh first")
    check_own_mesh(obj, "its keyframed flesh cannot be edited", "edit it in that file")


# removing -------------------------------------------------------------------------------------------------------------


def remove(obj: bpy.types.Object, finished: bool = False) -> list[str]:
    """Restores the object to its state before, with its shape keys as they were; returns notes for the artist.

    `finished`: its bake goes on playing, so the shape keys stay muted. Else a bake is kept and muted.
    """
    if not finished:
        keyframe_shapes.mute(obj, False)
    keyframe_times.remove(obj)
    obj.thew.keyframed.keyframes.clear()
    return skin.remove_thew(obj, "" if finished else "its own shape keys count again")
