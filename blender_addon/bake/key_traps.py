# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of the keys themselves: more morph targets than engines take, normals that double their size, and a key a frame by the hundred."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..logic import bake_sizes
from ..logic.names import describe
from ..logic.sentences import plural
from ..saved import bakes as saved_bakes
from ..saved.bakes import ThewBake
from ..scene import writing
from .traps import NOTICE, WARNING, ExportSettings, Trap, setting_trap

#: Bytes of a normal in a morph target.
NORMAL_BYTES = 12
#: Smallest size of normals that is reported, in bytes.
MIN_NORMALS_SIZE = 1_000_000
#: Error of the button that bakes few keys, in metres: that of the target Compressed Keys.
USUAL_TOLERANCE = 0.002
#: Keys of a kind that holds one for each frame.
FRAME_KEYS = "SHAPE_KEYS"


def of_gltf(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields remarks on the number of morph targets in glTF and on the size of their normals."""
    keys = obj.data.shape_keys.key_blocks
    count = sum(not key.mute and key != key.relative_key for key in keys[1:])
    if not count or settings.value("export_morph") is False:
        return
    normals = settings.value("export_morph_normal")
    # glTF 2.0, 3.7.2.2: viewers support eight attributes, a position and a normal each.
    sure = bake_sizes.SURE_TARGETS if normals else 2 * bake_sizes.SURE_TARGETS
    if count > sure:
        most = bake_sizes.MOST_TARGETS
        text = (
            f"{describe(obj)} leaves with {plural(count, 'morph target')}: every glTF viewer takes {sure}"
            f"{' with normals' if normals else ''}, and Filament, Bevy and three.js take {most}"
        )
        fewer = can_be_fewer(obj, count > most)
        advice = "bake Compressed Keys" if fewer or not is_compressed(obj) else bake_sizes.FEWER_ADVICE
        text += f"; {advice}" if count > most else ""
        level = WARNING if count > most else NOTICE
        yield Trap("gltf_targets", obj, text, "Bake Compressed Keys" if fewer else "", level)
    size = NORMAL_BYTES * count * vertex_count(obj.data)
    if normals and settings.value("export_normals") is not False and size >= MIN_NORMALS_SIZE:
        text = (
            f"Normals of the morph targets of {describe(obj)} take about {size / 1e6:.0f} MB, as much as their shapes: without "
            "them light falls on the flesh as on the plain skin"
        )
        yield setting_trap("export_morph_normal", obj, text, settings, NOTICE, export_morph_normal=False)


def is_compressed(obj: bpy.types.Object) -> bool:
    """Returns whether compressed keys play."""
    bake = saved_bakes.playing(obj)
    return bake is not None and bake.kind == "COMPRESSED"


def can_be_fewer(obj: bpy.types.Object, too_many: bool) -> bool:
    """Returns whether Compressed Keys at the usual error would be fewer than the keys that play, and can be baked.

    `too_many`: engines take fewer, so that keys of a smaller error or of regions are replaced too.
    """
    bake = saved_bakes.playing(obj)
    if bake is None or not can_bake(obj, bake):
        return False
    if bake.kind == FRAME_KEYS:
        return too_many or len(bake.key_names) > bake_sizes.USUAL_KEYS[1]
    return too_many and (bake.tolerance < 0.99 * USUAL_TOLERANCE or bake.regions > 1)


def can_bake(obj: bpy.types.Object, bake: ThewBake) -> bool:
    """Returns whether the clips of a bake can be had once more: from its flesh, or from its keys if it has one for each frame."""
    made = obj.thew.made
    return made.flesh or made.rides or has_all_frames(obj, bake)


def has_all_frames(obj: bpy.types.Object, bake: ThewBake) -> bool:
    """Returns whether a bake has a key for each frame of every clip, each of an action that is left."""
    counts = [len(writing.keys_named(obj, clip.keys.splitlines())) for clip in bake.clips]
    wanted = [clip.end - clip.start + 1 for clip in bake.clips]
    actions = all(clip.is_scene or clip.action is not None for clip in bake.clips)
    return bake.kind == FRAME_KEYS and bool(counts) and counts == wanted and actions


def of_others(obj: bpy.types.Object, settings: ExportSettings) -> Iterator[Trap]:
    """Yields the remark on hundreds of keys, one a frame, in formats that write muted keys too."""
    many = [
        bake
        for bake in obj.thew.bakes
        if bake.kind == FRAME_KEYS and len(writing.keys_of(obj, bake)) > bake_sizes.MOST_TARGETS
    ]
    if not many or settings.value("export_shapekeys") is False:
        return
    count = sum(len(writing.keys_of(obj, bake)) for bake in many)
    text = (
        f"{describe(obj)} leaves with {plural(count, 'shape key')}, one for each frame: {settings.format} writes all of them, muted "
        "ones too; bake Compressed Keys and remove these"
    )
    playing = saved_bakes.playing(obj)
    able = playing.kind != FRAME_KEYS or can_bake(obj, playing)
    remedy = "Replace by Compressed Keys" if able else ""
    yield Trap("many_keys", obj, text, remedy, NOTICE)


def vertex_count(mesh: bpy.types.Mesh) -> int:
    """Returns about how many vertices the file gets: one a corner on flat faces, else at least one a vertex."""
    return len(mesh.vertices) if all(polygon.use_smooth for polygon in mesh.polygons[:1]) else len(mesh.loops)
