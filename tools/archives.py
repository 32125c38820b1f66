# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reproducible archives, the same bytes whenever and wherever they are made: wheels and extension zips."""

from __future__ import annotations

import base64
import hashlib
import os
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tools.shell import capture

#: The oldest date that a zip file can hold, seconds.
OLDEST = 315532800


def epoch() -> int:
    """Returns the date of everything that is built, seconds: SOURCE_DATE_EPOCH, or that of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not given.isdecimal():
        status, given = capture(["git", "log", "-1", "--format=%ct"])
        given = given.strip() if status == 0 else ""
    return max(int(given), OLDEST) if given.isdecimal() else OLDEST


def rewrite(archive: Path, added: Mapping[str, bytes], date: int, without: str = "") -> None:
    """Rewrites `archive` with `added` files, sorted by name, all of one date and mode. A wheel's RECORD is updated.

    `without`: files with this in their names are left out.
    """
    with zipfile.ZipFile(archive) as old:
        kept = [name for name in old.namelist() if not name.endswith("/") and not (without and without in name)]
        files = {name: old.read(name) for name in kept}
    files.update(added)
    for name in files:
        if name.endswith(".dist-info/RECORD"):
            files[name] = record({other: data for other, data in files.items() if other != name}, name)
    part = archive.with_name(archive.name + ".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name.endswith("RECORD"), name)):
            about = zipfile.ZipInfo(name, time.gmtime(date)[:6])
            about.compress_type, about.create_system, about.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100644 << 16
            new.writestr(about, files[name])
    part.replace(archive)


def record(files: Mapping[str, bytes], own: str) -> bytes:
    """Returns a wheel's RECORD: name, hash and length of every file."""
    lines = []
    for name, data in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{own},,", ""]).encode()
