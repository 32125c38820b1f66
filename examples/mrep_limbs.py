# SPDX-License-Identifier: MIT OR Apache-2.0
"""Limb coordinates on a creature: tubes along its bones, along and around as colours, a painted map carried over from another.

Each limb's tube is made from its bones and fitted to the skin that follows them, hubs held on the bones.
"""

from __future__ import annotations

import numpy as np
import thew

from assets.characters import biped, quadruped
from assets.characters.figure import Figure, skin
from examples.command import Options, options
from examples.studio import BLUE, INK, Studio

LIMBS = {
    quadruped: [
        ["upperarm.L", "forearm.L", "paw.L"],
        ["upperarm.R", "forearm.R", "paw.R"],
        ["thigh.L", "shin.L", "foot.L"],
        ["thigh.R", "shin.R", "foot.R"],
        ["tail.1", "tail.2"],
    ],
    biped: [
        ["upperarm.L", "forearm.L", "hand.L"],
        ["upperarm.R", "forearm.R", "hand.R"],
        ["thigh.L", "shin.L", "foot.L"],
        ["thigh.R", "shin.R", "foot.R"],
    ],
}
PLAIN = np.array([0.62, 0.60, 0.57])


class Limbs:
    """A character and the models of its limbs."""

    def __init__(self, figure: Figure, chains: list[list[str]]) -> None:
        made = skin(figure)
        self.vertices, self.triangles, self.figure = made.vertices, made.triangles(), figure
        names = [bone.name for bone in figure.bones]
        parents = [names.index(bone.parent) if bone.parent else -1 for bone in figure.bones]
        heads, tails = (np.array([getattr(bone, end) for bone in figure.bones]) for end in ("head", "tail"))
        surface = thew.Surface(self.vertices, self.triangles)
        skeleton = thew.Skeleton(names, parents, heads, tails)
        self.models, self.shares = [], []
        for chain in chains:
            share = np.clip(made.weights[:, [names.index(bone) for bone in chain]].sum(axis=1), 0, 1)
            start = thew.MRep.from_skeleton(surface, skeleton, made.weights, chain)
            weights = thew.MRep.chain_weights(skeleton, made.weights, chain)
            fit = start.fit(surface, held=np.arange(start.shape[0]), weights=weights)
            self.models.append(fit.mrep)
            self.shares.append(share)
            own = self.vertices[share > 0.5]
            far = np.linalg.norm(fit.mrep.boundary(3).closest_point(own)[0] - own, axis=1)
            size = np.linalg.norm(np.ptp(self.vertices, axis=0))
            print(f"{figure.name} {chain[0]} to {chain[-1]}: {start.shape[0]} atoms, skin to model {100 * far.mean() / size:.2f} % of the size on the mean, "
                  f"legality {fit.mrep.legality():.2f}")  # fmt: skip

    def coordinates(self, k: int) -> np.ndarray:
        """Of the skin that follows limb k; NaN elsewhere."""
        found = np.full((len(self.vertices), 4), np.nan)
        own = self.shares[k] > 0.5
        found[own] = self.models[k].coordinates(self.vertices[own])
        return found


def hues(turns: np.ndarray) -> np.ndarray:
    """A colour circle, linear."""
    return 0.5 + 0.42 * np.cos(2 * np.pi * (turns[:, None] - np.array([0.0, 1 / 3, 2 / 3])))


def paint_limbs(limbs: Limbs, colour) -> np.ndarray:
    """Plain where no limb is, elsewhere as colour(coordinates) says."""
    colours = np.tile(PLAIN**2.2, (len(limbs.vertices), 1))
    for k in range(len(limbs.models)):
        c = limbs.coordinates(k)
        seen = np.isfinite(c[:, 0])
        colours[seen] = colour(c[seen])
    return colours


def stripes(c: np.ndarray) -> np.ndarray:
    """A painted map: bands along, a patch on one side."""
    band = 0.5 + 0.5 * np.cos(2 * np.pi * 4.0 * c[:, 0])
    patch = np.exp(-((np.angle(np.exp(1j * c[:, 2])) / 0.7) ** 2))
    base = band[:, None] * np.array([0.95, 0.55, 0.12]) + (1 - band[:, None]) * np.array([0.25, 0.12, 0.06])
    return base * (1 - 0.8 * patch[:, None]) + 0.8 * patch[:, None] * np.array([0.1, 0.35, 0.8])


def tubes(studio: Studio, limbs: Limbs, place) -> None:
    """The models: boundary, hubs, spokes."""
    glass, hub, spoke = studio.material(BLUE, alpha=0.45), studio.material(INK), studio.material((0.3, 0.35, 0.4))
    for model in limbs.models:
        boundary = model.boundary(3)
        studio.mesh(boundary.vertices, boundary.triangles, glass, place)
        studio.line(model.hubs, 0.004, hub, place)
        count = model.shape[1]
        for i, x in enumerate(model.hubs):
            studio.ball(place + x, 0.007, hub)
            tips = model.points([[model.knots[i], 0.0, 2 * np.pi * q / count, 1.0] for q in range(count)])
            for tip in tips:
                studio.line([x, tip], 0.0015, spoke, place)


def main(how: Options) -> None:
    creature, man = Limbs(quadruped.figure(), LIMBS[quadruped]), Limbs(biped.figure(), LIMBS[biped])
    # There and back: the creature's legs on the man's limbs.
    for k in range(4):
        own = creature.vertices[creature.shares[k] > 0.5]
        inside = np.isfinite(creature.models[k].coordinates(own)[:, 0])
        there = creature.models[k].correspond(man.models[k], own[inside])
        back = man.models[k].correspond(creature.models[k], there)
        print(f"limb {k}: there and back to {np.abs(back - own[inside]).max():.1e} m")

    def along(c: np.ndarray) -> np.ndarray:
        u = np.clip((c[:, 0:1] + 0.3) / 1.6, 0, 1)
        return u * np.array([0.95, 0.75, 0.1]) + (1 - u) * np.array([0.15, 0.1, 0.45])

    studio = Studio(turn=-32.0, tilt=14.0)
    paint, glass = studio.vertex_material(), studio.material((0.7, 0.68, 0.65), alpha=0.25)
    shows = (
        ("tubes on bones", creature, None),
        ("along", creature, along),
        ("around", creature, lambda c: hues(c[:, 2] / (2 * np.pi))),
        ("painted by both", creature, stripes),
        ("carried over", man, stripes),
    )
    x = 0.0
    for words, limbs, colour in shows:
        place = studio.at(x, 0.0)
        if colour is None:
            studio.mesh(limbs.vertices, limbs.triangles, glass, place)
            tubes(studio, limbs, place)
        else:
            studio.mesh(limbs.vertices, limbs.triangles, paint, place, paint_limbs(limbs, colour))
        studio.text(words, place + studio.at(0.0, -0.16), 0.075)
        x += 1.0 if limbs is creature and colour is not stripes else 1.25
    studio.render(how.output, (-0.62, -0.3), (5.1, 1.75), how.width, how.engine)


if __name__ == "__main__":
    main(options("mrep-limbs"))
