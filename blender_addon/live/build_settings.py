# SPDX-License-Identifier: GPL-3.0-or-later
"""What the flesh of an object is made from besides its mesh and bones: where it stood, and the artist's settings."""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, replace

import bpy

from ..logic.contact import METHODS, TOGETHER
from ..logic.cycles import AUTOMATIC, LEAD
from ..logic.modal import METHOD
from ..logic.native import core
from ..rigs import fingerprints
from ..saved import rig_layouts
from ..saved.timing import frames_per_second
from ..scene import colliders, groups, ignored
from ..scene.bind_pose import BindPose

#: The stiffness that flesh is assembled for, pascals; stiffer and softer flesh is made from that by a factor. The default of Young's
#: Modulus; any other does as well.
REFERENCE = 20e3


@dataclass(frozen=True)
class ContactSettings:
    """How flesh touches itself, other flesh and other things."""

    self_contact: bool
    thickness: float  # what is kept between skins, scene units
    friction: float
    ignored: tuple[str, bool]  # the vertex group that touches nothing, see `scene.ignored.asked`
    colliders: tuple[colliders.Asked, ...]  # what is collided with
    others: tuple[str, ...] = ()  # the objects that it is to be simulated together with, by name: see `scene.groups`

    @staticmethod
    def of(obj: bpy.types.Object, scene: bpy.types.Scene) -> ContactSettings | None:
        """Those of `obj` in `scene`; None where contact is switched off."""
        s = obj.thew
        if not s.use_contact:
            return None
        others = groups.others(obj, scene)
        return ContactSettings(
            s.self_contact, s.contact_thickness, s.contact_friction, ignored.asked(obj), colliders.asked(obj, scene, others),
            tuple(other.name for other in others),
        )  # fmt: skip


@dataclass(frozen=True)
class BuildSettings:
    """The settings that the result depends on, as numbers."""

    cells_across: int
    height: float
    softness: float | None  # the dial; None: young is in force
    young: float  # pascals; 0 while the dial is in force
    poisson: float
    density: float
    rest_includes_gravity: bool
    method: str
    rate: float
    gravity: tuple[float, float, float]
    settling: float  # by these factors damping differs from the body's own
    tremble: float
    mass_damping: float | None  # in its place, 1/s and s
    stiffness_damping: float | None
    max_offset: float | None
    elastic_joints: float
    motion_start: str
    restarts: tuple[int, ...]  # frames, ascending, in which it begins anew
    live: tuple[int, int]  # the frames that the artist plays, of all that are simulated together
    fps: float
    modes: int
    engine: str
    device: str
    rigs: tuple = ()  # see `fingerprints.fingerprint`
    contact: ContactSettings | None = None  # as it is asked for; see `touches`
    kind: str = "AUTOMATIC"  # of character: which parts the automatic map lets be soft
    limbs: tuple[tuple[str, str], ...] = ()  # names and models of those that the lattice is made of

    @property
    def static_method(self) -> str:
        """What finds the flesh at rest under loads that rigs and pulls are fitted to: linear in them."""
        return self.method if self.method in {"warped", "linear"} else "warped"

    @property
    def touches(self) -> ContactSettings | None:
        """How flesh touches with the method in force; None where it passes through itself and all else."""
        return self.contact if self.method in METHODS else None

    @property
    def collides_with(self) -> tuple[colliders.Asked, ...]:
        """What the flesh collides with."""
        return () if self.touches is None else self.touches.colliders

    @property
    def others(self) -> tuple[str, ...]:
        """The objects that it is simulated together with, by name."""
        return self.contact.others if self.contact is not None and self.method in TOGETHER else ()

    @property
    def lead(self) -> int:
        """How many frames before the range are read, for the motion that leads to it."""
        return round(LEAD * self.fps) if self.motion_start == AUTOMATIC else 0

    def baked(self) -> BuildSettings:
        """The same for a bake, which is on every machine, every time, what the processor makes: engines that are chosen by
        what they cost differ in the last digits. (Its own, one thread or all, agree bit by bit.)"""
        return replace(self, engine="CPU", device="") if self.method == METHOD else self

    def baked_key(self) -> str:
        """A hash of all that a bake depends on but its frames."""
        return hashed(replace(self.baked(), live=(0, 0))).hex()

    def dynamics(self) -> dict:
        """The settings that all simulations depend on, for keys."""
        return {**self._plain(), "settling": self.settling, "tremble": self.tremble}

    def simulation(self, body) -> dict:
        """The keywords of a simulation of `body`, a thew.Body."""
        mass, stiffness = self.damping(body)
        return {**self._plain(), "mass_damping": mass, "stiffness_damping": stiffness}

    def damping(self, body) -> tuple[float, float]:
        """Damping of a body's motion, 1/s, and of its deformation, s."""
        mass, stiffness = core().default_damping(body)
        mass, stiffness = mass * self.settling, stiffness / self.tremble
        return (
            mass if self.mass_damping is None else self.mass_damping,
            stiffness if self.stiffness_damping is None else self.stiffness_damping,
        )

    def _plain(self) -> dict:
        names = ("method", "rate", "gravity", "mass_damping", "stiffness_damping", "max_offset", "elastic_joints")
        return {name: getattr(self, name) for name in names}

    @staticmethod
    def of(obj: bpy.types.Object, scene: bpy.types.Scene, guessed_height: float | None = None) -> BuildSettings:
        """The settings of `obj` in `scene`."""
        rig_layouts.migrate(obj)  # of an object that was appended just now
        s = obj.thew
        height = s.real_height if s.real_height > 0.0 else (guessed_height or s.made.guessed_height)
        gravity = tuple(scene.gravity) if s.use_gravity and scene.use_gravity else (0.0, 0.0, 0.0)
        return BuildSettings(
            s.cells_across, height, None if s.use_young else s.softness, s.young if s.use_young else 0.0, s.poisson, s.density,
            s.rest_includes_gravity, s.method, s.rate, gravity, s.settling, s.tremble, *_in_numbers(s), s.reach or None,
            s.elastic_joints, s.motion_start, groups.restarts(obj, scene), groups.frames(obj, scene),
            frames_per_second(scene),
            s.modes, s.engine, s.device.strip(), fingerprints.fingerprint(obj),
            ContactSettings.of(obj, scene), s.kind,
            tuple((limb.name, limb.model) for limb in s.limbs) if s.limb_lattice else (),
        )  # fmt: skip


def _in_numbers(settings) -> tuple[float | None, ...]:
    """Both dampings as files and scripts may say them in numbers; None where they do not."""
    names = ("mass_damping", "stiffness_damping")
    return tuple(getattr(settings, name) if settings.is_property_set(name) else None for name in names)


def hashed(*parts) -> bytes:
    """A hash of numbers, tuples of numbers, bytes and dataclasses of them."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, BindPose):
            part = astuple(part)
        digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b"|")
    return digest.digest()
