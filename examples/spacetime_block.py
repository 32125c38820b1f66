# SPDX-License-Identifier: MIT OR Apache-2.0
"""A jumping block: three motions one after another through four keyframes of one geometry. [hildebrandt2012, §6, Figure 3]

Before and after the jump its sole is fixed. It leaves the ground with the velocity of the jump, which the flight takes over, and lands
with that of the fall; the sole then stops at once, so that nothing announces the landing and a wave runs up the block.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import keyed, models
from examples.command import Options, options

TIMES = (0.0, 1.0, 2.1, 3.6)
FALL, ALONG = 11.0, 3.0
"""Gravity, and how fast the block moves along, units a second: it is ten units in size, like the paper's."""


def block() -> models.Shape:
    """450 vertices, upright on z = 0."""
    shape = models.rounded_box((10, 8, 8), (7.0, 4.2, 4.2), 0.5)
    return models.Shape(np.ascontiguousarray(shape.vertices[:, [2, 1, 0]] * [1.0, -1.0, 1.0]), shape.triangles)


def prepare(shape: models.Shape, stiffness: float) -> list[thew.Spacetime]:
    """The three segments, in the block's full space."""
    shell = thew.Shell(shape.vertices, shape.triangles, unit=1.0)
    sole = shape.vertices[:, 2] < 0.05
    start, off, down, end = TIMES
    leap = (down - off) * np.array([ALONG, 0.0, 0.0])
    rise = np.array([ALONG, 0.0, 0.5 * FALL * (down - off)])
    here, there = shape.vertices, shape.vertices + leap
    leaving = np.where(sole[:, None], 0.0, rise)
    landing = np.where(sole[:, None], 0.0, rise * [1.0, 1.0, -1.0])
    falling = np.broadcast_to(rise * [1.0, 1.0, -1.0], here.shape)
    common = {"stiffness": stiffness, "damping": (0.6, 0.002)}
    crouch = thew.Spacetime(
        shell, [here, here], [start, off], start_velocity=0.0, end_velocity=leaving, fixed=sole, **common
    )
    flight = thew.Spacetime(
        shell,
        [here, there],
        [off, down],
        start_velocity=leaving,
        end_velocity=falling,
        gravity=(0.0, 0.0, -FALL),
        **common,
    )
    rest = thew.Spacetime(
        shell, [there, there], [down, end], start_velocity=landing, end_velocity=0.0, fixed=sole, **common
    )
    return [crouch, flight, rest]


def main(how: Options) -> None:
    shape = block()
    instants = np.array([0.0, 0.55, 0.8, 1.0, 1.25, 1.65, 2.1, 2.25, 2.4, 2.6, 2.9, 3.6])
    rows = []
    for title, stiffness, colour in (("soft", 60.0, keyed.OTHER), ("four times as stiff", 240.0, keyed.OURS)):
        motion = thew.composite(keyed.report(f"block, {title}", lambda s=stiffness: prepare(shape, s), 4))
        rows.append(keyed.Row(title, motion(instants), colour))
    rows.append(keyed.Row("cubic splines", motion.plain(instants), keyed.PLAIN))
    for row in rows:
        high = row.frames[:, :, 2].max(axis=1)
        print(f"{row.title}: top at " + ", ".join(f"{z:.2f}" for z in high))
        # The jump's way along is shown by half: moments already stand side by side.
        row.frames = row.frames - 1.0 * np.clip(instants - TIMES[1], 0.0, TIMES[2] - TIMES[1])[:, None, None] * [
            ALONG,
            0.0,
            0.0,
        ]
    sheet = keyed.Sheet(6.2, 11.6, 0.8, (-3.0, -1.4), (3.0, 9.0))

    def ground(studio, place) -> None:
        studio.slab(place + [0.0, 0.0, -0.15], (5.6, 5.6, 0.3), studio.material((0.80, 0.82, 0.84)))

    keyed.draw(how, sheet, shape.triangles, rows, instants, TIMES, ground)


if __name__ == "__main__":
    main(options("spacetime-block"))
