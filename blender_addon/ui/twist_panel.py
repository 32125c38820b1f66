# SPDX-License-Identifier: GPL-3.0-or-later
"""The part Twist of the foldout Regions: how far and how firmly flesh turns with the active bone."""

from __future__ import annotations

from ..live.session import register as fleshes
from ..logic.sentences import significant
from ..logic.twist import automatic_radius
from ..saved.units import length
from ..scene import twist
from ..scene.reading import armature_of
from .layouts import draw_text
from .panel_places import foldout


def draw_twist(layout, obj, width: int) -> None:
    """Draws the twist of the active bone, and the buttons for the selected ones."""
    body = foldout(layout, "twist", "Twist", icon="BONE_DATA")
    if body is None:
        return
    armature = armature_of(obj)
    bone = None if armature is None else twist.active_bone(armature)
    column = body.column(align=True)
    if bone is None:
        draw_text(column, "Select a bone in Pose mode: flesh around it can be made to turn with it", width, icon="INFO")
        return
    column.label(text=bone.name, translate=False, icon="BONE_DATA")
    if bone.thew.use_twist:
        draw_own(column, obj, bone, width)
    else:
        draw_text(column, automatic_text(obj, bone.name), width)
        column.operator("thew.twist_set", icon="ADD")
    body.operator("thew.follow_bones", icon="CON_KINEMATIC")
    row = body.row(align=True)
    row.operator("thew.twist_mirror", text="Mirror", icon="MOD_MIRROR")
    row.prop(obj.thew, "show_twist", text="", icon="HIDE_OFF" if obj.thew.show_twist else "HIDE_ON")


def draw_own(column, obj, bone, width: int) -> None:
    """Draws the numbers of a bone with a twist of its own."""
    column.prop(bone.thew, "twist_radius")
    column.prop(bone.thew, "twist_strength")
    draw_text(column, own_text(obj, bone.thew), width)
    row = column.row(align=True)
    row.operator("thew.twist_copy", text="Copy to Selected", icon="COPYDOWN")
    row.operator("thew.twist_clear", text="", icon="X")


def own_text(obj, settings) -> str:
    """Returns a sentence on a bone's own twist: its radius on the real height, that it is off, or what is wrong with it."""
    if settings.twist_strength == 0.0:
        return "Off: the bone does not turn its flesh"
    if settings.twist_radius == 0.0:
        return "No flesh lies within this radius: raise it, or set Strength to 0"
    flesh = fleshes.known_state(obj)
    if flesh is not None and flesh.surface is not None:
        size = flesh.surface.size / flesh.place.metres_per_unit
        if settings.twist_radius > size:
            return f"Beyond the body, which is {length(size)} across: give it a smaller radius"
    made = obj.thew.made
    scale = obj.thew.height() / made.longest_side if made.longest_side > 0.0 else 1.0
    return f"{significant(1e3 * scale * settings.twist_radius)} mm on the real size"


def automatic_text(obj, bone: str) -> str:
    """Returns a sentence on the automatic twist of a bone."""
    flesh = fleshes.known_state(obj)
    if flesh is None or flesh.automatic is None:
        return "Automatic"
    radius = automatic_radius(flesh.automatic, flesh.character.bones, bone)
    if radius == 0.0:
        return "Carries no flesh"
    return f"Automatic: within {length(radius / flesh.place.metres_per_unit)} ({significant(1e3 * radius)} mm on the real size)"
