# SPDX-License-Identifier: GPL-3.0-or-later
"""Live native objects of one mesh with flesh, and the offsets that they add to its skin.

Stages, each with a key that is the hash of everything it depends on:

    lattice (mesh, rest skeleton, weights, cells across, real height)  ->  body (material)  ->  clip (poses, dynamics)
                                                                             ├─ modes (their number) ─┤
                                                                             └─ rigs (and controls) ──┘

The view shows the artist's own skin, moved by the Armature modifier, plus an *offset* of each vertex. `building` makes the stages;
nothing here is saved.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import bpy
import numpy as np

from ..logic import modal
from ..logic.colliders import Colliders
from ..logic.contact import JOINT_SHAPE_METHOD, ClipContacts
from ..logic.cuts import Cut
from ..logic.cycles import Beginning
from ..logic.loop_rounds import USUAL_DECAY
from ..logic.native import core
from ..logic.pin_gaps import PinGaps
from ..logic.rest_solver import CACHED_POSES, FoldShape, RestShape, RestSolver, RigAction
from ..logic.sentences import slowing_factor
from ..logic.spaces import MetricSpace, blend_vectors, skin_linearly, split_index, transform
from ..logic.states import Condition, Event
from ..logic.states import Pose as Shown
from ..rigs import pushers, rigging
from ..rigs.fingerprints import fingerprint, rig_inputs
from ..saved.units import length
from ..scene import colliders, rig_controls
from ..scene.bind_pose import BindPose
from ..scene.character import Character
from ..scene.poses import Motion, Pose, PoseReader
from ..scene.reading import Subject
from . import contact, driving, glance, rig_actions
from .build_settings import BuildSettings, hash_of
from .events import report_event
from .partial_motion import PartialMotion

#: Seconds over which the clip fades out beyond its range. About one swing of flesh, which swings 1.4 to 2.8 times a second: a
#: shorter fade would be one more jerk.
FADE_TIME = 0.5

#: An empty set of colliders.
NO_COLLIDERS = Colliders()


@dataclass
class BuildStages:
    """Results of all stages for one object; an update replaces them together when it is done."""

    # inputs
    character: Character | None = None  # mesh at rest, weights and skeleton, Blender's units
    mesh_uid: int = 0  # the session id of that mesh
    bind_pose: BindPose | None = None  # world matrices of mesh and armature at rest
    build_settings: BuildSettings | None = None  # the artist's settings as numbers
    motion: Motion | None = None  # the poses; None until they are read
    place: MetricSpace | None = None  # origin and scale of the body's metres in Blender's world

    # the body; all lengths in metres
    surface: Any = None  # thew.Surface
    skeleton: Any = None  # thew.Skeleton
    lattice: Any = None  # thew.Lattice
    defects: list[str] = field(default_factory=list)  # sentences of the lattice's own check
    skin_notes: list[str] = field(default_factory=list)  # faults of the surface, which take up to a second to find
    automatic: Any = None  # thew.Body: usual material, flesh map from thickness
    reference: Any = None  # thew.Body: the same with the painted map
    body: Any = None  # thew.Body: at the chosen softness
    stiffness: float = 1.0  # of the body, as a multiple of the reference
    modes: Any = None  # thew.Modes of the reference, for the method Modal

    # the rigs
    rigs: tuple[rigging.ResolvedRig, ...] = ()  # all rigs
    pushing: pushers.Pushers = field(default_factory=pushers.Pushers)  # those that push, and why others cannot
    rig_problems: dict[int, str] = field(default_factory=dict)  # reasons why rigs do not push, by index

    # the motion
    clip: Any = None  # thew.Clip, or `logic.mapped_clips.CycleClip`
    clip_start: int = 0  # its first frame
    #: Space of its metres; it differs from the body's `place` if others were simulated along.
    clip_place: MetricSpace | None = None
    touching: ClipContacts | None = None  # contacts in the clip; None: contact is off
    inverted_count: int = 0  # most cells that the motion inverts in a frame, beyond those that its poses invert
    pin_gaps: PinGaps = field(default_factory=PinGaps)  # how far pins stop short in the clip
    beginning: Beginning = field(default_factory=Beginning)  # the beginning of the clip
    noticed: tuple[Cut, ...] = ()  # frames in which it or one of its bones jumps
    spaces: np.ndarray | None = None  # [f, 4, 4] per frame: metres to object space

    # keys of the stages
    lattice_key: bytes = b""
    automatic_key: bytes = b""
    flesh_key: bytes = b""
    body_key: bytes = b""
    modes_key: bytes = b""
    rigs_key: bytes = b""
    clip_key: bytes = b""
    group_key: bytes = b""  # of all objects simulated together; b"": it was alone

    def draft(self) -> BuildStages:
        """Returns a copy of the stages for an update to change."""
        return BuildStages(**{each.name: getattr(self, each.name) for each in fields(BuildStages)})

    def place_at(self, mesh: np.ndarray) -> MetricSpace:
        """Returns the place of the body's metres for world matrices of the mesh [..., 4, 4], with their scale and mirror."""
        return self.place.carried(self.bind_pose.mesh_matrix, mesh)

    @property
    def motion_place(self) -> MetricSpace:
        """Returns the place of the body's metres in the motion that was read."""
        return self.place_at(self.motion.matrices)

    @property
    def open_cuts(self) -> tuple[Cut, ...]:
        """Returns the cuts noticed in the clip's frames that are neither restarts nor passed over."""
        settings = self.build_settings
        if settings is None or self.motion is None:
            return ()
        end, known = self.motion.start + len(self.motion.maps) - 2, {*settings.restarts, *settings.passed}
        open_ones = (cut for cut in self.noticed if cut.frame <= end and cut.frame not in known)
        return tuple(cut for cut in open_ones if cut.is_pop or not settings.restart_at_cuts)

    def held(self, offsets: np.ndarray) -> np.ndarray:
        """Returns offsets float32[n, 3] less what rigid skin would move: at 1 it is as its bones move it, to the last bit."""
        rigid = None if self.character is None else self.character.rigid
        return offsets if rigid is None else offsets * (np.float32(1.0) - rigid)[:, None]

    def pin_warnings(self) -> list[str]:
        """Returns a sentence on each pin that stops short of its target, lengths as the scene shows them."""
        return self.pin_gaps.warnings(length)

    def drive_warnings(self) -> list[str]:
        """Returns a sentence on each force field and keyed setting that cannot act."""
        return driving.problems(self)

    def young(self, softness: float | None, young: float) -> float:
        """Returns Young's modulus, Pa, at which flesh has the `softness` of the dial; `young` where that is None."""
        return young if softness is None else self.automatic.young_of_softness(softness)


@dataclass
class Flesh(BuildStages):
    """All live data of one object."""

    condition: Condition = field(default_factory=Condition)  # changed by `events.report_event` alone
    failed_inputs: tuple = ()  # inputs of the last failed update
    problem: str = ""  # why flesh differs from the settings, a sentence
    touches: int = 0  # number of edits of the mesh
    curve_edits: int = 0  # number of edits of curves
    movers_touched: bool = False  # something that moves it may have changed since it was read
    poses_from_cache: bool = False  # poses come from the disk cache and were not read since
    arriving: PartialMotion | None = None  # finished frames of the simulation under way
    viewed: float | None = None  # frame at which the artist looks at the motion; None: at none
    pace: float = glance.USUAL_PACE  # seconds that a frame took in the last simulation
    loop_decay: float = USUAL_DECAY  # by which a loop closes: see `LoopRounds`

    # latest results, by the hash of their inputs
    _resting: dict[bool, dict[bytes, RestSolver]] = field(default_factory=dict)  # with contact, and without
    _balance: tuple[bytes, Any] = (b"", None)  # a thew.Equilibrium
    tense: rig_actions.TenseCells = field(default_factory=rig_actions.TenseCells)
    _bare: tuple[bytes, Any] = (b"", None)  # balance without loads in a pose, and the skin's folds there, metres
    _folds: tuple[bytes, Any] = (b"", None)  # a `FoldShape`
    _preview: tuple[bytes, Any] = (b"", None)  # a `modal.Preview`

    def take(self, new: BuildStages) -> None:
        """Takes over the stages that an update made."""
        for each in fields(BuildStages):
            setattr(self, each.name, getattr(new, each.name))
        self.problem = ""

    @property
    def clip_end(self) -> int:
        """Returns the last frame that the clip shows (one more pose was simulated, to look ahead)."""
        return self.clip_start + (0 if self.spaces is None else len(self.spaces) - 2)

    def covers(self, start: int, end: int) -> bool:
        """Returns whether the clip begins at `start` and reaches `end`."""
        return self.clip is not None and self.clip_start == start and self.clip_end >= end

    def offsets(self, frame: float) -> np.ndarray:
        """Returns what the flesh adds to the skin at `frame`, object space, float32[n, 3]; subframes are blended.

        Beyond its range the clip fades out over half a second: its flesh there says nothing about other poses.
        """
        shown = driving.influence(self, self._pose_at(frame))
        return self._between(frame, self.clip.offsets, shown * self.clip_weight(frame))

    def clip_weight(self, frame: float) -> float:
        """Returns the weight of the clip at `frame`: 1 in its range, falling smoothly to 0 within half a second beyond it."""
        beyond = max(self.clip_start - frame, frame - self.clip_end, 0.0) / (FADE_TIME * self.build_settings.fps)
        left = max(1.0 - beyond, 0.0)
        return left * left * (3.0 - 2.0 * left)

    def _between(self, frame: float, vectors_at, share: float = 1.0) -> np.ndarray:
        """Returns vectors at `frame` times `share`, float32[n, 3]: see `spaces.blend_vectors`."""
        return self.held(blend_vectors(self._pose_at(frame), self.spaces, vectors_at, share))

    def _pose_at(self, frame: float) -> float:
        """Returns the index of `frame` among the clip's poses, from 0, fractional between two of them."""
        return min(max(frame, self.clip_start), self.clip_end) - self.clip_start

    def rest_offsets(self, positions: np.ndarray, maps: np.ndarray, mesh: np.ndarray) -> np.ndarray:
        """Returns what flesh in balance, `positions` [n, 3] in metres, adds to the plain skin, world axes, metres, float32[n, 3].

        `maps` [b, 4, 4], `mesh` [4, 4]: T_b and the mesh's world matrix of that pose. The balance without loads, held by bones
        alone, counts as the artist's skin, but for the share of elastic joints, shown as in a clip of the method.
        """
        method = self.build_settings.static_method
        body = hash_of(self.body_key, method)
        if self._balance[0] != body:
            self._balance = (body, core().Equilibrium(self.body, method=method))
        folds = self._folding()
        settings = self.build_settings
        key = hash_of(body, maps.tobytes(), self._folds[0], settings.simulation.digest())
        if self._bare[0] != key:
            balance, pose = self._balance[1], self.place_at(mesh).maps(maps, self.place)
            balance.set_pose(pose)
            # The pull of bones with a twist of their own is a load, and shown as one.
            pull = balance.twist_pull if settings.twists else None
            q = balance.solve(gravity=(0.0, 0.0, 0.0), forces=None if pull is None else -pull)
            bare = np.asarray(balance.positions(), dtype=np.float64)
            bent = self._joint_offsets(q, pose, bare, maps, mesh)
            self._bare = (key, (bare, bent if folds is None else bent + folds.solve(pose)))
        bare, bent = self._bare[1]
        return self.held((positions - bare + bent).astype(np.float32))

    def _joint_offsets(
        self, q: np.ndarray, pose: np.ndarray, bare: np.ndarray, maps: np.ndarray, mesh: np.ndarray
    ) -> np.ndarray:
        """Returns what elastic joints add to the skin, [n, 3], metres, at the balance without loads: q [nodes, 3], its skin `bare`
        [n, 3].
        """
        joints = self.build_settings.simulation.elastic_joints
        if joints == 0.0:
            return np.zeros_like(bare)
        if self.build_settings.method == JOINT_SHAPE_METHOD:
            shown = [self.body.shown(q, pose, elastic_joints=share).astype(np.float64) for share in (joints, 0.0)]
            return shown[0] - shown[1]
        return joints * (bare - self.place_at(mesh).points(self._skinned_world(maps, mesh)))

    def _folding(self) -> FoldShape | None:
        """Returns the object that parts folds of the skin in a pose set by hand; None where nothing does."""
        dynamics, touching = self.build_settings.dynamics(), contact.key(self, NO_COLLIDERS)
        key = hash_of(self.body_key, dynamics, touching) if contact.parts_folds_in_pose(self) else b""
        if self._folds[0] != key:
            ways = (contact.contact_arguments(self, NO_COLLIDERS), {}) if key else ()
            settings = self.build_settings.with_damping(self.body)
            made = [core().Simulation(self.body, settings=settings, **extra) for extra in ways]
            self._folds = (key, FoldShape(*made) if made else None)
        return self._folds[1]

    def lattice_positions(self, frame: float) -> np.ndarray:
        """Returns the lattice vertices at `frame` in Blender's world, [k, 3]."""
        return self.clip_place.world(self.clip.lattice_positions(self.index_at(frame)))

    def index_at(self, frame: float) -> int:
        """Returns the index of the clip's pose nearest to `frame`."""
        return round(self._pose_at(frame))

    # contact

    def shows_rest(self, settled: bool) -> bool:
        """Returns whether the view shows flesh at rest: `settled` is on, or the pose was not simulated."""
        return settled or self.condition.pose is Shown.OTHER

    def contacts(self, frame: float, resting: bool) -> Any:
        """Returns the contacts at `frame`, a thew.Contacts, of the clip or (`resting`) of the flesh last at rest; or None."""
        if resting:
            known = self._resting.get(True)
            latest = known[next(reversed(known))].latest if known else None
            return None if latest is None else latest.contacts
        return None if self.clip is None else self.clip.contacts(self.index_at(frame))

    # the method Modal

    @property
    def modal(self) -> bool:
        """Returns whether the flesh in view was made of modes."""
        return self.modes is not None and self.build_settings is not None and self.build_settings.method == modal.METHOD

    @property
    def frequencies(self) -> np.ndarray:
        """Returns the frequencies of the modes at the flesh's stiffness, Hz."""
        return np.asarray(self.modes.frequencies) * np.sqrt(self.stiffness)

    def can_preview(self, number: int) -> bool:
        """Returns whether mode `number` (1 is the first) can be played."""
        return self.modal and self.clip is not None and 1 <= number <= len(self.modes)

    def preview(self, number: int, part: float, frame: float, pose: tuple | None = None) -> np.ndarray:
        """Returns what mode `number` alone adds to the skin at `frame` of its loop; `part` is its size over the body's.

        The pose is that of the frame, or `pose`: T_b [b, 4, 4] and the mesh's world matrix. Object space, float32[n, 3].
        """
        if self._preview[0] != self.modes_key:
            self._preview = (self.modes_key, modal.Preview.for_body(core(), self.modes, self.surface))
        player, place = self._preview[1], self.clip_place if pose is None else self.place_at(pose[1])
        frequency = float(self.frequencies[number - 1])
        seconds = (frame - self.clip_start) / self.build_settings.fps
        amplitudes = player.amplitudes(number, part, seconds * frequency / slowing_factor(frequency))

        def vectors_at(index: int, **where) -> np.ndarray:
            maps = self.motion.maps[index] if pose is None else pose[0]
            return player.deformer.offsets(amplitudes, place.maps(maps, self.place), **where)

        if pose is not None:
            return self.held(vectors_at(0, to=place.to_object(pose[1])))

        return self._between(frame, vectors_at)

    # poses that were not simulated

    def pose(self, subject: Subject, depsgraph: bpy.types.Depsgraph, frame: int, with_contact: bool = False) -> Pose:
        """Returns the character's pose as `depsgraph` has evaluated it.

        `frame` is for sentences; `with_contact`: colliders are read too.
        """
        pose = PoseReader(subject, self.character.bones, self.bind_pose.mesh_matrix).read(depsgraph, frame)
        requests = self.build_settings.collides_with if with_contact else ()
        return replace(pose, colliders=colliders.current_colliders(requests, depsgraph, frame)) if requests else pose

    def settled_at(
        self, maps: np.ndarray, mesh: np.ndarray, rigs: RigAction | None = None, with_contact: bool = True,
        collided: Colliders = NO_COLLIDERS,
    ) -> np.ndarray:  # fmt: skip
        """Returns what flesh at rest in the pose T_b `maps` [b, 4, 4] adds to the skin; object space, float32[n, 3], read only.

        `mesh` [4, 4]: the mesh's world matrix; `rigs`: see `rig_actions`; `with_contact`: solves contact, up to seconds where something
        touches, else parts folds only; `collided`: colliders at one pose.
        """
        return self.held(self._rest(maps, mesh, rigs, with_contact, collided).offsets)

    def balance_at(self, maps: np.ndarray, mesh: np.ndarray, rigs: RigAction | None = None) -> tuple:
        """Returns the offsets of `settled_at`, and the modal amplitudes at rest in that pose, [m]."""
        rest = self._rest(maps, mesh, rigs)
        return self.held(rest.offsets), np.array(rest.amplitudes, dtype=np.float64)

    def _rest(
        self, maps: np.ndarray, mesh: np.ndarray, rigs: RigAction | None, with_contact: bool = True,
        collided: Colliders = NO_COLLIDERS,
    ) -> RestShape:  # fmt: skip
        build_settings, place = self.build_settings, self.place_at(mesh)
        modes = self.modes_key if build_settings.method == modal.METHOD else b""
        folds = None if with_contact else self._folding()
        touching = contact.key(self, collided) if with_contact else self._folds[0]
        key = hash_of(self.body_key, build_settings.dynamics(), modes, touching, place)
        known = self._resting.setdefault(with_contact, {})
        settled = known.pop(key, None)
        if settled is None:
            extra = modal.options(build_settings, self.modes, self.stiffness)
            extra |= contact.contact_arguments(self, collided, contact.SharedData(place)) if with_contact else {}
            settings = driving.settings_at(self, place)
            settled = RestSolver(core().Simulation(self.body, settings=settings, **extra), folds)
        known[key] = settled
        # With moving colliders the results of two poses are kept, for subframes between them; else the last one.
        while len(known) > (CACHED_POSES if collided.each else 1):
            del known[next(iter(known))]
        return settled.solve(place.maps(maps, self.place), rigs, place.to_object(mesh))

    def settled_offsets(self, obj: bpy.types.Object, frame: float) -> np.ndarray:
        """Returns the offsets of flesh at rest in the pose of `frame`, pushed by the rigs as the artist sees them."""
        motion = self.motion
        # Controls that were read are void once other rigs are keyed or driven: then the present values apply.
        read = bool(motion.moving) and motion.moving == rig_controls.control_animation(obj)

        def shape(index: int) -> np.ndarray:
            rigs = rig_actions.at_rest(self, obj, motion.controls[index] if read else None)
            collided = motion.colliders.at_poses(np.array([index]))
            return self.settled_at(motion.maps[index], motion.matrices[index], rigs, collided=collided)

        index, part = split_index(self._pose_at(frame))
        if part == 0.0:
            return shape(index)
        # Both stay cached, for other fractions between them.
        return np.float32(1.0 - part) * shape(index) + np.float32(part) * shape(index + 1)

    def refresh_rigs(self, obj: bpy.types.Object) -> None:
        """Places the native rigs again if their inputs have changed; quick otherwise."""
        prints = fingerprint(obj)
        if rig_inputs(prints) == rig_inputs(self.build_settings.rigs) and len(self.rigs) == len(obj.thew.rigs):
            return
        self.build_settings = replace(self.build_settings, rigs=prints)
        self.rigs = rigging.resolve_rigs(obj, self.character, self.bind_pose, self.place)
        report_event(obj, self, Event.RIGS_CHANGED)
        self.pushing = pushers.Pushers.build(self.rigs, self.body, self.place, self.pushing)
        self.rig_problems = {**self.pushing.faults, **rigging.problems(self.rigs)}
        self.rigs_key = b""
        rigging.store_problems(obj, self.rig_problems, self.pushing.notes)

    def _skinned_world(self, maps: np.ndarray, mesh: np.ndarray) -> np.ndarray:
        bind_pose = self.bind_pose.mesh_matrix
        world = transform(bind_pose, self.character.rest)
        return skin_linearly(self.character.weights, maps, world, mesh @ np.linalg.inv(bind_pose))
