# SPDX-License-Identifier: MIT OR Apache-2.0
"""From an image to a simulation: a synthetic scan, a medial model of the body in it, tetrahedra, a body that swings.
[oguz2005, slides 9 to 14, 22 and 23]

The scan is made of numbers: a bent and twisted body in 30 % of noise, thick slices. The template is the slab around what the scan's values
part from their surroundings; the fit goes from blurred to sharp.
"""

from __future__ import annotations

import numpy as np
import thew

from examples.command import Options, options
from examples.studio import AMBER, BLUE, GREY, INK, RED, Studio

INSIDE, OUTSIDE, NOISE = 900.0, -100.0, 0.3
SPACING = np.array([0.006, 0.006, 0.015])
MATERIAL = thew.Material(young=1.5e4, poisson=0.45, density=1050.0)
MODES, STEP = 24, 1.0 / 120.0


def body(points: np.ndarray) -> np.ndarray:
    """Below zero inside: a superquadric of 24 x 12 x 7 cm that is twisted and bent like a kidney."""
    x, y, z = (points / 0.06).T
    around = np.arctan2(x, z + 2.2)
    x, z = 2.2 * around, np.hypot(x, z + 2.2) - 2.2
    turn = 0.25 * x
    y, z = y * np.cos(turn) + z * np.sin(turn), z * np.cos(turn) - y * np.sin(turn)
    return (np.abs(x / 2.0) ** 2.5 + np.abs(y / 1.0) ** 2.5 + np.abs(z / 0.55) ** 2.2) - 1.0


def scan() -> tuple[thew.Volume, np.ndarray]:
    """The picture and the share of each voxel that is inside, from eight places in it."""
    low = np.array([-0.17, -0.09, -0.13])
    shape = np.ceil((np.array([0.17, 0.09, 0.08]) - low) / SPACING).astype(int)
    centres = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1) * SPACING + low
    corners = np.stack(np.meshgrid(*[(-0.25, 0.25)] * 3, indexing="ij"), -1).reshape(-1, 3) * SPACING
    share = np.mean([body((centres + c).reshape(-1, 3)) < 0 for c in corners], axis=0).reshape(shape)
    noise = NOISE * np.random.default_rng(1).standard_normal(shape)
    values = OUTSIDE + (INSIDE - OUTSIDE) * (share + noise)
    return thew.Volume(np.round(values).astype(np.int16), SPACING, low), share


def dice(surface: thew.Surface) -> float:
    """Twice the volume shared with the body over the sum of both."""
    low, high = np.array([-0.17, -0.09, -0.13]), np.array([0.17, 0.09, 0.08])
    points = low + (high - low) * np.random.default_rng(0).random((200_000, 3))
    ours, true = surface.winding_number(points) > 0.5, body(points) < 0
    return 2.0 * (ours & true).sum() / (ours.sum() + true.sum())


def slices(studio: Studio, volume: thew.Volume, place: np.ndarray) -> None:
    """Three slices of the picture, where they lie."""
    values, low = volume.values, volume.origin
    shown = np.clip((values - OUTSIDE) / (INSIDE - OUTSIDE) * 0.8 + 0.1, 0, 1)
    middle = [round((0.0 - low[0]) / SPACING[0]), round((0.0 - low[1]) / SPACING[1]), shown.shape[2] // 2 + 2]
    for axis, index in enumerate(middle):
        sheet = np.take(shown, index, axis)
        across = [a for a in range(3) if a != axis]
        i, j = np.meshgrid(*map(np.arange, np.add(sheet.shape, 1)), indexing="ij")
        corners = np.zeros((*i.shape, 3))
        corners[..., axis] = low[axis] + index * SPACING[axis]
        for a, k in zip(across, (i, j), strict=True):
            corners[..., a] = low[a] + (k - 0.5) * SPACING[a]
        # A quad with corners of its own for each voxel, so that each has one grey.
        quads = np.stack([corners[:-1, :-1], corners[1:, :-1], corners[1:, 1:], corners[:-1, 1:]], axis=2).reshape(
            -1, 3
        )
        faces = np.arange(len(quads)).reshape(-1, 4)
        colours = np.repeat(sheet.reshape(-1, 1) ** 2.2, 4, axis=0).repeat(3, axis=1)
        studio.mesh(quads, faces, studio.vertex_material(gloss=0.0), place, colours, smooth=False)


def atoms(studio: Studio, model: thew.MRep, place: np.ndarray) -> None:
    """Hubs, the sheet through them, spokes to both sides, end spokes on the border."""
    hubs, frames, radii = model.hubs, model.frames, model.radii
    rows, cols = model.shape
    hub, up, down, end = (studio.material(c, gloss=0.6) for c in (INK, BLUE, AMBER, RED))
    for row in [*hubs, *hubs.transpose(1, 0, 2)]:
        studio.line(row, 0.0009, hub, place)
    for i in range(rows):
        for j in range(cols):
            x, f, r, theta = hubs[i, j], frames[i, j], radii[i, j], model.angles[i, j]
            studio.ball(place + x, 0.0028, hub)
            for side, material, length in zip((1, -1), (up, down), model.lengths[i, j], strict=True):
                tip = x + r * length * (np.cos(theta) * f[:, 0] + side * np.sin(theta) * f[:, 2])
                studio.line([x, tip], 0.0012, material, place)
            if i in (0, rows - 1) or j in (0, cols - 1):
                studio.line([x, x + r * model.ends[i, j] * f[:, 0]], 0.0012, end, place)


def main(how: Options) -> None:
    volume, share = scan()
    template = thew.MRep.slab_around(volume)
    fit = template.fit(volume)
    print(f"scan of {' x '.join(map(str, share.shape))} voxels, {100 * NOISE:.0f} % of noise")
    print(f"template: Dice {dice(template.boundary(3)):.3f}")
    for name, report in fit.stages.items():
        print(f"{name}: {len(fit.posterior[name]) - 1} steps; {report}")
    print(f"atoms: Dice {dice(fit.mrep.boundary(3)):.3f} with the true body; boundary: {dice(fit.surface):.3f}")
    tets = thew.TetMesh.fill(fit.surface, nodes=900)
    nodes = np.asarray(tets.vertices)
    coordinates = fit.mrep.coordinates(nodes)
    # The body hangs by its end: what lies there along the sheet is a question to the model.
    held = np.nan_to_num(coordinates[:, 1], nan=0.5) < 0.04
    modes = thew.modes(tets, MODES, MATERIAL, fixed=held)
    simulation = thew.ModalSimulation(modes, STEP, gravity=(0.0, 0.0, -9.81), damping=(0.6, 0.003))
    deformer = thew.Deformer(modes, fit.surface, form="vertex")
    shots, lowest = {}, 0.0
    for frame in range(1, 121):
        simulation.advance()
        at = np.asarray(deformer.positions(simulation.amplitudes), float)
        lowest = min(lowest, (at - fit.surface.vertices)[:, 2].min())
        if frame in (16, 40):
            shots[frame * STEP] = at
    print(
        f"{len(nodes)} nodes, {len(tets.tets)} tetrahedra, {MODES} modes, {held.sum()} nodes held; it sags by {-100 * lowest:.1f} cm at most"
    )

    studio = Studio(turn=-24.0, tilt=22.0)
    glass, flesh, old = (
        studio.material(BLUE, alpha=0.4),
        studio.material((0.85, 0.55, 0.45)),
        studio.material(GREY, alpha=0.2),
    )
    columns = iter(studio.at(0.35 * k, 0.0) for k in range(5))
    words = iter(("scan, 30 % noise", "template", "atoms fitted", "boundary", "it swings"))

    def label_column() -> np.ndarray:
        place = next(columns)
        studio.text(next(words), place + studio.at(0.0, -0.19), 0.026)
        return place

    slices(studio, volume, label_column())
    for model in (template, fit.mrep):
        place = label_column()
        boundary = model.boundary(3)
        studio.mesh(boundary.vertices, boundary.triangles, glass, place)
        atoms(studio, model, place)
    place = label_column()
    studio.mesh(fit.surface.vertices, fit.surface.triangles, flesh, place)
    place = label_column()
    studio.mesh(fit.surface.vertices, fit.surface.triangles, old, place)
    studio.mesh(list(shots.values())[-1], fit.surface.triangles, flesh, place)
    studio.render(how.output, (-0.2, -0.215), (1.6, 0.155), how.width, how.engine)


if __name__ == "__main__":
    main(options("mrep-scan"))
