# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds a small character with several actions, and lets it play them."""

from __future__ import annotations

import math

import bpy
import numpy as np
from helpers import activate, animate, make_character, part, play, size_of

#: Whether actions hold animations of several data blocks.
SLOTS = bpy.app.version >= (4, 4)
#: Actions of the character: first and last key, hop and bend. The fractional one begins before frame 0.
ACTIONS = {"Run": (1.0, 20.0, 0.08, 0.25), "Walk": (11.0, 32.0, 0.05, -0.35), "Turn": (-4.5, 9.25, 0.06, 0.5)}


def make_dancer(names=tuple(ACTIONS)) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Builds (mesh, armature) with these actions; the first is active, and the mesh."""
    body, rig = make_character()
    bpy.data.actions.remove(rig.animation_data.action)
    for name in names:
        add_action(rig, name, *ACTIONS[name])
    use(rig, names[0])
    bpy.context.scene.frame_set(1)
    activate(body)
    return body, rig


def make_fleshed_dancer() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Builds (mesh with flesh, armature above it) with the actions Run (active), Walk and Turn, and Idle, which moves as Walk."""
    body, rig = make_dancer()
    body.parent = rig
    bpy.data.actions["Walk"].copy().name = "Idle"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


def add_action(rig, name: str, first: float, last: float, hop: float, bend: float) -> bpy.types.Action:
    """Adds an action whose keys reach exactly from `first` to `last`; makes it active."""
    action = animate(rig, 0, math.floor(last - first), hop, bend)
    action.name, action.use_fake_user = name, True
    curves = list(part("scene.animation").every_curve(action))
    ends = [point.co.x for curve in curves for point in curve.keyframe_points]
    low, scale = min(ends), (last - first) / (max(ends) - min(ends))
    for curve in curves:
        for point in curve.keyframe_points:
            for handle in (point.handle_left, point.handle_right, point.co):
                handle.x = first + scale * (handle.x - low)
        curve.update()
    assert np.allclose(action.frame_range, (first, last), atol=1e-4)
    return action


def use(rig, name: str | None) -> None:
    """Makes an action active, or none."""
    data = rig.animation_data or rig.animation_data_create()
    data.action = bpy.data.actions[name] if name else None
    if name and hasattr(data, "action_slot"):
        data.action_slot = next(slot for slot in data.action.slots if slot.target_id_type == "OBJECT")


def frames_of(name: str) -> range:
    """Returns the frames of an action's clip: from the last whole one before it to the first after it."""
    first, last, *_ = ACTIONS[name]
    return range(math.floor(first), math.ceil(last) + 1)


def push_down(rig, name: str, track: str = "", **settings):
    """Adds an NLA track with one strip of an action; returns the strip."""
    data = rig.animation_data
    new = data.nla_tracks.new()
    new.name = track or name
    action = bpy.data.actions[name]
    strip = new.strips.new(name, 1000, action)
    if hasattr(strip, "action_slot"):
        strip.action_slot = next(slot for slot in action.slots if slot.target_id_type == "OBJECT")
    for key, value in settings.items():
        if key not in {"frame_start", "frame_end"}:
            setattr(strip, key, value)
    length = (strip.action_frame_end - strip.action_frame_start) * strip.scale * strip.repeat
    start = settings.get("frame_start", strip.action_frame_start)
    strip.frame_start_raw, strip.frame_end_raw = start, start + length
    return strip


def live_shapes(body, rig) -> dict[str, np.ndarray]:
    """Returns the shapes of the live flesh over each action's own frames, each simulated as the scene's range."""
    scene, found = bpy.context.scene, {}
    active = rig.animation_data.action.name
    for name in ACTIONS:
        if name not in bpy.data.actions:
            continue
        use(rig, name)
        frames = frames_of(name)
        scene.frame_start, scene.frame_end = max(frames[0], 0), frames[-1]
        activate(body)
        assert bpy.ops.thew.simulate(frame_start=frames[0], frame_end=frames[-1]) == {"FINISHED"}
        found[name] = play(body, frames)
    body.thew.use_scene_range = True
    use(rig, active)
    return found


def clip_shapes(body, rig, name: str, frames=None) -> np.ndarray:
    """Returns the shapes while the armature plays an action."""
    use(rig, name)
    return play(body, frames_of(name) if frames is None else frames)


def weights(body) -> dict[str, float]:
    """Returns the values of the baked keys at the scene's frame, those that are not 0."""
    keys = part("scene.writing").baked_keys(body)
    return {key.name: key.value for key in keys if key.value != 0.0}


def bake_clips(**options) -> None:
    """Bakes the active object."""
    assert bpy.ops.thew.bake(**options) == {"FINISHED"}


def listed_clips(body, name="Shape Keys") -> dict[str, tuple[int, int]]:
    """Returns the clips of a bake, with their frames."""
    return {clip.label: (clip.start, clip.end) for clip in body.thew.bakes[name].clips}


def assert_same(shapes, others) -> None:
    """Checks that shapes are the same to the precision of what plays them."""
    assert np.abs(shapes - others).max() < 1e-5 * size_of(others[0])


def key_bytes(body, start="") -> dict[str, bytes]:
    """Returns the contents of the keys whose names begin with `start`."""
    found = {}
    for key in body.data.shape_keys.key_blocks:
        if key.name.startswith(start):
            flat = np.empty(3 * len(body.data.vertices), dtype=np.float32)
            key.points.foreach_get("co", flat)
            found[key.name] = flat.tobytes()
    return found


def animation_of(rig) -> tuple:
    """Returns what an armature plays, and the pose that it is in."""
    data = rig.animation_data
    slot = data.action_slot.identifier if SLOTS and data.action_slot is not None else None
    bones = [(*bone.location, *bone.rotation_euler, *bone.scale) for bone in rig.pose.bones]
    tracks = [(t.name, t.mute, t.is_solo, [(s.name, s.mute, s.influence) for s in t.strips]) for t in data.nla_tracks]
    settings = data.use_nla, data.use_tweak_mode, data.action_blend_type, data.action_influence
    return data.action, slot, bones, tracks, settings
