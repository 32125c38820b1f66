# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs carried from the limbs of one character to those of another: the same place, as large, as strong, driven by the same bone."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from characters import load, meshes
from conftest import data_folder
from helpers import activate, make_armature, make_body, part, refused
from test_limbs import limb_add

BONES = "Hip\nSpine\nHead"


def character(name: str, scale: float = 1.0, at=(0.0, 0.0, 0.0), limb: str = BONES, **shape):
    """A body with flesh and a limb."""
    body = make_body(make_armature(f"{name} Rig", scale=scale), name, scale=scale, **shape)
    armature = body.modifiers[0].object
    body.location = armature.location = at
    bpy.context.view_layer.update()
    activate(body)
    assert bpy.ops.thew.add(cells_across=10) == {"FINISHED"}
    limb_add(body, limb)
    return body


def flesh_of(obj):
    return part("live.session").register.flesh(obj)


def native(obj, rig):
    flesh = flesh_of(obj)
    thew = part("logic.native").core()
    found = part("rigs.rigging").portable(obj, flesh, rig)
    return found.native(thew, flesh.place.metres_per_unit, flesh.body)


def place(obj, rig) -> np.ndarray:
    """The frame of a rig in the metres of its body, [4, 4]."""
    return native(obj, rig).frame(flesh_of(obj).body)


def coordinates(obj, rig, limb=0) -> np.ndarray:
    """Where a rig is on its limb."""
    side = part("edit.limb_rigs").Side(obj, flesh_of(obj))
    return side.model(obj.thew.limbs[limb]).coordinates(place(obj, rig)[None, :3, 3])[0]


def three_rigs(body) -> None:
    """One of each guide."""
    activate(body)
    common = {"yields": 0.01}
    assert bpy.ops.thew.rig_place(
        template="BULGE", guide="BONE", bone="Spine", along=0.4, angle=0.7, distance=0.06, **common
    ) == {"FINISHED"}
    assert bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=(0.0, -0.4, 1.0), **common) == {"FINISHED"}
    assert bpy.ops.thew.rig_place(template="RADIAL", guide="FREE", location=(0.3, 0.0, 0.7), **common) == {"FINISHED"}


def carry(source, target) -> list:
    first = len(target.thew.rigs)
    activate(target)
    assert bpy.ops.thew.limb_rigs(source=source.name) == {"FINISHED"}
    return list(target.thew.rigs)[first:]


def test_a_copy_of_the_character_has_them_where_they_were(scene):
    source, target = character("First"), character("Second", at=(3.0, 1.0, 0.0))
    three_rigs(source)
    new = carry(source, target)
    assert [rig.name for rig in new] == [rig.name for rig in source.thew.rigs]
    assert [rig.guide for rig in new] == ["BONE", "SKIN", "FREE"]
    size = flesh_of(source).surface.size
    for old, rig in zip(source.thew.rigs, new, strict=True):
        assert not rig.problem
        np.testing.assert_allclose(place(target, rig), place(source, old), atol=2e-3 * size)
        for name in ("radius", "yields"):
            assert getattr(rig, name) == pytest.approx(getattr(old, name), rel=0.02)


def test_on_a_larger_one_they_are_as_much_larger(scene):
    source = character("First", rings=25, sides=16)
    target = character("Large", scale=1.6, at=(4.0, 0.0, 0.0), rings=19, sides=14)
    three_rigs(source)
    new = carry(source, target)
    unit = [flesh_of(obj).place.metres_per_unit for obj in (source, target)]
    for old, rig in zip(source.thew.rigs, new, strict=True):
        assert rig.radius * unit[1] / (old.radius * unit[0]) == pytest.approx(1.6 * unit[1] / unit[0], rel=0.08), (
            rig.name
        )
        a, b = coordinates(source, old), coordinates(target, rig)
        np.testing.assert_allclose(a[[0, 3]], b[[0, 3]], atol=0.04)
        assert abs(np.angle(np.exp(1j * (a[2] - b[2])))) < 0.15 or a[3] < 0.1
    # And there and back they are where they were.
    back = character("Back", at=(8.0, 0.0, 0.0), rings=25, sides=16)
    again = carry(target, back)
    size = flesh_of(source).surface.size
    for old, rig in zip(source.thew.rigs, again, strict=True):
        apart = np.linalg.norm(place(back, rig)[:3, 3] - place(source, old)[:3, 3])
        assert apart < 0.02 * size, rig.name
        assert rig.radius == pytest.approx(old.radius, rel=0.05)


def test_they_push_and_keep_samples_and_drivers(scene):
    source, target = character("First"), character("Second", at=(3.0, 0.0, 0.0))
    activate(source)
    assert bpy.ops.thew.rig_place(
        template="BUMP", guide="BONE", bone="Spine", along=0.5, distance=0.2, yields=0.03
    ) == {"FINISHED"}
    assert bpy.ops.thew.rig_driver(bone="Head", axis="X", from_angle=0.0, to_angle=0.8) == {"FINISHED"}
    (rig,) = carry(source, target)
    assert len(rig.samples) == len(source.thew.rigs[0].samples) > 1
    (curve,) = target.animation_data.drivers
    wanted = curve.driver.variables[0].targets[0]
    assert wanted.bone_target == "Head" and wanted.id == target.modifiers[0].object
    assert [round(p.co[0], 5) for p in curve.keyframe_points] == [0.0, 0.8]
    forces = native(target, rig).forces(flesh_of(target).body)
    assert np.abs(forces).max() > 0.0
    compliance = native(target, rig).yields(flesh_of(target).body)
    assert np.abs(compliance).max() == pytest.approx(0.03 * flesh_of(target).place.metres_per_unit, rel=0.05)


def test_what_cannot_be_carried_stays_with_a_sentence(scene):
    source = character("First", limb="Spine\nHead")
    target = character("Second", at=(3.0, 0.0, 0.0), limb="Spine\nHead")
    activate(target)
    assert "no rigs" in refused(bpy.ops.thew.limb_rigs, source="First")
    activate(source)
    assert bpy.ops.thew.rig_place(template="BUMP", guide="BONE", bone="Hip", along=0.5) == {"FINISHED"}
    activate(target)
    said = refused(bpy.ops.thew.limb_rigs, source="First")
    assert "“Hip”" in said and len(target.thew.rigs) == 0
    # One that can be carried goes, the other stays.
    activate(source)
    assert bpy.ops.thew.rig_place(template="BUMP", guide="BONE", bone="Spine", along=0.5) == {"FINISHED"}
    assert len(carry(source, target)) == 1
    # Limbs of different numbers of bones.
    target.thew.limbs.clear()
    limb_add(target, "Spine")
    source.thew.limbs[0].name = target.thew.limbs[0].name = "Spine"
    activate(target)
    assert "this one 2 bones" in refused(bpy.ops.thew.limb_rigs, source="First")
    plain = make_body(make_armature("Plain Rig"), "Plain")
    activate(plain)
    assert "no flesh" in refused(bpy.ops.thew.limb_rigs, source="First")


def test_they_are_saved_with_the_file(scene, tmp_path):
    source, target = character("First"), character("Second", at=(3.0, 0.0, 0.0))
    three_rigs(source)
    new = carry(source, target)
    before = [(rig.name, rig.guide, rig.radius) for rig in new]
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rigs.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "rigs.blend"))
    after = [(rig.name, rig.guide, rig.radius) for rig in bpy.data.objects["Second"].thew.rigs]
    assert after == before


@pytest.mark.skipif(data_folder("characters") is None, reason="no THEW_DATA")
def test_an_arm_muscle_goes_from_one_person_to_another(addon):
    load(data_folder("characters") / "m2m_human.glb")
    source = meshes()[0]
    before = set(meshes())
    bpy.ops.import_scene.gltf(filepath=str(data_folder("characters") / "mh_male_heavy.glb"))
    target = max(set(meshes()) - before, key=lambda mesh: len(mesh.data.vertices))
    chains = {source: "upperarm_l\nlowerarm_l", target: "LeftArm\nLeftForeArm"}
    for body in (source, target):
        activate(body)
        assert bpy.ops.thew.add(cells_across=10) == {"FINISHED"}
        limb_add(body, chains[body])
    activate(source)
    assert bpy.ops.thew.rig_place(template="BULGE", guide="BONE", bone="upperarm_l", along=0.5, yields=0.01) == {
        "FINISHED"
    }
    (rig,) = carry(source, target)
    a, b = coordinates(source, source.thew.rigs[0]), coordinates(target, rig)
    np.testing.assert_allclose(a[0], b[0], atol=0.05)
    assert not rig.problem and np.abs(native(target, rig).forces(flesh_of(target).body)).max() > 0.0
