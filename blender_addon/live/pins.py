# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins in the core's terms: a track for each point, from the targets that were read along with the poses."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import numpy as np

from ..logic import pin_gaps, pins
from ..logic.native import core
from ..logic.pin_gaps import PinGaps
from ..logic.pins import PinPoints
from ..logic.spaces import MetricSpace, skin_linearly, transform
from .build_settings import hash_of

#: Strength from which a pin counts as holding fully.
FULL_STRENGTH = 1.0 - 1e-6


def were_read(new: Any) -> bool:
    """Returns whether the pins read along with the motion are those of the settings."""
    return new.motion.pinned == new.build_settings.pins


def key(new: Any) -> bytes:
    """Returns a hash of all that pins add to a simulation; b"" without pins."""
    return hash_of(new.motion.pinned, new.motion.pins.tobytes()) if acts(new) else b""


def acts(new: Any) -> bool:
    """Returns whether the flesh has pins, and a method for them."""
    return bool(new.build_settings.pins) and new.build_settings.method != pins.NO_PINS_METHOD


def tracks(new: Any, rows: np.ndarray, place: MetricSpace | None = None) -> tuple[list[Any], list[str]]:
    """Returns the core's tracks for targets `rows` [f, p, 17] in the metres of `place` (None: those of the motion), and their pins' names.

    A vertex belongs to the first pin that has it. A pin whose vertices all belong to earlier ones keeps them, so that the core compares
    the targets. The points of one pin are thinned to independent ones.
    """
    if not acts(new):
        return [], []
    thew, made, names, taken, place = core(), [], [], set(), place or new.motion_place
    size = float(np.linalg.norm(np.ptp(new.character.rest, axis=0)))
    for k, (name, _target, _bone, text, _values, problem, _place) in enumerate(new.motion.pinned):
        points = PinPoints.from_text(text)
        if problem or not len(points):
            continue
        vertices = points.present_vertices(new.character.rest, size)
        present = {int(v): x for v, x in zip(vertices, points.local, strict=True) if v >= 0}
        local = {v: x for v, x in present.items() if v not in taken} or present
        chosen = thew.independent_vertices(new.body, list(local), pins.MAX_POINTS) if local else []
        taken.update(chosen)
        if not chosen:
            continue
        at = place.points(pins.places(rows[:, k], np.stack([local[v] for v in chosen])))
        made += [thew.PinTrack(v, at[:, i], rows[:, k, 16]) for i, v in enumerate(chosen)]
        names += [name] * len(chosen)
    return made, names


def options(new: Any, rows: np.ndarray, place: MetricSpace | None = None) -> dict[str, Any]:
    """Returns the arguments of `thew.simulate` and `thew.Shot` for the pins; empty without pins."""
    made, _ = tracks(new, rows, place)
    return {"pins": made} if made else {}


def gaps(new: Any, clip: Any, place: MetricSpace) -> PinGaps:
    """Returns how far the pins of a draft stop short in a clip in the metres of `place`."""
    made, names = tracks(new, new.motion.pins, place)
    motion, settings = new.motion, new.build_settings
    frames = len(motion.maps) - 1
    if not made or frames < 1:
        return PinGaps()
    vertices = [track.point for track in made]
    held = np.stack([track.strengths[:frames] for track in made], axis=1) >= FULL_STRENGTH
    wanted = place.world(np.stack([track.targets[:frames] for track in made], axis=1))
    bind_pose = new.bind_pose.mesh_matrix
    rest, weights = transform(bind_pose, new.character.rest[vertices]), new.character.weights[vertices]
    skin, offsets = np.empty_like(wanted), np.zeros_like(wanted)
    for frame in range(frames):
        still = motion.matrices[frame] @ np.linalg.inv(bind_pose)
        skin[frame] = skin_linearly(weights, motion.maps[frame], rest, still)
        if held[frame].any():
            offsets[frame] = place.world_vectors(clip.offsets(frame)[vertices])
    size = new.surface.size / place.metres_per_unit
    reach = settings.simulation.max_offset
    reach = np.inf if reach is None else reach * size
    swing = np.linalg.norm(offsets, axis=-1)
    return pin_gaps.find(names, held, skin + offsets, wanted, swing, reach, pin_gaps.MIN_GAP * size)


def part(tracks_of_all: list[Any], start: int, end: int) -> list[Any]:
    """Returns the part of tracks from pose `start` to before `end`."""
    cut = slice(start, end)
    return [
        core().PinTrack(t.point, t.targets[cut], None if t.strengths is None else t.strengths[cut])
        for t in tracks_of_all
    ]


@contextmanager
def named_conflicts(new: Any):
    """Names pins in the core's errors within the context as the artist does."""
    try:
        yield
    except core().InputError as error:
        if "pin" not in str(error) or not acts(new):
            raise
        raise core().InputError(with_names(new, str(error))) from error


def with_names(new: Any, text: str) -> str:
    """Returns a sentence of the core with the names of pins in place of their numbers."""
    return pins.named_conflict(text, tracks(new, new.motion.pins)[1]) if acts(new) else text
