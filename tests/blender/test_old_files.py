# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs and node trees as earlier versions saved them: brought to the present layout, with nothing lost."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, add_rig, part, play, size_of

FRAMES = range(1, 8)
PLACES = (
    "radius", "ring_radius", "tube_radius", "strength", "along", "angle", "distance", "tilt", "depth", "roll",
    "x", "y", "z", "rx", "ry", "rz",
)  # fmt: skip


# rigs -----------------------------------------------------------------------------------------------------------------


def raw_settings(obj):
    """Returns our settings as a file holds them."""
    return obj.bl_system_properties_get()["thew"] if hasattr(obj, "bl_system_properties_get") else obj["thew"]


def age(obj) -> dict:
    """Saves the rigs as layout 0 did, numbers by position and no version; returns what they were."""
    was = {}
    for index, rig in enumerate(raw_settings(obj)["rigs"]):
        assert rig["layout"] == 1
        del rig["layout"]
        live = obj.thew.rigs[index]
        for at, name in enumerate(PLACES):
            setattr(live.pull.weights, name, 0.5 + at)
            setattr(live.pull.fixed, name, at % 3 == 0)
        for number, sample in enumerate(rig["samples"]):
            named = live.samples[number].sliders
            was[index, number] = [getattr(named, name) for name in PLACES]
            sample["values"] = was[index, number]
            del sample["sliders"]
        for what in ("preferred", "weights", "fixed"):
            was[index, what] = [getattr(getattr(live.pull, what), name) for name in PLACES]
            rig[what] = was[index, what]
        del rig["pull"]
    return was


def values_by_name(obj) -> dict:
    """Returns the same numbers by name."""
    found = {}
    for index, rig in enumerate(obj.thew.rigs):
        for number, sample in enumerate(rig.samples):
            found[index, number] = [getattr(sample.sliders, name) for name in PLACES]
        for what in ("preferred", "weights", "fixed"):
            found[index, what] = [getattr(getattr(rig.pull, what), name) for name in PLACES]
    return found


@pytest.fixture
def rigged_character(fleshed_character):
    """Builds (body, its played shapes) with two rigs; a driver of another object reads a number of them."""
    body, _ = fleshed_character
    add_rig(body, bone="Spine", template="TORUS")
    rig = add_rig(body, guide="SKIN", face=33, template="BUMP")
    rig.control = 0.4
    rig.depth, rig.roll = 0.02, 0.3
    assert bpy.ops.thew.rig_record() == {"FINISHED"}
    return body, play(body, FRAMES)


def watch(body, path: str) -> bpy.types.Object:
    """Adds another object, moved by a driver that reads a number of the body's rigs."""
    watcher = bpy.data.objects.new("Watcher", None)
    bpy.context.scene.collection.objects.link(watcher)
    driver = watcher.driver_add("location", 0).driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = body, path
    return watcher


def test_old_values_get_names(rigged_character, tmp_path):
    """Values saved by position get their names, and drivers of them work on."""
    body, live = rigged_character
    watch(body, "thew.rigs[1].samples[1].values[8]")
    watch(body, 'thew.rigs["Bump"].weights[9]')
    was = age(body)
    assert values_by_name(body) != was  # the file has no names
    path = str(tmp_path / "old.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body, watcher, other = (bpy.data.objects[name] for name in ("Body", "Watcher", "Watcher.001"))
    assert values_by_name(body) == was
    assert [rig.layout for rig in body.thew.rigs] == [1, 1]
    held = raw_settings(body)["rigs"]
    assert not any(name in rig.keys() for rig in held for name in ("preferred", "weights", "fixed"))
    assert not any("values" in sample.keys() for rig in held for sample in rig["samples"])
    np.testing.assert_array_equal(play(body, FRAMES), live)
    paths = [each.animation_data.drivers[0].driver.variables[0].targets[0].data_path for each in (watcher, other)]
    assert paths == ["thew.rigs[1].samples[1].sliders.depth", 'thew.rigs["Bump"].pull.weights.roll']
    bpy.context.view_layer.update()
    assert watcher.location.x == pytest.approx(0.02) and other.location.x == pytest.approx(9.5)
    # Saved anew it is a file of this version.
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=path)
    assert values_by_name(bpy.data.objects["Body"]) == was


def test_old_file_new_slider_default(rigged_character, tmp_path, monkeypatch):
    """A slider that an old file lacks gets its default, and the others keep their values."""
    body, _ = rigged_character
    was = age(body)
    path = str(tmp_path / "old.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    groups, sliders = part("saved.slider_groups"), part("logic.sliders")
    names = ("falloff", *reversed(PLACES))
    for module in (groups, sliders, part("saved.samples"), part("rigs.rigging")):
        monkeypatch.setattr(module, "SLIDERS", names)
    kinds = [
        part("saved.rigs").ThewRig,
        *(getattr(groups, f"Thew{kind}") for kind in ("Sliders", "Preferred", "Weights")),
    ]
    for kind in kinds:
        kind.falloff = bpy.props.FloatProperty(default=0.25)
    groups.ThewFixed.falloff = bpy.props.BoolProperty()
    try:
        bpy.ops.wm.open_mainfile(filepath=path)
        body = bpy.data.objects["Body"]
        assert values_by_name(body) == was
        assert {sample.sliders.falloff for rig in body.thew.rigs for sample in rig.samples} == {0.25}
        rig = body.thew.rigs[1]
        recorded = part("saved.samples").recorded_samples(rig)[1][1]
        assert dict(zip(names, recorded, strict=True)) == {"falloff": 0.25, **dict(zip(PLACES, was[1, 1], strict=True))}
    finally:
        for kind in (*kinds, groups.ThewFixed):
            del kind.falloff


def test_append_updates_old_rigs(rigged_character, tmp_path):
    """Rigs appended from an old file are brought up to date and play as before."""
    body, live = rigged_character
    was = age(body)
    path = str(tmp_path / "old.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False, load_ui=False)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base, scene.frame_start, scene.frame_end = 24, 1.0, 1, 20
    with bpy.data.libraries.load(path, link=False) as (_source, target):
        target.objects = ["Body"]
    body = bpy.data.objects["Body"]
    scene.collection.objects.link(body)
    scene.collection.objects.link(part("scene.reading").armature_modifier(body).object)
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-5)
    assert values_by_name(body) == was


def test_old_rigs_without_flesh(rigged_character, tmp_path):
    """Old rigs are brought up to date without flesh too."""
    body, _ = rigged_character
    activate(body)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    was = age(body)
    path = str(tmp_path / "old.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    assert values_by_name(bpy.data.objects["Body"]) == was


def test_later_rig_kept(rigged_character):
    """A rig of a later version is kept unchanged, and its problem says so."""
    body, _ = rigged_character
    raw_settings(body)["rigs"][0]["layout"] = 2
    was = values_by_name(body)
    play(body, (1, 2))
    first, second = body.thew.rigs
    assert "later version" in first.problem and f"“{first.name}”" in first.problem and second.problem == ""
    assert values_by_name(body) == was and first.layout == 2


# node trees -----------------------------------------------------------------------------------------------------------


def other_tree(mark) -> bpy.types.NodeTree:
    """Builds a tree that shows nothing of what today's shows, as another version might have made it."""
    tree = bpy.data.node_groups.new("Thew", "GeometryNodeTree")
    if mark is not None:
        tree["thew_tree"] = mark
    for in_out in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=in_out, socket_type="NodeSocketGeometry")
    source, sink = (tree.nodes.new(name) for name in ("NodeGroupInput", "NodeGroupOutput"))
    tree.links.new(source.outputs[0], sink.inputs[0])
    return tree


def marks() -> list:
    return [group.get("thew_tree") for group in bpy.data.node_groups]


@pytest.mark.parametrize("mark", [None, 0, 3, 99, "4"])
@pytest.mark.parametrize("how", ["opened", "built"])
def test_node_tree_replaced(fleshed_character, tmp_path, mark, how):
    """A node tree of another version is replaced by the present one, and the flesh plays as before."""
    body, _ = fleshed_character
    live, modifier = play(body, FRAMES), part("scene.modifier")
    body.modifiers["Thew"].node_group = other_tree(mark)
    for group in [g for g in bpy.data.node_groups if g.users == 0]:
        bpy.data.node_groups.remove(group)
    assert modifier.TREE_LAYOUT not in marks()
    if how == "opened":
        path = str(tmp_path / "old.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
        body = bpy.data.objects["Body"]
        assert marks() == [modifier.TREE_LAYOUT]
    else:
        activate(body)
        assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert marks() == [modifier.TREE_LAYOUT] and [m.type for m in body.modifiers] == ["ARMATURE", "NODES"]
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_node_tree_shared_kept(fleshed_character, tmp_path):
    """An old node tree stays with other objects that use it."""
    body, _ = fleshed_character
    play(body, FRAMES)
    tree = other_tree(7)
    body.modifiers["Thew"].node_group = tree
    mesh = bpy.data.meshes.new("Stone")
    stone = bpy.data.objects.new("Stone", mesh)
    bpy.context.scene.collection.objects.link(stone)
    stone.modifiers.new("Mine", "NODES").node_group = tree
    path = str(tmp_path / "old.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body, stone = bpy.data.objects["Body"], bpy.data.objects["Stone"]
    assert body.modifiers["Thew"].node_group.get("thew_tree") == part("scene.modifier").TREE_LAYOUT
    assert stone.modifiers["Mine"].node_group.get("thew_tree") == 7 and sorted(marks()) == [
        part("scene.modifier").TREE_LAYOUT,
        7,
    ]


def test_node_tree_of_rider_replaced(fleshed_character, tmp_path):
    """A rider's old node tree is replaced by the present one."""
    body, armature = fleshed_character
    points = [(v.co * 1.02)[:] for v in body.data.vertices]
    mesh = bpy.data.meshes.new("Shirt")
    mesh.from_pydata(points, [], [tuple(p.vertices) for p in body.data.polygons])
    shirt = bpy.data.objects.new("Shirt", mesh)
    bpy.context.scene.collection.objects.link(shirt)
    shirt.parent = armature
    shirt.thew.body = body
    activate(shirt)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    live = play(shirt, FRAMES)
    shirt.modifiers["Thew"].node_group = other_tree(102)
    path = str(tmp_path / "old.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    shirt = bpy.data.objects["Shirt"]
    modifier = part("scene.modifier")
    assert sorted(marks()) == [modifier.TREE_LAYOUT, modifier.RIDER_LAYOUT]
    np.testing.assert_allclose(play(shirt, FRAMES), live, atol=1e-6 * size_of(live[0]))
