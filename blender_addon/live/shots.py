# SPDX-License-Identifier: GPL-3.0-or-later
"""Export of characters as shots, for machines without Blender, and import of their clips.

A shot (`thew.Shot`) holds all that the simulation of one mesh needs. A note travels along: mesh, frames, and the path of the bones.
With it Blender refuses a clip of another mesh or motion.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

from ..logic.contact import OTHER_THINGS, Thing
from ..logic.cycles import Beginning
from ..logic.errors import Refusal
from ..logic.json_text import parse_json
from ..logic.names import describe
from ..logic.native import core
from ..logic.sentences import join_words
from ..logic.spaces import MetricSpace
from ..logic.states import Event
from ..logic.tasks import Task, Work, span
from ..saved import validation
from ..scene import groups, poses, reading
from ..scene.bind_pose import BindPose
from ..scene.character import read_character
from . import building, contact, jobs, joint_simulation, limits, noticed_cuts, pins, simulating, simulation_plan
from .build_settings import BuildSettings
from .events import report_event
from .flesh import BuildStages
from .session import register

#: Key of the note among a clip's notes, and its version.
NOTE_KEY, NOTE_VERSION = "blender", 6
#: Largest difference, as a part of the size, between paths that count as equal, whatever Blender's version. It is a fifth of a
#: pixel for a body that fills 2,160 lines, and far above the rounding of single precision.
PATH_TOLERANCE = 1e-4


@dataclass(frozen=True)
class ShotNote:
    """Data that Blender needs when a clip comes back."""

    object: str
    start: int  # the first frame
    end: int
    vertices: int
    mesh: str  # hash of the mesh at rest, its weights and its skeleton
    scale: float  # metres per unit
    place: list[float]  # origin and metres per unit of the clip's space, and -1 where it is mirrored
    others: list[str]  # names of the objects it can be simulated together with
    begun: list[int]  # preroll, period and travel of `cycles.Beginning`; frames before the range
    cuts: list[int]  # frames of the range, from 0, in which its flesh begins anew
    path: list[list[float]]  # see `path_of`
    colliders: list[list]  # of each: name, gap in metres, and path of its middle
    spaces: list[list[float]] = field(default_factory=list)  # see `spaces_of`

    def text(self) -> str:
        """Returns the note as JSON."""
        return json.dumps({"format": NOTE_VERSION, **self.__dict__})

    @staticmethod
    def from_clip(clip: Any, name: str) -> ShotNote:
        """Returns the note of a clip; raises a `Refusal` where it has none. `name`: the file's, in quotes."""
        refusal = f"{name} holds the clip of something that was not exported from Blender: no mesh here could show it"
        try:
            fields = parse_json(clip.notes[NOTE_KEY])
            version = fields.pop("format")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Refusal(refusal) from error
        if version != NOTE_VERSION:
            raise Refusal(f"{name} was exported by another version of Thew: export and simulate it again with this one")
        try:
            note = ShotNote(**fields)
            path = np.array(note.path, dtype=np.float64)
            numbers = (note.start, note.end, note.vertices, *note.begun, *note.cuts)
            good = all(type(each) is int for each in numbers) and len(note.begun) == 4 and note.begun[1] >= 0
            good = good and path.shape == (note.end - note.start + 2, 3) and np.isfinite(path).all()
            place = np.array(note.place, dtype=np.float64)
            good = good and place.shape in {(4,), (5,)} and np.isfinite(place).all() and place[3] > 0.0
            spaces = np.array(note.spaces, dtype=np.float64)
            good = good and spaces.shape in {(len(path), 12), (1, 12)} and np.isfinite(spaces).all()
            good = good and all(isinstance(other, str) for other in note.others)
            good = good and 0.0 < note.scale < np.inf and all(note.is_collider(*each) for each in note.colliders)
        except (TypeError, ValueError) as error:
            raise Refusal(refusal) from error
        if not good or not isinstance(note.object, str) or not isinstance(note.mesh, str):
            raise Refusal(refusal)
        return note

    def is_collider(self, name: str, gap: float, path: list[list[float]]) -> bool:
        """Returns whether the values can be a collider of this note."""
        places = np.array(path, dtype=np.float64)
        good = places.shape == (self.end - self.start + 2, 3) and np.isfinite(places).all()
        return isinstance(name, str) and 0.0 <= gap < np.inf and bool(good)

    def things(self, clip: Any, body: int) -> list[Thing]:
        """Returns the objects that the clip counts apart from its own body (number `body`), in its order: other bodies, then
        colliders.

        The order of the colliders is unknown where others were simulated along.
        """
        most = max((int(clip.contacts(index).other_bodies.max(initial=0)) for index in range(len(clip))), default=0)
        others = [Thing(f"“{name}”") for k, name in enumerate(clip.body_names) if k != body]
        if others or most > len(self.colliders):
            return others + [Thing(OTHER_THINGS)] * max(most - len(others), 0)
        return [Thing(name, gap) for name, gap, _ in self.colliders]

    @property
    def clip_place(self) -> MetricSpace:
        """Returns origin and scale of the clip's metres."""
        return MetricSpace(np.array(self.place[:3]), self.place[3], self.place[4:] == [-1])


def path_of(maps: np.ndarray) -> np.ndarray:
    """Returns one point a frame for the bones' maps [f, b, 4, 4] in metres, [f, 3]: their mean, later bones counting more, so that
    opposite motions do not cancel.
    """
    count = maps.shape[1]
    weights = (1.0 + np.arange(count) / count) / count
    return np.einsum("b,fbi->fi", weights, maps[:, :, :3, 3])


def spaces_of(place: MetricSpace, matrices: np.ndarray) -> list[list[float]]:
    """Returns the three upper rows of the map from the clip's metres into the mesh's space in each frame, or of one if they are equal.

    With them a farm writes caches of a clip that play on the character. `matrices`: the mesh's in the world, [f, 4, 4].
    """
    rows = place.to_object(matrices)[:, :3].reshape(-1, 12)
    return (rows[:1] if (rows == rows[0]).all() else rows).tolist()


def export(obj: bpy.types.Object, scene, view_layer, start: int | None = None, end: int | None = None) -> Task:
    """Builds a task that returns the `thew.Shot` of `obj` over `start`..`end` (None: the range in force), and sentences on faults
    in its contact settings; simulates nothing.
    """
    jobs.check_flesh(obj)
    subject = reading.subject(obj, view_layer)
    live = groups.frames(obj, scene)
    start, end = jobs.live_range(obj, live, start, end)
    first, last = groups.simulated_range(obj, scene, start, end)
    flesh, bind_pose, build_settings = (
        register.state_of(obj),
        BindPose.from_saved(obj),
        BuildSettings.from_object(obj, scene).for_bake(),
    )
    yield from span(building.build(flesh, subject, bind_pose, build_settings, scene, view_layer, None), 0.0, 0.8)
    new = flesh.draft()
    new.rig_problems = dict(new.rig_problems)
    new.motion = yield from span(
        poses.read_motion(
            subject, new.character.bones, flesh.bind_pose.mesh_matrix, scene, view_layer, first, last,
            build_settings.collides_with, build_settings.lead,
        ),
        0.8,
        1.0,
    )  # fmt: skip
    plan = simulation_plan.make_plan(new)
    if build_settings.others:
        plan = simulation_plan.with_run_in(
            new, plan, joint_simulation.NO_LOOP_NOTE
        )  # only the others' shots know whether they repeat
    if plan.continues:
        raise Refusal(
            f"The motion of {describe(obj)} is a cycle up to frame {live[1]} and something else after it, which one "
            f"shot cannot hold: export frames {live[0]} to {live[1]}, or let its motion not start as a cycle"
        )
    shared = joint_simulation.exported_place(subject, flesh, scene, view_layer)
    place, steps = (new.motion_place, {}) if shared is None else (shared[0], {"rate": shared[1]})
    maps = place.maps(new.motion.maps, new.place)
    character = new.character
    note = ShotNote(
        obj.name, first, last, len(character.rest), character.digest.hex(), new.place.metres_per_unit,
        [*place.origin.tolist(), place.metres_per_unit, *([-1] if place.mirrored else [])], list(build_settings.others),
        [plan.beginning.preroll, plan.beginning.period, int(plan.beginning.travels), plan.lead],
        list(plan.cuts), path_of(maps).tolist(),
        [[thing.name, thing.gap, path.tolist()] for thing, path in contact.touchable_things(new, place)],
        spaces_of(place, new.motion.matrices),
    )  # fmt: skip
    held = {**pins.options(new, plan.pin_rows(new), place), **plan.drive_options(new, place)}
    given = simulating.arguments(
        new, plan, *plan.core_inputs(new, place), contact.SharedData(place), **plan.beginning.options(), **held
    )
    given["settings"] = build_settings.with_own_damping(given["settings"])
    return core().Shot(
        **{**given, **steps}, restarts=plan.restarts, notes={NOTE_KEY: note.text()}, name=obj.name
    ), contact.problems(new)


def adopt(subject: reading.Subject, scene, view_layer, start: int, end: int, clip: Any, name: str) -> Task:
    """Builds a task that gives an object's flesh a clip that was simulated elsewhere: see `baking.ClipTask`.

    Raises a `Refusal` for a clip of another mesh, motion, size or range. `name`: the file's, in quotes.
    """
    obj, note = subject.obj, ShotNote.from_clip(clip, name)
    validation.check(obj)
    character = read_character(subject, scene, bpy.context.evaluated_depsgraph_get)
    check_subject(obj, note, clip, name, scene, character)
    if start < note.start or end > note.end:
        raise Refusal(
            f"{name} holds the frames {note.start} to {note.end} of {describe(obj)}, not {start} to {end}: bake those, or "
            "export more"
        )
    bind_pose, build_settings = BindPose.from_saved(obj), BuildSettings.from_object(obj, scene).for_bake()
    flesh = register.state_of(obj)
    new = flesh.draft()
    new.character, new.bind_pose, new.build_settings = character, bind_pose, build_settings
    new.place = building.body_place(character, bind_pose, build_settings)
    if abs(new.place.metres_per_unit - note.scale) > 1e-6 * abs(note.scale):
        raise Refusal(
            f"{describe(obj)} has another Real Size than {name} was exported with: export it and simulate it again"
        )
    reader = poses.read_motion(
        subject, character.bones, bind_pose.mesh_matrix, scene, view_layer, note.start, note.end,
        build_settings.collides_with,
    )  # fmt: skip
    new.motion = yield from span(reader, 0.0, 0.9)
    body = clip.body
    new.body, new.surface, new.skeleton, new.lattice = body, body.surface, body.skeleton, body.lattice
    maps = note.clip_place.maps(new.motion.maps, new.place)
    check_motion(obj, note, new, maps, name)
    plan = adopted_plan(obj, note, clip, maps, name)
    new.beginning, new.clip = plan.beginning, simulating.display_clip(clip, plan)
    new.noticed = noticed_cuts.find(new)
    new.clip_place, new.group_key = note.clip_place, b""
    new.spaces, new.clip_start = new.clip_place.to_object(new.motion.matrices), new.motion.start

    def examine_clip(_progress):
        new.clip.positions(0)  # builds the display data here, not when somebody waits for the first frame
        touching = contact.clip_contacts(new, new.clip, note.things(clip, clip.body_index), clip.body_index)
        lost, gaps = limits.motion_inversions(new, new.clip), pins.gaps(new, new.clip, new.clip_place)
        return touching, lost, gaps, new.surface.report().sentences

    new.touching, new.inverted_count, new.pin_gaps, new.skin_notes = yield Work(
        "Looking at the motion", examine_clip, 0.9, 1.0
    )
    clear_stages(new)
    new.mesh_uid = obj.data.session_uid
    flesh.take(new)
    for event in (Event.CLIP_MADE, Event.MESH_READ, Event.MOTION_READ):
        report_event(obj, flesh, event)


def check_subject(obj: bpy.types.Object, note: ShotNote, clip: Any, name: str, scene, character) -> None:
    """Refuses a clip that was exported from another object, mesh or skeleton, or simulated without others that `obj` touches."""
    if note.object != obj.name and note.object in scene.objects:  # otherwise it was renamed
        raise Refusal(
            f"{name} holds the clip of “{note.object}”, not of {describe(obj)}: bake it on the one it was exported from, or export "
            f"{describe(obj)}"
        )
    if missing := [other for other in note.others if other not in clip.body_names]:
        with_them = join_words([f"“{other}”" for other in missing])
        raise Refusal(
            f"{name} was simulated without {with_them}, whose flesh is to touch that of {describe(obj)}: simulate their shots in "
            "one go with --together, or switch Other Flesh off and export again"
        )
    if len(character.rest) != note.vertices:
        raise Refusal(
            f"{name} holds the clip of a mesh with {note.vertices} vertices (“{note.object}”), but {describe(obj)} has "
            f"{len(character.rest)}: bake it on the mesh that was exported, or export this one"
        )
    if character.digest.hex() != note.mesh:
        raise Refusal(
            f"{name} holds the clip of another mesh or skeleton than {describe(obj)} is now: export it and simulate it again"
        )


def check_motion(obj: bpy.types.Object, note: ShotNote, new: BuildStages, maps: np.ndarray, name: str) -> None:
    """Refuses a clip whose bones, colliders or cuts differ from those of the motion that was read; `maps`: in the clip's metres."""
    away = np.linalg.norm(path_of(maps) - np.array(note.path), axis=1) / max(new.surface.size, 1e-30)
    if not away.max() <= PATH_TOLERANCE:
        raise Refusal(
            f"The bones of {describe(obj)} move differently from those that {name} was exported with, from frame "
            f"{note.start + int(np.argmax(away > PATH_TOLERANCE))} on: export it and simulate it again"
        )
    for thing, path in contact.touchable_things(new, note.clip_place):
        then = next((np.array(path) for name, _, path in note.colliders if name == thing.name), path)
        if not np.linalg.norm(path - then, axis=1).max() <= PATH_TOLERANCE * max(new.surface.size, 1e-30):
            raise Refusal(
                f"{thing.name} is not where it was when {name} was exported: export {describe(obj)} and simulate it again"
            )
    if (cuts := simulation_plan.cuts(new)) != tuple(note.cuts):
        own, theirs = (simulation_plan.range_frames_text(new, each) for each in (cuts, note.cuts))
        raise Refusal(
            f"The flesh of {describe(obj)} begins anew in {own}, that of {name} in {theirs}: export it and simulate it again"
        )


def adopted_plan(
    obj: bpy.types.Object, note: ShotNote, clip: Any, maps: np.ndarray, name: str
) -> simulation_plan.SimulationPlan:
    """Returns the plan by which the clip was simulated; refuses a clip that has another number of frames."""
    preroll, period, travels, lead = note.begun
    begun = Beginning(preroll, period, bool(travels))
    if begun.period >= len(maps) or not 0 <= lead < len(clip) or len(begun.turn(maps)) + lead != len(clip):
        raise Refusal(f"{name} does not hold the frames that it claims: export {describe(obj)} and simulate it again")
    return simulation_plan.SimulationPlan({}, np.empty((len(maps), 0)), begun, len(maps) - 1, len(maps) - 1, lead=lead)


def clear_stages(new: BuildStages) -> None:
    """Clears all stages except the clip, so that the next build makes its own."""
    new.automatic = new.reference = new.modes = None
    for name in ("lattice", "automatic", "flesh", "body", "modes", "rigs", "clip"):
        setattr(new, f"{name}_key", b"")
