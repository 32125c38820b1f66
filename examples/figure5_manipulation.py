# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 5: a bar held by a position, by an orientation and by both. [choi2003, §5, §6]

The position is exercised at the constrained node itself; the orientation also at the nodes that share a
tetrahedron with it.
"""

from __future__ import annotations

import numpy as np
import thew

from examples import bodies, models, motion
from examples.command import Options, options
from examples.studio import AMBER, BLUE, GREY, Studio

MATERIAL = thew.Material(young=1e5, poisson=0.4, density=1000.0)
MODES = 24
SKIN, LIGHT = (0.36, 0.62, 0.70), (0.66, 0.83, 0.84)


def main(how: Options) -> None:
    tets = models.bar()
    vertices = np.asarray(tets.vertices)
    modes = thew.modes(tets, MODES, MATERIAL, fixed=vertices[:, 0] < 1e-9)
    end = int(bodies.nodes_on_line(vertices, np.zeros(3), np.array([1.0, 0.0, 0.0]))[-1])
    around = motion.neighbours(np.asarray(tets.tets), end)
    moved, turned = np.array([-0.32, 0.0, -0.62]), np.array([1.9, 0.0, 0.0])
    lifted, rolled = np.array([-0.22, 0.0, 0.5]), np.array([-1.5, 0.0, 0.0])
    cases = {
        "position": ({end: moved}, {}, [end]),
        "orientation": ({}, {end: turned}, around),
        "position and orientation": ({end: lifted}, {end: rolled}, around),
    }
    surface = models.bar_surface(16)
    deformer = thew.Deformer(modes, thew.Surface(surface.vertices, surface.triangles), form="vertex")

    studio = Studio(turn=-28.0, tilt=16.0)
    skin, block = studio.vertex_material(), studio.material(GREY)
    # Two tones, by side, so that a twist is seen.
    side = np.abs(surface.vertices[:, 1]) > np.abs(surface.vertices[:, 2])
    tint = np.where(side[:, None], SKIN, LIGHT) ** 2.2
    pin, hand = studio.material(AMBER, gloss=0.7), studio.material(BLUE, gloss=0.7)
    for column, (title, (positions, orientations, exercised)) in enumerate(cases.items()):
        simulation = thew.ModalSimulation(modes, 1.0 / 60.0, integrator="semi_implicit", damping=(4.0, 0.01))
        simulation.constrain(positions=positions, orientations=orientations, exercised=exercised)
        for _ in range(600):
            simulation.advance()
        u = np.asarray(simulation.displacements())
        w = np.asarray(simulation.rotations())[end]
        place = studio.at(1.5 * column, 0.0)
        studio.mesh(deformer.positions(simulation.amplitudes), surface.triangles, skin, place, tint)
        studio.slab(place + [-0.05, 0.0, 0.0], (0.1, 0.42, 0.42), block)
        studio.outline((1.0, 0.2, 0.2), place + [0.5, 0.0, 0.0], 0.0035, block)
        there = place + vertices[end] + u[end]
        # Marks lie at the bar's surface: they are brought before it along the line of sight.
        before = there - 0.6 * studio.ahead
        for node in exercised:
            if node != end:
                studio.ball(place + vertices[node] + u[node] - 0.5 * studio.ahead, 0.018, hand)
        words = []
        if positions:
            studio.ball(before, 0.038, pin)
            missed = np.linalg.norm(u[end] - positions[end])
            words.append(f"misses its place by {1e6 * missed:.2g} µm")
        if orientations:
            studio.frame(before, bodies.rotation(w), 0.24)
            missed = np.linalg.norm(w - orientations[end])
            words.append(f"misses its turn of {np.degrees(np.linalg.norm(w)):.0f}° by {np.degrees(missed):.2g}°")
        print(f"{title}: {', '.join(words)}; {len(exercised)} exercised nodes")
        studio.text(title, place + studio.at(0.4, -1.0), 0.1)
    studio.render(how.output, (-0.3, -1.15), (4.15, 0.85), how.width, how.engine)


if __name__ == "__main__":
    main(options("figure5"))
