# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of bakes after Save As and Save Copy in a window: the first .blend keeps its own, and both play."""

from __future__ import annotations

import shutil
from pathlib import Path

import bpy
import numpy as np
import pytest
from helpers import activate, make_body, part, play

FRAMES = range(1, 7)
FILES = ["PC2", "MDD", "VERTEX_TEXTURE"]


@pytest.fixture
def saved(fleshed_character, tmp_path):
    """Builds (mesh, armature) with flesh, in a saved file."""
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "first" / "hero.blend"))
    return fleshed_character


def bake(target: str, **options) -> None:
    assert bpy.ops.thew.bake(target=target, frame_start=1, frame_end=6, **options) == {"FINISHED"}


def body():
    return bpy.data.objects["Body"]


def files() -> list[Path]:
    """Returns the files of the body's bakes."""
    return part("scene.bake_files").files_of(clip for bake in body().thew.bakes for clip in bake.clips)


def content(folder: Path, *left_out: str) -> dict[Path, bytes]:
    """Returns all files below a folder but those with some endings."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix not in left_out}


def reopen(path: Path) -> np.ndarray:
    """Opens a file and returns what plays."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return play(body(), FRAMES)


def soften() -> None:
    """Makes the flesh another one."""
    activate(body())
    body().thew.softness = 0.9


@pytest.mark.parametrize("target", FILES)
@pytest.mark.parametrize("place", ["first/other.blend", "second/hero.blend"])
def test_save_as_keeps_bakes_of_first(saved, tmp_path, target, place):
    """After Save As a bake gets files of its own, and the first .blend plays what it played."""
    bake(target)
    bpy.ops.wm.save_mainfile()
    first, before = play(body(), FRAMES), content(tmp_path)
    other = tmp_path / place
    bpy.ops.wm.save_as_mainfile(filepath=str(other))
    np.testing.assert_array_equal(play(body(), FRAMES), first)
    soften()
    bake(target)
    bpy.ops.wm.save_mainfile()
    assert {path.parent for path in files()} == {other.with_suffix(".bakes")}
    second = play(body(), FRAMES)
    after = content(tmp_path)
    assert {path: after[path] for path in before} == before
    assert np.abs(second - first).max() > 1e-4
    np.testing.assert_array_equal(reopen(other), second)
    np.testing.assert_array_equal(reopen(tmp_path / "first" / "hero.blend"), first)


@pytest.mark.parametrize("target", FILES)
def test_save_as_elsewhere_plays_on(saved, tmp_path, target):
    """A file that is saved in another folder goes on playing its bakes, and removes none of the first one's."""
    bake(target)
    bpy.ops.wm.save_mainfile()
    first, before = play(body(), FRAMES), content(tmp_path)
    for place in ("second/hero.blend", "other.blend"):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / place))
        np.testing.assert_allclose(reopen(tmp_path / place), first, atol=1e-6)
    activate(body())
    assert bpy.ops.thew.bake_remove() == {"FINISHED"}
    after = content(tmp_path)
    assert {path: after[path] for path in before} == before


@pytest.mark.parametrize("target", FILES)
def test_save_copy_plays(saved, tmp_path, target):
    """A copy in another folder plays the bakes of the first file, which goes on as it was and keeps its cache."""
    bake(target)
    bpy.ops.wm.save_mainfile()
    first, records, before = play(body(), FRAMES), [clip.file for clip in body().thew.bakes[0].clips], content(tmp_path)
    soften()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second" / "copy.blend"), copy=True)
    assert [clip.file for clip in body().thew.bakes[0].clips] == records
    after = content(tmp_path)
    assert {path: after[path] for path in before} == before
    np.testing.assert_allclose(reopen(tmp_path / "second" / "copy.blend"), first, atol=1e-6)


def test_failed_save_keeps_records(saved, tmp_path):
    """Records are as they were after a save to another folder that fails."""
    bake("PC2")
    records = [clip.file for clip in body().thew.bakes[0].clips]
    with pytest.raises(RuntimeError):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "no folder" / "hero.blend"))
    assert [clip.file for clip in body().thew.bakes[0].clips] == records and files()[0].is_file()


def test_save_as_keeps_chosen_folder(saved, tmp_path):
    """In a folder that several .blends share, each has files of its own; Bake again replaces its own, and Remove takes them."""
    shared = tmp_path / "caches"
    bake("PC2", folder="//../caches")
    (first,) = files()
    before = first.read_bytes()
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second" / "hero.blend"))
    soften()
    for _ in range(2):
        bake("PC2")
        assert sorted(path.name for path in shared.iterdir()) == ["Body-PC2-Scene-2.pc2", "Body-PC2-Scene.pc2"]
        assert (shared / "Body-PC2-Scene.pc2").read_bytes() == before
    assert bpy.ops.thew.bake_remove() == {"FINISHED"}
    assert [path.name for path in shared.iterdir()] == ["Body-PC2-Scene.pc2"]
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "first" / "hero.blend"))
    activate(body())
    bake("PC2")
    assert [path.name for path in shared.iterdir()] == ["Body-PC2-Scene.pc2"]


def test_first_save_keeps_ownership(fleshed_character, tmp_path):
    """A file that is saved for the first time owns the files that it had baked."""
    bake("PC2", folder=str(tmp_path / "caches"))
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    bake("PC2")
    assert [path.name for path in (tmp_path / "caches").iterdir()] == ["Body-PC2-Scene.pc2"]
    assert not (tmp_path / "hero.bakes").exists()


def test_copied_project_owns_its_files(saved, tmp_path):
    """A copied folder of a project plays and replaces its own files, a copied .blend leaves those of the first one."""
    bake("PC2")
    bpy.ops.wm.save_mainfile()
    shutil.copytree(tmp_path / "first", tmp_path / "moved")
    shutil.copy(tmp_path / "first" / "hero.blend", tmp_path / "first" / "hero.blend1")
    before = content(tmp_path / "first")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "moved" / "hero.blend"))
    soften()
    bake("PC2")
    assert [path.name for path in (tmp_path / "moved" / "hero.bakes").iterdir()] == ["Body-PC2-Scene.pc2"]
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "first" / "hero.blend1"))
    soften()
    bake("PC2")
    assert files()[0].parent.name == "hero.blend1.bakes"
    after = content(tmp_path / "first")
    assert {path: after[path] for path in before} == before


def test_names_that_look_alike(character, tmp_path):
    """A body and a rider whose names give the same name of a file have a file each."""
    mesh, armature = character
    mesh.name = "A.1"
    shirt = make_body(armature, name="A_1", rings=9)
    activate(mesh)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    shirt.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    activate(mesh)
    for _ in range(2):
        bake("PC2", folder=str(tmp_path / "out"))
        clips = [obj.thew.bakes[0].clips[0] for obj in (mesh, shirt)]
        assert len({clip.file for clip in clips}) == 2 and len(list((tmp_path / "out").iterdir())) == 2
        assert not any(part("scene.cache_playing").fault(clip.id_data, clip) for clip in clips)


@pytest.mark.skipif(not hasattr(bpy.app.handlers, "blend_import_post"), reason="this Blender reports no appends")
@pytest.mark.parametrize("place", ["first/shot.blend", "second/shot.blend"])
@pytest.mark.parametrize("target", FILES)
def test_append_plays(saved, tmp_path, target, place):
    """An appended character plays its bake from the folder of its first .blend, whose files stay when it is baked or removed."""
    bake(target)
    bpy.ops.wm.save_mainfile()
    first, before = play(body(), FRAMES), content(tmp_path / "first")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / place))
    with bpy.data.libraries.load(str(tmp_path / "first" / "hero.blend"), link=False) as (_, wanted):
        wanted.objects = ["Body", "Rig"]
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    np.testing.assert_allclose(play(body(), FRAMES), first, atol=1e-6)
    bpy.ops.wm.save_mainfile()
    np.testing.assert_allclose(reopen(tmp_path / place), first, atol=1e-6)
    activate(body())
    bake(target)
    assert {path.parent.name for path in files()} == {"shot.bakes"}
    assert bpy.ops.thew.bake_remove() == {"FINISHED"} and not files()
    after = content(tmp_path / "first")
    assert {path: after[path] for path in before} == before


@pytest.mark.parametrize("target", FILES)
def test_saved_without_thew_plays(saved, tmp_path, target, monkeypatch):
    """A file that was saved in another folder without Thew finds its bakes where Blender's own paths lead."""
    bake(target)
    first = play(body(), FRAMES)
    monkeypatch.setattr(part("scene.record_paths"), "follow", lambda *_: None)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "second" / "hero.blend"))
    np.testing.assert_allclose(reopen(tmp_path / "second" / "hero.blend"), first, atol=1e-6)
