# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl+F12 in a real window, with Blender's defaults: what the render is given is what the view played.

    blender --python tests/window/renders.py -- dist/thew-0.1.0.zip [PICTURES]

Installs the extension, adds flesh to a small character, plays it, renders the animation with the interface unlocked while
the views go on being drawn and turned, and compares every mesh that the render got with what was played. Then once more
from a file that was just opened, once with Cycles into PICTURES, and once with a character that cannot be shown. Prints a
line for each and quits, with status 1 if one was wrong.
"""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from stories import check, install, tell, view3d

ARCHIVE, *PICTURES = sys.argv[sys.argv.index("--") + 1 :]
FOLDER = tempfile.mkdtemp()
FRAMES = range(1, 41)
seen = []


class Probe(bpy.types.RenderEngine):
    bl_idname, bl_label = "THEW_PROBE", "Probe"

    def render(self, depsgraph):
        assert threading.current_thread() is not threading.main_thread()
        for obj in depsgraph.objects:
            if obj.name == "Body":
                flat = np.empty(3 * len(obj.data.vertices), dtype=np.float32)
                obj.data.attributes["position"].data.foreach_get("vector", flat)
                seen.append((depsgraph.scene.frame_current, flat.reshape(-1, 3).copy(), time.perf_counter()))


def render() -> None:
    seen.clear()
    with bpy.context.temp_override(**view3d()):
        bpy.ops.render.render("INVOKE_DEFAULT", animation=True)


def turn_view() -> bool:
    """Disturbs the render as an artist would: turns the view."""
    with bpy.context.temp_override(**view3d()):
        bpy.ops.view3d.view_orbit(angle=0.1, type="ORBITRIGHT")
    view3d()["area"].tag_redraw()
    return bpy.app.is_job_running("RENDER")


def clock() -> str:
    """Returns the time between two frames that were rendered."""
    steps = np.diff([when for _, _, when in seen])
    return f"{1e3 * np.median(steps):.1f} ms a frame" if len(steps) else ""


def compare(name: str, played: np.ndarray, frames=FRAMES) -> None:
    numbers = [frame for frame, _, _ in seen]
    if numbers != list(frames):
        return check(name, False, f"rendered {numbers}")
    far = np.abs(np.array([shape for _, shape, _ in seen]) - played).max()
    check(name, far <= 1e-5, f"{len(numbers)} frames, farthest {far:.1e}, {clock()}")


def story():
    """Yields after each step of the test; a timer's tick starts the next step."""
    install(ARCHIVE)
    import helpers

    bpy.context.preferences.view.show_splash = False
    bpy.utils.register_class(Probe)
    for obj in list(bpy.data.objects):
        if obj.type == "MESH":
            bpy.data.objects.remove(obj)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    scene.render.resolution_x = scene.render.resolution_y = 64
    scene.render.filepath = os.path.join(FOLDER, "probe-")
    body, rig = helpers.make_character()
    helpers.animate(rig, last=FRAMES[-1])
    skin = helpers.play(body, FRAMES)
    with bpy.context.temp_override(**view3d()):
        bpy.ops.thew.add("INVOKE_DEFAULT", cells_across=6)
    while not body.thew.made.flesh or helpers.part("scene.poses").silence_depth:
        yield 0.1
    played = helpers.play(body, FRAMES)
    check("flesh moves in the view", np.abs(played - skin).max() > 1e-3)
    check("Lock Interface is off, as Blender has it", not scene.render.use_lock_interface)

    scene.render.engine = Probe.bl_idname
    for name, locked, here in (("unlocked", False, 17), ("locked", True, 1), ("unlocked again", False, 1)):
        scene.render.use_lock_interface = locked
        scene.frame_set(here)
        render()
        yield 0.05
        while turn_view():
            yield 0.02
        compare(f"a render with the interface {name}", played)
        check(f"the view shows the same as before, {name}", np.array_equal(helpers.play(body, FRAMES), played))
    scene.render.use_lock_interface = False

    body.thew.enabled = False
    render()
    yield 0.05
    while turn_view():
        yield 0.02
    compare("without flesh", skin)
    body.thew.enabled = True

    path = os.path.join(FOLDER, "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=False)
    yield 0.0
    scene, body = bpy.context.scene, bpy.data.objects["Body"]
    check("a file just opened shows the plain skin", np.array_equal(helpers.evaluated_positions(body), skin[-1]))
    render()
    yield 0.05
    while turn_view():
        yield 0.02
    compare("a file just opened is rendered", played)

    if PICTURES:
        scene.render.engine, scene.cycles.samples = "CYCLES", 4
        scene.render.filepath = os.path.join(PICTURES[0], "frame-")
        camera = scene.camera
        camera.location, camera.rotation_euler = (0.0, -6.0, 1.0), (np.pi / 2, 0.0, 0.0)
        scene.frame_end = 8
        render()
        yield 0.05
        while turn_view():
            yield 0.02
        check("pictures", len(list(Path(PICTURES[0]).glob("frame-*.png"))) >= 8)

    shown = []
    dialogs = helpers.part("live.rendering")
    tell = dialogs.show_dialog
    dialogs.show_dialog = lambda title, lines: (shown.extend(lines), tell(title, lines))
    scene.render.engine, scene.frame_end = Probe.bl_idname, 3
    body.vertex_groups.clear()
    body.data.update_tag()
    yield 0.1
    render()
    yield 0.05
    while turn_view():
        yield 0.02
    check("a dialog tells what renders without flesh", len(shown) == 1 and "without its flesh" in shown[0], str(shown))
    if PICTURES:
        yield 1.0
        os.system(f"import -window root {PICTURES[0]}/dialog.png")


tell(story)
