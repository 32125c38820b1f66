# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures of our own biped in wind, for `docs/blender/fields.md`.

    python -m demo.look.wind_pictures [--output FOLDER]

The wind blows from the left of the picture, to his left, at the strengths in the pictures (m/s²). He stands still and moves at the
extension's defaults. The largest distance of a vertex from the plain skin is printed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from assets.characters.choreography import FPS
from demo.look import raster
from demo.look.contact_pictures import ROOT, Bodies, bodo, plain_skin, save, squat_pose
from demo.look.sheet import FLESH, GREY

#: Frames until the flesh is at rest in the wind.
FRAMES = 48
#: Place of a field whose z axis is the world's x axis.
TO_X = [[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]


def wind(output: Path, side: int = 300) -> None:
    """Draws plain skin, still flesh, and flesh in two winds: whole, and the belly."""
    import thew

    figure, skin, cut, character = bodo()
    poses = np.repeat(squat_pose(figure, 0.0)[None], FRAMES, axis=0)
    plain = plain_skin(poses[-1], skin.vertices, skin.weights)
    shown = [("plain skin", plain, GREY)]
    for strength in (0.0, 10.0, 30.0):
        fields = [thew.ForceField("wind", np.minimum(np.arange(FRAMES) * 2.0, strength), TO_X)]
        clip = thew.simulate(character.body, poses, FPS, fields=fields, **character.motion)
        moved = clip.offsets(FRAMES - 1)
        print(f"wind {strength:.0f}: up to {np.linalg.norm(moved, axis=1).max():.3f} m from the plain skin")
        shown.append((f"wind {strength:.0f}" if strength else "flesh, no wind", plain + moved, FLESH))
    rows: list[list[np.ndarray]] = [[], []]
    for name, points, tint in shown:
        seen = Bodies([(skin.vertices, skin.triangles())], [tint], cut)
        tints = np.tile(tint, (len(points), 1))
        for row, (middle, half) in zip(rows, (((0.0, 0.0, 0.85), 0.95), ((0.0, 0.0, 0.85), 0.42)), strict=True):
            row.append(
                raster.draw(points, seen.triangles, tints, raster.View(0.0, 0.0), np.asarray(middle), half, side)
            )
        raster.write(rows[0][-1], name, 6, 6)
    save(rows, output / "fields.png")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    wind(parser.parse_args().output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
