# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Bake: range and space, the list of bakes with their clips, and warnings about exports."""

from __future__ import annotations

from ..bake import bake_result, export_check
from ..bake.traps import ExportSettings
from ..logic.errors import sentence
from ..logic.health import PlayedBake
from ..logic.sentences import plural
from ..saved import bakes as saved_bakes
from ..scene import bakes, key_playing, writing
from .export_panel import draw_traps
from .layouts import draw_text
from .panel_places import draw_range

#: Bytes of a vertex in a shape key: three numbers in single precision.
VERTEX_BYTES = 12

#: The sentence on playback where the extension is not installed.
WITHOUT_THEW = "The keys follow the armature's action. Without Thew they stay with the present one: choose another for them too, in the Shape Key Editor"


def draw_bake(layout, context, obj, width: int) -> None:
    """Draws the frame range, the bake buttons and the remarks."""
    draw_range(layout.column(), context, obj.thew)
    draw_keys(layout, obj, removes="Remove Flesh and Keys")
    draw_bakes(layout, obj, width)
    draw_remarks(layout, obj, context.scene, width)


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
        draw_action_buttons(column, key_playing.active_action(armature))
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


def draw_action_buttons(column, action) -> None:
    """Draws the buttons that bake actions instead of the scene's range; `action`: the active one, or None."""
    row = column.row(align=True)
    part = row.row(align=True)
    part.enabled = action is not None
    button = part.operator("thew.bake", text="This Action", icon="ACTION")
    button.clips, button.actions = "CHOSEN", action.name if action is not None else ""
    row.operator("thew.bake", text="All Actions", icon="NLA").clips = "ALL"


def draw_bakes(layout, obj, width: int) -> None:
    """Draws the bakes of an object, each with its clips."""
    for bake in obj.thew.bakes:
        column = layout.column(align=True)
        row = column.row(align=True)
        shown = row.operator("thew.bake_show", text="", icon="RADIOBUT_ON" if bake.plays else "RADIOBUT_OFF")
        shown.name = bake.name
        row.operator("thew.bake_rename", text=bake.name).name = bake.name
        row.operator("thew.bake_remove", text="", icon="X").name = bake.name
        draw_text(column, size_text(obj, bake), width, icon="BLANK1")
        for clip in bake.clips:
            draw_text(column, clip_text(clip), width, icon="SCENE_DATA" if clip.is_scene else "ACTION")


def size_text(obj, bake: saved_bakes.ThewBake) -> str:
    """Returns the amount of a bake in words: keys, clips and bytes."""
    size = len(writing.keys_of(obj, bake)) * len(obj.data.vertices) * VERTEX_BYTES
    what = bakes.describe_bake(obj, bake) or "Nothing is left"
    return f"{what}, {plural(len(bake.clips), 'clip')}" + (f", {size / 1e6:.3g} MB" if size else "")


def clip_text(clip: saved_bakes.ThewClip) -> str:
    """Returns a clip in words: its name, its frames, and its error where it has one."""
    gone = " (deleted)" if not clip.is_scene and clip.action is None else ""
    text = f"{clip.label}{gone}, {clip.start} to {clip.end}"
    if clip.error > 0.0:
        text += f", {1e3 * clip.error:.2g} mm off at frame {clip.error_frame}"
    return text


def draw_remarks(layout, obj, scene, width: int) -> None:
    """Draws the bake that plays: its frames, what it leaves out, its error, and warnings about an export."""
    bake = saved_bakes.playing(obj)
    if bake is None or not bake.keys:
        return
    column, clip = layout.column(align=True), bake.scene_clip
    space = "rest" if bake.space == "REST" else "posed"
    if clip is not None:
        draw_text(column, f"Keys of {clip.start} to {clip.end}, in {space} space", width, icon="INFO")
    else:
        draw_text(column, f"Keys of {plural(len(bake.clips), 'action')}, in {space} space", width, icon="INFO")
        draw_text(column, sentence(WITHOUT_THEW), width)
    for remark in (bake_result.unbaked_frames_remark(bake, scene), bake_result.miss_remark(bake.miss)):
        if remark:
            draw_text(column, sentence(remark), width)
    draw_traps(column, export_check.find_traps([obj], ExportSettings()), width)


def played_bake(obj) -> PlayedBake | None:
    """Returns what the bake of an object plays now; None without a bake."""
    bake = saved_bakes.playing(obj)
    if bake is None or not len(bake.clips):
        return None
    clip, missing = key_playing.played_clip(obj, bake), key_playing.unplayed_action(obj)
    if clip is not None:
        name = "" if clip.is_scene else clip.label
        return PlayedBake(clip.start, clip.end, name, holds=bake.space == "POSED")
    return PlayedBake(missing=missing.name) if missing is not None else PlayedBake(strips=True)
