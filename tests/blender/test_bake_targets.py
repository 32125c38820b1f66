# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake targets: all of a bake is written or none of it, whatever stops it, and a new target is a file and a row."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, make_body, part, play, refusal, snapshot

FRAMES = range(1, 21)


@pytest.fixture
def body_and_shirt(character):
    """Builds (body with flesh, shirt that rides on it), both with a bake of frames 1 to 6."""
    body, armature = character
    shirt = make_body(armature, name="Shirt", rings=9)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    body.select_set(True)
    shirt.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    activate(body)
    assert bpy.ops.thew.bake(frame_start=1, frame_end=6) == {"FINISHED"}
    return body, shirt


def keys_of(obj) -> dict[str, bytes]:
    """Returns the contents of all keys, and how they play."""
    found = {}
    for key in obj.data.shape_keys.key_blocks:
        flat = np.empty(3 * len(obj.data.vertices), dtype=np.float32)
        key.points.foreach_get("co", flat)
        found[key.name] = flat.tobytes()
    curves = part("scene.animation").curves_in(obj.data.shape_keys.animation_data)
    return found | {curve.data_path: repr([tuple(k.co) for k in curve.keyframe_points]) for curve in curves}


def snapshots(objects) -> list:
    return [(snapshot(obj), keys_of(obj)) for obj in objects]


def snapshots_without_notes(objects) -> list:
    """Returns the same without the notes, which say how far a simulation has come."""
    found = snapshots(objects)
    for each, _ in found:
        each["settings"] = {key: value for key, value in each["settings"].items() if key != "made.notes"}
    return found


def test_bake_failure_in_rider(body_and_shirt, monkeypatch):
    """When the rider's keys cannot be written, neither the body nor the rider has new ones."""
    _, shirt = body_and_shirt
    before = snapshots_without_notes(body_and_shirt)
    writing = part("scene.writing")
    done = writing.write_clips

    def fails(obj, *how):
        done(obj, *how)
        if obj == shirt:
            raise RuntimeError("no room")

    monkeypatch.setattr(writing, "write_clips", fails)
    assert "no room" in refusal(bpy.ops.thew.bake, space="POSED")
    assert snapshots_without_notes(body_and_shirt) == before
    monkeypatch.undo()
    assert bpy.ops.thew.bake(space="POSED") == {"FINISHED"}
    assert all(len(obj.thew.bakes[0].key_names) == 20 for obj in body_and_shirt)


def test_bake_cancelled_anywhere(body_and_shirt):
    """A bake that is cancelled at any report leaves all bakes as they were."""
    body, _ = body_and_shirt
    before = snapshots_without_notes(body_and_shirt)
    baking, tasks, errors = part("bake.baking"), part("logic.tasks"), part("logic.errors")
    for left in range(0, 1000, 2):
        asked = iter(range(left))
        task = baking.bake(body, bpy.context.scene, bpy.context.view_layer, space="POSED")
        try:
            tasks.finish(task, lambda _fraction, _text, asked=asked: next(asked, None) is not None)
        except errors.Cancelled:
            assert snapshots_without_notes(body_and_shirt) == before, f"cancelled at report {left}"
        else:
            break
    assert left > 6
    assert all(len(obj.thew.bakes[0].key_names) == 20 for obj in body_and_shirt)


class Notes:
    """Stands for a bake target that keeps how far the flesh goes as custom properties."""

    key, label, description = "NOTES", "Notes", "How far flesh goes"

    def __init__(self):
        def remove(obj, _bake):
            for name in [name for name in obj.keys() if name.startswith("far")]:
                del obj[name]

        def show(obj, _bake, on):
            if "far" in obj.keys():
                obj["far shown"] = on

        describe = lambda obj, _bake: "note" if "far" in obj.keys() else ""  # noqa: E731
        self.kind = part("scene.bakes").Kind(self.key, describe, show, remove)
        self.fails = False

    def check(self, obj):
        pass

    def prepare(self, source, space):
        rows = yield from source.differences(set())
        return part("bake.target").Content(rows, space)

    def pack(self, pending):
        yield part("logic.tasks").Progress(0.0, "Folding the note")
        pending.packed = max(float(np.abs(each.content.rows).max()) for each in pending.clips)

    def write(self, pending):
        pending.obj["far new"] = pending.packed
        if self.fails:
            raise RuntimeError("no ink")

    def discard(self, pending):
        pending.obj.pop("far new", None)

    def swap(self, pending):
        pending.obj["far"] = pending.obj.pop("far new")
        return ["far"]


def test_target_new(character, monkeypatch):
    """Bake, failure, Show Live and Remove reach a new target, and no other file knows it."""
    body, _ = character
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    live = play(body, FRAMES)
    target = Notes()
    monkeypatch.setattr(part("bake.targets"), "TARGETS", (*part("bake.targets").TARGETS, target))
    monkeypatch.setattr(part("scene.bakes"), "kinds", [each.kind for each in part("bake.targets").TARGETS])
    baking, finish = part("bake.baking"), part("logic.tasks").finish
    scene, layer = bpy.context.scene, bpy.context.view_layer
    finish(baking.bake(body, scene, layer, target_key="NOTES"))
    assert body["far"] > 0.01 and body["far shown"] and body.thew.made.shows_bake
    target.fails, far = True, body["far"]
    with pytest.raises(RuntimeError, match="no ink"):
        finish(baking.bake(body, scene, layer, start=1, end=2, target_key="NOTES"))
    assert body["far"] == far and "far new" not in body.keys()
    body.thew.made.shows_bake = False
    part("live.jobs").apply_state(body)
    assert not body["far shown"]
    assert np.array_equal(play(body, FRAMES), live)
    notes = part("live.jobs").remove(body)
    assert any("keeps its note" in text for text in notes) and body["far"] == far
    part("live.jobs").remove(body, remove_baked_keys=True)
    assert not [name for name in body.keys() if name.startswith("far")]


def test_target_unknown(fleshed_character):
    """An unknown target is refused by a sentence that names the known ones."""
    body, _ = fleshed_character
    with pytest.raises(part("logic.errors").Refusal, match="SHAPE_KEYS"):
        part("logic.tasks").finish(
            part("bake.baking").bake(body, bpy.context.scene, bpy.context.view_layer, target_key="BREAD")
        )
