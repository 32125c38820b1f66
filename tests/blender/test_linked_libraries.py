# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests libraries whose characters have flesh already, and real characters of libraries."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
import sharing
from conftest import FAST, data_folder
from helpers import activate, add_rig, curve_keys, make_character, part, play, refusal, size_of
from linking import COLLECTION, change, digest, holders, local, open_shot, override, reopen, write_library
from test_riders import shirt_of

from assets import characters as own

FRAMES = (1, 5, 9, 14)


def soften(objects) -> None:
    """Gives the character of a library settings of its own."""
    objects[0].thew.softness = 0.8


def with_rig(objects) -> None:
    """Gives the character of a library a rig and a pin."""
    soften(objects)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    add_rig(objects[0]).strength = 0.03


@pytest.fixture
def fleshed_library(scene, tmp_path):
    """Writes a library with a soft character with flesh and a rig; its file must be as it was at the end."""
    path = write_library(tmp_path / "library.blend", edit=with_rig)
    known = digest(path)
    yield path
    assert digest(path) == known


def test_library_settings_are_defaults(fleshed_library, tmp_path):
    """An override of a character with flesh moves at once with the library's settings and rigs, and may have others."""
    bpy.ops.wm.open_mainfile(filepath=str(fleshed_library))
    live = play(local("Body"), FRAMES)
    open_shot(tmp_path / "shot.blend")
    body, _ = override(fleshed_library)
    assert round(body.thew.softness, 6) == 0.8 and len(body.thew.rigs) == 1
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-6)
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-6)
    body.thew.softness = 0.2
    firm = play(body, FRAMES)
    assert np.abs(firm - live).max() > 1e-3
    (body,) = reopen("Body")
    assert round(body.thew.softness, 6) == 0.2
    np.testing.assert_allclose(play(body, FRAMES), firm, atol=1e-6)
    activate(body)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    plain = play(body, FRAMES)
    (body,) = reopen("Body")
    assert not body.thew.made.flesh and not holders()
    np.testing.assert_array_equal(play(body, FRAMES), plain)
    assert np.abs(plain - firm).max() > 1e-3


def test_library_lists_only_grow(fleshed_library, tmp_path):
    """An override changes the library's rigs and adds its own; to remove or move the library's is refused, because they would return."""
    open_shot(tmp_path / "shot.blend")
    body, _ = override(fleshed_library)
    play(body, (1,))
    add_rig(body).name = "Mine"
    body.thew.rigs[0].strength = 0.01
    body.thew.active_rig = 0
    activate(body)
    text = refusal(bpy.ops.thew.rig_remove)
    assert "belongs to “library.blend”" in text and "switch it off" in text and len(body.thew.rigs) == 2
    body.thew.rigs[0].enabled = False
    (body,) = reopen("Body")
    assert [rig.enabled for rig in body.thew.rigs] == [False, True] and body.thew.rigs[1].name == "Mine"
    assert abs(body.thew.rigs[0].strength - 0.01) < 1e-7
    body.thew.active_rig = 1
    activate(body)
    assert bpy.ops.thew.rig_remove() == {"FINISHED"}
    (body,) = reopen("Body")
    assert len(body.thew.rigs) == 1


def with_restarts(objects) -> None:
    """Gives the character of a library flesh with a restart in frame 5, which goes on in frame 9."""
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.restart_here(frame=5) == bpy.ops.thew.restart_pass(frame=9) == {"FINISHED"}


def test_library_restarts_judged_anew(scene, tmp_path):
    """No Cut and Restart Here change the library's entries in place: none comes back with the next load."""
    library = write_library(tmp_path / "library.blend", edit=with_restarts)
    open_shot(tmp_path / "shot.blend")
    body, _ = override(library)
    activate(body)
    assert bpy.ops.thew.restart_pass(frame=5) == bpy.ops.thew.restart_here(frame=9) == {"FINISHED"}
    assert bpy.ops.thew.restart_here(frame=12) == {"FINISHED"}
    known = part("saved.restarts")
    for _ in range(2):
        assert (known.frames(body.thew), known.passed_frames(body.thew)) == ({9, 12}, {5})
        (body,) = reopen("Body")
    activate(body)
    assert "belongs to “library.blend”" in refusal(bpy.ops.thew.restart_remove, frame=9)


def mark_keyframed(objects) -> None:
    """Marks the mesh of a library as one with keyframed flesh."""
    objects[0].thew.made.keyframed = True


def test_library_keyframed_flesh_refused(scene, tmp_path):
    """Edits of keyframed flesh on a library's mesh are refused with what to do, for nothing of it is shown here."""
    library = write_library(tmp_path / "library.blend", edit=mark_keyframed)
    open_shot(tmp_path / "shot.blend")
    body, _ = override(library)
    with pytest.raises(part("logic.errors").Refusal, match=r"belongs to “library.blend”.*edit it in that file"):
        part("live.keyframed").check_keyframed(body)


def test_library_settings_arrive(scene, tmp_path):
    """What the library changes arrives in the shot, except where the shot has a setting of its own."""
    library = write_library(tmp_path / "library.blend", flesh=True)
    open_shot(tmp_path / "shot.blend")
    body, _ = override(library)
    body.thew.reach = 0.3
    bpy.ops.wm.save_mainfile()

    def edit(mesh, _armature):
        mesh.thew.softness, mesh.thew.reach = 0.9, 0.1

    change(library, edit)
    assert round(local("Body").thew.softness, 6) == 0.9 and round(local("Body").thew.reach, 6) == 0.3


def test_library_riders_ride(scene, tmp_path):
    """Clothes that ride on flesh in the library ride in the shot at once, and after a reload."""

    def dress():
        mesh, armature = make_character()
        return mesh, armature, shirt_of(mesh, lambda p: 0.4 < p.z < 1.2, 0.02)

    library = write_library(tmp_path / "library.blend", dress, flesh=True)
    bpy.ops.wm.open_mainfile(filepath=str(library))
    known = [play(local(name), FRAMES) for name in ("Body", "Shirt")]
    open_shot(tmp_path / "shot.blend")
    override(library)
    for _ in range(2):
        assert local("Shirt").thew.body == local("Body")
        for name, shapes in zip(("Body", "Shirt"), known, strict=True):
            np.testing.assert_allclose(play(local(name), FRAMES), shapes, atol=2e-6)
        reopen()


def test_library_maps_used(scene, tmp_path):
    """A map that was painted in the library acts in the shot as it does there."""

    def paint(objects):
        assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
        assert bpy.ops.thew.flesh_preset(part="BELLY") == {"FINISHED"}

    library = write_library(tmp_path / "library.blend", edit=paint)
    bpy.ops.wm.open_mainfile(filepath=str(library))
    painted = play(local("Body"), FRAMES)
    assert bpy.ops.thew.flesh_automatic() == {"FINISHED"}
    assert np.abs(play(local("Body"), FRAMES) - painted).max() > 1e-3
    open_shot(tmp_path / "shot.blend")
    body, _ = override(library)
    np.testing.assert_allclose(play(body, FRAMES), painted, atol=1e-6)


def test_library_rig_keyed(fleshed_library, tmp_path):
    """A rig of the library is keyed in the shot, and its keys are kept."""
    open_shot(tmp_path / "shot.blend")
    body, _ = override(fleshed_library)
    still = play(body, FRAMES)
    curve_keys(body.thew.rigs[0], (1, 0.0), (9, 3.0))
    keyed = play(body, FRAMES)
    assert np.abs(keyed - still).max() > 1e-3
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), keyed, atol=1e-6)


def with_keys(objects) -> None:
    """Gives the character of a library a shape key, half shown, and a bake of shape keys that plays."""
    objects[0].shape_key_add(name="Basis")
    key = objects[0].shape_key_add(name="Smile")
    for point in key.data:
        point.co.y *= 1.2
    key.value = 0.5
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.bake(target="SHAPE_KEYS") == {"FINISHED"}


def test_library_bake_and_live(scene, tmp_path):
    """An override plays its library's bake, or lives instead, and keeps the choice; the library's bake is not removed from here."""
    library = write_library(tmp_path / "library.blend", edit=with_keys)
    bpy.ops.wm.open_mainfile(filepath=str(library))
    known = play(local("Body"), FRAMES)
    open_shot(tmp_path / "shot.blend")
    body, _ = override(library)
    assert body.thew.made.shows_bake
    np.testing.assert_allclose(play(body, FRAMES), known, atol=1e-5)
    activate(body)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    for _ in range(2):
        np.testing.assert_allclose(play(body, FRAMES), known, atol=1e-5)
        (body,) = reopen("Body")
        assert not body.thew.made.shows_bake
    activate(body)
    for operator, options in ((bpy.ops.thew.bake_remove, {}), (bpy.ops.thew.remove, {"remove_baked_keys": True})):
        assert "belongs to “library.blend” and would come back" in refusal(operator, **options)
    assert body.thew.made.flesh and len(body.thew.bakes) == 1
    assert bpy.ops.thew.remove() == {"FINISHED"}
    (body,) = reopen("Body")
    assert not body.thew.made.flesh


@pytest.mark.parametrize("target", ["PC2", "MDD", "VERTEX_TEXTURE"])
def test_library_files_in_another_folder(scene, tmp_path, target):
    """An override plays its library's cache or texture from another folder than the library's; neither is removed from here."""
    for folder in ("library", "shots"):
        (tmp_path / folder).mkdir()
    library = write_library(tmp_path / "library" / "library.blend", flesh=True)
    bpy.ops.wm.open_mainfile(filepath=str(library))
    activate(local("Body"))
    live = play(local("Body"), FRAMES)
    assert bpy.ops.thew.bake(target=target) == {"FINISHED"}
    known = play(local("Body"), FRAMES)
    bpy.ops.wm.save_mainfile()
    kept = {path: path.read_bytes() for path in library.parent.rglob("*") if path.is_file()}
    open_shot(tmp_path / "shots" / "shot.blend")
    body, _ = override(library)
    for _ in range(2):
        np.testing.assert_allclose(play(body, FRAMES), known, atol=1e-5 * size_of(known[0]))
        assert part("ui.health_rows").health_of(body, 3).level == "GOOD"
        (body,) = reopen("Body")
    activate(body)
    assert "belongs to “library.blend”" in refusal(bpy.ops.thew.bake, target=target)
    assert bpy.ops.thew.bake(target="PC2", name="Shot") == {"FINISHED"}
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-5 * size_of(live[0]))
    activate(body)
    assert bpy.ops.thew.bake_remove(name="Shot") == {"FINISHED"} and bpy.ops.thew.remove() == {"FINISHED"}
    assert {path: path.read_bytes() for path in kept} == kept


def test_append_of_library_character(fleshed_library, tmp_path):
    """An appended character is local, moves as in its file, and has its offsets in its own mesh."""
    bpy.ops.wm.open_mainfile(filepath=str(fleshed_library))
    live = play(local("Body"), FRAMES)
    open_shot(tmp_path / "shot.blend")
    with bpy.data.libraries.load(str(fleshed_library), link=False) as (_, wanted):
        wanted.collections = [COLLECTION]
    bpy.context.scene.collection.children.link(wanted.collections[0])
    np.testing.assert_allclose(play(local("Body"), FRAMES), live, atol=1e-6)
    assert "thew_offset" in local("Body").data.attributes and not holders()


def test_override_made_local(fleshed_library, tmp_path):
    """An override that is made wholly local goes on with its flesh, now in its own mesh."""
    open_shot(tmp_path / "shot.blend")
    body, armature = override(fleshed_library)
    live = play(body, FRAMES)
    for obj in (body, armature):
        obj.make_local()
    body.data = body.data.copy()
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-6)
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-6)
    assert "thew_offset" in body.data.attributes


# real characters ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(own.FIGURES)[: 1 if FAST else None])
def test_demo_character_overridden(scene, tmp_path, name):
    """A character of the project, with eyes and all, moves in a shot as in its library; its point caches play the same."""

    def shapes() -> dict[str, np.ndarray]:
        fleshy = [obj for obj in bpy.context.scene.objects if obj.thew.made.flesh or obj.thew.made.rides]
        return {obj.name: play(obj, FRAMES) for obj in fleshy}

    library = write_library(tmp_path / "library.blend", lambda: reversed(own.create(name)))
    known = digest(library)
    bpy.ops.wm.open_mainfile(filepath=str(library))
    body = max((obj for obj in bpy.data.objects if obj.type == "MESH"), key=lambda obj: len(obj.data.vertices)).name
    activate(local(body))
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    expected = shapes()
    open_shot(tmp_path / "shot.blend")
    override(library)
    sharing.begin_test()  # the lattice of the library, where the character is as there
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    for baked in (False, True):
        sharing.begin_test()
        if baked:
            activate(local(body))
            assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
        found = shapes()
        assert found.keys() == expected.keys()
        for each, shown in found.items():
            np.testing.assert_allclose(shown, expected[each], atol=2e-5 * size_of(shown[0]))
        reopen()
    assert digest(library) == known


@pytest.mark.skipif(data_folder("characters") is None, reason="needs THEW_DATA")
@pytest.mark.parametrize("name", ["q_bull.glb", "m2m_human.glb", "q_frog.glb"][: 1 if FAST else None])
def test_real_character_overridden(scene, tmp_path, name):
    """A real character overridden in a shot moves as in its own file, after a reload too, and the library stays as it is."""
    import characters

    characters.load(data_folder("characters") / name)
    objects = list(bpy.context.scene.objects)
    collection = bpy.data.collections.new(COLLECTION)
    bpy.context.scene.collection.children.link(collection)
    for obj in objects:
        for owner in list(obj.users_collection):
            owner.objects.unlink(obj)
        collection.objects.link(obj)
    armature = characters.armature()
    found = characters.clips()
    if found:
        armature.animation_data_create().action = found[0]
    bpy.context.scene.frame_end = 12
    library = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    known, chosen = digest(library), characters.meshes()[0].name
    activate(local(chosen))
    assert bpy.ops.thew.add(cells_across=8, whole=False) == {"FINISHED"}
    frames = (1, 6, 12)
    live = play(local(chosen), frames)
    open_shot(tmp_path / "shot.blend")
    bpy.context.scene.frame_end = 12
    override(library)
    activate(local(chosen))
    sharing.begin_test()
    assert bpy.ops.thew.add(cells_across=8, whole=False) == {"FINISHED"}
    for _ in range(2):
        sharing.begin_test()
        np.testing.assert_allclose(play(local(chosen), frames), live, atol=1e-5 * size_of(live[0]))
        reopen()
    assert digest(library) == known and part("scene.offsets").is_held(local(chosen))
