# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators. Each is a thin wrapper of one job: synchronous for a script, modal in a window."""

import bpy

from . import (
    add,
    bake,
    cache,
    drag,
    flesh,
    keyframed,
    keyframed_list,
    keyframed_model,
    limb_rigs,
    limb_shape,
    limbs,
    place,
    preset,
    pull,
    remove,
    restart,
    ride,
    rigs,
    simulate,
    switch,
    toolbar,
)

CLASSES = (
    add.THEW_OT_add,
    simulate.THEW_OT_simulate,
    bake.THEW_OT_bake,
    bake.THEW_OT_finish_bake,
    switch.THEW_OT_show_live,
    switch.THEW_OT_show_bake,
    remove.THEW_OT_remove,
    *cache.CLASSES,
    *restart.CLASSES,
    *ride.CLASSES,
    *flesh.CLASSES,
    *rigs.CLASSES,
    *place.CLASSES,
    *pull.CLASSES,
    *drag.CLASSES,
    *preset.CLASSES,
    *keyframed.CLASSES,
    *keyframed_list.CLASSES,
    *keyframed_model.CLASSES,
    *limbs.CLASSES,
    *limb_rigs.CLASSES,
    *limb_shape.CLASSES,
)

#: Groups of tools in the toolbar of the 3D view, and the functions that decide whether they are shown.
TOOLS = ((pull.TOOLS, pull.is_shown), (drag.TOOLS, drag.is_shown))


def register() -> None:
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    for tools, poll in TOOLS:
        toolbar.add(tools, poll)


def unregister() -> None:
    for tools, _poll in reversed(TOOLS):
        toolbar.remove(tools)
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
