# SPDX-License-Identifier: GPL-3.0-or-later
"""Choice of what the view shows of a character, and the two sets of settings, A and B, that are compared."""

from __future__ import annotations

from typing import Any

from bpy.props import EnumProperty, StringProperty

from ..logic.comparison import SIDES, fits, unpack
from .edit_callbacks import call_on_change

#: Choices of the view: identifier, name, description, icon, number.
VIEWS = (
    ("PLAIN", "Skin", "The plain skin, as the Armature modifier moves it", "OUTLINER_OB_ARMATURE", 0),
    ("SETTLED", "Settled", "The flesh at rest in every pose", "PAUSE", 1),
    ("MOVING", "Moving", "The flesh in motion", "PHYSICS", 2),
)
#: Settings that are no part of A and B: what is shown, frames and places of storage, and work by hand.
NOT_COMPARED = {
    "enabled", "settled", "show_lattice", "show_twist", "show_map", "show_limits", "show_contacts", "preview_mode", "preview_size", "use_scene_range",
    "frame_start", "frame_end", "bake_space", "cache", "hand_lattice", "use_hand_lattice", "compared_side", "compared_other", "view",
    "height_shown", "store_tension", "restart", "name",
}  # fmt: skip
#: Types of properties that A and B hold.
SIMPLE_TYPES = {"BOOLEAN", "INT", "FLOAT", "ENUM", "STRING"}


def _get_view(self) -> int:
    return 0 if not self.enabled else 1 if self.settled else 2


def _set_view(self, number: int) -> None:
    settled = number == 1
    if number == 0:
        self.enabled = False
        return
    if self.settled != settled:
        self.settled = settled
    if not self.enabled:
        self.enabled = True


class ComparisonProperties:
    """Mix-in for the settings of an object."""

    view: EnumProperty(
        name="Show",
        description="What the view shows of the character",
        items=VIEWS,
        get=_get_view,
        set=_set_view,
        options={"SKIP_SAVE"},
    )
    compared_side: EnumProperty(
        name="Side",
        description="The settings in view, A or B",
        items=tuple((side, side, f"The settings {side}") for side in SIDES),
        default=SIDES[0],
        options=set(),
    )
    compared_other: StringProperty(
        name="Other Settings",
        description="The settings that are not in view, as text; empty without any",
        options={"HIDDEN"},
    )


def compared_properties(settings) -> list:
    """Returns the properties that A and B hold."""
    found = []
    for prop in settings.bl_rna.properties:
        simple = prop.type in SIMPLE_TYPES and not prop.is_readonly and not getattr(prop, "is_array", False)
        if simple and prop.identifier not in NOT_COMPARED and not prop.identifier.startswith(("active_", "rna_")):
            found.append(prop)
    return found


def values_of(settings) -> dict[str, Any]:
    """Returns the compared settings that were set, by name; others have their defaults."""
    names = (prop.identifier for prop in compared_properties(settings))
    return {name: getattr(settings, name) for name in names if settings.is_property_set(name)}


def other_values(settings) -> dict[str, Any]:
    """Returns the settings that are not in view, by name; unknown names and values of a wrong type are left out."""
    kinds = {prop.identifier: prop.type for prop in compared_properties(settings)}
    found = unpack(settings.compared_other)
    return {name: value for name, value in found.items() if name in kinds and fits(kinds[name], value)}


def defaults_of(settings) -> dict[str, Any]:
    """Returns the defaults of the compared settings, by name."""
    return {prop.identifier: prop.default for prop in compared_properties(settings)}


def put(settings, values: dict[str, Any]) -> None:
    """Gives the compared settings these values, and all others their defaults; unknown names and impossible values are left out."""
    for prop in compared_properties(settings):
        name = prop.identifier
        if name not in values:
            settings.property_unset(name)
        elif not settings.is_property_set(name) or getattr(settings, name) != values[name]:
            try:
                setattr(settings, name, values[name])
            except (TypeError, ValueError):
                settings.property_unset(name)
    call_on_change(settings, None)
