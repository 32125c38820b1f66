# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 9 of Capell and others 2006: a chest flex sculpted for one person, carried to two others, coarse and fine. [capell2006, §4.4]

Rows are people; the first is the one that was sculpted. Columns: at rest, the sculpt that this person would get, the rig on the flesh of
the lattice alone, the rig with finer functions, and the flex by two force field templates, carried too. Skin is blue where it moves.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import elastic, persons, sculpted
from examples.command import Options, options
from examples.shelf import Shelf

ORDER = (persons.STOUT, persons.ATHLETE, persons.SLIM)
ACROSS = 20.0
COLUMN, ROW = 0.70, 0.56
FARTHEST = 0.025
"""Move of the skin at which colours end, m."""
HIDDEN = ("head", "hand.L", "hand.R", "forearm.L", "forearm.R", "thigh.L", "thigh.R")


def flexed(who: elastic.Fleshed, rigs: list[thew.Rig]) -> np.ndarray:
    """Returns the skin [n,3] at rest in balance with rigs at control 1."""
    return sculpted.balance(who, sculpted.at_rest(who), *(rig.forces(who.body, 1.0) for rig in rigs))


def main(how: Options) -> None:
    seconds = sculpted.Seconds()
    coarse, fine = ([sculpted.person(b, ACROSS, basis_levels=levels, level=1) for b in ORDER] for levels in (0, 1))
    source, target = fine[0], sculpted.flexed_chest(fine[0], ORDER[0])
    with seconds.of(f"rig of the chest flex, {source.body.dofs} functions"):
        rig = thew.fit_surface(source.body, sculpted.at_rest(source), target, gravity=sculpted.STILL, name="Chest")
    print(f"report of the rig: {rig.report}")
    templates = sculpted.chest_template(source, ORDER[0], 0.02)
    print(
        "| | functions, coarse and fine | own sculpt moves the skin by up to | the rig, coarse | fine | templates | likeness, fine |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    rows = []
    for build, rough, who in zip(ORDER, coarse, fine, strict=True):
        with seconds.of(f"map to {build.name}"):
            link = thew.Correspondence(source.body, who.body)
        with seconds.of(f"rigs carried to {build.name}"):
            carried, bumps = rig.retarget(link), [one.retarget(link) for one in templates]
        own = sculpted.flexed_chest(who, build)
        with seconds.of(f"balances of {build.name}"):
            skins = [flexed(rough, [carried]), flexed(who, [carried]), flexed(who, bumps)]
        rows.append((build.name, who, [who.vertices, own, *skins]))
        moves = [skin - who.vertices for skin in (own, *skins)]
        far = [1e3 * np.linalg.norm(move, axis=1).max() for move in moves]
        alike = np.sum(moves[0] * moves[2]) / (np.linalg.norm(moves[0]) * np.linalg.norm(moves[2]))
        print(
            f"| {build.name} | {rough.body.dofs}, {who.body.dofs} | {far[0]:.0f} mm | {far[1]:.0f} mm | {far[2]:.0f} mm | {far[3]:.0f} mm | {alike:.2f} |"
        )
    seconds.print()
    picture(how, rows)


def picture(how: Options, rows: list) -> None:
    """Renders the people row by row, blue where the skin has moved from rest."""
    studio = Shelf(turn=-30.0, tilt=6.0)
    paint = studio.vertex_material(gloss=0.55)
    for row, (name, who, skins) in enumerate(rows):
        middle = np.array(who.figure.bone("chest").head)
        part = sculpted.cropped(who, HIDDEN, (), (2, middle[2] - 0.16))
        for column, skin in enumerate(skins):
            moved = np.linalg.norm(skin - who.vertices, axis=1)
            hues = part.of(sculpted.tinted(who.colours, moved / FARTHEST))
            studio.mesh(part.of(skin) - middle, part.triangles, paint, studio.at(COLUMN * column, -ROW * row), hues)
        studio.text(name, studio.at(-0.36, -ROW * row + 0.25, 1.0), 0.04, align="LEFT")
    for column, words in enumerate(("at rest", "sculpt", "rig, coarse", "rig, fine", "templates")):
        studio.text(words, studio.at(COLUMN * column, -ROW * 2 - 0.24, 1.0), 0.04)
    skin = rows[0][1].colours.mean(axis=0)
    legend = lambda t: sculpted.tinted(np.tile(skin, (len(t), 1)), np.asarray(t))  # noqa: E731
    studio.scale(
        studio.at(-0.36, -2 * ROW - 0.28, 1.0), 0.4, 0.022, legend, ("0", f"moved {1e3 * FARTHEST:.0f} mm"), 0.032
    )
    studio.render(how.output, (-0.38, -2 * ROW - 0.34), (4 * COLUMN + 0.36, 0.34), how.width, how.engine)


if __name__ == "__main__":
    main(options("sculpt-chest"))
