# SPDX-License-Identifier: GPL-3.0-or-later
"""Baked characters through glTF and FBX: they come back with the motion with which they left."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
import roundtrips
from characters import clips, load, meshes, play_clip
from conftest import FAST, data_folder
from helpers import activate, flesh_of, make_folding, part, size_of

from assets import characters as own

#: The most that a vertex may come back away from where it was, of the character's size.
TOLERANCE = 2e-3
FRAMES = 16
FOLDER = data_folder("characters")
#: Characters of others whose clips begin at a whole frame: the FBX exporter samples from where a clip begins.
SHARED = [name for name in ("kaykit_manny.fbx", "Fox.glb") if FOLDER and (FOLDER / name).is_file()]
CHARACTERS = (SHARED or ["biped"])[-1:] if FAST else ["biped", *SHARED]


def character(name: str):
    """Returns the mesh of a character, at the beginning of a lively clip."""
    if name == "biped":
        armature, body = own.create("biped")
        own.use_action(armature, "jump")
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, FRAMES
        return body
    load(FOLDER / name)
    lively, other = clips()[:2]
    for action in set(bpy.data.actions) - {lively, other}:  # exporters write every animation that there is
        bpy.data.actions.remove(action)
    play_clip(lively, FRAMES)
    body, *others = meshes()
    for other in others:  # which would only be written and read
        bpy.data.objects.remove(other)
    bpy.context.view_layer.update()
    return body


def armature_of(obj):
    return part("scene.reading").armature_modifier(obj).object


def bake(obj, **options) -> None:
    activate(obj)
    if not obj.thew.made.flesh:
        assert bpy.ops.thew.add() == {"FINISHED"}
        obj.thew.softness = 0.7
    assert bpy.ops.thew.bake(**options) == {"FINISHED"}


def skin_shapes(obj, frames) -> np.ndarray:
    """Returns the shapes without the baked keys, world space."""
    baked = [key for key in obj.data.shape_keys.key_blocks if key.name.startswith("Thew ")]
    for key in baked:
        key.mute = True
    rows = roundtrips.shapes(obj, frames)
    for key in baked:
        key.mute = False
    return rows


class Journey:
    """Writes a baked character in every format, and brings it back from each."""

    def __init__(self, obj, folder):
        clip = obj.thew.bakes[0].clips[0]
        whole = np.arange(clip.start, clip.end + 1)[::3]
        self.frames = np.sort(np.append(whole, whole[:-1] + 0.5))
        self.whole = self.frames % 1 == 0
        self.shape, self.skin = roundtrips.shapes(obj, self.frames), skin_shapes(obj, self.frames)
        self.size = size_of(self.skin[0])
        action = roundtrips.armature_above(obj).animation_data.action
        self.name, self.first = action.name, int(action.frame_range[0])
        self.paths = [folder / f"out{kind}" for kind in roundtrips.EXPORT]
        for path in self.paths:
            roundtrips.export(path)

    def read_back(self):
        """Yields for each format its name, and the shapes and bare shapes that left and came, of the same vertices."""
        for path in self.paths:
            roundtrips.bring_back(path)
            obj = roundtrips.baked_mesh()
            roundtrips.play_animation(obj, self.name)
            # The FBX exporter lets every animation begin at 0, its importer at 1.
            frames = self.frames + (1 - self.first if path.suffix == ".fbx" else 0)
            shape, skin = roundtrips.shapes(obj, frames), skin_shapes(obj, frames)
            owner = roundtrips.owners(self.shape, shape)
            yield path.suffix, (self.shape[:, owner], self.skin[:, owner]), (shape, skin)


@pytest.mark.parametrize("name", CHARACTERS)
def test_export_rest_space(scene, tmp_path, name):
    """A bake in rest space comes back with its skin, its keys, and their blend between the frames.

    Between the frames exporters lose the curves of the bones, flesh or no flesh: there the test compares only the flesh's
    offsets from the skin.
    """
    body = character(name)
    bake(body)
    assert part("bake.export_check").check(body) == []
    journey = Journey(body, tmp_path)
    added = journey.shape - journey.skin
    assert np.linalg.norm(added, axis=2).max() > 3 * TOLERANCE * journey.size
    for kind, (shape, skin), (shape_after, skin_after) in journey.read_back():
        assert roundtrips.largest_distances(shape[journey.whole], shape_after[journey.whole]).max() < TOLERANCE, kind
        lost = (shape_after - skin_after) - (shape - skin)
        assert np.linalg.norm(lost, axis=2).max() < TOLERANCE * journey.size, kind


def test_export_contact(scene, tmp_path):
    """A clip in which flesh presses on flesh has the same shapes played, baked, and from files."""
    body, _ = make_folding(2.0)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    body.thew.use_contact, body.thew.elastic_joints = True, 1.0
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    touched = flesh_of(body).touching.itself.frames
    frames = np.arange(1, 21)[::3]
    assert set(frames) & set(touched), "frames that are compared are among those in which it touches"
    played = roundtrips.shapes(body, frames)
    bake(body)
    journey = Journey(body, tmp_path)
    assert list(journey.frames[journey.whole]) == list(frames)
    assert roundtrips.largest_distances(played, journey.shape[journey.whole]).max() < 1e-4
    for kind, (shape, _), (shape_after, _) in journey.read_back():
        assert roundtrips.largest_distances(shape[journey.whole], shape_after[journey.whole]).max() < TOLERANCE, kind


@pytest.mark.parametrize("name", CHARACTERS[::2])
def test_export_posed_finished(scene, tmp_path, name):
    """A finished bake in posed space comes back: the keys alone move it, at the frames and between them."""
    body = character(name)
    bake(body, space="POSED")
    seen = roundtrips.shapes(body, (3, 7.5))
    assert "Finish Bake" in part("bake.export_check").check(body)[0]
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert part("bake.export_check").check(body) == []
    np.testing.assert_allclose(roundtrips.shapes(body, (3, 7.5)), seen, atol=1e-5 * size_of(seen[0]))
    for kind, (shape, _), (shape_after, _) in Journey(body, tmp_path).read_back():
        assert roundtrips.largest_distances(shape, shape_after).max() < TOLERANCE, kind
