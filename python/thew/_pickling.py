# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pickles of objects that have files, by the same bytes, and of rigs, which are texts; what cannot be pickled says what to do instead.

The bytes have the header and checksum of files, so that damaged ones raise StorageError. They are for processes of one version of Thew.
"""

import copyreg
import importlib

_thew = importlib.import_module(f"{__package__}._thew")  # has no stub of its own

_STATE = "keep its state(), and restore() that in another one of the same body"
_AGAIN = "keep what it was made of, and make it again"

_TABLE = "it is a row of thew.templates(), thew.guides() or thew.rig_kinds()"

_INSTEAD = {
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
            "Composite",
            "Contacts",
            "Correspondence",
            "CorrespondenceReport",
            "Deformer",
            "Equilibrium",
            "MRepFit",
            "MRepReport",
            "ModalSimulation",
            "NonlinearSimulation",
            "RigFit",
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
    raise TypeError(f"a thew.{name} is {what}: {_INSTEAD[name]}")


for _name in _INSTEAD:
    copyreg.pickle(getattr(_thew, _name), _refuse)


_STORED = ("Body", "Clip", "Collider", "ForceField", "Lattice", "Modes", "Shell", "Shot", "Spacetime", "TetMesh")


def _restore(name, data, body=None):
    return _thew._restore_pickled(name, data, body)


def _reduce(thing):
    return _restore, _thew._pickle_parts(thing)


for _name in _STORED:
    copyreg.pickle(getattr(_thew, _name), _reduce)


copyreg.pickle(_thew.PinTrack, lambda track: (_thew.PinTrack, (track.point, track.targets, track.strengths)))


def _rig(text):
    return _thew.parse_rigs(text)[0]


copyreg.pickle(_thew.Rig, lambda rig: (_rig, (_thew.format_rigs([rig]),)))
