# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the demo's characters and measures in Blender."""

import bpy
import numpy as np
import pytest

from assets import characters as own
from demo import characters, measures, pictures
from demo.extension import activate, flesh_of


@pytest.fixture(params=sorted(own.FIGURES))
def figure_objects(request, scene):
    """Builds a figure; returns it with the armature and the mesh that Blender has of it."""
    armature, body = own.create(request.param)
    return own.FIGURES[request.param](), armature, body


def test_figure_linear_blend(figure_objects):
    """Armature, weights and action give the linear blend of the figure's own maps."""
    figure, armature, body = figure_objects
    skin = own.skin(figure)
    rest = np.concatenate([skin.vertices, np.ones((len(skin.vertices), 1))], axis=1)
    for clip in figure.clips:
        own.use_action(armature, clip)
        maps = figure.maps(clip)
        assert bpy.context.scene.frame_end == len(maps)
        for frame in (1, len(maps) // 3, len(maps)):
            bpy.context.scene.frame_set(frame)
            each = np.einsum("bij,nj->bni", maps[frame - 1, :, :3], rest)
            blended = np.einsum("nb,bni->ni", skin.weights, each)
            np.testing.assert_allclose(characters.evaluated_positions(body), blended, atol=2e-5)


def test_figure_meshes_clips(figure_objects):
    """The demo finds the figure's mesh, armature and clips, and names the clips when one is unknown."""
    figure, armature, body = figure_objects
    assert characters.skinned_meshes() == [body]
    assert characters.armature_of(body) == armature
    assert characters.clips() == sorted(figure.clips)
    assert characters.choose_clip([armature], None) in figure.clips
    with pytest.raises(characters.Unusable, match="no action 'swim'; there are: "):
        characters.choose_clip([armature], "swim")


@pytest.mark.parametrize("name", ["missing.glb", "notes.txt", "broken.glb"])
def test_open_file_refuses(name, scene, tmp_path):
    """A file that cannot be used is named by the refusal."""
    path = tmp_path / name
    if not name.startswith("missing"):
        path.write_bytes(b"this is no character")
    with pytest.raises(characters.Unusable, match=name):
        characters.open_file(path)


def test_measure_moving_standing(figure_objects):
    """The measures are those of a character that moves, and vanish for one that stands still."""
    _, armature, body = figure_objects
    scene = bpy.context.scene
    scene.frame_end = 12
    activate(body)
    bpy.ops.thew.add(cells_across=8)
    bpy.ops.thew.simulate(frame_start=1, frame_end=12)
    moving = measures.measure(body, {"add": 1.0, "simulate": 0.5})
    assert moving.frames == 12 and len(moving.own) == 12
    assert moving.vertices == len(body.data.vertices)
    assert moving.cells == len(flesh_of(body).lattice.cells)
    rest = np.asarray(flesh_of(body).surface.vertices)
    assert moving.size == pytest.approx(np.linalg.norm(np.ptp(rest, axis=0)))
    assert moving.finite and moving.closed
    assert moving.own_rms > 1e-3
    assert 0.5 < moving.volume_low <= moving.volume_high < 1.5
    for word in (body.name, "1.5 s", "12 frames", f"{moving.cells} cells"):
        assert word in moving.line()

    armature.animation_data.action = None
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    bpy.ops.thew.simulate(frame_start=1, frame_end=12)
    standing = measures.measure(body, {})
    assert standing.own_rms < 1e-4
    assert standing.far_skin < 1e-4
    assert standing.volume_low == pytest.approx(1.0, abs=1e-4)


def test_signed_volume_box():
    """The volume of a box is right wherever it stands."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])
    assert measures.signed_volume(corners + 100.0, triangles) == pytest.approx(6.0)


def test_film_strip_frames():
    """A film strip shows the liveliest moment."""
    motion = np.zeros(60)
    motion[30:50] = 1.0
    assert pictures.film_strip(motion, list(range(1, 61)), 1, 4) == [31, 36, 41, 46]
    assert pictures.film_strip(motion, list(range(1, 61, 2)), 1, 4, apart=6) == [31, 37, 43, 49]
    assert pictures.film_strip(motion, [1, 2, 3], 1, 8) == [1, 2, 3]


def test_contact_sheet_pictures(tmp_path):
    """A contact sheet holds its pictures in rows."""
    paths = []
    for number, colour in enumerate([(1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)]):
        image = bpy.data.images.new(f"picture {number}", 8, 4)
        image.pixels.foreach_set(np.tile(np.array(colour, np.float32), 32))
        image.filepath_raw, image.file_format = str(tmp_path / f"{number}.png"), "PNG"
        image.save()
        paths.append(tmp_path / f"{number}.png")
    pictures.contact_sheet([paths, [paths[1]]], tmp_path / "sheet.png")
    sheet = bpy.data.images.load(str(tmp_path / "sheet.png"))
    assert tuple(sheet.size) == (16 + pictures.GAP, 8 + pictures.GAP)
    pixels = np.array(sheet.pixels[:]).reshape(sheet.size[1], sheet.size[0], 4)[::-1, :, :3]
    np.testing.assert_allclose(pixels[2, 2], [1, 0, 0], atol=0.01)
    np.testing.assert_allclose(pixels[2, -2], [0, 0, 1], atol=0.01)
    np.testing.assert_allclose(pixels[-2, 2], [0, 0, 1], atol=0.01)
    np.testing.assert_allclose(pixels[-2, -2], [1, 1, 1], atol=0.01)
