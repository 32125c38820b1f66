# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a simulation as the artist has them: their key, and the damping of a body under the artist's factors."""

from __future__ import annotations

import struct
from typing import Any

from .modal import METHOD
from .native import core


def key(settings: Any, settling: float, tremble: float) -> bytes:
    """Returns a hash of all that a motion depends on: a thew.SimulationSettings, and factors on the body's own damping.

    The engine counts only for the method Modal: other methods do not use it.
    """
    shown = settings if settings.method == METHOD else settings.replace(engine="auto")
    return shown.digest() + struct.pack("<2d", settling, tremble)


def with_damping(settings: Any, body: Any, settling: float, tremble: float) -> Any:
    """Returns the settings for a thew.Body: damping that is None is the body's own, by the artist's factors."""
    mass, stiffness = core().default_damping(body)
    own = {"mass_damping": mass * settling, "stiffness_damping": stiffness / tremble}
    return settings.replace(**{name: value for name, value in own.items() if getattr(settings, name) is None})
