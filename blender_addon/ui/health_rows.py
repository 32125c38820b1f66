# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of the main panel that say how the flesh is, and show the progress of what is computed."""

from __future__ import annotations

import re

import bpy

from ..languages.translations import translate
from ..live import hidden_flesh, motion_edits, riding, updates, validity, work
from ..live.registers import is_alive
from ..live.session import register as fleshes
from ..logic.health import Health, former_bake_health, health, neighbour_moved_health, shorten
from ..scene.reading import armature_of
from .bake_panel import played_bake
from .layouts import HEALTH_ICONS, wrap

#: Rows reserved for the state of the flesh. Longer texts are shortened and stand whole in Details.
HEALTH_ROWS = 2
#: The remedy of an English sentence, after its fault, and what stands before it in any language.
REMEDY = re.compile(r": [a-z][^:]*$")
COLON = re.compile(r": |：")
#: Factor that makes a separator as high as a row: by default it is 0.3 of one.
SEPARATORS_PER_ROW = 1.0 / 0.3


def health_of(obj, frame: float) -> Health:
    """Returns the state of the flesh of an object at the scene's `frame`."""
    flesh = fleshes.known_state(obj)
    unseen = hidden_flesh.hidden_reason(obj, flesh)
    stale = motion_edits.is_stale(obj, bpy.context.scene, flesh)
    known = len(riding.riders_of(obj)), unseen, played_bake(obj), in_rest_position(obj), stale
    found = health(obj.thew, obj.thew.made, flesh, frame, *known)
    changed = validity.changed_other(obj, bpy.context.scene) if found.level == "GOOD" else ""
    found = neighbour_moved_health(changed) if changed else found
    if found.level == "GOOD" and validity.bake_differs(obj, bpy.context.scene):
        found = former_bake_health()
    return found


def draw_health(layout, obj, frame: int, width: int) -> None:
    """Draws the state of the flesh in `HEALTH_ROWS` rows. The first one is a progress bar while something is computed."""
    found = health_of(obj, frame)
    lines = health_lines(found.text, width)
    column = layout.column(align=True)
    busy = draw_progress(column)
    column.alert = found.level == "ERROR" and not busy
    shown = [] if busy else lines
    for i, line in enumerate(shown):
        column.label(text=line, icon="BLANK1" if i else HEALTH_ICONS[found.level])
    for _ in range(HEALTH_ROWS - len(shown) - busy):
        column.separator(factor=SEPARATORS_PER_ROW)


def health_lines(text: str, width: int) -> list[str]:
    """Returns a text in the artist's language in at most `HEALTH_ROWS` lines. Of a fault and its remedy both begin a line where they are cut."""
    told = translate(text)
    lines = wrap(told, width)
    if len(lines) <= HEALTH_ROWS:
        return lines
    parts = COLON.split(told) if REMEDY.search(text) else [told]
    if len(parts) > 1:
        remedy = parts[-1]
        fault = told[: len(told) - len(remedy)].rstrip()
        return [shorten(fault, width), shorten(remedy[:1].upper() + remedy[1:], width)]
    return [*lines[: HEALTH_ROWS - 1], shorten(" ".join(lines[HEALTH_ROWS - 1 :]), width)]


def in_rest_position(obj) -> bool:
    """Returns whether the armature that moves a mesh is switched to its rest position."""
    armature = armature_of(obj)
    return armature is not None and armature.data.pose_position == "REST"


def draw_progress(layout) -> bool:
    """Draws a progress bar while something is computed. Returns whether it did."""
    job = work.running_steppers[-1] if work.running_steppers else None
    stepper = job or updates.state.stepper
    if stepper is None:
        return False
    obj = updates.state.updated_object
    row = layout.row(align=True)
    said = f"{stepper.status_text} (Esc cancels)" if job is not None else stepper.status_text
    row.progress(factor=stepper.bar.shown, text=translate(said))
    if job is None and obj is not None and is_alive(obj) and not obj.thew.made.keyframed:
        row.operator("thew.simulate_stop", text="", icon="X")
    return True
