# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packages that the farm can use and Thew does not need: the words that install them where this runs."""

from __future__ import annotations

import sys


def remedy(package: str) -> str:
    """Returns what to do where a package is missing. Blender has a Python of its own, which it names as its program."""
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable or "python"
    install = f"install it with {python} -m pip install {package}"
    if "bpy" not in sys.modules:
        return install
    return f"{install} (Blender's own Python), or use python -m thew farm in a Python that has it"
