# SPDX-License-Identifier: MIT OR Apache-2.0
"""Live tuning: from an edit to the frame in view and to all frames, playback beside the plain Armature modifier, and the cost of
flesh that nobody looks at.

Blender runs without a window, so its timer is driven here, with its own pauses. Rows of characters: `--only NAME`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from pathlib import Path

import bpy
import numpy as np

from assets import characters as own
from assets.characters.scene import build
from demo import characters
from demo.extension import activate, addon, enable, flesh_of

#: Frames of each motion, the frame in view, and wished cells.
FRAMES, VIEWED, CELLS = 250, 120, 1000
#: Files of THEW_DATA/characters.
FILES = ("mh_male_heavy.glb", "m2m_horse.glb", "q_apatosaurus.glb")
#: Edits: name, and the values between which a setting goes to and fro.
EDITS = {
    "softness": (0.45, 0.55),
    "settling": (0.8, 1.2),
    "tremble": (0.8, 1.2),
    "reach": (0.2, 0.15),
    "use_gravity": (False, True),
    "density": (900.0, 1000.0),
}
#: Rounds of each measurement; the least counts, because other work on the machine only adds.
ROUNDS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a section or the file of a character")
    chosen = parser.parse_args().only
    enable(Path(os.environ["THEW_ZIP"]) if os.environ.get("THEW_ZIP") else None)

    def wanted(name: str) -> bool:
        return not chosen or name in chosen

    files = [name for name in FILES if wanted(name) and data_file(name) is not None]
    if files:
        print(f"{FRAMES} frames, frame {VIEWED} in view, seconds; least of {ROUNDS}\n")
        print(
            "| character | cells | edit | frame in view | all frames | poses read |\n|---|---|---|---|---|---|",
            flush=True,
        )
    for name in files:
        tune(name)
    if wanted("three"):
        tune_three()
    if wanted("playback"):
        play_beside_armature()
    if wanted("unseen"):
        ignore_unseen()
    return 0


# a stage -------------------------------------------------------------------------------------------------------------


def data_file(name: str) -> Path | None:
    """Returns the path of a real character, or None."""
    data = os.environ.get("THEW_DATA")
    path = Path(data) / "characters" / name if data else None
    return path if path is not None and path.is_file() else None


def open_character(name: str) -> bpy.types.Object:
    """Opens a real character, lets its clips play one after another for `FRAMES` frames, and gives its largest mesh flesh."""
    characters.open_file(data_file(name))
    bpy.context.scene.render.fps = 24
    body = max(characters.skinned_meshes(), key=lambda obj: len(obj.data.vertices))
    string_clips(characters.armature_of(body))
    add_flesh(body)
    return body


def string_clips(armature: bpy.types.Object) -> None:
    """Plays the clips of an armature one after another, as strips."""
    data = armature.animation_data_create()
    data.action = None
    for track in list(data.nla_tracks):
        data.nla_tracks.remove(track)
    track, frame = data.nla_tracks.new(), 1
    for clip in itertools.cycle(characters.clips()):
        action = bpy.data.actions[clip]
        if action.frame_range[1] - action.frame_range[0] < 8:
            continue
        strip = track.strips.new(clip, frame, action)
        strip.blend_type = "REPLACE"
        if hasattr(strip, "action_slot") and strip.action_slot is None and action.slots:
            strip.action_slot = action.slots[0]
        frame = int(np.ceil(strip.frame_end)) + 1
        if frame > FRAMES + 1:
            break
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, FRAMES


def add_flesh(body: bpy.types.Object) -> None:
    """Adds flesh of about `CELLS` cells, and simulates it."""
    activate(body)
    across = 12
    for _ in range(4):
        bpy.ops.thew.add(cells_across=across)
        cells = len(flesh_of(body).lattice.cells)
        if abs(cells - CELLS) < 0.15 * CELLS:
            break
        across = max(4, round(across * (CELLS / cells) ** 0.5))
    bpy.ops.thew.simulate()


class Window:
    """A Blender that believes that it has a window; the timer is driven by `settle`."""

    def __enter__(self) -> Window:
        self.windows, self.updates = addon("scene.windows"), addon("live.updates")
        self.former = self.windows.is_headless, self.windows.is_playing
        self.windows.is_headless = lambda: False
        self.updates.state.waiting.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self.updates.stop_update()
        self.windows.is_headless, self.windows.is_playing = self.former

    def play(self) -> None:
        """Lets Blender believe that the animation plays."""
        self.windows.is_playing = lambda: True

    def settle(self, *objects: bpy.types.Object) -> tuple[dict[str, tuple[float, float]], tuple[float, float]]:
        """Lets the timer run until nothing is left to do; returns the times to each object's frame in view, and to the end."""
        start, state = (time.perf_counter(), time.process_time()), self.updates.state
        shown: dict[str, tuple[float, float]] = {}
        before = {obj.name: written(obj) for obj in objects}
        pause: float | None = first_pause(state)
        while pause is not None:
            time.sleep(pause)
            pause = self.updates.tick()
            for obj in objects:
                if obj.name not in shown and not np.array_equal(before[obj.name], written(obj)):
                    shown[obj.name] = since(start)
        return shown, since(start)


def since(start: tuple[float, float]) -> tuple[float, float]:
    """Returns the seconds since a moment: by the clock, and of the processor."""
    return time.perf_counter() - start[0], time.process_time() - start[1]


def least(times: list[tuple[float, float]]) -> str:
    """Returns the least of times, by the clock and of the processor, as text."""
    if not times:
        return "not shown"
    clock, processor = np.min(times, axis=0)
    return f"{clock:.3f} ({processor:.3f})"


def first_pause(state) -> float:
    """Returns the seconds after which Blender would call the timer."""
    due = min(state.waiting.values(), default=time.monotonic())
    return max(due - time.monotonic(), 0.0)


def written(obj: bpy.types.Object) -> np.ndarray:
    """Returns the offsets in the mesh."""
    found = addon("scene.offsets").written(obj)
    return np.empty(0) if found is None else found[0]


# sections ------------------------------------------------------------------------------------------------------------


def tune(name: str) -> None:
    """Prints a row for each edit of one character."""
    body = open_character(name)
    cells, read = len(flesh_of(body).lattice.cells), count_readings()
    bpy.context.scene.frame_set(VIEWED)
    edits = {edit: setter(body.thew, edit, values) for edit, values in EDITS.items()}
    edits["rig strength"] = rig_setter(body)
    edits["painted stroke"] = painter(body)
    with Window() as window:
        window.settle(body)
        for edit, change in edits.items():
            first, last, readings = [], [], len(read)
            for turn in range(ROUNDS):
                change(turn)
                shown, whole = window.settle(body)
                first += shown.values()
                last.append(whole)
            row = f"| {name} | {cells} | {edit} | {least(first)} | {least(last)} | {len(read) - readings} |"
            print(row, flush=True)


def setter(owner, name: str, values: tuple):
    """Returns a function that sets a property to and fro."""
    return lambda turn: setattr(owner, name, values[turn % 2])


def painter(body: bpy.types.Object):
    """Returns a function that paints a patch of the flesh map."""
    mesh, points = body.data, np.empty(3 * len(body.data.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    heights = points.reshape(-1, 3)[:, 2]
    patch = np.argsort(heights)[: len(heights) // 10].tolist()
    group = body.vertex_groups["Flesh"]

    def paint(turn: int) -> None:
        if body.mode != "WEIGHT_PAINT":
            bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
        bpy.context.view_layer.update()  # what Thew has written is evaluated, as by a redraw
        group.add(patch, (0.9, 0.2)[turn % 2], "REPLACE")
        mesh.update_tag()
        bpy.context.view_layer.update()

    return paint


def rig_setter(body: bpy.types.Object):
    """Adds a rig that pushes, at the bone with most weight; returns a function that sets its strength."""
    bpy.ops.thew.rig_add(template="RADIAL")
    rig = body.thew.rigs[-1]
    rig.control, strength = 1.0, rig.strength
    return lambda turn: setattr(rig, "strength", (0.8, 1.2)[turn % 2] * strength)


def count_readings() -> list[int]:
    """Returns a list that grows by one whenever poses are read."""
    poses, read = addon("scene.poses"), []
    former = poses.read_motions

    def counted(*arguments, **options):
        read.append(1)
        return former(*arguments, **options)

    poses.read_motions = counted
    return read


def tune_three() -> None:
    """Prints the times of three characters in one scene after an edit of one, and after one of gravity, which all feel."""
    bodies = three_bipeds()
    bpy.context.scene.frame_set(40)
    print("\n| three characters, edit | frame in view of each | all frames of all |\n|---|---|---|", flush=True)
    with Window() as window:
        window.settle(*bodies)
        bodies[1].thew.settling = 1.3
        shown, whole = window.settle(*bodies)
        print(f"| settling of one | {least(list(shown.values()))} | {least([whole])} |", flush=True)
        for body in bodies:
            body.thew.settling = 1.6
        shown, whole = window.settle(*bodies)
        times = ", ".join(least([each]) for each in shown.values())
        print(f"| settling of all | {times} | {least([whole])} |", flush=True)


def three_bipeds() -> list[bpy.types.Object]:
    """Builds three of our bipeds with flesh, in one scene."""
    characters.empty_scene()
    bodies = []
    for shift in range(3):
        armature, body = own.create("biped")
        own.use_action(armature, "walk")
        armature.location.x = 2.0 * shift
        add_flesh(body)
        bodies.append(body)
    return bodies


def play_beside_armature() -> None:
    """Prints playback of live flesh beside the plain Armature modifier."""
    print(
        "\nFrames of playback, of all threads on the processor. Wished: ratios of 1.4 with few vertices and 1.2 at 28,000.\n"
    )
    print("| vertices | Armature, ms | live flesh, ms | ratio |\n|---|---|---|---|", flush=True)
    for make in (open_fox, fine_biped):
        body = make()
        if body is None:
            continue
        plain = frame_seconds()
        add_flesh(body)
        with Window() as window:
            window.play()
            live = frame_seconds()
        count = len(body.data.vertices)
        print(f"| {count} | {1e3 * plain:.3f} | {1e3 * live:.3f} | {live / plain:.2f} |", flush=True)


def open_fox() -> bpy.types.Object | None:
    """Opens the fox, of 1,728 vertices; None without the data."""
    path = data_file("Fox.glb")
    if path is None:
        return None
    characters.open_file(path)
    (body,) = characters.skinned_meshes()
    characters.choose_clip([characters.armature_of(body)], "Survey")
    return body


def fine_biped() -> bpy.types.Object:
    """Builds our biped with 27,752 vertices in a scene of its own."""
    characters.empty_scene()
    return add_fine_biped()


def add_fine_biped() -> bpy.types.Object:
    """Adds our biped with 27,752 vertices, walking."""
    figure = own.FIGURES["biped"]()
    figure.cell = 0.0119
    armature, body = build(figure)
    own.use_action(armature, "walk")
    return body


def frame_seconds() -> float:
    """Returns the least seconds on the processor of a frame, over rounds of all frames."""
    scene, rounds = bpy.context.scene, []
    frames = range(scene.frame_start, scene.frame_end + 1)
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        for frame in frames:
            scene.frame_set(frame)
        rounds.append((time.process_time() - start) / len(frames))
    return min(rounds[1:])


def ignore_unseen() -> None:
    """Prints what a frame costs in the handlers for characters that are hidden, or in another scene."""
    bodies = three_bipeds()
    spent = [0.0]
    for name in ("frame_change_pre", "frame_change_post"):
        calls = getattr(bpy.app.handlers, name)
        calls[:] = [timed(call, spent) for call in calls]

    def handler_seconds() -> float:
        least_of = []
        for _ in range(ROUNDS):
            spent[0] = 0.0
            frame_seconds()
            least_of.append(spent[0] / (ROUNDS + 1) / (bpy.context.scene.frame_end - bpy.context.scene.frame_start + 1))
        return min(least_of)

    print("\nWished: 0.05 ms for what nobody looks at.\n\n| three characters | handlers, ms a frame |\n|---|---|")
    with Window() as window:
        window.play()
        print(f"| in view | {1e3 * handler_seconds():.3f} |", flush=True)
        for body in bodies:
            body.hide_set(True)
        bpy.context.view_layer.update()
        print(f"| hidden | {1e3 * handler_seconds():.3f} |", flush=True)
        for body in bodies:
            body.hide_set(False)
        bpy.context.window.scene = bpy.data.scenes.new("Other")
        bpy.context.scene.frame_end = 30
        print(f"| in another scene | {1e3 * handler_seconds():.3f} |", flush=True)


def timed(call, spent: list[float]):
    """Returns a handler that adds its seconds to `spent`."""

    def run(*arguments):
        start = time.thread_time()
        call(*arguments)
        spent[0] += time.thread_time() - start

    return run


if __name__ == "__main__":
    sys.exit(main())
