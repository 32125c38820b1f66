# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of exports: each warning is true, and what its button does mends the file.

Each case exports once as it is and once after the remedy. glTF is read by `gltf_file`, other formats by Blender's own importers.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest
import roundtrips
from exporting import (
    ALEMBIC,
    FBX,
    FRAMES,
    GLTF,
    RIGHT,
    USD,
    WRONG,
    add,
    assert_trap_mends,
    bake,
    error,
    find,
    fresh_character,
    gltf_error,
    mend,
    new_action,
    play_action,
    run,
)
from gltf_file import GltfFile
from helpers import activate, make_body, part

# no traps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exporter", "values"), [(GLTF, {}), (FBX, {}), (USD, {"export_animation": True}), (ALEMBIC, {})]
)
def test_traps_none(baked_walk, tmp_path, exporter, values):
    """A bake in rest space leaves every exporter right, with its defaults (USD: with animation), and no warning is given."""
    _, _, shapes = baked_walk
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
def test_trap_setting(baked_walk, tmp_path, exporter, key, values):
    """A setting that spoils the bake is reported, and the button sets it right."""
    _, _, shapes = baked_walk
    assert_trap_mends(exporter, tmp_path, shapes, dict(values), key)


# the scene ------------------------------------------------------------------------------------------------------------


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
def test_trap_scene(baked_walk, tmp_path, exporter, key, prepare):
    """A scene that spoils the bake is reported, and the button sets it right."""
    body, rig, shapes = baked_walk
    values = prepare(body, rig)
    assert_trap_mends(exporter, tmp_path, shapes, values, key)


def test_fbx_takes_right(baked_walk, tmp_path):
    """With All Actions each take has its own flesh: that of its clip, or the plain skin. No warning is given."""
    body, rig, shapes = baked_walk
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


def test_gltf_filter_right(baked_walk, tmp_path):
    """A ticked action leaves glTF with its flesh, whether the action of the keys is ticked or not."""
    body, _, shapes = baked_walk
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
def test_trap_muted_keys(baked_walk, tmp_path, exporter, values):
    """Keys that the artist muted would play in the file; the button silences them, and Show Bake lets them play again."""
    body, _, shapes = baked_walk
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
def test_bakes_that_are_off_leave_still(baked_walk, tmp_path, exporter, values):
    """A bake that does not play, and one beside another that does, leave as they are shown: nothing warns, and nothing moves twice."""
    body, _, shapes = baked_walk
    assert bpy.ops.thew.bake(name="Second") == {"FINISHED"}
    assert find(exporter, values, "muted_keys") is None
    assert error(exporter, tmp_path, shapes, dict(values)) < RIGHT
    body = bpy.data.objects["Body"]
    body.thew.enabled = False
    plain = roundtrips.shapes(body, FRAMES)
    assert find(exporter, values, "muted_keys") is None
    assert error(exporter, tmp_path, plain, dict(values)) < RIGHT


@pytest.mark.parametrize(("exporter", "kind"), [(GLTF, "SMOOTH"), (GLTF, "SUBSURF"), (USD, "SMOOTH")])
def test_trap_left_modifiers(baked_walk, tmp_path, exporter, kind):
    """Modifiers behind the armature are not in the file: a warning where they shape the mesh, and USD holds points."""
    body, _, _ = baked_walk
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
