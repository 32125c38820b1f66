# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of exports: each warning is true, and what its button does mends the file.

Each case exports once as it is and once after the remedy. glTF is read by `gltf_file`, other formats by Blender's own importers.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import roundtrips
from gltf_file import GltfFile
from helpers import Layout, activate, animate, make_body, make_character, part, refusal, size_of

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


@pytest.fixture(scope="module")
def saved(addon, tmp_path_factory):
    """Builds (file, shapes, basis) of a character with a bake in rest space."""
    body, _ = fresh_character()
    shapes = bake(body)
    path = tmp_path_factory.mktemp("traps") / "baked.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path, shapes


@pytest.fixture
def baked(saved):
    """Opens the character with a bake, and yields (mesh, armature, shapes)."""
    path, shapes = saved
    bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False)
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    activate(body)
    return body, rig, shapes


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


# no traps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exporter", "values"), [(GLTF, {}), (FBX, {}), (USD, {"export_animation": True}), (ALEMBIC, {})]
)
def test_traps_none(baked, tmp_path, exporter, values):
    """A bake in rest space leaves every exporter right, with its defaults (USD: with animation), and no warning is given."""
    _, _, shapes = baked
    assert part("bake.export_check").check_all(bpy.context.scene.objects, exporter, values) == []
    assert error(exporter, tmp_path, shapes, values) < RIGHT


def test_alembic_live_exact(addon, tmp_path):
    """Live flesh leaves Alembic exactly: no warning."""
    body, _ = fresh_character()
    add(body)
    shapes = roundtrips.shapes(body, FRAMES)
    assert part("bake.export_check").check(body, ALEMBIC, {}) == []
    assert error(ALEMBIC, tmp_path, shapes, {}) < RIGHT


def test_usd_posed_exact(addon, tmp_path):
    """A bake in posed space leaves USD exactly, as its Armature modifier is off: no warning."""
    body, _ = fresh_character()
    shapes = bake(body, space="POSED")
    assert part("bake.export_check").check(body, USD, {"export_animation": True}) == []
    assert error(USD, tmp_path, shapes, {"export_animation": True}) < RIGHT


# settings of the dialogs ----------------------------------------------------------------------------------------------

SETTINGS = [
    (GLTF, "export_animations", {"export_animations": False}),
    (GLTF, "export_morph", {"export_morph": False}),
    (GLTF, "export_morph_animation", {"export_morph_animation": False}),
    (GLTF, "export_skins", {"export_skins": False}),
    (GLTF, "export_frame_step", {"export_frame_step": 2}),
    (GLTF, "export_animation_mode", {"export_animation_mode": "NLA_TRACKS"}),
    (FBX, "bake_anim", {"bake_anim": False}),
    (FBX, "bake_anim_use_all_actions", {"bake_anim_use_all_actions": False}),
    (FBX, "bake_anim_step", {"bake_anim_step": 2.0}),
    (FBX, "use_triangles", {"use_triangles": True}),
    (FBX, "armature_left", {"object_types": {"MESH"}}),
    (USD, "export_animation", {}),
    (USD, "export_shapekeys", {"export_animation": True, "export_shapekeys": False}),
    (USD, "export_armatures", {"export_animation": True, "export_armatures": False}),
    (ALEMBIC, "export_range", {"start": 1, "end": 6}),
]


@pytest.mark.parametrize(
    ("exporter", "key", "values"), SETTINGS, ids=[f"{case[0][-5:]}-{case[1]}" for case in SETTINGS]
)
def test_trap_setting(baked, tmp_path, exporter, key, values):
    """A setting that spoils the bake is reported, and the button sets it right."""
    _, _, shapes = baked
    assert_trap_mends(exporter, tmp_path, shapes, dict(values), key)


# the scene ------------------------------------------------------------------------------------------------------------


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


def select_mesh_alone(_body, _rig) -> dict:
    return {"use_selection": True}


def hide_armature(_body, rig) -> dict:
    rig.hide_set(True)
    return {"use_visible": True}


def hide_armature_in_renders(_body, rig) -> dict:
    rig.hide_render = True
    return {"use_renderable": True}


def hide_armature_for_usd(_body, rig) -> dict:
    rig.hide_render = True
    return {"export_animation": True}


def select_for_usd(_body, _rig) -> dict:
    return {"export_animation": True, "selected_objects_only": True}


def separate_collection(body, _rig) -> dict:
    own = bpy.data.collections.new("Own")
    bpy.context.scene.collection.children.link(own)
    bpy.context.scene.collection.objects.unlink(body)
    own.objects.link(body)
    bpy.context.view_layer.active_layer_collection = bpy.context.view_layer.layer_collection.children["Own"]
    return {"use_active_collection": True}


def shorten_scene(_body, _rig) -> dict:
    bpy.context.scene.frame_end = 6
    return {"export_frame_range": True}


def shorten_scene_for_usd(_body, _rig) -> dict:
    bpy.context.scene.frame_end = 6
    return {"export_animation": True}


def shorten_scene_of_one_take(_body, _rig) -> dict:
    bpy.context.scene.frame_end = 6
    return {"bake_anim_use_all_actions": False, "bake_anim_use_nla_strips": False}


def shorten_action(_body, rig) -> dict:
    action = rig.animation_data.action
    action.use_frame_range, action.frame_start, action.frame_end = True, 1, 6
    return {}


def play_other_action(_body, rig) -> dict:
    play_action(rig, new_action(rig))
    # Before 4.4 a lone armature's actions are all merged into the active one's animation.
    return {
        "export_animation_mode": "ACTIVE_ACTIONS",
        "export_nla_strips_merged_animation_name": "Walk",
        "export_anim_single_armature": False,
    }


def play_other_of_two_armatures(_body, rig) -> dict:
    play_action(rig, new_action(rig))
    other = bpy.data.objects.new("Other", rig.data)
    bpy.context.scene.collection.objects.link(other)
    return {}


def split_scene(_body, _rig) -> dict:
    return {"export_animation_mode": "SCENE"}


def merge_nothing(_body, _rig) -> dict:
    return {"export_merge_animation": "NONE"}


def add_subdivision(body, _rig) -> dict:
    body.modifiers.new("Subdivision", "SUBSURF")
    return {"export_apply": True}


def add_subdivision_for_fbx(body, _rig) -> dict:
    body.modifiers.new("Subdivision", "SUBSURF")
    return {}


def hold_rest_position(_body, rig) -> dict:
    rig.data.pose_position = "REST"
    return {}


def hold_rest_position_for_usd(_body, rig) -> dict:
    rig.data.pose_position = "REST"
    return {"export_animation": True}


def link_material(body, _rig) -> dict:
    body.data.materials.append(None)
    body.material_slots[0].link, body.material_slots[0].material = "OBJECT", bpy.data.materials.new("Skin")
    return {}


PREPARED = [
    (GLTF, "armature_left", select_mesh_alone),
    (GLTF, "armature_left", hide_armature),
    (GLTF, "armature_left", hide_armature_in_renders),
    (GLTF, "armature_left", separate_collection),
    (FBX, "armature_left", select_mesh_alone),
    (USD, "armature_left", select_for_usd),
    (USD, "armature_left", hide_armature_for_usd),
    (GLTF, "export_frame_range", shorten_scene),
    (FBX, "scene_range", shorten_scene_of_one_take),
    (USD, "scene_range", shorten_scene_for_usd),
    (GLTF, "action_range", shorten_action),
    (FBX, "action_range", shorten_action),
    (GLTF, "mismatch", play_other_action),
    (GLTF, "mismatch", play_other_of_two_armatures),
    (GLTF, "export_anim_scene_split_object", split_scene),
    *[(GLTF, "export_merge_animation", merge_nothing)] * (bpy.app.version >= (4, 4)),  # the setting's first version
    (GLTF, "export_apply", add_subdivision),
    (FBX, "use_mesh_modifiers", add_subdivision_for_fbx),
    (FBX, "fbx_materials", link_material),
    (GLTF, "rest_position", hold_rest_position),
    (FBX, "rest_position", hold_rest_position),
    (USD, "rest_position", hold_rest_position_for_usd),
]


@pytest.mark.parametrize(
    ("exporter", "key", "prepare"), PREPARED, ids=[f"{case[0][-5:]}-{case[2].__name__}" for case in PREPARED]
)
def test_trap_scene(baked, tmp_path, exporter, key, prepare):
    """A scene that spoils the bake is reported, and the button sets it right."""
    body, rig, shapes = baked
    values = prepare(body, rig)
    assert_trap_mends(exporter, tmp_path, shapes, values, key)


def test_fbx_takes_right(baked, tmp_path):
    """With All Actions each take has its own flesh: that of its clip, or the plain skin. No warning is given."""
    body, rig, shapes = baked
    new_action(rig)
    assert part("bake.export_check").check_all(bpy.context.scene.objects, FBX, {}) == []
    assert error(FBX, tmp_path, shapes, {}) < RIGHT
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    play_action(rig, bpy.data.actions["Run"])
    for key in body.data.shape_keys.key_blocks:
        key.mute = True
    plain = roundtrips.shapes(body, FRAMES)
    for key in body.data.shape_keys.key_blocks:
        key.mute = False
    play_action(rig, bpy.data.actions["Walk"])
    assert error(FBX, tmp_path, plain, {}, animation="Run") < RIGHT


def test_gltf_filter_right(baked, tmp_path):
    """A ticked action leaves glTF with its flesh, whether the action of the keys is ticked or not."""
    body, _, shapes = baked
    kind = next(cls for cls in bpy.types.PropertyGroup.__subclasses__() if cls.__name__ == "GLTF2_filter_action")
    bpy.types.Scene.gltf_action_filter = bpy.props.CollectionProperty(type=kind)
    bpy.types.Scene.gltf_action_filter_active = bpy.props.IntProperty()
    try:
        for action in bpy.data.actions:
            item = bpy.data.scenes[0].gltf_action_filter.add()
            item.action, item.keep = action, action != body.data.shape_keys.animation_data.action
        values = {"export_action_filter": True}
        assert part("bake.export_check").check(body, GLTF, values) == []
        assert gltf_error(tmp_path / "out.glb", shapes, values) < RIGHT
    finally:
        bpy.data.scenes[0].gltf_action_filter.clear()
        del bpy.types.Scene.gltf_action_filter, bpy.types.Scene.gltf_action_filter_active


@pytest.mark.parametrize(("exporter", "values"), [(FBX, {}), (USD, {"export_animation": True})])
def test_trap_muted_keys(baked, tmp_path, exporter, values):
    """Keys that the artist muted would play in the file; the button silences them, and Show Bake lets them play again."""
    body, _, shapes = baked
    body.thew.enabled = False
    for curve in [curve for place in part("scene.key_curves").places_of(body) for curve in place.curves()]:
        curve.mute = False
    plain = roundtrips.shapes(body, FRAMES)
    assert_trap_mends(exporter, tmp_path, plain, dict(values), "muted_keys")
    body = bpy.data.objects["Body"]
    activate(body)
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    np.testing.assert_allclose(roundtrips.shapes(body, FRAMES), shapes, atol=1e-6)


@pytest.mark.parametrize(("exporter", "values"), [(FBX, {}), (USD, {"export_animation": True}), (GLTF, {})])
def test_bakes_that_are_off_leave_still(baked, tmp_path, exporter, values):
    """A bake that does not play, and one beside another that does, leave as they are shown: nothing warns, and nothing moves twice."""
    body, _, shapes = baked
    assert bpy.ops.thew.bake(name="Second") == {"FINISHED"}
    assert find(exporter, values, "muted_keys") is None
    assert error(exporter, tmp_path, shapes, dict(values)) < RIGHT
    body = bpy.data.objects["Body"]
    body.thew.enabled = False
    plain = roundtrips.shapes(body, FRAMES)
    assert find(exporter, values, "muted_keys") is None
    assert error(exporter, tmp_path, plain, dict(values)) < RIGHT


@pytest.mark.parametrize(("exporter", "kind"), [(GLTF, "SMOOTH"), (GLTF, "SUBSURF"), (USD, "SMOOTH")])
def test_trap_left_modifiers(baked, tmp_path, exporter, kind):
    """Modifiers behind the armature are not in the file: a warning where they shape the mesh, and USD holds points."""
    body, _, _ = baked
    modifier = body.modifiers.new("Behind", kind)
    if kind == "SMOOTH":
        modifier.factor, modifier.iterations = 0.5, 5
    values = {"export_animation": True} if exporter == USD else {}
    trap = find(exporter, values, "left_modifiers")
    assert trap.level == ("NOTICE" if kind == "SUBSURF" else "WARNING") and "“Behind”" in trap.text
    if kind == "SUBSURF":
        return
    shapes = roundtrips.shapes(body, FRAMES)
    if exporter == USD:
        assert_trap_mends(exporter, tmp_path, shapes, values, "left_modifiers")
    else:
        assert error(exporter, tmp_path, shapes, values) > WRONG and "apply it" in trap.text


def test_trap_fbx_action(addon, tmp_path):
    """Without any action FBX writes keys that stand still; the button keys what moves nothing over the whole bake."""
    body, rig = fresh_character()
    bake(body, space="POSED")
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    shapes = roundtrips.shapes(body, FRAMES)
    bpy.data.objects.remove(rig)
    trap = find(FBX, {}, "fbx_action")
    assert trap is not None and error(FBX, tmp_path, shapes, {}) > WRONG
    assert "frames 1 and 12" in mend(FBX, {}, "fbx_action")
    assert find(FBX, {}, "fbx_action") is None
    name = bpy.data.objects["Body"].animation_data.action.name
    assert error(FBX, tmp_path, shapes, {}, animation=name) < RIGHT


def test_trap_broadcast(addon, tmp_path):
    """Broadcast actions play the keys of each mesh on the others; the button goes back to actions."""
    body, rig = fresh_character()
    shirt = make_body(rig, name="Shirt", rings=9)
    bake(shirt)
    shapes = bake(body)
    values = {"export_animation_mode": "BROADCAST"}
    trap = find(GLTF, values, "export_animation_mode")
    assert "“Body”" in trap.text and "“Shirt”" in trap.text
    run(bpy.ops.export_scene.gltf, filepath=str(tmp_path / "two.glb"), **values)
    assert set(GltfFile(tmp_path / "two.glb").animation_names()) > {"Walk"}
    mend(GLTF, values, "export_animation_mode")
    assert error(GLTF, tmp_path, shapes, values) < RIGHT
    assert GltfFile(tmp_path / "out.glb").animation_names() == ["Walk"]


# frames and times -----------------------------------------------------------------------------------------------------


def test_trap_negative_frames(addon, tmp_path):
    """Cropped negative frames cut a bake that begins before 0; the button slides them."""
    new_scene()
    body, rig = make_character()
    animate(rig, first=-6, last=14).name = "Walk"
    add(body)
    assert bpy.ops.thew.bake(frame_start=-4, frame_end=5) == {"FINISHED"}
    frames = range(-4, 6)
    shapes, values = roundtrips.shapes(body, frames), {"export_negative_frame": "CROP"}
    assert find(GLTF, values, "export_negative_frame") is not None
    assert error(GLTF, tmp_path, shapes, values, frames=frames) > WRONG
    mend(GLTF, values, "export_negative_frame")
    # Slid animations begin at 0, at the first frame of the action.
    assert error(GLTF, tmp_path, shapes, values, frames=[frame + 6 for frame in frames]) < RIGHT


def test_trap_fraction(addon, tmp_path):
    """FBX samples an action that begins between two frames between the baked shapes; the button gives it whole frames."""
    body, rig = fresh_character()
    for curve in part("scene.animation").curves_in(rig.animation_data):
        for point in curve.keyframe_points:
            for each in (point.co, point.handle_left, point.handle_right):
                each.x += 0.5
    shapes = bake(body, frame_start=2, frame_end=LAST)[1:]
    assert find(FBX, {}, "action_range") is not None and "1.5" in find(FBX, {}, "action_range").text
    mend(FBX, {}, "action_range")
    assert rig.animation_data.action.frame_range[0] == 1.0
    assert error(FBX, tmp_path, shapes, {}, frames=range(2, LAST + 1)) < RIGHT


@pytest.mark.parametrize("first", [1, -3])
def test_trap_clip_beyond_action(addon, tmp_path, first):
    """FBX cuts a bake of the scene's range to the frames of the action; the button gives the action those of the bake."""
    body, _ = fresh_character()
    bake(body, frame_start=first, frame_end=30)
    frames = range(first, 31)
    shapes = roundtrips.shapes(body, frames)
    text = assert_trap_mends(FBX, tmp_path, shapes, {}, "action_range", frames=frames, first=first)
    assert "frames 1 to 19" in text and f"{first} to 30" in text


@pytest.mark.parametrize("repeats", [True, False])
def test_trap_gltf_beyond_action(addon, tmp_path, repeats):
    """A bake beyond an action that repeats is cut in glTF, and the button gives the action its frames; where bones hold, it is not."""
    body, rig = fresh_character()
    for curve in part("scene.animation").curves_in(rig.animation_data) if repeats else ():
        curve.modifiers.new("CYCLES")
        curve.update()
    bake(body, frame_start=1, frame_end=30)
    frames = range(1, 31)
    shapes = roundtrips.shapes(body, frames)
    whole = {"export_animation_mode": "SCENE"}
    assert find(GLTF, whole, "action_range") is None
    if repeats:
        text = assert_trap_mends(GLTF, tmp_path, shapes, {}, "action_range", frames=frames)
        assert "frames 1 to 19" in text and "1 to 30" in text
    else:
        assert find(GLTF, {}, "action_range") is None
        assert error(GLTF, tmp_path, shapes, {}, frames=frames) < RIGHT


def test_trap_fbx_strips(addon, tmp_path):
    """FBX writes strips as takes of their own frames, shorter than a bake of the scene's range; the button writes one take."""
    body, rig = fresh_character()
    action, data = rig.animation_data.action, rig.animation_data
    data.action = None
    for start in (1, 16):
        strip = data.nla_tracks.new().strips.new("Walk", start, action)
        strip.scale = 0.5
        if hasattr(strip, "action_slot"):
            strip.action_slot = action.slots[0]
    bpy.context.scene.frame_end = 30
    bake(body)
    frames = range(1, 31)
    shapes = roundtrips.shapes(body, frames)
    assert_trap_mends(FBX, tmp_path, shapes, {}, "fbx_strips", frames=frames)


@pytest.mark.parametrize(("exporter", "key"), [(GLTF, "gltf_stretch"), (FBX, "fbx_stretch")])
def test_trap_time_stretching(addon, tmp_path, exporter, key):
    """Time Stretching cuts actions short in files; the button writes the scene as it plays."""
    body, _ = fresh_character()
    scene = bpy.context.scene
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 200
    scene.frame_start, scene.frame_end = 2, 24
    bake(body)
    frames = range(2, 25)
    shapes = roundtrips.shapes(body, frames)
    assert_trap_mends(exporter, tmp_path, shapes, {}, key, frames=frames)


@pytest.mark.parametrize(("fps", "base", "level"), [(24, 1.001, "NOTICE"), (30000, 1001.0, "WARNING")])
def test_trap_frame_rate(baked, tmp_path, fps, base, level):
    """The glTF exporter multiplies by the base of the frame rate instead of dividing; the button rounds the rate."""
    _, _, shapes = baked
    render = bpy.context.scene.render
    render.fps, render.fps_base = fps, base
    trap = find(GLTF, {}, "gltf_rate")
    assert trap.level == level
    assert error(GLTF, tmp_path, shapes, {}) > RIGHT
    mend(GLTF, {}, "gltf_rate")
    render = bpy.context.scene.render
    assert (render.fps, render.fps_base) == (round(fps / base), 1.0)
    assert find(GLTF, {}, "gltf_rate") is None
    assert error(GLTF, tmp_path, shapes, {}) < RIGHT


# skins ----------------------------------------------------------------------------------------------------------------


def follow_many_bones(body, rig) -> None:
    """Lets vertices follow four more bones, which move."""
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    for i in range(4):
        bone = rig.data.edit_bones.new(f"Extra {i}")
        bone.head, bone.tail, bone.parent = (0.1 * i, 0.2, 0.7), (0.1 * i, 0.5, 0.7), rig.data.edit_bones["Spine"]
    bpy.ops.object.mode_set(mode="OBJECT")
    middle = [vertex.index for vertex in body.data.vertices if 0.4 < vertex.co.z < 1.2]
    for i in range(4):
        body.vertex_groups.new(name=f"Extra {i}").add(middle, 0.25, "REPLACE")
        turn(rig, f"Extra {i}", 0.5 * (i + 1))


def turn(rig, name: str, angle: float) -> None:
    bone = rig.pose.bones[name]
    bone.rotation_mode = "XYZ"
    for frame, turned in ((1, 0.0), (6, angle), (LAST, 0.0)):
        bone.rotation_euler = (turned, 0.0, 0.0)
        bone.keyframe_insert("rotation_euler", frame=frame)


def stop_deforming(_body, rig) -> None:
    rig.data.bones["Head"].use_deform = False
    turn(rig, "Head", 0.8)


def bend_within(_body, rig) -> None:
    rig.data.bones["Spine"].bbone_segments = 8
    # Little: keys in rest space reach every shape.
    for frame, bend in ((1, 0.0), (6, 0.1), (LAST, 0.0)):
        rig.pose.bones["Spine"].bbone_curveinz = bend
        rig.pose.bones["Spine"].keyframe_insert("bbone_curveinz", frame=frame)


def mask_skin(body, _rig) -> None:
    upper = [vertex.index for vertex in body.data.vertices if vertex.co.z > 0.6]
    body.vertex_groups.new(name="Mask").add(upper, 0.5, "REPLACE")
    body.modifiers["Armature"].vertex_group = "Mask"


def preserve_volume(body, rig) -> None:
    body.modifiers["Armature"].use_deform_preserve_volume = True
    bpy.data.actions.remove(rig.animation_data.action)
    animate(rig, bend=1.0).name = "Walk"


def pose_twice(body, rig) -> None:
    body.modifiers.new("Second", "ARMATURE").object = rig


SKINS = [
    (GLTF, "export_all_influences", follow_many_bones),
    (GLTF, "export_def_bones", stop_deforming),
    (FBX, "use_armature_deform_only", stop_deforming),
    (USD, "only_deform_bones", stop_deforming),
    (GLTF, "bendy_bones", bend_within),
    (USD, "bendy_bones", bend_within),
    (GLTF, "skin_mask", mask_skin),
    (FBX, "skin_mask", mask_skin),
    (FBX, "preserve_volume", preserve_volume),
    (USD, "preserve_volume", preserve_volume),
    (GLTF, "armatures", pose_twice),
]


@pytest.mark.parametrize(
    ("exporter", "key", "prepare"), SKINS, ids=[f"{case[0][-5:]}-{case[2].__name__}" for case in SKINS]
)
def test_trap_skin(addon, tmp_path, exporter, key, prepare):
    """Skinning that the file would hold otherwise is reported, and the button changes a setting or the form of the bake."""
    body, rig = fresh_character()
    prepare(body, rig)
    rig.animation_data.action.name = "Walk"
    add(body)
    shapes = roundtrips.shapes(body, FRAMES)
    bake(body)
    assert_trap_mends(exporter, tmp_path, shapes, {"export_animation": True} if exporter == USD else {}, key)


@pytest.mark.parametrize("exporter", [GLTF, FBX])
def test_trap_posed_skin(addon, tmp_path, exporter):
    """An unfinished bake in posed space is deformed twice; the button finishes it."""
    body, _ = fresh_character()
    shapes = bake(body, space="POSED")
    assert_trap_mends(exporter, tmp_path, shapes, {}, "posed_skin")


@pytest.mark.parametrize("kept", [False, True])
def test_trap_live(addon, tmp_path, kept):
    """Live flesh leaves glTF with its plain skin; the button bakes it, or shows the bake that there is."""
    body, _ = fresh_character()
    add(body)
    if kept:
        bake(body)
        assert bpy.ops.thew.show_live() == {"FINISHED"}
    shapes = roundtrips.shapes(body, FRAMES)
    trap = find(GLTF, {}, "live")
    assert trap.remedy == ("Show Bake" if kept else "Bake")
    mend(GLTF, {}, "live")
    assert find(GLTF, {}, "live") is None
    assert error(GLTF, tmp_path, shapes, {}) < RIGHT


def test_trap_live_usd(addon, tmp_path):
    """Live flesh leaves USD as it is seen once it writes points; the button sees to that."""
    body, _ = fresh_character()
    add(body)
    shapes = roundtrips.shapes(body, FRAMES)
    assert_trap_mends(USD, tmp_path, shapes, {"export_animation": True}, "live")


# points ---------------------------------------------------------------------------------------------------------------


def test_trap_render_switch(addon, tmp_path):
    """Alembic writes what renders show; the button lets it write what the view shows."""
    body, _ = fresh_character()
    add(body)
    body.modifiers["Armature"].show_render = False
    shapes = roundtrips.shapes(body, FRAMES)
    assert_trap_mends(ALEMBIC, tmp_path, shapes, {}, "evaluation_mode")


@pytest.mark.parametrize("kind", ["obj", "ply", "stl"])
def test_trap_without_modifiers(addon, tmp_path, kind):
    """Formats of one shape leave without pose and flesh where modifiers are switched off; the button switches them on."""
    body, _ = fresh_character()
    add(body)
    bpy.context.scene.frame_set(7)
    exporter, values, path = f"WM_OT_{kind}_export", {"apply_modifiers": False}, tmp_path / f"out.{kind}"
    (shape,) = roundtrips.shapes(body, [7])
    for wrong in (True, False):
        trap = find(exporter, values, "apply_modifiers")
        assert (trap is not None) == wrong
        run(getattr(bpy.ops.wm, f"{kind}_export"), filepath=str(path), **values)
        run(getattr(bpy.ops.wm, f"{kind}_import"), filepath=str(path))
        back = bpy.context.selected_objects[0]
        (points,) = roundtrips.shapes(back, [7])
        away = np.linalg.norm(points[:, None] - shape[None], axis=2).min(axis=1).max() / size_of(shape)
        assert (away > WRONG) if wrong else (away < RIGHT)
        bpy.data.objects.remove(back)
        if wrong:
            mend(exporter, values, "apply_modifiers")


# remarks --------------------------------------------------------------------------------------------------------------


def test_target_remarks(baked, tmp_path, monkeypatch):
    """The number of morph targets stands beside what engines read, and their normals beside their size."""
    _, _, shapes = baked
    trap = find(GLTF, {}, "gltf_targets")
    assert trap.level == "NOTICE" and "12 morph targets" in trap.text and "256" in trap.text
    monkeypatch.setattr(part("logic.bake_sizes"), "MOST_TARGETS", 11)
    assert find(GLTF, {}, "gltf_targets").level == "WARNING"
    assert find(GLTF, {}, "export_morph_normal") is None  # too few to matter
    monkeypatch.setattr(part("bake.gltf_traps"), "MIN_NORMALS_SIZE", 1000)
    values: dict = {}
    assert find(GLTF, values, "export_morph_normal").level == "NOTICE"
    run(bpy.ops.export_scene.gltf, filepath=str(tmp_path / "large.glb"))
    mend(GLTF, values, "export_morph_normal")
    assert error(GLTF, tmp_path, shapes, values) < RIGHT
    sizes = [GltfFile(tmp_path / name).size for name in ("large.glb", "out.glb")]
    assert sizes[1] < 0.7 * sizes[0]


def test_range_remark(baked):
    """Frames beside the bake are a remark: the flesh does not move there."""
    bpy.context.scene.frame_end = 30
    trap = find(USD, {"export_animation": True}, "scene_range")
    assert trap.level == "NOTICE" and "1 to 30" in trap.text and "1 to 12" in trap.text


def test_compressed_keys_come_back(addon, tmp_path):
    """Compressed keys come back from every format: no reader cuts their weights off, Blender's importers, which clamp them, included."""
    body, _ = fresh_character()
    shapes = bake(body, target="COMPRESSED", tolerance=0.01)
    for exporter, values in ((GLTF, {}), (FBX, {}), (USD, {"export_animation": True}), (ALEMBIC, {})):
        assert error(exporter, tmp_path, shapes, values) < RIGHT, exporter
    roundtrips.export(tmp_path / "out.glb")
    roundtrips.bring_back(tmp_path / "out.glb")
    back = roundtrips.baked_mesh()
    roundtrips.play_animation(back, "Walk")
    came = roundtrips.shapes(back, FRAMES)
    owners = roundtrips.owners(shapes, came)
    assert roundtrips.largest_distances(shapes[:, owners], came).max() < RIGHT


def test_fbx_simplify_remark(addon, tmp_path):
    """FBX simplifies curves by default, which moves compressed keys: a remark for them alone, and its button sets 0."""
    body, _ = fresh_character()
    bake(body)
    assert find(FBX, {}, "bake_anim_simplify_factor") is None
    shapes = bake(body, target="COMPRESSED", tolerance=0.01)
    trap = find(FBX, {}, "bake_anim_simplify_factor")
    assert trap.level == "NOTICE" and "Body" in trap.text
    values = {}
    mend(FBX, values, "bake_anim_simplify_factor")
    assert values == {"bake_anim_simplify_factor": 0.0} and find(FBX, values, "bake_anim_simplify_factor") is None
    assert error(FBX, tmp_path, shapes, values) < RIGHT


# the panel and the button ---------------------------------------------------------------------------------------------


class Dialog(SimpleNamespace):
    """Stands for an exporter whose dialog is open; `properties` has its settings."""


def dialog_context(exporter: str, **values):
    defaults = settings_of(exporter)
    names = [each.identifier for each in defaults._properties() if hasattr(each, "default")]
    properties = SimpleNamespace(**{name: defaults.value(name) for name in names} | values)
    return SimpleNamespace(
        scene=bpy.context.scene,
        space_data=SimpleNamespace(active_operator=Dialog(bl_idname=exporter, properties=properties)),
        region=SimpleNamespace(width=300),
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)),
    )


def test_export_panel_buttons(baked):
    """The panel beside an exporter's settings draws each trap with its button, and goes when nothing is wrong."""
    context = dialog_context(USD)
    panel = bpy.types.THEW_PT_export
    assert panel.poll(context)
    layout = Layout()
    panel.draw(SimpleNamespace(layout=layout), context)
    words, buttons = " ".join(layout.read()), [call for call in layout.seen if call[0] == "operator"]
    assert "leaves out animation" in words
    assert ("operator", "thew.mend_export", "Switch On Animation") in buttons
    settings = part("bake.traps").open_exporter(context)
    task = part("bake.mending").mend("export_animation", bpy.data.objects["Body"], context.scene, None, settings)
    part("logic.tasks").finish(task)
    assert context.space_data.active_operator.properties.export_animation is True
    assert not panel.poll(context)


def test_mend_operator(baked):
    """The button's operator mends what stands in the scene, can be undone, and reports what it did."""
    body, _, _ = baked
    body.data.materials.append(None)
    body.material_slots[0].link = "OBJECT"
    assert bpy.ops.thew.mend_export(trap="fbx_materials", object="Body", exporter=FBX) == {"FINISHED"}
    assert body.material_slots[0].link == "DATA"
    assert "UNDO" in bpy.types.THEW_OT_mend_export.bl_options


def test_mend_refuses(baked):
    """What is not wrong, not there or not open is refused by a sentence, and nothing changes."""
    assert "finds nothing like “bread”" in refusal(bpy.ops.thew.mend_export, trap="bread", object="Body")
    assert "no object “Nobody”" in refusal(bpy.ops.thew.mend_export, trap="bread", object="Nobody")
    body = bpy.data.objects["Body"]
    body.modifiers.new("Subdivision", "SUBSURF")
    said = refusal(bpy.ops.thew.mend_export, trap="use_mesh_modifiers", object="Body", exporter=FBX)
    assert "“Body”" in said and "no button can do that" in said
