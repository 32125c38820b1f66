# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies rigs to another character: by the limbs of both, and else by their bones. A dialog shows these in pairs, and the view the mapped skin
and the bones, each pair in a colour of its own.
"""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, StringProperty

from ..edit import limb_rigs, limbs
from ..edit.limb_guides import LimbOwner
from ..edit.retargeting import CharacterLink
from ..edit.rig_copies import CopyReport
from ..edit.rig_fit import fit, fit_text
from ..languages.translations import report, translate
from ..live import jobs, target, updates
from ..logic.errors import sentence
from ..logic.names import describe
from ..logic.native import EXPECTED_ERRORS
from ..logic.pair_colours import pair_colours
from ..logic.sentences import plural
from ..rigs import rigging
from ..saved import rig_layouts
from ..saved.retargeting import ThewBonePair, ThewPairColour
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
    ("PAIRS", "Pairs", "Give the skin of bones that correspond one colour on both characters; grey has no partner"),
    ("ORIGIN", "Where From", "Give each point of both characters the colour of its place on the other one"),
    (
        "DISTANCE",
        "Distance",
        "Colour this skin by its distance from the other: blue on it, red from 2 % of the size on",
    ),
)
#: Colour attributes that are written, by the kind of colours.
ATTRIBUTES = {"PAIRS": "Thew Pairs", "ORIGIN": "Thew Origin", "DISTANCE": "Thew Distance"}


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
    colours: CollectionProperty(type=ThewPairColour, options={"SKIP_SAVE", "HIDDEN"})
    active_pair: IntProperty(name="Pair", description="Pair chosen in the list", options={"SKIP_SAVE", "HIDDEN"})

    #: Choices whose map is shown, its link, and (name, distance of the skins, fit) of each rig in words. The panel of the last operator has none.
    shown, link, errors = (), None, ()

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
                known = self.link if self.has_map() else None
                self.show_map(context, obj, known or self.link_of(context, obj, given_pairs(self.pairs)))
            else:
                return False
        except EXPECTED_ERRORS as error:
            ghost_overlay.hide()
            self.link, self.errors = None, [("", sentence(str(error)), "")]
        return True

    def choices(self) -> tuple:
        """Returns what the view shows: the choices of `map_choices` first, and then colours."""
        return *self.map_choices(), self.paint, self.pair_colours()

    def map_choices(self) -> tuple:
        """Returns what the map depends on."""
        return self.names, self.swap, self.landmarks, given_pairs(self.pairs)

    def has_map(self) -> bool:
        """Returns whether the link that is shown is that of the present choices."""
        choices = self.map_choices()
        return self.link is not None and self.shown[: len(choices)] == choices

    def pair_colours(self) -> dict[tuple[str, str], tuple[float, ...]]:
        """Returns the colours of the whole pairs of the table."""
        rows = zip(self.pairs, self.colours, strict=False)  # a script passes pairs without colours
        return {(pair.source, pair.target): tuple(row.colour) for pair, row in rows if pair.source and pair.target}

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
            layout.prop(self, "landmarks", text=translate(plural(count, "Landmark")))
        else:
            layout.label(text="Where a part lies wrong: Cancel, then Click Landmarks", icon="INFO")
        layout.row().prop(self, "paint", expand=True)
        if not self.errors:
            return
        box = layout.box().column(align=True)
        box.label(text="Distance of the skins at each rig, and how well it fits there")
        for texts in self.errors[:MAX_ROWS]:
            row = box.row()
            for text in texts:
                row.label(text=translate(text))

    def link_of(self, context, obj, given=()) -> CharacterLink:
        """Returns the correspondence of both characters with the choices of the dialog."""
        both = (other_mesh(context, obj, self.source), obj)
        sides = (LimbOwner(each, jobs.with_body(each, context.scene, context.view_layer)) for each in both)
        return CharacterLink(*sides, given, self.names, self.swap and not given, self.landmarks)

    def find_pairs(self, context, obj) -> None:
        """Fills the table with the pairs of bones that shape and names give."""
        link = self.link_of(context, obj)
        self.pairs.clear()
        self.colours.clear()
        pairs = link.bone_names()
        for pair, colour in zip(pairs, pair_colours(len(pairs)), strict=True):
            added = self.pairs.add()
            added.source, added.target = pair
            self.colours.add().colour = colour
        self.show_map(context, obj, link)

    def show_map(self, context, obj, link: CharacterLink) -> None:
        """Shows the mapped skin as a ghost, or in colours, and the bones of the pairs; finds each rig's error and fit."""
        depsgraph, colours = context.view_layer.depsgraph, self.pair_colours()
        self.shown = self.choices()
        if link is not self.link:
            self.link, self.errors = link, rig_errors(link)
        if self.paint == "NONE":
            ghost_overlay.show(obj, link.ghost(depsgraph))
        else:
            ghost_overlay.paint(coloured_meshes(link, self.paint, colours))
        armatures = (armature_of(side.obj) for side in (link.here, link.there))
        bones = zip(link.posed_bones(depsgraph), link.bone_colours(colours), strict=True)
        ghost_overlay.mark(dict(zip(armatures, bones, strict=True)))
        windows.redraw()

    def cancel(self, _context):
        """Takes the ghost away when the dialog is left."""
        self.link = None
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
            if self.has_map() and self.link.joins(here, there):
                links.append(self.link)
            else:  # the table has sides exchanged already
                links.append(CharacterLink(here, there, given, self.names, self.swap and not given, self.landmarks))
            return links[0]

        copied = limb_rigs.carry(context, source, obj, link_of)
        for text in copied.warnings:
            report(self, {"WARNING"}, text)
        rigging.show_edit(context, obj)
        self.link = None  # the operator stays in the history, and need not keep two bodies
        return [copied.message(obj), *self.keep_colours(context, links[0])]

    def keep_colours(self, context, link: CharacterLink) -> list[str]:
        """Writes the colours that are chosen as attributes, shows them, and returns a sentence about it."""
        if self.paint == "NONE":
            return []
        name = ATTRIBUTES[self.paint]
        painted = coloured_meshes(link, self.paint, self.pair_colours())
        for each, colours in painted.items():
            write_colours(each.data, name, colours)
        if context.space_data is not None and context.space_data.type == "VIEW_3D":
            context.space_data.shading.color_type = "VERTEX"
        where = " and ".join(describe(each) for each in painted)
        return [f"The colour attribute “{name}” of {where} is written: Solid shading shows it with Color, Attribute."]


def coloured_meshes(link: CharacterLink, kind: str, pairs: dict | None = None) -> dict:
    """Returns the colours of the vertices of both meshes, or of the one that gets rigs, by their objects; `pairs`: colours of pairs of bones."""
    found = link.paired_skin(pairs or {}) if kind == "PAIRS" else link.colours(kind)
    sides = zip((link.here.obj, link.there.obj), found, strict=True)
    return {obj: colours for obj, colours in sides if colours is not None}


def rig_errors(link: CharacterLink) -> list[tuple[str, str, str]]:
    """Returns (name, distance of the skins, fit on the other character) of each rig, in words."""
    matched = limbs.common_limbs(link.here.obj, link.there.obj)
    try:
        planned, _ = limb_rigs.plan_rigs(link.here, link.there, matched, link, CopyReport())
    except EXPECTED_ERRORS as error:
        return [("", sentence(str(error)), "")]
    plans, found = {copy.rig.name: copy for copy in planned}, []
    for rig in link.here.obj.thew.rigs:
        try:
            distance = link.error_text(rig)
        except EXPECTED_ERRORS:
            found.append((rig.name, "does not push", ""))
            continue
        share = fit(link.here, link.there, plans[rig.name], link.native) if rig.name in plans else None
        words = "" if rig.name in plans else "has no place there"
        found.append((rig.name, distance, words if share is None else fit_text(share)))
    return found


def given_pairs(pairs) -> list[tuple[str, str]]:
    """Returns the pairs of a table that are whole."""
    return [(pair.source, pair.target) for pair in pairs if pair.source and pair.target]
