# SPDX-License-Identifier: GPL-3.0-or-later
"""What the artist reads and presses: panels in every state, from the mesh and from the armature; units; who drives a rig."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from helpers import Layout, activate, add_rig, evaluated_positions, make_character, part, play

FOLDOUTS = ("look", "regions", "contact", "bake", "rigs", "advanced", "details")


def region(width=300):
    """Builds a context as a panel sees it."""
    context = bpy.context
    return SimpleNamespace(
        view_layer=context.view_layer,
        scene=context.scene,
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)),  # it is 0 without a window
        region=SimpleNamespace(width=width),
        object=context.view_layer.objects.active,
        space_data=None,
    )


def draw(place="sidebar", width=300) -> dict[str, list]:
    """Draws every panel of a place whose poll says so; what each asked its layout for, by its key."""
    context, drawn = region(width), {}
    for name in ("", *FOLDOUTS):
        cls = getattr(bpy.types, f"THEW_PT_{name}_{place}" if name else f"THEW_PT_{place}")
        if hasattr(cls, "poll") and not cls.poll(context):
            continue
        layout = Layout()
        if hasattr(cls, "draw_header"):
            cls.draw_header(SimpleNamespace(layout=layout), context)
        cls.draw(SimpleNamespace(layout=layout, contents=getattr(cls, "contents", None)), context)
        drawn[name] = layout.seen
    return drawn


def rows(drawn: dict[str, list]) -> list:
    """Returns everything but texts and the bar: the items whose place in the panel counts."""
    return [call for seen in drawn.values() for call in seen if call[0] in {"prop", "operator", "operator_menu_enum"}]


def words(seen: list) -> str:
    """Returns all labels."""
    return " ".join(call[-1] for call in seen if call[0] == "label")


@pytest.mark.parametrize("place", ["sidebar", "physics"])
def test_panels_draw_in_every_state(scene, place):
    """Every panel draws in each state of a character, from the mesh and from the armature."""
    body, armature = make_character()
    assert set(draw(place)) == {""}
    activate(armature)
    assert set(draw(place)) == {""}
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    for active in (body, armature):
        activate(active)
        assert set(draw(place)) == {"", *FOLDOUTS}
        for name in ("use_scene_range", "enabled", "use_gravity", "use_young", "settled", "show_map", "use_contact"):
            setattr(body.thew, name, not getattr(body.thew, name))
            draw(place)
            setattr(body.thew, name, not getattr(body.thew, name))
    play(body, (2, 5))
    for method in ("linear", "modal", "warped"):
        body.thew.method = method
        play(body, (3,))
        draw(place)
    add_rig(body, bone="Spine")
    assert bpy.ops.thew.bake() == {"FINISHED"}
    draw(place)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    draw(place, width=90)
    part("live.session").register.clear()  # as after loading a file
    draw(place)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    draw(place)


@pytest.mark.parametrize("kind", ["nothing", "CAMERA", "LIGHT", "EMPTY", "field", "ARMATURE"])
def test_tab_stays_without_mesh(fleshed_character, scene, kind):
    """The tab stays with no object active, or one without a mesh: it says what to select, and nothing else of ours is drawn."""
    bpy.context.view_layer.objects.active = None
    if kind == "field":
        bpy.ops.object.effector_add(type="WIND")
    elif kind != "nothing":
        data = {"CAMERA": bpy.data.cameras, "LIGHT": bpy.data.lights, "ARMATURE": bpy.data.armatures}.get(kind)
        made = data.new(kind, *(["POINT"] if kind == "LIGHT" else [])) if data is not None else None
        other = bpy.data.objects.new("Other", made)
        scene.collection.objects.link(other)
        activate(other)
    drawn = draw()
    assert set(drawn) == {""} and not rows(drawn)
    said = words(drawn[""])
    assert (
        "The armature “Other” moves no mesh" if kind == "ARMATURE" else "Select a skinned mesh or its armature"
    ) in said
    assert ("Force Fields" in said) == (kind == "field")
    assert draw("physics") == {}
    every = [each for each in bpy.types.Panel.__subclasses__() if each.__name__.startswith("THEW_PT_")]
    shown = [each.__name__ for each in every if not hasattr(each, "poll") or each.poll(region())]
    assert shown == ["THEW_PT_sidebar"]


def test_panel_rows_fixed_while_busy(fleshed_character):
    """No row of the panel moves while something is computed."""
    body, _ = fleshed_character
    play(body, (3,))
    tasks, work = part("logic.tasks"), part("live.work")
    quiet = rows(draw())
    assert not any(call[0] == "progress" for call in draw()[""])

    def task():
        yield tasks.Progress(0.4, "Measuring")

    stepper = tasks.Stepper(task())
    stepper.advance()
    for begin, end in (
        (lambda: work.running_steppers.append(stepper), lambda: work.running_steppers.remove(stepper)),
        (
            lambda: setattr(part("live.updates").state, "stepper", stepper),
            lambda: setattr(part("live.updates").state, "stepper", None),
        ),
    ):
        begin()
        try:
            busy = draw()
            assert rows(busy) == quiet
            assert sum(call[0] == "progress" for call in busy[""]) == 1
        finally:
            end()
    for level in (
        {"problem": "Everything is wrong, and this is a long sentence about why it is so"},
        {"defects": ["a"]},
    ):
        flesh = part("live.session").register.state_of(body)
        was = {name: getattr(flesh, name) for name in level}
        for name, value in level.items():
            setattr(flesh, name, value)
        assert rows(draw()) == quiet
        for name, value in was.items():
            setattr(flesh, name, value)


def test_panel_health_line(fleshed_character):
    """The panel shows one line about the flesh and the rest under Details."""
    body, _ = fleshed_character
    play(body, (3,))
    seen = draw()
    assert words(seen[""]) == "Moves, frames 1 to 20"
    assert "is divided into" in words(seen["details"]) and "is divided into" not in words(seen[""])
    assert words(seen["details"]).split("About the Flesh")[0].strip() == "Nothing is wrong"
    body.thew.enabled = False
    assert "plain skin" in words(draw()[""])


def test_still_end_is_told(scene):
    """A scene longer than its action: the panel's line and a note say from where on the bones stand still, and what to set."""
    body, rig = make_character()
    last = int(rig.animation_data.action.frame_range[1])
    scene.frame_end = 60
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    play(body, (3,))
    seen = draw(width=800)
    assert words(seen[""]) == f"Moves, frames 1 to 60; the bones stand still from {last} on"
    assert f"stand still from frame {last} to 60: set the scene's End to {last}" in words(seen["details"])
    assert words(seen["details"]).startswith("Nothing is wrong")
    scene.frame_end = last
    play(body, (3,))
    seen = draw(width=800)
    assert words(seen[""]) == f"Moves, frames 1 to {last}" and "stand still" not in words(seen["details"])


def test_details_verdict_first(fleshed_character, scene):
    """Details begins with what is wrong, or says that nothing is; riding is offered where another mesh could ride, as optional."""
    body, _ = fleshed_character
    play(body, (3,))
    seen = draw(width=800)["details"]
    assert words(seen).startswith("Nothing is wrong") and not any(call[1] == "thew.ride" for call in seen)
    assert bpy.ops.mesh.primitive_cube_add(size=0.1) == {"FINISHED"}
    activate(body)
    seen = draw(width=800)["details"]
    assert (
        words(seen).startswith("Nothing is wrong Optional: clothes")
        and ("operator", "thew.ride", "Let Selected Ride") in seen
    )
    part("live.session").register.state_of(body).problem = "The bone “Spine” is bent too far"
    told = words(draw(width=800)["details"])
    assert told.startswith("The bone “Spine” is bent too far") and "Nothing is wrong" not in told
    body.thew.enabled = False
    assert words(draw(width=800)["details"]).startswith("Off: the plain skin")


def test_icon_buttons_have_tooltips(fleshed_character):
    """Every button and field of the panels without a name on it has a tooltip of its own."""
    body, _ = fleshed_character
    add_rig(body, bone="Spine")
    play(body, (3,))
    nameless, known = [], set()
    for seen in draw().values():
        for call in seen:
            if call[0] == "operator" and call[-1] == "":
                nameless.append(call[1])
    for name in nameless:
        module, operator = name.split(".")
        known.add(name)
        assert len(getattr(getattr(bpy.ops, module), operator).get_rna_type().description) > 10, name
    assert {"thew.remove", "thew.guess_height"} <= known
    properties = body.thew.bl_rna.properties
    assert all(len(properties[name].description) > 10 for name in ("show_map", "show_limits"))


def test_panel_first_screen(fleshed_character):
    """The first screen holds the settings that every session needs, and no others."""
    assert [call[1] for call in rows({"": draw()[""]})] == [
        "enabled", "thew.simulate", "show_map", "thew.remove", "softness", "kind", "height_shown", "thew.guess_height",
        "use_contact", "thew.paint_flesh", "thew.bake",
    ]  # fmt: skip
    assert {"elastic_joints", "method", "rate"} <= {call[1] for call in rows({"": draw()["advanced"]})}
    assert "elastic_joints" not in {call[1] for call in rows({"": draw()["look"]})}


def test_panel_labels(scene):
    """The labels are an animator's terms."""
    labels = {
        "cells_across": "Detail", "settling": "Settling", "tremble": "Tremble", "settled": "Rest Pose Preview",
        "rest_includes_gravity": "Model Already Sags",
    }  # fmt: skip
    properties = bpy.types.Object.bl_rna.properties["thew"].fixed_type.properties
    assert {name: properties[name].name for name in labels} == labels
    operators = {"limb_carry": "Copy Weights", "limb_drag": "Drag Handles", "keyframed_relax": "Relax Sculpt"}
    assert {name: getattr(bpy.ops.thew, name).get_rna_type().name for name in operators} == operators


@pytest.mark.parametrize("text", ["", "Short", "A sentence that is much too long for one row of the panel. " * 6])
@pytest.mark.parametrize("busy", [False, True])
def test_panel_health_row_count(fleshed_character, text, busy):
    """The text about the flesh takes the same number of rows for every message."""
    body, _ = fleshed_character
    play(body, (3,))
    panels, work = part("ui.health_rows"), part("live.work")
    flesh = part("live.session").register.state_of(body)
    stepper = part("logic.tasks").Stepper(iter(()))
    flesh.problem = text
    try:
        work.running_steppers += [stepper] * busy
        seen = draw()
    finally:
        flesh.problem = ""
        work.running_steppers[:] = []
    assert sum(call[0] in {"label", "progress", "separator"} for call in seen[""]) == panels.HEALTH_ROWS
    if text and not busy:
        assert text.split()[-1] in words(seen["details"])  # nothing is lost: all of it stands there


def test_panel_messages_below_rows(fleshed_character):
    """Messages stand below all settings, so that no row moves under the mouse."""
    body, _ = fleshed_character
    add_rig(body, bone="Spine")
    body.thew.use_contact = body.thew.use_other_flesh = True
    play(body, (3,))
    body.thew.cells_across = 60
    body.thew.rigs[0].problem = "This rig cannot push."
    seen = draw()
    for name in ("look", "contact"):
        calls = [call[0] for call in seen[name]]
        assert "label" in calls and "prop" not in calls[calls.index("label") :], name
    calls = seen["rigs"]
    problem = next(i for i, call in enumerate(calls) if "cannot push" in call[-1])
    assert not any(call[0] in {"prop", "operator"} for call in calls[problem:])


def test_panel_modal_rows_fixed(fleshed_character):
    """The rows of the modal settings stay in their places."""
    body, _ = fleshed_character
    body.thew.method = "modal"
    found = []
    for engine, mode in (("AUTO", 0), ("CPU", 0), ("CPU", 2)):
        body.thew.engine, body.thew.preview_mode = engine, mode
        found.append(rows({"": draw()["advanced"]}))
    assert found[0] == found[1] == found[2]


def test_health_unkeyed_pose(fleshed_character):
    """A bone turned without a key gives a message that points to Simulate, and no error."""
    body, _ = fleshed_character
    play(body, (3,))
    health, flesh = part("logic.health"), part("live.session").register.state_of(body)
    flesh.problem = part("live.resting").POSE_CHANGED_TEXT
    found = health.health(body.thew, body.thew.made, flesh, 3)
    flesh.problem = ""
    assert found.level == "NOTICE" and "Simulate" in found.text


def test_panel_suggests_bones(scene):
    """The panel suggests bones for a mesh without an armature."""
    body, _ = make_character()
    body.modifiers.clear()
    body.vertex_groups.clear()
    seen = draw()[""]
    offered = [call[1] for call in seen if call[0] == "operator"]
    assert offered[:3] == ["thew.suggest_bones", "thew.skeleton_click", "thew.bind_bones"]
    assert not any(call[:2] == ("operator", "thew.add") for call in seen)
    assert "First make bones" in words(seen) and "Add Flesh then" in words(seen)


def test_panel_without_flesh(character):
    """The panel of a mesh without flesh says what the mesh plays or needs."""
    body, _ = character
    assert words(draw()[""]).startswith("Ready")
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert "Keeps 20 baked keys" in words(draw()[""])
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert bpy.ops.thew.show_bake() == {"FINISHED"}
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert "Plays 20 baked keys" in words(draw()[""])
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    body.modifiers["Armature"].show_viewport = False
    seen = draw()[""]
    assert "“Armature”" in words(seen) and "switched off" in words(seen)
    buttons = [call[1] for call in seen if call[0] == "operator"]
    assert "thew.switch_on_armature" in buttons and not {"thew.add", "thew.suggest_bones"} & set(buttons)
    body.modifiers.clear()
    assert "Needs bones that move it" in words(draw()[""])


def test_panel_posed_bake(fleshed_character):
    """A finished bake in posed space plays without an armature, and the panel says so."""
    body, _ = fleshed_character
    assert bpy.ops.thew.bake(space="POSED") == {"FINISHED"}
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert not len(body.modifiers) and "Plays 20 baked keys" in words(draw()[""])


def test_operators_disabled_while_busy(fleshed_character):
    """No operator runs while something is computed, however it is called."""
    tasks, work = part("logic.tasks"), part("live.work")
    stepper = tasks.Stepper(iter(()))
    names = ("add", "simulate", "bake", "finish_bake", "remove", "settle", "flesh_automatic", "ride", "rig_add")
    assert all(getattr(bpy.ops.thew, name).poll() for name in names)
    work.running_steppers.append(stepper)
    try:
        assert not any(getattr(bpy.ops.thew, name).poll() for name in names)
    finally:
        work.running_steppers.remove(stepper)


def test_panel_bake_range(fleshed_character):
    """The panel says where a bake begins and ends, and warns when the scene plays beyond it."""
    assert bpy.ops.thew.bake(frame_start=3, frame_end=9) == {"FINISHED"}
    scene = bpy.context.scene
    for frame, said in (
        (3, "Bake plays, 3 to 9"),
        (9, "Bake plays, 3 to 9"),
        (2, "the plain skin"),
        (10, "the plain skin"),
    ):
        scene.frame_set(frame)
        assert said in words(draw(width=600)[""]), frame
    assert "scene plays 1 to 20" in words(draw(width=600)["bake"])
    scene.frame_start, scene.frame_end = 3, 9
    assert "scene plays" not in words(draw(width=600)["bake"])


def test_panel_range_in_force(fleshed_character):
    """The panel shows the frame range that is in force."""
    body, _ = fleshed_character

    def range_owners():
        layout = Layout()
        part("ui.bake_panel").draw_bake(layout, bpy.context, body, 40)
        return [owner for owner, field in layout.owners if field in {"frame_start", "frame_end"}]

    assert range_owners() == [bpy.context.scene] * 2
    body.thew.use_scene_range = False
    assert range_owners() == [body.thew] * 2


# the armature stands for its meshes -----------------------------------------------------------------------------------


# words and units ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1.0, 0.01, 1000.0])
def test_panel_height_in_units(scene, unit):
    """The height in force is shown in the scene's units."""
    scene.unit_settings.scale_length = unit
    body, _ = make_character(scale=1.0 / unit)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    settings = body.thew
    assert settings.real_height == 0.0
    guessed = settings.made.guessed_height
    assert guessed > 0.0 and settings.height_shown * unit == pytest.approx(guessed, rel=1e-5)
    settings.height_shown = 2.5 / unit
    assert settings.real_height == pytest.approx(2.5, rel=1e-6)
    assert bpy.ops.thew.guess_height() == {"FINISHED"}
    assert settings.real_height == 0.0 and settings.height_shown * unit == pytest.approx(guessed, rel=1e-5)


def test_length_properties_have_unit(scene):
    """Every length among the properties has a unit."""
    for group in (bpy.types.Object.bl_rna.properties["thew"].fixed_type, part("saved.rigs").ThewRig.bl_rna):
        for item in group.properties:
            if item.identifier in {"radius", "ring_radius", "tube_radius", "distance", "depth", "height_shown"}:
                assert item.unit == "LENGTH", item.identifier
    assert bpy.types.Object.bl_rna.properties["thew"].fixed_type.properties["height_shown"].subtype == "DISTANCE"


def test_units_length_text(scene):
    """A length in a message is formatted as in Blender's fields."""
    length = part("saved.units").length
    assert (length(0.25), length(3.081)) == ("25 cm", "3.08 m")
    scene.unit_settings.scale_length = 0.01
    assert length(25.0) == "25 cm"
    scene.unit_settings.system = "IMPERIAL"
    assert "'" in length(100.0) or "ft" in length(100.0) or '"' in length(100.0)
    scene.unit_settings.system = "NONE"
    assert length(25.0) == "25"


def test_cells_across_limits(character):
    """The number of cells can be as high as the guide says, with a warning about the time."""
    body, _ = character
    cells = body.thew.bl_rna.properties["cells_across"]
    assert cells.soft_max == cells.hard_max == 64
    body.thew.cells_across = 1000
    assert body.thew.cells_across == 64
    body.thew.cells_across = 48
    assert body.thew.cells_across == 48 and "12 times as long" in words(draw()[""])
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert "times as long" not in words(draw()["look"])


def test_settings_have_descriptions(scene):
    """Every setting has a description without a final full stop."""
    for item in bpy.types.Object.bl_rna.properties["thew"].fixed_type.properties:
        if item.identifier not in {"rna_type", "made", "name"}:
            assert item.description and not item.description.endswith("."), item.identifier


# the dial -------------------------------------------------------------------------------------------------------------


def sway(body) -> float:
    """Returns how far the flesh is from its mean position, as it plays."""
    shapes = play(body, range(1, 21)).astype(np.float64)
    skin = plain_skin(body)
    offsets = shapes - skin
    return float(np.linalg.norm(offsets - offsets.mean(axis=0), axis=2).mean())


def plain_skin(body) -> np.ndarray:
    """Returns the skin without flesh, as it plays."""
    body.thew.enabled = False
    shapes = play(body, range(1, 21)).astype(np.float64)
    body.thew.enabled = True
    return shapes


def test_softness_increases_sway(fleshed_character):
    """Each step of Softness makes the flesh sway more."""
    body, _ = fleshed_character
    found = []
    for softness in (0.0, 0.25, 0.5, 0.75, 1.0):
        body.thew.softness = softness
        found.append(sway(body))
    assert all(b > 1.15 * a for a, b in itertools.pairwise(found)), found


def test_young_replaces_softness(fleshed_character):
    """A stiffness in pascals replaces Softness only while it is switched on."""
    body, _ = fleshed_character
    before = play(body, (5, 9))
    body.thew.young = 90e3
    np.testing.assert_array_equal(play(body, (5, 9)), before)  # the dial is in force
    body.thew.use_young = True
    firm = play(body, (5, 9))
    assert np.abs(firm - before).max() > 1e-4
    body.thew.softness = 0.9
    np.testing.assert_array_equal(play(body, (5, 9)), firm)


# a mesh that stands apart ---------------------------------------------------------------------------------------------


def test_offset_mesh_noted(character):
    """The notes and the panel say that a mesh stands apart from its bones."""
    body, armature = character
    body.location.x = 4.0
    bpy.context.view_layer.update()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    note = next(line for line in body.thew.made.notes.splitlines() if "stands apart" in line)
    assert body.name in note and armature.name in note and " m " in note
    play(body, (3,))
    assert "stands apart" in words(draw(width=600)[""])


@pytest.mark.parametrize("moved", [(0.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.0, 0.0, 0.3)])
def test_enclosing_mesh_not_noted(character, moved):
    """A mesh around its bones is not reported as standing apart."""
    body, _ = character
    body.location = moved
    bpy.context.view_layer.update()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert "stands apart" not in body.thew.made.notes


# who drives a rig -----------------------------------------------------------------------------------------------------


def test_joint_of_bone_rig(fleshed_character):
    """The driver of a rig on a bone is proposed at the joint that moves it."""
    body, armature = fleshed_character
    armature.data.bones.active = armature.data.bones["Hip"]
    rig = add_rig(body, bone="Spine")
    joint_of = part("rigs.drivers").joint_of
    rig.along = 0.5
    assert joint_of(body, rig) == "Head"
    rig.along = 0.1  # at the joint where the spine itself bends
    assert joint_of(body, rig) == "Spine"
    top = add_rig(body, bone="Head")
    top.along = 0.9
    assert joint_of(body, top) == "Head"  # nothing is below
    rig.along = 0.5
    assert bpy.ops.thew.rig_driver(index=0) == {"FINISHED"}
    assert body.animation_data.drivers[0].driver.variables[0].targets[0].bone_target == "Head"


def test_joint_of_skin_and_free_rig(fleshed_character):
    """The driver of a rig in the skin or a free one is proposed at the joint that moves its part of the skin."""
    body, armature = fleshed_character
    rest = part("scene.mesh").basis_positions(body.data)
    corners = part("scene.mesh").triangles_of(body.data)
    heights = rest[corners].mean(axis=1)[:, 2]
    joint_of = part("rigs.drivers").joint_of
    for height, bone in ((0.45, "Spine"), (0.7, "Spine"), (1.05, "Head"), (1.7, "Head")):
        face = int(np.abs(heights - height).argmin())
        rig = add_rig(body, guide="SKIN", face=face)
        assert joint_of(body, rig) == bone, height
    free = add_rig(body, guide="FREE")
    free.matrix = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1.0, 0, 0, 0, 1]
    assert joint_of(body, free) == "Head"
    assert np.isfinite(evaluated_positions(body)).all() and armature.data.bones


def test_numbers_keep_their_units():
    """Text is wrapped to its width without a break between a number and its unit, and loses no word."""
    wrap, text = part("ui.layouts").wrap, "120 keys, 2 clips, 16 MB, 5.4 mm off at 30 % of 12 %s"
    for width in range(8, 60):
        lines = wrap(text, width)
        assert " ".join(lines) == text
        assert max(map(len, lines)) <= width
        assert not any(line.startswith(("MB", "mm", "% ")) for line in lines)
