# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input: one sentence that names the object, and the scene as it was."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, animate, make_armature, make_body, part, play, refusal, size_of, snapshot


def assert_refused_unchanged(obj, *words: str, operator=None, **options) -> str:
    """Checks that adding flesh to `obj` is refused with a message that has all the words, and that nothing changes."""
    activate(obj)
    before = snapshot(obj) if obj.type == "MESH" else None
    text = refusal(operator or bpy.ops.thew.add, **options)
    assert obj.name in text, text
    for word in words:
        assert word in text, text
    assert "\n" not in text and text.endswith(".")
    if before is not None:
        assert snapshot(obj) == before
    return text


def test_add_refuses_mesh_without_armature(scene):
    """A mesh without an armature is refused with the way to give it one."""
    body = make_body(None)
    assert_refused_unchanged(body, "“Armature”", "no armature", "choose one")
    body.modifiers.clear()
    assert_refused_unchanged(body, "Armature modifier", "parent it")


def test_add_refuses_armature_without_bones(scene):
    """An armature without bones is refused."""
    rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    scene.collection.objects.link(rig)
    assert_refused_unchanged(make_body(rig), "no bones")


def test_add_refuses_no_vertex_groups(character):
    """A mesh without vertex groups is refused."""
    body, _ = character
    body.vertex_groups.clear()
    assert_refused_unchanged(body, "no vertex groups", "paint")


def test_add_refuses_groups_without_bones(character):
    """A mesh whose vertex groups belong to no bone is refused."""
    body, _ = character
    for group in body.vertex_groups:
        group.name = "x" + group.name
    assert_refused_unchanged(body, "vertex group", "bone")


def test_add_refuses_non_deforming_bones(character):
    """A mesh whose groups belong only to bones that do not deform is refused."""
    body, rig = character
    for bone in rig.data.bones:
        bone.use_deform = False
    assert_refused_unchanged(body, "deforming bone")


def test_add_refuses_empty_groups(character):
    """A mesh whose vertex groups hold no weight is refused."""
    body, _ = character
    for group in body.vertex_groups:
        group.remove(range(len(body.data.vertices)))
    assert_refused_unchanged(body, "weight", "paint")


def test_add_refuses_empty_mesh(character):
    """A mesh without vertices is refused."""
    body, _ = character
    body.data.clear_geometry()
    assert_refused_unchanged(body, "no vertices")


def test_add_refuses_mesh_without_faces(character):
    """A mesh without faces is refused."""
    body, _ = character
    body.data.clear_geometry()
    body.data.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1)], [])
    assert_refused_unchanged(body, "no faces")


def test_add_refuses_mesh_in_point(character):
    """A mesh whose vertices all lie in one point is refused."""
    body, _ = character
    body.data.vertices.foreach_set("co", np.zeros(3 * len(body.data.vertices), np.float32))
    assert_refused_unchanged(body, "no size")


def test_add_refuses_bad_coordinates(character):
    """Coordinates that are not numbers or far too large are refused by their vertex."""
    body, _ = character
    flat = np.empty(3 * len(body.data.vertices), np.float32)
    positions = body.data.attributes["position"].data
    positions.foreach_get("vector", flat)
    for value, words in ((np.nan, "not a number"), (np.inf, "not a number"), (1e30, "1e+30 units away")):
        flat[3 * 17 + 1] = value
        positions.foreach_set("vector", flat)
        assert_refused_unchanged(body, "17", words)


def test_add_refuses_edit_mode(character):
    """A mesh in edit mode is refused with the key that leaves it."""
    body, _ = character
    activate(body)
    bpy.ops.object.mode_set(mode="EDIT")
    text = refusal(bpy.ops.thew.add)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert "“Body” is in edit mode" in text and "Tab" in text


def test_edited_armature_is_refused(fleshed_character):
    """A character stands still while its armature is edited: nothing of it is added, simulated or baked."""
    body, rig = fleshed_character
    moving = play(body, range(1, 21))
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    for operator in (bpy.ops.thew.add, bpy.ops.thew.simulate, bpy.ops.thew.bake):
        with pytest.raises(RuntimeError, match="“Rig” is in edit mode, where no bone moves: press Tab"):
            operator()
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.thew.bake()
    np.testing.assert_allclose(play(body, range(1, 21)), moving, atol=1e-5)


def test_add_refuses_armature_alone(character):
    """An armature that moves no mesh is refused, with the mesh that was meant: one switched off, one that is only its child, or none."""
    body, rig = character
    body.modifiers[0].show_viewport = False
    assert "“Body” is switched off: switch it on" in assert_refused_unchanged(rig)
    body.modifiers.clear()  # an armature stands for the meshes that it moves
    body.parent = rig
    assert "“Body” is parented to “Rig”, but no bone deforms it: parent it again" in assert_refused_unchanged(rig)
    body.parent_type = "ARMATURE"
    assert "“Body” is deformed by its parent without a modifier" in assert_refused_unchanged(rig)
    bpy.data.objects.remove(body)
    bpy.context.view_layer.update()
    assert "The armature “Rig” moves no mesh: press Ctrl+Z if its mesh was deleted" in assert_refused_unchanged(rig)


def test_add_refuses_shared_mesh(character):
    """A mesh that several objects share is refused."""
    body, _ = character
    twin = body.copy()
    bpy.context.scene.collection.objects.link(twin)
    assert_refused_unchanged(body, twin.name, "single user")


def test_add_refuses_object_outside_layer(scene, character):
    """An armature outside the view layer is refused."""
    _, rig = character
    scene.collection.objects.unlink(rig)
    assert_refused_unchanged(character[0], "Rig", "view layer")


def test_add_refuses_generating_modifiers(character):
    """Modifiers before the Armature modifier that make vertices are refused with what to do."""
    body, _ = character
    for kind in ("MIRROR", "SUBSURF", "ARRAY", "TRIANGULATE"):
        modifier = body.modifiers.new("Culprit", kind)
        body.modifiers.move(1, 0)
        said = refusal(bpy.ops.thew.add)
        assert "Culprit" in said and "apply it" in said
        # Only where that leaves the skin where it was.
        assert ("below the Armature" in said) == (kind in {"SUBSURF", "TRIANGULATE"})
        body.modifiers.remove(modifier)


#: Modifiers that make vertices, with settings that make them do something to a tube.
GENERATING = {
    "MIRROR": {"use_mirror_merge": False, "use_clip": False}, "ARRAY": {"count": 2}, "SOLIDIFY": {"thickness": 0.02},
    "BEVEL": {"width": 0.01}, "WELD": {"merge_threshold": 1e-4}, "DECIMATE": {"ratio": 0.5}, "SUBSURF": {"levels": 1},
    "TRIANGULATE": {}, "EDGE_SPLIT": {},
}  # fmt: skip


@pytest.mark.parametrize("kind", GENERATING)
def test_generating_modifier_advice(character, kind):
    """What the refusal of a modifier advises leaves the plain skin where it was: applied, or moved only where that does no harm."""
    body, rig = character
    for vertex in body.data.vertices:  # half a body: a Mirror makes the other half
        vertex.co.x = max(vertex.co.x, 0.0)
    rig.pose.bones["Spine"].rotation_euler.z = 0.6
    rig.pose.bones["Spine"].keyframe_insert("rotation_euler", frame=5)
    modifier = body.modifiers.new("Culprit", kind)
    for name, value in GENERATING[kind].items():
        setattr(modifier, name, value)
    body.modifiers.move(1, 0)
    before = [play(body, (frame,))[0] for frame in (1, 5, 9)]
    said = refusal(bpy.ops.thew.add)
    if "below the Armature" in said:
        body.modifiers.move(0, 1)
        for frame, shape in zip((1, 5, 9), before, strict=True):
            (moved,) = play(body, (frame,))  # of other vertices where edges are split by their angle
            away = np.linalg.norm(shape[:, None] - moved[None], axis=2).min(axis=1).max()
            assert away < 0.02 * size_of(shape), said
        body.modifiers.move(1, 0)
    bpy.ops.object.modifier_apply(modifier="Culprit")
    np.testing.assert_allclose(play(body, (1, 5, 9)), before, atol=1e-6)


def test_mirror_below_harms(character):
    """A Mirror moved below the Armature modifier mirrors the posed skin: the refusal does not advise it."""
    body, rig = character
    rig.pose.bones["Spine"].rotation_euler.z = 0.6
    rig.pose.bones["Spine"].keyframe_insert("rotation_euler", frame=5)
    body.modifiers.new("Mirror", "MIRROR").use_mirror_merge = False
    body.modifiers.move(1, 0)
    before = play(body, (5,))
    assert "below" not in refusal(bpy.ops.thew.add)
    body.modifiers.move(0, 1)
    assert np.linalg.norm(play(body, (5,)) - before, axis=2).max() > 0.1 * size_of(before[0])


def test_add_refuses_disabled_armature(character):
    """An Armature modifier that is switched off is refused, and one press switches it on."""
    body, _ = character
    armature = body.modifiers["Armature"]
    armature.show_viewport = armature.show_render = False
    assert_refused_unchanged(body, "“Armature”", "“Body”", "switched off", "switch it on")
    assert bpy.ops.thew.switch_on_armature() == {"FINISHED"}
    assert armature.show_viewport and armature.show_render
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert "no Armature modifier that is switched off" in refusal(bpy.ops.thew.switch_on_armature)


def test_switch_on_armature_refuses_empty(character):
    """An Armature modifier without an armature cannot be switched on: the sentence says what it needs."""
    body, _ = character
    body.modifiers["Armature"].object = None
    assert "choose one in the modifier" in refusal(bpy.ops.thew.switch_on_armature)


def test_add_refuses_absolute_keys(character):
    """Absolute shape keys are refused."""
    body, _ = character
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="A")
    body.data.shape_keys.use_relative = False
    assert_refused_unchanged(body, "absolute", "Relative")


def test_add_refuses_armature_parent(character):
    """An armature that deforms the mesh as its parent is refused."""
    body, rig = character
    body.modifiers.clear()
    body.parent, body.parent_type = rig, "ARMATURE"
    assert_refused_unchanged(body, "parent", "Armature modifier")


def test_add_refuses_zero_scale(scene, character):
    """An object scaled to zero is refused."""
    body, _rig = character
    body.scale.x = 0.0
    bpy.context.view_layer.update()
    assert_refused_unchanged(body, "scaled to zero")


def test_simulate_refuses_zero_scale(scene, character):
    """Flesh that is scaled to zero within the clip is refused with the frame."""
    body, _ = character
    bpy.ops.thew.add(cells_across=6)
    for frame, scale in ((1, 1.0), (5, 0.0), (9, 1.0)):
        body.scale = (scale,) * 3
        body.keyframe_insert("scale", frame=frame)
    assert_refused_unchanged(body, "zero", "frame 5", operator=bpy.ops.thew.simulate)
    assert np.isfinite(play(body, (2, 7))).all()


def test_simulate_refuses_nan_pose(scene, character):
    """A pose that is not a number is refused by its bone, and the mesh stays finite."""
    body, rig = character
    bpy.ops.thew.add(cells_across=6)
    for curve in part("scene.animation").curves_in(rig.animation_data):
        if "Spine" in curve.data_path:
            curve.keyframe_points[3].co.y = float("nan")
    text = refusal(bpy.ops.thew.simulate)
    assert "Spine" in text and "not a number" in text
    assert np.isfinite(np.array([v.co for v in body.data.vertices])).all()


def test_operators_refuse_empty_range(scene, character):
    """Simulate and Bake refuse an empty frame range."""
    body, _ = character
    bpy.ops.thew.add(cells_across=6)
    assert_refused_unchanged(body, "20 to 3", "empty", operator=bpy.ops.thew.bake, frame_start=20, frame_end=3)
    assert_refused_unchanged(body, "20 to 3", "empty", operator=bpy.ops.thew.simulate, frame_start=20, frame_end=3)


def test_operators_refuse_without_flesh(character):
    """Operators that need flesh refuse a mesh without it."""
    body, _ = character
    for operator in (bpy.ops.thew.simulate, bpy.ops.thew.bake, bpy.ops.thew.show_live):
        assert_refused_unchanged(body, "no flesh", "Add Flesh", operator=operator)
    assert_refused_unchanged(body, "nothing to remove", operator=bpy.ops.thew.remove)


def test_bake_refuses_deleted_modifier(character):
    """Bake refuses flesh whose modifier was deleted, and Remove still works."""
    body, _ = character
    bpy.ops.thew.add(cells_across=6)
    body.modifiers.remove(body.modifiers["Thew"])
    assert_refused_unchanged(body, "modifier is gone", operator=bpy.ops.thew.bake)
    assert np.isfinite(play(body, (2, 7))).all()
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert [(m.type, m.show_viewport) for m in body.modifiers] == [("ARMATURE", True)]


def test_simulate_refuses_deleted_armature(character):
    """Simulate refuses flesh whose Armature modifier was deleted, and Remove still works."""
    body, _ = character
    bpy.ops.thew.add(cells_across=6)
    body.modifiers.remove(body.modifiers["Armature"])
    assert_refused_unchanged(body, "Armature modifier", operator=bpy.ops.thew.simulate)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert len(body.modifiers) == 0


def test_bake_refuses_pinned_key(character):
    """Bake refuses a pinned shape key."""
    body, _ = character
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="A")
    bpy.ops.thew.add(cells_across=6)
    body.show_only_shape_key = True
    assert_refused_unchanged(body, "pinned", operator=bpy.ops.thew.bake)


def test_add_refuses_linked_mesh(scene, character, tmp_path):
    """A linked mesh is refused with what to do; its override has flesh."""
    body, _ = character
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    with bpy.data.libraries.load(path, link=True) as (source, wanted):
        wanted.objects = source.objects
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    body = bpy.data.objects["Body"]
    activate(body)
    text = refusal(bpy.ops.thew.add)
    assert "“Body” is linked from “library.blend”" in text and "Make Override" in text
    override = body.override_create()
    bpy.context.scene.collection.objects.link(override)
    activate(override)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}


def test_edited_mesh_rebuilt(character):
    """The flesh of an edited mesh is rebuilt after edit mode."""
    body, _ = character
    bpy.ops.thew.add(cells_across=6)
    play(body, (2, 7))
    activate(body)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide()
    bpy.context.scene.frame_set(3)  # the handler keeps its hands off edit mode
    bpy.ops.object.mode_set(mode="OBJECT")
    shapes = play(body, (2, 7))
    assert shapes.shape[1] == len(body.data.vertices) > 130
    assert np.isfinite(shapes).all() and np.abs(shapes[0] - shapes[1]).max() > 1e-3


@pytest.mark.usefixtures("unshared")
@pytest.mark.parametrize(
    ("job", "when"),
    [(job, when) for job in ("add", "simulate", "bake") for when in (0.0, 0.05, 0.3, 0.7)] + [("bake", 0.9)],
)
def test_job_cancel_changes_nothing(scene, character, job, when):
    """A job that is cancelled at any moment changes nothing."""
    body, rig = character
    jobs, tasks, errors = part("live.jobs"), part("logic.tasks"), part("logic.errors")
    register = part("live.session").register
    if job == "bake":
        body.shape_key_add(name="Basis")
        body.shape_key_add(name="Bulge", from_mix=False).value = 0.5
    if job != "add":
        bpy.ops.thew.add(cells_across=6)
        play(body, (2, 7))
    scene.frame_set(4)
    animate(rig, bend=0.2)
    body.thew.cells_across, body.thew.softness = 7, 0.2
    before = snapshot(body)
    known = register.known_state(body)
    clip = known.clip if known else None
    reached = []

    def progress(fraction, text):
        reached.append(fraction)
        return fraction < when

    with pytest.raises(errors.Cancelled):
        task = part("bake.baking").bake if job == "bake" else getattr(jobs, job)
        tasks.finish(task(body, scene, bpy.context.view_layer), progress)
    assert reached[-1] >= when and all(f < when for f in reached[:-1])
    assert snapshot(body) == before
    assert part("scene.poses").silence_depth == 0
    known = register.known_state(body)
    assert (known.clip if known else None) is clip or (job == "bake" and when > 0.6)  # by then it is simulated


@pytest.mark.usefixtures("unshared")
def test_add_progress_monotonic(scene, character):
    """The progress of Add Flesh never falls."""
    body, _ = character
    jobs, tasks = part("live.jobs"), part("logic.tasks")
    fractions = []
    tasks.finish(
        jobs.add(body, scene, bpy.context.view_layer), lambda fraction, _text: fractions.append(fraction) or True
    )
    assert len(fractions) > 5 and fractions == sorted(fractions) and fractions[0] >= 0.0 and fractions[-1] <= 1.0


@pytest.mark.usefixtures("unshared")
def test_add_reports_native_failure(scene, character, monkeypatch):
    """A failure of the native code gives a message, and nothing changes."""
    body, _ = character
    native = part("logic.native")

    class BrokenCore:
        def __getattr__(self, name):
            if name == "ThewError":
                return native.thew.ThewError
            raise ZeroDivisionError("a bug")

    monkeypatch.setattr(part("live.building"), "core", BrokenCore)
    text = assert_refused_unchanged(body, "unforeseen", "nothing was changed")
    assert "a bug" in text


def test_armature_alone_untouched(scene):
    """An armature without a mesh gets no flesh when the frame changes."""
    rig = make_armature()
    assert not rig.thew.made.flesh
    scene.frame_set(5)


@pytest.mark.parametrize("mesh", ["Anna", "Bert"])
def test_simulate_refuses_modifier_removed_meanwhile(scene, mesh):
    """An Armature modifier may be removed while the meshes before are read: its mesh is named, and no freed modifier is read."""
    from pairs import make_pair

    each = {body.name: body for body in make_pair()}
    reading, obj = part("scene.reading"), each[mesh]
    found = reading.subject(obj, bpy.context.view_layer)
    assert found.modifier == obj.modifiers["Armature"] and found.modifiers_before() == []
    task = part("live.jobs").simulate(each["Anna"], scene, bpy.context.view_layer)
    if mesh == "Bert":
        assert next(task).text == "Reading the meshes"  # Anna's mesh has been read, Bert's has not
    obj.modifiers.remove(obj.modifiers["Armature"])
    with pytest.raises(part("logic.errors").Refusal, match=f"“{mesh}” followed is gone"):
        part("logic.tasks").finish(task)
    with pytest.raises(part("logic.errors").Refusal, match="is gone"):
        found.modifiers_before()
