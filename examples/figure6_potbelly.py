# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 6: a dancer whose only deformable part is a torso with a potbelly. [choi2003, §6]

The nodes in the pelvis go with it; two position constraints hold the shoulders and one position and orientation
constraint the neck to the dancing skeleton. The belly swings by itself.
"""

from __future__ import annotations

import numpy as np
import thew

from assets.characters import biped
from examples import bodies, dances, models, motion
from examples.cast import Pieces
from examples.command import Options, options
from examples.studio import GREY, INK, RED, Studio

MATERIAL = thew.Material(young=3e4, poisson=0.4, density=1000.0)
MODES = 32
STEP = 1.0 / 120.0
SHOTS = (1.24, 1.55, 1.86, 2.17)
LIMBS = ("upperarm", "forearm", "hand", "thigh", "shin", "foot")


def main(how: Options) -> None:
    bodo = biped.figure()
    surface = models.potbelly()
    skin = thew.Surface(surface.vertices, surface.triangles)
    tets = thew.TetMesh.fill(skin, nodes=363)
    nodes = np.asarray(tets.vertices)
    pelvis = motion.nodes_in_ball(nodes, *dances.SUPPORTS["belly"])
    modes = thew.modes(tets, MODES, MATERIAL, fixed=pelvis)
    simulation = thew.ModalSimulation(modes, STEP, integrator="semi_implicit", damping=(0.8, 0.002))
    masses = bodies.nodal_mass(nodes, tets.tets, MATERIAL.density)
    carried = motion.CarriedNodes(bodo, dances.hips, nodes, masses)
    shoulders, neck = dances.shoulders_and_neck(nodes)
    puppet = motion.Puppet(simulation, carried, {**shoulders, neck: "neck"}, {neck: "neck"})
    deformer = thew.Deformer(modes, skin, form="vertex")
    navel = motion.nearest_node(surface.vertices, (0.0, -0.45, 0.77))
    bones = ["head", *(f"{limb}.{side}" for limb in LIMBS for side in ("L", "R"))]
    pieces = Pieces(bodo, bones)

    studio = Studio(turn=-24.0, tilt=8.0)
    paint, glass, floor = studio.vertex_material(), studio.vertex_material(alpha=0.35), studio.material(GREY)
    pin, held = studio.material(RED, gloss=0.7), studio.material(INK)
    swings = []
    for column, shot in enumerate((0.0, *SHOTS)):
        while puppet.time < shot - 0.5 * STEP:
            puppet.run(puppet.time + STEP, STEP)
            swings.append(deformer.displacements(simulation.amplitudes)[navel])
        place = studio.at(1.22 * column, 0.0)
        pose = dances.hips(bodo, shot)
        points = carried.world(np.asarray(deformer.positions(simulation.amplitudes), float), shot)
        studio.mesh(points, surface.triangles, glass if column == 0 else paint, place, surface.colours)
        pieces.show(studio, pose, place, paint)
        studio.slab(place + [0.0, -0.02, -0.035], (0.85, 0.62, 0.05), floor)
        if column == 0:
            # Marks of what lies inside are brought before the torso along the line of sight.
            before = place - 0.8 * studio.ahead
            for node in shoulders:
                studio.ball(before + carried.world(nodes[node], shot), 0.038, pin)
            studio.frame(before + carried.world(nodes[neck], shot), np.eye(3), 0.22)
            for node in np.flatnonzero(pelvis):
                studio.ball(before + carried.world(nodes[node], shot), 0.014, held)
        studio.text("rest and constraints" if column == 0 else f"{shot:.2f} s", place + studio.at(0.0, -0.28), 0.085)
        print(f"{shot:.2f} s: navel {100 * np.linalg.norm(swings[-1]) if swings else 0:.1f} cm from its rest place "
              f"in the pelvis' frame, constraints missed by {1e6 * puppet.misses():.2g} µm")  # fmt: skip
    far = np.linalg.norm(swings, axis=1).max()
    print(f"{len(nodes)} nodes, {len(tets.tets)} elements, {MODES} modes; the navel swings by up to {100 * far:.1f} cm")
    studio.render(how.output, (-0.65, -0.4), (5.5, 1.68), how.width, how.engine)


if __name__ == "__main__":
    main(options("figure6"))
