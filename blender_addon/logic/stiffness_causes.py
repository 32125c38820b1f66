# SPDX-License-Identifier: GPL-3.0-or-later
"""Why flesh is stiff at each vertex of the skin: what takes the most of its motion there.

Each cause leaves a share of the motion, 0 to 1; the cause that leaves the least is told, if it leaves less than `FREE_SHARE`. The shares
follow the core's own rules:

| cause | share that it leaves |
| --- | --- |
| rigid | 1 - Rigid |
| map, painted or found, and hard materials | f² w(f): flesh f is 1/f² times as stiff, and below 0.1 its sway fades by w |
| painted stiffness | one over the factor |
| thin flesh | its limit 0.6 (r + 0.005 size) at thickness r, over the usual motion of soft flesh |
| Swing Limit | the limit over the largest motion without it, where the shown motion comes near it |
| cells, or bones around | sag under one g, over that of free flesh of the same map |
| Softness, Influence | the same everywhere |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .sentences import percent

#: Share from which nothing is said to limit the flesh: that of a map of 0.45.
FREE_SHARE = 0.2
#: Share from which not even the gravest cause is named.
SMALL_SHARE = 0.6
#: Flesh below which sway fades out, and the shown depth and size shares of its limit: as in the core.
FADE_FLESH, DEPTH_SHARE, SIZE_SHARE = 0.1, 0.6, 0.005
#: Least flesh at which the sag says something about cells and bones; its quantile over free vertices counts as that of free flesh.
MIN_SAG_FLESH, SAG_QUANTILE = 0.2, 0.75
#: Flesh that counts as soft, and the quantile of its motion that counts as usual: single vertices may go far.
SOFT_FLESH, WISH_QUANTILE = 0.5, 0.9
#: Part of Swing Limit from which the core shortens motion.
SWING_SHARE = 2.0 / 3.0
#: Softness below which the dial itself makes flesh firm: a quarter of the usual sag.
FIRM_SOFTNESS = 0.25


@dataclass(frozen=True)
class Cause:
    """One cause: its name in the legend and its colour."""

    name: str
    label: str
    colour: tuple[float, float, float]


FREE = Cause("free", "free", (0.85, 0.85, 0.82))
CAUSES = (
    FREE,
    Cause("rigid", "Rigid", (0.10, 0.10, 0.12)),
    Cause("painted", "painted hard", (0.85, 0.20, 0.55)),
    Cause("automatic", "hard by the map", (0.20, 0.35, 0.85)),
    Cause("material", "hard material", (0.10, 0.60, 0.65)),
    Cause("stiffness", "painted stiff", (0.55, 0.25, 0.75)),
    Cause("thin", "thin flesh", (0.95, 0.75, 0.15)),
    Cause("swing", "Swing Limit", (0.95, 0.40, 0.10)),
    Cause("cells", "too little Detail", (0.30, 0.65, 0.25)),
    Cause("bones", "bones around", (0.55, 0.40, 0.25)),
    Cause("softness", "Softness", (0.60, 0.60, 0.90)),
    Cause("influence", "Influence", (0.60, 0.85, 0.60)),
)
INDEX = {cause.name: k for k, cause in enumerate(CAUSES)}


@dataclass(frozen=True)
class SkinFacts:
    """Measures of the flesh at each vertex; lengths in metres."""

    flesh: np.ndarray  # [n] map in force before Rigid, 0 to 1
    thickness: np.ndarray  # [n], infinite where no bone carries the skin
    sag: np.ndarray  # [n] displacement of the flesh under one g sideways
    size: float
    cell: float  # usual edge of the lattice's cells
    bones: tuple[str, ...]  # names
    weights: np.ndarray  # [n, b]
    rigid: np.ndarray | None = None
    hard: np.ndarray | None = None  # [n] share of hard materials
    materials: tuple[str, ...] = ()  # their names
    is_painted: bool | np.ndarray = False  # [n] where the map is the artist's
    stiffness: np.ndarray | None = None  # [n] painted factors
    motion: np.ndarray | None = None  # [n] largest displacement in the simulated motion before Influence
    unlimited: float = 0.0  # the largest of any vertex before limits; 0: unknown
    swing: float = 0.0  # Swing Limit, a part of the size; 0: none
    softness: float | None = 0.5  # None: pascals count
    influence: float = 1.0
    shown: np.ndarray | None = None  # [n] largest shown displacement in the simulated motion; None: `motion`


@dataclass
class StiffnessMap:
    """The cause that limits each vertex, and what every cause leaves there."""

    facts: SkinFacts
    shares: dict[str, np.ndarray] = field(default_factory=dict)  # [n] by the name of the cause
    causes: np.ndarray = field(default_factory=lambda: np.empty(0, int))  # [n] index into `CAUSES`
    gravest: np.ndarray = field(default_factory=lambda: np.empty(0, int))  # [n] the same, however much it leaves
    left: np.ndarray = field(default_factory=lambda: np.empty(0))  # [n] share that the gravest cause leaves

    @staticmethod
    def find(facts: SkinFacts) -> StiffnessMap:
        """Finds the causes."""
        n = len(facts.flesh)
        found = StiffnessMap(facts, all_shares(facts))
        names = list(found.shares)
        table = np.stack([np.broadcast_to(found.shares[name], (n,)) for name in names])
        table = np.clip(np.nan_to_num(table, nan=1.0, posinf=1.0), 0.0, 1.0)
        least = table.argmin(axis=0)
        found.left = table[least, np.arange(n)]
        found.gravest = np.array([INDEX[name] for name in names])[least]
        found.causes = np.where(found.left < FREE_SHARE, found.gravest, INDEX["free"])
        return found

    def colours(self) -> np.ndarray:
        """Returns the colour of each vertex [n, 3]: that of its cause, paler the more it leaves."""
        every = np.array([cause.colour for cause in CAUSES])
        strength = np.where(self.causes == 0, 0.0, 1.0 - 0.6 * self.left / FREE_SHARE)[:, None]
        return strength * every[self.causes] + (1.0 - strength) * np.array(FREE.colour)

    def legend(self) -> list[Cause]:
        """Returns the causes that are seen somewhere, the most frequent first."""
        counts = np.bincount(self.causes, minlength=len(CAUSES))
        return [CAUSES[k] for k in np.argsort(-counts, kind="stable") if counts[k]]

    def plain(self, vertex: int) -> str:
        """Returns in one sentence what takes the motion at a vertex, and what to do, without numbers."""
        facts, name = self.facts, CAUSES[self.causes[vertex]].name
        if name == "free" and self.left[vertex] < SMALL_SHARE:
            return f"The flesh is rather free here: what limits it most is {CAUSES[self.gravest[vertex]].label}."
        soft = "Nothing limits the flesh here: it is as soft as Softness makes it."
        return {
            "rigid": "Rigid holds the flesh here: paint Rigid less to free it.",
            "painted": "The flesh is painted hard here: paint Flesh more to soften it.",
            "automatic": "The automatic map takes this place for hard: set Kind, or paint Flesh here.",
            "material": f"A material is hard by its name ({', '.join(facts.materials)}): paint Flesh to soften it.",
            "stiffness": "Stiffness is painted high here: paint it less to soften it.",
            "thin": "The flesh is thin here, so it moves little, or bones would come out: make the body thicker, or leave it.",
            "swing": "Swing Limit holds the flesh back here: raise it to let it swing farther.",
            "cells": "The flesh is thinner here than a block of Detail, so bones hold it: raise Detail.",
            "bones": "Bones all around hold the flesh here: Paint Stiffness can make it looser.",
            "softness": "Softness makes all flesh firm: raise it.",
            "influence": "Influence takes most of the motion away everywhere: raise it.",
            "free": soft
            if facts.softness is not None
            else "Nothing limits the flesh here: it is as soft as its pascals make it.",
        }[name]

    def sentence(self, vertex: int, length: Callable[[float], str]) -> str:
        """Returns why the flesh is stiff at a vertex, in numbers, and what to do; `length` writes a length in metres."""
        facts = self.facts
        if not np.isfinite(facts.thickness[vertex]):
            where = f"Vertex {vertex}: no bone carries the skin here."
        elif facts.weights.shape[1] and facts.weights[vertex].any():
            bone = facts.bones[int(facts.weights[vertex].argmax())]
            where = (
                f"Vertex {vertex}: the flesh is {length(facts.thickness[vertex])} thick here over the bone “{bone}”."
            )
        else:
            where = f"Vertex {vertex}: the flesh is {length(facts.thickness[vertex])} thick here."
        shown = facts.influence * fade(facts.flesh[vertex])
        shown *= 1.0 if facts.rigid is None else 1.0 - facts.rigid[vertex]
        gives = f"It gives {length(shown * facts.sag[vertex])} under its own weight."
        moved = facts.motion if facts.shown is None else facts.shown
        most = "" if moved is None else f"It moves by {length(moved[vertex])} at most in this motion."
        return " ".join(filter(None, (where, gives, most, self.reason(vertex, length))))

    def reason(self, vertex: int, length: Callable[[float], str]) -> str:
        """Returns a sentence on the cause at a vertex, with the remedy."""
        facts, name = self.facts, CAUSES[self.causes[vertex]].name
        percent_left = percent(float(self.left[vertex]))
        flesh, factor = facts.flesh[vertex], 1.0 if facts.stiffness is None else facts.stiffness[vertex]
        limit = shown_limit(facts)[vertex]
        return {
            "rigid": f"Rigid leaves {percent_left} of its motion: paint Rigid less to free it.",
            "painted": f"Flesh is painted {flesh:.2g} here, which leaves {percent_left}: paint more to soften it.",
            "automatic": f"The automatic map has {flesh:.2g} here, which leaves {percent_left}: set Kind, or paint Flesh.",
            "material": f"A material is hard by its name ({', '.join(facts.materials)}): paint Flesh to soften it.",
            "stiffness": f"Stiffness is painted {factor:.2g} times as high: paint less to soften it.",
            "thin": f"So thin flesh is shown at most {length(limit)} away from its skin, or bones would come out.",
            "swing": f"Swing Limit keeps it within {length(facts.swing * facts.size)}: raise it to let it swing farther.",
            "cells": f"A block of Detail is {length(facts.cell)} wide, more than the flesh is thick, so bones hold it: raise Detail.",
            "bones": f"Bones around hold it: it gives {percent_left} of what such flesh gives elsewhere.",
            "softness": f"Softness {number(facts.softness)} makes all flesh firm: raise it.",
            "influence": f"Influence {facts.influence:.2g} takes the rest of the motion away everywhere.",
            "free": self.free_reason(vertex, percent_left),
        }[name]

    def free_reason(self, vertex: int, percent_left: str) -> str:
        """Returns the sentence where no cause takes much, with the one that takes the most."""
        if self.left[vertex] < SMALL_SHARE:
            return (
                f"It is rather free: what limits it most ({CAUSES[self.gravest[vertex]].label}) leaves {percent_left}."
            )
        softness = self.facts.softness
        makes = "its pascals make" if softness is None else f"Softness {number(softness)} makes"
        return f"Nothing limits it: it is as soft as {makes} flesh."


def number(value: float | None) -> str:
    """Returns a setting as the panel shows it."""
    return "–" if value is None else f"{value:.2g}"


def all_shares(facts: SkinFacts) -> dict[str, Any]:
    """Returns the share of the motion that each cause leaves at each vertex, [n] or one number."""
    n = len(facts.flesh)
    soft = map_share(facts.flesh)
    painted = np.broadcast_to(np.asarray(facts.is_painted), n)
    hard = np.zeros(n) if facts.hard is None else np.where(painted, 0.0, facts.hard)
    found: dict[str, Any] = {
        "rigid": 1.0 if facts.rigid is None else 1.0 - facts.rigid,
        "material": np.where(hard > 0.0, np.minimum(soft, 1.0 - hard), 1.0),
        "painted": np.where(painted, soft, 1.0),
        "automatic": np.where(painted | (hard > 0.0), 1.0, soft),
        "stiffness": 1.0 if facts.stiffness is None else 1.0 / facts.stiffness,
        "softness": 1.0
        if facts.softness is None or facts.softness >= FIRM_SOFTNESS
        else facts.softness / FIRM_SOFTNESS * FREE_SHARE,
        "influence": facts.influence,
    }
    moved = facts.sag if facts.motion is None else facts.motion
    soft_skin = facts.flesh >= SOFT_FLESH
    wish = float(np.quantile(moved[soft_skin], WISH_QUANTILE)) if soft_skin.any() else 0.0
    if wish > 0.0:
        found["thin"] = np.where(facts.flesh >= FADE_FLESH, shown_limit(facts) / wish, 1.0)
    if facts.swing > 0.0 and facts.unlimited > 0.0:
        found["swing"] = np.where(
            moved > SWING_SHARE * facts.swing * facts.size, facts.swing * facts.size / facts.unlimited, 1.0
        )
    held = held_share(facts, soft)
    narrow = facts.thickness < facts.cell
    found["cells"], found["bones"] = np.where(narrow, held, 1.0), np.where(narrow, 1.0, held)
    return found


def map_share(flesh: np.ndarray) -> np.ndarray:
    """Returns the share of the softest flesh's motion that flesh [n] of the map has."""
    return np.clip(flesh, FADE_FLESH, 1.0) ** 2 * fade(flesh)


def fade(flesh: Any) -> Any:
    """Returns the shown share of the sway of flesh [n] of the map."""
    part = np.clip(flesh / FADE_FLESH, 0.0, 1.0)
    return part * part * (3.0 - 2.0 * part)


def shown_limit(facts: SkinFacts) -> np.ndarray:
    """Returns the largest shown distance of sway at each vertex, [n] m."""
    return DEPTH_SHARE * (facts.thickness + SIZE_SHARE * facts.size)


def held_share(facts: SkinFacts, soft: np.ndarray) -> np.ndarray:
    """Returns the sag of each vertex over that of free flesh of the same map, [n]; 1 where the map leaves too little to tell."""
    expected = np.maximum(soft / (1.0 if facts.stiffness is None else facts.stiffness), 1e-12)
    counted = facts.flesh >= MIN_SAG_FLESH
    if not counted.any():
        return np.ones(len(soft))
    relative = facts.sag / expected
    usual = float(np.quantile(relative[counted], SAG_QUANTILE))
    return np.where(counted, relative / usual, 1.0) if usual > 0.0 else np.ones(len(soft))
