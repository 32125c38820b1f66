# SPDX-License-Identifier: MIT OR Apache-2.0
"""The picture of Rigid and of what stiffens flesh: two characters before and after Make Rigid, in the colours of the overlay.

    python demo/look/stiff_pictures.py --output FOLDER

It uses the extension that is installed, or that of THEW_ZIP.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import bpy
import numpy as np

from assets import characters as own
from demo.characters import empty_scene
from demo.extension import activate, addon, flesh_of, install
from demo.look import raster

#: Side of one of the four pictures, and the height of a row of the legend, pixels.
SIDE, ROW = 420, 18
#: The characters, the side from which each is seen, and its clip.
FIGURES = {"biped": (raster.View(turn=0.5, lift=0.12), "walk"), "quadruped": (raster.View(turn=1.1, lift=0.15), "trot")}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, required=True, help="folder of the picture")
    options = parser.parse_args()
    if os.environ.get("THEW_ZIP"):
        install(Path(os.environ["THEW_ZIP"]))
    rows, causes = [], {}
    for name, (view, clip) in FIGURES.items():
        empty_scene()
        armature, body = own.create(name)
        own.use_action(armature, clip)
        activate(body)
        bpy.ops.thew.add()
        bpy.ops.thew.simulate()
        pictures = [draw(body, view, causes, "as it is")]
        bpy.ops.thew.make_rigid(part="HARD")
        bpy.ops.thew.simulate()
        pictures.append(draw(body, view, causes, "hard parts rigid"))
        rows.append(np.concatenate(pictures, axis=1))
    raster.save(np.concatenate([*rows, legend(causes, rows[0].shape[1])]), options.output / "stiff.png")
    return 0


def draw(body: bpy.types.Object, view: raster.View, causes: dict, title: str) -> np.ndarray:
    """Draws a body at the current frame in the colours of the overlay; adds the causes that are seen to `causes`."""
    evaluated = body.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = np.array([evaluated.matrix_world @ vertex.co for vertex in evaluated.data.vertices])
    evaluated.data.calc_loop_triangles()
    triangles = np.array([each.vertices for each in evaluated.data.loop_triangles])
    found = addon("live.stiffness").stiffness_map(body, flesh_of(body))
    causes.update({cause.label: cause.colour for cause in found.legend()})
    middle, half = (points.min(axis=0) + points.max(axis=0)) / 2, 0.56 * float(np.ptp(points, axis=0).max())
    picture = raster.draw(points, triangles, 255.0 * found.colours(), view, middle, half, SIDE)
    raster.write(picture, title, SIDE - 14, 4)
    return picture


def legend(causes: dict, width: int) -> np.ndarray:
    """Draws a box and a name for each cause."""
    height = ROW * -(-len(causes) // 2)
    picture = np.empty((height, width, 3), np.uint8)
    picture[:] = raster.PAPER
    for k, (label, colour) in enumerate(causes.items()):
        top, left = ROW * (k // 2), 4 + (k % 2) * width // 2
        picture[top + 2 : top + 14, left : left + 12] = (255.0 * np.array(colour)).astype(np.uint8)
        raster.write(picture, label, top + 3, left + 18)
    return picture


if __name__ == "__main__":
    sys.exit(main())
