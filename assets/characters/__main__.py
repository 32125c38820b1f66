# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a character to a file: python -m assets.characters NAME OUTPUT.blend|.glb"""

import sys

import bpy

from . import CLIPS, create


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] not in CLIPS:
        print(f"{__doc__}\nThere are: {', '.join(CLIPS)}")
        return 2
    name, output = sys.argv[1:]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    create(name)
    if output.endswith(".glb"):
        bpy.ops.export_scene.gltf(filepath=output, export_animation_mode="ACTIONS")
    else:
        bpy.ops.wm.save_as_mainfile(filepath=output, compress=True, check_existing=False)
    return 0


sys.exit(main())
