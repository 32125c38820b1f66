# SPDX-License-Identifier: GPL-3.0-or-later
"""Helper bones in files: glTF and FBX with their defaults, and what the check before an export says of them."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
import roundtrips
from dancing import ACTIONS, make_fleshed_dancer, push_down, use
from gltf_file import GltfFile
from helpers import activate, part, size_of

GLTF, FBX, USD = "EXPORT_SCENE_OT_gltf", "EXPORT_SCENE_OT_fbx", "WM_OT_usd_export"
#: Exporters sample in single precision, and store rotations as quaternions of it.
TOLERANCE = 2e-5
#: FBX drops keys of curves that are nearly straight (Simplify).
FBX_TOLERANCE = 1e-3


@pytest.fixture
def dancer(scene):
    """Builds (mesh with flesh, armature) with the actions Run (active), Walk and Turn, and Idle, of which there is no clip."""
    return make_fleshed_dancer()


def bake(body, **options) -> None:
    activate(body)
    options = {"target": "HELPER_BONES", "clips": "CHOSEN", "actions": "Run;Walk;Turn", "bones": 6, **options}
    assert bpy.ops.thew.bake(**options) == {"FINISHED"}


def expected_shapes(body, rig, frames_of) -> dict[str, np.ndarray]:
    """Returns the shapes that Blender shows of each action at `frames_of(first, last)`."""
    found = {}
    for name in (*ACTIONS, "Idle"):
        first, last, *_ = ACTIONS.get(name, ACTIONS["Walk"])
        use(rig, name)
        found[name] = roundtrips.shapes(body, frames_of(first, last))
    use(rig, "Run")
    bpy.context.scene.frame_set(10)  # where helper bones of Run are far from rest
    return found


def whole_frames(first: float, last: float) -> np.ndarray:
    """Returns the frames that glTF's exporter takes of an action: whole ones from its first key on, towards 0."""
    return np.arange(int(first), int(last) + 1)


def fbx_frames(first: float, last: float) -> list[float]:
    """Returns the frames that the FBX exporter takes; before frame 0 it rounds towards it."""
    frames = first + np.arange(math.floor(last - first) + 1)
    return [max(frame, float(int(frame))) for frame in frames]


@pytest.mark.parametrize("mode", ["ACTIONS", "NLA_TRACKS"])
def test_gltf_plays_every_clip(dancer, tmp_path, mode):
    """Every animation of a glTF moves the mesh as Blender shows it, with four influences; one without a clip too."""
    body, rig = dancer
    bake(body)
    expected = expected_shapes(body, rig, whole_frames)
    if mode == "NLA_TRACKS":
        expected = {name: expected[name] for name in ("Run", "Walk", "Idle")}
        for name in expected:
            push_down(rig, name)
        use(rig, None)
    path = tmp_path / "bones.glb"
    assert bpy.ops.export_scene.gltf(filepath=str(path), export_animation_mode=mode) == {"FINISHED"}
    file = GltfFile(path)
    assert set(file.animation_names()) == set(expected) and not file.target_names("Body")
    assert "JOINTS_1" not in file.mesh("Body")["primitives"][0]["attributes"]
    assert sum(node.get("name", "").startswith("flesh.") for node in file.nodes) == 6
    for name, shapes in expected.items():
        start = max(whole_frames(*ACTIONS.get(name, ACTIONS["Walk"])[:2])[0], 0) / 24.0
        played = np.array([file.positions("Body", name, start + at / 24.0) for at in range(len(shapes))])
        owner = roundtrips.owners(shapes, played)
        assert np.abs(played - shapes[:, owner]).max() < TOLERANCE * size_of(shapes[0]), name


def test_gltf_shows_plain_skin_without_a_clip(dancer, tmp_path):
    """With an error at rest of 0, an animation without a clip is the same in a file with helper bones as in one without."""
    body, _ = dancer
    bake(body, rest_error=0.0)
    paths = [tmp_path / "bones.glb", tmp_path / "plain.glb"]
    for path in paths:
        assert bpy.ops.export_scene.gltf(filepath=str(path)) == {"FINISHED"}
        assert bpy.ops.thew.show_live() == {"FINISHED"}
        body.thew.enabled = False
    fleshed, plain = map(GltfFile, paths)
    for name, differs in (("Idle", False), ("Walk", True)):
        away = 0.0
        for at in range(12, 31, 3):
            one, other = (file.positions("Body", name, at / 24.0) for file in (fleshed, plain))
            away = max(away, np.linalg.norm(one - other, axis=1).max())
        assert (away > 1e-3 * size_of(other)) == differs and (differs or away < TOLERANCE * size_of(other)), name


def test_fbx_plays_every_clip(dancer, tmp_path):
    """Every take of an FBX moves the mesh as Blender shows it; one without a clip too, whatever plays at the export."""
    body, rig = dancer
    bake(body)
    expected = expected_shapes(body, rig, fbx_frames)
    path = tmp_path / "bones.fbx"
    roundtrips.export(path)
    assert rig.animation_data.action.name == "Run"
    for name, shapes in expected.items():
        roundtrips.bring_back(path)
        (back,) = [obj for obj in bpy.data.objects if obj.type == "MESH"]
        roundtrips.play_animation(back, name)
        played = roundtrips.shapes(back, np.arange(1, len(shapes) + 1))
        owner = roundtrips.owners(shapes, played)
        assert roundtrips.largest_distances(shapes[:, owner], played).max() < FBX_TOLERANCE, name


# the check before exports ---------------------------------------------------------------------------------------------


def keys_of(exporter: str, **values) -> dict[str, str]:
    """Returns the traps of an export with these settings: their levels by key."""
    traps = part("bake.traps")
    found = part("bake.export_check").find_traps(
        bpy.context.scene.objects, traps.ExportSettings(exporter, dict(values))
    )
    assert all(trap.text and not trap.text.endswith(".") for trap in found)
    return {trap.key: trap.level for trap in found}


def test_traps_of_defaults(dancer):
    """With their defaults exporters hold helper bones: glTF without a word, FBX with one on leaf bones."""
    body, _ = dancer
    bake(body)
    assert keys_of(GLTF) == {}
    assert keys_of(FBX) == {"add_leaf_bones": "NOTICE"}
    assert part("bake.export_check").check(body) == []


@pytest.mark.parametrize(
    ("exporter", "values", "key"),
    [
        (GLTF, {"export_reset_pose_bones": False}, "export_reset_pose_bones"),
        (GLTF, {"export_skins": False}, "export_skins"),
        (GLTF, {"export_animations": False}, "export_animations"),
        (GLTF, {"export_frame_step": 2}, "export_frame_step"),
        (FBX, {"bake_anim": False}, "bake_anim"),
        (FBX, {"bake_anim_step": 2.0}, "bake_anim_step"),
        (USD, {}, "export_animation"),
        (USD, {"export_animation": True, "export_armatures": False, "export_shapekeys": True}, "export_armatures"),
    ],
)
def test_traps_of_settings(dancer, exporter, values, key):
    """Settings that spoil the bones are told, and their button sets them right."""
    body, _ = dancer
    bake(body)
    assert keys_of(exporter, **values)[key] == "WARNING"
    settings = part("bake.traps").ExportSettings(exporter, dict(values))
    context = bpy.context
    part("logic.tasks").finish(part("bake.mending").mend(key, body, context.scene, context.view_layer, settings))
    assert key not in keys_of(exporter, **settings.values)


def test_traps_of_eight_influences(dancer, tmp_path):
    """glTF's default of four influences is told where a vertex follows more bones, and the file is right with all of them."""
    body, rig = dancer
    bake(body, influences=8, bones=12)
    bones = {group.index for group in body.vertex_groups if group.name in rig.data.bones}
    most = max(
        sum(entry.weight > 1e-4 and entry.group in bones for entry in vertex.groups) for vertex in body.data.vertices
    )
    assert (most > 4) == ("export_all_influences" in keys_of(GLTF))
    assert "export_all_influences" not in keys_of(GLTF, export_all_influences=True)


def test_traps_of_live_and_mismatch(dancer):
    """Live flesh, an armature that plays another action, and one that is left out, are told as with keys."""
    body, rig = dancer
    bake(body)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert "live" in keys_of(GLTF)
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    use(rig, "Idle")
    assert "mismatch" in keys_of(GLTF, export_animation_mode="ACTIVE_ACTIONS")
    use(rig, "Run")
    rig.hide_set(True)
    assert "armature_left" in keys_of(GLTF, use_visible=True)


# keys of other bakes --------------------------------------------------------------------------------------------------


def mesh_state(body) -> tuple:
    """Returns what an export must leave of a mesh: itself, its name, its keys with their values, and what the file has of each kind."""
    keys = [(key.name, key.mute, key.value) for key in body.data.shape_keys.key_blocks]
    counts = [len(getattr(bpy.data, kind)) for kind in ("meshes", "shape_keys", "actions", "objects")]
    return body.data.as_pointer(), body.data.name, keys, body.active_shape_key_index, counts


def test_fbx_leaves_out_dead_keys(dancer, tmp_path):
    """The keys of another bake, which do not play, stay out of an FBX of helper bones; the artist's key leaves, and the file stays as it is."""
    body, rig = dancer
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="Smile").data[0].co.z += 0.1
    activate(body)
    assert bpy.ops.thew.bake(target="COMPRESSED", clips="ALL") == {"FINISHED"}
    body.active_shape_key_index = 2
    bake(body)
    assert len(body.data.shape_keys.key_blocks) > 3
    shapes = expected_shapes(body, rig, fbx_frames)["Run"]
    before, traps = mesh_state(body), keys_of(FBX)
    assert "muted_keys" not in traps and "many_keys" not in traps
    path = tmp_path / "bones.fbx"
    roundtrips.export(path)
    assert mesh_state(body) == before
    roundtrips.bring_back(path)
    (back,) = [obj for obj in bpy.data.objects if obj.type == "MESH"]
    assert [key.name for key in back.data.shape_keys.key_blocks] == ["Basis", "Smile"] and back.data.name == before[1]
    roundtrips.play_animation(back, "Run")
    played = roundtrips.shapes(back, np.arange(1, len(shapes) + 1))
    owner = roundtrips.owners(shapes, played)
    assert roundtrips.largest_distances(shapes[:, owner], played).max() < FBX_TOLERANCE


def test_fbx_failure_keeps_keys(dancer, tmp_path):
    """An export that fails gives the mesh back with its keys."""
    body, _ = dancer
    assert bpy.ops.thew.bake(target="COMPRESSED", clips="ALL") == {"FINISHED"}
    bake(body)
    before = mesh_state(body)
    with pytest.raises(RuntimeError):
        roundtrips.export(tmp_path / "absent" / "bones.fbx")
    assert mesh_state(body) == before


def test_usd_of_dead_keys(dancer):
    """USD tells of keys that move nothing beside helper bones, and its button leaves them out; not those of the artist."""
    body, _ = dancer
    assert bpy.ops.thew.bake(target="COMPRESSED", clips="ALL") == {"FINISHED"}
    bake(body)
    values = {"export_animation": True}
    assert keys_of(USD, **values)["export_shapekeys"] == "NOTICE"
    settings, context = part("bake.traps").ExportSettings(USD, values), bpy.context
    task = part("bake.mending").mend("export_shapekeys", body, context.scene, context.view_layer, settings)
    part("logic.tasks").finish(task)
    assert values["export_shapekeys"] is False and "export_shapekeys" not in keys_of(USD, **values)
    body.shape_key_add(name="Smile")
    assert "export_shapekeys" not in keys_of(USD, export_animation=True)


@pytest.mark.parametrize("exporter", [GLTF, FBX, USD])
def test_bones_of_a_bake_that_does_not_play(dancer, exporter, tmp_path):
    """Helper bones of another bake are told, and the button leaves them out; those that play are not told."""
    body, _ = dancer
    bake(body)
    assert "idle_bones" not in keys_of(exporter)
    assert bpy.ops.thew.bake(target="COMPRESSED", clips="ALL") == {"FINISHED"}
    values, context = {}, bpy.context
    settings = part("bake.traps").ExportSettings(exporter, values)
    found = [
        trap
        for trap in part("bake.export_check").find_traps(context.scene.objects, settings)
        if trap.key == "idle_bones"
    ]
    assert len(found) == 1 and found[0].level == "NOTICE" and "writes 6 helper bones of “" in found[0].text
    part("logic.tasks").finish(
        part("bake.mending").mend("idle_bones", body, context.scene, context.view_layer, settings)
    )
    assert list(values.values()) == [True] and "idle_bones" not in keys_of(exporter, **values)
    if exporter == GLTF:
        path = tmp_path / "keys.glb"
        for options, count in (({}, 6), (values, 0)):
            assert bpy.ops.export_scene.gltf(filepath=str(path), **options) == {"FINISHED"}
            assert sum(node.get("name", "").startswith("flesh.") for node in GltfFile(path).nodes) == count
