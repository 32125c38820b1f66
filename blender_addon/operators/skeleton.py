# SPDX-License-Identifier: GPL-3.0-or-later
"""Skeleton by clicking: a tool that puts joints into a body, and the mirror image of a skeleton."""

from __future__ import annotations

import json
from types import SimpleNamespace

import bpy
import numpy as np
from bpy.props import BoolProperty, StringProperty

from ..edit import skeleton as edit
from ..languages.translations import report, show_status
from ..logic.errors import Refusal
from ..logic.json_text import parse_json
from ..logic.names import describe
from ..logic.sentences import plural
from ..logic.spaces import transform
from ..scene import windows
from ..ui import viewing
from .modal_tool import DRAGGED_COLOUR, PINNED_COLOUR, ModalTool
from .operator_bases import QuickJob, fresh_property, mirror_direction, option

STATUS = (
    "Click: joint · Click a joint: go on from it · X: mirror · Ctrl+Z: take back · Enter: make the bones · Esc: cancel"
)


class THEW_OT_skeleton_click(ModalTool, bpy.types.Operator):
    bl_label = "Click a Skeleton"
    bl_description = (
        "Click joints into the body: each lies midway between the near and the far side of the skin, and each click adds a bone from the "
        "joint before. Click a joint to go on from it. Enter makes an armature and binds the mesh to it"
    )
    by_hand = "Click a Skeleton is a tool for the mouse: a script gives it `joints`"

    mirror: option(BoolProperty, "X Mirror", "Mirror every joint beside the mesh's own X = 0", default=True)
    joints: fresh_property(
        StringProperty,
        "Joints",
        "Joints made before, as JSON: [x, y, z, the joint that it hangs on or -1] in the mesh's space",
    )

    def edit(self, context, obj):
        if not self.joints:
            raise Refusal(self.by_hand)
        clicks = edit.begin(obj, self.mirror)
        read_joints(clicks, self.joints)
        return describe_bound(*edit.keep(context, obj, clicks), obj)

    def stand(self, _context, obj):
        clicks = edit.begin(obj, self.mirror)
        return SimpleNamespace(obj=obj, clicks=clicks)

    def take(self, context):
        self.held.callback(viewing.TemporaryDrawing(self.marks).end)
        show_status(context.workspace, STATUS)

    def handle(self, context, event):
        clicks = self._stand.clicks
        if event.type == "LEFTMOUSE" and event.value == "PRESS":
            return self.press(context, event)
        if event.type in {"RET", "NUMPAD_ENTER"} and event.value == "PRESS":
            return self.keep(context)
        if event.type == "X" and event.value == "PRESS":
            self.mirror = clicks.mirror = not clicks.mirror
            report(self, {"INFO"}, f"X Mirror is {'on' if clicks.mirror else 'off'}.")
            return {"RUNNING_MODAL"}
        return {"PASS_THROUGH"} if event.type != "LEFTMOUSE" else {"RUNNING_MODAL"}

    def press(self, context, event):
        """Takes a click; one beside the body is reported and makes nothing."""
        view = viewing.view_under_mouse(context, event)
        if view is None:
            return {"PASS_THROUGH"}
        obj = self._stand.obj
        try:
            text = self._stand.clicks.click(*edit.ray_in(obj, *view.ray()))
        except Refusal as error:
            report(self, {"WARNING"}, f"{describe(obj)}: {error}.")
            return {"RUNNING_MODAL"}
        show_status(context.workspace, f"{text} · {STATUS}")
        windows.redraw()
        return {"RUNNING_MODAL"}

    def take_back(self):
        self._stand.clicks.take_back()
        windows.redraw()

    def keep(self, context):
        """Ends the tool and makes the armature."""
        obj, clicks = self._stand.obj, self._stand.clicks
        try:
            clicks.skeleton()
        except Refusal as error:
            report(self, {"WARNING"}, f"{describe(obj)}: {error}.")
            return {"RUNNING_MODAL"}
        self.end(context)
        self.joints = write_joints(clicks)
        report(self, {"INFO"}, describe_bound(*edit.keep(context, obj, clicks), obj))
        return {"FINISHED"}

    def marks(self):
        """Returns the bones and joints so far, the active joint in colour."""
        clicks, matrix = self._stand.clicks, np.array(self._stand.obj.matrix_world)
        places = np.array(clicks.joints.places).reshape(-1, 3)
        bones = clicks.lines()
        active = places[[clicks.joints.active]] if clicks.joints.active >= 0 else places[:0]
        return [
            (transform(matrix, bones.reshape(-1, 3)).reshape(-1, 2, 3), PINNED_COLOUR, 3.0),
            (transform(matrix, places), PINNED_COLOUR, 9.0),
            (transform(matrix, active), DRAGGED_COLOUR, 12.0),
        ]


class THEW_OT_bind_bones(QuickJob, bpy.types.Operator):
    bl_label = "Bind to Bones"
    bl_description = (
        "Let an armature move a mesh that has no bones yet: Blender's automatic weights, and weights by distance where these fail. "
        "Add Flesh can be pressed then"
    )

    armature: fresh_property(
        StringProperty,
        "Armature",
        "Name of the armature; empty: the selected one, else the one whose bones lie in the mesh",
    )
    mesh: fresh_property(
        StringProperty, "Mesh", "Name of the mesh; empty: the active one, else the one around the active armature"
    )

    def edit(self, context, obj):
        return describe_bound(*edit.bind(context, obj, self.mesh, self.armature))


class THEW_OT_skeleton_symmetrize(QuickJob, bpy.types.Operator):
    bl_label = "Symmetrize Skeleton"
    bl_description = "Mirror the bones of one side to the other, about the armature's own X, and weigh the mesh anew with automatic weights"

    direction: mirror_direction()

    def edit(self, context, obj):
        new, far = edit.symmetrize(context, obj, self.direction)
        return f"{plural(new, 'bone')} added.{weights_text(far)}"


def describe_bound(armature, far: int, obj) -> str:
    """Returns what was made."""
    bones = plural(len(armature.data.bones), "bone")
    return f"{describe(armature)} has {bones} and moves {describe(obj)}: Add Flesh can be pressed.{weights_text(far)}"


def weights_text(far: int) -> str:
    """Returns a sentence on vertices without automatic weights."""
    return f" {plural(far, 'vertex', 'vertices')} got weights by distance: automatic ones failed there." if far else ""


def write_joints(clicks) -> str:
    """Returns the joints as text."""
    joints = clicks.joints
    return json.dumps([[*place.tolist(), above] for place, above in zip(joints.places, joints.above, strict=True)])


def read_joints(clicks, text: str) -> None:
    """Puts the joints of a text into a skeleton; images are joints of their own there."""
    try:
        rows = [(np.array(row[:3], dtype=np.float64), int(row[3])) for row in parse_json(text)]
        sound = all(place.shape == (3,) and np.isfinite(place).all() for place, _ in rows)
        if not sound or any(not -1 <= above < i for i, (_, above) in enumerate(rows)):
            raise ValueError("a joint is no place, or hangs on a later one")
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise Refusal(f"Joints: expected a list of [x, y, z, joint] as JSON ({error})") from error
    for place, above in rows:
        clicks.joints.add(place, above)
    mark_images(clicks)


def mark_images(clicks) -> None:
    """Finds the mirror images among the joints by their places, for the names of the bones."""
    joints, near = clicks.joints, 1e-6 * clicks.size
    for i, place in enumerate(joints.places):
        image = place * [-1.0, 1.0, 1.0]
        for k in range(i):
            if abs(place[0]) > near and np.linalg.norm(joints.places[k] - image) <= near:
                joints.image[i], joints.image[k] = k, i
