# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of exporters that hold evaluated points, USD among them where it writes neither skins nor shape keys."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..logic.names import describe
from ..logic.sentences import join_words
from .skin_traps import stray_bone_traps
from .traps import (
    ExportSettings,
    Trap,
    armature_modifiers,
    exported_range_traps,
    in_rest_space,
    names_of,
    played_range,
    setting_trap,
    writes_points,
)  # fmt: skip

#: A first or last frame that stands for the scene's, in exporters that were not told one.
UNSET_FRAME = 2**31 - 1


def usd_traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields what a USD export with these settings would do wrong with the bakes of `meshes`, which play."""
    yield from animation_traps(meshes, settings, scene)
    if writes_points(settings):
        return
    skinned = [obj for obj in meshes if armature_modifiers(obj)]
    if settings.value("export_shapekeys") is False and skinned:
        text = f"USD export without shape keys leaves out the baked keys of {names_of(skinned)}"
        yield setting_trap("export_shapekeys", skinned[0], text, settings, export_shapekeys=True)
    resting = [obj for obj in skinned if in_rest_space(obj)]
    if settings.value("export_armatures") is False and resting:
        text = f"USD export without armatures writes {names_of(resting)} without the bones that move the baked keys"
        yield setting_trap("export_armatures", resting[0], text, settings, export_armatures=True)
    for obj in resting:
        yield from stray_bone_traps(obj, settings, "only_deform_bones")


def animation_traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields traps of a USD export that writes no animation, or other frames than those of a bake."""
    if settings.value("export_animation") is False:
        text = f"USD export leaves out animation unless it is told to write it: {names_of(meshes)} would stand still"
        yield setting_trap("export_animation", meshes[0], text, settings, export_animation=True)
        return
    for obj in meshes:
        yield from exported_range_traps(obj, settings, scene.frame_start, scene.frame_end)


def point_traps(meshes: list[bpy.types.Object], settings: ExportSettings, scene: bpy.types.Scene) -> Iterator[Trap]:
    """Yields what an exporter of points would do wrong with the flesh or the bakes of `meshes`."""
    names = names_of(meshes)
    if settings.value("apply_modifiers") is False:
        text = f"{settings.format} export without modifiers writes the plain mesh of {names}, without pose and flesh"
        yield setting_trap("apply_modifiers", meshes[0], text, settings, apply_modifiers=True)
        return
    yield from render_traps(meshes, settings)
    for obj in meshes:
        if settings.format == "Alembic":
            yield from frame_traps(obj, settings, scene, "start", "end")
        elif settings.value("export_animation"):  # OBJ
            yield from frame_traps(obj, settings, scene, "start_frame", "end_frame")


def render_traps(meshes: list[bpy.types.Object], settings: ExportSettings) -> Iterator[Trap]:
    """Yields the trap of modifiers that act in the view and not in renders, of which the exporter takes the latter."""
    change = {"evaluation_mode": "VIEWPORT"} if settings.format != "OBJ" else {"export_eval_mode": "DAG_EVAL_VIEWPORT"}
    if "RENDER" not in str(settings.value(next(iter(change)))):
        return
    for obj in meshes:
        odd = [m for m in obj.modifiers if m.show_viewport != m.show_render]
        if odd:
            words = join_words([f"“{modifier.name}”" for modifier in odd])
            text = (
                f"{settings.format} export writes {describe(obj)} as renders show it, where {words} "
                f"{'acts' if len(odd) == 1 else 'act'} otherwise than in the view"
            )
            yield setting_trap("evaluation_mode", obj, text, settings, **change)


def frame_traps(
    obj: bpy.types.Object, settings: ExportSettings, scene: bpy.types.Scene, start: str, end: str
) -> Iterator[Trap]:
    """Yields traps of the exporter's own range of frames; `start`, `end`: names of its settings."""
    played = played_range(obj)
    first, last = settings.value(start), settings.value(end)
    if played is None or first is None or last is None:
        return
    first = scene.frame_start if abs(first) >= UNSET_FRAME else first
    last = scene.frame_end if abs(last) >= UNSET_FRAME else last
    yield from exported_range_traps(obj, settings, first, last, {start: played[0], end: played[1]})
