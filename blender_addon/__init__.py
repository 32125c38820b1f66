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
| `resting.py` | the flesh at rest, in poses that were not simulated |
| `recipe.py` | those settings as numbers, and where the character stood |
| `session.py`, `building.py`, `offsets.py`, `firmness.py`, `modal.py` | the live native objects, rebuilt when their inputs change |
| `jobs.py` | add, simulate, bake, remove: what the operators and the command line do |
| `handlers.py` | playback, updates, load, undo, render |
| `operators/`, `panels.py`, `rig_panel.py`, `overlay.py`, `rig_overlay.py`, `viewing.py`, `cli.py` | the faces |
"""

from . import cli, handlers, operators, overlay, panels, properties, rig_overlay, rig_panel

PARTS = (properties, operators, panels, rig_panel, handlers, overlay, rig_overlay, cli)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
