# SPDX-License-Identifier: GPL-3.0-or-later
"""Bringing flesh up to date: each stage is made again when the hash of what it depends on has changed."""

from __future__ import annotations

import bpy
import numpy as np

from ..logic import modal
from ..logic.cycles import Beginning, beginning
from ..logic.native import core
from ..logic.played import Played
from ..logic.spaces import Place, mirrors, transform
from ..logic.tasks import Task, Work, span
from ..rigs import pushers, rigging
from ..saved import believed
from ..scene import poses, reading, rig_controls
from ..scene.character import Character, read_character
from ..scene.stance import Stance
from . import session
from .recipe import REFERENCE, Recipe, hashed
from .session import Flesh

#: A cycle has come to itself after so many seconds.
SETTLING = 5.0


def build(
    flesh: Flesh,
    found: reading.Subject,
    stance: Stance,
    recipe: Recipe,
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
    believed.check(found.obj)
    character = read_character(found, bpy.context.evaluated_depsgraph_get)
    motion = flesh.motion
    native = 0.0
    same = flesh.character is not None and flesh.character.digest == character.digest
    if flesh.character is not None and not same:
        stance = applied(found, stance, flesh.character, character, scene)
        if not flesh.character.alike(character):
            flesh.stale = True
            session.hide(found.obj, flesh)
    if frames is None:
        motion = motion if same and motion is not None and motion.moving == rig_controls.moving(found.obj) else None
    elif not (trust_motion and motion is not None and flesh.character.bones == character.bones):
        reader = poses.read_motion(found, character.bones, stance.mesh_matrix, scene, view_layer, *frames)
        motion = yield from span(reader, 0.0, 0.15)
        native = 0.15
    rigs = rigging.resolve(found.obj, character, stance, placed(character, stance, recipe))
    yield from span(make(flesh, character, stance, recipe, motion, rigs, still), native, 1.0)
    flesh.suspect_mesh = False
    if frames is not None:
        flesh.suspect_motion = flesh.suspect_keys = False


def applied(found: reading.Subject, stance: Stance, old, new, scene: bpy.types.Scene) -> Stance:
    """The stance after Apply Transform or Set Origin: the vertices changed, but not where they are in the world."""
    if len(old.rest) != len(new.rest):
        return stance
    now = Stance.read(found, scene)
    before, after = transform(stance.mesh_matrix, old.rest), transform(now.mesh_matrix, new.rest)
    if now.mesh == stance.mesh or np.abs(before - after).max() > 1e-5 * stance.longest_side:
        return stance
    now = Stance(now.mesh, now.armature, stance.longest_side, stance.guessed_height)
    now.save(found.obj)
    return now


def placed(character, stance, recipe) -> Place:
    """Where the metres of the body lie."""
    world = transform(stance.mesh_matrix, character.rest)
    return Place(0.5 * (world.min(axis=0) + world.max(axis=0)), recipe.height / stance.longest_side)


def make(flesh, character, stance, recipe, motion, rigs=(), still=False) -> Task:
    """The native part of `build`: touches no Blender data. `flesh` is changed only when everything is done.

    `still`: flesh is shown settled, so that a clip of the same range may stay behind changes of rigs.
    """
    thew = core()
    world, place = transform(stance.mesh_matrix, character.rest), placed(character, stance, recipe)
    lattice_key = hashed(character.digest, stance, place.metres_per_unit, recipe.cells_across)
    automatic_key = hashed(lattice_key, recipe.poisson, recipe.density, recipe.rest_includes_gravity)
    flesh_key = hashed(automatic_key, character.painted.digest)
    body_key = hashed(flesh_key, recipe.softness, recipe.young)
    new: dict = {"place": place, "lattice_key": lattice_key, "automatic_key": automatic_key}
    new.update(flesh_key=flesh_key, body_key=body_key)

    if lattice_key != flesh.lattice_key:
        triangles = character.triangles
        if mirrors(stance.mesh_matrix):
            triangles = triangles[:, ::-1]
        heads, tails = (
            place.points(transform(stance.armature_matrix, ends)) for ends in (character.heads, character.tails)
        )

        def enclose(progress):
            surface = thew.Surface(place.points(world), np.ascontiguousarray(triangles))
            skeleton = thew.Skeleton(character.bones, character.parents, heads, tails)
            skeleton = skeleton.refit_tails(surface, character.weights)
            lattice = thew.Lattice.enclose(
                surface, skeleton, character.weights, cells_across=recipe.cells_across, progress=progress
            )
            defects = lattice.check(surface, skeleton)
            return {"surface": surface, "skeleton": skeleton, "lattice": lattice, "defects": defects}

        new.update((yield Work("Building the lattice", enclose, 0.0, 0.5)))
    else:
        new.update(surface=flesh.surface, skeleton=flesh.skeleton, lattice=flesh.lattice)

    yield from assemble(flesh, new, character, recipe)
    new.update(modes=flesh.modes, modes_key=flesh.modes_key)
    if recipe.method == modal.METHOD:
        modes_key = hashed(flesh_key, recipe.modes)
        if modes_key != flesh.modes_key:

            def vibrate(progress):
                return {"modes": modal.find(thew, new["reference"], recipe.modes, progress), "modes_key": modes_key}

            new.update((yield Work("Finding the modes", vibrate, 0.6, 0.78)))

    new.update(behind=flesh.behind, rigs=rigs)
    yield from place_rigs(flesh, new, rigs)
    if motion is None:
        new.update(clip=None, clip_key=b"", turns=None)
    else:
        yield from simulate(flesh, new, recipe, motion, still)
        turns, _moves = place.to_object(motion.matrices)
        new["turns"], new["clip_start"] = turns.astype(np.float32), motion.start

    for name, value in new.items():
        setattr(flesh, name, value)
    flesh.character, flesh.stance, flesh.recipe, flesh.motion = character, stance, recipe, motion
    flesh.failed, flesh.problem, flesh.stale = None, "", False


def assemble(flesh: Flesh, new: dict, character: Character, recipe: Recipe) -> Task:
    """The body: `automatic` as its thickness has it, `reference` as it is painted, `body` as soft as it is asked for.

    The dial is measured on the automatic one, so that painting one place leaves all others as they are.
    """
    thew = core()
    painted = character.painted

    def made(progress, **maps):
        material = thew.Material(young=REFERENCE, poisson=recipe.poisson, density=recipe.density)
        return thew.Body(
            new["surface"], new["skeleton"], new["lattice"], material,
            region_weights=character.weights, rest_includes_gravity=recipe.rest_includes_gravity,
            progress=progress, **maps,
        )  # fmt: skip

    if new["automatic_key"] != flesh.automatic_key:
        new.update((yield Work("Assembling the body", lambda progress: {"automatic": made(progress)}, 0.5, 0.55)))
    else:
        new["automatic"] = flesh.automatic
    if new["flesh_key"] == flesh.flesh_key:
        new["reference"] = flesh.reference
    elif not painted.any:
        new["reference"] = new["automatic"]
    else:
        maps = {"flesh": painted.flesh, "stiffness": painted.factors()}
        new.update(
            (yield Work("Assembling the body", lambda progress: {"reference": made(progress, **maps)}, 0.55, 0.58))
        )
    if new["body_key"] == flesh.body_key:
        new.update(body=flesh.body, stiffness=flesh.stiffness)
        return

    def soften(_progress):
        young = (
            recipe.young if recipe.softness is None else new["automatic"].with_softness(recipe.softness).material.young
        )
        return {"body": new["reference"].stiffened(young / REFERENCE), "stiffness": young / REFERENCE}

    new.update((yield Work("Assembling the body", soften, 0.58, 0.6)))


def place_rigs(flesh: Flesh, new: dict, rigs: tuple[rigging.Resolved, ...]) -> Task:
    """The native rigs on the body, or why they cannot push: `pushing` of what is `new`."""
    essence = tuple(rig.essence for rig in rigs if rig.on)
    new["rigs_key"] = hashed(new["body_key"], new["place"], essence)
    if new["rigs_key"] == flesh.rigs_key:
        new["pushing"] = flesh.pushing
    elif not essence:
        new["pushing"] = pushers.Pushers()
    else:

        def place(_progress):
            return {"pushing": pushers.Pushers.of(rigs, new["body"], new["place"], flesh.pushing)}

        new.update((yield Work("Placing the rigs", place, 0.78, 0.8)))
    new["rig_problems"] = {**new["pushing"].faults, **rigging.problems(rigs)}


def simulate(flesh: Flesh, new: dict, recipe: Recipe, motion: poses.Motion, still: bool) -> Task:
    """The clip, pushed by the rigs at their controls."""
    thew = core()
    ranged = flesh.clip is not None and (flesh.clip_start, len(flesh.turns)) == (motion.start, len(motion.maps))
    stays = ranged and new["lattice_key"] == flesh.lattice_key
    if not rigging.were_read(new["rigs"], motion):  # other rigs were keyed or driven since
        new.update({"behind": True} if stays else {"clip": None, "clip_key": b""})
        return
    lost = rigging.lost_controls(new["rigs"], motion)
    new["rig_problems"].update(lost)
    acting = {index: native for index, native in new["pushing"].natives.items() if index not in lost}
    controls = rigging.controls_of(new["rigs"], tuple(acting), motion.controls)
    forces = hashed(new["rigs_key"], tuple(acting), controls.tobytes()) if acting else b""
    begun, live = begins(new, recipe, motion, controls)
    own = (recipe.modes, recipe.engine, recipe.device) if recipe.method == modal.METHOD else ()
    began = begun.key, live if begun.period else 0
    clip_key = hashed(new["body_key"], motion.digest, recipe.dynamics(), recipe.fps, own, forces, began)
    new["behind"] = False
    if clip_key == flesh.clip_key:
        new["begun"] = begun
        return
    if acting and still and stays:
        new["behind"] = True
        return

    def run(progress):
        maps, extra = new["place"].maps(motion.maps), modal.options(recipe, new["modes"], new["stiffness"])

        def made(poses, controls, **options):
            pushed = {"rigs": list(acting.values()), "controls": controls} if acting else {}
            options = {**recipe.dynamics(), **extra, **pushed, **options}
            return thew.simulate(
                new["body"], poses, recipe.fps, **options, progress=lambda fraction, _stage: progress(fraction, "")
            )

        clip = made(begun.turn(maps), begun.turn(controls), **begun.options())
        clip.positions(0)  # what shows it is made here, not when somebody waits for the first frame
        frames = len(maps) - 1
        if begun.period and live < frames:
            lead = begun.before(maps, SETTLING * recipe.fps)
            rows = np.resize(controls[: begun.period], (len(lead), controls.shape[1]))
            after = made(np.concatenate([lead, maps]), np.concatenate([rows, controls]))
            clip = Played(clip, begun, after, live, len(lead))
        elif begun.period and frames > begun.period + 1:
            clip = Played(clip, begun)
        return {"clip": clip, "clip_key": clip_key, "begun": begun}

    new.update((yield Work("Closing the loop" if begun.period else "Simulating", run, 0.8, 1.0)))


def begins(new: dict, recipe: Recipe, motion: poses.Motion, controls: np.ndarray) -> tuple[Beginning, int]:
    """How the motion begins, told from the frames that the artist plays, and how many of its frames those are.

    A longer bake begins so too: it is what was previewed, as far as that goes.
    """
    first, last = recipe.live
    frames = len(motion.maps) - 1
    live = min(last - first + 1, frames) if motion.start == first and last > first else frames
    maps, heads = new["place"].maps(motion.maps[: live + 1]), new["skeleton"].heads
    # The last frame of a marked action is its first again: it may be played or not.
    here, marked = (motion.start, motion.start + live - 1), motion.marked
    marked = marked is not None and here in (marked, (marked[0], marked[1] - 1))
    options = recipe.fps, motion.start, controls[: live + 1], marked
    return beginning(recipe.motion_start, maps, heads, new["surface"].size, *options), live
