# SPDX-License-Identifier: GPL-3.0-or-later
"""Random lives of keyframed flesh: whatever is done to list, times and settings, it moves or says why not."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, evaluated_positions, part
from keyframing import curve, make_sack

STEPS = 60


def edits(obj, random):
    """Returns the possible edits, by name."""
    group = obj.thew.keyframed
    ops = bpy.ops.thew

    def key():
        return group.keyframes[random.integers(len(group.keyframes))]

    def point():
        points = curve(obj).keyframe_points
        return points, points[random.integers(len(points))]

    def drag():
        point()[1].co.x = random.integers(-5, 30)
        curve(obj).update()

    def revalue():
        point()[1].co.y = random.choice([-3.0, 0.4, 1.0, 2.0, 77.0])

    def delete():
        points, one = point()
        points.remove(one)

    def choose(name, values):
        def do():
            setattr(key(), name, values[random.integers(len(values))])

        return do

    def dial(name, values):
        def do():
            setattr(group, name, values[random.integers(len(values))])

        return do

    def rename():
        blocks = [each for each in obj.data.shape_keys.key_blocks if not each.name.startswith("Thew ")]  # not a bake's
        blocks[random.integers(len(blocks))].name = f"Shape {random.integers(9)}"

    def sculpt_anew():
        blocks = obj.data.shape_keys.key_blocks
        block = blocks[random.integers(1, len(blocks))]
        block.data[random.integers(90)].co.x += 0.05
        obj.data.update_tag()

    return {
        "drag": drag, "revalue": revalue, "delete": delete, "rename": rename, "sculpt": sculpt_anew,
        "copy": lambda: curve(obj).keyframe_points.insert(random.integers(-5, 30), random.integers(4)),
        "add": lambda: ops.keyframed_key_add(shape="Lean", frame=float(random.integers(-5, 30))),
        "remove": lambda: ops.keyframed_key_remove(index=int(random.integers(5))),
        "move": lambda: ops.keyframed_key_move(index=int(random.integers(5)), direction=str(random.choice(["UP", "DOWN"]))),
        "time": lambda: ops.keyframed_time_add(index=int(random.integers(5)), frame=float(random.integers(-5, 30))),
        "close": lambda: ops.keyframed_close(), "compute": lambda: ops.keyframed_compute(),
        "bake": lambda: ops.keyframed_bake(frame_start=1, frame_end=4), "live": lambda: ops.show_live(),
        "arrow": lambda: ops.keyframed_velocity(index=int(random.integers(5))),
        "kind": choose("kind", ["EXACT", "NEAR", "GROUP"]), "velocity": choose("velocity", ["FREE", "ZERO", "NEIGHBOURS", "ARROW"]),
        "cut": choose("cut", [True, False]), "group": choose("group", ["", "Top", "Nobody"]), "fixed": choose("fixed", ["", "Top"]),
        "shape": choose("shape", ["Lean", "Squash", "Basis", "Gone"]), "cyclic": dial("cyclic", [True, False]),
        "held": dial("fixed", ["", "", "Top", "Nobody"]), "speed": dial("speed", [0.1, 1.0, 5.0]),
        "plain": dial("plain", [True, False]), "lose": lambda: obj.animation_data_clear(),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_random_edits(scene, seed):
    """After each of many random edits the flesh is finite, and the panel says why when it does not move."""
    random = np.random.default_rng(seed)
    obj = make_sack()
    top = obj.vertex_groups.new(name="Top")
    top.add(list(range(80, 90)), 1.0, "REPLACE")
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    events, keyframed, panel = part("live.keyframed_events"), part("live.keyframed"), part("ui.keyframed_panel")
    for step in range(STEPS):
        activate(obj)
        found = edits(obj, random)
        name = list(found)[random.integers(len(found))]
        try:
            found[name]()
        except RuntimeError as refusal:  # an operator's sentence
            text = str(refusal)
            assert text.startswith("Error: ") and "unforeseen" not in text, (step, name, text)
        except (ValueError, AttributeError, IndexError):  # nothing there to edit: no keys, no curve
            assert not len(obj.thew.keyframed.keyframes) or curve(obj) is None or not len(curve(obj).keyframe_points), (
                name
            )
        bpy.context.view_layer.update()
        events.look_up(scene)  # what a handler raises is only printed
        scene.frame_set(int(random.integers(-8, 35)))
        assert np.isfinite(evaluated_positions(obj)).all(), (step, name)
        level, text = panel.health(obj, keyframed.register.known_state(obj))
        assert text and (level == "ERROR") == bool(
            keyframed.register.known_state(obj).problem and not obj.thew.made.shows_bake
        ), name
    if obj.thew.made.keyframed:
        assert bpy.ops.thew.keyframed_remove(remove_baked_keys=True) == {"FINISHED"}
    assert not obj.modifiers and not any(key.mute for key in obj.data.shape_keys.key_blocks)
