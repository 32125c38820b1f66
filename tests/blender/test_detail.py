# SPDX-License-Identifier: GPL-3.0-or-later
"""Fine Detail and Adaptive: live, undone, saved, refused and told."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import evaluated_positions, flesh_of, part, play

FRAMES = (3, 8, 14)


def simulate(body, **values) -> np.ndarray:
    """Simulates with settings; returns the shapes at some frames."""
    for name, value in values.items():
        setattr(body.thew, name, value)
    bpy.ops.thew.simulate()
    return play(body, FRAMES)


@pytest.fixture
def body(fleshed_character):
    """Returns a character with flesh whose steps are cheap."""
    body = fleshed_character[0] if isinstance(fleshed_character, tuple) else fleshed_character
    body.thew.rate = 48.0
    return body


def test_fine_detail_changes_flesh(body):
    """Each level adds functions; without them the former flesh is back, bit for bit."""
    plain = simulate(body)
    coarse = flesh_of(body).body.node_count
    fine = simulate(body, levels=1)
    flesh = flesh_of(body)
    assert flesh.body.basis_levels == 1 and flesh.body.node_count > 2 * coarse
    assert np.abs(fine - plain).max() > 1e-5
    assert f"lets {flesh.body.node_count - coarse} more points of the flesh move" in body.thew.made.notes
    np.testing.assert_array_equal(simulate(body, levels=0), plain)
    assert "more points" not in body.thew.made.notes


def test_adaptive_acts_in_part(body):
    """With Adaptive a part of the functions acts, the shape is nearly the same, and the notes say how many act."""
    fine = simulate(body, levels=1)
    adapted = simulate(body, adaptive=True)
    flesh = flesh_of(body)
    active = np.asarray(flesh.clip.active_functions)
    assert flesh.clip.settings.adapt == "strain" and active.min() < flesh.body.node_count
    assert np.abs(adapted - fine).max() < 0.01 * np.ptp(fine, axis=(0, 1)).max()
    assert "of them in a frame" in body.thew.made.notes
    np.testing.assert_array_equal(simulate(body, adaptive=False), fine)


def test_adaptive_follows_rigs(body):
    """With Adapt to Rigs the functions act that a sculpted rig needs, in the clip and at rest; without rigs none."""
    simulate(body, levels=1, adaptive=True, adapt_to="RIGS")
    flesh = flesh_of(body)
    coarse = len(flesh.lattice.vertices)
    assert flesh.clip.settings.adapt == "rigs"
    assert (np.asarray(flesh.clip.active_functions) == coarse).all()
    body.shape_key_add(name="Basis")
    key = body.shape_key_add(name="Swell")
    rest = np.array([v.co for v in body.data.vertices])
    away = np.linalg.norm(rest - rest[rest[:, 1].argmin()], axis=1)
    offsets = 0.04 * np.exp(-((away / 0.08) ** 2))[:, None] * [0.0, -1.0, 0.0]
    key.points.foreach_set("co", (rest + offsets).astype(np.float32).ravel())
    body.active_shape_key_index = 1
    bpy.context.scene.frame_set(FRAMES[0])
    assert bpy.ops.thew.rig_from_shape(driven=False) == {"FINISHED"}
    shown = simulate(body)
    flesh = flesh_of(body)
    (native,) = flesh.pushing.natives.values()
    own = native.functions(flesh.body)
    assert coarse < own.sum() < flesh.body.node_count
    assert (np.asarray(flesh.clip.active_functions) == own.sum()).all()
    assert "of them in a frame" in body.thew.made.notes
    fine = simulate(body, adaptive=False)
    assert np.abs(shown - fine).max() < 0.02
    # At rest the same functions act.
    simulate(body, adaptive=True)
    forces = part("live.rig_actions").forces(flesh_of(body), body, None, settled=True)
    np.testing.assert_array_equal(forces.any(axis=1) & ~own, False)
    np.testing.assert_array_equal(flesh_of(body).pushing.functions(), own)
    assert (part("live.rig_actions").forces(flesh_of(body), body, None).any(axis=1) & ~own).any()


def test_overlay_shows_acting_functions(body):
    """The overlay has a point for each function that acts, in the colour of its level, within the flesh and moved along with it."""
    overlay, logic = part("ui.overlay"), part("logic.fine_detail")
    simulate(body)
    assert overlay.function_drawings(flesh_of(body), 8) == []
    simulate(body, levels=1, adaptive=True)
    flesh = flesh_of(body)
    coarse = len(flesh.lattice.vertices)
    active = np.asarray(flesh.clip.active_functions) - coarse
    shown = []
    for frame in FRAMES:
        drawings = overlay.function_drawings(flesh, frame)
        shown.append(sum(len(points) for points, _, _ in drawings))
        assert [colour for _, colour, _ in drawings] == list(overlay.FUNCTION_COLOURS[: len(drawings)])
        nodes = flesh.lattice_positions(frame)[:coarse]
        for points, _, _ in drawings:
            assert (points >= nodes.min(axis=0) - 1e-4).all() and (points <= nodes.max(axis=0) + 1e-4).all()
        # All that act, and those that fade.
        assert active[flesh.index_at(frame)] <= shown[-1] <= flesh.body.node_count - coarse
    assert max(shown) > 0
    nodes = np.zeros((flesh.body.node_count, 3))
    assert [len(of) for of in logic.acting_functions(flesh.body, nodes)] == [0]
    nodes[[0, coarse + 5], 2] = 1.0
    assert [of.tolist() for of in logic.acting_functions(flesh.body, nodes)] == [[5]]
    # At rest each place is that of its function.
    centres = np.asarray(flesh.body.node_centres)[coarse:]
    resting = overlay.function_places(flesh, np.asarray(flesh.lattice.vertices))
    np.testing.assert_allclose(resting, centres, atol=1e-6)


def test_undo_redo_fine_detail(body):
    """Undo and redo of Fine Detail and Adaptive show the flesh of the settings that they bring back."""
    name = body.name
    states = [(0, False), (1, False), (1, True)]
    shown = []
    for levels, adaptive in states:
        shown.append(simulate(body, levels=levels, adaptive=adaptive))
        bpy.ops.ed.undo_push(message=f"{levels} {adaptive}")
    for step, state in ((bpy.ops.ed.undo, 1), (bpy.ops.ed.undo, 0), (bpy.ops.ed.redo, 1), (bpy.ops.ed.redo, 2)):
        step()
        again = bpy.data.objects[name]
        assert (again.thew.levels, again.thew.adaptive) == states[state]
        np.testing.assert_array_equal(play(again, FRAMES), shown[state])


def test_settings_kept_in_file(body, tmp_path):
    """Levels and Adaptive are saved, and the flesh of the file shows the same."""
    shown = simulate(body, levels=1, adaptive=True)
    name = body.name
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "file.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "file.blend"))
    again = bpy.data.objects[name]
    assert (again.thew.levels, again.thew.adaptive) == (1, True)
    np.testing.assert_array_equal(simulate(again), shown)


def test_too_much_is_refused(body):
    """Levels that would take too much memory are refused in a sentence with the remedy, and the former flesh stays."""
    shown = simulate(body)
    fine_detail = part("logic.fine_detail")
    limit, fine_detail.MAX_BYTES = fine_detail.MAX_BYTES, fine_detail.memory(flesh_of(body).lattice.cells, 2)
    body.thew.levels = 3
    try:
        with pytest.raises(RuntimeError, match=r"Set Fine Detail to 2, or lower Detail: 3 would take about \d+ GB"):
            bpy.ops.thew.simulate()
    finally:
        fine_detail.MAX_BYTES = limit
    assert flesh_of(body).body.basis_levels == 0
    np.testing.assert_array_equal(simulate(body, levels=0), shown)


def test_long_frames_are_refused(body):
    """Levels with which a frame would take minutes are refused before the body is built."""
    fine_detail = part("logic.fine_detail")
    cells = [[0, 1, 2, 3]] * 1000
    assert fine_detail.refusal(cells, 1, 10.0) == ""
    assert fine_detail.frame_seconds(cells, 2, 10.0) == pytest.approx(8.0 * fine_detail.frame_seconds(cells, 1, 10.0))
    simulate(body, levels=1)
    assert "a frame takes about" not in body.thew.made.notes
    cells, steps = flesh_of(body).lattice.cells, flesh_of(body).build_settings.steps
    limit, fine_detail.MAX_FRAME = fine_detail.MAX_FRAME, fine_detail.frame_seconds(cells, 1, steps)
    body.thew.levels = 2
    try:
        with pytest.raises(
            RuntimeError, match=r"Set Fine Detail to 1, or lower Detail: 2 would take about [\d.]+ minutes a frame"
        ):
            bpy.ops.thew.simulate()
    finally:
        fine_detail.MAX_FRAME = limit


def test_modal_flesh_has_fine_detail(body):
    """Vibration modes are those of all functions."""
    body.thew.method = "modal"
    plain = simulate(body)
    fine = simulate(body, levels=1)
    assert (
        flesh_of(body).body.basis_levels == 1 and flesh_of(body).modes.shapes.shape[1] == flesh_of(body).body.node_count
    )
    assert np.isfinite(fine).all() and np.abs(fine - plain).max() > 1e-5


def test_bake_shows_the_same(body):
    """A bake has the shapes of the live flesh."""
    shown = simulate(body, levels=1, adaptive=True)
    bpy.ops.thew.bake()
    baked = play(body, FRAMES, evaluated_positions)
    np.testing.assert_allclose(baked, shown, atol=1e-5)


def test_memory_follows_levels():
    """The estimate grows about tenfold with each level, and the refusal names the largest level that fits."""
    fine_detail = part("logic.fine_detail")
    cells = [[0, 1, 2, 3]] * 1000
    sizes = [fine_detail.memory(cells, levels) for levels in range(4)]
    assert sizes[0] == 0.0 and 8.0 < sizes[2] / sizes[1] < 24.0 and 8.0 < sizes[3] / sizes[2] < 24.0
    assert fine_detail.refusal(cells, 2) == "" and "Set Fine Detail to 2" in fine_detail.refusal(cells, 3)


def test_overlay_points_shrink_where_many_act(body, monkeypatch):
    """Where many functions act their points are small, so that the body stays in sight."""
    overlay = part("ui.overlay")
    simulate(body, levels=1)

    def sizes():
        return [size for _, _, size in overlay.function_drawings(flesh_of(body), 8)]

    monkeypatch.setattr(overlay, "MANY_POINTS", 10**9)
    usual = sizes()
    monkeypatch.setattr(overlay, "MANY_POINTS", 1)
    assert usual == list(overlay.FUNCTION_SIZES[:1]) and sizes() == [overlay.SMALL_SHARE * usual[0]]
