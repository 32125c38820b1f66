# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes linked characters editable."""

import bpy

from ..edit import overriding
from ..live import registers, updates
from ..logic.names import describe
from ..scene.libraries import describe_library
from .operator_bases import QuickJob


class THEW_OT_make_override(QuickJob, bpy.types.Operator):
    bl_label = "Make Override"
    bl_description = (
        "Make the linked or instanced character editable in this file, as a library override: it stays linked, and changes of its file "
        "arrive here"
    )

    def edit(self, context, obj):
        updates.stop_update()
        library, mesh = describe_library(obj), overriding.make_override(context, obj)
        registers.look_again()
        if mesh.thew.made.shows_bake:
            return f"{describe(mesh)} is an override of {library}, and plays the bake of that file: press Show Live to change its flesh"
        if mesh.thew.made.flesh:
            return (
                f"{describe(mesh)} is an override of {library}, and has the flesh of that file: play, or press Simulate"
            )
        return f"{describe(mesh)} is an override of {library}: press Add Flesh"


class THEW_OT_make_mesh_local(QuickJob, bpy.types.Operator):
    bl_label = "Make Mesh Local"
    bl_description = (
        "Give this character a mesh of its own, which takes shape keys and painted maps. Changes of the library's mesh no longer "
        "arrive; its armature and all else stay linked"
    )

    def edit(self, _context, obj):
        updates.stop_update()
        library = describe_library(obj)
        overriding.make_mesh_local(obj)
        return f"{describe(obj)} has a mesh of its own; changes of the mesh in {library} no longer arrive"
