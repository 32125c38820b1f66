# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of bake targets. A new target is a file beside this one, and a row here."""

from __future__ import annotations

import bpy

from ..logic.errors import Refusal
from ..logic.sentences import join_words
from ..scene import bakes
from .compressed import CompressedKeys
from .helper_bones import HelperBones
from .point_caches import MDD, PC2
from .shape_keys import ShapeKeys
from .target import BakeRequest, Target
from .vertex_textures import VertexTexture

#: All targets, the default first.
TARGETS: tuple[Target, ...] = (
    ShapeKeys(),
    CompressedKeys(),
    HelperBones(),
    PC2(),
    MDD(),
    VertexTexture(),
)

#: Items of Blender's enumeration of targets.
TARGET_ITEMS = tuple((target.key, target.label, target.description) for target in TARGETS)


def target_by_key(key: str) -> Target:
    """Returns the target with this key. Raises a `Refusal` for an unknown key."""
    for target in TARGETS:
        if target.key == key:
            return target
    raise Refusal(f"There is no bake target “{key}”: there are {join_words([target.key for target in TARGETS])}")


def figures_of(target: Target, request: BakeRequest, objects: list[bpy.types.Object]) -> list[str]:
    """Returns the sentences of a target on what these objects' bakes miss, in figures that their records hold too."""
    texts = (
        [target.result_remark(obj, bakes.find(obj, request.name)) for obj in objects]
        if hasattr(target, "result_remark")
        else []
    )
    return [text for text in texts if text]


# Remove, Show Live and Show Bake reach every target through these.
bakes.kinds[:] = [target.kind for target in TARGETS]
