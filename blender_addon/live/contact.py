# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact settings in the core's terms, and the contacts found in a clip.

`built` is everywhere the `flesh.BuildStages` of one object, with its settings, mesh and motion.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..logic.colliders import Collider, Colliders
from ..logic.contact import JOINT_SHAPE_METHOD, SURFACE_METHOD, ClipContacts, Thing, contact_notes
from ..logic.errors import Refusal
from ..logic.native import core
from ..logic.spaces import MetricSpace
from ..saved.units import length
from ..scene import colliders
from .build_settings import hash_of

#: Largest number of skin vertices for which folds are parted while the artist poses: 2 ms per thousand vertices, together 40 ms, 25
#: pictures a second.
MAX_FOLD_VERTICES = 20_000


@dataclass
class SharedData:
    """Data shared by all objects that are simulated together."""

    place: MetricSpace  # origin and scale of their metres
    #: One thew.Collider per object, for all bodies: the core counts each of these objects once.
    core_colliders: dict[colliders.ColliderRequest, Any] = field(default_factory=dict)


def contact_arguments(built: Any, collided: Colliders, common: SharedData | None = None) -> dict[str, Any]:
    """Returns the contact arguments of a simulation of `built`; empty where contact is off or the method has none.

    `collided`: the colliders at the simulated poses, or at a single pose for flesh at rest. `common`: shared with the objects that
    are simulated together (None: it is alone).
    """
    contact = built.build_settings.touches
    if contact is None:
        return {}
    arguments = {
        "contact": core().Contact(
            self_contact=contact.self_contact,
            thickness=thickness(built),
            friction=contact.friction,
            regions=built.character.ignored.regions(),
        )
    }
    if known := wanted_colliders(built, collided):
        common = common or SharedData(built.motion_place)
        for request, read in known:
            if request not in common.core_colliders:
                common.core_colliders[request] = collider(common.place, request, read)
        arguments["colliders"] = [common.core_colliders[request] for request, _ in known]
    return arguments


def parts_folds_in_pose(built: Any) -> bool:
    """Returns whether folds of the skin are parted in poses set by hand, for which the pose alone is needed."""
    contact = built.build_settings.touches
    if contact is None or not contact.self_contact or len(built.character.rest) > MAX_FOLD_VERTICES:
        return False
    return built.build_settings.method == JOINT_SHAPE_METHOD or may_stiffen(built)


def may_stiffen(built: Any) -> bool:
    """Returns whether flesh with self-contact could take more of its lattice's own bend, which parts the skin's folds.

    The default method shows joints differently: it takes of that bend what parts folds, at any share of elastic joints.
    """
    settings = built.build_settings
    parts = settings.method not in (SURFACE_METHOD, JOINT_SHAPE_METHOD)
    return settings.touches.self_contact and parts and settings.simulation.elastic_joints < 1.0


def collider(place: MetricSpace, request: colliders.ColliderRequest, read: Collider) -> Any:
    """Builds the core's collider of an object; a `Refusal` names it where the core cannot collide with it."""
    vertices, motion = read.core_motion(place)
    try:
        surface = core().Surface(vertices, place.faces(read.triangles))
        gap = request.thickness * place.metres_per_unit
        return core().Collider(surface, motion, friction=request.friction, thickness=gap)
    except core().ThewError as error:
        raise Refusal(
            f"Nothing can collide with {read.name} ({error}): repair it, or switch its Collision off"
        ) from error


def wanted_colliders(built: Any, collided: Colliders) -> list[tuple[colliders.ColliderRequest, Collider]]:
    """Returns the colliders that were read and are still wanted, each with its settings."""
    requests = {each.key: each for each in built.build_settings.collides_with}
    return [(requests[each.key], each) for each in collided.each if each.key in requests]


def thickness(built: Any) -> float:
    """Returns the gap kept between skins, metres."""
    return built.build_settings.touches.thickness * built.place.metres_per_unit


def colliders_were_read(built: Any) -> bool:
    """Returns whether the colliders read along with the motion are those that the settings now want."""
    return built.motion.colliders.reading_keys == colliders.reading_keys(built.build_settings.collides_with)


def key(built: Any, collided: Colliders) -> bytes:
    """Returns a hash of all that contact depends on apart from the body; b"" without contact."""
    contact = built.build_settings.touches
    if contact is None:
        return b""
    how = [request for request, _ in wanted_colliders(built, collided)]
    return hash_of(
        contact.self_contact, contact.thickness, contact.friction, built.character.ignored.digest, how, collided.digest
    )


def touchable_things(built: Any, place: MetricSpace | None = None) -> list[tuple[Thing, np.ndarray]]:
    """Returns the objects that the flesh collides with, in the core's order, each with the path of its middle, [f, 3].

    Paths are in the metres of `place` (None: those of the motion).
    """
    place = place or built.motion_place
    return [
        (Thing(each.name, request.thickness * place.metres_per_unit), each.path(place))
        for request, each in wanted_colliders(built, built.motion.colliders)
    ]


def touchable_things_together(members: list[Any], names: list[str], own: int) -> list[Thing]:
    """Returns what the flesh of one of several that are simulated together can touch apart from itself, in the core's order.

    First the other bodies, by their names, then all colliders of all members.
    """
    mine, made = thickness(members[own]), {}
    for member in members:
        for request, each in wanted_colliders(member, member.motion.colliders):
            made.setdefault(request, Thing(each.name, request.thickness * member.place.metres_per_unit))
    # Between two bodies the core keeps the mean of both thicknesses.
    bodies = [
        Thing(name, 0.5 * (thickness(member) - mine))
        for k, (name, member) in enumerate(zip(names, members, strict=True))
        if k != own
    ]
    return [*bodies, *made.values()]


def clip_contacts(built: Any, clip: Any, collided: list[Thing] | None = None, own: int = 0) -> ClipContacts | None:
    """Returns the contacts in a clip of the motion that was read; None where contact is off.

    `collided`: the objects to touch (None: those that were read). `own`: the index of its body in the clip's scene.
    """
    contact = built.build_settings.touches
    if contact is None:
        return None
    motion, character = built.motion, built.character
    frames = range(motion.start, motion.start + len(motion.maps) - 1)
    if collided is None:
        collided = [thing for thing, _ in touchable_things(built)]
    return ClipContacts.from_clip(
        clip,
        frames,
        character.bones,
        character.weights,
        built.surface.size,
        thickness(built),
        contact.self_contact,
        collided,
        built.build_settings.method == SURFACE_METHOD,
        own,
        may_stiffen(built),
        region_shares(built),
    )


def region_shares(built: Any) -> dict[str, np.ndarray]:
    """Returns how much each vertex of the skin belongs to the regions of flesh that the automatic map knows, by their names."""
    if built.automatic is None:
        return {}
    return {name: np.asarray(share) for name, (_, share) in built.automatic.parts().items()}


def problems(built: Any) -> list[str]:
    """Returns sentences on faults in the artist's contact settings."""
    if built.build_settings is None or built.build_settings.touches is None:
        return []
    missing = [built.character.ignored.problem] if built.character.ignored.problem else []
    return [*missing, *(built.motion.colliders.problems if built.motion is not None else ())]


def notes(built: Any) -> list[str]:
    """Returns sentences on contact for the artist: faults in the settings, and contacts found."""
    if built.build_settings is None or built.build_settings.touches is None:
        return []
    return [*problems(built), *touch_remarks(built)]


def touch_remarks(built: Any) -> list[str]:
    """Returns sentences on the contacts in the clip, lengths in scene units with two digits."""

    def length_text(metres: float) -> str:
        return length(float(f"{metres / (built.clip_place or built.place).metres_per_unit:.2g}"))

    return contact_notes(built.touching, length_text)
