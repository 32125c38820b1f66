# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests `blender --command thew bake` through its body, a plain function."""

from __future__ import annotations

import json
import os
import signal

import bpy
import numpy as np
import pytest
from helpers import animate, make_armature, make_body, make_character, part, play, size_of
from mathutils import Matrix


@pytest.fixture
def saved_file(scene, tmp_path):
    """Saves a file with a character of two meshes and one mesh that cannot be baked."""
    _, rig = make_character()
    make_body(rig, name="Shirt", rings=9)
    bad = make_body(rig, name="Bad", rings=5)
    bad.vertex_groups.clear()
    path = tmp_path / "character.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def run(*words) -> int:
    return part("cli").main(["bake", *(str(word) for word in words)])


def keys_of(name):
    keys = bpy.data.objects[name].data.shape_keys
    return [] if keys is None else [k.name for k in keys.key_blocks if k.name.startswith("Thew ")]


def test_command_whole_character(saved_file, capsys):
    """The command bakes a body and its riders as one press in the window does, and reports each mesh."""
    rig = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    far = make_body(rig, name="Far", rings=5)
    far.data.transform(Matrix.Translation((0.0, 0.0, 50.0)) @ Matrix.Scale(0.1, 4))
    bpy.ops.wm.save_mainfile()
    assert run(saved_file, "--frames", 1, 12) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert "Body: “Bad” and “Shirt” ride on “Body”." in lines
    assert "Body: “Far” keeps its plain skin: it lies away from “Body”." in lines
    body = next(line for line in lines if "cells" in line)
    assert body.startswith("Body: ") and "12 keys" in body and "own motion" in body and "with “Bad” and “Shirt”" in body
    assert any(line.startswith("Far: keeps its plain skin") for line in lines)
    bpy.ops.wm.open_mainfile(filepath=str(saved_file))
    assert all(len(keys_of(name)) == 12 for name in ("Body", "Shirt", "Bad")) and not keys_of("Far")
    shapes = play(bpy.data.objects["Body"], range(1, 13))
    assert np.abs(np.diff(shapes, axis=0)).max() > 1e-3


def test_command_object_out(saved_file, tmp_path, capsys):
    """The command bakes one object into another file, and leaves the source as it was."""
    out = tmp_path / "out.blend"
    before = saved_file.read_bytes()
    assert run(saved_file, "--object", "Shirt", "--out", out) == 0
    assert saved_file.read_bytes() == before
    bpy.ops.wm.open_mainfile(filepath=str(out))
    assert len(keys_of("Shirt")) == 20 and not keys_of("Body")


@pytest.mark.parametrize("space", ["rest", "posed"])
def test_command_finish(saved_file, space, capsys):
    """With --finish nothing of the flesh is left in the file, and it moves as the unfinished bake does."""
    assert run(saved_file, "--object", "Body", "--space", space) == 0
    assert f"20 keys of flesh {'alone' if space == 'rest' else 'and bones'}" in capsys.readouterr().out
    baked = play(bpy.data.objects["Body"], range(1, 21))
    assert run(saved_file, "--object", "Body", "--space", space, "--finish") == 0
    bpy.ops.wm.open_mainfile(filepath=str(saved_file))
    body = bpy.data.objects["Body"]
    assert [m.type for m in body.modifiers] == (["ARMATURE"] if space == "rest" else [])
    assert not body.thew.made.flesh and not bpy.data.node_groups
    assert np.abs(play(body, range(1, 21)) - baked).max() < 1e-5 * size_of(baked[0])


def test_command_equals_live(saved_file, scene, tmp_path):
    """The command's keys are the live flesh of the same file with the same settings."""
    bpy.ops.wm.open_mainfile(filepath=str(saved_file))
    body = bpy.data.objects["Body"]
    bpy.context.view_layer.objects.active = body
    bpy.ops.thew.add()
    live = play(body, range(1, 21))
    bpy.ops.wm.save_mainfile()
    assert run(saved_file, "--object", "Body") == 0
    baked = play(bpy.data.objects["Body"], range(1, 21))
    assert np.abs(baked - live).max() < 1e-5 * size_of(live[0])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--object", "Nobody"), "no object “Nobody”"),
        (("--object", "Bad"), "Nothing in"),
        (("--object", "Rig"), "Nothing in"),
        (("--frames", 9, 2), "Nothing in"),
        (("--out", "/nowhere/at/all/out.blend"), "Nothing can be saved to"),
    ],
)
def test_command_refuses(saved_file, capsys, words, said):
    """The command refuses with one sentence, and leaves the file as it was."""
    before = saved_file.read_bytes()
    assert run(saved_file, *words) == 1
    error = capsys.readouterr().err.strip()
    assert said in error and "Traceback" not in error
    assert saved_file.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--error", 5), "--error is for the target compressed"),
        (("--regions", 4, "--target", "pc2"), "--regions is for the target compressed"),
        (("--bones", 3), "--bones is for the target helper_bones"),
        (("--influences", 3, "--target", "compressed"), "--influences is for the target helper_bones"),
        (("--rest-error", 3), "--rest-error is for the target helper_bones"),
        (("--space", "rest", "--target", "pc2"), "always bakes in posed space"),
        (("--actions", "Walk", "--frames", 1, 4), "over its own frames"),
        (("--clips", "all", "--frames", 1, 4), "over its own frames"),
        (("--clips", "all", "--actions", "Walk"), "leave it or --clips all out"),
        (("--modes", 8), "--modes is for the method modal"),
    ],
)
def test_command_refuses_idle_options(saved_file, capsys, words, said):
    """An option that would be of no effect beside the others is refused by a sentence, and the file stays as it was."""
    before = saved_file.read_bytes()
    assert run(saved_file, "--json", *words) == 1
    told = capsys.readouterr()
    assert said in told.err and "Traceback" not in told.err and '"done": false' in told.out
    assert saved_file.read_bytes() == before


def two_characters(tmp_path):
    """Saves a file with a character, and one that cannot have flesh."""
    make_character()
    other = make_armature("Other")
    bare = make_body(other, name="Bare")
    bare.shape_key_add(name="Basis")
    bare.shape_key_add(name="Key")
    bare.data.shape_keys.use_relative = False
    path = tmp_path / "two.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def json_lines(capsys):
    """Returns the lines of JSON; Blender writes lines of its own between them."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]


def test_command_exit_status(scene, tmp_path, capsys):
    """The exit status says that a character failed, the others are saved, and JSON says which."""
    path = two_characters(tmp_path)
    assert run(path, "--frames", 1, 8, "--json", "--threads", 1) == 2
    lines = {line["name"]: line for line in json_lines(capsys)}
    assert lines["Body"]["done"] and lines["Body"]["seconds"] > 0.0 and "8 keys" in lines["Body"]["text"]
    assert not lines["Bare"]["done"] and not lines["Bare"]["left"] and "absolute" in lines["Bare"]["text"]
    bpy.ops.wm.open_mainfile(filepath=str(path))
    assert len(keys_of("Body")) == 8
    assert run(path, "--object", "Bare") == 1
    export = part("cli").main
    assert export(["export", str(path), "--frames", "1", "4", "--json", "--out", str(tmp_path)]) == 2
    written = next(line for line in json_lines(capsys) if line["done"])
    assert written["name"] == "Body" and written["file"] == str(tmp_path / "two.Body.shot.thew")


@pytest.mark.parametrize("place", ["no folder/out.blend", "character.blend/out.blend"])
def test_command_unwritable_out(saved_file, tmp_path, capsys, monkeypatch, place):
    """A place that cannot be saved to is refused before the file is opened."""
    monkeypatch.setattr(part("cli"), "open_file", None)  # nothing is even opened
    assert run(saved_file, "--out", tmp_path / place) == 1
    assert "Nothing can be saved to" in capsys.readouterr().err


def bad_folder(tmp_path, kind: str):
    """Returns the path of a folder that cannot be made."""
    path = tmp_path / ("x" * 300 if kind == "long" else kind)
    if kind == "file":
        path.write_bytes(b"a file of the artist's")
    elif kind in {"broken link", "loop"}:
        path.symlink_to(tmp_path / ("gone" if kind == "broken link" else kind))
    return path


@pytest.mark.parametrize("kind", ["file", "broken link", "loop", "long", "no folder/shots"])
def test_export_folder_refused(saved_file, tmp_path, capsys, monkeypatch, kind):
    """A folder that cannot be made is refused with a sentence before the file is opened, and nothing lies in its place."""
    monkeypatch.setattr(part("cli"), "open_file", None)
    place = bad_folder(tmp_path, kind)
    left = sorted(tmp_path.iterdir())
    assert part("cli").main(["export", str(saved_file), "--out", str(place)]) == 1
    said = capsys.readouterr().err
    assert "choose another one with --out" in said and "Traceback" not in said and "Errno" not in said
    assert sorted(tmp_path.iterdir()) == left


@pytest.mark.parametrize("kind", ["long", "file/out.blend"])
def test_command_out_refused(saved_file, tmp_path, capsys, monkeypatch, kind):
    """A name that no file can have is refused with a sentence before the file is opened."""
    monkeypatch.setattr(part("cli"), "open_file", None)
    bad_folder(tmp_path, "file")
    assert run(saved_file, "--out", bad_folder(tmp_path, kind)) == 1
    assert "Nothing can be saved to" in capsys.readouterr().err


def test_command_long_names(saved_file, capsys):
    """Files with names that are too long are said to be missing."""
    long = "x" * 300
    assert part("cli").main(["export", long]) == 1 and "There is no file" in capsys.readouterr().err
    assert run(saved_file, "--clip", long) == 1 and "Traceback" not in capsys.readouterr().err


def test_export_folder_of_failure(scene, tmp_path, capsys):
    """No new folder is left where nothing is exported, and a folder that was there stays."""
    gone = tmp_path / "gone.blend"
    for place, was in ((tmp_path / "new", False), (tmp_path, True)):
        assert part("cli").main(["export", str(gone), "--out", str(place)]) == 1
        assert "There is no file" in capsys.readouterr().err
        assert place.exists() == was


def test_command_out_folder(saved_file, tmp_path, capsys):
    """A folder takes the bake under the name of its file."""
    (tmp_path / "baked").mkdir()
    before = saved_file.read_bytes()
    assert run(saved_file, "--object", "Body", "--out", tmp_path / "baked") == 0
    assert saved_file.read_bytes() == before
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked" / saved_file.name))
    assert keys_of("Body")


def test_command_settings(saved_file, tmp_path, capsys):
    """--set takes settings by their names in Python and refuses others, values out of range and of another kind."""
    out = tmp_path / "set.blend"
    words = ("rate=300", "gravity=[0, 0, -3.5]", "max_offset=none", "softness=0.75", "method=warped", "engine=cpu")
    assert run(saved_file, "--object", "Body", "--frames", 1, 4, "--out", out, "--set", *words) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    body = bpy.data.objects["Body"]
    settings = part("live.build_settings").BuildSettings.from_object(body, bpy.context.scene)
    own = settings.simulation
    assert (own.rate, own.max_offset, own.method, own.engine, settings.softness) == (300.0, None, "warped", "cpu", 0.75)
    np.testing.assert_allclose(own.gravity, (0.0, 0.0, -3.5))
    capsys.readouterr()
    for word, told in (
        ("rte=3", "is it “rate”?"), ("rate=-3", "is 1 to 10000, not -3"), ("rate=fast", "is a number"),
        ("method=magic", "cannot be “magic”"), ("rate", "write a name and a value"), ("name=x", "There is no setting “name”"),
    ):  # fmt: skip
        assert run(saved_file, "--object", "Body", "--out", tmp_path / "no.blend", "--set", word) == 1
        assert told in capsys.readouterr().err and not (tmp_path / "no.blend").exists()


def test_command_refused_mesh(saved_file, capsys):
    """A mesh of a character that cannot be taken counts as failed; the others are saved."""
    rig = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    flat = make_body(rig, name="Flat", rings=5)
    flat.data.transform(Matrix.Scale(0.0, 4))
    bpy.ops.wm.save_mainfile()
    assert run(saved_file, "--frames", 1, 4, "--json") == 2
    lines = {line["name"]: line for line in json_lines(capsys)}
    assert not lines["Flat"]["done"] and not lines["Flat"]["left"] and "no surface" in lines["Flat"]["text"]
    assert lines["Body"]["done"] and lines["Body"]["frames"] == 4 and 1 <= lines["Body"]["worst_frame"]["frame"] <= 4
    assert run(saved_file, "--object", "Nobody", "--json") == 1
    (line,) = json_lines(capsys)
    assert not line["done"] and "no object" in line["text"]


@pytest.fixture
def blenders_handler():
    """Gives Ctrl-C a handler outside Python, as Blender has one: it raises nothing. Python's own comes back."""
    import ctypes

    if os.name == "nt":
        pytest.skip("signals are POSIX's")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored, as in a shell's background
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
    libc.signal(signal.SIGINT, ctypes.cast(libc.abs, ctypes.c_void_p))
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", ["frame", "native"])
@pytest.mark.parametrize("command", ["bake", "export"])
def test_command_interrupted(saved_file, tmp_path, capfd, monkeypatch, blenders_handler, command, place, number):
    """A signal ends a command with status 130, also in an event of Blender, which forgets exceptions; the file is as it was."""
    sent, handlers = [], bpy.app.handlers.frame_change_post

    def send(*_given):
        if not sent:
            sent.append(True)
            signal.raise_signal(number)

    @bpy.app.handlers.persistent
    def send_at_frame(*_given):
        send()

    if place == "frame":
        handlers.append(send_at_frame)
    else:
        work = part("logic.tasks").Work

        def sending(text, call, *shares):
            return work(text, lambda progress: (send(), call(progress))[1], *shares)

        monkeypatch.setattr(part("live.building"), "Work", sending)
    before, left = saved_file.read_bytes(), {path.name for path in tmp_path.iterdir()}
    out = tmp_path / ("out.blend" if command == "bake" else "shots")
    words = ["--target", "pc2"] if command == "bake" else []
    try:
        assert part("cli").main([command, str(saved_file), "--out", str(out), *words]) == 130
    finally:
        if place == "frame":
            handlers.remove(send_at_frame)
    told = capfd.readouterr().err
    assert sent and "Stopped" in told and "Traceback" not in told
    assert saved_file.read_bytes() == before and {path.name for path in tmp_path.iterdir()} == left


def test_command_interrupted_once(saved_file, blenders_handler):
    """A signal that came to one command does not stop the next one, and the former handlers are back."""
    interrupts, before = part("operators.command_interrupts"), signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), interrupts.caught():
        signal.raise_signal(signal.SIGTERM)
        interrupts.check()
    assert signal.getsignal(signal.SIGTERM) is before
    assert run(saved_file, "--object", "Shirt", "--frames", 1, 2) == 0


def test_command_full_disk(saved_file, capsys):
    """A full disk leaves the file as it was and no half-written file beside it."""
    resource = pytest.importorskip("resource")

    before, limits = saved_file.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        assert run(saved_file) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert "cannot save" in capsys.readouterr().err
    assert saved_file.read_bytes() == before
    assert [path.name for path in saved_file.parent.glob("*.blend*")] == [saved_file.name]


def test_command_replaces_file(saved_file, tmp_path, capsys):
    """The replaced file keeps its mode and the symbolic links to it, and other files stay."""
    saved_file.chmod(0o640)
    link, twin, other = (tmp_path / name for name in ("link.blend", "twin.blend", f"{saved_file.stem}.part.blend"))
    link.symlink_to(saved_file.name)
    twin.hardlink_to(saved_file)
    other.write_bytes(b"a file of the artist's")
    left = tmp_path / f".{saved_file.stem}.1234.part.blend"
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    before = saved_file.read_bytes()
    assert run(link, "--object", "Body") == 0
    assert link.is_symlink() and saved_file.stat().st_mode & 0o777 == 0o640
    # Whole or not at all: a file cannot be replaced under two names at once.
    assert saved_file.read_bytes() != before and twin.read_bytes() == before
    assert other.read_bytes() == b"a file of the artist's" and not left.exists()
    assert [path for path in tmp_path.iterdir() if path.name.endswith(".part.blend")] == [other]


def test_command_scripts(saved_file, tmp_path, capsys):
    """A file's scripts run only with --scripts."""
    bpy.ops.wm.open_mainfile(filepath=str(saved_file))
    trace = tmp_path / "it ran"
    text = bpy.data.texts.new("startup.py")
    text.write(f"open({str(trace)!r}, 'w').close()")
    text.use_module = True
    bpy.ops.wm.save_as_mainfile(filepath=str(saved_file))
    assert run(saved_file, "--object", "Body", "--out", tmp_path / "a.blend") == 0
    assert not trace.exists() and "give --scripts if you trust them" in capsys.readouterr().out
    assert run(saved_file, "--object", "Body", "--scripts", "--out", tmp_path / "b.blend") == 0
    assert trace.exists() and "--scripts" not in capsys.readouterr().out


def test_command_unreadable_file(tmp_path, capsys, scene):
    """A missing or foreign file is refused by a sentence."""
    assert run(tmp_path / "missing.blend") == 1
    assert "There is no file" in capsys.readouterr().err
    bad = tmp_path / "bad.blend"
    bad.write_text("this is no .blend file")
    assert run(bad) == 1
    assert "cannot open" in capsys.readouterr().err


def test_command_empty_file(scene, tmp_path, capsys):
    """A file without characters is refused by a sentence."""
    animate(make_armature())
    path = tmp_path / "empty.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert run(path) == 1
    assert "nothing to bake" in capsys.readouterr().err


def test_command_help(addon, capsys):
    """The command's help explains its arguments, and an unknown command fails."""
    with pytest.raises(SystemExit) as end:
        part("cli").main(["bake", "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    for word in ("FILE", "--object", "--frames", "--space", "--finish", "--out"):
        assert word in said
    with pytest.raises(SystemExit) as end:
        part("cli").main(["cook"])
    assert end.value.code != 0


def test_command_bakes_rigs(scene, tmp_path, capsys):
    """The command bakes the rigs too."""
    body, _ = make_character()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    plain = play(body, range(1, 13))
    assert bpy.ops.thew.rig_add(bone="Spine") == {"FINISHED"}
    assert bpy.ops.thew.rig_driver(bone="Spine") == {"FINISHED"}
    live = play(body, range(1, 13))
    assert bpy.ops.thew.settle() == {"FINISHED"}
    path = tmp_path / "rigged.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert run(path, "--frames", 1, 12) == 0
    assert "12 keys" in capsys.readouterr().out
    bpy.ops.wm.open_mainfile(filepath=str(path))
    baked = play(bpy.data.objects["Body"], range(1, 13))
    assert np.abs(live - plain).max() > 1e-3
    np.testing.assert_allclose(baked, live, atol=1e-5 * size_of(live[0]))


def test_command_compressed(saved_file, capsys):
    """The command takes the error and the regions of compressed keys, and refuses numbers out of range."""
    chosen = saved_file, "--object", "Body", "--frames", 1, 8, "--target", "compressed"
    assert run(*chosen, "--error", 1.5, "--regions", 2) == 0
    bpy.ops.wm.open_mainfile(filepath=str(saved_file))
    (bake,) = bpy.data.objects["Body"].thew.bakes
    assert bake.regions == 2 and bake.tolerance == pytest.approx(1.5e-3) and bake.clips[0].error <= 1.5e-3
    for words, told in ((("--regions", 0), "0 regions: choose 1 to 64"), (("--bones", 0), "0 bones: choose 1 to 256")):
        with pytest.raises(SystemExit):
            run(*chosen, *words)
        assert told in capsys.readouterr().err
    for error in ("0", "nan"):
        with pytest.raises(SystemExit):
            run(*chosen, "--error", error)
        assert "choose more than 0" in capsys.readouterr().err
