# SPDX-License-Identifier: MIT OR Apache-2.0
"""Frames of a Blender scene that the clip of an exported shot shows, and the maps into the space of its mesh.

The extension writes them into a note of the shot. A clip begins with frames that lead into the scene's range, which are not shown, and
ends with the pose after it; a loop is simulated once, and shown in every turn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from .. import Clip

#: Key of the extension's note, and the versions of it that are understood.
NOTE, FORMATS = "blender", {6}


@dataclass(frozen=True)
class ShownFrame:
    """A frame that a clip shows."""

    frame: int  # the scene's, or the index
    index: int  # in the clip
    space: np.ndarray | None = (
        None  # [4, 4], map from the clip's metres into the mesh's space; None: its metres are all there is
    )


def shown_frames(clip: Clip, first: int = 0) -> list[ShownFrame]:
    """Returns the frames that a clip shows: those of the scene from which its shot was exported, or all of them.

    `first`: the first pose of the shot that was simulated.
    """
    return _of_scene(clip, first) or [ShownFrame(index, index) for index in range(len(clip))]


def _of_scene(clip: Clip, first: int) -> list[ShownFrame]:
    try:
        note = json.loads(clip.notes[NOTE])
        if note["format"] not in FORMATS:
            return []
        start, count = int(note["start"]), len(note["path"]) - 1  # the last pose follows the last frame
        _, period, travels, lead = map(int, note["begun"])
        rows = np.array(note["spaces"], dtype=float).reshape(-1, 3, 4)
        last = np.broadcast_to([[[0.0, 0.0, 0.0, 1.0]]], (len(rows), 1, 4))
        spaces = np.concatenate([rows, last], axis=1)
    except (KeyError, TypeError, ValueError):  # a shot of something else
        return []
    repeats = period > 0 and not travels and not first
    shown = []
    for at in range(count if len(spaces) == 1 else min(count, len(spaces))):
        index = at + lead - first
        index = index % period if repeats else index
        if 0 <= index < len(clip):
            shown.append(ShownFrame(start + at, index, spaces[min(at, len(spaces) - 1)]))
    return shown
