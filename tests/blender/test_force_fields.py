# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's force fields push flesh, as they push cloth."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from helpers import flesh_of, largest_difference, part, play, size_of
from ticking import begin_reading, read_on, tick, window_of

FRAMES = range(1, 13)


@pytest.fixture
def still_character(scene):
    """Builds a character with flesh that stands still over frames 1 to 12, as (mesh, armature)."""
    from helpers import make_character

    scene.frame_end = 12
    body, rig = make_character()
    rig.animation_data_clear()
    body.thew.motion_start = "SETTLED"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def add_field(kind: str, strength: float = 1.0, turn=(0.0, 0.0, 0.0), place=(0.0, 0.0, 0.0)):
    """Adds a force field to the scene."""
    bpy.ops.object.effector_add(type=kind, location=place, rotation=turn)
    field = bpy.context.object
    field.field.strength = strength
    return field


#: Turns the z axis of a field to +x.
TO_X = (0.0, math.pi / 2.0, 0.0)


def test_wind_pushes_as_far_as_gravity(still_character, scene):
    """Wind along x of the strength of gravity does what gravity along x does, and no wind nothing."""
    body, _ = still_character
    body.thew.rest_includes_gravity = False
    scene.gravity = (0.0, 0.0, 0.0)
    plain = play(body, FRAMES)
    wind = add_field("WIND", 9.81, TO_X)
    wind.field.flow = 0.0
    blown = play(body, FRAMES)
    wind.field.strength = 0.0
    np.testing.assert_array_equal(play(body, FRAMES), plain)
    bpy.data.objects.remove(wind)
    scene.gravity = (9.81, 0.0, 0.0)
    heavy = play(body, FRAMES)
    size = size_of(plain[0])
    assert largest_difference(heavy, plain) > 0.002 * size
    assert largest_difference(blown, heavy) < 1e-5 * size


def test_every_kind_acts(still_character):
    """Each kind moves flesh, and drag makes wind push less."""
    body, _ = still_character
    plain = play(body, FRAMES)
    size = size_of(plain[0])
    for kind in ("WIND", "FORCE", "VORTEX", "TURBULENCE"):
        field = add_field(kind, 30.0, TO_X, (0.4, 0.3, 0.8))
        pushed = play(body, FRAMES)
        assert np.isfinite(pushed).all(), kind
        assert largest_difference(pushed, plain) > 1e-3 * size, kind
        bpy.data.objects.remove(field)
    np.testing.assert_array_equal(play(body, FRAMES), plain)


def test_drag_slows_flesh(fleshed_character):
    """Strong drag holds flesh back while the character moves."""
    body, _ = fleshed_character
    body.thew.motion_start = "SETTLED"
    plain = play(body, FRAMES)
    drag = add_field("DRAG", 0.0)
    drag.field.linear_drag = 2.0
    dragged = play(body, FRAMES)
    assert np.isfinite(dragged).all()
    assert largest_difference(dragged, plain) > 1e-3 * size_of(plain[0])


def test_weight_and_collection_choose(still_character, scene):
    """The weight scales the push, at zero it is the plain motion; a collection chooses the fields."""
    body, _ = still_character
    plain = play(body, FRAMES)
    wind = add_field("WIND", 20.0, TO_X)
    whole = largest_difference(play(body, FRAMES), plain)
    body.thew.field_weight = 0.5
    half = largest_difference(play(body, FRAMES), plain)
    assert 0.4 * whole < half < 0.6 * whole
    body.thew.field_weight = 0.0
    np.testing.assert_array_equal(play(body, FRAMES), plain)
    body.thew.field_weight = 1.0
    other = bpy.data.collections.new("Weather")
    scene.collection.children.link(other)
    body.thew.field_collection = other
    np.testing.assert_array_equal(play(body, FRAMES), plain)
    other.objects.link(wind)
    assert largest_difference(play(body, FRAMES), plain) == pytest.approx(whole, rel=1e-6)
    wind.hide_viewport = True
    np.testing.assert_array_equal(play(body, FRAMES), plain)


def test_keyed_wind_acts_when_keyed(still_character):
    """A gust that begins in frame 6 leaves the frames before as they were."""
    body, _ = still_character
    plain = play(body, FRAMES)
    wind = add_field("WIND", 0.0, TO_X)
    for frame, strength in ((5, 0.0), (6, 40.0)):
        wind.field.strength = strength
        wind.field.keyframe_insert("strength", frame=frame)
    gust = play(body, FRAMES)
    assert largest_difference(gust[:5], plain[:5]) < 1e-6 * size_of(plain[0])
    assert largest_difference(gust[6:], plain[6:]) > 1e-3 * size_of(plain[0])


def test_keyed_visibility_switches_field(still_character):
    """A field whose Disable in Viewports is keyed acts in the frames where it is seen, whichever frame is current."""
    body, _ = still_character
    plain = play(body, FRAMES)
    wind = add_field("WIND", 30.0, TO_X)
    for frame, hidden in ((1, True), (6, False), (9, True)):
        wind.hide_viewport = hidden
        wind.keyframe_insert("hide_viewport", frame=frame)
    for frame in (1, 7):
        bpy.context.scene.frame_set(frame)
        body.thew.field_weight = 0.5 if frame == 1 else 1.0  # simulates again
        pushed = play(body, FRAMES)
        size = size_of(plain[0])
        assert largest_difference(pushed[:4], plain[:4]) < 1e-6 * size
        assert largest_difference(pushed[5:9], plain[5:9]) > 1e-3 * size


def test_moved_field_simulates_motion_alone(still_character):
    """A field that is moved makes the motion anew and keeps lattice and body."""
    body, _ = still_character
    force = add_field("FORCE", 60.0, place=(-0.6, 0.0, 0.7))
    first = play(body, FRAMES)
    flesh = flesh_of(body)
    lattice, built, clip = flesh.lattice, flesh.body, flesh.clip
    force.location = (0.6, 0.0, 0.7)
    bpy.context.view_layer.update()
    second = play(body, FRAMES)
    flesh = flesh_of(body)
    assert flesh.lattice is lattice and flesh.body is built and flesh.clip is not clip
    mirrored = second * [-1.0, 1.0, 1.0]
    assert largest_difference(first, second) > 1e-3 * size_of(first[0])
    assert abs(np.abs(first[..., 0]).max() - np.abs(mirrored[..., 0]).max()) < 5e-3 * size_of(first[0])


def test_unfelt_fields_are_named(still_character):
    """A kind that flesh does not feel, and a strength that is no number, are said in a sentence; the rest acts."""
    body, _ = still_character
    plain = play(body, FRAMES)
    add_field("HARMONIC", 5.0).name = "Spring"
    np.testing.assert_array_equal(play(body, FRAMES), plain)
    said = part("logic.health").warnings(flesh_of(body))
    assert any("“Spring”" in text and "Harmonic" in text for text in said)
    bad = add_field("WIND", 1.0)
    bad.name = "Broken"
    bad.field.driver_add("strength").driver.expression = "float('nan')"
    add_field("WIND", 20.0, TO_X)
    pushed = play(body, FRAMES)
    assert np.isfinite(pushed).all()


def test_bake_and_shot_agree(still_character, tmp_path):
    """An exported shot has the fields, and its clip is the one that is shown."""
    import thew

    body, _ = still_character
    add_field("WIND", 15.0, TO_X)
    add_field("TURBULENCE", 15.0, place=(0.2, 0.1, 0.5)).field.seed = 3
    play(body, FRAMES)
    clip = flesh_of(body).clip
    path = tmp_path / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert part("cli").main(["export", str(path)]) == 0
    shot = thew.Shot.load(tmp_path / "hero.Body.shot.thew")
    assert [field.kind for field in shot.fields] == ["turbulence", "wind"]
    made = shot.simulate()
    np.testing.assert_array_equal(made.offsets(8), clip.offsets(8))


def remove(field) -> None:
    bpy.data.objects.remove(field)


def stop(field) -> None:
    field.field.type = "NONE"


def hide(field) -> None:
    field.hide_viewport = True


def exclude(field) -> None:
    field.field.apply_to_location = False


def add(_field) -> None:
    add_field("VORTEX", 3.0)


def add_before(_field) -> None:
    add_field("TURBULENCE", 3.0).name = "A"


def bones(_field) -> None:
    bpy.data.objects["Body"].modifiers["Armature"].object.pose.bones["Spine"].constraints.new("LIMIT_LOCATION")


@pytest.mark.parametrize("change", [remove, stop, hide, exclude, add, add_before, bones])
@pytest.mark.parametrize("asked", [False, True], ids=["update", "simulate"])
def test_field_changes_while_poses_are_read(scene, monkeypatch, change, asked):
    """Fields and constraints that come or go while the motion is read end with the bits of Simulate, and nothing is reported."""
    for body, rig in window_of(monkeypatch):
        field = add_field("WIND", 20.0, TO_X)
        bpy.context.view_layer.objects.active = body
        tick()
        updates = part("live.updates")
        begin_reading(monkeypatch, body, rig, asked)
        change(field)
        bpy.context.view_layer.objects.active = body
        bpy.context.view_layer.update()
        read_on()
        assert not flesh_of(body).problem
        updates.wait_for(body, 0.0)
        tick()
        live = np.array(play(body, FRAMES))
        assert not flesh_of(body).problem and not part("live.turns").state.requests
        part("live.session").register.forget(body)
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        np.testing.assert_array_equal(play(body, FRAMES), live)


def own_eye(field, hidden: bool) -> None:
    field.hide_set(hidden)


def collection_eye(field, hidden: bool) -> None:
    bpy.context.view_layer.layer_collection.children[0].hide_viewport = hidden


def collection_screen(field, hidden: bool) -> None:
    field.users_collection[0].hide_viewport = hidden


def collection_box(field, hidden: bool) -> None:
    bpy.context.view_layer.layer_collection.children[0].exclude = hidden


@pytest.mark.parametrize("switch", [own_eye, collection_eye, collection_screen, collection_box])
def test_shown_field_acts_at_once(scene, monkeypatch, switch):
    """A field that is hidden stops to act, and acts again once it is shown, without playing."""
    for body, _ in window_of(monkeypatch):
        field, weather = add_field("WIND", 20.0, TO_X), bpy.data.collections.new("Weather")
        scene.collection.children.link(weather)
        weather.objects.link(field)
        scene.collection.objects.unlink(field)
        bpy.context.view_layer.objects.active = body
        bpy.context.view_layer.update()
        tick()
        bpy.context.view_layer.update()  # takes in what the update wrote, as a window does
        assert len(flesh_of(body).motion.driven.fields) == 1
        for hidden in (True, False, True):
            switch(field, hidden)
            bpy.context.view_layer.update()
            assert part("live.updates").state.waiting, hidden
            tick()
            bpy.context.view_layer.update()
            assert len(flesh_of(body).motion.driven.fields) == (not hidden)
            assert not part("live.updates").state.waiting


def test_shown_field_is_news_after_it_was_dropped(scene, monkeypatch):
    """An update that is dropped by the button beside its bar does not begin again with each selection; the next edit begins it."""
    for body, _ in window_of(monkeypatch):
        field, updates = add_field("WIND", 20.0, TO_X), part("live.updates")
        bpy.context.view_layer.objects.active = body
        bpy.context.view_layer.update()
        tick()
        bpy.context.view_layer.update()
        field.hide_set(True)
        bpy.context.view_layer.update()
        assert updates.state.waiting
        assert bpy.ops.thew.simulate_stop() == {"FINISHED"}
        for _ in range(2):
            body.select_set(not body.select_get())
            bpy.context.view_layer.update()
            assert not updates.state.waiting
        field.hide_set(False)  # as it was simulated
        bpy.context.view_layer.update()
        tick()
        bpy.context.view_layer.update()
        field.hide_set(True)
        bpy.context.view_layer.update()
        assert updates.state.waiting, "the same edit again"
        tick()
        assert not flesh_of(body).motion.driven.fields
