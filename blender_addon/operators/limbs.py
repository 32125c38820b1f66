# SPDX-License-Identifier: GPL-3.0-or-later
"""Limbs: made along selected bones, written as attributes, used to paint maps, and transferred to other characters."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty, StringProperty

from ..edit import limb_shape
from ..edit import limbs as edit
from ..languages.translations import report
from ..live import target, updates
from ..logic.errors import Refusal
from ..logic.limbs import Region
from ..logic.names import describe
from ..logic.sentences import plural
from ..rigs.anchors import unmark
from ..saved import limbs as saved
from ..scene import flesh_map, windows
from ..scene import limbs as scene_limbs
from ..scene.libraries import check_own_entry
from ..scene.reading import NOTHING_ACTIVE_TEXT
from .operator_bases import QuickJob, factor, fresh_property, option


class THEW_OT_limb_add(QuickJob, bpy.types.Operator):
    bl_label = "Limb from Bones"
    bl_description = (
        "Create coordinates along, around and in depth for the limb of the bones selected in Pose mode, for "
        "materials, geometry nodes, maps, and corresponding places on other characters"
    )

    bones: fresh_property(
        StringProperty, "Bones", "Names of the bones, one per line and in any order; empty: the selected ones"
    )
    atoms_per_bone: option(
        IntProperty, "Handles per Bone", "Number of handles along each bone", default=3, min=1, max=12
    )
    spokes: option(IntProperty, "Spokes", "Number of spokes around the limb", default=8, min=4, max=32)

    def edit(self, context, obj):
        if obj is None:
            raise Refusal(NOTHING_ACTIVE_TEXT)
        names = self.bones.split("\n") if self.bones else scene_limbs.selected_bones(obj)
        limb, met = edit.add(context, obj, names, self.atoms_per_bone, self.spokes)
        limb_shape.note_edit(obj)
        if met.miss > 2 * edit.MAX_GOOD_MISS:
            report(
                self,
                {"WARNING"},
                f"“{limb.name}” is not a tube all along: choose fewer of its bones, or Drag Handles to where it "
                "should be",
            )
        return met.message(limb.name)


class THEW_OT_limb_remove(QuickJob, bpy.types.Operator):
    bl_label = "Remove Limb"
    bl_description = "Remove the chosen limb; attributes and maps already written stay"

    def edit(self, _context, obj):
        limb = chosen_limb(obj)
        name = limb.name
        check_own_entry(obj, "limbs", obj.thew.active_limb, "limb")
        obj.thew.limbs.remove(obj.thew.active_limb)
        obj.thew.active_limb = max(0, min(obj.thew.active_limb, len(obj.thew.limbs) - 1))
        unmark(obj)
        limb_shape.note_edit(obj)
        return f"Removed the limb “{name}”."


class THEW_OT_limb_attributes(QuickJob, bpy.types.Operator):
    bl_label = "Write Coordinates"
    bl_description = (
        "Write Along, Around (0 to 1), Depth and Limb (its number in the list, 0 for none) as attributes of the mesh, for materials "
        "(Attribute node) and geometry nodes (Named Attribute)"
    )

    def edit(self, context, obj):
        count = edit.write_attributes(context, obj)
        return f"Along, Around, Depth and Limb are written for {count} of {len(obj.data.vertices)} vertices."


class THEW_OT_limb_paint(QuickJob, bpy.types.Operator):
    bl_label = "Paint by Limb"
    bl_description = "Write a part of the limb into the map Flesh or Stiffness, by its position along and around"

    map: option(
        EnumProperty,
        "Map",
        "Map to paint",
        items=(("FLESH", "Flesh", "Softness"), ("STIFFNESS", "Stiffness", "Factor on the stiffness")),
        default="FLESH",
    )
    amount: factor("Amount", "Value to write", 1.0)
    start: factor("From", "Start along the limb", 0.0)
    end: factor("To", "End along the limb", 1.0)
    side: factor("Side", "Side of the limb, in turns from the inside of the bend", 0.0)
    width: option(
        FloatProperty,
        "Width",
        "Width around the limb, as a share of the whole turn",
        default=1.0,
        min=0.01,
        max=1.0,
        subtype="FACTOR",
    )
    soft: factor("Soft Edge", "Softness of the edges", 0.15)

    def invoke(self, context, event):
        """Asks for the region and the amount; the painted map is then shown."""
        if windows.is_headless() or context.window is None:
            return self.execute(context)
        try:
            chosen_limb(target.target_mesh(context))
        except Refusal as error:
            return self.refuse(target.target_mesh(context), error)
        return context.window_manager.invoke_props_dialog(self)

    def edit(self, context, obj):
        limb = chosen_limb(obj)
        if self.end <= self.start:
            raise Refusal(
                f"From is {self.start:.2f} and To {self.end:.2f}: a part of the limb must end beyond where it begins"
            )
        updates.stop_update()
        name = flesh_map.FLESH if self.map == "FLESH" else flesh_map.STIFFNESS
        region = Region(self.start, self.end, self.side, self.width, self.soft)
        count = edit.paint(context, obj, limb, name, region, self.amount)
        obj.vertex_groups.active = obj.vertex_groups[name]
        obj.thew.show_map = obj.thew.show_map or name == flesh_map.FLESH
        return f"“{limb.name}”: {count} vertices of the map {name}."


class THEW_OT_limb_carry(QuickJob, bpy.types.Operator):
    bl_label = "Copy Weights"
    bl_description = (
        "Copy a vertex group from the limbs of the other selected mesh to the same places on the active one's: limbs of one name belong "
        "together"
    )

    group: option(StringProperty, "Vertex Group", "Vertex group to copy", default=flesh_map.FLESH)
    source: fresh_property(StringProperty, "From", "Mesh to copy from; empty: the other selected one")

    def edit(self, context, obj):
        source = other_mesh(context, obj, self.source)
        updates.stop_update()
        names, count, painted = edit.carry(context, source, obj, self.group)
        where = ", ".join(f"“{name}”" for name in names)
        return (
            f"“{self.group}” is carried to {where}: {painted} of {plural(count, 'vertex', 'vertices')} have some there."
        )


class THEW_OT_suggest_bones(QuickJob, bpy.types.Operator):
    bl_label = "Suggest Bones"
    bl_description = "Create an armature along the middles of limbs and trunk of a mesh without bones. Look it over, then bind the mesh to it"

    def edit(self, context, obj):
        armature = edit.suggest_bones(context, obj)
        return (
            f"{describe(armature)} has {len(armature.data.bones)} bones: look them over, then press Bind in the panel."
        )


def other_mesh(context, obj, name: str) -> bpy.types.Object:
    """Returns the mesh to copy from: the named one, or else the other selected one."""
    if obj is None or obj.type != "MESH":
        raise Refusal("Nothing is active: select the mesh to carry from, then the one to carry to")
    if name:
        source = bpy.data.objects.get(name)
        if source is None or source.type != "MESH":
            raise Refusal(f"There is no mesh “{name}” to carry from: choose one of this file")
        return source
    others = [o for o in context.selected_objects if o.type == "MESH" and o != obj]
    if len(others) != 1:
        raise Refusal(
            f"Select one mesh to carry from in addition to {describe(obj)}, which is active and gets it: "
            f"{len(others)} are selected"
        )
    return others[0]


def chosen_limb(obj) -> saved.ThewLimb:
    """Returns the chosen limb. Raises a `Refusal` if no limb is chosen."""
    limb = saved.active_limb(obj)
    if limb is None:
        raise Refusal(f"{describe(obj) if obj else 'Nothing'} has no limb: make one from selected bones first")
    return limb
