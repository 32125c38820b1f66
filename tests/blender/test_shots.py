# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters that leave as shots, are simulated where there is no Blender, and come back as clips to be baked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest
from conftest import in_one_blender
from helpers import activate, add_rig, animate, curve_keys, flesh_of, make_body, make_character, part, play, size_of

from assets import characters as own

FRAMES = range(1, 21)


@pytest.fixture(scope="module", autouse=True)
def core(addon):
    """Returns the module that the extension brings with it; it cannot be imported before the installation."""
    global thew
    import thew


def run(*words) -> int:
    return part("cli").main([str(word) for word in words])


def simulate(shot: Path, out: Path) -> Path:
    """Simulates as a machine of a farm does, in a process without Blender."""
    python = Path(sys.prefix) / "bin" / "python"
    python = python if python.is_file() else Path(sys.executable)
    folder = str(Path(thew.__file__).parents[1])
    words = [python, "-m", "thew", "simulate", shot, "-o", out, "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": folder})
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return out


def keys_of(name: str) -> np.ndarray:
    """Returns the baked keys of an object, float32[f, 3 n]."""
    obj, rows = bpy.data.objects[name], []
    for key in part("scene.writing").baked_keys(obj):
        flat = np.empty(3 * len(obj.data.vertices), dtype=np.float32)
        key.points.foreach_get("co", flat)
        rows.append(flat)
    return np.array(rows)


def save_file(folder: Path, name: str = "hero.blend") -> Path:
    path = folder / name
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def test_shot_round_trip(scene, tmp_path, capsys):
    """A character of two meshes, one with a keyed rig, is simulated elsewhere to the same bits."""
    body, armature = make_character()
    make_body(armature, name="Shirt / wide", rings=9)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6, whole=False) == {"FINISHED"}
    curve_keys(add_rig(body, bone="Spine"), (1, 0.0), (9, 1.0))
    path = save_file(tmp_path)
    before = path.read_bytes()
    assert run("export", path) == 0
    assert path.read_bytes() == before
    shots = sorted(each.name for each in tmp_path.glob("*.shot.thew"))
    assert shots == ["hero.Body.shot.thew", "hero.Shirt_wide.shot.thew"]
    assert thew.Shot.load(tmp_path / shots[0]).rig_names
    clips = [simulate(tmp_path / shot, tmp_path / f"{i}.clip.thew") for i, shot in enumerate(shots)]

    assert run("bake", path, "--out", tmp_path / "within.blend") == 0
    within = {name: keys_of(name) for name in ("Body", "Shirt / wide")}
    clip, flesh = thew.Clip.load(clips[0]), flesh_of(bpy.data.objects["Body"])
    for frame in range(len(clip)):
        assert np.array_equal(clip.offsets(frame), flesh.clip.offsets(frame))

    capsys.readouterr()
    calls = part("logic.native").core()
    real, asked = calls.simulate, []
    calls.simulate = lambda *given, **named: asked.append(given) or real(*given, **named)
    try:
        assert run("bake", path, "--clip", *clips, "--out", tmp_path / "back.blend") == 0
    finally:
        calls.simulate = real
    assert not asked, "a clip is there: nothing is simulated"
    lines = capsys.readouterr().out
    assert "Body: " in lines and "Shirt / wide: " in lines and "20 keys of flesh alone" in lines
    for name, keys in within.items():
        assert np.abs(np.diff(keys, axis=0)).max() > 1e-4
        assert np.array_equal(keys_of(name), keys), name
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "back.blend"))
    shapes = play(bpy.data.objects["Body"], FRAMES)
    assert np.abs(np.diff(shapes, axis=0)).max() > 1e-2 * size_of(shapes[0])


@pytest.mark.parametrize("space", ["rest", "posed"])
def test_shot_with_modes_and_rider(scene, tmp_path, space):
    """A modal body and its rider are simulated elsewhere to the same bits, in both spaces."""
    body, armature = make_character()
    shirt = make_body(armature, name="Shirt", rings=9)
    body.thew.modes = 8
    activate(body)
    assert bpy.ops.thew.add(cells_across=6, method="modal") == {"FINISHED"}
    body.select_set(True)
    shirt.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    path = save_file(tmp_path)
    words = ("--object", "Body", "--frames", 1, 12)
    assert run("export", path, *words) == 0
    clip = simulate(tmp_path / "hero.Body.shot.thew", tmp_path / "clip.thew")
    assert run("bake", path, *words, "--space", space, "--out", tmp_path / "within.blend") == 0
    within = [keys_of("Body"), keys_of("Shirt")]
    assert run("bake", path, *words, "--space", space, "--clip", clip, "--out", tmp_path / "back.blend") == 0
    for name, keys in zip(("Body", "Shirt"), within, strict=True):
        assert len(keys) == 12 and np.array_equal(keys_of(name), keys), name


@in_one_blender
def test_shot_of_demo_character(scene, tmp_path):
    """A demo character is simulated elsewhere to the same bits."""
    armature, body = own.create("biped")
    own.use_action(armature, "jump")
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    path = save_file(tmp_path)
    words = ("--object", body.name, "--frames", 1, 12)
    assert run("export", path, *words) == 0
    clip = thew.Clip.load(simulate(next(tmp_path.glob("*.shot.thew")), tmp_path / "clip.thew"))
    assert run("bake", path, *words, "--out", tmp_path / "within.blend") == 0
    flesh = flesh_of(bpy.context.scene.objects[words[1]])
    assert len(clip) == len(flesh.clip) >= 12
    far = 0.0
    for frame in range(len(clip)):
        offsets = clip.offsets(frame)
        assert np.array_equal(offsets, flesh.clip.offsets(frame))
        far = max(far, float(np.abs(offsets).max()))
    assert far > 0.01


def test_shot_of_loop(scene, tmp_path, capsys):
    """A loop is simulated elsewhere for one turn and baked over the whole range."""
    body, armature = make_character()
    animate(armature, 1, 21)
    for curve in part("scene.animation").curves_in(armature.animation_data):
        curve.modifiers.new("CYCLES")
    scene.frame_end = 50
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    path = save_file(tmp_path)
    assert run("export", path) == 0
    shot = tmp_path / "hero.Body.shot.thew"
    assert len(thew.Shot.load(shot)) == 21
    clip = simulate(shot, tmp_path / "clip.thew")
    assert run("bake", path, "--out", tmp_path / "within.blend") == 0
    within = keys_of("Body")
    assert run("bake", path, "--clip", clip, "--out", tmp_path / "back.blend") == 0
    assert len(within) == 50 and np.array_equal(keys_of("Body"), within)


@pytest.fixture
def exported_shot(scene, tmp_path):
    """Builds (file, clip of the frames 1 to 20)."""
    make_character()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    path = save_file(tmp_path)
    assert run("export", path) == 0
    return path, simulate(tmp_path / "hero.Body.shot.thew", tmp_path / "clip.thew")


def command_message(capsys, *words) -> str:
    """Returns the message of a command that does nothing."""
    capsys.readouterr()
    assert run(*words) == 1
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return out + err


def changed_file(path: Path, change) -> Path:
    """Builds the same file with another scene in it."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    change(bpy.data.objects["Body"])
    return save_file(path.parent, "changed.blend")


def other_pose(obj) -> None:
    bone = obj.parent.pose.bones["Spine"] if obj.parent else obj.modifiers["Armature"].object.pose.bones["Spine"]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler = (0.0, 0.4, 0.0)
    bone.keyframe_insert("rotation_euler", frame=8)


def moved_vertex(obj) -> None:
    obj.data.vertices[3].co.x += 0.01


def another_mesh(obj) -> None:
    obj.name = "Old"
    make_body(obj.modifiers["Armature"].object, rings=5)
    activate(bpy.data.objects["Body"])
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (another_mesh, ("vertices", "“Body”")),
        (moved_vertex, ("another mesh or skeleton", "“Body”")),
        (other_pose, ("move differently", "“Body”", "frame")),
        (lambda obj: setattr(obj.thew, "real_height", 0.5), ("another Real Size", "“Body”")),
    ],
)
def test_clip_mismatch_refused(exported_shot, capsys, change, words):
    """A clip of something else is refused by name, and the file is unchanged."""
    path, clip = exported_shot
    other = changed_file(path, change)
    before = other.read_bytes()
    sentence = command_message(capsys, "bake", other, "--clip", clip)
    assert all(word in sentence for word in (*words, clip.name)), sentence
    assert other.read_bytes() == before


def test_bad_clip_refused(exported_shot, capsys, tmp_path):
    """A bad clip is refused with a message."""
    path, clip = exported_shot
    assert "frames 1 to 20" in command_message(capsys, "bake", path, "--clip", clip, "--frames", 1, 25)
    assert "no object “Nobody”" in command_message(capsys, "bake", path, "--clip", clip, "--object", "Nobody")
    for given in (("--method", "warped"), ("--modes", 8)):
        assert "as it was simulated" in command_message(capsys, "bake", path, "--clip", clip, *given)
    assert "second clip" in command_message(capsys, "bake", path, "--clip", clip, clip)
    assert "give one of them" in command_message(capsys, "bake", path, "--clip", clip, clip, "--object", "Body")
    sentence = command_message(capsys, "bake", path, "--clip", tmp_path)
    assert f"“{tmp_path}” is a folder" in sentence and "name the clips in it" in sentence
    bad = tmp_path / "bad.thew"
    bad.write_bytes(clip.read_bytes()[:1000])
    assert "cut off" in command_message(capsys, "bake", path, "--clip", bad)
    bad.write_bytes(b"nothing of ours, and long enough to look like something else")
    assert "not a Thew file" in command_message(capsys, "bake", path, "--clip", bad)
    assert "holds a shot, not a clip" in command_message(
        capsys, "bake", path, "--clip", tmp_path / "hero.Body.shot.thew"
    )
    body, poses = (
        thew.Clip.load(clip).body,
        np.tile(np.eye(4), (3, len(thew.Clip.load(clip).body.skeleton.names), 1, 1)),
    )
    note = json.loads(thew.Clip.load(clip).notes["blender"])
    forged = {
        "": "not exported from Blender",
        "{": "not exported from Blender",
        "[]": "not exported from Blender",
        json.dumps({**note, "format": 99}): "another version",
        json.dumps({**note, "extra": 1}): "not exported from Blender",
        json.dumps({**note, "start": "one"}): "not exported from Blender",
        json.dumps({**note, "end": 10**12}): "not exported from Blender",
        json.dumps({**note, "scale": float("nan")}): "not exported from Blender",
        json.dumps({**note, "path": [[float("nan")] * 3] * 21}): "not exported from Blender",
        json.dumps({**note, "begun": [0, -5, 0]}): "not exported from Blender",
        json.dumps({**note, "object": "Nobody"}): "exported from “Nobody”, which is not in the scene",
        json.dumps(note): "does not hold the frames",
    }
    for text, words in forged.items():
        thew.Shot(body, poses, 24, notes={"blender": text}).simulate().save(bad)
        sentence = command_message(capsys, "bake", path, "--clip", bad)
        assert words in sentence, (text[:40], sentence)
    thew.simulate(body, poses, 24).save(bad)
    assert "not exported from Blender" in command_message(capsys, "bake", path, "--clip", bad)


def test_export_refusals(exported_shot, capsys, tmp_path):
    """An impossible export is refused with a message."""
    path, _ = exported_shot
    assert "no folder" in command_message(capsys, "export", path, "--out", tmp_path / "missing" / "deeper")
    assert "cannot be made (Not a directory)" in command_message(capsys, "export", path, "--out", path / "shots")
    assert not (tmp_path / "missing").exists()
    assert "no object “Nobody”" in command_message(capsys, "export", path, "--object", "Nobody")
    assert "empty" in command_message(capsys, "export", path, "--frames", 9, 2)
    assert "no file" in command_message(capsys, "export", tmp_path / "missing.blend")
    (tmp_path / "hero.Body.shot.thew").unlink()
    (tmp_path / "hero.Body.shot.thew").mkdir()
    assert "cannot be written" in command_message(capsys, "export", path)


def test_export_makes_folder(exported_shot, tmp_path):
    """A folder that is not there is made for the shots."""
    path, _ = exported_shot
    part("cli").export_file(path, out=tmp_path / "shots", say=lambda _: None)
    assert [each.name for each in (tmp_path / "shots").iterdir()] == ["hero.Body.shot.thew"]


def test_export_refuses_beyond_loop(character, scene, capsys, tmp_path):
    """An export beyond the end of a loop is refused with the range to use."""
    body, armature = character
    animate(armature, 1, 41)
    for curve in part("scene.animation").curves_in(armature.animation_data):
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"
    scene.frame_end = 20
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert flesh_of(body).beginning.period == 20
    path = save_file(tmp_path)
    sentence = command_message(capsys, "export", path, "--frames", 1, 60)
    assert "cycle up to frame 20" in sentence and "export frames 1 to 20" in sentence


def test_shot_names_unique(addon):
    """The names of shots differ, also where the file system ignores case."""
    name, taken = part("cli").shot_name, set()
    found = [name(Path("a/hero.blend"), each, taken) for each in ("Body", "body", "B/ody", "B:ody", "Körper")]
    assert found[:4] == [
        "hero.Body.shot.thew",
        "hero.body.2.shot.thew",
        "hero.B_ody.shot.thew",
        "hero.B_ody.2.shot.thew",
    ]
    assert "/" not in found[4]
