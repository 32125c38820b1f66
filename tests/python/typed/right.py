# SPDX-License-Identifier: MIT OR Apache-2.0
"""Thew as a strictly typed program uses it. Checked, never run: `test_stub_types.py`."""

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import numpy as np
import thew
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.float32]
Indices = NDArray[np.int32]


def watch(fraction: float, stage: str) -> bool:
    return fraction < 1.0 or stage != ""


def build(vertices: Floats, triangles: Indices, weights: Floats) -> thew.Body:
    surface = thew.Surface(vertices, triangles)
    assert_type(surface.vertices, Floats)
    assert_type(surface.triangles, Indices)
    assert_type(surface.volume, float)
    assert_type(surface.report().sentences, list[str])
    assert_type(surface.closest_point(vertices), tuple[Floats, Floats, Indices])
    assert_type(surface.cast_rays(vertices, vertices), tuple[Floats, Floats, Indices])
    skeleton = thew.Skeleton(["upper", "lower"], [-1, 0], [[0, 0, 0], [1, 0, 0]], [[1, 0, 0], [2, 0, 0]])
    assert_type(skeleton.refit_tails(surface, weights), thew.Skeleton)
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=10, progress=watch)
    again = thew.Lattice(lattice.vertices, lattice.cells, copies=lattice.copies)
    assert_type(again.bone_edges, list[Indices])
    body = thew.Body(surface, skeleton, lattice, thew.Material(young=1e4), weights, softness=0.5, progress=watch)
    soft = thew.BodySettings(softness=0.5, kind="toon")
    thew.Body(surface, skeleton, lattice, thew.Material(), settings=soft.replace(level=2), flesh=np.ones(8))
    assert_type(soft.flesh, Floats | None)
    assert_type(body.softness(), float)
    assert_type(body.mass(), tuple[Floats, Indices, Indices])
    body.save(Path("arm.thew"))
    return thew.Body.load("arm.thew")


def move(body: thew.Body, poses: Floats) -> Places:
    clip = thew.simulate(body, poses, 24, method="warped", max_offset=0.1, cyclic=True)
    assert_type(clip.amplitudes, Floats | None)
    assert_type(clip.loop_gap, float | None)
    every = np.asarray(clip)
    assert every.ndim == 3
    settings = thew.SimulationSettings(method="warped", rate=480.0)
    thew.simulate(body, poses, 24, settings=settings.replace(gravity=(0.0, 0.0, 0.0)), solver="cg")
    simulation = thew.Simulation(body, "modal", modes=thew.modes(body, 8), solver="cg")
    simulation.reset(poses[0], settled=False)
    simulation.advance(poses[0], 1 / 24, rest_forces=np.zeros((body.node_count, 3)))
    simulation.restore(simulation.state())
    return clip.offsets(0)


def lead(body: thew.Body, pose: Floats, folder: Path) -> dict[str, float]:
    guides: Sequence[thew.BoneGuide | thew.SkinGuide | thew.FreeGuide] = [
        thew.BoneGuide("upper", along=0.3),
        thew.SkinGuide(7, (0.2, 0.3, 0.5)),
        thew.FreeGuide(np.eye(4), z=0.1),
    ]
    template = thew.Template("torus", ring_radius=0.2, tube_radius=0.05, strength=4000.0)
    rigs = [thew.Rig(template, guide, samples=[(0.0, {"strength": 0.0}), (1.0, {})]) for guide in guides]
    thew.save_rigs(folder / "arm.toml", rigs, body)
    assert_type(thew.load_rigs(folder / "arm.toml"), list[thew.Rig])
    shape = thew.fit_surface(body, pose, body.surface, select=np.ones(3), steps=2, control=1.5, method="hyperelastic")
    assert_type(shape.report, thew.SurfaceFitReport | None)
    assert_type(thew.parse_rigs(thew.format_rigs([shape])), list[thew.Rig])
    fit = thew.RigFit(body, rigs[0], pose, method="warped_vertex")
    found = fit.fit([(3, (0.0, 0.1, 0.2))], bounds={"strength": (None, 1e4)})
    assert_type(fit.reached, float | None)
    assert_type(rigs[0].strength_range(body), tuple[float, float])
    return found


def stand(body: thew.Body, pose: Floats) -> Floats:
    balance = thew.Equilibrium(body)
    balance.set_pose(pose)
    held = thew.equilibrium_forces(body, pose, balance.solve(gravity=(0.0, 0.0, -9.81)))
    return thew.equilibrium(body, pose, forces=held, method="nonlinear")


def swing(path: str) -> Places:
    tets = thew.TetMesh.read(path, orient=True)
    found = thew.modes(tets, 8, thew.Material(), fixed=tets.vertices[:, 2] < 0.05, mass="lumped")
    assert_type(thew.modal.Deformer(found, tets.vertices), thew.Deformer)
    motion = thew.ModalSimulation(found, 1 / 60, damping=(0.5, 0.002), integrator="semi_implicit")
    motion.amplitudes = np.zeros(len(found))
    motion.constrain({3: (0.0, 0.0, 0.1)}, orientations={3: [0.0, 0.1, 0.0]})
    motion.advance()
    nonlinear = thew.NonlinearSimulation(tets, thew.Material(), [0, 1], 1 / 60, model="neohookean")
    assert_type(nonlinear.velocities(), Floats)
    skin = thew.Deformer(found, tets.vertices, form="embedded", precision="f16", engine="cpu")
    return skin.positions(motion.amplitudes)


def refuse(path: str) -> str:
    try:
        thew.load_rigs(path)
    except (thew.RigFileError, thew.StorageError) as error:
        return str(error)
    except thew.Cancelled:
        return ""
    return path
