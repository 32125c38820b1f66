# SPDX-License-Identifier: GPL-3.0-or-later
"""One press takes the whole character: its bodies get flesh, what is worn or sits in them rides, all of it told and undone."""

from __future__ import annotations

import math

import bmesh
import bpy
import numpy as np
import pytest
from characters import armature as loaded_armature
from characters import load
from conftest import FAST, data_folder
from helpers import (
    activate,
    animate,
    flesh_of,
    make_body,
    make_character,
    part,
    play,
    refusal,
    size_of,
    snapshot,
    world,
)
from mathutils import Matrix, Vector
from test_panel import draw, words

FRAMES = (3, 6, 9, 12)


# what is put on it ----------------------------------------------------------------------------------------------------


def thing(name, rig, bone, make, weighted=True):
    """Builds a mesh with `make(bmesh)`, wholly carried by a bone: by weights, or as its child."""
    mesh = bpy.data.meshes.new(name)
    cloud = bmesh.new()
    make(cloud)
    cloud.to_mesh(mesh)
    cloud.free()
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    if weighted:
        obj.vertex_groups.new(name=bone).add(range(len(mesh.vertices)), 1.0, "REPLACE")
        obj.modifiers.new("Armature", "ARMATURE").object = rig
    else:
        bpy.context.view_layer.update()
        obj.parent, obj.parent_type, obj.parent_bone = rig, "BONE", bone
        bpy.context.view_layer.update()
        obj.matrix_world = rig.matrix_world.copy()
    bpy.context.view_layer.update()
    return obj


def balls(*places):
    """Builds balls at (centre, radius)."""

    def make(cloud):
        for centre, radius in places:
            bmesh.ops.create_icosphere(cloud, subdivisions=2, radius=radius, matrix=Matrix.Translation(centre))

    return make


def cones(*places):
    """Builds teeth at places, 0.06 long, pointing down."""

    def make(cloud):
        for place in places:
            turned = Matrix.Translation(place) @ Matrix.Rotation(math.pi, 4, "X")
            bmesh.ops.create_cone(
                cloud, cap_ends=True, segments=6, radius1=0.02, radius2=0.0, depth=0.06, matrix=turned
            )

    return make


def box(low, high):
    """Builds a box from corner to corner."""

    def make(cloud):
        low_, high_ = Vector(low), Vector(high)
        matrix = Matrix.Translation(0.5 * (low_ + high_)) @ Matrix.Diagonal((*(high_ - low_), 1.0))
        bmesh.ops.create_cube(cloud, size=1.0, matrix=matrix)

    return make


@pytest.fixture
def shark(scene):
    """Builds (body, armature, eyes, teeth, fins): a tube that swims along z, with meshes of its own for eyes, teeth
    and a fin.
    """
    body, rig = make_character(rings=19, sides=14)
    eyes = thing("Eyes", rig, "Head", balls(((0.17, -0.05, 1.6), 0.04), ((-0.17, -0.05, 1.6), 0.04)))
    teeth = thing("Teeth", rig, "Head", cones(*((0.05 * i, -0.14, 1.72) for i in (-2, -1, 0, 1, 2))))
    fin = thing("Fin", rig, "Spine", box((-0.01, 0.2, 0.7), (0.01, 0.55, 1.0)), weighted=False)
    return body, rig, eyes, teeth, fin


def rides_on(obj, body) -> bool:
    return obj.thew.made.rides and obj.thew.body == body


# who is what ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pressed", ["Body", "Rig", "Eyes", "Teeth"])
def test_add_takes_whole_character(shark, pressed, capsys):
    """One press of Add Flesh on any part gives the body flesh and lets the other meshes ride on it."""
    body, _, *others = shark
    activate(bpy.data.objects[pressed])
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert body.thew.made.flesh
    for obj in others:
        assert rides_on(obj, body) and not obj.thew.made.flesh, obj.name
    said = capsys.readouterr().out
    assert "“Body” has flesh" in said and "“Eyes”, “Fin” and “Teeth” ride on “Body”" in said


def test_riders_keep_depth_in_skin(shark):
    """Eyes and teeth keep their depth in the skin."""
    body, rig, eyes, teeth, _ = shark
    animate(rig, hop=0.3, bend=0.6)
    body.thew.softness = 1.0
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    thew, triangles = part("logic.native").thew, part("scene.mesh").triangles_of(body.data)

    def depths() -> dict:
        found = {}
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            skin = thew.Surface(world(body), triangles)
            for obj in (eyes, teeth):
                points = world(obj)
                outside = np.where(np.abs(skin.winding_number(points)) > 0.5, -1.0, 1.0)
                found[obj.name, frame] = outside * np.asarray(skin.closest_point(points)[1])
        return found

    live, size = depths(), size_of(world(body))
    for obj in (eyes, teeth):
        obj.thew.enabled = False
    left_behind = depths()
    body.thew.enabled = False
    plain = depths()
    body.thew.enabled = True
    sway = max(float(np.abs(shape).max()) for shape in (play(body, FRAMES, read=world) - plain_skin(body)))
    assert sway > 0.01 * size
    for obj in (eyes, teeth):
        moved, lost = (
            np.concatenate([each[obj.name, frame] - plain[obj.name, frame] for frame in FRAMES])
            for each in (live, left_behind)
        )
        assert np.sqrt((moved**2).mean()) < 0.5 * np.sqrt((lost**2).mean()), obj.name


def plain_skin(body) -> np.ndarray:
    """Returns the plain skin at the frames."""
    body.thew.enabled = False
    shapes = play(body, FRAMES, read=world)
    body.thew.enabled = True
    return shapes


def test_add_two_bodies(scene):
    """Two large closed meshes get flesh each, and eyes ride on the nearer one."""
    body, rig = make_character()
    other = make_body(rig, name="Other")
    other.data.transform(Matrix.Translation((1.5, 0.0, 0.0)))
    eyes = thing("Eyes", rig, "Head", balls(((1.5, -0.17, 1.6), 0.04)))
    activate(eyes)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert body.thew.made.flesh and other.thew.made.flesh
    assert rides_on(eyes, other)


def test_add_large_clothes_ride(scene):
    """An open robe around the body rides although it encloses more than the body."""
    body, rig = make_character()
    robe = make_body(rig, name="Robe", scale=1.0)
    for vertex in robe.data.vertices:
        vertex.co.x *= 1.6
        vertex.co.y *= 1.6
    cloud = bmesh.new()
    cloud.from_mesh(robe.data)
    bmesh.ops.delete(cloud, geom=[f for f in cloud.faces if len(f.verts) > 4], context="FACES_ONLY")
    cloud.to_mesh(robe.data)
    cloud.free()
    activate(robe)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert body.thew.made.flesh and rides_on(robe, body)


def test_add_backpack_rides(scene):
    """A backpack on the spine rides, and arms with bones of their own get flesh."""
    body, rig = make_character()
    pack = thing("Pack", rig, "Spine", box((-0.15, 0.3, 0.7), (0.15, 0.6, 1.1)))
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert rides_on(pack, body)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    head = body.vertex_groups["Head"]
    for vertex in body.data.vertices:
        head.remove([vertex.index])
        body.vertex_groups["Spine"].add([vertex.index], 0.5, "ADD")
    bpy.data.objects.remove(pack)
    arm = thing("Arm", rig, "Head", box((0.6, -0.1, 1.0), (1.1, 0.1, 1.3)))
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert arm.thew.made.flesh and body.thew.made.flesh


def test_add_leaves_props_and_cages(shark):
    """Distant props, hidden meshes and wire cages are left alone, and the panel names them."""
    body, rig, eyes, *_ = shark
    prop = thing("Prop", rig, "Head", box((4.0, 0.0, 0.0), (4.2, 0.2, 0.2)))
    cage = thing("Cage", rig, "Head", box((-0.3, -0.3, 1.0), (0.3, 0.3, 1.9)))
    cage.display_type = "WIRE"
    eyes.hide_set(True)
    before = [snapshot(obj) for obj in (prop, cage, eyes)]
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    for obj, was in zip((prop, cage, eyes), before, strict=True):
        now = snapshot(obj)
        now.pop("data"), was.pop("data")
        assert now == was, obj.name
    assert "“Prop” keeps its plain skin" in body.thew.made.left
    assert "“Prop” keeps its plain skin" in words(draw(width=800)["details"])
    bpy.data.objects.remove(prop)
    assert "keeps its plain skin" not in words(draw(width=800)["details"])  # nothing is said that is not so


def test_add_names_unfit_rider(shark):
    """A mesh that cannot ride is named, and the rest rides."""
    body, _, eyes, teeth, _ = shark
    teeth.modifiers.new("Mirror", "MIRROR")
    teeth.modifiers.move(1, 0)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert rides_on(eyes, body) and not teeth.thew.made.rides
    assert "“Mirror” of “Teeth” makes or removes vertices" in body.thew.made.left


def test_add_mesh_alone(shark):
    """Add Flesh takes the mesh alone when that is asked for."""
    body, _, eyes, teeth, fin = shark
    activate(body)
    assert bpy.ops.thew.add(cells_across=6, whole=False) == {"FINISHED"}
    assert body.thew.made.flesh and not any(obj.thew.made.rides for obj in (eyes, teeth, fin))


# undone ---------------------------------------------------------------------------------------------------------------


def test_ride_off_restores(shark):
    """One click takes each rider off, without a trace."""
    body, _, *others = shark
    before = {obj.name: snapshot(obj) for obj in others}
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    play(body, FRAMES)
    rows = [call for call in draw()["details"] if call[0] == "operator" and call[1] == "thew.ride_off"]
    assert len(rows) == len(others)
    for obj in others:
        assert bpy.ops.thew.ride_off(rider=obj.name) == {"FINISHED"}
        assert not obj.thew.made.rides and body.thew.made.flesh
    assert bpy.context.view_layer.objects.active == body
    bpy.context.scene.frame_set(1)
    for obj in others:
        now = snapshot(obj)
        now.pop("data"), before[obj.name].pop("data")
        assert now == before[obj.name], obj.name
    assert "does not ride on a body" in refusal(bpy.ops.thew.ride_off, rider="Eyes")
    assert "no mesh “Gone”" in refusal(bpy.ops.thew.ride_off, rider="Gone")


def test_remove_body_releases_riders(shark):
    """Remove on the body takes all riders off."""
    body, _, *others = shark
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert not any(obj.thew.made.rides or obj.thew.made.flesh for obj in (body, *others))


def test_add_on_rider_gives_flesh(scene):
    """Add Flesh on a rider gives it flesh of its own."""
    body, rig = make_character()
    shirt = make_body(rig, name="Shirt", rings=9)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert rides_on(shirt, body)
    activate(shirt)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert shirt.thew.made.flesh and not shirt.thew.made.rides and shirt.thew.body is None


@pytest.mark.usefixtures("unshared")
def test_add_cancel_leaves_all_bodies(scene):
    """If the second of two bodies is cancelled, the first gets no flesh either."""
    body, rig = make_character()
    other = make_body(rig, name="Other")
    other.data.transform(Matrix.Translation((1.5, 0.0, 0.0)))
    before = [snapshot(obj) for obj in (body, other)]
    whole, tasks, errors = part("live.whole_character"), part("logic.tasks"), part("logic.errors")
    task = whole.add(body, scene, bpy.context.view_layer, simulate=False)
    with pytest.raises(errors.Cancelled):
        tasks.finish(task, lambda fraction, _text: fraction < 0.7)
    assert [snapshot(obj) for obj in (body, other)] == before


# the way on later -----------------------------------------------------------------------------------------------------


def test_ride_proposes_body(fleshed_character):
    """The panel proposes the body to ride on."""
    body, rig = fleshed_character
    eyes = thing("Eyes", rig, "Head", balls(((0.17, -0.05, 1.6), 0.04)))
    activate(eyes)
    assert eyes.thew.body is None
    seen = draw()[""]
    assert any(call[:2] == ("operator", "thew.ride") and "“Body”" in call[-1] for call in seen)
    assert bpy.ops.thew.ride(body=part("live.whole_character").body_for(eyes, bpy.context.scene).name) == {
        "FINISHED"
    }  # as the button
    assert rides_on(eyes, body)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    activate(body)
    assert ("operator", "thew.ride", "Ride") in draw()["details"]
    assert bpy.ops.thew.ride(rider="Eyes") == {"FINISHED"}
    assert rides_on(eyes, body)


def test_ride_proposes_nearest_body(scene):
    """The nearest of several bodies is proposed."""
    body, rig = make_character()
    other = make_body(rig, name="Other")
    other.data.transform(Matrix.Translation((1.5, 0.0, 0.0)))
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    eyes = thing("Eyes", rig, "Head", balls(((1.5, -0.17, 1.6), 0.04)))
    assert part("live.whole_character").body_for(eyes, scene) == other
    eyes.data.transform(Matrix.Translation((-1.5, 0.0, 0.0)))
    bpy.context.view_layer.update()
    assert part("live.whole_character").body_for(eyes, scene) == body


# what there is --------------------------------------------------------------------------------------------------------


EXPECTED = {
    "sintel_m2m.glb": ({"MainMesh"}, {"Belt", "Hair", "Pouch"}),
    "kaykit_manny.glb": (
        {f"Mannequin_Medium_{each}" for each in ("Body", "ArmLeft", "ArmRight", "LegLeft", "LegRight")},
        {"Mannequin_Medium_Tag"},
    ),
    "robot.glb": ({"Head", "Torso", "Hand.L", "Hand.R"}, {"Shoulder.L", "Shoulder.R"}),
}
#: How the bones of those parts are called that are hard, whatever mesh they are in.
HARD = {
    "sintel_m2m.glb": ("head", "hand", "foot", "ball"),
    "kaykit_manny.glb": ("head", "hand", "toes"),
    "robot.glb": ("",),
}


def hard_parts(obj, starts) -> np.ndarray:
    """Returns the automatic map where bones mostly carry a mesh whose names begin so."""
    character = flesh_of(obj).character
    mine = [name.lower().startswith(starts) for name in character.bones]
    return np.asarray(flesh_of(obj).automatic.flesh)[character.weights[:, mine].sum(axis=1) > 0.7]


@pytest.mark.parametrize("file", list(EXPECTED)[-1 if FAST else None :])
def test_add_on_real_multi_mesh_characters(scene, file):
    """Real characters of many meshes get the expected bodies and riders, and the rest is named."""
    folder = data_folder("characters")
    if folder is None:
        pytest.skip("no shared characters")
    load(folder / file)
    bodies, riders = EXPECTED[file]
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 6
    activate(loaded_armature())
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    assert {obj.name for obj in scene.objects if obj.thew.made.flesh} == bodies
    assert {obj.name for obj in scene.objects if obj.thew.made.rides} == riders
    scene.frame_set(5)
    for name in bodies | riders:
        assert np.isfinite(world(bpy.data.objects[name])).all()
    everything = {obj.name for obj in part("live.whole_character").meshes_moved_by(loaded_armature(), scene)}
    hard = np.concatenate([hard_parts(bpy.data.objects[name], HARD[file]) for name in bodies])
    assert len(hard) > 100 and np.quantile(hard, 0.9) <= 0.1
    told = "".join(obj.thew.made.left for obj in scene.objects)
    assert all(f"“{name}”" in told for name in everything - bodies - riders)


def test_add_single_mesh_skips_casting(character, monkeypatch):
    """A character of one mesh is not measured to choose among bodies."""
    body, _ = character
    monkeypatch.setattr(part("logic.bodies"), "find_bodies", lambda _parts: pytest.fail("measured"))
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert body.thew.made.flesh
