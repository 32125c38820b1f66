# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pictures of flesh without and with contact: shapes and our own characters, for `docs/methods/contact.md`.

    python -m demo.look.contact_pictures [--only squat|bench|elbow|balls|hug ...] [--output FOLDER]

For each picture the number of vertices in other flesh is printed, as found by `demo.look.overlap`. They are red;
in a section, red is any area that is covered twice. The characters move at the extension's defaults.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from assets import characters
from assets.characters.choreography import FPS, Pose, smooth, turn
from assets.characters.figure import eyeball
from demo.look import overlap, raster
from demo.look.beside import THROUGH
from demo.look.recording import Recording
from demo.look.sheet import FLESH, GREY
from demo.look.simulating import Character

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

import shapes  # noqa: E402

SECOND = np.array([160.0, 184.0, 206.0])
"""Colour of a second body."""
ALONG_X, ALONG_Y, ALONG_Z = np.eye(3)
STILL = (0.0, 0.0, 0.0)


class Bodies:
    """Bodies to be drawn, without their vertices in other flesh at rest."""

    def __init__(self, rest: list, tints: list[np.ndarray], cut: int | None = None) -> None:
        """Welds bodies of vertices [n, 3] and triangles [t, 3]. `cut`: number of vertices before the eyes, which sections omit."""
        triangles = [overlap.weld(vertices, faces) for vertices, faces in rest]
        starts = np.cumsum([0, *(len(vertices) for vertices, _ in rest)])
        self.cut = [faces[(faces < (cut or len(v))).all(axis=1)] for faces, (v, _) in zip(triangles, rest, strict=True)]
        self.triangles = np.concatenate([faces + start for faces, start in zip(triangles, starts, strict=False)])
        self.tints = tints
        own = [
            overlap.vertices_inside(v, faces) + start
            for (v, _), faces, start in zip(rest, triangles, starts, strict=False)
        ]
        self.own = np.concatenate(own)

    def overlapping_vertices(self, posed: list[np.ndarray]) -> np.ndarray:
        """Returns the vertices in other flesh, numbered over all bodies."""
        return np.setdiff1d(overlap.vertices_inside(np.concatenate(posed), self.triangles), self.own)

    def view(self, posed: list[np.ndarray], view: raster.View, middle, half: float, side: int) -> np.ndarray:
        """Draws the bodies from outside."""
        tints = np.concatenate([np.tile(tint, (len(p), 1)) for p, tint in zip(posed, self.tints, strict=True)])
        tints[self.overlapping_vertices(posed)] = THROUGH
        points = np.concatenate(posed)
        return raster.draw(points, self.triangles, tints, view, np.asarray(middle), half, side)

    def section(self, posed: list[np.ndarray], right, up, middle, half: float, side: int) -> np.ndarray:
        """Draws the section along the plane of two directions through `middle`, with dark outlines."""
        import thew

        fine = side * raster.FINER
        place = half * ((np.arange(fine) + 0.5) / fine * 2.0 - 1.0)
        x, y = np.meshgrid(place, -place, indexing="xy")
        # Slightly beside the plane: a symmetric mesh has vertices in it.
        points = np.asarray(middle) + np.outer(x.ravel(), right) + np.outer(y.ravel(), up) + 1e-4 * np.cross(right, up)
        times = [
            np.rint(thew.Surface(np.ascontiguousarray(p, np.float64), faces).winding_number(points)).astype(int)
            for p, faces in zip(posed, self.cut, strict=True)
        ]
        colours = np.tile(np.array(raster.PAPER, float), (len(points), 1))
        for often, tint in zip(times, self.tints, strict=True):
            colours[often > 0] = tint
        colours[np.sum(np.maximum(times, 0), axis=0) > 1] = THROUGH
        for grid in np.reshape(times, (-1, fine, fine)):
            line = (grid != np.roll(grid, 1, axis=0)) | (grid != np.roll(grid, 1, axis=1))
            line[0] = line[:, 0] = False
            colours[line.ravel()] *= 0.35
        picture = colours.reshape(side, raster.FINER, side, raster.FINER, 3).mean(axis=(1, 3))
        return np.clip(picture, 0, 255).astype(np.uint8)


def save(rows: list[list[np.ndarray]], file: Path) -> None:
    """Writes pictures in rows as a PNG of few colours."""
    for picture in (picture for row in rows for picture in row):
        picture[:, -1] = picture[-1, :] = (208, 212, 218)
    picture = np.concatenate([np.concatenate(row, axis=1) for row in rows])
    raster.save(picture & 0xF8, file)
    print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB, {picture.shape[1]} x {picture.shape[0]}", flush=True)


def plain_skin(poses: np.ndarray, rest: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the plain skin in one pose [b, 4, 4], [n, 3]."""
    each = np.einsum("nb,bij->nij", weights, poses)
    return np.einsum("nij,nj->ni", each[:, :3, :3], rest) + each[:, :3, 3]


# our own biped -------------------------------------------------------------------------------------------------------


def bodo() -> tuple[characters.Figure, characters.Skin, int, Character]:
    """Returns the fattest of our characters: (figure, skin, number of vertices before the eyes, flesh as the extension makes it)."""
    figure = characters.FIGURES["biped"]()
    skin = characters.skin(figure)
    names = [bone.name for bone in figure.bones]
    parents = np.array([names.index(bone.parent) if bone.parent else -1 for bone in figure.bones])
    heads, tails = (np.array([getattr(bone, end) for bone in figure.bones]) for end in ("head", "tail"))
    mesh = skin.vertices, skin.triangles(), np.zeros((0, 2), int)
    recording = Recording("biped", "Bodo", *mesh, names, parents, heads, tails, skin.weights, FPS)
    eyes = sum(len(eyeball(eye)[0]) for eye in figure.eyes)
    return figure, skin, len(skin.vertices) - eyes, Character(recording)


def maps(pose: Pose) -> np.ndarray:
    """Returns the pose as the core takes it, [b, 4, 4]."""
    return np.array([pose.map(bone.name) for bone in pose.figure.bones])


def aim(pose: Pose, bone: str, direction, part: float) -> None:
    """Turns a bone the shortest way towards a direction, the figure facing -Y. With `part` 0 the bone just follows its parent."""
    rest = pose.figure.bone(bone)
    now = pose.rotation(rest.parent) @ (np.array(rest.tail) - rest.head)
    now /= np.linalg.norm(now)
    goal = (1.0 - part) * now + part * np.asarray(direction) / np.linalg.norm(direction)
    goal /= np.linalg.norm(goal)
    across = np.cross(now, goal)
    cross = np.array([[0, -across[2], across[1]], [across[2], 0, -across[0]], [-across[1], across[0], 0]])
    pose.rotations[bone] = (np.eye(3) + cross + cross @ cross / (1.0 + now @ goal)) @ pose.rotation(rest.parent)


def squat_pose(figure: characters.Figure, part: float) -> np.ndarray:
    """Returns the pose between standing (`part` 0) and hips and knees bent by 110 degrees (1), with fixed ankles."""

    def pose_at(offset) -> Pose:
        pose = Pose(figure, offset, turn(30.0 * part))
        pose.turn("head", -20.0 * part)
        for side, sign in (("L", 1.0), ("R", -1.0)):
            pose.turn(f"thigh.{side}", -110.0 * part)
            pose.turn(f"shin.{side}", 110.0 * part)
            pose.turn(f"foot.{side}", -30.0 * part)
            aim(pose, f"upperarm.{side}", (sign * 0.5, -0.85, 0.1), part)
        return pose

    ankle = np.array(figure.bone("foot.L").head)
    return maps(pose_at((ankle - pose_at(np.zeros(3)).head("foot.L")) * [0.0, 1.0, 1.0]))


def squat(output: Path, side: int = 280) -> None:
    import thew

    figure, skin, cut, character = bodo()
    poses = np.array([squat_pose(figure, smooth(frame / 30)) for frame in range(43)])
    plain = plain_skin(poses[-1], skin.vertices, skin.weights)
    ways = [("skin", plain, 0)]
    for name, contact in (("free", None), ("contact", thew.Contact())):
        clip = thew.simulate(character.body, poses, FPS, contact=contact, **character.motion)
        ways.append((name, plain + clip.offsets(len(poses) - 1), clip.inverted_cells[-1]))
    # Belly, thighs and knees; the cut is through the middle of the left thigh.
    middle = np.array([0.135, 0.02, 0.34])
    rows: list[list[np.ndarray]] = [[], []]
    for name, points, inverted in ways:
        seen = Bodies([(skin.vertices, skin.triangles())], [GREY if name == "skin" else FLESH], cut)
        print(
            f"squat, {name}: {len(seen.overlapping_vertices([points]))} vertices in other flesh, {inverted} cells inverted"
        )
        rows[0].append(seen.view([points], raster.View(1.2, 0.0), middle, 0.46, side))
        rows[1].append(seen.section([points], ALONG_Y, ALONG_Z, middle, 0.46, side))
        raster.write(rows[0][-1], name, 6, 6)
    raster.write(rows[1][0], "cut through a thigh", 6, 6)
    save(rows, output / "contact-squat.png")


def bench(output: Path, side: int = 340) -> None:
    """Draws the biped on a bench, 5 cm deeper than his bones would sit, without and with the bench as a collider."""
    import thew

    figure, skin, cut, character = bodo()
    poses = np.array([squat_pose(figure, 0.8 * smooth(frame / 30)) for frame in range(43)])
    plain = plain_skin(poses[-1], skin.vertices, skin.weights)
    seated = skin.weights[:, [bone.name for bone in figure.bones].index("hips")] > 0.5
    half, top = np.array([0.3, 0.17, 0.11]), plain[seated][:, 2].min() + 0.05
    vertices, triangles = shapes.box(half)
    triangles = triangles if np.linalg.det(vertices[triangles]).sum() > 0.0 else triangles[:, ::-1]
    vertices = vertices + [0.0, np.median(plain[seated][:, 1]) + 0.03, top - half[2]]
    seat = thew.Collider(thew.Surface(vertices, triangles))
    rows: list[list[np.ndarray]] = [[], []]
    for name, colliders in (("free", None), ("bench", [seat])):
        motion = {**character.motion, "elastic_joints": 1.0}
        clip = thew.simulate(character.body, poses, FPS, contact=thew.Contact(), colliders=colliders, **motion)
        posed = [plain + clip.offsets(len(poses) - 1), vertices]
        seen = Bodies(
            [(skin.vertices, skin.triangles()), (vertices + [0.0, 9.0, 0.0], triangles)], [FLESH, SECOND], cut
        )
        print(f"bench, {name}: {len(seen.overlapping_vertices(posed))} vertices in other flesh or the bench")
        middle = np.array([0.0, 0.05, top + 0.12])
        rows[0].append(seen.view(posed, raster.View(-2.2, 0.25), middle, 0.42, side))
        rows[1].append(seen.section(posed, ALONG_X, ALONG_Z, middle + [0.0, 0.06, 0.0], 0.42, side))
        raster.write(rows[0][-1], name, 6, 6)
    raster.write(rows[1][0], "cut across", 6, 6)
    save(rows, output / "contact-bench.png")


def hug_pose(figure: characters.Figure, part: float, near: float) -> np.ndarray:
    """Returns the pose between spread arms (`part` 0) and a hug of another one `near` metres ahead (1).

    The left arm is high, the right one low.
    """
    pose = Pose(figure, np.array([0.0, 0.5 * (near + 0.5 * (1.0 - smooth(part))), 0.0]), np.eye(3))
    pose.turn("spine", 4.0 * part)
    pose.turn("head", 0.0, 0.0, -25.0 * part)
    open_, close = min(2.0 * part, 1.0), max(2.0 * part - 1.0, 0.0)
    arms = {
        "L": [("upperarm", (0.75, -0.65, 0.25), (0.28, -0.94, 0.0)), ("forearm", (0.4, -0.9, 0.1), (-0.12, -0.98, -0.12)),
              ("hand", (0.2, -0.97, 0.0), (-0.5, -0.8, -0.3))],
        "R": [("upperarm", (-0.8, -0.5, -0.45), (-0.4, -0.75, -0.5)), ("forearm", (-0.5, -0.85, -0.1), (0.1, -0.98, -0.15)),
              ("hand", (-0.3, -0.95, 0.0), (0.5, -0.85, -0.1))],
    }  # fmt: skip
    for side, bones in arms.items():
        for bone, spread, around in bones:
            goal = (1.0 - close) * np.array(spread) + close * np.array(around)
            aim(pose, f"{bone}.{side}", goal, open_)
    return maps(pose)


def hug(output: Path, near: float = 0.64, side: int = 300) -> None:
    import thew

    figure, skin, cut, character = bodo()
    one = np.array([hug_pose(figure, min(frame / 30, 1.0), near) for frame in range(43)])
    poses = [one, shapes.turn_about([0.0, 0.0, np.pi]) @ one]
    plain = [plain_skin(run[-1], skin.vertices, skin.weights) for run in poses]
    seen = Bodies([(skin.vertices + [0.0, y, 0.0], skin.triangles()) for y in (0.0, 9.0)], [FLESH, SECOND], cut)
    alone = [thew.simulate(character.body, run, FPS, **character.motion) for run in poses]
    together = thew.simulate_scene([character.body] * 2, poses, FPS, contact=thew.Contact(), **character.motion)
    last = len(one) - 1
    rows: list[list[np.ndarray]] = [[], []]
    for name, clips in (("alone", alone), ("together", together)):
        posed = [skin_ + clip.offsets(last) for skin_, clip in zip(plain, clips, strict=True)]
        inverted = [int(clip.inverted_cells[last]) for clip in clips]
        print(
            f"hug, {name}: {len(seen.overlapping_vertices(posed))} vertices in other flesh, {inverted} cells inverted"
        )
        rows[0].append(seen.view(posed, raster.View(1.15, 0.3), (0.0, 0.0, 1.0), 0.56, side))
        rows[1].append(seen.section(posed, ALONG_Y, ALONG_Z, (0.0, 0.0, 1.0), 0.56, side))
        raster.write(rows[0][-1], name, 6, 6)
    raster.write(rows[1][0], "cut in the middle", 6, 6)
    save(rows, output / "contact-hug.png")


# shapes --------------------------------------------------------------------------------------------------------------


def flesh(vertices: np.ndarray, triangles: np.ndarray, bones: tuple, weights: np.ndarray, cells: int):
    """Returns a thew.Body around `bones`: (names, parents, heads, tails)."""
    import thew

    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*bones)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=cells)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


def elbow(output: Path, side: int = 210) -> None:
    """Draws the capsule of `benches/python_creases.py`, bent by 4 degrees a frame and held."""
    import thew

    vertices, triangles = shapes.arm(segments=32, rings=100, radius=0.12)
    weights = shapes.arm_weights(vertices)
    body = flesh(vertices, triangles, shapes.arm_bones(), weights, 14)
    seen, rows = Bodies([(vertices, triangles)], [FLESH]), []
    for degrees in (120.0, 136.0, 148.0):
        poses = np.stack([shapes.bend(np.radians(a)) for a in [*np.arange(0.0, degrees, 4.0), *[degrees] * 8]])
        rows.append([])
        for joints in (1.0, 0.0):
            for name, contact in (("free", None), ("contact", thew.Contact())):
                clip = thew.simulate(body, poses, FPS, contact=contact, gravity=STILL, elastic_joints=joints)
                posed = [plain_skin(poses[-1], vertices, weights) + clip.offsets(len(poses) - 1)]
                count = len(seen.overlapping_vertices(posed))
                print(f"elbow {degrees:.0f}, joints {joints:.0f}, {name}: {count} vertices in other flesh, "
                      f"{clip.inverted_cells[-1]} cells inverted")  # fmt: skip
                rows[-1].append(seen.section(posed, ALONG_X, ALONG_Z, (0.42, 0.0, -0.1), 0.27, side))
                raster.write(rows[-1][-1], f"{name}, joints {joints:.0f}", 6, 6)
        raster.write(rows[-1][0], f"{degrees:.0f}", side - 16, 6)
    save(rows, output / "contact-elbow.png")


def balls(output: Path, side: int = 230) -> None:
    """Draws two balls whose middles approach each other and are held: in section, and from the side."""
    import thew

    vertices, triangles = shapes.ball()
    core = ["core"], [-1], [[0.0, -0.02, 0.0]], [[0.0, 0.02, 0.0]]
    body = flesh(vertices, triangles, core, np.ones((len(vertices), 1)), 8)
    seen = Bodies([(vertices, triangles), (vertices + [1.0, 0.0, 0.0], triangles)], [FLESH, SECOND])
    scene = thew.Scene([body, body], contact=thew.Contact(), gravity=STILL)
    apart = 0.42
    place = lambda x: shapes.turn_about(np.zeros(3), shift=(x, 0.0, 0.0))[None]  # noqa: E731
    scene.reset([place(-apart / 2), place(apart / 2)])
    rows: list[list[np.ndarray]] = [[], [], []]
    for goal in (0.37, 0.32, 0.27):
        for x in [*np.linspace(apart, goal, 13)[1:], *[goal] * 12]:
            scene.advance([place(-x / 2), place(x / 2)], 1.0 / FPS)
        apart = goal
        # Without contact a ball follows its bone.
        free = [vertices + [x, 0.0, 0.0] for x in (-apart / 2, apart / 2)]
        touching = [scene.positions(of).astype(np.float64) for of in (0, 1)]
        for row, (name, posed) in enumerate((("alone", free), ("together", touching))):
            print(f"balls {goal:.2f} m apart, {name}: {len(seen.overlapping_vertices(posed))} vertices in other flesh")
            rows[row].append(seen.section(posed, ALONG_X, ALONG_Z, STILL, 0.42, side))
            raster.write(rows[row][-1], f"{name}, {100 * goal:.0f} cm", 6, 6)
        rows[2].append(seen.view(touching, raster.View(0.0, 0.5), STILL, 0.42, side))
    save(rows, output / "contact-balls.png")


PICTURES = {"squat": squat, "bench": bench, "elbow": elbow, "balls": balls, "hug": hug}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=list(PICTURES))
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    for name in options.only:
        PICTURES[name](options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
