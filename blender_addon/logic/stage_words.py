# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages that the core reports while it works, and its notes on the flesh, in the words of an artist.

The core's own words are those of its methods: lattices, cells, modes. What is missing here is plain enough as it is.
"""

from __future__ import annotations

_MEASURING, _FILLING, _READYING = "Measuring the body", "Filling the body with flesh", "Preparing the simulation"
_LIMBS = "Shaping the limbs"

#: The artist's words for a stage; "" where the text of the whole step says all that helps.
STAGE_WORDS = {
    "measuring distances": _MEASURING,
    "measuring depths": _MEASURING,
    "measuring the volume": _MEASURING,
    "filling with points": _FILLING,
    "relaxing the points": _FILLING,
    "building cells": _FILLING,
    "improving cells": _FILLING,
    "separating parts": "Separating parts of the body",
    "checking the lattice": "Checking the flesh",
    "Placing the mesh in the lattice": "Tying the skin to the flesh",
    "Carrying weights to the lattice": "Carrying the weights into the flesh",
    "Preparing the solver": _READYING,
    "boundary": _LIMBS,
    "blurring the volume": _LIMBS,
    "measuring distances from the figures": _LIMBS,
    "blending the figures": _LIMBS,
    "meshing the boundary": _LIMBS,
    "parting limbs": "Separating the limbs",
    "finding the balance": "Letting the flesh come to rest",
    "fitting the surface": "Fitting the skin",
    "Into rest space": "Working out the keys",
    "Measuring offsets": "Measuring the motion",
    "seeds": "Looking for touches",
    "deforming": "Moving the skin",
    "Balancing forces": "Letting the flesh come to rest",
    "advancing": "",
    "simulated": "",
    "done": "",
    "fitting": "",
    "Modelling": "",
    "Order of elimination": "",
    "Factorisation": "",
    "Linearisations": "",
    "Reduced space": "",
    "Modes": "",
    "Modes of the keyframes": "",
    "Rotations of the modes": "",
    "Count of eigenvalues": "",
}


def stage_text(stage: str, step: str) -> str:
    """Returns the text to show for a stage of the core; `step`: the text of the step that it is part of."""
    return STAGE_WORDS.get(stage, stage) or step


def note_text(note: str) -> str:
    """Returns a note of the core on the flesh in the artist's words."""
    return note.replace(" cells are shared by separate parts", " blocks of flesh are shared by separate parts")
