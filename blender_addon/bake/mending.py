# SPDX-License-Identifier: GPL-3.0-or-later
"""Remedies of the traps of exports, each in one press: they change the scene, or the settings of the exporter's open dialog."""

from __future__ import annotations

from collections.abc import Callable, Generator

import bpy

from ..live import riding
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import plural
from ..logic.tasks import Task, span
from ..saved import bakes as saved_bakes
from ..scene import animation, bakes, helper_playing, key_playing, writing
from . import (
    baking,
    clips,
    export_check,
    fbx_traps,
    fewer_keys,
    finishing,
    joining,
    key_traps,
    remaking,
    showing,
    targets,
)
from .traps import ExportSettings, armature_modifiers, clip_ranges, muted_keys, played_range

#: A remedy: `(mesh, scene, view layer)` gives what was done, or the task that does it.
Remedy = Callable[[bpy.types.Object, bpy.types.Scene, bpy.types.ViewLayer], str | list[str] | Task]


def mend(
    key: str, obj: bpy.types.Object, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer, settings: ExportSettings
) -> Task:
    """Builds the task that mends the trap `key` of a mesh. Returns what was done, in one sentence or several."""
    found = export_check.find_traps(scene.objects, settings)
    trap = next((trap for trap in found if trap.key == key and trap.obj == obj), None)
    if trap is None:
        raise Refusal(f"The check before exports finds nothing like “{key}” on {describe(obj)}: look at it again")
    if trap.change:
        if not settings.known:
            raise Refusal(f"The exporter's settings are not open: choose {settings.format} in File > Export")
        for name, value in trap.change.items():
            settings.set(name, value)
        return f"The settings of {settings.format} are changed for {describe(obj)}: {trap.remedy}"
    if key not in REMEDIES:
        raise Refusal(f"{trap.text}: no button can do that")
    done = REMEDIES[key](obj, scene, view_layer)
    if isinstance(done, Generator):
        done = yield from done
    return done


def show_or_bake(obj: bpy.types.Object, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> Task:
    """Shows the kept bake of live flesh, or bakes it."""
    if export_check.keyed_bake(obj) is not None:
        return show_keys(obj, scene)
    result = yield from baking.bake(obj, scene, view_layer)
    return [*result.details, result.message(obj)]


def show_keys(obj: bpy.types.Object, scene: bpy.types.Scene) -> str:
    """Lets a bake of shape keys play, which exporters hold."""
    bake = export_check.keyed_bake(obj)
    for each in [obj, *(riding.riders_of(obj) if obj.thew.made.flesh else ())]:
        saved_bakes.choose(each, saved_bakes.named(each, bake.name) or saved_bakes.playing(each))
    showing.show_bakes(obj, scene, True)
    return f"{describe(obj)} plays its bake “{bake.name}”"


def replace_cache(obj: bpy.types.Object, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> Task:
    """Lets shape keys play in place of a point cache: those of another bake, or the same clips as Compressed Keys."""
    if export_check.keyed_bake(obj) is not None:
        return show_keys(obj, scene)
    form = {"kind": "COMPRESSED", "name": "", "space": None, "tolerance": None}
    result = yield from remaking.bake_again(obj, scene, view_layer, saved_bakes.playing(obj), **form)
    return [*result.details, result.message(obj)]


def bake_compressed(obj: bpy.types.Object, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> Task:
    """Bakes all clips of the present bake as Compressed Keys of the usual error, which play then; the present bake stays, muted."""
    label = targets.target_by_key("COMPRESSED").label
    name = label if saved_bakes.named(obj, label) is None else joining.beside(obj, label)
    bake = saved_bakes.playing(obj)
    if fewer_keys.is_whole(obj, bake):
        result = yield from fewer_keys.compress(obj, scene, bake, name, key_traps.USUAL_TOLERANCE)
    else:
        form = {"kind": "COMPRESSED", "name": name, "tolerance": None, "regions": 1}
        result = yield from remaking.bake_again(obj, scene, view_layer, bake, **form)
    return [*result.details, result.message(obj)]


def bake_all_actions(obj: bpy.types.Object, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> Task:
    """Bakes every action of the armature into the present bake, in its form."""
    bake = saved_bakes.playing(obj)
    form = remaking.form_of(bake) | ({"anew": True} if bakes.moves_bones(bake) else {})
    result = yield from baking.bake(obj, scene, view_layer, target_key=bake.kind, clips="ALL", **form)
    return [*result.details, result.message(obj)]


def replace_frame_keys(obj: bpy.types.Object, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> Task:
    """Bakes all clips of the present bake as Compressed Keys if it holds a key a frame, and removes all bakes that do."""
    said = []
    if saved_bakes.playing(obj).kind == key_traps.FRAME_KEYS:
        said = yield from bake_compressed(obj, scene, view_layer)
    for each in [obj, *joining.riders(obj)]:
        for name in [bake.name for bake in each.thew.bakes if bake.kind == key_traps.FRAME_KEYS]:
            bakes.remove_bake(each, name)
    return [f"The keys of each frame of {describe(obj)} are gone", *said]


def finish(obj: bpy.types.Object, _scene, _view_layer) -> list[str]:
    """Finishes the bake."""
    return list(reversed(finishing.finish_bake(obj)))


def bake_posed(obj: bpy.types.Object, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> Task:
    """Bakes all clips of the present bake anew, flesh and bones, and finishes it."""
    bake, changes = saved_bakes.playing(obj), {"space": "POSED", "replace": True}
    if bakes.moves_bones(bake):  # shape keys hold what bones cannot
        changes |= {"kind": targets.TARGETS[0].key, "name": ""}
    task = remaking.bake_again(obj, scene, view_layer, bake, **changes)
    yield from span(task, 0.0, 1.0)
    return finish(obj, scene, view_layer)


def play_baked_action(obj: bpy.types.Object, _scene, _view_layer) -> str:
    """Lets the armature play the first action of the bake."""
    armature, action = key_playing.moving_armature(obj), clip_ranges(obj)[0][0]
    data = armature.animation_data or armature.animation_data_create()
    if data.is_property_readonly("action"):
        raise Refusal(f"{describe(armature)} is in tweak mode: leave it first (Tab in the NLA editor)")
    slots = animation.slots_of(action, "OBJECT")
    animation.assign(data, action, slots[0] if slots else None)
    key_playing.follow_shown(obj)
    helper_playing.follow(obj)
    if clips.mismatch_warning(obj):
        raise Refusal(
            f"{describe(armature)} has “{action.name}” active and plays something else: end the solo of its NLA tracks"
        )
    return f"{describe(armature)} plays “{action.name}”"


def set_pose_position(obj: bpy.types.Object, _scene, _view_layer) -> str:
    """Lets the armature follow its poses."""
    armature = key_playing.moving_armature(obj)
    armature.data.pose_position = "POSE"
    return f"{describe(armature)} is in Pose Position"


def key_ends(obj: bpy.types.Object, scene: bpy.types.Scene, _view_layer) -> str:
    """Keys the mesh at the ends of its bake, so that it has an action. Its Pass Index moves nothing."""
    frames = played_range(obj) or (scene.frame_start, scene.frame_end)
    for frame in frames:
        obj.keyframe_insert("pass_index", frame=frame)
    return f"{describe(obj)} has its Pass Index keyed at frames {frames[0]} and {frames[1]}, which moves nothing"


def link_materials(obj: bpy.types.Object, _scene, _view_layer) -> str:
    """Links the materials of a mesh to it, and not to the object."""
    linked = [slot for slot in obj.material_slots if slot.link == "OBJECT"]
    for slot in linked:
        material = slot.material
        slot.link = "DATA"
        slot.material = material
    return (
        f"{plural(len(linked), 'material')} of {describe(obj)} {'is' if len(linked) == 1 else 'are'} linked to the mesh"
    )


def set_action_range(obj: bpy.types.Object, _scene, _view_layer) -> list[str]:
    """Gives the actions of the bake manual frame ranges that hold their clips."""
    done = []
    for action, first, last in clip_ranges(obj):
        start, end = action.frame_range
        if not fbx_traps.holds_clip(start, end, first, last):
            wanted = fbx_traps.range_for(start, end, first, last)
            action.use_frame_range = True
            action.frame_start, action.frame_end = wanted
            done.append(f"The action “{action.name}” has the frames {wanted[0]:g} to {wanted[1]:g}")
    return done


def set_scene_range(obj: bpy.types.Object, scene: bpy.types.Scene, _view_layer) -> str:
    """Gives the scene the frames of the clip that plays."""
    scene.frame_start, scene.frame_end = played_range(obj)
    return f"The scene plays frames {scene.frame_start} to {scene.frame_end}"


def silence_muted(obj: bpy.types.Object, _scene, _view_layer) -> str:
    """Mutes the curves of muted baked keys, which are off from then on for exporters too."""
    muted = muted_keys(obj)
    writing.silence_curves(obj, [key.name for key in muted], True)
    for key in muted:
        key.value = 0.0
    return f"{plural(len(muted), 'key')} of {describe(obj)} are silent; Show Bake lets them play again"


def set_whole_rate(_obj, scene: bpy.types.Scene, _view_layer) -> str:
    """Rounds the frame rate of the scene to a whole number."""
    render = scene.render
    before = render.fps / render.fps_base
    render.fps, render.fps_base = max(1, round(before)), 1.0
    return f"The scene plays {render.fps} frames a second, before {before:.5g}"


def bring_armature(obj: bpy.types.Object, scene: bpy.types.Scene, _view_layer) -> str:
    """Selects and shows the armatures of a mesh, so that exporters write them too."""
    names = []
    for armature in {modifier.object for modifier in armature_modifiers(obj)}:
        if armature.name not in scene.objects:
            raise Refusal(f"{describe(armature)} is not in this scene: link it to a collection of it")
        armature.hide_viewport = armature.hide_render = False
        armature.hide_set(False)
        armature.select_set(obj.select_get() or armature.select_get())
        names.append(describe(armature))
    return f"{' and '.join(sorted(names))} leaves with {describe(obj)}"


REMEDIES: dict[str, Remedy] = {
    "live": show_or_bake,
    "cache": replace_cache,
    "texture": replace_cache,
    "unbaked": bake_all_actions,
    "split": bake_all_actions,
    "gltf_targets": bake_compressed,
    "many_keys": replace_frame_keys,
    "posed_skin": finish,
    "armatures": bake_posed,
    "preserve_volume": bake_posed,
    "bendy_bones": bake_posed,
    "skin_mask": bake_posed,
    "mismatch": play_baked_action,
    "rest_position": set_pose_position,
    "fbx_action": key_ends,
    "fbx_materials": link_materials,
    "action_range": set_action_range,
    "scene_range": set_scene_range,
    "muted_keys": silence_muted,
    "gltf_rate": set_whole_rate,
    "armature_left": bring_armature,
}

#: What the remedies do, for tooltips.
DESCRIPTIONS = {
    "live": "Let the baked keys play instead of the live flesh; bake it where there is no bake",
    **dict.fromkeys(("unbaked", "split"), "Bake every action of the armature into this bake, in its form"),
    "texture": "Let shape keys play, for engines that do not play the texture: those of another bake, or new Compressed Keys of the same clips",
    "cache": "Let shape keys play, which exporters hold: those of another bake, or new Compressed Keys of the same clips",
    "gltf_targets": "Bake the same clips within 2 mm: a few keys for all frames. The present bake stays in the list, muted",
    "many_keys": "Bake the same clips within 2 mm, a few keys for all frames, and remove the bakes of a key a frame",
    "posed_skin": "Keep the baked keys and remove the flesh and whatever would deform the mesh a second time",
    **dict.fromkeys(
        ("armatures", "preserve_volume", "bendy_bones", "skin_mask"),
        "Write the motion of the skin into the keys too, and remove the flesh and the Armature modifier",
    ),
    "mismatch": "Make the action active that was baked",
    "rest_position": "Let the armature follow its poses",
    "fbx_action": "Key the Pass Index of the mesh, which moves nothing, at the first and the last baked frame",
    "fbx_materials": "Link the materials to the mesh instead of the object",
    "action_range": "Give the action a manual frame range that holds the bake",
    "scene_range": "Let the scene play the frames of the bake",
    "muted_keys": "Mute the curves of the keys that do not play",
    "gltf_rate": "Round the frame rate of the scene",
    "armature_left": "Let the armature leave together with the mesh",
}
