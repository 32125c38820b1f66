# SPDX-License-Identifier: GPL-3.0-or-later
"""Riders: clothes, eyes and hair that ride on a body, without a lattice or motion of their own.

The offsets of the body's skin, in playback, while the artist poses, or in a render, also move what lies over it: see `logic.layers`. A rider
is written together with its body, and its node tree maps the offsets from the body's object space into its own, wherever the two
stand at that frame. So a rider may be skinned, or merely hang on a bone.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ..logic import layers
from ..logic.digests import digest_of
from ..logic.errors import Refusal
from ..logic.extents import check_coordinates
from ..logic.names import describe
from ..logic.sentences import join_words
from ..logic.spaces import is_singular, transform
from ..logic.states import UNREAD_CONDITION, Condition, Event, Mesh
from ..saved.units import length
from ..scene import libraries, modifier, reading
from ..scene.character import world_matrix
from ..scene.mesh import active_attribute, basis_positions, numbers
from ..scene.own_skin import own_group_names, read_groups
from ..scene.poses import bone_matrix
from . import skin
from .events import report_event
from .registers import Register

#: Modifiers that add vertices, whose offsets they interpolate from the old ones.
VERTEX_ADDING_MODIFIERS = {"BEVEL", "EDGE_SPLIT", "MASK", "SOLIDIFY", "SUBSURF", "TRIANGULATE"}
#: Distance from the skin, as a part of the body's size, beyond which a mesh counts as off the body. About half a metre for a
#: person: clothes, hats and things in hands begin nearer.
MAX_SKIN_DISTANCE = 0.25
#: Constraints that carry an object along with their target.
CARRYING_CONSTRAINTS = {"CHILD_OF", "COPY_TRANSFORMS", "COPY_LOCATION", "PIVOT"}


@dataclass
class Rider:
    """State of one rider between two frames."""

    condition: Condition = UNREAD_CONDITION  # changed by `events.report_event` alone
    layer: layers.SkinLayer | None = None
    key: tuple = ()
    problem: str = ""


register = Register(Rider, lambda obj: obj.thew.made.rides)


def riders_of(body: bpy.types.Object) -> list[bpy.types.Object]:
    """Returns the riders of a body."""
    return [obj for obj in register.all_objects() if obj.thew.body == body]


def is_shown(obj: bpy.types.Object) -> bool:
    """Returns whether a rider follows its body: switched on, not playing its own bake, not being edited."""
    settings = obj.thew
    return settings.enabled and not settings.made.shows_bake and obj.mode not in {"EDIT", "SCULPT"}


# display -------------------------------------------------------------------------------------------------------------


def follow(body: bpy.types.Object, flesh, offsets: np.ndarray, frame: float) -> None:
    """Shows the body's `offsets` at `frame` on all of its riders: float32[n, 3], the body's object space."""
    for obj in riders_of(body):
        if not is_shown(obj):
            continue
        try:
            layer = binding_of(obj, body, flesh)
        except Refusal as error:
            hide(obj)
            report_problem(obj, str(error))
            continue
        report_problem(obj, off_body_remark(obj, layer, flesh))
        skin.show(obj, register.state_of(obj), layer.offsets(offsets), frame)


def hide_all(body: bpy.types.Object) -> None:
    """Shows the plain skin of every rider of a body."""
    for obj in riders_of(body):
        hide(obj)


def hide(obj: bpy.types.Object) -> None:
    """Shows a rider's plain skin."""
    skin.clear(obj, register.state_of(obj))


def report_problem(obj: bpy.types.Object, problem: str) -> None:
    """Stores a problem with a rider, if it is new."""
    rider = register.state_of(obj)
    if rider.problem != problem or obj.thew.made.notes != problem:
        rider.problem = obj.thew.made.notes = problem


def off_body_remark(obj: bpy.types.Object, layer: layers.SkinLayer, flesh) -> str:
    """Returns a sentence for a rider that lies off its body; "" where it lies on it."""
    far = layer.distance / float(flesh.surface.size)
    if not len(far) or far.min() <= MAX_SKIN_DISTANCE:
        return ""
    gap = length(float(layer.distance.min()) / flesh.place.metres_per_unit)
    return f"{describe(obj)} lies {gap} away from its body at rest: it is probably not meant to ride there"


def binding_of(obj: bpy.types.Object, body: bpy.types.Object, flesh) -> layers.SkinLayer:
    """Returns the binding of the rider to the body at rest, computed again after a change of either."""
    rider, made = register.state_of(obj), obj.thew.made
    key = (body.session_uid, flesh.lattice_key, flesh.place.metres_per_unit, tuple(made.mesh_rest))
    if rider.layer is not None and rider.key[:4] == key and rider.condition.mesh is Mesh.READ:
        return rider.layer
    if obj.data.is_editmode:
        raise Refusal(f"{describe(obj)} is in edit mode: press Tab to leave it first")
    rest = basis_positions(obj.data).astype(np.float64)
    check_coordinates(rest, describe(obj))
    edges, weights = numbers(obj.data.edges, "vertices", 2, np.int32), weights_of(obj)
    key = (*key, digest_of(rest, edges, *([] if weights is None else [weights])))
    if rider.layer is None or rider.key != key:
        world = transform(flesh.bind_pose.armature_matrix @ np.array(made.mesh_rest).reshape(4, 4), rest)
        rider.layer = layers.layer(flesh.surface, flesh.place.points(world), edges, weights)
        rider.key = key
    modifier.renew_tree(obj, body)
    report_event(obj, rider, Event.MESH_READ)
    return rider.layer


def weights_of(obj: bpy.types.Object) -> np.ndarray | None:
    """Returns the bone weights of a rider's vertices, [m, b]; None where no Armature modifier and no single bone carries it."""
    found = reading.armature_modifier(obj)
    if found is None:
        body = reading.armature_of(obj.thew.body) if obj.thew.body is not None else None
        return np.ones((len(obj.data.vertices), 1)) if body is not None and carrying_bone_or_none(body, obj) else None
    bones = found.object.data.bones
    columns = [g for g, name in own_group_names(obj, found.object).items() if bones[name].use_deform]
    group, vertex, weight = read_groups(obj)
    weights = np.zeros((len(obj.data.vertices), max(len(obj.vertex_groups), 1)))
    weights[vertex, group] = weight
    weights = weights[:, columns]
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)


# getting on and off -----------------------------------------------------------------------------------------------------


def mount(obj: bpy.types.Object, body: bpy.types.Object, view_layer: bpy.types.ViewLayer) -> None:
    """Lets `obj` ride on `body`; raises a `Refusal` that says why it cannot, before any change."""
    check(obj, body)
    armature = reading.armature_modifier(body)
    if armature is None or armature.object is None:
        raise Refusal(
            f"The Armature modifier that the flesh of {describe(body)} followed is gone: press Add Flesh there"
        )
    view_layer.update()
    rest = rest_map(armature.object, obj)
    own = reading.armature_modifier(obj)
    if own is not None:
        modifier.check_place(obj, own)
    settings, made = obj.thew, obj.thew.made
    if not made.rides:
        made.found_attribute = active_attribute(obj.data)
        settings.body, settings.enabled, made.shows_bake = body, True, False
    made.rides = True
    made.mesh_rest = tuple(rest.ravel().tolist())
    if settings.body != body:
        settings.body = body
    modifier.insert(obj, own, body)
    switch(obj)
    register.forget(obj)


def check(obj: bpy.types.Object, body: bpy.types.Object | None) -> None:
    """Refuses an object that cannot ride on `body`."""
    reading.check_editable(obj)
    name = describe(obj)
    if body is None or body.type != "MESH" or not body.thew.made.flesh:
        raise Refusal(
            f"{name} needs a body to ride on: make the mesh with flesh the active object, with {name} selected too"
        )
    if obj == body:
        raise Refusal(f"{name} cannot ride on itself: select clothes or eyes too, and the body last")
    if obj.thew.made.flesh or obj.thew.made.keyframed:
        raise Refusal(
            f"{name} has flesh of its own: press Remove Flesh there first, if it should ride on {describe(body)}"
        )
    reading.check_unshared(obj, "be moved along")
    if len(obj.data.vertices) == 0:
        raise Refusal(libraries.missing_text(obj) or f"{name} has no vertices: there is nothing to ride")
    found = reading.armature_modifier(obj)
    for other in obj.modifiers:
        if found is not None and other == found:
            break
        passes = found is None and other.type in VERTEX_ADDING_MODIFIERS
        if other.type in reading.REBUILDING_MODIFIERS and not passes and (other.show_viewport or other.show_render):
            where = reading.modifier_remedy(other) if found is not None else "apply it, or remove it"
            raise Refusal(f"The modifier “{other.name}” of {name} makes or removes vertices: {where}")


def rest_map(armature: bpy.types.Object, obj: bpy.types.Object) -> np.ndarray:
    """Returns the map [4, 4] from an object's space to the armature's, both at rest."""
    world, mine = world_matrix(armature), world_matrix(obj)
    here = np.linalg.solve(world, mine)
    found = reading.armature_modifier(obj)
    if found is not None:
        if found.object != armature:
            raise Refusal(
                f"{describe(obj)} is moved by {describe(found.object)}, but its body by {describe(armature)}: "
                "choose the same armature in its Armature modifier"
            )
        return here
    bone = carrying_bone(armature, obj)
    if not bone:
        return here
    posed = bone_matrix(armature, bone)
    if is_singular(posed):
        raise Refusal(f"The bone “{bone}” of {describe(armature)} is scaled to zero: give it a scale first")
    return np.array(armature.data.bones[bone].matrix_local, dtype=np.float64) @ np.linalg.solve(posed, here)


def carrying_bone(armature: bpy.types.Object, obj: bpy.types.Object) -> str:
    """Returns the bone that carries an object without Armature modifier, "" for the whole armature; refuses an object that neither
    carries.
    """
    here = obj
    while here is not None:
        for constraint in here.constraints:
            if constraint.type in CARRYING_CONSTRAINTS and constraint.target == armature and not constraint.mute:
                return constraint.subtarget if constraint.subtarget in armature.pose.bones else ""
            if constraint.type == "ARMATURE" and not constraint.mute:
                bones = [each.subtarget for each in constraint.targets if each.target == armature]
                if bones and bones[0] in armature.pose.bones:
                    return bones[0]
        if here.parent == armature:
            hangs = here.parent_type == "BONE" and here.parent_bone in armature.pose.bones
            return here.parent_bone if hangs else ""
        here = here.parent
    raise Refusal(
        f"Nothing of {describe(armature)} moves {describe(obj)}: give it an Armature modifier, or parent it to a bone"
    )


def is_carried(armature: bpy.types.Object, obj: bpy.types.Object) -> bool:
    """Returns whether an armature moves an object, by weights or as a whole."""
    found = reading.armature_modifier(obj)
    if found is not None:
        return found.object == armature
    try:
        carrying_bone(armature, obj)
    except Refusal:
        return False
    return True


def carrying_bone_or_none(armature: bpy.types.Object, obj: bpy.types.Object) -> str:
    """Returns the bone of `carrying_bone`, but "" where nothing of the armature moves the object."""
    try:
        return carrying_bone(armature, obj)
    except Refusal:
        return ""


def switch(obj: bpy.types.Object) -> None:
    """Switches a rider's modifier and baked keys to match its settings."""
    if not skin.switch(obj):
        hide(obj)


def dismount(obj: bpy.types.Object) -> list[str]:
    """Restores a rider to its state before it rode, baked keys kept and muted; returns notes for the artist."""
    return skin.remove_thew(obj, "its armature moves it again")


def dismount_all(body: bpy.types.Object) -> list[str]:
    """Dismounts every rider of a body; returns notes for the artist."""
    riders = list(riders_of(body))
    notes = [text for obj in riders for text in dismount(obj)]
    if riders:
        names = [describe(obj) for obj in riders]
        verb = "shows its" if len(names) == 1 else "show their"
        notes.append(f"{join_words(names)} rode on {describe(body)} and {verb} plain skin again")
    return notes
