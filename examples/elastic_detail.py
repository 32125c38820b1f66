# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 3 of Capell and others 2002: details where flesh is pulled at a point. [capell2002, §3.1, §4.4, §4.7]

The creature stands while a pin pulls a point of its belly, holds it and brings it back. The columns have all functions of their levels; in the last
one those of levels 1 and 2 act only where and while the flesh is strained. Dots are the functions that act, by their levels.
"""

from __future__ import annotations

import numpy as np

from examples import pulled
from examples.command import Options, options
from examples.elastic_hop import draw_lattice
from examples.studio import AMBER, BLUE, RED, Studio

COLUMN = 1.0
TITLES = ("level 0", "levels 0 to 1", "levels 0 to 2", "adaptive")
METHODS = ("warped", "blended")


def draw_dots(studio: Studio, points: np.ndarray, radius: float, material, place) -> None:
    """Draws octahedra around points [p,3], in one mesh."""
    corners = radius * np.concatenate([np.eye(3), -np.eye(3)])
    faces = np.array([(0, 1, 2), (1, 3, 2), (3, 4, 2), (4, 0, 2), (1, 0, 5), (3, 1, 5), (4, 3, 5), (0, 4, 5)])
    if len(points):
        vertices = (points[:, None] + corners).reshape(-1, 3)
        studio.mesh(vertices, (6 * np.arange(len(points))[:, None, None] + faces).reshape(-1, 3), material, place)


def print_table(creatures, pulls: dict[str, list[pulled.Pull]]) -> None:
    """Prints a row for each column of the picture and each method."""
    print("| functions | number: mean / most | mean of the skin's move | to levels 0 to 2: mean / largest, held "
          "| largest, all frames | of the pull | method | steps/s | times as quick |")  # fmt: skip
    print("| --- " * 9 + "|")
    held, size = pulled.HELD - 1, creatures[-1].size
    for method, all_levels in pulls.items():
        exact = all_levels[2]
        for title, creature, pull in zip(TITLES, creatures, all_levels, strict=True):
            move = np.linalg.norm(pull.skins[held] - creature.vertices, axis=1).mean()
            far = np.linalg.norm(pull.skins - exact.skins, axis=2)
            print(f"| {title} | {pull.functions.mean():.0f} / {pull.functions.max()} | {1e3 * move:.1f} mm "
                  f"| {100 * far[held].mean() / size:.3f} / {100 * far[held].max() / size:.2f} % "
                  f"| {100 * far.max() / size:.2f} % | {100 * far.max() / pulled.DISTANCE:.1f} % "
                  f"| {method} | {pull.rate:.0f} | {pull.rate / exact.rate:.1f} |")  # fmt: skip


def main(how: Options) -> None:
    creatures = [pulled.creature(level) for level in pulled.LEVELS]
    creatures.append(creatures[-1])
    settings = [{}, {}, {}, {"adapt": "strain"}]
    pulls = {
        method: [pulled.pull(one, method, **own) for one, own in zip(creatures, settings, strict=True)]
        for method in METHODS
    }
    print_table(creatures, pulls)

    studio = Studio(turn=-64.0, tilt=9.0)
    paint, glass = studio.vertex_material(gloss=0.4), studio.material((0.86, 0.62, 0.45), alpha=0.28)
    dots = [studio.material(colour) for colour in (BLUE, AMBER, RED)]
    held = pulled.HELD - 1
    for column, (title, creature, pull) in enumerate(zip(TITLES, creatures, pulls[METHODS[0]], strict=True)):
        place = studio.at(COLUMN * column, 0.0)
        studio.mesh(pull.skins[held], creature.triangles, paint, place, creature.colours)
        studio.text(title, place + studio.at(0.0, -0.22), 0.07)
        below = place + studio.at(0.0, -1.4)
        studio.mesh(creature.vertices, creature.triangles, glass, below)
        draw_lattice(studio, creature, below, radius=0.0015)
        acting = pull.acting[held]
        centres, levels = np.asarray(creature.body.node_centres), np.asarray(creature.body.level_of_node)
        for of, radius in enumerate((0.012, 0.008, 0.005)):
            draw_dots(studio, centres[acting[levels[acting] == of]], radius, dots[of], below)
        studio.text(f"{len(acting)} functions", below + studio.at(0.0, -0.22), 0.07)
    studio.render(how.output, (-0.5, -1.72), (COLUMN * (len(TITLES) - 1) + 0.7, 1.2), how.width, how.engine)


if __name__ == "__main__":
    main(options("elastic-detail"))
