# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of limbs: makes them along bones, writes their coordinates, paints by them, copies paint to other characters."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic import flesh_map as maps
from ..logic import limbs
from ..logic.bone_names import are_on_opposite_sides
from ..logic.errors import Refusal
from ..logic.names import describe, free_name
from ..logic.native import core
from ..saved.limbs import ThewLimb
from ..scene import flesh_map
from ..scene import limbs as scene_limbs
from ..scene.mesh import basis_positions, triangles_of
from ..scene.reading import armature_of, check_editable

#: Largest mean distance from boundary to skin of a good fit, as a share of the character's size. Limbs of five known
#: characters miss the skin by 0.08 to 0.31 %.
MAX_GOOD_MISS = 0.005
#: Share of a vertex's weight on a limb's bones from which it belongs to the limb. Half: more than all others together.
#: Vertices of the limb without coordinates are reported if their share exceeds `MIN_REPORTED_SHARE`.
MIN_LIMB_SHARE = 0.5
MIN_REPORTED_SHARE = 0.01
#: Difference from the default weight from which a vertex counts as painted. A quarter of a step of colours of eight
#: bits, far above the rounding of single precision.
PAINT_TOLERANCE = 1e-3


@dataclass(frozen=True)
class FitQuality:
    """The quality of a limb's fit to the skin that follows its bones."""

    #: Mean distance from its boundary to the skin, as a part of the character's size.
    miss: float
    #: Number of vertices that follow its bones, and of those without coordinates.
    vertices: int
    lost: int

    def message(self, name: str) -> str:
        text = f"Limb “{name}”: its boundary misses the skin by {100.0 * self.miss:.2f} % of the character's size on average"
        if self.lost > MIN_REPORTED_SHARE * self.vertices:
            text += f"; {self.lost} of the {self.vertices} vertices that follow its bones have no coordinates, as they lie beyond it"
        return text + "."


def add(context, obj: bpy.types.Object, bones: list[str], atoms: int, spokes: int) -> tuple[ThewLimb, FitQuality]:
    """Adds a limb along `bones`, fitted to the skin that follows them. Returns it and how well it meets the skin."""
    thew = core()
    character, surface, skeleton = rest_character(context, obj)
    unknown = [bone for bone in bones if bone not in character.bones]
    armature = armature_of(obj)
    absent = [bone for bone in unknown if bone not in armature.data.bones]
    if absent:
        raise Refusal(f"There is no bone “{absent[0]}” in {describe(armature)}: give names of its bones, one per line")
    if unknown:
        raise Refusal(
            f"The bone “{unknown[0]}” carries nothing of {describe(obj)}: select bones whose vertex groups it has, or give it weights"
        )
    bones = sorted(bones, key=character.bones.index)
    same = [limb.name for limb in obj.thew.limbs if scene_limbs.chain(obj, limb) == bones]
    if same:
        raise Refusal(f"The limb “{same[0]}” runs along these bones already: press Fit Again, or remove it first")
    start = thew.MRep.from_skeleton(surface, skeleton, character.weights, bones, atoms, spokes)
    weights = thew.MRep.chain_weights(skeleton, character.weights, bones)
    fit = start.fit(surface, held=np.arange(start.shape[0]), weights=weights, stages=["atoms"])
    if fit.report.mean > MAX_GOOD_MISS * surface.size:
        # The bones are off its middle, or it is not a tube: atoms may leave them if that helps.
        free = start.fit(surface, weights=weights, stages=["atoms"])
        fit = free if free.report.mean < 0.6 * fit.report.mean else fit
    limb = obj.thew.limbs.add()
    taken = [other.name for other in obj.thew.limbs][:-1]
    scene_limbs.anchor(obj, limb, bones)
    limb.model = limbs.pack(fit.mrep)
    limb.name = free_name(bones[0], taken) if bones[0] in taken else bones[0]
    obj.thew.active_limb = len(obj.thew.limbs) - 1
    return limb, fit_quality(character, surface, bones, fit)


def fit_quality(character, surface, bones: list[str], fit) -> FitQuality:
    """Returns how well a fit along bones meets the skin."""
    own = bone_share(character, bones, character.weights) >= MIN_LIMB_SHARE
    found = fit.mrep.coordinates(character.rest[own])
    return FitQuality(fit.report.mean / surface.size, int(own.sum()), int(np.isnan(found[:, 0]).sum()))


def rest_character(context, obj: bpy.types.Object):
    """Returns (character at rest, its surface, its skeleton with refitted tails, as for flesh)."""
    thew = core()
    _, character, heads, tails = scene_limbs.read(obj, context)
    surface = thew.Surface(character.rest, character.triangles)
    skeleton = thew.Skeleton(character.bones, character.parents, heads, tails)
    return character, surface, skeleton.refit_tails(surface, character.weights)


def bone_share(character, bones: list[str], weights: np.ndarray) -> np.ndarray:
    """Returns the share of the weights [..., b] on these bones of a character, [...]."""
    mine = [character.bones.index(bone) for bone in bones]
    total = weights.sum(axis=-1)
    return weights[..., mine].sum(axis=-1) / np.where(total > 0.0, total, 1.0)


def suggest_bones(context, obj: bpy.types.Object) -> bpy.types.Object:
    """Adds an armature to a mesh without one, in place: bones along the middles of its limbs."""
    check_editable(obj)
    skeleton = core().MRep.suggest_bones(
        core().Surface(basis_positions(obj.data).astype(np.float64), triangles_of(obj.data))
    )
    return scene_limbs.new_armature(context, obj, skeleton)


def model_of(limb: ThewLimb):
    """Returns the medial model of a limb."""
    return limbs.unpack(core(), limb.model)


def shares(context, obj: bpy.types.Object, chosen: list[ThewLimb]) -> tuple[np.ndarray, np.ndarray]:
    """Returns (rest positions [n, 3], share of each vertex's weight on each limb's bones [n, limbs])."""
    _, character, _, _ = scene_limbs.read(obj, context)
    chains = [scene_limbs.sound_chain(obj, character, limb) for limb in chosen]
    columns = [bone_share(character, bones, character.weights) for bones in chains]
    return character.rest, np.stack(columns, axis=1)


def coordinates(context, obj: bpy.types.Object, chosen: list[ThewLimb]) -> tuple[np.ndarray, np.ndarray]:
    """Returns figural coordinates [n, 4] of each vertex, and the index of its limb among the chosen [n].

    A vertex belongs to the limb that it follows most. Without one, its coordinates are NaN and its index is -1.
    """
    rest, share = shares(context, obj, chosen)
    which = np.where(share.max(axis=1) >= MIN_LIMB_SHARE, share.argmax(axis=1), -1)
    found = np.full((len(rest), 4), np.nan)
    for k, limb in enumerate(chosen):
        mine = which == k
        if mine.any():
            found[mine] = model_of(limb).coordinates(rest[mine])
    return found, which


def write_attributes(context, obj: bpy.types.Object) -> int:
    """Writes the attributes Along, Around, Depth and Limb (1 for the first, 0 for none). Returns the number of vertices with coordinates."""
    chosen = list(obj.thew.limbs)
    if not chosen:
        raise Refusal(f"{describe(obj)} has no limbs: make one from selected bones first")
    found, which = coordinates(context, obj, chosen)
    there = np.isfinite(found[:, 0])
    scene_limbs.write(obj, {**limbs.display_coordinates(found), "Limb": np.where(there, which + 1, 0)})
    return int(there.sum())


def paint(context, obj: bpy.types.Object, limb: ThewLimb, name: str, region: limbs.Region, amount: float) -> int:
    """Mixes `amount` into a map (Flesh or Stiffness) within a region of the limb. Returns the number of vertices changed."""
    flesh_map.check_paintable(obj, armature_of(obj), name)
    found, _ = coordinates(context, obj, [limb])
    share = region.share(found)
    if not (share > 0.0).any():
        raise Refusal(f"No vertex of “{limb.name}” lies there: let From and To be farther apart, or Width be larger")
    old = flesh_map.read(obj, name)
    if old is None:
        old = np.full(len(share), maps.NEUTRAL_WEIGHT if name == flesh_map.STIFFNESS else 0.0, dtype=np.float32)
    flesh_map.write(obj, name, maps.mix(old, share, amount))
    obj.data.update_tag()
    return int((share > 0.0).sum())


def carry(context, source: bpy.types.Object, target: bpy.types.Object, name: str) -> tuple[list[str], int, int]:
    """Copies a vertex group between limbs of the same name, or between the only limbs, of two characters.

    Returns the limbs' names, the number of their vertices, and the number of those that are painted now.
    """
    if source == target:
        raise Refusal(f"{describe(source)} cannot carry paint to itself: select another mesh to carry from")
    group = source.vertex_groups.get(name)
    if group is None:
        raise Refusal(f"{describe(source)} has no vertex group “{name}”: paint it first, or choose another")
    pairs = limb_pairs(source, target)
    missing = flesh_map.MISSING_VALUES.get(name, 0.0)
    values = flesh_map.mesh_weights(source.data, group.index, missing).astype(np.float64)
    _, character, _, _ = scene_limbs.read(source, context)
    surface = core().Surface(character.rest, character.triangles)
    flesh_map.check_paintable(target, armature_of(target), name)
    old = flesh_map.read(target, name)
    result = np.full(len(target.data.vertices), missing) if old is None else old.astype(np.float64)
    found, which = coordinates(context, target, [theirs for _, theirs in pairs])
    touched = painted = 0
    for k, (ours, theirs) in enumerate(pairs):
        mine = (which == k) & np.isfinite(found[:, 0])
        if not mine.any():
            continue
        rest = model_of(theirs).points(found[mine])
        mirrored = are_on_opposite_sides(scene_limbs.chain(source, ours), scene_limbs.chain(target, theirs))
        there = model_of(theirs).correspond(model_of(ours), rest, mirrored=mirrored)
        good = np.isfinite(there[:, 0])
        places, _, triangles = surface.closest_point(there[good])
        corners = character.triangles[triangles]
        barycentric = limbs.barycentric(character.rest[corners], places)
        vertices = np.flatnonzero(mine)[good]
        result[vertices] = (values[corners] * barycentric).sum(axis=1)
        touched += len(vertices)
        painted += int((np.abs(result[vertices] - missing) > PAINT_TOLERANCE).sum())
    flesh_map.write(target, name, result)
    target.data.update_tag()
    return [theirs.name for _, theirs in pairs], touched, painted


def common_limbs(source: bpy.types.Object, target: bpy.types.Object) -> list[tuple[ThewLimb, ThewLimb]]:
    """Returns the pairs of limbs of the same name, or the only one of either side; none where nothing fits."""
    if len(source.thew.limbs) == 1 and len(target.thew.limbs) == 1:
        return [(source.thew.limbs[0], target.thew.limbs[0])]
    named = {limb.name: limb for limb in source.thew.limbs}
    return [(named[limb.name], limb) for limb in target.thew.limbs if limb.name in named]


def limb_pairs(source: bpy.types.Object, target: bpy.types.Object) -> list[tuple[ThewLimb, ThewLimb]]:
    """Returns the pairs of limbs that belong together: those of the same name, or the only one of either side."""
    for obj in (source, target):
        if not obj.thew.limbs:
            raise Refusal(f"{describe(obj)} has no limbs: make one from selected bones first")
    pairs = common_limbs(source, target)
    if not pairs:
        raise Refusal(
            f"No limb of {describe(target)} has the name of one of {describe(source)}: give those that belong "
            "together the same name"
        )
    return pairs
