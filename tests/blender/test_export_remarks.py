# SPDX-License-Identifier: GPL-3.0-or-later
"""Remarks on exports, and the panel and the button beside an exporter's settings."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import roundtrips
from exporting import (
    ALEMBIC,
    FBX,
    FRAMES,
    GLTF,
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
    monkeypatch.setattr(part("bake.gltf_traps"), "MIN_NORMALS_SIZE", 1000)
    values: dict = {}
    assert find(GLTF, values, "export_morph_normal").level == "NOTICE"
    run(bpy.ops.export_scene.gltf, filepath=str(tmp_path / "large.glb"))
    mend(GLTF, values, "export_morph_normal")
    assert error(GLTF, tmp_path, shapes, values) < RIGHT
    sizes = [GltfFile(tmp_path / name).size for name in ("large.glb", "out.glb")]
    assert sizes[1] < 0.7 * sizes[0]


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
