# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips whose frames map to other simulated frames: repeated turns of a cycle, motion after it, or a hidden lead."""

from __future__ import annotations

import numpy as np

from .cycles import Beginning


class Played:
    """One turn of a cycle, simulated once, shown for all frames of the range; then the motion that follows it, if any."""

    def __init__(self, turn, begun: Beginning, after=None, live: int = 0, lead: int = 0) -> None:
        """Keeps `turn`, the clip of the core. From frame `live` on `after` is shown, a clip with `lead` frames before the range."""
        self.turn, self.begun = turn, begun
        self.after, self.live, self.lead = after, live, lead

    def simulated(self, index: int) -> tuple:
        """Returns the clip of the core that shows frame `index` of the range, and its frame there."""
        if self.after is not None and index >= self.live:
            return self.after, self.lead + index
        return self.turn, self.begun.at(index)

    def positions(self, index: int) -> np.ndarray:
        """Returns the skin at frame `index` of the range, metres, float32[n, 3]."""
        clip, at = self.simulated(index)
        return clip.positions(at)

    def offsets(self, index: int, **where) -> np.ndarray:
        """Returns what the flesh adds to the skin there, float32[n, 3]; `where`: the space, as in `thew.Clip.offsets`."""
        clip, at = self.simulated(index)
        return clip.offsets(at, **where)

    def lattice_positions(self, index: int) -> np.ndarray:
        """Returns the lattice there, metres, [k, 3]."""
        clip, at = self.simulated(index)
        return clip.lattice_positions(at)

    def contacts(self, index: int):
        """Returns the contacts there."""
        clip, at = self.simulated(index)
        return clip.contacts(at)

    def buried_bones(self, index: int) -> list[tuple[int, int, int, float]]:
        """Returns bones that lie in something there: see `thew.Clip.buried_bones`."""
        clip, at = self.simulated(index)
        return clip.buried_bones(at)

    def folds(self, index: int) -> np.ndarray:
        """Returns how far folds of the skin are parted there: see `thew.Clip.folds`."""
        clip, at = self.simulated(index)
        return clip.folds(at)

    @property
    def inverted_cells(self) -> np.ndarray:
        """Returns the inverted cells of every simulated frame."""
        return np.concatenate([np.asarray(clip.inverted_cells) for clip in self.clips])

    @property
    def unconverged_steps(self) -> np.ndarray:
        """Returns the steps that ended short of their tolerance, of every simulated frame."""
        return np.concatenate([np.asarray(clip.unconverged_steps) for clip in self.clips])

    @property
    def folded_cells(self) -> np.ndarray | None:
        """Returns the cells that the bones alone invert, of the same frames; None where the method does not separate sway."""
        folded = [clip.folded_cells for clip in self.clips]
        return None if folded[0] is None else np.concatenate([np.asarray(counts) for counts in folded])

    @property
    def clips(self) -> list:
        """Returns the clips of the core that it consists of."""
        return [self.turn] if self.after is None else [self.turn, self.after]

    def __getattr__(self, name: str):
        """Returns any other attribute from the turn."""
        return getattr(self.__dict__["turn"], name)


class Led:
    """A clip whose first frames come before the range: simulated, so that the range begins in motion, and never shown."""

    def __init__(self, clip, lead: int) -> None:
        self.clip, self.lead = clip, lead

    def simulated(self, index: int) -> tuple:
        """Returns the clip of the core that shows frame `index` of the range, and its frame there."""
        return self.clip, self.lead + index

    def positions(self, index: int, **where) -> np.ndarray:
        """Returns the same as `thew.Clip`, at frame `index` of the range; so do the methods that follow."""
        return self.clip.positions(self.lead + index, **where)

    def offsets(self, index: int, **where) -> np.ndarray:
        return self.clip.offsets(self.lead + index, **where)

    def lattice_positions(self, index: int) -> np.ndarray:
        return self.clip.lattice_positions(self.lead + index)

    def contacts(self, index: int):
        return self.clip.contacts(self.lead + index)

    def buried_bones(self, index: int) -> list[tuple[int, int, int, float]]:
        return self.clip.buried_bones(self.lead + index)

    def folds(self, index: int) -> np.ndarray:
        return self.clip.folds(self.lead + index)

    @property
    def inverted_cells(self) -> np.ndarray:
        """Returns the inverted cells of every frame of the range."""
        return np.asarray(self.clip.inverted_cells)[self.lead :]

    @property
    def unconverged_steps(self) -> np.ndarray:
        """Returns the steps that ended short of their tolerance, of every frame of the range."""
        return np.asarray(self.clip.unconverged_steps)[self.lead :]

    @property
    def folded_cells(self) -> np.ndarray | None:
        """Returns the cells that the bones alone invert, of the same frames; None where the method does not separate sway."""
        folded = self.clip.folded_cells
        return None if folded is None else np.asarray(folded)[self.lead :]

    @property
    def clips(self) -> list:
        """Returns the clips of the core that it consists of."""
        return [self.clip]

    def __getattr__(self, name: str):
        """Returns any other attribute from the clip."""
        return getattr(self.__dict__["clip"], name)
