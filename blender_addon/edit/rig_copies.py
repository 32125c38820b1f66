# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs as they will be on another character, before anything is written, and the report of a copy."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy

from ..logic.names import describe
from ..logic.sentences import join_few, plural
from ..rigs.muscles import MuscleAttachment
from ..rigs.rigging import Attachment
from ..saved.rigs import ThewRig

#: Rigs whose errors and fits are told in a message. More make no sentence; the dialog shows all.
MAX_ERRORS = 4


@dataclass
class RigCopy:
    """A rig as it will be on the other character: its attachment and all of its numbers."""

    rig: ThewRig
    attachment: Attachment | MuscleAttachment
    row: list[float]
    samples: list[list[float]]
    preferred: list[float]
    double: bool  # a rig like it is there already


@dataclass
class SculptCopy:
    """A sculpted rig as it will be on the other character: its shapes as saved text."""

    rig: ThewRig
    sculpt: str
    double: bool  # a rig like it is there already


@dataclass
class CopyReport:
    """The result of a transfer."""

    names: list[str] = field(default_factory=list)
    limbs: list[str] = field(default_factory=list)
    bones: str = ""  # a clause: how the skins match, where rigs went by bones
    errors: list[str] = field(default_factory=list)  # how far the skins are apart at each of these rigs, in words
    fits: list[str] = field(default_factory=list)  # how well rigs fit there, in words
    omissions: list[str] = field(default_factory=list)  # clauses: rigs left out and why, rigs there twice
    warnings: list[str] = field(default_factory=list)

    def message(self, target: bpy.types.Object) -> str:
        """Returns the result as a sentence."""
        be = "is" if len(self.names) == 1 else "are"
        errors = [join_few(self.errors, MAX_ERRORS)] if self.errors else []
        where = ", ".join([*(f"“{name}”" for name in self.limbs), *([self.bones] if self.bones else []), *errors])
        first = f"{plural(len(self.names), 'rig')} {be} carried to {describe(target)} ({where})"
        fits = [join_few(self.fits, MAX_ERRORS)] if self.fits else []
        return "; ".join([first, *fits, *self.omissions]) + "."
