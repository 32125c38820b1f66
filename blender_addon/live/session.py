# SPDX-License-Identifier: GPL-3.0-or-later
"""The live native objects of every mesh with flesh, kept beside Blender and rebuilt whenever their inputs change.

Stages, each with a key that is the hash of everything it depends on:

    lattice (mesh, rest skeleton, weights, cells across, real height)  ->  body (material)  ->  clip (poses, dynamics)
                                                                             ├─ modes (their number) ─┤
                                                                             └─ rigs (and controls) ──┘

What is shown is the artist's own skin, moved by the Armature modifier as ever, plus an *offset* of each vertex.

`building` makes them. A changed slider rebuilds its stage and those after it from what was read before; nothing of Blender is touched for it, so
it may run in a thread. Nothing here is saved: after a file was loaded all of it is made again from the file.
"""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from ..logic import modal
from ..logic.cycles import Beginning
from ..logic.errors import sentence
from ..logic.native import core
from ..logic.sentences import slowed
from ..logic.spaces import Place, skinned, transform, turned
from ..rigs import pushers, rigging
from ..rigs.prints import essences, fingerprint
from ..scene import modifier, poses, reading, rig_controls
from ..scene.character import Character
from ..scene.stance import Stance
from . import riding
from .recipe import Recipe, hashed


class Flesh:
    """Everything live for one object."""

    def __init__(self) -> None:
        self.character: Character | None = None
        self.stance: Stance | None = None
        self.motion: poses.Motion | None = None
        self.recipe: Recipe | None = None
        self.place: Place | None = None
        self.surface = self.skeleton = self.lattice = self.clip = None
        self.automatic = None  # the flesh at the reference stiffness, as its thickness has it
        self.reference = None  # the same as it is painted
        self.body = None  # as soft as it is asked for
        self.stiffness = 1.0  # of the body, as a multiple of the reference
        self.modes = None  # of the reference, for the method Modal
        self.rigs: tuple[rigging.Resolved, ...] = ()  # every rig
        self.pushing = pushers.Pushers()  # the native rigs that push, and why others do not fit the flesh
        self.rig_problems: dict[int, str] = {}  # why others do not push
        self.behind = False  # the rigs have changed since the clip was made, and flesh is shown settled
        self.lattice_key = self.automatic_key = self.flesh_key = self.body_key = self.modes_key = self.clip_key = b""
        self.rigs_key = b""
        self.clip_start = 0
        self.begun = Beginning()  # how the clip begins
        self.turns = None  # [f, 3, 3] per frame: vectors in metres to object space, float32
        self._poser = (b"", None)  # a simulation that settles single poses, and what it was made for
        self._bare = (b"", None)  # the balance without loads in a pose, and what it was made for
        self._preview = (b"", None)  # a `modal.Preview`, and the modes it was made for
        self.suspect_mesh = False  # somebody touched the mesh since it was read
        self.touches = 0  # how often somebody did
        self.suspect_motion = False  # a pose differs from the one that was simulated
        self.suspect_keys = False  # curves were edited since the motion was read, whosever they are
        self.wrote = False  # the mesh was touched by us since Blender was last evaluated
        self.posed = False  # a pose is shown that is not the simulated one
        self.stale = False  # the mesh or skeleton is no longer the one of the clip
        self.failed: tuple | None = None  # inputs that could not be built: not tried again
        self.problem = ""
        self.refused = False  # it cannot be shown as things are: the plain armature is
        self.defects: list[str] = []  # what the lattice's own check found

    @property
    def clip_end(self) -> int:
        """The last frame that the clip shows (one more pose was simulated, to look ahead)."""
        return self.clip_start + (0 if self.turns is None else len(self.turns) - 2)

    def covers(self, start: int, end: int) -> bool:
        """Whether the clip begins at `start` and reaches `end`."""
        return self.clip is not None and self.clip_start == start and self.clip_end >= end

    def offsets(self, frame: float) -> np.ndarray:
        """What the flesh adds to the skin at `frame`, object space, float32[n, 3]; part frames are blended.

        Beyond its ends the clip fades out over half a second: what its flesh did there says nothing about other poses.
        """
        offsets = self._between(frame, self._offset)
        shown = self.presence(frame)
        return offsets if shown == 1.0 else np.float32(shown) * offsets

    def presence(self, frame: float) -> float:
        """How much of the clip shows at `frame`: 1 in its range, smoothly to 0 within half a second beside it."""
        beyond = max(self.clip_start - frame, frame - self.clip_end, 0.0) / (FADE * self.recipe.fps)
        left = max(1.0 - beyond, 0.0)
        return left * left * (3.0 - 2.0 * left)

    def _between(self, frame: float, shape_at) -> np.ndarray:
        at = min(max(frame, self.clip_start), self.clip_end) - self.clip_start
        index = int(at)
        shape = shape_at(index)
        part = at - index
        if part > 1e-6:
            shape += np.float32(part) * (shape_at(index + 1) - shape)
        return shape

    def _offset(self, index: int) -> np.ndarray:
        return turned(self.clip.offsets(index), self.turns[index])

    def added(self, positions: np.ndarray, maps: np.ndarray, mesh: np.ndarray) -> np.ndarray:
        """What flesh in balance, `positions` [n, 3] in metres, adds to the plain skin, world axes, metres, float32[n, 3].

        `maps` [b, 4, 4], `mesh` [4, 4]: T_b and the mesh's world matrix of that pose. The balance without loads, in which
        bones alone hold the flesh, is the artist's skin but for the share of elastic joints.
        """
        key = hashed(self.body_key, maps.tobytes())
        if self._bare[0] != key:
            balance = core().Equilibrium(self.body, method=self.recipe.static_method)
            balance.set_pose(self.place.maps(maps))
            balance.solve(gravity=(0.0, 0.0, 0.0))
            self._bare = (key, np.asarray(balance.positions(), dtype=np.float64))
        bare, joints = self._bare[1], self.recipe.elastic_joints
        sway = positions - bare
        if joints > 0.0:
            sway += joints * (bare - self.place.points(self._skinned_world(maps, mesh)))
        return sway.astype(np.float32)

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
        return np.asarray(self.modes.frequencies) * np.sqrt(self.stiffness)

    def previews(self, number: int) -> bool:
        """Whether mode `number` (1 is the first) can be played."""
        return self.modal and self.clip is not None and 1 <= number <= len(self.modes)

    def preview(self, number: int, part: float, frame: float, pose: tuple | None = None) -> np.ndarray:
        """What mode `number` alone, `part` of the body's size large, adds to the skin at `frame` of its loop.

        At the pose of that frame, or at a `pose` of its own: T_b [b, 4, 4] and the mesh's world matrix. Object space,
        float32[n, 3].
        """
        if self._preview[0] != self.modes_key:
            self._preview = (self.modes_key, modal.Preview.of(core(), self.modes, self.surface))
        player = self._preview[1]
        frequency = float(self.frequencies[number - 1])
        seconds = (frame - self.clip_start) / self.recipe.fps
        amplitudes = player.amplitudes(number, part, seconds * frequency / slowed(frequency))

        def metres(maps: np.ndarray) -> np.ndarray:
            maps = self.place.maps(maps)
            still = player.deformer.positions(np.zeros_like(amplitudes), maps)
            return player.deformer.positions(amplitudes, maps) - still

        if pose is not None:
            return self.to_object(metres(pose[0]), pose[1])
        return self._between(frame, lambda index: metres(self.motion.maps[index]) @ self.turns[index].T)

    # poses that were not simulated

    def settled_at(self, maps: np.ndarray, mesh: np.ndarray, push: np.ndarray | None = None) -> np.ndarray:
        """What the flesh at rest in the pose T_b `maps` [b, 4, 4] adds to the skin; object space, float32[n, 3].

        `mesh` [4, 4]: the mesh's world matrix; `push` [dofs, 3]: the rigs' generalised forces, see `pushed`.
        """
        recipe = self.recipe
        extra = modal.options(recipe, self.modes, self.stiffness)
        key = hashed(self.body_key, recipe.dynamics(), self.modes_key if extra else b"")
        if self._poser[0] != key:
            self._poser = (key, core().Simulation(self.body, **recipe.dynamics(), **extra))
        simulation = self._poser[1]
        forces = {} if push is None else {"rest_forces": push}
        simulation.reset(self.place.maps(maps), settled=True, **forces)
        return self.to_object(simulation.offsets(), mesh)

    def to_object(self, metres: np.ndarray, mesh: np.ndarray) -> np.ndarray:
        """Vectors [n, 3] in metres, world axes, in the space of an object with the world matrix `mesh`, float32[n, 3]."""
        turns, _moves = self.place.to_object(mesh[None])
        return (metres @ turns[0].T).astype(np.float32)

    def settled(self, obj: bpy.types.Object, frame: float) -> np.ndarray:
        """The same in the pose of `frame`, pushed by the rigs as the artist sees them."""
        motion = self.motion
        # What was read of the controls is worth nothing once other rigs are keyed or driven: then they stand where they are.
        read = bool(motion.moving) and motion.moving == rig_controls.moving(obj)

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
            native = self.pushing.natives.get(resolved.index)
            if native is None or resolved.index == without:
                continue
            rig = rigs[resolved.index]
            control = rig.control if resolved.control is not None or controls is None else controls[resolved.index]
            try:
                push = pushers.forces(rig, native, float(control), self.body, self.place.metres_per_unit)
            except core().ThewError as error:
                rigging.tell_problems(
                    obj, {**self.rig_problems, resolved.index: rigging.blamed(resolved.name, str(error))}
                )
                continue
            total = push if total is None else total + push
        return total

    def refresh_rigs(self, obj: bpy.types.Object) -> None:
        """Make the native rigs again, if what they are made from has changed since; quick when it has not."""
        prints = fingerprint(obj)
        if essences(prints) == essences(self.recipe.rigs) and len(self.rigs) == len(obj.thew.rigs):
            return
        self.recipe = replace(self.recipe, rigs=prints)
        self.rigs = rigging.resolve(obj, self.character, self.stance, self.place)
        self.behind = True
        self.pushing = pushers.Pushers.of(self.rigs, self.body, self.place, self.pushing)
        self.rig_problems = {**self.pushing.faults, **rigging.problems(self.rigs)}
        self.rigs_key = b""
        rigging.tell_problems(obj, self.rig_problems, self.pushing.notes)

    def skinned_at(self, maps: np.ndarray, mesh: np.ndarray) -> np.ndarray:
        """The skinned shape for T_b `maps` [b, 4, 4] and the mesh's world matrix, object space, float32[n, 3]."""
        return transform(np.linalg.inv(mesh), self._skinned_world(maps, mesh)).astype(np.float32)

    def _skinned_world(self, maps: np.ndarray, mesh: np.ndarray) -> np.ndarray:
        stance = self.stance.mesh_matrix
        world = transform(stance, self.character.rest)
        return skinned(self.character.weights, maps, world, mesh @ np.linalg.inv(stance))


#: How long the clip's ends are seen beyond its range, seconds.
FADE = 0.5


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

    def notice(self, objects: list[bpy.types.Object], pending: bpy.types.Depsgraph | None) -> None:
        """Without a window, whose updates tell: look what a script has edited since Blender was last evaluated."""
        if pending is None:
            return
        meshes, keys = pending.id_type_updated("MESH"), pending.id_type_updated("ACTION")
        for flesh in filter(None, map(self.known, objects)):
            flesh.suspect_mesh |= meshes
            flesh.suspect_motion |= keys or flesh.suspect_keys
        if meshes:
            riding.register.look_again()
        if pending.id_type_updated("COLLECTION"):
            self.look_again()

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


def is_shown(obj: bpy.types.Object, render: bool = False) -> bool:
    """Whether flesh would be seen if it were written: live, on a skin that its armature moves, and not being edited.

    `render`: in a render, else in a view.
    """
    if not is_live(obj) or obj.mode in {"EDIT", "SCULPT"}:
        return False
    found = reading.armature_modifier(obj)
    return found is not None and found.object is not None and (found.show_render if render else found.show_viewport)


def write(obj: bpy.types.Object, flesh: Flesh, offsets: np.ndarray, scene: bpy.types.Scene) -> None:
    """Add `offsets` float32[n, 3], object space, to the skin that is seen at the scene's frame."""
    mesh = obj.data
    if len(mesh.vertices) != len(offsets):
        hide(obj, flesh)
        return
    modifier.write(mesh, offsets, scene.frame_current_final)
    flesh.wrote = True
    mesh.update_tag()
    riding.follow(obj, flesh, offsets, scene.frame_current_final)


def hide(obj: bpy.types.Object, flesh: Flesh | None) -> None:
    """Show the plain skin; a mesh that another object shares shows that one's flesh. What rides on it does the same."""
    mesh = obj.data
    riding.hide_all(obj)
    shared = mesh.users - int(mesh.use_fake_user) > 1
    if mesh.is_editmode or shared or not any(name in mesh.attributes for name in modifier.ATTRIBUTES):
        return
    modifier.remove_attributes(obj)
    if flesh is not None:
        flesh.wrote = True
    mesh.update_tag()


def shown(obj: bpy.types.Object, scene: bpy.types.Scene) -> np.ndarray | None:
    """The offsets that are seen at the scene's frame, float32[n, 3]; None where the plain skin is."""
    mine, kept = modifier.by_id(obj, obj.thew.made.modifier), modifier.written(obj.data)
    if mine is None or not mine.show_viewport or kept is None:
        return None
    offsets, frame = kept
    return offsets if abs(frame - scene.frame_current_final) <= modifier.SAME_FRAME else None


def present(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene) -> None:
    """Show what the artist wants to look at: the mode that is previewed, the flesh at rest, or the clip."""
    offsets, settings, frame = None, obj.thew, scene.frame_float
    try:
        if flesh.previews(settings.preview_mode):
            offsets = flesh.preview(settings.preview_mode, settings.preview_size, frame)
        elif settings.settled and flesh.clip is not None:
            offsets = flesh.settled(obj, frame)
    except core().ThewError as error:
        flesh.problem = sentence(str(error))
    show(obj, flesh, scene, offsets)


def present_pose(
    obj: bpy.types.Object,
    flesh: Flesh,
    scene: bpy.types.Scene,
    maps: np.ndarray,
    mesh: np.ndarray,
    controls: np.ndarray | None = None,
) -> None:
    """The same at a pose T_b `maps` [b, 4, 4] that was not simulated: the mode that is previewed, or the flesh at rest.

    Beside the clip's range its end fades into that. `controls` [r]: where keys and drivers have the rigs' controls.
    """
    settings, frame = obj.thew, scene.frame_float
    if flesh.previews(settings.preview_mode):
        offsets = flesh.preview(settings.preview_mode, settings.preview_size, frame, (maps, mesh))
    else:
        offsets = flesh.settled_at(maps, mesh, flesh.pushed(obj, controls))
        presence = 0.0 if settings.settled or flesh.clip is None else flesh.presence(frame)
        if 0.0 < presence < 1.0:
            offsets = flesh.offsets(frame) + np.float32(1.0 - presence) * offsets
    write(obj, flesh, offsets, scene)


def show(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene, offsets: np.ndarray | None = None) -> None:
    """Show the clip at the scene's frame on the object, or other `offsets` float32[n, 3] at the pose of that frame."""
    if flesh.clip is None or flesh.stale:
        hide(obj, flesh)
        return
    write(obj, flesh, flesh.offsets(scene.frame_float) if offsets is None else offsets, scene)
    flesh.posed = False
