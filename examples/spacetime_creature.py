# SPDX-License-Identifier: MIT OR Apache-2.0
"""A trotting creature: twelve keyframes of a cycle, and secondary motion that leaves face and feet alone. [hildebrandt2012, §6, Figure 5]

The primary motion goes through twelve posed skins. The secondary one lives in rest space, under the skinning: two keyframes, both the
rest shape, whose velocities (a push down on belly, rump and tail at every footfall) are all that makes it move; head and legs are fixed.
"""

from __future__ import annotations

import numpy as np
import thew

from assets.characters import quadruped
from assets.characters.figure import Figure, skin
from examples import keyed
from examples.command import Options, options

KEYS, BEGIN, PERIOD, STRIDE = 12, 0.5, 0.5, 0.5
"""Keyframes of a cycle, when the clip's cycle begins and how long it is, s, and how far it goes, m."""
STIFFNESS, DAMPING = 150.0, (1.5, 0.002)
PUSH = 11.0
"""How fast a footfall pushes, units a second; the creature is ten units in size."""


def pose_points(wanda: Figure, weights: np.ndarray, rest: np.ndarray, share: float) -> np.ndarray:
    """Rest points on the bones at a share of the cycle, kept where the creature stood."""
    pose = wanda.clips["trot"].pose_at(wanda, BEGIN + share * PERIOD)
    maps = np.einsum("vb,bij->vij", weights, np.array([pose.map(bone.name) for bone in wanda.bones]))
    points = np.einsum("vij,vj->vi", maps[:, :3, :3], rest) + maps[:, :3, 3]
    return points + [0.0, (BEGIN + share * PERIOD) * STRIDE / PERIOD + 0.16 * STRIDE, 0.0]


def main(how: Options) -> None:
    wanda = quadruped.figure()
    whole = skin(wanda)
    triangles = whole.triangles()
    unit = 10.0 / np.linalg.norm(np.ptp(whole.vertices, axis=0))
    names = [bone.name for bone in wanda.bones]
    rest = unit * whole.vertices
    shell = thew.Shell(rest, triangles, unit=1.0)
    walk = lambda points, share: unit * pose_points(wanda, whole.weights, points / unit, share)  # noqa: E731
    times = np.linspace(0.0, 2.0 * PERIOD, KEYS + 1)
    keys = np.stack([walk(rest, k / KEYS % 1.0) for k in range(KEYS + 1)])

    def primary() -> list[thew.Spacetime]:
        return [thew.Spacetime(shell, keys, times, STIFFNESS, DAMPING, modes=10, cyclic=True, rest="keyframes")]

    # Only the trunk and the tail are free: what hangs on bones of legs and head by more than a tenth stays.
    loose = [i for i, name in enumerate(names) if name in LOOSE]
    held = whole.weights[:, loose].sum(axis=1) < 0.9
    low = np.exp(-(((rest - BELLY * unit) / (REACH * unit)) ** 2).sum(axis=1))
    tail = whole.weights[:, [i for i, name in enumerate(names) if name.startswith("tail")]].sum(axis=1)
    down = -PUSH * (1.6 * low + 0.6 * tail)[:, None] * [0.0, 0.0, 1.0]
    falls = times[[0, KEYS // 2]]

    def secondary() -> list[thew.Spacetime]:
        still = np.stack([rest, rest])
        step = [*falls]
        return [
            thew.Spacetime(
                shell, still, step, STIFFNESS, DAMPING, modes=30, start_velocity=down, end_velocity=down, fixed=held
            )
        ]

    print("| motion | vertices | segments | dimensions | keyframes | preprocess s | update ms |")
    (first,) = keyed.report("creature, primary", primary, KEYS)
    (second,) = keyed.report("creature, secondary", secondary, 2)
    instants = times[-1] * np.array([0, 1.5, 3, 4.5, 6, 7.5, 9]) / KEYS
    extra = second(instants % falls[1]) - rest
    print(
        f"secondary motion moves by up to {np.linalg.norm(extra, axis=2).max():.2f} of 10 units, face and feet by "
        f"{np.abs(extra[:, held]).max():.1e}"
    )
    rich = np.stack([walk(rest + e, t / times[-1] % 1.0) for e, t in zip(extra, instants, strict=True)])
    apart = np.linalg.norm(first(instants) - first.plain(instants), axis=2).max()
    print(f"cubic splines are up to {apart:.2f} of 10 units away from it between keyframes")
    tint = whole.colours
    rows = [
        keyed.Row("cubic splines through twelve keyframes", first.plain(instants), keyed.PLAIN),
        keyed.Row("spacetime control", first(instants), tint),
        keyed.Row("secondary motion alone, in rest space", rest + extra, tint),
        keyed.Row(
            "with secondary motion",
            first(instants) + (rich - np.stack([walk(rest, t / times[-1]) for t in instants])),
            tint,
        ),
    ]
    sheet = keyed.Sheet(8.4, 7.4, 0.8, (-4.2, -0.6), (4.2, 6.0), turn=72.0, tilt=6.0)

    def ground(studio, place) -> None:
        studio.slab(place + [0.0, 0.0, -0.15], (3.4, 7.4, 0.3), studio.material((0.80, 0.82, 0.84)))

    keyed.draw(how, sheet, triangles, rows, instants, times, ground)


LOOSE = ("hips", "spine", "chest", "tail.1", "tail.2")
BELLY, REACH = np.array([0.0, 0.0, 0.3]), np.array([0.2, 0.3, 0.14])


if __name__ == "__main__":
    main(options("spacetime-creature"))
