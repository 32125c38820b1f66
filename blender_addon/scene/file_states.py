# SPDX-License-Identifier: GPL-3.0-or-later
"""States of files for panels, which are redrawn at every move of the mouse: the disk, which may be a server's, is asked once a second.

What writes or removes such files calls `forget`. Playback does not read here: a frame looks at the disk itself.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

#: Age in seconds up to which a state is shown. A file that vanishes is noticed by the first redraw after it.
MAX_AGE = 1.0
#: Number of files that are kept. More are forgotten together.
MAX_KEPT = 1024

#: State or error of each file, and when it was read.
_kept: dict[Path, tuple[float, os.stat_result | OSError]] = {}


def status(path: Path) -> os.stat_result:
    """Returns the state of a file, at most `MAX_AGE` old; raises the `OSError` that reading it met."""
    now = time.monotonic()
    known = _kept.get(path)
    if known is None or now - known[0] >= MAX_AGE:
        known = now, read(path)
        if len(_kept) >= MAX_KEPT:
            _kept.clear()
        _kept[path] = known
    if isinstance(known[1], OSError):
        raise known[1].with_traceback(None)
    return known[1]


def read(path: Path) -> os.stat_result | OSError:
    """Returns the state of a file, or the error that reading it met."""
    try:
        return path.stat()
    except OSError as error:
        return error


def forget() -> None:
    """Lets the next redraw ask the disk for every file."""
    _kept.clear()
