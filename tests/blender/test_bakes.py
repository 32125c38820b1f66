# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes in rest and in posed space, Finish Bake, and the check before an export."""

from __future__ import annotations

import json
import struct
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
import roundtrips
from helpers import (
    Layout,
    activate,
    flesh_of,
    forget_settings,
    make_armature,
    make_body,
    make_character,
    part,
    play,
    refusal,
    size_of,
    snapshot,
    world,
)

FRAMES = range(1, 21)
SPACES = ("REST", "POSED")


def add(**options) -> None:
    assert bpy.ops.thew.add(**{"cells_across": 6, **options}) == {"FINISHED"}


def bake(space="REST", **options) -> None:
    assert bpy.ops.thew.bake(space=space, **options) == {"FINISHED"}


def check(obj) -> list[str]:
    return part("bake.export_check").check(obj)


def assert_same(shapes, others) -> None:
    assert np.abs(shapes - others).max() < 1e-5 * size_of(others[0])


# what is baked --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preserve", [False, True])
def test_bake_rest_skinning(scene, preserve):
    """A bake in rest space shows the live flesh through scaled bones, Preserve Volume, a mask and a second armature."""
    body, rig = make_character()
    rig.pose.bones["Spine"].scale = (1.3, 0.8, 1.1)
    modifier = body.modifiers["Armature"]
    modifier.use_deform_preserve_volume = preserve
    modifier.vertex_group, modifier.invert_vertex_group = "Hip", True
    add()
    other = rig.copy()
    scene.collection.objects.link(other)
    first = body.modifiers.new("First", "ARMATURE")
    first.object = other
    body.modifiers.move(len(body.modifiers) - 1, 0)
    bpy.ops.thew.simulate()
    live = play(body, FRAMES)
    plain = np.array([flesh_of(body).offsets(frame) for frame in FRAMES])
    assert np.abs(plain).max() > 1e-3 * size_of(live[0])
    bake()
    assert_same(play(body, FRAMES), live)
    assert [m.name for m in body.modifiers if m.show_viewport] == ["First", "Armature"]


def test_bake_rest_subframes(character):
    """Between frames the skin follows the armature's own curves, and the flesh is blended between the two keys."""
    body, _ = character
    add()
    bake()
    parts = (4.0, 4.5, 5.0)
    with_keys = roundtrips.shapes(body, parts)
    body.thew.enabled = False
    skin = roundtrips.shapes(body, parts)
    added = with_keys - skin
    assert np.abs(added[1]).max() > 1e-3
    assert np.abs(added[1] - (added[0] + added[2]) / 2.0).max() < 0.02 * np.abs(added[1]).max()


@pytest.mark.parametrize("space", SPACES)
def test_bake_keeps_modifiers(character, space):
    """Modifiers before the armature are baked into the keys, and modifiers behind it act on them."""
    body, _ = character
    cast = body.modifiers.new("Cast", "CAST")
    cast.factor = 0.3
    body.modifiers.move(1, 0)
    body.modifiers.new("Smooth", "CORRECTIVE_SMOOTH")
    body.modifiers.new("Subdivision", "SUBSURF").levels = 1
    add()
    live = play(body, FRAMES)
    bake(space)
    assert_same(play(body, FRAMES), live)
    assert_same(play(body, FRAMES), live)
    shown = [m.name for m in body.modifiers if m.show_viewport]
    assert shown == (["Armature"] if space == "REST" else []) + ["Smooth", "Subdivision"]
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert [m.name for m in body.modifiers] == shown
    assert_same(play(body, FRAMES), live)


@pytest.mark.parametrize(("first", "second"), [SPACES, SPACES[::-1]])
def test_bake_other_space_replaces(character, first, second):
    """A bake in one space replaces a bake in the other, and Remove shows the armature again."""
    body, _ = character
    add()
    live = play(body, FRAMES)
    bake(first)
    bake(second)
    assert_same(play(body, FRAMES), live)
    assert len(body.data.shape_keys.key_blocks) == 21
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert_same(play(body, FRAMES), live)
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    assert_same(play(body, FRAMES), live)
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert body.modifiers["Armature"].show_viewport and body.modifiers["Armature"].show_render


def test_bake_flattened_skin(character):
    """Where the armature flattens the skin, the bake reports how far its keys miss the live shape."""
    body, rig = character
    rig.pose.bones["Head"].scale = (1.0, 1e-4, 1e-4)
    body.thew.young = 3e3
    add()
    baked = part("logic.tasks").finish(
        part("bake.baking").bake(body, bpy.context.scene, bpy.context.view_layer, space="REST")
    )
    shapes = play(body, FRAMES)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    live = play(body, FRAMES)
    size = size_of(part("scene.mesh").basis_positions(body.data))
    away = np.linalg.norm(shapes - live, axis=2).max() / size
    assert baked.miss > 1e-4
    assert away == pytest.approx(baked.miss, rel=1e-2)
    assert f"up to {100 * baked.miss:.2g} % of the size" in baked.details[0]
    assert "flattens the skin" in panel_words(body)


# Finish Bake ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("shown", ["bake", "live"])
def test_finish_bake_keeps_keys(character, space, shown):
    """Finish Bake leaves the keys and the animation, and removes everything else of the flesh."""
    body, rig = character
    before = snapshot(body)
    add()
    live = play(body, FRAMES)
    bake(space)
    if shown == "live":
        bpy.ops.thew.show_live()
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert_same(play(body, FRAMES), live)
    bpy.context.scene.frame_set(1)
    after = snapshot(body)
    assert [m[0] for m in after["modifiers"]] == (["Armature"] if space == "REST" else [])
    if space == "REST":
        assert after["modifiers"] == before["modifiers"]
    for each in ("attributes", "active attribute", "groups", "custom", "visibility", "vertices", "frame"):
        assert after[each] == before[each], each
    assert not bpy.data.node_groups
    assert not body.thew.made.flesh and part("live.session").register.known_state(body) is None
    assert rig.animation_data.action is not None


@pytest.mark.skipif(bpy.app.version < (4, 4), reason="actions know no slots")
def test_finish_bake_one_animation(character, tmp_path, monkeypatch):
    """A finished bake is exported as one animation even without the extension, and Remove takes its slot away."""
    body, rig = character
    before = snapshot(body)
    action = rig.animation_data.action
    add()
    live = play(body, FRAMES)
    bake()
    assert body.data.shape_keys.animation_data.action != action
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert list(bpy.data.actions) == [action] and len(action.slots) == 2
    assert_same(play(body, FRAMES), live)
    monkeypatch.delattr(part("bake.gltf").glTF2ExportUserExtension, "gather_actions_hook")
    roundtrips.export(tmp_path / "alone.glb")
    assert {name: "weights" in paths for name, paths in animations(tmp_path / "alone.glb").items()} == {
        action.name: True
    }
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    bpy.context.scene.frame_set(1)
    assert snapshot(body) == before and len(action.slots) == 1


def test_finish_bake_one_undo(character):
    """One undo takes Finish Bake back."""
    body, _ = character
    add()
    bake("POSED")
    baked = play(body, FRAMES)
    bpy.context.scene.frame_set(1)
    before = snapshot(body)
    bpy.ops.ed.undo_push(message="baked")
    bpy.ops.thew.finish_bake("EXEC_DEFAULT", True)
    assert len(bpy.data.objects["Body"].modifiers) == 0
    bpy.ops.ed.undo()
    assert snapshot(bpy.data.objects["Body"]) == before
    np.testing.assert_array_equal(play(bpy.data.objects["Body"], FRAMES), baked)


def test_finish_bake_keeps_artist_action(character):
    """Finish Bake leaves the artist's own action on the shape keys."""
    body, _ = character
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="Swell").keyframe_insert("value", frame=1)
    own_action = body.data.shape_keys.animation_data.action
    add()
    bake()
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert body.data.shape_keys.animation_data.action == own_action


def test_finish_bake_report(character):
    """Finish Bake reports the keys, the armature that went and the parent that only carries."""
    body, rig = character
    body.parent, body.parent_type = rig, "OBJECT"
    add()
    bake("POSED")
    body.parent_type = "ARMATURE"
    sentences = part("bake.finishing").finish_bake(body)
    assert "20 keys, ready to export" in sentences[0]  # what the status bar shows
    for words in ("“Armature” was removed", "“Rig” only carries"):
        assert any(words in text for text in sentences[1:])
    assert (body.parent, body.parent_type) == (rig, "OBJECT")


@pytest.mark.parametrize("kind", ["OBJECT", "ARMATURE"])
def test_finish_bake_parent(scene, kind):
    """A character whose armature object walks still walks when nothing bends it any more."""
    body, rig = make_character()
    body.parent = rig
    for frame, x in ((1, 0.0), (20, 3.0)):
        rig.location.x = x
        rig.keyframe_insert("location", frame=frame)
    scene.frame_set(1)
    add()
    bake("POSED")
    seen = play(body, FRAMES, read=world)
    body.parent_type = kind
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    np.testing.assert_allclose(play(body, FRAMES, read=world), seen, atol=1e-5)
    assert np.ptp(seen[:, 0, 0]) > 2.0


def test_finish_bake_refusals(character):
    """Finish Bake is refused without a bake, and on a bake that is finished."""
    assert "no bake to finish" in refusal(bpy.ops.thew.finish_bake)
    add()
    assert "no bake to finish" in refusal(bpy.ops.thew.finish_bake)
    for space in SPACES:
        bake(space)
        assert bpy.ops.thew.finish_bake() == {"FINISHED"}
        assert "is finished" in refusal(bpy.ops.thew.finish_bake)
        if space == "REST":
            add()


def test_add_after_finished_bake(character):
    """New flesh plays without the kept keys of a finished bake, and they can still be deleted."""
    body, _ = character
    before = snapshot(body)
    add()
    live = play(body, FRAMES)
    bake()
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    add()
    assert_same(play(body, FRAMES), live)
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    assert_same(play(body, FRAMES), live)
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    bpy.context.scene.frame_set(1)
    forget_settings(body)
    assert snapshot(body) == before


def test_finish_bake_keeps_rigs(character):
    """Finish Bake keeps the rigs."""
    body, _ = character
    add()
    assert bpy.ops.thew.rig_add(bone="Spine") == {"FINISHED"}
    bake()
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert len(body.thew.rigs) == 1


# before an export -----------------------------------------------------------------------------------------------------


def test_export_check_states(character):
    """The check before an export names the next step in each state of the flesh and its bake."""
    body, rig = character
    assert check(body) == [] and check(rig) == []
    add()
    assert "live" in check(body)[0] and "bake it first" in check(body)[0]
    bake()
    assert check(body) == []
    bpy.ops.thew.show_live()
    assert "show its bake first" in check(body)[0]
    body.thew.enabled = False
    assert check(body) == []
    body.thew.enabled = True
    bake("POSED")
    assert "bend it once more" in check(body)[0] and "“Armature”" in check(body)[0]
    assert len(check(body)) == 1
    bpy.ops.thew.finish_bake()
    assert check(body) == []
    body.parent, body.parent_type = rig, "ARMATURE"
    assert "the parent “Rig”" in check(body)[0]
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert check(body) == []


def test_export_check_lost_features(character):
    """The check names Preserve Volume, a second armature and modifiers that files do not hold."""
    body, rig = character
    body.modifiers["Armature"].use_deform_preserve_volume = True
    add()
    bake()
    assert "preserves volume" in check(body)[0]
    body.modifiers["Armature"].use_deform_preserve_volume = False
    body.modifiers.new("Second", "ARMATURE").object = rig
    assert "2 Armature modifiers" in check(body)[0]
    body.modifiers.remove(body.modifiers["Second"])
    body.modifiers.new("Subdivision", "SUBSURF")
    assert "drops the baked keys" in check(body)[0] and "“Subdivision”" in check(body)[0]
    assert part("bake.export_check").check(body, "EXPORT_SCENE_OT_gltf") == []
    body.modifiers.remove(body.modifiers["Subdivision"])
    assert check(body) == []


def test_export_check_fbx_action(character):
    """The check warns when no object has an action: FBX samples shape keys only along with one."""
    body, rig = character
    add()
    bake("POSED")
    bpy.ops.thew.finish_bake()
    assert check(body) == []
    bpy.data.objects.remove(rig)
    assert "without an action" in check(body)[0]
    assert part("bake.export_check").check(body, "EXPORT_SCENE_OT_gltf") == []


def panel_words(obj) -> str:
    layout = Layout()
    part("ui.bake_panel").draw_bake(layout, bpy.context, obj, 40)
    return " ".join(call[-1] for call in layout.seen if call[0] == "label")


def test_bake_panel(character):
    """The panel offers Bake and Finish Bake, and describes the bake."""
    body, _ = character
    add()
    layout = Layout()
    part("ui.bake_panel").draw_bake(layout, bpy.context, body, 40)
    pressed = [call[1] for call in layout.seen if call[0] == "operator"]
    assert {"thew.bake", "thew.finish_bake"} <= set(pressed)
    bake("POSED")
    assert "flesh and bones" in panel_words(body) and "Finish Bake" in panel_words(body)
    bake()
    assert "Keys of frames 1 to 20, flesh alone" in panel_words(body)


@pytest.mark.parametrize(
    ("exporter", "warned"),
    [
        ("EXPORT_SCENE_OT_fbx", True),
        ("EXPORT_SCENE_OT_gltf", True),
        ("WM_OT_usd_export", False),  # leaves out the skin while its modifier is off: see test_export_traps
        ("WM_OT_open_mainfile", False),
    ],
)
def test_export_panel_warns(character, exporter, warned):
    """The warning stands beside an exporter's settings, and goes once the bake is in rest space."""
    add()
    bake("POSED")
    panel = bpy.types.THEW_PT_export
    context = SimpleNamespace(
        scene=bpy.context.scene,
        space_data=SimpleNamespace(active_operator=SimpleNamespace(bl_idname=exporter)),
        region=SimpleNamespace(width=300),
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)),
    )
    assert panel.poll(context) == warned
    layout, menu = Layout(), Layout()
    if warned:
        panel.draw(SimpleNamespace(layout=layout), context)
        assert "bend it once more" in " ".join(layout.read())
    part("ui.export_panel").draw_menu(SimpleNamespace(layout=menu), context)
    assert "Finish Bake" in " ".join(menu.read())
    bake()
    assert not panel.poll(context)


# the exporters --------------------------------------------------------------------------------------------------------


def contents(path) -> dict:
    """Returns the JSON of a .glb."""
    data = path.read_bytes()
    length = struct.unpack("<I", data[12:16])[0]
    return json.loads(data[20 : 20 + length])


def animations(path) -> dict[str, set[str]]:
    """Returns the animations in a .glb, each with the paths that it moves."""
    return {
        each["name"]: {channel["target"]["path"] for channel in each["channels"]}
        for each in contents(path).get("animations", ())
    }


def test_gltf_one_animation(scene, tmp_path):
    """Bones and keys of two meshes are one glTF animation, and other actions stay by themselves."""
    body, rig = make_character()
    shirt = make_body(rig, name="Shirt", rings=9)
    for obj in (body, shirt):
        activate(obj)
        add()
        bake()
    action = rig.animation_data.action
    other = action.copy()
    other.name = "Other"
    roundtrips.export(tmp_path / "two.glb")
    found = animations(tmp_path / "two.glb")
    assert set(found) == {action.name, "Other"}
    assert found[action.name] >= {"rotation", "weights"}
    assert "weights" not in found["Other"]
    roundtrips.export(tmp_path / "again.glb")
    assert animations(tmp_path / "again.glb") == found


def test_gltf_keys_off(scene, tmp_path):
    """Whatever frame is shown, the file's own key weights are zero, so other animations play the plain skin."""
    body, _ = make_character()
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="Smile").value = 0.25
    activate(body)
    add()
    bake()
    for frame in (1, 10, 20):
        scene.frame_set(frame)
        roundtrips.export(tmp_path / "out.glb")
        (mesh,) = contents(tmp_path / "out.glb")["meshes"]
        weights = dict(zip(mesh["extras"]["targetNames"], mesh["weights"], strict=True))
        assert weights.pop("Smile") == 0.25 and len(weights) == 20 and not any(weights.values())


def test_gltf_bake_stays_with_action(scene, tmp_path):
    """A bake is exported with its own action or strip, even when another action is active."""
    body, rig = make_character()
    body.parent = rig
    data = rig.animation_data
    run, slot = data.action, getattr(data, "action_slot", None)
    run.name = "Run"
    activate(body)
    add()
    bake()
    walk = run.copy()
    walk.name = "Walk"
    data.action = walk
    if slot is not None:
        data.action_slot = walk.slots[0]
    roundtrips.export(tmp_path / "run.glb")
    found = animations(tmp_path / "run.glb")
    assert set(found) == {"Run", "Walk"} and "weights" in found["Run"] and "weights" not in found["Walk"]
    data.action = None
    strip = data.nla_tracks.new()
    strip.name = "Pushed"
    strip = strip.strips.new("Run", 1, run)
    if slot is not None:
        strip.action_slot = slot
    bpy.data.actions.remove(walk)
    bake()
    roundtrips.export(tmp_path / "strip.glb")
    assert animations(tmp_path / "strip.glb") == {"Pushed": {"rotation", "scale", "translation", "weights"}}


def test_gltf_artist_keys(scene, tmp_path):
    """The artist's own shape keys are exported as without the extension."""
    body, _ = make_character()
    body.shape_key_add(name="Basis")
    swell = body.shape_key_add(name="Swell")
    swell.points[0].co.x += 0.1
    swell.keyframe_insert("value", frame=1)
    swell.value = 1.0
    swell.keyframe_insert("value", frame=20)
    roundtrips.export(tmp_path / "plain.glb")
    assert len(animations(tmp_path / "plain.glb")) == 2


@pytest.mark.parametrize(("space", "warned"), [("REST", False), ("POSED", True)])
def test_gltf_warns(character, tmp_path, space, warned):
    """The glTF exporter warns of an unfinished bake in posed space, and of nothing else."""
    add()
    bake(space)
    assert ("Finish Bake" in roundtrips.export(tmp_path / "out.glb")) == warned
    bpy.ops.thew.finish_bake()
    assert "Finish Bake" not in roundtrips.export(tmp_path / "out.glb")


def test_gltf_unfinished_posed(scene, tmp_path):
    """An unfinished bake in posed space is deformed twice after an export: the warning is right."""
    rig = make_armature()
    body = make_body(rig)
    rig.pose.bones["Spine"].rotation_mode = "XYZ"
    rig.pose.bones["Spine"].rotation_euler.x = 0.8
    rig.pose.bones["Spine"].keyframe_insert("rotation_euler", frame=1)
    add()
    bake("POSED")
    seen = roundtrips.shapes(body, (5,))
    roundtrips.export(tmp_path / "twice.glb")
    roundtrips.bring_back(tmp_path / "twice.glb")
    back = roundtrips.baked_mesh()
    roundtrips.play_animation(back, "RigAction")
    again = roundtrips.shapes(back, (5,))
    assert np.abs(again[0].max(axis=0) - seen[0].max(axis=0)).max() > 0.1


def test_shorter_bake_tells_what_it_replaces(character, capfd):
    """A bake of fewer frames says which ones it replaces, and undo brings them back; one of the same frames says nothing."""
    body, _ = character
    add()
    for _ in range(2):
        assert bpy.ops.thew.bake(frame_start=1, frame_end=20) == {"FINISHED"}
    assert "It replaces" not in capfd.readouterr().out
    bpy.ops.ed.undo_push(message="long")
    assert bpy.ops.thew.bake(frame_start=20, frame_end=20) == {"FINISHED"}
    assert "It replaces frames 1 to 20 of the bake “Shape Keys”" in capfd.readouterr().out
    assert len(body.data.shape_keys.key_blocks) == 2
    bpy.ops.ed.undo_push(message="short")
    assert bpy.ops.ed.undo() == {"FINISHED"}
    body = bpy.data.objects["Body"]
    assert len(body.data.shape_keys.key_blocks) == 21 and body.thew.bakes[0].scene_clip.start == 1
