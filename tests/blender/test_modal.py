# SPDX-License-Identifier: GPL-3.0-or-later
"""The method Modal in Blender: its life on an object, its engines, and the preview of single modes."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from characters import clips, load, meshes, play_clip
from conftest import data_folder
from helpers import activate, animate, evaluated, make_character, part, play, refused, settings, size_of, snapshot

from assets import characters as own

FRAMES = range(1, 21)
FOLDER = data_folder("characters")


@pytest.fixture
def character(scene):
    return make_character()


def add(modes=12, **options) -> None:
    bpy.context.object.thew.modes = modes
    assert bpy.ops.thew.add(cells_across=6, method="modal", **options) == {"FINISHED"}


def flesh_of(obj):
    return part("session").register.flesh(obj)


@pytest.fixture
def calls(monkeypatch):
    """The numbers of modes that were asked of the native core, call by call."""
    thew, asked = part("native").thew, []
    find = thew.modes

    def counted(body, count, **options):
        asked.append(count)
        return find(body, count, **options)

    monkeypatch.setattr(thew, "modes", counted)
    return asked


def carried(flesh, frame) -> np.ndarray:
    """The flesh at `frame` without any motion of its own, object space."""
    pose = flesh.place.maps(flesh.motion.maps[frame - flesh.clip_start])
    matrix = flesh.motion.matrices[frame - flesh.clip_start]
    deformer = part("native").thew.Deformer(flesh.modes, flesh.surface, form="embedded", engine="cpu")
    turn, move = flesh.place.to_object(matrix[None])
    return deformer.positions(np.zeros(len(flesh.modes)), pose) @ turn[0].T + move[0]


# moving, scrubbing, baking -------------------------------------------------------------------------------------------


def test_the_flesh_swings_around_its_skin(character):
    body, _ = character
    skinned = play(body, FRAMES)
    add()
    shapes = play(body, FRAMES)
    distance = np.linalg.norm(shapes - skinned, axis=2).max() / size_of(skinned[0])
    assert np.isfinite(shapes).all() and 1e-3 < distance < 0.2
    assert body.thew.method == "modal" and len(flesh_of(body).modes) == 12
    swings = np.ptp(flesh_of(body).clip.amplitudes, axis=0)
    assert swings.shape == (12,) and (swings > 0.0).all()


def test_scrubbing_in_any_order_shows_the_same(character):
    body, _ = character
    add()
    shapes = play(body, FRAMES)
    order = np.random.default_rng(3).permutation(list(FRAMES)).tolist()
    for frame, shape in zip(order, play(body, order), strict=True):
        np.testing.assert_array_equal(shape, shapes[frame - 1])


def test_baked_is_live(character):
    body, _ = character
    add()
    live = play(body, FRAMES)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_at_rest_it_stands_still(scene, character):
    body, rig = character
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.matrix_basis.identity()
    add()
    rest = part("reading").basis_positions(body.data)
    assert np.abs(play(body, FRAMES) - rest).max() < 1e-5 * size_of(rest)


def test_removal_leaves_the_file_as_it_was(scene, character):
    body, _ = character
    body.thew.modes = 12
    scene.frame_set(7)
    before = snapshot(body)
    add()
    body.thew.preview_mode = 2
    play(body, (3, 7))
    assert bpy.ops.thew.remove() == {"FINISHED"}
    after = snapshot(body)
    assert after["settings"].pop("modes") == 32 and before["settings"].pop("modes") == 12  # back to the default
    assert after == before


def test_it_survives_save_and_load(character, tmp_path):
    body, _ = character
    add()
    body.thew.young, body.thew.engine, body.thew.preview_size = 35e3, "CPU", 0.2
    live, saved = play(body, FRAMES), settings(body)
    path = str(tmp_path / "modal.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body = bpy.data.objects["Body"]
    assert settings(body) == saved
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_undo_and_redo(character):
    body, _ = character
    add()
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


def test_a_copied_object_has_modes_of_its_own(character):
    body, _ = character
    add()
    live = play(body, FRAMES)
    copy = body.copy()
    copy.data = body.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    copy.thew.modes = 4
    shapes = play(copy, FRAMES)
    assert len(flesh_of(copy).modes) == 4 and len(flesh_of(body).modes) == 12
    assert np.isfinite(shapes).all() and np.abs(shapes - live).max() > 1e-6
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_the_command_bakes_it(character, tmp_path):
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
def test_the_command_names_impossible_settings(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        part("cli").main(["bake", "x.blend", *words])
    assert stopped.value.code == 2 and words[1] in capsys.readouterr().err


# settings and stages -------------------------------------------------------------------------------------------------


def test_only_flesh_and_number_of_modes_find_them_anew(character, calls):
    body, _ = character
    add()
    before = play(body, FRAMES)
    assert calls == [12]
    changes = {
        "mass_damping": 6.0, "stiffness_damping": 0.02, "young": 60e3, "fit_stiffness": False, "reach": 0.05,
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


@pytest.mark.parametrize(("name", "value"), [("mass_damping", 12.0), ("young", 80e3), ("modes", 2), ("reach", 0.002)])
def test_a_slider_changes_the_motion(character, name, value):
    body, _ = character
    add()
    before = play(body, FRAMES)
    setattr(body.thew, name, value)
    assert np.abs(play(body, FRAMES) - before).max() > 1e-5
    setattr(body.thew, name, 12 if name == "modes" else body.thew.bl_rna.properties[name].default)
    np.testing.assert_array_equal(play(body, FRAMES), before)


def test_stiffer_flesh_has_the_same_modes_and_higher_frequencies(character):
    body, _ = character
    body.thew.fit_stiffness = False
    add()
    flesh = flesh_of(body)
    play(body, (3,))
    modes, slow = flesh.modes, flesh.frequencies
    body.thew.young *= 4.0
    play(body, (3,))
    assert flesh.modes is modes
    np.testing.assert_allclose(flesh.frequencies, 2.0 * slow, rtol=1e-6)  # the property is a 32 bit number
    # What is kept by a factor is what that flesh has of its own.
    fresh = part("native").thew.modes(flesh.body, 12)
    np.testing.assert_allclose(fresh.frequencies, flesh.frequencies, rtol=1e-4)


def test_fit_stiffness_holds_soft_flesh(character, calls):
    body, _ = character
    body.thew.young = 300.0
    add()
    play(body, (3,))
    flesh = flesh_of(body)
    assert flesh.firmness > 2.0 and f"{flesh.firmness:.3g} times as stiff" in body.thew.made.notes
    body.thew.fit_stiffness = False
    assert np.isfinite(play(body, FRAMES)).all() and flesh.firmness == 1.0
    assert calls == [12]


def test_other_methods_ask_for_no_modes(character, calls):
    body, _ = character
    bpy.ops.thew.add(cells_across=6)
    before = play(body, FRAMES)
    body.thew.modes, body.thew.engine, body.thew.device, body.thew.preview_mode = 5, "GPU", "any", 3
    np.testing.assert_array_equal(play(body, FRAMES), before)
    notes = body.thew.made.notes
    body.thew.method = "modal"
    body.thew.preview_mode = 0
    assert np.abs(play(body, FRAMES) - before).max() > 1e-4
    body.thew.method = "warped"
    np.testing.assert_array_equal(play(body, FRAMES), before)
    assert calls == [5] and body.thew.made.notes == notes


def test_more_modes_than_freedom(character):
    body, _ = character
    bpy.context.object.thew.modes = 128
    assert bpy.ops.thew.add(cells_across=3, method="modal") == {"FINISHED"}
    shapes, flesh = play(body, FRAMES), flesh_of(body)
    freedom = 3 * (flesh.body.dofs - len(flesh.body.held_vertices))
    assert np.isfinite(shapes).all() and len(flesh.modes) == min(128, freedom)
    assert (f"freedom for {freedom} modes" in body.thew.made.notes) == (freedom < 128)


def test_flesh_without_freedom_is_refused(character, monkeypatch):
    body, _ = character
    real = part("modal").find

    class Held:
        dofs, held_vertices = 4, range(4)

    monkeypatch.setattr(part("modal"), "find", lambda thew, _body, *rest: real(thew, Held, *rest))
    before = snapshot(body)
    text = refused(bpy.ops.thew.add, method="modal")
    assert body.name in text and "no vibration modes" in text and "Cells Across" in text
    assert snapshot(body) == before


def test_progress_and_cancel(scene, character):
    body, _ = character
    jobs, tasks, errors = part("jobs"), part("logic.tasks"), part("logic.errors")
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
def test_a_missing_graphics_card_is_told_once(character, engine, device):
    body, _ = character
    body.thew.engine = "CPU"
    add()
    right = play(body, FRAMES)
    notes = body.thew.made.notes.splitlines()
    body.thew.engine, body.thew.device = engine, device
    shapes = play(body, FRAMES)
    assert np.abs(shapes - right).max() < 1e-4 * size_of(right[0])
    said = [note for note in body.thew.made.notes.splitlines() if note not in notes]
    thew, flesh = part("native").thew, flesh_of(body)
    if engine == "GPU" and not (thew.gpu_adapters() and not device):
        assert len(said) == 1 and "CPU" in flesh.clip.engine
    assert len(said) <= 1
    body.thew.engine, body.thew.device = "CPU", ""
    np.testing.assert_array_equal(play(body, FRAMES), right)
    assert body.thew.made.notes.splitlines() == notes


# the preview ---------------------------------------------------------------------------------------------------------


def test_a_preview_plays_one_mode_and_goes(character):
    body, _ = character
    add()
    live, flesh = play(body, FRAMES), flesh_of(body)
    clip = flesh.clip
    for number in (1, 5, 12):
        body.thew.preview_mode = number
        assert len(np.unique(play(body, FRAMES)[:, 0], axis=0)) > 10
    body.thew.preview_mode = 0
    np.testing.assert_array_equal(evaluated(body), live[19])  # at once
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert flesh.clip is clip


@pytest.mark.parametrize(("number", "size"), [(1, 0.1), (3, 0.1), (12, 0.03)])
def test_a_preview_is_one_mode_of_the_right_size(scene, character, number, size):
    body, rig = character
    rig.animation_data_clear()
    for bone in rig.pose.bones:
        bone.matrix_basis.identity()
    body.thew.preview_size = size
    add()
    play(body, (2,))
    flesh, rest = flesh_of(body), part("reading").basis_positions(body.data)
    body.thew.preview_mode = number
    shapes = play(body, range(1, 49)) - rest
    scene.frame_set(1)
    largest = np.linalg.norm(shapes, axis=2).max(axis=1) * flesh.place.metres_per_unit / flesh.surface.size
    assert largest[0] == pytest.approx(size, rel=1e-3) and largest.max() <= size * 1.001

    deformer = part("native").thew.Deformer(flesh.modes, flesh.surface, form="embedded", engine="cpu")
    frequency = flesh.frequencies[number - 1]
    slower = np.ceil(frequency)  # at most one swing a second
    alone = np.eye(12)[number - 1]
    low, high = 0.0, 1.0
    measure = lambda a: np.linalg.norm(deformer.displacements(a * alone), axis=1).max()  # noqa: E731
    while measure(high) < size * flesh.surface.size:
        high *= 1.5
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if measure(middle) < size * flesh.surface.size else (low, middle)
    for frame in (1, 7, 19, 20):
        swing = np.cos(2.0 * np.pi * frequency / slower * (frame - 1) / 24.0)
        wanted = deformer.displacements(high * swing * alone) / flesh.place.metres_per_unit
        assert np.abs(shapes[frame - 1] - wanted).max() < 1e-3 * size * size_of(rest)
    body.thew.preview_mode = 0


def test_a_preview_is_carried_by_the_pose(character):
    body, _ = character
    add()
    play(body, (2,))
    flesh = flesh_of(body)
    body.thew.preview_mode = 1
    for frame, shape in zip((1, 6, 16), play(body, (1, 6, 16)), strict=True):
        distance = np.linalg.norm(shape - carried(flesh, frame), axis=1).max()
        assert distance < 0.101 * flesh.surface.size / flesh.place.metres_per_unit
    body.thew.preview_size = 0.001
    assert np.abs(play(body, (6,))[0] - carried(flesh, 6)).max() < 0.0011 * size_of(shape)


def test_a_mode_that_is_not_there_is_told(character):
    body, _ = character
    add()
    live = play(body, (4, 9))
    body.thew.preview_mode = 40
    assert "no mode 40 to preview: the flesh has 12 modes." in body.thew.made.notes
    np.testing.assert_array_equal(play(body, (4, 9)), live)
    body.thew.preview_mode = 12
    assert "to preview" not in body.thew.made.notes
    assert np.abs(play(body, (4, 9)) - live).max() > 1e-3


def test_bakes_and_renders_show_no_preview(scene, character, tmp_path):
    body, _ = character
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    camera.location, camera.rotation_euler = (0.0, -6.0, 1.0), (np.pi / 2, 0.0, 0.0)
    scene.camera, scene.render.engine = camera, "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = 64
    scene.render.image_settings.file_format = "PNG"

    def picture(name):
        scene.render.filepath = str(tmp_path / f"{name}.png")
        bpy.ops.render.render(write_still=True)
        image = bpy.data.images.load(scene.render.filepath)
        pixels = np.array(image.pixels[:])
        bpy.data.images.remove(image)
        return pixels

    add()
    live = play(body, FRAMES)
    plain = picture("plain")
    body.thew.preview_size, body.thew.preview_mode = 0.3, 1
    previewed = play(body, FRAMES)
    np.testing.assert_array_equal(picture("previewed"), plain)
    np.testing.assert_array_equal(play(body, FRAMES), previewed)
    assert np.abs(previewed - live).max() > 0.1
    bpy.ops.thew.bake()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_a_preview_with_shape_keys(character):
    body, _ = character
    body.shape_key_add(name="Basis")
    key = body.shape_key_add(name="Nose", from_mix=False)
    key.points[40].co.x += 0.1
    key.value = 1.0
    add()
    live = play(body, FRAMES)
    body.thew.preview_mode = 2
    with_key = play(body, (4, 9))
    key.value = 0.0
    without = play(body, (4, 9))
    assert 0.05 < np.abs(with_key - without)[:, 40].max() < 0.2
    assert np.abs(np.delete(with_key - without, 40, axis=1)).max() < 1e-6
    key.value = 1.0
    bpy.ops.thew.bake()
    assert np.abs(play(body, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_a_preview_follows_a_new_pose_in_a_window(scene, character, monkeypatch):
    body, rig = character
    add()
    bpy.ops.thew.simulate()
    handlers, flesh = part("handlers"), flesh_of(body)
    scene.frame_set(4)
    live = evaluated(body)
    monkeypatch.setattr(handlers, "headless", lambda: False)
    try:
        body.thew.preview_mode = 2
        before = evaluated(body)
        rig.pose.bones["Head"].rotation_mode = "XYZ"
        rig.pose.bones["Head"].rotation_euler.x = 0.8
        bpy.context.view_layer.update()
        posed = evaluated(body)
        assert flesh.posed and np.abs(posed - before).max() > 0.1
        body.thew.preview_mode = 0
        scene.frame_set(4)
        bpy.context.view_layer.update()
        rig.pose.bones["Head"].rotation_euler.x = 0.0
        bpy.context.view_layer.update()
        np.testing.assert_array_equal(evaluated(body), live)
        body.thew.modes = 5
        assert handlers.state.waiting
    finally:
        handlers.stop_update()
        if bpy.app.timers.is_registered(handlers.tick):
            bpy.app.timers.unregister(handlers.tick)


# what the artist reads -----------------------------------------------------------------------------------------------


class Layout:
    """Stands in for a panel's layout and keeps what would be read on it."""

    def __init__(self, kept=None):
        self.kept = [] if kept is None else kept

    def __getattr__(self, name):
        if name in {"column", "row", "box"}:
            return lambda **_: Layout(self.kept)
        if name == "prop":
            return lambda _owner, what, **_: self.kept.append(f"[{what}]")
        if name == "label":
            return lambda text="", **_: self.kept.append(text)
        return lambda *_, **__: type("Button", (), {})()


def test_the_panel_tells_of_modes_and_engine(character):
    body, _ = character
    panels = part("panels")
    add()
    play(body, (3,))
    layout = Layout()
    panels.draw_flesh(layout, body, 60)
    for name in ("modes", "engine", "device", "preview_mode"):
        assert f"[{name}]" in layout.kept
    flesh = flesh_of(body)
    read = " ".join(layout.kept)
    assert f"12 modes, {flesh.frequencies[0]:.3g} to {flesh.frequencies[-1]:.3g} Hz" in read
    assert flesh.clip.engine in read and all(" ".join(line.split()) in read for line in flesh.clip.engine_report)
    body.thew.preview_mode, layout = 3, Layout()
    panels.draw_flesh(layout, body, 60)
    assert "[preview_size]" in layout.kept and "Plays mode 3" in " ".join(layout.kept)
    body.thew.preview_mode, body.thew.method, layout = 0, "warped", Layout()
    panels.draw_flesh(layout, body, 60)
    assert "[modes]" not in layout.kept and "[young]" in layout.kept
    for name in ("modes", "engine", "device", "preview_mode", "preview_size"):
        assert body.thew.bl_rna.properties[name].description


# characters ----------------------------------------------------------------------------------------------------------


def lives(body, frames) -> np.ndarray:
    """Add, play, bake; gives how far each frame's flesh is from being merely carried, as parts of the size."""
    flesh, chosen = flesh_of(body), list(frames)[:: max(1, len(frames) // 6)]
    live = play(body, chosen)
    away = [np.sqrt(((flesh.positions(f) - carried(flesh, f)) ** 2).sum(axis=1).mean()) for f in frames]
    assert np.isfinite(live).all()
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(body, chosen) - live).max() < 1e-5 * max(size_of(live[0]), np.abs(live).max())
    return np.array(away) * flesh.place.metres_per_unit / flesh.surface.size


def test_our_own_biped_jumps(scene):
    armature, body = own.create("biped")
    own.use_action(armature, "jump")
    activate(body)
    assert bpy.ops.thew.add(method="modal") == {"FINISHED"}
    moved = lives(body, range(scene.frame_start, scene.frame_end + 1))
    assert moved.max() > 1e-3 and moved.max() < 0.1
    # What jumps twice as fast swings farther.
    flesh = flesh_of(body)
    assert len(flesh.modes) == 32
    animate_faster(armature)
    bpy.ops.thew.simulate()
    faster = lives(body, range(scene.frame_start, scene.frame_end // 2))
    assert faster.max() > moved.max()


def animate_faster(armature) -> None:
    """Play the action at double speed."""
    for curve in part("writing").curves_in(armature.animation_data):
        for point in curve.keyframe_points:
            point.co.x = 1.0 + 0.5 * (point.co.x - 1.0)
        curve.update()


@pytest.mark.skipif(FOLDER is None or not (FOLDER / "Fox.glb").exists(), reason="no Fox.glb: set THEW_DATA")
def test_a_real_fox(addon):
    load(FOLDER / "Fox.glb")
    action = next(action for action in clips() if "Run" in action.name)
    frames = play_clip(action, 24)
    body = meshes()[0]
    activate(body)
    assert bpy.ops.thew.add(method="modal") == {"FINISHED"}
    moved = lives(body, frames)
    assert 1e-3 < moved.max() < 0.1
    skinned = np.array([flesh_of(body).skinned_at(m, w) for m, w in zip(*motion_of(body, frames), strict=True)])
    bpy.ops.thew.show_live()
    live = play(body, frames)
    assert np.linalg.norm(live - skinned, axis=2).max() < 0.2 * size_of(skinned[0])


def motion_of(body, frames):
    flesh = flesh_of(body)
    return flesh.motion.maps[: len(frames)], flesh.motion.matrices[: len(frames)]


def test_a_changed_animation_is_noticed(character):
    body, rig = character
    add()
    before = play(body, FRAMES)
    animate(rig, bend=-0.4)
    assert np.abs(play(body, FRAMES) - before).max() > 1e-2
