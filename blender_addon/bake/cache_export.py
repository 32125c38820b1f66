# SPDX-License-Identifier: GPL-3.0-or-later
"""Export of meshes as they are seen, over the scene's range, to USD or Alembic by Blender's own exporters.

Their switches are set so that the file holds posed vertices of every frame. Each mesh takes the attribute `velocity` along, in units of
its own space per second: Cycles and other renderers blur motion by it. The file is written beside its place and moved there. On a full
disk Blender's exporter of Alembic ends the program, and that of USD reports success: room is made sure of before, and wholeness after.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

from ..live import jobs, keyframed, riding
from ..live.session import register
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.tasks import Progress, Task, span
from ..saved import timing
from ..scene import bake_files, cache_playing, reading, stack
from ..scene.mesh import evaluated_positions, keep_active_attribute, modifiers_on
from . import baking

#: Name and layout of the attribute in which Blender's exporters, importers and Cycles look for velocities.
VELOCITY, VELOCITY_LAYOUT = "velocity", ("FLOAT_VECTOR", "POINT")
#: Bytes of a file beside its meshes, and the factor by which an estimate exceeds the files that were measured.
FILE_BYTES, SIZE_MARGIN = 65536, 1.25
#: Bytes of an entry in the table of parts of a binary USD file: a name of 16, place and length.
TABLE_ENTRY_BYTES = 32
#: Shares of the progress: of the simulation, and of measuring velocities.
SIMULATION_SHARE, VELOCITY_SHARE = 0.5, 0.2


@dataclass(frozen=True)
class CacheFormat:
    """A format of files with one mesh for each frame."""

    key: str
    label: str
    suffixes: tuple[str, ...]  # of files, the default first
    option: str  # of Blender's build that brings the exporter


FORMATS = {
    "USD": CacheFormat("USD", "USD", (".usdc", ".usd", ".usda", ".usdz"), "usd"),
    "ALEMBIC": CacheFormat("ALEMBIC", "Alembic", (".abc",), "alembic"),
}

#: Items of Blender's enumeration of formats.
FORMAT_ITEMS = (
    ("USD", "USD", "Universal Scene Description, with its animation switched on"),
    ("ALEMBIC", "Alembic", "Alembic, one sample a frame"),
)


def has_exporter(option: str) -> bool:
    """Returns whether this Blender was built with an exporter."""
    return bool(getattr(bpy.app.build_options, option, False))


def export(objects: list[bpy.types.Object], scene, view_layer, key: str, filepath: str, velocities: bool) -> Task:
    """Builds the task that exports objects, their riders too, and returns remarks for the artist."""
    form = FORMATS[key]
    path = path_for(form, filepath)
    objects = with_riders(objects)
    check(objects, view_layer, form, path)
    yield from span(bring_up_to_date(objects, scene, view_layer), 0.0, SIMULATION_SHARE)
    rows, remarks = {}, []
    if velocities:
        able = [obj for obj in objects if can_have_velocities(obj)]
        remarks = [velocity_remark(obj) for obj in objects if obj not in able]
        measured = measure_velocities(able, scene, view_layer)
        rows = yield from span(measured, SIMULATION_SHARE, SIMULATION_SHARE + VELOCITY_SHARE)
    yield Progress(SIMULATION_SHARE + VELOCITY_SHARE, f"Writing {form.label}")
    with selected(objects, view_layer), at_own_frame(scene), written_velocities(rows, scene):
        write(form, path, scene, size_estimate(objects, scene, view_layer))
    return remarks


def is_ours(obj: bpy.types.Object) -> bool:
    """Returns whether an object has flesh, rides, or has a bake."""
    made = obj.thew.made
    return made.flesh or made.rides or made.keyframed or bool(len(obj.thew.bakes))


def suggested_path(key: str, filepath: str) -> str:
    """Returns a path for a format: the same file with another ending, or one named after the .blend."""
    form = FORMATS[key]
    path = Path(filepath or bpy.data.filepath or "untitled.blend")
    if path.suffix.lower() in form.suffixes:
        return str(path)
    known = {suffix for each in FORMATS.values() for suffix in each.suffixes} | {".blend"}
    return str(
        path.with_suffix(form.suffixes[0]) if path.suffix.lower() in known else Path(f"{path}{form.suffixes[0]}")
    )


def path_for(form: CacheFormat, filepath: str) -> Path:
    """Returns the path of the file, with the ending of its format."""
    if not filepath.strip():
        raise Refusal(f"No file is named for {form.label}: choose one")
    path = Path(bpy.path.abspath(filepath))
    return path if path.suffix.lower() in form.suffixes else path.with_name(path.name + form.suffixes[0])


def with_riders(objects: list[bpy.types.Object]) -> list[bpy.types.Object]:
    """Returns objects and what rides on them, without repetition."""
    found = [each for obj in objects for each in (obj, *(riding.riders_of(obj) if obj.thew.made.flesh else ()))]
    return list(dict.fromkeys(found))


def check_exporter(form: CacheFormat) -> None:
    """Refuses a format that this Blender was built without."""
    if has_exporter(form.option):
        return
    others = [other.label for other in FORMATS.values() if has_exporter(other.option)]
    if others:
        raise Refusal(
            f"This Blender has no exporter for {form.label}: choose {others[0]}, or bake a point cache by Bake As…"
        )
    raise Refusal(f"This Blender has no exporter for {form.label}: bake a point cache by Bake As…")


def check(objects: list[bpy.types.Object], view_layer, form: CacheFormat, path: Path) -> None:
    """Refuses an export that cannot succeed, before any work."""
    check_exporter(form)
    for obj in objects:
        if obj.name not in view_layer.objects or not obj.visible_get(view_layer=view_layer):
            raise Refusal(f"{describe(obj)} is hidden, and exporters leave out what is hidden: show it first")
        if obj.mode == "EDIT":
            raise Refusal(f"{describe(obj)} is in edit mode: press Tab to leave it first")
    if path.is_dir():
        raise Refusal(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise Refusal(f"The folder {path.parent} does not exist: make it, or choose another one")
    bake_files.check_writable(path.parent)
    if path.exists() and not os.access(path, os.W_OK):
        raise Refusal(f"{path} is write-protected: choose another name")


def bring_up_to_date(objects: list[bpy.types.Object], scene, view_layer) -> Task:
    """Builds the task that simulates what is live over the scene's range."""
    live = [obj for obj in objects if obj.thew.enabled and not obj.thew.made.shows_bake]
    for i, obj in enumerate(live):
        share = i / len(live), (i + 1) / len(live)
        if obj.thew.made.flesh:
            subject = reading.subject(obj, view_layer)
            task = baking.simulate_range(subject, scene, view_layer, scene.frame_start, scene.frame_end)
            yield from span(task, *share)
            jobs.settle(obj, register.state_of(obj), scene)
        elif obj.thew.made.keyframed:
            yield from span(keyframed.bring_up_to_date(obj, scene), *share)


# velocities -----------------------------------------------------------------------------------------------------------


def can_have_velocities(obj: bpy.types.Object) -> bool:
    """Returns whether the mesh is ours to write to and has no attribute of that name."""
    return obj.data.library is None and obj.library is None and VELOCITY not in obj.data.attributes


def velocity_remark(obj: bpy.types.Object) -> str:
    """Returns the remark on a mesh that takes no velocities along."""
    if VELOCITY in obj.data.attributes:
        return f"{describe(obj)} has an attribute “{VELOCITY}” already, which is exported as it is"
    remedy = "make it local" if obj.library is not None else "press Make Mesh Local"
    return f"{describe(obj)} is linked from another file, and leaves without velocities: {remedy} to add them"


def measure_velocities(objects: list[bpy.types.Object], scene, view_layer) -> Task:
    """Builds the task that returns the velocities of the vertices of each object, float32[f, n, 3], central differences.

    Measured behind the flesh, before modifiers that may add vertices; these interpolate them as any attribute.
    """
    found = {}
    frames = range(scene.frame_start, scene.frame_end + 1)
    for i, obj in enumerate(objects):
        rows = []
        with at_own_frame(scene), modifiers_on(obj, modifiers_up_to_flesh(obj), basis=False):
            for frame in frames:
                scene.frame_set(frame)
                view_layer.update()
                rows.append(evaluated_positions(obj, view_layer.depsgraph))
        yield Progress((i + 1) / len(objects), "Measuring velocities")
        if len(rows) > 1 and all(len(row) == len(obj.data.vertices) for row in rows):
            step = 1.0 / timing.frames_per_second(scene)
            found[obj] = np.gradient(np.array(rows), step, axis=0).astype(np.float32)
    return found


def modifiers_up_to_flesh(obj: bpy.types.Object) -> set[int]:
    """Returns the persistent ids of the modifiers that act, up to the flesh, its cache or the armature, whichever is last."""
    mods, last = list(obj.modifiers), -1
    armature = stack.modifier_by_id(obj, obj.thew.made.armature_modifier) or reading.armature_modifier(obj)
    ends = {obj.thew.made.modifier}
    if armature is not None:
        ends.add(stack.chain_end(obj, armature).persistent_uid)
    ends |= {
        player.persistent_uid for bake in obj.thew.bakes if (player := cache_playing.modifier_of(obj, bake)) is not None
    }
    for index, each in enumerate(mods):
        last = index if each.persistent_uid in ends else last
    return {each.persistent_uid for each in mods[: last + 1] if each.show_viewport}


@contextmanager
def written_velocities(rows: dict[bpy.types.Object, np.ndarray], scene) -> Iterator[None]:
    """Keeps the attribute of every mesh at the frame that is evaluated, within the context."""

    def write_frame(_scene, _depsgraph=None) -> None:
        for obj, each in rows.items():
            index = min(max(scene.frame_current - scene.frame_start, 0), len(each) - 1)
            obj.data.attributes[VELOCITY].data.foreach_set("vector", each[index].ravel())
            obj.data.update_tag()

    made = []
    try:
        for obj in rows:
            with keep_active_attribute(obj.data):
                obj.data.attributes.new(VELOCITY, *VELOCITY_LAYOUT)
            made.append(obj)
        bpy.app.handlers.frame_change_pre.append(write_frame)
        yield
    finally:
        with suppress(ValueError):
            bpy.app.handlers.frame_change_pre.remove(write_frame)
        for obj in made:
            with keep_active_attribute(obj.data):
                obj.data.attributes.remove(obj.data.attributes[VELOCITY])


# writing --------------------------------------------------------------------------------------------------------------


@contextmanager
def at_own_frame(scene) -> Iterator[None]:
    """Returns the scene to its frame at the end of the context."""
    here, part = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        scene.frame_set(here, subframe=part)


@contextmanager
def selected(objects: list[bpy.types.Object], view_layer) -> Iterator[None]:
    """Selects only these objects within the context."""
    before, active = (
        [obj for obj in view_layer.objects if obj.select_get(view_layer=view_layer)],
        view_layer.objects.active,
    )
    try:
        for obj in view_layer.objects:
            obj.select_set(obj in objects, view_layer=view_layer)
        yield
    finally:
        for obj in view_layer.objects:
            obj.select_set(obj in before, view_layer=view_layer)
        view_layer.objects.active = active


def size_estimate(objects: list[bpy.types.Object], scene, view_layer) -> int:
    """Returns the bytes that a file takes at most: in each frame positions, velocities and the normals of corners; once the topology."""
    size, frames = FILE_BYTES, scene.frame_end - scene.frame_start + 1
    for obj in objects:
        mesh = obj.evaluated_get(view_layer.depsgraph).data
        size += frames * (24 * len(mesh.vertices) + 12 * len(mesh.loops))
        size += (8 * len(mesh.uv_layers) + 16) * len(mesh.loops)
    return int(SIZE_MARGIN * size)


def write(form: CacheFormat, path: Path, scene, size: int) -> None:
    """Writes the selected objects beside `path`, and moves the file there; `size`: bytes that it takes at most."""
    part = path.with_name(f"{bake_files.PART_PREFIX}{os.getpid()}-{path.name}")
    try:
        bake_files.check_room(path.parent, size)
        result = run_exporter(form, part, scene)
        if "FINISHED" not in result or not part.is_file() or not part.stat().st_size:
            raise OSError("the exporter wrote nothing; its reason is in the Info editor")
        if not is_whole(part):
            raise OSError("it broke off")
        os.replace(part, path)
    except (OSError, RuntimeError, TypeError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()).removeprefix("Error: ").rstrip(".")
        raise Refusal(
            f"{form.label} cannot be written to {path} ({reason}): make room there, or choose another place"
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def is_whole(path: Path) -> bool:
    """Returns whether a file of USD is complete: its binary form ends with a table of its parts. Others pass."""
    with path.open("rb") as file:
        head = file.read(24)
        if head[:2] == b"PK":
            return zipfile.is_zipfile(path)
        if head[:8] != b"PXR-USDC":
            return True
        table = int.from_bytes(head[16:], "little")
        file.seek(table)
        count = int.from_bytes(file.read(8), "little")
    return count > 0 and path.stat().st_size >= table + 8 + TABLE_ENTRY_BYTES * count


def run_exporter(form: CacheFormat, part: Path, scene) -> set[str]:
    """Runs Blender's exporter with the switches that write posed vertices of every frame."""
    if form.key == "USD":
        operator, options = bpy.ops.wm.usd_export, {
            "selected_objects_only": True, "export_animation": True, "export_armatures": False, "export_shapekeys": False,
            "evaluation_mode": "VIEWPORT", "relative_paths": True,
        }  # fmt: skip
    else:
        operator, options = bpy.ops.wm.alembic_export, {
            "selected": True, "start": scene.frame_start, "end": scene.frame_end, "init_scene_frame_range": False,
            "xsamples": 1, "gsamples": 1, "as_background_job": False, "evaluation_mode": "VIEWPORT", "vcolors": True,
        }  # fmt: skip
    known = operator.get_rna_type().properties.keys()  # versions of Blender differ
    return operator(
        "EXEC_DEFAULT", filepath=str(part), check_existing=False, **{k: v for k, v in options.items() if k in known}
    )
