# SPDX-License-Identifier: GPL-3.0-or-later
"""Twist of single bones: set, shown, copied, mirrored, saved, undone, baked, and refused with a sentence."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import (
    activate,
    evaluated_positions,
    flesh_of,
    largest_difference,
    make_armature,
    make_body,
    part,
    play,
    refusal,
    settle,
    size_of,
)


def select(armature, *names, active: str = "") -> None:
    """Selects bones, and makes one active."""
    for bone in armature.data.bones:
        posed = armature.pose.bones[bone.name]
        owner = posed if hasattr(posed, "select") else bone
        owner.select = bone.name in names
    armature.data.bones.active = armature.data.bones[active] if active else None


def set_twist(obj, bones: str, **options) -> None:
    """Presses Set Twist."""
    activate(obj)
    assert bpy.ops.thew.twist_set(bones=bones, **options) == {"FINISHED"}


def roll(armature, bone: str, angle: float) -> None:
    """Lets a bone stand rolled about itself in all frames."""
    armature.animation_data_clear()
    posed = armature.pose.bones[bone]
    posed.rotation_mode = "XYZ"
    posed.rotation_euler = (0.0, angle, 0.0)
    bpy.context.view_layer.update()


def values(armature) -> dict[str, tuple[float, float]]:
    """Returns radius and strength of the bones with a twist of their own."""
    return {
        bone.name: (bone.thew.twist_radius, bone.thew.twist_strength)
        for bone in armature.data.bones
        if bone.thew.use_twist
    }


@pytest.fixture
def rolled(scene):
    """Builds (mesh with flesh, armature) whose head is rolled by 1.2 rad against the spine."""
    armature = make_armature()
    body = make_body(armature, rings=25, sides=12)
    roll(armature, "Head", 1.2)
    scene.frame_end = 3
    activate(body)
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    return body, armature


def test_set_twist_starts_automatic(fleshed_character):
    """Set Twist gives the selected bones the automatic radius and the usual strength."""
    body, armature = fleshed_character
    select(armature, "Spine", "Head")
    set_twist(body, "")
    assert set(values(armature)) == {"Spine", "Head"}
    flesh = flesh_of(body)
    tubes = {bone: radius for bone, _, _, radius, _ in flesh.automatic.twist_tubes}
    for bone, (radius, strength) in values(armature).items():
        assert radius > 0.0 and strength == 1.0
        assert radius * flesh.place.metres_per_unit == pytest.approx(tubes[bone], rel=1e-5)
    assert bpy.ops.thew.twist_clear(bones="Spine") == {"FINISHED"}
    assert set(values(armature)) == {"Head"}


def test_twist_turns_flesh_with_bone(rolled):
    """The stronger the twist of a rolled bone, the nearer flesh is to where that bone has it; cleared, all is as before."""
    body, armature = rolled
    plain = play(body, [2])[0]
    rest = part("scene.mesh").basis_positions(body.data).astype(float)
    matrix = armature.pose.bones["Head"].matrix @ armature.data.bones["Head"].matrix_local.inverted()
    carried = rest @ np.array(matrix)[:3, :3].T + np.array(matrix)[:3, 3]
    # Where both bones move the skin.
    joint = (rest[:, 2] > 1.12) & (rest[:, 2] < 1.28)

    def away(shape):
        return float(np.linalg.norm(shape[joint] - carried[joint], axis=1).mean())

    distances = [away(plain)]
    for strength in (1.0, 20.0):
        set_twist(body, "Head", radius=0.2, strength=strength)
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        distances.append(away(play(body, [2])[0]))
    assert distances[2] < 0.9 * distances[1] < 0.95 * distances[0]
    assert bpy.ops.thew.twist_clear(bones="Head") == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, [2])[0], plain)


def test_twist_by_other_methods_and_at_rest(rolled):
    """Flesh turns with the bone by other methods too, and in Rest Pose Preview."""
    body, _ = rolled
    for method in ("warped", "modal"):
        body.thew.method = method
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        plain = play(body, [2])[0]
        set_twist(body, "Head", radius=0.2, strength=20.0)
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        assert largest_difference(play(body, [2])[0], plain) > 1e-3, method
        assert bpy.ops.thew.twist_clear(bones="Head") == {"FINISHED"}
    body.thew.method = "hyperelastic"
    plain = settle(body)
    set_twist(body, "Head", radius=0.2, strength=20.0)
    assert largest_difference(settle(body), plain) > 1e-3


def test_copy_and_mirror_twist(character):
    """A twist is copied to the other selected bones, and to the bone of the other side."""
    body, armature = character
    armature.data.bones["Hip"].name, armature.data.bones["Head"].name = "Bone.L", "Bone.R"
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    set_twist(body, "Bone.L", radius=0.11, strength=3.0)
    assert bpy.ops.thew.twist_mirror(bones="Bone.L") == {"FINISHED"}
    assert values(armature) == {"Bone.L": pytest.approx((0.11, 3.0)), "Bone.R": pytest.approx((0.11, 3.0))}
    select(armature, "Spine", "Bone.R", active="Bone.R")
    assert bpy.ops.thew.twist_copy() == {"FINISHED"}
    assert values(armature)["Spine"] == pytest.approx((0.11, 3.0))
    assert "has no side" in refusal(bpy.ops.thew.twist_mirror, bones="Spine")
    select(armature, "Bone.R", active="Bone.R")
    assert "Only “Bone.R” is selected" in refusal(bpy.ops.thew.twist_copy)


def test_twist_kept(fleshed_character, tmp_path):
    """A twist is undone, follows a renamed bone, and is in the file."""
    body, armature = fleshed_character
    rig = armature.name
    bpy.ops.ed.undo_push(message="before")
    set_twist(body, "Spine", radius=0.12, strength=4.0)
    bpy.ops.ed.undo_push(message="twist")
    bpy.ops.ed.undo()
    body, armature = bpy.data.objects["Body"], bpy.data.objects[rig]
    assert not values(armature)
    bpy.ops.ed.redo()
    body, armature = bpy.data.objects["Body"], bpy.data.objects[rig]
    assert values(armature) == {"Spine": pytest.approx((0.12, 4.0))}
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    shape = play(body, [9])[0]
    armature.data.bones["Spine"].name = "Back"
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert set(values(armature)) == {"Back"}
    np.testing.assert_array_equal(play(body, [9])[0], shape)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "twist.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "twist.blend"))
    body, armature = bpy.data.objects["Body"], bpy.data.objects[rig]
    assert values(armature) == {"Back": pytest.approx((0.12, 4.0))}
    activate(body)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, [9])[0], shape)


def test_twist_is_baked(rolled):
    """A bake plays the flesh that the twist moves."""
    body, _ = rolled
    set_twist(body, "Head", radius=0.2, strength=20.0)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    live = play(body, [1, 2, 3])
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert largest_difference(play(body, [1, 2, 3]), live) < 1e-5 * size_of(live[0])


def test_bad_twist_refused(fleshed_character):
    """A radius of zero or beyond the body, and bones without flesh, get a sentence; corrected, the flesh is as before."""
    body, armature = fleshed_character
    activate(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    root = armature.data.edit_bones.new("Root")
    root.head, root.tail = (0.0, -1.0, 0.0), (0.0, -1.0, 0.5)
    bpy.ops.object.mode_set(mode="OBJECT")
    activate(body)
    before = play(body, [9])[0]
    select(armature)
    assert "No bone of" in refusal(bpy.ops.thew.twist_set)
    assert "has no bone “Elbow”" in refusal(bpy.ops.thew.twist_set, bones="Elbow")
    assert "“Root” carries no flesh of “Body”" in refusal(bpy.ops.thew.twist_set, bones="Root")
    assert "No chosen bone has a twist of its own" in refusal(bpy.ops.thew.twist_clear, bones="Spine")
    assert not values(armature)
    set_twist(body, "Spine")
    settings = armature.data.bones["Spine"].thew
    for radius, words in ((0.0, "has the radius 0"), (50.0, "beyond the body")):
        settings.twist_radius = radius
        said = refusal(bpy.ops.thew.simulate)
        assert words in said and "“Spine”" in said, said
    assert bpy.ops.thew.twist_clear(bones="Spine") == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    np.testing.assert_array_equal(play(body, [9])[0], before)
    armature.data.bones["Root"].thew.use_twist = True
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert "“Root” has a twist, but carries no flesh" in body.thew.made.notes


def test_damaged_twist_refused(fleshed_character):
    """A number that is none, as a damaged file may hold it, is named."""
    body, armature = fleshed_character
    set_twist(body, "Spine", radius=0.1)
    thew = armature.data.bones["Spine"].thew
    thew.twist_strength = float("nan")
    if np.isnan(thew.twist_strength):
        assert "“Strength” of the twist of the bone “Spine”" in refusal(bpy.ops.thew.simulate)
    else:
        assert bpy.ops.thew.simulate() == {"FINISHED"}


def test_twist_is_drawn(fleshed_character):
    """The tube of each selected bone has its radius, and follows the pose."""
    body, armature = fleshed_character
    overlay, depsgraph = part("ui.twist_overlay"), bpy.context.evaluated_depsgraph_get()
    select(armature)
    assert overlay.drawings(body, depsgraph) == []
    select(armature, "Spine")
    ((_, colour, _),) = overlay.drawings(body, depsgraph)
    assert colour == overlay.AUTOMATIC_COLOUR
    set_twist(body, "Spine", radius=0.15, strength=0.0)
    armature.data.bones["Spine"].thew.twist_radius = 0.15
    ((_, colour, _),) = overlay.drawings(body, depsgraph)
    assert colour == overlay.OFF_COLOUR
    armature.data.bones["Spine"].thew.twist_strength = 2.0
    for frame in (1, 7):
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        ((lines, colour, _),) = overlay.drawings(body, depsgraph)
        assert colour == overlay.OWN_COLOUR
        posed = armature.pose.bones["Spine"]
        head = np.array(armature.matrix_world @ posed.head)
        axis = np.array(armature.matrix_world @ posed.tail) - head
        across = np.cross(lines.reshape(-1, 3) - head, axis / np.linalg.norm(axis))
        np.testing.assert_allclose(np.linalg.norm(across, axis=1), 0.15, rtol=1e-3)


def test_twist_texts(fleshed_character):
    """The panel says the radius on the real height, and whether a twist is off."""
    body, armature = fleshed_character
    panel = part("ui.twist_panel")
    assert panel.automatic_text(body, "Spine").startswith("Automatic: within ")
    assert panel.automatic_text(body, "Nothing") == "Carries no flesh"
    set_twist(body, "Spine", radius=0.1)
    thew = armature.data.bones["Spine"].thew
    scale = body.thew.height() / body.thew.made.longest_side
    assert panel.own_text(body, thew) == f"{part('logic.sentences').significant(100.0 * scale)} mm on the real size"
    thew.twist_radius = 100.0
    assert panel.own_text(body, thew).startswith("Beyond the body")
    thew.twist_radius = 0.0
    assert "raise it" in panel.own_text(body, thew)
    thew.twist_strength = 0.0
    assert panel.own_text(body, thew).startswith("Off")
    assert evaluated_positions(body).shape == (len(body.data.vertices), 3)
