# SPDX-License-Identifier: MIT OR Apache-2.0
"""The moving picture on the first screen of the guide: Thea walks and halts, above as plain skin, below with flesh.

`python -m demo.showpiece --output FOLDER` with a bpy's Python and the extension. Renders with Cycles, on processors alone, and leaves the
frames, which `demo.film` joins. The settings are those of her recipe.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from demo import pictures, stage
from demo.characters import empty_scene, evaluated_positions
from demo.cookbook.recipes import RECIPES
from demo.extension import enable

SIDE = (480, 232)
"""Pixels of one frame of the film, across and up; the film has two of them above each other."""
SAMPLES = 14
"""Samples of a pixel; the denoiser does the rest."""
RHYTHM = 2
"""Frames of the scene for one of the film: 12 a second."""
TURN = -1.2
"""Turn of the character from the front, radians: with `stage.VIEW_TURN` a little less than a side view."""
GROUND = {"Ground light": (0.50, 0.48, 0.44), "Ground dark": (0.44, 0.42, 0.385)}
"""Colours of the floor (sRGB): darker than the demo's, for a bright animal."""
EXPOSURE, SKY = -1.35, 0.55
"""Stops of the camera, and the share of the surroundings' light: the less, the more the flesh is modelled by the lamps."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--frames", type=int, nargs="*", help="frames of the film to be rendered; all if left out")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    archive = os.environ.get("THEW_ZIP")
    enable(Path(archive) if archive else None)
    empty_scene()
    recipe = next(recipe for recipe in RECIPES if recipe.name == "creature")
    star = recipe.character()
    scene = bpy.context.scene
    star.armature.rotation_euler.z = TURN
    frames = list(range(scene.frame_start, scene.frame_end + 1, RHYTHM))
    build_stage(star.flesh, frames)
    shown = options.frames or frames
    pictures.render(shown, options.output / "plain")
    bpy.ops.thew.add()
    recipe.cook(star)
    bpy.ops.thew.simulate()
    pictures.render(shown, options.output / "flesh")


def build_stage(body: bpy.types.Object, frames: list[int]) -> None:
    """Builds floor, lights and a camera that follows the middle of the body, and sets up the render."""
    path, around = {}, []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        points = evaluated_positions(body)
        middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
        # The camera keeps its height, so that the gait shows.
        path[frame] = np.array([*middle[:2], 0.0])
        around.append(points[::7] - path[frame])
    # Swinging up and down would shake the picture: the way of the camera is that of a mean over ten frames.
    track = np.array(list(path.values()))
    pad = np.concatenate([np.repeat(track[:1], 5, axis=0), track, np.repeat(track[-1:], 5, axis=0)])
    smooth = np.array([pad[k : k + 11].mean(axis=0) for k in range(len(track))])
    stage.build(np.concatenate(around), dict(zip(path, smooth, strict=True)), SIDE[0] / SIDE[1])
    stage.use_engine("CYCLES", *SIDE, textured=True, samples=SAMPLES)
    scene = bpy.context.scene
    scene.render.use_persistent_data = True
    scene.view_settings.exposure = EXPOSURE
    stage.set_surroundings(stage.BACKDROP, SKY)
    for name, colour in GROUND.items():
        nodes = bpy.data.materials[name].node_tree.nodes
        shader = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
        shader.inputs["Base Color"].default_value = (*(c**2.2 for c in colour), 1.0)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Blender 4.2 crashes at exit once an extension was enabled
