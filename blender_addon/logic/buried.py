# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones that lie in something in a clip, found once, and what the artist reads about them: contact moves flesh, not bones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .sentences import listed, plural, spans

#: So many bones in one place are named, and so many places; the rest is counted.
BONES, PLACES = 3, 3


@dataclass(frozen=True)
class Buried:
    """Bones, by number, that lie in one place."""

    thing: int  # what they lie in, of what the clip counts besides its own body; -1: the flesh of the body itself
    partner: int  # whose flesh, where it is the body's own
    bones: tuple[int, ...]  # those that lie deepest first
    frames: tuple[int, ...]
    deepest: float  # metres


def buried_in(clip: Any, frames: range, body: int = 0) -> tuple[Buried, ...]:
    """Of a clip that shows `frames` and is of the body with that number in its scene; places that are there longest first."""
    depths: dict[tuple[int, int], dict[int, float]] = {}
    when: dict[tuple[int, int], list[int]] = {}
    for index, frame in enumerate(frames):
        for bone, other, partner, depth in clip.buried_bones(index):
            place = (-1, partner) if other == body else (other - (other > body), -1)
            known = depths.setdefault(place, {})
            known[bone] = max(known.get(bone, 0.0), depth)
            seen = when.setdefault(place, [])
            seen += [] if seen[-1:] == [frame] else [frame]
    found = [
        Buried(
            *place, tuple(sorted(each, key=lambda bone: (-each[bone], bone))), tuple(when[place]), max(each.values())
        )
        for place, each in depths.items()
    ]
    return tuple(sorted(found, key=lambda one: (-len(one.frames), -one.deepest, one.thing, one.partner)))


def told_once(all_: tuple[Buried, ...]) -> list[Buried]:
    """The same without those that say again that two bones of the body lie in each other."""
    found: list[Buried] = []
    for one in all_:
        own = [(each.bones, each.partner) for each in found if each.thing < 0]
        if one.thing < 0 and len(one.bones) == 1 and any(one.partner in a and one.bones[0] == b for a, b in own):
            continue
        found.append(one)
    return found


def buried_notes(
    all_: tuple[Buried, ...], bones: tuple[str, ...], things: list[str], length: Callable[[float], str]
) -> list[str]:
    """What the artist reads about bones that lie in something, at most one sentence; `things`: as sentences show them."""
    places = told_once(all_)
    if not places:
        return []
    parts = []
    for one in places[:PLACES]:
        names = [f"“{bones[bone]}”" for bone in one.bones[:BONES]]
        more = len(one.bones) - len(names)
        names += [plural(more, "other bone")] if more else []
        lie = "lies" if len(one.bones) == 1 else "lie"
        where = things[one.thing] if one.thing >= 0 else f"the flesh of “{bones[one.partner]}”"
        deep = length(one.deepest)
        parts.append(f"{listed(names)} {lie} up to {deep} deep in {where} in {spans(one.frames)}")
    more = len(places) - len(parts)
    parts += [f"bones lie in {plural(more, 'other place')}"] if more else []
    return [f"{', '.join(parts)}: contact moves flesh, not bones; keep them further apart."]
