# SPDX-License-Identifier: MIT OR Apache-2.0
"""Our biped with its elbows bent: its muscles in the flesh, relaxed, and contracted. docs/methods/muscles.md"""

from __future__ import annotations

import numpy as np
import thew

from assets.characters import FIGURES, figure
from assets.characters.choreography import Pose
from examples import rigged
from examples.bodies import rotation
from examples.command import Options, options
from examples.studio import RED, Studio

CONTRACTION = 0.45
BEND = 105.0
"""Bend of the elbows, degrees."""
COLUMN = 1.25
AROUND = 20


def flexed(bodo: figure.Figure) -> Pose:
    """Returns Bodo with his upper arms held out and his elbows bent, so that his forearms stand up."""
    pose = Pose(bodo, np.zeros(3), np.eye(3))
    front = np.array([0.0, -1.0, 0.0])
    for side, sign in (("L", 1.0), ("R", -1.0)):
        bone = bodo.bone(f"upperarm.{side}")
        arm = np.subtract(bone.tail, bone.head)
        arm /= np.linalg.norm(arm)
        ahead = front - arm * (front @ arm)
        ahead /= np.linalg.norm(ahead)
        # Out and a little up, with the front of the arm above.
        out = np.array([sign * np.cos(0.15), -0.1, np.sin(0.15)])
        out /= np.linalg.norm(out)
        up = np.array([0.0, 0.0, 1.0]) - out * out[2]
        up /= np.linalg.norm(up)
        turn = np.column_stack([out, up, np.cross(out, up)]) @ np.column_stack([arm, ahead, np.cross(arm, ahead)]).T
        bend = rotation(np.radians(BEND) * np.cross(arm, ahead))
        pose.rotations[f"upperarm.{side}"] = turn
        pose.rotations[f"forearm.{side}"] = pose.rotations[f"hand.{side}"] = turn @ bend
    return pose


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


def contracted(rig: thew.Rig) -> thew.Rig:
    """Returns a muscle that contracts as far as the picture's do."""
    sizes = {name: value for name, value in rig.parameters().items() if name in ("radius", "bow")}
    return thew.muscle(*rig.ends, contraction=CONTRACTION, name=rig.name, **sizes)


def main(how: Options) -> None:
    studio = Studio(turn=0.0, tilt=6.0)
    bodo = FIGURES["biped"]()
    skin = figure.skin(bodo)
    body = rigged.make_body(skin.vertices, skin.triangles(), skin.colours, skin.weights, bodo.bones, 30.0).body
    muscles = [contracted(rig) for rig in thew.muscles(body)]
    pose = flexed(bodo)
    balance = thew.Equilibrium(body)
    balance.set_pose(np.array([pose.map(bone.name) for bone in bodo.bones]))
    solid, glass, red = studio.vertex_material(gloss=0.3), studio.vertex_material(alpha=0.25), studio.material(RED)
    whole = sum(rig.forces(body) for rig in muscles)
    for column, (words, push) in enumerate((("muscles", 0.0), ("relaxed", 0.0), ("contracted", 1.0))):
        q = balance.solve(rest_forces=push * whole, gravity=[0.0, 0.0, 0.0])
        place = studio.at(COLUMN * column, 0.0)
        studio.mesh(
            np.asarray(balance.positions(), float),
            skin.triangles(),
            glass if column == 0 else solid,
            place,
            skin.colours,
        )
        if column == 0:
            for rig in muscles:
                points, quads = spindle(rig, body, q)
                studio.mesh(points, quads, red, place)
        studio.text(words, studio.at(COLUMN * column, 0.66, 2.0), 0.075)
    for rig in muscles:
        print(
            f"{rig.name}: volume {100 * thew.muscle_growth(rig, body, thew.Equilibrium(body).solve(rest_forces=rig.forces(body), gravity=[0, 0, 0])):+.2f} %"
        )
    studio.render(how.output, (-0.62, 0.62), (2 * COLUMN + 0.62, 1.52), how.width, how.engine)


if __name__ == "__main__":
    main(options("muscles"))
