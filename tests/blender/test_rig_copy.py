# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs copied to another character by its bones: where they land, the pairs that are passed, and the dialog that shows them."""

from __future__ import annotations

import json
from types import MethodType, SimpleNamespace

import bpy
import numpy as np
import pytest
from helpers import Layout, activate, add_rig, evaluated_positions, flesh_of, part, refusal, settle, size_of, world
from test_limb_rigs import every_kind, frame_of, kept_properties, limb_add, numbers, placement_matrix, stand, thicken
from test_rig_tool_events import Hand, View, event, tool
from test_sculpted_rigs import add_key


def stand_without_limbs(name, **options):
    """Builds a small character with flesh and no limb."""
    body = stand(name, **options)
    body.thew.limbs.clear()
    return body


def copy(source, target, **options) -> list:
    """Copies the rigs and returns those that arrived."""
    before = len(target.thew.rigs)
    activate(target)
    assert bpy.ops.thew.rig_copy(source=source.name, **options) == {"FINISHED"}
    return list(target.thew.rigs)[before:]


def test_copy_to_same_character(scene):
    """Rigs copied to an equal character have the same numbers and places."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target")
    names = every_kind(source)
    came = copy(source, target)
    assert [rig.name for rig in came] == names
    for old, new in zip(source.thew.rigs, came, strict=True):
        assert not new.problem and kept_properties(new) == kept_properties(old)
        np.testing.assert_allclose(numbers(new), numbers(old), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(frame_of(target, new), frame_of(source, old), atol=1e-4)


def test_copy_to_larger_character(scene):
    """Rigs copied to a character twice as large that stands elsewhere are where and as large as they should be."""
    place = placement_matrix(2.0, (0.0, 0.0, 0.0), (3.0, 1.0, 0.0))
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target", place=place)
    every_kind(source)
    for old, new in zip(source.thew.rigs, copy(source, target), strict=True):
        here, there = frame_of(source, old), frame_of(target, new)
        np.testing.assert_allclose(there[:3, 3], (place @ here)[:3, 3], atol=0.02)
        assert new.radius == pytest.approx(2.0 * old.radius, rel=1e-2) and not new.problem


def test_copy_to_other_build(scene):
    """Rigs of every kind arrive in the flesh of another build, and the message tells how well the skins match."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target", shaped=thicken)
    every_kind(source)
    link = part("edit.retargeting").CharacterLink
    report = part("edit.limb_rigs").carry(bpy.context, source, target, link)
    assert len(report.names) == len(source.thew.rigs) and not report.warnings
    assert "the skins match to" in report.message(target) and "pairs of bones" in report.message(target)
    assert not any(rig.problem for rig in target.thew.rigs)


def test_passed_pairs_win(scene):
    """A rig goes to the bone of a pair that was passed; an unknown bone is refused, and nothing is copied."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target")
    add_rig(source, bone="Spine")
    came = copy(source, target, pairs=[{"name": "", "source": "Spine", "target": "Head"}])
    assert came[0].bone == "Head"
    activate(target)
    wrong = [{"name": "", "source": "Spine", "target": "Horn"}]
    assert "'Horn'" in refusal(bpy.ops.thew.rig_copy, source="Source", pairs=wrong)
    assert len(target.thew.rigs) == 1


def test_driver_follows_partner(scene):
    """The driver of a copied rig reads the partner of its bone."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target")
    activate(target)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    target.modifiers["Armature"].object.data.bones["Head"].name = "Skull"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    activate(source)
    add_rig(source, bone="Spine")
    assert bpy.ops.thew.rig_driver(bone="Head", axis="X", from_angle=0.1, to_angle=0.9) == {"FINISHED"}
    copy(source, target)
    reads = target.animation_data.drivers[-1].driver.variables[0].targets[0]
    assert (reads.id, reads.bone_target) == (target.modifiers["Armature"].object, "Skull")


def test_dialog_shows_pairs(scene):
    """The dialog shows the pairs that were found in fields to change."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target")
    operator = part("operators.rig_copy").THEW_OT_rig_copy
    activate(target)

    def kind(*names):
        return SimpleNamespace(properties=dict.fromkeys(names))

    class Rows(list):
        def add(self):
            self.append(SimpleNamespace(source="", target="", bl_rna=kind("source", "target")))
            return self[-1]

    fields = {"names": True, "swap": False, "landmarks": True, "paint": "NONE"}
    choices = {**fields, "bl_rna": kind(*fields)}

    class Colours(list):
        def add(self):
            self.append(SimpleNamespace(colour=(), bl_rna=kind("colour")))
            return self[-1]

    shown = SimpleNamespace(
        source=source.name, pairs=Rows(), colours=Colours(), layout=Layout(), errors=(), shown=(), link=None, **choices
    )
    for name in ("link_of", "find_pairs", "show_map", "choices", "map_choices", "has_map", "pair_colours"):
        setattr(shown, name, MethodType(getattr(operator, name), shown))
    shown.find_pairs(bpy.context, target)
    pairs = [(pair.source, pair.target) for pair in shown.pairs]
    assert pairs == [("Hip", "Hip"), ("Spine", "Spine"), ("Head", "Head")]
    operator.draw(shown, bpy.context)
    assert any("THEW_UL_bone_pairs" in call for call in shown.layout.seen) and any(
        "swap" in call for call in shown.layout.seen
    )
    row = Layout()
    part("ui.pair_list").THEW_UL_bone_pairs.draw_item(None, None, row, shown, shown.pairs[0], None, None, None)
    assert [call[1] for call in row.seen if call[0] == "prop_search"] == ["source", "target"]
    assert [name for _, name in row.owners] == ["colour"]
    overlay = part("ui.ghost_overlay")
    ((lines, _, _),) = overlay.drawings()
    skin = evaluated_positions(target)
    apart = np.linalg.norm(lines.reshape(-1, 1, 3) - skin, axis=2).min(axis=1)
    assert apart.max() < 0.05 * size_of(skin)  # the offsets of the flesh are less
    assert not operator.check(shown, bpy.context)
    first = shown.link
    shown.colours[0].colour = (0.0, 0.25, 1.0)
    assert operator.check(shown, bpy.context) and shown.link is first  # other colours need no other map
    assert sum(colour == (0.0, 0.25, 1.0, 1.0) for _, colour, _ in overlay.bone_drawings()) == 2
    shown.pairs[1].target, shown.pairs[2].target = "Head", ""
    assert operator.check(shown, bpy.context)
    ((moved, _, _),) = overlay.drawings()
    assert shown.link is not first and first.joins(*owners(source, target)) and not first.joins(*owners(target, source))
    assert np.abs(moved - lines).max() > 0.05 * size_of(skin)
    operator.cancel(shown, bpy.context)
    assert not overlay.drawings() and not overlay.bone_drawings()


def test_pairs_are_coloured(scene):
    """A pair's bones have one colour on both characters, chosen or found anew; bones without partner are grey, and so is their skin."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target", scale=2.0)
    link = link_between(source, target)
    pairs = link.bone_names()
    assert len(pairs) == 3
    link.native  # noqa: B018  (found before a pair is dropped)
    link.bone_names = lambda: pairs[:2]
    chosen = {pairs[0]: (0.25, 0.5, 1.0)}
    here, there = link.bone_colours(chosen)
    np.testing.assert_array_equal(here, there)
    alone = part("logic.pair_colours").ALONE
    assert tuple(here[0]) == chosen[pairs[0]] and tuple(here[2]) == alone != tuple(here[1])
    for colours, body in zip(link.paired_skin(chosen), (source, target), strict=True):
        weights = flesh_of(body).character.weights
        for bone in range(3):
            np.testing.assert_allclose(
                colours[weights[:, bone] > 0.999],
                np.tile(here[bone], (np.count_nonzero(weights[:, bone] > 0.999), 1)),
                atol=2e-3,
            )
    depsgraph = bpy.context.evaluated_depsgraph_get()
    overlay, bones = part("ui.ghost_overlay"), link.posed_bones(depsgraph)
    for each, body in zip(bones, (source, target), strict=True):
        armature = body.modifiers["Armature"].object
        np.testing.assert_allclose(each[2, 1], armature.matrix_world @ armature.pose.bones["Head"].tail, atol=1e-5)
    armatures = (body.modifiers["Armature"].object for body in (source, target))
    overlay.mark(dict(zip(armatures, zip(bones, (here, there), strict=True), strict=True)))
    drawn = overlay.bone_drawings()
    assert len(drawn) == 6 and drawn[0][1][:3] == alone and drawn[0][2] < drawn[1][2]
    overlay.hide()
    assert not overlay.bone_drawings()
    copy_kept = part("operators.rig_copy").coloured_meshes(link, "PAIRS", chosen)
    assert [len(each) for each in copy_kept.values()] == [len(source.data.vertices), len(target.data.vertices)]


def test_colours_of_pairs_differ():
    """Colours of pairs differ from each other and from the grey of single bones, as far as a hundred of them can."""
    colours = part("logic.pair_colours")
    for count, apart in ((20, 0.2), (40, 0.05), (100, 0.04)):
        found = np.array([*colours.pair_colours(count), colours.ALONE])
        away = np.linalg.norm(found[:, None] - found, axis=2) + 9.0 * np.eye(len(found))
        assert away.min() > apart
    assert colours.pair_colours(3, first=4) == colours.pair_colours(7)[4:]


def test_sculpted_rig_copied(scene):
    """A sculpted rig makes the other character swell at the corresponding place, in proportion, with its driver."""
    place = placement_matrix(2.0, (0.0, 0.0, 0.0), (3.0, 1.0, 0.0))
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target", place=place)
    bpy.context.scene.frame_set(5)
    add_key(source)
    activate(source)
    assert bpy.ops.thew.rig_from_shape() == {"FINISHED"}
    [came] = copy(source, target)
    assert (came.kind, came.name, came.problem) == ("SCULPTED", "Swell", "")
    assert [curve.data_path for curve in target.animation_data.drivers] == [came.path_from_id("control")]
    target.animation_data_clear()
    moved = []
    for body in (source, target):
        if body.animation_data:
            body.animation_data_clear()
        shapes = []
        for control in (0.0, 1.0):
            body.thew.rigs[-1].control = control
            shapes.append(settle(body).astype(np.float64))
        moved.append(np.linalg.norm(shapes[1] - shapes[0], axis=1))
    belly = moved[0] > 0.5 * moved[0].max()
    assert moved[0].max() > 0.02
    assert moved[1][belly].mean() == pytest.approx(moved[0][belly].mean(), rel=0.15)


def owners(*bodies):
    """Returns characters with their flesh."""
    return [part("edit.limb_guides").LimbOwner(each, flesh_of(each)) for each in bodies]


def link_between(source, target, **options):
    """Returns the link of two characters with flesh."""
    return part("edit.retargeting").CharacterLink(*owners(source, target), **options)


def test_landmarks_bring_points_together(scene):
    """Clicked landmarks are kept at the character that gets rigs, and the map brings the first points nearer to the second ones."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target")
    skin = world(target)
    ends = [(64, 74), (66, 76)]  # a ring higher
    rows = json.dumps([[*world(source)[a].tolist(), *skin[b].tolist()] for a, b in ends])
    press = bpy.ops.thew.landmarks_click
    activate(target)
    assert "tool for the mouse" in refusal(press, source="Source")
    assert "with itself" in refusal(press, source="Target", points=rows)
    for bad in ("nothing", "[[1, 2]]", "[[0, 0, 0, 0, 0, NaN]]"):
        assert refusal(press, source="Source", points=bad)
    assert "away from the skin" in refusal(press, source="Source", points="[[0, 0, 90, 0, 0, 0]]")
    assert press(source="Source", points=rows) == {"FINISHED"}
    assert len(target.thew.landmarks) == 2 and target.thew.landmarks_from == source
    wanted = flesh_of(target).surface.vertices[[b for _, b in ends]]
    missed = []
    for marked in (False, True):
        places = link_between(source, target, marked=marked).native.places[[a for a, _ in ends]]
        missed.append(np.linalg.norm(places - wanted, axis=1).max())
    assert missed[1] < 0.5 * missed[0]
    other = stand_without_limbs("Other")
    landmarks = part("edit.landmarks")
    assert len(landmarks.saved_landmarks(*owners(source, target))) == 2
    assert len(landmarks.saved_landmarks(*owners(other, target))) == 0  # they are another character's
    activate(target)
    assert bpy.ops.thew.landmarks_clear() == {"FINISHED"}
    assert "no landmarks" in refusal(bpy.ops.thew.landmarks_clear)


def test_landmarks_are_clicked(scene, monkeypatch):
    """The tool shows landmarks that are there, takes back the last one, and keeps what Enter finds."""
    source = stand_without_limbs("Source", place=placement_matrix(1.0, (0.0, 0.0, 0.0), (-2.0, 0.0, 0.0)))
    target = stand_without_limbs("Target")
    source.select_set(True)
    monkeypatch.setattr(part("scene.windows"), "is_headless", lambda: False)
    hand = Hand(monkeypatch)
    context = hand.context()
    context.selected_objects = [source, target]
    for expected in (2, 3):
        made = tool("landmark", "THEW_OT_landmarks_click")
        hand.view = View((9.0, 0.0, 0.0))
        assert made.invoke(context, event("MOUSEMOVE")) <= {"RUNNING_MODAL", "PASS_THROUGH"}
        for x, z in ((-2.0, 0.0), (0.0, 0.0), (-2.0, 0.1), (0.0, 0.1)):
            hand.view = View((x, 0.0, 0.4 + 0.2 * expected + z))
            assert made.modal(context, event("LEFTMOUSE")) == {"RUNNING_MODAL"}
        if expected == 3:
            made.modal(context, event("Z", ctrl=True))
        assert made.modal(context, event("RET")) == {"FINISHED"}
        assert len(target.thew.landmarks) == expected
    points = np.array([[*each.source, *each.target] for each in target.thew.landmarks])
    assert np.linalg.norm(points[:, :3] - points[:, 3:], axis=1).max() < 0.12  # on one they are at vertices
    assert (hand.timers, hand.drawn) == (0, 0)


def bend(p):
    """Returns a shape that is bent forward, so that its limb has a side."""
    return p - np.sin(1.2 * p[:, 2:]) * [0.0, 0.1, 0.0]


def test_limbs_are_landmarks(scene):
    """Points of limbs that both characters have go along the limb in the map of the skins, which lie nearly as near as without."""
    source, target = stand("Source", shaped=bend), stand("Target", shaped=thicken)
    skin = np.asarray(flesh_of(source).surface.vertices)
    missed, links = [], []
    for named in (True, False):
        if not named:  # no limbs in common
            target.thew.limbs[0].name = "Other"
            limb_add(target, bones="Hip\nSpine", name="Another")
        link = link_between(source, target)
        limb = part("edit.limb_rigs").limb_map(link.here, link.there, source.thew.limbs[0], target.thew.limbs[0])
        places = [limb.one.locate(point) for point in skin]
        chosen = np.array([each.inside and 0.1 < each.coordinates[0] < 0.9 for each in places])
        wanted = np.array([limb.other.place(limb.map_place(each)) for each in places])
        missed.append(np.linalg.norm(np.asarray(link.native.places) - wanted, axis=1)[chosen].mean())
        links.append(link.native.report)
    assert missed[0] < 0.6 * missed[1]
    assert links[0].inverted == 0.0 and links[0].mean_distance < 0.005 * size_of(skin)


def test_straight_limb_is_no_landmark(scene):
    """A straight limb has no side: where its coordinates run otherwise around than the skins say, the map goes without it."""
    source, target = stand("Source"), stand("Target", shaped=thicken)
    places = np.asarray(link_between(source, target).native.places)
    source.thew.limbs.clear()
    np.testing.assert_array_equal(places, np.asarray(link_between(source, target).native.places))


def test_error_of_each_rig(scene):
    """The message and the dialog tell how far the skins are apart at each rig: nothing on the same character, more where it differs."""

    def dented(p):
        return p - 0.12 * np.exp(-(((p[:, 2:] - 0.9) / 0.08) ** 2)) * np.sign(p[:, :1]) * [1.0, 0.0, 0.0]

    source, same, other = (
        stand_without_limbs(n, **o) for n, o in (("Source", {}), ("Same", {}), ("Other", {"shaped": dented}))
    )
    add_rig(source, bone="Spine", template="BUMP", name="There")
    add_rig(source, bone="Head", template="BUMP", name="Above")
    bpy.context.scene.frame_set(5)
    add_key(source)
    activate(source)
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    link = link_between(source, same)
    assert max(link.error(rig) for rig in source.thew.rigs) < 1e-6
    link = link_between(source, other)
    there, above, _ = (link.error(rig) for rig in source.thew.rigs)
    assert there > 1.5 * above > 0.0
    report = part("edit.limb_rigs").carry(bpy.context, source, other, part("edit.retargeting").CharacterLink)
    assert "apart at “There”" in report.message(other) and "apart at “Swell”" in report.message(other)


def planned_copies(link) -> list:
    """Returns the rigs of the first character as they will be on the second."""
    return part("edit.limb_rigs").plan_rigs(link.here, link.there, [], link, part("edit.rig_copies").CopyReport())[0]


def test_fit_of_each_rig(scene):
    """On the same character a copied rig does what it did; the message, the dialog and the panel tell, until the rig is changed."""
    source, same = stand_without_limbs("Source"), stand_without_limbs("Same")
    add_rig(source, bone="Spine", template="BUMP", name="There")
    bpy.context.scene.frame_set(5)
    add_key(source)
    activate(source)
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    rows = part("operators.rig_copy").rig_errors(link_between(source, same))
    assert [(name, text) for name, _, text in rows] == [(n, "fits to less than 1 %") for n in ("There", "Swell")]
    carry, link = part("edit.limb_rigs").carry, part("edit.retargeting").CharacterLink
    report = carry(bpy.context, source, same, link)
    force, sculpt = same.thew.rigs
    assert 0.0 <= force.fit < 1e-3 and 0.0 <= sculpt.fit < 5e-3
    assert "; “There” fits to less than 1 % and “Swell” fits to less than 1 %." in report.message(same)
    layout = Layout()
    part("ui.rig_panel").draw_rig(layout, same, sculpt, 40)
    assert "As copied it fits to less than 1 %" in layout.read()
    force.radius *= 1.5
    assert force.fit < 0.0 <= sculpt.fit
    layout = Layout()
    part("ui.rig_panel").draw_rig(layout, same, force, 40)
    assert not any("As copied" in text for text in layout.read())


def test_fit_of_a_shape_is_what_is_missing(scene):
    """A shape whose copy wishes half as much on linear flesh fits to a half."""
    source, same = stand_without_limbs("Source"), stand_without_limbs("Same")
    for body in (source, same):
        body.thew.method = "warped"
    bpy.context.scene.frame_set(5)
    add_key(source)
    activate(source)
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    link, fit = link_between(source, same), part("edit.rig_fit").fit
    [planned] = planned_copies(link)
    assert fit(link.here, link.there, planned, link.native) < 5e-3
    samples = json.loads(planned.sculpt)
    for sample in samples:
        sample["offsets"] = (0.5 * np.array(sample.get("offsets", []))).tolist()
    planned.sculpt = json.dumps(samples)
    assert fit(link.here, link.there, planned, link.native) == pytest.approx(0.5, abs=5e-3)
    planned.sculpt = "damaged"
    assert fit(link.here, link.there, planned, link.native) is None


def test_force_fits_in_proportion(scene):
    """A field on a body twice as large fits; one whose copy may not push as hard does not."""
    place = placement_matrix(2.0, (0.0, 0.0, 0.0), (3.0, 1.0, 0.0))
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target", place=place)
    add_rig(source, bone="Spine", template="BUMP", name="There")
    link = link_between(source, target)
    [planned], fit = planned_copies(link), part("edit.rig_fit").fit
    assert fit(link.here, link.there, planned) < 0.02
    index = part("logic.sliders").SLIDERS.index("strength")
    for row in (planned.row, *planned.samples):
        row[index] *= 0.25
    assert fit(link.here, link.there, planned) == pytest.approx(0.75, abs=0.02)


def test_map_is_painted(scene):
    """On demand the map is painted: where each point comes from on both characters, or how far it is off on the one that gets rigs."""
    source, target = stand_without_limbs("Source"), stand_without_limbs("Target", scale=1.5)
    add_rig(source, bone="Spine")
    copy(source, target, paint="ORIGIN")
    colours = []
    for body in (source, target):
        attribute = body.data.color_attributes["Thew Origin"]
        assert body.data.color_attributes.active_color == attribute
        colours.append(np.array([each.color[:3] for each in attribute.data]))
    apart = np.abs(colours[1] - colours[0]).max(axis=1)
    assert np.median(apart) < 0.05  # a point and its image have one colour
    assert np.ptp(colours[0], axis=0).min() > 0.4
    copy(source, target, paint="DISTANCE")
    distance = np.array([each.color[:3] for each in target.data.color_attributes["Thew Distance"].data])
    assert (distance[:, 2] > distance[:, 0]).mean() > 0.8  # blue: on the skin
    assert "Thew Distance" not in source.data.color_attributes
    link, overlay = link_between(source, target), part("ui.ghost_overlay")
    overlay.paint(part("operators.rig_copy").coloured_meshes(link, "ORIGIN"))
    depsgraph = bpy.context.evaluated_depsgraph_get()
    surfaces = overlay.surfaces(depsgraph, np.array([0.0, -1.0, 0.0]))
    assert [len(points) for points, _, _ in surfaces] == [len(source.data.vertices), len(target.data.vertices)]
    overlay.hide()
    assert not overlay.surfaces(depsgraph, np.array([0.0, -1.0, 0.0]))
