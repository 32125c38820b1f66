# SPDX-License-Identifier: GPL-3.0-or-later
"""Import of the native core, and the reason when it cannot be loaded."""

from __future__ import annotations

from .errors import Cancelled, Refusal

try:
    import thew
except Exception as error:  # a wheel for another system fails in many ways
    thew = None
    failure = f"{type(error).__name__}: {error}"
else:
    failure = ""

#: Errors of the extension's own code that are meant for the artist.
EXPECTED_ERRORS = (Refusal, Cancelled) + ((thew.ThewError,) if thew is not None else ())


def core():
    """Returns the native module `thew`; raises a `Refusal` without it."""
    if thew is None:
        raise Refusal(
            "The native part of Thew could not be loaded: install the extension's zip for your system again "
            f"({failure})"
        )
    return thew
