# SPDX-License-Identifier: GPL-3.0-or-later
"""Point caches: files, the modifier that plays them, actions, removal, and refusals that change nothing."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from file_readers import parse_mdd, parse_pc2
from helpers import activate, evaluated_positions, make_body, part, play, refusal, size_of, snapshot

FRAMES = range(1, 21)


@pytest.fixture
def saved(fleshed_character, tmp_path):
    """Builds (mesh, armature) with flesh, in a saved file."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    return fleshed_character


def files(body) -> list[Path]:
    return [Path(bpy.path.abspath(clip.file)) for bake in body.thew.bakes for clip in bake.clips]


def player(body):
    return next(each for each in body.modifiers if each.type == "MESH_CACHE")


@pytest.mark.parametrize("target", ["PC2", "MDD"])
def test_cache_plays_like_live(saved, target):
    """A cache plays what the flesh showed, Show Live and Show Bake switch, and Remove takes file and modifier."""
    body, _ = saved
    body.modifiers.new("Later", "SMOOTH").iterations = 2
    live, before = play(body, FRAMES), snapshot(body)["modifiers"]
    assert bpy.ops.thew.bake(target=target) == {"FINISHED"}
    size = size_of(live[0])
    assert np.abs(play(body, FRAMES) - live).max() < 1e-6 * size
    (path,) = files(body)
    assert path.parent.name == "hero.bakes" and player(body).filepath.startswith("//")
    rows = parse_pc2(path)[0] if target == "PC2" else parse_mdd(path)[0]
    assert rows.shape == (20, len(body.data.vertices), 3)
    assert not next(each for each in body.modifiers if each.type == "ARMATURE").show_viewport
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert np.array_equal(play(body, FRAMES), live)
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - live).max() < 1e-6 * size
    assert bpy.ops.thew.bake_remove(name=target) == {"FINISHED"}
    assert not path.exists() and not path.parent.exists()
    assert snapshot(body)["modifiers"] == before
    assert np.array_equal(play(body, FRAMES), live)


def health(body):
    """Returns what the panel says about the bake that plays, at frame 3."""
    return part("logic.health").bake_health(part("ui.bake_panel").played_bake(body), 3)


def lose(path) -> None:
    path.unlink()


def damage(path) -> None:
    path.write_bytes(path.read_bytes()[:7])


def cut_short(path) -> None:
    """Leaves a file without its last byte, as a copy that was broken off."""
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("target", ["PC2", "MDD"])
@pytest.mark.parametrize("spoil, told", [(lose, "is gone"), (damage, "is damaged"), (cut_short, "is damaged")])
def test_cache_file_lost(saved, target, spoil, told):
    """The plain skin moves where the file is gone or damaged, and the panel says why; a new bake plays."""
    body, _ = saved
    live = play(body, FRAMES)
    body.thew.influence = 0.0
    plain = play(body, FRAMES)
    body.thew.influence = 1.0
    assert bpy.ops.thew.bake(target=target) == {"FINISHED"}
    assert health(body).level == "GOOD"
    bpy.ops.wm.save_mainfile()
    spoil(files(body)[0])
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    body = bpy.data.objects["Body"]
    np.testing.assert_allclose(play(body, FRAMES), plain, atol=1e-5)
    assert health(body).level == "WARNING" and told in health(body).text
    activate(body)
    assert bpy.ops.thew.bake(target=target) == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    assert health(body).level == "GOOD"


@pytest.mark.parametrize("target", ["PC2", "MDD"])
def test_cache_file_comes_back(saved, target):
    """A file that is moved away while the character plays, and comes back, is followed at the next frame, as the panel says."""
    body, _ = saved
    assert bpy.ops.thew.bake(target=target) == {"FINISHED"}
    baked = play(body, FRAMES)
    (path,) = files(body)
    away = path.rename(path.with_suffix(".away"))
    plain = play(body, FRAMES)
    assert np.abs(plain - baked).max() > 1e-3 and np.abs(plain - plain[0]).max() > 1e-3
    assert "is gone" in health(body).text
    away.rename(path)
    assert np.array_equal(play(body, FRAMES), baked) and health(body).level == "GOOD"


@pytest.mark.parametrize("ending", [".json", ".exr"])
def test_texture_lost(saved, ending):
    """The panel says where the description or the image of a vertex texture is gone."""
    body, _ = saved
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE") == {"FINISHED"}
    assert health(body).level == "GOOD"
    files(body)[0].with_suffix(ending).unlink()
    part("scene.file_states").forget()  # a second later
    assert health(body).text == "The file of the bake is gone: Bake again, or Show Live."


def test_cache_of_edited_mesh(saved):
    """A mesh that gained a vertex by hand is not frozen by its cache, and the panel names both numbers."""
    body, _ = saved
    assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
    play(body, (1, 2))
    count = len(body.data.vertices)
    body.data.vertices.add(1)
    shapes = play(body, (3, 14))
    assert np.abs(shapes[1] - shapes[0]).max() > 1e-3
    assert health(body).text == f"{count + 1} vertices, {count} in the bake: Bake again, or Show Live."


def test_cache_headers(saved):
    """Headers name the first frame and the times of the samples."""
    body, _ = saved
    assert bpy.ops.thew.bake(target="PC2", frame_start=3, frame_end=7) == {"FINISHED"}
    rows, start, rate = parse_pc2(files(body)[0])
    assert (len(rows), start, rate) == (5, 3.0, 1.0) and player(body).frame_start == 3.0
    bpy.context.scene.frame_set(5)
    assert np.abs(evaluated_positions(body) - rows[2]).max() == 0.0
    assert bpy.ops.thew.bake(target="MDD", name="Other", frame_start=3, frame_end=7) == {"FINISHED"}
    _, times = parse_mdd(files(body)[1])
    assert np.allclose(times, np.arange(5) / 24.0)
    assert all(path.exists() for path in files(body)) and len(body.thew.bakes) == 2


def test_cache_shape_keys_and_stretch(saved):
    """The artist's shape keys are in the cache, and time stretching plays it in step."""
    body, _ = saved
    body.shape_key_add(name="Basis")
    key = body.shape_key_add(name="Fat")
    key.points[0].co.x += 0.3
    for frame, value in ((1, 0.0), (20, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    bpy.context.scene.render.frame_map_new = 200
    assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
    baked = play(body, FRAMES)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    live = play(body, FRAMES)
    assert np.abs(live[-1, 0, 0] - live[0, 0, 0]) > 0.1
    assert np.abs(baked - live).max() < 1e-6 * size_of(live[0])


def test_cache_of_actions(saved):
    """Each action has a file, the cache follows the armature, and a new clip adds."""
    body, armature = saved
    first = armature.animation_data.action
    other = first.copy()
    other.name = "Other"
    curves = part("scene.animation").curves_of(other, part("scene.animation").slots_of(other, "OBJECT")[0])
    for curve in curves:
        for point in curve.keyframe_points:
            point.co.y *= 0.5
    assert bpy.ops.thew.bake(target="PC2", clips="CHOSEN", actions=first.name) == {"FINISHED"}
    one = files(body)[0]
    before = one.read_bytes()
    assert bpy.ops.thew.bake(target="PC2", clips="CHOSEN", actions="Other") == {"FINISHED"}
    assert one.read_bytes() == before and len(set(files(body))) == 2
    for clip in body.thew.bakes["PC2"].clips:
        part("scene.animation").assign(
            armature.animation_data, clip.action, part("scene.animation").slots_of(clip.action, "OBJECT")[0]
        )
        bpy.context.scene.frame_set(9)
        rows, _, _ = parse_pc2(Path(bpy.path.abspath(clip.file)))
        assert np.abs(evaluated_positions(body) - rows[9 - clip.start]).max() == 0.0


def test_cache_rider(character, tmp_path):
    """What rides on the body has a cache of its own."""
    body, armature = character
    shirt = make_body(armature, name="Shirt", rings=9)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    shirt.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    activate(body)
    live = play(shirt, FRAMES)
    assert bpy.ops.thew.bake(target="PC2", folder=str(tmp_path / "out")) == {"FINISHED"}
    assert np.abs(play(shirt, FRAMES) - live).max() < 1e-6 * size_of(live[0])
    assert len(list((tmp_path / "out").glob("*.pc2"))) == 2


def test_cache_failure(saved, monkeypatch):
    """A write that fails, or a cancelled bake, leaves the former bake and no file."""
    body, _ = saved
    assert bpy.ops.thew.bake(target="PC2", frame_start=1, frame_end=6) == {"FINISHED"}
    (path,) = files(body)
    content, mods = path.read_bytes(), [each.name for each in body.modifiers]

    def fails(_self, part_path, rows, _plan):
        part_path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(part("bake.point_caches").PC2, "write_file", fails)
    assert "No space left" in refusal(bpy.ops.thew.bake, target="PC2")
    assert "No space left" in refusal(bpy.ops.thew.bake, target="PC2", name="New")
    assert path.read_bytes() == content and list(path.parent.iterdir()) == [path]
    assert [each.name for each in body.modifiers] == mods and len(body.thew.bakes) == 1
    monkeypatch.undo()
    task = part("bake.baking").bake(body, bpy.context.scene, bpy.context.view_layer, target_key="PC2")
    seen = []
    with pytest.raises(part("logic.errors").Cancelled):
        part("logic.tasks").finish(task, lambda _f, text: seen.append(text) or "Writing" not in text)
    assert path.read_bytes() == content and list(path.parent.iterdir()) == [path]


def test_cache_refusals(saved, tmp_path):
    """A folder that is a file, and a name that another file has, are handled by a sentence and a free name."""
    body, _ = saved
    (tmp_path / "file").write_bytes(b"x")
    assert "choose another folder" in refusal(bpy.ops.thew.bake, target="PC2", folder=str(tmp_path / "file"))
    folder = tmp_path / "hero.bakes"
    folder.mkdir()
    (folder / "Body-PC2-Scene.pc2").write_bytes(b"of the artist")
    assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
    assert files(body)[0].name == "Body-PC2-Scene-2.pc2"
    assert (folder / "Body-PC2-Scene.pc2").read_bytes() == b"of the artist"
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert [path.name for path in folder.iterdir()] == ["Body-PC2-Scene.pc2"]


def test_cache_unsaved(fleshed_character):
    """In a file that was never saved the cache is among the temporary files, and a remark says so."""
    body, _ = fleshed_character
    task = part("bake.baking").bake(body, bpy.context.scene, bpy.context.view_layer, target_key="MDD")
    result = part("logic.tasks").finish(task)
    assert any("never saved" in text for text in result.remarks) and files(body)[0].is_file()
    assert "1 MDD file" in result.message(body)


def test_cache_is_not_finished(fleshed_character, tmp_path):
    """Finish Bake says that a cache plays from files, instead of asking for a bake."""
    assert bpy.ops.thew.bake(target="PC2", folder=str(tmp_path)) == {"FINISHED"}
    assert "plays from files" in refusal(bpy.ops.thew.finish_bake)
