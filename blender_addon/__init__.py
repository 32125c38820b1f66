# SPDX-License-Identifier: GPL-3.0-or-later
"""Thew for Blender: flesh for rigged characters.

    Blender scene --reading--> numpy --session--> native core --modifier, writing--> Blender mesh

| file | what it knows |
| --- | --- |
| `logic/` | plain Python: units and spaces, key names and curves, tasks, sentences; no Blender |
| `reading.py`, `poses.py`, `writing.py`, `modifier.py` | the only places that touch mesh and armature data |
| `properties.py`, `rig_properties.py` | what is saved in the .blend |
| `rigging.py`, `anchors.py` | saved rigs as native ones, and what they hang on found again |
| `rig_drivers.py`, `rig_files.py` | what moves their controls; rigs in files |
| `presets.py` | ready rigs, as numbers |
| `posed.py`, `placing.py`, `pulling.py` | the character under the hand: where its skin is, what is put on it, pulled |
| `riding.py` | clothes, eyes and hair that ride on a body |
| `resting.py` | the flesh at rest, in poses that were not simulated |
| `rendering.py`, `saving.py` | what other threads may have done, renders above all; what becomes of flesh in files |
| `recipe.py` | those settings as numbers, and where the character stood |
| `session.py`, `building.py`, `modal.py` | the live native objects, rebuilt when their inputs change |
| `jobs.py` | add, simulate, remove: what the operators and the command line do |
| `bakes/` | bakes in rest and in posed space, Finish Bake, what exporters ask and what they would do wrong |
| `handlers.py` | playback, updates, load, undo, render |
| `operators/`, `panels.py`, `bake_panel.py`, `rig_panel.py`, `riding_panel.py`, `export_panel.py`, `overlay.py`, `rig_overlay.py`, `viewing.py`, `cli.py` | the faces |
"""

from . import cli, export_panel, handlers, map_overlay, operators, overlay, panels, properties, rig_overlay, rig_panel
from .bakes.gltf import glTF2_pre_export_callback, glTF2ExportUserExtension  # noqa: F401  (its exporter looks here)

PARTS = (
    properties, operators, panels, rig_panel, export_panel, handlers, overlay, map_overlay, rig_overlay, cli,
)  # fmt: skip


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
