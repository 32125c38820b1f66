# SPDX-License-Identifier: GPL-3.0-or-later
"""What a window shows of settings that are refused, and of builds that fail."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, evaluated_positions, flesh_of, part, play, refusal
from ticking import FRAMES, tick


def test_failed_build_shows_plain_skin(window, monkeypatch):
    """A build that fails shows the plain skin until a setting changes."""
    body, _, handlers = window

    def fails(*_args, **_options):
        raise part("logic.native").thew.ThewError("there is no flesh to be had")

    with monkeypatch.context() as broken:
        broken.setattr(part("logic.native").thew, "simulate", fails)
        body.thew.softness = 0.3
        tick()
        assert "no flesh to be had" in body.thew.made.notes
        np.testing.assert_array_equal(evaluated_positions(body), handlers.plain[3])
        np.testing.assert_array_equal(play(body, FRAMES), handlers.plain)
    body.thew.softness = 0.4
    tick()
    assert np.abs(play(body, FRAMES) - handlers.plain).max() > 1e-3


def refuse_twist(body):
    """Gives a bone a twist with the radius 0; returns what the sentence says and how to take it back."""
    bone = part("scene.reading").armature_of(body).data.bones["Spine"].thew
    bone.use_twist, bone.twist_radius = True, 0.0
    return "has the radius 0", lambda: setattr(bone, "use_twist", False)


def refuse_levels(body):
    """Asks for more levels than memory holds."""
    fine_detail = part("logic.fine_detail")
    limit, fine_detail.MAX_BYTES = fine_detail.MAX_BYTES, 1e3

    def take_back():
        fine_detail.MAX_BYTES, body.thew.levels = limit, 0

    body.thew.levels = 3
    return "lower Detail: 3 would take", take_back


def refuse_pins(body):
    """Pins a ring and the whole skin to two objects, and moves one of them away."""
    targets = {}
    for name, vertices in (("Hand", range(40, 60)), ("Skin", range(len(body.data.vertices)))):
        body.vertex_groups.new(name=name).add(list(vertices), 1.0, "REPLACE")
        targets[name] = bpy.data.objects.new(name, None)
        bpy.context.scene.collection.objects.link(targets[name])
        activate(body)
        assert bpy.ops.thew.pin_group(group=name, target=name) == {"FINISHED"}
    targets["Skin"].location.x = 0.3
    bpy.context.view_layer.update()

    def take_back():
        for name in targets:
            body.thew.pins.remove(len(body.thew.pins) - 1)
            body.vertex_groups.remove(body.vertex_groups[name])
        part("live.updates").wait(body)

    return "conflict", take_back


@pytest.mark.parametrize("refuse", [refuse_twist, refuse_levels, refuse_pins])
def test_refused_setting_keeps_last_flesh(window, capsys, refuse):
    """A setting that is refused while the flesh is live leaves the last good flesh in view, and is told once; taken back, it is forgotten."""
    body, _, handlers = window
    tick()
    good = play(body, FRAMES)
    assert np.abs(good - handlers.plain).max() > 1e-3
    said, take_back = refuse(body)
    capsys.readouterr()
    for _ in range(3):
        tick()
        np.testing.assert_array_equal(play(body, FRAMES), good)
    assert said in body.thew.made.notes and said in flesh_of(body).problem
    assert capsys.readouterr().out.count(said) == 1
    take_back()
    tick()
    np.testing.assert_array_equal(play(body, FRAMES), good)
    assert said not in body.thew.made.notes and not flesh_of(body).problem


def test_render_tells_of_refused_setting(window, scene, monkeypatch):
    """A render with a refused setting shows the last good flesh, and a dialog says so."""
    body, _, handlers = window
    good, texts = play(body, FRAMES[2:3]), []
    monkeypatch.setattr(part("live.rendering"), "show_dialog", lambda _title, lines: texts.extend(lines))
    said, _ = refuse_twist(body)
    tick()
    handlers.before_render(scene)
    np.testing.assert_array_equal(play(body, FRAMES[2:3]), good)
    handlers.after_render(scene)
    assert len(texts) == 1 and "earlier settings" in texts[0] and said in texts[0]


def test_refused_setting_on_edited_mesh_shows_plain_skin(window):
    """Flesh of another mesh does not stay in view, whatever is refused."""
    body, _, _ = window
    refuse_twist(body)
    body.data.vertices[0].co.x += 0.01
    body.data.update_tag()
    bpy.context.view_layer.update()
    tick()
    thew = body.modifiers["Thew"]
    shown = evaluated_positions(body)
    thew.show_viewport = False
    np.testing.assert_array_equal(shown, evaluated_positions(body))


def test_failed_update_noted(window):
    """An update that fails says why in the notes and shows the plain skin."""
    body, _, _ = window
    body.vertex_groups.clear()
    body.data.update_tag()
    bpy.context.view_layer.update()
    tick()
    assert "no vertex groups" in body.thew.made.notes
    # What is refused shows the plain armature, which moves nothing now.
    np.testing.assert_array_equal(evaluated_positions(body), part("scene.mesh").basis_positions(body.data))
    assert "no vertex groups" in refusal(bpy.ops.thew.simulate)
