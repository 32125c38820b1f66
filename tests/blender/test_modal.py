# SPDX-License-Identifier: GPL-3.0-or-later
"""The method Modal in Blender: its life on an object, its settings, its engines, characters."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from characters import clips, load, meshes, play_clip
from conftest import data_folder, in_one_blender
from helpers import (
    Layout,
    activate,
    add_modal,
    animate,
    flesh_of,
    forget_settings,
    part,
    play,
    refusal,
    settings,
    size_of,
    skinned_shape,
    snapshot,
)

from assets import characters as own

FRAMES = range(1, 21)
FOLDER = data_folder("characters")


@pytest.fixture
def calls(monkeypatch):
    """Returns the numbers of modes that the native core was asked for, call by call."""
    thew, asked = part("logic.native").thew, []
    find = thew.modes

    def record_count(body, count, **options):
        asked.append(count)
        return find(body, count, **options)

    monkeypatch.setattr(thew, "modes", record_count)
    return asked


# moving, scrubbing, baking -------------------------------------------------------------------------------------------


def test_modal_swings_around_skin(character):
    """Modal flesh swings around the plain skin by a small, finite distance, in every mode."""
    body, _ = character
    skinned = play(body, FRAMES)
    add_modal()
    shapes = play(body, FRAMES)
    distance = np.linalg.norm(shapes - skinned, axis=2).max() / size_of(skinned[0])
    assert np.isfinite(shapes).all() and 1e-3 < distance < 0.2
    assert body.thew.method == "modal" and len(flesh_of(body).modes) == 12
    swings = np.ptp(flesh_of(body).clip.amplitudes, axis=0)
    assert swings.shape == (12,) and (swings > 0.0).all()


def test_modal_scrub_any_order(character):
    """Frames look the same in any order of scrubbing."""
    body, _ = character
    add_modal()
    shapes = play(body, FRAMES)
    order = np.random.default_rng(3).permutation(list(FRAMES)).tolist()
    for frame, shape in zip(order, play(body, order), strict=True):
        np.testing.assert_array_equal(shape, shapes[frame - 1])


def test_modal_bake_matches_live(character):
    """A bake plays as the live flesh."""
    body, _ = character
    add_modal()
    live = play(body, FRAMES)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_modal_still_at_rest(scene, character):
    """A character at rest stands still."""
    body, rig = character
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.matrix_basis.identity()
    add_modal()
    rest = part("scene.mesh").basis_positions(body.data)
    assert np.abs(play(body, FRAMES) - rest).max() < 1e-5 * size_of(rest)


def test_modal_remove_restores_file(scene, character):
    """Removal restores the file; settings stay, and the preview ends."""
    body, _ = character
    body.thew.modes = 12
    scene.frame_set(7)
    before = snapshot(body)
    add_modal()
    body.thew.preview_mode = 2
    play(body, (3, 7))
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert (body.thew.modes, body.thew.method, body.thew.preview_mode) == (12, "modal", 0)
    forget_settings(body)
    body.thew.modes = 12
    assert snapshot(body) == before


def test_modal_saved_and_loaded(character, tmp_path):
    """The settings and the motion survive saving and loading."""
    body, _ = character
    add_modal()
    body.thew.softness, body.thew.engine, body.thew.preview_size = 0.4, "CPU", 0.2
    live, saved = play(body, FRAMES), settings(body)
    path = str(tmp_path / "modal.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body = bpy.data.objects["Body"]
    assert settings(body) == saved
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_modal_undo_and_redo(character):
    """Undo and redo of the number of modes change the motion back and forth."""
    body, _ = character
    add_modal()
    live = play(body, FRAMES)
    bpy.ops.ed.undo_push(message="added")
    body.thew.modes = 3
    few = play(body, FRAMES)
    bpy.ops.ed.undo_push(message="fewer modes")
    bpy.ops.ed.undo()
    body = bpy.data.objects["Body"]
    assert body.thew.modes == 12
    np.testing.assert_array_equal(play(body, FRAMES), live)
    bpy.ops.ed.redo()
    np.testing.assert_array_equal(play(bpy.data.objects["Body"], FRAMES), few)


def test_modal_copy_has_own_modes(character):
    """A copied object has modes of its own and leaves the original's motion unchanged."""
    body, _ = character
    add_modal()
    live = play(body, FRAMES)
    copy = body.copy()
    copy.data = body.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    copy.thew.modes = 4
    shapes = play(copy, FRAMES)
    assert len(flesh_of(copy).modes) == 4 and len(flesh_of(body).modes) == 12
    assert np.isfinite(shapes).all() and np.abs(shapes - live).max() > 1e-6
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_modal_bake_by_command(character, tmp_path):
    """The command line bakes modal flesh with the given number of modes."""
    path, out = str(tmp_path / "plain.blend"), str(tmp_path / "out.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    run = part("cli").main
    assert run(["bake", path, "--method", "modal", "--modes", "7", "--out", out]) == 0
    bpy.ops.wm.open_mainfile(filepath=out)
    body = bpy.data.objects["Body"]
    assert (body.thew.method, body.thew.modes) == ("modal", 7)
    baked = play(body, FRAMES)
    bpy.context.view_layer.objects.active = body
    bpy.ops.thew.show_live()
    assert np.abs(play(body, FRAMES) - baked).max() < 1e-5 * size_of(baked[0])
    assert len(flesh_of(body).modes) == 7


@pytest.mark.parametrize("words", [("--modes", "0"), ("--modes", "999"), ("--modes", "many"), ("--method", "wobble")])
def test_command_names_bad_settings(words, capsys):
    """The command line stops with status 1, as nothing was done, and names an impossible setting."""
    with pytest.raises(SystemExit) as stopped:
        part("cli").main(["bake", "x.blend", *words])
    assert stopped.value.code == 1 and words[1] in capsys.readouterr().err


# settings and stages -------------------------------------------------------------------------------------------------


def test_modes_recomputed_when_needed(character, calls):
    """Modes are computed anew only when the flesh or their number changes."""
    body, _ = character
    add_modal()
    before = play(body, FRAMES)
    assert calls == [12]
    changes = {
        "mass_damping": 6.0, "stiffness_damping": 0.02, "softness": 0.3, "reach": 0.05,
        "use_gravity": False, "rate": 480.0, "engine": "CPU", "frame_end": 12,
        "use_scene_range": False, "preview_mode": 2,
    }  # fmt: skip
    for name, value in changes.items():
        setattr(body.thew, name, value)
        play(body, (3, 9))
    assert calls == [12]
    for name in changes:
        body.thew.property_unset(name)
    np.testing.assert_array_equal(play(body, FRAMES), before)
    assert calls == [12]
    body.thew.modes = 5
    play(body, (3,))
    assert calls == [12, 5] and len(flesh_of(body).modes) == 5
    body.thew.density = 900.0
    play(body, (3,))
    assert calls == [12, 5, 5]


@pytest.mark.parametrize(("name", "value"), [("settling", 4.0), ("softness", 0.2), ("modes", 2), ("reach", 0.002)])
def test_slider_changes_modal_motion(character, name, value):
    """Each slider changes the motion, and its former value gives the former motion back."""
    body, _ = character
    add_modal()
    before = play(body, FRAMES)
    setattr(body.thew, name, value)
    assert np.abs(play(body, FRAMES) - before).max() > 1e-5
    setattr(body.thew, name, 12 if name == "modes" else body.thew.bl_rna.properties[name].default)
    np.testing.assert_array_equal(play(body, FRAMES), before)


def test_modes_kept_when_stiffer(character):
    """Stiffer flesh keeps its modes and gets the higher frequencies of a fresh computation."""
    body, _ = character
    add_modal()
    flesh = flesh_of(body)
    play(body, (3,))
    modes, slow = flesh.modes, flesh.frequencies
    body.thew.use_young, body.thew.young = True, 4.0 * flesh.body.material.young
    play(body, (3,))
    assert flesh.modes is modes
    np.testing.assert_allclose(flesh.frequencies, 2.0 * slow, rtol=1e-6)  # the property is a 32 bit number
    # What is kept by a factor is what that flesh has of its own.
    fresh = part("logic.native").thew.modes(flesh.body, 12)
    np.testing.assert_allclose(fresh.frequencies, flesh.frequencies, rtol=1e-4)


def test_young_in_force(character, calls):
    """The stiffness is in force however low it is, without new modes."""
    body, _ = character
    softness = []
    for young in (300.0, 20e3, 60e3):
        body.thew.use_young, body.thew.young = True, young
        if not body.thew.made.flesh:
            add_modal()
        assert np.isfinite(play(body, FRAMES)).all()
        softness.append(flesh_of(body).body.softness() * young)
    np.testing.assert_allclose(softness, softness[0], rtol=1e-5)
    assert calls == [12]


def test_other_methods_compute_no_modes(character, calls):
    """Other methods compute no modes and ignore the modal settings."""
    body, _ = character
    bpy.ops.thew.add(cells_across=6)
    before = play(body, FRAMES)
    body.thew.modes, body.thew.engine, body.thew.device, body.thew.preview_mode = 5, "GPU", "any", 3
    np.testing.assert_array_equal(play(body, FRAMES), before)
    notes = body.thew.made.notes
    body.thew.method = "modal"
    body.thew.preview_mode = 0
    assert np.abs(play(body, FRAMES) - before).max() > 1e-4
    body.thew.property_unset("method")
    np.testing.assert_array_equal(play(body, FRAMES), before)
    assert calls == [5] and body.thew.made.notes == notes


def test_modes_capped_at_freedom(character):
    """The number of modes is limited to the degrees of freedom, and the notes say so."""
    body, _ = character
    bpy.context.object.thew.modes = 128
    assert bpy.ops.thew.add(cells_across=3, method="modal") == {"FINISHED"}
    shapes, flesh = play(body, FRAMES), flesh_of(body)
    freedom = 3 * (flesh.body.node_count - len(flesh.body.held_vertices))
    assert np.isfinite(shapes).all() and len(flesh.modes) == min(128, freedom)
    assert (f"has {freedom} vibration modes only" in body.thew.made.notes) == (freedom < 128)


def test_modal_refuses_without_freedom(character, monkeypatch):
    """Flesh without any freedom is refused, and nothing changes."""
    body, _ = character
    real = part("logic.modal").find

    class HeldBody:
        node_count, held_vertices = 4, range(4)

    monkeypatch.setattr(part("logic.modal"), "find", lambda thew, _body, *rest: real(thew, HeldBody, *rest))
    before = snapshot(body)
    text = refusal(bpy.ops.thew.add, method="modal")
    assert body.name in text and "no vibration modes" in text and "Detail" in text
    assert snapshot(body) == before


@pytest.mark.usefixtures("unshared")
def test_modal_progress_and_cancel(scene, character):
    """Progress never falls, and a cancelled computation changes nothing."""
    body, _ = character
    jobs, tasks, errors = part("live.jobs"), part("logic.tasks"), part("logic.errors")
    body.thew.method = "modal"
    before, seen = snapshot(body), []

    def progress(fraction, text):
        seen.append((fraction, text))
        return text != "Finding the modes" and not 0.6 < fraction < 0.8

    with pytest.raises(errors.Cancelled):
        tasks.finish(jobs.add(body, scene, bpy.context.view_layer), progress)
    assert 0.6 < seen[-1][0] < 0.8 and snapshot(body) == before
    seen.clear()
    tasks.finish(jobs.add(body, scene, bpy.context.view_layer), lambda *what: seen.append(what) or True)
    assert [f for f, _ in seen] == sorted(f for f, _ in seen)


# engines -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("engine", "device"), [("GPU", ""), ("GPU", "Voodoo"), ("AUTO", "Voodoo")])
def test_modal_missing_gpu_noted(character, engine, device):
    """A missing graphics card is noted once, and the processor gives the same motion."""
    body, _ = character
    body.thew.engine = "CPU"
    add_modal()
    right = play(body, FRAMES)
    notes = body.thew.made.notes.splitlines()
    body.thew.engine, body.thew.device = engine, device
    shapes = play(body, FRAMES)
    assert np.abs(shapes - right).max() < 1e-4 * size_of(right[0])
    said = [note for note in body.thew.made.notes.splitlines() if note not in notes]
    thew, flesh = part("logic.native").thew, flesh_of(body)
    if engine == "GPU" and not (thew.gpu_adapters() and not device):
        assert len(said) == 1 and "CPU" in flesh.clip.engine
    assert len(said) <= 1
    body.thew.engine, body.thew.device = "CPU", ""
    np.testing.assert_array_equal(play(body, FRAMES), right)
    assert body.thew.made.notes.splitlines() == notes


# what the artist reads -----------------------------------------------------------------------------------------------


def test_panel_shows_modes(character):
    """The panel shows the modes, the engine and the preview, and each has a description."""
    body, _ = character
    panels = part("ui.panels")
    add_modal()
    play(body, (3,))
    layout = Layout()
    panels.draw_advanced(layout, bpy.context, body, 60)
    for name in ("modes", "engine", "device", "preview_mode"):
        assert f"[{name}]" in layout.read()
    flesh = flesh_of(body)
    read = " ".join(layout.read())
    assert f"12 modes, {flesh.frequencies[0]:.3g} to {flesh.frequencies[-1]:.3g} Hz" in read
    assert flesh.clip.engine in read and all(" ".join(line.split()) in read for line in flesh.clip.engine_report)
    body.thew.preview_mode, layout = 3, Layout()
    panels.draw_advanced(layout, bpy.context, body, 60)
    assert "[preview_size]" in layout.read() and "Plays mode 3" in " ".join(layout.read())
    body.thew.preview_mode, body.thew.method, layout = 0, "warped", Layout()
    panels.draw_advanced(layout, bpy.context, body, 60)
    assert "[modes]" not in layout.read() and "[young]" in layout.read()
    for name in ("modes", "engine", "device", "preview_mode", "preview_size"):
        assert body.thew.bl_rna.properties[name].description


# characters ----------------------------------------------------------------------------------------------------------


def play_and_bake(body, frames) -> np.ndarray:
    """Plays and bakes; returns how far each frame's flesh is from its skin, as parts of the size."""
    flesh, chosen = flesh_of(body), list(frames)[:: max(1, len(frames) // 6)]
    live = play(body, chosen)
    away = [np.sqrt((flesh.offsets(f) ** 2).sum(axis=1).mean()) for f in frames]
    assert np.isfinite(live).all()
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(body, chosen) - live).max() < 1e-5 * max(size_of(live[0]), np.abs(live).max())
    return np.array(away) * flesh.place.metres_per_unit / flesh.surface.size


@in_one_blender
def test_modal_biped_jump(scene):
    """The biped's flesh moves visibly but moderately in a jump, and more in a faster one."""
    armature, body = own.create("biped")
    own.use_action(armature, "jump")
    activate(body)
    assert bpy.ops.thew.add(method="modal", cells_across=8) == {"FINISHED"}
    moved = play_and_bake(body, range(scene.frame_start, scene.frame_end + 1))
    assert moved.max() > 1e-3 and moved.max() < 0.1
    # What jumps twice as fast swings farther.
    flesh = flesh_of(body)
    assert len(flesh.modes) == 32
    animate_faster(armature)
    bpy.ops.thew.simulate()
    faster = play_and_bake(body, range(scene.frame_start, scene.frame_end // 2))
    assert faster.max() > moved.max()


def animate_faster(armature) -> None:
    """Plays the action at double speed."""
    for curve in part("scene.animation").curves_in(armature.animation_data):
        for point in curve.keyframe_points:
            point.co.x = 1.0 + 0.5 * (point.co.x - 1.0)
        curve.update()


@pytest.mark.skipif(FOLDER is None or not (FOLDER / "Fox.glb").exists(), reason="no Fox.glb: set THEW_DATA")
def test_modal_fox_run(addon):
    """The flesh of a real fox moves visibly but moderately as it runs."""
    load(FOLDER / "Fox.glb")
    action = next(action for action in clips() if "Run" in action.name)
    frames = play_clip(action, 24)
    body = meshes()[0]
    activate(body)
    assert bpy.ops.thew.add(method="modal") == {"FINISHED"}
    moved = play_and_bake(body, frames)
    assert 1e-3 < moved.max() < 0.1
    skinned = np.array([skinned_shape(flesh_of(body), m, w) for m, w in zip(*motion_of(body, frames), strict=True)])
    bpy.ops.thew.show_live()
    live = play(body, frames)
    assert np.linalg.norm(live - skinned, axis=2).max() < 0.2 * size_of(skinned[0])


def motion_of(body, frames):
    flesh = flesh_of(body)
    return flesh.motion.maps[: len(frames)], flesh.motion.matrices[: len(frames)]


def test_modal_follows_changed_animation(character):
    """A changed animation changes the motion."""
    body, rig = character
    add_modal()
    before = play(body, FRAMES)
    animate(rig, bend=-0.4)
    assert np.abs(play(body, FRAMES) - before).max() > 1e-2
