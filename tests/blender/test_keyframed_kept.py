# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh through undo, files, bakes, glTF and removal."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
import roundtrips
from helpers import activate, evaluated_positions, play, refusal, settings, size_of, snapshot
from keyframing import curve, drag, make_sack, sculpt, times

FRAMES = range(1, 21)


@pytest.fixture
def plain_sack(scene):
    return make_sack()


@pytest.fixture
def sack(plain_sack):
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    return plain_sack


def test_undo_redo_motion(sack):
    """Undo and redo show the motion of the times that they bring back."""
    first = play(sack, FRAMES)
    bpy.ops.ed.undo_push(message="added")
    drag(sack, 1, 15.0)
    sack.thew.keyframed.stiffness = 50.0
    second = play(sack, FRAMES)
    bpy.ops.ed.undo_push(message="edited")
    bpy.ops.ed.undo()
    sack = bpy.data.objects["Sack"]
    assert times(sack)[1] == (10, 1)
    np.testing.assert_array_equal(play(sack, FRAMES), first)
    bpy.ops.ed.redo()
    np.testing.assert_array_equal(play(bpy.data.objects["Sack"], FRAMES), second)


def test_undo_every_operator(plain_sack):
    """Every operator can be undone."""
    bpy.context.scene.frame_set(12)
    bpy.ops.ed.undo_push(message="start")
    steps = (
        lambda: bpy.ops.thew.keyframed_add(),
        lambda: bpy.ops.thew.keyframed_key_add(shape="Lean", frame=15),
        lambda: bpy.ops.thew.keyframed_time_add(index=0, frame=18),
        lambda: bpy.ops.thew.keyframed_key_move(index=0, direction="DOWN"),
        lambda: bpy.ops.thew.keyframed_velocity(index=1),
        lambda: bpy.ops.thew.keyframed_relax(index=1, amount=0.5),
        lambda: bpy.ops.thew.keyframed_model(points="[[0, [0.7, 0, 0]]]"),
        lambda: bpy.ops.thew.keyframed_compute(),
        lambda: bpy.ops.thew.keyframed_key_remove(index=1),
        lambda: bpy.ops.thew.keyframed_bake(),
        lambda: bpy.ops.thew.show_live(),
        lambda: bpy.ops.thew.keyframed_remove(remove_baked_keys=True),
    )
    states = []
    for i, step in enumerate(steps):
        states.append((snapshot(bpy.data.objects["Sack"]), keys_of(bpy.data.objects["Sack"])))
        assert step() == {"FINISHED"}, i
        bpy.ops.ed.undo_push(message=str(i))
    for i in reversed(range(len(steps))):
        bpy.ops.ed.undo()
        obj = bpy.data.objects["Sack"]
        activate(obj)
        found = snapshot(obj), keys_of(obj)
        for name in states[i][0]:
            if name not in {"attributes", "active attribute", "settings"}:  # what is shown comes with the next frame
                assert found[0][name] == states[i][0][name], (i, name)
        assert found[1] == states[i][1], i
        bpy.context.scene.frame_set(12)


def keys_of(obj):
    """Returns the list and the shape keys, as numbers."""
    keys = obj.data.shape_keys
    shapes = [sculpt(obj, key.name).tobytes() for key in keys.key_blocks]
    entries = [(key.shape, key.frame, key.velocity, tuple(key.arrow)) for key in obj.thew.keyframed.keyframes]
    return entries, shapes, times(obj)


def test_save_load_keeps_motion(sack, tmp_path):
    """Settings and motion are the same after the file is saved and opened again."""
    sack.thew.keyframed.stiffness = 300.0
    drag(sack, 1, 13.0)
    live, saved = play(sack, FRAMES), settings(sack)
    path = str(tmp_path / "sack.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    np.testing.assert_array_equal(evaluated_positions(sack), live[-1])  # saving hides nothing
    bpy.ops.wm.open_mainfile(filepath=path)
    sack = bpy.data.objects["Sack"]
    loaded = settings(sack)
    assert len(loaded.pop("keyframed.keyframes")) == len(saved.pop("keyframed.keyframes")) == 3
    assert loaded == saved
    assert "thew_offset" not in sack.data.attributes
    np.testing.assert_array_equal(play(sack, FRAMES), live)


def test_bake_equals_live(sack):
    """A bake shows the shapes of the live motion, also when it is finished."""
    live = play(sack, FRAMES)
    assert bpy.ops.thew.keyframed_bake() == {"FINISHED"}
    assert sack.thew.made.shows_bake and len(sack.thew.bakes[0].key_names) == 20
    assert np.abs(play(sack, FRAMES) - live).max() < 1e-5 * size_of(live[0])
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    np.testing.assert_array_equal(play(sack, FRAMES), live)
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert not sack.modifiers and not sack.thew.made.keyframed and curve(sack) is None
    assert np.abs(play(sack, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_bake_ignores_plain(sack):
    """A bake holds the motion even while plain curves are shown."""
    live = play(sack, FRAMES)
    sack.thew.keyframed.plain = True
    assert bpy.ops.thew.keyframed_bake() == {"FINISHED"}
    assert np.abs(play(sack, FRAMES) - live).max() < 1e-5 * size_of(live[0])


def test_bake_failure_keeps_former(sack):
    """A bake of times that cannot be computed leaves the former bake."""
    assert bpy.ops.thew.keyframed_bake() == {"FINISHED"}
    before = play(sack, FRAMES)
    drag(sack, 1, 20.0, held=True)
    assert "frame 20" in refusal(bpy.ops.thew.keyframed_bake)
    np.testing.assert_array_equal(play(sack, FRAMES), before)


@pytest.mark.parametrize("operator", ["keyframed_remove", "remove"])
def test_remove_restores_file(plain_sack, operator):
    """Remove leaves the file as it was before."""
    scene = bpy.context.scene
    scene.frame_set(7)
    before = snapshot(plain_sack)
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    plain_sack.thew.keyframed.stiffness = 5.0
    play(plain_sack, (3, 7))
    assert getattr(bpy.ops.thew, operator)() == {"FINISHED"}
    assert snapshot(plain_sack) == before


def test_remove_mutes_keys(sack):
    """Remove keeps the baked keys muted, and deletes them when it is asked to."""
    assert bpy.ops.thew.keyframed_bake() == {"FINISHED"}
    assert bpy.ops.thew.keyframed_remove() == {"FINISHED"}
    np.testing.assert_allclose(play(sack, (9,))[0], sculpt(sack, "Basis"), atol=1e-6)
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert [key.name for key in sack.data.shape_keys.key_blocks] == ["Basis", "Lean", "Squash", "Twist"]


@pytest.mark.skipif(bpy.app.version < (4, 4), reason="actions know no slots")
def test_gltf_finished_bake(scene, tmp_path):
    """A finished bake comes back from glTF, at the frames and between them."""
    sack, frames = make_sack(), (1, 5, 9.5, 12, 20)
    assert bpy.ops.thew.keyframed_add(frame_start=1, frame_end=20) == {"FINISHED"}
    bpy.context.scene.frame_end = 20
    assert bpy.ops.thew.keyframed_bake(frame_start=1, frame_end=20) == {"FINISHED"}
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    before = roundtrips.shapes(sack, frames)
    roundtrips.export(tmp_path / "sack.glb")
    roundtrips.bring_back(tmp_path / "sack.glb")
    after = roundtrips.shapes(roundtrips.baked_mesh(), frames)
    came = roundtrips.owners(before, after)
    assert roundtrips.largest_distances(before[:, came], after).max() < 1e-4
    assert roundtrips.largest_distances(before, np.broadcast_to(before[0], before.shape)).max() > 0.05
