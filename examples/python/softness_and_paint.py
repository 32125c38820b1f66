# SPDX-License-Identifier: MIT OR Apache-2.0
"""How soft, and where: the dial, and a painted map of flesh. A stiff forearm, a soft upper arm."""

import numpy as np
import thew

from examples.python import shapes


def main() -> None:
    body = shapes.body(softness=0.3)
    print(f"thickness: {100 * np.median(body.thickness):.1f} cm of flesh under the skin, at the median")
    # The dial means the same whatever the size of a body.
    for dial in (0.0, 0.5, 1.0):
        print(
            f"dial {dial}: {100 * body.with_softness(dial).softness():.2f} % of the size: how far one g moves the farthest vertex"
        )

    # Paint is one number per vertex of the skin: 0 is the skin as it is, 1 as soft as it gets.
    arm = shapes.arm()
    paint = np.where(arm.vertices[:, 0] < 0.45, 1.0, 0.0)
    skeleton = thew.Skeleton(arm.names, arm.parents, arm.heads, arm.tails)
    lattice = thew.Lattice.enclose(body.surface, skeleton, arm.weights, cells_across=8)
    painted = thew.Body(
        body.surface, skeleton, lattice, thew.Material(), region_weights=arm.weights, flesh=paint, softness=0.6
    )
    shaken = np.tile(np.eye(4), (24, 2, 1, 1))
    shaken[:, :, 2, 3] = 0.02 * np.sin(2.0 * np.pi * 3.0 * np.arange(24) / 24)[:, None]
    clip = thew.simulate(painted, shaken, fps=24, elastic_joints=0.0)
    moved = np.max([np.linalg.norm(clip.offsets(frame), axis=1) for frame in range(24)], axis=0)
    print(f"painted 1: the skin sways by {1000 * moved[paint == 1.0].max():.2f} mm")
    print(f"painted 0: the skin sways by {1000 * moved[arm.vertices[:, 0] > 0.7].max():.2f} mm")


if __name__ == "__main__":
    main()
