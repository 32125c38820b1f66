# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds flesh to real characters, a lively clip of each, without hand-tuning (THEW_DATA/characters; skipped without it)."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from characters import ACCELERATES, FRAMES, MESHES, add, clips, load, meshes, play_clip
from conftest import FAST, data_folder
from helpers import activate, evaluated_positions, flesh_of, part, play

FOLDER = data_folder("characters")
FILES = sorted(FOLDER.iterdir()) if FOLDER else []
#: Own motion, of the size, beyond which flesh is thrown about.
THROWN = 0.01
#: Frames that other speeds are tried on.
SECOND = 24
if FAST:
    FILES = FILES[::3]
#: Other speeds, a stop and motion of the whole are tried on these; `test_look.py` tries a stop on every one.
MANNERED = [] if FAST else FILES[::2]


@pytest.fixture(scope="module", autouse=True)
def tried_clips():
    cases = []
    yield cases
    print(f"\n{len(cases)} clips of {len(FILES)} characters")


def closed_volume(triangles, points) -> float:
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def overturned_share(flesh, maps, method: str = "") -> float:
    """Returns the largest share of cells that flesh turns over by its motion, beyond those at rest in the same pose.

    Cells that a pose turns over by itself, as where a foot is torn off its shin for a frame, are not a fault of the motion.
    `method`: the method of a new simulation; empty: the clip as it is.
    """
    import thew

    how, clip, count = flesh.build_settings, flesh.clip, len(flesh.lattice.cells)
    if method:
        simulation = how.simulation
        clip = thew.simulate(flesh.body, maps, how.fps, method=method, rate=simulation.rate, gravity=simulation.gravity)
    found = np.array(clip.inverted_cells)[: len(maps)]
    resting = thew.Simulation(flesh.body, method=method or how.method, gravity=how.simulation.gravity)
    for i in np.flatnonzero(found >= 0.03 * count):
        resting.reset(maps[i])
        found[i] -= flesh.body.inverted_cells(resting.lattice_positions())
    return max(int(found.max()), 0) / count


@pytest.mark.skipif(not FILES, reason="no characters: set THEW_DATA")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_character_passes(addon, tried_clips, file):
    """A real character's flesh is sound, moves by itself and bakes as it plays."""
    import thew

    load(file)
    complaints = []
    action = clips()[0]
    there_as_gltf = file.suffix == ".fbx"
    frames = play_clip(action, 12 if there_as_gltf else FRAMES)
    tried_clips.append(f"{file.name} {action.name}")
    for obj in meshes()[:MESHES]:
        add(obj)
        if obj.thew.made.rides:
            continue
        activate(obj)
        assert bpy.ops.thew.simulate() == {"FINISHED"}
        flesh = flesh_of(obj)
        size, clip, rest = flesh.surface.size, np.asarray(flesh.clip)[: len(frames)], flesh.surface.vertices
        maps = flesh.place.maps(flesh.motion.maps)[: len(frames)]
        faults = []

        # the lattice, and its bones
        assert flesh.lattice.check(flesh.surface, flesh.skeleton) == []
        held, bones = flesh.body.bone_vertices, flesh.body.bone_of_vertex
        at_rest = np.c_[flesh.lattice.vertices[held], np.ones(len(held))]
        for i in range(0, len(frames), 7):
            there = np.einsum("vij,vj->vi", maps[i][bones], at_rest)[:, :3]
            assert np.abs(flesh.clip.lattice_positions(i)[held] - there).max() < 1e-6 * size

        # the flesh
        assert np.isfinite(clip).all()
        skin = np.array([part("logic.spaces").skin_linearly(flesh.character.weights, m, rest) for m in maps])
        distance = np.linalg.norm(clip - skin, axis=2).max() / size
        if distance >= 0.2:
            faults.append(f"{distance:.0%} of the size from the skin")
        inverted = overturned_share(flesh, maps)
        # Where flesh is thrown about, as a frog's is at seven g, exact flesh turns cells over as well.
        if inverted >= 0.03 and inverted >= 1.5 * overturned_share(flesh, maps, method="neohookean"):
            faults.append(f"{inverted:.0%} of the cells inverted")
        if flesh.surface.report().closed:
            whole = closed_volume(flesh.surface.triangles, rest)
            changes = [closed_volume(flesh.surface.triangles, shape) / whole - 1.0 for shape in clip]
            if max(np.abs(changes)) >= 0.25:
                faults.append(f"volume changes by {max(changes, key=abs):+.0%}")

        # where it has flesh, it moves by itself
        thickness = np.asarray(flesh.body.thickness)
        thick = np.isfinite(thickness) & (thickness >= np.quantile(thickness[np.isfinite(thickness)], 0.75))
        still = []
        for i in range(0, len(frames), 4):
            q, how = thew.equilibrium(flesh.body, maps[i], method="hyperelastic"), flesh.build_settings.simulation
            still.append(flesh.body.shown(q, maps[i], how.max_offset, elastic_joints=how.elastic_joints))
        own = np.sqrt(((clip[::4] - np.array(still))[:, thick] ** 2).sum(axis=2).mean()) / size
        if ACCELERATES.search(action.name) and own <= 1e-3 and obj is meshes()[0]:
            faults.append(f"only {own:.2%} of its own motion")

        # what Blender shows, live and baked
        chosen = list(frames)[:: max(1, len(frames) // 6)]
        live = play(obj, chosen)
        box = np.linalg.norm(np.ptp(evaluated_positions(obj), axis=0))
        assert bpy.ops.thew.bake() == {"FINISHED"}
        assert np.abs(play(obj, chosen) - live).max() < 1e-5 * max(box, np.abs(live).max())
        assert bpy.ops.thew.show_live() == {"FINISHED"}
        if obj is meshes()[0] and file in MANNERED and not there_as_gltf:
            faults += manners(flesh, maps)
        complaints += [f"{action.name}, {obj.name}: {text}" for text in faults]
    assert complaints == []


def manners(flesh, maps) -> list[str]:
    """Returns the faults of a body's answers to its clip played faster, stopped, and to motion of the whole."""
    import thew

    body, fps, size = flesh.body, flesh.build_settings.fps, flesh.surface.size
    faults = []

    def balanced_shape(pose):
        return body.shown(thew.equilibrium(body, pose, method="hyperelastic"), pose)

    def own_motion(clip, balances):
        moving = [clip.positions(i) for i in range(len(balances))]
        apart = [((a - b) ** 2).sum(axis=1).mean() for a, b in zip(moving, balances, strict=True)]
        return np.sqrt(apart) / size

    # Every frame: a jolt is over in two or three, sooner at double speed.
    balances = [balanced_shape(pose) for pose in maps]
    whole = own_motion(thew.simulate(body, maps, fps), balances)
    # Flesh that is thrown about is slowed down, so that its way shortens with its time: look where it is not yet.
    speed, first = 1.0, slice(SECOND)
    once = whole[first]
    while once.max() > THROWN and speed > 0.05:
        speed *= 0.5
        once = own_motion(thew.simulate(body, maps[first], fps * speed), balances[first])
    twice = own_motion(thew.simulate(body, maps[first], 2.0 * fps * speed), balances[first])
    if np.sqrt((once**2).mean()) > 1e-6 and (twice**2).mean() <= (once**2).mean():
        faults.append(f"own motion {once.max():.3%} at speed {speed} falls to {twice.max():.3%} at double that")

    # Frozen where it moves most.
    stop = int(whole.argmax()) + 1
    frozen = np.concatenate([maps[:stop], np.repeat(maps[stop - 1 : stop], round(3.0 * fps), axis=0)])
    left = own_motion(
        thew.simulate(body, frozen, fps), [*balances[:stop], *[balances[stop - 1]] * (len(frozen) - stop)]
    )
    if left.max() > 1e-6 and left[-1] > 0.05 * left.max():
        faults.append(f"{left[-1] / left.max():.0%} of its own motion is left three seconds after it stopped")

    # At rest, carried steadily, turned slowly: with nothing of its own to do it does nothing.
    rest, seconds = flesh.surface.vertices, np.arange(13) / fps
    for what, velocity, turn in (("at rest", 0.0, 0.0), ("carried", 2.0 * size, 0.0), ("turned", 0.0, np.radians(5.0))):
        whole = np.tile(np.eye(4), (13, 1, 1))
        cosine, sine = np.cos(turn * seconds), np.sin(turn * seconds)
        whole[:, 0, 0], whole[:, 0, 1], whole[:, 1, 0], whole[:, 1, 1] = cosine, -sine, sine, cosine
        whole[:, 0, 3] = velocity * seconds
        shapes = np.asarray(thew.simulate(body, np.repeat(whole[:, None], maps.shape[1], axis=1), fps))
        there = rest @ whole[:, :3, :3].transpose(0, 2, 1) + whole[:, None, :3, 3]
        lag = np.linalg.norm(shapes - there, axis=2).max() / size
        if lag > (1e-6 if what == "at rest" else 1e-4):
            faults.append(f"it lags by {lag:.1e} of its size {what}")
    return faults
