# SPDX-License-Identifier: GPL-3.0-or-later
"""The deformer: a Geometry Nodes modifier right behind the Armature modifier, which stays as the artist has it.

It adds the stored offset (`offsets`, object space) to every vertex, if that belongs to the evaluated frame. At other frames the plain
skin shows: in a file just opened, a character linked from another file, a render that could not be served.

Modifiers are identified by their persistent ids, so that renaming and moving them is harmless. One node tree, made here, serves
every object of a file.
"""

from __future__ import annotations

import bpy

from ..logic.errors import Refusal
from ..logic.names import describe
from ..saved import overrides
from . import offset_nodes, offsets, tension_nodes
from .libraries import is_local_modifier
from .offset_nodes import FRAME
from .reading import armature_modifier
from .stack import chain_end, modifier_by_id, noted_ids, restore, set_switches

NAME = "Thew"
#: Custom property of the node trees made here; its value is the version of their layout.
TREE_MARK = "thew_tree"
TREE_LAYOUT = 4
#: First layout whose modifier stands behind the Armature modifier.
FIRST_PLACED_LAYOUT = 3
#: Layout of trees for riders; from 100 on, to tell them apart.
RIDER_LAYOUT = 104


# Thew's own modifier ------------------------------------------------------------------------------------------------


def ensure_modifier(obj: bpy.types.Object) -> bpy.types.Modifier:
    """Returns Thew's modifier, made last in the stack where the object has none."""
    made, known = obj.thew.made, modifier_by_id(obj, obj.thew.made.modifier)
    if known is None or not is_local_modifier(obj, known):
        active = obj.modifiers.active
        made.found_active = active.persistent_uid if active else 0
        made.modifier = obj.modifiers.new(NAME, "NODES").persistent_uid
    return modifier_by_id(obj, made.modifier)


def set_up(modifier: bpy.types.Modifier, body: bpy.types.Object | None = None) -> None:
    """Gives Thew's modifier its node tree, folded and out of the way of edit mode; `body`: see `insert`."""
    obj = modifier.id_data
    modifier.node_group = tree(body, obj.thew.store_tension, offsets.is_held(obj))
    modifier.show_expanded = False
    modifier.show_in_editmode = False


def insert(
    obj: bpy.types.Object, after: bpy.types.Modifier | None, body: bpy.types.Object | None = None
) -> bpy.types.Modifier:
    """Places Thew's modifier right behind the Armature modifier `after`; an existing one is moved.

    `body`: the body that the object rides on; only then `after` may be None, and the modifier stands last.
    """
    made = obj.thew.made
    overrides.make_editable(obj)
    made.armature_modifier = after.persistent_uid if after is not None else 0
    set_up(ensure_modifier(obj), body)
    if after is not None:
        _place_behind(obj, made.modifier, chain_end(obj, modifier_by_id(obj, made.armature_modifier)).persistent_uid)
    elif offsets.is_held(obj):
        # A holder has a point for each vertex of the mesh itself: modifiers that add more come behind.
        obj.modifiers.move(_index(obj, made.modifier), 0)
    overrides.note_modifiers(obj)
    return modifier_by_id(obj, made.modifier)


def adopt(obj: bpy.types.Object) -> None:
    """Gives an override of a character with flesh a modifier of its own: the library's reads attributes of the library's mesh."""
    body = obj.thew.body if obj.thew.made.rides else None
    insert(obj, armature_modifier(obj), body)


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
    offsets.remove(obj)
    _remove_unused_trees()


def remove(obj: bpy.types.Object) -> None:
    """Removes Thew's modifier, its copies and attributes, and restores every switched modifier."""
    made = obj.thew.made
    offsets.forget_holder(obj)
    for modifier in thew_modifiers(obj):
        obj.modifiers.remove(modifier)
    for uid in noted_ids(obj):
        restore(obj, uid)
    active = modifier_by_id(obj, made.found_active)
    if active is not None:
        obj.modifiers.active = active
    offsets.remove(obj)
    _remove_unused_trees()


def thew_modifiers(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """Returns all of Thew's modifiers of an object: the noted one, and those with a node tree of ours, such as copies.

    Those of an override's library are left out: they cannot be removed, and read attributes that no library's mesh has.
    """
    uid, own = obj.thew.made.modifier, (m for m in obj.modifiers if is_local_modifier(obj, m))
    return [m for m in own if m.persistent_uid == uid or (m.type == "NODES" and is_tree(m.node_group))]


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
    if not is_local_modifier(obj, mine):
        return
    old, new = mine.node_group, tree(body, obj.thew.store_tension, offsets.is_held(obj))
    if old == new:
        return
    if not offsets.is_held(obj):
        offsets.forget_holder(obj)
    kept = offsets.holder_of(obj)
    mine.node_group = new
    if kept is not None and offset_nodes.holder_input(new):
        offset_nodes.set_input_object(mine, offset_nodes.holder_input(new), kept)
    # An unmarked tree in our modifier is ours too, unless it has an artist's name.
    unmarked = old is not None and TREE_MARK not in old.keys() and old.name.split(".")[0] == NAME
    if unmarked and old.users == 0 and old.library is None:
        bpy.data.node_groups.remove(old)
    _remove_unused_trees()


def _remove_unused_trees() -> None:
    for group in [g for g in bpy.data.node_groups if TREE_MARK in g.keys() and g.users == 0 and g.library is None]:
        bpy.data.node_groups.remove(group)


def tree(body: bpy.types.Object | None = None, tension: bool = False, held: bool = False) -> bpy.types.NodeTree:
    """Returns the node tree, made if the file has none; its variants: see `make_tree`."""
    layout = layout_of(body, tension, held)
    for group in bpy.data.node_groups:
        if group.get(TREE_MARK) == layout and group.library is None and (body is None or ridden_body(group) == body):
            return group
    return make_tree(body, tension, held)


def layout_of(body: bpy.types.Object | None, tension: bool, held: bool = False) -> int:
    """Returns the version of the layout of a tree."""
    layout = TREE_LAYOUT if body is None else RIDER_LAYOUT
    return layout + tension * tension_nodes.TENSION_LAYOUT + held * offset_nodes.HOLDER_LAYOUT


def ridden_body(group: bpy.types.NodeTree | None) -> bpy.types.Object | None:
    """Returns the body whose space a tree for riders uses."""
    node = group.nodes.get(BODY_NODE) if group is not None else None
    return node.inputs["Object"].default_value if node is not None else None


#: Name of the node that refers to the body, in a tree for riders.
BODY_NODE = "Body"


def make_tree(body: bpy.types.Object | None = None, tension: bool = False, held: bool = False) -> bpy.types.NodeTree:
    """Builds a node tree that moves every vertex by its offset, if that belongs to this frame.

    `body`: offsets are in the object space of that object, wherever both stand at the moment. `tension`: it stores the tension.
    `held`: the offsets are in a holder, an input of the tree.
    """
    group = bpy.data.node_groups.new(NAME, "GeometryNodeTree")
    group[TREE_MARK] = layout_of(body, tension, held)
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    if held:
        offset_nodes.add_holder_input(group)
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    nodes, links = group.nodes, group.links

    def place(kind: str, x: float, y: float):
        node = nodes.new(kind)
        node.location = (x, y)
        return node

    source, sink = place("NodeGroupInput", 0, 200), place("NodeGroupOutput", 650, 100)
    move = place("GeometryNodeSetPosition", 300, 100)
    vector, is_current = offset_nodes.offset_sockets(group, source, held)
    plain = tension_nodes.store_plain(group, source.outputs[0]) if tension else source.outputs[0]
    links.new(plain, move.inputs["Geometry"])
    links.new(is_current, move.inputs["Selection"])
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
