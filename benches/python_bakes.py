# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures compressed bakes beside plain singular vectors and beside one key a frame: keys, bytes, seconds.

    python benches/python_bakes.py                      an arm in four motions
    python benches/python_bakes.py --from-npz FOLDER    characters in all clips that `benches/blender_look.py --record` has written

Characters are scaled to a height of 1.7 m. Errors are measured on the posed skin. A key a frame has 12 bytes a vertex.
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
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

import shapes

TOLERANCES = (0.005, 0.002, 0.001)
"""Errors allowed, m."""
HEIGHT = 1.7
"""Height to which characters are scaled, m."""
VERTICES_OF_BOUND, STRIDE_OF_BOUND, ROUNDS_OF_BOUND = 1200, 6, 30
"""Lower bounds of keys: every sixth of so many liveliest vertices, and rounds of weights. All vertices and 60 rounds raise them by one."""


@dataclass
class Motion:
    """Clips of one character in rest space, and how its skeleton moves them."""

    name: str
    rest: np.ndarray  # [n, 3]
    clips: list[np.ndarray]  # float32[f, n, 3] positions
    poses: list[np.ndarray]  # [f, b, 4, 4]
    weights: np.ndarray  # [n, b]


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from-npz", type=Path, help="a folder of recordings")
    options = parser.parse_args()
    motions = recorded(options.from_npz) if options.from_npz else [arm()]
    print(
        "| character | clips | frames | vertices | flesh max, mm | error, mm | singular vectors | keys | at least | s "
        "| bytes of a key a frame |"
    )
    print("| --- " * 11 + "|")
    for motion in motions:
        for tolerance in TOLERANCES:
            print(row(motion, tolerance), flush=True)
    return 0


def row(motion: Motion, tolerance: float) -> str:
    """Returns the row of one character and tolerance."""
    frames, vertices = sum(map(len, motion.clips)), len(motion.rest)
    offsets = np.concatenate(motion.clips) - motion.rest
    start = time.perf_counter()
    packed = thew.compress(motion.clips, tolerance, rest=motion.rest, matrices=(motion.poses, motion.weights))
    seconds = time.perf_counter() - start
    share = packed.nbytes / (12 * frames * vertices)
    farthest = 1e3 * np.linalg.norm(offsets, axis=2).max()
    cells = (
        motion.name, len(motion.clips), frames, vertices, f"{farthest:.0f}", f"{1e3 * tolerance:g}",
        singular_vectors(offsets, tolerance), len(packed.keys), least_keys(offsets, tolerance, len(packed.keys)),
        f"{seconds:.1f}", f"{100 * share:.1f} %",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def singular_vectors(offsets: np.ndarray, tolerance: float) -> int:
    """Returns the fewest singular vectors that miss no vertex by more than the tolerance, before the skeleton acts."""
    flat = offsets.reshape(len(offsets), -1)
    values, vectors = np.linalg.eigh(flat @ flat.T)
    vectors = vectors[:, np.argsort(values)[::-1]]

    def error(count: int) -> float:
        left = flat - vectors[:, :count] @ (vectors[:, :count].T @ flat)
        return np.linalg.norm(left.reshape(len(flat), -1, 3), axis=2).max()

    missed, reached = 0, len(flat)
    while missed + 1 < reached:
        middle = (missed + reached) // 2
        missed, reached = (missed, middle) if error(middle) <= tolerance else (middle, reached)
    return reached


def least_keys(offsets: np.ndarray, tolerance: float, reached: int) -> int:
    """Returns a number of keys that is certainly needed, where `reached` suffice, before the skeleton acts.

    A part of the vertices needs no more keys than all of them: the liveliest ones are taken.
    """
    reach = np.linalg.norm(offsets, axis=2).max(axis=0)
    order = np.argsort(-reach)[:VERTICES_OF_BOUND:STRIDE_OF_BOUND]
    some = offsets[:, order].astype(np.float64)
    impossible = 0
    while impossible + 1 < reached:
        middle = (impossible + reached) // 2
        impossible, reached = (middle, reached) if error_bound(some, middle) > tolerance else (impossible, middle)
    return reached


def error_bound(offsets: np.ndarray, count: int) -> float:
    """Returns a length which the largest error of any `count` keys reaches.

    The largest error is at least the root of any weighted mean of squares. For weights that are products of one of the frame and one of
    the vertex the least such mean is known: the sum of the smallest squared singular values of the weighted offsets. Weights follow the
    errors, as in the fit.
    """
    frames, vertices = offsets.shape[:2]
    of_frames, of_vertices = np.full(frames, 1.0 / frames), np.full(vertices, 1.0 / vertices)
    largest = 0.0
    for _ in range(ROUNDS_OF_BOUND):
        weighted = np.sqrt(of_frames[:, None, None] * of_vertices[None, :, None]) * offsets
        flat = weighted.reshape(frames, -1)
        values, vectors = np.linalg.eigh(flat @ flat.T)
        least = max(values[: max(frames - count, 0)].sum(), 1e-30)
        largest = max(largest, np.sqrt(least))
        kept = vectors[:, frames - count :]
        left = ((flat - kept @ (kept.T @ flat)).reshape(weighted.shape) ** 2).sum(axis=2) / least
        of_frames = np.sqrt(of_frames * left.sum(axis=1))
        of_vertices = np.sqrt(of_vertices * left.sum(axis=0))
        of_frames, of_vertices = of_frames / of_frames.sum(), of_vertices / of_vertices.sum()
    return largest


def arm() -> Motion:
    """Returns an arm of thick flesh that bends, waves, shakes and stops."""
    vertices, triangles = shapes.arm(segments=40, rings=80, radius=0.12)
    weights = shapes.arm_weights(vertices)
    surface, skeleton = thew.Surface(vertices, triangles), thew.Skeleton(*shapes.arm_bones())
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=12)
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)
    t = np.arange(48) / 24.0
    angles = 1.5 * np.sin(3 * t), 0.5 * np.sin(9 * t), 0.2 * np.sin(25 * t), 1.2 * np.minimum(3 * t, 1.0)
    poses = [np.stack([shapes.bend(angle) for angle in each]) for each in angles]
    posed = [np.asarray(thew.simulate(body, each, 24.0)) for each in poses]
    clips, _ = thew.to_rest_space(posed, (poses, weights), vertices)
    return Motion("arm", vertices, clips, poses, weights)


def recorded(folder: Path) -> Iterator[Motion]:
    """Yields the characters of recordings, simulated at the extension's defaults."""
    from demo.look.recording import Recording
    from demo.look.simulating import Character

    for file in sorted(folder.glob("*.npz")):
        recording = Recording.load(file)
        character = Character(recording)
        scale = HEIGHT / np.ptp(recording.rest, axis=0).max()
        weights = recording.weights / np.maximum(recording.weights.sum(axis=1, keepdims=True), 1e-12)
        clips, poses = [], []
        for clip in recording.clips:
            maps = clip.maps[:-1]
            # The flesh's offsets, without what Blender's skinning differs from linear blending by.
            linear = np.einsum("nb,fbij->fnij", weights, maps)
            plain = np.einsum("fnij,nj->fni", linear[..., :3, :3], recording.rest) + linear[..., :3, 3]
            posed = plain + (character.shown(clip) - clip.shown)
            clips.append(thew.to_rest_space(posed, (maps, weights), recording.rest)[0] * scale)
            poses.append(scaled(maps, scale))
        yield Motion(f"{recording.character}, {recording.mesh}", recording.rest * scale, clips, poses, weights)


def scaled(maps: np.ndarray, scale: float) -> np.ndarray:
    """Returns maps [f, b, 4, 4] of a character that is larger by `scale`."""
    larger = maps.copy()
    larger[:, :, :3, 3] *= scale
    return larger


if __name__ == "__main__":
    sys.exit(main())
