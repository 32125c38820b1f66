# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of several actions in files: every animation of a glTF, and every take of an FBX, has its own flesh or none."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
import roundtrips
from dancing import ACTIONS, make_dancer, make_fleshed_dancer, push_down, use
from gltf_file import GltfFile
from helpers import activate, make_character, part, size_of

#: Exporters sample in single precision, and store rotations as quaternions of it.
TOLERANCE = 2e-5
RATES = [(24, 1.0), (30, 1.0), (24, 1.001)]


@pytest.fixture
def dancer(scene):
    """Builds (mesh with flesh, armature) with the actions Run (active), Walk and Turn, and Idle, of which there is no clip."""
    return make_fleshed_dancer()


def bake(**options) -> None:
    activate(bpy.data.objects["Body"])
    assert bpy.ops.thew.bake(**{"clips": "CHOSEN", "actions": "Run;Walk;Turn", **options}) == {"FINISHED"}


def export(path, **options) -> GltfFile:
    assert bpy.ops.export_scene.gltf(filepath=str(path), **options) == {"FINISHED"}
    return GltfFile(path)


def exported_frames(name: str) -> np.ndarray:
    """Returns the frames that the exporter takes of an action: whole ones from its first key on, towards 0."""
    first, last, *_ = ACTIONS[name]
    return np.arange(int(first), int(last) + 1)


def shapes_at(body, frames) -> np.ndarray:
    return roundtrips.shapes(body, frames)


def rate() -> float:
    """Returns the frames of a second of glTF as its exporter counts them."""
    return bpy.context.scene.render.fps * bpy.context.scene.render.fps_base


def assert_same_motion(file: GltfFile, name: str, shapes: np.ndarray, start: float) -> None:
    """Asserts that an animation shows shapes [f, n, 3], one a frame from the time `start` on, in seconds."""
    played = np.array([file.positions("Body", name, start + at / rate()) for at in range(len(shapes))])
    owner = roundtrips.owners(shapes, played)
    assert np.abs(played - shapes[:, owner]).max() < TOLERANCE * size_of(shapes[0]), name


def test_script_is_told_of_actions_without_flesh(dancer, tmp_path, capfd):
    """An export by a script tells on the console which animations leave with the plain skin, and nothing where each has its flesh."""
    export(tmp_path / "live.glb")
    assert "The flesh of “Body” is live" in "".join(capfd.readouterr())
    bake(actions="Run")
    export(tmp_path / "one.glb")
    said = "".join(capfd.readouterr())
    assert "glTF export also writes “Idle”, “Turn” and “Walk”, with the plain skin" in said
    bake(clips="ALL")
    export(tmp_path / "all.glb")
    assert "with the plain skin" not in "".join(capfd.readouterr())
    bake(actions="Run")
    export(tmp_path / "active.glb", export_animation_mode="ACTIVE_ACTIONS")
    assert "with the plain skin" not in "".join(capfd.readouterr())


def test_script_is_told_of_written_tracks(dancer, tmp_path, capfd):
    """NLA tracks that the exporter writes are named; one with several strips leaves no animation in the file."""
    _, rig = dancer
    bake(actions="Run")
    tracks = rig.animation_data.nla_tracks
    for track in list(tracks):
        tracks.remove(track)
    both = tracks.new()
    for at, name in ((100, "Walk"), (200, "Idle")):
        both.strips.new(name, at, bpy.data.actions[name])
    tracks.new().strips.new("Turn", 100, bpy.data.actions["Turn"])
    capfd.readouterr()
    file = export(tmp_path / "tracks.glb", export_anim_single_armature=False)
    said = "".join(capfd.readouterr())
    assert set(file.animation_names()) == {"Run", "Turn"}
    assert "glTF export also writes “Turn”, with the plain skin" in said


def start_of(frames) -> float:
    """Returns the time at which the exporter puts the first frame: motions from before frame 0 begin at 0."""
    return max(frames[0], 0) / rate()


def check_file(file: GltfFile, body, rig, names=("Run", "Walk", "Turn")) -> None:
    """Asserts that a file holds each clip as one animation with its own flesh, and nothing of it elsewhere."""
    assert not file.weights("Body", None, 0.0).any() and len(file.weights("Body", None, 0.0)) == 20 + 22 + 16
    for name in names:
        frames = exported_frames(name)
        assert file.paths(name) >= {"rotation", "weights"}
        first, last = file.span(name)
        assert first == pytest.approx(start_of(frames), abs=1e-5)
        assert last - first == pytest.approx((len(frames) - 1) / rate(), abs=1e-4)
        use(rig, name)
        shapes = shapes_at(body, frames)
        assert_same_motion(file, name, shapes, start_of(frames))
        own = [at for at, key in enumerate(file.target_names("Body")) if key.startswith(f"Thew {name} ")]
        for at in range(len(frames)):
            weights = file.weights("Body", name, start_of(frames) + at / rate())
            assert weights.sum() == pytest.approx(1.0) and weights[own].sum() == pytest.approx(1.0)
    use(rig, "Run")


@pytest.mark.parametrize(("fps", "base"), RATES)
def test_gltf_each_action(scene, tmp_path, fps, base):
    """With the exporter's defaults every clip is one animation of bones and weights, and an action without a clip has no flesh."""
    scene.render.fps, scene.render.fps_base = fps, base
    body, rig = make_dancer()
    body.parent = rig
    bpy.data.actions["Walk"].copy().name = "Idle"
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    bake()
    played = body.data.shape_keys.animation_data.action
    file = export(tmp_path / "all.glb")
    assert set(file.animation_names()) == {"Run", "Walk", "Turn", "Idle"}
    assert not file.weights("Body", "Idle", 0.5).any() and "weights" not in file.paths("Idle")
    check_file(file, body, rig)
    scene.frame_set(7)
    assert body.data.shape_keys.animation_data.action == played
    assert {key.name for key in body.data.shape_keys.key_blocks if key.value} == {"Basis", "Thew Run 0007"} - (
        {"Basis"} if body.data.shape_keys.key_blocks["Basis"].value == 0.0 else set()
    )


def test_gltf_other_action_active(dancer, tmp_path):
    """The file is the same whichever action is active, even one without a clip."""
    body, rig = dancer
    bake()
    for name in ("Idle", "Turn"):
        use(rig, name)
        bpy.context.scene.frame_set(3)
        file = export(tmp_path / f"{name}.glb")
        assert set(file.animation_names()) == {"Run", "Walk", "Turn", "Idle"} and "weights" not in file.paths("Idle")
        check_file(file, body, rig)


def test_gltf_strips_alone(dancer, tmp_path):
    """Strips without an active action are exported as the actions are."""
    body, rig = dancer
    bake()
    for name in ("Run", "Walk", "Turn"):
        push_down(rig, name).mute = False
    rig.animation_data.nla_tracks["Walk"].mute = True
    use(rig, None)
    file = export(tmp_path / "strips.glb")
    assert set(file.animation_names()) == {"Run", "Walk", "Turn", "Idle"} and "weights" not in file.paths("Idle")
    check_file(file, body, rig)


@pytest.mark.parametrize("named", [True, False])
def test_gltf_nla_tracks(dancer, tmp_path, named):
    """In the exporter's mode NLA Tracks each track is one animation of bones and weights, under the name of its track or action."""
    body, rig = dancer
    bake()
    strips = {
        "Run": push_down(rig, "Run", "First" if named else "NlaTrack", frame_start=1.0),
        "Walk": push_down(rig, "Walk", "Second" if named else "[Action Stash]", frame_start=3.0, scale=2.0),
    }
    rig.animation_data.nla_tracks[1].mute = True
    names = {"Run": "First", "Walk": "Second"} if named else {"Run": "Run", "Walk": "Walk"}
    active = body.data.shape_keys.animation_data.action
    file = export(tmp_path / "tracks.glb", export_animation_mode="NLA_TRACKS")
    assert set(file.animation_names()) == set(names.values())
    assert body.data.shape_keys.animation_data.action == active
    use(rig, None)
    for name, strip in strips.items():
        for track in rig.animation_data.nla_tracks:
            track.mute = strip.name not in track.strips
        frames = np.arange(int(strip.frame_start), int(strip.frame_end) + 1)
        assert file.paths(names[name]) >= {"rotation", "weights"}
        assert_same_motion(file, names[name], shapes_at(body, frames), start_of(frames))


def test_gltf_finished_without_thew(dancer, tmp_path):
    """A finished bake of clips is exported whole where the extension is not installed."""
    if bpy.app.version < (4, 4):
        pytest.skip("before, actions know no slots, and the exporter merges tracks alone")
    body, rig = dancer
    bake()
    assert bpy.ops.thew.finish_bake() == {"FINISHED"}
    names = [addon.module for addon in bpy.context.preferences.addons]
    package = part("bake.gltf").__name__.removesuffix(".bake.gltf")
    module = __import__("sys").modules.pop(package)
    try:
        file = export(tmp_path / "without.glb")
    finally:
        __import__("sys").modules[package] = module
    assert package in names
    assert set(file.animation_names()) == {"Run", "Walk", "Turn", "Idle"} and "weights" not in file.paths("Idle")
    check_file(file, body, rig)


def test_gltf_two_characters(dancer, tmp_path):
    """Beside another character only the actions that the exporter writes of the armature get weights."""
    body, rig = dancer
    other, other_rig = make_character(name="Other")
    other.parent = other_rig
    other_rig.animation_data.action.name = "Theirs"
    bake()
    bpy.data.objects.remove(other)
    file = export(tmp_path / "two.glb")
    assert set(file.animation_names()) == {"Run", "Theirs"} and "weights" in file.paths("Run")
    push_down(rig, "Walk", "Later").mute = False
    file = export(tmp_path / "later.glb")
    assert set(file.animation_names()) == {"Run", "Later", "Theirs"}
    assert {name for name in file.animation_names() if "weights" in file.paths(name)} == {"Run", "Later"}
    assert body.thew.bakes[0].plays


def fbx_shapes(path, name: str, frames) -> np.ndarray:
    """Returns the shapes of the baked mesh that came back in a take, at frames counted from 1."""
    roundtrips.bring_back(path)
    back = roundtrips.baked_mesh()
    roundtrips.play_animation(back, name)
    return roundtrips.shapes(back, frames)


def test_fbx_each_take(dancer, tmp_path):
    """With the exporter's defaults every take of an FBX has the flesh of its own action, or none."""
    body, rig = dancer
    bake()
    expected = {}
    for name in (*ACTIONS, "Idle"):
        first, last, *_ = ACTIONS.get(name, ACTIONS["Walk"])
        frames = first + np.arange(math.floor(last - first) + 1)
        # Before frame 0 the exporter rounds towards it, bones and keys alike.
        frames = [max(frame, float(int(frame))) for frame in frames]
        use(rig, name)
        expected[name] = shapes_at(body, frames)
    use(rig, "Run")
    scene = bpy.context.scene
    scene.frame_set(5)
    before = body.data.shape_keys.animation_data.action
    path = tmp_path / "takes.fbx"
    roundtrips.export(path)
    assert body.data.shape_keys.animation_data.action == before
    for name, shapes in expected.items():
        back = fbx_shapes(path, name, np.arange(1, len(shapes) + 1))
        owner = roundtrips.owners(shapes, back)
        # Half a thousandth: the exporter drops keys of curves that are nearly straight.
        assert roundtrips.largest_distances(shapes[:, owner], back).max() < 2e-3, name
