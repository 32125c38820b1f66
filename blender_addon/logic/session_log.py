# SPDX-License-Identifier: GPL-3.0-or-later
"""Record of this session for a diagnosis: the latest refusals, and the time of each kind of work. Nothing here is saved."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

#: Number of refusals that are kept.
MAX_REFUSALS = 8
#: Number of calls by which the place of an error is told.
MAX_CALLS = 4

#: (Name of the object or "", sentence) of the latest refusals, the last one at the end.
refusals: deque[tuple[str, str]] = deque(maxlen=MAX_REFUSALS)
#: Seconds of the latest work of each kind, by its text.
seconds: dict[str, float] = {}


def note_refusal(name: str, text: str) -> None:
    """Keeps a refusal; one that repeats the last counts once."""
    if not refusals or refusals[-1] != (name, text):
        refusals.append((name, text))


def place_of(error: BaseException) -> str:
    """Returns where an error arose, the innermost calls first, without folders."""
    frames = reversed(traceback.extract_tb(error.__traceback__)[-MAX_CALLS:])
    return ", ".join(f"{PurePath(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)


@contextmanager
def timed(text: str) -> Iterator[None]:
    """Measures a piece of work within the context; one that fails leaves its time too."""
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds[text] = time.perf_counter() - began
