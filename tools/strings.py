# SPDX-License-Identifier: MIT OR Apache-2.0
"""The texts of the extension's interface and their translations: `build.py strings`."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

from tools import products
from tools.environments import TOOLS, main_blender
from tools.shell import ROOT, SCRATCH, run


def strings(check: bool = False, new: str | None = None) -> None:
    """Collects all texts in Blender and brings the translators' files up to date, or only reports what they lack.

    check: write nothing; new: a language to begin, by Blender's name.
    """
    TOOLS.ensure()
    blender = main_blender().ensure()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    texts = SCRATCH / "strings.json"
    with tempfile.TemporaryDirectory(prefix="thew-profile-") as profile:
        env = {"PYTHONPATH": _package(), "BLENDER_USER_RESOURCES": profile, "PYTHONDONTWRITEBYTECODE": "1"}
        run([blender.python, ROOT / "tools" / "collect_strings.py", texts], env=env)
    options = [*(["--check"] if check else []), *(["--new", new] if new else [])]
    run([TOOLS.python, ROOT / "tools" / "merge_strings.py", texts, *options])


def _package() -> str:
    """Returns the folders in which Blender finds the package: those of PYTHONPATH where it is there, else an unpacked wheel."""
    present = os.environ.get("PYTHONPATH", "")
    if any((Path(folder) / "thew" / "__init__.py").is_file() for folder in present.split(os.pathsep) if folder):
        return present
    folder = SCRATCH / "wheel"
    with zipfile.ZipFile(products.wheel()) as archive:
        archive.extractall(folder)
    return str(folder)
