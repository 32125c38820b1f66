# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts that Thew notices in a character's animation, and restarts accepted, automatic or by keys."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from characters import clips, load, meshes
from conftest import FAST, data_folder
from dancing import assert_same, bake_clips, clip_shapes, frames_of, live_shapes, use
from helpers import Layout, activate, animate, flesh_of, make_body, make_character, part, play, size_of

CUT, LAST = 11, 20
CHARACTERS = data_folder("characters")
FILES = sorted(CHARACTERS.glob("*.*")) if CHARACTERS else []
FILES = [file for file in FILES if file.suffix in {".glb", ".gltf", ".fbx"}]


@pytest.fixture
def cut_character(scene):
    """Builds a character that moves, and is ten metres away from frame `CUT` on."""
    scene.frame_end = LAST
    body, rig = make_character()
    body.parent = rig
    jump(rig, CUT)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def jump(rig, frame: int, far: float = 10.0) -> None:
    """Keys a jump of an armature in one frame."""
    for at, x in ((1, 0.0), (frame - 1, 0.0), (frame, far)):
        rig.location.x = x
        rig.keyframe_insert("location", index=0, frame=at)
    bpy.context.scene.frame_set(1)


def simulate(body) -> np.ndarray:
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return play(body, range(1, LAST + 1))


def noticed(body) -> list[int]:
    """Returns the frames of the cuts that wait for a decision."""
    return [cut.frame for cut in flesh_of(body).open_cuts]


def words(body) -> list[str]:
    """Returns what the panel says about restarts."""
    layout = Layout()
    part("ui.restarts").draw_restarts(layout, body, bpy.context.scene, 200)
    return layout.read()


def has_button_for_all(body) -> bool:
    """Returns whether the panel has the button that accepts all cuts."""
    layout = Layout()
    part("ui.restarts").draw_restarts(layout, body, bpy.context.scene, 200)
    return any(call[:2] == ("operator", "thew.restart_at_cuts") for call in layout.seen)


def test_cut_listed_and_accepted(cut_character):
    """A jump is listed with its frame; one press makes it a restart, and the flesh is as with Restart Here."""
    body, _ = cut_character
    simulate(body)
    assert noticed(body) == [CUT]
    assert any(f"Frame {CUT}: everything jumps" in line for line in words(body))
    assert bpy.ops.thew.restart_at_cuts() == {"FINISHED"}
    accepted = simulate(body)
    assert noticed(body) == [] and f"Begins anew in frame {CUT}" in words(body)
    assert bpy.ops.thew.restart_remove(frame=CUT) == {"FINISHED"}
    thrown = simulate(body)
    assert np.abs(thrown - accepted).max() > 0.02 * size_of(accepted[0])
    assert bpy.ops.thew.restart_here(frame=CUT) == {"FINISHED"}
    np.testing.assert_array_equal(simulate(body), accepted)


def test_cut_passed_over(cut_character):
    """A jump that is no cut is mentioned no more, and the flesh is thrown as before."""
    body, _ = cut_character
    thrown = simulate(body)
    assert bpy.ops.thew.restart_pass(frame=CUT) == {"FINISHED"}
    np.testing.assert_array_equal(simulate(body), thrown)
    assert noticed(body) == [] and f"Goes on through frame {CUT}" in words(body)
    assert not any("jumps" in text for text in part("logic.health").warnings(flesh_of(body)))
    # Nor does the automatic restart take it.
    body.thew.restart_at_cuts = True
    np.testing.assert_array_equal(simulate(body), thrown)
    assert bpy.ops.thew.restart_remove(frame=CUT) == {"FINISHED"}
    assert np.abs(simulate(body) - thrown).max() > 0.02 * size_of(thrown[0])


def test_restart_at_cuts_automatic(cut_character):
    """The switch restarts at a cut without a list, follows an edited animation, and bakes what it shows."""
    body, rig = cut_character
    body.thew.restart_at_cuts = True
    automatic = simulate(body)
    assert f"Begins anew in frame {CUT}" in flesh_of(body).beginning.note and not len(body.thew.restarts)
    body.thew.restart_at_cuts = False
    bpy.ops.thew.restart_here(frame=CUT)
    np.testing.assert_array_equal(simulate(body), automatic)
    bpy.ops.thew.restart_remove(frame=CUT)
    body.thew.restart_at_cuts = True
    animate(rig)
    jump(rig, CUT + 4)
    again = simulate(body)
    assert f"Begins anew in frame {CUT + 4}" in flesh_of(body).beginning.note
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(body, range(1, LAST + 1)) - again).max() < 1e-5 * size_of(again[0])


def test_wrong_key_of_bone(popping_character):
    """A bone with one wrong key is named with its frame; restarts there and behind leave the flesh of all other frames alone."""
    body, rig = popping_character
    head = rig.pose.bones["Head"]
    thrown = simulate(body)
    assert noticed(body) == [CUT, CUT + 1]
    assert any(line == f"Frame {CUT + 1}: “Head” jumps back" for line in words(body))
    said = part("logic.health").warnings(flesh_of(body))
    assert any(f"“Head” is elsewhere in frame {CUT} alone" in text for text in said)
    assert bpy.ops.thew.restart_at_cuts() == {"FINISHED"}
    calm = simulate(body)
    head.rotation_euler = (0.0, 0.0, 0.0)
    head.keyframe_insert("rotation_euler", frame=CUT)
    right = simulate(body)
    others = [frame - 1 for frame in range(1, LAST + 1) if frame != CUT]
    size = size_of(right[0])
    # Unmended the neighbours are thrown as far as a cut of the whole character, which is seen. Mended they have the poses, the
    # restarts and so every bit of the right motion.
    assert np.abs(thrown - right)[others].max() > part("logic.cuts").MIN_WHOLE_STEP * size
    np.testing.assert_array_equal(calm[others], right[others])


@pytest.fixture
def popping_character(scene):
    """Builds a character of which one bone is elsewhere in frame `CUT` alone."""
    scene.frame_end = LAST
    body, rig = make_character()
    head = rig.pose.bones["Head"]
    head.rotation_mode = "XYZ"
    for frame in range(1, LAST + 1):
        head.rotation_euler = (1.2 if frame == CUT else 0.0, 0.0, 0.0)
        head.keyframe_insert("rotation_euler", frame=frame)
    body.thew.motion_start = "SETTLED"
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def test_restart_at_cuts_leaves_pops(popping_character):
    """Restart at Cuts does not begin anew where a bone comes back: it stays named and open, and a press accepts it."""
    body, _ = popping_character
    thrown = simulate(body)
    body.thew.restart_at_cuts = True
    np.testing.assert_array_equal(simulate(body), thrown)
    assert noticed(body) == [CUT, CUT + 1]
    assert any("is elsewhere in frame" in text for text in part("logic.health").warnings(flesh_of(body)))
    assert has_button_for_all(body) and any(f"Frame {CUT}: “Head” jumps" in line for line in words(body))
    ui = part("ui.restarts")
    assert ui.marks(body, bpy.context.scene) == [(CUT, ui.CUT_COLOUR), (CUT + 1, ui.CUT_COLOUR)]
    assert bpy.ops.thew.restart_at_cuts() == {"FINISHED"}
    assert np.abs(simulate(body) - thrown).max() > 0.01 * size_of(thrown[0])
    assert noticed(body) == []


def test_warning_names_a_button(popping_character):
    """While one half of a jump there and back is judged, the warning names what the panel draws."""
    body, _ = popping_character
    simulate(body)
    bpy.ops.thew.restart_here(frame=CUT)
    simulate(body)
    assert noticed(body) == [CUT + 1]
    (said,) = [text for text in part("logic.health").warnings(flesh_of(body)) if "Head" in text]
    assert not has_button_for_all(body) and "Restart at All Cuts" not in said and "press Restart Here" in said


def test_restart_by_keys(cut_character):
    """Keys of Restart on the armature restart in the frames that they switch it on, and their removal takes it back."""
    body, rig = cut_character
    thrown = simulate(body)
    for frame, on in ((1, False), (CUT, True), (CUT + 1, False)):
        rig.thew.restart = on
        assert rig.thew.keyframe_insert("restart", frame=frame)
    keyed = simulate(body)
    assert noticed(body) == [] and f"Begins anew by keys in frame {CUT}" in words(body)
    rig.thew.keyframe_delete("restart", frame=CUT)
    np.testing.assert_array_equal(simulate(body), thrown)
    bpy.ops.thew.restart_here(frame=CUT)
    np.testing.assert_array_equal(simulate(body), keyed)


def test_restart_by_keys_of_other_action(dancer):
    """Keys of Restart count for the action that holds them, in a bake of all actions too."""
    body, rig = dancer
    played = part("scene.animation").played_action(rig)
    rig.thew.restart = True
    rig.thew.keyframe_insert("restart", frame=9)
    keys, slots = part("scene.restart_keys"), part("scene.animation").slots_of
    for action in bpy.data.actions:
        assert keys.frames_in(action, slots(action, "OBJECT")) == ({9} if action == played.action else set())
    assert part("scene.groups").restarts(body, bpy.context.scene) == (9,)


def test_restart_by_keys_baked_with_its_action(dancer, tmp_path):
    """In a bake of all actions each begins anew at its own keys, as it does live; exporters take the key along."""
    body, rig = dancer
    use(rig, "Walk")
    at = frames_of("Walk")[8]
    rig.thew.restart = True
    rig.thew.keyframe_insert("restart", frame=at)
    use(rig, "Run")
    live = live_shapes(body, rig)
    use(rig, "Walk")
    rig.thew.keyframe_delete("restart", frame=at)
    without = live_shapes(body, rig)
    assert np.abs(live["Walk"] - without["Walk"]).max() > 1e-4
    assert_same(live["Run"], without["Run"])
    rig.thew.restart = True
    rig.thew.keyframe_insert("restart", frame=at)
    use(rig, "Run")
    activate(body)
    bake_clips(clips="ALL")
    for name, shapes in live.items():
        assert_same(clip_shapes(body, rig, name), shapes)
    file = tmp_path / "dancer.glb"
    assert bpy.ops.export_scene.gltf(filepath=str(file)) == {"FINISHED"} and file.stat().st_size > 1000


def test_pass_of_other_action(dancer):
    """A frame that is no cut counts for the action that the scene plays alone, as restarts do."""
    body, rig = dancer
    use(rig, "Walk")
    body.thew.restart_at_cuts = True
    activate(body)
    assert bpy.ops.thew.restart_pass(frame=9) == {"FINISHED"}
    given = part("live.build_settings").BuildSettings.from_object(body, bpy.context.scene)
    for name, passed in (("Walk", (9,)), ("Run", ())):
        plan = SimpleNamespace(action=bpy.data.actions[name], start=1, end=20)
        assert part("bake.clip_flesh").clip_settings(given, plan, rig).passed == passed, name


def test_cut_of_character_with_two_meshes(cut_character):
    """A decision holds for all flesh of a character."""
    body, rig = cut_character
    shirt = make_body(rig, name="Shirt", rings=9)
    shirt.parent = rig
    activate(shirt)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    simulate(shirt)
    assert noticed(shirt) == [CUT]
    activate(body)
    bpy.ops.thew.restart_pass(frame=CUT)
    simulate(shirt)
    assert noticed(shirt) == []


def test_cut_of_touching_characters(scene):
    """Characters that touch begin anew together at a cut of one of them."""
    scene.frame_end = LAST
    pair = []
    for name, x in (("A", 0.0), ("B", 1.5)):
        body, rig = make_character(name=name)
        body.parent, rig.location.y = rig, x
        body.thew.use_contact = body.thew.use_other_flesh = body.thew.restart_at_cuts = True
        pair.append((body, rig))
    jump(pair[1][1], CUT, 3.0)
    for body, _ in pair:
        activate(body)
        assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    for body, _ in pair:
        simulate(body)
        assert f"Begins anew in frame {CUT}" in flesh_of(body).beginning.note, body.name


def test_cut_marks(cut_character):
    """The timeline marks restarts and cuts that wait, in two colours, as triangles below its upper edge."""
    body, _ = cut_character
    ui, scene = part("ui.restarts"), bpy.context.scene
    simulate(body)
    assert ui.marks(body, scene) == [(CUT, ui.CUT_COLOUR)]
    bpy.ops.thew.restart_here(frame=CUT)
    assert (CUT, ui.RESTART_COLOUR) in ui.marks(body, scene)
    corners = np.array(ui.triangles([100.0], 50.0, 2.0))
    assert corners.shape == (3, 2) and corners[:, 1].max() == 50.0 and corners[:, 0].mean() == pytest.approx(100.0)


def test_cut_settings_saved(cut_character, tmp_path):
    """The decisions are kept in the file."""
    body, rig = cut_character
    bpy.ops.thew.restart_here(frame=CUT)
    bpy.ops.thew.restart_pass(frame=CUT + 3)
    body.thew.restart_at_cuts = rig.thew.restart = True
    path = tmp_path / "cut.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    settings = bpy.data.objects["Body"].thew
    assert {(each.frame, each.goes_on) for each in settings.restarts} == {(CUT, False), (CUT + 3, True)}
    assert settings.restart_at_cuts and bpy.data.objects["Rig"].thew.restart


# real characters ----------------------------------------------------------------------------------------------------


def motion_of(obj, frames) -> tuple:
    """Returns (poses [f, b, 4, 4], carried skin) of a mesh in Blender's world over `frames`."""
    reading, poses, cuts = part("scene.reading"), part("scene.poses"), part("logic.cuts")
    layer, scene = bpy.context.view_layer, bpy.context.scene
    character = part("scene.character").read_character(
        reading.subject(obj, layer), scene, bpy.context.evaluated_depsgraph_get
    )
    rest = np.array(obj.matrix_world)
    reader = poses.PoseReader(reading.subject(obj, layer), character.bones, rest)
    maps = []
    for frame in frames:
        scene.frame_set(frame)
        maps.append(reader.read(layer.depsgraph, frame).maps)
    points = part("logic.spaces").transform(rest, character.rest)
    size = size_of(points)
    return np.array(maps), cuts.Carried.from_skin(character.bones, character.parents, points, character.weights, size)


@pytest.mark.skipif(not FILES, reason="needs THEW_DATA")
@pytest.mark.parametrize("file", FILES[::4] if FAST else FILES, ids=lambda file: file.name)
def test_cuts_of_real_clips(addon, file):
    """No clip of a real character has a cut, and a character that is put elsewhere in the middle of one has it there alone."""
    load(file)
    find = part("logic.cuts").find_cuts
    obj, rig = meshes()[0], part("scene.reading").armature_modifier(meshes()[0]).object
    for action in clips():
        animation = rig.animation_data or rig.animation_data_create()
        for track in list(animation.nla_tracks):
            animation.nla_tracks.remove(track)
        animation.action = action
        if hasattr(action, "slots") and action.slots:
            animation.action_slot = action.slots[0]
        first, last = (round(at) for at in action.frame_range)
        maps, skin = motion_of(obj, range(first, last + 1))
        assert find(maps, skin, 24.0, first) == (), action.name
        if len(maps) < 12:
            continue
        half = len(maps) // 2
        steps = np.linalg.norm(np.diff(maps[..., :3, 3], axis=0), axis=-1).max() / skin.size
        maps[half:, :, 0, 3] += max(0.5, 8.0 * steps) * skin.size
        assert [(cut.frame, cut.bones) for cut in find(maps, skin, 24.0, first)] == [(first + half, ())], action.name
