# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones that lie inside something in a clip, and notes on them: contact moves flesh, not bones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .sentences import join_words, plural, spans

#: Largest number of bones named in one place, and of places; the rest is counted.
MAX_NAMED_BONES, MAX_NAMED_PLACES = 3, 3


@dataclass(frozen=True)
class BuriedBones:
    """Bones, by number, that lie in one place."""

    thing: int  # index among the clip's things apart from its own body; -1: the body's own flesh
    partner: int  # bone of that flesh, where it is the body's own
    bones: tuple[int, ...]  # deepest first
    frames: tuple[int, ...]
    deepest: float  # metres


def find_buried(clip: Any, frames: range, body: int = 0) -> tuple[BuriedBones, ...]:
    """Returns the buried bones in a clip that shows `frames`, for body number `body` of its scene; most frames first."""
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
        BuriedBones(
            *place, tuple(sorted(each, key=lambda bone: (-each[bone], bone))), tuple(when[place]), max(each.values())
        )
        for place, each in depths.items()
    ]
    return tuple(sorted(found, key=lambda one: (-len(one.frames), -one.deepest, one.thing, one.partner)))


def without_repeats(all_: tuple[BuriedBones, ...]) -> list[BuriedBones]:
    """Returns the places without repeats, in which two bones of the body lie in each other."""
    found: list[BuriedBones] = []
    for one in all_:
        own = [(each.bones, each.partner) for each in found if each.thing < 0]
        if one.thing < 0 and len(one.bones) == 1 and any(one.partner in a and one.bones[0] == b for a, b in own):
            continue
        found.append(one)
    return found


def buried_notes(
    all_: tuple[BuriedBones, ...], bones: tuple[str, ...], things: list[str], length: Callable[[float], str]
) -> list[str]:
    """Returns at most one sentence on bones that lie in something; `things`: their names in sentences."""
    places = without_repeats(all_)
    if not places:
        return []
    parts = []
    for one in places[:MAX_NAMED_PLACES]:
        names = [f"“{bones[bone]}”" for bone in one.bones[:MAX_NAMED_BONES]]
        more = len(one.bones) - len(names)
        names += [plural(more, "other bone")] if more else []
        lie = "lies" if len(one.bones) == 1 else "lie"
        where = things[one.thing] if one.thing >= 0 else f"the flesh of “{bones[one.partner]}”"
        deep = length(one.deepest)
        parts.append(f"{join_words(names)} {lie} up to {deep} deep in {where} in {spans(one.frames)}")
    more = len(places) - len(parts)
    parts += [f"bones lie in {plural(more, 'other place')}"] if more else []
    return [f"{', '.join(parts)}: contact moves flesh, not bones; keep them further apart."]
