# SPDX-License-Identifier: GPL-3.0-or-later
"""Places of the command line's results, tried before the work."""

from __future__ import annotations

import tempfile
from pathlib import Path

import bpy

from ..logic.errors import Refusal


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
    folder = path.resolve().parent
    if path.is_dir() or not is_writable(folder):
        what = "is a folder" if path.is_dir() else "is not in a folder that can be written to"
        raise Refusal(f"Nothing can be saved to {path}, which {what}: choose another place with --out")
