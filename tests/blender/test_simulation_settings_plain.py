# SPDX-License-Identifier: GPL-3.0-or-later
"""The key of a motion depends on every setting of a simulation, so that no clip goes stale in silence."""

from __future__ import annotations

import pytest
from helpers import part

#: Values of names, other than their defaults.
NAMES = {"method": "modal", "solver": "cg", "form": "vertex", "precision": "f16", "engine": "cpu", "adapt": "rigs"}


@pytest.fixture(scope="module")
def thew(addon):
    return part("logic.native").thew


@pytest.fixture(scope="module")
def simulation(addon):
    return part("logic.simulation")


def another_value(name, value):
    """Returns a value of a setting other than `value`."""
    if name in NAMES:
        return NAMES[name]
    if isinstance(value, tuple):
        return tuple(0.5 * number + 1.0 for number in value)
    return 0.5 * (value or 1.0)


@pytest.mark.parametrize("method", ["warped", "modal"])
def test_simulation_key_covers_settings(thew, simulation, method):
    """Every setting of the method changes the simulation's key."""
    usual = thew.SimulationSettings(method=method)
    key = simulation.key(usual, 1.0, 1.0)
    assert simulation.key(thew.SimulationSettings(method=method), 1.0, 1.0) == key
    for name, value in usual.as_dict().items():
        if name == "method":
            continue
        changed = simulation.key(usual.replace(**{name: another_value(name, value)}), 1.0, 1.0)
        # The engine shows the method Modal alone.
        assert (changed == key) == (name == "engine" and method != "modal"), name
    assert len({key, simulation.key(usual, 2.0, 1.0), simulation.key(usual, 1.0, 2.0)}) == 3
    assert simulation.key(usual.replace(method="linear"), 1.0, 1.0) != key


def test_damped_prefers_given_numbers(thew, simulation, monkeypatch):
    """Damping that is set in numbers replaces the default of the body."""

    class Core:
        default_damping = staticmethod(lambda body: (3.0, 0.5))

    monkeypatch.setattr(simulation, "core", lambda: Core)
    damped = simulation.with_damping(thew.SimulationSettings(), None, 2.0, 5.0)
    assert (damped.mass_damping, damped.stiffness_damping) == (6.0, 0.1)
    damped = simulation.with_damping(thew.SimulationSettings(mass_damping=1.0), None, 2.0, 5.0)
    assert (damped.mass_damping, damped.stiffness_damping) == (1.0, 0.1)
