# SPDX-License-Identifier: MIT OR Apache-2.0
"""Static balance of a bent arm, the forces that hold a shape, and the derivative of a shape by all forces."""

import numpy as np
import thew

from examples.python import shapes


def main() -> None:
    body = shapes.body()
    balance = thew.Equilibrium(body)  # what a pose needs is factored once, for any number of forces
    balance.set_pose(shapes.bent_poses(np.array([0.8]))[0])

    sagging = balance.solve()
    weightless = balance.solve(gravity=(0.0, 0.0, 0.0))
    print(f"gravity: moves the flesh by {1000 * np.abs(sagging - weightless).max():.2f} mm")

    # The inverse: which forces hold this shape? Given back, they make it again.
    wanted = sagging.copy()
    free = np.setdiff1d(np.arange(body.node_count), body.held_vertices)
    wanted[free] += [0.0, 0.0, 0.004]
    forces = balance.forces(wanted)
    print(f"inverse: {np.abs(forces).max():.3f} N at most, {np.count_nonzero(forces[body.held_vertices])} at the bones")
    again = balance.solve(forces=forces)
    print(f"again: {np.abs(again - wanted).max():.1e} m from the shape that was wanted")

    # The adjoint: how the height of one vertex of the lattice changes with every force, in one solve.
    vertex = int(free[-1])
    g = np.zeros((body.node_count, 3))
    g[vertex, 2] = 1.0
    slope = balance.adjoint(g)
    push = np.zeros((body.node_count, 3))
    push[free[0]] = [0.3, -0.2, 0.5]
    change = balance.solve(forces=push)[vertex, 2] - sagging[vertex, 2]
    print(f"adjoint: predicts {1e6 * (slope * push).sum():.4f} µm, and it is {1e6 * change:.4f} µm")


if __name__ == "__main__":
    main()
