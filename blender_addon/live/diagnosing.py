# SPDX-License-Identifier: GPL-3.0-or-later
"""The diagnosis of one object: all that a report of a fault needs, as text. Nothing is changed, and nothing is built."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ..logic import native, session_log
from ..logic.diagnosis import Section, number_text, report_text, seconds_text
from ..logic.errors import sentence
from ..logic.health import PlayedBake, health, warnings
from ..logic.names import describe
from ..logic.sentences import join_few, plural
from ..saved import timing
from ..scene import animation, bakes, cache_files, flesh_map, groups, reading, stack
from ..scene.own_skin import own_bones
from . import hidden_flesh, riding
from .session import register as fleshes

#: Properties of an object's settings that are no settings: choices of the panel, and lists that have rows of their own.
NO_SETTINGS = {"rna_type", "name", "made", "height_shown", "view"}
#: Number of names that a row lists.
MAX_NAMES = 6


def text_of(
    obj: bpy.types.Object | None, context: bpy.types.Context, paths: bool = False, played: PlayedBake | None = None,
    stiff: str = "",
) -> str:  # fmt: skip
    """Returns the diagnosis of an object (None: of the installation alone).

    `paths`: with the folders of files; `played`: what its bake plays; `stiff`: the last answer of Why Stiff Here, in numbers.
    """
    sections = [versions()]
    if obj is not None:
        sections += [scene_section(context.scene), object_section(obj, context)]
        if obj.type == "MESH":
            flesh = fleshes.known_state(obj)
            sections += [verdict(obj, context, flesh, played), stack_section(obj), settings_section(obj)]
            sections += [flesh_section(obj, flesh, stiff)] if obj.thew.made.flesh else []
    sections += [refusals_section(), times_section()]
    title = "Thew diagnosis" if obj is None else f"Thew diagnosis of {describe(obj)}"
    return report_text(title, sections, None if paths else known_folders())


def known_folders() -> list[str]:
    """Returns the folders whose names a report leaves out."""
    found = [str(Path.home()), bpy.app.tempdir, bpy.utils.user_resource("SCRIPTS") or ""]
    if bpy.data.filepath:
        found.append(str(Path(bpy.data.filepath).parent))
    return [folder for folder in found if folder]


def versions() -> Section:
    """Returns the section on the software and the machine."""
    found = Section("Versions")
    core = native.thew
    found.add("Thew", core.__version__ if core is not None else f"its native part is missing: {native.failure}")
    found.add("Blender", f"{bpy.app.version_string}, {decoded(bpy.app.build_hash)}, {decoded(bpy.app.build_platform)}")
    found.add("Python, numpy", f"{sys.version.split()[0]}, {np.__version__}")
    found.add("System", f"{platform.system()} {platform.release()}, {platform.machine()}")
    found.add("Processors", os.cpu_count())
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found.add("Memory", f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB")
    if not bpy.app.background:
        import gpu

        found.add("Graphics", f"{gpu.platform.renderer_get()}, {gpu.platform.version_get()}")
    found.add("Window", "no" if bpy.app.background else "yes")
    return found


def decoded(word: bytes | str) -> str:
    """Returns a word of Blender's build information."""
    return word.decode("utf-8", "replace") if isinstance(word, bytes) else word


def scene_section(scene: bpy.types.Scene) -> Section:
    """Returns the section on the file and the scene."""
    found = Section("Scene")
    found.add("File", Path(bpy.data.filepath).name if bpy.data.filepath else "never saved")
    if bpy.data.filepath:
        found.add("Folder", str(Path(bpy.data.filepath).parent))
    found.add("Frames", f"{scene.frame_start} to {scene.frame_end}, now {number_text(float(scene.frame_float))}")
    found.add("Frames a second", number_text(float(timing.frames_per_second(scene))))
    units = scene.unit_settings
    found.add("Units", f"{units.system.lower()}, scale {number_text(float(units.scale_length))}")
    gravity = number_text(tuple(float(each) for each in scene.gravity))
    found.add("Gravity", gravity if scene.use_gravity else "off")
    found.add("Objects with flesh", len(fleshes.objects(scene)))
    return found


def object_section(obj: bpy.types.Object, context: bpy.types.Context) -> Section:
    """Returns the section on an object, its mesh and its armature."""
    found = Section("Object")
    found.add("Type, mode", f"{obj.type.lower()}, {obj.mode.lower()}")
    found.add("Linked", "yes" if obj.library else "override" if obj.override_library else "")
    found.add("Scale", number_text(tuple(float(each) for each in obj.matrix_world.to_scale())))
    found.add("Dimensions", number_text(tuple(float(each) for each in obj.dimensions)))
    found.add("Visible", "yes" if obj.name in context.view_layer.objects and obj.visible_get() else "no")
    found.add("Parent", f"{describe(obj.parent)}, {obj.parent_type.lower()}" if obj.parent else "")
    if obj.type != "MESH":
        return found
    mesh = obj.data
    found.add("Vertices, faces", f"{len(mesh.vertices)}, {len(mesh.polygons)}")
    found.add("Users of the mesh", mesh.users)
    keys = mesh.shape_keys
    found.add("Shape keys", len(keys.key_blocks) if keys else 0)
    found.add("Vertex groups", len(obj.vertex_groups))
    painted = [name for name in flesh_map.MAPS if obj.vertex_groups.get(name) is not None]
    found.add("Maps", ", ".join(painted))
    armature = reading.armature_of(obj)
    if armature is None:
        found.add("Armature", "none in force")
        return found
    bones = own_bones(armature)
    held = {group.name for group in obj.vertex_groups}
    found.add(
        "Armature", f"{describe(armature)}, scale {number_text(tuple(map(float, armature.matrix_world.to_scale())))}"
    )
    weighted = sum(bone.name in held and bone.use_deform for bone in bones)
    found.add("Bones", f"{len(bones)}, {weighted} of them deform this mesh")
    found.add("Constraints", sum(len(bone.constraints) for bone in armature.pose.bones))
    found.add("Position", armature.data.pose_position.lower())
    played = animation.played_action(armature)
    found.add(
        "Action",
        "none, or several"
        if played is None
        else f"“{played.action.name}”{'' if played.plain else ', changed by the NLA'}",
    )
    return found


def stack_section(obj: bpy.types.Object) -> Section:
    """Returns the section on the modifiers, in their order."""
    found = Section("Modifiers")
    for k, each in enumerate(obj.modifiers):
        on = [where for where, switch in (("view", each.show_viewport), ("render", each.show_render)) if switch]
        mine = ", Thew's" if each.persistent_uid == obj.thew.made.modifier else ""
        artist = stack.artist_switches(obj, each)
        noted = "" if tuple(artist) == (each.show_viewport, each.show_render) else ", switched by a bake"
        found.add(f"{k + 1} {each.type}", f"“{each.name}”, on in {' and '.join(on) or 'nothing'}{mine}{noted}")
    return found


def settings_section(obj: bpy.types.Object) -> Section:
    """Returns the section on settings that differ from their defaults, and on how many entries each list has."""
    found = Section("Settings that differ from the defaults")
    settings = obj.thew
    for prop in settings.bl_rna.properties:
        name = prop.identifier
        if name in NO_SETTINGS:
            continue
        value = getattr(settings, name)
        if prop.type == "COLLECTION":
            found.add(name, plural(len(value), "entry", "entries") if len(value) else "")
        elif prop.type == "POINTER":
            found.add(name, describe(value) if isinstance(value, bpy.types.ID) else "")
        elif getattr(prop, "is_array", False):
            if tuple(value) != tuple(prop.default_array):
                found.add(name, number_text(tuple(value)))
        elif value != prop.default:
            text = number_text(value)
            found.add(name, text if len(text) < 80 else f"{len(text)} characters")
    return found


def verdict(obj: bpy.types.Object, context: bpy.types.Context, flesh: Any, played: PlayedBake | None) -> Section:
    """Returns the section with what is wrong and the remedy, in the panel's sentences; the gravest first."""
    found, made = Section("Findings"), obj.thew.made
    if not made.flesh:
        try:
            reading.subject(obj, context.view_layer)
            found.add("Ready", "it can have flesh" if not (made.rides or made.keyframed) else "")
        except native.EXPECTED_ERRORS as error:
            found.lines.append(sentence(str(error)))
        found.add("Rides on", describe(obj.thew.body) if made.rides and obj.thew.body else "")
        found.add("Keyframed flesh", "yes" if made.keyframed else "")
        return found
    unseen = hidden_flesh.hidden_reason(obj, flesh)
    told = health(obj.thew, made, flesh, context.scene.frame_current, len(riding.riders_of(obj)), unseen, played)
    found.add("Panel", f"{told.level}: {told.text}")
    if flesh is not None:
        found.lines += [sentence(flesh.problem)] if flesh.problem else []
        found.lines += [sentence(each) for each in warnings(flesh)] if flesh.character is not None else []
    notes = [*made.notes.splitlines(), *made.left.splitlines()]
    found.lines += [note for note in notes if note not in found.lines]
    return found


def flesh_section(obj: bpy.types.Object, flesh: Any, stiff: str = "") -> Section:
    """Returns the section on the stages of the flesh, its states and its caches; `stiff`: as in `text_of`."""
    found = Section("Flesh")
    riders = [describe(each) for each in riding.riders_of(obj)]
    found.add("Riders", join_few(riders, MAX_NAMES))
    found.add("Bakes", join_few(list(bakes.bake_descriptions(obj)), MAX_NAMES))
    found.add("Why stiff", stiff)
    found.add("Cache", f"{obj.thew.cache.lower()}: {cache_files.cache_text(obj)}")
    if flesh is None:
        found.add("Built", "not in this session: play, or press Simulate, and make the diagnosis again")
        return found
    found.add(
        "States",
        ", ".join(
            f"{each.name} {getattr(flesh.condition, each.name).name.lower()}" for each in fields(flesh.condition)
        ),
    )
    found.add("Edits", f"{flesh.touches} of the mesh, {flesh.curve_edits} of curves")
    if flesh.lattice is not None and flesh.place is not None:
        found.add(
            "Real size, scale",
            f"{number_text(flesh.build_settings.height)} m, {number_text(flesh.place.metres_per_unit)} m a unit",
        )
        found.add(
            "Lattice",
            f"{plural(len(flesh.lattice.cells), 'cell')}, {plural(len(flesh.lattice.vertices), 'vertex', 'vertices')}",
        )
    if flesh.body is not None:
        held = len(flesh.body.held_vertices)
        found.add(
            "Body",
            f"{plural(flesh.body.node_count, 'node')}, {held} held by bones; Young's modulus {number_text(float(flesh.body.material.young))} Pa",
        )
        soft = np.asarray(flesh.body.flesh)
        quarters = ", ".join(f"{each:.2f}" for each in np.quantile(soft, (0.0, 0.25, 0.5, 0.75, 1.0)))
        found.add("Flesh map, quartiles", quarters)
    if flesh.modes is not None:
        found.add("Modes", len(flesh.modes))
    if flesh.clip is not None:
        found.add(
            "Motion", f"frames {flesh.clip_start} to {flesh.clip_end}; {flesh.beginning.note or 'begins settled'}"
        )
        found.add("Inexact frames", int(np.count_nonzero(flesh.clip.unconverged_steps)))
        found.add("Inverted cells", flesh.inverted_count)
        found.add("Cuts noticed", ", ".join(f"{cut.frame} ({cut.text})" for cut in flesh.noticed[:MAX_NAMES]))
    found.add("Begins anew", ", ".join(map(str, groups.restarts(obj, bpy.context.scene))))
    others = () if flesh.build_settings is None else flesh.build_settings.others
    found.add("Simulated with", join_few([f"“{name}”" for name in others], MAX_NAMES))
    return found


def refusals_section() -> Section:
    """Returns the section on the latest refusals of this session, the last one first."""
    found = Section("Latest refusals of this session")
    for name, text in reversed(session_log.refusals):
        found.lines.append(text if not name or name in text else f"“{name}”: {text}")
    return found


def times_section() -> Section:
    """Returns the section on the latest times of each kind of work in this session."""
    found = Section("Latest times, of whichever object")
    for text, seconds in session_log.seconds.items():
        found.add(text, seconds_text(seconds))
    return found
