# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages of flesh with other settings, kept in memory while two sets of settings are compared.

An update whose settings are those of parked stages begins from them in place of the flesh in view, which is parked in exchange. The keys
of the stages decide as always what of them still holds, so that a parked motion returns at once, and never where it would be wrong.
"""

from __future__ import annotations

import bpy

from ..logic.states import Clip
from .build_settings import BuildSettings
from .flesh import BuildStages, Flesh

#: Parked stages of each object, by its session id.
_parked: dict[int, BuildStages] = {}


def park(obj: bpy.types.Object, flesh: Flesh) -> None:
    """Parks the stages of flesh in view, if their motion is whole and the object was simulated alone."""
    if flesh.clip is not None and flesh.condition.clip is Clip.CURRENT and not flesh.group_key:
        _parked[obj.session_uid] = flesh.draft()


def holds(obj: bpy.types.Object, build_settings: BuildSettings) -> bool:
    """Returns whether stages with these settings are parked."""
    parked = _parked.get(obj.session_uid)
    return parked is not None and bool(obj.thew.compared_other) and parked.build_settings == build_settings


def known_stages(obj: bpy.types.Object, flesh: Flesh, build_settings: BuildSettings) -> BuildStages:
    """Returns the stages from which an update to these settings begins: the parked ones, if they have them, else those in view."""
    if flesh.build_settings == build_settings or not holds(obj, build_settings):
        return flesh
    found = _parked.pop(obj.session_uid)
    park(obj, flesh)
    return found


def forget(obj: bpy.types.Object) -> None:
    """Drops the parked stages of an object."""
    _parked.pop(obj.session_uid, None)


def forget_all() -> None:
    """Drops all parked stages, as when another file is loaded."""
    _parked.clear()
