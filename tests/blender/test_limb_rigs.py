# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs carried from the limbs of one character to those of another: where they land, how large and strong they are, what drives them."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from characters import add, load, meshes
from conftest import data_folder
from helpers import (
    Layout,
    activate,
    add_rig,
    animate,
    flesh_of,
    make_armature,
    make_body,
    part,
    refusal,
    settle,
    size_of,
)

BONES = "Hip\nSpine\nHead"


def limb_add(obj, bones=BONES, name="Arm"):
    activate(obj)
    assert bpy.ops.thew.limb_add(bones=bones) == {"FINISHED"}
    obj.thew.limbs[-1].name = name


def stand(name, shaped=None, place=None, **options):
    """Builds a small character with flesh and a limb at `place` [4, 4]; `shaped` maps its points [n, 3] -> [n, 3]."""
    scale = options.get("scale", 1.0)
    armature = make_armature(f"{name} Bones", scale)
    body = make_body(armature, name, **options)
    if shaped is not None:
        positions = part("scene.mesh").basis_positions(body.data).astype(float)
        body.data.vertices.foreach_set("co", shaped(positions).ravel())
        bpy.context.view_layer.objects.active = armature
        bpy.ops.object.mode_set(mode="EDIT")
        for bone in armature.data.edit_bones:
            bone.head, bone.tail = (shaped(np.array(end)[None])[0] for end in (bone.head, bone.tail))
        bpy.ops.object.mode_set(mode="OBJECT")
    animate(armature, hop=0.08 * scale)
    if place is not None:
        body.matrix_world = armature.matrix_world = place.T.tolist()
    bpy.context.scene.frame_set(1)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    limb_add(body)
    return body


def placement_matrix(scale, angles, shift):
    """Returns a matrix that scales, turns and moves."""
    from mathutils import Euler, Matrix

    return np.array(Matrix.LocRotScale(shift, Euler(angles), (scale,) * 3))


def thicken(p):
    """Returns a shape with longer bones of other shares, thicker above, bent forward."""
    z = np.interp(p[:, 2], (-1.0, 0.0, 0.6, 1.2, 1.8, 3.0), (-1.0, 0.0, 0.5, 1.4, 2.1, 3.3))
    wide = 1.3 + 0.2 * z
    return np.stack([wide * p[:, 0], 0.9 * wide * p[:, 1] - 0.1 * np.sin(1.2 * z), z], axis=1)


def every_kind(body):
    """Adds a rig on each guide, one by its force and one that wanders; returns their names."""
    rig = add_rig(body, template="BUMP", bone="Spine", name="Out")
    rig.along, rig.angle, rig.distance, rig.tilt = 0.4, 1.1, 0.12, 0.3
    rig = add_rig(body, template="TORUS", bone="Head", name="Wander")
    for sample, along in zip(rig.samples, (0.1, 0.7), strict=True):
        sample.sliders.along = along
    rig.samples[1].sliders.angle = 5.0
    rig.along = 0.7
    rig = add_rig(body, template="BUMP", guide="SKIN", face=71, name="Skin")
    rig.depth, rig.roll, rig.tilt = 0.03, 0.8, 0.9
    add_rig(body, template="BULGE", bone="Spine", name="Forced")
    assert bpy.ops.thew.rig_measure(by="FORCE") == {"FINISHED"}
    activate(body)
    frame = np.eye(4)
    frame[:3, 3] = (0.06, -0.08, 0.75)
    frame = np.array(body.matrix_world) @ frame
    frame[:3, :3] /= np.cbrt(np.linalg.det(frame[:3, :3]))
    assert bpy.ops.thew.rig_place(template="RADIAL", guide="FREE", matrix=frame.ravel().tolist()) == {"FINISHED"}
    rig = body.thew.rigs[-1]
    rig.name, rig.x, rig.ry = "Free", 0.02, 0.4
    return [rig.name for rig in body.thew.rigs]


def carry(source, target) -> list:
    """Carries the rigs and returns those that arrived."""
    before = len(target.thew.rigs)
    activate(target)
    assert bpy.ops.thew.rig_copy(source=source.name) == {"FINISHED"}
    return list(target.thew.rigs)[before:]


def numbers(rig) -> np.ndarray:
    """Returns all sliders, those of the samples, and the control."""
    values = part("saved.slider_groups").values_of
    return np.array([*values(rig), *(v for s in rig.samples for v in (s.control, *values(s.sliders))), rig.control])


def frame_of(obj, rig) -> np.ndarray:
    """Returns the frame of the field at rest, in Blender's world."""
    flesh = flesh_of(obj)
    native = part("rigs.rigging").native_rig(obj, flesh, rig)
    frame = np.array(native.frame(flesh.body))
    frame[:3, 3] = flesh.place.world(frame[:3, 3])
    return frame


def limb_of(obj, name):
    """Returns the limb in Blender's world at rest, and its model."""
    flesh = flesh_of(obj)
    limb = obj.thew.limbs[name]
    into = flesh.bind_pose.mesh_matrix
    return part("logic.limb_places").Limb(part("edit.limbs").model_of(limb), into)


def kept_properties(rig) -> tuple:
    """Returns the properties of a rig that a carry does not change."""
    return rig.template, rig.guide, rig.strength_by, rig.enabled, len(rig.samples)


def test_carry_to_copy(scene):
    """Rigs carried to a copy of the character get the same places and numbers."""
    source, target = stand("Source"), stand("Target")
    names = every_kind(source)
    came = carry(source, target)
    assert [rig.name for rig in came] == names
    size = size_of(np.array(source.bound_box))
    for old, new in zip(source.thew.rigs, came, strict=True):
        assert kept_properties(new) == kept_properties(old) and not new.problem
        np.testing.assert_allclose(numbers(new), numbers(old), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(frame_of(target, new), frame_of(source, old), atol=1e-5 * size)
        assert (new.bone, new.face) == (old.bone, old.face)
    np.testing.assert_allclose(settle(target), settle(source), atol=1e-5 * size)
    assert [rig.name for rig in carry(source, target)] == [f"{name}.001" for name in names]


def test_carry_to_scaled_copy(scene):
    """Rigs carried to a scaled and turned copy are scaled and turned with it."""
    place = placement_matrix(2.5, (0.3, -0.8, 1.9), (4.0, 1.0, -2.0))
    source, target = stand("Source"), stand("Target", place=place)
    every_kind(source)
    size = size_of(np.array(source.bound_box))
    turn = place[:3, :3] / 2.5
    for old, new in zip(source.thew.rigs, carry(source, target), strict=True):
        there, here = frame_of(target, new), frame_of(source, old)
        np.testing.assert_allclose(there[:3, 3], place[:3, :3] @ here[:3, 3] + place[:3, 3], atol=2e-5 * 2.5 * size)
        np.testing.assert_allclose(there[:3, 2], turn @ here[:3, 2], atol=2e-4)
        for name in ("radius", "ring_radius", "tube_radius", *(("strength",) if old.strength_by == "YIELD" else ())):
            assert getattr(new, name) == pytest.approx(2.5 * getattr(old, name), rel=1e-4)


def test_carry_keeps_limb_coordinates(scene):
    """Rigs carried to another character keep their limb coordinates and come back unchanged."""
    source, target = stand("Source"), stand("Target", shaped=thicken, rings=17, sides=14)
    every_kind(source)
    here, there = limb_of(source, "Arm"), limb_of(target, "Arm")
    over = part("logic.limb_places").LimbMap(here, there)
    came = carry(source, target)
    for old, new in zip(source.thew.rigs, came, strict=True):
        assert not new.problem
        one, other = place_of(source, old), place_of(target, new)
        c, d = here.locate(one), there.locate(other)
        assert c.inside and d.inside
        assert d.coordinates[0] == pytest.approx(over.map_place(c).coordinates[0], abs=1e-3)
        if c.coordinates[3] > 0.1:
            assert abs(math.remainder(d.coordinates[2] - over.map_place(c).coordinates[2], 2 * math.pi)) < 1e-3
        if old.guide == "FREE":
            assert d.coordinates[3] == pytest.approx(c.coordinates[3], abs=1e-4)
        growth = there.radius(d.coordinates[0]) / here.radius(c.coordinates[0])
        for name in ("radius", "ring_radius"):
            assert getattr(new, name) == pytest.approx(growth * getattr(old, name), rel=2e-3)
    back = carry(target, source)
    for old, new in zip(list(source.thew.rigs)[: len(back)], back, strict=True):
        here, there = frame_of(source, old), frame_of(source, new)
        assert np.linalg.norm(here[:3, 3] - there[:3, 3]) < 2e-4 * size_of(np.array(source.bound_box))
        np.testing.assert_allclose(there[:3, 2], here[:3, 2], atol=0.02)
        np.testing.assert_allclose(numbers(new)[:4], numbers(old)[:4], rtol=5e-3)


def movement_of(obj, rig, limb):
    """Returns a rig's largest movement of the skin in radii of the limb, and the mean u weighted by movement."""
    names = {each.name: each.enabled for each in obj.thew.rigs}
    for each in obj.thew.rigs:
        each.enabled = each.name == rig.name
    shown = settle(obj)
    obj.thew.rigs[rig.name].enabled = False
    off = np.linalg.norm(shown - settle(obj), axis=1).astype(float)
    for name, enabled in names.items():
        obj.thew.rigs[name].enabled = enabled
    (chain,) = obj.thew.limbs
    rest, shares = part("edit.limbs").shares(bpy.context, obj, [chain])
    matrix = flesh_of(obj).bind_pose.mesh_matrix
    coordinates = limb.coordinates(part("logic.spaces").transform(matrix, rest))
    off = np.where((shares[:, 0] > 0.5) & np.isfinite(coordinates[:, 0]), off, 0.0) * np.cbrt(
        np.linalg.det(matrix[:3, :3])
    )
    u = np.nan_to_num(coordinates[:, 0])
    most = int(off.argmax())
    return off[most] / limb.radius(u[most]), (off**2 @ u) / (off**2).sum()


def test_carry_keeps_effect(scene):
    """Rigs on another character move as much of the limb there as at their source."""
    source, target = stand("Source"), stand("Target", shaped=thicken, rings=17, sides=14)
    every_kind(source)
    carry(source, target)
    for name in ("Out", "Skin", "Forced", "Free"):
        one, at = movement_of(source, source.thew.rigs[name], limb_of(source, "Arm"))
        other, there = movement_of(target, target.thew.rigs[name], limb_of(target, "Arm"))
        assert one > 0.005
        assert 0.6 < other / one < 1.7, name
        assert abs(at - there) < 0.1, name


def test_carry_names_rigs_without_limb(scene):
    """Without a correspondence of bones a rig that hangs on no limb stays, and the report names it."""
    source, target = stand("Source"), stand("Target")
    for obj in (source, target):
        obj.thew.limbs.clear()
        limb_add(obj, "Spine\nHead")
    add_rig(source, bone="Hip", name="Belly")
    add_rig(source, bone="Head", name="Nose")
    for name, (x, z) in {"Far": (9.0, 1.5), "Near": (0.35, 1.5)}.items():  # beside the flesh both
        frame = np.eye(4)
        frame[:3, 3] = (x, 0.0, z)
        activate(source)
        rig = part("edit.rig_list").new_rig(source, name)
        rig.guide, rig.template, rig.radius, rig.matrix = "FREE", "RADIAL", 0.3, frame.ravel().tolist()
    assert part("edit.limb_rigs").carry(bpy.context, source, target).names == ["Nose", "Near"]
    far = source.thew.rigs.find("Far")
    activate(source)
    for index in (far + 1, far):
        assert bpy.ops.thew.rig_remove(index=index) == {"FINISHED"}
    report = part("edit.limb_rigs").carry(bpy.context, source, target)
    assert report.message(target) == (
        "1 rig is carried to “Target” (“Arm”); “Nose.001” fits to less than 1 %; “Belly” hangs on no limb and is left out; "
        "“Nose” was there already and is kept beside “Nose.001”."
    )


def test_carry_names_missing_limb(scene):
    """Each limb gets its own rigs, and the report names rigs whose limb the target lacks."""
    source, target = stand("Source"), stand("Target", shaped=thicken)
    for obj in (source, target):
        obj.thew.limbs.clear()
        limb_add(obj, "Hip", "Low")
        limb_add(obj, "Spine\nHead", "High")
    for bone in ("Hip", "Spine"):
        add_rig(source, bone=bone, name=bone)
    add_rig(source, guide="SKIN", face=20, template="BUMP", name="Foot")  # a low one
    assert [rig.bone for rig in carry(source, target)] == ["Hip", "Spine", ""]
    target.thew.limbs.remove(0)
    report = part("edit.limb_rigs").carry(bpy.context, source, target)
    assert report.names == ["Spine.001"] and report.limbs == ["High"]
    lost = [f"“{name}” hangs on “Low”, which “Target” does not have, and is left out" for name in ("Hip", "Foot")]
    assert report.omissions == [*lost, "“Spine” was there already and is kept beside “Spine.001”"]


def test_carry_to_mirrored_copy(scene):
    """Rigs carried to a mirrored character land on its mirrored side."""
    place = np.diag([-1.0, 1.0, 1.0, 1.0])
    source, target = stand("Source"), stand("Target", place=place)
    every_kind(source)
    size = size_of(np.array(source.bound_box))
    for old, new in zip(source.thew.rigs, carry(source, target), strict=True):
        here, there = frame_of(source, old), frame_of(target, new)
        assert not new.problem and new.face == old.face
        np.testing.assert_allclose(there[:3, 3], place[:3, :3] @ here[:3, 3], atol=1e-4 * size)
        np.testing.assert_allclose(there[:3, 2], place[:3, :3] @ here[:3, 2], atol=1e-3)


def test_carry_rig_outside_flesh(scene):
    """A rig that reaches no flesh is carried with a warning, with finite strength and without Solo."""
    source, target = stand("Source"), stand("Target", scale=1.5)
    rig = add_rig(source, bone="Spine")
    assert bpy.ops.thew.rig_measure(by="FORCE") == {"FINISHED"}
    for values in (rig, *(sample.sliders for sample in rig.samples)):
        values.distance = 5.0
    rig.solo = True
    report = part("edit.limb_rigs").carry(bpy.context, source, target)
    new = target.thew.rigs[0]
    assert report.warnings == [new.problem] and new.problem
    assert new.distance == pytest.approx(7.5, rel=1e-3) and math.isfinite(new.strength) and new.strength > 0.0
    assert not new.solo  # or the rigs that were there would fall silent


def test_carry_driver_retargeted(scene):
    """A rig's driver is moved to the bone at the same place of the target, whatever that bone's roll."""
    source, target = stand("Source"), stand("Target")
    armature = target.modifiers["Armature"].object
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["Head"].roll += math.pi  # its x axis the other way
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.data.bones["Spine"].name = "Back"
    target.thew.limbs["Arm"].bones = "Hip\nBack\nHead"
    activate(source)
    add_rig(source, bone="Spine")
    for bone in ("Spine", "Head"):
        activate(source)
        assert bpy.ops.thew.rig_driver(bone=bone, axis="X", from_angle=0.1, to_angle=0.9) == {"FINISHED"}
        came = carry(source, target)[0]
        assert came.bone == "Back"
        curve = target.animation_data.drivers[-1]
        reads = curve.driver.variables[0].targets[0]
        assert (reads.id, reads.bone_target) == (armature, "Back" if bone == "Spine" else "Head")
        posed = [obj.modifiers["Armature"].object.pose.bones for obj in (source, target)]
        for bones, name, sign in (
            (posed[0], bone, 1.0),
            (posed[1], reads.bone_target, -1.0 if bone == "Head" else 1.0),
        ):
            bones[name].rotation_mode = "XYZ"
            bones[name].id_data.animation_data_clear()
            bones[name].rotation_euler = (sign * 0.6, 0.0, 0.0)
        bpy.context.view_layer.update()
        assert source.thew.rigs[0].control == pytest.approx(0.625, abs=1e-3)
        assert target.thew.rigs[-1].control == pytest.approx(0.625, abs=1e-3)


def test_carry_driver_without_bone(scene):
    """A driver whose bone the target lacks is left out with a warning."""
    source, target = stand("Source"), stand("Target")
    for obj in (source, target):
        obj.thew.limbs.clear()
        limb_add(obj, "Spine\nHead")
    target.modifiers["Armature"].object.data.bones["Hip"].name = "Root"
    add_rig(source, bone="Spine")
    assert bpy.ops.thew.rig_driver(bone="Hip", axis="X") == {"FINISHED"}
    report = part("edit.limb_rigs").carry(bpy.context, source, target)
    assert len(report.names) == 1 and "“Hip”" in report.warnings[0]
    assert target.animation_data is None or not len(target.animation_data.drivers)


def test_carry_saved_and_removed(scene, tmp_path):
    """Carried rigs survive saving and loading, and can be removed."""
    source, target = stand("Source"), stand("Target", shaped=thicken)
    every_kind(source)
    before = [numbers(rig) for rig in carry(source, target)]
    shown = settle(target)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "carried.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "carried.blend"))
    target = bpy.data.objects["Target"]
    for rig, old in zip(target.thew.rigs, before, strict=True):
        np.testing.assert_array_equal(numbers(rig), old)
    np.testing.assert_allclose(settle(target), shown, atol=1e-6)
    assert not any(rig.problem for rig in target.thew.rigs)


def test_carry_refusals_change_nothing(scene):
    """A refused carry leaves the target unchanged."""
    source, target = stand("Source"), stand("Target")
    activate(target)
    assert "has no rigs" in refusal(bpy.ops.thew.rig_copy, source="Source")
    add_rig(source, bone="Spine")
    activate(target)
    assert "Select one mesh" in refusal(bpy.ops.thew.rig_copy)
    assert "itself" in refusal(bpy.ops.thew.rig_copy, source="Target")
    assert "no mesh “Nobody”" in refusal(bpy.ops.thew.rig_copy, source="Nobody")
    chain, model = target.thew.limbs[0].bones, target.thew.limbs[0].model
    target.thew.limbs[0].tokens = ""
    target.thew.limbs[0].bones = "Spine\nHead"
    assert "along 3 bones" in refusal(bpy.ops.thew.rig_copy, source="Source")
    target.thew.limbs[0].bones = "Hip\nSpine\nSkull"
    assert "“Skull”" in refusal(bpy.ops.thew.rig_copy, source="Source")
    target.thew.limbs[0].bones, target.thew.limbs[0].model = chain, "{"
    assert "damaged" in refusal(bpy.ops.thew.rig_copy, source="Source")
    target.thew.limbs[0].model = model
    source.thew.rigs[0].bone = "Nowhere"
    assert "None of the rigs" in refusal(bpy.ops.thew.rig_copy, source="Source")
    source.thew.rigs[0].bone = "Spine"
    assert bpy.ops.thew.remove() == {"FINISHED"}
    target.thew.limbs.clear()
    limb_add(target)
    assert "“Target” has no flesh" in refusal(bpy.ops.thew.rig_copy, source="Source")
    assert len(target.thew.rigs) == 0


def test_carry_failure_rolled_back(scene, monkeypatch):
    """A carry that fails midway removes what it had already made."""
    source, target = stand("Source"), stand("Target")
    every_kind(source)
    rigs, real = part("edit.limb_rigs"), part("edit.limb_rigs").write
    calls = []

    def write(*given):
        calls.append(given)
        if len(calls) == 3:
            raise part("logic.errors").Refusal("No more")
        real(*given)

    monkeypatch.setattr(rigs, "write", write)
    activate(target)
    assert "No more" in refusal(bpy.ops.thew.rig_copy, source="Source")
    assert len(target.thew.rigs) == 0 and "thew_face" not in target.data.attributes


def test_carry_in_panel(scene):
    """The Limbs panel offers the operator that carries rigs."""
    body = make_body(make_armature())
    limb_add(body)
    layout = Layout()
    part("ui.limb_panel").draw_limbs(layout, bpy.context, body, 60)
    assert any("thew.rig_copy" in call for call in layout.seen)


# real characters --------------------------------------------------------------------------------------------------------


@pytest.fixture
def people(addon):
    folder = data_folder("characters")
    if folder is None:
        pytest.skip("no THEW_DATA")
    load(folder / "m2m_human.glb")
    first = meshes()[0]
    known = set(bpy.data.objects)
    bpy.ops.import_scene.gltf(filepath=str(folder / "mh_male_heavy.glb"))
    second = max(
        (o for o in bpy.data.objects if o not in known and o.type == "MESH"), key=lambda o: len(o.data.vertices)
    )
    for obj, bones in ((first, "upperarm_l\nlowerarm_l"), (second, "LeftArm\nLeftForeArm")):
        add(obj, cells_across=10)
        limb_add(obj, bones, "Left Arm")
    return first, second


def test_carry_biceps_between_people(people):
    """A biceps carried from one real person to another and back returns to its place."""
    first, second = people
    here, there = limb_of(first, "Left Arm"), limb_of(second, "Left Arm")
    rig = add_rig(first, template="BULGE", bone="upperarm_l", name="Biceps")
    rig.distance, rig.angle = 0.5 * here.radius(0.25), 2.0
    flesh = flesh_of(first)
    rest = part("logic.spaces").transform(flesh.bind_pose.mesh_matrix, flesh.character.rest)
    face = (
        part("logic.picking")
        .Picker(rest, flesh.character.triangles)
        .nearest(here.points_at([[0.3, 0.0, 0.4, 1.0]])[0])
        .face
    )
    add_rig(first, template="BUMP", guide="SKIN", face=face, name="Upper Arm")
    came = carry(first, second)
    assert [each.bone for each in came] == [there_bone(second), ""] and not any(each.problem for each in came)
    over = part("logic.limb_places").LimbMap(here, there)
    for old, new in zip(first.thew.rigs, came, strict=True):
        c, d = (
            limb.locate(place_of(obj, each)) for obj, each, limb in ((first, old, here), (second, new, there))
        )  # fmt: skip
        assert d.coordinates[0] == pytest.approx(over.map_place(c).coordinates[0], abs=1e-3)
        assert abs(math.remainder(d.coordinates[2] - over.map_place(c).coordinates[2], 2 * math.pi)) < 1e-3
        one, at = movement_of(first, old, here)
        other, reached = movement_of(second, new, there)
        assert one > 0.05 and 0.5 < other / one < 2.0, old.name
        assert abs(at - reached) < 0.3  # flesh is soft elsewhere in each
    for old, new in zip(list(first.thew.rigs)[:2], carry(second, first), strict=True):
        assert np.linalg.norm(place_of(first, new) - place_of(first, old)) < 1e-3 * here.radius(0.5)
        np.testing.assert_allclose(numbers(new)[:4], numbers(old)[:4], rtol=1e-3)


def there_bone(obj) -> str:
    """Returns the first bone of the rig's limb."""
    return part("scene.limbs").chain(obj, obj.thew.limbs[0])[0]


def place_of(obj, rig) -> np.ndarray:
    """Returns a rig's rest position in Blender's world; for one in the skin, its point of the skin."""
    if rig.guide == "SKIN":
        return part("logic.spaces").transform(flesh_of(obj).bind_pose.mesh_matrix, np.array(rig.face_place)[None])[0]
    return frame_of(obj, rig)[:3, 3]
