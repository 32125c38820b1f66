# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators. Each is a thin wrapper of one job: synchronous for a script, modal in a window."""

import bpy

from . import (
    add,
    bake,
    bake_dialog,
    belt,
    cache,
    compare,
    diagnose,
    drag,
    export_cache,
    flesh,
    follow,
    hand_lattice,
    keyframed,
    keyframed_list,
    keyframed_model,
    landmark,
    library,
    limb_shape,
    limbs,
    mend,
    muscle,
    pin,
    place,
    posed_mesh,
    preset,
    pull,
    region,
    remove,
    restart,
    ride,
    rig_copy,
    rig_files,
    rigs,
    sculpt,
    set_end,
    simulate,
    skeleton,
    switch,
    toolbar,
    twist,
    wrinkles,
)  # fmt: skip

MODULES = (
    add, simulate, set_end, bake, bake_dialog, mend, switch, remove, cache, restart, ride, flesh, rigs, rig_files, place, pull, drag, preset, muscle,
    keyframed, keyframed_list, keyframed_model, limbs, pin, belt, follow, rig_copy, limb_shape, export_cache, wrinkles, twist,
    hand_lattice, skeleton, sculpt, posed_mesh, region, landmark, diagnose, compare, library,
)  # fmt: skip

#: All operators, by their names.
CLASSES = [
    cls
    for module in MODULES
    for name, cls in vars(module).items()
    if name.startswith("THEW_OT_") and cls.__module__ == module.__name__
]

#: Groups of tools in the toolbar of the 3D view, and the functions that decide whether they are shown.
TOOLS = ((pull.TOOLS, pull.has_rig), (drag.TOOLS, drag.has_modal_flesh))


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
