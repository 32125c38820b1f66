# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m thew.farm.in_module EXTENSION bake …`: the extension's command where Blender is the module bpy, which has no `--command`.

EXTENSION: folder of the extension; "" for the one that is installed for this user.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any


def load(folder: str) -> Any:
    """Imports the extension from its folder, switches it on, and returns its package."""
    import bpy  # type: ignore[import-not-found]  # there in Blender alone

    place = Path(folder) if folder else installed_extension()
    if place is None or not (place / "__init__.py").is_file():
        sys.exit(f"Thew's extension is not in {place or 'the folder of extensions'}: name its folder in THEW_EXTENSION")
    spec = importlib.util.spec_from_file_location(
        "thew_extension", place / "__init__.py", submodule_search_locations=[str(place)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = package
    spec.loader.exec_module(package)
    package.register()
    bpy.context.preferences.addons.new().module = spec.name  # where exporters look for hooks
    return package


def installed_extension() -> Path | None:
    """Returns the folder of the extension that is installed for this user."""
    import bpy

    found = sorted(Path(bpy.utils.user_resource("EXTENSIONS")).glob("*/thew/blender_manifest.toml"))
    return found[0].parent if found else None


if __name__ == "__main__":
    _status = load(sys.argv[1]).cli.main(sys.argv[2:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_status)  # bpy 4.2 crashes at its own end once an extension has registered properties
