# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything comes back: what each way out brings of several actions, beside the live flesh of each.

One action begins before frame 0 and at a fraction of a frame. The character plays its actions at three frame rates, or strips alone.
glTF, point caches and textures are read by readers of the tests, the other formats by Blender's importers. Bakes of one key a frame in
glTF and FBX are in `test_bake_clips_gltf`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np
import pytest
import roundtrips
from conftest import FAST
from dancing import ACTIONS, frames_of, live_shapes, make_dancer, push_down, use
from file_readers import parse_exr, parse_mdd, parse_pc2, parse_png
from gltf_file import GltfFile
from helpers import activate, part, play, size_of, world

#: What exporters and importers round, as a share of the size: they compute in single precision.
ROUNDING = 2e-5
#: Name, frames a second and their divisor, whether strips play the actions.
SITUATIONS = [
    ("24", 24, 1.0, False),
    ("30", 30, 1.0, False),
    ("23.976", 24, 1.001, False),
    ("strips alone", 24, 1.0, True),
]
FBX = "EXPORT_SCENE_OT_fbx"


@dataclass
class Situation:
    """A saved character with flesh, and the positions of its live flesh in the world by action, [f, n, 3]."""

    path: Path
    fps: int
    base: float
    strips: bool
    live: dict[str, np.ndarray]

    @property
    def rate(self) -> float:
        """Returns frames per second."""
        return self.fps / self.base


@pytest.fixture(scope="module", params=SITUATIONS[:1] if FAST else SITUATIONS, ids=lambda each: each[0])
def situation(request, addon, tmp_path_factory) -> Situation:
    """Builds the character once for each situation."""
    _, fps, base, strips = request.param
    scene = empty_scene(fps, base)
    body, rig = make_dancer()
    body.parent = rig
    rig.location, rig.rotation_euler = (0.3, -0.2, 0.1), (0.1, 0.2, 0.5)
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    live = live_shapes(body, rig)
    turn = np.array(body.matrix_world)
    live = {name: shapes @ turn[:3, :3].T + turn[:3, 3] for name, shapes in live.items()}
    if strips:
        for name in ACTIONS:
            push_down(rig, name).name = f"Strip of {name}"
        use(rig, None)
    scene.frame_start, scene.frame_end = 1, 20
    path = tmp_path_factory.mktemp("leaves") / "dancer.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return Situation(path, fps, base, strips, live)


@pytest.fixture
def dancer(situation):
    """Opens the character, and yields (mesh, armature)."""
    bpy.ops.wm.open_mainfile(filepath=str(situation.path), load_ui=False)
    body = bpy.data.objects["Body"]
    activate(body)
    return body, bpy.data.objects["Rig"]


def empty_scene(fps: int, base: float) -> bpy.types.Scene:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=False, load_ui=False)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = fps, base
    return scene


def bake(body, target: str, **options):
    """Bakes all actions into a target, and returns the bake."""
    assert bpy.ops.thew.bake(target=target, clips="ALL", **options) == {"FINISHED"}
    assert {clip.label for clip in body.thew.bakes[0].clips} == set(ACTIONS)
    return body.thew.bakes[0]


def path_of(clip) -> Path:
    """Returns the file of a clip."""
    return Path(bpy.path.abspath(clip.file))


def stated_errors(bake) -> dict[str, float]:
    """Returns the error of each clip as the list of bakes tells it. The character is life-size: a unit is a metre."""
    return {clip.label: clip.error for clip in bake.clips}


def assert_comes_back(live: np.ndarray, back: np.ndarray, allowed: float) -> None:
    """Asserts that positions [f, m, 3] are those of the live flesh [f, n, 3] up to a distance."""
    owner = roundtrips.owners(live, back) if back.shape[1] != live.shape[1] else np.arange(live.shape[1])
    away = float(np.linalg.norm(back - live[:, owner], axis=2).max())
    assert away <= allowed, (away, allowed)


# keys -----------------------------------------------------------------------------------------------------------------


def test_gltf_comes_back(situation, dancer, tmp_path):
    """Compressed keys of all actions are in the animations of one glTF, each within its stated error."""
    body, _ = dancer
    errors = stated_errors(bake(body, "COMPRESSED", tolerance=2.0))
    path = tmp_path / "dancer.glb"
    assert bpy.ops.export_scene.gltf(filepath=str(path)) == {"FINISHED"}
    assert part("bake.export_check").check_all(bpy.context.scene.objects, "EXPORT_SCENE_OT_gltf", {}) == []
    file, size = GltfFile(path), size_of(situation.live["Run"][0])
    assert set(file.animation_names()) == set(ACTIONS) and not file.weights("Body", None, 0.0).any()
    for name, (first, last, *_) in ACTIONS.items():
        # The exporter takes whole frames from the first key on, rounded towards 0, lets those before 0 begin at 0, and multiplies the
        # rate by its divisor.
        frames = np.arange(int(first), int(last) + 1)
        times = (frames - min(frames[0], 0)) / (situation.fps * situation.base)
        live = situation.live[name][frames - frames_of(name)[0]]
        back = np.array([file.positions("Body", name, time) for time in times])
        assert_comes_back(live, back, errors[name] + ROUNDING * size)
        assert 0.0 < errors[name] <= 0.002


def test_fbx_comes_back(situation, dancer, tmp_path):
    """Compressed keys of all actions are in the takes of one FBX, after the remedies of the check, each within its stated error."""
    body, _ = dancer
    errors = stated_errors(bake(body, "COMPRESSED", tolerance=2.0))
    settings = part("bake.traps").ExportSettings(FBX, {})
    scene, layer = bpy.context.scene, bpy.context.view_layer
    traps = [trap.key for trap in part("bake.export_check").find_traps(scene.objects, settings)]
    assert traps == ["action_range", "bake_anim_simplify_factor"]
    part("logic.tasks").finish(part("bake.mending").mend("action_range", body, scene, layer, settings))
    path, size = tmp_path / "dancer.fbx", size_of(situation.live["Run"][0])
    roundtrips.export(path)
    roundtrips.bring_back(path)
    assert bpy.context.scene.render.fps / bpy.context.scene.render.fps_base == pytest.approx(situation.rate, rel=1e-4)
    back = roundtrips.baked_mesh()
    for name, live in situation.live.items():
        roundtrips.play_animation(back, name)
        # The importer lets every take begin at frame 1, and forgets the divisor of the rate as it sets keys.
        shapes = roundtrips.shapes(back, 1.0 + bpy.context.scene.render.fps_base * np.arange(len(live)))
        assert_comes_back(live, shapes, errors[name] + ROUNDING * size)


# points ---------------------------------------------------------------------------------------------------------------


def scene_live(situation, body, rig, name: str) -> tuple[range, np.ndarray]:
    """Lets the scene play an action, or the strips of all; returns its frames and the positions of the live flesh."""
    scene = bpy.context.scene
    if not situation.strips:
        use(rig, name)
        scene.frame_start, scene.frame_end = max(frames_of(name)[0], 0), frames_of(name)[-1]
        body.thew.use_scene_range = True
    assert bpy.ops.thew.simulate(frame_start=frames_of(name)[0], frame_end=frames_of(name)[-1]) == {"FINISHED"}
    frames = range(scene.frame_start, scene.frame_end + 1)
    return frames, play(body, frames, world)


@pytest.mark.parametrize("kind", ["USD", "ALEMBIC"])
def test_cache_export_comes_back(situation, dancer, tmp_path, kind):
    """Live flesh leaves as USD and Alembic, at the times of its frames."""
    body, rig = dancer
    path = tmp_path / f"dancer{'.usdc' if kind == 'USD' else '.abc'}"
    for name in ("Turn",) if situation.strips or situation.rate != 24 else ACTIONS:
        bpy.ops.wm.open_mainfile(filepath=str(situation.path), load_ui=False)
        body, rig = bpy.data.objects["Body"], bpy.data.objects["Rig"]
        activate(body)
        frames, live = scene_live(situation, body, rig, name)
        assert bpy.ops.thew.export_cache(format=kind, filepath=str(path)) == {"FINISHED"}
        empty_scene(situation.fps, situation.base)
        if kind == "USD":
            assert bpy.ops.wm.usd_import(filepath=str(path)) == {"FINISHED"}
        else:
            assert bpy.ops.wm.alembic_import(filepath=str(path), as_background_job=False) == {"FINISHED"}
        back = next(obj for obj in bpy.data.objects if obj.type == "MESH")
        assert_comes_back(live, play(back, frames, world), ROUNDING * size_of(live[0]))


@pytest.mark.parametrize("kind", ["PC2", "MDD"])
def test_point_cache_comes_back(situation, dancer, tmp_path, kind):
    """Point caches hold the posed vertices of each action, with the frames and times of its clip."""
    body, _ = dancer
    matrix = np.array(body.matrix_world)
    for clip in bake(body, kind, folder=str(tmp_path)).clips:
        frames, live = frames_of(clip.label), situation.live[clip.label]
        assert (clip.start, clip.end) == (frames[0], frames[-1])
        if kind == "PC2":
            rows, start, step = parse_pc2(path_of(clip))
            assert (start, step) == (frames[0], 1.0)
        else:
            rows, times = parse_mdd(path_of(clip))
            np.testing.assert_allclose(times, np.arange(len(frames)) / situation.rate, rtol=1e-5)
        assert_comes_back(live, rows @ matrix[:3, :3].T + matrix[:3, 3], 1e-6 * size_of(live[0]))


# textures -------------------------------------------------------------------------------------------------------------


def skinned(body, rig, points: np.ndarray) -> np.ndarray:
    """Returns points of the mesh at rest [n, 3] as the bones carry them in the scene's frame, in the world."""
    to_bones = np.array(rig.matrix_world.inverted() @ body.matrix_world)
    maps = {
        group.index: np.array(rig.pose.bones[group.name].matrix @ rig.data.bones[group.name].matrix_local.inverted())
        for group in body.vertex_groups
        if group.name in rig.pose.bones
    }
    moved = np.zeros_like(points)
    for at, vertex in enumerate(body.data.vertices):
        shares = {each.group: each.weight for each in vertex.groups if each.group in maps}
        blended = sum(share * maps[group] for group, share in shares.items()) / sum(shares.values())
        moved[at] = ((np.array(rig.matrix_world) @ blended @ to_bones) @ (*points[at], 1.0))[:3]
    return moved


@pytest.mark.parametrize("image", ["EXR", "PNG"])
def test_vertex_texture_comes_back(situation, dancer, tmp_path, image):
    """A shader that adds a texture's offsets to the skin before the bones shows each action."""
    body, rig = dancer
    made = bake(body, "VERTEX_TEXTURE", image=image, folder=str(tmp_path))
    path = path_of(made.clips[0])
    told = json.loads(path.read_text())
    pixels = (parse_exr if image == "EXR" else parse_png)(path.with_name(told["texture"]))
    assert told["fps"] == pytest.approx(situation.rate, rel=1e-6)
    corners = body.data.uv_layers["Thew Offsets"].uv
    texels = {loop.vertex_index: tuple(corners[loop.index].vector) for loop in body.data.loops}
    u, v = np.array([texels[at] for at in range(len(body.data.vertices))]).T
    rest = np.array([vertex.co for vertex in body.data.vertices])
    assert bpy.ops.thew.show_live() == {"FINISHED"}
    for clip in told["clips"]:
        name = clip["name"]
        use(rig, name)
        live = situation.live[name]
        assert clip["frames"] == len(live)
        shown = []
        for at, frame in enumerate(frames_of(name)):
            bpy.context.scene.frame_set(frame)
            row = (v + (clip["first_row"] + at * told["rows_per_frame"]) * told["v_from_bottom"]["step"]) * told[
                "height"
            ]
            texel = pixels[told["height"] - 1 - np.floor(row).astype(int), np.floor(u * told["width"]).astype(int)]
            shown.append(skinned(body, rig, rest + told["offset_min"] + np.array(told["offset_scale"]) * texel))
        assert_comes_back(live, np.array(shown), told["max_error"] + ROUNDING * size_of(live[0]))
