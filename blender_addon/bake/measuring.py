# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the effect of flesh, keys and modifiers on the mesh, read frame by frame from Blender."""

from __future__ import annotations

import bpy
import numpy as np

from ..live import jobs, session
from ..live.flesh import Flesh
from ..logic.errors import Refusal
from ..logic.names import describe
from ..logic.tasks import Task, span
from ..scene import modifier, poses, reading
from ..scene.mesh import evaluated_positions, modifiers_on


def differences(obj: bpy.types.Object, flesh: Flesh, scene, frames: list[int], active: set[int]) -> Task:
    """Measures the live flesh less the mesh on which only the modifiers `active` (persistent ids) act, float32[f, n, 3].

    Object space. The artist's own shape keys act on both. The scene and the object are left as they were found.
    """
    made = obj.thew.made
    was = obj.thew.enabled, made.shows_bake, made.found, made.notes
    rows = np.empty((len(frames), len(flesh.character.rest), 3), dtype=np.float32)
    try:
        made.shows_bake = False
        obj.thew.enabled = True
        jobs.apply_state(obj)
        jobs.settle(obj, flesh, scene)
        armature = modifier.modifier_by_id(obj, made.armature_modifier)
        found = reading.Subject.of(obj, armature)
        live = {other.persistent_uid for other in found.modifiers_before()} | found.posing_modifiers() | {made.modifier}
        with poses.silence_handlers(), poses.show_hidden([obj]):
            for passes, on in enumerate((live, active)):

                def measure_frame(i: int, frame: int, live: bool = passes == 0) -> None:
                    if live:
                        session.show(obj, flesh, scene)
                    shape = evaluated_positions(obj, bpy.context.evaluated_depsgraph_get())
                    if len(shape) != rows.shape[1]:
                        raise Refusal(
                            f"{describe(obj)} could not be evaluated at frame {frame}: show it and its collection"
                        )
                    rows[i] = shape if live else rows[i] - shape

                with modifiers_on(obj, on, basis=False):
                    yield from span(
                        poses.play_frames(scene, frames, measure_frame, "Measuring frame"),
                        0.5 * passes,
                        0.5 * passes + 0.5,
                    )
    finally:
        with poses.silence_handlers():
            obj.thew.enabled, made.shows_bake = was[:2]
            jobs.apply_state(obj)
            made.found, made.notes = was[2:]
            if session.is_live(obj):
                session.present(obj, flesh, scene)
    return rows


def measure_offsets(scene, frames: list[int], offset) -> Task:
    """Builds the task that returns `offset(i)` at each frame, float32[f, n, 3]. The scene's frame is restored."""

    def measure_frame(i: int, _frame: int) -> np.ndarray:
        return np.asarray(offset(i), dtype=np.float32)

    return np.stack((yield from poses.play_frames(scene, frames, measure_frame, "Measuring frame")))
