# SPDX-License-Identifier: GPL-3.0-or-later
"""Thew for Blender: flesh for rigged characters.

    Blender scene --scene--> numpy --live--> native core --scene--> Blender mesh

Each folder is a wing. A wing imports only from those above it in this table:

| wing | contents |
| --- | --- |
| `logic/` | plain Python: spaces, key names and curves, tasks, sentences; no Blender |
| `languages/` | translations of labels, tooltips and messages |
| `saved/` | properties saved in the .blend; the scene's units as metres and seconds |
| `scene/` | the only places that touch mesh and armature data |
| `rigs/` | saved rigs as native ones, their attachments, drivers and files |
| `live/` | the live native objects, rebuilt when their inputs change; playback, load, undo, render |
| `edit/` | edits of the character in the 3D view: placing, pulling, softening, limbs, keyframes |
| `bake/` | bakes of clips in rest and in posed space, Finish Bake, hooks of exporters and warnings before exports |
| `ui/` | panels and overlays of the 3D view |
| `operators/` | operators: the buttons that the artist presses |
"""

from . import cli, operators
from .bake import fbx
from .bake.gltf import (  # noqa: F401  (its exporter looks here)
    glTF2_post_export_callback,
    glTF2_pre_export_callback,
    glTF2ExportUserExtension,
)
from .languages import translations
from .live import handlers
from .saved import bones, properties
from .ui import (
    compare_panel,
    contact_overlay,
    export_panel,
    ghost_overlay,
    hand_overlay,
    hand_panel,
    keyframed_overlay,
    keyframed_panel,
    limb_overlay,
    limb_panel,
    map_overlay,
    overlay,
    pair_list,
    panels,
    pin_overlay,
    pin_panel,
    ready_frames,
    restarts,
    rig_overlay,
    rig_panel,
    stiffness_overlay,
    twist_overlay,
)

OVERLAYS = [
    drawn
    for module in (
        overlay,
        map_overlay,
        stiffness_overlay,
        rig_overlay,
        contact_overlay,
        keyframed_overlay,
        limb_overlay,
        hand_overlay,
        twist_overlay,
        ghost_overlay,
        pin_overlay,
        ready_frames,
        restarts,
    )
    for drawn in module.OVERLAYS
]

PARTS = (
    translations, bones, properties, operators, panels, rig_panel, limb_panel, pin_panel, hand_panel, keyframed_panel, compare_panel, export_panel, pair_list,
    handlers, fbx, *OVERLAYS, cli,
)  # fmt: skip


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
