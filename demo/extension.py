# SPDX-License-Identifier: MIT OR Apache-2.0
"""The extension in a clean Blender: installs its zip as a drag into the window would, and uses its buttons."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from pathlib import Path

import bpy

MODULE = "bl_ext.user_default.thew"


def install(extension: Path) -> None:
    """Installs and enables the zip. BLENDER_USER_RESOURCES should name an empty folder."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(
        filepath=str(extension.resolve()), repo="user_default", enable_on_install=True, overwrite=True
    )
    if not hasattr(bpy.types.Object, "thew"):
        raise SystemExit(f"The extension in {extension} was installed but is not enabled.")


def enable(extension: Path | None) -> None:
    """Installs and enables the zip; None: enables the extension from its source folder, and `import thew` must find the wheel."""
    if extension is not None:
        install(extension)
        return
    bpy.ops.wm.read_factory_settings(use_empty=True)
    folder = Path(__file__).resolve().parents[1] / "blender_addon"
    spec = importlib.util.spec_from_file_location(
        "thew_addon", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = package
    spec.loader.exec_module(package)
    package.register()


def addon(name: str):
    """Returns a module of the enabled extension, installed from a zip or from the source folder."""
    module = MODULE if MODULE in bpy.context.preferences.addons else "thew_addon"
    return importlib.import_module(f"{module}.{name}")


def flesh_of(obj: bpy.types.Object):
    """Returns the extension's live objects behind a mesh."""
    return addon("live.session").register.state_of(obj)


def activate(obj: bpy.types.Object) -> None:
    """Makes `obj` the active object, on which operators work."""
    view_layer = bpy.context.view_layer
    for other in view_layer.objects:
        other.select_set(other == obj)
    view_layer.objects.active = obj


class Clock:
    """A context manager that stores the seconds of its `with` block in a dictionary."""

    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self.seconds, self.name = seconds, name

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds[self.name] = time.perf_counter() - self.start
