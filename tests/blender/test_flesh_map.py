# SPDX-License-Identifier: GPL-3.0-or-later
"""The maps Flesh and Stiffness: filled, painted, read while painting, kept and removed."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from helpers import (
    activate,
    evaluated_positions,
    flesh_of,
    forget_settings,
    make_armature,
    make_body,
    part,
    play,
    refusal,
    snapshot,
)
from ticking import tick

FRAMES = range(1, 21)


def weights(body, name="Flesh") -> np.ndarray:
    return part("scene.flesh_map").read(body, name)


def paint(body, vertices, value, name="Flesh") -> None:
    """Paints vertices as a stroke does."""
    body.vertex_groups[name].add([int(v) for v in vertices], value, "REPLACE")
    body.data.update_tag()
    bpy.context.view_layer.update()


def heights(body) -> np.ndarray:
    return part("scene.mesh").basis_positions(body.data)[:, 2]


def test_map_filled_by_add(fleshed_character):
    """Add fills the map with the automatic flesh, more where the body is thick, and leaves the active group."""
    body, _ = fleshed_character
    values = weights(body)
    assert values.min() >= 0.0 and values.max() <= 1.0 and len(values) == len(body.data.vertices)
    np.testing.assert_array_equal(values, np.asarray(flesh_of(body).body.flesh, dtype=np.float32))
    at = heights(body)
    belly = values[np.abs(at - 0.7) < 0.1].mean()
    assert belly > 1.3 * values[np.abs(at - 0.1) < 0.1].mean()  # where it is thick
    assert body.vertex_groups.active.name == "Head"  # the artist's stays active
    assert flesh_of(body).character.painted.flesh is None


def test_map_keeps_lattice(fleshed_character):
    """The map does not count as a bone, and painting it leaves the lattice."""
    body, _ = fleshed_character
    play(body, (3,))
    flesh = flesh_of(body)
    lattice, bones, digest = flesh.lattice, flesh.character.bones, flesh.character.digest
    paint(body, range(20), 0.0)
    play(body, (3,))
    assert flesh.lattice is lattice and flesh.character.bones == bones and flesh.character.digest == digest
    np.testing.assert_array_equal(flesh.character.painted.flesh, weights(body))
    body.vertex_groups.new(name="Pin").add([1, 2], 1.0, "REPLACE")
    body.data.update_tag()
    bpy.context.view_layer.update()
    play(body, (4,))
    assert flesh.lattice is lattice and flesh.character.digest == digest


def test_map_zero_is_skin(fleshed_character):
    """Where flesh is painted away the skin shows unchanged, and elsewhere it moves as before."""
    body, _ = fleshed_character
    flesh = flesh_of(body)
    live = play(body, FRAMES)
    stiffness = flesh.stiffness
    body.thew.enabled = False
    skin = play(body, FRAMES)
    body.thew.enabled = True
    away = heights(body) < 0.9
    assert np.abs(live - skin)[:, away].max() > 1e-3
    paint(body, np.flatnonzero(away), 0.0)
    shapes = play(body, FRAMES)
    np.testing.assert_array_equal(shapes[:, away], skin[:, away])
    kept = heights(body) > 1.2
    assert np.abs(shapes - skin)[:, kept].max() > 0.3 * np.abs(live - skin)[:, kept].max() > 1e-4
    assert flesh.stiffness == stiffness  # the dial means what it meant


def test_map_amount_sways(fleshed_character):
    """More flesh sways more."""
    body, _ = fleshed_character
    body.thew.enabled = False
    skin = play(body, FRAMES).astype(np.float64)
    body.thew.enabled = True
    found = []
    for amount in (0.0, 0.2, 0.4, 0.7, 1.0):
        paint(body, np.arange(len(body.data.vertices)), amount)
        offsets = play(body, FRAMES) - skin
        found.append(float(np.linalg.norm(offsets - offsets.mean(axis=0), axis=2).mean()))
    assert found[0] == 0.0 and all(b > 1.2 * a for a, b in itertools.pairwise(found)), found


def test_stiffness_map_acts(fleshed_character):
    """The stiffness map changes nothing at one half, and acts beyond it."""
    body, _ = fleshed_character
    before = play(body, FRAMES)
    part("scene.flesh_map").write(body, "Stiffness", np.full(len(body.data.vertices), 0.5))
    body.data.update_tag()
    bpy.context.view_layer.update()
    np.testing.assert_array_equal(play(body, FRAMES), before)
    lattice = flesh_of(body).lattice
    paint(body, np.arange(len(body.data.vertices)), 1.0, "Stiffness")
    assert np.abs(play(body, FRAMES) - before).max() > 1e-4
    assert flesh_of(body).lattice is lattice
    body.vertex_groups.remove(body.vertex_groups["Stiffness"])
    body.data.update_tag()
    bpy.context.view_layer.update()
    np.testing.assert_array_equal(play(body, FRAMES), before)


def test_stroke_noticed(window, monkeypatch):
    """A stroke is noticed when it ends."""
    body, _, _ = window
    flesh = flesh_of(body)
    lattice = flesh.lattice
    activate(body)
    assert bpy.ops.thew.paint_flesh() == {"FINISHED"}
    tick()
    bpy.context.view_layer.update()
    monkeypatch.setattr(part("scene.windows"), "is_stroking", lambda: True)
    paint(body, range(60, 90), 0.0)
    assert part("live.updates").state.waiting
    assert (
        part("live.updates").tick() is not None
        and part("live.updates").state.stepper is None
        and part("live.updates").state.waiting
    )
    monkeypatch.setattr(part("scene.windows"), "is_stroking", lambda: False)
    tick()
    np.testing.assert_array_equal(flesh.character.painted.flesh, weights(body))
    # What stops the update and then paints leaves nothing undone.
    bpy.context.view_layer.update()
    paint(body, range(60, 90), 0.5)
    part("live.updates").stop_update()
    paint(body, range(60, 90), 0.75)
    tick()
    np.testing.assert_array_equal(flesh.character.painted.flesh, weights(body))
    assert flesh.lattice is lattice and not part("live.updates").state.waiting
    bpy.ops.object.mode_set(mode="OBJECT")


def test_paint_button(fleshed_character):
    """One button starts and stops painting, from object mode and from pose mode."""
    body, armature = fleshed_character
    for start in (body, armature):
        activate(start)
        if start == armature:
            bpy.ops.object.mode_set(mode="POSE")
        assert bpy.ops.thew.paint_flesh() == {"FINISHED"}
        assert body.mode == "WEIGHT_PAINT" and bpy.context.view_layer.objects.active == body
        assert body.vertex_groups.active.name == "Flesh"
        assert bpy.ops.thew.paint_flesh(map="STIFFNESS") == {"FINISHED"}
        assert body.mode == "WEIGHT_PAINT" and body.vertex_groups.active.name == "Stiffness"
        assert (weights(body, "Stiffness") == 0.5).all()
        assert bpy.ops.thew.paint_flesh(map="STIFFNESS") == {"FINISHED"}
        assert body.mode == "OBJECT"


def test_paint_needs_flesh(character):
    """Painting without flesh is refused."""
    body, _ = character
    activate(body)
    assert "Add Flesh" in refusal(bpy.ops.thew.paint_flesh)
    assert "Add Flesh" in refusal(bpy.ops.thew.flesh_preset, part="BELLY")


@pytest.mark.parametrize("hide", ["viewport", "eye", "collection"])
def test_paint_hidden(fleshed_character, hide):
    """Painting a hidden object is refused by a sentence, and adds no group."""
    body, _ = fleshed_character
    if hide == "viewport":
        body.hide_viewport = True
    elif hide == "eye":
        body.hide_set(True)
    else:
        collection = bpy.data.collections.new("Hidden")
        bpy.context.scene.collection.children.link(collection)
        collection.objects.link(body)
        bpy.context.scene.collection.objects.unlink(body)
        collection.hide_viewport = True
    for chosen in ("FLESH", "STIFFNESS"):
        said = refusal(bpy.ops.thew.paint_flesh, map=chosen)
        assert "“Body” is hidden" in said and "show it first" in said
    assert "Stiffness" not in body.vertex_groups


# kept and removed ---------------------------------------------------------------------------------------------------


def test_map_untouched_removed(character):
    """Remove deletes maps that were not painted."""
    body, _ = character
    activate(body)
    before = snapshot(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    part("scene.flesh_map").write(body, "Stiffness", np.full(len(body.data.vertices), 0.5))
    assert "Flesh" in body.vertex_groups
    assert bpy.ops.thew.remove() == {"FINISHED"}
    forget_settings(body)
    assert snapshot(body) == before


def test_map_painted_kept(fleshed_character):
    """Remove keeps a painted map, and the next Add takes it up again."""
    body, _ = fleshed_character
    paint(body, range(30, 60), 0.0)
    paint_ = weights(body)
    said = part("live.jobs").remove(body)
    assert any("“Flesh”" in text and "not as Thew filled it" in text for text in said)
    np.testing.assert_array_equal(weights(body), paint_)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    np.testing.assert_array_equal(weights(body), paint_)
    np.testing.assert_array_equal(flesh_of(body).character.painted.flesh, paint_)
    assert bpy.ops.thew.flesh_automatic() == {"FINISHED"}
    assert np.abs(weights(body) - paint_).max() > 0.1
    play(body, (3,))
    assert flesh_of(body).character.painted.flesh is None
    assert bpy.ops.thew.remove() == {"FINISHED"} and "Flesh" not in body.vertex_groups


def test_map_save_load_undo(fleshed_character, tmp_path):
    """A painted map survives undo, redo, saving and opening."""
    body, _ = fleshed_character
    bpy.ops.ed.undo_push(message="added")
    automatic = weights(body)
    activate(body)
    assert bpy.ops.thew.flesh_preset(part="BELLY", amount=0.0) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="preset")
    painted = weights(body)
    assert np.abs(painted - automatic).max() > 0.5
    live = play(body, FRAMES)
    bpy.ops.ed.undo()
    body = bpy.data.objects["Body"]
    np.testing.assert_array_equal(weights(body), automatic)
    play(body, (3,))
    assert flesh_of(body).character.painted.flesh is None
    bpy.ops.ed.redo()
    body = bpy.data.objects["Body"]
    np.testing.assert_array_equal(weights(body), painted)
    np.testing.assert_array_equal(play(body, FRAMES), live)
    path = str(tmp_path / "map.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body = bpy.data.objects["Body"]
    np.testing.assert_array_equal(weights(body), painted)
    np.testing.assert_array_equal(play(body, FRAMES), live)
    part("live.jobs").remove(body)
    assert "Flesh" in body.vertex_groups


def test_map_name_of_bone(scene):
    """A bone that has the map's name keeps its weights, and the note asks to rename it."""
    armature = make_armature()
    body = make_body(armature)
    for name, new in (("Hip", "Flesh"), ("Head", "Stiffness")):
        armature.data.bones[name].name = new  # Blender renames the vertex group with it
        group = body.vertex_groups.get(name)
        if group is not None:
            group.name = new
    activate(body)
    before = [(g.group, g.weight) for v in body.data.vertices for g in v.groups]
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert [(g.group, g.weight) for v in body.data.vertices for g in v.groups] == before
    painted = flesh_of(body).character.painted
    assert painted.flesh is None and painted.stiffness is None
    notes = body.thew.made.notes
    assert "a bone “Flesh”" in notes and "a bone “Stiffness”" in notes and "rename the bone" in notes
    for name in ("FLESH", "STIFFNESS"):
        assert "rename the bone" in refusal(bpy.ops.thew.paint_flesh, map=name)
    assert "rename the bone" in refusal(bpy.ops.thew.flesh_preset, part="BELLY")
    assert bpy.ops.thew.remove() == {"FINISHED"} and "Flesh" in body.vertex_groups


# parts of the body --------------------------------------------------------------------------------------------------


def test_preset_belly(fleshed_character):
    """The preset of the belly softens its front, and a larger size more of it."""
    body, _ = fleshed_character
    rest = part("scene.mesh").basis_positions(body.data)
    paint(body, np.arange(len(rest)), 0.0)
    assert bpy.ops.thew.flesh_preset(part="BELLY", amount=0.8) == {"FINISHED"}
    values = weights(body)
    best = rest[values.argmax()]
    assert 0.5 < values.max() <= 0.8 + 1e-6
    assert best[1] < -0.1 and 0.4 < best[2] < 1.2  # the front, between hips and chest
    assert not values[rest[:, 1] > 0.15].any()
    small = weights(body)
    paint(body, np.arange(len(rest)), 0.0)
    assert bpy.ops.thew.flesh_preset(part="BELLY", amount=0.8, size=1.6) == {"FINISHED"}
    assert (weights(body) > 1e-3).sum() > 1.3 * (small > 1e-3).sum()


@pytest.mark.parametrize("which", ["BELLY", "CHEST", "CHEEKS", "BUTTOCKS", "JOWLS", "WHOLE"])
def test_preset_range(fleshed_character, which):
    """Every preset keeps the map in its range and changes it."""
    body, _ = fleshed_character
    before = weights(body)
    assert bpy.ops.thew.flesh_preset(part=which, amount=0.3) == {"FINISHED"}
    values = weights(body)
    assert values.min() >= 0.0 and values.max() <= 1.0 and np.abs(values - before).max() > 0.05
    assert np.isfinite(play(body, (2, 7))).all()


def test_preset_bone_or_cursor(scene, fleshed_character):
    """Where no bone has a part's name, the preset uses the cursor or the chosen bone."""
    body, armature = fleshed_character
    scene.cursor.location = (5.0, 0.0, 0.0)
    text = refusal(bpy.ops.thew.flesh_preset, part="TAIL")
    assert "tail" in text and "3D cursor" in text and "pose mode" in text
    before = weights(body)
    rest = part("scene.mesh").basis_positions(body.data)
    scene.cursor.location = (0.3, 0.0, 0.7)
    paint(body, np.arange(len(rest)), 0.0)
    assert bpy.ops.thew.flesh_preset(part="EARS") == {"FINISHED"}
    values = weights(body)
    near = np.linalg.norm(rest - np.array([0.3, 0.0, 0.7]), axis=1)
    assert values[near.argmin()] > 0.5 and not values[near > 0.6].any()
    activate(armature)
    bpy.ops.object.mode_set(mode="POSE")
    head = armature.data.bones["Head"]
    armature.data.bones.active = head
    chosen = armature.pose.bones["Head"]
    (chosen if hasattr(chosen, "select") else head).select = True
    assert bpy.ops.thew.flesh_preset(part="TAIL") == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    tail = weights(body)
    assert tail[rest[:, 2] > 1.7].min() > 0.9 and tail[rest[:, 2] < 0.4].max() < 1e-6
    assert before.shape == tail.shape


def test_preset_whole(fleshed_character):
    """The preset of the whole body is the automatic map times the amount."""
    body, _ = fleshed_character
    automatic = weights(body)
    assert bpy.ops.thew.flesh_preset(part="WHOLE", amount=0.5) == {"FINISHED"}
    np.testing.assert_allclose(weights(body), 0.5 * automatic, atol=1e-6)


# the overlay --------------------------------------------------------------------------------------------------------


def test_overlay_colours(fleshed_character):
    """The overlay colours the mesh as it is shown, subdivided or not."""
    body, _ = fleshed_character
    overlay, maps = part("ui.map_overlay"), part("logic.flesh_map")
    play(body, (7,))
    depsgraph = bpy.context.evaluated_depsgraph_get()
    points, colours, triangles = overlay.coloured_surface(body, depsgraph, np.array([0.0, 0.0, 1.0]))
    size = np.linalg.norm(np.ptp(points, axis=0))
    assert np.abs(points - evaluated_positions(body)).max() < 3e-3 * size
    assert len(triangles) == len(part("scene.mesh").triangles_of(body.data))
    hue = maps.colours(weights(body))
    shade = colours[:, :3].sum(axis=1) / hue.sum(axis=1)
    np.testing.assert_allclose(colours[:, :3], hue * shade[:, None], atol=1e-5)
    assert shade.min() > 0.4 and shade.max() <= 1.0 + 1e-6
    paint(body, range(20), 1.0)
    play(body, (7,))
    again = overlay.values_of(body, body.evaluated_get(bpy.context.evaluated_depsgraph_get()).data)
    np.testing.assert_array_equal(again, weights(body))
    body.modifiers.new("Finer", "SUBSURF").levels = 1
    points, colours, triangles = overlay.coloured_surface(
        body, bpy.context.evaluated_depsgraph_get(), np.array([0.0, 0.0, 1.0])
    )
    assert len(points) == len(colours) > 3 * len(weights(body)) and triangles.max() < len(points)
    body.modifiers.remove(body.modifiers["Finer"])


def test_overlay_legend(fleshed_character):
    """The legend belongs to the map that is shown."""
    body, _ = fleshed_character
    overlay = part("ui.map_overlay")
    assert overlay.visible_map(body) == ""
    body.thew.show_map = True
    assert overlay.visible_map(body) == "Flesh"
    activate(body)
    bpy.ops.thew.paint_flesh(map="STIFFNESS")
    assert overlay.visible_map(body) == "Stiffness"
    body.vertex_groups.active = body.vertex_groups["Head"]
    assert overlay.visible_map(body) == ""
    bpy.ops.object.mode_set(mode="OBJECT")
    points, colours, triangles = overlay.legend_bar(10.0, 20.0, 2.0)
    assert np.ptp(points[:, 0]) == pytest.approx(2.0 * overlay.LEGEND_WIDTH) and triangles.max() == len(points) - 1
    assert (colours[:, 3] == 1.0).all()


def test_automatic_denied(fleshed_character, monkeypatch):
    """A painted map stays when the artist cancels the question in the dialog."""
    body, _ = fleshed_character
    paint(body, range(40), 0.9)
    painted, asked = weights(body), []
    operators = part("operators.flesh")
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    manager = SimpleNamespace(invoke_confirm=lambda operator, event, **words: asked.append(words) or {"RUNNING_MODAL"})
    context = SimpleNamespace(view_layer=bpy.context.view_layer, scene=bpy.context.scene, window_manager=manager)
    tool = SimpleNamespace()
    assert operators.THEW_OT_flesh_automatic.invoke(tool, context, None) == {"RUNNING_MODAL"}
    assert body.name in asked[0]["message"]
    operators.THEW_OT_flesh_automatic.cancel(tool, context)
    np.testing.assert_array_equal(weights(body), painted)


def test_map_of_earlier_flesh_is_known(character, capfd):
    """A map that was kept when flesh was removed is known as Thew's own when flesh is added again; one of the artist's is told."""
    body, _ = character
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="DESELECT")
    bpy.ops.object.mode_set(mode="OBJECT")
    for vertex in list(body.data.vertices)[-10:]:
        vertex.select = True
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.delete(type="VERT")
    bpy.ops.object.mode_set(mode="OBJECT")
    body.thew.softness = 0.6
    assert bpy.ops.thew.remove() == {"FINISHED"}
    out = capfd.readouterr().out
    assert "keeps the vertex group “Flesh”" in out and "keeps its settings, for when flesh is added again" in out
    assert bpy.ops.thew.add() == {"FINISHED"}
    assert "had a vertex group" not in capfd.readouterr().out + body.thew.made.notes
    assert body.thew.softness == pytest.approx(0.6) and body.thew.cells_across == 6
    other = make_body(bpy.data.objects["Rig"], name="Other")
    other.vertex_groups.new(name="Flesh").add([0, 1], 1.0, "REPLACE")
    activate(other)
    assert bpy.ops.thew.add(cells_across=6, whole=False) == {"FINISHED"}
    assert "“Other” had a vertex group “Flesh” before" in capfd.readouterr().out
