# SPDX-License-Identifier: GPL-3.0-or-later
"""The deformer: a Geometry Nodes modifier right behind the Armature modifier, which stays as the artist has it.

It adds the attribute `thew_offset` (object space) to every vertex, if the attribute `thew_frame` names the evaluated frame. At
other frames the plain skin shows: in a file just opened, a character linked from another file, a render that could not be served.

Modifiers are identified by their persistent ids, so that renaming and moving them is harmless. One node tree, made here, serves
every object of a file.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from . import tension_nodes
from .mesh import keep_active_attribute, numbers
from .reading import armature_modifier
from .stack import chain_end, modifier_by_id, noted_ids, restore, set_switches

OFFSET = "thew_offset"
FRAME = "thew_frame"
ATTRIBUTES = (OFFSET, FRAME)
#: Attributes of earlier versions: the shape itself, in place of the Armature modifier, and helpers that let shape keys show.
FORMER_ATTRIBUTES = ("thew_position", "thew_rest", "thew_x", "thew_y", "thew_z")
NAME = "Thew"
#: Custom property of the node trees made here; its value is the version of their layout.
TREE_MARK = "thew_tree"
TREE_LAYOUT = 4
#: First layout whose modifier stands behind the Armature modifier.
FIRST_PLACED_LAYOUT = 3
#: Layout of trees for riders; from 100 on, to tell them apart.
RIDER_LAYOUT = 104
#: Frames nearer than this are one. Blender merges keyframes that are as near.
FRAME_TOLERANCE = 0.01


# Thew's own modifier ------------------------------------------------------------------------------------------------


def ensure_modifier(obj: bpy.types.Object) -> bpy.types.Modifier:
    """Returns Thew's modifier, made last in the stack where the object has none."""
    made = obj.thew.made
    if modifier_by_id(obj, made.modifier) is None:
        active = obj.modifiers.active
        made.found_active = active.persistent_uid if active else 0
        made.modifier = obj.modifiers.new(NAME, "NODES").persistent_uid
    return modifier_by_id(obj, made.modifier)


def set_up(modifier: bpy.types.Modifier, body: bpy.types.Object | None = None) -> None:
    """Gives Thew's modifier its node tree, folded and out of the way of edit mode; `body`: see `insert`."""
    modifier.node_group = tree(body, modifier.id_data.thew.store_tension)
    modifier.show_expanded = False
    modifier.show_in_editmode = False


def insert(
    obj: bpy.types.Object, after: bpy.types.Modifier | None, body: bpy.types.Object | None = None
) -> bpy.types.Modifier:
    """Places Thew's modifier right behind the Armature modifier `after`; an existing one is moved.

    `body`: the body that the object rides on; only then `after` may be None, and the modifier stands last.
    """
    made = obj.thew.made
    made.armature_modifier = after.persistent_uid if after is not None else 0
    set_up(ensure_modifier(obj), body)
    if after is not None:
        _place_behind(obj, made.modifier, chain_end(obj, modifier_by_id(obj, made.armature_modifier)).persistent_uid)
    return modifier_by_id(obj, made.modifier)


def insert_first(obj: bpy.types.Object) -> bpy.types.Modifier:
    """Places Thew's modifier before all others, where shape keys act; an existing one is moved.

    Raises a `Refusal` where Blender does not allow that place, and leaves no trace.
    """
    new = modifier_by_id(obj, obj.thew.made.modifier) is None
    ensure_modifier(obj)
    try:
        obj.modifiers.move(_index(obj, obj.thew.made.modifier), 0)
    except RuntimeError as error:
        refusal = no_place_refusal(obj)
        if new:
            remove(obj)
        raise refusal from error
    modifier = modifier_by_id(obj, obj.thew.made.modifier)
    set_up(modifier)
    return modifier


def add_first(obj: bpy.types.Object, name: str) -> bpy.types.Modifier:
    """Makes a modifier of nodes before all others, folded and switched off; the active one stays active.

    Raises a `Refusal` where Blender does not allow that place, and leaves no trace.
    """
    active = obj.modifiers.active
    active = active.persistent_uid if active is not None else 0
    uid = obj.modifiers.new(name, "NODES").persistent_uid
    try:
        obj.modifiers.move(len(obj.modifiers) - 1, 0)
    except RuntimeError as error:
        obj.modifiers.remove(modifier_by_id(obj, uid))
        raise no_place_refusal(obj) from error
    if modifier_by_id(obj, active) is not None:
        obj.modifiers.active = modifier_by_id(obj, active)
    new = modifier_by_id(obj, uid)
    new.show_expanded = new.show_in_editmode = False
    set_switches(new, False, False)
    return new


def no_place_refusal(obj: bpy.types.Object) -> Refusal:
    """Returns the refusal for an object whose stack has no place for our deformer."""
    later = [m for m in obj.modifiers if m.type in ORIGINAL_DATA]
    which = f"The modifier “{later[0].name}”" if later else "A modifier"
    return Refusal(
        f"{which} of {describe(obj)} only works on the mesh itself, and Thew cannot stand before it: apply or remove it"
    )


def check_place(obj: bpy.types.Object, after: bpy.types.Modifier) -> None:
    """Refuses an object where Blender allows no deformer behind the Armature modifier; leaves no trace."""
    active, wanted = obj.modifiers.active, chain_end(obj, after).persistent_uid
    active = active.persistent_uid if active else 0
    trial = obj.modifiers.new(NAME, "NODES").persistent_uid
    try:
        _place_behind(obj, trial, wanted)
    except RuntimeError as error:
        raise no_place_refusal(obj) from error
    finally:
        obj.modifiers.remove(modifier_by_id(obj, trial))
        if modifier_by_id(obj, active) is not None:
            obj.modifiers.active = modifier_by_id(obj, active)


#: Modifiers that only the Armature modifier, of all deforming ones, may stand before.
ORIGINAL_DATA = {"SOFT_BODY", "MULTIRES", "PARTICLE_SYSTEM", "COLLISION"}


def splits_chain(obj: bpy.types.Object) -> bool:
    """Returns whether Thew's modifier parts Armature modifiers that Blender would otherwise evaluate as one."""
    mine, armature = modifier_by_id(obj, obj.thew.made.modifier), modifier_by_id(obj, obj.thew.made.armature_modifier)
    if mine is None or armature is None or armature.type != "ARMATURE":
        return False
    return (
        _index(obj, armature.persistent_uid)
        < _index(obj, mine.persistent_uid)
        < _index(obj, chain_end(obj, armature).persistent_uid)
    )


def _place_behind(obj: bpy.types.Object, uid: int, other: int) -> None:
    here, there = _index(obj, uid), _index(obj, other)
    obj.modifiers.move(here, there if here < there else there + 1)


def _index(obj: bpy.types.Object, uid: int) -> int:
    """Returns the index of the modifier with a persistent id: one that is pinned to the end lets none behind it."""
    return next(i for i, m in enumerate(obj.modifiers) if m.persistent_uid == uid)


def is_former_flesh(obj: bpy.types.Object) -> bool:
    """Returns whether the object's flesh was made by an earlier version, whose modifier showed the shape itself."""
    mine = modifier_by_id(obj, obj.thew.made.modifier)
    mark = mine.node_group.get(TREE_MARK, 0) if mine is not None and mine.node_group is not None else 0
    return isinstance(mark, int) and 0 < mark < FIRST_PLACED_LAYOUT


def migrate(obj: bpy.types.Object) -> None:
    """Moves a modifier of an earlier version behind the Armature modifier, which is switched on again."""
    found = armature_modifier(obj)
    if found is not None:
        restore(obj, found.persistent_uid)
        insert(obj, modifier_by_id(obj, obj.thew.made.armature_modifier))
    remove_attributes(obj)
    _remove_unused_trees()


def remove(obj: bpy.types.Object) -> None:
    """Removes Thew's modifier, its copies and attributes, and restores every switched modifier."""
    made = obj.thew.made
    for modifier in thew_modifiers(obj):
        obj.modifiers.remove(modifier)
    for uid in noted_ids(obj):
        restore(obj, uid)
    active = modifier_by_id(obj, made.found_active)
    if active is not None:
        obj.modifiers.active = active
    remove_attributes(obj)
    _remove_unused_trees()


def thew_modifiers(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """Returns all of Thew's modifiers of an object: the noted one, and those with a node tree of ours, such as copies."""
    made = obj.thew.made
    return [
        m for m in obj.modifiers if m.persistent_uid == made.modifier or (m.type == "NODES" and is_tree(m.node_group))
    ]


def note_modifier(obj: bpy.types.Object) -> None:
    """Notes Thew's modifier again where the noted id leads nowhere."""
    made, found = obj.thew.made, thew_modifiers(obj)
    if found and modifier_by_id(obj, made.modifier) is None:
        made.modifier = found[0].persistent_uid


def is_tree(group: bpy.types.NodeTree | None) -> bool:
    """Returns whether a node tree was made here."""
    return group is not None and TREE_MARK in group.keys()


def renew_tree(obj: bpy.types.Object, body: bpy.types.Object | None = None) -> None:
    """Gives the object's modifier the present node tree; an unused tree of another version is removed.

    `body`: the body that the object rides on.
    """
    mine = modifier_by_id(obj, obj.thew.made.modifier)
    if mine is None or mine.type != "NODES":
        return
    old, new = mine.node_group, tree(body, obj.thew.store_tension)
    if old == new:
        return
    mine.node_group = new
    # An unmarked tree in our modifier is ours too, unless it has an artist's name.
    unmarked = old is not None and TREE_MARK not in old.keys() and old.name.split(".")[0] == NAME
    if unmarked and old.users == 0 and old.library is None:
        bpy.data.node_groups.remove(old)
    _remove_unused_trees()


def _remove_unused_trees() -> None:
    for group in [g for g in bpy.data.node_groups if TREE_MARK in g.keys() and g.users == 0 and g.library is None]:
        bpy.data.node_groups.remove(group)


def tree(body: bpy.types.Object | None = None, tension: bool = False) -> bpy.types.NodeTree:
    """Returns the node tree, made if the file has none; `body`: the tree for its riders; `tension`: it stores the tension."""
    layout = layout_of(body, tension)
    for group in bpy.data.node_groups:
        if group.get(TREE_MARK) == layout and group.library is None and (body is None or ridden_body(group) == body):
            return group
    return make_tree(body, tension)


def layout_of(body: bpy.types.Object | None, tension: bool) -> int:
    """Returns the version of the layout of a tree."""
    return (TREE_LAYOUT if body is None else RIDER_LAYOUT) + (tension_nodes.TENSION_LAYOUT if tension else 0)


def ridden_body(group: bpy.types.NodeTree | None) -> bpy.types.Object | None:
    """Returns the body whose space a tree for riders uses."""
    node = group.nodes.get(BODY_NODE) if group is not None else None
    return node.inputs["Object"].default_value if node is not None else None


#: Name of the node that refers to the body, in a tree for riders.
BODY_NODE = "Body"


def make_tree(body: bpy.types.Object | None = None, tension: bool = False) -> bpy.types.NodeTree:
    """Builds a node tree that moves every vertex by its offset, if that belongs to this frame.

    `body`: offsets are in the object space of that object, wherever both stand at the moment. `tension`: it stores the tension.
    """
    group = bpy.data.node_groups.new(NAME, "GeometryNodeTree")
    group[TREE_MARK] = layout_of(body, tension)
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    nodes, links = group.nodes, group.links

    def place(kind: str, x: float, y: float):
        node = nodes.new(kind)
        node.location = (x, y)
        return node

    def attribute(name: str, kind: str, x: float, y: float):
        node = place("GeometryNodeInputNamedAttribute", x, y)
        node.data_type = kind
        node.inputs["Name"].default_value = name
        return node

    source, sink = place("NodeGroupInput", 0, 200), place("NodeGroupOutput", 650, 100)
    offset, frame = attribute(OFFSET, "FLOAT_VECTOR", 0, -300), attribute(FRAME, "FLOAT", -400, -100)
    now = place("GeometryNodeInputSceneTime", -400, 50)
    same, both = place("FunctionNodeCompare", -200, 0), place("FunctionNodeBooleanMath", 0, 0)
    same.data_type, same.operation, both.operation = "FLOAT", "EQUAL", "AND"
    move = place("GeometryNodeSetPosition", 300, 100)
    links.new(now.outputs["Frame"], same.inputs[0])
    links.new(frame.outputs["Attribute"], same.inputs[1])
    same.inputs["Epsilon"].default_value = FRAME_TOLERANCE
    links.new(same.outputs[0], both.inputs[0])
    links.new(frame.outputs["Exists"], both.inputs[1])
    plain = tension_nodes.store_plain(group, source.outputs[0]) if tension else source.outputs[0]
    links.new(plain, move.inputs["Geometry"])
    links.new(both.outputs[0], move.inputs["Selection"])
    vector = offset.outputs["Attribute"]
    if body is not None:
        space, turn = place("GeometryNodeObjectInfo", 0, -500), place("FunctionNodeTransformDirection", 200, -300)
        space.name, space.transform_space = BODY_NODE, "RELATIVE"
        space.inputs["Object"].default_value = body
        links.new(vector, turn.inputs["Direction"])
        links.new(space.outputs["Transform"], turn.inputs["Transform"])
        vector = turn.outputs["Direction"]
    links.new(vector, move.inputs["Offset"])
    # A copy of the modifier behind this one finds nothing to add.
    used = place("GeometryNodeRemoveAttribute", 450, 100)
    used.inputs["Name"].default_value = FRAME
    shown = tension_nodes.store_tension(group, move.outputs[0]) if tension else move.outputs[0]
    links.new(shown, used.inputs["Geometry"])
    links.new(used.outputs["Geometry"], sink.inputs[0])
    return group


# its attributes -----------------------------------------------------------------------------------------------------


def write(mesh: bpy.types.Mesh, offsets: np.ndarray, frame: float) -> None:
    """Writes the vertices' offsets (float32[n, 3], object space) for a frame, as Scene Time counts it."""
    for name, kind in ((OFFSET, "FLOAT_VECTOR"), (FRAME, "FLOAT")):
        if name not in mesh.attributes:
            with keep_active_attribute(mesh):
                mesh.attributes.new(name, kind, "POINT")
    mesh.attributes[OFFSET].data.foreach_set("vector", np.ascontiguousarray(offsets, dtype=np.float32).ravel())
    mesh.attributes[FRAME].data.foreach_set("value", np.full(len(offsets), frame, dtype=np.float32))


def written_offsets(mesh: bpy.types.Mesh) -> tuple[np.ndarray, float] | None:
    """Returns the offsets float32[n, 3] in the mesh, and their frame; None where it has none."""
    offset, frame = (mesh.attributes.get(name) for name in ATTRIBUTES)
    if offset is None or frame is None or not len(offset.data):
        return None
    return numbers(offset.data, "vector", 3), float(frame.data[0].value)


def remove_attributes(obj: bpy.types.Object) -> None:
    """Removes every attribute with which Thew shows flesh."""
    attributes = obj.data.attributes
    with keep_active_attribute(obj.data, obj.thew.made.found_attribute):
        for name in (*ATTRIBUTES, *FORMER_ATTRIBUTES):
            attribute = attributes.get(name)
            if attribute is not None:
                attributes.remove(attribute)
