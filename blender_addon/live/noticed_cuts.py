# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts that are noticed in the motion of flesh, and those at which it begins anew by itself."""

from __future__ import annotations

from collections.abc import Sequence

from ..logic.cuts import Carried, Cut, find_cuts
from ..logic.spaces import transform
from .build_settings import hash_of
from .flesh import BuildStages

#: Cuts found last, by the hash of the motion and the skin: every change of a setting asks again.
_found: dict[bytes, tuple[Cut, ...]] = {}
#: Largest number of motions that are remembered.
MAX_MOTIONS = 32


def find(new: BuildStages) -> tuple[Cut, ...]:
    """Returns the cuts in the motion that was read, of the whole character and of its bones."""
    motion, character, place = new.motion, new.character, new.place
    key = hash_of(motion.digest, motion.start, character.digest, new.bind_pose, place, new.build_settings.fps)
    if key not in _found:
        if len(_found) >= MAX_MOTIONS:
            _found.clear()
        rest = place.points(transform(new.bind_pose.mesh_matrix, character.rest))
        skin = Carried.from_skin(character.bones, character.parents, rest, character.weights, float(new.surface.size))
        _found[key] = find_cuts(new.motion_place.maps(motion.maps, place), skin, new.build_settings.fps, motion.start)
    return _found[key]


def automatic_restarts(new: BuildStages) -> set[int]:
    """Returns the frames of noticed cuts at which the flesh begins anew, because the artist chose that.

    A bone that pops there and back is a wrong key, no cut: it is named, and waits for the artist.
    """
    settings = new.build_settings
    found = {cut.frame for cut in find(new) if not cut.is_pop}
    return found - set(settings.passed) if settings.restart_at_cuts else set()


def common_restarts(drafts: Sequence[BuildStages]) -> tuple[int, ...]:
    """Returns the frames of cuts at which all objects that are simulated together begin anew."""
    return tuple(sorted(set().union(*(automatic_restarts(new) for new in drafts))))
