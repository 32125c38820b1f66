# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh that is shown: what is built for each object, kept beside Blender, and written at the scene's frame.

It stands first in the stack of modifiers, where shape keys act: an Armature modifier behind it carries it along. What asks
for another reduced space is built as a task; dials, times and velocities are set at once. Nothing here is saved.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from ..logic.errors import Cancelled, Refusal, sentence
from ..logic.inbetween import Inbetween
from ..logic.keyframes import Plan
from ..logic.names import describe
from ..logic.native import EXPECTED, core
from ..logic.sentences import listed
from ..logic.tasks import Progress, Task, Work
from ..saved.made import reset
from ..saved.timing import curve_time
from ..scene import bakes, keyframe_shapes, keyframe_times, modifier, reading, stack
from ..scene.keyframe_shapes import Shapes
from .session import alive

# the register ---------------------------------------------------------------------------------------------------------


@dataclass
class Known:
    """What is known of one object between two frames."""

    motion: Inbetween | None = None
    shapes: Shapes | None = None  # those that it was built from
    structure: tuple = ()  # and what else
    plan: Plan | None = None  # as it is set now
    suspect: bool = True  # somebody may have touched the mesh since it was read
    wrote: bool = False  # the mesh was touched by us since Blender was last evaluated
    tried: tuple = ()  # what the build that failed last started from
    problem: str = ""  # why what is shown is not as the settings say; a sentence


class Register:
    """Which objects have keyframed flesh, found again after every load, undo, and change of the number of objects."""

    def __init__(self) -> None:
        self._known: dict[int, Known] = {}  # by the object's session id
        self._objects: list[bpy.types.Object] | None = None
        self._count = -1

    def known(self, obj: bpy.types.Object) -> Known:
        """What is known of an object."""
        return self._known.setdefault(obj.session_uid, Known())

    def forget(self, obj: bpy.types.Object) -> None:
        """Drop what is known of an object."""
        self._known.pop(obj.session_uid, None)
        self._objects = None

    def clear(self) -> None:
        """Drop everything."""
        self._known.clear()
        self._objects = None

    def look_again(self) -> None:
        """Hold no reference to an object any more, and trust no mesh as it was read."""
        self._objects = None
        self.suspect()

    def suspect(self) -> None:
        """Trust no mesh as it was read."""
        for known in self._known.values():
            known.suspect = True

    def everywhere(self) -> list[bpy.types.Object]:
        """The objects with keyframed flesh that can be changed from this file."""
        kept = self._objects
        # The count alone does not tell of one that was deleted while another was made.
        if kept is None or self._count != len(bpy.data.objects) or not all(map(alive, kept)):
            self._count = len(bpy.data.objects)
            self._objects = [
                obj
                for obj in bpy.data.objects
                if obj.type == "MESH" and obj.thew.made.keyframed and reading.is_own(obj)
            ]
        return self._objects

    def objects(self, scene: bpy.types.Scene) -> list[bpy.types.Object]:
        """Those of a scene."""
        found = self.everywhere()
        return [obj for obj in found if scene.objects.get(obj.name) == obj] if found else []


register = Register()


def is_live(obj: bpy.types.Object) -> bool:
    """Whether the motion is shown live: switched on, not showing its bake."""
    settings = obj.thew
    return settings.made.keyframed and settings.enabled and not settings.made.shows_bake


def is_shown(obj: bpy.types.Object) -> bool:
    """Whether it would be seen: live, and no sculpt being looked at or edited."""
    return is_live(obj) and obj.mode not in {"EDIT", "SCULPT"} and not obj.show_only_shape_key


# building -------------------------------------------------------------------------------------------------------------


def built(obj: bpy.types.Object, plan: Plan, shapes: Shapes) -> Task:
    """A task that gives the motion of a plan; nothing is changed."""
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
    """A task that builds the motion of an object as it is set, takes it, and shows it."""
    keyframe_shapes.check_mesh(obj)
    keyframe_shapes.follow_names(obj)
    plan = keyframe_shapes.plan_of(obj, scene)
    yield Progress(0.0, "Reading the shape keys")
    shapes = keyframe_shapes.shapes_of(obj, plan)
    motion = yield from built(obj, plan, shapes)
    take(obj, scene, plan, shapes, motion)
    return motion


def take(obj, scene, plan: Plan, shapes: Shapes, motion: Inbetween) -> None:
    """A build is done: show it from now on."""
    known = register.known(obj)
    known.motion, known.shapes, known.structure, known.plan = motion, shapes, plan.structure(), plan
    known.suspect, known.tried = False, ()
    keyframe_shapes.remember(obj)
    tell(obj, known, "")
    refresh(obj, scene, known)
    if is_shown(obj):
        write(obj, known, scene)


def tell(obj: bpy.types.Object, known: Known, problem: str) -> None:
    """Note, once, what there is to say."""
    problem = sentence(problem) if problem else ""
    notes = "\n".join([*(known.motion.notes if known.motion is not None else ()), *([problem] if problem else [])])
    if problem and problem != known.problem:
        print(f"Thew: {problem}")
    known.problem = problem
    if obj.thew.made.notes != notes:
        obj.thew.made.notes = notes


def refresh(obj: bpy.types.Object, scene: bpy.types.Scene, known: Known | None = None) -> str:
    """Bring the motion to the settings as far as that is quick: "" when it is done, "BUILD" where it has to be built.

    A `Refusal` where the settings are no motion; a native error where the core will not have them.
    """
    known = known or register.known(obj)
    if known.suspect:
        keyframe_shapes.remember(obj)
    plan = keyframe_shapes.plan_of(obj, scene)
    if known.motion is None or plan.structure() != known.structure:
        return "BUILD"
    if known.suspect or plan.groups() != known.plan.groups():
        shapes = keyframe_shapes.shapes_of(obj, plan)
        known.suspect = False
        if shapes.digest != known.shapes.digest:
            same = [*known.shapes.keys] == [*shapes.keys] and all(
                (known.shapes.keys[each] == shapes.keys[each]).all()
                if len(known.shapes.basis) == len(shapes.basis)
                else 0
                for each in shapes.keys
            )
            if not same or not quick(known, shapes, plan):
                known.suspect = True
                return "BUILD"
            known.motion.adjust(plan, shapes)
            known.shapes, known.plan = shapes, plan
    if plan != known.plan:
        known.motion.adjust(plan)
        known.plan = plan
        keyframe_times.keep(obj)
    return ""


def quick(known: Known, shapes: Shapes, plan: Plan) -> bool:
    """Whether other vertex groups alone, which hold nothing fixed, tell new shapes from those that were built."""
    old = known.shapes
    if (old.basis != shapes.basis).any() or old.triangles.shape != shapes.triangles.shape:
        return False
    held = {plan.fixed, *(key.fixed for key in plan.keys if key.cut)} - {""}
    same = all(each in old.groups and (old.groups[each] == shapes.groups[each]).all() for each in held)
    return same and bool((old.triangles == shapes.triangles).all())


def attempt(obj: bpy.types.Object, scene: bpy.types.Scene) -> tuple:
    """What a build starts from."""
    plan = keyframe_shapes.plan_of(obj, scene)
    return plan, keyframe_shapes.shapes_of(obj, plan).digest


def update(obj: bpy.types.Object, scene: bpy.types.Scene) -> Task:
    """A task that builds what has to be built, once: what fails is told and not tried again before something changes."""
    known = register.known(obj)
    try:
        if refresh(obj, scene, known) == "BUILD":
            if known.tried and known.tried == attempt(obj, scene):
                return
            yield from compute(obj, scene)
        elif known.problem:
            tell(obj, known, "")
    except Cancelled:
        raise
    except EXPECTED as error:
        fail(obj, scene, known, error)


def fail(obj, scene, known: Known, error: BaseException) -> None:
    """A build failed: what was built last stays where it still fits."""
    try:
        known.tried = attempt(obj, scene)
    except EXPECTED:
        known.tried = ()
    tell(obj, known, str(error))


# what is shown --------------------------------------------------------------------------------------------------------


def write(obj: bpy.types.Object, known: Known, scene: bpy.types.Scene, plain: bool | None = None) -> None:
    """Show the motion at the scene's frame; `plain`: the curves it is compared with (None: as the artist looks at it)."""
    motion, mesh = known.motion, obj.data
    if motion is None or len(motion.surface.basis) != len(mesh.vertices):
        hide(obj)
        return
    plain = obj.thew.keyframed.plain if plain is None else plain
    try:
        offsets = motion.offsets(curve_time(scene), plain)
    except EXPECTED as error:
        hide(obj)
        tell(obj, known, str(error))
        return
    show(obj, known, scene, offsets)


def show(obj: bpy.types.Object, known: Known, scene: bpy.types.Scene, offsets) -> None:
    """Show `offsets` float32[n, 3], object space, at the scene's frame."""
    modifier.write(obj.data, offsets, scene.frame_current_final)
    known.wrote = True
    obj.data.update_tag()


def hide(obj: bpy.types.Object) -> None:
    """Show the mesh without the motion."""
    mesh = obj.data
    shared = mesh.users - int(mesh.use_fake_user) > 1
    if mesh.is_editmode or shared or not any(name in mesh.attributes for name in modifier.ATTRIBUTES):
        return
    modifier.remove_attributes(obj)
    register.known(obj).wrote = True
    mesh.update_tag()


def apply_state(obj: bpy.types.Object) -> None:
    """Switch modifier, shape keys and baked keys to what the settings say: the motion, its bake, or neither."""
    settings, made = obj.thew, obj.thew.made
    baked, live = settings.enabled and made.shows_bake, is_live(obj)
    mine = modifier.by_id(obj, made.modifier)
    if mine is not None:
        stack.set_shown(mine, live, live)
    keyframe_shapes.mute(obj, settings.enabled)
    if not live:
        hide(obj)
    bakes.show(obj, baked)


def ready(obj: bpy.types.Object, scene: bpy.types.Scene) -> bool:
    """Whether the motion is as the settings say, brought there as far as that is quick; tells why not."""
    known = register.known(obj)
    try:
        keyframe_shapes.check_mesh(obj)
        if modifier.by_id(obj, obj.thew.made.modifier) is None:
            raise Refusal(f"Thew's modifier is gone from {describe(obj)}: press Compute, which makes it again")
        if refresh(obj, scene, known) == "BUILD":
            return False
    except EXPECTED as error:
        tell(obj, known, str(error))
        return True  # there is nothing to build
    if known.problem:
        tell(obj, known, "")
    return True


def fits(obj: bpy.types.Object, known: Known) -> bool:
    """Whether what was built can be shown on the mesh as it is, if only as the last good thing."""
    return known.motion is not None and len(known.motion.surface.basis) == len(obj.data.vertices)


def current(obj: bpy.types.Object, scene: bpy.types.Scene) -> Task:
    """A task that makes the motion be what the settings say now, or raises why it cannot be."""
    checked(obj)
    keyframe_shapes.check_mesh(obj)
    known = register.known(obj)
    known.suspect = True
    if refresh(obj, scene, known) == "BUILD":
        yield from compute(obj, scene)


def checked(obj: bpy.types.Object | None) -> None:
    """Refuse an object without keyframed flesh."""
    reading.check_editable(obj)
    if not obj.thew.made.keyframed:
        raise Refusal(f"{describe(obj)} has no keyframed flesh: press Add Keyframed Flesh first")


# removing -------------------------------------------------------------------------------------------------------------


def remove(obj: bpy.types.Object, finished: bool = False) -> list[str]:
    """Leave the object as it was before, its shape keys as they were found; gives what the artist should know.

    `finished`: its bake goes on playing, so that the shape keys stay silent. Else a bake is kept and muted.
    """
    kept, name = bakes.said(obj), describe(obj)
    notes = []
    if kept and not finished:
        bakes.show(obj, False)
        notes.append(f"{name} keeps its {listed(kept)}, muted, because its own shape keys count again")
    if not finished:
        keyframe_shapes.mute(obj, False)
    keyframe_times.remove(obj)
    modifier.remove(obj)
    obj.thew.keyframed.keyframes.clear()
    reset(obj, keep_rigs=True, keep_bake=bool(kept))
    register.forget(obj)
    return notes
