# SPDX-License-Identifier: MIT OR Apache-2.0
"""A recorded mesh with flesh at the extension's defaults, by the Python package alone."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import numpy as np

from demo.look.recording import Clip, Recording


def _logic(name: str):
    """A module of the extension's that needs no Blender, without the rest of it, which does."""
    package = types.ModuleType("thew_extension_logic")
    package.__path__ = [str(Path(__file__).resolve().parents[2] / "blender_addon" / "logic")]
    sys.modules.setdefault(package.__name__, package)
    return importlib.import_module(f"{package.__name__}.{name}")


cycles = _logic("cycles")

CELLS_ACROSS = 12
MATERIAL = {"young": 20e3, "poisson": 0.4, "density": 1000.0}
BODY = {"rest_includes_gravity": True, "softness": 0.5}
MOTION = {
    "method": "hyperelastic",
    "rate": 240.0,
    "gravity": (0.0, 0.0, -9.81),
    "mass_damping": None,
    "stiffness_damping": None,
    "max_offset": 0.15,
    "elastic_joints": 0.0,
}
"""The extension's own defaults; a test in Blender holds them together."""


class Character:
    """Lattice and body of one recording, made as the extension makes them."""

    def __init__(self, recording: Recording, settings: dict | None = None) -> None:
        """`settings` overrule the defaults, by their names."""
        import thew

        chosen = {"cells_across": CELLS_ACROSS, **MATERIAL, **BODY, **MOTION, **(settings or {})}
        self.recording = recording
        self.start = chosen.pop("motion_start", cycles.AUTOMATIC)
        self.motion = {name: chosen.pop(name) for name in MOTION}
        cells, material = chosen.pop("cells_across"), {name: chosen.pop(name) for name in MATERIAL}
        r = recording
        self.surface = thew.Surface(np.ascontiguousarray(r.rest), np.ascontiguousarray(r.triangles))
        skeleton = thew.Skeleton(r.names, r.parents, r.heads, r.tails)
        self.skeleton = skeleton.refit_tails(self.surface, r.weights)
        self.lattice = thew.Lattice.enclose(self.surface, self.skeleton, r.weights, cells_across=cells)
        parts = self.surface, self.skeleton, self.lattice, thew.Material(**material)
        self.body = thew.Body(*parts, region_weights=r.weights, **chosen)
        self.offsets = hasattr(thew.Clip, "offsets")
        if not self.offsets:  # bends as the lattice has them are all there is
            del self.motion["elastic_joints"]

    def shown(self, clip: Clip) -> np.ndarray:
        """What is shown of one clip, metres, [f - 1, n, 3]: the skin and what the flesh adds to it."""
        return self.simulated(clip)[1]

    def simulated(self, clip: Clip, **options):
        """One clip with further settings: the thew.Clip, what is shown, and which frame of the thew.Clip each frame shows."""
        import thew

        fps, size = self.recording.fps, self.surface.size
        begun = cycles.beginning(self.start, clip.maps, self.skeleton.heads, size, fps, 0)
        made = thew.simulate(self.body, begun.turn(clip.maps), fps, **self.motion, **begun.options(), **options)
        shown = clip.shown
        at = [begun.at(frame) for frame in range(len(shown))]
        for frame, of in enumerate(at):
            shown[frame] += made.offsets(of) if self.offsets else made.positions(of) - clip.skin[frame]
        return made, shown, at
