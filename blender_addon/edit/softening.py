# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of the flesh map: patches of a body part, and the automatic map."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import jobs
from ..live.flesh import Flesh
from ..logic import flesh_map as maps
from ..logic.body_parts import PARTS, BodyPart, PatchCentre, Skeleton, own_centres, patch_centres
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.picking import Hit, Picker
from ..logic.spaces import diagonal, transform
from ..scene import flesh_map
from ..scene.mesh import evaluated_positions
from ..scene.reading import active_bone, armature_of
from .posed_character import MAX_SKIN_DISTANCE

#: Minimum radius of a patch, as a part of the character's longest side. Median edges of nine of ten known characters
#: are 0.003 to 0.026 of it, so a patch reaches neighbours.
MIN_PATCH_RADIUS = 0.03


def soften(context: bpy.types.Context, obj: bpy.types.Object, part: str, size: float, amount: float) -> str:
    """Writes `amount` into the map Flesh at a body part, `size` times as large as usual. Returns the place in words."""
    jobs.check_flesh(obj)
    armature = armature_of(obj)
    flesh_map.check_paintable(obj, armature, flesh_map.FLESH)
    flesh = jobs.with_body(obj, context.scene, context.view_layer)
    preset, skin = PARTS[part], RestSkin.from_flesh(flesh)
    if part == "WHOLE":
        values, where = amount * flesh_map.automatic_map(flesh), "everywhere"
    else:
        share, where = region_by_shape(obj, flesh, skin, part, size) or region(context, obj, skin, preset, size)
        old = flesh_map.read(obj, flesh_map.FLESH)
        values = maps.mix(flesh_map.automatic_map(flesh) if old is None else old, share, amount)
    flesh_map.write(obj, flesh_map.FLESH, values)
    obj.data.update_tag()
    return where


class RestSkin:
    """The skin at rest in Blender's world, with the skeleton that carries it."""

    def __init__(self, points: np.ndarray, triangles: np.ndarray, skeleton: Skeleton, weights: np.ndarray):
        self.points, self.triangles, self.skeleton, self.weights = points, triangles, skeleton, weights
        self.size = diagonal(points)
        self.picker = Picker(points, triangles)

    @staticmethod
    def from_flesh(flesh: Flesh) -> RestSkin:
        """Returns the skin as it was when flesh was added."""
        character, bind_pose = flesh.character, flesh.bind_pose
        heads, tails = (transform(bind_pose.armature_matrix, ends) for ends in (character.heads, character.tails))
        skeleton = Skeleton(character.bones, character.parents, heads, tails)
        return RestSkin(
            transform(bind_pose.mesh_matrix, character.rest), character.triangles, skeleton, character.weights
        )

    def points_of_bone(self, bone: int) -> np.ndarray:
        """Returns the points [m, 3] that mostly follow a bone."""
        return self.points[self.weights[:, bone] > 0.5 * self.weights.sum(axis=1)]

    def hit(self, centre: PatchCentre) -> Hit:
        """Returns the skin point of a patch centre: where its ray leaves the body, or else the nearest point."""
        nearest = self.picker.nearest(centre.origin)
        if not centre.direction.any():
            return nearest
        found = self.picker.ray(centre.origin, centre.direction)
        return nearest if found is None else found

    def patch(self, hit: Hit, radius: float) -> np.ndarray:
        """Returns the weights of a patch, see `logic.flesh_map.patch`."""
        return maps.patch(self.points, self.triangles, hit.point, hit.face, radius)


def region_by_shape(obj, flesh: Flesh, skin: RestSkin, name: str, size: float) -> tuple[np.ndarray, str] | None:
    """Returns (weight of each vertex in the part [n], the place in words), found by the body's shape; `None` if it is not found.

    Bones made for the part, and a chosen bone, take precedence over the shape.
    """
    part = PARTS[name]
    if own_centres(part, skin.skeleton) or chosen_bone(obj):
        return None
    patches, share = flesh.automatic.parts().get(name.lower(), (None, None))
    if patches is None or not share.any():
        return None
    if part.limbs:
        return np.asarray(share) ** (1.0 / max(size, 0.05)), "by the body's shape"
    shares = []
    for patch in patches:
        hit = skin.picker.nearest(flesh.place.world(patch[:3]))
        radius = float(patch[3]) / flesh.place.metres_per_unit
        shares.append(skin.patch(hit, size * max(radius, MIN_PATCH_RADIUS * skin.size)))
    return np.max(shares, axis=0), "by the body's shape"


def region(context, obj, skin: RestSkin, part: BodyPart, size: float) -> tuple[np.ndarray, str]:
    """Returns (weight of each vertex in the part [n], the place in words), found by bones, or else at the 3D cursor.

    Raises a `Refusal` if it is not found.
    """
    skeleton, names = skin.skeleton, skin.skeleton.names
    limb, found = skeleton.limb(part.limbs) if part.limbs else [], patch_centres(part, skeleton, skin.points_of_bone)
    bone = chosen_bone(obj)
    if not limb and not found and bone in names:
        limb = skeleton.with_descendants([names.index(bone)]) if part.limbs else []
        found = patch_centres(part, skeleton, skin.points_of_bone, bone)
    if limb:
        return limb_share(skin, limb, size), f"along “{names[limb[0]]}”"
    if found:
        shares = []
        for centre in found:
            hit = skin.hit(centre)
            usual = part.girth * float(np.linalg.norm(hit.point - centre.inside))
            shares.append(skin.patch(hit, size * max(usual, MIN_PATCH_RADIUS * skin.size)))
        bones = dict.fromkeys(names[centre.bone] for centre in found)
        return np.max(shares, axis=0), "at " + " and ".join(f"“{bone}”" for bone in bones)
    hit = skin_at_cursor(context, obj, skin, part)
    return skin.patch(hit, size * 0.12 * skin.size), "at the 3D cursor"


def limb_share(skin: RestSkin, bones: list[int], size: float) -> np.ndarray:
    """Returns the weight of each vertex in a limb of `bones`, growing towards its tip, [n]."""
    total = skin.weights.sum(axis=1)
    share = skin.weights[:, bones].sum(axis=1) / np.where(total > 0.0, total, 1.0)
    result = np.zeros(len(share))
    for side in split_limbs(skin.skeleton, bones):
        mine = skin.weights[:, side].sum(axis=1) / np.where(total > 0.0, total, 1.0)
        result = np.maximum(result, maps.tip_shares(skin.points, mine, skin.skeleton.heads[side[0]], size))
    return np.minimum(result, share)


def split_limbs(skeleton: Skeleton, bones: list[int]) -> list[list[int]]:
    """Splits `bones` into limbs, each with its root first."""
    limbs: dict[int, list[int]] = {}
    for bone in bones:
        root = bone
        while int(skeleton.parents[root]) in bones:
            root = int(skeleton.parents[root])
        limbs.setdefault(root, []).append(bone)
    return [[root, *(b for b in chain if b != root)] for root, chain in limbs.items()]


def chosen_bone(obj) -> str:
    """Returns the active and selected bone if the armature is in pose mode, or ""."""
    armature = armature_of(obj)
    return active_bone(armature) if armature is not None and armature.mode == "POSE" else ""


def skin_at_cursor(context, obj, skin: RestSkin, part: BodyPart) -> Hit:
    """Returns the point of the posed skin nearest to the 3D cursor. Raises a `Refusal` if that is far from the body, or never set."""
    shown = evaluated_positions(obj, context.evaluated_depsgraph_get()).astype(np.float64)
    points = transform(np.array(obj.matrix_world), shown) if len(shown) == len(skin.points) else skin.points
    cursor = np.array(context.scene.cursor.location)
    hit = Picker(points, skin.triangles).nearest(cursor)
    if not cursor.any() or hit.distance > MAX_SKIN_DISTANCE * skin.size:
        called = part.role.phrase if part.role is not None else f"the {part.label.lower()}"
        raise Refusal(
            f"No bone of {describe(obj)} is named like {called}: select that bone in pose mode, or put the 3D cursor on "
            "the skin (Shift and the right mouse button), and press again"
        )
    return Hit(hit.face, hit.barycentric, hit.point_on(skin.points, skin.triangles), hit.distance)


def reset_to_automatic(context, obj) -> None:
    """Resets the map Flesh to the automatic one."""
    jobs.check_flesh(obj)
    armature = armature_of(obj)
    flesh_map.check_paintable(obj, armature, flesh_map.FLESH)
    flesh = jobs.with_body(obj, context.scene, context.view_layer)
    group = obj.vertex_groups.get(flesh_map.FLESH)
    if group is not None:
        flesh_map.write(obj, flesh_map.FLESH, flesh_map.automatic_map(flesh))
        obj.thew.made.flesh_map = flesh_map.digest(flesh_map.read(obj, flesh_map.FLESH))
    else:
        flesh_map.fill(obj, armature, flesh_map.automatic_map(flesh))
    obj.data.update_tag()
