# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact as the core is told of it, and what came of it in a clip."""

from __future__ import annotations

from typing import Any

from ..logic.contact import PARTED, Touching, contact_notes
from ..logic.native import core
from ..saved.units import length
from .build_settings import hashed


def given(built: Any) -> dict[str, Any]:
    """What a simulation is given so that the flesh of `built` touches; nothing where it is not to, or cannot."""
    contact = built.build_settings.touches
    if contact is None:
        return {}
    return {
        "contact": core().Contact(
            self_contact=contact.self_contact,
            thickness=thickness(built),
            friction=contact.friction,
            regions=built.character.ignored.regions(),
        )
    }


def thickness(built: Any) -> float:
    """What is kept between skins, metres."""
    return built.build_settings.touches.thickness * built.place.metres_per_unit


def key(built: Any) -> bytes:
    """A hash of all that contact depends on, besides the body; b"" without contact."""
    contact = built.build_settings.touches
    if contact is None:
        return b""
    return hashed(contact.self_contact, contact.thickness, contact.friction, built.character.ignored.digest)


def found(built: Any, clip: Any) -> Touching | None:
    """What touched in a clip of the motion that was read; None where nothing was to."""
    contact = built.build_settings.touches
    if contact is None:
        return None
    motion, character = built.motion, built.character
    frames = range(motion.start, motion.start + len(motion.maps) - 1)
    parted = built.build_settings.method == PARTED
    return Touching.of(
        clip,
        frames,
        character.bones,
        character.weights,
        built.surface.size,
        thickness(built),
        contact.self_contact,
        parted,
    )


def notes(built: Any) -> list[str]:
    """What the artist reads about contact, sentences: what is missing, and what touched."""
    if built.build_settings is None or built.build_settings.touches is None:
        return []
    problem = built.character.ignored.problem
    return [*([problem] if problem else []), *touched(built)]


def touched(built: Any) -> list[str]:
    """What touched in the clip, sentences with lengths as the scene shows them, in two digits."""

    def shown(metres: float) -> str:
        return length(float(f"{metres / built.place.metres_per_unit:.2g}"))

    return contact_notes(built.touching, shown)
