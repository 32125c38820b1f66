# SPDX-License-Identifier: GPL-3.0-or-later
"""Dragging modal flesh: the skin follows held points and rings when it is let go. Nothing in the file changes.

The flesh moves from its rest in the present pose. What was shown when the drag began fades into that.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..live import rig_actions, session
from ..logic.drag import TIME_STEP, ModalDrag, StepClock, status_line, wanted_displacement
from ..logic.errors import Refusal
from ..logic.modal import METHOD
from ..logic.names import describe
from ..logic.native import core
from ..logic.picking import Hit, Picker
from ..logic.rest_solver import RigAction
from ..saved.units import length
from ..scene.rig_controls import evaluated_controls
from . import posed_character

#: Time constant with which the former display fades, s. At 60 updates per second each takes away about a tenth: no jump.
FADE_TIME = 0.15
#: Offset at which the former display counts as faded, as a part of the body's size: two millimetres of a person, no jump.
FADED_OFFSET = 1e-3
#: Distance to the target that is too small to be shown, as a part of the body's size: one `MAX_TARGET_STEP` of a target.
TARGET_TOLERANCE = 0.02


class SkinDrag:
    """One drag of a character, from the first press until its flesh is at rest again."""

    def __init__(
        self, stand: posed_character.PosedCharacter, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer
    ) -> None:
        obj, flesh = stand.obj, stand.flesh
        if obj.thew.method != METHOD:
            raise Refusal(
                f"Only flesh of the method Modal can be dragged, and {describe(obj)} has another method: choose Modal "
                "under Method"
            )
        if not flesh.modal:
            raise Refusal(f"{describe(obj)} has no vibration modes yet: press Simulate first")
        self.stand = stand
        self.clock, self.held = StepClock(), -1  # the vertex under the mouse
        self._before = session.visible_offsets(obj, scene)
        controls = evaluated_controls(obj, view_layer.depsgraph)
        still, amplitudes = flesh.balance_at(
            stand.maps, stand.mesh, RigAction(rig_actions.forces(flesh, obj, controls))
        )
        thew, modes = core(), flesh.modes.scaled(flesh.stiffness)
        self.deformer = thew.Deformer(modes, flesh.surface, form="embedded", engine="cpu")
        settings = flesh.build_settings.with_damping(flesh.body)
        damping = settings.mass_damping, settings.stiffness_damping
        nodes = flesh.lattice.embed_surface(flesh.surface)
        self.drag = ModalDrag(thew, modes, self.deformer, nodes, amplitudes, stand.size, damping)
        self._pose, self._space = stand.pose, stand.space
        # The modes add to this: the flesh at rest, and the former display while it fades.
        self._still = still - self.deformer.offsets(amplitudes, self._pose, to=self._space)
        self._faded = (0.0 if self._before is None else self._before) - still
        self._swing = float(np.abs(self.metres(self._faded)).max(initial=0.0))  # largest component of `_faded`, metres
        self._part = 1.0  # share of `_faded` that is still shown
        self._targets: dict[int, np.ndarray] = {}  # targets of held vertices, metres
        self._look()

    def metres(self, offsets: np.ndarray) -> np.ndarray:
        """Converts offsets in object space to metres, [..., 3]."""
        return self.stand.place.vectors(np.asarray(offsets, dtype=np.float64) @ self.stand.mesh[:3, :3].T)

    # display

    def _look(self) -> None:
        below = self._still + np.float32(self._part) * self._faded
        self.offsets = self.deformer.offsets(self.drag.amplitudes, self._pose, to=self._space, onto=below)

    def displayed_position(self, vertex: int) -> np.ndarray:
        """Returns the displayed position of a vertex, metres [3]."""
        return self.stand.skin[vertex] + self.metres(self.offsets[vertex])

    def world(self, vertex: int) -> np.ndarray:
        """Returns the displayed position of a vertex in Blender's world."""
        return self.stand.world(self.displayed_position(vertex))

    def first_hit(self, origin: np.ndarray, direction: np.ndarray) -> Hit | None:
        """Returns the first hit of a ray in Blender's world with the displayed skin."""
        displayed = self.stand.skin + self.metres(self.offsets)
        picker = Picker(self.stand.world(displayed), self.stand.rest.triangles)
        return picker.ray(origin, direction)

    def turn(self, vertex: int) -> np.ndarray:
        """Returns the rotation and stretch of a vertex's displacements by the pose, [3, 3]."""
        weights = np.asarray(self.stand.flesh.character.weights[vertex], dtype=np.float64)
        total = weights.sum()
        return np.tensordot(weights / total, self.stand.pose[:, :3, :3], axes=1) if total > 0.0 else np.eye(3)

    # held vertices

    def take(self, vertex: int, dragged: bool = True) -> None:
        """Holds a vertex where it is displayed. `dragged`: it is the one that the mouse drags."""
        self.drag.grip(vertex)
        self._targets[vertex] = self.displayed_position(vertex)
        if dragged:
            self.held = vertex

    def drag_to(self, target: np.ndarray) -> None:
        """Sets the target of the dragged vertex, Blender's world."""
        self._targets[self.held] = self.stand.place.points(np.asarray(target, dtype=np.float64))

    def target(self) -> np.ndarray:
        """Returns the target of the dragged vertex, Blender's world."""
        return self.stand.world(self._targets[self.held])

    def let_go(self) -> None:
        """Releases all held vertices."""
        self.drag.let_go()
        self._targets.clear()
        self.held = -1

    @property
    def pins(self) -> list[int]:
        """The vertices that are held but not dragged."""
        return [vertex for vertex in self._targets if vertex != self.held]

    @property
    def is_over(self) -> bool:
        """True once all vertices are released and the flesh is at rest again."""
        return self.drag.is_at_rest and self._part * self._swing < FADED_OFFSET * self.stand.size

    def remaining_distance(self) -> float:
        """Returns the distance of the dragged vertex from its target, metres; 0 without a dragged vertex."""
        return (
            float(np.linalg.norm(self._targets[self.held] - self.displayed_position(self.held)))
            if self.held >= 0
            else 0.0
        )

    # time

    def advance(self, seconds: float) -> bool:
        """Advances the motion by `seconds`. Returns whether anything moved."""
        steps = self.clock.steps(seconds)
        if not steps:
            return False
        for grip in self.drag.grips:
            displacement, displayed = self.drag.displacements[grip.vertex], self.displayed_position(grip.vertex)
            grip.wanted = wanted_displacement(
                self.turn(grip.vertex), displacement, displayed, self._targets[grip.vertex]
            )
        self.drag.advance(steps)
        self._part *= float(np.exp(-steps * TIME_STEP / FADE_TIME))
        self._look()
        return True

    def show(self) -> None:
        """Displays the flesh on the character."""
        session.write(self.stand.obj, self.stand.flesh, self.offsets, bpy.context.scene)

    def restore(self, scene: bpy.types.Scene) -> None:
        """Restores exactly the former display."""
        session.show_again(self.stand.obj, self.stand.flesh, scene, self._before)

    def status_line(self) -> str:
        """Returns the text of the status bar."""
        distance = self.remaining_distance()
        text = (
            length(distance / self.stand.place.metres_per_unit) if distance > TARGET_TOLERANCE * self.stand.size else ""
        )
        return status_line(self.drag, self.held >= 0, text)
