# SPDX-License-Identifier: MIT OR Apache-2.0
"""Motions through keyframes with the least acting force, of shells, tetrahedra and bodies. [hildebrandt2012]

    shell = thew.spacetime.Shell(vertices, triangles)
    motion = thew.spacetime.Spacetime(shell, keyframes, times)
    frames = motion(numpy.arange(48) / 24)

`docs/methods/spacetime.md` and `docs/spacetime.md` tell more.
"""

from . import Composite, Shell, Spacetime, SpacetimeSettings, WigglySpline, composite

__all__ = ["Composite", "Shell", "Spacetime", "SpacetimeSettings", "WigglySpline", "composite"]
