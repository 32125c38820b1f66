# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports a small baked character, measures how far a file plays from what was seen, finds traps and mends them."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import bpy
import numpy as np
import roundtrips
from gltf_file import GltfFile
from helpers import activate, animate, make_character, part, size_of

#: What a trap costs at least, and what is left after its remedy, of the character's size. The flesh moves 0.07 of it.
WRONG, RIGHT = 5e-3, 1e-5
LAST = 12
FRAMES = range(1, LAST + 1)

GLTF, FBX, USD, ALEMBIC = "EXPORT_SCENE_OT_gltf", "EXPORT_SCENE_OT_fbx", "WM_OT_usd_export", "WM_OT_alembic_export"


# characters ---------------------------------------------------------------------------------------------------------


def new_scene() -> bpy.types.Scene:
    """Opens an empty scene of 24 frames a second, frames 1 to 12."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False, load_ui=False)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = 24, 1.0
    scene.frame_start, scene.frame_end = 1, LAST
    return scene


def fresh_character():
    """Builds (mesh, armature) without flesh, with the action Walk, in a scene of its own."""
    new_scene()
    body, rig = make_character()
    rig.animation_data.action.name = "Walk"
    return body, rig


def add(body) -> None:
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    body.thew.softness = 0.8


def bake(body, **options):
    """Bakes, with flesh if there is none; returns the shapes at `FRAMES`."""
    activate(body)
    if not body.thew.made.flesh:
        add(body)
    assert bpy.ops.thew.bake(**options) == {"FINISHED"}
    return roundtrips.shapes(body, FRAMES)


def make_baked_walk(path: Path) -> np.ndarray:
    """Saves a character with a bake in rest space, and returns the shapes that it plays at `FRAMES`."""
    body, _ = fresh_character()
    shapes = bake(body)
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return shapes


def open_baked_walk(path: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Opens that file, and returns (mesh, armature); the mesh is active."""
    bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False)
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    activate(body)
    return body, rig


def new_action(rig, name: str = "Run") -> bpy.types.Action:
    """Makes another action of an armature, livelier than Walk, and lets Walk play again."""
    walk, slot = rig.animation_data.action, getattr(rig.animation_data, "action_slot", None)
    run_action = animate(rig, hop=0.16, bend=0.5)
    run_action.name, run_action.use_fake_user = name, True
    play_action(rig, walk, slot)
    return run_action


def play_action(rig, action, slot=None) -> None:
    data = rig.animation_data or rig.animation_data_create()
    data.action = action
    if hasattr(data, "action_slot"):
        data.action_slot = slot or action.slots[0]


# ways out and back ----------------------------------------------------------------------------------------------------


def settings_of(exporter: str, **values):
    return part("bake.traps").ExportSettings(exporter, values)


def run(operator, **options) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert operator(**options) == {"FINISHED"}


def error_of(shapes, back) -> float:
    """Returns the largest distance of a vertex, of the size; 1 where a mesh of other vertices came back."""
    if back.shape != shapes.shape:
        return 1.0
    return float(np.linalg.norm(back - shapes, axis=2).max()) / size_of(shapes[0])


def gltf_error(path: Path, shapes, values, frames=FRAMES, animation="Walk") -> float:
    """Exports glTF and returns how far the file's own player is from `shapes`."""
    basis = part("scene.mesh").basis_positions(bpy.data.objects["Body"].data)
    run(bpy.ops.export_scene.gltf, filepath=str(path), **values)
    file = GltfFile(path)
    name = animation if animation in file.animation_names() else "Scene"
    owner = np.linalg.norm(file.rest("Body")[:, None] - basis[None], axis=2).argmin(axis=1)
    fps = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
    back = np.array([file.positions("Body", name, frame / fps) for frame in frames])
    return error_of(shapes[:, owner], back)


def bring_back(path: Path, operator, **options) -> bpy.types.Object:
    new_scene()
    run(operator, filepath=str(path), **options)
    return next(obj for obj in bpy.data.objects if obj.type == "MESH")


def fbx_error(path: Path, shapes, values, frames=FRAMES, animation="Walk", first: int = 1) -> float:
    """Exports FBX, imports it, and returns how far it plays from `shapes`.

    `first`: frame at which the take begins. The importer lets takes begin at 1, and moves the scene by a frame.
    """
    whole = not values.get("bake_anim_use_all_actions", True) and not values.get("bake_anim_use_nla_strips", True)
    run(bpy.ops.export_scene.fbx, filepath=str(path), **values)
    body = bring_back(path, bpy.ops.import_scene.fbx)
    if body.data.shape_keys is not None:
        roundtrips.play_animation(body, "Scene" if whole else animation)
    return error_of(shapes, roundtrips.shapes(body, np.array(frames) + (1 if whole else 1 - first)))


def usd_error(path: Path, shapes, values, frames=FRAMES) -> float:
    """Exports USD, imports it, and returns how far it plays from `shapes`."""
    run(bpy.ops.wm.usd_export, filepath=str(path), **values)
    return error_of(shapes, roundtrips.shapes(bring_back(path, bpy.ops.wm.usd_import), frames))


def alembic_error(path: Path, shapes, values, frames=FRAMES) -> float:
    """Exports Alembic, imports it, and returns how far it plays from `shapes`."""
    run(bpy.ops.wm.alembic_export, filepath=str(path), as_background_job=False, **values)
    back = bring_back(path, bpy.ops.wm.alembic_import, as_background_job=False)
    return error_of(shapes, roundtrips.shapes(back, frames))


ERRORS = {GLTF: gltf_error, FBX: fbx_error, USD: usd_error, ALEMBIC: alembic_error}
SUFFIXES = {GLTF: ".glb", FBX: ".fbx", USD: ".usdc", ALEMBIC: ".abc"}


def error(exporter: str, folder: Path, shapes, values, **options) -> float:
    """Exports with these settings and returns the error. The present file is opened again afterwards."""
    present = folder / "present.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(present), copy=True)
    found = ERRORS[exporter](folder / f"out{SUFFIXES[exporter]}", shapes, values, **options)
    bpy.ops.wm.open_mainfile(filepath=str(present), load_ui=False)
    return found


def find(exporter: str, values, key: str):
    """Returns the trap with this key; None without one."""
    found = part("bake.export_check").find_traps(bpy.context.scene.objects, settings_of(exporter, **values))
    return next((trap for trap in found if trap.key == key), None)


def mend(exporter: str, values: dict, key: str) -> str:
    """Presses the button of a trap, as in a dialog with these settings, which it may change; returns what it reports."""
    settings = part("bake.traps").ExportSettings(exporter, values)
    context, mesh = bpy.context, find(exporter, values, key).obj
    task = part("bake.mending").mend(key, mesh, context.scene, context.view_layer, settings)
    done = part("logic.tasks").finish(task)
    return done if isinstance(done, str) else " ".join(done)


def assert_trap_mends(exporter: str, folder: Path, shapes, values: dict, key: str, **options) -> str:
    """Checks that a trap is found, spoils the file, and that its button mends both. Returns the trap's sentence."""
    trap = find(exporter, values, key)
    assert trap is not None and trap.remedy, key
    text = trap.text
    assert "Body" in text and not text.endswith(".")
    assert error(exporter, folder, shapes, values, **options) > WRONG
    assert mend(exporter, values, key)
    assert find(exporter, values, key) is None
    assert error(exporter, folder, shapes, values, **options) < RIGHT
    return text
