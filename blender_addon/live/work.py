# SPDX-License-Identifier: GPL-3.0-or-later
"""What is being computed while the window lives."""

from __future__ import annotations

from ..logic.tasks import Stepper

#: What operators are at work on in a window, for the panel's bar; the last began last.
running: list[Stepper] = []
