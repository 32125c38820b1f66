# SPDX-License-Identifier: MIT OR Apache-2.0
"""The bent arm of our athlete: its muscles in the flesh, relaxed, and contracted. docs/methods/muscles.md"""

from __future__ import annotations

import numpy as np
import thew

from examples import elastic, persons, sculpted
from examples.command import Options, options
from examples.studio import RED, Studio

CONTRACTION = 0.45
BEND = 105.0
"""Bend of the elbow, degrees."""
CELLS = 40.0
"""Cells of the lattice across the whole person: edges of 5 cm, nearly as long as the upper arm is thick."""
COLUMN = 0.50
CUT = -0.03
"""Place along the upper arm where the picture ends, m from the shoulder."""
AROUND = 20
MUSCLES = ("Biceps left", "Triceps left")
ARM = ("shoulder.L", "upperarm.L", "forearm.L", "hand.L")


def contracted(rig: thew.Rig) -> thew.Rig:
    """Returns a muscle that contracts as far as the picture's do."""
    sizes = {name: value for name, value in rig.parameters().items() if name in ("radius", "bow")}
    return thew.muscle(*rig.ends, contraction=CONTRACTION, name=rig.name, **sizes)


def spindle(rig: thew.Rig, body: thew.Body, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns vertices and quads of a muscle's skin in flesh with displacements q."""
    line = np.asarray(thew.muscle_line(rig, body, 33))
    ahead = line[-1, :3] - line[0, :3]
    side = np.cross(ahead, np.eye(3)[np.abs(ahead).argmin()])
    side /= np.linalg.norm(side)
    other = np.cross(ahead / np.linalg.norm(ahead), side)
    angles = np.arange(AROUND) * 2.0 * np.pi / AROUND
    ring = np.cos(angles)[:, None] * side + np.sin(angles)[:, None] * other
    points = (line[:, None, :3] + line[:, None, 3:] * ring).reshape(-1, 3)
    indices, weights = body.lattice.embed(points)
    points = points + np.einsum("nk,nkj->nj", weights, q[np.maximum(indices, 0)])
    i, k = np.meshgrid(np.arange(len(line) - 1), np.arange(AROUND), indexing="ij")
    at = lambda i, k: (i * AROUND + k % AROUND).ravel()  # noqa: E731
    return points, np.stack([at(i, k), at(i, k + 1), at(i + 1, k + 1), at(i + 1, k)], axis=1)


def upright(who: elastic.Fleshed, pose: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Returns posed points as the picture shows them: the upper arm to the right, the inside of its elbow up."""
    bone = [bone.name for bone in who.figure.bones].index("upperarm.L")
    turned = pose[bone, :3, :3] @ np.stack([persons.ALONG, -persons.THUMB, persons.INSIDE], axis=1)
    shoulder = pose[bone, :3, :3] @ np.array(who.figure.bones[bone].head) + pose[bone, :3, 3]
    return (np.asarray(points) - shoulder) @ turned


def main(how: Options) -> None:
    who = sculpted.person(persons.ATHLETE, CELLS)
    muscles = [contracted(rig) for rig in thew.muscles(who.body) if rig.name in MUSCLES]
    pose = persons.maps(who.figure, persons.pose(who.figure, BEND, persons.raised()))
    balance = thew.Equilibrium(who.body)
    for rig in muscles:
        q = balance.solve(rest_forces=rig.forces(who.body), gravity=sculpted.STILL)
        print(f"{rig.name}: volume {100 * thew.muscle_growth(rig, who.body, q):+.2f} %")
    balance.set_pose(pose)
    studio = Studio(turn=-8.0, tilt=8.0)
    solid, glass, red = studio.vertex_material(gloss=0.3), studio.vertex_material(alpha=0.25), studio.material(RED)
    shown = (sculpted.share_of(who, ARM) > 0.1) & (upright(who, pose, who.plain(pose))[:, 0] > CUT)
    triangles = who.triangles[shown[who.triangles].all(axis=1)]
    push = muscles[0].forces(who.body)
    for column, (words, share) in enumerate((("muscles", 0.0), ("relaxed", 0.0), ("contracted", 1.0))):
        q = balance.solve(rest_forces=share * push, gravity=sculpted.STILL)
        place, skin = studio.at(COLUMN * column, 0.0), upright(who, pose, balance.positions())
        studio.mesh(skin, triangles, glass if column == 0 else solid, place, who.colours)
        for rig in muscles if column == 0 else ():
            points, quads = spindle(rig, who.body, q)
            studio.mesh(upright(who, pose, points), quads, red, place)
        studio.text(words, studio.at(COLUMN * column + 0.15, -0.13, 0.5), 0.034)
    studio.render(how.output, (-0.12, -0.16), (2 * COLUMN + 0.42, 0.36), how.width, how.engine)


if __name__ == "__main__":
    main(options("muscles"))
