# SPDX-License-Identifier: GPL-3.0-or-later
"""The foldout Details: what is wrong and what to do, riders, and what was found while the flesh was built."""

from __future__ import annotations

from ..languages.translations import translate
from ..live import jobs, riding, whole_character
from ..live.session import register as fleshes
from ..logic.errors import sentence
from ..logic.health import Health, warnings
from ..logic.names import describe
from ..logic.sentences import modal_notes
from . import library_panel
from .health_rows import health_of
from .layouts import HEALTH_ICONS, draw_text
from .panel_places import draw_notes
from .riding_panel import draw_riders
from .riding_panel import health as rider_health


def draw_details(layout, context, obj, width: int) -> None:
    """Draws the foldout: the verdict first, then what may be done, then facts that need no action."""
    library_panel.draw_mesh_owner(layout, obj, width)
    found = verdict(obj, context.scene.frame_current)
    column = layout.column(align=True)
    for each in found:
        draw_text(column, each.text, width, icon=HEALTH_ICONS[each.level])
    draw_riders(layout, context, obj, width)
    layout.label(text="About the Flesh")
    draw_notes(layout.column(align=True), facts(obj, context, {each.text for each in found}), width)
    draw_end(layout, context, obj)
    layout.operator("thew.diagnose", icon="COPYDOWN")


def draw_end(layout, context, obj) -> None:
    """Draws the button that ends the frames where the bones come to a stand, as the note above it recommends."""
    still = jobs.still_frame(fleshes.known_state(obj))
    if still is not None and still < obj.thew.frames(context.scene)[1]:
        layout.operator("thew.set_end", text=translate(f"Set End to {still}"), icon="CHECKMARK").frame = still


def verdict(obj, frame: float) -> list[Health]:
    """Returns what is wrong, the gravest first; where nothing is, one line that says so."""
    found = health_of(obj, frame)
    if found.level == "WARNING" and not obj.thew.made.shows_bake:  # the panel's line has the first of them alone
        every = [Health("WARNING", sentence(text)) for text in warnings(fleshes.known_state(obj))]
    else:
        every = [] if found.level == "GOOD" else [found]
    for rider in riding.riders_of(obj):
        its = rider_health(rider, frame)
        every += [Health(its.level, f"{describe(rider)}: {its.text}")] if its.to_read else []
    return every or [Health("GOOD", "Nothing is wrong")]


def facts(obj, context, told: set[str]) -> list[str]:
    """Returns the notes on an object's flesh and on the meshes that were left, without those that are `told` already."""
    flesh, made = fleshes.known_state(obj), obj.thew.made
    plain = [f"“{other.name}”" for other in whole_character.possible_riders(obj, context.scene, context.view_layer)]
    notes = [note for note in made.left.splitlines() if any(name in note for name in plain) or " at a seam" in note]
    notes += made.notes.splitlines()
    if flesh is not None and flesh.modal:
        notes += modal_notes(flesh, obj.thew.preview_mode)
    known = {text.rstrip(".") for text in told}
    return [note for note in dict.fromkeys(notes) if note and note.rstrip(".") not in known]
