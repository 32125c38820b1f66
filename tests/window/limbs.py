# SPDX-License-Identifier: GPL-3.0-or-later
"""Limbs in a real window: atoms dragged with the mouse, the boundary that follows, undo, redo, a file, flesh made of limbs.

    blender --enable-event-simulate --python tests/window/limbs.py -- dist/thew-0.1.0.zip

Installs the extension, makes a limb along a small character and drags it. Prints a line for each thing that it looks at and quits, with
status 1 if one was wrong.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import bpy
import numpy as np
from mathutils import Quaternion

sys.path.insert(0, str(Path(__file__).parent))
from stories import check, install, tell, view3d

(ARCHIVE,) = sys.argv[sys.argv.index("--") + 1 :]
FILE = os.path.join(tempfile.mkdtemp(), "limbs.blend")


def window():
    return bpy.context.window_manager.windows[0]


def edit(operator, *args, **keys):
    with bpy.context.temp_override(**view3d()):
        return operator(*args, **keys)


def at(point) -> tuple[int, int]:
    """Returns the window coordinates of a point of the world."""
    from bpy_extras.view3d_utils import location_3d_to_region_2d

    found = view3d()
    seen = location_3d_to_region_2d(found["region"], found["area"].spaces.active.region_3d, point)
    return round(found["region"].x + seen.x), round(found["region"].y + seen.y)


def send(kind: str, value: str, point, **keys):
    x, y = at(point)
    window().event_simulate(type=kind, value=value, x=x, y=y, **keys)


def story():
    """Yields after each step of the test; a timer's tick starts the next step."""
    install(ARCHIVE)
    import helpers

    def body():
        return bpy.data.objects["Body"]

    def model():
        return helpers.part("edit.limbs").model_of(body().thew.limbs[0])

    def boundary():
        return helpers.part("ui.limb_overlay").lines(body(), body().thew.limbs[0])[0]

    def drag(start, end, **keys):
        """Presses, moves and releases; reads the boundary before the button is released."""
        send("MOUSEMOVE", "NOTHING", start)
        yield 0.2
        send("LEFTMOUSE", "PRESS", start)
        yield 0.2
        send("MOUSEMOVE", "NOTHING", (np.array(start) + end) / 2, **keys)
        yield 0.2
        send("MOUSEMOVE", "NOTHING", end, **keys)
        yield 0.3
        live = boundary()
        send("LEFTMOUSE", "RELEASE", end)
        yield 0.3
        return live

    bpy.context.preferences.view.show_splash = False
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    helpers.make_body(helpers.make_armature())
    space = view3d()["area"].spaces.active
    with bpy.context.temp_override(**view3d()):
        space.show_region_ui = True
    space.region_3d.view_perspective = "ORTHO"
    space.region_3d.view_rotation = Quaternion((0.7071068, 0.7071068, 0.0, 0.0))
    space.region_3d.view_location, space.region_3d.view_distance = (0.0, 0.0, 0.9), 4.0
    yield 1.5
    bpy.context.view_layer.objects.active = body()
    edit(bpy.ops.thew.limb_add, bones="Hip\nSpine\nHead")
    edit(bpy.ops.ed.undo_push, message="Limb from Bones")
    yield 0.5
    first, seen = model(), boundary()
    edit(bpy.ops.thew.limb_drag, "INVOKE_DEFAULT")
    yield 0.5
    hub = first.hubs[4]
    to = hub + [0.12, 0.0, 0.05]
    live = yield from drag(hub, to)
    check("the boundary follows while the button is held", np.abs(live - seen).max() > 0.05)
    moved = model()
    check("the hub is where it was dragged", np.abs(moved.hubs[4] - to).max() < 0.02, f"{moved.hubs[4] - to}")
    others = np.arange(len(moved.hubs)) != 4
    check("and no other", np.array_equal(moved.hubs[others], first.hubs[others]))
    yield from drag(to, to + [0.0, 0.0, 4.0])
    check("a drag that would fold the boundary stops", model().legality() > 0.0)
    window().event_simulate(type="Z", value="PRESS", ctrl=True, x=at(hub)[0], y=at(hub)[1])
    window().event_simulate(type="Z", value="RELEASE", ctrl=True, x=at(hub)[0], y=at(hub)[1])
    yield 0.3
    check("Ctrl+Z takes back one drag", np.abs(model().hubs[4] - moved.hubs[4]).max() < 1e-9)
    pause = float(os.environ.get("THEW_WINDOW_PAUSE", "0"))
    if pause:
        yield pause
    window().event_simulate(type="RET", value="PRESS", x=at(hub)[0], y=at(hub)[1])
    window().event_simulate(type="RET", value="RELEASE", x=at(hub)[0], y=at(hub)[1])
    yield 0.5
    kept = body().thew.limbs[0].model
    edit(bpy.ops.ed.undo)
    yield 0.5
    check("undone, it is as before", np.array_equal(model().hubs, first.hubs))
    edit(bpy.ops.ed.redo)
    yield 0.5
    check("redone, it is as dragged", body().thew.limbs[0].model == kept)
    check("and is drawn so", np.abs(boundary() - seen).max() > 0.05)
    bpy.ops.wm.save_as_mainfile(filepath=FILE)
    bpy.ops.wm.open_mainfile(filepath=FILE)
    yield 0.5
    check("loaded, it is as dragged", body().thew.limbs[0].model == kept)
    bpy.context.view_layer.objects.active = body()
    edit(bpy.ops.thew.limb_fit)
    edit(bpy.ops.thew.limb_remove)
    edit(bpy.ops.thew.limb_add, bones="Spine\nHead")
    body().thew.limb_lattice = True
    edit(bpy.ops.thew.add, "INVOKE_DEFAULT", cells_across=10)
    until = time.monotonic() + 60.0
    while not body().thew.made.flesh or helpers.part("scene.poses").silence_depth:
        assert time.monotonic() < until, "no flesh is made"
        yield 0.2
    yield 1.0
    cells = [len(cell) for cell in helpers.flesh_of(body()).lattice.cells]
    check("the lattice has prisms along the limb", cells.count(6) >= 8, f"{cells.count(6)} of {len(cells)}")


tell(story)
