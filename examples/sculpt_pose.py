# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 5 of Capell and others 2006: a pose from features. [capell2006, §4.3.1]

From the left: the person at rest with the features, a sculpt of a lunge with the same features clicked on it, the flesh in balance at
the pose that was found, and its distance from the sculpt.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import persons, sculpted
from examples.bodies import ramp
from examples.command import Options, options
from examples.shelf import Shelf
from examples.studio import AMBER, BLUE

COLUMN = 1.28
WORST = 0.03
"""Distance at which colours end, m."""


def main(how: Options) -> None:
    arno, seconds = sculpted.person(persons.ATHLETE, cell=0.018, twist=sculpted.TWIST), sculpted.Seconds()
    posed = persons.lunge(arno.figure)
    true = persons.maps(arno.figure, posed)
    scan = persons.sculpt(arno.figure, posed, 0.014)
    features = sculpted.feature_points(arno)
    there = sculpted.clicked(arno, features, true, scan[0])
    pairs = list(zip(features, there, strict=True))
    # Collar bones are short and deep in the flesh: no feature tells their turn.
    free = [bone.name for bone in arno.figure.bones if not bone.name.startswith("shoulder")]
    with seconds.of(f"pose from {len(pairs)} features, flesh in balance"):
        pose = thew.fit_pose(arno.body, pairs, gravity=sculpted.STILL, bones=free)
    with seconds.of("the same by the skin alone"):
        plain = arno.skeleton.fit_pose(arno.vertices[features], arno.weights[features], there, bones=free)
    skin = sculpted.balance(arno, pose)
    away = sculpted.apart(skin, *scan[:2])
    seconds.print()
    print(
        f"{len(arno.lattice.vertices)} lattice vertices, {len(arno.vertices)} vertices of the skin, {len(scan[0])} of the sculpt"
    )
    for words, found in (("flesh", pose), ("skin alone", plain)):
        off = sculpted.turns_off(found, true)
        print(f"{words}: bones off by {off.mean():.1f}° on the mean, {off.max():.1f}° at most")
    missed = np.linalg.norm(skin[features] - there, axis=1)
    print(f"features missed by {1e3 * missed.mean():.1f} mm on the mean, {1e3 * missed.max():.1f} mm at most; the skin is "
          f"{1e3 * sculpted.root_mean_square(arno, away):.1f} mm from the sculpt (root mean square)")  # fmt: skip

    studio = Shelf(turn=-24.0, tilt=5.0)
    paint, spot, click = studio.vertex_material(gloss=0.55), studio.material(AMBER), studio.material(BLUE)
    colours = ramp(np.clip(away / WORST, 0.0, 1.0))
    shown = (
        ("at rest, features", arno.vertices, arno.triangles, arno.colours, arno.vertices[features], spot),
        ("a sculpt, features clicked", *scan, there, click),
        ("the pose found, flesh in balance", skin, arno.triangles, arno.colours, skin[features], spot),
        ("distance to the sculpt", skin, arno.triangles, colours, (), spot),
    )
    for column, (words, vertices, triangles, tint, balls, material) in enumerate(shown):
        place = studio.at(COLUMN * column, 0.0)
        studio.mesh(vertices, triangles, paint, place, tint)
        for ball in balls:
            studio.ball(np.asarray(ball) + place, 0.016, material)
        studio.text(words, place + studio.at(0.0, -0.16, 1.0), 0.06)
    low = studio.at(COLUMN * 3 - 0.28, -0.25, 1.0)
    studio.scale(low, 0.56, 0.035, lambda t: ramp(np.asarray(t)), ("0", f"{1e3 * WORST:.0f} mm"), 0.05)
    studio.render(how.output, (-0.68, -0.36), (COLUMN * 3 + 0.66, 1.84), how.width, how.engine)


if __name__ == "__main__":
    main(options("sculpt-pose"))
