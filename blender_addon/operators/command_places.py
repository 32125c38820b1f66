# SPDX-License-Identifier: GPL-3.0-or-later
"""Places of the command line's results, tried before the work."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from ..live import saving
from ..logic.errors import Refusal
from ..scene import bake_files, destination, record_paths
from ..scene.files import part_of, save


def place_of(file: Path, out: str | Path | None) -> Path:
    """Returns the .blend to save: `out`, or one called like `file` in it where it is a folder; without `out` `file` itself.

    A name that ends with a slash is a folder's. One without “.blend” gets that ending, as in Blender's own dialog.
    """
    if not out:
        return file
    if names_folder(out) or os.path.isdir(out):  # False for a name that is too long
        return Path(out) / file.name
    place = Path(out)
    return place if place.suffix.lower() == ".blend" else place.with_name(f"{place.name}.blend")


def names_folder(out: str | Path | None) -> bool:
    """Returns whether a name ends with a slash."""
    return isinstance(out, str) and out.endswith(("/", os.sep))


@contextmanager
def ready_result(file: Path, out: str | Path | None, writes_files: bool) -> Iterator[Path]:
    """Yields the .blend to save for the work within the context, a place that was tried; makes the folder that a slash names.

    What is written belongs to it, and is taken back where the work fails. Files of an earlier result at that place may be replaced.
    """
    place = place_of(file, out)
    with ready_folder(place.parent) if names_folder(out) else nullcontext():
        check_place(place)
        whole, earlier = place.resolve(), set()
        if destination.is_same(file, place):
            whole = None  # the opened file: its folder is where it was opened
        elif whole.is_file() and (writes_files or bake_files.folder_beside(str(whole)).is_dir()):
            earlier = record_paths.files_in(whole)
        with destination.saving_to(whole, earlier):
            yield place


def save_result(place: Path) -> None:
    """Saves the result, keeps what belongs to it, and removes files of an earlier result that it does not play."""
    save(place)
    left = destination.replaceable_files()
    destination.keep()
    bake_files.remove_now(sorted(left))
    saving.write_caches(destination.blend_path())


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
