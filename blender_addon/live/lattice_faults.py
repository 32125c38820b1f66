# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of lattices by hand that are drawn in red, until the lattice fits again."""

from __future__ import annotations

from contextlib import contextmanager

import bpy

from ..logic.hand_lattice import BrokenLattice, Faults

#: Faults by the session id of the character's mesh, and whether a build of flesh found them: the last good lattice that is built says
#: nothing about one that is being edited.
known: dict[int, tuple[Faults, bool]] = {}


def of(obj: bpy.types.Object) -> Faults | None:
    """Returns the faults of the lattice of an object; None where none are known."""
    return known.get(obj.session_uid, (None, False))[0]


def forget(obj: bpy.types.Object) -> None:
    """Forgets the faults of an object."""
    known.pop(obj.session_uid, None)


@contextmanager
def shown_at(obj: bpy.types.Object, build: bool = False):
    """Keeps the faults of a lattice that does not fit inside. Where all goes well, forgets former ones; a build, those of builds."""
    try:
        yield
    except BrokenLattice as error:
        known[obj.session_uid] = error.faults, build
        raise
    if not build or known.get(obj.session_uid, (None, True))[1]:
        forget(obj)
