# SPDX-License-Identifier: GPL-3.0-or-later
"""Saved data of keyframed flesh: `Object.thew.keyframed`, a list of shape keys with times, and the physics between them.

The times are the points of one F-curve of the object, that of `marker`: a point's frame is a time, its value the index of the
list's key reached then. So they are dragged where all other keyframes are. Access to that curve is handed in (`TIME_ACCESS`). A key
without a point takes no part; one with several is reached several times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    StringProperty,
)

from ..languages.contexts import OWN
from ..logic.keyframes import KINDS, VELOCITIES
from .edit_callbacks import record, setting

#: Access to the time of a key: "get" returns its frame, "set" also takes one; filled by `scene.keyframe_times`.
TIME_ACCESS: dict[str, Callable] = {}
#: Called with the object after an edit by hand; set by `handlers`.
on_edit: list[Callable[[bpy.types.Object], None]] = []

#: Largest valid arrow, scene units a second; longer ones are mistakes.
MAX_SPEED = 1e9


def _call_on_edit(self, _context):
    for call in on_edit:
        call(self.id_data)


def _shape_changed(self, context):
    self.digest = ""  # another shape key was chosen; a rename keeps the digest
    _call_on_edit(self, context)


def _get_frame(self):
    return TIME_ACCESS["get"](self) if TIME_ACCESS else self.kept


def _set_frame(self, value):
    if TIME_ACCESS:
        TIME_ACCESS["set"](self, value)
    else:
        self.kept = value


_setting = partial(setting, update=_call_on_edit)


def _velocity_property(name: str, description: str, default: str = "FREE"):
    return _setting(EnumProperty, name, description, items=VELOCITIES, default=default)


def _arrow(name: str, description: str):
    return _setting(
        FloatVectorProperty,
        name,
        description,
        size=3,
        default=(0.0, 0.0, 0.0),
        min=-MAX_SPEED,
        max=MAX_SPEED,
        subtype="VELOCITY",
    )


class ThewKeyframe(bpy.types.PropertyGroup):
    """One shape key that the motion reaches."""

    shape: _setting(StringProperty, "Shape Key", "Shape key that is reached", default="", update=_shape_changed)
    digest: record(StringProperty, "Identifier of the shape key that survives renaming")
    muted_digest: record(StringProperty, "Identifier of the muted shape key that survives renaming")
    frame: FloatProperty(
        name="Frame",
        description="Frame at which it is reached; drag it in the Dope Sheet or Timeline, where it is a "
        "keyframe of the object",
        min=-1048574.0,
        max=1048574.0,
        precision=1,
        step=100,
        options={"SKIP_SAVE"},
        get=_get_frame,
        set=_set_frame,
    )
    kept: record(FloatProperty, "The frame, should the action with the times be lost")
    muted: record(StringProperty, "The shape key that Thew muted for it, which was not")
    kind: _setting(EnumProperty, "Kind", "Accuracy with which the shape is reached", items=KINDS, default="EXACT")
    weight: _setting(
        FloatProperty,
        "Pull",
        "Strength of the pull: 1 brings the motion about halfway to the shape, 10 nearly all the way",
        default=1.0,
        min=1e-4,
        max=1e6,
        soft_min=0.01,
        soft_max=100.0,
    )
    group: _setting(
        StringProperty,
        "Vertices",
        "Vertex group whose vertices reach the shape; weights above a half count",
        default="",
    )
    velocity: _velocity_property("Velocity", "Velocity of the motion through the shape")
    arrow: _arrow("Arrow", "Velocity there, in object space, per second of the scene")
    cut: _setting(
        BoolProperty,
        "Cut",
        "The motion breaks here, as where it hits something: it arrives with one velocity and leaves with another",
        default=False,
    )
    # A motion that is free to begin anyhow may begin absurdly fast.
    leaving: _velocity_property("Leaving", "Velocity with which the motion leaves the shape", "ZERO")
    leaving_arrow: _arrow("Leaving Arrow", "Velocity after the cut, in object space, per second of the scene")
    fixed: _setting(
        StringProperty,
        "Fixed After",
        "Vertex group that stays in place from this cut to the next one: feet on the ground",
        default="",
    )
    energy: record(StringProperty, "Result of lowering the sculpt's energy")


class ThewKeyframed(bpy.types.PropertyGroup):
    """Shape keys of one mesh as keyframes, and the physics between them."""

    keyframes: CollectionProperty(type=ThewKeyframe, name="Keys", description="The shape keys that are reached")
    active: IntProperty(name="Key", description="Key chosen in the list", default=0, min=0, options=set())
    marker: IntProperty(
        name="Keyframed Flesh",
        description="Its keyframes are the times of the keys: drag them. A value is a key's place in the list, from 0",
        default=0,
        min=0,
    )
    made_action: record(BoolProperty, "The object's action was made for the times")
    stiffness: _setting(
        FloatProperty,
        "Stiffness",
        "Stiffness of the flesh, the same on a mouse and on a whale: more rings faster and follows plain curves "
        "less. A thousand times as stiff is about thirty times as fast",
        default=300.0,
        min=1e-6,
        max=1e12,
        soft_min=1.0,
        soft_max=1e6,
    )
    slow_damping: _setting(
        FloatProperty,
        "Settling",
        "Damping of slow swings, per second",
        default=0.5,
        min=0.0,
        max=1000.0,
        soft_max=20.0,
    )
    fast_damping: _setting(
        FloatProperty,
        "Tremble",
        "Damping of quick tremble",
        default=0.005,
        min=0.0,
        max=10.0,
        soft_max=0.1,
        step=0.1,
        precision=4,
        subtype="TIME_ABSOLUTE",
    )
    gravity: _setting(
        FloatProperty,
        "Gravity",
        "Share of the scene's gravity that acts: with it the motion falls by itself and must be lifted",
        default=0.0,
        min=-100.0,
        max=100.0,
        soft_min=0.0,
        soft_max=1.0,
    )
    down: record(FloatVectorProperty, "The scene's gravity in object space when it was read", size=3)
    speed: _setting(
        FloatProperty,
        "Speed",
        "Seconds of the flesh per second of the scene: below 1 it moves as in slow motion. The keys keep their times",
        default=1.0,
        min=0.001,
        max=1000.0,
        soft_min=0.1,
        soft_max=10.0,
    )
    cyclic: _setting(
        BoolProperty, "Cyclic", "The motion repeats for ever: its last key is the first one again", default=False
    )
    fixed: _setting(
        StringProperty,
        "Fixed",
        "Vertex group that stays in place in all keys and in the motion; weights above a half count",
        default="",
    )
    modes: _setting(
        IntProperty,
        "Modes",
        "Number of vibration modes of each key that the motion may use: more is finer and slower to prepare",
        default=10,
        min=0,
        max=100,
        soft_min=5,
        soft_max=30,
    )
    bending: _setting(
        FloatProperty,
        "Bending",
        "Resistance to bending relative to stretching: small values fold like cloth, large ones are a thick shell",
        default=1.0,
        min=1e-6,
        max=1e6,
        soft_min=0.01,
        soft_max=100.0,
    )
    rest: _setting(
        EnumProperty,
        "Rest",
        "Shape that the flesh springs back to",
        items=(
            ("KEYS", "Each Key", "A key is a pose: the flesh rings about it, and stays with it"),
            (
                "BASIS",
                "Basis",
                "A key is a strain: the flesh springs back from it to the basis, harder the stiffer it is",
            ),
        ),
        default="KEYS",
    )
    ghosts: _setting(
        BoolProperty,
        "Shapes Between",
        "Go through further shapes between keys that differ by large turns, to preserve lengths; takes longer to "
        "prepare",
        default=False,
    )
    plain: _setting(
        BoolProperty,
        "Plain",
        "Show plain curves through the same keys, to compare. Bakes and renders never show them",
        default=False,
    )
    relax: FloatProperty(
        name="Amount",
        translation_context=OWN,
        description="Amount for Relax Sculpt: 0 leaves the sculpt as it is, 1 lets it spring back all the way",
        default=0.3,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=set(),
    )
    show_curves: BoolProperty(
        name="Show Curves",
        description="Draw the motion along the leading directions of the keys: solid as it is, dashed with plain curves",
        default=False,
    )
    show_arrows: BoolProperty(
        name="Show Velocities", description="Draw the velocities at the keys as arrows", default=True
    )


CLASSES = (ThewKeyframe, ThewKeyframed)


def active_key(obj: bpy.types.Object) -> ThewKeyframe | None:
    """Returns the key chosen in the list."""
    group = obj.thew.keyframed
    return group.keyframes[group.active] if 0 <= group.active < len(group.keyframes) else None


def index_of(key: ThewKeyframe) -> int:
    """Returns the index of a key in its list."""
    return next(i for i, other in enumerate(key.id_data.thew.keyframed.keyframes) if other == key)
