# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact as the core is told of it, and what came of it in a clip."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..logic.colliders import Collider, Colliders
from ..logic.contact import CARRIED, PARTED, Thing, Touching, contact_notes
from ..logic.errors import Refusal
from ..logic.native import core
from ..logic.spaces import Place
from ..saved.units import length
from ..scene import colliders
from .build_settings import hashed

#: Skins of so many vertices, and lighter ones, are parted at their folds under the hand: 2 milliseconds a thousand. Together 40
#: milliseconds, 25 pictures a second.
FLUENT = 20_000


@dataclass
class Common:
    """What is the same for all that are simulated together."""

    place: Place  # where their metres lie
    made: dict[colliders.Asked, Any] = field(
        default_factory=dict
    )  # a thew.Collider of each thing: the core counts it once


def given(built: Any, collided: Colliders, common: Common | None = None) -> dict[str, Any]:
    """What a simulation is given so that the flesh of `built` touches; nothing where it is not to, or cannot.

    `collided`: what it collides with, at the poses that are simulated; a single one is for flesh at rest. `common`: with those that it
    is simulated together with (None: it is alone).
    """
    contact = built.build_settings.touches
    if contact is None:
        return {}
    told = {
        "contact": core().Contact(
            self_contact=contact.self_contact,
            thickness=thickness(built),
            friction=contact.friction,
            regions=built.character.ignored.regions(),
        )
    }
    common = common or Common(built.place)
    if known := asked_for(built, collided):
        for asked, read in known:
            if asked not in common.made:
                common.made[asked] = collider(common.place, asked, read)
        told["colliders"] = [common.made[asked] for asked, _ in known]
    return told


def folds_in_the_hand(built: Any) -> bool:
    """Whether what is posed by hand is parted where its skin folds into itself, which depends on the pose alone."""
    contact = built.build_settings.touches
    if contact is None or not contact.self_contact or len(built.character.rest) > FLUENT:
        return False
    return built.build_settings.method == CARRIED or may_stiffen(built)


def may_stiffen(built: Any) -> bool:
    """Tells whether flesh that is to touch itself could take more of its lattice's own bend, which parts the skin's own folds.

    The default method shows joints another way: of that bend it takes what parts folds, at any share of elastic joints.
    """
    settings = built.build_settings
    parts = settings.method not in (PARTED, CARRIED)
    return settings.touches.self_contact and parts and settings.elastic_joints < 1.0


def collider(place: Place, asked: colliders.Asked, read: Collider) -> Any:
    """An object as the core's collider; a `Refusal` names it where the core cannot collide with it."""
    vertices, motion = read.given(place)
    try:
        surface = core().Surface(vertices, read.triangles)
        gap = asked.thickness * place.metres_per_unit
        return core().Collider(surface, motion, friction=asked.friction, thickness=gap)
    except core().ThewError as error:
        raise Refusal(
            f"Nothing can collide with {read.name} ({error}): repair it, or switch its Collision off"
        ) from error


def asked_for(built: Any, collided: Colliders) -> list[tuple[colliders.Asked, Collider]]:
    """How the flesh collides with what was read, as far as it still is to."""
    asked = {each.key: each for each in built.build_settings.collides_with}
    return [(asked[each.key], each) for each in collided.each if each.key in asked]


def thickness(built: Any) -> float:
    """What is kept between skins, metres."""
    return built.build_settings.touches.thickness * built.place.metres_per_unit


def were_read(built: Any) -> bool:
    """Whether what the flesh is to collide with is what was read along with its motion."""
    return built.motion.colliders.asked == colliders.which(built.build_settings.collides_with)


def key(built: Any, collided: Colliders) -> bytes:
    """A hash of all that contact depends on, besides the body; b"" without contact."""
    contact = built.build_settings.touches
    if contact is None:
        return b""
    how = [asked for asked, _ in asked_for(built, collided)]
    return hashed(
        contact.self_contact, contact.thickness, contact.friction, built.character.ignored.digest, how, collided.digest
    )


def things(built: Any, place: Place | None = None) -> list[tuple[Thing, np.ndarray]]:
    """What the flesh collides with, in the order in which the core counts it, and where the middle of each goes, metres [f, 3]:
    those at `place` (None: its body's)."""
    place = place or built.place
    return [
        (Thing(each.name, asked.thickness * place.metres_per_unit), each.path(place))
        for asked, each in asked_for(built, built.motion.colliders)
    ]


def things_together(members: list[Any], names: list[str], own: int) -> list[Thing]:
    """What the flesh of one of several that are simulated together touches besides itself, in the order in which the core counts it:
    the others, by their names, then all that any of them collides with."""
    mine, made = thickness(members[own]), {}
    for member in members:
        for asked, each in asked_for(member, member.motion.colliders):
            made.setdefault(asked, Thing(each.name, asked.thickness * member.place.metres_per_unit))
    # Between two bodies the mean of both sides' thickness is kept.
    bodies = [
        Thing(name, 0.5 * (thickness(member) - mine))
        for k, (name, member) in enumerate(zip(names, members, strict=True))
        if k != own
    ]
    return [*bodies, *made.values()]


def found(built: Any, clip: Any, collided: list[Thing] | None = None, own: int = 0) -> Touching | None:
    """What touched in a clip of the motion that was read; None where nothing was to. `collided`: with what (None: as it was read);
    `own`: which body of the clip's scene it is."""
    contact = built.build_settings.touches
    if contact is None:
        return None
    motion, character = built.motion, built.character
    frames = range(motion.start, motion.start + len(motion.maps) - 1)
    if collided is None:
        collided = [thing for thing, _ in things(built)]
    return Touching.of(
        clip,
        frames,
        character.bones,
        character.weights,
        built.surface.size,
        thickness(built),
        contact.self_contact,
        collided,
        built.build_settings.method == PARTED,
        own,
        may_stiffen(built),
    )


def problems(built: Any) -> list[str]:
    """What is amiss with what the artist chose for contact, sentences."""
    if built.build_settings is None or built.build_settings.touches is None:
        return []
    missing = [built.character.ignored.problem] if built.character.ignored.problem else []
    return [*missing, *(built.motion.colliders.problems if built.motion is not None else ())]


def notes(built: Any) -> list[str]:
    """What the artist reads about contact, sentences: what is amiss, and what touched."""
    if built.build_settings is None or built.build_settings.touches is None:
        return []
    return [*problems(built), *touched(built)]


def touched(built: Any) -> list[str]:
    """What touched in the clip, sentences with lengths as the scene shows them, in two digits."""

    def shown(metres: float) -> str:
        return length(float(f"{metres / built.place.metres_per_unit:.2g}"))

    return contact_notes(built.touching, shown)
