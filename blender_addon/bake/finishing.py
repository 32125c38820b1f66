# SPDX-License-Identifier: GPL-3.0-or-later
"""Finish Bake: keeps the keys and removes everything that made them, so that the character exports as it is seen.

In rest space the armature goes on bending the skin. In posed space the keys hold its motion too: the Armature modifier
is removed, and an armature that deforms as a parent only carries the mesh from then on. Other modifiers whose effect
the keys hold are removed with it. The keys' curves move into the action of the armature, if Blender has actions for
several objects. Exporters then write one animation even where this extension is not installed (`gltf`).
"""

from __future__ import annotations

import bpy

from ..live import keyframed, registers, riding
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import join_words, plural
from ..saved import bakes as saved_bakes
from ..saved.additions import reset
from ..scene import bakes, flesh_map, key_playing, modifier, reading, stack, writing
from . import clips, export_check


def finish_bake(obj: bpy.types.Object) -> list[str]:
    """Completes the bake of `obj`. Returns sentences about what was done, without full stops, a summary first."""
    reading.check_editable(obj)
    saved_bakes.migrate(obj)
    made, name, bake = obj.thew.made, describe(obj), saved_bakes.playing(obj)
    keys = writing.keys_of(obj, bake) if bake is not None else []
    boned = bakes.moves_bones(bake) and bool(bakes.describe_bake(obj, bake))
    if bake is not None and not (keys or boned) and bakes.describe_bake(obj, bake):
        raise Refusal(
            f"The bake “{bake.name}” of {name} plays from files, which Finish Bake leaves as they are: let a bake of shape keys play first (the dot "
            "beside its name)"
        )
    if not (keys or boned):
        raise Refusal(f"{name} has no bake to finish: press Bake first")
    posed = bake.space == "POSED"
    if not (made.flesh or made.rides or made.keyframed) and not (posed and export_check.skin_holders(obj)):
        raise Refusal(f"The bake of {name} is finished: nothing of Thew is left on it but the bake")
    armature = key_playing.moving_armature(obj)  # nothing may lead to it afterwards
    gone = [] if boned else modifiers_in_keys(obj, posed)
    names = [f"“{other.name}”" for other in gone]
    uids = [other.persistent_uid for other in gone]
    worn = list(riding.riders_of(obj))
    kept = flesh_map.remove_unpainted(obj, reading.armature_of(obj)) if made.flesh else []
    modifier.remove(obj)
    for uid in uids:
        obj.modifiers.remove(modifier.modifier_by_id(obj, uid))
    carried = posed and obj.parent is not None and obj.parent_type == "ARMATURE"
    if carried:
        obj.parent_type = "OBJECT"
    if made.keyframed:
        keyframed.remove(obj, finished=True)
    reset(obj, keep_rigs=True, keep_bake=True)
    registers.forget(obj)
    bakes.show(obj, True)
    bake = saved_bakes.playing(obj)
    action = clips.scene_action(obj) if armature is not None else None
    joined = action is not None and writing.join_action(obj, bake, action)
    key_playing.follow(obj)
    wrong = export_check.check(obj)
    what = bakes.describe_bake(obj, bake) if boned else plural(len(keys), "key")
    sentences = [f"{name} plays its {what}{'' if wrong else ', ready to export'}", *wrong]
    if names:
        were, they = ("was", "it") if len(names) == 1 else ("were", "they")
        sentences.append(f"{join_words(names)} {were} removed, as the keys hold what {they} did")
    if carried:
        sentences.append(f"The parent “{obj.parent.name}” only carries {name} now")
    if not posed and armature is not None:
        sentences.append(f"The armature goes on bending {name}")
    if joined:
        sentences.append(f"The keys play from the action “{action.name}”, as one animation with the bones")
    finished = [other for other in worn if writing.baked_keys(other) or bakes.moves_bones(saved_bakes.playing(other))]
    for other in finished:
        kept += finish_bake(other)
    for other in set(worn) - set(finished):
        kept += riding.dismount(other)
        kept.append(f"{describe(other)} rode along without a bake and shows its plain skin again")
    return sentences + kept


def modifiers_in_keys(obj: bpy.types.Object, posed: bool) -> list[bpy.types.Modifier]:
    """Returns the modifiers whose effect the keys hold: they must not act on top of them.

    If the flesh was removed before, nothing distinguishes them: in posed space these are then the Armature modifiers.
    """
    made = obj.thew.made
    armature = modifier.modifier_by_id(obj, made.armature_modifier)
    if (made.flesh or made.rides) and armature is not None:
        return stack.modifiers_in_bake(obj, armature, "POSED" if posed else "REST")
    return [other for other in obj.modifiers if other.type == "ARMATURE"] if posed else []
