# SPDX-License-Identifier: MIT OR Apache-2.0
"""A bar of jelly without a skeleton: its vibration modes, warped, its end dragged round and let go."""

import numpy as np
import thew


def main() -> None:
    bar = thew.TetMesh.grid((10, 3, 3), (1.0, 0.2, 0.2))
    nodes = bar.vertices
    flesh = thew.Material(young=1e5, poisson=0.4, density=1000.0)
    modes = thew.modes(bar, 16, flesh, fixed=nodes[:, 0] < 1e-9)
    print(f"slowest: {modes.frequencies[0]:.3f} Hz of {len(modes)} modes, none missing: {modes.verified}")

    end = int(np.argmax(nodes.sum(axis=1)))
    motion = thew.ModalSimulation(modes, step=1 / 60, gravity=(0.0, 0.0, -5.0), damping=(2.0, 0.01))
    missed = 0.0
    for step in range(1, 121):
        angle = 2.0 * np.pi * step / 120
        target = 0.2 * np.array([0.0, np.sin(angle), 1.0 - np.cos(angle)])
        motion.constrain(positions={end: target})
        motion.advance()
        missed = max(missed, float(np.linalg.norm(motion.displacements()[end] - target)))
    print(f"held: the dragged node was never more than {missed:.1e} m from its target")

    motion.constrain()
    for _ in range(600):
        motion.advance()
    rest = thew.ModalSimulation(modes, step=1 / 60, gravity=(0.0, 0.0, -5.0))
    rest.settle()
    apart = np.abs(motion.displacements() - rest.displacements()).max()
    print(f"settled: {1000 * apart:.3f} mm from the balance, ten seconds after it was let go")

    bent = rest.displacements()
    grown = [modes.displacements(rest.amplitudes, warp=warp)[end] + nodes[end] for warp in (True, False)]
    print(
        f"sag: {-bent[end, 2]:.3f} m; length warped {np.linalg.norm(grown[0]):.3f} m, linear {np.linalg.norm(grown[1]):.3f} m"
    )


if __name__ == "__main__":
    main()
