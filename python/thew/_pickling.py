# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pickles of rigs, which are texts, and errors for objects that cannot be pickled: they say what to do instead."""

import copyreg
import importlib

_thew = importlib.import_module(f"{__package__}._thew")  # has no stub of its own

_FILE = "write it with save(path) and read it with thew.{name}.load(path)"
_STATE = "keep its state(), and restore() that in another one of the same body"
_AGAIN = "keep what it was made of, and make it again"

_TABLE = "it is a row of thew.templates(), thew.guides() or thew.rig_kinds()"

_INSTEAD = {
    "Body": _FILE,
    "Clip": _FILE,
    "Shot": _FILE,
    "TetMesh": "write it with write(path) and read it with thew.TetMesh.read(path)",
    "Lattice": "keep the thew.Body with it, which save(path) writes, or its vertices, cells and bones, and make it again",
    "Modes": "keep what they are of, and compute them again with thew.modes",
    "Simulation": _STATE,
    "Scene": _STATE,
    "Compressed": "keep its keys and curves",
    "HelperBones": "keep its weights, transforms, heads, tails and parents",
    "VertexTexture": "keep its paths; the files hold the rest",
    "Pin": "keep its point, target and strength",
    "RigSpec": _TABLE,
    "ParameterSpec": _TABLE,
    **dict.fromkeys(
        (
            "Collider",
            "Composite",
            "Contacts",
            "Correspondence",
            "CorrespondenceReport",
            "Deformer",
            "Equilibrium",
            "ForceField",
            "MRepFit",
            "MRepReport",
            "ModalSimulation",
            "NonlinearSimulation",
            "PinTrack",
            "RigFit",
            "Shell",
            "Spacetime",
            "SurfaceFitReport",
            "SurfaceReport",
            "WigglySpline",
        ),
        _AGAIN,
    ),
}


def _refuse(thing):
    name = type(thing).__name__
    what = "not pickled" if hasattr(thing, "__copy__") else "neither pickled nor copied"
    raise TypeError(f"a thew.{name} is {what}: {_INSTEAD[name].format(name=name)}")


for _name in _INSTEAD:
    copyreg.pickle(getattr(_thew, _name), _refuse)


def _rig(text):
    return _thew.parse_rigs(text)[0]


copyreg.pickle(_thew.Rig, lambda rig: (_rig, (_thew.format_rigs([rig]),)))
