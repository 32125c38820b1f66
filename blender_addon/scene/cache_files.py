# SPDX-License-Identifier: GPL-3.0-or-later
"""Storage of the disk cache: a folder beside the .blend, named after it, or the .blend itself.

Readers trust nothing in it, and losing it does no harm.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path

import bpy

from . import destination

#: Ending of a cache file.
CACHE_SUFFIX = ".thew-cache"
#: Upper limit of a cache file, bytes; larger ones were not written here. A hundred seconds at 60 frames a second of 25,000 vertices
#: take 1.8 GB.
MAX_SIZE = 2**31
#: The last failure to write, a sentence; "" after success.
last_failure = ""


def folder(blend: str = "") -> Path:
    """Returns the folder beside a .blend, by default the open one, or one among the temporary files for a file that was never saved."""
    blend = blend or bpy.data.filepath
    return Path(blend).with_suffix(".thew") if blend else Path(bpy.app.tempdir) / "thew"


def path_of(obj: bpy.types.Object, blend: str = "") -> Path:
    """Returns the file of one object beside a .blend: its name in characters safe for file systems, and a hash of the whole name."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", obj.name)[:40]
    return folder(blend) / f"{plain}-{hashlib.blake2b(obj.name.encode(), digest_size=4).hexdigest()}{CACHE_SUFFIX}"


def read(obj: bpy.types.Object) -> bytes | None:
    """Returns the cache of an object, in the file or beside it; None where it has none, or it cannot be read."""
    image = obj.thew.made.cache
    if image is not None and image.packed_file is not None:
        return bytes(image.packed_file.data)
    try:
        path = path_of(obj)
        return path.read_bytes() if path.is_file() and path.stat().st_size < MAX_SIZE else None
    except OSError:
        return None


def write(obj: bpy.types.Object, content: bytes, blend: str = "") -> None:
    """Writes a cache beside a .blend, by default the open one, whole or not at all; `last_failure` holds the reason of a failure."""
    global last_failure
    path = path_of(obj, blend)
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
        last_failure = ""
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()  # only where nothing is in it
        last_failure = (
            f"The cache {path.parent} cannot be written ({error.strerror}): flesh is built anew when the file is opened"
        )


def pack(obj: bpy.types.Object, content: bytes | None) -> None:
    """Packs a cache into the file, which is saved next; None: removes it."""
    made = obj.thew.made
    if made.cache is not None:
        image, made.cache = made.cache, None
        if not image.users and image.library is None:
            bpy.data.images.remove(image)
    if content is not None:
        image = bpy.data.images.new(f"Thew {obj.name}", 1, 1)
        image.pack(data=content, data_len=len(content))
        made.cache = image


def forget(obj: bpy.types.Object) -> None:
    """Removes the caches of an object."""
    pack(obj, None)
    with suppress(OSError):
        path_of(obj, destination.blend_path()).unlink(missing_ok=True)


def cache_text(obj: bpy.types.Object) -> str:
    """Returns the place and size of the caches, or the last failure, for the panel."""
    if last_failure:
        return last_failure
    total = size(obj)
    if not total:
        return "Kept once the file is saved"
    megabytes, image = total / 2**20, obj.thew.made.cache
    where = (
        "the file"
        if image is not None and not cache_files()
        else f"“{folder().name}”"
        if bpy.data.filepath
        else "a temporary folder"
    )
    return f"{megabytes:.1f} MB in {where}"


def cache_files() -> list[Path]:
    """Returns the cache files beside the open .blend."""
    try:
        return sorted(path for path in folder().iterdir() if path.name.endswith((CACHE_SUFFIX, CACHE_SUFFIX + ".part")))
    except OSError:
        return []


def size(obj: bpy.types.Object) -> int:
    """Returns the bytes of all cache files beside the file, plus the cache of `obj` in it."""
    image, total = obj.thew.made.cache, 0
    for path in cache_files():
        try:
            total += path.stat().st_size
        except OSError:  # gone meanwhile
            continue
    return total + (image.packed_file.size if image is not None and image.packed_file is not None else 0)


def clear() -> str:
    """Deletes all caches beside the file and in it; returns why something is left, or ""."""
    global last_failure
    last_failure = ""
    for obj in bpy.data.objects:
        if obj.type == "MESH" and obj.library is None and obj.thew.made.cache is not None:
            pack(obj, None)
    try:
        for path in cache_files():
            path.unlink()
        if folder().is_dir() and not any(folder().iterdir()):
            folder().rmdir()
    except OSError as error:
        return f"Something is left in {folder()} ({error.strerror}): delete the folder by hand"
    return ""
