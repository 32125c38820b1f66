# SPDX-License-Identifier: MIT OR Apache-2.0
"""Medial models against their goals: fits to surfaces and volumes, coordinates there and back, limbs of real characters.

Peers in the same run: the same distances from the surface by scipy's k-d tree (which any fit needs at each step), and
scipy's Gaussian filter (with which any multi-scale fit to a volume begins). Real limbs, if THEW_DATA has characters,
are all unbranched chains of bones that carry skin. One thread: RAYON_NUM_THREADS=1.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import thew
from scipy import ndimage
from scipy.spatial import cKDTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "common"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))

import glb
import test_mrep as shapes
from shapes import turned_branch

#: Characters whose limbs are bent: it takes minutes each.
BENT = ("m2m_human", "Fox", "m2m_horse", "m2m_spider")
CHARACTERS = (
    *("m2m_human", "mh_male_heavy", "sintel_m2m", "kaykit_manny", "RiggedFigure", "m2m_horse", "m2m_dragon"),
    *("m2m_spider", "q_apatosaurus", "q_bull", "q_frog", "Fox", "robot"),
)


def time_call(work):
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def surfaces() -> None:
    surface = thew.Surface(*shapes.bent_superquadric(123))
    template = shapes.template()
    seconds, fit = time_call(lambda: template.fit(surface))
    steps = sum(len(e) - 1 for e in fit.posterior.values())
    points = fit.surface.vertices
    peer, _ = time_call(lambda: cKDTree(points).query(surface.vertices))
    print("| superquadric | vertices | s | steps | atoms, mean / size | boundary | Dice | a k-d tree's distances s |")
    print("|---|---|---|---|---|---|---|---|")
    atoms = fit.stages["atoms"].mean / surface.size
    print(
        f"| 3x7 atoms | {len(surface.vertices)} | {seconds:.2f} | {steps} | {atoms:.1e} | {fit.report.mean / surface.size:.1e} "
        f"| {fit.report.dice:.4f} | {peer:.3f} |\n",
        flush=True,
    )


def coordinates() -> None:
    print("| 30,000 coordinates of | s | back, largest error | points s |\n|---|---|---|---|")
    rng = np.random.default_rng(0)
    for name, model in (("a slab of 5x9", shapes.ellipsoid(5, 9)), ("a tube of 13x8", shapes.straight_tube(13, 8))):
        low, high = model.boundary(1).vertices.min(0), model.boundary(1).vertices.max(0)
        points = low + (high - low) * rng.random((30_000, 3))
        seconds, found = time_call(lambda m=model, p=points: m.coordinates(p))
        there = np.isfinite(found[:, 0])
        again, back = time_call(lambda m=model, c=found[there]: m.points(c))
        error = np.abs(back - points[there]).max()
        print(f"| {name} | {seconds:.3f} | {error:.1e} | {again:.3f} |", flush=True)
    print()


def volumes() -> None:
    surface = thew.Surface(*shapes.bent_superquadric(32))
    low, high = surface.vertices.min(0) - 0.5, surface.vertices.max(0) + 0.5
    spacing = (high - low).max() / 127
    low = 0.5 * (low + high) - 63.5 * spacing
    grid = np.stack(np.meshgrid(*[np.arange(128)] * 3, indexing="ij"), -1).reshape(-1, 3) * spacing + low
    inside = (surface.winding_number(grid) > 0.5).reshape(128, 128, 128)
    print("| 128³ voxels, noise | s | Dice with the true body | voxels off, mean | three Gaussian filters of scipy s |")
    print("|---|---|---|---|---|")
    for noise in (0.0, 0.1, 0.4):
        values = inside + noise * np.random.default_rng(1).standard_normal(inside.shape)
        seconds, fit = time_call(lambda v=values: shapes.template().fit(thew.Volume(v, [spacing] * 3, low)))
        peer, _ = time_call(lambda v=values: [ndimage.gaussian_filter(v.astype(np.float32), s) for s in (3, 1.5, 0.7)])
        far = np.abs(np.asarray(surface.closest_point(fit.surface.vertices)[1])).mean() / spacing
        print(
            f"| {100 * noise:.0f} % | {seconds:.2f} | {shapes.dice(fit.surface, surface):.4f} | {far:.2f} | {peer:.2f} |",
            flush=True,
        )
    print()


def chains(skeleton, weights):
    """Yields the indices of bones in unbranched chains that carry skin."""
    parents, carries = skeleton.parents, weights.sum(0) > 0
    kids = [[j for j in np.flatnonzero(parents == i) if carries[j]] for i in range(len(parents))]
    for first in np.flatnonzero(carries):
        if parents[first] >= 0 and carries[parents[first]] and len(kids[parents[first]]) == 1:
            continue
        chain = [first]
        while len(kids[chain[-1]]) == 1:
            chain.append(kids[chain[-1]][0])
        if len(chain) > 1:
            yield [int(b) for b in chain]


def characters(names=None):
    """Yields (name, character, its skeleton with refitted tails) of those present."""
    data = os.environ.get("THEW_DATA")
    for name in (names or CHARACTERS) if data else ():
        file = Path(data) / "characters" / f"{name}.glb"
        if file.is_file():
            c = glb.load(file)
            yield name, c, c.skeleton.refit_tails(c.surface, c.weights)


def fit_chain(c, skeleton, chain, **options):
    """Returns (seconds, fit) of a tube along a chain with its hubs held; `None` if there is no such tube."""
    bones = [skeleton.names[b] for b in chain]
    try:
        start = thew.MRep.from_skeleton(c.surface, skeleton, c.weights, bones)
        counts = thew.MRep.chain_weights(skeleton, c.weights, bones)
        held = np.arange(start.shape[0])
        return time_call(lambda: start.fit(c.surface, held=held, weights=counts, **options))
    except thew.MRepError:
        return None


def limbs() -> None:
    print(
        "| character | limbs | no tube | fit s | skin to model, mean / size of the character: median | largest | within 0.5 % |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, c, skeleton in characters():
        found, refused, spent = [], 0, []
        for chain in chains(skeleton, c.weights):
            own = c.weights[:, chain].sum(1) > 0.5
            way = np.linalg.norm(np.diff(skeleton.heads[chain], axis=0), axis=1).sum()
            if way < 0.1 * c.surface.size or not own.any():
                continue
            made = fit_chain(c, skeleton, chain)
            if made is None:
                refused += 1
                continue
            seconds, fit = made
            skin = c.surface.vertices[own]
            found.append(fit.mrep.boundary(3).closest_point(skin)[1].mean() / c.surface.size)
            spent.append(seconds)
        if not found:
            print(f"| {name} | 0 | {refused} | | | | |")
            continue
        print(
            f"| {name} | {len(found)} | {refused} | {np.median(spent):.2f} | {100 * np.median(found):.2f} % "
            f"| {100 * max(found):.2f} % | {sum(f < 0.005 for f in found)} of {len(found)} |",
            flush=True,
        )
    print()


def whole_model(c, skeleton):
    """Returns (chains, a model of the tubes along them) of a character."""
    made = [(chain, fit_chain(c, skeleton, chain, stages=["atoms"])) for chain in chains(skeleton, c.weights)]
    made = [(chain, fit[1].mrep) for chain, fit in made if fit]
    return [chain for chain, _ in made], thew.MRep.join([m for _, m in made], names=[str(i) for i in range(len(made))])


def measure_poured() -> None:
    print("| character | limbs poured | prisms | tetrahedra | alone | violations | s | tetrahedra alone s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, c, skeleton in characters():
        tubes, model = whole_model(c, skeleton)
        alone, plain = time_call(lambda c=c, s=skeleton: thew.Lattice.enclose(c.surface, s, c.weights))
        seconds, lattice = time_call(lambda m=model, c=c, s=skeleton: m.enclose(c.surface, s, c.weights))
        left = sum("is left to tetrahedra" in note for note in lattice.notes)
        prisms = sum(len(cell) == 6 for cell in lattice.cells)
        print(
            f"| {name} | {len(tubes) - left} of {len(tubes)} | {prisms} | {len(lattice.cells) - prisms} | {len(plain.cells)} "
            f"| {len(lattice.check(c.surface, skeleton))} | {seconds:.2f} | {alone:.2f} |",
            flush=True,
        )
    print()


def inverted_count(body, skeleton, bone: int, axis) -> int:
    """Returns the number of inverted cells after everything below a joint was turned by 46 degrees, in the default method."""
    simulation = thew.Simulation(body, gravity=[0, 0, 0])
    simulation.reset(np.stack([np.eye(4)] * len(skeleton.names)))
    for step in range(1, 25):
        turn = axis * np.radians(46) * min(1, step / 20)
        simulation.advance(turned_branch(skeleton, bone, turn), 1 / 24)
    return simulation.inverted_cells()


def measure_bent() -> None:
    """Bends every joint of every poured limb up and down across the limb, which is harder than joints are bent in clips."""
    print("| character | bends | with cells turned over, poured | most cells | tetrahedra alone | most cells |")
    print("|---|---|---|---|---|---|")
    for name, c, skeleton in characters(BENT):
        along, model = whole_model(c, skeleton)
        poured = model.enclose(c.surface, skeleton, c.weights)
        left = {int(note.split("'")[1]) for note in poured.notes if "is left to tetrahedra" in note}
        alone = thew.Lattice.enclose(c.surface, skeleton, c.weights)
        bodies = [thew.Body(c.surface, skeleton, lattice, thew.Material(), c.weights) for lattice in (poured, alone)]
        counts = []
        for chain in (chain for i, chain in enumerate(along) if i not in left):
            way = skeleton.tails[chain[0]] - skeleton.heads[chain[0]]
            axis = np.cross(way, [0.0, 0.0, 1.0])
            axis = axis if np.linalg.norm(axis) > 0.1 * np.linalg.norm(way) else np.cross(way, [1.0, 0.0, 0.0])
            axis /= np.linalg.norm(axis)
            counts += [[inverted_count(body, skeleton, b, s * axis) for body in bodies] for b in chain for s in (1, -1)]
        counts = np.array(counts).T
        cells = " | ".join(f"{(row > 0).sum()} | {row.max()}" for row in counts)
        print(f"| {name} | {counts.shape[1]} | {cells} |", flush=True)
    print()


def main() -> int:
    surfaces()
    coordinates()
    volumes()
    if os.environ.get("THEW_DATA"):
        limbs()
        measure_poured()
        measure_bent()
    else:
        print("Without THEW_DATA there are no real limbs.\n")
    print(
        "Goals: 30,000 vertices 1 s, 7e-4 after all stages; 30,000 coordinates 0.3 s; 128³ 5 s, Dice 0.97, 0.4 voxel; limbs 0.5 %."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
