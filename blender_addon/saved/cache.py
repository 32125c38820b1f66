# SPDX-License-Identifier: GPL-3.0-or-later
"""The saved setting for the disk cache of body and motion."""

from __future__ import annotations

from bpy.props import EnumProperty

CACHES = (
    (
        "FOLDER",
        "Beside the File",
        "Keep body and motion in a folder beside the .blend, named after it, at every save",
    ),
    (
        "FILE",
        "In the File",
        "Keep body and motion in the .blend: it grows, and shows its flesh at once wherever it is opened",
    ),
    ("NONE", "Off", "Keep nothing: flesh is built anew when the file is opened"),
)


class CacheProperties:
    """Mix-in for the settings of an object."""

    cache: EnumProperty(
        name="Cache",
        description="Place of the saved body and motion, so that the file shows its flesh at once when opened",
        items=CACHES,
        default="FOLDER",
        options=set(),
    )
