# SPDX-License-Identifier: GPL-3.0-or-later
"""Guess of a character's real height, from the data of its file.

The size in the file is accepted wherever it is plausible: creatures from 5 cm to 12 m, and upright figures as persons, 0.5 to 3 m,
unless an importer has scaled them to metres. A figure named a cow is no longer than the longest cow. An upright one may be as tall
as a person whatever its name, as creatures of cartoons are, and so may one many times too large, as monsters are. An implausible
size is read in centimetres or millimetres, where that gives a usual one; else the usual size of the name applies; else it is 1.7 m.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from .spaces import CHARACTER_SIZES, DEFAULT_HEIGHT, guess_height

#: Plausible longest sides without a name, metres: a mouse to a T. rex. Files of larger ones are mostly in other units.
CREATURE_SIZES = (0.05, 12.0)
#: Plausible longest sides without a name and in other units, metres: people.
PEOPLE_SIZES = (1.0, 2.5)
#: Units, in metres, of files that claim to be in metres.
FALSE_UNITS = (0.01, 0.001)
#: Usual longest sides, metres (least, most, default), by words in names; the first match counts. Lengths with tails for animals on
#: four legs or in water, heights for standing ones.
NAMED_SIZES = {
    ("whale", "orca"): (4.0, 30.0, 12.0),
    ("sharkgirl", "mermaid"): (1.4, 2.4, 1.8),
    ("shark",): (1.0, 12.0, 4.0),
    ("dolphin",): (1.5, 4.0, 2.5),
    ("apatosaurus", "brontosaurus", "diplodocus", "sauropod", "brachiosaurus"): (10.0, 35.0, 22.0),
    ("trex", "tyrannosaurus", "rex", "dinosaur", "dino", "allosaurus"): (3.0, 14.0, 11.0),
    ("dragon", "wyvern", "kaiju"): (2.0, 40.0, 8.0),
    ("giant", "titan", "troll", "ogre", "mech", "mecha"): (2.2, 30.0, 4.0),
    ("elephant", "mammoth"): (2.0, 8.0, 6.0),
    ("giraffe",): (3.0, 6.0, 5.0),
    ("rhino", "rhinoceros", "hippo", "hippopotamus"): (2.0, 5.0, 3.7),
    ("horse", "pony", "unicorn", "donkey", "zebra"): (1.2, 3.0, 2.4),
    ("cow", "bull", "ox", "bison", "buffalo"): (1.4, 3.8, 2.6),
    ("bear", "lion", "tiger", "gorilla", "crocodile", "alligator"): (1.0, 6.0, 2.4),
    ("deer", "stag", "moose", "camel"): (1.0, 3.5, 2.0),
    ("wolf", "pig", "boar", "sheep", "goat", "dog", "husky", "seal", "panda"): (0.3, 2.5, 1.3),
    ("fox", "cat", "kitten", "puppy", "monkey", "goose", "penguin", "eagle", "turtle"): (0.2, 1.6, 0.9),
    ("rabbit", "bunny", "chicken", "hen", "duck", "owl", "crow", "raven", "parrot", "pigeon", "pufferfish"): (
        0.1, 0.9, 0.4,
    ),
    ("frog", "toad", "rat", "squirrel", "fish", "lizard", "bird", "bat", "crab"): (0.04, 0.7, 0.2),
    ("mouse", "hamster", "sparrow"): (0.03, 0.25, 0.12),
    ("spider", "wasp", "bee", "ant", "beetle", "insect", "fly", "butterfly", "scorpion"): (0.005, 0.2, 0.03),
    ("child", "kid", "boy", "girl", "toddler", "baby"): (0.5, 1.7, 1.2),
    ("human", "man", "woman", "male", "female", "person", "mannequin", "manny", "metahuman", "knight", "soldier"): (
        1.2, 2.4, 1.7,
    ),
}  # fmt: skip
#: Size, over the largest of its kind, up to which a figure counts as one of that kind; beyond it is a monster, or its units have no
#: meaning. Animals of toon libraries are up to five times as long as real ones.
MAX_OVERSIZE = 6.0
#: Least length of words that match inside longer ones, too: `greatwhiteshark`. Shorter ones match anything: `cat` in
#: `location`.
MIN_SUBSTRING_LENGTH = 5
WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def guess(longest: float, unit: float, upright: bool, scaled: bool, names: Iterable[str] = ()) -> float:
    """Returns the real height in metres of a character whose longest side is `longest` units, of `unit` metres each.

    upright: whether it stands as a person does; scaled: whether an importer's scale has made metres of its units; names: those of
    its objects, data and file.
    """
    metres, usual = longest * unit, usual_size(names)
    if usual is not None and not upright and usual[1] < metres <= MAX_OVERSIZE * usual[1]:
        return usual[1]
    if usual is not None:
        low, high = CREATURE_SIZES[0], max(usual[1], CHARACTER_SIZES[1])
    else:
        low, high = CHARACTER_SIZES if upright and not scaled else CREATURE_SIZES
    if low <= metres <= high:
        return metres
    if usual is not None and high < metres <= MAX_OVERSIZE * high:
        return high
    least, most, likely = usual or (*PEOPLE_SIZES, DEFAULT_HEIGHT)
    found = [metres * each for each in FALSE_UNITS if least <= metres * each <= most]
    if found:
        return found[0]
    return guess_height(longest, unit) if usual is None else likely


def usual_size(names: Iterable[str]) -> tuple[float, float, float] | None:
    """Returns (least, most, usual) longest side, metres, of the kind that names indicate; None without such a name."""
    words = {word.lower() for name in names for word in WORDS.findall(name)}
    words |= {"".join(WORDS.findall(name)).lower() for name in names}
    for known, size in NAMED_SIZES.items():
        if any(
            each in words or (len(each) >= MIN_SUBSTRING_LENGTH and any(each in word for word in words))
            for each in known
        ):
            return size
    return None


def stands_upright(points: np.ndarray) -> bool:
    """Returns whether a skin [n, 3], +Z up, has the proportions of a standing person.

    Its height is nearly its longest side, arms stretched or not, and it is much thinner one way. A few vertices far away do not
    count.
    """
    low, high = np.percentile(points, (1.0, 99.0), axis=0)
    sides = high - low
    return bool(sides[2] >= 0.8 * sides.max() and sides[:2].min() <= 0.6 * sides[2])
