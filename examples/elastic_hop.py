# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures 1 and 2 of Capell and others 2002: a creature in its control lattice, the regions of its bones, and hops. [capell2002, §3.1, §4.5]

Above: skeleton, lattice and regions. Below: frames of three hops and a stop, without flesh and with flesh by blended local linearisation.
"""

from __future__ import annotations

import colorsys

import numpy as np

from examples import elastic, hopper
from examples.command import Options, options
from examples.studio import GREY, INK, Studio

SHOWN = (0, 11, 15, 18, 22, 26, 54, 58, 83)
"""Frames in the picture."""
COLUMN, ROW = 0.9, 1.46
TURN, TILT = -62.0, 9.0


def region_colours(count: int) -> np.ndarray:
    """Returns linear colours [count,3] that are easily told apart."""
    return np.array([colorsys.hsv_to_rgb((0.02 + 0.382 * i) % 1.0, 0.62, 0.9) for i in range(count)]) ** 2.2


def draw_skeleton(studio: Studio, creature: elastic.Fleshed, place) -> None:
    """Draws bones as rods between balls."""
    ink = studio.material(INK)
    for bone in creature.figure.bones:
        studio.line([bone.head, bone.tail], 0.008, ink, place)
        for end in (bone.head, bone.tail):
            studio.ball(np.add(place, end), 0.014, ink)


def draw_lattice(studio: Studio, creature: elastic.Fleshed, place, radius: float = 0.0022, colours=None) -> None:
    """Draws the outer edges of all cells; `colours` of vertices [k,3], sRGB, or none."""
    nodes = np.asarray(creature.lattice.vertices)
    edges = {
        tuple(sorted((cell[a], cell[a | bit])))
        for cell in creature.lattice.cells
        for bit in (1, 2, 4)
        for a in range(8)
        if not a & bit
    }
    for a, b in sorted(edges):
        material = studio.material(INK if colours is None else tuple(float(c) for c in colours[[a, b]].mean(axis=0)))
        studio.line(nodes[[a, b]], radius, material, place)


def main(how: Options) -> None:
    creature = elastic.flesh(hopper.figure(), hopper.lattice, hopper.YOUNG, hopper.stiffness)
    poses = hopper.poses()
    motions = elastic.compare(creature, poses, hopper.FPS)
    elastic.print_table(creature, motions)
    elastic.print_frames(motions, SHOWN)
    shown = [creature.skin(nodes) for nodes in motions["blended"].nodes]
    volumes = [
        elastic.volume(skin, creature.triangles) / elastic.volume(shown[0], creature.triangles) for skin in shown
    ]
    print(f"volume of the skin: {100 * min(volumes):.1f} to {100 * max(volumes):.1f} %")

    studio = Studio(TURN, TILT)
    paint = studio.vertex_material(gloss=0.4)
    glass = studio.material((0.86, 0.62, 0.45), alpha=0.28)
    weights = np.asarray(creature.body.region_weights)[: len(creature.lattice.vertices)]
    hues = region_colours(len(poses[0]))
    names = ("the model", "its skeleton", "its lattice, made by hand", "regions of the bones")
    for column, words in enumerate(names):
        place = studio.at(2.45 * COLUMN * column + 0.3, 0.0)
        material, colours = (paint, creature.colours) if column == 0 else (glass, None)
        if column == 3:
            nodes = creature.skin(weights @ hues)
            material, colours = paint, nodes
        studio.mesh(creature.vertices, creature.triangles, material, place, colours)
        if column in (1, 2):
            draw_skeleton(studio, creature, place)
        if column in (2, 3):
            draw_lattice(studio, creature, place, colours=None if column == 2 else (weights @ hues) ** (1 / 2.2))
        studio.text(words, place + studio.at(0.0, -0.22), 0.075)
    for row, (words, skins) in enumerate(
        (("plain skin", [creature.plain(pose) for pose in poses]), ("flesh, blended", shown))
    ):
        level = -(row + 1) * ROW
        for column, frame in enumerate(SHOWN):
            # The camera follows.
            place = studio.at(COLUMN * column, level) + [0.0, hopper.ahead(poses[frame]), 0.0]
            studio.mesh(skins[frame], creature.triangles, paint, place, creature.colours)
            if row == 1:
                studio.text(f"{frame / hopper.FPS:.2f} s", studio.at(COLUMN * column, level - 0.24), 0.07)
        ground = [studio.at(across, level - 0.072, -0.6) for across in (-0.5, COLUMN * (len(SHOWN) - 1) + 0.68)]
        studio.line(ground, 0.004, studio.material(GREY))
        studio.text(words, studio.at(-0.5, level + 1.14, 0.5), 0.075, align="LEFT")
    low, high = (-0.52, -2 * ROW - 0.32), (COLUMN * (len(SHOWN) - 1) + 0.72, 1.2)
    studio.render(how.output, low, high, how.width, how.engine)


if __name__ == "__main__":
    main(options("elastic-hop"))
