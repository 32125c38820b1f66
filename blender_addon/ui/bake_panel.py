# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Bake: range and space, the list of bakes with their clips, caches for other programs, and warnings about exports."""

from __future__ import annotations

from ..bake import bake_result, cache_export, export_check, helper_bones, remaking, vertex_textures
from ..bake.traps import ExportSettings
from ..logic import bake_sizes
from ..logic.errors import sentence
from ..logic.health import PlayedBake
from ..logic.sentences import plural, significant
from ..saved import bakes as saved_bakes
from ..saved import units
from ..scene import bake_files, bakes, cache_playing, file_states, key_playing, texture_playing, writing
from .export_panel import draw_traps
from .layouts import draw_text
from .panel_places import draw_range, foldout

#: Sentences on playback where the extension is not installed: of keys, and of files.
WITHOUT_THEW = "The keys follow the armature's action. Without Thew they stay with the present one: choose another for them too, in the Shape Key Editor"
FILES_WITHOUT_THEW = "The files follow the armature's action. Without Thew the present clip goes on playing"
#: The fault of a bake of files while NLA strips play.
NO_STRIPS = "A bake of files plays no NLA strips, so the plain skin shows: make one action active, or bake shape keys"
#: The sentence on the vertex groups while helper bones play.
WEIGHTS_OF_BAKE = "The vertex groups hold the weights of the bake: press Show Live before you paint them"


def draw_bake(layout, context, obj, width: int) -> None:
    """Draws the frame range, the bake buttons and the remarks."""
    draw_range(layout.column(), context, obj.thew)
    draw_keys(layout, obj, removes="Remove Flesh and Bakes")
    draw_bakes(layout, obj, width)
    draw_remarks(layout, obj, context.scene, width)
    draw_export_cache(layout)


def draw_keys(layout, obj, kind: str = "", removes: str = "") -> None:
    """Draws the buttons that make, show, finish and remove a bake, and the space that it can be made in.

    `kind`: "keyframed_" for keyframed flesh, whose keys have one space; `removes`: the label of the last button, "" for none.
    """
    made, baked = obj.thew.made, bool(len(obj.thew.bakes))
    if not kind:
        layout.column().prop(obj.thew, "bake_space")
    column = layout.column(align=True)
    column.operator(f"thew.{kind}bake", icon="SHAPEKEY_DATA")
    armature = key_playing.moving_armature(obj)
    if not kind:
        column.operator("thew.bake_as", text="Bake As…", icon="PRESET")
    if not kind and armature is not None and armature.animation_data is not None:
        draw_action_buttons(column, obj, key_playing.active_action(armature))
    row = column.row(align=True)
    row.enabled = baked
    if made.shows_bake:
        row.operator("thew.show_live", icon="PHYSICS")
    else:
        row.operator("thew.show_bake", icon="SHAPEKEY_DATA")
    row.operator("thew.finish_bake", icon="EXPORT")
    if removes:
        row = column.row(align=True)
        row.enabled = baked
        row.operator(f"thew.{kind}remove", text=removes, icon="TRASH").remove_baked_keys = True


def draw_action_buttons(column, obj, action) -> None:
    """Draws the buttons that bake actions instead of the scene's range; `action`: the active one, or None."""
    row = column.row(align=True)
    part, values = row.row(align=True), remaking.action_values(obj)
    part.enabled = action is not None
    button = part.operator("thew.bake", text="This Action", icon="ACTION")
    fill(button, values | {"clips": "CHOSEN", "actions": action.name if action is not None else ""})
    fill(row.operator("thew.bake", text="All Actions", icon="NLA"), values | {"clips": "ALL"})


def fill(button, values: dict) -> None:
    """Gives a button the values of its operator."""
    for name, value in values.items():
        setattr(button, name, value)


def draw_bakes(layout, obj, width: int) -> None:
    """Draws the bakes of an object, each with its size, its clips, and what engines take of it."""
    for bake in obj.thew.bakes:
        column = layout.column(align=True)
        row = column.row(align=True)
        plays = bake.plays and obj.thew.made.shows_bake
        shown = row.operator("thew.bake_show", text="", icon="RADIOBUT_ON" if plays else "RADIOBUT_OFF")
        shown.name = bake.name
        row.operator("thew.bake_rename", text=bake.name, translate=False).name = bake.name
        if remaking.can_bake_again(obj, bake):
            row.operator("thew.bake_again", text="", icon="FILE_REFRESH").name = bake.name
        row.operator("thew.bake_remove", text="", icon="X").name = bake.name
        draw_sentence(column, size_text(obj, bake), width)
        for clip in bake.clips:
            draw_text(
                column, clip_text(clip, units.scene_scale(obj)), width, icon="SCENE_DATA" if clip.is_scene else "ACTION"
            )
        limits = bake_sizes.limit_note(len(writing.keys_of(obj, bake)))
        for text in (regions_text(bake), limits, shared_text(obj, bake)):
            draw_sentence(column, text, width, icon="DOT")


def draw_sentence(column, text: str, width: int, icon: str = "BLANK1") -> None:
    """Draws a text that begins with a capital; nothing for ""."""
    if text:
        draw_text(column, text[0].upper() + text[1:], width, icon=icon)


def size_text(obj, bake: saved_bakes.ThewBake) -> str:
    """Returns the amount of a bake in words: keys or files, clips and bytes."""
    size = len(writing.keys_of(obj, bake)) * len(obj.data.vertices) * bake_sizes.VERTEX_BYTES
    files = bake_files.size_of(bake.clips, vertex_textures.SUFFIXES if bake.kind == "VERTEX_TEXTURE" else ())
    what = bakes.describe_bake(obj, bake)
    if not what:
        return missing_text(obj, bake)
    text = f"{what}, {plural(len(bake.clips), 'clip')}" + (f", {bake_sizes.size_text(size)}" if size else "")
    return text + (f", {bake_sizes.size_text(files)} on the disk" if files else "")


def missing_text(obj, bake: saved_bakes.ThewBake) -> str:
    """Returns what to do about a bake of which nothing is left."""
    paths = bake_files.files_of(bake.clips)
    again = "bake again" if remaking.can_bake_again(obj, bake) else "remove it (the cross)"
    return f"No file in {paths[0].parent}: bring it back or {again}" if paths else f"Nothing is left: {again}"


def regions_text(bake: saved_bakes.ThewBake) -> str:
    """Returns the remark on keys of regions, of which files hold less than the size of whole keys; "" without regions."""
    return (
        f"keys of {bake.regions} regions: FBX, and glTF without Shape Key Normals, leave out what a key does not move"
        if bake.regions > 1
        else ""
    )


def shared_text(obj, bake: saved_bakes.ThewBake) -> str:
    """Returns the remark on compressed clips that have keys of their own; "" where all share theirs, or cannot be baked anew."""
    if not remaking.can_bake_again(obj, bake):
        return ""
    if bake.kind != "COMPRESSED" or len(bake.clips) < 2 or not any(clip.keys for clip in bake.clips):
        return ""
    return "Clips were added one by one and have keys of their own: bake all anew (the arrows) for fewer keys"


def draw_export_cache(layout) -> None:
    """Draws the foldout of caches for renderers and other programs."""
    body = foldout(layout, "export_cache", "Export Cache")
    if body is None:
        return
    row = body.row(align=True)
    for key, label, _ in cache_export.FORMAT_ITEMS:
        row.operator("thew.export_cache", text=f"{label}…", icon="EXPORT").format = key


def clip_text(clip: saved_bakes.ThewClip, scale: float = 1.0) -> str:
    """Returns a clip in words: its name, its frames, and its error where it has one; `scale`: of lengths in the scene."""
    gone = " (deleted)" if clip.action is None else ""
    name = clip.label if clip.is_scene else f"“{clip.label}”{gone}"
    text = f"{name}, {clip.start} to {clip.end}"
    if clip.error >= bake_result.MIN_STATED_ERROR:
        text += f", {significant(1e3 * clip.error)} mm off at frame {clip.error_frame}"
        if abs(scale - 1.0) > units.MIN_SCALE_DIFFERENCE:
            text += f" ({significant(1e3 * scale * clip.error)} mm in the scene)"
    return text


def draw_remarks(layout, obj, scene, width: int) -> None:
    """Draws the bake that plays: its frames, what it leaves out, its error, and warnings about an export."""
    bake = saved_bakes.playing(obj)
    if bake is None or not bakes.describe_bake(obj, bake):
        return
    column, clip = layout.column(align=True), bake.scene_clip
    space = ", flesh alone" if bake.space == "REST" else ", flesh and bones"
    what, follows = ("Keys", WITHOUT_THEW) if bake.keys else ("Files", FILES_WITHOUT_THEW)
    remark = follows if clip is None else ""
    if bakes.moves_bones(bake):  # while the flesh is live the groups hold the artist's own weights
        what, space, remark = "Helper bones", "", WEIGHTS_OF_BAKE if obj.thew.made.shows_bake else ""
    frames = f"frames {clip.start} to {clip.end}" if clip is not None else plural(len(bake.clips), "action")
    draw_text(column, f"{what} of {frames}{space}", width, icon="INFO")
    remarks = remark, bake_result.unbaked_frames_remark(bake, scene), bake_result.miss_remark(bake.miss)
    for text in (*remarks, helper_bones.resting_remark(bake), *bake.notes.splitlines()):
        if text:
            draw_text(column, sentence(text), width)
    draw_traps(column, export_check.find_traps([obj], ExportSettings()), width)


def played_bake(obj) -> PlayedBake | None:
    """Returns what the bake of an object plays now; None without a bake."""
    bake = saved_bakes.playing(obj)
    if bake is None or not len(bake.clips):
        return None
    clip, missing = key_playing.played_clip(obj, bake), key_playing.unplayed_action(obj)
    if clip is not None:
        name = "" if clip.is_scene else clip.label
        holds = bake.space == "POSED" or bake.holds
        return PlayedBake(
            clip.start, clip.end, name, holds=holds, fault=cache_playing.fault(obj, clip, file_states.status)
        )
    if missing is not None:
        return PlayedBake(missing=missing.name)
    return PlayedBake(fault=NO_STRIPS) if plays_one_clip(obj, bake) else PlayedBake(strips=True)


def plays_one_clip(obj, bake: saved_bakes.ThewBake) -> bool:
    """Returns whether a bake plays by a file, of one clip at a time: NLA strips of several leave the plain skin."""
    return cache_playing.modifier_of(obj, bake) is not None or texture_playing.modifier_of(obj, bake) is not None
