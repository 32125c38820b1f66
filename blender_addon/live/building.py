# SPDX-License-Identifier: GPL-3.0-or-later
"""Bringing flesh up to date: each stage is made again when the hash of what it depends on has changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import bpy
import numpy as np

from ..logic import limbs, modal
from ..logic.colliders import Colliders
from ..logic.cycles import PREROLL, Beginning, beginning
from ..logic.native import core
from ..logic.played import Played
from ..logic.spaces import Place, mirrors, transform
from ..logic.states import Event
from ..logic.tasks import Task, Work, span
from ..rigs import pushers, rigging
from ..saved import believed
from ..scene import poses, reading, rig_controls
from ..scene.bind_pose import BindPose
from ..scene.character import Character, read_character
from . import contact
from .build_settings import REFERENCE, BuildSettings, hashed
from .events import happened
from .flesh import Built, Flesh

#: A cycle has come to itself after so many seconds.
SETTLING = 5.0


def build(
    flesh: Flesh,
    found: reading.Subject,
    bind_pose: BindPose,
    build_settings: BuildSettings,
    scene: bpy.types.Scene,
    view_layer: bpy.types.ViewLayer,
    frames: tuple[int, int] | None,
    trust_motion: bool = False,
    still: bool = False,
) -> Task:
    """A task that brings `flesh` up to date: reads Blender again and remakes what changed.

    `frames`: also the clip of that range (None: only lattice and body). `trust_motion`: the poses that were read before
    still hold, if they are of the same bones. `still`: see `make`.
    """
    core()
    character, bind_pose = read(flesh, found, bind_pose, scene)
    motion = flesh.motion
    native = 0.0
    if frames is None:
        same = flesh.character is not None and flesh.character.digest == character.digest
        motion = motion if same and motion is not None and motion.moving == rig_controls.moving(found.obj) else None
    elif not (trust_motion and motion is not None and flesh.character.bones == character.bones):
        reader = poses.read_motion(
            found, character.bones, bind_pose.mesh_matrix, scene, view_layer, *frames, build_settings.collides_with
        )
        motion = yield from span(reader, 0.0, 0.15)
        native = 0.15
    rigs = rigging.resolve(found.obj, character, bind_pose, placed(character, bind_pose, build_settings))
    yield from span(make(found.obj, flesh, character, bind_pose, build_settings, motion, rigs, still), native, 1.0)
    happened(found.obj, flesh, Event.MESH_READ)
    if frames is not None:
        happened(found.obj, flesh, Event.MOTION_READ)


def read(
    flesh: Flesh, found: reading.Subject, bind_pose: BindPose, scene: bpy.types.Scene
) -> tuple[Character, BindPose]:
    """The mesh and its skeleton as they are now, and where both stood."""
    believed.check(found.obj)
    character = read_character(found, bpy.context.evaluated_depsgraph_get)
    if flesh.character is not None and flesh.character.digest != character.digest:
        bind_pose = applied(found, bind_pose, flesh.character, character, scene)
        if not flesh.character.alike(character):
            happened(found.obj, flesh, Event.MISFITS)
    return character, bind_pose


def applied(found: reading.Subject, bind_pose: BindPose, old, new, scene: bpy.types.Scene) -> BindPose:
    """The bind pose after Apply Transform or Set Origin: the vertices changed, but not where they are in the world."""
    if len(old.rest) != len(new.rest):
        return bind_pose
    now = BindPose.read(found, scene)
    before, after = transform(bind_pose.mesh_matrix, old.rest), transform(now.mesh_matrix, new.rest)
    if now.mesh == bind_pose.mesh or np.abs(before - after).max() > 1e-5 * bind_pose.longest_side:
        return bind_pose
    now = BindPose(now.mesh, now.armature, bind_pose.longest_side, bind_pose.guessed_height)
    now.save(found.obj)
    return now


def placed(character, bind_pose, build_settings) -> Place:
    """Where the metres of the body lie."""
    world = transform(bind_pose.mesh_matrix, character.rest)
    return Place(0.5 * (world.min(axis=0) + world.max(axis=0)), build_settings.height / bind_pose.longest_side)


def make(obj, flesh: Flesh, character, bind_pose, build_settings, motion, rigs=(), still=False) -> Task:
    """The native part of `build`: touches no Blender data. `flesh` is changed only when everything is done.

    `still`: flesh is shown settled, so that a clip of the same range may stay behind changes of rigs.
    """
    new = yield from prepared(flesh, character, bind_pose, build_settings, motion, rigs)
    made = Event.BODY_MADE
    if motion is not None:
        made = yield from simulate(flesh, new, still)
    take(obj, flesh, new, made)


def prepared(flesh: Flesh, character, bind_pose, build_settings, motion, rigs=()) -> Task:
    """All of it that comes before a motion is simulated; gives the draft of what is built."""
    thew = core()
    new = flesh.draft()
    new.character, new.bind_pose, new.build_settings, new.motion, new.rigs = (
        character,
        bind_pose,
        build_settings,
        motion,
        rigs,
    )
    new.place = placed(character, bind_pose, build_settings)
    new.lattice_key = hashed(
        character.digest, bind_pose, new.place.metres_per_unit, build_settings.cells_across, build_settings.limbs
    )
    material = build_settings.poisson, build_settings.density, build_settings.rest_includes_gravity
    new.automatic_key = hashed(new.lattice_key, *material, build_settings.kind)
    new.flesh_key = hashed(new.automatic_key, character.painted.digest)
    new.body_key = hashed(new.flesh_key, build_settings.softness, build_settings.young)
    if new.lattice_key != flesh.lattice_key:
        yield from enclose(new)
    yield from assemble(flesh, new)
    if build_settings.method == modal.METHOD:
        modes_key = hashed(new.flesh_key, build_settings.modes)
        if modes_key != flesh.modes_key:

            def vibrate(progress):
                return modal.find(thew, new.reference, build_settings.modes, progress)

            new.modes = yield Work("Finding the modes", vibrate, 0.6, 0.78)
            new.modes_key = modes_key

    yield from place_rigs(flesh, new)
    return new


def take(obj, flesh: Flesh, new: Built, made: Event) -> None:
    """All is made: the flesh of `obj` is what was built."""
    if made is Event.BODY_MADE:
        new.clip, new.touching, new.clip_place, new.clip_key, new.group_key = None, None, None, b"", b""
    motion, new.spaces = new.motion, None
    if motion is not None:
        new.spaces, new.clip_start = (new.clip_place or new.place).to_object(motion.matrices), motion.start
    flesh.take(new)
    happened(obj, flesh, made)


def enclose(new: Built) -> Task:
    """The surface, the skeleton and the lattice around both."""
    thew = core()
    character, bind_pose, place = new.character, new.bind_pose, new.place
    world, triangles = transform(bind_pose.mesh_matrix, character.rest), character.triangles
    if mirrors(bind_pose.mesh_matrix):
        triangles = triangles[:, ::-1]
    heads, tails = (
        place.points(transform(bind_pose.armature_matrix, ends)) for ends in (character.heads, character.tails)
    )

    model = limbs.joined(
        thew, new.build_settings.limbs, lambda points: place.points(transform(bind_pose.mesh_matrix, points))
    )

    def made(progress):
        surface = thew.Surface(place.points(world), np.ascontiguousarray(triangles))
        skeleton = thew.Skeleton(character.bones, character.parents, heads, tails)
        skeleton = skeleton.refit_tails(surface, character.weights)
        lattice = (model or thew.Lattice).enclose(
            surface, skeleton, character.weights, cells_across=new.build_settings.cells_across, progress=progress
        )
        return surface, skeleton, lattice, lattice.check(surface, skeleton)

    new.surface, new.skeleton, new.lattice, new.defects = yield Work("Building the lattice", made, 0.0, 0.5)


def assemble(flesh: Flesh, new: Built) -> Task:
    """The body: `automatic` as its thickness has it, `reference` as it is painted, `body` as soft as it is asked for.

    The dial is measured on the automatic one, so that painting one place leaves all others as they are.
    """
    thew = core()
    character, build_settings, painted = new.character, new.build_settings, new.character.painted

    def made(progress, **maps):
        material = thew.Material(young=REFERENCE, poisson=build_settings.poisson, density=build_settings.density)
        return thew.Body(
            new.surface, new.skeleton, new.lattice, material,
            region_weights=character.weights, rest_includes_gravity=build_settings.rest_includes_gravity,
            kind=build_settings.kind.lower(), progress=progress, **maps,
        )  # fmt: skip

    if new.automatic_key != flesh.automatic_key:
        new.automatic = yield Work("Assembling the body", made, 0.5, 0.55)
    if new.flesh_key != flesh.flesh_key:
        new.reference = new.automatic
        if painted.any:
            maps = {"flesh": painted.flesh, "stiffness": painted.factors()}
            new.reference = yield Work("Assembling the body", lambda progress: made(progress, **maps), 0.55, 0.58)
    if new.body_key == flesh.body_key:
        return

    def soften(_progress):
        young = (
            build_settings.young
            if build_settings.softness is None
            else new.automatic.with_softness(build_settings.softness).material.young
        )
        return new.reference.stiffened(young / REFERENCE), young / REFERENCE

    new.body, new.stiffness = yield Work("Assembling the body", soften, 0.58, 0.6)


def place_rigs(flesh: Flesh, new: Built) -> Task:
    """The native rigs on the body, or why they cannot push."""
    essence = tuple(rig.essence for rig in new.rigs if rig.on)
    new.rigs_key = hashed(new.body_key, new.place, essence)
    if new.rigs_key == flesh.rigs_key:
        new.pushing = flesh.pushing
    elif not essence:
        new.pushing = pushers.Pushers()
    else:

        def place(_progress):
            return pushers.Pushers.of(new.rigs, new.body, new.place, flesh.pushing)

        new.pushing = yield Work("Placing the rigs", place, 0.78, 0.8)
    new.rig_problems = {**new.pushing.faults, **rigging.problems(new.rigs)}


def simulate(flesh: Flesh, new: Built, still: bool) -> Task:
    """The clip, pushed by the rigs at their controls; gives what came of it."""
    thew, build_settings, motion = core(), new.build_settings, new.motion
    kept = Event.CLIP_KEPT if stays(flesh, new) else Event.BODY_MADE
    if not (rigging.were_read(new.rigs, motion) and contact.were_read(new)):  # other rigs were keyed or driven since
        return kept
    plan = planned(new)
    clip_key = key_of(new, plan)
    if build_settings.others:  # its clip is made with theirs: see `together`
        if clip_key == flesh.clip_key and flesh.group_key and flesh.build_settings.others == build_settings.others:
            return Event.CLIP_MADE
        return kept
    if clip_key == flesh.clip_key and not flesh.group_key:
        new.begun = plan.begun
        return Event.CLIP_MADE
    if plan.acting and still and kept is Event.CLIP_KEPT:
        return kept

    def run(progress):
        clip = simulated(progress)
        return clip, contact.found(new, clip)

    def simulated(progress):
        def made(poses, controls, collided, **options):
            given = arguments(new, plan, poses, controls, collided, **options)
            # What is made ready for contact before the first frame counts from 0 to 1 by itself.
            return thew.simulate(**given, progress=lambda at, stage: progress(at if "frame" in stage else 0.0, ""))

        maps, begun = new.place.maps(motion.maps), plan.begun
        clip = made(*plan.turn(maps), **begun.options())
        clip.positions(0)  # what shows it is made here, not when somebody waits for the first frame
        return played(clip, plan, made(*after(new, plan, maps)) if plan.goes_on else None)

    new.clip, new.touching = yield Work("Closing the loop" if plan.begun.period else "Simulating", run, 0.8, 1.0)
    new.clip_place, new.clip_key, new.group_key, new.begun = new.place, clip_key, b"", plan.begun
    return Event.CLIP_MADE


def stays(flesh: Flesh, new: Built) -> bool:
    """Whether the clip that there is can go on to be seen: it is of the same range and lattice."""
    motion = new.motion
    ranged = flesh.clip is not None and (flesh.clip_start, len(flesh.spaces)) == (motion.start, len(motion.maps))
    return ranged and new.lattice_key == flesh.lattice_key


def key_of(new: Built, plan: Plan) -> bytes:
    """A hash of all that the clip of a plan depends on."""
    build_settings, motion = new.build_settings, new.motion
    own = (
        (build_settings.modes, build_settings.engine, build_settings.device)
        if build_settings.method == modal.METHOD
        else ()
    )
    forces = hashed(new.rigs_key, tuple(plan.acting), plan.controls.tobytes()) if plan.acting else b""
    began = plan.begun.key, plan.live if plan.begun.period else 0
    dynamics, touching = build_settings.dynamics(), contact.key(new, motion.colliders)
    return hashed(new.body_key, motion.digest, dynamics, build_settings.fps, own, forces, began, touching)


@dataclass(frozen=True)
class Plan:
    """What is simulated of a motion: the rigs that push, where their controls stand, and how it begins."""

    acting: dict[int, Any]  # native rigs by index
    controls: np.ndarray  # [f + 1, r] of those
    begun: Beginning
    live: int  # frames that the artist plays
    frames: int  # all
    colliders: Colliders = field(default_factory=Colliders)

    @property
    def goes_on(self) -> bool:
        """Whether something else follows a cycle."""
        return self.begun.period > 0 and self.live < self.frames

    def turn(self, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray, Colliders]:
        """Of poses `maps` [f + 1, b, 4, 4], the controls and what is collided with what is simulated first."""
        collided = self.colliders.picked(self.begun.turn(np.arange(len(maps))))
        return self.begun.turn(maps), self.begun.turn(self.controls), collided


def planned(new: Built) -> Plan:
    """The plan for the motion that was read; rigs whose controls are lost are told."""
    motion = new.motion
    lost = rigging.lost_controls(new.rigs, motion)
    new.rig_problems.update(lost)
    acting = {index: native for index, native in new.pushing.natives.items() if index not in lost}
    controls = rigging.controls_of(new.rigs, tuple(acting), motion.controls)
    begun, live = begins(new, controls)
    return Plan(acting, controls, begun, live, len(motion.maps) - 1, motion.colliders)


def arguments(
    new: Built, plan: Plan, poses: np.ndarray, controls: np.ndarray, collided: Colliders,
    common: contact.Common | None = None, **options,
) -> dict[str, Any]:  # fmt: skip
    """What `thew.simulate` and `thew.Shot` are given for poses [f, b, 4, 4] in metres, controls [f, r] and what is collided with;
    `common`: with those that it is simulated together with."""
    build_settings = new.build_settings
    pushed = {"rigs": list(plan.acting.values()), "controls": controls} if plan.acting else {}
    extra = modal.options(build_settings, new.modes, new.stiffness)
    return {
        "body": new.body,
        "poses": poses,
        "fps": build_settings.fps,
        **build_settings.simulation(new.body),
        **extra,
        **contact.given(new, collided, common),
        **pushed,
        **options,
    }


def after(new: Built, plan: Plan, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray, Colliders]:
    """Poses, controls and what is collided with of all that follows a cycle of poses `maps` [f + 1, b, 4, 4], turns of it before them."""
    begun, motion, seconds = plan.begun, new.motion, SETTLING * new.build_settings.fps
    lead = begun.before(maps, seconds)
    rows = np.concatenate([np.resize(np.arange(begun.period), len(lead)), np.arange(len(maps))])
    moves = np.repeat(begun.moves_before(motion.maps, seconds), begun.period, axis=0)
    moves = np.concatenate([moves, np.broadcast_to(np.eye(4), (len(maps), 4, 4))])
    return np.concatenate([lead, maps]), plan.controls[rows], motion.colliders.picked(rows).led(moves)


def played(clip: Any, plan: Plan, later: Any = None) -> Any:
    """A clip as it is shown: one turn of a cycle comes as often as the range is long; `later`: the clip of what follows it."""
    if later is not None:
        return Played(clip, plan.begun, later, plan.live, len(later) - plan.frames - 1)
    repeats = plan.begun.period and not plan.goes_on and plan.frames > plan.begun.period + 1
    return Played(clip, plan.begun) if repeats else clip


def unlooped(new: Built, plan: Plan, why: str) -> Plan:
    """The same with a run-in in place of a cycle, and `why` that is."""
    if not plan.begun.period:
        return plan
    begun, _ = begins(new, plan.controls, PREROLL)
    return replace(plan, begun=replace(begun, note=f"{why} {begun.note}".rstrip()))


def begins(new: Built, controls: np.ndarray, choice: str = "") -> tuple[Beginning, int]:
    """How the motion begins, told from the frames that the artist plays, and how many of its frames those are.

    A longer bake begins so too: it is what was previewed, as far as that goes. `choice`: of the beginning ("": as it is set).
    """
    build_settings, motion = new.build_settings, new.motion
    first, last = build_settings.live
    frames = len(motion.maps) - 1
    live = min(last - first + 1, frames) if motion.start == first and last > first else frames
    maps, heads = new.place.maps(motion.maps[: live + 1]), new.skeleton.heads
    # The last frame of a marked action is its first again: it may be played or not.
    here, marked = (motion.start, motion.start + live - 1), motion.marked
    marked = marked is not None and here in (marked, (marked[0], marked[1] - 1))
    others = motion.colliders.trace(new.place, new.surface.size)
    others = None if others is None else others[: live + 1]
    options = build_settings.fps, motion.start, controls[: live + 1], marked, others
    begun = beginning(choice or build_settings.motion_start, maps, heads, new.surface.size, *options)
    return begun, live
