# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rigs in a moving clip: thew.simulate(rigs=, controls=) and Clip.extend."""

import numpy as np
import pytest
import shapes
import thew

FRAMES = 14


def bulge(name="Bulge", along=0.5, strength=4e4):
    """Builds a rig that gives nothing at 0 and all of its strength at 1."""
    template = thew.Template("bulge", radius=0.15, strength=strength)
    guide = thew.BoneGuide(1, along=along, distance=0.05)
    samples = [(0.0, {"strength": 0.0}), (1.0, {"strength": strength})]
    return thew.Rig(template, guide=guide, samples=samples, name=name)


def swings(count=FRAMES):
    """Returns poses of a swinging elbow."""
    return np.stack([shapes.bend(0.6 * np.sin(2 * np.pi * i / 12)) for i in range(count)])


def largest_difference(a, b):
    """Returns the largest difference between two arrays or clips."""
    return float(np.abs(np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)).max())


@pytest.fixture(scope="module")
def plain_frames(arm):
    """Simulates the arm without rigs, and returns its frames."""
    return np.asarray(thew.simulate(arm.body, swings(), 24))


def test_zero_controls_change_nothing(arm, plain_frames):
    """Controls at zero leave the clip as it is."""
    none = thew.simulate(arm.body, swings(), 24, rigs=[bulge()], controls=np.zeros((FRAMES, 1)))
    assert largest_difference(none, plain_frames) < 1e-6
    assert np.array_equal(np.asarray(thew.simulate(arm.body, swings(), 24, rigs=[])), plain_frames)


def test_clip_starts_in_balance(arm):
    """A clip begins in the balance of its rigs."""
    rigs, controls = [bulge(), bulge("Other", 0.2, -2e4)], np.full((FRAMES, 2), (1.0, 0.5))
    clip = thew.simulate(arm.body, swings(), 24, rigs=rigs, controls=controls, method="warped")
    forces = rigs[0].forces(arm.body, 1.0) + rigs[1].forces(arm.body, 0.5)
    q = thew.equilibrium(arm.body, swings(1)[0], rest_forces=forces)
    np.testing.assert_allclose(clip.lattice_positions(0), arm.lattice.vertices + q, atol=1e-6)


def test_controls_act_before_change(arm, plain_frames):
    """Controls act from the frame before they change."""
    controls = np.zeros((FRAMES, 1))
    controls[7:] = 1.0
    clip = np.asarray(thew.simulate(arm.body, swings(), 24, rigs=[bulge()], controls=controls))
    assert np.isfinite(clip).all()
    distance = np.abs(clip - plain_frames).max(axis=(1, 2))
    assert distance[:7].max() < 1e-6 < 1e-3 < distance[8:].min()


def test_rig_default_control(arm):
    """A rig without controls stands at its last sample."""
    rig = bulge()
    driven = thew.simulate(arm.body, swings(), 24, rigs=[rig], controls=np.ones((FRAMES, 1)))
    assert np.array_equal(np.asarray(thew.simulate(arm.body, swings(), 24, rigs=[rig])), np.asarray(driven))


def test_clip_extend_with_rigs(arm):
    """A clip with rigs made in parts equals the clip made at once."""
    rigs = [bulge(), bulge("Other", 0.8, 1e4)]
    controls = np.random.default_rng(4).uniform(size=(FRAMES, 2))
    controls[:, 1] = 0.7
    whole = np.asarray(thew.simulate(arm.body, swings(), 24, rigs=rigs, controls=controls))
    part = thew.simulate(arm.body, swings()[:6], 24, rigs=rigs, controls=controls[:6])
    part.extend(swings()[6:9], controls[6:9])
    part.extend(swings()[9:], controls=controls[9:])
    assert np.array_equal(np.asarray(part), whole)


@pytest.mark.parametrize("method", ["linear", "modal", "warped"])
def test_rigs_every_method(arm, method):
    """Rigs push with every method."""
    settings = {"method": method, "modes": 10} if method == "modal" else {"method": method}
    plain = thew.simulate(arm.body, swings(), 24, **settings)
    pushed = thew.simulate(arm.body, swings(), 24, rigs=[bulge()], **settings)
    assert np.isfinite(np.asarray(pushed)).all() and largest_difference(pushed, plain) > 1e-4


def test_rig_outside_flesh_warns(arm, plain_frames):
    """A rig outside the flesh does nothing and gives a warning."""
    guide = thew.FreeGuide(np.array([[1.0, 0, 0, 50], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    rig = thew.Rig(thew.Template("bump", radius=0.1, strength=1e4), guide=guide, name="Lost")
    clip = thew.simulate(arm.body, swings(), 24, rigs=[rig])
    assert largest_difference(clip, plain_frames) < 1e-6
    assert len(clip.warnings) == 1 and "Lost" in clip.warnings[0] and "outside" in clip.warnings[0]
    assert thew.simulate(arm.body, swings(), 24, rigs=[bulge()]).warnings == []


def test_controls_refuse_bad_input(arm):
    """Bad controls are refused with a sentence."""

    def refusal(controls, rigs=None):
        with pytest.raises(ValueError) as error:
            thew.simulate(arm.body, swings(), 24, rigs=[bulge()] if rigs is None else rigs, controls=controls)
        assert isinstance(error.value, thew.ThewError)
        return str(error.value)

    assert f"({FRAMES}, 1)" in refusal(np.zeros((FRAMES, 2)))
    assert f"({FRAMES}, 1)" in refusal(np.zeros((FRAMES - 1, 1)))
    assert "a row for each frame, a column for each rig" in refusal(np.zeros(FRAMES))
    assert f"({FRAMES}, 0)" in refusal(np.zeros((FRAMES, 1)), rigs=[])
    controls = np.zeros((FRAMES, 1))
    controls[3] = np.nan
    assert "“" in refusal(controls) or "Bulge" in refusal(controls)
    lost = thew.Rig(bulge().template, guide=thew.BoneGuide("nobody"), name="Lost")
    text = refusal(np.zeros((FRAMES, 1)), rigs=[lost])
    with pytest.raises(thew.RigError):
        thew.simulate(arm.body, swings(), 24, rigs=[lost])
    assert "Lost" in text and "nobody" in text
