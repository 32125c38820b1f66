# SPDX-License-Identifier: GPL-3.0-or-later
"""The FBX exporter, without the modifiers that only store tension, and without baked keys while helper bones play.

With Apply Modifiers, its default, it drops the shape keys of a mesh on which any modifier but Armature is on. It writes muted keys too, which
beside helper bones are dead weight. It has no hooks, so its operator is wrapped while Thew is switched on. Other modifiers are the artist's,
and a trap (`fbx_traps`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
from bpy.app.handlers import persistent

from ..scene import baked_tension, helper_playing, writing

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
        with baked_tension.without_modifiers(), without_dead_keys():
            return original(self, context)

    setattr(execute, ORIGINAL, original)
    kind.execute = execute


def leaves_out_keys(obj: bpy.types.Object) -> bool:
    """Returns whether an export leaves out the baked keys of a mesh: helper bones play instead, and its mesh can be exchanged."""
    mine = obj.library is None and obj.override_library is None and obj.data.library is None and obj.mode == "OBJECT"
    return is_hooked() and mine and helper_playing.is_shown(obj) and bool(writing.baked_keys(obj))


@contextmanager
def without_dead_keys() -> Iterator[None]:
    """Gives the meshes of which helper bones play the flesh copies without baked keys, within the context."""
    found = [obj for obj in bpy.data.objects if obj.type == "MESH" and leaves_out_keys(obj)]
    copies: list[tuple[bpy.types.Object, bpy.types.Mesh, str, int]] = []
    try:
        for obj in found:
            mesh, names = obj.data, [key.name for key in writing.baked_keys(obj)]
            copies.append((obj, mesh, mesh.name, obj.active_shape_key_index))
            obj.data = mesh.copy()
            mesh.name, obj.data.name = f"{mesh.name} before the export", mesh.name
            for name in names:
                obj.shape_key_remove(obj.data.shape_keys.key_blocks[name])
        yield
    finally:
        for obj, mesh, name, active in reversed(copies):
            copy = obj.data
            obj.data = mesh
            if copy != mesh:
                bpy.data.meshes.remove(copy)
            mesh.name, obj.active_shape_key_index = name, active


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
