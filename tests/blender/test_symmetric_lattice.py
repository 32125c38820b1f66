# SPDX-License-Identifier: GPL-3.0-or-later
"""A symmetric character has a symmetric lattice at the press of a button; Details tells so, and a switch takes it away."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of

from assets.characters import create

pytestmark = pytest.mark.usefixtures("scene")


def add_flesh(lift: float = 0.0):
    """Adds flesh to a biped one of whose arms is lifted, at its skin alone; returns the mesh."""
    _, body = create("biped")
    for vertex in body.data.vertices:
        if vertex.co.x > 0.3:
            vertex.co.z += lift
    scene = bpy.context.scene
    scene.frame_end = scene.frame_start + 2
    activate(body)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body


def is_symmetric(body) -> bool:
    """Returns whether the lattice is mirrored; Details says the same."""
    mirrored = flesh_of(body).lattice.mirror_plane is not None
    assert ("Left and right mirror each other." in body.thew.made.notes) == mirrored
    return mirrored


@pytest.mark.parametrize("lift", [0.0, 0.02])
def test_details_tell_symmetry(lift):
    """Details tells that the lattice is symmetric; not if one arm is shaped otherwise than the other."""
    assert is_symmetric(add_flesh(lift)) == (lift == 0.0)


def test_symmetric_switches(tmp_path):
    """Without Symmetric the lattice is built as a whole, with it mirrored again bit for bit; the file keeps the switch."""
    body = add_flesh()
    vertices = flesh_of(body).lattice.vertices
    body.thew.symmetric = False
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert not is_symmetric(body)
    name = body.name
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "file.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "file.blend"))
    body = bpy.data.objects[name]
    assert not body.thew.symmetric
    activate(body)
    body.thew.symmetric = True
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert is_symmetric(body)
    np.testing.assert_array_equal(flesh_of(body).lattice.vertices, vertices)
