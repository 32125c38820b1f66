# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 7: motions of articulated figures handed on to a jelly box and to a blob with limbs. [choi2003, §6]

The nodes in the pelvis go with it. The box is constrained at the feet (positions) and the head (position and
orientation), by modal warping above and by linear modes below; the blob by torso, elbows and feet (positions) and
the head (position and orientation).
"""

from __future__ import annotations

import numpy as np
import thew

from examples import bodies, dances, models, motion
from examples.cast import sticks
from examples.command import Options, options
from examples.studio import GREY, INK, Studio

STEP = 1.0 / 120.0
JELLY, BLOB = (0.86, 0.25, 0.30), (0.30, 0.74, 0.36)
JUMP, DANCE = (0.0, 0.5, 0.9, 1.2, 1.62), (0.0, 0.5, 0.85, 1.6, 1.95)


def main(how: Options) -> None:
    studio = Studio(turn=-16.0, tilt=9.0)
    width = 1.8
    box = models.jelly_box()
    nodes = np.asarray(box.vertices)
    man = dances.jumper()
    modes = thew.modes(
        box, 32, thew.Material(6e4, 0.4, 1000.0), fixed=motion.nodes_in_ball(nodes, *dances.SUPPORTS["box"])
    )
    places = dances.tied_nodes(nodes, man, dances.BOX_ENDS)
    surface = models.jelly_box_surface(20)
    for row, warp in enumerate((True, False)):
        title = f"jelly box, {'modal warping' if warp else 'linear modal analysis'}"
        studio.text(title, studio.at(-0.6, 1.86 - 2.3 * row), 0.13, align="LEFT")
        show(studio, title, box, modes, man, dances.jump, places, surface, JELLY, JUMP, width, -2.3 * row, warp)
    blob = models.flubber()
    skin = thew.Surface(blob.vertices, blob.triangles)
    tets = thew.TetMesh.fill(skin, nodes=552)
    nodes = np.asarray(tets.vertices)
    dancer = dances.dancer()
    modes = thew.modes(
        tets, 64, thew.Material(2e5, 0.4, 1000.0), fixed=motion.nodes_in_ball(nodes, *dances.SUPPORTS["blob"])
    )
    title = "blob with limbs, modal warping"
    studio.text(title, studio.at(-0.6, 1.86 - 4.6), 0.13, align="LEFT")
    show(
        studio,
        title,
        tets,
        modes,
        dancer,
        dances.sway,
        dances.tied_nodes(nodes, dancer, dances.BLOB_ENDS),
        blob,
        BLOB,
        DANCE,
        width,
        -4.6,
        True,
    )
    studio.render(how.output, (-0.8, -4.95), (4 * width + 0.8, 2.12), how.width, how.engine)


def show(studio, title, tets, modes, figure, pose_at, places, surface, colour, shots, width, height, warp) -> None:
    """Simulate one body and put its snapshots into a row."""
    nodes = np.asarray(tets.vertices)
    simulation = thew.ModalSimulation(modes, STEP, integrator="semi_implicit", warp=warp, damping=(1.0, 0.003))
    masses = bodies.nodal_mass(nodes, tets.tets, 1000.0)
    carried = motion.CarriedNodes(figure, pose_at, nodes, masses)
    heads = {node: bone for node, bone in places.items() if bone == "head"}
    puppet = motion.Puppet(simulation, carried, places, heads)
    carrier = bodies.Carrier(nodes, tets.tets, surface.vertices)
    jelly, bone, floor, dot = (
        studio.material(colour, alpha=0.62, gloss=0.8), studio.material(INK), studio.material(GREY), studio.material((0.98, 0.80, 0.2)),
    )  # fmt: skip
    worst = 0.0
    for column, shot in enumerate(shots):
        puppet.run(shot, STEP)
        place = studio.at(width * column, height)
        u = np.asarray(simulation.displacements())
        studio.mesh(carried.world(surface.vertices + carrier(u), shot), surface.triangles, jelly, place)
        sticks(studio, pose_at(figure, shot), place, 0.014, bone)
        studio.slab(place + [0.0, 0.0, -0.04], (0.9, 0.6, 0.05), floor)
        for node in places:
            studio.ball(carried.world(nodes[node] + u[node], shot) + place, 0.035, dot)
        studio.text(f"{shot:.2f} s", place + studio.at(0.0, -0.24), 0.09)
        worst = max(worst, bodies.strain(nodes, tets.tets, u).max())
    print(
        f"{title}: {len(nodes)} nodes, {len(tets.tets)} elements, {len(modes.eigenvalues)} modes, {len(places)} positions "
        f"and {len(heads)} orientation held, missed by {1e6 * puppet.misses():.2g} µm; largest strain {worst:.2f}"
    )


if __name__ == "__main__":
    main(options("figure7"))
