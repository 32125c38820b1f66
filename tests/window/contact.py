# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact in a real window: a switch that is pressed, undone, redone and loaded, and what is drawn of it.

    blender --python tests/window/contact.py -- dist/thew-0.1.0.zip

Installs the extension, adds flesh to a small character that folds, and looks at its shape in the last frame after each of these.
Prints a line for each and quits, with status 1 if one was wrong.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import bpy
import gpu_extras.batch
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from stories import check, install, tell, view3d

(ARCHIVE,) = sys.argv[sys.argv.index("--") + 1 :]
FILE = os.path.join(tempfile.mkdtemp(), "contact.blend")
LAST = 20
drawn = []


def record_points(shader, kind, content, **options):
    """Notes how many points are drawn each time."""
    if kind == "POINTS":
        drawn.append(len(content["pos"]))
    return batch_for_shader(shader, kind, content, **options)


batch_for_shader, gpu_extras.batch.batch_for_shader = gpu_extras.batch.batch_for_shader, record_points


def drawn_point_count() -> int:
    """Returns how many points one drawing of the view has."""
    drawn.clear()
    bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)
    return sum(drawn)


def story():
    """Yields after each step of the test; a timer's tick starts the next step."""
    install(ARCHIVE)
    import helpers

    def body():
        return bpy.data.objects["Body"]

    def touches() -> bool:
        settings = helpers.flesh_of(body()).build_settings
        return settings is not None and settings.contact is not None

    def shape(use: bool):
        """Returns the last frame once the clip has contact, or has none."""
        until = time.monotonic() + 60.0
        while touches() is not use:
            assert time.monotonic() < until, "nothing is simulated"
            yield 0.1
        bpy.context.scene.frame_set(LAST)
        yield 0.2
        return helpers.evaluated_positions(body())

    def edit(operator) -> None:
        with bpy.context.temp_override(**view3d()):
            operator()

    bpy.context.preferences.view.show_splash = False
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST
    helpers.make_folding()
    edit(lambda: bpy.ops.thew.add("INVOKE_DEFAULT", cells_across=8))
    while not body().thew.made.flesh or helpers.part("scene.poses").silence_depth:
        yield 0.1
    body().thew.show_contacts = True
    free = yield from shape(False)
    check("nothing is drawn without contact", drawn_point_count() == 0)
    edit(lambda: bpy.ops.ed.undo_push(message="before"))
    body().thew.use_contact = True
    edit(lambda: bpy.ops.ed.undo_push(message="Contact"))
    touching = yield from shape(True)
    check("the switch changes the shape by itself", np.abs(touching - free).max() > 1e-3)
    count = len(helpers.flesh_of(body()).clip.contacts(LAST - 1))
    check("every contact is drawn", drawn_point_count() == count > 0, f"{count} points")
    view3d()["area"].spaces.active.overlay.show_overlays = False
    check("but not where overlays are off", drawn_point_count() == 0)
    view3d()["area"].spaces.active.overlay.show_overlays = True
    edit(bpy.ops.ed.undo)
    check("undone, it is as before", np.array_equal((yield from shape(False)), free))
    edit(bpy.ops.ed.redo)
    check("redone, it touches", np.array_equal((yield from shape(True)), touching))
    bpy.ops.wm.save_as_mainfile(filepath=FILE)
    bpy.ops.wm.open_mainfile(filepath=FILE)
    yield 0.5
    bpy.context.scene.frame_set(LAST - 1)
    check("loaded, it touches", np.array_equal((yield from shape(True)), touching))
    check("and is drawn", drawn_point_count() == count)


tell(story)
