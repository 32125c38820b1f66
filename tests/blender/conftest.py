# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests the extension in a real Blender (`bpy` from the package index); several files may share a process.

With `THEW_ZIP` the zip is installed into a clean profile as an artist installs it; without it the add-on is taken from the
source folder, and `import thew` must find the wheel. `THEW_DATA` names the folder of real characters, if there is one.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: With `THEW_FAST` fewer characters, files and cases are tried.
FAST = bool(os.environ.get("THEW_FAST"))
#: Cases of a test that are then tried: the first, the last and some between. Enough for each format that is exported.
MOST_CASES = 4
#: Marks slow tests whose result does not depend on the version of Blender.
in_one_blender = pytest.mark.skipif(FAST, reason="tried in the newest Blender")
if "BLENDER_USER_RESOURCES" not in os.environ:
    os.environ["BLENDER_USER_RESOURCES"] = tempfile.mkdtemp(prefix="thew-profile-")

import bpy  # noqa: E402  (it reads the variable above)

sys.path.insert(0, str(Path(__file__).parent))

import sharing  # noqa: E402


def pytest_report_header(config):
    return f"Blender {bpy.app.version_string}, extension from {os.environ.get('THEW_ZIP') or 'the source folder'}"


def pytest_collection_modifyitems(config, items):
    """Leaves out cases beyond the most, if few are wanted."""
    if not FAST:
        return
    cases_of: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases_of.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = set()
    for cases in cases_of.values():
        most = min(MOST_CASES, len(cases))
        kept |= {cases[round(k * (len(cases) - 1) / max(most - 1, 1))] for k in range(most)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def data_folder(*parts: str) -> Path | None:
    """Returns a folder of THEW_DATA (default: shared/data beside the repository), or None."""
    chosen = Path(os.environ.get("THEW_DATA") or ROOT.parent / "shared" / "data").joinpath(*parts)
    return chosen if chosen.is_dir() else None


def load_extension():
    """Installs or imports the extension, switches it on, and returns its package."""
    archive = os.environ.get("THEW_ZIP")
    if archive:
        bpy.ops.extensions.package_install_files(
            filepath=archive, repo="user_default", enable_on_install=True, overwrite=True
        )
        name = "bl_ext.user_default.thew"
        assert name in bpy.context.preferences.addons, f"{archive} was not installed"
        return sys.modules[name]
    folder = ROOT / "blender_addon"
    spec = importlib.util.spec_from_file_location(
        "thew_addon", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = package
    spec.loader.exec_module(package)
    package.register()
    bpy.context.preferences.addons.new().module = spec.name  # where the glTF exporter looks for hooks
    return package


@pytest.fixture(scope="session")
def addon():
    """Switches the extension on, and off at the end: classes left registered crash Blender 4.2 at exit."""
    package = load_extension()
    with pytest.MonkeyPatch.context() as patch:
        sharing.share_stages(patch)
        yield package
    if os.environ.get("THEW_ZIP"):
        bpy.ops.preferences.addon_disable(module=package.__name__)
    else:
        addons = bpy.context.preferences.addons
        addons.remove(addons[package.__name__])
        package.unregister()


@pytest.fixture(autouse=True)
def begin_sharing():
    """Lets each test take what earlier ones built, once."""
    sharing.begin_test()


@pytest.fixture
def unshared():
    """Lets a test build all lattices and bodies itself."""
    sharing.forget_stages()


@pytest.fixture
def scene(addon):
    """Opens an empty scene of 24 frames a second, frames 1 to 20."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False, load_ui=False)
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = 24, 1.0
    scene.frame_start, scene.frame_end = 1, 20
    scene.frame_set(1)
    return scene


@pytest.fixture
def character(scene):
    """Builds (mesh, armature) of a small character without flesh, animated over frames 1 to 20."""
    from helpers import make_character

    return make_character()


@pytest.fixture
def fleshed_character(character):
    """Builds (mesh, armature) of a small character with flesh, animated over frames 1 to 20."""
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return character


@pytest.fixture
def window(scene, monkeypatch):
    """Builds a character with flesh in a Blender that believes it has a window: (mesh, armature, handlers with its plain shapes)."""
    from helpers import part
    from ticking import window_of

    for body, rig in window_of(monkeypatch):
        yield body, rig, part("live.handlers")


@pytest.fixture
def tuned(scene):
    """Builds a function that adds (body, armature), or one of each name, with a simulated motion of `ticking.TUNED_FRAMES`."""
    from ticking import TUNED_FRAMES, add_tuned, close_window

    scene.frame_end = TUNED_FRAMES
    yield lambda *names: [add_tuned(name) for name in names] if names else add_tuned()
    close_window()


@pytest.fixture
def in_window(monkeypatch):
    """Returns a function that makes Blender believe that it has a window."""
    from ticking import open_window

    def switch():
        bpy.context.view_layer.update()
        open_window(monkeypatch)

    return switch


@pytest.fixture
def straight_character(scene):
    """Builds a small character with flesh that stands still, with contact switched on."""
    from helpers import make_folding

    scene.frame_end = 12
    body, _ = make_folding(angle=0.0)
    body.thew.use_contact = True
    body.thew.self_contact = False
    body.thew.elastic_joints = 1.0  # nothing bends: it only lets things press four times as hard
    assert bpy.ops.thew.add(cells_across=8) == {"FINISHED"}
    return body


@pytest.fixture
def dancer(scene):
    """Builds (mesh with flesh, armature) with the actions Run (active), Walk and Turn."""
    from dancing import make_dancer

    body, rig = make_dancer()
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    return body, rig


@pytest.fixture(scope="session")
def saved_walk(addon, tmp_path_factory):
    """Builds (file, shapes) of a small character with a bake in rest space."""
    from exporting import make_baked_walk

    path = tmp_path_factory.mktemp("walk") / "baked.blend"
    return path, make_baked_walk(path)


@pytest.fixture
def baked_walk(saved_walk):
    """Opens the character with a bake, and yields (mesh, armature, shapes)."""
    from exporting import open_baked_walk

    path, shapes = saved_walk
    return (*open_baked_walk(path), shapes)
