# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of the map Rigid: skin that keeps exactly to its bones."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import jobs
from ..live.flesh import Flesh
from ..logic import flesh_map as maps
from ..logic.body_parts import PARTS as SOFT_PARTS
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import join_few, plural
from ..scene import flesh_map, mesh
from ..scene.reading import armature_of, selected_bones
from . import softening

#: Choices of Make Rigid besides the parts of a body.
CHOICES = (
    ("SELECTION", "Selected Vertices", "The vertices that are selected in Edit mode", "VERTEXSEL", 0),
    ("BONES", "Selected Bones", "The skin of the bones that are selected in Pose mode, by its weights", "BONE_DATA", 1),
    ("HARD", "Hard Parts", "What the automatic map takes for bone: skulls, hands, feet, shells", "GROUP_VERTEX", 2),
    ("NONE", "Nothing", "Set everything free, and drop the map: hard materials alone are rigid", "X", 3),
)
#: All choices; the whole body is no part.
PARTS = [
    *CHOICES,
    *(
        (key, part.label, f"The skin there: {part.label.lower()}", "USER", len(CHOICES) + k)
        for k, (key, part) in enumerate(SOFT_PARTS.items())
        if key != "WHOLE"
    ),
]

#: Automatic flesh up to which skin counts as bone (the map's least is 0.02), and from which it is free: below that the core lets
#: sway fade out.
HARD_FLESH, FREE_FLESH = 0.025, 0.1
#: Number of bones that a report names.
MAX_NAMES = 3


def begin(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Makes the map Rigid with what is rigid without one: hard materials."""
    flesh = jobs.with_body(obj, context.scene, context.view_layer)
    rigid = flesh.character.rigid
    write(obj, np.zeros(len(obj.data.vertices)) if rigid is None else rigid)


def write(obj: bpy.types.Object, values: np.ndarray) -> None:
    """Writes the map Rigid."""
    made = obj.vertex_groups.get(flesh_map.RIGID) is None
    flesh_map.write(obj, flesh_map.RIGID, values)
    if made:
        obj.thew.made.rigid_map = True
    obj.data.update_tag()


def make_rigid(context: bpy.types.Context, obj: bpy.types.Object, part: str, falloff: float, amount: float) -> str:
    """Mixes `amount` into the map Rigid over a part of the skin; returns a sentence about it. Edit mode is kept."""
    editing = obj is not None and obj.type == "MESH" and obj.mode == "EDIT"
    if editing:
        bpy.ops.object.mode_set(mode="OBJECT")
    try:
        jobs.check_flesh(obj)
        flesh_map.check_paintable(obj, armature_of(obj), flesh_map.RIGID)
        return drop(obj) if part == "NONE" else mix(context, obj, part, falloff, amount)
    finally:
        if editing:
            bpy.ops.object.mode_set(mode="EDIT")


def drop(obj: bpy.types.Object) -> str:
    """Removes the map Rigid; returns a sentence about it."""
    group = obj.vertex_groups.get(flesh_map.RIGID)
    if group is not None:
        flesh_map.drop(obj, group)
    obj.thew.made.rigid_map = False
    obj.data.update_tag()
    return f"{describe(obj)} is rigid nowhere but in hard materials."


def mix(context: bpy.types.Context, obj: bpy.types.Object, part: str, falloff: float, amount: float) -> str:
    """Mixes `amount` into the map Rigid over a part of the skin; returns a sentence about it."""
    chosen = selected_vertices(obj) if part == "SELECTION" else None
    flesh = jobs.with_body(obj, context.scene, context.view_layer)
    share, where = part_share(context, obj, flesh, part, falloff, chosen)
    old = flesh_map.read(obj, flesh_map.RIGID)
    if old is None:
        known = flesh.character.rigid
        old = np.zeros(len(share), np.float32) if known is None else known
    write(obj, maps.mix(old, share, amount))
    count = int((share >= 1.0).sum())
    vertices = plural(count, "vertex", "vertices")
    if amount >= 1.0:
        return f"{vertices} keep to their bones: {where}."
    if amount == 0.0:
        return f"{vertices} are set free: {where}."
    return f"{vertices} are rigid by {amount:.2g}: {where}."


def selected_vertices(obj: bpy.types.Object) -> np.ndarray:
    """Returns the vertices [m] that were selected when Edit mode was left; refuses none."""
    chosen = np.flatnonzero(mesh.numbers(obj.data.vertices, "select", dtype=bool))
    if not len(chosen):
        raise Refusal(f"No vertex of {describe(obj)} is selected: select some in Edit mode, or choose another part")
    return chosen


def part_share(
    context, obj, flesh: Flesh, part: str, falloff: float, chosen: np.ndarray | None
) -> tuple[np.ndarray, str]:
    """Returns the weight of each vertex in a part [n], and the place in words."""
    skin = softening.RestSkin.from_flesh(flesh)
    if chosen is not None:
        return around(skin, chosen, falloff * skin.size), "the selection"
    if part == "BONES":
        return of_bones(obj, skin)
    if part == "HARD":
        share = hard_share(flesh_map.automatic_map(flesh))
        if share.max() < 1.0:
            raise Refusal(f"The automatic map finds no hard part on {describe(obj)}: select vertices, or paint Rigid")
        return share, "what the automatic map takes for bone"
    by_shape = softening.region_by_shape(obj, flesh, skin, part, 1.0)
    share, where = by_shape or softening.region(context, obj, skin, SOFT_PARTS[part], 1.0)
    # A patch is full at its middle alone: what is rigid has a rim instead.
    return maps.smooth_step(2.0 * share), f"{SOFT_PARTS[part].label}, {where}"


def hard_share(flesh: np.ndarray) -> np.ndarray:
    """Returns the share of each vertex in what an automatic map [n] takes for bone."""
    return maps.smooth_step((FREE_FLESH - flesh) / (FREE_FLESH - HARD_FLESH))


def around(skin: softening.RestSkin, chosen: np.ndarray, way: float) -> np.ndarray:
    """Returns the share of each vertex [n]: 1 where chosen, falling smoothly to 0 over a `way` along the skin."""
    share = np.zeros(len(skin.points))
    if way > 0.0:
        away = maps.distances(skin.points, skin.triangles, [(int(v), 0.0) for v in chosen], way)
        share = np.where(np.isfinite(away), maps.smooth_step(1.0 - away / way), 0.0)
    share[chosen] = 1.0
    return share


def of_bones(obj: bpy.types.Object, skin: softening.RestSkin) -> tuple[np.ndarray, str]:
    """Returns the share of each vertex in the skin of the bones that are selected in Pose mode; refuses none."""
    armature, names = armature_of(obj), skin.skeleton.names
    posed = armature is not None and armature.mode == "POSE"
    known = [name for name in selected_bones(armature) if name in names] if posed else []
    if not known:
        raise Refusal(
            f"No bone that moves {describe(obj)} is selected: select bones of its armature in Pose mode, then press Make Rigid"
        )
    total = skin.weights.sum(axis=1)
    share = skin.weights[:, [names.index(name) for name in known]].sum(axis=1) / np.where(total > 0.0, total, 1.0)
    return np.minimum(share, 1.0), f"the skin of {join_few([f'“{name}”' for name in known], MAX_NAMES)}"
