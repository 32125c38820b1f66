# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 11 of Capell and others 2006: a chest flex with finer functions only where the rig needs them. [capell2006, §4.5]

From the left: the functions that act (red: those of the lattice, green: finer ones), the rig with those of the lattice alone, with the finer
ones that it needs, with all, and the sculpt. Skin is blue where it is off the sculpt.
"""

from __future__ import annotations

import time

import numpy as np
import thew

from assets.characters import FPS
from examples import elastic, persons, sculpted
from examples.command import Options, options
from examples.shelf import Shelf
from examples.studio import GREEN, RED

ACROSS, LEVELS = 16.0, 1
FRAMES = 24
COLUMN = 0.70
FARTHEST = 0.01
"""Distance from the sculpt at which colours end, m."""
HIDDEN = ("head", "hand.L", "hand.R", "forearm.L", "forearm.R", "thigh.L", "thigh.R")


def play(who: elastic.Fleshed, rig: thew.Rig, **settings) -> tuple[np.ndarray, float, int]:
    """Returns the skin at the end of a flex at rest, the seconds of a step on one core, and the functions that act."""
    poses, control = (
        np.tile(sculpted.at_rest(who), (FRAMES, 1, 1, 1)),
        np.minimum(np.arange(FRAMES) / 6.0, 1.0)[:, None],
    )
    settings = {"method": "warped", "gravity": sculpted.STILL, "rate": 96.0, **settings}
    begun = time.process_time()
    clip = thew.simulate(who.body, poses, FPS, rigs=[rig], controls=control, **settings)
    spent = time.process_time() - begun
    return np.asarray(clip.positions(FRAMES - 1), float), spent / (4 * (FRAMES - 1)), int(clip.active_functions.max())


def main(how: Options) -> None:
    rough, fine = (
        sculpted.person(persons.STOUT, ACROSS, 0.018, basis_levels=levels, level=LEVELS) for levels in (0, LEVELS)
    )
    target = sculpted.flexed_chest(fine, persons.STOUT)
    rig = thew.fit_surface(fine.body, sculpted.at_rest(fine), target, gravity=sculpted.STILL, name="Chest")
    print("| functions | number | a step | left of the flex, root mean square |\n| --- | --- | --- | --- |")
    start, skins = sculpted.root_mean_square(fine, np.linalg.norm(target - fine.vertices, axis=1)), []
    for words, who, settings in (
        ("of the lattice", rough, {}),
        ("adaptive", fine, {"adapt": "rigs"}),
        ("all", fine, {}),
    ):
        skin, step, functions = play(who, rig, **settings)
        left = sculpted.root_mean_square(who, np.linalg.norm(skin - target, axis=1))
        skins.append(skin)
        print(f"| {words} | {functions} | {1e3 * step:.1f} ms | {100 * left / start:.0f} % |")

    picture(how, fine, rig, skins, target)


def picture(how: Options, fine: elastic.Fleshed, rig: thew.Rig, skins: list[np.ndarray], target: np.ndarray) -> None:
    """Renders the functions, the skins with colours of what is left to the sculpt, and the sculpt."""
    studio = Shelf(turn=-30.0, tilt=6.0)
    paint, pale = studio.vertex_material(gloss=0.55), studio.material((0.93, 0.80, 0.72), alpha=0.5)
    middle = np.array(fine.figure.bone("chest").head)
    part = sculpted.cropped(fine, HIDDEN, (), (2, middle[2] - 0.16))
    studio.mesh(part.of(fine.vertices) - middle, part.triangles, pale, studio.at(0.0, 0.0))
    acting = rig.functions(fine.body)
    centres, levels = (np.asarray(of)[acting] for of in (fine.body.node_centres, fine.body.level_of_node))
    for centre, level in zip(centres, levels, strict=True):
        if middle[2] - 0.16 < centre[2] < middle[2] + 0.30 and abs(centre[0]) < 0.34:
            studio.ball(centre - middle, 0.011 - 0.005 * level, studio.material((RED, GREEN)[level]))
    for column, skin in enumerate((*skins, target), 1):
        left = np.linalg.norm(skin - target, axis=1)
        hues = part.of(sculpted.tinted(fine.colours, left / FARTHEST))
        studio.mesh(part.of(skin) - middle, part.triangles, paint, studio.at(COLUMN * column, 0.0), hues)
    for column, words in enumerate(("functions", "of the lattice", "adaptive", "all", "sculpt")):
        studio.text(words, studio.at(COLUMN * column, -0.26, 1.0), 0.04)
    skin = fine.colours.mean(axis=0)
    legend = lambda t: sculpted.tinted(np.tile(skin, (len(t), 1)), np.asarray(t))  # noqa: E731
    low = studio.at(1.5 * COLUMN - 0.2, -0.34, 1.0)
    studio.scale(low, 0.4, 0.022, legend, ("0", f"{1e3 * FARTHEST:.0f} mm from the sculpt"), 0.032)
    studio.render(how.output, (-0.38, -0.40), (4 * COLUMN + 0.36, 0.34), how.width, how.engine)


if __name__ == "__main__":
    main(options("sculpt-detail"))
