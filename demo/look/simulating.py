# SPDX-License-Identifier: MIT OR Apache-2.0
"""A recorded mesh with flesh at the extension's defaults, simulated with the Python package alone."""

from __future__ import annotations

import importlib
import sys
import types
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from demo.look import measures
from demo.look.recording import Clip, Recording

if TYPE_CHECKING:
    import thew


def _logic(name: str):
    """Imports a module of the extension's `logic`, which needs no Blender, without the rest of the extension."""
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
"""The extension's own defaults; a test in Blender compares them."""

WALKING = 1.4
"""Walking speed of people, m/s. It is scaled by the root of the character's size, like the swing of its legs."""
WALKED, WATCHED, FINE = 0.5, 3.0, 60.0
"""Duration of the walk, s; time observed after its stop, s; frames per second of both."""
FARTHEST = 0.1
"""Share of the skin, the farthest swinging one, whose swing decides when a character is calm."""


class Character:
    """Lattice and body of one recording, made as the extension makes them."""

    def __init__(self, recording: Recording, settings: dict | None = None, body: thew.Body | None = None) -> None:
        """Builds them, or takes a body that the extension made. `settings` override the defaults by their names."""
        import thew

        chosen = {"cells_across": CELLS_ACROSS, **MATERIAL, **BODY, **MOTION, **(settings or {})}
        self.recording = recording
        self.start = chosen.pop("motion_start", cycles.AUTOMATIC)
        self.motion = {name: chosen.pop(name) for name in MOTION}
        cells, material = chosen.pop("cells_across"), {name: chosen.pop(name) for name in MATERIAL}
        self.body = body or self._build(cells, thew.Material(**material), chosen)
        self.surface, self.skeleton, self.lattice = self.body.surface, self.body.skeleton, self.body.lattice
        self.offsets = hasattr(thew.Clip, "offsets")
        if not self.offsets:  # such wheels only have bends as the lattice makes them
            del self.motion["elastic_joints"]

    def _build(self, cells: float, material: thew.Material, chosen: dict) -> thew.Body:
        import thew

        r = self.recording
        surface = thew.Surface(np.ascontiguousarray(r.rest), np.ascontiguousarray(r.triangles))
        beside = {"elsewhere": r.elsewhere} if len(r.elsewhere) else {}  # older wheels do not have it
        skeleton = thew.Skeleton(r.names, r.parents, r.heads, r.tails, **beside).refit_tails(surface, r.weights)
        lattice = thew.Lattice.enclose(surface, skeleton, r.weights, cells_across=cells)
        return thew.Body(surface, skeleton, lattice, material, region_weights=r.weights, **chosen)

    def shown(self, clip: Clip) -> np.ndarray:
        """Returns the shown vertices of one clip, metres, [f - 1, n, 3]: the skin plus the offsets of the flesh."""
        return self.simulate(clip)[1]

    @cached_property
    def calm(self) -> float:
        """Time until the flesh is calm after the character, in its rest pose, moved sideways and stopped dead, s."""
        import thew

        frame = np.arange(round((WALKED + WATCHED) * FINE) + 1)
        way = WALKING * np.sqrt(self.recording.size / 2.0) * np.minimum(frame / FINE, WALKED)
        maps = np.tile(np.eye(4), (len(frame), len(self.recording.names), 1, 1))
        maps[:, :, 0, 3] = way[:, None]
        made = thew.simulate(self.body, maps, FINE, **self.motion)
        offsets = np.stack([self._offsets(made, k, maps[k]) for k in frame[frame >= WALKED * FINE]])
        away = np.linalg.norm(offsets - offsets[-1], axis=2)
        peaks = away.max(axis=0)
        swing = np.sqrt(np.mean(away[:, peaks >= np.quantile(peaks, 1.0 - FARTHEST)] ** 2, axis=1))
        # A hundred thousandth of the size does not count as a swing.
        return measures.calm_time(swing, FINE) if swing.max() > 1e-5 * self.recording.size else 0.0

    def over_exact(self, clip: Clip, shown: np.ndarray) -> float | None:
        """Returns the sway of `shown` over that of neo-Hookean flesh in the same body at the same poses.

        The sway is the 0.9 quantile over the soft parts, or else over the thickest quarter, as in `measures.look`.
        `None` if the simulation fails or does not move.
        """
        import thew

        r = self.recording
        try:
            exact = self.simulate(clip, method="neohookean")[1]
        except thew.ThewError:
            return None
        part = r.parts.union("soft")
        if part is None:
            thick = measures.thickness(r.rest, r.heads, r.tails, r.weights)
            part = np.isfinite(thick) & (thick >= np.quantile(thick[np.isfinite(thick)], 0.75))
        ours, theirs = (np.quantile(measures.sway(clip.shown, way)[part], 0.9) for way in (shown, exact))
        return float(ours / theirs) if theirs > 1e-6 * r.size else None

    def _offsets(self, made, frame: int, pose: np.ndarray) -> np.ndarray:
        if self.offsets:
            return np.asarray(made.offsets(frame), np.float64)
        return made.positions(frame) - (self.recording.rest @ pose[0, :3, :3].T + pose[0, :3, 3])

    def simulate(self, clip: Clip, **options):
        """Simulates one clip with further settings. Returns the thew.Clip, the shown vertices, and the thew.Clip's frame for each."""
        import thew

        fps, size = self.recording.fps, self.surface.size
        begun = cycles.beginning(self.start, clip.maps, self.skeleton.heads, size, fps, 0)
        made = thew.simulate(self.body, begun.turn(clip.maps), fps, **{**self.motion, **begun.options(), **options})
        shown = clip.shown
        at = [begun.simulated_frame(frame) for frame in range(len(shown))]
        for frame, of in enumerate(at):
            shown[frame] += made.offsets(of) if self.offsets else made.positions(of) - clip.skin[frame]
        return made, shown, at
