# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures the swing of the default method's flesh against exact flesh (`neohookean`), on an arm whose bones are moved.

It varies how hard the bones stop, the size of the arm, the frame rate and the speed of a whirl. It also measures the
cost of a frame, on finer and finer lattices too.

    python benches/python_motion.py [TABLE ...]     of stops, sizes, rates, whirls, costs, lattices; all take a few minutes

Every table states the goal of the default method and whether it is met. Cells where exact flesh fails are left blank.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import thew

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

import shapes

DEFAULT, EXACT = "hyperelastic", "neohookean"
RATE = 240.0
MASS_DAMPING, STIFFNESS_DAMPING = 2.0, 0.004
"""Damping of an arm of a metre, 1/s and s, for the comparison of sizes. The package's default damping is unsuitable: it limits
every swing to a second and a quarter, and a giant's lasts longer."""
STILL = {"gravity": (0.0, 0.0, 0.0)}
SPEEDS = (0.3, 0.8, 1.2, 2.0, 3.0, 8.0, 12.0)
WITHIN = {0.3: 0.2, 0.8: 0.2, 1.2: 0.2, 2.0: 0.35}
"""Largest relative difference from exact flesh, by the speed at which bones stop, m/s. At higher speeds the sway must not fall."""
SIZES, OF_SIZES, SAME_OVER_SIZES = (10.0, 1.0, 0.1), (0.3, 0.8, 1.2), 0.05
FRAMES, SAME_OVER_FRAMES, OF_EXACT = (24.0, 30.0, 60.0), 0.03, 1.5
NTSC, SAME_AS_NTSC = 24.0 / 1.001, 0.002
TURNS = (1.0, 2.0, 4.0, 8.0)
COSTS = 1.5
"""Largest cost over warped flesh, relative to its cost before the drag was dropped: 6.6 ms a frame against 4.2."""
WAS_OVER_WARPED = 6.6 / 4.2
LATTICES = (12, 18, 26, 36, 46)
"""Numbers of cells across the arm."""
POWER, FINEST, SAME_MOTION = 1.3, 100.0, 1e-4
"""Largest exponent of the growth of a frame's cost with the nodes; largest ms a frame at 5,000 nodes; largest difference between
the motions by iterations and by factors, as a share of the size."""


@dataclass(frozen=True)
class Arm:
    """A capsule of flesh, a metre long between its caps and 12 cm in radius, at `scale` 1."""

    young: float = 20e3
    scale: float = 1.0
    cells: int = 10

    def body(self) -> thew.Body:
        vertices, triangles = shapes.arm(segments=20, rings=40, radius=0.12)
        weights = shapes.arm_weights(vertices)
        names, parents, heads, tails = shapes.arm_bones()
        surface = thew.Surface(vertices * self.scale, triangles)
        skeleton = thew.Skeleton(names, parents, heads * self.scale, tails * self.scale)
        lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=self.cells)
        # Waves scale by the Froude number: stiffness grows with the size.
        material = thew.Material(young=self.young * self.scale, density=1000.0)
        flesh = np.ones(len(vertices))
        return thew.Body(surface, skeleton, lattice, material, region_weights=weights, flesh=flesh)

    @property
    def seconds(self) -> float:
        """Time scale relative to an arm of a metre."""
        return float(np.sqrt(self.scale))

    def settings(self) -> dict:
        """Returns settings of `thew.Simulation` for which the motion scales with the size, apart from damping."""
        return {"rate": max(RATE, RATE / self.seconds), **STILL}

    def damping(self) -> dict:
        """Returns damping that scales with the size."""
        return {"mass_damping": MASS_DAMPING / self.seconds, "stiffness_damping": STIFFNESS_DAMPING * self.seconds}


def main() -> int:
    chosen = sys.argv[1:] or list(TABLES)
    for name in chosen:
        if name not in TABLES:
            print(f"{name} is no table: give some of {', '.join(TABLES)}", file=sys.stderr)
            return 2
    for name in chosen:
        print(f"{'' if name == chosen[0] else chr(10)}{TITLES[name]}\n", flush=True)
        TABLES[name]()
    return 0


def head(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|", flush=True)


def row(*cells: object) -> None:
    print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)


def verdict(good: bool) -> str:
    """Returns the last cell of a row."""
    return "yes" if good else "NO"


def attempt(run: Callable[[], float]) -> float:
    """Returns the result of `run`; NaN if exact flesh finds no step."""
    try:
        return run()
    except thew.ThewError:
        return float("nan")


# stops ---------------------------------------------------------------------------------------------------------------


def shifted_pose(way: float) -> np.ndarray:
    """Returns both bones at rest but for a shift across the arm, [2,4,4]."""
    pose = np.tile(np.eye(4), (2, 1, 1))
    pose[:, 2, 3] = way
    return pose


def stop(arm: Arm, body: thew.Body, speed: float, method: str, **damping: float) -> float:
    """Returns the largest overshoot of any lattice vertex, as a share of the size, after bones move sideways and stop dead.

    They move for a quarter of a second.
    """
    settings = arm.settings()
    simulation = thew.Simulation(body, method, **settings, **damping)
    simulation.reset(shifted_pose(0.0))
    step = 1.0 / settings["rate"]
    moving, after = (round(seconds * arm.seconds * settings["rate"]) for seconds in (0.25, 0.5))
    way, farthest = 0.0, 0.0
    for tick in range(moving + after):
        way += speed * step if tick < moving else 0.0
        simulation.advance(shifted_pose(way), step)
        if tick >= moving:
            swing = simulation.lattice_positions() - body.lattice.vertices - [0.0, 0.0, way]
            farthest = max(farthest, float(np.abs(swing[:, 2]).max()))
    return farthest / body.surface.size


def stops() -> None:
    arm = Arm()
    body = arm.body()
    head("V m/s", "sway %", "exact %", "over exact", "asked", "met")
    before = 0.0
    for speed in SPEEDS:
        ours = stop(arm, body, speed, DEFAULT)
        theirs = attempt(lambda speed=speed: stop(arm, body, speed, EXACT))
        over, within = ours / theirs, WITHIN.get(speed)
        good = ours >= before and (within is None or abs(over - 1.0) <= within)
        asked = "not less than before" if within is None else f"within {within:.0%}"
        row(speed, f"{100 * ours:.2f}", f"{100 * theirs:.2f}", f"{over:.2f}", asked, verdict(good))
        before = max(before, ours)


def sizes() -> None:
    head("times as large", *[f"{speed} m/s" for speed in OF_SIZES], "largest difference", "asked", "met")
    plain: list[float] = []
    for scale in sorted(SIZES, key=lambda size: abs(np.log(size))):
        arm = Arm(scale=scale)
        body = arm.body()
        ours = [stop(arm, body, speed * arm.seconds, DEFAULT, **arm.damping()) for speed in OF_SIZES]
        plain = plain or ours
        off = max(abs(a / b - 1.0) for a, b in zip(ours, plain, strict=True))
        swings = [f"{100 * swing:.3f} %" for swing in ours]
        row(scale, *swings, f"{off:.2%}", f"{SAME_OVER_SIZES:.0%}", verdict(off <= SAME_OVER_SIZES))


# frames a second -----------------------------------------------------------------------------------------------------


def swing_poses(seconds: np.ndarray) -> np.ndarray:
    """Returns poses of the arm swung to and fro, with its elbow bent, for two seconds, then still: [f,2,4,4].

    The speed is 1.4 m/s at most.
    """
    t = np.clip(seconds, 0.0, 2.0)
    return _poses(0.15 * (1.0 - np.cos(3.0 * np.pi * t)), 0.5 * (1.0 - np.cos(2.0 * np.pi * t)))


def stop_poses(seconds: np.ndarray) -> np.ndarray:
    """Returns poses of the arm moved sideways at 1.2 m/s and stopped dead after half a second, with a fixed elbow: [f,2,4,4]."""
    return _poses(1.2 * np.minimum(seconds, 0.5), np.full(len(seconds), 0.3))


def _poses(ways: np.ndarray, angles: np.ndarray) -> np.ndarray:
    return np.stack([shifted_pose(way) @ shapes.bend(angle) for way, angle in zip(ways, angles, strict=True)])


MOTIONS = {"swing": swing_poses, "stop": stop_poses}


def sway_offsets(body: thew.Body, motion: str, seconds: np.ndarray, fps: float, method: str) -> np.ndarray:
    """Returns the offsets of the flesh from the skin in every frame, with the bones as at `seconds`: [f,n,3]."""
    made = thew.simulate(body, MOTIONS[motion](seconds), fps, method=method, **STILL)
    return np.stack([np.asarray(made.offsets(frame), np.float64) for frame in range(len(seconds))])


def rates() -> None:
    columns = ("rms sway mm", "off 60 frames/s", "path off, of the largest sway")
    head("motion", "E kPa", "method", "frames/s", *columns, "asked", "met")
    for motion in MOTIONS:
        for young in (15e3, 2.5e3):
            rates_of(motion, young)


def rates_of(motion: str, young: float) -> None:
    """Prints the rows of one motion of one flesh: every rate against the finest, then the frames of 24 a second played at 23.976."""
    body = Arm(young=young).body()
    exact_off: dict[float, float] = {}
    for method in (EXACT, DEFAULT):
        made = {fps: sway_offsets(body, motion, np.arange(round(2.5 * fps) + 1) / fps, fps, method) for fps in FRAMES}
        rms = {fps: float(np.sqrt(np.mean(np.square(way).sum(axis=2)))) for fps, way in made.items()}
        finest = made[FRAMES[-1]]
        for fps in FRAMES[:-1]:
            off = abs(rms[fps] / rms[FRAMES[-1]] - 1.0)
            # All of them have a frame at every sixth of a second.
            apart = np.linalg.norm(made[fps][:: round(fps / 6.0)] - finest[:: round(FRAMES[-1] / 6.0)], axis=2).max()
            path = apart / np.linalg.norm(finest, axis=2).max()
            if method == EXACT:
                exact_off[fps] = off
            limit = max(SAME_OVER_FRAMES, OF_EXACT * exact_off[fps])
            asked = ("", "") if method == EXACT else (f"{limit:.1%}", verdict(off <= limit))
            row(motion, young / 1e3, method, f"{fps:.0f}", f"{1e3 * rms[fps]:.2f}", f"{off:.1%}", f"{path:.1%}", *asked)
        plain = made[FRAMES[0]]
        slower = sway_offsets(body, motion, np.arange(len(plain)) / FRAMES[0], NTSC, method)
        off = np.linalg.norm(plain - slower, axis=2).max() / np.linalg.norm(plain, axis=2).max()
        asked = ("", "") if method == EXACT else (f"{SAME_AS_NTSC:.1%}", verdict(off <= SAME_AS_NTSC))
        row(motion, young / 1e3, method, "23.976, the frames of 24", "", "", f"{off:.2%}", *asked)


# whirls --------------------------------------------------------------------------------------------------------------


def whirl(body: thew.Body, turns: float, method: str) -> float:
    """Returns the largest distance of a lattice vertex from its carried position, as a share of the size, in a whirl of the arm.

    The arm turns about its shoulder.
    """
    simulation = thew.Simulation(body, method, rate=RATE, **STILL)
    simulation.reset(shifted_pose(0.0))
    rest, farthest, angle = body.lattice.vertices, 0.0, 0.0
    for tick in range(round(1.25 * RATE)):
        angle += 2.0 * np.pi * turns / RATE * min(1.0, tick / (0.5 * RATE))  # up to speed within half a second
        pose = np.tile(shapes.turn_about([0.0, angle, 0.0]), (2, 1, 1))
        simulation.advance(pose, 1.0 / RATE)
        if tick >= 0.75 * RATE:
            away = simulation.lattice_positions() - shapes.apply(pose[0], rest)
            farthest = max(farthest, float(np.linalg.norm(away, axis=1).max()))
    return farthest / body.surface.size


def whirls() -> None:
    body = Arm().body()
    head("turns a second", "of the size", "exact, of the size", "over exact", "asked", "met")
    for turns in TURNS:
        ours = attempt(lambda turns=turns: whirl(body, turns, DEFAULT))
        theirs = attempt(lambda turns=turns: whirl(body, turns, EXACT))
        row(turns, f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.2f}", "at most exact", verdict(ours <= theirs))


# costs ---------------------------------------------------------------------------------------------------------------


def costs() -> None:
    body = Arm(cells=12).body()
    print(f"{len(body.lattice.cells)} cells, {len(body.lattice.vertices)} lattice vertices, one clip of 49 frames\n")
    head("method", "ms a frame", "over warped", "asked", "met")
    poses = swing_poses(np.arange(49) / 24.0)
    least = {}
    for method, times in (("warped", 3), (DEFAULT, 3), (EXACT, 1)):
        taken = []
        for _ in range(times):
            start = time.perf_counter()
            thew.simulate(body, poses, 24.0, method=method, **STILL)
            taken.append(time.perf_counter() - start)
        least[method] = min(taken) / len(poses)
        over, limit = least[method] / least["warped"], COSTS * WAS_OVER_WARPED
        asked = (f"{limit:.2f}", verdict(over <= limit)) if method == DEFAULT else ("", "")
        row(method, f"{1e3 * least[method]:.2f}", f"{over:.2f}", *asked)


def frame(body: thew.Body, poses: np.ndarray, **settings: object) -> tuple[float, float, np.ndarray]:
    """Returns ms a frame by the clock and of all processors, and the lattice's path [f,nodes,3].

    The times are the 0.2 quantile over the frames.
    """
    simulation = thew.Simulation(body, DEFAULT, **STILL, **settings)
    simulation.reset(poses[0])
    taken, path = [], []
    for pose in poses[1:]:
        start = time.perf_counter(), time.process_time()
        simulation.advance(pose, 1.0 / 24.0)
        taken.append((time.perf_counter() - start[0], time.process_time() - start[1]))
        path.append(np.array(simulation.lattice_positions()))
    clock, processors = 1e3 * np.quantile(taken, 0.2, axis=0)
    return float(clock), float(processors), np.stack(path)


def lattices() -> None:
    times = ("ms a frame", "by factors", "processor ms a frame", "by factors", "ratio of these")
    head("nodes", "cells", "built, s", *times, "motions apart, of the size", "asked", "met")
    poses = swing_poses(np.arange(25) / 24.0)
    nodes, clock, ours, factored = [], [], [], []
    for cells in LATTICES:
        start = time.perf_counter()
        body = Arm(cells=cells).body()
        built = time.perf_counter() - start
        least, spent, path = frame(body, poses)
        former, spent_before, other = frame(body, poses, solver="direct")
        apart = np.linalg.norm(path - other, axis=2).max() / body.surface.size
        nodes.append(len(body.lattice.vertices))
        clock.append(least)
        ours.append(spent)
        factored.append(spent_before)
        figures = [f"{number:.1f}" for number in (built, least, former, spent, spent_before)]
        same = f"{apart:.1e}", SAME_MOTION, verdict(apart <= SAME_MOTION)
        row(nodes[-1], len(body.lattice.cells), *figures, f"{spent_before / spent:.2f}", *same)
    power, was = (np.polyfit(np.log(nodes), np.log(times), 1)[0] for times in (ours, factored))
    finest = float(np.interp(np.log(5000.0), np.log(nodes), clock))
    growth = f"{power:.2f} (asked {POWER}: {verdict(power <= POWER)})"
    print(f"\nprocessor ms a frame grow with the nodes to the {growth}, by factors to the {was:.2f};")
    print(f"at 5,000 nodes {finest:.0f} ms a frame by the clock (asked {FINEST:.0f}: {verdict(finest <= FINEST)})")


TABLES = {
    "stops": stops,
    "sizes": sizes,
    "rates": rates,
    "whirls": whirls,
    "costs": costs,
    "lattices": lattices,
}
TITLES = {
    "stops": "**Bones that go sideways and stop dead**: the largest way flesh goes on, of the size",
    "sizes": "**The same over the size**: speeds as Froude's number has them",
    "rates": "**Frames a second**: the same motion, read at other times",
    "whirls": "**Whirled about the shoulder**: the largest way from where bones would have flesh",
    "costs": "**What a frame takes**",
    "lattices": "**What a frame takes on finer lattices**: by iterations where these cost less, beside a factor at every step",
}


if __name__ == "__main__":
    sys.exit(main())
