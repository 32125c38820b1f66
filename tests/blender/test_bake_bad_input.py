# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input of bakes: a sentence, nothing half-written, and earlier bakes as they were."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from pathlib import Path

import addon_utils
import bpy
import numpy as np
import pytest
from conftest import in_one_blender
from dancing import clip_shapes, make_dancer, use
from helpers import activate, make_body, part, play, refusal, snapshot

TARGETS = ("SHAPE_KEYS", "COMPRESSED", "PC2", "MDD", "VERTEX_TEXTURE")
FILES = (("PC2", {}), ("MDD", {}), ("VERTEX_TEXTURE", {"image": "EXR"}), ("VERTEX_TEXTURE", {"image": "PNG"}))


@pytest.fixture
def dancer(scene, tmp_path):
    """Builds (mesh with flesh, armature) with the actions Run (active) and Walk, in a saved file."""
    body, rig = make_dancer(("Run", "Walk"))
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    return body, rig


def bake(body, target: str = "SHAPE_KEYS", actions: str = "Run", **options):
    """Bakes actions, and returns the bake."""
    activate(body)
    assert bpy.ops.thew.bake(target=target, clips="CHOSEN", actions=actions, **options) == {"FINISHED"}
    return body.thew.bakes[-1]


def everything(*objects) -> list:
    """Returns all of these objects that a bake that fails must leave as it was, and the files beside the .blend."""
    found = []
    for obj in objects:
        one = snapshot(obj)
        one["settings"] = {key: value for key, value in one["settings"].items() if key != "made.notes"}
        keys = obj.data.shape_keys
        for key in keys.key_blocks if keys is not None else ():
            flat = np.empty(3 * len(obj.data.vertices), dtype=np.float32)
            key.points.foreach_get("co", flat)
            one[f"key {key.name}"] = flat.tobytes()
        found.append(one)
    folder = Path(bpy.data.filepath).parent
    found.append({path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".blend"})
    found.append(sorted(path for path in folder.rglob("*") if path.is_dir()))
    found.append({action.name: len(getattr(action, "slots", ())) for action in bpy.data.actions})
    return found


@contextmanager
def full_disk(size: int):
    """Lets no file grow beyond `size` bytes, within the context, and silences what exporters print, which may go to a file too."""
    resource = pytest.importorskip("resource")
    limits, printed = resource.getrlimit(resource.RLIMIT_FSIZE), [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        for to, kept in enumerate(printed, 1):
            os.dup2(kept, to)
            os.close(kept)
        os.close(nowhere)


# meshes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("override", [False, True])
def test_bad_linked_mesh(dancer, tmp_path, override):
    """A linked character takes no bake, its override none that needs the mesh; both say what to do, and the library's bake is seen."""
    body, _ = dancer
    bake(body)
    library = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library, copy=True)
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    with bpy.data.libraries.load(library, link=True) as (source, wanted):
        wanted.objects = source.objects
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    body = bpy.data.objects["Body"]
    if override:
        made = body.override_create()
        bpy.context.scene.collection.objects.link(made)
        bpy.context.scene.collection.objects.unlink(body)
        body = made
    activate(body)
    shown = play(body, (1, 5, 9))
    remedy = "Make Mesh Local" if override else "Make Override"
    for target in [each for each in TARGETS if not (override and each in {"PC2", "MDD"})]:
        assert remedy in refusal(bpy.ops.thew.bake, target=target, folder=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists() and np.array_equal(play(body, (1, 5, 9)), shown)
    bpy.context.scene.frame_end = 9
    task = part("bake.cache_export").export(
        [body], bpy.context.scene, bpy.context.view_layer, "ALEMBIC", str(tmp_path / "linked.abc"), True
    )
    (remark,) = part("logic.tasks").finish(task)
    assert "linked from another file" in remark and "without velocities" in remark
    known = set(bpy.data.objects)
    bpy.ops.wm.alembic_import(filepath=str(tmp_path / "linked.abc"), as_background_job=False)
    back = next(obj for obj in set(bpy.data.objects) - known if obj.type == "MESH")
    np.testing.assert_allclose(play(back, (1, 5, 9)), shown, atol=1e-5)


def test_bad_other_meshes_texture(dancer):
    """A clip that joins a texture whose file is gone, damaged or of another mesh is refused, unless the other clips go."""
    body, _ = dancer
    description = part("scene.bake_files").path_of(bake(body, "VERTEX_TEXTURE").clips[0].file)
    core, content = part("logic.native").core(), description.read_bytes()
    rest = np.zeros((7, 3), dtype=np.float32)

    def write_other() -> None:
        core.write_vertex_texture(description.parent, {"Run": rest[None]}, rest, 24.0, "exr", name=description.stem)

    for spoil in (description.unlink, lambda: description.write_bytes(content[:40]), write_other):
        spoil()
        before = everything(body)
        activate(body)
        text = refusal(bpy.ops.thew.bake, target="VERTEX_TEXTURE", clips="CHOSEN", actions="Walk")
        assert "“Run” of “Body” should stay" in text and "Replace" in text
        assert everything(body) == before
    bake(body, "VERTEX_TEXTURE", "Walk", replace=True)
    assert [clip.label for clip in body.thew.bakes[0].clips] == ["Walk"]


# names ----------------------------------------------------------------------------------------------------------------


def test_bad_name_of_other_kind(dancer):
    """A name that a bake of another kind has is refused before any work."""
    body, _ = dancer
    bake(body, name="Mine")
    before = everything(body)
    for target in TARGETS[1:]:
        assert "another kind of bake called “Mine”" in refusal(bpy.ops.thew.bake, target=target, name="Mine")
    assert everything(body) == before


def test_bad_names_of_the_artist(dancer):
    """What the artist has under the names of a bake stays: keys, a UV map, a modifier, files."""
    body, rig = dancer
    live = clip_shapes(body, rig, "Run")
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="Thew Run 0001").value = 0.0
    body.data.uv_layers.new(name="Thew Offsets").uv[0].vector = (0.25, 0.75)
    body.modifiers.new("PC2", "SMOOTH").show_viewport = False
    folder = Path(bpy.data.filepath).with_suffix(".bakes")
    folder.mkdir()
    files = [folder / f"Body-{name}" for name in ("PC2-Run.pc2", "Vertex_Texture.json", "Vertex_Texture.exr")]
    for path in files:
        path.write_bytes(b"mine")
    before = everything(body)
    for target in ("SHAPE_KEYS", "PC2", "VERTEX_TEXTURE"):
        bake(body, target)
        np.testing.assert_allclose(clip_shapes(body, rig, "Run"), live, atol=5e-4)
    assert body.data.shape_keys.key_blocks["Thew Run 0001"].value == 0.0
    assert tuple(body.data.uv_layers["Thew Offsets"].uv[0].vector) == (0.25, 0.75)
    for name in ("Shape Keys", "PC2", "Vertex Texture"):
        assert bpy.ops.thew.bake_remove(name=name) == {"FINISHED"}
    after = everything(body)
    assert after[1:] == before[1:] and all(path.read_bytes() == b"mine" for path in files)
    assert [key for key in after[0] if key.startswith("key ")] == [key for key in before[0] if key.startswith("key ")]
    assert after[0]["attributes"] == before[0]["attributes"] and after[0]["modifiers"] == before[0]["modifiers"]


def test_bad_two_clips_of_a_name(dancer):
    """Two clips that a texture would hold under one name are refused: an action called as the scene's range, and a renamed one."""
    body, rig = dancer
    bpy.data.actions["Walk"].name = "Scene"
    bake(body, "VERTEX_TEXTURE", "Scene")
    before = everything(body)
    assert "two clips called “Scene”" in refusal(bpy.ops.thew.bake, target="VERTEX_TEXTURE")
    assert everything(body) == before
    bake(body, "VERTEX_TEXTURE", "Run", name="Other")
    bpy.data.actions["Run"].name = "Sprint"
    bpy.data.actions["Scene"].name = "Run"
    use(rig, "Sprint")
    text = refusal(bpy.ops.thew.bake, target="VERTEX_TEXTURE", name="Other", clips="CHOSEN", actions="Run")
    assert "two clips called “Run”" in text


# errors and actions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [0.0, float("nan")])
def test_bad_error(dancer, error):
    """An error of 0 and one that is no number are refused before any work, with what to take instead."""
    body, _ = dancer
    before = everything(body)
    text = refusal(bpy.ops.thew.bake, target="COMPRESSED", tolerance=error)
    assert "error above 0" in text and "Shape Keys" in text
    for metres in (-1.0, float("inf"), error):
        task = part("bake.baking").bake(
            body, bpy.context.scene, bpy.context.view_layer, target_key="COMPRESSED", tolerance=metres
        )
        with pytest.raises(part("logic.errors").Refusal, match="error above 0"):
            part("logic.tasks").finish(task)
    assert everything(body) == before


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("HELPER_BONES", {"bones": 0}, "1 to 256 helper bones, not 0"),
        ("HELPER_BONES", {"bones": 257}, "1 to 256 helper bones, not 257"),
        ("HELPER_BONES", {"influences": 0}, "1 to 8 bones, not 0"),
        ("HELPER_BONES", {"influences": 9}, "1 to 8 bones, not 9"),
        ("HELPER_BONES", {"rest_error": -1.0}, "error at rest"),
        ("COMPRESSED", {"regions": 0}, "1 to 64 regions, and not 0"),
        ("COMPRESSED", {"regions": 65}, "1 to 64 regions, and not 65"),
    ],
)
def test_bad_numbers(dancer, target, options, words):
    """Numbers out of range are refused, not replaced by the nearest."""
    body, _ = dancer
    before = everything(body)
    assert words in refusal(bpy.ops.thew.bake, target=target, **options)
    assert everything(body) == before


@pytest.mark.skipif(bpy.app.version < (4, 4, 0), reason="actions have slots from Blender 4.4 on")
@pytest.mark.parametrize("target", ["SHAPE_KEYS", "PC2", "VERTEX_TEXTURE"])
def test_bad_missing_slots(dancer, target):
    """Where the slots of a clip's action are gone, its bake plays nothing there, takes new clips, and can be removed."""
    body, rig = dancer
    bake(body, target, "Run;Walk")
    shown = clip_shapes(body, rig, "Run")
    walk = bpy.data.actions["Walk"]
    use(rig, "Run")
    for slot in list(walk.slots):
        walk.slots.remove(slot)
    bpy.context.scene.frame_set(5)
    before = everything(body)
    assert "no slot for an object" in refusal(bpy.ops.thew.bake, target=target, clips="CHOSEN", actions="Walk")
    assert everything(body) == before
    np.testing.assert_array_equal(clip_shapes(body, rig, "Run"), shown)
    bake(body, target, "Run")
    np.testing.assert_allclose(clip_shapes(body, rig, "Run"), shown, atol=1e-5)
    part("bake.export_check").check(body)  # without an error
    assert bpy.ops.thew.bake_remove(name=body.thew.bakes[0].name) == {"FINISHED"}
    assert not len(body.thew.bakes) and part("scene.writing").baked_keys(body) == []


# disks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "options"), FILES)
def test_bad_full_disk(dancer, target, options):
    """A disk that takes none or a part of a file leaves the former bake with its files, and a sentence."""
    body, _ = dancer
    bake(body, target, **options)
    before = everything(body)
    for size in (0, 20, 3000):
        for name in ("", "New"):
            with full_disk(size):
                text = refusal(bpy.ops.thew.bake, target=target, clips="CHOSEN", actions="Run", name=name, **options)
            assert "cannot be written" in text and "make room there" in text
            assert everything(body) == before


@pytest.mark.parametrize(("target", "options"), FILES[::2])
def test_bad_moves(character, tmp_path, monkeypatch, target, options):
    """Whichever file of a body and a rider cannot be moved to its place, all former files and bakes stay."""
    body, armature = character
    shirt = make_body(armature, name="Shirt", rings=9)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    shirt.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    activate(body)
    assert bpy.ops.thew.bake(target=target, frame_start=1, frame_end=6, **options) == {"FINISHED"}
    bpy.context.scene.frame_set(3)
    before, replace = everything(body, shirt), os.replace
    for failing in range(1, 100):
        done = []

        def move(source, place, failing=failing, done=done):
            done.append(place)
            if len(done) == failing:
                raise OSError(28, "No space left on device")
            replace(source, place)

        monkeypatch.setattr(part("scene.bake_files").os, "replace", move)
        try:
            refused = refusal(bpy.ops.thew.bake, target=target, frame_start=1, frame_end=9, **options)
        except AssertionError:  # no move failed any more
            break
        finally:
            monkeypatch.undo()
        assert "No space left" in refused and everything(body, shirt) == before, failing
    assert failing > 4 and everything(body, shirt) != before
    assert all(obj.thew.bakes[0].clips[0].end == 9 for obj in (body, shirt))


@pytest.mark.parametrize(("kind", "suffix"), [("USD", ".usdc"), ("USD", ".usdz"), ("ALEMBIC", ".abc")])
def test_bad_full_disk_export(dancer, tmp_path, monkeypatch, kind, suffix):
    """USD and Alembic leave an earlier file on a full disk. Blender's exporter would end the program, or report success."""
    body, _ = dancer
    path = tmp_path / f"hero{suffix}"
    assert bpy.ops.thew.export_cache(format=kind, filepath=str(path)) == {"FINISHED"}
    before = everything(body)
    whole = path.stat().st_size
    for size in (0, 100, whole // 2, whole - 1):
        with full_disk(size):
            text = refusal(bpy.ops.thew.export_cache, format=kind, filepath=str(path))
        assert "cannot be written" in text and everything(body) == before
    if suffix == ".usdc":  # the disk fills up while it is written
        monkeypatch.setattr(part("scene.bake_files"), "check_room", lambda *_: None)
        for size in (100, whole // 2, whole - 1):
            with full_disk(size):
                text = refusal(bpy.ops.thew.export_cache, format=kind, filepath=str(path))
            assert "cannot be written" in text and everything(body) == before


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which even root can write nothing")
def test_bad_folder(dancer):
    """A folder in which nothing can be written is refused before any work."""
    body, _ = dancer
    before = everything(body)
    for target, options in FILES:
        assert "choose another folder" in refusal(bpy.ops.thew.bake, target=target, folder="/proc/bakes", **options)
    assert "/proc" in refusal(bpy.ops.thew.export_cache, format="ALEMBIC", filepath="/proc/hero.abc")
    assert everything(body) == before


def test_bad_folder_without_parent(dancer, tmp_path):
    """Of a path that does not exist only the last folder is made."""
    body, _ = dancer
    before = everything(body)
    for target, options in FILES:
        text = refusal(bpy.ops.thew.bake, target=target, folder=str(tmp_path / "no" / "out"), **options)
        assert f"“out” cannot be made in {tmp_path / 'no'}, which does not exist" in text
    assert everything(body) == before and not (tmp_path / "no").exists()
    bake(body, "PC2", folder=str(tmp_path / "out"))
    assert [path.suffix for path in (tmp_path / "out").iterdir()] == [".pc2"]


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "make room there, or choose another folder"),
        (OSError(errno.EFBIG, "File too large"), "make room there, or choose another folder"),
        (OSError(errno.EACCES, "Permission denied"), "allow yourself to write there, or choose another folder"),
        (OSError(errno.EROFS, "Read-only file system"), "choose another folder"),
        (OSError(errno.ENOENT, "No such file or directory"), "choose another folder"),
        (
            ValueError("a.pc2: Permission denied (os error 13)."),
            "allow yourself to write there, or choose another folder",
        ),
        (ValueError("a.pc2: No space left on device (os error 28)."), "make room there, or choose another folder"),
    ],
)
def test_bad_folder_advice(error, advice):
    """What to do about a folder fits the reason why it takes no file."""
    text = str(part("scene.bake_files").write_refusal(Path("/files"), error))
    assert text.startswith("Files of the bake cannot be written to /files (") and text.endswith(f"): {advice}")


# exporters ------------------------------------------------------------------------------------------------------------


@in_one_blender
def test_bad_absent_exporter(dancer):
    """Without an exporter bakes are written all the same, and the check before exports looks at what it can know."""
    body, rig = dancer
    live = clip_shapes(body, rig, "Run")
    for module in ("io_scene_gltf2", "io_scene_fbx"):
        addon_utils.disable(module)
    try:
        bake(body)
        np.testing.assert_allclose(clip_shapes(body, rig, "Run"), live, atol=1e-5)
        for exporter in ("EXPORT_SCENE_OT_gltf", "EXPORT_SCENE_OT_fbx"):
            assert part("bake.export_check").check_all(bpy.context.scene.objects, exporter, {}) == []
        assert "finds nothing" in refusal(
            bpy.ops.thew.mend_export, trap="export_morph", object="Body", exporter="EXPORT_SCENE_OT_gltf"
        )
    finally:
        for module in ("io_scene_gltf2", "io_scene_fbx"):
            addon_utils.enable(module)
