# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests libraries that change, vanish or come back under a shot whose override has flesh."""

from __future__ import annotations

import shutil
import subprocess
import sys

import bpy
import numpy as np
import pytest
from helpers import activate, evaluated_positions, part, play, refusal, size_of
from linking import COLLECTION, change, digest, holders, link, local, open_shot, override, reopen, write_library
from ticking import tick

FRAMES = (1, 5, 9, 14)


@pytest.fixture
def shot(scene, tmp_path):
    """Saves a shot with an override with flesh; returns (library, plain shapes, shapes with flesh)."""
    library = write_library(tmp_path / "library.blend")
    open_shot(tmp_path / "shot.blend")
    body, _ = override(library)
    plain = play(body, FRAMES)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    live = play(body, FRAMES)
    bpy.ops.wm.save_mainfile()
    return library, plain, live


def test_library_mesh_moved(shot):
    """Vertices that the library moved are followed: the flesh is built anew on the mesh as it is."""
    library, _, live = shot

    def edit(mesh, _armature):
        for vertex in mesh.data.vertices:
            vertex.co.x *= 1.2

    change(library, edit)
    shapes = play(local("Body"), FRAMES)
    assert np.isfinite(shapes).all() and np.abs(shapes - live).max() > 0.02
    assert np.abs(shapes[..., 0] - 1.2 * live[..., 0]).max() < 0.05


def test_library_mesh_grown(shot):
    """A library's mesh with more vertices is followed, as if the flesh were added to it in its own file."""
    library, plain, _ = shot

    def edit(mesh, _armature):
        mesh.data.vertices.add(1)
        mesh.data.vertices[-1].co = (0.0, 0.0, 0.5)
        for group in mesh.vertex_groups:
            if group.name == "Hip":
                group.add([len(mesh.data.vertices) - 1], 1.0, "REPLACE")

    change(library, edit)
    body = local("Body")
    shapes = play(body, FRAMES)
    assert shapes.shape[1] == plain.shape[1] + 1 and np.isfinite(shapes).all()
    assert np.abs(shapes[:, :-1] - plain).max() > 1e-3
    bpy.ops.wm.open_mainfile(filepath=str(library))
    activate(local("Body"))
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    np.testing.assert_allclose(shapes, play(local("Body"), FRAMES), atol=1e-6)


@pytest.mark.parametrize("target", ["PC2", "MDD"])
def test_library_mesh_grown_under_a_cache(shot, target):
    """A point cache of another number of vertices than the library's mesh has now does not freeze it: the plain skin moves, and the
    panel says why. Once the mesh is as it was, the cache plays again.
    """
    library, plain, live = shot
    kept = library.read_bytes()
    assert bpy.ops.thew.bake(target=target) == {"FINISHED"}
    bpy.ops.wm.save_mainfile()

    def edit(mesh, _armature):
        mesh.data.vertices.add(1)

    change(library, edit)
    body = local("Body")
    np.testing.assert_allclose(play(body, FRAMES)[:, :-1], plain, atol=1e-6)
    told, count = part("logic.health").bake_health(part("ui.bake_panel").played_bake(body), 3), len(body.data.vertices)
    assert told.level == "WARNING" and told.text.startswith(f"{count} vertices, {count - 1} in the bake: ")
    bpy.ops.wm.save_mainfile()
    library.write_bytes(kept)
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    assert np.abs(play(local("Body"), FRAMES) - live).max() < 1e-6 * size_of(live[0])


def test_library_mesh_grown_behind_thew(shot):
    """Offsets of another number of vertices are never shown: the plain skin stands for them."""
    _, plain, live = shot
    body = local("Body")
    bpy.context.scene.frame_set(9)
    np.testing.assert_allclose(evaluated_positions(body), live[2], atol=1e-6)
    (holder,) = holders()
    mesh = holder.data
    mesh.vertices.add(1)
    mesh.attributes["thew_frame"].data[len(mesh.vertices) - 1].value = 9.0
    mesh.update_tag()
    bpy.context.view_layer.update()
    np.testing.assert_allclose(evaluated_positions(body), plain[2], atol=1e-6)


def test_library_bone_renamed(shot):
    """A bone that the library renamed, with its vertex group, moves the same flesh."""
    library, _, live = shot
    change(library, lambda mesh, armature: setattr(armature.data.bones["Spine"], "name", "Wirbel"))
    body = local("Body")
    assert "Wirbel" in body.vertex_groups
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-3)


def test_library_armature_modifier_gone(shot):
    """A character whose Armature modifier the library removed shows its plain skin, and says so."""
    library, _, _ = shot
    change(library, lambda mesh, _armature: mesh.modifiers.remove(mesh.modifiers["Armature"]))
    body = local("Body")
    shapes = play(body, FRAMES)
    assert np.isfinite(shapes).all() and np.abs(shapes - shapes[0]).max() == 0.0
    activate(body)
    assert "Armature modifier" in refusal(bpy.ops.thew.simulate)


def test_library_missing(shot, tmp_path):
    """A shot whose library is away opens, and has its flesh and settings again once the library is back."""
    library, _, live = shot
    local("Body").thew.softness = 0.8
    soft = play(local("Body"), FRAMES)
    bpy.ops.wm.save_mainfile()
    away = tmp_path / "away.blend"
    shutil.move(library, away)
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
    bpy.ops.wm.save_mainfile()
    shutil.move(away, library)
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    body = local("Body")
    assert round(body.thew.softness, 6) == 0.8
    np.testing.assert_allclose(play(body, FRAMES), soft, atol=1e-6)
    assert np.abs(soft - live).max() > 1e-3


@pytest.mark.parametrize("kind", ["override", "instance", "linked"])
def test_missing_library_named(scene, tmp_path, capsys, kind):
    """Panel and command line name the file of a library that is away, and not what the empty place in the shot lacks."""
    library = write_library(tmp_path / "library.blend")
    open_shot(tmp_path / "shot.blend")
    if kind == "override":
        override(library)
    else:
        linked = link(library)
        empty = bpy.data.objects.new("Crowd", None)
        empty.instance_type, empty.instance_collection = "COLLECTION", linked
        shown = bpy.context.scene.collection
        shown.objects.link(empty) if kind == "instance" else shown.children.link(linked)
    bpy.ops.wm.save_mainfile()
    library.unlink()
    told = f"here is no file {library}: put it there"
    assert part("cli").main(["bake", bpy.data.filepath]) == 1
    assert told in "".join(capsys.readouterr())
    if kind != "linked":  # of which Blender leaves nothing in the scene that could be selected
        activate(local("Body" if kind == "override" else "Crowd"))
        assert told in refusal(bpy.ops.thew.add)


def test_library_reloaded(shot):
    """A library that is loaded again in the open shot, even twice, leaves settings, bakes and motion as they are."""
    library, _, live = shot
    body = local("Body")
    activate(body)
    assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
    body.thew.softness = 0.8
    for _ in range(2):
        bpy.data.libraries[library.name].reload()
        bpy.context.view_layer.update()
    body = local("Body")
    assert round(body.thew.softness, 6) == 0.8 and body.thew.made.shows_bake
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-5 * size_of(live[0]))
    activate(body)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    body.thew.softness = 0.5
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-6)


@pytest.fixture
def enter_window(monkeypatch):
    """Returns a function that lets Blender believe that it has a window, whose timer is ticked by hand."""
    updates = part("live.updates")

    def enter() -> None:
        monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
        for name in ("SETTING_DELAY", "SHORT_DELAY"):
            monkeypatch.setattr(updates, name, 0.0)

    yield enter
    updates.stop_update()
    if bpy.app.timers.is_registered(updates.tick):
        bpy.app.timers.unregister(updates.tick)


def widen(library) -> None:
    """Widens the character of a library by a tenth in its own file, in another Blender."""
    lines = (
        f"import bpy; bpy.ops.wm.open_mainfile(filepath={str(library)!r})",
        "[setattr(v.co, 'x', 1.1 * v.co.x) for v in bpy.data.meshes['Body'].vertices]",
        "bpy.ops.wm.save_mainfile()",
    )
    subprocess.run([sys.executable, "-c", "; ".join(lines)], check=True, capture_output=True)


@pytest.mark.parametrize("in_window", [False, True])
def test_changed_library_reloaded(shot, enter_window, monkeypatch, in_window):
    """A library that changed and is loaded again in the open shot is followed at the next frame, in a window soon after it."""
    library, _, live = shot
    body = local("Body")
    play(body, FRAMES)
    widen(library)
    if in_window:
        enter_window()
    bpy.data.libraries[library.name].reload()
    bpy.context.view_layer.update()
    body = local("Body")
    play(body, FRAMES)
    if in_window:
        tick()
    shapes = play(body, FRAMES)
    monkeypatch.undo()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    np.testing.assert_allclose(shapes, play(local("Body"), FRAMES), atol=1e-6)
    assert np.abs(shapes - live).max() > 0.01


def test_window_follows_settings(shot, enter_window):
    """In a window an override shows a new setting soon after it was changed, and frames before that from the former motion."""
    body = local("Body")
    live = play(body, FRAMES)
    body.thew.softness = 0.8
    soft = play(body, FRAMES)
    body.thew.softness = 0.5
    play(body, FRAMES)
    enter_window()
    body.thew.softness = 0.8
    np.testing.assert_array_equal(play(body, FRAMES), live)
    tick()
    np.testing.assert_array_equal(play(body, FRAMES), soft)


def test_override_resynced(shot):
    """A resync, after the library gained an object, keeps settings, modifier and motion."""
    library, _, live = shot

    def edit(mesh, armature):
        hat = bpy.data.objects.new("Hat", mesh.data.copy())
        hat.parent = armature
        bpy.data.collections[COLLECTION].objects.link(hat)

    local("Body").thew.reach = 0.3
    bpy.ops.wm.save_mainfile()
    change(library, edit)
    body = local("Body")
    root = body.override_library.hierarchy_root
    assert root.override_library.resync(bpy.context.scene, view_layer=bpy.context.view_layer)
    body = local("Body")
    assert round(body.thew.reach, 6) == 0.3 and body.thew.made.flesh
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-3)
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-3)


def test_library_saved_by_shot_never(shot):
    """Nothing of a shot is written into its library, whatever the shot does."""
    library, _, _ = shot
    known = digest(library)
    body = local("Body")
    body.thew.softness = 0.1
    play(body, FRAMES)
    activate(body)
    assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
    reopen("Body")
    assert digest(library) == known
