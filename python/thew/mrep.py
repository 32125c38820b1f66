# SPDX-License-Identifier: MIT OR Apache-2.0
"""Medial models of limbs and bodies: made, fitted to surfaces and volumes, compared within families. [oguz2005]

    arm = thew.mrep.MRep.from_skeleton(surface, skeleton, skin_weights, ["Upper", "Lower"])
    fit = arm.fit(surface)

`docs/methods/medial-models.md` tells more.
"""

from . import MRep, MRepError, MRepFamily, MRepFileError, MRepFit, MRepReport, Volume

__all__ = ["MRep", "MRepError", "MRepFamily", "MRepFileError", "MRepFit", "MRepReport", "Volume"]
