# SPDX-License-Identifier: MIT OR Apache-2.0
"""An arm sculpted at two poses: two rigs that the elbow leads one after the other, at both poses and on the way. [capell2006, §4.3.2]

Columns are angles of the elbow. From the top: sculpts (grey ones are only compared with), flesh alone, with the rig of the sculpt at 105° alone,
and with the rigs of both sculpts, the skin in colours of its distance from the sculpt.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import elastic, persons, sculpted
from examples.bodies import ramp
from examples.command import Options, options
from examples.sculpt_arm import upright
from examples.shelf import Shelf
from examples.studio import GREY

ANGLES = (0.0, 30.0, sculpted.HALF_BENT, 82.0, sculpted.ELBOW)
COLUMNS = (0.0, 0.72, 1.32, 1.79, 2.22)
"""Places of the angles in the picture, m."""
ROW = 0.46
WORST = 0.015
"""Distance at which colours end, m."""
TITLES = ("sculpts", "flesh alone", "rig of one sculpt", "rigs of both sculpts")


def main(how: Options) -> None:
    arm, seconds = sculpted.arm(), sculpted.Seconds()
    poses = {degrees: persons.maps(arm.figure, sculpted.bent(arm.figure, degrees)) for degrees in ANGLES}
    scans = {degrees: sculpted.arm_sculpt(arm, degrees, 0.006) for degrees in ANGLES}
    half, whole = (thew.Surface(*scans[degrees][:2]) for degrees in (sculpted.HALF_BENT, sculpted.ELBOW))
    one = thew.fit_surface(arm.body, poses[sculpted.ELBOW], whole, gravity=sculpted.STILL, steps=3, name="Bent arm")
    with seconds.of("rigs of both sculpts"):
        twice = sculpted.twice_sculpted_arm(arm, half, whole)
    skins = {}
    for degrees, pose in poses.items():
        pushes = ((), (one.forces(arm.body, min(degrees / sculpted.ELBOW, 1.0)),), (twice.push(degrees),))
        skins[degrees] = [sculpted.balance(arm, pose, *push) for push in pushes]
    far = {degrees: [sculpted.apart(skin, *scans[degrees][:2]) for skin in skins[degrees]] for degrees in ANGLES}
    report(arm, (one, twice.first, twice.second), far)
    seconds.print()

    studio = Shelf(turn=-8.0, tilt=10.0)
    paint, clay = studio.vertex_material(gloss=0.55), studio.material(GREY, gloss=0.55)
    for column, degrees in enumerate(ANGLES):
        vertices, triangles, tint = scans[degrees]
        place = studio.at(COLUMNS[column], 0.0)
        given = degrees in (sculpted.HALF_BENT, sculpted.ELBOW)
        studio.mesh(upright(vertices), triangles, paint if given else clay, place, tint if given else None)
        for row, (skin, distance) in enumerate(zip(skins[degrees], far[degrees], strict=True), 1):
            place = studio.at(COLUMNS[column], -ROW * row)
            hue = ramp(np.clip(distance / WORST, 0.0, 1.0))
            studio.mesh(upright(skin), arm.triangles, paint, place, hue)
        words = f"{degrees:.0f}°, sculpted" if given else f"{degrees:.0f}°"
        studio.text(words, studio.at(COLUMNS[column] + 0.14, -3.0 * ROW - 0.15, 0.5), 0.036)
    for row, words in enumerate(TITLES):
        studio.text(words, studio.at(-0.05, -ROW * row + 0.13, 0.5), 0.036, align="LEFT")
    low = studio.at(0.0, -3.0 * ROW - 0.24, 0.5)
    studio.scale(low, 0.3, 0.02, lambda t: ramp(np.asarray(t)), ("0", f"{1e3 * WORST:.0f} mm"), 0.03)
    studio.render(how.output, (-0.09, -3.0 * ROW - 0.32), (COLUMNS[-1] + 0.42, 0.37), how.width, how.engine)


def report(arm: elastic.Fleshed, rigs: tuple[thew.Rig, ...], far: dict[float, list[np.ndarray]]) -> None:
    """Prints the reports of the rigs, and the distances at each angle."""
    for rig in rigs:
        print(f"{rig.name}: {rig.report}")
    print("| elbow | " + " | ".join(TITLES[1:]) + " |\n| --- | --- | --- | --- |")
    for degrees, distances in far.items():
        cells = [f"{1e3 * sculpted.root_mean_square(arm, one):.2f} / {1e3 * one.max():.1f} mm" for one in distances]
        print(f"| {degrees:.0f}° | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(options("sculpt-poses"))
