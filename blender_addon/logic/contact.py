# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts in a clip, found once, and notes on them for the artist."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .buried_bones import BuriedBones, buried_notes, find_buried
from .errors import sentence
from .mapped_clips import CycleClip, LeadClip
from .sentences import join_words, plural, spans

#: Methods with contact.
CONTACT_METHODS = frozenset({"hyperelastic", "warped", "warped_vertex", "blended", "linear", "linearised", "modal"})

#: Method whose surface alone is parted, frame by frame. The panel's note on it is `SURFACE_ONLY_NOTE`.
SURFACE_METHOD = "modal"
JOINT_SHAPE_METHOD = "hyperelastic"
"""The method that shows bent joints by the core's joint shape; of its lattice's own bend it takes only what parts folds."""
SURFACE_ONLY_NOTE = "With Modal the surface alone is parted in each frame: nothing is pushed, and nothing rubs."

#: Methods whose flesh can be simulated together with other flesh, and the panel's note on the other methods with contact.
JOINT_METHODS = CONTACT_METHODS - {SURFACE_METHOD}
NO_OTHER_FLESH_NOTE = "With this method it touches no other flesh: choose Hyperelastic under Advanced"

#: The panel's note on a method without contact.
NO_CONTACT_NOTE = "This method does not support contact: choose Hyperelastic under Advanced."

#: Overlap, as a part of the body's size, below which skins seem to touch. A millimetre of a person; the core overlooks bones that
#: lie in something by as much.
MIN_VISIBLE_OVERLAP = 5e-4

#: Largest number of pairs of parts that are named; the others are counted. More would not fit into a sentence.
MAX_NAMED_PAIRS = 3

#: Least extra share of the joints' elastic shape, 0 to 1, that marks a parted fold of the skin.
MIN_FOLD_SHARE = 0.05


@dataclass(frozen=True)
class Thing:
    """An object that the body's flesh touches: other flesh, or a collider."""

    name: str  # for sentences
    gap: float = 0.0  # gap kept in addition to the thickness of the flesh, metres


#: Words for things that have no names.
OTHER_THINGS = "other things"

#: Regions of flesh that the automatic map knows, in words of a sentence, all in the singular.
REGIONS = {
    "belly": "the belly",
    "chest": "the chest",
    "buttocks": "flesh of the buttocks",
    "tail": "the tail",
    "cheeks": "flesh of the cheeks",
    "jowls": "flesh of the jowls",
    "ears": "flesh of the ears",
}

#: Share of a vertex from which it counts as of a region.
MIN_REGION_SHARE = 0.5


@dataclass(frozen=True)
class Region:
    """A region of flesh, with the bone that carries most of it."""

    name: str
    bone: int  # the number of bones where none carries it

    def text(self, bones: Sequence[str]) -> str:
        """Returns the region in words, with its bone: “the belly (“Spine”)”."""
        bone = f" (“{bones[self.bone]}”)" if self.bone < len(bones) else ""
        return f"{REGIONS.get(self.name, self.name)}{bone}"


def with_regions(
    part: np.ndarray, bone_count: int, shares: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, tuple[Region, ...]]:
    """Returns the part of each vertex [n], that of a bone replaced by the region that it belongs to, and the regions.

    Of several regions a vertex belongs to that with the largest share.
    """
    fitting = {name: np.asarray(share) for name, share in shares.items() if len(share) == len(part)}
    if not fitting:
        return part, ()
    table = np.stack(list(fitting.values()))
    most = np.where(table.max(axis=0) > MIN_REGION_SHARE, table.argmax(axis=0), -1)
    regions = tuple(
        Region(name, int(np.bincount(part[most == k], minlength=bone_count + 1).argmax()))
        for k, name in enumerate(fitting)
    )
    return np.where(most >= 0, bone_count + 1 + most, part), regions


@dataclass(frozen=True)
class ContactPair:
    """Two parts that touch, by number: regions of flesh, or the bones with the largest weights there, or one of these and a thing."""

    parts: tuple[int, int]  # below the number of bones: a bone; above it: a region
    frames: tuple[int, ...]
    force: float  # N, sum over all frames


@dataclass(frozen=True)
class ContactSummary:
    """Contacts of one kind, with the body itself or with other things, in the frames of a clip."""

    frames: tuple[int, ...] = ()  # frames with contact
    pairs: tuple[ContactPair, ...] = ()  # by falling force
    deepest: float = 0.0  # largest overlap of skins, metres
    worst: int = 0  # frame of the largest overlap
    overlap_count: int = 0  # number of points that visibly overlap in that frame


class ContactCollector:
    """Builds a `ContactSummary` frame by frame."""

    def __init__(self, size: float, ordered: bool, parted: bool) -> None:
        """Starts empty; `ordered`: the two parts of a pair are of different kinds; `parted`: on the surface alone, without forces."""
        self.size, self.ordered, self.parted = size, ordered, parted
        self.frames: list[int] = []
        self.deepest, self.worst, self.overlap_count = 0.0, 0, 0
        self.forces: dict[tuple[int, int], float] = {}
        self.when: dict[tuple[int, int], list[int]] = {}

    def add(self, frame: int, both: np.ndarray, force: np.ndarray, overlaps: np.ndarray, known: np.ndarray) -> None:
        """Adds the contacts of one frame: parts [c, 2], forces [c] (N), overlaps [c] (m), and whether both parts are known,
        bool[c].
        """
        meet = (force > 0.0) | (overlaps > 0.0) | self.parted  # others have just parted
        if not meet.any():
            return
        self.frames.append(frame)
        if overlaps.max() > self.deepest:
            self.deepest, self.worst = float(overlaps.max()), frame
            self.overlap_count = int((overlaps > MIN_VISIBLE_OVERLAP * self.size).sum())
        known = meet & known
        told = both[known] if self.ordered else np.sort(both[known], axis=1)
        pairs, which = np.unique(told, axis=0, return_inverse=True)
        pressed = np.bincount(which.ravel(), force[known], len(pairs))
        for (a, b), much in zip(pairs.tolist(), pressed.tolist(), strict=True):
            self.forces[a, b] = self.forces.get((a, b), 0.0) + much
            self.when.setdefault((a, b), []).append(frame)

    def summary(self) -> ContactSummary:
        """Returns the result."""
        ranked = sorted(self.forces, key=lambda pair: (-self.forces[pair], pair))
        pairs = tuple(ContactPair(pair, tuple(self.when[pair]), self.forces[pair]) for pair in ranked)
        return ContactSummary(tuple(self.frames), pairs, self.deepest, self.worst, self.overlap_count)


@dataclass(frozen=True)
class ClipContacts:
    """Contacts in the frames of a clip."""

    size: float  # of the body, metres
    bones: tuple[str, ...]
    things: tuple[Thing, ...]  # the other objects of contact
    itself: ContactSummary | None = None  # None: the body has no contact with itself
    others: ContactSummary = ContactSummary()  # pairs (bone, thing); without weights there, the number of bones
    strongest: float = 0.0  # largest force of a contact, N
    held_frames: tuple[int, ...] = ()  # frames with cells that bones alone hold folded
    buried: tuple[BuriedBones, ...] = ()  # bones that lie in something
    folded: tuple[int, ...] = ()  # frames in which folds of the skin itself were parted
    may_stiffen: bool = False  # more Elastic Joints would part more of the skin's folds
    regions: tuple[Region, ...] = ()

    def name(self, part: int) -> str:
        """Returns a part in words: its region of flesh with the bone there, or the bone; "" for skin that has neither."""
        if part < len(self.bones):
            return f"“{self.bones[part]}”"
        return "" if part == len(self.bones) else self.regions[part - len(self.bones) - 1].text(self.bones)

    @staticmethod
    def from_clip(
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
        shares: Mapping[str, np.ndarray] | None = None,
    ) -> ClipContacts:
        """Gathers the contacts of a clip that shows `frames`.

        Weights [n, b] assign vertices to bones; `thickness` is the gap between skins, metres; `parted`: on the surface alone,
        without forces; `may_stiffen`: its joints could be more elastic. `body`: its index among the bodies of the clip's scene; the
        others are the `things`, in order. `shares`: how much each vertex [n] belongs to regions of flesh, by their names.
        """
        weighs_most = np.where(weights.any(axis=1), weights.argmax(axis=1), len(bones))
        weighs_most, regions = with_regions(weighs_most, len(bones), shares or {})
        gaps = [thing.gap for thing in things]
        kept = thickness + np.array([*gaps[:body], 0.0, *gaps[body:]])
        own, others, strongest = ContactCollector(size, False, parted), ContactCollector(size, True, parted), 0.0
        for index, frame in enumerate(frames):
            contacts = clip.contacts(index)
            if not len(contacts):
                continue
            other = np.asarray(contacts.other_bodies)
            force, overlaps = np.linalg.norm(contacts.forces, axis=1), -(np.asarray(contacts.gaps) + kept[other])
            strongest = max(strongest, float(force.max()))
            part, mine = weighs_most[contacts.vertices], other == body
            partner = other - (other > body)
            partner[mine] = weighs_most[np.asarray(contacts.other_vertices)[mine]]
            both = np.stack([part, partner], axis=1)
            known = (both != len(bones)).all(axis=1)
            own.add(frame, both[mine], force[mine], overlaps[mine], known[mine])
            others.add(frame, both[~mine], force[~mine], overlaps[~mine], np.ones((~mine).sum(), dtype=bool))
        held = tuple(frame for index, frame in enumerate(frames) if held_cell_count(clip, index))
        met = own.summary() if itself else None
        folded = tuple(
            frame for index, frame in enumerate(frames) if clip.folds(index).max(initial=0.0) > MIN_FOLD_SHARE
        )
        return ClipContacts(
            size, tuple(bones), tuple(things), met, others.summary(), strongest, held,
            find_buried(clip, frames, body), folded, may_stiffen, regions,
        )  # fmt: skip


def held_cell_count(clip: Any, index: int) -> int:
    """Returns the number of cells that bones alone hold near inversion at frame `index` of a clip's display."""
    clip, at = clip.simulated_at(index) if isinstance(clip, (CycleClip, LeadClip)) else (clip, index)
    counts = clip.held_cells
    return int(counts[at % len(counts)])


def self_contact_sentences(touching: ClipContacts) -> list[str]:
    """Returns sentences on parts of the skin that touch each other, after one on the frames in which any do."""
    if touching.itself is None or not touching.itself.frames:
        return []
    known = spans(touching.itself.frames)
    partners: dict[tuple[int, str], list[int]] = {}  # by part and the words for the frames
    for pair in touching.itself.pairs[:MAX_NAMED_PAIRS]:
        one, other = sorted(pair.parts, key=lambda part: part <= len(touching.bones))  # regions first
        when = spans(pair.frames)
        if (other, when) in partners and (one, when) not in partners:
            one, other = other, one
        partners.setdefault((one, when), []).append(other)
    said = [f"The skin touches itself in {known}"]
    for (one, when), others in partners.items():
        name = touching.name(one)
        told = join_words(["itself" if other == one else touching.name(other) for other in others])
        said.append(f"There {name} touches {told}" if when == known else f"{name} touches {told} in {when}")
    return [*said, *more_pairs(touching.itself)]


def thing_contact_sentences(touching: ClipContacts) -> list[str]:
    """Returns sentences on parts of the skin that touch things."""
    parts: dict[tuple[str, str], list[str]] = {}  # by thing and the words for the frames
    for pair in touching.others.pairs[:MAX_NAMED_PAIRS]:
        bone, thing = pair.parts
        named = parts.setdefault((touching.things[thing].name, spans(pair.frames)), [])
        name = touching.name(bone) or "skin that no bone carries"
        named += [] if name in named else [name]
    said = []
    for (thing, when), names in parts.items():
        told = join_words(names)
        if len(names) == 1:
            said.append(f"{told} touches {thing} in {when}")
        elif thing == OTHER_THINGS:
            said.append(f"Other things touch {told} in {when}")
        else:
            said.append(f"{thing} touches {told} in {when}")
    return [*said, *more_pairs(touching.others)]


def more_pairs(met: ContactSummary) -> list[str]:
    """Returns a sentence on the pairs that are not named."""
    more = len(met.pairs) - MAX_NAMED_PAIRS
    return [plural(more, "other pair touches", "other pairs touch")] if more > 0 else []


def overlap_sentences(met: ContactSummary, size: float, length: Callable[[float], str]) -> list[str]:
    """Returns a sentence on overlaps that remain visible."""
    if met.deepest <= MIN_VISIBLE_OVERLAP * size or not met.overlap_count:
        return []
    deepest = length(met.deepest)
    if met.overlap_count == 1:
        return [f"1 point still overlaps, by {deepest} in frame {met.worst}"]
    return [f"{met.overlap_count} points still overlap, by up to {deepest} in frame {met.worst}"]


def contact_notes(touching: ClipContacts | None, length: Callable[[float], str]) -> list[str]:
    """Returns the artist's notes on contact in a clip; `length`: formats metres in the scene's units. Each sentence has one fact."""
    if touching is None:
        return []
    notes, itself, others = [], touching.itself, touching.others
    touches = bool(others.frames or (itself and itself.frames))
    if (itself is not None or touching.things) and not (touches or touching.buried or touching.folded):
        notes.append(["Nothing touches"])
    if itself is not None and itself.frames:
        left = overlap_sentences(itself, touching.size, length)
        helps = ["Elastic Joints at 1 parts more"] if left and touching.may_stiffen else []
        notes.append([*self_contact_sentences(touching), *left, *helps])
    if others.frames:
        notes.append([*thing_contact_sentences(touching), *overlap_sentences(others, touching.size, length)])
    if touching.folded:
        alone = [] if touches or touching.buried else ["Nothing else touches"]
        notes.append([f"Folds of the skin are parted in {spans(touching.folded)}", *alone])
    said = [" ".join(map(sentence, each)) for each in notes]
    said += buried_notes(touching.buried, touching.bones, [thing.name for thing in touching.things], length)
    if touching.held_frames:
        said.append(
            f"In {spans(touching.held_frames)} bones pass through each other, or fold what they alone hold: contact cannot help there, "
            "keep those bones further apart."
        )
    return said


def force_levels(forces: np.ndarray, strongest: float, count: int) -> np.ndarray:
    """Returns the level, of `count`, of each force [c] relative to the strongest: 0 hardly presses. By the root, so that light
    touches differ.
    """
    share = np.sqrt(np.clip(forces / strongest, 0.0, 1.0)) if strongest > 0.0 else np.zeros(len(forces))
    return np.minimum((share * count).astype(int), count - 1)
