# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles of bones, recognised by the names that rigs usually give them.

A name is cut into words at separators, capitals and digits: prefixes without meaning (`mixamorig:`, `DEF-`, `b_`) are left out, the
side is read (`.L`, `_l`, `Left`, a single `L` in front), and numbers are kept as an order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Words that only mark a bone, or its owner.
MEANINGLESS_WORDS = {
    "mixamorig",
    "def",
    "b",
    "bip",
    "cc",
    "base",
    "jnt",
    "joint",
    "bone",
    "sk",
    "bind",
    "valvebiped",
    "j",
    "c",
}
SIDES = {"l": "L", "left": "L", "r": "R", "right": "R"}
WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True)
class Role:
    """Possible name stems of a bone, the likeliest first; among numbered bones the first or the last."""

    phrase: str  # in a sentence
    stems: tuple[str, ...]
    last: bool = False


CHEST = Role(
    "the chest",
    ("upperchest", "chest", "spineupper", "upperspine", "ribcage", "ribcagemiddle", "spine", "torso", "body"),
    last=True,
)
UPPER_ARM = Role("the upper arm", ("upperarm", "uparm", "armupper", "arm", "humerus", "frontupperleg", "frontupleg"))
FOREARM = Role("the forearm", ("forearm", "lowerarm", "lowarm", "armlower", "frontlowerleg", "frontlowleg"))
NECK = Role("the neck", ("neck", "throat", "necklower"))


def words(name: str) -> tuple[str, str, tuple[int, ...]]:
    """Returns (stem, side, numbers) of a bone's name: `mixamorig:LeftForeArm` -> ("forearm", "L", ())."""
    stem, side, numbers = [], "", []
    for word in WORDS.findall(name):
        plain = word.lower()
        if plain.isdigit():
            numbers.append(int(plain))
        elif plain in SIDES:
            side = SIDES[plain]
        elif plain not in MEANINGLESS_WORDS:
            for start in ("left", "right"):  # written as one word: `leftforearm`
                if plain.startswith(start) and len(plain) > len(start):
                    side, plain = SIDES[start], plain.removeprefix(start)
            stem.append(plain)
    return "".join(stem), side, tuple(numbers)


def are_on_opposite_sides(one: list[str], other: list[str]) -> bool:
    """Returns whether the names of two chains of bones mark one as left and one as right."""
    sides = [{side for _, side, _ in map(words, names) if side} for names in (one, other)]
    return all(len(side) == 1 for side in sides) and sides[0] != sides[1]


def find(names: list[str], role: Role, side: str = "", parents=None) -> str | None:
    """Returns the bone of `names` with `role` on `side` ("L", "R" or "" for the middle).

    parents: the index of each bone's parent in `names`, or -1; then the order along a chain counts, not that of numbers (MakeHuman
    counts the spine from above).
    """
    known = [(name, *words(name)) for name in names]
    numbered = rigify_spine(known, role)
    if numbered is not None:
        return numbered
    for stem in role.stems:
        those = [
            (0 if parents is None else depth(i, parents), numbers, name)
            for i, (name, its, on, numbers) in enumerate(known)
            if its == stem and on == side
        ]
        if those:
            return (max if role.last else min)(those)[2]
    return None


def depth(index: int, parents) -> int:
    """Returns the number of bones above bone `index`."""
    count = 0
    while parents[index] >= 0 and count <= len(parents):
        index, count = parents[index], count + 1
    return count


def rigify_spine(known, role: Role) -> str | None:
    """Returns the bone of a role in Rigify's spine, where chest, neck and head are `spine.003` to `spine.006`; None in other rigs."""
    numbers = {(n[-1] if n else 0): name for name, stem, side, n in known if stem == "spine" and not side}
    if 6 not in numbers or any(stem == "head" for _, stem, _, _ in known):
        return None
    return numbers.get({CHEST: 3, NECK: 4}.get(role, -1))


def find_pair(names: list[str], role: Role, parents=None) -> list[tuple[str, str]]:
    """Returns (side, bone) of the left and the right bone, of those that exist."""
    found = ((side, find(names, role, side, parents)) for side in ("L", "R"))
    return [(side, bone) for side, bone in found if bone is not None]
