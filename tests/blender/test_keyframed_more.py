# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframed flesh: kinds of keys, velocities, cuts, fixed parts, sculpts calmed and modelled, bad input, panel, overlay, command."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import (
    Layout,
    activate,
    evaluated_positions,
    make_character,
    part,
    play,
    refusal,
    settings,
    size_of,
    snapshot,
)
from keyframing import SHAPES, add_shapes, drag, make_nodder, make_sack, motion_of, sculpt, times

FRAMES = range(1, 21)


@pytest.fixture
def sack(scene):
    obj = make_sack()
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    return obj


def distance_to_key(obj, name, frame) -> float:
    """Returns the largest distance of the mesh from a shape key at a frame."""
    return float(np.abs(play(obj, (frame,))[0] - sculpt(obj, name)).max())


def add_group(obj, name, which) -> np.ndarray:
    """Adds a vertex group of the vertices for which `which(co)` holds, and returns which those are."""
    chosen = [v.index for v in obj.data.vertices if which(v.co)]
    (obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)).add(chosen, 1.0, "REPLACE")
    return np.isin(np.arange(len(obj.data.vertices)), chosen)


# kinds ----------------------------------------------------------------------------------------------------------------


def test_key_approximate(sack):
    """An approximate key pulls more with more weight."""
    key = sack.thew.keyframed.keyframes[1]
    free = []
    for weight in (1e-3, 1.0, 1e3):
        key.kind, key.weight = "NEAR", weight
        free.append(distance_to_key(sack, "Squash", 10))
    assert free[0] > 1.2 * free[1] > 1.2 * free[2] and free[2] < 0.05 * free[0]
    key.kind = "EXACT"
    assert distance_to_key(sack, "Squash", 10) < 1e-4


def test_key_of_group(sack):
    """A key of a vertex group is reached by that group alone."""
    top = add_group(sack, "Top", lambda co: co.z > 1.9)
    key = sack.thew.keyframed.keyframes[1]
    key.group = "Top"
    key.kind = "GROUP"
    shape = play(sack, (10,))[0]
    wanted = sculpt(sack, "Squash")
    assert np.abs(shape - wanted)[top].max() < 1e-3 < np.abs(shape - wanted)[~top].max()


# velocities and cuts --------------------------------------------------------------------------------------------------


def speed_at(obj, frame, step=0.05, side=0) -> np.ndarray:
    """Returns the velocities around a frame, per second."""
    scene, shapes = bpy.context.scene, []
    for at in (frame - step * (side <= 0), frame + step * (side >= 0)):
        scene.frame_set(int(np.floor(at)), subframe=at - np.floor(at))
        shapes.append(evaluated_positions(obj).astype(np.float64))
    return (shapes[1] - shapes[0]) * 24.0 / (step * (1 + (side == 0)))


def test_velocity_kinds(sack):
    """Each kind of velocity gives the speed that it names."""
    key = sack.thew.keyframed.keyframes[1]
    free = speed_at(sack, 10)
    key.velocity = "ZERO"
    assert np.abs(speed_at(sack, 10)).max() < 0.1 * np.abs(free).max()
    key.arrow, key.velocity = (0.0, 3.0, 0.0), "ARROW"
    np.testing.assert_allclose(speed_at(sack, 10), np.broadcast_to((0.0, 3.0, 0.0), free.shape), atol=0.3)
    key.velocity = "NEIGHBOURS"
    mean = (sculpt(sack, "Twist") - sculpt(sack, "Lean")) / (19 / 24)
    np.testing.assert_allclose(speed_at(sack, 10), mean, atol=0.1 * np.abs(mean).max())
    key.velocity = "FREE"
    np.testing.assert_allclose(speed_at(sack, 10), free, atol=1e-3 * np.abs(free).max())


def test_velocity_default_ends(sack):
    """The two end keys are at rest by default."""
    keys = sack.thew.keyframed.keyframes
    assert [key.velocity for key in keys] == ["ZERO", "FREE", "ZERO"]
    inside = np.abs(speed_at(sack, 5)).max()
    # A sculpt that is strained lets go at once: at rest it is for a moment.
    assert np.abs(speed_at(sack, 1, step=0.002, side=1)).max() < 0.15 * inside


def test_velocity_from_neighbours(sack):
    """The velocity's button takes the arrow from the neighbours, or the arrow given to it."""
    assert bpy.ops.thew.keyframed_velocity(index=1) == {"FINISHED"}
    key = sack.thew.keyframed.keyframes[1]
    mean = (sculpt(sack, "Twist") - sculpt(sack, "Lean")).mean(axis=0) / (19 / 24)
    np.testing.assert_allclose(key.arrow, mean, rtol=1e-4, atol=1e-5)
    assert key.velocity == "ARROW"
    assert "is not a cut" in refusal(bpy.ops.thew.keyframed_velocity, index=1, leaving=True)
    assert bpy.ops.thew.keyframed_velocity(index=1, arrow=(1.0, 2.0, 3.0)) == {"FINISHED"}
    assert tuple(key.arrow) == (1.0, 2.0, 3.0)


def test_cut_velocities(sack):
    """A cut has a velocity of arrival and one of leaving."""
    key = sack.thew.keyframed.keyframes[1]
    key.cut = True
    key.arrow, key.velocity = (0.0, 0.0, -4.0), "ARROW"
    key.leaving_arrow, key.leaving = (0.0, 0.0, 2.0), "ARROW"
    assert distance_to_key(sack, "Squash", 10) < 1e-4
    assert len(motion_of(sack).parts) == 2
    np.testing.assert_allclose(speed_at(sack, 10, 0.02, -1).mean(axis=0), (0, 0, -4.0), atol=0.4)
    np.testing.assert_allclose(speed_at(sack, 10, 0.02, 1).mean(axis=0), (0, 0, 2.0), atol=0.4)
    assert np.isfinite(play(sack, FRAMES)).all()
    drag(sack, 1, 8.0)
    assert distance_to_key(sack, "Squash", 8) < 1e-4


def test_cut_fixed_group(scene):
    """A group that a cut holds fixed stays after it, and a note names keys that move a fixed group."""
    obj = make_sack(shapes={
        "Fall": lambda v: v + (0.0, 0.0, 1.0), "Land": lambda v: v,
        "Crouch": lambda v: np.c_[v[:, :2], v[:, 2] * np.where(v[:, 2] > 0.1, 0.8, 1.0)],
    })  # fmt: skip
    feet = add_group(obj, "Feet", lambda co: co.z < 0.1)
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    obj.thew.keyframed.keyframes[1].cut = True
    obj.thew.keyframed.keyframes[1].fixed = "Feet"
    shapes = play(obj, FRAMES)
    np.testing.assert_allclose(
        shapes[9:, feet], np.broadcast_to(sculpt(obj, "Land")[feet], shapes[9:, feet].shape), atol=1e-5
    )
    assert np.abs(shapes[:9, feet] - sculpt(obj, "Land")[feet]).max() > 0.1
    obj.thew.keyframed.fixed = "Feet"
    play(obj, (5,))
    assert "“Fall”" in obj.thew.made.notes or "“Land”" in obj.thew.made.notes
    assert "Feet" in obj.thew.made.notes


def test_arrow_drag_put_back(sack):
    """An arrow is drawn as with the mouse, and put back."""
    sack.location, sack.rotation_euler = (1.0, 2.0, 3.0), (0.0, 0.0, 1.5708)
    bpy.context.view_layer.update()
    sack.thew.keyframed.active = 1
    arrow = part("operators.keyframed_model").Arrow(sack, False)
    arrow.drag_to(arrow.start + (0.5, 0.0, 0.0))
    key = sack.thew.keyframed.keyframes[1]
    np.testing.assert_allclose(key.arrow, (0.0, -2.0, 0.0), atol=1e-4)
    assert key.velocity == "ARROW"
    ((lines, _, _),) = part("ui.keyframed_overlay").arrows(sack)
    np.testing.assert_allclose(lines[0, 1], arrow.start + (0.5, 0.0, 0.0), atol=1e-4)
    arrow.restore()
    assert key.velocity == "FREE" and tuple(key.arrow) == (0.0, 0.0, 0.0)


# sculpts --------------------------------------------------------------------------------------------------------------


def test_relax_lowers_energy(sack):
    """Relax Sculpt lowers the energy of one sculpt, more with a larger amount."""
    before, other = sculpt(sack, "Squash"), sculpt(sack, "Lean")
    assert bpy.ops.thew.keyframed_relax(index=1, amount=0.0) == {"FINISHED"}
    np.testing.assert_allclose(sculpt(sack, "Squash"), before, atol=1e-6)
    energies = []
    for amount in (0.2, 0.8):
        assert bpy.ops.thew.keyframed_relax(index=1, amount=amount) == {"FINISHED"}
        first, second = (float(part) for part in sack.thew.keyframed.keyframes[1].energy.split(" → "))
        assert second < first
        energies.append(second / first)
        sack.data.shape_keys.key_blocks["Squash"].data.foreach_set("co", before.ravel())
    assert energies[1] < energies[0]
    np.testing.assert_array_equal(sculpt(sack, "Lean"), other)
    assert bpy.ops.thew.keyframed_relax(index=1) == {"FINISHED"}  # as the panel has it
    assert distance_to_key(sack, "Squash", 10) < 1e-4  # the motion goes through what it has become


def test_relax_refuses_rest(scene):
    """Relax Sculpt is refused on the shape at rest."""
    obj = make_sack(shapes={"Lean": SHAPES["Lean"]})
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    assert [key.shape for key in obj.thew.keyframed.keyframes] == ["Basis", "Lean"]
    assert "at rest" in refusal(bpy.ops.thew.keyframed_relax, index=0)


def test_model_new_keyframe(sack):
    """Dragged points make a keyframe at the present time, or change the one that is there."""
    scene = bpy.context.scene
    scene.frame_set(5)
    before = evaluated_positions(sack)
    wanted = before[40] + (0.0, 0.4, 0.0)
    assert bpy.ops.thew.keyframed_model(points=f"[[40, {wanted.tolist()}]]") == {"FINISHED"}
    key = sack.thew.keyframed.keyframes[-1]
    assert key.shape == "Keyframe 5" and (5.0, 3) in times(sack)
    shape = play(sack, (5,))[0]
    np.testing.assert_allclose(shape, sculpt(sack, "Keyframe 5"), atol=1e-4)
    assert np.linalg.norm(shape[40] - wanted) < 0.1 and np.abs(shape - before).max() > 0.2
    # Once more at the same time: the sculpt itself.
    assert bpy.ops.thew.keyframed_model(points=f"[[40, {before[40].tolist()}]]") == {"FINISHED"}
    assert len(sack.thew.keyframed.keyframes) == 4


@pytest.mark.parametrize(
    ("points", "said"),
    [("", "Nothing"), ("[[1, 2]]", "not vertices and places"), ("{", "not JSON"), ("[[9999, [0, 0, 0]]]", "no vertex 9999"),
     ("[[1, [NaN, 0, 0]]]", "not a number"), ("[[1, [0, 0]]]", "three numbers")],
)  # fmt: skip
def test_model_refuses(sack, points, said):
    """Points that cannot be modelled are refused, and the object stays as it was."""
    before = snapshot(sack)
    assert said in refusal(bpy.ops.thew.keyframed_model, points=points)
    assert snapshot(sack) == before


def test_model_under_bones(scene):
    """A keyframe is modelled under a pose of bones as with the mouse, and put back."""
    body, _ = make_nodder()
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    scene.frame_set(6)
    modelling = part("edit.keyframe_modelling").KeyframeModel(body, scene)
    matrix = np.array(body.matrix_world)
    seen = evaluated_positions(body) @ matrix[:3, :3].T + matrix[:3, 3]
    np.testing.assert_allclose(modelling.world(), seen, atol=1e-4)
    target = seen[60] + (0.0, -0.1, 0.05)
    modelling.drag([(60, target)])
    assert np.linalg.norm(evaluated_positions(body)[60] - target) < 0.05
    modelling.restore()
    np.testing.assert_allclose(evaluated_positions(body), seen, atol=1e-4)


# bad input ------------------------------------------------------------------------------------------------------------


def broken_mesh(name):
    """Builds a mesh on which keyframed flesh is refused."""
    obj = make_sack()
    keys = obj.data.shape_keys.key_blocks
    if name == "no keys":
        obj.shape_key_clear()
    elif name == "nan":
        keys["Lean"].data[3].co.x = float("nan")
    elif name == "flat":
        keys["Lean"].data.foreach_set("co", np.zeros(3 * len(obj.data.vertices)))
    elif name == "absolute":
        obj.data.shape_keys.use_relative = False
    elif name == "shared":
        bpy.context.scene.collection.objects.link(bpy.data.objects.new("Twin", obj.data))
    elif name == "faceless":
        mesh = bpy.data.meshes.new("Points")
        mesh.from_pydata([(0, 0, 0), (1, 0, 0)], [(0, 1)], [])
        obj.shape_key_clear()
        obj.data = mesh
    elif name == "muted":
        for key in keys:
            key.mute = True
    elif name == "multires":
        obj.modifiers.new("Sculpted", "SOFT_BODY")
    return obj


@pytest.mark.parametrize(
    ("name", "said"),
    [("no keys", "no shape keys"), ("nan", "Vertex 3 of the shape key “Lean”"), ("flat", "is flat"), ("absolute", "Relative"),
     ("shared", "single user"), ("faceless", "no faces"), ("muted", "muted"), ("multires", "works on the mesh itself")],
)  # fmt: skip
def test_add_refuses_bad_mesh(scene, name, said):
    """A bad mesh is refused by name and left as it was."""
    obj = broken_mesh(name)
    activate(obj)
    before = snapshot(obj)
    text = refusal(bpy.ops.thew.keyframed_add)
    assert said in text and obj.name in text
    assert snapshot(obj) == before


def test_note_folded_sculpt(sack):
    """A note names a sculpt that folds onto itself."""
    shape = sculpt(sack, "Squash").copy()
    shape[45] = 1.5 * shape[55] - 0.5 * shape[45]  # over the next ring
    sack.data.shape_keys.key_blocks["Squash"].data.foreach_set("co", shape.ravel())
    assert bpy.ops.thew.keyframed_compute() == {"FINISHED"}
    assert "“Squash” of “Sack” folds onto itself" in sack.thew.made.notes
    assert np.isfinite(play(sack, FRAMES)).all()


def test_list_missing_names(sack):
    """A note names a missing shape key or vertex group, and the last motion stays."""
    before = play(sack, (5,))[0]
    sack.thew.keyframed.keyframes[1].shape = "Gone"
    assert "no shape key “Gone”" in sack.thew.made.notes
    np.testing.assert_array_equal(play(sack, (5,))[0], before)
    sack.thew.keyframed.keyframes[1].shape = "Squash"
    sack.thew.keyframed.fixed = "Nobody"
    assert "no vertex group “Nobody”" in sack.thew.made.notes
    sack.thew.keyframed.fixed = ""
    assert not sack.thew.made.notes
    while len(sack.thew.keyframed.keyframes) > 1:
        assert bpy.ops.thew.keyframed_key_remove(index=0) == {"FINISHED"}
    assert "needs two" in sack.thew.made.notes
    assert bpy.ops.thew.keyframed_key_remove(index=0) == {"FINISHED"}
    assert "no keys" in refusal(bpy.ops.thew.keyframed_key_remove)


def test_compute_refuses_nan(sack):
    """Compute refuses a setting that is not a number."""
    sack.thew.keyframed["stiffness"] = float("nan") if bpy.app.version < (5, 0) else -1.0
    if bpy.app.version < (5, 0):
        assert "Stiffness" in refusal(bpy.ops.thew.keyframed_compute)


def test_mesh_subdivided(sack):
    """The flesh follows a mesh whose number of vertices changed."""
    import bmesh

    mesh = bmesh.new()
    mesh.from_mesh(sack.data)
    bmesh.ops.subdivide_edges(mesh, edges=mesh.edges[:], cuts=1, use_grid_fill=True)
    mesh.to_mesh(sack.data)
    mesh.free()
    shapes = play(sack, FRAMES)
    assert shapes.shape[1] == len(sack.data.vertices) and np.isfinite(shapes).all()
    assert distance_to_key(sack, "Squash", 10) < 1e-4


def test_mesh_loose_doubled(scene):
    """Loose and doubled vertices are named in the note, and doubled ones stay together."""
    obj = make_sack()
    obj.shape_key_clear()
    import bmesh

    mesh = bmesh.new()
    mesh.from_mesh(obj.data)
    bmesh.ops.split_edges(mesh, edges=[edge for edge in mesh.edges if edge.is_manifold][::3])
    mesh.verts.new((2.0, 0.0, 0.0))
    mesh.to_mesh(obj.data)
    mesh.free()
    obj.data.update()
    add_shapes(obj, SHAPES)
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    assert "loose" in obj.thew.made.notes and "doubled" in obj.thew.made.notes
    shapes = play(obj, FRAMES)
    for name, frame in (("Lean", 1), ("Squash", 10), ("Twist", 20)):
        assert np.abs(shapes[frame - 1] - sculpt(obj, name)).max() < 1e-4
    welded = motion_of(obj).surface.welded
    twins = welded.point[:, None] == welded.point[None]
    first, second = np.argwhere(np.triu(twins, 1) & (welded.point[:, None] >= 0))[0]
    np.testing.assert_allclose(shapes[:, first], shapes[:, second], atol=1e-6)


# what is seen ---------------------------------------------------------------------------------------------------------


def test_panel_states(scene):
    """The panel draws in every state."""
    panels, target = part("ui.keyframed_panel"), part("live.target")

    def panel_text(obj) -> str:
        layout = Layout()
        if bpy.types.THEW_PT_keyframed_sidebar.poll(bpy.context):
            panels.draw_keyframed(layout, bpy.context, obj, 60)
        return " ".join(layout.read())

    obj = make_sack()
    assert target.target_mesh(bpy.context) == obj and "3 shape keys" in panel_text(obj)
    assert bpy.ops.thew.keyframed_add() == {"FINISHED"}
    text = panel_text(obj)
    for name in (
        "stiffness",
        "slow_damping",
        "fast_damping",
        "gravity",
        "speed",
        "cyclic",
        "velocity",
        "kind",
        "cut",
        "relax",
    ):
        assert f"[{name}]" in text
    assert "Frames 1 to 20" in text
    key = obj.thew.keyframed.keyframes[0]
    for kind in ("NEAR", "GROUP"):
        key.kind = kind
        assert f"[{'weight' if kind == 'NEAR' else 'kind'}]" in panel_text(obj)
    key.kind, key.cut, key.leaving = "EXACT", True, "ARROW"
    assert "[leaving_arrow]" in panel_text(obj)
    drag(obj, 1, 20.0, held=True)
    play(obj, (4,))
    assert "drag one of them" in panel_text(obj)
    drag(obj, 1, 9.0)
    play(obj, (4,))
    assert bpy.ops.thew.keyframed_bake() == {"FINISHED"} and "Plays its bake" in panel_text(obj)
    obj.thew.enabled = False
    assert "Off" in panel_text(obj)
    make_character()
    assert panel_text(bpy.context.object) == ""  # no shape keys


def test_settings_described(scene):
    """Every setting has a description without a full stop."""
    saved = part("saved.keyframed")
    for cls in saved.CLASSES:
        for item in cls.bl_rna.properties:
            if item.identifier not in {"rna_type", "name"}:
                assert item.description and not item.description.endswith("."), item.identifier


def test_relax_keeps_fixed(sack):
    """Relax Sculpt leaves vertices that a cut holds fixed."""
    keys = sack.thew.keyframed.keyframes
    below = [v.index for v in sack.data.vertices if v.co.z < 0.1]
    sack.vertex_groups.new(name="Feet").add(below, 1.0, "REPLACE")
    assert keys[1].leaving == "ZERO"  # a start that is free may be absurdly fast
    keys[1].cut, keys[1].fixed = True, "Feet"
    held = part("edit.keyframing").fixed_groups
    assert [held(sack, key.shape) for key in keys] == [[], ["Feet"], ["Feet"]]
    before = {name: sculpt(sack, name) for name in ("Squash", "Twist", "Lean")}
    for place in range(3):
        assert bpy.ops.thew.keyframed_relax(index=place, amount=0.5) == {"FINISHED"}
    moved = {name: np.abs(sculpt(sack, name) - before[name])[below].max() for name in before}
    assert moved["Squash"] == 0.0 and moved["Twist"] == 0.0 and moved["Lean"] > 1e-4


def test_overlay_curves(sack):
    """The overlay draws finite curves that meet the plain curves at the keys, and arrows from the shape."""
    overlay = part("ui.keyframed_overlay")
    drawn = overlay.curves(sack, 5.0)
    assert len(drawn) > 3 and all(np.isfinite(lines).all() and lines.shape[1:] == (2, 2) for lines, _, _ in drawn)
    frames, ours, plain = motion_of(sack).curves(4)
    at_keys = [int(np.argmin(abs(frames - f))) for f in (1, 20)]
    np.testing.assert_allclose(ours[at_keys], plain[at_keys], atol=1e-4)
    assert np.abs(ours - plain).max() > 1e-3
    assert overlay.arrows(sack) == []
    assert bpy.ops.thew.keyframed_velocity(index=1) == {"FINISHED"}
    sack.thew.keyframed.active = 1
    ((lines, _, _),) = overlay.arrows(sack)
    np.testing.assert_allclose(lines[0, 0], sculpt(sack, "Squash").mean(axis=0), atol=1e-5)


# without a window -----------------------------------------------------------------------------------------------------


def test_command_bakes_keyframed(sack, tmp_path, capsys):
    """The command bakes keyframed flesh, and refuses to export it as a shot."""
    live = play(sack, FRAMES)
    path, out = str(tmp_path / "sack.blend"), str(tmp_path / "out.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    run = part("cli").main
    assert run(["bake", path, "--out", out]) == 0
    said = capsys.readouterr().out
    assert "Sack: 3 keyframes" in said and "20 keys of flesh alone" in said
    bpy.ops.wm.open_mainfile(filepath=out)
    assert np.abs(play(bpy.data.objects["Sack"], FRAMES) - live).max() < 1e-5 * size_of(live[0])
    assert run(["bake", path, "--object", "Sack", "--frames", "5", "9", "--finish", "--out", out]) == 0
    bpy.ops.wm.open_mainfile(filepath=out)
    sack = bpy.data.objects["Sack"]
    assert not sack.modifiers and not settings(sack)["made.keyframed"]
    assert np.abs(play(sack, range(5, 10)) - live[4:9]).max() < 1e-5 * size_of(live[0])
    assert run(["export", path, "--out", str(tmp_path)]) == 1
    assert "bake it" in capsys.readouterr().out


class Probe(bpy.types.RenderEngine):
    """Draws nothing, and records the vertices that it is given to draw."""

    bl_idname = "THEW_KEYFRAMED_PROBE"
    bl_label = "Probe"
    seen: list = []

    def render(self, depsgraph):
        for obj in depsgraph.objects:
            if obj.name == "Sack":
                flat = np.empty(3 * len(obj.data.vertices), dtype=np.float32)
                obj.data.attributes["position"].data.foreach_get("vector", flat)
                self.seen.append(flat.reshape(-1, 3).copy())


def test_render_shows_motion(sack, tmp_path):
    """A render shows the motion that was played, and never plain curves."""
    scene = bpy.context.scene
    bpy.utils.register_class(Probe)
    Probe.seen.clear()
    try:
        played = play(sack, FRAMES)
        camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        scene.collection.objects.link(camera)
        scene.camera, scene.render.engine = camera, Probe.bl_idname
        scene.render.resolution_x = scene.render.resolution_y = 8
        scene.render.filepath = str(tmp_path / "frame-")
        sack.thew.keyframed.plain = True
        scene.frame_set(11)
        bpy.ops.render.render(animation=True)
    finally:
        bpy.utils.unregister_class(Probe)
    np.testing.assert_array_equal(np.array(Probe.seen), played)
    assert np.abs(play(sack, FRAMES) - played).max() > 1e-3  # in the view they are compared


def test_panel_refused_compute(addon):
    """The panel shows a refused Compute at once."""
    sack = make_sack()
    assert bpy.ops.thew.keyframed_add(frame_start=1, frame_end=20) == {"FINISHED"}
    health, known = part("ui.keyframed_panel").health, part("live.keyframed").register.known_state(sack)
    assert health(sack, known)[0] == "GOOD"
    before = play(sack, [8])
    everything = sack.vertex_groups.new(name="All")
    everything.add(list(range(len(sack.data.vertices))), 1.0, "REPLACE")
    sack.thew.keyframed.fixed = "All"
    said = refusal(bpy.ops.thew.keyframed_compute)
    level, text = health(sack, known)
    assert level == "ERROR" and text.rstrip(".") in said
    sack.thew.keyframed.fixed = ""
    assert bpy.ops.thew.keyframed_compute() == {"FINISHED"} and health(sack, known)[0] == "GOOD"
    assert np.abs(play(sack, [8]) - before).max() < 1e-6
