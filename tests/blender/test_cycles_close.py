# SPDX-License-Identifier: GPL-3.0-or-later
"""Loops close: motions whose ends meet are told from others, and their flesh repeats with them, in previews and bakes."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np
import pytest
from conftest import data_folder, in_one_blender
from helpers import activate, animate, evaluated_positions, flesh_of, part, play

from assets.characters import biped, figure, use_action
from assets.characters import scene as own_scene
from demo import characters
from demo.look import liveliest

FOLDER = data_folder("characters")

# the maths ------------------------------------------------------------------------------------------------------------

HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
SIZE, FPS, PERIOD = 2.0, 24.0, 16


def rotation_about_x(angle: float, at=(0.0, 0.0, 0.0), shift=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Returns the turn about a line along x through `at`, then a shift."""
    made, c, s = np.eye(4), np.cos(angle), np.sin(angle)
    made[1:3, 1:3] = [[c, -s], [s, c]]
    made[:3, 3] = np.asarray(at) - made[:3, :3] @ at + shift
    return made


def poses(frames: int, bend, way=lambda t: 0.0) -> np.ndarray:
    """Returns maps of two bones: the whole goes `way(t)` along y, `bend(t)` bends the upper one; t in periods, one pose
    more than frames."""
    rows = []
    for i in range(frames + 1):
        t = i / PERIOD
        whole = rotation_about_x(0.1 * bend(t), shift=(0.0, way(t), 0.0))
        rows.append([whole, whole @ rotation_about_x(bend(t), at=HEADS[1])])
    return np.array(rows)


def swing(t: float) -> float:
    return 0.4 * np.sin(2.0 * np.pi * t) + 0.1 * np.cos(4.0 * np.pi * t)


def beginning_of(maps, choice="AUTOMATIC", **options):
    return part("logic.cycles").beginning(choice, maps, HEADS, SIZE, FPS, 1, **options)


def hold_last_pose(maps):
    """Repeats the last pose after the end, as after the end of an action."""
    return np.concatenate([maps[:-1], maps[-2:-1]])


def test_cycle_meeting_ends(addon):
    """A motion whose ends meet is a cycle, and its note says how it repeats."""
    for maps, said in (
        (hold_last_pose(poses(PERIOD + 1, swing)), "Loops: frame 17 is frame 1 again."),
        (poses(PERIOD + 1, swing), "Loops: frame 17 is frame 1 again."),
        (poses(PERIOD, swing), "Loops: frame 16 runs into frame 1."),  # only the pose that follows is the first again
        (hold_last_pose(poses(PERIOD, swing)), "Loops: frame 16 runs into frame 1."),  # none is, but the seam is smooth
        (poses(40, swing), "Loops every 16 frames."),
        (hold_last_pose(poses(2 * PERIOD + 1, swing)), "Loops every 16 frames."),
    ):
        start = beginning_of(maps)
        assert (start.period, start.travels, start.preroll, start.note) == (PERIOD, False, 0, said)
        simulated = start.turn(maps)
        assert len(simulated) == PERIOD + 1 and np.array_equal(simulated[-1], simulated[0])
        for frame in range(len(maps) - 1):
            assert np.abs(simulated[start.simulated_frame(frame)] - maps[frame]).max() < 1e-9


def test_cycle_travels(addon):
    """A cycle may travel: its last frame is the first again, further on."""

    def way(t):
        return 3.0 * t + 0.05 * np.sin(2.0 * np.pi * t)

    for maps in (hold_last_pose(poses(PERIOD + 1, swing, way)), poses(PERIOD, swing, way)):
        start = beginning_of(maps)
        assert start.period == PERIOD and start.travels
        assert np.array_equal(start.turn(maps), maps[: PERIOD + 1]) and start.simulated_frame(PERIOD) == PERIOD
    assert (
        beginning_of(hold_last_pose(poses(PERIOD + 1, swing, way))).note
        == "Loops: frame 17 is frame 1 again, 3 m further on."
    )


def held(frames: int, bend=swing, hold: int = 0):
    """Returns one turn and its end, played over `frames` frames: the last pose stays on. `hold`: steps for which it waits first."""
    turn = poses(PERIOD + 1, bend)[: PERIOD + 1]
    turn = np.concatenate([np.repeat(turn[:1], hold, axis=0), turn])
    return turn[np.minimum(np.arange(frames + 1), len(turn) - 1)]


@pytest.mark.parametrize("beyond", [0, 1, 2, 3, 10, 40, 200])
def test_cycle_held_beyond_last_key(addon, beyond):
    """A motion whose ends meet is no loop in a range that goes on without it, except for a frame or two by a slip of the hand."""
    maps = held(PERIOD + 1 + beyond)
    assert bool(beginning_of(maps, keyed_to=PERIOD + 1).period) == (beyond < 3)
    assert beginning_of(maps, "CYCLE", keyed_to=PERIOD + 1).period and beginning_of(maps, marked=True).period
    # Nothing is known about keys: it ends where it stands still for so long that flesh is at rest.
    assert bool(beginning_of(maps).period) == (beyond < 2.0 * FPS)


@pytest.mark.parametrize("hold", [4, 20])
def test_cycle_keyed_hold(addon, hold):
    """A loop with a hold that is keyed remains one, at its end as at its beginning."""
    at_the_end = held(PERIOD + 1 + hold)
    assert beginning_of(at_the_end, keyed_to=PERIOD + 1 + hold).period == PERIOD + hold
    assert beginning_of(at_the_end, keyed_to=500.0).period == PERIOD + hold
    assert beginning_of(at_the_end, keyed_to=1.0).period == PERIOD + hold  # something else than its keys moves it
    at_the_start = held(PERIOD + 1 + hold, hold=hold)
    assert beginning_of(at_the_start, keyed_to=PERIOD + 1 + hold).period == PERIOD + hold
    assert not beginning_of(held(PERIOD + 11 + hold, hold=hold), keyed_to=PERIOD + 1 + hold).period


def test_cycle_held_while_rig_moves(addon):
    """A rig that goes on moving while the bones stand still belongs to the motion."""
    maps = held(2 * PERIOD + 1)
    control = np.sin(np.pi * np.arange(len(maps)) / PERIOD)[:, None]
    assert beginning_of(maps, keyed_to=PERIOD + 1, controls=control).period == 2 * PERIOD
    assert not beginning_of(maps, keyed_to=PERIOD + 1, controls=np.ones_like(control)).period


@pytest.mark.parametrize(
    "maps",
    [
        poses(20, lambda t: 0.5 * t),  # bends on and on
        poses(20, lambda t: 1.0 - np.cos(2.0 * np.pi * 20 / 21 * t), lambda t: t),  # ends meet but for the way
        hold_last_pose(poses(13, swing)),  # cut off somewhere
        poses(20, lambda t: 0.0, lambda t: t * t),  # a stiff thing that speeds up
        poses(20, lambda t: 0.3, lambda t: t),  # one that is carried
        poses(20, lambda t: 0.0, lambda t: 3 * t**2 - 2 * t**3),  # and one that goes from here to there
        poses(20, lambda t: 1.0 if t > 0.6 else 0.1 * t),  # a leap
    ],
    ids=["bends", "bends and goes", "cut", "accelerates", "carried", "goes", "leaps"],
)
def test_cycle_other_motions(addon, maps):
    """A motion that does not repeat is not a cycle."""
    start = beginning_of(maps)
    assert start.period == 0 and start.turn(maps) is maps and start.simulated_frame(7) == 7
    assert start.options() == {"cyclic": False, "preroll": start.preroll}


def test_preroll_moving_start(addon):
    """A motion that starts moving has a run-in, and one that starts at rest does not."""
    moving, resting = beginning_of(poses(20, lambda t: t)), beginning_of(poses(20, lambda t: max(t - 0.5, 0.0)))
    assert moving.preroll == 4 and moving.note == "The joints come from a standstill just before frame 1."
    assert resting.preroll == 0 and resting.note == ""
    still = beginning_of(poses(20, lambda t: 0.3))
    assert (still.period, still.preroll, still.note) == (0, 0, "")


def test_cycle_overruled(addon):
    """The artist's choice overrules the detection."""
    loop, other = poses(PERIOD, swing), poses(20, lambda t: t)
    assert beginning_of(loop, "SETTLED") == beginning_of(other, "SETTLED") == part("logic.cycles").Beginning()
    assert beginning_of(loop, "PREROLL").preroll == beginning_of(other, "PREROLL").preroll == 4
    assert beginning_of(other, "CYCLE").period == 20 and beginning_of(other, marked=True).period == 20
    short = beginning_of(poses(2, swing), "CYCLE")
    assert short.period == 0 and short.note == "A cycle needs three frames or more: this range has fewer."


def test_cycle_rigs(addon):
    """A rig that does not repeat keeps a motion from being a cycle."""
    maps = hold_last_pose(poses(PERIOD + 1, swing))
    t = np.arange(len(maps)) / PERIOD
    steady, round_, rising = np.ones_like(t), np.sin(2.0 * np.pi * t), t
    assert beginning_of(maps, controls=np.stack([steady, round_], axis=1)).period == PERIOD
    assert beginning_of(maps, controls=np.stack([steady, rising], axis=1)).period == 0
    still = poses(PERIOD + 1, lambda t: 0.3)
    assert beginning_of(still, controls=round_[:, None]).period == PERIOD  # nothing but a rig moves


def test_cycles_in_contact(addon):
    """Cycles of bodies in contact repeat together with a common period, or not at all."""
    cycles = part("logic.cycles")

    def repeat_motions(*motions):
        paths = [cycles.trace(maps, HEADS, SIZE) for maps in motions]
        still = [np.ptp(path, axis=0).max() == 0.0 for path in paths]
        return cycles.common_cycle(
            [beginning_of(maps) for maps in motions], motions, paths, [SIZE] * len(motions), still
        )

    frames = 2 * PERIOD + 1
    once, twice = poses(frames, swing), poses(frames, lambda t: swing(2.0 * t))
    still = poses(frames, lambda t: 0.3)
    for motions in ((once, once), (once, twice), (twice, once, still)):
        assert [(each.period, each.travels) for each in repeat_motions(*motions)] == [(PERIOD, False)] * len(motions)
    rising, odd = poses(frames, lambda t: t), poses(frames, lambda t: swing(PERIOD * t / (PERIOD - 1)))
    assert beginning_of(odd).period == PERIOD - 1
    for motions in ((once, rising), (once, odd), (still, still)):
        assert repeat_motions(*motions) is None
    # Those that travel go the same way.
    there, faster = (poses(PERIOD, swing, lambda t, way=way: way * t) for way in (1.5, 1.8))
    assert beginning_of(there).travels and beginning_of(faster).travels
    aside = rotation_about_x(0.0, shift=(3.0, 0.0, 0.0)) @ there
    assert [(each.period, each.travels) for each in repeat_motions(there, aside)] == [(PERIOD, True)] * 2
    assert repeat_motions(there, faster) is None and repeat_motions(there, poses(PERIOD, lambda t: 0.3)) is None


def test_cycle_scale_invariant(addon):
    """The detection does not depend on the character's size."""
    for maps in (hold_last_pose(poses(PERIOD + 1, swing)), poses(20, lambda t: t)):
        large = maps.copy()
        large[..., :3, 3] *= 100.0
        there = part("logic.cycles").beginning("AUTOMATIC", large, 100.0 * HEADS, 100.0 * SIZE, FPS, 1)
        assert there.key == beginning_of(maps).key


# in Blender -----------------------------------------------------------------------------------------------------------


def offsets(obj, frames) -> np.ndarray:
    """Returns what the flesh adds to the plain skin at `frames`, object space, [f, n, 3]."""
    live = play(obj, frames)
    obj.thew.enabled = False
    plain = play(obj, frames)
    obj.thew.enabled = True
    return live.astype(np.float64) - plain


def opening(added) -> float:
    """Returns how far the last frame's offsets are from the first's, as a part of the largest sway."""
    sway = np.linalg.norm(added - added.mean(axis=0), axis=2).max()
    return float(np.linalg.norm(added[-1] - added[0], axis=1).max() / sway)


def add_flesh(obj, **options):
    """Adds flesh to `obj`, simulates it, and returns it."""
    activate(obj)
    assert bpy.ops.thew.add(**options) == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return flesh_of(obj)


@pytest.fixture
def loop_character(character):
    """Animates the small character over one turn of its hop and bend, the last frame the first again: frames 1 to 21."""
    obj, armature = character
    animate(armature, 1, 21)
    bpy.context.scene.frame_end = 21
    return obj, armature


def test_cycle_preview_and_bake(loop_character):
    """The flesh of a loop closes in the preview and in the bake."""
    obj, _ = loop_character
    frames = range(1, 22)
    obj.thew.motion_start = "SETTLED"
    add_flesh(obj, cells_across=6)
    assert opening(offsets(obj, frames)) > 0.05
    obj.thew.motion_start = "AUTOMATIC"
    assert opening(offsets(obj, frames)) < 0.01
    live = play(obj, frames)
    notes = obj.thew.made.notes.splitlines()
    told = notes.index("Loops: frame 21 is frame 1 again.")
    assert "set Start of Motion to Run-in or Settled" in notes[told + 1]  # the way out, if it is none
    assert bpy.ops.thew.bake() == {"FINISHED"}
    assert np.abs(play(obj, frames) - live).max() < 1e-5


def test_cycle_in_longer_scene(loop_character):
    """An action whose ends meet is no loop in a scene that goes on after its last key, and is one once End is set, or a hold keyed."""
    obj, armature = loop_character
    bpy.context.scene.frame_end = 40
    flesh = add_flesh(obj, cells_across=6)
    assert not flesh.beginning.period and "Loops" not in obj.thew.made.notes
    bpy.context.scene.frame_end = 21
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert flesh.beginning.period == 20
    bpy.context.scene.frame_end = 40
    curve = next(iter(part("scene.animation").curves_in(armature.animation_data)))
    curve.keyframe_points.insert(40, curve.evaluate(40))
    bpy.context.view_layer.update()
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert flesh.beginning.period == 39
    push_down(armature, armature.animation_data.action)
    assert part("scene.animation").last_key(armature, bpy.context.scene) == 40
    bpy.context.scene.render.frame_map_new = 200  # Time Stretching
    assert part("scene.animation").last_key(armature, bpy.context.scene) == 80
    assert part("scene.animation").last_key(obj, bpy.context.scene) is None


def push_down(armature, action) -> None:
    """Moves the active action into a strip of a track of the NLA."""
    data = armature.animation_data
    data.action = None
    strip = data.nla_tracks.new().strips.new("Strip", round(action.frame_range[0]), action)
    if hasattr(strip, "action_slot"):
        strip.action_slot = action.slots[0]


def test_cycle_repeated(loop_character):
    """A loop that is played several times is simulated once, and a longer bake shows the preview."""
    obj, armature = loop_character
    for curve in part("scene.animation").curves_in(armature.animation_data):
        curve.modifiers.new("CYCLES")
    bpy.context.scene.frame_end = 50
    flesh = add_flesh(obj, cells_across=6)
    assert "Loops every 20 frames." in obj.thew.made.notes.splitlines()
    assert len(flesh.clip.turn) == 21
    added = offsets(obj, range(1, 51))
    sway = np.linalg.norm(added - added.mean(axis=0), axis=2).max()
    assert np.abs(added[20:40] - added[:20]).max() < 1e-4 * sway
    assert np.abs(added[40:] - added[:10]).max() < 1e-4 * sway
    # A bake that goes on beyond the preview is the preview as far as that goes.
    live = play(obj, range(1, 51))
    assert bpy.ops.thew.bake(frame_start=1, frame_end=60) == {"FINISHED"}
    assert np.abs(play(obj, range(1, 51)) - live).max() < 1e-5


def test_cycle_longer_bake(character):
    """A bake that goes on beyond a previewed loop follows it without a leap."""
    obj, armature = character
    animate(armature, 1, 41)
    for curve in part("scene.animation").curves_in(armature.animation_data):
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"  # so that both turns are the same
    bpy.context.scene.frame_end = 20
    flesh = add_flesh(obj, cells_across=6)
    assert flesh.beginning.period == 20
    live = play(obj, range(1, 21))
    assert bpy.ops.thew.bake(frame_start=1, frame_end=70) == {"FINISHED"}
    baked = play(obj, range(1, 71))
    assert np.abs(baked[:20] - live).max() < 1e-5
    steps = np.abs(np.diff(baked, axis=0)).max(axis=(1, 2))
    assert np.abs(baked[20:39] - baked[:19]).max() < 1e-3  # it comes again
    assert steps[19] < 1.2 * steps[18:39].max()  # nothing leaps where the preview ends
    assert steps[-1] < 0.05 * steps.max()  # and it comes to rest


def test_cycle_marked_action(character):
    """An action that is marked as cyclic is a cycle."""
    obj, armature = character
    action = animate(armature, 1, 15)  # cut off in the middle
    bpy.context.scene.frame_end = 15
    flesh = add_flesh(obj, cells_across=6)
    assert not flesh.beginning.period
    action.use_frame_range, action.frame_start, action.frame_end, action.use_cyclic = True, 1, 15, True
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    assert flesh.beginning.period == 15


def test_motion_start(character):
    """A motion that is not a cycle starts with a run-in, or settled if the artist chooses so."""
    obj, armature = character
    animate(armature, 1, 15)
    bpy.context.scene.frame_end = 15
    assert add_flesh(obj, cells_across=6).beginning.preroll == 4 and "standstill" in obj.thew.made.notes
    run_in = play(obj, [2, 1])
    obj.thew.motion_start = "SETTLED"
    settled = play(obj, [2, 1])
    assert "standstill" not in obj.thew.made.notes
    assert np.abs(run_in - settled).max() > 1e-5


@in_one_blender
def test_cycle_walk(scene):
    """The biped's walk closes one stride further on: the flesh of the last frame is that of the first."""

    def stride(bodo, t):
        return biped.walk(bodo, 0.95 * t)

    bodo = replace(biped.figure(), clips={"stride": figure.Clip(25, stride)})
    armature, obj = own_scene.build(bodo)
    use_action(armature, "stride")
    add_flesh(obj)
    assert "Loops: frame 25 is frame 1 again, 0.62 m further on." in obj.thew.made.notes.splitlines()
    assert opening(offsets(obj, range(1, 26))) < 0.01
    obj.thew.motion_start = "SETTLED"
    assert opening(offsets(obj, range(1, 26))) > 0.02


@in_one_blender
@pytest.mark.skipif(FOLDER is None, reason="no characters: set THEW_DATA")
@pytest.mark.parametrize(("name", "clip"), [("Fox.glb", "Run"), ("q_bull.glb", "AnimalArmature|Walk")])
def test_cycle_real_characters(addon, name, clip):
    """Loops of real characters close, live and baked."""
    meshes = liveliest.open_source(str(FOLDER / name))
    clip = next(action for action in characters.clips() if action.startswith(clip))  # 4.2 adds the armature's name
    frames = liveliest.play_clip(meshes, clip)
    obj = meshes[0]
    add_flesh(obj)
    assert f"Loops: frame {frames[-1]} is frame {frames[0]} again." in obj.thew.made.notes.splitlines()
    assert opening(offsets(obj, frames)) < 0.01
    live = evaluated_positions(obj)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    box = np.linalg.norm(np.ptp(live, axis=0))
    assert np.abs(play(obj, [frames[-1]])[0] - live).max() < 1e-5 * box


@pytest.mark.skipif(FOLDER is None, reason="no characters: set THEW_DATA")
@pytest.mark.parametrize(
    ("name", "clip"), [("q_frog.glb", "FrogArmature|Frog_Jump"), ("Fox.glb", "Run"), ("robot.glb", "Robot_Jump")]
)
def test_cycle_real_characters_in_longer_scenes(addon, name, clip):
    """Clips of real characters are no loops in a scene that is longer, whatever their ends, and are as before in one that fits."""
    meshes = liveliest.open_source(str(FOLDER / name))
    clip = next(action for action in characters.clips() if action.startswith(clip))
    frames, scene = liveliest.play_clip(meshes, clip), bpy.context.scene
    found = part("scene.reading").subject(meshes[0], bpy.context.view_layer)
    bones = [bone.name for bone in found.armature.data.bones]
    heads = np.array([found.armature.matrix_world @ bone.head_local for bone in found.armature.data.bones])
    size, rest = max(found.armature.dimensions), np.array(meshes[0].matrix_world)
    for longer, is_loop in ((0, True), (2, True), (5, False), (200, False)):
        first, last = frames[0], frames[-1] + longer
        read = part("scene.poses").read_motion(found, bones, rest, scene, bpy.context.view_layer, first, last)
        motion = part("logic.tasks").finish(read)
        start = part("logic.cycles").beginning(
            "AUTOMATIC", motion.maps, heads, size, 24.0, first, keyed_to=motion.keyed_to
        )
        assert bool(start.period) == is_loop, longer
