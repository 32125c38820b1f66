# SPDX-License-Identifier: GPL-3.0-or-later
"""The bar of a loop, whose rounds are known only at their end: monotone, and full when the work is done."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "blender_addon"))
loop_rounds = importlib.import_module("logic.loop_rounds")

#: Loops of real characters: frames of a round, mass damping of the body, rounds that the core made at 24 frames a second.
MEASURED = [
    (20, 4.04, 3), (20, 4.83, 3), (20, 1.21, 4), (20, 12.13, 2), (28, 3.77, 3), (28, 4.59, 3), (28, 1.13, 3), (28, 11.32, 2),
    (28, 4.64, 3), (28, 5.09, 3), (28, 1.39, 4), (28, 13.92, 2), (60, 3.71, 2), (60, 4.53, 2), (60, 1.11, 2), (60, 11.14, 2),
    (18, 4.39, 4), (18, 4.82, 4), (18, 1.32, 7), (18, 13.17, 2),
]  # fmt: skip


def run(rounds, made: int) -> list[float]:
    """Returns the bar at each frame of a loop that takes so many rounds."""
    stages = (f"closing the loop, round {k}, frame {i}" for k in range(1, made + 1) for i in range(rounds.period))
    return [rounds.fraction(stage) for stage in stages]


@pytest.mark.parametrize(("period", "damping", "made"), MEASURED)
def test_loop_rounds_of_characters(period, damping, made):
    """Most real loops take the rounds that are expected; the next loop of the same flesh takes as many as the last one did."""
    rounds = loop_rounds.LoopRounds(period, 24.0, damping)
    assert abs(rounds.expected - made) <= 2
    bar = run(rounds, made)
    assert bar == sorted(bar) and bar[0] == 0.0 and bar[-1] < 1.0 and rounds.made == made
    again = loop_rounds.LoopRounds(period, 24.0, damping, rounds.observed_decay())
    assert again.expected == made and again.observed_decay() == again.decay
    assert run(again, made)[-1] > loop_rounds.EXPECTED_SHARE * (1.0 - 1.0 / (made * period)) - 1e-12


def test_loop_rounds_estimate_is_good():
    """Two thirds of the measured loops take exactly as many rounds as expected."""
    exact = [loop_rounds.LoopRounds(period, 24.0, damping).expected == made for period, damping, made in MEASURED]
    assert sum(exact) >= len(exact) * 2 / 3


@pytest.mark.parametrize("made", [1, 2, 3, 20, 60])
def test_loop_rounds_bar_never_full_before_end(made):
    """The bar only grows and is never full, however many rounds are made."""
    bar = run(loop_rounds.LoopRounds(6, 24.0, 4.0), made)
    assert bar == sorted(bar) and len(set(bar)) == len(bar) and bar[-1] < 1.0


@pytest.mark.parametrize("period", [1, 3, 24, 500, 5000])
@pytest.mark.parametrize("damping", [0.0, 1e-3, 4.0, 1e4])
def test_loop_rounds_within_what_core_makes(period, damping):
    """No more rounds are expected than the core ever makes, and two at least."""
    rounds = loop_rounds.LoopRounds(period, 24.0, damping)
    assert 2 <= rounds.expected <= max(15.0 * 24.0 / period + 1.0, 3.0)
    assert rounds.fraction("frame 7") is None and rounds.fraction("preparing contact") is None and rounds.made == 0
    assert rounds.observed_decay() == rounds.decay
