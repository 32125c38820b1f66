# SPDX-License-Identifier: GPL-3.0-or-later
"""The computations under way in a responsive window."""

from __future__ import annotations

from ..logic.tasks import Stepper

#: Steppers of the operators at work in a window, for the panel's bar; the latest is last.
running_steppers: list[Stepper] = []
