# SPDX-License-Identifier: GPL-3.0-or-later
"""Mends in one press what the check before exports reports."""

import bpy
from bpy.props import StringProperty

from ..bake import export_check, mending
from ..bake.traps import ExportSettings, open_exporter
from ..languages.translations import translate
from ..live.work import running_steppers
from ..logic.errors import Refusal, sentence
from ..logic.tasks import Task
from .operator_bases import Job, fresh_property


class THEW_OT_mend_export(Job, bpy.types.Operator):
    bl_label = "Mend Export"
    bl_description = "Change what would spoil the exported bake"

    trap: fresh_property(
        StringProperty, "Trap", "Name of what is wrong, as the check before exports has it", default=""
    )
    object: fresh_property(StringProperty, "Object", "Name of the mesh that it spoils", default="")
    exporter: fresh_property(
        StringProperty,
        "Exporter",
        "Identifier of the exporter, such as EXPORT_SCENE_OT_fbx; all of them if empty",
        default="",
    )

    @classmethod
    def poll(cls, _context):
        if running_steppers:
            cls.poll_message_set(translate("Thew is at work: wait, or press Esc"))
            return False
        return True

    @classmethod
    def description(cls, context, properties):
        """Returns the tooltip: what the button does, and the whole sentence on what is wrong."""
        does = mending.DESCRIPTIONS.get(properties.trap, cls.bl_description)
        settings = open_exporter(context, properties.exporter) or ExportSettings(properties.exporter)
        found = export_check.find_traps(context.scene.objects, settings)
        texts = [trap.text for trap in found if (trap.key, trap.obj.name) == (properties.trap, properties.object)]
        return "\n\n".join(map(translate, [does, *map(sentence, texts[:1])]))

    def job(self, context, _obj) -> Task:
        mesh = context.scene.objects.get(self.object)
        if mesh is None:
            raise Refusal(f"There is no object “{self.object}” in this scene: choose one that the check names")
        settings = open_exporter(context, self.exporter) or ExportSettings(self.exporter)
        return mending.mend(self.trap, mesh, context.scene, context.view_layer, settings)

    def message(self, _obj, result):
        return result
