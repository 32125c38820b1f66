# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion between keyframes: built by the core once for a structure, set anew in milliseconds for all dials."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import carried_vertices, sculpts
from .errors import Refusal, sentence
from .keyframes import (
    CORE_DIAMETER,
    Key,
    KeyframePlan,
    Segment,
    core_input,
    fixed_mask,
    hold,
    motion_frame,
    segments,
    size_of,
)
from .sentences import plural

#: Points of a drawn curve. For curves 380 pixels wide one every 1.6 pixels.
CURVE_SAMPLES = 240


@dataclass
class SculptedSurface:
    """A mesh with its sculpts, welded, in object space."""

    basis: np.ndarray  # float32[n, 3]
    size: float
    welded: sculpts.WeldedSurface
    shell: Any  # thew.Shell
    rest: np.ndarray  # float64[m, 3] the points at the basis
    riders: carried_vertices.CarriedVertices | None  # vertices that the points carry along

    @staticmethod
    def weld_mesh(
        thew, basis: np.ndarray, triangles: np.ndarray, sculpted: np.ndarray, bending: float, name: str
    ) -> SculptedSurface:
        """Welds a mesh and builds its shell; `sculpted` [k, n, 3]: shapes whose parted vertices are not welded."""
        size = size_of(basis)
        welded, riders = carried_vertices.split_riders(thew, np.concatenate([basis[None], sculpted]), triangles, size)
        if not len(welded.triangles):
            raise Refusal(f"{name} has no face with an area: keyframed flesh needs a surface")
        rest = welded.gather(basis.astype(np.float64))
        shell = thew.Shell(rest, welded.triangles, bending=bending, unit=size / CORE_DIAMETER)
        return SculptedSurface(basis, size, welded, shell, rest, riders)

    def points(self, shape: np.ndarray) -> np.ndarray:
        """Returns shapes [..., n, 3] of the mesh as points of the core, [..., m, 3]."""
        return self.welded.gather(shape.astype(np.float64))

    def rider_displacements(self, points: np.ndarray) -> np.ndarray:
        """Returns the displacements of the riders from the basis, [..., r, 3], for points of the core [..., m, 3]."""
        return self.riders.carry(np.asarray(points, dtype=np.float64) - self.rest)

    def shape(self, points: np.ndarray, instead: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Returns points of the core [m, 3] as a shape of the mesh, float32[n, 3].

        Loose vertices are taken from `instead`; riders move on from there as the points did from `before`.
        """
        shape = self.welded.vertex_values(np.asarray(points, dtype=np.float64))
        shape[self.welded.loose_vertices] = instead[self.welded.loose_vertices]
        if self.riders is not None:
            own = self.riders.vertices
            shape[own] = instead[own] + self.rider_displacements(points) - self.rider_displacements(before)
        return shape.astype(np.float32)

    def energy(self, points: np.ndarray) -> float:
        """Returns the elastic energy at points of the core [m, 3], the same at any size."""
        return float(self.shell.energy(points)) / self.shell.unit**4

    def notes(self) -> list[str]:
        """Returns sentences on the mesh's doubled, riding and loose vertices."""
        notes = []
        riding, parted = (0, 0) if self.riders is None else (len(self.riders.vertices), self.riders.parted_count)
        riding -= parted
        if parted:
            count = plural(parted, "doubled vertex", "doubled vertices")
            notes.append(f"{count} that sculpts part move as one and go apart on plain curves")
        elif self.welded.doubled:
            count = plural(self.welded.doubled, "doubled vertex", "doubled vertices")
            notes.append(f"{count} move as one with the vertex in the same place")
        if riding:
            notes.append(f"{plural(riding, 'vertex', 'vertices')} of small parts ride on the surface nearest to them")
        alone = len(self.welded.loose_vertices) - riding
        if alone:
            count = plural(alone, "loose vertex follows", "loose vertices follow")
            notes.append(f"{count} plain curves, for no face holds them")
        return [sentence(text) for text in [*notes, *map(self.in_artist_terms, self.shell.report())]]

    def in_artist_terms(self, text: str, keys: Sequence[Key] = ()) -> str:
        """Returns a sentence of the core with the mesh's own vertices and the names of keyframes."""

        def vertex_text(found: re.Match) -> str:
            point = int(found[1])
            return f"vertex {self.welded.first[point]}" if point < len(self.welded.first) else found[0]

        def key_text(found: re.Match) -> str:
            index = int(found[1])
            return f"the key “{keys[index].name}”" if index < len(keys) else found[0]

        return re.sub(r"\bkeyframe (\d+)", key_text, re.sub(r"\bvertex (\d+)", vertex_text, text))


class Inbetween:
    """A built motion; `offsets` are its additions to the basis, object space."""

    def __init__(self, thew, plan: KeyframePlan, shapes: Any, name: str, progress: Callable[[float, str], bool]):
        """Builds the motion of `plan`; `shapes`: a `scene.keyframe_shapes.MeshShapes`; `name`: the object's, in quotes."""
        names = list(shapes.keys)
        self.name, self.plan = name, plan
        self.surface = SculptedSurface.weld_mesh(
            thew, shapes.basis, shapes.triangles, shapes.stack(names), plan.bending, name
        )
        self.notes = self.surface.notes()
        for each in names:
            what = f"the shape key “{each}” of {name}"
            self.notes += map(sentence, sculpts.faults(shapes.keys[each], shapes.basis, shapes.triangles, what))
        self._core, self._shapes, self._groups = thew, shapes, {}
        self._take_groups(shapes)
        self.segments, self.parts, self._points = segments(plan), [], []
        for i, segment in enumerate(self.segments):
            self.parts.append(self._build(thew, segment, i, progress))
            told_of = [sentence(self.surface.in_artist_terms(note, segment.keys)) for note in self.parts[-1].notes]
            self.notes += [text for text in told_of if text not in self.notes]
        self._spots: list[list] = [[] for _ in self.parts]
        self.adjust(plan, shapes)

    def _take_groups(self, shapes: Any) -> None:
        self._groups = {each: self.surface.welded.mask(mask) for each, mask in shapes.groups.items()}

    def _build(self, thew, segment: Segment, i: int, progress) -> Any:
        count = len(self.segments)
        points = self.surface.points(self._shapes.stack([key.name for key in segment.keys]))
        mask = fixed_mask(segment, self._groups, points.shape[1])
        if mask.all():
            raise Refusal(f"All vertices of {self.name} are fixed: make the vertex group smaller")
        points = hold(segment, points, mask, self.name, self.surface.size)
        if segment.cyclic:
            points[-1] = points[0]
        self._points.append(points)
        options, _, _ = core_input(segment, self.plan, self.start, points, self._groups)

        def part_progress(fraction: float, text: str = "") -> bool:
            return progress((i + fraction) / count, text)

        with self._named(segment):
            return thew.Spacetime(
                self.surface.shell,
                points,
                fixed=mask if mask.any() else None,
                cyclic=segment.cyclic,
                modes=self.plan.modes,
                ghosts="auto" if self.plan.ghosts else None,
                rest="body" if self.plan.rest == "BASIS" else "keyframes",
                progress=part_progress,
                **options,
            )

    @contextmanager
    def _named(self, segment: Segment) -> Iterator[None]:
        """Reports refusals of the core within the context in the artist's names."""
        try:
            yield
        except (self._core.InputError, self._core.MotionError) as error:
            raise Refusal(f"{self.name}: {self.surface.in_artist_terms(str(error), segment.keys)}") from error

    def adjust(self, plan: KeyframePlan, shapes: Any = None) -> None:
        """Applies new dials, times and velocities; `plan` has the structure that was built."""
        self.plan, self.segments = plan, segments(plan)
        if shapes is not None:
            self._take_groups(shapes)
        for segment, part, points, spots in zip(self.segments, self.parts, self._points, self._spots, strict=True):
            options, softened, wanted = core_input(segment, plan, self.start, points, self._groups)
            with self._named(segment):
                while spots:
                    part.drop(spots.pop())
                part.set(**options)
                for k in range(len(segment.keys)):
                    part.soften(k, softened.get(k))
                for spot in wanted:
                    spots.append(part.partial(spot.time, spot.points, spot.positions))
        self._whole = self._core.composite(self.parts) if len(self.parts) > 1 else self.parts[0]
        self._cached: tuple = ()
        self._reach: float | None = None
        self._besides: np.ndarray | None = None

    # display --------------------------------------------------------------------------------------------------------

    @property
    def start(self) -> float:
        """Returns the first frame of the motion (of a loop with cuts that of its first cut)."""
        return self.segments[0].keys[0].frame

    @property
    def end(self) -> float:
        """Returns the last frame."""
        return self.segments[-1].keys[-1].frame

    @property
    def reach(self) -> float:
        """Returns its largest reach over that of plain curves, in any of its segments."""
        if self._reach is None:
            self._reach = max(part.reach for part in self.parts)
        return self._reach

    def _at(self, frame: float) -> tuple[int, float]:
        """Returns the segment shown at `frame`, and the core's time."""
        frame = motion_frame(frame, self.start, self.end, self.plan.cyclic)
        i = next((i for i, s in enumerate(self.segments) if frame <= s.keys[-1].frame), len(self.segments) - 1)
        return i, (frame - self.start) / self.plan.fps * self.plan.speed

    def points(self, frame: float, plain: bool = False) -> np.ndarray:
        """Returns the points of the core at `frame`, [m, 3]."""
        i, time = self._at(frame)
        motion = self.parts[i].plain if plain else self._whole
        return np.asarray(motion(np.array([time])))[0]

    def offsets(self, frame: float, plain: bool = False) -> np.ndarray:
        """Returns what the motion adds to the basis at `frame`, object space, float32[n, 3], read only."""
        key = (frame, plain)
        if not self._cached or self._cached[0] != key:
            surface, points = self.surface, self.points(frame, plain)
            offsets = surface.welded.vertex_values(np.asarray(points, dtype=np.float64)) - surface.basis
            offsets = offsets.astype(np.float32)
            if len(surface.welded.loose_vertices):
                offsets[surface.welded.loose_vertices] = self._loose_offsets(frame, surface.welded.loose_vertices)
            if surface.riders is not None:
                offsets[surface.riders.vertices] = self._rider_offsets(frame, points)
            self._cached = (key, offsets)
        return self._cached[1]

    def _loose_offsets(self, frame: float, loose: np.ndarray) -> np.ndarray:
        """Returns offsets of loose vertices, on plain curves."""
        values = self._shapes.stack([key.name for key in self.plan.keys])[:, loose] - self.surface.basis[loose]
        return self._plain_points(frame, values)

    def _rider_offsets(self, frame: float, points: np.ndarray) -> np.ndarray:
        """Returns offsets of riders: moved by the points beneath, plus on plain curves the keys' own displacements of them."""
        own = self.surface.riders.vertices
        if self._besides is None:
            shapes = self._shapes.stack([key.name for key in self.plan.keys])
            self._besides = (
                shapes[:, own] - self.surface.basis[own] - self.surface.rider_displacements(self.surface.points(shapes))
            )
        return self.surface.rider_displacements(points) + self._plain_points(frame, self._besides)

    def _plain_points(self, frame: float, values: np.ndarray) -> np.ndarray:
        keys = self.plan.keys
        at = motion_frame(frame, keys[0].frame, keys[-1].frame, self.plan.cyclic)
        return sculpts.cubic([key.frame for key in keys], values, [at], self.plan.cyclic)[0]

    def curves(self, count: int, samples: int = CURVE_SAMPLES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns frames [s], and along the leading directions of the keys the motion and plain curves, [s, count] each."""
        frames, ours, plain = [], [], []
        for segment, part in zip(self.segments, self.parts, strict=True):
            first, last = segment.keys[0].frame, segment.keys[-1].frame
            here = max(2, round(samples * (last - first) / max(self.end - self.start, 1e-9)))
            at = np.linspace(first, last, here)
            found = part.curves((at - self.start) / self.plan.fps * self.plan.speed, count)
            frames.append(at)
            for rows, curve in zip((ours, plain), found, strict=True):
                curve = np.asarray(curve, dtype=np.float64)
                rows.append(np.pad(curve, ((0, 0), (0, count - curve.shape[1]))))
        return np.concatenate(frames), np.concatenate(ours), np.concatenate(plain)

    def model_shape(self, frame: float, vertices: list[int], positions: np.ndarray) -> np.ndarray:
        """Returns the shape at `frame` with some vertices dragged to `positions` [p, 3], object space, within the reduced space,
        float32[n, 3].
        """
        i, _ = self._at(frame)
        points = self.surface.welded.point[np.asarray(vertices, dtype=np.int64)]
        if (points < 0).any():
            raise Refusal(
                f"Vertex {vertices[int(np.flatnonzero(points < 0)[0])]} of {self.name} is loose or of a small part that rides along: "
                "drag one of a large part"
            )
        points, kept = np.unique(points, return_index=True)
        wanted = np.asarray(positions, dtype=np.float64)[kept]
        before = self.points(frame).astype(np.float64)
        shape = self.parts[i].model(before, points, wanted)
        return self.surface.shape(shape, self.surface.basis + self.offsets(frame), before)
