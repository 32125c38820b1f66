# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON that comes from files and scripts."""

from __future__ import annotations

import json
from typing import Any


def parsed(text: str | bytes) -> Any:
    """Returns the content of a text; a `ValueError` where it is no JSON, also where it is nested deeper than Python goes."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
