# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs of an object's flesh apart from mesh and bones: the artist's settings as numbers, and hashes of them."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import bpy

from ..logic import simulation
from ..logic.contact import CONTACT_METHODS, JOINT_METHODS
from ..logic.cycles import AUTOMATIC, LEAD_TIME
from ..logic.modal import METHOD
from ..logic.native import core
from ..logic.twist import BoneTwist
from ..rigs import fingerprints
from ..saved import hand_lattice, rig_layouts, validation
from ..saved import restarts as saved_restarts
from ..saved.timing import frames_per_second
from ..scene import colliders, contact_exclusions, driven, groups, pins, twist
from ..scene.bind_pose import BindPose


@dataclass(frozen=True)
class ContactSettings:
    """Contact settings of one object: with itself, other flesh and colliders."""

    self_contact: bool
    thickness: float  # gap between skins, scene units
    friction: float
    ignored: tuple[str, bool]  # vertex group without contact, see `scene.contact_exclusions.chosen_group`
    colliders: tuple[colliders.ColliderRequest, ...]  # the objects to collide with
    others: tuple[str, ...] = ()  # names of the objects to simulate together with, see `scene.groups`

    @staticmethod
    def from_object(obj: bpy.types.Object, scene: bpy.types.Scene) -> ContactSettings | None:
        """Returns the contact settings of `obj` in `scene`; None where contact is switched off."""
        s = obj.thew
        if not s.use_contact:
            return None
        others = groups.others(obj, scene)
        return ContactSettings(
            s.self_contact, s.contact_thickness, s.contact_friction, contact_exclusions.chosen_group(obj), colliders.requested_colliders(obj, scene, others),
            tuple(other.name for other in others),
        )  # fmt: skip


@dataclass(frozen=True)
class BuildSettings:
    """Settings on which the result depends, as numbers."""

    cells_across: int
    height: float
    softness: float | None  # the dial; None: `young` applies
    young: float  # Pa; 0 while the dial applies
    poisson: float
    density: float
    rest_includes_gravity: bool
    simulation: Any  # thew.SimulationSettings; damping that is None is the body's own
    settling: float  # factors on the body's own damping
    tremble: float
    motion_start: str
    restarts: tuple[int, ...]  # frames, ascending, in which the flesh begins anew
    live: tuple[int, int]  # frame range that the artist plays, over all objects simulated together
    fps: float
    modes: int
    rigs: tuple = ()  # see `fingerprints.fingerprint`
    contact: ContactSettings | None = None  # as set; see `touches`
    kind: str = "AUTOMATIC"  # character kind: which parts the automatic map may make soft
    limbs: tuple[tuple[str, str], ...] = ()  # names and models of the limbs that make up the lattice
    twists: tuple[BoneTwist, ...] = ()  # of the bones with a twist of their own, whether they carry this flesh or not
    levels: int = 0  # levels of finer functions inside the lattice's cells
    pins: tuple = field(default=(), repr=False)  # see `scene.pins.fingerprint`; not in hashes of files without pins
    hand_lattice: str = ""  # the lattice made by hand; "" for the automatic one
    symmetric: bool = True  # whether the automatic lattice of a symmetric character is mirrored
    restart_at_cuts: bool = field(default=False, repr=False)  # whether the flesh begins anew at cuts that are noticed
    passed: tuple[int, ...] = field(default=(), repr=False)  # frames that are no cuts, whatever jumps
    influence: float = field(default=1.0, repr=False)  # share of the flesh that is shown; keyed: at the first frame
    field_weight: float = field(default=1.0, repr=False)  # of the scene's force fields

    @property
    def method(self) -> str:
        """Returns the method of motion."""
        return self.simulation.method

    @property
    def steps(self) -> float:
        """Returns the steps a frame whose cost grows with the lattice; 0 for modal flesh, whose cost grows with its modes."""
        return 0.0 if self.method == METHOD else self.simulation.rate / self.fps

    @property
    def static_method(self) -> str:
        """Returns the method for flesh at rest under the loads that rigs and pulls are fitted to; it is linear in them."""
        return self.method if self.method in {"warped", "linear"} else "warped"

    @property
    def touches(self) -> ContactSettings | None:
        """Returns the contact settings in force; None where the method has no contact or it is off."""
        return self.contact if self.method in CONTACT_METHODS else None

    @property
    def collides_with(self) -> tuple[colliders.ColliderRequest, ...]:
        """Returns the objects that the flesh collides with."""
        return () if self.touches is None else self.touches.colliders

    @property
    def others(self) -> tuple[str, ...]:
        """Returns the names of the objects that the flesh is simulated together with."""
        return self.contact.others if self.contact is not None and self.method in JOINT_METHODS else ()

    @property
    def lead(self) -> int:
        """Returns the number of frames to read before the range, for the motion that leads to it."""
        return round(LEAD_TIME * self.fps) if self.motion_start == AUTOMATIC else 0

    def for_bake(self) -> BuildSettings:
        """Returns the settings of a bake, which computes on the processor and so gives the same bits on every machine.

        Engines chosen by their cost differ in the last digits. (The processor's own, one thread or all, agree bit by bit.)
        """
        return replace(self, simulation=self.simulation.replace(engine="cpu")) if self.method == METHOD else self

    def baked_key(self) -> str:
        """Returns a hash of everything a bake depends on except its frames."""
        baked = self.for_bake()
        held = (self.pins,) if self.pins else ()
        held += (self.restart_at_cuts, self.passed) if self.restart_at_cuts else ()
        shown = self.influence, self.field_weight
        held = (*held, shown) if shown != (1.0, 1.0) else held
        return hash_of(replace(baked, live=(0, 0), simulation=None), baked.simulation.digest(), *held).hex()

    def dynamics(self) -> bytes:
        """Returns a hash of the settings on which every simulation depends, for keys."""
        return simulation.key(self.simulation, self.settling, self.tremble)

    def with_damping(self, body) -> Any:
        """Returns the settings of a simulation of `body`, a thew.Body, with its damping, as thew.SimulationSettings."""
        return simulation.with_damping(self.simulation, body, self.settling, self.tremble)

    def with_own_damping(self, settings) -> Any:
        """Returns settings of `with_damping` without the damping that is the body's own, so that it follows a change of softness."""
        factors = {"mass_damping": self.settling, "stiffness_damping": self.tremble}
        own = [name for name, factor in factors.items() if factor == 1.0 and getattr(self.simulation, name) is None]
        return settings.replace(**dict.fromkeys(own))

    @staticmethod
    def from_object(
        obj: bpy.types.Object, scene: bpy.types.Scene, guessed_height: float | None = None
    ) -> BuildSettings:
        """Returns the settings of `obj` in `scene`."""
        rig_layouts.migrate(obj)  # for an object appended just now
        s = obj.thew
        height = s.real_height if s.real_height > 0.0 else (guessed_height or s.made.guessed_height)
        start = groups.frames(obj, scene)[0]
        gravity = (
            driven.value_at(obj, scene, "gravity", start) if s.use_gravity and scene.use_gravity else (0.0, 0.0, 0.0)
        )
        influence, softness, weight = (driven.value_at(obj, scene, name, start) for name in driven.KEYABLE)
        return BuildSettings(
            s.cells_across, height, None if s.use_young else softness, s.young if s.use_young else 0.0, s.poisson, s.density,
            s.rest_includes_gravity, _simulation(s, gravity), s.settling, s.tremble, s.motion_start,
            groups.restarts(obj, scene), groups.frames(obj, scene), frames_per_second(scene), s.modes,
            fingerprints.fingerprint(obj),
            ContactSettings.from_object(obj, scene), s.kind,
            tuple((limb.name, limb.model) for limb in s.limbs) if s.limb_lattice else (),
            twist.own_twists(obj),
            int(validation.value_in_range(s, "levels")),
            pins.fingerprint(obj),
            hand_lattice.lattice_in_use(obj),
            s.symmetric,
            s.restart_at_cuts,
            tuple(sorted(saved_restarts.passed_frames(s))),
            influence,
            weight,
        )  # fmt: skip


def _simulation(s, gravity: tuple[float, ...]) -> Any:
    """Returns the thew.SimulationSettings of an object's settings. Damping counts only where a file or script sets it as a number."""
    dampings = {
        name: validation.value_in_range(s, name)
        for name in ("mass_damping", "stiffness_damping")
        if s.is_property_set(name)
    }
    return core().SimulationSettings(
        method=s.method,
        rate=validation.value_in_range(s, "rate"),
        gravity=gravity,
        **dampings,
        max_offset=validation.value_in_range(s, "reach") or None,
        elastic_joints=validation.value_in_range(s, "elastic_joints"),
        engine=s.engine.lower(),
        device=s.device,
        adapt=s.adapt_to.lower() if s.adaptive and s.levels > 0 else "none",
    )


def hash_of(*parts) -> bytes:
    """Returns a hash of numbers, tuples of numbers, bytes and dataclasses of them."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, BindPose):
            part = astuple(part)
        digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b"|")
    return digest.digest()
