# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a character to a file: python -m assets.characters NAME OUTPUT.blend|.glb"""

import sys

import bpy

from . import FIGURES, SHOWPIECES, create_figure


def main() -> int:
    every = FIGURES | SHOWPIECES
    if len(sys.argv) != 3 or sys.argv[1] not in every or not sys.argv[2].endswith((".blend", ".glb")):
        print(f"{__doc__}\nThere are: {', '.join(every)}")
        return 2
    name, output = sys.argv[1:]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    create_figure(every[name]())
    if output.endswith(".glb"):
        bpy.ops.export_scene.gltf(filepath=output, export_animation_mode="ACTIONS")
    else:
        bpy.ops.wm.save_as_mainfile(filepath=output, compress=True, check_existing=False)
    return 0


sys.exit(main())
