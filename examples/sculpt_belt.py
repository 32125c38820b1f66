# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 10 of Capell and others 2006: a jump of flesh alone, with a chest flex, and with the flex and a belt. [capell2006, §5]"""

from __future__ import annotations

import numpy as np
import thew

from assets.characters import FPS, biped
from examples import elastic, persons, sculpted
from examples.command import Options, options
from examples.shelf import Shelf
from examples.studio import Studio

FRAMES = 56
SHOWN = (0, 9, 24, 33, 38, 46)
"""Frames in the picture: standing, crouched, in the air, landing, low, at rest."""
ACROSS = 20.0
COLUMN, ROW = 1.05, 1.78
BELT, TIGHT = 0.985, 0.91
"""Height of the belt, m, and its girth beside that of the belly at rest."""
PINS = 14


def jump(who: elastic.Fleshed, frames: int = FRAMES) -> np.ndarray:
    """Returns the poses [frames,b,4,4] of a jump."""
    return np.array([persons.maps(who.figure, biped.jump(who.figure, frame / FPS)) for frame in range(frames)])


def controls(frames: int = FRAMES) -> np.ndarray:
    """Returns the controls [frames,1] of the flex: tense from the crouch to the rise."""
    t = np.arange(frames) / FPS
    ramp = lambda a, b: np.clip((t - a) / (b - a), 0.0, 1.0)  # noqa: E731
    return (ramp(0.2, 0.6) - ramp(1.7, 2.1))[:, None]


def belt(who: elastic.Fleshed, poses: np.ndarray) -> list[thew.PinTrack]:
    """Returns pins that hold a ring of the trunk's skin, drawn tight, on the bone of the spine."""
    trunk = sculpted.share_of(who, ("hips", "spine", "chest")) > 0.9
    ring = np.flatnonzero(trunk & (np.abs(who.vertices[:, 2] - BELT) < 0.5 * who.figure.cell))
    ring = thew.independent_vertices(who.body, ring.tolist(), PINS)
    middle = np.array((0.0, who.vertices[ring, 1].mean(), BELT))
    places = middle + (who.vertices[ring] - middle) * (TIGHT, TIGHT, 1.0)
    spine = poses[:, [bone.name for bone in who.figure.bones].index("spine")]
    return [thew.PinTrack(v, spine[:, :3, :3] @ place + spine[:, :3, 3]) for v, place in zip(ring, places, strict=True)]


def main(how: Options) -> None:
    gero, seconds = sculpted.person(persons.STOUT, ACROSS), sculpted.Seconds()
    poses, target = jump(gero), sculpted.flexed_chest(gero, persons.STOUT)
    rig = thew.fit_surface(gero.body, sculpted.at_rest(gero), target, gravity=sculpted.STILL, name="Chest")
    pins, tense = belt(gero, poses), controls()
    rows = []
    for words, settings in (
        ("flesh alone", {}),
        ("chest flex", {"rigs": [rig], "controls": tense}),
        ("chest flex and belt", {"rigs": [rig], "controls": tense, "pins": pins}),
    ):
        with seconds.of(f"{words}, {FRAMES} frames"):
            clip = thew.simulate(gero.body, poses, FPS, **settings)
        rows.append((words, np.asarray(clip, float)))
    print(f"{len(gero.lattice.vertices)} lattice vertices, {len(pins)} pins")
    report(gero, poses, rows)
    seconds.print()

    studio = Shelf(turn=-52.0, tilt=4.0)
    paint, leather = studio.vertex_material(gloss=0.55), studio.material((0.25, 0.14, 0.09))
    for row, (words, skins) in enumerate(rows):
        for column, frame in enumerate(SHOWN):
            place = studio.at(COLUMN * column, -ROW * row)
            studio.mesh(skins[frame], gero.triangles, paint, place, gero.colours)
            if row == 2:
                strap(studio, np.array([pin.targets[frame] for pin in pins]), leather, place)
                studio.text(f"{frame / FPS:.2f} s", place + studio.at(0.0, -0.14, 1.0), 0.06)
        studio.text(words, studio.at(-0.42, 1.72 - ROW * row, 1.0), 0.075, align="LEFT")
    studio.render(how.output, (-0.45, -2 * ROW - 0.2), (COLUMN * (len(SHOWN) - 1) + 0.45, 2.0), how.width, how.engine)


def strap(studio: Studio, points: np.ndarray, material, place) -> None:
    """Draws the belt through its pins, in order around the trunk."""
    middle = points.mean(axis=0)
    order = np.argsort(np.arctan2(points[:, 1] - middle[1], points[:, 0] - middle[0]))
    around = points[np.append(order, order[0])]
    outward = (around - middle) / np.linalg.norm(around - middle, axis=1, keepdims=True)
    studio.line(around + 0.004 * outward, 0.014, material, place)


def report(who: elastic.Fleshed, poses: np.ndarray, rows: list) -> None:
    """Prints how far the belly and the chest move from where the bones carry them."""
    plain = np.array([who.plain(pose) for pose in poses])
    middle = np.abs(who.vertices[:, 0]) < 0.12
    belly = middle & (who.vertices[:, 1] < -0.18) & (np.abs(who.vertices[:, 2] - BELT) < 0.05)
    chest = middle & (who.vertices[:, 1] < -0.10) & (who.vertices[:, 2] > 1.17) & (who.vertices[:, 2] < 1.26)
    print("| | belly under the belt moves by up to | chest |\n| --- | --- | --- |")
    for words, skins in rows:
        far = [1e3 * np.linalg.norm((skins - plain)[:, part].mean(axis=1), axis=1).max() for part in (belly, chest)]
        print(f"| {words} | {far[0]:.0f} mm | {far[1]:.0f} mm |")


if __name__ == "__main__":
    main(options("sculpt-belt"))
