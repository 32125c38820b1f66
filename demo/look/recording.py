# SPDX-License-Identifier: MIT OR Apache-2.0
"""A character's meshes and clips as arrays in one file: the extension's inputs to the core, and the skin that Blender shows.

With it the look can be measured and drawn repeatedly without Blender.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from demo.look import measures, parts, pieces


@dataclass
class Clip:
    """One range of frames of one mesh. The last pose is only used for look-ahead and is not shown."""

    name: str
    maps: np.ndarray  # [f, b, 4, 4] poses, metres
    skin: np.ndarray  # float32[f, n, 3] the plain skin as Blender's Armature modifier makes it, metres

    @property
    def shown(self) -> np.ndarray:
        """The skin of the frames that are shown, float64[f - 1, n, 3]."""
        return self.skin[:-1].astype(np.float64)


@dataclass
class Recording:
    """One skinned mesh: all that the extension passes to the core, in metres of the world about the character."""

    character: str
    mesh: str
    rest: np.ndarray  # [n, 3]
    triangles: np.ndarray  # int32[t, 3]
    edges: np.ndarray  # int32[e, 2] of Blender's mesh
    names: list[str]
    parents: np.ndarray  # int32[b]
    heads: np.ndarray  # [b, 3]
    tails: np.ndarray  # [b, 3]
    weights: np.ndarray  # [n, b] as painted
    fps: float
    clips: list[Clip] = field(default_factory=list)
    elsewhere: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))  # [o] as of thew.Skeleton
    whole: float | None = None  # size of the character, if the mesh is one of several
    body: float | None = None  # size of the body that it rides on, in the same metres

    @property
    def size(self) -> float:
        """The diagonal of the box around it at rest, metres."""
        return float(np.linalg.norm(np.ptp(self.rest, axis=0)))

    def look(self, clip: Clip, shown: np.ndarray) -> measures.Look:
        """Measures `shown` [f - 1, n, 3] relative to the skin of one of the clips."""
        r = measures.thickness(self.rest, self.heads, self.tails, self.weights)
        hard, soft = (list(parts.values()) for parts in (self.parts.hard, self.parts.soft))
        return measures.look(
            clip.shown, shown, r, self.edges, self.triangles, self.fps, self.body, hard, soft, self.whole, self.pairs
        )

    @cached_property
    def pairs(self) -> np.ndarray:
        """Vertices of pieces of the mesh that touch, int[p, 2]."""
        return pieces.touching_pairs(self.rest, self.edges)

    @cached_property
    def parts(self) -> parts.Parts:
        """The hard and the soft parts of the mesh."""
        return parts.parts_of(self.character, self.mesh, self.rest, self.names, self.weights)

    def save(self, folder: Path) -> Path:
        """Writes it into the folder as CHARACTER__MESH.npz."""
        names = ("rest", "triangles", "edges", "names", "parents", "heads", "tails", "weights", "elsewhere", "fps")
        parts = {name: np.asarray(getattr(self, name)) for name in names}
        if self.whole is not None:
            parts["whole"] = np.asarray(self.whole)
        for i, clip in enumerate(self.clips):
            parts |= {f"name_{i}": np.asarray(clip.name), f"maps_{i}": clip.maps, f"skin_{i}": clip.skin}
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in f"{self.character}__{self.mesh}")
        file = folder / f"{plain}.npz"
        np.savez(file, character=self.character, mesh=self.mesh, **parts)
        return file

    @staticmethod
    def load(file: Path) -> Recording:
        """Reads a file written by `save`."""
        with np.load(file) as parts:
            count = sum(key.startswith("maps_") for key in parts.files)
            clips = [Clip(str(parts[f"name_{i}"]), parts[f"maps_{i}"], parts[f"skin_{i}"]) for i in range(count)]
            arrays = {
                name: parts[name]
                for name in ("rest", "triangles", "edges", "parents", "heads", "tails", "weights", "elsewhere")
                if name in parts.files
            }
            names = [str(name) for name in parts["names"]]
            whole = float(parts["whole"]) if "whole" in parts.files else None
            return Recording(
                str(parts["character"]), str(parts["mesh"]),
                names=names, fps=float(parts["fps"]), clips=clips, whole=whole, **arrays,
            )  # fmt: skip
