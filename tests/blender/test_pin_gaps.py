# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins whose targets lie farther than flesh is shown: by how much they stop short is told in the panel and drawn in the view."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import Layout, activate, flesh_of, part, size_of, world

#: A vertex of the belly of `make_body`, in front.
BELLY = 50
FRAME = 12


def pin_away(body, way, name="Pin"):
    """Pins the belly to an Empty that stands aside by `way`, and simulates."""
    bpy.context.scene.frame_set(1)
    activate(body)
    assert bpy.ops.thew.pin_point(vertex=BELLY) == {"FINISHED"}
    pin = body.thew.pins[-1]
    pin.name = name
    pin.target.location = np.array(pin.target.location) + way
    simulate(body)
    return pin


def simulate(body):
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    bpy.context.scene.frame_set(FRAME)


def line(body) -> str:
    """Returns the line of health."""
    return part("logic.health").health(body.thew, body.thew.made, flesh_of(body), FRAME).text


def read_panel(body) -> str:
    """Returns the words of the foldout Pin."""
    layout = Layout()
    part("ui.pin_panel").draw_pins(layout, bpy.context, body, 400)
    return " ".join(layout.read())


def seen_gap(body, pin) -> float:
    """Returns the distance of the pinned vertex in view from its target."""
    return float(np.linalg.norm(world(body)[BELLY] - np.array(pin.target.matrix_world.translation)))


def test_reached_target_tells_nothing(fleshed_character):
    """A pin that reaches its target is neither told nor drawn."""
    body, _ = fleshed_character
    pin = pin_away(body, (0.0, -0.03, 0.0))
    assert seen_gap(body, pin) < 1e-4
    assert line(body).startswith("Moves") and "short" not in read_panel(body)
    assert not len(part("ui.pin_overlay").gaps_shown(body, bpy.context.scene)[0])


def test_gap_is_what_is_seen(fleshed_character):
    """The gap in panel, line and overlay is the distance in view, in every frame; it goes when the target comes nearer."""
    body, _ = fleshed_character
    pin = pin_away(body, (0.0, -0.8, 0.0), "Belt")
    gaps, size = flesh_of(body).pin_gaps, size_of(world(body))
    for frame in (1, FRAME, 20):
        bpy.context.scene.frame_set(frame)
        ends, lengths = part("ui.pin_overlay").gaps_shown(body, bpy.context.scene)
        seen = seen_gap(body, pin)
        assert seen > 0.1 and gaps.at("Belt", frame - 1) == lengths[0] == pytest.approx(seen, abs=1e-5 * size)
        np.testing.assert_allclose(ends[0], [world(body)[BELLY], pin.target.location], atol=1e-5 * size)
    text = part("saved.units").length(float(f"{gaps.worst('Belt')[0]:.2g}"))
    assert line(body).startswith(f"The pin “Belt” stops {text} short: move its target nearer")
    assert f"{text} short" in read_panel(body) and "part of its thickness" in read_panel(body)
    pin.target.location.y += 0.77
    simulate(body)
    assert "short" not in line(body) + read_panel(body)


def test_softness_does_not_move_the_stop(fleshed_character):
    """Flesh of any softness stops at the same place: no advice names Softness first."""
    body, _ = fleshed_character
    pin = pin_away(body, (0.0, -0.8, 0.0))
    found = []
    for softness in (0.2, 0.9):
        body.thew.softness = softness
        simulate(body)
        found.append(seen_gap(body, pin))
        assert "short: move its target nearer" in line(body)
    assert abs(found[0] - found[1]) < 1e-3 * size_of(world(body))


def test_swing_limit_is_named_where_it_stops(fleshed_character):
    """Where the Swing Limit stops the pin, raising it is the advice, and brings the point nearer."""
    body, _ = fleshed_character
    pin = pin_away(body, (0.0, -0.8, 0.0))
    assert "Swing Limit" not in line(body)
    far = seen_gap(body, pin)
    body.thew.reach = 0.02
    simulate(body)
    assert line(body).endswith("pull less, or raise Swing Limit")
    assert seen_gap(body, pin) > far + 0.02


def test_partial_influence_is_no_gap(fleshed_character):
    """A pin that pulls is meant to stay behind its target; one that is off holds nothing."""
    body, _ = fleshed_character
    pin = pin_away(body, (0.0, -0.8, 0.0))
    for influence in (0.5, 0.0):
        pin.influence = influence
        simulate(body)
        assert "short" not in line(body) + read_panel(body)


def test_gap_is_flagged_in_the_list(fleshed_character):
    """The row of a pin that stops short has a warning sign."""
    body, _ = fleshed_character

    def icons():
        seen = []

        class Row:
            def row(self, **_):
                return self

            def prop(self, *_, icon="", **__):
                seen.append(icon)

            def label(self, **_):
                pass

        part("ui.pin_panel").THEW_UL_pins.draw_item(None, None, Row(), body.thew, body.thew.pins[0], 0, None, "")
        return seen

    pin = pin_away(body, (0.0, -0.8, 0.0))
    assert icons() == ["ERROR"]
    pin.target.location.y += 0.77
    simulate(body)
    assert icons() == ["PINNED"]


def test_nothing_is_drawn_where_flesh_is_not_live(fleshed_character):
    """Off, in a bake and in poses that were not simulated no gap is drawn."""
    body, _ = fleshed_character
    pin_away(body, (0.0, -0.8, 0.0))

    def drawn():
        return len(part("ui.pin_overlay").gaps_shown(body, bpy.context.scene)[0])

    assert drawn() == 1
    body.thew.enabled = False
    assert not drawn()
    body.thew.enabled = True
    bpy.context.scene.frame_set(FRAME)
    assert drawn() == 1
    bpy.context.scene.frame_set(90)
    assert not drawn()
    assert bpy.ops.thew.bake() == {"FINISHED"}
    bpy.context.scene.frame_set(FRAME)
    assert not drawn()


def test_character_that_walks_away_is_told_otherwise(fleshed_character):
    """Where the character walks away from a target that stands still, the advice is to let the target go along."""
    body, armature = fleshed_character
    body.parent = armature
    for frame, way in ((1, 0.0), (20, -1.0)):
        armature.location.y = way
        armature.keyframe_insert("location", frame=frame)
    pin = pin_away(body, (0.0, 0.0, 0.0))
    assert "short: parent its target to a bone" in line(body)
    pin.target.parent, pin.target.parent_type, pin.target.parent_bone = armature, "BONE", "Spine"
    bpy.context.scene.frame_set(1)
    pin.target.matrix_world.translation = world(body)[BELLY]
    simulate(body)
    assert line(body).startswith("Moves")
