# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rigging with forces: templates on guides, driven by controls, and their fits to points of the skin; rigs sculpted from
shapes of the skin. [capell2006]

    push = thew.rigging.Template("bump", radius=0.1, strength=2e4)
    rig = thew.rigging.Rig(push, thew.rigging.BoneGuide("Upper", along=0.5))
    clip = thew.simulate(body, poses, 24, rigs=[rig])

`docs/methods/rigging.md` and `docs/rigging.md` tell more.
"""

from . import (
    BoneGuide,
    FreeGuide,
    OutsideError,
    Rig,
    RigError,
    RigFileError,
    RigFit,
    SkinGuide,
    SurfaceFitReport,
    Template,
    fit_gradient,
    fit_pose,
    fit_rig,
    fit_surface,
    format_rigs,
    load_rigs,
    muscle,
    muscle_growth,
    muscle_line,
    muscle_shortening,
    muscles,
    parse_rigs,
    rig_stiffness,
    save_rigs,
)

__all__ = [
    "BoneGuide",
    "FreeGuide",
    "OutsideError",
    "Rig",
    "RigError",
    "RigFileError",
    "RigFit",
    "SkinGuide",
    "SurfaceFitReport",
    "Template",
    "fit_gradient",
    "fit_pose",
    "fit_rig",
    "fit_surface",
    "format_rigs",
    "load_rigs",
    "muscle",
    "muscle_growth",
    "muscle_line",
    "muscle_shortening",
    "muscles",
    "parse_rigs",
    "rig_stiffness",
    "save_rigs",
]
