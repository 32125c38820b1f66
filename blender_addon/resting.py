# SPDX-License-Identifier: GPL-3.0-or-later
"""The flesh at rest in a pose or with rigs that were not simulated: what a window shows between two simulations."""

from __future__ import annotations

import bpy

from . import poses, reading, rigging, session
from .logic.errors import sentence
from .native import EXPECTED

#: What the panel says about poses that were not simulated.
CHANGED = "The animation has changed since it was simulated: press Simulate."


def show_settled(obj: bpy.types.Object, flesh) -> None:
    """Show settled flesh in the pose and with the controls that were last evaluated."""
    if flesh.body is None or not session.is_live(obj) or poses.busy or obj.mode in {"EDIT", "SCULPT"}:
        return
    scene, depsgraph = bpy.context.scene, bpy.context.view_layer.depsgraph
    if flesh.posed or flesh.clip is None:
        found = reading.armature_modifier(obj)
        if found is not None and found.object is not None:
            show_pose(obj, found, flesh, scene, depsgraph)
    else:
        session.present(obj, flesh, scene.frame_current_final)


def follow_pose(obj, armature_modifier, flesh, scene, depsgraph) -> None:
    """Between two simulations, show the flesh at rest in the pose that the artist just made."""
    if flesh.clip is None or obj.mode in {"EDIT", "SCULPT"}:
        return
    frame = scene.frame_current
    inside = min(max(frame, flesh.clip_start), flesh.clip_end)
    if not flesh.motion.differs(obj, inside, depsgraph):
        if flesh.posed:
            flesh.problem = ""
            session.present(obj, flesh, scene.frame_current_final)
        return
    if show_pose(obj, armature_modifier, flesh, scene, depsgraph):
        flesh.problem = CHANGED


def show_pose(obj, armature_modifier, flesh, scene, depsgraph) -> bool:
    """Show the flesh at rest in the pose that `depsgraph` has evaluated; whether that worked."""
    try:
        found = reading.Subject(obj, armature_modifier.object, armature_modifier)
        reader = poses.PoseReader(found, flesh.character.bones, flesh.stance.mesh_matrix)
        maps, mesh, _raw = reader.read(depsgraph, scene.frame_current)
        controls = rigging.evaluated_controls(obj, depsgraph)
        session.present_pose(obj, flesh, scene.frame_current_final, maps, mesh, controls)
        flesh.posed = True
    except (*EXPECTED, KeyError) as error:  # KeyError: a bone was renamed or deleted, the next simulation will tell
        flesh.problem = sentence(str(error)) if isinstance(error, EXPECTED) else CHANGED
        if isinstance(error, KeyError) and len(obj.thew.rigs):
            flesh.refresh_rigs(obj)  # rigs that hung on that bone say so at once
        return False
    return True
