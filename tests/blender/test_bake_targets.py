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


# all objects or none --------------------------------------------------------------------------------------------------

#: Places in which the second object fails: a module, and a function that is called with it or what belongs to it.
PLACES = [
    ("scene.writing", "rename"),
    ("scene.key_curves", "rename_curves"),
    ("bake.key_target", "clip_notes"),
    ("bake.bake_records", "fill"),
    ("bake.bake_records", "store"),
]


def fail_late(monkeypatch, place, calls_of_first: int) -> None:
    """Lets a function fail after it was called so many times, once its work is done."""
    module, name = part(place[0]), place[1]
    done, calls = getattr(module, name), []

    def fails(*how, **options):
        found = done(*how, **options)
        calls.append(name)
        if len(calls) == calls_of_first + 1:
            raise RuntimeError("no more")
        return found

    monkeypatch.setattr(module, name, fails)


@pytest.mark.parametrize("space", ["REST", "POSED"])
@pytest.mark.parametrize("place", PLACES, ids=[name for _, name in PLACES])
def test_swap_fails_in_rider(body_and_shirt, monkeypatch, place, space):
    """Wherever the swap of an object's keys fails, all objects have their former keys, curves, records and active keys."""
    for obj in body_and_shirt:
        obj.active_shape_key_index = 3
    before, shown = snapshots_without_notes(body_and_shirt), [play(obj, FRAMES) for obj in body_and_shirt]
    bpy.context.scene.frame_set(before[0][0]["frame"])
    reached = 0
    for calls in range(40):
        with monkeypatch.context() as patch:
            fail_late(patch, place, calls)
            try:
                text = refusal(bpy.ops.thew.bake, space=space)
            except AssertionError:  # nothing failed any more
                break
        reached += 1
        assert "no more" in text
        assert snapshots_without_notes(body_and_shirt) == before, (place, calls)
        for obj, kept in zip(body_and_shirt, shown, strict=True):
            assert np.array_equal(play(obj, FRAMES), kept)
        bpy.context.scene.frame_set(before[0][0]["frame"])
    assert reached >= 2, "in the body and in the shirt"
    assert all(len(obj.thew.bakes[0].key_names) == 20 and len(obj.thew.bakes[0].clips) == 1 for obj in body_and_shirt)


@pytest.mark.parametrize("target", ["COMPRESSED", "HELPER_BONES", "PC2", "VERTEX_TEXTURE"])
def test_record_fails_in_rider(body_and_shirt, tmp_path, monkeypatch, target):
    """When the record of the second object fails, the first has its former bake of each kind, and a further bake is written whole."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    form = {"target": target, "bones": 2}
    assert bpy.ops.thew.bake(frame_start=1, frame_end=6, **form) == {"FINISHED"}
    before = snapshots_without_notes(body_and_shirt)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".blend"}
    with monkeypatch.context() as patch:
        fail_late(patch, ("bake.bake_records", "store"), 1)
        assert "no more" in refusal(bpy.ops.thew.bake, frame_start=1, frame_end=9, **form)
    assert snapshots_without_notes(body_and_shirt) == before
    assert files == {
        path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".blend"
    }
    assert bpy.ops.thew.bake(frame_start=1, frame_end=9, **form) == {"FINISHED"}
    assert all([clip.end for clip in obj.thew.bakes[-1].clips] == [9] for obj in body_and_shirt)


def test_swap_keeps_drivers(body_and_shirt):
    """A driver that reads a baked key goes on with the key that takes its name."""
    body, shirt = body_and_shirt
    keys = body.data.shape_keys
    path = 'key_blocks["Thew 0002"].value'
    variable = shirt.driver_add("pass_index").driver.variables.new()
    variable.targets[0].id_type, variable.targets[0].id, variable.targets[0].data_path = "KEY", keys, path
    assert bpy.ops.thew.bake(frame_start=1, frame_end=6) == {"FINISHED"}
    assert variable.targets[0].data_path == path
