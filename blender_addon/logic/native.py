# SPDX-License-Identifier: GPL-3.0-or-later
"""The native core, or a sentence when it cannot be loaded."""

from __future__ import annotations

from .errors import Cancelled, Refusal

try:
    import thew
except Exception as error:  # a wheel for another system fails in many ways
    thew = None
    failure = f"{type(error).__name__}: {error}"
else:
    failure = ""

#: What the extension's own code may raise for the artist to read.
EXPECTED = (Refusal, Cancelled) + ((thew.ThewError,) if thew is not None else ())


def core():
    """The native module `thew`; a `Refusal` when it is not there."""
    if thew is None:
        raise Refusal(
            "The native part of Thew could not be loaded: install the extension's zip for your system again "
            f"({failure})"
        )
    return thew
