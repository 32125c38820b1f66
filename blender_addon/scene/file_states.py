# SPDX-License-Identifier: GPL-3.0-or-later
"""States of files for panels, which are redrawn at every move of the mouse: the disk, which may be a server's, is asked once a second.

What writes or removes such files calls `forget`. Playback asks the disk in every frame (`fresh`), and panels then show what it found.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
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
        return fresh(path)
    if isinstance(known[1], OSError):
        raise known[1].with_traceback(None)
    return known[1]


def fresh(path: Path) -> os.stat_result:
    """Returns the state of a file as it is now, and keeps it for panels; raises the `OSError` that reading it met."""
    if len(_kept) >= MAX_KEPT:
        _kept.clear()
    found = read(path)
    _kept[path] = time.monotonic(), found
    if isinstance(found, OSError):
        raise found
    return found


def is_file(path: Path, look: Callable[[Path], os.stat_result] = status) -> bool:
    """Returns whether a file is there, by its state as `look` reads it."""
    try:
        return stat.S_ISREG(look(path).st_mode)
    except OSError:
        return False


def read(path: Path) -> os.stat_result | OSError:
    """Returns the state of a file, or the error that reading it met."""
    try:
        return path.stat()
    except OSError as error:
        return error


def forget() -> None:
    """Lets the next redraw ask the disk for every file."""
    _kept.clear()
