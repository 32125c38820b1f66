# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders in a window run in a thread of their own, and the window goes on."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import bpy
import numpy as np
from helpers import animate, evaluated_positions, part, play
from ticking import FRAMES


def run_in_thread(call) -> None:
    """Runs `call` in another thread, as Blender renders in a window, while this one attends to it."""
    rendering = part("live.rendering")
    thread = threading.Thread(target=call)
    thread.start()
    while thread.is_alive():
        rendering.run_pending_calls()
        thread.join(1e-3)


def render_in_thread(handlers, scene, body, frames) -> np.ndarray:
    """Returns what a render's thread would see at `frames`, in the order given."""
    shapes = []
    run_in_thread(lambda: handlers.before_render(scene))
    with part("scene.poses").silence_handlers():  # no handlers of this thread
        for frame in frames:
            scene.frame_set(frame)
            with free_handlers(), guard_writes():
                run_in_thread(lambda: part("live.playback").before_frame(scene))
            bpy.context.view_layer.update()
            with free_handlers(), guard_writes():
                run_in_thread(lambda: part("live.playback").after_frame(scene, bpy.context.view_layer.depsgraph))
            shapes.append(evaluated_positions(body))
    run_in_thread(lambda: handlers.after_render(scene))
    part("live.rendering").run_pending_calls()
    return np.array(shapes)


@contextmanager
def free_handlers():
    """Lets the handlers answer within the block."""
    poses = part("scene.poses")
    before, poses.silence_depth = poses.silence_depth, 0
    try:
        yield
    finally:
        poses.silence_depth = before


@contextmanager
def guard_writes():
    """Checks that only the main thread writes within the block."""
    offsets, write = part("scene.offsets"), part("scene.offsets").write

    def guarded_write(*args):
        assert threading.current_thread() is threading.main_thread()
        write(*args)

    offsets.write = guarded_write
    try:
        yield
    finally:
        offsets.write = write


def test_render_thread_matches_playback(scene, window):
    """A render in a window shows what was played, in any order and with the interface unlocked."""
    body, _, handlers = window
    assert not scene.render.use_lock_interface
    order = [4, 17, 2, 9, 20, 1, 9]
    live = play(body, FRAMES)
    scene.frame_set(4)
    np.testing.assert_array_equal(render_in_thread(handlers, scene, body, order), live[np.array(order) - 1])
    assert not part("live.updates").state.rendering
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_window_writes_nothing_during_render(scene, window):
    """The window writes no offsets of its own during a render."""
    body, _, handlers = window
    live = play(body, FRAMES)
    run_in_thread(lambda: handlers.before_render(scene))
    seen = play(body, FRAMES)
    np.testing.assert_array_equal(seen[:-1], handlers.plain[:-1])
    np.testing.assert_array_equal(seen[-1], live[-1])  # written before, and right
    run_in_thread(lambda: handlers.after_render(scene))
    part("live.rendering").run_pending_calls()
    np.testing.assert_array_equal(play(body, FRAMES), live)


def test_render_thread_after_open(scene, window, tmp_path):
    """A file that was just opened is rendered with its flesh."""
    body, _, handlers = window
    live = play(body, FRAMES)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "live.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "live.blend"))
    scene, body = bpy.context.scene, bpy.data.objects["Body"]
    np.testing.assert_array_equal(render_in_thread(handlers, scene, body, (3, 9)), live[[2, 8]])


def test_render_thread_reads_changed_animation(scene, window):
    """A render reads an animation that was changed before it."""
    body, rig, handlers = window
    animate(rig, bend=-0.4)
    bpy.context.view_layer.update()
    seen = render_in_thread(handlers, scene, body, (1, 5, 14))
    bpy.ops.thew.simulate()
    np.testing.assert_array_equal(play(body, (1, 5, 14)), seen)


def test_render_reports_missing_flesh(scene, window, monkeypatch):
    """A character that renders without its flesh is reported before the first frame."""
    body, _, handlers = window
    texts = []
    monkeypatch.setattr(part("live.rendering"), "show_dialog", lambda title, lines: texts.extend(lines))
    body.vertex_groups.clear()
    body.data.update_tag()
    bpy.context.view_layer.update()
    run_in_thread(lambda: handlers.before_render(scene))
    assert len(texts) == 1 and "“Body” is rendered without its flesh" in texts[0] and "no vertex groups" in texts[0]
    run_in_thread(lambda: handlers.after_render(scene))


def test_render_wait_limited(scene, window, monkeypatch):
    """A render waits for a busy window only for a limited time, and reports it once."""
    body, _, handlers = window
    rendering, texts = part("live.rendering"), []
    monkeypatch.setattr(rendering, "WAIT_LIMIT", 0.0)
    monkeypatch.setattr(rendering, "SHORT_WAIT_LIMIT", 0.0)
    monkeypatch.setattr(rendering, "show_dialog", lambda title, lines: texts.extend(lines))
    for call in (
        handlers.before_render,
        part("live.playback").before_frame,
        part("live.playback").before_frame,
        handlers.after_render,
    ):
        thread = threading.Thread(target=call, args=(scene,))
        thread.start()
        thread.join()
    rendering.run_pending_calls()
    assert len(texts) == 1 and "window was busy" in texts[0]
    assert np.isfinite(play(body, FRAMES)).all()
