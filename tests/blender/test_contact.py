# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact in Blender: from the panel into the simulation, and back as a note and as points in the view."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import (
    Layout,
    activate,
    buried_count,
    evaluated_positions,
    flesh_of,
    make_folding,
    part,
    play,
    size_of,
    world,
)

FRAMES = range(1, 21)


@pytest.fixture
def angle():
    """Returns the angle by which each joint is bent, radians."""
    return 2.0


@pytest.fixture
def folding_body(scene, angle):
    """Builds a small character with flesh that folds onto itself. Its joints are elastic: otherwise its skin's folds
    are parted before anything presses."""
    body, _ = make_folding(angle)
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    body.thew.elastic_joints = 1.0
    return body


def simulate(body, **settings) -> np.ndarray:
    """Simulates with these settings, and returns the shapes of all frames."""
    for name, value in settings.items():
        setattr(body.thew, name, value)
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return play(body, FRAMES)


def add_ignored_group(body, name, vertices) -> None:
    """Adds a vertex group with those vertices, and a light weight on all others."""
    group = body.vertex_groups.new(name=name)
    group.add(list(range(len(body.data.vertices))), 0.4, "REPLACE")
    if len(vertices):
        group.add([int(v) for v in vertices], 0.9, "REPLACE")


def record_calls(monkeypatch, name="simulate") -> list[dict]:
    """Records the keyword arguments of each later call of the core's function."""
    core, calls = part("logic.native").core(), []
    real = getattr(core, name)
    monkeypatch.setattr(core, name, lambda *given, **named: calls.append(named) or real(*given, **named))
    return calls


# the simulation --------------------------------------------------------------------------------------------------------


def test_contact_off(folding_body, monkeypatch):
    """Contact is off by default and then changes no bit, and flesh that does not touch stays the same."""
    calls = record_calls(monkeypatch)
    free = simulate(folding_body)
    assert not folding_body.thew.use_contact and "touch" not in folding_body.thew.made.notes
    touching = simulate(folding_body, use_contact=True)
    assert calls[-1]["contact"].self_contact
    again = simulate(folding_body, use_contact=False)
    assert "contact" not in calls[-1]
    np.testing.assert_array_equal(again, free)
    first = flesh_of(folding_body).motion.start
    touched = [
        index + first for index in range(20) if np.abs(touching[index] - free[index]).max() > 1e-3 * size_of(free[0])
    ]
    assert touched and min(touched) > 3, "standing straight nothing touches"
    np.testing.assert_array_equal(touching[:3], free[:3])


def test_contact_reduces_overlap(folding_body):
    """Folded flesh overlaps less with contact."""
    free, touching = (buried_count(folding_body, simulate(folding_body, use_contact=use)[-1]) for use in (False, True))
    assert touching < free


def test_contact_progress(folding_body):
    """The progress bar goes by frames with contact too: the preparation before the first frame does not fill it."""
    told = []
    task = part("live.jobs").simulate(folding_body, bpy.context.scene, bpy.context.view_layer)
    folding_body.thew.use_contact = True
    part("logic.tasks").finish(task, lambda fraction, text: told.append(fraction) or True)
    assert len(told) > 20 and np.median(told) < 0.97 and max(told) > 0.98


def test_contact_settings_reach_core(folding_body, monkeypatch):
    """Each contact setting reaches the core."""
    made = record_calls(monkeypatch, "Contact")
    calls = record_calls(monkeypatch)
    top = [v.index for v in folding_body.data.vertices if v.co.z > 1.3]
    add_ignored_group(folding_body, "Teeth", top)
    simulate(
        folding_body,
        use_contact=True,
        self_contact=False,
        contact_thickness=0.02,
        contact_friction=0.7,
        contact_ignore="Teeth",
    )
    given = made[-1]
    assert given["self_contact"] is False and given["friction"] == pytest.approx(0.7)
    assert given["thickness"] == pytest.approx(0.02 * flesh_of(folding_body).place.metres_per_unit)
    regions = np.asarray(given["regions"])
    assert set(np.flatnonzero(regions == 0)) == set(top) and len(regions) == len(folding_body.data.vertices)
    assert calls[-1]["contact"] is not None


def test_contact_thickness_unit(folding_body, monkeypatch):
    """The thickness is a length of the scene: at four times the real height it is four times as thick."""
    made = record_calls(monkeypatch, "Contact")
    simulate(folding_body, use_contact=True, contact_thickness=0.01)
    folding_body.thew.real_height = 4.0 * folding_body.thew.height()
    simulate(folding_body)
    assert made[-1]["thickness"] == pytest.approx(4.0 * made[0]["thickness"])
    assert folding_body.thew.bl_rna.properties["contact_thickness"].unit == "LENGTH"


@pytest.mark.parametrize(
    ("name", "value"),
    [("self_contact", False), ("contact_thickness", 0.03), ("contact_friction", 0.9), ("contact_ignore", "All")],
)
def test_contact_setting_outdates_clip(folding_body, monkeypatch, name, value):
    """A changed contact setting makes the clip anew, and nothing else does."""
    add_ignored_group(folding_body, "All", range(len(folding_body.data.vertices)))
    before = simulate(folding_body, use_contact=True)
    calls = record_calls(monkeypatch)
    np.testing.assert_array_equal(simulate(folding_body), before)
    folding_body.thew.show_contacts = True
    play(folding_body, FRAMES)
    assert not calls, "nothing has changed"
    setattr(folding_body.thew, name, value)
    after = play(folding_body, FRAMES)
    assert len(calls) == 1 and np.abs(after - before).max() > 0.0
    setattr(folding_body.thew, name, folding_body.thew.bl_rna.properties[name].default)
    np.testing.assert_array_equal(play(folding_body, FRAMES), before)


def test_contact_off_ignores_settings(folding_body, monkeypatch):
    """Without contact its settings change nothing."""
    play(folding_body, FRAMES)
    calls = record_calls(monkeypatch)
    simulate(folding_body, contact_friction=0.9, contact_thickness=0.1, contact_ignore="Nobody")
    assert not calls and "Nobody" not in folding_body.thew.made.notes


@pytest.mark.parametrize("method", ["warped", "linear"])
def test_contact_other_methods(folding_body, method):
    """Contact works with the other methods."""
    simulate(folding_body, method=method, use_contact=True)
    flesh = flesh_of(folding_body)
    assert flesh.touching is not None and any(len(flesh.clip.contacts(index)) for index in range(20))


def test_contact_settle(folding_body):
    """Flesh at rest touches only with contact switched on, and the view draws it."""
    simulate(folding_body, use_contact=True, contact_thickness=0.02)
    bpy.context.scene.frame_set(20)
    flesh, rests = flesh_of(folding_body), []
    for use in (True, False):
        folding_body.thew.use_contact = use
        activate(folding_body)
        assert bpy.ops.thew.settle() == {"FINISHED"}
        rests.append(evaluated_positions(folding_body))
        drawn = part("ui.contact_overlay").drawings(folding_body, 20.0)
        assert bool(drawn) is use
        if use:
            assert len(flesh.contacts(20, True)) and sum(len(points) for points, *_ in drawn) == len(
                flesh.contacts(20, True)
            )
    assert np.abs(rests[0] - rests[1]).max() > 1e-3 * size_of(rests[0])


# what is ignored -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [1.4])  # no cell comes near inversion, which contact keeps from it
def test_contact_ignored_vertices(folding_body):
    """Vertices of the ignored group touch nothing."""
    free = simulate(folding_body)
    add_ignored_group(folding_body, "Pass", range(len(folding_body.data.vertices)))
    np.testing.assert_array_equal(
        simulate(folding_body, use_contact=True, contact_ignore="Pass")[:, :, 2], free[:, :, 2]
    )
    assert "Nothing touches." in folding_body.thew.made.notes
    folding_body.vertex_groups["Pass"].add(
        [v.index for v in folding_body.data.vertices if v.co.z < 0.9], 0.1, "REPLACE"
    )
    simulate(folding_body)  # painting it is noticed
    flesh = flesh_of(folding_body)
    touched = {int(v) for index in range(20) for v in flesh.clip.contacts(index).vertices}
    assert all(folding_body.data.vertices[v].co.z < 0.9 for v in touched)


def test_contact_missing_group(folding_body):
    """A note names an ignored group that does not exist."""
    add_ignored_group(folding_body, "Teeth", [0, 1, 2])
    simulate(folding_body, use_contact=True, contact_ignore="Teeth")
    assert "has no vertex group" not in folding_body.thew.made.notes
    folding_body.vertex_groups["Teeth"].name = "Zähne"
    play(folding_body, (3, 4))
    text = folding_body.thew.made.notes
    assert "“Body” has no vertex group “Teeth”" in text
    flesh = flesh_of(folding_body)
    health = part("logic.health").health(folding_body.thew, folding_body.thew.made, flesh, 3)
    assert health.level == "WARNING" and "“Teeth”" in health.text
    assert flesh.character.ignored.regions() is None
    folding_body.thew.contact_ignore = "Zähne"
    play(folding_body, (3, 4))
    assert (
        "has no vertex group" not in folding_body.thew.made.notes
        and (flesh.character.ignored.regions() == 0).sum() == 3
    )
    folding_body.vertex_groups.remove(folding_body.vertex_groups["Zähne"])
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert "“Zähne”" in folding_body.thew.made.notes
    folding_body.thew.contact_ignore = ""
    play(folding_body, (3, 4))
    assert "has no vertex group" not in folding_body.thew.made.notes


def test_contact_setting_range(folding_body):
    """Thickness and friction stay within their ranges."""
    settings = folding_body.thew
    for name in ("contact_thickness", "contact_friction"):
        prop = settings.bl_rna.properties[name]
        for value in (-1.0, float("inf")):
            setattr(settings, name, value)
            assert 0.0 <= getattr(settings, name) <= prop.hard_max


# the note --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [1.8])
def test_contact_note(folding_body):
    """The note names the parts, the frames, and the lengths in the scene's unit."""
    simulate(folding_body, use_contact=True, elastic_joints=0.0)  # what the skin itself folds is not parted whole
    flesh = flesh_of(folding_body)
    touched = [index + 1 for index in range(20) if len(flesh.clip.contacts(index))]
    text = next(line for line in folding_body.thew.made.notes.splitlines() if "touches itself in" in line)
    assert f"in frames {touched[0]} to {touched[-1]}" in text
    pairs = {
        tuple(sorted((flesh.character.weights[a].argmax(), flesh.character.weights[b].argmax())))
        for index in range(20)
        for a, b in zip(flesh.clip.contacts(index).vertices, flesh.clip.contacts(index).other_vertices, strict=True)
    }
    bones = flesh.character.bones
    named = [name for pair in pairs for name in (bones[pair[0]], bones[pair[1]]) if f"“{name}”" in text]
    assert named and not any(
        f"“{bone}”" in text for i, bone in enumerate(bones) if not any(i in pair for pair in pairs)
    )
    deepest = max(-flesh.clip.contacts(frame - 1).gaps.min() for frame in touched)
    assert flesh.touching.itself.deepest == pytest.approx(deepest) and "overlap" in text
    units, said = bpy.context.scene.unit_settings, []
    for system in ("METRIC", "IMPERIAL", "NONE"):
        units.system = system
        said.append(next(line for line in part("live.contact").notes(flesh) if "overlap" in line))
    assert len(set(said)) == 3 and "cm" in said[0] + "mm" and "cm" not in said[1] + said[2]


@pytest.mark.parametrize("angle", [1.8])
def test_contact_note_folds(folding_body):
    """The note names the frames with parted folds, and suggests Elastic Joints where they help."""
    for joints in (0.0, 1.0):  # how the default method shows joints parts no fold
        simulate(folding_body, use_contact=True, elastic_joints=joints)
        clip = flesh_of(folding_body).clip
        parted = [frame for frame in FRAMES if clip.folds(frame - 1).max() > 0.05]
        text = folding_body.thew.made.notes
        assert parted and f"Folds of the skin are parted in frames {parted[0]} to {parted[-1]}" in text
        assert "Elastic Joints" not in text and "Nothing touches" not in text
    simulate(folding_body, method="warped", elastic_joints=0.0)
    assert "Elastic Joints at 1 parts more." in folding_body.thew.made.notes
    simulate(folding_body, elastic_joints=1.0)
    assert "Elastic Joints" not in folding_body.thew.made.notes and "Folds of" not in folding_body.thew.made.notes


@pytest.mark.parametrize("angle", [2.2])  # at less its flesh, which yields, keeps them out
def test_contact_note_buried_bones(folding_body):
    """The note names bones that lie in the character's own flesh."""
    simulate(folding_body, use_contact=True)
    clip, bones = flesh_of(folding_body).clip, flesh_of(folding_body).character.bones
    buried = {frame: clip.buried_bones(frame - 1) for frame in FRAMES}
    frames = [frame for frame, found in buried.items() if found]
    (line,) = [line for line in folding_body.thew.made.notes.splitlines() if "deep in the flesh of" in line]
    bone, _, partner, _ = max((one for found in buried.values() for one in found), key=lambda one: one[3])
    assert f"“{bones[bone]}” lies up to" in line and f"the flesh of “{bones[partner]}” in" in line
    assert str(frames[0]) in line and str(frames[-1]) in line and "contact moves flesh, not bones" in line


def test_contact_note_nothing(character):
    """The note says that nothing touches while the character stands straight."""
    body, _ = character
    body.thew.use_contact = True
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    play(body, (3,))
    assert "Nothing touches." in body.thew.made.notes.splitlines()


# the panel and the view ------------------------------------------------------------------------------------------------


def draw_foldout(body) -> Layout:
    """Draws the foldout with its header, and returns its layout."""
    layout, panel = Layout(), part("ui.contact_panel")
    panel.draw_switch(layout, body)
    panel.draw_contact(layout, bpy.context, body, 60)
    return layout


class Grey(Layout):
    """Records what was made grey, too."""

    def __setattr__(self, name, value):
        self.seen.append((name, value))


def test_panel_has_every_setting(folding_body):
    """The panel shows every contact setting, and each has a tip."""
    asked = {call[1] for call in draw_foldout(folding_body).seen if call[0] in {"prop", "prop_search"}}
    contact = part("saved.contact").ContactProperties.__annotations__
    assert asked == set(contact)
    tips = [folding_body.thew.bl_rna.properties[name].description for name in contact]
    assert all(len(tip) > 20 and not tip.endswith(".") for tip in tips)


def test_panel_lists_touches(folding_body):
    """The panel lists what touched while contact is on."""
    simulate(folding_body, use_contact=True)
    assert "touches itself in" in " ".join(draw_foldout(folding_body).read())
    simulate(folding_body, use_contact=False)
    assert "touches itself in" not in " ".join(draw_foldout(folding_body).read())


def test_panel_modal_friction(folding_body):
    """With modal flesh the panel says that only the surface is parted."""
    panel = part("ui.contact_panel")
    for method, grey in (("hyperelastic", False), ("modal", True), ("linear", False)):
        folding_body.thew.method, layout = method, Grey()
        layout.__class__.__getattr__ = Layout.__getattr__
        layout.__dict__["column"] = lambda layout=layout, **_: layout
        layout.__dict__["row"] = lambda layout=layout, **_: layout
        panel.draw_contact(layout, bpy.context, folding_body, 200)
        assert ("enabled", False) not in layout.seen
        assert ("the surface alone is parted" in " ".join(layout.read())) is grey


def test_contact_modal(folding_body):
    """Modal flesh is parted on its surface, played and baked."""
    folding_body.thew.method = "modal"
    free, touching = (simulate(folding_body, use_contact=use) for use in (False, True))
    np.testing.assert_array_equal(touching[:3], free[:3])
    assert np.abs(touching - free).max() > 1e-3 * size_of(free[0])
    assert "touches itself in" in " ".join(draw_foldout(folding_body).read())
    activate(folding_body)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    np.testing.assert_allclose(play(folding_body, FRAMES), touching, atol=1e-4 * size_of(free[0]))


def test_overlay_draws_contacts(folding_body):
    """The view draws the contacts of the frame on the skin, and nothing when they are switched off."""
    simulate(folding_body, use_contact=True, show_contacts=True)
    flesh, overlay = flesh_of(folding_body), part("ui.contact_overlay")
    colours = set()
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        points = [each for each in overlay.visible_drawings(bpy.context) if each[0].ndim == 2]
        contacts = flesh.clip.contacts(frame - 1)
        assert sum(len(each[0]) for each in points) == len(contacts)
        colours |= {each[1] for each in points}
        if len(contacts):
            skin, together = world(folding_body), np.concatenate([each[0] for each in points])
            away = np.linalg.norm(together[:, None] - skin, axis=2).min(axis=1)
            assert away.max() < 0.1 * size_of(skin)
    assert len(colours) > 1
    folding_body.thew.show_contacts = False
    assert overlay.visible_drawings(bpy.context) == []
    folding_body.thew.show_contacts, folding_body.thew.enabled = True, False
    assert overlay.visible_drawings(bpy.context) == []


def test_overlay_draws_held_cells(folding_body, monkeypatch):
    """The view draws held cells as lines along their edges."""
    simulate(folding_body, use_contact=True)
    overlay, flesh = part("ui.contact_overlay"), flesh_of(folding_body)
    asked = []
    monkeypatch.setattr(overlay, "held_cell_count", lambda clip, index: 2 if index == 4 else 0)
    monkeypatch.setattr(overlay, "flattest_cells", lambda *given: asked.append(given) or [0, 7])
    assert not len(overlay.held_cells(flesh, 4)) and not asked
    lines = overlay.held_cells(flesh, 5)
    assert asked[0][3] == set(flesh.body.held_vertices) and asked[0][4] == 2
    lattice, ends = flesh.lattice_positions(5), lines.reshape(-1, 3)
    at = np.linalg.norm(lattice[:, None] - ends, axis=2)
    assert at.min(axis=0).max() < 1e-9
    assert set(at.argmin(axis=0)) == {int(v) for cell in (0, 7) for v in flesh.lattice.cells[cell]}


def test_overlay_without_window(addon):
    """Without a window no overlay is registered."""
    (overlay,) = part("ui.contact_overlay").OVERLAYS
    assert bpy.app.background and overlay.handle is None


# files, undo, bakes ------------------------------------------------------------------------------------------------------


def test_contact_saved(folding_body, tmp_path):
    """Contact settings, motion and note are the same after the file is opened again."""
    add_ignored_group(folding_body, "Teeth", [0, 1, 2])
    settings = {"use_contact": True, "contact_friction": 0.75, "contact_thickness": 0.015, "contact_ignore": "Teeth"}
    settings |= {"show_contacts": True, "self_contact": True}
    live = simulate(folding_body, **settings)
    file = str(tmp_path / "contact.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    body = bpy.data.objects["Body"]
    assert {name: getattr(body.thew, name) for name in settings} == pytest.approx(settings)
    np.testing.assert_array_equal(play(body, FRAMES), live)
    assert "touches itself in" in body.thew.made.notes
    assert part("ui.contact_overlay").drawings(body, 20.0)


def test_contact_undo(folding_body):
    """Undo and redo of the contact switch show the motion that belongs to it."""
    bpy.context.preferences.edit.use_global_undo = True
    free = simulate(folding_body)
    bpy.ops.ed.undo_push(message="before")
    folding_body.thew.use_contact = True
    touching = play(folding_body, FRAMES)
    bpy.ops.ed.undo_push(message="Contact")
    assert np.abs(touching - free).max() > 0.0
    assert bpy.ops.ed.undo() == {"FINISHED"}
    body = bpy.data.objects["Body"]
    assert not body.thew.use_contact
    np.testing.assert_array_equal(play(body, FRAMES), free)
    assert bpy.ops.ed.redo() == {"FINISHED"}
    body = bpy.data.objects["Body"]
    assert body.thew.use_contact
    np.testing.assert_array_equal(play(body, FRAMES), touching)


def test_contact_copy(folding_body):
    """A copied object has contact settings of its own."""
    simulate(folding_body, use_contact=True, contact_friction=0.8)
    copy = folding_body.copy()
    copy.data = folding_body.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    assert copy.thew.use_contact and copy.thew.contact_friction == folding_body.thew.contact_friction
    copy.thew.use_contact = False
    shapes = play(folding_body, FRAMES)
    assert np.abs(shapes - play(copy, FRAMES)).max() > 1e-3 * size_of(shapes[0])
    assert flesh_of(folding_body).touching is not None and flesh_of(copy).touching is None


@pytest.mark.parametrize("space", ["REST", "POSED"])
def test_contact_bake(folding_body, space):
    """A bake holds the contact."""
    live = simulate(folding_body, use_contact=True)
    assert bpy.ops.thew.bake(space=space) == {"FINISHED"}
    assert np.abs(play(folding_body, FRAMES) - live).max() < 1e-4 * size_of(live[0])
    assert "touches itself in" in folding_body.thew.made.notes
    assert part("ui.contact_overlay").visible_drawings(bpy.context) == []


def test_contact_command(folding_body, tmp_path, monkeypatch):
    """The command bakes and exports the contact, also through a shot that was simulated elsewhere."""
    live = simulate(folding_body, use_contact=True)
    clip = flesh_of(folding_body).clip
    expected = [clip.offsets(index) for index in range(20)]
    file = tmp_path / "hero.blend"
    folding_body.thew.cache = "NONE"  # a bake would find its motion there
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    run, core = part("cli").main, part("logic.native").core()
    assert run(["export", str(file)]) == 0
    simulated_elsewhere = core.Shot.load(tmp_path / "hero.Body.shot.thew").simulate()
    for index in range(20):
        np.testing.assert_array_equal(simulated_elsewhere.offsets(index), expected[index])
    assert any(len(simulated_elsewhere.contacts(index)) for index in range(20))
    simulated_elsewhere.save(tmp_path / "hero.clip.thew")
    calls = record_calls(monkeypatch)
    baked = []
    for words in ((), ("--clip", str(tmp_path / "hero.clip.thew"))):
        out = str(tmp_path / f"out{len(words)}.blend")
        assert run(["bake", str(file), "--out", out, *words]) == 0
        bpy.ops.wm.open_mainfile(filepath=out)
        body = bpy.data.objects["Body"]
        assert "touches itself in" in body.thew.made.notes
        baked.append(play(body, FRAMES))
    assert len(calls) == 1
    np.testing.assert_array_equal(baked[0], baked[1])
    assert np.abs(baked[0] - live).max() < 1e-4 * size_of(live[0])
    assert run(["bake", str(file), "--method", "modal", "--modes", "6", "--out", str(tmp_path / "modal.blend")]) == 0
    assert calls[-1]["settings"].method == "modal" and calls[-1]["contact"].self_contact


def test_contact_remove(folding_body):
    """Remove keeps the contact settings for when flesh is added again; what the view shows goes back to its default."""
    simulate(folding_body, use_contact=True, contact_friction=0.8, contact_ignore="Nobody", show_contacts=True)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    settings = folding_body.thew
    assert (
        settings.use_contact and settings.contact_friction == pytest.approx(0.8) and settings.contact_ignore == "Nobody"
    )
    assert not settings.show_contacts and not settings.made.flesh
