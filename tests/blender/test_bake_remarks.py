# SPDX-License-Identifier: GPL-3.0-or-later
"""What bakes tell: bones that are at rest in a clip, their progress, and the bake that buttons take."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from dancing import clip_shapes, frames_of, make_fleshed_dancer, use
from helpers import Layout, activate, part, refusal

NAMES = ("Run", "Walk", "Turn")


@pytest.fixture
def dancer(scene):
    """Builds (mesh with flesh, armature) with the actions Run (active), Walk, Turn and Idle."""
    return make_fleshed_dancer()


def without_keys(name: str, bone: str) -> None:
    """Takes the keys of a bone out of an action."""
    animation = part("scene.animation")
    action = bpy.data.actions[name]
    slots = animation.slots_of(action, "OBJECT")
    curves = animation.curves_of(action, slots[0])
    for curve in [each for each in curves if f'"{bone}"' in each.data_path]:
        curves.remove(curve)


def bake_all(body, **options) -> list[str]:
    """Bakes actions, and returns the notes of the bake."""
    activate(body)
    options = {"clips": "CHOSEN", "actions": ";".join(NAMES), **options}
    assert bpy.ops.thew.bake(**options) == {"FINISHED"}
    return body.thew.bakes[-1].notes.splitlines()


def test_posed_bones_without_keys(dancer):
    """A bone that another action poses and that an action does not key is at rest in the clip, and the bake names both, once."""
    body, rig = dancer
    assert not [note for note in bake_all(body) if "at rest" in note]
    without_keys("Walk", "Spine")
    use(rig, "Run")
    bpy.context.scene.frame_set(9)
    assert np.abs(rig.pose.bones["Spine"].rotation_euler).max() > 0.1
    told = [note for note in bake_all(body) if "at rest" in note]
    assert len(told) == 1 and told[0].startswith(
        "“Spine” of “Rig” is posed and has no key in “Walk”: the bake has it at rest"
    )
    # The clip is baked with the spine at rest, as it shows where its pose is cleared.
    posed = clip_shapes(body, rig, "Walk", frames_of("Walk")[5:8])
    rig.pose.bones["Spine"].rotation_euler = (0.0, 0.0, 0.0)
    cleared = clip_shapes(body, rig, "Walk", frames_of("Walk")[5:8])
    assert np.abs(posed - cleared).max() > 0.05
    assert not [note for note in bake_all(body) if "at rest" in note]


def test_posed_bones_named_few(dancer):
    """A remark names at most three bones, and says that not every one lacks keys in every action."""
    body, rig = dancer
    plans = part("bake.clip_plans")
    armature_actions = part("scene.armature_actions")
    without_keys("Walk", "Spine")
    without_keys("Turn", "Hip")
    use(rig, "Run")
    bpy.context.scene.frame_set(9)
    made, _ = plans.action_plans(body, bpy.context.scene, "CHOSEN", list(NAMES))
    soloist = armature_actions.Soloist(rig, [plan.bones for plan in made])
    text = plans.unkeyed_remark(soloist, made)
    assert text.startswith("“Hip” and “Spine” of “Rig” are posed and lack keys in “Walk” and “Turn”")
    assert part("logic.sentences").join_few(list("abcde"), 3) == "a, b and 3 more"


def test_progress_names_clips(dancer):
    """Every text of the progress over the clips begins with the clip's name, native stages too, and the clips come one by one."""
    body, _ = dancer
    context, said = bpy.context, []

    def report(fraction, text):
        said.append((fraction, text))
        return True

    task = part("bake.baking").bake(
        body, context.scene, context.view_layer, clips="CHOSEN", actions=NAMES, target_key="SHAPE_KEYS"
    )
    part("logic.tasks").finish(task, report)
    within = [text for fraction, text in said if 0.051 < fraction < 0.84]
    titles = [text.partition(":")[0] for text in within]
    assert list(dict.fromkeys(titles)) == [f"“{name}”" for name in NAMES] and titles == sorted(
        titles, key=[f"“{name}”" for name in NAMES].index
    )
    assert any(text.startswith("“Walk”: working out the keys of frame ") for text in within)


def test_titled_tasks():
    """A title stands before the texts of a task and the stages of its native calls; results and cancelling pass through."""
    tasks, said = part("logic.tasks"), []

    def inner():
        yield tasks.Progress(0.1, "Reading")
        return (yield tasks.Work("Fitting", lambda progress: [progress(0.5, "Refining"), progress(1.0, "")], 0.2, 1.0))

    assert tasks.finish(tasks.titled(inner(), "Run"), lambda _f, text: not said.append(text)) == [True, True]
    assert said == ["Run: reading", "Run: Refining", "Run: Fitting"]
    stepper = tasks.Stepper(tasks.titled(inner(), "Run"))
    stepper.advance()
    assert stepper.text == "Run: reading"
    stepper.cancel()
    assert stepper.advance() and isinstance(stepper.error, part("logic.errors").Cancelled)


def test_buttons_without_a_name(dancer):
    """Without a name the operators of one bake take the one that plays; without a bake they say what to press."""
    body, _ = dancer
    operators = bpy.ops.thew
    for operator in (operators.bake_again, operators.bake_remove, operators.bake_show):
        text = refusal(operator)
        assert "“Body” has no bake: press Bake first" in text
    for name in ("One", "Two"):
        assert operators.bake(name=name, clips="CHOSEN", actions="Run") == {"FINISHED"}
    assert operators.bake_show(name="One") == {"FINISHED"}
    assert operators.bake_again() == {"FINISHED"} and operators.bake_show() == {"FINISHED"}
    assert [(bake.name, bake.plays) for bake in body.thew.bakes] == [("One", True), ("Two", False)]
    assert operators.bake_remove() == {"FINISHED"}
    assert [bake.name for bake in body.thew.bakes] == ["Two"]


def test_list_has_clips_before_remarks(dancer):
    """The list has a bake's size, then its clips, then what engines take of it."""
    body, _ = dancer
    bake_all(body)
    layout = Layout()
    part("ui.bake_panel").draw_bakes(layout, body, 1000)
    read = layout.read()
    (engines,) = [i for i, text in enumerate(read) if "Filament" in text]
    clips = [i for i, text in enumerate(read) if text.startswith(("“Run”, ", "“Walk”, ", "“Turn”, "))]
    (size,) = [i for i, text in enumerate(read) if "3 clips" in text]
    assert len(clips) == 3 and size < min(clips) and max(clips) < engines


def test_texture_before_an_export(dancer, tmp_path):
    """glTF, FBX and USD of a vertex texture are told once to hold the plain skin, as information; points are not."""
    body, _ = dancer
    traps, check = part("bake.traps"), part("bake.export_check")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    assert bpy.ops.thew.bake(target="VERTEX_TEXTURE", clips="CHOSEN", actions="Run") == {"FINISHED"}

    def found(exporter, **values):
        every = check.find_traps([body], traps.ExportSettings(exporter, values))
        return [trap.level for trap in every if trap.key == "texture"]

    for exporter in ("EXPORT_SCENE_OT_gltf", "EXPORT_SCENE_OT_fbx", "WM_OT_usd_export"):
        assert found(exporter) == ["NOTICE"]
    assert found("WM_OT_alembic_export") == [] and not check.check(body)
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    assert found("EXPORT_SCENE_OT_gltf") == []
