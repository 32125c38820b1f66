# SPDX-License-Identifier: GPL-3.0-or-later
"""The attribute Tension while baked keys play: how near it is to the live one, what it is part of, and what it leaves alone."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
import roundtrips
from gltf_file import GltfFile
from helpers import part, play, size_of, snapshot
from test_tension import tension_of

FRAMES = range(1, 21)
TARGETS = pytest.mark.parametrize("target", ["SHAPE_KEYS", "COMPRESSED"])


def tensions(obj, frames=FRAMES) -> np.ndarray:
    """Returns the attribute at `frames`, [f, n]."""
    rows = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        rows.append(tension_of(obj))
    return np.array(rows)


def edges_of(obj) -> np.ndarray:
    """Returns the edges of a mesh, [e, 2]."""
    return np.array([edge.vertices for edge in obj.data.edges])


def points(data) -> np.ndarray:
    """Returns the positions of a shape key, [n, 3]."""
    return np.array([point.co for point in data])


def key_tension(obj) -> np.ndarray:
    """Returns the tension in rest space at the present frame, [n], computed from the keys and their values alone."""
    basis, *keys = obj.data.shape_keys.key_blocks
    rest = points(basis.data).astype(np.float64)
    shown = rest + sum(key.value * (points(key.data) - rest) for key in keys if not key.mute)
    lengths = np.zeros((2, len(rest)))
    for ends in edges_of(obj):
        for row, at in zip(lengths, (rest, shown), strict=True):
            row[ends] += np.linalg.norm(at[ends[1]] - at[ends[0]])
    return lengths[1] / lengths[0] - 1.0


def rigid_vertices(obj) -> np.ndarray:
    """Returns which vertices follow one bone, together with all vertices that share an edge with them, bool[n]."""
    bones = {obj.vertex_groups[name].index for name in ("Hip", "Spine", "Head")}
    groups = [[each.group for each in v.groups if each.group in bones] for v in obj.data.vertices]
    owner = np.array([each[0] if len(each) == 1 else -1 for each in groups])
    rigid = owner >= 0
    for a, b in edges_of(obj):
        if owner[a] != owner[b]:
            rigid[[a, b]] = False
    return rigid


def storing_modifiers(obj) -> list[str]:
    """Returns the modifiers that are on and store the attribute."""
    nodes = [m for m in obj.modifiers if m.type == "NODES" and m.show_viewport]
    return [m.name for m in nodes if any(n.type == "STORE_NAMED_ATTRIBUTE" for n in m.node_group.nodes)]


@TARGETS
def test_baked_tension_near_live(fleshed_character, target):
    """The attribute is the stretch of the keys before the armature acts, and that of the live flesh where one bone moves the skin."""
    body, _ = fleshed_character
    body.thew.store_tension = True
    live, shapes = tensions(body), play(body, FRAMES)
    assert len(storing_modifiers(body)) == 1
    assert bpy.ops.thew.bake(target=target, tolerance=0.2) == {"FINISHED"}
    assert storing_modifiers(body) == ["Thew Tension"] and body.modifiers[0].name == "Thew Tension"
    baked = tensions(body)
    for frame in (4, 9, 15):
        bpy.context.scene.frame_set(frame)
        assert np.abs(tension_of(body) - key_tension(body)).max() < 1e-5
    # Vertices that are off by the tolerance, 0.2 mm, change an edge of at least 0.1 m by at most 0.4 mm.
    exact = 1e-5 if target == "SHAPE_KEYS" else 4e-3
    largest, rigid = np.abs(live).max(), rigid_vertices(body)
    assert largest > 0.05 and 40 < rigid.sum() < len(rigid)
    assert np.abs(baked - live)[:, rigid].max() < exact
    assert np.abs(baked - live).max() < 0.2 * largest + exact
    assert np.abs(play(body, FRAMES) - shapes).max() < 2e-4 * size_of(shapes[0]) + (target == "COMPRESSED") * 1e-3
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert len(storing_modifiers(body)) == 1 and not body.modifiers[0].show_render
    assert np.abs(tensions(body) - live).max() < 1e-6


def test_baked_tension_removed(fleshed_character):
    """Without the setting, and without the bake, nothing of it is left."""
    body, _ = fleshed_character
    body.modifiers.active = body.modifiers["Armature"]
    before = snapshot(body)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    baked = snapshot(body)
    body.thew.store_tension = True
    bpy.context.scene.frame_set(9)
    assert tension_of(body) is not None and body.add_rest_position_attribute
    assert body.modifiers.active.name == "Armature"
    body.thew.store_tension = False
    assert tension_of(body) is None and not body.add_rest_position_attribute
    bpy.context.scene.frame_set(baked["frame"])
    after = snapshot(body)
    assert all(after[name] == baked[name] for name in ("modifiers", "active modifier", "data", "custom", "settings"))
    body.thew.store_tension = True
    assert bpy.ops.thew.bake_remove(name="Shape Keys") == {"FINISHED"}
    body.thew.store_tension = False
    after = snapshot(body)
    assert after["data"] == before["data"] and not body.add_rest_position_attribute
    assert [each[0] for each in after["modifiers"]] == [each[0] for each in before["modifiers"]]


def test_artists_rest_position_stays(fleshed_character):
    """Add Rest Position of the artist stays on when the bake goes."""
    body, _ = fleshed_character
    body.add_rest_position_attribute = body.thew.store_tension = True
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert body.add_rest_position_attribute and not len(bpy.data.node_groups)
    bpy.context.scene.frame_set(9)
    assert tension_of(body) is None


@TARGETS
def test_baked_tension_stays(fleshed_character, tmp_path, target):
    """Finish Bake and the saved file keep it, for the wrinkle material too; Remove takes it away."""
    body, _ = fleshed_character
    assert bpy.ops.thew.add_wrinkle_material() == {"FINISHED"}
    assert bpy.ops.thew.bake(target=target) == {"FINISHED"}
    baked = tensions(body, (4, 9))
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert np.array_equal(tensions(body, (4, 9)), baked) and np.abs(baked).max() > 0.05
    assert [m.name for m in body.modifiers] == ["Thew Tension", "Armature"]
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "finished.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "finished.blend"), load_ui=False)
    body = bpy.data.objects["Body"]
    assert np.array_equal(tensions(body, (4, 9)), baked)
    (node,) = [node for node in body.data.materials[0].node_tree.nodes if node.type == "ATTRIBUTE"]
    shown = body.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    assert shown.attributes[node.attribute_name].domain == "POINT"
    bpy.context.view_layer.objects.active = body
    assert bpy.ops.thew.bake_remove(name=body.thew.bakes[0].name) == {"FINISHED"}
    assert [m.name for m in body.modifiers] == ["Armature"] and not body.add_rest_position_attribute
    assert not len(bpy.data.node_groups) and tension_of(body) is None


def test_posed_keys_have_no_tension(fleshed_character):
    """Keys in posed space, which hold the bones' motion, store nothing, and a sentence says so."""
    body, _ = fleshed_character
    body.thew.store_tension = True
    assert bpy.ops.thew.bake(space="POSED") == {"FINISHED"}
    assert tension_of(body) is None and not body.add_rest_position_attribute
    assert "flesh and bones and store no Tension" in part("scene.baked_tension").remark(body)
    assert bpy.ops.thew.bake(space="REST", name="Rest") == {"FINISHED"}
    assert tension_of(body) is not None and part("scene.baked_tension").remark(body) == ""
    assert bpy.ops.thew.bake_show(name="Shape Keys") == {"FINISHED"}
    assert tension_of(body) is None


@pytest.mark.parametrize("target", ["PC2", "MDD", "HELPER_BONES"])
def test_positions_have_no_tension(fleshed_character, tmp_path, target):
    """Point caches and helper bones move vertices alone, and a sentence says what holds the attribute."""
    body, _ = fleshed_character
    body.thew.store_tension = True
    assert bpy.ops.thew.bake(target=target, folder=str(tmp_path)) == {"FINISHED"}
    assert tension_of(body) is None
    assert "export USD" in part("scene.baked_tension").remark(body)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    bpy.context.scene.frame_set(9)
    assert tension_of(body) is not None


def test_no_place_for_tension(character):
    """Where Blender lets no modifier stand before all others, the keys play without it, and a sentence names the modifier."""
    body, _ = character
    first = body.modifiers.new("Detail", "MULTIRES")
    first.show_viewport = first.show_render = False
    body.modifiers.move(len(body.modifiers) - 1, 0)
    assert body.modifiers[0] == first
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    body.thew.store_tension = True
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert tension_of(body) is None and not body.add_rest_position_attribute
    assert "“Detail”" in part("scene.baked_tension").remark(body)
    body.modifiers.remove(body.modifiers["Detail"])
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    assert tension_of(body) is not None and part("scene.baked_tension").remark(body) == ""


def test_baked_anew_with_tension(fleshed_character):
    """A bake made while the modifier is on holds the same motion."""
    body, _ = fleshed_character
    assert bpy.ops.thew.bake() == {"FINISHED"}
    shapes = play(body, FRAMES)
    body.thew.store_tension = True
    assert bpy.ops.thew.bake(name="Again") == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - shapes).max() < 1e-6
    assert storing_modifiers(body) == ["Thew Tension"]


# exports --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def baked(fleshed_character):
    """Returns (mesh, shapes) of a bake with tension."""
    body, armature = fleshed_character
    armature.animation_data.action.name = "Walk"
    body.thew.store_tension = True
    assert bpy.ops.thew.bake() == {"FINISHED"}
    return body, roundtrips.shapes(body, FRAMES)


def traps_of(exporter: str) -> set[str]:
    """Returns the keys of the traps of an exporter with its defaults."""
    settings = part("bake.traps").ExportSettings(exporter, {})
    return {trap.key for trap in part("bake.export_check").find_traps(bpy.context.scene.objects, settings)}


def test_gltf_keeps_keys(baked, tmp_path):
    """glTF's exporter writes the keys, with its defaults, and the check finds nothing about the modifier."""
    _, shapes = baked
    assert not {"left_modifiers", "export_apply"} & traps_of("EXPORT_SCENE_OT_gltf")
    path = tmp_path / "out.glb"
    roundtrips.export(path)
    file = GltfFile(path)
    back = np.array([file.positions("Body", "Walk", frame / 24) for frame in FRAMES])
    owner = roundtrips.owners(shapes, back)
    assert np.linalg.norm(back - shapes[:, owner], axis=2).max() < 1e-5 * size_of(shapes[0])


def test_fbx_keeps_keys(baked, tmp_path):
    """FBX's exporter, which would drop the keys for any modifier, writes them with its defaults; the modifier is on again."""
    body, shapes = baked
    assert not {"left_modifiers", "use_mesh_modifiers"} & traps_of("EXPORT_SCENE_OT_fbx")
    path = tmp_path / "out.fbx"
    roundtrips.export(path)
    assert body.modifiers["Thew Tension"].show_viewport and body.modifiers["Thew Tension"].show_render
    roundtrips.bring_back(path)
    back = roundtrips.baked_mesh()
    roundtrips.play_animation(back, "Walk")
    found = roundtrips.shapes(back, FRAMES)[:19]  # the action ends there
    assert np.linalg.norm(found - shapes[:19], axis=2).max() < 1e-3 * size_of(shapes[0])


def test_fbx_trap_without_hook(baked):
    """Where the exporter could not be wrapped, its trap is named with the remedy."""
    hooks = part("bake.fbx")
    exporter = hooks.exporter().execute
    hooks.exporter().execute = getattr(exporter, hooks.ORIGINAL)
    try:
        assert "use_mesh_modifiers" in traps_of("EXPORT_SCENE_OT_fbx")
    finally:
        hooks.hook()
    assert "use_mesh_modifiers" not in traps_of("EXPORT_SCENE_OT_fbx")


def test_usd_points_keep_tension(baked, tmp_path):
    """USD as seen holds the attribute of the keys that play."""
    body, _ = baked
    bpy.context.scene.frame_end = 10
    bpy.context.scene.frame_set(9)
    wanted = tension_of(body)
    assert np.abs(wanted).max() > 0.01
    path = str(tmp_path / "seen.usdc")
    assert bpy.ops.thew.export_cache(format="USD", filepath=path) == {"FINISHED"}
    known = set(bpy.data.objects)
    bpy.ops.wm.usd_import(filepath=path)
    back = next(obj for obj in set(bpy.data.objects) - known if obj.type == "MESH")
    bpy.context.scene.frame_set(9)
    assert np.abs(tension_of(back) - wanted).max() < 1e-5


def test_usd_keeps_keys(baked, tmp_path):
    """USD's exporter writes bones and keys as it does without the modifier."""
    _, shapes = baked
    bpy.ops.wm.usd_export(filepath=str(tmp_path / "out.usdc"), export_animation=True)
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    bpy.ops.wm.usd_import(filepath=str(tmp_path / "out.usdc"))
    back = next(obj for obj in bpy.data.objects if obj.type == "MESH")
    assert len(back.data.shape_keys.key_blocks) == 1 + len(FRAMES)
    assert np.abs(roundtrips.shapes(back, FRAMES) - shapes).max() < 1e-5 * size_of(shapes[0])
