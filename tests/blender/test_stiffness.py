# SPDX-License-Identifier: GPL-3.0-or-later
"""Why flesh is stiff here: colours of the overlay, and the sentence for a vertex."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from characters import add, clips, load, meshes, play_clip
from conftest import FAST, data_folder
from helpers import Layout, activate, flesh_of, part, play, refusal

FRAMES = range(1, 21)


def causes(body) -> np.ndarray:
    """Returns the name of the cause at each vertex."""
    found = part("live.stiffness").stiffness_map(body, flesh_of(body))
    return np.array([part("logic.stiffness_causes").CAUSES[k].name for k in found.causes])


def heights(body) -> np.ndarray:
    return part("scene.mesh").basis_positions(body.data)[:, 2]


def refresh(body) -> None:
    body.data.update_tag()
    bpy.context.view_layer.update()
    play(body, (3,))


def test_causes_follow_edits(fleshed_character):
    """Paint, Rigid, Stiffness and limits are told where they were set, as soon as the flesh is up to date."""
    body, _ = fleshed_character
    play(body, FRAMES)
    at, write = heights(body), part("scene.flesh_map").write
    belly = np.abs(at - 0.7) < 0.15
    assert "free" in set(causes(body)[belly])
    part("edit.rigid").write(body, (at > 1.0).astype(np.float32))
    refresh(body)
    assert set(causes(body)[at > 1.05]) == {"rigid"} and "rigid" not in set(causes(body)[belly])
    bpy.ops.thew.make_rigid(part="NONE")
    write(body, "Flesh", np.where(at > 1.0, 0.05, 1.0))
    refresh(body)
    assert set(causes(body)[at > 1.05]) == {"painted"}
    write(body, "Flesh", np.ones(len(at)))
    write(body, "Stiffness", np.where(at > 1.0, 1.0, 0.0))
    refresh(body)
    body.thew.reach = 1e-3
    refresh(body)
    assert "swing" in set(causes(body)[belly])
    body.thew.reach, body.thew.softness = 0.15, 0.0
    refresh(body)
    assert "softness" in set(causes(body)[belly])


def test_causes_beside_painted_part(fleshed_character):
    """A map of which a part was painted is told as the automatic one elsewhere."""
    body, _ = fleshed_character
    play(body, (2,))
    at, before = heights(body), causes(body)
    own = np.asarray(flesh_of(body).automatic.flesh)
    belly = np.abs(at - 0.7) < 0.15
    part("scene.flesh_map").write(body, "Flesh", np.where(belly, 0.05, own))
    refresh(body)
    after = causes(body)
    assert set(after[belly]) == {"painted"} and "painted" not in set(after[~belly])
    assert np.array_equal(before[~belly] == "automatic", after[~belly] == "automatic")


def test_causes_kept(fleshed_character, monkeypatch):
    """The map is found once while nothing changes."""
    body, _ = fleshed_character
    play(body, (2,))
    stiffness, count = part("live.stiffness"), []
    facts = stiffness.facts_of
    monkeypatch.setattr(stiffness, "facts_of", lambda *args: count.append(1) or facts(*args))
    for _ in range(3):
        assert stiffness.stiffness_map(body, flesh_of(body)) is not None
    assert len(count) == 1
    body.thew.softness = 0.8
    play(body, (3,))
    stiffness.stiffness_map(body, flesh_of(body))
    assert len(count) == 2


def test_motion_of_facts_is_shown(fleshed_character):
    """The motion that is told is that of the view, its Influence too: the largest distance from the plain skin over the frames."""
    body, _ = fleshed_character
    body.thew.influence = 0.5
    live = play(body, FRAMES)
    body.thew.enabled = False
    skin = play(body, FRAMES)
    body.thew.enabled = True
    play(body, (1,))
    far = np.linalg.norm(live - skin, axis=-1).max(axis=0) * flesh_of(body).place.metres_per_unit
    facts = part("live.stiffness").stiffness_map(body, flesh_of(body)).facts
    np.testing.assert_allclose(facts.shown, far, atol=1e-5)
    np.testing.assert_allclose(facts.motion, 2.0 * facts.shown, rtol=1e-6)
    body.thew.keyframe_insert("influence", frame=1)
    body.thew.influence = 0.0
    body.thew.keyframe_insert("influence", frame=2)
    play(body, FRAMES)
    keyed = part("live.stiffness").stiffness_map(body, flesh_of(body)).facts
    assert keyed.shown.max() < 0.5 * facts.shown.max() and keyed.motion.max() == facts.motion.max()


def test_explain_vertex(fleshed_character):
    """One plain sentence names the reason, at a number, a selection and the 3D cursor; the panel keeps it until the flesh is another.
    The copied diagnosis has it in numbers: thickness, bone and motion."""
    body, _ = fleshed_character
    play(body, (1, 2))
    explain = part("edit.explaining").explain
    top = int(heights(body).argmax())
    text = explain(bpy.context, body, top)
    assert text.endswith(".") and "ertex" not in text and not any(map(str.isdigit, text))
    numbers = part("edit.explaining").numbers(body)
    assert numbers.startswith(f"Vertex {top}: the flesh is ")
    assert "over the bone “Head”" in numbers and "under its own weight" in numbers
    assert bpy.ops.thew.diagnose() == {"FINISHED"}
    assert numbers in bpy.data.texts["Thew Diagnosis"].as_string()
    chosen = np.zeros(len(body.data.vertices), bool)
    chosen[top] = True
    body.data.vertices.foreach_set("select", chosen)
    assert bpy.ops.thew.explain_stiffness() == {"FINISHED"}
    assert part("edit.explaining").told(body) == text
    layout = Layout()
    part("ui.panels").draw_regions(layout, bpy.context, body, 500)
    assert text in layout.read()
    body.data.vertices.foreach_set("select", np.zeros(len(chosen), bool))
    bpy.context.scene.cursor.location = body.data.vertices[30].co * 1.001
    assert bpy.ops.thew.explain_stiffness() == {"FINISHED"}
    assert part("edit.explaining").numbers(body).startswith("Vertex 30:")
    body.thew.softness = 0.8
    play(body, (1, 2))
    assert part("edit.explaining").told(body) == part("edit.explaining").numbers(body) == ""  # it was about other flesh


def test_explain_refusals(fleshed_character):
    """Nothing chosen, a number that is none, and an object without flesh are refused in a sentence."""
    body, _ = fleshed_character
    body.data.vertices.foreach_set("select", np.zeros(len(body.data.vertices), bool))
    assert "select a vertex in Edit mode" in refusal(bpy.ops.thew.explain_stiffness)
    assert "has no vertex 9999" in refusal(bpy.ops.thew.explain_stiffness, vertex=9999)
    bpy.ops.thew.remove()
    activate(body)
    assert "has no flesh" in refusal(bpy.ops.thew.explain_stiffness, vertex=1)


def test_overlay_surface_and_legend(fleshed_character):
    """The overlay colours the shown surface of the character; its legend has a box and a label for each cause seen."""
    body, _ = fleshed_character
    play(body, (5,))
    overlay = part("ui.stiffness_overlay")
    assert not overlay.is_visible(body)
    body.thew.show_limits = True
    assert overlay.is_visible(body)
    points, colours, triangles = overlay.coloured_surface(
        body, bpy.context.evaluated_depsgraph_get(), np.array([0.0, -1.0, 0.0])
    )
    assert len(points) == len(colours) == len(body.data.vertices) and triangles.max() < len(points)
    assert np.isfinite(colours).all() and colours.min() >= 0.0 and colours.max() <= 1.0
    found = overlay.known_map(body)
    boxes = overlay.legend_boxes(found.legend(), 2.0)
    assert len(boxes[0]) == 4 * len(boxes[3]) and len(boxes[3]) == len(set(found.causes.tolist()))
    body.thew.show_map = True
    assert not overlay.is_visible(body)


CHARACTERS = data_folder("characters")
NAMES = ("q_bull.glb",) if FAST else ("q_bull.glb", "mh_male_heavy.glb", "Fox.glb", "kaykit_manny.glb")


@pytest.mark.skipif(CHARACTERS is None, reason="needs THEW_DATA")
@pytest.mark.parametrize("name", NAMES)
def test_causes_of_real_characters(addon, name):
    """Heads of real characters are hard by the map or a material, something is free, and every vertex has a sentence."""
    load(CHARACTERS / name)
    obj = max(meshes(), key=lambda each: len(each.data.vertices))
    play_clip(clips()[0], 10)
    add(obj, cells_across=8)
    play(obj, (bpy.context.scene.frame_start,))
    found = causes(obj)
    counts = {each: int((found == each).sum()) for each in set(found)}
    assert counts.get("automatic", 0) + counts.get("material", 0) > 0.1 * len(found), counts
    flesh = flesh_of(obj)
    told = part("live.stiffness").stiffness_map(obj, flesh)
    soft = np.asarray(flesh.body.flesh) > 0.8
    if soft.any():
        assert (found[soft] == "free").mean() > 0.3, counts
    for vertex in np.linspace(0, len(found) - 1, 50).astype(int):
        assert told.sentence(int(vertex), "{:.3g} m".format).endswith(".")
        assert told.plain(int(vertex)).endswith(".")
