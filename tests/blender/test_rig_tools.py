# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs by hand: placing templates, pulling the skin, presets, what is drawn; on made and on real characters."""

from __future__ import annotations

import json

import bpy
import numpy as np
import pytest
from characters import add, load, meshes
from conftest import FAST, data_folder, in_one_blender
from helpers import activate, flesh_of, make_character, part, refusal, skinned_shape, world

FOLDER = data_folder("characters")
CHARACTERS = ("Fox.glb",) if FAST else ("Fox.glb", "mh_male_heavy.glb")
TEMPLATES = ("BUMP", "RADIAL", "BULGE", "TORUS")
GUIDES = ("BONE", "SKIN", "FREE")

needs_data = pytest.mark.skipif(FOLDER is None, reason="no characters: set THEW_DATA")


def read(obj):
    """Returns the character as the operators see it."""
    return part("edit.posed_character").read(obj, bpy.context.scene, bpy.context.view_layer)


def thick_places(stand, count: int) -> list[np.ndarray]:
    """Returns points of the shown skin, Blender's world, with the most flesh among a hundred."""
    random = np.random.default_rng(7)
    flesh = np.asarray(stand.flesh.body.flesh)
    hits = []
    for face in random.choice(len(stand.rest.triangles), 100):
        hit = part("logic.picking").Hit(int(face), np.full(3, 1 / 3), np.zeros(3), 0.0)
        if stand.displayed.normal(int(face)).any():
            most = flesh[stand.rest.triangles[face]].mean()
            hits.append((most, tuple(hit.point_on(stand.displayed.vertices, stand.displayed.triangles))))
    return [np.array(point) for _, point in sorted(hits, reverse=True)[:count]]


def native_rig(obj, rig):
    """Returns the body, its pose in metres and the native rig of a saved rig."""
    flesh = flesh_of(obj)
    return flesh.body, read(obj).pose, part("rigs.rigging").native_rig(obj, flesh, rig)


def skin_movement(obj, rig) -> np.ndarray:
    """Returns how far one rig alone moves the skin in the rest pose, in which yields are measured, metres [n]."""
    import thew

    body, pose, own = native_rig(obj, rig)
    pose = np.tile(np.eye(4), (len(pose), 1, 1))
    forces = np.asarray(own.forces(body, rig.control))
    gravity = flesh_of(obj).build_settings.simulation.gravity
    shapes = [
        body.shown(thew.equilibrium(body, pose, gravity=gravity, rest_forces=pushed)) for pushed in (None, forces)
    ]
    return np.linalg.norm(np.subtract(*shapes), axis=1)


def reach(rig) -> float:
    """Returns how far a rig acts, Blender units."""
    return rig.ring_radius + rig.tube_radius if rig.template == "TORUS" else rig.radius


# a made character ----------------------------------------------------------------------------------------------------


@pytest.fixture
def body(scene):
    """Builds the fat tube, with flesh, bent a little."""
    body, _ = make_character()
    bpy.ops.thew.add(cells_across=8)
    scene.frame_set(6)
    return body


def belly(body) -> np.ndarray:
    """Returns a point of the belly's skin, world, that was chosen at rest."""
    rest = np.array([vertex.co for vertex in body.data.vertices])
    return world(body)[np.argmin(np.linalg.norm(rest - (0.0, -0.32, 0.7), axis=1))]


@pytest.mark.parametrize("guide", GUIDES)
@pytest.mark.parametrize("template", TEMPLATES)
def test_rig_place_at_location(body, template, guide):
    """A placed rig has its middle at rest in the flesh that was hit, on every guide, and moves the skin visibly."""
    point = belly(body)
    assert bpy.ops.thew.rig_place(template=template, guide=guide, location=point) == {"FINISHED"}
    rig = body.thew.rigs[body.thew.active_rig]
    assert (rig.template, rig.guide, len(body.thew.rigs)) == (template, guide, 1)
    flesh_body, _, own = native_rig(body, rig)
    stand = read(body)
    middle = np.asarray(own.frame(flesh_body))[:3, 3]
    np.testing.assert_allclose(middle, stand.rest_point(stand.skin_at(point)), atol=1e-5 * stand.size)
    moved = skin_movement(body, rig)
    thickness = 2.0 * rig.tube_radius if template == "TORUS" else rig.radius
    aim = 0.2 * thickness * stand.flesh.place.metres_per_unit  # the policy of `edit.sizing`
    assert moved.max() == pytest.approx(aim, rel=0.02)


def test_rig_place_faces_outward(body):
    """A bump pushes the skin outward on every guide."""
    for guide in GUIDES:
        bpy.ops.thew.rig_place(template="BUMP", guide=guide, location=belly(body))
        rig = body.thew.rigs[-1]
        flesh_body, _, own = native_rig(body, rig)
        frame = np.asarray(own.frame(flesh_body))
        stand = read(body)
        outward = stand.rest.normal(int(stand.skin_at(belly(body)).face)) if guide != "BONE" else (0.0, -1.0, 0.0)
        assert frame[:3, 2] @ outward > 0.9, guide  # the belly looks along -Y


def test_rig_place_on_bone(body):
    """A rig hangs on the bone of the flesh that was hit, or on the one that is named."""
    bpy.ops.thew.rig_place(template="BULGE", guide="BONE", location=belly(body))
    assert body.thew.rigs[0].bone == "Spine"
    bpy.ops.thew.rig_place(template="BULGE", guide="BONE", location=belly(body), bone="Hip")
    assert body.thew.rigs[1].bone == "Hip"
    bpy.ops.thew.rig_place(template="RADIAL", guide="BONE", bone="Spine", along=0.25, angle=0.5, distance=0.1)
    rig = body.thew.rigs[2]
    np.testing.assert_allclose((rig.along, rig.angle, rig.distance), (0.25, 0.5, 0.1), rtol=1e-5)


def test_rig_place_by_numbers(body):
    """A rig is placed by the numbers of its guide."""
    bpy.ops.thew.rig_place(
        template="BUMP", guide="SKIN", face=40, barycentric=(0.2, 0.3, 0.5), radius=0.1, strength=-3e4
    )
    rig = body.thew.rigs[0]
    assert rig.face == 40 and rig.radius == pytest.approx(0.1) and rig.strength == pytest.approx(-3e4)
    np.testing.assert_allclose(rig.barycentric, (0.2, 0.3, 0.5), rtol=1e-5)
    frame = np.eye(4)
    frame[:3, :3] = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    frame[:3, 3] = (0.05, -0.1, 0.7)
    bpy.ops.thew.rig_place(template="RADIAL", guide="FREE", matrix=frame.ravel())
    np.testing.assert_allclose(np.array(body.thew.rigs[1].matrix).reshape(4, 4), frame, atol=1e-6)


def test_rig_place_keeps_samples(body):
    """A rig that is moved to another place keeps its samples."""
    bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=belly(body), radius=0.12)
    rig = body.thew.rigs[0]
    before = [(s.control, part("saved.slider_groups").values_of(s.sliders)[:4]) for s in rig.samples]
    assert len(before) == 2
    bpy.ops.thew.rig_place(index=0, guide="BONE", bone="Head", along=0.3, distance=0.1)
    rig = body.thew.rigs[0]
    assert (rig.template, rig.guide, rig.bone, len(body.thew.rigs)) == ("BUMP", "BONE", "Head", 1)
    assert [(s.control, part("saved.slider_groups").values_of(s.sliders)[:4]) for s in rig.samples] == before
    assert [s.sliders.along for s in rig.samples] == pytest.approx([0.3, 0.3])


def test_rig_place_in_pose(body, scene):
    """The same point of the flesh is hit in every pose."""
    at = int(np.argmin(np.linalg.norm(world(body) - belly(body), axis=1)))
    faces = []
    for frame in (1, 6, 16):
        scene.frame_set(frame)
        bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=world(body)[at])
        faces.append(at in read(body).rest.triangles[body.thew.rigs[-1].face])
    assert faces == [True] * 3


def test_rig_place_single_undo(body):
    """One undo step takes a placed rig back."""
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.thew.rig_place("EXEC_DEFAULT", True, template="BUMP", guide="SKIN", location=belly(body))
    assert len(bpy.data.objects["Body"].thew.rigs) == 1
    bpy.ops.ed.undo()
    assert len(bpy.data.objects["Body"].thew.rigs) == 0


# refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, said",
    [
        ({"guide": "SKIN", "location": (9.0, 0.0, 0.0)}, "away from the skin"),
        ({"guide": "SKIN", "location": (float("nan"), 0.0, 0.0)}, "not a number"),
        ({"guide": "SKIN", "face": 99999}, "no triangle 99999"),
        ({"guide": "SKIN", "face": 3, "barycentric": (2.0, -1.0, 0.0)}, "add up to 1"),
        ({"guide": "BONE", "bone": "Tail"}, "“Tail”"),
        ({"guide": "BONE", "bone": "Spine", "distance": 50.0}, "outside"),
        ({"guide": "FREE", "matrix": (0.0,) * 16}, "flat or not a number"),
        ({"guide": "FREE"}, "Nothing says where"),
        ({"index": 3, "guide": "SKIN", "face": 3}, "no rigs"),
    ],
)
def test_rig_place_refusals(body, options, said):
    """Impossible placements are refused, and no rig is added."""
    text = refusal(bpy.ops.thew.rig_place, template="BUMP", **options)
    assert said in text and text.endswith((".", ".\n"))
    assert len(body.thew.rigs) == 0


def test_rig_tools_refuse_without_flesh(scene):
    """The tools for rigs refuse a mesh without flesh."""
    _body, _ = make_character()
    for operator in (bpy.ops.thew.rig_place, bpy.ops.thew.rig_pull, bpy.ops.thew.rig_preset):
        assert "has no flesh" in refusal(operator)
    bpy.context.view_layer.objects.active = None
    assert not bpy.ops.thew.rig_place.poll()


@pytest.mark.parametrize(
    "points, said",
    [
        ("", "no point to pull"),
        ("[[1, 2", "not JSON"),
        ("[[1]]", "Point 0"),
        ("[[5000, [0, 0, 0]]]", "vertex 5000"),
        ("[[1, [0, 0]]]", "three numbers"),
        ("[[1, [0, 0, NaN]]]", "three numbers"),
        ('{"a": 1}', "no point to pull"),
    ],
)
def test_rig_pull_refusals(body, points, said):
    """Impossible pulls are refused, and the rig is unchanged."""
    bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=belly(body))
    before = part("operators.pull").rig_state(body.thew.rigs[0])
    assert said in refusal(bpy.ops.thew.rig_pull, points=points)
    assert part("operators.pull").rig_state(body.thew.rigs[0]) == before


def test_rig_pull_needs_active_rig(body):
    """A pull needs an active rig that is switched on."""
    point = json.dumps([[3, belly(body).tolist()]])
    assert "no active rig" in refusal(bpy.ops.thew.rig_pull, points=point)
    bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=belly(body))
    body.thew.rigs[0].enabled = False
    assert "switched off" in refusal(bpy.ops.thew.rig_pull, points=point)


# pulling --------------------------------------------------------------------------------------------------------------


def pull_by(body, vertex: int, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pulls a vertex from its place in the settled flesh; returns (target, where it came to), world."""
    pulling = part("edit.pulling")
    here = pulling.SkinPull(read(body), bpy.context.view_layer).world(vertex)
    target = here + offset
    assert bpy.ops.thew.rig_pull(points=json.dumps([[vertex, target.tolist()]])) == {"FINISHED"}
    bpy.context.view_layer.update()
    return target, world(body)[vertex]


def test_rig_pull_reaches_target(body):
    """A pulled point comes within a fifth of the way to its target by a bump near by."""
    point = belly(body)
    bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=point, radius=0.3)
    vertex = int(np.argmin(np.linalg.norm(world(body) - point, axis=1)))
    size = np.linalg.norm(np.ptp(world(body), axis=0))
    offset = 0.02 * size * np.array([0.3, -1.0, 0.2]) / np.linalg.norm([0.3, -1.0, 0.2])
    target, there = pull_by(body, vertex, offset)
    assert np.linalg.norm(there - target) < 0.2 * np.linalg.norm(offset)
    rig = body.thew.rigs[0]
    sample = part("saved.samples").sample_at(rig, rig.control)
    np.testing.assert_allclose(
        part("saved.slider_groups").values_of(sample.sliders), part("saved.samples").slider_values(rig)
    )
    assert len(rig.samples) == 2 and not rig.draft


def test_rig_pull_shows_equilibrium(body):
    """The shape shown after the pull is the balance with the rig's recorded forces."""
    import thew

    point = belly(body)
    bpy.ops.thew.rig_place(template="RADIAL", guide="BONE", location=point, radius=0.3)
    vertex = int(np.argmin(np.linalg.norm(world(body) - point, axis=1)))
    pull_by(body, vertex, np.array([0.0, -0.03, 0.0]))
    flesh_body, pose, own = native_rig(body, body.thew.rigs[0])
    flesh = flesh_of(body)
    forces = np.asarray(own.forces(flesh_body, body.thew.rigs[0].control))
    q = thew.equilibrium(flesh_body, pose, gravity=flesh.build_settings.simulation.gravity, rest_forces=forces)
    stand = read(body)
    there = stand.world(stand.skin + flesh.rest_offsets(flesh_body.shown(q), stand.maps, stand.mesh))
    assert np.abs(there - world(body)).max() < 1e-4 * np.ptp(there)


def test_rig_pull_fixed_and_weighted(body):
    """A pull keeps a fixed slider unchanged and a weighted one near its value."""
    point = belly(body)
    vertex = int(np.argmin(np.linalg.norm(world(body) - point, axis=1)))
    radii = {}
    for how in ("free", "weighted", "fixed"):
        body.thew.rigs.clear()
        bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=point, radius=0.25)
        rig = body.thew.rigs[0]
        if how == "fixed":
            rig.pull.fixed.radius = True
        if how == "weighted":
            rig.pull.weights.radius, rig.pull.preferred.radius = 1e4, 0.3
        pull_by(body, vertex, np.array([0.02, -0.04, 0.02]))
        radii[how] = body.thew.rigs[0].radius
    assert radii["fixed"] == pytest.approx(0.25, rel=1e-6)
    assert radii["weighted"] == pytest.approx(0.3, abs=1e-3)
    assert np.isfinite(radii["free"])


def test_rig_pull_reports_shortfall(body):
    """A pull that falls short of its target says why."""
    point = belly(body)
    vertex = int(np.argmin(np.linalg.norm(world(body) - point, axis=1)))
    size, pulling = float(np.linalg.norm(np.ptp(world(body), axis=0))), part("edit.pulling")

    def pull_report(rig_of=lambda rig: None, held=(), share=0.5) -> str:
        body.thew.rigs.clear()
        bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=point, radius=0.25)
        rig_of(body.thew.rigs[0])
        pull = pulling.SkinPull(read(body), bpy.context.view_layer)
        points = [*((each, pull.world(each)) for each in held)]
        points.append((vertex, pull.world(vertex) + np.array([0.0, -share * size, 0.0])))
        for _ in range(3):
            pull.pull(points, evaluations=8)
        pull.settle(points)
        return pull.outcome_text(points)

    def fix(rig):
        for name in part("saved.samples").sliders_of(rig):
            setattr(rig.pull.fixed, name, True)

    assert "of the way: " in pull_report()
    assert "fixed under While Pulling" in pull_report(fix)
    assert "of the way" not in pull_report(share=1e-6) or "place it nearer" in pull_report(share=1e-6)


def test_rig_pull_drag_settles(body):
    """A hasty drag ends as near to its target as a pull without haste."""
    point = belly(body)
    bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=point, radius=0.3)
    vertex = int(np.argmin(np.linalg.norm(world(body) - point, axis=1)))
    pulling, operator, found = part("edit.pulling"), part("operators.pull"), []
    before = operator.rig_state(body.thew.rigs[0])
    for hasty in (True, False):
        operator.restore_rig(body.thew.rigs[0], before)
        pull = pulling.SkinPull(read(body), bpy.context.view_layer)
        points = [(vertex, pull.world(vertex) + np.array([0.01, -0.04, 0.01]))]
        pull.pull(points, evaluations=2 if hasty else None)
        pull.settle(points)
        found.append(float(np.linalg.norm(pull.world(vertex) - points[0][1])))
    assert found[0] <= 1.05 * found[1] + 1e-4


def test_rig_pull_single_undo(body):
    """One undo step takes a pull back."""
    point = belly(body)
    bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=point)
    saved = part("operators.pull").rig_state
    before = saved(body.thew.rigs[0])
    bpy.ops.ed.undo_push(message="before")
    points = json.dumps([[3, (world(body)[3] + (0.0, 0.0, 0.02)).tolist()]])
    bpy.ops.thew.rig_pull("EXEC_DEFAULT", True, points=points)
    assert saved(bpy.data.objects["Body"].thew.rigs[0]) != before
    bpy.ops.ed.undo()
    assert saved(bpy.data.objects["Body"].thew.rigs[0]) == before


# what is drawn --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [1, 6, 16])
def test_rig_overlay_size(body, scene, frame):
    """Rigs are drawn at their size, in the colour of their state."""
    for template in TEMPLATES:
        bpy.ops.thew.rig_place(template=template, guide="BONE", location=belly(body))
    scene.frame_set(frame)
    overlay, depsgraph = part("ui.rig_overlay"), bpy.context.view_layer.depsgraph
    drawings = overlay.drawings(body, depsgraph)
    assert len(drawings) == 8
    stand = read(body)
    skin = skinned_shape(stand.flesh, stand.maps, stand.mesh)
    for rig, (lines, colour, _), (hanging, _, _) in zip(body.thew.rigs, drawings[::2], drawings[1::2], strict=True):
        assert np.isfinite(lines).all() and np.isfinite(hanging).all()
        corners = lines.reshape(-1, 3)
        middle = hanging[0, 0]
        assert np.linalg.norm(corners - middle, axis=1).max() == pytest.approx(reach(rig), rel=1e-3)
        assert colour == (overlay.ACTIVE_COLOUR if rig == body.thew.rigs[-1] else overlay.OTHER_COLOUR)
        # The middle was put on the skin, and rides on the skinned shape, around which the flesh swings.
        assert part("logic.picking").Picker(skin, stand.rest.triangles).nearest(middle).distance < 0.02
    bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=belly(body))
    middle = overlay.drawings(body, depsgraph)[-1][0][0, 0]
    assert read(body).displayed.nearest(middle).distance < 1e-5  # one in the skin rides on what is shown
    body.thew.rigs[0].enabled = False
    body.thew.rigs[1].problem = "gone"
    drawings = overlay.drawings(body, depsgraph)
    assert drawings[0][1] == overlay.OFF_COLOUR and drawings[2][1] == overlay.PROBLEM_COLOUR


# presets --------------------------------------------------------------------------------------------------------------


def controls(obj, frames) -> np.ndarray:
    """Returns the controls of all rigs at frames, [f, r]."""
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        found.append(part("scene.rig_controls").evaluated_controls(obj, bpy.context.view_layer.depsgraph))
    return np.array(found)


@in_one_blender
def test_rig_presets_on_biped(scene):
    """The presets on our biped move their controls as they should."""
    from assets import characters as own

    armature, body = own.create("biped")
    own.use_action(armature, "walk")
    activate(body)
    scene.frame_start, scene.frame_end = 1, 97
    bpy.ops.thew.add(cells_across=10)
    assert bpy.ops.thew.rig_preset(preset="BREATH") == {"FINISHED"}
    assert bpy.ops.thew.rig_preset(preset="BICEPS") == {"FINISHED"}
    assert bpy.ops.thew.rig_preset(preset="THROAT") == {"FINISHED"}
    rigs = body.thew.rigs
    assert [(rig.name, rig.bone) for rig in rigs] == [
        ("Breath", "chest"), ("Biceps L", "upperarm.L"), ("Biceps R", "upperarm.R"), ("Swallow", "neck"),
    ]  # fmt: skip
    frames = range(1, 98, 4)
    moved = controls(body, frames)
    assert np.ptp(moved[:, 0]) > 0.8 and abs(moved[0, 0] - moved[-1, 0]) < 1e-3  # a breath, and no seam
    assert controls(body, [1 + 2 * 96])[0, 0] == pytest.approx(moved[0, 0], abs=1e-3)  # for ever
    assert moved[0, 3] == 0.0 and moved[-1, 3] == 1.0
    assert (np.diff(moved[:, 3]) >= 0.0).all()


@in_one_blender
def test_biceps_preset_follows_elbow(scene):
    """The biceps preset bulges as the elbow bends."""
    from assets import characters as own

    armature, body = own.create("biped")
    activate(body)
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    bpy.ops.thew.add(cells_across=10)
    bpy.ops.thew.rig_preset(preset="BICEPS")
    bone = armature.pose.bones["forearm.L"]
    bone.rotation_mode = "XYZ"
    strengths = []
    for angle in (0.0, 0.6, 1.2, 1.92):
        bone.rotation_euler = (angle, 0.0, 0.0)
        bpy.context.view_layer.update()
        left, right = part("scene.rig_controls").evaluated_controls(body, bpy.context.view_layer.depsgraph)
        assert right == pytest.approx(0.0, abs=1e-3)
        strengths.append(left)
    assert strengths[0] == pytest.approx(0.0, abs=1e-3) and strengths[-1] == pytest.approx(1.0, abs=0.05)
    assert (np.diff(strengths) > 0.1).all()
    rig = body.thew.rigs[0]
    rig.control = 1.0
    assert skin_movement(body, rig).max() > 1e-3


def test_rig_preset_uses_active_bone(body):
    """A preset takes the active bone, or says which bone to select."""
    armature = part("scene.reading").armature_of(body)
    armature.data.bones.active = None
    for rig, bone in (("BICEPS", "Spine"), ("THROAT", "Head")):
        text = refusal(bpy.ops.thew.rig_preset, preset=rig)
        assert "select that bone" in text and len(body.thew.rigs) == 0
        assert bpy.ops.thew.rig_preset(preset=rig, bone=bone) == {"FINISHED"}
        assert body.thew.rigs[-1].bone == bone
        body.thew.rigs.clear()
    armature.data.bones.active = armature.data.bones["Head"]
    chosen = armature.pose.bones["Head"]
    (chosen if hasattr(chosen, "select") else chosen.bone).select = True
    assert bpy.ops.thew.rig_preset(preset="THROAT") == {"FINISHED"}
    assert body.thew.rigs[0].bone == "Head"


def test_rig_preset_failure(body):
    """A preset that fails, as no bone below the head could bend, adds no rig."""
    assert "No bone hangs on “Head”" in refusal(bpy.ops.thew.rig_preset, preset="BICEPS", bone="Head")
    assert len(body.thew.rigs) == 0


# real characters ------------------------------------------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("file", CHARACTERS)
def test_rig_place_on_real_character(addon, file):
    """Every template can be placed by every guide on a real character."""
    load(FOLDER / file)
    obj = meshes()[0]
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 8
    scene.frame_set(3)
    add(obj)
    stand = read(obj)
    for point, (template, guide) in zip(
        thick_places(stand, 12), [(t, g) for t in TEMPLATES for g in GUIDES], strict=True
    ):
        assert bpy.ops.thew.rig_place(template=template, guide=guide, location=point) == {"FINISHED"}
        rig = obj.thew.rigs[-1]
        flesh_body, _, own = native_rig(obj, rig)
        middle = np.asarray(own.frame(flesh_body))[:3, 3]
        rest = stand.rest_point(stand.skin_at(point))
        assert np.linalg.norm(middle - rest) < 1e-4 * stand.size, (template, guide)
        moved = skin_movement(obj, rig)
        assert np.isfinite(moved).all() and moved.max() > 1e-4 * stand.size
    assert len(obj.thew.rigs) == 12
    for lines, _, _ in part("ui.rig_overlay").drawings(obj, bpy.context.view_layer.depsgraph):
        assert np.isfinite(lines).all()
    scene.frame_set(5)
    assert np.isfinite(world(obj)).all()


@needs_data
@pytest.mark.parametrize("file", CHARACTERS)
def test_rig_pull_on_real_character(addon, file):
    """A vertex of a real character pulled out by 2 % of its size gets there within a fifth of that."""
    load(FOLDER / file)
    obj = meshes()[0]
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 4
    add(obj)
    stand = read(obj)
    for point in thick_places(stand, 3):
        bpy.ops.thew.rig_place(template="BUMP", guide="SKIN", location=point)
        hit = stand.skin_at(point)
        vertex = hit.vertex(stand.rest.triangles)
        offset = 0.02 * stand.size / stand.flesh.place.metres_per_unit * stand.displayed.normal(hit.face)
        target, there = pull_by(obj, vertex, offset)
        assert np.linalg.norm(there - target) < 0.2 * np.linalg.norm(offset)
        obj.thew.rigs[-1].enabled = False


@in_one_blender
@needs_data
@pytest.mark.parametrize(
    "file, mesh, expected",
    [
        ("mh_male_heavy.glb", "", {"BREATH": ["Spine1"], "BICEPS": ["LeftArm", "RightArm"], "THROAT": ["Neck"]}),
        ("sintel_m2m.glb", "", {"BREATH": ["spine_03"], "BICEPS": ["upperarm_l", "upperarm_r"], "THROAT": ["neck_01"]}),
        ("kaykit_manny.glb", "Mannequin_Medium_Body", {"BREATH": ["chest"], "THROAT": None}),
        ("kaykit_manny.glb", "Mannequin_Medium_ArmLeft", {"BICEPS": ["upperarm.l"], "BREATH": None}),
    ],
)
def test_rig_presets_on_real_characters(addon, file, mesh, expected):
    """The presets find their bones on real characters, or are refused where there are none."""
    load(FOLDER / file)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 6
    obj = bpy.data.objects[mesh] if mesh else meshes()[0]
    for other in meshes():
        if other != obj:  # which one press would flesh as well
            bpy.data.objects.remove(other)
    bpy.context.view_layer.update()
    add(obj)
    for preset, bones in expected.items():
        before = len(obj.thew.rigs)
        if bones is None:
            assert "is named like the" in refusal(bpy.ops.thew.rig_preset, preset=preset)
            continue
        assert bpy.ops.thew.rig_preset(preset=preset) == {"FINISHED"}
        assert [rig.bone for rig in obj.thew.rigs[before:]] == bones
        for rig in obj.thew.rigs[before:]:
            assert rig.strength == 0.0  # its first sample
    for frame in (1, 3, 6):
        scene.frame_set(frame)
        assert np.isfinite(world(obj)).all()
    assert not any(rig.problem for rig in obj.thew.rigs)
