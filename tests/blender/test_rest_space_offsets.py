# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's own skinning measured, and offsets carried back to before it: what keys in rest space hold."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from characters import clips, load, meshes, play_clip
from conftest import data_folder
from helpers import evaluated_positions, make_character, part, size_of

FOLDER = data_folder("characters")
#: A biped, one with scaled bones and objects, one from FBX.
CHOSEN = ("kaykit_manny.fbx", "Fox.glb", "m2m_horse.glb", "sintel_m2m.glb", "q_frog.glb")
FILES = [FOLDER / name for name in CHOSEN if (FOLDER / name).is_file()] if FOLDER else []


def found_of(obj):
    return part("scene.reading").subject(obj, bpy.context.view_layer)


def waves(rest, amount):
    """Returns a smooth offset of every vertex, [n, 3]."""
    size = size_of(rest)
    return amount * size * np.sin(7.0 * rest[:, [1, 2, 0]] / size + np.arange(3))


def shifted_shape(obj, deltas):
    """Returns the evaluated shape when a shape key moves the vertices by `deltas` [n, 3]."""
    mesh, had = obj.data, obj.data.shape_keys is not None
    if not had:
        obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Trial", from_mix=False)
    basis = part("scene.mesh").key_positions(mesh.shape_keys.reference_key)
    key.points.foreach_set("co", np.ascontiguousarray(basis + deltas, dtype=np.float32).ravel())
    key.value = 1.0
    shape = evaluated_positions(obj)
    obj.shape_key_remove(key)
    if not had:
        obj.shape_key_clear()
    return shape


def check(obj, frames, amount=0.05, tolerance=1e-5, found=None):
    """Checks that measured maps are Blender's and that offsets carried back arrive where they should."""
    rest = part("scene.mesh").basis_positions(obj.data)
    offsets, size = waves(rest, amount), size_of(rest)
    small = waves(rest[:, [2, 0, 1]], 1e-3)
    before = {kind: len(getattr(bpy.data, kind)) for kind in ("objects", "meshes")}
    with part("bake.skinning").Probe(found or found_of(obj), rest, bpy.context.scene) as probe:
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            skin = evaluated_positions(obj).astype(float)
            posed, blended = probe.read(bpy.context.evaluated_depsgraph_get())
            deltas, miss = part("logic.unskin").unskin(blended, offsets)
            reach = max(size, np.abs(skin).max())
            if not obj.data.shape_keys:
                assert np.abs(posed - skin).max() < 1e-6 * reach
            turned = np.einsum("nij,nj->ni", blended, small)
            assert np.abs(shifted_shape(obj, small) - skin - turned).max() < tolerance * reach
            error = np.abs(shifted_shape(obj, deltas) - skin - offsets).max(axis=1)
            assert (error < tolerance * reach + miss).all()
            assert miss.max() == 0.0
    assert before == {kind: len(getattr(bpy.data, kind)) for kind in before}


@pytest.mark.parametrize("preserve", [False, True])
def test_unskin_small_character(scene, preserve):
    """Offsets of the small character are carried to rest space and back."""
    body, _ = make_character()
    body.modifiers["Armature"].use_deform_preserve_volume = preserve
    check(body, (1, 6, 17))


@pytest.mark.parametrize("preserve", [False, True])
def test_unskin_scaled_bones(scene, preserve):
    """Offsets are carried to rest space and back under scaled bones, also with Preserve Volume."""
    body, rig = make_character()
    body.modifiers["Armature"].use_deform_preserve_volume = preserve
    rig.pose.bones["Spine"].scale = (1.3, 0.7, 1.1)
    rig.pose.bones["Head"].scale = (0.8, 1.6, 0.9)
    check(body, (1, 6, 17))


@pytest.mark.parametrize("invert", [False, True])
def test_unskin_masked_modifier(scene, invert):
    """Offsets are carried to rest space and back where a vertex group limits the Armature modifier."""
    body, _ = make_character()
    modifier = body.modifiers["Armature"]
    modifier.vertex_group, modifier.invert_vertex_group = "Spine", invert
    check(body, (1, 6, 17))


def test_unskin_two_armatures(scene):
    """Offsets are carried back through two Armature modifiers, one after the other or blended."""
    body, rig = make_character()
    other = rig.copy()
    other.location.x = 0.4
    scene.collection.objects.link(other)
    second = body.modifiers.new("Second", "ARMATURE")
    second.object = other
    body.modifiers.move(1, 0)
    last = part("scene.reading").Subject.of(body, body.modifiers["Armature"])
    check(body, (1, 6, 17), found=last)
    last.modifier.use_multi_modifier = True
    last.modifier.vertex_group = "Spine"
    check(body, (1, 6, 17), found=last)


def test_unskin_placed_objects(scene):
    """Offsets are carried to rest space and back wherever the objects stand."""
    body, rig = make_character()
    rig.matrix_world = [(0.01, 0, 0, 0.1), (0, 0, -0.01, 0), (0, 0.01, 0, 0.3), (0, 0, 0, 1)]
    body.parent = rig
    rig.keyframe_insert("location", frame=1)
    rig.location.x += 0.2
    rig.keyframe_insert("location", frame=20)
    check(body, (1, 6, 17))


def test_unskin_with_artist_keys(scene):
    """Offsets are carried to rest space and back while the artist's shape keys play."""
    body, _ = make_character()
    body.shape_key_add(name="Basis")
    swell = body.shape_key_add(name="Swell")
    for point in swell.points:
        point.co *= 1.2
    swell.value = 0.7
    check(body, (1, 6, 17))


def test_unskin_zero_scaled_bone(scene):
    """Keys stay finite under a bone that is scaled to nothing."""
    body, rig = make_character()
    rig.pose.bones["Head"].scale = (0.0, 0.0, 0.0)
    rest = part("scene.mesh").basis_positions(body.data)
    with part("bake.skinning").Probe(found_of(body), rest, scene) as probe:
        _, blended = probe.read(bpy.context.evaluated_depsgraph_get())
    offsets = waves(rest, 0.05)
    deltas, miss = part("logic.unskin").unskin(blended, offsets)
    assert np.isfinite(deltas).all()
    assert np.abs(deltas).max() < 13.0 * np.linalg.norm(offsets, axis=1).max()
    assert miss.max() > 0.5 * np.linalg.norm(offsets[-1]) and (miss[: len(rest) // 3] == 0.0).all()


def test_unskin_bendy_bones_and_envelopes(scene):
    """On bendy bones and envelopes a small offset is carried back to second order."""
    body, rig = make_character()
    rig.data.bones["Spine"].bbone_segments = 4
    check(body, (6, 17), amount=1e-4)
    rig.data.bones["Spine"].bbone_segments = 1
    body.modifiers["Armature"].use_bone_envelopes = True
    check(body, (6, 17), amount=1e-4)


@pytest.mark.skipif(not FILES, reason="no characters: set THEW_DATA")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_unskin_real_characters(addon, file):
    """Offsets of real characters are carried to rest space and back."""
    load(file)
    frames = play_clip(clips()[0])
    for obj in meshes()[:1]:
        for preserve in (False, True):
            found_of(obj).modifier.use_deform_preserve_volume = preserve
            check(obj, list(frames)[:: max(1, len(frames) // 3)])


# the inverse alone ----------------------------------------------------------------------------------------------------


def flattening_matrices(rng, singular):
    """Returns matrices with the given singular values [n, 3], turned at random."""
    turns = np.linalg.qr(rng.normal(size=(2, len(singular), 3, 3)))[0]
    return np.einsum("nij,nj,njk->nik", turns[0], singular, turns[1])


def test_unskinned_inverts_regular_maps(addon):
    """Regular maps are inverted exactly."""
    rng = np.random.default_rng(1)
    blended = flattening_matrices(rng, rng.uniform(0.5, 2.0, (200, 3)))
    offsets = rng.normal(size=(200, 3))
    deltas, miss = part("logic.unskin").unskin(blended, offsets)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", blended, deltas), offsets, atol=1e-12)
    assert (miss == 0.0).all()


def test_unskinned_damps_flat_maps(addon):
    """As a map loses one direction, the key stays bounded and smooth, and reaches the other directions exactly."""
    rng = np.random.default_rng(2)
    many = 400
    singular = np.ones((many, 3))
    singular[: many // 2, 2] = np.linspace(0.0, 0.3, many // 2)
    turn = flattening_matrices(rng, np.ones((1, 3)))[0]
    blended = turn @ (singular[:, :, None] * np.eye(3))
    offsets = np.tile(turn @ (1.0, -2.0, 1.0), (many, 1))
    deltas, miss = part("logic.unskin").unskin(blended, offsets)
    np.testing.assert_allclose(deltas[:, :2], [(1.0, -2.0)] * many, atol=1e-9)
    assert 5.0 < np.abs(deltas[:, 2]).max() < 13.0
    assert np.abs(np.diff(deltas[: many // 2, 2])).max() < 0.8
    expected = np.abs(singular[:, 2] * deltas[:, 2] - 1.0)
    np.testing.assert_allclose(miss, expected, atol=1e-9)
    assert miss[0] == pytest.approx(1.0) and (miss[singular[:, 2] >= 0.1001] < 1e-12).all()


def test_unskinned_small_scale(addon):
    """Maps of a very small character are inverted exactly."""
    rng = np.random.default_rng(3)
    blended = flattening_matrices(rng, rng.uniform(0.5e-3, 2e-3, (50, 3)))
    offsets = 1e-3 * rng.normal(size=(50, 3))
    deltas, miss = part("logic.unskin").unskin(blended, offsets)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", blended, deltas), offsets, atol=1e-12)
    assert (miss == 0.0).all()


def test_unskinned_zero_maps(addon):
    """Maps to nothing give keys of zero, and no maps give no keys."""
    deltas, miss = part("logic.unskin").unskin(np.zeros((4, 3, 3)), np.ones((4, 3)))
    assert (deltas == 0.0).all()
    np.testing.assert_allclose(miss, np.sqrt(3.0))
    assert [len(a) for a in part("logic.unskin").unskin(np.zeros((0, 3, 3)), np.zeros((0, 3)))] == [0, 0]
