# SPDX-License-Identifier: GPL-3.0-or-later
"""The register of objects with flesh, kept outside Blender, and the display of their flesh.

Nothing here is saved: after a file was loaded all of it is made again from the file.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic.errors import sentence
from ..logic.native import core
from ..logic.states import Effect, Event
from ..scene import modifier, reading
from ..scene import offsets as stored
from ..scene.offset_nodes import FRAME_TOLERANCE
from ..scene.poses import Pose
from . import riding, rig_actions, skin
from .events import EFFECT_HANDLERS, report_event
from .flesh import BuildStages, Flesh
from .registers import Register, look_again

register = Register(Flesh, lambda obj: obj.thew.made.flesh)


def notice_edits(objects: list[bpy.types.Object], pending: bpy.types.Depsgraph | None) -> None:
    """Reports edits that a script made since Blender's last evaluation; for use without a window, which gets no updates."""
    if pending is None:
        return
    meshes, keys = pending.id_type_updated("MESH"), pending.id_type_updated("ACTION")
    for obj in objects:
        flesh = register.known_state(obj)
        if flesh is None:
            continue
        if meshes:
            report_event(obj, flesh, Event.MESH_TOUCHED)
        if keys:
            report_event(obj, flesh, Event.CURVES_EDITED)
        report_event(obj, flesh, Event.LOOKED_CLOSELY)
    if meshes:
        for rider in riding.register.all_objects():
            report_event(rider, riding.register.state_of(rider), Event.MESH_TOUCHED)
    if pending.id_type_updated("COLLECTION"):
        look_again()


def is_live(obj: bpy.types.Object) -> bool:
    """Returns whether the object's flesh is shown live (added, switched on, not showing its bake)."""
    settings = obj.thew
    return settings.enabled and settings.made.flesh and not settings.made.shows_bake


def is_shown(obj: bpy.types.Object, render: bool = False) -> bool:
    """Returns whether written flesh would be visible: live, on a skin that its armature moves, and not being edited.

    `render`: in a render, else in a view.
    """
    if not is_live(obj) or obj.mode in {"EDIT", "SCULPT"}:
        return False
    found = reading.armature_modifier(obj)
    if found is None or found.object is None or found.object.data.is_editmode:
        return False
    return found.show_render if render else found.show_viewport


def write(
    obj: bpy.types.Object, flesh: Flesh, offsets: np.ndarray, scene: bpy.types.Scene, built: BuildStages | None = None
) -> None:
    """Adds `offsets` float32[n, 3], object space, to the skin at the scene's frame; `built`: their source (None: `flesh`)."""
    if obj.data.is_editmode:
        return  # Edit Mode holds a copy of the mesh, and shows the plain skin
    if len(obj.data.vertices) != len(offsets):
        hide(obj, flesh)
        return
    skin.show(obj, flesh, offsets, scene.frame_current_final)
    riding.follow(obj, built or flesh, offsets, scene.frame_current_final)


def hide(obj: bpy.types.Object, flesh: Flesh | None) -> None:
    """Shows the plain skin of an object and its riders; a mesh shared with another object keeps that one's flesh."""
    riding.hide_all(obj)
    if stored.is_held(obj) or not reading.is_shared(obj.data):
        skin.clear(obj, flesh)


def visible_offsets(obj: bpy.types.Object, scene: bpy.types.Scene) -> np.ndarray | None:
    """Returns the offsets in view at the scene's frame, float32[n, 3]; None where the view shows the plain skin."""
    mine, kept = modifier.modifier_by_id(obj, obj.thew.made.modifier), stored.written(obj)
    if mine is None or not mine.show_viewport or kept is None:
        return None
    offsets, frame = kept
    return offsets if abs(frame - scene.frame_current_final) <= FRAME_TOLERANCE else None


def show_again(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene, offsets: np.ndarray | None) -> None:
    """Restores exactly what `visible_offsets` returned."""
    if offsets is None:
        hide(obj, flesh)
    else:
        write(obj, flesh, offsets, scene)
    obj.update_tag()


def present(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene) -> None:
    """Shows the artist's choice: the mode preview, the flesh at rest, or the clip."""
    offsets, settings, frame = None, obj.thew, scene.frame_float
    try:
        if flesh.can_preview(settings.preview_mode):
            offsets = flesh.preview(settings.preview_mode, settings.preview_size, frame)
        elif settings.settled and flesh.clip is not None:
            offsets = flesh.settled_offsets(obj, frame)
        offsets = offsets if offsets is None else np.float32(present_influence(obj)) * offsets
    except core().ThewError as error:
        flesh.problem = sentence(str(error))
    show(obj, flesh, scene, offsets)


def present_influence(obj: bpy.types.Object) -> float:
    """Returns the share of the flesh that is shown at the scene's frame, as Blender has evaluated it."""
    return min(max(obj.thew.influence, 0.0), 1.0)


def present_pose(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene, pose: Pose) -> None:
    """Shows a pose that was not simulated: with the mode preview, or with flesh at rest.

    Just beyond the clip's range, the clip fades into it.
    """
    settings, frame = obj.thew, scene.frame_float
    if flesh.can_preview(settings.preview_mode):
        offsets = flesh.preview(settings.preview_mode, settings.preview_size, frame, (pose.maps, pose.mesh))
    else:
        # A pose set by hand, or beyond the clip, shows at once, with its folds parted; the settled view solves contact in full.
        offsets = flesh.settled_at(
            pose.maps, pose.mesh, rig_actions.at_rest(flesh, obj, pose.controls), settings.settled, pose.colliders
        )
        offsets = np.float32(present_influence(obj)) * offsets
        presence = 0.0 if settings.settled or flesh.clip is None else flesh.clip_weight(frame)
        if 0.0 < presence < 1.0:
            offsets = flesh.offsets(frame) + np.float32(1.0 - presence) * offsets
    write(obj, flesh, offsets, scene)


def is_arriving(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene) -> bool:
    """Returns whether the artist wants the motion under simulation, and the scene's frame of it is ready."""
    settings, ready = obj.thew, flesh.arriving
    looked = ready is not None and not settings.settled and not flesh.can_preview(settings.preview_mode)
    return looked and ready.covers(scene.frame_float)


def show_arriving(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene) -> bool:
    """Shows the scene's frame of a motion under simulation; returns whether it was ready."""
    ready = flesh.arriving  # the simulating thread may replace it
    if not is_arriving(obj, flesh, scene) or ready is None:
        return False
    write(obj, flesh, ready.offsets(scene.frame_float), scene, ready.built)
    return True


def show(obj: bpy.types.Object, flesh: Flesh, scene: bpy.types.Scene, offsets: np.ndarray | None = None) -> None:
    """Shows the clip at the scene's frame on the object, or other `offsets` float32[n, 3] at the pose of that frame."""
    if not flesh.condition.is_showable:
        hide(obj, flesh)
        return
    write(obj, flesh, flesh.offsets(scene.frame_float) if offsets is None else offsets, scene)
    report_event(obj, flesh, Event.CLIP_SHOWN)


EFFECT_HANDLERS[Flesh, Effect.HIDE] = hide
