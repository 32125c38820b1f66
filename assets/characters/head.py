# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hilda: a head with a face of flesh, for rigs. 34 cm with neck and shoulders, loose eyes, four bones.

    hilda = head.figure()      # bones and colours
    skin = head.skin()         # mesh, weights, colours; symmetric, closed, the eyes two loose balls

She is a signed distance function: balls and limbs in soft unions (head, then nose, lips, lids), from which softer and
sharper hollows are cut (eye sockets, nostrils, the line of the mouth). Her face is meshed twice as finely as the rest.
The bones end at least two centimetres behind the skin of the face, so that all of it is free.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from . import implicit
from .figure import Bone, Eye, Figure, Skin, eyeball
from .implicit import Part, both_sides

CELL, FINE, LIPS = 0.0084, 0.0036, 0.0028
"""Steps of the mesh's grid, metres: behind the face, in the face, and vertically through the lips."""
EYES = [Eye((side * 0.032, -0.0605, 0.0195), 0.0205, (side * 0.06, -1.0, -0.03), "skull") for side in (1, -1)]
PALETTE = {
    "skin": (0.93, 0.71, 0.58),
    "rosy": (0.93, 0.56, 0.47),
    "lips": (0.84, 0.45, 0.42),
    "dark": (0.42, 0.15, 0.14),
    "hair": (0.30, 0.17, 0.11),
    "iris": (0.25, 0.42, 0.50),
}


def figure() -> Figure:
    """Returns bones and colours; the mesh comes from `skin`."""
    bones = [
        Bone("neck", None, (0.0, 0.035, -0.16), (0.0, 0.03, -0.05)),
        Bone("skull", "neck", (0.0, 0.03, -0.05), (0.0, 0.035, 0.09)),
        Bone("face", "skull", (0.0, 0.02, -0.005), (0.0, -0.05, 0.005)),
        Bone("jaw", "skull", (0.0, 0.015, -0.045), (0.0, -0.05, -0.075)),
    ]
    return Figure("Hilda", bones, [], PALETTE, eyes=EYES, cell=CELL)


def skin() -> Skin:
    """Returns mesh, weights of (neck, skull, face, jaw) and linear colours."""
    x = _axis([0.0, 0.045, 0.06, 0.125], [FINE, FINE, CELL])
    axes = [
        np.concatenate([-x[:0:-1], x]),
        _axis([-0.135, -0.07, -0.045, 0.15], [FINE, FINE, CELL]),
        _axis(
            [-0.21, -0.09, -0.075, -0.066, -0.016, -0.008, 0.065, 0.08, 0.17],
            [CELL, CELL, FINE, LIPS, LIPS, FINE, FINE, CELL],
        ),
    ]
    vertices, quads = implicit.net(surface, axes, FINE)
    faces, tint = quads.tolist(), _colours(vertices)
    for eye in EYES:
        ball, ball_faces, _ = eyeball(eye, rings=20, around=28)
        ball_colours = _iris(eye, ball)
        faces += [[len(vertices) + i for i in face] for face in ball_faces]
        vertices, tint = np.concatenate([vertices, ball]), np.concatenate([tint, ball_colours])
    return Skin(vertices, faces, _weights(vertices), tint)


def surface(points: np.ndarray) -> np.ndarray:
    """Returns the approximate signed distance of her skin without the eyes, [p]; negative inside."""
    made = _union(_HEAD, points, 0.012)
    made = _cut(made, _union(_SOCKETS, points, 0.004), 0.006)
    made = _join(made, _union(_NOSE, points, 0.0045), 0.0045)
    made = _join(made, _union(_BROWS, points, 0.003), 0.0028)
    made = _join(made, _union(_EARS, points, 0.003), 0.0045)
    made = _join(made, _hair(points), 0.0025)
    made = _join(made, _lids(points), 0.0045)
    made = _join(made, _union(_LIPS, points, 0.0008), 0.0016)
    made = _cut(made, _union(_CREASE, points, 0.0008), 0.0016)
    return _cut(made, _union(_NOSTRILS + _CONCHAS, points, 0.002), 0.002)


def _part(a, b, radii, tilt=0.0) -> Part:
    return Part(a, b, radii, "skull", "skin", tilt)


def _sides(*parts: Part) -> list[Part]:
    return [side for part in parts for side in both_sides(part)]


def _chain(points, radii) -> list[Part]:
    """Returns limbs through points on the left, and their mirror images."""
    ends = list(zip(points, radii, strict=True))
    return _sides(*(_part(a, b, (ra, rb)) for (a, ra), (b, rb) in pairwise(ends)))


_HEAD = [
    _part((0.0, 0.022, 0.052), None, (0.074, 0.09, 0.078)),
    _part((0.0, -0.016, -0.005), None, (0.06, 0.064, 0.082)),
    _part((0.0, -0.056, -0.06), None, (0.036, 0.03, 0.03)),
    _part((0.0, -0.072, -0.089), None, (0.022, 0.018, 0.016)),
    *_sides(
        _part((0.04, -0.05, -0.022), None, (0.027, 0.026, 0.027)),
        _part((0.037, -0.014, -0.05), None, (0.022, 0.034, 0.026)),
        _part((0.05, 0.035, -0.158), None, (0.05, 0.042, 0.026)),
    ),
    _part((0.0, 0.028, -0.05), (0.0, 0.035, -0.15), (0.036, 0.04)),
]
_SOCKETS = _sides(_part((0.032, -0.09, 0.02), None, (0.021, 0.016, 0.016)))
_NOSE = [
    _part((0.0, -0.077, 0.03), (0.0, -0.1, -0.01), (0.0065, 0.0085)),
    _part((0.0, -0.107, -0.0135), None, (0.0132, 0.0125, 0.0115)),
    *_sides(_part((0.0142, -0.0955, -0.0215), None, (0.0092, 0.0115, 0.009))),
]
_BROWS = _chain(
    [(0.0135, -0.0765, 0.0548), (0.024, -0.0738, 0.0585), (0.038, -0.0665, 0.0592), (0.056, -0.0475, 0.0515)],
    [0.0042, 0.0052, 0.005, 0.003],
)
_EARS = _sides(
    _part((0.075, 0.014, 0.002), None, (0.012, 0.016, 0.025), 0.15),
    _part((0.084, 0.021, 0.007), None, (0.0095, 0.021, 0.032), 0.2),
)
_LIPS = [
    *_chain(
        [(0.0, -0.0935, -0.0502), (0.007, -0.0935, -0.0487), (0.018, -0.0898, -0.0505), (0.033, -0.0812, -0.0535)],
        [0.0053, 0.0057, 0.005, 0.0028],
    ),
    *_chain([(0.0, -0.0928, -0.0616), (0.014, -0.0908, -0.0602), (0.033, -0.081, -0.0545)], [0.0069, 0.0064, 0.0028]),
]
_CREASE = _chain(
    [(0.0, -0.0995, -0.0558), (0.009, -0.0988, -0.0549), (0.021, -0.0935, -0.0552), (0.034, -0.0842, -0.0542)],
    [0.0015, 0.0015, 0.0014, 0.001],
)
_NOSTRILS = _sides(_part((0.0092, -0.0995, -0.0305), None, (0.0047, 0.0062, 0.0062), 0.3))
_CONCHAS = _sides(_part((0.093, 0.012, 0.009), None, (0.006, 0.01, 0.017), 0.15))
_HAIR = [_part((0.0, 0.03, 0.064), None, (0.0775, 0.0915, 0.0795))]


def _lids(points: np.ndarray) -> np.ndarray:
    """Returns the signed distance of the lids: a thicker ball around each eye, opened in front by an almond."""
    lids = []
    for eye in EYES:
        relative = points - np.array(eye.centre)
        ball = np.linalg.norm(relative, axis=1) - (eye.radius + 0.0032)
        outward = np.sign(eye.centre[0]) * relative[:, 0]
        # Two arcs that meet at the eye's sides; the upper lid's is bowed more.
        lift = relative[:, 2] - 0.06 * outward + 0.0015
        side = (outward / 0.0168) ** 2
        gap = np.maximum(lift - 0.0108 * (1.0 - side), -lift - 0.0078 * (1.0 - side))
        lids.append(_cut(ball, np.maximum(gap, relative[:, 1]), 0.0016))
    return np.minimum(*lids)


def _colours(points: np.ndarray) -> np.ndarray:
    """Returns linear colours [n,3], painted over each other with soft edges."""
    rosy = _sides(_part((0.044, -0.078, -0.02), None, (0.016, 0.02, 0.012))) + [_NOSE[1]]
    tint = np.tile(np.array(PALETTE["skin"]) ** 2.2, (len(points), 1))
    for colour, share, distance, edge in (
        ("rosy", 0.5, _union(rosy, points, 0.004), 0.012),
        ("lips", 1.0, _union(_LIPS, points, 0.0012) - 0.001, 0.0024),
        ("dark", 0.75, _union(_CREASE, points, 0.0008) - 0.0012, 0.0016),
        ("dark", 0.9, _union(_NOSTRILS, points, 0.0008) - 0.0012, 0.002),
        ("hair", 1.0, _union(_BROWS, points, 0.001) - 0.0016, 0.0022),
        ("hair", 1.0, _hair(points) - 0.0055, 0.005),
    ):
        share = share * _smooth(0.5 - distance / (2.0 * edge))[:, None]
        tint = (1.0 - share) * tint + share * np.array(PALETTE[colour]) ** 2.2
    return tint


def _weights(points: np.ndarray) -> np.ndarray:
    """Returns the weights of neck, skull, face and jaw [n,4].

    The neck is separated by height, the face before the ears, the jaw below the mouth.
    """
    _, y, z = points.T
    head = _smooth((z + 0.35 * (y - 0.03) + 0.1) / 0.07)
    front = _smooth((0.02 - y) / 0.06)
    low = _smooth((-0.035 - z - 0.1 * y) / 0.05)
    return np.stack([1.0 - head, head * (1.0 - front), head * front * (1.0 - low), head * front * low], axis=1)


def _iris(eye: Eye, points: np.ndarray) -> np.ndarray:
    """Returns the colours of pupil, iris and white by the angle from the direction of the look."""
    cosine = (points - np.array(eye.centre)) @ np.array(eye.look) / (eye.radius * np.linalg.norm(eye.look))
    angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))[:, None]
    white = np.array([0.88, 0.88, 0.86])
    return np.where(angle < 14.0, 0.008, np.where(angle < 29.0, np.array(PALETTE["iris"]) ** 2.2, white))


def _hair(points: np.ndarray) -> np.ndarray:
    """Returns the signed distance of the hair: a cap, cut off by a slope from the forehead to the nape."""
    x, y, z = points.T
    slope = 0.0165 - 0.8 * y - 0.6 * (z - 0.06) - 0.25 * np.abs(x) - 2.0 * x**2
    return _cut(_union(_HAIR, points, 0.003), -slope, 0.0015)


def _union(parts: list[Part], points: np.ndarray, softness: float) -> np.ndarray:
    return implicit.field(parts, points, softness)


def _join(a: np.ndarray, b: np.ndarray, softness: float) -> np.ndarray:
    """Returns the soft union: within `softness` of each other the two melt together."""
    blend = np.maximum(4.0 * softness - np.abs(a - b), 0.0)
    return np.minimum(a, b) - blend**2 / (16.0 * softness)


def _cut(a: np.ndarray, hollow: np.ndarray, softness: float) -> np.ndarray:
    """Returns `a` less `hollow`, with an edge as soft as `_join`'s."""
    return -_join(-a, hollow, softness)


def _smooth(t: np.ndarray) -> np.ndarray:
    t = np.clip(t, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def _axis(stops: list[float], steps: list[float]) -> np.ndarray:
    """Returns grid lines from the first stop to the last, with steps interpolated linearly between stops."""
    lines = [stops[0]]
    widths = np.array([*steps, steps[-1]])[: len(stops)]
    while lines[-1] < stops[-1]:
        lines.append(lines[-1] + float(np.interp(lines[-1], stops, widths)))
    return np.array(lines)
