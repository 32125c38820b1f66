# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what was read and made of an object still holds, and of those that it is simulated together with."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ..logic.names import describe
from ..logic.states import Clip, Condition, Mesh, Motion
from ..rigs import anchors
from ..scene import colliders, groups, ignored, reading, rig_controls, windows
from .build_settings import BuildSettings
from .flesh import Flesh
from .resting import CHANGED
from .session import register


def outdated(obj, scene, flesh: Flesh, still: bool | None = None) -> bool:
    """Whether an update has something to do; cheap enough to ask every frame.

    `still`: the clip may stay behind the rigs, because flesh is shown settled (None: if the artist looks at it so).
    """
    return alone_outdated(obj, scene, flesh, still) or any(
        known is None or known.group_key != flesh.group_key or alone_outdated(other, scene, known)
        for other, known in unedited_others(obj, scene)
    )


def alone_outdated(obj, scene, flesh: Flesh, still: bool | None = None) -> bool:
    """The same, but for what the others have become."""
    condition = flesh.condition
    if not condition.showable or not condition.trusted:
        return True
    if flesh.mesh_uid != obj.data.session_uid:  # it was given another mesh
        return True
    if condition.clip is Clip.BEHIND and not (obj.thew.settled if still is None else still):
        return True
    if condition.behind and windows.playing():  # keys are dragged while it stands, and many times
        return True
    if flesh.build_settings != BuildSettings.of(obj, scene) or not flesh.covers(*flesh.build_settings.live):
        return True
    return moved(obj, flesh)


def unedited_others(obj, scene) -> list[tuple[bpy.types.Object, Flesh | None]]:
    """What `obj` is simulated together with, but for skins under the hand, which are looked at when they are left."""
    others = groups.others(obj, scene)
    return [(other, register.known(other)) for other in others if other.mode not in {"EDIT", "SCULPT"}]


def differs(obj, scene, flesh: Flesh) -> bool:
    """Whether its motion, or that of one it is simulated together with, is known to be another one than was read."""
    return any(each.motion is Motion.DIFFERS for each in conditions(obj, scene, flesh))


def behind(obj, scene, flesh: Flesh) -> bool:
    """Tells the same, or that keys that move one of them were edited."""
    return any(each.behind for each in conditions(obj, scene, flesh))


def conditions(obj, scene, flesh: Flesh) -> list[Condition]:
    """Returns what is known of its flesh and of that which it is simulated together with."""
    return [flesh.condition, *(known.condition for _, known in unedited_others(obj, scene) if known is not None)]


def changed_other(obj, scene) -> str:
    """One that it is simulated together with and that was moved otherwise since, its name in quotes; "" where there is none."""
    others = ((other, known) for other, known in unedited_others(obj, scene) if known is not None)
    changed = (describe(o) for o, known in others if known.condition.behind or known.problem == CHANGED)
    return next(changed, "")


def attempt(obj, scene) -> tuple:
    """What an update starts from, as far as it can be told cheaply."""
    others = (
        (other.name, BuildSettings.of(other, scene), known and (known.touches, known.condition.trusted))
        for other, known in unedited_others(obj, scene)
    )
    return BuildSettings.of(obj, scene), obj.thew.frames(scene), *others


def motion_holds(obj, flesh: Flesh, build_settings: BuildSettings, frames: tuple[int, int]) -> bool:
    """Whether the poses of those frames that were read, and what was read along with them, may still be taken."""
    condition = flesh.condition
    if not (condition.showable and flesh.covers(*frames)) or condition.behind or moved(obj, flesh):
        return False
    if flesh.motion.led < build_settings.lead:
        return False
    return flesh.motion.colliders.asked == colliders.which(build_settings.collides_with)


def same_but_range(flesh: Flesh, build_settings: BuildSettings) -> bool:
    """Tells whether the flesh was made with these settings, whichever frames are played."""
    return replace(flesh.build_settings, live=build_settings.live) == build_settings


def bake_differs(obj, scene) -> bool:
    """Tells whether a bake plays that was made with other settings than those in force."""
    made = obj.thew.made
    return made.shows_bake and made.baked_settings not in {"", BuildSettings.of(obj, scene).baked_key()}


def mesh_holds(obj, flesh: Flesh) -> bool:
    """Whether the mesh and skeleton that were read may still be taken."""
    if flesh.character is None or flesh.mesh_uid != obj.data.session_uid:
        return False
    return flesh.condition.mesh is Mesh.READ and not renamed(obj, flesh)


def moved(obj, flesh: Flesh) -> bool:
    """Whether other curves or drivers move the rigs' controls than when they were read."""
    return flesh.motion.moving != rig_controls.moving(obj)


def renamed(obj, flesh: Flesh) -> bool:
    """Whether the bones that were read are not those of the armature now, or not those on which rigs hang; or the vertex
    group that touches nothing is another one."""
    if flesh.character.ignored.asked != ignored.asked(obj):
        return True
    armature = reading.armature_of(obj)
    if armature is None:
        return False
    known = set(flesh.character.bones)
    wanted = {anchors.found_bone(armature, rig) for rig in obj.thew.rigs if rig.guide == "BONE"} - {""}
    return not (wanted <= known and all(name in armature.data.bones for name in known))
