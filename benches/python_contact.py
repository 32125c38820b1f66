# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flesh that touches itself and the scene, against the same flesh without contact, measured on the posed surface alone.

Without arguments: an elbow and a limb on a floor, shapes of our own. With recordings of characters, written by
`blender_look.py --record FOLDER`, their liveliest clips too, at the extension's defaults:

    python benches/python_contact.py [--recordings FOLDER] [--only NAME ...] [--clips N] [--frames N] [--sheets FOLDER] [--method modal]

Prints the tables of `docs/methods/contact.md`. Lengths are per cent of the size, the diagonal of the box around the
skin at rest. Overlaps of the sculpt at rest are omitted; overlaps of the plain skin in the same frame are listed
separately ("skin's own"). Times: every frame is simulated in turns without and with contact, and the least of its times counts.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import thew

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "python"))

import shapes  # noqa: E402
from python_creases import arm  # noqa: E402

from demo.look import beside, overlap  # noqa: E402
from demo.look.recording import Clip, Recording  # noqa: E402
from demo.look.simulating import Character  # noqa: E402

FRAME = 1.0 / 24.0
TURNS = 2
"""Number of times that each frame is timed without and with contact."""
DEEP, SLOWER_IDLE, SLOWER, SLOW = 0.2, 1.2, 4.0, 60.0
"""Goals: largest depth, per cent of the size; largest time ratio of clips without and with contacts; ms a frame."""
ELBOWS, JOINTS = (120.0, 136.0, 148.0), (1.0, 0.0)
FLOORS = (0.02, 0.05)
"""Penetration depths of the floor in the limb, metres."""
PARTS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Growing parts of the limb that touch the floor."""
WALK = 250
"""Number of frames of a long clip."""


@dataclass
class Way:
    """One clip, without contact or with it."""

    through: list[int] = field(default_factory=list)
    """Number of vertices in other flesh, per frame."""
    new: list[int] = field(default_factory=list)
    """Number of these that are not the skin's own, per frame."""
    depths: list[float] = field(default_factory=list)
    """Depth of the deepest new vertex, per cent, per frame."""
    deepest: list[int] = field(default_factory=list)
    """Index of that vertex, or -1, per frame."""
    own_depths: list[float] = field(default_factory=list)
    """Depth of the deepest vertex of the skin's own, per cent, per frame."""
    inverted: int = 0
    jump: float = 0.0
    """Jump as in `demo.look.measures`, per cent in 1/24 s."""
    shake: float = 0.0
    """Largest second difference of the offsets, per cent."""
    faults: list[str] = field(default_factory=list)
    ms: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Time of each frame, ms."""

    def add(self, found: overlap.Overlap, own: np.ndarray, size: float) -> None:
        new, depth, vertex = found.deepest_vertex(own)
        self.through.append(len(found.vertices))
        self.new.append(new)
        self.depths.append(100.0 * depth / size)
        self.deepest.append(vertex)
        self.own_depths.append(100.0 * found.deepest_of(own)[1] / size)

    @property
    def slowest(self) -> float:
        return float(self.ms.max())

    @property
    def mean(self) -> float:
        return float(self.ms.mean())


def time_frames(body: thew.Body, poses: np.ndarray, contacts: list, fps: float, **settings) -> list[np.ndarray]:
    """Returns the least milliseconds of every frame for each of `contacts`, in turns, without the settling before.

    The method modal includes the time of showing it, in which the parting runs.
    """
    least = [np.full(len(poses) - 1, np.inf) for _ in contacts]
    for _ in range(TURNS):
        simulations = [thew.Simulation(body, contact=contact, **settings) for contact in contacts]
        for simulation in simulations:
            simulation.reset(poses[0])
        for frame, pose in enumerate(poses[1:]):
            for simulation, ms in zip(simulations, least, strict=True):
                start = time.perf_counter()
                simulation.advance(pose, 1.0 / fps)
                if settings.get("method") == "modal":
                    simulation.positions()
                ms[frame] = min(ms[frame], 1e3 * (time.perf_counter() - start))
    return least


def shake(offsets: np.ndarray, size: float, fps: float) -> float:
    """Returns the largest second difference of offsets [f, n, 3] from the skin, per cent of the size."""
    second = np.linalg.norm(np.diff(offsets, n=2, axis=0), axis=2)
    return 100.0 * float(second.max(initial=0.0)) / size * (fps / 24.0) ** 2


# shapes of our own ---------------------------------------------------------------------------------------------------


def elbows(body: thew.Body, method: str) -> None:
    """Measures the elbow bent by 4 degrees a frame and held, with full elastic joints and with the skin's own bend."""
    size, shape = body.surface.size, overlap.Shape(body.surface.vertices, body.surface.triangles)
    print("| elbow, elastic joints | vertices in other flesh: skin, free, contact | deepest %: free, contact | jump %: free, contact "
          "| inverted cells: free, contact | contacts | free ms | contact ms | ratio |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for joints in JOINTS if method != "modal" else (0.0,):
        for degrees in ELBOWS:
            angles = np.radians([*np.arange(0.0, degrees, 4.0), *[degrees] * 8])
            poses, settings = (
                np.stack([shapes.bend(a) for a in angles]),
                {"gravity": (0, 0, 0), "elastic_joints": joints, "method": method},
            )
            clips = [thew.simulate(body, poses, 24.0, contact=c, **settings) for c in (None, thew.Contact())]
            skin = plain_skin(body, poses)
            found = [shape.overlap(p) for p in (skin[-1], *(c.positions(len(c)) for c in clips))]
            jumps = [jump(np.asarray(c, float) - skin, size) for c in clips]
            ms = [float(t.mean()) for t in time_frames(body, poses, [None, thew.Contact()], 24.0, **settings)]
            deep = [100.0 * f.deepest_vertex()[1] / size for f in found]
            print(f"| {degrees:.0f}°, {joints:.0f} | {', '.join(str(len(f.vertices)) for f in found)} | {deep[1]:.2f}, {deep[2]:.2f} "
                  f"| {jumps[0]:.2f}, {jumps[1]:.2f} | {clips[0].inverted_cells[-1]}, {clips[1].inverted_cells[-1]} "
                  f"| {len(clips[1].contacts(len(poses) - 1))} | {ms[0]:.1f} | {ms[1]:.1f} | {ms[1] / ms[0]:.2f} |", flush=True)  # fmt: skip
    print()


def floors(body: thew.Body, method: str) -> None:
    """Measures the limb lowered flat onto a floor, left there, and pushed along."""
    size = body.surface.size
    print("| limb on a floor | vertices below it: free, contact | deepest %: free, contact | jump %: free, contact "
          "| inverted cells: free, contact | contacts | free ms | contact ms | ratio |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for sunk in FLOORS:
        floor = thew.Collider.plane((0.0, 0.0, sunk - 0.12), (0.0, 0.0, 1.0))
        down, along = np.linspace(0.1, 0.0, 13), np.linspace(0.0, 0.2, 13)
        places = [(0.0, z) for z in [*down, *[0.0] * 8]] + [(y, 0.0) for y in along]
        poses = np.stack([[shapes.turn_about([0, 0, 0], shift=(0.0, y, z))] * 2 for y, z in places])
        settings = {"gravity": (0, 0, 0), "method": method}
        ways = ({}, {"contact": thew.Contact(), "colliders": [floor]})
        clips = [thew.simulate(body, poses, 24.0, **way, **settings) for way in ways]
        skin = plain_skin(body, poses)
        below, deep = [], []
        for clip in clips:
            depths = sunk - 0.12 - np.asarray(clip, float)[..., 2]
            below.append(int((depths > overlap.STEP * size).sum(axis=1).max()))
            deep.append(100.0 * max(float(depths.max()), 0.0) / size)
        jumps = [jump(np.asarray(c, float) - skin, size) for c in clips]
        ms = [float(time_frames(body, poses, [way.get("contact")], 24.0, **{k: v for k, v in way.items() if k != "contact"}, **settings)[0].mean())
              for way in ways]  # fmt: skip
        most = max(len(clips[1].contacts(f)) for f in range(len(poses)))
        print(f"| {100.0 * sunk:.0f} cm deep | {below[0]}, {below[1]} | {deep[0]:.2f}, {deep[1]:.2f} | {jumps[0]:.2f}, {jumps[1]:.2f} "
              f"| {clips[0].inverted_cells.max()}, {clips[1].inverted_cells.max()} | {most} | {ms[0]:.1f} | {ms[1]:.1f} "
              f"| {ms[1] / ms[0]:.2f} |", flush=True)  # fmt: skip
    print()


def growth(body: thew.Body) -> None:
    """Measures the cost of more contacts: ever more of the limb touches a floor on which it is pushed along."""
    poses = np.stack([[shapes.turn_about([0, 0, 0], shift=(0.0, 0.02 * i, 0.0))] * 2 for i in range(9)])
    way = {"gravity": (0, 0, 0), "colliders": [thew.Collider.plane((0.0, 0.0, 0.01 - 0.12), (0.0, 0.0, 1.0))]}
    free = float(time_frames(body, poses, [None], 24.0, gravity=(0, 0, 0))[0].mean())
    rest = np.asarray(body.surface.vertices)
    along = rest[:, np.ptp(rest, axis=0).argmax()]
    print(
        "| part of the limb that may touch | contacts, mean | ms a frame | of these by contact | the same for each contact |"
    )
    print("|---|---|---|---|---|")
    for part in PARTS:
        contact = thew.Contact(regions=(along <= along.min() + part * np.ptp(along)).astype(np.int32))
        clip = thew.simulate(body, poses, 24.0, contact=contact, **way)
        count = float(np.mean([len(clip.contacts(f)) for f in range(1, len(poses))]))
        ms = float(time_frames(body, poses, [contact], 24.0, **way)[0].mean())
        more = ms - free
        print(f"| {part:.2f} | {count:.0f} | {ms:.1f} | {more:.1f} | {more / max(count, 1.0):.3f} |", flush=True)
    print()


def walk(body: thew.Body) -> None:
    """Measures a long clip as a whole: the elbow swings as in a walk, and touches itself where it is bent most."""
    angles = np.radians(70.0 - 60.0 * np.cos(2.0 * np.pi * np.arange(WALK + 1) / 24.0))
    poses = np.stack([shapes.bend(a) for a in angles])
    settings = {"gravity": (0, 0, 0)}
    contact = thew.Contact()
    clip = thew.simulate(body, poses, 24.0, contact=contact, **settings)
    free, touching = (float(ms.sum()) for ms in time_frames(body, poses, [None, contact], 24.0, **settings))
    count = np.mean([len(clip.contacts(f)) for f in range(len(poses))])
    print(f"{WALK} frames: {free:.0f} ms free, {touching:.0f} ms with contact ({touching / free:.2f} times), {count:.1f} contacts a frame\n", flush=True)  # fmt: skip


def plain_skin(body: thew.Body, poses: np.ndarray) -> np.ndarray:
    """Returns the plain skin, [f, n, 3]."""
    rest = np.asarray(body.surface.vertices)
    weights = shapes.arm_weights(rest)
    each = np.einsum("fbij,nj->fbni", poses[:, :, :3, :3], rest) + poses[:, :, None, :3, 3]
    return np.einsum("fbni,nb->fni", each, weights)


def jump(offsets: np.ndarray, size: float) -> float:
    """Returns the largest step of offsets [f, n, 3] from the skin, per cent of the size."""
    return 100.0 * float(np.linalg.norm(np.diff(offsets, axis=0), axis=2).max()) / size


# recordings ----------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One clip in both ways."""

    character: str
    mesh: str
    clip: str
    skin: Way
    """Overlaps of the plain skin."""
    free: Way
    touching: Way
    contacts: list[int]

    @property
    def ratio(self) -> float:
        return self.touching.mean / self.free.mean

    def misses(self) -> list[str]:
        """Returns the names of the goals that are missed."""
        idle = not any(self.contacts)
        held = {
            "deep": max(self.touching.depths) <= DEEP,
            "jump": round(self.touching.jump, 2) <= round(self.free.jump, 2),
            "slow": self.ratio <= (SLOWER_IDLE if idle else SLOWER) and (idle or self.touching.mean <= SLOW),
        }
        new = [f"{fault} (new)" for fault in self.touching.faults if fault not in self.free.faults]
        return [name for name, holds in held.items() if not holds] + new

    def line(self) -> str:
        a, b = self.free, self.touching
        return (
            f"| {self.character} | {self.mesh} | {self.clip.replace('|', '/')} "
            f"| {max(self.skin.through)}, {max(a.through)}, {max(b.through)} | {max(a.new)}, {max(b.new)} "
            f"| {max(a.depths):.2f}, {max(b.depths):.2f} | {max(self.skin.own_depths):.1f}, {max(a.own_depths):.1f}, {max(b.own_depths):.1f} "
            f"| {a.jump:.2f}, {b.jump:.2f} | {a.shake:.2f}, {b.shake:.2f} | {a.inverted}, {b.inverted} "
            f"| {np.mean(self.contacts):.1f} | {a.mean:.1f} | {b.mean:.1f} | {self.ratio:.2f} | {b.slowest:.0f} "
            f"| {', '.join(self.misses()) or '–'} |"
        )


HEAD = (
    "| character | mesh | clip | in other flesh: skin, free, contact | not the skin's own: free, contact | deepest of these %: free, contact "
    "| deepest of the skin's own %: skin, free, contact | jump %: free, contact | shake %: free, contact | inverted cells: free, contact "
    "| contacts, mean | free ms | contact ms | ratio | slowest ms | misses |"
)


def characters(options: argparse.Namespace) -> None:
    """Measures every recording's clips."""
    print(f"{HEAD}\n{'|---' * (HEAD.count('|') - 1)}|", flush=True)
    rows = []
    for file in sorted(options.recordings.glob("*.npz")):
        if options.only and not any(part.lower() in file.stem.lower() for part in options.only):
            continue
        recording = Recording.load(file)
        character, frames = Character(recording, {"method": options.method}), []
        shape = overlap.Shape(recording.rest, recording.triangles)
        for clip in recording.clips[: options.clips]:
            clip = Clip(clip.name, clip.maps[: options.frames + 1], clip.skin[: options.frames + 1])
            made, seen = measure(character, shape, clip)
            rows.append(made)
            frames += seen
            print(made.line(), flush=True)
        if options.sheets:
            beside.draw(frames, shape.triangles, recording.size, options.sheets / f"{file.stem}.png", options.side)
    summary(rows)


SUMMARY = (
    "| character | mesh | clips | vertices in other flesh: skin, free, contact | not the skin's own: free, contact | deepest of these %: free, contact "
    "| jump % | shake % | inverted cells | contacts, mean | free ms | contact ms | ratio | misses |"
)


def summary(rows: list[Row]) -> None:
    """Prints the largest numbers over each mesh's clips, free and with contact, and how often each goal is missed."""
    print(f"\n{SUMMARY}\n{'|---' * (SUMMARY.count('|') - 1)}|")
    for of in dict.fromkeys((row.character, row.mesh) for row in rows):
        some = [row for row in rows if (row.character, row.mesh) == of]

        def worst(value, form: str, some: list[Row] = some) -> str:
            return ", ".join(
                f"{max(value(way) for way in ways):{form}}"
                for ways in zip(*[(r.free, r.touching) for r in some], strict=True)
            )

        misses = dict.fromkeys(miss for row in some for miss in row.misses())
        print(
            f"| {of[0]} | {of[1]} | {len(some)} | {max(max(r.skin.through) for r in some)}, {worst(lambda w: max(w.through), '')} "
            f"| {worst(lambda w: max(w.new), '')} | {worst(lambda w: max(w.depths), '.2f')} | {worst(lambda w: w.jump, '.2f')} "
            f"| {worst(lambda w: w.shake, '.2f')} | {worst(lambda w: w.inverted, '')} | {max(np.mean(r.contacts) for r in some):.1f} "
            f"| {max(r.free.mean for r in some):.1f} | {max(r.touching.mean for r in some):.1f} | {max(r.ratio for r in some):.2f} "
            f"| {', '.join(misses) or '–'} |"
        )
    missed = [miss for row in rows for miss in row.misses()]
    often = ", ".join(f"{name} {missed.count(name)}" for name in sorted(set(missed)))
    print(
        f"\n{sum(not row.misses() for row in rows)} of {len(rows)} clips hold all that is asked. Misses: {often or 'none'}."
    )


def measure(character: Character, shape: overlap.Shape, clip: Clip) -> tuple[Row, list[beside.Frame]]:
    """Measures one clip in both ways. Returns its row and the frames worth looking at."""
    recording, size, fps = character.recording, character.recording.size, character.recording.fps
    ways, shown, contacts = (Way(), Way()), [], []
    for way, contact in zip(ways, (None, thew.Contact()), strict=True):
        made, points, at = character.simulate(clip, contact=contact)
        shown.append(points)
        contacts = [len(made.contacts(f)) for f in at]
        look = recording.look(clip, points)
        way.inverted, way.jump, way.faults = int(made.inverted_cells.max()), 100.0 * look.jump, look.faults()
        way.shake = shake(points - clip.shown, size, fps)
    for way, ms in zip(
        ways, time_frames(character.body, clip.maps[:-1], [None, thew.Contact()], fps, **character.motion), strict=True
    ):
        way.ms = ms
    plain = Way()
    for frame, skin in enumerate(clip.shown):
        found = shape.overlap(skin)
        plain.add(found, found.vertices, size)
        for way, points in zip(ways, shown, strict=True):
            way.add(shape.overlap(points[frame]), found.vertices, size)
    row = Row(recording.character, recording.mesh, clip.name, plain, *ways, contacts)
    return row, notable_frames(row, clip, shown)


def notable_frames(row: Row, clip: Clip, shown: list[np.ndarray]) -> list[beside.Frame]:
    """Returns the frames with most contacts, the largest effect of contact, the deepest overlap, and the largest shake."""
    free, touching = shown
    apart = np.linalg.norm(touching - free, axis=2)
    shakes = np.linalg.norm(np.diff(touching - free, n=2, axis=0), axis=2)
    chosen = {"whole": (int(np.argmax(row.contacts)), None), "most": np.unravel_index(apart.argmax(), apart.shape)}
    deepest = int(np.argmax(row.touching.depths))
    if row.touching.depths[deepest] > 0.0:
        chosen["deep"] = (deepest, row.touching.deepest[deepest])
    if len(shakes):
        frame, vertex = np.unravel_index(shakes.argmax(), shakes.shape)
        chosen["shake"] = (int(frame) + 1, int(vertex))
    frames = []
    for name, (frame, vertex) in chosen.items():
        near = np.zeros(0, int)
        if vertex is not None:
            away = np.linalg.norm(clip.shown[frame] - clip.shown[frame][vertex], axis=1)
            near = np.flatnonzero(away < 0.05 * np.linalg.norm(np.ptp(clip.shown[0], axis=0)))
        ways = (clip.shown[frame], free[frame], touching[frame])
        frames.append(beside.Frame(f"{re.sub('.*[|]', '', row.clip)} {frame} {name}", ways, near))
    return frames


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=Path, help="what blender_look.py --record wrote")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of recordings")
    parser.add_argument("--clips", type=int, default=3, help="the liveliest ones of each character")
    parser.add_argument("--frames", type=int, default=60, help="the first ones of each clip")
    parser.add_argument("--sheets", type=Path, help="write pictures of skin, free and contact into this folder")
    parser.add_argument("--side", type=int, default=240, help="pixels of one picture on a sheet")
    parser.add_argument("--method", default="hyperelastic", help="of motion")
    options = parser.parse_args()
    if options.sheets:
        options.sheets.mkdir(parents=True, exist_ok=True)
    if not options.only:
        body = arm()
        elbows(body, options.method)
        floors(body, options.method)
        growth(body)
        walk(body)
    if options.recordings:
        characters(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
