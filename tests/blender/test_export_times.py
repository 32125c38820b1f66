# SPDX-License-Identifier: GPL-3.0-or-later
"""Traps of exports in frames and times: what cuts, shifts or stretches a bake is reported, and its button mends the file."""

from __future__ import annotations

import bpy
import pytest
import roundtrips
from exporting import (
    FBX,
    GLTF,
    LAST,
    RIGHT,
    WRONG,
    add,
    assert_trap_mends,
    bake,
    error,
    find,
    fresh_character,
    mend,
    new_scene,
)
from helpers import animate, make_character, part

# frames and times -----------------------------------------------------------------------------------------------------


def test_trap_negative_frames(addon, tmp_path):
    """Cropped negative frames cut a bake that begins before 0; the button slides them."""
    new_scene()
    body, rig = make_character()
    animate(rig, first=-6, last=14).name = "Walk"
    add(body)
    assert bpy.ops.thew.bake(frame_start=-4, frame_end=5) == {"FINISHED"}
    frames = range(-4, 6)
    shapes, values = roundtrips.shapes(body, frames), {"export_negative_frame": "CROP"}
    assert find(GLTF, values, "export_negative_frame") is not None
    assert error(GLTF, tmp_path, shapes, values, frames=frames) > WRONG
    mend(GLTF, values, "export_negative_frame")
    # Slid animations begin at 0, at the first frame of the action.
    assert error(GLTF, tmp_path, shapes, values, frames=[frame + 6 for frame in frames]) < RIGHT


def test_trap_fraction(addon, tmp_path):
    """FBX samples an action that begins between two frames between the baked shapes; the button gives it whole frames."""
    body, rig = fresh_character()
    for curve in part("scene.animation").curves_in(rig.animation_data):
        for point in curve.keyframe_points:
            for each in (point.co, point.handle_left, point.handle_right):
                each.x += 0.5
    shapes = bake(body, frame_start=2, frame_end=LAST)[1:]
    assert find(FBX, {}, "action_range") is not None and "1.5" in find(FBX, {}, "action_range").text
    mend(FBX, {}, "action_range")
    assert rig.animation_data.action.frame_range[0] == 1.0
    assert error(FBX, tmp_path, shapes, {}, frames=range(2, LAST + 1)) < RIGHT


@pytest.mark.parametrize("first", [1, -3])
def test_trap_clip_beyond_action(addon, tmp_path, first):
    """FBX cuts a bake of the scene's range to the frames of the action; the button gives the action those of the bake."""
    body, _ = fresh_character()
    bake(body, frame_start=first, frame_end=30)
    frames = range(first, 31)
    shapes = roundtrips.shapes(body, frames)
    text = assert_trap_mends(FBX, tmp_path, shapes, {}, "action_range", frames=frames, first=first)
    assert "frames 1 to 19" in text and f"{first} to 30" in text


@pytest.mark.parametrize("repeats", [True, False])
def test_trap_gltf_beyond_action(addon, tmp_path, repeats):
    """A bake beyond an action that repeats is cut in glTF, and the button gives the action its frames; where bones hold, it is not."""
    body, rig = fresh_character()
    for curve in part("scene.animation").curves_in(rig.animation_data) if repeats else ():
        curve.modifiers.new("CYCLES")
        curve.update()
    bake(body, frame_start=1, frame_end=30)
    frames = range(1, 31)
    shapes = roundtrips.shapes(body, frames)
    whole = {"export_animation_mode": "SCENE"}
    assert find(GLTF, whole, "action_range") is None
    if repeats:
        text = assert_trap_mends(GLTF, tmp_path, shapes, {}, "action_range", frames=frames)
        assert "frames 1 to 19" in text and "1 to 30" in text
    else:
        assert find(GLTF, {}, "action_range") is None
        assert error(GLTF, tmp_path, shapes, {}, frames=frames) < RIGHT


def test_trap_fbx_strips(addon, tmp_path):
    """FBX writes strips as takes of their own frames, shorter than a bake of the scene's range; the button writes one take."""
    body, rig = fresh_character()
    action, data = rig.animation_data.action, rig.animation_data
    data.action = None
    for start in (1, 16):
        strip = data.nla_tracks.new().strips.new("Walk", start, action)
        strip.scale = 0.5
        if hasattr(strip, "action_slot"):
            strip.action_slot = action.slots[0]
    bpy.context.scene.frame_end = 30
    bake(body)
    frames = range(1, 31)
    shapes = roundtrips.shapes(body, frames)
    assert_trap_mends(FBX, tmp_path, shapes, {}, "fbx_strips", frames=frames)


@pytest.mark.parametrize(("exporter", "key"), [(GLTF, "gltf_stretch"), (FBX, "fbx_stretch")])
def test_trap_time_stretching(addon, tmp_path, exporter, key):
    """Time Stretching cuts actions short in files; the button writes the scene as it plays."""
    body, _ = fresh_character()
    scene = bpy.context.scene
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 200
    scene.frame_start, scene.frame_end = 2, 24
    bake(body)
    frames = range(2, 25)
    shapes = roundtrips.shapes(body, frames)
    assert_trap_mends(exporter, tmp_path, shapes, {}, key, frames=frames)


@pytest.mark.parametrize(("fps", "base", "level"), [(24, 1.001, "NOTICE"), (30000, 1001.0, "WARNING")])
def test_trap_frame_rate(baked_walk, tmp_path, fps, base, level):
    """The glTF exporter multiplies by the base of the frame rate instead of dividing; the button rounds the rate."""
    _, _, shapes = baked_walk
    render = bpy.context.scene.render
    render.fps, render.fps_base = fps, base
    trap = find(GLTF, {}, "gltf_rate")
    assert trap.level == level
    assert error(GLTF, tmp_path, shapes, {}) > RIGHT
    mend(GLTF, {}, "gltf_rate")
    render = bpy.context.scene.render
    assert (render.fps, render.fps_base) == (round(fps / base), 1.0)
    assert find(GLTF, {}, "gltf_rate") is None
    assert error(GLTF, tmp_path, shapes, {}) < RIGHT
