# SPDX-License-Identifier: GPL-3.0-or-later
"""Text in panels: as many lines as the width allows, and the icons that say how grave it is."""

from __future__ import annotations

#: The icon of each level of `logic.health.Health`.
HEALTH_ICONS = {
    "GOOD": "CHECKMARK",
    "OFF": "HIDE_ON",
    "WAITING": "TIME",
    "TOLD": "INFO",
    "WARNING": "ERROR",
    "ERROR": "CANCEL",
}


def draw_text(column, text: str, width: int, icon: str = "DOT") -> None:
    """`text` in as many lines as it needs, the icon before the first."""
    for i, line in enumerate(wrapped(text, width)):
        column.label(text=line, icon=icon if i == 0 else "BLANK1")


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` characters, where words allow."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def letters(context) -> int:
    """How many letters a line of the panel holds."""
    return max(20, int((context.region.width / context.preferences.system.ui_scale - 60) / 6.5))
