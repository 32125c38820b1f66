# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender to numpy: the mesh up to its Armature modifier, and the skeleton.

The rest shape is the mesh as it stands just before the Armature modifier, every shape key at its basis. Modifiers that
stand before it and only move vertices are respected; those that change the number of vertices are refused by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.spaces import is_singular, transform
from . import flesh_map
from .units import length

#: Modifiers that may make or remove vertices: in front of the Armature modifier they are refused.
REBUILDING = {
    "ARRAY", "BEVEL", "BOOLEAN", "BUILD", "DECIMATE", "EDGE_SPLIT", "EXPLODE", "FLUID", "MASK", "MESH_TO_VOLUME", "MIRROR",
    "MULTIRES", "OCEAN", "PARTICLE_INSTANCE", "REMESH", "SCREW", "SKIN", "SOLIDIFY", "SUBSURF", "TRIANGULATE",
    "VOLUME_TO_MESH", "WELD", "WIREFRAME",
}  # fmt: skip

#: Coordinates beyond this are mistakes: their squares no longer fit into the numbers that Blender draws with.
FARTHEST = 1e15


@dataclass
class Subject:
    """A mesh that can have flesh: checked, with its armature and the Armature modifier that deforms it."""

    obj: bpy.types.Object
    armature: bpy.types.Object
    modifier: bpy.types.ArmatureModifier

    def before(self) -> list[bpy.types.Modifier]:
        """The modifiers that stand before the Armature modifier and are switched on, Thew's own left out."""
        found = []
        for modifier in self.obj.modifiers:
            if modifier.persistent_uid == self.modifier.persistent_uid:
                break
            mine = modifier.persistent_uid == self.obj.thew.made.modifier
            if not mine and (modifier.show_viewport or modifier.show_render):
                found.append(modifier)
        return found


@dataclass
class Character:
    """What the physics is told about one mesh, in Blender's units: everything but the motion."""

    rest: np.ndarray  # [n, 3] object space
    triangles: np.ndarray  # [t, 3]
    bones: list[str]  # see `related_bones`
    parents: np.ndarray  # [b]
    heads: np.ndarray  # [b, 3] armature space
    tails: np.ndarray  # [b, 3] armature space
    weights: np.ndarray  # [n, b] as painted
    digest: bytes  # of all of it but the names
    notes: list[str]  # what of the artist's set-up has no effect
    painted: flesh_map.Painted  # the artist's maps
    apart: str  # what to say where the mesh stands beside its bones, or ""

    def alike(self, other: Character) -> bool:
        """Whether both have the same vertices, triangles and bones, however they lie: what moves one can move the other."""
        return (
            self.rest.shape == other.rest.shape
            and np.array_equal(self.triangles, other.triangles)
            and np.array_equal(self.parents, other.parents)
        )


#: Deforming modifiers whose result depends on time by themselves.
MOVING = {"WAVE", "CLOTH", "SOFT_BODY", "MESH_CACHE", "MESH_SEQUENCE_CACHE"}


def describe(obj: bpy.types.ID) -> str:
    """The object's name as the sentences show it."""
    return f"“{obj.name}”"


def armature_modifier(obj: bpy.types.Object, anew: bool = False) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier that the flesh follows, or else the first one that is switched on and has an armature.

    `anew`: the latter also for flesh whose own Armature modifier is gone.
    """
    made = obj.thew.made
    if made.flesh:
        for modifier in obj.modifiers:
            if modifier.persistent_uid == made.armature_modifier and modifier.type == "ARMATURE":
                return modifier
        if not anew:
            return None
    for modifier in obj.modifiers:
        if modifier.type == "ARMATURE" and modifier.object is not None and modifier.show_viewport:
            return modifier
    return None


def subject(obj: bpy.types.Object | None, view_layer: bpy.types.ViewLayer, anew: bool = False) -> Subject:
    """Check that `obj` can have flesh; a `Refusal` says why not and what to do. `anew`: see `armature_modifier`."""
    check_editable(obj)
    name = describe(obj)
    mesh = obj.data
    sharing = [other.name for other in bpy.data.objects if other.data == mesh and other != obj]
    if sharing:
        raise Refusal(
            f"{name} shares its mesh with “{sharing[0]}”, which would get the same flesh: "
            "make it single user first (Object > Relations > Make Single User > Object & Data)"
        )
    modifier = armature_modifier(obj, anew)
    if modifier is None:
        if obj.thew.made.flesh:
            raise Refusal(
                f"The Armature modifier that the flesh of {name} followed is gone: give it one and press Add Flesh, "
                "or press Remove"
            )
        if obj.parent is not None and obj.parent.type == "ARMATURE" and obj.parent_type == "ARMATURE":
            raise Refusal(
                f"{name} is deformed by its parent without a modifier: give it an Armature modifier "
                "(parent with Armature Deform again, or use Make Real in the modifier panel)"
            )
        raise Refusal(
            f"{name} has no Armature modifier with an armature: parent it to its armature with Armature Deform"
        )
    armature = modifier.object
    if armature is None or armature.type != "ARMATURE":
        raise Refusal(f"The Armature modifier of {name} has no armature: choose one in the modifier")
    if len(mesh.vertices) == 0:
        raise Refusal(f"{name} has no vertices: flesh needs a mesh")
    if len(mesh.polygons) == 0:
        raise Refusal(f"{name} has no faces: flesh needs a surface")
    if len(armature.data.bones) == 0:
        raise Refusal(f"The armature {describe(armature)} of {name} has no bones: add bones and weights first")
    if not modifier.use_vertex_groups:
        raise Refusal(f"The Armature modifier of {name} ignores vertex groups: switch on Bind To > Vertex Groups")
    if len(obj.vertex_groups) == 0:
        raise Refusal(f"{name} has no vertex groups: give it weights (parent with automatic weights, or paint them)")
    for member in (obj, armature):
        if view_layer.objects.get(member.name) != member:
            view_layer.update()  # it may only just have been linked
        if view_layer.objects.get(member.name) != member:
            raise Refusal(f"{describe(member)} is not in this view layer: show its collection first")
    if mesh.shape_keys is not None and not mesh.shape_keys.use_relative:
        raise Refusal(f"The shape keys of {name} are absolute: switch on Relative in its shape key panel")
    if animated(obj, modifier, ".show_"):
        raise Refusal(
            f"The visibility of the Armature modifier of {name} is animated or driven, and flesh follows it at every "
            "frame: clear its animation"
        )
    found = Subject(obj, armature, modifier)
    for other in found.before():
        if other.type in REBUILDING:
            raise Refusal(
                f"The modifier “{other.name}” of {name} makes or removes vertices before the Armature modifier: "
                "apply it, or move it below the Armature modifier"
            )
    return found


def view_layer(scene: bpy.types.Scene) -> bpy.types.ViewLayer:
    """The view layer in which a scene is read: the artist's, where he looks at it."""
    return bpy.context.view_layer if bpy.context.scene == scene else scene.view_layers[0]


def curves_in(animation: bpy.types.AnimData | None):
    """The collection of F-curves of an animated thing, in the layered actions of 4.4 on as in those before; () if none."""
    if animation is None or animation.action is None:
        return ()
    action = animation.action
    if not hasattr(action, "layers"):
        return action.fcurves
    for layer in action.layers:
        for strip in layer.strips:
            bag = strip.channelbag(animation.action_slot) if animation.action_slot is not None else None
            if bag is not None:
                return bag.fcurves
    return ()


def animated(obj: bpy.types.Object, modifier: bpy.types.Modifier, part: str = "") -> bool:
    """Whether curves or drivers move a modifier's properties (those whose path goes on with `part`)."""
    animation = obj.animation_data
    if animation is None:
        return False
    start = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]{part}'
    return any(curve.data_path.startswith(start) for curve in (*animation.drivers, *curves_in(animation)))


def check_editable(obj: bpy.types.Object | None) -> None:
    """Refuse what cannot be edited here: no mesh, another file's data, edit mode."""
    if obj is None:
        raise Refusal("Nothing is active: select the skinned mesh")
    name = describe(obj)
    if obj.type != "MESH":
        kind = obj.type.replace("_", " ").lower()
        article = "an" if kind[0] in "aeiou" else "a"
        raise Refusal(f"{name} is {article} {kind}, not a mesh: select the skinned mesh")
    if obj.library is not None or obj.data.library is not None:
        raise Refusal(
            f"{name} is linked from another file, where its mesh cannot be changed from here: make it local "
            "(Object > Relations > Make Local > Selected Objects and Data), or add the flesh in the file it comes from"
        )
    if obj.override_library is not None or obj.data.override_library is not None:
        raise Refusal(
            f"{name} is a library override, whose shape keys and attributes vanish on reload: make it local "
            "(Object > Relations > Make Local > Selected Objects and Data), or add the flesh in the file it comes from"
        )
    if obj.mode == "EDIT" or obj.data.is_editmode:
        raise Refusal(f"{name} is in edit mode: press Tab to leave it first")


# the mesh -----------------------------------------------------------------------------------------------------------


@contextmanager
def modifiers_on(obj: bpy.types.Object, on: set[int], basis: bool) -> Iterator[None]:
    """Only the modifiers whose persistent ids are in `on` act within; `basis`: and every shape key is at rest."""
    shown = [(modifier, modifier.show_viewport) for modifier in obj.modifiers]
    pinned, active = obj.show_only_shape_key, obj.active_shape_key_index
    try:
        for modifier, was in shown:
            keep = was and modifier.persistent_uid in on
            if keep != was:
                modifier.show_viewport = keep
        if basis and obj.data.shape_keys is not None:
            obj.active_shape_key_index = 0
            obj.show_only_shape_key = True
        yield
    finally:
        for modifier, was in shown:
            if modifier.show_viewport != was:
                modifier.show_viewport = was
        if obj.show_only_shape_key != pinned:
            obj.show_only_shape_key = pinned
        if obj.active_shape_key_index != active:
            obj.active_shape_key_index = active


def evaluated_positions(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """The object's evaluated vertices, object space, float32[n, 3]."""
    return mesh_positions(obj.evaluated_get(depsgraph).data)


def mesh_positions(mesh: bpy.types.Mesh) -> np.ndarray:
    """The vertices of a mesh that is not in edit mode, float32[n, 3]."""
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    if len(flat):
        mesh.attributes["position"].data.foreach_get("vector", flat)
    return flat.reshape(-1, 3)


def basis_positions(mesh: bpy.types.Mesh) -> np.ndarray:
    """The mesh without any shape key's influence, float32[n, 3]."""
    if mesh.shape_keys is None:
        return mesh_positions(mesh)
    return key_positions(mesh.shape_keys.reference_key)


def key_positions(key: bpy.types.ShapeKey) -> np.ndarray:
    """The vertices of a shape key, float32[n, 3]."""
    flat = np.empty(3 * len(key.points), dtype=np.float32)
    key.points.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def rest_mesh(found: Subject, depsgraph_of) -> tuple[np.ndarray, Groups]:
    """The rest shape (float32[n, 3]) and the weights that the Armature modifier gets to see.

    `depsgraph_of()` evaluates the scene and gives the depsgraph.
    """
    obj = found.obj
    # What moves with time would make the rest shape depend on the frame of the moment: it acts on top, as shape keys do.
    before = [m for m in found.before() if m.show_viewport and m.type not in MOVING and not animated(obj, m)]
    if not before:
        return basis_positions(obj.data), read_groups(obj.data)
    with modifiers_on(obj, {modifier.persistent_uid for modifier in before}, basis=True):
        mesh = obj.evaluated_get(depsgraph_of()).data
        if len(mesh.vertices) != len(obj.data.vertices) or len(mesh.edges) != len(obj.data.edges):
            names = ", ".join(f"“{modifier.name}”" for modifier in before)
            raise Refusal(
                f"The modifiers before the Armature modifier of {describe(obj)} ({names}) change its vertices from "
                f"{len(obj.data.vertices)} to {len(mesh.vertices)}: apply them, or move them below the Armature modifier"
            )
        return mesh_positions(mesh), read_groups(mesh)


def triangles_of(mesh: bpy.types.Mesh) -> np.ndarray:
    """Every face cut into triangles, int32[t, 3]."""
    mesh.calc_loop_triangles()
    flat = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    mesh.loop_triangles.foreach_get("vertices", flat)
    return flat.reshape(-1, 3)


def read_character(found: Subject, depsgraph_of) -> Character:
    """Mesh, weights and skeleton of `found`; a `Refusal` names what is wrong."""
    obj, armature = found.obj, found.armature
    name = describe(obj)
    rest, (group, vertex, weight) = rest_mesh(found, depsgraph_of)
    bad = np.flatnonzero(~np.isfinite(rest).all(axis=1))
    if len(bad):
        raise Refusal(
            f"Vertex {bad[0]} of {name} has a coordinate that is not a number ({len(bad)} such vertices): "
            "delete or repair them in edit mode"
        )
    far = np.flatnonzero(np.abs(rest).max(axis=1) > FARTHEST)
    if len(far):
        raise Refusal(
            f"Vertex {far[0]} of {name} lies {np.abs(rest[far[0]]).max():.0e} units away ({len(far)} such vertices): "
            "delete or repair them in edit mode"
        )
    bones = armature.data.bones
    group_bone = {g.index: g.name for g in obj.vertex_groups if g.name in bones and bones[g.name].use_deform}
    if not group_bone:
        raise Refusal(
            f"No vertex group of {name} belongs to a deforming bone of {describe(armature)}: "
            "name the groups after the bones, or parent with automatic weights"
        )
    weighted = {group_bone[g] for g in np.unique(group[weight > 0.0]).tolist() if g in group_bone}
    if not weighted:
        raise Refusal(f"No vertex of {name} has a weight for a bone of {describe(armature)}: paint weights first")
    names, ancestry = related_bones(bones, weighted)
    index = {bone: i for i, bone in enumerate(names)}
    weights = np.zeros((len(rest), len(names)))
    column = np.array([index.get(group_bone.get(g, ""), -1) for g in range(len(obj.vertex_groups))], dtype=np.int64)
    chosen = column[group] >= 0
    weights[vertex[chosen], column[group[chosen]]] = weight[chosen]
    parents = np.array(ancestry, dtype=np.int32)
    heads = np.array([bones[b].head_local for b in names], dtype=np.float64)
    tails = np.array([bones[b].tail_local for b in names], dtype=np.float64)
    triangles = triangles_of(obj.data)
    digest = hashlib.blake2b(digest_size=16)
    weighs = (column[group[chosen]], vertex[chosen], weight[chosen])  # other groups are no bones
    for array in (rest, triangles, *weighs, parents, heads, tails):
        digest.update(np.ascontiguousarray(array).data)
    painted = flesh_map.painted(obj, armature, (group, vertex, weight), len(rest))
    notes = [*ignored(found, [bones[b] for b in names]), *painted.notes]
    bare = int((weights.sum(axis=1) <= 0.0).sum())
    if bare:
        notes.append(
            f"{bare} of {len(rest)} vertices have no weight for a deforming bone: the flesh around carries them along, "
            "the plain armature leaves them behind"
        )
    rest = rest.astype(np.float64)
    apart = standing_apart(found, rest[weights.any(axis=1)], heads, tails)
    return Character(
        rest, triangles, names, parents, heads, tails, weights, digest.digest(), [*notes, apart] if apart else notes,
        painted, apart,
    )  # fmt: skip


def standing_apart(found: Subject, carried: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> str:
    """What to say where the mesh stands beside the bones that carry it: their boxes do not meet; "" where they do.

    carried [m, 3] object space: the vertices with weight; heads, tails [b, 3] armature space. Each bone's box reaches as far
    around it as it is long, for hats and eyes.
    """
    mesh = transform(np.array(found.obj.matrix_world), carried)
    ends = [transform(np.array(found.armature.matrix_world), points) for points in (heads, tails)]
    around = np.linalg.norm(ends[1] - ends[0], axis=1)[:, None]
    low = np.min([points - around for points in ends], axis=(0, 1))
    high = np.max([points + around for points in ends], axis=(0, 1))
    if (mesh.min(axis=0) <= high).all() and (mesh.max(axis=0) >= low).all():
        return ""
    gap = float(np.maximum(np.maximum(mesh.min(axis=0) - high, low - mesh.max(axis=0)), 0.0).max())
    return (
        f"{describe(found.obj)} stands apart from the bones of {describe(found.armature)} that carry it, {length(gap)} "
        "beside them: put both where they were bound (or apply their transforms), then remove the flesh and add it again"
    )


def ignored(found: Subject, bones: list[bpy.types.Bone]) -> list[str]:
    """What the Armature modifier would do and the flesh does not, a sentence each."""
    modifier, notes = found.modifier, []
    if modifier.vertex_group:
        notes.append(f"The vertex group “{modifier.vertex_group}” of the Armature modifier is not heeded")
    if modifier.use_bone_envelopes:
        notes.append("Bone envelopes have no effect on the flesh, only vertex groups do")
    bendy = [bone.name for bone in bones if bone.bbone_segments > 1]
    if bendy:
        notes.append(f"Bendy bones such as “{bendy[0]}” move the flesh as straight ones")
    return notes


#: All weights of a mesh: (group int64[w], vertex int64[w], weight float32[w]).
Groups = tuple[np.ndarray, np.ndarray, np.ndarray]


def read_groups(mesh: bpy.types.Mesh) -> Groups:
    """The weights of all vertex groups."""
    flat = [(g.group, v.index, g.weight) for v in mesh.vertices for g in v.groups]
    if not flat:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
    group, vertex, weight = zip(*flat, strict=True)
    return np.array(group, np.int64), np.array(vertex, np.int64), np.nan_to_num(np.array(weight, np.float32))


def related_bones(bones, weighted: set[str]) -> tuple[list[str], list[int]]:
    """The skeleton of this mesh: its bones in the armature's order, and the place of each one's parent, or -1.

    These are the bones with weight and their ends (children without any weighted bone below them: they tell where a bone
    ends). Bones in between and above, roots and helpers that deform nothing, are passed over: they need not move with the
    flesh around them, and must not hold it.
    """

    def leads_nowhere(bone) -> bool:
        return bone.name not in weighted and all(child.name not in weighted for child in bone.children_recursive)

    wanted = set(weighted)
    for name in weighted:
        wanted.update(child.name for child in bones[name].children if leads_nowhere(child))
    names = [bone.name for bone in bones if bone.name in wanted]
    place = {name: i for i, name in enumerate(names)}
    parents = []
    for name in names:
        parent = bones[name].parent
        while parent is not None and parent.name not in place:
            parent = parent.parent
        parents.append(-1 if parent is None else place[parent.name])
    return names, parents


def longest_side(found: Subject, scene: bpy.types.Scene) -> float:
    """The longest side of the box around every mesh on the armature at rest, in scene units."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for obj in scene.objects:
        if obj.type != "MESH" or len(obj.data.vertices) == 0:
            continue
        if not any(m.type == "ARMATURE" and m.object == found.armature for m in obj.modifiers):
            continue
        if obj.data.is_editmode:
            continue
        local = basis_positions(obj.data).astype(np.float64)
        local = local[(np.abs(local) < FARTHEST).all(axis=1)]
        world = transform(np.array(obj.matrix_world), local)
        if len(world) and np.isfinite(world).all():
            low, high = np.minimum(low, world.min(axis=0)), np.maximum(high, world.max(axis=0))
    side = float((high - low).max()) if np.isfinite(low).all() else 0.0
    if not (np.isfinite(side) and side > 0.0):
        raise Refusal(f"{describe(found.obj)} has no size: all its vertices are in one place, or it is scaled to zero")
    return side


def world_matrix(obj: bpy.types.Object) -> np.ndarray:
    """The object's world matrix [4, 4]; a flattened one is refused."""
    matrix = np.array(obj.matrix_world, dtype=np.float64)
    if is_singular(matrix):
        raise Refusal(f"{describe(obj)} is scaled to zero or its matrix is not a number: give it a scale first")
    return matrix
