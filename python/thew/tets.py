# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tetrahedral bodies without a skeleton: filled from a surface, read and written, in balance and in nonlinear motion.

    tets = thew.tets.TetMesh.fill(surface)
    u = thew.tets.nonlinear_equilibrium(tets, thew.Material(), fixed, forces)

`docs/methods/volumes.md` and `docs/methods/nonlinear.md` tell more.
"""

from . import NonlinearSimulation, TetError, TetFileError, TetMesh, nonlinear_equilibrium

__all__ = ["NonlinearSimulation", "TetError", "TetFileError", "TetMesh", "nonlinear_equilibrium"]
