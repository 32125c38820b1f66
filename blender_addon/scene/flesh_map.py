# SPDX-License-Identifier: GPL-3.0-or-later
"""The artist's maps as vertex groups: *Flesh*, the softness of each vertex, *Stiffness*, a factor on its stiffness, and *Rigid*, which
keeps skin exactly as its bones move it.

Add Flesh fills Flesh with the automatic map. While nobody has changed it, the core's own map applies, and removing the flesh
removes the group. From the first stroke on it is the artist's, and stays.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..logic import flesh_map as maps
from ..logic.errors import Refusal
from . import libraries

FLESH, STIFFNESS, RIGID = "Flesh", "Stiffness", "Rigid"
#: All maps.
MAPS = (FLESH, STIFFNESS, RIGID)

#: Values of vertices outside the group.
MISSING_VALUES = {FLESH: 0.0, STIFFNESS: maps.NEUTRAL_WEIGHT, RIGID: 0.0}


@dataclass(frozen=True)
class PaintedMaps:
    """Maps that the artist painted: each float32[n], or None where unpainted."""

    flesh: np.ndarray | None = None
    stiffness: np.ndarray | None = None
    rigid: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> bytes:
        """Returns a hash of all maps."""
        return b"".join(digest(each).encode() for each in (self.flesh, self.stiffness, self.rigid))

    @property
    def any(self) -> bool:
        """Returns whether anything was painted."""
        return any(each is not None for each in (self.flesh, self.stiffness, self.rigid))

    def softness(self, automatic: np.ndarray) -> np.ndarray | None:
        """Returns the flesh [n] for the core, the painted or the `automatic` one less what is rigid; None for the automatic one."""
        if self.rigid is None:
            return self.flesh
        flesh = automatic if self.flesh is None else self.flesh
        return (flesh * (1.0 - self.rigid)).astype(np.float32)

    def factors(self) -> np.ndarray | None:
        """Returns the factors on the stiffness, [n]; None where unpainted."""
        return None if self.stiffness is None else maps.stiffness_factors(self.stiffness)


def digest(weights: np.ndarray | None) -> str:
    """Returns a short hash of a map; "" for None."""
    if weights is None:
        return ""
    return hashlib.blake2b(np.ascontiguousarray(weights, np.float32).data, digest_size=8).hexdigest()


# reading ------------------------------------------------------------------------------------------------------------


def painted_maps(obj: bpy.types.Object, armature: bpy.types.Object, groups, count: int) -> PaintedMaps:
    """Returns the maps of `obj` among its weights (`mesh.Groups`, of `count` vertices)."""
    notes, found = [], {}
    for name in MAPS:
        group = obj.vertex_groups.get(name)
        if group is None:
            continue
        if is_bone(armature, name):
            notes.append(
                f"“{armature.name}” has a bone “{name}”, so the vertex group of that name is its weight: rename the bone "
                f"to paint a map of {name.lower()}"
            )
            continue
        found[name] = values_of(groups, group.index, count, MISSING_VALUES[name])
    flesh, stiffness, rigid = (found.get(name) for name in MAPS)
    if flesh is not None and is_filled(obj, flesh):
        flesh = None  # the automatic map
    elif flesh is not None and not obj.thew.made.flesh_map and not was_kept(obj, FLESH):
        notes.append(own_group_note(obj, FLESH))
    if stiffness is not None and (stiffness == np.float32(maps.NEUTRAL_WEIGHT)).all():
        stiffness = None
    if rigid is not None and not rigid.any():
        rigid = None
    elif rigid is not None and not obj.thew.made.rigid_map and not was_kept(obj, RIGID):
        notes.append(own_group_note(obj, RIGID))
    return PaintedMaps(flesh, stiffness, rigid, tuple(notes))


def own_group_note(obj: bpy.types.Object, name: str) -> str:
    """Returns the sentence about a vertex group that was there before the flesh and bears the name of a map."""
    values = {
        FLESH: "1 soft, 0 hard",
        STIFFNESS: "1 stiff, 0 yielding, 0.5 as it is",
        RIGID: "1 moves with its bones alone",
    }[name]
    return (
        f"“{obj.name}” had a vertex group “{name}” before, which is used as the map of its flesh ({values}): if it means something "
        "else, press Remove Flesh, rename it and add the flesh again"
    )


def was_kept(obj: bpy.types.Object, name: str) -> bool:
    """Returns whether a map is that of earlier flesh, which was kept when this was removed."""
    return name in obj.thew.made.own_maps.splitlines()


def is_bone(armature: bpy.types.Object | None, name: str) -> bool:
    """Returns whether a vertex group of that name holds the weights of a bone."""
    return armature is not None and name in armature.data.bones


def values_of(groups, index: int, count: int, missing: float) -> np.ndarray:
    """Returns the weights of one group among all (`mesh.Groups`), float32[n]."""
    group, vertex, weight = groups
    mine = group == index
    values = np.full(count, missing, dtype=np.float32)
    values[vertex[mine]] = np.clip(weight[mine], 0.0, 1.0)
    return values


def read(obj: bpy.types.Object, name: str) -> np.ndarray | None:
    """Returns the present weights of a map of `obj`, float32[n]; None where it has no such group."""
    group = obj.vertex_groups.get(name)
    return None if group is None else mesh_weights(obj.data, group.index, MISSING_VALUES[name])


def mesh_weights(mesh: bpy.types.Mesh, index: int, missing: float) -> np.ndarray:
    """Returns the weights of one group of a mesh, evaluated meshes included, float32[n]."""
    values = np.full(len(mesh.vertices), missing, dtype=np.float32)
    for i, vertex in enumerate(mesh.vertices):
        for element in vertex.groups:
            if element.group == index:
                values[i] = element.weight
    return values


def automatic_map(flesh: Any) -> np.ndarray:
    """Returns the map that the core derives from the thickness of the body, [n] in 0..1."""
    return np.asarray(flesh.automatic.flesh)


# writing ------------------------------------------------------------------------------------------------------------


def write(obj: bpy.types.Object, name: str, values: np.ndarray) -> None:
    """Writes a map [n] into its group, which is made if missing."""
    group = obj.vertex_groups.get(name)
    if group is None:
        active = obj.vertex_groups.active_index
        group = obj.vertex_groups.new(name=name)
        if active >= 0:
            obj.vertex_groups.active_index = active
    for i, value in enumerate(np.asarray(values, dtype=np.float32).tolist()):
        group.add((i,), value, "REPLACE")


def fill(obj: bpy.types.Object, armature: bpy.types.Object, automatic: np.ndarray) -> bool:
    """Fills the group Flesh with the automatic map [n], unless the artist has painted it; returns whether it holds that map."""
    if is_bone(armature, FLESH) or not libraries.owns_mesh(obj) or not is_automatic(obj):
        return False
    values = np.clip(automatic, 0.0, 1.0).astype(np.float32)
    known = digest(values)
    if obj.vertex_groups.get(FLESH) is None or known != obj.thew.made.flesh_map:
        write(obj, FLESH, values)
        obj.thew.made.flesh_map, obj.thew.made.flesh_map_count = known, len(values)
    return True


def is_automatic(obj: bpy.types.Object) -> bool:
    """Returns whether the group Flesh is missing or as Thew filled it."""
    values = read(obj, FLESH)
    return values is None or is_filled(obj, values)


def is_filled(obj: bpy.types.Object, values: np.ndarray) -> bool:
    """Returns whether a map float32[n] is the one that Thew filled; vertices joined to the mesh since then have no weight."""
    made, count = obj.thew.made, obj.thew.made.flesh_map_count
    if digest(values) == made.flesh_map:
        return True
    joined = 0 < count < len(values) and not values[count:].any()
    return joined and digest(values[:count]) == made.flesh_map


def check_paintable(obj: bpy.types.Object, armature: bpy.types.Object | None, name: str) -> None:
    """Refuses a map whose name is that of a bone, and one of a library."""
    libraries.check_own_mesh(obj, "its maps cannot be painted", "paint them in that file")
    if is_bone(armature, name):
        raise Refusal(
            f"“{armature.name}” has a bone “{name}”, so that vertex group of “{obj.name}” holds the bone's weights: "
            "rename the bone first"
        )


def remove_unpainted(obj: bpy.types.Object, armature: bpy.types.Object | None) -> list[str]:
    """Removes the maps that nobody painted; returns a sentence without full stop for each map that is kept."""
    kept, own = [], []
    for name in MAPS if libraries.owns_mesh(obj) else ():
        group = obj.vertex_groups.get(name)
        if group is None or is_bone(armature, name):
            continue
        values = read(obj, name)
        ours = is_filled(obj, values) if name == FLESH else (values == np.float32(MISSING_VALUES[name])).all()
        if ours:
            drop(obj, group)
        else:
            own.append(name)
            kept.append(
                f"“{obj.name}” keeps the vertex group “{name}”, which is not as Thew filled it, for when flesh is added again"
            )
    obj.thew.made.own_maps = "\n".join(own)
    return kept


def drop(obj: bpy.types.Object, group: bpy.types.VertexGroup) -> None:
    """Removes a group; the active one stays active."""
    groups = obj.vertex_groups
    active = groups.active.name if groups.active else ""
    groups.remove(group)
    if active in groups:
        groups.active = groups[active]
