# SPDX-License-Identifier: MIT OR Apache-2.0
"""A flour sack that dances: a cycle of eight keyframes from four poses. [hildebrandt2012, Table 1]

The sack's corners are its hands and feet. Each pose is its own rest, so it rings about a pose and stays with it; the poses are made
from numbers by bending, squashing and twisting, as an artist would sculpt them.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import keyed, models
from examples.command import Options, options

ORDER = ("stand", "crouch", "left", "crouch", "stand", "crouch", "right", "crouch")
TIMES = 0.36 * np.arange(9)
STIFFNESS, DAMPING = 60.0, (0.8, 0.004)


def sack() -> models.Shape:
    """1762 vertices, about ten units in size, upright on z = 0: a cushion with drawn-out corners."""
    box = models.rounded_box((20, 20, 12), (7.4, 5.2, 3.2), 0.9)
    z, x, y = box.vertices[:, 0] / 7.4, box.vertices[:, 1] / 2.6, box.vertices[:, 2] / 1.6
    up = 2.0 * z - 1.0
    corner = (x * up) ** 2
    # Thin at the seams, narrow in the waist, corners out.
    thick = 1.6 * (1.0 - 0.55 * x**4) * (1.0 - 0.62 * up**4) * (1.0 + 0.22 * (1.0 - up) * (1.0 - up**2))
    wide = (
        2.5 * (1.0 - 0.06 * (1.0 - up**2) + 0.22 * corner**2 - 0.1 * (1.0 - x**2) * up**8) * (1.0 + 0.08 * (1.0 - up))
    )
    tall = 3.5 * up * (1.0 + 0.3 * corner**2)
    points = np.stack([-wide * x, thick * y, tall], axis=1)
    points[:, 2] -= points[:, 2].min()
    return models.Shape(np.ascontiguousarray(points), box.triangles[:, ::-1].copy())


def poses(rest: np.ndarray) -> dict[str, np.ndarray]:
    """The four poses, feet on the ground but where it leaps."""
    height = rest[:, 2].max()
    z = rest[:, 2] / height

    def pose_sack(lean: float, squash: float, twist: float, lift: float, arms: float) -> np.ndarray:
        """Leaning to +x by an angle, shorter by a share and as much thicker, twisted, lifted, its upper corners raised."""
        p = rest.copy()
        fat = 1.0 / np.sqrt(1.0 - squash)
        bulge = 1.0 + (fat - 1.0) * (0.5 + 3.6 * z * (1.0 - z))
        p[:, 0] *= bulge
        p[:, 1] *= bulge
        p[:, 2] *= 1.0 - squash
        raised = arms * np.clip(np.abs(rest[:, 0]) / 2.5, 0.0, 1.2) ** 2 * np.clip(2.0 * z - 1.0, 0.0, 1.0) ** 2
        p[:, 2] += raised
        a = twist * z**2 * (3.0 - 2.0 * z)
        p[:, 0], p[:, 1] = np.cos(a) * p[:, 0] - np.sin(a) * p[:, 1], np.sin(a) * p[:, 0] + np.cos(a) * p[:, 1]
        # Bent along a circle: the spine keeps its length.
        if lean:
            length = (1.0 - squash) * height
            turn = lean * p[:, 2] / length
            radius = length / lean - p[:, 0]
            p[:, 0], p[:, 2] = length / lean - radius * np.cos(turn), radius * np.sin(turn)
        p[:, 2] += lift
        return p

    return {
        "stand": rest,
        "crouch": pose_sack(0.0, 0.36, 0.0, 0.0, -0.5),
        "left": pose_sack(-0.7, -0.14, 0.45, 1.6, 0.7),
        "right": pose_sack(0.7, -0.14, -0.45, 1.6, 0.7),
    }


def main(how: Options) -> None:
    shape = sack()
    shapes = poses(shape.vertices)
    keys = np.stack([shapes[name] for name in (*ORDER, ORDER[0])])
    shell = thew.Shell(shape.vertices, shape.triangles, bending=1.0, unit=1.0)

    def prepare() -> list[thew.Spacetime]:
        return [thew.Spacetime(shell, keys, TIMES, STIFFNESS, DAMPING, modes=20, cyclic=True, rest="keyframes")]

    (motion,) = keyed.report("flour sack", prepare, len(ORDER))
    instants = np.linspace(TIMES[0], TIMES[4], 13)[1:]
    rows = [
        keyed.Row("spacetime control", motion(instants), (0.86, 0.74, 0.55)),
        keyed.Row("cubic splines", motion.plain(instants), keyed.PLAIN),
    ]
    at_end = np.abs(motion(TIMES[[0, -1]] + [1e-9, -1e-9]) - keys[0]).max()
    print(f"the cycle closes to {at_end:.1e}; keyframes are met to {np.abs(motion(TIMES) - keys).max():.1e}")
    for row in rows:
        print(
            f"{row.title}: edges change by up to {100 * keyed.stretch(row.frames, shape.vertices, shape.triangles):.0f} %"
        )
    sheet = keyed.Sheet(7.2, 13.0, 0.8, (-3.4, -1.2), (3.4, 11.0), turn=-14.0)

    def ground(studio, place) -> None:
        studio.slab(place + [0.0, 0.0, -0.15], (6.6, 4.4, 0.3), studio.material((0.80, 0.82, 0.84)))

    keyed.draw(how, sheet, shape.triangles, rows, instants, TIMES, ground)


if __name__ == "__main__":
    main(options("spacetime-sack"))
