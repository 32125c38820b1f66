# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures helper bones beside py-dem-bones with as many bones: largest and mean error, seconds.

    python benches/python_helper_bones.py                      the peer's published clips, and an arm with flesh
    python benches/python_helper_bones.py --from-npz FOLDER    characters in all clips that `benches/blender_look.py --record` has written

The peer (`pip install py-dem-bones`) is left out where it is absent. It has no bones of the character's own: it gets as many bones as own ones and
helpers together, and fits all of them. Of the skeletons that made its published clips, Thew gets the root, and
one helper less than the peer has bones. Characters are
scaled to a height of 1.7 m; lengths of the published clips are scaled to that too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import thew

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import python_bakes as bakes

try:
    import py_dem_bones
except ImportError:
    py_dem_bones = None

COUNTS = 16, 32
"""Numbers of helpers."""
PUBLISHED_BONES = 8
"""Number of bones of the peer's published clips."""


@dataclass
class Posed:
    """Posed clips of one mesh, and its own bones."""

    name: str
    rest: np.ndarray  # [n, 3]
    triangles: np.ndarray  # [t, 3]
    clips: list[np.ndarray]  # [f, n, 3]
    poses: list[np.ndarray]  # [f, b, 4, 4]
    weights: np.ndarray  # [n, b]
    counts: tuple[int, ...] = COUNTS


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from-npz", type=Path, help="a folder of recordings")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of recordings")
    parser.add_argument("--clips", type=int, default=3, help="the liveliest ones of each recording")
    parser.add_argument("--rest-tolerance", type=float, metavar="MM", help="distance from the plain skin at rest, mm")
    parser.add_argument("--without-peer", action="store_true")
    options = parser.parse_args()
    print(
        "| motion | clips, frames | vertices | own bones | flesh max, mm | helpers | max, rms, mm | s | peer: max, rms, mm | s |"
    )
    print("| --- " * 10 + "|")
    for motion in recorded(options) if options.from_npz else [tentacle(), chain(), arm()]:
        for count in motion.counts:
            with_peer = py_dem_bones is not None and not options.without_peer
            print(row(motion, count, options.rest_tolerance, with_peer), flush=True)
    return 0


def row(motion: Posed, count: int, rest_tolerance: float | None, with_peer: bool) -> str:
    """Returns the row of one motion and number of helpers; `rest_tolerance` in millimetres."""
    frames, own = sum(map(len, motion.clips)), motion.weights.shape[1]
    plain = np.concatenate([skinned(motion.rest, motion.weights, poses) for poses in motion.poses])
    flesh = np.linalg.norm(np.concatenate(motion.clips) - plain, axis=2).max()
    start = time.perf_counter()
    tolerance = None if rest_tolerance is None else 1e-3 * rest_tolerance
    bones = thew.helper_bones(motion.rest, motion.clips, motion.poses, motion.weights, count, rest_tolerance=tolerance)
    seconds = time.perf_counter() - start
    theirs = "–", "–"
    if with_peer:
        start = time.perf_counter()
        largest, mean = peer_errors(motion, own + count)
        theirs = f"{1e3 * largest:.1f}, {1e3 * mean:.2f}", f"{time.perf_counter() - start:.1f}"
    cells = (
        motion.name, f"{len(motion.clips)}, {frames}", len(motion.rest), own, f"{1e3 * flesh:.0f}", bones.count,
        f"{1e3 * bones.max_error:.1f}, {1e3 * bones.rms:.2f}", f"{seconds:.1f}", *theirs,
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def peer_errors(motion: Posed, bones: int) -> tuple[float, float]:
    """Returns the largest and the root mean square error of the peer with a number of bones."""
    posed = np.concatenate(motion.clips).astype(float)
    found = py_dem_bones.solve_skinning(motion.rest, posed, bones, faces=motion.triangles.tolist(), max_influences=4)
    weights, transforms = np.asarray(found.weights), np.asarray(found.transforms)
    if weights.shape[0] != len(motion.rest):
        weights = weights.T
    if transforms.shape[0] != len(posed):
        transforms = transforms.swapaxes(0, 1)
    away = np.linalg.norm(skinned(motion.rest, weights, transforms) - posed, axis=2)
    return float(away.max()), float(np.sqrt((away**2).mean()))


def skinned(rest: np.ndarray, weights: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Returns positions [f, n, 3] by linear blend skinning."""
    shown = np.zeros((len(matrices), len(rest), 3))
    for b in range(weights.shape[1]):
        (at,) = np.nonzero(weights[:, b])
        moved = rest[at] @ matrices[:, b, :3, :3].swapaxes(1, 2) + matrices[:, b, None, :3, 3]
        shown[:, at] += weights[at, b][:, None] * moved
    return shown


def arm() -> Posed:
    """Returns the arm of the bench of compressed keys, posed."""
    motion = bakes.arm()
    _, triangles = bakes.shapes.arm(segments=40, rings=80, radius=0.12)
    posed = [
        skinned_at(frames, motion.weights, poses) for frames, poses in zip(motion.clips, motion.poses, strict=True)
    ]
    return Posed("arm", motion.rest, triangles, posed, motion.poses, motion.weights, (4, 8, 16))


def skinned_at(frames: np.ndarray, weights: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Returns frames [f, n, 3] in rest space after their bones."""
    maps = np.einsum("nb,fbij->fnij", weights, matrices)
    return np.einsum("fnij,fnj->fni", maps[..., :3, :3], frames) + maps[..., :3, 3]


def wave_chain(bones: int, spacing: float, frames: int = 48) -> np.ndarray:
    """Returns matrices [f, b, 4, 4] of the chain that moves the peer's published clips: angles are waves along it."""
    phase = 2 * np.pi * np.arange(frames) / frames
    matrices, parent = np.zeros((frames, bones, 4, 4)), np.tile(np.eye(4), (frames, 1, 1))
    for bone in range(bones):
        delay = 0.55 * bone
        z = np.radians(22 * (np.sin(phase + delay) - np.sin(delay)))
        y = np.radians(9 * (np.sin(2 * phase + delay) - np.sin(delay)))
        x = np.radians(11 * (np.sin(phase - delay) + np.sin(delay)))
        parent = parent @ joint(z, y, x, spacing if bone else 0.0)
        back = np.eye(4)
        back[0, 3] = -bone * spacing
        matrices[:, bone] = parent @ back
    return matrices


def joint(z: np.ndarray, y: np.ndarray, x: np.ndarray, along: float) -> np.ndarray:
    """Returns matrices [f, 4, 4]: a step along x, then turns about z, y and x."""
    made = np.tile(np.eye(4), (len(z), 1, 1))
    for axis, angle in ((2, z), (1, y), (0, x)):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn = np.tile(np.eye(4), (len(z), 1, 1))
        turn[:, i, i] = turn[:, j, j] = np.cos(angle)
        turn[:, j, i], turn[:, i, j] = np.sin(angle), -np.sin(angle)
        made = made @ turn
    made[:, 0, 3] = along
    return made


def tentacle() -> Posed:
    """Returns the peer's tentacle: a fluted tube of 14 units along x, whose weights pass from bone to bone of a chain."""
    rings, sides, length = 81, 24, 14.0
    ring, side = np.divmod(np.arange(rings * sides), sides)
    x, angle = length * ring / (rings - 1), 2 * np.pi * side / sides
    radius = (0.18 + 0.36 * np.abs(np.sin(np.pi * x / length)) ** 0.7) * (1 + 0.12 * np.cos(2 * np.pi * ring / 5))
    radius *= 1 + 0.18 * np.cos(4 * angle + 0.4 * x)
    rest = np.stack([x, radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    spacing = length / (PUBLISHED_BONES - 1)
    weights = np.maximum(1 - np.abs(x[:, None] / spacing - np.arange(PUBLISHED_BONES)), 0)
    a, b = np.arange(rings - 1)[:, None] * sides + np.arange(sides), (np.arange(sides) + 1) % sides
    b = np.arange(rings - 1)[:, None] * sides + b
    triangles = np.concatenate(
        [np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, b + sides), (a, b + sides, a + sides))]
    )
    return published("tentacle", rest, triangles, weights, wave_chain(PUBLISHED_BONES, spacing))


def chain() -> Posed:
    """Returns the peer's chain: rings in turn upright and flat, each moved by one bone."""
    segments, sides, spacing = 40, 8, 14.0 / (PUBLISHED_BONES - 1)
    segment, side = np.divmod(np.arange(segments * sides), sides)
    angle, around = 2 * np.pi * segment / segments, 2 * np.pi * side / sides
    tube = 0.13 * np.cos(around)
    ring = np.stack([(1.35 + tube) * np.cos(angle), (0.6 + tube) * np.sin(angle), 0.13 * np.sin(around)], axis=1)
    links = [ring[:, [0, 1, 2] if b % 2 == 0 else [0, 2, 1]] + [b * spacing, 0, 0] for b in range(PUBLISHED_BONES)]
    rest, weights = np.concatenate(links), np.repeat(np.eye(PUBLISHED_BONES), len(ring), axis=0)
    next_segment, next_side = (segment + 1) % segments * sides, (side + 1) % sides
    a, b = segment * sides + side, segment * sides + next_side
    c, d = next_segment + next_side, next_segment + side
    link = np.concatenate([np.stack([a, d, c], axis=1), np.stack([a, c, b], axis=1)])
    triangles = np.concatenate([link + k * len(ring) for k in range(PUBLISHED_BONES)])
    return published("chain", rest, triangles, weights, wave_chain(PUBLISHED_BONES, spacing))


def published(name: str, rest: np.ndarray, triangles: np.ndarray, weights: np.ndarray, matrices: np.ndarray) -> Posed:
    """Returns a published clip with the root of its chain as the one own bone, scaled to a character's height."""
    scale = bakes.HEIGHT / np.ptp(rest, axis=0).max()
    posed, root = skinned(rest, weights, matrices), bakes.scaled(matrices[:, :1], scale)
    counts = PUBLISHED_BONES // 2 - 1, PUBLISHED_BONES - 1, 2 * PUBLISHED_BONES - 1
    return Posed(f"peer's {name}", rest * scale, triangles, [posed * scale], [root], np.ones((len(rest), 1)), counts)


def recorded(options: argparse.Namespace) -> Iterator[Posed]:
    """Yields the characters of recordings, simulated at the extension's defaults: all clips together, then the liveliest alone."""
    from demo.look.recording import Recording
    from demo.look.simulating import Character

    for file in sorted(options.from_npz.glob("*.npz")):
        if options.only and not any(part.lower() in file.stem.lower() for part in options.only):
            continue
        recording = Recording.load(file)
        recording.clips = recording.clips[: options.clips]
        character = Character(recording)
        scale = bakes.HEIGHT / np.ptp(recording.rest, axis=0).max()
        weights = recording.weights / np.maximum(recording.weights.sum(axis=1, keepdims=True), 1e-12)
        clips, poses = [], []
        for clip in recording.clips:
            maps = clip.maps[:-1]
            plain = skinned(recording.rest, weights, maps)
            clips.append((plain + (character.shown(clip) - clip.shown)) * scale)
            poses.append(bakes.scaled(maps, scale))
        rest, triangles = recording.rest * scale, recording.triangles
        name = f"{recording.character}, {recording.mesh}"
        yield Posed(name, rest, triangles, clips, poses, weights)
        yield Posed(f"{name}, {recording.clips[0].name}", rest, triangles, clips[:1], poses[:1], weights)


if __name__ == "__main__":
    sys.exit(main())
