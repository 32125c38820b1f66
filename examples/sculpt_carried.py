# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 8 of Capell and others 2006: the rig of the bent arm, carried to three people of other build. [capell2006, §4.4]

The rig is made for an arm by itself. Above, bent arms of flesh alone; below, with the rig.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import elastic, persons, sculpted
from examples.command import Options, options
from examples.studio import Studio

COLUMN, ROW = 0.62, 0.62


def posed(who: elastic.Fleshed) -> np.ndarray:
    """Returns the pose of the picture: the left arm raised and bent as the sculpt is."""
    figure = who.figure
    return persons.maps(figure, persons.pose(figure, sculpted.ELBOW, persons.raised(), sculpted.WRIST))


def main(how: Options) -> None:
    made, seconds = sculpted.sculpted_arm(), sculpted.Seconds()
    shown = [("the arm of the sculpt", made.arm, made.rig)]
    print("| | lattice vertices | mapped skin off that of the target, mean | largest move, flexed arm | elsewhere |")
    print("| --- | --- | --- | --- | --- |")
    for build in persons.BUILDS:
        who = sculpted.person(build)
        with seconds.of(f"map to {build.name}, with the bodies' own anatomy"):
            link = thew.Correspondence(
                made.arm.body, who.body, bones=[(bone.name, bone.name) for bone in made.arm.figure.bones]
            )
        with seconds.of(f"rig carried to {build.name}"):
            rig = made.rig.retarget(link)
        with seconds.of(f"first forces on {build.name}"):
            rig.forces(who.body, 1.0)
        shown.append((build.name, who, rig))
        moved = np.linalg.norm(np.subtract(*skins(who, rig)), axis=1)
        own = sculpted.share_of(who, ARM) > 0.1
        print(f"| {build.name} | {len(who.lattice.vertices)} | {100 * link.report.mean_distance / who.body.surface.size:.2f} % of the size "
              f"| {1e3 * moved[own].max():.0f} mm | {1e3 * moved[~own].max():.1f} mm |")  # fmt: skip
    seconds.print()

    studio = Studio(turn=10.0, tilt=12.0)
    paint = studio.vertex_material(gloss=0.35)
    for column, (words, who, rig) in enumerate(shown):
        shoulder = np.array(who.figure.bone("upperarm.L").head)
        triangles = who.triangles
        if column:
            triangles = sculpted.cropped(
                who, ("head", "neck"), ARM[1:], (0, 0.25 * shoulder[0]), (2, shoulder[2] - 0.27)
            )
        for row, skin in enumerate(skins(who, rig)):
            place = studio.at(COLUMN * column + (0.04 if column else -0.1), -ROW * row)
            studio.mesh(skin - shoulder, triangles, paint, place, who.colours)
        studio.text(words, studio.at(COLUMN * column + 0.1, -ROW - 0.32, 1.0), 0.034)
    for row, words in enumerate(("flesh alone", "with the rig")):
        studio.text(words, studio.at(-0.2, 0.26 - ROW * row, 1.0), 0.034, align="LEFT")
    studio.render(how.output, (-0.23, -ROW - 0.36), (COLUMN * len(shown) - 0.1, 0.42), how.width, how.engine)


ARM = ("shoulder.L", "upperarm.L", "forearm.L", "hand.L")


def skins(who: elastic.Fleshed, rig: thew.Rig) -> tuple[np.ndarray, np.ndarray]:
    """Returns the skin at the pose of the picture without and with the rig."""
    pose = posed(who)
    return sculpted.balance(who, pose), sculpted.balance(who, pose, rig.forces(who.body, 1.0))


if __name__ == "__main__":
    main(options("sculpt-carried"))
