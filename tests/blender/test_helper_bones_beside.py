# SPDX-License-Identifier: GPL-3.0-or-later
"""Helper Bones beside other bakes: baked again, finished, refused, by the dialog and the command."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from boning import (
    NAME,
    ROUNDING,
    assert_within,
    bake,
    entries,
    everything,
    helpers_of,
    make_carried_dancer,
)
from dancing import clip_shapes, frames_of, live_shapes, use
from helpers import Layout, activate, make_body, part, play, refusal, size_of


@pytest.fixture
def dancer(scene):
    """Builds (mesh with flesh, armature above it) with the actions Run (active), Walk and Turn."""
    return make_carried_dancer()


# bakes beside each other ----------------------------------------------------------------------------------------------


def test_bake_again_and_beside(dancer):
    """A bake of the same name replaces the former bones, and takes their names; one of another name stands beside it."""
    body, rig = dancer
    before = everything(body, rig)
    bake(body)
    names = sorted(helpers_of(rig))
    bake(body, bones=6)
    assert sorted(helpers_of(rig)) == names
    shown = clip_shapes(body, rig, "Run")
    bake(body, name="More", bones=9)
    assert len(helpers_of(rig)) == 15
    assert np.abs(clip_shapes(body, rig, "Run") - shown).max() > 1e-5
    assert sum(rig.data.bones[name].use_deform for name in helpers_of(rig)) == 9
    assert bpy.ops.thew.bake_show(name=NAME) == {"FINISHED"}
    np.testing.assert_allclose(clip_shapes(body, rig, "Run"), shown, atol=1e-6)
    assert bpy.ops.thew.bake_remove(name=NAME) == {"FINISHED"}
    assert len(helpers_of(rig)) == 9
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert everything(body, rig)[1:] == before[1:]


def test_clips_of_a_bake_stay_together(dancer):
    """A bake of some clips does not take the others of its name away, and says what to do."""
    body, rig = dancer
    bake(body)
    assert "fitted to all of its clips" in refusal(
        bpy.ops.thew.bake, target="HELPER_BONES", clips="CHOSEN", actions="Run", bones=4
    )
    bake(body, clips="CHOSEN", actions="Run", anew=True)
    assert len(body.thew.bakes[NAME].clips) == 3
    assert bpy.ops.thew.bake_again(name=NAME) == {"FINISHED"}
    assert len(body.thew.bakes[NAME].clips) == 3 and len(helpers_of(rig)) == 6
    bake(body, clips="CHOSEN", actions="Run", replace=True, bones=4)
    assert [clip.label for clip in body.thew.bakes[NAME].clips] == ["Run"] and len(helpers_of(rig)) == 4


def test_failure_leaves_nothing(dancer, monkeypatch):
    """A bake that fails while it is written leaves bones, curves, weights and the former bake as they were."""
    body, rig = dancer
    for former in (False, True):
        if former:
            bake(body)
        before = everything(body, rig)
        weights = part("scene.helper_weights")
        kept = weights.keep

        def fails(*how, kept=kept):
            kept(*how)
            raise RuntimeError("no room")

        monkeypatch.setattr(weights, "keep", fails)
        assert "no room" in refusal(bpy.ops.thew.bake, target="HELPER_BONES", clips="ALL", bones=5)
        monkeypatch.undo()
        assert everything(body, rig) == before


def test_finish_keeps_helper_bones(dancer):
    """Finish Bake leaves bones and weights, and takes the flesh away."""
    body, rig = dancer
    bake(body)
    shown = clip_shapes(body, rig, "Walk")
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    assert not body.thew.made.flesh and len(helpers_of(rig)) == 6
    np.testing.assert_allclose(clip_shapes(body, rig, "Walk"), shown, atol=1e-6)


def test_helper_bones_of_riders(dancer):
    """A skinned rider gets bones of its own; one on a bone stays as it is, and the message says so."""
    body, rig = dancer
    shirt, eye = make_body(rig, name="Shirt", rings=9), make_body(rig, name="Eye", rings=5)
    eye.modifiers.clear()
    eye.parent, eye.parent_type, eye.parent_bone = rig, "BONE", "Head"
    activate(body)
    for obj in (body, shirt, eye):
        obj.select_set(True)
    assert bpy.ops.thew.ride() == {"FINISHED"}
    live = live_shapes(body, rig)
    activate(body)
    worn = {}
    for name in ("Run",):
        use(rig, name)
        activate(body)
        assert bpy.ops.thew.simulate(frame_start=1, frame_end=20) == {"FINISHED"}
        worn[name] = play(shirt, frames_of(name))
    body.thew.use_scene_range = True
    baking, finish = part("bake.baking"), part("logic.tasks").finish
    found = finish(
        baking.bake(body, bpy.context.scene, bpy.context.view_layer, target_key="HELPER_BONES", clips="ALL", bones=6)
    )
    assert "“Eye” stays on its bone" in " ".join(found.details)
    assert len(helpers_of(rig)) == 12 and not len(eye.thew.bakes)
    run = shirt.thew.bakes[NAME].clip_of(bpy.data.actions["Run"])
    missed = np.linalg.norm(clip_shapes(shirt, rig, "Run") - worn["Run"], axis=2).max()
    assert missed <= run.error + ROUNDING * size_of(worn["Run"][0])
    run = body.thew.bakes[NAME].clip_of(bpy.data.actions["Run"])
    assert_within(clip_shapes(body, rig, "Run"), live["Run"], run)
    activate(eye)
    assert "no Armature modifier" in refusal(bpy.ops.thew.bake, target="HELPER_BONES")


# refusals -------------------------------------------------------------------------------------------------------------


def preserve_volume(body, rig):
    body.modifiers["Armature"].use_deform_preserve_volume = True
    return "Preserve Volume"


def bendy(body, rig):
    rig.data.bones["Spine"].bbone_segments = 4
    return "Segments"


def locked(body, rig):
    body.vertex_groups["Spine"].lock_weight = True
    return "locked"


def masked(body, rig):
    body.vertex_groups.new(name="Mask")
    body.modifiers["Armature"].vertex_group = "Mask"
    return "limited to the vertex group"


def shared(body, rig):
    other = bpy.data.objects.new("Second", rig.data)
    bpy.context.scene.collection.objects.link(other)
    return "single user"


def editing(body, rig):
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.context.view_layer.objects.active = body
    return "edit mode"


def mixed(body, rig):
    track = rig.animation_data.nla_tracks.new()
    strip = track.strips.new("Walk", 1, bpy.data.actions["Walk"])
    strip.blend_type = "ADD"
    rig.animation_data.action_influence = 0.5
    return "mix of actions"


@pytest.mark.parametrize("fault", [preserve_volume, bendy, locked, masked, shared, editing, mixed])
def test_refusals(dancer, fault):
    """What bones cannot do, or where they cannot be made, is a sentence, and nothing has changed."""
    body, rig = dancer
    words = fault(body, rig)
    before = everything(body, rig)[1:]
    clips = "SCENE" if fault is mixed else "ALL"
    assert words in refusal(bpy.ops.thew.bake, target="HELPER_BONES", clips=clips)
    assert everything(body, rig)[1:] == before and not len(body.thew.bakes)


def test_linked_armatures_are_refused(dancer, tmp_path):
    """An armature of another file takes no bones: a sentence, and nothing has changed."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "rig.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    with bpy.data.libraries.load(str(tmp_path / "rig.blend"), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    rig = bpy.data.objects["Rig"]
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.scene.frame_end = 6
    body = make_body(rig)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    before = entries(body)
    assert "comes from another file" in refusal(bpy.ops.thew.bake, target="HELPER_BONES")
    assert entries(body) == before and not len(body.thew.bakes) and not helpers_of(rig)


def test_modes_and_selection_stay(dancer):
    """The bake leaves modes, selection and the active object as they were, hidden armatures too."""
    body, rig = dancer
    other = make_body(rig, name="Other", rings=9)
    activate(rig)
    bpy.ops.object.mode_set(mode="POSE")
    activate(body)
    other.select_set(True)
    rig.hide_set(True)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    assert bpy.ops.thew.bake(target="HELPER_BONES", clips="ALL", bones=3) == {"FINISHED"}
    assert body.mode == "WEIGHT_PAINT" and rig.mode == "POSE" and rig.hide_get()
    assert bpy.context.view_layer.objects.active == body and other.select_get() and not rig.select_get()


# the dialog and the command -------------------------------------------------------------------------------------------


def test_command_bakes_helper_bones(dancer, tmp_path):
    """The command bakes helper bones of all actions, and says how many."""
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "in.blend"))
    said = []
    part("cli").bake_file(
        tmp_path / "in.blend", "Body", out=tmp_path / "out.blend", say=lambda line: said.append(str(line)),
        target_key="HELPER_BONES", choice="ALL", bones=5, influences=3,
    )  # fmt: skip
    assert "5 helper bones of 3 clips" in said[0] and "mm off" in said[0]
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "out.blend"), load_ui=False)
    body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    assert len(helpers_of(rig)) == 5
    bones = {group.index for group in body.vertex_groups if group.name in rig.data.bones}
    counts = [sum(e.group in bones and e.weight > 0.0 for e in vertex.groups) for vertex in body.data.vertices]
    assert max(counts) <= 3


def test_panel_of_helper_bones(dancer):
    """The list tells number, clips and error; This Action bakes all clips of the bake anew, in its form."""
    body, _ = dancer
    bake(body, bones=7, influences=3)
    layout = Layout()
    part("ui.bake_panel").draw_bake(layout, bpy.context, body, 200)
    text = " ".join(layout.read())
    assert (
        "7 helper bones, 3 clips" in text and "mm off at frame" in text and "press Show Live before you paint" in text
    )
    values = part("bake.remaking").action_values(body)
    assert (values["target"], values["bones"], values["influences"], values["anew"]) == ("HELPER_BONES", 7, 3, True)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    layout = Layout()
    part("ui.bake_panel").draw_bake(layout, bpy.context, body, 200)
    assert "7 helper bones" in " ".join(layout.read()) and "before you paint" not in " ".join(layout.read())


def test_size_and_options():
    """The size is told before, and the command line and the operator take both numbers."""
    sizes, words = part("logic.bake_sizes"), part("operators.command_words")
    assert sizes.estimate("HELPER_BONES", 60, 1000, 16, 4) == "16 bones, 26.9 kB of curves and 24 kB of weights"
    given = words.parser().parse_args(
        ["bake", "a.blend", "--target", "helper_bones", "--bones", "24", "--influences", "8", "--rest-error", "0"]
    )
    assert (given.target, given.bones, given.influences, given.rest_error) == ("helper_bones", 24, 8, 0)
    with pytest.raises(SystemExit):
        words.parser().parse_args(["bake", "a.blend", "--bones", "0"])
