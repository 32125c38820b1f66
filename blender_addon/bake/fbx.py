# SPDX-License-Identifier: GPL-3.0-or-later
"""The FBX exporter, without the modifiers that only store tension.

With Apply Modifiers, its default, it drops the shape keys of a mesh on which any modifier but Armature is on. It has no hooks, so its operator
is wrapped while Thew is switched on. Other modifiers are the artist's, and a trap (`fbx_traps`).
"""

from __future__ import annotations

import bpy
from bpy.app.handlers import persistent

from ..scene import baked_tension

#: Attribute of the wrapped function that holds the exporter's own.
ORIGINAL = "thew_original"


def exporter() -> type | None:
    """Returns the class of the exporter; None where this Blender has it not, or not switched on."""
    return getattr(bpy.types, "EXPORT_SCENE_OT_fbx", None)


def is_hooked() -> bool:
    """Returns whether the exporter is wrapped."""
    return hasattr(getattr(exporter(), "execute", None), ORIGINAL)


def hook() -> None:
    """Wraps the exporter, unless it is wrapped or absent."""
    kind = exporter()
    if is_hooked() or not hasattr(kind, "execute"):
        return
    original = kind.execute

    def execute(self, context):
        with baked_tension.without_modifiers():
            return original(self, context)

    setattr(execute, ORIGINAL, original)
    kind.execute = execute


@persistent
def after_load(*_) -> None:
    """Wraps an exporter that was switched on since."""
    hook()


def register() -> None:
    hook()
    bpy.app.handlers.load_post.append(after_load)


def unregister() -> None:
    if after_load in bpy.app.handlers.load_post:
        bpy.app.handlers.load_post.remove(after_load)
    if is_hooked():
        exporter().execute = getattr(exporter().execute, ORIGINAL)
