# SPDX-License-Identifier: GPL-3.0-or-later
"""The bake target Vertex Texture: offsets of all clips in rest space as one image for engines, with a description beside it.

Positions are in the object's own space and units, as a mesh is exported. The vertex's texel is in a UV layer, since engines split and
reorder vertices. Blender plays the texture by a node group.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.native import core
from ..logic.sentences import plural
from ..logic.tasks import Progress, Task, span
from ..saved import units
from ..saved.bakes import ThewBake, ThewClip
from ..scene import bake_files, bakes, destination, file_states, texture_playing
from ..scene.mesh import basis_positions
from ..scene.stack import modifier_by_id
from ..scene.texture_playing import clip_name
from . import bake_records, tension_rows
from .shape_keys import frame_offsets
from .target import BakeRequest, PendingBake, Source

#: Formats of the image, as items of Blender's enumeration.
IMAGES = (
    ("EXR", "EXR", "Half floats: rounds by at most 1/2048 of an offset"),
    ("PNG", "PNG", "16 bits between the bounds of all offsets, for engines without EXR"),
)
#: Smallest scale of an axis that a description states; one of 0 has no length.
MIN_SCALE = 1e-6
#: Endings of the files of one texture.
SUFFIXES = (".json", ".exr", ".png")


@dataclass
class NewTexture:
    """Parts of a bake that were made until now."""

    files: bake_files.NewFiles
    former: set[Path]  # files of the former bake that no other object plays
    texels: Any = None  # [n, 2]
    layer: str = ""  # the UV layer in use
    made_layer: bool = False
    modifier: int = 0  # persistent id, of one that was made


def metres_per_unit(obj: bpy.types.Object) -> list[float]:
    """Returns the length in metres of a unit of an object's space along each of its axes, as the scene shows it."""
    return [units.metres_per_unit(bpy.context.scene) * max(size, MIN_SCALE) for size in obj.matrix_world.to_scale()]


def image_of(bake: ThewBake) -> str:
    """Returns the format of the image of a bake, an item of `IMAGES`."""
    found = any(path.with_suffix(".png").is_file() for path in bake_files.files_of(bake.clips))
    return "PNG" if found and bake.kind == VertexTexture.key else "EXR"


class VertexTexture:
    """One image for all clips of a bake."""

    key, label = "VERTEX_TEXTURE", "Vertex Texture"
    description = "Offsets of all clips as an image beside the .blend, for shaders of game engines"
    space = "REST"  # whatever the object's bake space is
    writes_files = True

    def __init__(self) -> None:
        self.kind = bakes.Kind(self.key, self.describe, texture_playing.show, texture_playing.remove)

    def check(self, obj: bpy.types.Object) -> None:
        """Refuses a mesh with no room for the UV layer."""
        texture_playing.check_layers(obj)

    def check_request(self, request: BakeRequest) -> None:
        """Refuses a folder in which nothing can be written."""
        bake_files.check_writable(bake_files.folder_of(request.folder))

    def remark(self, request: BakeRequest) -> str:
        """Returns a remark on the place of the files, or ""."""
        return bake_files.unsaved_remark(request.folder)

    def describe(self, _obj: bpy.types.Object, bake: ThewBake) -> str:
        """Returns the number of textures in words; "" where none is left."""
        paths = {bake_files.played_path(clip) for clip in bake.clips if clip.file}
        found = [path for path in paths if file_states.is_file(path)]
        return plural(len(found), "vertex texture") if found else ""

    def prepare(self, source: Source, space: str) -> Task:
        """Builds the task that computes the offsets of each frame from the basis, and the tension where the object stores it."""
        if not source.obj.thew.store_tension:
            return (yield from frame_offsets(source, "REST"))
        content = yield from span(frame_offsets(source, "REST"), 0.0, 0.5)
        tension = yield from span(tension_rows.measure_tension(source), 0.5, 1.0)
        return replace(content, tension=tension)

    def pack(self, pending: PendingBake) -> Task:
        """Collects the positions of all clips by name, those that stay among them."""
        yield Progress(0.0, "Collecting the clips")
        rest, clips, rates = basis_positions(pending.obj.data), {}, {}
        kept = bake_records.kept(pending)
        stay = zip(kept_offsets(pending.obj, kept, len(rest)), (clip.fps for clip in kept), strict=True)
        come = (((clip_name(each.plan.name), each.content.rows), each.plan.fps) for each in pending.clips)
        for (name, offsets), rate in [*stay, *come]:
            if name in clips:
                raise Refusal(
                    f"The vertex texture of {describe(pending.obj)} would hold two clips called “{name}”: rename the action, or give "
                    "the new bake a name of its own"
                )
            clips[name], rates[name] = rest + offsets, rate
        usual = pending.clips[0].plan.fps
        # Records hold single precision, in which 23.976 frames a second are another number.
        same = {name for name, rate in rates.items() if rate <= 0.0 or math.isclose(rate, usual, rel_tol=1e-6)}
        rates = [usual if name in same else rates[name] for name in clips]
        pending.packed = rest, clips, rates, tension_of_clips(pending, rest, clips)

    def write(self, pending: PendingBake) -> None:
        """Writes image and description beside their places, and makes layer and modifier where the bake has none."""
        obj, request = pending.obj, pending.request
        folder = bake_files.folder_of(request.folder)
        bake = bake_records.former(pending)
        own = bake_files.owned_files(obj, bake.clips) if bake is not None else []
        mine = {*own, *texture_playing.images_of(own)}
        pending.made = new = NewTexture(bake_files.NewFiles(folder), mine)
        mine = mine | destination.replaceable_files()
        stem = bake_files.free_stem(folder, (obj.name, request.name), SUFFIXES, mine, set())
        rest, clips, rates, tension = pending.packed
        try:
            texture = core().write_vertex_texture(
                new.files.part, clips, rest, pending.clips[0].plan.fps, request.image.lower(), name=stem, clip_fps=rates,
                space=self.space.lower(), metres_per_unit=metres_per_unit(obj), tension=tension,
            )  # fmt: skip
        except (OSError, core().ThewError) as error:
            raise bake_files.write_refusal(folder, error) from error
        new.files.add(texture.texture.name)
        description = new.files.add(texture.description.name)
        new.texels = np.asarray(texture.texels)
        layers = [clip.layer for clip in bake.clips if clip.layer in obj.data.uv_layers] if bake is not None else []
        new.made_layer = not layers
        new.layer = layers[0] if layers else texture_playing.add_layer(obj, new.texels)
        player = texture_playing.modifier_of(obj, bake) if bake is not None else None
        if player is None:
            player = texture_playing.add_modifier(obj, request.name, new.layer)
            new.modifier = player.persistent_uid
        saved = bake_files.saved_path(folder / description.name)
        note = {
            "file": saved,
            "owner": bake_files.owner_in(folder),
            "layer": new.layer,
            "modifier": player.persistent_uid,
        }
        pending.notes = [note] * len(pending.clips)

    def discard(self, pending: PendingBake) -> None:
        """Removes what an unfinished bake has made."""
        new = pending.made
        if new is None:
            return
        new.files.discard()
        made = modifier_by_id(pending.obj, new.modifier)
        if made is not None:
            texture_playing.remove_modifier(pending.obj, made)
        if new.made_layer:
            texture_playing.remove_layer(pending.obj, new.layer)

    def settle(self, pending: PendingBake) -> None:
        """Moves both files to their places, or none."""
        pending.made.files.settle()

    def swap(self, pending: PendingBake) -> list[str]:
        """Changes nothing yet: the new files are in their places."""
        return []

    def finish(self, pending: PendingBake) -> None:
        """Removes the former files, and plays the new ones; clips that stay are in them too."""
        obj, new = pending.obj, pending.made
        new.files.finish()
        bake_files.remove_files(new.former - {path for _, path in new.files.moves})
        if not new.made_layer:
            texture_playing.fill_layer(obj, new.layer, new.texels)
        note = pending.notes[0]
        for clip in bake_records.kept(pending):
            for name, value in note.items():
                setattr(clip, name, value)
        player = modifier_by_id(obj, note["modifier"])
        if player is not None:
            texture_playing.load(player, new.files.moves[-1][1])


def kept_offsets(obj: bpy.types.Object, kept: list[ThewClip], count: int) -> list[tuple[str, np.ndarray]]:
    """Returns the clips that stay, by name, with their offsets [f, n, 3]; refuses those that their files do not hold for `count` vertices."""
    former = {}
    for path in bake_files.files_of(kept):
        with suppress(OSError, core().ThewError):
            former[path] = core().read_vertex_texture(path, space="rest")
    found = []
    for clip in kept:
        name, path = clip_name(clip.name), bake_files.path_of(clip.file)
        offsets = former.get(path, {}).get(name)
        if offsets is None or offsets.shape[1] != count:
            raise Refusal(
                f"The clip “{clip.label}” of {describe(obj)} should stay in its vertex texture, and {path} does not hold it for this "
                "mesh: bake all clips anew with Replace, or give the new bake a name of its own"
            )
        found.append((name, offsets))
    return found


def tension_of_clips(
    pending: PendingBake, rest: np.ndarray, clips: dict[str, np.ndarray]
) -> dict[str, np.ndarray] | None:
    """Returns the tension of every clip by name, [f, n]; None where that of the new ones was not measured.

    Clips that stay and were written without it get that before the armature acts.
    """
    new = {clip_name(each.plan.name): each.content.tension for each in pending.clips}
    if any(values is None for values in new.values()):
        return None
    found = {}
    for clip in bake_records.kept(pending):
        name = clip_name(clip.name)
        values = core().read_vertex_texture(bake_files.path_of(clip.file), content="tension").get(name)
        found[name] = (
            tension_rows.rest_tension(pending.obj.data, rest, clips[name] - rest) if values is None else values
        )
    return found | new
