# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain functions and tasks behind the operators, the frame handler and the command line.

The scene changes only after everything that can fail or be cancelled.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..logic import fine_detail, session_log
from ..logic.errors import Cancelled, Refusal, sentence
from ..logic.names import describe
from ..logic.sentences import notes_of, plural
from ..logic.states import Effect, Event, Mesh, Switch
from ..logic.still_poses import still_text
from ..logic.tasks import Task, finish
from ..rigs import rigging
from ..saved import additions, restarts
from ..saved import bakes as saved_bakes
from ..scene import bakes, cache_files, flesh_map, groups, libraries, modifier, pins, poses, reading
from ..scene.bind_pose import BindPose
from ..scene.mesh import active_attribute
from . import building, contact, joint_simulation, keyframed, riding, rig_actions, session, skin, validity
from .build_settings import BuildSettings
from .events import EFFECT_HANDLERS, report_event
from .flesh import Flesh
from .registers import is_alive
from .session import register

# adding and simulating ------------------------------------------------------------------------------------------------


def add(obj, scene, view_layer, cells_across: int | None = None, method: str | None = None, simulate=True) -> Task:
    """Builds a task that gives `obj` flesh, or rebuilds it; returns the `Flesh`. `simulate`: simulates its motion too.

    A deleted modifier of ours is made again, and flesh whose Armature modifier is gone follows another one.
    """
    subject = reading.subject(obj, view_layer, anew=True)
    if obj.thew.made.rides or obj.thew.made.keyframed:
        what = "rides on another body" if obj.thew.made.rides else "has keyframed flesh"
        raise Refusal(
            f"{describe(obj)} {what}: press Remove there first, if it should have flesh that its bones drag along"
        )
    view_layer.update()
    had = obj.thew.made.flesh
    bind_pose = BindPose.from_saved(obj) if had else BindPose.read(subject, scene)
    build_settings = BuildSettings.from_object(obj, scene, bind_pose.guessed_height)
    simulation = build_settings.simulation.replace(method=method or build_settings.method)
    build_settings = replace(
        build_settings, cells_across=cells_across or build_settings.cells_across, simulation=simulation
    )
    cuts = set() if had else cuts_of_others(obj, subject.armature, scene)
    build_settings = replace(build_settings, restarts=tuple(sorted({*build_settings.restarts, *cuts})))
    frames = _live_frames(obj, scene) if simulate else None
    if had:
        modifier.note_modifier(obj)
    placed = modifier.modifier_by_id(obj, obj.thew.made.modifier) is not None
    placed = placed and obj.thew.made.armature_modifier == subject.modifier.persistent_uid
    placed = placed and not (modifier.is_former_flesh(obj) or modifier.splits_chain(obj))
    if not placed:
        modifier.check_place(obj, subject.modifier)
    flesh = register.state_of(obj) if had else Flesh()
    yield from build(flesh, subject, bind_pose, build_settings, scene, view_layer, frames)
    subject = reading.subject(obj, view_layer, anew=True)  # another window may have edited it, or its modifiers

    settings, made = obj.thew, obj.thew.made
    settings.cells_across, settings.method = build_settings.cells_across, build_settings.method
    if not had:
        bind_pose.save(obj)
        made.found_attribute = active_attribute(obj.data)
        made.flesh = True
        restarts.add(settings, cuts)
        register.keep(obj, flesh)
    if not placed:
        modifier.insert(obj, modifier.modifier_by_id(obj, subject.modifier.persistent_uid))
    made.shows_bake = False
    settings.enabled = True
    flesh_map.fill(obj, subject.armature, flesh_map.automatic_map(flesh))
    apply_state(obj)
    settle(obj, flesh, scene)
    return flesh


def cuts_of_others(obj, armature, scene) -> set[int]:
    """Returns the frames in which other flesh on the armature begins anew: a cut holds for all of a character."""
    others = (other for other in register.objects(scene) if other != obj and reading.armature_of(other) == armature)
    return set().union(*(restarts.frames(other.thew) for other in others))


def simulate(obj, scene, view_layer, start: int | None = None, end: int | None = None) -> Task:
    """Builds a task that reads the poses again and simulates them; `start` and `end`, if given, become the object's own range."""
    check_flesh(obj)
    subject = reading.subject(obj, view_layer)
    live = obj.thew.frames(scene)
    own = live_range(obj, live, start, end)
    frames = groups.frames(obj, scene, own)
    flesh = register.state_of(obj)
    build_settings = replace(BuildSettings.from_object(obj, scene), live=frames)
    bind_pose = BindPose.from_saved(obj)
    yield from build(flesh, subject, bind_pose, build_settings, scene, view_layer, frames)
    reading.subject(obj, view_layer)  # Edit Mode, entered while the window stayed responsive, holds a copy of the mesh
    settings = obj.thew
    settings.settled = False
    if own != live:
        settings.use_scene_range = own == (scene.frame_start, scene.frame_end)
        settings.frame_start, settings.frame_end = own
    settings.made.shows_bake = False
    settings.enabled = True
    if settings.made.flesh_map:
        flesh_map.fill(obj, subject.armature, flesh_map.automatic_map(flesh))
    apply_state(obj)
    settle(obj, flesh, scene)
    return flesh


def update(obj, scene, view_layer, flesh: Flesh, still: bool | None = None, believe: bool = False) -> Task:
    """Builds a task that brings a live object's clip up to date with its settings and, where in doubt, with Blender's data.

    `still`: the clip may lag behind the rigs, because flesh is shown settled (None: if the artist's view is settled). `believe`:
    see `building.build`.
    """
    still = obj.thew.settled if still is None else still
    build_settings = BuildSettings.from_object(obj, scene)
    frames = _live_frames(obj, scene)
    known = validity.motion_holds(obj, flesh, build_settings, frames)
    if known and flesh.clip_end > frames[1] and not validity.same_but_range(flesh, build_settings):
        known = False  # the range was shortened: simulate only the present one
    if known and validity.mesh_holds(obj, flesh) and not build_settings.others:
        place = building.body_place(flesh.character, flesh.bind_pose, build_settings)
        rigs = rigging.resolve_rigs(obj, flesh.character, flesh.bind_pose, place)
        parts = flesh.character, flesh.bind_pose, build_settings, flesh.motion
        yield from building.make(obj, flesh, *parts, rigs, still)
    else:
        found, bind_pose = reading.subject(obj, view_layer), BindPose.from_saved(obj)
        trust = known or bool(build_settings.others)
        yield from build(flesh, found, bind_pose, build_settings, scene, view_layer, frames, trust, still, believe)
    settle(obj, flesh, scene)
    return flesh


def build(
    flesh: Flesh, subject, bind_pose, build_settings, scene, view_layer, frames, trust=False, still=False, believe=False
) -> Task:
    """Builds as `joint_simulation.build`, and shows the result on all objects that were simulated along."""
    given = subject, bind_pose, build_settings, scene, view_layer, frames, trust, still, believe
    others = yield from joint_simulation.build(flesh, *given)
    for other, its in others:
        if not is_alive(other):
            continue  # deleted meanwhile
        if session.is_shown(other):
            settle(other, its, scene)
        else:
            note(other, its)


def _live_frames(obj, scene) -> tuple[int, int]:
    live_range(obj, obj.thew.frames(scene))
    return groups.frames(obj, scene)


def live_range(obj, live: tuple[int, int], start: int | None = None, end: int | None = None) -> tuple[int, int]:
    """Returns a range of frames, where None its ends are those of `live`; refuses one without frames."""
    start, end = live[0] if start is None else start, live[1] if end is None else end
    if end < start:
        raise Refusal(f"The frame range {start} to {end} for {describe(obj)} is empty: make it end after it starts")
    return start, end


def check_flesh(obj) -> None:
    """Refuses an object that cannot have or does not have flesh."""
    reading.check_editable(obj)
    if not obj.thew.made.flesh:
        raise Refusal(f"{describe(obj)} has no flesh: press Add Flesh first")
    modifier.note_modifier(obj)
    if modifier.modifier_by_id(obj, obj.thew.made.modifier) is None:
        raise Refusal(f"Thew's modifier is gone from {describe(obj)}: press Add Flesh again, or Remove Flesh")
    if modifier.is_former_flesh(obj):
        modifier.migrate(obj)
        apply_state(obj)


def rest(obj, scene, view_layer) -> Task:
    """Builds a task that shows the flesh at rest in Blender's present pose, pushed by the rigs; returns the `Flesh`."""
    check_flesh(obj)
    subject = reading.subject(obj, view_layer)
    flesh = register.state_of(obj)
    view_layer.update()
    build_settings, bind_pose = BuildSettings.from_object(obj, scene), BindPose.from_saved(obj)
    if flesh.body is None or flesh.condition.mesh is Mesh.TOUCHED or validity.names_changed(obj, flesh):
        yield from building.build(flesh, subject, bind_pose, build_settings, scene, view_layer, None, still=True)
    elif flesh.build_settings != build_settings:
        rigs = rigging.resolve_rigs(
            obj, flesh.character, bind_pose, building.body_place(flesh.character, bind_pose, build_settings)
        )
        parts = flesh.character, bind_pose, build_settings, flesh.motion
        yield from building.make(obj, flesh, *parts, rigs, still=True)
    with poses.show_hidden([subject.armature, subject.obj]):
        view_layer.update()
        pose = flesh.pose(subject, view_layer.depsgraph, scene.frame_current, with_contact=True)
    offsets = flesh.settled_at(
        pose.maps, pose.mesh, rig_actions.at_rest(flesh, obj, pose.controls), collided=pose.colliders
    )
    settings = obj.thew
    settings.made.shows_bake = False
    settings.enabled = settings.settled = True
    apply_state(obj)
    note(obj, flesh)
    session.write(obj, flesh, np.float32(session.present_influence(obj)) * offsets, scene)
    report_event(obj, flesh, Event.POSE_SHOWN)
    return flesh


def with_body(obj, scene, view_layer) -> Flesh:
    """Returns the flesh of `obj` with its body, built at once where it is missing: in a file just opened, or after a bone was
    renamed.
    """
    check_flesh(obj)
    flesh = register.state_of(obj)
    if flesh.body is None or validity.names_changed(obj, flesh):
        found, bind_pose = reading.subject(obj, view_layer), BindPose.from_saved(obj)
        build_settings = BuildSettings.from_object(obj, scene)
        finish(building.build(flesh, found, bind_pose, build_settings, scene, view_layer, None))
    return flesh


def settle(obj, flesh, scene) -> None:
    """Finishes a build: renews the node tree, the notes and the flesh of the current frame."""
    modifier.renew_tree(obj)
    report_event(obj, flesh, Event.ACCEPTED)
    note(obj, flesh)
    session.present(obj, flesh, scene)


def note(obj, flesh) -> None:
    """Stores the notes on the flesh with the object."""
    notes = [
        *still_notes(obj, flesh),
        *notes_of(flesh, obj.thew.preview_mode),
        *fine_detail.function_notes(flesh),
        *contact.notes(flesh),
        *pins.problems(obj),
    ]
    obj.thew.made.notes = "\n".join(notes)
    rigging.store_problems(obj, flesh.rig_problems, flesh.pushing.notes)


def still_notes(obj, flesh) -> list[str]:
    """Returns the note that the bones stand still for most of the frames, as where a scene is longer than its action."""
    frame = still_frame(flesh)
    return [] if frame is None else [still_text(frame, flesh.build_settings.live[1], obj.thew.use_scene_range)]


def still_frame(flesh) -> int | None:
    """Returns the frame from which the bones stand still for most of the frames of a clip; None where they do not."""
    if flesh is None or flesh.motion is None or flesh.clip is None:
        return None
    return flesh.motion.still_frame(*flesh.build_settings.live)


def refuse(obj, flesh, error: BaseException) -> None:
    """Shows the plain armature of an object that can no longer have flesh, and reports why."""
    fail(obj, flesh, error)
    report_event(obj, flesh, Event.REFUSED)


def fail(obj, flesh, error: BaseException) -> None:
    """Reports, once, why an object's flesh could not be brought up to date."""
    problem = "" if isinstance(error, Cancelled) else sentence(str(error))
    if problem and (problem != flesh.problem or problem != obj.thew.made.notes):
        flesh.problem = obj.thew.made.notes = problem
        session_log.note_refusal(obj.name, problem)
        print(f"Thew: {problem}")


# display -------------------------------------------------------------------------------------------------------------


def apply_state(obj) -> None:
    """Switches modifiers and baked keys to match the settings: live flesh, the bake, or the plain skin."""
    known = register.known_state(obj)
    if not skin.switch(obj, known is None or known.condition.switch is Switch.ON):
        session.hide(obj, known)


EFFECT_HANDLERS[Flesh, Effect.SWITCH] = lambda obj, _flesh: apply_state(obj)


# removing -------------------------------------------------------------------------------------------------------------


def remove(obj, remove_baked_keys: bool = False, remove_rigs: bool = False, keep_settings: bool = False) -> list[str]:
    """Restores the object to its state before flesh was added; returns notes for the artist.

    Rigs are the artist's work: they are kept for when flesh is added again, unless `remove_rigs`. `keep_settings`: so are settings that
    were changed.
    """
    reading.check_editable(obj)
    saved_bakes.migrate(obj)
    made = obj.thew.made
    name = describe(obj)
    if (
        not (made.flesh or made.rides or made.keyframed)
        and not bakes.bake_descriptions(obj)
        and not modifier.thew_modifiers(obj)
        and not (remove_rigs and len(obj.thew.rigs))
    ):
        raise Refusal(f"{name} has no flesh: nothing to remove")
    if remove_rigs:
        libraries.check_own_entry(obj, "rigs", 0, "rig")
    if remove_baked_keys:
        bakes.remove(obj)
    if made.rides:
        return riding.dismount(obj)
    if made.keyframed:
        libraries.check_own_mesh(obj, "its keyframed flesh cannot be removed", "remove it in that file")
        return keyframed.remove(obj)
    sentences = []
    if made.flesh:
        if modifier.modifier_by_id(obj, made.armature_modifier) is None:
            sentences.append(f"The Armature modifier that the flesh of {name} followed was no longer there")
        sentences += flesh_map.remove_unpainted(obj, reading.armature_of(obj))
    if remove_rigs:
        rigging.clear(obj)
    elif len(obj.thew.rigs):
        sentences.append(f"{name} keeps its {plural(len(obj.thew.rigs), 'rig')}, for when flesh is added again")
    if keep_settings and additions.changed_settings(obj):
        sentences.append(f"{name} keeps its settings, for when flesh is added again")
    sentences += riding.dismount_all(obj)
    cache_files.forget(obj)
    return [*skin.remove_thew(obj, "its armature moves it again", keep_settings), *sentences]
