# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests what the panel shows of linked, instanced and overridden characters."""

from __future__ import annotations

import bpy
import pytest
from helpers import activate, part
from linking import link, open_shot, override, write_library
from test_bake_buttons import texts
from test_panel import draw, words


@pytest.fixture
def library(scene, tmp_path):
    """Opens a shot, and returns the library of a character without flesh."""
    path = write_library(tmp_path / "library.blend")
    open_shot(tmp_path / "shot.blend")
    return path


def operators(seen) -> list[str]:
    """Returns the operators of the buttons in a layout."""
    return [call[1] for call in seen if call[0] == "operator"]


@pytest.mark.parametrize("place", ["sidebar", "physics"])
def test_panel_offers_override(library, place):
    """On a linked mesh, its armature and an instance the panel holds one button, Make Override, and names the library."""
    collection = link(library)
    bpy.context.scene.collection.children.link(collection)
    empty = bpy.data.objects.new("Crowd", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", collection
    bpy.context.scene.collection.objects.link(empty)
    for obj in list(bpy.context.scene.objects):
        activate(obj)
        drawn = draw(place)
        assert operators(drawn[""]) == ["thew.make_override"] and "“library.blend”" in words(drawn[""])
        assert set(drawn) == {""}


def test_panel_of_override(library):
    """On an override the panel adds flesh; Details says whose the mesh is and makes it local, after which it is silent."""
    body, _ = override(library)
    assert "thew.add" in operators(draw()[""])
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    details = draw()["details"]
    assert "thew.make_mesh_local" in operators(details) and "belongs to “library.blend”" in words(details)
    assert bpy.ops.thew.make_mesh_local() == {"FINISHED"}
    assert body.data.library is None and "thew.make_mesh_local" not in operators(draw()["details"])


def test_override_with_flesh_of_its_library(scene, tmp_path):
    """The message of Make Override sends nobody to Add Flesh where the library's flesh came along; the bake dialog then begins with a
    target that the library's mesh takes, and says of others why they are refused, and how many frames there are once they are not.
    """
    path = write_library(tmp_path / "library.blend", flesh=True)
    open_shot(tmp_path / "shot.blend")
    bpy.context.scene.collection.children.link(link(path))
    activate(next(obj for obj in bpy.context.scene.objects if obj.type == "MESH"))
    make = part("operators.library").THEW_OT_make_override
    told = make.edit(None, bpy.context, bpy.context.object)
    assert told.endswith("has the flesh of that file: play, or press Simulate")
    body = bpy.context.object
    assert part("bake.remaking").chosen_values(body)["target"] == "PC2"
    assert "20 frames" in texts(target="PC2", clips="SCENE")
    for target in ("COMPRESSED", "SHAPE_KEYS", "HELPER_BONES", "VERTEX_TEXTURE"):
        assert texts(target=target, clips="SCENE").startswith("The mesh of “Body” belongs to “library.blend”"), target
    assert bpy.ops.thew.make_mesh_local() == {"FINISHED"}
    assert part("bake.remaking").chosen_values(body)["target"] == "COMPRESSED"
    assert "20 frames" in texts(target="COMPRESSED", clips="SCENE")


def test_panel_of_plain_empty(scene):
    """An Empty that shows no character has no panel of its own: the tab says what to select."""
    empty = bpy.data.objects.new("Mark", None)
    bpy.context.scene.collection.objects.link(empty)
    activate(empty)
    drawn = draw()
    assert set(drawn) == {""} and "Select a skinned mesh" in words(drawn[""]) and not operators(drawn[""])
