# SPDX-License-Identifier: GPL-3.0-or-later
"""Influence, Softness, Gravity and the weight of fields by key and by driver."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of, largest_difference, make_character, part, play, size_of

FRAMES = range(1, 21)


def key(owner, path: str, *values) -> None:
    """Keys values of a property: (frame, value)."""
    for frame, value in values:
        setattr(owner, path.rpartition(".")[2], value)
        owner.keyframe_insert(path.rpartition(".")[2], frame=frame)


def test_influence_shows_a_share(fleshed_character):
    """Influence scales what the flesh adds to the skin; it simulates nothing again."""
    body, _ = fleshed_character
    whole = play(body, FRAMES)
    clip = flesh_of(body).clip
    body.thew.influence = 0.0
    none = play(body, FRAMES)
    body.thew.influence = 0.25
    part_shown = play(body, FRAMES)
    assert flesh_of(body).clip is clip
    assert largest_difference(whole, none) > 1e-3 * size_of(whole[0])
    wanted = none + 0.25 * (whole - none)
    assert largest_difference(part_shown, wanted) < 1e-6 * size_of(whole[0])
    body.thew.influence = 1.0
    np.testing.assert_array_equal(play(body, FRAMES), whole)


def test_influence_of_flesh_at_rest(fleshed_character, scene):
    """Flesh at rest in the present pose is shown by its Influence at once, as it stays in view."""
    body, _ = fleshed_character
    finish, rest = part("logic.tasks").finish, part("live.jobs").rest

    def offsets(influence: float) -> np.ndarray:
        body.thew.influence = influence
        finish(rest(body, scene, bpy.context.view_layer))
        return part("live.session").visible_offsets(body, scene).copy()

    scene.frame_set(7)
    whole = offsets(1.0)
    assert np.abs(whole).max() > 1e-4
    np.testing.assert_allclose(offsets(0.25), 0.25 * whole, atol=1e-7)
    np.testing.assert_array_equal(offsets(0.0), np.zeros_like(whole))


def test_influence_keyed_and_driven(fleshed_character):
    """A keyed influence follows its curve frame by frame, a driver its expression; the clip stays."""
    body, _ = fleshed_character
    whole = play(body, FRAMES)
    clip_key = flesh_of(body).clip_key
    body.thew.influence = 0.0
    none = play(body, FRAMES)
    key(body.thew, "influence", (1, 0.0), (20, 1.0))
    for curve in part("scene.animation").curves_in(body.animation_data):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    keyed = play(body, FRAMES)
    share = np.linspace(0.0, 1.0, 20)[:, None, None]
    assert largest_difference(keyed, none + share * (whole - none)) < 1e-5 * size_of(whole[0])
    assert flesh_of(body).clip_key == clip_key
    body.animation_data_clear()
    body.thew.driver_add("influence").driver.expression = "0.5"
    driven = play(body, FRAMES)
    assert largest_difference(driven, none + 0.5 * (whole - none)) < 1e-5 * size_of(whole[0])


def test_constant_keys_change_nothing(fleshed_character, scene):
    """Keys that hold the value of the setting give the very motion of the setting."""
    body, _ = fleshed_character
    body.thew.softness = 0.6
    plain = play(body, FRAMES)
    key(body.thew, "softness", (1, 0.6), (20, 0.6))
    key(body.thew, "field_weight", (1, 1.0), (20, 1.0))
    key(scene, "gravity", (1, scene.gravity.copy()), (20, scene.gravity.copy()))
    np.testing.assert_array_equal(play(body, FRAMES), plain)


def test_softness_keyed(fleshed_character):
    """Flesh that becomes firm sways less from then on, and as before until then."""
    body, _ = fleshed_character
    body.thew.motion_start = "SETTLED"
    body.thew.softness = 0.8
    soft = play(body, FRAMES)
    body.thew.influence = 0.0
    none = play(body, FRAMES)
    body.thew.influence = 1.0
    key(body.thew, "softness", (1, 0.8), (8, 0.8), (10, 0.1))
    keyed = play(body, FRAMES)
    size = size_of(soft[0])
    assert largest_difference(keyed[:7], soft[:7]) < 1e-6 * size
    assert largest_difference(keyed[13:], none[13:]) < 0.6 * largest_difference(soft[13:], none[13:])
    before = flesh_of(body).clip
    play(body, (3, 9, 15))
    assert flesh_of(body).clip is before
    body.thew.method = "blended"
    play(body, (1, 2))
    assert any("Softness is keyed" in text for text in part("logic.health").warnings(flesh_of(body)))


def test_keyed_values_read_as_blender_has_them(fleshed_character, scene):
    """Overshooting keys are clipped as Blender clips them; muted curves and gravity that is switched off count as not keyed."""
    driven, (body, _) = part("scene.driven"), fleshed_character
    key(body.thew, "softness", (1, 0.5), (20, 0.9))
    curve = next(each for name, each in driven.setting_curves(body, scene) if name == "softness")
    curve.keyframe_points[1].co.y = 1.6
    assert driven.value_at(body, scene, "softness", 20) == 1.0
    curve.mute = True
    assert not list(driven.setting_curves(body, scene))
    assert driven.value_at(body, scene, "softness", 20) == body.thew.softness
    key(scene, "gravity", (1, (0.0, 0.0, -9.81)), (20, (0.0, 0.0, 0.0)))
    assert {name for name, _ in driven.setting_curves(body, scene)} == {"gravity"}
    scene.use_gravity = False
    assert not list(driven.setting_curves(body, scene))


def test_gravity_keyed(fleshed_character, scene):
    """Gravity that turns off lets the flesh rise; the frames before stay."""
    body, _ = fleshed_character
    body.thew.motion_start = "SETTLED"
    body.thew.rest_includes_gravity = False
    down = play(body, FRAMES)
    key(scene, "gravity", (1, (0.0, 0.0, -9.81)), (8, (0.0, 0.0, -9.81)), (9, (0.0, 0.0, 0.0)))
    risen = play(body, FRAMES)
    size = size_of(down[0])
    assert largest_difference(risen[:7], down[:7]) < 1e-6 * size
    assert (risen[11:, :, 2] - down[11:, :, 2]).max() > 5e-4 * size


@pytest.mark.parametrize("name", ["influence", "softness"])
def test_bake_has_keyed_settings(fleshed_character, name):
    """A bake holds what the view showed."""
    body, _ = fleshed_character
    body.thew.motion_start = "SETTLED"
    key(body.thew, name, (1, 0.9), (12, 0.2), (20, 0.7))
    live = play(body, FRAMES)
    activate(body)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert body.thew.made.shows_bake
    assert largest_difference(play(body, FRAMES), live) < 1e-3 * size_of(live[0])


def set_linear(curve) -> None:
    for point in curve.keyframe_points:
        point.interpolation = "LINEAR"


def lay_in_track(owner, start: int, **settings):
    """Moves the active action of an object or scene into an NLA strip from `start` on; returns the strip."""
    data = owner.animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    strip = data.nla_tracks.new().strips.new("Strip", start, action)
    if slot is not None:
        strip.action_slot = slot
    for name, value in settings.items():
        setattr(strip, name, value)
    return strip


def evaluated(body, name: str) -> np.ndarray:
    """Returns a setting as Blender evaluates it in each frame, [f]."""
    found = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        found.append(getattr(body.evaluated_get(bpy.context.evaluated_depsgraph_get()).thew, name))
    return np.array(found)


@pytest.mark.parametrize("name", ["influence", "softness"])
def test_modifiers_on_keyed_settings(fleshed_character, name):
    """Noise on a curve acts frame by frame, and an edit of its settings is noticed where the first frame stays as it was."""
    body, scene = fleshed_character[0], bpy.context.scene
    key(body.thew, name, (1, 0.5), (20, 0.5))
    still = play(body, FRAMES)
    (curve,) = [
        each for each in part("scene.animation").curves_in(body.animation_data) if each.data_path == f"thew.{name}"
    ]
    noise = curve.modifiers.new("NOISE")
    noise.scale, noise.strength = 4.0, 0.6
    noise.use_restricted_range, noise.frame_start, noise.frame_end = True, 8.0, 30.0
    noisy = play(body, FRAMES)
    assert largest_difference(noisy[:6], still[:6]) < 1e-5 * size_of(still[0])
    assert largest_difference(noisy, still) > 1e-3 * size_of(still[0])
    np.testing.assert_allclose(
        flesh_of(body).motion.drive[:20, ("influence", "softness").index(name)], evaluated(body, name), atol=1e-6
    )
    scene.frame_set(3)
    noise.phase = 7.0
    assert largest_difference(play(body, FRAMES), noisy) > 1e-4 * size_of(still[0])
    noise.mute = True
    np.testing.assert_array_equal(play(body, FRAMES), still)


@pytest.mark.parametrize("settings", [{}, {"scale": 2.0}, {"use_reverse": True}, {"repeat": 3.0}], ids=str)
@pytest.mark.parametrize("start", [-5, 6])
def test_settings_in_strips(fleshed_character, scene, start, settings):
    """Settings keyed in NLA strips act as Blender evaluates them, and the body is made for their value in the first frame."""
    (body, _), driven = fleshed_character, part("scene.driven")
    key(body.thew, "softness", (1, 0.2), (10, 0.8))
    key(scene, "gravity", (1, (0.0, 0.0, -9.0)), (10, (0.0, 0.0, 0.0)))
    for owner in (body, scene):
        for curve in part("scene.animation").curves_in(owner.animation_data):
            set_linear(curve)
        lay_in_track(owner, start, **settings)
    play(body, FRAMES)
    flesh = flesh_of(body)
    right = evaluated(body, "softness")
    np.testing.assert_allclose(flesh.motion.drive[:20, 1], right, atol=1e-6)
    assert flesh.build_settings.softness == pytest.approx(right[0], abs=1e-5)
    for frame in FRAMES:
        assert driven.value_at(body, scene, "softness", frame) == pytest.approx(right[frame - 1], abs=1e-4), frame
        scene.frame_set(frame)
        down = bpy.context.evaluated_depsgraph_get().scene_eval.gravity[2]
        assert driven.value_at(body, scene, "gravity", frame)[2] == pytest.approx(down, abs=1e-3), frame


#: Extrapolations of a strip beyond its ends.
EXTRAPOLATIONS = ("HOLD", "HOLD_FORWARD", "NOTHING")


@pytest.mark.parametrize("upper", EXTRAPOLATIONS)
@pytest.mark.parametrize("lower", EXTRAPOLATIONS)
@pytest.mark.parametrize("starts", [(6, 13), (13, 6)])
@pytest.mark.parametrize("tracks", [1, 2])
def test_value_before_and_after_strips(scene, starts, lower, upper, tracks):
    """Before, between and behind strips of one track and of two, settings have the values that Blender evaluates."""
    driven, animation, body = part("scene.driven"), part("scene.animation"), make_character()[0]
    for owner, path, first, second in (
        (body.thew, "softness", (0.2, 0.4), (0.6, 0.9)),
        (scene, "gravity", ((0.0, 0.0, -1.0), (0.0, 0.0, -2.0)), ((0.0, 0.0, -6.0), (0.0, 0.0, -9.0))),
    ):
        strips = []
        for start, values in zip(starts, (first, second), strict=True):
            key(owner, path, *zip((1, 5), values, strict=True))
            for curve in animation.curves_in(owner.id_data.animation_data):
                set_linear(curve)
            strips.append(lay_in_track(owner.id_data, start))
        data = owner.id_data.animation_data
        if tracks == 1:
            top, moved = data.nla_tracks[1], strips[1]
            again = data.nla_tracks[0].strips.new("Again", starts[1], moved.action)
            if hasattr(moved, "action_slot"):
                again.action_slot = moved.action_slot
            strips[1] = again
            data.nla_tracks.remove(top)
        strips[0].extrapolation, strips[1].extrapolation = lower, upper
    body.thew.softness, scene.gravity = 0.75, (0.0, 0.0, -4.0)  # neither keyed nor a default
    right = evaluated(body, "softness")
    for frame in FRAMES:
        assert driven.value_at(body, scene, "softness", frame) == pytest.approx(right[frame - 1], abs=1e-5), frame
        scene.frame_set(frame)
        down = bpy.context.evaluated_depsgraph_get().scene_eval.gravity[2]
        assert driven.value_at(body, scene, "gravity", frame)[2] == pytest.approx(down, abs=1e-5), frame


#: Ways in which a strip or an action acts on what lies below.
BLENDINGS = [
    ("REPLACE", 1.0),
    ("REPLACE", 0.3),
    ("COMBINE", 1.0),
    ("COMBINE", 0.6),
    ("ADD", 0.4),
    ("SUBTRACT", 0.5),
    ("MULTIPLY", 0.7),
]


def assert_as_evaluated(body, scene) -> None:
    """Softness and gravity have in every frame the values that Blender evaluates."""
    driven, right = part("scene.driven"), evaluated(body, "softness")
    for frame in FRAMES:
        assert driven.value_at(body, scene, "softness", frame) == pytest.approx(right[frame - 1], abs=1e-5), frame
        scene.frame_set(frame)
        down = bpy.context.evaluated_depsgraph_get().scene_eval.gravity[2]
        assert driven.value_at(body, scene, "gravity", frame)[2] == pytest.approx(down, abs=1e-5), frame


def key_both(body, scene, first: float, last: float, frames=(1, 5)) -> None:
    """Keys softness, and gravity with it, along straight lines."""
    key(body.thew, "softness", (frames[0], first), (frames[1], last))
    key(scene, "gravity", *((at, (0.0, 0.0, -9.0 * value)) for at, value in zip(frames, (first, last), strict=True)))
    for owner in (body, scene):
        for curve in part("scene.animation").curves_in(owner.animation_data):
            set_linear(curve)


def make_keyed_above_track(scene, frames, **track):
    """Builds a character whose softness and gravity, with the scene's, are keyed in a track, and in an action above it; returns its mesh."""
    body = make_character()[0]
    key_both(body, scene, 0.2, 0.4)
    for owner in (body, scene):
        lay_in_track(owner, 3, **track)
    key_both(body, scene, 0.6, 0.3, frames)
    return body


@pytest.mark.parametrize("kind, influence", BLENDINGS)
@pytest.mark.parametrize("extrapolation", EXTRAPOLATIONS)
def test_value_of_action_above_strips(scene, extrapolation, kind, influence):
    """The active action acts on its tracks in the frames of its extrapolation, blended, as Blender evaluates it."""
    body = make_keyed_above_track(scene, (8, 13), extrapolation="HOLD_FORWARD")
    for data in (body.animation_data, scene.animation_data):
        data.action_extrapolation, data.action_blend_type, data.action_influence = extrapolation, kind, influence
    body.thew.softness, scene.gravity = 0.75, (0.0, 0.0, -4.0)
    assert_as_evaluated(body, scene)
    for data in (body.animation_data, scene.animation_data):
        data.nla_tracks[0].mute = True
    assert_as_evaluated(body, scene)


@pytest.mark.parametrize("kind, influence", BLENDINGS)
@pytest.mark.parametrize("extrapolation", EXTRAPOLATIONS)
def test_value_of_blending_strips(scene, extrapolation, kind, influence):
    """A strip is blended onto the track below by its kind, its keyed influence, and as it fades in and out."""
    body = make_keyed_above_track(scene, (1, 9))
    strips = [lay_in_track(owner, 8, blend_type=kind, extrapolation=extrapolation) for owner in (body, scene)]
    body.thew.softness, scene.gravity = 0.75, (0.0, 0.0, -4.0)
    for strip in strips:
        strip.use_auto_blend = False
        strip.blend_in, strip.blend_out = 3.0, 2.0
    assert_as_evaluated(body, scene)
    for strip in strips:
        strip.use_animated_influence = True
        for frame, value in ((8, 0.2 * influence), (14, influence)):
            strip.influence = value
            strip.keyframe_insert("influence", frame=frame)
    assert_as_evaluated(body, scene)


def test_value_of_single_key_above_strips(scene):
    """An action of one key acts as long as Blender lets it."""
    body = make_character()[0]
    key_both(body, scene, 0.2, 0.4)
    for owner in (body, scene):
        lay_in_track(owner, 3)
    key(body.thew, "softness", (8, 0.7))
    key(scene, "gravity", (8, (0.0, 0.0, -1.0)))
    for extrapolation in EXTRAPOLATIONS:
        for data in (body.animation_data, scene.animation_data):
            data.action_extrapolation = extrapolation
        assert_as_evaluated(body, scene)


def test_value_of_muted_strip(scene):
    """A muted strip keeps its place in its track and does nothing, as Blender has it; of two strips that meet the first one plays."""
    driven, body = part("scene.driven"), make_character()[0]
    key(body.thew, "softness", (1, 0.2), (5, 0.4))
    first = lay_in_track(body, 3)
    track = body.animation_data.nla_tracks[0]
    second = track.strips.new("Second", round(first.frame_end), first.action)
    if hasattr(first, "action_slot"):
        second.action_slot = first.action_slot
    for muted in ((False, False), (True, False), (False, True)):
        first.mute, second.mute = muted
        right = evaluated(body, "softness")
        found = [driven.value_at(body, scene, "softness", frame) for frame in FRAMES]
        np.testing.assert_allclose(found, right, atol=1e-5)


#: Edits of a strip that change what it plays.
STRIP_EDITS = {
    "action_frame_end": 7.0, "repeat": 2.0, "use_reverse": True, "extrapolation": "NOTHING", "blend_in": 3.0, "blend_out": 3.0,
    "blend_type": "ADD", "scale": 2.0, "mute": True, "frame_start": 2.0,
}  # fmt: skip


@pytest.mark.parametrize("name", STRIP_EDITS)
def test_strip_edit_is_noticed(scene, name):
    """Every edit of a strip changes the fingerprint of the keys: of a setting of the object, of the scene's gravity, of a rig's control."""
    driven, controls, body = part("scene.driven"), part("scene.rig_controls"), make_character()[0]

    def change(strip) -> None:
        strip.use_auto_blend = False
        if name == "frame_start":
            strip.frame_end += 20.0
        setattr(strip, name, STRIP_EDITS[name])

    key(body.thew, "softness", (1, 0.2), (10, 0.8))
    strip = lay_in_track(body, 1)
    before = driven.fingerprint(body)
    change(strip)
    assert driven.fingerprint(body) != before
    body.animation_data_clear()
    assert driven.fingerprint(body) == ()
    key(scene, "gravity", (1, (0.0, 0.0, -9.0)), (10, (0.0, 0.0, 0.0)))
    strip = lay_in_track(scene, 1)
    before = driven.fingerprint(body)
    change(strip)
    assert driven.fingerprint(body) != before
    scene.animation_data_clear()
    body.thew.rigs.add().name = "Rig"
    key(body.thew.rigs[0], "control", (1, 0.0), (10, 1.0))
    strip = lay_in_track(body, 1)
    before = controls.control_animation(body)
    change(strip)
    assert controls.control_animation(body) != before


@pytest.mark.parametrize("owned", ["body", "scene"])
def test_strip_edit_simulated_anew(fleshed_character, owned):
    """A strip of keyed softness or gravity that plays backwards is simulated anew, though the first frames stay as they were."""
    body, scene = fleshed_character[0], bpy.context.scene
    body.thew.motion_start = "SETTLED"
    body.thew.rest_includes_gravity = False
    if owned == "body":
        key(body.thew, "softness", (1, 0.2), (10, 0.9))
    else:
        key(scene, "gravity", (1, (0.0, 0.0, -9.0)), (10, (0.0, 0.0, 9.0)))
    strip = lay_in_track(body if owned == "body" else scene, 8, extrapolation="HOLD_FORWARD")
    once = play(body, FRAMES)
    scene.frame_set(2)
    strip.use_reverse = True
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    read = flesh_of(body).motion.drive[:20].copy()
    assert largest_difference(play(body, FRAMES), once) > 1e-4 * size_of(once[0])
    np.testing.assert_allclose(read[:, 1], evaluated(body, "softness"), atol=1e-6)
    downs = []
    for frame in FRAMES:
        scene.frame_set(frame)
        downs.append(bpy.context.evaluated_depsgraph_get().scene_eval.gravity[2])
    np.testing.assert_allclose(read[:, 5], downs, atol=1e-5)


def test_print_of_animated_strip(scene):
    """A strip whose influence is animated has one fingerprint in all frames, and another one when a key of the influence is moved."""
    driven, movers, body = part("scene.driven"), part("scene.movers"), make_character()[0]
    key(body.thew, "softness", (1, 0.2), (10, 0.8))
    strip = lay_in_track(body, 1)
    strip.use_animated_influence = True
    for frame, influence in ((1, 0.0), (10, 1.0)):
        strip.influence = influence
        strip.keyframe_insert("influence", frame=frame)
    found = []
    for frame in (1, 4, 9):
        scene.frame_set(frame)
        found.append((driven.fingerprint(body), movers.fingerprint(body)))
    assert found[0] == found[1] == found[2]
    next(curve for curve in strip.fcurves if curve.data_path == "influence").keyframe_points[1].co.y = 0.5
    assert driven.fingerprint(body) != found[0][0] and movers.fingerprint(body) != found[0][1]


@pytest.mark.parametrize(
    "kind, name, value",
    [
        ("ELASTIC", "amplitude", 3.0),
        ("ELASTIC", "period", 7.0),
        ("BACK", "back", 4.0),
        ("SINE", "easing", "EASE_OUT"),
        ("BOUNCE", "easing", "EASE_IN"),
    ],
)
def test_shape_of_keys_is_noticed(scene, kind, name, value):
    """Easing, overshoot, amplitude and period of a key shape the way to the next one, so an edit of them changes the fingerprint."""
    driven, body = part("scene.driven"), make_character()[0]
    key(body.thew, "softness", (1, 0.3), (20, 0.6))
    (curve,) = [curve for _, curve in driven.setting_curves(body, scene)]
    point = curve.keyframe_points[0]
    point.interpolation = kind
    before, values = driven.fingerprint(body), [curve.evaluate(frame) for frame in FRAMES]
    setattr(point, name, value)
    assert [curve.evaluate(frame) for frame in FRAMES] != values
    assert driven.fingerprint(body) != before
