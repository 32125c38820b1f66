# SPDX-License-Identifier: MIT OR Apache-2.0
"""A striding dinosaur with planted feet: five motions one after another, a step each. [hildebrandt2012, §6, Figure 6]

28,098 vertices as in the paper. In each step a diagonal pair of feet stands, held by equality constraints, and the other swings; velocities
where steps meet are finite differences of the keyframes.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import keyed, models
from examples.command import Options, options

STEPS, STEP, STRIDE = 5, 0.8, 0.42
"""Steps, how long one takes, s, and how far the body goes in it, m."""
STIFFNESS, DAMPING, MODES = 40.0, (0.8, 0.004), 5
FEET = {"front": np.array([0.245, -0.36]), "hind": np.array([0.265, 0.41])}


class Walker:
    """The dinosaur, its soles, and its pose at a place of the walk."""

    def __init__(self, vertices: int = 28_098) -> None:
        self.shape = models.dinosaur(vertices)
        rest = self.shape.vertices
        self.unit = 10.0 / float(np.linalg.norm(np.ptp(rest, axis=0)))
        self.legs = {}
        for name, foot in FEET.items():
            for side in (1.0, -1.0):
                away = np.linalg.norm(rest[:, :2] - foot * [side, 1.0], axis=1)
                # Up to the hip a leg is a leg; the belly between the legs is none.
                low = 1.0 - _smooth(rest[:, 2], 0.08, 0.86)
                self.legs[name, side] = low * (1.0 - _smooth(away, 0.19, 0.3))

    def soles(self, pair: int) -> np.ndarray:
        """A mask of the feet that stand while a pair does."""
        low = self.shape.vertices[:, 2] < 0.05
        return low & np.any([self.legs[leg] > 0.9 for leg in self.legs if _pair(*leg) == pair], axis=0)

    def pose(self, steps: float) -> np.ndarray:
        """After so many steps, ten units in size."""
        p = self.shape.vertices.copy()
        phase = np.pi * steps
        # Neck and tail swing against each other, the trunk rolls and bobs.
        for sign, begin, end, swing, lift in ((-1.0, 0.55, 1.6, 0.30, 0.10), (1.0, 0.6, 1.95, -0.5, 0.06)):
            along = np.clip((sign * p[:, 1] - begin) / (end - begin), 0.0, 1.1)
            p[:, 0] += swing * np.sin(phase + 0.5) * along**1.6
            p[:, 2] += lift * np.cos(2.0 * phase) * along**1.6
        free = 1.0 - np.max(list(self.legs.values()), axis=0)
        p[:, 2] += (0.035 * np.cos(2.0 * phase) - 0.035) * free
        p[:, 0] += 0.05 * np.sin(phase) * free
        forward = STRIDE * steps
        p[:, 1] -= forward
        for leg, weight in self.legs.items():
            ahead, up = _foot(steps, _pair(*leg))
            bent = np.sin(np.pi * np.clip(weight, 0.0, 1.0))
            p[:, 1] -= weight * (ahead - forward) + 0.5 * up * bent
            p[:, 2] += weight * up
        return self.unit * p


def _smooth(x: np.ndarray, low: float, high: float) -> np.ndarray:
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def _pair(name: str, side: float) -> int:
    """Left front goes with right hind."""
    return int((name == "front") == (side > 0.0))


def _foot(steps: float, pair: int) -> tuple[float, float]:
    """How far a pair of feet is along, and how high: it stands in every other step and swings twice as far in those between."""
    number = int(np.floor(steps + 1e-9))
    share = steps - number
    # Where it stands it is half a step ahead of the body at first.
    if number % 2 == pair:
        return STRIDE * (number + 0.5), 0.0
    return STRIDE * (number - 0.5 + 2.0 * _smooth(np.array(share), 0.0, 1.0)), 0.16 * np.sin(np.pi * share) ** 2


def main(how: Options) -> None:
    walker = Walker()
    rest, triangles = walker.unit * walker.shape.vertices, walker.shape.triangles
    shell = thew.Shell(rest, triangles, unit=1.0)
    places = np.arange(2 * STEPS + 1) / 2.0
    keys = np.stack([walker.pose(place) for place in places])
    times = STEP * places
    slopes = np.gradient(keys, times, axis=0)

    def prepare() -> list[thew.Spacetime]:
        segments = []
        for step in range(STEPS):
            own = slice(2 * step, 2 * step + 3)
            stands = walker.soles(step % 2)
            first, last = (np.where(stands[:, None], 0.0, slopes[k]) for k in (2 * step, 2 * step + 2))
            held = keys[own].copy()
            held[:, stands] = held[0, stands]
            segments.append(
                thew.Spacetime(
                    shell,
                    held,
                    times[own],
                    STIFFNESS,
                    DAMPING,
                    modes=MODES,
                    start_velocity=first,
                    end_velocity=last,
                    fixed=stands,
                    rest="keyframes",
                )
            )
        return segments

    segments = keyed.report("dinosaur", prepare, len(keys))
    motion = thew.composite(segments)
    instants = STEP * np.array([1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5])
    rows = [
        keyed.Row("spacetime control", motion(instants), walker.shape.colours),
        keyed.Row("cubic splines", motion.plain(instants), keyed.PLAIN),
    ]
    slip = 0.0
    for step in range(STEPS):
        stands = walker.soles(step % 2)
        during = motion(STEP * (step + np.linspace(0.0, 0.999, 20)))
        slip = max(slip, float(np.abs(during[:, stands] - during[:1, stands]).max()))
    apart = np.linalg.norm(rows[0].frames - rows[1].frames, axis=2).max()
    print(f"planted feet slip by {slip:.1e} of 10 units; cubic splines are up to {apart:.2f} away")
    for row in rows:
        row.frames = row.frames + (instants / STEP * STRIDE * walker.unit)[:, None, None] * [0.0, 1.0, 0.0]
    sheet = keyed.Sheet(9.4, 7.4, 0.8, (-4.6, -0.6), (4.6, 6.2), turn=78.0, tilt=6.0)

    def ground(studio, place) -> None:
        studio.slab(place + [0.0, 0.0, -0.15], (3.4, 8.2, 0.3), studio.material((0.80, 0.82, 0.84)))

    keyed.draw(how, sheet, triangles, rows, instants, times, ground)


if __name__ == "__main__":
    main(options("spacetime-dinosaur"))
