# SPDX-License-Identifier: MIT OR Apache-2.0
"""Former names work as the present ones do, and warn once wherever they are used."""

import warnings

import numpy as np
import pytest
import shapes
import thew

POSES = np.stack([shapes.bend(angle) for angle in (0.0, 0.6, 0.9)])


@pytest.fixture(scope="module")
def clip(arm):
    return thew.simulate(arm.body, POSES, 24, max_offset=0.01)


def test_reach_is_max_offset(arm, clip):
    with pytest.warns(DeprecationWarning, match="max_offset"):
        former = thew.simulate(arm.body, POSES, 24, reach=0.01)
    assert np.array_equal(np.asarray(former), np.asarray(clip))
    with pytest.warns(DeprecationWarning, match="max_offset"):
        assert thew.Simulation(arm.body, reach=0.01) is not None
    q = thew.equilibrium(arm.body, POSES[2])
    with pytest.warns(DeprecationWarning, match="max_offset"):
        shown = arm.body.shown(q, POSES[2], reach=0.01)
    assert np.array_equal(shown, arm.body.shown(q, POSES[2], max_offset=0.01))
    modes = thew.modes(arm.body, 4)
    amplitudes = np.full(4, 0.05)
    with pytest.warns(DeprecationWarning, match="max_offset"):
        deformer = thew.Deformer(modes, arm.surface, engine="cpu", reach=0.01)
    present = thew.Deformer(modes, arm.surface, engine="cpu", max_offset=0.01)
    assert np.array_equal(deformer.positions(amplitudes, POSES[1]), present.positions(amplitudes, POSES[1]))


def test_former_properties(clip):
    with pytest.warns(DeprecationWarning, match=r"Clip\.max_skin_deviations"):
        assert np.array_equal(clip.strays, clip.max_skin_deviations)
    template = thew.Template("bulge", radius=0.2, strength=3.0)
    with pytest.warns(DeprecationWarning, match=r"Template\.support_radius"):
        assert template.reach == template.support_radius == 0.2


def test_a_place_warns_once(clip):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert len(clip.strays) == len(POSES)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_both_names_at_once_are_refused(arm):
    with pytest.raises(thew.InputError, match="former name"):
        thew.simulate(arm.body, POSES, 24, max_offset=0.1, reach=0.1)


def test_present_names_do_not_warn(arm, clip):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(clip.max_skin_deviations) == len(thew.simulate(arm.body, POSES, 24, max_offset=0.1))
