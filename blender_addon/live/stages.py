# SPDX-License-Identifier: GPL-3.0-or-later
"""Origin and scale of a body's metres, and the keys of its stages."""

from __future__ import annotations

from ..logic.spaces import MetricSpace, transform
from ..logic.twist import core_twists
from ..scene import flesh_map
from .build_settings import hash_of
from .flesh import BuildStages


def body_place(character, bind_pose, build_settings) -> MetricSpace:
    """Returns the place of the body's metres: origin at the middle of its box, scale from its height."""
    world = transform(bind_pose.mesh_matrix, character.rest)
    return MetricSpace(0.5 * (world.min(axis=0) + world.max(axis=0)), build_settings.height / bind_pose.longest_side)


def set_keys(new: BuildStages) -> None:
    """Sets place and keys of the stages from the mesh, bind pose and settings of `new`."""
    character, build_settings = new.character, new.build_settings
    new.place = body_place(character, new.bind_pose, build_settings)
    new.lattice_key = hash_of(
        character.digest,
        new.bind_pose,
        new.place.metres_per_unit,
        build_settings.cells_across,
        build_settings.limbs,
        build_settings.hand_lattice,
        build_settings.symmetric,
    )
    material = build_settings.poisson, build_settings.density, build_settings.rest_includes_gravity
    new.automatic_key = hash_of(
        new.lattice_key,
        *material,
        build_settings.kind,
        flesh_map.digest(character.hard.part),
        build_settings.levels,
    )
    twists = core_twists(build_settings.twists, character.bones, new.place.metres_per_unit)
    new.flesh_key = hash_of(new.automatic_key, character.painted.digest, *twists)
    new.body_key = hash_of(new.flesh_key, build_settings.softness, build_settings.young)
