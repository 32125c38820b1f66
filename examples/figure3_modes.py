# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 3: three mode shapes of a bar as they grow, linear above, warped below. [choi2003, §4.2]

Colours show Green's strain, which no rotation alone can cause: linear modes stretch where they should turn.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import bodies, models
from examples.command import Options, options
from examples.studio import GREY, Studio

MATERIAL = thew.Material(young=1e5, poisson=0.4, density=1000.0)
STAGES = 4
REDDEST = 0.6
"""The strain that is drawn in full red."""


def choose(modes: thew.Modes, tip: np.ndarray) -> list[tuple[str, int, float]]:
    """Title, number and largest turn (radians) of the first bending, second bending and first twisting mode."""
    turn = np.abs(modes.rotations[:, tip].mean(axis=1))
    twists = turn[:, 0] > 2.0 * np.linalg.norm(turn[:, 1:], axis=1)
    bends = np.flatnonzero(~twists)
    # Bending comes in pairs, one for each direction.
    return [
        ("first bending", int(bends[0]), 1.7),
        ("second bending", int(bends[2]), 1.5),
        ("first twisting", int(np.flatnonzero(twists)[0]), 2.2),
    ]


def upright_rotation(vertices: np.ndarray, shape: np.ndarray, tip: np.ndarray) -> np.ndarray:
    """Rotation [3,3] that stands the bar up with the mode's motion across the picture."""
    across = shape[tip].mean(axis=0) * [0.0, 1.0, 1.0]
    if np.linalg.norm(across) < 0.2 * np.linalg.norm(shape[tip], axis=1).max():  # it twists
        across = np.array([0.0, 1.0, 0.0])
    across /= np.linalg.norm(across)
    up = np.array([1.0, 0.0, 0.0])
    return np.stack([across, np.cross(up, across), up])


def main(how: Options) -> None:
    tets = models.bar(4)
    vertices = np.asarray(tets.vertices)
    modes = thew.modes(tets, 12, MATERIAL, fixed=vertices[:, 0] < 1e-9)
    surface = models.bar_surface(16)
    tip = np.flatnonzero(vertices[:, 0] > 1.0 - 1e-9)
    axis = bodies.nodes_on_line(vertices, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    carried = bodies.Carrier(vertices, tets.tets, surface.vertices)
    deformer = thew.Deformer(modes, thew.Surface(surface.vertices, surface.triangles), form="vertex")

    studio = Studio(turn=-14.0, tilt=14.0)
    skin, foot = studio.vertex_material(), studio.material(GREY)
    across, gap, drop = 0.0, 0.66, -1.7
    for title, number, largest in choose(modes, tip):
        stand = upright_rotation(vertices, modes.shapes[number], tip)
        reach = largest / np.linalg.norm(modes.rotations[number], axis=1).max()
        if modes.shapes[number, tip].mean(axis=0) @ stand[0] < 0.0:
            reach = -reach
        for stage in range(STAGES + 1):
            amplitudes = np.zeros(len(modes))
            amplitudes[number] = reach * stage / STAGES
            linear = modes.displacements(amplitudes, warp=False)
            warped = modes.displacements(amplitudes)
            points = (surface.vertices + carried(linear), deformer.positions(amplitudes))
            for row, (u, shown) in enumerate(zip((linear, warped), points, strict=True)):
                stretch = carried(bodies.strain(vertices, tets.tets, u))
                place = studio.at(across, row * drop)
                studio.mesh(shown @ stand.T, surface.triangles, skin, place, bodies.ramp(stretch / REDDEST))
                studio.slab(place + [0.0, 0.0, -0.03], (0.3, 0.3, 0.06), foot)
                if stage == STAGES:
                    grown = bodies.length(vertices[axis] + u[axis])
                    print(
                        f"{title}, tip turned {np.degrees(largest):.0f} degrees, {('linear', 'warped')[row]}: "
                        f"axis {grown:.3f} m of 1 m, largest strain {stretch.max():.2f}"
                    )
            across += gap if stage else 0.55
        studio.text(title, studio.at(across - 0.5 * STAGES * gap - 0.55, drop - 0.38), 0.15)
        across += 0.75
    for row, words in enumerate(("linear modal analysis", "modal warping")):
        studio.text(words, studio.at(-0.25, 1.3 + row * (drop + 0.02)), 0.15, align="LEFT")
    words = ("strain 0", f"{REDDEST:.1f} and more")
    studio.scale(studio.at(across - 2.8, 1.34), 1.7, 0.07, bodies.ramp, words, 0.1)
    studio.render(how.output, (-0.45, -2.25), (across - 0.75, 1.62), how.width, how.engine)


if __name__ == "__main__":
    main(options("figure3"))
