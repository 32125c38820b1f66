# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 4: a bar under gravity by linear modal analysis, by modal warping and by nonlinear finite elements.

1 x 0.2 x 0.2 m, E = 1e5 Pa, Poisson's ratio 0.4, 1000 kg/m³, 5 m/s² across its axis, clamped at one end, the 99
nodes, 240 elements and 8 modes of the paper. [choi2003, §6]
"""

from __future__ import annotations

import numpy as np
import thew

from examples import bodies, models
from examples.command import Options, options
from examples.studio import GREY, INK, Studio

MATERIAL = thew.Material(young=1e5, poisson=0.4, density=1000.0)
GRAVITY = (0.0, 0.0, -5.0)
MODES = 8
REDDEST = 0.6


def modal(modes: thew.Modes, warp: bool) -> np.ndarray:
    """Where elasticity balances gravity."""
    simulation = thew.ModalSimulation(modes, 1.0 / 30.0, warp=warp, gravity=GRAVITY)
    simulation.settle()
    return simulation.displacements()


def nonlinear(tets: thew.TetMesh, fixed: np.ndarray) -> np.ndarray:
    """Static equilibrium of St. Venant-Kirchhoff's material."""
    weight = bodies.nodal_mass(tets.vertices, tets.tets, MATERIAL.density)[:, None] * np.array(GRAVITY)
    return thew.nonlinear_equilibrium(tets, MATERIAL, fixed, weight)


def main(how: Options) -> None:
    tets = models.bar()
    vertices = np.asarray(tets.vertices)
    fixed = np.flatnonzero(vertices[:, 0] < 1e-9)
    modes = thew.modes(tets, MODES, MATERIAL, fixed=fixed)
    shown = {
        "linear modal analysis": modal(modes, warp=False),
        "modal warping": modal(modes, warp=True),
        "nonlinear finite elements": nonlinear(tets, fixed),
    }
    surface = models.bar_surface(16)
    carried = bodies.Carrier(vertices, tets.tets, surface.vertices)
    axis = bodies.nodes_on_line(vertices, np.zeros(3), np.array([1.0, 0.0, 0.0]))

    studio = Studio(turn=-9.0, tilt=9.0)
    skin, block, ink = studio.vertex_material(), studio.material(GREY), studio.material(INK)
    for column, (title, u) in enumerate(shown.items()):
        place = studio.at(1.45 * column, 0.0)
        stretch = carried(bodies.strain(vertices, tets.tets, u))
        points = surface.vertices + carried(u)
        studio.mesh(points, surface.triangles, skin, place, bodies.ramp(stretch / REDDEST))
        studio.slab(place + [-0.05, 0.0, 0.0], (0.1, 0.42, 0.42), block)
        studio.outline((1.0, 0.2, 0.2), place + [0.5, 0.0, 0.0], 0.0035, block)
        # The axis, brought before the bar along the line of sight, which leaves it where it is in the picture.
        studio.line(vertices[axis] + u[axis], 0.009, ink, place - 0.5 * studio.ahead)
        grown, tip = bodies.length(vertices[axis] + u[axis]), u[axis[-1]]
        words = f"axis {grown:.3f} m of 1 m ({100 * (grown - 1):+.1f} %)"
        studio.text(title, place + studio.at(0.45, 0.42), 0.1)
        studio.text(words, place + studio.at(0.45, 0.29), 0.068)
        print(f"{title}: {words}, tip moved {tip[0]:+.3f} {tip[1]:+.3f} {tip[2]:+.3f} m")
    studio.scale(studio.at(3.1, -0.98), 0.9, 0.04, bodies.ramp, ("strain 0", f"{REDDEST:.1f} and more"), 0.06)
    studio.render(how.output, (-0.22, -1.16), (4.12, 0.6), how.width, how.engine)


if __name__ == "__main__":
    main(options("figure4"))
