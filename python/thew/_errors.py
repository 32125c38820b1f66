# SPDX-License-Identifier: MIT OR Apache-2.0
"""The exceptions. Each is also the builtin that fits, and its text is one sentence."""

from dataclasses import dataclass
from typing import Any

import numpy as np


class ThewError(Exception):
    """Base of all errors of Thew."""


class InputError(ThewError, ValueError):
    """An argument that cannot be used. The text says which one and what is wrong with it."""


@dataclass(frozen=True, eq=False)
class Violation:
    """A violated condition of a lattice, or a face of a mesh that makes no cell.

    - `condition`: 1 cells meet in a common face, edge or vertex, or not at all; 2 every used bone is a union of edges; 3 the body lies
      inside; 4 no cell is flat or turned over; 0 faces that make no cell [capell2002, §3.1].
    - `kind`: name of what is wrong, such as "overlap", "uncovered bone" or "inverted".
    - `sentence`: what is wrong, with numbers.
    - `bone`: name of the bone that it concerns; "" for none.
    - `cells`, `vertices`: indices that it concerns.
    - `places`: points that it concerns, float64 [n,3], metres.
    """

    condition: int
    kind: str
    sentence: str
    bone: str
    cells: list[int]
    vertices: list[int]
    places: np.ndarray

    def __str__(self) -> str:
        return self.sentence


class LatticeError(InputError):
    """Cells that break conditions, or faces that make no cells. `violations` lists them all, a `Violation` each."""

    def __init__(self, message: str = "", violations: tuple[Violation, ...] = ()):
        super().__init__(message)
        self.violations = list(violations)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), tuple(self.violations))


class ModalError(InputError):
    """Modes that cannot be computed or used."""


class StorageError(ThewError, OSError):
    """A file that cannot be written or read."""


class RigError(InputError):
    """A rig that makes no force field, or whose guide does not fit the body. The text says what is wrong with it."""


class OutsideError(RigError):
    """A rig whose template lies wholly outside the flesh, so that it cannot push anything."""


class RigFileError(RigError, StorageError):
    """A malformed file of rigs. The text names the line and the key."""


class CorrespondenceError(InputError):
    """Two characters that do not correspond as asked, or a rig that does not go from one to the other. The text names bone or landmark."""


class MRepError(InputError):
    """A medial model that is invalid, or that cannot be fitted or used. The text names the atom and the problem."""


class MRepFileError(MRepError, StorageError):
    """A malformed file of medial models. The text names the line and the key."""


class TetError(InputError):
    """A tetrahedral mesh that makes no body, or a surface that cannot be filled."""


class TetFileError(TetError, StorageError):
    """A malformed file of a tetrahedral mesh. The text names the line and the problem."""


class MotionError(ThewError, RuntimeError):
    """A computation without a finite result."""


class Cancelled(ThewError, RuntimeError):
    """A computation that the progress callable stopped."""


class InternalError(ThewError, RuntimeError):
    """A mistake in Thew itself: please report it."""
