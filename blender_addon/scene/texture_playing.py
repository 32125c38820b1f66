# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertex animation textures on an object: the UV layer with each vertex's texel, and the modifier that plays the texture in Blender."""

from __future__ import annotations

import json
from pathlib import Path

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe, free_name
from ..saved import bakes as saved_bakes
from ..saved import timing
from . import bake_files, key_playing, libraries, modifier, poses, texture_nodes
from .mesh import numbers
from .stack import modifier_by_id, set_switches

#: Name of the UV layer.
LAYER = "Thew Offsets"
#: Number of UV layers that a mesh can have in Blender.
MAX_LAYERS = 8
#: Name of a clip of the scene's range in the files.
SCENE_NAME = "Scene"


def clip_name(name: str) -> str:
    """Returns the name of a clip in the files; `name`: of its action, "" for the scene's range."""
    return name or SCENE_NAME


def description_of(path: Path) -> dict:
    """Returns the description of a texture; empty where it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def modifier_of(obj: bpy.types.Object, bake: saved_bakes.ThewBake) -> bpy.types.Modifier | None:
    """Returns the modifier that plays a bake; None where it has none."""
    found = (modifier_by_id(obj, clip.modifier) for clip in bake.clips)
    return next((each for each in found if each is not None and is_player(each)), None)


def is_player(each: bpy.types.Modifier) -> bool:
    """Returns whether a modifier plays a texture."""
    return each.type == "NODES" and each.node_group is not None and texture_nodes.GROUP_MARK in each.node_group.keys()


def add_modifier(obj: bpy.types.Object, name: str, layer: str) -> bpy.types.Modifier:
    """Makes the modifier of a bake before all others, switched off, with a node group of its own."""
    new = modifier.add_first(obj, name)
    new.node_group = texture_nodes.make_group(f"{obj.name} {name}", layer)
    return new


def remove_modifier(obj: bpy.types.Object, player: bpy.types.Modifier) -> None:
    """Removes a modifier with its node group and its image, where nothing else uses them."""
    group = player.node_group
    image = group.nodes[texture_nodes.SAMPLES[0]].inputs["Image"].default_value if group is not None else None
    obj.modifiers.remove(player)
    if group is not None and group.users == 0:
        bpy.data.node_groups.remove(group)
    if image is not None and image.users == 0:
        bpy.data.images.remove(image)


def load(player: bpy.types.Modifier, path: Path) -> None:
    """Gives the modifier the texture that a description names."""
    told = description_of(path)
    if "texture" not in told:
        return
    file = str(path.with_name(told["texture"]))
    renew_group(player, "tension" in told)
    image = player.node_group.nodes[texture_nodes.SAMPLES[0]].inputs["Image"].default_value
    if image is None:
        image = bpy.data.images.load(file)
    image.filepath = bake_files.saved_path(Path(file))
    image.colorspace_settings.name = "Non-Color"
    image.alpha_mode = "CHANNEL_PACKED"  # alpha is tension, and no transparency
    image.reload()
    texture_nodes.set_texture(player.node_group, image, told)


def renew_group(player: bpy.types.Modifier, tension: bool) -> None:
    """Gives the modifier a group that stores the tension, or one that does not, if it has the other one."""
    former = player.node_group
    if texture_nodes.stores_tension(former) == tension:
        return
    name, layer = former.name, texture_nodes.layer_of(former)
    player.node_group = texture_nodes.make_group(name, layer, tension)
    image = texture_nodes.image_of(former)
    if image is not None:
        texture_nodes.set_image(player.node_group, image)
    if former.users == 0:
        bpy.data.node_groups.remove(former)
        player.node_group.name = name


def show(obj: bpy.types.Object, bake: saved_bakes.ThewBake, on: bool) -> None:
    """Lets the texture of a bake play, or switches it off. While poses are read, another action may play."""
    player = modifier_of(obj, bake)
    if player is None:
        return
    set_switches(player, on, on)
    if on and not poses.silence_depth:
        follow(obj)


def is_shown(obj: bpy.types.Object) -> bool:
    """Returns whether the bake that plays is a texture, and acts."""
    bake = saved_bakes.playing(obj)
    player = modifier_of(obj, bake) if bake is not None else None
    return player is not None and player.show_viewport


def follow(obj: bpy.types.Object) -> None:
    """Lets the texture play the clip that belongs to what the armature plays."""
    bake = saved_bakes.playing(obj)
    player = modifier_of(obj, bake) if bake is not None else None
    if player is None:
        return
    clip = key_playing.played_clip(obj, bake)
    told = description_of(bake_files.played_path(clip)) if clip is not None and clip.file else {}
    name, start = (clip_name(clip.name), clip.start) if clip is not None else ("", 0)
    texture_nodes.set_clip(player.node_group, told, name, start, timing.stretch(bpy.context.scene))


# the UV layer ---------------------------------------------------------------------------------------------------------


def check_layers(obj: bpy.types.Object) -> None:
    """Refuses a mesh with no room for a UV layer."""
    libraries.check_own_mesh(obj, "it takes no UV map for the texture", "bake PC2 or MDD")
    ours = any(clip.layer in obj.data.uv_layers for bake in obj.thew.bakes for clip in bake.clips if clip.layer)
    if len(obj.data.uv_layers) >= MAX_LAYERS and not ours:
        raise Refusal(f"{describe(obj)} has {MAX_LAYERS} UV maps, as many as Blender takes: remove one first")
    if not len(obj.data.loops):
        raise Refusal(f"{describe(obj)} has no faces, which carry the UV map of a texture: bake a point cache")


def add_layer(obj: bpy.types.Object, texels: np.ndarray) -> str:
    """Makes the UV layer and returns its name; the active layers stay active."""
    layers = obj.data.uv_layers
    active, render = layers.active_index, next((i for i, each in enumerate(layers) if each.active_render), 0)
    before = len(layers)
    layer = layers.new(name=free_name(LAYER, {each.name for each in obj.data.attributes}), do_init=False)
    if layer is None:
        raise Refusal(f"{describe(obj)} takes no more UV maps: remove one first")
    name = layer.name
    if before:
        layers.active_index = active
        layers[render].active_render = True
    fill_layer(obj, name, texels)
    return name


def fill_layer(obj: bpy.types.Object, name: str, texels: np.ndarray) -> None:
    """Writes the texel of each vertex, [n, 2], to all its corners."""
    corners = numbers(obj.data.loops, "vertex_index", dtype=np.int32)
    values = np.ascontiguousarray(texels[corners], dtype=np.float32)
    obj.data.uv_layers[name].uv.foreach_set("vector", values.ravel())
    obj.data.update_tag()


def remove_layer(obj: bpy.types.Object, name: str) -> None:
    """Removes the UV layer, unless another object with this mesh has a bake with it."""
    sharing = [other for other in bpy.data.objects if other != obj and other.type == "MESH" and other.data == obj.data]
    used = any(clip.layer == name for other in sharing for bake in other.thew.bakes for clip in bake.clips)
    layer = obj.data.uv_layers.get(name) if name else None
    if layer is not None and not used:
        obj.data.uv_layers.remove(layer)


def remove(obj: bpy.types.Object, bake: saved_bakes.ThewBake) -> None:
    """Removes the modifier, the UV layer and the files of a bake."""
    player = modifier_of(obj, bake)
    if player is not None:
        remove_modifier(obj, player)
    paths = bake_files.owned_files(obj, bake.clips)
    bake_files.remove_files([*images_of(paths), *paths])
    for name in {clip.layer for clip in bake.clips}:
        remove_layer(obj, name)
    for clip in bake.clips:
        clip.file, clip.layer, clip.modifier = "", "", 0


def images_of(paths: list[Path]) -> list[Path]:
    """Returns the images that descriptions name, beside them."""
    names = ((path, description_of(path).get("texture")) for path in paths)
    return [path.with_name(Path(name).name) for path, name in names if isinstance(name, str) and name]
