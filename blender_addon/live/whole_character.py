# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Flesh on a whole character: flesh for its bodies, and its other meshes ride on them."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy
import numpy as np

from ..logic import bodies, hard_names
from ..logic.errors import Refusal, sentence
from ..logic.extents import is_out_of_range
from ..logic.names import describe
from ..logic.native import EXPECTED_ERRORS, core
from ..logic.sentences import join_words
from ..logic.spaces import transform
from ..logic.tasks import Progress, Task, Work, span
from ..scene import reading
from ..scene.character import world_matrix
from ..scene.mesh import basis_positions, triangles_of
from ..scene.own_skin import read_groups
from . import jobs, riding
from .session import register

#: Largest flesh value of a machine's map. Machines have 0.02 all over, which keeps their lattice movable; the hardest body of flesh
#: known has 0.9 somewhere.
MAX_MACHINE_FLESH = 0.05
#: Progress text of the search.
SEARCH_TEXT = "Looking for the body"


@dataclass
class CharacterCast:
    """Meshes of one character: its bodies, the riders of each, and those that stay as they are."""

    bodies: list[bpy.types.Object] = field(default_factory=list)
    riders: list[tuple[bpy.types.Object, bpy.types.Object]] = field(default_factory=list)  # (rider, body)
    omissions: list[str] = field(default_factory=list)  # a sentence each, without its full stop
    refused: dict[str, str] = field(
        default_factory=dict
    )  # reasons by the names of meshes that cannot have flesh or ride

    def refuse(self, obj: bpy.types.Object, error: Exception) -> None:
        """Notes a mesh that cannot be taken."""
        self.refused[obj.name] = str(error)
        self.omissions.append(f"{describe(obj)} keeps its plain skin: {error}")

    def sentences(self) -> list[str]:
        """Returns sentences on the other meshes: one for each body with riders, and one for each mesh that was left."""
        told = []
        for body in self.bodies:
            names = [describe(obj) for obj, its in self.riders if its == body]
            if names:
                told.append(f"{join_words(names)} {'rides' if len(names) == 1 else 'ride'} on {describe(body)}.")
        return told + [sentence(text) for text in self.omissions]


# meshes of the character ----------------------------------------------------------------------------------------------


def is_seen(obj: bpy.types.Object, view_layer: bpy.types.ViewLayer) -> bool:
    """Returns whether a mesh is shown as a solid: hidden proxies and wire cages do not belong to the character."""
    if not reading.is_in(obj, view_layer.objects) or obj.hide_viewport:
        return False
    return obj.visible_get(view_layer=view_layer) and obj.display_type not in {"WIRE", "BOUNDS"}


def meshes_moved_by(armature: bpy.types.Object, scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Returns the meshes with faces that an armature moves, by weights or as a whole, sorted by name."""
    found = []
    for obj in scene.objects:
        if obj.type != "MESH" or not len(obj.data.polygons) or obj.data.is_editmode:
            continue
        if riding.is_carried(armature, obj):
            found.append(obj)
    return sorted(found, key=lambda obj: obj.name)


def new_meshes(armature: bpy.types.Object, scene, view_layer) -> list[bpy.types.Object]:
    """Returns the visible meshes of a character of which Thew has made nothing yet."""
    return [
        obj
        for obj in meshes_moved_by(armature, scene)
        if reading.is_own(obj)
        and is_seen(obj, view_layer)
        and not (obj.thew.made.flesh or obj.thew.made.rides or obj.thew.made.keyframed)
    ]


def rest_part(obj: bpy.types.Object, armature: bpy.types.Object) -> bodies.MeshPart:
    """Returns a mesh at rest, for the choice of bodies; raises a `Refusal` where it has no shape."""
    space = world_matrix(armature) @ riding.rest_map(armature, obj)
    rest = basis_positions(obj.data).astype(np.float64)
    bad = is_out_of_range(rest)
    triangles = triangles_of(obj.data)
    triangles = triangles[~bad[triangles].any(axis=1)]
    if not len(triangles) or not np.ptp(rest[np.unique(triangles)], axis=0).any():
        raise Refusal(f"{describe(obj)} has no surface: all its faces are in one place")
    rest[bad] = rest[triangles[0, 0]]
    surface = core().Surface(transform(space, rest), np.ascontiguousarray(triangles))
    return bodies.MeshPart(surface, weights_of(obj, armature), hard_names.is_hard(obj.name))


def weights_of(obj: bpy.types.Object, armature: bpy.types.Object) -> dict[str, float]:
    """Returns the fraction of a mesh's weights on each bone; empty where no Armature modifier deforms it."""
    if reading.armature_modifier(obj) is None:
        return {}
    bones = armature.data.bones
    names = {group.index: group.name for group in obj.vertex_groups if group.name in bones}
    groups, _, weights = read_groups(obj)
    total = {name: float(weights[groups == index].sum()) for index, name in names.items()}
    whole = sum(total.values())
    if whole <= 0.0:
        return {"": 1.0}  # refused with a remedy, if it is the largest
    return {name: value / whole for name, value in total.items() if value > 0.0}


def steps_between(
    armature: bpy.types.Object, part: bodies.MeshPart, obj: bpy.types.Object, body: bodies.MeshPart
) -> int:
    """Returns the number of bones between those that carry a mesh and one that carries a body."""
    bones = armature.data.bones
    theirs = {name for name, share in body.bones.items() if share > 0.01}
    mine = {name for name, share in part.bones.items() if share > 0.1} or {riding.carrying_bone_or_none(armature, obj)}
    best = len(bones)
    for name in mine & set(bones.keys()):
        chain = [name, *(parent.name for parent in bones[name].parent_recursive)]
        best = min([best, *(i for i, each in enumerate(chain) if each in theirs)])
    return best


def sort_meshes(armature: bpy.types.Object, scene, view_layer) -> Task:
    """Builds a task that sorts the meshes of a character without flesh into bodies and riders; returns the `CharacterCast`, changes nothing."""
    found, parts, objects = CharacterCast(), {}, new_meshes(armature, scene, view_layer)
    if len(objects) == 1:
        return CharacterCast(objects)
    for i, obj in enumerate(objects):
        yield Progress(0.8 * i / len(objects), SEARCH_TEXT)
        try:
            parts[obj] = rest_part(obj, armature)
        except EXPECTED_ERRORS as error:
            found.refuse(obj, error)
    objects = list(parts)
    chosen = yield Work(SEARCH_TEXT, lambda _progress: bodies.find_bodies(list(parts.values())), 0.8, 1.0)
    found.bodies = [objects[i] for i in chosen.bodies]
    if not found.bodies:
        return found
    for small, large in chosen.seams:
        found.omissions.append(
            f"{describe(objects[small])} meets {describe(objects[large])} at a seam: if it opens, join both meshes (Ctrl+J)"
        )
    off = []
    for obj in (each for each in objects if each not in found.bodies):
        body = host_of(obj, armature, parts, found.bodies)
        if body is None:
            off.append(describe(obj))
        else:
            found.riders.append((obj, body))
    if off:
        where = describe(found.bodies[0]) if len(found.bodies) == 1 else "the bodies"
        if len(off) == 1:
            found.omissions.append(f"{off[0]} keeps its plain skin: it lies away from {where}")
        else:
            found.omissions.append(f"{join_words(off)} keep their plain skin: they lie away from {where}")
    return found


def host_of(obj, armature, parts: dict, objects: list[bpy.types.Object]) -> bpy.types.Object | None:
    """Returns the body that a mesh rides on; None where it lies off all of them, or is a thing larger than the body."""
    part = parts[obj]
    kin = [steps_between(armature, part, obj, parts[body]) for body in objects]
    best, mean, least = bodies.nearest_body(part, [parts[body] for body in objects], kin)
    size = float(parts[objects[best]].surface.size)
    far = least > riding.MAX_SKIN_DISTANCE * size or mean > bodies.MAX_SKIN_DISTANCE * size
    larger = not part.bones and float(part.surface.size) > size
    return None if far or larger else objects[best]


# adding flesh -----------------------------------------------------------------------------------------------------------


def add(obj: bpy.types.Object, scene, view_layer, **options) -> Task:
    """Builds a task that gives flesh to the bodies of the character of `obj`, and lets its other meshes ride; returns the `CharacterCast`.

    Where the character has flesh already, or `obj` belongs to no character, `obj` alone gets it. `options`: see `jobs.add`.
    """
    armature = None if obj is None or obj.type != "MESH" else reading.armature_of(obj)
    view_layer.update()
    if armature is None or obj.thew.made.flesh or obj.thew.made.rides or has_flesh(armature, scene):
        return (yield from add_alone(obj, scene, view_layer, **options))
    found = yield from span(sort_meshes(armature, scene, view_layer), 0.0, 0.1)
    if obj not in new_meshes(armature, scene, view_layer):  # hidden: the artist means it all the same
        found = CharacterCast([obj])
    chosen = found.bodies or [obj]
    done: list[bpy.types.Object] = []
    for i, body in enumerate(chosen):
        try:
            share = [0.1 + 0.9 * (i + k) / len(chosen) for k in (0, 1)]
            largest = done[0] if done else None
            of_machine = yield from span(add_body(body, largest, scene, view_layer, **options), *share)
            done.append(body)
            if of_machine:
                found.omissions.append(
                    f"{describe(body)} is hard, as {describe(done[0])} is: set its Kind, if it is not part of a machine"
                )
        except Refusal as error:
            if not done:
                raise
            found.refuse(body, error)
        except Exception:
            for each in done:  # cancelled, or an unforeseen error: undo everything
                jobs.remove(each)
            raise
    riders = [(rider, body if body in done else done[0]) for rider, body in found.riders]
    return mount_riders(done, riders, found, view_layer)


def add_body(body: bpy.types.Object, largest: bpy.types.Object | None, scene, view_layer, **options) -> Task:
    """Builds a task that gives flesh to one body; a body of a character whose largest is a machine becomes hard: returns whether."""
    machine = largest is not None and body.thew.kind == "AUTOMATIC" and is_hard(largest)
    if machine:
        body.thew.kind = "ROBOT"
    try:
        yield from jobs.add(body, scene, view_layer, **options)
    except Exception:
        if machine:
            body.thew.property_unset("kind")
        raise
    return machine


def is_hard(body: bpy.types.Object) -> bool:
    """Returns whether the automatic map leaves a body with flesh hard throughout, as it does machines."""
    return float(np.max(register.state_of(body).automatic.flesh)) <= MAX_MACHINE_FLESH


def add_alone(obj: bpy.types.Object, scene, view_layer, **options) -> Task:
    """Builds a task that gives flesh to one mesh, whatever else is on its armature; a mesh that rides only along with its character
    dismounts first.
    """
    body = obj.thew.body if obj is not None and obj.thew.made.along else None
    if body is not None:
        riding.dismount(obj)
    try:
        yield from jobs.add(obj, scene, view_layer, **options)
    except Exception:
        if body is not None:
            mount_along(obj, body, view_layer)
        raise
    return CharacterCast([obj])


def mount_riders(done: list, riders: list[tuple], found: CharacterCast, view_layer) -> CharacterCast:
    """Mounts the riders; returns the result. A mesh that cannot ride is left, with a sentence."""
    taken = CharacterCast(done, [], list(found.omissions), dict(found.refused))
    for rider, body in riders:
        try:
            mount_along(rider, body, view_layer)
            taken.riders.append((rider, body))
        except Refusal as error:
            taken.refuse(rider, error)
    for body in done:
        body.thew.made.left = "\n".join(sentence(text) for text in taken.omissions) if body == done[0] else ""
    return taken


def mount_along(rider: bpy.types.Object, body: bpy.types.Object, view_layer) -> None:
    """Lets a mesh ride along with its character: Add Flesh pressed on it gives it flesh of its own instead."""
    riding.mount(rider, body, view_layer)
    rider.thew.made.along = True


def has_flesh(armature: bpy.types.Object, scene) -> bool:
    """Returns whether a mesh of the character has flesh already."""
    return any(obj.thew.made.flesh for obj in meshes_moved_by(armature, scene))


# candidates for riding --------------------------------------------------------------------------------------------------


def body_for(obj: bpy.types.Object, scene) -> bpy.types.Object | None:
    """Returns the likely body for a mesh to ride on: the nearest one with flesh on its armature, or the only one there is."""
    fleshed = [other for other in register.objects(scene) if other != obj]
    mine = [other for other in fleshed if shares_armature(obj, other)]
    if not mine:
        return fleshed[0] if len(fleshed) == 1 else None
    if len(mine) == 1:
        return mine[0]
    centre = box_centre(obj)
    return min(mine, key=lambda other: (float(np.linalg.norm(box_centre(other) - centre)), other.name))


def shares_armature(obj: bpy.types.Object, body: bpy.types.Object) -> bool:
    """Returns whether the armature of a body moves a mesh."""
    armature = reading.armature_of(body)
    return armature is not None and riding.is_carried(armature, obj)


def box_centre(obj: bpy.types.Object) -> np.ndarray:
    """Returns the middle of an object's box in the world, [3]."""
    corners = np.array(obj.bound_box, dtype=np.float64)
    return transform(np.array(obj.matrix_world, dtype=np.float64), corners).mean(axis=0)


def has_other_meshes(body: bpy.types.Object, scene, view_layer) -> bool:
    """Returns whether the view shows a mesh besides a body that has no flesh and does not ride: it could be made to ride."""
    return any(
        obj.type == "MESH"
        and obj != body
        and len(obj.data.polygons) > 0
        and not (obj.thew.made.flesh or obj.thew.made.rides or obj.thew.made.keyframed)
        and is_seen(obj, view_layer)
        for obj in scene.objects
    )


def possible_riders(body: bpy.types.Object, scene, view_layer) -> list[bpy.types.Object]:
    """Returns the visible meshes on a body's armature that neither ride nor have flesh."""
    armature = reading.armature_of(body)
    return [] if armature is None else [obj for obj in new_meshes(armature, scene, view_layer) if obj != body]
