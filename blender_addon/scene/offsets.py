# SPDX-License-Identifier: GPL-3.0-or-later
"""Storage of the offsets that an object shows: attributes of its mesh, or a holder where the mesh belongs to a library.

Nothing above this module distinguishes the two. A holder belongs to one modifier of one object, which is its only user: copies of an
object get a holder of their own, and that of a deleted object is not saved.
"""

from __future__ import annotations

import bpy
import numpy as np

from .libraries import is_local_modifier, owns_mesh
from .mesh import keep_active_attribute, numbers
from .offset_nodes import FRAME, OFFSET, holder_input, input_object, set_input_object
from .stack import modifier_by_id

ATTRIBUTES = (OFFSET, FRAME)
#: Attributes of earlier versions: the shape itself, in place of the Armature modifier, and helpers that let shape keys show.
FORMER_ATTRIBUTES = ("thew_position", "thew_rest", "thew_x", "thew_y", "thew_z")
#: Custom property of the holders made here.
HOLDER_MARK = "thew_holder"


def is_held(obj: bpy.types.Object) -> bool:
    """Returns whether the offsets of an object are in a holder: its mesh belongs to a library."""
    return not owns_mesh(obj)


def has_place(obj: bpy.types.Object) -> bool:
    """Returns whether offsets of an object can be written as it is; an override may lack the modifier that reads its holder."""
    return not is_held(obj) or bool(_input_of(obj)[1])


def write(obj: bpy.types.Object, offsets: np.ndarray, frame: float) -> None:
    """Writes the vertices' offsets (float32[n, 3], object space) for a frame, as Scene Time counts it."""
    flat, frames = (
        np.ascontiguousarray(offsets, dtype=np.float32).ravel(),
        np.full(len(offsets), frame, dtype=np.float32),
    )
    if is_held(obj):
        mesh, vectors = _own_holder(obj, len(offsets)).data, "position"
    else:
        mesh, vectors = obj.data, OFFSET
        for name, kind in ((OFFSET, "FLOAT_VECTOR"), (FRAME, "FLOAT")):
            if name not in mesh.attributes:
                with keep_active_attribute(mesh):
                    mesh.attributes.new(name, kind, "POINT")
    mesh.attributes[vectors].data.foreach_set("vector", flat)
    mesh.attributes[FRAME].data.foreach_set("value", frames)


def update_tag(obj: bpy.types.Object) -> None:
    """Lets Blender evaluate the object anew after a change of its offsets."""
    holder = holder_of(obj) if is_held(obj) else None
    if holder is not None:
        holder.data.update_tag()
    elif not is_held(obj):
        obj.data.update_tag()


def is_written(obj: bpy.types.Object) -> bool:
    """Returns whether an object has offsets, whatever their frame."""
    if is_held(obj):
        holder = holder_of(obj)
        return holder is not None and len(holder.data.vertices) > 0
    return any(name in obj.data.attributes for name in ATTRIBUTES)


def written(obj: bpy.types.Object) -> tuple[np.ndarray, float] | None:
    """Returns the offsets float32[n, 3] of an object, and their frame; None where it has none."""
    if is_held(obj):
        holder = holder_of(obj)
        mesh, vectors = (None if holder is None else holder.data), "position"
    else:
        mesh, vectors = obj.data, OFFSET
    offset, frame = (None if mesh is None else mesh.attributes.get(name) for name in (vectors, FRAME))
    if offset is None or frame is None or not len(offset.data):
        return None
    return numbers(offset.data, "vector", 3), float(frame.data[0].value)


def remove(obj: bpy.types.Object) -> None:
    """Removes the offsets of an object; a holder stays, without points."""
    if is_held(obj):
        holder = holder_of(obj)
        if holder is not None and len(holder.data.vertices):
            holder.data.clear_geometry()
            holder.data.update_tag()
        return
    attributes = obj.data.attributes
    with keep_active_attribute(obj.data, obj.thew.made.found_attribute):
        for name in (*ATTRIBUTES, *FORMER_ATTRIBUTES):
            attribute = attributes.get(name)
            if attribute is not None:
                attributes.remove(attribute)


# holders ------------------------------------------------------------------------------------------------------------


def holder_of(obj: bpy.types.Object, mine: bpy.types.Modifier | None = None) -> bpy.types.Object | None:
    """Returns the holder that an object shows; None where it has none. `mine`: Thew's modifier, where none is noted."""
    modifier, name = _input_of(obj) if mine is None else (mine, holder_input(mine.node_group))
    return input_object(modifier, name) if name else None


def ensure_holder(obj: bpy.types.Object) -> bpy.types.Object | None:
    """Returns the holder of an object, made where it is missing; None where no modifier could read it."""
    if not _input_of(obj)[1]:
        return None
    kept = holder_of(obj)
    return _own_holder(obj, 0 if kept is None else len(kept.data.vertices))


def forget_holder(obj: bpy.types.Object) -> None:
    """Lets go of an object's holder, and removes all holders without a user."""
    modifier, name = _input_of(obj)
    if name and input_object(modifier, name) is not None:
        set_input_object(modifier, name, None)
    remove_unused()


def remove_unused() -> None:
    """Removes holders that no modifier uses any more, as after a character was deleted."""
    for holder in [each for each in bpy.data.objects if is_holder(each) and each.library is None and not each.users]:
        mesh = holder.data
        bpy.data.objects.remove(holder)
        if mesh is not None and not mesh.users:
            bpy.data.meshes.remove(mesh)


def is_holder(obj: bpy.types.Object) -> bool:
    """Returns whether an object was made here to hold offsets."""
    return obj.type == "MESH" and HOLDER_MARK in obj.keys()


def _input_of(obj: bpy.types.Object) -> tuple[bpy.types.Modifier | None, str]:
    """Returns Thew's modifier and the identifier of its input for the holder, "" where it has none that belongs to this file."""
    modifier = modifier_by_id(obj, obj.thew.made.modifier)
    if modifier is None or modifier.type != "NODES" or not is_local_modifier(obj, modifier):
        return modifier, ""
    return modifier, holder_input(modifier.node_group)


def _is_shared(holder: bpy.types.Object, obj: bpy.types.Object) -> bool:
    """Returns whether another object shows a holder too. More than one user says little: 5.2 counts its own copies while it saves."""
    if holder.users < 2:
        return False
    others = (each for each in bpy.data.objects if each != obj and each.type == "MESH")
    return any(holder_of(each) == holder for each in others)


def _own_holder(obj: bpy.types.Object, count: int) -> bpy.types.Object:
    """Returns the holder of an object alone, with so many points; one that a copy of the object shows too is left to that."""
    modifier, name = _input_of(obj)
    holder = input_object(modifier, name)
    if holder is None or holder.library is not None or not is_holder(holder) or _is_shared(holder, obj):
        holder = bpy.data.objects.new(f"Thew {obj.name}", bpy.data.meshes.new(f"Thew {obj.name}"))
        holder[HOLDER_MARK] = True
        set_input_object(modifier, name, holder)
        modifier.node_group = (
            modifier.node_group
        )  # Blender 5.0 looks for the objects that it depends on after this alone
    mesh = holder.data
    if len(mesh.vertices) != count or FRAME not in mesh.attributes:
        mesh.clear_geometry()
        mesh.vertices.add(count)
        mesh.attributes.new(FRAME, "FLOAT", "POINT")
    return holder
