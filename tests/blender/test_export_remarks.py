# SPDX-License-Identifier: GPL-3.0-or-later
"""Remarks on exports, and the panel and the button beside an exporter's settings."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import pytest
import roundtrips
from exporting import (
    ALEMBIC,
    FBX,
    FRAMES,
    GLTF,
    LAST,
    RIGHT,
    USD,
    bake,
    error,
    find,
    fresh_character,
    mend,
    run,
    settings_of,
)
from gltf_file import GltfFile
from helpers import Layout, part, refusal

# remarks --------------------------------------------------------------------------------------------------------------


def test_target_remarks(baked_walk, tmp_path, monkeypatch):
    """The number of morph targets stands beside what engines read, and their normals beside their size."""
    _, _, shapes = baked_walk
    trap = find(GLTF, {}, "gltf_targets")
    assert trap.level == "NOTICE" and "12 morph targets" in trap.text and "256" in trap.text
    monkeypatch.setattr(part("logic.bake_sizes"), "MOST_TARGETS", 11)
    assert find(GLTF, {}, "gltf_targets").level == "WARNING"
    assert find(GLTF, {}, "export_morph_normal") is None  # too few to matter
    monkeypatch.setattr(part("bake.key_traps"), "MIN_NORMALS_SIZE", 1000)
    values: dict = {}
    assert find(GLTF, values, "export_morph_normal").level == "NOTICE"
    run(bpy.ops.export_scene.gltf, filepath=str(tmp_path / "large.glb"))
    mend(GLTF, values, "export_morph_normal")
    assert error(GLTF, tmp_path, shapes, values) < RIGHT
    sizes = [GltfFile(tmp_path / name).size for name in ("large.glb", "out.glb")]
    assert sizes[1] < 0.7 * sizes[0]


@pytest.mark.parametrize("finished", [False, True])
def test_trap_many_targets(baked_walk, tmp_path, monkeypatch, finished):
    """More targets than engines take, one for each frame, are baked anew as Compressed Keys within 2 mm in one press; the bake stays.

    A finished bake has its frames in its keys.
    """
    body, _, shapes = baked_walk
    if finished:
        assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    monkeypatch.setattr(part("logic.bake_sizes"), "MOST_TARGETS", 11)
    assert find(GLTF, {}, "gltf_targets").remedy == "Bake Compressed Keys"
    done = mend(GLTF, {}, "gltf_targets")
    few = part("saved.bakes").playing(body)
    assert few.kind == "COMPRESSED" and few.tolerance == pytest.approx(0.002) and "mm off at most" in done
    assert [(clip.start, clip.end) for clip in few.clips] == [(1, LAST)] and len(body.thew.bakes) == 2
    assert find(GLTF, {}, "gltf_targets").level == "NOTICE" and len(few.key_names) < LAST
    assert error(GLTF, tmp_path, shapes, {}) < 0.002  # of a size of two metres
    body = bpy.data.objects["Body"]
    monkeypatch.setattr(part("logic.bake_sizes"), "MOST_TARGETS", 1)
    assert find(GLTF, {}, "gltf_targets").remedy == "", "two millimetres again would be as many"


@pytest.mark.parametrize("exporter", [FBX, USD])
def test_trap_many_keys(baked_walk, tmp_path, monkeypatch, exporter):
    """FBX and USD write all keys, muted ones too: a key a frame by the hundred is replaced by few keys in one press."""
    body, _, shapes = baked_walk
    values = {"export_animation": True} if exporter == USD else {}
    assert find(exporter, values, "many_keys") is None
    monkeypatch.setattr(part("logic.bake_sizes"), "MOST_TARGETS", 11)
    assert "12 shape keys" in find(exporter, values, "many_keys").text
    mend(exporter, values, "many_keys")
    assert [bake.kind for bake in body.thew.bakes] == ["COMPRESSED"] and find(exporter, values, "many_keys") is None
    assert (
        error(exporter, tmp_path, shapes, values | ({"bake_anim_simplify_factor": 0.0} if exporter == FBX else {}))
        < 0.002
    )


#: Traps that have a button, as they are named: the exporter, its settings, and the key of what is found.
NAMED = [
    (FBX, {"bake_anim_use_all_actions": False}, "bake_anim_use_all_actions"),  # takes
    (USD, {}, "export_animation"),
    (ALEMBIC, {"start": 1, "end": 6}, "export_range"),  # an exporter's frame range
    (GLTF, {}, "export_morph_normal"),
    (GLTF, {}, "gltf_targets"),
]


@pytest.mark.parametrize(("exporter", "values", "key"), NAMED, ids=[case[2] for case in NAMED])
def test_trap_buttons(baked_walk, monkeypatch, exporter, values, key):
    """What is known to spoil exports of bakes has a button each, after which it is not found any more."""
    monkeypatch.setattr(part("bake.key_traps"), "MIN_NORMALS_SIZE", 1000)
    monkeypatch.setattr(part("logic.bake_sizes"), "MOST_TARGETS", 11)
    values = dict(values)
    assert find(exporter, values, key).remedy
    mend(exporter, values, key)
    found = find(exporter, values, key)
    assert found is None or (key == "gltf_targets" and found.level == "NOTICE")


def test_range_remark(baked_walk):
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


def test_export_panel_buttons(baked_walk):
    """The panel beside an exporter's settings draws each trap with its button, and goes when nothing is wrong."""
    context = dialog_context(USD)
    panel = bpy.types.THEW_PT_export
    assert panel.poll(context)
    layout = Layout()
    panel.draw(SimpleNamespace(layout=layout), context)
    words, buttons = " ".join(layout.read()), [call for call in layout.seen if call[0] == "operator"]
    assert "leaves out animation" in words
    assert ("operator", "thew.mend_export", "Switch On Animation") in buttons
    first = next(i for i, call in enumerate(layout.seen) if call[0] == "operator")
    assert first <= 5, "a title, three lines of a sentence, and its button"
    press = SimpleNamespace(trap="export_animation", object="Body", exporter=USD)
    tooltip = bpy.types.THEW_OT_mend_export.description(context, press)
    assert find(USD, {}, "export_animation").text in tooltip
    settings = part("bake.traps").open_exporter(context)
    task = part("bake.mending").mend("export_animation", bpy.data.objects["Body"], context.scene, None, settings)
    part("logic.tasks").finish(task)
    assert context.space_data.active_operator.properties.export_animation is True
    assert not panel.poll(context)


def test_mend_operator(baked_walk):
    """The button's operator mends what stands in the scene, can be undone, and reports what it did."""
    body, _, _ = baked_walk
    body.data.materials.append(None)
    body.material_slots[0].link = "OBJECT"
    assert bpy.ops.thew.mend_export(trap="fbx_materials", object="Body", exporter=FBX) == {"FINISHED"}
    assert body.material_slots[0].link == "DATA"
    assert "UNDO" in bpy.types.THEW_OT_mend_export.bl_options


def test_mend_refuses(baked_walk):
    """What is not wrong, not there or not open is refused by a sentence, and nothing changes."""
    assert "finds nothing like “bread”" in refusal(bpy.ops.thew.mend_export, trap="bread", object="Body")
    assert "no object “Nobody”" in refusal(bpy.ops.thew.mend_export, trap="bread", object="Nobody")
    body = bpy.data.objects["Body"]
    body.modifiers.new("Subdivision", "SUBSURF")
    said = refusal(bpy.ops.thew.mend_export, trap="use_mesh_modifiers", object="Body", exporter=FBX)
    assert "“Body”" in said and "no button can do that" in said
