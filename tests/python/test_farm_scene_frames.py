# SPDX-License-Identifier: MIT OR Apache-2.0
"""Frames of a scene that the clip of an exported shot shows."""

import json

import numpy as np
import pytest
from thew.farm.scene_frames import shown_frames

ROWS = np.arange(12.0).tolist()
#: Frames 101 to 104, before which two lead in.
NOTE = {"format": 6, "start": 101, "path": [[0.0] * 3] * 5, "begun": [0, 0, 0, 2], "spaces": [ROWS]}


class Clip:
    """A clip as far as frames are asked."""

    def __init__(self, frames, note):
        self.frames, self.notes = frames, {} if note is None else {"blender": note}

    def __len__(self):
        return self.frames


def shown(frames, first=0, **changes):
    """Returns (scene's frame, index) of what a clip shows."""
    note = json.dumps({**NOTE, **changes})
    return [(each.frame, each.index) for each in shown_frames(Clip(frames, note), first)]


def test_shown_frames_without_lead():
    """Frames that lead in are not shown, nor is the pose after the range; a part of the poses shows what is left of the range."""
    assert shown(7) == [(101, 2), (102, 3), (103, 4), (104, 5)]
    assert shown(3, first=3) == [(102, 0), (103, 1), (104, 2)]


def test_shown_frames_of_loop():
    """A loop shows its turn again and again; one that travels shows what was simulated."""
    assert shown(3, begun=[0, 2, 0, 0]) == [(101, 0), (102, 1), (103, 0), (104, 1)]
    assert shown(3, begun=[0, 2, 1, 0]) == [(101, 0), (102, 1), (103, 2)]


def test_shown_frames_have_spaces():
    """Each frame has its map, or all have the same one."""
    moving = [[float(row)] * 12 for row in range(5)]
    found = shown_frames(Clip(7, json.dumps({**NOTE, "spaces": moving})))
    assert [each.space[0, 0] for each in found] == [0.0, 1.0, 2.0, 3.0]
    assert all((each.space[3] == [0.0, 0.0, 0.0, 1.0]).all() for each in found)
    np.testing.assert_array_equal(shown_frames(Clip(7, json.dumps(NOTE)))[1].space[:3].ravel(), ROWS)


@pytest.mark.parametrize(
    "note",
    [
        None,
        "",
        "[]",
        json.dumps({**NOTE, "format": 5}),
        json.dumps({**NOTE, "start": "one"}),
        json.dumps({**NOTE, "begun": [0, 0]}),
        json.dumps({**NOTE, "path": 3}),
        json.dumps({**NOTE, "spaces": [[1.0]]}),
        json.dumps({**NOTE, "spaces": []}),
        json.dumps({**NOTE, "begun": [0, 0, 0, 900]}),
    ],
)
def test_shown_frames_of_others(note):
    """Clips of anything else show all their frames, from 0, in their own metres; faulty notes count as none."""
    found = shown_frames(Clip(3, note))
    assert [(each.frame, each.index, each.space) for each in found] == [(0, 0, None), (1, 1, None), (2, 2, None)]
