# SPDX-License-Identifier: GPL-3.0-or-later
"""The half of the extension that knows nothing of Blender; it is imported here without it."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

ADDON = Path(__file__).resolve().parents[2] / "blender_addon"
sys.path.insert(0, str(ADDON))
errors, keys, sentences, spaces, tasks, wires = (
    importlib.import_module(f"logic.{name}") for name in ("errors", "keys", "sentences", "spaces", "tasks", "wires")
)
pins = importlib.import_module("logic.pins")
key_weights = importlib.import_module("logic.key_weights")
real_height = importlib.import_module("logic.real_height")


@pytest.mark.parametrize("lowest", [-1.0, 0.0])
def test_nonnegative_weights_same_shapes(lowest):
    """Weights from 0 to 1 make the same shapes, each of them reaches 1, and only weights below 0 cost one more key."""
    rng = np.random.default_rng(3)
    shapes, curves = rng.normal(size=(5, 40, 3)), [rng.uniform(lowest, 0.7, size=(frames, 5)) for frames in (9, 1)]
    found, weights = key_weights.nonnegative(shapes, curves)
    assert len(found) == 5 + (lowest < 0.0)
    for before, after in zip(curves, weights, strict=True):
        assert after.min() >= 0.0 and after.max() <= 1.0
        moved = np.tensordot(after.astype(float), found.astype(float), axes=1)
        np.testing.assert_allclose(moved, np.tensordot(before, shapes, axes=1), atol=1e-5)
    assert np.allclose(np.concatenate(weights).max(axis=0), 1.0)


def test_nonnegative_weights_unused_key():
    """A key that no frame uses stays as it is."""
    shapes = np.ones((2, 3, 3))
    found, weights = key_weights.nonnegative(shapes, [np.array([[0.5, 0.0]])])
    np.testing.assert_allclose(found[1], shapes[1])
    assert weights[0][0, 1] == 0.0


def test_logic_imports_without_blender():
    """The modules of `logic` import without Blender."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); sys.modules['bpy'] = None\n"
        "from logic import body_parts, bone_names, errors, flesh_map, guides, health, keys, layers, picking, sentences, spaces, tasks, wires"
    )
    subprocess.run([sys.executable, "-c", code, str(ADDON)], check=True)


def test_source_files_name_licence():
    """Every file of the extension begins with its licence line."""
    files = list(ADDON.rglob("*.py"))
    assert len(files) > 20
    for file in files:
        assert file.read_text().startswith("# SPDX-License-Identifier: GPL-3.0-or-later\n"), file


# units and spaces ----------------------------------------------------------------------------------------------------


def test_share_of_scales_vectors():
    """A share of a space scales its vectors, stays affine and leaves the input unchanged."""
    space = random_map(np.random.default_rng(1))
    before, shared = space.copy(), spaces.scaled_map(space, 0.25)
    np.testing.assert_array_equal(shared[:3], 0.25 * before[:3])
    np.testing.assert_array_equal(shared[3], [0, 0, 0, 1])
    np.testing.assert_array_equal(space, before)


@pytest.mark.parametrize(
    ("longest", "unit", "height"),
    [(1.8, 1.0, 1.8), (0.4, 1.0, 1.7), (141.0, 1.0, 1.7), (141.0, 0.01, 1.41), (3.0, 1.0, 3.0), (1e-6, 1.0, 1.7)],
)
def test_guess_height_from_size(longest, unit, height):
    """The real height is guessed from the longest side and the unit."""
    assert spaces.guess_height(longest, unit) == pytest.approx(height)


@pytest.mark.parametrize(
    ("longest", "upright", "scaled", "names", "height"),
    [
        (5.6, False, False, ("Cube.003", "Armature"), 5.6),  # a shark of 5.6 m is not 1.7 m, whatever it is called
        (5.6, False, False, ("SK_GreatWhiteShark_LOD0",), 5.6),
        (5.6, True, False, ("Body",), 1.7),  # as a person stands
        (5.6, True, True, ("Body",), 5.6),  # but an importer has made metres of it
        (1.8, True, False, (), 1.8),
        (176.0, True, False, (), 1.76),  # centimetres
        (155.0, False, False, ("fox",), 1.55),
        (8.1, False, False, ("Cow", "AnimalArmature"), 3.8),  # the longest cow
        (0.3, False, False, ("Cat",), 0.3),
        (3.5, False, False, ("Frog", "FrogArmature"), 0.7),  # the longest frog
        (1.6, True, False, ("Frog",), 1.6),  # as cartoons stand
        (3.0, False, False, ("Spider",), 3.0),  # a monster
        (900.0, False, False, ("Elephant",), 6.0),  # what it is usually
        (900.0, False, False, ("Thing",), 1.7),
        (13.0, False, False, ("TRex",), 13.0),
        (50.0, False, False, ("Cylinder",), 1.7),
        (0.001, False, False, ("Whale",), 12.0),
    ],
)
def test_real_height_guess_uses_file(longest, upright, scaled, names, height):
    """The guess of the real height uses the pose, the scale and the names of the file."""
    assert real_height.guess(longest, 1.0, upright, scaled, names) == pytest.approx(height)


@pytest.mark.parametrize("longest", np.geomspace(1e-6, 1e9, 46))
@pytest.mark.parametrize("names", [(), ("shark",), ("human",), ("spider",)])
def test_real_height_guess_in_range(longest, names):
    """Every guess lies between 1 cm and 30 m."""
    for upright in (False, True):
        for scaled in (False, True):
            assert 0.01 <= real_height.guess(longest, 1.0, upright, scaled, names) <= 30.0


def test_stands_upright_shapes():
    """A person stands upright in any pose and view; a horse, a shark or a bird with spread wings does not."""
    rng = np.random.default_rng(3)
    for sides, upright in (
        ((1.7, 0.3, 1.75), True), ((0.3, 1.8, 1.7), True), ((0.5, 0.3, 1.75), True),
        ((0.6, 2.4, 1.6), False), ((1.5, 5.6, 1.4), False), ((2.0, 0.8, 0.5), False), ((3.0, 3.0, 1.0), False),
    ):  # fmt: skip
        points = (rng.random((500, 3)) - 0.5) * sides
        assert real_height.stands_upright(points) is upright, sides
        points[0] = (0.0, 300.0, 0.0)
        assert real_height.stands_upright(points) is upright, "a loose vertex far away"


def random_map(rng, scale=1.0):
    matrix = np.eye(4)
    matrix[:3, :3] = scale * (np.eye(3) + 0.4 * rng.normal(size=(3, 3)))
    matrix[:3, 3] = 5.0 * rng.normal(size=3)
    return matrix


def test_place_metres_match_world():
    """A place converts points and maps between its metres and the world consistently."""
    rng = np.random.default_rng(1)
    place = spaces.MetricSpace(np.array([10.0, -3.0, 2.0]), 0.012)
    points = 50.0 * rng.normal(size=(20, 3))
    maps = np.array([random_map(rng) for _ in range(4)])
    for matrix, in_metres in zip(maps, place.maps(maps), strict=True):
        expected = place.points(spaces.transform(matrix, points))
        np.testing.assert_allclose(spaces.transform(in_metres, place.points(points)), expected, atol=1e-12)
    for matrix, space in zip(maps, place.to_object(maps), strict=True):
        metres = place.points(spaces.transform(matrix, points))
        np.testing.assert_allclose(spaces.transform(space, metres), points, atol=1e-9)
        np.testing.assert_allclose(place.to_object(matrix), space, atol=1e-12)


def test_place_maps_between_places():
    """Maps lead from the metres of one place into those of another."""
    rng = np.random.default_rng(2)
    own, common = (
        spaces.MetricSpace(np.array([10.0, -3.0, 2.0]), 0.012),
        spaces.MetricSpace(np.array([-7.0, 1.0, 0.0]), 0.3),
    )
    points, matrices = 50.0 * rng.normal(size=(20, 3)), np.array([random_map(rng) for _ in range(4)])
    for matrix, led in zip(matrices, common.maps(matrices, own), strict=True):
        expected = common.points(spaces.transform(matrix, points))
        np.testing.assert_allclose(spaces.transform(led, own.points(points)), expected, atol=1e-10)
    np.testing.assert_array_equal(own.maps(matrices, own), own.maps(matrices))


def test_bone_maps_match_modifier():
    """The bone maps move points as the Armature modifier does."""
    rng = np.random.default_rng(2)
    armature, mesh, mesh_rest = (random_map(rng, 3.0) for _ in range(3))
    bones = np.array([random_map(rng) for _ in range(5)])
    x = rng.normal(size=(7, 3))
    maps = spaces.bone_maps(armature, bones, mesh, mesh_rest)
    for bone, moved in zip(bones, maps, strict=True):
        by_blender = armature @ bone @ np.linalg.inv(armature) @ mesh
        rest_world = spaces.transform(mesh_rest, x)
        np.testing.assert_allclose(spaces.transform(moved, rest_world), spaces.transform(by_blender, x), atol=1e-8)


def test_is_singular_cases():
    """Singular matrices and those with NaN are recognised, and poorly scaled ones pass."""
    assert not spaces.is_singular(np.diag([1e-4, 300.0, -1.0, 1.0]))
    assert spaces.is_singular(np.diag([0.0, 1.0, 1.0, 1.0]))
    assert spaces.is_singular(np.full((4, 4), np.nan))


@pytest.mark.parametrize("size", [1e-200, 1e-12, 1.0, 1e12, 1e150])
def test_is_singular_by_singular_values(size):
    """Maps are singular whose singular values are more than nine decades apart, whatever their size and turn."""
    random = np.random.default_rng(5)
    for decades in np.repeat([0.0, 1.0, 3.0, 5.0, 7.0, 8.9, 9.1, 11.0], 20):
        turns = [np.linalg.qr(random.normal(size=(3, 3)))[0] for _ in range(2)]
        matrix = np.eye(4)
        matrix[:3, :3] = (
            size * turns[0] @ np.diag([1.0, 10.0 ** -random.uniform(0.0, decades), 10.0**-decades]) @ turns[1]
        )
        assert spaces.is_singular(matrix) == (decades > 9.0)


def test_skinned_normalises_weights():
    """Skinning normalises weights, and vertices without weight stay with the object."""
    maps = np.array([np.eye(4), np.eye(4)])
    maps[0, 0, 3], maps[1, 0, 3] = 1.0, 3.0
    still = np.eye(4)
    still[2, 3] = 7.0
    rest = np.zeros((4, 3))
    weights = np.array([[1.0, 0.0], [0.2, 0.2], [2.0, 6.0], [0.0, 0.0]])
    skinned = spaces.skin_linearly(weights, maps, rest, still)
    np.testing.assert_allclose(skinned, [[1, 0, 0], [2, 0, 0], [2.5, 0, 0], [0, 0, 7]])


# keys ----------------------------------------------------------------------------------------------------------------


def test_key_name_padded():
    """The names of baked keys are padded to four digits so that they sort by frame."""
    assert [keys.key_name(f) for f in (1, 23, -4, 12345)] == ["Thew 0001", "Thew 0023", "Thew -0004", "Thew 12345"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("Run",), "Thew Run 0007"),
        (("Run", "Close-Up"), "Thew Run Close-Up 0007"),
        (("R" * 80,), f"Thew {'R' * 53} 0007"),
        (("ü" * 60,), f"Thew {'ü' * 26} 0007"),
    ],
)
def test_key_name_of_clip(words, name):
    """Keys of a clip bear its name, cut so that Blender keeps the frame's number."""
    assert keys.key_name(7, *words) == name and len(name.encode()) <= 63


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize(("first", "last"), [(1, 20), (-3, 4), (7, 7), (0, 1)])
def test_key_points_sum_to_one(first, last, holds):
    """Within a clip the keys' values sum to one at any time, beyond it to zero unless its end keys stay on, and each key is fully
    on at its own frame."""
    for time in np.arange(first - 2.0, last + 2.01, 0.25):
        values = []
        for frame in range(first, last + 1):
            x, y = np.array(keys.key_points(frame, (first, last) if holds else None)).T
            values.append(np.interp(time, x, y))  # linear between, held outside: what Blender does
        beyond = max(first - time, time - last, 0.0)
        assert sum(values) == pytest.approx(1.0 if holds else max(1.0 - beyond, 0.0))
        if first <= time <= last and time == int(time):
            assert values[int(time) - first] == 1.0


def test_weight_points_end_in_zero():
    """The curve of weights over a clip is 0 a frame before and after it."""
    assert keys.weight_points([0.5, 1.0], -2) == [(-3.0, 0.0), (-2.0, 0.5), (-1.0, 1.0), (0.0, 0.0)]
    assert keys.weight_points([0.5, 1.0], -2, holds=True) == [(-2.0, 0.5), (-1.0, 1.0)]


def test_frame_range_bounds():
    """A frame range includes both ends and is empty when reversed."""
    assert keys.frame_range(3, 5) == [3, 4, 5]
    assert keys.frame_range(5, 3) == []


# sentences -----------------------------------------------------------------------------------------------------------


def test_sentence_punctuation():
    """Messages become single lines with a full stop, and counts get their plural."""
    assert errors.sentence("the mesh is\n  empty") == "The mesh is empty."
    assert errors.sentence("Done!") == "Done!" and errors.sentence("press Bake As…") == "Press Bake As…"
    assert errors.sentence("glTF export leaves it out") == "glTF export leaves it out."
    assert errors.sentence("").endswith(".")
    assert sentences.plural(1, "cell") == "1 cell"
    assert sentences.plural(3, "vertex", "vertices") == "3 vertices"


@pytest.mark.parametrize("value", [0.0123456, 0.95, 1.94, 99.6, 187.3, 999.6, 20480.0, -187.3])
@pytest.mark.parametrize("digits", [2, 3])
def test_numbers_have_no_exponent(value, digits):
    """Numbers in sentences are as near as their digits allow, and never read as `1.9e+02`."""
    text = sentences.significant(value, digits)
    assert "e" not in text and float(text) == pytest.approx(value, rel=0.5 * 10.0 ** (1 - digits))
    assert sentences.percent(1.5) == "150 %"


def test_loose_part_in_artist_words():
    """A loose part is told in blocks, and where it goes; another sentence stays as it is."""
    said = "A loose part of {} cell(s) at (0.361, 0.087, 0.540), 0.825 m from the bone 'Upper 'Arm'', is held by no bone: it follows {}."
    told = sentences.loose_part_text(said.format(2, "'Upper 'Arm'' rigidly"))
    assert "(2 blocks at 0.361, 0.087, 0.540)" in told and told.endswith("follows “Upper 'Arm'” rigidly, 0.825 m away")
    told = sentences.loose_part_text(said.format(1, "its skin weights without flesh of its own"))
    assert "1 block at" in told and "skin weights, 0.825 m from “Upper 'Arm'”" in told and "cell" not in told
    assert sentences.loose_part_text("Another note.") == "Another note."


def test_pin_conflict_in_artist_words():
    """Pins are called by their names, and their distance is a plain number."""
    said = "pin 0 conflicts with pins 1, 2: they hold the same flesh, 2.775e-1 m apart; move their targets together, or remove one"
    told = pins.named_conflict(said, ["Skin", "Hand"])
    assert told.startswith("“Skin” conflicts with “Hand”, pin 2: they hold the same flesh, 0.278 m apart;")


# wires ---------------------------------------------------------------------------------------------------------------


def test_lattice_wires_of_cells():
    """A tetrahedron, a prism and a cube give 6, 9 and 12 edges."""
    for corners, count in ((4, 6), (6, 9), (8, 12)):
        lines, bones = wires.lattice_wires([list(range(corners))], [])
        assert len(lines) == count and len(bones) == 0
        valence = np.bincount(lines.ravel(), minlength=corners)
        assert (valence == 3).all()


def test_lattice_wires_separate_bones():
    """Edges along bones are listed once and apart from the other edges."""
    lines, bones = wires.lattice_wires([[0, 1, 2, 3], [1, 2, 3, 4]], [[0, 1, 2], [2, 1]])
    assert sorted(map(tuple, bones)) == [(0, 1), (1, 2)]
    assert len(lines) == 9 - 2
    assert not {tuple(e) for e in lines} & {tuple(e) for e in bones}


# tasks ---------------------------------------------------------------------------------------------------------------


def example(log):
    """Builds a task with Blender work, native work, and something to put back."""
    log.append("start")
    try:
        yield tasks.Progress(0.1, "reading")
        log.append("read")

        def report_stages(progress):
            for i in range(5):
                if not progress(i / 5, "stage"):
                    raise RuntimeError("cancelled inside")
            return threading.current_thread() is threading.main_thread()

        on_main = yield tasks.Work("solving", report_stages, 0.2, 0.8)
        log.append(on_main)
        yield tasks.Progress(0.9, "writing")
        return "done"
    finally:
        log.append("put back")


def test_task_finishes():
    """A task runs to its end with progress that never falls."""
    log, seen = [], []
    result = tasks.finish(example(log), lambda fraction, text: seen.append((fraction, text)) or True)
    assert result == "done" and log == ["start", "read", True, "put back"]
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions) and fractions[1:6] == pytest.approx([0.2, 0.32, 0.44, 0.56, 0.68])


@pytest.mark.parametrize("steps", range(1, 8))
def test_task_cancel_puts_back(steps):
    """A task cancelled at any step restores what it changed."""
    log, seen = [], []
    with pytest.raises(errors.Cancelled):
        tasks.finish(example(log), lambda *what: seen.append(what) or len(seen) < steps)
    assert log[-1] == "put back" and len(seen) == steps


def test_span_scales_progress():
    """A span scales the progress of its task, and passes on its result and a cancellation."""

    def outer(log):
        first = yield from tasks.span(example(log), 0.0, 0.5)
        second = yield from tasks.span(example(log), 0.5, 1.0)
        return first, second

    log, fractions = [], []
    assert tasks.finish(outer(log), lambda fraction, _: fractions.append(fraction) or True) == ("done", "done")
    assert (
        fractions == sorted(fractions) and fractions[0] == pytest.approx(0.05) and fractions[-1] == pytest.approx(0.95)
    )
    log.clear()
    with pytest.raises(errors.Cancelled):
        tasks.finish(outer(log), lambda fraction, _: fraction < 0.6)
    assert log.count("put back") == 2


def test_task_error_puts_back():
    """An error in native work restores what the task changed."""
    log = []

    def fail_in_work():
        try:
            yield tasks.Work("solving", lambda progress: 1 / 0)
        finally:
            log.append("put back")

    with pytest.raises(ZeroDivisionError):
        tasks.finish(fail_in_work())
    assert log == ["put back"]


def advance(stepper):
    for _ in range(100000):
        if stepper.advance():
            return
    raise AssertionError("never done")


def test_stepper_uses_thread():
    """A stepper runs native work in a thread and the rest in the main thread."""
    log = []
    stepper = tasks.Stepper(example(log))
    advance(stepper)
    assert stepper.result == "done" and stepper.error is None
    assert log == ["start", "read", False, "put back"]


def test_stepper_cancel_puts_back():
    """A stepper cancelled after any step restores what its task changed."""
    for after in range(4):
        log = []
        stepper = tasks.Stepper(example(log))
        for _ in range(after):
            stepper.advance()
        stepper.cancel()
        advance(stepper)
        assert isinstance(stepper.error, errors.Cancelled)
        assert not log or (log[-1] == "put back" and "done" not in log)


def test_bar_counts_what_is_done():
    """The bar never goes back, whatever a task leaves out; a task that does its last fifth alone fills the bar from 0 to 1 with it."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        edges = np.sort(rng.random(12)).reshape(6, 2)
        done = edges[rng.random(6) < 0.6]
        if not len(done):
            continue
        bar, seen = tasks.Bar(), []
        for start, end in done:
            bar.begin(start)
            seen.append(bar.shown)
            for at in np.sort(np.append(rng.uniform(0.0, end, 4), end)):  # a call may report less than before
                bar.reach(at)
                seen.append(bar.shown)
        assert seen == sorted(seen) and seen[0] == 0.0 and seen[-1] <= 1.0

    def last_fifth():
        yield tasks.Work("simulating", lambda progress: [progress(at, "") for at in (0.5, 1.0)], 0.8, 1.0)

    stepper = tasks.Stepper(last_fifth())
    advance(stepper)
    assert stepper.bar.shown == pytest.approx(1.0)


def test_stepper_close_waits():
    """A closed stepper stops its thread and waits for it."""
    started, log = threading.Event(), []

    def wait_and_notice(progress):
        started.set()
        while progress(0.5, "working"):
            pass
        log.append("noticed")

    def task():
        yield tasks.Work("working", wait_and_notice)

    stepper = tasks.Stepper(task())
    stepper.advance()
    assert started.wait(10.0)
    stepper.close()
    assert log == ["noticed"] and stepper.done


def test_lattice_defects_in_an_artists_words():
    """Numbers of cells and conditions are the core's; the artist reads in how many places the lattice does not fit, and what to do."""
    assert sentences.lattice_defects([]) == []
    (text,) = sentences.lattice_defects(
        ["condition 3: the flesh goes on beyond the free face [3, 36, 38] of cell 191"] * 2
    )
    assert "2 places" in text and "raise Detail" in text and "191" not in text
