# SPDX-License-Identifier: GPL-3.0-or-later
"""Belts in Blender: a ring of skin around a bone, as tight as its girth, that follows the bone."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, evaluated_positions, part, play, refusal, size_of, world

FRAMES = range(1, 13)


def held_ring(body):
    """Returns the vertices of the last pin and their places in its target's space."""
    pins = part("logic.pins")
    points = pins.PinPoints.from_text(body.thew.pins[-1].points)
    return points.vertices, points.local


def simulate(body):
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}


def on_bone(body, armature, name, vertices):
    """Returns shown vertices in the space of a bone."""
    into = np.linalg.inv(np.array(armature.matrix_world @ armature.pose.bones[name].matrix))
    return world(body)[vertices] @ into[:3, :3].T + into[:3, 3]


def test_belt_holds_ring_on_bone(fleshed_character):
    """The ring goes around the bone, as tight as Girth; in every frame the flesh is there on its bone."""
    body, armature = fleshed_character
    size = size_of(evaluated_positions(body))
    bpy.context.scene.frame_set(1)
    activate(body)
    assert bpy.ops.thew.pin_belt(bone="Spine", along=0.5, girth=0.97) == {"FINISHED"}
    pin = body.thew.pins[0]
    assert (pin.name, pin.target, pin.bone) == ("Belt", armature, "Spine")
    vertices, local = held_ring(body)
    assert len(vertices) >= 8
    shown = on_bone(body, armature, "Spine", vertices)
    along = shown[:, 1]  # bones point along their own y
    assert np.ptp(along) < 0.2 * size and abs(along.mean() - 0.5 * armature.pose.bones["Spine"].length) < 0.1 * size
    angles = np.sort(np.arctan2(shown[:, 2] - shown[:, 2].mean(), shown[:, 0] - shown[:, 0].mean()))
    assert np.diff(angles, append=angles[0] + 2.0 * np.pi).max() < 1.2  # all around
    spread = lambda x: np.ptp(x[:, [0, 2]], axis=0)  # noqa: E731
    np.testing.assert_allclose(local, shown, atol=1e-5 * size)
    held = held_on_bone(body, armature, "Spine", local)
    np.testing.assert_allclose(spread(held), 0.97 * spread(shown), rtol=0.01)
    np.testing.assert_allclose(held[:, 1], along, atol=1e-5 * size)
    simulate(body)
    made, _ = part("live.pins").tracks(flesh(body), flesh(body).motion.pins)
    chosen = [track.point for track in made]
    assert len(chosen) >= 4
    held = play(body, FRAMES, lambda obj: on_bone(obj, armature, "Spine", chosen))
    np.testing.assert_allclose(held, np.tile(held[0], (len(FRAMES), 1, 1)), atol=1e-4 * size)


def held_on_bone(body, armature, name, local):
    """Returns where the last pin holds points [k, 3] of its target's space, in the space of a bone."""
    bone = np.array(armature.matrix_world @ armature.pose.bones[name].matrix)
    row = part("scene.pins").evaluated_pins(body, bpy.context.evaluated_depsgraph_get())[-1:]
    (places,) = part("logic.pins").places(row, local)
    into = np.linalg.inv(bone)
    return places @ into[:3, :3].T + into[:3, 3]


def test_girth_is_keyed(fleshed_character):
    """A keyed girth draws the skin in and lets it out again; the rest of the motion stays that of the bone."""
    body, armature = fleshed_character
    bpy.context.scene.frame_set(1)
    activate(body)
    assert bpy.ops.thew.pin_belt(bone="Spine", girth=1.0) == {"FINISHED"}
    pin = body.thew.pins[0]
    for frame, girth in ((1, 1.0), (6, 0.95), (12, 1.0)):
        pin.girth = girth
        pin.keyframe_insert("girth", frame=frame)
    simulate(body)
    made, _ = part("live.pins").tracks(flesh(body), flesh(body).motion.pins)
    chosen = [track.point for track in made]
    held = play(body, FRAMES, lambda obj: on_bone(obj, armature, "Spine", chosen)[:, [0, 2]])
    spreads = np.linalg.norm(np.asarray(held) - np.mean(held, axis=1, keepdims=True), axis=2).mean(axis=1)
    assert spreads[5] == pytest.approx(0.95 * spreads[0], rel=0.01)
    assert spreads[11] == pytest.approx(spreads[0], rel=0.002)


def test_belt_moves_to_another_bone(fleshed_character):
    """A belt whose bone is chosen anew stays where the skin is shown, with its girth and across its axis."""
    body, armature = fleshed_character
    bpy.context.scene.frame_set(1)
    activate(body)
    assert bpy.ops.thew.pin_belt(bone="Spine", girth=0.95) == {"FINISHED"}
    simulate(body)
    bpy.context.scene.frame_set(4)
    vertices, _ = held_ring(body)
    size, shown = size_of(evaluated_positions(body)), on_bone(body, armature, "Spine", vertices)
    body.thew.pins[0].bone = "Hip"
    np.testing.assert_allclose(held_on_bone(body, armature, "Spine", held_ring(body)[1]), shown, atol=2e-4 * size)
    assert body.thew.pins[0].girth == pytest.approx(0.95)
    matrices = [np.array(armature.pose.bones[name].matrix)[:3, :3] for name in ("Hip", "Spine")]
    axis = matrices[0] @ np.array(body.thew.pins[0].belt_axis)
    assert abs(axis @ matrices[1][:, 1]) > 0.98 * np.linalg.norm(axis)


def flesh(body):
    return part("live.session").register.state_of(body)


def test_belt_survives_undo(fleshed_character):
    """Undo takes the belt off, redo puts it on again, and Remove Pin lets the flesh go."""
    body, _ = fleshed_character
    name = body.name
    activate(body)
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.thew.pin_belt(bone="Spine") == {"FINISHED"}
    points = body.thew.pins[0].points
    bpy.ops.ed.undo_push(message="belt")
    bpy.ops.ed.undo()
    assert not len(bpy.data.objects[name].thew.pins)
    bpy.ops.ed.redo()
    body = bpy.data.objects[name]
    assert body.thew.pins[0].points == points
    activate(body)
    assert bpy.ops.thew.pin_remove() == {"FINISHED"} and not len(body.thew.pins)


def test_active_bone_carries_belt(fleshed_character):
    """Without a named bone the active, selected one of the armature carries the belt."""
    body, armature = fleshed_character
    bone = armature.data.bones["Spine"]
    armature.data.bones.active = bone
    posed = armature.pose.bones["Spine"]
    (posed if hasattr(posed, "select") else bone).select = True
    activate(body)
    assert bpy.ops.thew.pin_belt() == {"FINISHED"}
    assert body.thew.pins[0].bone == "Spine"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"bone": "Tail"}, "has no bone “Tail”"),
        ({"bone": "Spine", "along": 3.0}, "goes around the bone “Spine”"),
    ],
)
def test_mistakes_are_sentences(fleshed_character, options, what):
    body, _ = fleshed_character
    activate(body)
    assert what in refusal(bpy.ops.thew.pin_belt, **options)
    assert not len(body.thew.pins)


def test_belt_needs_flesh_and_bone(fleshed_character):
    """A mesh without flesh, and an armature without an active bone, are refused."""
    body, armature = fleshed_character
    armature.data.bones.active = None
    activate(body)
    assert "No bone carries the belt" in refusal(bpy.ops.thew.pin_belt)
    bpy.ops.mesh.primitive_cube_add()
    assert "no flesh" in refusal(bpy.ops.thew.pin_belt, bone="Spine")
