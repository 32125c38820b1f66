# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures 6 and 7 of Capell and others 2006: a rig from a sculpt of a bent arm, and the same rig at other poses. [capell2006, §4.3.2]

Top row, from the left: the arm with lattice and bones, the sculpt, the balance at its pose, that balance in colours of its distance from
the sculpt, the balance with the rig, and its distance. Below: other poses without the rig and with it.
"""

from __future__ import annotations

import numpy as np

from examples import elastic, persons, sculpted
from examples.bodies import ramp
from examples.command import Options, options
from examples.shelf import Shelf
from examples.studio import INK, RED, Studio

ANGLES = (0.0, 35.0, 70.0, 105.0, 130.0)
COLUMNS = (0.0, 0.72, 1.12, 1.50, 1.88, 2.26)
"""Places of the pictures in the top row, m."""
BELOW = (0.0, 0.72, 1.26, 1.76, 2.20)
"""Places of the angles in the other rows, m."""
ROW = 0.46
WORST = 0.02
"""Distance at which colours end, m."""


def upright(points: np.ndarray) -> np.ndarray:
    """Returns points as the picture shows them: the upper arm to the right, its inside up."""
    shoulder = np.array(persons.arm(persons.ATHLETE).bones[0].head)
    return (np.asarray(points) - shoulder) @ np.stack([persons.ALONG, -persons.THUMB, persons.INSIDE]).T


def main(how: Options) -> None:
    made = sculpted.sculpted_arm()
    arm, rig = made.arm, made.rig
    push = rig.forces(arm.body, 1.0)
    before, after = sculpted.balance(arm, made.pose), sculpted.balance(arm, made.pose, push)
    far = [sculpted.apart(skin, *made.scan[:2]) for skin in (before, after)]
    report(made, before, after, far)
    studio = Shelf(turn=-8.0, tilt=10.0)
    paint = studio.vertex_material(gloss=0.55)
    hues = [ramp(np.clip(one / WORST, 0.0, 1.0)) for one in far]
    shown = (
        ("at rest", arm.vertices, arm.triangles, arm.colours),
        ("sculpt", *made.scan),
        ("flesh alone", before, arm.triangles, arm.colours),
        ("its distance", before, arm.triangles, hues[0]),
        ("with the rig", after, arm.triangles, arm.colours),
        ("its distance", after, arm.triangles, hues[1]),
    )
    for column, (words, vertices, triangles, tint) in enumerate(shown):
        place = studio.at(COLUMNS[column], 0.0)
        studio.mesh(upright(vertices), triangles, paint, place, tint)
        studio.text(words, place + studio.at(0.14, -0.125, 0.5), 0.034)
    cage(studio, arm)
    for column, degrees in enumerate(ANGLES):
        pose = persons.maps(arm.figure, sculpted.bent(arm.figure, degrees))
        skins = sculpted.balance(arm, pose), sculpted.balance(arm, pose, rig.forces(arm.body, made.control(degrees)))
        for row, skin in enumerate(skins):
            place = studio.at(BELOW[column], -ROW * (row + 1.1))
            studio.mesh(upright(skin), arm.triangles, paint, place, arm.colours)
        studio.text(f"{degrees:.0f}°", studio.at(BELOW[column] + 0.14, -2.1 * ROW - 0.125, 0.5), 0.034)
    for row, words in enumerate(("flesh alone", "with the rig")):
        studio.text(words, studio.at(-0.05, -ROW * (row + 1.1) + 0.20, 0.5), 0.034, align="LEFT")
    low = studio.at(COLUMNS[0], 0.26, 0.5)
    studio.scale(low, 0.3, 0.02, lambda t: ramp(np.asarray(t)), ("0", f"{1e3 * WORST:.0f} mm"), 0.03)
    studio.render(how.output, (-0.09, -2.1 * ROW - 0.17), (COLUMNS[-1] + 0.42, 0.37), how.width, how.engine)


def cage(studio: Studio, arm: elastic.Fleshed) -> None:
    """Draws the bones of the arm at rest, and the edges of its lattice on the outside."""
    bones, ink = studio.material(RED), studio.material(INK)
    for bone in arm.figure.bones:
        studio.line(upright([bone.head, bone.tail]) + studio.at(0.0, 0.0, 0.12), 0.004, bones)
    nodes = np.asarray(arm.lattice.vertices)
    faces = [
        tuple(sorted(cell[i] for i in face)) for cell in arm.lattice.cells for face in TETRAHEDRON if len(cell) == 4
    ]
    outer, count = np.unique(np.array(faces), axis=0, return_counts=True)
    edges = np.unique(np.sort(outer[count == 1][:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    for edge in edges:
        studio.line(upright(nodes[edge]), 0.0006, ink)


TETRAHEDRON = ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))
"""Corners of the faces of a cell."""


def report(made: sculpted.SculptedArm, before: np.ndarray, after: np.ndarray, far: list[np.ndarray]) -> None:
    """Prints what the rig does, and what it takes."""
    arm, kept = made.arm, elastic.volume(made.arm.vertices, made.arm.triangles)
    print(f"{len(arm.lattice.vertices)} lattice vertices, {len(arm.lattice.cells)} cells, {len(arm.vertices)} vertices of the skin, "
          f"{len(made.scan[0])} of the sculpt, {len(made.features)} features")  # fmt: skip
    print(f"bones off by {', '.join(f'{off:.1f}°' for off in sculpted.turns_off(made.pose, made.true))}")
    print(f"report of the rig: {made.rig.report}")
    print("| | distance of the skin from the sculpt: root mean square / largest | volume |\n| --- | --- | --- |")
    for words, skin, one in (("flesh alone", before, far[0]), ("with the rig", after, far[1])):
        share = 100 * elastic.volume(skin, arm.triangles) / kept
        print(
            f"| {words} | {1e3 * sculpted.root_mean_square(arm, one):.2f} / {1e3 * one.max():.1f} mm | {share:.0f} % |"
        )
    made.seconds.print()


if __name__ == "__main__":
    main(options("sculpt-arm"))
