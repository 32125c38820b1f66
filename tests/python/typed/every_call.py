# SPDX-License-Identifier: MIT OR Apache-2.0
"""One object of every class, and every method and function called once: run by `test_stub_values.py` for what comes
back, and checked by `test_stub_types.py` for what goes in."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import thew
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BAR = thew.Material(young=1e5)


def slab(radius: float = 0.4) -> thew.MRep:
    """A flat slab of three by three atoms, narrower at its border."""
    x, y = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(-1, 1, 3), indexing="ij")
    hubs = np.stack([x, y, 0 * x], -1)
    outward = np.where(np.any(hubs, -1, keepdims=True), hubs, [1.0, 0, 0])
    b = outward / np.linalg.norm(outward, axis=-1, keepdims=True)
    n = np.broadcast_to([0.0, 0, 1], b.shape)
    angles = np.where(np.any(hubs, -1), 1.2, np.pi / 2)
    return thew.MRep.slab(hubs, np.full((3, 3), radius), np.stack([b, np.cross(n, b), n], -1), angles)


def ball() -> thew.Volume:
    """A flat body in a small volume."""
    x, y, z = (np.indices((24, 24, 12)) * 0.2).reshape(3, -1) - np.array([[2.3], [2.3], [1.1]])
    inside = (x / 1.5) ** 4 + (y / 1.5) ** 4 + (z / 0.45) ** 2 < 1
    return thew.Volume(inside.reshape(24, 24, 12), (0.2, 0.2, 0.2), (-2.3, -2.3, -1.1))


def tense(body: thew.Body) -> thew.Simulation:
    """A simulation whose stiffness is led."""
    simulation = thew.Simulation(body)
    simulation.set_stiffness(np.full(len(body.lattice.cells), 2.0))
    return simulation


def mirrored() -> thew.Lattice:
    """A lattice around one bone in a box that is wider than it is deep: its own mirror image."""
    corners = np.array([[x, y, z] for z in (0.0, 1.0) for y in (-0.15, 0.15) for x in (-0.3, 0.3)])
    quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    triangles = [[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)]
    skeleton = thew.Skeleton(["bone"], [-1], [[0.0, 0.0, 0.1]], [[0.0, 0.0, 0.9]])
    return thew.Lattice.enclose(thew.Surface(corners, triangles), skeleton, cells_across=5)


class Scene:
    """Objects by the names of their classes, small enough to be made in a second."""

    def __init__(
        self,
        folder: Path,
        surface: thew.Surface,
        skeleton: thew.Skeleton,
        weights: Floats,
        pose: Floats,
        damaged: thew.Surface,
    ) -> None:
        self.folder, self.weights, self.pose = folder, weights, pose
        self.Surface, self.Skeleton, self.SurfaceReport = surface, skeleton, damaged.report()
        self.vertices = surface.vertices
        self.points = self.vertices[:7] * 0.9
        self.Lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=5)
        self.Material = thew.Material()
        self.Body = body = thew.Body(surface, skeleton, self.Lattice, self.Material, weights)
        self.zeros = np.zeros((body.node_count, 3))
        each = np.ones(len(surface.vertices))
        self.BodySettings = thew.BodySettings(
            region_weights=weights,
            stiffness=each,
            density=each,
            poisson=each,
            twist={"upper": {"radius": 0.1, "strength": 2.0}},
            flesh=each,
            softness=0.5,
            kind="toon",
            hard=each,
        )

        self.Template = thew.Template("bump", radius=0.15, strength=4000.0)
        self.RigSpec, *_ = thew.templates()
        self.ParameterSpec, *_ = self.RigSpec.parameters
        self.BoneGuide = thew.BoneGuide("upper", distance=0.05)
        self.SkinGuide = thew.SkinGuide(3)
        self.muscle = thew.muscle(self.BoneGuide, thew.BoneGuide("lower", distance=0.05), radius=0.05)
        self.FreeGuide = thew.FreeGuide(np.eye(4))
        self.Rig = thew.Rig(self.Template, self.BoneGuide, samples=[(0.5, {"radius": 0.1})])
        self.wish = [(400, self.vertices[400] + [0.0, 0.0, 0.01])]
        self.RigFit = thew.RigFit(body, self.Rig, pose)
        self.Correspondence = thew.Correspondence(body, body, bones=[("upper", 0)], landmarks=np.zeros((0, 2, 3)))
        self.CorrespondenceReport = self.Correspondence.report
        self.sculpted = thew.fit_surface(body, pose, self.vertices * [1.0, 1.1, 1.1], gravity=(0.0, 0.0, 0.0))
        assert self.sculpted.report is not None
        self.SurfaceFitReport = self.sculpted.report

        self.SimulationSettings = thew.SimulationSettings(mass_damping=2.0, stiffness_damping=0.01, max_offset=0.2)
        self.Simulation = thew.Simulation(body)
        self.Simulation.reset(pose)
        self.Simulation.pin(0)
        self.Pin, *_ = self.Simulation.pins()
        self.Simulation.pin(0)
        self.twin = self.Simulation.pins()[1]
        self.PinTrack = thew.PinTrack(0, self.vertices[:1])
        self.ForceField = thew.ForceField("wind", [1.0, 2.0], np.eye(4), flow=0.5)
        self.Contact = thew.Contact(friction=0.5)
        self.Collider = thew.Collider(surface, motion=np.eye(4)[None], friction=0.1)
        self.Contacts = thew.Simulation(body, contact=self.Contact).contacts()
        self.Scene = thew.Scene([body, body])
        self.Scene.reset([pose, pose])
        self.Scene.pin(0, 1)
        self.Creased = thew.Simulation(body, contact=thew.Contact(response="creases"))
        self.modal = thew.Simulation(body, "modal", modes=2, engine="cpu")
        self.Clip = thew.simulate(body, np.stack([np.stack([np.eye(4)] * 2), pose]), 24.0)
        self.swinging = thew.simulate(body, pose[None], 24.0, cyclic=True, method="modal", modes=2, engine="cpu")
        self.Shot = thew.Shot(body, pose[None], 24.0, notes={"shot": "010"})
        self.Clip.save(folder / "arm.clip")
        self.Shot.save(folder / "arm.shot")
        self.Equilibrium = thew.Equilibrium(body)

        self.Shell = thew.Shell(surface.vertices, surface.triangles, bending=2.0)
        self.corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.1], [0.0, 1.0, 0.0]])
        self.keys = np.stack([self.corners, self.corners * 1.1])
        self.MRep = slab()
        self.Volume = ball()
        self.MRepFit = self.MRep.fit(self.Volume)
        self.MRepReport = self.MRepFit.stages["atoms"]
        self.MRepFamily = thew.MRepFamily([slab(), slab(0.5), self.MRepFit.mrep])
        self.WigglySpline = thew.WigglySpline([0.0, 1.0], [0.0, 1.0], 4.0, 0.1, start_velocity=None)
        self.Spacetime = thew.Spacetime(thew.Shell(self.corners, [[0, 1, 2], [0, 2, 3]]), self.keys, [0.0, 1.0])
        self.SpacetimeSettings = thew.SpacetimeSettings(
            start_velocity=0.0,
            end_velocity=(0.0, 0.0, 1.0),
            velocities={1: (None, 0.5)},
            fixed=[0, 1],
            ghosts="auto",
            unit=0.01,
        )
        self.Composite = thew.composite([self.Spacetime])
        self.TetMesh = bar = thew.TetMesh.grid((3, 1, 1), (0.6, 0.2, 0.2))
        self.still = np.zeros((len(bar.vertices), 3))
        self.fixed = np.flatnonzero(bar.vertices[:, 0] < 1e-9)
        self.tip = int(np.argmax(bar.vertices[:, 0]))
        self.Modes = thew.modes(bar, 2, BAR, self.fixed)
        self.ModalSimulation = thew.ModalSimulation(self.Modes, 1 / 60)
        self.Deformer = thew.Deformer(self.Modes, bar.vertices, engine="cpu")
        self.NonlinearSimulation = thew.NonlinearSimulation(bar, BAR, self.fixed, 1 / 60)

        self.frames = np.asarray(self.Clip)
        thew.write_pc2(folder / "arm.pc2", self.frames, start=1.0)
        thew.write_mdd(folder / "arm.mdd", self.frames, 24.0)
        self.Compressed = thew.compress(self.frames, 1e-3, rest=self.vertices)
        self.poses = np.stack([np.stack([np.eye(4)] * 2), pose])
        self.HelperBones = thew.helper_bones(self.vertices, self.frames, self.poses, weights, 2)
        self.VertexTexture = thew.write_vertex_texture(
            folder / "texture", {"wave": self.frames}, self.vertices, 24.0, "png"
        )

        bar.write(folder / "bar.veg")
        self.MRep.save(folder / "one.mrep.toml")
        body.save(folder / "arm.thew")
        self.Shell.save(folder / "shell.thew")
        self.Spacetime.save(folder / "motion.thew")
        self.Modes.save(folder / "modes.thew")
        thew.save_rigs(folder / "arm.toml", [self.Rig])


Call = Callable[[Scene], object]

# How each method and function is called; properties are read. Without an entry here a new member fails.
CALLS: dict[str, Call] = {
    "Surface.measure_volume": lambda s: s.Surface.measure_volume(),
    "Surface.report": lambda s: s.Surface.report(),
    "Surface.filled": lambda s: s.Surface.filled(),
    "Surface.winding_number": lambda s: s.Surface.winding_number(s.points),
    "Surface.closest_point": lambda s: s.Surface.closest_point(s.points),
    "Surface.ring": lambda s: s.Surface.ring([0.25, 0.0, 0.0], [1.0, 0.0, 0.0], width=0.1),
    "Surface.cast_rays": lambda s: s.Surface.cast_rays(s.points, s.points + 1.0),
    "cast_rays": lambda s: thew.cast_rays(s.Surface.vertices, s.Surface.triangles, s.points, s.points + 1.0),
    "closest_points": lambda s: thew.closest_points(s.Surface.vertices, s.Surface.triangles, s.points),
    "Skeleton.refit_tails": lambda s: s.Skeleton.refit_tails(s.Surface, s.weights),
    "Skeleton.skin": lambda s: s.Skeleton.skin(s.vertices, s.weights, s.pose),
    "Skeleton.fit_pose": lambda s: s.Skeleton.fit_pose(s.vertices, s.weights, s.vertices),
    "Lattice.enclose": lambda s: thew.Lattice.enclose(s.Surface, s.Skeleton, s.weights, cells_across=4),
    "Lattice.from_faces": lambda s: thew.Lattice.from_faces(*s.Lattice.face_mesh()),
    "Lattice.face_mesh": lambda s: s.Lattice.face_mesh(),
    "Lattice.for_character": lambda s: s.Lattice.for_character(s.Surface, s.Skeleton, s.weights),
    "Lattice.find_violations": lambda s: thew.Lattice(s.corners, [[0, 1, 2, 3]]).find_violations(s.Surface, s.Skeleton),
    "Lattice.with_bones_of": lambda s: s.Lattice.with_bones_of(s.Skeleton),
    "Lattice.check": lambda s: s.Lattice.check(s.Surface, s.Skeleton),
    "Lattice.embed": lambda s: s.Lattice.embed(s.points),
    "Lattice.embed_surface": lambda s: s.Lattice.embed_surface(s.Surface),
    "Lattice.embedding_matrix": lambda s: s.Lattice.embedding_matrix(s.Surface),
    "Shell.energy": lambda s: s.Shell.energy(s.Shell.vertices * 1.1),
    "Shell.gradient": lambda s: s.Shell.gradient(s.Shell.vertices * 1.1),
    "Shell.hessian": lambda s: s.Shell.hessian(s.Shell.vertices * 1.1),
    "Shell.relax": lambda s: s.Shell.relax(s.Shell.vertices * 1.1, 100.0),
    "Shell.save": lambda s: s.Shell.save(s.folder / "written.shell"),
    "Shell.load": lambda s: thew.Shell.load(s.folder / "shell.thew"),
    "Shell.report": lambda s: s.Shell.report(),
    "MRep.slab": lambda s: slab(),
    "MRep.tube": lambda s: thew.MRep.tube(s.corners, [0.1] * 4, [np.eye(3)] * 4, [1.5] * 4),
    "MRep.from_skeleton": lambda s: thew.MRep.from_skeleton(s.Surface, s.Skeleton, s.weights, s.Skeleton.names),
    "MRep.template": lambda s: thew.MRep.template("tail"),
    "MRep.enclose": lambda s: s.MRep.enclose(s.Surface, s.Skeleton, s.weights, cells_across=6.0),
    "MRep.chain_weights": lambda s: thew.MRep.chain_weights(s.Skeleton, s.weights, s.Skeleton.names),
    "MRep.slab_around": lambda s: thew.MRep.slab_around(s.Volume),
    "MRep.tube_around": lambda s: thew.MRep.tube_around(s.Surface, atoms=5),
    "MRep.suggest_bones": lambda s: thew.MRep.suggest_bones(s.Surface),
    "MRep.join": lambda s: thew.MRep.join([s.MRep, slab()], names=["a", "b"]),
    "MRep.save": lambda s: s.MRep.save(s.folder / "slab.mrep.toml"),
    "MRep.load": lambda s: thew.MRep.load(s.folder / "one.mrep.toml"),
    "MRep.boundary": lambda s: s.MRep.boundary(1),
    "MRep.boundary_coordinates": lambda s: s.MRep.boundary_coordinates(1),
    "MRep.tolerance": lambda s: s.MRep.tolerance(1),
    "MRep.coordinates": lambda s: s.MRep.coordinates(s.points),
    "MRep.points": lambda s: s.MRep.points([[0.5, 0.5, 1.0, 0.5]]),
    "MRep.legality": lambda s: s.MRep.legality(),
    "MRep.check": lambda s: s.MRep.check(),
    "MRep.transformed": lambda s: s.MRep.transformed(2.0, np.eye(3), [1.0, 0.0, 0.0]),
    "MRep.correspond": lambda s: s.MRep.correspond(slab(0.5), [[0.0, 0.0, 0.1]]),
    "MRep.roll_to": lambda s: s.MRep.roll_to(slab(0.5)),
    "MRep.lattice": lambda s: s.MRep.lattice(layers=1),
    "MRep.fit": lambda s: s.MRep.fit(s.MRep.boundary(2), stages=["atoms"], held=[0]),
    "MRepFamily.sample": lambda s: s.MRepFamily.sample([0.5]),
    "MRepFamily.typicality": lambda s: s.MRepFamily.typicality(s.MRep),
    "WigglySpline.__call__": lambda s: s.WigglySpline([0.5]),
    "Spacetime.__call__": lambda s: s.Spacetime([0.5]),
    "Composite.__call__": lambda s: s.Composite([0.5]),
    "Spacetime.save": lambda s: s.Spacetime.save(s.folder / "written.motion"),
    "Spacetime.load": lambda s: thew.Spacetime.load(s.folder / "motion.thew"),
    "Spacetime.plain": lambda s: s.Spacetime.plain([0.5]),
    "Spacetime.curves": lambda s: s.Spacetime.curves([0.5], 1),
    "Spacetime.set": lambda s: s.Spacetime.set(stiffness=2.0, end_velocity=0.0),
    "Spacetime.move": lambda s: s.Spacetime.move(1, s.keys[1] * 1.01),
    "Spacetime.insert": lambda s: thew.Spacetime(
        thew.Shell(s.corners, [[0, 1, 2], [0, 2, 3]]), s.keys, [0.0, 1.0]
    ).insert(0.5, s.keys[1] * 0.99),
    "Spacetime.partial": lambda s: s.Spacetime.partial(0.5, [1], s.corners[[1]]),
    "Spacetime.soften": lambda s: s.Spacetime.soften(1, 10.0),
    "Spacetime.drop": lambda s: s.Spacetime.drop(s.Spacetime.partial(0.25, [1], s.corners[[1]])),
    "Spacetime.model": lambda s: s.Spacetime.model(s.corners, [1], s.corners[[1]] * 1.1),
    "Composite.plain": lambda s: s.Composite.plain([0.5]),
    "composite": lambda s: thew.composite([s.Spacetime]),
    "set_threads": lambda s: thew.set_threads(None),
    "threads": lambda s: thew.threads(),
    "default_damping": lambda s: thew.default_damping(s.Body),
    "TetMesh.from_cubes": lambda s: thew.TetMesh.from_cubes(np.indices((2, 2, 2))[::-1].reshape(3, 8).T, [range(8)]),
    "TetMesh.grid": lambda s: thew.TetMesh.grid((1, 1, 1), (1.0, 1.0, 1.0)),
    "TetMesh.fill": lambda s: thew.TetMesh.fill(s.Surface, cells_across=8),
    "TetMesh.read": lambda s: thew.TetMesh.read(s.folder / "bar.veg"),
    "TetMesh.write": lambda s: s.TetMesh.write(s.folder / "written.mesh"),
    "TetMesh.lattice": lambda s: s.TetMesh.lattice(),
    "TetMesh.mass": lambda s: s.TetMesh.mass(BAR),
    "TetMesh.stiffness": lambda s: s.TetMesh.stiffness(BAR),
    "TetMesh.energy": lambda s: s.TetMesh.energy(s.still, BAR),
    "TetMesh.gradient": lambda s: s.TetMesh.gradient(s.still, BAR),
    "TetMesh.hessian": lambda s: s.TetMesh.hessian(s.still, BAR),
    "Body.parts": lambda s: s.Body.parts(),
    "Body.rebuilt": lambda s: s.Body.rebuilt(s.Material, softness=0.5),
    "Body.with_softness": lambda s: s.Body.with_softness(0.5),
    "Body.softness_factors": lambda s: s.Body.softness_factors([0.2, 0.8]),
    "ForceField.accelerations": lambda s: s.ForceField.accelerations(s.points),
    "Body.young_of_softness": lambda s: s.Body.young_of_softness(0.5),
    "Body.with_cell_stiffness": lambda s: s.Body.with_cell_stiffness(np.ones(len(s.Lattice.cells))),
    "Body.with_young": lambda s: s.Body.with_young(1e4),
    "Body.mass": lambda s: s.Body.mass(),
    "Body.stiffness": lambda s: s.Body.stiffness(),
    "Body.energy": lambda s: s.Body.energy(s.zeros),
    "Body.gradient": lambda s: s.Body.gradient(s.zeros),
    "Body.hessian": lambda s: s.Body.hessian(s.zeros),
    "Body.softness": lambda s: s.Body.softness(),
    "Body.stiffened": lambda s: s.Body.stiffened(2.0),
    "Body.embed_surface": lambda s: s.Body.embed_surface(s.Surface),
    "Body.shown": lambda s: s.Body.shown(s.zeros, s.pose),
    "Body.inverted_cells": lambda s: s.Body.inverted_cells(s.Lattice.vertices),
    "Body.save": lambda s: s.Body.save(s.folder / "written.thew"),
    "Body.load": lambda s: thew.Body.load(s.folder / "arm.thew"),
    "BodySettings.as_dict": lambda s: s.BodySettings.as_dict(),
    "SpacetimeSettings.as_dict": lambda s: s.SpacetimeSettings.as_dict(),
    "BodySettings.replace": lambda s: s.BodySettings.replace(level=2),
    "BodySettings.__replace__": lambda s: s.BodySettings.__replace__(level=2),
    "SpacetimeSettings.replace": lambda s: s.SpacetimeSettings.replace(modes=3),
    "SpacetimeSettings.__replace__": lambda s: s.SpacetimeSettings.__replace__(modes=3),
    "SimulationSettings.replace": lambda s: s.SimulationSettings.replace(rate=480.0),
    "SimulationSettings.__replace__": lambda s: s.SimulationSettings.__replace__(rate=480.0),
    "SimulationSettings.as_dict": lambda s: s.SimulationSettings.as_dict(),
    "SimulationSettings.digest": lambda s: s.SimulationSettings.digest(),
    "Simulation.reset": lambda s: s.Simulation.reset(s.pose),
    "Simulation.advance": lambda s: s.Simulation.advance(s.pose, 1 / 240),
    "Simulation.set_stiffness": lambda s: s.Simulation.set_stiffness(None),
    "Simulation.pin": lambda s: s.Simulation.pin([0.2, 0.01, 0.05], [0.2, 0.02, 0.05], 0.5),
    "Simulation.move_pin": lambda s: s.Simulation.move_pin(0, [0.0, 0.0, 0.0], strength=0.0),
    "Simulation.unpin": lambda s: s.Simulation.unpin(s.Simulation.pin(2)),
    "Simulation.pins": lambda s: s.Simulation.pins(),
    "Simulation.point_position": lambda s: s.Simulation.point_position(0),
    "belt": lambda s: thew.belt(s.Body, "upper", s.pose[None], 0.5, girth=0.9, strengths=[1.0]),
    "follow_bones": lambda s: thew.follow_bones(
        s.Body, s.poses, 24.0, ["lower"], limit=0.5, fields=[thew.ForceField("drag")], softness=[0.5], method="warped"
    ),
    "independent_vertices": lambda s: thew.independent_vertices(s.Body, [0, 1, 2], most=2),
    "Scene.pin": lambda s: s.Scene.pin(0, 2, strength=0.5),
    "Scene.move_pin": lambda s: s.Scene.move_pin(0, 0, [0.0, 0.0, 0.0], 0.0),
    "Scene.unpin": lambda s: s.Scene.unpin(0, s.Scene.pin(0, 3)),
    "Scene.pins": lambda s: s.Scene.pins(0),
    "Simulation.positions": lambda s: s.Simulation.positions(),
    "Simulation.offsets": lambda s: s.Simulation.offsets(),
    "Simulation.lattice_positions": lambda s: s.Simulation.lattice_positions(),
    "Simulation.lattice_velocities": lambda s: s.Simulation.lattice_velocities(),
    "Collider.plane": lambda s: thew.Collider.plane((0, 0, 0), (0, 0, 1)),
    "Simulation.contacts": lambda s: s.Simulation.contacts(),
    "Simulation.inverted_cells": lambda s: s.Simulation.inverted_cells(),
    "Simulation.state": lambda s: s.Simulation.state(),
    "Simulation.restore": lambda s: s.Simulation.restore(s.Simulation.state()),
    "Simulation.find_crease_seeds": lambda s: s.Creased.find_crease_seeds([s.pose], 1 / 24),
    "Simulation.set_crease_seeds": lambda s: s.Creased.set_crease_seeds([[0, 40]]),
    "Clip.positions": lambda s: s.Clip.positions(0),
    "Clip.offsets": lambda s: s.Clip.offsets(0, to=np.eye(4), onto=s.Clip.offsets(0)),
    "Clip.velocities": lambda s: s.Clip.velocities(0),
    "Clip.tension": lambda s: s.Clip.tension(0),
    "Clip.lattice_positions": lambda s: s.Clip.lattice_positions(0),
    "Clip.contacts": lambda s: s.Clip.contacts(0),
    "Clip.contact_notes": lambda s: s.Clip.contact_notes(),
    "Clip.buried_bones": lambda s: s.Clip.buried_bones(0),
    "Clip.folds": lambda s: s.Clip.folds(0),
    "Clip.extend": lambda s: s.Clip.extend(s.pose[None]),
    "Clip.__array__": lambda s: np.asarray(s.Clip),
    "Clip.save": lambda s: s.Clip.save(s.folder / "written.clip"),
    "Clip.load": lambda s: thew.Clip.load(s.folder / "arm.clip"),
    "Shot.replace": lambda s: s.Shot.replace(rate=480.0),
    "Shot.__replace__": lambda s: s.Shot.__replace__(rate=480.0),
    "Shot.simulate": lambda s: s.Shot.simulate(),
    "Shot.save": lambda s: s.Shot.save(s.folder / "written.shot"),
    "Shot.load": lambda s: thew.Shot.load(s.folder / "arm.shot"),
    "simulate": lambda s: thew.simulate(s.Body, s.pose[None], 24.0),
    "Equilibrium.set_pose": lambda s: s.Equilibrium.set_pose(s.pose),
    "Equilibrium.solve": lambda s: s.Equilibrium.solve(),
    "Equilibrium.contacts": lambda s: s.Equilibrium.contacts(),
    "Equilibrium.adjoint": lambda s: s.Equilibrium.adjoint(s.zeros),
    "Equilibrium.forces": lambda s: s.Equilibrium.forces(s.zeros),
    "Equilibrium.positions": lambda s: (s.Equilibrium.solve(), s.Equilibrium.positions())[1],
    "equilibrium": lambda s: thew.equilibrium(s.Body, s.pose),
    "equilibrium_forces": lambda s: thew.equilibrium_forces(s.Body, s.pose, s.zeros),
    "muscle": lambda s: s.muscle,
    "muscles": lambda s: thew.muscles(s.Body),
    "muscle_shortening": lambda s: thew.muscle_shortening(s.muscle, s.Body, s.pose[None]),
    "muscle_line": lambda s: thew.muscle_line(s.muscle, s.Body),
    "muscle_growth": lambda s: thew.muscle_growth(s.muscle, s.Body, s.zeros),
    "RigFit.fit": lambda s: s.RigFit.fit(s.wish, evaluations=1),
    "RigFit.gradient": lambda s: s.RigFit.gradient(s.wish),
    "RigFit.positions": lambda s: s.RigFit.positions(),
    "fit_rig": lambda s: thew.fit_rig(s.Body, s.Rig, s.pose, s.wish),
    "fit_pose": lambda s: thew.fit_pose(s.Body, [(v, s.vertices[v]) for v in (0, 1, 2)]),
    "fit_surface": lambda s: thew.fit_surface(s.Body, s.pose, s.Surface, smoothness=0.1),
    "format_rigs": lambda s: thew.format_rigs([s.Rig, s.sculpted]),
    "parse_rigs": lambda s: thew.parse_rigs(thew.format_rigs([s.sculpted])),
    "fit_gradient": lambda s: thew.fit_gradient(s.Body, s.Rig, s.pose, s.wish),
    "Modes.displacements": lambda s: s.Modes.displacements(np.zeros(2)),
    "Modes.scaled": lambda s: s.Modes.scaled(2.0),
    "Modes.save": lambda s: s.Modes.save(s.folder / "written.modes"),
    "Modes.load": lambda s: thew.Modes.load(s.folder / "modes.thew"),
    "Modes.first": lambda s: s.Modes.first(1),
    "modes": lambda s: thew.modes(s.TetMesh, 1, BAR, s.fixed),
    "ModalSimulation.advance": lambda s: s.ModalSimulation.advance(),
    "ModalSimulation.settle": lambda s: s.ModalSimulation.settle(),
    "ModalSimulation.reset": lambda s: s.ModalSimulation.reset(),
    "ModalSimulation.displacements": lambda s: s.ModalSimulation.displacements(),
    "ModalSimulation.rotations": lambda s: s.ModalSimulation.rotations(),
    "ModalSimulation.constrain": lambda s: s.ModalSimulation.constrain({s.tip: (0.0, 0.0, 0.01)}),
    "Deformer.displacements": lambda s: s.Deformer.displacements(np.zeros(2)),
    "Deformer.positions": lambda s: s.Deformer.positions(np.zeros(2)),
    "Deformer.offsets": lambda s: s.Deformer.offsets(np.zeros(2)),
    "gpu_adapters": lambda s: thew.gpu_adapters(),
    "nonlinear_equilibrium": lambda s: thew.nonlinear_equilibrium(s.TetMesh, BAR, s.fixed, s.still),
    "NonlinearSimulation.advance": lambda s: s.NonlinearSimulation.advance(),
    "NonlinearSimulation.displacements": lambda s: s.NonlinearSimulation.displacements(),
    "NonlinearSimulation.velocities": lambda s: s.NonlinearSimulation.velocities(),
    "NonlinearSimulation.set_state": lambda s: s.NonlinearSimulation.set_state(s.still, s.still),
    "Template.sized": lambda s: thew.Template.sized("torus", 0.2, -1e4),
    "Template.outline": lambda s: s.Template.outline(),
    "Template.force": lambda s: s.Template.force(s.points, np.eye(4)),
    "Rig.parameters": lambda s: s.Rig.parameters(),
    "Rig.forces": lambda s: s.Rig.forces(s.Body, functions=s.Rig.functions(s.Body)),
    "Rig.functions": lambda s: s.Rig.functions(s.Body),
    "Rig.forces_vjp": lambda s: s.Rig.forces_vjp(s.Body, s.zeros),
    "Rig.frame": lambda s: s.Rig.frame(s.Body),
    "Rig.compliance": lambda s: s.Rig.compliance(s.Body),
    "Rig.strength_range": lambda s: s.Rig.strength_range(s.Body),
    "Rig.peak_displacements": lambda s: s.Rig.peak_displacements(s.Body),
    "Rig.with_peak_displacements": lambda s: s.Rig.with_peak_displacements(s.Body, [None]),
    "Rig.clamped": lambda s: s.Rig.clamped(s.Body),
    "Rig.check": lambda s: s.Rig.check(s.Body),
    "Rig.with_firmness": lambda s: s.Rig.with_firmness(2.0),
    "Rig.tension": lambda s: s.Rig.tension(s.Body, 1.0),
    "Rig.retarget": lambda s: s.Rig.retarget(s.Correspondence),
    "Correspondence.swapped_sides": lambda s: s.Correspondence.swapped_sides(),
    "Correspondence.pose": lambda s: s.Correspondence.pose(s.pose),
    "Scene.reset": lambda s: s.Scene.reset([s.pose, s.pose]),
    "Scene.advance": lambda s: s.Scene.advance([s.pose, s.pose], 1 / 240),
    "Scene.positions": lambda s: s.Scene.positions(1),
    "Scene.offsets": lambda s: s.Scene.offsets(1),
    "Scene.lattice_positions": lambda s: s.Scene.lattice_positions(1),
    "Scene.lattice_velocities": lambda s: s.Scene.lattice_velocities(1),
    "Scene.contacts": lambda s: s.Scene.contacts(),
    "Scene.contact_forces": lambda s: s.Scene.contact_forces(1),
    "Scene.inverted_cells": lambda s: s.Scene.inverted_cells(1),
    "Scene.state": lambda s: s.Scene.state(),
    "Scene.restore": lambda s: s.Scene.restore(s.Scene.state()),
    "simulate_scene": lambda s: thew.simulate_scene(
        [s.Body, s.Body], [s.pose[None], s.pose[None]], 24.0, fields=[s.ForceField], softness=[[0.5], None]
    ),
    "extend_scene": lambda s: thew.extend_scene(
        thew.simulate_scene([s.Body, s.Body], [s.pose[None], s.pose[None]], 24.0, names=["one", "other"]),
        [s.pose[None], s.pose[None]],
    ),
    "simulate_shots": lambda s: thew.simulate_shots([s.Shot]),
    "to_rest_space": lambda s: thew.to_rest_space(
        s.frames, np.tile(np.eye(4), (*s.frames.shape[:2], 1, 1)), s.vertices
    ),
    "compress": lambda s: thew.compress(s.frames, 1e-3, rest=s.vertices),
    "helper_bones": lambda s: thew.helper_bones(s.vertices, s.frames, s.poses, s.weights, 1),
    "write_pc2": lambda s: thew.write_pc2(s.folder / "written.pc2", s.frames),
    "read_pc2": lambda s: thew.read_pc2(s.folder / "arm.pc2"),
    "write_mdd": lambda s: thew.write_mdd(s.folder / "written.mdd", s.frames, 24.0),
    "read_mdd": lambda s: thew.read_mdd(s.folder / "arm.mdd"),
    "write_vertex_texture": lambda s: thew.write_vertex_texture(
        s.folder / "written", {"wave": s.frames}, s.vertices, 24.0
    ),
    "read_vertex_texture": lambda s: thew.read_vertex_texture(s.folder / "texture"),
    "tension": lambda s: thew.tension(s.Surface.triangles, s.frames[0], s.frames[1]),
    "rig_stiffness": lambda s: thew.rig_stiffness([s.Rig.with_firmness(2.0)], s.Body, [0.5]),
    "save_rigs": lambda s: thew.save_rigs(s.folder / "written.toml", [s.Rig]),
    "guides": lambda s: thew.guides(),
    "templates": lambda s: thew.templates(),
    "rig_kinds": lambda s: thew.rig_kinds(),
    "load_rigs": lambda s: thew.load_rigs(s.folder / "arm.toml"),
}

# Members that are None on the objects of the scene, where they are not.
FILLED: dict[str, Call] = {
    "Compressed.integers": lambda s: thew.compress(s.frames, 1e-3, rest=s.vertices, quantise="int16").integers,
    "VertexTexture.tension_error": lambda s: (
        thew.write_vertex_texture(
            s.folder / "tense", s.frames, s.vertices, 24.0, tension=np.zeros(s.frames.shape[:2])
        ).tension_error
    ),
    "BodySettings.twist": lambda s: s.BodySettings.replace(twist={"upper": {"radius": 0.1, "strength": 2.0}}).twist,
    "Lattice.mirror_plane": lambda s: mirrored().mirror_plane,
    "Pin.superfluous": lambda s: s.twin.superfluous,
    "PinTrack.strengths": lambda s: thew.PinTrack(0, s.vertices[:2], [0.0, 1.0]).strengths,
    "Shot.controls": lambda s: thew.Shot(s.Body, s.pose[None], 24.0, rigs=[s.Rig], controls=[[0.5]]).controls,
    "Shot.gravities": lambda s: s.Shot.replace(gravity=np.zeros((2, 3))).gravities,
    "Shot.stiffness": lambda s: s.Shot.replace(stiffness=[0.5]).stiffness,
    "Shot.max_offset": lambda s: s.Shot.replace(max_offset=0.2).max_offset,
    "Shot.modes": lambda s: s.Shot.replace(method="modal", modes=3).modes,
    "Shot.contact": lambda s: s.Shot.replace(contact=thew.Contact()).contact,
    "Simulation.stiffness": lambda s: tense(s.Body).stiffness,
    "Simulation.amplitudes": lambda s: s.modal.amplitudes,
    "Clip.amplitudes": lambda s: s.swinging.amplitudes,
    "Clip.engine": lambda s: s.swinging.engine,
    "Clip.folded_cells": lambda s: s.swinging.folded_cells,
    "Clip.loop_gap": lambda s: s.swinging.loop_gap,
    "Rig.ends": lambda s: s.muscle.ends,
    "Rig.report": lambda s: s.sculpted.report,
    "RigFit.reached": lambda s: (s.RigFit.fit(s.wish, evaluations=1), s.RigFit.reached)[1],
    "RigFit.folding": lambda s: (s.RigFit.fit(s.wish, evaluations=1), s.RigFit.folding)[1],
}
