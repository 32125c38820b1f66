# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests flesh on overrides of characters that are linked from a library: added, set, played, saved, baked, removed; and Make Override."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest
from helpers import activate, add_rig, evaluated_positions, make_character, part, play, refusal, size_of, world
from linking import COLLECTION, digest, holders, link, local, open_shot, override, reopen, write_library

FRAMES = (1, 5, 9, 14)


@pytest.fixture
def library(scene, tmp_path):
    """Writes a library with a small character without flesh; at the end its file must be as it was."""
    path = write_library(tmp_path / "library.blend")
    known = digest(path)
    yield path
    assert digest(path) == known


@pytest.fixture
def local_flesh(library):
    """Returns the shapes [f, n, 3] of the same character with flesh, opened in its own file."""
    bpy.ops.wm.open_mainfile(filepath=str(library))
    body = bpy.data.objects["Body"]
    activate(body)
    skin = play(body, FRAMES)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    shapes = play(body, FRAMES)
    assert np.abs(shapes - skin).max() > 1e-3
    return shapes


@pytest.fixture
def overridden(library, tmp_path):
    """Opens a shot with an override of the character, with flesh; returns (mesh, armature)."""
    open_shot(tmp_path / "shot.blend")
    body, armature = override(library)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, armature


# playing, settings, files ---------------------------------------------------------------------------------------------


def test_override_plays_as_local(library, local_flesh, tmp_path):
    """An override moves as the local character does, after saves and reloads too, and nothing is added to the library's mesh."""
    open_shot(tmp_path / "shot.blend")
    body, _ = override(library)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    np.testing.assert_allclose(play(body, FRAMES), local_flesh, atol=1e-6)
    assert "thew_offset" not in body.data.attributes and len(body.vertex_groups) == 3
    for _ in range(2):
        (body,) = reopen("Body")
        np.testing.assert_allclose(play(body, FRAMES), local_flesh, atol=1e-6)


def test_override_settings_kept(overridden):
    """Settings of every kind, rigs with samples, pins and restarts of an override are kept over saves and reloads."""
    body, armature = overridden
    settings = body.thew
    settings.softness, settings.kind, settings.use_contact, settings.device = 0.8, "TOON", True, "none\nat all"
    settings.restarts.add().frame = 3
    settings.restarts.add().frame = 9
    rig = add_rig(body)
    rig.strength, rig.control = 0.03, 0.5
    of_rig = rig.control, rig.strength, [(each.control, each.sliders.strength) for each in rig.samples]
    pin = settings.pins.add()
    pin.name, pin.target, pin.influence = "Hand", armature, 0.4
    pin = settings.pins.add()
    pin.name = "Foot"
    settings.pins.remove(0)
    for _ in range(2):
        (body,) = reopen("Body")
        settings = body.thew
        assert (round(settings.softness, 6), settings.kind, settings.use_contact) == (0.8, "TOON", True)
        assert settings.device == "none\nat all" and [each.frame for each in settings.restarts] == [3, 9]
        (rig,) = settings.rigs
        assert of_rig == (rig.control, rig.strength, [(each.control, each.sliders.strength) for each in rig.samples])
        assert [each.name for each in settings.pins] == ["Foot"] and settings.made.flesh


def test_every_setting_overridable(scene):
    """Every saved setting and record can be overridden, in groups and lists too; only what is computed from others cannot."""

    def names(group, prefix: str) -> list[str]:
        found = []
        for prop in group.bl_rna.properties:
            if prop.identifier in {"rna_type", "name"} or prop.is_skip_save:
                continue
            if not prop.is_overridable:
                found.append(prefix + prop.identifier)
            value = getattr(group, prop.identifier)
            if prop.type == "COLLECTION":
                found += names(value.add(), f"{prefix}{prop.identifier}[].")
            elif isinstance(value, bpy.types.PropertyGroup):
                found += names(value, f"{prefix}{prop.identifier}.")
        return found

    assert bpy.types.Object.bl_rna.properties["thew"].is_overridable
    assert not names(bpy.data.objects.new("Any", bpy.data.meshes.new("Any")).thew, "")


def test_override_editable_by_hand(overridden):
    """Add Flesh lets the artist edit an override that Blender made for its own use."""
    assert not overridden[0].override_library.is_system_override


def test_override_removed(overridden):
    """Remove leaves an override as it was, with neither modifier nor holder, also after a reload."""
    body, _ = overridden
    live = play(body, FRAMES)
    assert len(holders()) == 1
    activate(body)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert [m.type for m in body.modifiers] == ["ARMATURE"] and not holders()
    skin = play(body, FRAMES)
    assert np.abs(live - skin).max() > 1e-3
    (body,) = reopen("Body")
    assert not body.thew.made.flesh and not holders()
    np.testing.assert_array_equal(play(body, FRAMES), skin)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-6)


def test_override_undo(overridden):
    """Undo and redo show the motion of the settings that they bring back."""
    body, _ = overridden
    live = play(body, FRAMES)
    bpy.ops.ed.undo_push(message="added")
    body.thew.softness = 0.2
    stiff = play(body, FRAMES)
    bpy.ops.ed.undo_push(message="stiffened")
    bpy.ops.ed.undo()
    body = local("Body")
    assert body.thew.softness == 0.5
    np.testing.assert_array_equal(play(body, FRAMES), live)
    bpy.ops.ed.redo()
    np.testing.assert_array_equal(play(local("Body"), FRAMES), stiff)


def test_override_saved_without_offsets(overridden):
    """A saved file holds no offsets, and what is in view stays in view."""
    body, _ = overridden
    bpy.context.scene.frame_set(9)
    shown = evaluated_positions(body)
    bpy.ops.wm.save_mainfile()
    np.testing.assert_array_equal(evaluated_positions(body), shown)
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    (holder,) = holders()
    assert len(holder.data.vertices) == 0 and not holder.users_scene


@pytest.mark.parametrize("own_mesh", [False, True])
def test_override_saved_without_thew(overridden, own_mesh):
    """A shot that was saved by a Blender without Thew has its settings, rigs and motion when it is opened with it."""
    body, armature = overridden
    if own_mesh:
        assert bpy.ops.thew.make_mesh_local() == {"FINISHED"}
    body.thew.softness, body.thew.kind = 0.8, "TOON"
    add_rig(body).strength = 0.03
    pin = body.thew.pins.add()
    pin.name, pin.target = "Hand", armature
    wind = bpy.data.collections.new("Wind")
    bpy.context.scene.collection.children.link(wind)  # what nothing else uses is not saved without Thew
    body.thew.field_collection = wind
    live = play(body, FRAMES)
    bpy.ops.wm.save_mainfile()
    lines = (
        f"import bpy; bpy.ops.wm.open_mainfile(filepath={bpy.data.filepath!r})",
        "assert not hasattr(bpy.data.objects[0], 'thew'); bpy.ops.wm.save_mainfile()",
    )
    subprocess.run([sys.executable, "-c", "; ".join(lines)], check=True, capture_output=True)
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    for _ in range(2):
        settings = local("Body").thew
        assert (round(settings.softness, 6), settings.kind) == (0.8, "TOON")
        assert len(settings.rigs) == 1 and settings.pins[0].target == local("Rig")
        assert settings.field_collection == bpy.data.collections["Wind"]
        np.testing.assert_allclose(play(local("Body"), FRAMES), live, atol=1e-6)
        reopen()
    activate(local("Body"))
    assert bpy.ops.thew.remove() == {"FINISHED"}
    (body,) = reopen("Body")
    assert not body.thew.made.flesh and "thew_settings" not in body.data.keys()


def test_override_cached(overridden):
    """A shot that is opened again takes its motion from the cache beside it."""
    body, _ = overridden
    live = play(body, FRAMES)
    bpy.ops.wm.save_mainfile()
    assert len(part("scene.cache_files").cache_files()) == 1
    thew, seen = part("logic.native").thew, []
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    real = thew.simulate
    try:
        thew.simulate = lambda *a, **k: seen.append(1) or real(*a, **k)
        np.testing.assert_array_equal(play(local("Body"), FRAMES), live)
    finally:
        thew.simulate = real
    assert not seen


# what needs the mesh ----------------------------------------------------------------------------------------------------


def test_override_mesh_refusals(overridden):
    """What would write into the library's mesh says so, names the library and the remedy, and changes nothing."""
    body, _ = overridden
    attributes, groups = body.data.attributes.keys(), body.vertex_groups.keys()
    calls = [
        (bpy.ops.thew.paint_flesh, {}), (bpy.ops.thew.flesh_preset, {}), (bpy.ops.thew.flesh_automatic, {}),
        (bpy.ops.thew.add_wrinkle_material, {}), (bpy.ops.thew.bake, {"target": "SHAPE_KEYS"}),
        (bpy.ops.thew.bake, {"target": "COMPRESSED"}), (bpy.ops.thew.bake, {"target": "VERTEX_TEXTURE"}),
        (bpy.ops.thew.bake, {"target": "HELPER_BONES"}), (bpy.ops.thew.bake_as, {}),
    ]  # fmt: skip
    for operator, options in calls:
        activate(body)
        text = refusal(operator, **options)
        assert "“Body”" in text and "library.blend" in text and "Make Mesh Local" in text, text
    assert body.data.attributes.keys() == attributes and body.vertex_groups.keys() == groups
    assert body.data.shape_keys is None and body.mode == "OBJECT"
    activate(body)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    for operator in (bpy.ops.thew.keyframed_add, bpy.ops.thew.skeleton_symmetrize):
        assert "The mesh of “Body” belongs to “library.blend”" in refusal(operator)
    assert not body.thew.made.keyframed and len(body.vertex_groups) == len(groups)


@pytest.mark.parametrize("target", ["PC2", "MDD"])
def test_override_bakes_point_cache(overridden, target):
    """A point cache of an override plays the live motion, also after a reload, and Remove with bakes leaves nothing."""
    body, _ = overridden
    live = play(body, FRAMES)
    activate(body)
    assert bpy.ops.thew.bake(target=target) == {"FINISHED"}
    assert body.thew.made.shows_bake
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-5 * size_of(live[0]))
    (body,) = reopen("Body")
    assert body.thew.made.shows_bake and len(body.thew.bakes) == 1
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-5 * size_of(live[0]))
    activate(body)
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert [m.type for m in body.modifiers] == ["ARMATURE"] and len(body.thew.bakes) == 0
    (body,) = reopen("Body")
    assert [m.type for m in body.modifiers] == ["ARMATURE"] and len(body.thew.bakes) == 0
    assert all(m.show_viewport for m in body.modifiers)


def test_override_local_mesh_takes_keys(overridden):
    """With a mesh of its own an override moves as before, takes a bake of shape keys and painted maps, and keeps all on reload."""
    body, _ = overridden
    live = play(body, FRAMES)
    activate(body)
    assert bpy.ops.thew.make_mesh_local() == {"FINISHED"}
    assert body.data.library is None and body.override_library is not None and not holders()
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-6)
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-6)
    activate(body)
    assert bpy.ops.thew.flesh_preset(part="BELLY") == {"FINISHED"}
    activate(body)
    live = play(body, FRAMES)
    assert bpy.ops.thew.bake(target="SHAPE_KEYS") == {"FINISHED"}
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-5 * size_of(live[0]))
    (body,) = reopen("Body")
    assert body.data.library is None and "Flesh" in body.vertex_groups
    np.testing.assert_allclose(play(body, FRAMES), live, atol=1e-5 * size_of(live[0]))
    activate(body)
    assert "belongs to this file already" in refusal(bpy.ops.thew.make_mesh_local)


def test_override_anchors_on_skin(overridden):
    """A rig on a face of a library's mesh pushes there, and nothing is written into the mesh."""
    body, _ = overridden
    rig = add_rig(body)
    part("rigs.anchors").anchor_face(body, rig, 40)
    assert rig.face_token == 0 and "thew_face" not in body.data.attributes
    plain = play(body, (9,))
    rig.strength = 0.05
    assert np.abs(play(body, (9,)) - plain).max() > 1e-4 and not rig.problem
    (body,) = reopen("Body")
    assert body.thew.rigs[0].face == 40 and body.thew.rigs[0].guide == "SKIN"


# linked and instanced ---------------------------------------------------------------------------------------------------


def test_linked_character_named(library, tmp_path):
    """Add Flesh on a linked mesh names the library and the button; the button overrides the character in its place."""
    open_shot(tmp_path / "shot.blend")
    bpy.context.scene.collection.children.link(link(library))
    body = next(obj for obj in bpy.context.scene.objects if obj.type == "MESH")
    activate(body)
    text = refusal(bpy.ops.thew.add)
    assert "“Body” is linked from “library.blend” and cannot" in text and "Make Override" in text
    assert bpy.ops.thew.make_override() == {"FINISHED"}
    body = bpy.context.object
    assert body == local("Body") and body.override_library is not None
    assert all(obj.library is None for obj in bpy.context.scene.objects) and len(bpy.context.scene.objects) == 2
    skin = play(body, FRAMES)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - skin).max() > 1e-3
    activate(body)
    assert "is an override already" in refusal(bpy.ops.thew.make_override)


def test_loose_linked_object_overridden(library, tmp_path):
    """Objects that were linked without their collection are overridden together with their armature."""
    open_shot(tmp_path / "shot.blend")
    with bpy.data.libraries.load(str(library), link=True) as (found, wanted):
        wanted.objects = found.objects
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    activate(next(obj for obj in wanted.objects if obj.type == "MESH"))
    assert bpy.ops.thew.make_override() == {"FINISHED"}
    body = bpy.context.object
    assert body.modifiers["Armature"].object == local("Rig")
    assert sorted(obj.name for obj in bpy.context.scene.objects if obj.library is None) == ["Body", "Rig"]
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}


def test_instance_overridden_in_place(library, local_flesh, tmp_path):
    """An instance names the button; its character is overridden where it was seen, goes on following the instance, and has flesh."""
    open_shot(tmp_path / "shot.blend")
    empty = bpy.data.objects.new("Crowd", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", link(library)
    empty.location = (3.0, 1.0, 0.5)
    bpy.context.scene.collection.objects.link(empty)
    activate(empty)
    text = refusal(bpy.ops.thew.add)
    assert "instance of the collection “Character” from “library.blend”" in text and "Make Override" in text
    assert bpy.ops.thew.make_override() == {"FINISHED"}
    body = bpy.context.object
    assert body == local("Body") and empty.instance_collection is None
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    (body,) = reopen("Body")
    moved = np.array(local("Crowd").matrix_world)
    for frame, shape in zip(FRAMES, local_flesh, strict=True):
        bpy.context.scene.frame_set(frame)
        np.testing.assert_allclose(world(body), shape @ moved[:3, :3].T + moved[:3, 3], atol=5e-6)


def test_script_of_the_page(library, tmp_path):
    """The script of the page on linked characters gives a character flesh in a shot, which the command line then bakes."""
    page = Path(__file__).parents[2] / "docs" / "blender" / "linked.md"
    code = re.search(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
    shot = tmp_path / "shot.blend"
    for there, here in (("/library/hero.blend", library), ("/shots/shot.blend", shot), ("Hero", COLLECTION)):
        assert there in code
        code = code.replace(there, Path(here).as_posix())
    open_shot(tmp_path / "empty.blend")
    exec(compile(code, str(page), "exec"), {})
    assert bpy.context.object.thew.made.flesh and bpy.context.object.override_library is not None
    assert part("cli").main(["bake", str(shot), "--target", "pc2", "--frames", "1", "4"]) == 0


def test_command_names_instance(library, tmp_path, capsys):
    """The command line names a character that only an instance shows and what to do, also beside one that it bakes."""
    open_shot(tmp_path / "shot.blend")
    empty = bpy.data.objects.new("Crowd", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", link(library)
    bpy.context.scene.collection.objects.link(empty)
    bpy.ops.wm.save_mainfile()
    told = "“Crowd” is an instance of the collection “Character” from “library.blend”"
    assert part("cli").main(["bake", str(tmp_path / "shot.blend")]) == 1
    error = capsys.readouterr().err
    assert told in error and "bpy.ops.thew.make_override()" in error
    make_character()
    bpy.ops.wm.save_mainfile()
    assert part("cli").main(["export", str(tmp_path / "shot.blend"), "--out", str(tmp_path)]) == 0
    assert told in capsys.readouterr().out


def test_linked_instance_named(library, tmp_path):
    """An instance that is linked itself says which file to link from."""
    open_shot(tmp_path / "set.blend")
    props, empty = bpy.data.collections.new("Props"), bpy.data.objects.new("Crowd", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", link(library)
    bpy.context.scene.collection.children.link(props)
    props.objects.link(empty)
    bpy.ops.wm.save_mainfile()
    open_shot(tmp_path / "shot.blend")
    with bpy.data.libraries.load(str(tmp_path / "set.blend"), link=True) as (_, wanted):
        wanted.collections = ["Props"]
    bpy.context.scene.collection.children.link(wanted.collections[0])
    activate(next(obj for obj in bpy.context.scene.objects if obj.type == "EMPTY"))
    for operator in (bpy.ops.thew.add, bpy.ops.thew.make_override):
        assert "“Crowd” is an instance" in refusal(operator) and "from its own file" in refusal(operator)


def test_local_instance_named(character):
    """An instance of a collection of the same file says where the character can be edited."""
    body, armature = character
    shown = bpy.data.collections.new("Folk")
    for obj in (body, armature):
        shown.objects.link(obj)
    empty = bpy.data.objects.new("Copy", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", shown
    bpy.context.scene.collection.objects.link(empty)
    activate(empty)
    for operator in (bpy.ops.thew.add, bpy.ops.thew.make_override):
        text = refusal(operator)
        assert "“Copy” is an instance of the collection “Folk”" in text and "select the mesh" in text
    activate(body)
    assert "not linked" in refusal(bpy.ops.thew.make_override)


def test_override_of_armature_alone(library, local_flesh, tmp_path):
    """A local mesh on an overridden armature, and an overridden mesh on a local armature, have flesh."""
    open_shot(tmp_path / "shot.blend")
    body, armature = override(library)
    own = body.copy()
    own.data = body.data.copy()
    own.name = "Own"
    bpy.context.scene.collection.objects.link(own)
    own.make_local()
    assert own.override_library is None and own.modifiers["Armature"].object == armature
    activate(own)
    assert bpy.ops.thew.add(cells_across=6, whole=False) == {"FINISHED"}
    np.testing.assert_allclose(play(own, FRAMES), local_flesh, atol=1e-6)
    assert "thew_offset" in own.data.attributes and not holders()
    rig = armature.copy()
    rig.data, rig.name = armature.data.copy(), "Own rig"
    bpy.context.scene.collection.objects.link(rig)
    rig.make_local()
    body.modifiers["Armature"].object = rig
    activate(body)
    assert bpy.ops.thew.add(cells_across=6, whole=False) == {"FINISHED"}
    np.testing.assert_allclose(play(body, FRAMES), local_flesh, atol=1e-6)
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), local_flesh, atol=1e-6)


def test_local_object_with_linked_mesh(library, local_flesh, tmp_path):
    """A local object with a linked mesh has flesh as an override has."""
    open_shot(tmp_path / "shot.blend")
    body, _ = override(library)
    body.make_local()
    assert body.override_library is None and body.data.library is not None
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    np.testing.assert_allclose(play(body, FRAMES), local_flesh, atol=1e-6)
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), local_flesh, atol=1e-6)
