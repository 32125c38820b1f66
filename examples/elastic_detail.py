# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 3 of Capell and others 2002: details where flesh is pulled at a point. [capell2002, §3.1, §4.7]

The creature stands and a point of its belly is pulled by the same force at every level of the basis. Dots are the functions in which flesh
deforms, by their levels.
"""

from __future__ import annotations

import numpy as np

from examples import pulled
from examples.command import Options, options
from examples.elastic_hop import draw_lattice
from examples.studio import AMBER, BLUE, RED, Studio

COLUMN = 1.0


def draw_dots(studio: Studio, points: np.ndarray, radius: float, material, place) -> None:
    """Draws octahedra around points [p,3], in one mesh."""
    corners = radius * np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array([(0, 1, 2), (1, 3, 2), (3, 4, 2), (4, 0, 2), (1, 0, 5), (3, 1, 5), (4, 3, 5), (0, 4, 5)])
    if len(points):
        vertices = (points[:, None] + corners).reshape(-1, 3)
        studio.mesh(vertices, (6 * np.arange(len(points))[:, None, None] + faces).reshape(-1, 3), material, place)


def main(how: Options) -> None:
    print(
        "| levels | functions | mean of the skin's move | to the finest: mean / largest | steps/s, blended | warped |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    creatures = [pulled.creature(level) for level in pulled.LEVELS]
    skins = [pulled.settle(creature) for creature in creatures]
    for level, creature, skin in zip(pulled.LEVELS, creatures, skins, strict=True):
        mean = np.linalg.norm(skin - creature.vertices, axis=1).mean()
        far = np.linalg.norm(skin - skins[-1], axis=1) / creature.size
        rates = [pulled.steps_a_second(creature, method) for method in ("blended", "warped")]
        print(f"| {level} | {creature.body.node_count} | {1e3 * mean:.1f} mm "
              f"| {100 * far.mean():.3f} / {100 * far.max():.2f} % | {rates[0]:.0f} | {rates[1]:.0f} |")  # fmt: skip

    studio = Studio(turn=-64.0, tilt=9.0)
    paint, glass = studio.vertex_material(gloss=0.4), studio.material((0.86, 0.62, 0.45), alpha=0.28)
    dots = [studio.material(colour) for colour in (BLUE, AMBER, RED)]
    for column, (level, creature, skin) in enumerate(zip(pulled.LEVELS, creatures, skins, strict=True)):
        place = studio.at(COLUMN * column, 0.0)
        studio.mesh(skin, creature.triangles, paint, place, creature.colours)
        studio.text(f"levels 0 to {level}" if level else "level 0", place + studio.at(0.0, -0.22), 0.07)
        below = place + studio.at(0.0, -1.4)
        studio.mesh(creature.vertices, creature.triangles, glass, below)
        draw_lattice(studio, creature, below, radius=0.0015)
        centres, levels = np.asarray(creature.body.node_centres), np.asarray(creature.body.level_of_node)
        for of, radius in enumerate((0.012, 0.008, 0.005)):
            draw_dots(studio, centres[levels == of], radius, dots[of], below)
        studio.text(f"{creature.body.node_count} functions", below + studio.at(0.0, -0.22), 0.07)
    studio.render(how.output, (-0.5, -1.72), (COLUMN * (len(pulled.LEVELS) - 1) + 0.7, 1.2), how.width, how.engine)


if __name__ == "__main__":
    main(options("elastic-detail"))
