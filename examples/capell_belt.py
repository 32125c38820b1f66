# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 10 of Capell and others 2006 on a torso of ours: a belly that hops, free and with a belt. [capell2006, §5]

The belt is a ring of skin around the spine, a little tighter than at rest, which its bone carries.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import models
from examples.command import Options, options
from examples.studio import GREY, INK, Studio

FPS = 24.0
FRAMES = (0, 13, 17, 21, 25)
"""Frames in the picture."""
COLUMN, ROW = 0.92, 0.98
ALONG, GIRTH, WIDTH = 0.42, 0.93, 0.03


def poses(count: int) -> np.ndarray:
    """A crouch, and hops of 12 cm, [f,2,4,4]."""
    made = np.tile(np.eye(4), (count, 2, 1, 1))
    time = np.arange(count) / FPS
    made[:, :, 2, 3] = (0.12 * np.abs(np.sin(2.6 * np.pi * time)) * (time > 0.0))[:, None]
    return made


def main(how: Options) -> None:
    shape = models.potbelly()
    surface = thew.Surface(shape.vertices, shape.triangles)
    skeleton = thew.Skeleton(
        ["pelvis", "spine"], [-1, 0], [[0.0, 0.06, 0.52], [0.0, 0.06, 0.68]], [[0.0, 0.06, 0.68], [0.0, 0.05, 1.1]]
    )
    rise = np.clip((shape.vertices[:, 2] - 0.6) / 0.16, 0.0, 1.0)
    weights = np.stack([1.0 - rise, rise], axis=1)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, 14.0)
    body = thew.Body(surface, skeleton, lattice, thew.Material(young=9e3), weights)
    motion = poses(FRAMES[-1] + 1)
    belt = thew.belt(body, "spine", motion, ALONG, girth=GIRTH, width=WIDTH)
    ring, girth, _ = surface.ring([0.0, 0.06, 0.68 + ALONG * 0.42], [0.0, -0.01, 0.42])
    clips = {
        "free": thew.simulate(body, motion, FPS),
        "with a belt": thew.simulate(body, motion, FPS, pins=belt),
    }
    print(f"a ring of {100 * girth:.0f} cm, held at {len(belt)} points")

    studio = Studio(turn=-58.0, tilt=6.0)
    paint, leather = studio.vertex_material(), studio.material(INK, gloss=0.6)
    around = shape.vertices[ring] - shape.vertices[ring].mean(axis=0)
    order = ring[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]
    for row, (words, clip) in enumerate(clips.items()):
        shown = np.asarray(clip)
        still = motion[:, 1, 2, 3]
        sway = np.linalg.norm(shown - shape.vertices - still[:, None, None] * [0.0, 0.0, 1.0], axis=-1).max()
        print(f"{words}: skin sways by up to {100 * sway:.1f} cm")
        for column, frame in enumerate(FRAMES):
            place = studio.at(COLUMN * column, -ROW * row)
            studio.mesh(shown[frame], shape.triangles, paint, place, shape.colours)
            if row == 1:
                loop = shown[frame][np.append(order, order[:2])]
                studio.line(loop, 0.014, leather, place)
            if row == 0:
                studio.text(f"{frame / FPS:.2f} s", studio.at(COLUMN * column, 1.42), 0.06)
        studio.text(words, studio.at(-0.52, -ROW * row + 1.2, 0.4), 0.065, colour=GREY, align="LEFT")
    studio.render(how.output, (-0.55, -ROW + 0.38), (COLUMN * (len(FRAMES) - 1) + 0.5, 1.55), how.width, how.engine)


if __name__ == "__main__":
    main(options("rig-belt"))
