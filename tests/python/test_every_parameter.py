# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nonsense for every parameter of every public function: each gets a sentence of a kind that callers expect.

Functions and parameters come from the typed stub, so that a new one is tried without a line here.
"""

import ast
from pathlib import Path

import numpy as np
import pytest
import shapes
import thew

STUB = ast.parse((Path(thew.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))


class Raising:
    """Raises an error where it is read as an array or as anything else."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array today")


class Texts:
    """Gives an array of another type than it promises."""

    def __array__(self, dtype=None, copy=None):
        return "text"


class Liar:
    """Lies about its length, as a sequence without end."""

    def __len__(self):
        return 1 << 60

    def __getitem__(self, index):
        return 0.0


class Backwards:
    """Gives a negative length, as a sequence."""

    def __len__(self):
        return -1

    def __getitem__(self, index):
        raise IndexError(index)


def nested_list(depth):
    """Builds a deeply nested list."""
    found = []
    for _ in range(depth):
        found = [found]
    return found


NONSENSE = [
    "\ud800",
    ["\ud800"],
    {"\ud800": 1.0},
    "a\0b",
    "",
    2**63,
    -(2**63) - 1,
    2**64,
    2**200,
    [2**64],
    (2**63, 1, 1),
    [2**200, 0.5],
    10**400,
    [10**400],
    [(0, 10**400)],
    [(2**64, [0.0, 0.0, 0.0])],
    {"strength": 10**400},
    {2**64: [0.0, 0.0, 0.0]},
    float("nan"),
    float("inf"),
    -1.7e308,
    True,
    None,
    1j,
    b"",
    b"\xff" * 40,
    object(),
    [],
    [[], [1.0]],
    nested_list(100),
    [None],
    {},
    set(),
    range(3),
    np.zeros(0),
    np.zeros(3),
    np.zeros((0, 3)),
    np.zeros((7, 3)),
    np.full((7, 3), np.nan),
    np.zeros((2, 2, 2, 2, 2)),
    np.array(["text"]),
    np.array([1 + 1j]),
    np.array([2**63], np.uint64),
    Raising(),
    [Raising()],
    Texts(),
    Liar(),
    Backwards(),
]


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Builds one object of each class, by its name in the stub, and one value of each parameter, by the parameter's name."""
    folder = tmp_path_factory.mktemp("files")
    vertices, triangles = shapes.arm(segments=6, rings=6)
    surface = thew.Surface(vertices, triangles)
    skeleton = thew.Skeleton(*shapes.arm_bones())
    skin = shapes.arm_weights(vertices)
    lattice = thew.Lattice.enclose(surface, skeleton, skin, cells_across=4)
    material = thew.Material()
    body = thew.Body(surface, skeleton, lattice, material)
    poses = np.stack([shapes.bend(0.0), shapes.bend(0.1)])
    tets = thew.TetMesh.grid((2, 1, 1), (1.0, 0.5, 0.5))
    modes = thew.modes(tets, 3, material, fixed=[0, 1, 2, 3])
    template = thew.Template("radial", radius=0.2, strength=100.0)
    rig = thew.Rig(template, thew.FreeGuide(shapes.turn_about([0.0, 0.0, 0.0], shift=[0.5, 0.0, 0.0])), [(1.0, {})])
    ends = thew.BoneGuide("upper", distance=0.02), thew.BoneGuide("lower", distance=0.02)
    muscle = thew.muscle(*ends, radius=0.05)
    box = thew.Shell(*shapes.box())
    keyframes = np.stack([box.vertices, box.vertices + 0.1])
    spacetime = thew.Spacetime(box, keyframes, [0.0, 1.0], modes=2)
    mrep = thew.MRep.template("limb")
    scene = thew.Scene([body])
    scene.reset([poses[0]])
    simulation = thew.Simulation(body, contact=thew.Contact(response="creases"))
    simulation.reset(poses[0])
    simulation.pin(0)
    scene.pin(0, 0)
    track = thew.PinTrack(0, vertices[:1])
    shot = thew.Shot(body, poses, 24.0)
    clip = thew.simulate(body, poses, 24.0)
    touched = thew.Simulation(body, contact=thew.Contact())
    touched.reset(poses[0])
    balance = thew.Equilibrium(body, "warped")
    balance.set_pose(poses[0])
    volume = thew.Volume(np.linalg.norm(np.indices((6, 6, 6)) - 2.5, axis=0))
    families = [mrep.transformed(1.0 + 0.1 * k) for k in range(3)]
    link = thew.Correspondence(body, body)
    of_class = {
        "Surface": surface,
        "Skeleton": skeleton,
        "Lattice": lattice,
        "Material": material,
        "Shell": box,
        "MRep": mrep,
        "MRepFamily": thew.MRepFamily(families),
        "Volume": volume,
        "WigglySpline": thew.WigglySpline([0.0, 1.0], [0.0, 1.0], 1.0, 0.1),
        "Spacetime": spacetime,
        "SpacetimeSettings": thew.SpacetimeSettings(),
        "Composite": thew.composite([spacetime]),
        "TetMesh": tets,
        "Body": body,
        "BodySettings": thew.BodySettings(),
        "Contact": thew.Contact(),
        "Collider": thew.Collider.plane([0.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
        "Contacts": touched.contacts(),
        "Simulation": simulation,
        "Pin": simulation.pins()[0],
        "PinTrack": track,
        "ForceField": thew.ForceField("wind"),
        "Clip": clip,
        "Shot": shot,
        "Scene": scene,
        "SimulationSettings": thew.SimulationSettings(),
        "Equilibrium": balance,
        "RigFit": thew.RigFit(body, rig, poses[0]),
        "Modes": modes,
        "ModalSimulation": thew.ModalSimulation(modes, 0.01),
        "Deformer": thew.Deformer(modes, tets.vertices),
        "NonlinearSimulation": thew.NonlinearSimulation(tets, material, [0, 1, 2, 3], 0.01),
        "Template": template,
        "BoneGuide": thew.BoneGuide("upper"),
        "SkinGuide": thew.SkinGuide(0),
        "FreeGuide": thew.FreeGuide(np.eye(4)),
        "Rig": rig,
        "Correspondence": link,
    }
    files = {
        "Body": body,
        "Clip": clip,
        "Shot": shot,
        "MRep": mrep,
        "Modes": modes,
        "Shell": box,
        "Spacetime": spacetime,
    }
    for name, thing in files.items():
        thing.save(folder / (f"{name}.mrep.toml" if name == "MRep" else name))
    tets.write(folder / "TetMesh.mesh")
    thew.save_rigs(folder / "rigs.toml", [rig])
    clip_frames = np.asarray(clip)
    thew.write_pc2(folder / "read.pc2", clip_frames)
    thew.write_mdd(folder / "read.mdd", clip_frames, 24.0)
    thew.write_vertex_texture(folder / "texture", clip_frames, vertices, 24.0)
    slab = np.stack(np.meshgrid(np.arange(3.0), np.arange(3.0), [0.0], indexing="ij"), -1)[:, :, 0]
    places = np.full((2, 3), 0.1)
    of_name = {
        "points": places,
        "origins": places,
        "directions": np.ones((2, 3)),
        "skin_weights": skin,
        "names": ["upper", "lower"],
        "parents": [-1, 0],
        "heads": skeleton.heads,
        "tails": skeleton.tails,
        "cells": [[0, 1, 2, 3]],
        "faces": [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]],
        "pose": poses[0],
        "poses": poses,
        "fps": 24.0,
        "vertices": vertices,
        "triangles": triangles,
        "q": lattice.vertices,
        "positions": lattice.vertices,
        "bones": ["upper", "lower"],
        "times": [0.0, 1.0],
        "stiffness": 1.0,
        "damping": 0.1,
        "values": [0.0, 1.0],
        "keyframes": keyframes,
        "dt": 0.01,
        "state": b"",
        "frame": 0,
        "count": 2,
        "factor": 1.5,
        "factors": np.ones(len(lattice.cells)),
        "firmness": 2.0,
        "dials": [0.5],
        "gamma": 0.5,
        "axis": [1.0, 0.0, 0.0],
        "softness": 0.5,
        "young": 10e3,
        "body": 0,
        "amplitudes": np.zeros(3),
        "velocities": np.zeros(3),
        "step": 0.01,
        "weight": 1.0,
        "fixed": [0, 1, 2, 3],
        "seconds": 0.1,
        "pin": 0,
        "targets": np.zeros((1, 3)),
        "pairs": np.zeros((0, 2), np.int32),
        "kind": "radial",
        "bone": "upper",
        "face": 0,
        "samples": None,
        "text": "format = 1\nrigs = []",
        "rigs": [rig],
        "motions": [spacetime],
        "bodies": [body],
        "shots": [shot],
        "clips": [clip],
        "mreps": families,
        "mrep": mrep,
        "target": surface,
        "other": mrep,
        "name": "limb",
        "scores": [],
        "hubs": slab,
        "radii": np.ones((3, 3)),
        "frames": np.tile(np.eye(3), (3, 3, 1, 1)),
        "angles": np.full((3, 3), 1.0),
        "coordinates": np.full((1, 4), 0.5),
        "counts": (1, 1, 1),
        "lengths": (1.0, 1.0, 1.0),
        "cubes": [[0, 1, 2, 3, 4, 5, 6, 7]],
        "tets": [[0, 1, 2, 3]],
        "point": [0.0, 0.0, 0.0],
        "normal": [0.0, 0.0, 1.0],
        "t": 0.5,
        "k": 0,
        "time": 0.5,
        "id": 0,
        "x": box.vertices,
        "shape": box.vertices,
        "g": np.zeros_like(lattice.vertices),
        "field": np.zeros_like(lattice.vertices),
        "displacements": np.zeros_like(tets.vertices),
        "_memo": {},
        "matrix": np.eye(4),
        "copies": None,
    }
    of_call = {
        ("simulate_scene", "poses"): poses[None],
        ("simulate_scene", "stiffness"): [[1.0]],
        ("simulate_scene", "softness"): [[0.5]],
        ("extend_scene", "poses"): poses[None],
        ("Scene.reset", "poses"): poses[:1],
        ("Scene.advance", "poses"): poses[:1],
        ("Simulation.pin", "point"): 1,
        ("Simulation.move_pin", "target"): vertices[0],
        ("Simulation.point_position", "point"): 1,
        ("Scene.pin", "point"): 1,
        ("Scene.move_pin", "target"): vertices[0],
        ("PinTrack", "point"): 1,
        ("ForceField", "kind"): "wind",
        ("ForceField.accelerations", "points"): vertices,
        ("ForceField.accelerations", "velocities"): np.zeros_like(vertices),
        ("independent_vertices", "vertices"): [0, 1],
        ("follow_bones", "bones"): ["lower"],
        ("rig_stiffness", "controls"): [0.5],
        ("Skeleton.skin", "points"): vertices,
        ("Skeleton.fit_pose", "points"): vertices,
        ("Skeleton.fit_pose", "targets"): vertices,
        ("Template.force", "frame"): np.eye(4),
        ("Template.sized", "reach"): 0.2,
        ("Template.sized", "strength"): 100.0,
        ("Spacetime", "body"): box,
        ("Spacetime.partial", "vertices"): [0],
        ("Spacetime.model", "vertices"): [0],
        ("Spacetime.partial", "positions"): np.ones((1, 3)),
        ("Spacetime.model", "positions"): np.ones((1, 3)),
        ("modes", "body"): tets,
        ("Rig.with_peak_displacements", "displacements"): [None],
        ("RigFit.fit", "points"): [(0, [0.0, 0.0, 0.2])],
        ("RigFit.gradient", "points"): [(0, [0.0, 0.0, 0.2])],
        ("fit_rig", "points"): [(0, [0.0, 0.0, 0.2])],
        ("muscle", "insertion"): ends[1],
        ("muscle", "radius"): 0.05,
        ("muscle_shortening", "rig"): muscle,
        ("muscle_line", "rig"): muscle,
        ("muscle_growth", "rig"): muscle,
        ("fit_pose", "points"): [(v, vertices[v]) for v in range(len(vertices))],
        ("fit_gradient", "points"): [(0, [0.0, 0.0, 0.2])],
        ("nonlinear_equilibrium", "tets"): tets,
        ("nonlinear_equilibrium", "forces"): np.zeros_like(tets.vertices),
        ("NonlinearSimulation", "tets"): tets,
        ("NonlinearSimulation.set_state", "velocities"): np.zeros_like(tets.vertices),
        ("TetMesh", "vertices"): [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        ("TetMesh.from_cubes", "vertices"): np.indices((2, 2, 2)).reshape(3, -1)[::-1].T,
        ("TetMesh.energy", "q"): tets.vertices,
        ("TetMesh.gradient", "q"): tets.vertices,
        ("TetMesh.hessian", "q"): tets.vertices,
        ("Lattice.from_faces", "vertices"): [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        ("Lattice", "vertices"): [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        ("Volume", "values"): np.random.default_rng(1).random((4, 4, 4)),
        ("MRep.tube", "hubs"): mrep.hubs,
        ("MRep.tube", "radii"): mrep.radii,
        ("MRep.tube", "frames"): mrep.frames,
        ("MRep.tube", "angles"): mrep.angles,
        ("MRep.correspond", "points"): mrep.hubs,
        ("MRep.from_skeleton", "bones"): ["upper", "lower"],
        ("Shell", "vertices"): box.vertices,
        ("Shell", "triangles"): box.triangles,
        ("Deformer", "surface"): tets.vertices,
        ("Clip.extend", "poses"): poses,
        ("compress", "frames"): clip_frames,
        ("to_rest_space", "frames"): clip_frames,
        ("to_rest_space", "matrices"): (poses, skin),
        ("to_rest_space", "rest"): vertices,
        ("write_pc2", "frames"): clip_frames,
        ("write_pc2", "path"): str(folder / "written.pc2"),
        ("read_pc2", "path"): str(folder / "read.pc2"),
        ("write_mdd", "frames"): clip_frames,
        ("write_mdd", "path"): str(folder / "written.mdd"),
        ("read_mdd", "path"): str(folder / "read.mdd"),
        ("write_vertex_texture", "folder"): str(folder / "written"),
        ("write_vertex_texture", "clips"): clip_frames,
        ("write_vertex_texture", "rest"): vertices,
        ("write_vertex_texture", "tension"): np.zeros(clip_frames.shape[:2]),
        ("read_vertex_texture", "path"): str(folder / "texture"),
        ("tension", "edges"): triangles,
        ("tension", "plain"): vertices,
        ("tension", "shown"): clip_frames[1],
        ("helper_bones", "rest"): vertices,
        ("helper_bones", "frames"): np.asarray(clip),
    }
    for name in files:
        suffix = ".mrep.toml" if name == "MRep" else ""
        of_call[f"{name}.load", "path"] = str(folder / (name + suffix))
        of_call[f"{name}.save", "path"] = str(folder / ("saved" + suffix))
    of_call["TetMesh.read", "path"] = str(folder / "TetMesh.mesh")
    of_call["TetMesh.write", "path"] = str(folder / "written.mesh")
    of_call["save_rigs", "path"] = str(folder / "written.toml")
    of_call["load_rigs", "path"] = str(folder / "rigs.toml")
    return of_class, of_name, of_call


#: Settings that calls take as keywords, by the class in the stub that lists them; a class has those of its base too.
SETTINGS = {}
for node in STUB.body:
    if isinstance(node, ast.ClassDef) and node.name.endswith("Settings") and node.name.startswith("_"):
        own = [ast.arg(line.target.id, line.annotation) for line in node.body]
        SETTINGS[node.name] = own + SETTINGS.get(ast.unparse(node.bases[0]), [])


def annotation(argument):
    """Returns the first name in a parameter's type."""
    return ast.unparse(argument.annotation).split(" | ")[0] if argument.annotation else ""


def functions():
    """Yields (name, class or None, function of the stub) of every public member that takes parameters."""
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, None, node
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.name != "__eq__":
                    name = node.name if member.name == "__new__" else f"{node.name}.{member.name}"
                    yield name, node.name, member


def parameters_of(function):
    """Returns the parameters of a function of the stub without self, and whether each is required."""
    args = function.args
    every = args.posonlyargs + args.args
    required = len(every) - len(args.defaults)
    named = [(a, i < required) for i, a in enumerate(every) if a.arg not in ("self", "cls")]
    kinds = ast.unparse(args.kwarg.annotation) if args.kwarg and args.kwarg.annotation else ""
    listed = kinds.removeprefix("Unpack[").removesuffix("]")
    named += [(setting, False) for setting in SETTINGS.get(listed, [])]
    return named + [(a, d is None) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]


def call(objects, name, owner, function, wrong, value):
    """Calls a function with a value for the parameter `wrong` and sound values for the required ones."""
    of_class, of_name, of_call = objects
    given = {}
    for argument, needed in parameters_of(function):
        if argument.arg == wrong:
            given[wrong] = value
        elif needed:
            known = of_call.get((name, argument.arg), of_class.get(annotation(argument)))
            given[argument.arg] = of_name[argument.arg] if known is None else known
    if name == "Template":
        given.update(radius=0.2, strength=100.0)
    if name == "compress" and wrong != "tolerance":
        given["tolerance"] = 1e-3
    decorators = [ast.unparse(d) for d in function.decorator_list]
    if any(d.endswith(".setter") for d in decorators):
        return setattr(of_class[owner], function.name, value)
    if owner is None or function.name == "__new__":
        return getattr(thew, name)(**given)
    thing = getattr(thew, owner) if "staticmethod" in decorators else of_class[owner]
    if name == "Spacetime.insert":  # the keyframe stays
        thing = thew.Spacetime(of_class["Shell"], of_name["keyframes"], [0.0, 1.0], modes=2)
    if function.name in {"pin", "move_pin", "unpin"}:  # pins of one call must not count for the next
        before = thing.state()
        try:
            return getattr(thing, function.name)(**given)
        finally:
            thing.restore(before)
    # Special methods take no names.
    if function.name.startswith("__") and function.name != "__replace__":
        return getattr(thing, function.name)(*given.values())
    return getattr(thing, function.name)(**given)


CASES = [
    (name, owner, function, argument.arg)
    for name, owner, function in functions()
    for argument, _ in parameters_of(function)
]


def test_fixture_covers_every_class(objects):
    """The fixture has an object of every class whose members take parameters."""
    every = {
        owner for _, owner, function in functions() if owner and function.name != "__new__" and parameters_of(function)
    }
    assert every <= set(objects[0])


@pytest.mark.parametrize("name,owner,function,parameter", CASES, ids=[f"{c[0]}-{c[3]}" for c in CASES])
def test_parameter_refuses_nonsense(objects, tmp_path, monkeypatch, name, owner, function, parameter):
    """Nonsense for any parameter is refused with a sentence, never with an internal error."""
    monkeypatch.chdir(tmp_path)
    for value in NONSENSE:
        try:
            call(objects, name, owner, function, parameter, value)
        except (thew.ThewError, TypeError, ValueError) as error:
            assert str(error), repr(value)
            # What Python itself says of a lone surrogate names neither the text nor what to do.
            assert not isinstance(error, UnicodeError), (value, error)
            assert not isinstance(error, thew.InternalError), (value, error)
        except Exception as error:
            pytest.fail(f"{value!r}: {type(error).__name__}: {error}")


@pytest.mark.parametrize("name,owner,function", list(functions()), ids=[c[0] for c in functions()])
def test_sound_arguments_accepted(objects, tmp_path, monkeypatch, name, owner, function):
    """Sound arguments are accepted, so that nonsense is refused for its own sake."""
    monkeypatch.chdir(tmp_path)
    if "property" in [ast.unparse(d) for d in function.decorator_list] or not parameters_of(function):
        return
    try:
        call(objects, name, owner, function, None, np.zeros(3))
    except (thew.ThewError, TypeError, ValueError) as error:
        assert name in ("Simulation.restore", "Scene.restore"), error
