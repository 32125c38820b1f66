# SPDX-License-Identifier: GPL-3.0-or-later
"""Guesses how large a character is in reality, from what its file says.

The size in the file is believed wherever it can be: creatures come from 5 cm to 12 m, and what stands upright is taken for a
person, 0.5 to 3 m, unless an importer has scaled it to metres. What is called a cow is no longer than the longest cow; what
stands upright may be as tall as a person whatever it is called, as creatures of cartoons are, and so may what is many times too
large, as monsters are. A size that cannot be believed is read in centimetres or
millimetres, where that gives a usual one; else what the name says is usual; else it is 1.7 m.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from .spaces import BELIEVABLE, HUMAN, guess_height

#: Longest sides that are believed of what no name tells, metres: a mouse to a T. rex. Files of larger ones are mostly in other units.
CREATURES = (0.05, 12.0)
#: Of what no name tells and in other units, metres: people.
PEOPLE = (1.0, 2.5)
#: Units that files are made in while they say metres, in metres.
UNITS = (0.01, 0.001)
#: Usual longest sides, metres (least, most, the one to take), by words in names; the first that is found counts. Lengths with
#: tails for what goes on four legs or swims, heights for what stands.
SIZES = {
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
#: Times the largest of its kind up to which a size is taken for that; beyond it is a monster's, or its units say nothing. Animals of
#: toon libraries are up to five times as long as real ones.
FAR_OFF = 6.0
#: Words this long are found inside longer ones, too: `greatwhiteshark`. Shorter ones are found in anything: `cat` in `location`.
INSIDE = 5
WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def guess(longest: float, unit: float, upright: bool, scaled: bool, names: Iterable[str] = ()) -> float:
    """Returns the real height in metres of a character whose longest side is `longest` units, of `unit` metres each.

    upright: whether it stands as a person does; scaled: whether an importer's scale has made metres of its units; names: those
    of its objects, data and file.
    """
    metres, usual = longest * unit, usual_size(names)
    if usual is not None and not upright and usual[1] < metres <= FAR_OFF * usual[1]:
        return usual[1]
    if usual is not None:
        low, high = CREATURES[0], max(usual[1], BELIEVABLE[1])
    else:
        low, high = BELIEVABLE if upright and not scaled else CREATURES
    if low <= metres <= high:
        return metres
    if usual is not None and high < metres <= FAR_OFF * high:
        return high
    least, most, likely = usual or (*PEOPLE, HUMAN)
    found = [metres * each for each in UNITS if least <= metres * each <= most]
    if found:
        return found[0]
    return guess_height(longest, unit) if usual is None else likely


def usual_size(names: Iterable[str]) -> tuple[float, float, float] | None:
    """Returns the least, the most and the usual longest side of what names speak of, metres; None where they tell nothing."""
    words = {word.lower() for name in names for word in WORDS.findall(name)}
    words |= {"".join(WORDS.findall(name)).lower() for name in names}
    for known, size in SIZES.items():
        if any(each in words or (len(each) >= INSIDE and any(each in word for word in words)) for each in known):
            return size
    return None


def stands_upright(points: np.ndarray) -> bool:
    """Tells whether a skin [n, 3], +Z up, is as tall as a person is: its height is nearly its longest side, arms stretched or
    not, and it is much thinner one way. A few vertices far away do not count."""
    low, high = np.percentile(points, (1.0, 99.0), axis=0)
    sides = high - low
    return bool(sides[2] >= 0.8 * sides.max() and sides[:2].min() <= 0.6 * sides[2])
