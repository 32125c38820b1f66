# SPDX-License-Identifier: MIT OR Apache-2.0
"""A cloth that hangs on a line, is blown off and ends around a pole: three motions, twelve keyframes. [hildebrandt2012, §6, Figure 1]

The keyframes are snapshots of plain simulations (particles with distances that are kept, in wind), as the paper's are. The first motion holds
the pegs, the last what sticks to the pole.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import keyed, models
from examples.command import Options, options

COLUMNS, ROWS = 60, 31
WIDE, TALL, LINE = 8.0, 5.6, 10.0
POLE, RADIUS = np.array([0.4, 9.0]), 1.1
OFF, HIT = 1.8, 2.9
"""When the wind takes the cloth off the line, and when it meets the pole, s."""
TIMES = (np.linspace(0.0, OFF, 4), np.linspace(OFF, HIT, 4), HIT + np.linspace(0.0, 1.8, 4))
STIFFNESS, DAMPING, MODES = 20.0, (0.6, 0.002), 15


def cloth() -> models.Shape:
    """A sheet in the plane y = 0 below the line."""
    x, z = np.meshgrid(np.linspace(-WIDE / 2, WIDE / 2, COLUMNS), LINE - np.linspace(0.0, TALL, ROWS), indexing="ij")
    at = np.arange(COLUMNS * ROWS).reshape(COLUMNS, ROWS)
    quads = np.stack([at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]], axis=-1).reshape(-1, 4)
    points = np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3)
    return models.Shape(points, models.triangulate(quads))


class Particles:
    """The cloth as particles: gravity, wind, distances kept by averaged projections."""

    def __init__(self, shape: models.Shape) -> None:
        self.x = shape.vertices.copy()
        self.v = np.zeros_like(self.x)
        self.held = np.zeros(len(self.x), bool)
        self.triangles = shape.triangles
        number = np.arange(COLUMNS * ROWS).reshape(COLUMNS, ROWS)
        pairs = []
        for i, j in ((1, 0), (0, 1), (1, 1), (1, -1), (3, 0), (0, 3)):
            a = number[: COLUMNS - i, max(0, -j) : ROWS - max(0, j)]
            b = number[i:, max(0, j) : ROWS + min(0, j)]
            pairs.append(np.stack([a.ravel(), b.ravel()], axis=1))
        self.pairs = np.concatenate(pairs)
        self.length = np.linalg.norm(self.x[self.pairs[:, 1]] - self.x[self.pairs[:, 0]], axis=1)
        # Long pairs resist bending weakly.
        self.share = np.where(self.length > 2.5 * WIDE / COLUMNS, 0.05, 1.0)
        self.degree = np.maximum(np.bincount(self.pairs.ravel(), minlength=len(self.x)), 1)[:, None]

    def step(self, wind: np.ndarray, seconds: float, pole: bool) -> None:
        normal = np.zeros_like(self.x)
        a, b, c = (self.x[self.triangles[:, i]] for i in range(3))
        face = np.cross(b - a, c - a)
        for i in range(3):
            np.add.at(normal, self.triangles[:, i], face)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-12
        push = ((wind - self.v) * normal).sum(axis=1, keepdims=True) * normal
        free = ~self.held[:, None]
        self.v += seconds * free * (2.6 * push + 0.25 * (wind - self.v) + [0.0, 0.0, -9.0])
        before = self.x.copy()
        self.x = self.x + seconds * free * self.v
        for _ in range(40):
            d = self.x[self.pairs[:, 1]] - self.x[self.pairs[:, 0]]
            span = np.linalg.norm(d, axis=1)
            move = (0.5 * self.share * (1.0 - self.length / np.maximum(span, 1e-9)))[:, None] * d
            total = np.zeros_like(self.x)
            np.add.at(total, self.pairs[:, 0], move)
            np.add.at(total, self.pairs[:, 1], -move)
            self.x += free * total * (2.4 / self.degree)
        if pole:
            away = self.x[:, :2] - POLE
            far = np.linalg.norm(away, axis=1)
            inside = far < RADIUS
            self.x[inside, :2] = POLE + away[inside] / far[inside, None] * RADIUS
            self.held |= inside & (self.x[:, 2] > 0.0)
        self.v = 0.998 * (self.x - before) / seconds * free


def snapshots(shape: models.Shape) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """The keyframes of each motion, the pegs, and what sticks to the pole."""
    cloth, seconds, now = Particles(shape), 1.0 / 120.0, 0.0
    number = np.arange(COLUMNS * ROWS).reshape(COLUMNS, ROWS)
    pegs = np.zeros(len(cloth.x), bool)
    pegs[number[[0, 15, 30, 44, 59], 0]] = True
    cloth.held[:] = pegs
    keys: list[list[np.ndarray]] = [[], [], []]
    sticks = pegs
    wanted = [(t, part) for part in range(3) for t in TIMES[part]]
    for time, part in wanted:
        while now < time - 0.5 * seconds:
            gust = 2.5 + 2.5 * np.sin(3.4 * now)
            if now >= OFF:
                cloth.held &= ~pegs
            wind = np.array([0.3, gust, 0.0]) if now < OFF else np.array([0.6, 12.0, 6.5 if now < HIT else 0.5])
            cloth.step(wind, seconds, pole=now >= OFF)
            now += seconds
        if part == 2 and len(keys[2]) == 0:
            sticks = cloth.held & ~pegs if now >= OFF else pegs
        keys[part].append(cloth.x.copy())
    return [np.stack(own) for own in keys], pegs, sticks


def main(how: Options) -> None:
    shape = cloth()
    keys, pegs, sticks = snapshots(shape)
    print(f"{pegs.sum()} pegs; {sticks.sum()} vertices stick to the pole at {HIT} s")
    shell = thew.Shell(shape.vertices, shape.triangles, bending=0.02, unit=1.0)
    # Velocities where motions meet: finite differences of what comes and of what goes.
    leave = (keys[1][1] - keys[0][2]) / (TIMES[1][1] - TIMES[0][2])
    arrive = (keys[1][3] - keys[1][2]) / (TIMES[1][3] - TIMES[1][2])

    def prepare() -> list[thew.Spacetime]:
        common = {"modes": MODES, "rest": "keyframes", "ghosts": "auto"}
        off = np.where(pegs[:, None], 0.0, leave)
        hit = np.where(sticks[:, None], 0.0, arrive)
        return [
            thew.Spacetime(
                shell, keys[0], TIMES[0], STIFFNESS, DAMPING, start_velocity=0.0, end_velocity=off, fixed=pegs, **common
            ),
            thew.Spacetime(
                shell, keys[1], TIMES[1], STIFFNESS, DAMPING, start_velocity=off, end_velocity=arrive, **common
            ),
            thew.Spacetime(
                shell,
                keys[2],
                TIMES[2],
                STIFFNESS,
                DAMPING,
                start_velocity=hit,
                end_velocity=0.0,
                fixed=sticks,
                **common,
            ),
        ]

    motion = thew.composite(keyed.report("cloth", prepare, 12))
    instants = np.array([0.9, 1.8, 2.2, 2.6, 2.9, 3.05, 3.2, 4.7])
    rows = [
        keyed.Row("spacetime control", motion(instants), (0.80, 0.33, 0.27)),
        keyed.Row("cubic splines", motion.plain(instants), keyed.PLAIN),
    ]
    all_times = np.linspace(0.0, TIMES[2][-1], 95)
    for title, frames in ((rows[0].title, motion(all_times)), (rows[1].title, motion.plain(all_times))):
        print(f"{title}: edges change by up to {100 * keyed.stretch(frames, shape.vertices, shape.triangles):.0f} %")
    sheet = keyed.Sheet(13.6, 9.6, 0.9, (-3.4, 3.4), (9.8, 11.4), turn=-58.0, tilt=10.0)

    def scenery(studio, place) -> None:
        wood = studio.material((0.55, 0.45, 0.36))
        studio.line([[-WIDE / 2 - 0.4, 0.0, LINE], [WIDE / 2 + 0.4, 0.0, LINE]], 0.07, wood, place)
        studio.line([[*POLE, 3.2], [*POLE, LINE + 1.0]], RADIUS - 0.08, studio.material((0.66, 0.69, 0.72)), place)

    keyed.draw(how, sheet, shape.triangles, rows, instants, np.concatenate(TIMES), scenery)


if __name__ == "__main__":
    main(options("spacetime-cloth"))
