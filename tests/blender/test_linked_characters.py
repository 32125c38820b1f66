# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests flesh on overrides of characters that are linked from a library."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, flesh_of, play, refusal
from linking import digest, holders, open_shot, override, reopen, write_library

FRAMES = (1, 5, 9, 14)


@pytest.fixture
def library(scene, tmp_path):
    """Writes a library with a small character without flesh."""
    return write_library(tmp_path / "library.blend")


@pytest.fixture
def local_flesh(library):
    """Returns the shapes [f, n, 3] of the same character with flesh, opened in its own file."""
    bpy.ops.wm.open_mainfile(filepath=str(library))
    body = bpy.data.objects["Body"]
    activate(body)
    skin = play(body, FRAMES)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    shapes = play(body, FRAMES)
    assert np.abs(shapes - skin).max() > 1e-3
    return shapes


def test_override_plays_as_local(library, local_flesh, tmp_path):
    """An override moves as the local character does, after a save and a reload too, and the library's file stays as it is."""
    known = digest(library)
    open_shot(tmp_path / "shot.blend")
    body, _ = override(library)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    np.testing.assert_allclose(play(body, FRAMES), local_flesh, atol=1e-6)
    assert "thew_offset" not in body.data.attributes
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), local_flesh, atol=1e-6)
    (body,) = reopen("Body")
    np.testing.assert_allclose(play(body, FRAMES), local_flesh, atol=1e-6)
    assert digest(library) == known
