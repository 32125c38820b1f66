# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bone is which, by the names that rigs usually give them.

A name is cut into words at separators, capitals and digits: prefixes that say nothing (`mixamorig:`, `DEF-`, `b_`) are left
out, a side is told apart (`.L`, `_l`, `Left`, a single `L` in front), numbers are kept as an order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Words that only say that it is a bone, or whose.
EMPTY = {"mixamorig", "def", "b", "bip", "cc", "base", "jnt", "joint", "bone", "sk", "bind", "valvebiped", "j", "c"}
SIDES = {"l": "L", "left": "L", "r": "R", "right": "R"}
WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True)
class Role:
    """The stems that a bone may be called by, the likeliest first; among numbered ones the first or the last."""

    called: str  # in a sentence
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
    """(stem, side, numbers) of a bone's name: `mixamorig:LeftForeArm` -> ("forearm", "L", ())."""
    stem, side, numbers = [], "", []
    for word in WORDS.findall(name):
        plain = word.lower()
        if plain.isdigit():
            numbers.append(int(plain))
        elif plain in SIDES:
            side = SIDES[plain]
        elif plain not in EMPTY:
            for start in ("left", "right"):  # written as one word: `leftforearm`
                if plain.startswith(start) and len(plain) > len(start):
                    side, plain = SIDES[start], plain.removeprefix(start)
            stem.append(plain)
    return "".join(stem), side, tuple(numbers)


def on_other_sides(one: list[str], other: list[str]) -> bool:
    """Whether two chains of bones are one on the left and one on the right, as far as their names say."""
    sides = [{side for _, side, _ in map(words, names) if side} for names in (one, other)]
    return all(len(side) == 1 for side in sides) and sides[0] != sides[1]


def find(names: list[str], role: Role, side: str = "", parents=None) -> str | None:
    """The bone of `names` that plays `role` on `side` ("L", "R" or "" for the middle).

    parents: the place of each one's parent in `names`, or -1; then the order along a chain counts, not that of numbers
    (MakeHuman counts the spine from above).
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
    """How many bones are above bone `index`."""
    count = 0
    while parents[index] >= 0 and count <= len(parents):
        index, count = parents[index], count + 1
    return count


def rigify_spine(known, role: Role) -> str | None:
    """Rigify calls chest, neck and head `spine.003` to `spine.006`."""
    numbers = {(n[-1] if n else 0): name for name, stem, side, n in known if stem == "spine" and not side}
    if 6 not in numbers or any(stem == "head" for _, stem, _, _ in known):
        return None
    return numbers.get({CHEST: 3, NECK: 4}.get(role, -1))


def find_pair(names: list[str], role: Role, parents=None) -> list[tuple[str, str]]:
    """(side, bone) of the left and the right one, as far as they are there."""
    found = ((side, find(names, role, side, parents)) for side in ("L", "R"))
    return [(side, bone) for side, bone in found if bone is not None]
