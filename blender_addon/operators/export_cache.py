# SPDX-License-Identifier: GPL-3.0-or-later
"""Export Cache: USD or Alembic of what is seen, in one press."""

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..bake import cache_export
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.sentences import join_words
from ..scene import windows
from .operator_bases import Job, fresh_property


class THEW_OT_export_cache(Job, bpy.types.Operator):
    bl_label = "Export Cache"
    bl_description = "Write the selected characters as they are seen, live or baked, in every frame of the scene, for renderers and other programs"
    bl_options = {"REGISTER"}

    filepath: fresh_property(StringProperty, "File", "File to write", default="", subtype="FILE_PATH")
    check_existing: fresh_property(BoolProperty, "Check Existing", "Warn before a file is overwritten", default=True)
    filter_glob: fresh_property(StringProperty, "Filter", "Files shown", default="*.usd;*.usdc;*.usda;*.usdz;*.abc")
    format: fresh_property(EnumProperty, "Format", "Format of the file", items=cache_export.FORMAT_ITEMS, default="USD")
    velocities: fresh_property(
        BoolProperty, "Velocities", "Write the velocity of every vertex, by which renderers blur motion", default=True
    )

    def invoke(self, context, event):
        """Asks for the file where none is named; else writes it, with a progress bar."""
        if windows.is_headless() or context.window is None or self.filepath:
            return super().invoke(context, event)
        try:
            cache_export.check_exporter(cache_export.FORMATS[self.format])
        except Refusal as error:
            return self.refuse(None, error)
        self.filepath, self._asked = cache_export.suggested_path(self.format, ""), True
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def draw(self, _context):
        self.layout.use_property_split = True
        for name in ("format", "velocities"):
            self.layout.prop(self, name)

    def check(self, _context):
        """Gives the file the ending of the format that is chosen in the file browser."""
        path = cache_export.suggested_path(self.format, self.filepath)
        changed = bool(self.filepath) and path != self.filepath and not self.filepath.endswith(("/", "\\"))
        if changed:
            self.filepath = path
        return changed

    def execute(self, context):
        """Writes the file; after the file browser in steps, so that Esc cancels."""
        if not getattr(self, "_asked", False):
            return super().execute(context)
        values = {name: getattr(self, name) for name in ("filepath", "format", "velocities")}
        bpy.ops.thew.export_cache("INVOKE_DEFAULT", **values)
        return {"FINISHED"}

    def job(self, context, obj):
        chosen = [
            each for each in context.view_layer.objects.selected if each.type == "MESH" and cache_export.is_ours(each)
        ]
        chosen = chosen or [each for each in [obj] if each is not None and each.type == "MESH"]
        if not chosen:
            raise Refusal("No mesh is chosen: select the mesh with flesh")
        self.names = join_words([describe(each) for each in chosen])
        return cache_export.export(
            chosen, context.scene, context.view_layer, self.format, self.filepath, self.velocities
        )

    def message(self, _obj, result):
        return [
            *result,
            f"{self.names} was written to {self.filepath}"
            if " and " not in self.names
            else f"{self.names} were written to {self.filepath}",
        ]
