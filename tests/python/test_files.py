# SPDX-License-Identifier: MIT OR Apache-2.0
"""Clips and shots in files, and `python -m thew simulate`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shapes
import thew
from thew.__main__ import main

FRAMES = 9


def swings(frames):
    """Returns poses of a swinging elbow."""
    return np.array([shapes.bend(0.6 * np.sin(0.5 * f)) for f in range(frames)])


def bulge():
    """Builds a rig that bulges with its control."""
    samples = [(0.0, {"strength": 0.0}), (1.0, {"strength": 2000.0})]
    guide = thew.BoneGuide(1, along=0.4, distance=0.02)
    return thew.Rig(thew.Template("bulge", radius=0.08, strength=2000.0), guide=guide, samples=samples, name="Bulge")


def controls(frames, first=0):
    """Returns controls that rise by 0.1 a frame."""
    return (0.1 * np.arange(first, first + frames))[:, None]


def simulate_pushed(arm, frames, **settings):
    """Simulates the swinging arm with the bulging rig."""
    return thew.simulate(arm.body, swings(frames), 24, rigs=[bulge()], controls=controls(frames), **settings)


def contents(clip):
    """Returns all that a clip holds, as bytes."""
    shown = [[clip.offsets(f), clip.positions(f), clip.lattice_positions(f)] for f in range(len(clip))]
    arrays = [np.asarray(each).tobytes() for row in shown for each in row]
    counts = (
        clip.inverted_cells.tobytes(),
        clip.max_skin_deviations.tobytes(),
        clip.warnings,
        clip.loop_gap,
        clip.fps,
        clip.nbytes,
    )
    return arrays, counts, None if clip.amplitudes is None else clip.amplitudes.tobytes()


@pytest.mark.parametrize("method", ["hyperelastic", "modal"])
def test_clip_file_round_trip(arm, tmp_path, method):
    """A clip read from its file has the same bits, and goes on with the same bits."""
    path = tmp_path / "clip.thew"
    clip = simulate_pushed(arm, FRAMES, method=method, engine="cpu", preroll=3, max_offset=0.2)
    clip.save(path)
    again = thew.Clip.load(path)
    assert contents(again) == contents(clip)
    assert again.body.node_count == arm.body.node_count and again.body.surface.volume == arm.surface.volume
    for each in (clip, again):
        each.extend(swings(FRAMES + 4)[FRAMES:], controls(4, FRAMES))
    assert contents(again) == contents(clip) and len(again) == FRAMES + 4
    whole = simulate_pushed(arm, FRAMES + 4, method=method, engine="cpu", preroll=3, max_offset=0.2)
    assert np.array_equal(np.asarray(again), np.asarray(whole))


def test_shot_file_round_trip(arm, tmp_path):
    """A shot read from its file simulates to the same bits."""
    settings = {
        "method": "warped",
        "rate": 300.0,
        "gravity": (0.0, 1.0, -9.0),
        "elastic_joints": 0.25,
        "max_offset": 0.3,
    }
    shot = thew.Shot(arm.body, swings(FRAMES), 30, [bulge()], controls(FRAMES), notes={"maker": "ünïcode"}, **settings)
    path = tmp_path / "shot.thew"
    shot.save(path)
    again = thew.Shot.load(path)
    assert (len(again), again.fps, again.method, again.rig_names) == (FRAMES, 30.0, "warped", ["Bulge"])
    assert again.notes == {"maker": "ünïcode"}
    clip = again.simulate()
    whole = thew.simulate(arm.body, swings(FRAMES), 30, [bulge()], controls(FRAMES), **settings)
    assert contents(clip) == contents(whole) and clip.notes == {"maker": "ünïcode"} and whole.notes == {}


def test_shot_file_keeps_modes(arm, tmp_path):
    """A shot keeps its modes, or their number, through a file."""
    modes = thew.modes(arm.body, 6).scaled(1.5)
    for given in (modes, 6):
        shot = thew.Shot(arm.body, swings(5), 24, method="modal", modes=given, engine="cpu", precision="f16")
        shot.save(tmp_path / "shot.thew")
        assert contents(thew.Shot.load(tmp_path / "shot.thew").simulate()) == contents(shot.simulate())


def test_shot_properties_and_replace(arm):
    """A shot returns its settings, and `replace` changes those given and no others."""
    poses = np.stack([shapes.bend(a) for a in (0.0, 0.2, 0.1)])
    collider = thew.Collider.plane([0.0, 0.0, -1.0], [0.0, 0.0, 1.0])
    given = {
        "fps": 30.0,
        "preroll": 2,
        "cyclic": False,
        "notes": {"scene": "one"},
        "method": "warped",
        "rate": 480.0,
        "mass_damping": 3.0,
        "stiffness_damping": 0.002,
        "max_offset": 0.25,
        "form": "vertex",
        "precision": "f16",
        "engine": "cpu",
        "solver": "direct",
        "elastic_joints": 0.5,
        "name": "arm",
    }
    shot = thew.Shot(arm.body, poses, gravity=(1.0, 2.0, -3.0), colliders=[collider], contact=thew.Contact(), **given)
    for name, value in given.items():
        assert getattr(shot, name) == value, name
    np.testing.assert_array_equal(shot.poses, poses)
    np.testing.assert_array_equal(shot.gravity, [1.0, 2.0, -3.0])
    assert (shot.rigs, shot.controls, shot.modes, len(shot.colliders)) == ([], None, None, 1)
    assert repr(shot.contact) == repr(thew.Contact())
    # With nothing changed it moves by the same bits; what is changed alone is another.
    same, slower = shot.replace(), shot.replace(rate=240.0, name="slow")
    np.testing.assert_array_equal(np.asarray(same.simulate()), np.asarray(shot.simulate()))
    assert (slower.rate, slower.name, slower.fps, slower.notes) == (240.0, "slow", 30.0, {"scene": "one"})
    assert shot.rate == 480.0 and shot.__replace__(fps=25.0).fps == 25.0
    with pytest.raises(TypeError, match="speed"):
        shot.replace(speed=2.0)
    with pytest.raises(thew.InputError, match="rate"):
        shot.replace(rate=-1.0)


def test_shot_modes_and_controls(arm):
    """A shot returns its modes, rigs and controls."""
    poses = np.stack([shapes.bend(0.0), shapes.bend(0.1)])
    template = thew.Template("radial", radius=0.1, strength=100.0)
    rig = thew.Rig(template, thew.BoneGuide("upper"), [(0.0, {"strength": 0.0}), (1.0, {})])
    shot = thew.Shot(arm.body, poses, 24.0, rigs=[rig], controls=[[0.0], [0.5]], method="modal", modes=5)
    assert shot.rigs == [rig] and shot.modes == 5
    np.testing.assert_array_equal(shot.controls, [[0.0], [0.5]])
    modes = thew.modes(arm.body, 3)
    np.testing.assert_array_equal(shot.replace(modes=modes).modes.eigenvalues, modes.eigenvalues)
    # Modes belong to one method: another one has none.
    assert shot.replace(method="warped").modes is None


def test_shot_refuses_bad_input(arm):
    """A shot refuses bad notes, methods and controls, and can be cancelled."""
    with pytest.raises(thew.InputError, match="rigs"):
        thew.Shot(arm.body, swings(3), 24, notes={"rigs": "mine"})
    with pytest.raises(thew.InputError, match="method"):
        thew.Shot(arm.body, swings(3), 24, method="magic")
    with pytest.raises(thew.InputError, match="controls"):
        thew.Shot(arm.body, swings(3), 24, [bulge()], controls(2))
    with pytest.raises(thew.Cancelled):
        thew.Shot(arm.body, swings(5), 24).simulate(lambda _fraction, _stage: False)


@pytest.mark.parametrize("kind", ["shot", "clip"])
def test_load_refuses_bad_files(arm, tmp_path, kind):
    """Damaged, foreign and missing files are refused with a sentence."""
    path, other = tmp_path / "good.thew", tmp_path / "other.thew"
    shot = thew.Shot(arm.body, swings(3), 24)
    shot.save(path if kind == "shot" else other)
    shot.simulate().save(path if kind == "clip" else other)
    load = thew.Shot.load if kind == "shot" else thew.Clip.load
    good = path.read_bytes()
    bad = tmp_path / "bad.thew"

    def message(data):
        bad.write_bytes(data)
        with pytest.raises(thew.StorageError) as error:
            load(bad)
        return str(error.value)

    assert "cut off" in message(good[: len(good) // 2])
    assert "not a Thew file" in message(b"a foreign file that is long enough for a header of ours")
    assert "not a Thew file" in message(b"")
    assert "version 99" in message(good[:8] + bytes([99, 0, 0, 0]) + good[12:])
    assert "damaged" in message(good[:-1] + bytes([good[-1] ^ 1]))
    assert f"not a {kind}" in message(other.read_bytes())
    with pytest.raises(thew.StorageError, match=r"cannot be read: there is no such file.*check the path"):
        load(tmp_path / "missing.thew")
    with pytest.raises(thew.StorageError, match="cannot be read: it is a folder"):
        load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes in folders")
def test_load_refuses_pipes(arm, tmp_path):
    """Loading refuses a pipe and does not wait for it."""
    os.mkfifo(tmp_path / "pipe")
    for load in (thew.Clip.load, thew.Shot.load):
        with pytest.raises(thew.StorageError, match="plain file"):
            load(tmp_path / "pipe")


def test_clip_save_failure_keeps_file(arm, tmp_path):
    """A clip that cannot be written leaves the earlier file as it was."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "clip.thew"
    clip = thew.simulate(arm.body, swings(3), 24)
    clip.save(path)
    before = path.read_bytes()
    code = (
        "import resource, signal, sys, thew\n"
        "clip = thew.Clip.load(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "try:\n    clip.save(sys.argv[1])\n"
        "except thew.StorageError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert "cannot be written" in done.stdout
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["clip.thew"]
    assert resource.RLIMIT_FSIZE >= 0


# the command ----------------------------------------------------------------------------------------------------------


def test_command_simulates_shot(arm, tmp_path):
    """The command simulates a shot in a process of its own."""
    shot = thew.Shot(arm.body, swings(FRAMES), 24, [bulge()], controls(FRAMES))
    shot.save(tmp_path / "shot.thew")
    words = [sys.executable, "-m", "thew", "simulate", "shot.thew", "-o", "clip.thew"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment_elsewhere())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"clip.thew: {FRAMES} frames") and "100 %" in done.stderr
    assert contents(thew.Clip.load(tmp_path / "clip.thew")) == contents(simulate_pushed(arm, FRAMES))


def environment_elsewhere():
    """Returns the environment of a process in another folder."""
    return {**os.environ, "PYTHONPATH": str(Path(thew.__file__).parents[1])}


def test_command_checks_first(arm, tmp_path, capsys):
    """The command says what is wrong with its paths before it works."""
    shot = tmp_path / "shot.thew"
    thew.Shot(arm.body, swings(2), 24).save(shot)

    def message(*words):
        assert main(["simulate", *map(str, words)]) == 1
        out, err = capsys.readouterr()
        assert out == "" and "Traceback" not in err
        return err

    assert "is the shot itself" in message(shot, "-o", shot)
    assert "cannot be written" in message(shot, "-o", tmp_path / "no folder" / "clip.thew")
    assert "cannot be read" in message(tmp_path / "missing.thew", "-o", tmp_path / "clip.thew")
    assert os.listdir(tmp_path) == ["shot.thew"]
    assert main(["simulate", str(shot), "-o", str(tmp_path / "clip.thew"), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert "not a shot" in message(tmp_path / "clip.thew", "-o", tmp_path / "other.thew")


def test_command_one_shot_into_folder(arm, tmp_path, capsys):
    """The command writes a single shot into a folder, as it does several: a glob may find just one."""
    thew.Shot(arm.body, swings(2), 24).save(tmp_path / "hero.shot.thew")
    (tmp_path / "clips").mkdir()
    assert main(["simulate", str(tmp_path / "hero.shot.thew"), "-o", str(tmp_path / "clips")]) == 0
    assert os.listdir(tmp_path / "clips") == ["hero.clip.thew"]
    assert "hero.clip.thew: 2 frames" in capsys.readouterr().out


def test_command_failed_shot_among_others(arm, tmp_path, capsys):
    """A shot that fails does not stop the others; the exit status and the JSON output say so."""
    good, bad, last = (tmp_path / f"{name}.shot.thew" for name in ("a", "b", "c"))
    for path in (good, last):
        thew.Shot(arm.body, swings(2), 24).save(path)
    bad.write_bytes(good.read_bytes()[:-9])
    out = tmp_path / "clips"
    out.mkdir()
    assert main(["simulate", str(good), str(bad), str(last), "-o", str(out), "--json", "--threads", "1"]) == 2
    jobs = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [Path(job["out"]).name for job in jobs] == ["a.clip.thew", "b.clip.thew", "c.clip.thew"]
    assert [bool(job["error"]) for job in jobs] == [False, True, False] and "b.shot.thew" in jobs[1]["error"]
    for job in (jobs[0], jobs[2]):
        assert job["frames"] == 2 and job["bytes"] == Path(job["out"]).stat().st_size and job["seconds"] > 0.0
    assert sorted(os.listdir(out)) == ["a.clip.thew", "c.clip.thew"]
    assert main(["simulate", str(bad), str(bad.with_name("d.shot.thew")), "-o", str(out)]) == 1
    # Together they are one simulation: all or nothing.
    assert main(["simulate", str(good), str(bad), "--together", "-o", str(out)]) == 1
    capsys.readouterr()
    assert main(["simulate", str(good), str(bad), "--together", "-o", str(out), "--json"]) == 1
    assert main(["simulate", str(bad), "-o", str(out / "bad.thew"), "--json"]) == 1
    errors = [json.loads(line)["error"] for line in capsys.readouterr().out.splitlines()]
    assert len(errors) == 3 and all("b.shot.thew" in error for error in errors)


def test_command_interrupted_keeps_clips(arm, tmp_path, monkeypatch, capsys):
    """An interrupted command keeps the clips that it has written."""
    for name in "ab":
        thew.Shot(arm.body, swings(2), 24).save(tmp_path / f"{name}.shot.thew")
    (tmp_path / "clips").mkdir()

    def stop_in_second_half(_bar, fraction, _stage):
        if fraction > 0.5:
            raise KeyboardInterrupt

    monkeypatch.setattr("thew.__main__.Bar.__call__", stop_in_second_half)
    shots = [str(tmp_path / f"{name}.shot.thew") for name in "ab"]
    assert main(["simulate", *shots, "-o", str(tmp_path / "clips")]) == 130
    assert os.listdir(tmp_path / "clips") == ["a.clip.thew"]
    assert "the reported clips are written" in capsys.readouterr().err


def test_command_interrupted_writes_nothing(arm, tmp_path, monkeypatch, capsys):
    """A command interrupted in its only shot writes nothing."""
    shot = tmp_path / "shot.thew"
    thew.Shot(arm.body, swings(6), 24).save(shot)

    def stop(_bar, _fraction, _stage):
        raise KeyboardInterrupt

    monkeypatch.setattr("thew.__main__.Bar.__call__", stop)
    assert main(["simulate", str(shot), "-o", str(tmp_path / "clip.thew")]) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["shot.thew"]


def test_command_several_shots(tmp_path, capsys):
    """The command simulates several shots each alone, or together as one scene."""
    body, names = ball(), ("anna.shot.thew", "bert.thew")
    poses = [np.stack([shapes.turn_about(np.zeros(3), shift=(x, 0, 0))[None]] * 4) for x in (0.0, 0.34)]
    shots = [thew.Shot(body, run, 24, contact=thew.Contact()) for run in poses]
    paths = [tmp_path / name for name in names]
    for shot, path in zip(shots, paths, strict=True):
        shot.save(path)
    made = []
    for folder, words in (("apart", []), ("together", ["--together"])):
        out = tmp_path / folder
        out.mkdir()
        assert main(["simulate", *map(str, paths), "-o", str(out), *words]) == 0
        assert sorted(os.listdir(out)) == ["anna.clip.thew", "bert.clip.thew"]
        told = capsys.readouterr()
        assert told.out.count("4 frames") == 2 and "100 %" in told.err
        made.append([contents(thew.Clip.load(out / name)) for name in sorted(os.listdir(out))])
    assert made[0] == [contents(shot.simulate()) for shot in shots]
    assert made[1] == [contents(clip) for clip in thew.simulate_shots(shots)] != made[0]


def ball():
    """Builds flesh around a short bone in the middle of a ball of 0.2 m."""
    surface = thew.Surface(*shapes.ball())
    skeleton = thew.Skeleton(["core"], [-1], [[0.0, -0.02, 0.0]], [[0.0, 0.02, 0.0]])
    weights = np.ones((len(surface.vertices), 1))
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=6)
    return thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)


def test_command_refuses_bad_shots(arm, tmp_path, capsys):
    """The command says what is wrong with several shots and writes nothing."""
    kept, clips, other = tmp_path / "kept", tmp_path / "clips", tmp_path / "other"
    for folder in (kept, clips, other):
        folder.mkdir()
    for name, poses, more in (
        ("a", 3, {}),
        ("b", 4, {}),
        ("c", 3, {"cyclic": True}),
        ("d", 3, {"method": "neohookean"}),
    ):
        thew.Shot(arm.body, swings(poses), 24, **more).save(kept / f"{name}.shot.thew")
    thew.Shot(arm.body, swings(3), 24).save(other / "a.thew")
    a, b, c, d = (kept / f"{name}.shot.thew" for name in "abcd")
    for words, sentence in (
        ((a, b, "-o", tmp_path / "nowhere"), "make it first"),
        ((a, "--together", "-o", clips / "clip.thew"), "there is no folder"),
        ((a, "-o", f"{tmp_path}/no/made/"), "cannot be made (No such file or directory)"),
        ((a, "-o", f"{a}/"), "cannot be made (File exists)"),
        ((tmp_path / "missing.thew", "-o", f"{clips}/made/"), "cannot be read"),
        ((a, other / "a.thew", "-o", clips), "would both be written to"),
        ((a, tmp_path / "missing.thew", "-o", clips), "cannot be read"),
        ((a, b, "--together", "-o", clips), f"{b} has 4 poses, but the first has 3"),
        ((a, b, "--together", "-o", clips), "export them with Other Flesh on and the same --frames"),
        ((a, c, "--together", "-o", clips), f"{c} is a cycle, but the first is not"),
        ((a, d, "--together", "-o", clips), f"{d}: the method 'neohookean' does not support contact"),
    ):
        assert main(["simulate", *map(str, words)]) == 1
        out, err = capsys.readouterr()
        assert sentence in err and out == "" and "Traceback" not in err, err
        assert os.listdir(clips) == []
    for shots in ([a], [a, b]):  # a slash at the end names a folder, which is made
        made = tmp_path / f"made {len(shots)}"
        assert main(["simulate", *map(str, shots), "-o", f"{made}/"]) == 0
        assert sorted(os.listdir(made)) == [f"{shot.name[0]}.clip.thew" for shot in shots]
    plain = tmp_path / "x.clip.thew"
    a.rename(plain)
    assert main(["simulate", str(plain), str(b), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "x.clip.clip.thew").is_file()
