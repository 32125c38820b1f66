# SPDX-License-Identifier: GPL-3.0-or-later
"""The open .blend written to a disk that may be full."""

from __future__ import annotations

import shutil
from pathlib import Path

import bpy

from ..logic.errors import Refusal


def save(path: Path) -> None:
    """Save the open file as `path`, whole or not at all; a `Refusal` when the disk does not take it.

    Blender 5.0 reports success when a full disk cut the file short. So it is written beside its place, read back, and
    only then put there.
    """
    path = path.resolve()
    part = path.with_name(f"{path.stem}.part.blend")
    try:
        bpy.ops.wm.save_as_mainfile(filepath=str(part), copy=True, check_existing=False)
        with bpy.data.libraries.load(str(part)) as (found, _):
            missing = {obj.name for obj in bpy.context.scene.objects} - set(found.objects)
        if missing:
            raise OSError("the file is not whole")
        put(part, path)
    except (RuntimeError, OSError) as error:
        part.unlink(missing_ok=True)
        reason = " ".join(str(error).split()).removeprefix("Error: ")
        raise Refusal(
            f"Blender cannot save {path} ({reason}): make room there, or choose another place with --out"
        ) from error


def put(part: Path, path: Path) -> None:
    """Put a whole file in the place of another, whose mode and other names it keeps."""
    if path.exists():
        shutil.copymode(path, part)
        if path.stat().st_nlink > 1:
            shutil.copyfile(part, path)
            part.unlink()
            return
    part.replace(path)
