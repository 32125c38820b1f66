# SPDX-License-Identifier: GPL-3.0-or-later
"""Files beside .blends that `blender --command thew bake` opens and saves: each belongs to one of them."""

from __future__ import annotations

import json
import signal
from contextlib import contextmanager
from pathlib import Path

import bpy
import numpy as np
import pytest
from helpers import make_body, make_character, part, play, size_of

FILES = ["pc2", "mdd", "vertex_texture"]


@pytest.fixture
def saved_file(scene, tmp_path):
    """Saves a file with one character."""
    make_character()
    (tmp_path / "v").mkdir()
    path = tmp_path / "v" / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def run(*words) -> int:
    return part("cli").main(["bake", *(str(word) for word in words)])


def content(folder: Path) -> dict[Path, bytes]:
    """Returns all files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def shapes(path: Path, frames=range(1, 7)) -> np.ndarray:
    """Opens a file and returns the vertices of its body."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return play(bpy.data.objects["Body"], frames)


def files() -> list[Path]:
    """Returns the files of the open file's bakes."""
    return part("scene.bake_files").files_of(part("saved.bakes").all_clips())


@contextmanager
def full_disk(size: int):
    """Lets no file grow beyond a number of bytes."""
    resource = pytest.importorskip("resource")
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("target", FILES)
@pytest.mark.parametrize("place", ["v/new.blend", "new.blend"])
def test_command_keeps_files_of_opened(saved_file, tmp_path, target, place):
    """A bake that is saved elsewhere leaves the opened file, its bakes and its cache byte for byte, and plays files of its own."""
    words = saved_file, "--object", "Body", "--target", target
    assert run(*words, "--frames", 1, 12) == 0
    before, first = content(tmp_path), shapes(saved_file)
    beside = (
        {".bakes"} if target == "vertex_texture" else {".bakes", ".thew"}
    )  # a new UV map makes the flesh out of date
    assert {path.parent.suffix for path in before} == {"", *beside}
    out = tmp_path / place
    assert run(*words, "--frames", 1, 6, "--set", "softness=0.9", "--out", out) == 0
    after = content(tmp_path)
    assert {path: after[path] for path in before} == before
    new = {path.parent for path in after.keys() - before}
    assert new == {out.parent, out.with_suffix(".bakes"), out.with_suffix(".thew")}
    second = shapes(out)
    assert all(path.parent == out.with_suffix(".bakes") and path.is_file() for path in files())
    size = size_of(first[0])
    assert np.abs(second - first).max() > 1e-4 * size
    np.testing.assert_array_equal(shapes(saved_file), first)


@pytest.mark.parametrize("target", FILES)
def test_command_repeated(saved_file, tmp_path, target):
    """The same command gives the same files again, without any of the result that it replaces."""
    out = tmp_path / "new.blend"
    words = saved_file, "--target", target, "--out", out
    assert run(*words, "--frames", 1, 8) == 0
    before = content(tmp_path)
    for _ in range(2):
        assert run(*words, "--frames", 1, 6) == 0
        assert content(tmp_path).keys() == before.keys()
    assert len(shapes(out)) == 6 and all(path.is_file() for path in files())
    assert run(*words[:1], "--frames", 1, 6, "--out", out) == 0
    assert not out.with_suffix(".bakes").exists(), "nothing plays them any more"


def test_command_spares_played_files(saved_file, tmp_path):
    """Files of the result that is replaced stay where the opened file plays them."""
    out, words = tmp_path / "v" / "new.blend", ("--object", "Body", "--target", "pc2", "--frames", 1, 6)
    assert run(saved_file, *words, "--out", out) == 0
    first = shapes(out)
    other = tmp_path / "v" / "other.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(other))
    before = content(out.with_suffix(".bakes"))
    for _ in range(2):
        assert run(other, *words, "--set", "softness=0.9", "--out", out) == 0
        after = content(out.with_suffix(".bakes"))
        assert len(after) == 2 and {path: after[path] for path in before} == before
    np.testing.assert_array_equal(shapes(other), first)


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("inside", [False, True], ids=["elsewhere", "over"])
def test_command_full_disk_leaves_nothing(saved_file, tmp_path, capsys, earlier, inside):
    """Everything is as it was where the disk takes the files of a bake but not the .blend."""
    out = saved_file if inside else tmp_path / "new.blend"
    words = saved_file, "--object", "Body", "--target", "pc2", "--out", out
    if earlier:
        assert run(*words, "--frames", 1, 5) == 0
    before, folders = content(tmp_path), sorted(path for path in tmp_path.rglob("*") if path.is_dir())
    with full_disk(20_000):  # a cache of 6 frames takes 9 kB
        assert run(*words, "--frames", 1, 6) == 1
    assert "cannot save" in capsys.readouterr().err
    assert content(tmp_path) == before
    assert sorted(path for path in tmp_path.rglob("*") if path.is_dir()) == folders
    assert run(*words, "--frames", 1, 6) == 0


@pytest.mark.parametrize("inside", [False, True], ids=["elsewhere", "over"])
def test_command_interrupted_takes_files_back(saved_file, tmp_path, monkeypatch, inside):
    """An interrupt after a mesh was baked takes its files back."""
    out = saved_file if inside else tmp_path / "new.blend"
    words = saved_file, "--object", "Body", "--target", "mdd", "--out", out
    assert run(*words, "--frames", 1, 5) == 0
    before = content(tmp_path)

    def stop(*_given):
        assert content(tmp_path) != before
        raise KeyboardInterrupt

    monkeypatch.setattr(part("cli"), "save_result", stop)
    assert run(*words, "--frames", 1, 6) == 130
    assert content(tmp_path) == before


def test_command_cache_not_written(saved_file, tmp_path):
    """No part of the cache is left where the disk takes the result but not the cache of the flesh."""
    words = saved_file, "--object", "Body", "--frames", 1, 6, "--target", "pc2"
    assert run(*words, "--out", tmp_path / "big.blend") == 0
    room = (tmp_path / "big.blend").stat().st_size + 5_000
    (cache,) = (tmp_path / "big.thew").iterdir()
    assert cache.stat().st_size > room, "else the disk is not full"
    with full_disk(room):
        assert run(*words, "--out", tmp_path / "new.blend") == 0
    assert (tmp_path / "new.blend").is_file() and not (tmp_path / "new.thew").exists()


def test_command_out_slash(saved_file, tmp_path, capsys):
    """A slash at the end names a folder, which is made, and goes again where nothing is baked."""
    words = saved_file, "--frames", 1, 4, "--target", "pc2"
    assert run(*words, "--object", "Nobody", "--out", f"{tmp_path}/made/") == 1 and not (tmp_path / "made").exists()
    assert run(*words, "--out", f"{tmp_path}/made/") == 0
    assert (tmp_path / "made" / "hero.blend").is_file() and (tmp_path / "made" / "hero.bakes").is_dir()
    assert run(*words, "--out", f"{tmp_path}/no/made/") == 1 and "There is no folder" in capsys.readouterr().err
    assert run(*words, "--out", f"{saved_file}/") == 1 and "choose another one with --out" in capsys.readouterr().err


def test_command_out_ending(saved_file, tmp_path, capsys):
    """A name without the ending of Blender's files gets it, and the report names the file."""
    assert run(saved_file, "--frames", 1, 4, "--json", "--out", tmp_path / "take.v2") == 0
    assert (tmp_path / "take.v2.blend").is_file() and not (tmp_path / "take.v2").exists()
    (line,) = (json.loads(each) for each in capsys.readouterr().out.splitlines() if each.startswith("{"))
    assert line["file"] == str(tmp_path / "take.v2.blend") and line["files"] == [] and line["error_mm"] is None


@pytest.mark.parametrize("target", FILES)
def test_command_reports_files(saved_file, tmp_path, capsys, target):
    """Reports name the files of a bake and the .blend that plays them."""
    rig = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    make_body(rig, name="Shirt", rings=9)
    bpy.ops.wm.save_mainfile()
    out = tmp_path / "new.blend"
    assert run(saved_file, "--frames", 1, 4, "--target", target, "--json", "--out", out) == 0
    (line,) = (json.loads(each) for each in capsys.readouterr().out.splitlines() if each.startswith("{"))
    assert line["file"] == str(out) and sorted(line["files"]) == sorted(map(str, content(tmp_path / "new.bakes")))
    assert "keys" not in line["text"] and str(tmp_path / "new.bakes") in line["text"]


def test_command_reports_error(saved_file, capsys):
    """The report on compressed keys states the error that they reach, and its frame."""
    assert run(saved_file, "--object", "Body", "--frames", 1, 8, "--target", "compressed", "--error", 5, "--json") == 0
    (line,) = (json.loads(each) for each in capsys.readouterr().out.splitlines() if each.startswith("{"))
    clip = bpy.data.objects["Body"].thew.bakes[0].clips[0]
    assert 0.0 < line["error_mm"] <= 5.0 and line["error_mm"] == pytest.approx(1e3 * clip.error)
    assert f"mm off at most, at frame {clip.error_frame}" in line["text"]


def test_command_reports_failed_save(saved_file, tmp_path, capsys, monkeypatch):
    """A result that cannot be saved has a line of its own in JSON."""
    with full_disk(20_000):
        assert run(saved_file, "--object", "Body", "--frames", 1, 4, "--json") == 1
    lines = [json.loads(each) for each in capsys.readouterr().out.splitlines() if each.startswith("{")]
    assert not lines[-1]["done"] and "cannot save" in lines[-1]["text"]


@pytest.mark.parametrize("target", FILES)
def test_command_folder_in_the_way(saved_file, tmp_path, capsys, target):
    """The remedy for files of the bake that cannot be written is an option of the command."""
    (tmp_path / "new.bakes").write_text("a file in the way")
    before = content(tmp_path)
    assert run(saved_file, "--frames", 1, 4, "--target", target, "--out", tmp_path / "new.blend") == 1
    assert "choose another place with --out" in capsys.readouterr().out and content(tmp_path) == before
