# SPDX-License-Identifier: GPL-3.0-or-later
"""Lattices and bodies that tests share: those of the same keys, the first of each in a test, and nothing that was edited."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
import sharing
from helpers import activate, flesh_of, make_character


def add_anew(**options):
    """Adds flesh to the small character in an empty scene, and returns it."""
    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    body, _ = make_character()
    body.thew.softness = options.pop("softness", 0.4)
    activate(body)
    assert bpy.ops.thew.add(cells_across=6, **options) == {"FINISHED"}
    return flesh_of(body)


@pytest.mark.usefixtures("unshared")
def test_stages_shared_once(scene):
    """A test gets the first stage of a key from earlier ones; it builds the second, to the same bits."""
    first = add_anew()
    sharing.begin_test()
    shared, built = add_anew(), add_anew()
    assert shared.lattice is first.lattice and shared.automatic is first.automatic
    assert built.lattice is not first.lattice and built.automatic is not first.automatic
    np.testing.assert_array_equal(built.lattice.vertices, first.lattice.vertices)
    np.testing.assert_array_equal(built.automatic.thickness, first.automatic.thickness)


@pytest.mark.usefixtures("unshared")
def test_stages_of_other_settings_not_shared(scene):
    """Another dial shares lattice and automatic body, but not the body; other cells share nothing."""
    first = add_anew()
    sharing.begin_test()
    softer = add_anew(softness=0.9)
    assert softer.lattice is first.lattice and softer.automatic is first.automatic
    assert softer.body.material.young != first.body.material.young
    sharing.begin_test()
    activate(bpy.data.objects["Body"])
    bpy.data.objects["Body"].thew.cells_across = 7
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert flesh_of(bpy.data.objects["Body"]).lattice is not first.lattice
