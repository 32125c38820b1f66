# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies rigs to another character: by the limbs of both, and else by their bones. A dialog shows these in pairs, and the view the mapped skin."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, StringProperty

from ..edit import limb_rigs
from ..edit.limb_guides import LimbOwner
from ..edit.retargeting import CharacterLink
from ..live import jobs, target, updates
from ..logic.errors import sentence
from ..logic.names import describe
from ..logic.native import EXPECTED_ERRORS
from ..logic.sentences import plural
from ..rigs import rigging
from ..saved import rig_layouts
from ..saved.retargeting import ThewBonePair
from ..scene import windows
from ..scene.colours import write_colours
from ..scene.reading import armature_of
from ..ui import ghost_overlay, pair_list
from .limbs import other_mesh
from .operator_bases import QuickJob, fresh_property

#: Width of the dialog in pixels.
DIALOG_WIDTH = 460
#: Rigs whose errors the dialog lists. More would push its button off the screen; the message names the first too.
MAX_ROWS = 10

#: Colours of the map.
PAINTS = (
    ("NONE", "Ghost", "Show the other skin as a ghost, and paint nothing"),
    ("ORIGIN", "Where From", "Give each point of both characters the colour of its place on the other one"),
    (
        "DISTANCE",
        "Distance",
        "Colour this skin by its distance from the other: blue on it, red from 2 % of the size on",
    ),
)
#: Colour attributes that are written, by the kind of colours.
ATTRIBUTES = {"ORIGIN": "Thew Origin", "DISTANCE": "Thew Distance"}


class THEW_OT_rig_copy(QuickJob, bpy.types.Operator):
    bl_label = "Copy Rigs to Another Character"
    bl_description = (
        "Copy the rigs of the other selected mesh to the active one: on limbs that both have by the limbs, else by the bones "
        "that correspond, with suitable size and strength"
    )

    source: fresh_property(StringProperty, "From", "Mesh to copy from; empty: the other selected one")
    names: fresh_property(
        BoolProperty, "Names", "Names of bones count, parts and sides in several languages", default=True
    )
    swap: fresh_property(
        BoolProperty,
        "Swap Sides",
        "Exchange left and right: for a character that looks the other way, whose bones have no names",
        default=False,
    )
    landmarks: fresh_property(
        BoolProperty, "Landmarks", "Bring the points together that were set with Click Landmarks", default=True
    )
    paint: fresh_property(
        EnumProperty,
        "Colours",
        "Colours of the map in the view; OK keeps them as a colour attribute of the mesh",
        items=PAINTS,
        default="NONE",
    )
    pairs: CollectionProperty(type=ThewBonePair, options={"SKIP_SAVE"})
    active_pair: IntProperty(name="Pair", description="Pair chosen in the list", options={"SKIP_SAVE", "HIDDEN"})

    #: Choices whose map is shown, and (name, error in words) of each rig. The panel of the last operator shows none.
    shown, errors = (), ()

    def invoke(self, context, _event):
        """Shows the pairs of bones; without a window, copies at once."""
        if windows.is_headless() or context.window is None:
            return self.execute(context)
        obj = target.target_mesh(context)
        try:
            self.find_pairs(context, obj)
        except Exception as error:
            return self.refuse(obj, error)
        return context.window_manager.invoke_props_dialog(self, width=DIALOG_WIDTH)

    def check(self, context):
        """Follows a change in the dialog: finds the pairs anew, or shows where changed pairs put the skin."""
        obj = target.target_mesh(context)
        try:
            if (self.names, self.swap) != self.shown[:2]:
                self.find_pairs(context, obj)
            elif self.choices() != self.shown:
                self.show_map(context, obj, self.link_of(context, obj, given_pairs(self.pairs)))
            else:
                return False
        except EXPECTED_ERRORS as error:
            ghost_overlay.hide()
            self.errors = [("", sentence(str(error)))]
        return True

    def choices(self) -> tuple:
        """Returns what the map that is shown depends on."""
        return self.names, self.swap, self.landmarks, self.paint, given_pairs(self.pairs)

    def draw(self, context):
        layout, obj = self.layout, target.target_mesh(context)
        row = layout.row()
        row.prop(self, "names")
        row.prop(self, "swap")
        pair_list.armatures[:] = [armature_of(each) for each in (other_mesh(context, obj, self.source), obj)]
        rows = min(max(len(self.pairs), 1), pair_list.MAX_ROWS)
        layout.template_list("THEW_UL_bone_pairs", "", self, "pairs", self, "active_pair", rows=rows, maxrows=rows)
        count = len(obj.thew.landmarks)
        if count:
            layout.prop(self, "landmarks", text=plural(count, "Landmark"))
        else:
            layout.label(text="Where a part lies wrong: Cancel, then Click Landmarks", icon="INFO")
        layout.row().prop(self, "paint", expand=True)
        if not self.errors:
            return
        box = layout.box().column(align=True)
        box.label(text="Distance of the skins at each rig")
        for name, text in self.errors[:MAX_ROWS]:
            row = box.row()
            row.label(text=name)
            row.label(text=text)

    def link_of(self, context, obj, given=()) -> CharacterLink:
        """Returns the correspondence of both characters with the choices of the dialog."""
        both = (other_mesh(context, obj, self.source), obj)
        sides = (LimbOwner(each, jobs.with_body(each, context.scene, context.view_layer)) for each in both)
        return CharacterLink(*sides, given, self.names, self.swap and not given, self.landmarks)

    def find_pairs(self, context, obj) -> None:
        """Fills the table with the pairs of bones that shape and names give."""
        link = self.link_of(context, obj)
        self.pairs.clear()
        for pair in link.bone_names():
            added = self.pairs.add()
            added.source, added.target = pair
        self.show_map(context, obj, link)

    def show_map(self, context, obj, link: CharacterLink) -> None:
        """Shows the mapped skin as a ghost, or in colours, and finds each rig's error."""
        self.shown, self.errors = self.choices(), []
        if self.paint == "NONE":
            ghost_overlay.show(obj, link.ghost(context.view_layer.depsgraph))
        else:
            ghost_overlay.paint(coloured_meshes(link, self.paint))
        for rig in link.here.obj.thew.rigs:
            try:
                self.errors.append((rig.name, link.error_text(rig)))
            except EXPECTED_ERRORS:
                self.errors.append((rig.name, "does not push"))
        windows.redraw()

    def cancel(self, _context):
        """Takes the ghost away when the dialog is left."""
        ghost_overlay.hide()
        windows.redraw()

    def edit(self, context, obj):
        ghost_overlay.hide()
        source = other_mesh(context, obj, self.source)
        updates.stop_update()
        for each in (source, obj):
            rig_layouts.migrate(each)
        given, links = given_pairs(self.pairs), []

        def link_of(here: LimbOwner, there: LimbOwner) -> CharacterLink:
            # The table has sides exchanged already.
            links.append(CharacterLink(here, there, given, self.names, self.swap and not given, self.landmarks))
            return links[0]

        report = limb_rigs.carry(context, source, obj, link_of)
        for text in report.warnings:
            self.report({"WARNING"}, text)
        rigging.show_edit(context, obj)
        return [report.message(obj), *self.keep_colours(context, links[0])]

    def keep_colours(self, context, link: CharacterLink) -> list[str]:
        """Writes the colours that are chosen as attributes, shows them, and returns a sentence about it."""
        if self.paint == "NONE":
            return []
        name = ATTRIBUTES[self.paint]
        painted = coloured_meshes(link, self.paint)
        for each, colours in painted.items():
            write_colours(each.data, name, colours)
        if context.space_data is not None and context.space_data.type == "VIEW_3D":
            context.space_data.shading.color_type = "VERTEX"
        where = " and ".join(describe(each) for each in painted)
        return [f"The colour attribute “{name}” of {where} is written: Solid shading shows it with Color, Attribute."]


def coloured_meshes(link: CharacterLink, kind: str) -> dict:
    """Returns the colours of the vertices of both meshes, or of the one that gets rigs, by their objects."""
    sides = zip((link.here.obj, link.there.obj), link.colours(kind), strict=True)
    return {obj: colours for obj, colours in sides if colours is not None}


def given_pairs(pairs) -> list[tuple[str, str]]:
    """Returns the pairs of a table that are whole."""
    return [(pair.source, pair.target) for pair in pairs if pair.source and pair.target]
