# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the attachments of rigs again: bones after they were renamed, faces after the mesh was edited.

A bone is identified by its mark (`scene.bone_marks`), a face by a token in an integer attribute of the mesh. If several
faces have the same token, because a face was cut, the one nearest to the stored position is taken.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cached_property

import bpy
import numpy as np

from ..logic import sculpted_rigs
from ..logic.errors import Refusal
from ..logic.json_text import parse_json
from ..logic.names import describe
from ..saved.rigs import ThewRig
from ..saved.samples import quiet_edits
from ..scene.bone_marks import find_marked_bone, mark_bone, unmark_bones
from ..scene.libraries import owns_mesh
from ..scene.mesh import basis_positions, keep_active_attribute, numbers, triangles_of
from ..scene.own_skin import used_bone_tokens
from ..scene.reading import armature_of

#: Name of the attribute that marks faces.
FACE_MARK = "thew_face"

# bones ----------------------------------------------------------------------------------------------------------------


def anchor_bone(obj: bpy.types.Object, rig: ThewRig, name: str) -> None:
    """Attaches `rig` to a bone of the armature of `obj`. Raises a `Refusal` if there is no bone of that name."""
    armature = armature_of(obj)
    bone = None if armature is None else armature.data.bones.get(name)
    if bone is None:
        raise Refusal(f"There is no bone “{name}” in the armature of {describe(obj)}: choose one of its bones")
    with quiet_edits():
        rig.guide, rig.bone = "BONE", name
        rig.bone_token = mark_bone(armature, bone)


def find_bone(armature: bpy.types.Object, rig: ThewRig) -> str:
    """Returns the present name of the bone of `rig`, "" if it is gone. Of a muscle it is the bone of the origin."""
    return find_marked_bone(armature, rig.bone, rig.bone_token)


def anchor_ends(obj: bpy.types.Object, rig: ThewRig, origin: str, insertion: str) -> None:
    """Attaches a muscle to two bones of the armature of `obj`. Raises a `Refusal` if there is no bone of such a name."""
    anchor_bone(obj, rig, insertion)
    with quiet_edits():
        rig.insertion, rig.insertion_token = insertion, rig.bone_token
    anchor_bone(obj, rig, origin)


def find_insertion(armature: bpy.types.Object, rig: ThewRig) -> str:
    """Returns the present name of the bone of a muscle's insertion, "" if it is gone."""
    return find_marked_bone(armature, rig.insertion, rig.insertion_token)


def bones_of(armature: bpy.types.Object, rig: ThewRig) -> set[str]:
    """Returns the present names of the bones that a rig hangs on."""
    found = {find_bone(armature, rig)} if rig.guide == "BONE" else set()
    return (found | {find_insertion(armature, rig)}) - {""} if rig.kind == "MUSCLE" else found - {""}


def anchor_sculpt(obj: bpy.types.Object, rig: ThewRig) -> None:
    """Marks the bones that a sculpted rig names, as far as the armature of `obj` has them."""
    armature = armature_of(obj)
    names = () if armature is None else sculpted_rigs.bone_names(rig.sculpt)
    bones = {name: armature.data.bones.get(name) for name in names}
    with quiet_edits():
        rig.sculpt_bones = json.dumps(
            {name: mark_bone(armature, bone) for name, bone in bones.items() if bone is not None}
        )


def sculpt_tokens(rig: ThewRig) -> dict[str, str]:
    """Returns the marks of the bones of a sculpted rig by their names; none for a rig from before they were kept."""
    try:
        tokens = parse_json(rig.sculpt_bones or "{}")
        return {str(name): str(token) for name, token in tokens.items()}
    except (ValueError, AttributeError):  # a damaged note
        return {}


def renamed_bones(armature: bpy.types.Object, rig: ThewRig) -> dict[str, str]:
    """Returns the bones of a sculpted rig that have another name now: the present ones by the former."""
    found = {name: find_marked_bone(armature, name, token) for name, token in sculpt_tokens(rig).items()}
    return {name: present for name, present in found.items() if present not in ("", name)}


def follow_renamed(armature: bpy.types.Object, rig: ThewRig) -> None:
    """Stores the present names of the bones of a sculpted rig."""
    names = renamed_bones(armature, rig)
    if names:
        tokens = {names.get(name, name): token for name, token in sculpt_tokens(rig).items()}
        with quiet_edits():
            rig.sculpt, rig.sculpt_bones = sculpted_rigs.renamed(rig.sculpt, names), json.dumps(tokens)


# faces --------------------------------------------------------------------------------------------------------------


def anchor_face(
    obj: bpy.types.Object,
    rig: ThewRig,
    triangle: int,
    barycentric=(1 / 3, 1 / 3, 1 / 3),
    rest: np.ndarray | None = None,
) -> None:
    """Attaches `rig` to a triangle of the mesh (its index among `mesh.loop_triangles`), at barycentric coordinates.

    `rest` [n, 3]: the rest shape in object space; default: the mesh's basis.
    """
    mesh = obj.data
    if obj.mode == "EDIT":
        raise Refusal(f"{describe(obj)} is in edit mode: press Tab to leave it first")
    corners, polygons = triangles_and_faces(mesh)
    if not 0 <= triangle < len(corners):
        raise Refusal(f"{describe(obj)} has no triangle {triangle}: it has {len(corners)}")
    shares = np.asarray(barycentric, dtype=np.float64)
    if shares.shape != (3,) or not np.isfinite(shares).all() or abs(shares.sum()) < 1e-6:
        raise Refusal(f"The place in triangle {triangle} of {describe(obj)} must be three shares that sum to one")
    shares = shares / shares.sum()
    rest = basis_positions(mesh) if rest is None else rest
    face = int(polygons[triangle])
    with quiet_edits():
        rig.guide = "SKIN"
        rig.face, rig.barycentric = triangle, shares
        rig.face_part = triangle - int(np.flatnonzero(polygons == face)[0])
        rig.face_place = shares @ rest[corners[triangle]]
        rig.face_token = mark_face(mesh, face)


def triangles_and_faces(mesh: bpy.types.Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Returns every triangle's corners int32[t, 3] and the face that it belongs to, int32[t]."""
    return triangles_of(mesh), numbers(mesh.loop_triangles, "polygon_index", dtype=np.int32)


def face_tokens(mesh: bpy.types.Mesh) -> np.ndarray:
    """Returns the token of every face, 0 for those without, int32[p]."""
    attribute = mesh.attributes.get(FACE_MARK)
    if attribute is not None and attribute.domain == "FACE" and attribute.data_type == "INT":
        return numbers(attribute.data, "value", dtype=np.int32)
    return np.zeros(len(mesh.polygons), dtype=np.int32)


def mark_face(mesh: bpy.types.Mesh, face: int) -> int:
    """Returns the token of a face. A face without a token of its own gets one; 0 on a library's mesh, where its index has to do."""
    if mesh.library is not None or mesh.override_library is not None:
        return 0
    tokens = face_tokens(mesh)
    if tokens[face] == 0 or (tokens == tokens[face]).sum() > 1:
        tokens[face] = tokens.max(initial=0) + 1
        if FACE_MARK not in mesh.attributes:
            with keep_active_attribute(mesh):
                mesh.attributes.new(FACE_MARK, "INT", "FACE")
        mesh.attributes[FACE_MARK].data.foreach_set("value", tokens)
    return int(tokens[face])


class MeshFaces:
    """A mesh's triangles and face tokens, read when they are needed."""

    def __init__(self, mesh: bpy.types.Mesh):
        self.mesh = mesh

    @cached_property
    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Result of `triangles_and_faces`."""
        return triangles_and_faces(self.mesh)

    @cached_property
    def tokens(self) -> np.ndarray:
        """Result of `face_tokens`."""
        return face_tokens(self.mesh)


def find_face(known: MeshFaces, rig: ThewRig, rest: np.ndarray) -> tuple[int, np.ndarray] | None:
    """Returns the present triangle of `rig` and the barycentric coordinates in it. `None` if its face is gone."""
    corners, faces = known.triangles
    if rig.face_token == 0:
        return (rig.face, np.array(rig.barycentric)) if 0 <= rig.face < len(corners) else None
    marked = np.flatnonzero(known.tokens == rig.face_token)
    triangles = np.flatnonzero(np.isin(faces, marked))
    if len(triangles) == 0:
        return None
    if rig.face in triangles and rig.face_part == rig.face - triangles[0] and len(marked) == 1:
        return rig.face, np.array(rig.barycentric)
    if len(marked) == 1 and rig.face_part < len(triangles):
        moved = int(triangles[rig.face_part])
        place = np.array(rig.barycentric) @ rest[corners[moved]]
        reach = np.linalg.norm(np.ptp(rest[corners[triangles]].reshape(-1, 3), axis=0))
        if np.linalg.norm(place - np.array(rig.face_place)) <= 1e-3 * reach:
            return moved, np.array(rig.barycentric)
    # The face was cut, or has other corners: take the nearest point of its parts.
    best = None
    for triangle in triangles.tolist():
        shares, distance = nearest_in_triangle(rest[corners[triangle]], np.array(rig.face_place))
        if best is None or distance < best[2]:
            best = triangle, shares, distance
    return best[0], best[1]


def nearest_in_triangle(corners: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, float]:
    """Returns the barycentric coordinates of the point nearest to `point` in a triangle (`corners` [3, 3]), and its distance."""
    edges = np.stack([corners[1] - corners[0], corners[2] - corners[0]], axis=1)
    inner = np.linalg.lstsq(edges, point - corners[0], rcond=None)[0]
    candidates = [np.array([1.0 - inner.sum(), *inner])] if inner.min() >= 0.0 and inner.sum() <= 1.0 else []
    if not candidates:
        for a, b in ((0, 1), (1, 2), (2, 0)):
            edge = corners[b] - corners[a]
            length = float(edge @ edge)
            part = min(max(float((point - corners[a]) @ edge) / length, 0.0), 1.0) if length > 0.0 else 0.0
            shares = np.zeros(3)
            shares[a], shares[b] = 1.0 - part, part
            candidates.append(shares)
    distances = [float(np.linalg.norm(shares @ corners - point)) for shares in candidates]
    best = int(np.argmin(distances))
    return candidates[best], distances[best]


# both ---------------------------------------------------------------------------------------------------------------


def remember(obj: bpy.types.Object, rig: ThewRig) -> None:
    """Marks the bones and the face named in `rig`, as far as they exist. Forgets the former ones."""
    armature = armature_of(obj)

    def token(name: str) -> str:
        bone = None if armature is None else armature.data.bones.get(name)
        return "" if bone is None else mark_bone(armature, bone)

    with quiet_edits():
        rig.bone_token, rig.insertion_token = token(rig.bone), token(rig.insertion)
        guide, rig.face_token = rig.guide, 0
        if rig.face >= 0 and obj.mode != "EDIT":
            with suppress(Refusal):  # the problem is reported when the rig is resolved
                anchor_face(obj, rig, rig.face, tuple(rig.barycentric))
        rig.guide = guide


def unmark(obj: bpy.types.Object) -> None:
    """Removes the marks of bones and faces that no rig or limb of this file needs any more."""
    mesh, tokens = obj.data, {rig.face_token for rig in obj.thew.rigs if rig.face_token}
    attribute = mesh.attributes.get(FACE_MARK)
    if attribute is not None and not tokens and owns_mesh(obj) and not mesh.is_editmode:
        mesh.attributes.remove(attribute)
    armature = armature_of(obj)
    if armature is not None:
        every = [other.thew for other in bpy.data.objects if other.type == "MESH"]
        limbs = {token for thew in every for limb in thew.limbs for _, token in limb.saved_bones()}
        used = limbs | used_bone_tokens()
        rigs = [rig for thew in every for rig in thew.rigs]
        sculpted = {token for rig in rigs for token in sculpt_tokens(rig).values()}
        hung = {token for rig in rigs for token in (rig.bone_token, rig.insertion_token)}
        unmark_bones(armature, used | sculpted | hung)
