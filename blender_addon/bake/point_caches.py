# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake targets PC2 and MDD: files with the posed vertices of each clip, which a Mesh Cache modifier plays.

A cache holds everything up to the flesh: shape keys, modifiers before it, the armature. Modifiers behind the flesh go on acting on it.
A mesh that no armature deforms has its cache before all modifiers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import bpy
import numpy as np

from ..logic.native import core
from ..logic.sentences import plural
from ..logic.tasks import Progress, Task, span
from ..saved.bakes import ThewBake
from ..scene import bake_files, bakes, cache_playing, destination, file_states, poses
from ..scene.mesh import basis_positions, evaluated_positions, modifiers_on
from ..scene.stack import modifier_by_id
from . import bake_records, measuring
from .target import BakeRequest, Content, PendingBake, Source

#: Share of the progress of a clip that measures the flesh, where shape keys are measured too.
FLESH_SHARE = 0.7


@dataclass
class NewCache:
    """Parts of a bake that were made until now."""

    files: bake_files.NewFiles
    modifier: int = 0  # persistent id, of one that was made
    gone: list[Path] = field(default_factory=list)  # files of the clips that are replaced


class PointCache:
    """Base of both formats; `key` is also the format's name in Blender."""

    key = label = description = ""
    space = "POSED"  # whatever the object's bake space is
    writes_files = True

    def __init__(self) -> None:
        self.kind = bakes.Kind(self.key, self.describe, cache_playing.show, cache_playing.remove)

    def check(self, obj: bpy.types.Object) -> None:
        """Refuses nothing: a modifier can be added wherever flesh can."""

    def check_request(self, request: BakeRequest) -> None:
        """Refuses a folder in which nothing can be written."""
        bake_files.check_writable(bake_files.folder_of(request.folder))

    def remark(self, request: BakeRequest) -> str:
        """Returns a remark on the place of the files, or ""."""
        return bake_files.unsaved_remark(request.folder)

    def describe(self, _obj: bpy.types.Object, bake: ThewBake) -> str:
        """Returns the number of files in words; "" where none is left."""
        paths = {bake_files.played_path(clip) for clip in bake.clips if clip.file}
        found = [path for path in paths if file_states.is_file(path)]
        return plural(len(found), f"{self.label} file") if found else ""

    def prepare(self, source: Source, space: str) -> Task:
        """Builds the task that measures the posed vertices of each frame, in object space."""
        if source.subject is None:
            still = measure_still(source)
            rows = yield from span(still, 0.0, FLESH_SHARE)
            rows += yield from span(
                measuring.measure_offsets(source.scene, source.frames, source.offset), FLESH_SHARE, 1.0
            )
            return Content(rows, "REST")
        rows = yield from span(source.differences(set()), 0.0, FLESH_SHARE)
        rows += yield from span(measure_still(source), FLESH_SHARE, 1.0)
        return Content(rows, "POSED")

    def pack(self, pending: PendingBake) -> Task:
        """Packs nothing: files hold the frames as they are."""
        yield Progress(0.0, f"Writing {self.label} files")

    def write(self, pending: PendingBake) -> None:
        """Writes the files beside their places, and makes the modifier where the bake has none."""
        obj, request = pending.obj, pending.request
        folder = bake_files.folder_of(request.folder)
        pending.made = new = NewCache(bake_files.NewFiles(folder))
        mine = {*bake_files.owned_files(obj, bake_records.replaced(pending)), *destination.replaceable_files()}
        taken = set()
        suffix = cache_playing.SUFFIXES[self.key]
        for each in pending.clips:
            words = (obj.name, request.name, each.plan.name or "Scene")
            stem = bake_files.free_stem(folder, words, (suffix,), mine, taken)
            taken.add(stem)
            try:
                self.write_file(new.files.add(stem + suffix), each.content.rows, each.plan)
            except (OSError, core().ThewError) as error:
                raise bake_files.write_refusal(folder, error) from error
        bake = bake_records.former(pending)
        player = cache_playing.modifier_of(obj, bake) if bake is not None else None
        if player is None:
            first = pending.clips[0].content.space == "REST"
            player = cache_playing.add_modifier(obj, request.name, self.key, first)
            new.modifier = player.persistent_uid
        uid, owner = player.persistent_uid, bake_files.owner_in(folder)
        pending.notes = [
            {"file": bake_files.saved_path(path), "owner": owner, "modifier": uid} for _, path in new.files.moves
        ]

    def write_file(self, path: Path, rows: np.ndarray, plan) -> None:
        """Writes the frames of one clip."""
        raise NotImplementedError

    def discard(self, pending: PendingBake) -> None:
        """Removes files and modifier of an unfinished bake."""
        if pending.made is None:
            return
        pending.made.files.discard()
        made = modifier_by_id(pending.obj, pending.made.modifier)
        if made is not None:
            pending.obj.modifiers.remove(made)

    def settle(self, pending: PendingBake) -> None:
        """Moves the files to their places, all or none."""
        pending.made.files.settle()

    def swap(self, pending: PendingBake) -> list[str]:
        """Notes the files of the clips that are replaced."""
        pending.made.gone = bake_files.owned_files(pending.obj, bake_records.replaced(pending))
        return []

    def finish(self, pending: PendingBake) -> None:
        """Removes the files of the clips that are replaced."""
        files = pending.made.files
        files.finish()
        bake_files.remove_files(set(pending.made.gone) - {path for _, path in files.moves})


class PC2(PointCache):
    """Point cache of 3ds Max, read by Blender, Houdini, Maya and others."""

    key, label, description = "PC2", "PC2", "Point cache beside the .blend, played by a Mesh Cache modifier"

    def write_file(self, path: Path, rows: np.ndarray, plan) -> None:
        core().write_pc2(path, rows, start=float(plan.start))


class MDD(PointCache):
    """Point cache of LightWave."""

    key, label, description = (
        "MDD",
        "MDD",
        "Point cache of LightWave beside the .blend, played by a Mesh Cache modifier",
    )

    def write_file(self, path: Path, rows: np.ndarray, plan) -> None:
        core().write_mdd(path, rows, fps=plan.fps)


def measure_still(source: Source) -> Task:
    """Builds the task that returns the vertices of each frame before any modifier, with the artist's shape keys, float32[f, n, 3]."""
    obj, view_layer = source.obj, source.view_layer
    if obj.data.shape_keys is None:
        yield Progress(0.0, "Measuring the mesh")
        return np.tile(basis_positions(obj.data), (len(source.frames), 1, 1))

    def shape(_i: int) -> np.ndarray:
        view_layer.update()
        return evaluated_positions(obj, view_layer.depsgraph)

    shown = obj.thew.made.shows_bake
    try:
        if shown:
            bakes.show(obj, False)
        with poses.silence_handlers(), modifiers_on(obj, set(), basis=False):
            rows = yield from measuring.measure_offsets(source.scene, source.frames, shape)
    finally:
        if shown:
            bakes.show(obj, True)
    return rows
