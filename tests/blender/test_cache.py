# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of bodies and motions: a file that is opened again shows its flesh without building, and never stale flesh."""

from __future__ import annotations

import io

import bpy
import numpy as np
import pytest
from helpers import activate, animate, evaluated_positions, flesh_of, make_character, part, play

FRAMES = range(1, 21)


@pytest.fixture
def saved_file(scene, tmp_path):
    """Saves a file with flesh, and returns (path, live shapes)."""
    make_character()
    bpy.ops.thew.add(cells_across=6)
    bpy.ops.thew.simulate()
    live = play(bpy.data.objects["Body"], FRAMES)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    return tmp_path / "hero.blend", live


@pytest.fixture
def core_calls(monkeypatch):
    """Records what the core is asked to make: lattices, bodies, motions."""
    thew, asked = part("logic.native").core(), []
    simulate, enclose = thew.simulate, part("live.building").enclose

    def record_simulate(*args, **options):
        asked.append("motion")
        return simulate(*args, **options)

    def record_enclose(new):
        asked.append("lattice")
        return enclose(new)

    monkeypatch.setattr(thew, "simulate", record_simulate)
    monkeypatch.setattr(part("live.building"), "enclose", record_enclose)
    return asked


@pytest.fixture
def run_timer(monkeypatch):
    """Lets Blender believe that it has a window, and returns a function that runs its timer to the end."""
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    updates = part("live.updates")
    for name in ("SETTING_DELAY", "SHORT_DELAY"):
        monkeypatch.setattr(updates, name, 0.0)

    def tick():
        for _ in range(10_000):
            if updates.tick() is None:
                return
            if updates.state.stepper is not None and updates.state.stepper.waiting:
                updates.state.stepper._thread.join(0.1)
        raise AssertionError("the timer never ends")

    yield tick
    updates.stop_update()
    if bpy.app.timers.is_registered(updates.tick):
        bpy.app.timers.unregister(updates.tick)


def reopen(path):
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.data.objects["Body"]


def files(path):
    return sorted(each.name for each in path.with_suffix(".thew").iterdir())


def test_cache_reopened_file(saved_file, core_calls):
    """A file that is opened again shows its flesh without building or simulating."""
    path, live = saved_file
    assert len(files(path)) == 1 and files(path)[0].startswith("Body-")
    body = reopen(path)
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert core_calls == []


def test_cache_in_window(saved_file, core_calls, run_timer, monkeypatch):
    """In a window a file that is opened again reads no poses either."""
    path, live = saved_file
    reads = []
    real = part("scene.poses").read_motions
    monkeypatch.setattr(part("scene.poses"), "read_motions", lambda *a: reads.append(a) or real(*a))
    body = reopen(path)
    bpy.context.scene.frame_set(3)
    run_timer()
    np.testing.assert_array_equal(evaluated_positions(body), live[2])
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert core_calls == [] and reads == []
    assert flesh_of(body).condition.motion.name == "EDITED"  # a render reads them


@pytest.mark.parametrize(
    ("setting", "value", "again"),
    [
        ("softness", 0.2, {"motion"}),
        ("mass_damping", 5.0, {"motion"}),
        ("cells_across", 7, {"lattice", "motion"}),
        ("elastic_joints", 0.4, {"motion"}),
    ],
)
def test_cache_other_settings(saved_file, core_calls, setting, value, again):
    """A changed setting makes anew only what depends on it."""
    path, live = saved_file
    body = reopen(path)
    setattr(body.thew, setting, value)
    shapes = play(body, FRAMES)
    assert set(core_calls) == again and np.abs(shapes - live).max() > 1e-6
    activate(body)
    part("live.session").register.forget(body)
    part("scene.cache_files").clear()
    np.testing.assert_array_equal(play(body, FRAMES), shapes)


def test_cache_other_mesh(saved_file, core_calls):
    """An edited mesh is not served from the cache."""
    body = reopen(saved_file[0])
    body.data.vertices[40].co.x += 0.01
    play(body, (3,))
    assert set(core_calls) == {"lattice", "motion"}


@pytest.mark.parametrize("window", [False, True])
def test_cache_other_animation(saved_file, core_calls, run_timer, monkeypatch, window):
    """An animation that somebody edited without the extension is read and simulated again."""
    path, live = saved_file
    if not window:
        monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: True)
    reopen(path)
    with part("scene.poses").silence_handlers():
        animate(bpy.data.objects["Rig"], bend=-0.3)
        bpy.context.view_layer.update()
    body = bpy.data.objects["Body"]
    part("live.session").register.forget(body)
    part("live.playback").look_up(bpy.context.scene)
    if window:
        run_timer()
    play(body, FRAMES)
    if window:
        run_timer()
    shapes = play(body, FRAMES)
    assert np.abs(shapes - live).max() > 1e-2 and "motion" in core_calls and "lattice" not in core_calls
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: True)
    activate(body)
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(play(body, FRAMES), shapes)


def damaged_copies(content: bytes) -> list[bytes]:
    """Returns copies of the content: cut off, flipped, foreign, empty, and an archive that holds something else."""
    other = io.BytesIO()
    np.savez(other, meta=np.arange(5))
    middle = len(content) // 2
    flipped = content[:middle] + bytes(255 - byte for byte in content[middle : middle + 400]) + content[middle + 400 :]
    return [content[:middle], flipped, b"\x00" * 1000, b"", other.getvalue(), content[100:]]


@pytest.mark.parametrize("which", range(6))
def test_cache_damaged(saved_file, which, capsys):
    """A damaged cache is made anew without a word."""
    path, live = saved_file
    (file,) = path.with_suffix(".thew").iterdir()
    file.write_bytes(damaged_copies(file.read_bytes())[which])
    capsys.readouterr()
    np.testing.assert_array_equal(play(reopen(path), FRAMES), live)
    assert "Traceback" not in capsys.readouterr().err


def test_cache_other_build(saved_file, core_calls, monkeypatch):
    """The cache of another build is not used."""
    monkeypatch.setattr(part("live.disk_cache"), "stamp", lambda: "another")
    np.testing.assert_array_equal(play(reopen(saved_file[0]), FRAMES), saved_file[1])
    assert set(core_calls) == {"lattice", "motion"}


def test_cache_unwritable_folder(scene, tmp_path):
    """A folder that cannot be written is named until it can be written."""
    body, _ = make_character()
    bpy.ops.thew.add(cells_across=6)
    play(body, (2,))
    (tmp_path / "hero.thew").write_text("a file in the way")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    told = part("scene.cache_files").cache_text(body)
    assert "hero.thew" in told and "cannot be written" in told
    (tmp_path / "hero.thew").unlink()
    bpy.ops.wm.save_mainfile()
    assert "MB in “hero.thew”" in part("scene.cache_files").cache_text(body)


def test_cache_in_file(scene, tmp_path, core_calls):
    """A cache in the file moves with the file."""
    body, _ = make_character()
    bpy.ops.thew.add(cells_across=6)
    body.thew.cache = "FILE"
    live = play(body, FRAMES)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    assert not (tmp_path / "hero.thew").exists()
    (tmp_path / "hero.blend").rename(tmp_path / "elsewhere.blend")
    core_calls.clear()
    body = reopen(tmp_path / "elsewhere.blend")
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert core_calls == [] and "in the file" in part("scene.cache_files").cache_text(body)
    body.thew.cache = "FOLDER"
    bpy.ops.wm.save_mainfile()
    assert body.thew.made.cache is None and files(tmp_path / "elsewhere.blend")


def test_cache_off_and_clear(saved_file, core_calls):
    """The cache that is off keeps nothing, and Clear Cache deletes its folder."""
    path, live = saved_file
    body = reopen(path)
    assert bpy.ops.thew.clear_cache() == {"FINISHED"}
    assert not path.with_suffix(".thew").exists()
    body.thew.cache = "NONE"
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert set(core_calls) == {"lattice", "motion"}
    bpy.ops.wm.save_mainfile()
    assert not path.with_suffix(".thew").exists()


def test_cache_clear_foreign_files(saved_file):
    """Clear Cache leaves files that Thew did not write."""
    path, _ = saved_file
    mine = path.with_suffix(".thew") / "notes.txt"
    mine.write_text("keep me")
    reopen(path)
    assert bpy.ops.thew.clear_cache() == {"FINISHED"}
    assert files(path) == ["notes.txt"]


def test_cache_remove(saved_file):
    """Remove deletes the flesh from the cache."""
    body = reopen(saved_file[0])
    activate(body)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert files(saved_file[0]) == []


def test_cache_unnamed_file(scene):
    """A file without a name keeps its cache in a temporary folder."""
    make_character()
    bpy.ops.thew.add(cells_across=6)
    assert part("scene.cache_files").folder().is_relative_to(bpy.app.tempdir)


@pytest.mark.parametrize("start", ["SETTLED", "CYCLE", "PREROLL"])
def test_cache_motion_starts(scene, tmp_path, core_calls, start):
    """The cache holds a motion with each kind of start, and a cycle that goes on as something else."""
    body, rig = make_character()
    animate(rig, last=21)
    scene.frame_end = 45
    bpy.ops.thew.add(cells_across=6)
    body.thew.motion_start = start
    body.thew.use_scene_range = False
    body.thew.frame_start, body.thew.frame_end = 1, 20
    bpy.ops.thew.simulate()
    live = play(body, range(1, 46))
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    core_calls.clear()
    body = reopen(tmp_path / "hero.blend")
    np.testing.assert_array_equal(play(body, range(1, 46)), live)
    assert core_calls == []
