# SPDX-License-Identifier: GPL-3.0-or-later
"""Limbs: made along bones, their coordinates as attributes, painted by, carried over, kept by undo and files."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from characters import load, meshes
from conftest import data_folder
from helpers import activate, make_armature, make_body, part, refusal

BONES = "Hip\nSpine\nHead"


def limb_add(obj, bones=BONES, **options):
    activate(obj)
    assert bpy.ops.thew.limb_add(bones=bones, **options) == {"FINISHED"}
    return obj.thew.limbs[-1]


def values(obj, name) -> np.ndarray:
    attribute = obj.data.attributes[name]
    flat = np.empty(len(obj.data.vertices), np.float32 if attribute.data_type == "FLOAT" else np.int32)
    attribute.data.foreach_get("value", flat)
    return flat


def positions(obj) -> np.ndarray:
    return part("scene.mesh").basis_positions(obj.data).astype(float)


def test_limb_attributes_follow_bones(character):
    """The limb's coordinates run along the bones and around them."""
    body, _ = character
    limb = limb_add(body)
    assert limb.name == "Hip" and part("scene.limbs").chain(body, limb) == ["Hip", "Spine", "Head"]
    assert bpy.ops.thew.limb_attributes() == {"FINISHED"}
    p = positions(body)
    along, around, depth, number = (values(body, name) for name in ("Along", "Around", "Depth", "Limb"))
    assert (number == 1).all()
    inner = (p[:, 2] > 0.1) & (p[:, 2] < 1.7)
    np.testing.assert_allclose(along[inner], p[inner, 2] / 1.8, atol=0.04)  # spokes may lean
    np.testing.assert_allclose(depth, 1.0, atol=0.15)
    # One turn around, evenly: the difference of angles is that of the vertices.
    ring = np.flatnonzero(np.abs(p[:, 2] - p[20, 2]) < 1e-6)
    angle = np.unwrap(2 * np.pi * around[ring])
    true = np.unwrap(np.arctan2(p[ring, 1], p[ring, 0]))
    np.testing.assert_allclose(np.abs(angle - angle[0]), np.abs(true - true[0]), atol=0.15)


def test_limb_overlay_follows_pose(character):
    """A limb is drawn where the character stands and follows its pose."""
    body, armature = character
    armature.location, armature.scale = (3.0, 0.0, 1.0), (2.0, 2.0, 2.0)
    body.parent = armature
    bpy.context.scene.frame_set(1)
    limb = limb_add(body)
    _, edges, spokes, hubs = part("ui.limb_overlay").lines(body, limb)
    assert len(edges) and len(spokes) % 2 == 0
    np.testing.assert_allclose(hubs[0], [3.0, 0.0, 1.0], atol=1e-5)
    np.testing.assert_allclose(hubs[-1], [3.0, 0.0, 1.0 + 2 * 1.8], atol=1e-5)
    bpy.context.scene.frame_set(6)
    moved = part("ui.limb_overlay").lines(body, limb)[3]
    armature_world = np.array(armature.matrix_world)
    head = armature_world @ [*armature.pose.bones["Spine"].head, 1.0]
    assert np.linalg.norm(moved - head[:3], axis=1).min() < 1e-4 and np.abs(moved - hubs).max() > 0.05


def test_limb_add_selected_bones(character):
    """A new limb takes the selected bones, and an empty selection is refused with a message."""
    body, armature = character
    activate(armature)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    assert "No bone" in refusal(bpy.ops.thew.limb_add)
    bpy.ops.pose.select_all(action="SELECT")
    assert bpy.ops.thew.limb_add() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    assert part("scene.limbs").chain(body, body.thew.limbs[0]) == ["Hip", "Spine", "Head"]


def test_limb_add_refuses_broken_chain(character):
    """Bones that do not form a chain are refused by name."""
    body, _ = character
    activate(body)
    said = refusal(bpy.ops.thew.limb_add, bones="Hip\nHead")
    assert "Hip" in said and "chain" in said
    assert "no bone “Tail”" in refusal(bpy.ops.thew.limb_add, bones="Tail")
    assert len(body.thew.limbs) == 0


def test_limb_paint_range_and_side(character):
    """A map is painted along a range of the limb and on one side of it."""
    body, _ = character
    limb_add(body)
    assert bpy.ops.thew.limb_paint(map="STIFFNESS", amount=1.0, start=0.4, end=0.7, soft=0.05) == {"FINISHED"}
    weights = part("scene.flesh_map").read(body, "Stiffness")
    z = positions(body)[:, 2] / 1.8
    assert (weights[(z > 0.45) & (z < 0.65)] > 0.95).all() and (
        np.abs(weights[(z < 0.35) | (z > 0.75)] - 0.5) < 1e-6
    ).all()
    assert bpy.ops.thew.limb_paint(map="FLESH", amount=1.0, width=0.4, side=0.0, soft=0.05) == {"FINISHED"}
    share = part("scene.flesh_map").read(body, "Flesh") > 0.5
    assert 0.2 < share.mean() < 0.6
    assert body.thew.show_map and body.vertex_groups.active.name == "Flesh", "what was painted is shown"
    assert "beyond" in refusal(bpy.ops.thew.limb_paint, start=0.7, end=0.4)


def test_limb_paint_dialog(character, monkeypatch):
    """Nothing is painted before the dialog is answered; without a limb it does not open."""
    body, _ = character
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    limbs, asked = part("operators.limbs"), []
    manager = SimpleNamespace(invoke_props_dialog=lambda operator: asked.append(operator) or {"RUNNING_MODAL"})
    context = SimpleNamespace(
        view_layer=bpy.context.view_layer, scene=bpy.context.scene, window=1, window_manager=manager
    )
    told = SimpleNamespace(refuse=lambda _obj, error: {str(error)})
    activate(body)
    assert "has no limb" in next(iter(limbs.THEW_OT_limb_paint.invoke(told, context, None)))
    limb_add(body)
    assert limbs.THEW_OT_limb_paint.invoke(told, context, None) == {"RUNNING_MODAL"} and asked == [told]
    assert "Flesh" not in body.vertex_groups


def test_limb_carry_paint(scene):
    """Paint is carried along the limb to another character."""
    source = make_body(make_armature("First"), "Source", rings=25, sides=16)
    target = make_body(make_armature("Second", scale=1.7), "Target", scale=1.7, rings=19, sides=12)
    target.location = (4.0, 0.0, 0.0)
    target.modifiers[0].object.location = (4.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    for obj in (source, target):
        limb_add(obj)
    activate(source)
    bpy.ops.thew.limb_paint(map="FLESH", start=0.3, end=0.6, soft=0.2)
    activate(target)
    assert bpy.ops.thew.limb_carry(group="Flesh", source="Source") == {"FINISHED"}
    got = part("scene.flesh_map").read(target, "Flesh")
    ours, theirs = positions(source)[:, 2] / 1.8, positions(target)[:, 2] / (1.7 * 1.8)
    true = part("scene.flesh_map").read(source, "Flesh")
    order = np.argsort(ours)
    expected = np.interp(theirs, ours[order], true[order])
    assert np.abs(got - expected).mean() < 0.05 and got.max() > 0.9
    assert "no vertex group “Fur”" in refusal(bpy.ops.thew.limb_carry, group="Fur", source="Source")
    target.thew.limbs[0].name = "Arm"
    limb_add(target, "Spine\nHead")
    assert "has the name of one of" in refusal(bpy.ops.thew.limb_carry, group="Flesh", source="Source")


def test_limb_saved_and_removed(character, tmp_path):
    """A limb survives saving, and its operators refuse once it is removed."""
    body, _ = character
    limb = limb_add(body)
    model = limb.model
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "limb.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "limb.blend"))
    body = bpy.data.objects["Body"]
    assert body.thew.limbs[0].model == model
    activate(body)
    assert bpy.ops.thew.limb_attributes() == {"FINISHED"}
    assert bpy.ops.thew.limb_remove() == {"FINISHED"}
    assert len(body.thew.limbs) == 0
    assert "no limb" in refusal(bpy.ops.thew.limb_remove)
    assert "no limbs" in refusal(bpy.ops.thew.limb_attributes)


def test_limb_damaged_model(character):
    """A damaged limb is not drawn, and operators refuse it with a message."""
    body, _ = character
    limb = limb_add(body)
    for broken in ("", "{", '{"hubs": 3}', "[" * 5000 + "]" * 5000, limb.model.replace("0.", "nan", 3)):
        limb.model = broken
        assert part("ui.limb_overlay").lines(body, limb) is None
        assert refusal(bpy.ops.thew.limb_attributes)


def test_suggest_bones_for_bare_mesh(scene):
    """Bones are suggested for a closed mesh without an armature, and refused for one without volume."""
    body = make_body(make_armature(), rings=40, sides=20)
    body.modifiers.clear()
    body.location, body.scale = (1.0, 2.0, 0.0), (2.0, 2.0, 2.0)
    bpy.context.view_layer.update()
    activate(body)
    assert bpy.ops.thew.suggest_bones() == {"FINISHED"}
    armature = bpy.context.view_layer.objects.active
    assert armature.type == "ARMATURE" and len(armature.data.bones) >= 2
    for bone in armature.data.bones:
        middle = armature.matrix_world @ ((bone.head_local + bone.tail_local) / 2)
        assert np.hypot(middle.x - 1.0, middle.y - 2.0) < 0.3 and -0.1 < middle.z < 3.8
    roots = [bone for bone in armature.data.bones if bone.parent is None]
    assert len(roots) == 1
    bpy.ops.mesh.primitive_plane_add()
    assert "volume" in refusal(bpy.ops.thew.suggest_bones)


@pytest.mark.skipif(data_folder("characters") is None, reason="no THEW_DATA")
def test_limb_attributes_on_real_arm(addon):
    """An arm of a real character gets coordinates over its whole length."""
    load(data_folder("characters") / "m2m_human.glb")
    body = meshes()[0]
    limb_add(body, "upperarm_l\nlowerarm_l")
    assert bpy.ops.thew.limb_attributes() == {"FINISHED"}
    number, along, depth = values(body, "Limb"), values(body, "Along"), values(body, "Depth")
    mine = number == 1
    assert mine.sum() > 50 and along[mine].min() < 0.1 and along[mine].max() > 0.9
    assert np.abs(depth[mine] - 1.0).mean() < 0.1


def cells(obj) -> list[int]:
    """Returns how many corners each cell of its lattice has."""
    return [len(cell) for cell in part("live.session").register.state_of(obj).lattice.cells]


def test_limb_lattice_cells(character, tmp_path):
    """The lattice has limb cells while the option is on, and tetrahedra without it or without limbs."""
    body, _ = character
    limb_add(body, "Spine\nHead")
    assert bpy.ops.thew.add() == {"FINISHED"}
    assert set(cells(body)) == {4}
    body.thew.limb_lattice = True
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    flesh = part("live.session").register.state_of(body)
    assert cells(body).count(6) >= 8, flesh.lattice.notes
    assert flesh.defects == []
    assert set(flesh.lattice.used_bones) == {0, 1, 2}
    # It plays, and a saved file makes the same again.
    bpy.context.scene.frame_set(6)
    shown = part("live.session").register.state_of(body).lattice.vertices
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "limbs.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "limbs.blend"))
    body = bpy.data.objects["Body"]
    assert body.thew.limb_lattice
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_allclose(part("live.session").register.state_of(body).lattice.vertices, shown, atol=1e-9)
    # What is taken away is the flesh, not the artist's limbs.
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert len(body.thew.limbs) == 1 and body.thew.limb_lattice
    assert bpy.ops.thew.add() == {"FINISHED"}
    assert 6 in cells(body)
    # Without the limb there are tetrahedra again.
    assert bpy.ops.thew.limb_remove() == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert set(cells(body)) == {4}


def test_limb_lattice_names_unfilled(character):
    """The details name a limb that cannot be filled with cells, and a damaged one is refused."""
    body, _ = character
    limb_add(body, "Spine\nHead")
    body.thew.limbs[0].model = body.thew.limbs[0].model.replace("[0.0, 0.0, 1.2", "[0.3, 0.0, 1.2")
    body.thew.limb_lattice = True
    assert bpy.ops.thew.add() == {"FINISHED"}
    limb = body.thew.limbs[0]
    if set(cells(body)) == {4}:
        assert f"“{limb.name}”" in body.thew.made.notes or f"'{limb.name}'" in body.thew.made.notes
    limb.model = "{"
    assert "damaged" in refusal(bpy.ops.thew.simulate)


def test_limb_in_mirrored_character(scene):
    """Limbs of mirrored and scaled characters lie within their skin."""
    body = make_body(make_armature(scale=2.0), scale=2.0, rings=25, sides=16)
    armature = body.modifiers[0].object
    for scale in ((1.0, 1.0, 1.0), (-1.0, 1.0, 1.0)):
        body.scale = armature.scale = scale
        bpy.context.view_layer.update()
        body.thew.limbs.clear()
        limb = limb_add(body, "Spine\nHead")
        points, _, _, _ = part("ui.limb_overlay").lines(body, limb)
        world = positions(body) @ np.array(body.matrix_world)[:3, :3].T + np.array(body.matrix_world)[:3, 3]
        inner = (points[:, 2] > 2.0) & (points[:, 2] < 3.0)
        nearest = np.linalg.norm(points[inner][:, None] - world[None], axis=2).min(axis=1)
        assert nearest.max() < 0.2


@pytest.mark.skipif(data_folder("characters") is None, reason="no THEW_DATA")
def test_limb_add_off_centre_bones(addon):
    """A limb fits a tail whose bones run beside its middle."""
    load(data_folder("characters") / "Fox.glb")
    body = max(meshes(), key=lambda mesh: len(mesh.data.vertices))
    bones = [bone.name for bone in body.find_armature().data.bones if "Tail" in bone.name]
    limb = limb_add(body, "\n".join(bones))
    model, p = part("edit.limbs").model_of(limb), positions(body)
    _, share = part("edit.limbs").shares(bpy.context, body, [limb])
    away = np.abs(model.boundary(3).closest_point(p[share[:, 0] > 0.9])[1])
    assert away.mean() < 0.005 * np.linalg.norm(np.ptp(p, axis=0))


def test_limb_follows_renamed_bones(character):
    """A limb follows renamed bones, and deleted ones are named in the refusal."""
    body, armature = character
    limb = limb_add(body)
    lines = part("ui.limb_overlay").lines
    assert bpy.ops.thew.limb_attributes() == {"FINISHED"}
    along, drawn = values(body, "Along"), lines(body, limb)[3]
    armature.data.bones["Spine"].name = "Rib"
    assert body.vertex_groups.get("Rib") and part("scene.limbs").chain(body, limb) == ["Hip", "Rib", "Head"]
    bpy.context.scene.frame_set(6)
    assert bpy.ops.thew.limb_attributes() == {"FINISHED"}
    np.testing.assert_array_equal(values(body, "Along"), along)
    assert np.abs(lines(body, limb)[3] - drawn).max() > 0.05  # as the pose moves the renamed bone
    assert bpy.ops.thew.limb_fit() == {"FINISHED"}
    # One that is gone is told by every tool, and nothing is written.
    body.vertex_groups.remove(body.vertex_groups["Rib"])
    other = make_body(make_armature("Other Rig"), "Other")
    limb_add(other)
    bpy.ops.thew.limb_paint(map="FLESH")
    activate(body)
    for press in (bpy.ops.thew.limb_attributes, bpy.ops.thew.limb_paint, bpy.ops.thew.limb_fit):
        assert "“Rib” of the limb “Hip” is gone" in refusal(press)
    assert "“Rib”" in refusal(bpy.ops.thew.limb_carry, group="Flesh", source="Other")
    assert body.vertex_groups.get("Flesh") is None and lines(body, limb) is not None


def test_limb_remove_clears_bone_marks(character):
    """The marks on bones go with the last limb."""
    body, armature = character
    limb_add(body)
    mark = part("scene.bone_marks").BONE_MARK
    assert all(bone.get(mark) for bone in armature.data.bones)
    assert bpy.ops.thew.limb_remove() == {"FINISHED"}
    assert not any(bone.get(mark) for bone in armature.data.bones)


def test_limb_add_refuses_duplicate(character):
    """A second limb along the same bones is refused."""
    body, _ = character
    limb_add(body)
    assert "“Hip” runs along these bones already" in refusal(bpy.ops.thew.limb_add, bones="Spine\nHead\nHip")
    limb_add(body, "Spine\nHead")
    assert len(body.thew.limbs) == 2


def test_limb_add_counts_lost_skin(character):
    """The report counts vertices of skin that lie beyond the limb."""
    body, _ = character
    for group in ("Hip", "Head"):
        body.vertex_groups[group].remove(range(len(body.data.vertices)))
    body.vertex_groups["Spine"].add(range(len(body.data.vertices)), 1.0, "REPLACE")
    count = len(body.data.vertices)
    body.data.vertices.add(3)  # far away, and of no face
    for vertex in body.data.vertices[count:]:
        vertex.co = (9.0, 0.0, 1.0)
    body.vertex_groups["Spine"].add([count, count + 1, count + 2], 1.0, "REPLACE")
    edit = part("edit.limbs")
    _, met = edit.add(bpy.context, body, ["Spine"], 3, 8)
    assert met.vertices == count + 3 and met.lost == 3
    assert f"; {met.lost} of the {met.vertices} vertices that follow its bones have no coordinates" in met.message(
        "Spine"
    )
    activate(body)
    assert bpy.ops.thew.limb_attributes() == {"FINISHED"}
    assert int((values(body, "Limb") == 0).sum()) == met.lost
    assert edit.FitQuality(0.001, 200, 1).message("Arm").endswith("0.10 % of the character's size on average.")


def test_limb_add_refuses_zero_scale(character):
    """An object scaled to zero is refused with a message."""
    body, armature = character
    activate(body)
    for obj in (armature, body):
        obj.scale = (0.0, 1.0, 1.0)
        bpy.context.view_layer.update()
        assert "is scaled to zero" in refusal(bpy.ops.thew.limb_add, bones=BONES)
        obj.scale = (1.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    limb_add(body)


def test_limb_carry_mirrors_sides(scene):
    """Paint carried from a left limb to a right one is mirrored."""
    sides = part("logic.bone_names").are_on_opposite_sides
    assert sides(["thigh.L", "shin.L"], ["RightUpLeg", "RightLeg"]) and not sides(["thigh.L"], ["LeftUpLeg"])
    assert not sides(["Spine", "Head"], ["thigh.R"]) and not sides(["thigh.L", "thigh.R"], ["thigh.R"])
    names = ("Source", "Left", "Right", "Expected")
    bodies = [make_body(make_armature(f"{name} Rig"), name, rings=25, sides=40) for name in names]
    for obj, side in zip(bodies, "LLRR", strict=True):
        for bone in list(obj.modifiers[0].object.data.bones):
            bone.name = f"{bone.name}.{side}"
        limb_add(obj, "\n".join(f"{bone}.{side}" for bone in BONES.split("\n")))
    source, left, right, expected = bodies
    for obj, side in ((source, 0.2), (expected, 0.8)):
        activate(obj)
        assert bpy.ops.thew.limb_paint(map="FLESH", side=side, width=0.3, soft=0.3) == {"FINISHED"}
    read = part("scene.flesh_map").read
    assert np.abs(read(source, "Flesh") - read(expected, "Flesh")).max() > 0.9
    for obj, like in ((left, source), (right, expected)):
        activate(obj)
        assert bpy.ops.thew.limb_carry(group="Flesh", source="Source") == {"FINISHED"}
        np.testing.assert_allclose(read(obj, "Flesh"), read(like, "Flesh"), atol=0.08)
    assert "itself" in refusal(bpy.ops.thew.limb_carry, group="Flesh", source="Right")
    assert "There is no bone “Hip”" in refusal(bpy.ops.thew.limb_add, bones="Hip")
    assert "No vertex of" in refusal(bpy.ops.thew.limb_paint, start=0.501, end=0.502, soft=0.0, width=0.01)
