# SPDX-License-Identifier: GPL-3.0-or-later
"""Materials whose names say that something is hard: the automatic map heeds them, paint overrules them, and a press tells bodies by such names."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from characters import load, meshes
from conftest import data_folder
from helpers import activate, flesh_of, part, play

FRAMES = range(1, 13)


def material(body, name) -> int:
    """Gives the body a further material and returns its slot."""
    body.data.materials.append(bpy.data.materials.new(name))
    return len(body.data.materials) - 1


def faces_between(body, low, high) -> np.ndarray:
    """Returns the faces whose middle lies between two heights of the rest shape."""
    heights = part("scene.mesh").basis_positions(body.data)[:, 2]
    middle = [float(heights[list(face.vertices)].mean()) for face in body.data.polygons]
    return np.flatnonzero((np.array(middle) > low) & (np.array(middle) < high))


def dress(body, name) -> np.ndarray:
    """Gives the trunk a material of that name and returns the vertices wholly within it."""
    first = material(body, "Main") if not body.data.materials else 0
    slot = material(body, name)
    chosen = set(faces_between(body, 0.3, 1.2).tolist())
    inside = np.ones(len(body.data.vertices), dtype=bool)
    for face in body.data.polygons:
        face.material_index = slot if face.index in chosen else first
        if face.index not in chosen:
            inside[list(face.vertices)] = False
    assert 8 < inside.sum() < len(inside) - 8
    body.data.update()
    bpy.context.view_layer.update()
    return inside


def test_hard_material_stays_rigid(character):
    """Flesh under a hard material stays closer to the plain skin."""
    body, _ = character
    inside = dress(body, "Plate Armour")
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    armoured = part("scene.flesh_map").read(body, "Flesh")
    live = play(body, FRAMES)
    body.thew.enabled = False
    skin = play(body, FRAMES)
    body.thew.enabled = True
    body.data.materials[-1].name = "Plain"  # and another name: soft again, when it is simulated anew
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    plain = part("scene.flesh_map").read(body, "Flesh")
    soft = play(body, FRAMES)
    assert np.median(armoured[inside]) < 0.1 < 0.4 < np.median(plain[inside])
    assert (armoured <= plain + 1e-6).all()

    def sway(shown):
        return np.abs(shown - skin)[:, inside].max()

    assert sway(live) < 0.5 * sway(soft)


def test_hard_material_noted_until_painted(character):
    """The notes name a hard material until the flesh map is painted."""
    body, _ = character
    dress(body, "Shell")
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    said = "“Shell” is hard by its name: paint Flesh to change that"
    assert any(said in note for note in body.thew.made.notes.splitlines()), body.thew.made.notes
    maps = part("scene.flesh_map")
    maps.write(body, "Flesh", np.ones(len(body.data.vertices)))
    body.data.update_tag()
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert (np.asarray(flesh_of(body).body.flesh) == 1.0).all()
    assert said not in body.thew.made.notes


@pytest.mark.parametrize("case", ["none", "empty slot", "all hard", "unused", "no faces of it", "beyond the slots"])
def test_hard_without_evidence(character, case):
    """Materials that tell nothing about hardness change nothing."""
    body, _ = character
    hard = part("scene.materials").hard_parts
    if case == "empty slot":
        body.data.materials.append(None)
    elif case == "all hard":
        material(body, "Metal")
    elif case in {"unused", "no faces of it"}:
        material(body, "Main"), material(body, "Horn")
        if case == "no faces of it":
            body.data.materials.clear()
            material(body, "Horn")
            body.data.clear_geometry()
    elif case == "beyond the slots":
        for face in body.data.polygons:
            face.material_index = 7
        material(body, "Main")
    found = hard(body)
    assert found.part is None and found.note == ""


def test_bodies_exclude_named_shield(character):
    """A mesh named as a shield does not count as a further body."""
    body, armature = character
    # A closed mesh as large as a body, beside it, that bends by itself.
    bpy.ops.mesh.primitive_uv_sphere_add(radius=0.35, location=(0.9, 0.0, 0.7))
    shield = bpy.context.object
    upper = [vertex.index for vertex in shield.data.vertices if vertex.co.z > 0.0]
    lower = [vertex.index for vertex in shield.data.vertices if vertex.co.z <= 0.0]
    for bone, vertices in zip(armature.data.bones, (lower, upper), strict=False):
        shield.vertex_groups.new(name=bone.name).add(vertices, 1.0, "REPLACE")
    shield.modifiers.new("Armature", "ARMATURE").object = armature
    whole = part("live.whole_character")

    def bodies_of():
        task = whole.sort_meshes(armature, bpy.context.scene, bpy.context.view_layer)
        return {obj.name for obj in part("logic.tasks").finish(task).bodies}

    assert bodies_of() == {body.name, shield.name}
    shield.name = "Schild"
    assert bodies_of() == {body.name}


@pytest.mark.parametrize(("away", "size"), [(0.9, 0.35), (0.9, 5.0), (30.0, 1.0), (0.0, 100.0)])
def test_add_skips_prop_on_bone(character, away, size):
    """Add ignores a prop on a bone, of any size and distance, and the body gets the same flesh."""
    body, armature = character
    bpy.ops.mesh.primitive_cube_add(size=2.0, location=(away, 0.0, 0.7))
    prop = bpy.context.object
    prop.scale = (size,) * 3
    prop.vertex_groups.new(name=armature.data.bones[0].name).add(range(8), 1.0, "REPLACE")
    prop.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.update()
    task = part("live.whole_character").sort_meshes(armature, bpy.context.scene, bpy.context.view_layer)
    assert part("logic.tasks").finish(task).bodies == [body]
    activate(body)
    assert bpy.ops.thew.add() == {"FINISHED"}
    assert body.thew.made.flesh and not prop.thew.made.flesh
    if away > 1.0 or size > 50.0:
        assert body.thew.made.longest_side == pytest.approx(1.9, rel=1e-3)
        assert "“Cube” keeps its plain skin" in body.thew.made.left


def test_hard_materials_of_bull(scene):
    """The hooves, horns and eyes of a real animal are found to be hard."""
    folder = data_folder()
    if folder is None:
        pytest.skip("THEW_DATA is not there")
    load(folder / "characters" / "q_bull.glb")
    body = meshes()[0]
    found = part("scene.materials").hard_parts(body)
    assert set(found.names) == {"Hooves", "Horns", "Eye_Black", "Eye_White"}
    assert 0.005 < (found.part > 0.5).mean() < 0.5
    assert found.part.shape == (len(body.data.vertices),)
