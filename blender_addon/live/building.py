# SPDX-License-Identifier: GPL-3.0-or-later
"""Updates of flesh: each stage is rebuilt when the hash of its inputs has changed."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from ..logic import fine_detail, hand_lattice, limbs, modal, twist
from ..logic.errors import Cancelled, Refusal, sentence
from ..logic.native import core
from ..logic.pin_gaps import PinGaps
from ..logic.sentences import lattice_defects
from ..logic.spaces import MeshSpace, MetricSpace, mirrors, similarity, transform
from ..logic.states import Event
from ..logic.tasks import Progress, Task, Work, span
from ..logic.twist import core_twists
from ..rigs import pushers, rigging
from ..saved import validation
from ..saved.units import length
from ..scene import poses, reading, rig_controls
from ..scene import twist as scene_twist
from ..scene.bind_pose import BindPose
from ..scene.character import Character, read_character
from . import disk_cache, lattice_faults, parked_stages, progress_words, simulating
from .build_settings import BuildSettings, hash_of
from .disk_cache import CachedStages
from .events import report_event
from .flesh import BuildStages, Flesh
from .stages import body_place, set_keys


def build(
    flesh: Flesh,
    subject: reading.Subject,
    bind_pose: BindPose,
    build_settings: BuildSettings,
    scene: bpy.types.Scene,
    view_layer: bpy.types.ViewLayer,
    frames: tuple[int, int] | None,
    trust_motion: bool = False,
    still: bool = False,
    believe: bool = False,
) -> Task:
    """Builds a task that brings `flesh` up to date: reads Blender again and rebuilds the stages that changed.

    `frames`: also simulates the clip of that range (None: lattice and body only). `trust_motion`: keeps the poses read before, if
    they are of the same bones. `still`: see `make`. `believe`: takes poses from the disk cache without reading them, because every
    frame shown is compared with them.
    """
    core()
    character, bind_pose = read(flesh, subject, bind_pose, scene)
    touches, curve_edits = flesh.touches, flesh.curve_edits  # counters before the read: reading the mesh updates it
    if flesh.character is None or flesh.character.digest != character.digest:
        yield Progress(0.0, "Reading the mesh")
    motion, kept, native = flesh.motion, None, 0.0
    if flesh.character is None:
        kept = yield from disk_cache.find_cached(
            subject.obj, scene, subject, character, bind_pose, build_settings, frames
        )
    restored = believe and kept is not None and kept.motion is not None
    if restored:
        motion = kept.motion
    elif frames is None:
        same = flesh.character is not None and flesh.character.digest == character.digest
        motion = (
            motion
            if same and motion is not None and motion.moving == rig_controls.control_animation(subject.obj)
            else None
        )
    elif not (
        trust_motion
        and motion is not None
        and flesh.character.bones == character.bones
        and motion.lead_length >= build_settings.lead
    ):
        reader = poses.read_motion(
            subject,
            character.bones,
            bind_pose.mesh_matrix,
            scene,
            view_layer,
            *frames,
            build_settings.collides_with,
            build_settings.lead,
        )
        motion = yield from span(reader, 0.0, 0.15)
        native = 0.15
    rigs = rigging.resolve_rigs(subject.obj, character, bind_pose, body_place(character, bind_pose, build_settings))
    parts = character, bind_pose, build_settings, motion, rigs
    with lattice_faults.shown_at(subject.obj, build=True):
        yield from span(make(subject.obj, flesh, *parts, still, kept), native, 1.0)
    report_read(subject.obj, flesh, touches, curve_edits if frames is not None else None)
    flesh.poses_from_cache = restored
    if restored:
        report_event(subject.obj, flesh, Event.CURVES_EDITED)  # before a render they are read


def report_read(obj: bpy.types.Object, flesh: Flesh, touches: int, curve_edits: int | None) -> None:
    """Reports that mesh and motion (`curve_edits` None: the mesh alone) were read at these edit counts.

    Edits counted since then, while the window stayed responsive, leave the data in doubt.
    """
    if flesh.touches == touches:
        report_event(obj, flesh, Event.MESH_READ)
    if flesh.curve_edits == curve_edits:
        report_event(obj, flesh, Event.MOTION_READ)


def read(
    flesh: Flesh, subject: reading.Subject, bind_pose: BindPose, scene: bpy.types.Scene
) -> tuple[Character, BindPose]:
    """Reads the mesh and its skeleton as they are now; returns them with their bind pose."""
    validation.check(subject.obj)
    scene_twist.check(subject.armature)
    character = read_character(subject, scene, bpy.context.evaluated_depsgraph_get)
    if flesh.character is not None and flesh.character.digest != character.digest:
        bind_pose = applied_bind_pose(subject, bind_pose, flesh.character, character, scene)
        if not flesh.character.is_alike(character):
            report_event(subject.obj, flesh, Event.MISFITS)
    return character, bind_pose


def applied_bind_pose(subject: reading.Subject, bind_pose: BindPose, old, new, scene: bpy.types.Scene) -> BindPose:
    """Returns the bind pose after Apply Transform or Set Origin: vertices changed, but not their places in the world.

    Where they are in the places of a character that was scaled or mirrored as a whole, and its bones too, it stays as large as it was.
    """
    if len(old.rest) != len(new.rest):
        return bind_pose
    now = BindPose.read(subject, scene)
    before, after = transform(bind_pose.mesh_matrix, old.rest), transform(now.mesh_matrix, new.rest)
    mesh, armature = now.mesh_matrix, now.armature_matrix
    if np.abs(before - after).max() <= 1e-5 * bind_pose.longest_side:
        if now.mesh == bind_pose.mesh:
            return bind_pose
    else:
        carried = similarity(before, after)
        if carried is None:
            return bind_pose
        ends = [
            transform(matrix, np.concatenate([each.heads, each.tails]))
            for matrix, each in ((carried @ bind_pose.armature_matrix, old), (armature, new))
        ]
        if ends[0].shape != ends[1].shape or np.abs(ends[0] - ends[1]).max() > 1e-4 * now.longest_side:
            return bind_pose
        mesh, armature = (np.linalg.solve(carried, matrix) for matrix in (mesh, armature))
    now = replace(bind_pose, mesh=tuple(mesh.ravel().tolist()), armature=tuple(armature.ravel().tolist()))
    now.save(subject.obj)
    return now


def make(
    obj,
    flesh: Flesh,
    character,
    bind_pose,
    build_settings,
    motion,
    rigs=(),
    still=False,
    kept: CachedStages | None = None,
) -> Task:
    """Runs the native part of `build`, without Blender data; `flesh` changes only once all is done.

    `still`: flesh is shown settled, so the clip of the same range may lag behind changes of rigs. `kept`: stages from the disk
    cache.
    """
    known = parked_stages.known_stages(obj, flesh, build_settings) if kept is None else kept.known
    new = yield from build_draft(known, character, bind_pose, build_settings, motion, rigs)
    made = Event.BODY_MADE
    if motion is not None:
        try:
            made = yield from simulating.simulate(flesh, new, still, None if kept is None else kept.motions)
        except Cancelled:
            if flesh.clip is None:  # the next attempt can reuse the body
                take(obj, flesh, new, Event.BODY_MADE)
            raise
    take(obj, flesh, new, made)


def build_draft(flesh: Flesh, character, bind_pose, build_settings, motion, rigs=()) -> Task:
    """Builds all stages before the simulation; returns the draft."""
    thew = core()
    new = flesh.draft()
    new.character, new.bind_pose, new.build_settings, new.motion, new.rigs = (
        character,
        bind_pose,
        build_settings,
        motion,
        rigs,
    )
    set_keys(new)
    if new.lattice_key != flesh.lattice_key:
        yield from enclose(new)
    yield from assemble(flesh, new)
    if build_settings.method == modal.METHOD:
        modes_key = hash_of(new.flesh_key, build_settings.modes)
        if modes_key != flesh.modes_key:

            def find_modes(progress):
                return modal.find(thew, new.reference, build_settings.modes, progress)

            new.modes = yield Work("Finding the modes", find_modes, 0.6, 0.78)
            new.modes_key = modes_key

    yield from place_rigs(flesh, new)
    return new


def take(obj, flesh: Flesh, new: BuildStages, made: Event) -> None:
    """Makes a finished draft the flesh of `obj`."""
    if made is Event.BODY_MADE:
        new.clip, new.touching, new.clip_place, new.clip_key, new.group_key = None, None, None, b"", b""
        new.inverted_count, new.pin_gaps = 0, PinGaps()
    motion, new.spaces = new.motion, None
    if motion is not None:
        if made is Event.CLIP_KEPT and not new.group_key:  # the character may have another scale now
            new.clip_place = new.motion_place
        new.spaces, new.clip_start = (new.clip_place or new.motion_place).to_object(motion.matrices), motion.start
    new.mesh_uid = obj.data.session_uid
    flesh.take(new)
    report_event(obj, flesh, made)


def enclose(new: BuildStages) -> Task:
    """Builds the surface, the skeleton and the lattice around both."""
    thew = core()
    character, bind_pose, place, settings = new.character, new.bind_pose, new.place, new.build_settings
    space = MeshSpace(place, bind_pose.mesh_matrix)
    by_hand = hand_lattice.HandLattice.unpack(settings.hand_lattice) if settings.hand_lattice else None
    model = None if by_hand else limbs.join_tubes(thew, settings.limbs, space.metres)

    def make_lattice(progress):
        progress = progress_words.own_text(progress)
        surface, skeleton, hollow = make_surroundings(character, bind_pose, place)
        around = surface, skeleton, character.weights
        cells = {"cells_across": settings.cells_across, "progress": progress}
        if by_hand:
            lattice = hand_lattice.fit(thew, by_hand, *around, space, progress)
        elif model:
            lattice = model.enclose(*around, **cells)
        else:
            lattice = thew.Lattice.enclose(*around, **cells, symmetric="auto" if settings.symmetric else "off")
        defects = lattice_defects(lattice.check(surface, skeleton))
        return surface, skeleton, lattice, defects, [*hollow, *surface.report().sentences]

    new.surface, new.skeleton, new.lattice, new.defects, new.skin_notes = yield Work(
        "Filling the body with flesh", make_lattice, 0.0, 0.5
    )


def make_surroundings(character: Character, bind_pose: BindPose, place: MetricSpace):
    """Builds what a lattice encloses, in metres: (surface, skeleton, notes on its cavities)."""
    thew = core()
    world, triangles = transform(bind_pose.mesh_matrix, character.rest), character.triangles
    if mirrors(bind_pose.mesh_matrix):
        triangles = triangles[:, ::-1]
    heads, tails = (
        place.points(transform(bind_pose.armature_matrix, ends)) for ends in (character.heads, character.tails)
    )
    surface = thew.Surface(place.points(world), np.ascontiguousarray(triangles))
    skeleton = thew.Skeleton(
        character.bones, character.parents, heads, tails, character.bones_above(bind_pose.elsewhere)
    ).refit_tails(surface, character.weights)
    surface, hollow = fill_cavities(surface, skeleton)
    return surface, skeleton, hollow


#: Samples along each bone for the test whether it runs through a cavity, an eighth of a bone apart.
SAMPLES_PER_BONE = 9


def fill_cavities(surface, skeleton):
    """Fills cavities of the surface that bones run through, as in a shell with walls; returns it with a note for the artist."""
    filled = surface.filled()
    if np.array_equal(filled.triangles, surface.triangles):
        return surface, []
    heads, tails = np.asarray(skeleton.heads), np.asarray(skeleton.tails)
    points = np.concatenate([heads + t * (tails - heads) for t in np.linspace(0.0, 1.0, SAMPLES_PER_BONE)])
    if not ((surface.winding_number(points) < 0.5) & (filled.winding_number(points) > 0.5)).any():
        return surface, []
    return filled, ["The skin has inner walls around the bones: what they enclose counts as flesh."]


def assemble(flesh: Flesh, new: BuildStages) -> Task:
    """Builds the bodies: `automatic` from thickness alone, `reference` with painted maps, `body` at the chosen softness.

    The dial is calibrated on `automatic`, so that painting one place leaves all others as they are.
    """
    thew = core()
    character, build_settings, painted = new.character, new.build_settings, new.character.painted
    twist.check(
        tuple(each for each in build_settings.twists if each.bone in character.bones),
        float(new.surface.size) / new.place.metres_per_unit,
        length,
    )

    too_much = fine_detail.refusal(new.lattice.cells, build_settings.levels, build_settings.steps)
    if too_much:
        raise Refusal(sentence(too_much))

    def make_bodies(progress, **maps):
        material = thew.Material(poisson=build_settings.poisson, density=build_settings.density)
        options = {
            "region_weights": character.weights, "rest_includes_gravity": build_settings.rest_includes_gravity,
            "kind": build_settings.kind.lower(), "hard": character.hard.part, "basis_levels": build_settings.levels,
            "progress": progress_words.own_text(progress), **maps,
        }  # fmt: skip
        if former is not None:  # of the same lattice: what was measured for it is not measured again
            return former.rebuilt(material, **options)
        return thew.Body(new.surface, new.skeleton, new.lattice, material, **options)

    former = flesh.automatic if new.lattice_key == flesh.lattice_key else None
    if new.automatic_key != flesh.automatic_key:
        new.automatic = yield Work("Tying flesh to bones and skin", make_bodies, 0.5, 0.55)
    former = new.automatic
    if new.flesh_key != flesh.flesh_key:
        new.reference = new.automatic
        twists = core_twists(build_settings.twists, character.bones, new.place.metres_per_unit)
        if painted.any or twists:
            soft = painted.softness(np.asarray(new.automatic.flesh))
            maps = {"flesh": soft, "stiffness": painted.factors(), "twist": twists or None}
            new.reference = yield Work(
                "Tying flesh to bones and skin", lambda progress: make_bodies(progress, **maps), 0.55, 0.58
            )
    if new.body_key == flesh.body_key:
        return

    def soften(_progress):
        young = new.young(build_settings.softness, build_settings.young)
        return new.reference.with_young(young), young / new.reference.material.young

    new.body, new.stiffness = yield Work("Setting the softness", soften, 0.58, 0.6)


def place_rigs(flesh: Flesh, new: BuildStages) -> Task:
    """Places the native rigs on the body, or notes why they cannot push."""
    essence = tuple(rig.essence for rig in new.rigs if rig.on)
    new.rigs_key = hash_of(new.body_key, new.place, essence)
    if new.rigs_key == flesh.rigs_key:
        new.pushing = flesh.pushing
    elif not essence:
        new.pushing = pushers.Pushers()
    else:

        def place(_progress):
            return pushers.Pushers.build(new.rigs, new.body, new.place, flesh.pushing)

        new.pushing = yield Work("Placing the rigs", place, 0.78, 0.8)
    new.rig_problems = {**new.pushing.faults, **rigging.problems(new.rigs)}
