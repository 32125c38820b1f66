# SPDX-License-Identifier: MIT OR Apache-2.0
"""Playback in Blender's own window: live flesh beside the plain Armature modifier, without dropping frames.

    blender --window-geometry 0 0 1600 900 --enable-event-simulate --python benches/window_playback.py -- ZIP [FRAMES]

Needs a display. Plays FRAMES frames a round (250) as fast as the window draws them, and prints the least of the rounds, in milliseconds of
the clock and of the processor for a frame: evaluation and drawing. The view is bare and alone, for software GL draws a whole window for
much longer than a frame is computed; a smaller window leaves still less to draw.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benches.blender_live import add_fine_biped, data_file
from demo import characters
from demo.extension import activate
from demo.window import camera, mouse, stage

#: The extension, frames that play in a round, and rounds of each kind.
ARCHIVE, *REST = sys.argv[sys.argv.index("--") + 1 :]
FRAMES, ROUNDS = int(REST[0]) if REST else 250, 2
#: Frames per second that Blender is asked for: more than it can play.
RATE = 1000


def run(archive: str) -> Iterator[float]:
    """Prints a row for each character. Yields seconds to wait, at each of which the window lives."""
    bpy.ops.extensions.package_install_files(
        filepath=archive, repo="user_default", enable_on_install=True, overwrite=True
    )
    bpy.context.preferences.view.show_splash = False
    bpy.context.preferences.system.use_region_overlap = False
    yield 1.0
    yield from mouse.press("ESC")  # the quick setup of a new profile is drawn with every frame
    window = bpy.context.window_manager.windows[0]
    print(f"A window of {window.width} x {window.height} pixels. Wished: 1.4 with few vertices and 1.2 at 28,000.\n")
    print(
        "| vertices | | Armature, ms | live flesh, ms | ratio | difference, ms |\n|---|---|---|---|---|---|", flush=True
    )
    yield from bare_view()
    for make in (add_fox, add_fine_biped):
        stage.clear_scene()
        yield 0.5
        body = make()
        if body is None:
            continue
        yield 1.0
        view = camera.view3d()
        with bpy.context.temp_override(**view):
            bpy.ops.view3d.view_all(center=True)
        plain: list[tuple[float, float]] = []
        live: list[tuple[float, float]] = []
        yield from play_rounds(plain)
        activate(body)
        camera.edit(bpy.ops.thew.add)
        camera.edit(bpy.ops.thew.simulate)
        yield from stage.wait_until_ready(body)
        yield from stage.wait_until_updated()
        yield from play_rounds(live)
        camera.edit(bpy.ops.thew.remove, remove_baked_keys=False)
        yield 0.5
        yield from play_rounds(plain)
        least = (np.min(plain, axis=0), np.min(live, axis=0))
        for kind, first, second in zip(("clock", "processor"), *least, strict=True):
            row = f"{1e3 * first:.2f} | {1e3 * second:.2f} | {second / first:.2f} | {1e3 * (second - first):.2f}"
            print(f"| {len(body.data.vertices)} | {kind} | {row} |", flush=True)


def bare_view() -> Iterator[float]:
    """Leaves of the window a 3D view without panels, gizmos, overlays and smooth edges."""
    bpy.context.preferences.system.viewport_aa = "OFF"
    camera.edit(bpy.ops.screen.screen_full_area, use_hide_panels=True)
    yield 1.0
    space = camera.view3d()["area"].spaces.active
    space.overlay.show_overlays = space.show_gizmo = False
    yield 0.5


def add_fox() -> bpy.types.Object | None:
    """Adds the fox, of 1,728 vertices; None without the data."""
    path = data_file("Fox.glb")
    if path is None:
        return None
    camera.edit(bpy.ops.import_scene.gltf, filepath=str(path))
    (body,) = characters.skinned_meshes()
    characters.choose_clip([characters.armature_of(body)], "Survey")
    return body


def play_rounds(seconds: list[tuple[float, float]]) -> Iterator[float]:
    """Plays the scene, and adds to `seconds` what a frame took in each round, by the clock and of the processor."""
    scene = bpy.context.scene
    scene.render.fps, scene.sync_mode = RATE, "NONE"
    for _ in range(ROUNDS):
        moments: list[tuple[float, float]] = []

        def note(*_: object, moments: list[tuple[float, float]] = moments) -> None:
            moments.append((time.perf_counter(), time.process_time()))

        scene.frame_set(scene.frame_start)
        bpy.app.handlers.frame_change_post.append(note)
        camera.edit(bpy.ops.screen.animation_play, sync=False)
        while len(moments) <= FRAMES:
            yield 1.0
        camera.edit(bpy.ops.screen.animation_cancel, restore_frame=False)
        bpy.app.handlers.frame_change_post.remove(note)
        (clock, processor), (end, used) = moments[0], moments[FRAMES]
        seconds.append(((end - clock) / FRAMES, (used - processor) / FRAMES))
        yield 0.2


def main() -> None:
    steps = run(ARCHIVE)

    def go() -> float | None:
        """Goes on when a timer ticks; quits at the end."""
        failed = 0
        try:
            return next(steps)
        except StopIteration:
            pass
        except Exception:
            traceback.print_exc()
            failed = 1
        sys.stdout.flush()
        os._exit(failed)

    bpy.app.timers.register(go, first_interval=2.0, persistent=True)


main()
