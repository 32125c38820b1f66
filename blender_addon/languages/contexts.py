# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that Blender translates in another meaning, and the context that keeps them apart.

Blender asks its own translations first. In its German a Whole Character is a whole letter and a Cut is cut to the clipboard; in its
Chinese Modes are those of editors. Properties and panels of such names have the context `OWN`, which Blender's translations lack.
All other names stay in Blender's contexts, so that languages that Thew has no file for show Blender's words where they fit.
"""

from __future__ import annotations

#: Context of such names.
OWN = "Thew"

#: The names: those of properties stand for the items of their enumerations too.
AMBIGUOUS = frozenset(
    {
        "Adaptive", "Amount", "Axis", "By", "Check Existing", "Control", "Cut", "Cyclic", "Direction", "Enabled", "Filter", "From",
        "Group", "Guide", "Insertion", "Joints", "Key", "Keys", "Kind", "Landmarks", "Look", "Map", "Modes", "Origin", "Out", "Part", "Pin",
        "Plain", "Preview Size", "Regions", "Replace", "Roll", "Sample", "Side", "Size", "Softness", "Space", "Speed", "Start of Motion",
        "Strength", "Template", "Tension", "Thickness", "To", "Triangle", "Whole Character", "X Mirror",
    }
)  # fmt: skip


def own_context(name: str) -> dict[str, str]:
    """Returns the keyword that gives a property of this name its context; none for most names."""
    return {"translation_context": OWN} if name in AMBIGUOUS else {}
