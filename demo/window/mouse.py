# SPDX-License-Identifier: GPL-3.0-or-later
"""The mouse and the keys of Blender's window, simulated: presses, drags, and where points of the world are in the window."""

from __future__ import annotations

import bpy
import numpy as np

from . import camera


def send(kind: str, value: str, point, **keys) -> None:
    """Sends one event at a point of the window, pixels from its lower left corner."""
    window = bpy.context.window_manager.windows[0]
    window.event_simulate(type=kind, value=value, x=int(point[0]), y=int(point[1]), **keys)


def press(key: str):
    """Presses and releases a key. The mouse moves last: tools begin with the window's last event."""
    for kind, value in ((key, "PRESS"), (key, "RELEASE"), ("MOUSEMOVE", "NOTHING")):
        send(kind, value, (300, 300))
        yield 0.3
    yield 0.5


def at(point) -> tuple[int, int]:
    """Returns where a point of the world is in the window."""
    from bpy_extras.view3d_utils import location_3d_to_region_2d

    found = camera.view3d()
    seen = location_3d_to_region_2d(found["region"], found["area"].spaces.active.region_3d, point)
    return round(found["region"].x + seen.x), round(found["region"].y + seen.y)


def pull(start, end):
    """Presses the mouse at `start` and moves it to `end`, in steps."""
    send("MOUSEMOVE", "NOTHING", start)
    yield 0.2
    send("LEFTMOUSE", "PRESS", start)
    yield 0.2
    for part in np.linspace(0.2, 1.0, 5):
        send("MOUSEMOVE", "NOTHING", (1.0 - part) * np.array(start) + part * np.array(end))
        yield 0.2


def click(point, **keys):
    """Moves the mouse to a point of the window and clicks."""
    for kind, value in (("MOUSEMOVE", "NOTHING"), ("LEFTMOUSE", "PRESS"), ("LEFTMOUSE", "RELEASE")):
        send(kind, value, point, **keys)
        yield 0.3
