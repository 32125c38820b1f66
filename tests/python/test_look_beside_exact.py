# SPDX-License-Identifier: MIT OR Apache-2.0
"""Simulations compared with a recorded clip: the time until flesh is calm, and its sway over that of exact flesh."""

import numpy as np
import pytest
import shapes

from demo.look import parts, simulating
from demo.look.recording import Clip, Recording


@pytest.fixture(scope="module")
def arm_recording():
    """Builds a recording of an arm that is swung for a second and a half."""
    vertices, triangles = shapes.arm(segments=12, rings=20, radius=0.15)
    names, parents, heads, tails = shapes.arm_bones()
    way = 0.1 * np.sin(3.0 * np.pi * np.arange(37) / 24.0)
    maps = np.stack([shapes.bend(0.2) for _ in way])
    maps[:, :, 1, 3] += way[:, None]
    weights = shapes.arm_weights(vertices)
    skin = np.einsum("vb,fbij,vj->fvi", weights, maps[:, :, :3, :3], vertices) + np.einsum(
        "vb,fbi->fvi", weights, maps[:, :, :3, 3]
    )
    edges = np.unique(np.sort(triangles[:, :2], axis=1), axis=0)
    clip = Clip("swing", maps, skin.astype(np.float32))
    figure = (vertices, triangles, edges, names, np.array(parents), heads, tails, weights)
    return Recording("someone", "arm", *figure, 24.0, [clip])


def character(arm_recording, **settings):
    """Builds the simulated character of a recording."""
    return simulating.Character(arm_recording, {"cells_across": 8, **settings})


def test_over_exact_of_exact(arm_recording):
    """Exact flesh sways exactly as far as exact flesh."""
    exact = character(arm_recording, method="neohookean")
    clip = arm_recording.clips[0]
    assert exact.over_exact(clip, exact.shown(clip)) == pytest.approx(1.0, rel=1e-12)


def test_over_exact_of_half(arm_recording, monkeypatch):
    """Half the sway gives a half, also within the soft parts alone where they are named."""
    exact = character(arm_recording, method="neohookean")
    clip = arm_recording.clips[0]
    shown = exact.shown(clip)
    calmer = clip.shown + 0.5 * (shown - clip.shown)
    assert exact.over_exact(clip, calmer) == pytest.approx(0.5, rel=1e-9)
    # Where a part is named soft, that alone is looked at.
    near = arm_recording.rest[:, 0] < 0.3
    monkeypatch.setitem(vars(arm_recording), "parts", parts.Parts({}, {"shoulder": near}))
    calmer[:, ~near] = shown[:, ~near]
    assert exact.over_exact(clip, calmer) == pytest.approx(0.5, rel=1e-9)


def test_over_exact_of_still(arm_recording):
    """A still clip has no exact sway to be compared with."""
    still = Clip(
        "still",
        np.repeat(arm_recording.clips[0].maps[:1], 6, axis=0),
        np.repeat(arm_recording.clips[0].skin[:1], 6, axis=0),
    )
    assert character(arm_recording).over_exact(still, still.shown) is None


def test_calm_falls_with_damping(arm_recording):
    """More damping makes flesh calm sooner, and calm comes after the stop."""
    slow, quick = (character(arm_recording, stiffness_damping=damping).calm for damping in (0.0, 0.03))
    assert 0.0 < quick < slow <= simulating.WATCHED + 1.0
    stiff = character(arm_recording, young=1e9, softness=None).calm
    assert stiff < quick
