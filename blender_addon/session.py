# SPDX-License-Identifier: GPL-3.0-or-later
"""The live native objects of every mesh with flesh, kept beside Blender and rebuilt whenever their inputs change.

Stages, each with a key that is the hash of everything it depends on:

    lattice (mesh, rest skeleton, weights, cells across, real height)  ->  body (material)  ->  clip (poses, dynamics)
                                                                             ├─ modes (their number) ─┤
                                                                             └─ rigs (and controls) ──┘

`building` makes them. A changed slider rebuilds its stage and those after it from what was read before; nothing of Blender is touched for it, so
it may run in a thread. Nothing here is saved: after a file was loaded all of it is made again from the file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy
import numpy as np

from . import modal, modifier, poses, reading, rigging
from .logic.errors import sentence
from .logic.sentences import slowed
from .logic.spaces import Place, skinned, transform
from .native import core
from .offsets import Offsets
from .recipe import Recipe, Stance, hashed


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
        self.rig_faults: dict[int, str] = {}  # why others do not fit the flesh
        self.rig_problems: dict[int, str] = {}  # why others do not push
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
        key = hashed(self.body_key, self.firmness, recipe.dynamics(), self.modes_key if extra else b"")
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
        # What was read of the controls is worth nothing once other rigs are keyed or driven: then they stand where they are.
        read = bool(motion.moving) and motion.moving == rigging.moving(obj)

        def shape(index: int) -> np.ndarray:
            push = self.pushed(obj, motion.controls[index] if read else None)
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
                rigging.tell_problems(
                    obj, {**self.rig_problems, resolved.index: rigging.blamed(resolved.name, str(error))}
                )
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
        self.pushers, self.rig_faults = rigging.pushers(self.rigs, self.body, self.place)
        self.rig_problems = {**self.rig_faults, **rigging.problems(self.rigs)}
        self.rigs_key = b""
        rigging.tell_problems(obj, self.rig_problems)

    def skinned_at(self, maps: np.ndarray, mesh: np.ndarray) -> np.ndarray:
        """The skinned shape for T_b `maps` [b, 4, 4] and the mesh's world matrix, object space, float32[n, 3]."""
        stance = self.stance.mesh_matrix
        world = transform(stance, self.character.rest)
        posed = skinned(self.character.weights, maps, world, mesh @ np.linalg.inv(stance))
        return transform(np.linalg.inv(mesh), posed).astype(np.float32)


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
