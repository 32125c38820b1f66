# SPDX-License-Identifier: MIT OR Apache-2.0
"""Templates in the pictures: where a force field reaches, at true size, and which ways it pushes."""

from __future__ import annotations

import numpy as np
import thew

from examples.studio import Studio


def draw(
    studio: Studio,
    template: thew.Template,
    frame: np.ndarray,
    place,
    glass,
    ink,
    before: float = 0.0,
    few: bool = False,
) -> None:
    """A template in its frame [4,4]; `before` brings arrows towards the camera, which leaves their place in the picture;
    `few`: brings a torus there as a whole, with only the arrows that leave its ring sideways."""
    sizes = template.parameters
    axes, origin = frame[:3, :3].T, frame[:3, 3] + place
    near = origin - before * studio.ahead
    around = [np.cos(a) * axes[0] + np.sin(a) * axes[1] for a in np.arange(8) * np.pi / 4]
    if template.kind == "torus":
        ring, tube = sizes["ring_radius"], sizes["tube_radius"]
        vertices, faces = _torus(ring, tube)
        studio.mesh(vertices @ axes + (near if few else origin), faces, glass)
        for out in around:
            for way in (out,) if few else (out, axes[2], -axes[2]):
                start = near + ring * out
                studio.arrow(start + 0.15 * tube * way, start + 1.05 * tube * way, (0.09 if few else 0.05) * tube, ink)
        return
    radius = sizes["radius"]
    studio.ball(origin, radius, glass)
    thick = 0.028 * radius
    if template.kind == "bump":
        studio.arrow(near - 0.25 * radius * axes[2], near + 1.25 * radius * axes[2], 1.6 * thick, ink)
        return
    ways = [*around, *(sign * axis for sign in (1, -1) for axis in axes[2:])]
    if template.kind == "radial":
        ways += [(out + sign * axes[2]) / np.sqrt(2.0) for out in around[::2] for sign in (1, -1)]
    for way in ways:
        start, end = 0.25 * radius * way, 0.95 * radius * way
        if template.kind == "bulge" and abs(way @ axes[2]) > 0.5:
            start, end = 1.15 * radius * way, 0.35 * radius * way
        studio.arrow(near + start, near + end, thick, ink)


def _torus(ring: float, tube: float, rings: int = 48, around: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """About Z: vertices and quads."""
    a, b = np.meshgrid(2 * np.pi * np.arange(rings) / rings, 2 * np.pi * np.arange(around) / around, indexing="ij")
    out = ring + tube * np.cos(b)
    vertices = np.stack([out * np.cos(a), out * np.sin(a), tube * np.sin(b)], axis=-1).reshape(-1, 3)
    i, j = (index.ravel() for index in np.indices((rings, around)))
    at = lambda i, j: (i % rings) * around + j % around  # noqa: E731
    return vertices, np.stack([at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)], axis=1)
