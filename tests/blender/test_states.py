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


def apply_events(*events, condition=None):
    """Returns the condition after events, and all effects that they requested."""
    condition, effects = condition or Condition(), []
    for event in events:
        condition, asked = states.apply_event(condition, event)
        effects += asked
    return condition, effects


def reachable_conditions(start=Condition(), events=Event) -> set:  # noqa: B008  (frozen)
    """Returns every condition that some events lead to."""
    found, new = {start}, [start]
    while new:
        condition = new.pop()
        for event in events:
            try:
                there, _ = states.apply_event(condition, event)
            except states.ImpossibleError:
                continue
            if there not in found:
                found.add(there)
                new.append(there)
    return found


def test_states_table_complete():
    """Every pair of state and event is in the table or refused with a message."""
    for state, event in product([state for region in states.REGIONS for state in region], Event):
        said = states.IMPOSSIBLE.get((state, event))
        assert ((state, event) in states.TRANSITION_TABLE) == (said is None)
        assert said is None or (said[0].isupper() and " " in said)
    for (state, _), step in states.TRANSITION_TABLE.items():
        assert type(step.to) is type(state)
        assert step.then is None or step.then not in {
            event for event in Event if states.TRANSITIONS[event].get(state) is step
        }
    assert set(states.TRANSITIONS) == set(Event) and all(states.TRANSITIONS.values())


def test_states_refusals_have_no_moves():
    """A refused pair has no move in the table."""
    assert not [pair for pair in states.IMPOSSIBLE if pair[0] in states.TRANSITIONS[pair[1]]]


def test_states_all_reachable():
    """Every state can be reached, and every effect is requested somewhere."""
    found = reachable_conditions()
    for region, name in zip(states.REGIONS, Condition.__dataclass_fields__, strict=True):
        assert {getattr(condition, name) for condition in found} == set(region)
    assert {effect for step in states.TRANSITION_TABLE.values() for effect in step.effects} == set(Effect)


def test_states_impossible_raises():
    """An impossible event raises its message and changes nothing."""
    for state, event in states.IMPOSSIBLE:
        condition = Condition(clip=state)
        with pytest.raises(states.ImpossibleError, match=states.IMPOSSIBLE[state, event]):
            states.apply_event(condition, event)
        assert condition == Condition(clip=state)


def test_clip_made_is_shown():
    """A new clip is shown and trusted whatever the condition was before."""
    for condition in reachable_conditions():
        there, effects = apply_events(
            Event.CLIP_MADE, Event.MESH_READ, Event.MOTION_READ, Event.CLIP_SHOWN, condition=condition
        )
        assert there.is_showable and there.is_trusted and there.build is Build.OPEN and there.pose is Pose.SIMULATED
        assert effects == []


def test_mesh_update_after_own_write():
    """A mesh update after our own writing does not count as an edit, and any other one does."""
    made, _ = apply_events(Event.CLIP_MADE, Event.WROTE)
    ours, effects = apply_events(Event.MESH_UPDATED, condition=made)
    assert ours.is_trusted and ours.echo is Echo.NONE and effects == []
    theirs, effects = apply_events(Event.MESH_UPDATED, condition=ours)
    assert theirs.mesh is Mesh.TOUCHED and effects == [Effect.COUNT, Effect.WAIT]
    after_evaluation, _ = apply_events(Event.EVALUATED, Event.MESH_UPDATED, condition=made)
    assert after_evaluation.mesh is Mesh.TOUCHED


def test_curves_edited_until_looked():
    """Edited curves are doubted only after a close look."""
    edited, _ = apply_events(Event.CLIP_MADE, Event.CURVES_EDITED)
    assert edited.is_trusted
    looked, _ = apply_events(Event.LOOKED_CLOSELY, condition=edited)
    assert not looked.is_trusted
    assert apply_events(Event.CLIP_MADE, Event.LOOKED_CLOSELY)[0].is_trusted
    assert apply_events(Event.MOTION_READ, condition=looked)[0].is_trusted


def test_keys_edited_marks_behind():
    """Edited keys of the character leave its flesh shown and mark it as behind."""
    keyed, effects = apply_events(Event.CLIP_MADE, Event.CURVES_EDITED, Event.KEYS_EDITED)
    assert keyed.motion is Motion.KEYED and keyed.is_trusted and keyed.is_behind and not effects
    assert apply_events(Event.CURVES_EDITED, condition=keyed)[0].is_behind, "other curves take nothing back"
    assert not apply_events(Event.CLIP_MADE, Event.CURVES_EDITED)[0].is_behind
    for event in (Event.LOOKED_CLOSELY, Event.POSE_DIFFERS):
        assert apply_events(event, condition=keyed)[0].motion is Motion.DIFFERS
    assert not apply_events(Event.MOTION_READ, condition=keyed)[0].is_behind
    assert not apply_events(Event.FAILED, condition=keyed)[0].is_behind, "what failed is not begun again while it plays"


def test_failed_build_not_retried():
    """A failed build is tried again only after something changes."""
    failed, effects = apply_events(Event.CLIP_MADE, Event.POSE_DIFFERS, Event.MESH_TOUCHED, Event.FAILED)
    assert failed.build is Build.FAILED and failed.is_trusted and effects == [Effect.HIDE]
    for event in (Event.MESH_UPDATED, Event.POSE_DIFFERS, Event.LOOKED_CLOSELY):
        assert not apply_events(event, condition=failed)[0].is_trusted
    assert apply_events(Event.UNDONE, condition=failed)[0].build is Build.OPEN
    assert apply_events(Event.CLIP_MADE, condition=failed)[0].build is Build.OPEN


def test_refused_setting_keeps_flesh():
    """A refused setting hides nothing, is not tried again, and is forgotten once the setting is as before or another build is made."""
    declined, effects = apply_events(Event.CLIP_MADE, Event.MESH_TOUCHED, Event.POSE_DIFFERS, Event.DECLINED)
    assert declined.build is Build.DECLINED and declined.is_showable and declined.is_trusted and effects == []
    for event in (Event.ACCEPTED, Event.CLIP_MADE, Event.UNDONE):
        assert apply_events(event, condition=declined)[0].build is Build.OPEN
    failed, effects = apply_events(Event.FAILED, condition=declined)
    assert failed.build is Build.FAILED and effects == [Effect.HIDE]


def test_switch_thrown_once():
    """The switch is thrown once each way, however often the event repeats."""
    off, effects = apply_events(Event.REFUSED, Event.REFUSED)
    assert off.switch is Switch.OFF and effects == [Effect.SWITCH]
    on, effects = apply_events(Event.ACCEPTED, Event.ACCEPTED, condition=off)
    assert on.switch is Switch.ON and effects == [Effect.SWITCH]


def test_misfit_clip_hidden():
    """A clip of another mesh is hidden once and not shown again."""
    misfit, effects = apply_events(Event.CLIP_MADE, Event.MISFITS, Event.MISFITS)
    assert misfit.clip is Clip.MISFIT and not misfit.is_showable and effects == [Effect.HIDE]
    assert apply_events(Event.RIGS_CHANGED, condition=misfit)[0].clip is Clip.MISFIT
    assert apply_events(Event.BODY_MADE, condition=misfit)[0].clip is Clip.NONE


def test_clip_behind_rigs():
    """A clip stays behind the changed rigs until it is made again."""
    behind, _ = apply_events(Event.CLIP_MADE, Event.RIGS_CHANGED)
    assert behind.clip is Clip.BEHIND and behind.is_showable
    assert apply_events(Event.CLIP_KEPT, condition=behind)[0].clip is Clip.BEHIND
    assert apply_events(Event.CLIP_MADE, condition=behind)[0].clip is Clip.CURRENT
    assert apply_events(Event.RIGS_CHANGED)[0].clip is Clip.NONE


#: The events of keyframed flesh and of riders, whose other regions stay as they are.
RIDER = (Event.MESH_UPDATED, Event.MESH_TOUCHED, Event.UNDONE, Event.MESH_READ, Event.WROTE)
KEYFRAMED = (*RIDER, Event.EVALUATED, Event.CLIP_MADE, Event.FAILED)


@pytest.mark.parametrize(
    ("events", "regions"),
    [(RIDER, ("mesh", "echo")), (KEYFRAMED, ("clip", "mesh", "build", "echo"))],
    ids=["rider", "keyframed"],
)
def test_states_of_riders_and_keyframed(events, regions):
    """Riders and keyframed flesh reach exactly the states of their regions, except late clips and refused settings."""
    found = reachable_conditions(states.UNREAD_CONDITION, events)
    for region, name in zip(states.REGIONS, Condition.__dataclass_fields__, strict=True):
        expected = (
            set(region) - {Clip.BEHIND, Clip.MISFIT, Build.DECLINED}
            if name in regions
            else {getattr(Condition(), name)}
        )
        assert {getattr(condition, name) for condition in found} == expected, name
    assert len(found) == (4 if events is RIDER else 16)


def test_keyframed_trusted_when_built():
    """Keyframed flesh is trusted only once it is built, and not after a failure."""
    built, effects = apply_events(Event.MESH_READ, Event.CLIP_MADE, condition=states.UNREAD_CONDITION)
    assert built.is_trusted and built.is_showable and built.build is Build.OPEN and effects == []
    failed, _ = apply_events(Event.MESH_TOUCHED, Event.FAILED, condition=built)
    assert failed.build is Build.FAILED and failed.is_showable, "the last motion stays in view"
    assert apply_events(Event.MESH_READ, Event.CLIP_MADE, condition=failed)[0] == built
    assert apply_events(Event.WROTE, Event.MESH_UPDATED, condition=built)[0] == built, "our own writing is no edit"
    assert apply_events(Event.MESH_UPDATED, condition=built)[0].mesh is Mesh.TOUCHED


@pytest.mark.parametrize("seed", range(20))
def test_states_random_events(seed):
    """In long random lives a shown clip was made, and every event that hides it requests the hiding."""
    rng, condition = random.Random(seed), Condition()
    for _ in range(500):
        event = rng.choice(list(Event))
        try:
            there, effects = states.apply_event(condition, event)
        except states.ImpossibleError:
            assert not condition.is_showable
            continue
        if there.is_showable and not condition.is_showable:
            assert event in {Event.CLIP_MADE, Event.CLIP_KEPT}
        if condition.is_showable and not there.is_showable:
            assert Effect.HIDE in effects or event is Event.BODY_MADE
        condition = there
