# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings during the build of a body, in the artist's words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from .cycles import AUTOMATIC
from .errors import sentence
from .stage_words import note_text
from .twist import idle_note


def plural(count: int, one: str, many: str | None = None) -> str:
    """Returns `1 cell`, `3 cells`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def join_words(words: list[str]) -> str:
    """Returns `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def join_few(words: list[str], most: int) -> str:
    """Returns words as `join_words` does, of more than `most` the first ones and the number of the others: `a, b and 3 more`."""
    return join_words(words if len(words) <= most else [*words[: most - 1], f"{len(words) - most + 1} more"])


def frames_text(frames: Sequence[int]) -> str:
    """Returns frames in words: "frame 3", "frames 3 and 5", "no frame"."""
    return (
        f"{'frame' if len(frames) == 1 else 'frames'} {join_words([str(frame) for frame in frames])}"
        if frames
        else "no frame"
    )


#: The core's sentence on a loose part of a body: its cells, its place, the distance of the nearest bone, its name, and whether it follows that.
LOOSE_PART = re.compile(
    r"A loose part of (\d+) cell\(s\) at \((.*?)\), ([\d.]+) m from the bone '(.*)', is held by no bone: it follows ('?)"
)

#: The sentence on the skin where blocks of flesh turned over.
NEAR_PLAIN_SKIN = "The skin is shown nearer to the plain skin there."

#: Largest number of spans of frames that are listed. More make no sentence.
MAX_SPANS = 3

#: Frames between two touches that count as one: in them skins were just about to touch again.
MAX_SPAN_GAP = 2


def spans(frames: tuple[int, ...]) -> str:
    """Returns `frame 5`, `frames 12 to 48`, `frames 3 to 9 and 12 to 20`, or the number of frames in a span."""
    found: list[list[int]] = []
    for frame in frames:
        if found and frame - found[-1][1] <= MAX_SPAN_GAP:
            found[-1][1] = frame
        else:
            found.append([frame, frame])
    if len(found) > MAX_SPANS:
        return f"{len(frames)} of the frames {frames[0]} to {frames[-1]}"
    words = [f"{first} to {last}" if first < last else f"{first}" for first, last in found]
    return f"frame{'' if len(frames) == 1 else 's'} {join_words(words)}"


def significant(value: float, digits: int = 2) -> str:
    """Returns a number with so many significant digits and no exponent: `0.32`, `1.9`, `190`."""
    return f"{float(f'{value:.{digits}g}'):.15g}"


def percent(share: float) -> str:
    """Returns a share as `0.32 %`."""
    return f"{significant(100.0 * share)} %"


def notes_of(flesh: Any, preview: int = 0) -> list[str]:
    """Returns sentences about a built flesh: its motion, surface defects, loose parts, inverted cells, last its size; `preview`: the mode
    to play.
    """
    notes, size = [], []
    if flesh.lattice is not None:
        cells, vertices = len(flesh.lattice.cells), len(flesh.lattice.vertices)
        mirrored = " Left and right mirror each other." if flesh.lattice.mirror_plane is not None else ""
        blocks, corners = plural(cells, "small block"), plural(vertices, "corner point")
        size.append(f"The flesh is divided into {blocks}, which share {corners}.{mirrored}")
        size += [sentence(note_text(note)) for note in flesh.lattice.notes]
    notes += [sentence(text) for text in flesh.defects]
    if flesh.character is not None:
        notes += [sentence(text) for text in flesh.character.notes]
    notes += [sentence(text) for text in flesh.skin_notes]
    if flesh.body is not None:
        notes += [sentence(loose_part_text(text)) for text in flesh.body.loose_parts]
        idle = idle_note(flesh.build_settings.twists, flesh.body, flesh.character.bones, flesh.bind_pose.elsewhere)
        notes += [sentence(idle)] if idle else []
    if flesh.clip is not None and flesh.beginning.note:
        notes.append(flesh.beginning.note)
        if flesh.beginning.period and flesh.build_settings.motion_start == AUTOMATIC:
            notes.append("If this is not a loop, set Start of Motion to Run-in or Settled in the foldout Look.")
    if flesh.inverted_count:
        was = "was" if flesh.inverted_count == 1 else "were"
        flat = f"In the hardest frame {plural(flesh.inverted_count, 'block')} of flesh {was} squashed flat."
        helps = "Pins that pull it less help." if flesh.pin_gaps.names else "Firmer flesh helps."
        notes.append(f"{flat} {NEAR_PLAIN_SKIN} {helps}")
    if flesh.modal:
        notes += modal_notes(flesh, preview)
    notes += flesh.rig_problems.values()
    notes += flesh.pushing.notes.values()
    if flesh.problem:
        notes.append(flesh.problem)
    return notes + size


def loose_part_text(text: str) -> str:
    """Returns the core's sentence on a loose part of the flesh in the artist's words."""
    match = LOOSE_PART.match(text)
    if match is None:
        return text
    count, place, gap, bone, quote = match.groups()
    blocks = plural(int(count), "block")
    if quote:
        return f"No bone runs through a loose part of the flesh ({blocks} at {place}): it follows “{bone}” rigidly, {gap} m away"
    return f"No bone runs through a loose part of the flesh ({blocks} at {place}): it follows its skin weights, {gap} m from “{bone}”"


def lattice_defects(violations: Sequence[str]) -> list[str]:
    """Returns a sentence on a lattice of Thew's own that breaks conditions of the core: numbers of its cells say nothing to an artist."""
    if not violations:
        return []
    return [f"The flesh does not fit the body in {plural(len(violations), 'place')}: raise Detail"]


def modal_notes(flesh: Any, preview: int) -> list[str]:
    """Returns sentences on modes that differ from the settings."""
    notes, count = [], len(flesh.modes)
    if count < flesh.build_settings.modes:
        notes.append(
            f"The flesh has {plural(count, 'vibration mode')} only, not {flesh.build_settings.modes}: more Detail allows more."
        )
    warnings = list(dict.fromkeys(flesh.clip.warnings)) if flesh.clip is not None else []
    if warnings:
        notes.append(" ".join(sentence(text) for text in warnings))
    if preview > count:
        notes.append(f"There is no mode {preview} to preview: the flesh has {plural(count, 'mode')}.")
    return notes


def modal_lines(flesh: Any, preview: int) -> list[str]:
    """Returns the panel's lines on the modes and the engine: frequencies, the engine and its cost."""
    if not flesh.modal:
        return []
    frequencies, lines = flesh.frequencies, []
    span = " to ".join(f"{f:.3g}" for f in dict.fromkeys((frequencies[0], frequencies[-1])))
    lines.append(f"{plural(len(frequencies), 'mode')}, {span} Hz")
    if flesh.can_preview(preview):
        frequency = float(frequencies[preview - 1])
        slower = slowing_factor(frequency)
        how = f", {slower} times slower" if slower > 1 else ""
        lines.append(f"Plays mode {preview}: {frequency:.3g} Hz{how}")
    if flesh.clip is not None:
        lines.append(f"Deformed by {flesh.clip.engine}")
        lines += [str(line) for line in flesh.clip.engine_report]
    return lines


#: Largest number of swings of a preview per second; a quicker mode is slowed by a whole number. Once a second the eye follows a
#: swing from end to end.
MAX_PREVIEW_RATE = 1.0


def slowing_factor(frequency: float) -> int:
    """Returns the factor by which the preview slows a mode of `frequency` (Hz)."""
    return max(1, math.ceil(frequency / MAX_PREVIEW_RATE - 1e-9))
