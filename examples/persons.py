# SPDX-License-Identifier: MIT OR Apache-2.0
"""People from numbers: three builds of one plan, an arm by itself, and what a sculptor makes of them at a pose. Needs numpy only.

A *sculpt* is modelled without flesh: the parts of the figure are put where the bones take them, muscles that are tense are made
thicker, and one closed surface is drawn over all. Its mesh has nothing to do with that of the figure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assets.characters import implicit
from assets.characters.choreography import Pose, turn
from assets.characters.figure import Bone, Eye, Figure, colours
from assets.characters.implicit import Part, both_sides
from examples.bodies import rotation

SKIN, SHORTS, HAIR, SHOE = "skin", "shorts", "hair", "shoe"


@dataclass(frozen=True)
class Build:
    """Measures of a person, m, at a height of 1.75 m; all are scaled with the height."""

    name: str
    height: float = 1.75
    shoulder: float = 0.185
    """Distance of the shoulder joint from the middle."""
    chest: tuple[float, float] = (0.160, 0.112)
    """Half the width and depth of the rib cage."""
    belly: tuple[float, float, float] = (0.142, 0.108, 0.15)
    """Half the width, depth and height of the belly."""
    ahead: float = 0.0
    """Distance of the belly's middle before the spine."""
    hips: float = 0.155
    """Half the width of the hips."""
    limbs: float = 1.0
    """Thickness of arms and legs beside those of the athlete."""
    muscles: float = 1.0
    """Thickness of muscles beside those of the athlete."""
    breast: float = 0.0
    """Radius of a fat breast."""
    trunks: tuple[float, float, float] = (0.16, 0.25, 0.38)
    """Colour of the shorts, sRGB."""
    hair: tuple[float, float, float] = (0.30, 0.19, 0.13)
    cell: float = 0.0125
    """Cells of the skin, m; no fold of this build is thinner."""
    tone: tuple[float, float, float] = (0.90, 0.66, 0.52)


ATHLETE = Build("Arno")
STOUT = Build(
    "Gero", 1.62, shoulder=0.205, chest=(0.192, 0.148), belly=(0.235, 0.215, 0.20), ahead=0.07, hips=0.20, limbs=1.34,
    muscles=0.9, breast=0.088, trunks=(0.50, 0.20, 0.18), cell=0.013, hair=(0.55, 0.50, 0.46), tone=(0.93, 0.70, 0.58),
)  # fmt: skip
SLIM = Build(
    "Lise", 1.68, shoulder=0.162, chest=(0.134, 0.097), belly=(0.112, 0.086, 0.15), ahead=-0.005, hips=0.152, limbs=0.80,
    muscles=0.72, breast=0.056, trunks=(0.20, 0.40, 0.36), cell=0.013, hair=(0.62, 0.36, 0.16), tone=(0.86, 0.60, 0.46),
)  # fmt: skip
BUILDS = (ATHLETE, STOUT, SLIM)


@dataclass(frozen=True)
class Tension:
    """Tension of muscles, each from 0 to 1."""

    arm: float = 0.0
    chest: float = 0.0


RELAXED = Tension()


def figure(build: Build = ATHLETE, cell: float | None = None, tension: Tension = RELAXED) -> Figure:
    """Returns a person at rest: arms half down, palms ahead, facing -y."""
    left, middle = _bones(build)
    limbs = [*_arm(build, left, tension), *_leg(build), *_side_of_trunk(build, tension)]
    parts = [*_trunk(build), *(side for part in limbs for side in both_sides(part))]
    eyes = [Eye((s * 0.031, -0.083, 1.672), 0.0145, (s * 0.1, -1.0, 0.0), "head") for s in (1, -1)]
    person = Figure(
        name=build.name,
        bones=middle + left + [bone.mirrored() for bone in left],
        parts=parts,
        palette={SKIN: build.tone, SHORTS: build.trunks, HAIR: build.hair, SHOE: (0.35, 0.24, 0.2)},
        eyes=eyes,
        cell=cell or build.cell,
        softness=0.013,
        blend=0.024,
    )
    return scaled(person, build.height / 1.75)


def arm(build: Build = ATHLETE, cell: float = 0.008, tension: Tension = RELAXED) -> Figure:
    """Returns the left arm of a person by itself, with a rounded end at the shoulder."""
    person = figure(build, cell, tension)
    names = ("upperarm.L", "forearm.L", "hand.L")
    bones = [replace(person.bone(names[0]), parent=None), *(person.bone(name) for name in names[1:])]
    return replace(person, bones=bones, parts=[part for part in person.parts if part.bone in names], eyes=[])


def _finer(make, cell: float):
    """Returns what a function makes of a cell size, which is reduced by up to a seventh until no fold is thinner than a cell."""
    for finer in cell * 0.97 ** np.arange(5):
        try:
            return make(finer)
        except ValueError:
            continue
    return make(0.85 * cell)


def scaled(person: Figure, factor: float) -> Figure:
    """Returns a figure at another size."""
    by = lambda p: None if p is None else tuple(factor * x for x in p)  # noqa: E731
    bones = [replace(bone, head=by(bone.head), tail=by(bone.tail)) for bone in person.bones]
    parts = [replace(part, a=by(part.a), b=by(part.b), radii=by(part.radii)) for part in person.parts]
    eyes = [replace(eye, centre=by(eye.centre), radius=factor * eye.radius) for eye in person.eyes]
    return replace(person, bones=bones, parts=parts, eyes=eyes)


def pose(person: Figure, elbow: float = 0.0, upper: np.ndarray | None = None, wrist: float = 0.0) -> Pose:
    """Returns the pose in which the left elbow and wrist are bent by degrees; `upper` turns the upper arm, [3,3]."""
    root = person.bones[0].name
    found = Pose(person, np.zeros(3), np.eye(3) if upper is None or root != "upperarm.L" else upper)
    if root != "upperarm.L" and upper is not None:
        found.rotations["upperarm.L"] = found.rotation("shoulder.L") @ upper
    for bone, degrees in (("forearm.L", elbow), ("hand.L", wrist)):
        parent = found.rotation(person.bone(bone).parent)
        found.rotations[bone] = parent @ rotation(np.radians(degrees) * THUMB)
    return found


def lunge(person: Figure) -> Pose:
    """Returns a lunge with the trunk turned, the left arm ahead and bent, the right one behind."""
    found = Pose(person, np.array((0.0, 0.0, -0.06)), turn(4.0, 0.0, -8.0))
    found.turn("spine", 2.0, 0.0, 14.0)
    found.turn("chest", 4.0, -3.0, 16.0)
    found.turn("neck", 0.0, 0.0, -12.0)
    found.turn("head", 4.0, 0.0, -14.0)
    for bone, turned, bent in (
        ("upperarm.L", turn(0.0, -30.0, -42.0), 70.0),
        ("upperarm.R", turn(0.0, 10.0, -34.0), 45.0),
    ):
        found.rotations[bone] = found.rotation(person.bone(bone).parent) @ turned
        axis = THUMB if bone.endswith("L") else THUMB * (1.0, -1.0, -1.0)
        fore = bone.replace("upper", "fore")
        found.rotations[fore] = found.rotation(bone) @ rotation(np.radians(bent) * axis)
    for side, thigh, shin in (("L", -42.0, 48.0), ("R", 18.0, 22.0)):
        found.turn(f"thigh.{side}", thigh)
        found.turn(f"shin.{side}", shin)
        found.turn(f"foot.{side}", -6.0)
    return found


def raised() -> np.ndarray:
    """Returns the turn of the left upper arm that raises it to the side, its inside up."""
    along, inside = np.array((0.965, -0.14, 0.22)), np.array((-0.25, -0.28, 0.93))
    along /= np.linalg.norm(along)
    inside -= (inside @ along) * along
    inside /= np.linalg.norm(inside)
    there = np.stack([along, np.cross(inside, along), inside], axis=1)
    return there @ np.stack([ALONG, np.cross(INSIDE, ALONG), INSIDE])


def maps(person: Figure, pose: Pose) -> np.ndarray:
    """Returns every bone's map from rest to a pose, [bones,4,4]."""
    return np.array([pose.map(bone.name) for bone in person.bones])


def sculpt(person: Figure, pose: Pose, cell: float = 0.007) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns vertices, triangles and colours of the surface that is modelled over the parts of a figure in a pose."""
    function = field(person, pose)
    ends = []
    for part in person.parts:
        there = pose.map(part.bone)
        for end in (part.a, part.b or part.a):
            point = there[:3, :3] @ np.array(end) + there[:3, 3]
            ends += [point - max(part.radii), point + max(part.radii)]
    margin = 3.0 * cell + 2.0 * person.softness
    low, high = np.min(ends, axis=0) - margin, np.max(ends, axis=0) + margin
    axes = lambda cell: [np.arange(a, b + cell, cell) for a, b in zip(low, high, strict=True)]  # noqa: E731
    vertices, quads = _finer(lambda cell: implicit.net(function, axes(cell), cell), cell)
    still = replace(person, parts=[_carried(part, pose) for part in person.parts])
    triangles = quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    return vertices, np.ascontiguousarray(triangles, np.int32), colours(still, vertices)


def field(person: Figure, pose: Pose) -> implicit.Function:
    """Returns the function that is zero on the surface of a figure's parts in a pose."""
    parts = [_carried(part, pose) for part in person.parts]
    return lambda points: implicit.field(parts, points, person.softness)


@dataclass(frozen=True)
class Carried(Part):
    """A part that a bone has taken along."""

    there: tuple = ()
    """The bone's map from rest to posed, four rows."""

    def distance(self, points: np.ndarray) -> np.ndarray:
        there = np.array(self.there)
        return super().distance((points - there[:3, 3]) @ there[:3, :3])


def _carried(part: Part, pose: Pose) -> Carried:
    there = pose.map(part.bone)
    return Carried(part.a, part.b, part.radii, part.bone, part.colour, part.tilt, there=tuple(map(tuple, there)))


def _bones(build: Build) -> tuple[list[Bone], list[Bone]]:
    """Returns the bones of the left side and of the middle."""
    s = build.shoulder
    shoulder = np.array((s, 0.02, 1.43))
    elbow = shoulder + 0.285 * ALONG
    wrist = elbow + 0.245 * ALONG
    knuckles = wrist + 0.09 * ALONG
    hip = 0.62 * build.hips
    left = [
        Bone("shoulder.L", "chest", (0.02, 0.02, 1.44), (s - 0.015, 0.02, 1.44)),
        Bone("upperarm.L", "shoulder.L", tuple(shoulder), tuple(elbow)),
        Bone("forearm.L", "upperarm.L", tuple(elbow), tuple(wrist)),
        Bone("hand.L", "forearm.L", tuple(wrist), tuple(knuckles)),
        Bone("thigh.L", "hips", (hip, 0.015, 0.90), (hip + 0.005, 0.005, 0.49)),
        Bone("shin.L", "thigh.L", (hip + 0.005, 0.005, 0.49), (hip + 0.005, 0.03, 0.085)),
        Bone("foot.L", "shin.L", (hip + 0.005, 0.03, 0.085), (hip + 0.015, -0.13, 0.03)),
    ]
    middle = [
        Bone("hips", None, (0.0, 0.025, 0.92), (0.0, 0.03, 1.05)),
        Bone("spine", "hips", (0.0, 0.03, 1.05), (0.0, 0.035, 1.22)),
        Bone("chest", "spine", (0.0, 0.035, 1.22), (0.0, 0.03, 1.46)),
        Bone("neck", "chest", (0.0, 0.03, 1.46), (0.0, 0.01, 1.56)),
        Bone("head", "neck", (0.0, 0.01, 1.56), (0.0, 0.0, 1.77)),
    ]
    return left, middle


ALONG = np.array((0.74, 0.0, -0.6726))
"""Direction of the left arm at rest."""
UPWARD = np.array((0.6726, 0.0, 0.74))
INSIDE = np.sqrt(0.5) * (np.array((0.0, -1.0, 0.0)) + UPWARD)
"""Side of the left elbow's crease, square to `ALONG`."""
THUMB = np.cross(ALONG, INSIDE)


def spindle(bone: str, points, radii: tuple[float, float, float], colour: str = SKIN) -> list[Part]:
    """Returns two limbs end to end: a muscle through three points, thickest in its middle."""
    a, b, c = (tuple(float(x) for x in point) for point in points)
    return [Part(a, b, (radii[0], radii[1]), bone, colour), Part(b, c, (radii[1], radii[2]), bone, colour)]


def _arm(build: Build, left: list[Bone], tension: Tension) -> list[Part]:
    """Returns the parts of the left arm."""
    upper, lower, hand = (next(b for b in left if b.name == f"{name}.L") for name in ("upperarm", "forearm", "hand"))
    shoulder, elbow, wrist, knuckles = (np.array(p) for p in (upper.head, lower.head, hand.head, hand.tail))
    g, m, t = build.limbs, build.limbs * build.muscles, tension.arm
    at = lambda s, off=0.0, side=0.0: shoulder + s * (elbow - shoulder) + off * INSIDE + side * THUMB  # noqa: E731
    fore = lambda s, off=0.0, side=0.0: elbow + s * (wrist - elbow) + off * INSIDE + side * THUMB  # noqa: E731
    limb = lambda a, b, r, bone: Part(tuple(a), tuple(b), tuple(r), bone, SKIN)  # noqa: E731
    u, f, h = "upperarm.L", "forearm.L", "hand.L"
    shift, fat = -0.04 * t, 1.0 + 0.52 * t
    return [
        limb(at(-0.02), at(1.0), (0.042 * g, 0.036 * g), u),
        *spindle(u, (at(-0.05) + 0.012 * UPWARD, at(0.16) + 0.016 * UPWARD, at(0.46) + 0.008 * UPWARD),
                 (0.046 * m, 0.053 * m, 0.026 * m)),
        *spindle(u, (at(0.26 + shift, 0.018 * g), at(0.58 + shift, (0.023 + 0.023 * t) * g), at(0.92 - 0.04 * t, 0.012 * g)),
                 ((0.022 + 0.008 * t) * m, 0.034 * m * fat, 0.016 * m)),
        *spindle(u, (at(0.1, -0.012 * g), at(0.48, -0.022 * g), at(0.9, -0.012 * g)),
                 (0.030 * m, (0.037 + 0.003 * t) * m, 0.022 * m)),
        limb(fore(0.0), fore(1.0), (0.036 * g, 0.026 * g), f),
        *spindle(f, (fore(-0.02, 0.004, 0.012 * g), fore(0.24, 0.010 * g, 0.013 * g), fore(0.72, 0.0, 0.004)),
                 (0.024 * m, (0.034 + 0.004 * t) * m, 0.020 * m)),
        *spindle(f, (fore(0.04, -0.004, -0.012 * g), fore(0.26, -0.006 * g, -0.014 * g), fore(0.75)),
                 (0.024 * m, 0.032 * m, 0.020 * m)),
        limb(fore(-0.035, -0.019 * g), fore(0.06, -0.017 * g), (0.0165 * g, 0.013 * g), f),
        limb(wrist, knuckles, (0.027 * g, 0.034 * g), h),
        limb(wrist + 0.02 * ALONG + 0.02 * INSIDE, wrist + 0.08 * ALONG + 0.022 * INSIDE, (0.022 * g, 0.024 * g), h),
        limb(wrist + 0.03 * ALONG + 0.022 * THUMB, wrist + 0.085 * ALONG + 0.024 * THUMB + 0.03 * INSIDE, (0.014 * g, 0.012 * g), h),
    ]  # fmt: skip


def _leg(build: Build) -> list[Part]:
    """Returns the parts of the left leg."""
    g, x = 0.5 + 0.5 * build.limbs, 0.62 * build.hips
    return [
        Part((x, 0.015, 0.89), (x + 0.005, 0.005, 0.52), (0.086 * g, 0.056 * g), "thigh.L", SHORTS),
        *spindle("thigh.L", ((x, -0.01, 0.84), (x + 0.012, -0.02, 0.70), (x + 0.005, -0.012, 0.54)), (0.06 * g, 0.068 * g, 0.043 * g), SHORTS),
        Part((x + 0.005, 0.005, 0.50), (x + 0.005, 0.03, 0.10), (0.050 * g, 0.034 * g), "shin.L", SKIN),
        *spindle("shin.L", ((x + 0.005, 0.02, 0.46), (x + 0.005, 0.042, 0.34), (x + 0.005, 0.036, 0.16)), (0.036 * g, 0.050 * g, 0.024 * g)),
        Part((x + 0.005, 0.03, 0.055), (x + 0.012, -0.12, 0.04), (0.046, 0.038), "foot.L", SHOE),
    ]  # fmt: skip


def _side_of_trunk(build: Build, tension: Tension) -> list[Part]:
    """Returns the parts of the trunk that both sides have."""
    (w, d), s, m, t = build.chest, build.shoulder, build.muscles, tension.chest
    front = 0.025 - d
    up, out = 0.014 * t, -0.024 * t
    parts = [
        Part((0.15 * s, 0.025, 1.385), (0.74 * s, 0.022, 1.412), (0.070, 0.052 * m), "shoulder.L", SKIN),
        Part((0.62 * s, 0.035, 1.36), (0.98 * s, 0.03, 1.385), (0.05 * m, 0.04 * m), "shoulder.L", SKIN),
        Part((0.62 * s, 0.045, 1.38), (0.66 * w, 0.05, 1.14), (0.046 * m, 0.032 * m), "chest", SKIN),
        Part((0.025, 0.032, 1.515), (s - 0.035, 0.022, 1.452), (0.036 * m, 0.034 * m), "shoulder.L", SKIN),
        Part((0.37 * w, front + 0.050 + out, 1.325 + up), (0.78 * w, front + 0.058 + 0.7 * out, 1.365 + up),
             ((0.062 + 0.003 * t) * m, (0.047 + 0.002 * t) * m), "chest", SKIN),
        Part((0.45 * build.hips, 0.085, 0.90), None, (0.54 * build.hips, 0.078, 0.09), "hips", SHORTS),
        Part((0.072, 0.015, 1.655), None, (0.012, 0.02, 0.028), "head", SKIN),
    ]  # fmt: skip
    if build.breast:
        b = build.breast
        parts.append(
            Part(
                (0.50 * w, front + (0.35 - 0.12 * t) * b, 1.312 + 0.02 * t), None, (b, 0.9 * b, 0.92 * b), "chest", SKIN
            )
        )
    return parts


def _trunk(build: Build) -> list[Part]:
    """Returns the parts in the middle."""
    (w, d), (x, y, z) = build.chest, build.belly
    return [
        Part((0.0, 0.02, 0.925), None, (build.hips, 0.115 + 0.3 * (y - 0.108), 0.105), "hips", SHORTS),
        Part((0.0, 0.02 - build.ahead, 1.09), None, (x, y, z), "spine", SKIN),
        Part((0.0, 0.025, 1.29), None, (w, d, 0.175), "chest", SKIN),
        Part((0.0, 0.032, 1.46), (0.0, 0.012, 1.575), (0.060, 0.055), "neck", SKIN),
        Part((0.0, 0.0, 1.675), None, (0.076, 0.092, 0.105), "head", SKIN),
        Part((0.0, -0.028, 1.605), None, (0.055, 0.060, 0.052), "head", SKIN),
        Part((0.0, -0.088, 1.66), (0.0, -0.103, 1.635), (0.009, 0.014), "head", SKIN),
        Part((0.0, 0.020, 1.705), None, (0.083, 0.095, 0.090), "head", HAIR),
    ]
