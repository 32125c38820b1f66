# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON from files and scripts."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Returns the content of a JSON text; raises a `ValueError` for other text, and where it is nested deeper than Python allows."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
