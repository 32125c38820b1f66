# SPDX-License-Identifier: GPL-3.0-or-later
"""The live native objects of every mesh with flesh, kept beside Blender and rebuilt whenever their inputs change.

Stages, each with a key that is the hash of everything it depends on:

    lattice (mesh, rest skeleton, weights, cells across, real height)  ->  body (material)  ->  clip (poses, dynamics)
                                                                             ├─ modes (their number) ─┤
                                                                             └─ rigs (and controls) ──┘

How firm the flesh must be for a clip is found without rigs, so that a rig does not stiffen the flesh that it pushes.

A changed slider rebuilds its stage and those after it from what was read before; nothing of Blender is touched for it, so
it may run in a thread. Nothing here is saved: after a file was loaded all of it is made again from the file.
"""

from __future__ import annotations

import hashlib
from dataclasses import astuple, replace
from typing import Any

import bpy
import numpy as np

from . import modal, modifier, poses, reading, rigging
from .firmness import base_firmness, firmed
from .logic.errors import sentence
from .logic.sentences import slowed
from .logic.spaces import Place, skinned, transform
from .logic.tasks import Task, Work, span
from .native import core
from .offsets import Offsets, offset_turns, read_offsets
from .recipe import REFERENCE, Recipe, Stance


class Flesh:
    """Everything live for one object."""

    def __init__(self) -> None:
        self.character: reading.Character | None = None
        self.stance: Stance | None = None
        self.motion: poses.Motion | None = None
        self.recipe: Recipe | None = None
        self.place: Place | None = None
        self.surface = self.skeleton = self.lattice = self.clip = None
        self.reference = None  # the flesh at the reference stiffness
        self.base = self.body = None  # as stiff as it should be, and as stiff as the clip needs it
        self.modes = None  # of the reference, for the method Modal
        self.plain = None  # the clip without rigs
        self.rigs: tuple[rigging.Resolved, ...] = ()  # every rig
        self.pushers: dict[int, Any] = {}  # the native rigs that push, by index
        self.rig_problems: dict[int, str] = {}  # why others do not
        self.behind = False  # the rigs have changed since the clip was made, and flesh is shown settled
        self.lattice_key = self.flesh_key = self.body_key = self.modes_key = self.clip_key = b""
        self.plain_key = self.rigs_key = b""
        self.clip_start = 0
        self.turns = self.moves = None  # per frame: metres to object space, float32
        self.offsets: Offsets | None = None
        self._poser = (b"", None)  # a simulation that settles single poses, and what it was made for
        self._preview = (b"", None)  # a `modal.Preview`, and the modes it was made for
        self.suspect_mesh = False  # somebody touched the mesh since it was read
        self.suspect_motion = False  # a pose differs from the one that was simulated
        self.wrote = False  # the mesh was touched by us since Blender was last evaluated
        self.posed = False  # a pose is shown that is not the simulated one
        self.failed: tuple | None = None  # inputs that could not be built: not tried again
        self.problem = ""
        self.refused = False  # it cannot be shown as things are: the plain armature is
        self.base_firmness = self.firmness = 1.0  # what the stiffness was multiplied by for each
        self.defects: list[str] = []  # what the lattice's own check found

    @property
    def clip_end(self) -> int:
        """The last frame that the clip shows (one more pose was simulated, to look ahead)."""
        return self.clip_start + (0 if self.turns is None else len(self.turns) - 2)

    def covers(self, start: int, end: int) -> bool:
        """Whether the clip begins at `start` and reaches `end`."""
        return self.clip is not None and self.clip_start == start and self.clip_end >= end

    def positions(self, frame: float) -> np.ndarray:
        """The shape at `frame` in object space, float32[n, 3]; the clip's ends are held, part frames blended."""
        return self._between(frame, lambda index: self._to_object(self.clip.positions(index), index))

    def _between(self, frame: float, shape_at) -> np.ndarray:
        at = min(max(frame, self.clip_start), self.clip_end) - self.clip_start
        index = int(at)
        shape = shape_at(index)
        part = at - index
        if part > 1e-6:
            shape += np.float32(part) * (shape_at(index + 1) - shape)
        return shape

    def _to_object(self, metres: np.ndarray, index: int) -> np.ndarray:
        shape = metres @ self.turns[index].T
        shape += self.moves[index]
        return shape

    def lattice_positions(self, frame: float) -> np.ndarray:
        """The lattice vertices at `frame` in Blender's world, [k, 3]."""
        index = round(min(max(frame, self.clip_start), self.clip_end) - self.clip_start)
        return self.clip.lattice_positions(index) / self.place.metres_per_unit + self.place.origin

    # the method Modal

    @property
    def modal(self) -> bool:
        """Whether what is shown was made of modes."""
        return self.modes is not None and self.recipe is not None and self.recipe.method == modal.METHOD

    @property
    def frequencies(self) -> np.ndarray:
        """Of the modes, as stiff as the flesh is, Hz."""
        return np.asarray(self.modes.frequencies) * np.sqrt(self.recipe.stiffness * self.firmness)

    def previews(self, number: int) -> bool:
        """Whether mode `number` (1 is the first) can be played."""
        return self.modal and self.clip is not None and 1 <= number <= len(self.modes)

    def preview(self, number: int, part: float, frame: float, pose: tuple | None = None) -> np.ndarray:
        """Mode `number` alone, `part` of the body's size large, at `frame` of its loop, object space, float32[n, 3].

        At the pose of that frame, or at a `pose` of its own: T_b [b, 4, 4] and the mesh's world matrix.
        """
        if self._preview[0] != self.modes_key:
            self._preview = (self.modes_key, modal.Preview.of(core(), self.modes, self.surface))
        player = self._preview[1]
        frequency = float(self.frequencies[number - 1])
        seconds = (frame - self.clip_start) / self.recipe.fps
        amplitudes = player.amplitudes(number, part, seconds * frequency / slowed(frequency))

        def metres(maps: np.ndarray) -> np.ndarray:
            return player.deformer.positions(amplitudes, self.place.maps(maps))

        if pose is not None:
            turn, move = self.place.to_object(pose[1][None])
            return (metres(pose[0]) @ turn[0].T + move[0]).astype(np.float32)
        return self._between(frame, lambda index: self._to_object(metres(self.motion.maps[index]), index))

    # poses that were not simulated

    def settled_at(self, maps: np.ndarray, mesh: np.ndarray, push: np.ndarray | None = None) -> np.ndarray:
        """The flesh at rest in the pose T_b `maps` [b, 4, 4], for the mesh's world matrix; object space, float32[n, 3].

        `push` [dofs, 3]: the rigs' generalised forces, see `pushed`.
        """
        recipe = self.recipe
        extra = modal.options(recipe, self.modes, recipe.stiffness * self.firmness)
        key = _key(self.body_key, self.firmness, recipe.dynamics(), self.modes_key if extra else b"")
        if self._poser[0] != key:
            self._poser = (key, core().Simulation(self.body, **recipe.dynamics(), **extra))
        simulation = self._poser[1]
        forces = {} if push is None else {"rest_forces": push}
        simulation.reset(self.place.maps(maps), settled=True, **forces)
        turn, move = self.place.to_object(mesh[None])
        return (simulation.positions() @ turn[0].T + move[0]).astype(np.float32)

    def settled(self, obj: bpy.types.Object, frame: float) -> np.ndarray:
        """The flesh at rest in the pose of `frame`, pushed by the rigs as the artist sees them, float32[n, 3]."""
        motion = self.motion

        def shape(index: int) -> np.ndarray:
            push = self.pushed(obj, motion.controls[index] if motion.moving else None)
            return self.settled_at(motion.maps[index], motion.matrices[index], push)

        return self._between(frame, shape)

    def pushed(self, obj: bpy.types.Object, controls: np.ndarray | None, without: int = -1) -> np.ndarray | None:
        """The generalised forces [dofs, 3] of all rigs at their controls, drafts heeded; None when none pushes.

        `controls` [r] are of those that are keyed or driven (None: nothing is); the others stand where the artist has
        them. `without`: the index of a rig that is left out.
        """
        rigs = obj.thew.rigs
        if not len(rigs):
            return None
        self.refresh_rigs(obj)
        total = None
        for resolved in self.rigs:
            native = self.pushers.get(resolved.index)
            if native is None or resolved.index == without:
                continue
            rig = rigs[resolved.index]
            control = rig.control if resolved.control is not None or controls is None else controls[resolved.index]
            try:
                parameters = rigging.parameters_now(rig, float(control), self.place.metres_per_unit)
                push = native.forces(self.body, parameters=parameters)
            except core().ThewError as error:
                rigging.tell_problems(obj, {**self.rig_problems, resolved.index: sentence(str(error))})
                continue
            total = push if total is None else total + push
        return total

    def refresh_rigs(self, obj: bpy.types.Object) -> None:
        """Find again what the rigs hang on, if that has changed since; quick when it has not."""
        prints = rigging.hooks(rigging.fingerprint(obj))
        if prints == rigging.hooks(self.recipe.rigs) and len(self.rigs) == len(obj.thew.rigs):
            return
        self.recipe = replace(self.recipe, rigs=rigging.fingerprint(obj))
        self.rigs = rigging.resolve(obj, self.character, self.stance, self.place)
        self.behind = True
        self.pushers, self.rig_problems = rigging.pushers(self.rigs, self.body, self.place)
        rigging.tell_problems(obj, self.rig_problems)

    def skinned_at(self, maps: np.ndarray, mesh: np.ndarray) -> np.ndarray:
        """The skinned shape for T_b `maps` [b, 4, 4] and the mesh's world matrix, object space, float32[n, 3]."""
        stance = self.stance.mesh_matrix
        world = transform(stance, self.character.rest)
        posed = skinned(self.character.weights, maps, world, mesh @ np.linalg.inv(stance))
        return transform(np.linalg.inv(mesh), posed).astype(np.float32)


# building -----------------------------------------------------------------------------------------------------------


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
    lattice_key = _key(character.digest, stance, place.metres_per_unit, recipe.cells_across)
    flesh_key = _key(lattice_key, recipe.poisson, recipe.density, recipe.rest_includes_gravity)
    body_key = _key(flesh_key, recipe.young, recipe.fit_stiffness)
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
        modes_key = _key(flesh_key, recipe.modes)
        if modes_key != flesh.modes_key:

            def vibrate(progress):
                return {"modes": modal.find(thew, new["reference"], recipe.modes, progress), "modes_key": modes_key}

            new.update((yield Work("Finding the modes", vibrate, 0.6, 0.8)))

    new.update(plain=flesh.plain, plain_key=flesh.plain_key, behind=flesh.behind, rigs=rigs)
    if motion is None:
        new.update(clip=None, clip_key=b"", plain=None, plain_key=b"", turns=None, moves=None, offsets=None)
    else:
        own = (recipe.modes, recipe.engine, recipe.device) if recipe.method == modal.METHOD else ()
        plain_key = _key(body_key, motion.digest, recipe.dynamics(), recipe.fps, own)
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

    new["rigs_key"] = _key(body_key, new["firmness"], place, tuple(rig.essence for rig in rigs if rig.on))
    if new["rigs_key"] == flesh.rigs_key:
        on = {rig.index for rig in rigs if rig.on}
        kept = {index: problem for index, problem in flesh.rig_problems.items() if index in on}
        new.update(pushers=flesh.pushers, rig_problems={**rigging.problems(rigs), **kept})
    elif not rigs:
        new.update(pushers={}, rig_problems={})
    else:

        def place_rigs(_progress):
            pushers, problems = rigging.pushers(rigs, new["body"], place)
            return {"pushers": pushers, "rig_problems": problems}

        new.update((yield Work("Placing the rigs", place_rigs, 0.85, 0.87)))

    if motion is not None:
        controls = rigging.controls_of(rigs, tuple(new["pushers"]), motion.controls)
        forces = _key(new["rigs_key"], controls.tobytes()) if new["pushers"] else b""
        clip_key = _key(plain_key, forces)
        new["behind"] = False
        ranged = flesh.clip is not None and (flesh.clip_start, len(flesh.turns)) == (motion.start, len(motion.maps))
        if clip_key == flesh.clip_key:
            pass
        elif not new["pushers"] and new["plain"] is not None:
            new.update(clip=new["plain"], clip_key=clip_key)
        elif still and ranged and lattice_key == flesh.lattice_key:
            new["behind"] = True
        else:

            def push(progress):
                forces = {"rigs": list(new["pushers"].values()), "controls": controls} if new["pushers"] else {}
                clip = run(new["body"], new["firmness"], progress, **forces)
                clip.positions(0)
                return {"clip": clip, "clip_key": clip_key}

            new.update((yield Work("Simulating with rigs", push, 0.87, 1.0)))
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


def stiffened(body, factor: float):
    """The same body of flesh that is stiffer by a factor."""
    return body if factor == 1.0 else body.stiffened(factor)


def _key(*parts) -> bytes:
    """A hash of numbers, tuples of numbers, bytes and dataclasses of them."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, Stance):
            part = astuple(part)
        digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b"|")
    return digest.digest()


# the register -------------------------------------------------------------------------------------------------------


class Register:
    """Which objects have flesh, found again after every load, undo, and change of the number of objects."""

    def __init__(self) -> None:
        self.fleshes: dict[int, Flesh] = {}  # by the object's session id
        self._scenes: dict[int, list[bpy.types.Object]] | None = None  # by the scene's session id
        self._count = -1

    def flesh(self, obj: bpy.types.Object) -> Flesh:
        """The object's flesh, an empty one at first."""
        return self.fleshes.setdefault(obj.session_uid, Flesh())

    def known(self, obj: bpy.types.Object) -> Flesh | None:
        """The object's flesh when something was built for it."""
        return self.fleshes.get(obj.session_uid)

    def forget(self, obj: bpy.types.Object) -> None:
        """Drop what was built for `obj`."""
        self.fleshes.pop(obj.session_uid, None)
        self._scenes = None

    def clear(self) -> None:
        """Drop everything (another file is being loaded)."""
        self.fleshes.clear()
        self._scenes = None

    def look_again(self) -> None:
        """Hold no reference to an object any more; find them again when they are next asked for."""
        self._scenes = None

    def objects(self, scene: bpy.types.Scene) -> list[bpy.types.Object]:
        """The objects of `scene` that have flesh, and whose mesh can be changed from this file."""
        kept = (self._scenes or {}).get(scene.session_uid)
        if kept is None or self._count != len(bpy.data.objects) or not all(map(_alive, kept)):
            self._count = len(bpy.data.objects)
            self._scenes = {
                each.session_uid: [
                    obj for obj in each.objects if obj.type == "MESH" and obj.thew.made.flesh and is_own(obj)
                ]
                for each in bpy.data.scenes
            }
        return self._scenes.get(scene.session_uid, [])

    def everywhere(self) -> list[bpy.types.Object]:
        """The objects with flesh in any scene, each once."""
        found = {}
        for scene in bpy.data.scenes:
            for obj in self.objects(scene):
                found[obj.session_uid] = obj
        return list(found.values())


def _alive(obj: bpy.types.Object) -> bool:
    """Whether a reference that was kept still leads to an object."""
    try:
        return obj.session_uid != 0
    except ReferenceError:
        return False


def is_own(obj: bpy.types.Object) -> bool:
    """Whether the object and its mesh belong to this file; a linked character shows the shape or bake it was saved with."""
    ids = (obj, obj.data)
    return all(each.library is None and each.override_library is None for each in ids)


register = Register()


def is_live(obj: bpy.types.Object) -> bool:
    """Whether the object's flesh is shown live (added, switched on, not showing its bake)."""
    settings = obj.thew
    return settings.enabled and settings.made.flesh and not settings.made.shows_bake


def write_positions(obj: bpy.types.Object, flesh: Flesh, positions: np.ndarray) -> None:
    """Show `positions` float32[n, 3] on the object."""
    mesh = obj.data
    if len(mesh.vertices) != len(positions):
        return
    modifier.write(mesh, modifier.POSITION, np.ascontiguousarray(positions, dtype=np.float32).ravel())
    flesh.wrote = True
    mesh.update_tag()


def present(obj: bpy.types.Object, flesh: Flesh, frame: float) -> None:
    """Show what the artist wants to look at: the mode that is previewed, the flesh at rest, or the clip."""
    shape, settings = None, obj.thew
    try:
        if flesh.previews(settings.preview_mode):
            shape = flesh.preview(settings.preview_mode, settings.preview_size, frame)
        elif settings.settled and flesh.clip is not None:
            shape = flesh.settled(obj, frame)
    except core().ThewError as error:
        flesh.problem = sentence(str(error))
    show(obj, flesh, frame, shape)


def present_pose(
    obj: bpy.types.Object,
    flesh: Flesh,
    frame: float,
    maps: np.ndarray,
    mesh: np.ndarray,
    controls: np.ndarray | None = None,
) -> None:
    """The same at a pose T_b `maps` [b, 4, 4] that was not simulated: the mode that is previewed, or the flesh at rest.

    `controls` [r]: where keys and drivers have the rigs' controls.
    """
    settings = obj.thew
    if flesh.previews(settings.preview_mode):
        shape = flesh.preview(settings.preview_mode, settings.preview_size, frame, (maps, mesh))
    else:
        shape = flesh.settled_at(maps, mesh, flesh.pushed(obj, controls))
    write_positions(obj, flesh, shape)


def show(obj: bpy.types.Object, flesh: Flesh, frame: float, shape: np.ndarray | None = None) -> None:
    """Show the clip's shape of `frame` on the object, or another `shape` float32[n, 3] at the pose of that frame."""
    mesh = obj.data
    if flesh.clip is None or len(mesh.vertices) != len(flesh.character.rest):
        return
    modifier.write(mesh, modifier.POSITION, (flesh.positions(frame) if shape is None else shape).ravel())
    offsets = flesh.offsets
    if offsets is not None and keys_deviate(obj):
        if not offsets.written or modifier.REST not in mesh.attributes:
            modifier.write(mesh, modifier.REST, offsets.rest)
            offsets.written = True
        index = round(min(max(frame, flesh.clip_start), flesh.clip_end) - flesh.clip_start)
        for name, column in zip(modifier.COLUMNS, offsets.columns(index), strict=True):
            modifier.write(mesh, name, column)
    flesh.wrote, flesh.posed = True, False
    mesh.update_tag()


def keys_deviate(obj: bpy.types.Object) -> bool:
    """Whether anything in front of the deformer may move vertices away from their rest."""
    keys = obj.data.shape_keys
    if keys is None:
        return True
    if keys.animation_data is not None:
        return True
    return obj.show_only_shape_key or any(key.value != 0.0 and not key.mute for key in keys.key_blocks[1:])
