# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings and looks of `blender --command thew bake`: keyed settings, damping, the share that is shown, riders."""

from __future__ import annotations

import json

import bpy
import numpy as np
import pytest
from helpers import make_body, make_character, part


@pytest.fixture
def saved_file(scene, tmp_path):
    """Saves a file with a character of two meshes."""
    _, rig = make_character()
    make_body(rig, name="Shirt", rings=9)
    path = tmp_path / "character.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def run(*words) -> int:
    return part("cli").main(["bake", *(str(word) for word in words)])


def json_lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]


def test_command_own_damping(saved_file, tmp_path):
    """--set mass_damping=none gives a character whose file has a number its own damping back; a number counts as one."""
    out = tmp_path / "set.blend"
    bpy.data.objects["Body"].thew.mass_damping = bpy.data.objects["Body"].thew.stiffness_damping = 0.5
    bpy.ops.wm.save_mainfile()
    words = ("mass_damping=null", "stiffness_damping=0.25")
    assert run(saved_file, "--object", "Body", "--frames", 1, 2, "--out", out, "--set", *words) == 0
    bpy.ops.wm.open_mainfile(filepath=str(out))
    body = bpy.data.objects["Body"]
    own = part("live.build_settings").BuildSettings.from_object(body, bpy.context.scene).simulation
    assert own.mass_damping is None and own.stiffness_damping == 0.25


@pytest.mark.parametrize("way", ["keys", "driver"])
def test_command_refuses_keyed_settings(saved_file, capsys, way):
    """A value for a setting that is keyed or driven is refused, for it would change nothing; other settings are taken."""
    body, scene = bpy.data.objects["Body"], bpy.context.scene
    for owner, path in ((body, "thew.softness"), (scene, "gravity")):
        if way == "keys":
            owner.keyframe_insert(path, frame=1)
        else:
            owner.driver_add(path)
    bpy.ops.wm.save_mainfile()
    before = saved_file.read_bytes()
    for word, name in (("softness=0.2", "softness of “Body”"), ("gravity=[0, 0, -1]", "gravity of “Scene”")):
        assert run(saved_file, "--object", "Body", "--set", word) == 1
        told = capsys.readouterr().err
        assert f"The setting {name} is keyed or driven" in told and "leave the setting out" in told
    assert saved_file.read_bytes() == before
    part("operators.command_settings").apply(bpy.data.objects["Body"], bpy.context.scene, {"influence": 0.5})
    assert bpy.data.objects["Body"].thew.influence == 0.5


def test_command_reports_influence(saved_file, tmp_path, capsys):
    """The report and the look are of the flesh that is shown: half of it at half Influence."""
    distances, moved = [], []
    for share in (1.0, 0.5):
        out = tmp_path / f"{share}.blend"
        words = ("--frames", 1, 8, "--look", "--json", "--out", out, "--set", f"influence={share}")
        assert run(saved_file, "--object", "Body", *words) == 0
        distances += [line["worst_frame"]["distance"] for line in json_lines(capsys)]
        with np.load(out.with_suffix(".look.npz")) as look:
            moved.append(look["shown"] - look["skin"])
    assert distances[1] == pytest.approx(0.5 * distances[0], rel=1e-5) and distances[0] > 1e-3
    np.testing.assert_allclose(moved[1], 0.5 * moved[0], atol=1e-6)


def test_command_look_refused_by_disk(saved_file, tmp_path, capsys):
    """A look that the disk does not take is a sentence; the .blend beside it is whole, and no part of the look stays."""
    out = tmp_path / "full.blend"
    out.with_suffix(".look.npz").mkdir()
    assert run(saved_file, "--object", "Body", "--frames", 1, 4, "--look", "--out", out) == 1
    said = capsys.readouterr()
    assert "full.look.npz" in said.out + said.err and "has been saved" in said.out + said.err
    assert "Traceback" not in said.err
    assert out.exists() and not [*tmp_path.glob(".*")]


@pytest.mark.parametrize("words", [(), ("--finish",)])
def test_command_look_of_rider(saved_file, tmp_path, words, capsys):
    """A rider's look is that of its body, and a finished bake has a look too."""
    assert run(saved_file, "--frames", 1, 4) == 0
    out = tmp_path / "shirt.blend"
    name = "Body" if words else "Shirt"
    assert run(saved_file, "--object", name, "--frames", 1, 4, "--look", "--out", out, *words) == 0
    with np.load(out.with_suffix(".look.npz")) as look:
        assert (
            look["shown"].shape
            == look["skin"].shape
            == (len(look["frames"]), len(bpy.data.objects["Body"].data.vertices), 3)
        )
