# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests shots with several overrides: copies, deletion, scenes, view layers, renders, riders, contact."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, animate, flesh_of, make_character, part, play, size_of
from linking import digest, holders, local, open_shot, override, reopen, write_library
from pairs import APART, make_neighbour, room
from test_renders import Probe
from test_riders import ball, shirt_of

FRAMES = (1, 5, 9, 14)


@pytest.fixture
def shot(scene, tmp_path):
    """Opens a shot and returns its library, whose file must be as it was at the end."""
    path = write_library(tmp_path / "library.blend")
    known = digest(path)
    open_shot(tmp_path / "shot.blend")
    yield path
    assert digest(path) == known


@pytest.fixture
def body(shot):
    """Returns the mesh of an override with flesh."""
    mesh, _ = override(shot)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return mesh


def flesh(obj) -> np.ndarray:
    """Returns the offsets in view of an object at the frames, [f, n, 3]."""
    found = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        offsets, of = part("scene.offsets").written(obj)
        assert of == frame
        found.append(offsets)
    return np.array(found)


# several of one library -------------------------------------------------------------------------------------------------


def test_two_overrides_differ(shot, body):
    """Two overrides of one character have settings, motion and flesh of their own, also after a reload."""
    other, armature = override(shot)
    other.thew.softness = 0.9
    armature.override_library.is_system_override = False  # as an animator has it
    animate(armature, hop=0.15, bend=-0.3)
    activate(other)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert body.data == other.data and body.data.library is not None
    first, second = flesh(body), flesh(other)
    assert np.abs(first - second).max() > 1e-3 and np.abs(first).max() > 1e-3
    bodies = reopen(body.name, other.name)
    assert [round(each.thew.softness, 6) for each in bodies] == [0.5, 0.9] and len(holders()) == 2
    for each, known in zip(bodies, (first, second), strict=True):
        np.testing.assert_allclose(flesh(each), known, atol=1e-6)


@pytest.mark.parametrize("linked", [False, True])
def test_override_duplicated(body, linked):
    """A duplicate of an override, with Alt+D too, has a holder, settings and flesh of its own."""
    known = flesh(body)
    activate(body)
    assert bpy.ops.object.duplicate(linked=linked) == {"FINISHED"}
    twin = bpy.context.object
    assert twin != body and twin.data == body.data
    twin.thew.softness = 0.9
    softer = flesh(twin)
    np.testing.assert_array_equal(flesh(body), known)
    assert np.abs(softer - known).max() > 1e-3 and len(holders()) == 2
    bodies = reopen(body.name, twin.name)
    for each, of in zip(bodies, (known, softer), strict=True):
        np.testing.assert_allclose(flesh(each), of, atol=1e-6)


def test_override_duplicate_shown_after_save(body):
    """A save between a duplication and the next frame leaves both as they were seen."""
    known = flesh(body)
    activate(body)
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    offsets = part("scene.offsets")
    twins = body, bpy.context.object
    before = [offsets.written(each) for each in twins]
    assert all(each is not None for each in before) and np.abs(known).max() > 1e-3
    bpy.ops.wm.save_mainfile()
    for each, (seen, _) in zip(twins, before, strict=True):
        np.testing.assert_array_equal(offsets.written(each)[0], seen)
        assert np.abs(seen).max() > 1e-4


def test_local_linked_duplicate_noted(character):
    """Alt+D of a local character still asks for a mesh of its own."""
    mesh, _ = character
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    activate(mesh)
    assert bpy.ops.object.duplicate(linked=True) == {"FINISHED"}
    twin = bpy.context.object
    play(mesh, FRAMES)
    assert "make it single user first" in twin.thew.made.notes
    assert bpy.ops.object.make_single_user(object=True, obdata=True) == {"FINISHED"}
    twin = bpy.context.object
    activate(twin)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(flesh(twin), flesh(mesh))


def test_override_deleted(body):
    """The holder of a deleted override goes with it."""
    flesh(body)
    assert len(holders()) == 1
    bpy.data.objects.remove(body)
    bpy.context.scene.frame_set(3)
    bpy.ops.wm.save_mainfile()
    assert not holders()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    assert not holders() and not [mesh for mesh in bpy.data.meshes if mesh.name.startswith("Thew")]


def test_override_renamed(body):
    """A renamed override and renamed modifiers of it keep their flesh."""
    known = flesh(body)
    body.name = "Hero"
    body.modifiers["Thew"].name = "Fleisch"
    np.testing.assert_array_equal(flesh(body), known)
    (body,) = reopen("Hero")
    np.testing.assert_allclose(flesh(body), known, atol=1e-6)
    assert body.modifiers["Fleisch"].persistent_uid == body.thew.made.modifier


# scenes, view layers, renders -------------------------------------------------------------------------------------------


def test_override_in_two_scenes(body):
    """A character that two scenes share has its flesh in each, at the frame of each."""
    known = flesh(body)
    scene = bpy.context.scene
    second = bpy.data.scenes.new("Second")
    second.render.fps, second.frame_start, second.frame_end = 24, 1, 20
    second.collection.children.link(scene.collection.children[0])
    bpy.context.window.scene = second
    np.testing.assert_allclose(flesh(body), known, atol=1e-6)
    bpy.context.window.scene = scene
    np.testing.assert_allclose(flesh(body), known, atol=1e-6)


def test_override_in_view_layers(body):
    """Every view layer with the character shows its flesh."""
    scene = bpy.context.scene
    scene.view_layers.new("Second")
    scene.frame_set(9)
    shown = []
    for layer in scene.view_layers:
        layer.update()
        mesh = body.evaluated_get(layer.depsgraph).data
        flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        mesh.attributes["position"].data.foreach_get("vector", flat)
        shown.append(flat)
    np.testing.assert_array_equal(shown[0], shown[1])
    assert np.abs(shown[0].reshape(-1, 3) - flesh_of(body).offsets(9) - shown[1].reshape(-1, 3)).max() > 1e-3


def test_override_rendered(body, tmp_path):
    """Rendered frames show what was played, also right after the file was opened."""
    bpy.utils.register_class(Probe)
    try:
        for _ in range(2):
            scene = bpy.context.scene
            played = play(body, range(3, 8))
            if scene.camera is None:
                scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
                scene.collection.objects.link(scene.camera)
            scene.render.engine, scene.render.filepath = Probe.bl_idname, str(tmp_path / "frame-")
            scene.render.resolution_x = scene.render.resolution_y = 8
            scene.frame_start, scene.frame_end = 3, 7
            body.thew.use_scene_range, body.thew.frame_start, body.thew.frame_end = False, 1, 20
            Probe.seen.clear()
            bpy.ops.render.render(animation=True)
            np.testing.assert_allclose([shape for _, _, shape in Probe.seen], played, atol=1e-6)
            (body,) = reopen("Body")
    finally:
        bpy.utils.unregister_class(Probe)


# riders and contact -------------------------------------------------------------------------------------------------------


def test_override_with_riders(scene, tmp_path):
    """Add Flesh takes a whole overridden character: a shirt and an eye ride as they do on a local one, also after a reload."""

    def dress():
        mesh, armature = make_character()
        mesh.thew.softness = 0.8
        shirt, eye = (
            shirt_of(mesh, lambda p: 0.4 < p.z < 1.2, 0.02),
            ball("Eye", armature, "Head", (0.0, -0.19, 1.6), 0.03),
        )
        eye.modifiers.new("Smooth", "SUBSURF").levels = 1
        return mesh, armature, shirt, eye

    def shapes() -> list:
        return [play(local(name), FRAMES) for name in ("Body", "Shirt", "Eye")]

    library = write_library(tmp_path / "dressed.blend", dress)
    bpy.ops.wm.open_mainfile(filepath=str(library))
    activate(local("Body"))
    plain = shapes()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    known = shapes()
    assert all(np.abs(shown - skin).max() > 5e-4 for shown, skin in zip(known, plain, strict=True))
    open_shot(tmp_path / "shot.blend")
    mesh, _ = override(library)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert not mesh.thew.made.left, mesh.thew.made.left
    assert [local(name).thew.made.rides for name in ("Shirt", "Eye")] == [True, True]
    for _ in range(2):
        for shown, expected in zip(shapes()[:2], known[:2], strict=True):
            np.testing.assert_allclose(shown, expected, atol=2e-6)
        # The eye's own modifier smooths behind the flesh here, and before it there.
        np.testing.assert_allclose(shapes()[2], known[2], atol=0.05 * np.abs(known[2] - plain[2]).max())
        reopen()
    mesh = local("Body")
    activate(mesh)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    for shown, skin in zip(shapes(), plain, strict=True):
        np.testing.assert_allclose(shown, skin, atol=1e-6)
    assert not holders()


def test_overrides_touch(scene, tmp_path):
    """Two overridden characters are simulated together and part."""
    library = write_library(tmp_path / "one.blend", lambda: (make_neighbour("Anna", 0.0, flesh=False), None))
    open_shot(tmp_path / "shot.blend")
    bpy.context.scene.frame_end = 12
    pair = []
    for x in (0.0, APART):
        mesh, armature = override(library)
        mesh.location.x = armature.location.x = x
        bpy.context.view_layer.update()
        activate(mesh)
        assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
        pair.append(mesh)
    assert room(*pair) > -0.005
    pair = reopen(*(mesh.name for mesh in pair))
    assert room(*pair) > -0.005
    for mesh in pair:
        mesh.thew.use_other_flesh = False
    assert room(*pair) < -0.06


def test_command_bakes_override(shot, body, capsys):
    """The command line bakes an override into a point cache, and leaves one that takes no shape keys with the reason."""
    live, file = play(body, FRAMES), bpy.data.filepath
    bpy.ops.wm.save_mainfile()
    command = part("cli").main
    assert command(["bake", file, "--target", "shape_keys"]) != 0
    assert "belongs to “library.blend”" in "".join(capsys.readouterr())
    assert command(["bake", file, "--target", "pc2"]) == 0
    bpy.ops.wm.open_mainfile(filepath=file)
    np.testing.assert_allclose(play(local("Body"), FRAMES), live, atol=1e-5 * size_of(live[0]))
    assert local("Body").thew.made.shows_bake


def test_overrides_baked_apart(shot, body):
    """Point caches of two overrides of one mesh play each its own motion, which differ as the flesh did."""
    other, _ = override(shot)
    other.thew.softness = 0.9
    activate(other)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    lives = [play(each, FRAMES) for each in (body, other)]
    for each in (body, other):
        activate(each)
        assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
    for each, live in zip(reopen(body.name, other.name), lives, strict=True):
        assert each.thew.made.shows_bake
        np.testing.assert_allclose(play(each, FRAMES), live, atol=1e-5 * size_of(live[0]))
    assert np.abs(lives[0] - lives[1]).max() > 1e-3
