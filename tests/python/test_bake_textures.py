# SPDX-License-Identifier: MIT OR Apache-2.0
"""Vertex animation textures: read by an independent reader as a shader would, whole or not at all."""

import json
import os

import numpy as np
import pytest
import thew
from file_readers import parse_exr, parse_png

VERTICES = 37


def rest_shape():
    """Returns a mesh of the size of a person."""
    return np.random.default_rng(1).uniform(-0.9, 0.9, (VERTICES, 3)).astype(np.float32)


def waves(frames, seed=0, reach=0.08):
    """Returns positions that move by up to 80 mm around the rest shape."""
    offsets = np.random.default_rng(seed).uniform(-reach, reach, (frames, VERTICES, 3))
    return (rest_shape() + offsets).astype(np.float32)


def play(path, vertex, clip, frame, origin):
    """Returns a vertex's offset as a shader computes it from the JSON file and the image, with v from either end."""
    told, texel = texel_of(path, vertex, clip, frame, origin)
    return np.array(told["offset_min"]) + np.array(told["offset_scale"]) * texel[:3]


def play_tension(path, vertex, clip, frame, origin):
    """Returns a vertex's tension as a shader computes it."""
    told, texel = texel_of(path, vertex, clip, frame, origin)
    assert told["tension"]["channel"] == "alpha"
    return told["tension"]["min"] + told["tension"]["scale"] * texel[3]


def texel_of(path, vertex, clip, frame, origin):
    """Returns the description and the texel of a vertex in a frame, with v from either end."""
    told = json.loads(path.read_text())
    image = (parse_exr if told["encoding"] == "half" else parse_png)(path.with_name(told["texture"]))
    assert image.shape == (told["height"], told["width"], 3 + ("tension" in told))
    (rows,) = (one for one in told["clips"] if one["name"] == clip)
    assert frame < rows["frames"]
    row = rows["first_row"] + frame * told["rows_per_frame"] + vertex // told["width"]
    u = told["u"]["first"] + told["u"]["step"] * (vertex % told["width"])
    v = told[f"v_from_{origin}"]["first"] + told[f"v_from_{origin}"]["step"] * row
    v = v if origin == "top" else 1 - v
    return told, image[int(v * told["height"]), int(u * told["width"])]


FORMATS = pytest.mark.parametrize("format", ["exr", "png"])


@FORMATS
@pytest.mark.parametrize("max_size", [8192, 20])
def test_texture_plays(tmp_path, format, max_size):
    """A shader that follows the JSON file puts every vertex within the stated error, in every clip, wrapped or not."""
    clips = {"walk": waves(5), "run": waves(3, 1), "a look around": waves(1, 2)}
    written = thew.write_vertex_texture(tmp_path / "hero", clips, rest_shape(), 30, format, max_size=max_size)
    assert written.texture == tmp_path / "hero" / f"offsets.{format}"
    assert (written.width, written.rows_per_frame) == ((37, 1) if max_size == 8192 else (19, 2))
    assert written.height == 9 * written.rows_per_frame
    limit = {"exr": 0.08 * 2**-11 * 3**0.5, "png": 0.16 / 65535}[format]
    assert 0 < written.max_error < limit
    for clip, frame, vertex in [("walk", 0, 0), ("walk", 4, 36), ("run", 1, 18), ("a look around", 0, 19)]:
        expected = clips[clip][frame, vertex].astype(float) - rest_shape()[vertex]
        for origin in ("top", "bottom"):
            found = play(written.description, vertex, clip, frame, origin)
            assert np.linalg.norm(found - expected) <= written.max_error + 1e-9


@FORMATS
def test_texture_round_trip(tmp_path, format):
    """Our own reader gives all clips back within the stated error, which is the largest one."""
    clips = {"walk": waves(40), "run": waves(3, 1)}
    written = thew.write_vertex_texture(tmp_path, clips, rest_shape(), 24, format)
    found = thew.read_vertex_texture(tmp_path)
    assert list(found) == ["walk", "run"]
    misses = [np.linalg.norm(found[name] - (clips[name].astype(float) - rest_shape()), axis=2).max() for name in clips]
    assert abs(max(misses) - written.max_error) < 1e-8
    assert json.loads(written.description.read_text())["max_error"] == written.max_error


def tensions(frames, seed=0):
    """Returns a tension of each vertex and frame, from half the length to half more."""
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (frames, VERTICES)).astype(np.float32)


@FORMATS
@pytest.mark.parametrize("max_size", [8192, 20])
def test_texture_tension(tmp_path, format, max_size):
    """A shader reads the tension from alpha within the stated error, and the offsets as without it; our reader gives it back."""
    clips = {"walk": waves(5), "run": waves(3, 1)}
    values = {"run": tensions(3, 1), "walk": tensions(5)}  # in an order of its own
    options = {"format": format, "max_size": max_size}
    plain = thew.write_vertex_texture(tmp_path / "plain", clips, rest_shape(), 30, **options)
    written = thew.write_vertex_texture(tmp_path / "hero", clips, rest_shape(), 30, tension=values, **options)
    assert plain.tension_error is None and "tension" not in json.loads(plain.description.read_text())
    assert written.max_error == plain.max_error
    assert 0 < written.tension_error <= {"exr": 0.5 * 2**-11, "png": 0.5 / 65535 + 1e-12}[format]
    assert json.loads(written.description.read_text())["tension"]["max_error"] == written.tension_error
    for clip, frame, vertex in [("walk", 0, 0), ("walk", 4, 36), ("run", 1, 18), ("run", 2, 19)]:
        for origin in ("top", "bottom"):
            found = play_tension(written.description, vertex, clip, frame, origin)
            assert abs(found - values[clip][frame, vertex]) <= written.tension_error + 1e-9
            offset = play(written.description, vertex, clip, frame, origin)
            assert np.array_equal(offset, play(plain.description, vertex, clip, frame, origin))
    found = thew.read_vertex_texture(tmp_path / "hero", content="tension")
    assert list(found) == ["walk", "run"] and found["run"].dtype == np.float32
    misses = [np.abs(found[name].astype(float) - values[name]).max() for name in clips]
    assert abs(max(misses) - written.tension_error) < 1e-7
    offsets, without = (thew.read_vertex_texture(tmp_path / name) for name in ("hero", "plain"))
    assert all(np.array_equal(offsets[name], without[name]) for name in clips)
    assert thew.read_vertex_texture(tmp_path / "plain", content="tension") == {}


def test_texture_tension_forms(tmp_path):
    """Tension comes in the form of the clips: one array, a list, or by name."""
    one, two = waves(2), waves(3, 1)
    for clips, values in [
        (one, tensions(2)),
        ([one, two], [tensions(2), tensions(3)]),
        ({"a": one}, {"a": tensions(2)}),
        ({"a": one}, [tensions(2)]),
    ]:
        thew.write_vertex_texture(tmp_path, clips, rest_shape(), 24, tension=values)
        found = list(thew.read_vertex_texture(tmp_path, content="tension").values())
        given = list(values.values()) if isinstance(values, dict) else values if isinstance(values, list) else [values]
        assert all(np.abs(a - b).max() < 2.5e-4 for a, b in zip(found, given, strict=True))


def test_texture_tension_constant(tmp_path):
    """Skin without tension, and skin of one tension everywhere, come back exactly."""
    for value in (0.0, -0.25):
        for format in ("exr", "png"):
            written = thew.write_vertex_texture(
                tmp_path, waves(2), rest_shape(), 24, format, tension=np.full((2, VERTICES), value)
            )
            assert written.tension_error == 0
            found = thew.read_vertex_texture(written.description, content="tension")["clip0"]
            assert np.all(found == value)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (tensions(2), "tension of clip 0 has 2 frames, and the clip has 3"),
        (tensions(3).T, r"tension: expected an array of shape \(any, 37\)"),
        ({"b": tensions(3)}, "tension: there is none of the clip “a”"),
        ({"a": tensions(3), "b": tensions(3)}, "tension: it has 2 clips, and there are 1"),
        ([tensions(3), tensions(3)], "the tension is of 2 clips, and the frames have 1"),
        (tensions(3) * np.nan, "the tension of vertex 0 in frame 0 of clip 0 is unusable"),
        (tensions(3) + 1e5, "finite number up to 65504"),
        ("text", "tension"),
    ],
)
def test_texture_tension_refused(tmp_path, values, sentence):
    """Tension that is not of these clips, or no number, is refused in a sentence, and nothing is written."""
    with pytest.raises(thew.InputError, match=sentence):
        thew.write_vertex_texture(tmp_path / "new", {"a": waves(3)}, rest_shape(), 24, tension=values)
    assert not os.listdir(tmp_path)
    with pytest.raises(thew.InputError, match='expected "offsets" or "tension"'):
        thew.read_vertex_texture(tmp_path, content="normals")


def test_texture_description(tmp_path):
    """The JSON file tells what an engine needs."""
    clips = {"walk": waves(5), "run": waves(3, 1)}
    written = thew.write_vertex_texture(tmp_path, clips, rest_shape(), 23.976, name="hero body")
    told = json.loads((tmp_path / "hero body.json").read_text())
    assert (told["format"], told["version"], told["fps"]) == ("thew vertex animation texture", 1, 23.976)
    assert told["clips"] == [
        {"name": "walk", "first_row": 0, "frames": 5},
        {"name": "run", "first_row": 5, "frames": 3},
    ]
    assert (told["width"], told["height"], told["vertices"]) == (37, 8, 37) and told["units"] == "metres"
    frames = np.concatenate(list(clips.values())).astype(float)
    assert np.array_equal(told["position_bounds"], [frames.min((0, 1)), frames.max((0, 1))])
    offsets = frames - rest_shape()
    assert np.array_equal(told["offset_bounds"], [offsets.min((0, 1)), offsets.max((0, 1))])
    assert repr(written) == f"<thew.VertexTexture: 37 x 8 texels in {tmp_path / 'hero body.exr'}>"


def test_texture_texels(tmp_path):
    """The texels are those of the first frame, v from the bottom, and a step leads to the next frame."""
    written = thew.write_vertex_texture(tmp_path, waves(4), rest_shape(), 24, max_size=20)
    texels = written.texels
    assert texels.shape == (VERTICES, 2) and texels.dtype == np.float32
    columns, rows = np.arange(VERTICES) % 19, np.arange(VERTICES) // 19
    assert np.allclose(texels, np.stack([(columns + 0.5) / 19, 1 - (rows + 0.5) / 8], 1), atol=1e-7)
    assert written.frame_step == -2 / 8


def test_texture_clip_forms(tmp_path):
    """Clips without names are numbered."""
    one, two = waves(2), waves(3, 1)
    for clips, names in [
        (one, ["clip0"]),
        ([one], ["clip0"]),
        ([one, two], ["clip0", "clip1"]),
        ((one, two), ["clip0", "clip1"]),
    ]:
        thew.write_vertex_texture(tmp_path, clips, rest_shape(), 24)
        assert list(thew.read_vertex_texture(tmp_path)) == names


@FORMATS
def test_texture_of_plain_mesh(tmp_path, format):
    """Offsets without range are exact: a mesh at rest, or moved as a whole."""
    rest = np.round(rest_shape() * 64) / 64
    for move in (0.0, 0.25):
        written = thew.write_vertex_texture(tmp_path, {"still": rest[None] + move}, rest, 24, format)
        assert written.max_error == 0
        assert np.all(thew.read_vertex_texture(tmp_path)["still"] == move)


@FORMATS
def test_texture_bytes_repeat(tmp_path, format):
    """The same clips give the same bytes."""
    files = []
    for name in ("a", "b"):
        written = thew.write_vertex_texture(tmp_path / name, {"walk": waves(20)}, rest_shape(), 24, format)
        files.append((written.texture.read_bytes(), written.description.read_bytes()))
    assert files[0] == files[1]


def test_texture_size_refused(tmp_path):
    """Clips that make too large a texture are refused with the remedy, before anything is written."""
    with pytest.raises(
        thew.InputError, match="60 frames of 37 vertices need 19 x 120 texels, more than 20 a side: raise max_size"
    ):
        thew.write_vertex_texture(tmp_path / "new", waves(60), rest_shape(), 24, max_size=20)
    for bad in (0, 16385, -1):
        with pytest.raises(thew.InputError, match="max_size"):
            thew.write_vertex_texture(tmp_path / "new", waves(1), rest_shape(), 24, max_size=bad)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (({}, rest_shape(), 24), {}, "no frames"),
        (({"": waves(1)}, rest_shape(), 24), {}, "give each clip a name"),
        (({3: waves(1)}, rest_shape(), 24), {}, "name 3 of a clip must be a text"),
        (({"\ud800": waves(1)}, rest_shape(), 24), {}, "must be a text"),
        (({"a": waves(1), "b": waves(1)[:, 1:]}, rest_shape(), 24), {}, "clips must be of one mesh"),
        (({"a": waves(1)}, rest_shape()[1:], 24), {}, "rest has 36 vertices, and the frames have 37"),
        (({"a": waves(1)}, np.full((VERTICES, 3), np.nan), 24), {}, "rest has no usable position for vertex 0"),
        (({"a": waves(1) * np.nan}, rest_shape(), 24), {}, "has no usable position"),
        (({"a": waves(1)}, rest_shape(), 0), {}, "fps must be a finite number above 0"),
        (({"a": waves(1)}, rest_shape(), float("nan")), {}, "fps must be"),
        (({"a": waves(1)}, rest_shape(), 24, "tga"), {}, 'expected "exr" or "png"'),
        (({"a": waves(1)}, rest_shape(), 24), {"space": "world"}, 'space: expected "rest" or "posed", got "world"'),
        (({"a": waves(1)}, rest_shape(), 24), {"metres_per_unit": (1, 2)}, "a number, or one for each of three axes"),
        (
            ({"a": waves(1)}, rest_shape(), 24),
            {"metres_per_unit": 0},
            "metres_per_unit must be a finite number above 0",
        ),
        (({"a": waves(1)}, rest_shape(), 24), {"clip_fps": [24, 30]}, "the frame rates are of 2 clips, and the"),
        (({"a": waves(1)}, rest_shape(), 24), {"name": "../a"}, "name a file, without folder"),
        (({"a": waves(1)}, rest_shape(), 24), {"name": ""}, "name a file"),
        (({"a": waves(1) + 1e5}, rest_shape(), 24), {}, 'vertex 0 in frame 0 of clip 0 .* choose the format "png"'),
    ],
)
def test_texture_refusals(tmp_path, arguments, options, sentence):
    """Arguments that make no texture are refused in a sentence, and no folder appears."""
    with pytest.raises(thew.InputError, match=sentence):
        thew.write_vertex_texture(tmp_path / "new", *arguments, **options)
    assert not os.listdir(tmp_path)


def test_texture_states_unit_and_rates(tmp_path):
    """The JSON file states the length of a unit, and the rate of a clip that has its own; the offsets are as given."""
    clips = {"walk": waves(2), "run": waves(3)}
    texture = thew.write_vertex_texture(tmp_path, clips, rest_shape(), 24, metres_per_unit=0.01, clip_fps=[24, 30])
    told = json.loads(texture.description.read_text())
    assert told["metres_per_unit"] == [0.01] * 3 and told["units"] == "units of the mesh"
    assert [clip.get("fps") for clip in told["clips"]] == [None, 30]
    plain = thew.write_vertex_texture(tmp_path, clips, rest_shape(), 24, name="plain")
    assert json.loads(plain.description.read_text())["units"] == "metres"
    for name, offsets in thew.read_vertex_texture(texture.description).items():
        assert np.array_equal(offsets, thew.read_vertex_texture(plain.description)[name])


@pytest.mark.parametrize(("space", "other"), [("rest", "posed"), ("posed", "rest")])
def test_texture_states_its_space(tmp_path, space, other):
    """The JSON file and the result state the space; a reader that wants the other one is refused."""
    texture = thew.write_vertex_texture(tmp_path, {"walk": waves(2)}, rest_shape(), 24, space=space)
    assert texture.space == space == json.loads(texture.description.read_text())["space"]
    found = [thew.read_vertex_texture(tmp_path, space=wanted)["walk"] for wanted in (None, space)]
    assert np.array_equal(*found)
    with pytest.raises(thew.InputError, match=f"holds {space} positions, not {other} ones"):
        thew.read_vertex_texture(tmp_path, space=other)
    with pytest.raises(thew.InputError, match='space: expected "rest" or "posed"'):
        thew.read_vertex_texture(tmp_path, space="world")


def test_texture_space_is_rest_by_default(tmp_path):
    """Positions are taken for rest space where nothing is said, also by a reader of a file that says nothing."""
    texture = thew.write_vertex_texture(tmp_path, {"walk": waves(2)}, rest_shape(), 24)
    told = json.loads(texture.description.read_text())
    assert told.pop("space") == "rest"
    texture.description.write_text(json.dumps(told))
    assert list(thew.read_vertex_texture(tmp_path, space="rest")) == ["walk"]


def test_texture_refuses_paths(tmp_path):
    """Files that cannot be written or read are named with the reason."""
    clips = {"walk": waves(2)}
    (tmp_path / "file").write_text("no folder")
    for folder, sentence in [(tmp_path / "file", "a part of its path is a file"), (tmp_path / "no" / "new", "no such")]:
        with pytest.raises(thew.StorageError, match=sentence):
            thew.write_vertex_texture(folder, clips, rest_shape(), 24)
    with pytest.raises(thew.StorageError, match="without the JSON file"):
        thew.read_vertex_texture(tmp_path)
    thew.write_vertex_texture(tmp_path, clips, rest_shape(), 24, name="a")
    thew.write_vertex_texture(tmp_path, clips, rest_shape(), 24, "png", name="b")
    with pytest.raises(thew.StorageError, match="several JSON files; name one"):
        thew.read_vertex_texture(tmp_path)
    assert list(thew.read_vertex_texture(tmp_path / "b.json")) == ["walk"]


@FORMATS
def test_texture_survives_failures(tmp_path, format):
    """A full disk or a stop keeps the earlier texture; a folder that was created for it goes again."""
    resource = pytest.importorskip("resource")
    clips, options = {"walk": waves(60)}, {"format": format}
    thew.write_vertex_texture(tmp_path, clips, rest_shape(), 24, **options)
    earlier = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        for folder in (tmp_path, tmp_path / "new"):
            with pytest.raises(thew.StorageError, match="could not be written"):
                thew.write_vertex_texture(folder, clips, rest_shape(), 24, **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with pytest.raises(thew.Cancelled):
        thew.write_vertex_texture(
            tmp_path / "new", clips, rest_shape(), 24, **options, progress=lambda fraction, stage: fraction < 0.2
        )
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == earlier


@FORMATS
def test_texture_refuses_damage(tmp_path, format):
    """Cut or exchanged images and descriptions that do not fit are refused with what to do."""
    written = thew.write_vertex_texture(tmp_path, {"walk": waves(20)}, rest_shape(), 24, format)
    image, text = written.texture.read_bytes(), written.description.read_text()
    for content in (b"", image[:30], image[: len(image) // 2], b"something else" * 99, image[:400] + image[401:]):
        written.texture.write_bytes(content)
        with pytest.raises(thew.StorageError, match="could not be read"):
            thew.read_vertex_texture(tmp_path)
    written.texture.write_bytes(image)
    for old, new in [
        ('"width": 37', '"width": 40'),
        ('"height": 20', '"height": 16384'),
        ('"frames": 20', '"frames": 21'),
        ('"version": 1', '"version": 9'),
        ('"vertices": 37', '"vertices": -1'),
        ("offsets.", "../offsets."),
        ("{", "["),
    ]:
        assert old in text
        written.description.write_text(text.replace(old, new, 1))
        with pytest.raises(thew.StorageError, match="could not be read"):
            thew.read_vertex_texture(tmp_path)
    written.description.write_text(text)
    written.texture.unlink()
    with pytest.raises(thew.StorageError, match="no such file"):
        thew.read_vertex_texture(tmp_path)
