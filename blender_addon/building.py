# SPDX-License-Identifier: GPL-3.0-or-later
"""Bringing flesh up to date: each stage is made again when the hash of what it depends on has changed.

How firm the flesh must be for a clip is found without rigs, so that a rig does not stiffen the flesh that it pushes.
"""

from __future__ import annotations

import bpy
import numpy as np

from . import modal, poses, reading, rigging
from .firmness import base_firmness, firmed
from .logic.spaces import Place, transform
from .logic.tasks import Task, Work, span
from .native import core
from .offsets import offset_turns, read_offsets
from .recipe import REFERENCE, Recipe, Stance, hashed
from .session import Flesh


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
    character = reading.read_character(found, bpy.context.evaluated_depsgraph_get)
    motion = flesh.motion
    native = 0.0
    same = flesh.character is not None and flesh.character.digest == character.digest
    if flesh.character is not None and not same:
        stance = applied(found, stance, flesh.character, character, scene)
    if frames is None:
        motion = motion if same else None
    elif not (trust_motion and motion is not None and flesh.character.bones == character.bones):
        reader = poses.read_motion(found, character.bones, stance.mesh_matrix, scene, view_layer, *frames)
        motion = yield from span(reader, 0.0, 0.15)
        native = 0.15
    offsets = read_offsets(found, character)
    rigs = rigging.resolve(found.obj, character, stance, placed(character, stance, recipe))
    yield from span(make(flesh, character, stance, recipe, motion, offsets, rigs, still), native, 1.0)
    flesh.suspect_mesh = False
    if frames is not None:
        flesh.suspect_motion = False


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


def make(flesh, character, stance, recipe, motion, offsets=None, rigs=(), still=False) -> Task:
    """The native part of `build`: touches no Blender data. `flesh` is changed only when everything is done.

    `still`: flesh is shown settled, so that a clip of the same range may stay behind changes of rigs.
    """
    thew = core()
    world, place = transform(stance.mesh_matrix, character.rest), placed(character, stance, recipe)
    lattice_key = hashed(character.digest, stance, place.metres_per_unit, recipe.cells_across)
    flesh_key = hashed(lattice_key, recipe.poisson, recipe.density, recipe.rest_includes_gravity)
    body_key = hashed(flesh_key, recipe.young, recipe.fit_stiffness)
    new: dict = {"place": place, "lattice_key": lattice_key, "flesh_key": flesh_key, "body_key": body_key}

    if lattice_key != flesh.lattice_key:
        triangles = character.triangles
        if np.linalg.det(stance.mesh_matrix[:3, :3]) < 0.0:
            triangles = triangles[:, ::-1]  # a mirrored object turns its faces inside out
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

    if flesh_key != flesh.flesh_key:

        def assemble(progress):
            material = thew.Material(young=REFERENCE, poisson=recipe.poisson, density=recipe.density)
            body = thew.Body(
                new["surface"], new["skeleton"], new["lattice"], material,
                region_weights=character.weights, rest_includes_gravity=recipe.rest_includes_gravity,
                progress=progress,
            )  # fmt: skip
            return {"reference": body}

        new.update((yield Work("Assembling the body", assemble, 0.5, 0.58)))
    else:
        new["reference"] = flesh.reference

    if body_key != flesh.body_key:

        def stiffen(_progress):
            body = stiffened(new["reference"], recipe.stiffness)
            firmness = base_firmness(body) if recipe.fit_stiffness else 1.0
            body = stiffened(body, firmness)
            return {"base": body, "body": body, "base_firmness": firmness, "firmness": firmness}

        new.update((yield Work("Assembling the body", stiffen, 0.58, 0.6)))
    else:
        new.update(base=flesh.base, body=flesh.body, base_firmness=flesh.base_firmness, firmness=flesh.firmness)

    new.update(modes=flesh.modes, modes_key=flesh.modes_key)
    if recipe.method == modal.METHOD:
        modes_key = hashed(flesh_key, recipe.modes)
        if modes_key != flesh.modes_key:

            def vibrate(progress):
                return {"modes": modal.find(thew, new["reference"], recipe.modes, progress), "modes_key": modes_key}

            new.update((yield Work("Finding the modes", vibrate, 0.6, 0.8)))

    new.update(plain=flesh.plain, plain_key=flesh.plain_key, behind=flesh.behind, rigs=rigs)
    if motion is None:
        new.update(clip=None, clip_key=b"", plain=None, plain_key=b"", turns=None, moves=None, offsets=None)
    else:
        own = (recipe.modes, recipe.engine, recipe.device) if recipe.method == modal.METHOD else ()
        plain_key = hashed(body_key, motion.digest, recipe.dynamics(), recipe.fps, own)
        if plain_key != flesh.plain_key:
            new.update(plain=None, plain_key=plain_key, body=new["base"], firmness=new["base_firmness"])
        maps = place.maps(motion.maps)

        def run(body, firmness, progress, **forces):
            extra = modal.options(recipe, new["modes"], recipe.stiffness * firmness)
            return thew.simulate(body, maps, recipe.fps, **recipe.dynamics(), **extra, **forces, progress=progress)

        pushing = any(rig.on and not rig.problem for rig in rigs)
        if new["plain"] is None and (recipe.fit_stiffness or not pushing):

            def simulate(progress):
                cells = len(new["lattice"].cells)
                made = firmed(
                    run, new["base"], new["base_firmness"], new["surface"], cells, recipe.fit_stiffness, progress
                )
                made["clip"].positions(0)  # what shows it is made here, not when somebody waits for the first frame
                return {"plain": made["clip"], "body": made["body"], "firmness": made["firmness"]}

            new.update((yield Work("Simulating", simulate, 0.8 if own else 0.6, 0.85 if pushing else 1.0)))

    yield from place_rigs(flesh, new, rigs)
    if motion is not None:
        yield from push_clip(flesh, new, motion, run, still)
        turns, moves = place.to_object(motion.matrices)
        new["turns"], new["moves"] = turns.astype(np.float32), moves.astype(np.float32)
        new["clip_start"] = motion.start
        if offsets is not None:
            offsets.turns = offset_turns(motion, stance)
        new["offsets"] = offsets

    for name, value in new.items():
        setattr(flesh, name, value)
    flesh.character, flesh.stance, flesh.recipe, flesh.motion = character, stance, recipe, motion
    flesh.failed, flesh.problem = None, ""


def place_rigs(flesh: Flesh, new: dict, rigs: tuple[rigging.Resolved, ...]) -> Task:
    """The native rigs on the body, or why they cannot push: `pushers` and `rig_faults` of what is `new`."""
    essence = tuple(rig.essence for rig in rigs if rig.on)
    new["rigs_key"] = hashed(new["body_key"], new["firmness"], new["place"], essence)
    if new["rigs_key"] == flesh.rigs_key:
        new.update(pushers=flesh.pushers, rig_faults=flesh.rig_faults)
    elif not essence:
        new.update(pushers={}, rig_faults={})
    else:

        def place(_progress):
            pushers, faults = rigging.pushers(rigs, new["body"], new["place"])
            return {"pushers": pushers, "rig_faults": faults}

        new.update((yield Work("Placing the rigs", place, 0.85, 0.87)))
    new["rig_problems"] = {**new["rig_faults"], **rigging.problems(rigs)}


def push_clip(flesh: Flesh, new: dict, motion: poses.Motion, run, still: bool) -> Task:
    """The clip with the rigs at their controls; without any that push it is the plain one."""
    lost = rigging.lost_controls(new["rigs"], motion)
    new["rig_problems"].update(lost)
    acting = {index: native for index, native in new["pushers"].items() if index not in lost}
    controls = rigging.controls_of(new["rigs"], tuple(acting), motion.controls)
    forces = hashed(new["rigs_key"], tuple(acting), controls.tobytes()) if acting else b""
    clip_key = hashed(new["plain_key"], forces)
    new["behind"] = False
    ranged = flesh.clip is not None and (flesh.clip_start, len(flesh.turns)) == (motion.start, len(motion.maps))
    if clip_key == flesh.clip_key:
        return
    if not acting and new["plain"] is not None:
        new.update(clip=new["plain"], clip_key=clip_key)
    elif still and ranged and new["lattice_key"] == flesh.lattice_key:
        new["behind"] = True
    else:

        def push(progress):
            forces = {"rigs": list(acting.values()), "controls": controls} if acting else {}
            clip = run(new["body"], new["firmness"], progress, **forces)
            clip.positions(0)
            return {"clip": clip, "clip_key": clip_key}

        new.update((yield Work("Simulating with rigs", push, 0.87, 1.0)))


def stiffened(body, factor: float):
    """The same body of flesh that is stiffer by a factor."""
    return body if factor == 1.0 else body.stiffened(factor)
