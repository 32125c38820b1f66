# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh: shape keys are reached at their times, times are dragged, dials act at once, also under an armature."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import evaluated_positions, part, play, refusal, size_of, snapshot
from keyframing import curve, drag, make_nodder, make_sack, motion_of, sculpt, times

FRAMES = range(1, 21)


@pytest.fixture
def plain_sack(scene):
    return make_sack()


@pytest.fixture
def sack(plain_sack):
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    return plain_sack


@pytest.fixture
def builds(monkeypatch):
    """Records each motion that is built."""

    made, real = [], part("live.keyframed").Inbetween

    def count_build(*parts):
        made.append(1)
        return real(*parts)

    monkeypatch.setattr(part("live.keyframed"), "Inbetween", count_build)
    return made


def reaches(obj, name, frame) -> bool:
    bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))
    shape = sculpt(obj, name)
    return np.abs(evaluated_positions(obj) - shape).max() < 1e-4 * size_of(shape)


# playing --------------------------------------------------------------------------------------------------------------


def test_keyframed_reaches_shapes(sack):
    """Every shape is reached at its time."""
    keys = sack.thew.keyframed.keyframes
    assert [key.shape for key in keys] == ["Lean", "Squash", "Twist"] and [key.frame for key in keys] == [1, 10, 20]
    assert all(reaches(sack, key.shape, key.frame) for key in keys)
    shapes = play(sack, FRAMES)
    assert np.isfinite(shapes).all() and np.abs(np.diff(shapes, axis=0)).max() > 1e-3


def test_keyframed_any_order(sack):
    """A frame shows the same shape in whatever order the frames are visited."""
    shapes = play(sack, FRAMES)
    order = np.random.default_rng(3).permutation(list(FRAMES)).tolist()
    for frame, shape in zip(order, play(sack, order), strict=True):
        np.testing.assert_array_equal(shape, shapes[frame - 1])


def test_keyframed_outside_range(sack):
    """Before the first and after the last time the end shapes are held."""
    np.testing.assert_array_equal(play(sack, (-30, 1))[0], play(sack, (1,))[0])
    np.testing.assert_array_equal(play(sack, (99,))[0], play(sack, (20,))[0])


def test_keyframed_differs_from_curves(sack):
    """The motion differs from plain curves between the keys, and agrees with them at the keys."""
    moving = play(sack, FRAMES)
    sack.thew.keyframed.plain = True
    plain = play(sack, FRAMES)
    assert np.abs(moving - plain).max() > 1e-3
    for frame in (1, 10, 20):
        assert np.abs(moving[frame - 1] - plain[frame - 1]).max() < 1e-4


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_keyframed_scale_invariant(scene, scale):
    """The motion is the same at any size of the object."""
    shapes = {}
    for size in (1.0, scale):
        obj = make_sack(f"Sack {size}", scale=size)
        assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
        shapes[size] = play(obj, FRAMES) / size
    np.testing.assert_allclose(shapes[scale], shapes[1.0], atol=2e-4)


def test_keyframed_other_keys(sack):
    """Other shape keys and later modifiers act on the motion as usual."""
    before = play(sack, (5,))[0]
    extra = sack.shape_key_add(name="Extra", from_mix=False)
    extra.data.foreach_set("co", (sculpt(sack, "Basis") + np.float32((0.0, 0.5, 0.0))).ravel())
    extra.value = 1.0
    np.testing.assert_allclose(play(sack, (5,))[0], before + (0.0, 0.5, 0.0), atol=1e-5)
    extra.value = 0.0
    sack.modifiers.new("Finer", "SUBSURF")
    assert len(play(sack, (5,))[0]) > 2 * len(before)


def test_keyframed_active_key(plain_sack):
    """A shape key that is switched on is not added twice, and Remove restores it."""
    keys = plain_sack.data.shape_keys.key_blocks
    keys["Lean"].value, keys["Squash"].value = 1.0, 0.5
    keys["Squash"].mute = True
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    assert [key.shape for key in plain_sack.thew.keyframed.keyframes] == ["Lean", "Twist"]
    assert reaches(plain_sack, "Lean", 1) and keys["Lean"].mute
    assert bpy.ops.thew.keyframed_remove() == {"FINISHED"}
    assert not keys["Lean"].mute and keys["Squash"].mute and keys["Lean"].value == 1.0


def test_keyframed_disabled(sack):
    """Keyframed flesh that is switched off shows the shape keys."""
    sack.thew.enabled = False
    np.testing.assert_allclose(play(sack, (7,))[0], sculpt(sack, "Basis"), atol=1e-6)
    assert not sack.data.shape_keys.key_blocks["Lean"].mute
    sack.thew.enabled = True
    assert reaches(sack, "Squash", 10)


def test_keyframed_pinned_key(sack):
    """A pinned shape key is shown alone."""
    sack.show_only_shape_key, sack.active_shape_key_index = True, 2
    sack.data.shape_keys.key_blocks["Squash"].mute = False
    np.testing.assert_allclose(play(sack, (5,))[0], sculpt(sack, "Squash"), atol=1e-6)


# times ----------------------------------------------------------------------------------------------------------------


def test_times_dragged(sack, builds):
    """A time is dragged as a keyframe, and only a changed order builds the motion anew."""
    assert times(sack) == [(1, 0), (10, 1), (20, 2)] and len(curve(sack).keyframe_points) == 3
    drag(sack, 1, 14.0)
    assert reaches(sack, "Squash", 14) and not reaches(sack, "Squash", 10)
    assert not builds  # quick
    drag(sack, 1, 25.0)  # past the last one
    assert reaches(sack, "Squash", 25) and reaches(sack, "Twist", 20) and len(builds) == 1


def test_times_typed(sack):
    """A time can be typed in the list."""
    sack.thew.keyframed.keyframes[1].frame = 6.5
    assert times(sack) == [(1, 0), (6.5, 1), (20, 2)] and reaches(sack, "Squash", 6.5)


def test_times_typed_taken(sack):
    """A typed time that another key has moves to the nearest free frame."""
    key = sack.thew.keyframed.keyframes[1]
    key.frame = 20.0  # up from 10: the frame before it
    assert times(sack) == [(1, 0), (19, 1), (20, 2)]
    key.frame = 1.0  # down: the frame after it
    assert times(sack) == [(1, 0), (2, 1), (20, 2)] and reaches(sack, "Squash", 2) and reaches(sack, "Lean", 1)


def test_times_selection(sack):
    """A new time is not selected, so the artist drags one point alone."""

    def selected_times():
        return [point.co.x for point in curve(sack).keyframe_points if point.select_control_point]

    assert selected_times() == []
    curve(sack).keyframe_points[1].select_control_point = True
    bpy.context.scene.frame_set(5)
    assert bpy.ops.thew.keyframed_time_add(index=0) == {"FINISHED"}
    assert selected_times() == [10]


def test_register_deleted_object(sack):
    """An object that was deleted leaves the register, and another in its place is not taken for it."""
    register = part("live.keyframed").register
    assert register.all_objects() == [sack]
    bpy.data.objects.remove(sack)
    other = make_sack("Other")
    bpy.context.scene.frame_set(5)
    assert register.all_objects() == [] and other.name == "Other"


def test_times_copied_point(sack):
    """A copied point of the curve reaches its shape again."""
    curve(sack).keyframe_points.insert(30, 0)
    assert reaches(sack, "Lean", 30) and reaches(sack, "Lean", 1)


def test_times_deleted_point(sack):
    """A deleted point leaves its key out, and a new time brings the key back."""
    points = curve(sack).keyframe_points
    points.remove(points[1])
    scene = bpy.context.scene
    scene.frame_set(10)
    assert not reaches(sack, "Squash", 10) and reaches(sack, "Lean", 1) and len(sack.thew.keyframed.keyframes) == 3
    scene.frame_set(12)
    assert bpy.ops.thew.keyframed_time_add(index=1) == {"FINISHED"}
    assert reaches(sack, "Squash", 12)


def test_times_equal(sack):
    """Two keys at one time are named in the note, and the last motion stays."""
    before = play(sack, (5,))[0]
    drag(sack, 1, 20.0, held=True)
    np.testing.assert_array_equal(play(sack, (5,))[0], before)
    notes = sack.thew.made.notes
    assert "“Squash”" in notes and "“Twist”" in notes and "frame 20" in notes and "drag one of them" in notes
    assert "frame 20" in refusal(bpy.ops.thew.keyframed_compute)
    drag(sack, 1, 12.0)
    assert reaches(sack, "Squash", 12) and not sack.thew.made.notes


def test_keyframed_own_animation(plain_sack):
    """The object's own animation is left as it is."""
    for frame, x in ((1, 0.0), (20, 4.0)):
        plain_sack.location.x = x
        plain_sack.keyframe_insert("location", index=0, frame=frame)
    action = plain_sack.animation_data.action
    before = snapshot(plain_sack)
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    assert plain_sack.animation_data.action == action
    bpy.context.scene.frame_set(20)
    assert plain_sack.matrix_world.translation.x == pytest.approx(4.0)
    bpy.context.scene.frame_set(1)
    assert bpy.ops.thew.keyframed_remove() == {"FINISHED"}
    assert snapshot(plain_sack) == before and plain_sack.animation_data.action == action


def test_times_lost_action(sack):
    """The times survive the loss of their action."""
    before = play(sack, FRAMES)
    sack.animation_data_clear()
    np.testing.assert_array_equal(play(sack, FRAMES), before)
    assert bpy.ops.thew.keyframed_compute() == {"FINISHED"}
    assert times(sack) == [(1, 0), (10, 1), (20, 2)] and curve(sack) is not None


# the list -------------------------------------------------------------------------------------------------------------


def test_list_edits(sack):
    """Keys are added to, moved in and removed from the list."""
    scene = bpy.context.scene
    scene.frame_set(15)
    sack.active_shape_key_index = 1
    assert bpy.ops.thew.keyframed_key_add() == {"FINISHED"}
    assert reaches(sack, "Lean", 15) and reaches(sack, "Lean", 1)
    assert "already" in refusal(bpy.ops.thew.keyframed_key_add, shape="Squash", frame=15)
    shapes = play(sack, FRAMES)
    assert bpy.ops.thew.keyframed_key_move(index=3, direction="UP") == {"FINISHED"}
    assert [key.shape for key in sack.thew.keyframed.keyframes] == ["Lean", "Squash", "Lean", "Twist"]
    np.testing.assert_array_equal(play(sack, FRAMES), shapes)
    assert bpy.ops.thew.keyframed_key_remove(index=1) == {"FINISHED"}
    assert times(sack) == [(1, 0), (15, 1), (20, 2)] and "Squash" in sack.data.shape_keys.key_blocks
    assert not sack.data.shape_keys.key_blocks["Squash"].mute and sack.data.shape_keys.key_blocks["Lean"].mute
    assert reaches(sack, "Lean", 15)


def test_list_renamed_key(sack):
    """A renamed shape key is found again."""
    before = play(sack, FRAMES)
    sack.data.shape_keys.key_blocks["Squash"].name = "Flat as a Pancake"
    np.testing.assert_array_equal(play(sack, FRAMES), before)
    assert sack.thew.keyframed.keyframes[1].shape == "Flat as a Pancake"


def test_sculpt_edit_shown(sack):
    """An edited sculpt is reached at its time."""
    block = sack.data.shape_keys.key_blocks["Squash"]
    block.data.foreach_set("co", (1.5 * sculpt(sack, "Squash")).ravel())
    sack.data.update_tag()
    bpy.context.view_layer.update()
    assert reaches(sack, "Squash", 10)


def test_loop_closes(plain_sack):
    """A loop repeats, and Close Loop closes one that was opened."""
    assert bpy.ops.thew.keyframed_add(cyclic=True) == {"FINISHED"}
    assert times(plain_sack)[-1] == (20, 0)
    np.testing.assert_allclose(play(plain_sack, (3, 9)), play(plain_sack, (22, 28)), atol=1e-5)
    assert bpy.ops.thew.keyframed_key_remove(index=0) == {"FINISHED"}
    assert "Close Loop" in plain_sack.thew.made.notes
    assert bpy.ops.thew.keyframed_close() == {"FINISHED"}
    assert not plain_sack.thew.made.notes and times(plain_sack)[-1][1] == 0
    assert "closed" in refusal(bpy.ops.thew.keyframed_close)


# dials ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [("stiffness", 30.0), ("slow_damping", 20.0), ("fast_damping", 0.5), ("gravity", 1.0), ("speed", 0.3)],
)
def test_dial_acts_and_returns(sack, builds, name, value):
    """A dial acts in the frame that is shown without building anew, and its former value gives the former motion."""
    group = sack.thew.keyframed
    if name == "gravity":
        # A uniform acceleration costs nothing that ends at given velocities would tell: what falls must be free to.
        group.keyframes[-1].velocity = "FREE"
    before = play(sack, FRAMES)
    builds.clear()
    bpy.context.scene.frame_set(6)
    old = getattr(group, name)
    setattr(group, name, value)
    assert np.abs(evaluated_positions(sack) - before[5]).max() > 1e-6  # in the frame that is shown
    assert all(reaches(sack, key.shape, key.frame) for key in group.keyframes)
    setattr(group, name, old)
    np.testing.assert_allclose(play(sack, FRAMES), before, atol=1e-6)
    assert not builds


def test_gravity_world_down(scene):
    """Gravity points down however the object is turned."""
    drops = []
    for turn in ((0.0, 0.0, 0.0), (0.0, 1.2, 0.0)):
        obj = make_sack()
        obj.rotation_euler = turn
        bpy.context.view_layer.update()
        assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
        obj.thew.keyframed.keyframes[-1].velocity = "FREE"
        before = play(obj, (5,))[0].mean(axis=0)
        obj.thew.keyframed.gravity = 1.0
        moved = play(obj, (5,))[0].mean(axis=0) - before
        drops.append(np.array(obj.matrix_world)[:3, :3] @ moved)
        bpy.data.objects.remove(obj)
    assert abs(drops[1][2]) > 0.9 * np.linalg.norm(drops[1])
    np.testing.assert_allclose(drops[0], drops[1], rtol=0.05, atol=1e-4)


@pytest.mark.parametrize(("name", "value"), [("modes", 3), ("bending", 0.1)])
def test_dial_builds_space(sack, builds, name, value):
    """A dial that changes the space of shapes builds the motion once."""
    setattr(sack.thew.keyframed, name, value)
    play(sack, (3,))
    assert len(builds) == 1 and all(reaches(sack, key.shape, key.frame) for key in sack.thew.keyframed.keyframes)


# under an armature ----------------------------------------------------------------------------------------------------


def test_keyframed_under_armature(scene):
    """Under an armature a fixed face stays as skinned, live, baked and finished."""
    body, _ = make_nodder()
    skinned = play(body, FRAMES)
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    body.thew.keyframed.fixed = "Face"
    shapes = play(body, FRAMES)
    assert body.modifiers[0].name == "Thew" and body.modifiers[1].type == "ARMATURE"
    face = np.array([any(g.group == body.vertex_groups["Face"].index for g in v.groups) for v in body.data.vertices])
    np.testing.assert_allclose(shapes[:, face], skinned[:, face], atol=1e-6)
    assert np.abs(shapes[:, ~face] - skinned[:, ~face]).max() > 0.05
    assert bpy.ops.thew.keyframed_bake() == {"FINISHED"}
    assert np.abs(play(body, FRAMES) - shapes).max() < 1e-5 * size_of(shapes[0])
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert [m.type for m in body.modifiers] == ["ARMATURE"]
    assert np.abs(play(body, FRAMES) - shapes).max() < 1e-5 * size_of(shapes[0])


def test_keyframed_copy(sack):
    """A copied object has a motion of its own."""
    before = play(sack, FRAMES)
    copy = sack.copy()
    copy.data = sack.data.copy()
    copy.animation_data.action = sack.animation_data.action.copy()
    bpy.context.scene.collection.objects.link(copy)
    np.testing.assert_array_equal(play(copy, FRAMES), before)
    drag(copy, 1, 15.0)
    assert reaches(copy, "Squash", 15) and reaches(sack, "Squash", 10)


def test_keyframed_deleted_modifier(sack):
    """Compute makes a deleted modifier again."""
    before = play(sack, (5,))[0]
    sack.modifiers.remove(sack.modifiers[0])
    play(sack, (5,))
    assert "press Compute" in sack.thew.made.notes
    assert bpy.ops.thew.keyframed_compute() == {"FINISHED"}
    np.testing.assert_array_equal(play(sack, (5,))[0], before)


def test_keyframed_excludes_flesh(scene):
    """A mesh has either flesh or keyframed flesh, and the other kind is refused."""
    body, _ = make_nodder()
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    assert "keyframed flesh" in refusal(bpy.ops.thew.add, cells_across=4)
    assert bpy.ops.thew.keyframed_remove() == {"FINISHED"}
    body.thew.made.flesh = True
    assert "press Remove Flesh" in refusal(bpy.ops.thew.keyframed_add)


def test_keyframed_add_cancelled(plain_sack, scene):
    """Add reports its progress, and leaves the object as it was when it is cancelled."""
    from helpers import part

    tasks, errors, before, seen = part("logic.tasks"), part("logic.errors"), snapshot(plain_sack), []

    def progress(fraction, text):
        seen.append((fraction, text))
        return fraction < 0.3

    with pytest.raises(errors.Cancelled):
        tasks.finish(part("edit.keyframing").add(plain_sack, scene), progress)
    assert snapshot(plain_sack) == before and seen[-1][0] < 1.0
    seen.clear()
    tasks.finish(part("edit.keyframing").add(plain_sack, scene), lambda *what: seen.append(what) or True)
    assert [f for f, _ in seen] == sorted(f for f, _ in seen) and motion_of(plain_sack) is not None
