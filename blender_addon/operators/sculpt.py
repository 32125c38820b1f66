# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator Shape Key to Rig."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, IntProperty, StringProperty

from ..edit import posed_character, regions, sculpting
from ..live import target
from ..logic.errors import Refusal
from ..logic.names import describe
from ..scene import windows
from ..scene.reading import armature_of
from .operator_bases import fresh_property, option
from .rig_edit import RigEdit


class THEW_OT_rig_from_shape(RigEdit, bpy.types.Operator):
    bl_label = "Shape Key to Rig"
    bl_description = (
        "Make a rig that brings the flesh to a shape at the present pose: the active shape key, or a sculpted copy of the mesh "
        "that is selected too. The skin keeps its sway"
    )
    needs_flesh = True

    key: fresh_property(StringProperty, "Shape Key", "Key whose shape is wanted; empty: the active one")
    sculpt: fresh_property(
        StringProperty,
        "Sculpt",
        "Mesh in the wanted shape at this pose, in place of a key; empty: another selected mesh",
    )
    group: fresh_property(
        StringProperty, "Region", "Vertex group of the skin that takes part, other skin holds still; empty: all of it"
    )
    selected: fresh_property(
        BoolProperty,
        "Selected Vertices",
        "Only skin that is selected in edit mode takes part, in place of a group",
        default=False,
    )
    steps: option(
        IntProperty,
        "Samples on the Way",
        "Poses between rest and this one at which the rig holds its share of the shape",
        default=3,
        min=1,
        max=20,
    )
    driven: option(
        BoolProperty, "Drive by a Bone", "Drive the control by the bone that turns most in this pose", default=True
    )
    bone: fresh_property(StringProperty, "Bone", "Bone that drives; empty: the one that turns most in this pose")

    def invoke(self, context, _event):
        if windows.is_headless() or context.window is None:
            return self.execute(context)
        obj = target.target_mesh(context)
        sculpt = self.selected_sculpt(context, obj)
        if obj is not None and not self.properties.is_property_set("group") and regions.REGION in obj.vertex_groups:
            self.group = regions.REGION
        self.sculpt = sculpt.name if sculpt is not None else ""
        if sculpt is None and not self.key:
            self.key = active_key(obj)
        return context.window_manager.invoke_props_dialog(self)

    def draw(self, context):
        layout, obj = self.layout, target.target_mesh(context)
        layout.use_property_split = True
        keys, armature = obj.data.shape_keys, armature_of(obj)
        if self.sculpt:
            layout.prop_search(self, "sculpt", bpy.data, "objects")
        elif keys is not None:
            layout.prop_search(self, "key", keys, "key_blocks")
        layout.prop(self, "selected")
        if not self.selected:
            layout.prop_search(self, "group", obj, "vertex_groups")
        layout.prop(self, "steps")
        layout.prop(self, "driven")
        if self.driven and armature is not None:
            layout.prop_search(self, "bone", armature.data, "bones")

    def selected_sculpt(self, context, obj) -> bpy.types.Object | None:
        """Returns the mesh that is selected beside the character."""
        others = [each for each in context.selected_objects if each.type == "MESH" and each != obj]
        return others[0] if len(others) == 1 and not self.key else None

    def change(self, context, obj):
        sculpt = bpy.data.objects.get(self.sculpt) if self.sculpt else self.selected_sculpt(context, obj)
        if self.sculpt and (sculpt is None or sculpt.type != "MESH"):
            raise Refusal(f"There is no mesh “{self.sculpt}”: choose a sculpted copy of {describe(obj)}")
        select = sculpting.selection(obj, self.group, self.selected)
        stand = posed_character.read(obj, context.scene, context.view_layer)
        if sculpt is not None:
            shape = sculpting.shape_of_mesh(stand, sculpt, context.view_layer)
        else:
            shape = sculpting.shape_of_key(stand, self.key)
        native = sculpting.fit(stand, shape, self.steps, select, context.view_layer)
        if not native.forces(stand.flesh.body, 1.0).any():
            raise Refusal(f"“{shape.name}” is the shape that {describe(obj)} has already: change it first")
        driver = self.bone if self.driven else None
        text = sculpting.add_driven(stand, native, driver, context.view_layer, f"“{shape.name}”")
        if sculpt is None:
            obj.data.shape_keys.key_blocks[shape.name].mute = True  # it would act twice
        return text


def active_key(obj: bpy.types.Object | None) -> str:
    """Returns the name of the active shape key, so that the dialog shows it; empty for the basis and without keys."""
    key = None if obj is None else obj.active_shape_key
    return key.name if key is not None and key != key.id_data.reference_key else ""
