# SPDX-License-Identifier: MIT OR Apache-2.0
"""The extension, from a zip or from its source folder."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import bpy

from demo.extension import install


def load() -> None:
    """Installs the zip that `THEW_ZIP` names, or else enables the source folder, for which `import thew` must find the wheel."""
    if archive := os.environ.get("THEW_ZIP"):
        return install(Path(archive))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    folder = Path(__file__).resolve().parents[2] / "blender_addon"
    spec = importlib.util.spec_from_file_location(
        "thew_addon", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = package
    spec.loader.exec_module(package)
    package.register()
    bpy.context.preferences.addons.new().module = spec.name
