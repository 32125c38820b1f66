# SPDX-License-Identifier: GPL-3.0-or-later
"""Saving of the open .blend to a disk that may be full."""

from __future__ import annotations

import glob
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import bpy

from ..logic.errors import Refusal

#: Ending of unfinished files, after a dot, the name and the number of the process.
PART_SUFFIX = ".part.blend"
#: Seconds without growth after which an unfinished file counts as abandoned. A quarter of an hour: a file being written grows all
#: the time.
ABANDONED_AFTER = 900.0


def save(path: Path) -> None:
    """Saves the open file as `path`, whole or not at all; raises a `Refusal` when the disk does not take it.

    Blender 5.0 reports success when a full disk cut the file short. So the file is written beside its place, read back, and only
    then moved there.
    """
    path = path.resolve()
    clear(path)
    part = part_of(path)
    try:
        bpy.ops.wm.save_as_mainfile(filepath=str(part), copy=True, check_existing=False)
        with bpy.data.libraries.load(str(part)) as (found, _):
            missing = {obj.name for obj in bpy.context.scene.objects} - set(found.objects)
        if missing:
            raise OSError("the file is not whole")
        replace_file(part, path)
    except (RuntimeError, OSError) as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        reason = " ".join(str(error).split()).removeprefix("Error: ")
        raise Refusal(
            f"Blender cannot save {path} ({reason}): make room there, or choose another place with --out"
        ) from error


def part_of(path: Path) -> Path:
    """Returns the name of the unfinished file for a path, which only this process writes."""
    return path.with_name(f".{path.stem}.{os.getpid()}{PART_SUFFIX}")


def replace_file(part: Path, path: Path) -> None:
    """Moves a whole file to the place of another, whose mode it keeps.

    Another name of that file (a hard link) keeps the old content: both names cannot be replaced at once.
    """
    if path.exists():
        shutil.copymode(path, part)
    part.replace(path)


def clear(path: Path) -> None:
    """Removes unfinished files of killed processes for a path."""
    for part in path.parent.glob(f".{glob.escape(path.stem)}.*{PART_SUFFIX}"):
        with suppress(OSError):
            number = part.name.removeprefix(f".{path.stem}.").removesuffix(PART_SUFFIX)
            if number.isdecimal() and time.time() - part.stat().st_mtime > ABANDONED_AFTER:
                part.unlink()
