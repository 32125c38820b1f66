# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender to numpy: the rest shape of a mesh up to its Armature modifier, its weights, and the skeleton."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import bpy
import numpy as np

from ..logic import extents
from ..logic.digests import digest_of
from ..logic.errors import Refusal
from ..logic.extents import MAX_COORDINATE
from ..logic.names import describe
from ..logic.spaces import is_singular, transform
from ..saved.units import length
from . import contact_exclusions, flesh_map, frame_dependence, materials, own_frame, stack
from .mesh import Groups, basis_positions, mesh_positions, modifiers_on, numbers, triangles_of
from .own_skin import is_helper, own_bones, own_group_names, read_groups
from .reading import Subject


@dataclass
class Character:
    """Input of the physics for one mesh, in Blender's units, except its motion."""

    rest: np.ndarray  # [n, 3] object space
    triangles: np.ndarray  # [t, 3]
    bones: list[str]  # see `related_bones`
    parents: np.ndarray  # [b]
    heads: np.ndarray  # [b, 3] armature space
    tails: np.ndarray  # [b, 3] armature space
    weights: np.ndarray  # [n, b] as painted
    digest: bytes  # hash of all of these except names
    notes: list[str]  # sentences on parts of the artist's set-up without effect
    painted: flesh_map.PaintedMaps  # the artist's maps
    hard: materials.HardParts  # hard parts by its materials' names, for the automatic map
    ignored: contact_exclusions.IgnoredVertices  # vertices without contact
    apart: str  # a sentence where the mesh stands apart from its bones, or ""
    nearest: dict[str, int]  # for each bone of the armature, the nearest of `bones` at or above it, or -1

    @property
    def rigid(self) -> np.ndarray | None:
        """Returns the share by which each vertex keeps exactly to its bones, float32[n]: painted, or else that of hard materials where
        nobody painted Flesh either; None for no vertex.
        """
        if self.painted.rigid is not None:
            return self.painted.rigid
        return self.hard.part if self.painted.flesh is None else None

    def bones_above(self, names: Iterable[str]) -> list[int]:
        """Returns for each name the nearest of `bones` above that bone, -1 where it has none; own and unknown bones are left out."""
        own = set(self.bones)
        return [self.nearest[name] for name in names if name in self.nearest and name not in own]

    def is_alike(self, other: Character) -> bool:
        """Returns whether both have the same vertices, triangles and bones, wherever these lie: data for one fit the other."""
        return (
            self.rest.shape == other.rest.shape
            and np.array_equal(self.triangles, other.triangles)
            and np.array_equal(self.parents, other.parents)
        )


def rest_mesh(subject: Subject, scene: bpy.types.Scene, depsgraph_of) -> tuple[np.ndarray, Groups]:
    """Returns the rest shape, float32[n, 3], and the weights that reach the Armature modifier.

    `depsgraph_of()` evaluates `scene` and returns the depsgraph.
    """
    obj = subject.obj
    # Modifiers that change with time do not belong to the rest shape: they act on top, as shape keys do.
    before = [
        m
        for m in subject.modifiers_before()
        if stack.artist_switches(obj, m)[0] and not frame_dependence.reshapes_each_frame(obj, m)
    ]
    if not before:
        return basis_positions(obj.data), read_groups(obj)
    on = {modifier.persistent_uid for modifier in before}
    with own_frame.own_frame(scene), modifiers_on(obj, on, basis=True):
        mesh = obj.evaluated_get(depsgraph_of()).data
        if len(mesh.vertices) != len(obj.data.vertices) or len(mesh.edges) != len(obj.data.edges):
            names = ", ".join(f"“{modifier.name}”" for modifier in before)
            raise Refusal(
                f"The modifiers before the Armature modifier of {describe(obj)} ({names}) change its vertices from "
                f"{len(obj.data.vertices)} to {len(mesh.vertices)}: apply them"
            )
        return mesh_positions(mesh), read_groups(obj, mesh)


def read_character(subject: Subject, scene: bpy.types.Scene, depsgraph_of) -> Character:
    """Reads mesh, weights and skeleton of `subject`; a `Refusal` names the fault."""
    obj, armature = subject.obj, subject.armature
    name = describe(obj)
    rest, (group, vertex, weight) = rest_mesh(subject, scene, depsgraph_of)
    bad = np.flatnonzero(~np.isfinite(rest).all(axis=1))
    if len(bad):
        raise Refusal(
            f"Vertex {bad[0]} of {name} has a coordinate that is not a number ({len(bad)} such vertices): "
            "delete or repair them in edit mode"
        )
    far = np.flatnonzero(np.abs(rest).max(axis=1) > MAX_COORDINATE)
    if len(far):
        raise Refusal(
            f"Vertex {far[0]} of {name} lies {np.abs(rest[far[0]]).max():.0e} units away ({len(far)} such vertices): "
            "delete or repair them in edit mode"
        )
    bones = armature.data.bones
    group_bone = {g: name for g, name in own_group_names(obj, armature).items() if bones[name].use_deform}
    if not group_bone:
        raise Refusal(
            f"No vertex group of {name} belongs to a deforming bone of {describe(armature)}: "
            "name the groups after the bones, or parent with automatic weights"
        )
    weighted = {group_bone[g] for g in np.unique(group[weight > 0.0]).tolist() if g in group_bone}
    if not weighted:
        raise Refusal(f"No vertex of {name} has a weight for a bone of {describe(armature)}: paint weights first")
    names, nearest = related_bones(bones, weighted)
    index = {bone: i for i, bone in enumerate(names)}
    weights = np.zeros((len(rest), len(names)))
    column = np.array([index.get(group_bone.get(g, ""), -1) for g in range(len(obj.vertex_groups))], dtype=np.int64)
    chosen = column[group] >= 0
    weights[vertex[chosen], column[group[chosen]]] = weight[chosen]
    above = [bones[name].parent for name in names]
    parents = np.array([-1 if parent is None else nearest[parent.name] for parent in above], dtype=np.int32)
    heads = np.array([bones[b].head_local for b in names], dtype=np.float64)
    tails = np.array([bones[b].tail_local for b in names], dtype=np.float64)
    triangles = triangles_of(obj.data)
    weighs = (column[group[chosen]], vertex[chosen], weight[chosen])  # other groups belong to no bone
    digest = digest_of(rest, triangles, *weighs, parents, heads, tails)
    painted = flesh_map.painted_maps(obj, armature, (group, vertex, weight), len(rest))
    hard = materials.hard_parts(obj)
    notes = [*ignored_effects(subject, [bones[b] for b in names]), *painted.notes]
    if hard.note and painted.flesh is None:
        notes.append(hard.note)
    bare = int((weights.sum(axis=1) <= 0.0).sum())
    if bare:
        notes.append(
            f"{bare} of {len(rest)} vertices have no weight for a deforming bone: the flesh around them carries them "
            "along, the plain armature leaves them behind"
        )
    rest = rest.astype(np.float64)
    with own_frame.own_frame_if_animated(scene, obj, armature):
        apart = displacement_note(subject, rest[weights.any(axis=1)], heads, tails)
    return Character(
        rest, triangles, names, parents, heads, tails, weights, digest, [*notes, apart] if apart else notes,
        painted, hard, contact_exclusions.read(obj, (group, vertex, weight), len(rest)), apart, nearest,
    )  # fmt: skip


def displacement_note(subject: Subject, carried: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> str:
    """Returns a sentence where the mesh stands apart from the bones that carry it (their boxes do not meet); "" where they meet.

    carried [m, 3] object space: the vertices with weight; heads, tails [b, 3] armature space. Each bone's box is widened by the
    bone's length, for hats and eyes.
    """
    mesh = transform(np.array(subject.obj.matrix_world), carried)
    ends = [transform(np.array(subject.armature.matrix_world), points) for points in (heads, tails)]
    around = np.linalg.norm(ends[1] - ends[0], axis=1)[:, None]
    low = np.min([points - around for points in ends], axis=(0, 1))
    high = np.max([points + around for points in ends], axis=(0, 1))
    if (mesh.min(axis=0) <= high).all() and (mesh.max(axis=0) >= low).all():
        return ""
    gap = float(np.maximum(np.maximum(mesh.min(axis=0) - high, low - mesh.max(axis=0)), 0.0).max())
    return (
        f"{describe(subject.obj)} stands apart from the bones of {describe(subject.armature)} that carry it, "
        f"{length(gap)} away from them: put both where they were bound (or apply their transforms), then remove the "
        "flesh and add it again"
    )


def ignored_effects(subject: Subject, bones: list[bpy.types.Bone]) -> list[str]:
    """Returns sentences on effects of the Armature modifier that the flesh ignores."""
    modifier, notes = subject.modifier, []
    if modifier.vertex_group:
        notes.append(f"The vertex group “{modifier.vertex_group}” of the Armature modifier is ignored")
    if modifier.use_bone_envelopes:
        notes.append("Bone envelopes have no effect on the flesh, only vertex groups do")
    bendy = [bone.name for bone in bones if bone.bbone_segments > 1]
    if bendy:
        notes.append(f"Bendy bones such as “{bendy[0]}” move the flesh as straight ones")
    return notes


def related_bones(bones, weighted: set[str]) -> tuple[list[str], dict[str, int]]:
    """Returns the bones of this mesh in the armature's order, and for each bone the index of the nearest at or above it, or -1.

    The bones are those with weight and their ends (children without any weighted bone below them: they mark where a bone ends).
    Bones in between and above, roots and helpers that deform nothing, are skipped: they need not move with the flesh around them,
    and must not hold it.
    """

    def is_free(bone) -> bool:
        return (
            not is_helper(bone)
            and bone.name not in weighted
            and all(child.name not in weighted for child in bone.children_recursive)
        )

    wanted = set(weighted)
    for name in weighted:
        wanted.update(child.name for child in bones[name].children if is_free(child))
    names = [bone.name for bone in bones if bone.name in wanted]
    nearest = {name: i for i, name in enumerate(names)}
    for bone in bones:  # parents come before their children
        if bone.name not in nearest:
            nearest[bone.name] = -1 if bone.parent is None else nearest[bone.parent.name]
    return names, nearest


def bones_elsewhere(subject: Subject, scene: bpy.types.Scene) -> tuple[str, ...]:
    """Returns the bones that carry other meshes of the character, by weights or as a whole, in the armature's order.

    Bones that carry nothing, for IK and controls, are left out.
    """
    armature, carrying = subject.armature, set()
    for obj in scene.objects:
        if obj.type != "MESH" or obj == subject.obj or obj.data.is_editmode:
            continue
        if obj.parent == armature and obj.parent_type == "BONE":
            carrying.add(obj.parent_bone)
        if any(m.type == "ARMATURE" and m.object == armature for m in obj.modifiers):
            names = {group.index: group.name for group in obj.vertex_groups}
            group, _, weight = read_groups(obj)
            carrying.update(names[g] for g in np.unique(group[weight > 0.0]).tolist() if g in names)
    return tuple(bone.name for bone in own_bones(armature) if bone.name in carrying)


def longest_side(subject: Subject, scene: bpy.types.Scene) -> float:
    """Returns the longest side of the box around the body, in scene units: this mesh, and others on its armature that belong to it.

    Vertices without faces do not count, nor do meshes that stand far away or surround everything: see `extents.whole_box`.
    """
    own = faces_box(subject.obj)
    others = []
    for obj in scene.objects:
        if obj.type != "MESH" or obj == subject.obj or obj.data.is_editmode:
            continue
        if any(m.type == "ARMATURE" and m.object == subject.armature for m in obj.modifiers):
            others.append(faces_box(obj))
    bones = [end for bone in own_bones(subject.armature) for end in (bone.head_local, bone.tail_local)]
    skeleton = transform(np.array(subject.armature.matrix_world), np.array(bones, dtype=np.float64).reshape(-1, 3))
    low, high = extents.whole_box(own, others, skeleton)
    side = float((high - low).max()) if np.isfinite(low).all() and np.isfinite(high).all() else 0.0
    if not (np.isfinite(side) and side > 0.0):
        raise Refusal(
            f"{describe(subject.obj)} has no size: all its vertices are in one place, or it is scaled to zero"
        )
    return side


def faces_box(obj: bpy.types.Object) -> extents.Box:
    """Returns the world box of the vertices of a mesh that faces use, or of all vertices where it has no faces."""
    local = basis_positions(obj.data).astype(np.float64)
    corners = numbers(obj.data.loops, "vertex_index", dtype=np.int32)
    if len(corners):
        local = local[np.unique(corners)]
    local = local[(np.abs(local) < MAX_COORDINATE).all(axis=1)]
    return extents.box(transform(np.array(obj.matrix_world), local))


def world_matrix(obj: bpy.types.Object) -> np.ndarray:
    """Returns the object's world matrix [4, 4]; refuses a singular one."""
    matrix = np.array(obj.matrix_world, dtype=np.float64)
    if is_singular(matrix):
        raise Refusal(f"{describe(obj)} is scaled to zero or its matrix is not a number: give it a scale first")
    return matrix
