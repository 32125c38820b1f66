# SPDX-License-Identifier: GPL-3.0-or-later
"""However a rig is made, its size and its strength follow from the flesh where it stands, by one policy."""

from __future__ import annotations

import bpy
import pytest
from helpers import activate, add_rig, flesh_of, make_character, part

SIZES = ("radius", "ring_radius", "tube_radius", "strength")


@pytest.mark.parametrize("template", ["BUMP", "RADIAL", "TORUS"])
@pytest.mark.parametrize("bone", ["Spine", "Head"])
def test_rig_add_matches_place(fleshed_character, template, bone):
    """A rig that is added and one that is placed get the same numbers."""
    body, _ = fleshed_character
    added = add_rig(body, template=template, bone=bone)
    activate(body)
    assert bpy.ops.thew.rig_place(template=template, guide="BONE", bone=bone, along=0.5, distance=0.0) == {"FINISHED"}
    added, placed = body.thew.rigs
    assert (added.along, added.distance, added.tilt) == (placed.along, placed.distance, placed.tilt)
    for name in SIZES:
        assert getattr(placed, name) == pytest.approx(getattr(added, name), rel=1e-3), name
    assert added.strength_by == placed.strength_by == "YIELD"


def test_new_rig_scales_with_flesh(scene):
    """Thick flesh gets larger rigs than thin flesh, within the limits."""
    body, _ = make_character()
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    sizing, flesh = part("edit.sizing"), flesh_of(body)
    rigs = [add_rig(body, template="RADIAL", bone=bone) for bone in ("Spine", "Head")]
    radii = [rig.radius * flesh.place.metres_per_unit / flesh.surface.size for rig in body.thew.rigs]
    assert len(rigs) == 2 and all(radius * (1 + 1e-6) >= sizing.MIN_RADIUS for radius in radii)
    assert all(radius <= sizing.MAX_RADIUS * (1 + 1e-6) for radius in radii)
    for rig in body.thew.rigs:
        assert 0.0 < rig.yields <= sizing.YIELD_PER_RADIUS * rig.radius * (1 + 5e-3)


def test_new_rig_sizes_by_template(fleshed_character):
    """Ring and tube of a new rig together are as large as its radius."""
    body, _ = fleshed_character
    rig = add_rig(body, template="BUMP", bone="Spine")
    assert (rig.ring_radius, rig.tube_radius) == pytest.approx((0.6 * rig.radius, 0.4 * rig.radius), rel=1e-5)
    activate(body)
    assert bpy.ops.thew.rig_place(template="TORUS", guide="BONE", bone="Spine", along=0.5) == {"FINISHED"}
    torus = body.thew.rigs[1]
    assert torus.radius == pytest.approx(torus.ring_radius + torus.tube_radius, rel=1e-5)


def test_rig_place_keeps_given_sizes(fleshed_character):
    """Sizes that are given to the operator are kept."""
    body, _ = fleshed_character
    activate(body)
    assert bpy.ops.thew.rig_place(template="BUMP", guide="BONE", bone="Spine", radius=0.11, yields=0.004) == {
        "FINISHED"
    }
    (rig,) = body.thew.rigs
    assert rig.radius == pytest.approx(0.11) and rig.yields == pytest.approx(0.004)
