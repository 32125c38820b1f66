# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about flesh, as states: every pair of state and event is in one table or refused, and none is idle."""

from __future__ import annotations

import importlib
import random
import sys
from itertools import product
from pathlib import Path

import pytest

ADDON = Path(__file__).resolve().parents[2] / "blender_addon"
sys.path.insert(0, str(ADDON))
states = importlib.import_module("logic.states")
Clip, Mesh, Motion, Build, Switch, Pose, Echo = states.REGIONS
Event, Effect, Condition = states.Event, states.Effect, states.Condition


def told(*events, condition=None):
    """The condition after events, and all that they asked for."""
    condition, effects = condition or Condition(), []
    for event in events:
        condition, asked = states.after(condition, event)
        effects += asked
    return condition, effects


def reachable(start=Condition(), events=Event) -> set:  # noqa: B008  (frozen)
    """Every condition that some events lead to."""
    found, new = {start}, [start]
    while new:
        condition = new.pop()
        for event in events:
            try:
                there, _ = states.after(condition, event)
            except states.ImpossibleError:
                continue
            if there not in found:
                found.add(there)
                new.append(there)
    return found


def test_every_pair_is_in_the_table_or_refused_with_a_sentence():
    for state, event in product([state for region in states.REGIONS for state in region], Event):
        said = states.IMPOSSIBLE.get((state, event))
        assert ((state, event) in states.TABLE) == (said is None)
        assert said is None or (said[0].isupper() and " " in said)
    for (state, _), step in states.TABLE.items():
        assert type(step.to) is type(state)
        assert step.then is None or step.then not in {
            event for event in Event if states.MOVES[event].get(state) is step
        }
    assert set(states.MOVES) == set(Event) and all(states.MOVES.values())


def test_what_is_refused_is_not_also_meant_to_move():
    assert not [pair for pair in states.IMPOSSIBLE if pair[0] in states.MOVES[pair[1]]]


def test_every_state_is_reached_and_every_effect_asked_for():
    found = reachable()
    for region, name in zip(states.REGIONS, Condition.__dataclass_fields__, strict=True):
        assert {getattr(condition, name) for condition in found} == set(region)
    assert {effect for step in states.TABLE.values() for effect in step.effects} == set(Effect)


def test_the_impossible_says_why_and_changes_nothing():
    for state, event in states.IMPOSSIBLE:
        condition = Condition(clip=state)
        with pytest.raises(states.ImpossibleError, match=states.IMPOSSIBLE[state, event]):
            states.after(condition, event)
        assert condition == Condition(clip=state)


def test_a_built_clip_is_shown_whatever_was_before():
    for condition in reachable():
        there, effects = told(
            Event.CLIP_MADE, Event.MESH_READ, Event.MOTION_READ, Event.CLIP_SHOWN, condition=condition
        )
        assert there.showable and there.trusted and there.build is Build.OPEN and there.pose is Pose.SIMULATED
        assert effects == []


def test_our_own_writing_is_no_edit_and_others_is():
    made, _ = told(Event.CLIP_MADE, Event.WROTE)
    ours, effects = told(Event.MESH_UPDATED, condition=made)
    assert ours.trusted and ours.echo is Echo.NONE and effects == []
    theirs, effects = told(Event.MESH_UPDATED, condition=ours)
    assert theirs.mesh is Mesh.TOUCHED and effects == [Effect.COUNT, Effect.WAIT]
    after_evaluation, _ = told(Event.EVALUATED, Event.MESH_UPDATED, condition=made)
    assert after_evaluation.mesh is Mesh.TOUCHED


def test_edited_curves_are_doubted_only_when_looked_at_closely():
    edited, _ = told(Event.CLIP_MADE, Event.CURVES_EDITED)
    assert edited.trusted
    looked, _ = told(Event.LOOKED_CLOSELY, condition=edited)
    assert not looked.trusted
    assert told(Event.CLIP_MADE, Event.LOOKED_CLOSELY)[0].trusted
    assert told(Event.MOTION_READ, condition=looked)[0].trusted


def test_keys_of_its_own_leave_what_is_seen_and_are_known_to_be_behind():
    keyed, effects = told(Event.CLIP_MADE, Event.CURVES_EDITED, Event.KEYS_EDITED)
    assert keyed.motion is Motion.KEYED and keyed.trusted and keyed.behind and not effects
    assert told(Event.CURVES_EDITED, condition=keyed)[0].behind, "other curves take nothing back"
    assert not told(Event.CLIP_MADE, Event.CURVES_EDITED)[0].behind
    for event in (Event.LOOKED_CLOSELY, Event.POSE_DIFFERS):
        assert told(event, condition=keyed)[0].motion is Motion.DIFFERS
    assert not told(Event.MOTION_READ, condition=keyed)[0].behind
    assert not told(Event.FAILED, condition=keyed)[0].behind, "what failed is not begun again while it plays"


def test_what_failed_is_not_tried_again_until_something_changes():
    failed, effects = told(Event.CLIP_MADE, Event.POSE_DIFFERS, Event.MESH_TOUCHED, Event.FAILED)
    assert failed.build is Build.FAILED and failed.trusted and effects == [Effect.HIDE]
    for event in (Event.MESH_UPDATED, Event.POSE_DIFFERS, Event.LOOKED_CLOSELY):
        assert not told(event, condition=failed)[0].trusted
    assert told(Event.UNDONE, condition=failed)[0].build is Build.OPEN
    assert told(Event.CLIP_MADE, condition=failed)[0].build is Build.OPEN


def test_a_switch_is_thrown_once_each_way():
    off, effects = told(Event.REFUSED, Event.REFUSED)
    assert off.switch is Switch.OFF and effects == [Effect.SWITCH]
    on, effects = told(Event.ACCEPTED, Event.ACCEPTED, condition=off)
    assert on.switch is Switch.ON and effects == [Effect.SWITCH]


def test_a_clip_of_another_mesh_is_hidden_once_and_not_shown():
    misfit, effects = told(Event.CLIP_MADE, Event.MISFITS, Event.MISFITS)
    assert misfit.clip is Clip.MISFIT and not misfit.showable and effects == [Effect.HIDE]
    assert told(Event.RIGS_CHANGED, condition=misfit)[0].clip is Clip.MISFIT
    assert told(Event.BODY_MADE, condition=misfit)[0].clip is Clip.NONE


def test_a_clip_stays_behind_the_rigs_until_it_is_made_again():
    behind, _ = told(Event.CLIP_MADE, Event.RIGS_CHANGED)
    assert behind.clip is Clip.BEHIND and behind.showable
    assert told(Event.CLIP_KEPT, condition=behind)[0].clip is Clip.BEHIND
    assert told(Event.CLIP_MADE, condition=behind)[0].clip is Clip.CURRENT
    assert told(Event.RIGS_CHANGED)[0].clip is Clip.NONE


#: The events of keyframed flesh and of riders, whose other regions stay as they are.
RIDER = (Event.MESH_UPDATED, Event.MESH_TOUCHED, Event.UNDONE, Event.MESH_READ, Event.WROTE)
KEYFRAMED = (*RIDER, Event.EVALUATED, Event.CLIP_MADE, Event.FAILED)


@pytest.mark.parametrize(
    ("events", "regions"),
    [(RIDER, ("mesh", "echo")), (KEYFRAMED, ("clip", "mesh", "build", "echo"))],
    ids=["rider", "keyframed"],
)
def test_regions_of_riders_and_keyframed_flesh(events, regions):
    """They reach every state of the regions that apply to them, but clips are never late, and none of the others."""
    found = reachable(states.UNREAD, events)
    for region, name in zip(states.REGIONS, Condition.__dataclass_fields__, strict=True):
        expected = set(region) - {Clip.BEHIND, Clip.MISFIT} if name in regions else {getattr(Condition(), name)}
        assert {getattr(condition, name) for condition in found} == expected, name
    assert len(found) == (4 if events is RIDER else 16)


def test_keyframed_flesh_is_doubted_until_it_is_built_and_after_a_failure():
    built, effects = told(Event.MESH_READ, Event.CLIP_MADE, condition=states.UNREAD)
    assert built.trusted and built.showable and built.build is Build.OPEN and effects == []
    failed, _ = told(Event.MESH_TOUCHED, Event.FAILED, condition=built)
    assert failed.build is Build.FAILED and failed.showable, "the last motion stays in view"
    assert told(Event.MESH_READ, Event.CLIP_MADE, condition=failed)[0] == built
    assert told(Event.WROTE, Event.MESH_UPDATED, condition=built)[0] == built, "our own writing is no edit"
    assert told(Event.MESH_UPDATED, condition=built)[0].mesh is Mesh.TOUCHED


@pytest.mark.parametrize("seed", range(20))
def test_events_never_show_what_is_not_there(seed):
    """Long random lives: what is showable was made, and everything that hides it asked for it."""
    rng, condition = random.Random(seed), Condition()
    for _ in range(500):
        event = rng.choice(list(Event))
        try:
            there, effects = states.after(condition, event)
        except states.ImpossibleError:
            assert not condition.showable
            continue
        if there.showable and not condition.showable:
            assert event in {Event.CLIP_MADE, Event.CLIP_KEPT}
        if condition.showable and not there.showable:
            assert Effect.HIDE in effects or event is Event.BODY_MADE
        condition = there
