# SPDX-License-Identifier: GPL-3.0-or-later
"""Places of the command line's results, tried before the work."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import bpy

from ..logic.errors import Refusal
from ..scene.files import part_of


def move_to(place: Path) -> None:
    """Saves the opened file under a new name, so that paths beside it lie there. Refuses one that exists: it would be lost if the bake fails."""
    if place.exists():
        raise Refusal(f"{place} exists: with --beside-out name a new file with --out")
    try:
        bpy.ops.wm.save_as_mainfile(filepath=str(place.resolve()), check_existing=False)
    except RuntimeError as error:
        raise Refusal(f"Nothing can be saved to {place} ({error}): choose another place with --out") from error


def is_writable(folder: Path) -> bool:
    """Returns whether a file can be made in a folder and take a byte; leaves no trace."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\n")
    except OSError:
        return False
    return True


def check_place(path: Path) -> None:
    """Refuses, before any work, a file that cannot be saved to."""
    try:
        whole = path.resolve()
        wrong = "is a folder" if whole.is_dir() else ""
        if not wrong and not is_writable(whole.parent):
            wrong = "is not in a folder that can be written to"
        if not wrong:  # the longest name that is written on the way
            part = part_of(whole)
            part.touch()
            part.unlink()
    except (OSError, RuntimeError, ValueError) as error:  # a name that is too long, a link to itself
        wrong = f"is no place for a file ({getattr(error, 'strerror', None) or error})"
    if wrong:
        raise Refusal(f"Nothing can be saved to {path}, which {wrong}: choose another place with --out")


@contextmanager
def ready_folder(folder: Path) -> Iterator[None]:
    """Makes a folder, unless it is there, for the work within the context; refuses one that cannot be made or written to.

    Where the work fails a new folder is removed again, if nothing is in it.
    """
    try:
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
    except FileNotFoundError as error:
        raise Refusal(
            f"There is no folder {folder.absolute().parent}: make it, or choose another one with --out"
        ) from error
    except (OSError, ValueError) as error:  # a file or a broken link has the name, or it is too long
        reason = getattr(error, "strerror", None) or error
        raise Refusal(f"The folder {folder} cannot be made ({reason}): choose another one with --out") from error
    try:
        if not is_writable(folder):
            raise Refusal(f"Nothing can be written to the folder {folder}: choose another one with --out")
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
