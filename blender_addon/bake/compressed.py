# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake target Compressed Keys: few keys for all clips, within the error that the artist allows.

The offsets of all clips are fitted together by the core (`thew.compress`). A clip that joins an earlier bake brings keys of its own;
clips baked together share theirs, and need fewer.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..logic import native
from ..logic.errors import Refusal
from ..logic.key_regions import bone_regions, near_regions
from ..logic.key_weights import nonnegative
from ..logic.keys import numbered_name, weight_points
from ..logic.sentences import plural
from ..logic.tasks import Task, Work
from ..saved.bakes import ThewBake
from ..scene.mesh import basis_positions
from . import bake_records
from .key_target import KeyedClip, KeyedMotion, KeyTarget
from .shape_keys import frame_offsets
from .target import BakeRequest, ClipContent, Content, Miss, PendingBake, Source

#: Largest number of regions: with more, keys move so few vertices that their names and curves outweigh them.
MAX_REGIONS = 64


class CompressedKeys(KeyTarget):
    """Few additive keys, shared by all clips that are baked together."""

    key, label = "COMPRESSED", "Compressed Keys"
    default_tolerance = 0.002  # metres: nobody sees two millimetres on a person
    description = "Few additive keys for all clips, which miss the flesh by no more than the error that you allow"

    def check_request(self, request: BakeRequest) -> None:
        """Refuses an error that is no positive length."""
        if not np.isfinite(request.tolerance) or request.tolerance <= 0.0:
            raise Refusal(
                f"Compressed Keys need an error above 0, and {1e3 * request.tolerance:g} mm is none: allow some, or bake Shape Keys, "
                "which are exact"
            )
        if not 1 <= request.regions <= MAX_REGIONS:
            raise Refusal(
                f"Compressed Keys take 1 to {MAX_REGIONS} regions, and not {request.regions}: choose another number"
            )

    def prepare(self, source: Source, space: str) -> Task:
        """Builds the task that computes the offsets of each frame."""
        return (yield from frame_offsets(source, space))

    def pack(self, pending: PendingBake) -> Task:
        """Builds the task that fits keys and weights to all clips, and measures what they miss."""
        tolerance = pending.request.tolerance
        rows = [each.content.rows for each in pending.clips]
        metres, matrices = seen_metres(pending.clips)
        regions = regions_of(pending)
        packed = yield Work(
            "Fitting keys",
            lambda progress: native.core().compress(
                [np.ascontiguousarray(each, dtype=np.float32) for each in rows],
                tolerance / metres,
                matrices=matrices,
                regions=regions,
                progress=progress,
            ),
        )
        keys, curves = nonnegative(packed.keys, packed.curves)
        name = "" if pending.request.name == self.label else pending.request.name
        first = 1 + former_key_count(pending)
        names = [numbered_name(f"{first + k:02d}", name or "Flesh") for k in range(len(keys))]
        own = range(len(keys)) if len(pending.clips) == 1 else None
        clips = [
            KeyedClip({k: weight_points(curve[:, k], each.plan.start) for k in range(len(keys))}, own)
            for each, curve in zip(pending.clips, curves, strict=True)
        ]
        pending.packed = KeyedMotion(names, keys, clips)
        pending.bake_notes = {"regions": pending.request.regions}
        pending.worst = [
            worst_miss(each, errors, vertices, metres)
            for each, errors, vertices in zip(pending.clips, packed.errors, packed.worst_vertices, strict=True)
        ]

    def describe(self, obj: bpy.types.Object, bake: ThewBake) -> str:
        """Returns the number of keys in words; "" where none are left."""
        return plural(len(bake.key_names), "compressed key") if self.has_keys(obj, bake) else ""


def regions_of(pending: PendingBake) -> np.ndarray | None:
    """Returns the region of each vertex [n], around the bones where they are known, else of near vertices; None for one region."""
    count = pending.request.regions
    if count < 2:
        return None
    rest, skin = basis_positions(pending.obj.data), pending.clips[0].content.skin
    if skin is None or len(skin.weights) != len(rest):
        return near_regions(rest, count)
    return bone_regions(np.asarray(skin.weights), rest, count)


def former_key_count(pending: PendingBake) -> int:
    """Returns the number of keys of the bake that these clips join; 0 where they replace it."""
    bake = bake_records.former(pending)
    return len(bake.key_names) if bake is not None and bake_records.kept(pending) else 0


def seen_metres(clips: list[ClipContent]) -> tuple[float, tuple | None]:
    """Returns the metres of a unit in which errors are measured, and the maps of the skeleton for `thew.compress`.

    With maps errors are measured in metres where they are seen; without, before the skeleton acts, in units of the object.
    """
    skins = [each.content.skin for each in clips]
    count = clips[0].content.rows.shape[1]
    if clips[0].content.space != "REST" or any(skin is None or len(skin.weights) != count for skin in skins):
        return clips[0].metres, None
    poses = []
    for each, skin in zip(clips, skins, strict=True):
        first = each.plan.start - skin.motion.start
        maps = skin.motion.maps[first : first + len(each.content.rows)]
        linear = skin.metres_per_unit * (maps[:, :, :3, :3] @ skin.rest_matrix[:3, :3])
        whole = np.tile(np.eye(4, dtype=np.float32), (*maps.shape[:2], 1, 1))
        whole[:, :, :3, :3] = linear
        poses.append(whole)
    return 1.0, (poses, skins[0].weights)


def worst_miss(clip: ClipContent, errors: np.ndarray, vertices: np.ndarray, metres: float) -> Miss:
    """Returns the largest distance of a clip from its flesh, with its place.

    `errors` [f] are the largest distances of each frame in a unit of `metres`, at `vertices` [f]; the result is in units of the object.
    """
    content: Content = clip.content
    if not len(errors):
        return content.worst
    at = int(np.argmax(errors))
    distance = float(errors[at]) * metres / clip.metres + content.worst.distance
    return Miss(distance, clip.plan.start + at, int(vertices[at]))
