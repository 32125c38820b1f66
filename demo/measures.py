# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measurements of one mesh with flesh: sizes, times, and its motion relative to skin and equilibrium.

All lengths are measured in the core's metres and reported in percent of the body's size, the diagonal of its rest bounding box.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy
import numpy as np

from demo.extension import flesh_of


@dataclass
class Measures:
    """Measurements of one mesh over one clip. Lengths are fractions of the size."""

    name: str
    vertices: int
    cells: int
    lattice_vertices: int
    frames: int
    seconds: dict[str, float]
    size: float
    """Size of the body, metres."""
    closed: bool
    volume_low: float
    volume_high: float
    """Least and greatest volume over the clip, as fractions of the rest volume."""
    own: np.ndarray
    """RMS distance of the moving shape from the static equilibrium at the same pose, for each frame."""
    static_skin: float
    """Mean distance of the static equilibrium from the skinned pose, over clip and vertices."""
    far_skin: float
    """Largest distance of the moving shape from the skinned pose."""
    inverted: float
    """Largest fraction of cells that are inverted in a frame."""
    finite: bool
    notes: list[str] = field(default_factory=list)

    @property
    def own_rms(self) -> float:
        return float(np.sqrt(np.mean(self.own**2)))

    def line(self) -> str:
        """Returns the line that the demo prints."""
        volume = f"{100 * (self.volume_low - 1):+.1f}…{100 * (self.volume_high - 1):+.1f} %" if self.closed else "open"
        return (
            f"{self.name}: {self.cells} cells, {self.vertices} vertices, {sum(self.seconds.values()):.1f} s for "
            f"{self.frames} frames, volume {volume}, own motion rms {1000 * self.own_rms * self.size:.2f} mm "
            f"({100 * self.own_rms:.2f} % of the size)"
        )


def measure(obj: bpy.types.Object, seconds: dict[str, float]) -> Measures:
    """Measures a mesh whose clip was simulated. Must be called before anything changes its settings."""
    import thew

    flesh = flesh_of(obj)
    build_settings, body = flesh.build_settings, flesh.body
    rest = np.asarray(flesh.surface.vertices)
    how = build_settings.simulation
    size = float(np.linalg.norm(rest.max(axis=0) - rest.min(axis=0)))
    triangles = np.asarray(flesh.surface.triangles)
    maps = flesh.place.maps(flesh.motion.maps)
    frames = flesh.clip_end - flesh.clip_start + 1
    homogeneous = np.concatenate([rest, np.ones((len(rest), 1))], axis=1)
    rest_volume = signed_volume(rest, triangles)
    own, static, far, volumes, finite = [], [], 0.0, [], True
    for index in range(frames):
        moving = np.asarray(flesh.clip.positions(index), dtype=np.float64)
        finite = finite and bool(np.isfinite(moving).all())
        q = thew.equilibrium(body, maps[index], gravity=how.gravity, method=how.method)
        settled = np.asarray(
            body.shown(q, maps[index], how.max_offset, elastic_joints=how.elastic_joints),
            dtype=np.float64,
        )
        skinned = _skin(flesh.character.weights, maps[index], homogeneous)
        own.append(np.sqrt(np.mean(((moving - settled) ** 2).sum(axis=1))) / size)
        static.append(np.linalg.norm(settled - skinned, axis=1).mean() / size)
        far = max(far, np.linalg.norm(moving - skinned, axis=1).max() / size)
        volumes.append(signed_volume(moving, triangles) / rest_volume if rest_volume else 1.0)
    return Measures(
        name=obj.name,
        vertices=len(rest),
        cells=len(flesh.lattice.cells),
        lattice_vertices=len(flesh.lattice.vertices),
        frames=frames,
        seconds=dict(seconds),
        size=size,
        closed=bool(flesh.surface.report().closed),
        volume_low=float(min(volumes)),
        volume_high=float(max(volumes)),
        own=np.array(own),
        static_skin=float(np.mean(static)),
        far_skin=float(far),
        inverted=int(flesh.clip.inverted_cells[:frames].max()) / len(flesh.lattice.cells),
        finite=finite,
        notes=[note for note in obj.thew.made.notes.splitlines() if note],
    )


def signed_volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """Returns the volume inside a closed surface, by the divergence theorem about its centre."""
    corners = (vertices - vertices.mean(axis=0))[triangles]
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)


def _skin(weights: np.ndarray, maps: np.ndarray, homogeneous: np.ndarray) -> np.ndarray:
    """Returns the linear blend skinning in metres. A vertex without weights stays."""
    total = weights.sum(axis=1)
    share = np.divide(weights, total[:, None], out=np.zeros_like(weights), where=total[:, None] > 0.0)
    each = np.einsum("bij,nj->bni", maps[:, :3], homogeneous)
    blended = np.einsum("nb,bni->ni", share, each)
    return np.where(total[:, None] > 0.0, blended, homogeneous[:, :3])
