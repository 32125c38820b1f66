# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 5 of Capell and others 2002: a head turns aside by a right angle, by several methods. [capell2002, §5]

The paper shows the global linear, the nonlinear and the blended solution; the warped and the linearised one stand beside them. Colours below:
distance from the nonlinear solution.
"""

from __future__ import annotations

import numpy as np

from examples import beast, elastic
from examples.command import Options, options
from examples.studio import Studio

ORDER = ("linear", "nonlinear", "blended", "warped", "linearised")
"""Methods from left to right, the paper's three first."""
FRAME = 24
"""The frame in the picture: the head has just arrived."""
COLUMN, ROW = 0.92, 1.05
SHIFT = 0.07
"""Distance of the middle of the turned head to the right of its column's line."""
WORST = 0.06
"""Colours end at this error, as a part of the size."""


def error_colours(error: np.ndarray) -> np.ndarray:
    """Returns linear colours [n,3]: pale where the error is zero, red where it is `WORST` or more."""
    stops = np.array([[0.93, 0.93, 0.90], [0.98, 0.80, 0.47], [0.85, 0.30, 0.17], [0.45, 0.05, 0.12]])
    t = np.asarray(error) / WORST
    return np.stack([np.interp(t, np.linspace(0.0, 1.0, 4), channel) for channel in stops.T], axis=-1) ** 2.2


def main(how: Options) -> None:
    bruno = elastic.flesh(beast.figure(), beast.CELLS_ACROSS, beast.YOUNG, beast.stiffness)
    poses = beast.look_aside()
    motions = elastic.compare(bruno, poses, beast.FPS)
    elastic.print_table(bruno, motions)
    elastic.print_frames(motions, range(0, len(poses), 6))
    volumes = {m: elastic.volume(bruno.skin(x.nodes[FRAME]), bruno.triangles) for m, x in motions.items()}
    rest = elastic.volume(bruno.vertices, bruno.triangles)
    print(
        "volume of the skin: " + ", ".join(f"{elastic.METHODS[m]} {100 * v / rest:.1f} %" for m, v in volumes.items())
    )

    studio = Studio(turn=-24.0, tilt=10.0)
    paint = studio.vertex_material(gloss=0.4)
    right = bruno.skin(motions["nonlinear"].nodes[FRAME])
    for column, method in enumerate(ORDER):
        skin = bruno.skin(motions[method].nodes[FRAME])
        error = np.linalg.norm(skin - right, axis=1) / bruno.size
        place = studio.at(COLUMN * column, 0.0)
        studio.mesh(skin, bruno.triangles, paint, place, bruno.colours)
        studio.mesh(skin, bruno.triangles, paint, place + studio.at(0.0, -ROW), error_colours(error))
        studio.text(elastic.METHODS[method], studio.at(COLUMN * column + SHIFT, 0.6, 0.5), 0.058)
        words = "" if method == "nonlinear" else f"{100 * error.mean():.2f} %, at most {100 * error.max():.1f} %"
        studio.text(words, studio.at(COLUMN * column + SHIFT, -ROW - 0.52, 0.5), 0.052)
    ramp = lambda t: error_colours(WORST * np.asarray(t))  # noqa: E731
    words = ("no error", f"{100 * WORST:.0f} % of the size")
    studio.scale(studio.at(1.5 * COLUMN, -ROW - 0.66), COLUMN, 0.04, ramp, words, 0.052)
    low, high = (-0.46, -ROW - 0.78), (COLUMN * (len(ORDER) - 1) + 0.62, 0.7)
    studio.render(how.output, low, high, how.width, how.engine)


if __name__ == "__main__":
    main(options("elastic-turn"))
