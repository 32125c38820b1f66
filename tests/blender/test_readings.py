# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene is read as its artist has it: whatever frame is shown, whatever bake plays, whatever moves in front of the armature."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, add_rig, flesh_of, make_armature, make_character, part, play, refusal, size_of
from ticking import begin_reading, read_on, tick, window_of

FRAMES = range(1, 21)


def add(**options):
    assert bpy.ops.thew.add(**{"cells_across": 6, **options}) == {"FINISHED"}


def moving_empty(name="Mover"):
    empty = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(empty)
    for frame, x in ((1, 0.0), (8, 0.15), (14, -0.1), (20, 0.0)):
        empty.location.x = x
        empty.keyframe_insert("location", frame=frame)
    return empty


def add_hook(body, to):
    hook = body.modifiers.new("Hook", "HOOK")
    hook.object = to
    hook.vertex_indices_set(list(range(40, 80)))


def hook(body, _rig):
    add_hook(body, moving_empty())


def hook_below(body, _rig):
    """Adds a hook that has no keys itself but hangs on an object that has."""
    child = bpy.data.objects.new("Child", None)
    bpy.context.scene.collection.objects.link(child)
    child.parent = moving_empty()
    add_hook(body, child)


def hook_constrained(body, _rig):
    follower = bpy.data.objects.new("Follower", None)
    bpy.context.scene.collection.objects.link(follower)
    follower.constraints.new("COPY_LOCATION").target = moving_empty()
    add_hook(body, follower)


def hook_in_strip(body, _rig):
    empty = moving_empty()
    data = empty.animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    strip = data.nla_tracks.new().strips.new("Strip", 1, action)
    if slot is not None:
        strip.action_slot = slot
    add_hook(body, empty)


def lattice_keys(body, _rig):
    """Adds a lattice whose shape keys move."""
    lattice = bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage"))
    bpy.context.scene.collection.objects.link(lattice)
    lattice.location, lattice.scale = (0, 0, 1), (2, 2, 2.5)
    lattice.shape_key_add(name="Basis")
    key = lattice.shape_key_add(name="Wide")
    for point in key.data:
        point.co.x *= 1.3
    for frame, value in ((1, 0.0), (20, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    body.modifiers.new("Lattice", "LATTICE").object = lattice


def drive_cast(body, _rig):
    cast = body.modifiers.new("Cast", "CAST")
    cast.factor = 0.0
    curve = cast.driver_add("factor")
    variable = curve.driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id = moving_empty()
    curve.driver.expression = f"{variable.name} * 3"


def node_input(body, _rig):
    """Adds a node group that is given another object."""
    group = bpy.data.node_groups.new("Follow", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    given = group.interface.new_socket("Target", in_out="INPUT", socket_type="NodeSocketObject")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    source, sink = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
    place, move = group.nodes.new("GeometryNodeObjectInfo"), group.nodes.new("GeometryNodeSetPosition")
    group.links.new(source.outputs["Geometry"], move.inputs["Geometry"])
    group.links.new(source.outputs["Target"], place.inputs["Object"])
    group.links.new(place.outputs["Location"], move.inputs["Offset"])
    group.links.new(move.outputs["Geometry"], sink.inputs["Geometry"])
    modifier = body.modifiers.new("Follow", "NODES")
    modifier.node_group = group
    if hasattr(modifier, "properties"):  # Blender 5.2
        getattr(modifier.properties.inputs, given.identifier).value = moving_empty()
    else:
        modifier[given.identifier] = moving_empty()


def hook_to_bone(body, rig):
    """Moves the armature itself."""
    hook = body.modifiers.new("Hook", "HOOK")
    hook.object, hook.subtarget = rig, "Head"
    hook.vertex_indices_set(list(range(100, 130)))


@pytest.mark.parametrize(
    "follow", [hook, hook_below, hook_constrained, hook_in_strip, lattice_keys, drive_cast, node_input, hook_to_bone]
)
def test_motion_independent_of_frame(scene, follow):
    """Add, Simulate and Bake at other frames give the same flesh, where something moving stands in front of the armature."""
    body, rig = make_character()
    follow(body, rig)
    body.modifiers.move(1, 0)
    activate(body)
    scene.frame_set(1)
    add()
    bpy.ops.thew.simulate()
    live = play(body, FRAMES)
    size = size_of(live[0])
    scene.frame_set(8)
    bpy.ops.thew.simulate()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-6 * size
    for space in ("REST", "POSED"):
        scene.frame_set(14)
        assert bpy.ops.thew.bake(space=space) == {"FINISHED"}
        assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size


def bend_before(body):
    bend = body.modifiers.new("Bend", "SIMPLE_DEFORM")
    bend.deform_method, bend.angle = "BEND", 0.6
    body.modifiers.move(1, 0)


@pytest.mark.parametrize("space", ["REST", "POSED"])
def test_bake_repeated(scene, space, tmp_path):
    """Baked again, simulated or reopened while a bake plays, the flesh is the same."""
    body, _ = make_character()
    bend_before(body)
    activate(body)
    add()
    bpy.ops.thew.simulate()
    live = play(body, FRAMES)
    size = size_of(live[0])
    for _ in range(2):
        bpy.ops.thew.bake(space=space)
        assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "baked.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked.blend"))
    body = bpy.data.objects["Body"]
    activate(body)
    bpy.ops.thew.bake(space=space)
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size
    bpy.ops.thew.simulate()  # while the bake shows
    assert np.abs(play(body, FRAMES) - live).max() < 1e-6 * size
    assert body.modifiers["Bend"].show_viewport


def test_skin_constraint_ignores_bake(scene):
    """A bone that clings to the body's surface stands where the plain skin has it, though a bake plays."""
    body, rig = make_character()
    clinging = rig.pose.bones["Head"].constraints.new("SHRINKWRAP")
    clinging.target = body
    activate(body)
    add()
    bpy.ops.thew.simulate()
    live = play(body, FRAMES)
    bpy.ops.thew.bake(space="REST")
    bpy.ops.thew.simulate()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_size_from_first_frame(scene):
    """An armature that grows and travels has the same flesh wherever Add Flesh was pressed."""
    found = []
    for frame in (1, 15):
        bpy.ops.wm.read_homefile(use_empty=True)
        body, rig = make_character()
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 20
        body.parent = rig
        for at, scale in ((1, 1.0), (20, 3.0)):
            rig.scale, rig.location = (scale,) * 3, (0.2 * at, 0, 0)
            rig.keyframe_insert("scale", frame=at)
            rig.keyframe_insert("location", frame=at)
        activate(body)
        bpy.context.scene.frame_set(frame)
        add()
        assert bpy.context.scene.frame_current == frame
        made = body.thew.made
        found.append((made.longest_side, made.guessed_height, *made.mesh_rest))
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0][0] == pytest.approx(1.9, rel=0.05)


# the stack ----------------------------------------------------------------------------------------------------------------


def second_armature(body):
    face = make_armature("Face")
    for bone in face.data.bones:
        bone.name = f"Face {bone.name}"
    head = [vertex.index for vertex in body.data.vertices if vertex.co.z > 1.5]
    body.vertex_groups.new(name="Face Head").add(head, 1.0, "REPLACE")
    modifier = body.modifiers.new("Face", "ARMATURE")
    modifier.object, modifier.use_multi_modifier = face, True
    posed = face.pose.bones["Face Head"]
    posed.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (20, 0.5)):
        posed.rotation_euler.x = angle
        posed.keyframe_insert("rotation_euler", frame=frame)


def test_multi_modifier_armatures_kept(scene):
    """Armature modifiers that Blender blends into one stay together."""
    body, _ = make_character()
    second_armature(body)
    activate(body)
    plain = play(body, FRAMES)
    size = size_of(plain[0])
    add()
    assert [m.name for m in body.modifiers] == ["Armature", "Face", "Thew"]
    body.thew.enabled = False
    assert np.array_equal(play(body, FRAMES), plain)
    body.thew.enabled = True
    bpy.ops.thew.simulate()
    live = play(body, FRAMES)
    assert np.abs(live - plain).max() > 1e-3 * size
    for space in ("REST", "POSED"):
        bpy.ops.thew.bake(space=space)
        assert np.abs(play(body, FRAMES) - live).max() < 2e-5 * size
    # Flesh of earlier versions stood between them: Add puts it right.
    bpy.ops.thew.show_live()
    body.modifiers.move(2, 1)
    add()
    assert [m.name for m in body.modifiers] == ["Armature", "Face", "Thew"]
    bpy.ops.thew.remove(remove_baked_keys=True)
    assert np.array_equal(play(body, FRAMES), plain)


def test_modifier_copies_inert(scene):
    """Copies of Thew's modifier add nothing, and go when the flesh is removed."""
    body, _ = make_character()
    activate(body)
    plain = play(body, FRAMES)
    add()
    bpy.ops.thew.simulate()
    live = play(body, FRAMES)
    with bpy.context.temp_override(object=body):
        bpy.ops.object.modifier_copy(modifier="Thew")
    assert np.array_equal(play(body, FRAMES), live)
    other = bpy.data.objects.new("Other", body.data.copy())
    bpy.context.scene.collection.objects.link(other)
    other.modifiers.new("Copied", "NODES").node_group = body.modifiers["Thew"].node_group
    bpy.ops.thew.remove()
    assert [m.name for m in body.modifiers] == ["Armature"] and np.array_equal(play(body, FRAMES), plain)
    activate(other)
    bpy.ops.thew.remove()
    assert not other.modifiers and not bpy.data.node_groups
    assert "has no flesh" in refusal(bpy.ops.thew.remove)


@pytest.mark.parametrize("damage", ["modifier", "flesh", "armature_modifier", "found"])
def test_remove_with_damaged_record(scene, damage):
    """Remove restores the object although its record of what was made is damaged."""
    body, _ = make_character()
    activate(body)
    plain = play(body, FRAMES)
    add()
    made = body.thew.made
    if damage == "found":
        made.found = "garbage 1:2 x:y:z"
    else:
        setattr(made, damage, False if damage == "flesh" else 12345)
    bpy.ops.thew.remove()
    assert [m.name for m in body.modifiers] == ["Armature"] and np.array_equal(play(body, FRAMES), plain)


def test_simulate_repairs_record(scene):
    """Simulate repairs a damaged record of Thew's modifier."""
    body, _ = make_character()
    activate(body)
    add()
    bpy.ops.thew.simulate()
    live = play(body, FRAMES)
    body.thew.made.modifier = 12345
    bpy.ops.thew.simulate()
    assert [m.name for m in body.modifiers] == ["Armature", "Thew"] and np.array_equal(play(body, FRAMES), live)


def test_add_refuses_double_deform(scene):
    """A mesh that its armature deforms twice is refused with the way to mend it."""
    body, rig = make_character()
    body.parent, body.parent_type = rig, "ARMATURE"
    activate(body)
    said = refusal(bpy.ops.thew.add)
    assert "deformed twice" in said and "“Rig”" in said and "“Armature”" in said and "Type to Object" in said
    assert len(body.modifiers) == 1


def test_bake_of_bendy_bones(scene):
    """Keys in rest space play as the live flesh on sharply moving bend segments."""
    body, rig = make_character()
    for bone in rig.data.bones:
        bone.bbone_segments = 8
    posed = rig.pose.bones["Spine"]
    for frame, value in ((1, 0.0), (10, 0.1), (20, 0.0)):
        posed.bbone_curveinx, posed.bbone_curveoutx = value, -value
        posed.keyframe_insert("bbone_curveinx", frame=frame)
        posed.keyframe_insert("bbone_curveoutx", frame=frame)
    activate(body)
    bpy.ops.thew.add()
    bpy.ops.thew.simulate()
    live = play(body, FRAMES)
    bpy.ops.thew.bake(space="REST")
    assert np.abs(play(body, FRAMES) - live).max() < 1e-4 * size_of(live[0])


def test_moving_follows_dependencies(scene):
    """Objects that can move are found through all that they depend on."""
    moving = part("scene.frame_dependence")
    body, rig = make_character()
    body.parent = rig
    still, empty = bpy.data.objects.new("Still", None), moving_empty()
    bpy.context.scene.collection.objects.link(still)
    assert not moving.may_move(still) and moving.may_move(empty) and moving.may_move(rig)
    # Its bones move, itself and what it carries as a whole do not.
    assert not moving.is_carried(body) and not moving.is_carried(rig)
    still.parent = empty
    assert moving.may_move(still) and moving.is_carried(still)
    body.parent_type, body.parent_bone = "BONE", "Hip"
    assert moving.is_carried(body)


def more_pins(body, _rig):
    body.thew.pins.add().name = "New"


def more_rigs(body, _rig):
    body.thew.rigs.add().name = "New"


def fewer_rigs(body, _rig):
    body.thew.rigs.remove(0)


def more_bones(body, rig):
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones.new("New").tail = (0.0, 0.0, 0.1)
    bpy.ops.object.mode_set(mode="OBJECT")
    activate(body)


@pytest.mark.parametrize("change", [more_pins, more_rigs, fewer_rigs, more_bones])
@pytest.mark.parametrize("asked", [False, True], ids=["update", "simulate"])
def test_parts_change_while_poses_are_read(scene, monkeypatch, change, asked):
    """Rigs, pins and bones that a script makes or removes while the motion is read are told in a sentence, and Simulate takes them in."""
    for body, rig in window_of(monkeypatch, add_rig):
        tick()
        request = begin_reading(monkeypatch, body, rig, asked)
        change(body, rig)
        read_on()
        told = str(request.error) if asked else flesh_of(body).problem
        assert told.startswith("Bones, rigs or pins of “Body” came or went while its motion was read")
        body.thew.pins.clear()  # the new one has neither points nor a target
        assert bpy.ops.thew.simulate() == {"FINISHED"} and not flesh_of(body).problem
