# SPDX-License-Identifier: GPL-3.0-or-later
"""The dial answers while it is dragged."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import evaluated_positions, part, play
from ticking import tick


def offsets(body) -> np.ndarray:
    """Returns what is shown beyond the plain skin."""
    shape = evaluated_positions(body)
    mine = body.modifiers["Thew"]
    mine.show_viewport = False
    plain = evaluated_positions(body)
    mine.show_viewport = True
    return shape - plain


def test_dial_followed(window, monkeypatch):
    """A dial that goes on moving is simulated meanwhile: patience is for a value that is typed."""
    body, *_ = window
    updates = part("live.updates")
    monkeypatch.setattr(updates, "SETTING_DELAY", 1e6)
    before = evaluated_positions(body)
    body.thew.softness = 0.55
    tick()
    first = evaluated_positions(body)
    assert np.abs(first - before).max() > 1e-5 and not updates.state.waiting
    body.thew.softness = 0.7
    tick()
    assert np.abs(evaluated_positions(body) - first).max() > 1e-5
    body.thew.mass_damping = 3.0
    assert updates.state.waiting  # it waits for its rest
    updates.state.waiting.clear()


@pytest.mark.parametrize(("to", "grows"), [(0.8, True), (0.2, False)])
def test_dial_steps_shown(window, to, grows):
    """The shape changes with each step of a drag, and the former value gives the former shape back."""
    body, *_ = window
    was = offsets(body)
    steps = np.linspace(0.5, to, 5)[1:]
    seen = [np.abs(was).max()]
    for value in steps:
        body.thew.softness = float(value)
        seen.append(np.abs(offsets(body)).max())
    tries = np.diff(seen[1:])
    assert (tries > 0.0).all() if grows else (tries < 0.0).all(), seen
    tick()
    after = evaluated_positions(body)
    np.testing.assert_array_equal(play(body, (9, 4))[1], after)  # what was shown meanwhile is no motion
    body.thew.softness = 0.5
    tick()
    np.testing.assert_allclose(offsets(body), was, atol=1e-6)


def test_dial_comes_back(window):
    """A dial that comes back to its value shows the former shape."""
    body, *_ = window
    before = evaluated_positions(body)
    for value in (0.6, 0.9, 0.5):
        body.thew.softness = value
    np.testing.assert_allclose(evaluated_positions(body), before, atol=1e-6)
    tick()
    np.testing.assert_allclose(evaluated_positions(body), before, atol=1e-6)


def test_dial_modulus(window):
    """Young's modulus is followed while it is dragged, as softness is."""
    body, *_ = window
    body.thew.use_young = True
    tick()
    was = np.abs(offsets(body)).max()
    for value in (40e3, 80e3):
        body.thew.young = value
    assert 0.0 < np.abs(offsets(body)).max() < was
    tick()


def test_dial_while_settled(window):
    """A drag shows nothing of the clip while the flesh at rest is shown."""
    body, *_ = window
    body.thew.settled = True
    tick()
    before = evaluated_positions(body)
    for value in (0.6, 0.9):
        body.thew.softness = value
    np.testing.assert_array_equal(evaluated_positions(body), before)
    tick()
