# SPDX-License-Identifier: MIT OR Apache-2.0
"""Limbs poured into a creature's lattice: prisms along legs and tail, tetrahedra around the rest; bent, and the skin that it carries.

Cells are drawn a little shrunk: blue prisms, the tetrahedra of the tips too, amber the tetrahedra of the rest.
"""

from __future__ import annotations

import numpy as np
import thew

from assets.characters import quadruped
from assets.characters.figure import skin
from examples.command import Options, options
from examples.mrep_limbs import LIMBS
from examples.studio import AMBER, BLUE, Studio

#: What turns in the second picture: the bone, and a rotation vector in degrees.
TURNS = {
    "forearm.L": (-46, 0, 0),
    "forearm.R": (30, 0, 0),
    "shin.L": (46, 0, 0),
    "shin.R": (-30, 0, 0),
    "tail.2": (0, 0, 46),
}
FACES = {
    4: [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]],
    6: [[0, 2, 1], [3, 4, 5], [0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4], [2, 0, 3], [2, 3, 5]],
}
SHRUNK = 0.86


def rotation(degrees) -> np.ndarray:
    vector = np.radians(np.asarray(degrees, float))
    angle = np.linalg.norm(vector)
    x, y, z = vector / max(angle, 1e-12)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def pose(skeleton, share: float) -> np.ndarray:
    """The creature with its joints turned by a share."""
    maps = np.tile(np.eye(4), (len(skeleton.names), 1, 1))
    for b, name in enumerate(skeleton.names):
        own = np.eye(4)
        if name in TURNS:
            own[:3, :3] = rotation(share * np.array(TURNS[name]))
            own[:3, 3] = skeleton.heads[b] - own[:3, :3] @ skeleton.heads[b]
        parent = skeleton.parents[b]
        maps[b] = (maps[parent] if parent >= 0 else np.eye(4)) @ own
    return maps


def shrunk_cells(lattice, positions: np.ndarray, chosen) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of the chosen cells, each shrunk about its middle."""
    vertices, triangles, count = [], [], 0
    for i, cell in enumerate(lattice.cells):
        if not chosen(i, cell):
            continue
        corners = positions[np.asarray(cell)]
        middle = corners.mean(axis=0)
        vertices.append(middle + SHRUNK * (corners - middle))
        triangles.append(np.array(FACES[len(cell)]) + count)
        count += len(cell)
    return np.concatenate(vertices), np.concatenate(triangles)


def main(how: Options) -> None:
    figure = quadruped.figure()
    made = skin(figure)
    names = [bone.name for bone in figure.bones]
    parents = [names.index(bone.parent) if bone.parent else -1 for bone in figure.bones]
    heads, tails = (np.array([getattr(bone, end) for bone in figure.bones]) for end in ("head", "tail"))
    surface = thew.Surface(made.vertices, made.triangles())
    skeleton = thew.Skeleton(names, parents, heads, tails).refit_tails(surface, made.weights)
    tubes = []
    for chain in LIMBS[quadruped]:
        start = thew.MRep.from_skeleton(surface, skeleton, made.weights, chain)
        weights = thew.MRep.chain_weights(skeleton, made.weights, chain)
        tubes.append(start.fit(surface, held=np.arange(start.shape[0]), weights=weights, stages=["atoms"]).mrep)
    model = thew.MRep.join(tubes, names=[chain[0] for chain in LIMBS[quadruped]])
    lattice = model.enclose(surface, skeleton, made.weights, cells_across=14)
    first = min(i for i, cell in enumerate(lattice.cells) if len(cell) == 6)
    prisms = sum(len(cell) == 6 for cell in lattice.cells)
    print(
        f"{prisms} prisms, {len(lattice.cells) - prisms} tetrahedra, check: {lattice.check(surface, skeleton) or 'sound'}"
    )
    print("\n".join(lattice.notes))
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=made.weights)
    simulation = thew.Simulation(body, gravity=[0, 0, 0])
    simulation.reset(pose(skeleton, 0.0))
    for frame in range(48):
        simulation.advance(pose(skeleton, min(1.0, frame / 24)), 1 / 24)
    print(f"bent: {simulation.inverted_cells()} cells inverted")
    shown = np.asarray(simulation.positions(), float)
    bent = np.asarray(simulation.lattice_positions())[: len(lattice.vertices)]
    studio = Studio(turn=-58.0, tilt=12.0)
    blue, amber = studio.material(BLUE), studio.material(AMBER)
    x = 0.0
    for words, positions in (("cells", lattice.vertices), ("bent by 30 and 46 degrees", bent)):
        place = studio.at(x, 0.0)
        studio.mesh(*shrunk_cells(lattice, positions, lambda i, _: i >= first), blue, place)
        studio.mesh(*shrunk_cells(lattice, positions, lambda i, _: i < first), amber, place)
        studio.text(words, place + studio.at(0.0, -0.16), 0.06)
        x += 1.35
    place = studio.at(x, 0.0)
    studio.mesh(shown, surface.triangles, studio.material((0.72, 0.6, 0.52)), place)
    studio.text("and the skin", place + studio.at(0.0, -0.16), 0.06)
    studio.render(how.output, (-0.7, -0.25), (x + 0.7, 1.15), how.width, how.engine)


if __name__ == "__main__":
    main(options("mrep-pour"))
