# SPDX-License-Identifier: MIT OR Apache-2.0
"""Locks of files, which end with the process that holds them."""

from __future__ import annotations

import errno
import os
from pathlib import Path


class Lock:
    """A lock on a file. `held`: whether it was free; others that are `shared` do not keep a shared one out."""

    def __init__(self, path: Path, shared: bool = False) -> None:
        """Opens the file and tries to lock it, without waiting. Raises OSError for a file that cannot be opened."""
        self._file = path.open("ab")
        try:
            self._lock(shared)
            self.held = True
        except OSError as error:
            # A file system without locks lets everyone in: it is the user's own folder.
            self.held = error.errno not in {errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK}

    def close(self) -> None:
        """Gives the lock back."""
        self._file.close()

    def _lock(self, shared: bool) -> None:
        if os.name == "nt":
            import msvcrt

            if not shared:  # Windows has no shared ones: a command of the whole table then meets those of parts
                msvcrt.locking(self._file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(self._file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
