# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 8: a large model of 28,098 vertices dragged by its tail, and let go. [choi2003, §6]

Its soles are supported; eight modes move all of it.
"""

from __future__ import annotations

import time

import numpy as np
import thew

from examples import bodies, dances, models, motion
from examples.command import Options, options
from examples.studio import AMBER, GREY, INK, Studio

MATERIAL = thew.Material(young=6e4, poisson=0.4, density=1000.0)
MODES = 8
STEP = 1.0 / 60.0
SHOTS = (0.0, 1.0, 2.0, 3.0, 3.35)
LET_GO = 3.05
FRAMES = 200


def milliseconds(deformer: thew.Deformer, amplitudes: np.ndarray) -> str:
    """Time of a frame, its median over many, and the engine that was found the quickest."""
    spent = []
    for _ in range(FRAMES):
        begun = time.perf_counter()
        deformer.positions(amplitudes)
        spent.append(time.perf_counter() - begun)
    return f"{1e3 * float(np.median(spent)):.3f} ms a frame, median of {FRAMES} ({deformer.engine})"


def main(how: Options) -> None:
    shape = models.dinosaur(28098)
    skin = thew.Surface(shape.vertices, shape.triangles)
    started = time.perf_counter()
    tets = thew.TetMesh.fill(skin, nodes=1883)
    filled = time.perf_counter()
    nodes = np.asarray(tets.vertices)
    modes = thew.modes(tets, MODES, MATERIAL, fixed=nodes[:, 2] < shape.vertices[:, 2].min() + 0.08)
    solved = time.perf_counter()
    deformer = thew.Deformer(modes, skin)
    simulation = thew.ModalSimulation(modes, STEP, integrator="semi_implicit", damping=(0.5, 0.002))
    tip = motion.nearest_node(nodes, shape.vertices[shape.vertices[:, 1].argmax()])

    studio = Studio(turn=-52.0, tilt=20.0)
    paint, floor, thread = studio.vertex_material(gloss=0.6), studio.material(GREY), studio.material(INK)
    hand = studio.material(AMBER, gloss=0.7)
    trail: list[np.ndarray] = []
    now = 0.0
    for column, shot in enumerate(SHOTS):
        while now < shot - 0.5 * STEP:
            now += STEP
            simulation.constrain(positions={tip: dances.pull(now)} if now <= LET_GO else {})
            simulation.advance()
            trail.append(nodes[tip] + np.asarray(simulation.displacements())[tip])
        row, across = divmod(column, 3)
        place = studio.at(3.2 * across + 1.6 * row, -3.3 * row)
        points = np.asarray(deformer.positions(simulation.amplitudes))
        studio.mesh(points, shape.triangles, paint, place, shape.colours)
        studio.slab(place + [0.0, 0.0, -0.06], (1.3, 1.7, 0.08), floor)
        held = place + nodes[tip] + np.asarray(simulation.displacements())[tip] - 0.5 * studio.ahead
        if 0.0 < shot <= LET_GO:
            studio.ball(held, 0.07, hand)
        if shot:
            since = round(min(0.5, shot - LET_GO if shot > LET_GO else 0.5) / STEP)
            studio.line(np.array(trail[-since:]) - 0.45 * studio.ahead, 0.014, thread, place)
        label = "at rest" if shot == 0.0 else f"{shot:.2f} s" + ("" if shot <= LET_GO else ", let go")
        studio.text(label, place + studio.at(0.0, -0.82), 0.14)
    print(
        f"{len(shape.vertices)} vertices, {len(nodes)} nodes, {len(tets.tets)} elements, {MODES} modes: filled in "
        f"{filled - started:.2f} s, matrices and modes in {solved - filled:.2f} s"
    )
    for form in ("vertex", "embedded"):
        print(f"deformer, {form} form: {milliseconds(thew.Deformer(modes, skin, form=form), simulation.amplitudes)}")
    largest = bodies.strain(nodes, np.asarray(tets.tets), np.asarray(simulation.displacements())).max()
    print(f"largest strain when let go {largest:.2f}")
    studio.render(how.output, (-1.75, -4.4), (8.15, 2.2), how.width, how.engine)


if __name__ == "__main__":
    main(options("figure8"))
