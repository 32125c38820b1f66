# SPDX-License-Identifier: MIT OR Apache-2.0
"""Mistakes that a type checker finds: each marked line has that one error. Checked, never run: `test_stub_types.py`."""

import numpy as np
import thew

surface = thew.Surface([[0, 0, 0]])  # error: call-arg
surface = thew.Surface([[0, 0, 0]], object())  # error: arg-type
surface.volume = 1.0  # error: misc
surface.vertices.shape.append(3)  # error: attr-defined
print(surface.colour)  # error: attr-defined
number: int = surface.volume  # error: assignment
count: int = surface.vertices  # error: assignment
skeleton = thew.Skeleton("upper", -1, [0, 0, 0], [1, 0, 0], [], 5)  # error: call-arg
lattice = thew.Lattice.enclose(surface, surface)  # error: arg-type
material = thew.Material(youngs=1e4)  # error: call-arg
body = thew.Body(surface, skeleton, lattice, 2e4)  # error: arg-type
body.softness + 1.0  # error: operator
thew.Body.load(3)  # error: arg-type
simulation = thew.Simulation(body, "wraped")  # error: arg-type
simulation = thew.Simulation(body, solver="cholesky")  # error: arg-type
simulation.restore("state")  # error: arg-type
simulation.amplitudes[0]  # error: index
clip = thew.simulate(body, np.zeros((1, 2, 4, 4)))  # error: call-arg
clip = thew.Clip(1)  # error: call-arg
clip.positions("first")  # error: arg-type
template = thew.Template("dent", radius=0.1, strength=1.0)  # error: arg-type
template = thew.Template("bump", radius="wide")  # error: arg-type
rig = thew.Rig(template, body)  # error: arg-type
rig = thew.Rig(template, thew.BoneGuide(0.5))  # error: arg-type
rig.strength_range(body)[2]  # error: misc
names: list[str] = rig.parameter_names  # error: assignment
thew.save_rigs("arm.toml", rig)  # error: arg-type
tets = thew.TetMesh.grid(3, (1.0, 1.0, 1.0))  # error: arg-type
found = thew.modes(surface, 8)  # error: arg-type
motion = thew.ModalSimulation(found, 1 / 60, integrator="midpoint")  # error: arg-type
motion.step = 0.1  # error: misc
thew.equilibrium(body, np.eye(4), method="static")  # error: arg-type
thew.write_vertex_texture("out", {"walk": np.zeros((1, 2, 3))}, np.zeros((2, 3)), 24, "tga")  # error: arg-type
thew.write_mdd("out.mdd", np.zeros((1, 2, 3)))  # error: call-arg
