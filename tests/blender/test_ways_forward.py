# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences of the panel that tell what to do, with the buttons that do it; and bakes of files as the panel sees them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from dancing import push_down, use
from helpers import Layout, activate, make_armature, make_body, make_character, part, play, refusal


def context(width=300):
    """Builds a context as a panel sees it."""
    here = bpy.context
    return SimpleNamespace(
        view_layer=here.view_layer, scene=here.scene, region=SimpleNamespace(width=width), space_data=None,
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)), object=here.view_layer.objects.active,
    )  # fmt: skip


def draw(name: str = "") -> Layout:
    """Draws a panel of the sidebar: the main one, or a foldout by its name."""
    cls = getattr(bpy.types, f"THEW_PT_{name}_sidebar" if name else "THEW_PT_sidebar")
    layout = Layout()
    cls.draw(SimpleNamespace(layout=layout, contents=getattr(cls, "contents", None)), context())
    return layout


def offered(layout: Layout) -> list[str]:
    """Returns the operators of a drawn panel, in order."""
    return [call[1] for call in layout.seen if call[0] == "operator"]


def words(layout: Layout) -> str:
    """Returns all labels of a drawn panel."""
    return " ".join(call[-1] for call in layout.seen if call[0] == "label")


# a mesh without bones -----------------------------------------------------------------------------------------------


def make_bare(rings=40):
    """Builds the body of a character without bones, active."""
    rig = make_armature()
    body = make_body(rig, rings=rings, sides=20)
    body.modifiers.clear()
    body.vertex_groups.clear()
    body.parent = None
    bpy.data.objects.remove(rig)
    bpy.context.view_layer.update()
    activate(body)
    return body


def test_bare_mesh_led_to_flesh(scene):
    """A mesh without bones becomes one with flesh by the buttons of the panel alone, in the order in which they stand."""
    body = make_bare()
    assert offered(draw())[:3] == ["thew.suggest_bones", "thew.skeleton_click", "thew.bind_bones"]
    assert bpy.ops.thew.suggest_bones() == {"FINISHED"}
    armature = bpy.context.view_layer.objects.active
    assert armature.type == "ARMATURE" and offered(draw()) == ["thew.bind_bones"] and body.name in words(draw())
    assert bpy.ops.thew.bind_bones() == {"FINISHED"}
    assert bpy.context.view_layer.objects.active == body and body.modifiers[0].object == armature
    weights = [sum(each.weight for each in vertex.groups) for vertex in body.data.vertices]
    assert min(weights) > 0.0
    assert offered(draw())[0] == "thew.add"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}


def test_bare_mesh_binds_to_named_bones(scene):
    """The button in the panel of the mesh names the armature around which it lies, not one elsewhere; it is undone as one step."""
    body = make_bare()
    far = make_armature("Far")
    far.location.x = 50.0
    near = make_armature("Near")
    bpy.context.view_layer.update()
    activate(body)
    binding = part("scene.binding")
    assert binding.likely_armature(body, bpy.context.scene) == near
    body.select_set(False)
    assert binding.likely_mesh(near, bpy.context.scene) == body and binding.likely_mesh(far, bpy.context.scene) is None
    far.select_set(True)
    assert binding.likely_armature(body, bpy.context.scene) == far, "a selected one is meant"
    assert bpy.ops.thew.bind_bones(armature="Near") == {"FINISHED"}
    assert body.modifiers[0].object == near


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"armature": "Nobody"}, "“Nobody”"),
        ({"armature": "Body"}, "“Body”"),
        ({"mesh": "Nobody"}, "“Nobody”"),
        ({}, "Suggest Bones"),
    ],
)
def test_bind_refuses(scene, options, told):
    """Names of nothing, and a mesh that no bones lie in, are refused with a sentence, and nothing is changed."""
    body = make_bare(rings=6)
    assert told in refusal(bpy.ops.thew.bind_bones, **options)
    assert not body.modifiers and not body.vertex_groups and body.parent is None


def test_bind_refuses_bound_and_hidden(scene):
    """A mesh that has bones is not bound again, nor is one to hidden bones, to whose weights Blender would give nothing."""
    body, rig = make_character()
    assert "has bones already" in refusal(bpy.ops.thew.bind_bones)
    body.modifiers.clear()
    body.vertex_groups.clear()
    rig.hide_set(True)
    assert "is hidden" in refusal(bpy.ops.thew.bind_bones, armature=rig.name)
    assert not body.modifiers


def test_bind_refuses_idle(scene):
    """A mesh whose Armature modifier is switched off gets no second one; the panel of its bones names it, not a mesh around them."""
    body, rig = make_character()
    body.modifiers[0].show_viewport = False
    make_room()
    activate(body)
    assert "is switched off" in refusal(bpy.ops.thew.bind_bones)
    assert len(body.modifiers) == 1
    activate(rig)
    assert offered(draw()) == [] and "is switched off" in words(draw())


def make_room() -> bpy.types.Object:
    """Builds a mesh of many vertices around everything."""
    bpy.ops.mesh.primitive_uv_sphere_add(segments=64, ring_count=64, radius=20.0)
    room = bpy.context.object
    room.select_set(False)
    return room


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_likely_mesh_not_room(scene, scale):
    """The smallest of the meshes around bones that were made for none is offered to them, whatever the scale of its data."""
    body, room = make_bare(), make_room()
    body.scale = 3 * (scale,)
    body.select_set(False)
    rig = make_armature(scale=scale)
    bpy.context.view_layer.update()
    binding = part("scene.binding")
    assert binding.likely_mesh(rig, scene) == body
    bpy.data.objects.remove(body)
    assert binding.likely_mesh(rig, scene) == room
    bpy.data.meshes.remove(room.data)
    scene.collection.objects.link(bpy.data.objects.new("Nothing", bpy.data.meshes.new("Nothing")))
    assert binding.likely_mesh(rig, scene) is None


# the end of the motion ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [False, True])
def test_set_end_where_bones_stand(character, own):
    """Details has the button that ends the frames where the bones come to a stand: the scene's, or the character's own."""
    body, _ = character
    scene = bpy.context.scene
    body.thew.use_scene_range = not own
    body.thew.frame_start, body.thew.frame_end = 1, 80
    scene.frame_end = 80
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    still = part("live.jobs").still_frame(part("live.session").register.state_of(body))
    assert still is not None and 1 < still < 40
    assert "thew.set_end" in offered(draw("details"))
    assert bpy.ops.thew.set_end() == {"FINISHED"}
    assert body.thew.frames(scene) == (1, still) and (scene.frame_end == 80) == own
    assert "thew.set_end" not in offered(draw("details"))
    assert "begins in frame 1" in refusal(bpy.ops.thew.set_end, frame=1)


def test_set_end_of_moving_bones(fleshed_character):
    """Bones that move to the end have no such button, and a call says so."""
    assert "thew.set_end" not in offered(draw("details"))
    assert "nothing to set" in refusal(bpy.ops.thew.set_end)


# bakes of files as the panel sees them ------------------------------------------------------------------------------


def test_point_cache_under_strips(dancer, tmp_path):
    """The panel says that the plain skin shows under NLA strips of several clips for a point cache, and that keys play."""
    body, rig = dancer
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "dance.blend"))
    panel = part("ui.bake_panel")
    for target, strips in (("SHAPE_KEYS", True), ("PC2", False)):
        activate(body)
        assert bpy.ops.thew.bake(target=target, clips="ALL") == {"FINISHED"}
        for name in ("Run", "Walk"):
            push_down(rig, name)
        use(rig, None)
        bpy.context.scene.frame_set(15)
        played = panel.played_bake(body)
        assert played.strips == strips and bool(played.fault) != strips
        said = part("logic.health").bake_health(played, 15)
        assert ("plays along the NLA strips" in said.text) == strips
        player = [each for each in body.modifiers if each.type == "MESH_CACHE" and each.show_viewport]
        assert not player
        use(rig, "Run")
        for track in list(rig.animation_data.nla_tracks):
            rig.animation_data.nla_tracks.remove(track)


def test_panel_asks_disk_once_a_second(saved, monkeypatch):
    """Redraws ask the disk once for each file and second; a frame asks anew, and so does a panel after files were written."""
    body, _ = saved
    assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
    states, panel = part("scene.file_states"), part("ui.bake_panel")
    asked, now, real = [], [100.0], Path.stat
    monkeypatch.setattr(states.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(Path, "stat", lambda path, **more: asked.append(path) or real(path, **more))

    def redraws(count: int) -> int:
        asked.clear()
        for _ in range(count):
            panel.played_bake(body)
            panel.size_text(body, body.thew.bakes[0])
        return len(asked)

    states.forget()
    assert redraws(50) == 1
    now[0] += 0.9
    assert redraws(50) == 0
    now[0] += 0.2
    assert redraws(50) == 1
    path = part("scene.bake_files").files_of(body.thew.bakes[0].clips)[0]
    away = path.rename(path.with_suffix(".away"))
    assert not panel.played_bake(body).fault, "less than a second ago it was there"
    now[0] += 1.1
    assert "is gone" in panel.played_bake(body).fault and redraws(50) == 0, (
        "a missing file is not asked for again either"
    )
    away.rename(path)
    bpy.context.scene.frame_set(7)
    assert not panel.played_bake(body).fault, "a frame looks for itself"
    states.forget()
    assert redraws(10) == 1


@pytest.fixture
def saved(fleshed_character, tmp_path):
    """Builds (mesh, armature) with flesh, in a saved file."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    return fleshed_character


# the panel Keyframed Flesh ------------------------------------------------------------------------------------------


def test_keyframed_panel_after_remove(fleshed_character):
    """Keys that a bake left are no offer of Keyframed Flesh; the artist's own are, and they alone are counted."""
    body, _ = fleshed_character
    keyframed = part("ui.keyframed_panel")
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert body.data.shape_keys is not None and not keyframed.is_shown(body)
    body.shape_key_add(name="Smile")
    assert keyframed.is_shown(body)
    layout = Layout()
    keyframed.draw_start(layout, body, 60)
    assert "1 shape key to move through" in words(layout)


def test_softened_part_said(fleshed_character):
    """The message on a softened part says what changed, to which value, and how the place was found."""
    body, _ = fleshed_character
    flesh = part("operators.flesh")
    said = []
    for name, amount in (("BELLY", 0.5), ("WHOLE", 1.0)):
        stand = SimpleNamespace(part=name, amount=amount, size=1.0)
        said.append(flesh.THEW_OT_flesh_preset.edit(stand, bpy.context, body))
    assert said[0].startswith("Belly is now 0.5 in the map Flesh, 1 being softest; found ")
    assert said[1] == "The map Flesh is now the automatic one times 1, everywhere."
    group = body.vertex_groups["Flesh"]
    values = [next((each.weight for each in v.groups if each.group == group.index), 0.0) for v in body.data.vertices]
    assert np.isfinite(values).all() and len(play(body, (3,)))


# before an export ---------------------------------------------------------------------------------------------------


def mended(body, key: str, exporter="EXPORT_SCENE_OT_gltf") -> list[str]:
    """Presses the button of a trap with an exporter's defaults; returns the keys of the traps that are left."""
    settings, here = part("bake.traps").ExportSettings(exporter, {}), bpy.context
    trap = next(each for each in part("bake.export_check").find_traps([body], settings) if each.key == key)
    assert trap.remedy, trap.text
    assert part("bake.mending").DESCRIPTIONS[key]
    part("logic.tasks").finish(part("bake.mending").mend(key, body, here.scene, here.view_layer, settings))
    return [each.key for each in part("bake.export_check").find_traps([body], settings)]


def test_texture_trap_mended(dancer, tmp_path):
    """An export of a vertex texture has a button that lets keys of the same clip play."""
    body, _ = dancer
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    activate(body)
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE", clips="CHOSEN", actions="Run") == {"FINISHED"}
    assert "texture" not in mended(body, "texture")
    bake = next(each for each in body.thew.bakes if each.plays)
    assert bake.kind == "COMPRESSED" and [clip.name for clip in bake.clips] == ["Run"]


def test_unbaked_actions_mended(dancer):
    """An export that writes actions without flesh has a button that bakes them into the present bake."""
    body, rig = dancer
    activate(body)
    use(rig, "Run")
    assert bpy.ops.thew.bake(target="COMPRESSED", clips="CHOSEN", actions="Run") == {"FINISHED"}
    assert "unbaked" not in mended(body, "unbaked")
    (bake,) = body.thew.bakes
    assert len(bake.clips) > 1 and bake.kind == "COMPRESSED"


def test_split_strips_mended(dancer):
    """A bake of the scene's range under NLA strips, as the foldout Bake sees it before any exporter is chosen, has a button too."""
    body, rig = dancer
    activate(body)
    for name in ("Run", "Walk"):
        push_down(rig, name)
    use(rig, None)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    layout = Layout()
    part("ui.bake_panel").draw_remarks(layout, body, bpy.context.scene, 60)
    assert "thew.mend_export" in offered(layout)
    assert bpy.ops.thew.mend_export(trap="split", object=body.name) == {"FINISHED"}
    assert "split" not in [
        each.key for each in part("bake.export_check").find_traps([body], part("bake.traps").ExportSettings())
    ]
