# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 4 of Capell and others 2002: a head is shaken; its ears flap, its horns stay. [capell2002, §5]

Ears and horns have no bones: only the painted stiffness tells them apart. Above, the skin that follows the bones alone; below, flesh by
blended local linearisation.
"""

from __future__ import annotations

import numpy as np

from examples import beast, elastic
from examples.command import Options, options
from examples.studio import Studio

SHOWN = (0, 13, 16, 19, 22, 25, 71)
"""Frames in the picture."""
COLUMN, ROW = 0.82, 1.08


def stiffness_colours(factors: np.ndarray) -> np.ndarray:
    """Returns linear colours [n,3] of painted factors: pale where flesh is soft, dark where it is hard."""
    share = np.clip(np.log(factors) / np.log(beast.HORN), 0.0, 1.0)[:, None]
    return ((1.0 - share) * [0.98, 0.90, 0.72] + share * [0.16, 0.27, 0.52]) ** 2.2


def main(how: Options) -> None:
    bruno = elastic.flesh(beast.figure(), beast.CELLS_ACROSS, beast.YOUNG, beast.stiffness)
    poses = beast.shake()
    motions = elastic.compare(bruno, poses, beast.FPS)
    elastic.print_table(bruno, motions)
    elastic.print_frames(motions, SHOWN)
    for method, motion in motions.items():
        far = [100 * elastic.swing(bruno, motion, poses, part(bruno.vertices)) for part in (beast.ear, beast.horn)]
        print(f"{elastic.METHODS[method]}: the ear swings by {far[0].max():.1f} cm, the horn by {far[1].max():.1f} cm; "
              f"after the rest {far[0][-1]:.2f} and {far[1][-1]:.2f} cm")  # fmt: skip

    studio = Studio(turn=-14.0, tilt=4.0)
    paint = studio.vertex_material(gloss=0.4)
    shown = [bruno.skin(nodes) for nodes in motions["blended"].nodes]
    rows = (("plain skin", [bruno.plain(pose) for pose in poses]), ("flesh, blended", shown))
    for row, (words, skins) in enumerate(rows):
        for column, frame in enumerate(SHOWN):
            place = studio.at(COLUMN * column, -ROW * row)
            studio.mesh(skins[frame], bruno.triangles, paint, place, bruno.colours)
            if row == 1:
                studio.text(f"{frame / beast.FPS:.2f} s", place + studio.at(0.0, -0.53, 0.5), 0.06)
        studio.text(words, studio.at(-0.42, 0.55 - ROW * row, 0.5), 0.065, align="LEFT")
    place = studio.at(COLUMN * len(SHOWN) + 0.06, -0.5 * ROW)
    studio.mesh(bruno.vertices, bruno.triangles, paint, place, stiffness_colours(beast.stiffness(bruno.vertices)))
    studio.text("painted stiffness", place + studio.at(0.0, 0.55, 0.5), 0.065)
    ramp = lambda t: stiffness_colours(beast.HORN ** np.asarray(t))  # noqa: E731
    studio.scale(place + studio.at(-0.3, -0.53), 0.6, 0.04, ramp, ("× 1", f"× {beast.HORN:.0f}"), 0.055)
    studio.render(how.output, (-0.45, -ROW - 0.6), (COLUMN * len(SHOWN) + 0.5, 0.62), how.width, how.engine)


if __name__ == "__main__":
    main(options("elastic-ears"))
