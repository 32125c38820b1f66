# SPDX-License-Identifier: GPL-3.0-or-later
"""What touched in a clip, found once, and what the artist reads about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .buried import Buried, buried_in, buried_notes
from .errors import sentence
from .played import Led, Played
from .sentences import listed, plural, spans

#: The methods whose flesh can touch.
METHODS = frozenset({"hyperelastic", "warped", "warped_vertex", "linear", "modal"})

#: Of these the one of which the surface alone is parted, frame by frame, and what the panel says with it.
PARTED = "modal"
CARRIED = "hyperelastic"
"""The method that shows bent joints as the core's joint shape has them, and of its lattice's own bend only what parts folds."""
ON_THE_SURFACE = "With Modal the surface alone is parted in each frame: nothing is pushed, and nothing rubs."

#: The methods whose flesh can be simulated together with other flesh, and what the panel says with any other.
TOGETHER = METHODS - {PARTED}
ALONE = "With this method it touches no other flesh: choose Hyperelastic under Advanced"

#: What the panel says with any other method.
UNTOUCHABLE = "This method knows no contact: choose Hyperelastic under Advanced."

#: Skins that overlap by less than this part of the body's size lie on each other, for all that can be seen. A millimetre of a person; the
#: core overlooks bones that lie in something by as much.
VISIBLE = 5e-4

#: So many pairs of parts are named; the rest is counted. With more it is no sentence any more.
NAMED = 3

#: So much more of the joints' elastic shape shows that a fold of the skin was parted, 0 to 1.
FOLDED = 0.05


@dataclass(frozen=True)
class Thing:
    """Something besides the body that its flesh touches: other flesh, or what it collides with."""

    name: str  # as sentences show it
    gap: float = 0.0  # what is kept from it besides the thickness of the flesh, metres


@dataclass(frozen=True)
class Pair:
    """Two parts that touch, by number: the bones that weigh most there, or a bone and a thing."""

    parts: tuple[int, int]
    frames: tuple[int, ...]
    force: float  # N, all frames added up


@dataclass(frozen=True)
class Met:
    """What touched of one kind, the body itself or other things, in the frames of a clip."""

    frames: tuple[int, ...] = ()  # in which anything touched
    pairs: tuple[Pair, ...] = ()  # those that press most first
    deepest: float = 0.0  # metres: how far skins overlap at most
    worst: int = 0  # the frame in which they do
    left: int = 0  # points that visibly overlap in that frame


class Meeting:
    """Gathers a `Met` frame by frame."""

    def __init__(self, size: float, ordered: bool, parted: bool) -> None:
        """`ordered`: the two parts of a pair are of different kinds; `parted`: on the surface alone, without forces."""
        self.size, self.ordered, self.parted = size, ordered, parted
        self.frames: list[int] = []
        self.deepest, self.worst, self.left = 0.0, 0, 0
        self.forces: dict[tuple[int, int], float] = {}
        self.when: dict[tuple[int, int], list[int]] = {}

    def add(self, frame: int, both: np.ndarray, force: np.ndarray, overlaps: np.ndarray, known: np.ndarray) -> None:
        """Contacts of one frame: parts [c, 2], forces [c] (N), overlaps [c] (m), and of which both parts are known, bool[c]."""
        meet = (force > 0.0) | (overlaps > 0.0) | self.parted  # others have parted just now
        if not meet.any():
            return
        self.frames.append(frame)
        if overlaps.max() > self.deepest:
            self.deepest, self.worst = float(overlaps.max()), frame
            self.left = int((overlaps > VISIBLE * self.size).sum())
        known = meet & known
        told = both[known] if self.ordered else np.sort(both[known], axis=1)
        pairs, which = np.unique(told, axis=0, return_inverse=True)
        pressed = np.bincount(which.ravel(), force[known], len(pairs))
        for (a, b), much in zip(pairs.tolist(), pressed.tolist(), strict=True):
            self.forces[a, b] = self.forces.get((a, b), 0.0) + much
            self.when.setdefault((a, b), []).append(frame)

    def met(self) -> Met:
        """All of it."""
        ranked = sorted(self.forces, key=lambda pair: (-self.forces[pair], pair))
        pairs = tuple(Pair(pair, tuple(self.when[pair]), self.forces[pair]) for pair in ranked)
        return Met(tuple(self.frames), pairs, self.deepest, self.worst, self.left)


@dataclass(frozen=True)
class Touching:
    """What touched in the frames of a clip."""

    size: float  # of the body, metres
    bones: tuple[str, ...]
    things: tuple[Thing, ...]  # what else it was to touch
    itself: Met | None = None  # None: the body was not to touch itself
    others: Met = Met()  # pairs are of a bone, or one more than there are where none weighs, and a thing
    strongest: float = 0.0  # the largest force of a contact, N
    held: tuple[int, ...] = ()  # frames with cells that bones alone hold folded
    buried: tuple[Buried, ...] = ()  # bones that lie in something
    folded: tuple[int, ...] = ()  # frames in which folds of the skin itself were parted
    may_stiffen: bool = False  # more Elastic Joints would part more of the skin's folds

    @staticmethod
    def of(
        clip: Any,
        frames: range,
        bones: list[str],
        weights: np.ndarray,
        size: float,
        thickness: float,
        itself: bool = True,
        things: Sequence[Thing] = (),
        parted: bool = False,
        body: int = 0,
        may_stiffen: bool = False,
    ) -> Touching:
        """Of a clip that shows `frames`; weights [n, b] say of which bone a vertex is, `thickness` is kept between skins, metres;
        `parted`: on the surface alone, without forces; `may_stiffen`: its joints could be more elastic.

        `body`: which of the bodies of the clip's scene it is; all that it counts besides are the `things`, in that order.
        """
        weighs_most = np.where(weights.any(axis=1), weights.argmax(axis=1), len(bones))
        gaps = [thing.gap for thing in things]
        kept = thickness + np.array([*gaps[:body], 0.0, *gaps[body:]])
        own, others, strongest = Meeting(size, False, parted), Meeting(size, True, parted), 0.0
        for index, frame in enumerate(frames):
            contacts = clip.contacts(index)
            if not len(contacts):
                continue
            other = np.asarray(contacts.others)
            force, overlaps = np.linalg.norm(contacts.forces, axis=1), -(np.asarray(contacts.gaps) + kept[other])
            strongest = max(strongest, float(force.max()))
            part, mine = weighs_most[contacts.vertices], other == body
            partner = other - (other > body)
            partner[mine] = weighs_most[np.asarray(contacts.partners)[mine]]
            both = np.stack([part, partner], axis=1)
            known = (both < len(bones)).all(axis=1)
            own.add(frame, both[mine], force[mine], overlaps[mine], known[mine])
            others.add(frame, both[~mine], force[~mine], overlaps[~mine], np.ones((~mine).sum(), dtype=bool))
        held = tuple(frame for index, frame in enumerate(frames) if held_at(clip, index))
        met = own.met() if itself else None
        folded = tuple(frame for index, frame in enumerate(frames) if clip.folds(index).max(initial=0.0) > FOLDED)
        return Touching(
            size, tuple(bones), tuple(things), met, others.met(), strongest, held,
            buried_in(clip, frames, body), folded, may_stiffen,
        )  # fmt: skip


def held_at(clip: Any, index: int) -> int:
    """How many cells bones alone hold near inversion at frame `index` of what a clip shows."""
    clip, at = clip.simulated(index) if isinstance(clip, (Played, Led)) else (clip, index)
    counts = clip.held_cells
    return int(counts[at % len(counts)])


def said_of(touching: Touching, known: str) -> list[str]:
    """Which parts touch which others, and when, unless these are the frames that are `known` already."""
    partners: dict[tuple[int, str], list[int]] = {}  # by the part that touches and the words for the frames
    for pair in touching.itself.pairs[:NAMED]:
        one, other = pair.parts
        when = spans(pair.frames)
        if (other, when) in partners and (one, when) not in partners:
            one, other = other, one
        partners.setdefault((one, when), []).append(other)
    names = touching.bones
    return [
        f"“{names[one]}” touches {listed(['itself' if other == one else f'“{names[other]}”' for other in others])}"
        f"{f' in {when}' if when != known else ''}"
        for (one, when), others in partners.items()
    ]


def said_of_things(touching: Touching) -> list[str]:
    """Which parts touch which things, and when."""
    parts: dict[tuple[str, str], list[str]] = {}  # by the thing and the words for the frames
    for pair in touching.others.pairs[:NAMED]:
        bone, thing = pair.parts
        name = f"“{touching.bones[bone]}”" if bone < len(touching.bones) else "skin that no bone carries"
        names = parts.setdefault((touching.things[thing].name, spans(pair.frames)), [])
        names += [] if name in names else [name]
    return [
        f"{listed(names)} {'touches' if len(names) == 1 else 'touch'} {thing} in {when}"
        for (thing, when), names in parts.items()
    ]


def left_over(met: Met, size: float, length: Callable[[float], str]) -> str:
    """What is seen to overlap still, to go on a sentence with; "" where nothing does."""
    if met.deepest <= VISIBLE * size or not met.left:
        return ""
    points = plural(met.left, "point still overlaps, by", "points still overlap, by up to")
    return f"; {points} {length(met.deepest)} in frame {met.worst}"


def contact_notes(touching: Touching | None, length: Callable[[float], str]) -> list[str]:
    """What the artist reads about contact in a clip, sentences; `length`: metres in the words that the scene shows them in."""
    if touching is None:
        return []
    notes, itself, others = [], touching.itself, touching.others
    touches = bool(others.frames or (itself and itself.frames))
    if (itself is not None or touching.things) and not (touches or touching.buried or touching.folded):
        notes.append("Nothing touches.")
    if itself is not None and itself.frames:
        when = spans(itself.frames)
        text = joined(said_of(touching, when), itself)
        text = f"The skin touches itself in {when}{': ' if text else ''}{text}"
        left = left_over(itself, touching.size, length)
        helps = " (Elastic Joints at 1 parts more)" if left and touching.may_stiffen else ""
        notes.append(f"{text}{left}{helps}.")
    if others.frames:
        text = joined(said_of_things(touching), others)
        notes.append(sentence(f"{text}{left_over(others, touching.size, length)}"))
    if touching.folded:
        alone = "" if touches or touching.buried else "; nothing else touches"
        notes.append(f"Folds of the skin are parted in {spans(touching.folded)}{alone}.")
    notes += buried_notes(touching.buried, touching.bones, [thing.name for thing in touching.things], length)
    if touching.held:
        notes.append(
            f"In {spans(touching.held)} bones pass through each other, or fold what they alone hold: contact cannot help there, "
            "keep those bones further apart."
        )
    return notes


def joined(parts: list[str], met: Met) -> str:
    """What touches, and how many pairs more."""
    more = len(met.pairs) - NAMED
    return ", ".join([*parts, *([plural(more, "other pair touches", "other pairs touch")] if more > 0 else [])])


def levels(forces: np.ndarray, strongest: float, count: int) -> np.ndarray:
    """Of `count` levels that of each force [c] beside the strongest: 0 hardly presses. By the root, so that light touches differ."""
    share = np.sqrt(np.clip(forces / strongest, 0.0, 1.0)) if strongest > 0.0 else np.zeros(len(forces))
    return np.minimum((share * count).astype(int), count - 1)
