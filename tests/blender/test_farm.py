# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests `blender --command thew farm` with .blend rows: each is baked in a Blender of its own, here the module bpy."""

from __future__ import annotations

import json
from pathlib import Path

import bpy
import numpy as np
import pytest
from conftest import in_one_blender
from helpers import make_character, part, play
from mathutils import Matrix


@pytest.fixture
def saved_file(scene, tmp_path):
    """Saves a file with a character, whose picture lies beside it."""
    make_character()
    image = bpy.data.images.new("skin", 4, 4)
    image.filepath_raw, image.file_format, image.use_fake_user = str(tmp_path / "skin.png"), "PNG", True
    image.save()
    path = tmp_path / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    image.filepath = "//skin.png"
    bpy.ops.wm.save_mainfile()
    return path


def run(table: Path, out: Path, *words) -> int:
    """Runs a table as Blender's command does."""
    return part("cli").main(["farm", "run", str(table), "--out", str(out), "--processes", "--workers", "1", *words])


def records(capsys) -> list[dict]:
    """Returns the records that the command told."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]


def table_of(folder: Path, *rows: str) -> Path:
    """Writes a table in CSV."""
    table = folder / "jobs.csv"
    table.write_text("\n".join(rows) + "\n")
    return table


def shapes_of(file: Path) -> np.ndarray:
    """Returns what the character of a baked file plays."""
    bpy.ops.wm.open_mainfile(filepath=str(file))
    return play(bpy.data.objects["Body"], range(1, 9))


def test_farm_targets(addon):
    """The farm knows the targets of the extension, and its settings are some that the extension takes."""
    from thew.farm import columns

    assert tuple(key.lower() for key, *_ in part("bake.targets").TARGET_ITEMS) == columns.BLEND_TARGETS
    assert set(columns.settings_of("blend")) <= set(part("operators.command_settings").names())


def test_farm_blend(saved_file, tmp_path, capsys):
    """A row is baked as the command bakes it, into a folder where relative paths still lead to their files; a bad file is told."""
    out, before = tmp_path / "out", saved_file.read_bytes()
    (tmp_path / "bad.blend").write_text("this is no .blend file")
    table = table_of(tmp_path, "file,object,frames,rate,out", "hero.blend,Body,1 8,300,take", "bad.blend,,,,")
    assert run(table, out, "--json") == 2
    told = {record["name"]: record for record in records(capsys)}
    take, bad = told["take"], told["bad"]
    assert take["status"] == "ok" and take["frames"] == 8 and 1 <= take["worst_frame"]["frame"] <= 8
    assert bad["status"] == "failed" and "cannot open" in bad["message"] and not bad["outputs"]
    assert saved_file.read_bytes() == before and not (tmp_path / "hero.thew").exists()
    assert {path.name for path in out.iterdir()} == {"manifest.jsonl", ".thew-farm", "take"}

    shown = shapes_of(out / "take" / "take.blend")
    assert bpy.data.objects["Body"].thew.rate == 300.0
    assert Path(bpy.path.abspath(bpy.data.images["skin"].filepath)).resolve() == (tmp_path / "skin.png").resolve()
    words = ["--object", "Body", "--frames", "1", "8", "--set", "rate=300", "--out", str(tmp_path / "alone.blend")]
    assert part("cli").main(["bake", str(saved_file), *words]) == 0
    np.testing.assert_array_equal(shapes_of(tmp_path / "alone.blend"), shown)

    capsys.readouterr()
    assert run(table, out, "--json") == 2
    assert [record["status"] for record in records(capsys)] == ["skipped", "failed"]


@in_one_blender
def test_farm_caches_lie_in_folder(saved_file, tmp_path, capsys):
    """Files of a bake lie in the folder of the job and are played from its place."""
    table = table_of(tmp_path, "file,frames,target", "hero.blend,1 8,pc2")
    assert run(table, tmp_path / "out") == 0, capsys.readouterr()
    assert not list(tmp_path.glob("*.bakes"))
    (cache,) = (tmp_path / "out" / "hero").rglob("*.pc2")
    shown = shapes_of(tmp_path / "out" / "hero" / "hero.blend")
    assert np.abs(np.diff(shown, axis=0)).max() > 1e-3
    body = bpy.data.objects["Body"]
    # Caches of the flesh, which Blender writes anew when it likes, are no results.
    for each in (tmp_path / "out" / "hero").rglob("*.thew-cache"):
        each.write_bytes(b"another")
    assert run(table, tmp_path / "out") == 0 and "it was present" in capsys.readouterr().out
    paths = [bpy.path.abspath(modifier.filepath) for modifier in body.modifiers if modifier.type == "MESH_CACHE"]
    assert [Path(path).resolve() for path in paths] == [cache.resolve()]
    saved = part("scene.bake_files").files_of(body.thew.bakes[0].clips)
    assert [path.resolve() for path in saved] == [cache.resolve()]


@in_one_blender
def test_farm_wedge(saved_file, tmp_path, capsys):
    """A range of softness makes a file each, softer flesh moves farther, and each has a look for the sheet."""
    rows = ("file,object,frames,softness", "hero.blend,Body,1 8,0.2|0.8")
    assert run(table_of(tmp_path, *rows), tmp_path / "out", "--json") == 0
    told = {record["name"]: record for record in records(capsys)}
    firm, soft = (told[f"hero.Body_softness-{value}"] for value in ("0.2", "0.8"))
    assert firm["worst_frame"]["distance"] < soft["worst_frame"]["distance"]
    for record in (firm, soft):
        with np.load(tmp_path / "out" / record["name"] / f"{record['name']}.look.npz") as look:
            assert look["shown"].shape == look["skin"].shape and len(look["frames"]) == len(look["shown"])
            assert np.abs(look["shown"] - look["skin"]).max() > 1e-4


@in_one_blender
def test_farm_part_of_character(saved_file, tmp_path, capsys):
    """A row whose character has a mesh that cannot be taken has failed, says which, and leaves the others' bakes."""
    from helpers import make_body

    rig = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    make_body(rig, name="Flat", rings=5).data.transform(Matrix.Scale(0.0, 4))
    bpy.ops.wm.save_mainfile()
    assert run(table_of(tmp_path, "file,frames", "hero.blend,1 4"), tmp_path / "out", "--json") == 1
    (record,) = records(capsys)
    assert record["status"] == "failed" and record["message"].startswith("Flat: ") and "no surface" in record["message"]
    assert record["outputs"] and (tmp_path / "out" / record["outputs"][0]["path"]).is_file()
