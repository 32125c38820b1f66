# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests whether the data read and built for an object are still valid, including the objects simulated with it."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ..logic.health import POSE_PROBLEMS
from ..logic.names import describe
from ..logic.native import EXPECTED_ERRORS
from ..logic.states import Clip, Condition, Mesh, Motion
from ..rigs import anchors
from ..saved import bakes as saved_bakes
from ..scene import colliders, contact_exclusions, groups, movers, reading, rig_controls, windows
from ..scene.character import read_character
from .build_settings import BuildSettings
from .flesh import Flesh
from .session import register


def is_outdated(obj, scene, flesh: Flesh, still: bool | None = None) -> bool:
    """Returns whether an update has work to do; cheap enough for every frame.

    `still`: the clip may lag behind the rigs, because flesh is shown settled (None: if the artist's view is settled).
    """
    return is_outdated_alone(obj, scene, flesh, still) or any(
        known is None or known.group_key != flesh.group_key or is_outdated_alone(other, scene, known)
        for other, known in unedited_others(obj, scene)
    )


def is_outdated_alone(obj, scene, flesh: Flesh, still: bool | None = None) -> bool:
    """Returns whether an update has work to do on the object alone, without the others."""
    condition = flesh.condition
    if not condition.is_showable or not condition.is_trusted:
        return True
    if flesh.mesh_uid != obj.data.session_uid:  # the object has another mesh
        return True
    if condition.clip is Clip.BEHIND and not (obj.thew.settled if still is None else still):
        return True
    if condition.is_behind and windows.is_playing():  # keys are dragged while playback stands, and many times
        return True
    if flesh.build_settings != BuildSettings.from_object(obj, scene) or not flesh.covers(*flesh.build_settings.live):
        return True
    return controls_moved(obj, flesh)


def unedited_others(obj, scene) -> list[tuple[bpy.types.Object, Flesh | None]]:
    """Returns the objects simulated with `obj`, except skins being edited or sculpted, which count once their mode is left."""
    others = groups.others(obj, scene)
    return [(other, register.known_state(other)) for other in others if other.mode not in {"EDIT", "SCULPT"}]


def motion_differs(obj, scene, flesh: Flesh) -> bool:
    """Returns whether its motion, or that of one simulated with it, is known to differ from the one that was read."""
    return any(each.motion is Motion.DIFFERS for each in conditions(obj, scene, flesh))


def is_behind(obj, scene, flesh: Flesh) -> bool:
    """Returns whether its motion, or that of one simulated with it, differs or has edited keys."""
    return any(each.is_behind for each in conditions(obj, scene, flesh))


def conditions(obj, scene, flesh: Flesh) -> list[Condition]:
    """Returns the conditions of its flesh and of all flesh simulated with it."""
    return [flesh.condition, *(known.condition for _, known in unedited_others(obj, scene) if known is not None)]


def changed_other(obj, scene) -> str:
    """Returns the name, in quotes, of one simulated with it whose motion has changed since; "" where all are unchanged."""
    others = ((other, known) for other, known in unedited_others(obj, scene) if known is not None)
    changed = (describe(o) for o, known in others if known.condition.is_behind or known.problem in POSE_PROBLEMS)
    return next(changed, "")


def update_inputs(obj, scene) -> tuple:
    """Returns the inputs of an update that are cheap to read."""
    others = (
        (other.name, BuildSettings.from_object(other, scene), known and (known.touches, known.condition.is_trusted))
        for other, known in unedited_others(obj, scene)
    )
    return BuildSettings.from_object(obj, scene), obj.thew.frames(scene), reading.has_edited_armature(obj), *others


def motion_holds(obj, flesh: Flesh, build_settings: BuildSettings, frames: tuple[int, int]) -> bool:
    """Returns whether the poses of those frames that were read, with all that was read along, are still valid."""
    condition = flesh.condition
    if not (condition.is_showable and flesh.covers(*frames)) or condition.is_behind or controls_moved(obj, flesh):
        return False
    if movers_changed(obj, flesh):
        return False
    if flesh.motion.lead_length < build_settings.lead or flesh.motion.pinned != build_settings.pins:
        return False
    return flesh.motion.colliders.reading_keys == colliders.reading_keys(build_settings.collides_with)


def same_but_range(flesh: Flesh, build_settings: BuildSettings) -> bool:
    """Returns whether the flesh was made with these settings, whichever frames are played."""
    return replace(flesh.build_settings, live=build_settings.live) == build_settings


def is_only_shortened(obj, scene, flesh: Flesh) -> bool:
    """Returns whether all that has changed is the range, of which the clip holds every frame: what is in view is right."""
    condition, now = flesh.condition, BuildSettings.from_object(obj, scene)
    if not (condition.is_showable and condition.is_trusted) or condition.is_behind or condition.clip is Clip.BEHIND:
        return False
    same = flesh.mesh_uid == obj.data.session_uid and same_but_range(flesh, now) and not controls_moved(obj, flesh)
    return same and flesh.covers(*now.live)


def bake_differs(obj, scene) -> bool:
    """Returns whether a bake plays that was made with other settings than the present ones."""
    bake = saved_bakes.playing(obj)
    if bake is None or not obj.thew.made.shows_bake:
        return False
    return bake.settings not in {"", BuildSettings.from_object(obj, scene).baked_key()}


def mesh_holds(obj, flesh: Flesh) -> bool:
    """Returns whether the mesh and skeleton that were read are still valid."""
    if flesh.character is None or flesh.mesh_uid != obj.data.session_uid:
        return False
    return flesh.condition.mesh is Mesh.READ and not names_changed(obj, flesh)


def fits_mesh(obj, scene, flesh: Flesh) -> bool:
    """Returns whether flesh can be shown on the mesh and bones as they are now; reads them where they may have been edited."""
    if flesh.character is None or not flesh.condition.is_showable or flesh.mesh_uid != obj.data.session_uid:
        return False
    if mesh_holds(obj, flesh):
        return True
    try:
        subject = reading.subject(obj, reading.view_layer(scene))
        now = read_character(subject, scene, bpy.context.evaluated_depsgraph_get)
    except EXPECTED_ERRORS:
        return False
    return now.digest == flesh.character.digest


def controls_moved(obj, flesh: Flesh) -> bool:
    """Returns whether other curves or drivers move the rigs' controls than when they were read."""
    return flesh.motion.moving != rig_controls.control_animation(obj)


def movers_changed(obj, flesh: Flesh) -> bool:
    """Returns whether actions, constraints, drivers or other things move the object than when its poses were read.

    They are compared only after Blender has reported an update of an object.
    """
    if not flesh.movers_touched or flesh.motion is None or not flesh.motion.movers:
        return False
    flesh.movers_touched = movers.fingerprint(obj, reading.armature_of(obj)) != flesh.motion.movers
    return flesh.movers_touched


def names_changed(obj, flesh: Flesh) -> bool:
    """Returns whether bones were renamed, or those that rigs hang on, or another vertex group is chosen to be without contact."""
    if flesh.character.ignored.group != contact_exclusions.chosen_group(obj):
        return True
    armature = reading.armature_of(obj)
    if armature is None:
        return False
    known = set(flesh.character.bones)
    wanted = set().union(*(anchors.bones_of(armature, rig) for rig in obj.thew.rigs))
    return not (wanted <= known and all(name in armature.data.bones for name in known))
