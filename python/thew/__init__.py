# SPDX-License-Identifier: MIT OR Apache-2.0
"""Thew: physically based rigging and secondary motion for skinned characters.

Numpy in, numpy out: a surface and a skeleton are enclosed in a control lattice, the lattice carries a body,
the body moves with the poses of its skeleton.

    surface = thew.Surface(vertices, triangles)
    skeleton = thew.Skeleton(names, parents, heads, tails)
    lattice = thew.Lattice.enclose(surface, skeleton, skin_weights)
    body = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=skin_weights)
    frames = numpy.asarray(thew.simulate(body, poses, fps=24))

Units are SI (metres, kilograms, seconds); positions are world positions; arrays are C-contiguous. Everything
long takes ``progress=callable(fraction, stage) -> bool``; returning False raises `Cancelled`.
"""

from ._errors import (
    Cancelled,
    InputError,
    InternalError,
    ModalError,
    MotionError,
    NotBuilt,
    OutsideError,
    RigError,
    RigFileError,
    StorageError,
    TetError,
    TetFileError,
    ThewError,
)
from ._thew import (
    Body,
    BoneGuide,
    Clip,
    Deformer,
    Equilibrium,
    FreeGuide,
    Lattice,
    Material,
    ModalSimulation,
    Modes,
    NonlinearSimulation,
    Rig,
    RigFit,
    Shot,
    Simulation,
    Skeleton,
    SkinGuide,
    Surface,
    SurfaceReport,
    Template,
    TetMesh,
    __version__,
    equilibrium,
    equilibrium_forces,
    fit_gradient,
    fit_rig,
    gpu_adapters,
    load_rigs,
    modes,
    nonlinear_equilibrium,
    save_rigs,
    simulate,
)

__all__ = [
    "Body",
    "BoneGuide",
    "Cancelled",
    "Clip",
    "Deformer",
    "Equilibrium",
    "FreeGuide",
    "InputError",
    "InternalError",
    "Lattice",
    "Material",
    "ModalError",
    "ModalSimulation",
    "Modes",
    "MotionError",
    "NonlinearSimulation",
    "NotBuilt",
    "OutsideError",
    "Rig",
    "RigError",
    "RigFileError",
    "RigFit",
    "Shot",
    "Simulation",
    "Skeleton",
    "SkinGuide",
    "StorageError",
    "Surface",
    "SurfaceReport",
    "Template",
    "TetError",
    "TetFileError",
    "TetMesh",
    "ThewError",
    "__version__",
    "equilibrium",
    "equilibrium_forces",
    "fit_gradient",
    "fit_rig",
    "gpu_adapters",
    "load_rigs",
    "modes",
    "nonlinear_equilibrium",
    "save_rigs",
    "simulate",
]
