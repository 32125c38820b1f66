# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 2 of Capell and others 2006: a bar and an arm, bent, by every method of balance. [capell2006, §3.3]

The paper sets its warped linearisation beside blended local linearisation; that one is not built here. Instead: the
global linear method below both forms of warping, and two nonlinear materials as the reference.
"""

from __future__ import annotations

import numpy as np

from examples import bending
from examples.command import Options, options
from examples.studio import Studio

ANGLES = (30.0, 60.0, 90.0, 120.0)
SHOWN = (60.0, 90.0, 120.0)
COLUMN, ROW = 1.02, 0.76
WORST = 0.5
"""Colours end at this change of volume."""


def colours(change: np.ndarray) -> np.ndarray:
    """Linear colours by det F: blue where flesh has swollen, skin where it is as it was, red where it is squeezed."""
    stops = np.array(
        [[0.75, 0.13, 0.14], [0.95, 0.55, 0.38], [0.95, 0.85, 0.74], [0.46, 0.66, 0.78], [0.13, 0.36, 0.62]]
    )
    t = (np.asarray(change) - 1.0) / WORST
    return np.stack([np.interp(t, np.linspace(-1.0, 1.0, len(stops)), channel) for channel in stops.T], axis=-1) ** 2.2


def main(how: Options) -> None:
    studio = Studio(turn=-14.0, tilt=9.0)
    paint = studio.vertex_material(gloss=0.35)
    for name, limb, left, scale in (("bar", bending.bar(), 0.0, 1.0), ("arm", bending.arm(), 3.15, 1.2)):
        print(f"\n{name}: {limb.body.node_count} lattice vertices; distances are parts of the body's size")
        print("| angle | method | volume kept at the bend | turned inside out "
              "| to neo-Hookean, largest / mean | to St. V.-K., largest / mean |")  # fmt: skip
        print("| --- | --- | --- | --- | --- | --- |")
        for angle in ANGLES:
            answers = bending.bend(limb, angle)
            for row, (method, answer) in enumerate(answers.items()):
                far = " | ".join(f"{100 * a:.2f} / {100 * b:.2f} %" for a, b in answer.away.values())
                print(f"| {angle:.0f}° | {bending.METHODS[method]} | {100 * answer.volume:.1f} % "
                      f"| {100 * answer.turned_over:.1f} % | {far} |")  # fmt: skip
                if angle in SHOWN:
                    place = studio.at(left + COLUMN * SHOWN.index(angle), -ROW * row)
                    points = scale * answer.points - [scale * 0.5, 0.0, 0.0]
                    studio.mesh(points, limb.shape.triangles, paint, place, colours(answer.squeezed))
        for column, angle in enumerate(SHOWN):
            studio.text(f"{angle:.0f}°", studio.at(left + COLUMN * column - 0.12, 0.72), 0.085)
    for row, words in enumerate(bending.METHODS.values()):
        for line, part in enumerate(words.split(", ")):
            studio.text(part, studio.at(-0.68, 0.12 - 0.11 * line - ROW * row), 0.078, align="RIGHT")
    ramp = lambda t: colours(1.0 + WORST * (2.0 * np.asarray(t) - 1.0))  # noqa: E731
    words = (f"volume {100 * (1 - WORST):.0f} % and less", f"{100 * (1 + WORST):.0f} % and more")
    studio.scale(studio.at(3.9, -3.5), 1.6, 0.05, ramp, words, 0.075)
    studio.render(how.output, (-1.75, -3.7), (5.85, 0.86), how.width, how.engine)


if __name__ == "__main__":
    main(options("rig-bend"))
