# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake is the same every time, whatever engine is quickest at the moment."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, add_modal, flesh_of, part, play, size_of


class DifferingClip:
    """Stands in for a clip of a quick engine, which differs in the last digits each time."""

    def __init__(self, clip, noise: float):
        self._clip, self._noise = clip, noise

    def offsets(self, index: int, **where) -> np.ndarray:
        return self._clip.offsets(index, **where) + np.float32(self._noise)

    def __getattr__(self, name):
        return getattr(self._clip, name)


@pytest.fixture
def engine_calls(monkeypatch):
    """Records the engines that are asked for; every engine but the CPU gives one of the quick ones, in turns."""
    thew, asked = part("logic.native").thew, []
    simulate = thew.simulate

    def choose_clip(*args, **options):
        settings = options["settings"]
        clip = simulate(*args, **{**options, "settings": settings.replace(engine="cpu")})
        asked.append(settings.engine)
        return clip if asked[-1] == "cpu" else DifferingClip(clip, 1e-5 * len(asked))

    monkeypatch.setattr(thew, "simulate", choose_clip)
    return asked


def keys(body) -> np.ndarray:
    blocks = body.data.shape_keys.key_blocks
    return np.array([[point.co[:] for point in block.data] for block in blocks])


@pytest.mark.parametrize("engine", ["AUTO", "GPU"])
@pytest.mark.parametrize("space", ["REST", "POSED"])
def test_bake_same_bits(character, engine_calls, engine, space):
    """Two bakes hold the same bits even where the live flesh came from different engines."""
    body, _ = character
    add_modal()
    body.thew.engine, body.thew.device, body.thew.bake_space = engine, "some", space
    live, found = [], []
    for _ in range(2):
        activate(body)
        assert bpy.ops.thew.bake() == {"FINISHED"}
        found.append(keys(body))
        assert bpy.ops.thew.show_live() == {"FINISHED"}
        live.append(play(body, (5,)))
    assert engine_calls.count("cpu") >= 2 and len(set(engine_calls)) > 1
    assert not np.array_equal(*live)  # the choice did differ meanwhile
    np.testing.assert_array_equal(*found)
    assert np.ptp(found[0], axis=0).max() > 1e-3 * size_of(found[0][0])


def test_bake_simulates_on_cpu(character, engine_calls):
    """A bake does not use a clip that another engine made, but simulates it on the CPU."""
    body, _ = character
    add_modal()
    play(body, range(1, 21))
    assert engine_calls[-1] == "auto"
    activate(body)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert engine_calls[-1] == "cpu" and flesh_of(body).clip.engine.startswith("CPU")
