# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that were damaged or forged: a sentence says what is wrong, and Remove always works."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import activate, animate, evaluated_positions, make_character, part, play, refusal

NAN = float("nan")


def saved_settings(obj, *path):
    """Returns the numbers of our settings as a file holds them, past the ranges that Blender keeps where they are set."""
    group = obj.bl_system_properties_get()["thew"] if hasattr(obj, "bl_system_properties_get") else obj["thew"]
    for name in path:
        group = group[name]
    return group


def forge(obj, tmp_path, path, name, value) -> bpy.types.Object:
    """Saves the file with another number in it, opens it again, and returns the object."""
    saved_settings(obj, *path)[name] = value
    file = str(tmp_path / "forged.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    obj = bpy.data.objects["Body"]
    activate(obj)
    return obj


@pytest.fixture
def body(scene):
    body, rig = make_character()
    animate(rig)
    play(body, (1, 2))
    bpy.ops.thew.add(cells_across=6)
    bpy.ops.thew.simulate()
    for name in (
        "real_height",
        "frame_start",
        "softness",
        "rate",
        "contact_friction",
        "contact_thickness",
    ):  # so that the file holds them
        setattr(body.thew, name, getattr(body.thew, name) + 1)
        setattr(body.thew, name, getattr(body.thew, name) - 1)
    return body


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("real_height", NAN, "“Real Size in Metres”"),
        ("real_height", 1e30, "“Real Size in Metres”"),
        ("softness", NAN, "“Softness”"),
        ("softness", -7.0, "“Softness”"),
        ("rate", 1e30, "“Steps per Second”"),
        ("contact_friction", NAN, "“Friction”"),
        ("contact_thickness", -1.0, "“Thickness”"),
        ("frame_start", -(2**31), "“Start”"),
        ("frame_start", 2**31 - 1, "“Start”"),
    ],
)
def test_setting_out_of_range(body, tmp_path, name, value, said):
    """A setting that is out of range is named, and Remove works."""
    body = forge(body, tmp_path, (), name, value)
    text = refusal(bpy.ops.thew.simulate)
    assert said in text and "“Body”" in text and "Traceback" not in text
    plain = evaluated_positions(body)
    assert np.isfinite(plain).all()
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert not body.thew.made.flesh and [m.type for m in body.modifiers] == ["ARMATURE"]
    assert np.isfinite(evaluated_positions(body)).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("found", "7:8 nonsense 9:x:1 :::"),
        ("found_active", -(2**31)),
        ("longest_side", NAN),
        ("guessed_height", float("inf")),
        ("mesh_rest", [NAN] * 16),
        ("armature_rest", [0.0] * 16),
        ("baked_keys", "\n\nno such key\n"),
        ("baked_start", 2**31 - 1),
        ("modifier", -5),
        ("armature_modifier", 12345),
    ],
)
def test_remove_forged_bookkeeping(body, tmp_path, name, value):
    """Remove works whatever the saved bookkeeping holds."""
    body = forge(body, tmp_path, ("made",), name, value)
    bpy.context.scene.frame_set(5)
    assert np.isfinite(evaluated_positions(body)).all()
    try:
        bpy.ops.thew.simulate()
    except RuntimeError as error:
        said = str(error)
        assert "Traceback" not in said and "unforeseen" not in said
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert not body.thew.made.flesh
    assert not [m for m in body.modifiers if m.type == "NODES"] or name == "modifier"
    assert not [a.name for a in body.data.attributes if a.name in part("scene.offsets").ATTRIBUTES]
    assert bpy.ops.thew.add(cells_across=6) == {"FINISHED"}
    assert np.isfinite(play(body, (1, 5, 9))).all()
