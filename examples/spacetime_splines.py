# SPDX-License-Identifier: MIT OR Apache-2.0
"""Wiggly splines: one mode through the same five values, stiffer and more damped, and cut. [hildebrandt2012, §4.2]"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import thew

from examples.command import Options, options
from examples.studio import AMBER, BLUE, GREEN, GREY, INK, RED, Studio

TIMES = np.array([0.0, 0.7, 1.2, 2.2, 3.0])
VALUES = np.array([0.0, 1.0, -0.5, 0.6, 0.6])


def spline(stiffness: float, damping: float = 0.0, gravity: float = 0.0, **more) -> thew.WigglySpline:
    """Through the values, from rest to rest."""
    return thew.WigglySpline(TIMES, VALUES, stiffness, damping, gravity, **more)


def cut_spline(t: np.ndarray) -> np.ndarray:
    """Arrives fast and leaves at rest at the third value."""
    return spline(150.0, 1.0, knot_velocities={2: (-9.0, 0.0)})(t)


def main(how: Options) -> None:
    panels: list[tuple[str, list[tuple[str, tuple, Callable]]]] = [
        (
            "stiffness 0 (a cubic spline), 100, 700",
            [("0", GREY, spline(0.0)), ("100", GREEN, spline(100.0)), ("700", BLUE, spline(700.0))],
        ),
        (
            "stiffness 400, damping 0, 2, 12",
            [("0", GREY, spline(400.0)), ("2", GREEN, spline(400.0, 2.0)), ("12", BLUE, spline(400.0, 12.0))],
        ),
        ("a cut: arrives fast, leaves at rest", [("smooth", GREY, spline(150.0, 1.0)), ("cut", RED, cut_spline)]),
    ]
    studio = Studio(turn=0.0, tilt=0.0)
    t = np.linspace(TIMES[0], TIMES[-1], 1201)
    for column, (title, curves) in enumerate(panels):
        left = 3.5 * column
        studio.line([studio.at(left, 0.0), studio.at(left + TIMES[-1], 0.0)], 0.006, studio.material(GREY))
        for depth, (name, colour, curve) in enumerate(curves):
            points = [studio.at(left + a, b, 0.05 * depth) for a, b in zip(t, curve(t), strict=True)]
            studio.line(points, 0.014, studio.material(colour))
            print(f"{title}: {name} goes from {curve(t).min():.2f} to {curve(t).max():.2f}")
        for a, b in zip(TIMES, VALUES, strict=True):
            studio.ball(studio.at(left + a, b, 0.4), 0.045, studio.material(AMBER, gloss=0.7))
        studio.text(title, studio.at(left + 0.5 * TIMES[-1], -1.5), 0.16, INK)
    studio.render(how.output, (-0.3, -1.75), (10.3, 1.4), how.width, how.engine)


if __name__ == "__main__":
    main(options("spacetime-splines"))
