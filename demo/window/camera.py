# SPDX-License-Identifier: GPL-3.0-or-later
"""The window as it is photographed: its 3D view, its sidebar with chosen foldouts open, and crops of the screen."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import bpy
import numpy as np
from mathutils import Euler

from demo.extension import addon

#: Modules of the sidebar's panels, in the order in which Blender registers them.
PANELS = (
    "ui.panels",
    "ui.rig_panel",
    "ui.limb_panel",
    "ui.pin_panel",
    "ui.hand_panel",
    "ui.compare_panel",
    "ui.keyframed_panel",
)

#: Smallest difference of a pixel that counts as changed: above that of a dialog's shadow at its edge.
CHANGE = 24
#: Steps of the mouse wheel from the top of the sidebar to its end; more do nothing.
LIST_SCROLLS = 40
#: Pixels of the view that stay around a dialog.
MARGIN = 6

Pixels = np.ndarray


def view3d(kind: str = "WINDOW") -> dict:
    """Returns the first 3D view and its region of a kind, as `temp_override` takes them."""
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    return {"window": window, "area": area, "region": next(each for each in area.regions if each.type == kind)}


def edit(operator, *args, **keys):
    """Calls an operator in the 3D view."""
    with bpy.context.temp_override(**view3d()):
        return operator(*args, **keys)


def look(point, distance: float, turn: float, height: float = 12.0, ortho: bool = False) -> None:
    """Looks at `point` from `distance`, `turn` degrees from the front to the character's right, `height` degrees above."""
    view = view3d()["area"].spaces.active.region_3d
    view.view_perspective = "ORTHO" if ortho else "PERSP"
    view.view_rotation = Euler(np.radians([90.0 - height, 0.0, -turn]).tolist()).to_quaternion()
    view.view_location, view.view_distance = point, distance


class Foldouts:
    """The sidebar with chosen foldouts open.

    Blender keeps for each panel's name whether it is open, and no script may change that. Panels are therefore registered anew
    under names of their own, for which the default applies.
    """

    turn = 0

    @classmethod
    def open(cls, *labels: str) -> None:
        """Shows the tab Thew with only the foldouts of these labels open."""
        cls.turn += 1
        classes = [each for name in PANELS for each in _sidebar_panels(addon(name))]
        for each in reversed(classes):
            if each.is_registered:
                bpy.utils.unregister_class(each)
        for each in classes:
            own = each.__dict__.get("photographed", (each.__name__, getattr(each, "bl_parent_id", "")))
            each.photographed = own
            each.bl_idname = f"{own[0]}_{cls.turn}"
            if own[1]:
                each.bl_parent_id = f"{own[1]}_{cls.turn}"
            each.bl_options = set() if each.bl_label in ("Thew", *labels) else {"DEFAULT_CLOSED"}
            bpy.utils.register_class(each)
        side = view3d("UI")
        space = side["area"].spaces.active
        if not space.show_region_ui:
            # Without a window in the context, as right after a file was opened, Blender 5.2 crashes here.
            with bpy.context.temp_override(**side):
                space.show_region_ui = True
        side["region"].tag_redraw()


def choose_tab() -> None:
    """Brings the tab Thew to the front, once the sidebar has been drawn."""
    region = view3d("UI")["region"]
    region.active_panel_category = "Thew"
    region.tag_redraw()


def screen() -> Pixels:
    """Returns the screen, uint8[h,w,3], top row first."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "screen.png"
        subprocess.run(["import", "-window", "root", "-depth", "8", str(file)], check=True, env=os.environ)
        image = bpy.data.images.load(str(file))
        pixels = np.empty(image.size[0] * image.size[1] * image.channels, np.float32)
        image.pixels.foreach_get(pixels)
        pixels = pixels.reshape(image.size[1], image.size[0], image.channels)
        bpy.data.images.remove(image)
    return np.round(pixels[::-1, :, :3] * 255.0).astype(np.uint8)


def crop(region: bpy.types.Region, pixels: Pixels | None = None) -> Pixels:
    """Returns the part of the screen that a region covers."""
    pixels = screen() if pixels is None else pixels
    bottom = len(pixels) - region.y
    return pixels[bottom - region.height : bottom, region.x : region.x + region.width]


def changed(before: Pixels, region: bpy.types.Region) -> Pixels:
    """Returns the box of the pixels of a region that differ from an earlier screen: what opened over it."""
    after = screen()
    now, then = crop(region, after), crop(region, before)
    differs = np.abs(now.astype(int) - then).max(axis=2) > CHANGE
    rows, columns = (np.flatnonzero(differs.any(axis=axis)) for axis in (1, 0))
    assert len(rows), "nothing opened"
    top, left = max(rows[0] - MARGIN, 0), max(columns[0] - MARGIN, 0)
    return now[top : rows[-1] + 1 + MARGIN, left : columns[-1] + 1 + MARGIN]


def sidebar() -> Pixels:
    """Returns the sidebar down to its last row that is not empty."""
    pixels = crop(view3d("UI")["region"])
    inner = pixels[:, 12:-48]  # without the tabs on the right
    busy = np.flatnonzero((inner != inner[-16]).any(axis=(1, 2)))
    busy = busy[busy < len(pixels) - 16]
    return pixels[: busy[-1] + 12] if len(busy) else pixels


def save(pixels: Pixels, file: Path) -> None:
    """Writes a picture as PNG or JPEG, by the ending of its name."""
    height, width = pixels.shape[:2]
    image = bpy.data.images.new(file.stem, width, height)
    full = np.ones((height, width, 4), np.float32)
    full[..., :3] = pixels[::-1] / 255.0
    image.pixels.foreach_set(full.ravel())
    image.file_format = "JPEG" if file.suffix == ".jpg" else "PNG"
    file.parent.mkdir(parents=True, exist_ok=True)
    image.save(filepath=str(file), quality=88)
    bpy.data.images.remove(image)
    print(f"{file.name}: {width} x {height}", flush=True)


def _sidebar_panels(module) -> list[type]:
    """Returns the panels of a module that stand in the sidebar of the 3D view."""
    found = [each for each in module.CLASSES if getattr(each, "bl_region_type", "") == "UI"]
    return [each for each in found if issubclass(each, bpy.types.Panel)]


def scroll_down() -> None:
    """Scrolls the sidebar to its end."""
    side = view3d("UI")
    with bpy.context.temp_override(**side):
        for _ in range(LIST_SCROLLS):
            bpy.ops.view2d.scroll_down(page=False)
    side["region"].tag_redraw()
