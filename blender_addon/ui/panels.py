# SPDX-License-Identifier: GPL-3.0-or-later
"""The main panels, once in the sidebar of the 3D view and once among the physics properties.

The main panel holds what every session needs: target mesh, on and off, Softness, kind and height, Contact, Paint, Bake,
and the state of the flesh. The state always takes the same number of rows, so that no button moves. Its first row turns
into a progress bar while something is computed. Everything else is in foldouts, with messages below the settings.
"""

from __future__ import annotations

import bpy

from ..edit import explaining
from ..languages.translations import translate
from ..live import hidden_flesh, target
from ..live.session import register as fleshes
from ..logic import contact, modal, native
from ..logic.errors import sentence
from ..logic.fine_detail import cost_text
from ..logic.health import cost, method_cost, shorten
from ..logic.sentences import join_words, modal_lines, plural
from ..scene import bakes, binding, cache_files, flesh_map, writing
from ..scene.reading import armature_modifier, idle_armature_modifier, idle_armature_text
from . import library_panel, meshless_panel
from .bake_panel import draw_bake
from .contact_panel import draw_contact, draw_switch
from .details_panel import draw_details
from .health_rows import draw_health, draw_progress
from .layouts import buttons, draw_bind, draw_text, letters_per_line, wrap
from .panel_places import Physics, Sidebar, idle_part, panels
from .restarts import draw_restarts
from .riding_panel import draw_offer, draw_rider
from .twist_panel import draw_twist

# the main panel -----------------------------------------------------------------------------------------------------


def draw_target(layout, context, obj) -> None:
    """Draws which mesh the buttons work on, if an armature is active."""
    armature = target.target_armature(context)
    if armature is None:
        return
    if len(target.moved_meshes(armature, context.scene)) > 1:
        layout.prop(armature.thew, "chosen", text="", icon="MESH_DATA", placeholder=obj.name)
    else:
        layout.label(text=obj.name, translate=False, icon="MESH_DATA")


def draw_start(layout, context, obj, width: int) -> None:
    """Draws the panel of a mesh that has no flesh yet."""
    settings, idle = obj.thew, idle_armature_modifier(obj)
    outer, layout = layout, idle_part(layout)
    if idle is not None:
        draw_idle(layout, obj, idle, width)
    elif armature_modifier(obj) is None:
        draw_boneless(layout, context, obj, width)
    else:
        layout.operator("thew.add", icon="ADD").cells_across = settings.cells_across
    if not draw_progress(outer) and idle is None:
        outer.label(text=shorten(translate(no_flesh_text(obj)), width), icon="INFO")
    column = idle_part(outer)
    column.prop(settings, "kind")
    column.prop(settings, "cells_across")
    draw_cost(column, settings, width)
    column.operator("thew.diagnose", icon="COPYDOWN")
    if len(obj.thew.bakes):
        column.operator("thew.remove", text="Delete Bakes", icon="X").remove_baked_keys = True


def draw_idle(layout, obj, idle: bpy.types.ArmatureModifier, width: int) -> None:
    """Draws what to do about an Armature modifier that does nothing, with the button that switches it on."""
    column = layout.column(align=True)
    draw_text(column, sentence(idle_armature_text(obj, idle)), width, icon="INFO")
    if idle.object is not None:
        column.operator("thew.switch_on_armature", text=translate(f"Switch On “{idle.name}”"), icon="CHECKMARK")


def draw_boneless(layout, context, obj, width: int) -> None:
    """Draws in order what a mesh without bones needs before flesh can be added."""
    armature = binding.likely_armature(obj, context.scene)
    column = layout.column(align=True)
    draw_text(column, "Flesh hangs on bones, and this mesh has none. First make bones:", width, icon="BONE_DATA")
    column.operator("thew.suggest_bones", icon="ARMATURE_DATA")
    column.operator("thew.skeleton_click", icon="RESTRICT_SELECT_OFF")
    column = layout.column(align=True)
    draw_text(
        column, "Then look them over, move what lies wrong, and let them move the mesh:", width, icon="MOD_ARMATURE"
    )
    row = column.row()
    row.enabled = armature is not None
    draw_bind(row, armature.name if armature is not None else "")
    draw_text(layout.column(align=True), "Add Flesh then takes the place of these rows", width, icon="BLANK1")


def no_flesh_text(obj) -> str:
    """Returns a sentence about the state of a mesh without flesh."""
    keys = writing.baked_keys(obj)
    if keys:
        return f"{'Keeps' if all(key.mute for key in keys) else 'Plays'} {plural(len(keys), 'baked key')}"
    texts = bakes.bake_descriptions(obj)
    if texts:
        return f"Keeps {join_words(texts)}"
    return "Ready: press Add Flesh" if armature_modifier(obj) is not None else "Needs bones that move it"


def draw_flesh(layout, obj, frame: int, width: int) -> None:
    """Draws the controls that every session needs once flesh is added."""
    settings, outer, layout = obj.thew, layout, idle_part(layout)
    row = buttons(layout)
    row.prop(settings, "enabled", toggle=True, icon="OUTLINER_OB_ARMATURE" if not settings.enabled else "PHYSICS")
    if hidden_flesh.can_add_again(obj):
        row.operator("thew.add", icon="ADD").cells_across = settings.cells_across
    else:
        row.operator("thew.simulate", icon="FILE_REFRESH")
    row.prop(settings, "show_map", text="", icon="GROUP_VERTEX")
    row.operator("thew.remove", text="", icon="TRASH").remove_baked_keys = False
    row = buttons(layout)
    row.prop(settings, "young" if settings.use_young else "softness", slider=not settings.use_young)
    column = layout.column()
    column.prop(settings, "kind")
    draw_height(column, settings)
    row = buttons(layout)
    touches = row.row(align=True)
    touches.active = settings.method in contact.CONTACT_METHODS
    touches.prop(settings, "use_contact", toggle=True, icon="MOD_PHYSICS")
    draw_paint(row, obj, flesh_map.FLESH, "Paint", "Stop")
    row.operator("thew.bake", icon="SHAPEKEY_DATA")
    draw_health(outer, obj, frame, width)


def draw_height(column, settings) -> None:
    """Draws the size of the character, entered or guessed."""
    row = column.row(align=True)
    row.prop(settings, "height_shown", text="Real Size" if settings.real_height > 0.0 else "Guessed Size")
    part = row.row(align=True)
    part.enabled = settings.real_height > 0.0
    part.operator("thew.guess_height", text="", icon="LOOP_BACK")


# the foldouts -------------------------------------------------------------------------------------------------------


def draw_look(layout, context, obj, width: int) -> None:
    """Draws the foldout Look: how the flesh moves."""
    settings = obj.thew
    column = layout.column(align=True)
    column.prop(settings, "cells_across")
    column.prop(settings, "levels")
    part = column.column()
    part.active = settings.levels > 0 and settings.method != modal.METHOD
    part.prop(settings, "adaptive")
    choice = part.column()
    choice.active = settings.adaptive
    choice.prop(settings, "adapt_to")
    column = layout.column(align=True)
    for factor, number in (("settling", "mass_damping"), ("tremble", "stiffness_damping")):
        column.prop(settings, number if settings.is_property_set(number) else factor)
    layout.column().prop(settings, "reach")
    layout.column().prop(settings, "motion_start")
    draw_restarts(layout, obj, context.scene, width)
    column = layout.column()
    column.prop(settings, "use_gravity")
    part = column.column()
    part.active = settings.use_gravity
    part.prop(settings, "rest_includes_gravity")
    column = layout.column(align=True)
    column.use_property_decorate = True  # they can be keyed
    column.prop(settings, "influence", slider=True)
    column.prop(settings, "field_weight", slider=True)
    part = column.column()
    part.active = settings.field_weight > 0.0
    part.prop(settings, "field_collection")
    column = layout.column(align=True)
    column.prop(settings, "store_tension")
    column.operator("thew.add_wrinkle_material", icon="MATERIAL")
    draw_cost(layout.column(), settings, width)


def draw_cost(column, settings, width: int) -> None:
    """Draws warnings if the number of cells or Fine Detail makes simulations slow."""
    for text in (cost(settings.cells_across), cost_text(settings.levels, settings.adaptive, settings.adapt_to)):
        if text:
            draw_text(column, text, width, icon="ERROR")


def draw_regions(layout, _context, obj, width: int) -> None:
    """Draws the foldout Regions: which parts are soft or stiff."""
    column = layout.column(align=True)
    row = column.row(align=True)
    draw_paint(row, obj, flesh_map.FLESH, "Paint Flesh", "Stop Painting")
    row.prop(obj.thew, "show_map", text="", icon="GROUP_VERTEX")
    column.operator_menu_enum("thew.flesh_preset", "part", text="Soften a Body Part", icon="USER")
    column.operator("thew.flesh_automatic", icon="FILE_REFRESH")
    draw_paint(layout, obj, flesh_map.STIFFNESS, "Paint Stiffness", "Stop Painting", "MOD_VERTEX_WEIGHT")
    column = layout.column(align=True)
    draw_paint(column, obj, flesh_map.RIGID, "Paint Rigid", "Stop Painting", "MOD_MASK")
    column.operator_menu_enum("thew.make_rigid", "part", text="Make Rigid", icon="LOCKED")
    column = layout.column(align=True)
    row = column.row(align=True)
    row.operator("thew.explain_stiffness", icon="QUESTION")
    row.prop(obj.thew, "show_limits", text="", icon="COLOR")
    if explaining.told(obj):
        draw_text(column, explaining.told(obj), width)
    draw_twist(layout, obj, width)


def draw_paint(layout, obj, name: str, text: str, stop: str, icon: str = "BRUSH_DATA") -> None:
    """Draws the button that paints a map, or stops painting it."""
    painting = painted_map(obj) == name
    layout.operator("thew.paint_flesh", text=stop if painting else text, icon=icon, depress=painting).map = name.upper()


def painted_map(obj) -> str:
    """Returns the name of the map being painted on the object, or ""."""
    active = obj.vertex_groups.active
    named = active is not None and active.name in flesh_map.MAPS
    return active.name if obj.mode == "WEIGHT_PAINT" and named else ""


def draw_advanced(layout, _context, obj, width: int) -> None:
    """Draws the foldout Advanced: settings that are rarely changed."""
    settings = obj.thew
    layout.column().prop(settings, "elastic_joints")
    column = layout.column()
    column.prop(settings, "use_young")
    part = column.column()
    part.active = settings.use_young
    part.prop(settings, "young", text="Stiffness (Pa)")
    column = layout.column(align=True)
    column.prop(settings, "poisson")
    column.prop(settings, "density")
    column = layout.column()
    column.prop(settings, "rate", text="Steps / Second")
    column.prop(settings, "method")
    if settings.method == modal.METHOD:
        draw_modal(layout.box(), obj, width)
    column = layout.column()
    column.prop(settings, "cache")
    if settings.cache != "NONE":
        row = column.row(align=True)
        row.label(text=shorten(translate(cache_files.cache_text(obj)), width))
        row.operator("thew.clear_cache", text="", icon="TRASH")
    slow = method_cost(settings.method, settings.elastic_joints)
    if slow:
        draw_text(layout.column(align=True), slow, width, icon="ERROR")


def draw_modal(box, obj, width: int) -> None:
    """Draws the settings of the method Modal: its modes, the engine that deforms the mesh, and the preview of a mode."""
    settings, flesh = obj.thew, fleshes.known_state(obj)
    column = box.column()
    column.label(text="Modal", icon="MOD_WAVE")
    column.prop(settings, "modes")
    column.prop(settings, "engine")
    part = column.column()
    part.active = settings.engine != "CPU"
    part.prop(settings, "device")
    column = box.column(align=True)
    column.prop(settings, "preview_mode")
    part = column.column()
    part.active = settings.preview_mode > 0
    part.prop(settings, "preview_size")
    box.operator("thew.modal_drag", text="Drag", icon="VIEW_PAN")
    lines = modal_lines(flesh, settings.preview_mode) if flesh is not None else []
    column = box.column(align=True)
    for text in lines:
        draw_text(column, text, width)


# the panels themselves ----------------------------------------------------------------------------------------------


class MainPanel:
    """Contents of the main panel in both places."""

    def draw(self, context):
        layout, obj = self.layout, target.target_mesh(context)
        layout.use_property_split = True
        layout.use_property_decorate = False
        if native.thew is None:
            for line in wrap(
                translate("The native part of Thew is missing: install the zip for your system again."), 40
            ):
                layout.label(text=line)
            return
        width = letters_per_line(context)
        if not meshless_panel.has_panel(obj):
            meshless_panel.draw_selection(layout, context, obj, width)
            return
        draw_target(layout, context, obj)
        if library_panel.draw_linked(layout, obj, width):
            return
        if obj.thew.made.rides:
            draw_rider(layout, obj, context.scene, width)
            return
        if obj.thew.made.flesh:
            draw_flesh(layout, obj, context.scene.frame_current, width)
            return
        if obj.thew.made.keyframed:
            draw_text(layout, "Moves through its shape keys: see Keyframed Flesh", width, icon="SHAPEKEY_DATA")
            return
        draw_start(layout, context, obj, width)
        draw_offer(layout, context, obj, width)


class THEW_PT_sidebar(MainPanel, Sidebar, bpy.types.Panel):
    bl_label = "Thew"


class THEW_PT_physics(MainPanel, Physics, bpy.types.Panel):
    bl_label = "Thew Flesh"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return meshless_panel.has_panel(target.target_mesh(context))


CLASSES = (
    THEW_PT_sidebar,
    THEW_PT_physics,
    # Rigs and limbs (`rig_panel`, `limb_panel`) come fifth, `pin_panel` sixth, `hand_panel` seventh.
    *panels("Details", draw_details, 0),
    *panels("Look", draw_look, 1),
    *panels("Regions", draw_regions, 2),
    *panels("Contact", draw_contact, 3, header=draw_switch),
    *panels("Bake", draw_bake, 4),
    *panels("Advanced", draw_advanced, 8),
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
