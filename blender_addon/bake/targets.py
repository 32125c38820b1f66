# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of bake targets: a new one is a file beside this one, and a row here."""

from __future__ import annotations

from ..logic.errors import Refusal
from ..logic.sentences import listed
from ..scene import bakes
from .shape_keys import ShapeKeys
from .target import Target

#: The first is the usual one.
TARGETS: tuple[Target, ...] = (ShapeKeys(),)

#: What there is to choose from, as Blender's enumerations want it.
CHOICES = tuple((target.key, target.label, target.description) for target in TARGETS)


def by_key(key: str) -> Target:
    """The target that is called so."""
    for target in TARGETS:
        if target.key == key:
            return target
    raise Refusal(f"There is no bake target “{key}”: there are {listed([target.key for target in TARGETS])}")


# Remove, Show Live and Show Bake reach every target through these.
bakes.kinds[:] = [target.kind for target in TARGETS]
