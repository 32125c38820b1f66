# SPDX-License-Identifier: MIT OR Apache-2.0
"""Several figures that are fitted to a surface as one model."""

import glb
import numpy as np
import pytest
import thew

SPINE, ARMS = (
    ["spine_01", "spine_02", "spine_03"],
    [[f"{bone}_{side}" for bone in ("upperarm", "lowerarm")] for side in "lr"],
)
NAMES = ["trunk", "left", "right"]


@pytest.fixture(scope="module")
def person():
    """Builds a character, first models of its trunk and arms, and the skin of each, [k,n]."""
    c = glb.character("m2m_human")
    skeleton = c.skeleton.refit_tails(c.surface, c.weights)
    chains = [SPINE, *ARMS]
    figures = [thew.MRep.from_skeleton(c.surface, skeleton, c.weights, chain) for chain in chains]
    counts = np.stack([thew.MRep.chain_weights(skeleton, c.weights, chain) for chain in chains])
    return c.surface, thew.MRep.join(figures, names=NAMES), counts


def test_fit_trunk_and_arms(person):
    """A trunk and its arms are fitted as one model, each figure better in each stage."""
    surface, model, counts = person
    fit = model.fit(surface, stages=["similarity", "sections", "atoms", "boundary"], weights=counts)
    assert fit.mrep.names == NAMES and fit.notes == []
    for name, one, template in zip(NAMES, fit.figures, model.figures, strict=True):
        assert list(one.stages) == ["similarity", "object", "sections", "atoms", "boundary"], name
        assert all((np.diff(energies) < 0.0).all() for energies in one.posterior.values()), name
        means = [report.mean for report in one.stages.values()]
        assert means == sorted(means, reverse=True), name
        assert means[-1] < 0.03 * np.mean(template.radii), name
        assert one.mrep.legality() > 0.0
    # Shoulders stay with the trunk: nothing of them is seen inside of it.
    first = [np.asarray(figure.hubs)[0] for figure in fit.mrep.figures[1:]]
    for hub, before in zip(first, model.figures[1:], strict=True):
        assert np.linalg.norm(hub - np.asarray(before.hubs)[0]) < 0.5 * np.mean(before.radii)
    assert len(fit.surface.vertices) == sum(len(one.surface.vertices) for one in fit.figures)


def test_fit_values_per_figure(person):
    """Values that belong to one figure are refused by a fit of several, which names its figures."""
    surface, model, counts = person
    fit = model.fit(surface, stages=["similarity"], weights=counts)
    for ask in ("report", "stages", "posterior", "surface_coordinates", "levels"):
        with pytest.raises(thew.InputError, match=r"3 figures \(trunk, left, right\): use one"):
            getattr(fit, ask)
    assert [one.mrep.names for one in fit.figures] == [[name] for name in NAMES]
    assert [name in repr(fit) for name in NAMES] == [True] * 3
    with pytest.raises(thew.InputError, match="weights"):
        model.fit(surface, weights=counts[0])
    nothing = counts.copy()
    nothing[1] = 0.0
    with pytest.raises(thew.MRepError, match="figure 'left'"):
        model.fit(surface, weights=nothing)
