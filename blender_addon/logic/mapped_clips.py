# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips whose frames map to other simulated frames: repeated turns of a cycle, motion after it, or a hidden lead."""

from __future__ import annotations

import numpy as np

from .cycles import Beginning


class MappedClip:
    """Base of clips whose frames are those of other clips. A subclass defines `clips`, of the core, and `simulated_at(index)`."""

    clips: list
    """The clips of the core that it consists of."""
    unshown = 0
    """Number of simulated frames before those that count."""

    def simulated_at(self, index: int) -> tuple:
        """Returns the clip of the core that shows frame `index` of the range, and its frame there."""
        raise NotImplementedError

    def _at(self, index: int, method: str, **where):
        clip, at = self.simulated_at(index)
        return getattr(clip, method)(at, **where)

    def positions(self, index: int, **where) -> np.ndarray:
        """Returns the skin at frame `index` of the range, metres, float32[n, 3]."""
        return self._at(index, "positions", **where)

    def offsets(self, index: int, **where) -> np.ndarray:
        """Returns what the flesh adds to the skin there, float32[n, 3]; `where`: the space, as in `thew.Clip.offsets`."""
        return self._at(index, "offsets", **where)

    def lattice_positions(self, index: int) -> np.ndarray:
        """Returns the lattice there, metres, [k, 3]."""
        return self._at(index, "lattice_positions")

    def contacts(self, index: int):
        """Returns the contacts there."""
        return self._at(index, "contacts")

    def buried_bones(self, index: int) -> list[tuple[int, int, int, float]]:
        """Returns bones that lie in something there: see `thew.Clip.buried_bones`."""
        return self._at(index, "buried_bones")

    def folds(self, index: int) -> np.ndarray:
        """Returns how far folds of the skin are parted there: see `thew.Clip.folds`."""
        return self._at(index, "folds")

    def _counts(self, name: str) -> np.ndarray:
        return np.concatenate([np.asarray(getattr(clip, name)) for clip in self.clips])[self.unshown :]

    @property
    def inverted_cells(self) -> np.ndarray:
        """Returns the inverted cells of every simulated frame that counts."""
        return self._counts("inverted_cells")

    @property
    def unconverged_steps(self) -> np.ndarray:
        """Returns the steps that ended short of their tolerance, of the same frames."""
        return self._counts("unconverged_steps")

    @property
    def active_functions(self) -> np.ndarray:
        """Returns the functions of the flesh that act, of the same frames."""
        return self._counts("active_functions")

    @property
    def folded_cells(self) -> np.ndarray | None:
        """Returns the cells that the bones alone invert, of the same frames; None where the method does not separate sway."""
        return None if self.clips[0].folded_cells is None else self._counts("folded_cells")

    def __getattr__(self, name: str):
        """Returns any other attribute from the first clip."""
        return getattr(self.__dict__["clips"][0], name)


class CycleClip(MappedClip):
    """One turn of a cycle, simulated once, shown for all frames of the range; then the motion that follows it, if any."""

    def __init__(self, turn, beginning: Beginning, after=None, live: int = 0, lead: int = 0) -> None:
        """Keeps `turn`, the clip of the core. From frame `live` on `after` is shown, a clip with `lead` frames before the range."""
        self.turn, self.beginning = turn, beginning
        self.after, self.live, self.lead = after, live, lead
        self.clips = [turn] if after is None else [turn, after]

    def simulated_at(self, index: int) -> tuple:
        if self.after is not None and index >= self.live:
            return self.after, self.lead + index
        return self.turn, self.beginning.simulated_frame(index)


class LeadClip(MappedClip):
    """A clip whose first frames come before the range: simulated, so that the range begins in motion, and never shown."""

    def __init__(self, clip, lead: int) -> None:
        self.clips = [clip]
        self.lead = self.unshown = lead

    def simulated_at(self, index: int) -> tuple:
        return self.clips[0], self.lead + index
