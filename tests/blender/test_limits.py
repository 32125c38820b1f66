# SPDX-License-Identifier: GPL-3.0-or-later
"""Folded flesh that the panel lays on Detail: cells that the motion turns over, not those that a pose folds by itself."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from helpers import flesh_of, make_character, make_folding, part, play

CELLS = 6
#: By which a character has folded up: in two seconds, as slowly as muscle would, so that its flesh keeps up.
LAST = 48


def line(body) -> str:
    """Returns what the panel says of the flesh."""
    return part("logic.health").health(body.thew, body.thew.made, flesh_of(body), 1).text


@pytest.fixture
def folded_character(scene):
    """Builds a character that bends upon itself, slowly enough that its flesh follows."""
    scene.frame_end = LAST
    body, _ = make_folding(angle=2.2, last=LAST)
    body.thew.elastic_joints = 0.0
    assert bpy.ops.thew.add(cells_across=CELLS) == {"FINISHED"}
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return body


@pytest.fixture
def struck_character(scene):
    """Builds a character that jerks in one frame."""
    body, rig = make_character()
    assert bpy.ops.thew.add(cells_across=CELLS) == {"FINISHED"}
    spine = rig.pose.bones["Spine"]
    spine.rotation_euler.x = 0.5
    spine.keyframe_insert("rotation_euler", frame=10)
    for frame in (10, 11):  # not a cut
        part("saved.restarts").pass_over(body.thew, frame)
    assert bpy.ops.thew.simulate() == {"FINISHED"}
    return body


def excess_over_rest(flesh) -> int:
    """Returns the largest excess, over all frames, of turned cells over those of flesh at rest in its pose."""
    import thew

    how = flesh.build_settings
    resting, found = thew.Simulation(flesh.body, settings=how.with_damping(flesh.body)), []
    for index in range(len(flesh.motion.maps) - 1):
        resting.reset(flesh.place.maps(flesh.motion.maps[index]))
        at_rest = flesh.body.inverted_cells(resting.lattice_positions())
        found.append(int(np.asarray(flesh.clip.inverted_cells)[index]) - at_rest)
    return max(0, *found)


def test_limited_ignores_pose(folded_character):
    """Cells that the pose itself turns over are not reported."""
    flesh, few = flesh_of(folded_character), part("logic.health").MAX_HARMLESS_INVERSIONS
    turned = int(np.asarray(flesh.clip.inverted_cells).max())
    assert turned > few * len(flesh.lattice.cells) >= flesh.inverted_count == excess_over_rest(flesh)
    assert line(folded_character) == f"Moves, frames 1 to {LAST}"


def test_limited_reports_motion(struck_character):
    """Cells that the motion turns over are reported in the panel and the notes."""
    flesh = flesh_of(struck_character)
    assert (
        flesh.inverted_count
        == excess_over_rest(flesh)
        > part("logic.health").MAX_HARMLESS_INVERSIONS * len(flesh.lattice.cells)
    )
    assert line(struck_character) == f"Flesh limited in {flesh.inverted_count} places: lower Softness"
    assert f"{flesh.inverted_count} blocks of flesh were squashed flat." in struck_character.thew.made.notes


def test_limited_saved_with_motion(struck_character, tmp_path):
    """The count of turned cells is saved with the motion."""
    counted, path = flesh_of(struck_character).inverted_count, str(tmp_path / "kept.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    body = bpy.data.objects["Body"]
    play(body, (3,))
    assert flesh_of(body).inverted_count == counted > 0


def test_limited_counts_loop_once(struck_character):
    """The cells of a loop are counted in its first turn only."""
    played, limits = part("logic.mapped_clips").CycleClip, part("live.limits")
    begun = part("logic.cycles").Beginning(period=8)
    clip = played(flesh_of(struck_character).clip, begun)
    counts = limits.inverted_counts(clip, 20)
    np.testing.assert_array_equal(counts[:8], np.asarray(flesh_of(struck_character).clip.inverted_cells)[:8])
    assert not counts[8:].any()
