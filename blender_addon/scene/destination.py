# SPDX-License-Identifier: GPL-3.0-or-later
"""The .blend that owns what is written: the open one, or the one that a command will save in its place.

A command opens one file and saves its result as another. Until then files of bakes and caches must already lie beside the result, and
whatever belongs to the opened file stays. If the command fails, all of them are taken back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import bpy


@dataclass
class Destination:
    """The result of a command that is at work."""

    place: Path | None  # the .blend that will be saved; None: the opened one
    replaceable: set[Path] = field(
        default_factory=set
    )  # files of an earlier result at this place, which the new one may take
    finishes: list[Callable[[], None]] = field(default_factory=list)  # what waits until the result is saved
    undoes: list[Callable[[], None]] = field(default_factory=list)  # what takes back the files that were written


#: The destination of the command that is at work; None in a window.
_current: Destination | None = None


@contextmanager
def saving_to(place: Path | None, replaceable: set[Path] = frozenset()) -> Iterator[None]:
    """Lets files that are written within the context belong to the .blend `place` (None: to the opened one).

    They are taken back at its end, unless `keep` was called. `replaceable`: files of an earlier result at this place.
    """
    global _current
    _current = now = Destination(place, set(replaceable))
    try:
        yield
    finally:
        for undo in reversed(now.undoes):
            undo()
        _current = None


def keep() -> None:
    """Keeps what was written, now that the result is saved."""
    _current.undoes.clear()
    for finish in _current.finishes:
        finish()
    _current.finishes.clear()


def blend_path() -> str:
    """Returns the path of the .blend that owns what is written; "" for one that was never saved."""
    return str(_current.place) if is_elsewhere() else bpy.data.filepath


def is_elsewhere() -> bool:
    """Returns whether the result is another file than the opened one."""
    return _current is not None and _current.place is not None


def is_command() -> bool:
    """Returns whether a command is at work, which saves the result itself."""
    return _current is not None


def replaceable_files() -> set[Path]:
    """Returns files of an earlier result that may still be replaced."""
    return _current.replaceable if _current is not None else set()


def spare(paths: Iterable[Path]) -> None:
    """Takes files out of those that may be replaced: they get new content already, or something plays them."""
    spared = {real(path) for path in paths}
    for path in [path for path in replaceable_files() if real(path) in spared]:
        _current.replaceable.discard(path)


def defer(finish: Callable[[], None], undo: Callable[[], None] | None = None) -> bool:
    """Keeps what ends the writing of files until the result is saved, with what takes them back; False where no command is at work."""
    if _current is None:
        return False
    _current.finishes.append(finish)
    if undo is not None:
        _current.undoes.append(undo)
    return True


def is_same(one: str | Path, other: str | Path) -> bool:
    """Returns whether two paths lead to the same place, by whatever links."""
    return real(one) == real(other)


def real(path: str | Path) -> str:
    """Returns a path without links, in the form that tells places apart on this system."""
    return os.path.normcase(os.path.realpath(path))
