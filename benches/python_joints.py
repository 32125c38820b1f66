# SPDX-License-Identifier: MIT OR Apache-2.0
"""Single bent joints of recorded characters: the skin by linear blending, by dual quaternions, by the lattice, and as shown.

Recordings are written by `blender_look.py --record FOLDER`:

    python benches/python_joints.py --recordings FOLDER [--wheel-path FOLDER] [--only NAME ...] [--kinds KIND ...] [--sheets FOLDER]

Prints the table of `docs/methods/bent-joints.md`. Measures: `demo/look/bends.py`. "lattice" is the balance of the
warped method shown through its cells, as Elastic Joints shows it with that method; "best" is the result of Elastic
Joints with the default method.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from demo.look import bends, raster  # noqa: E402
from demo.look.recording import Recording  # noqa: E402
from demo.look.sheet import FLESH, GREY  # noqa: E402

WAYS = ("linear", "dual quaternions", "lattice", "best")
STILL = (0.0, 0.0, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=Path, required=True)
    parser.add_argument("--wheel-path", type=Path, help="take the package thew from this folder")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of files")
    parser.add_argument("--kinds", nargs="*", default=list(bends.KINDS))
    parser.add_argument("--sheets", type=Path, help="write a picture of each character's joints into this folder")
    parser.add_argument("--no-measures", action="store_true", help="only draw")
    options = parser.parse_args()
    if options.wheel_path:
        sys.path.insert(0, str(options.wheel_path))
    if options.sheets:
        options.sheets.mkdir(parents=True, exist_ok=True)
    found: dict[tuple[str, str], list[bends.Look]] = {}
    print(f"{'':44}{'way':18}" + "".join(f"{f.name:>8}" for f in fields(bends.Look)), flush=True)
    for file in sorted(options.recordings.glob("*.npz")):
        if options.only and not any(part.lower() in file.stem.lower() for part in options.only):
            continue
        r = Recording.load(file)
        chosen = [bend for bend in bends.bends(r) if bend.kind in options.kinds]
        if not chosen:
            continue
        try:
            flesh = Flesh(r)
        except Exception as error:
            print(f"{file.stem}: {error}", flush=True)
            continue
        rows, measured = [], None if options.no_measures else bends.MeasuredCharacter(r)
        for bend in chosen:
            shown = flesh.shown_shapes(bend)
            if measured:
                report(r, bend, shown, measured, found)
            rows.append(pictures(r, bend, shown))
        if options.sheets:
            picture = np.concatenate([np.concatenate(row, axis=1) for row in rows])
            raster.save(picture, options.sheets / f"{file.stem}.png")
        print(f"{r.mesh}: a pose of {len(r.rest)} vertices shown in {1e3 * flesh.seconds:.1f} ms", flush=True)
    conclude(found)


class Flesh:
    """A recorded character, shown in any pose by each way."""

    def __init__(self, r: Recording) -> None:
        import thew

        from demo.look.simulating import Character

        self.r, self.seconds = r, np.inf
        body = Character(r).body
        self.lattice = thew.Simulation(body, "warped", gravity=STILL, elastic_joints=1.0)
        self.best = thew.Simulation(body, "hyperelastic", gravity=STILL, elastic_joints=1.0)
        self.best.reset(np.tile(np.eye(4), (len(r.names), 1, 1)))

    def shown_shapes(self, bend: bends.Bend) -> dict[str, np.ndarray]:
        r = self.r
        self.lattice.reset(bend.maps)
        self.best.positions()  # of the former bend: does the work that is done once
        self.best.reset(bend.maps)
        start = time.perf_counter()
        best = self.best.positions()
        self.seconds = min(self.seconds, time.perf_counter() - start)
        ways = (
            bends.linear(bend.maps, r.rest, r.weights),
            bends.dual_quaternions(bend.maps, r.rest, r.weights),
            self.lattice.positions(),
            best,
        )
        return dict(zip(WAYS, ways, strict=True))


def report(r: Recording, bend: bends.Bend, shown, measured: bends.MeasuredCharacter, found) -> None:
    name = f"{r.character[:20]} {r.names[bend.bone][:14]} {bend.kind} {np.degrees(bend.angle):.0f}"
    for way, places in shown.items():
        look = measured.look(bend, places)
        group = (
            "hands" if bend.kind in ("finger", "wrist") else "humans" if bends.HUMAN.search(r.character) else "animals"
        )
        found.setdefault((group, way), []).append(look)
        print(f"{name:44}{way:18}" + "".join(f"{x:8.2f}" for x in astuple(look)), flush=True)


def pictures(r: Recording, bend: bends.Bend, shown) -> list[np.ndarray]:
    """Draws each way from the side and from the direction in which the outer side is visible."""
    middle = bend.along[0] + bends.rotation(bend.axis, bend.angle) @ bend.along[1]
    outward = -np.cross(bend.axis, middle)
    outward /= np.linalg.norm(outward) + 1e-12
    row = []
    near = np.linalg.norm(r.rest - bend.head, axis=1) < 5.0 * bend.thick
    triangles = r.triangles[near[r.triangles].any(axis=1)]
    for way, places in shown.items():
        for towards in (bend.axis, 0.55 * bend.axis + 0.75 * outward):
            side = -towards if towards is bend.axis and bend.axis[0] < 0 else towards
            back = side / np.linalg.norm(side)
            view = raster.View(
                turn=float(np.arctan2(back[0], -back[1])), lift=float(np.arcsin(np.clip(back[2], -1, 1)))
            )
            tints = np.broadcast_to(GREY if way in WAYS[:2] else FLESH, places.shape)
            picture = raster.draw(np.asarray(places, float), triangles, tints, view, bend.head, 2.8 * bend.thick, 200)
            row.append(picture)
        raster.write(row[-2], f"{way} {bend.kind} {np.degrees(bend.angle):.0f}"[:26], 4, 4, 1)
    return row


def conclude(found) -> None:
    print(
        f"\n{'means':12}{'way':18}{'joints':>8}{'|cover-1|':>10}{'cut':>7}{'least':>7}{'outer':>7}{'least':>7}{'sharp':>7}{'rough':>7}{'over':>7}"
    )
    for group in ("humans", "hands", "animals"):
        for way in WAYS:
            looks = found.get((group, way), [])
            if not looks:
                continue
            all_of = {f.name: np.array([getattr(look, f.name) for look in looks]) for f in fields(bends.Look)}
            numbers = (
                np.abs(all_of["cover"] - 1.0).mean(),
                all_of["cut"].mean(),
                all_of["cut"].min(),
                all_of["outer"].mean(),
                all_of["outer"].min(),
                all_of["sharp"].mean(),
                all_of["rough"].mean(),
                all_of["over"].mean(),
            )
            print(
                f"{group:12}{way:18}{len(looks):8}{numbers[0]:10.3f}"
                + "".join(f"{x:7.2f}" for x in numbers[1:5])
                + "".join(f"{x:7.1f}" for x in numbers[5:])
            )
    for one, other in (("best", "dual quaternions"), ("best", "lattice"), ("best", "linear")):
        better = {f.name: 0 for f in fields(bends.Look)}
        count = 0
        for group in ("humans", "hands", "animals"):
            for a, b in zip(found.get((group, one), []), found.get((group, other), []), strict=True):
                count += 1
                for name, sign in (("cut", 1), ("outer", 1), ("sharp", -1), ("rough", -1), ("over", -1)):
                    better[name] += sign * (getattr(a, name) - getattr(b, name)) >= -1e-9
                better["cover"] += abs(a.cover - 1.0) <= abs(b.cover - 1.0)
        print(f"{one} no worse than {other}, of {count}: " + ", ".join(f"{k} {v}" for k, v in better.items()))


if __name__ == "__main__":
    main()
