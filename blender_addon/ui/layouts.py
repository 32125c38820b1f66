# SPDX-License-Identifier: GPL-3.0-or-later
"""Text in panels: wrapped to the width of the panel, with an icon for its severity."""

from __future__ import annotations

import re

from ..languages.translations import translate
from ..logic.text_width import pieces, text_width

#: Spaces at which no line breaks: before a unit, in "frame 16" and in "1 to 60", in German too.
HARD_SPACES = re.compile(
    r"(?<=\d) (?=(?:[kMG]B|mm|%)(?!\w)|(?:to|bis) -?\d)|(?<=\bframe) (?=-?\d)|(?<=Einzelbild) (?=-?\d)|(?<=\d to) (?=-?\d)|(?<=\d bis) (?=-?\d)"
)
#: What stands for such a space while a text is broken into lines.
HARD_SPACE = "\u00a0"

#: The icon of each level of `logic.health.Health`.
HEALTH_ICONS = {
    "GOOD": "CHECKMARK",
    "OFF": "HIDE_ON",
    "WAITING": "TIME",
    "NOTICE": "INFO",
    "WARNING": "ERROR",
    "ERROR": "CANCEL",
}


def draw_text(column, text: str, width: int, icon: str = "DOT") -> None:
    """Draws `text` in the artist's language, wrapped to `width` characters, with the icon before the first line."""
    draw_translated(column, translate(text), width, icon)


def draw_translated(column, text: str, width: int, icon: str = "DOT") -> None:
    """Draws a text that is in the artist's language already."""
    for i, line in enumerate(wrap(text, width)):
        column.label(text=line, translate=False, icon=icon if i == 0 else "BLANK1")


def draw_bind(layout, armature: str, mesh: str = "") -> None:
    """Draws the button that lets an armature move a mesh, both by name; `mesh`: "" where its own panel draws it."""
    text = translate(f"Bind to “{armature}”") if armature else translate("Bind to Bones")
    if mesh:
        text = translate(f"Bind “{mesh}” to “{armature}”")
    button = layout.operator("thew.bind_bones", text=text, icon="CHECKMARK")
    button.armature, button.mesh = armature, mesh


def buttons(layout):
    """Returns a row of buttons and fields without labels before them."""
    row = layout.row(align=True)
    row.use_property_split = False
    return row


def wrap(text: str, width: int) -> list[str]:
    """Returns `text` in lines of at most `width` letters, broken between words, but not at `HARD_SPACES`, and between wide signs."""
    lines = [""]
    for word in HARD_SPACES.sub(HARD_SPACE, " ".join(text.split())).split(" "):
        gap = " "
        for piece in pieces(word):
            if lines[-1] and text_width(lines[-1]) + len(gap) + text_width(piece) > width:
                lines.append(piece)
            else:
                lines[-1] = f"{lines[-1]}{gap}{piece}".strip()
            gap = ""
    return [line.replace(HARD_SPACE, " ") for line in lines]


def letters_per_line(context) -> int:
    """Returns the number of characters that fit on a line of the panel."""
    return max(20, int((context.region.width / context.preferences.system.ui_scale - 60) / 6.5))
