# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figure 7: motions of articulated figures handed on to a jelly box and to a blob with limbs. [choi2003, §6]

The nodes in the pelvis go with it. The box is constrained at the feet (positions) and the head (position and
orientation), by modal warping above and by linear modes below; the blob by torso, elbows and feet (positions) and
the head (position and orientation).
"""

from __future__ import annotations

import numpy as np
import thew

from assets.characters.choreography import Pose, smooth, turn
from assets.characters.figure import Figure
from examples import bodies, models, motion
from examples.cast import sticks
from examples.command import Options, options
from examples.studio import GREY, INK, Studio

STEP = 1.0 / 120.0
JELLY, BLOB = (0.86, 0.25, 0.30), (0.30, 0.74, 0.36)
JUMP, DANCE = (0.0, 0.5, 0.9, 1.2, 1.62), (0.0, 0.5, 0.85, 1.6, 1.95)
LEAVE, LAND = 0.68, 1.36


def jump(figure: Figure, t: float) -> Pose:
    """Crouch to the side, fly in an arch, land."""
    if t < LEAVE:
        height = -0.2 * np.sin(np.pi * smooth(t / LEAVE) ** 1.5) + 0.04 * smooth((t - 0.6) / 0.08)
    elif t < LAND:
        speed = 0.5 * 9.81 * (LAND - LEAVE)
        height = 0.04 + 0.6 * (speed * (t - LEAVE) - 0.5 * 9.81 * (t - LEAVE) ** 2)
    else:
        height = 0.04 - 0.24 * np.sin(np.pi * min((t - LAND) / 0.7, 1.0)) * (1.0 - 0.3 * smooth((t - LAND) / 0.7))
    crouch = smooth(t / 0.4) * (1.0 - smooth((t - 0.45) / 0.25))
    fly = smooth((t - LEAVE) / 0.2) * (1.0 - smooth((t - LAND + 0.22) / 0.26))
    sunk = smooth((t - LAND) / 0.2) * (1.0 - smooth((t - LAND - 0.3) / 0.4))
    lean = 26.0 * crouch - 8.0 * fly + 22.0 * sunk
    pose = Pose(figure, np.array([0.0, 0.0, height]), turn(4.0 * crouch, 0.5 * lean, 0.0))
    pose.turn("spine", 4.0 * crouch, 0.7 * lean - 17.0 * fly, 0.0)
    pose.turn("chest", 0.0, 0.7 * lean - 19.0 * fly, 14.0 * fly)
    pose.turn("head", 0.0, 0.5 * lean - 12.0 * fly, 20.0 * fly)
    for side, sign in (("L", 1.0), ("R", -1.0)):
        pose.turn(f"upperarm.{side}", 0.0, -sign * (70.0 * fly - 10.0 * crouch), 0.0)
        pose.turn(f"forearm.{side}", 0.0, -sign * 20.0 * fly, 0.0)
        if t < LEAVE or t > LAND:
            ankle = np.array(figure.bone(f"foot.{side}").head) + [
                0.0,
                0.0,
                0.04 * smooth((t - 0.6) / 0.08) * (t < LEAVE),
            ]
            pose.reach(
                f"thigh.{side}", f"shin.{side}", f"foot.{side}", ankle, np.array([0.3 * sign, -1.0, 0.0]), np.eye(3)
            )
        else:
            pose.turn(f"thigh.{side}", 0.0, 26.0 * fly, 0.0)
            pose.turn(f"shin.{side}", 0.0, 22.0 * fly, 0.0)
            pose.turn(f"foot.{side}", 24.0 * fly, 0.0, 0.0)
    return pose


def dance(figure: Figure, t: float) -> Pose:
    """Sway, twist, one arm up and one leg out in turn."""
    grow = smooth(t / 0.5)
    side = grow * np.sin(np.pi * t / 1.1)
    bounce = grow * (0.5 - 0.5 * np.cos(4.0 * np.pi * t / 1.1))
    pose = Pose(figure, np.array([0.1 * side, 0.0, -0.05 * bounce]), turn(0.0, -5.0 * side, 14.0 * side))
    pose.turn("spine", 0.0, -9.0 * side, 8.0 * side)
    pose.turn("chest", 0.0, -9.0 * side, 8.0 * side)
    pose.turn("head", 0.0, -14.0 * side, -16.0 * side)
    for name, sign in (("L", 1.0), ("R", -1.0)):
        pose.turn(f"upperarm.{name}", 0.0, -sign * grow * (8.0 + 32.0 * sign * side), 0.0)
        pose.turn(f"forearm.{name}", 0.0, -sign * grow * 20.0, 0.0)
        kick = grow * max(-sign * side, 0.0)
        pose.turn(f"thigh.{name}", -12.0 * kick, -sign * 30.0 * kick, 0.0)
        pose.turn(f"shin.{name}", 8.0 * kick, -sign * 6.0 * kick, 0.0)
        pose.turn(f"foot.{name}", 0.0, 0.0, 0.0)
    return pose


def tied(nodes: np.ndarray, figure: Figure, bones: dict[str, str]) -> dict[int, str]:
    """The nodes nearest to the heads or tails of bones: {"foot.L": "head"} and the like."""
    return {motion.nearest(nodes, getattr(figure.bone(bone), end)): bone for bone, end in bones.items()}


def main(how: Options) -> None:
    studio = Studio(turn=-16.0, tilt=9.0)
    width = 1.8
    box = models.jelly_box()
    nodes = np.asarray(box.vertices)
    man = motion.stick_figure("jumper", 0.72, 1.2, 1.5, 0.1, (0.46, 0.0, 0.86), 0.13)
    modes = thew.modes(
        box, 32, thew.Material(6e4, 0.4, 1000.0), fixed=motion.inside_ball(nodes, (0, 0, 0.75), (0.17, 0.17, 0.12))
    )
    places = tied(nodes, man, {"foot.L": "tail", "foot.R": "tail", "head": "tail"})
    surface = models.jelly_box_surface(20)
    for row, warp in enumerate((True, False)):
        title = f"jelly box, {'modal warping' if warp else 'linear modal analysis'}"
        studio.text(title, studio.at(-0.6, 1.86 - 2.3 * row), 0.13, align="LEFT")
        show(studio, title, box, modes, man, jump, places, surface, JELLY, JUMP, width, -2.3 * row, warp)
    blob = models.flubber()
    skin = thew.Surface(blob.vertices, blob.triangles)
    tets = thew.TetMesh.fill(skin, nodes=552)
    nodes = np.asarray(tets.vertices)
    dancer = motion.stick_figure("dancer", 0.7, 1.14, 1.4, 0.13, (0.62, 0.0, 0.91), 0.2)
    modes = thew.modes(
        tets, 64, thew.Material(2e5, 0.4, 1000.0), fixed=motion.inside_ball(nodes, (0, 0, 0.72), (0.16, 0.14, 0.12))
    )
    ends = {
        "chest": "tail",
        "forearm.L": "head",
        "forearm.R": "head",
        "foot.L": "head",
        "foot.R": "head",
        "head": "tail",
    }
    title = "blob with limbs, modal warping"
    studio.text(title, studio.at(-0.6, 1.86 - 4.6), 0.13, align="LEFT")
    show(studio, title, tets, modes, dancer, dance, tied(nodes, dancer, ends), blob, BLOB, DANCE, width, -4.6, True)
    studio.render(how.output, (-0.8, -4.95), (4 * width + 0.8, 2.12), how.width, how.engine)


def show(studio, title, tets, modes, figure, pose_at, places, surface, colour, shots, width, height, warp) -> None:
    """Simulate one body and put its snapshots into a row."""
    nodes = np.asarray(tets.vertices)
    simulation = thew.ModalSimulation(modes, STEP, integrator="semi_implicit", warp=warp, damping=(1.0, 0.003))
    masses = bodies.nodal_mass(nodes, tets.tets, 1000.0)
    carried = motion.Carried(figure, pose_at, nodes, masses)
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
