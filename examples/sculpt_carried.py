# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 8 of Capell and others 2006: the rig of the bent arm, carried to three people of other build. [capell2006, §4.4]

The rig is made for an arm by itself. From the top: bent arms of flesh alone, with the rig, and in grey the sculpts of the same people's
own tense arms, of which the rig saw the first one only.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import elastic, persons, sculpted
from examples.command import Options, options
from examples.shelf import Shelf
from examples.studio import GREY

COLUMN, ROW = 0.60, 0.50
ACROSS = 44.0
"""Cells across a person: their edges are 50 mm long on the mean, those of the arm by itself 33 mm. With 26 cells a thick biceps becomes a ridge."""


def posed(who: elastic.Fleshed) -> np.ndarray:
    """Returns the pose of the picture: the left arm raised and bent as the sculpt is."""
    figure = who.figure
    return persons.maps(figure, persons.pose(figure, sculpted.ELBOW, persons.raised(), sculpted.WRIST))


def main(how: Options) -> None:
    made, seconds = sculpted.sculpted_arm(), sculpted.Seconds()
    shown = [("the arm of the sculpt", made.arm, made.rig)]
    print(
        "| | lattice vertices | mapped skin off that of the target, mean | largest move, flexed arm | elsewhere | arm off its own sculpt: alone, rig |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for build in persons.BUILDS:
        who = sculpted.person(build, ACROSS)
        with seconds.of(f"map to {build.name}, with the bodies' own anatomy"):
            link = thew.Correspondence(made.arm.body, who.body)
        with seconds.of(f"rig carried to {build.name}"):
            rig = made.rig.retarget(link)
        with seconds.of(f"first forces on {build.name}"):
            rig.forces(who.body, 1.0)
        shown.append((build.name, who, rig))
        alone, flexed = skins(who, rig)
        moved = np.linalg.norm(flexed - alone, axis=1)
        own, limb = sculpted.share_of(who, ARM) > 0.1, sculpted.share_of(who, ARM[1:]) > 0.97
        sculpt = own_sculpt(who)[:2]
        far = [1e3 * sculpted.root_mean_square(who, sculpted.apart(skin, *sculpt), limb) for skin in (alone, flexed)]
        print(f"| {build.name} | {len(who.lattice.vertices)} | {100 * link.report.mean_distance / who.body.surface.size:.2f} % of the size "
              f"| {1e3 * moved[own].max():.0f} mm | {1e3 * moved[~own].max():.1f} mm | {far[0]:.1f}, {far[1]:.1f} mm |")  # fmt: skip
    seconds.print()

    picture(how, shown)


def picture(how: Options, shown: list) -> None:
    """Renders the arms without and with the rig, and the sculpts that the rig never saw."""
    studio = Shelf(turn=10.0, tilt=12.0)
    paint, clay = studio.vertex_material(gloss=0.55), studio.material(GREY, gloss=0.55)
    for column, (words, who, rig) in enumerate(shown):
        shoulder = np.array(who.figure.bone("upperarm.L").head)
        limits = ((0, 0.35 * shoulder[0]), (2, shoulder[2] - 0.20)) if column else ()
        part = sculpted.cropped(who, ("head", "neck"), ARM[1:], *limits)
        across = COLUMN * column + (0.04 if column else -0.04)
        for row, skin in enumerate(skins(who, rig)):
            studio.mesh(
                part.of(skin) - shoulder, part.triangles, paint, studio.at(across, -ROW * row), part.of(who.colours)
            )
        vertices, triangles, _ = own_sculpt(who)
        studio.mesh(vertices - shoulder, triangles, clay, studio.at(across, -2.0 * ROW))
        studio.text(words, studio.at(COLUMN * column + 0.14, -2.0 * ROW - 0.17, 1.0), 0.04)
    for row, words in enumerate(("flesh alone", "with the rig", "sculpt")):
        studio.text(words, studio.at(-0.32, -0.02 - ROW * row, 1.0), 0.036, align="LEFT")
    studio.render(how.output, (-0.34, -2.0 * ROW - 0.22), (COLUMN * len(shown) - 0.12, 0.36), how.width, how.engine)


def own_sculpt(who: elastic.Fleshed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns vertices, triangles and colours of the sculpt of this person's own tense arm at the pose of the picture."""
    build = next((build for build in persons.BUILDS if build.name == who.figure.name), persons.ATHLETE)
    tense = persons.arm(build, tension=persons.Tension(arm=1.0))
    return persons.sculpt(tense, persons.pose(tense, sculpted.ELBOW, persons.raised(), sculpted.WRIST))


ARM = ("shoulder.L", "upperarm.L", "forearm.L", "hand.L")


def skins(who: elastic.Fleshed, rig: thew.Rig) -> tuple[np.ndarray, np.ndarray]:
    """Returns the skin at the pose of the picture without and with the rig."""
    pose = posed(who)
    return sculpted.balance(who, pose), sculpted.balance(who, pose, rig.forces(who.body, 1.0))


if __name__ == "__main__":
    main(options("sculpt-carried"))
