# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flesh on two bones: an elbow bends in a third of a second and stops; the flesh goes on and comes to rest."""

import numpy as np
import thew

from examples.python import shapes


def main() -> None:
    arm = shapes.arm()
    surface = thew.Surface(arm.vertices, arm.triangles)
    skeleton = thew.Skeleton(arm.names, arm.parents, arm.heads, arm.tails)
    lattice = thew.Lattice.enclose(surface, skeleton, arm.weights, cells_across=8)
    # region_weights also say where flesh is: much of it far from the bones, none where there is no room.
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=arm.weights, softness=0.5)
    print(f"volume: {body.volume:.4f} m³ in {len(lattice.cells)} cells of {body.node_count} vertices")

    seconds = np.arange(49) / 24
    smooth = np.clip(3.0 * seconds, 0.0, 1.0)
    poses = shapes.bent_poses(1.2 * smooth**2 * (3.0 - 2.0 * smooth))
    clip = thew.simulate(body, poses, fps=24)

    sway = np.array([np.linalg.norm(clip.offsets(frame), axis=1).max() for frame in range(len(clip))])
    print(f"largest: {sway[:12].max():.4f} m from the plain skin while the elbow moves")
    print(f"settled: {sway[-1]:.4f} m at the end, what the bent joint and gravity make")
    print(f"inverted: {clip.inverted_cells.max()} cells")


if __name__ == "__main__":
    main()
