# SPDX-License-Identifier: MIT OR Apache-2.0
"""Vibration modes: computed, moved without a skeleton, and shown on a surface. [choi2003]

    modes = thew.modal.modes(tets, 32, fixed=nodes)
    motion = thew.modal.ModalSimulation(modes, step=1 / 240)
    skin = thew.modal.Deformer(modes, surface)
    motion.advance(forces)
    vertices = skin.positions(motion.amplitudes)

`docs/methods/modal-warping.md` and `docs/modal-warping.md` tell more.
"""

from . import Deformer, ModalError, ModalSimulation, Modes, gpu_adapters, modes

__all__ = ["Deformer", "ModalError", "ModalSimulation", "Modes", "gpu_adapters", "modes"]
